"""Equations in terms of the whole standard set χ: β = P χ, so that ‖R β − z‖² = ‖R P χ − z‖²."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import residual_noise
from exciter.identification.information.problem import Problem
from exciter.typing import Array

LEAST_WEIGHT_FRACTION = 1e-6  #: of the torque: less noise is not believed, so that numbers are what solvers bear


@dataclass(frozen=True, eq=False)
class StandardEquations:
    """compressed: for base parameters β; grouping (b, p): β = P χ with χ = ``model.standard``."""

    model: DynamicModel
    compressed: Compressed
    grouping: Array

    @classmethod
    def of(cls, problem: Problem) -> StandardEquations:
        base, standard = problem.base, problem.model.standard
        foreign = set(base.standard) - set(standard)
        if foreign:
            raise ParameterError(
                f"{sorted(foreign)[0]} is no parameter of the model, so that it has no physical bounds; use wls, or "
                "another estimator without them"
            )
        grouping = np.zeros((len(base), len(standard)))
        grouping[:, [standard.index(name) for name in base.standard]] = base.grouping
        return cls(problem.model, problem.compressed, grouping)

    def where(self, compressed: Compressed) -> StandardEquations:
        """Other equations of the same parameters: some folds, for example."""
        return replace(self, compressed=compressed)

    @property
    def links(self) -> int:
        """10 n: how many of χ belong to links; joint terms follow."""
        return 10 * self.model.n

    def split(self, chi: Array) -> tuple[Array, Array]:
        """(n, 10) of links and (t,) of joint terms, of χ."""
        return chi[: self.links].reshape(-1, 10), chi[self.links :]

    @cached_property
    def nonnegative(self) -> NDArray[np.bool_]:
        """(t,) which joint-term parameters physics wants ≥ 0."""
        return np.array([flag for term in self.model.bound for flag in term.nonnegative], dtype=bool)

    def nonnegative_part(self, terms: Array) -> Array:
        """Joint terms (t,), zero where they are negative and must not be."""
        return np.where(self.nonnegative, np.maximum(terms, 0.0), terms)

    @cached_property
    def whole(self) -> Compressed:
        """The same equations, folds of a run put together: fewer and quicker."""
        old = self.compressed
        runs = np.unique(old.run)
        shape = (len(runs), *old.factors.shape[1:])
        factors, rows, independent = np.zeros(shape), np.zeros(shape[:2], dtype=np.int64), np.zeros(shape[:2])
        for k, run in enumerate(runs):
            chosen = old.run == run
            stacked = old.factors[chosen].swapaxes(0, 1).reshape(shape[1], -1, shape[3])
            factors[k] = np.linalg.qr(stacked, mode="r")
            rows[k], independent[k] = old.rows[chosen].sum(axis=0), old.independent[chosen].sum(axis=0)
        return replace(old, factors=factors, rows=rows, independent=independent, run=runs, fold=np.zeros_like(runs))

    @cached_property
    def signal(self) -> Array:
        """(J,) RMS of the right sides."""
        return self.whole.rms

    def weights(self, noise: Array) -> Array:
        """(J,) σ to divide rows by: the noise, where it is above rounding."""
        return np.maximum(noise, LEAST_WEIGHT_FRACTION * self.signal)

    def sides(self, weights: Array) -> tuple[Array, Array]:
        """R P (b, p) and z (b,), rows divided by weights (J,)."""
        information = self.whole.information(weights)
        return information.r @ self.grouping, information.z

    @cached_property
    def term_scale(self) -> Array:
        """(t,) size of every joint-term parameter that alone would make the torque of one of its joints; else 1."""
        columns = self.grouping[:, self.links :]
        effect = np.sqrt(((self.whole.factors[..., :-1] @ columns) ** 2).sum(axis=(0, 2)))  # (J, t)
        torque = np.sqrt(self.whole.signal)[:, None]
        heard = effect > 1e-9 * effect.max(axis=0, initial=0.0)
        size = np.where(heard, torque / np.where(heard, effect, 1.0), np.inf).min(axis=0, initial=np.inf)
        return np.where(np.isfinite(size) & (size > 0.0), size, 1.0)

    def noise(self, chi: Array, factor: Array, weights: Array) -> Array:
        """σ (J,) of a row from the residuals of χ, which was found with rows over ``weights`` (J,); factor K (p, p):
        KᵀK is all that was known, prior included.

        As many degrees of freedom are gone as the trace of the joint's part of the hat matrix says; the prior's are
        not.
        """
        whole = self.whole
        spread = linalg.solve_triangular(factor, self.grouping.T, trans="T").T  # P K⁻¹ (b, p)
        reach = whole.factors[..., :-1] @ spread / whole.per_group(weights)[..., None, None]
        taken = ((reach**2).sum(axis=(2, 3)) * whole.inflation).sum(axis=0)
        return residual_noise(whole, self.grouping @ chi, taken)
