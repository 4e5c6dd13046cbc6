"""How a text file is laid out: what separates its cells, what its columns are called, where its numbers start.

What the user does not say is found from the first lines:

- a first line that starts with ``#``, ``%`` or ``//`` tells how comments start (else ``#``);
- the delimiter is the one of tab, semicolon, comma, bar and blanks that makes most cells of the first rows numbers;
- the first line is a header when it has words where the next line has numbers; a comment before the first row is one
  when it has as many words as there are columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.source import MOST_COLUMNS
from exciter.experiment.sources.text_lines import Notation, cells, heading, numbered_lines

COMMENTS = ("#", "%", "//")
DELIMITERS = ("\t", ";", ",", "|", None)
DECIMALS = (".", ",")
WORDS = {"whitespace": None, " ": None, "tab": "\t", "comma": ",", "semicolon": ";"}
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
LOOKED_AT = 20  # rows


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
        if given is not None and not (isinstance(given, str) and (given in WORDS or _is_delimiter(given))):
            raise RecordingError(f"delimiter is {shown(given)}; give one character, or one of {', '.join(WORDS)}")
        if self.header not in (None, True, False):
            raise RecordingError(f"header is {shown(self.header)}; give true, false or nothing")
        if self.comment is not None and not (isinstance(self.comment, str) and self.comment.strip()):
            raise RecordingError(f"comment is {shown(self.comment)}; give the characters comments start with")
        if not isinstance(self.skip, int) or isinstance(self.skip, bool) or self.skip < 0:
            raise RecordingError(f"skip is {shown(self.skip)}; give the number of lines to leave out at the start")
        if self.decimal not in DECIMALS:
            raise RecordingError(f"decimal is {shown(self.decimal)}; allowed are {' and '.join(map(repr, DECIMALS))}")
        self._check_missing()

    def _check_missing(self) -> None:
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
        delimiter = WORDS.get(settings.delimiter, settings.delimiter)
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
            comment = next((start for start in COMMENTS if text.startswith(start)), "#")
        if not text.startswith(comment):
            rows.append((line_number, line))
        elif not rows:
            remark = text.lstrip(comment)
        if len(rows) == LOOKED_AT:
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
        if (
            odd
            and len(table[0]) > 1
            and len({len(row) for row in table}) == 1
            and all(map(DECIMAL_COMMA.fullmatch, odd))
        ):
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
