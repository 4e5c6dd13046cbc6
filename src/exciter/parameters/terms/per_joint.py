"""Settings that may differ per joint: one number for all, one per joint name, or one per joint in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from exciter.errors import ParameterError, shown
from exciter.settings import PerJointNumber
from exciter.typing import Array

PerJoint = float | Mapping[str, float] | Sequence[float]


@dataclass(frozen=True)
class OfNamedJoints(PerJointNumber):
    """Of the joints that a term has, which need not be all of the robot's: ``per_joint`` compares with them."""

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        return super().check(given, {})


Speed = Annotated[PerJoint, OfNamedJoints(above=0.0, unit="rad/s or m/s")]
Travel = Annotated[PerJoint, OfNamedJoints(above=0.0, unit="rad or m")]


def per_joint(value: PerJoint, names: Sequence[str], what: str) -> Array:
    """(m, 1) the value of each named joint, ready to broadcast over samples."""
    if isinstance(value, Mapping):
        missing = [name for name in names if name not in value]
        if missing:
            raise ParameterError(
                f"{what} is given for {', '.join(value) or 'no joint'} but not for '{missing[0]}'; "
                "give it for every joint of the term"
            )
        numbers = np.array([value[name] for name in names], dtype=np.float64)
    elif isinstance(value, Sequence):
        if len(value) != len(names):
            raise ParameterError(f"{what} has {len(value)} values for {len(names)} joints; give one per joint or one")
        numbers = np.array(value, dtype=np.float64)
    else:
        numbers = np.full(len(names), value, dtype=np.float64)
    return numbers[:, None]


def check_positive(value: PerJoint, what: str) -> None:
    """Refuse anything but positive finite numbers."""
    for number in _numbers(value, what):
        if not (np.isfinite(number) and number > 0):
            raise ParameterError(f"{what} is {number:g}; it must be a positive, finite number")


def check_within(value: PerJoint, lower: float, upper: float, what: str) -> None:
    """Refuse anything outside lower … upper."""
    for number in _numbers(value, what):
        if not lower <= number <= upper:
            raise ParameterError(f"{what} is {number:g}; it must lie in {lower:g} … {upper:g}")


def _numbers(value: PerJoint, what: str) -> Array:
    given = list(value.values()) if isinstance(value, Mapping) else value
    try:
        return np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be a number, or one number per joint; given {shown(value)}") from None
