"""Rows: equations W χ = y at uniform instants, both sides in one array, so that whatever is done is done to both.

A filter that touched y alone would change the equations and bias every estimate by tens of per cent; here there is
no such thing: y cannot be taken out and put back, and a ``ParallelFilter`` takes rows.

Parallel filtering: y and every column of W through the same low-pass filter, then only every m-th row kept.
[12.21]ff.: F(W) χ = F(y) holds for any linear F when W χ = y does, so noise above the motion's frequencies goes and
parameters stay. Filter and factor of MATLAB's ``decimate``, which the chapter uses, are the default: Chebyshev of
order 8 with 0.05 dB at 0.8 of the new half rate (40 Hz for 1 kHz and factor 10), forwards and backwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.contacts import Stance, taken_off, unknown_forces
from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.signals.contact_stretches import stretches
from exciter.experiment.signals.low_pass_filter import EDGE_FRACTION, FINEST_EDGE_FRACTION, Chebyshev, LowPass
from exciter.experiment.signals.processed_motion import Processed, refuse_folding, remembered_pieces
from exciter.experiment.signals.resample import S, overlapped, peeked, segments
from exciter.notes import Note, done
from exciter.typing import Array, Index

DECIMATION_FACTOR = 10  #: of [12.21]ff.
BANDWIDTH_ROUNDING = 1e-9  #: relative
MOST_PIECE_INSTANTS, FEWEST_PIECE_INSTANTS = 2048, 256  # of rows that are made at a time
LARGEST_PIECE_BYTES = 40_000_000  # of such rows, where there are many joints
Pieces = Processed | Iterable[Processed]


@dataclass(frozen=True, eq=False)
class Rows:
    """n equations at each of N instants ``time`` [s], ``rate`` [Hz], for p ``parameters``. sides (N, n, p + 1): W and,
    as its last column, y. joints: one name per equation of an instant. bandwidth [Hz]: the narrowest equivalent noise
    bandwidth the rows went through, infinite for rows as measured. torque_bandwidth [Hz]: above it y, and y alone, was
    cut by an analogue filter; infinite where it was not, and again once both sides were low-passed below it. notes:
    what was done to the rows. present (n,): part of the instants in which a joint has an equation; None: all of them.
    The others are zero on both sides, and must not be counted. left (n, n): where unknown forces were taken off, the
    mean over the instants of the projection of errors over their σ, S⁻¹ Π S: so much of every equation is left on its
    diagonal, and beside it what errors of two equations have in common by it; None: all of it, and nothing. Arrays that
    can be written to are copied."""

    time: Array
    sides: Array
    rate: float
    joints: tuple[str, ...]
    parameters: tuple[str, ...]
    bandwidth: float = float("inf")
    torque_bandwidth: float = float("inf")
    notes: tuple[Note, ...] = ()
    present: Array | None = None
    left: Array | None = None

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
        cls, time: ArrayLike, w: ArrayLike, y: ArrayLike, rate: float, joints: Sequence[str], parameters: Sequence[str]
    ) -> Rows:
        """From W (N, n, p) and y (N, n) as they were measured."""
        sides, at = np.concatenate([w, np.asarray(y, dtype=float)[:, :, None]], axis=2), np.asarray(time, dtype=float)
        return cls(at, sides, rate, tuple(joints), tuple(parameters))

    @property
    def w(self) -> Array:
        """(N, n, p)"""
        return self.sides[:, :, :-1]

    @property
    def y(self) -> Array:
        """(N, n)"""
        return self.sides[:, :, -1]

    @property
    def there(self) -> Array:
        """(n,) at how many instants there is an equation of each joint, or what is left of it."""
        return len(self) * (np.ones(len(self.joints)) if self.present is None else self.present)

    @property
    def counted(self) -> Array:
        """(n,) how many equations these are worth, of each joint."""
        return self.there if self.left is None else len(self) * self.left.diagonal()

    @property
    def projection(self) -> Array:
        """(n, n) sum over the instants of what is left of errors over their σ; ``counted`` is its diagonal."""
        return np.diag(self.there) if self.left is None else len(self) * self.left

    @property
    def independent(self) -> float:
        """How many of the N instants are worth an independent one. A filter leaves neighbouring errors alike: errors
        that were white before it are as good as independent only 2·bandwidth times a second. Formulas for independent
        errors give variances too small by independent / N: multiply the covariance of a least-squares estimate by N /
        independent (exact where the motion is well below the cut-off); degrees of freedom count so many equations."""
        return len(self) * min(1.0, 2.0 * self.bandwidth / self.rate)

    def equations(self, noise: ArrayLike | None = None) -> tuple[Array, Array]:
        """w (N·n, p) and y (N·n,), instant after instant, each equation divided by the standard deviation ``noise``
        (n,) of its joint when given: what ``Information.add`` wants. Refused where y lacks what W has: an analogue
        filter cut it, and the rows were not low-passed below."""
        if np.isfinite(self.torque_bandwidth):
            why = f"an analogue filter took away what the torque had above {self.torque_bandwidth:.4g} Hz, the "
            why += "regressor still has it: equations would be biased; pass the rows through a ParallelFilter, which "
            raise RecordingError(f"{why}stops below")
        scale = np.ones(len(self.joints)) if noise is None else np.asarray(noise, dtype=float)
        if scale.shape != (len(self.joints),) or not ((scale > 0) & np.isfinite(scale)).all():
            raise RecordingError(f"noise is {scale.tolist()}; give {len(self.joints)} positive numbers, one per joint")
        flat = np.asarray(self.sides / scale[:, None]).reshape(-1, self.sides.shape[2])
        return flat[:, :-1], flat[:, -1]

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
        both, time = _read_only(sides.transpose(2, 0, 1)), np.concatenate([part.time for part in parts])
        return replace(parts[0], time=time, sides=both, **_of_all(list(map(len, parts)), parts))


def _of_all(lengths: Sequence[int], parts: Sequence[Rows]) -> dict[str, Any]:
    """What is known of rows beside their numbers, of several together; lengths: instants of each."""
    n, whole = len(parts[0].joints), max(sum(lengths), 1)
    there = [np.ones(n) if part.present is None else part.present for part in parts]
    left = [np.diag(one) if part.left is None else part.left for one, part in zip(there, parts, strict=True)]
    some_there, some_left = (any(getattr(part, name) is not None for part in parts) for name in ("present", "left"))
    return {
        "torque_bandwidth": min(part.torque_bandwidth for part in parts),
        "present": np.tensordot(lengths, there, 1) / whole if some_there else None,
        "left": np.tensordot(lengths, left, 1) / whole if some_left else None,
    }


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Both sides of rows without the columns that an equation has not: of thirty axes a tenth is left to be kept,
    joined, cut and filtered. places (2, e): equation and column of each row of ``values`` (e, N), ascending; like: the
    rows they are of, without an instant."""

    time: Array
    values: Array
    places: Index
    like: Rows

    @classmethod
    def of(cls, rows: Rows) -> PackedRows:
        sides = rows.sides.transpose(1, 2, 0)
        places = np.array(np.nonzero(sides.any(axis=2)))
        return cls(rows.time, sides[*places], places, rows[:0])

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: slice) -> PackedRows:
        return replace(self, time=self.time[part], values=self.values[:, part].copy())  # a view would keep all of them

    @staticmethod
    def join(parts: Sequence[PackedRows]) -> PackedRows:
        if len(parts) == 1:
            return parts[0]
        shape = parts[0].like.sides.shape[1:]
        codes = [np.ravel_multi_index(tuple(part.places), shape) for part in parts]
        union = np.unique(np.concatenate(codes))
        time, values = np.concatenate([part.time for part in parts]), list[Array]()
        for part, code in zip(parts, codes, strict=True):
            wide = part.values if len(code) == len(union) else np.zeros((len(union), len(part)))
            if wide is not part.values:
                wide[np.searchsorted(union, code)] = part.values
            values.append(wide)
        like = replace(parts[0].like, **_of_all(list(map(len, parts)), [part.like for part in parts]))
        return PackedRows(time, np.concatenate(values, axis=1), np.array(np.unravel_index(union, shape)), like)

    @property
    def rows(self) -> Rows:
        """The rows they are of."""
        sides = np.zeros((*self.like.sides.shape[1:], len(self.time)))
        sides[*self.places] = self.values
        return replace(self.like, time=self.time, sides=_read_only(sides).transpose(2, 0, 1))

    def filtered(self, low_pass: LowPass, rate: float, kept: slice) -> Array:
        """(kept instants, n, p + 1) both sides at ``rate`` [Hz] through a filter."""
        found = np.zeros((*self.like.sides.shape[1:], len(self.time[kept])))
        found[*self.places] = low_pass.zero_phase(self.values, rate, axis=1, kept=kept)
        return _read_only(found.transpose(2, 0, 1))


