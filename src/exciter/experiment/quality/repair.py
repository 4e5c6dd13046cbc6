"""Repairs: only those that were asked for, each one told; what cannot be repaired is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError
from exciter.experiment.quality.constant import stuck
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.finding import Severity
from exciter.experiment.quality.missing import sane
from exciter.experiment.quality.repairs import Repairs
from exciter.experiment.quality.spikes import isolated
from exciter.experiment.quality.survey import CHUNK, survey
from exciter.experiment.quality.tally import Array, runs
from exciter.experiment.quality.thresholds import Thresholds
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
    recording = _without_spikes(recording, repairs, limits, words)
    if repairs.cut_standstill:
        recording = _moving(recording, limits, words)
    recording = _filled(recording, repairs, limits, words)
    return Repaired(_segments(recording, repairs, words), tuple(words))


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
    for name in recording.signals:
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


def _without_spikes(recording: Recording, repairs: Repairs, limits: Thresholds, words: list[str]) -> Recording:
    if not repairs.spikes:
        return recording
    changed: dict[str, Any] = {}
    for name in recording.signals:
        x = getattr(recording, name)
        at = isolated(x, limits.spike)
        if at.any():
            changed[name] = np.where(at, np.nan, x)
            joints = ", ".join(recording.joints[j] for j in np.flatnonzero(at.any(axis=0)))
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


# -- missing values -----------------------------------------------------------------------------------------------


def _filled(recording: Recording, repairs: Repairs, limits: Thresholds, words: list[str]) -> Recording:
    recording = _trimmed(recording, words)
    changed: dict[str, Any] = {}
    for name in recording.signals:
        x = getattr(recording, name).copy()
        bad = ~np.isfinite(x)
        if not bad.any():
            continue
        for j in np.flatnonzero(bad.any(axis=0)):
            _refuse_burst(recording, name, int(j), bad[:, j], repairs, limits)
            _fill(recording.time, x[:, j], bad[:, j])
        changed[name] = x
        joints = ", ".join(recording.joints[j] for j in np.flatnonzero(bad.any(axis=0)))
        words.append(f"filled {int(bad.sum())} missing values of {name} ({joints}) by cubics through their neighbours")
    return replace(recording, **changed) if changed else recording


def _trimmed(recording: Recording, words: list[str]) -> Recording:
    """Rows at the ends that are not complete cannot be interpolated: they are cut."""
    whole = np.all([np.isfinite(getattr(recording, name)).all(axis=1) for name in recording.signals], axis=0)
    kept = np.flatnonzero(whole)
    if not kept.size:
        raise RecordingError("cannot be repaired: no sample has all its values")
    first, last = int(kept[0]), int(kept[-1]) + 1
    if last - first < len(recording):
        words.append(f"cut {len(recording) - (last - first)} incomplete samples at the ends")
    return recording[first:last]


def _refuse_burst(
    recording: Recording, name: str, j: int, bad: NDArray[np.bool_], repairs: Repairs, limits: Thresholds
) -> None:
    starts, lengths = runs(bad)
    time = recording.time
    span = time[np.minimum(starts + lengths, len(time) - 1)] - time[np.maximum(starts - 1, 0)]
    k = int(span.argmax())
    share = float(bad.mean())
    what = f"cannot be repaired: {name} of {recording.joints[j]} holds no numbers"
    if span[k] > max(repairs.interpolate, 2.5 * recording.interval if repairs.interpolate > 0 else 0.0):
        raise RecordingError(
            f"{what} for {1e3 * span[k]:.4g} ms after {time[starts[k]]:.6g} s, and runs up to "
            f"{1e3 * repairs.interpolate:.4g} ms are filled; cut it out with windows, or see repair: {{interpolate: …}}"
        )
    if share > limits.nan_share:
        raise RecordingError(f"{what} in {100 * share:.2g} % of the samples; {100 * limits.nan_share:g} % are allowed")


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


# -- gaps ---------------------------------------------------------------------------------------------------------


def _segments(recording: Recording, repairs: Repairs, words: list[str]) -> tuple[Recording, ...]:
    gap = max(repairs.longest_gap, 2.5 * recording.interval)
    cuts = np.flatnonzero(np.diff(recording.time) > gap) + 1
    parts = [recording[int(a) : int(b)] for a, b in zip([0, *cuts], [*cuts, len(recording)], strict=True)]
    kept = [part for part in parts if part.duration >= repairs.shortest]
    if cuts.size:
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
