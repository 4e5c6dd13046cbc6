"""What identification works on: a motion with its derivatives at uniform instants, and the torque it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.signals.fourier_series import FourierSeries
from exciter.notes import Note
from exciter.robot.motion import Motion
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Processed:
    """Motion and torque (N, n) at the same uniform instants, ``rate`` [Hz].

    The torque is as measured (resampled or averaged, never low-passed): rows are filtered on both sides together,
    see ``rows``. torque_bandwidth [Hz]: above it an analogue filter took away what could not be brought back;
    infinite where there was none. position_bandwidth [Hz]: cut-off of the filter the positions went through, if any.
    position_noise, torque_noise (n,): standard deviation of what is left in one sample
    of q and of the torque, where it could be estimated. notes: what was done, and why. series: the one the motion was
    taken from, where it was fitted as one.

    wrench (N, 6): on the base, as in ``Recording``, where a force plate was recorded; the torque is zero where it was
    recorded instead. temperature (N, n) [°C]: where it was recorded, NaN where a sample is missing.
    """

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

    def __post_init__(self) -> None:
        torque = np.array(self.torque, dtype=np.float64)
        torque.flags.writeable = False
        object.__setattr__(self, "torque", torque)
        if torque.shape != self.motion.q.shape:
            raise RecordingError(f"torque has shape {torque.shape}, the motion {self.motion.q.shape}")
        for name, columns in (("wrench", 6), ("temperature", self.motion.n)):
            if (given := getattr(self, name)) is not None:
                values = np.array(given, dtype=np.float64)
                values.flags.writeable = False
                object.__setattr__(self, name, values)
                if values.shape != (len(self.motion), columns):
                    raise RecordingError(f"{name} has shape {values.shape}; expected {(len(self.motion), columns)}")

    def __len__(self) -> int:
        return len(self.motion)

    def __getitem__(self, part: slice) -> Processed:
        """Some of the samples, in order; a step in the slice lowers the rate."""
        refuse_folding(part, self.torque_bandwidth)
        rate = self.rate / abs(part.step or 1)
        wrench, temperature = (None if x is None else x[part] for x in (self.wrench, self.temperature))
        motion, torque = self.motion[part], self.torque[part]
        return replace(self, motion=motion, torque=torque, rate=rate, wrench=wrench, temperature=temperature)

    @staticmethod
    def join(pieces: Sequence[Processed]) -> Processed:
        """Pieces that follow each other, together; noise and notes are those of the last."""
        motions = [piece.motion for piece in pieces]
        signals = [np.concatenate([getattr(m, name) for m in motions]) for name in ("time", "q", "qd", "qdd")]
        torque, bandwidth = np.concatenate([p.torque for p in pieces]), min(p.torque_bandwidth for p in pieces)
        return replace(
            pieces[-1],
            motion=Motion(*signals),
            torque=torque,
            torque_bandwidth=bandwidth,
            wrench=_joined([piece.wrench for piece in pieces]),
            temperature=_joined([piece.temperature for piece in pieces]),
        )


def _joined(parts: Sequence[Array | None]) -> Array | None:
    """One after the other; None where one of them is missing."""
    there = [part for part in parts if part is not None]
    return np.concatenate(there) if len(there) == len(parts) else None


def refuse_folding(part: slice, torque_bandwidth: float) -> None:
    """Left-out samples fold the regressor's upper band down; where the torque has no such band, nothing helps then."""
    if abs(part.step or 1) > 1 and np.isfinite(torque_bandwidth):
        raise RecordingError(
            f"the torque was cut above {torque_bandwidth:.4g} Hz by an analogue filter, the motion was not: leaving "
            "out samples would fold the difference down; use a ParallelFilter, which low-passes both sides first"
        )
