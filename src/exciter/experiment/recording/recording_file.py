"""A log on disk, by its recording.yaml, a native file, or a file of a known program: read in pieces, or whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, takewhile, zip_longest
from os.path import exists, isdir, isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording import delayed_signals, description, windows
from exciter.experiment.recording.base_sensing import TOUCHING_SHARE, Contacts
from exciter.experiment.recording.own_log_format import check_header, companion, native_npz, starts_as_native
from exciter.experiment.recording.recording import About, Recording, Repairs, SourceFile
from exciter.experiment.recording.signal_columns import JOINT_PLACEHOLDER, UNITS, Signal, find, group, joints_of
from exciter.experiment.sources.open_source import READER_OF_SUFFIX, open_source
from exciter.experiment.sources.parquet import INFO_FILE
from exciter.experiment.sources.sage import STATE_FILE
from exciter.experiment.sources.source import Source
from exciter.notes import Note, done, warning
from exciter.remote_files import address, beside, is_url, local_file, suffix_of
from exciter.robot.yaml_file import read_yaml
from exciter.settings import keys_of, known_keys
from exciter.typing import Array

LATEST_INSTANT_S = 1e30  #: times in another unit are far below, and reported where logs are judged
CHUNK_ROWS = 65_536  #: samples of a piece unless asked otherwise
COMPARED_ROWS = 16_384  #: at once, in search of a repeated block
WHOLE_LOG_BYTES_LIMIT = 1_000_000_000  #: in memory at once; joining them takes three times as much for a moment
FIELD_OF_SIGNAL = {name: name for name in description.SIGNAL_SECTIONS}
FIELD_OF_SIGNAL |= {"position": "q", "velocity": "qd", "contacts": "contact"}
TELLING_READERS = ("parquet", "sage")  #: of files that may name the joints of a group of columns
UNNAMED = "joints is missing; name the joints in the order of the columns"
DATA_VARIABLE = "EXCITER_DATA"
FoundColumns = dict[str, tuple[Source, tuple[int, ...]]]  # by signal, and of the time: their file and numbers


@dataclass(frozen=True)
class Shelf:
    """Files relative to the first of ``folders`` that has them, then to the ``url`` of what names them; a URL is read
    from its copy. file: of all signals that name none."""

    folders: tuple[Path, ...]
    reader: str
    options: Mapping[str, Any]
    file: str | None
    url: str | None = None
    opened: dict[tuple[str, int | None], Source] = field(default_factory=dict)

    def open(self, own: str | None, where: str, interleaved: int | None = None) -> Source:
        """interleaved: how many numbers, one per line, are a sample."""
        if (file := own or self.file) is None:
            raise RecordingError(f"{where}: file is missing; give one here, or one for all signals at the top")
        key = (file, interleaved)
        if key not in self.opened:
            options = self.options if interleaved is None else {**self.options, "interleaved": interleaved}
            self.opened[key] = open_source(self.path(file), format=self.reader, **options)
        return self.opened[key]

    def files(self) -> Iterator[tuple[str, Path]]:
        """Names and paths of what was opened; of one file in a folder that was named, its name there."""
        for (file, _), source in self.opened.items():
            path, own, name = self.path(file), source.read_from, address(file)
            yield (name, path) if own == path else (f"{name}/{own.relative_to(path).as_posix()}", own)

    def path(self, file: str) -> Path:
        if is_url(file):
            return local_file(file)
        for folder in self.folders:
            if exists(folder / file):
                return folder / file
        if self.url is not None:
            return local_file(beside(self.url, file))
        looked = " or ".join(f"'{folder}'" for folder in self.folders)
        why = f"there is no file '{file}' in {looked}; give the folder of the data (data, or EXCITER_DATA)"
        raise RecordingError(why)


@dataclass(frozen=True, eq=False)
class RecordingFile:
    """A log that ``open_recording`` understood; nothing but its beginning has been read. given: its recording.yaml, and
    what that says beside the samples (stated). found: the signals that its files have. files: (name, path) of all that
    it is read from. native: written by Exciter, so that every bit is kept. url: that path is the copy of."""

    path: Path
    joints: tuple[str, ...]
    given: description.RecordingSettings
    stated: About
    found: tuple[Signal, ...]
    columns: FoundColumns
    files: tuple[tuple[str, Path], ...]
    native: bool = False
    url: str | None = None

    @property
    def name(self) -> str:
        """What it is called: as it was given."""
        return address(self.url or self.path)

    @property
    def signals(self) -> tuple[str, ...]:
        """Which of q, qd, torque, current, wrench, temperature, command there are."""
        return tuple(FIELD_OF_SIGNAL[signal.name] for signal in self.found)

    @property
    def repair(self) -> Repairs:
        return self.given.repair

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is allowed, but seldom meant; and what is left out of the files."""
        found = [
            note for source in dict.fromkeys(source for source, _ in self.columns.values()) for note in source.notes
        ]
        for name, delay in self.given.delay.of(self.joints).items():
            amounts = ", ".join(f"{1e3 * one:.6g}" for one in dict.fromkeys(delay.tolist()))
            found.append(done("delay", f"{name} is taken from {amounts} ms later in the log, as its delay: says"))
        if self.given.drive.keeps_power:
            return tuple(replace(note, log=self.name) for note in found)
        text = "torque is not the transpose of drive: position, so that power differs between motors and joints; with "
        found.append(warning("drive", f"{text}Rp given, Rt = Rpᵀ unless losses are meant"))
        return tuple(replace(note, log=self.name) for note in found)

    @cached_property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files, with their SHA-256; of a folder, every file in it."""
        found = []
        try:
            for name, path in self.files:
                inside = [p for p in sorted(path.iterdir()) if isfile(p)] if isdir(path) else [path]
                for one in inside:
                    with one.open("rb") as stream:
                        digest = hashlib.file_digest(stream, "sha256").hexdigest()
                    found.append(SourceFile(f"{name}/{one.name}" if isdir(path) else name, digest))
        except OSError as error:
            raise RecordingError(f"cannot read '{error.filename}': {error.strerror}") from None
        return tuple(found)

    @cached_property
    def about(self) -> About:
        """sources: what a native file says it was made from, otherwise the files themselves."""
        return self.stated if self.stated.sources else replace(self.stated, sources=self.sources)

    def chunks(self, rows: int = CHUNK_ROWS) -> Iterator[Recording]:
        """Pieces of at most ``rows`` samples, in order; what they hold does not depend on where they are cut."""
        if rows < 1:
            raise RecordingError(f"pieces of {rows} samples were asked for; give at least 1")
        samples, kept, last = 0, 0, 0.0
        for first, time, values in self._samples(rows):
            samples, last = first + len(time), time[-1]
            keep = windows.kept(self.given.windows, first, time, self._total)
            if keep.any():
                kept += int(keep.sum())
                fields: dict[str, Any] = {FIELD_OF_SIGNAL[name]: value[keep] for name, value in values.items()}
                if not self.joints:
                    fields |= {"q": np.zeros((int(keep.sum()), 0))}
                yield Recording(self.joints, time[keep], **fields, about=self.about)
        if not samples:
            raise RecordingError(f"{self.path} has no samples")
        if not kept:
            asked = ", ".join(map(str, self.given.windows))
            why = f"{self.path}: windows keep none of its {samples} samples: they ask for {asked}, and the log "
            raise RecordingError(f"{why}ends at {last:g} s")

    @cached_property
    def _total(self) -> int | None:
        """How many rows the log has, where a window is in per cent of them; all are gone through."""
        if all(window.percent is None for window in self.given.windows):
            return None
        source, columns = next(iter(self.columns.values()))
        return sum(map(len, source.blocks(columns[:1], CHUNK_ROWS)))

    def read(self, limit: int = WHOLE_LOG_BYTES_LIMIT) -> Recording:
        """All of it; refused where its samples take more than ``limit`` bytes."""
        parts, size = [], 0
        for piece in self.chunks():
            size += sum(getattr(piece, name).nbytes for name in ("time", *piece.everything))
            if size > limit:
                why = f"{self.path} is too large to be read at once: more than {limit / 1e9:g} GB of samples; read it "
                raise RecordingError(f"{why}in pieces (chunks), or keep less of it (windows)")
            parts.append(piece)
        return replace(Recording.join(parts), name=self.name, repairs=self.repair, notes=self.notes)

    def _blocks(self, rows: int) -> Iterator[delayed_signals.Piece]:
        """Number of the first sample, times [s] and the numbers of every block."""
        source, samples, last, origin = self.given.time, 0, None, 0.0
        assert source is not None  # by ``describe``
        start, factor = source.start, UNITS["time"][source.unit].factor
        for block in self._tables(rows):
            if source.rate is not None:
                count = len(next(iter(block.values())))
                time = (start or 0.0) + np.arange(samples, samples + count) / source.rate
            else:
                column = block["time"][:, 0]
                origin = origin if samples else float(column[0])  # as the log has it
                with np.errstate(over="ignore", invalid="ignore"):  # infinite values are reported below
                    time = column * factor if start is None else (column - origin) * factor + start
            self._check_time(time, samples, time[0] if last is None else last)
            yield samples, time, block
            samples, last = samples + len(time), float(time[-1])

    def _check_time(self, time: Array, samples: int, last: float) -> None:
        """samples: how many there were before; last [s]: time of the last of them."""
        if (bad := np.flatnonzero(~np.isfinite(time))).size:
            why = f"{self.path}: the time of sample {samples + int(bad[0])} is missing or not a number; cut that "
            raise RecordingError(f"{why}sample, or name another column")
        if (far := np.flatnonzero(np.abs(time) > LATEST_INSTANT_S)).size:
            why = f"{self.path}: the time of sample {samples + int(far[0])} is {time[far[0]]:g} s; no clock goes "
            raise RecordingError(f"{why}beyond {LATEST_INSTANT_S:g} s: cut that sample, or name another column")
        before = np.concatenate([[last], time[:-1]])
        if (back := np.flatnonzero(time < before)).size:
            k = int(back[0])
            why = f"{self.path}: time runs backwards at sample {samples + k} ({before[k]:.9g} s, then {time[k]:.9g} "
            raise RecordingError(f"{why}s){self._turned_back(samples + k)}")

    def _samples(self, rows: int) -> Iterator[delayed_signals.Piece]:
        """In SI units, on the joint side, at the instants of the positions."""
        pieces, delays = map(self._joint_side, self._blocks(rows)), self.given.delay.of(self.joints)
        return delayed_signals.undelayed(pieces, delays, self.repair.longest_gap, rows) if delays else pieces

    def _joint_side(self, numbers: delayed_signals.Piece) -> delayed_signals.Piece:
        first, time, block = numbers
        values = {}
        for signal in self.found:
            with np.errstate(over="ignore", invalid="ignore"):  # infinite values are reported below
                joint_side = signal.joint_side(block[signal.name])
            if not self.native:  # whose numbers are what they are
                signal.check(joint_side, first)
            values[signal.name] = joint_side
        if "contacts" in values and self.given.contacts is not None:
            told = Contacts(self.given.contacts.frames, threshold=self.given.contacts.threshold)
            values["contacts"] = told.touching(values["contacts"])
        return first, time, values

    def _tables(self, rows: int) -> Iterator[dict[str, Array]]:
        """(≤ rows, columns) of every part, from the first row to the last; files of different lengths are refused."""
        sources = list(dict.fromkeys(source for source, _ in self.columns.values()))
        needed = [sorted({c for own, columns in self.columns.values() if own is s for c in columns}) for s in sources]
        places = {}  # of every part: its source, and where its columns are in the blocks of that
        for name, (source, columns) in self.columns.items():
            k = sources.index(source)
            places[name] = k, [needed[k].index(column) for column in columns]
        streams = [source.blocks(columns, rows) for source, columns in zip(sources, needed, strict=True)]
        lengths = [0] * len(sources)
        for blocks in zip_longest(*streams, fillvalue=np.zeros((0, 0))):
            lengths = [n + len(block) for n, block in zip(lengths, blocks, strict=True)]
            if len(set(lengths)) > 1:
                lengths = [n + sum(map(len, stream)) for n, stream in zip(lengths, streams, strict=True)]
                pairs = {source.path: n for source, n in zip(sources, lengths, strict=True)}
                unlike = ", ".join(f"{path} has {n}" for path, n in pairs.items())
                why = f"the files of one recording must have the same number of samples; {unlike}: is one of them cut "
                raise RecordingError(f"{why}short?")
            yield {name: blocks[k][:, columns] for name, (k, columns) in places.items()}

    def _rows(self, first: int) -> Iterator[bytes]:
        """All columns that are used, as the files have them, from row ``first`` on."""
        tables = (np.hstack(list(block.values())) for block in self._tables(COMPARED_ROWS))
        return islice((row.tobytes() for table in tables for row in table), first, None)

    def _turned_back(self, sample: int) -> str:
        """The end of the message on a sample whose time is before that of the one before it; reads the file again."""
        source, _ = self.columns["time"]
        word, number = source.place(sample)
        place = f", {word} {number} of {source.path.name}" if word != "sample" else ""
        try:
            earlier, count = self._repeated(sample)
        except RecordingError:  # of rows further on, which are not to be reported
            earlier, count = 0, 0
        if not count:
            return f"{place}; is it the right column, or are these several recordings in one file?"
        ends = (sample, sample + count - 1, earlier, earlier + count - 1)
        first, last, old, old_last = (source.place(row)[1] for row in ends)
        again = f"{word}s {first} … {last} repeat {word}s {old} … {old_last}"
        return f"{place}; {again}: a block was logged twice; delete one of the two"

    def _repeated(self, sample: int) -> tuple[int, int]:
        """(earlier, count): ``count`` rows from ``sample`` on are those from ``earlier`` on; 0 where fewer than two."""
        wanted = next(self._rows(sample))
        earlier = next((k for k, row in enumerate(islice(self._rows(0), sample)) if row == wanted), sample)
        pairs = zip(islice(self._rows(earlier), sample - earlier), self._rows(sample), strict=False)
        count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return (earlier, count) if count > 1 else (0, 0)


def read_recording(path: str | Path, folder: str | Path | None = None) -> Recording:
    """A whole log; see ``open_recording``."""
    return open_recording(path, folder).read()


def open_recording(path: str | Path, folder: str | Path | None = None) -> RecordingFile:
    """A log by its recording.yaml, or directly where its columns tell what they are: Exciter's own CSV and NPZ, UR
    RTDE, libfranka, ROS 2 bags; or by the URL of one of these. folder: of the files it names; then its own folder, then
    $EXCITER_DATA."""
    url = path if isinstance(path, str) and is_url(path) else None
    try:
        path = local_file(path)
        if not exists(path):
            raise RecordingError(f"there is no file '{path}'; check the path of the recording")
        if path.suffix.lower() in (".yaml", ".yml"):
            return replace(_described(path, None if folder is None else Path(folder), url), url=url)
        return replace(_direct(path), url=url)
    except ExciterError as error:  # of the readers of YAML, which are shared
        raise RecordingError(str(error)) from None


def _described(path: Path, folder: Path | None, url: str | None = None) -> RecordingFile:
    keys = keys_of(description.RecordingSettings)
    top = known_keys(read_yaml(path, "recording"), str(path), keys, error=RecordingError)
    places = (folder, path.parent, Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    return recording_as_described(path, top, tuple(place for place in places if place is not None), url=url)


def _direct(path: Path) -> RecordingFile:
    form, suffix = None, path.suffix.lower()
    options: dict[str, Any] = {}
    if isfile(path / INFO_FILE):
        form = "lerobot"
    elif isfile(path / STATE_FILE):
        form = "sage"
    elif isdir(path) or READER_OF_SUFFIX.get(suffix) == "ros2":
        form = "ros2"
    elif suffix == ".npz":
        form = "exciter"
    else:
        options = {"delimiter": ","} if starts_as_native(path) else {}
        source = open_source(path, format=READER_OF_SUFFIX.get(suffix, "csv"), **options)
        form = description.recognised(source)
        if form is None:
            listed = ", ".join(source.names[:8]) + (", …" if len(source.names) > 8 else "")
            why = f"{path} has the columns {listed}, which tell neither joints nor units; describe them in a "
            raise RecordingError(f"{why}recording.yaml and give that instead (docs/recordings.md)")
    if form == "exciter" and (beside := companion(path)) is not None:
        return replace(_described(beside, path.parent), path=path)  # messages name what was given
    return recording_as_described(path, {"file": path.name, "format": form, **options}, (path.parent,))


def recording_as_described(
    path: Path,
    user: Mapping[str, Any],
    folders: tuple[Path, ...],
    live: Source | None = None,
    url: str | None = None,
) -> RecordingFile:
    """live: what is read in place of the file that is named. url: of what names it."""
    where = str(path)
    reading = description.reading_of(user, where)
    native = reading.format == "exciter"
    known = description.preset(reading.format)
    reader = str(known["reader"])
    if reader == "npz" and reading.file is not None:  # the same arrays, as PyTorch keeps them
        reader = {"pt": "pt"}.get(READER_OF_SUFFIX.get(suffix_of(reading.file), ""), reader)
    if native and reading.file is not None and suffix_of(reading.file) == ".npz":
        known, reader = native_npz(Shelf(folders, "npz", {}, None, url).path(reading.file)), "npz"
    for key, words in known.get("asks", {}).items():
        if not isinstance(said := user.get(key), Mapping) or said.keys().isdisjoint(("unit", "rate")):
            raise RecordingError(f"{where}: {words}")
    top = description.completed(user, known)
    shelf = Shelf(folders, reader, reading.options, reading.file, url)
    if live is not None:
        shelf.opened[str(reading.file), None] = live
    joints = description.reading_of(top, where).joints or _joints_of_columns(top, shelf, where)
    said = {name: user[name] for name in description.SIGNAL_SECTIONS if user.get(name) is not None}
    required = tuple(
        name for name, one in said.items() if not native or (isinstance(one, Mapping) and "columns" in one)
    )
    if native:
        top = _with_own_contacts(top, shelf, reader)
    given = description.describe(top, where, joints, native=native, folders=folders)
    signals, stated = given.signals(joints, required, where), given.about(joints, where)
    parts = _columns(given, signals, shelf, where)
    absent: dict[str, Any] = {name: None for name in ("base_twist", "imu") if name not in parts}
    if stated.contacts is not None:  # what is read is 0 and 1
        absent["contacts"] = replace(stated.contacts, threshold=TOUCHING_SHARE)
    stated = replace(stated, **absent)
    if native and reader == "csv":
        check_header(next(iter(parts.values()))[0])
    files = tuple(dict(shelf.files()).items()) if live is None else ()
    found = tuple(signal for signal in signals if signal.name in parts)
    for name in given.delay.of(joints):
        if name not in parts:
            raise RecordingError(f"{where}: delay: {name} is given, but the log has no {name}; leave it out")
    return RecordingFile(path, joints, given, stated, found, parts, files, native)


def _with_own_contacts(top: dict[str, Any], shelf: Shelf, reader: str) -> dict[str, Any]:
    """Of a native file: the frames that its columns speak of, where nothing else names them."""
    contacts = top.get("contacts")
    if not isinstance(contacts, Mapping) or contacts.get("frames"):
        return top
    pattern = str(contacts.get("columns"))
    found = joints_of(shelf.open(None, "contacts"), pattern) if reader == "csv" else ()
    if not found:
        return {**top, "contacts": None, "contact_force": None}
    return {**top, "contacts": {**contacts, "frames": list(found)}}


def _joints_of_columns(top: Mapping[str, Any], shelf: Shelf, where: str) -> tuple[str, ...]:
    """By ``{joint}.q`` and the like, of the positions."""
    position = top.get("position")
    if position is None and top.get("base_orientation") is not None:
        return ()  # a body that flies, and nothing on it moves
    pattern = position.get("columns") if isinstance(position, Mapping) else None
    if not isinstance(position, Mapping) or not isinstance(pattern, str):
        raise RecordingError(f"{where}: {UNNAMED}")
    file = position.get("file")
    if JOINT_PLACEHOLDER not in pattern:
        named = shelf.reader in TELLING_READERS
        told = shelf.open(file if isinstance(file, str) else None, where).told_joints(pattern) if named else ()
        if not told:
            raise RecordingError(f"{where}: {UNNAMED}")
        return told
    source = shelf.open(file if isinstance(file, str) else None, where)
    joints = joints_of(source, pattern)
    if not joints:
        raise RecordingError(f"{source.path} has no columns '{pattern}'; its columns are {', '.join(source.names[:8])}")
    return joints


def _columns(given: description.RecordingSettings, signals: Sequence[Signal], shelf: Shelf, where: str) -> FoundColumns:
    time, parts = given.time, FoundColumns()
    if time is not None and time.column is not None:
        source = shelf.open(time.file, f"{where}: time")
        columns = source.find(time.column)
        if len(columns) != 1:
            raise RecordingError(f"{where}: time: '{time.column}' is {len(columns)} columns; time is one")
        parts["time"] = source, columns
    for signal in signals:
        part, names = signal.given, signal.names
        source = shelf.open(part.file, signal.where, len(names) if part.interleaved else None)
        if signal.required or (isinstance(part.columns, str) and group(source, part.columns, names)):
            parts[signal.name] = source, find(source, part.columns, names, f"{signal.where}: columns")
    return parts
