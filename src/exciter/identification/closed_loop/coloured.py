"""Covariance of Zᵀe for errors of any colour: Σ z_tᵀ R(t − s) z_s, with R(k) the autocovariance of the residuals.

Filtered rows whose noise comes from differentiated positions have errors far from white: most of their variance is
where the motion has nothing. What counts is their spectrum at the frequencies of Z; so R is taken from the residuals,
joints together, with a Parzen window, and summed over frequencies, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import fft
from scipy.signal.windows import hann, parzen

from exciter.typing import Array

BLOCK = 4096  # instants that are looked at together; what is farther apart counts as independent
SHARE = 4  # lags of the autocovariance are at most so small a part of the instants
MOST_LAGS = 256


@dataclass(frozen=True, eq=False)
class Series:
    """Instruments z (N, n, p) and residuals (N, n) at times (N,) [s], rate [Hz]."""

    time: Array
    rate: float
    z: Array
    residual: Array


def coloured_covariance(series: Callable[[], Iterable[Series]], noise: Array) -> Array:
    """(p, p) of Σ zᵀ e / noise²; series: gone through twice, pieces in order of time; noise (n,): the weights."""
    longest, count, lagged = 1, 0, np.zeros((MOST_LAGS + 1, len(noise), len(noise)))
    for block in _blocks(series()):
        longest, count = max(longest, len(block.time)), count + len(block.time)
        lagged += _lagged(block.residual / noise)
    lags = min(max(longest // SHARE, 1), MOST_LAGS)
    covariance = lagged[: lags + 1] / count * parzen(2 * lags + 1)[lags:, None, None]
    total: Array = sum((_seen(block.z / noise[:, None], covariance) for block in _blocks(series())), np.zeros(()))
    return 0.5 * (total + total.T)


def _lagged(errors: Array) -> Array:
    """(MOST_LAGS + 1, n, n): Σ_t e_{t+k} e_tᵀ of errors (T, n), tapered so that what is strong where the motion has
    nothing does not leak to where it is."""
    taper = hann(len(errors) + 2)[1:-1, None]
    length = _length(len(errors))
    wave = fft.rfft(errors * taper / np.sqrt((taper**2).mean()), length, axis=0)
    found = fft.irfft(wave[:, :, None] * wave[:, None, :].conj(), length, axis=0)
    return np.asarray(found[: MOST_LAGS + 1])


def _seen(z: Array, covariance: Array) -> Array:
    """(p, p) Σ_ts z_tᵀ R(t − s) z_s of instruments z (T, n, p), R(k) = covariance[k], R(−k) = R(k)ᵀ."""
    length, p = _length(len(z)), z.shape[2]
    circular = np.zeros((length, *covariance.shape[1:]))
    circular[: len(covariance)] = covariance
    circular[-len(covariance) + 1 :] = covariance[:0:-1].swapaxes(1, 2)
    wave, spectrum = fft.rfft(z, length, axis=0), fft.rfft(circular, axis=0)
    seen = spectrum @ wave * (2.0 / length)
    seen[[0] if length % 2 else [0, -1]] *= 0.5  # every other frequency stands for two
    return np.asarray((wave.reshape(-1, p).conj().T @ seen.reshape(-1, p)).real)


def _length(samples: int) -> int:
    """Of transforms that do not fold lags onto each other."""
    return int(fft.next_fast_len(samples + MOST_LAGS + 1, real=True))


def _blocks(series: Iterable[Series]) -> Iterator[Series]:
    """Pieces that follow each other without a gap put together, at most BLOCK instants long."""
    held: list[Series] = []
    for piece in series:
        while len(piece.time):
            gap = bool(held) and not 0.0 < piece.time[0] - held[-1].time[-1] < 1.5 / piece.rate
            room = BLOCK - sum(len(part.time) for part in held)
            if gap or not room:
                yield _joined(held)
                held, room = [], BLOCK
            held.append(Series(piece.time[:room], piece.rate, piece.z[:room], piece.residual[:room]))
            piece = Series(piece.time[room:], piece.rate, piece.z[room:], piece.residual[room:])
    if held:
        yield _joined(held)


def _joined(parts: list[Series]) -> Series:
    names = ("time", "z", "residual")
    time, z, residual = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Series(time, parts[0].rate, z, residual)
