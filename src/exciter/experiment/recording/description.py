"""recording.yaml: a foreign log as data. ``docs/recordings.md`` shows every key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.recording import base_columns, recording, signal_columns
from exciter.experiment.recording.delayed_signals import SignalDelays
from exciter.experiment.recording.signal_filters import AnyAnalogFilter, OfSignals
from exciter.experiment.recording.windows import Window, refuse_disorder
from exciter.experiment.sources.open_source import READER_OF_SUFFIX, READERS
from exciter.experiment.sources.source import Source
from exciter.parameters.terms.term import per_joint
from exciter.remote_files import suffix_of
from exciter.robot.stated_gravity import GravityVector
from exciter.robot.yaml_file import read_yaml
from exciter.settings import ByName, Number, OneWord, Settings, Switch, Vector, Whole, fill, keys_of
from exciter.settings.field_markers import Kind, ListOfTexts, wrong
from exciter.typing import Array

NATIVE_NPZ = "exciter-npz"
PROGRAM_FORMATS = (  # each a YAML file of formats/
    "exciter", "ur-rtde", "libfranka", "ros2", "lerobot", "mujoco-isaac", "unitree", "dynamixel", "ros2-control",
    "sage",
)  # fmt: skip
LOG_FORMATS = tuple(dict.fromkeys((*READERS, *PROGRAM_FORMATS)))
JOINT_SECTIONS = ("position", "velocity", "torque", "current", "command")
SIGNAL_SECTIONS = (*JOINT_SECTIONS, "wrench", "temperature", *base_columns.BASE_SECTIONS)
READER_OPTIONS = ("delimiter", "header", "comment", "skip", "decimal", "missing", "topic", "transposed", "episode")
MOST_SKIPPED_LINES = 1_000_000  #: at the start of a text file
MOST_EPISODES = 10_000_000  #: of a data set
MOST_RECORDED_JOINTS = 200  #: a robot has some dozens; matrices of drives grow with their square


@cache
def preset(name: str) -> Mapping[str, Any]:
    """Of logs of a known program: a recording.yaml without ``file`` that is part of Exciter, ``recognise``: columns
    that such a log has, and ``asks``: signals whose unit it cannot know, and how to say it; empty for files that have
    no meaning of their own."""
    if name not in (*PROGRAM_FORMATS, NATIVE_NPZ):
        return MappingProxyType({"reader": name})
    data: dict[str, Any] = read_yaml(Path(__file__).parent / "formats" / f"{name}.yaml", "format")
    return MappingProxyType(data)


def recognised(source: Source) -> str | None:
    """The format whose columns the file has."""

    def has(column: str, joints: Sequence[str]) -> bool:
        if signal_columns.JOINT_PLACEHOLDER in column:
            return bool(signal_columns.joints_of(source, column))
        return column in source.names or bool(joints and signal_columns.group(source, column, joints))

    for name, known in ((name, preset(name)) for name in PROGRAM_FORMATS):
        if "recognise" in known and all(has(column, known.get("joints", ())) for column in known["recognise"]):
            return name
    return None


def completed(given: Mapping[str, Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    """What a user gave, and what a format says where they did not; null takes it away."""
    known = {key: value for key, value in preset.items() if key not in ("recognise", "reader", "asks")}
    merged = {**known, **given}
    for key, value in given.items():
        counted = isinstance(value, Mapping) and "rate" in value  # instead of the format's column of time
        if isinstance(value, Mapping) and isinstance(known.get(key), Mapping) and not counted:
            merged[key] = {**known[key], **value}
    return merged


@dataclass(frozen=True)
class Ratios(Kind):
    """Gear ratios, or a matrix of as many rows and columns as there are joints."""

    wanted = "one number per joint, or a matrix"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[Any, ...]:
        rows = given if isinstance(given, list | tuple) else ()
        n = len(context.get("joints") or rows)
        nested = [row for row in rows if isinstance(row, list | tuple)]
        if not rows or len(rows) != n or (nested and [len(row) for row in nested] != [n] * n):
            raise wrong(f" is {shown(given)}; give {n} numbers, or a matrix of {n} rows of {n}")
        number = Number().number
        return tuple(tuple(map(number, row)) for row in rows) if nested else tuple(map(number, rows))

    def schema(self) -> dict[str, Any]:
        numbers: dict[str, Any] = {"type": "array", "items": {"type": "number"}}
        return {"anyOf": [numbers, {"type": "array", "items": numbers}]}


@dataclass(frozen=True)
class DriveSettings(Settings):
    """Between motors and joints: q_motor = position · q, τ = torque · τ_motor, as ratios or matrices."""

    position: Annotated[tuple[Any, ...] | None, Ratios()] = None
    torque: Annotated[tuple[Any, ...] | None, Ratios()] = None

    def matrix(self, signal: str, where: str) -> Array | None:
        """(n, n) from the motors' side to the joints': Rp⁻¹ of positions, commands and velocities, Rt of torques; None
        where a signal is on the joint side, and for currents: gains count from these to the joint's torque."""
        moves = dict.fromkeys(("position", "velocity", "command"), self.position)
        rows = (moves | {"torque": self.torque}).get(signal)
        if rows is None:
            return None
        given = np.array(rows, dtype=float)
        ratios = given if given.ndim == 2 else np.diag(given)
        if signal == "torque":
            return ratios
        scale = np.abs(ratios).max(axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            singular = not (scale > 0.0).all() or np.linalg.cond(ratios / scale) > 1e10
        if singular:
            why = f"{where}: drive: position cannot be inverted: some joint would not move its motor; check the matrix"
            raise RecordingError(why)
        inverse = np.asarray(np.linalg.inv(ratios), dtype=np.float64)
        inverse[np.abs(inverse) < 1e-15 * np.abs(inverse).max(axis=1, keepdims=True)] = 0.0
        return inverse

    @property
    def keeps_power(self) -> bool:
        """q̇ᵀτ is the same on both sides of the gears: Rt = Rpᵀ. True where only one of them is given."""
        motion, effort = (self.matrix(signal, "") for signal in ("position", "torque"))
        if motion is None or effort is None:
            return True
        with np.errstate(all="ignore"):  # ratios may be as large as they like: what overflows does not keep power
            return bool(np.allclose(motion.T @ effort, np.eye(len(motion)), atol=1e-6))


@dataclass(frozen=True)
class PositionOffset(Settings):
    """What is added to the positions of the joints, and to commands."""

    values: Annotated[tuple[float, ...], Vector("joints")]
    unit: Annotated[str | tuple[str, ...], signal_columns.UnitOf("position")]

    @property
    def si(self) -> Array:
        """(n,) [rad, m]."""
        names = (self.unit,) * len(self.values) if isinstance(self.unit, str) else self.unit
        return np.asarray(np.array(self.values) * [signal_columns.UNITS["position"][name].factor for name in names])


@dataclass(frozen=True)
class JointNames(Kind):
    wanted = "the names of the joints, a list of texts"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[str, ...]:
        listed = isinstance(given, list | tuple) and all(isinstance(name, str) and name for name in given)
        if not listed or not given:
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        if len(set(given)) < len(given):
            twice = next(name for name in given if given.count(name) > 1)
            raise wrong(f" has '{twice}' twice; every joint needs a name of its own")
        return tuple(given)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "uniqueItems": True}


