"""Repairs: only those that were asked for, each one reported; what cannot be repaired is refused.

A log larger than memory is repaired piece by piece, each with so much beside it that the cuts do not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter import notes
from exciter.errors import RecordingError
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.numbers_in_words import counted
from exciter.experiment.quality.sample_checks import stuck
from exciter.experiment.quality.sample_survey import CHUNK_SAMPLES, INTERVAL_SAMPLES, survey
from exciter.experiment.quality.sample_tallies import runs, sane
from exciter.experiment.quality.spikes_and_jumps import TURN_RAD, isolated, turns_of, unwrapped
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_facts import Repairs
from exciter.experiment.signals.resample import Margin, OverlappedPiece, overlapped, split_at_gaps, window
from exciter.notes import Note, Severity
from exciter.typing import Array

FILL_DEGREE = 3
ChannelCounts = dict[str, tuple[int, set[int]]]  # by channel: how many, and of which columns
LEAST_FILL_SAMPLES = 8  # on either side, that a filled run is fitted to
MARGIN_SECONDS, MARGIN_SAMPLES = 1.0, 256  # on either side of a piece, at least


@dataclass(frozen=True, eq=False)
class Repaired:
    """original: as it was recorded. segments: pieces without long gaps, in order of time. notes: what was done; empty
    when nothing was."""

    original: Recording
    segments: tuple[Recording, ...]
    notes: tuple[Note, ...]

    @property
    def recording(self) -> Recording:
        """All segments in one, gaps left open."""
        return Recording.join(self.segments)

    def with_gains(self, gains: tuple[float, ...]) -> Repaired:
        """gains [N·m/A]: of the currents; repairs do not depend on them."""
        first, *others = (
            replace(one, about=replace(one.about, gains=gains)) for one in (self.original, *self.segments)
        )
        return replace(self, original=first, segments=tuple(others))


def repair(recording: Recording, repairs: Repairs | None = None, thresholds: Thresholds | None = None) -> Repaired:
    """The recording with the repairs asked for."""
    repairs, limits = repairs or Repairs(), thresholds or Thresholds()
    done, original = RepairTally(), recording
    _refuse_stuck(recording, limits)
    recording = corrected(recording, repairs, limits, done)
    if repairs.cut_standstill:
        recording = _moving(recording, limits, done)
    parts = completed(recording, recording.interval, repairs, done)
    done.see_holes(recording)
    done.refuse_holes(limits)
    kept = tuple(part for part in parts if part.duration >= repairs.shortest)
    if not kept:
        raise nothing_left(max(part.duration for part in parts), repairs)
    return Repaired(original=original, segments=kept, notes=done.notes)


def corrected(recording: Recording, repairs: Repairs, limits: Thresholds, done: RepairTally) -> Recording:
    """Sample by sample: without absurd numbers, duplicates, turns and spikes, as far as asked for."""
    recording = _without_duplicates(sane(recording), repairs, done)
    recording = _unwrapped(recording, done) if repairs.unwrap else recording
    return _without_spikes(recording, repairs, limits, done)


def completed(recording: Recording, interval: float, repairs: Repairs, done: RepairTally) -> list[Recording]:
    """What lies between long gaps, without missing values; interval [s]: between samples."""
    gap = max(repairs.longest_gap, 2.5 * interval)  # [s] that does not split the recording
    parts = _filled(_trimmed(split_at_gaps(recording, gap), done), repairs, done)
    done.see_stretches(parts, gap, repairs.shortest)
    return parts


def nothing_left(longest: float, repairs: Repairs) -> RecordingError:
    return RecordingError(
        f"cannot be repaired: the longest piece without gap lasts {longest:.3g} s; {repairs.shortest:g} s are "
        "needed, see repair: {shortest: …}"
    )


class RepairTally:
    """What was repaired, counted; mutable. within [s]: the time that counts, of a log that is repaired in overlapping
    pieces."""

    def __init__(self) -> None:
        self.within = (-np.inf, np.inf)
        self.dropped = self.trimmed = self._stretches = self._short = 0
        self.turns = Counter[str]()
        self.spikes: ChannelCounts = {}
        self.filled: ChannelCounts = {}
        self._standstill: list[Note] = []
        self._gap, self._shortest = 0.0, 0.0
        self._columns: dict[str, tuple[str, ...]] = {}
        self._holes = Counter[tuple[str, str]]()
        self._samples = 0

    def _inside(self, time: Array) -> NDArray[np.bool_]:
        return np.asarray((time >= self.within[0]) & (time < self.within[1]))

    def count(self, time: Array) -> int:
        """Of samples at these times."""
        return int(self._inside(time).sum())

    def see(self, sums: ChannelCounts, recording: Recording, name: str, at: NDArray[np.bool_]) -> None:
        """``spikes`` or ``filled``: which samples of a channel."""
        at = at[self._inside(recording.time)]
        if at.any():
            count, joints = sums.get(name, (0, set()))
            self._columns[name] = recording.columns(name)
            sums[name] = (count + int(at.sum()), joints | set(np.flatnonzero(at.any(axis=0)).tolist()))

    def _listed(self, name: str, joints: set[int]) -> str:
        return ", ".join(self._columns[name][j] for j in sorted(joints))

    def see_standstill(self, first: float, last: float, count: int) -> None:
        """Cut before and after these times [s]."""
        text = f"cut the standstill before {first:.6g} s and after {last:.6g} s: {count} samples"
        self._standstill.append(notes.done("standstill", text))

    def see_stretches(self, parts: Sequence[Recording], gap: float, shortest: float) -> None:
        self._gap, self._shortest = gap, shortest
        begin = np.array([part.time[0] for part in parts])
        short = np.array([part.duration < shortest for part in parts])
        inside = self._inside(begin)
        self._stretches += int(inside.sum())
        self._short += int((short & inside).sum())

    def see_holes(self, recording: Recording) -> None:
        """Of samples that were corrected."""
        inside = self._inside(recording.time)
        self._samples += int(inside.sum())
        for name in recording.channels:
            counts = (~np.isfinite(getattr(recording, name)[inside])).sum(axis=0)
            for column, count in zip(recording.columns(name), counts.tolist(), strict=True):
                self._holes[name, column] += count

    def refuse_holes(self, limits: Thresholds) -> None:
        for name in dict.fromkeys(name for name, _ in self._holes):
            column, count = max(((c, k) for (n, c), k in self._holes.items() if n == name), key=lambda pair: pair[1])
            share = count / max(self._samples, 1)
            if share > limits.nan_share:
                raise RecordingError(
                    f"cannot be repaired: {name} of {column} holds no numbers in {100 * share:.2g} % of the samples; "
                    f"{100 * limits.nan_share:g} % are allowed"
                )

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was done, in its order."""
        said = list[Note]()
        if count := self.dropped:
            said.append(notes.done("duplicates", f"dropped {count} samples with the time of the one before"))
        for joint, count in self.turns.items():
            said.append(notes.done("turns", f"took {counted(count, 'step')} of a turn out of {joint}", joint))
        for name, (count, joints) in self.spikes.items():
            text = f"replaced {count} isolated outliers of {name} ({self._listed(name, joints)})"
            said.append(notes.done("spikes", text))
        said += self._standstill
        if self.trimmed:
            said.append(notes.done("missing values", f"cut {self.trimmed} incomplete samples at the ends"))
        for name, (count, joints) in self.filled.items():
            text = f"filled {count} missing values of {name} ({self._listed(name, joints)}) by cubics through their"
            said.append(notes.done("missing values", f"{text} neighbours"))
        if self._stretches > 1:
            text = f"split into {self._stretches} pieces at gaps longer than {1e3 * self._gap:.4g} ms"
            said.append(notes.done("gaps", text))
        if self._short:
            said.append(notes.done("gaps", f"left out {self._short} pieces shorter than {self._shortest:g} s"))
        return tuple(said)


