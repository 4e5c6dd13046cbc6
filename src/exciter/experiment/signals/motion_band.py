"""Up to which frequency a motion goes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exciter.experiment.signals.processed import Processed
from exciter.typing import Array

BAND = 0.999  #: of the power of velocities


def velocity_band(qd: Array, rate: float) -> float:
    """[Hz] below which ``BAND`` of the power of velocities (N, n) lies, joints counted together."""
    return _band([(qd, rate)])


def motion_band(pieces: Iterable[Processed]) -> float:
    """[Hz] the same of all pieces together: what is short, or rests, counts little, and does not tell a band."""
    return _band([(piece.motion.qd, piece.rate) for piece in pieces])


def _band(pieces: Iterable[tuple[Array, float]]) -> float:
    frequencies, powers = [], []
    for velocity, rate in pieces:
        qd = velocity - velocity.mean(axis=0)
        power = (np.abs(np.fft.rfft(qd * np.hanning(len(qd))[:, None], axis=0)) ** 2).sum(axis=1)
        frequencies.append(np.maximum(np.arange(len(power)), 1) * rate / len(qd))
        powers.append(power / rate / len(qd))  # so that pieces count by their energy
    frequency, power = np.concatenate(frequencies), np.concatenate(powers)
    order = np.argsort(frequency, kind="stable")
    share = np.cumsum(power[order]) / max(power.sum(), 1e-300)
    return float(frequency[order[min(int(np.searchsorted(share, BAND)), len(order) - 1)]])
