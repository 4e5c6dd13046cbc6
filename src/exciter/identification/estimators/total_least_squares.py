"""Total least squares: errors in the columns of W as well as in y.

The rows (w, y) of joint j have errors of covariance σ_j² C_j, C_j = diag(c²) known, σ_j not. The answer depends on
C_j: total least squares without saying how the columns' errors compare is arbitrary. With x̃ = (x, −1) and the
compressed factors F_j of [W y],

    Σ_j ‖F_j x̃‖² / (σ_j² x̃ᵀ C_j x̃)   is minimal,

the likelihood of Gaussian errors. One group of rows has a closed form, by QR for columns without errors and the last
right singular vector of the rest (mixed total least squares, Van Huffel & Vandewalle); groups with errors of their own
(a robot's rows have structural zeros [12.22], which carry none) are solved from there by Gauss–Newton on the factors.

It helps where errors of W are independent from row to row and of the assumed relative size (positions, velocities and
accelerations measured separately), not where they come from differentiating one noisy position, correlated between
columns and rows: use maximum likelihood or instrumental variables then, or filter. Where W is exact, it is biased."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy
from scipy import linalg

from exciter.errors import ParameterError, unknown_name
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.information.compressed import Compressed, until_noise_settles
from exciter.identification.information.estimate import Estimate, assumed, filtered
from exciter.identification.information.problem import Problem
from exciter.notes import done
from exciter.parameters.parameter_names import split_name
from exciter.settings import ByName, Names, Number
from exciter.typing import Array

SETTLED_TOTAL_NOISE_CHANGE = 1e-9  # relative change of σ, below which weights and residuals agree
TOTAL_ASSUMPTIONS = assumed(
    "the errors of every row of [W y], W included, are independent and Gaussian, and compare with each other as stated",
    "asymptotic covariance",
)


@dataclass(frozen=True)
class TotalLeastSquares(Estimator):
    """errors: σ of a column's errors, over σ of the errors of y in the same row, by name of the parameter; columns not
    named are exact. None: every column, and y, has errors of the same relative size (their share of its root mean
    square, joint by joint); structural zeros have none.

    exact: parameters, or symbols of them, whose columns have no errors: by default sign of velocity and constants."""

    word, title = "tls", "total least squares"
    errors: Annotated[Mapping[str, float] | None, ByName(Number(least=0.0), what="parameter")] = None
    exact: Names = ("Fs", "off")

    def estimate(self, problem: Problem) -> Estimate:
        compressed = problem.compressed.enough()
        sizes = self.sizes(compressed)
        _, sigma = compressed.reweighted()
        rows, relative = np.maximum(compressed.rows.sum(axis=0), 1).astype(float), sizes / sizes[:, -1:]
        pooled = np.sqrt((rows[:, None] * relative**2).sum(axis=0) / rows.sum())  # one size per column, to start from
        stacked = (compressed.factors / sigma[:, None, None]).reshape(-1, len(pooled))
        values = total_least_squares(np.asarray(np.linalg.qr(stacked, mode="r")), pooled)

        def fit(sigma: Array) -> tuple[Array, Array]:
            nonlocal values
            values = _minimised(compressed, sizes, sigma, values)
            growth = np.sqrt(_amplified(sizes, values))
            return values, compressed.noise_of(values, sigma * growth) / growth

        values, sigma, _ = until_noise_settles(fit, sigma, SETTLED_TOTAL_NOISE_CHANGE)
        noisy = int((sizes[:, :-1] > 0.0).any(axis=0).sum())
        how = "as stated" if self.errors is not None else "of the same share of every column's root mean square"
        heard = zip(compressed.joints, sigma * sizes[:, -1], compressed.rms, strict=True)
        found = ", ".join(f"{j} {100 * share / size:.2g} %" for j, share, size in heard if size)
        text = f"total least squares: errors in {noisy} of {len(values)} columns, {how}; found in y: {found}"
        return Estimate.of(
            problem,
            compressed.information(),
            values=values,
            covariance=total_covariance(compressed, sizes, sigma, values),
            noise=sigma * np.sqrt(_amplified(sizes, values)),
            freedom=float(compressed.independent.sum() - len(values)),
            assumptions=TOTAL_ASSUMPTIONS + filtered(compressed.inflation),
            notes=(done("errors in W", text),),
        )

    def sizes(self, compressed: Compressed) -> Array:
        """c (J, p + 1): of the errors in every column of [W y] of each joint, up to a factor per joint; zero: exact."""
        rows = np.maximum(compressed.rows.sum(axis=0), 1)
        root_mean_square = np.sqrt((compressed.factors**2).sum(axis=(0, 2)) / rows[:, None])
        names = compressed.parameters
        if self.errors is None:
            sizes = root_mean_square
        else:
            if unknown := [name for name in self.errors if name not in names]:
                raise ParameterError(unknown_name("parameter", unknown[0], names))
            given = np.array([*(self.errors.get(name, 0.0) for name in names), 1.0])
            sizes = np.where(root_mean_square > 0.0, given, 0.0)
        sizes[~compressed.rows.any(axis=0), -1] = 1.0  # of a joint without equations: any
        exact = [name in self.exact or split_name(name)[0] in self.exact for name in names]
        return np.where([*exact, False], 0.0, sizes)


def total_least_squares(sides: Array, sizes: Array) -> Array:
    """x (p,) of [W y] = ``sides`` (m, p + 1), or of its triangular factor, whose columns have errors of ``sizes``
    (p + 1,) up to a factor, zero for exact columns: one group of rows, in closed form."""
    p = sides.shape[1] - 1
    exact = np.flatnonzero(sizes[:p] == 0.0)
    noisy = np.flatnonzero(sizes[:p] > 0.0)
    k = len(exact)
    factor: Array = np.asarray(np.linalg.qr(sides[:, [*exact, *noisy, p]], mode="r"))
    direction = np.linalg.svd(factor[k:, k:] / sizes[[*noisy, p]])[2][-1] / sizes[[*noisy, p]]
    if abs(direction[-1]) <= 1e-12 * np.abs(direction).max():
        raise ParameterError(
            "total least squares has no answer: the columns of W depend on each other within their errors; use "
            "weighted least squares, or a motion that excites more"
        )
    values = np.zeros(p)
    values[noisy] = -direction[:-1] / direction[-1]
    values[exact] = linalg.solve_triangular(factor[:k, :k], factor[:k, -1] - factor[:k, k:-1] @ values[noisy])
    return values


def _minimised(compressed: Compressed, sizes: Array, sigma: Array, start: Array) -> Array:
    """x (p,) that minimises the sum over joints, with their σ (J,) known."""
    p = len(start)
    merged = np.linalg.qr(compressed.factors.swapaxes(0, 1).reshape(len(sigma), -1, p + 1), mode="r")
    merged = merged / sigma[:, None, None]
    upper: Array = np.asarray(np.linalg.qr(merged.reshape(-1, p + 1), mode="r"))
    scale = np.linalg.inv(upper[:p, :p])  # steps in the metric of least squares

    def residuals(step: Array) -> Array:
        x = start + scale @ step
        return np.asarray((merged @ np.append(x, -1.0) / np.sqrt(_amplified(sizes, x))[:, None]).ravel())

    def jacobian(step: Array) -> Array:
        x = start + scale @ step
        total = _amplified(sizes, x)[:, None, None]
        error = (merged @ np.append(x, -1.0))[:, :, None]
        slope = merged[..., :-1] - error * (sizes[:, None, :-1] ** 2 * x) / total
        return np.asarray((slope / np.sqrt(total)).reshape(-1, p) @ scale)

    found = scipy.optimize.least_squares(
        residuals, np.zeros(p), jacobian, method="lm", xtol=1e-13, ftol=1e-15, gtol=1e-14
    )
    return np.asarray(start + scale @ found.x)


def total_covariance(compressed: Compressed, sizes: Array, sigma: Array, values: Array) -> Array:
    """A⁻¹ B A⁻¹ (p, p), from errors that are Gaussian: the part of w that does not follow from its row's residual e,
    ŵ = w − e Cx̃/(x̃ᵀCx̃), is independent of it, so that B = Σ ŵᵀŵ/(σ²x̃ᵀCx̃), while A = Σ (WᵀW − Nσ²C)/(σ²x̃ᵀCx̃)
    is what W says without its errors (Gleser; Fuller)."""
    p = len(values)
    x = np.append(values, -1.0)
    bread, meat = np.zeros((2, p, p))
    for j, (size, growth) in enumerate(zip(sizes, _amplified(sizes, values), strict=True)):
        variance, cross = sigma[j] ** 2 * growth, size[:-1] ** 2 * values / growth
        groups = (compressed.factors[:, j], compressed.rows[:, j], compressed.inflation[:, j])
        for factor, rows, inflation in zip(*groups, strict=True):
            without = factor[:, :-1] - np.outer(factor @ x, cross)
            meat += inflation * without.T @ without / variance
            bread += (factor[:, :-1].T @ factor[:, :-1] - rows * sigma[j] ** 2 * np.diag(size[:-1] ** 2)) / variance
    spread = 1.0 / np.sqrt(np.maximum(bread.diagonal(), 1e-300))
    smallest, directions = np.linalg.eigh(bread * np.outer(spread, spread))
    if smallest[0] <= 0.0:
        lost = compressed.parameters[int(np.abs(directions[:, 0]).argmax())]
        raise ParameterError(
            f"errors of the assumed size explain all that W says of {lost}; state smaller errors, or move more"
        )
    inverse = np.linalg.inv(bread)
    return np.asarray(inverse @ meat @ inverse)


def _amplified(sizes: Array, values: Array) -> Array:
    """x̃ᵀ C x̃ (J,): variance of a row's residual over σ²."""
    return np.asarray((sizes**2) @ np.append(values**2, 1.0))
