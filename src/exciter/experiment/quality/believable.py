"""What a believable robot explains of a log: bodies near those of the description, drives of any kind.

A log is refused where no believable robot explains it as it is, and one explains it clearly better with a column
elsewhere, counted the other way, in another unit or from another zero. So both are asked the same question. Torques are
τ_j = Y_j (φ₀ + B z) + U_j u_j + noise: φ₀ the description's inertial parameters, U_j offset, friction and rotor
inertia, which no description knows, and z ~ N(0, 1): every body as a cloud of mass about its own centre, whose mass,
centre and second moments err by ``BODY_SPREAD`` of its size (the affine-invariant metric of pseudo-inertias, with a
ball of the body's gyration radius as reference). The noise of each joint is unknown, and worth ν independent samples:

    cost = min_z Σ_j ν ln(1 + s_j²(z)/f_j²) + ‖z‖²,    s_j² the mean square that z leaves of joint j,

−2 ln of the posterior's peak, with f_j the least noise that is believed. A difference of costs is −2 ln of odds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.smoothed_log import unexplained
from exciter.independent_blocks import Block, independent_blocks
from exciter.robot.motion import Motion
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia
from exciter.typing import Array, Index

BODY_SPREAD = 0.3  #: σ of a body's mass, over it; of its centre, over its gyration radius, √½ of that
UNKNOWN_LOAD_FACTOR = 1e3  # times the robot's mass: cloud of a load that nobody knows
LEAST_NOISE_SHARE = 0.02  # of a joint's torque: no model of a real drive leaves less
NOISE_LIKE_SHARE = 0.5  # of the least noise: smaller residuals are noise
ROUNDING_SHARE = 1e-4  # of the description's torque: noise that is less is rounding
REWEIGHTED_BODIES = 6  # solutions, each with the residuals of the one before as noise


def body_spread(links: Array, loaded: Sequence[int] = ()) -> Array:
    """B (n, 10, 10): φ = φ₀ + B z of links (n, 10), about any origin. loaded: links that carry who knows what."""
    pseudo = pseudo_inertia(links)
    mass = np.maximum(pseudo[:, 3, 3], 0.0)
    centre = pseudo[:, :3, 3] / np.where(mass > 0.0, mass, 1.0)[:, None]
    second = np.trace(pseudo[:, :3, :3], axis1=1, axis2=2) - mass * (centre**2).sum(axis=1)
    radius = np.sqrt(np.maximum(second, 0.0) / np.where(mass > 0.0, mass, 1.0))
    spread = _clouds(mass, centre, radius)
    for k in loaded:
        spread[k] = _clouds(UNKNOWN_LOAD_FACTOR * mass.sum(keepdims=True), centre[[k]], radius.max(keepdims=True))[0]
    return spread


def _clouds(mass: Array, centre: Array, radius: Array) -> Array:
    """(n, 10, 10) φ per unit of z, of clouds of mass (n,), about centres (n, 3), of gyration radius (n,)."""
    columns, rows = np.tril_indices(4)
    symmetric = np.zeros((10, 4, 4))
    symmetric[np.arange(10), rows, columns] = np.where(rows == columns, 1.0, np.sqrt(0.5))
    symmetric[np.arange(10), columns, rows] = symmetric[np.arange(10), rows, columns]
    size = np.zeros((len(mass), 4, 4))
    size[:, [0, 1, 2], [0, 1, 2]], size[:, :3, 3], size[:, 3, 3] = radius[:, None], centre, 1.0
    size *= np.sqrt(BODY_SPREAD * mass)[:, None, None]
    return np.asarray(from_pseudo_inertia(size[:, None] @ symmetric @ size.mT[:, None]).mT)


@dataclass(frozen=True, eq=False)
class Believed:
    """z (10 n,) and mean squares (n,) that it leaves; least (n,): f²; weights (n,) that rows have in the end. strict:
    by which ‖z‖² counts, 1 unless bodies are to be nearer the description."""

    z: Array
    left: Array
    least: Array
    weights: Array
    worth: float
    strict: float

    @property
    def penalty(self) -> float:
        return self.strict * float(self.z @ self.z)

    @property
    def costs(self) -> Array:
        """(n,) ν ln(1 + s²/f²)."""
        return np.asarray(self.worth * np.log1p(self.left / self.least))

    @property
    def cost(self) -> float:
        return self.penalty + float(self.costs.sum())

    @property
    def share(self) -> Array:
        """(n,) what is left, over the torque, both RMS."""
        return np.asarray(LEAST_NOISE_SHARE * np.sqrt(self.left / self.least))

    @property
    def explicable(self) -> float:
        """What any change could gain at most: noise stays whatever is changed."""
        left = np.maximum(self.left / self.least - NOISE_LIKE_SHARE**2, 0.0)
        return self.penalty + float(self.worth * np.log1p(left).sum())


class Believable:
    """Of a motion (N, n) and efforts (N, n), joints in the robot's order. bases: orthonormal (N, k) per joint, of what
    the drives may do. spread: ``body_spread``. worth: ν."""

    def __init__(
        self, bodies: DynamicModel, motion: Motion, bases: Sequence[Array], effort: Array, spread: Array, worth: float
    ) -> None:
        self.bodies, self.motion, self.bases, self.effort = bodies, motion, bases, effort
        self.spread, self.worth, self.samples = spread, worth, len(motion)

    @cached_property
    def described(self) -> list[Array]:
        """(N,) per joint: the description's torque, without what drives may do."""
        return [unexplained(u, tau) for u, tau in zip(self.bases, self.bodies.torque(self.motion).T, strict=True)]

    @cached_property
    def rows(self) -> list[tuple[Index, Array]]:
        """Of every joint which of z it feels, those (k,) of bodies it moves, and Y B (N, k) of these without what
        drives may do."""
        y, found = self.bodies.dynamics.regressor(self.motion), list[tuple[Index, Array]]()
        for j, u in enumerate(self.bases):
            own = y[:, j].reshape(len(y), -1, 10)
            moved = np.flatnonzero(own.any(axis=(0, 2)))
            rows = (own[:, moved, None] @ self.spread[moved]).reshape(len(y), -1)
            found.append(((10 * moved[:, None] + np.arange(10)).ravel(), unexplained(u, rows)))
        return found

    @cached_property
    def _gram(self) -> list[Array]:
        return [rows.T @ rows / self.samples for _, rows in self.rows]

    @cached_property
    def _blocks(self) -> list[Block]:
        """Joints and the z they feel, of every limb: limbs have none in common."""
        felt = np.zeros((len(self.rows), self.bodies.inertial_size))
        for one, (columns, _) in zip(felt, self.rows, strict=True):
            one[columns] = 1.0
        return independent_blocks(felt)

    @cached_property
    def _measured(self) -> tuple[list[Array], Array, Array]:
        """Of every joint j and every effort i: efforts (N, i) beside the drives of j, their squares (j, i) and their
        products with the description's torque (j, i), both means."""
        beside = [unexplained(u, self.effort) for u in self.bases]
        squares = np.stack([np.mean(x**2, axis=0) for x in beside])
        mixed = np.stack([x.T @ tau / self.samples for x, tau in zip(beside, self.described, strict=True)])
        return beside, squares, mixed

    @cached_property
    def size(self) -> Array:
        """(n,) mean squares of the description's torques."""
        return np.array([float(np.mean(tau**2)) for tau in self.described])

    @cached_property
    def least(self) -> Array:
        """(n,) f² of every effort: its own."""
        own = LEAST_NOISE_SHARE * np.std(self.effort, axis=0)
        return np.asarray(own**2 + 1e-300)

    def scale(self) -> tuple[Array, Array]:
        """(j, i) factor, of either sign, that makes the description's torque of joint j of the effort i; and how much
        both are alike: their correlation beside what drives may do."""
        _, squares, mixed = self._measured
        like = np.sqrt(squares * self.size[:, None])
        return mixed / np.where(squares > 0.0, squares, np.inf), mixed / np.where(like > 0.0, like, np.inf)

    def alone(self, factor: Array) -> Array:
        """(j, i) ν ln(1 + s²/f²) of what the description as it is leaves of effort i times factor (j, i) at joint j."""
        _, squares, mixed = self._measured
        left = factor**2 * squares - 2.0 * factor * mixed + self.size[:, None]
        least = np.where(factor != 0.0, factor**2 * self.least, np.inf)
        return np.asarray(self.worth * np.log1p(np.maximum(left, 0.0) / least))

    def left(self, order: Index, factor: Array) -> list[Array]:
        """(N,) per joint: what the description leaves of factor_j τ_order(j)."""
        beside, _, _ = self._measured
        return [f * beside[j][:, i] - self.described[j] for j, (i, f) in enumerate(zip(order, factor, strict=True))]

    def fit(self, order: Index | None = None, factor: Array | None = None, strict: float = 1.0) -> Believed:
        """With effort factor_j τ_order(j) at joint j; as logged unless given."""
        n = self.bodies.n
        order = np.arange(n) if order is None else order
        factor = np.ones(n) if factor is None else factor
        y, least = self.left(order, factor), factor**2 * self.least[order] + ROUNDING_SHARE**2 * self.size
        product = [w.T @ one / self.samples for (_, w), one in zip(self.rows, y, strict=True)]
        power = np.array([float(one @ one) for one in y]) / self.samples
        squares, z, weights = power, np.zeros(self.bodies.inertial_size), np.ones(n)
        for _ in range(REWEIGHTED_BODIES):
            weights = self.worth / (squares + least)
            z = self.known(weights, strict)(self.summed([w * one for w, one in zip(weights, product, strict=True)]))
            own = [z[columns] for columns, _ in self.rows]
            parts = zip(power, product, self._gram, own, strict=True)
            squares = np.array([max(p - 2.0 * by @ x + x @ gram @ x, 0.0) for p, by, gram, x in parts])
        return Believed(z, squares, least, weights, self.worth, strict)

    def summed(self, parts: Sequence[Array]) -> Array:
        """Σ over joints of what each says (k,) of the z that it feels."""
        found = np.zeros(self.bodies.inertial_size)
        for (columns, _), part in zip(self.rows, parts, strict=True):
            found[columns] += part
        return found

    def known(self, weights: Array, strict: float) -> Callable[[Array], Array]:
        """x ↦ A⁻¹ x, A what is known of z, rows weighing so much (n,) and bodies near the description; limb by limb."""
        factors = []
        for joints, mine in self._blocks:
            a = strict * np.eye(len(mine))
            for j in joints:
                at = np.searchsorted(mine, self.rows[j][0])
                a[np.ix_(at, at)] += weights[j] * self._gram[j]
            factors.append((mine, cho_factor(a, check_finite=False)))

        def solved(x: Array) -> Array:
            found = x / strict  # of bodies that no joint feels
            for mine, factor in factors:
                found[mine] = cho_solve(factor, x[mine], check_finite=False)
            return found

        return solved
