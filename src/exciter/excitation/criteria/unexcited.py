"""Which parameters a motion says nothing about: the names behind an infinite criterion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.errors import ParameterError
from exciter.excitation.criteria.matrices import rounding
from exciter.typing import Array

ZERO_COLUMN = 1e-28  # of H's largest diagonal element: the square of what rounding leaves of a zero column
TAKES_PART = 0.3  # of the largest share in a direction that is not excited


def unexcited(h: Array, names: Sequence[str]) -> list[str]:
    """Names of the parameters without any effect and, when all have one, of those that cannot be told apart: the
    largest entries of the directions in which H (b, b) is singular. Empty when H is regular."""
    if np.shape(h) != (len(names), len(names)):
        raise ParameterError(f"H has shape {np.shape(h)} and there are {len(names)} names; give one name per row")
    diagonal = h.diagonal()
    silent = ~(diagonal > ZERO_COLUMN * diagonal.max(initial=0.0))
    if silent.any():
        return [name for name, is_silent in zip(names, silent, strict=True) if is_silent]
    scale = 1.0 / np.sqrt(diagonal)  # unit columns: entries of parameters with different units compare
    values, vectors = np.linalg.eigh(h * np.outer(scale, scale))
    lost = vectors[:, values <= values[-1] * rounding(h)]
    share = np.linalg.norm(lost, axis=1)
    limit = TAKES_PART * share.max(initial=0.0)
    return [name for name, part in zip(names, share, strict=True) if part > 0 and part >= limit]
