"""Section II-B: weighted least squares (7) against ordinary least squares (10) when joints differ in noise."""

from __future__ import annotations

import numpy as np

from exciter.reproduction.finding import claim, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_ieee.set_up import NOISE, model, order, sampled
from exciter.typing import Array


def part(c1: Array, c2: Array) -> Part:
    """c1, c2: coefficients (3, 11) of both motions."""
    pairs = {name: covariances(delta) for name, delta in (("c1", c1), ("c2", c2))}
    ratios = {name: np.sqrt(ols.diagonal() / wls.diagonal())[order()] for name, (ols, wls) in pairs.items()}
    least = min(least_gain(ols, wls) for ols, wls in pairs.values())
    names = [model().base.names[k] for k in order()]
    return Part(
        "Section II-B",
        "Weighted against ordinary least squares",
        "Exact covariances of both estimators along our c1 and c2 motions for the noise of section IV-A: nothing "
        "is drawn.",
        (
            claim(
                "weighting by the noise is best: no combination of parameters is known better without it",
                least > -1e-9,
                f"smallest eigenvalue of the difference of both covariances, relative to the weighted one: {least:.1e}",
            ),
            *(
                shown(
                    f"σ of ordinary over σ of weighted least squares, {name} motion: largest of the "
                    f"{len(names)} parameters",
                    float(ratio.max()),
                    f"smallest {ratio.min():.4f}; standard deviations of the noise differ by "
                    f"{NOISE.max() / NOISE.min():.2f}",
                )
                for name, ratio in ratios.items()
            ),
        ),
        (
            DataTable(
                "ordinary-weighted",
                "σ of ordinary over σ of weighted least squares",
                ("i", "parameter", *(f"{name} motion" for name in ratios)),
                [(k + 1, names[k], *(float(ratio[k]) for ratio in ratios.values())) for k in range(len(names))],
            ),
        ),
        differences=f"Variances of {', '.join(f'{x:g}' for x in NOISE**2)} (N·m)²: weighting gains "
        f"{100.0 * (max(float(ratio.max()) for ratio in ratios.values()) - 1.0):.0f} % of σ at most.",
    )


def least_gain(ordinary: Array, weighted: Array) -> float:
    """How much the ordinary covariance exceeds the weighted one, relative, in the direction where it does least."""
    return float(np.linalg.eigvalsh(_whitened(ordinary - weighted, weighted)).min())


def covariances(delta: Array) -> tuple[Array, Array]:
    """(21, 21) of the ordinary estimate, (FᵀF)⁻¹FᵀΣF(FᵀF)⁻¹, and of the weighted one, (9), in the product's order."""
    motion, layout = sampled(delta), model().layout(model().base.independent)

    def gram(weights: Array) -> Array:
        return model().rows(motion, layout, weights).gram()

    plain: Array = np.asarray(np.linalg.inv(gram(np.ones(len(NOISE)))), dtype=np.float64)
    weighted: Array = np.asarray(np.linalg.inv(gram(NOISE**-2.0)), dtype=np.float64)
    return plain @ gram(NOISE**2) @ plain, weighted


def _whitened(matrix: Array, by: Array) -> Array:
    """L⁻¹ M L⁻ᵀ with by = L Lᵀ."""
    half = np.linalg.solve(np.linalg.cholesky(by), matrix)
    return np.linalg.solve(np.linalg.cholesky(by), half.T)
