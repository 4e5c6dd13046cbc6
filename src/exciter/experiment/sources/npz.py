"""NumPy's own files: NPZ (named arrays in a zip archive) and NPY (one array). Pickled objects are never read."""

from __future__ import annotations

import io
import math
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.source import MOST_COLUMNS, Source, brief, check_unpacked, check_whole, equal_blocks
from exciter.typing import Array

PIECE = 1 << 20  # bytes of one array read at once, about
MOST_HEADER = 10_000  # bytes of an array's header
MOST_DIRECTORY = 1 << 24  # bytes of the archive's table of contents
BROKEN = (OSError, EOFError, ValueError, KeyError, struct.error, zlib.error, zipfile.BadZipFile, NotImplementedError)
KINDS = {"O": "holds pickled Python objects, which are never read; save it as numbers", "c": "is complex"}


@dataclass(frozen=True)
class Member:
    """An array (rows, columns) of numbers whose data start ``offset`` bytes into its stream."""

    key: str
    dtype: np.dtype[Any]
    rows: int
    columns: int
    flat: bool  # one column that is called as the array, not key[0]
    fortran: bool
    offset: int

    @property
    def names(self) -> list[str]:
        if not self.key:  # NPY: there is no name
            return [str(k) for k in range(self.columns)]
        return [self.key] if self.flat else [f"{self.key}[{k}]" for k in range(self.columns)]


class NumpyArrays(Source):
    """Arrays of numbers in one NPZ or NPY file.

    (N,) and (1, N) are one column, (N, k) are k; with ``transposed``, (k, N) are k instead. Text, complex numbers,
    single values and more dimensions are no columns. Rows are streamed; only arrays whose columns lie one after the
    other (in Fortran order, or transposed) need the chosen ones in memory, up to 1 GiB.
    """

    def __init__(self, path: Path, transposed: bool | None = None) -> None:
        if transposed not in (None, True, False):
            raise RecordingError(f"transposed is {shown(transposed)}; give true, false or nothing")
        self.path = path
        turned = bool(transposed)
        self._skipped: dict[str, str] = {}
        self._members: list[Member] = []
        with self._told(), ExitStack() as stack:
            for key, (size, opened) in _streams(path, stack).items():
                with opened() as stream:
                    found = _read_header(f"{path}: '{key}'" if key else str(path), key, size, stream, turned)
                if isinstance(found, Member):
                    self._members.append(found)
                else:
                    self._skipped[key] = found
        if not self._members:
            reason = "; ".join(f"'{brief(key)}' {why}" for key, why in list(self._skipped.items())[:3])
            raise RecordingError(f"{path} holds no arrays of numbers: {reason or 'the archive has no .npy member'}")
        if (count := sum(member.columns for member in self._members)) > MOST_COLUMNS:
            widest = max(self._members, key=lambda member: member.columns)
            raise RecordingError(
                f"{path} has {count} columns, at most {MOST_COLUMNS} are read; '{widest.key}' is "
                f"({widest.rows}, {widest.columns}): samples must run along the rows, or say transposed: true"
            )
        self.names = tuple(name for member in self._members for name in member.names)
        self._owner = [(m, k) for m, member in enumerate(self._members) for k in range(member.columns)]

    def _find_one(self, wanted: str | int) -> tuple[int, ...]:
        if isinstance(wanted, str) and wanted in self._skipped:
            raise RecordingError(f"{self.path}: '{wanted}' {self._skipped[wanted]}")
        return super()._find_one(wanted)

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        chosen = [self._owner[column] for column in columns]
        used = sorted({m for m, _ in chosen})
        lengths = {self._members[m].rows for m in used}
        if len(lengths) > 1:
            listed = ", ".join(f"'{self._members[m].key}' has {self._members[m].rows}" for m in used[:6])
            raise RecordingError(f"{self.path}: columns of one log need as many rows each; {listed}")
        return equal_blocks(self._tables(chosen, used), rows)

    def _tables(self, chosen: list[tuple[int, int]], used: list[int]) -> Iterator[Array]:
        wanted = {m: sorted({k for owner, k in chosen if owner == m}) for m in used}
        widest = max((self._members[m].columns * self._members[m].dtype.itemsize for m in used), default=1)
        step = max(1, PIECE // widest)
        with self._told(), ExitStack() as stack:
            streams = _streams(self.path, stack)
            opened = {m: stack.enter_context(streams[self._members[m].key][1]()) for m in used}
            parts = [_rows(self.path, self._members[m], opened[m], wanted[m], step) for m in used]
            for tables in zip(*parts, strict=True):
                at = {(m, k): t[:, j] for m, t in zip(used, tables, strict=True) for j, k in enumerate(wanted[m])}
                yield np.column_stack([at[one] for one in chosen])

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever a damaged file makes the libraries raise, in one line."""
        try:
            yield
        except BROKEN as error:
            raise RecordingError(
                f"{self.path} is damaged or cut off ({brief(error)}); copy or record it again"
            ) from None
        except RuntimeError as error:  # what zipfile says to encrypted archives
            raise RecordingError(f"{self.path} cannot be unpacked: {brief(error)}") from None


def _streams(path: Path, stack: ExitStack) -> dict[str, tuple[int, Callable[[], IO[bytes]]]]:
    """Of every array of the file, by key: its bytes, and how it is opened."""
    size = path.stat().st_size
    file = stack.enter_context(path.open("rb"))
    if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
        return {"": (size, lambda: path.open("rb"))}
    _check_directory(path, file, size)
    archive = stack.enter_context(zipfile.ZipFile(file))
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    if len(members) > MOST_COLUMNS or len({info.filename for info in members}) < len(members):
        raise RecordingError(f"{path} has {len(members)} arrays; at most {MOST_COLUMNS} of different names are read")
    if strange := [i for i in members if i.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]:
        raise RecordingError(f"{path}: '{strange[0].filename}' is packed in an unusual way; save it by np.savez")
    check_unpacked(path, sum(info.file_size for info in members), size)
    return {info.filename.removesuffix(".npy"): (info.file_size, partial(archive.open, info)) for info in members}


def _check_directory(path: Path, file: IO[bytes], size: int) -> None:
    """The table of contents is read whole by zipfile: its size is at the end of the file."""
    file.seek(max(0, size - (1 << 16) - 128))
    tail = file.read()
    file.seek(0)
    at, large = tail.rfind(b"PK\x05\x06"), tail.rfind(b"PK\x06\x06")
    if at < 0 or len(tail) < at + 22:
        raise RecordingError(f"{path} is not a NPZ file, or is cut off: the end of a zip archive is missing")
    (length,) = struct.unpack_from("<I", tail, at + 12)
    if length == 0xFFFFFFFF and 0 <= large <= len(tail) - 48:
        (length,) = struct.unpack_from("<Q", tail, large + 40)
    if length > MOST_DIRECTORY:
        raise RecordingError(f"{path} has a table of contents of {length} bytes, at most {MOST_DIRECTORY} are read")


def _read_header(called: str, key: str, size: int, stream: IO[bytes], turned: bool) -> Member | str:
    """What the array is, or why it is no column."""
    start = stream.read(8)
    if start[:6] != npy.MAGIC_PREFIX or len(start) < 8 or start[6] not in (1, 2, 3):
        raise RecordingError(f"{called} does not start as an array of NumPy does")
    counter = "<H" if start[6] == 1 else "<I"
    length = stream.read(struct.calcsize(counter))
    (header,) = struct.unpack(counter, length)
    if header > MOST_HEADER:
        raise RecordingError(f"{called} has a header of {header} bytes, at most {MOST_HEADER} are read")
    if start[6] == 3:
        return "has named fields; save them as arrays of their own"
    shape, fortran, dtype = array_header(called, start[6], io.BytesIO(length + stream.read(header)))
    offset = 8 + len(length) + header
    if turned and len(shape) == 2 and 1 not in shape:  # the same numbers, counted along the other side
        shape, fortran = shape[::-1], not fortran
    return _member(called, key, size, shape, fortran, dtype, offset)


def array_header(called: str, version: int, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and kind of numbers of an array of NumPy's format 1 or 2, from its header's length on."""
    read = npy.read_array_header_1_0 if version == 1 else npy.read_array_header_2_0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers of Python 2 are as good
            shape, fortran, dtype = read(stream, max_header_size=MOST_HEADER)
    except Exception:  # NumPy hands the text to Python's own parser, which may raise anything
        raise RecordingError(f"{called} has a header that is none of NumPy's") from None
    return shape, fortran, dtype


def _member(
    called: str, key: str, size: int, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any], offset: int
) -> Member | str:
    if dtype.kind not in "biuf":
        return KINDS.get(dtype.kind, "is no array of numbers")
    if len(shape) not in (1, 2):
        return f"has the shape {shape}; columns are arrays (N,) or (N, k)"
    count = math.prod(shape)
    if min(shape) < 0 or size != offset + count * dtype.itemsize:
        raise RecordingError(f"{called} should hold {shape} numbers, and the file has {size - offset} bytes of it")
    flat = len(shape) == 1 or (shape[0] == 1 and shape[1] > 1)
    rows, columns = (count, 1) if flat else shape
    if columns > MOST_COLUMNS:
        return (
            f"has {columns} columns, at most {MOST_COLUMNS} are read; samples must run along the rows, or say "
            "transposed: true"
        )
    return Member(key, dtype, rows, columns, flat, fortran and not flat, offset)