def _refuse_stuck(recording: Recording, limits: Thresholds) -> None:
    evidence = Evidence(
        survey(recording.chunks(CHUNK_SAMPLES), None, limits), limits
    )  # also refuses time that stands still
    for finding in stuck(evidence):
        if finding.severity == Severity.PROBLEM:
            raise RecordingError(f"cannot be repaired: {finding.joint}: {finding.text}")


def _without_duplicates(recording: Recording, repairs: Repairs, done: RepairTally) -> Recording:
    again = np.concatenate([[False], np.diff(recording.time) == 0.0])
    if not again.any():
        return recording
    copy = again.copy()
    for name in recording.channels:
        x = getattr(recording, name)
        same = (x[1:] == x[:-1]) | (np.isnan(x[1:]) & np.isnan(x[:-1]))
        copy[1:] &= same.all(axis=1)
    other = again & ~copy
    if other.any() and not repairs.contradicting:
        raise RecordingError(
            f"cannot be repaired: {int(other.sum())} samples have the time of the one before but other values, the "
            f"first at {recording.time[other][0]:.6g} s; repair: {{contradicting: true}} drops them"
        )
    drop = (copy if repairs.duplicates else np.zeros_like(copy)) | other
    done.dropped += done.count(recording.time[drop])
    return recording[~drop]


def _unwrapped(recording: Recording, done: RepairTally) -> Recording:
    turns = turns_of(recording.q)
    for j in map(int, np.flatnonzero(turns.any(axis=0))):
        if count := done.count(recording.time[1:][turns[:, j] != 0]):
            done.turns[recording.joints[j]] += count
    return replace(recording, q=unwrapped(recording.q)) if turns.any() else recording


