"""One signal of a foreign log, ``position:`` … ``temperature:`` and ``time:`` of a recording.yaml: where its columns
are, in which unit, which a known format may say, and what brings it to rad, m, rad/s, m/s, N·m, N, A, s or °C."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.base_sensing import BASE_CHANNELS
from exciter.experiment.recording.current_map import CurrentMap, MapsOfJoints
from exciter.experiment.recording.recording import TORQUE_SIDES, WRENCH_COLUMNS, SomeJoints
from exciter.experiment.sources.source import Source, listed
from exciter.parameters.terms.term import PerJoint, per_joint
from exciter.settings import Number, OneWord, PerJointNumber, Settings, Switch, Text
from exciter.settings.field_markers import Kind, wrong
from exciter.typing import Array

TURNS, SLIDES = "turns", "slides"
# Beyond these [SI] a unit or a gear ratio is wrong: 160 turns of an arm's joint, a meganewton-metre, 100 kA, 200 °C.
LARGEST_SI = {"position": 1e3, "velocity": 1e3, "torque": 1e6, "current": 1e5, "wrench": 1e6, "temperature": 200.0}
LARGEST_SI |= {"command": LARGEST_SI["position"]}
LARGEST_SI |= {"base_position": 1e6, "base_orientation": 2.0, "base_twist": 1e3, "imu": 1e5}
LARGEST_SI |= {"contacts": 1e6, "contact_force": 1e6}
Columns = str | tuple[str | int, ...] | None  # None: all the file has
JOINT_PLACEHOLDER = "{joint}"
NUMBERED_COLUMNS = ("{}[{}]", "{}_{}", "{}{}")  # name[0], name_0, name0; or counted from 1
Units = str | tuple[str, ...] | None
File = Annotated[str | None, Text()]
Side = Annotated[str | None, OneWord(TORQUE_SIDES)]


@dataclass(frozen=True)
class Unit:
    """factor: one of it in SI; zero: its zero in SI; kind: of a joint measured in it, None where it does not say."""

    factor: float
    kind: str | None = None
    zero: float = 0.0


def _units(factors: dict[str, float], kind: str | None = None) -> dict[str, Unit]:
    return {name: Unit(factor, kind) for name, factor in factors.items()}


STANDARD_GRAVITY_M_S2 = 9.80665  #: what "g" of an accelerometer means
TURN, DEGREE = 2.0 * math.pi, math.pi / 180.0  # [rad]
UNITS: dict[str, dict[str, Unit]] = {
    "time": _units({"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "10us": 1e-5}),
    "position": _units({"rad": 1.0, "deg": DEGREE, "rev": TURN}, TURNS) | _units({"m": 1.0, "mm": 1e-3}, SLIDES),
    "velocity": _units({"rad/s": 1.0, "deg/s": DEGREE, "rev/s": TURN, "rpm": TURN / 60.0}, TURNS)
    | _units({"m/s": 1.0, "mm/s": 1e-3}, SLIDES),
    "torque": _units({"N·m": 1.0, "mN·m": 1e-3, "kN·m": 1e3}, TURNS) | _units({"N": 1.0, "kN": 1e3}, SLIDES),
    "current": _units({"A": 1.0, "mA": 1e-3}),
    "wrench": _units({"N": 1.0, "kN": 1e3}),  # forces; torques in that times metres
    "temperature": {"degC": Unit(1.0), "K": Unit(1.0, zero=-273.15)},
    "base_position": _units({"m": 1.0, "mm": 1e-3}),
    "base_orientation": _units({"1": 1.0}),
    "base_twist": _units({"m/s": 1.0, "mm/s": 1e-3, "rad/s": 1.0, "deg/s": DEGREE}),
    "imu": _units({"rad/s": 1.0, "deg/s": DEGREE, "m/s²": 1.0, "m/s2": 1.0, "g": STANDARD_GRAVITY_M_S2}),
    "contacts": _units({"1": 1.0, "N": 1.0}),
    "contact_force": _units({"N": 1.0, "kN": 1e3}),  # moments in that times metres
}
UNITS["command"] = UNITS["position"]


@dataclass(frozen=True)
class UnitOf(Kind):
    """A unit of ``signal`` by name, or one ``each`` column; N·m may be written Nm, N*m, N.m or N m, us µs, degC °C."""

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
        spelled = _spelling(given)
        found = {signal: name for signal, units in UNITS.items() for name in units if _spelling(name) == spelled}
        if self.signal not in found:
            other = next(iter(found), None)  # where it measures something else
            belongs = f"that is a unit of {other}, not of {self.signal}; " if other else ""
            raise wrong(f" is {shown(given)}; {belongs}allowed are {', '.join(UNITS[self.signal])}")
        return found[self.signal]

    def schema(self) -> dict[str, Any]:
        others = {"us": ["µs", "μs"], "10us": ["10µs", "10 us", "10 µs"], "degC": ["°C"]}
        one: dict[str, Any] = {"enum": []}
        for unit in UNITS[self.signal]:  # as people write it, the name itself first
            spelled = (*(unit.replace("·", dot) for dot in ("·", "", "*", ".", " ", "⋅")), *others.get(unit, []))
            one["enum"] += dict.fromkeys(spelled)
        return {"anyOf": [one, {"type": "array", "items": one}]} if self.each else one


def columns_of(signal: str, joints: Sequence[str]) -> Sequence[str]:
    """Names of what a signal has one column of."""
    known = {"wrench": WRENCH_COLUMNS} | {name: columns for name, (columns, _) in BASE_CHANNELS.items()}
    return known.get(signal, joints)


def _spelling(given: Any) -> str:
    """Without what people write differently; empty where it is no text."""
    plain = given if isinstance(given, str) else ""
    return "".join(c for c in plain.replace("µ", "u").replace("μ", "u").replace("°C", "degC") if c not in "·*. ⋅")


@dataclass(frozen=True)
class ColumnNames(Kind):
    """Columns, or ``one`` of them, checked for kind only: what the file has is not known yet."""

    one: bool = False

    @property
    def wanted(self) -> str:
        return "the name of a column, or its number" if self.one else "names, numbers from 0, or the name of a group"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, str):
            return given
        entries = given if isinstance(given, list | tuple) and not self.one else [given]
        if not entries or any(isinstance(one, bool) or not isinstance(one, str | int) for one in entries):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return entries[0] if self.one else tuple(entries)

    def schema(self) -> dict[str, Any]:
        column: dict[str, Any] = {"type": ["string", "integer"]}
        return column if self.one else {"anyOf": [column, {"type": "array", "items": column, "minItems": 1}]}


def find(source: Source, columns: Columns, joints: Sequence[str], where: str) -> tuple[int, ...]:
    """Numbers of the columns, one per joint."""
    n = len(joints)
    if columns is None:
        found = tuple(range(len(source.names)))
        if len(found) != n:
            why = f"{where} names no columns, and {source.path} has {len(found)} of them for {n} joints; name one per "
            raise RecordingError(f"{why}joint of {listed(source.names)}")
        return found
    found = (group(source, columns, joints) if isinstance(columns, str) else ()) or source.find(columns)
    if len(found) != n:
        why = f"{where} has {shown(list(columns) if isinstance(columns, tuple) else columns)}: {len(found)} columns "
        raise RecordingError(f"{why}for {n} joints ({', '.join(joints)}); one column per joint is needed")
    return found


CONTACT_COLUMN = ".contact"  #: ends names of columns that are of frames, not of joints


def group(source: Source, name: str, joints: Sequence[str]) -> tuple[int, ...]:
    """The columns ``name[0]`` …, ``name_0`` …, ``name0`` …, also counted from 1, or of a pattern; () where they are not
    all there. A group that goes on behind the last joint is none."""
    at = {column.strip(): k for k, column in enumerate(source.names)}
    at |= {column: k for k, column in enumerate(source.names)}
    if JOINT_PLACEHOLDER in name:
        wanted = [name.replace(JOINT_PLACEHOLDER, joint) for joint in joints]
        missing = [column for column in wanted if column not in at]
        if missing and len(missing) < len(wanted):
            why = f"{source.path} has no column '{missing[0]}', but has '{next(c for c in wanted if c in at)}'; every "
            if name.endswith(CONTACT_COLUMN):
                raise RecordingError(f"{why}frame of contacts needs one: name the frames that have it, or give columns")
            raise RecordingError(f"{why}joint needs one: name those that have it (joints in a recording.yaml)")
        return () if missing else tuple(at[column] for column in wanted)
    for spelling in NUMBERED_COLUMNS:
        first = 0 if spelling.format(name, 0) in at else 1
        wanted = [spelling.format(name, first + k) for k in range(len(joints))]
        if spelling.format(name, first + len(joints)) not in at and all(column in at for column in wanted):
            return tuple(at[column] for column in wanted)
    return ()


def joints_of(source: Source, pattern: str) -> tuple[str, ...]:
    """The joints that the columns of a file speak of: whatever stands for ``{joint}``, in the file's order."""
    before, _, behind = pattern.partition(JOINT_PLACEHOLDER)
    shape = re.compile(re.escape(before) + "(.+)" + re.escape(behind), re.DOTALL)
    return tuple(match[1] for name in source.names if (match := shape.fullmatch(name)))


