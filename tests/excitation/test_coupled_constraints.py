"""Limits of robots whose bodies follow joints: slopes by differences, and bounds that no sample inside breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.excitation.constraints.collision import CapsuleDistance, Wall
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits, torque_range
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.parameters.terms import Coulomb, LoadFriction, RotorInertia, Tanh, Viscous
from exciter.robot import Motion, Robot
from exciter.robot.coupling import coupled_motion
from exciter.robot.geometry import Shape
from exciter.robot.limits import Limits
from support.certificates import even_spans, fourier, inside
from support.coupled_robots import COUPLED, mixing, with_capsules
from support.robots import states


def constraints(robot: Robot) -> list:
    wall = Wall("wall", np.array([0.0, 0.0, 1.0]), -2.0)
    names = [f"c{robot.n_bodies - 1}", "c0"]
    limited = robot.with_limits(torque=40.0)
    model = DynamicModel(limited, (RotorInertia(), Viscous(), Coulomb(Tanh(0.1))))
    return [
        CapsuleDistance(robot, obstacles=(wall,)),
        HalfSpace(robot, robot.tool_frame, normal=(0.6, 0.0, 0.8), offset=-1.0),
        MeshDistance(robot, pairs=(tuple(names),)),
        TorqueLimits(model),
    ]


def shaped(robot: Robot) -> Robot:
    robot = with_capsules(robot)
    shapes = tuple(Shape("sphere", c.joint, (0.05,), np.eye(3), c.start) for c in robot.capsules)
    return replace(robot, shapes=shapes)


@pytest.mark.parametrize("name", COUPLED)
def test_slopes_are_differences(name: str) -> None:
    robot, h = shaped(COUPLED[name]()), 1e-6
    motion, rng = states(robot, 12, 7), np.random.default_rng(1)
    for constraint in constraints(robot):
        ways = rng.standard_normal((3, *motion.q.shape))
        given = (motion.q, motion.qd, motion.qdd)
        ends = [
            constraint.values(Motion(motion.time, *(x + s * h * d for x, d in zip(given, ways, strict=True))))
            for s in (1, -1)
        ]
        rows = constraint.linearised(motion)
        slopes = [x for x in (rows.dq, rows.dqd, rows.dqdd) if x is not None]
        exact = sum(np.einsum("KnN,Nn->KN", x, d) for x, d in zip(slopes, ways, strict=False))
        np.testing.assert_allclose(exact, (ends[0] - ends[1]) / (2.0 * h), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", COUPLED)
def test_no_sample_inside_breaks_a_bound(name: str, seed: int) -> None:
    robot = shaped(COUPLED[name]())
    curve = fourier(robot.n, seed)
    spans = even_spans(curve, 60)
    _, motion = inside(spans, curve)
    for constraint in constraints(robot):
        bound = constraint.lower_bounds(spans)
        lowest = constraint.values(motion).reshape(len(bound), len(spans.start), -1).min(axis=2)
        assert (bound <= lowest + 1e-12).all()
        assert np.isfinite(bound).all()
    fine = even_spans(curve, 4000)
    torques = constraints(robot)[-1]
    slack = torques.values(fine.left)[:, :, None] - torques.lower_bounds(fine)[:, :, None]
    assert slack.max() < 0.2  # of the limit: bounds close in on what is bounded


@pytest.mark.parametrize("engine", [NumpyEngine(), NumbaEngine()])
def test_torque_ranges_contain_the_torque(engine: NumpyEngine) -> None:
    """Load friction included, whose load is that of all bodies that follow."""
    robot = COUPLED["mimic"]()
    model = DynamicModel(robot, (Viscous(), Coulomb(), LoadFriction()), engine)
    chi = np.where(np.arange(len(model.standard)) < model.inertial_size, model.nominal, 0.3)
    curve = fourier(robot.n, 5)
    spans = even_spans(curve, 40)
    _, motion = inside(spans, curve)
    low, high = torque_range(model, chi, spans)
    torque = model.torque(motion, chi).T.reshape(robot.n, len(spans.start), -1)
    assert (low[:, :, None] <= torque + 1e-9).all()
    assert (torque <= high[:, :, None] + 1e-9).all()


def test_bodies_are_where_the_tree_puts_them() -> None:
    robot = with_capsules(COUPLED["mixed"]())
    motion = states(robot, 8)
    tree = CapsuleDistance(robot.tree).values(coupled_motion(robot, motion))
    np.testing.assert_allclose(CapsuleDistance(robot).values(motion), tree, atol=1e-12)
    here = Dynamics(robot).placement("j5", motion.q)[1]
    there = Dynamics(robot.tree).placement("j5", coupled_motion(robot, motion).q)[1]
    np.testing.assert_allclose(here, there, atol=1e-12)


def test_what_follows_one_joint_once_others_are_locked_gives_it_its_limits() -> None:
    """Of ½ u₁ − ½ u₂ + 0.4 with u₁ locked: nothing but u₂ can keep them."""
    robot, own = mixing(), Limits(lower=-0.3, upper=0.6, velocity=0.5, acceleration=2.0)
    bodies = [replace(body, limits=own) if body.name == "j4" else body for body in robot.bodies]
    locked = replace(robot, bodies=tuple(bodies)).lock({"j1": 0.2})
    kept = locked.joints[locked.index("j2")].limits
    assert np.allclose([kept.lower, kept.upper, kept.velocity, kept.acceleration], [-0.2, 1.6, 1.0, 4.0])
