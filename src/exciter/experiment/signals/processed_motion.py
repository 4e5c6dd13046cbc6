"""What identification works on: a motion with its derivatives at uniform instants, and the torque it took; and a route
there, how recorded positions become q, q̇, q̈ beside the torque."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel, TermMemory
from exciter.errors import ExciterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.recording.base_sensing import Contacts
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.noise import peeked_at_motion
from exciter.experiment.signals.resample import OverlappedPiece, overlapped, peeked, segments, split_at_gaps
from exciter.notes import Note, done
from exciter.robot.motion import Motion, freeze
from exciter.settings import Number, Settings, Whole
from exciter.typing import Array, BoolArray

STRETCH_GAP_INTERVALS = 1.5  #: between samples, beyond which a motion does not go on
BAND_POWER_FRACTION = 0.999  #: of velocities
SERIES_INSTANTS = 512  #: of a fitted series at a time: they stay in the cache
TYPICAL_SAMPLES = 100_000  #: of a stream, from which open choices are made
MOST_BRIDGED_INTERVALS = 1_000_000
OPTIONAL_SIGNALS = ("wrench", "temperature", "speed", "contact")
Frequency = Annotated[float | None, Number(above=0.0, unit="Hz")]
Bridge = Annotated[int, Whole(1, MOST_BRIDGED_INTERVALS)]


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """q_j(t) = q0_j + Σ_l a_jl/(ω l) sin(ω l s) − b_jl/(ω l) cos(ω l s), s = t − start (seed 002, eq. (11)). harmonics:
    the numbers l; delta (n, 2 h + 1): a …, b …, q0 of each joint, zero where a joint was given fewer harmonics than
    others (used (n, 2 h + 1) says which were fitted). gram (2 h + 1, 2 h + 1): B₀ᵀB₀ of the ``samples`` used: noise σ_j
    makes the covariance σ_j² gram⁻¹ (on the coefficients that joint uses). noise (n,): σ of one recorded position."""

    joints: tuple[str, ...]
    period: float
    start: float
    harmonics: tuple[int, ...]
    delta: Array
    used: BoolArray
    gram: Array
    noise: Array
    samples: int

    def __post_init__(self) -> None:
        freeze(self, "delta", "gram", "noise")
        object.__setattr__(self, "used", np.array(self.used))
        self.used.flags.writeable = False

    @property
    def trajectory(self) -> Fourier:
        return Fourier(self.period, self.harmonics)

    def motion(self, time: Array) -> Motion:
        """q, q̇, q̈ at any times [s]."""
        found = np.empty((3, len(time), len(self.delta)))
        for first in range(0, len(time), SERIES_INSTANTS):
            part = slice(first, first + SERIES_INSTANTS)
            for values, basis in zip(found, self.trajectory.basis(time[part] - self.start), strict=True):
                values[part] = basis @ self.delta.T
        return Motion(time, *found)

    def coefficients(self, start: float = 0.0) -> Array:
        """(n, 2 h + 1) of ``trajectory`` when its time is counted from another instant ``start`` [s]."""
        h = len(self.harmonics)
        angle = 2.0 * np.pi / self.period * np.array(self.harmonics) * (start - self.start)
        a, b = self.delta[:, :h], self.delta[:, h : 2 * h]
        cos, sin = np.cos(angle), np.sin(angle)
        return np.hstack([a * cos + b * sin, b * cos - a * sin, self.delta[:, 2 * h :]])

    def covariance(self, joint: int) -> Array:
        """(2 h + 1, 2 h + 1) of a joint's coefficients, zero for those it does not use."""
        chosen = np.flatnonzero(self.used[joint])
        covariance = np.zeros_like(self.gram)
        covariance[np.ix_(chosen, chosen)] = self.noise[joint] ** 2 * np.linalg.inv(self.gram[np.ix_(chosen, chosen)])
        return covariance

    @property
    def noise_of_derivatives(self) -> Array:
        """(3, n): σ left in q, q̇, q̈ by the noise of the samples, mean over a period: σ_j² Σ_l (ω l)^2k 2/M."""
        h = len(self.harmonics)
        omega = 2.0 * np.pi / self.period * np.array(self.harmonics)
        used = self.used[:, :h].astype(float)
        mean = np.stack([(used * omega ** (2 * k)).sum(axis=1) * 2.0 for k in range(3)])
        mean[0] += 1.0  # the offset
        return np.asarray(self.noise * np.sqrt(mean / self.samples))


