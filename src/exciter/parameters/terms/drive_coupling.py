"""Drive coupling: the motor of one joint also turns when another joint moves, as in many wrists."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.parameters.terms.columns import Columns
from exciter.parameters.terms.pointwise import Samples
from exciter.parameters.terms.ranges import Interval, Ranges, times
from exciter.parameters.terms.shape import BoundShape, FrictionShape, Sign
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DriveCoupling(JointTerm):
    """The motor of joint ``second`` turns with r q_first + q_second, where r is ``ratio``.

    Its rotor and friction act on both joints. What only one joint feels is already in that joint's Ia, Fv,
    Fs; left are

        Γ_first  = Iam r q̈_second + fvm r q̇_second + fsm r z Γ_second = Iam r q̈_first  + fvm r q̇_first
        + fsm z,      z = sgn(r q̇_first + q̇_second) or another shape.

    Stäubli TX40: ``DriveCoupling("joint_5", "joint_6")``. A shape with settings per joint is looked up
    under ``second``.
    """

    first: str
    second: str
    ratio: float = 1.0
    shape: FrictionShape = field(default_factory=Sign)

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise ParameterError(f"DriveCoupling was given joint '{self.first}' twice; name two different joints")
        if not math.isfinite(self.ratio) or self.ratio == 0:
            raise ParameterError(f"the ratio of DriveCoupling is {self.ratio}; it must be finite and not 0")

    def smoothed(self, width: float) -> Self:
        return replace(self, shape=self.shape.smoothed(width))

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = [robot.index(self.first), robot.index(self.second)]
        if any(robot.joints[j].is_prismatic for j in joints):
            raise ParameterError(f"DriveCoupling of '{self.first}' and '{self.second}' needs two revolute joints")
        number = joints[1] + 1
        columns = Columns(
            n=robot.n,
            names=(f"Iam{number}", f"fvm{number}", f"fsm{number}"),
            units=("kg·m²", "N·m·s/rad", "N·m"),
            rows=tuple((joint, column) for column in range(3) for joint in joints),
            nonnegative=(True, True, True),
            conservative=(True, False, False),
        )
        return _DriveCoupling(columns, joints, self.ratio, self.shape.bind([self.second]))


@dataclass(frozen=True, eq=False)
class _DriveCoupling(BoundTerm):
    joints: list[int]
    ratio: float
    shape: BoundShape

    @property
    def has_memory(self) -> bool:
        return self.shape.memory

    def values(self, motion: Motion) -> Array:
        at = self._samples(motion)
        z = self.shape.values(self._motor(at.q), self._motor(at.qd))
        return np.concatenate([self.ratio * at.qdd[::-1], self.ratio * at.qd[::-1], self.ratio * z, z])

    def curvature(self, rates: Array) -> Array:
        """Inertia and viscous friction are linear in the motion; the dry part jumps."""
        swapped = abs(self.ratio) * rates[:, self.joints[::-1]]
        return np.concatenate([swapped[3], swapped[2], np.full_like(swapped[0], np.inf)])

    def value_range(self, ranges: Ranges, load: Callable[[], Interval]) -> Interval:
        swapped = self.joints[::-1]
        ratio = np.full((1, 1), self.ratio)
        inertia = times((ratio, ratio), (ranges.qdd_low[swapped], ranges.qdd_high[swapped]))
        viscous = times((ratio, ratio), (ranges.qd_low[swapped], ranges.qd_high[swapped]))
        first = times((ratio, ratio), (ranges.qd_low[self.joints[:1]], ranges.qd_high[self.joints[:1]]))
        second = ranges.qd_low[self.joints[1:]], ranges.qd_high[self.joints[1:]]
        z = self.shape.value_range(first[0] + second[0], first[1] + second[1])
        dry = times((ratio, ratio), z)
        return np.concatenate([inertia[0], viscous[0], dry[0], z[0]]), np.concatenate(
            [inertia[1], viscous[1], dry[1], z[1]]
        )

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self._samples(motion)
        inertia, viscous, coulomb = seed[0:2], seed[2:4], seed[4:6]
        onto_z = self._motor(coulomb)
        q, qd = self.shape.pullback(self._motor(at.q), self._motor(at.qd), onto_z)
        arms = np.array([[self.ratio], [1.0]])  # ∂ motor / ∂ (first, second)
        from_z = 0.0 if qd is None else arms * qd
        return scatter(
            motion,
            self.joints,
            q=None if q is None else arms * q,
            qd=self.ratio * viscous[::-1] + from_z,
            qdd=self.ratio * inertia[::-1],
        )

    def kinetic(self, motion: Motion) -> Array:
        """Iam r q̇_first q̇_second, the mixed part of the rotor's energy."""
        at = self._samples(motion)
        energy = np.zeros((3, len(motion)))
        energy[0] = self.ratio * at.qd[0] * at.qd[1]
        return energy

    def momentum(self, motion: Motion) -> Array:
        entries = np.zeros((6, len(motion)))
        entries[0:2] = self.ratio * self._samples(motion).qd[::-1]
        return entries

    def _samples(self, motion: Motion) -> Samples:
        self.check(motion)
        return Samples.of(motion, self.joints)

    def _motor(self, rows: Array) -> Array:
        """(1, N) r first + second of rows (2, N)."""
        return self.ratio * rows[:1] + rows[1:]
