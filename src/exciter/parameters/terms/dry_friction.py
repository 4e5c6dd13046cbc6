"""Common part of every friction term with a direction of motion: the joints, and their shape z in −1 … 1."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Self

from exciter.parameters.terms.columns import Column, Columns, joint_columns, joint_indices
from exciter.parameters.terms.dahl import Dahl
from exciter.parameters.terms.pointwise import Samples
from exciter.parameters.terms.ranges import Interval, Ranges
from exciter.parameters.terms.shape import BoundShape, FrictionShape, Sign, Tanh
from exciter.parameters.terms.term import BoundTerm, JointTerm
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Names, OneOf, Registry
from exciter.typing import Array

SHAPES = Registry[FrictionShape]("shape", Sign, Tanh, Dahl)
Shape = Annotated[FrictionShape, OneOf(SHAPES)]


@dataclass(frozen=True)
class DryFriction(JointTerm):
    """Settings: the shape (``Sign()``, ``Tanh(width)`` or ``Dahl(delta)``) and the joints, None for all."""

    shape: Shape = field(default_factory=Sign)
    joints: Names | None = None

    def smoothed(self, width: float) -> Self:
        return replace(self, shape=self.shape.smoothed(width))

    def bound_parts(self, robot: Robot, *kinds: Column) -> tuple[Columns, list[int], BoundShape]:
        """Columns of the given kinds, the joints, and the shape on them."""
        joints = joint_indices(robot, self.joints)
        shape = self.shape.bind([robot.joint_names[j] for j in joints])
        return joint_columns(robot, joints, *kinds), joints, shape


@dataclass(frozen=True, eq=False)
class BoundDryFriction(BoundTerm):
    """Work: ``joints`` (m) and their shape."""

    joints: list[int]
    shape: BoundShape

    @property
    def has_memory(self) -> bool:
        return self.shape.memory

    def after(self, motion: Motion) -> BoundTerm:
        at = self.samples(motion)
        return replace(self, shape=self.shape.after(at.q, at.qd))

    @property
    def joint_wise(self) -> bool:
        return not self.has_memory

    def samples(self, motion: Motion) -> Samples:
        self.check(motion)
        return Samples.of(motion, self.joints)

    def direction_range(self, ranges: Ranges) -> Interval:
        """Lowest and highest z, each (m, M)."""
        return self.shape.value_range(ranges.qd_low[self.joints], ranges.qd_high[self.joints])

    def direction(self, at: Samples) -> Array:
        """(m, N) z."""
        return self.shape.values(at.q, at.qd)