@dataclass(frozen=True, eq=False)
class Processed:
    """Motion and torque (N, n) at the same uniform instants, ``rate`` [Hz].
    The torque is as measured (resampled or averaged, never low-passed): rows are filtered on both sides together.
    torque_bandwidth [Hz]: above it an analogue filter took away what could not be brought back; infinite where there
    was none. position_bandwidth [Hz]: cut-off of the filter the positions went through, if any. position_noise,
    torque_noise (n,): standard deviation of the noise in one sample of q and of the torque, where it could be
    estimated. notes: what was done, and why. series: the one the motion was taken from, where it was fitted as one.
    wrench (N, 6): on the base, as in ``Recording``, where a force plate was recorded; the torque is zero where it was
    recorded instead. temperature (N, n) [°C]: where it was recorded, NaN where a sample is missing. silent: numbers of
    joints whose torque is unusable, so that they have no equations. speed (N, n) [rad/s, m/s]: what a dead zone is told
    by, where that is not the motion's own velocity. contact (N, k): 1 where frame k of ``contacts`` touches the ground
    with a force that was not measured, 0 where not."""

    motion: Motion
    torque: Array
    rate: float
    position_noise: Array | None = None
    torque_noise: Array | None = None
    notes: tuple[Note, ...] = ()
    torque_bandwidth: float = float("inf")
    position_bandwidth: float = float("inf")
    series: FourierSeries | None = None
    wrench: Array | None = None
    temperature: Array | None = None
    silent: tuple[int, ...] = ()
    speed: Array | None = None
    contact: Array | None = None
    contacts: Contacts | None = None

    def __post_init__(self) -> None:
        freeze(self, "torque", "wrench", "temperature", "speed", "contact")
        if self.torque.shape != self.motion.q.shape:
            raise RecordingError(f"torque has shape {self.torque.shape}, the motion {self.motion.q.shape}")
        touching = 0 if self.contacts is None else len(self.contacts.frames)
        sizes = (("wrench", 6), ("temperature", self.motion.n), ("speed", self.motion.n), ("contact", touching))
        for name, columns in sizes:
            values, expected = getattr(self, name), (len(self.motion), columns)
            if values is not None and values.shape != expected:
                raise RecordingError(f"{name} has shape {values.shape}; expected {expected}")

    @property
    def present(self) -> Array | None:
        """(n,) part of the instants in which a joint has an equation, as in ``Rows``: none where it is silent."""
        return np.where(np.isin(np.arange(self.motion.n), self.silent), 0.0, 1.0) if self.silent else None

    def __len__(self) -> int:
        return len(self.motion)

    def __getitem__(self, part: slice) -> Processed:
        """Some of the samples, in order; a step in the slice lowers the rate."""
        refuse_folding(part, self.torque_bandwidth)
        there = {name: getattr(self, name) for name in OPTIONAL_SIGNALS}
        kept: dict[str, Any] = {name: None if x is None else x[part] for name, x in there.items()}
        kept["rate"] = self.rate / abs(part.step or 1)
        return replace(self, motion=self.motion[part], torque=self.torque[part], **kept)

    @staticmethod
    def join(pieces: Sequence[Processed]) -> Processed:
        """Pieces that follow each other, together; noise and notes are those of the last."""
        motions = [piece.motion for piece in pieces]
        signals = [np.concatenate([getattr(m, name) for m in motions]) for name in ("time", "q", "qd", "qdd")]
        joined: dict[str, Any] = {}
        for name in ("torque", *OPTIONAL_SIGNALS):  # None where one piece has none
            parts = [getattr(piece, name) for piece in pieces]
            joined[name] = None if any(part is None for part in parts) else np.concatenate(parts)
        bandwidth = min(piece.torque_bandwidth for piece in pieces)
        return replace(pieces[-1], motion=Motion(*signals), torque_bandwidth=bandwidth, **joined)


def refuse_folding(part: slice, torque_bandwidth: float) -> None:
    """Left-out samples fold the regressor's upper band down; where the torque has no such band, nothing helps then."""
    if abs(part.step or 1) > 1 and np.isfinite(torque_bandwidth):
        why = f"the torque was cut above {torque_bandwidth:.4g} Hz by an analogue filter, the motion was not: leaving "
        why += "out samples would fold the difference down; use a ParallelFilter, which low-passes both sides first"
        raise RecordingError(why)


def remembered_pieces(model: DynamicModel, pieces: Iterable[Processed]) -> Iterator[tuple[TermMemory, Processed]]:
    """Those with samples, and what joint terms remember of the stretch each continues; refused of another robot."""
    end = -np.inf
    for piece in pieces:
        if piece.motion.n != model.n:
            raise RecordingError(f"the motion has {piece.motion.n} joints, the robot {model.n}; see Recording.arranged")
        if len(piece):
            if piece.motion.time[0] - end >= STRETCH_GAP_INTERVALS / piece.rate:
                memory = TermMemory(model)
            end = piece.motion.time[-1]
            yield memory, piece


def motion_band(pieces: Iterable[Processed]) -> float:
    """[Hz] ``velocity_band`` of all pieces together: what is short, or rests, counts little."""
    return velocity_band((piece.motion.qd, piece.rate) for piece in pieces)


