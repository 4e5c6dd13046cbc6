"""``follow:`` of the file of ``--config``: what drifts, when residuals are an alarm, how prompt answers are.

follow:
  drift: {friction: 0.3, offset: [0, 0.2]}   # per √hour: of the value, or [of the value, in its unit]; by kind
                                             # (friction, offset, rotor, spring, ripple, inertia), name or wildcard
  alarm: {window: 0.5, per_hour: 0.1, rows: skip}   # [s]; false alarms at most; skip, downweight, use
  every: 1.0                                 # [s] between answers
  look_ahead: 1.0                            # of what filters see behind a sample: less is sooner, and rougher
  learn_noise: true                          # σ of joints from residuals; where it is not known unless given
  description: 0.3                           # start: values of the description, with this relative σ"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, Any

import numpy as np

from exciter.errors import ParameterError, unknown_name
from exciter.parameters.parameter_names import DRIVE_TITLES, INERTIAL_TITLES, SYMBOL_AND_NUMBER
from exciter.settings import ByName, Number, OneWord, Settings
from exciter.settings.field_markers import Flag, Kind
from exciter.typing import Array

DRIFTING_KINDS = ("friction", "offset", "rotor", "spring", "ripple", "inertia")  #: of parameters, by word
USUAL_FRICTION_DRIFT = 0.3  #: of its value, per √hour: a cold robot that warms up within one
SECONDS_PER_HOUR = 3600.0
LEAST_LOOK_AHEAD = 0.2  #: an edge's influence is 10⁻¹⁶ to this power, which is that of ends of logs
SKIP_ROWS, DOWNWEIGHT_ROWS, USE_ROWS = "skip", "downweight", "use"  #: what becomes of rows in alarm


@dataclass(frozen=True)
class WalkRate(Kind):
    """Of a random walk: a share of the value, or that and a number in the parameter's unit; per √hour."""

    wanted = "a share of the value per √hour, or a list of that and a number in its unit"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[float, float]:
        relative, absolute = given if isinstance(given, list | tuple) and len(given) == 2 else (given, 0.0)
        return Number(least=0.0).number(relative), Number(least=0.0).number(absolute)

    def schema(self) -> dict[str, Any]:
        one = Number(least=0.0).schema()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 2, "maxItems": 2}]}


@dataclass(frozen=True)
class AlarmSettings(Settings):
    """window [s]: over which residuals are judged together. per_hour: how many alarms a robot that is as its model says
    gives at most. rows: what becomes of those in alarm, ``skip``, ``downweight`` or ``use``."""

    window: Annotated[float, Number(above=0.0, most=SECONDS_PER_HOUR, unit="s")] = 0.5
    per_hour: Annotated[float, Number(above=0.0)] = 0.1
    rows: Annotated[str, OneWord((SKIP_ROWS, DOWNWEIGHT_ROWS, USE_ROWS))] = SKIP_ROWS


@dataclass(frozen=True)
class FollowSettings(Settings):
    """How parameters are followed, as the section ``follow:`` of a file asks for it.

    drift: (share of the value, number in its unit) per √hour by kind, name or wildcard of parameters; the last that
    fits counts, what none fits stays. every [s]: between answers. look_ahead: part of the samples behind an instant
    that show in filtered ones; 1: all, so that rows are those of ``identify``. learn_noise: σ of each joint from
    residuals as they come; None: where it is neither given nor known from the start. description: relative σ of the
    description's values to start from; None: from nothing.

    >>> settings = ex.FollowSettings(drift={"friction": 0.5, "off*": (0.0, 0.1)}, every=2.0)
    >>> settings.alarm.window
    0.5"""

    drift: Annotated[Mapping[str, tuple[float, float]], ByName(WalkRate(), what="parameter")] = field(
        default_factory=lambda: {"friction": (USUAL_FRICTION_DRIFT, 0.0)}
    )
    alarm: AlarmSettings = field(default_factory=AlarmSettings)
    every: Annotated[float, Number(above=0.0, unit="s")] = 1.0
    look_ahead: Annotated[float, Number(least=LEAST_LOOK_AHEAD, most=1.0)] = 1.0
    learn_noise: Annotated[bool | None, Flag()] = None
    description: Annotated[float | None, Number(above=0.0)] = None

    def walks(self, names: Sequence[str]) -> Array:
        """(p, 2) share of the value and number in its unit, per √hour."""
        rates, kinds = np.zeros((len(names), 2)), [kind_of(name) for name in names]
        for key, rate in self.drift.items():
            fits = [kind == key or fnmatchcase(name, key) for name, kind in zip(names, kinds, strict=True)]
            if not any(fits) and key not in DRIFTING_KINDS:
                raise ParameterError(f"drift: {unknown_name('parameter', key, [*DRIFTING_KINDS, *names])}")
            rates[fits] = rate
        return rates


def kind_of(name: str) -> str:
    """``friction`` of Fv3, ``inertia`` of ZZR1; nothing of a term of the user's own."""
    found = SYMBOL_AND_NUMBER.fullmatch(name)
    if found is None:
        return ""
    symbol = found[1] if found[1] in INERTIAL_TITLES else found[1] + found[2]
    title = "inertia" if symbol in INERTIAL_TITLES else DRIVE_TITLES.get(symbol, "")
    return next((kind for kind in DRIFTING_KINDS if kind in title and (kind != "inertia" or title == kind)), "")
