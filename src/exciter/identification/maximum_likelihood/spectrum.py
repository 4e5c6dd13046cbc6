"""Torque errors line by line, where an analogue filter cut the torque: only lines it has, each over its own noise.

Undoing a filter H multiplies white noise of the samples by 1/|H| at every line, and leaves nothing above a bandwidth.
The model's torque goes on above it. Over one period both are sums of lines, so that the comparison is exact when lines
above are left out on both sides and the others are divided by 1/|H|: errors of the rows are white again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.recording.about import AnalogFilter
from exciter.experiment.signals.low_pass import response
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Spectrum:
    """weights (L,): what lines 0 … L − 1 of a period of ``samples`` are multiplied by. gain: σ of the torque as it is,
    freed of the filter, over that of a recorded sample."""

    samples: int
    weights: Array
    gain: float

    @classmethod
    def below(cls, bandwidth: float, period: float, samples: int, analog: AnalogFilter | None) -> Spectrum:
        """Lines up to ``bandwidth`` [Hz]; white noise of σ per sample of the torque as it is becomes σ per row.

        analog: the filter that was undone; None: unknown, noise within the band is taken as even.
        """
        top = int(min(bandwidth * period, (samples - 1) // 2))
        if top < 1:
            raise RecordingError(
                f"the torque is whole up to {bandwidth:.4g} Hz, less than one line of a period of {period:.6g} s; "
                "another estimator would not do better: give the right filter and period"
            )
        frequency = np.arange(top + 1) / period
        growth = np.ones(top + 1) if analog is None else 1.0 / np.abs(response(analog, frequency))
        gain = float(np.sqrt((growth[0] ** 2 + 2.0 * (growth[1:] ** 2).sum()) / samples))
        return cls(samples, gain / growth, gain)

    @property
    def rows(self) -> int:
        return 2 * len(self.weights) - 1

    def of(self, x: Array) -> Array:
        """(k, rows) of samples x (k, N): mean, cosines, sines, by an orthonormal transformation."""
        lines = np.fft.rfft(x)[:, : len(self.weights)] * (self.weights / np.sqrt(self.samples))
        pairs = np.sqrt(2.0) * lines[:, 1:]
        return np.concatenate([lines[:, :1].real, pairs.real, pairs.imag], axis=1)