def _rows(path: Path, member: Member, stream: IO[bytes], chosen: list[int], step: int) -> Iterator[Array]:
    """The chosen columns of an array, ``step`` rows at a time."""
    _exactly(stream, member.offset)
    if member.fortran:
        yield from _columns(path, member, stream, chosen, step)
        return
    width = member.columns * member.dtype.itemsize
    for start in range(0, member.rows, step):
        rows = min(step, member.rows - start)
        table = np.frombuffer(_exactly(stream, rows * width), member.dtype).reshape(rows, member.columns)
        yield table[:, chosen].astype(np.float64)
    _finish(stream)


def _columns(path: Path, member: Member, stream: IO[bytes], chosen: list[int], step: int) -> Iterator[Array]:
    """The same in Fortran order: a whole column comes before the next."""
    check_whole(path, member.rows * (len(chosen) + 1), f"save '{member.key}' as samples × joints in C order")
    kept = {}
    for k in range(member.columns):
        data = _exactly(stream, member.rows * member.dtype.itemsize)
        if k in chosen:
            kept[k] = np.frombuffer(data, member.dtype).astype(np.float64)
    _finish(stream)
    table = np.column_stack([kept[k] for k in chosen])
    for start in range(0, member.rows, step):
        yield table[start : start + step]


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise EOFError("an array ends before its last row")
    return data


def _finish(stream: IO[bytes]) -> None:
    """Only at the end of a member its checksum is compared."""
    stream.read(1)
