"""Logs in text: one line per sample, numbers separated by commas, semicolons, tabs, blanks or another character.

What the user does not say of a file is found from its first lines:

- a first line that starts with ``#``, ``%`` or ``//`` tells how comments start (else ``#``);
- the delimiter is the one of tab, semicolon, comma, bar and blanks that makes most cells of the first rows numbers;
- the first line is a header when it has words where the next line has numbers; a comment before the first row is one
  when it has as many words as there are columns.

A logger that is killed while it writes leaves part of a line at the end of its file: fewer cells than columns, or a
last cell that is the beginning of a number. That line is left out, and told; any other broken line is refused."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.source import MOST_COLUMNS, Source, equal_blocks
from exciter.files import HIDDEN_END, HIDDEN_LINE_ENDS, csv_cells
from exciter.notes import warning
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
BEGUN_NUMBER = re.compile(r"[+-]?\d*\.?\d*([eEdD][+-]?\d*)?")  # 1.5e-, -, 0.
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
LAYOUT_ROWS = 20  #: from which the layout is found


def text_pieces(path: Path) -> Iterator[tuple[int, str]]:
    """(number of the first line, whole lines) from the start of the file to its end. Every byte is one character
    (Latin-1): numbers need no more, and names are decoded where they are found."""
    number, rest = 1, ""
    with path.open(encoding="latin-1", newline=None) as file:
        text = file.read(PIECE_CHARACTERS)
        if text.startswith(("\xff\xfe", "\xfe\xff")):
            raise RecordingError(f"{path} is text in UTF-16; save it as UTF-8")
        text = text.removeprefix("\xef\xbb\xbf")  # the byte order mark of UTF-8
        while text:
            if "\0" in text:
                line = number + (rest + text).partition("\0")[0].count("\n")
                why = f"{path}: line {line} has a NUL byte; a damaged or binary file is not read as text"
                raise RecordingError(why)
            whole, newline, rest = (rest + text).rpartition("\n")
            if newline:
                yield number, whole
                number += whole.count("\n") + 1
            if len(rest) > LINE_CHARACTERS_LIMIT:
                why = f"{path}: line {number} is longer than {LINE_CHARACTERS_LIMIT} characters; a log has one line "
                raise RecordingError(f"{why}per sample and at most {MOST_COLUMNS} columns")
            text = file.read(PIECE_CHARACTERS)
    if rest:
        yield number, rest


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line with its number, from 1."""
    for start, text in text_pieces(path):
        yield from enumerate(text.split("\n"), start=start)


def first_rows(
    pieces: Iterable[Iterable[tuple[int, str]]], comment: str | None, skip: int, enough: int
) -> tuple[str, str, list[tuple[int, str]]]:
    """How comments start, the last comment before the first row, and rows with their numbers: all of the pieces that
    are needed until there are enough."""
    remark, rows = "", list[tuple[int, str]]()
    for lines in pieces:
        for number, line in lines:
            text = line.strip()
            if not text or number <= skip:
                continue
            if comment is None:
                comment = next((mark for mark in COMMENT_MARKS if text.startswith(mark)), "#")
            if not text.startswith(comment):
                rows.append((number, line))
            elif not rows:
                remark = text.lstrip(comment)
        if len(rows) >= enough:
            break
    return comment or "#", remark, rows


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
    """The cells of a line that names columns: UTF-8 where it can be; a blank at the start of a quoted name counts."""
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
    """How a log writes its numbers. decimal: "." or ","; absent: words for no value beside the usual ones; missing: the
    same in any case, and as text of UTF-8 looks when every byte is a character."""

    decimal: str = "."
    absent: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: Path, decimal: str, given: Sequence[str]) -> Notation:
        if decimal not in (".", ","):
            raise RecordingError(f"{path}: decimal is {shown(decimal)}; allowed are '.' and ','")
        if not isinstance(given, list | tuple) or not all(isinstance(word, str) and word.strip() for word in given):
            wanted = "a list of words that stand for no value, as ['ERR']"
            raise RecordingError(f"{path}: missing is {shown(given)}; give {wanted}")
        plain, words = cls(decimal), tuple(word.strip() for word in given)
        if numbers := [word for word in words if (value := plain.number(word)) is not None and value == value]:
            wanted = "give words that stand for no value"
            raise RecordingError(f"{path}: missing has '{numbers[0]}', which is a number; {wanted}")
        small = {text.lower() for word in words for text in (word, word.encode().decode("latin-1"))}
        return cls(decimal, words, frozenset(small))

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


