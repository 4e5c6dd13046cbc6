"""One suite that every nonlinear constraint must pass, then what is special to each."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints import constraint as constraint_module
from exciter.excitation.constraints.collision import Block, CapsuleDistance, Round, Wall
from exciter.excitation.constraints.constraint import (
    ROW_LENGTH_M,
    AnyOf,
    Constraint,
    ConstraintRows,
    RowName,
    UserConstraint,
)
from exciter.excitation.constraints.ground import mounting_plane
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.segments import closest_points
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import (
    Box,
    HalfSpace,
    InsideCylinder,
    InsideSphere,
    OutsideCylinder,
    OutsideSphere,
)
from exciter.parameters import terms as t
from exciter.robot import Motion, Robot
from exciter.robot import embedded_robots as embedded
from exciter.robot.capsules import without_capsule
from exciter.robot.geometry import Capsule, Shape
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Frame
from support.robots import random_robot, random_rotation, states

Array = np.ndarray
INF = math.inf


# -- robots with everything on them ----------------------------------------------------------------------------


def dressed(robot: Robot, seed: int = 0) -> Robot:
    """Capsules, shapes, a tool, torque limits and collision pairs for a robot that has none."""
    rng = np.random.default_rng(seed)
    capsules = [
        Capsule(f"c{joint}", joint, *rng.uniform(-0.15, 0.15, (2, 3)), float(rng.uniform(0.02, 0.05)))
        for joint in range(-1, robot.n)
    ]
    kinds = {"box": (0.1, 0.06, 0.08), "cylinder": (0.04, 0.15), "sphere": (0.05,), "capsule": (0.03, 0.12)}
    shapes = [
        Shape(kind, joint, kinds[kind], random_rotation(rng), rng.uniform(-0.1, 0.1, 3))  # type: ignore[arg-type]
        for joint, kind in zip(range(-1, robot.n), 3 * list(kinds), strict=False)
    ]
    pairs = [(f"c{a}", f"c{b}") for b in range(robot.n) for a in range(-1, b - 1)]
    tool = Frame("tool", robot.n - 1, random_rotation(rng), rng.uniform(-0.2, 0.2, 3))
    bare = robot.with_limits(torque=60.0)
    return replace(
        bare, capsules=tuple(capsules), shapes=tuple(shapes), collision_pairs=tuple(pairs[:8]), frames=(tool,)
    )


ROBOTS: dict[str, Robot] = {
    "serial": dressed(random_robot(1, 6)),
    "tree": dressed(random_robot(2, 7, tree=True)),
    "prismatic": dressed(random_robot(3, 4, prismatic=1.0)),
    "panda": embedded.robot("panda"),
    "ur10e": embedded.robot("ur10e"),
}
FRICTION = (t.RotorInertia(), t.Viscous(), t.Coulomb(t.Tanh(0.3)), t.Offset())


def tip(robot: Robot) -> str:
    return robot.frames[0].name


def torque_limits(robot: Robot, *terms: t.JointTerm, margin: float = 0.1) -> TorqueLimits:
    """All parameters of the terms non-zero, so that every one is seen."""
    model = DynamicModel(robot, terms or FRICTION, constraint_module.robot_dynamics(robot).engine)
    chi = model.nominal.copy()
    chi[10 * robot.n :] = np.linspace(0.3, 2.0, len(chi) - 10 * robot.n)
    return TorqueLimits(model, chi, margin)


def slanted_speed(motion: Motion) -> Array:
    """A made-up constraint of two rows that uses everything."""
    q, qd, qdd = motion.samples_last
    return np.stack([2.0 - np.sin(q).sum(0) * qd[0], 1.0 + 0.1 * qdd[-1] + qd[0] * qd[-1]])


def obstacles(robot: Robot) -> tuple[Round | Wall | Block, ...]:
    return (
        Round.sphere("ball", (0.3, 0.2, 0.4), 0.1),
        Round("post", (0.5, -0.4, 0.0), (0.5, -0.4, 0.9), 0.05, against=(robot.capsules[-1].name,)),
        Wall("floor", (0.0, 0.1, 2.0), -0.6),
        Block("table", (0.4, 0.5, 0.1), (0.6, 0.3, 0.2), random_rotation(np.random.default_rng(5))),
    )


def ground(robot: Robot) -> Constraint:
    """Slanted, with points besides capsules."""
    found = mounting_plane(replace(robot, capsules=robot.capsules[:2]), -0.2, (0.1, -0.2, 1.0), 0.01)
    assert found is not None
    assert found.points
    return found


MAKE: dict[str, Callable[[Robot], Constraint]] = {
    "torque": torque_limits,
    "half-space": lambda r: HalfSpace(r, tip(r), (0.2, -0.4, 1.0), 0.1),
    "box": lambda r: Box(r, tip(r), (-0.5, -INF, 0.1), (0.6, 0.5, INF)),
    "joint-frame": lambda r: Box(r, r.joint_names[1], upper=(INF, INF, 0.7)),
    "inside-sphere": lambda r: InsideSphere(r, tip(r), 0.8, (0.1, 0.0, 0.3)),
    "outside-sphere": lambda r: OutsideSphere(r, tip(r), 0.3),
    "inside-cylinder": lambda r: InsideCylinder(r, tip(r), 0.7, (0.1, 0.1, 0.0), (0.1, 0.2, 1.0)),
    "outside-cylinder": lambda r: OutsideCylinder(r, tip(r), 0.5),
    "outside-solid": lambda r: OutsideCylinder(r, tip(r), 0.4, (0.1, 0.0, 0.0), (0.3, -0.2, 1.0), -0.2, 0.5),
    "any-of": lambda r: AnyOf((HalfSpace(r, tip(r), (0, 0, 1), 0.6), Box(r, tip(r), (0.2, -INF, 0), (0.9, 0.4, INF)))),
    "any-of-torque": lambda r: AnyOf((OutsideSphere(r, tip(r), 0.7), torque_limits(r))),
    "capsules": lambda r: CapsuleDistance(r, clearance=0.01),
    "obstacles": lambda r: CapsuleDistance(r, pairs=(), obstacles=obstacles(r)),
    "ground": lambda r: ground(r),
    "user": lambda r: UserConstraint("speed", slanted_speed, count=2),
}
every_robot = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
every_constraint = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


# -- the suite -------------------------------------------------------------------------------------------------


def differences(constraint: Constraint, motion: Motion, order: int, step: float = 1e-6) -> tuple[Array, Array]:
    """Central differences (K, n, N), and where the function is smooth: both one-sided ones agree."""
    columns, smooth = [], []
    middle = constraint.values(motion)
    for joint in range(motion.n):
        sides = []
        for sign in (1.0, -1.0):
            arrays = [np.array(x) for x in (motion.q, motion.qd, motion.qdd)]
            arrays[order][:, joint] += sign * step
            sides.append(constraint.values(Motion(motion.time, *arrays)))
        columns.append((sides[0] - sides[1]) / (2 * step))
        bend = np.abs(sides[0] + sides[1] - 2 * middle) / step
        smooth.append(bend < 1e-3 * (1.0 + np.abs(columns[-1])))
    return np.stack(columns, axis=1), np.stack(smooth, axis=1)


def assert_derivatives(constraint: Constraint, motion: Motion, rows: ConstraintRows) -> None:
    for order, given_derivative in enumerate((rows.dq, rows.dqd, rows.dqdd)):
        expected, smooth = differences(constraint, motion, order)
        derivative = np.zeros_like(expected)
        if given_derivative is not None:
            derivative[: len(given_derivative)] = given_derivative
        assert smooth.mean() > 0.97
        size = 1.0 + np.abs(expected).max(axis=(1, 2), keepdims=True)
        error = np.where(smooth, np.abs(derivative - expected), 0.0) / size
        assert error.max() < 1e-6, f"derivative {order}: {error.max():.1e}"


@every_robot
@every_constraint
class TestEveryConstraint:
    def test_derivatives_are_those_of_the_values(self, robot, make):
        constraint, motion = make(robot), states(robot, 12, seed=3)
        assert_derivatives(constraint, motion, constraint.linearised(motion))

    def test_shapes_rows_and_both_ways_to_the_values_agree(self, robot, make):
        constraint, motion = make(robot), states(robot, 7, seed=4)
        values, rows = constraint.values(motion), constraint.linearised(motion)
        assert values.shape == (len(constraint.rows), 7)
        assert rows.dq.shape == (len(constraint.rows), robot.n, 7)
        np.testing.assert_allclose(rows.values, values, rtol=1e-11, atol=1e-11)
        assert all(row.scale > 0 and math.isfinite(row.limit) for row in constraint.rows)

    def test_samples_do_not_mix(self, robot, make):
        constraint, motion = make(robot), states(robot, 5, seed=6)
        alone = np.concatenate([constraint.values(motion[k : k + 1]) for k in range(5)], axis=1)
        np.testing.assert_allclose(constraint.values(motion), alone, rtol=1e-11, atol=1e-11)

    def test_without_compiled_kernels_the_same(self, robot, make, monkeypatch):
        compiled = make(robot).linearised(states(robot, 6, seed=7))
        monkeypatch.setattr(constraint_module, "robot_dynamics", lambda r: Dynamics(r, NumpyEngine()))
        plain = make(robot).linearised(states(robot, 6, seed=7))
        for one, other in zip(vars(compiled).values(), vars(plain).values(), strict=True):
            if one is None:
                assert other is None
            else:
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def physical(constraint: Constraint, motion: Motion) -> Array:
    """Values in the unit of each row, back from c."""
    back = [
        row.limit - row.scale * c if row.upper else row.limit + row.scale * c
        for row, c in zip(constraint.rows, constraint.values(motion), strict=True)
    ]
    return np.array(back)


# -- torque ----------------------------------------------------------------------------------------------------


@every_robot
def test_torque_is_that_of_pinocchio_plus_friction(robot):
    limits, motion = torque_limits(robot), states(robot, 6, seed=1)
    model, chi = to_pinocchio(robot), limits.chi[10 * robot.n :].reshape(4, -1)
    data = model.createData()
    expected = []
    for q, qd, qdd in zip(motion.q, motion.qd, motion.qdd, strict=True):
        friction = chi[0] * qdd + chi[1] * qd + chi[2] * np.tanh(qd / 0.3) + chi[3]
        expected.append(pin.rnea(model, data, q, qd, qdd) + friction)
    tau = np.array(expected).T
    np.testing.assert_allclose(physical(limits, motion), np.concatenate([tau, tau]), rtol=1e-9, atol=1e-9)
    assert [row.limit for row in limits.rows[: robot.n]] == pytest.approx(0.9 * robot.limit("torque"))
    assert [row.limit for row in limits.rows[robot.n :]] == pytest.approx(-0.9 * robot.limit("torque"))


@every_robot
def test_torque_derivatives_are_those_of_pinocchio(robot):
    limits, motion = TorqueLimits(DynamicModel(robot)), states(robot, 5, seed=2)
    rows, model = limits.linearised(motion), to_pinocchio(robot)
    data = model.createData()
    for k, state in enumerate(zip(motion.q, motion.qd, motion.qdd, strict=True)):
        found = pin.computeRNEADerivatives(model, data, *state)
        symmetric = np.triu(found[2]) + np.triu(found[2], 1).T
        for ours, theirs in zip((rows.dq, rows.dqd, rows.dqdd), (found[0], found[1], symmetric), strict=True):
            tau = -ours[: robot.n, :, k] * limits.limit[:, None]
            np.testing.assert_allclose(tau, theirs, rtol=1e-9, atol=1e-10 * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize(
    "term",
    [
        t.LoadFriction(t.Tanh(0.4)),
        t.DriveCoupling("joint_2", "joint_3", ratio=-0.7, shape=t.Tanh(0.4)),
        t.CoupledSqrtViscous("joint_2", "joint_3", ratio=-0.7, width=0.2),
        t.Coulomb(t.Tanh(0.4), joints=("joint_4",)),
        t.AsymmetricCoulomb(t.Tanh(0.4)),
        t.Stribeck(t.Tanh(0.3), velocity=0.5),
        t.GravitySpring("joint_2", offset=0.3),
        t.Ripple(("joint_1", "joint_4")),
    ],
    ids=lambda term: type(term).__name__,
)
def test_every_kind_of_joint_term_is_in_the_derivatives(term):
    limits = torque_limits(ROBOTS["panda"], term)
    motion = states(ROBOTS["panda"], 8, seed=9)
    assert_derivatives(limits, motion, limits.linearised(motion))
    without = TorqueLimits(DynamicModel(ROBOTS["panda"]), margin=0.1)
    assert (
        np.abs(limits.linearised(motion).dq - without.linearised(motion).dq).max() > 1e-4
        or np.abs(limits.linearised(motion).dqd - without.linearised(motion).dqd).max() > 1e-4
    )


def test_torque_with_memory_has_values_but_no_derivatives():
    limits = torque_limits(ROBOTS["panda"], t.Coulomb(t.Dahl(0.2)))
    motion = states(ROBOTS["panda"], 4)
    assert limits.values(motion).shape == (14, 4)
    with pytest.raises(ExciterError, match=r"Fs1.*remembers"):
        limits.linearised(motion)


def test_only_finite_torque_limits_give_rows():
    robot = ROBOTS["panda"].with_limits(torque=[20, INF, 30, INF, INF, INF, 5])
    limits, motion = TorqueLimits(DynamicModel(robot)), states(ROBOTS["panda"], 5)
    assert [row.where for row in limits.rows] == 2 * [robot.joint_names[j] for j in (0, 2, 6)]
    full = TorqueLimits(DynamicModel(robot.with_limits(torque=[20, 9, 30, 9, 9, 9, 5])))
    keep = [0, 2, 6, 7, 9, 13]
    np.testing.assert_allclose(limits.values(motion), full.values(motion)[keep], rtol=1e-12)
    np.testing.assert_allclose(limits.linearised(motion).dqd, full.linearised(motion).dqd[keep], rtol=1e-12)


# -- workspace -------------------------------------------------------------------------------------------------


def pinocchio_points(robot: Robot, frame: str, motion: Motion) -> Array:
    model = to_pinocchio(robot)
    data, points = model.createData(), []
    for q in motion.q:
        pin.framesForwardKinematics(model, data, np.array(q))
        points.append(data.oMf[model.getFrameId(frame)].translation.copy())
    return np.array(points).T


def from_axis(x: Array, point: tuple[float, ...], axis: tuple[float, ...]) -> Array:
    away = x - np.array(point)[:, None]
    return np.linalg.norm(np.cross(away.T, axis), axis=1) / np.linalg.norm(axis)


NORMAL = np.array([0.2, -0.4, 1.0])
PHYSICAL: dict[str, Callable[[Array], list[Array]]] = {
    "half-space": lambda x: [NORMAL @ x / np.linalg.norm(NORMAL)],
    "box": lambda x: [x[0], x[2], x[0], x[1]],
    "inside-sphere": lambda x: [np.linalg.norm(x.T - (0.1, 0.0, 0.3), axis=1)],
    "outside-sphere": lambda x: [np.linalg.norm(x, axis=0)],
    "inside-cylinder": lambda x: [from_axis(x, (0.1, 0.1, 0.0), (0.1, 0.2, 1.0))],
    "outside-cylinder": lambda x: [np.hypot(x[0], x[1])],
}


@every_robot
@pytest.mark.parametrize("kind", PHYSICAL)
def test_regions_measure_what_their_rows_say(robot, kind):
    region, motion = MAKE[kind](robot), states(robot, 8, seed=5)
    x = pinocchio_points(robot, tip(robot), motion)
    np.testing.assert_allclose(physical(region, motion), PHYSICAL[kind](x), rtol=1e-9, atol=1e-10)


def test_sides_and_limits_of_rows():
    robot = ROBOTS["panda"]
    box = [(row.what, row.limit, row.upper) for row in MAKE["box"](robot).rows]
    assert box == [("x", -0.5, False), ("height", 0.1, False), ("x", 0.6, True), ("y", 0.5, True)]
    low, high = HalfSpace(robot, "flange", (0, 0, 2), 0.6), HalfSpace(robot, "flange", (0, 0, -2), -3.0)
    assert [(r.what, r.limit, r.upper) for r in low.rows + high.rows] == [("height", 0.3, False), ("height", 1.5, True)]
    motion = states(robot, 4)
    np.testing.assert_allclose(physical(low, motion), physical(high, motion))


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_solid_cylinder_against_coal(seed):
    """Distance of a small ball's centre, outside and inside, and a gradient of length one that leads away."""
    rng = np.random.default_rng(seed)
    point, axis, x = rng.uniform(-0.5, 0.5, (3, 3))
    radius, lower, length = rng.uniform(0.1, 0.5), rng.uniform(-0.5, 0.0), rng.uniform(0.2, 0.8)
    region = OutsideCylinder(ROBOTS["panda"], "flange", radius, point, axis, lower, lower + length)
    unit = axis / np.linalg.norm(axis)
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), unit).toRotationMatrix()
    middle = point + unit * (lower + 0.5 * length)
    result = coal.DistanceResult()
    there = coal.Transform3s(turn, middle), coal.Transform3s(np.eye(3), x)
    bodies = coal.Cylinder(radius, length), coal.Sphere(1e-3)
    d = coal.distance(bodies[0], there[0], bodies[1], there[1], coal.DistanceRequest(), result)
    ours = region.distance(x[:, None])[0, 0]
    if ours > 0:
        assert ours == pytest.approx(d + 1e-3, abs=2e-5)
    else:  # coal's depth is not always the shortest: a ball of our depth must fit inside instead
        ways = rng.normal(size=(200, 3))
        ball = x - 0.999 * ours * ways / np.linalg.norm(ways, axis=1)[:, None]
        along = (ball - point) @ unit
        assert (from_axis(ball.T, point, unit) < radius).all()
        assert ((lower < along) & (along < lower + length)).all()
    gradient = region.gradient(x[:, None])[0, :, 0]
    assert np.linalg.norm(gradient) == pytest.approx(1.0)
    surface = x - ours * gradient
    assert region.distance(surface[:, None])[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_on_the_axis_and_in_the_centre_there_is_still_a_way_out():
    robot = ROBOTS["panda"]
    for region in (OutsideCylinder(robot, "flange", 0.3), OutsideSphere(robot, "flange", 0.3)):
        gradient = region.gradient(np.zeros((3, 1)))
        assert np.linalg.norm(gradient) == pytest.approx(1.0)
        assert region.distance(np.zeros((3, 1))) == pytest.approx(-0.3)


# -- the papers' limits ----------------------------------------------------------------------------------------


def test_swevers_base_collision_is_any_of_height_and_radius():
    """003, corrected: max_k min(1600 − z, 500 − r) ≤ 0, with the tool's closed-form position of ERRATA A."""
    robot = embedded.robot("kuka-ir361-asme")
    motion = states(robot, 400, seed=8)
    q2, p = motion.q[:, 1], motion.q[:, 1] + motion.q[:, 2]
    z = 1.02 + 0.48 * np.cos(q2) + 0.765 * np.cos(p)
    r = np.abs(0.48 * np.sin(q2) + 0.765 * np.sin(p))
    either = AnyOf((HalfSpace(robot, "tool", (0, 0, 1), 1.6), OutsideCylinder(robot, "tool", 0.5)))
    g = np.minimum(1.6 - z, 0.5 - r)
    np.testing.assert_allclose(physical(either, motion)[0], -g, atol=1e-9)
    solid = OutsideCylinder(robot, "tool", 0.5, upper=1.6).values(motion)[0]
    np.testing.assert_array_equal(solid < 0, g > 0)
    far_and_high = (z > 1.6) & (r > 0.5)
    assert far_and_high.any()
    assert (either.values(motion)[0][far_and_high] > 0).all()  # what the printed product forbids


def test_rackl_box_and_sphere():
    """004 eqs. (33)–(36) for the LWR."""
    robot = embedded.robot("lwr4")
    motion = states(robot, 50, seed=2)
    x = pinocchio_points(robot, "flange", motion)
    box = Box(robot, "flange", (-1.3, -1.3, 0.3), (1.5, 1.5, 1.5))
    np.testing.assert_allclose(physical(box, motion), np.concatenate([x, x]), atol=1e-10)
    sphere = OutsideSphere(robot, "flange", 0.3)
    np.testing.assert_array_equal(sphere.values(motion)[0] >= 0, np.linalg.norm(x, axis=0) >= 0.3)


# -- capsules and obstacles ------------------------------------------------------------------------------------


def coal_capsule(start: Array, end: Array, radius: float) -> tuple[object, object]:
    """A capsule and its placement in the frame its ends are given in."""
    along = np.asarray(end) - start
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along).toRotationMatrix()
    return coal.Capsule(radius, float(np.linalg.norm(along))), pin.SE3(turn, 0.5 * (np.asarray(start) + end))


