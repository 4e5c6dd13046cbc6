"""Distances between robots: how far a full set of inertias is from what is known, whatever the units and frames.

PseudoInertia: ½ Σ tr(J₀⁻¹ dJ J₀⁻¹ dJ), the affine-invariant metric at the prior, held constant (Lee, Wensing & Park
2020): a quadratic form. Entropic: Σ −log det(J₀⁻¹J) + tr(J₀⁻¹J) − 4, the log-det divergence: convex, infinite where a
body stops being physical. Both agree to second order at the prior, so a weight λ means the same for both: each number
of a link is known to 1/√λ of the body's own size.

What a prior on the links says of the base parameters: everything that torques cannot show taken out of it.

The prior is least squares, ‖S χ − t‖². With χ_I = β − K χ_D for the independent ones (β = P χ, P = [1 K]), its minimum
over the dependent χ_D is least squares in β again: rows in which χ_D does not appear.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from exciter.identification.physical.reference import Reference
from exciter.identification.physical.whitening import svec, whitened_links, whitening
from exciter.parameters.base import BaseParameters
from exciter.robot.spatial import pseudo_inertia
from exciter.settings import Registry, Settings
from exciter.typing import Array

FLAT = 1e-12  # of the reference: beyond it rounding decides whether a body is one


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
        if not (values > FLAT).all():
            return float("inf")
        return float((values - np.log(values) - 1.0).sum())

    def model(self, links: Array, reference: Reference) -> tuple[Array, Array]:
        """With J = K Kᵀ and y = svec(K⁻¹ dJ K⁻ᵀ): gradient svec(KᵀJ₀⁻¹K − 1), curvature 1."""
        lower: Array = np.asarray(np.linalg.cholesky(pseudo_inertia(links)))
        half = np.linalg.solve(reference.lower, lower)
        return whitening(lower), svec(2.0 * np.eye(4) - half.swapaxes(1, 2) @ half)


METRICS = Registry[Metric]("metric", PseudoInertia, Entropic)


def base_prior(base: BaseParameters, reference: Reference, weight: float = 1.0) -> Array:
    """(m, b + 1) rows for β, and right sides as the last column: the pseudo-inertia metric about the reference times
    ``weight``. Joint terms are free in it, but for those that the reference knows (``spread``). ``base`` is of χ with
    ten parameters per link first, as ``reference``."""
    links, p = len(reference.links), len(base.standard)
    rows = np.zeros((10 * links, p))
    for k, block in enumerate(reference.whitening):
        rows[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = weight**0.5 * block
    target = weight**0.5 * np.tile(svec(np.eye(4)), links)
    if reference.spread is not None:
        known = np.flatnonzero(np.isfinite(reference.spread))
        beside = np.zeros((len(known), p))
        beside[np.arange(len(known)), 10 * links + known] = 1.0 / reference.spread[known]
        rows = np.vstack([rows, beside])
        target = np.append(target, reference.terms[known] / reference.spread[known])
    dependent = np.setdiff1d(np.arange(p), base.independent)
    kept = rows[:, base.independent]
    free = linalg.null_space((rows[:, dependent] - kept @ base.grouping[:, dependent]).T)
    return np.asarray(free.T @ np.column_stack([kept, target]))