def _is_delimiter(given: Any) -> bool:
    if not isinstance(given, str) or given in DELIMITER_WORDS:
        return isinstance(given, str)
    return len(given) == 1 and given.isascii() and not given.isalnum() and given not in '"\r\n+-.\0'


def _width(line: str, delimiter: str | None) -> int:
    return len(line.split(None, MOST_COLUMNS + 1)) if delimiter is None else line.count(delimiter) + 1


def decimal_comma(path: Path, line_number: int, cell: str) -> str:
    return f"{path}: line {line_number}: '{cell[:40]}' has a decimal comma; say decimal: \",\" in a recording.yaml"


def _is_header(table: list[list[str]], notation: Notation) -> bool:
    words = [notation.number(cell) is None for cell in table[0]]
    if not any(words) or len(table) < 2 or all(words) or len(table[0]) != len(table[1]):
        return any(words)
    return any(word and notation.number(cell) is not None for word, cell in zip(words, table[1], strict=True))


def column_names(header: list[str]) -> tuple[str, ...]:
    """Names of all columns: a number where there is none, and ``name[0]``, ``name[1]``, … where one is repeated."""
    names = [cell or str(k) for k, cell in enumerate(header)]
    often, seen = Counter(names), Counter[str]()
    for k, name in enumerate(names):
        if often[name] > 1:
            names[k] = f"{name}[{seen[name]}]"
            seen[name] += 1
    return tuple(names)


