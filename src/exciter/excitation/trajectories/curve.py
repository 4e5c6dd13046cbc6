"""Exact motions in time: what is certified, drawn, resampled and written.

A curve is a sequence of pieces in time, each smooth in its interior: the polynomial spans of a spline, a stretch of a
Fourier series, a ramp. Higher derivatives may jump at knots, so everything is asked for piece by piece, one-sided. What
is joined here does not jump in position or velocity (``continuous``); a file may (``breaks``), and is not certified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import MotionError, shown
from exciter.robot.motion import Motion
from exciter.typing import Array, Index

#: Values on the two sides of a knot that differ by less than this are one value: of accelerations relative to their
#: size, of positions and velocities in rad, m, rad/s, m/s.
SAME_STATE = 1e-9
ROUNDING_STEPS = 256.0  #: times the rounding of a double: by what evaluating polynomials and series may be off
#: [rad, m] and [rad/s, m/s] that no rounding excuses, whatever the size of numbers and times: neither at one knot nor,
#: for a joint, at all of them together.
LARGEST_JUMP_BY_ROUNDING = (1e-5, 1e-4)
#: Rounding of positions shows as jumps of acceleration beside short spans. Up to this part of the largest acceleration
#: (or of 1 rad/s², m/s², for joints that hardly move) they are none; larger ones count, whatever made them.
ACCELERATION_ROUNDING_FRACTION = 1e-6
MOST_REPEATED_KNOTS = 100_000  #: of a repeated motion; every seam is looked at


@dataclass(frozen=True, eq=False)
class Extremum:
    """Smallest and largest value over time per joint (n,), and when [s]."""

    lowest: Array
    lowest_at: Array
    highest: Array
    highest_at: Array

    @classmethod
    def of(cls, values: Array, time: Array) -> Extremum:
        """Of values (n, K) at times (n, K) or (K,)."""
        time = np.broadcast_to(time, values.shape)
        joint, low, high = np.arange(len(values)), values.argmin(axis=1), values.argmax(axis=1)
        return cls(values[joint, low], time[joint, low], values[joint, high], time[joint, high])

    @classmethod
    def among(cls, parts: Iterable[Extremum]) -> Extremum:
        ends = [end for p in parts for end in ((p.lowest, p.lowest_at), (p.highest, p.highest_at))]
        values, time = (np.stack(each, axis=1) for each in zip(*ends, strict=True))
        return cls.of(values, time)

    @property
    def size(self) -> Array:
        """(n,) largest absolute value."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))


@dataclass(frozen=True)
class Jump:
    """A position (order 0) or velocity (order 1) of a joint, by its index, that differs on the two sides of a knot
    ``at`` [s] by more than rounding explains (``allowed``); size [rad, m, rad/s, m/s]: infinite where one is none."""

    order: int
    joint: int
    at: float
    before: float
    after: float
    allowed: float
    size: float

    @property
    def what(self) -> str:
        return ("position", "velocity")[self.order]


