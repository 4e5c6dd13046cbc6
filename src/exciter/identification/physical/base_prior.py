"""What a prior on the links says of the base parameters: everything that torques cannot show taken out of it.

The prior is least squares, ‖S χ − t‖². With χ_I = β − K χ_D for the independent ones (β = P χ, P = [1 K]), its minimum
over the dependent χ_D is least squares in β again: rows in which χ_D does not appear.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from exciter.identification.physical.reference import Reference
from exciter.identification.physical.whitening import svec
from exciter.parameters.base import BaseParameters
from exciter.typing import Array


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
