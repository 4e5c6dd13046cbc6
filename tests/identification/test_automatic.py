"""Settings that are chosen from the logs: on simulated arms whose truth is known, and overridden one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import About, Recording, write_recording
from exciter.experiment.recording.recording import LINK_SIDE, MOTOR_SIDE
from exciter.experiment.signals.differentiation import HIGHEST_CUTOFF_RATE_FRACTION, FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed, Route
from exciter.identification.automatic import (
    Asked,
    Automatic,
    Chosen,
    choose_automatically,
    choose_settings,
    slowest_seen,
    without_idle_friction,
)
from exciter.identification.estimators.least_squares import WeightedLeastSquares, bounded
from exciter.identification.estimators.physical import Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identify_config import EquationFilter, IdentifyConfig
from exciter.identification.information.compressed import Score, simplest_within_error
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Reference, StandardEquations
from exciter.identification.physical.prior_values import PriorValues
from exciter.identification.runs.run import Run
from exciter.identification.selection.cross_validated_trial import Trial
from exciter.identification.selection.cutoff_choice import (
    CUTOFFS_PER_BAND,
    MOST_EDGE_FRACTION,
    choose_route,
    cutoff_candidates,
)
from exciter.identification.selection.friction_candidates import (
    PRESLIDING_TRAVELS,
    RIPPLE_TRAVEL_RAD,
    barred_terms,
    coupled_variants,
    friction_candidates,
    gear_load,
    starting_terms,
)
from exciter.identification.selection.prior_and_tilt_choice import (
    AS_GOOD_FRACTION,
    FAINT_PRIOR_WEIGHTS,
    PRIOR_WEIGHTS,
    choose_prior_weight,
)
from exciter.parameters.consistency import dummies
from exciter.parameters.terms import (
    Coulomb,
    CoupledSqrtViscous,
    Dahl,
    DriveCoupling,
    JointTerm,
    LoadFriction,
    Offset,
    Ripple,
    RotorInertia,
    Sign,
    Spring,
    SqrtViscous,
    Viscous,
)
from exciter.pipeline import identify as pipeline_identify
from exciter.robot import Motion, Robot, load
from support.robots import CASES, smooth_motion
from support.terminal import without_progress

pytestmark = pytest.mark.slow

ARM = "kuka-ir361"
ROBOT = load(ARM)
JOINTS = ROBOT.joint_names
RATE, PERIOD = 200.0, 15.0
NOISE = np.array([2.0, 2.0, 1.0])
USUAL = (RotorInertia(), Viscous(), Coulomb(Dahl(1e-3)), Offset())
USED = ("filter", "route", "friction", "estimator: weight", "estimator")  #: settings that a first run chooses
FRICTION = {"Fv1": 40.0, "Fv2": 30.0, "Fv3": 5.0, "Fs1": 30.0, "Fs2": 40.0, "Fs3": 10.0, "off2": 20.0}


def moved(seed: int = 5, seconds: float = 20.0, period: float = PERIOD) -> Motion:
    delta = 0.4 * np.random.default_rng(seed).standard_normal((3, 11))
    return motion_of(Fourier(period, 5), delta, np.arange(round(seconds * RATE)) / RATE)


def torque_of(motion: Motion, terms: Sequence[JointTerm] = USUAL, seed: int = 0, **values: float) -> np.ndarray:
    model = DynamicModel(ROBOT, tuple(terms))
    known = dict(zip(model.standard, model.nominal, strict=True)) | FRICTION | values
    exact = model.torque(motion, [known[name] for name in model.standard])
    return exact + NOISE * np.random.default_rng(seed).standard_normal(exact.shape)


# -- how much the prior is worth -------------------------------------------------------------------------------------


def score(*squares: float) -> Score:
    """One joint, one row in each fold."""
    return Score(np.array(squares)[:, None], np.ones((len(squares), 1)))


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([score(5, 5, 5), score(4, 4, 4), score(1, 1, 1)], 2),  # the best alone, the weakest
        ([score(1, 1, 1), score(4, 4, 4), score(5, 5, 5)], 0),
        ([score(4, 4, 4), score(1, 1, 1), score(5, 5, 5)], 1),
        ([score(1, 1, 1), score(1, 1, 1)], 0),  # equal: the strongest
        ([score(9, 1, 5), score(1.1, 0.9, 1.03), score(1, 1, 1)], 1),  # worse by less than chance
        ([score(0.5, 3, 0.5, 2), score(1, 1, 1, 1)], 1),  # chance is large, but it is worse by half
        ([score(1.05, 1.05, 1.05), score(1, 1, 1)], 1),  # worse by little, but always
        ([score(1.1, 0.9, 1.03), score(9, 9, 9), score(1, 1, 1)], 0),  # whatever lies between
    ],
)
def test_the_strongest_prior_that_is_as_good_as_the_best(scores: list[Score], chosen: int) -> None:
    assert simplest_within_error(scores, AS_GOOD_FRACTION) == chosen


def test_what_is_within_chance_but_clearly_worse_is_not_as_good() -> None:
    """Of the cases above: that it is this limit that decides."""
    strong, best = score(0.5, 3, 0.5, 2), score(1, 1, 1, 1)
    assert AS_GOOD_FRACTION * best.mean < strong.mean - best.mean < strong.error_of_difference(best)


@dataclass(frozen=True, eq=False)
class Fixed(PriorValues):
    links: np.ndarray

    def reference(self, equations: StandardEquations) -> Reference:
        return Reference(self.links, np.zeros(len(equations.model.nominal) - self.links.size))


@cache
def seven_axes() -> DynamicModel:
    return DynamicModel(load("panda"), (RotorInertia(), Viscous(), Coulomb(), Offset()))


def seen(size: float, noise: float, seed: int = 0) -> Problem:
    """Of seven axes; size of the motion, noise [N·m]."""
    model, n = seven_axes(), 7
    chi = np.append(model.nominal[: 10 * n], np.maximum(model.nominal[10 * n :], 0.5))
    motion = smooth_motion(model.robot, np.arange(1000) / 50.0, seed)
    motion = replace(motion, q=size * motion.q, qd=size * motion.qd, qdd=size * motion.qdd)
    torque = model.torque(motion, chi)
    torque = torque + noise * np.random.default_rng(seed).standard_normal(torque.shape)
    return Problem(model, (Run.at(motion, torque, 50.0),))


def left(problem: Problem, beta: np.ndarray) -> float:
    """[%] of the torque."""
    found = [(rows.y - rows.w @ beta, rows.y) for _, rows in problem.rows()]
    return 100.0 * float(np.linalg.norm(found[0][0]) / np.linalg.norm(found[0][1]))


def weighed(problem: Problem, links: np.ndarray) -> tuple[float, float, float]:
    """The weight that is chosen; what is left of other torques with it, and by weighted least squares [%]."""
    trial = Trial(problem, Fixed(links))
    weight, choice = choose_prior_weight(trial, trial.noise(1e-3))
    assert f"{weight:.3g}" in choice.value
    pulled = Prior(values=Fixed(links), weight=weight).estimate(problem)
    other = seen(1.0, 0.0, seed=9)
    return weight, left(other, pulled.values), left(other, WeightedLeastSquares().estimate(problem).values)


def test_a_good_prior_holds_what_a_poor_motion_does_not_show() -> None:
    links = seven_axes().nominal[:70].reshape(7, 10)
    weight, pulled, free = weighed(seen(0.1, 1.0), links)
    assert weight == PRIOR_WEIGHTS[0]
    assert pulled < 0.1 * free


def test_a_wrong_prior_gives_way_to_a_good_motion() -> None:
    """Masses of other links, up to six times too large or too small."""
    links = seven_axes().nominal[:70].reshape(7, 10)
    shuffled = links * (np.roll(links[:, 0], 3) / links[:, 0])[:, None]
    weight, pulled, free = weighed(seen(1.0, 0.01), shuffled)
    right, _, _ = weighed(seen(1.0, 0.01), links)
    assert right == PRIOR_WEIGHTS[0]
    assert weight < right
    assert pulled < 1.1 * free


def test_a_prior_of_the_wrong_size_must_go() -> None:
    """Links a hundred times too light, which a good motion shows: no weight that takes them seriously is kept."""
    links = seven_axes().nominal[:70].reshape(7, 10) / 100.0
    weight, pulled, free = weighed(seen(1.0, 0.01), links)
    assert weight < PRIOR_WEIGHTS[-1]
    assert pulled < 1.1 * free


# -- friction --------------------------------------------------------------------------------------------------------


def settings_of(
    terms: Sequence[JointTerm], robot: Robot = ROBOT, side: str | None = None, **values: float
) -> tuple[Chosen, Run]:
    """Chosen for a motion that is known exactly; terms: of the arm that made the torques."""
    motion = moved(seconds=PERIOD)
    torque = torque_of(motion, terms, **values)
    about = About(side=side)
    run = Run(
        (Processed(motion, torque, RATE),),
        recording=Recording(JOINTS, motion.time, motion.q, torque=torque, about=about),
    )
    model = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb(), Offset()))
    asked = Asked(model, (run,), ParallelFilter(Butterworth(20.0)), 0.5, lambda route: (run,), route=False, tilt=False)
    return choose_settings(asked), run


def friction_of(chosen: Chosen, kind: type[JointTerm]) -> dict[str, Any]:
    """By joint: the term of that kind."""
    found = [term for term in chosen.terms if isinstance(term, kind)]
    return {joint: term for term in found for joint in getattr(term, "joints") or JOINTS}  # noqa: B009


@pytest.fixture(scope="module")
def plain() -> Chosen:
    """Dry friction with a travel of its own for each joint, nothing else."""
    shapes = [Coulomb(Dahl(delta), joints=(joint,)) for delta, joint in zip((3e-3, 1e-2, 3e-4), JOINTS, strict=True)]
    return settings_of((RotorInertia(), Viscous(), Offset(), *shapes))[0]


@pytest.fixture(scope="module")
def rich() -> tuple[Chosen, Run]:
    """√ on the first joint, load on the second, ripple on the third; a description that holds placeholders."""
    terms = (*USUAL, SqrtViscous((JOINTS[0],)), LoadFriction(Dahl(1e-3), joints=(JOINTS[1],)), Ripple((JOINTS[2],)))
    same = np.array([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01])
    bare = replace(ROBOT, joints=tuple(replace(joint, inertia=same) for joint in ROBOT.joints))
    assert dummies(bare)
    return settings_of(terms, bare, MOTOR_SIDE, Fr1=20.0, Fl2=0.1, Rs3=3.0, Rc3=2.0)


def test_the_travel_of_pre_sliding_is_found(plain: Chosen) -> None:
    found = friction_of(plain, Coulomb)
    for joint, true in zip(JOINTS, (3e-3, 1e-2, 3e-4), strict=True):
        near = [delta for delta in PRESLIDING_TRAVELS if 0.3 * true < delta < 3.5 * true]
        assert found[joint].shape.delta in near
    assert set(friction_of(plain, Viscous)) == set(friction_of(plain, Offset)) == set(JOINTS)


def test_what_is_not_there_is_not_found(plain: Chosen) -> None:
    assert not friction_of(plain, SqrtViscous)
    assert not friction_of(plain, LoadFriction)
    assert not friction_of(plain, Ripple)
    assert friction_of(plain, RotorInertia)  # was given, and stays


def test_what_is_there_is_found(rich: tuple[Chosen, Run]) -> None:
    chosen, run = rich
    assert JOINTS[0] in friction_of(chosen, SqrtViscous)
    assert JOINTS[1] in friction_of(chosen, LoadFriction)
    assert JOINTS[2] in friction_of(chosen, Ripple)
    assert chosen.friction is not None
    assert {"friction", "estimator: weight"} <= {one.setting for one in chosen.choices}
    problem = Problem(DynamicModel(ROBOT, chosen.terms), (run,), InverseDynamic(ParallelFilter(Butterworth(20.0))))
    found = dict(zip(problem.names, Prior(weight=chosen.weight).estimate(problem).values, strict=True))
    assert found["Fl2"] == pytest.approx(0.1, rel=0.5)
    assert found["Fr1"] == pytest.approx(20.0, rel=0.3)


def test_the_load_is_that_of_a_first_fit(rich: tuple[Chosen, Run]) -> None:
    """Not of the description, which knows nothing: torques of the load's links are those of the arm."""
    chosen, _ = rich
    (term,) = (t for t in chosen.terms if isinstance(t, LoadFriction))
    motion = moved()
    carried = DynamicModel(ROBOT).torque(motion, np.array(term.links).ravel())[:, 1]
    true = DynamicModel(ROBOT).torque(motion)[:, 1]
    assert np.linalg.norm(carried - true) < 0.3 * np.linalg.norm(true)  # rotors may have a part of it


