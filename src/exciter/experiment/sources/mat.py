"""MATLAB's files of version 5 (``save -v6`` and ``save -v7``): arrays of numbers, also inside structs; data elements
one after the other, packed or not, never more in memory than was asked for.

Why not ``scipy.io.loadmat``: of 12 000 damaged files (``benchmarks/fuzz_readers.py``) it ended the process 26 times
(segmentation faults) and took 4 GB for one of a few kB; 20 000 nested cells overflow its stack, a struct array that
240 bytes announce took 41 s and 1.5 GB, 4 MB of packed zeros 4 GB (SciPy 1.17). ``whosmat`` does not tell the fields of
a struct. To make files safe for it, all headers had to be walked over first, as here; a ``frombuffer`` remains."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.sources.source import MOST_COLUMNS, ArrayFile, StoredArray, brief, check_unpacked, check_whole
from exciter.typing import Array

MAT_PIECE_BYTES = 1 << 16  #: read at once
MAT_HEADER_BYTES = 128
MATRIX, COMPRESSED = 14, 15  #: types of elements
STORED_DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
STRUCT, NUMBERS = 2, range(6, 16)  #: classes of arrays; cells, objects, text, sparse matrices, functions are others
COMPLEX_FLAG = 0x08
DEEPEST_STRUCT = 16  #: structs in structs
FIELD_NAMES_BYTES_LIMIT = 1 << 20
DIMENSIONS_BYTES_LIMIT = 256
RESAVE_ADVICE = "save it again in MATLAB: save('log.mat', '-v7', …)"


class ElementTag(NamedTuple):
    """Type and bytes of an element, whose data follow; ``small``: inside the eight bytes of the tag itself."""

    kind: int
    size: int
    small: bool


class ByteCursor:
    """Goes forwards through the bytes that ``read(n)`` gives, n at most at a time; ``end`` of them may be taken."""

    def __init__(self, read: Callable[[int], bytes], end: int, order: str) -> None:
        self._read, self.position, self.end = read, 0, end
        self.order = order  # "<" or ">"

    def take(self, count: int) -> bytes:
        if count > self.end - self.position:
            raise RecordingError(f"{count} bytes are announced where {self.end - self.position} are left")
        parts = []
        while count:
            part = self._read(min(count, MAT_PIECE_BYTES))
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
            self.take(min(position - self.position, MAT_PIECE_BYTES))

    def finish(self) -> None:
        """Packed data end with a checksum, which is compared when nothing is left."""
        self.go(self.end)
        self._read(1)

    def tag(self) -> ElementTag:
        """Of the next element; its data are next then."""
        (kind,) = struct.unpack(f"{self.order}I", self.take(4))
        if (size := kind >> 16) > 4:
            raise RecordingError(f"a small element announces {size} bytes, 4 is the most")
        if size:
            return ElementTag(kind & 0xFFFF, size, small=True)
        return ElementTag(kind, struct.unpack(f"{self.order}I", self.take(4))[0], small=False)

    def data(self, most: int) -> bytes:
        """The bytes of the next element; then the one after it is next."""
        tag = self.tag()
        if tag.size > most:
            raise RecordingError(f"an element that should be short announces {tag.size} bytes")
        data = self.take(tag.size)
        self.go(min(self.position + -tag.size % (4 if tag.small else 8), self.end))  # elements are aligned
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
                data = file.read(min(MAT_PIECE_BYTES, left))
                left -= len(data)
            if not data:
                break
            part = stream.decompress(data, count)
        return part

    return read


class MatArrays(ArrayFile):
    """The arrays of numbers in a MAT file; the fields of structs (1×1) are called ``rec.time``. (N, 1) and (1, N) are
    one column. Time runs along the longer side of a matrix: joints are kept in rows as often as in columns, and logs
    are longer than robots have joints. ``transposed`` decides instead: False (N, k), True (k, N). Single numbers, empty
    and complex arrays are no columns. The chosen columns are held in memory, up to 1 GiB."""

    def __init__(self, path: Path, transposed: bool | None = None) -> None:
        super().__init__(path, transposed)
        self._transposed = transposed
        self._size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(MAT_HEADER_BYTES)
            if header.startswith((b"MATLAB 7.3", b"\x89HDF")):
                raise RecordingError(f"{path} is a MAT file of version 7.3 (HDF5), which is not read; {RESAVE_ADVICE}")
            self._order = {b"IM": "<", b"MI": ">"}.get(header[126:128], "")
            if not self._order or struct.unpack(f"{self._order}H", header[124:126]) != (0x0100,):
                raise RecordingError(f"{path} is no MAT file of version 5; {RESAVE_ADVICE}")
            self._scan(file)
        if not self._arrays:
            raise RecordingError(f"{path} holds no arrays of numbers with more than one value")
        self._name_columns()
        if len(set(self.names)) < len(self.names):
            raise RecordingError(f"{path} has two arrays of the same name")

    def _scan(self, file: IO[bytes]) -> None:
        start, unpacked = MAT_HEADER_BYTES, 0
        while start < self._size:
            with self._damage_reported(start):
                cursor, tag, following = self._element(file, start)
            unpacked += tag.size
            check_unpacked(self.path, unpacked, self._size)
            with self._damage_reported(start):
                if tag.kind == MATRIX and not tag.small:
                    self._matrix(cursor, start, "", 0)
            start = following

    def _element(self, file: IO[bytes], start: int) -> tuple[ByteCursor, ElementTag, int]:
        """The element of the file at ``start``, unpacked, behind its tag, and where the next one starts."""
        file.seek(start)
        tag = ByteCursor(file.read, 8, self._order).tag()
        following = start + 8 + tag.size
        if following > self._size or tag.small:
            raise RecordingError(f"{tag.size} bytes are announced and {max(0, self._size - start - 8)} are left")
        packed = tag.kind == COMPRESSED
        file.seek(start + 8 if packed else start)
        cursor = ByteCursor(unpacking(file, tag.size) if packed else file.read, 8, self._order)
        tag = cursor.tag()
        cursor.end = 8 + tag.size
        return cursor, tag, following

    def _matrix(self, cursor: ByteCursor, element: int, called: str, depth: int) -> None:
        """Note the array that follows, or the fields of the struct that does; leave everything else where it is."""
        (word, _) = struct.unpack(f"{cursor.order}II", cursor.data(8))
        kind, flags = word & 0xFF, word >> 8 & 0xFF
        if kind != STRUCT and (kind not in NUMBERS or flags & COMPLEX_FLAG):
            return
        shape = np.frombuffer(cursor.data(DIMENSIONS_BYTES_LIMIT), f"{cursor.order}i4").tolist()
        own = cursor.data(FIELD_NAMES_BYTES_LIMIT).decode("latin-1")  # a field has no name of its own
        name = called or own
        if not name or len(shape) != 2 or min(shape) < 0:
            return
        if kind == STRUCT:
            if shape == [1, 1] and depth < DEEPEST_STRUCT:
                self._fields(cursor, element, name, depth + 1)
        elif math.prod(shape) > 1:
            self._array(cursor, element, name, shape[0], shape[1])

    def _fields(self, cursor: ByteCursor, element: int, name: str, depth: int) -> None:
        (length,) = struct.unpack(f"{cursor.order}i", cursor.data(4))
        text = cursor.data(FIELD_NAMES_BYTES_LIMIT)
        if length < 1:
            raise RecordingError(f"the fields of '{name}' have names of {length} characters")
        for at in range(0, len(text), length):
            field = text[at : at + length].partition(b"\0")[0].decode("latin-1")
            tag = cursor.tag()
            following = cursor.position + tag.size
            if tag.kind != MATRIX or tag.small or following > cursor.end:
                raise RecordingError(f"'{name}.{field}' is no array, or is cut off")
            if tag.size:
                self._matrix(cursor, element, f"{name}.{field}", depth)
            cursor.go(following)

    def _array(self, cursor: ByteCursor, element: int, name: str, height: int, width: int) -> None:
        tag = cursor.tag()
        stored = STORED_DTYPES.get(tag.kind)
        if stored is None or tag.size != height * width * np.dtype(stored).itemsize:
            raise RecordingError(f"'{name}' is {height}×{width} and {tag.size} bytes of type {tag.kind} follow")
        if cursor.position + tag.size > cursor.end:
            raise RecordingError(f"'{name}' is cut off")
        if len(self._arrays) == MOST_COLUMNS:
            raise RecordingError(f"there are more than {MOST_COLUMNS} arrays")
        single = 1 in (height, width)
        longer = width > height if self._transposed is None else self._transposed
        turned = height == 1 if single else longer
        rows, columns = (width, height) if turned else (height, width)
        dtype, by_column = np.dtype(f"{self._order}{stored}"), not turned and not single
        sizes = {"rows": rows, "columns": columns, "offset": cursor.position, "element": element}
        found = StoredArray(name=name, dtype=dtype, shape=(height, width), single=single, by_column=by_column, **sizes)
        self._arrays.append(found)

    def _tables(self, wanted: Mapping[StoredArray, list[int]]) -> Iterator[tuple[Array, ...]]:
        """All rows at once; arrays are noted in the order of their bytes."""
        values = sum(array.rows * len(columns) for array, columns in wanted.items())
        check_whole(self.path, values, "split the log, or save it as CSV or NPZ")
        loaded = []
        with self.path.open("rb") as file:
            for element, arrays in groupby(wanted, key=lambda array: array.element):
                with self._damage_reported(element):
                    cursor, _, _ = self._element(file, element)
                    for array in arrays:
                        cursor.go(array.offset)
                        step = max(1, MAT_PIECE_BYTES // (array.columns * array.dtype.itemsize))
                        loaded.append(np.concatenate(list(array.tables(cursor.take, wanted[array], step))))
                    cursor.finish()
        yield tuple(loaded)

    @contextmanager
    def _damage_reported(self, start: int) -> Iterator[None]:
        """What is wrong inside the element at ``start``, in one line."""
        try:
            yield
        except (RecordingError, struct.error, zlib.error, ValueError) as error:
            why = f"{self.path} is damaged at byte {start}: {brief(error)}; copy it again, or {RESAVE_ADVICE}"
            raise RecordingError(why) from None