def coal_distance(one: tuple[object, object], other: tuple[object, object]) -> float:
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = 1e-12
    places = [coal.Transform3s(place.rotation, place.translation) for _, place in (one, other)]
    return coal.distance(one[0], places[0], other[0], places[1], request, result)


def bodies_at(constraint: CapsuleDistance, q: Array) -> dict[str, tuple[object, object]]:
    model = to_pinocchio(constraint.robot)
    data = model.createData()
    pin.forwardKinematics(model, data, np.array(q))
    placed = {}
    for c in constraint.bodies:
        shape, inside = coal_capsule(c.start, c.end, c.radius)
        placed[c.name] = shape, data.oMi[c.joint + 1] * inside
    return placed


@every_robot
def test_self_collision_is_coals(robot):
    constraint, motion = CapsuleDistance(robot, clearance=0.01), states(robot, 30, seed=4)
    found = physical(constraint, motion)
    assert [row.where for row in constraint.rows] == [f"{a} – {b}" for a, b in robot.collision_pairs]
    for k, q in enumerate(motion.q):
        placed = bodies_at(constraint, q)
        for (a, b), d in zip(robot.collision_pairs, found[:, k], strict=True):
            expected = coal_distance(placed[a], placed[b])
            assert d == pytest.approx(expected, abs=2e-8) or (d < 0 and expected < 0)  # depths are defined otherwise