class CurvePiece(Protocol):
    """Part of a curve. Times are the curve's; a piece is smooth between consecutive ``knots``."""

    @property
    def knots(self) -> Array:
        """(S + 1,) increasing times [s]; first and last are the piece's ends."""

    @property
    def n(self) -> int:
        """Joints."""

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        """(order + 1, n, N): q, q̇, … at times (N,), each within the closed span of that number (N,)."""

    def extremum(self, order: int) -> Extremum:
        """Exact extrema of the order-th derivative, order 0 … 3, one-sided values at the knots included."""

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        """(4, n, M): bounds of |q̇|, |q̈|, |q⃛|, |q⁗| throughout each interval [start, end], each within one span."""

    def shifted(self, dt: float) -> Self:
        """The same motion, dt [s] later."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Pieces one after the other. Spans are numbered through all pieces, 0 … S−1, between consecutive ``knots``."""

    pieces: tuple[CurvePiece, ...]
    _extrema: dict[int, Extremum] = field(default_factory=dict, init=False, repr=False)  # by order, once asked for

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple(self.pieces))
        if not self.pieces:
            raise MotionError("a curve of no pieces; give at least one")
        if len(set(joints := [piece.n for piece in self.pieces])) > 1:
            raise MotionError(f"the pieces of a curve move {joints} joints; they must move the same")
        for before, after in pairwise(self.pieces):
            end, start = before.knots[-1], after.knots[0]
            if not abs(start - end) <= _same_time(end, min(np.ptp(before.knots), np.ptp(after.knots))):
                raise MotionError(
                    f"a piece ends at {end:.15g} s and the next starts at {start:.15g} s; shift it in time"
                )

    def __repr__(self) -> str:
        return f"<curve of {self.n} joints: {len(self.pieces)} pieces from {self.start:.6g} to {self.end:.6g} s>"

    @property
    def n(self) -> int:
        return self.pieces[0].n

    @property
    def start(self) -> float:
        return float(self.pieces[0].knots[0])

    @property
    def end(self) -> float:
        return float(self.pieces[-1].knots[-1])

    @property
    def duration(self) -> float:
        return self.end - self.start

    @cached_property
    def knots(self) -> Array:
        """(S + 1,) [s] ends of all spans."""
        knots = np.append(np.concatenate([piece.knots[:-1] for piece in self.pieces]), self.end)
        knots.flags.writeable = False
        return knots

    @cached_property
    def _first(self) -> Index:
        """(P + 1,) number of the first span of each piece, then of all spans."""
        return np.cumsum([0] + [len(piece.knots) - 1 for piece in self.pieces])

    def _by_piece(self, span: Index) -> Iterable[tuple[CurvePiece, Index, Index]]:
        """Each piece that holds some of the spans, which of them (indices), and their numbers within the piece."""
        owner = np.searchsorted(self._first, span, side="right") - 1
        for number in np.unique(owner):
            chosen = np.flatnonzero(owner == number)
            yield self.pieces[number], chosen, span[chosen] - self._first[number]

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        values = np.empty((order + 1, self.n, len(time)))
        for piece, chosen, local in self._by_piece(span):
            values[:, :, chosen] = piece.derivatives(local, time[chosen], order)
        return values

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        bounds = np.empty((4, self.n, len(start)))
        for piece, chosen, local in self._by_piece(span):
            bounds[:, :, chosen] = piece.rates(local, start[chosen], end[chosen])
        return bounds

    def extremum(self, order: int) -> Extremum:
        """Exact extrema of the order-th derivative, 0 … 3, for all time. Where the acceleration jumps up or down the
        jerk is +∞ or −∞; a jump that may be rounding counts as if it took as long as the shorter span beside it."""
        if order not in self._extrema:
            self._extrema[order] = self._extremum(order)
        return self._extrema[order]

    def _extremum(self, order: int) -> Extremum:
        found = Extremum.among(piece.extremum(order) for piece in self.pieces)
        if order < 3 or len(self.knots) == 2:
            return found
        position, acceleration = (self.extremum(order).size[:, None] for order in (0, 2))
        # how far accelerations on both sides of a knot may differ and still be one
        same = SAME_STATE * acceleration + self._rounding(2, position, acceleration)
        jumps = self.jumps(2)
        at_knots = np.where(np.abs(jumps) > same, np.copysign(np.inf, jumps), jumps / self._shorter)
        return Extremum.among([found, Extremum.of(at_knots, self.knots[1:-1])])

    def _rounding(self, order: int, position: Array, size: Array) -> Array:
        """(n, S − 1) what rounding of positions (n, 1) does to a derivative of that order and size (n, 1) at a knot."""
        rounding = ROUNDING_STEPS * np.finfo(float).eps / self._shorter**order * position
        return np.minimum(rounding, ACCELERATION_ROUNDING_FRACTION * np.maximum(1.0, size))

    @property
    def _shorter(self) -> Array:
        """(S − 1,) [s] width of the shorter span beside each inner knot."""
        width = np.diff(self.knots)
        return np.minimum(width[1:], width[:-1])

    def _sides(self, order: int) -> tuple[Array, Array]:
        """(order + 1, n, S − 1): derivatives before and after each inner knot."""
        inner, at = np.arange(len(self.knots) - 2), self.knots[1:-1]
        return self.derivatives(inner, at, order), self.derivatives(inner + 1, at, order)

    def jumps(self, order: int) -> Array:
        """(n, S − 1): value of the order-th derivative after each inner knot less that before it."""
        before, after = self._sides(order)
        return np.asarray(after[order] - before[order])

    def breaks(self) -> tuple[Jump, ...]:
        """Every joint's largest jump of position, and of velocity, that rounding cannot explain; none of most curves.
        Both sides are taken at the same instant, so that a gap in time counts as the way it is worth."""
        (before, after), at = self._sides(1), self.knots[1:-1]
        size = np.abs(after - before)
        if (size.sum(axis=2) <= SAME_STATE).all():  # no less is ever allowed; NaN is a jump
            return ()
        found = []
        for order, (same, most) in enumerate(zip(self._same_states, LARGEST_JUMP_BY_ROUNDING, strict=True)):
            allowed = np.minimum(same, most)
            excused = np.where(size[order] <= allowed, size[order], 0.0).sum(axis=1, keepdims=True)
            allowed = np.where(excused <= most, allowed, 0.0)  # many small ones are a large one
            there = np.where(np.isfinite(size[order]), size[order], np.inf)
            there = np.where(there > allowed, there, 0.0)
            for joint in np.flatnonzero(there.any(axis=1)).tolist():
                k = int(np.argmax(there[joint]))
                jump = Jump(
                    order=order,
                    joint=joint,
                    at=float(at[k]),
                    before=float(before[order, joint, k]),
                    after=float(after[order, joint, k]),
                    allowed=float(allowed[joint, k]),
                    size=float(there[joint, k]),
                )
                found.append(jump)
        return tuple(found)

    @property
    def _same_states(self) -> tuple[Array, Array]:
        """(n, S − 1) how far positions, and velocities, on both sides of a knot may differ and still be one:
        ``SAME_STATE``, rounding of numbers of their size, and rounding of the time by what changes meanwhile."""
        sizes = [self.extremum(order).size[:, None] for order in range(3)]
        q, qd, qdd = (np.where(np.isfinite(size), size, 0.0) for size in sizes)
        clock, eps = 8.0 * np.spacing(np.abs(self.knots[1:-1])), ROUNDING_STEPS * np.finfo(float).eps
        return SAME_STATE + eps * q + clock * qd, SAME_STATE + eps * qd + self._rounding(1, q, qd) + clock * qdd

    def continuous(self, joints: Sequence[str] = ()) -> Curve:
        """Itself, or an error about the first position or velocity that jumps; ``joints``: their names."""
        for jump in self.breaks()[:1]:
            name = f"'{joints[jump.joint]}'" if joints else f"{jump.joint + 1}"
            raise MotionError(
                f"the {jump.what} of joint {name} jumps from {jump.before:.9g} to {jump.after:.9g} at {jump.at:.6g} s; "
                "end each part of a motion in the state in which the next starts"
            )
        return self

    def motion(self, time: ArrayLike) -> Motion:
        """q, q̇, q̈ at times (N,) within [start, end]; at a knot the value after it, at the end the one before."""
        time = np.asarray(time, dtype=float)
        slack = _same_time(max(abs(self.start), abs(self.end)), self.duration)
        if len(time) and not (time.min() >= self.start - slack and time.max() <= self.end + slack):
            raise MotionError(
                f"the motion lasts from {self.start:g} to {self.end:g} s; samples from {time.min():g} to "
                f"{time.max():g} s were asked for"
            )
        inside = np.clip(time, self.start, self.end)
        q, qd, qdd = self.derivatives(span_of(self.knots, inside), inside, 2)
        return Motion(time, q.T, qd.T, qdd.T)

    def shifted(self, dt: float) -> Curve:
        return Curve(tuple(piece.shifted(dt) for piece in self.pieces))

    def then(self, other: Curve) -> Curve:
        """This motion, then another that starts when and in the state (q, q̇) in which this one ends."""
        return Curve(self.pieces + other.pieces).continuous()

    def repeated(self, times: int) -> Curve:
        """The same motion several times in a row; its end must be the state (q, q̇) it starts from."""
        return self.again(times).continuous()

    def again(self, times: int) -> Curve:
        """The same motion several times in a row, as a controller would run it, whether it fits or not."""
        if isinstance(times, bool) or not isinstance(times, int | np.integer) or times < 1:
            raise MotionError(f"a motion cannot be repeated {shown(times)} times; give 1 or more")
        if times * len(self.knots) > MOST_REPEATED_KNOTS:
            raise MotionError(
                f"a motion of {len(self.knots)} knots cannot be repeated {shown(times)} times; give at most "
                f"{MOST_REPEATED_KNOTS // len(self.knots)}"
            )
        return Curve(tuple(piece.shifted(k * self.duration) for k in range(times) for piece in self.pieces))


def span_of(knots: Array, time: Array) -> Index:
    """(N,) number of the span of each time; at a knot the one after it, at the end the last."""
    return np.clip(np.searchsorted(knots, time, side="right") - 1, 0, len(knots) - 2)


def _same_time(time: float, duration: float) -> float:
    """[s] by which two times may differ and still be one: little of how long the motion lasts, and what rounding does
    to times of that size (those of clocks that count from 1970 are known to 2e-7 s)."""
    return float(SAME_STATE * duration + 8 * np.spacing(abs(time)))
