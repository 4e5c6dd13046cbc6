"""A piece of a curve on which every joint moves by a cosine on a ramp (Otani & Kakizaki 1993)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Extremum
from exciter.typing import Array, Index

SAME_INSTANT = 1e-9  # of the duration, by which a span may miss the cycle that it lies in


@dataclass(frozen=True, eq=False)
class CosineRampPiece:
    """q = position + ½ speed (t − since − sin(ω (t − since))/ω), so that q̇ = ½ speed (1 − cos ω (t − since)).

    knots (S + 1,) [s]; omegas: ω (n,) [rad/s]; per joint and span (n, S): speed, signed, the largest of the cycle
    [rad/s], zero at rest; since: when the cycle began [s]; position [rad] there. A span lies within one cycle of every
    joint.
    """

    knots: Array
    omegas: Array
    speed: Array
    since: Array
    position: Array

    def __post_init__(self) -> None:
        for name in ("knots", "omegas", "speed", "since", "position"):
            array = np.array(getattr(self, name), dtype=float)
            if not np.isfinite(array).all():
                raise MotionError(f"{name} of a cosine on a ramp contains NaN or infinity; give finite numbers")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shape = (len(self.omegas), len(self.knots) - 1)
        if shape[1] < 1 or any(x.shape != shape for x in (self.speed, self.since, self.position)):
            raise MotionError(f"speed, since and position of a cosine on a ramp must have shape {shape} each")
        if not ((np.diff(self.knots) > 0).all() and (self.omegas > 0).all()):
            raise MotionError("a cosine on a ramp needs knots that increase and positive frequencies")
        slack = SAME_INSTANT * np.ptp(self.knots)
        early = self.knots[:-1] < self.since - slack
        late = self.knots[1:] > self.since + 2.0 * np.pi / self.omegas[:, None] + slack
        if ((early | late) & (self.speed != 0.0)).any():  # the extrema of one cycle are looked for in every span
            raise MotionError("a span of a cosine on a ramp is not within one cycle of every joint; add knots")

    @property
    def n(self) -> int:
        """Joints."""
        return len(self.omegas)

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        """(order + 1, n, N): q, q̇, … at times (N,), each within the closed span of that number (N,), or at times (n, N)
        that differ from joint to joint."""
        omega, half = self.omegas[:, None], 0.5 * self.speed[:, span]
        local = time - self.since[:, span]
        phase = omega * local
        values = np.empty((order + 1, *phase.shape))
        values[0] = self.position[:, span] + half * (local - np.sin(phase) / omega)
        for k in range(1, order + 1):  # the (k − 1)-th derivative of ½ speed (1 − cos phase)
            wave = -np.cos(phase + 0.5 * np.pi * (k - 1)) * omega ** (k - 1)
            values[k] = half * (1.0 + wave if k == 1 else wave)
        return values

    def extremum(self, order: int) -> Extremum:
        """Exact extrema of the order-th derivative: every derivative is extreme at a multiple of a quarter cycle, or
        at the end of a span."""
        spans = len(self.knots) - 1
        quarter = 0.5 * np.pi / self.omegas[:, None, None] * np.arange(5)  # (n, 1, 5)
        start, end = self.knots[:-1, None], self.knots[1:, None]
        ends = np.broadcast_to(np.concatenate([start, end], axis=1), (self.n, spans, 2))
        time = np.concatenate([ends, np.clip(self.since[..., None] + quarter, start, end)], axis=2)
        flat = time.reshape(self.n, -1)
        values = self.derivatives(np.repeat(np.arange(spans), time.shape[2]), flat, order)[order]
        return Extremum.of(values, flat)

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        """(4, n, M): |f| ≤ |f(centre)| + r |f'(centre)| + r²/2 max|f''|, r half the width; never more than max|f|."""
        size = np.abs(self.derivatives(span, 0.5 * (start + end), 5))
        half, omega = 0.5 * np.abs(self.speed[:, span]), self.omegas[:, None]
        most = [2.0 * half if k == 1 else half * omega ** (k - 1) for k in range(1, 7)]
        radius = 0.5 * (end - start)
        taylor = [size[k] + radius * size[k + 1] + 0.5 * radius**2 * most[k + 1] for k in range(1, 5)]
        return np.stack([np.minimum(bound, most[k]) for k, bound in enumerate(taylor)])

    def shifted(self, dt: float) -> Self:
        """The same motion, dt [s] later."""
        return replace(self, knots=self.knots + dt, since=self.since + dt)
