"""NumPy's own files: NPZ (named arrays in a zip archive) and NPY (one array). Pickled objects are never read."""

from __future__ import annotations

import io
import math
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from exciter.errors import RecordingError
from exciter.experiment.sources.source import MOST_COLUMNS, ArrayFile, StoredArray, brief, check_unpacked, check_whole
from exciter.typing import Array

PIECE_BYTES = 1 << 20  #: of one array that are read at once, about
ARRAY_HEADER_BYTES_LIMIT = 10_000
DIRECTORY_BYTES_LIMIT = 1 << 24  #: of the archive's table of contents
ARCHIVE_ERRORS = (struct.error, zlib.error, zipfile.BadZipFile, NotImplementedError)
BROKEN_ARRAY_ERRORS = (OSError, EOFError, ValueError, KeyError, *ARCHIVE_ERRORS)
SKIPPED_KINDS = {"O": "holds pickled Python objects, which are never read; save it as numbers", "c": "is complex"}


class NumpyArrays(ArrayFile):
    """Arrays of numbers in one NPZ or NPY file. (N,) and (1, N) are one column, (N, k) are k; with ``transposed``, (k,
    N) are k instead. Text, complex numbers, single values and more dimensions are no columns. Rows are streamed; only
    arrays whose columns lie one after the other (Fortran order, or transposed) need the chosen ones in memory."""

    def __init__(self, path: Path, transposed: bool | None = None) -> None:
        super().__init__(path, transposed)
        self._skipped: dict[str, str] = {}
        with self._damage_reported(), ExitStack() as stack:
            for key, (size, opened) in _streams(path, stack).items():
                with opened() as stream:
                    called = f"{path}: '{key}'" if key else str(path)
                    found = _read_header(called, key, size, stream, bool(transposed))
                if isinstance(found, StoredArray):
                    self._arrays.append(found)
                else:
                    self._skipped[key] = found
        if not self._arrays:
            reason = "; ".join(f"'{brief(key)}' {why}" for key, why in list(self._skipped.items())[:3])
            raise RecordingError(f"{path} holds no arrays of numbers: {reason or 'the archive has no .npy member'}")
        self._name_columns()

    def _find_one(self, wanted: str | int) -> tuple[int, ...]:
        if isinstance(wanted, str) and wanted in self._skipped:
            raise RecordingError(f"{self.path}: '{wanted}' {self._skipped[wanted]}")
        return super()._find_one(wanted)

    def _tables(self, wanted: Mapping[StoredArray, list[int]]) -> Iterator[tuple[Array, ...]]:
        for array, columns in wanted.items():
            if array.by_column:
                advice = f"save '{array.name}' as samples × joints in C order"
                check_whole(self.path, array.rows * (len(columns) + 1), advice)
        step = max(1, PIECE_BYTES // max((array.columns * array.dtype.itemsize for array in wanted), default=1))
        with self._damage_reported(), ExitStack() as stack:
            streams = _streams(self.path, stack)
            opened = [stack.enter_context(streams[array.name][1]()) for array in wanted]
            yield from zip(*map(_rows, wanted, opened, wanted.values(), repeat(step)), strict=True)

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        """Whatever a damaged file makes the libraries raise, in one line."""
        try:
            yield
        except BROKEN_ARRAY_ERRORS as error:
            why = f"{self.path} is damaged or cut off ({brief(error)}); copy or record it again"
            raise RecordingError(why) from None
        except RuntimeError as error:  # what zipfile says to encrypted archives
            raise RecordingError(f"{self.path} cannot be unpacked: {brief(error)}") from None


def _streams(path: Path, stack: ExitStack) -> dict[str, tuple[int, Callable[[], IO[bytes]]]]:
    """Of every array of the file, by key: its bytes, and how it is opened."""
    size = path.stat().st_size
    file = stack.enter_context(path.open("rb"))
    if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
        return {"": (size, lambda: path.open("rb"))}
    check_directory(path, file, size)
    archive = stack.enter_context(zipfile.ZipFile(file))
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    if len(members) > MOST_COLUMNS or len({info.filename for info in members}) < len(members):
        raise RecordingError(f"{path} has {len(members)} arrays; at most {MOST_COLUMNS} of different names are read")
    if strange := [i for i in members if i.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]:
        raise RecordingError(f"{path}: '{strange[0].filename}' is packed in an unusual way; save it by np.savez")
    check_unpacked(path, sum(info.file_size for info in members), size)
    return {info.filename.removesuffix(".npy"): (info.file_size, partial(archive.open, info)) for info in members}


def check_directory(path: Path, file: IO[bytes], size: int, kind: str = "NPZ") -> None:
    """The table of contents is read whole by zipfile: its size is at the end of the file."""
    file.seek(max(0, size - (1 << 16) - 128))
    tail = file.read()
    file.seek(0)
    at, large = tail.rfind(b"PK\x05\x06"), tail.rfind(b"PK\x06\x06")
    if at < 0 or len(tail) < at + 22:
        raise RecordingError(f"{path} is not a {kind} file, or is cut off: the end of a zip archive is missing")
    (length,) = struct.unpack_from("<I", tail, at + 12)
    if length == 0xFFFFFFFF and 0 <= large <= len(tail) - 48:
        (length,) = struct.unpack_from("<Q", tail, large + 40)
    if length > DIRECTORY_BYTES_LIMIT:
        why = f"{path} has a table of contents of {length} bytes, at most {DIRECTORY_BYTES_LIMIT} are read"
        raise RecordingError(why)


def _read_header(called: str, key: str, size: int, stream: IO[bytes], turned: bool) -> StoredArray | str:
    """What the array is, or why it is no column."""
    start = stream.read(8)
    if start[:6] != npy.MAGIC_PREFIX or len(start) < 8 or start[6] not in (1, 2, 3):
        raise RecordingError(f"{called} does not start as an array of NumPy does")
    counter = "<H" if start[6] == 1 else "<I"
    length = stream.read(struct.calcsize(counter))
    (header,) = struct.unpack(counter, length)
    if header > ARRAY_HEADER_BYTES_LIMIT:
        raise RecordingError(f"{called} has a header of {header} bytes, at most {ARRAY_HEADER_BYTES_LIMIT} are read")
    if start[6] == 3:
        return "has named fields; save them as arrays of their own"
    shape, fortran, dtype = array_header(called, start[6], io.BytesIO(length + stream.read(header)))
    offset = 8 + len(length) + header
    if turned and len(shape) == 2 and 1 not in shape:  # the same numbers, counted along the other side
        shape, fortran = shape[::-1], not fortran
    if dtype.kind not in "biuf":
        return SKIPPED_KINDS.get(dtype.kind, "is no array of numbers")
    if len(shape) not in (1, 2):
        return f"has the shape {shape}; columns are arrays (N,) or (N, k)"
    count = math.prod(shape)
    if min(shape) < 0 or size != offset + count * dtype.itemsize:
        raise RecordingError(f"{called} should hold {shape} numbers, and the file has {size - offset} bytes of it")
    flat = len(shape) == 1 or (shape[0] == 1 and shape[1] > 1)
    rows, columns = (count, 1) if flat else shape
    if columns > MOST_COLUMNS:
        why = f"has {columns} columns, at most {MOST_COLUMNS} are read; samples must run along the rows, or say "
        return f"{why}transposed: true"
    sizes = {"rows": rows, "columns": columns, "offset": offset}
    return StoredArray(name=key, dtype=dtype, shape=shape, single=flat, by_column=fortran and not flat, **sizes)


def array_header(called: str, version: int, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and kind of numbers of an array of NumPy's format 1 or 2, from its header's length on."""
    read = npy.read_array_header_1_0 if version == 1 else npy.read_array_header_2_0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers of Python 2 are as good
            shape, fortran, dtype = read(stream, max_header_size=ARRAY_HEADER_BYTES_LIMIT)
    except Exception:  # NumPy hands the text to Python's own parser, which may raise anything
        raise RecordingError(f"{called} has a header that is none of NumPy's") from None
    return shape, fortran, dtype


def _rows(array: StoredArray, stream: IO[bytes], chosen: list[int], step: int) -> Iterator[Array]:
    def take(count: int) -> bytes:
        if len(data := stream.read(count)) != count:
            raise EOFError("an array ends before its last row")
        return data

    take(array.offset)
    yield from array.tables(take, chosen, step)
    stream.read(1)  # only at the end of a member its checksum is compared
