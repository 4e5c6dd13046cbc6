"""Results on disk: a bad place is told before any work, and a reader never sees half a result."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError, unseen


def prepare(folder: Path) -> None:
    """Make the folder before any work is done, so that a bad place is told at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # permissions alone do not know of read-only media
            pass
    except OSError as error:
        raise ExciterError(f"cannot write to '{folder}': {error.strerror}; choose another folder with -o") from None


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A hidden folder to write a set of files to. When the block ends well they are renamed into ``folder``, in the
    order of their names; when it fails none of them appears, and what was there before stays."""
    with tempfile.TemporaryDirectory(prefix=".exciter-", dir=folder) as hidden:
        stage = Path(hidden)
        yield stage
        written = sorted(stage.iterdir())
        for path in written:  # before the first is renamed: all or none
            if (folder / path.name).is_dir():
                raise ExciterError(
                    f"'{folder / path.name}' is a folder, where a file is to be written; choose another place"
                )
        for path in written:
            os.replace(path, folder / path.name)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write to a temporary name, then rename."""
    with staged(path.parent) as stage:
        (stage / path.name).write_text(json_text(data), encoding="utf-8")


def json_text(data: Any) -> str:
    """Indented JSON. Infinity and NaN are refused by most readers of JSON: they become null."""
    return readable_json(_finite(data), indent=2) + "\n"


def readable_json(data: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """JSON with letters of all languages as they are. Characters that do not show themselves are written as escapes,
    which read back the same: a terminal does not act on them, and UTF-8 can hold the halves of surrogate pairs."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False, separators=separators)
    for mark in set(unseen(text, keep="\n")):
        text = text.replace(mark, json.dumps(mark)[1:-1])
    return text


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not (abs(data) < float("inf")):
        return None
    return data


# -- headings of tables ------------------------------------------------------------------------------------------------


def csv_line(cells: Iterable[str]) -> str:
    """Cells with commas between them. Those that a reader could take for something else are in quotes, quotes within
    them doubled, as csv readers have it."""
    return ",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' if _is_odd(cell) else cell for cell in cells)


def _is_odd(cell: str) -> bool:
    return cell.strip() != cell or bool(set(cell) & set(",;|#'\"\t"))


def csv_cells(line: str, delimiter: str) -> list[str]:
    """The cells of such a line, with any delimiter. Blanks around a cell do not count, those within its quotes do; a
    quote that is never closed, or that something follows, is a character like others."""
    mark = re.escape(delimiter)
    cell = re.compile(rf'\s*"((?:[^"]|"")*+)"\s*(?={mark}|$)|([^{mark}]*)')
    cells, at = [], 0
    while found := cell.match(line, at):
        quoted = found[1]
        cells.append(found[2].strip() if quoted is None else quoted.replace('""', '"'))
        at = found.end() + 1
        if at > len(line):
            break
    return cells