@every_robot
def test_obstacles_are_coals(robot):
    constraint, motion = CapsuleDistance(robot, pairs=(), obstacles=obstacles(robot)), states(robot, 20, seed=4)
    moving = [c.name for c in robot.capsules if c.joint >= 0]
    expected_rows = [f"{name} – ball" for name in moving] + [f"{moving[-1]} – post"]
    expected_rows += [f"{name} – floor" for name in moving] + [f"{name} – table" for name in moving]
    assert [row.where for row in constraint.rows] == expected_rows
    ball, post, floor, table = constraint.obstacles
    solids = {
        "ball": (coal.Sphere(ball.radius), pin.SE3(np.eye(3), ball.start)),
        "post": coal_capsule(post.start, post.end, post.radius),
        "floor": (coal.Halfspace(floor.normal, floor.offset), pin.SE3.Identity()),
        "table": (coal.Box(*table.size), pin.SE3(np.array(table.rotation), table.centre)),
    }
    found = physical(constraint, motion)
    for k, q in enumerate(motion.q):
        placed = bodies_at(constraint, q)
        for row, d in zip(constraint.rows, found[:, k], strict=True):
            body, solid = row.where.split(" – ")
            expected = coal_distance(placed[body], solids[solid])
            assert d == pytest.approx(expected, abs=1e-6) or (d < 0 and expected < 0)


