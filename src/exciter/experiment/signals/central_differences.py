"""Derivatives of uniform samples by central differences: no phase shift [12.16]."""

from __future__ import annotations

import numpy as np

from exciter.errors import RecordingError
from exciter.typing import Array


def first_difference(q: Array, rate: float) -> Array:
    """q̇(k) = (q(k+1) − q(k−1)) / (2T) [12.16], T = 1/rate [s]; q (N, …) gives (N − 2, …), the ends are cut.

    Exact for parabolas; a sine of ω comes out too small by (ωT)²/6.
    """
    _check(q)
    return np.asarray((q[2:] - q[:-2]) * (0.5 * rate))


def second_difference(q: Array, rate: float) -> Array:
    """q̈(k) = (q(k+1) − 2 q(k) + q(k−1)) / T²; (N, …) gives (N − 2, …), the ends are cut.

    Rather than [12.16] twice, which reaches over five samples: a sine comes out too small by (ωT)²/12 instead of
    (ωT)²/3. It lets more noise through near half the rate, where the filter before it has left none.
    """
    _check(q)
    return np.asarray((q[2:] - 2.0 * q[1:-1] + q[:-2]) * rate**2)


def _check(q: Array) -> None:
    if len(q) < 3:
        raise RecordingError(f"a central difference needs at least 3 samples; given {len(q)}")