def test_sensors_on_the_links_see_no_load() -> None:
    terms = (Viscous(), Coulomb(Dahl(3e-3)), Offset(), SqrtViscous((JOINTS[2],)))
    chosen, _ = settings_of(terms, side=LINK_SIDE, Fr3=15.0)
    assert chosen.friction is not None
    for joint in chosen.friction.per_joint:
        assert not [row.candidate.name for row in joint.table if "load" in row.candidate.name]
    found = friction_of(chosen, Coulomb)
    assert all(1e-3 <= found[joint].shape.delta <= 1e-2 for joint in JOINTS)
    assert JOINTS[2] in friction_of(chosen, SqrtViscous)


def test_candidates_from_the_simplest_on() -> None:
    every = friction_candidates(LoadFriction())
    assert len(every) == 8 * (len(PRESLIDING_TRAVELS) + 1)
    assert len(friction_candidates(None)) == 4 * (len(PRESLIDING_TRAVELS) + 1)
    assert len(friction_candidates(None, ripple=False)) == 2 * (len(PRESLIDING_TRAVELS) + 1)
    names = [one.name for one in every]
    assert names[0] == "viscous + Coulomb + offset"
    assert names[1] == "viscous + Dahl 0.01 mrad + offset"
    assert names[-1] == "viscous + Dahl 10 mrad + √ + load + ripple + offset"
    assert len(set(names)) == len(names)
    count = [len(one.terms) for one in every]
    assert count == sorted(count)
    for one in every:
        (dry,) = (term.shape for term in one.terms if isinstance(term, Coulomb))
        assert isinstance(dry, Sign) == ("Coulomb" in one.name)
        assert [term.shape for term in one.terms if isinstance(term, LoadFriction)] in ([], [dry])
    assert not any(isinstance(t, LoadFriction) for one in friction_candidates(None) for t in one.terms)


