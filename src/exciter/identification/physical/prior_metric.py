"""Equations in terms of the whole standard set χ, distances of links from those of a prior, whatever the units and
frames, and what they say of base parameters.

β = P χ, so that ‖R β − z‖² = ‖R P χ − z‖².

Pseudo-inertias are seen from a reference body: J ↦ L⁻¹ J L⁻ᵀ with J₀ = L Lᵀ, so that the reference is the identity, and
grams and tonnes, millimetres and metres become numbers near one. The same ten numbers per link are coordinates of the
metric (their sum of squares is tr(J₀⁻¹ dJ J₀⁻¹ dJ)) and the triangle that a solver keeps positive semidefinite.

PseudoInertia: ½ Σ tr(J₀⁻¹ dJ J₀⁻¹ dJ), the affine-invariant metric at the prior, held constant (Lee, Wensing & Park
2020): a quadratic form. Entropic: Σ −log det(J₀⁻¹J) + tr(J₀⁻¹J) − 4, the log-det divergence: convex, infinite where a
body stops being physical. Both agree to second order at the prior, so a weight λ means the same for both: each number
of a link is known to 1/√λ of the body's own size.

A prior that is least squares, ‖S χ − t‖², is least squares in β = P χ, P = [1 K], too: with χ_I = β − K χ_D for the
independent parameters, its minimum over the dependent χ_D, which torques cannot show, has rows without χ_D."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.formulations.formulation import word_of
from exciter.identification.information.compressed import OF_ROWS, Compressed
from exciter.identification.information.joint_factors import JointFactors
from exciter.identification.information.problem import Problem
from exciter.independent_blocks import independent_blocks
from exciter.notes import Note, done
from exciter.parameters.base import BaseParameters
from exciter.parameters.terms import Offset
from exciter.robot.spatial import pseudo_inertia
from exciter.settings import Registry, Settings
from exciter.typing import Array, BoolArray

FLATTEST_BODY_FRACTION = 1e-12  # of the reference: beyond it rounding decides whether a body is one
LEAST_WEIGHT_FRACTION = 1e-6  #: of the torque: less noise is not believed, so that numbers are what solvers bear


def svec(matrix: ArrayLike) -> Array:
    """(…, k(k+1)/2) upper triangle of symmetric (…, k, k), off-diagonal entries times √2: keeps the inner product."""
    array = np.asarray(matrix, dtype=float)
    columns, rows = np.tril_indices(array.shape[-1])  # of the upper triangle, column by column
    return np.asarray(array[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def whitened_links(links: ArrayLike, lower: Array) -> Array:
    """(…, 4, 4) L⁻¹ J L⁻ᵀ of links (…, 10) with factors L (…, 4, 4)."""
    half: Array = np.asarray(np.linalg.solve(lower, pseudo_inertia(links)))
    return np.asarray(np.linalg.solve(lower, half.swapaxes(-1, -2)))


def whitening(lower: Array) -> Array:
    """(n, 10, 10) matrices φ ↦ svec(L⁻¹ J(φ) L⁻ᵀ) of factors (n, 4, 4)."""
    return np.asarray(svec(whitened_links(np.eye(10), lower[:, None])).swapaxes(-1, -2))


@dataclass(frozen=True, eq=False)
class StandardEquations:
    """compressed: for base parameters β; grouping (b, p): β = P χ with χ = ``model.standard``."""

    model: DynamicModel
    compressed: Compressed
    grouping: Array

    @classmethod
    def of(cls, problem: Problem) -> StandardEquations:
        base, standard = problem.base, problem.model.standard
        foreign = set(base.standard) - set(standard)
        if foreign:
            raise ParameterError(
                f"{sorted(foreign)[0]} of the formulation {word_of(problem.formulation)} is no parameter of the model, "
                "so that it has no physical bounds; use wls, or another estimator without them"
            )
        grouping = np.zeros((len(base), len(standard)))
        grouping[:, [standard.index(name) for name in base.standard]] = base.grouping
        return cls(problem.model, problem.compressed, grouping)

    @property
    def links(self) -> int:
        """How many of χ belong to links; joint terms follow."""
        return self.model.inertial_size

    def split(self, chi: Array) -> tuple[Array, Array]:
        """(n, 10) of links and (t,) of joint terms, of χ."""
        return chi[: self.links].reshape(-1, 10), chi[self.links :]

    @cached_property
    def nonnegative(self) -> BoolArray:
        """(t,) which joint-term parameters physics wants ≥ 0."""
        return np.array([flag for term in self.model.bound for flag in term.nonnegative], dtype=bool)

    def nonnegative_part(self, terms: Array) -> Array:
        """Joint terms (t,), zero where they are negative and must not be."""
        return np.where(self.nonnegative, np.maximum(terms, 0.0), terms)

    @cached_property
    def whole(self) -> Compressed:
        """The same equations, folds of a run put together: fewer and quicker."""
        old = self.compressed
        runs = np.unique(old.run)
        chosen = [old.run == run for run in runs]
        factors = JointFactors.merged([old.by_piece.where(mine).together() for mine in chosen])
        counts: dict[str, Any] = {
            name: np.array([getattr(old, name)[mine].sum(axis=0) for mine in chosen]) for name in OF_ROWS
        }
        return replace(old, by_piece=factors, run=runs, fold=np.zeros_like(runs), **counts)

    @cached_property
    def signal(self) -> Array:
        """(J,) RMS of the right sides; one of a joint that has none."""
        return np.where(self.whole.rows.any(axis=0), self.whole.rms, 1.0)

    def weights(self, noise: Array) -> Array:
        """(J,) σ to divide rows by: the noise, where it is above rounding."""
        return np.maximum(noise, LEAST_WEIGHT_FRACTION * self.signal)

    def sides(self, weights: Array) -> tuple[Array, Array]:
        """R P (b, p) and z (b,), rows divided by weights (J,)."""
        information = self.whole.information(weights)
        return information.r @ self.grouping, information.z

    @cached_property
    def term_scale(self) -> Array:
        """(t,) size of every joint-term parameter that alone would make the torque of one of its joints; else 1."""
        columns = self.grouping[:, self.links :]
        factors = self.whole.by_piece
        parts = [block[..., :-1] @ columns[own[:-1]] for own, block in zip(factors.own, factors.blocks, strict=True)]
        effect = np.sqrt([(part**2).sum(axis=(0, 1)) for part in parts])  # (J, t)
        torque = np.sqrt(self.whole.signal)[:, None]
        heard = effect > 1e-9 * effect.max(axis=0, initial=0.0)
        size = np.where(heard, torque / np.where(heard, effect, 1.0), np.inf).min(axis=0, initial=np.inf)
        return np.where(np.isfinite(size) & (size > 0.0), size, 1.0)

    def noise(self, chi: Array, factor: Array, weights: Array) -> Array:
        """σ (J,) of a row from the residuals of χ, which was found with rows over ``weights`` (J,); factor K (p, p):
        KᵀK is all that was known, prior included. The trace of a joint's part of the hat matrix: what the fit took."""
        whole = self.whole
        spread = linalg.solve_triangular(factor, self.grouping.T, trans="T").T  # P K⁻¹ (b, p)
        taken = whole.taken(spread, whole.per_group(weights)).sum(axis=0)
        return whole.residual_noise(self.grouping @ chi, taken, weights)


