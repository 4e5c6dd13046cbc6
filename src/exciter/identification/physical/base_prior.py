"""What a prior on the links says of the base parameters: everything that torques cannot show taken out of it.

The prior is least squares, ‖S χ − t‖². With χ_I = β − K χ_D for the independent ones (β = P χ, P = [1 K]), its minimum
over the dependent χ_D is least squares in β again: rows in which χ_D does not appear.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from exciter.identification.physical.reference import Reference
from exciter.identification.physical.whitening import svec
from exciter.parameters.base import BaseParameters

Array = NDArray[np.float64]


def base_prior(base: BaseParameters, reference: Reference) -> Array:
    """(m, b + 1) rows for β, and right sides as the last column: the pseudo-inertia metric about the reference with
    weight one. Joint terms are free in it. ``base`` is of χ with ten parameters per link first, as ``reference``."""
    links, p = len(reference.links), len(base.standard)
    rows = np.zeros((10 * links, p))
    for k, block in enumerate(reference.whitening):
        rows[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block
    target = np.tile(svec(np.eye(4)), links)
    dependent = np.setdiff1d(np.arange(p), base.independent)
    kept = rows[:, base.independent]
    free = linalg.null_space((rows[:, dependent] - kept @ base.grouping[:, dependent]).T)
    return np.asarray(free.T @ np.column_stack([kept, target]))
