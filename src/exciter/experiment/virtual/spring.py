"""A gravity-compensation spring, built as a machine: two points and a spring between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from exciter.errors import ParameterError
from exciter.parameters.terms import GravitySpring, JointTerm, Spring
from exciter.settings import Number, Settings, Text


@dataclass(frozen=True)
class CompensationSpring(Settings):
    """Between a point at ``base_arm`` [m] from the joint's axis on the side before it and one at ``link_arm`` [m] on
    the link, q + ``offset`` [rad] apart as seen from the axis: stiffness [N/m], free length [m], tension there [N].

    The formulas are those of ``parameters.terms.spring``; without free length and preload those of ``gravity_spring``.
    """

    joint: Annotated[str, Text("a joint")]
    base_arm: Annotated[float, Number(unit="m")]
    link_arm: Annotated[float, Number(unit="m")]
    offset: Annotated[float, Number(unit="rad")]
    stiffness: Annotated[float, Number(unit="N/m")]
    free_length: Annotated[float, Number(unit="m")] = 0.0
    preload: Annotated[float, Number(unit="N")] = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.stiffness < float("inf"):
            raise ParameterError(
                f"stiffness of the spring at '{self.joint}' is {self.stiffness:g}; give a number > 0 [N/m]"
            )
        if not abs(self.preload) < float("inf"):
            raise ParameterError(f"preload of the spring at '{self.joint}' is {self.preload:g}; give a number [N]")
        Spring(self.joint, self.base_arm, self.link_arm, self.offset, self.free_length)  # checks the lengths

    @property
    def is_sine(self) -> bool:
        """Whether the torque is a mere sine of the angle."""
        return self.free_length == 0.0 and self.preload == 0.0

    @property
    def term(self) -> JointTerm:
        """The joint term whose parameters describe it."""
        if self.is_sine:
            return GravitySpring(self.joint, self.offset)
        return Spring(self.joint, self.base_arm, self.link_arm, self.offset, self.free_length)

    def values(self, number: int) -> dict[str, float]:
        """Its parameters by name, for joint ``number`` (from 1)."""
        if self.is_sine:
            return {f"Gs{number}": self.stiffness * self.base_arm * self.link_arm, f"Gc{number}": 0.0}
        return {f"Ks{number}": self.stiffness, f"Ps{number}": self.preload}
