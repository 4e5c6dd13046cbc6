"""Cut-offs of the low-pass that positions are differentiated through: what balances motion and noise in q̈ is best for
q̈, not for torques. So they are tried, and the lowest is kept whose model predicts held-out torques as well as any. And
of the filter of the equations: ten times the band of the motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.signals.differentiation import HIGHEST_CUTOFF_RATE_FRACTION, FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import EDGE_FRACTION, Butterworth
from exciter.experiment.signals.processed_motion import Processed, motion_band
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import Score, simplest_within_error
from exciter.identification.runs.run import Run, bounded_parts
from exciter.identification.selection.cross_validated_trial import Choice, Trial
from exciter.typing import Array

CUTOFFS_PER_BAND = (5.0, 10.0, 20.0, 40.0)  #: of the motion's band
MOST_EDGE_FRACTION = 0.05  #: of the shortest run, at each end: a lower cut-off would cost more
CUTOFF_PRIOR_WEIGHTS = np.array([10.0, 1.0, 0.1])  # of the prior, while cut-offs are compared
EQUATION_CUTOFF_PER_BAND = 10.0  #: of the motion's: dry friction, and what links make of a motion, reach beyond it
LOWEST_EQUATION_CUTOFF_HZ = 3.0  #: [Hz]
Remake = Callable[[FilteredDifferences], tuple[Run, ...]]
Try = Callable[[tuple[Run, ...]], Trial]
Routed = tuple[FilteredDifferences, tuple[Run, ...], Choice]  # a route, runs through it, and why


def choose_route(remake: Remake, trial: Try, band: float, runs: Sequence[Run]) -> Routed | None:
    """remake: runs through a route; trial: of a model on runs; band [Hz] of the motion; runs: as read, for their rates
    and durations. None where no cut-off can be tried."""
    cutoffs = cutoff_candidates(band, runs)
    if not cutoffs:
        return None
    remake = lru_cache(maxsize=1)(remake)  # the lowest cut-off is the first one that is tried
    left = [run.spans for run in remake(FilteredDifferences(min(cutoffs)))]  # all are compared on these instants
    noise: Array | None = None
    projecting: Formulation | None = None

    def scored(route: FilteredDifferences) -> Score:
        nonlocal noise, projecting
        tried = trial(tuple(_within(run, spans) for run, spans in zip(remake(route), left, strict=True)))
        if projecting is None:  # one way to take off forces of the ground, and one unit, for all
            projecting = tried.projecting
        tried = tried.projected(projecting)
        noise = tried.noise(0.1) if noise is None else noise
        return tried.best_score(CUTOFF_PRIOR_WEIGHTS, noise)

    found = {cutoff: scored(FilteredDifferences(cutoff)) for cutoff in cutoffs}
    cutoff = cutoffs[simplest_within_error(list(found.values()))]
    route = FilteredDifferences(cutoff)
    listed = ", ".join(f"{score.mean:.3g} at {key:.3g} Hz" for key, score in found.items())
    reason = f"the lowest cut-off that predicts as well as any: error {listed}"
    if all(run.recording is not None and run.recording.qd is not None for run in runs):
        measured = scored(replace(route, measured_velocity=True))
        better = measured.mean < found[cutoff].mean
        reason += f"; {measured.mean:.3g} with recorded velocities"
        route = replace(route, measured_velocity=better)
    route = replace(route, bands=float(f"{cutoff / band:.3g}"))  # logs that are faster want more
    kind = "recorded velocities" if route.measured_velocity else "positions"
    value = f"{kind} through {cutoff:.3g} Hz, then central differences"
    return route, remake(route), Choice("route", value, reason)


def cutoff_candidates(band: float, runs: Sequence[Run]) -> tuple[float, ...]:
    """[Hz] ascending."""
    rate = min(part.rate for part in bounded_parts(runs))
    shortest = min(_duration(run) for run in runs)
    least = Butterworth(1.0).settle(1e3, EDGE_FRACTION) / 1e3 / (MOST_EDGE_FRACTION * max(shortest, 1e-9))
    tried = sorted({float(f"{multiple * band:.3g}") for multiple in CUTOFFS_PER_BAND})
    return tuple(cutoff for cutoff in tried if least <= cutoff <= HIGHEST_CUTOFF_RATE_FRACTION * rate)


def _duration(run: Run) -> float:
    if run.recording is not None:
        return run.recording.duration
    assert run.span is not None
    return run.span[1] - run.span[0]


def _within(run: Run, spans: Sequence[tuple[float, float]]) -> Run:
    """The instants within spans [s]."""
    parts: list[Processed] = []
    for part in run.parts:
        time = part.motion.time
        for first, last in spans:
            start, end = np.searchsorted(time, [first - 1e-9, last + 1e-9])
            if end - start > 1:
                parts.append(part[int(start) : int(end)])
    if not parts:
        raise RecordingError(f"{run.name}: nothing is left to compare cut-offs with")
    return replace(run, parts=tuple(parts), span=None)


def usual_filter(pieces: Sequence[Processed]) -> ParallelFilter | None:
    """Ten times the band of the motion, or what the positions went through if that is less."""
    if not pieces:
        return None
    rate = min(piece.rate for piece in pieces)
    position = min(piece.position_bandwidth for piece in pieces)
    torque = min(piece.torque_bandwidth for piece in pieces)
    return ParallelFilter(stopped(Butterworth(min(position, wide(motion_band(pieces), rate))), rate, torque))


def wide(band: float, rate: float) -> float:
    """[Hz] cut-off for equations of a motion up to ``band`` [Hz]."""
    return min(max(EQUATION_CUTOFF_PER_BAND * band, LOWEST_EQUATION_CUTOFF_HZ), HIGHEST_CUTOFF_RATE_FRACTION * rate)


def stopped(low_pass: Butterworth, rate: float, torque: float) -> Butterworth:
    """The filter, lowered where it would pass what an analogue one took from the torque, above ``torque`` [Hz]."""
    return low_pass.stopped_at(torque, rate) if low_pass.stop(rate) > torque else low_pass


def choose_equation_filter(runs: tuple[Run, ...]) -> tuple[ParallelFilter, Choice]:
    """Both sides of the equations through ten times the band of the motion: beyond it there is noise to be had."""
    parts = bounded_parts(runs)
    rate, band = min(part.rate for part in parts), motion_band(parts)
    limit = min(part.torque_bandwidth for part in parts)
    wanted = Butterworth(float(f"{wide(band, rate):.3g}"))
    low_pass = stopped(wanted, rate, limit)
    least = f"at least {LOWEST_EQUATION_CUTOFF_HZ:g} Hz"
    reason = f"{EQUATION_CUTOFF_PER_BAND:g} times the highest frequency of the motion ({band:.2g} Hz), {least}"
    if low_pass != wanted:
        reason = f"the torque has nothing above {limit:.3g} Hz"
    both = ParallelFilter(low_pass)
    factor = both.at(rate, limit)[1]
    reason += f"; one sample of {factor} is kept: once filtered, those between tell nothing new"
    return both, Choice("filter", f"both sides of the equations through {low_pass.cutoff:.3g} Hz", reason)
