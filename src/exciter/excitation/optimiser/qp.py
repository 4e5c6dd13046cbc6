"""The quadratic subproblem, by a maintained solver: DAQP (dual active set), PIQP (interior point) where that gives up.

Measured on recorded subproblems of a 7-axis design, DAQP is the fastest by far: see docs/design.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import daqp
import numpy as np
import piqp

from exciter.excitation.deadline import OutOfTime
from exciter.typing import Array

TIME_UP = -7  # exit flag of DAQP


@dataclass(frozen=True, eq=False)
class Step:
    """Minimiser d and multipliers of the rows (M,), positive at upper bounds; None when there is no feasible step."""

    d: Array
    multipliers: Array


def solve(
    hessian: Array,
    gradient: Array,
    box: tuple[Array, Array],
    a: Array,
    low: Array,
    high: Array,
    seconds: float = math.inf,
) -> Step | None:
    """min ½ dᵀ B d + gᵀ d with box₀ ≤ d ≤ box₁ and low ≤ A d ≤ high; ``OutOfTime`` after so many seconds."""
    upper, lower = np.concatenate([box[1], high]), np.concatenate([box[0], low])
    upper, lower = np.minimum(upper, 1e30), np.maximum(lower, -1e30)
    limit = {} if math.isinf(seconds) else {"time_limit": seconds}
    d, _, flag, info = daqp.solve(hessian, gradient, a, upper, lower, primal_tol=1e-9, **limit)
    if flag == TIME_UP:
        raise OutOfTime
    if flag == 1 and np.isfinite(d).all():
        return Step(np.array(d), np.array(info["lam"])[len(d) :])
    return _interior_point(hessian, gradient, box, a, low, high)


def _interior_point(
    hessian: Array, gradient: Array, box: tuple[Array, Array], a: Array, low: Array, high: Array
) -> Step | None:
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    solver.setup(hessian, gradient, None, None, a, low, high, *box)
    if solver.solve() != piqp.PIQP_SOLVED:
        return None
    result = solver.result
    return Step(np.array(result.x), np.array(result.z_u) - np.array(result.z_l))
