"""Limits of one joint. What is not limited is infinite; NaN and contradictions are refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from exciter.errors import RobotError
from exciter.notes import Note, warning
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT

#: A description without acceleration limits (URDF has none) gets velocity / this time [s]:
#: from rest to full speed in half a second, slower than what industrial arms allow.
TIME_TO_FULL_SPEED_S = 0.5

#: [rad or m; per s; per s²] From here on a number stands where a limit is not known: a joint that stops after 160
#: turns, one that turns with 10 000 rpm or slides faster than sound, full speed within 10 ms of that. A jerk limit is a
#: choice, and how much torque is too much depends on the robot (``placeholders.py``).
PLACEHOLDER_LIMITS = {"lower": 1e3, "upper": 1e3, "velocity": 1e3, "acceleration": 1e5}
ROUNDED_LIMIT = 1e-6  #: of a limit: settings that were written with fewer digits are not wider


@dataclass(frozen=True)
class Limits:
    """lower, upper [rad or m]; velocity, acceleration, jerk [per s, s², s³] and torque [N·m or N], symmetric."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf
    torque: float = math.inf
    assumed: bool = field(default=False, kw_only=True, compare=False)  #: acceleration is that of the default policy
    #: why the drive may not always give the torque of the limit, in words, until one is given
    torque_doubt: str = field(default="", kw_only=True, compare=False)
    #: what the description has, where settings say otherwise
    described: Limits | None = field(default=None, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        for name in self.names():  # some tools write the largest number there is where there is no limit
            if abs(value := getattr(self, name)) > LARGEST_OF_A_ROBOT:
                object.__setattr__(self, name, math.copysign(math.inf, value))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(f.name for f in fields(cls) if f.type == "float")

    def is_placeholder(self, which: str) -> bool:
        """Whether a finite limit is so far away that nothing is proved by keeping it."""
        value: float = abs(getattr(self, which))
        return PLACEHOLDER_LIMITS.get(which, math.inf) <= value < math.inf

    def checked(self, joint: str) -> Limits:
        """Itself, or an error that names the joint."""
        for name in self.names():
            value = getattr(self, name)
            if math.isnan(value):
                raise RobotError(f"the {name} limit of joint '{joint}' is NaN; give a number, or leave it out")
            if name not in ("lower", "upper") and value <= 0:
                raise RobotError(f"the {name} limit of joint '{joint}' is {value:g}; it must be positive")
        if not self.lower < self.upper:
            problem = f"joint '{joint}' has lower limit {self.lower:g} and upper limit {self.upper:g}"
            raise RobotError(f"{problem}; the lower one must be smaller")
        return self

    def replaced(self, joint: str, **values: float) -> Limits:
        """With other values; an assumed acceleration follows the velocity until it is given, a given torque is sure."""
        assumed = self.assumed and "acceleration" not in values
        doubt = "" if "torque" in values else self.torque_doubt
        others: dict[str, Any] = {**values, "assumed": assumed, "torque_doubt": doubt}
        new = replace(self, **others).checked(joint)
        return replace(new, acceleration=math.inf).with_default_acceleration() if assumed else new

    def wider(self) -> Iterator[tuple[str, float, float]]:
        """Limits that are farther than the description has them: which, as set, as described. Degrees, perhaps."""
        if (described := self.described) is None:
            return
        for which in self.names():
            here, there = getattr(self, which), getattr(described, which)
            known = math.isfinite(there) and not described.is_placeholder(which)
            known &= not (which == "acceleration" and described.assumed)
            beyond = there - here if which == "lower" else here - there
            if known and beyond > ROUNDED_LIMIT * abs(there):
                yield which, here, there

    def with_default_acceleration(self) -> Limits:
        """The default policy for descriptions that give a velocity limit but no acceleration limit."""
        if math.isinf(self.acceleration) and math.isfinite(self.velocity):
            return replace(self, acceleration=self.velocity / TIME_TO_FULL_SPEED_S, assumed=True)
        return self


@dataclass(frozen=True)
class Unlimited:
    """Limits of one kind that a description leaves open, which may be given later. which: the name in ``Limits``;
    where, then: the rest of the sentence about joints that still have none."""

    which: str
    where: str
    then: str

    def note(self, joints: str) -> Note:
        kind = "position" if self.which == "upper" else self.which
        return warning(f"{kind} limit", f"no {kind} limit {self.where} for {joints}: {self.then}")