def squared_by_hand(a: Array, b: Array, c: Array, d: Array) -> float:
    """Smallest squared distance over a fine grid of one segment, the other one exactly."""
    s = np.linspace(0, 1, 4001)[:, None]
    x = a + s * (b - a)
    along = d - c
    size = along @ along
    u = np.clip((x - c) @ along / size, 0, 1)[:, None] if size > 0 else 0.0 * s
    return float(((x - c - u * along) ** 2).sum(1).min())


SEGMENTS = {
    "crossing": ([-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]),
    "parallel": ([0, 0, 0], [1, 0, 0], [0.3, 0.5, 0], [1.7, 0.5, 0]),
    "antiparallel": ([0, 0, 0], [1, 0, 0], [1.7, 0.5, 0], [0.3, 0.5, 0]),
    "parallel-apart": ([0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 0]),
    "same-line-apart": ([0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]),
    "same-line-overlap": ([0, 0, 0], [1, 0, 0], [0.5, 0, 0], [3, 0, 0]),
    "identical": ([0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0]),
    "point-segment": ([0.3, 1, 0], [0.3, 1, 0], [0, 0, 0], [1, 0, 0]),
    "segment-point": ([0, 0, 0], [1, 0, 0], [2, 1, 0], [2, 1, 0]),
    "point-point": ([0, 0, 0], [0, 0, 0], [1, 2, 2], [1, 2, 2]),
    "same-point": ([1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]),
    "end-to-end": ([0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 1, 0]),
    **{
        f"nearly-parallel-1e-{k}": ([0, 0, 0], [1, 0, 0], [0, 0.2, 0], [1, 0.2 - 10.0**-k, 10.0**-k])
        for k in range(2, 16)
    },
}


