"""Through which low-pass positions are differentiated, and whether recorded velocities are used.

The cut-off that balances motion and noise in q̈ is best for q̈, not for what is wanted: torques. So cut-offs are tried,
and the lowest is kept whose model predicts torques as well as any where it has not seen them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.signals.local_routes import HIGHEST, FilteredDifferences
from exciter.experiment.signals.low_pass import EDGE, Butterworth
from exciter.experiment.signals.processed import Processed
from exciter.identification.information.cross_validation import Score, simplest_within_error
from exciter.identification.runs.run import Run
from exciter.identification.selection.trial import Choice, Trial
from exciter.typing import Array

MULTIPLES = (5.0, 10.0, 20.0, 40.0)  #: of the motion's band
LOST = 0.05  #: of the shortest run, at each end: a lower cut-off would cost more
WEIGHTS = np.array([10.0, 1.0, 0.1])  # of the prior, while cut-offs are compared

Remake = Callable[[FilteredDifferences], tuple[Run, ...]]
Try = Callable[[tuple[Run, ...]], Trial]


@dataclass(frozen=True, eq=False)
class Routed:
    """runs: through ``route``."""

    route: FilteredDifferences
    runs: tuple[Run, ...]
    choice: Choice


def choose_route(remake: Remake, trial: Try, band: float, runs: Sequence[Run]) -> Routed | None:
    """remake: runs through a route; trial: of a model on runs; band [Hz] of the motion; runs: as read, for their rates
    and durations. None where no cut-off can be tried."""
    cutoffs = candidates(band, runs)
    if not cutoffs:
        return None
    bench = _Bench(remake, trial, min(cutoffs))
    found = {cutoff: bench.score(FilteredDifferences(cutoff)) for cutoff in cutoffs}
    cutoff = cutoffs[simplest_within_error(list(found.values()))]
    route = FilteredDifferences(cutoff)
    listed = ", ".join(f"{score.mean:.3g} at {key:.3g} Hz" for key, score in found.items())
    reason = f"the lowest cut-off that predicts as well as any: error {listed}"
    if all(run.recording is not None and run.recording.qd is not None for run in runs):
        measured = bench.score(replace(route, measured_velocity=True))
        better = measured.mean < found[cutoff].mean
        reason += f"; {measured.mean:.3g} with recorded velocities"
        route = replace(route, measured_velocity=better)
    route = replace(route, bands=float(f"{cutoff / band:.3g}"))  # logs that are faster want more
    kind = "recorded velocities" if route.measured_velocity else "positions"
    value = f"{kind} through {cutoff:.3g} Hz, then central differences"
    return Routed(route, remake(route), Choice("route", value, reason))


def candidates(band: float, runs: Sequence[Run]) -> tuple[float, ...]:
    """[Hz] ascending."""
    rate = min(part.rate for run in runs for part in run.bounded.parts)
    shortest = min(_duration(run) for run in runs)
    least = Butterworth(1.0).settle(1e3, EDGE) / 1e3 / (LOST * max(shortest, 1e-9))
    tried = sorted({float(f"{multiple * band:.3g}") for multiple in MULTIPLES})
    return tuple(cutoff for cutoff in tried if least <= cutoff <= HIGHEST * rate)


def _duration(run: Run) -> float:
    if run.recording is not None:
        return run.recording.duration
    assert run.span is not None
    return run.span[1] - run.span[0]


class _Bench:
    """Routes compared on the same instants: those that are left with the lowest cut-off."""

    def __init__(self, remake: Remake, trial: Try, lowest: float) -> None:
        self.remake, self.trial = remake, trial
        self.spans = [run.spans for run in remake(FilteredDifferences(lowest))]
        self.noise: Array | None = None

    def score(self, route: FilteredDifferences) -> Score:
        runs = tuple(_within(run, spans) for run, spans in zip(self.remake(route), self.spans, strict=True))
        trial = self.trial(runs)
        if self.noise is None:  # one unit for all
            self.noise = trial.noise(0.1)
        noise = self.noise
        return min(trial.scores(WEIGHTS, noise), key=lambda score: score.mean)


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
