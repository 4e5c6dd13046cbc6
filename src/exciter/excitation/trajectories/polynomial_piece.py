"""Motions made of polynomial spans: splines, quintic segments, ramps, and files as a controller interpolates them.

Beside the piece, real polynomials on [0, 1], many at once: Horner, Bernstein hull, and where they can be extreme;
coefficients lie on the last axis in increasing powers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import comb, factorial
from typing import Self

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Extremum
from exciter.typing import Array, Index

#: Where the reciprocal variable of ``stationary_points`` may be centred: outside [0, 1], close to it.
ROOT_CENTRES = np.array([-0.25, 1.25, -0.5, 1.5, -0.75, 1.75, -1.0, 2.0, -1.25, 2.25])
HIGHEST_POLYNOMIAL_DEGREE = 9


def evaluate(coefficients: Array, x: Array) -> Array:
    """Values at x, which broadcasts with the coefficients' leading axes."""
    return np.asarray(polyval(x, np.moveaxis(coefficients, -1, 0), tensor=False))


def derivative(coefficients: Array, order: int = 1) -> Array:
    """Coefficients of the order-th derivative; at least the constant 0 is left."""
    for _ in range(order):
        if coefficients.shape[-1] == 1:
            return np.zeros_like(coefficients)
        coefficients = coefficients[..., 1:] * np.arange(1, coefficients.shape[-1])
    return coefficients


@cache
def _bernstein(degree: int) -> Array:
    """(d + 1, d + 1): power to Bernstein coefficients, b_i = Σ_k C(i, k)/C(d, k) c_k."""
    return np.array([[comb(i, k) / comb(degree, k) for k in range(degree + 1)] for i in range(degree + 1)])


def hull(coefficients: Array) -> tuple[Array, Array]:
    """Lower and upper bound of the values on [0, 1]: the smallest and largest Bernstein coefficient."""
    control = coefficients @ _bernstein(coefficients.shape[-1] - 1).T
    return control.min(axis=-1), control.max(axis=-1)