def test_ripple_needs_a_turn_and_must_not_look_like_weight() -> None:
    """The axis of the second joint lies flat: weight repeats every turn of it, too. In one of two logs the first turns
    enough."""
    motion = moved()
    small = replace(motion, q=motion.q * np.array([0.9 * RIPPLE_TRAVEL_RAD / np.ptp(motion.q[:, 0]), 1.0, 1.0]))
    runs = [Run.at(small, np.ones_like(small.q), RATE)]
    assert set(barred_terms(ROBOT, runs)) == {JOINTS[0], JOINTS[1]}
    assert barred_terms(ROBOT, [*runs, Run.at(motion, np.ones_like(small.q), RATE)]) == {JOINTS[1]: [Ripple()]}
    floating = replace(ROBOT, gravity=np.zeros(3))
    assert barred_terms(floating, [Run.at(motion, np.ones_like(small.q), RATE)]) == {}
    gantry = CASES["gantry"]()
    wide = smooth_motion(gantry, np.arange(100) / 10.0)
    wide = replace(wide, q=10.0 * wide.q)
    slides = {joint.name for joint in gantry.joints if joint.is_prismatic}
    assert set(barred_terms(gantry, [Run.at(wide, wide.q, 10.0)])) == slides
    assert slides


def test_pre_sliding_is_not_shorter_than_the_encoder_shows() -> None:
    """Encoders of other steps on each joint; of two logs the finer one counts."""
    steps, motion = np.array([2e-4, 2e-5, 0.0]), moved()
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(steps > 0.0, steps * np.round(motion.q / steps), motion.q)

    def logged(q: np.ndarray) -> Run:
        recording = Recording.of(motion.time, q, np.ones_like(q), joints=JOINTS)
        return replace(Run.at(motion, np.ones_like(q), RATE), recording=recording)

    def shortest(runs: list[Run]) -> list[float]:
        barred = barred_terms(ROBOT, runs)
        found = [[term.shape.delta for term in barred.get(joint, ()) if isinstance(term, Coulomb)] for joint in JOINTS]
        return [min(set(PRESLIDING_TRAVELS) - set(some)) for some in found]

    assert shortest([logged(q)]) == [3e-4, 3e-5, 1e-5]
    assert shortest([logged(q), logged(motion.q)]) == [1e-5, 1e-5, 1e-5]
    assert shortest([Run.at(motion, np.ones_like(q), RATE)]) == [1e-5] * 3  # no log to look at