@dataclass(frozen=True)
class ReadingSettings(Settings):
    """How a file is opened, by its suffix unless told, and its joints: None where the columns name them."""

    file: signal_columns.File = None
    format: Annotated[str | None, OneWord(LOG_FORMATS)] = None
    delimiter: signal_columns.File = None
    header: Switch | None = None
    comment: signal_columns.File = None
    skip: Annotated[int | None, Whole(0, MOST_SKIPPED_LINES)] = None
    decimal: signal_columns.File = None
    missing: Annotated[tuple[str, ...] | None, ListOfTexts("words that stand for no value, each in quotes", 1)] = None
    topic: signal_columns.File = None
    transposed: Switch | None = None
    episode: Annotated[int | None, Whole(0, MOST_EPISODES)] = None
    joints: Annotated[tuple[str, ...] | None, JointNames()] = None

    def __post_init__(self) -> None:
        if not all(word.strip() for word in self.missing or ()):
            raise RecordingError("missing has an empty word; a cell without anything has no value anyway, leave it out")

    @property
    def options(self) -> dict[str, Any]:
        return {key: value for key in READER_OPTIONS if (value := getattr(self, key)) is not None}


@dataclass(frozen=True)
class RecordingSettings(Settings):
    """A foreign log: its files, joints and columns, the units of these, and what is known of the measurement."""

    flat: ClassVar[tuple[str, ...]] = ("reading",)
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    time: signal_columns.TimeSource | None = None
    position: signal_columns.Position | None = None
    velocity: signal_columns.Velocity | None = None
    torque: signal_columns.Torque | None = None
    current: signal_columns.Current | None = None
    wrench: signal_columns.Wrench | None = None
    temperature: signal_columns.Temperature | None = None
    command: signal_columns.Command | None = None
    base_position: base_columns.BasePosition | None = None
    base_orientation: base_columns.BaseOrientation | None = None
    base_twist: base_columns.BaseTwist | None = None
    imu: base_columns.Imu | None = None
    contacts: base_columns.ContactFlags | None = None
    contact_force: base_columns.ContactForces | None = None
    drive: DriveSettings = field(default_factory=DriveSettings)
    signs: Annotated[tuple[float, ...] | None, Vector("joints")] = None
    offset: PositionOffset | None = None
    delay: SignalDelays = field(default_factory=SignalDelays)
    windows: tuple[Window, ...] = ()
    gravity: Annotated[recording.Triple | None, GravityVector()] = None
    payload: recording.Payload | None = None
    period: Annotated[float | None, Number(above=0.0, unit="s")] = None
    settled: Annotated[float | None, Number(unit="s")] = None
    filter: Annotated[AnyAnalogFilter | None, OfSignals()] = None
    notes: Annotated[Mapping[str, str], ByName(recording.NoteText())] = field(default_factory=dict)
    sources: tuple[recording.SourceFile, ...] = ()
    repair: recording.Repairs = field(default_factory=recording.Repairs)

    def __post_init__(self) -> None:
        if any(abs(sign) != 1.0 for sign in self.signs or ()):
            raise RecordingError(f"signs is {shown(self.signs)}; allowed are 1 and -1")
        refuse_disorder(self.windows)

    def signals(self, joints: Sequence[str], required: Sequence[str], where: str) -> tuple[signal_columns.Signal, ...]:
        """required: those that the user asked for, so that the file must have them."""
        signs, found = 1.0 if self.signs is None else np.array(self.signs), []
        offset = 0.0 if self.offset is None else self.offset.si
        for name in SIGNAL_SECTIONS:
            if (part := getattr(self, name)) is not None:
                of: Sequence[str] = joints
                if name == "contacts" and (not part.frames or (part.columns is None and not part.interleaved)):
                    continue  # those that are named touch all the time
                if name == "contact_force":
                    contacts = base_columns.stated_contacts(self.contacts, part, where)
                    of = () if contacts is None else contacts.force_columns
                signal = part.of(of, f"{where}: {name}", required=name in ("position", *required))
                if name in JOINT_SECTIONS:  # others are not of the joints, or of their drives: as they are
                    moved = offset if name in ("position", "command") else 0.0
                    signal = replace(signal, matrix=self.drive.matrix(name, where), signs=signs, offset=moved)
                found.append(signal)
        if (self.drive.position is None) == (self.drive.torque is None):
            signal_columns.check_kinds(found, joints)  # else one is on the motor's side and the other on the joint's
        return tuple(found)

    def about(self, joints: Sequence[str], where: str) -> recording.About:
        """side, where torques are measured: as given, else on the motors where ``drive`` takes them through gears."""
        if self.current is not None and self.current.side == recording.LINK_SIDE:
            raise RecordingError(f"{where}: current: side is link, but currents are the motors'; leave side out")
        torque, geared = None if self.torque is None else self.torque.side, self.drive.torque is not None
        if geared and torque == recording.LINK_SIDE:
            why = f"{where}: torque: side is link, but drive: torque brings torques of motors to the joints; leave out "
            raise RecordingError(f"{why}one of the two")
        gains = None if self.current is None else self.current.gains
        each = None if gains is None else tuple(per_joint(gains, joints, "gains")[:, 0].tolist())
        same = ("period", "settled", "gravity", "payload", "filter", "sources", "notes")
        given: dict[str, Any] = {name: getattr(self, name) for name in same}
        unusable = [name for part in (self.torque, self.current) if part is not None for name in part.unusable]
        if set(joints) <= set(unusable):
            raise RecordingError(f"{where}: torque: unusable names every joint; then there is nothing to identify from")
        side = torque or (recording.MOTOR_SIDE if geared else None)
        maps = None if self.current is None else self.current.map
        try:
            given["base_twist"] = None if self.base_twist is None else self.base_twist.axes
        except RecordingError as error:
            raise RecordingError(f"{where}: {error}") from None
        given["imu"] = None if self.imu is None else self.imu.mounting
        given["contacts"] = base_columns.stated_contacts(self.contacts, self.contact_force, where)
        return recording.About(**given, gains=each, map=maps, side=side, unusable=tuple(dict.fromkeys(unusable)))


