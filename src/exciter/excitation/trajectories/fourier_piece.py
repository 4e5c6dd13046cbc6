"""A stretch of a finite Fourier series, from any phase to any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from exciter.errors import MotionError, shown
from exciter.excitation.trajectories.curve import Extremum
from exciter.typing import Array

Index = NDArray[np.int64]
LARGEST_PHASE = 1e9  # [rad]
LEAST_OMEGA = 1e-9  # [rad/s]
HIGHEST_HARMONIC = 200  # extrema are the roots of a polynomial of twice this degree, found in some seconds per joint


@dataclass(frozen=True, eq=False)
class FourierPiece:
    """q = q0 + Σ_l a_l/(ω l) sin(ω l s) − b_l/(ω l) cos(ω l s), s = t − phase_time, for start ≤ t ≤ end [s].

    omega: ω [rad/s]; harmonics (h,): the numbers l; a, b (n, h) [rad/s]; offset: q0 (n,) [rad].
    """

    start: float
    end: float
    omega: float
    harmonics: NDArray[np.int64]
    a: Array
    b: Array
    offset: Array
    phase_time: float = 0.0

    def __post_init__(self) -> None:
        if np.ndim(self.harmonics) != 1 or not (np.abs(self.harmonics) <= HIGHEST_HARMONIC).all():
            raise MotionError(
                f"harmonics {shown(np.asarray(self.harmonics).tolist())} of a Fourier series; give a list of whole "
                f"numbers, 1 to {HIGHEST_HARMONIC}"
            )
        for name, kind in (("harmonics", np.int64), ("a", float), ("b", float), ("offset", float)):
            array = np.array(getattr(self, name), dtype=kind)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        n, h = len(self.offset), len(self.harmonics)
        if self.a.shape != (n, h) or self.b.shape != (n, h):
            raise MotionError(f"a {self.a.shape} and b {self.b.shape} of a Fourier series; expected {(n, h)} each")
        numbers = np.concatenate([self.a, self.b, self.offset[:, None]], axis=1)
        if not (np.isfinite(numbers).all() and np.isfinite([self.start, self.end, self.omega, self.phase_time]).all()):
            raise MotionError("a Fourier series contains NaN or infinity; give finite coefficients and times")
        if not (self.end > self.start and self.omega > 0 and h > 0 and (self.harmonics > 0).all()):
            raise MotionError(
                f"a Fourier series from {self.start} to {self.end} s, ω = {self.omega}, harmonics "
                f"{shown(self.harmonics.tolist())}; the end must follow the start, ω and the harmonics must be positive"
            )

        turned = self.omega * self.harmonics.max() * max(abs(t - self.phase_time) for t in (self.start, self.end))
        if not (self.omega >= LEAST_OMEGA and turned <= LARGEST_PHASE):
            raise MotionError(
                f"a Fourier series with ω = {self.omega:g} rad/s comes to a phase of {turned:g} rad; ω must be at "
                f"least {LEAST_OMEGA:g}, and phases of more than {LARGEST_PHASE:g} have too few digits left"
            )

    @property
    def n(self) -> int:
        """Joints."""
        return len(self.offset)

    @property
    def knots(self) -> Array:
        return np.array([self.start, self.end])

    @property
    def _frequencies(self) -> Array:
        return np.float64(self.omega) * self.harmonics

    def _phasors(self, order: int) -> NDArray[np.complex128]:
        """(n, h) F with q^(order) = Re Σ_l F_l e^{iω l s}, the offset left out."""
        return -(self.b + 1j * self.a) / self._frequencies * (1j * self._frequencies) ** order

    def _values(self, time: Array, order: int) -> Array:
        """(n, N): order-th derivative at times (N,)."""
        wave = np.exp(1j * self._frequencies[:, None] * (time - self.phase_time))
        value: Array = (self._phasors(order) @ wave).real
        return value + self.offset[:, None] if order == 0 else value

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        """(order + 1, n, N): q, q̇, … at times (N,). There is one span only."""
        phase = self._frequencies[:, None] * (time - self.phase_time)
        waves = np.concatenate([np.cos(phase), np.sin(phase)])
        phasors = np.stack([self._phasors(k) for k in range(order + 1)])
        values: Array = np.concatenate([phasors.real, -phasors.imag], axis=2) @ waves
        values[0] += self.offset[:, None]
        return values

    def extremum(self, order: int) -> Extremum:
        """Exact extrema of the order-th derivative: its values at both ends and at all roots of its derivative, which
        is a polynomial in z = e^{iω s}."""
        roots = [self._stationary(row) for row in self._phasors(order + 1)]
        period = 2.0 * np.pi / self.omega
        parts = []
        for joint, phase in enumerate(roots):
            inside = self.start + np.mod(phase / self.omega + self.phase_time - self.start, period)
            time = np.concatenate([[self.start, self.end], inside[inside <= self.end]])
            alone = replace(self, a=self.a[[joint]], b=self.b[[joint]], offset=self.offset[[joint]])
            parts.append(Extremum.of(alone._values(time, order), time))
        names = ("lowest", "lowest_at", "highest", "highest_at")
        return Extremum(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def _stationary(self, phasors: NDArray[np.complex128]) -> Array:
        """Angles of all roots z of Σ_l F_l z^l + F̄_l z^−l (h,); those off the unit circle do no harm.

        A pencil rather than a companion matrix: harmonics that hardly move would make its leading coefficient vanish.
        """
        size = np.abs(phasors).max()
        if size == 0.0:
            return np.empty(0)
        top = int(self.harmonics.max())
        polynomial = np.zeros(2 * top + 1, dtype=complex)  # increasing powers, times z^top
        np.add.at(polynomial, top + self.harmonics, phasors / size)
        polynomial[:top] = polynomial[:top:-1].conj()
        left, right = np.eye(2 * top, k=1, dtype=complex), np.eye(2 * top, dtype=complex)
        left[-1], right[-1, -1] = -polynomial[:-1], polynomial[-1]
        alpha, beta = linalg.eigvals(left, right, homogeneous_eigvals=True, check_finite=False)
        return np.asarray(np.angle(alpha * beta.conj()), dtype=float)

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        """(4, n, M): |q^(k)| ≤ |q^(k)(centre)| + r |q^(k+1)(centre)| + r²/2 Σ_l |F_l| of order k + 2, r half the width;
        never more than the sum of amplitudes of order k."""
        size = np.abs(self.derivatives(span, 0.5 * (start + end), 5))
        amplitude = [np.abs(self._phasors(k)).sum(axis=1)[:, None] for k in range(7)]
        radius = 0.5 * (end - start)
        taylor = [size[k] + radius * size[k + 1] + 0.5 * radius**2 * amplitude[k + 2] for k in range(1, 5)]
        return np.stack([np.minimum(bound, amplitude[k]) for k, bound in enumerate(taylor, start=1)])

    def shifted(self, dt: float) -> Self:
        """The same motion, dt [s] later."""
        return replace(self, start=self.start + dt, end=self.end + dt, phase_time=self.phase_time + dt)