def test_the_slowest_speed_that_counts_is_what_the_encoder_shows() -> None:
    """2π · cut-off · step, at most a hundredth of the fastest."""
    motion, step = moved(), 1e-5
    recording = Recording.of(motion.time, step * np.round(motion.q / step), np.ones_like(motion.q), joints=JOINTS)
    fastest = np.abs(motion.qd).max(axis=0)
    for cutoff in (10.0, 1e6):
        part = Processed(motion, np.ones_like(motion.q), RATE, position_bandwidth=cutoff)
        found = slowest_seen(IdentifyConfig(), ROBOT, (Run((part,), recording=recording),))
        assert found == pytest.approx(np.minimum(2.0 * np.pi * cutoff * step, 0.01 * fastest), rel=0.2)


def test_friction_that_ends_at_zero_leaves_the_model() -> None:
    """√ of one joint, load of all, and dry friction of size zero pre-slides nowhere; what is there stays."""
    terms = (Viscous(), Coulomb(Dahl(1e-3)), SqrtViscous(), Offset(), LoadFriction(joints=JOINTS[:1]))
    model, motion = DynamicModel(ROBOT, terms), moved()
    problem = Problem(model, (Run.at(motion, torque_of(motion), RATE),))
    zero = {"Fr2", "Fs3", "Fl1", "Fv1", "off1"}
    chi = np.array([0.0 if name in zero else 1.0 for name in model.standard])
    left, gone = without_idle_friction(problem, chi)
    assert gone == ("Fr2", "Fl1")
    assert left == (
        Viscous(),
        Coulomb(Dahl(1e-3), joints=JOINTS[:2]),
        Coulomb(joints=JOINTS[2:]),
        SqrtViscous(joints=(JOINTS[0], JOINTS[2])),
        Offset(),
    )
    assert without_idle_friction(problem, np.ones(len(chi))) == (terms, ())


def test_a_base_that_leans_a_little_bars_the_same() -> None:
    """Where weight has nearly the shape of a ripple, the prior would decide between them as well."""
    robot = load("ur10e")
    run = Run.at(smooth_motion(robot, np.arange(400) / 50.0, 1), np.zeros((400, robot.n)), 50.0)
    angle = np.radians(0.01)
    leaning = robot.with_gravity(9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)]))
    assert set(barred_terms(robot, [run])) <= set(barred_terms(leaning, [run]))


def test_springs_relieve_the_gears() -> None:
    """The load is what the model says without friction and rotors, the counterbalance among it."""
    robot = load("puma560")
    spring = Spring(robot.joint_names[1], base_arm=0.4, link_arm=0.1, offset=0.3, free_length=0.2)
    model = DynamicModel(robot, (Viscous(), spring))
    friction = np.array([name.startswith("Fv") for name in model.standard])
    chi = np.where(friction, 1.0, model.nominal)
    chi[-2:] = 3000.0, -50.0
    motion = smooth_motion(robot, np.arange(50) / 50.0, 1)
    carried = model.torque(motion, np.where(friction, 0.0, chi))
    assert np.abs(carried - model.torque(motion, np.where(friction, 0.0, model.nominal))).max() > 10.0
    term = replace(gear_load(model, chi), shape=Sign())
    values = term.bind(model.dynamics.robot, model.dynamics).values(motion)
    np.testing.assert_allclose(np.abs(values), np.abs(carried.T), rtol=1e-9, atol=1e-9)


