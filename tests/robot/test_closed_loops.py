"""Closed chains: positions against closed forms, derivatives against differences, and what cannot close."""

from dataclasses import replace

import numpy as np
import pytest

from exciter.errors import LoopError, RobotError
from exciter.robot.loop_assembly import KinematicLoop, closed_loops, with_loops
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.robot.spatial import axis_rotation
from support.loops import (
    COUPLER,
    CRANK,
    FOUR_BAR_POSTURE,
    GROUND,
    ROCKER,
    four_bar,
    four_bar_angles,
    frame,
    joint,
    spatial_loop,
)

TURN = axis_rotation(np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), 0.7)
BENT = KinematicLoop("joint", ("l0", "carrier"), (0.1, 0.5, 0.2, -0.1, 0.05))


def connected(robot=None):
    coupling, _ = closed_loops(
        robot or four_bar(), [KinematicLoop("connect", ("coupler_end", "rocker_end"))], ["crank"], FOUR_BAR_POSTURE
    )
    return coupling


def parallelogram():
    """With a third and a fourth axis of rotation, so that it can be welded."""
    bars = (
        joint("a", -1, (0, 0, 0)),
        joint("b", 0, (0.4, 0, 0)),
        joint("c", -1, (0, 0.2, 0)),
        joint("d", 2, (0.4, 0, 0)),
    )
    ends = frame("end_b", 1, (0, 0.2, 0)), frame("end_d", 3, (0, 0, 0))
    coupling, evidence = closed_loops(
        Robot("parallelogram", bars, frames=ends), [KinematicLoop("weld", ("end_b", "end_d"))], ["a"]
    )
    return coupling, evidence


def state(coupling, samples=6, spread=0.1, seed=0):
    rng = np.random.default_rng(seed)
    u = coupling.reference[coupling.coordinates] + rng.uniform(-spread, spread, (samples, coupling.shape[1]))
    return u, rng.standard_normal(u.shape), rng.standard_normal(u.shape)


@pytest.mark.parametrize("turn", [np.eye(3), TURN])
def test_four_bar_against_the_law_of_cosines(turn):
    crank = np.linspace(-9.0, 12.0, 150)  # three turns: angles of followers are counted on, not wrapped
    coupling = connected(four_bar(turn))
    found, exact = coupling.positions(crank[:, None]), four_bar_angles(crank)
    assert np.abs(np.exp(1j * found) - np.exp(1j * exact)).max() < 1e-12
    shuffled = np.random.default_rng(0).permutation(len(crank))
    assert np.allclose(coupling.positions(crank[shuffled, None]), found[shuffled], atol=1e-12)  # whatever the order


def test_parallelogram_has_a_constant_null_space():
    coupling, evidence = parallelogram()
    assert "3 of 6 equations" in evidence
    assert "1 freedom" in evidence
    moved = coupling.motion(Motion.at(np.linspace(-1, 1, 9)[:, None], np.ones((9, 1)), np.ones((9, 1))))
    assert np.allclose(moved.null[:, :, 0], [1, -1, 1, -1], atol=1e-12)
    assert np.allclose(moved.tree.qdd, [1, -1, 1, -1], atol=1e-11)
    assert np.allclose(moved.bent, 0.0, atol=1e-11)


LOOPS = {
    "four bar": connected,
    "four bar in space": lambda: connected(four_bar(TURN)),
    "weld": lambda: closed_loops(spatial_loop(), [KinematicLoop("weld", ("left", "right")), BENT])[0],
    "connect": lambda: closed_loops(spatial_loop(), [KinematicLoop("connect", ("left", "right")), BENT])[0],
    "world": lambda: closed_loops(spatial_loop(), [KinematicLoop("connect", ("left", "world"))])[0],
}


