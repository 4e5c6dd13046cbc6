"""Logs in text: one line per sample, numbers separated by commas, semicolons, tabs, blanks or another character."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.source import MOST_COLUMNS, Source, equal_blocks
from exciter.experiment.sources.text_layout import (
    DECIMAL_COMMA,
    HIDDEN_ENDS,
    Notation,
    TextSettings,
    cells,
    decimal_comma,
    find_layout,
    numbered_lines,
    text_pieces,
)
from exciter.files import HIDDEN_END
from exciter.typing import Array


class DelimitedText(Source):
    """A text file; what ``settings`` leave open is found from its first lines (see ``text_layout``).

    Columns are called as the header says, else ``0``, ``1``, … Empty cells, 'nan' and the settings' words for missing
    values are NaN. ``interleaved`` = k: one number per line, the k numbers of a sample after each other; columns ``0``
    … ``k−1`` (``name[0]`` … with a header).
    """

    def __init__(self, path: Path, settings: TextSettings | None = None, interleaved: int | None = None) -> None:
        self.path = path
        self.layout = find_layout(path, settings or TextSettings())
        self.interleaved = interleaved
        self._width = len(self.layout.names)
        self.names = self.layout.names if interleaved is None else self._interleaved_names(interleaved)

    def _interleaved_names(self, k: int) -> tuple[str, ...]:
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST_COLUMNS:
            raise RecordingError(
                f"interleaved is {shown(k)}; give the number of values of one sample, 1 … {MOST_COLUMNS}"
            )
        if self._width != 1:
            raise RecordingError(
                f"{self.path} has {self._width} columns; interleaved means one number per line, sample after sample"
            )
        name = self.layout.names[0]
        return tuple(str(j) if name == "0" else f"{name}[{j}]" for j in range(k))

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        if self.interleaved is None:
            return equal_blocks(self._tables(list(columns)), rows)
        return equal_blocks(self._samples(list(columns), self.interleaved), rows)

    def _samples(self, columns: list[int], k: int) -> Iterator[Array]:
        """Values one after the other, as samples of k."""
        rest, count = np.empty(0), 0
        for table in self._tables([0]):
            values = np.concatenate([rest, table[:, 0]])
            whole = len(values) - len(values) % k
            yield values[:whole].reshape(-1, k)[:, columns]
            rest, count = values[whole:], count + len(table)
        if len(rest):
            raise RecordingError(f"{self.path} has {count} values, which are no whole number of samples of {k}")

    def _tables(self, columns: list[int]) -> Iterator[Array]:
        first = self.layout.first
        for start, text in text_pieces(self.path):
            lines = text.split("\n")
            if start < first:
                lines = lines[first - start :]
            cut = [line.partition(self.layout.comment)[0] for line in lines] if self.layout.comment in text else lines
            filled = [line for line in cut if line and not line.isspace()]
            if not filled:
                continue
            table = None if self._unusual(text) else self._quickly(filled, columns)
            yield self._carefully(max(start, first), cut, columns) if table is None else table

    def _unusual(self, text: str) -> bool:
        """Quotes, words for missing values, points where numbers have commas, and characters at which others begin a
        new line are looked at cell by cell."""
        if any(mark in text for mark in HIDDEN_ENDS):
            return True
        decimal, words = self.layout.notation.decimal, self.layout.notation.missing
        if '"' in text or (decimal != "." and ("." in text or decimal == self.layout.delimiter)):
            return True
        small = text.lower() if words else ""
        return any(word in small for word in words)

    def _quickly(self, lines: list[str], columns: list[int]) -> Array | None:
        """NumPy's parser, which converts the chosen columns only; None when anything is unusual."""
        delimiter, width = self.layout.delimiter, self._width
        everything = len(columns) == width
        if not everything:  # of lines with too many cells NumPy takes the first
            widths = {len(line.split()) if delimiter is None else line.count(delimiter) + 1 for line in lines}
            if widths != {width}:
                return None
        chosen = None if everything else columns
        if self.layout.notation.decimal != ".":
            lines = [line.replace(self.layout.notation.decimal, ".") for line in lines]
        table = _parsed(lines, delimiter, chosen)
        if table is None and delimiter is not None:
            empty = re.compile(rf"(^|{re.escape(delimiter)}) *(?={re.escape(delimiter)}|$)", re.MULTILINE)
            table = _parsed(empty.sub(r"\1nan", "\n".join(lines)).split("\n"), delimiter, chosen)
        if table is None or not everything:
            return table
        return table[:, columns] if table.shape[1] == width else None

    def _carefully(self, start: int, lines: list[str], columns: list[int]) -> Array:
        """The same cell by cell: also empty and quoted ones, or the message that says which line is wrong."""
        rows = []
        for line_number, line in enumerate(lines, start=start):
            if not line or line.isspace():
                continue
            if any(mark in line for mark in HIDDEN_ENDS):
                raise RecordingError(f"{self.path}: line {line_number} has a character {HIDDEN_END}")
            row = cells(line, self.layout.delimiter)
            if len(row) != self._width:
                raise RecordingError(
                    f"{self.path}: line {line_number} has {len(row)} columns, expected {self._width}; "
                    "is the file cut off there, or is it no line of data (skip, comment)?"
                )
            rows.append([self._number(line_number, row[column]) for column in columns])
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(columns))

    def _number(self, line_number: int, cell: str) -> float:
        notation = self.layout.notation
        value = notation.number(cell)
        if value is not None:
            return value
        where = f"{self.path}: line {line_number}: '{cell[:40]}'"
        if notation.decimal == "." and DECIMAL_COMMA.fullmatch(cell):
            raise RecordingError(decimal_comma(self.path, line_number, cell))
        if notation.decimal != "." and Notation().number(cell) is not None:
            raise RecordingError(f"{where} has a point, and decimal is ','; neither 1.5 nor 1.000,5 is read then")
        raise RecordingError(
            f"{where} is not a number; lines that are no data are left out by skip or comment, and what stands for a "
            f"missing value is named in a recording.yaml: missing: ['{cell[:40]}']"
        )

    def place(self, row: int) -> tuple[str, int]:
        """Its line, which is looked for from the start of the file."""
        left = row * (self.interleaved or 1)
        for line_number, line in numbered_lines(self.path):
            cut = line.partition(self.layout.comment)[0]
            if line_number >= self.layout.first and cut and not cut.isspace():
                if left == 0:
                    return "line", line_number
                left -= 1
        return super().place(row)


def _parsed(lines: list[str], delimiter: str | None, columns: list[int] | None) -> Array | None:
    try:
        return np.loadtxt(lines, delimiter=delimiter, usecols=columns, comments=None, ndmin=2)
    except ValueError:
        return None
