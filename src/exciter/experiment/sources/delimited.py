"""Logs in text: one line per sample, numbers separated by commas, semicolons, tabs, blanks or another character.

What the user does not say of a file is found from its first lines:

- a first line that starts with ``#``, ``%`` or ``//`` tells how comments start (else ``#``);
- the delimiter is the one of tab, semicolon, comma, bar and blanks that makes most cells of the first rows numbers;
- the first line is a header when it has words where the next line has numbers; a comment before the first row is one
  when it has as many words as there are columns.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.source import MOST_COLUMNS, Source, equal_blocks
from exciter.files import HIDDEN_END, HIDDEN_LINE_ENDS, csv_cells
from exciter.typing import Array

PIECE_CHARACTERS = 1 << 18  #: read at once
LINE_CHARACTERS_LIMIT = 1 << 20  #: 10 000 columns of 17 digits take a quarter of it
NUMBER_CHARACTERS_LIMIT = 1000  #: all digits of the smallest one are fewer
MISSING_WORDS = frozenset({"", "nan", "na", "n/a", "null", "none", "nan(ind)", "-nan(ind)"})
FORTRAN_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))[dD]([+-]?\d+)")  # 1.5D+03
HIDDEN_ENDS = tuple(mark.encode().decode("latin-1") for mark in HIDDEN_LINE_ENDS)  # every byte is a character
QUOTED_CELL = re.compile(r'"[^"]*"|[^\s"]+')
COMMENT_MARKS = ("#", "%", "//")
DELIMITERS = ("\t", ";", ",", "|", None)
DELIMITER_WORDS = {"whitespace": None, " ": None, "tab": "\t", "comma": ",", "semicolon": ";"}
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
LAYOUT_ROWS = 20  #: from which the layout is found


def text_pieces(path: Path) -> Iterator[tuple[int, str]]:
    """(number of the first line, whole lines) from the start of the file to its end.

    Every byte is one character (Latin-1): numbers need no more, and names are decoded where they are found.
    """
    number, rest = 1, ""
    with path.open(encoding="latin-1", newline=None) as file:
        text = file.read(PIECE_CHARACTERS)
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
            if len(rest) > LINE_CHARACTERS_LIMIT:
                raise RecordingError(
                    f"{path}: line {number} is longer than {LINE_CHARACTERS_LIMIT} characters; "
                    f"a log has one line per sample and at most {MOST_COLUMNS} columns"
                )
            text = file.read(PIECE_CHARACTERS)
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
        return [cell.strip('"').strip() for cell in QUOTED_CELL.findall(line)]
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
        if len(cell) > NUMBER_CHARACTERS_LIMIT:
            return None
        if (word := cell.lower()) in MISSING_WORDS or word in self.missing:
            return float("nan")
        if self.decimal != ".":
            if "." in cell:  # of thousands, or a decimal point: nobody knows
                return None
            cell = cell.replace(self.decimal, ".")
        if match := FORTRAN_NUMBER.fullmatch(cell):
            cell = f"{match[1]}e{match[2]}"
        try:
            return None if "_" in cell else float(cell)  # Python's own 1_000 is no notation of logs
        except ValueError:
            return None


@dataclass(frozen=True)
class TextLayout:
    """delimiter None: runs of blanks. first: number of the line with the first row of numbers, from 1."""

    delimiter: str | None
    comment: str
    names: tuple[str, ...]
    first: int
    notation: Notation


@dataclass(frozen=True)
class TextSettings:
    """What is known of a text file; None: to be found. skip: lines to leave out at the start. decimal: what stands
    before the fraction of a number, "." or ","; missing: words for values that are missing."""

    delimiter: str | None = None
    header: bool | None = None
    comment: str | None = None
    skip: int = 0
    decimal: str = "."
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        given = self.delimiter
        if given is not None and not (isinstance(given, str) and (given in DELIMITER_WORDS or _is_delimiter(given))):
            raise RecordingError(
                f"delimiter is {shown(given)}; give one character, or one of {', '.join(DELIMITER_WORDS)}"
            )
        if self.header not in (None, True, False):
            raise RecordingError(f"header is {shown(self.header)}; give true, false or nothing")
        if self.comment is not None and not (isinstance(self.comment, str) and self.comment.strip()):
            raise RecordingError(f"comment is {shown(self.comment)}; give the characters comments start with")
        if not isinstance(self.skip, int) or isinstance(self.skip, bool) or self.skip < 0:
            raise RecordingError(f"skip is {shown(self.skip)}; give the number of lines to leave out at the start")
        if self.decimal not in (".", ","):
            raise RecordingError(f"decimal is {shown(self.decimal)}; allowed are '.' and ','")
        words = self.missing
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) and word.strip() for word in words):
            raise RecordingError(f"missing is {shown(words)}; give a list of words that stand for no value, as ['ERR']")
        object.__setattr__(self, "missing", tuple(word.strip() for word in words))
        plain = Notation(self.decimal)
        if numbers := [word for word in self.missing if (value := plain.number(word)) is not None and value == value]:
            raise RecordingError(f"missing has '{numbers[0]}', which is a number; give words that stand for no value")

    @property
    def notation(self) -> Notation:
        return Notation.of(self.decimal, self.missing)


def _is_delimiter(text: str) -> bool:
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in '"\r\n+-.\0'


def find_layout(path: Path, settings: TextSettings) -> TextLayout:
    """Settings completed from the first lines of the file."""
    comment, remark, rows = _first_rows(path, settings)
    if not rows:
        raise RecordingError(f"{path} holds no rows of numbers; its lines are empty, comments or left out by skip")
    lines = [line.partition(comment)[0] for _, line in rows]
    notation = settings.notation
    if settings.delimiter is None:
        delimiter = _find_delimiter(path, rows[min(1, len(rows) - 1)][0], lines[1:] or lines, notation)
    else:
        delimiter = DELIMITER_WORDS.get(settings.delimiter, settings.delimiter)
    _check_marks(path, settings, comment, delimiter, quoted='"' in lines[-1])
    for (line_number, _), line in zip(rows, lines, strict=True):
        if _width(line, delimiter) > MOST_COLUMNS:
            raise RecordingError(f"{path}: line {line_number} has more than {MOST_COLUMNS} columns, which is the most")
    table = [cells(line, delimiter) for line in lines]
    if any(notation.number(cell) is None for cell in table[0]):
        table[0] = heading(rows[0][1], delimiter)  # a name may have the mark of comments in it: joint#1
    commented = heading(remark, delimiter)
    if settings.header is not False and _names_columns(commented, table[0], notation):
        return TextLayout(delimiter, comment, _names(commented), rows[0][0], notation)
    if settings.header is False or (settings.header is None and not _is_header(table, notation)):
        return TextLayout(delimiter, comment, tuple(str(k) for k in range(len(table[0]))), rows[0][0], notation)
    if len(rows) < 2:
        raise RecordingError(f"{path}: line {rows[0][0]} is a header ({rows[0][1][:60]}) and no rows of numbers follow")
    header = _fitting(table[0], table[1])
    if len(header) != len(table[1]):
        raise RecordingError(
            f"{path}: line {rows[0][0]} names {len(header)} columns and line {rows[1][0]} has {len(table[1])}; "
            "say what separates them (delimiter), and which lines are no data (skip)"
        )
    return TextLayout(delimiter, comment, _names(header), rows[1][0], notation)


def _check_marks(path: Path, settings: TextSettings, comment: str, delimiter: str | None, *, quoted: bool) -> None:
    """A character cannot mean two things."""
    if delimiter == settings.decimal and not quoted:  # quoted numbers stay whole
        raise RecordingError(
            f"{path}: delimiter and decimal are both '{delimiter}'; say what else separates the numbers, as ';', or "
            "put them in quotes"
        )
    if hidden := [word for word in settings.missing if comment in word]:
        raise RecordingError(
            f"{path}: missing has '{hidden[0]}', and what follows '{comment}' is a comment; say what comments start "
            "with instead (comment)"
        )


def _first_rows(path: Path, settings: TextSettings) -> tuple[str, str, list[tuple[int, str]]]:
    """How comments start, the last comment before the first row, and the first rows with their numbers."""
    comment, remark = settings.comment, ""
    rows: list[tuple[int, str]] = []
    for line_number, line in islice(numbered_lines(path), settings.skip, None):
        text = line.strip()
        if not text:
            continue
        if comment is None:
            comment = next((start for start in COMMENT_MARKS if text.startswith(start)), "#")
        if not text.startswith(comment):
            rows.append((line_number, line))
        elif not rows:
            remark = text.lstrip(comment)
        if len(rows) == LAYOUT_ROWS:
            break
    return comment or "#", remark, rows


def _width(line: str, delimiter: str | None) -> int:
    return len(line.split(None, MOST_COLUMNS + 1)) if delimiter is None else line.count(delimiter) + 1


def _find_delimiter(path: Path, line_number: int, lines: list[str], notation: Notation) -> str | None:
    """The delimiter that makes most cells numbers, and the same number of them in every line."""
    best: tuple[float, str | None] = (0.0, None)
    for delimiter in DELIMITERS:
        if delimiter == notation.decimal and '"' not in lines[-1]:
            continue
        if any(_width(line, delimiter) > MOST_COLUMNS for line in lines):
            return delimiter  # refused by the caller
        table = [cells(line, delimiter) for line in lines]
        if len(table[0]) < 2:
            continue
        flat = [cell for row in table for cell in row]
        share = sum(notation.number(cell) is not None for cell in flat) / len(flat)
        share /= len({len(row) for row in table})
        if share > best[0]:
            best = (share, delimiter)
    if best[0] < 1.0 and notation.decimal == ".":
        _refuse_decimal_commas(path, line_number, lines)
    return best[1]


def _refuse_decimal_commas(path: Path, line_number: int, lines: list[str]) -> None:
    for delimiter in (";", "\t", ",", None):
        table = [cells(line, delimiter) for line in lines]
        odd = [cell for row in table for cell in row if Notation().number(cell) is None]
        regular = len(table[0]) > 1 and len({len(row) for row in table}) == 1
        if odd and regular and all(map(DECIMAL_COMMA.fullmatch, odd)):
            raise RecordingError(decimal_comma(path, line_number, odd[0]))


def decimal_comma(path: Path, line_number: int, cell: str) -> str:
    """Message for a number with a decimal comma."""
    return f"{path}: line {line_number}: '{cell[:40]}' has a decimal comma; say decimal: \",\" in a recording.yaml"


def _is_header(table: list[list[str]], notation: Notation) -> bool:
    words = [notation.number(cell) is None for cell in table[0]]
    if not any(words) or len(table) < 2 or all(words) or len(table[0]) != len(table[1]):
        return any(words)
    return any(word and notation.number(cell) is not None for word, cell in zip(words, table[1], strict=True))


def _names_columns(words: list[str], row: list[str], notation: Notation) -> bool:
    """Whether the words of a comment name the columns of the first row, which must then be numbers."""
    return (
        len(words) == len(row)
        and any(notation.number(word) is None for word in words)
        and all(notation.number(cell) is not None for cell in row)
    )


def _fitting(header: list[str], row: list[str]) -> list[str]:
    """Lines that end with a delimiter have one empty cell more than there are names, or the other way round."""
    if len(row) == len(header) + 1 and not row[-1]:
        return [*header, ""]
    if len(header) == len(row) + 1 and not header[-1]:
        return header[:-1]
    return header


def _names(header: list[str]) -> tuple[str, ...]:
    """Names of all columns: a number where there is none, and ``name[0]``, ``name[1]``, … where one is repeated."""
    names = [cell or str(k) for k, cell in enumerate(header)]
    often, seen = Counter(names), Counter[str]()
    for k, name in enumerate(names):
        if often[name] > 1:
            names[k] = f"{name}[{seen[name]}]"
            seen[name] += 1
    return tuple(names)


# -- the numbers -------------------------------------------------------------------------------------------------------


class DelimitedText(Source):
    """A text file; what ``settings`` leave open is found from its first lines.

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
