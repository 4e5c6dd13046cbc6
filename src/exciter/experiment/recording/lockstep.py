"""Several files read side by side, the same samples of each at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from exciter.errors import RecordingError
from exciter.experiment.sources.source import Source
from exciter.typing import Array


@dataclass(frozen=True)
class Part:
    """Columns of a source that are one signal."""

    name: str
    source: Source
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Lockstep:
    """Signals of one or more files that have the same number of rows."""

    parts: tuple[Part, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Each once."""
        return tuple({id(part.source): part.source for part in self.parts}.values())

    def blocks(self, rows: int) -> Iterator[dict[str, Array]]:
        """(≤ rows, columns) of every part, from the first row to the last; files of different lengths are refused."""
        sources = self.sources
        needed = [self._columns(source) for source in sources]
        streams = [source.blocks(columns, rows) for source, columns in zip(sources, needed, strict=True)]
        lengths = [0] * len(sources)
        for blocks in zip_longest(*streams):
            lengths = [n + (0 if block is None else len(block)) for n, block in zip(lengths, blocks, strict=True)]
            if len(set(lengths)) > 1:
                lengths = [n + sum(map(len, stream)) for n, stream in zip(lengths, streams, strict=True)]
                raise RecordingError(self._different(lengths))
            yield self._named(dict(zip(map(id, sources), zip(needed, blocks, strict=True), strict=True)))

    def _columns(self, source: Source) -> tuple[int, ...]:
        wanted = [column for part in self.parts if part.source is source for column in part.columns]
        return tuple(sorted(set(wanted)))

    def _named(self, blocks: dict[int, tuple[tuple[int, ...], Array]]) -> dict[str, Array]:
        named = {}
        for part in self.parts:
            columns, block = blocks[id(part.source)]
            named[part.name] = block[:, [columns.index(column) for column in part.columns]]
        return named

    def _different(self, lengths: list[int]) -> str:
        pairs = {source.path: n for source, n in zip(self.sources, lengths, strict=True)}
        told = ", ".join(f"{path} has {n}" for path, n in pairs.items())
        return f"the files of one recording must have the same number of samples; {told}: is one of them cut short?"