@pytest.mark.parametrize("name", LOOPS)
def test_velocity_and_acceleration_follow_positions(name):
    coupling = LOOPS[name]()
    u, ud, udd = state(coupling)
    h = 1e-4

    def at(t):
        return coupling.motion(Motion.at(u + ud * t + udd * t * t / 2, ud + udd * t, udd))

    def rate(which):  # of fourth order
        x = {k: getattr(at(k * h).tree, which) for k in (-2, -1, 1, 2)}
        return (8 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12 * h)

    now = at(0.0)
    assert np.abs(coupling.ties.at(now.tree.q).errors).max() < 1e-12
    for which, derivative in (("q", now.tree.qd), ("qd", now.tree.qdd)):
        assert np.abs(rate(which) - derivative).max() <= 1e-8 * (1 + np.abs(derivative).max())


@pytest.mark.parametrize("name", LOOPS)
def test_gradients_against_differences(name):
    coupling = LOOPS[name]()
    given, rng, h = state(coupling), np.random.default_rng(1), 1e-5
    motion = Motion.at(*given)
    seeds = [rng.standard_normal((len(motion), coupling.shape[0])) for _ in range(3)]
    null_seed = rng.standard_normal((len(motion), *coupling.shape))
    moved = coupling.motion(motion)
    gradient = coupling.pullback(motion, moved, MotionGradient(*seeds), null_seed)

    def value(*state):
        now = coupling.motion(Motion.at(*state))
        parts = (seed * x for seed, x in zip(seeds, (now.tree.q, now.tree.qd, now.tree.qdd), strict=True))
        return sum(part.sum(axis=1) for part in parts) + (null_seed * now.null).sum(axis=(1, 2))

    def moved_by(which, k, step):
        changed = [x.copy() for x in given]
        changed[which][:, k] += step
        return changed

    for which, exact in enumerate((gradient.q, gradient.qd, gradient.qdd)):
        for k in range(coupling.shape[1]):
            differences = (value(*moved_by(which, k, h)) - value(*moved_by(which, k, -h))) / (2 * h)
            assert np.abs(differences - exact[:, k]).max() <= 1e-6 * (1 + np.abs(differences).max())
    for k in range(coupling.shape[1]):  # ∂q̇/∂u
        ends = [coupling.motion(Motion.at(*moved_by(0, k, s))).tree.qd for s in (h, -h)]
        differences = (ends[0] - ends[1]) / (2 * h)
        assert np.abs(differences - moved.bent[:, :, k]).max() <= 1e-6 * (1 + np.abs(differences).max())


def test_what_cannot_close_is_told_with_its_place():
    rocking = closed_loops(
        four_bar(), [KinematicLoop("connect", ("coupler_end", "rocker_end"))], ["rocker"], FOUR_BAR_POSTURE
    )[0]
    u = np.linspace(1.5, 6.0, 50)[:, None]
    closed = rocking.closed(u)[1]
    assert closed[0]
    assert not closed.all()
    first = int(np.argmin(closed))
    with pytest.raises(
        LoopError, match=rf"connect of 'coupler_end' and 'rocker_end' cannot close at sample {first} \(rocker"
    ):
        rocking.motion(Motion.at(u))
    assert not rocking.closed(np.array([[40.0]]))[1].any()


def test_a_coordinate_that_does_not_determine_the_others_is_singular():
    """Where crank and coupler are in line the rocker turns round: it says no longer how the crank goes on."""
    loop = [KinematicLoop("connect", ("coupler_end", "rocker_end"))]
    rocking = closed_loops(four_bar(), loop, ["rocker"], FOUR_BAR_POSTURE)[0]
    inside = np.arccos((GROUND**2 + ROCKER**2 - (CRANK + COUPLER) ** 2) / (2 * GROUND * ROCKER))
    for beyond, problem in ((0.0, "singular at rocker|cannot close at rocker"), (-1e-3, "cannot close at rocker")):
        with pytest.raises(LoopError, match=problem):
            rocking.motion(Motion.at([[np.pi - inside + beyond]]))
    assert np.isfinite(rocking.motion(Motion.at([[np.pi - inside + 1e-3]])).tree.q).all()


