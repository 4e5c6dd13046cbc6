"""A file as a table of numbers with named columns, read in pieces so that its size does not matter.

Packed zeros shrink about a thousandfold, so a small file can hold more numbers than a computer has memory for. A
recording has noise somewhere, which hardly shrinks: a file that becomes very large and shrank very much is refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.notes import Note
from exciter.typing import Array

UNPACKED_BYTES_LIMIT = 1 << 30  #: that any file may become
UNPACKED_RATIO_LIMIT = 200  #: times its size that a larger one may become
COLUMN_BYTES_LIMIT = 1 << 30  #: of columns that cannot be read row by row
MOST_COLUMNS = 10_000  #: of a file; a log of a robot has some dozens
MESSAGE_CHARACTERS = 120  #: of what a damaged file or a library says
LISTED_COLUMNS = 12  #: in a message


def brief(words: object) -> str:
    """What a file or a library says, short enough for a message; damaged files say long things."""
    text = " ".join(str(words).split())
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[:MESSAGE_CHARACTERS]} …"


def listed(names: Sequence[str]) -> str:
    """The first columns of a file, and how many there are."""
    more = f", … ({len(names)} in all)" if len(names) > LISTED_COLUMNS else ""
    return ", ".join(names[:LISTED_COLUMNS]) + more


def check_unpacked(path: Path, unpacked: int, packed: int) -> None:
    """Refuse what no recording shrinks to; constant signals beside measured ones pass, and so do short ones alone."""
    if unpacked > UNPACKED_BYTES_LIMIT and unpacked > UNPACKED_RATIO_LIMIT * packed:
        why = f"{path} has {packed} bytes and unpacks to {unpacked}, as no recording does; if it is one, save it "
        raise RecordingError(f"{why}without compression")


def check_whole(path: Path, values: int, advice: str) -> None:
    """Refuse columns of ``values`` numbers that would have to be in memory all at once."""
    if (size := 8 * values) > COLUMN_BYTES_LIMIT:
        why = f"{path}: the chosen columns need {size} bytes at once, at most {COLUMN_BYTES_LIMIT} are taken; {advice}"
        raise RecordingError(why)


def equal_blocks(tables: Iterable[Array], rows: int) -> Iterator[Array]:
    """The rows of all tables in order, ``rows`` at a time; only the last block is shorter."""
    if rows < 1:
        raise RecordingError(f"blocks of {rows} rows were asked for; give at least 1")
    held: list[Array] = []
    count = 0
    try:
        for table in tables:
            while count + len(table) >= rows:
                taken = rows - count
                yield np.concatenate([*held, table[:taken]]) if held else table[:taken]
                held, count, table = [], 0, table[taken:]
            held += [table] if len(table) else []
            count += len(table)
    except OSError as error:  # the file has gone meanwhile, or its disk
        raise RecordingError(f"cannot read '{error.filename or 'the file'}': {error.strerror or error}") from None
    if held:
        yield np.concatenate(held)


class Source(ABC):
    """Columns ``names`` of the file ``path``. An array (N, 7) of NPZ or MAT has columns ``name[0]`` … ``name[6]``.
    notes: on what was found in the file and is not given as a row."""

    path: Path
    names: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    @abstractmethod
    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        """Pieces (rows, len(columns)) of the chosen columns, from first to last row; only the last is shorter."""

    @property
    def read_from(self) -> Path:
        """The file itself, where ``path`` is a folder of several."""
        return self.path

    def told_joints(self, column: str) -> tuple[str, ...]:
        """Names of the joints whose columns ``column[0]``, … are, where the file says it; else none."""
        return ()

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
            raise RecordingError(f"{self.path}: there is no column '{wanted}'; columns are {listed(self.names)}")
        return group


@dataclass(frozen=True)
class StoredArray:
    """``rows`` samples of ``columns`` numbers, ``offset`` bytes into a stream that starts at ``element`` of a MAT file;
    shape: as the file has it. single: called as the array. by_column: a whole column comes before the next."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    rows: int
    columns: int
    offset: int
    single: bool
    by_column: bool
    element: int = 0

    def column_name(self, k: int) -> str:
        if not self.name:  # NPY: there is none
            return str(k)
        return self.name if self.single else f"{self.name}[{k}]"

    def __str__(self) -> str:
        return f"'{self.name}' is {'×'.join(map(str, self.shape))}"

    def tables(self, take: Callable[[int], bytes], chosen: list[int], step: int) -> Iterator[Array]:
        """The chosen columns, ``step`` rows at a time; ``take(n)`` gives the next n bytes of the data."""
        if not self.by_column:
            width = self.columns * self.dtype.itemsize
            for start in range(0, self.rows, step):
                data = take(min(step, self.rows - start) * width)
                yield np.frombuffer(data, self.dtype).reshape(-1, self.columns)[:, chosen].astype(np.float64)
            return
        columns = (np.frombuffer(take(self.rows * self.dtype.itemsize), self.dtype) for _ in range(self.columns))
        kept = {k: column.astype(np.float64) for k, column in enumerate(columns) if k in chosen}
        table = np.column_stack([kept[k] for k in chosen])
        for start in range(0, self.rows, step):
            yield table[start : start + step]


class ArrayFile(Source):
    """Named arrays of numbers in one file."""

    def __init__(self, path: Path, transposed: bool | None) -> None:
        if transposed not in (None, True, False):
            raise RecordingError(f"transposed is {shown(transposed)}; give true, false or nothing")
        self.path = path
        self._arrays: list[StoredArray] = []

    def _name_columns(self) -> None:
        self._owner = [(a, k) for a, array in enumerate(self._arrays) for k in range(array.columns)]
        if len(self._owner) > MOST_COLUMNS:
            widest = max(self._arrays, key=lambda array: array.columns)
            why = f"{self.path} has {len(self._owner)} columns, at most {MOST_COLUMNS} are read; {widest}: samples "
            raise RecordingError(f"{why}must run along the rows, or say transposed: true")
        self.names = tuple(self._arrays[a].column_name(k) for a, k in self._owner)

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        chosen = [self._owner[column] for column in columns]
        wanted = {a: sorted({k for owner, k in chosen if owner == a}) for a in sorted({a for a, _ in chosen})}
        if len({self._arrays[a].rows for a in wanted}) > 1:
            unlike = ", ".join(str(self._arrays[a]) for a in list(wanted)[:6])
            raise RecordingError(f"{self.path}: columns of one log need as many samples each; {unlike} (transposed?)")
        places = [(list(wanted).index(a), wanted[a].index(k)) for a, k in chosen]
        tables = self._tables({self._arrays[a]: numbers for a, numbers in wanted.items()})
        return equal_blocks((np.column_stack([own[i][:, j] for i, j in places]) for own in tables), rows)

    @abstractmethod
    def _tables(self, wanted: Mapping[StoredArray, list[int]]) -> Iterator[tuple[Array, ...]]:
        """The next rows of the columns wanted of each array, as many of all; refused what takes too much memory."""
