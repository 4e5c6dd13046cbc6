"""Friction of the speed: Fv q̇, and with its root, harmless in extrapolation, where powers explode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.parameters.terms.term import (
    BoundTerm,
    Column,
    Interval,
    JointTerm,
    LoadRange,
    Partials,
    PointwiseTerm,
    Ranges,
    RigidTorque,
    Samples,
    Speed,
    joint_columns,
    joint_indices,
    per_joint,
)
from exciter.robot.robot import Robot
from exciter.settings import Names
from exciter.typing import Array

VISCOUS_COLUMN = Column("Fv", ("N·m·s/rad", "N·s/m"), nonnegative=True)
SQUARE_ROOT_COLUMN = Column("Fr", ("N·m·(s/rad)^½", "N·(s/m)^½"), nonnegative=True)


@dataclass(frozen=True)
class Viscous(JointTerm):
    """Viscous friction.

    Γ = Fv q̇.

    >>> ex.DynamicModel(robot, [ex.Viscous(joints=("joint_1",))]).standard[-1]
    'Fv1'
    """

    word: ClassVar[str] = "viscous"
    title: ClassVar[str] = "viscous friction"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _Viscous(joint_columns(robot, joint_indices(robot, self.joints), VISCOUS_COLUMN))


class _Viscous(PointwiseTerm):
    def entries(self, at: Samples) -> Array:
        return at.qd.copy()

    def partials(self, at: Samples) -> Partials:
        return Partials(qd=np.ones_like(at.qd))

    def curvature(self, rates: Array) -> Array:
        return rates[2, self.columns.joints]


@dataclass(frozen=True)
class SqrtViscous(JointTerm):
    """Γ = Fr √|q̇| sgn q̇, with the infinite slope at rest made finite: q̇/(q̇² + w²)^¼.

    width w [rad/s or m/s], one or per joint: the relative change is below ¼ (w/q̇)², 0.25 % at ten widths.
    The derivatives are exact for the function with the width.
    """

    word: ClassVar[str] = "sqrt-viscous"
    title: ClassVar[str] = "friction with the root of the speed"
    joints: Names | None = None
    width: Speed = 1e-3

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = joint_indices(robot, self.joints)
        names = [robot.joint_names[j] for j in joints]
        return _SqrtViscous(
            joint_columns(robot, joints, SQUARE_ROOT_COLUMN), per_joint(self.width, names, "the width of SqrtViscous")
        )


@dataclass(frozen=True, eq=False)
class _SqrtViscous(PointwiseTerm):
    width: Array

    def entries(self, at: Samples) -> Array:
        return rounded_root(at.qd, self.width)

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        """It grows with the speed."""
        joints = self.columns.joints
        return rounded_root(ranges.qd_low[joints], self.width), rounded_root(ranges.qd_high[joints], self.width)

    def partials(self, at: Samples) -> Partials:
        return Partials(qd=root_slope(at.qd, self.width))


def rounded_root(speed: Array, width: Array) -> Array:
    """√|s| sgn s with a finite slope at rest: s/(s² + w²)^¼. It grows with s everywhere."""
    return speed * (speed**2 + width**2) ** -0.25


def root_slope(speed: Array, width: Array) -> Array:
    """Its derivative by s."""
    return (0.5 * speed**2 + width**2) * (speed**2 + width**2) ** -1.25