@dataclass(frozen=True, eq=False)
class Signal:
    """A section of a recording.yaml, once it is known what there is a column of (names): the joints, or the parts of
    the wrench. Its SI value is S·M (number in the file × scale (n,) + the zero of its unit) + offset, with S =
    diag(signs): q = S·Rp⁻¹ q_motor + offset, q̇ = S·Rp⁻¹ q̇_motor, τ = S·Rt τ_motor; matrix M (n, n): None where the log
    is on the joint side. where: for messages; required: an error where the file does not have it."""

    given: Position
    where: str
    names: Sequence[str]
    required: bool
    units: tuple[str, ...]
    scale: Array
    matrix: Array | None = None
    signs: Array | float = 1.0
    offset: Array | float = 0.0

    @property
    def name(self) -> str:
        return self.given.signal

    def joint_side(self, numbers: Array) -> Array:
        """(k, n) as the file has them, in SI; kept to the last bit where the unit is the one used here: −0 + 0 is 0."""
        values, zero = numbers * self.scale, np.array([UNITS[self.name][unit].zero for unit in self.units])
        values = times(self.matrix, values + zero if zero.any() else values) * self.signs
        return values + self.offset if np.any(self.offset) else values

    def check(self, values: Array, first: int) -> None:
        """Refuse (k, n) in SI, on the joint side, where no robot can be meant; the samples count from ``first``."""
        beyond = np.argwhere(np.abs(values) > LARGEST_SI[self.name])
        if beyond.size:
            row, j = (int(k) for k in beyond[0])
            unit, units = self.units[j], UNITS[self.name]
            si = next(name for name, one in units.items() if one == Unit(1.0, units[unit].kind))
            others = ", ".join(other for other in units if other != unit)
            gears = dict.fromkeys(("position", "velocity", "command"), "drive: position") | {"torque": "drive: torque"}
            missing = f", or is a gear ratio missing ({gears[self.name]})" if self.name in gears else ""
            why = f"{self.where}: joint '{self.names[j]}' comes to {values[row, j]:.6g} {si} in sample {first + row}; "
            why += f"no robot reaches that: is its unit not {unit} ({others}), is it another column{missing}?"
            raise RecordingError(why)


