"""Joints that logs tell nothing of: torque that is unusable, and joints that never move. What is known of the others is
found as well as without them, nothing is made up for these, and every refusal is one line."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.experiment.quality import check
from exciter.experiment.recording import About, Recording
from exciter.experiment.recording.recording import LINK_SIDE
from exciter.identification.runs.run import Run
from exciter.identification.runs.unseen_joints import UnseenJoints
from exciter.parameters.terms import Coulomb, Dahl, DriveCoupling, GravitySpring, Offset, Ripple, RotorInertia, Viscous
from exciter.pipeline import logs
from exciter.robot import Motion, Robot, load
from support.quality_logs import TERMS, bspline, truth

RATE = 250.0
NAME = "puma560"
THIRD = "joint_3"


@cache
def arm(name: str = NAME) -> Robot:
    return load(name)


def model() -> DynamicModel:
    return DynamicModel(arm(), TERMS)


def log(
    seed: int, *, unusable: tuple[int, ...] = (), still: tuple[int, ...] = (), garbage: float = 1e3, name: str = NAME
) -> Recording:
    """12 s of a robot whose links are not those of the description; unusable torques are anything, and partly NaN."""
    robot, time = arm(name), np.arange(int(12 * RATE)) / RATE
    planned = bspline(robot, time, seed)
    q, qd, qdd = (np.array(x) for x in (planned.q, planned.qd, planned.qdd))
    q[:, still], qd[:, still], qdd[:, still] = 0.3, 0.0, 0.0
    exact = DynamicModel(robot, TERMS)
    torque = exact.torque(Motion(time, q, qd, qdd), truth(exact, 1))
    rng = np.random.default_rng(seed)
    torque = torque + 0.01 * torque.std(axis=0) * rng.standard_normal(torque.shape)
    q = q + 1e-5 * rng.standard_normal(q.shape)
    for j in unusable:
        torque[:, j] = garbage * rng.standard_normal(len(time))
        torque[50 + seed :: 97, j] = np.nan
    about = About(unusable=tuple(robot.joint_names[j] for j in unusable))
    return Recording(robot.joint_names, time, q, torque=torque, about=about, name=f"log {seed}")


def values(found: ex.Identified) -> dict[str, float]:
    return {name: found.parameters[name].value for name in found.parameters.names}


# -- torque that is unusable -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"estimator": "wls"}, {"estimator": "consistent"}, {"estimator": "huber"}, {}])
def test_an_unusable_torque_is_never_looked_at(settings):
    """Whatever stands there, every number is the same; and it is found to what noise allows."""
    one, other = (
        ex.identify(arm(), log(1, unusable=(2,), garbage=size), validate=log(2, unusable=(2,)), **settings)
        for size in (1e3, 1e-9)
    )
    assert values(one) == values(other)
    assert one.quality["log 1"].to_dict() == other.quality["log 1"].to_dict()
    assert one.quality["log 1"].usable
    for symbol in ("Ia", "Fv", "Fs", "off"):
        assert f"{symbol}3" not in one.parameters.names
    (percent,) = (fit.residuals.percent for fit in one.identification.validation)
    assert np.isnan(percent).tolist() == [False, False, True, False, False, False]
    assert one.identification.fit.residuals.total_percent < 1.0
    assert any(note.joint == THIRD and "unusable in all logs" in note.text for note in one.notes)


def test_without_saying_so_such_a_log_is_refused():
    bad = log(1, unusable=(2,))
    told = replace(log(1), torque=np.where(np.arange(6) == 2, 1e3, bad.torque))
    with pytest.raises(ExciterError, match="cannot be repaired: joint_3: torque is 1000 throughout"):
        ex.identify(arm(), told, estimator="wls")
    assert check(bad, arm()).usable


def test_a_log_without_a_joints_torque_validates_the_others():
    found = ex.identify(arm(), log(1), estimator="wls")
    one, other = (ex.validate(found, log(2, unusable=(2,), garbage=size)) for size in (1e3, 1e-9))
    assert one.to_dict()["simulation"] == other.to_dict()["simulation"]
    assert one[0].total_percent == other[0].total_percent < 1.0
    open_loop, closed = one.simulations[0].open_loop, one.simulations[0].closed_loop
    assert open_loop.relative[-1] < 0.5
    assert np.isnan(closed.percent).tolist() == [False, False, True, False, False, False]
    assert any("unusable" in sentence for sentence in open_loop.sentences)


def test_what_is_identified_around_a_joint_is_right():
    found = ex.identify(arm(), log(1, unusable=(2,)), estimator="wls")
    equations, estimate = found.identification.problem, found.identification.estimate
    true = dict(zip(model().standard, truth(model(), 1), strict=True))
    exact = equations.base.base_values([true[name] for name in equations.base.standard])
    z = (estimate.values - exact) / estimate.std
    assert np.sqrt((z**2).mean()) < 1.6
    assert np.isfinite(estimate.interval()).all()
    rows = equations.compressed.rows.sum(axis=0)
    assert rows[2] == 0
    assert (np.delete(rows, 2) > 0).all()


def test_a_joint_good_in_one_log_and_unusable_in_another():
    """It is judged by the log that has its torque; the other counts for the rest."""
    found = ex.identify(arm(), [log(1, unusable=(2,)), log(2)], estimator="wls")
    alone = ex.identify(arm(), log(2), estimator="wls")
    assert found.parameters.names == alone.parameters.names
    compressed = found.identification.problem.compressed
    assert (compressed.rows[compressed.run == 0][:, 2] == 0).all()
    assert (compressed.rows[compressed.run == 1][:, 2] > 0).any()
    both, one = found.parameters["Fs3"], alone.parameters["Fs3"]
    assert both.std == pytest.approx(one.std, rel=0.3)
    assert found.parameters["Fs1"].std < 0.85 * alone.parameters["Fs1"].std
    huber = ex.identify(arm(), [log(1, unusable=(2,)), log(2)], estimator="huber").identification.estimate
    assert huber.noise[2] == pytest.approx(found.identification.estimate.noise[2], rel=0.2)
    assert any(note.log == "log 1" and note.joint == THIRD for note in found.notes)


@pytest.mark.parametrize("formulation", ["dynamic", "filtered"])
def test_formulations_with_an_equation_per_joint_go_around_it(formulation):
    found = ex.identify(arm(), log(1, unusable=(2,)), estimator="wls", formulation=formulation)
    assert found.identification.problem.compressed.rows[:, 2].sum() == 0
    assert found.identification.fit.residuals.total_percent < 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "wls", "formulation": "energy"}, "a balance of energy needs the power of every joint"),
        ({"estimator": "wls", "formulation": "power"}, "a balance of energy needs the power of every joint"),
        ({"estimator": "ml"}, "maximum likelihood needs that of every joint"),
        ({"estimator": "static"}, "an estimate in stages needs that of every joint"),
    ],
)
def test_what_needs_every_joint_says_so(settings, message):
    with pytest.raises(ExciterError, match=f"the torque of joint_3 is unusable, and {message}") as told:
        ex.identify(arm(), log(1, unusable=(2,)), **settings)
    assert "\n" not in str(told.value)


def test_least_squares_that_lacks_an_equation_names_the_joint_and_what_to_do():
    message = (
        r"wls cannot determine ZZR2, MXR2, MY2, for the torque of joint_2 is unusable: give a log that shows it, or "
    )
    with pytest.raises(ExciterError, match=message) as told:
        ex.identify("gautier-khalil", log(1, unusable=(1,), name="gautier-khalil"), estimator="wls")
    assert "\n" not in str(told.value)
    found = ex.identify("gautier-khalil", log(1, unusable=(1,), name="gautier-khalil"), estimator="prior")
    assert found.parameters["MXR2"].std > 10.0 * found.parameters["MX3"].std


def test_a_long_log_is_the_same_piece_by_piece(tmp_path, monkeypatch):
    log(1, unusable=(2,)).save(tmp_path / "log.csv")
    found = ex.identify(arm(), tmp_path / "log.csv", estimator="wls")
    monkeypatch.setattr(logs, "HELD_BYTES", 1000)
    pieces = ex.identify(arm(), tmp_path / "log.csv", estimator="wls")
    assert pieces.identification.problem.runs[0].sample is not None
    assert pieces.parameters.names == found.parameters.names
    near = np.abs(np.subtract(list(values(pieces).values()), list(values(found).values())))
    assert (near < 0.5 * found.identification.estimate.std).all()


# -- joints that never move --------------------------------------------------------------------------------------------


def held(seed: int) -> Recording:
    """A joint that stands still, held by friction with whatever the controller happens to ask for."""
    found = log(seed, still=(4,))
    torque = np.array(found.torque)
    torque[:, 4] = 3.0 + np.sin(found.time)
    return replace(found, torque=torque)


def test_a_joint_that_never_moves_has_no_friction_and_no_equation():
    """Friction takes what it has to: any torque of the joint gives the same parameters."""
    found, other = (ex.identify(arm(), one) for one in (log(1, still=(4,)), held(1)))
    names = found.parameters.names
    assert not {"Ia5", "Fv5", "Fs5", "Fr5", "Fl5", "off5"} & set(names)
    assert {"Fv6", "Fs4"} <= set(names)
    (said,) = (note for note in found.notes if note.subject == "motion")
    assert said.joint == "joint_5"
    assert "no friction and no rotor inertia" in said.text
    assert "its torque is not used" in said.text
    assert found.identification.fit.residuals.total_percent < 1.0
    assert_allclose(list(values(other).values()), list(values(found).values()), rtol=1e-9)


@pytest.mark.parametrize("settings", [{"estimator": "wls"}, {"estimator": "wls", "friction": "choose"}])
def test_torque_behind_the_gear_is_used_of_a_joint_that_never_moves(settings):
    behind = log(1, still=(4,))
    behind = replace(behind, about=replace(behind.about, side=LINK_SIDE))
    found = ex.identify(arm(), behind, terms=TERMS, **settings)
    assert "off5" in found.parameters.names
    assert not {"Fv5", "Fs5"} & set(found.parameters.names)


def test_least_squares_of_a_joint_that_never_moves_says_what_to_lock():
    still = log(1, still=(1,), name="gautier-khalil")
    message = r"wls cannot determine ZZR1, .*, for joint_2 never moves in these logs: lock what stands still \(lock: "
    with pytest.raises(ExciterError, match=message + r"{joint_2: 0\.3}\), give a log") as told:
        ex.identify("gautier-khalil", still, estimator="wls")
    assert "\n" not in str(told.value)
    found = ex.identify(load("gautier-khalil", lock={"joint_2": 0.3}), still, estimator="wls")
    assert found.identification.fit.residuals.total_percent < 1.0
    both = ex.identify("gautier-khalil", [still, log(2, name="gautier-khalil")], estimator="wls")
    assert "Fs2" in both.parameters.names  # another log moves it


def test_terms_are_left_on_the_other_joints_only():
    names, robot = arm().joint_names, arm()
    unseen = UnseenJoints({"joint_5": 0.3}, (THIRD,))
    left = tuple(name for name in names if name not in (THIRD, "joint_5"))
    deltas = (1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3)
    coupling, mine = DriveCoupling("joint_5", "joint_6"), Viscous((THIRD, "joint_5"))
    given = (
        RotorInertia(),
        Coulomb(Dahl(deltas)),
        Offset(),
        GravitySpring(THIRD),
        mine,
        coupling,
        Ripple(("joint_1",)),
    )
    rotor, dry, offset, *others = unseen.terms(given, robot)
    assert rotor == RotorInertia(left)
    assert isinstance(dry, Coulomb)
    assert dry.joints == left
    assert offset == Offset(tuple(name for name in names if name != THIRD))
    assert others == [coupling, Ripple(("joint_1",))]  # the spring and a term of unseen joints alone are gone
    bound = DynamicModel(robot, (dry,)).bound[0]
    assert bound.shape.delta[:, 0].tolist() == [1e-3, 2e-3, 4e-3, 6e-3]
    nothing = UnseenJoints({}, ())
    assert all(one is other for one, other in zip(nothing.terms(given, robot), given, strict=True))


def test_what_counts_as_moving():
    time = np.arange(500) / 100.0
    q = np.zeros((500, 6)) + 0.7
    q[:, 0] += np.sin(time)
    q[:, 1] += 4e-4 * np.sin(time)  # as a gear bends
    q[:, 2] += 2e-3 * np.sin(time)
    run = Run.at(Motion.at(q), np.ones_like(q), 100.0)
    assert list(UnseenJoints.of(arm(), [run]).still) == ["joint_2", "joint_4", "joint_5", "joint_6"]
    (part,) = run.parts
    noisy = replace(run, parts=(replace(part, position_noise=np.full(6, 1e-3)),))
    assert THIRD in UnseenJoints.of(arm(), [noisy]).still
    other = Run.at(Motion.at(q[:, ::-1]), np.ones_like(q), 100.0)
    assert list(UnseenJoints.of(arm(), [run, other]).still) == ["joint_2", "joint_5"]
    rest = Run.at(Motion.at(np.zeros((9, 6))), np.ones((9, 6)), 100.0)
    assert not UnseenJoints.of(arm(), [rest]).notes  # poses at rest are no motion at all
