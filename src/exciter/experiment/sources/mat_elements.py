"""The data elements of a MAT v5 file: one after the other, packed or not, never more in memory than was asked for."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from exciter.errors import RecordingError

PIECE = 1 << 16  # bytes


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
