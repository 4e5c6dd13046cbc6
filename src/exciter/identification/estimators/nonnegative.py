"""Weighted least squares with base parameters ≥ 0 where every robot that can exist has them so."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import nnls

from exciter.identification.estimate import WHITE, Estimate, assumed
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.weighted import ROUNDS, SETTLED, reweighted
from exciter.identification.information import Information
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.physics import nonnegative_base
from exciter.identification.problem import Problem
from exciter.identification.solution import enough_rows, linear_estimate, noise_of
from exciter.notes import done
from exciter.typing import Array

UNBOUNDED = assumed(
    "covariance of the estimate without bounds: true values ≥ 0 are never farther from the bounded estimate than from "
    "the unbounded one, in the measure of that covariance"
)


@dataclass(frozen=True)
class NonNegative(Estimator):
    """Friction, rotor inertia, stiffness, and combinations such as ZZR1 that no physical robot has negative."""

    word, title = "nonnegative", "least squares with friction and rotor inertia not negative"

    def estimate(self, problem: Problem) -> Estimate:
        compressed = Equations.of(problem).whole
        enough_rows(compressed)
        bound = nonnegative_base(problem)
        values, noise = reweighted(compressed, problem.names)
        for _ in range(ROUNDS):
            values = bounded(compressed.information(noise), bound)
            before, noise = noise, noise_of(compressed, values, noise)
            if (np.abs(noise - before) <= SETTLED * noise).all():
                break
        found = linear_estimate(problem, compressed, values, noise, noise, WHITE + UNBOUNDED)
        held = [name for name, value, b in zip(problem.names, values, bound, strict=True) if b and value == 0.0]
        text = f"held at zero: {', '.join(held)}" if held else "no bound was reached"
        return replace(found, notes=(done("bounds", text),))


def bounded(information: Information, bound: NDArray[np.bool_]) -> Array:
    """(p,) minimum of ‖R β − z‖² with β ≥ 0 where ``bound``, exactly (Lawson & Hanson)."""
    free, held = np.flatnonzero(~bound), np.flatnonzero(bound)
    both = np.column_stack([information.r[:, free], information.r[:, held], information.z])
    upper: Array = np.asarray(np.linalg.qr(both, mode="r"))
    f, p = len(free), len(bound)
    right = upper[f:p, f:p]
    scale = np.maximum(np.linalg.norm(right, axis=0), 1e-300)
    values = np.zeros(p)
    if held.size:  # nnls of no columns is no small thing: it ends the interpreter
        values[held] = nnls(right / scale, upper[f:p, p])[0] / scale
    values[free] = linalg.solve_triangular(upper[:f, :f], upper[:f, p] - upper[:f, f:p] @ values[held])
    return values