def _without_spikes(recording: Recording, repairs: Repairs, limits: Thresholds, done: RepairTally) -> Recording:
    if not repairs.spikes:
        return recording
    changed: dict[str, Any] = {}
    for name in recording.channels:
        x = getattr(recording, name)
        at = isolated(recording.time, x, limits.spike)
        if at.any():
            changed[name] = np.where(at, np.nan, x)
            done.see(done.spikes, recording, name, at)
    return replace(recording, **changed) if changed else recording


def _moving(recording: Recording, limits: Thresholds, done: RepairTally) -> Recording:
    cut = recording.between(*moving_span(recording.chunks(CHUNK_SAMPLES), limits))
    if len(cut) < len(recording):
        done.see_standstill(cut.time[0], cut.time[-1], len(recording) - len(cut))
    return cut


def moving_span(pieces: Iterable[Recording], limits: Thresholds) -> tuple[float, float]:
    """[s] from when to when something moves."""
    rest = Evidence(survey(pieces, None, limits), limits).rest
    if rest.start is None or rest.end is None:
        raise RecordingError("cannot be repaired: no joint moves, the recording is standstill from beginning to end")
    return rest.start, rest.end


# -- missing values -----------------------------------------------------------------------------------------------


def _trimmed(parts: Sequence[Recording], done: RepairTally) -> list[Recording]:
    """Rows at the ends of a piece that are not complete cannot be interpolated: they are cut."""
    out = []
    for part in parts:
        kept = np.flatnonzero(complete(part))
        first, last = (int(kept[0]), int(kept[-1]) + 1) if kept.size else (len(part), len(part))
        done.trimmed += done.count(np.concatenate([part.time[:first], part.time[last:]]))
        if kept.size:
            out.append(part[first:last])
    if not out:
        raise RecordingError("cannot be repaired: no sample has all its values")
    return out


def complete(recording: Recording) -> NDArray[np.bool_]:
    """(N,) whether all values of a sample are there."""
    whole = [np.isfinite(getattr(recording, name)).all(axis=1) for name in recording.channels]
    return np.asarray(np.all(whole, axis=0))


def _filled(parts: Sequence[Recording], repairs: Repairs, done: RepairTally) -> list[Recording]:
    """Every piece by itself: what lies beyond a long gap says nothing of a hole."""
    out = []
    for part in parts:
        changed: dict[str, Any] = {}
        for name in part.channels:
            x = getattr(part, name)
            bad = ~np.isfinite(x)
            if not bad.any():
                continue
            x = changed[name] = x.copy()
            for j in map(int, np.flatnonzero(bad.any(axis=0))):
                _refuse_burst(part, name, j, bad[:, j], repairs)
                _fill(part.time, x[:, j], bad[:, j])
            done.see(done.filled, part, name, bad)
        out.append(replace(part, **changed) if changed else part)
    return out


def _refuse_burst(recording: Recording, name: str, j: int, bad: NDArray[np.bool_], repairs: Repairs) -> None:
    starts, lengths = runs(bad)
    time = recording.time
    span = time[np.minimum(starts + lengths, len(time) - 1)] - time[np.maximum(starts - 1, 0)]
    k = int(span.argmax())
    if span[k] > max(repairs.interpolate, 2.5 * recording.interval if repairs.interpolate > 0 else 0.0):
        raise RecordingError(
            f"cannot be repaired: {name} of {recording.columns(name)[j]} holds no numbers for {1e3 * span[k]:.4g} ms "
            f"after {time[starts[k]]:.6g} s, and runs up to {1e3 * repairs.interpolate:.4g} ms are filled; cut it out "
            "with windows, or see repair: {interpolate: …}"
        )