def measure(ends: tuple[Array, ...]) -> list[float]:
    """Distance by both implementations."""
    a, b, c, d = (np.array(x, dtype=float)[:, None] for x in ends)
    distance, first, second, normal = closest_points((a, b), (c, d))
    np.testing.assert_allclose(np.linalg.norm(normal, axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(first - second, distance * normal, atol=1e-12)
    r, u, v = (a - c)[:, 0], (b - a)[:, 0], (d - c)[:, 0]
    s, w = kernels("capsules", "exciter.excitation.kernels").closest(r, u, v)
    assert 0.0 <= s <= 1.0
    assert 0.0 <= w <= 1.0
    return [float(distance[0]), float(np.linalg.norm(r + s * u - w * v))]


@pytest.mark.parametrize("ends", SEGMENTS.values(), ids=SEGMENTS)
def test_degenerate_segments(ends):
    expected = math.sqrt(squared_by_hand(*(np.array(x, dtype=float) for x in ends)))
    for distance in measure(ends):
        assert distance == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 10**6), st.floats(-14, 0))
@settings(max_examples=100, deadline=None)
def test_random_and_nearly_parallel_segments(seed, angle):
    rng = np.random.default_rng(seed)
    a, b, c, noise = rng.normal(size=(4, 3))
    d = c + rng.uniform(-1.5, 1.5) * (b - a) + 10.0**angle * noise
    by_hand = math.sqrt(squared_by_hand(a, b, c, d))
    for distance in measure((a, b, c, d)):
        assert distance <= by_hand + 1e-12  # no sampled pair of points is closer
        assert by_hand - distance < 5e-4 * np.linalg.norm(b - a)  # and the pair exists


