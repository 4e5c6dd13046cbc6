"""Values between samples by the cubic through the four nearest ones: local, so that its effect on noise is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.typing import Array

BLOCK = 1 << 16  # instants at a time: bounds memory


def local_cubic(time: Array, values: Array, at: Array) -> tuple[Array, float]:
    """Values (M, c) at times ``at`` (M,) from samples (N ≥ 4, c) at increasing times (N,), and their noise gain.

    The gain is the mean of Σ w² over the interpolation weights w: white noise of variance σ² in the samples has
    variance gain · σ² in what is interpolated (1 where instants coincide, less between them).
    """
    result = np.empty((len(at), values.shape[1]))
    squares = 0.0
    for first in range(0, len(at), BLOCK):
        part = slice(first, first + BLOCK)
        start, weights = _weights(time, at[part])
        result[part] = sum(weights[:, i, None] * values[start + i] for i in range(4))
        squares += float((weights**2).sum())
    return result, squares / max(len(at), 1)


def _weights(time: Array, at: Array) -> tuple[NDArray[np.intp], Array]:
    """First of four samples (M,), and Lagrange's weights (M, 4)."""
    start = np.clip(np.searchsorted(time, at, "right") - 2, 0, len(time) - 4)
    nodes = time[start[:, None] + np.arange(4)]
    weights = np.ones_like(nodes)
    for i in range(4):
        for j in range(4):
            if i != j:
                weights[:, i] *= (at - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    return start, weights
