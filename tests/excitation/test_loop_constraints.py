"""Limits of robots with closed loops: slopes by differences, bounds that no sample inside breaks, and certificates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.errors import LoopError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.constraints.follower_limits import FollowerLimits
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.optimiser import sqp
from exciter.excitation.optimiser.deadline import NEVER
from exciter.excitation.optimiser.search import Search, finish
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.notes import texts
from exciter.parameters.terms import RotorInertia, Viscous
from exciter.robot import Motion, Robot
from exciter.robot.loop_assembly import KinematicLoop, with_loops
from exciter.robot.loop_bounds import UNPROVED
from support.certificates import even_spans, fourier, inside
from support.loops import FOUR_BAR_POSTURE, four_bar, parallelogram, spatial_loop
from support.paths import ROBOTS


def limited(robot: Robot) -> Robot:
    followers = [name for name in robot.tree_names if name not in robot.joint_names]
    ends = {"lower": dict.fromkeys(followers, -3.0), "upper": dict.fromkeys(followers, 3.0)}
    robot = robot.with_limits(
        **ends, velocity=dict.fromkeys(followers, 5.0), acceleration=dict.fromkeys(followers, 30.0)
    )
    return robot.with_limits(torque=40.0)


BENT = KinematicLoop("joint", ("l0", "carrier"), coefficients=(0.1, 0.5, 0.2))
MADE = {
    "four bar": lambda: with_loops(
        four_bar(), [KinematicLoop("connect", ("coupler_end", "rocker_end"))], ["crank"], FOUR_BAR_POSTURE
    ),
    "weld": lambda: with_loops(
        spatial_loop(),
        [
            KinematicLoop("weld", ("left", "right")),
            KinematicLoop("joint", ("l0", "carrier"), coefficients=(0.1, 0.5, 0.2)),
        ],
    ),
    "palletiser": lambda: ex.load(ROBOTS / "palletiser.urdf", ROBOTS / "palletiser.yaml"),
    "driven beyond its freedom": lambda: palletiser("waist", "shoulder", "crank", "elbow"),
}


def palletiser(*driven: str) -> Robot:
    """With friction in every joint."""
    loop = KinematicLoop("connect", ("rod_end", "tail"))
    tree = replace(
        ex.load(ROBOTS / "palletiser.urdf"), friction={"viscous": np.full(5, 9.0), "coulomb": np.full(5, 15.0)}
    )
    return with_loops(tree, [loop], driven)


def curve_of(robot: Robot, seed: int, size: float = 0.05) -> Curve:
    """About the reference."""
    (piece,) = fourier(robot.n, seed, size=size).pieces
    return Curve((replace(piece, offset=robot.coupling.home),))


def constraints(robot: Robot) -> list:
    frame = robot.frames[0].name
    torque = TorqueLimits(DynamicModel(robot, (RotorInertia(), Viscous())))
    return [FollowerLimits(robot), HalfSpace(robot, frame, normal=(0.6, 0.0, 0.8), offset=-3.0), torque]


@pytest.mark.parametrize("name", MADE)
def test_slopes_are_differences(name):
    robot, h = limited(MADE[name]()), 1e-6
    motion, rng = curve_of(robot, 1).motion(np.linspace(0.1, 4.9, 6)), np.random.default_rng(1)
    for constraint in constraints(robot):
        ways, given = rng.standard_normal((3, *motion.q.shape)), (motion.q, motion.qd, motion.qdd)
        ends = [
            constraint.values(Motion(motion.time, *(x + s * h * d for x, d in zip(given, ways, strict=True))))
            for s in (1, -1)
        ]
        slopes = constraint.linearised(motion).slopes
        exact = sum(np.einsum("KnN,Nn->KN", x, d) for x, d in zip(slopes, ways, strict=True))
        np.testing.assert_allclose(exact, (ends[0] - ends[1]) / (2.0 * h), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", MADE)
def test_no_sample_inside_breaks_a_bound(name, seed):
    robot = limited(MADE[name]())
    curve = curve_of(robot, seed)
    spans = even_spans(curve, 300)
    _, motion = inside(spans, curve, 5)
    rates = robot.coupling.bounds(spans.left, spans.right, spans.rates)
    moved = robot.coupling.motion(motion)
    assert (rates.rates < UNPROVED).all()
    for bound, reached in ((rates.rates[0], moved.tree.qd), (rates.rates[1], moved.tree.qdd)):
        most = np.abs(reached).reshape(len(spans.start), -1, robot.n_bodies).max(axis=1).T
        assert (most <= bound * (1 + 1e-9) + 1e-9).all()
    null = np.abs(moved.null).reshape(len(spans.start), -1, *robot.coupling.shape).max(axis=1)
    assert (null.transpose(1, 2, 0) <= rates.null[0] * (1 + 1e-9) + 1e-9).all()
    for constraint in constraints(robot):
        bound = constraint.lower_bounds(spans)
        lowest = constraint.values(motion).reshape(len(bound), len(spans.start), -1).min(axis=2)
        assert (bound <= lowest + 1e-9).all()
        fine = even_spans(curve, 3000)
        assert (constraint.values(fine.left) - constraint.lower_bounds(fine)).max() < 0.3  # bounds close in


def test_friction_that_torques_leave_out_is_no_proof_and_drives_beyond_the_freedom_are_told():
    """The rod rubs, and no drive has a term for that; the elbow's does, and bounds of it close in."""
    for driven, rubbing in ((("waist", "shoulder", "crank"), "elbow"), (("waist", "shoulder", "crank", "elbow"), "")):
        robot = palletiser(*driven).with_limits(torque=900.0, acceleration=6.0)
        constraints = (FollowerLimits(robot), TorqueLimits.of(robot))
        certificate = certify(robot, curve_of(robot, 0, 0.02), constraints)
        assert {one.status for one in certificate.limits if one.what == "torque"} == {"assumed"}
        said = " ".join(note.text for note in unchecked(robot, constraints, certificate))
        words = said.partition("friction and rotor inertia of ")[2].partition(" are left out")[0]
        assert "rod" in words
        assert ("elbow" in words) == bool(rubbing)
        assert ("torque of elbow, driven beyond" in said) == (not rubbing)


