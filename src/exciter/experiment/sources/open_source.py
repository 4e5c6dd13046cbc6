"""Files of logs as tables of numbers, whatever their format."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from os.path import exists, isdir, isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

from exciter.errors import RecordingError, unknown_name
from exciter.experiment.sources.delimited import DelimitedText
from exciter.experiment.sources.mat import MatArrays
from exciter.experiment.sources.npz import NumpyArrays
from exciter.experiment.sources.parquet import INFO_FILE, ParquetTable
from exciter.experiment.sources.ros2 import JointStates
from exciter.experiment.sources.sage import STATE_FILE, SageFolder
from exciter.experiment.sources.source import Source
from exciter.experiment.sources.torch_tensors import TorchTensors

READER_OF_FIRST_BYTES = {  # what files start with
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x93NUMPY": "npy",
    b"MATLAB ": "mat",
    b"\x89HDF\r\n": "mat",
    b"\x89MCAP0\r\n": "ros2",
    b"SQLite format 3\x00": "ros2",
    b"PAR1": "parquet",
}
READER_OF_SUFFIX = {".npz": "npz", ".npy": "npy", ".mat": "mat", ".mcap": "ros2", ".db3": "ros2"}
READER_OF_SUFFIX |= {".pt": "pt", ".pth": "pt", ".parquet": "parquet"}
PACKING_OF_FIRST_BYTES = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
READERS: dict[str, Callable[..., Source]] = {"csv": DelimitedText, "npz": NumpyArrays, "npy": NumpyArrays}
READERS |= {"mat": MatArrays, "ros2": JointStates, "pt": TorchTensors, "parquet": ParquetTable, "sage": SageFolder}


def open_source(path: str | Path, format: str | None = None, **options: Any) -> Source:
    """The table in ``path``. format: a key of READERS; None: from how the file starts, else from its suffix. Options of
    text: delimiter, header, comment, skip, decimal, missing, interleaved (``DelimitedText``); of npz, npy, mat and
    pt: transposed (``NumpyArrays``, ``MatArrays``, ``TorchTensors``); of ros2: topic (``JointStates``); of parquet:
    episode (``ParquetTable``)."""
    path = Path(path)
    if format is not None and format not in READERS:
        raise RecordingError(unknown_name("format", str(format), READERS))
    found = _format(path)
    reader = READERS[found if format is None else format]
    valid = list(signature(reader).parameters)[1:]
    if unknown := [name for name in options if name not in valid]:
        why = unknown_name("option", unknown[0], valid or ["none"])
        raise RecordingError(f"{path}: {why} (format {format or found})")
    try:
        return reader(path, **options)
    except OSError as error:
        raise RecordingError(f"cannot read '{path}': {error.strerror or error}") from None


def _format(path: Path) -> str:
    """How the file starts, else its suffix; one line when there is nothing to read."""
    try:
        if isdir(path):
            return "parquet" if isfile(path / INFO_FILE) else "sage" if isfile(path / STATE_FILE) else "ros2"
        if not exists(path):
            raise RecordingError(f"there is no file '{path}'")
        if not isfile(path):
            raise RecordingError(f"'{path}' is no ordinary file; give one that can be read twice")
        with path.open("rb") as file:
            start = file.read(16)
    except (OSError, ValueError) as error:
        raise RecordingError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from None
    if not start:
        raise RecordingError(f"'{path}' is empty")
    for mark, packing in PACKING_OF_FIRST_BYTES.items():
        if start.startswith(mark):
            raise RecordingError(f"'{path}' is packed by {packing}; unpack it first")
    by_suffix = READER_OF_SUFFIX.get(path.suffix.lower(), "csv")
    known = next((name for mark, name in READER_OF_FIRST_BYTES.items() if start.startswith(mark)), None)
    return by_suffix if known is None or (known, by_suffix) == ("npz", "pt") else known  # both are zip archives
