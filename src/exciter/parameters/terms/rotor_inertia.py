"""Rotor inertia: Ia q̈, the motor's rotor and gears seen at the joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.parameters.terms.columns import Column, joint_columns, joint_indices
from exciter.parameters.terms.pointwise import Partials, PointwiseTerm, Samples
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Names
from exciter.typing import Array

IA = Column("Ia", ("kg·m²", "kg"), nonnegative=True, conservative=True)


@dataclass(frozen=True)
class RotorInertia(JointTerm):
    """The inertia of the drives' rotors.

    Γ = Ia q̈, kinetic energy ½ Ia q̇² (the rotor's gyroscopic effect on the arm is left out).

    >>> ex.DynamicModel(robot, [ex.RotorInertia()]).standard[-3:]
    ('Ia1', 'Ia2', 'Ia3')
    """

    word: ClassVar[str] = "rotor"
    title: ClassVar[str] = "rotor inertia"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _RotorInertia(joint_columns(robot, joint_indices(robot, self.joints), IA))


class _RotorInertia(PointwiseTerm):
    def entries(self, at: Samples) -> Array:
        return at.qdd.copy()

    def partials(self, at: Samples) -> Partials:
        return Partials(qdd=np.ones_like(at.qdd))

    def curvature(self, rates: Array) -> Array:
        fourth: Array = rates[3, self.columns.joints]
        return fourth

    def kinetic(self, motion: Motion) -> Array:
        energy: Array = 0.5 * self.samples(motion).qd ** 2
        return energy

    def momentum(self, motion: Motion) -> Array:
        return self.samples(motion).qd.copy()
