"""Exciter's own logs: what their columns are called, what is said beside the samples, and how they are written.

CSV: ``time``, then ``<joint>.q``, ``<joint>.qd``, ``<joint>.tau``, ``<joint>.current``, then ``base.fx`` … ``base.mz``
of a force plate, then ``<joint>.temperature``, ``<joint>.command``; of a free base ``base.px`` … ``base.wz``,
``imu.gx`` … ``imu.az``, ``<frame>.contact``, ``<frame>.fx`` …; what a table cannot say stands in ``<stem>.yaml`` beside
it. NPZ: time, q, qd, torque, current, wrench, temperature, command, base_position …, joints, about (JSON). 17 digits,
or the very bits; all files or none."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import IO, Any

import numpy as np
import yaml
from numpy.lib import format as npy

from exciter.errors import ExciterError, RecordingError, RobotError, unseen, visible
from exciter.experiment.recording.base_sensing import BASE_CHANNELS, FORCE_COLUMNS, MOMENT_COLUMNS
from exciter.experiment.recording.description import NATIVE_NPZ, preset
from exciter.experiment.recording.recording import BESIDE_SIGNALS, WRENCH_COLUMNS, About, Recording
from exciter.experiment.sources.npz import BROKEN_ARRAY_ERRORS, array_header
from exciter.experiment.sources.open_source import open_source
from exciter.experiment.sources.source import Source
from exciter.files import csv_line, prepare, staged
from exciter.robot.yaml_file import parse_json, read_yaml
from exciter.settings import fill, written

COLUMN_ENDINGS = {"q": "q", "qd": "qd", "torque": "tau", "current": "current", "temperature": "temperature"}
COLUMN_ENDINGS |= {"command": "command"}
CONTACT_ENDING = "contact"
WRITTEN_BASE_CHANNELS = (*BASE_CHANNELS, "contact", "contact_force")
IGNORED_ENDINGS = ("qdd",)  # a column of trajectories, and of exact motions: no measurement
NPZ_TEXT_BYTES_LIMIT = 1_000_000  #: of joints and about
BROKEN_TEXT_ERRORS = (*BROKEN_ARRAY_ERRORS, TypeError, SyntaxError, OverflowError, RuntimeError, RecordingError)
WRITTEN_ROWS = 10_000  #: as text at once


def starts_as_native(path: Path) -> bool:
    """Whether a text file starts with the word time and a comma, as Exciter writes it."""
    if not isfile(path):  # opening a pipe would wait for ever
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(8).removeprefix(b"\xef\xbb\xbf").startswith(b"time,")
    except OSError as error:
        raise RecordingError(f"cannot read '{path}': {error.strerror}") from None


def check_header(source: Source) -> None:
    """Columns that nobody would look at are a mistake."""
    beside = ("time", *(f"base.{part}" for part in WRENCH_COLUMNS), *_free_base_columns())
    endings = (*COLUMN_ENDINGS.values(), *IGNORED_ENDINGS, CONTACT_ENDING, *FORCE_COLUMNS, *MOMENT_COLUMNS)
    for name in source.names:
        if name not in beside and name.rpartition(".")[2] not in endings:
            why = f"{source.path} has a column '{name}'; allowed are time and <joint>.q, <joint>.qd, <joint>.tau, "
            why += "<joint>.current, <joint>.temperature, <joint>.command, base.fx … base.mz, of a free base base.px … "
            why += "base.wz, imu.gx … imu.az, <frame>.contact, <frame>.fx … <frame>.mz; a recording.yaml can describe "
            raise RecordingError(f"{why}any other columns")


def _free_base_columns() -> Iterator[str]:
    for channel, (columns, _) in BASE_CHANNELS.items():
        yield from (f"{'imu' if channel == 'imu' else 'base'}.{name}" for name in columns)


def companion(path: Path) -> Path | None:
    """The recording.yaml beside a native CSV, where there is one that speaks of it."""
    beside = path.with_suffix(".yaml")
    if path.suffix.lower() == ".npz" or not isfile(beside):
        return None
    data = read_yaml(beside, "recording")
    belongs = isinstance(data, Mapping) and data.get("format") == "exciter" and data.get("file") == path.name
    return beside if belongs else None


def said(about: About) -> dict[str, Any]:
    """What is known of a recording, under the keys of recording.yaml; lists and numbers as YAML has them."""
    data: dict[str, Any] = written(about)
    parts: dict[str, dict[str, Any]] = {}
    for key, name in (("current", "gains"), ("current", "map"), ("torque", "side"), ("torque", "unusable")):
        if name in data:
            parts.setdefault(key, {})[name] = data.pop(name)
    contacts: dict[str, Any] = data.get("contacts") or {}
    forces: dict[str, Any] = {name: contacts.pop(name) for name in ("axes", "moments") if name in contacts}
    if forces:
        parts["contact_force"] = forces
    return parts | data


def native_npz(path: Path) -> dict[str, Any]:
    """The description of a native NPZ, as a format: its joints, and what it says beside the samples."""
    names = open_source(path, format="npz").names  # refuses damaged and enormous archives
    joints = _member(path, "joints") if "time" in names else None
    if joints is None:
        why = f"{path} has {', '.join(names[:6])}, not the keys time, q and joints of Exciter's own files; describe it "
        raise RecordingError(f"{why}in a recording.yaml and give that instead (docs/recordings.md)")
    if joints.ndim != 1:
        raise RecordingError(f"{path}: joints has the shape {joints.shape}; it must be a list of names")
    known = dict(preset(NATIVE_NPZ))
    try:
        told = _member(path, "about")
        about = parse_json("{}" if told is None else str(told[()]), "about")
    except (ValueError, RobotError) as error:
        raise RecordingError(f"{path}: about cannot be read as JSON: {error}") from None
    extra = said(fill(About, about, f"{path}: about", error=RecordingError))
    for name in ("torque", "current", "base_twist", "imu", "contacts", "contact_force"):
        known[name] = {**known[name], **extra.pop(name, {})}
    return {**known, **extra, "joints": [str(name) for name in joints]}


def _member(path: Path, key: str) -> np.ndarray[Any, Any] | None:
    """A small array of text, where there is one; never pickled, and no larger than its bytes."""
    try:
        with zipfile.ZipFile(path) as archive:
            if f"{key}.npy" not in archive.namelist():
                return None
            if archive.getinfo(f"{key}.npy").file_size > NPZ_TEXT_BYTES_LIMIT:
                raise ValueError(f"it is larger than {NPZ_TEXT_BYTES_LIMIT / 1e6:g} MB")
            with archive.open(f"{key}.npy") as member:  # its size may be a lie: never more than the limit is unpacked
                content = member.read(NPZ_TEXT_BYTES_LIMIT)
        stream = io.BytesIO(content)
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"it is NumPy's format {version}, not 1.0 or 2.0")
        shape, _, dtype = array_header("it", version[0], stream)
        if dtype.kind != "U":
            raise ValueError(f"it holds {dtype}, not text")
        if len(content) - stream.tell() != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{shape} texts of {dtype} do not take {len(content) - stream.tell()} bytes")
        codes = np.frombuffer(content, np.dtype(np.uint32).newbyteorder(dtype.byteorder), offset=stream.tell())
        if (codes > sys.maxunicode).any():  # NumPy would make texts of them that Python cannot show
            raise ValueError("it holds characters that do not exist")
        return np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape)
    except BROKEN_TEXT_ERRORS as error:
        raise RecordingError(f"{path}: '{key}' cannot be read: {error}") from None


def write_recording(recording: Recording, path: str | Path, *, remove: Iterable[Path] = ()) -> None:
    """Write ``path``, a .csv or .npz file; reading it gives the same recording, to the last bit. remove: files that
    speak of an older recording of that name; they go with it."""
    write_chunks([recording], path, remove=remove)


def write_chunks(chunks: Iterable[Recording], path: str | Path, *, remove: Iterable[Path] = ()) -> None:
    """The same from the pieces of one recording in order of time, one in memory at a time."""
    path = Path(path)
    writer = {".csv": _write_csv, ".npz": _write_npz}.get(path.suffix.lower())
    if writer is None:
        raise RecordingError(f"a recording is written as .csv or .npz; given '{path.name}'")
    pieces = _checked(chunks)
    first = next(pieces)
    try:
        folder = path.absolute().parent
        prepare(folder)
        with staged(folder, last=path.name, remove=remove) as stage:
            writer(first, pieces, stage, path)
    except OSError as error:
        raise RecordingError(f"cannot write '{path}': {error.strerror or error}") from None
    except ExciterError as error:
        raise RecordingError(str(error)) from None


def written_beside(path: Path) -> Path | None:
    """The file beside a .csv that ``write_recording`` wrote with it, if it did."""
    try:
        return companion(path) if path.suffix.lower() == ".csv" else None
    except ExciterError:  # whatever it is
        return None


def check_beside(path: Path) -> None:
    """Refuse a .csv whose ``<stem>.yaml`` is there already and is not its own."""
    beside = path.absolute().with_suffix(".yaml")
    if path.suffix.lower() == ".csv" and beside.exists() and written_beside(path.absolute()) is None:
        why = f"'{beside.name}' is there already and speaks of something else, but what is known of the recording "
        raise RecordingError(f"{why}would be written there; choose another name than '{path.name}'")


def _checked(chunks: Iterable[Recording]) -> Iterator[Recording]:
    """Pieces with samples that fit together; the first may wait for its second sample."""
    before: Recording | None = None
    samples = 0
    for chunk in filter(len, chunks):
        if before is not None and (chunk.joints, chunk.everything) != (before.joints, before.everything):
            why = f"the pieces of a recording must agree; one has {', '.join(before.everything)} of "
            why += f"{', '.join(before.joints)}, another {', '.join(chunk.everything)} of {', '.join(chunk.joints)}"
            raise RecordingError(why)
        if before is not None and chunk.time[0] < before.time[-1]:
            why = f"a piece of a recording starts at {chunk.time[0]:.9g} s, before the end of the one before it "
            raise RecordingError(f"{why}({before.time[-1]:.9g} s); give them in order of time")
        before, samples = chunk, samples + len(chunk)
        yield chunk
    if samples < 2:
        raise RecordingError(f"a recording of {samples} samples is not worth a file; at least 2 are needed")


def _write_csv(first: Recording, rest: Iterator[Recording], stage: Path, path: Path) -> None:
    for name in first.joints:
        if not name or unseen(name):
            why = f"joint '{visible(name)}' cannot head a column of a CSV file; rename it, or write a .npz file"
            raise RecordingError(why)
    header = [
        "time",
        *(f"{name}.{COLUMN_ENDINGS.get(signal, signal)}" for name in first.joints for signal in first.signals),
    ]
    header += [] if first.wrench is None else [f"base.{name}" for name in WRENCH_COLUMNS]
    for channel in (name for name in BESIDE_SIGNALS if getattr(first, name) is not None):
        header += [f"{name}.{COLUMN_ENDINGS[channel]}" for name in first.joints]
    of_base = [name for name in WRITTEN_BASE_CHANNELS if getattr(first, name) is not None]
    for channel in of_base:
        form = {"imu": "imu.{}", "contact": f"{{}}.{CONTACT_ENDING}", "contact_force": "{}"}.get(channel, "base.{}")
        header += [form.format(name) for name in first.columns(channel)]
    if len(set(header)) < len(header):
        raise RecordingError(f"the joints {', '.join(first.joints)} give two columns of the same name; rename one")
    if about := said(first.about):
        check_beside(path)
    if about or written_beside(path.absolute()) is not None:  # an older one must not speak of the new samples
        text = _yaml({"file": path.name, "format": "exciter", **about})
        (stage / path.with_suffix(".yaml").name).write_text(text, encoding="utf-8")
    with (stage / path.name).open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(csv_line(header) + "\n")
        for chunk in chain.from_iterable(piece.chunks(WRITTEN_ROWS) for piece in chain([first], rest)):
            signals = np.stack([getattr(chunk, name) for name in chunk.signals], axis=2)  # (N, n, signals)
            names = ("wrench", *BESIDE_SIGNALS, *of_base)
            more = [x for name in names if (x := getattr(chunk, name)) is not None]
            table = np.column_stack([chunk.time, signals.reshape(len(chunk), -1), *more])
            np.savetxt(stream, table, fmt="%.17g", delimiter=",")


def _yaml(data: dict[str, Any]) -> str:
    """For people to read; with escapes where odd characters of a note would get lost."""
    for plain in (True, False):
        text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=plain, default_flow_style=None, width=120)
        if yaml.safe_load(text) == data:
            return text
    raise RecordingError("what is known of the recording cannot be written as YAML; write a .npz file instead")


def _write_npz(first: Recording, rest: Iterator[Recording], stage: Path, path: Path) -> None:
    """Numbers go to one unnamed file per array first: how many rows an array has stands at its start."""
    keys, rows = ("time", *first.everything), 0
    with ExitStack() as stack:
        raw = {key: stack.enter_context(tempfile.TemporaryFile(dir=stage)) for key in keys}
        for chunk in chain([first], rest):
            rows += len(chunk)
            for key in keys:
                raw[key].write(np.ascontiguousarray(getattr(chunk, key), dtype="<f8").data)
        with zipfile.ZipFile(stage / path.name, "w", zipfile.ZIP_STORED) as archive:
            for key in keys:
                _add(archive, key, "<f8", (rows,) if key == "time" else (rows, len(first.columns(key))), raw[key])
            for key, said_by in (("joints", first.joints), ("about", json.dumps(written(first.about)))):
                text = np.array(said_by)
                _add(archive, key, text.dtype.str, text.shape, io.BytesIO(text.tobytes()))


def _add(archive: zipfile.ZipFile, key: str, kind: str, shape: tuple[int, ...], data: IO[bytes]) -> None:
    """An array as ``np.savez`` stores it; no date, so that the same recording is the same file."""
    header: dict[str, Any] = {"descr": kind, "fortran_order": False, "shape": shape}
    data.seek(0)
    with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as stream:
        npy.write_array_header_1_0(stream, header)
        shutil.copyfileobj(data, stream, 1 << 20)
