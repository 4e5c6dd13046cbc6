"""Runs from logs larger than memory: read, repaired and processed piece by piece, every time they are gone through.

Parameters, their covariance and residuals are sums over rows, and need no more. What needs a log at once, the choice of
settings and whatever is drawn, looks at a sample of it: evenly spread windows of bounded size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.quality.prepare_log import fallen_back, usual_route
from exciter.experiment.quality.quality import Quality, check_stream
from exciter.experiment.quality.repair import Repaired, RepairedLog, RepairTally, repair
from exciter.experiment.quality.sample_survey import Windows
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_facts import Repairs
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import BrokenPositions, average_periods
from exciter.experiment.signals.processed_motion import Processed, Route, StreamingRoute
from exciter.identification.runs.run import Run
from exciter.notes import Note

HELD_BYTES = 64_000_000  #: of samples in memory at once; more are read piece by piece
SAMPLE_BYTES = 16_000_000  #: of the sample of a log that is read piece by piece
SAMPLE_WINDOW_LENGTH = 16_384  #: samples of one window of it
FEWEST_WINDOWS = 8  #: shorter ones, where the sample would have fewer
STUCK_SENSOR = "stuck sensor"  #: a finding that no repair helps


@dataclass(frozen=True, eq=False)
class StreamedParts:
    """Motion and torque of a log, read anew at every ``iter``; in memory are some pieces of it and their margins.

    typical: what open choices of the route are made from; None: the log's first stretch with motion.
    """

    chunks: Callable[[], Iterable[Recording]]
    route: StreamingRoute
    typical: Recording | None = None

    def __iter__(self) -> Iterator[Processed]:
        return self.route.stream(self.chunks(), self.typical)


@dataclass(frozen=True, eq=False)
class LongLog:
    """A log that is not held: ``repaired`` reads it anew.

    sample: evenly spread windows of what was repaired, which has ``samples`` in all; span [s]: first and last instant;
    notes: what was repaired; quality: of all samples.
    """

    name: str
    repaired: Callable[[], Iterable[Recording]]
    sample: Recording
    samples: int
    span: tuple[float, float]
    notes: tuple[Note, ...]
    quality: Quality

    @classmethod
    def of(
        cls, chunks: Callable[[], Iterable[Recording]], name: str, model: DynamicModel, repairs: Repairs | None = None
    ) -> LongLog:
        """Gone through once, with the joints of the model's robot in its order; model: what the log is judged by."""
        log, done = RepairedLog.of(chunks, repairs), RepairTally()
        seen = _StreamSample()
        quality = check_stream(seen.each(log.repaired(done)), model=model)
        for finding in quality.problems:
            if finding.subject == STUCK_SENSOR:
                raise RecordingError(f"cannot be repaired: {finding.joint}: {finding.text}")
        return cls(
            name=name,
            repaired=lambda: log,
            sample=seen.sample,
            samples=seen.samples,
            span=seen.span,
            notes=done.notes,
            quality=quality,
        )

    @cached_property
    def sampled(self) -> str:
        """What is looked at where all would be too much, in words."""
        share = f"{len(self.sample)} of its {self.samples} samples, in evenly spread windows"
        return (
            f"the log is long: settings are chosen, checks made and plots drawn from {share}; parameters, their σ "
            "and residuals are of all samples"
        )

    @cached_property
    def repaired_sample(self) -> Repaired:
        """Its windows as pieces; their samples have been repaired."""
        return repair(self.sample)

    def run(self, route: Route | None = None) -> Run:
        """Through a route; as ``process`` chooses one unless it is given."""
        if route is not None:
            return self._through(route)
        route, why = usual_route(self.sample)
        try:
            return self._through(route, why)
        except RecordingError as error:
            if isinstance(route, FilteredDifferences) or isinstance(error, BrokenPositions):
                raise
            return self._through(FilteredDifferences(), fallen_back(error))

    def _through(self, route: Route, *why: Note) -> Run:
        about = self.sample.about
        if isinstance(route, StreamingRoute):
            sample = Run.of(self.repaired_sample, route, name=self.name)
            of_parts = dict.fromkeys(one for part in sample.parts for one in part.notes)
            parts, notes = StreamedParts(self.repaired, route, self.sample), (*self.notes, *why, *of_parts)
            return Run(parts, self.name, self.span, about.period, about.payload, self.sample, notes, sample)
        if not isinstance(route, FourierFit):
            raise RecordingError(f"{type(route).__name__} needs the log at once; keep less of it (windows)")
        part, _ = route.of_average(average_periods(self.repaired, route.period, route.settled))
        notes = (*self.notes, *why, *part.notes)
        return Run((part,), self.name, None, about.period, about.payload, self.sample, notes)


class _StreamSample:
    """What is kept of pieces that pass."""

    def __init__(self) -> None:
        self.samples, self._first, self._last = 0, 0.0, 0.0
        self._windows: Windows | None = None

    def each(self, pieces: Iterable[Recording]) -> Iterator[Recording]:
        for piece in pieces:
            if self._windows is None:
                most = SAMPLE_BYTES // (size_of(piece) // len(piece))
                self._windows = Windows(min(SAMPLE_WINDOW_LENGTH, max(most // FEWEST_WINDOWS, 1)), most)
                self._first = float(piece.time[0])
            self._windows.see(piece, 0)
            self.samples, self._last = self.samples + len(piece), float(piece.time[-1])
            yield piece

    @property
    def sample(self) -> Recording:
        assert self._windows is not None
        return Recording.join(self._windows.windows())

    @property
    def span(self) -> tuple[float, float]:
        return self._first, self._last


def size_of(recording: Recording) -> int:
    """[B] of its samples."""
    return sum(getattr(recording, name).nbytes for name in ("time", *recording.everything))
