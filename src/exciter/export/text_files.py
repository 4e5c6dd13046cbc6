"""Exports on disk: all of their files or none, readable by everyone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from exciter.errors import ExciterError
from exciter.files import staged


def write_texts(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write texts to files of these names in a folder that exists: to temporary names, then renamed."""
    try:
        with staged(folder) as stage:
            for name, text in texts.items():
                (stage / name).write_text(text, encoding="utf-8", newline="\n")
                os.chmod(stage / name, 0o644)
    except OSError as error:
        raise ExciterError(f"cannot write to '{folder}': {error.strerror}; choose another place") from None
    return tuple(folder / name for name in texts)


def require_suffix(path: Path, *suffixes: str) -> None:
    """Refuse a file name that says something else than what is in it."""
    if path.suffix not in suffixes:
        raise ExciterError(f"'{path}' must end in {' or '.join(suffixes)}; choose another name")
