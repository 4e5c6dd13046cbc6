"""Opening a log: a recording.yaml, a native file, or a file of a known program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from os.path import exists, isdir  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording.description import (
    SIGNALS,
    SUFFIXES,
    Description,
    Reading,
    describe,
    pattern_of,
    read_top,
    reading_of,
)
from exciter.experiment.recording.formats import completed, preset, recognised
from exciter.experiment.recording.lockstep import Lockstep, Part, Shelf
from exciter.experiment.recording.native_files import check_header, companion, native_npz, starts_as_native
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_file import RecordingFile
from exciter.experiment.recording.signal import find, group, joints_of
from exciter.experiment.sources.open import open_source

DATA = "EXCITER_DATA"


def read_recording(path: str | Path, folder: str | Path | None = None) -> Recording:
    """A whole log; see ``open_recording``."""
    return open_recording(path, folder).read()


def open_recording(path: str | Path, folder: str | Path | None = None) -> RecordingFile:
    """A log by its recording.yaml, or directly where its columns tell what they are: Exciter's own CSV and NPZ, UR
    RTDE, libfranka, ROS 2 bags.

    folder: where the files that a recording.yaml names are; then its own folder, then $EXCITER_DATA.
    """
    path = Path(path)
    try:
        if not exists(path):
            raise RecordingError(f"there is no file '{path}'; check the path of the recording")
        if path.suffix.lower() in (".yaml", ".yml"):
            return _described(path, None if folder is None else Path(folder))
        return _direct(path)
    except RecordingError:
        raise
    except ExciterError as error:  # of the readers of YAML, which are shared
        raise RecordingError(str(error)) from None


def _described(path: Path, folder: Path | None) -> RecordingFile:
    top = read_top(path)
    places = (folder, path.parent, Path(os.environ[DATA]) if os.environ.get(DATA) else None)
    return _opened(path, top, tuple(place for place in places if place is not None))


def _direct(path: Path) -> RecordingFile:
    form, suffix = None, path.suffix.lower()
    options: dict[str, Any] = {}
    if isdir(path) or SUFFIXES.get(suffix) == "ros2":
        form = "ros2"
    elif suffix == ".npz":
        form = "exciter"
    else:
        options = {"delimiter": ","} if starts_as_native(path) else {}
        source = open_source(path, format=SUFFIXES.get(suffix, "csv"), **options)
        form = recognised(source)
        if form is None:
            listed = ", ".join(source.names[:8]) + (", …" if len(source.names) > 8 else "")
            raise RecordingError(
                f"{path} has the columns {listed}, which tell neither joints nor units; describe them in a "
                "recording.yaml and give that instead (docs/recordings.md)"
            )
    if form == "exciter" and (beside := companion(path)) is not None:
        return replace(_described(beside, path.parent), path=path)  # messages name what was given
    return _opened(path, {"file": path.name, "format": form, **options}, (path.parent,))


def _opened(path: Path, user: Mapping[str, Any], folders: tuple[Path, ...]) -> RecordingFile:
    where = str(path)
    reading = reading_of(user, where)
    native = reading.format == "exciter"
    known, reader = preset(reading.format), reading.reader
    if native and reading.file is not None and Path(reading.file).suffix.lower() == ".npz":
        known, reader = native_npz(Shelf(folders, "npz", {}).path(reading.file)), "npz"
    top = completed(user, known)
    shelf = Shelf(folders, reader, reading.options)
    joints = reading_of(top, where).joints or _told_joints(top, reading, shelf, where)
    required = () if native else tuple(name for name in SIGNALS if user.get(name) is not None)
    description = describe(top, where, joints, required, native=native)
    columns = _columns(description, reading, shelf)
    if native and reader == "csv":
        check_header(columns.sources[0])
    named = {file: shelf.path(file) for file, _ in shelf.opened}
    return RecordingFile(path, description, columns, tuple(named.items()), native)


def _told_joints(top: Mapping[str, Any], reading: Reading, shelf: Shelf, where: str) -> tuple[str, ...]:
    pattern = pattern_of(top)
    if pattern is None:
        raise RecordingError(f"{where}: joints is missing; name the joints in the order of the columns")
    file = top["position"].get("file")
    source = shelf.open(_file(file if isinstance(file, str) else None, reading, where))
    joints = joints_of(source, pattern)
    if not joints:
        raise RecordingError(f"{source.path} has no columns '{pattern}'; its columns are {', '.join(source.names[:8])}")
    return joints


def _columns(description: Description, reading: Reading, shelf: Shelf) -> Lockstep:
    """Every signal's columns, found in its file."""
    joints, parts = description.joints, []
    if description.time.column is not None:
        where = f"{description.where}: time"
        source = shelf.open(_file(description.time.file, reading, where))
        columns = source.find(description.time.column)
        if len(columns) != 1:
            raise RecordingError(f"{where}: '{description.time.column}' is {len(columns)} columns; time is one")
        parts.append(Part("time", source, columns))
    for signal in description.signals:
        file = _file(signal.file, reading, signal.where)
        of = signal.of(joints)
        source = shelf.open(file, len(of) if signal.interleaved else None)
        if signal.required or (isinstance(signal.columns, str) and group(source, signal.columns, of)):
            parts.append(Part(signal.name, source, find(source, signal.columns, of, f"{signal.where}: columns")))
    return Lockstep(tuple(parts))


def _file(own: str | None, reading: Reading, where: str) -> str:
    name = own or reading.file
    if name is None:
        raise RecordingError(f"{where}: file is missing; give one here, or one for all signals at the top")
    return name
