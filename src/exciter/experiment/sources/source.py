"""A file as a table of numbers with named columns, read in pieces so that its size does not matter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from exciter.errors import RecordingError
from exciter.typing import Array

MOST_COLUMNS = 10_000  # a log of a robot has some dozens


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
