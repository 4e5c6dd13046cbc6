"""Drives that the description makes alike are one population: each differs from their mean by a spread that the logs
tell.

Of a population's members x_i with x̂ ~ N(x, C) from the fit and x_i ~ N(μ, s²), the spread s is where the restricted
likelihood of x̂ ~ N(μ 1, C + s² 1) is greatest (μ is free). It becomes a prior, so that a drive whose log says little
of a number has it from the others, and one whose log says much keeps its own. Nothing is assumed of the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from exciter.identification.actuators.actuator_settings import DRIVE_KINDS
from exciter.identification.actuators.drive_numbers import DriveNumbers
from exciter.typing import Array

LEAST_SPREAD, MOST_SPREAD = (
    0.05,
    3.0,
)  #: of logarithms: no two drives are the same, and beyond a factor of 20 none are alike


@dataclass(frozen=True)
class Population:
    """Unknowns of one kind, and by how much they differ (σ of the logarithm)."""

    kind: str
    members: tuple[int, ...]
    spread: float


def populations(numbers: DriveNumbers, x: Array, covariance: Array) -> tuple[Population, ...]:
    """Of drives that are alike, their spreads as coordinates x (p,) with their covariance (p, p) tell them."""
    found = list[Population]()
    for kind in DRIVE_KINDS:
        for joints in numbers.populations:
            members = tuple(
                k
                for k, u in enumerate(numbers.unknowns)
                if u.kind.word == kind and set(u.joints) <= set(joints.tolist())
            )
            if len(members) > 1:
                own = np.ix_(members, members)
                found.append(Population(kind, members, likeliest_spread(x[list(members)], covariance[own])))
    return tuple(found)


def likeliest_spread(x: Array, covariance: Array) -> float:
    """s of the greatest restricted likelihood of x (k,) ~ N(μ 1, covariance + s² 1)."""

    def cost(logarithm: float) -> float:
        whole = covariance + np.exp(2.0 * logarithm) * np.eye(len(x))
        factor = np.linalg.cholesky(whole)
        white = np.linalg.solve(factor, np.column_stack([np.ones(len(x)), x]))
        weight = float(white[:, 0] @ white[:, 0])
        mean = float(white[:, 0] @ white[:, 1]) / weight
        off = white[:, 1] - mean * white[:, 0]
        return float(2.0 * np.log(np.diag(factor)).sum() + np.log(weight) + off @ off)

    ends = (np.log(LEAST_SPREAD), np.log(MOST_SPREAD))
    grid = np.linspace(*ends, 25)
    at = int(np.argmin([cost(g) for g in grid]))
    near = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    return float(np.exp(scipy.optimize.minimize_scalar(cost, bounds=near, method="bounded").x))


def pull_together(size: int, found: tuple[Population, ...]) -> Array:
    """(p, p): what a quadratic form of the coordinates adds, which the mean of a population does not feel."""
    weight = np.zeros((size, size))
    for one in found:
        k = len(one.members)
        weight[np.ix_(one.members, one.members)] += (np.eye(k) - 1.0 / k) / one.spread**2
    return weight
