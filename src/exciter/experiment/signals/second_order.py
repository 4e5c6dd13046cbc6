"""The second-order low-pass F(s) = a²/(s + a)² of [12.29], without its phase."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

from exciter.experiment.signals.butterworth import Butterworth


@dataclass(frozen=True)
class SecondOrder(Butterworth):
    """Gain a²/(ω² + a²), a half (−6 dB) at a = 2π·cutoff: a/(s + a) forwards, then backwards.

    Gain and −12 dB per octave are those of F(s). Its phase makes no difference to equations, whose two sides share it;
    without it rows stay at their instants.
    """

    title = "second order"
    order: int = 1

    @classmethod
    def of(cls, a: float) -> SecondOrder:
        """a [rad/s]; the chapter suggests 10 … 40."""
        return cls(a / (2.0 * pi))