def test_pairs_and_obstacles_by_joint_and_link():
    """A joint or a frame means all capsules of its body, a capsule means itself; no row comes twice."""
    robot = ROBOTS["panda"]
    fifth = [c.name for c in robot.capsules if c.joint == 4]
    assert len(fifth) == 2
    constraint = CapsuleDistance(robot, [("joint_5", "link_1"), ("link_1", "link_5"), ("base", "flange")])
    on_flange = [c.name for c in robot.capsules if c.joint == robot.frame("flange").joint]
    expected = [f"{name} – link_1" for name in fifth] + [f"base – {name}" for name in on_flange]
    assert [row.where for row in constraint.rows] == expected
    wall = Wall("floor", (0, 0, 1), 0, against=("joint_5", "link_5_side"))
    assert [row.where for row in CapsuleDistance(robot, (), obstacles=[wall]).rows] == [f"{n} – floor" for n in fifth]
    meshes = MeshDistance(robot, [("link_5_side", "base"), ("joint_5", "base"), ("flange", "link_1")])
    assert meshes.bodies == ((4, -1), (robot.frame("flange").joint, 0))
    assert [row.where for row in meshes.rows] == ["joint_5 – base", "joint_7 – joint_1"]


def test_bodies_without_a_capsule_are_uncovered():
    assert without_capsule(PANDA) == ()
    assert without_capsule(without_link_3()) == ("joint_3",)


def test_bodies_that_touch_have_finite_derivatives():
    robot = ROBOTS["serial"]
    crossed = Capsule("x", 2, (-1, 0, 0), (1, 0, 0), 0.1), Capsule("y", 1, (0, 0, 0), (0, 0, 0), 0.1)
    robot = replace(robot, capsules=crossed, collision_pairs=(("x", "y"),))
    for constraint in (CapsuleDistance(robot), CapsuleDistance(robot, obstacles=[Block("b", (0, 0, 0), (9, 9, 9))])):
        rows = constraint.linearised(Motion.at(np.zeros((1, robot.n))))
        assert np.isfinite(rows.dq).all()
        assert np.isfinite(rows.values).all()


def test_a_segment_that_cuts_a_block_is_inside():
    """0.2 below the face +x; through two faces, 0.1 below +z; from outside to the middle; beside an edge, outside."""
    block = Block("b", (0.0, 0.0, 0.0), (2.0, 2.0, 2.0))
    start = np.array([[0.8, 0.0, 0.0], [-3.0, 0.0, 0.9], [0.8, 2.0, 0.0], [4.0, 1.0, 0.0]]).T
    end = np.array([[0.9, 0.1, 0.0], [3.0, 0.0, 0.9], [0.0, 0.0, 0.0], [1.0, 4.0, 0.0]]).T
    distance, point, normal = block.touch(start, end)
    np.testing.assert_allclose(distance, [-0.2, -0.1, -1.0, 1.5 * math.sqrt(2.0)], atol=1e-12)
    np.testing.assert_allclose(normal[:, [0, 1]], [[1, 0], [0, 0], [0, 1]], atol=1e-12)
    _, back, _ = block.touch(end, start)  # the end that comes out last is the same one
    np.testing.assert_allclose(point[:, 0], [0.8, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(back[:, 0], [0.8, 0.0, 0.0], atol=1e-12)


# -- meshes ----------------------------------------------------------------------------------------------------


def cube_stl(path: Path, half: float) -> Path:
    """A cube of twelve triangles, binary STL."""
    corners = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-half, half)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [f for a, b, c, d in faces for f in ((a, b, c), (a, c, d))]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(tri)].ravel(), 0) for tri in triangles)
    path.write_bytes(bytes(80) + struct.pack("<I", len(triangles)) + body)
    return path


@pytest.fixture(scope="module")
def with_mesh(tmp_path_factory) -> Robot:
    """The random arm, a cube file on joint 5 and the same cube as a box on joint 6's body."""
    file = cube_stl(tmp_path_factory.mktemp("mesh") / "cube.stl", 0.5)
    robot = ROBOTS["serial"]
    rng = np.random.default_rng(1)
    place = random_rotation(rng), rng.uniform(-0.2, 0.2, 3)
    mesh = Shape("mesh", 5, (0.1, 0.2, 0.3), *place, mesh=str(file))
    kept = tuple(shape for shape in robot.shapes if shape.joint != 5)
    return replace(robot, shapes=(*kept, mesh))


def as_box(robot: Robot) -> Robot:
    """The mesh replaced by the box that it is."""
    shapes = [replace(s, kind="box", mesh="") if s.kind == "mesh" else s for s in robot.shapes]
    return replace(robot, shapes=tuple(shapes))


BODIES = (("base", "j6"), ("j1", "j4"), ("j2", "j6"))


def test_a_mesh_is_measured_like_the_box_it_is(with_mesh):
    motion = states(with_mesh, 20, seed=3)
    mesh, box = MeshDistance(with_mesh, BODIES, 0.01), MeshDistance(as_box(with_mesh), BODIES, 0.01)
    np.testing.assert_allclose(mesh.values(motion), box.values(motion), atol=1e-5)
    assert [row.where for row in mesh.rows] == ["base – j6", "j1 – j4", "j2 – j6"]


