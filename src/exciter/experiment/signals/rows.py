"""Rows: equations W χ = y at uniform instants, both sides in one array, so that whatever is done is done to both.

A filter that touched y alone would change the equations and bias every estimate by tens of per cent; here there is
no such thing: y cannot be taken out and put back, and a ``ParallelFilter`` takes rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.signals.pieces import remembered_pieces
from exciter.experiment.signals.processed import Processed, refuse_folding
from exciter.notes import Note
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Rows:
    """n equations at each of N instants ``time`` [s], ``rate`` [Hz], for p ``parameters``.

    sides (N, n, p + 1): W and, as its last column, y. joints: one name per equation of an instant.
    bandwidth [Hz]: the narrowest equivalent noise bandwidth the rows went through, infinite for rows as measured.
    torque_bandwidth [Hz]: above it y, and y alone, was cut by an analogue filter; infinite where it was not, and again
    once both sides were low-passed below it. notes: what was done to the rows.
    present (n,): part of the instants in which a joint has an equation; None: all of them. The others are zero on both
    sides, and must not be counted.
    Arrays that can be written to are copied.
    """

    time: Array
    sides: Array
    rate: float
    joints: tuple[str, ...]
    parameters: tuple[str, ...]
    bandwidth: float = float("inf")
    torque_bandwidth: float = float("inf")
    notes: tuple[Note, ...] = ()
    present: Array | None = None

    def __post_init__(self) -> None:
        for name in ("time", "sides"):
            array = np.asarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, _read_only(array.copy(order="K") if array.flags.writeable else array))
        shape = (len(self.time), len(self.joints), len(self.parameters) + 1)
        if self.time.ndim != 1 or self.sides.shape != shape:
            raise RecordingError(f"W and y side by side have shape {self.sides.shape}; expected {shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.sides.sum()  # finite only where every number is; faster than a look at each
        if not np.isfinite(total) and not np.isfinite(self.sides).all():
            raise RecordingError("the equations contain NaN or infinity; repair or cut those samples")

    @classmethod
    def of(
        cls,
        time: ArrayLike,
        w: ArrayLike,
        y: ArrayLike,
        rate: float,
        joints: Sequence[str],
        parameters: Sequence[str],
        torque_bandwidth: float = float("inf"),
    ) -> Rows:
        """From W (N, n, p) and y (N, n) as they were measured; torque_bandwidth: as in ``Processed``."""
        sides = np.concatenate([w, np.asarray(y, dtype=float)[:, :, None]], axis=2)
        at = np.asarray(time, dtype=float)
        return cls(at, sides, rate, tuple(joints), tuple(parameters), torque_bandwidth=torque_bandwidth)

    @property
    def w(self) -> Array:
        """W (N, n, p), read-only."""
        return self.sides[:, :, :-1]

    @property
    def y(self) -> Array:
        """y (N, n), read-only."""
        return self.sides[:, :, -1]

    @property
    def counted(self) -> Array:
        """(n,) how many equations there are of each joint."""
        return len(self) * (np.ones(len(self.joints)) if self.present is None else self.present)

    @property
    def independent(self) -> float:
        """How many of the N instants are worth an independent one.

        A filter leaves neighbouring errors alike: errors that were white before it are as good as independent only
        2·bandwidth times a second. Formulas for independent errors give variances too small by independent / N:
        multiply the covariance of a least-squares estimate by N / independent (exact where the motion is well below
        the cut-off), and count so many equations in degrees of freedom.
        """
        return len(self) * min(1.0, 2.0 * self.bandwidth / self.rate)

    def equations(self, noise: ArrayLike | None = None) -> tuple[Array, Array]:
        """w (N·n, p) and y (N·n,), instant after instant, each equation divided by the standard deviation ``noise``
        (n,) of its joint when given: what ``Information.add`` wants.

        Refused where y lacks what W has: an analogue filter cut it, and the rows were not low-passed below.
        """
        if np.isfinite(self.torque_bandwidth):
            raise RecordingError(
                f"an analogue filter took away what the torque had above {self.torque_bandwidth:.4g} Hz, the regressor "
                "still has it: equations would be biased; pass the rows through a ParallelFilter, which stops below"
            )
        scale = np.ones(len(self.joints)) if noise is None else np.asarray(noise, dtype=float)
        if scale.shape != (len(self.joints),) or not ((scale > 0) & np.isfinite(scale)).all():
            raise RecordingError(f"noise is {scale.tolist()}; give {len(self.joints)} positive numbers, one per joint")
        flat = np.asarray(self.sides / scale[:, None]).reshape(-1, self.sides.shape[2])
        return flat[:, :-1], flat[:, -1]

    # -- a series of samples: see chunks.Series ------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: slice) -> Rows:
        """Some of the instants, in order; a step in the slice lowers the rate."""
        refuse_folding(part, self.torque_bandwidth)
        sides = self.sides[part].copy(order="K")  # a view would keep all of them in memory
        return replace(self, time=self.time[part], sides=_read_only(sides), rate=self.rate / abs(part.step or 1))

    @staticmethod
    def join(parts: Sequence[Rows]) -> Rows:
        """Rows that follow each other, together."""
        if not parts:
            raise RecordingError("there are no rows to join")
        if len(parts) == 1:
            return parts[0]
        sides = np.concatenate([part.sides.transpose(1, 2, 0) for part in parts], axis=2)  # time is last in memory
        time = np.concatenate([part.time for part in parts])
        bandwidth = min(part.torque_bandwidth for part in parts)
        present = None
        if any(part.present is not None for part in parts):
            present = np.sum([part.counted for part in parts], axis=0) / max(len(time), 1)
        both = _read_only(sides.transpose(2, 0, 1))
        return replace(parts[0], time=time, sides=both, torque_bandwidth=bandwidth, present=present)


def model_rows(
    model: DynamicModel,
    processed: Processed | Iterable[Processed],
    columns: ArrayLike | None = None,
    size: int = 2048,
    dead_zone: ArrayLike = 0.0,
) -> Iterator[Rows]:
    """W = Φ(q, q̇, q̈) and y = Γ of a motion [12.20, 12.21], or of one that comes in pieces, ``size`` instants at a time.

    columns: of the standard parameters, all unless given; ``model.base.independent`` for the base parameters. Joint
    terms that remember (Dahl friction) go on from piece to piece, and begin anew behind a gap.

    dead_zone [rad/s or m/s], one or (n,): while a joint is slower, both sides of its equation are zero. That is as true
    as the equation itself, says nothing, and whatever is done to both sides afterwards leaves it so.
    """
    chosen = np.arange(len(model.standard)) if columns is None else np.asarray(columns, dtype=np.int64)
    joints, parameters = model.robot.joint_names, tuple(model.standard[k] for k in chosen)
    layout = model.layout(chosen)
    for memory, piece in remembered_pieces(model, [processed] if isinstance(processed, Processed) else processed):
        for part, sides in model.regressor_chunks(piece.motion, size, layout, room=1, before=memory):
            sides[:, :, -1] = piece.torque[part]
            rests = np.abs(piece.motion.qd[part]) < dead_zone
            sides[rests] = 0.0
            both, limit = _read_only(sides), piece.torque_bandwidth
            present = 1.0 - rests.mean(axis=0) if rests.any() else None
            time = piece.motion.time[part]
            yield Rows(time, both, piece.rate, joints, parameters, torque_bandwidth=limit, present=present)


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
