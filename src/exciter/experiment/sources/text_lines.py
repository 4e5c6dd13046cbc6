"""The lines of a text file in pieces of bounded size, and the cells of a line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exciter.errors import RecordingError
from exciter.experiment.sources.source import MOST_COLUMNS
from exciter.files import HIDDEN_LINE_ENDS, csv_cells

PIECE = 1 << 18  # characters read at once
MOST_CHARACTERS = 1 << 20  # of one line; 10 000 columns of 17 digits take a quarter of it
MOST_DIGITS = 1000  # of one number; all digits of the smallest one are fewer
MISSING = frozenset(
    {"", "nan", "na", "n/a", "null", "none", "nan(ind)", "-nan(ind)"}
)  # what programs write for no value
FORTRAN = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))[dD]([+-]?\d+)")  # 1.5D+03
HIDDEN_ENDS = tuple(mark.encode().decode("latin-1") for mark in HIDDEN_LINE_ENDS)  # every byte is a character
QUOTED = re.compile(r'"[^"]*"|[^\s"]+')


def text_pieces(path: Path) -> Iterator[tuple[int, str]]:
    """(number of the first line, whole lines) from the start of the file to its end.

    Every byte is one character (Latin-1): numbers need no more, and names are decoded where they are found.
    """
    number, rest = 1, ""
    with path.open(encoding="latin-1", newline=None) as file:
        text = file.read(PIECE)
        if text.startswith(("\xff\xfe", "\xfe\xff")):
            raise RecordingError(f"{path} is text in UTF-16; save it as UTF-8")
        text = text.removeprefix("\xef\xbb\xbf")  # the byte order mark of UTF-8
        while text:
            if "\0" in text:
                line = number + (rest + text).partition("\0")[0].count("\n")
                raise RecordingError(
                    f"{path}: line {line} has a NUL byte; a damaged or binary file is not read as text"
                )
            whole, newline, rest = (rest + text).rpartition("\n")
            if newline:
                yield number, whole
                number += whole.count("\n") + 1
            if len(rest) > MOST_CHARACTERS:
                raise RecordingError(
                    f"{path}: line {number} is longer than {MOST_CHARACTERS} characters; "
                    f"a log has one line per sample and at most {MOST_COLUMNS} columns"
                )
            text = file.read(PIECE)
    if rest:
        yield number, rest


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line with its number, from 1."""
    for start, text in text_pieces(path):
        yield from enumerate(text.split("\n"), start=start)


def cells(line: str, delimiter: str | None) -> list[str]:
    """The cells of a line; delimiter None: any run of blanks and tabs."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    if delimiter is None:
        return [cell.strip('"').strip() for cell in QUOTED.findall(line)]
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True), [])
        return [cell.strip() for cell in row]
    except csv.Error:
        return [cell.strip() for cell in line.split(delimiter)]


def heading(line: str, delimiter: str | None) -> list[str]:
    """The cells of a line that names columns: its bytes are UTF-8 where they can be, and a blank at the start of a name
    counts where the name is in quotes."""
    text = _decoded(line)
    row = cells(text, None) if delimiter is None else [cell.rstrip() for cell in csv_cells(text, delimiter)]
    return row if text is not line else [_decoded(cell).strip() for cell in row]  # several encodings in one line


def _decoded(text: str) -> str:
    """The same text where its bytes are no UTF-8."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


@dataclass(frozen=True)
class Notation:
    """How a log writes its numbers. decimal: "." or ","; missing: words for no value, beside those that are usual."""

    decimal: str = "."
    missing: frozenset[str] = frozenset()

    @classmethod
    def of(cls, decimal: str, words: Iterable[str]) -> Notation:
        """Words in any case; as text of UTF-8 looks when every byte is a character, too."""
        small = {word.lower() for word in words}
        return cls(decimal, frozenset(small | {word.encode().decode("latin-1").lower() for word in words}))

    def number(self, cell: str) -> float | None:
        """The number of a cell, NaN where it holds none, None when it is something else."""
        if len(cell) > MOST_DIGITS:
            return None
        if (word := cell.lower()) in MISSING or word in self.missing:
            return float("nan")
        if self.decimal != ".":
            if "." in cell:  # of thousands, or a decimal point: nobody knows
                return None
            cell = cell.replace(self.decimal, ".")
        if match := FORTRAN.fullmatch(cell):
            cell = f"{match[1]}e{match[2]}"
        try:
            return None if "_" in cell else float(cell)  # Python's own 1_000 is no notation of logs
        except ValueError:
            return None
