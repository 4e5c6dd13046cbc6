"""The files of one recording: where they lie, each opened once, and what they are known by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os.path import exists, isdir, isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

from exciter.errors import RecordingError
from exciter.experiment.recording.about import SourceFile
from exciter.experiment.sources.open import open_source
from exciter.experiment.sources.source import Source


@dataclass(frozen=True)
class Shelf:
    """Files named relative to the first of ``folders`` that has them, opened as ``reader`` says."""

    folders: tuple[Path, ...]
    reader: str
    options: Mapping[str, Any]
    opened: dict[tuple[str, int | None], Source] = field(default_factory=dict)

    def open(self, file: str, interleaved: int | None = None) -> Source:
        """interleaved: how many numbers, one per line, are a sample."""
        key = (file, interleaved)
        if key not in self.opened:
            options = dict(self.options) if interleaved is None else {**self.options, "interleaved": interleaved}
            self.opened[key] = open_source(self.path(file), format=self.reader, **options)
        return self.opened[key]

    def path(self, file: str) -> Path:
        for folder in self.folders:
            if exists(folder / file):
                return folder / file
        looked = " or ".join(f"'{folder}'" for folder in self.folders)
        raise RecordingError(
            f"there is no file '{file}' in {looked}; give the folder of the data (--data, or EXCITER_DATA)"
        )


def fingerprints(files: Sequence[tuple[str, Path]]) -> tuple[SourceFile, ...]:
    """Name and SHA-256 of every file, read in pieces; of a folder, every file in it."""
    found = []
    for name, path in files:
        if isdir(path):
            inside = sorted(p for p in path.iterdir() if isfile(p))
            found += [SourceFile(f"{name}/{p.name}", _sha256(p)) for p in inside]
        else:
            found.append(SourceFile(name, _sha256(path)))
    return tuple(found)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise RecordingError(f"cannot read '{path}': {error.strerror}") from None
