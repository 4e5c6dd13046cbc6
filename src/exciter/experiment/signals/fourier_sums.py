"""Sums over samples at any instants that a Fourier series needs, without a matrix of its basis.

z = e^(iωt); products of sines and cosines of harmonics l and m are those of l − m and l + m, so that B₀ᵀB₀ needs only
Σ z^k for k = 0 … 2 l_max: time grows with samples times harmonics, not with their square.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.trajectories.fourier import Fourier
from exciter.typing import Array

BLOCK = 1 << 12  # samples at a time: they stay in the cache


def _powers(family: Fourier, time: Array) -> tuple[NDArray[np.complex128], Array, NDArray[np.int64]]:
    """z (N,), ω l and l of the harmonics."""
    omega = 2.0 * np.pi / family.period
    numbers = np.array(family.numbers)
    return np.exp(1j * omega * time), omega * numbers, numbers


def normal_equations(family: Fourier, time: Array, q: Array) -> tuple[Array, Array]:
    """B₀ᵀB₀ (c, c) and B₀ᵀq (c, n) for positions (N, n) at times (N,) [s] from the start of the series."""
    _, omega, numbers = _powers(family, time[:0])
    top, n = int(numbers[-1]), q.shape[1]
    sums, products = np.zeros(2 * top + 1, dtype=complex), np.zeros((top + 1, n), dtype=complex)
    for first in range(0, len(time), BLOCK):
        part = slice(first, first + BLOCK)
        z = _powers(family, time[part])[0]
        power = np.ones_like(z)
        for k in range(2 * top + 1):
            sums[k] += power.sum()
            if k <= top:
                products[k] += power @ q[part]
            power = power * z
    return _gram(sums, numbers, omega), np.vstack(
        [products[numbers].imag / omega[:, None], -products[numbers].real / omega[:, None], products[:1].real]
    )


def _gram(sums: NDArray[np.complex128], numbers: NDArray[np.int64], omega: Array) -> Array:
    """Columns sin(ω l t)/(ω l), −cos(ω l t)/(ω l), 1."""
    minus, plus = numbers[:, None] - numbers, numbers[:, None] + numbers
    both = np.outer(omega, omega)
    cos_minus, cos_plus = sums.real[np.abs(minus)], sums.real[plus]
    sin_minus, sin_plus = np.sign(minus) * sums.imag[np.abs(minus)], sums.imag[plus]
    a_a, b_b = 0.5 * (cos_minus - cos_plus) / both, 0.5 * (cos_minus + cos_plus) / both
    a_b = -0.5 * (sin_plus + sin_minus) / both  # sin(l) cos(m), l down, m across
    a_1, b_1 = sums.imag[numbers, None] / omega[:, None], -sums.real[numbers, None] / omega[:, None]
    return np.block([[a_a, a_b, a_1], [a_b.T, b_b, b_1], [a_1.T, b_1.T, sums.real[:1, None]]])


def values(family: Fourier, time: Array, delta: Array) -> Iterator[tuple[slice, Array]]:
    """q (B, n) of coefficients (n, c), block by block."""
    _, omega, numbers = _powers(family, time[:0])
    a, b = (part / omega for part in np.split(delta[:, :-1], 2, axis=1))
    weights = np.zeros((int(numbers[-1]) + 1, len(delta)), dtype=complex)  # Re Σ w z^k
    weights[numbers], weights[0] = (-b - 1j * a).T, delta[:, -1]
    for first in range(0, len(time), BLOCK):
        part = slice(first, first + BLOCK)
        z = _powers(family, time[part])[0]
        value = np.zeros((len(z), len(delta)), dtype=complex)
        for weight in weights[::-1]:  # Horner
            value = value * z[:, None] + weight
        yield part, value.real
