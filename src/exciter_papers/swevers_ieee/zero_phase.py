"""Section V-A: the digital equivalent of the anti-aliasing filter inverted by zero-phase-error tracking, as in the
paper, beside the exact division that is used here.

The digital equivalent B(z⁻¹)/A(z⁻¹) has zeros outside the unit circle, B = B⁺ B⁻, so that its inverse is not stable.
Zero-phase-error tracking (Tomizuka) leaves B⁻ in place and undoes its phase: what comes of filter and inverse together
has the gain g = |B⁻|²/B⁻(1)² and no phase. The extended bandwidth (Torfs, De Schutter & Swevers) adds terms of the
series 1/g = Σ (1 − g)ᵏ: what is left is 1 − (1 − g)ᵏ⁺¹.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, signal

from exciter.experiment.recording import AnalogFilter
from exciter.report.plot import Line, Plot
from exciter.typing import Array, ComplexArray
from exciter_papers.paper import DataTable, Effort, Part, claim, shown
from exciter_papers.swevers_ieee.experiment import LOG_RATE, PRINTED_EXPERIMENT
from exciter_papers.swevers_ieee.preprocessing import ANALOG, COMPARED_BAND_HZ
from exciter_papers.swevers_ieee.set_up import IEEE_FAMILY

ADDED_TERMS = (0, 1, 3, 10)  # of the series that extends the bandwidth
VALIDATED_BAND_HZ = float(PRINTED_EXPERIMENT["validation"]["cutoff"])
LARGEST_ZERO = 1e6  # beyond, eigenvalues stand for zeros at infinity
PHASE_ROUNDING = 1e-6  # [rad] of polynomials of this order


@dataclass(frozen=True, eq=False)
class DigitalEquivalent:
    """gain Π(z − zeros) / Π(z − poles) at ``rate`` [Hz]: the analogue filter with its input held between samples."""

    zeros: ComplexArray
    poles: ComplexArray
    gain: float
    rate: float

    @classmethod
    def of(cls, analog: AnalogFilter, rate: float) -> DigitalEquivalent:
        continuous = signal.butter(analog.order, 1.0, analog=True, output="zpk")  # time in units of 1/(2π cut-off)
        interval = 2.0 * np.pi * analog.cutoff / rate
        a, b, c, d = signal.cont2discrete(signal.zpk2ss(*continuous), interval, method="zoh")[:4]
        none = np.zeros_like(d)
        pencil = np.block([[a, b], [c, none]]), np.block([[np.eye(len(a)), 0.0 * b], [0.0 * c, none]])
        found = linalg.eigvals(*pencil)  # zeros as where the system lets nothing pass; the others are infinite
        zeros = found[np.abs(found) < LARGEST_ZERO]
        poles = linalg.eigvals(a)
        at_rest = float((c @ np.linalg.solve(np.eye(len(a)) - a, b))[0, 0])
        gain = at_rest * np.real(np.prod(1.0 - poles) / np.prod(1.0 - zeros))
        return cls(zeros, poles, float(gain), rate)

    def response(self, frequency: Array) -> ComplexArray:
        z = np.exp(2j * np.pi * frequency / self.rate)
        return np.asarray(self.gain * _product(z, self.zeros) / _product(z, self.poles))

    @property
    def outside(self) -> ComplexArray:
        """Zeros that no stable inverse can cancel."""
        return self.zeros[np.abs(self.zeros) >= 1.0]

    def inverse(self, frequency: Array) -> ComplexArray:
        """A(z⁻¹) B⁻(z) / (B⁺(z⁻¹) B⁻(1)²): poles and stable zeros cancelled, the phase of the others turned back. Its
        stable part is causal; the rest looks ahead by a few samples."""
        z = np.exp(2j * np.pi * frequency / self.rate)
        inside = self.zeros[np.abs(self.zeros) < 1.0]
        stable = _product(z, self.poles) / (self.gain * _product(z, inside))
        at_rest = np.real(_product(np.ones(1, dtype=complex), self.outside)[0])
        return np.asarray(stable * _product(1.0 / z, self.outside) / at_rest**2)

    def tracked(self, frequency: Array, terms: int) -> ComplexArray:
        """Filter and inverse one after the other, with so many terms added."""
        g = self.response(frequency) * self.inverse(frequency)
        return np.asarray(1.0 - (1.0 - g) ** (terms + 1))


def _product(z: ComplexArray, roots: ComplexArray) -> ComplexArray:
    return np.asarray(np.prod(z[:, None] - roots, axis=1))


def run(effort: Effort) -> Part:
    del effort  # nothing is repeated
    digital = DigitalEquivalent.of(ANALOG, LOG_RATE)
    frequency = np.linspace(0.0, 0.45 * LOG_RATE, 400)
    phase = float(np.abs(np.angle(digital.tracked(frequency, 0))).max())
    bands = {"motion": len(IEEE_FAMILY.numbers) / IEEE_FAMILY.period, "validation": VALIDATED_BAND_HZ}
    bands["comparison"] = COMPARED_BAND_HZ
    error = {(terms, name): gain_error(digital, band, terms) for terms in ADDED_TERMS for name, band in bands.items()}
    return Part(
        "Section V-A, zero phase error tracking",
        "The inverse filter of the paper beside the exact one",
        f"Butterworth of order {ANALOG.order} and {ANALOG.cutoff:g} Hz, its digital equivalent at {LOG_RATE:g} Hz with "
        "the input held between samples (the paper identifies one from measured responses, which are not printed). "
        "Filter and inverse one after the other; an exact inverse leaves a gain of one. The order of the extension is "
        "not printed.",
        (
            claim(
                "the digital equivalent cannot be inverted as it is",
                len(digital.outside) > 0,
                f"{len(digital.outside)} of its {len(digital.zeros)} zeros are outside the unit circle, the farthest "
                f"at {np.abs(digital.outside).max(initial=0.0):.3g}",
            ),
            claim("filter and inverse together have no phase", phase < PHASE_ROUNDING, f"{phase:.1g} rad at most"),
            claim(
                "the extension makes the band of a right gain wider",
                error[ADDED_TERMS[-1], "comparison"] < error[0, "comparison"],
                f"largest error of the gain up to {COMPARED_BAND_HZ:g} Hz: "
                + ", ".join(f"{100 * error[k, 'comparison']:.2g} % with {k} terms" for k in ADDED_TERMS),
            ),
            shown(
                f"largest error of the gain up to {VALIDATED_BAND_HZ:g} Hz, no extension [%]",
                100.0 * error[0, "validation"],
                "no part of the product: a log is no control loop, samples from later are at hand, and the response is "
                "divided out exactly, gain and phase, up to a stated bandwidth ('prewhitening'). As a filter of the "
                "commanded motion it would need the robot's closed loop, and the certificate would no longer speak of "
                "the file that is run",
            ),
        ),
        DataTable(
            "zero-phase",
            "Largest error of the gain of filter and inverse together",
            ("terms added", *(f"up to {band:g} Hz ({name})" for name, band in bands.items())),
            [[terms, *(error[terms, name] for name in bands)] for terms in ADDED_TERMS],
        ),
        Plot(
            "Gain of filter and inverse together",
            frequency,
            "frequency [Hz]",
            "gain",
            [
                Line("exact inverse", np.ones_like(frequency)),
                *(Line(f"{terms} terms added", np.real(digital.tracked(frequency, terms))) for terms in ADDED_TERMS),
            ],
        ),
    )


def gain_error(digital: DigitalEquivalent, band: float, terms: int) -> float:
    """Largest distance of the gain from one up to a frequency [Hz]."""
    return float(np.abs(digital.tracked(np.linspace(0.0, band, 200), terms) - 1.0).max())
