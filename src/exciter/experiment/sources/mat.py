"""MATLAB's files of version 5 (``save -v6`` and ``save -v7``): arrays of numbers, also inside structs.

The data elements of a MAT v5 file: one after the other, packed or not, never more in memory than was asked for.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.source import MOST_COLUMNS, Source, brief, check_unpacked, check_whole, equal_blocks
from exciter.typing import Array

PIECE = 1 << 16  # bytes
HEADER = 128  # bytes
MATRIX, COMPRESSED = 14, 15  # types of elements
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
STRUCT, NUMBERS = 2, range(6, 16)  # classes of arrays; cells, objects, text, sparse matrices, functions are others
COMPLEX = 0x08
DEEPEST = 16  # structs in structs
MOST_TEXT = 1 << 20  # bytes of the names of a struct's fields
HELP = "save it again in MATLAB: save('log.mat', '-v7', …)"


@dataclass(frozen=True)
class Tag:
    """Type and bytes of an element; ``small``: its data, when they were inside the tag."""

    kind: int
    size: int
    small: bytes | None = None


class Cursor:
    """Goes forwards through the bytes that ``read(n)`` gives, n at most at a time; ``end`` of them may be taken."""

    def __init__(self, read: Callable[[int], bytes], end: int, order: str) -> None:
        self._read = read
        self.position = 0
        self.end = end
        self.order = order  # "<" or ">"

    def take(self, count: int) -> bytes:
        """Exactly ``count`` bytes."""
        if count > self.end - self.position:
            raise RecordingError(f"{count} bytes are announced where {self.end - self.position} are left")
        parts = []
        while count:
            part = self._read(min(count, PIECE))
            if not part:
                raise RecordingError("it ends too early")
            parts.append(part)
            count -= len(part)
            self.position += len(part)
        return b"".join(parts)

    def go(self, position: int) -> None:
        """Leave out what comes before ``position``."""
        if position < self.position:
            raise RecordingError("an element is longer than announced")
        while self.position < position:
            self.take(min(position - self.position, PIECE))

    def finish(self) -> None:
        """Packed data end with a checksum, which is compared when nothing is left."""
        self.go(self.end)
        self._read(1)

    def tag(self) -> Tag:
        """Type and size of the next element, whose data follow; up to four bytes of data are inside the tag."""
        start, rest = self.take(4), self.take(4)
        (kind,) = struct.unpack(f"{self.order}I", start)
        if (size := kind >> 16) > 4:
            raise RecordingError(f"a small element announces {size} bytes, 4 is the most")
        if size:
            return Tag(kind & 0xFFFF, size, rest[:size])
        return Tag(kind, struct.unpack(f"{self.order}I", rest)[0])

    def data(self, most: int) -> bytes:
        """The bytes of the next element; then the one after it is next."""
        tag = self.tag()
        if tag.small is not None:
            return tag.small
        if tag.size > most:
            raise RecordingError(f"an element that should be short announces {tag.size} bytes")
        data = self.take(tag.size)
        self.go(min(self.position + -tag.size % 8, self.end))  # elements start at multiples of eight bytes
        return data


def unpacking(file: IO[bytes], size: int) -> Callable[[int], bytes]:
    """Read what the next ``size`` bytes of the file unpack to (zlib)."""
    stream, left = zlib.decompressobj(), size

    def read(count: int) -> bytes:
        nonlocal left
        part = b""
        while not part and not stream.eof:
            data = stream.unconsumed_tail
            if not data:
                data = file.read(min(PIECE, left))
                left -= len(data)
            if not data:
                break
            part = stream.decompress(data, count)
        return part

    return read


@dataclass(frozen=True)
class MatArray:
    """An array of the file, column after column: ``offset`` bytes into the element that starts at ``element``."""

    name: str
    height: int
    width: int
    element: int
    offset: int
    stored: str
    small: bytes | None  # the data themselves, when they are four bytes or fewer


class MatArrays(Source):
    """The arrays of numbers in a MAT file; the fields of structs (1×1) are called ``rec.time``.

    (N, 1) and (1, N) are one column. Time runs along the longer side of a matrix: joints are kept in rows as often as
    in columns, and logs are longer than robots have joints. ``transposed`` decides instead: False (N, k), True (k, N).
    Single numbers, empty and complex arrays are no columns. The chosen columns are held in memory, up to 1 GiB.
    """

    def __init__(self, path: Path, transposed: bool | None = None) -> None:
        if transposed not in (None, True, False):
            raise RecordingError(f"transposed is {shown(transposed)}; give true, false or nothing")
        self.path = path
        self._transposed = transposed
        self._size = path.stat().st_size
        self._arrays: list[MatArray] = []
        with path.open("rb") as file:
            self._order = _byte_order(path, file.read(HEADER))
            self._scan(file)
        if not self._arrays:
            raise RecordingError(f"{path} holds no arrays of numbers with more than one value")
        self._owner = [(a, k) for a, array in enumerate(self._arrays) for k in range(self._shape(array)[1])]
        if len(self._owner) > MOST_COLUMNS:
            widest = max(self._arrays, key=lambda array: self._shape(array)[1])
            raise RecordingError(
                f"{path} has {len(self._owner)} columns, at most {MOST_COLUMNS} are read; "
                f"'{widest.name}' is {widest.height}×{widest.width}"
            )
        self.names = tuple(name for array in self._arrays for name in self._column_names(array))
        if len(set(self.names)) < len(self.names):
            raise RecordingError(f"{path} has two arrays of the same name")

    def _turned(self, array: MatArray) -> bool:
        if 1 in (array.height, array.width):
            return array.height == 1
        return array.width > array.height if self._transposed is None else self._transposed

    def _shape(self, array: MatArray) -> tuple[int, int]:
        """Samples, columns."""
        return (array.width, array.height) if self._turned(array) else (array.height, array.width)

    def _column_names(self, array: MatArray) -> list[str]:
        if 1 in (array.height, array.width):
            return [array.name]
        return [f"{array.name}[{k}]" for k in range(self._shape(array)[1])]

    # -- what is in the file -------------------------------------------------------------------------------------

    def _scan(self, file: IO[bytes]) -> None:
        start, unpacked = HEADER, 0
        while start < self._size:
            with self._told(start):
                cursor, following = self._element(file, start)
                tag = cursor.tag()
                cursor.end = 8 + tag.size
            unpacked += tag.size
            check_unpacked(self.path, unpacked, self._size)
            with self._told(start):
                if tag.kind == MATRIX and tag.small is None:
                    self._matrix(cursor, start, "", 0)
            start = following

    def _element(self, file: IO[bytes], start: int) -> tuple[Cursor, int]:
        """The element of the file at ``start``, unpacked, and where the next one starts."""
        file.seek(start)
        outer = Cursor(file.read, 8, self._order)
        tag = outer.tag()
        following = start + 8 + tag.size
        if following > self._size or tag.small is not None:
            raise RecordingError(f"{tag.size} bytes are announced and {max(0, self._size - start - 8)} are left")
        if tag.kind == COMPRESSED:
            return Cursor(unpacking(file, tag.size), 8, self._order), following
        file.seek(start)
        return Cursor(file.read, 8, self._order), following

    def _matrix(self, cursor: Cursor, element: int, called: str, depth: int) -> None:
        """Note the array that follows, or the fields of the struct that does; leave everything else where it is."""
        (word, _) = struct.unpack(f"{cursor.order}II", cursor.data(8))
        kind, flags = word & 0xFF, word >> 8 & 0xFF
        if kind != STRUCT and (kind not in NUMBERS or flags & COMPLEX):
            return
        shape = np.frombuffer(cursor.data(256), f"{cursor.order}i4").tolist()
        name = called or cursor.data(MOST_TEXT).decode("latin-1")
        if called:
            cursor.data(MOST_TEXT)  # a field has no name of its own
        if not name or len(shape) != 2 or min(shape) < 0:
            return
        if kind == STRUCT:
            if shape == [1, 1] and depth < DEEPEST:
                self._fields(cursor, element, name, depth + 1)
        elif math.prod(shape) > 1:
            self._note(cursor, element, name, shape)

    def _fields(self, cursor: Cursor, element: int, name: str, depth: int) -> None:
        (length,) = struct.unpack(f"{cursor.order}i", cursor.data(4))
        text = cursor.data(MOST_TEXT)
        if length < 1:
            raise RecordingError(f"the fields of '{name}' have names of {length} characters")
        for at in range(0, len(text), length):
            field = text[at : at + length].partition(b"\0")[0].decode("latin-1")
            tag = cursor.tag()
            following = cursor.position + tag.size
            if tag.kind != MATRIX or tag.small is not None or following > cursor.end:
                raise RecordingError(f"'{name}.{field}' is no array, or is cut off")
            if tag.size:
                self._matrix(cursor, element, f"{name}.{field}", depth)
            cursor.go(following)

    def _note(self, cursor: Cursor, element: int, name: str, shape: list[int]) -> None:
        tag = cursor.tag()
        stored = STORED.get(tag.kind)
        if stored is None or tag.size != math.prod(shape) * np.dtype(stored).itemsize:
            raise RecordingError(f"'{name}' is {shape[0]}×{shape[1]} and {tag.size} bytes of type {tag.kind} follow")
        if tag.small is None and cursor.position + tag.size > cursor.end:
            raise RecordingError(f"'{name}' is cut off")
        if len(self._arrays) == MOST_COLUMNS:
            raise RecordingError(f"there are more than {MOST_COLUMNS} arrays")
        self._arrays.append(MatArray(name, shape[0], shape[1], element, cursor.position, stored, tag.small))

    # -- the numbers ---------------------------------------------------------------------------------------------

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        chosen = [self._owner[column] for column in columns]
        used = sorted({a for a, _ in chosen}, key=lambda a: (self._arrays[a].element, self._arrays[a].offset))
        lengths = {self._shape(self._arrays[a])[0] for a in used}
        if len(lengths) > 1:
            listed = ", ".join("'{0.name}' is {0.height}×{0.width}".format(self._arrays[a]) for a in used[:6])
            raise RecordingError(f"{self.path}: columns of one log need as many samples each; {listed} (transposed?)")
        check_whole(self.path, len(chosen) * max(lengths, default=0), "split the log, or save it as CSV or NPZ")
        return equal_blocks(self._tables(chosen, used), rows)

    def _tables(self, chosen: list[tuple[int, int]], used: list[int]) -> Iterator[Array]:
        loaded: dict[tuple[int, int], Array] = {}
        with self.path.open("rb") as file:
            for element in sorted({self._arrays[a].element for a in used}):
                with self._told(element):
                    cursor, _ = self._element(file, element)
                    cursor.end = 8 + cursor.tag().size
                    for a in used:
                        if self._arrays[a].element == element:
                            wanted = sorted({k for owner, k in chosen if owner == a})
                            loaded |= {(a, k): values for k, values in self._load(cursor, self._arrays[a], wanted)}
                    cursor.finish()
        yield np.column_stack([loaded[one] for one in chosen])

    def _load(self, cursor: Cursor, array: MatArray, wanted: list[int]) -> Iterator[tuple[int, Array]]:
        dtype = np.dtype(f"{self._order}{array.stored}")
        samples, columns = self._shape(array)
        cursor.go(array.offset)
        if array.small is not None:
            table = np.frombuffer(array.small, dtype).reshape(array.width, array.height)
            table = table if self._turned(array) else table.T
            yield from ((k, table[:, k].astype(np.float64)) for k in wanted)
        elif self._turned(array) or columns == 1:  # sample after sample
            step = max(1, PIECE // (columns * dtype.itemsize))
            parts = []
            for start in range(0, samples, step):
                data = cursor.take(min(step, samples - start) * columns * dtype.itemsize)
                parts.append(np.frombuffer(data, dtype).reshape(-1, columns)[:, wanted].astype(np.float64))
            table = np.concatenate(parts)
            yield from ((k, table[:, j]) for j, k in enumerate(wanted))
        else:  # column after column
            for k in wanted:
                cursor.go(array.offset + k * samples * dtype.itemsize)
                yield k, np.frombuffer(cursor.take(samples * dtype.itemsize), dtype).astype(np.float64)

    @contextmanager
    def _told(self, start: int) -> Iterator[None]:
        """What is wrong inside the element at ``start``, in one line."""
        try:
            yield
        except (RecordingError, struct.error, zlib.error, ValueError) as error:
            raise RecordingError(
                f"{self.path} is damaged at byte {start}: {brief(error)}; copy it again, or {HELP}"
            ) from None


def _byte_order(path: Path, header: bytes) -> str:
    """ "<" or ">", from the header of the file."""
    if header.startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise RecordingError(f"{path} is a MAT file of version 7.3 (HDF5), which is not read; {HELP}")
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if order is None or struct.unpack(f"{order}H", header[124:126]) != (0x0100,):
        raise RecordingError(f"{path} is no MAT file of version 5; {HELP}")
    return order
