"""Recordings written as Exciter's own CSV or NPZ: 17 significant digits, or the very bits; all files or none."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import yaml
from numpy.lib import format as npy

from exciter.errors import ExciterError, RecordingError, unseen, visible
from exciter.experiment.recording.native_files import WORDS, companion, said
from exciter.experiment.recording.recording import WRENCH, Recording
from exciter.files import csv_line, prepare, staged
from exciter.settings import written

ROWS = 10_000  # as text at once


def write_recording(recording: Recording, path: str | Path, *, remove: Iterable[Path] = ()) -> None:
    """Write ``path``, a .csv or .npz file; reading it gives the same recording, to the last bit.

    remove: files that speak of an older recording of that name; they go with it."""
    write_chunks([recording], path, remove=remove)


def write_chunks(chunks: Iterable[Recording], path: str | Path, *, remove: Iterable[Path] = ()) -> None:
    """The same from the pieces of one recording in order of time, one in memory at a time."""
    path = Path(path)
    writers = {".csv": _write_csv, ".npz": _write_npz}
    writer = writers.get(path.suffix.lower())
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
    except RecordingError:
        raise
    except ExciterError as error:
        raise RecordingError(str(error)) from None


def written_beside(path: Path) -> Path | None:
    """The file beside a .csv that ``write_recording`` wrote with it, if it did."""
    return path.with_suffix(".yaml") if path.suffix.lower() == ".csv" and _is_companion(path) else None


def check_beside(path: Path) -> None:
    """Refuse a .csv whose ``<stem>.yaml`` is there already and is not its own."""
    beside = path.absolute().with_suffix(".yaml")
    if path.suffix.lower() == ".csv" and beside.exists() and not _is_companion(path.absolute()):
        raise RecordingError(
            f"'{beside.name}' is there already and speaks of something else, but what is known of the recording "
            f"would be written there; choose another name than '{path.name}'"
        )


def _is_companion(path: Path) -> bool:
    try:
        return companion(path) is not None
    except ExciterError:  # whatever it is
        return False


def _checked(chunks: Iterable[Recording]) -> Iterator[Recording]:
    """Pieces with samples that fit together; the first may wait for its second sample."""
    before: Recording | None = None
    samples = 0
    for chunk in chunks:
        if not len(chunk):
            continue
        if before is not None and (chunk.joints, chunk.everything) != (before.joints, before.everything):
            raise RecordingError(
                f"the pieces of a recording must agree; one has {', '.join(before.everything)} of "
                f"{', '.join(before.joints)}, another {', '.join(chunk.everything)} of {', '.join(chunk.joints)}"
            )
        if before is not None and chunk.time[0] < before.time[-1]:
            raise RecordingError(
                f"a piece of a recording starts at {chunk.time[0]:.9g} s, before the end of the one before it "
                f"({before.time[-1]:.9g} s); give them in order of time"
            )
        before, samples = chunk, samples + len(chunk)
        yield chunk
    if samples < 2:
        raise RecordingError(f"a recording of {samples} samples is not worth a file; at least 2 are needed")


def _write_csv(first: Recording, rest: Iterator[Recording], stage: Path, path: Path) -> None:
    for name in first.joints:
        if not name or unseen(name):
            raise RecordingError(
                f"joint '{visible(name)}' cannot head a column of a CSV file; rename it, or write a .npz file"
            )
    header = ["time", *(f"{name}.{WORDS.get(signal, signal)}" for name in first.joints for signal in first.signals)]
    header += [] if first.wrench is None else [f"base.{name}" for name in WRENCH]
    header += [] if first.temperature is None else [f"{name}.temperature" for name in first.joints]
    if len(set(header)) < len(header):
        raise RecordingError(f"the joints {', '.join(first.joints)} give two columns of the same name; rename one")
    beside = path.absolute().with_suffix(".yaml")
    about = said(first.about)
    if about:
        check_beside(path)
    if about or _is_companion(path.absolute()):  # an older one must not speak of the new samples
        data = {"file": path.name, "format": "exciter", **about}
        (stage / beside.name).write_text(_yaml(data), encoding="utf-8")
    with (stage / path.name).open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(csv_line(header) + "\n")
        for chunk in chain([first], rest):
            for piece in chunk.chunks(ROWS):
                stream.write(_rows(piece))


def _yaml(data: dict[str, Any]) -> str:
    """For people to read; with escapes where odd characters of a note would get lost."""
    for plain in (True, False):
        text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=plain, default_flow_style=None, width=120)
        if yaml.safe_load(text) == data:
            return text
    raise RecordingError("what is known of the recording cannot be written as YAML; write a .npz file instead")


def _rows(chunk: Recording) -> str:
    signals = np.stack([getattr(chunk, name) for name in chunk.signals], axis=2)  # (N, n, signals): as the header
    beside = [x for x in (chunk.wrench, chunk.temperature) if x is not None]
    table = np.column_stack([chunk.time, signals.reshape(len(chunk), -1), *beside])
    text = io.StringIO()
    np.savetxt(text, table, fmt="%.17g", delimiter=",")
    return text.getvalue()


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
            for key, text in (
                ("joints", np.array(first.joints)),
                ("about", np.array(json.dumps(written(first.about)))),
            ):
                _add(archive, key, text.dtype.str, text.shape, io.BytesIO(text.tobytes()))


def _add(archive: zipfile.ZipFile, key: str, kind: str, shape: tuple[int, ...], data: IO[bytes]) -> None:
    """An array as ``np.savez`` stores it; no date, so that the same recording is the same file."""
    header: dict[str, Any] = {"descr": kind, "fortran_order": False, "shape": shape}
    data.seek(0)
    with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as stream:
        npy.write_array_header_1_0(stream, header)
        shutil.copyfileobj(data, stream, 1 << 20)