@dataclass(frozen=True, eq=False)
class Reference:
    """links (n, 10): φ in modified-DH frames, J ≻ 0. terms (t,): joint-term parameters. notes: where from. spread (t,):
    σ with which terms are known, infinite of those that are free; None: all are."""

    links: Array
    terms: Array
    notes: tuple[Note, ...] = ()
    spread: Array | None = None

    @property
    def chi(self) -> Array:
        return np.concatenate([self.links.ravel(), self.terms])

    @cached_property
    def lower(self) -> Array:
        """(n, 4, 4) L with J₀ = L Lᵀ."""
        return np.asarray(np.linalg.cholesky(pseudo_inertia(self.links)))

    @cached_property
    def whitening(self) -> Array:
        """(n, 10, 10) φ ↦ svec(L⁻¹ J L⁻ᵀ)."""
        return whitening(self.lower)

    def thinnest(self, links: Array) -> Array:
        """(n,) smallest eigenvalue of L⁻¹ J L⁻ᵀ of links (n, 10): negative where no body has them."""
        return np.asarray(np.linalg.eigvalsh(whitened_links(links, self.lower))[:, 0])

    def with_small_offsets(self, equations: StandardEquations, part: float) -> Reference:
        """Offsets known to be as here, zero unless described, to ``part`` of the rms torque of their joint."""
        offsets = [
            isinstance(term, Offset)
            for term, bound in zip(equations.model.terms, equations.model.bound, strict=True)
            for _ in bound.names
        ]
        if not any(offsets):
            raise ParameterError("offset is given, and the model has none: leave it out, or add offset to terms")
        text = f"offsets of torques are taken to be within about {100.0 * part:.3g} % of the torque of their joint"
        spread = np.where(offsets, part * equations.term_scale, np.inf)
        return replace(self, spread=spread, notes=(*self.notes, done("offsets", text)))


