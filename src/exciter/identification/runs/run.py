"""One run of the robot, ready for identification: motion and torque, and what is known about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import BaseReaction, DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.quality.prepare_log import process
from exciter.experiment.quality.repair import Repaired
from exciter.experiment.quality.sample_survey import visible_period
from exciter.experiment.recording import Payload, Recording
from exciter.experiment.recording.recording_facts import LINK_SIDE, MOTOR_SIDE, Repairs, SourceFile
from exciter.experiment.signals.processed_motion import Processed, Route
from exciter.notes import Note
from exciter.parameters import inertial
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE
from exciter.robot.spatial import transform_inertia
from exciter.typing import Array

PERIOD_INSTANTS = 2000  # instants that are enough to see a period


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
    """

    parts: Iterable[Processed]
    name: str = "run"
    span: tuple[float, float] | None = None
    period: float | None = None
    payload: Payload | None = None
    recording: Recording | None = None
    notes: tuple[Note, ...] = ()
    sample: Run | None = None

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
        prepared = process(recording, route, repairs)
        measured = recording.original if isinstance(recording, Repaired) else recording
        about = measured.about
        return cls(
            prepared.parts,
            name,
            period=about.period,
            payload=about.payload,
            recording=measured,
            notes=prepared.notes,
        )

    @classmethod
    def at(cls, motion: Motion, torque: ArrayLike, rate: float, name: str = "run") -> Run:
        """A motion that is known exactly, with the torque (N, n) it took, at ``rate`` [Hz]."""
        return cls((Processed(motion, np.asarray(torque, dtype=float), rate),), name)

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
        """First and last instant [s] of every part: windows of one file may lie between each other; those of all where
        parts are read anew."""
        if self.sample is not None:
            assert self.span is not None
            return [self.span]
        return [(float(part.motion.time[0]), float(part.motion.time[-1])) for part in self.parts if len(part)]

    @cached_property
    def seen_period(self) -> float | None:
        """[s] after which the positions of the longest part show the same again; None where they do not, or where
        parts are read piece by piece and there is no sample."""
        if self.sample is not None:
            return self.sample.seen_period
        if not isinstance(self.parts, tuple):
            return None
        motion = max(self.parts, key=len).motion
        step = max(1, len(motion) // PERIOD_INSTANTS)
        return visible_period(motion.time[::step], motion.q[::step])

    def fold(self, time: Array, folds: int) -> NDArray[np.int64]:
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


def load_parameters(model: DynamicModel, payload: Payload) -> tuple[int, Array]:
    """The link (from 0) that carries the payload, and φ (10,) of the payload in that link's modified-DH frame."""
    frame = model.robot.frame(payload.frame)
    if frame.joint == BASE:
        raise ParameterError(f"the payload is on '{frame.name}', which is fixed on the base; name one that moves")
    body = inertial.from_mass_com_inertia(payload.mass, payload.centre, inertial.symmetric(*payload.inertia))
    seen = transform_inertia(body, frame.rotation, frame.translation)
    rotation, translation = model.mdh.rotations[frame.joint], model.mdh.translations[frame.joint]
    return frame.joint, transform_inertia(seen, rotation.T, -rotation.T @ translation)


def load_chi(model: DynamicModel, payload: Payload) -> Array:
    """The payload alone as standard parameters χ (p,) of the model."""
    link, phi = load_parameters(model, payload)
    chi = np.zeros(len(model.standard))
    chi[10 * link : 10 * link + 10] = phi
    return chi


def without_load(model: DynamicModel, payload: Payload, piece: Processed) -> Processed:
    """Less the torque, and the wrench on the base, that the payload alone takes."""
    torque = piece.torque - load_torque(model, payload, piece.motion)
    if piece.wrench is None:
        return replace(piece, torque=torque)
    wrench = piece.wrench - BaseReaction(model).wrench(piece.motion, load_chi(model, payload))
    return replace(piece, torque=torque, wrench=wrench)


def load_torque(model: DynamicModel, payload: Payload, motion: Motion) -> Array:
    """(N, n) torque that the payload alone takes [N·m]."""
    return model.dynamics.inverse_dynamics(motion, load_chi(model, payload)[: 10 * model.n])
