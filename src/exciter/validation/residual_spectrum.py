"""Which frequencies the torque has, and which of them a model leaves in the residual."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import signal

from exciter.identification.uncertainty.linear_equations import ERROR_GAP_INTERVALS
from exciter.typing import Array
from exciter.validation.prediction import Prediction

LONGEST_SEGMENT = 1024  #: samples
FEWEST_FOR_SPECTRUM = 32  #: samples without a gap
EMPTIED_SHARE = 1e-4  #: of the largest density: frequencies beyond the last that has more were emptied by filters


@dataclass(frozen=True, eq=False)
class Density:
    """Amplitude density (F, J) [unit/√Hz] at frequencies (F,) [Hz], by the method of Welch."""

    frequency: Array
    values: Array


@dataclass(frozen=True, eq=False)
class ResidualSpectrum:
    """Of J equations, ``joints`` in ``units``: what was measured, and what the model leaves of it."""

    joints: tuple[str, ...]
    units: tuple[str, ...]
    measured: Density
    residual: Density

    @property
    def filled(self) -> int:
        """How many of the frequencies filters left something at."""
        values = self.measured.values
        some = (values > EMPTIED_SHARE * values.max(axis=0)).any(axis=1)
        return int(np.flatnonzero(some)[-1]) + 1 if some.any() else len(some)


def residual_spectrum(prediction: Prediction) -> ResidualSpectrum | None:
    """None where the run is too short."""
    found = density(prediction.time, prediction.rate, prediction.measured, prediction.residual)
    return ResidualSpectrum(prediction.joints, prediction.units, *found) if found else None


def density(time: Array, rate: float, *series: Array) -> tuple[Density, ...]:
    """Of series (N, J) at the same instants; mean over the stretches without a gap, by their length. Nothing where all
    of them are too short."""
    parts = stretches(time, rate)
    length = min(LONGEST_SEGMENT, max(part.stop - part.start for part in parts))
    parts = [part for part in parts if part.stop - part.start >= length]
    if length < FEWEST_FOR_SPECTRUM:
        return ()
    weights = [part.stop - part.start for part in parts]
    found = []
    for values in series:
        power = [signal.welch(values[part], rate, nperseg=length, axis=0) for part in parts]
        mean = np.average([p for _, p in power], axis=0, weights=weights)
        found.append(Density(power[0][0][1:], np.sqrt(mean[1:])))  # the mean is no vibration
    return tuple(found)


def stretches(time: Array, rate: float) -> list[slice]:
    """Parts of a series without a gap."""
    cuts = [
        0,
        *(np.flatnonzero(np.abs(np.diff(time) * rate - 1.0) > ERROR_GAP_INTERVALS - 1.0) + 1).tolist(),
        len(time),
    ]
    return [slice(a, b) for a, b in itertools.pairwise(cuts)]
