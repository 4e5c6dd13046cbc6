"""Levenberg–Marquardt on criterion (4), with its structure: every period has δ of its own, β is common to all.

J = [root 0; ∂τ/∂δ/σ Φ/σ] per period. Its normal equations are summed up joint by joint; Cholesky takes each period's δ
out, the remainder adds up to square-root information on β alone, and steps of δ follow by substitution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from exciter.errors import ParameterError
from exciter.identification.information.information import Information
from exciter.identification.maximum_likelihood.measured_period import Measured
from exciter.typing import Array

MOST_LIKELIHOOD_ITERATIONS = 60
SETTLED_STEP_LENGTH, ACCEPTED_STEP_LENGTH = 1e-10, 1e-3  # squared length of a Gauss–Newton step, in σ of the estimate
FIRST_DAMPING, DAMPING_FACTOR, LARGEST_DAMPING = 1e-4, 10.0, 1e10  # damping
COST_ROUNDING_FRACTION = 1e-12  # of the cost


def with_noise(measured: Sequence[Measured], noise: Sequence[Array]) -> tuple[Measured, ...]:
    """Every period with another σ (n,) of its torques."""
    return tuple(replace(one, noise=sigma) for one, sigma in zip(measured, noise, strict=True))


@dataclass(frozen=True, eq=False)
class Point:
    """δ of every period, and β."""

    deltas: tuple[Array, ...]
    beta: Array

    def moved(self, steps: Sequence[Array], step: Array) -> Point:
        return Point(tuple(d + s for d, s in zip(self.deltas, steps, strict=True)), self.beta + step)


@dataclass(frozen=True, eq=False)
class LinearisedLikelihood:
    """Criterion (4) around a point: Gram matrices of every period (see ``Measured.gram``)."""

    point: Point
    measured: tuple[Measured, ...]
    grams: tuple[Array, ...]

    @classmethod
    def at(cls, point: Point, measured: tuple[Measured, ...]) -> LinearisedLikelihood:
        both = zip(measured, point.deltas, strict=True)
        grams = tuple(one.gram(delta, point.beta) for one, delta in both)
        return cls(point=point, measured=measured, grams=grams)

    def with_noise(self, noise: Sequence[Array]) -> LinearisedLikelihood:
        """Around the same point, torques of every period with another σ (n,)."""
        return replace(self, measured=with_noise(self.measured, noise))

    def eliminated(self, damping: float = 0.0) -> Eliminated:
        p = len(self.point.beta)
        tops, beta = [], Information.empty(p)
        for one, delta, gram in zip(self.measured, self.point.deltas, self.grams, strict=True):
            c = len(delta)
            angles = np.zeros((c, c + p + 1))
            angles[:, :c], angles[:, -1] = one.root, one.root @ (one.delta - delta)
            normal = (gram / one.noise[:, None, None] ** 2).sum(axis=0) + angles.T @ angles
            normal.flat[: c * (c + p + 2) : c + p + 2] *= 1.0 + damping
            upper = _cholesky(normal)
            tops.append(upper[:c])
            beta = beta.merge(Information.of_factor(upper[c:, c:], int(one.rows.sum())))
        if damping:
            beta = beta.add(np.diag(np.sqrt(damping) * np.linalg.norm(beta.r, axis=0)), np.zeros(p))
        return Eliminated(tuple(tops), beta)


@dataclass(frozen=True, eq=False)
class Eliminated:
    """tops: of every period (c, c + p + 1), R and z of its δ given β; beta: information on β with every δ unknown."""

    tops: tuple[Array, ...]
    beta: Information

    @property
    def length(self) -> float:
        """Squared length of the step in σ: by so much it lowers the cost, were the criterion quadratic."""
        return float((self.beta.z**2).sum() + sum((top[:, -1] ** 2).sum() for top in self.tops))

    def step(self) -> tuple[list[Array], Array]:
        """Of every δ, and of β."""
        beta = linalg.solve_triangular(self.beta.r, self.beta.z)
        steps = []
        for top in self.tops:
            c = len(top)
            steps.append(linalg.solve_triangular(top[:, :c], top[:, -1] - top[:, c:-1] @ beta))
        return steps, beta

    def taken(self, index: int, gram: Array, noise: Array) -> Array:
        """(n,) degrees of freedom that the torques of a period gave to the fit: traces of the hat matrix."""
        top = self.tops[index]
        c, p = len(top), len(self.beta.z)
        r = np.zeros((c + p, c + p))
        r[:c], r[c:, c:] = top[:, :-1], self.beta.r
        inverse = linalg.solve_triangular(r, np.eye(c + p))
        return np.asarray(np.einsum("jab,ba->j", gram[:, :-1, :-1], inverse @ inverse.T) / noise**2)


@dataclass(frozen=True, eq=False)
class Solved:
    """at: criterion at the solution; cost: twice (4), without what no δ explains; settled: whether it is a minimum."""

    at: LinearisedLikelihood
    newton: Eliminated
    cost: float
    iterations: int
    settled: bool


def cost(point: Point, measured: tuple[Measured, ...]) -> float:
    """Σ ((q − q(δ))/σ_q)² + Σ ((τ − τ(δ, β))/σ_τ)²: twice (4), less what no δ explains of the angles."""
    total = 0.0
    for one, delta in zip(measured, point.deltas, strict=True):
        total += float((one.squares(delta, point.beta) / one.noise**2).sum())
        total += float(((one.root @ (delta - one.delta)) ** 2).sum())
    return total


def minimise(at: LinearisedLikelihood, rounds: int = MOST_LIKELIHOOD_ITERATIONS) -> Solved:
    """From a point to a minimum, in so many iterations at most; Gauss–Newton where its steps lower the cost, damped
    where they do not."""
    now, damping = cost(at.point, at.measured), 0.0
    newton = at.eliminated()
    for iteration in range(rounds):
        if newton.length <= SETTLED_STEP_LENGTH:
            return Solved(at=at, newton=newton, cost=now, iterations=iteration, settled=True)
        while True:
            trial = at.point.moved(*(at.eliminated(damping) if damping else newton).step())
            then = cost(trial, at.measured)
            if then <= now * (1.0 + COST_ROUNDING_FRACTION):
                break
            damping = max(DAMPING_FACTOR * damping, FIRST_DAMPING)
            accepted = newton.length <= ACCEPTED_STEP_LENGTH
            if accepted or damping > LARGEST_DAMPING:  # a jump of the model (sign of q̇) is in the way
                return Solved(at=at, newton=newton, cost=now, iterations=iteration, settled=accepted)
        at, now = LinearisedLikelihood.at(trial, at.measured), then
        newton = at.eliminated()
        damping = 0.0 if damping <= FIRST_DAMPING else damping / DAMPING_FACTOR
    accepted = newton.length <= ACCEPTED_STEP_LENGTH
    return Solved(at=at, newton=newton, cost=now, iterations=rounds, settled=accepted)


def _cholesky(normal: Array) -> Array:
    """Upper triangular, of a Gram matrix whose last column is a right side, which exact data may make zero."""
    scale = np.sqrt(np.diag(normal))
    scale[scale == 0.0] = 1.0
    scaled = normal / np.outer(scale, scale)
    scaled[-1, -1] += 1.0  # keeps it definite; the corner says nothing of R and z
    try:
        upper = np.linalg.cholesky(scaled).T * scale
    except np.linalg.LinAlgError:
        raise ParameterError(
            "torques hardly tell parameters and trajectory apart; move more, or give fewer harmonics"
        ) from None
    return np.asarray(upper)