class DelimitedText(Source):
    """A text file. What is not given is found from its first lines: delimiter (runs of blanks: whitespace), header,
    comment. skip: lines to leave out at the start. decimal: what stands before the fraction of a number, "." or ",";
    missing: words for values that are missing, beside empty cells and 'nan'.
    Columns are called as the header says, else ``0``, ``1``, … ``interleaved`` = k: one number per line, the k numbers
    of a sample after each other; columns ``0`` … ``k−1`` (``name[0]`` … with a header)."""

    def __init__(
        self,
        path: Path,
        delimiter: str | None = None,
        header: bool | None = None,
        comment: str | None = None,
        skip: int = 0,
        decimal: str = ".",
        missing: Sequence[str] = (),
        interleaved: int | None = None,
    ) -> None:
        self.path, self.interleaved = path, interleaved
        if delimiter is not None and not _is_delimiter(delimiter):
            allowed = f"one character, or one of {', '.join(DELIMITER_WORDS)}"
            raise RecordingError(f"{path}: delimiter is {shown(delimiter)}; give {allowed}")
        if header not in (None, True, False):
            raise RecordingError(f"{path}: header is {shown(header)}; give true, false or nothing")
        if comment is not None and not (isinstance(comment, str) and comment.strip()):
            raise RecordingError(f"{path}: comment is {shown(comment)}; give the characters comments start with")
        if not isinstance(skip, int) or isinstance(skip, bool) or skip < 0:
            raise RecordingError(f"{path}: skip is {shown(skip)}; give the number of lines to leave out at the start")
        self.notation = Notation.of(path, decimal, missing)
        self.comment, remark, rows = first_rows(((one,) for one in numbered_lines(path)), comment, skip, LAYOUT_ROWS)
        if not rows:
            lines = "its lines are empty, comments or left out by skip"
            raise RecordingError(f"{path} holds no rows of numbers; {lines}")
        self._find_layout(delimiter, header, remark, rows[:-1] if 3 < len(rows) < LAYOUT_ROWS else rows)
        self._width = len(self.names)
        self._cut = len(rows) > 3 and self._is_cut(last := _last_line(path))
        if self._cut:
            text = f"the last line ({shown(last.strip())}) is cut off, as where a logger was stopped; it is left out"
            self.notes = (warning("last line", text),)
        if interleaved is not None:
            self.names = self._interleaved_names(interleaved)

    def _find_layout(self, given: str | None, headed: bool | None, remark: str, rows: list[tuple[int, str]]) -> None:
        """delimiter (None: runs of blanks), names, and first: number of the line with the first row of numbers."""
        lines, notation = [line.partition(self.comment)[0] for _, line in rows], self.notation
        if given is None:
            self.delimiter = self._find_delimiter(rows[min(1, len(rows) - 1)][0], lines[1:] or lines)
        else:
            self.delimiter = DELIMITER_WORDS.get(given, given)
        self._check_marks(quoted='"' in lines[-1])
        for (line_number, _), line in zip(rows, lines, strict=True):
            if _width(line, self.delimiter) > MOST_COLUMNS:
                most = f"has more than {MOST_COLUMNS} columns, which is the most"
                raise RecordingError(f"{self.path}: line {line_number} {most}")
        table = [cells(line, self.delimiter) for line in lines]
        if any(notation.number(cell) is None for cell in table[0]):
            table[0] = heading(rows[0][1], self.delimiter)  # a name may have the mark of comments in it: joint#1
        commented, self.first = heading(remark, self.delimiter), rows[0][0]
        named = len(commented) == len(table[0]) and any(notation.number(word) is None for word in commented)
        if headed is not False and named and all(notation.number(cell) is not None for cell in table[0]):
            self.names = column_names(commented)
        elif headed is False or (headed is None and not _is_header(table, notation)):
            self.names = tuple(str(k) for k in range(len(table[0])))
        elif len(rows) < 2:
            why = f"{self.path}: line {self.first} is a header ({rows[0][1][:60]}) and no rows of numbers follow"
            raise RecordingError(why)
        else:
            header, row = table[:2]
            if len(row) == len(header) + 1 and not row[-1]:  # lines that end with a delimiter have an empty cell more,
                header = [*header, ""]
            elif len(header) == len(row) + 1 and not header[-1]:  # or the header does
                header = header[:-1]
            if len(header) != len(row):
                why = f"{self.path}: line {self.first} names {len(header)} columns and line {rows[1][0]} has "
                why += f"{len(row)}; say what separates them (delimiter), and which lines are no data (skip)"
                raise RecordingError(why)
            self.names, self.first = column_names(header), rows[1][0]

    def _check_marks(self, *, quoted: bool) -> None:
        """A character cannot mean two things."""
        if self.delimiter == self.notation.decimal and not quoted:  # quoted numbers stay whole
            why = f"{self.path}: delimiter and decimal are both '{self.delimiter}'; say what else separates the "
            raise RecordingError(f"{why}numbers, as ';', or put them in quotes")
        if hidden := [word for word in self.notation.absent if self.comment in word]:
            why = f"{self.path}: missing has '{hidden[0]}', and what follows '{self.comment}' is a comment; say what "
            raise RecordingError(f"{why}comments start with instead (comment)")

    def _find_delimiter(self, line_number: int, lines: list[str]) -> str | None:
        """The delimiter that makes most cells numbers, and the same number of them in every line."""
        best: tuple[float, str | None] = (0.0, None)
        for delimiter in DELIMITERS:
            if delimiter == self.notation.decimal and '"' not in lines[-1]:
                continue
            if any(_width(line, delimiter) > MOST_COLUMNS for line in lines):
                return delimiter  # refused by the caller
            table = [cells(line, delimiter) for line in lines]
            if len(table[0]) < 2:
                continue
            numbers = [self.notation.number(cell) is not None for row in table for cell in row]
            share = sum(numbers) / len(numbers) / len({len(row) for row in table})
            if share > best[0]:
                best = (share, delimiter)
        if best[0] < 1.0 and self.notation.decimal == ".":
            self._refuse_decimal_commas(line_number, lines)
        return best[1]

    def _refuse_decimal_commas(self, line_number: int, lines: list[str]) -> None:
        for delimiter in (";", "\t", ",", None):
            table = [cells(line, delimiter) for line in lines]
            odd = [cell for row in table for cell in row if Notation().number(cell) is None]
            regular = len(table[0]) > 1 and len({len(row) for row in table}) == 1
            if odd and regular and all(map(DECIMAL_COMMA.fullmatch, odd)):
                raise RecordingError(decimal_comma(self.path, line_number, odd[0]))

    def _is_cut(self, line: str) -> bool:
        """Whether a line, the file's last, begins as a row does and ends too early."""
        row = [] if self.comment in line else cells(line, self.delimiter)  # a remark is no row
        *whole, last = row or ["no row"]
        if (
            len(row) > self._width
            or len(last) > NUMBER_CHARACTERS_LIMIT
            or any(self.notation.number(cell) is None for cell in whole)
        ):
            return False
        words = (*MISSING_WORDS, *self.notation.missing)
        begun = BEGUN_NUMBER.fullmatch(last.replace(self.notation.decimal, ".")) or any(
            word.startswith(last.strip('"').lower()) for word in words
        )
        return bool(begun) and (len(row) < self._width or self.notation.number(last) is None)

    def _interleaved_names(self, k: int) -> tuple[str, ...]:
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST_COLUMNS:
            why = f"interleaved is {shown(k)}; give the number of values of one sample, 1 … {MOST_COLUMNS}"
            raise RecordingError(why)
        if self._width != 1:
            why = f"{self.path} has {self._width} columns; interleaved means one number per line, sample after sample"
            raise RecordingError(why)
        name = self.names[0]
        return tuple(str(j) if name == "0" else f"{name}[{j}]" for j in range(k))

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        k, chosen = self.interleaved, list(columns)
        return equal_blocks(self._tables(chosen) if k is None else self._samples(chosen, k), rows)

    def _samples(self, columns: list[int], k: int) -> Iterator[Array]:
        rest, count = np.empty(0), 0
        for table in self._tables([0]):
            values = np.concatenate([rest, table[:, 0]])
            whole = len(values) - len(values) % k
            yield values[:whole].reshape(-1, k)[:, columns]
            rest, count = values[whole:], count + len(table)
        if len(rest):
            raise RecordingError(f"{self.path} has {count} values, which are no whole number of samples of {k}")

    def _whole_lines(self) -> Iterator[tuple[int, str]]:
        """As ``text_pieces``, without a last line that is cut off; blank lines may follow it."""
        held: list[tuple[int, str]] = []
        for piece in text_pieces(self.path):
            if held and piece[1].strip():
                yield from held
                held = []
            held.append(piece)
        for start, text in held:
            yield start, text.rstrip().rpartition("\n")[0] if self._cut else text

    def _tables(self, columns: list[int]) -> Iterator[Array]:
        for start, text in self._whole_lines():
            lines = text.split("\n")[max(self.first - start, 0) :]
            cut = [line.partition(self.comment)[0] for line in lines] if self.comment in text else lines
            if filled := list(filter(str.strip, cut)):
                table = None if self._unusual(text) else self._quickly(filled, columns)
                yield self._carefully(max(start, self.first), cut, columns) if table is None else table

    def _unusual(self, text: str) -> bool:
        """What is looked at cell by cell: quotes, words for missing values, points beside commas, hidden ends."""
        decimal, words = self.notation.decimal, self.notation.missing
        if any(mark in text for mark in ('"', *HIDDEN_ENDS)):
            return True
        small = text.lower() if words else ""
        return (decimal != "." and ("." in text or decimal == self.delimiter)) or any(word in small for word in words)

    def _quickly(self, lines: list[str], columns: list[int]) -> Array | None:
        """NumPy's parser, which converts the chosen columns only; None when anything is unusual."""
        delimiter, width = self.delimiter, self._width
        everything = len(columns) == width
        if not everything and {_width(line, delimiter) for line in lines} != {width}:
            return None  # of lines with too many cells NumPy takes the first
        chosen = None if everything else columns
        if self.notation.decimal != ".":
            lines = [line.replace(self.notation.decimal, ".") for line in lines]
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
            row = cells(line, self.delimiter)
            if len(row) != self._width:
                why = f"{self.path}: line {line_number} has {len(row)} columns, expected {self._width}; is the file "
                raise RecordingError(f"{why}cut off there, or is it no line of data (skip, comment)?")
            rows.append([self._number(line_number, row[column]) for column in columns])
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(columns))

    def _number(self, line_number: int, cell: str) -> float:
        notation = self.notation
        if (value := notation.number(cell)) is not None:
            return value
        where = f"{self.path}: line {line_number}: '{cell[:40]}'"
        if notation.decimal == "." and DECIMAL_COMMA.fullmatch(cell):
            raise RecordingError(decimal_comma(self.path, line_number, cell))
        if notation.decimal != "." and Notation().number(cell) is not None:
            raise RecordingError(f"{where} has a point, and decimal is ','; neither 1.5 nor 1.000,5 is read then")
        why = f"{where} is not a number; lines that are no data are left out by skip or comment, and what stands for a "
        raise RecordingError(f"{why}missing value is named in a recording.yaml: missing: ['{cell[:40]}']")

    def place(self, row: int) -> tuple[str, int]:
        """Its line, which is looked for from the start of the file."""
        left = row * (self.interleaved or 1)
        for line_number, line in numbered_lines(self.path):
            cut = line.partition(self.comment)[0]
            if line_number >= self.first and cut and not cut.isspace():
                if left == 0:
                    return "line", line_number
                left -= 1
        return super().place(row)


def _last_line(path: Path) -> str:
    """The last line that is not blank, without the beginning of the file being read."""
    with path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - LINE_CHARACTERS_LIMIT, 0))
        text = file.read().decode("latin-1").rstrip()
    return re.split("[\r\n]", text)[-1]


def _parsed(lines: list[str], delimiter: str | None, columns: list[int] | None) -> Array | None:
    try:
        return np.loadtxt(lines, delimiter=delimiter, usecols=columns, comments=None, ndmin=2)
    except ValueError:
        return None
