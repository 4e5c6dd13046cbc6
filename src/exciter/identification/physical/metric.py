"""Distances between robots: how far a full set of inertias is from what is known, whatever the units and frames.

PseudoInertia: ½ Σ tr(J₀⁻¹ dJ J₀⁻¹ dJ), the affine-invariant metric at the prior, held constant (Lee, Wensing & Park
2020): a quadratic form. Entropic: Σ −log det(J₀⁻¹J) + tr(J₀⁻¹J) − 4, the log-det divergence: convex, infinite where a
body stops being physical. Both agree to second order at the prior, so a weight λ means the same for both: each number
of a link is known to 1/√λ of the body's own size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from exciter.identification.physical.reference import Reference
from exciter.identification.physical.whitening import svec, whitened_links, whitening
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
