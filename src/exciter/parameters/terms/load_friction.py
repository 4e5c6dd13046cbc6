"""Friction that grows with the load on the gears: Fl z |τ_rigid|."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.parameters.terms.columns import Column
from exciter.parameters.terms.dry_friction import BoundDryFriction, DryFriction
from exciter.parameters.terms.ranges import Interval, Ranges, absolute, times
from exciter.parameters.terms.term import BoundTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot

Array = NDArray[np.float64]
FL = Column("Fl", ("1", "1"), nonnegative=True)


@dataclass(frozen=True)
class LoadFriction(DryFriction):
    """Γ = Fl z |τ_rigid|, with the rigid-body torque of known (nominal or identified) inertias.

    For torques measured at the motor, before the gears; a sensor at the link does not see it.
    """

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        if rigid is None:
            raise ParameterError(
                "LoadFriction needs the rigid-body torque of nominal inertias; give rigid=…, or drop the term"
            )
        return _LoadFriction(*self.bound_parts(robot, FL), rigid)


@dataclass(frozen=True, eq=False)
class _LoadFriction(BoundDryFriction):
    rigid: RigidTorque

    @property
    def joint_wise(self) -> bool:
        return False  # the load depends on all joints

    def values(self, motion: Motion) -> Array:
        return self.direction(self.samples(motion)) * np.abs(self._load(motion))

    def value_range(self, ranges: Ranges, load: Callable[[], Interval]) -> Interval:
        low, high = (torque[self.joints] for torque in load())
        return times(self.direction_range(ranges), absolute((low, high)))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        load = self._load(motion)
        onto_torque = np.zeros_like(motion.q)
        onto_torque[:, self.joints] = (seed * self.direction(at) * np.sign(load)).T
        through_shape = scatter(motion, self.joints, *self.shape.pullback(at.q, at.qd, seed * np.abs(load)))
        return self.rigid.pullback(motion, onto_torque) + through_shape

    def _load(self, motion: Motion) -> Array:
        """(m, N) rigid torque of the term's joints."""
        return np.ascontiguousarray(self.rigid.value(motion).T[self.joints])