def model_rows(
    model: DynamicModel,
    pieces: Pieces,
    columns: ArrayLike | None = None,
    size: int | None = None,
    dead_zone: ArrayLike = 0.0,
    noise: ArrayLike = 1.0,
) -> Iterator[Rows]:
    """W = Φ(q, q̇, q̈) and y = Γ of a motion [12.20, 12.21], or of one that comes in pieces, ``size`` instants at a
    time, unless given as many as take little memory. columns: of the standard parameters, all unless given;
    ``model.base.independent`` for the base parameters. Joint terms that remember (Dahl friction) go on from piece to
    piece, and begin anew behind a gap. dead_zone [rad/s or m/s], one or (n,): while a joint is slower, both sides of
    its equation are zero. That is as true as the equation itself, says nothing, and whatever is done to both sides
    afterwards leaves it so. (``Processed.speed`` may say how fast a joint is.) Where frames touch the ground with
    forces that were not measured these are taken off, as are then the torques of joints without an equation
    (``dynamics.contacts``); noise: σ of every equation, or their ratios."""
    chosen = np.arange(len(model.standard)) if columns is None else np.asarray(columns, dtype=np.int64)
    joints, parameters = model.robot.joint_names, tuple(model.standard[k] for k in chosen)
    layout, sigma = model.layout(chosen), np.broadcast_to(np.asarray(noise, dtype=float), (model.n,))
    given = [pieces] if isinstance(pieces, Processed) else pieces
    if size is None:
        size = _piece_instants(model)
    standing = deque[Stance]()  # of parts that were begun, and not of the parts themselves: these take memory

    def parts() -> Iterator[Processed]:
        for piece in given:
            for stance, part in stretches(piece):
                if len(part):
                    standing.append(stance)
                    yield part

    for memory, piece in remembered_pieces(model, parts()):
        stance = standing.popleft()
        for part, sides in model.regressor_chunks(piece.motion, size, layout, room=1, before=memory):
            sides[:, :, -1] = piece.torque[part]
            speed = piece.motion.qd if piece.speed is None else piece.speed
            rests = np.abs(speed[part]) < dead_zone
            rests[:, list(piece.silent)] = True  # nor is there one of a joint whose torque is unusable
            present, left = 1.0 - rests.mean(axis=0) if rests.any() else None, None
            if stance:
                forces = unknown_forces(model.dynamics, stance, piece.motion.q[part], rests)
                sides, left = taken_off(sides, forces, sigma)
            else:
                sides[rests] = 0.0
            yield Rows(
                time=piece.motion.time[part],
                sides=_read_only(sides),
                rate=piece.rate,
                joints=joints,
                parameters=parameters,
                torque_bandwidth=piece.torque_bandwidth,
                present=present,
                left=left,
            )