def test_nothing_bounded_is_plain_least_squares() -> None:
    r = np.array([[2.0, 1.0], [0.0, 3.0]])
    found = bounded(Information(r, np.array([4.0, -6.0])), np.zeros(2, dtype=bool))
    np.testing.assert_allclose(r @ found, [4.0, -6.0])


def test_what_is_barred_is_not_tried() -> None:
    """An arm whose third joint hardly turns, though its torque repeats every turn."""
    motion = moved(seconds=5.0)
    part = np.array([1.0, 1.0, 0.2])
    motion = replace(motion, q=part * motion.q, qd=part * motion.qd, qdd=part * motion.qdd)
    run = Run.at(motion, torque_of(motion, (*USUAL, Ripple((JOINTS[2],))), Rs3=30.0, Rc3=20.0), RATE)
    asked = Asked(
        DynamicModel(ROBOT), (run,), ParallelFilter(Butterworth(20.0)), 0.5, lambda route: (run,), route=False
    )
    chosen = choose_settings(asked)
    assert chosen.friction is not None
    first, second, third = ([row.candidate.name for row in joint.table] for joint in chosen.friction.per_joint)
    assert any("ripple" in name for name in first)
    assert not any("ripple" in name for name in (*second, *third))
    assert JOINTS[2] not in friction_of(chosen, Ripple)


def test_coupled_motors_are_tried_with_pre_sliding_and_a_root() -> None:
    coupled = DriveCoupling(JOINTS[1], JOINTS[2], -1.0)
    (_, bent), (_, rooted) = coupled_variants((RotorInertia(), coupled), MOTOR_SIDE)
    (shape,) = (term.shape for term in bent if isinstance(term, DriveCoupling))
    assert isinstance(shape, Dahl)
    assert rooted == (*bent, CoupledSqrtViscous(JOINTS[1], JOINTS[2], -1.0))
    assert coupled_variants((RotorInertia(),), MOTOR_SIDE) == [("as given", (RotorInertia(),))]
    assert starting_terms((), LINK_SIDE)[1].shape.delta > starting_terms((), MOTOR_SIDE)[1].shape.delta  # type: ignore[attr-defined]


# -- the route from positions to accelerations -----------------------------------------------------------------------


def recorded(
    motion: Motion, counts: float = 0.0, velocity: float | None = None, kept: Any = slice(None), **about: Any
) -> Recording:
    """counts [rad]: of the encoders; velocity [rad/s]: noise of recorded ones."""
    rng = np.random.default_rng(1)
    q = motion.q + 1e-6 * rng.standard_normal(motion.q.shape)
    q = np.round(q / counts) * counts if counts else q
    qd = None if velocity is None else (motion.qd + velocity * rng.standard_normal(motion.q.shape))[kept]
    return Recording(JOINTS, motion.time[kept], q[kept], qd, torque_of(motion)[kept], about=About(**about))


def automatic(*logs: Recording, **section: Any) -> Automatic:
    """As the command does it; friction as given unless said otherwise, and the base stands as described: for speed."""
    section = {"friction": "as-given"} | section
    config = IdentifyConfig.of({"gravity": list(ROBOT.gravity), "identify": section}, "here")

    def runs(route: Route | None) -> tuple[Run, ...]:
        return tuple(Run.of(log, route, name=f"log {k}") for k, log in enumerate(logs))

    return choose_automatically(config, ROBOT, runs(config.route), runs)


def chosen_of(found: Automatic) -> dict[str, str]:
    return {one.setting: one.value for one in found.choices}


@pytest.mark.parametrize(("rate", "seconds", "band"), [(200.0, 15.0, 0.4), (100.0, 8.0, 2.0), (1000.0, 12.0, 0.7)])
def test_cut_offs_cost_little_and_leave_the_rate_room(rate: float, seconds: float, band: float) -> None:
    motion = motion_of(Fourier(2.0, 2), 0.2 * np.ones((3, 5)), np.arange(round(seconds * rate)) / rate)
    log = Recording(JOINTS, motion.time, motion.q, torque=motion.qd)
    run = Run((Processed(motion, motion.qd, rate),), recording=log)
    found = cutoff_candidates(band, [run])
    assert found == tuple(sorted(found))
    for cutoff in [multiple * band for multiple in CUTOFFS_PER_BAND]:
        kept = any(abs(cutoff - one) < 0.01 * cutoff for one in found)
        if cutoff > HIGHEST_CUTOFF_RATE_FRACTION * rate:
            assert not kept, cutoff
            continue
        lost = Run.of(log, FilteredDifferences(cutoff)).parts[0].motion.time[0]  # type: ignore[index]
        assert kept == (lost < MOST_EDGE_FRACTION * seconds), cutoff
    assert cutoff_candidates(100.0 * rate, [run]) == ()


