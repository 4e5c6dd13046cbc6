"""Samples at true times, brought to a uniform grid: time stamps are believed, a constant interval is not.

Between samples lies the cubic spline through them (two continuous derivatives, error of fourth order). It is linear
in the samples, so noise stays noise, and it keeps extrema, which a monotone cubic (PCHIP) flattens to second order
just where friction changes sign. A sample's influence halves at least with every sample away from it, whatever the
intervals, so the spline is local for all practical purposes and a long log can be interpolated in pieces. The grid is
k/rate for integer k: pieces and windows of one log share their instants.

Long series are cut at gaps and worked on in pieces that overlap so that the pieces do not show: a local operation (a
filter that forgets, an interpolation) done on every piece with enough of its neighbours around it gives what it gives
on the whole. Pieces may have any length; what is held in memory is a piece and its margins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import scipy

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.recording import BESIDE_SIGNALS, Recording
from exciter.typing import Array

SPLINE_REACH_SAMPLES = 56  #: to each side beyond which a spline does not notice: 2⁻⁵⁶ is below the last digit
MOST_INSTANTS_PER_SAMPLE = 100  #: beyond that there is hardly anything measured in the result
LONG_GAP_INTERVALS = 10.0  #: a gap, not lost samples
GRID_ROUNDING_INTERVALS = 1e-6  #: by which a time stamp may miss a grid instant and still reach it


class TimeSeries(Protocol):
    """Samples in the order of time [s]: a recording, or rows of equations."""

    @property
    def time(self) -> Array: ...
    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> Self: ...
    @staticmethod
    def join(parts: Sequence[Any], /) -> Any: ...


S = TypeVar("S", bound=TimeSeries)


def split_at_gaps(recording: Recording, longest: float) -> tuple[Recording, ...]:
    """The parts of a recording between gaps longer than ``longest`` [s]; shorter ones are left for interpolation."""
    return tuple(piece for _, piece in _numbered([recording], longest))


def segments(parts: Iterable[S], longest: float) -> Iterator[Iterator[S]]:
    """The same for a stream: pieces by segment. As with ``itertools.groupby``, one is gone when the next comes."""
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


@dataclass(frozen=True)
class OverlappedPiece(Generic[S]):
    """Samples ``inner`` of ``whole``, the others being margin; first, last: whether the segment begins or ends here."""

    whole: S
    inner: slice
    first: bool
    last: bool


def overlapped(
    parts: Iterable[S], samples: int = 1, seconds: float = 0.0, *, prompt: bool = False
) -> Iterator[OverlappedPiece[S]]:
    """The parts of one segment in order, with margins of at most a third, but for the end: short ones are joined. A
    local operation looks that far to each side: at least so many samples, and at least so many seconds. prompt: all but
    the first come as soon as their margins are there, however much more work that is."""
    held: list[S] = []
    total, begin, wanted, first = 0, 0, 1, True
    for part in parts:
        held.append(part)
        total += len(part)
        if total < wanted:
            continue
        whole = part.join(held)
        time, wanted = whole.time, 1 if prompt and not first else total + total // 2
        end = max(0, min(int(np.searchsorted(time, time[-1] - seconds)), total - samples))  # has a margin behind
        if 3 * (end - begin) >= 2 * total or (prompt and not first and end > begin):
            yield OverlappedPiece(whole, slice(begin, end), first, False)
            before = int(np.searchsorted(time, time[end] - seconds, "right")) - 1
            keep = max(0, min(before, end - samples))
            whole, begin, first = whole[keep:], end - keep, False
            total = len(whole)
            wanted = 1 if prompt else total + 4 * begin  # before there is nothing to be gained by joining
        held = [whole]
    if total > begin:
        yield OverlappedPiece(held[0].join(held), slice(begin, total), first, True)


def peeked(parts: Iterable[S], samples: int) -> tuple[S | None, Iterator[S]]:
    """The beginning of a stream, some ``samples`` long (None: the stream is empty), and the stream from its start."""
    seen = window(stream := iter(parts), samples)
    return (seen[0].join(seen) if seen else None), chain(seen, stream)


def window(stream: Iterator[S], samples: int) -> list[S]:
    """The next parts of a stream, ``samples`` together or more; fewer where it ends."""
    seen, total = list[S](), 0
    while total < samples and (part := next(stream, None)) is not None:
        if len(part):
            seen.append(part)
            total += len(part)
    return seen


def round_rate(exact: float) -> float:
    """[Hz] The rate of fewest digits within 0.2 % of the exact one: 1000 for a log at 999.3 Hz."""
    rounded = (float(f"{exact:.{digits}e}") for digits in range(17))
    return next(rate for rate in rounded if abs(rate / exact - 1.0) < 2e-3)


def sampling_rate(time: Array) -> float:
    """[Hz] Samples per second while samples come, from increasing times (N,) [s]. Jitter averages out, a lost sample
    counts as the intervals it spans, long gaps do not count; with jitter too large for that, the median interval."""
    if len(time) < 2:
        raise RecordingError(f"a recording of {len(time)} samples has no rate; at least 2 are needed")
    steps = np.diff(time)
    if not 0.0 < (usual := float(np.median(steps))) < float("inf"):
        raise RecordingError(f"the interval between samples is {usual:g} s; is the time column right?")
    steps = steps[steps < LONG_GAP_INTERVALS * usual]
    counts = np.round(steps / usual)
    scattered = np.mean(np.abs(steps / usual - counts) > 0.4) > 0.02
    return 1.0 / usual if scattered else float(counts.sum() / steps.sum())


def grid(start: float, end: float, rate: float) -> Array:
    """The instants k/rate of start ≤ t ≤ end [s]."""
    first, last = np.ceil(start * rate - GRID_ROUNDING_INTERVALS), np.floor(end * rate + GRID_ROUNDING_INTERVALS)
    return np.asarray(np.arange(first, last + 1) / rate)


def resample(recording: Recording, rate: float | None = None) -> Recording:
    """All signals at the instants of the grid within the recording; rate [Hz]: a round one near ``sampling_rate``
    unless given; a lower one folds what lies above half of it. Long gaps are cut before (``split_at_gaps``)."""
    if rate is not None and not 0.0 < rate < float("inf"):
        raise RecordingError(f"rate is {shown(rate)}; give a positive number of samples per second [Hz]")
    check_complete(recording)
    rate = round_rate(sampling_rate(recording.time)) if rate is None else rate
    if (instants := recording.duration * rate) > MOST_INSTANTS_PER_SAMPLE * len(recording):
        why = f"{len(recording)} samples over {recording.duration:.3g} s would become {instants:.3g} at {rate:g} Hz; "
        raise RecordingError(f"{why}cut the recording at its gaps (split_at_gaps), or give a lower rate")
    at, beside = grid(recording.time[0], recording.time[-1], rate), dict[str, Any]()
    for name in (name for name in BESIDE_SIGNALS if name in recording.everything):
        beside[name] = np.full((len(at), recording.n), np.nan)  # stays so where there is no reading
        for j, column in enumerate(getattr(recording, name).T):
            if (read := np.isfinite(column)).any():  # linear: a thermometer is read seldom, and commands may step
                beside[name][:, j] = np.interp(at, recording.time[read], column[read])
    rounding = max(4.0 * np.spacing(np.abs(recording.time[[0, -1]]).max()), 1e-9 / rate)
    if len(at) == len(recording) and np.abs(recording.time - at).max() <= rounding:
        return replace(recording, time=at, **beside)
    signals = {name: getattr(recording, name) for name in recording.channels}
    values = scipy.interpolate.CubicSpline(recording.time, np.concatenate([*signals.values()], axis=1))(at)
    ends = np.cumsum([samples.shape[1] for samples in signals.values()])
    parts: Any = dict(zip(signals, np.split(values, ends[:-1], axis=1), strict=True))
    return replace(recording, time=at, **beside, **parts)


def check_complete(recording: Recording) -> None:
    """Refuses what cannot be interpolated: less than two samples, missing ones, two at one time."""
    if len(recording) < 2:
        raise RecordingError(f"{len(recording)} samples cannot be resampled; at least 2 are needed")
    for name in recording.channels:
        if not (whole := np.isfinite(getattr(recording, name)).all(axis=1)).all():
            why = f"{name} has {(~whole).sum()} samples with NaN or infinity, the first at "
            raise RecordingError(f"{why}{recording.time[~whole][0]:.6g} s; repair or cut them")
    if (same := np.flatnonzero(np.diff(recording.time) <= 0)).size:
        at = recording.time[same[0]]
        raise RecordingError(f"{same.size} time stamps are there twice, the first at {at:.6g} s; drop the duplicates")