def _piece_instants(model: DynamicModel) -> int:
    """Of rows that are made at a time; the same whatever columns are wanted, so that pieces of the same motion fit."""
    most = LARGEST_PIECE_BYTES // (8 * model.n * model.inertial_size)
    return min(max(most, FEWEST_PIECE_INSTANTS), MOST_PIECE_INSTANTS)


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class ParallelFilter:
    """low_pass: None for the Chebyshev filter that fits the factor; factor: of the decimation. A factor left open is 10
    without a low_pass; with one the largest whose half rate lets at most 1 % pass: for Chebyshev filters that of
    ``decimate``, for Butterworth of order 4 rate / (3.6 · cutoff). edge: equations at both ends of a segment are cut
    until the filter's guess about what lies beyond has faded to this. Rows whose y was cut by an analogue filter are
    stopped below: a low_pass left open is lowered (``Rows.notes``); one that passes more than 1 % there is refused.
    look_ahead: of a stream, see ``StreamingRoute.stream``."""

    title = "a low-pass filter"
    low_pass: LowPass | None = None
    factor: int | None = None
    edge: float = EDGE_FRACTION
    look_ahead: float | None = None

    def __post_init__(self) -> None:
        if (self.factor is not None and self.factor < 1) or not FINEST_EDGE_FRACTION <= self.edge < 1.0:
            raise RecordingError(f"{self}: factor must be at least 1, edge within {FINEST_EDGE_FRACTION:g} … 1")

    def at(self, rate: float, torque_bandwidth: float = float("inf")) -> tuple[LowPass, int]:
        """The filter and the factor for samples at ``rate`` [Hz] whose y was cut above ``torque_bandwidth`` [Hz]."""
        low_pass = self.low_pass
        if low_pass is None:
            factor = DECIMATION_FACTOR if self.factor is None else self.factor
            low_pass = Chebyshev(0.8 * 0.5 * rate / factor)
            if low_pass.stop(rate) <= torque_bandwidth:
                return low_pass, factor
            low_pass = low_pass.stopped_at(torque_bandwidth, rate)
        low_pass.sections(rate)  # refuses a cut-off the rate is too low for
        stop = low_pass.stop(rate)
        if stop > torque_bandwidth * (1.0 + BANDWIDTH_ROUNDING):
            why = f"a cut-off of {low_pass.cutoff:.4g} Hz lets the regressor pass up to {stop:.4g} Hz, the torque has "
            why += f"nothing above {torque_bandwidth:.4g} Hz (analogue filter); give a cut-off of at most "
            raise RecordingError(f"{why}{0.999 * low_pass.stopped_at(torque_bandwidth, rate).cutoff:.4g} Hz, or none")
        return low_pass, max(1, int(0.5 * rate / stop)) if self.factor is None else self.factor

    def apply(self, rows: Rows) -> Rows:
        """Rows that are all in memory and of one segment."""
        return Rows.join(list(self.stream([rows])))

    def stream(self, rows: Iterable[Rows]) -> Iterator[Rows]:
        """Rows in pieces, as if filtered whole. A gap starts anew; a part no longer than its edges gives no rows."""
        beginning, stream = peeked(rows, 1)
        if beginning is None:
            raise RecordingError("there are no equations to filter")
        rate, most = beginning.rate, beginning.torque_bandwidth
        low_pass, factor = self.at(rate, most)
        stop = low_pass.stop(rate)
        kind = f"a {type(low_pass).__name__} low-pass of {low_pass.cutoff:.4g} Hz"
        text = f"both sides of the equations through {kind}, one of {factor} kept"
        if self.low_pass is None and (usual := self.at(rate)[0]) != low_pass:
            text += f"; lowered from {usual.cutoff:.4g} Hz: the torque has nothing above {most:.4g} Hz"
        note, bandwidth = done("parallel filter", text), low_pass.noise_bandwidth(rate)
        cut, count = low_pass.settle(rate, self.edge), 0

        def alike(rows: Rows) -> Rows:
            """Refused where the filter was not planned for them."""
            if abs(rows.rate / rate - 1.0) > 1e-9:
                raise RecordingError(f"equations at {rows.rate:g} Hz follow others at {rate:g} Hz; filter them apart")
            if stop > rows.torque_bandwidth * (1.0 + BANDWIDTH_ROUNDING):
                why = f"equations whose torque ends at {rows.torque_bandwidth:.4g} Hz follow others that need not stop "
                why += f"below {stop:.4g} Hz; filter them apart, or give a low_pass that stops there"
                raise RecordingError(why)
            return rows

        for whole, kept in self.windows((PackedRows.of(alike(one)) for one in stream), rate, most):
            given, sides = whole.like, whole.filtered(low_pass, rate, kept)
            count += len(sides)
            yield replace(
                given,
                time=whole.time[kept],
                sides=sides,
                rate=rate / factor,
                bandwidth=min(given.bandwidth, bandwidth),
                torque_bandwidth=float("inf"),
                notes=(*given.notes, note),
            )
        if not count:
            why = f"no equations are left: {2 * cut / rate:.3g} s are lost at the ends with a cut-off of "
            raise RecordingError(f"{why}{low_pass.cutoff:.4g} Hz; give a higher cut-off, or record longer")

    def windows(self, parts: Iterable[S], rate: float, torque_bandwidth: float) -> Iterator[tuple[S, slice]]:
        """Of parts of a series at ``rate`` [Hz], in order: what the filter looks at at once, and which instants of that
        are kept, every ``factor``-th of a segment."""
        low_pass, factor = self.at(rate, torque_bandwidth)
        cut, reach = low_pass.settle(rate, self.edge), low_pass.reach(rate)
        reach = reach if self.look_ahead is None else max(1, round(self.look_ahead * reach))
        for segment in segments(parts, 1.5 / rate):
            seen = 0  # instants of the segment before the piece
            for piece in overlapped(segment, reach, prompt=self.look_ahead is not None):
                start, end = piece.inner.start, piece.inner.stop
                skipped = -(-cut // factor) * factor if piece.first else (-seen) % factor
                kept = slice(start + skipped, end - cut if piece.last else end, factor)
                seen += end - start
                if kept.start < kept.stop:
                    yield piece.whole, kept


def filtered_rows(
    model: DynamicModel, pieces: Pieces, parallel_filter: ParallelFilter, columns: ArrayLike | None = None
) -> Iterator[Rows]:
    """The filtered equations of a motion, or of one that comes in pieces; W never exists whole. See ``model_rows``."""
    return parallel_filter.stream(model_rows(model, pieces, columns))
