"""Runs of different noise, or filtered differently, brought to equal terms: a noisy run must not spoil a quiet one."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from exciter.errors import ParameterError
from exciter.identification.compressed import Compressed
from exciter.typing import Array

ROUNDS = 10
FEWEST = 30.0  # independent rows of a run beyond what the fit took, from which its noise is known
EXACT = 1e-9  # of the torque: less is rounding, not noise


def run_scales(compressed: Compressed, runs: int) -> Array:
    """(runs, J) noise of every run over that of all of them together, from the residuals of a fit that is weighted by
    them, again and again; one where a run has too few rows, where data are exact, or where nothing can be fitted."""
    size = compressed.rows.shape[1]
    scales = np.ones((runs, size))
    member = np.arange(runs)[:, None] == compressed.run  # (R, G)
    rows, independent = member @ compressed.rows, member @ compressed.independent
    signal = np.sqrt(compressed.signal / np.maximum(rows.sum(axis=0), 1))
    together = np.maximum(signal, 1e-300)
    try:
        for _ in range(ROUNDS):
            weights = (scales * together)[compressed.run]
            information = compressed.information(weights)
            values, _ = information.solve()
            inverse = linalg.solve_triangular(information.r, np.eye(len(values)))
            rotated = (compressed.factors[..., :-1] / weights[..., None, None]) @ inverse
            took = member @ ((rotated**2).sum(axis=(2, 3)) * compressed.inflation)
            variance = (member @ compressed.squares(values)) / np.maximum(rows - took, 1.0)
            share = rows / np.maximum(rows.sum(axis=0), 1)
            together = np.maximum(np.sqrt((share * variance).sum(axis=0)), EXACT * signal)
            known = (independent - took > FEWEST) & (np.sqrt(variance) > EXACT * signal)
            before, scales = scales, np.where(known, np.sqrt(variance) / together, 1.0)
            if np.abs(scales - before).max() < 1e-4:
                break
    except ParameterError:
        return np.ones((runs, size))
    return scales
