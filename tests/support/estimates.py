"""Estimates for exports, and the whiteness of an estimate's residuals."""

import numpy as np

from exciter.errors import ParameterError
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.uncertainty.residual_autocorrelation import (
    LinearEquations,
    LinearFit,
    Whiteness,
    correlations,
    whiteness_of,
)


def estimate_of(model, chi, *, standard=True):
    """An estimate with a covariance that is anything but diagonal, and a σ that is not known."""
    base = model.base
    rng = np.random.default_rng(2)
    root = rng.standard_normal((len(base), len(base))) * 10.0 ** rng.uniform(-8, 0, len(base))[:, None]
    covariance = root @ root.T
    units = tuple(model.units[k] for k in base.independent)
    n = model.robot.joint_names
    return Estimate(
        base.names,
        units,
        base.base_values(chi),
        covariance,
        n,
        rng.uniform(0.1, 1.0, len(n)),
        1234.0,
        assumptions=assumed("errors that are correlated"),
        standard=np.array(chi) if standard else None,
    )


def whiteness(equations: LinearEquations, estimate: Estimate) -> tuple[Whiteness, ...]:
    """Of the residuals of every joint, in one pass over the rows; all parameters were estimated."""
    if estimate.names != equations.names:
        raise ParameterError("the estimate is of other parameters than the equations")
    everything = np.arange(len(estimate.values))
    fit = LinearFit.of(equations.compressed, estimate.values, np.asarray(estimate.noise, dtype=float), everything)
    return whiteness_of(correlations(equations, fit), equations.joints)