def stationary_points(coefficients: Array) -> Array:
    """(…, m) points of [0, 1], every zero of the derivative there among them (others are there too: evaluate all)."""
    slope = derivative(coefficients)
    degree = slope.shape[-1] - 1
    if degree == 0:
        return np.empty((*slope.shape[:-1], 0))
    with np.errstate(all="ignore"):  # no such root: dropped below
        roots = _quadratic(slope) if degree <= 2 else _companion(slope)
    return np.clip(np.nan_to_num(roots, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def _quadratic(c: Array) -> Array:
    """Both roots of degree ≤ 2, without cancellation; complex ones give their real part."""
    constant, linear = c[..., 0], c[..., 1]
    square = c[..., 2] if c.shape[-1] == 3 else np.zeros_like(linear)
    root = np.sqrt(np.maximum(linear**2 - 4.0 * square * constant, 0.0))
    half = -0.5 * (linear + np.copysign(root, linear))
    return np.stack([half / square, constant / half], axis=-1)


@cache
def _shift(degree: int) -> Array:
    """(K, d + 1, d + 1): for each centre s, the matrix from coefficients in x to those in x − s."""
    size = range(degree + 1)
    return np.array([[[comb(k, i) * s ** max(k - i, 0) for k in size] for i in size] for s in ROOT_CENTRES])


def _companion(c: Array) -> Array:
    """Real parts of all roots, as eigenvalues for 1/(x − s), whose leading coefficient is the value at s: small at no
    more centres than the degree, so the best one keeps the matrix well scaled even where leading powers vanish."""
    degree = c.shape[-1] - 1
    shifted = np.einsum("sik,...k->...si", _shift(degree), c)  # (…, K, d + 1)
    best = np.abs(shifted[..., 0]).argmax(axis=-1)
    taylor = np.take_along_axis(shifted, best[..., None, None], axis=-2)[..., 0, :]
    matrix = np.zeros((*c.shape[:-1], degree, degree))
    matrix[..., range(1, degree), range(degree - 1)] = 1.0
    matrix[..., 0, :] = -taylor[..., 1:] / np.where(taylor[..., :1] == 0.0, 1.0, taylor[..., :1])
    return np.asarray(ROOT_CENTRES[best][..., None] + np.real(1.0 / np.linalg.eigvals(matrix)))


@dataclass(frozen=True, eq=False)
class PolynomialPiece:
    """knots (S + 1,) [s]; coefficients (n, S, d + 1): increasing powers of the time since the span's own knot."""

    knots: Array
    coefficients: Array

    def __post_init__(self) -> None:
        for name in ("knots", "coefficients"):
            array = np.array(getattr(self, name), dtype=float)
            if not np.isfinite(array).all():
                raise MotionError(f"{name} of a piecewise polynomial contain NaN or infinity; give finite numbers")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shape = self.coefficients.shape
        if len(shape) != 3 or self.knots.ndim != 1 or shape[1] != len(self.knots) - 1 or shape[1] < 1 or shape[0] < 1:
            raise MotionError(f"{self.knots.shape} knots and {shape} coefficients; expected (S + 1,) and (n, S, d + 1)")
        if not 1 <= shape[2] <= HIGHEST_POLYNOMIAL_DEGREE + 1:
            raise MotionError(f"polynomials of degree {shape[2] - 1}; allowed are 0 to {HIGHEST_POLYNOMIAL_DEGREE}")
        if not (np.diff(self.knots) > 0).all():
            raise MotionError("the knots of a piecewise polynomial must increase; remove repeated or unsorted ones")

    @classmethod
    def from_samples(cls, time: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike | None = None) -> Self:
        """Hermite interpolation of samples (N, n) at times (N,) [s], cubic of (q, q̇) or quintic of (q, q̇, q̈)."""
        time = np.asarray(time, dtype=float)
        given = [np.asarray(x, dtype=float) for x in (q, qd, qdd) if x is not None]
        if len(time) < 2 or any(x.ndim != 2 or x.shape != (len(time), given[0].shape[1]) for x in given):
            raise MotionError(
                f"samples of shape {[x.shape for x in given]} at {len(time)} times; two or more are needed, (N, n) each"
            )
        if not (np.diff(time) > 0).all():
            raise MotionError("the times of samples must increase; sort them and remove repeated ones")
        states = np.stack(given).transpose(0, 2, 1)  # (2 or 3, n, N)
        return cls(time, hermite(np.diff(time), states[..., :-1], states[..., 1:]))

    @property
    def n(self) -> int:
        return int(self.coefficients.shape[0])

    @property
    def degree(self) -> int:
        return int(self.coefficients.shape[2]) - 1

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        local, powers = time - self.knots[span], [self.coefficients[:, span]]
        for _ in range(order):
            powers.append(derivative(powers[-1]))
        return np.stack([evaluate(one, local) for one in powers])

    def extremum(self, order: int) -> Extremum:
        """At ends of spans, and at zeros of the next derivative where the Bernstein hull reaches beyond every end."""
        width = np.diff(self.knots)
        powers: Array = width[:, None] ** np.arange(self.degree + 1)
        unit = derivative(self.coefficients * powers, order) / width[:, None] ** order  # in time over the span's width
        ends = np.stack([unit[..., 0], unit.sum(axis=-1)], axis=-1).reshape(self.n, -1)
        found = Extremum.of(ends, np.stack([self.knots[:-1], self.knots[1:]], axis=-1).reshape(-1))
        low, high = hull(unit)
        rounding = 4 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))
        joint, span = np.nonzero((high > found.highest[:, None] + rounding) | (low < found.lowest[:, None] - rounding))
        if unit.shape[-1] < 3 or len(joint) == 0:  # straight lines are extreme at their ends
            return found
        x = stationary_points(unit[joint, span])
        inner = evaluate(unit[joint, span][:, None], x)
        at = self.knots[span][:, None] + x * width[span][:, None]
        own = joint == np.arange(self.n)[:, None]  # (n, R): each of the R spans counts for its own joint only
        values = np.where(own[..., None], inner, found.highest[:, None, None]).reshape(self.n, -1)
        return Extremum.among([found, Extremum.of(values, at.reshape(-1))])

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        """(4, n, M): |q^(k)| ≤ Σ_m |q^(m)(centre)| r^(m−k)/(m−k)!, the finite Taylor series, r half the width."""
        size = np.abs(self.derivatives(span, 0.5 * (start + end), max(self.degree, 4)))
        radius = 0.5 * (end - start)
        series = [[x * radius**m / factorial(m) for m, x in enumerate(size[k:])] for k in range(1, 5)]
        return np.stack([sum(terms, np.zeros(1)) for terms in series])

    def shifted(self, dt: float) -> Self:
        return replace(self, knots=self.knots + dt)


def hermite(width: Array, start: Array, end: Array) -> Array:
    """(n, S, d + 1): polynomials on [0, width (S,)] from state ``start`` to state ``end``, each (s, n, S): cubic for
    s = 2 (q, q̇), quintic for s = 3 (q, q̇, q̈): with zero accelerations Gautier & Khalil 1992, eq. (28)."""
    if len(start) == 2:
        (q, v), (q_end, v_end) = start, end
        rise, speed = q_end - q - v * width, (v_end - v) * width
        return np.stack([q, v, (3.0 * rise - speed) / width**2, (speed - 2.0 * rise) / width**3], axis=-1)
    (q, v, a), (q_end, v_end, a_end) = start, end
    rise = q_end - q - v * width - 0.5 * a * width**2
    speed = (v_end - v - a * width) * width
    force = 0.5 * (a_end - a) * width**2
    cubic = 10.0 * rise - 4.0 * speed + force
    quartic = -15.0 * rise + 7.0 * speed - 2.0 * force
    quintic = 6.0 * rise - 3.0 * speed + force
    return np.stack([q, v, 0.5 * a, cubic / width**3, quartic / width**4, quintic / width**5], axis=-1)
