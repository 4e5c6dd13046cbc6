"""What can be identified, and why not the rest, in words.

Every standard parameter is identifiable alone, only in combination with others, or not at all. The reasons
follow from what each link can do (``link_mobility``): how it turns, whether its origin moves, what its joint
can feel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from exciter.errors import ParameterError, unknown_name
from exciter.parameters.base import BaseParameters
from exciter.parameters.base_names import is_inertial, split_name
from exciter.parameters.reasons import Reasons
from exciter.robot.robot import Robot

Status = Literal["identifiable", "combination", "unidentifiable"]


@dataclass(frozen=True)
class Verdict:
    """One standard parameter: its status, the base parameters it enters, and the reason in words."""

    name: str
    status: Status
    enters: tuple[str, ...]
    reason: str


@dataclass(frozen=True, eq=False)
class Identifiability:
    """The base parameters of a robot and a verdict on every standard parameter, in standard order."""

    robot: str
    joints: tuple[str, ...]
    base: BaseParameters
    verdicts: tuple[Verdict, ...]

    def verdict(self, name: str) -> Verdict:
        """The verdict on one standard parameter, by name."""
        for verdict in self.verdicts:
            if verdict.name == name:
                return verdict
        raise ParameterError(unknown_name("standard parameter", name, self.base.standard))

    def with_status(self, status: Status) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.status == status)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON. joints, standard, inertial_base and base are numbers of things."""
        expressions = zip(self.base.names, self.base.expressions, strict=True)
        return {
            "robot": self.robot,
            "joints": len(self.joints),
            "standard": len(self.base.standard),
            "inertial_base": self.base.inertial_count,
            "base": len(self.base),
            "parameters": [{"name": name, "expression": text} for name, text in expressions],
            "unidentifiable": [{"name": v.name, "reason": v.reason} for v in self.with_status("unidentifiable")],
        }


def identifiability(robot: Robot, base: BaseParameters, *, kinetic: bool = True) -> Identifiability:
    """Judge every standard parameter of ``base``.

    robot: in the frames that the parameters refer to (modified DH). kinetic=False: base parameters of poses
    at rest.
    """
    last = max((split_name(name)[1] for name in base.standard if is_inertial(name)), default=0)
    if last > robot.n:
        raise ParameterError(
            f"the base parameters name link {last}, but robot '{robot.name}' has {robot.n} links; "
            "give the robot they were made for"
        )
    reasons = Reasons(robot, kinetic=kinetic)
    verdicts = tuple(_verdict(base, column, reasons) for column in range(len(base.standard)))
    return Identifiability(robot.name, robot.joint_names, base, verdicts)


def _verdict(base: BaseParameters, column: int, reasons: Reasons) -> Verdict:
    name = base.standard[column]
    rows = np.flatnonzero(base.grouping[:, column])
    enters = tuple(base.names[k] for k in rows)
    if not len(rows):
        return Verdict(name, "unidentifiable", (), reasons.not_felt(name))
    if enters == (name,):
        return Verdict(name, "identifiable", enters, "felt on its own")
    partners = _unique(base.standard[i] for k in rows for i in base.members(int(k)) if i != column)
    kept = column in base.independent
    return Verdict(name, "combination", enters, reasons.combined(name, partners, kept=kept))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