def test_mesh_derivatives(with_mesh):
    constraint, motion = MeshDistance(with_mesh, BODIES), states(with_mesh, 12, seed=3)
    rows = constraint.linearised(motion)
    apart = rows.values > 0.01
    assert apart.mean() > 0.5
    expected, smooth = differences(constraint, motion, 0, step=1e-5)
    keep = smooth & apart[:, None]
    assert np.abs(np.where(keep, rows.dq - expected, 0.0)).max() < 2e-4
    assert np.abs(np.where(keep, expected, 0.0)).max() > 1.0


@pytest.mark.parametrize("name", ["panda", "ur10e"])
def test_capsule_shapes_through_coal_are_capsules(name):
    """The embedded robots draw their capsules: both ways must give the same distances and derivatives."""
    robot, motion = ROBOTS[name], states(ROBOTS[name], 15, seed=1)
    coarse = MeshDistance(robot)
    fine = CapsuleDistance(robot).linearised(motion)
    joint = {c.name: ("base", *robot.joint_names)[c.joint + 1] for c in robot.capsules}
    owner = [f"{joint[a]} – {joint[b]}" for a, b in robot.collision_pairs]
    rows = coarse.linearised(motion)
    for k, row in enumerate(coarse.rows):
        same = [index for index, pair in enumerate(owner) if pair == row.where]
        closest = fine.values[same].argmin(axis=0)
        at = np.arange(len(motion))
        free = rows.values[k] > 0.01
        np.testing.assert_allclose(rows.values[k][free], fine.values[same].min(axis=0)[free], atol=1e-6)
        dq = fine.dq[same][closest, :, at].T
        assert np.abs(rows.dq[k] - dq)[:, free].max() < 1e-3


# -- together --------------------------------------------------------------------------------------------------


class Fixed:
    """A constraint with given bounds."""

    def __init__(self, bounds: list[list[float]]) -> None:
        self.bounds = np.array(bounds)
        self.rows = HalfSpace(ROBOTS["panda"], "flange", (0, 0, 1), 0.0).rows * len(bounds)

    def lower_bounds(self, spans: Spans) -> Array:
        return self.bounds


def some_spans(motion: Motion) -> Spans:
    count = len(motion)
    return Spans(np.zeros(count), np.ones(count), motion, motion, np.zeros((4, motion.n, count)))


def test_bounds_of_any():
    spans = some_spans(states(ROBOTS["panda"], 2))
    one, two = Fixed([[1.0, -2.0], [3.0, 4.0]]), Fixed([[0.5, -1.0]])
    np.testing.assert_array_equal(AnyOf((one, two)).lower_bounds(spans), [[1.0, -1.0]])


def test_any_of_takes_the_member_that_holds_best():
    robot, motion = ROBOTS["panda"], states(ROBOTS["panda"], 40)
    members = (Box(robot, "flange", (-0.3, -0.3, -0.3), (0.3, 0.3, 0.3)), OutsideSphere(robot, "flange", 0.6))
    expected = np.maximum(members[0].values(motion).min(0), members[1].values(motion)[0])
    either = AnyOf(members)
    np.testing.assert_array_equal(either.values(motion)[0], expected)
    assert either.linearised(motion).dqd is None
    assert "distance from a point ≥ 0.6 m" in either.rows[0].what
    assert either.rows[0].scale == ROW_LENGTH_M


def test_any_of_keeps_the_derivative_that_only_one_order_has():
    """By velocity alone, or by acceleration alone."""

    class Moving(Fixed):
        def linearised(self, motion: Motion) -> ConstraintRows:
            dq = np.zeros((1, motion.n, len(motion)))
            return ConstraintRows(np.ones((1, len(motion))), dq, *(dq + 2.0 if has else None for has in self.orders))

    motion = states(ROBOTS["panda"], 3)
    for orders in ((True, False), (False, True)):
        member = Moving([[1.0] * 3])
        member.orders = orders
        rows = AnyOf((member,)).linearised(motion)
        for found, has in zip((rows.dqd, rows.dqdd), orders, strict=True):
            assert found is not None
            assert (found == (2.0 if has else 0.0)).all()


def test_a_row_rests_on_nothing_assumed_unless_it_says_so():
    assert not RowName("torque", "j", "N·m", 1.0, 1.0, True).assumed


def test_user_constraint_with_derivatives_and_bound():
    motion = states(ROBOTS["panda"], 6)
    spans = some_spans(motion)
    assert (UserConstraint("free", slanted_speed, 2).lower_bounds(spans) == -INF).all()

    def gradient(m: Motion) -> tuple[Array, Array, Array]:
        dq, dqd, dqdd = np.zeros((3, 1, m.n, len(m)))
        dqd[0, 0] = -2 * m.qd[:, 0]
        return dq, dqd, dqdd

    slow = UserConstraint("slow", lambda m: 4.0 - m.qd.T[:1] ** 2, 1, gradient, lambda s: 4.0 - s.rates[0, :1] ** 2)
    assert_derivatives(slow, motion, slow.linearised(motion))
    np.testing.assert_array_equal(slow.lower_bounds(spans), np.full((1, 6), 4.0))
    assert slow.rows[0].what == "slow"
    with pytest.raises(ExciterError, match=r"'bad' gave shape \(6,\); it must be \(1, 6\)"):
        UserConstraint("bad", lambda m: m.q[:, 0]).values(motion)
    with pytest.raises(ExciterError, match="not finite"):
        UserConstraint("bad", lambda m: np.full((1, len(m)), np.nan)).values(motion)


