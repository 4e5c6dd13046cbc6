"""A log on disk, by its recording.yaml, a native file, or a file of a known program: read in pieces, or whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os.path import exists, isdir  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording.description import (
    SIGNAL_SECTIONS,
    Description,
    ReadingSettings,
    completed,
    describe,
    pattern_of,
    preset,
    read_top,
    reading_of,
    recognised,
)
from exciter.experiment.recording.own_log_format import check_header, companion, native_npz, starts_as_native
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_facts import About, Repairs, SourceFile
from exciter.experiment.recording.several_files import Lockstep, Shelf, SignalColumns, explained, fingerprints
from exciter.experiment.recording.signal_columns import UNITS, TimeSource, find, group, joints_of
from exciter.experiment.sources.open_source import READER_OF_SUFFIX, open_source
from exciter.notes import Note, warning
from exciter.typing import Array

LATEST_INSTANT_S = 1e30  #: times in another unit are far below, and reported where logs are judged
CHUNK_ROWS = 65_536  #: samples of a piece unless asked otherwise
WHOLE_LOG_BYTES_LIMIT = 1_000_000_000  #: in memory at once; joining them takes three times as much for a moment
FIELD_OF_SIGNAL = {name: name for name in SIGNAL_SECTIONS} | {"position": "q", "velocity": "qd"}
DATA_VARIABLE = "EXCITER_DATA"


class Clock:
    """Remembers how many samples there were and the last instant, from one piece of a log to the next.

    explain: what there is to say of a sample whose time is before that of the one before it.
    """

    def __init__(self, source: TimeSource, where: str, explain: Callable[[int], str]) -> None:
        self.source, self.where, self.explain = source, where, explain
        self.samples = 0
        self.first: float | None = None  # as the log has it
        self.last: float | None = None  # [s]

    def instants(self, column: Array | None, count: int) -> Array:
        """(count,) [s] of the next samples; ``column`` (count,) as the log has it, None with a rate."""
        if column is None:
            assert self.source.rate is not None
            time = (self.source.start or 0.0) + np.arange(self.samples, self.samples + count) / self.source.rate
        else:
            time = self._read(column)
        if time.size:
            self._check(time)
            self.last = float(time[-1])
        self.samples += count
        return time

    def _read(self, column: Array) -> Array:
        factor = UNITS["time"][self.source.unit].factor
        if self.source.start is None or not column.size:
            return column * factor
        if self.first is None:
            self.first = float(column[0])
        return (column - self.first) * factor + self.source.start

    def _check(self, time: Array) -> None:
        if (bad := np.flatnonzero(~np.isfinite(time))).size:
            raise RecordingError(
                f"{self.where}: the time of sample {self.samples + int(bad[0])} is missing or not a number; "
                "cut that sample, or name another column"
            )
        if (far := np.flatnonzero(np.abs(time) > LATEST_INSTANT_S)).size:
            raise RecordingError(
                f"{self.where}: the time of sample {self.samples + int(far[0])} is {time[far[0]]:g} s; no clock goes "
                f"beyond {LATEST_INSTANT_S:g} s: cut that sample, or name another column"
            )
        before = time[0] if self.last is None else self.last
        steps = np.diff(time, prepend=before)
        if (back := np.flatnonzero(steps < 0.0)).size:
            k = int(back[0])
            earlier = before if k == 0 else time[k - 1]
            raise RecordingError(
                f"{self.where}: time runs backwards at sample {self.samples + k} ({earlier:.9g} s, then {time[k]:.9g} "
                f"s){self.explain(self.samples + k)}"
            )


@dataclass(frozen=True, eq=False)
class RecordingFile:
    """A log that ``open_recording`` understood; nothing but its beginning has been read.

    files: (name, path) of all that it is read from. native: written by Exciter, so that every bit is kept.
    """

    path: Path
    description: Description
    columns: Lockstep
    files: tuple[tuple[str, Path], ...]
    native: bool = False

    @property
    def joints(self) -> tuple[str, ...]:
        return self.description.joints

    @property
    def signals(self) -> tuple[str, ...]:
        """Which of q, qd, torque, current, wrench, temperature there are."""
        return tuple(FIELD_OF_SIGNAL[part.name] for part in self.columns.parts if part.name in FIELD_OF_SIGNAL)

    @property
    def repair(self) -> Repairs:
        """What the recording.yaml lets be repaired."""
        return self.description.repair

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is allowed, but seldom meant."""
        if self.description.drive.keeps_power:
            return ()
        text = (
            "torque is not the transpose of drive: position, so that power differs between motors and joints; "
            "with Rp given, Rt = Rpᵀ unless losses are meant"
        )
        return (warning("drive", text, None, str(self.path)),)

    @cached_property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files, with their SHA-256."""
        return fingerprints(self.files)

    @cached_property
    def about(self) -> About:
        """sources: what a native file says it was made from, otherwise the files themselves."""
        about = self.description.about
        return about if about.sources else replace(about, sources=self.sources)

    def chunks(self, rows: int = CHUNK_ROWS) -> Iterator[Recording]:
        """Pieces of at most ``rows`` samples, in order; what they hold does not depend on where they are cut."""
        if rows < 1:
            raise RecordingError(f"pieces of {rows} samples were asked for; give at least 1")
        clock, kept = Clock(self.description.time, str(self.path), partial(explained, self.columns)), 0
        for block in self.columns.blocks(rows):
            with np.errstate(over="ignore", invalid="ignore"):  # infinite values are reported below
                piece = self._piece(block, clock)
            if piece is not None:
                kept += len(piece)
                yield piece
        if not clock.samples:
            raise RecordingError(f"{self.path} has no samples")
        if not kept:
            windows = ", ".join(f"{start:g} … {end:g}" for start, end in self.description.windows)
            raise RecordingError(
                f"{self.path}: windows keep none of its {clock.samples} samples: they ask for {windows} s, and the log "
                f"ends at {clock.last:g} s"
            )

    def read(self, limit: int = WHOLE_LOG_BYTES_LIMIT) -> Recording:
        """All of it; refused where its samples take more than ``limit`` bytes."""
        parts, size = [], 0
        for piece in self.chunks():
            size += sum(getattr(piece, name).nbytes for name in ("time", *piece.everything))
            if size > limit:
                raise RecordingError(
                    f"{self.path} is too large to be read at once: more than {limit / 1e9:g} GB of samples; "
                    "read it in pieces (chunks), or keep less of it (windows)"
                )
            parts.append(piece)
        return replace(Recording.join(parts), name=str(self.path), repairs=self.repair, notes=self.notes)

    def _piece(self, block: Mapping[str, Array], clock: Clock) -> Recording | None:
        """The next samples in SI units, on the joint side; None where no window keeps any."""
        first = clock.samples
        column = block["time"][:, 0] if "time" in block else None
        time = clock.instants(column, len(next(iter(block.values()))))
        keep = self._kept(time)
        if not keep.any():
            return None
        values = {}
        for signal in self.description.signals:
            if signal.name in block:
                joint_side = getattr(self.description.drive, signal.name)(signal.si(block[signal.name]))
                if not self.native:  # whose numbers are what they are
                    signal.check(joint_side, signal.of(self.joints), first)
                values[FIELD_OF_SIGNAL[signal.name]] = joint_side[keep]
        return Recording(self.joints, time[keep], **values, about=self.about)

    def _kept(self, time: Array) -> NDArray[np.bool_]:
        windows = self.description.windows
        keep = np.full(len(time), not windows)
        for start, end in windows:
            keep |= (time >= start) & (time <= end)
        return keep


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
    places = (folder, path.parent, Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    return _opened(path, top, tuple(place for place in places if place is not None))


def _direct(path: Path) -> RecordingFile:
    form, suffix = None, path.suffix.lower()
    options: dict[str, Any] = {}
    if isdir(path) or READER_OF_SUFFIX.get(suffix) == "ros2":
        form = "ros2"
    elif suffix == ".npz":
        form = "exciter"
    else:
        options = {"delimiter": ","} if starts_as_native(path) else {}
        source = open_source(path, format=READER_OF_SUFFIX.get(suffix, "csv"), **options)
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
    joints = reading_of(top, where).joints or _joints_of_columns(top, reading, shelf, where)
    required = () if native else tuple(name for name in SIGNAL_SECTIONS if user.get(name) is not None)
    description = describe(top, where, joints, required, native=native)
    columns = _columns(description, reading, shelf)
    if native and reader == "csv":
        check_header(columns.sources[0])
    named = {file: shelf.path(file) for file, _ in shelf.opened}
    files = tuple(named.items())
    return RecordingFile(path=path, description=description, columns=columns, files=files, native=native)


def _joints_of_columns(top: Mapping[str, Any], reading: ReadingSettings, shelf: Shelf, where: str) -> tuple[str, ...]:
    pattern = pattern_of(top)
    if pattern is None:
        raise RecordingError(f"{where}: joints is missing; name the joints in the order of the columns")
    file = top["position"].get("file")
    source = shelf.open(_file(file if isinstance(file, str) else None, reading, where))
    joints = joints_of(source, pattern)
    if not joints:
        raise RecordingError(f"{source.path} has no columns '{pattern}'; its columns are {', '.join(source.names[:8])}")
    return joints


def _columns(description: Description, reading: ReadingSettings, shelf: Shelf) -> Lockstep:
    """Every signal's columns, found in its file."""
    joints, parts = description.joints, []
    if description.time.column is not None:
        where = f"{description.where}: time"
        source = shelf.open(_file(description.time.file, reading, where))
        columns = source.find(description.time.column)
        if len(columns) != 1:
            raise RecordingError(f"{where}: '{description.time.column}' is {len(columns)} columns; time is one")
        parts.append(SignalColumns("time", source, columns))
    for signal in description.signals:
        file = _file(signal.file, reading, signal.where)
        of = signal.of(joints)
        source = shelf.open(file, len(of) if signal.interleaved else None)
        if signal.required or (isinstance(signal.columns, str) and group(source, signal.columns, of)):
            parts.append(
                SignalColumns(signal.name, source, find(source, signal.columns, of, f"{signal.where}: columns"))
            )
    return Lockstep(tuple(parts))


def _file(own: str | None, reading: ReadingSettings, where: str) -> str:
    name = own or reading.file
    if name is None:
        raise RecordingError(f"{where}: file is missing; give one here, or one for all signals at the top")
    return name
