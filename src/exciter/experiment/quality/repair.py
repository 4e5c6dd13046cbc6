"""Repairs: only those that were asked for, each one told; what cannot be repaired is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError
from exciter.experiment.quality.constant import stuck
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.finding import Severity
from exciter.experiment.quality.jumps import turns_of, unwrapped
from exciter.experiment.quality.missing import sane
from exciter.experiment.quality.repairs import Repairs
from exciter.experiment.quality.spikes import isolated
from exciter.experiment.quality.survey import CHUNK, survey
from exciter.experiment.quality.tally import Array, runs
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.quality.words import count as counted
from exciter.experiment.recording.recording import Recording

CUBIC = 3
BESIDE = 8  # samples on either side, at least, that a filled run is fitted to


@dataclass(frozen=True, eq=False)
class Repaired:
    """segments: pieces without long gaps, in order of time. words: what was done; empty when nothing was."""

    segments: tuple[Recording, ...]
    words: tuple[str, ...]

    @property
    def recording(self) -> Recording:
        """All segments in one, gaps left open."""
        return Recording.join(self.segments)


def repair(recording: Recording, repairs: Repairs | None = None, thresholds: Thresholds | None = None) -> Repaired:
    """The recording with the repairs asked for."""
    repairs, limits = repairs or Repairs(), thresholds or Thresholds()
    words: list[str] = []
    _refuse_stuck(recording, limits)
    recording = sane(recording)
    recording = _without_duplicates(recording, repairs, words)
    recording = _unwrapped(recording, words) if repairs.unwrap else recording
    recording = _without_spikes(recording, repairs, limits, words)
    if repairs.cut_standstill:
        recording = _moving(recording, limits, words)
    parts = _filled(_trimmed(_stretches(recording, repairs), words), repairs, words)
    _refuse_holes(recording, limits)
    return Repaired(_long_enough(parts, _longest_gap(recording, repairs), repairs, words), tuple(words))


def _refuse_stuck(recording: Recording, limits: Thresholds) -> None:
    evidence = Evidence(survey(recording.chunks(CHUNK), None, limits), limits)  # also refuses time that stands still
    for finding in stuck(evidence):
        if finding.severity == Severity.PROBLEM:
            raise RecordingError(f"cannot be repaired: {finding.joint}: {finding.words}")


def _without_duplicates(recording: Recording, repairs: Repairs, words: list[str]) -> Recording:
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
    if drop.any():
        words.append(f"dropped {int(drop.sum())} samples with the time of the one before")
    return recording[~drop]


def _unwrapped(recording: Recording, words: list[str]) -> Recording:
    turns = turns_of(recording.q)
    for j in map(int, np.flatnonzero(turns.any(axis=0))):
        words.append(f"took {counted(int((turns[:, j] != 0).sum()), 'step')} of a turn out of {recording.joints[j]}")
    return replace(recording, q=unwrapped(recording.q)) if turns.any() else recording


def _without_spikes(recording: Recording, repairs: Repairs, limits: Thresholds, words: list[str]) -> Recording:
    if not repairs.spikes:
        return recording
    changed: dict[str, Any] = {}
    for name in recording.channels:
        x = getattr(recording, name)
        at = isolated(recording.time, x, limits.spike)
        if at.any():
            changed[name] = np.where(at, np.nan, x)
            joints = ", ".join(recording.columns(name)[j] for j in np.flatnonzero(at.any(axis=0)))
            words.append(f"replaced {int(at.sum())} isolated outliers of {name} ({joints})")
    return replace(recording, **changed) if changed else recording


def _moving(recording: Recording, limits: Thresholds, words: list[str]) -> Recording:
    rest = Evidence(survey(recording.chunks(CHUNK), None, limits), limits).rest
    if rest.start is None or rest.end is None:
        raise RecordingError("cannot be repaired: no joint moves, the recording is standstill from beginning to end")
    cut = recording.between(rest.start, rest.end)
    if len(cut) < len(recording):
        words.append(
            f"cut the standstill before {cut.time[0]:.6g} s and after {cut.time[-1]:.6g} s: "
            f"{len(recording) - len(cut)} samples"
        )
    return cut


# -- gaps ---------------------------------------------------------------------------------------------------------


def _stretches(recording: Recording, repairs: Repairs) -> list[Recording]:
    """What lies between long gaps."""
    cuts = np.flatnonzero(np.diff(recording.time) > _longest_gap(recording, repairs)) + 1
    return [recording[int(a) : int(b)] for a, b in zip([0, *cuts], [*cuts, len(recording)], strict=True)]


def _longest_gap(recording: Recording, repairs: Repairs) -> float:
    """[s] that does not split the recording."""
    return max(repairs.longest_gap, 2.5 * recording.interval)


def _long_enough(parts: Sequence[Recording], gap: float, repairs: Repairs, words: list[str]) -> tuple[Recording, ...]:
    kept = [part for part in parts if part.duration >= repairs.shortest]
    if len(parts) > 1:
        words.append(f"split into {len(parts)} pieces at gaps longer than {1e3 * gap:.4g} ms")
    if not kept:
        longest = max(part.duration for part in parts)
        raise RecordingError(
            f"cannot be repaired: the longest piece without gap lasts {longest:.3g} s; {repairs.shortest:g} s are "
            "needed, see repair: {shortest: …}"
        )
    if len(kept) < len(parts):
        words.append(f"left out {len(parts) - len(kept)} pieces shorter than {repairs.shortest:g} s")
    return tuple(kept)


# -- missing values -----------------------------------------------------------------------------------------------


def _trimmed(parts: Sequence[Recording], words: list[str]) -> list[Recording]:
    """Rows at the ends of a piece that are not complete cannot be interpolated: they are cut."""
    out = []
    for part in parts:
        whole = np.all([np.isfinite(getattr(part, name)).all(axis=1) for name in part.channels], axis=0)
        if whole.any():
            kept = np.flatnonzero(whole)
            out.append(part[int(kept[0]) : int(kept[-1]) + 1])
    if not out:
        raise RecordingError("cannot be repaired: no sample has all its values")
    if cut := sum(map(len, parts)) - sum(map(len, out)):
        words.append(f"cut {cut} incomplete samples at the ends")
    return out


def _refuse_holes(recording: Recording, limits: Thresholds) -> None:
    for name in recording.channels:
        share = (~np.isfinite(getattr(recording, name))).mean(axis=0)
        j = int(np.argmax(share))
        if share[j] > limits.nan_share:
            raise RecordingError(
                f"cannot be repaired: {name} of {recording.columns(name)[j]} holds no numbers in "
                f"{100 * share[j]:.2g} % of the samples; {100 * limits.nan_share:g} % are allowed"
            )


def _filled(parts: Sequence[Recording], repairs: Repairs, words: list[str]) -> list[Recording]:
    """Every piece by itself: what lies beyond a long gap says nothing of a hole."""
    out, holes = [], dict.fromkeys(parts[0].channels, 0)
    joints: dict[str, set[int]] = {name: set() for name in holes}
    for part in parts:
        changed: dict[str, Any] = {}
        for name in part.channels:
            x = getattr(part, name).copy()
            bad = ~np.isfinite(x)
            for j in map(int, np.flatnonzero(bad.any(axis=0))):
                _refuse_burst(part, name, j, bad[:, j], repairs)
                _fill(part.time, x[:, j], bad[:, j])
                joints[name].add(j)
            if bad.any():
                changed[name] = x
                holes[name] += int(bad.sum())
        out.append(replace(part, **changed) if changed else part)
    for name, count in holes.items():
        if count:
            of = ", ".join(parts[0].columns(name)[j] for j in sorted(joints[name]))
            words.append(f"filled {count} missing values of {name} ({of}) by cubics through their neighbours")
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
        size = max(BESIDE, int(length))
        at = int(np.searchsorted(good, start))
        near = good[max(at - size, 0) : at + size]
        centre = time[start + length // 2]
        scale = max(float(np.abs(time[near] - centre).max()), 1e-300)
        degree = min(CUBIC, len(near) - 1)
        fit = np.polynomial.polynomial.polyfit((time[near] - centre) / scale, x[near], degree)
        hole = slice(int(start), int(start + length))
        x[hole] = np.polynomial.polynomial.polyval((time[hole] - centre) / scale, fit)