def times(matrix: Array | None, rows: Array) -> Array:
    """Every row x becomes M x, without zeros of M: a missing sample (NaN) is missing only in joints that it drives."""
    if matrix is None:
        return rows
    out = np.zeros_like(rows)
    for i, k in np.argwhere(matrix):
        out[:, i] += matrix[i, k] * rows[:, k]
    return out


@dataclass(frozen=True)
class TimeSource(Settings):
    """Instants from a column in ``unit``, or, where there is none, row / rate [Hz]. start [s]: what the first instant
    is called; None: as the log has it (0 with a rate)."""

    file: File = None
    column: Annotated[str | int | None, ColumnNames(one=True)] = None
    unit: Annotated[str, UnitOf("time", each=False)] = "s"
    rate: Annotated[float | None, Number(above=0.0, unit="Hz")] = None
    start: Annotated[float | None, Number(unit="s")] = None

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, Mapping) and given.get("rate") is not None and given.get("unit") is not None:
            raise RecordingError("unit has no meaning beside rate [Hz]; leave it out")
        return given

    def __post_init__(self) -> None:
        if self.rate is not None and self.file is not None:
            raise RecordingError("file has no meaning beside rate [Hz]; leave it out")
        if (self.column is None) == (self.rate is None):
            why = f"it has {'neither' if self.rate is None else 'both'} column and rate; give either {{column: name or "
            raise RecordingError(why + "number, unit: s}, or {rate: samples per second} where the log has no time")


