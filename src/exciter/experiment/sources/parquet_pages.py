"""Pages of a Parquet file, walked over before they are unpacked: a page says itself what it unpacks to, and readers
make room for that at its word. A header is a structure of Thrift's compact protocol, which begins with the kind of the
page, its bytes unpacked and packed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from exciter.errors import RecordingError

PAGE_BYTES_LIMIT = 1 << 28  #: of a page, unpacked; writers make pages of one megabyte
PAGE_HEADER_BYTES_LIMIT = 1 << 16  #: statistics are in it
MOST_PAGES = 1 << 20  #: of a column
DEEPEST_STRUCTURE = 8
LIST_TYPES, STRUCTURE, BINARY, MAP = (9, 10), 12, 8, 11
TRUE, FALSE, BYTE, DOUBLE = 1, 2, 3, 7
INTEGERS = (4, 5, 6)


class HeaderBytes:
    """Goes forwards through the bytes of a header."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        if self.at > len(self.data):
            raise RecordingError("the header of a page is cut off")
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
                raise RecordingError("the header of a page has a number of more than 64 bits")

    def whole(self) -> int:
        """Zigzag."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int, depth: int = 0) -> None:
        if depth > DEEPEST_STRUCTURE:
            raise RecordingError("the header of a page is nested too deeply")
        if kind in INTEGERS:
            self.varint()
        elif kind in (BYTE, DOUBLE):
            self.at += 1 if kind == BYTE else 8
        elif kind == BINARY:
            length = self.varint()
            self.at += length
        elif kind in LIST_TYPES:
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.varint()
            if count > len(self.data):
                raise RecordingError("the header of a page has a list that is longer than itself")
            for _ in range(count):
                self.skip(head & 15, depth + 1)
        elif kind == STRUCTURE:
            while (field := self.byte()) != 0:
                if not field >> 4:
                    self.varint()
                self.skip(field & 15, depth + 1)
        elif kind not in (TRUE, FALSE):
            raise RecordingError("the header of a page is damaged")


def page_sizes(data: bytes) -> tuple[int, int, int]:
    """Bytes of the header, of the page packed, and unpacked."""
    header, sizes, number = HeaderBytes(data), dict[int, int](), 0
    while (field := header.byte()) != 0:
        number = number + (field >> 4) if field >> 4 else header.whole()
        kind = field & 15
        if kind in INTEGERS and number in (1, 2, 3):
            sizes[number] = header.whole()
        else:
            header.skip(kind)
    if header.at > len(data) or not {2, 3} <= sizes.keys() or min(sizes[2], sizes[3]) < 0:
        raise RecordingError("the header of a page is damaged")
    return header.at, sizes[3], sizes[2]


def check_pages(path: Path, table: Any, names: Sequence[str]) -> None:
    """Refuse columns with pages that would take too much memory; one line."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for k in range(table.metadata.num_row_groups):
            group = table.metadata.row_group(k)
            for j in range(group.num_columns):
                column = group.column(j)
                if any(column.path_in_schema == name or column.path_in_schema.startswith(f"{name}.") for name in names):
                    _check_chunk(path, file, size, column)


def _check_chunk(path: Path, file: IO[bytes], size: int, column: Any) -> None:
    offsets = [column.data_page_offset]
    if column.has_dictionary_page and column.dictionary_page_offset is not None:
        offsets.append(column.dictionary_page_offset)
    at = min(one for one in offsets if one > 0) if any(one > 0 for one in offsets) else 0
    end = at + column.total_compressed_size
    if at < 4 or column.total_compressed_size < 0 or end > size:
        raise RecordingError(f"{path} is damaged: a column lies outside the file")
    for _ in range(MOST_PAGES):
        if at >= end:
            return
        file.seek(at)
        try:
            header, packed, unpacked = page_sizes(file.read(min(PAGE_HEADER_BYTES_LIMIT, end - at)))
        except RecordingError as error:
            raise RecordingError(f"{path} is damaged at byte {at}: {error}") from None
        if unpacked > PAGE_BYTES_LIMIT:
            why = f"{path} is damaged at byte {at}: a page of {packed} bytes unpacks to {unpacked}"
            raise RecordingError(f"{why}, at most {PAGE_BYTES_LIMIT} are read")
        at += header + packed
    raise RecordingError(f"{path} has a column of more than {MOST_PAGES} pages")
