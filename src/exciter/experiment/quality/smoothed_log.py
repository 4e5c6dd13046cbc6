"""Motion and torque good enough to judge a log by: resampled on true time, low-passed at ten times the motion's band,
thinned. Not for identification, where the cut-off is chosen with care."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.sample_tallies import isolated
from exciter.experiment.recording.recording import Recording
from exciter.parameters.terms.friction import linear_recursion
from exciter.robot import Motion
from exciter.typing import Array, BoolArray, Index

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
PRE_SLIDING_SHARES = (2e-4, 1e-3, 5e-3)  # of a joint's range: 0.02 … 4 mrad are seen at motors and links
SINGULAR_ROWS = 1e-8  # relative singular value of rows with unit columns that counts as zero
SAMPLES_PER_COLUMN = 2.0  # independent ones, that a fit needs


@dataclass(frozen=True, eq=False)
class Smooth:
    """Rows (N, n) of all pieces: motion, sign(q̇) as the filter rounds it (direction), measured velocity, effort; piece
    (N,) numbers them. late (N, n, k): how fast the direction turns [1/s], and that of contacts that bend. cutoff [Hz]
    of the filter; duration [s] that the rows stand for; courses: the filtered effort of every piece as a function of
    time, without what the filter's ends spoil."""

    motion: Motion
    direction: Array
    late: Array
    piece: Index
    cutoff: float
    duration: float
    courses: tuple[scipy.interpolate.CubicSpline, ...]
    measured: Array | None = None
    effort: Array | None = None

    def __len__(self) -> int:
        return len(self.piece)

    def where(self, chosen: BoolArray) -> Smooth:
        """Some of the rows (N,)."""
        motion, share = self.motion, float(chosen.mean()) if len(chosen) else 0.0
        kept: dict[str, Any] = {
            name: None if (x := getattr(self, name)) is None else x[chosen] for name in ("measured", "effort")
        }
        return replace(
            self,
            motion=Motion(motion.time[chosen], motion.q[chosen], motion.qd[chosen], motion.qdd[chosen]),
            direction=self.direction[chosen],
            late=self.late[chosen],
            piece=self.piece[chosen],
            duration=share * self.duration,
            **kept,
        )

    @cached_property
    def independent(self) -> float:
        """How many independent samples the rows are worth: two per period of the cut-off, none twice."""
        return min(2.0 * self.cutoff * self.duration, float(len(self)))

    def noise_share(self, rate: float) -> float:
        """Of the power of white noise sampled at ``rate`` [Hz], what the filter, run both ways, lets through:
        ∫ (1 + (f/f_c)²ⁿ)⁻² df over half the rate."""
        part = np.pi / (2.0 * SMOOTHING_ORDER)
        return float(self.cutoff * part / np.sin(part) * (1.0 - 0.5 / SMOOTHING_ORDER) / (0.5 * rate))


@dataclass(frozen=True, eq=False)
class EffortRows:
    """Smooth rows with effort (N, n), and base columns (N, n, b) of a model: what can be fitted. silent: numbers of
    joints whose effort is unusable; both are zero then."""

    smooth: Smooth
    effort: Array
    model: DynamicModel
    regressor: Array
    silent: tuple[int, ...] = ()

    def where(self, chosen: BoolArray) -> EffortRows:
        """Some of the rows (N,)."""
        kept = self.smooth.where(chosen)
        return replace(self, smooth=kept, effort=self.effort[chosen], regressor=self.regressor[chosen])


def unit_columns(w: Array) -> Array:
    """The columns of w that are not zero, at length 1."""
    norms = np.linalg.norm(w, axis=0)
    return np.asarray(w[:, norms > 0] / norms[norms > 0])


def span(w: Array) -> Array:
    """Orthonormal columns that span those of w."""
    u, s, _ = np.linalg.svd(unit_columns(w), full_matrices=False)
    return np.asarray(u[:, s > SINGULAR_ROWS * s[0]] if s.size else u)


def unexplained(basis: Array, x: Array) -> Array:
    """What orthonormal columns leave of x."""
    return np.asarray(x - basis @ (basis.T @ x))


def determined(w: Array, independent: float) -> bool:
    """Whether rows worth ``independent`` samples are enough for their columns: with fewer a fit follows anything."""
    return bool(SAMPLES_PER_COLUMN * np.count_nonzero(np.linalg.norm(w, axis=0)) <= independent)


def residual(w: Array, y: Array) -> Array:
    """Of a least-squares fit of y by the columns of w."""
    columns = unit_columns(w)
    fit, *_ = np.linalg.lstsq(columns, y, rcond=SINGULAR_ROWS)
    return np.asarray(y - columns @ fit)


