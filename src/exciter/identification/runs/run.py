"""One run of the robot, ready for identification: motion and torque, and what is known about it.

Runs from logs larger than memory are read, repaired and processed piece by piece, every time they are gone through.
Parameters, their covariance and residuals are sums over rows, and need no more. What needs a log at once, the choice of
settings and whatever is drawn, looks at a sample of it: evenly spread windows of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.base_reaction import BaseReaction
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.plan import PlannedStage
from exciter.experiment.quality.evidence import Windows, visible_period
from exciter.experiment.quality.prepare_log import fallen_back, process, usual_route, with_constant_contacts
from exciter.experiment.quality.quality import Quality, check
from exciter.experiment.quality.repair import Repaired, RepairedLog, RepairTally, repair
from exciter.experiment.recording import Payload, Recording
from exciter.experiment.recording.recording import LINK_SIDE, MOTOR_SIDE, Repairs, SourceFile, Triple
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import BrokenPositions, average_periods
from exciter.experiment.signals.processed_motion import Processed, Route, StreamingRoute
from exciter.notes import Note
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE
from exciter.robot.spatial import transform_inertia
from exciter.robot.stated_gravity import ExactGravity, agrees
from exciter.typing import Array, Index
from exciter.workers import HERE, Workers

PERIOD_INSTANTS = 2000  # instants that are enough to see a period
HELD_BYTES = 64_000_000  #: of samples in memory at once; more are read piece by piece
SAMPLE_BYTES, LEAST_SAMPLE_BYTES = 16_000_000, 2_000_000  #: of the sample of a log that is read piece by piece
ALL_SAMPLES_BYTES = 64_000_000  #: of those of all logs together, unless each would have less than the least
SAMPLE_WINDOW_LENGTH = 16_384  #: samples of one window of it
FEWEST_WINDOWS = 8  #: shorter ones, where the sample would have fewer
STUCK_SENSOR = "stuck sensor"  #: a finding that no repair helps


@dataclass(frozen=True)
class NotKept:
    """Parts of a run whose samples stayed in its log, when a result was saved."""

    name: str
    sources: tuple[SourceFile, ...]

    def __iter__(self) -> Iterator[Processed]:
        raise RecordingError(f"a result does not keep the samples of {self.name}; read the log again")


@dataclass(frozen=True, eq=False)
class Run:
    """parts: pieces of motion and torque in order of time, that can be gone through again and again: a tuple, or for
    logs larger than memory anything whose ``__iter__`` reads them anew.

    span [s]: first and last instant; found by itself where parts is a tuple. period [s]: of a motion that repeats.
    payload: a known one that was carried. recording: what was measured, where it is at hand. notes: what was done.
    sample: of parts that are read anew, a run of bounded size from evenly spread windows; its recording is at hand.
    held: numbers of joints that never move, of whose torque friction takes whatever it has to."""

    parts: Iterable[Processed]
    name: str = "run"
    span: tuple[float, float] | None = None
    period: float | None = None
    payload: Payload | None = None
    recording: Recording | None = None
    notes: tuple[Note, ...] = ()
    sample: Run | None = None
    held: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.parts, Sequence):
            object.__setattr__(self, "parts", tuple(self.parts))
            if not self.parts:
                raise RecordingError(f"{self.name} has no samples")
            if self.span is None:
                ends = self.parts[0].motion.time[0], self.parts[-1].motion.time[-1]
                object.__setattr__(self, "span", (float(ends[0]), float(ends[1])))
        if self.span is None:
            raise RecordingError(f"{self.name} is read piece by piece; say from when to when it lasts (span)")

    @classmethod
    def of(
        cls,
        recording: Recording | Repaired,
        route: Route | None = None,
        repairs: Repairs | None = None,
        name: str = "run",
    ) -> Run:
        """Processed for identification, see ``process``; its joints must be the robot's (``Recording.arranged``)."""
        made = process(recording, route, repairs)
        measured = recording.original if isinstance(recording, Repaired) else recording
        about = measured.about
        return cls(made.parts, name, period=about.period, payload=about.payload, recording=measured, notes=made.notes)

    @classmethod
    def at(cls, motion: Motion, torque: ArrayLike, rate: float, name: str = "run") -> Run:
        """A motion that is known exactly, with the torque (N, n) it took, at ``rate`` [Hz]."""
        return cls((Processed(motion, np.asarray(torque, dtype=float), rate),), name)

    @property
    def silent(self) -> tuple[int, ...]:
        """Numbers of the joints whose torque has no equation: unusable (``Recording.silent``), or held by friction."""
        unusable = () if self.recording is None else self.recording.silent
        return tuple(sorted({*unusable, *self.held}))

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files it came from."""
        if isinstance(self.parts, NotKept):
            return self.parts.sources
        return () if self.recording is None else self.recording.about.sources

    def for_archive(self) -> Run:
        """Without its samples, which stay in its log."""
        return replace(self, parts=NotKept(self.name, self.sources), recording=None, sample=None)

    @property
    def bounded(self) -> Run:
        """What can be looked at at once: its sample where it has one, else itself."""
        return self if self.sample is None else self.sample

    @property
    def spans(self) -> list[tuple[float, float]]:
        """First and last instant [s] of every part, which may lie between others; of all where they are read anew."""
        if self.sample is not None:
            assert self.span is not None
            return [self.span]
        return [(float(part.motion.time[0]), float(part.motion.time[-1])) for part in self.parts if len(part)]

    @cached_property
    def seen_period(self) -> float | None:
        """[s] after which positions of the longest part are the same again; None where not, or none is at hand."""
        if self.sample is not None:
            return self.sample.seen_period
        if not isinstance(self.parts, tuple):
            return None
        motion = max(self.parts, key=len).motion
        step = max(1, len(motion) // PERIOD_INSTANTS)
        return visible_period(motion.time[::step], motion.q[::step])

    def fold(self, time: Array, folds: int) -> Index:
        """Which of ``folds`` pieces instants [s] belong to: pieces of the period where the motion repeats, stated or
        seen, for a fold must not have been seen in another period; else stretches of time."""
        assert self.span is not None
        first, last = self.span
        period = self.period or self.seen_period
        since = time - first
        phase = since / max(last - first, 1e-300) if period is None else (since / period) % 1.0
        return np.asarray(np.clip((phase * folds).astype(np.int64), 0, folds - 1))


def bounded_parts(runs: Iterable[Run]) -> list[Processed]:
    """All parts of what can be looked at at once (``Run.bounded``)."""
    return [part for run in runs for part in run.bounded.parts]


def common_side(runs: Iterable[Run]) -> str | None:
    """Of the gears on which all runs measure torque, ``motor`` or ``link``; None where one does not say. Refused where
    they differ: rotors and friction of the gears are in one and not in the other."""
    sides = {run.name: None if run.recording is None else run.recording.side for run in runs}
    named = {side: name for name, side in sides.items() if side is not None}
    if len(named) > 1:
        raise RecordingError(
            f"{named[LINK_SIDE]} has torques measured on the links, {named[MOTOR_SIDE]} on the motors: one model "
            "cannot be of both; identify them one by one, or correct side: under torque: in their recording.yaml"
        )
    return None if None in sides.values() else next(iter(named), None)


def may_lean(stated: Triple | None, runs: Iterable[Run]) -> bool:
    """Whether gravity may lean a little beside what settings and runs state [m/s²]: not where one states it exactly,
    nor where they differ by more than that, so that one of them is wrong."""
    logs = [run.recording for run in runs if run.recording is not None]
    every = [one for one in (stated, *(log.about.gravity for log in logs)) if one is not None]
    return not any(isinstance(one, ExactGravity) or not agrees(one, every[0]) for one in every)


def load_chi(model: DynamicModel, payload: Payload) -> Array:
    """The payload alone as standard parameters χ (p,); it must be known (``Payload.phi``)."""
    return body_chi(model, payload.frame, payload.phi)


def body_chi(model: DynamicModel, on: str, phi: Array) -> Array:
    """A body φ (10,) on a frame, in its axes, as χ (p,): φ of the link that carries it, in its modified-DH frame."""
    frame = model.robot.frame(on)
    if (link := frame.joint) == BASE:
        raise ParameterError(f"the payload is on '{frame.name}', which is fixed on the base; name one that moves")
    seen = transform_inertia(phi, frame.rotation, frame.translation)
    rotation, translation = model.mdh.rotations[link], model.mdh.translations[link]
    chi = np.zeros(len(model.standard))
    chi[10 * link : 10 * link + 10] = transform_inertia(seen, rotation.T, -rotation.T @ translation)
    return chi


def without_load(model: DynamicModel, payload: Payload, piece: Processed) -> Processed:
    """Less the torque, and the wrench on the base, that the payload alone takes."""
    torque, wrench = piece.torque - load_torque(model, payload, piece.motion), piece.wrench
    if wrench is not None:
        wrench = wrench - BaseReaction(model).wrench(piece.motion, load_chi(model, payload))
    return replace(piece, torque=torque, wrench=wrench)


def load_torque(model: DynamicModel, payload: Payload, motion: Motion) -> Array:
    """(N, n) torque that the payload alone takes [N·m]."""
    return model.dynamics.inverse_dynamics(motion, load_chi(model, payload)[: model.inertial_size])


@dataclass(frozen=True, eq=False)
class StreamedParts:
    """Motion and torque of a log, read anew at every ``iter``; in memory are some pieces of it and their margins.

    typical: what open choices of the route are made from; None: the log's first stretch with motion. workers: who may
    go through them in the place of this process, where ``chunks`` are those of a file (``LogFile``)."""

    chunks: Callable[[], Iterable[Recording]]
    route: StreamingRoute
    typical: Recording | None = None
    workers: Workers = HERE

    @property
    def elsewhere(self) -> bool:
        """Whether others go through them."""
        return not self.workers.here

    def for_worker(self) -> StreamedParts:
        """What a worker goes through itself, with the very sample that choices are made from: noise, which some
        equations are weighted by, is told from it, too."""
        return replace(self, workers=HERE)

    def __iter__(self) -> Iterator[Processed]:
        return self.route.stream(self.chunks(), self.typical)


@dataclass(frozen=True, eq=False)
class RepairedChunks:
    """Pieces of a log, repaired, read anew at every call."""

    chunks: Callable[[], Iterable[Recording]]
    repairs: Repairs | None = None

    @cached_property
    def log(self) -> RepairedLog:
        return RepairedLog(self.chunks, self.repairs)

    def __call__(self) -> Iterable[Recording]:
        return self.log


@dataclass(frozen=True, eq=False)
class LongLog:
    """A log that is not held: ``repaired`` reads it anew. sample: evenly spread windows of it, which has ``samples`` in
    all; span [s]: first and last instant; notes: what was repaired; quality: of all samples; stage: that it is of.
    workers: who may go through it, see ``StreamedParts``."""

    name: str
    repaired: RepairedChunks
    sample: Recording
    samples: int
    span: tuple[float, float]
    notes: tuple[Note, ...]
    quality: Quality
    stage: PlannedStage | None = None
    workers: Workers = HERE

    @classmethod
    def of(
        cls,
        chunks: Callable[[], Iterable[Recording]],
        name: str,
        model: DynamicModel,
        repairs: Repairs | None = None,
        loaded: bool = False,
        planned: Curve | None = None,
        stage: PlannedStage | None = None,
        sample_bytes: int = SAMPLE_BYTES,
    ) -> LongLog:
        """Gone through once, with the joints of the model's robot in its order; model: what the log is judged by;
        loaded: with a load that nobody knows. planned, stage: the motion that was sent, and what it is for."""
        repaired, done = RepairedChunks(chunks, repairs), RepairTally()
        log = repaired.log
        windows, samples, span = list[Windows](), 0, (0.0, 0.0)

        def passing() -> Iterator[Recording]:
            """All pieces, of which some windows are kept."""
            nonlocal samples, span
            for piece in log.repaired(done):
                if not windows:
                    most = sample_bytes // (size_of(piece) // len(piece))
                    windows.append(Windows(min(SAMPLE_WINDOW_LENGTH, max(most // FEWEST_WINDOWS, 1)), most))
                windows[0].see(piece, 0)
                span = span[0] if samples else float(piece.time[0]), float(piece.time[-1])
                samples += len(piece)
                yield piece

        quality = check(passing(), model=model, planned=planned, loaded=loaded, stage=stage)
        for finding in quality.problems:
            if finding.subject == STUCK_SENSOR:
                raise RecordingError(f"cannot be repaired: {finding.joint}: {finding.text}")
        return cls(
            name=name,
            repaired=repaired,
            sample=Recording.join(windows[0].windows()),
            samples=samples,
            span=span,
            notes=done.notes,
            quality=quality,
            stage=stage,
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
        return repair(self.sample, stage=self.stage)

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
            parts = StreamedParts(self.repaired, route, self.sample, self.workers)
            notes = (*self.notes, *why, *of_parts)
            return Run(parts, self.name, self.span, about.period, about.payload, self.sample, notes, sample)
        if not isinstance(route, FourierFit):
            raise RecordingError(f"{type(route).__name__} needs the log at once; keep less of it (windows)")
        part, _ = route.of_average(average_periods(self.repaired, route.period, route.settled))
        part = with_constant_contacts(part, self.repaired())
        notes = (*self.notes, *why, *part.notes)
        return Run((part,), self.name, None, about.period, about.payload, self.sample, notes)


def sample_size(logs: int) -> int:
    """Of each of so many logs that may all be too long to be held."""
    return min(SAMPLE_BYTES, max(ALL_SAMPLES_BYTES // logs, LEAST_SAMPLE_BYTES))


def size_of(recording: Recording) -> int:
    """[B] of its samples."""
    return sum(getattr(recording, name).nbytes for name in ("time", *recording.everything))