def rest_to_rest(start: float, end: float) -> Curve:
    q = np.array([[start], [end]])
    return Curve((PolynomialPiece.from_samples([0.0, 2.0], q, 0 * q, 0 * q),))


def test_certificates_hold_break_or_stay_open_where_the_loop_ends():
    robot = ex.load(ROBOTS / "four_bar.xml", velocity=3.0, acceleration=20.0, lower={"rocker": 2.2})
    kept = ConstraintSettings(self_collision=False, ground=False).constraints(robot)
    assert isinstance(kept[0], FollowerLimits)
    fine = certify(robot, rest_to_rest(0.2, 0.6), kept)
    assert fine.certified
    assert {("closure", "loops", "holds"), ("position", "rocker", "holds")} <= {
        (one.what, one.where, one.status) for one in fine.limits
    }
    assert any("velocity of coupler, rocker, which follow" in note.text for note in unchecked(robot, kept, fine))
    assert any("not among the constraints" in note.text for note in unchecked(robot, (), fine))
    broken = certify(robot, rest_to_rest(0.2, -0.6), kept)  # the rocker goes below 2.2
    verdict = next(one for one in broken.limits if (one.what, one.where, one.upper) == ("position", "rocker", False))
    assert verdict.status == "broken"
    rocking = with_loops(
        four_bar(), [KinematicLoop("connect", ("coupler_end", "rocker_end"))], ["rocker"], FOUR_BAR_POSTURE
    )
    with pytest.raises(LoopError, match="cannot close at sample"):
        certify(rocking, rest_to_rest(1.5, 4.0), [TorqueLimits(DynamicModel(rocking.with_limits(torque=9.0)))])
    ended = certify(rocking, rest_to_rest(1.5, 4.0), [FollowerLimits(rocking)])
    assert not ended.certified


