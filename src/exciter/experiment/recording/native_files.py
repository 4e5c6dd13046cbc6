"""Exciter's own logs, seen by a reader: what their columns are called, and what is said beside the samples.

CSV: ``time``, then ``<joint>.q``, ``<joint>.qd``, ``<joint>.tau``, ``<joint>.current``, then ``base.fx`` … ``base.mz``
of a force plate, then ``<joint>.temperature``; what a table cannot say stands in ``<stem>.yaml`` beside it. NPZ: time,
q, qd, torque, current, wrench, temperature, joints, and about, which is JSON.
"""

from __future__ import annotations

import io
import math
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from exciter.errors import RecordingError, RobotError
from exciter.experiment.recording.about import About
from exciter.experiment.recording.formats import NPZ, preset
from exciter.experiment.recording.recording import WRENCH
from exciter.experiment.sources.npz import array_header
from exciter.experiment.sources.open import open_source
from exciter.experiment.sources.source import Source
from exciter.robot.yaml_file import parse_json, read_yaml
from exciter.settings import fill, written

WORDS = {
    "q": "q",
    "qd": "qd",
    "torque": "tau",
    "current": "current",
    "temperature": "temperature",
}  # signal → end of a column's name
IGNORED = ("qdd",)  # a column of trajectories, and of exact motions: no measurement
MOST_BYTES = 1_000_000  # of joints and about
PYTHON = (ValueError, TypeError, SyntaxError, KeyError, OSError, EOFError, RecursionError, OverflowError, RuntimeError)
BROKEN = (*PYTHON, struct.error, zlib.error, zipfile.BadZipFile)


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
    for name in source.names:
        known = name in ("time", *(f"base.{part}" for part in WRENCH))
        if not known and name.rpartition(".")[2] not in (*WORDS.values(), *IGNORED):
            raise RecordingError(
                f"{source.path} has a column '{name}'; allowed are time and <joint>.q, <joint>.qd, <joint>.tau, "
                "<joint>.current, <joint>.temperature, base.fx … base.mz; a recording.yaml can describe any other "
                "columns"
            )


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
    parts = {"current": {"gains": data.pop("gains", None)}, "torque": {"side": data.pop("side", None)}}
    return {key: part for key, part in parts.items() if None not in part.values()} | data


def native_npz(path: Path) -> dict[str, Any]:
    """The description of a native NPZ, as a format: its joints, and what it says beside the samples."""
    names = open_source(path, format="npz").names  # refuses damaged and enormous archives
    if "time" not in names or not _has(path, "joints"):
        raise RecordingError(
            f"{path} has {', '.join(names[:6])}, not the keys time, q and joints of Exciter's own files; describe it "
            "in a recording.yaml and give that instead (docs/recordings.md)"
        )
    joints = _member(path, "joints")
    if joints.ndim != 1:
        raise RecordingError(f"{path}: joints has the shape {joints.shape}; it must be a list of names")
    known = dict(preset(NPZ))
    try:
        text = str(_member(path, "about")[()]) if _has(path, "about") else "{}"
        about = parse_json(text, "about")
    except (ValueError, RobotError) as error:
        raise RecordingError(f"{path}: about cannot be read as JSON: {error}") from None
    extra = said(fill(About, about, f"{path}: about", error=RecordingError))
    for name in ("torque", "current"):
        known[name] = {**known[name], **extra.pop(name, {})}
    return {**known, **extra, "joints": [str(name) for name in joints]}


def _has(path: Path, key: str) -> bool:
    with zipfile.ZipFile(path) as archive:
        return f"{key}.npy" in archive.namelist()


def _member(path: Path, key: str) -> np.ndarray[Any, Any]:
    """A small array of text; never pickled, and no larger than its bytes, whatever its header says."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(f"{key}.npy").file_size > MOST_BYTES:
                raise ValueError(f"it is larger than {MOST_BYTES / 1e6:g} MB")
            with archive.open(f"{key}.npy") as stream:
                content = stream.read(MOST_BYTES)
        return _text(content)
    except (*BROKEN, RecordingError) as error:
        raise RecordingError(f"{path}: '{key}' cannot be read: {error}") from None


def _text(content: bytes) -> np.ndarray[Any, Any]:
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
