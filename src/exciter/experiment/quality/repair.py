"""Repairs: only those that were asked for, each one reported; what cannot be repaired is refused. A log larger than
memory is repaired piece by piece, each with so much beside it that the cuts do not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from exciter import notes
from exciter.errors import RecordingError
from exciter.experiment.plan import PlannedStage
from exciter.experiment.quality.evidence import CHUNK_SAMPLES, INTERVAL_SAMPLES, Evidence
from exciter.experiment.quality.numbers_in_words import counted
from exciter.experiment.quality.sample_checks import STUCK_TALLIES, stuck
from exciter.experiment.quality.sample_tallies import TURN_RAD, copied, isolated, runs, sane, turns_of, unwrapped
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.current_map import CurrentMap
from exciter.experiment.recording.recording import Recording, Repairs, changed
from exciter.experiment.signals.resample import overlapped, split_at_gaps, window
from exciter.notes import Note, Severity
from exciter.typing import Array, BoolArray

FILL_DEGREE = 3
LEAST_FILL_SAMPLES = 8  # on either side, that a filled run is fitted to
MARGIN_SECONDS, MARGIN_SAMPLES = 1.0, 256  # on either side of a piece, at least


@dataclass(frozen=True, eq=False)
class Repaired:
    """original: as it was recorded. segments: pieces without long gaps, in order of time. notes: what was done."""

    original: Recording
    segments: tuple[Recording, ...]
    notes: tuple[Note, ...]

    @property
    def recording(self) -> Recording:
        """All segments in one, gaps left open."""
        return Recording.join(self.segments)

    def with_gains(self, gains: tuple[float, ...]) -> Repaired:
        """gains [N·m/A]: of the currents; repairs do not depend on them."""
        return self._saying(gains=gains, map=None)

    def with_map(self, maps: tuple[CurrentMap, ...]) -> Repaired:
        """The same by maps."""
        return self._saying(gains=None, map=maps)

    def _saying(self, **changes: Any) -> Repaired:
        all_parts = (self.original, *self.segments)
        first, *others = (replace(one, about=replace(one.about, **changes)) for one in all_parts)
        return replace(self, original=first, segments=tuple(others))


def repair(
    recording: Recording,
    repairs: Repairs | None = None,
    thresholds: Thresholds | None = None,
    stage: PlannedStage | None = None,
) -> Repaired:
    """stage: of a plan, that the log is of."""
    repairs, limits = repairs or Repairs(), thresholds or Thresholds()
    done, original = RepairTally(), recording
    seen = Evidence(recording.chunks(CHUNK_SAMPLES), limits, stage=stage, tallied=STUCK_TALLIES)
    for finding in stuck(seen):
        if finding.severity == Severity.PROBLEM:  # the survey also refuses time that stands still
            raise RecordingError(f"cannot be repaired: {finding.joint}: {finding.text}")
    whole = recording = corrected(recording, repairs, limits, done)
    if repairs.cut_standstill:
        recording = whole.between(*moving_span(whole.chunks(CHUNK_SAMPLES), limits))
        done.cut = (recording.time[0], recording.time[-1], len(whole) - len(recording))
    parts = completed(recording, recording.interval, repairs, done)
    done.see_holes(recording)
    done.refuse(limits)
    kept = tuple(part for part in parts if part.duration >= repairs.shortest)
    return Repaired(original=original, segments=kept, notes=done.notes)


def corrected(recording: Recording, repairs: Repairs, limits: Thresholds, done: RepairTally) -> Recording:
    """Sample by sample: without absurd numbers, duplicates, turns and spikes, as far as asked for."""
    recording = sane(recording)
    again = np.flatnonzero(np.diff(recording.time) == 0.0)
    other = again[~copied(recording, recording.channels, again)] + 1
    if other.size and not repairs.contradicting:
        why = f"cannot be repaired: {other.size} samples have the time of the one before but other values, the first "
        raise RecordingError(f"{why}at {recording.time[other[0]]:.6g} s; repair: {{contradicting: true}} drops them")
    drop = again + 1 if repairs.duplicates else other
    done.dropped += done.count(recording.time[drop])
    recording = recording[np.delete(np.arange(len(recording)), drop)]
    if repairs.unwrap:
        done.see("turns", recording, "q", np.pad(turns_of(recording.q) != 0, ((1, 0), (0, 0))))
        recording = _turned(recording, unwrapped(recording.q))

    def without_spikes(name: str, x: Array) -> Array:
        at = isolated(recording.time, x, limits.spike)
        done.see("spikes", recording, name, at)
        return np.where(at, np.nan, x)

    return changed(recording, without_spikes) if repairs.spikes else recording


def completed(recording: Recording, interval: float, repairs: Repairs, done: RepairTally) -> list[Recording]:
    """What lies between long gaps, without missing values, each by itself; interval [s]: between samples."""
    gap = max(repairs.longest_gap, 2.5 * interval)  # [s] that does not split the recording
    trimmed = _trimmed(split_at_gaps(recording, gap), done)
    parts = [changed(part, partial(_filled, part, repairs, done)) for part in trimmed]
    done.see_stretches(parts, gap, repairs.shortest)
    return parts


class RepairTally:
    """What was repaired, counted; mutable. within [s]: the time that counts, where pieces overlap."""

    def __init__(self) -> None:
        self.within = (-np.inf, np.inf)
        self.dropped = self.trimmed = self._samples = self._stretches = self._short = 0
        self.cut = (0.0, 0.0, 0)  # before and after these times [s], so many samples
        self._gap = self._shortest = self._longest = 0.0
        self._found: dict[str, dict[str, Counter[str]]] = {}  # samples by what was done, channel and column

    def _inside(self, time: Array) -> BoolArray:
        return np.asarray((time >= self.within[0]) & (time < self.within[1]))

    def count(self, time: Array) -> int:
        """Of samples at these times."""
        return int(self._inside(time).sum())

    def see(self, what: str, recording: Recording, name: str, at: BoolArray) -> None:
        """``turns``, ``spikes``, ``filled`` or ``missing``: which samples (N, k) of a channel."""
        counts = at[self._inside(recording.time)].sum(axis=0).tolist()
        if any(counts):
            channel = self._found.setdefault(what, {}).setdefault(name, Counter())
            channel.update(dict(zip(recording.columns(name), counts, strict=True)))

    def see_stretches(self, parts: Sequence[Recording], gap: float, shortest: float) -> None:
        self._gap, self._shortest = gap, shortest
        self._longest = max(self._longest, *(part.duration for part in parts))
        inside = self._inside(np.array([part.time[0] for part in parts]))
        self._stretches += int(inside.sum())
        self._short += int(inside[[part.duration < shortest for part in parts]].sum())

    def see_holes(self, recording: Recording) -> None:
        """Of samples that were corrected."""
        self._samples += self.count(recording.time)
        for name in recording.channels:
            self.see("missing", recording, name, ~np.isfinite(getattr(recording, name)))

    def refuse(self, limits: Thresholds) -> None:
        """A log with too many holes, or without a piece that is long enough."""
        for name, counts in self._found.get("missing", {}).items():
            column, count = counts.most_common(1)[0]
            share = count / max(self._samples, 1)
            if share > limits.nan_share:
                why = f"cannot be repaired: {name} of {column} holds no numbers in {100 * share:.2g} % of the samples; "
                raise RecordingError(f"{why}{100 * limits.nan_share:g} % are allowed")
        if self._longest < self._shortest:
            why = f"cannot be repaired: the longest piece without gap lasts {self._longest:.3g} s; "
            raise RecordingError(f"{why}{self._shortest:g} s are needed, see repair: {{shortest: …}}")

    @property
    def notes(self) -> tuple[Note, ...]:
        said = list[tuple[str, ...]]()
        if self.dropped:
            said.append(("duplicates", f"dropped {self.dropped} samples with the time of the one before"))
        for joint, count in (+self._found.get("turns", {}).get("q", Counter())).items():
            said.append(("turns", f"took {counted(count, 'step')} of a turn out of {joint}", joint))
        for name, columns in self._found.get("spikes", {}).items():
            said.append(("spikes", f"replaced {columns.total()} isolated outliers of {name} ({', '.join(+columns)})"))
        first, last, count = self.cut
        if count:
            cut = f"cut the standstill before {first:.6g} s and after {last:.6g} s: {count} samples"
            said.append(("standstill", cut))
        if self.trimmed:
            said.append(("missing values", f"cut {self.trimmed} incomplete samples at the ends"))
        for name, columns in self._found.get("filled", {}).items():
            text = f"filled {columns.total()} missing values of {name} ({', '.join(+columns)}) by cubics through their "
            said.append(("missing values", f"{text}neighbours"))
        if self._stretches > 1:
            said.append(("gaps", f"split into {self._stretches} pieces at gaps longer than {1e3 * self._gap:.4g} ms"))
        if self._short:
            said.append(("gaps", f"left out {self._short} pieces shorter than {self._shortest:g} s"))
        return tuple(notes.done(*one) for one in said)


def moving_span(pieces: Iterable[Recording], limits: Thresholds) -> tuple[float, float]:
    start, end, _ = Evidence(pieces, limits).rest
    if start is None or end is None:
        raise RecordingError("cannot be repaired: no joint moves, the recording is standstill from beginning to end")
    return start, end


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


def complete(recording: Recording) -> BoolArray:
    """(N,) whether all values of a sample are there."""
    whole = [np.isfinite(getattr(recording, name)).all(axis=1) for name in recording.channels]
    return np.asarray(np.all(whole, axis=0))


def _filled(part: Recording, repairs: Repairs, done: RepairTally, name: str, x: Array) -> Array:
    """A cubic fitted to as many good samples on either side as are missing, eight at least, for every run."""
    x, bad, time = x.copy(), ~np.isfinite(x), part.time
    for j in np.flatnonzero(bad.any(axis=0)):
        (starts, lengths), good = runs(bad[:, j]), np.flatnonzero(~bad[:, j])
        span = time[np.minimum(starts + lengths, len(time) - 1)] - time[np.maximum(starts - 1, 0)]
        k = int(span.argmax())
        if span[k] > max(repairs.interpolate, 2.5 * part.interval if repairs.interpolate > 0 else 0.0):
            why = f"cannot be repaired: {name} of {part.columns(name)[j]} holds no numbers for {1e3 * span[k]:.4g} ms "
            why += f"after {time[starts[k]]:.6g} s, and runs up to {1e3 * repairs.interpolate:.4g} ms are filled; cut "
            raise RecordingError(why + "it out with windows, or see repair: {interpolate: …}")
        for start, length in zip(starts, lengths, strict=True):
            size, at = max(LEAST_FILL_SAMPLES, length), np.searchsorted(good, start)
            near, hole = good[max(at - size, 0) : at + size], slice(start, start + length)
            centre, degree = time[start + length // 2], min(FILL_DEGREE, len(near) - 1)
            scale = max(float(np.abs(time[near] - centre).max()), 1e-300)
            fit = np.polynomial.polynomial.polyfit((time[near] - centre) / scale, x[near, j], degree)
            x[hole, j] = np.polynomial.polynomial.polyval((time[hole] - centre) / scale, fit)
    done.see("filled", part, name, bad)
    return x


class RepairedLog:
    """A log as ``repair`` leaves it, read anew at every ``iter``, in pieces in order of time; stuck sensors are left to
    the quality check. A value missing for longer than a piece is looked beyond is refused."""

    def __init__(self, chunks: Callable[[], Iterable[Recording]], repairs: Repairs | None = None) -> None:
        self.chunks, self.repairs, self.limits = chunks, repairs or Repairs(), Thresholds()
        self.interval = Recording.join(window(iter(chunks()), INTERVAL_SAMPLES)).interval
        self.moving = (-np.inf, np.inf)  # [s]
        if self.repairs.cut_standstill:
            right, done = partial(corrected, repairs=self.repairs, limits=self.limits), RepairTally()
            pieces = (_between(right(piece, done=done), start, end) for piece, start, end in self._pieces())
            self.moving = moving_span(pieces, self.limits)

    def __iter__(self) -> Iterator[Recording]:
        return self.repaired(RepairTally())

    def repaired(self, done: RepairTally) -> Iterator[Recording]:
        """done: counts what was repaired, and is complete when the last piece has been given."""
        turns, cut, (first, last) = _Turns(), 0, self.moving
        for piece, start, end in self._pieces():
            done.within = start, end
            whole = corrected(piece, self.repairs, self.limits, done)
            done.see_holes(whole)
            kept = whole.between(first, last)
            cut += len(_between(whole, start, end)) - len(_between(kept, start, end))
            if not len(kept):
                continue
            time, there = kept.time, kept.time[complete(kept)]
            torn = time[0] <= start and not (there <= start).any()  # as far as the piece reaches: for how long?
            if torn or (time[-1] >= end and not (there >= end).any()):
                why = f"cannot be repaired: samples about {start if torn else end:.6g} s hold no numbers for a second "
                raise RecordingError(f"{why}or more; cut that time out with windows")
            parts = completed(kept, self.interval, self.repairs, done)
            if self.repairs.unwrap:
                parts = turns.continued(parts, end)
            for part in parts:
                inner = _between(part, start, end)
                if part.duration >= self.repairs.shortest and len(inner):
                    yield inner
        done.refuse(self.limits)
        done.cut = (first, last, cut)

    def _pieces(self) -> Iterator[tuple[Recording, float, float]]:
        """Each with the time [s] of which it is to be taken, from and before; open at the ends of the log."""
        beside = max(MARGIN_SECONDS, 2.0 * self.repairs.shortest, 4.0 * self.repairs.interpolate)
        for piece in overlapped(self.chunks(), MARGIN_SAMPLES, beside):
            time = piece.whole.time
            start = -np.inf if piece.first else float(time[piece.inner.start])
            end = np.inf if piece.last else float(time[piece.inner.stop])
            yield piece.whole, start, end


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
                turns = np.median(self._before.q[old] - joined.q[new], axis=0) / TURN_RAD
                self._offset = np.rint(turns) * TURN_RAD
        moved = [_turned(part, part.q + self._offset) for part in parts]
        self._before = Recording.join(moved).between(end - MARGIN_SECONDS, np.inf) if np.isfinite(end) else None
        return moved


def _turned(recording: Recording, q: Array) -> Recording:
    """With positions that differ by whole turns; commands of joints that do: the same angle nearest to these."""
    command = recording.command
    if command is not None:
        turning = (np.isfinite(q) & (q != recording.q)).any(axis=0)
        nearest = command + TURN_RAD * np.rint((q - command) / TURN_RAD)
        command = np.where(turning & np.isfinite(q), nearest, command)
    return replace(recording, q=q, command=command)


def _between(recording: Recording, start: float, end: float) -> Recording:
    """The samples of start ≤ time < end [s]."""
    first, last = np.searchsorted(recording.time, [start, end])
    return recording[int(first) : int(last)]
