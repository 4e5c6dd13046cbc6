"""The friction model of each joint by blocked cross-validation: the true one is found, and folds do not leak."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.energy import Energy
from exciter.identification.information.compressed import Score, cross_validate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.selection.friction_candidates import FrictionCandidate, usual_candidates
from exciter.identification.selection.friction_choice import FrictionChoice, _doubtful, choose_friction
from exciter.identification.selection.friction_equations import friction_equations
from exciter.parameters.terms import (
    Coulomb,
    Dahl,
    JointTerm,
    LoadFriction,
    Offset,
    RotorInertia,
    Sign,
    SqrtViscous,
    Stribeck,
    UserTerm,
    Viscous,
)
from exciter.robot import load
from support.real_data import real_recording, require_data
from support.robots import CASES, smooth_motion

pytestmark = pytest.mark.slow

PERIOD = 10.0
VALUES = {"Fv1": 40.0, "Fv2": 30.0, "Fv3": 5.0, "Fs1": 30.0, "Fs2": 40.0, "Fs3": 10.0, "Fr3": 15.0, "off2": 20.0}


@cache
def robot():
    return load("kuka-ir361")


def moved(seed: int, samples: int = 1500, periods: int = 1):
    family = Fourier(period=PERIOD, harmonics=5)
    delta = 0.4 * np.random.default_rng(seed).standard_normal((3, len(family.labels)))
    return motion_of(family, delta, np.arange(samples * periods) * PERIOD / samples)


def chi_of(model: DynamicModel, values: dict[str, float]) -> np.ndarray:
    chi = dict(zip(model.standard, model.nominal, strict=True)) | values
    return np.array([chi[name] for name in model.standard])


def run_of(terms: tuple[JointTerm, ...], values: dict[str, float], noise: float, seed: int = 5, **motion) -> Run:
    model, path = DynamicModel(robot(), terms), moved(seed, **motion)
    torque = model.torque(path, chi_of(model, values))
    rate = 1.0 / (path.time[1] - path.time[0])
    return Run.at(path, torque + noise * np.random.default_rng(seed).standard_normal(torque.shape), rate)


def chosen(choice: FrictionChoice) -> list[str]:
    return [joint.chosen.candidate.name for joint in choice.per_joint]


def test_a_doubt_is_the_change_of_a_fit_with_the_other_friction():
    """Weighted least squares of both models, weights as they were chosen with; by the names of parameters."""
    more, less = (RotorInertia(), Viscous(), Coulomb(), Offset(), SqrtViscous()), (Viscous(), Coulomb(), Offset())
    run = run_of(more, VALUES | {"Fr1": 4.0, "Fr2": 6.0}, 3.0)
    problem = Problem(DynamicModel(robot(), (RotorInertia(),)), (run,))
    candidates = (FrictionCandidate("less", less), FrictionCandidate("more", (*less, SqrtViscous())))
    (equations,) = friction_equations(problem, (RotorInertia(),), candidates)
    noise = equations.noise([equations.columns[1]] * 3)
    found = equations.change(1, equations.columns[0], [equations.columns[1]] * 3, noise)
    fits = []
    for rooted in (None, (robot().joint_names[0], robot().joint_names[2])):
        terms = (RotorInertia(), *less, SqrtViscous(rooted))
        other = Problem(DynamicModel(robot(), terms), (run,)).compressed
        base = Problem(DynamicModel(robot(), terms), (run,)).base
        values = other.information(noise).solve()[0]
        fits.append(dict(zip([base.standard[k] for k in base.independent], values, strict=True)))
    expected = {name: fits[1].get(name, 0.0) - value for name, value in fits[0].items()}
    assert found.keys() == expected.keys()
    assert_allclose([found[name] for name in expected], list(expected.values()), rtol=1e-5, atol=1e-7)
    assert abs(found["Fs2"]) > 1e-3
    assert found["Fr2"] == pytest.approx(-fits[0]["Fr2"])


def test_a_doubt_of_what_is_grouped_with_weight_is_no_rounding():
    """The offset of a vertical slider is its weight: which of the two takes it is not asked."""
    gantry = CASES["gantry"]()
    path = smooth_motion(gantry, np.arange(800) / 50.0)
    model = DynamicModel(gantry, (Viscous(), Coulomb(), Offset()))
    torque = model.torque(path, np.where(np.arange(len(model.standard)) < 10 * gantry.n, model.nominal, 2.0))
    torque += 0.05 * np.random.default_rng(0).standard_normal(torque.shape)
    less = (Viscous(), Coulomb(), Offset())
    candidates = (FrictionCandidate("less", less), FrictionCandidate("more", (*less, SqrtViscous())))
    problem = Problem(DynamicModel(gantry, ()), (Run.at(path, torque, 50.0),))
    for equations in friction_equations(problem, (), candidates):
        chosen = [equations.columns[1]] * len(equations.joints)
        noise = equations.noise(chosen)
        for j in range(len(equations.joints)):
            assert max(map(abs, equations.change(j, equations.columns[0], chosen, noise).values())) < 10.0


def test_a_simpler_friction_is_in_doubt_until_it_is_clearly_worse():
    """By how many standard errors the simpler one is worse; where it is chosen there is none."""
    simple, rich = FrictionCandidate("simple", (Viscous(),)), FrictionCandidate("rich", (Viscous(), Offset()))
    scatter, rows = np.array([-1.0, 1.0, -1.0, 1.0]), np.ones((4, 1))
    best = Score(np.full((4, 1), 10.0), rows)
    for errors, doubtful in ((0.5, True), (2.0, True), (2.9, True), (3.1, False), (20.0, False)):
        worse = 10.0 + scatter + errors * scatter.std(ddof=1) / 2.0
        scores = [{0: Score(worse[:, None], rows), 1: best}]
        assert list(_doubtful((simple, rich), [1], scores)) == ([(0, 0)] if doubtful else [])
        assert list(_doubtful((simple, rich), [0], scores)) == []


def test_joints_that_slide_have_lengths():
    """The number in a name is millimetres and m/s there; asked for by its name of a joint that turns, it is found."""
    gantry = CASES["gantry"]()
    path = smooth_motion(gantry, np.arange(400) / 50.0)
    noise = np.random.default_rng(0).standard_normal(path.q.shape)
    model = DynamicModel(gantry, (Viscous(), Coulomb()))
    few = [one for one in usual_candidates(deltas=(1e-3,), velocities=(0.1,)) if "√" not in one.name]
    choice = choose_friction(Problem(model, (Run.at(path, model.torque(path, model.nominal) + noise, 50.0),)), few)
    units = set()
    for joint, one in zip(choice.per_joint, gantry.joints, strict=True):
        names = " ".join(row.candidate.name for row in joint.table)
        length, speed = ("1 mm", "0.1 m/s") if one.is_prismatic else ("1 mrad", "0.1 rad/s")
        assert f"Dahl {length}" in names
        assert f"Stribeck {speed}" in names
        assert ("mrad" in names) != one.is_prismatic
        units.add(joint.unit)
    assert units == {"N", "N·m"}
    assert choice.held_out("viscous + Dahl 1 mrad").shape == (gantry.n,)


def test_each_joint_gets_its_own_model():
    """Plain friction, pre-sliding with an offset, and a root of the speed, all on one robot; then a model of them."""
    terms = (
        Viscous(),
        Coulomb(joints=("joint_1", "joint_3")),
        Coulomb(Dahl(3e-3), joints=("joint_2",)),
        Offset(("joint_2",)),
        SqrtViscous(("joint_3",)),
    )
    model = DynamicModel(robot(), (Viscous(), Coulomb()))
    choice = choose_friction(Problem(model, (run_of(terms, VALUES, 2.0),)))
    first, second, third = chosen(choice)
    assert first == "viscous + Coulomb"
    assert "Dahl 3 mrad + offset" in second  # what else is added is a matter of chance, and of last digits
    assert "√ + Coulomb" in third
    assert choice.settled
    assert_allclose(choice.held_out(), 2.0, rtol=0.06)
    assert choice.held_out("viscous")[0] > 5.0
    assert (choice.held_out("none") > choice.held_out()).all()
    final = DynamicModel(robot(), choice.terms)
    assert {name for name in final.standard if name.startswith("F")} >= {"Fv1", "Fs1", "Fs2", "Fs3", "Fr3"}
    estimate = WeightedLeastSquares().estimate(Problem(final, (run_of(terms, VALUES, 2.0),)))
    found = dict(zip(estimate.names, estimate.values, strict=True))
    assert found["Fs2"] == pytest.approx(40.0, abs=1.0)
    assert found["Fr3"] == pytest.approx(15.0, abs=5.0)


def test_the_evidence_is_kept():
    choice = choose_friction(
        Problem(DynamicModel(robot(), (Viscous(), Coulomb())), (run_of((Viscous(), Coulomb()), VALUES_PLAIN, 2.0),)),
        usual_candidates(deltas=(1e-3,), velocities=(0.1,)),
    )
    assert chosen(choice) == ["viscous + Coulomb"] * 3
    plain = choice.to_dict()
    rows = plain["joints"]["joint_1"]
    assert [row["candidate"] for row in rows][:2] == ["none", "Coulomb"]
    assert sum(row["chosen"] for row in rows) == 1
    best = min(rows, key=lambda row: row["rms"])
    assert best["excess"] == 0.0
    taken = next(row for row in rows if row["chosen"])
    assert taken["excess"] <= taken["error"]
    earlier = rows[: rows.index(taken)]
    assert all(row["excess"] > row["error"] for row in earlier)  # simpler ones are worse by more than the error
    assert choice.notes[0].text.startswith("joint_1: viscous + Coulomb, ")
    with pytest.raises(ParameterError, match="no candidate 'magic'; there are none, Coulomb"):
        choice.held_out("magic")


VALUES_PLAIN = {name: value for name, value in VALUES.items() if name[:2] in ("Fv", "Fs")}


def test_scores_are_those_of_plain_cross_validation():
    """Candidates as columns of one compressed problem, against a model of its own for each."""
    run = run_of((Viscous(), Coulomb(Dahl(1e-3)), Offset()), VALUES_PLAIN | {f"off{j}": 9.0 for j in (1, 2, 3)}, 2.0)
    sets = ((Viscous(), Coulomb(Dahl(1e-3)), Offset()), (Viscous(), SqrtViscous(), Coulomb()), (Coulomb(),))
    candidates = tuple(FrictionCandidate(str(k), terms) for k, terms in enumerate(sets))
    problem = Problem(DynamicModel(robot(), (RotorInertia(),)), (run,), folds=5)
    (equations,) = friction_equations(problem, (RotorInertia(),), candidates)
    noise = np.array([2.0, 1.0, 3.0])
    columns = equations.columns
    for k, terms in enumerate(sets):
        plain = replace(problem, model=DynamicModel(robot(), (RotorInertia(), *terms)))
        (expected,) = cross_validate(plain.compressed, lambda c: [c.information(noise).solve()[0]], noise)
        values = WeightedLeastSquares(tuple(noise)).estimate(plain)
        positive = all(v > 0 for n, v in zip(values.names, values.values, strict=True) if n.startswith("F"))
        for j in range(3):
            score = equations.scores(j, columns, [columns[k]] * 3, noise)[k]
            assert_allclose(score.rows[:, 0], expected.rows[:, j])
            if positive:
                assert_allclose(score.squares[:, 0], expected.squares[:, j], rtol=1e-7)
    assert positive


def test_friction_is_never_negative():
    """A joint that is pushed along: least squares would like negative friction, and gets none."""
    run = run_of((Viscous(), Coulomb()), VALUES_PLAIN | {"Fv2": -30.0, "Fs2": -20.0}, 2.0)
    problem = Problem(DynamicModel(robot()), (run,))
    candidates = usual_candidates(deltas=(), velocities=())[:4]
    assert chosen(choose_friction(problem, candidates))[1] == "none"
    (equations,) = friction_equations(problem, (), candidates)
    columns = equations.columns
    scores = equations.scores(1, columns, [columns[3]] * 3, np.ones(3))
    assert_allclose([score.mean for score in scores], scores[0].mean)  # none of them may use what it has


# -- folds -----------------------------------------------------------------------------------------------------------


def test_folds_of_time_leak_where_the_motion_repeats():
    """A disturbance that repeats with the motion (ripple, say) is no friction. Folds of time see it in the periods that
    are left, and longer models that fit some of it look better; folds of the period are not taken in."""
    samples, periods, k = 300, 10, np.arange(1, 41)
    phase = 2.0 * np.pi * np.outer(np.arange(samples) / samples, k)
    rng = np.random.default_rng(0)
    cosines, sines = 5.0 / np.sqrt(40) * rng.standard_normal((2, 40, 3))
    once = np.cos(phase) @ cosines + np.sin(phase) @ sines
    run = run_of((Viscous(), Coulomb()), VALUES_PLAIN, 2.0, samples=samples, periods=periods)
    torque = run.parts[0].torque + np.tile(once, (periods, 1))
    run = Run.at(run.parts[0].motion, torque, run.parts[0].rate)
    candidates = usual_candidates(deltas=(3e-3,), velocities=(0.1, 0.3))
    problem = Problem(DynamicModel(robot()), (run,))
    by_time = replace(run)
    by_time.__dict__["seen_period"] = None  # as if nobody looked
    leaking = choose_friction(replace(problem, runs=(by_time,)), candidates)
    sound = choose_friction(replace(problem, runs=(replace(run, period=PERIOD),)), candidates)
    assert chosen(sound) == ["viscous + Coulomb"] * 3
    assert chosen(choose_friction(problem, candidates)) == chosen(sound)  # the period is seen, where it is not stated
    assert sum(name != "viscous + Coulomb" for name in chosen(leaking)) >= 2
    name = "viscous + Coulomb + Stribeck 0.1 rad/s + offset"
    assert (leaking.held_out(name) < leaking.held_out("viscous + Coulomb")).all()  # fits what it has seen
    assert (sound.held_out(name) > sound.held_out("viscous + Coulomb")).sum() >= 2
    assert (leaking.held_out() < 0.98 * sound.held_out()).all()  # and the residual is flattered


def loaded(delta: float) -> list[FrictionCandidate]:
    """Friction that grows with the rigid torque, beside a sign or pre-sliding, and a root of the speed."""
    shapes = {"Coulomb": (Sign(), "Coulomb"), f"Dahl {1e3 * delta:g} mrad": (Dahl(delta), "Dahl")}
    found = []
    for more, extra in (("", ()), ("√ + ", (SqrtViscous(),))):
        for name, (shape, kind) in shapes.items():
            terms = (Viscous(), *extra, Coulomb(shape), LoadFriction(shape), Offset())
            family = f"viscous + {more}{kind} + load + offset"
            found.append(FrictionCandidate(f"viscous + {more}{name} + load + offset", terms, family))
    return found


def test_other_kinds_are_found_too():
    """Stribeck with its velocity, and friction that grows with the load, among candidates of their own."""
    base = (Viscous(), Coulomb())
    terms = (*base, Stribeck(joints=("joint_1",), velocity=0.1), LoadFriction(joints=("joint_2",)))
    run = run_of(terms, VALUES_PLAIN | {"Fst1": 40.0, "Fl2": 0.2}, 1.0)
    candidates = (*usual_candidates(deltas=(3e-4,)), *loaded(3e-4))
    choice = choose_friction(Problem(DynamicModel(robot(), base), (run,)), candidates)
    assert chosen(choice) == [
        "viscous + Coulomb + Stribeck 0.1 rad/s + offset",
        "viscous + Coulomb + load + offset",
        "viscous + Coulomb",
    ]
    kinds = {type(term) for term in choice.terms}
    assert kinds == {Viscous, Coulomb, Stribeck, LoadFriction, Offset}


def test_bad_input_is_one_clear_line():
    run = run_of((Viscous(), Coulomb()), VALUES_PLAIN, 2.0, samples=200)
    problem = Problem(DynamicModel(robot()), (run,))
    one = FrictionCandidate("one", (Viscous(),))
    still = Run.at(
        replace(run.parts[0].motion, qd=0 * run.parts[0].motion.qd, qdd=0 * run.parts[0].motion.qdd),
        run.parts[0].torque,
        20.0,
    )
    for match, call in (
        ("at least one", lambda: choose_friction(problem, ())),
        ("name of its own", lambda: choose_friction(problem, (one, one))),
        ("at least 2", lambda: choose_friction(replace(problem, folds=1), (one,))),
        ("mixes joints", lambda: choose_friction(replace(problem, formulation=Energy()), (one,))),
        ("do not determine all", lambda: choose_friction(replace(problem, runs=(still,)), (one,))),
        ("with joints of its own", lambda: FrictionCandidate("two", (Viscous(("joint_1",)),))),
        ("cannot be put on any joint", lambda: FrictionCandidate("x", (UserTerm("K", "joint_1", lambda q, v, a: q),))),
    ):
        with pytest.raises(ExciterError, match=match) as told:
            call()
        assert "\n" not in str(told.value)


def test_a_real_wrist_wants_pre_sliding():
    """Franka Panda, first two thirds of the log: held-out torque gains everywhere, most at the wrist."""
    place = require_data("panda")
    arm = load(place / "panda.urdf")
    log = real_recording("panda").arranged(arm)
    train = log.between(log.time[0], log.time[0] + 0.66 * log.duration)
    run = Run.of(train, FilteredDifferences(cutoff=10.0))
    model = DynamicModel(arm, (RotorInertia(), Viscous(), Coulomb(), Offset()))
    problem = Problem(model, (run,), InverseDynamic(ParallelFilter(Butterworth(10.0))))
    candidates = usual_candidates(deltas=(1e-3, 3e-3), velocities=())
    choice = choose_friction(problem, candidates)
    gain = 1.0 - choice.held_out() / choice.held_out("viscous + Coulomb + offset")
    assert "Dahl" in chosen(choice)[6]
    assert gain[6] > 0.4
    assert (gain > -0.05).all()
    assert choice.terms[0] == RotorInertia()
