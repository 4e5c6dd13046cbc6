"""A file as a table of numbers with named columns, read in pieces so that its size does not matter.

How much of a file is taken, and how much it may become when it is unpacked.

Packed zeros shrink about a thousandfold, so a small file can hold more numbers than a computer has memory for. Rows
are read in blocks, whatever their number; but who asks for all of them must not be surprised. A recording has noise
somewhere, which hardly shrinks: a file that becomes very large and shrank very much, too, is not one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from exciter.errors import RecordingError
from exciter.typing import Array

MOST_UNPACKED = 1 << 30  # bytes that any file may become
MOST_SHRUNK = 200  # times its size that a larger one may become
MOST_WHOLE = 1 << 30  # bytes of columns that cannot be read row by row
MOST_COLUMNS = 10_000  # a log of a robot has some dozens


def brief(words: object) -> str:
    """What a file or a library says, short enough for a message; damaged files say long things."""
    text = " ".join(str(words).split())
    return text if len(text) <= 120 else f"{text[:120]} …"


def check_unpacked(path: Path, unpacked: int, packed: int) -> None:
    """Refuse what no recording shrinks to; constant signals beside measured ones pass, and so do short ones alone."""
    if unpacked > MOST_UNPACKED and unpacked > MOST_SHRUNK * packed:
        raise RecordingError(
            f"{path} has {packed} bytes and unpacks to {unpacked}, as no recording does; "
            "if it is one, save it without compression"
        )


def check_whole(path: Path, values: int, advice: str) -> None:
    """Refuse columns of ``values`` numbers that would have to be in memory all at once."""
    if 8 * values > MOST_WHOLE:
        raise RecordingError(
            f"{path}: the chosen columns need {8 * values} bytes at once, at most {MOST_WHOLE} are taken; {advice}"
        )


def equal_blocks(tables: Iterable[Array], rows: int) -> Iterator[Array]:
    """The rows of all tables in order, ``rows`` at a time; only the last block is shorter."""
    if rows < 1:
        raise RecordingError(f"blocks of {rows} rows were asked for; give at least 1")
    held: list[Array] = []
    count = 0
    for table in _readable(tables):
        while count + len(table) >= rows:
            taken = rows - count
            yield _joined([*held, table[:taken]])
            held, count, table = [], 0, table[taken:]
        if len(table):
            held.append(table)
            count += len(table)
    if held:
        yield _joined(held)


def _readable(tables: Iterable[Array]) -> Iterator[Array]:
    try:
        yield from tables
    except OSError as error:  # the file has gone meanwhile, or its disk
        raise RecordingError(f"cannot read '{error.filename or 'the file'}': {error.strerror or error}") from None


def _joined(tables: list[Array]) -> Array:
    return tables[0] if len(tables) == 1 else np.concatenate(tables)


class Source(ABC):
    """Columns ``names`` of the file ``path``.

    An array of shape (N, 7) under the key ``positions`` (NPZ, MAT) is columns ``positions[0]`` … ``positions[6]``.
    """

    path: Path
    names: tuple[str, ...]

    @abstractmethod
    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        """Pieces (≤ rows, len(columns)) of the chosen columns, from the first row to the last; every piece but the
        last has exactly ``rows`` rows."""

    def place(self, row: int) -> tuple[str, int]:
        """Where a row (from 0) is for people who look for it: a word and a number."""
        return "sample", row

    def find(self, wanted: str | int | Sequence[str | int]) -> tuple[int, ...]:
        """Columns by name, by number from 0, or all of a group ``name[0]``, ``name[1]``, …"""
        if isinstance(wanted, str | int):
            return self._find_one(wanted)
        return tuple(column for one in wanted for column in self._find_one(one))

    def _find_one(self, wanted: str | int) -> tuple[int, ...]:
        if isinstance(wanted, int) and not isinstance(wanted, bool):
            if not 0 <= wanted < len(self.names):
                raise RecordingError(f"{self.path}: there is no column {wanted}; columns are 0 … {len(self.names) - 1}")
            return (wanted,)
        for names in (self.names, [name.strip() for name in self.names]):
            if wanted in names:
                return (names.index(str(wanted)),)
        group = tuple(k for k, name in enumerate(self.names) if name.startswith(f"{wanted}["))
        if not group:
            shown = ", ".join(self.names[:12]) + (f", … ({len(self.names)} in all)" if len(self.names) > 12 else "")
            raise RecordingError(f"{self.path}: there is no column '{wanted}'; columns are {shown}")
        return group
