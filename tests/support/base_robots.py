"""Robots of the base-parameter tests, and Pinocchio's regressor as their oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from exciter.parameters.base import BaseParameters
from exciter.robot.mdh import MDHRow, MDHTable
from exciter.robot.robot import Robot

DEGREES = np.pi / 180


def mdh_robot(
    name: str,
    alpha: Sequence[float],
    d: Sequence[float],
    r: Sequence[float],
    *,
    sigma: Sequence[int] | None = None,
    theta: Sequence[float] | None = None,
    parents: Sequence[int] | None = None,
    gamma: Sequence[float] | None = None,
    b: Sequence[float] | None = None,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> Robot:
    """A robot from a modified-DH table; angles in degrees."""
    n = len(alpha)
    zero = [0.0] * n
    columns = zip(
        parents if parents is not None else range(-1, n - 1),
        sigma if sigma is not None else [0] * n,
        np.array(alpha) * DEGREES,
        d,
        np.array(theta if theta is not None else zero) * DEGREES,
        r,
        np.array(gamma if gamma is not None else zero) * DEGREES,
        b if b is not None else zero,
        strict=True,
    )
    rows = [
        MDHRow(f"joint_{i + 1}", *(float(x) if k > 1 else int(x) for k, x in enumerate(row)))
        for i, row in enumerate(columns)
    ]
    return MDHTable(name, tuple(rows)).robot(gravity=np.array(gravity, dtype=float))


GAUTIER_KHALIL = mdh_robot("gautier-khalil", (0, -90, 0), (0, 0, 0.5), (0, 0, 0.2))
PUMA = mdh_robot("puma", (0, -90, 0, -90, 90, -90), (0, 0, 0.4318, 0.0203, 0, 0), (0, 0, 0.15005, 0.4318, 0, 0))
UR10E = mdh_robot(
    "ur10e",
    (0, 90, 0, 0, 90, -90),
    (0, 0, -0.6127, -0.57155, 0, 0),
    (0.1807, 0, 0, 0.17415, 0.11985, 0.11655),
)
PANDA = mdh_robot(
    "panda",
    (0, -90, 90, 90, -90, 90, 90),
    (0, 0, 0, 0.0825, -0.0825, 0, 0.088),
    (0.333, 0, 0.316, 0, 0.384, 0, 0),
)
LWR = mdh_robot("lwr", (0, 90, -90, -90, 90, 90, -90), [0.0] * 7, (0.31, 0, 0.4, 0, 0.39, 0, 0.078))

#: robot, and its numbers of base parameters: all, gravity only, inertias only
COUNTS = [(GAUTIER_KHALIL, 15, 4, 11), (PUMA, 36, 10, 26), (UR10E, 36, 10, 26), (PANDA, 43, 12, 31), (LWR, 43, 12, 31)]

GAUTIER_KHALIL_EXPRESSIONS = (
    "ZZR1 = ZZ1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3",
    "XXR2 = XX2 - YY2 - 0.25 M3",
    "XY2",
    "XZR2 = XZ2 - 0.5 MZ3 - 0.1 M3",
    "YZ2",
    "ZZR2 = ZZ2 + 0.25 M3",
    "MXR2 = MX2 + 0.5 M3",
    "MY2",
    "XXR3 = XX3 - YY3",
    "XY3",
    "XZ3",
    "YZ3",
    "ZZ3",
    "MX3",
    "MY3",
)


def regressor_rows(
    robot: Robot,
    samples: int,
    seed: int = 0,
    *,
    at_rest: bool = False,
    rotor: bool = False,
    offset: bool = False,
    viscous: bool = False,
) -> np.ndarray:
    """Pinocchio's regressor at random states, (samples · n, 10 n), with the joint terms asked for behind."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    for joint in robot.joints:
        kind = pin.JointModelPrismaticUnaligned if joint.is_prismatic else pin.JointModelRevoluteUnaligned
        placement = pin.SE3(np.array(joint.rotation), np.array(joint.translation))
        identifier = model.addJoint(joint.parent + 1, kind(np.array(joint.axis)), placement, joint.name)
        model.appendBodyToJoint(identifier, pin.Inertia.Zero(), pin.SE3.Identity())
    data = model.createData()
    rng = np.random.default_rng(seed)
    # Speeds at which inertia forces and weight are alike, whatever the size of the robot.
    size = max(float(np.linalg.norm(joint.translation)) for joint in robot.joints) or 1.0
    weight = float(np.linalg.norm(robot.gravity)) or 1.0
    unit = np.array([size if joint.is_prismatic else 1.0 for joint in robot.joints])
    rows = []
    for _ in range(samples):
        q, qd, qdd = rng.uniform(-2.5, 2.5, (3, robot.n)) * unit
        qd, qdd = (0 * qd, 0 * qdd) if at_rest else (qd * np.sqrt(weight / size), qdd * weight / size)
        phi = pin.computeJointTorqueRegressor(model, data, q, qd, qdd).copy()
        extra = [np.diag(qdd)] * rotor + [np.eye(robot.n)] * offset + [np.diag(qd)] * viscous
        rows.append(np.hstack([phi, *extra]))
    return np.vstack(rows)


def same_space(one: BaseParameters, other: BaseParameters, tolerance: float = 1e-6) -> bool:
    """Whether both say the same about the robot, whatever columns each of them keeps.

    Equal when every row of one is a combination of the rows of the other; the coefficients of that
    combination are the entries at the other's independent columns. Compared entry by entry, so units do
    not matter.
    """
    if one.standard != other.standard or len(one) != len(other):
        return False
    mine = one.grouping[:, other.independent]
    error = np.abs(mine @ other.grouping - one.grouping)
    size = np.abs(mine) @ np.abs(other.grouping) + np.abs(one.grouping)
    column = size.max(axis=0, initial=0.0)
    return bool((error <= tolerance * column).all())
