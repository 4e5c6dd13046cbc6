"""The covariance of an estimate that is pulled to a prior, errors correlated in time and between joints.

β̂ = A⁻¹ (Wᵀ Σ⁻¹ y + Sᵀ t) with A = Wᵀ Σ⁻¹ W + Sᵀ S, the prior being ‖S β − t‖². Its covariance is A⁻¹ (B + s² Sᵀ S) A⁻¹:
B is that of correlated errors (``correlated``), and s how far off the prior is, in units of what its weight says. The
weight may have been chosen stronger than the prior is good, for the sake of prediction; how far the data pulled β̂ from
the prior tells: ‖S β̂ − t‖² is tr(1 − S A⁻¹ Sᵀ) on average where the weight is right.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from exciter.identification.physical.settle import PhysicalEstimate
from exciter.identification.uncertainty.correlated import CorrelatedErrors, sandwich
from exciter.identification.uncertainty.equations import Equations
from exciter.identification.uncertainty.linear_fit import LinearFit

Array = NDArray[np.float64]


def with_correlated_errors_and_prior(
    equations: Equations, estimate: PhysicalEstimate, errors: CorrelatedErrors
) -> PhysicalEstimate:
    """For estimates that know their weights and their prior; bounds do not count, which is on the safe side."""
    assert estimate.weights is not None
    assert estimate.prior is not None
    compressed, prior = equations.compressed, estimate.prior
    information = compressed.information(estimate.weights).add(prior[:, :-1], prior[:, -1])
    root = np.asarray(linalg.solve_triangular(information.r, np.eye(len(estimate.values))))
    every = np.arange(len(estimate.values))
    found = sandwich(equations, LinearFit(compressed, estimate.values, estimate.weights, every, root), errors)
    reach = root.T @ prior[:, :-1].T  # (b, m)
    left = prior[:, :-1] @ estimate.values - prior[:, -1]
    off = max(1.0, float((left @ left) / max(len(prior) - (reach**2).sum(), 1.0)))
    share = root @ reach
    more = "" if off == 1.0 else f", times {off**0.5:.2g}: so far the data pulled the estimate from it"
    return replace(
        estimate,
        covariance=found.covariance + off * share @ share.T,
        freedom=found.freedom,
        assumption=f"{errors.assumption}; {estimate.pulled}{more}",
    )
