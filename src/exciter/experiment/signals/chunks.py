"""Long series in pieces: cut at gaps, and worked on in parts that overlap so that the pieces do not show.

A local operation (a filter that forgets, an interpolation) done on every piece with enough of its neighbours around
it gives what it gives on the whole. Pieces may have any length; what is held in memory is a piece and its margins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from exciter.experiment.recording.recording import Recording
from exciter.typing import Array


class Series(Protocol):
    """Samples in the order of time [s]: a recording, or rows of equations."""

    @property
    def time(self) -> Array: ...

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Self: ...


S = TypeVar("S", bound=Series)
Join = Callable[[Sequence[S]], S]


# -- gaps ------------------------------------------------------------------------------------------------------------


def split_at_gaps(recording: Recording, longest: float) -> tuple[Recording, ...]:
    """The parts of a recording between gaps longer than ``longest`` [s]; shorter ones are left for interpolation."""
    return tuple(piece for _, piece in _numbered([recording], longest))


def segments(parts: Iterable[S], longest: float) -> Iterator[Iterator[S]]:
    """The same for a stream: pieces by segment. As with ``itertools.groupby``, a segment is gone when the next one
    is asked for."""
    for _, group in groupby(_numbered(parts, longest), key=itemgetter(0)):
        yield (piece for _, piece in group)


def _numbered(parts: Iterable[S], longest: float) -> Iterator[tuple[int, S]]:
    number, last = 0, None
    for part in parts:
        if not len(part):
            continue
        before = part.time[0] if last is None else last
        gaps = np.flatnonzero(np.diff(part.time, prepend=before) > longest)
        start = 0
        for gap in gaps.tolist():
            if gap > start:
                yield number, part[start:gap]
            number, start = number + 1, gap
        yield number, part[start:] if start else part
        last = part.time[-1]


# -- overlap ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Margin:
    """How far a local operation looks to each side: at least so many seconds, and at least so many samples."""

    seconds: float = 0.0
    samples: int = 1

    def before_end(self, time: Array) -> int:
        """First sample without the whole margin behind it."""
        return max(0, min(int(np.searchsorted(time, time[-1] - self.seconds)), len(time) - self.samples))

    def start_for(self, time: Array, sample: int) -> int:
        """First sample of the margin before ``sample``."""
        return max(0, min(int(np.searchsorted(time, time[sample] - self.seconds, "right")) - 1, sample - self.samples))


@dataclass(frozen=True)
class Piece(Generic[S]):
    """Samples ``inner`` of ``whole``, the others being margin; first, last: whether the segment begins or ends here."""

    whole: S
    inner: slice
    first: bool
    last: bool


def overlapped(parts: Iterable[S], margin: Margin, join: Join[S]) -> Iterator[Piece[S]]:
    """The parts of one segment, again in order, each with its margins; short parts are put together first, so that
    margins are not more than a third of what is worked on (but for the end)."""
    held: list[S] = []
    total, begin, wanted, first = 0, 0, 1, True
    for part in parts:
        held.append(part)
        total += len(part)
        if total < wanted:
            continue
        whole = join(held)
        end = margin.before_end(whole.time)
        if 3 * (end - begin) >= 2 * total:
            yield Piece(whole, slice(begin, end), first, False)
            keep = margin.start_for(whole.time, end)
            whole, begin, first = whole[keep:], end - keep, False
            total = len(whole)
            wanted = total + 4 * begin  # before there is nothing to be gained by joining
        else:
            wanted = total + total // 2
        held = [whole]
    if total > begin:
        yield Piece(join(held), slice(begin, total), first, True)


def peeked(parts: Iterable[S], samples: int, join: Join[S]) -> tuple[S | None, Iterator[S]]:
    """The beginning of a stream, some ``samples`` long (None: the stream is empty), and the stream from its start."""
    stream, seen = iter(parts), list[S]()
    total = 0
    while total < samples and (part := next(stream, None)) is not None:
        if len(part):
            seen.append(part)
            total += len(part)
    return (join(seen) if seen else None), chain(seen, stream)
