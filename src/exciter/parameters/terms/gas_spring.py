"""A hydraulic counterbalance: a cylinder on a lever that compresses a closed volume of gas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms.columns import Column, Joint, joint_columns, revolute_index
from exciter.parameters.terms.lever import Angle, Arm, Lever
from exciter.parameters.terms.per_joint import check_positive
from exciter.parameters.terms.pointwise import Partials, PotentialTerm, Samples
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges, times
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.robot.robot import Robot
from exciter.settings import Number
from exciter.typing import Array

FORCE = Column("Fg", ("N", ""), nonnegative=True, conservative=True)


@dataclass(frozen=True)
class GasSpring(JointTerm):
    """Γ = Fg h V/(V − A dl), with the piston's travel dl = L − |D − k| and lever h = dL/dq (see ``lever``).

    Fg [N] is the cylinder's force at dl = 0; the gas is isothermal, p ∝ 1/(V − A dl). base_arm D, link_arm
    k [m]; offset [rad]: q + offset is the angle between both arms; volume V [m³] of gas at dl = 0; area A
    [m²] of the piston.
    """

    word: ClassVar[str] = "gas-spring"
    title: ClassVar[str] = "gas spring"
    joint: Joint
    base_arm: Arm
    link_arm: Arm
    offset: Angle
    volume: Annotated[float, Number(above=0.0, unit="m³")]
    area: Annotated[float, Number(above=0.0, unit="m²")]

    def __post_init__(self) -> None:
        lever = Lever(self.base_arm, self.link_arm, self.offset)
        check_positive(self.volume, "the volume of GasSpring")
        check_positive(self.area, "the area of GasSpring")
        swept = self.area * (lever.longest - lever.shortest)
        if swept >= self.volume:
            raise ParameterError(
                f"the piston of GasSpring can sweep {swept:.4g} m³ but the gas has {self.volume:.4g} m³; "
                "give a larger volume, a smaller area or a shorter link_arm"
            )

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joint = revolute_index(robot, self.joint, "GasSpring")
        lever = Lever(self.base_arm, self.link_arm, self.offset)
        return _GasSpring(joint_columns(robot, [joint], FORCE), lever, self.area / self.volume)


@dataclass(frozen=True, eq=False)
class _GasSpring(PotentialTerm):
    lever: Lever
    rate: float  # A/V [1/m]

    def entries(self, at: Samples) -> Array:
        length, arm, _ = self.lever.at(at.q)
        return arm * self._pressure(length)

    def partials(self, at: Samples) -> Partials:
        length, arm, slope = self.lever.at(at.q)
        pressure = self._pressure(length)
        return Partials(q=slope * pressure + arm**2 * self.rate * pressure**2)

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        joints = self.columns.joints
        length, arm = self.lever.ranges((ranges.q_low[joints], ranges.q_high[joints]))
        return times(arm, (self._pressure(length[0]), self._pressure(length[1])))

    def energies(self, at: Samples) -> Array:
        travel = self.lever.at(at.q)[0] - self.lever.shortest
        energy: Array = -np.log1p(-self.rate * travel) / self.rate
        return energy

    def _pressure(self, length: Array) -> Array:
        """p/p(dl = 0)."""
        ratio: Array = 1.0 / (1.0 - self.rate * (length - self.lever.shortest))
        return ratio
