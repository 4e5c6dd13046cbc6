"""Motion and torque good enough to judge a log by: resampled on true time, lightly low-passed, thinned.

Not for identification, where the cut-off is chosen with care: here ten times the band of the motion will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt, welch

from exciter.experiment.quality.spikes_and_jumps import isolated
from exciter.experiment.recording.recording import Recording
from exciter.robot.motion import Motion
from exciter.typing import Array

SMOOTHING_ORDER = 4  # of the Butterworth filter, one pass
MOTION_POWER_SHARE = 0.9999  # of the position's power, within the band of the motion
CUTOFF_OVER_BAND = 10.0  # of the motion
LEAST_CUTOFF_HZ = 5.0
MOST_CUTOFF_SHARE = 0.2  # of the sampling rate
EDGE_PERIODS = 1.5  # of the cut-off, left out at both ends of a piece
ROWS_PER_PERIOD = 4.0  # of the cut-off
OUTLIER_DEVIATIONS = 15.0  # robust standard deviations above both neighbours
JUMP_PACE_RATIO = 20.0  # to the usual fastest speed
SHORTEST_PIECE_PERIODS = 8.0  # of the cut-off
SINGULAR_ROW_VALUE = 1e-8  # relative singular value of rows with unit columns that counts as zero
SAMPLES_PER_COLUMN = 2.0  # independent ones, that a fit needs


@dataclass(frozen=True, eq=False)
class UniformPiece:
    """Uniform samples without gap: q, effort (torque or current) and measured q̇ (K, n), the latter where recorded."""

    time: Array
    q: Array
    effort: Array | None
    qd: Array | None


@dataclass(frozen=True, eq=False)
class Smooth:
    """Rows (N, n) of all pieces: motion, sign(q̇) as the filter rounds it and how fast that turns [1/s], measured
    velocity, effort; piece (N,) numbers them.

    cutoff [Hz] of the filter; duration [s] that the rows stand for; courses: the filtered effort of every piece as a
    function of time, without what the filter's ends spoil.
    """

    motion: Motion
    direction: Array
    turning: Array
    qd: Array | None
    effort: Array | None
    piece: NDArray[np.int64]
    cutoff: float
    duration: float
    courses: tuple[CubicSpline, ...]

    def __len__(self) -> int:
        return len(self.piece)

    @cached_property
    def independent(self) -> float:
        """How many independent samples the rows are worth: two per period of the cut-off, none twice."""
        return min(2.0 * self.cutoff * self.duration, float(len(self)))


# -- fits of rows, joint by joint -------------------------------------------------------------------------------------


def unit_columns(w: Array) -> Array:
    """The columns of w that are not zero, at length 1."""
    norms = np.linalg.norm(w, axis=0)
    return np.asarray(w[:, norms > 0] / norms[norms > 0])


def span(w: Array) -> Array:
    """Orthonormal columns that span those of w."""
    u, s, _ = np.linalg.svd(unit_columns(w), full_matrices=False)
    return np.asarray(u[:, s > SINGULAR_ROW_VALUE * s[0]] if s.size else u)


def determined(w: Array, independent: float) -> bool:
    """Whether rows worth ``independent`` samples are enough for their columns: with fewer a fit follows anything."""
    return bool(SAMPLES_PER_COLUMN * np.count_nonzero(np.linalg.norm(w, axis=0)) <= independent)


def residual(w: Array, y: Array) -> Array:
    """Of a least-squares fit of y by the columns of w."""
    columns = unit_columns(w)
    fit, *_ = np.linalg.lstsq(columns, y, rcond=SINGULAR_ROW_VALUE)
    return np.asarray(y - columns @ fit)


# -- pieces and rows --------------------------------------------------------------------------------------------------


def uniform_pieces(
    windows: Sequence[Recording], effort: str | None, gains: Array | None, interval: float, gap: float
) -> Iterator[UniformPiece]:
    """Windows without NaN, duplicates and outliers of position, split at gaps [s] and jumps, on uniform time; linear
    between samples."""
    for window in windows:
        names = [name for name in ("q", "qd", effort) if name is not None and getattr(window, name) is not None]
        good = np.all([np.isfinite(getattr(window, name)).all(axis=1) for name in names], axis=0)
        good[1:] &= np.diff(window.time) > 0
        good &= ~isolated(window.time, window.q, OUTLIER_DEVIATIONS).any(axis=1)
        kept = window[good]
        cuts = np.flatnonzero((np.diff(kept.time) > gap) | _jumps(kept, interval)) + 1
        for first, last in zip([0, *cuts], [*cuts, len(kept)], strict=True):
            if last - first < 8:
                continue
            part = kept[int(first) : int(last)]
            time = np.arange(part.time[0], part.time[-1] + 0.01 * interval, interval)
            signals = {name: _interpolated(time, part.time, getattr(part, name)) for name in names}
            own = signals[effort] if effort is not None else None
            yield UniformPiece(
                time, signals["q"], own if own is None or gains is None else own * gains, signals.get("qd")
            )


def _jumps(recording: Recording, interval: float) -> NDArray[np.bool_]:
    """(N − 1,) steps so much faster than usual that no motion makes them."""
    if len(recording) < 3:
        return np.zeros(max(len(recording) - 1, 0), dtype=bool)
    pace = np.abs(np.diff(recording.q, axis=0)) / np.maximum(np.diff(recording.time), 0.5 * interval)[:, None]
    usual = np.quantile(pace, 0.99, axis=0)
    return np.asarray(((pace > JUMP_PACE_RATIO * usual) & (usual > 0)).any(axis=1))


def _interpolated(at: Array, time: Array, x: Array) -> Array:
    return np.column_stack([np.interp(at, time, column) for column in x.T])


def motion_band(pieces: Sequence[UniformPiece], rate: float) -> float:
    """[Hz] below which the longest piece has ``MOTION_POWER_SHARE`` of the position's power, median over the joints."""
    q = max((piece.q for piece in pieces), key=len)
    length = min(len(q), int(8.0 * rate) + 8)
    frequency, power = welch(q, rate, nperseg=length, axis=0, detrend="linear")
    total = np.cumsum(power, axis=0)
    moves = total[-1] > 0
    if not moves.any():
        return 0.0
    share = total[:, moves] / total[-1, moves]
    return float(np.median(frequency[np.argmax(share >= MOTION_POWER_SHARE, axis=0)]))