@dataclass(frozen=True, eq=False)
class Told:
    """In place of a trial: scores as told."""

    found: Score
    projecting: None = None

    def projected(self, projecting: None) -> Told:
        return self

    def noise(self, weight: float) -> np.ndarray:
        return np.ones(3)

    def scores(self, weights: np.ndarray, noise: np.ndarray) -> list[Score]:
        return [replace(self.found, squares=2.0 * self.found.squares), self.found]

    best_score = Trial.best_score


def told_route(told: Callable[[FilteredDifferences], Score], velocity: float | None = None) -> Any:
    """What is chosen, and the instants that each trial had."""
    log = recorded(moved(seconds=10.0), velocity=velocity)
    tried: list[tuple[FilteredDifferences, tuple[Run, ...]]] = []

    def remake(route: FilteredDifferences) -> tuple[Run, ...]:
        runs = (Run.of(log, route),)
        tried.append((route, runs))
        return runs

    instants = []

    def trial(runs: tuple[Run, ...]) -> Any:
        instants.append(np.concatenate([part.motion.time for run in runs for part in run.parts]))
        return Told(told(tried[-1][0]))

    return choose_route(remake, trial, 2.0, (Run.of(log),)), instants


def test_all_cut_offs_are_judged_by_the_same_instants() -> None:
    (route, runs, _), instants = told_route(lambda route: score(1, 1, 1))
    assert route.cutoff == 10.0  # the lowest, for all are alike
    assert len(instants) == 3
    for one in instants:
        np.testing.assert_allclose(one, instants[0], atol=1e-9)
    assert len(runs[0].parts[0].motion.time) == len(instants[0])


@pytest.mark.parametrize(
    ("scores", "cutoff"),
    [
        ({10.0: score(3, 3, 3), 20.0: score(1.1, 0.9, 1.03), 40.0: score(1, 1, 1)}, 20.0),
        ({10.0: score(3, 3, 3), 20.0: score(2, 2, 2), 40.0: score(1, 1, 1)}, 40.0),
    ],
)
def test_the_lowest_cut_off_that_is_as_good_as_any(scores: dict[float, Score], cutoff: float) -> None:
    (route, _, _), _ = told_route(lambda route: scores[route.cutoff or 0.0])
    assert route.cutoff == cutoff


@pytest.mark.parametrize("better", [True, False])
def test_recorded_velocities_where_they_are_better(better: bool) -> None:
    def told(route: FilteredDifferences) -> Score:
        return score(0.5, 0.5, 0.5) if route.measured_velocity == better else score(1, 1, 1)

    (route, _, choice), instants = told_route(told, velocity=0.01)
    assert len(instants) == 4
    assert route.measured_velocity is better
    assert ("velocities" in choice.value) is better


def test_coarse_encoders_with_clean_velocities() -> None:
    """And velocities that are worth nothing."""
    motion = moved(seconds=8.0)
    coarse = automatic(recorded(motion, 5e-3, 1e-4))
    assert chosen_of(coarse)["route"].startswith("recorded velocities")
    assert coarse.config.route.measured_velocity  # type: ignore[union-attr]
    found = automatic(recorded(motion, velocity=0.3))
    assert chosen_of(found)["route"].startswith("positions")
    assert not found.config.route.measured_velocity  # type: ignore[union-attr]
    clean = automatic(recorded(motion, 5e-3, 1e-4), recorded(moved(6, 6.0), 5e-3))  # one of two logs has none
    assert chosen_of(clean)["route"].startswith("positions")


def test_a_faster_log_is_differentiated_by_its_own_band() -> None:
    """A cut-off that was chosen on a slow log would cut the motion of a fast one; a slower one keeps it."""
    slow = recorded(moved(seconds=8.0))
    route = automatic(slow).config.route
    assert isinstance(route, FilteredDifferences)
    assert route.cutoff is not None
    assert route.bands is not None
    fast = replace(slow, time=slow.time[0] + (slow.time - slow.time[0]) / 4.0, qd=None)
    (slow_part,), (fast_part,) = Run.of(slow, route).parts, Run.of(fast, route).parts
    assert slow_part.position_bandwidth == route.cutoff
    assert fast_part.position_bandwidth == pytest.approx(4.0 * route.cutoff, rel=0.35)


def test_a_motion_that_repeats_keeps_its_series() -> None:
    found = automatic(recorded(moved(seconds=2.2 * PERIOD), period=PERIOD))
    assert "route" not in chosen_of(found)
    assert found.config.route is None
    assert all(part.series is not None for part in found.runs[0].parts)
    once = automatic(recorded(moved(seconds=1.2 * PERIOD), period=PERIOD))
    assert "route" in chosen_of(once)


def test_folds_of_a_motion_that_repeats_are_parts_of_its_period() -> None:
    """Also where nobody said that it repeats: a stretch left out must not have been seen one period before."""
    family, time = Fourier(4.0, 3), np.arange(1400) / 100.0
    delta = np.random.default_rng(0).standard_normal((3, family.coefficients))
    repeated = Run.at(motion_of(family, delta, time), np.zeros((len(time), 3)), 100.0)
    assert repeated.seen_period == pytest.approx(4.0, abs=0.02)
    inside = time[(time % 4.0 * 2.5) % 1.0 > 0.1]  # not where one fold ends
    inside = inside[(inside < 9.9) & ((inside % 4.0 * 2.5) % 1.0 < 0.9)]
    assert (repeated.fold(inside, 10) == repeated.fold(inside + 4.0, 10)).all()
    once = replace(repeated, parts=(repeated.parts[0][:500],), span=None)
    assert once.seen_period is None
    assert (np.diff(once.fold(time[:500], 10)) >= 0).all()


