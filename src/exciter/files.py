"""Results on disk: a bad place is told before any work, and a reader never sees half a result."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError


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
    return json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not (abs(data) < float("inf")):
        return None
    return data
