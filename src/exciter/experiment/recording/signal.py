"""One signal of a foreign log: where its columns are, in which unit, and what it has to be multiplied with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError, shown
from exciter.excitation.config.section import Section, per_joint
from exciter.experiment.recording.columns import Columns, columns_from
from exciter.experiment.recording.recording import WRENCH
from exciter.experiment.recording.units import LARGEST, UNITS, Unit, unit_of, units_of

Array = NDArray[np.float64]
KEYS = ("file", "columns", "unit", "factor", "interleaved")
MORE_KEYS = {"torque": ("side",), "current": ("gains", "side")}
TIME_KEYS = ("file", "column", "unit", "rate", "start")


@dataclass(frozen=True, eq=False)
class Signal:
    """``name``: position, velocity, torque, current, wrench or temperature. SI value = number in the file × scale (n,)
    + zero (n,).

    file: None for that of the whole recording; interleaved: one number per line, sample after sample; required: an
    error where the file does not have it.
    """

    name: str
    where: str
    file: str | None
    columns: Columns
    units: tuple[str, ...]
    scale: Array
    scaled: bool  # the user gave a factor of their own
    interleaved: bool
    required: bool
    zero: Array

    def si(self, numbers: Array) -> Array:
        """(k, n) as the file has them, in SI; kept to the last bit where the unit is the one used here."""
        values = numbers * self.scale
        return values + self.zero if self.zero.any() else values

    def of(self, joints: Sequence[str]) -> Sequence[str]:
        """What there is a column of: the joints, or the parts of the wrench."""
        return columns_of(self.name, joints)

    @property
    def kinds(self) -> tuple[str | None, ...]:
        """Whether each joint turns or slides, as far as the unit tells."""
        return tuple(None if self.scaled else UNITS[self.name][unit].kind for unit in self.units)

    def check(self, values: Array, joints: Sequence[str], first: int) -> None:
        """Refuse (k, n) in SI, on the joint side, where no robot can be meant; the samples count from ``first``."""
        wrong = np.argwhere(np.abs(values) > LARGEST[self.name])
        if wrong.size:
            row, j = (int(k) for k in wrong[0])
            unit = self.units[j]
            si = next(name for name, u in UNITS[self.name].items() if u == Unit(1.0, UNITS[self.name][unit].kind))
            raise RecordingError(
                f"{self.where}: joint '{joints[j]}' comes to {values[row, j]:.6g} {si} in sample {first + row}; "
                f"no robot reaches that: {_advice(self.name, unit)}"
            )


@dataclass(frozen=True)
class TimeSource:
    """Instants from a column in ``unit``, or, where there is none, row / rate [Hz].

    start [s]: what the first instant is called; None: as the log has it (0 with a rate).
    """

    file: str | None = None
    column: str | int | None = None
    unit: str = "s"
    rate: float | None = None
    start: float | None = None


def signal_from(top: Section, name: str, joints: Sequence[str], *, required: bool) -> Signal:
    """The part ``name`` of a recording.yaml."""
    section = top.section(name, (*KEYS, *MORE_KEYS.get(name, ())))
    joints = columns_of(name, joints)
    columns = columns_from(section.get("columns"), section.at("columns"))
    units = units_of(name, section.get("unit"), section.at("unit"), joints)
    factor = per_joint(section.get("factor"), section.at("factor"), joints) if "factor" in section else 1.0
    interleaved = section.flag("interleaved", False)
    if interleaved and columns is not None:
        raise RecordingError(f"{section.where}: an interleaved file has no columns to choose from; leave out columns")
    with np.errstate(over="ignore", under="ignore"):
        scale = factor * np.array([UNITS[name][unit].factor for unit in units])
    if not np.all(scale):
        raise RecordingError(f"{section.at('factor')} is {shown(section.get('factor'))}; give numbers other than 0")
    return Signal(
        name,
        section.where,
        text(section, "file"),
        columns,
        units,
        scale,
        "factor" in section,
        interleaved,
        required,
        np.array([UNITS[name][unit].zero for unit in units]),
    )


def columns_of(name: str, joints: Sequence[str]) -> Sequence[str]:
    """Names of what a signal has one column of."""
    return WRENCH if name == "wrench" else joints


def time_from(top: Section) -> TimeSource:
    """The part ``time`` of a recording.yaml."""
    section = top.section("time", TIME_KEYS)
    column, rate = section.get("column"), section.number("rate", 0.0, above=0.0) or None
    start = section.number("start", 0.0) if "start" in section else None
    if (column is None) == (rate is None):
        raise RecordingError(
            f"{section.where} is {shown(top.get('time'))}; give either {{column: name or number, unit: s}}, or "
            "{rate: samples per second} where the log has no time"
        )
    if rate is not None:
        for key in ("unit", "file"):
            if key in section:
                raise RecordingError(f"{section.at(key)} has no meaning beside rate [Hz]; leave it out")
        return TimeSource(rate=rate, start=start)
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise RecordingError(f"{section.at('column')} is {shown(column)}; give the name of a column, or its number")
    unit = unit_of("time", section.get("unit") if "unit" in section else "s", section.at("unit"))
    return TimeSource(text(section, "file"), column, unit, start=start)


def check_kinds(signals: Sequence[Signal], joints: Sequence[str]) -> None:
    """A joint either turns or slides, whatever is measured of it."""
    signals = [signal for signal in signals if signal.of(joints) is joints]
    kinds = [signal.kinds for signal in signals]
    for j, joint in enumerate(joints):
        told = {kind: signal for signal, own in zip(signals, kinds, strict=True) if (kind := own[j]) is not None}
        if len(told) > 1:
            words = " and ".join(f"{kind} by its {s.name} [{s.units[j]}]" for kind, s in told.items())
            raise RecordingError(f"{signals[0].where}: the units contradict each other: joint '{joint}' {words}")


def text(section: Section, key: str) -> str | None:
    given = section.get(key)
    if given is not None and (not isinstance(given, str) or not given):
        raise RecordingError(f"{section.at(key)} is {shown(given)}; give a text")
    return given


def _advice(name: str, unit: str) -> str:
    gears = {"position": "drive: position", "velocity": "drive: position", "torque": "drive: torque"}
    others = ", ".join(other for other in UNITS[name] if other != unit)
    missing = f", or is a gear ratio missing ({gears[name]})" if name in gears else ""
    return f"is its unit not {unit} ({others}), is it another column{missing}?"