def test_loops_that_make_no_sense_are_refused():
    robot = four_bar()
    for loop, problem in (
        (KinematicLoop("connect", ("coupler_end", "nowhere")), "unknown frame 'nowhere'"),
        (KinematicLoop("connect", ("rocker", "rocker_end")), "on one body"),
        (KinematicLoop("weld", ("coupler_end", "world")), "leave no freedom|cannot close"),
        (KinematicLoop("joint", ("crank", "crank")), "follow itself"),
    ):
        with pytest.raises(RobotError, match=problem):
            closed_loops(robot, [loop])
    ends, bars = (
        (frame("x", 0, (1, 0, 0)), frame("y", 1, (1, 0, 0))),
        (joint("a", -1, (0, 0, 0)), joint("b", -1, (9, 0, 0))),
    )
    with pytest.raises(RobotError, match=r"cannot close in any posture tried: 7 m are missing"):
        closed_loops(Robot("short", bars, frames=ends), [KinematicLoop("connect", ("x", "y"))])
    for ground, problem in ((0.5, "singular where they are closed first"), (2.5, "close in one posture only")):
        bars = joint("a", -1, (0, 0, 0)), joint("b", 0, (1, 0, 0)), joint("c", -1, (ground, 0, 0))
        ends = frame("x", 1, (0.5, 0, 0)), frame("y", 2, (1.5 - ground, 0, 0))
        with pytest.raises(RobotError, match=problem):  # flat; and stretched
            closed_loops(Robot("flat", bars, frames=ends), [KinematicLoop("connect", ("x", "y"))])


def test_locking_a_coordinate_keeps_the_others_as_they_were():
    coupling = LOOPS["connect"]()
    u, ud, udd = state(coupling)
    at = float(u[0, 1])
    less, stands = coupling.locked({1: at})
    u[:, 1], ud[:, 1], udd[:, 1] = at, 0.0, 0.0
    whole, part = coupling.motion(Motion.at(u, ud, udd)).tree, [k for k in range(coupling.shape[0]) if k not in stands]
    rest = less.motion(Motion.at(*(np.delete(x, 1, axis=1) for x in (u, ud, udd)))).tree
    assert np.allclose(rest.q, whole.q[:, part], atol=1e-10)
    assert np.allclose(rest.qdd, whole.qdd[:, part], atol=1e-8)
    four = connected()
    coupling, stands = four.locked({0: 1.2})
    assert coupling is None
    assert len(stands) == 3


def test_one_of_two_loops_is_locked():
    """The other one moves as it would by itself, by its own equations."""
    one, other = four_bar(), four_bar(seed=1)
    joints = [replace(x, name=f"{x.name}_2", parent=x.parent + 3 if x.parent >= 0 else -1) for x in other.joints]
    frames = [replace(x, name=f"{x.name}_2", joint=x.joint + 3) for x in other.frames]
    tree = Robot("two", (*one.joints, *joints), gravity=one.gravity, frames=(*one.frames, *frames))
    ties = [KinematicLoop("connect", (f"coupler_end{end}", f"rocker_end{end}")) for end in ("", "_2")]
    posture = {f"{name}{end}": q for name, q in FOUR_BAR_POSTURE.items() for end in ("", "_2")}
    both = with_loops(tree, ties, ["crank", "crank_2"], posture)
    for locked, kept in (("crank", "crank_2"), ("crank_2", "crank")):
        robot = both.lock({locked: 1.1})
        assert robot.joint_names == (kept,)
        assert (robot.coupling.ties.count, len(robot.coupling.ties.mix)) == (3, 2)
        angles = robot.coupling.motion(Motion.at([[0.9], [1.3]])).tree.q
        assert np.allclose(angles, four_bar_angles(np.array([0.9, 1.3])), atol=1e-9)