def test_motions_near_singular_postures_are_told():
    """The rocker turns back where the crank goes on: close to there it moves the crank many times as far."""
    loop = KinematicLoop("connect", ("coupler_end", "rocker_end"))
    robot = with_loops(four_bar(), [loop], ["rocker"], FOUR_BAR_POSTURE)
    home, far = float(robot.coupling.home[0]), 3.0
    for _ in range(40):  # as far as it reaches
        middle = 0.5 * (home + far)
        home, far = (middle, far) if robot.coupling.reach(np.array([[middle]]))[1][0] >= 1.0 else (home, middle)
    start = float(robot.coupling.home[0])
    calm, steep = rest_to_rest(start, start + 0.5 * (home - start)), rest_to_rest(start, home - 1e-5)
    limits = [FollowerLimits(robot)]
    said = [texts(unchecked(robot, limits, certify(robot, calm, limits), curve)) for curve in (calm, steep, None)]
    assert ["singular" in " ".join(one) for one in said] == [False, True, False]
    (told,) = (text for text in said[1] if "singular" in text)
    rates = robot.coupling.motion(steep.motion(np.linspace(0.0, 2.0, 501))).null
    assert f"at 2 s crank moves {np.abs(rates[-1]).max():.0f} times as far as rocker" in told


def test_a_design_for_a_four_bar_is_certified():
    robot = ex.load(ROBOTS / "four_bar.xml", velocity=3.0, acceleration=20.0)
    within = ConstraintSettings(self_collision=False, ground=False)
    found = ex.design(robot, ex.Fourier(period=3.0, harmonics=3), constraints=within, starts=1, seed=1)
    assert found.certificate.certified
    assert {"closure", "torque"} <= {limit.what for limit in found.certificate.proved}


def test_joints_that_lead_are_named_where_followers_have_limits_of_their_own():
    robot = MADE["palletiser"]()
    robot = robot.with_limits(velocity=dict.fromkeys(robot.joint_names, np.inf))
    said = texts(unchecked(robot, [], certify(robot, curve_of(robot, 1))))
    named = ", ".join(robot.joint_names)
    assert any(text.startswith(f"velocity of {named}: no limit is known") for text in said), said


def test_a_search_that_opens_a_loop_between_its_samples_goes_on_nearer():
    """The rocker swings farther than the crank can follow, within its own limits: no slopes there, smaller motions."""
    loop = KinematicLoop("connect", ("coupler_end", "rocker_end"))
    robot = with_loops(four_bar(), [loop], ["rocker"], FOUR_BAR_POSTURE)
    robot = robot.with_limits(lower={"rocker": 0.5}, upper={"rocker": 4.0}, velocity=30.0, acceleration=900.0)
    objective = DesignObjective(model := DynamicModel(robot), DOptimality(), model.base.independent, np.ones(1))
    search = Search(ex.Fourier(5.0, 3, at_rest=True), objective, (FollowerLimits(robot),), 300, 0)
    centre, begun = search._begun(0, NEVER)
    problem = search._problem(search.criterion)
    share = next(s for s in np.linspace(1.0, 30.0, 200) if problem.nonlinear.values(far(s, centre, begun)).min() < -1.0)
    opened = far(share, centre, begun)
    with pytest.raises(LoopError):
        problem.nonlinear.linearised(opened)
    assert sqp.restored(problem, opened) is None
    stopped = sqp.minimise(problem, opened)
    assert (stopped.reason, stopped.value) == ("open loop", np.inf)
    found, _ = finish(problem, opened, centre, search.certified, search.settings)
    assert found is not None
    assert search.certified(found)
    assert np.abs(found - centre).max() > 0.1 * np.abs(opened - centre).max()


def far(share: float, centre: np.ndarray, y: np.ndarray) -> np.ndarray:
    return centre + share * (y - centre)


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_a_search_starts_where_loops_have_room(seed, tmp_path):
    """Flat, the parallelogram has the best of all limits, but cannot be moved: 0.1 mrad was all that was designed."""
    robot = parallelogram(tmp_path).with_limits(velocity=3.0, acceleration=10.0)
    model = DynamicModel(robot, (Viscous(),))
    limits = FollowerLimits(robot), TorqueLimits(model)
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(robot.n))
    posture = Search(ex.Fourier(5.0, 4, at_rest=True), objective, limits, 200, seed).posture()
    assert posture[1] - posture[0] > 0.05
