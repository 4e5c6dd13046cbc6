"""Units of logs, and what they are in SI: a value times its unit's factor is rad, m, rad/s, m/s, N·m, N, A or s.

Temperatures are in °C inside, with a zero of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exciter.errors import shown
from exciter.experiment.recording.recording import WRENCH
from exciter.settings.kinds import Kind
from exciter.settings.wrong import wrong

TURNS, SLIDES = "turns", "slides"


@dataclass(frozen=True)
class Unit:
    """``factor``: one of it in SI; ``kind``: of the joint that is measured in it, None where it does not tell;
    ``zero``: its zero in SI."""

    factor: float
    kind: str | None = None
    zero: float = 0.0


UNITS: dict[str, dict[str, Unit]] = {
    "time": {"s": Unit(1.0), "ms": Unit(1e-3), "us": Unit(1e-6), "ns": Unit(1e-9)},
    "position": {
        "rad": Unit(1.0, TURNS),
        "deg": Unit(math.pi / 180.0, TURNS),
        "rev": Unit(2.0 * math.pi, TURNS),
        "m": Unit(1.0, SLIDES),
        "mm": Unit(1e-3, SLIDES),
    },
    "velocity": {
        "rad/s": Unit(1.0, TURNS),
        "deg/s": Unit(math.pi / 180.0, TURNS),
        "rev/s": Unit(2.0 * math.pi, TURNS),
        "rpm": Unit(2.0 * math.pi / 60.0, TURNS),
        "m/s": Unit(1.0, SLIDES),
        "mm/s": Unit(1e-3, SLIDES),
    },
    "torque": {
        "N·m": Unit(1.0, TURNS),
        "mN·m": Unit(1e-3, TURNS),
        "kN·m": Unit(1e3, TURNS),
        "N": Unit(1.0, SLIDES),
        "kN": Unit(1e3, SLIDES),
    },
    "current": {"A": Unit(1.0), "mA": Unit(1e-3)},
    "wrench": {"N": Unit(1.0), "kN": Unit(1e3)},  # forces; torques in that times metres
    "temperature": {"degC": Unit(1.0), "K": Unit(1.0, zero=-273.15)},
}
# Beyond these [SI] a unit or a gear ratio is wrong: 160 turns of an arm's joint, a meganewton-metre, 100 kA, 200 °C.
LARGEST = {"position": 1e3, "velocity": 1e3, "torque": 1e6, "current": 1e5, "wrench": 1e6, "temperature": 200.0}


@dataclass(frozen=True)
class UnitOf(Kind):
    """A unit of ``signal`` by name, or one ``each`` column; N·m may be written Nm, N*m, N.m or N m, us µs, and degC
    °C."""

    signal: str
    each: bool = True

    @property
    def wanted(self) -> str:
        return f"one of {', '.join(UNITS[self.signal])}"

    def check(self, given: Any, context: Mapping[str, Any]) -> str | tuple[str, ...]:
        if not self.each or not isinstance(given, list | tuple):
            return self._name(given)
        joints = context.get("joints")
        if joints is not None and len(given) != len(columns := columns_of(self.signal, joints)):
            raise wrong(f" has {len(given)} entries for {len(columns)} joints; give one unit, or one each")
        return tuple(map(self._name, given))

    def _name(self, given: Any) -> str:
        units = UNITS[self.signal]
        spelled = {_spelling(name): name for name in units}
        name = spelled.get(_spelling(given)) if isinstance(given, str) else None
        if name is None:
            allowed = f"{_belongs(self.signal, given)}allowed are {', '.join(units)}"
            raise wrong(f" is {shown(given)}; {allowed}")
        return name

    def schema(self) -> dict[str, Any]:
        one = {"enum": [text for name in UNITS[self.signal] for text in _spellings(name)]}
        return {"anyOf": [one, {"type": "array", "items": one}]} if self.each else one


def columns_of(signal: str, joints: Sequence[str]) -> Sequence[str]:
    """Names of what a signal has one column of."""
    return WRENCH if signal == "wrench" else joints


def _spellings(unit: str) -> list[str]:
    """As people write it, the name itself first."""
    others = {"us": ["µs", "μs"], "degC": ["°C"]}.get(unit, [])
    return list(dict.fromkeys([*(unit.replace("·", dot) for dot in ("·", "", "*", ".", " ", "⋅")), *others]))


def _spelling(text: str) -> str:
    plain = text.replace("µ", "u").replace("μ", "u").replace("°C", "degC")
    return "".join(c for c in plain if c not in "·*. ⋅")


def _belongs(signal: str, given: Any) -> str:
    """That the unit exists, but measures something else."""
    for other, units in UNITS.items():
        if other != signal and isinstance(given, str) and _spelling(given) in map(_spelling, units):
            return f"that is a unit of {other}, not of {signal}; "
    return ""