def test_kinematics_is_computed_once_per_motion_and_forgotten_with_it():
    robot, motion = ROBOTS["panda"], states(ROBOTS["panda"], 3)
    first = constraint_module.kinematics(robot, motion)
    assert constraint_module.kinematics(robot, motion) is first
    assert constraint_module.kinematics(robot, states(robot, 3)) is not first
    before = len(constraint_module._KNOWN)
    del motion
    assert len(constraint_module._KNOWN) < before


# -- bad input -------------------------------------------------------------------------------------------------

PANDA = ROBOTS["panda"]


def without_link_3() -> Robot:
    pairs = tuple(pair for pair in PANDA.collision_pairs if "link_3" not in pair)
    return replace(PANDA, capsules=tuple(c for c in PANDA.capsules if c.joint != 2), collision_pairs=pairs)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "frame": (lambda: HalfSpace(PANDA, "hand", (0, 0, 1), 0.0), "unknown frame 'hand'; valid names: .*flange"),
    "frame-of-box": (lambda: Box(PANDA, "hand", (0, 0, 0)), "unknown frame 'hand'"),
    "frame-of-sphere": (lambda: InsideSphere(PANDA, "hand", 1.0), "unknown frame 'hand'"),
    "frame-of-cylinder": (lambda: InsideCylinder(PANDA, "hand", 1.0), "unknown frame 'hand'"),
    "frame-outside-cylinder": (lambda: OutsideCylinder(PANDA, "hand", 1.0), "unknown frame 'hand'"),
    "normal": (lambda: HalfSpace(PANDA, "flange", (0, 0, 0), 0.0), "normal .* is zero"),
    "numbers": (lambda: HalfSpace(PANDA, "flange", (0, 1), 0.0), "give a list of 3 numbers"),
    "offset": (lambda: HalfSpace(PANDA, "flange", (0, 0, 1), math.nan), "offset is nan; give a number"),
    "empty-box": (lambda: Box(PANDA, "flange", (0, 0, 1), (1, 1, 0)), "empty"),
    "open-box": (lambda: Box(PANDA, "flange"), "no finite side"),
    "radius": (lambda: InsideSphere(PANDA, "flange", 0.0), "radius is 0.0; give a number > 0"),
    "ends": (lambda: OutsideCylinder(PANDA, "flange", 0.1, lower=1.0, upper=0.0), "lower must be below upper"),
    "any-of-nothing": (lambda: AnyOf(()), "at least one"),
    "margin": (lambda: TorqueLimits(DynamicModel(PANDA), margin=1.0), "margin .* is 1.0"),
    "chi": (lambda: TorqueLimits(DynamicModel(PANDA), np.zeros(3)), "70 finite numbers"),
    "no-limit": (lambda: TorqueLimits(DynamicModel(embedded.robot("gautier-khalil"))), "has no torque limit"),
    "capsule": (lambda: CapsuleDistance(PANDA, [("base", "elbow")]), "unknown body 'elbow'; valid names: base, link_1"),
    "same-body": (lambda: CapsuleDistance(PANDA, [("link_5", "link_5_side")]), "same body"),
    "no-pairs": (lambda: CapsuleDistance(PANDA, []), "no pair of capsules"),
    "no-own-pairs": (
        lambda: CapsuleDistance(replace(PANDA, collision_pairs=()), obstacles=[Wall("floor", (0, 0, 1), 0)]),
        "no pair of capsules",
    ),
    "no-capsule": (
        lambda: CapsuleDistance(without_link_3(), [("joint_3", "base")]),
        "body 'joint_3' has no capsule; these have: base, link_1",
    ),
    "clearance": (lambda: CapsuleDistance(PANDA, clearance=-0.1), "clearance is -0.1"),
    "name-twice": (
        lambda: CapsuleDistance(PANDA, obstacles=[Round.sphere("base", (1, 0, 0), 0.1)]),
        "named 'base'; names must be unique",
    ),
    "against": (
        lambda: CapsuleDistance(PANDA, obstacles=[Wall("floor", (0, 0, 1), 0, against=("foot",))]),
        "unknown body 'foot'",
    ),
    "block-size": (lambda: Block("b", (0, 0, 0), (1, 0, 1)), "size .* must be positive"),
    "block-rotation": (lambda: Block("b", (0, 0, 0), (1, 1, 1), 2 * np.eye(3)), "rotation"),
    "mesh-body": (lambda: MeshDistance(PANDA, [("base", "hand")]), "unknown body 'hand'"),
    "mesh-itself": (lambda: MeshDistance(PANDA, [("base", "base")]), "paired with itself"),
    "mesh-clearance": (lambda: MeshDistance(PANDA, clearance=math.nan), "clearance is nan"),
    "rows": (lambda: UserConstraint("x", slanted_speed, count=0), "at least one"),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_wrong_settings_are_refused_in_words(make, message):
    with pytest.raises(ExciterError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_missing_mesh_file_is_named():
    shape = Shape("mesh", 6, (1, 1, 1), np.eye(3), np.zeros(3), mesh="nowhere/hand.stl")
    robot = replace(PANDA, shapes=(*PANDA.shapes, shape))
    with pytest.raises(ExciterError, match=r"nowhere/hand\.stl' is missing"):
        MeshDistance(robot, [("base", PANDA.joint_names[6])]).values(states(robot, 1))


@pytest.mark.parametrize("kind", ["torque", "box", "capsules"])
def test_motion_of_another_robot_is_refused(kind):
    constraint = MAKE[kind](PANDA)
    for ask in (constraint.values, constraint.linearised):
        with pytest.raises(MotionError):
            ask(Motion.at(np.zeros((2, 3))))
