"""The power balance of the robot: d/dt (h χ) + q̇ᵀ (friction columns) χ = q̇ᵀ Γ [12.50], sample by sample.

What the energy and the power model share. Its errors are those of the torque times the speed: q̇ᵀ e. Equations of fast
motion are less certain than those of slow motion, and a least-squares covariance that takes them as alike would be
wrong; ``even`` divides every equation by the size of its error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.signals.processed import Processed, remembered_pieces
from exciter.experiment.signals.rows import Rows
from exciter.identification.formulations.dissipation import dissipation
from exciter.robot.motion import Motion
from exciter.typing import Array

IntArray = NDArray[np.int64]
SLOW = 0.01  #: of the velocity limit (of 1 rad/s or m/s without one): below, errors are not taken as getting smaller
ERROR = "error²"  #: the last column: variance of q̇ᵀ e for torque errors e of mean square one


def balance_rows(
    model: DynamicModel, pieces: Iterable[Processed], columns: IntArray, name: str, size: int = 2048
) -> Iterator[Rows]:
    """One equation per instant, called ``name``: W1 = h, then W2 = q̇ᵀ of the columns that store no energy, y = q̇ᵀ Γ.

    Each of W1 and W2 has one more column, last: zero and ``ERROR``.
    """
    names = (*(model.standard[k] for k in columns), ERROR)
    p = len(names)
    for memory, piece in remembered_pieces(model, pieces):
        _refuse_cut_torque(piece)
        friction, weight = dissipation(model, piece.motion, memory), _weight(piece)
        for start in range(0, len(piece), size):
            part = slice(start, min(start + size, len(piece)))
            motion = piece.motion[part]
            sides = np.zeros((1, 2 * p + 1, len(motion)))
            h = model.energy(motion)
            sides[0, : p - 1] = np.where(np.isnan(h), 0.0, h).T[columns]
            sides[0, p : 2 * p - 1] = _power(model, motion, part, friction)[columns]
            sides[0, 2 * p - 1] = _error(model, motion, weight)
            sides[0, -1] = (motion.qd * piece.torque[part]).sum(axis=1)
            sides.flags.writeable = False
            yield Rows(motion.time, sides.transpose(2, 0, 1), piece.rate, (name,), 2 * names)


def even(rows: Rows) -> Rows:
    """Divided by the root of the last column, ``ERROR``, which goes."""
    return _without_error(rows, np.sqrt(rows.sides[:, :, -2]))


def uneven(rows: Rows) -> Rows:
    """As they are, without the last column, ``ERROR``."""
    return _without_error(rows, np.ones(rows.sides.shape[:2]))


def _without_error(rows: Rows, size: Array) -> Rows:
    kept = np.delete(rows.sides.transpose(1, 2, 0), -2, axis=1) / size.T[:, None, :]
    kept.flags.writeable = False
    return replace(rows, sides=kept.transpose(2, 0, 1), parameters=rows.parameters[:-1])


def _power(model: DynamicModel, motion: Motion, part: slice, friction: list[tuple[int, int, Array]]) -> Array:
    """(p, N) q̇ᵀ of every column that stores no energy."""
    power = np.zeros((len(model.standard), len(motion)))
    for joint, column, values in friction:
        power[column] += motion.qd[:, joint] * values[part]
    return power


def _weight(piece: Processed) -> Array:
    """(n,) variance of each joint's torque over their mean; alike where nothing is known of them."""
    n = piece.motion.n
    variance = np.ones(n) if piece.torque_noise is None else np.square(piece.torque_noise)
    usable = np.isfinite(variance).all() and (variance > 0.0).all()
    return np.asarray(variance / variance.mean()) if usable else np.ones(n)


def _error(model: DynamicModel, motion: Motion, weight: Array) -> Array:
    """(N,) Σ_j w_j (q̇_j² + slow_j²)."""
    limit = model.robot.limit("velocity")
    slow = SLOW * np.where(np.isfinite(limit), limit, 1.0)
    return np.asarray((motion.qd**2 + slow**2) @ weight)


def _refuse_cut_torque(piece: Processed) -> None:
    """q̇ᵀ Γ has the missing band of Γ shifted by the frequencies of q̇: no filter stops below it."""
    if np.isfinite(piece.torque_bandwidth):
        raise RecordingError(
            f"an analogue filter took away what the torque had above {piece.torque_bandwidth:.4g} Hz; its product with "
            "the velocity lacks that at other frequencies, too: use the dynamic or the filtered dynamic model"
        )
