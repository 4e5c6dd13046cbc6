"""The files of one recording: where they lie, read side by side, and where their time runs backwards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError
from exciter.experiment.recording.recording_facts import SourceFile
from exciter.experiment.sources.open_source import open_source
from exciter.experiment.sources.source import Source, equal_blocks
from exciter.typing import Array

COMPARED_ROWS = 16_384  #: at once, in search of a repeated block


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
            f"there is no file '{file}' in {looked}; give the folder of the data (data, or EXCITER_DATA)"
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


@dataclass(frozen=True)
class SignalColumns:
    """Columns of a source that are one signal."""

    name: str
    source: Source
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Lockstep:
    """Signals of one or more files that have the same number of rows."""

    parts: tuple[SignalColumns, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Each once."""
        return tuple({id(part.source): part.source for part in self.parts}.values())

    def blocks(self, rows: int) -> Iterator[dict[str, Array]]:
        """(≤ rows, columns) of every part, from the first row to the last; files of different lengths are refused."""
        sources = self.sources
        needed = [tuple(sorted({c for part in self.parts if part.source is s for c in part.columns})) for s in sources]
        streams = [source.blocks(columns, rows) for source, columns in zip(sources, needed, strict=True)]
        lengths = [0] * len(sources)
        for blocks in zip_longest(*streams):
            lengths = [n + (0 if block is None else len(block)) for n, block in zip(lengths, blocks, strict=True)]
            if len(set(lengths)) > 1:
                lengths = [n + sum(map(len, stream)) for n, stream in zip(lengths, streams, strict=True)]
                pairs = {source.path: n for source, n in zip(sources, lengths, strict=True)}
                unlike = ", ".join(f"{path} has {n}" for path, n in pairs.items())
                raise RecordingError(
                    f"the files of one recording must have the same number of samples; {unlike}: is one of them cut "
                    "short?"
                )
            yield self._named(dict(zip(map(id, sources), zip(needed, blocks, strict=True), strict=True)))

    def _named(self, blocks: dict[int, tuple[tuple[int, ...], Array]]) -> dict[str, Array]:
        named = {}
        for part in self.parts:
            columns, block = blocks[id(part.source)]
            named[part.name] = block[:, [columns.index(column) for column in part.columns]]
        return named


def explained(columns: Lockstep, sample: int) -> str:
    """The end of the message on a sample (from 0) whose time is before that of the one before it; the file is read once
    more for it."""
    source = next(part.source for part in columns.parts if part.name == "time")
    word, number = source.place(sample)
    place = f", {word} {number} of {source.path.name}" if word != "sample" else ""
    try:
        earlier, count = repeated(columns, sample)
    except RecordingError:  # of rows further on, which are not to be reported
        earlier, count = 0, 0
    if not count:
        return f"{place}; is it the right column, or are these several recordings in one file?"
    ends = (sample, sample + count - 1, earlier, earlier + count - 1)
    first, last, old, old_last = (source.place(row)[1] for row in ends)
    return (
        f"{place}; {word}s {first} … {last} repeat {word}s {old} … {old_last}: a block was logged twice; delete one of "
        "the two"
    )


def repeated(columns: Lockstep, sample: int) -> tuple[int, int]:
    """(earlier, count): the ``count`` rows from ``sample`` on are those from ``earlier`` on; 0 where fewer than two."""
    wanted = next(_tables(columns, sample))[:1]
    start = 0
    for table in _tables(columns, 0):
        same = np.flatnonzero(_equal(table, wanted).all(axis=1))
        if start + len(table) >= sample or same.size:
            break
        start += len(table)
    if not same.size or (earlier := start + int(same[0])) >= sample:
        return 0, 0
    count, most = 0, sample - earlier
    blocks = (equal_blocks(_tables(columns, row), COMPARED_ROWS) for row in (earlier, sample))
    for before, after in zip(*blocks, strict=False):
        rows = min(len(before), len(after), most - count)
        differ = np.flatnonzero(~_equal(before[:rows], after[:rows]).all(axis=1))
        count += int(differ[0]) if differ.size else rows
        if differ.size or count == most:
            break
    return (earlier, count) if count > 1 else (0, 0)


def _tables(columns: Lockstep, first: int) -> Iterator[Array]:
    """All columns that are used, as the files have them, from row ``first`` on."""
    start = 0
    for block in columns.blocks(COMPARED_ROWS):
        table = np.hstack(list(block.values()))
        if start + len(table) > first:
            yield table[max(0, first - start) :]
        start += len(table)


def _equal(a: Array, b: Array) -> NDArray[np.bool_]:
    """Also where both are missing."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))
