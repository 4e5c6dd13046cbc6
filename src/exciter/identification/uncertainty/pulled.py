"""The covariance of an estimate that is pulled to a prior, errors correlated in time and between joints.

β̂ = A⁻¹ (Wᵀ Σ⁻¹ y + Sᵀ t) with A = Wᵀ Σ⁻¹ W + Sᵀ S, the prior being ‖S β − t‖². Its covariance is A⁻¹ (B + s² Sᵀ S) A⁻¹:
B is that of correlated errors (``correlated``), and s how far off the prior is, in units of what its weight says. The
weight may have been chosen stronger than the prior is good, for the sake of prediction; how far the data pulled β̂ from
the prior tells: S β̂ − t has the covariance S A⁻¹ B A⁻¹ Sᵀ + s² (1 − H)² with H = S A⁻¹ Sᵀ.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg, optimize

from exciter.identification.information.estimate import assumed
from exciter.identification.physical.settle import PhysicalEstimate
from exciter.identification.uncertainty.correlated import CorrelatedErrors, sandwich
from exciter.identification.uncertainty.equations import Equations, LinearFit
from exciter.typing import Array

UNSEEN = 1e-6  # 1 − H: there the data say nothing


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
    free = root @ information.z  # without bounds, which would pull from the prior as well
    off = _off(prior, free, found.covariance, reach)
    share = root @ reach
    further = f"the prior is off by {off**0.5:.2g} times that: so far the data pulled the estimate from it"
    return replace(
        estimate,
        covariance=found.covariance + off * share @ share.T,
        freedom=found.freedom,
        assumptions=(*errors.assumptions, *estimate.pulled, *(assumed(further) if off != 1.0 else ())),
    )


def _off(prior: Array, values: Array, covariance: Array, reach: Array) -> float:
    """s² ≥ 1, with which what the data pulled is as large as expected in every direction of H on average (Paule &
    Mandel 1982). values (b,): β̂ without bounds; reach (b, m) with reachᵀ reach = H."""
    taken, directions = np.linalg.eigh(reach.T @ reach)
    seen, along = 1.0 - taken, directions.T @ prior
    told = seen > UNSEEN
    seen, along = seen[told], along[told]
    if not told.any():
        return 1.0
    squares = (along[:, :-1] @ values - along[:, -1]) ** 2
    noise = np.einsum("mb,bc,mc->m", along[:, :-1], covariance, along[:, :-1])
    noise = np.maximum(noise, seen * (1.0 - seen))  # errors as independent as the weights say, at least

    def too_large(s: float) -> float:
        return float((squares / (noise + s * seen**2)).sum() - len(squares))

    most = float((squares / seen**2).mean())
    return 1.0 if most <= 1.0 or too_large(1.0) <= 0.0 else float(optimize.brentq(too_large, 1.0, most, rtol=1e-6))