def test_several_logs_and_logs_with_gaps() -> None:
    """Pre-sliding starts anew after a gap; two logs have one cut-off."""
    gap = np.r_[0:1000, 1200:2400]
    found = automatic(recorded(moved(seconds=12.0), kept=gap), recorded(moved(6, 8.0)), friction="choose")
    assert [len(run.parts) for run in found.runs] == [2, 1]
    assert all(isinstance(term.shape, Dahl) for term in found.chosen.terms if isinstance(term, Coulomb))
    model = found.config.model(ROBOT)
    estimate = found.config.estimator(ROBOT, runs=found.runs).estimate(found.config.problem(model, found.runs))
    true = DynamicModel(ROBOT).base.base_values(DynamicModel(ROBOT).nominal)
    known = dict(zip(DynamicModel(ROBOT).base.names, true, strict=True))
    values = dict(zip(estimate.names, estimate.values, strict=True))
    for name in ("MXR2", "MX3", "ZZR2"):
        assert values[name] == pytest.approx(known[name], abs=0.1 * max(np.abs(true)))


# -- configuration ---------------------------------------------------------------------------------------------------


LOG = cache(lambda: recorded(moved(seconds=6.0)))


def test_what_is_given_stays() -> None:
    found = automatic(LOG(), filter={"cutoff": 7.0}, route={"method": "differences", "cutoff": 12.0})
    assert {"estimator: weight", "estimator"} <= set(chosen_of(found))
    assert not {"filter", "route", "friction"} & set(chosen_of(found))
    assert found.config.settings.filter == EquationFilter(7.0)
    assert found.config.route == FilteredDifferences(12.0)
    assert found.config.terms == (RotorInertia(), Viscous(), Coulomb(), Offset())  # friction was: as-given
    without = automatic(LOG(), filter="none")
    assert without.config.settings.filter == EquationFilter(None)
    judge = without.config.formulation(without.runs)
    assert isinstance(judge, InverseDynamic)
    assert judge.parallel_filter is None


@pytest.mark.parametrize(
    ("estimator", "weight"),
    [
        ("prior", None),
        ({"prior": {"weight": 7.0}}, 7.0),
        ({"consistent": {"weight": 7.0, "values": "rods"}}, 7.0),
        ({"consistent": {"values": "rods"}}, None),
        ({"prior": {"weight": "auto"}}, None),
        ({"consistent": {"weight": 0}}, 0.0),
    ],
)
def test_an_estimator_with_a_prior_gets_its_weight(estimator: Any, weight: float | None) -> None:
    found = automatic(LOG(), estimator=estimator)
    made: Any = found.config.estimator(ROBOT, runs=found.runs)
    prior = made if isinstance(made, Prior) else made.prior
    assert prior.weight == found.chosen.weight
    if weight is not None:
        assert prior.weight == weight
    else:
        assert prior.weight in (*PRIOR_WEIGHTS, *FAINT_PRIOR_WEIGHTS)
    assert prior.offset == found.chosen.offset
    assert "estimator" not in chosen_of(found)
    asked = IdentifyConfig.of({"identify": {"estimator": estimator}}, "here").estimator(ROBOT)
    assert type(made) is type(asked)
    assert prior.values == (asked if isinstance(asked, Prior) else asked.prior).values  # type: ignore[attr-defined]


def test_an_estimator_without_a_prior_is_told_nothing_of_one() -> None:
    found = automatic(LOG(), estimator="wls")
    assert isinstance(found.config.estimator(ROBOT, runs=found.runs), WeightedLeastSquares)
    assert not [setting for setting in chosen_of(found) if setting.startswith("estimator")]
    assert found.config.settings.estimator == WeightedLeastSquares()


def test_terms_that_are_no_friction_stay() -> None:
    words = [{"gravity-spring": {"joint": JOINTS[1]}}, "rotor", "viscous"]
    config = IdentifyConfig.of({"gravity": [0, 0, -9.81], "terms": words, "identify": {"folds": 4}}, "here")
    run = Run.of(LOG())
    found = choose_automatically(config, ROBOT, (run,), lambda route: (Run.of(LOG(), route),))
    kinds = [type(term).__name__ for term in found.config.model(ROBOT).terms]
    assert {"GravitySpring", "RotorInertia", "Viscous", "Coulomb", "Offset"} <= set(kinds)
    assert kinds.count("Viscous") == 1
    assert found.config.settings.folds is None  # nothing is left to be chosen by them, and so asked for again


