"""recording.yaml: a foreign log as data. ``docs/recordings.md`` shows every key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError, RecordingError, shown
from exciter.excitation.config.section import Section, number, per_joint
from exciter.experiment.recording.about import (
    LINK,
    MOTOR,
    SIDES,
    About,
    AnalogFilter,
    Payload,
    SourceFile,
)
from exciter.experiment.recording.columns import JOINT
from exciter.experiment.recording.drive import Drive, drive_from
from exciter.experiment.recording.formats import FORMATS, preset
from exciter.experiment.recording.signal import Signal, TimeSource, check_kinds, signal_from, text, time_from
from exciter.robot.yaml_file import read_yaml

SIGNALS = ("position", "velocity", "torque", "current", "wrench", "temperature")
READING = ("delimiter", "header", "comment", "skip", "decimal", "missing", "topic", "transposed")
ABOUT = ("gravity", "payload", "period", "settled", "filter", "notes", "sources")
KEYS = ("file", "format", *READING, "joints", "time", *SIGNALS, "drive", "signs", "offset", "windows", *ABOUT, "repair")
MOST_SKIPPED = 1_000_000
SUFFIXES = {".npz": "npz", ".npy": "npy", ".mat": "mat", ".mcap": "ros2", ".db3": "ros2"}
MOST_JOINTS = 200  # a robot has some dozens; matrices of drives grow with their square
Window = tuple[float, float]


@dataclass(frozen=True)
class Reading:
    """How a file is opened: its kind, and what ``open_source`` is told of it."""

    format: str
    file: str | None
    options: Mapping[str, Any]

    @property
    def reader(self) -> str:
        return str(preset(self.format)["reader"])


@dataclass(frozen=True, eq=False)
class Description:
    """What a recording.yaml says once the joints are known. repair: plain data, for those who repair."""

    where: str
    joints: tuple[str, ...]
    time: TimeSource
    signals: tuple[Signal, ...]
    drive: Drive
    windows: tuple[Window, ...]
    about: About
    repair: Mapping[str, Any]


def read_top(path: Path) -> Section:
    """The whole file; unknown keys are refused."""
    try:
        return Section.of(read_yaml(path, "recording"), str(path), KEYS)
    except ExciterError as error:
        raise RecordingError(str(error)) from None


def reading_of(top: Section) -> Reading:
    """File and format; the format follows from the suffix unless it is given."""
    file = text(top, "file")
    files = [file, *(part.get("file") for key in SIGNALS if isinstance(part := top.get(key), Mapping))]
    first = next((name for name in files if isinstance(name, str)), None)
    if first is None:
        raise RecordingError(f"{top.where}: file is missing; say which file holds the samples")
    guessed = SUFFIXES.get(Path(first).suffix.lower(), "csv")
    form = top.word("format", FORMATS, guessed)
    words = ("delimiter", "comment", "decimal", "topic")
    options: dict[str, Any] = {key: text(top, key) for key in words if key in top}
    options |= {key: top.flag(key, True) for key in ("header", "transposed") if key in top}
    if "missing" in top:
        options["missing"] = _words(top, "missing")
    if "skip" in top:
        options["skip"] = top.whole("skip", 0, least=0, most=MOST_SKIPPED)
    return Reading(form, file, options)


def _words(top: Section, key: str) -> list[str]:
    """One text, or a list of them; YAML reads some words (no, off, null, 1) as something else."""
    given = top.get(key)
    words = given if isinstance(given, list) else [given]
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise RecordingError(f"{top.at(key)} is {shown(given)}; give words that stand for no value, each in quotes")
    return words


def given_joints(top: Section) -> tuple[str, ...] | None:
    """None where the columns tell them."""
    if "joints" not in top:
        if pattern_of(top) is None:
            raise RecordingError(f"{top.at('joints')} is missing; name the joints in the order of the columns")
        return None
    names = top.get("joints")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise RecordingError(f"{top.at('joints')} is {shown(names)}; give the names of the joints, a list of texts")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordingError(f"{top.at('joints')} has '{twice}' twice; every joint needs a name of its own")
    return tuple(names)


def pattern_of(top: Section) -> str | None:
    """``{joint}.q`` and the like, of the positions."""
    position = top.get("position")
    columns = position.get("columns") if isinstance(position, Mapping) else None
    return columns if isinstance(columns, str) and JOINT in columns else None


def describe(top: Section, joints: Sequence[str], required: Sequence[str], *, native: bool = False) -> Description:
    """Every key checked. ``required``: signals that the user asked for, so that the file must have them."""
    if len(joints) > MOST_JOINTS:
        raise RecordingError(f"{top.where}: {len(joints)} joints are too many for a robot; allowed are {MOST_JOINTS}")
    if "position" not in top:
        raise RecordingError(f"{top.at('position')} is missing; say which columns are the joints' positions")
    if "time" not in top:
        raise RecordingError(f"{top.at('time')} is missing; give {{column: …, unit: s}}, or {{rate: …}} [Hz]")
    signals = tuple(
        signal_from(top, name, joints, required=name in ("position", *required)) for name in SIGNALS if name in top
    )
    given = top.section("drive", ("position", "torque"))
    if ("position" in given) == ("torque" in given):  # else one is on the motor's side and the other on the joint's
        check_kinds(signals, joints)
    if not native and "sources" in top:
        raise RecordingError(f"{top.at('sources')}: only files of the format exciter carry it; leave it out")
    return Description(
        where=top.where,
        joints=tuple(joints),
        time=time_from(top),
        signals=signals,
        drive=drive_from(top, joints),
        windows=_windows(top),
        about=_about(top, joints),
        repair=_mapping(top, "repair"),
    )


def _about(top: Section, joints: Sequence[str]) -> About:
    current = top.get("current")
    gains = current.get("gains") if isinstance(current, Mapping) else None
    where = top.at("current: gains")
    notes = {str(key): _note(value, top.at("notes")) for key, value in _mapping(top, "notes").items()}
    return About(
        period=top.number("period", 0.0, above=0.0) or None,
        settled=top.number("settled", 0.0) if "settled" in top else None,
        gravity=_triple(top, "gravity") if "gravity" in top else None,
        payload=_payload(top) if "payload" in top else None,
        filter=_filter(top) if "filter" in top else None,
        gains=None if gains is None else tuple(per_joint(gains, where, joints).tolist()),
        sources=tuple(_source(entry, top.at("sources")) for entry in top.entries("sources")),
        notes=notes,
        side=_side(top),
    )


def _side(top: Section) -> str | None:
    """Where torques are measured: as given, else on the motors where ``drive`` takes them through the gears."""
    torque, current = (_given_side(top, name) for name in ("torque", "current"))
    if current == LINK:
        raise RecordingError(f"{top.at('current')}: side is link, but currents are the motors'; leave side out")
    geared = "torque" in top.section("drive", ("position", "torque"))
    if geared and torque == LINK:
        raise RecordingError(
            f"{top.at('torque')}: side is link, but drive: torque brings torques of motors to the joints; leave out "
            "one of the two"
        )
    return torque or (MOTOR if geared else None)


def _given_side(top: Section, name: str) -> str | None:
    part = top.get(name)
    given = Section(part, top.at(name)) if isinstance(part, Mapping) else None
    return None if given is None or given.get("side") is None else given.word("side", SIDES, MOTOR)


def _payload(top: Section) -> Payload:
    section = top.section("payload", ("frame", "mass", "centre", "inertia"))
    frame = text(section, "frame")
    if frame is None or "mass" not in section:
        raise RecordingError(f"{section.where} is {shown(top.get('payload'))}; give at least a frame and a mass [kg]")
    centre = _triple(section, "centre") if "centre" in section else Payload.centre
    inertia = tuple(section.vector("inertia", 6, default=Payload.inertia).tolist())
    return Payload(frame, section.number("mass", 0.0, least=0.0), centre, inertia)


def _filter(top: Section) -> AnalogFilter:
    section = top.section("filter", ("order", "cutoff"))
    cutoff = section.number("cutoff", AnalogFilter.cutoff, above=0.0)
    try:
        return AnalogFilter(section.whole("order", AnalogFilter.order, least=1, most=None), cutoff)
    except RecordingError as error:
        raise RecordingError(f"{section.where}: {error}") from None


def _triple(section: Section, key: str) -> tuple[float, float, float]:
    x, y, z = section.vector(key, 3).tolist()
    return x, y, z


def _windows(top: Section) -> tuple[Window, ...]:
    windows: list[Window] = []
    for entry in top.entries("windows"):
        where = f"{top.at('windows')} has {shown(entry)}"
        if not isinstance(entry, list) or len(entry) != 2:
            raise RecordingError(f"{where}; give pairs [start, end] of seconds")
        start, end = (number(value, top.at("windows"), most=float("inf")) for value in entry)
        if not start < end or (windows and start < windows[-1][1]):
            raise RecordingError(f"{where}; windows [start, end] must be in order and apart from each other")
        windows.append((start, end))
    return tuple(windows)


def _mapping(top: Section, key: str) -> Mapping[str, Any]:
    given = top.get(key)
    if given is not None and not isinstance(given, Mapping):
        raise RecordingError(f"{top.at(key)} is {shown(given)}; give a mapping of keys and values")
    return given or {}


def _note(value: Any, where: str) -> str:
    if isinstance(value, list | Mapping):
        raise RecordingError(f"{where} has {shown(value)}; a note is a text")
    return str(value)


def _source(entry: Any, where: str) -> SourceFile:
    try:
        source = SourceFile(**entry)
        if not (isinstance(source.name, str) and isinstance(source.sha256, str)):
            raise TypeError
        return source
    except TypeError:
        raise RecordingError(f"{where} has {shown(entry)}; give the name and sha256 of a file") from None
