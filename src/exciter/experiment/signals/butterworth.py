"""The Butterworth low-pass: as flat as can be where it passes."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import signal

from exciter.experiment.signals.low_pass import STOPPED, Design, LowPass


@dataclass(frozen=True)
class Butterworth(LowPass):
    """Gain of both passes 1 / (1 + (f/cutoff)^(2·order)): a half (−6 dB) at the cut-off, 1 % of error at
    0.56 · cutoff for order 4. ``order`` is that of one pass, as in ``filtfilt`` of the papers.

    At the digital end frequencies are bent a little (bilinear transformation); the cut-off stays exactly where it is.
    """

    title = "Butterworth"
    order: int = 4

    def _design(self, wn: float) -> Design:
        zeros, poles, gain = signal.butter(self.order, wn, output="zpk")
        return zeros, poles, gain

    def _stop_ratio(self) -> float:
        return float((1.0 / STOPPED - 1.0) ** (0.5 / self.order))
