"""Robots of one type, as numbers alone: links that differ together by some per cent, friction by 10 %."""

from __future__ import annotations

import numpy as np

from exciter.validation.fleet.groups import ParameterGroups
from exciter.validation.fleet.type_comparison import LogNumbers, RobotNumbers


def fleet_of(
    groups: ParameterGroups,
    count: int,
    rng: np.random.Generator,
    *,
    logs: int = 0,
    unequal: float = 0.0,
    spread: float = 0.1,
) -> list[RobotNumbers]:
    """σ are of a few per cent; unequal: standard deviation of their logarithm between robots."""
    size, inertial = len(groups.names), groups.inertial
    mixed = np.random.default_rng(3).standard_normal((len(inertial), len(inertial))) / np.sqrt(len(inertial))
    half = np.random.default_rng(4).standard_normal((size, size)) * 0.02 / np.sqrt(size)
    covariance = half @ half.T + 1e-6 * np.eye(size)
    root = np.linalg.cholesky(covariance)
    found = []
    for k in range(count):
        true = np.ones(size)
        true[inertial] += 0.05 * mixed @ rng.standard_normal(len(inertial))
        for which in groups.friction:
            noise = rng.standard_normal(len(which))
            true[which] = np.where(groups.positive[which], np.exp(spread * noise), spread * noise)
        factor = np.exp(unequal * rng.standard_normal())
        own = factor**2 * covariance
        each = [
            LogNumbers(f"{n}", float(n), true + factor * np.sqrt(logs) * root @ rng.standard_normal(size), logs * own)
            for n in range(logs)
        ]
        values = (
            np.mean([one.values for one in each], axis=0) if logs else true + factor * root @ rng.standard_normal(size)
        )
        residual = np.exp(0.05 * rng.standard_normal(len(groups.joints)))
        found.append(RobotNumbers(f"R{k}", values, own, residual, tuple(each)))
    return found