def smooth(pieces: Sequence[UniformPiece], interval: float, most_rows: int) -> Smooth | None:
    """None when every piece is too short for the filter."""
    if not pieces:
        return None
    rate = 1.0 / interval
    cutoff = min(max(LEAST_CUTOFF_HZ, CUTOFF_OVER_BAND * motion_band(pieces, rate)), MOST_CUTOFF_SHARE * rate)
    edge = int(np.ceil(EDGE_PERIODS * rate / cutoff))
    long = [piece for piece in pieces if len(piece.time) * cutoff * interval >= SHORTEST_PIECE_PERIODS]
    samples = sum(len(piece.time) - 2 * edge for piece in long)
    if not long:
        return None
    step = max(int(rate / (ROWS_PER_PERIOD * cutoff)), -(-samples // most_rows), 1)
    sections = butter(SMOOTHING_ORDER, cutoff, fs=rate, output="sos")
    rows = [_rows(piece, sections, interval) for piece in long]
    inner = [slice(edge, len(piece.time) - edge) for piece in long]
    courses = [CubicSpline(x["time"][i], x["effort"][i]) for x, i in zip(rows, inner, strict=True) if "effort" in x]
    parts = {name: [row[name][i][::step] for row, i in zip(rows, inner, strict=True)] for name in rows[0]}
    whole: dict[str, Array] = {name: np.concatenate(parts[name]) for name in parts}
    number = np.repeat(np.arange(len(rows)), [len(time) for time in parts["time"]])
    return Smooth(
        motion=Motion(whole["time"], whole["q"], whole["qd"], whole["qdd"]),
        direction=whole["direction"],
        turning=whole["turning"],
        qd=whole.get("measured"),
        effort=whole.get("effort"),
        piece=number,
        cutoff=cutoff,
        duration=samples * interval,
        courses=tuple(courses),
    )


def _rows(piece: UniformPiece, sections: Array, interval: float) -> dict[str, Array]:
    def low_passed(x: Array) -> Array:
        return np.asarray(sosfiltfilt(sections, x, axis=0))

    def rate(x: Array) -> Array:
        return np.asarray(np.gradient(x, interval, axis=0))

    q = low_passed(piece.q)
    qd = rate(q)
    direction = low_passed(np.sign(qd))
    rows = {"time": piece.time, "q": q, "qd": qd, "qdd": rate(qd), "direction": direction, "turning": rate(direction)}
    if piece.qd is not None:
        rows["measured"] = low_passed(piece.qd)
    if piece.effort is not None:
        rows["effort"] = low_passed(piece.effort)
    return rows