@dataclass(frozen=True)
class Position(Settings):
    """Positions, one column each; interleaved: one number per line. factor: one or per joint, on top of the unit."""

    signal: ClassVar[str] = "position"
    file: File = None
    columns: Annotated[Columns, ColumnNames()] = None
    unit: Annotated[Units, UnitOf("position")] = None
    factor: Annotated[PerJoint | None, PerJointNumber()] = None
    interleaved: Switch = False

    def __post_init__(self) -> None:
        if self.interleaved and self.columns is not None:
            raise RecordingError("an interleaved file has no columns to choose from; leave out columns")

    def names(self, joints: Sequence[str]) -> Sequence[str]:
        """Of what it has one column each."""
        return columns_of(self.signal, joints)

    def of(self, joints: Sequence[str], where: str, *, required: bool) -> Signal:
        """What is to be read. where: this section, for messages."""
        names, known = self.names(joints), UNITS[self.signal]
        if self.unit is None:
            raise RecordingError(f"{where}: unit is missing; allowed are {', '.join(known)}")
        units = (self.unit,) * len(names) if isinstance(self.unit, str) else self.unit
        factor = 1.0 if self.factor is None else per_joint(self.factor, names, f"{where}: factor")[:, 0]
        with np.errstate(over="ignore", under="ignore"):
            scale = factor * np.array([known[unit].factor for unit in units])
        if not np.all(scale):
            raise RecordingError(f"{where}: factor is {shown(self.factor)}; give numbers other than 0")
        return Signal(given=self, where=where, names=names, required=required, units=units, scale=scale)


@dataclass(frozen=True)
class Velocity(Position):
    """Velocities of the joints."""

    signal: ClassVar[str] = "velocity"
    unit: Annotated[Units, UnitOf("velocity")] = None


@dataclass(frozen=True)
class Command(Position):
    """Positions that the drives were told to take; gears, signs and offset are those of the positions."""

    signal: ClassVar[str] = "command"
    unit: Annotated[Units, UnitOf("command")] = None


@dataclass(frozen=True)
class Torque(Position):
    """Torques; side: of the gears, on which they are measured. unusable: joints of which they are no measurement."""

    signal: ClassVar[str] = "torque"
    unit: Annotated[Units, UnitOf("torque")] = None
    side: Side = None
    unusable: Annotated[tuple[str, ...], SomeJoints()] = ()


@dataclass(frozen=True)
class Current(Position):
    """Currents of the motors; gains: torque at the joint per ampere [N·m/A], or map: torque at the joint of a current;
    unusable: as of torques."""

    signal: ClassVar[str] = "current"
    unit: Annotated[Units, UnitOf("current")] = None
    gains: Annotated[PerJoint | None, PerJointNumber(unit="N·m/A")] = None
    map: Annotated[tuple[CurrentMap, ...] | None, MapsOfJoints()] = None
    side: Side = None
    unusable: Annotated[tuple[str, ...], SomeJoints()] = ()

    def __post_init__(self) -> None:
        if self.gains is not None and self.map is not None:
            raise RecordingError("gains and map both say what currents mean; leave one out")


class PerPart(PerJointNumber):
    """One number for all parts of a wrench, or one each."""

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, list | tuple) and len(given) != len(WRENCH_COLUMNS):
            parts = f"{len(WRENCH_COLUMNS)}, of {', '.join(WRENCH_COLUMNS)}"
            raise wrong(f" has {len(given)} numbers; give one, or {parts}")
        return super().check(given, {"joints": WRENCH_COLUMNS})


@dataclass(frozen=True)
class Wrench(Position):
    """Forces and torques on the base, of a force plate: six columns."""

    signal: ClassVar[str] = "wrench"
    unit: Annotated[Units, UnitOf("wrench")] = None
    factor: Annotated[PerJoint | None, PerPart()] = None


@dataclass(frozen=True)
class Temperature(Position):
    """Temperatures of the drives."""

    signal: ClassVar[str] = "temperature"
    unit: Annotated[Units, UnitOf("temperature")] = None


def check_kinds(signals: Sequence[Signal], joints: Sequence[str]) -> None:
    """A joint either turns or slides, whatever is measured of it, unless the user gave a factor of their own."""
    signals = [signal for signal in signals if signal.names is joints and signal.given.factor is None]
    for j, joint in enumerate(joints):
        found = {kind: signal for signal in signals if (kind := UNITS[signal.name][signal.units[j]].kind) is not None}
        if len(found) > 1:
            words = " and ".join(f"{kind} by its {s.name} [{s.units[j]}]" for kind, s in found.items())
            raise RecordingError(f"{signals[0].where}: the units contradict each other: joint '{joint}' {words}")