def reading_of(top: Mapping[str, Any], where: str) -> ReadingSettings:
    """The part that says how the file is opened, complete."""
    given = {key: value for key, value in top.items() if key in keys_of(ReadingSettings)}
    reading = fill(ReadingSettings, given, where, error=RecordingError)
    files = [reading.file, *(part.get("file") for key in SIGNAL_SECTIONS if isinstance(part := top.get(key), Mapping))]
    first = next((name for name in files if isinstance(name, str)), None)
    if first is None:
        raise RecordingError(f"{where}: file is missing; say which file holds the samples")
    return replace(reading, format=reading.format or READER_OF_SUFFIX.get(suffix_of(first), "csv"))


def describe(
    top: Mapping[str, Any], where: str, joints: Sequence[str], *, native: bool, folders: Sequence[Path] = ()
) -> RecordingSettings:
    """What a recording.yaml says once the joints are known, every key checked. folders: of files that it names."""
    if len(joints) > MOST_RECORDED_JOINTS:
        why = f"{where}: {len(joints)} joints are too many for a robot; allowed are {MOST_RECORDED_JOINTS}"
        raise RecordingError(why)
    given = fill(RecordingSettings, top, where, error=RecordingError, joints=joints, folders=folders)
    if given.position is None and (joints or given.base_orientation is None):
        raise RecordingError(f"{where}: position is missing; say which columns are the joints' positions")
    if given.time is None:
        raise RecordingError(f"{where}: time is missing; give {{column: …, unit: s}}, or {{rate: …}} [Hz]")
    if not native and given.sources:
        raise RecordingError(f"{where}: sources: only files of the format exciter carry it; leave it out")
    return given
