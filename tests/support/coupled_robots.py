"""Robots whose bodies follow joints: mimics, chains of them, and transmissions that mix joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from exciter.robot import Robot
from exciter.robot.coupling import LinearCoupling, Mimic, with_mimics
from exciter.robot.geometry import Capsule
from support.robots import random_robot


def mimicking(seed: int = 3) -> Robot:
    """Six joints, of which the third follows the first and the sixth the third; the fourth slides with the second."""
    tree = random_robot(seed, 6, tree=True)
    friction = {"viscous": np.full(6, 0.5), "coulomb": np.full(6, 0.2), "rotor_inertia": np.full(6, 0.1)}
    mimics = (Mimic("j3", "j1", -1.7, 0.3), Mimic("j6", "j3", 0.5, -0.2), Mimic("j4", "j2", 0.25))
    return with_mimics(replace(tree, friction=friction), mimics)


def mixing(seed: int = 5) -> Robot:
    """Five bodies on three joints: the last two are moved by several at once."""
    tree = random_robot(seed, 5, tree=True)
    matrix = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, -0.5, 0], [1.0, 0.2, -1.5]])
    own = {"joints": tree.joints[:3], "bodies": tree.joints}
    return replace(tree, **own, coupling=LinearCoupling(matrix, [0, 0, 0, 0.4, -0.1]))


def with_capsules(robot: Robot) -> Robot:
    """A capsule on every body, and every pair of them that a joint does not join."""
    rng = np.random.default_rng(1)
    capsules = [Capsule(f"c{k}", k, *0.2 * rng.standard_normal((2, 3)), 0.03) for k in range(robot.n_bodies)]
    pairs = [(a, b) for a in range(robot.n_bodies) for b in range(a) if robot.parents[a] != b]
    names = tuple((f"c{a}", f"c{b}") for a, b in pairs)
    return replace(robot, capsules=tuple(capsules), collision_pairs=names)


COUPLED: dict[str, Callable[[], Robot]] = {"mimic": mimicking, "mixed": mixing}

GRIPPER = """<robot name="gripper_arm"><link name="base"/>{links}
{joints}</robot>"""


def gripper_urdf(path: Path) -> Path:
    """An arm of two joints with a gripper: the left finger follows the right one, a cover turns with it."""
    about = {
        "upper": (2.0, 0.02),
        "fore": (1.0, 0.01),
        "right": (0.3, 0.002),
        "left": (0.3, 0.002),
        "cover": (0.2, 0.001),
    }
    body = (
        '<link name="{}"><inertial><origin xyz="0.1 0.02 -0.03"/><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}" '
        'ixy="0.0001" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.03"/></geometry></collision>'
        "</link>"
    )
    links = "\n".join(body.format(name, m, i, 1.2 * i, 0.9 * i) for name, (m, i) in about.items())
    told = (
        ("shoulder", "revolute", "base", "upper", "0 1 0", "0 0 0.3", 2.0, ""),
        ("elbow", "revolute", "upper", "fore", "0 1 0", "0.4 0 0", 2.0, ""),
        ("finger", "prismatic", "fore", "right", "0 1 0", "0.3 0 0", 0.1, ""),
        ("other", "prismatic", "fore", "left", "0 -1 0", "0.3 0 0", 0.09, '<mimic joint="finger" multiplier="-1"/>'),
        (
            "lid",
            "revolute",
            "left",
            "cover",
            "1 0 0",
            "0.1 0 0",
            1.0,
            '<mimic joint="other" multiplier="8" offset="0.1"/>',
        ),
    )
    joint = (
        '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="{4}"/><origin xyz="{5}"/>'
        '<limit lower="-{6}" upper="{6}" effort="50" velocity="2"/><dynamics damping="1.5" friction="0.4"/>{7}</joint>'
    )
    joints = "\n".join(joint.format(*one) for one in told)
    path.write_text(GRIPPER.format(links=links, joints=joints), encoding="utf-8")
    return path
