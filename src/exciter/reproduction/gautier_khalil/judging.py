"""How good an optimum sequence is depends on limits that are not printed: such figures can agree only roughly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.reproduction.finding import Finding, same

FACTOR = 2.0  #: up to which a figure of an optimum sequence counts as the published one


def roughly(quantity: str, published: float, sample: NDArray[np.float64], note: str = "") -> Finding:
    """Met when the median of our sequences and draws is within a factor of two of the published figure."""
    middle = float(np.median(sample))
    low, high = np.quantile(sample, [0.01, 0.99])
    tolerance = published * (FACTOR - 1.0) if middle > published else published * (1.0 - 1.0 / FACTOR)
    words = (
        f"within a factor of {FACTOR:g}, as limits are fitted and sequences ours; 98 % of {len(sample)} draws lie "
        f"within {low:.4g} … {high:.4g}"
    )
    return same(quantity, published, middle, tolerance, f"{words}; {note}" if note else words)
