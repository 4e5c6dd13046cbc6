"""Robots that the whole suite is run on, random ones, and motions of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exciter.robot import Joint, Limits, Motion, Robot, load
from exciter.robot import embedded_robots as embedded
from support.paths import ROBOTS


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Ten parameters of a random cloud of point masses: physically consistent by construction."""
    from exciter.robot.spatial import from_pseudo_inertia

    points = np.column_stack([0.3 * rng.standard_normal((8, 3)), np.ones(8)])
    return from_pseudo_inertia((points.T * rng.uniform(0.1, 1.0, 8)) @ points)


def random_robot(seed: int, n: int, *, tree: bool = False, prismatic: float = 0.3, aligned: bool = False) -> Robot:
    """Any placements, any axes, any gravity; a tree when asked."""
    rng = np.random.default_rng(seed)
    joints, path = [], [-1]  # depth first, as Pinocchio's composite-body algorithms want it
    for i in range(n):
        path = path[: int(rng.integers(1, len(path) + 1))] if tree else path
        axis = np.array([0.0, 0.0, 1.0]) if aligned else rng.standard_normal(3)
        joints.append(
            Joint(
                f"j{i + 1}",
                "prismatic" if rng.random() < prismatic else "revolute",
                path[-1],
                random_rotation(rng),
                0.4 * rng.standard_normal(3),
                axis / np.linalg.norm(axis),
                Limits(-2.5, 2.5, 2.0, 5.0),
                random_inertia(rng),
            )
        )
        path = [*path, i]
    return Robot(f"random-{seed}", tuple(joints), gravity=5.0 * rng.standard_normal(3))


def states(robot: Robot, samples: int, seed: int = 0) -> Motion:
    rng = np.random.default_rng(seed)
    q = rng.uniform(-2.5, 2.5, (samples, robot.n))
    qd, qdd = rng.uniform(-2.0, 2.0, (2, samples, robot.n))
    return Motion.at(q, qd, qdd)


def smooth_motion(robot: Robot, time: np.ndarray, seed: int = 0) -> Motion:
    """An analytic motion with exact derivatives: two incommensurate sines per joint."""
    rng = np.random.default_rng(seed)
    a, w, p = rng.uniform(0.2, 0.8, (2, robot.n)), rng.uniform(0.5, 3.0, (2, robot.n)), rng.uniform(0, 6, (2, robot.n))
    phase = w[:, None] * time[:, None] + p[:, None]
    q, qd, qdd = a[:, None] * np.sin(phase), (a * w)[:, None] * np.cos(phase), -(a * w * w)[:, None] * np.sin(phase)
    return Motion(time, q.sum(0), qd.sum(0), qdd.sum(0))


CASES = {
    **{name: (lambda name=name: embedded.robot(name)) for name in embedded.names()},
    "gantry": lambda: load(ROBOTS / "gantry.urdf"),
    "two-arms": lambda: load(ROBOTS / "two_arms.urdf"),
    "random-serial": lambda: random_robot(1, 6),
    "random-tree": lambda: random_robot(2, 7, tree=True),
    "prismatic-only": lambda: random_robot(3, 3, prismatic=1.0),
    "one-joint": lambda: random_robot(4, 1, prismatic=0.0),
}


def random_gravity(name: str) -> np.ndarray:
    """Another direction, and another strength, for every robot."""
    rng = np.random.default_rng(sum(name.encode()))
    return rng.uniform(2.0, 12.0) * random_rotation(rng)[0]


def with_default_accelerations(robot: Robot) -> Robot:
    """Acceleration limits where there are none, from the velocity limits, as for a description without them."""
    joints = tuple(replace(j, limits=j.limits.with_default_acceleration()) for j in robot.joints)
    return replace(robot, joints=joints)