def velocity_band(pieces: Iterable[tuple[Array, float]]) -> float:
    """[Hz] below which ``BAND_POWER_FRACTION`` of the power of velocities (N, n) at rates [Hz] lies, of all joints."""
    frequencies, powers = [], []
    for velocity, rate in pieces:
        qd = velocity - velocity.mean(axis=0)
        power = (np.abs(np.fft.rfft(qd * np.hanning(len(qd))[:, None], axis=0)) ** 2).sum(axis=1)
        frequencies.append(np.maximum(np.arange(len(power)), 1) * rate / len(qd))
        powers.append(power / rate / len(qd))  # so that pieces count by their energy
    frequency, power = np.concatenate(frequencies), np.concatenate(powers)
    order = np.argsort(frequency, kind="stable")
    share = np.cumsum(power[order]) / max(power.sum(), 1e-300)
    return float(frequency[order[min(int(np.searchsorted(share, BAND_POWER_FRACTION)), len(order) - 1)]])


class Route(Settings, ABC):
    """Settings of one way to differentiate, frozen. Choices left open (None) are made from the data and reported."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    tag = "method"

    @abstractmethod
    def apply(self, recording: Recording) -> Processed:
        """Motion and torque at uniform instants. The recording has torque, no NaN and no duplicates (``repair``)."""


@dataclass(frozen=True, eq=False)
class RoutePlan:
    """A route with every choice made. gap [s]: the longest that is bridged; margin: how far it looks, samples and
    seconds; derived: motion and other signals of the inner part of a piece of the segment that begins at a time [s],
    None: the segment is too short; too_short: why it is, and what to do; known: what all pieces have alike."""

    gap: float
    margin: tuple[int, float]
    derived: Callable[[OverlappedPiece[Recording], float], tuple[Motion, Recording] | None]
    too_short: str
    known: Mapping[str, Any]

    def processed(self, piece: OverlappedPiece[Recording], start: float) -> Processed | None:
        if (found := self.derived(piece, start)) is None:
            return None
        motion, part = found
        same = {name: getattr(part, name) for name in ("wrench", "temperature", "contact")}
        contacts = None if part.contact is None else part.about.contacts
        return Processed(motion=motion, torque=part.needed_torque(), contacts=contacts, **same, **self.known)

    def refusal(self, duration: float) -> RecordingError:
        """Of a segment of that length [s]."""
        return RecordingError(f"{duration:.3g} s are too short{self.too_short}")


class StreamingRoute(Route):
    """It looks at neighbours only: a log may pass in pieces. from_motion: a field whose open choice needs motion."""

    from_motion: ClassVar[str]

    @abstractmethod
    def plan(self, recording: Recording) -> RoutePlan:
        """Every choice made, from a recording or a typical part of it."""

    def apply(self, recording: Recording) -> Processed:
        """Of a recording without long gaps."""
        plan = self.plan(recording)
        parts = split_at_gaps(recording, plan.gap)
        if len(parts) > 1:
            before, after = parts[0].time[-1], parts[1].time[0]
            why = f"there is a gap of {after - before:.3g} s at {before:.6g} s, more than the {plan.gap:.3g} s that "
            raise RecordingError(f"{why}are bridged; cut the recording there (split_at_gaps), or bridge more intervals")
        whole = OverlappedPiece(recording, slice(0, len(recording)), True, True)
        if (processed := plan.processed(whole, float(recording.time[0]))) is None:
            raise plan.refusal(recording.duration)
        return processed

    def stream(
        self, chunks: Iterable[Recording], typical: Recording | None = None, look_ahead: float | None = None
    ) -> Iterator[Processed]:
        """The same for a log larger than memory, in pieces; a long gap starts a new part. typical: what open choices
        are made from; where it is not given, the log's first stretch with motion. Parts too short for the route are
        left out, which the notes of the piece after them say, those of the last piece at the latest. look_ahead: a
        piece is given as soon as the samples behind it are there, that part of all that show in it;
        None: when that is least work."""
        if typical is None and getattr(self, self.from_motion) is None:
            typical, chunks = peeked_at_motion(chunks, TYPICAL_SAMPLES)
        elif typical is None:
            typical, chunks = peeked(chunks, TYPICAL_SAMPLES)
        if typical is None:
            raise RecordingError("nothing was recorded")
        plan = self.plan(typical)
        held, short, lost, start = None, 0, 0.0, 0.0

        def noted(processed: Processed) -> Processed:
            left_out = done("gaps", f"{short} parts between gaps so far were too short: {lost:.3g} s left out")
            return replace(processed, notes=(*processed.notes, left_out)) if short else processed

        samples, seconds = plan.margin
        seconds *= 1.0 if look_ahead is None else look_ahead
        for segment in segments(chunks, plan.gap):
            for piece in overlapped(segment, samples, seconds, prompt=look_ahead is not None):
                start = float(piece.whole.time[0]) if piece.first else start
                if (processed := plan.processed(piece, start)) is None:
                    short, lost = short + 1, lost + piece.whole.duration
                elif len(processed) and look_ahead is not None:
                    held = processed
                    yield noted(held)
                elif len(processed):
                    if held is not None:
                        yield noted(held)
                    held = processed
        if held is None:
            raise plan.refusal(lost if short else typical.duration)
        if look_ahead is None:
            yield noted(held)
