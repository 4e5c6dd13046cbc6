"""Friction over time: the slope of every parameter of a joint's friction over the logs of one robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from exciter.typing import Array

DAYS, LOGS = "days", "logs"  #: what ``when`` counts


@dataclass(frozen=True, eq=False)
class Trend:
    """Of one robot and joint: slope (d,) per unit of time and its covariance (d, d); freedom: of the scatter of the
    logs about the line, infinite where two logs leave none, so that σ alone counts."""

    slope: Array
    covariance: Array
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends (d,) of the slope."""
        std = np.sqrt(np.diag(self.covariance))
        reach = std * float(stats.t.ppf(0.5 + 0.5 * level, self.freedom))
        return self.slope - reach, self.slope + reach


def trend(when: Array, values: Array, covariances: Array) -> Trend | None:
    """A line through values (K, d), with covariances (K, d, d), at times (K,); None where all are of one time. Logs
    that scatter about the line by more than their σ widen the covariance as much (Birge)."""
    count, d = values.shape
    time = when - when.mean()
    if count < 2 or not np.ptp(time):
        return None
    weights = np.linalg.inv(covariances)
    lines = np.stack([np.ones(count), time], axis=1)
    information = np.einsum("ka,kb,kij->aibj", lines, lines, weights).reshape(2 * d, 2 * d)
    side = np.einsum("ka,kij,kj->ai", lines, weights, values).reshape(2 * d)
    covariance = np.linalg.inv(information)
    found = (covariance @ side).reshape(2, d)
    left = values - lines @ found
    freedom = (count - 2) * d
    square = float(np.einsum("ki,kij,kj->", left, weights, left))
    wider = max(1.0, square / freedom) if freedom else 1.0
    return Trend(
        slope=found[1], covariance=wider * covariance[d:, d:], freedom=float(freedom) if freedom else float("inf")
    )
