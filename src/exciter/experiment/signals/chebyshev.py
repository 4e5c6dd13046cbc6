"""The Chebyshev low-pass of type I: steep, at the price of a ripple where it passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import signal

from exciter.errors import RecordingError
from exciter.experiment.signals.low_pass import STOPPED, Design, LowPass


@dataclass(frozen=True)
class Chebyshev(LowPass):
    """ripple [dB] of one pass up to the cut-off, where one pass has just that attenuation; two passes have twice it.

    Order 8 and 0.05 dB are what MATLAB's ``decimate`` uses.
    """

    title = "Chebyshev"
    order: int = 8
    ripple: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.ripple <= 3.0:
            raise RecordingError(f"{self}: the ripple must be above 0 and at most 3 dB")

    def _design(self, wn: float) -> Design:
        zeros, poles, gain = signal.cheby1(self.order, self.ripple, wn, output="zpk")
        return zeros, poles, gain

    def _stop_ratio(self) -> float:
        epsilon = np.sqrt(10.0 ** (self.ripple / 10.0) - 1.0)
        return float(np.cosh(np.arccosh(np.sqrt(1.0 / STOPPED - 1.0) / epsilon) / self.order))
