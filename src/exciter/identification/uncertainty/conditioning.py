"""How well the motion tells parameters apart: singular values of W, and correlations of the estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.identification.compressed import Compressed
from exciter.identification.estimate import Estimate
from exciter.typing import Array

CORRELATED_PAIR = 0.9  #: correlation of two estimates beyond which they are listed
MOST_PAIRS = 20


@dataclass(frozen=True, eq=False)
class Conditioning:
    """singular_values (p,): of W with columns of length one, the largest first. pairs: two parameters whose errors go
    together, and their correlation, the strongest first."""

    singular_values: Array
    pairs: tuple[tuple[str, str, float], ...]

    @classmethod
    def of(cls, compressed: Compressed, estimate: Estimate) -> Conditioning:
        """compressed: the equations it was estimated with."""
        r = compressed.information().r
        scale = np.linalg.norm(r, axis=0)
        values = np.linalg.svd(r / np.where(scale > 0.0, scale, 1.0), compute_uv=False)
        upper = np.triu(estimate.correlation, 1)
        strongest = np.argsort(-np.abs(upper), axis=None)[:MOST_PAIRS]
        at = [np.unravel_index(k, upper.shape) for k in strongest]
        pairs = [(estimate.names[a], estimate.names[b], float(upper[a, b])) for a, b in at]
        return cls(np.asarray(values), tuple(pair for pair in pairs if abs(pair[2]) > CORRELATED_PAIR))
