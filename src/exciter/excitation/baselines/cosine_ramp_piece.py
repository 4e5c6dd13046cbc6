"""Joint velocities that swing between zero and a maximum: a cosine on a ramp (Otani & Kakizaki 1993)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Extremum
from exciter.typing import Array

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CosineRampPiece:
    """q = position + ½ speed (t − since − sin(ω (t − since))/ω), so that q̇ = ½ speed (1 − cos ω (t − since)).

    knots (S + 1,) [s]; omega: ω (n,) [rad/s]; per joint and span (n, S): speed, signed, the largest of the cycle
    [rad/s], zero at rest; since: when the cycle began [s]; position [rad] there. A span lies within one cycle of every
    joint.
    """

    knots: Array
    omega: Array
    speed: Array
    since: Array
    position: Array

    def __post_init__(self) -> None:
        for name in ("knots", "omega", "speed", "since", "position"):
            array = np.array(getattr(self, name), dtype=float)
            if not np.isfinite(array).all():
                raise MotionError(f"{name} of a cosine on a ramp contains NaN or infinity; give finite numbers")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shape = (len(self.omega), len(self.knots) - 1)
        if shape[1] < 1 or any(x.shape != shape for x in (self.speed, self.since, self.position)):
            raise MotionError(f"speed, since and position of a cosine on a ramp must have shape {shape} each")
        if not ((np.diff(self.knots) > 0).all() and (self.omega > 0).all()):
            raise MotionError("a cosine on a ramp needs knots that increase and positive frequencies")

    @property
    def n(self) -> int:
        """Joints."""
        return len(self.omega)

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        """(order + 1, n, N): q, q̇, … at times (N,), each within the closed span of that number (N,)."""
        return self._derivatives(span, np.broadcast_to(time, (self.n, len(time))), order)

    def _derivatives(self, span: Index, time: Array, order: int) -> Array:
        """The same at times (n, N) that differ from joint to joint."""
        omega, half = self.omega[:, None], 0.5 * self.speed[:, span]
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
        quarter = 0.5 * np.pi / self.omega[:, None, None] * np.arange(5)  # (n, 1, 5)
        start, end = self.knots[:-1, None], self.knots[1:, None]
        ends = np.broadcast_to(np.concatenate([start, end], axis=1), (self.n, spans, 2))
        time = np.concatenate([ends, np.clip(self.since[..., None] + quarter, start, end)], axis=2)
        flat = time.reshape(self.n, -1)
        values = self._derivatives(np.repeat(np.arange(spans), time.shape[2]), flat, order)[order]
        return Extremum.of(values, flat)

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        """(4, n, M): |f| ≤ |f(centre)| + r |f'(centre)| + r²/2 max|f''|, r half the width; never more than max|f|."""
        size = np.abs(self.derivatives(span, 0.5 * (start + end), 5))
        half, omega = 0.5 * np.abs(self.speed[:, span]), self.omega[:, None]
        most = [2.0 * half if k == 1 else half * omega ** (k - 1) for k in range(1, 7)]
        radius = 0.5 * (end - start)
        taylor = [size[k] + radius * size[k + 1] + 0.5 * radius**2 * most[k + 1] for k in range(1, 5)]
        return np.stack([np.minimum(bound, most[k]) for k, bound in enumerate(taylor)])

    def shifted(self, dt: float) -> Self:
        """The same motion, dt [s] later."""
        return replace(self, knots=self.knots + dt, since=self.since + dt)
