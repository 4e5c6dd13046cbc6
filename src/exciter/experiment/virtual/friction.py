"""Joint friction of the virtual robot: viscous, Coulomb, and what Stribeck adds at low speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.experiment.virtual.numbers import resolved
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.typing import Array

FIELDS = ("viscous", "coulomb", "stribeck", "stribeck_velocity")


@dataclass(frozen=True)
class Friction:
    """Γ = Fv q̇ + (Fs + Fst exp(−(q̇/v_s)²)) sgn q̇.

    viscous Fv [N·m·s/rad], coulomb Fs [N·m], stribeck Fst [N·m], stribeck_velocity v_s [rad/s]; N and m where joints
    slide. A joint at rest takes whatever torque up to Fs + Fst keeps it there.
    """

    viscous: PerJoint = 0.0
    coulomb: PerJoint = 0.0
    stribeck: PerJoint = 0.0
    stribeck_velocity: PerJoint = 0.1

    def on(self, robot: Robot) -> Friction:
        """With one number per joint, checked."""
        values = {name: resolved(getattr(self, name), robot, name.replace("_", " ")) for name in FIELDS[:3]}
        velocity = resolved(self.stribeck_velocity, robot, "stribeck velocity", positive=True)
        lists = {name: tuple(value.tolist()) for name, value in values.items()}
        return Friction(**lists, stribeck_velocity=tuple(velocity.tolist()))

    def array(self, name: str) -> Array:
        """(n,) of one field, once ``on`` a robot."""
        return np.array(getattr(self, name), dtype=float)

    def to_dict(self) -> dict[str, list[float]]:
        return {name: self.array(name).tolist() for name in FIELDS}
