"""Which base parameters no physical robot has negative.

A base parameter is Σ over links of ⟨C, J⟩ plus joint terms. ⟨C, J⟩ ≥ 0 for every body, J ⪰ 0, exactly when C ⪰ 0: the
integral of a polynomial that is nowhere negative. So is ZZR1 = ZZ1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3, though MZ3 alone
has any sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.identification.physical.equations import Equations
from exciter.identification.physical.reference import nonnegative_terms
from exciter.identification.problem import Problem
from exciter.robot.spatial import from_pseudo_inertia
from exciter.typing import Array

ROUNDING = 1e-9


def nonnegative_base(problem: Problem) -> NDArray[np.bool_]:
    """(b,)"""
    equations = Equations.of(problem)
    links, terms = np.split(equations.grouping, [equations.links], axis=1)
    negligible = ROUNDING * np.abs(equations.grouping).max(axis=1)
    smallest = np.linalg.eigvalsh(coefficient_matrix(links.reshape(len(links), -1, 10)))[..., 0]
    bodies = (smallest >= -negligible[:, None]).all(axis=1)
    wanted = nonnegative_terms(equations)
    signs = np.where(wanted, terms >= -negligible[:, None], np.abs(terms) <= negligible[:, None]).all(axis=1)
    return np.asarray(bodies & signs)


def coefficient_matrix(c: Array) -> Array:
    """(…, 4, 4) C with ⟨C, J(φ)⟩ = c·φ for coefficients c (…, 10)."""
    basis = np.zeros((4, 4, 4, 4))
    for i in range(4):
        for j in range(4):
            basis[i, j, i, j] += 0.5
            basis[i, j, j, i] += 0.5
    return np.asarray(np.einsum("ijk,...k->...ij", from_pseudo_inertia(basis), c))
