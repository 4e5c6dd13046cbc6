"""Pages of a Parquet file, walked over before they are unpacked: a page says itself what it unpacks to, and readers
make room for that at its word. Headers, and the footer that says where columns lie, are structures of Thrift's compact
protocol: numbered fields. (pyarrow has that footer, too, but some damaged ones end the process: 2 of 1200.)"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from exciter.errors import RecordingError

PAGE_BYTES_LIMIT = 1 << 28  #: of a page, unpacked; writers make pages of one megabyte
PAGE_HEADER_BYTES_LIMIT = 1 << 16  #: statistics are in it
MOST_PAGES = 1 << 20  #: of a column
DEEPEST_STRUCTURE = 16
LIST_TYPES, STRUCTURE, BINARY = (9, 10), 12, 8
TRUE, FALSE, BYTE, DOUBLE = 1, 2, 3, 7
INTEGERS = (4, 5, 6)


class HeaderBytes:
    """Goes forwards through the bytes of a header."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        if self.at > len(self.data):
            raise RecordingError("a header is cut off")
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            one = self.byte()
            value |= (one & 0x7F) << shift
            shift += 7
            if not one & 0x80:
                return value
            if shift > 63:
                raise RecordingError("a header has a number of more than 64 bits")

    def whole(self) -> int:
        """Zigzag."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int, depth: int = 0) -> Any:
        """Whole numbers, bytes, lists, structures by the numbers of their fields; None for what nobody asks for."""
        if depth > DEEPEST_STRUCTURE:
            raise RecordingError("a header is nested too deeply")
        if kind in INTEGERS:
            return self.whole()
        if kind in (BYTE, DOUBLE):
            self.at += 1 if kind == BYTE else 8
        elif kind == BINARY:
            length = self.varint()
            self.at += length
            return self.data[self.at - length : self.at]
        elif kind in LIST_TYPES:
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.varint()
            if count > len(self.data):
                raise RecordingError("a header has a list that is longer than itself")
            if head & 15 in (TRUE, FALSE):
                self.at += count
                return None
            return [self.value(head & 15, depth + 1) for _ in range(count)]
        elif kind == STRUCTURE:
            return self.fields(depth)
        elif kind not in (TRUE, FALSE):
            raise RecordingError("a header is damaged")
        return None

    def fields(self, depth: int = 0) -> dict[int, Any]:
        found, number = dict[int, Any](), 0
        while (head := self.byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self.whole()
            found[number] = self.value(head & 15, depth + 1)
        if self.at > len(self.data):
            raise RecordingError("a header is cut off")
        return found


def page_sizes(data: bytes) -> tuple[int, int, int]:
    """Bytes of the header, of the page packed, and unpacked."""
    header = HeaderBytes(data)
    found = header.fields()
    unpacked, packed = found.get(2), found.get(3)
    if not isinstance(packed, int) or not isinstance(unpacked, int) or min(packed, unpacked) < 0:
        raise RecordingError("the header of a page is damaged")
    return header.at, packed, unpacked


def column_places(footer: bytes) -> Iterator[tuple[str, int, int]]:
    """Of every column of every group of rows: its path, where its first page lies, and its bytes there."""
    for group in _list(HeaderBytes(footer).fields().get(4)):
        for chunk in _list(group.get(1)):
            about = chunk.get(3)
            about = about if isinstance(about, dict) else {}
            names, size, first = about.get(3), about.get(7), about.get(9)
            names = names if isinstance(names, list) else []
            texts = [name.decode("utf-8", "replace") for name in names if isinstance(name, bytes)]
            if not texts or not isinstance(size, int) or not isinstance(first, int):
                raise RecordingError("it does not say where a column lies")
            dictionary = about.get(11)
            if isinstance(dictionary, int) and 0 < dictionary < first:
                first = dictionary
            yield ".".join(texts), first, size


def _list(given: Any) -> list[dict[int, Any]]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise RecordingError("it does not say where columns lie")
    return given


def check_pages(path: Path, names: Sequence[str]) -> None:
    """Refuse columns with pages that would take too much memory; one line."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(size - 8)
        (length,) = struct.unpack("<I", file.read(4))
        file.seek(size - 8 - length)
        try:
            places = list(column_places(file.read(length)))
        except RecordingError as error:
            raise RecordingError(f"{path} has a damaged footer: {error}") from None
        for column, at, packed in places:
            if any(column == name or column.startswith(f"{name}.") for name in names):
                _check_chunk(path, file, size, at, packed)


def _check_chunk(path: Path, file: IO[bytes], size: int, at: int, packed: int) -> None:
    end = at + packed
    if at < 4 or packed < 0 or end > size:
        raise RecordingError(f"{path} is damaged: a column lies outside the file")
    for _ in range(MOST_PAGES):
        if at >= end:
            return
        file.seek(at)
        try:
            header, page, unpacked = page_sizes(file.read(min(PAGE_HEADER_BYTES_LIMIT, end - at)))
        except RecordingError as error:
            raise RecordingError(f"{path} is damaged at byte {at}: {error}") from None
        if unpacked > PAGE_BYTES_LIMIT:
            why = f"{path} is damaged at byte {at}: a page of {page} bytes unpacks to {unpacked}"
            raise RecordingError(f"{why}, at most {PAGE_BYTES_LIMIT} are read")
        at += header + page
    raise RecordingError(f"{path} has a column of more than {MOST_PAGES} pages")