def uniform_pieces(
    windows: Sequence[Recording],
    effort: str | None,
    to_torque: Callable[[Array], Array] | None,
    interval: float,
    gap: float,
) -> Iterator[Recording]:
    """Windows without NaN, duplicates and outliers of position, split at gaps [s] and jumps, on uniform time; linear
    between samples. torque: the effort, be it a torque or a current, which ``to_torque`` makes one where it can."""
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
            x = {name: columns_at(time, part.time, getattr(part, name)) for name in names}
            own = None if effort is None else x[effort] if to_torque is None else to_torque(x[effort])
            yield Recording(part.joints, time, x["q"], x.get("qd"), own)


def _jumps(recording: Recording, interval: float) -> BoolArray:
    """(N − 1,) steps so much faster than usual that no motion makes them."""
    if len(recording) < 3:
        return np.zeros(max(len(recording) - 1, 0), dtype=bool)
    pace = np.abs(np.diff(recording.q, axis=0)) / np.maximum(np.diff(recording.time), 0.5 * interval)[:, None]
    usual = np.quantile(pace, 0.99, axis=0)
    return np.asarray(((pace > JUMP_PACE_RATIO * usual) & (usual > 0)).any(axis=1))


def columns_at(at: Array, time: Array, x: Array) -> Array:
    """x (N, n) at other times, linear between samples."""
    return np.column_stack([np.interp(at, time, column) for column in x.T])


def motion_band(pieces: Sequence[Recording], rate: float) -> float:
    """[Hz] below which the longest piece has ``MOTION_POWER_SHARE`` of the position's power, median over the joints."""
    q = max((piece.q for piece in pieces), key=len)
    frequency, power = scipy.signal.welch(q, rate, nperseg=min(len(q), int(8.0 * rate) + 8), axis=0, detrend="linear")
    total = np.cumsum(power, axis=0)
    moves = total[-1] > 0
    if not moves.any():
        return 0.0
    share = total[:, moves] / total[-1, moves]
    return float(np.median(frequency[np.argmax(share >= MOTION_POWER_SHARE, axis=0)]))


def smooth(pieces: Sequence[Recording], interval: float, most_rows: int) -> Smooth | None:
    """None when every piece is too short for the filter."""
    if not pieces:
        return None
    rate = 1.0 / interval
    cutoff = min(max(LEAST_CUTOFF_HZ, CUTOFF_OVER_BAND * motion_band(pieces, rate)), MOST_CUTOFF_SHARE * rate)
    edge = int(np.ceil(EDGE_PERIODS * rate / cutoff))
    long = [piece for piece in pieces if len(piece) * cutoff * interval >= SHORTEST_PIECE_PERIODS]
    samples = sum(len(piece) - 2 * edge for piece in long)
    if not long:
        return None
    step = max(int(rate / (ROWS_PER_PERIOD * cutoff)), -(-samples // most_rows), 1)
    sections = scipy.signal.butter(SMOOTHING_ORDER, cutoff, fs=rate, output="sos")
    rows = [_rows(piece, sections, interval) for piece in long]
    inner = [{name: x[edge : len(x) - edge] for name, x in row.items()} for row in rows]
    whole: dict[str, Array] = {name: np.concatenate([row[name][::step] for row in inner]) for name in inner[0]}
    motion = Motion(*(whole.pop(name) for name in ("time", "q", "qd", "qdd")))
    piece = np.repeat(np.arange(len(inner)), [len(row["time"][::step]) for row in inner])
    courses = tuple(scipy.interpolate.CubicSpline(row["time"], row["effort"]) for row in inner if "effort" in row)
    return Smooth(motion=motion, piece=piece, cutoff=cutoff, duration=samples * interval, courses=courses, **whole)


def _rows(piece: Recording, sections: Array, interval: float) -> dict[str, Array]:
    low_passed, rate = partial(scipy.signal.sosfiltfilt, sections, axis=0), partial(np.gradient, axis=0)
    q = low_passed(piece.q)
    qd = rate(q, interval)
    direction = low_passed(np.sign(qd))
    rows = {"time": piece.time, "q": q, "qd": qd, "qdd": rate(qd, interval), "direction": direction}
    beside = {"measured": piece.qd, "effort": piece.torque}
    rows |= {name: low_passed(x) for name, x in beside.items() if x is not None}
    # friction after Dahl, whatever its length: contacts bend before they slide, which looks like a delay
    travel = np.tile(np.diff(q, axis=0).T, (len(PRE_SLIDING_SHARES), 1))
    ways = np.concatenate([np.ptp(q, axis=0) * share for share in PRE_SLIDING_SHARES])[:, None]
    exponent = -np.abs(travel) / np.where(ways > 0.0, ways, 1.0)
    start = np.zeros(len(ways))
    bent = linear_recursion(np.exp(exponent), -np.expm1(exponent) * np.sign(travel), start).T.reshape(
        len(q), -1, q.shape[1]
    )
    return rows | {"late": np.stack([rate(direction, interval), *np.moveaxis(low_passed(bent), 1, 0)], axis=-1)}