class Metric(Settings, ABC):
    """A distance of links (n, 10) from a reference."""

    quadratic: bool  #: whether its second-order model is exact

    @abstractmethod
    def value(self, links: Array, reference: Reference) -> float:
        """The distance; infinite where it does not exist."""

    @abstractmethod
    def model(self, links: Array, reference: Reference) -> tuple[Array, Array]:
        """Second-order model there as ½ Σ ‖S φ − t‖² plus a constant: S (n, 10, 10) and t (n, 10)."""


@dataclass(frozen=True)
class PseudoInertia(Metric):
    """½ Σ tr(J₀⁻¹ dJ J₀⁻¹ dJ)."""

    word, title = "pseudo-inertia", "the pseudo-inertia metric"

    quadratic = True

    def value(self, links: Array, reference: Reference) -> float:
        difference = whitened_links(links - reference.links, reference.lower)
        return float(0.5 * (difference**2).sum())

    def model(self, links: Array, reference: Reference) -> tuple[Array, Array]:
        return reference.whitening, np.tile(svec(np.eye(4)), (len(links), 1))


@dataclass(frozen=True)
class Entropic(Metric):
    """Σ −log det(J₀⁻¹J) + tr(J₀⁻¹J) − 4."""

    word, title = "entropic", "the entropic distance"

    quadratic = False

    def value(self, links: Array, reference: Reference) -> float:
        seen = whitened_links(links, reference.lower)
        values = np.linalg.eigvalsh(seen)
        if not (values > FLATTEST_BODY_FRACTION).all():
            return float("inf")
        return float((values - np.log(values) - 1.0).sum())

    def model(self, links: Array, reference: Reference) -> tuple[Array, Array]:
        """With J = K Kᵀ and y = svec(K⁻¹ dJ K⁻ᵀ): gradient svec(KᵀJ₀⁻¹K − 1), curvature 1."""
        lower: Array = np.asarray(np.linalg.cholesky(pseudo_inertia(links)))
        half = np.linalg.solve(reference.lower, lower)
        return whitening(lower), svec(2.0 * np.eye(4) - half.swapaxes(1, 2) @ half)


METRICS = Registry[Metric]("metric", PseudoInertia, Entropic)


def link_rows(blocks: Array, p: int) -> Array:
    """(10 n, p) blocks (n, 10, 10) down the diagonal, columns of joint terms zero."""
    n = len(blocks)
    rows, link = np.zeros((n, 10, p)), np.arange(n)
    rows[:, :, : 10 * n].reshape(n, 10, n, 10)[link, :, link] = blocks  # a tenth of the time of SciPy's block_diag
    return rows.reshape(10 * n, p)


def base_prior(base: BaseParameters, reference: Reference, weight: float = 1.0) -> Array:
    """(m, b + 1) rows for β, and right sides as the last column: the pseudo-inertia metric about the reference times
    ``weight``. Joint terms are free in it, but for those that the reference knows (``spread``). ``base`` is of χ with
    ten parameters per link first, as ``reference``."""
    links, p = len(reference.links), len(base.standard)
    rows = link_rows(weight**0.5 * reference.whitening, p)
    target = weight**0.5 * np.tile(svec(np.eye(4)), links)
    if reference.spread is not None:
        known = np.flatnonzero(np.isfinite(reference.spread))
        beside = np.zeros((len(known), p))
        beside[np.arange(len(known)), 10 * links + known] = 1.0 / reference.spread[known]
        rows = np.vstack([rows, beside])
        target = np.append(target, reference.terms[known] / reference.spread[known])
    dependent = np.setdiff1d(np.arange(p), base.independent)
    kept = rows[:, base.independent]
    hidden = rows[:, dependent] - kept @ base.grouping[:, dependent]
    alone = (hidden == 0.0).all(axis=1)  # rows that know nothing of dependent parameters stay as they are
    sides = np.column_stack([kept, target])
    found = list[Array]()
    for at, _ in independent_blocks(np.column_stack([hidden, kept])):
        mixed = at[~alone[at]]
        if len(mixed):
            used = hidden[mixed].any(axis=0)
            found.append(linalg.null_space(hidden[np.ix_(mixed, used)].T).T @ sides[mixed])
    return np.vstack([*found, sides[alone]])