@pytest.mark.parametrize(
    ("section", "wanted"),
    [
        ({}, True),
        ({"automatic": False}, False),
        ({"estimator": "wls"}, False),
        ({"estimator": "wls", "automatic": True}, True),
        ({"filter": {"cutoff": 5.0}, "friction": "as-given"}, True),
        ({"formulation": "energy"}, False),
        ({"gains": "identify"}, False),
    ],
)
def test_when_settings_are_chosen(section: dict[str, Any], wanted: bool) -> None:
    assert IdentifyConfig.of({"identify": section}, "here").automatic is wanted


@pytest.mark.parametrize("section", [{"formulation": "energy"}, {"gains": "identify"}, {"formulation": "power"}])
def test_where_they_cannot_be_chosen_it_is_said_in_one_line(section: dict[str, Any]) -> None:
    config = IdentifyConfig.of({"identify": {**section, "automatic": True}}, "here")
    with pytest.raises(ExciterError, match=r"automatic.*joint torques in N·m; leave it out") as caught:
        config.refuse_early(ROBOT, planned=False)
    assert "\n" not in str(caught.value)


# -- the command -----------------------------------------------------------------------------------------------------


def exciter(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return int(ended.value.code or 0)


def result(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "result.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs, and a result: identified from one, validated on another."""
    folder = tmp_path_factory.mktemp("automatic")
    for name, motion in (("log", moved(seconds=9.0)), ("other", moved(6, 6.0)), ("third", moved(7, 6.0))):
        write_recording(recorded(motion), folder / f"{name}.csv")
    flags = ["--validate", folder / "other.csv"]
    assert exciter("identify", ARM, folder / "log.csv", "-o", folder / "out", *flags) == 0
    return folder


def test_a_first_run_without_settings(folder: Path) -> None:
    data = result(folder / "out")
    settings = [one["setting"] for one in data["automatic"]]
    assert [one for one in settings if one in USED] == list(USED)
    assert all(one["value"] and one["reason"] for one in data["automatic"])
    assert data["physically_consistent"] is True
    assert data["total_percent"] < 1.0
    assert data["validation"][0]["total_percent"] < 2.5
    identify = data["settings"]["identify"]
    assert identify["automatic"] is False
    assert {"automatic", "filter", "route", "estimator"} <= set(identify)
    assert "dahl" in json.dumps(data["settings"]["terms"]).lower()


def test_its_settings_ask_for_the_same_again(folder: Path, tmp_path: Path) -> None:
    data = result(folder / "out")
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(data["settings"]), encoding="utf-8")
    flags = ["--config", tmp_path / "again.yaml", "--validate", folder / "third.csv"]
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "again", *flags) == 0
    again = result(tmp_path / "again")
    for one, before in zip(again["parameters"], data["parameters"], strict=True):
        assert (one["name"], one["value"]) == (before["name"], before["value"])
        assert one["std"] <= before["std"] * (1.0 + 1e-9)  # friction that is given is no choice that could be wrong
    assert again["residuals"] == data["residuals"]
    assert again["settings"] == data["settings"]
    assert again["automatic"] == []


def test_what_validates_changes_nothing_else(folder: Path, tmp_path: Path) -> None:
    data = result(folder / "out")
    flags = ["--validate", folder / "third.csv"]
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "out", *flags) == 0
    other = result(tmp_path / "out")
    assert other["validation"] != data["validation"]
    of_logs = {"validation", "verdict", "notes", "logs", "quality", "seconds", "timings", "inputs", "created"}
    for recorded in (data, other):
        for file in ("report.html", "result.npz"):  # which have the logs in them
            del recorded["sha256"][file]
    for key in data.keys() - of_logs:
        assert other[key] == data[key], key
    assert {"parameters", "standard", "settings", "automatic", "friction", "residuals"} <= data.keys() - of_logs


def test_validate_gives_the_same_figure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert exciter("validate", folder / "out", folder / "other.csv", "--json") == 0
    again = totals(json.loads(capsys.readouterr().out))
    expected = result(folder / "out")["validation"][0]["total_percent"]
    assert any(one == pytest.approx(expected, rel=1e-9) for one in again)


def totals(data: Any) -> list[float]:
    """Every total_percent in it."""
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    own = [data["total_percent"]] if isinstance(data, dict) and data.get("total_percent") is not None else []
    return own + [one for part in inside for one in totals(part)]


def test_logs_that_are_too_little_to_choose_from(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Usual settings are taken, and it is said; where no equations are left, one line says why."""

    def refused(*_: Any) -> None:
        raise RecordingError("nothing is left to compare cut-offs with")

    monkeypatch.setattr(pipeline_identify, "choose_automatically", refused)
    assert exciter("identify", ARM, folder / "log.csv", "-o", tmp_path / "out") == 0
    data = result(tmp_path / "out")
    assert any("usual ones are taken: nothing is left to compare" in note for note in data["notes"])
    assert data["automatic"] == []
    assert data["total_percent"] < 3.0
    monkeypatch.undo()
    capsys.readouterr()
    write_recording(recorded(moved(seconds=0.6)), tmp_path / "short.csv")
    assert exciter("identify", ARM, tmp_path / "short.csv", "-o", tmp_path / "short") == 2
    error = without_progress(capsys.readouterr().err).strip()
    assert "\n" not in error
    assert "too short" in error