def _fill(time: Array, x: Array, bad: NDArray[np.bool_]) -> None:
    """A cubic fitted to as many good samples on either side as are missing, eight at least, for every run."""
    starts, lengths = runs(bad)
    good = np.flatnonzero(~bad)
    for start, length in zip(starts, lengths, strict=True):
        size = max(LEAST_FILL_SAMPLES, int(length))
        at = int(np.searchsorted(good, start))
        near = good[max(at - size, 0) : at + size]
        centre = time[start + length // 2]
        scale = max(float(np.abs(time[near] - centre).max()), 1e-300)
        degree = min(FILL_DEGREE, len(near) - 1)
        fit = np.polynomial.polynomial.polyfit((time[near] - centre) / scale, x[near], degree)
        hole = slice(int(start), int(start + length))
        x[hole] = np.polynomial.polynomial.polyval((time[hole] - centre) / scale, fit)


@dataclass(frozen=True, eq=False)
class RepairedLog:
    """A log as ``repair`` leaves it, read anew at every ``iter``, in pieces in order of time.

    chunks: reads it from its beginning. A value that is missing for longer than a piece is looked beyond is refused. Of
    sensors that are stuck the quality check knows.
    """

    chunks: Callable[[], Iterable[Recording]]
    repairs: Repairs
    limits: Thresholds
    interval: float
    moving: tuple[float, float]

    @classmethod
    def of(
        cls,
        chunks: Callable[[], Iterable[Recording]],
        repairs: Repairs | None = None,
        thresholds: Thresholds | None = None,
    ) -> RepairedLog:
        repairs, limits = repairs or Repairs(), thresholds or Thresholds()
        beginning = Recording.join(window(iter(chunks()), INTERVAL_SAMPLES))
        everything = cls(
            chunks=chunks,
            repairs=replace(repairs, cut_standstill=False),
            limits=limits,
            interval=beginning.interval,
            moving=(-np.inf, np.inf),
        )
        if not repairs.cut_standstill:
            return everything
        return replace(everything, repairs=repairs, moving=moving_span(everything.corrected(), limits))

    def corrected(self) -> Iterator[Recording]:
        """Gaps and missing values as they are."""
        for piece, (start, end) in self._pieces():
            yield _between(corrected(piece.whole, self.repairs, self.limits, RepairTally()), start, end)

    def __iter__(self) -> Iterator[Recording]:
        return self.repaired(RepairTally())

    def repaired(self, done: RepairTally) -> Iterator[Recording]:
        """done: counts what was repaired, and is complete when the last piece has been given."""
        turns, longest, count = _Turns(), 0.0, 0
        first, last = self.moving
        cut = 0
        for piece, (start, end) in self._pieces():
            done.within = start, end
            whole = corrected(piece.whole, self.repairs, self.limits, done)
            done.see_holes(whole)
            kept = whole.between(first, last)
            cut += len(_between(whole, start, end)) - len(_between(kept, start, end))
            if not len(kept):
                continue
            self._refuse_torn(piece, kept, start, end)
            parts = completed(kept, self.interval, self.repairs, done)
            if self.repairs.unwrap:
                parts = turns.continued(parts, end)
            for part in parts:
                longest = max(longest, part.duration)
                inner = _between(part, start, end)
                if part.duration >= self.repairs.shortest and len(inner):
                    count += len(inner)
                    yield inner
        done.refuse_holes(self.limits)
        if cut:
            done.see_standstill(first, last, cut)
        if not count:
            raise nothing_left(longest, self.repairs)

    def _pieces(self) -> Iterator[tuple[OverlappedPiece[Recording], tuple[float, float]]]:
        """Each with the time [s] of which it is to be taken, from and before."""
        beside = max(MARGIN_SECONDS, 2.0 * self.repairs.shortest, 4.0 * self.repairs.interpolate)
        for piece in overlapped(self.chunks(), Margin(beside, MARGIN_SAMPLES), Recording.join):
            time = piece.whole.time
            start = -np.inf if piece.first else float(time[piece.inner.start])
            end = np.inf if piece.last else float(time[piece.inner.stop])
            yield piece, (start, end)

    def _refuse_torn(self, piece: OverlappedPiece[Recording], whole: Recording, start: float, end: float) -> None:
        """Values missing at a cut, and as far as the piece reaches on either side: for how long is not known."""
        good, time = complete(whole), whole.time
        there = time[good]
        before = not piece.first and time[0] <= start and not (there <= start).any()
        behind = not piece.last and time[-1] >= end and not (there >= end).any()
        if before or behind:
            raise RecordingError(
                f"cannot be repaired: samples about {start if before else end:.6g} s hold no numbers for a second or "
                "more; cut that time out with windows"
            )


class _Turns:
    """Whole turns by which angles of a piece differ from those of the one before, where both know them."""

    def __init__(self) -> None:
        self._offset: Array | float = 0.0
        self._before: Recording | None = None

    def continued(self, parts: list[Recording], end: float) -> list[Recording]:
        """Parts of the next piece; ``end`` [s]: where the one after it begins."""
        joined = Recording.join(parts)
        if self._before is not None:
            _, old, new = np.intersect1d(self._before.time, joined.time, return_indices=True)
            if len(old):
                apart = np.median(self._before.q[old] - joined.q[new], axis=0)
                self._offset = np.rint(apart / TURN_RAD) * TURN_RAD
        moved = [replace(part, q=part.q + self._offset) for part in parts]
        self._before = Recording.join(moved).between(end - MARGIN_SECONDS, np.inf) if np.isfinite(end) else None
        return moved


def _between(recording: Recording, start: float, end: float) -> Recording:
    """The samples of start ≤ time < end [s]."""
    first, last = np.searchsorted(recording.time, [start, end])
    return recording[int(first) : int(last)]
