"""The analogue low-pass filter before the sampling of torque or current, as the continuous system it is.

A Butterworth filter is a sum of first-order systems with complex poles, H(s) = Σ r_i / (s − p_i). Each is solved
exactly between the steps of the simulation: for an input that is held (the torque of a drive between two commands) and
one that is straight (ripple, sensors); so the filter may be asked at any instant, on a step or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from exciter.experiment.recording.about import AnalogFilter
from exciter.typing import Array

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Poles:
    """p_i and r_i of one of each conjugate pair (the sum is twice the real part) and of a real pole."""

    poles: Complex
    residues: Complex

    @classmethod
    def of(cls, settings: AnalogFilter) -> Poles:
        _, poles, gain = signal.butter(settings.order, 2.0 * np.pi * settings.cutoff, analog=True, output="zpk")
        residues = np.array([gain / np.prod(p - np.delete(poles, i)) for i, p in enumerate(poles)])
        upper = poles.imag > 1e-9 * np.abs(poles)
        real = np.abs(poles.imag) <= 1e-9 * np.abs(poles)
        return cls(
            np.concatenate([poles[upper], poles[real].real]), np.concatenate([2.0 * residues[upper], residues[real]])
        )

    @property
    def slowest(self) -> float:
        """[s] time constant in which the filter forgets."""
        return float(1.0 / np.abs(self.poles.real).min())


def filtered(
    settings: AnalogFilter, held: Array, straight: Array, step: float, at: Array, before: Array | None = None
) -> Array:
    """(N, n) output at instants ``at`` (N,) [s] for inputs (K, n) at 0, step, 2 step, …; before: (n,) what the input
    was until then, its first value unless given."""
    bank = Poles.of(settings)
    before = held[0] + straight[0] if before is None else before
    index = np.clip((at / step + 1e-9).astype(np.int64), 0, len(held) - 1)
    after = np.minimum(index + 1, len(held) - 1)
    late = np.maximum(at - index * step, 0.0)[:, None]
    slope = (straight[after] - straight[index]) / step
    output = np.zeros((len(at), held.shape[1]))
    for pole, residue in zip(bank.poles, bank.residues, strict=True):
        state = _states(pole, held, straight, step, before)[index]
        decay, constant, ramp = _response(pole, late)
        value = decay * state + constant * (held[index] + straight[index]) + ramp * slope
        output += (residue * value).real
    return output


def _response(pole: complex, time: Array | float) -> tuple[Complex, Complex, Complex]:
    """Of x' = p x + u after a time: to its state, to a constant input, to one that grows by 1 per second."""
    decay = np.exp(pole * time)
    constant = np.expm1(pole * time) / pole
    return decay, constant, (constant - time) / pole


def _states(pole: complex, held: Array, straight: Array, step: float, before: Array) -> Complex:
    """(K, n) state at every step."""
    decay, constant, ramp = _response(pole, step)
    start = -before / pole
    drive = constant * (held + straight)[:-1] + ramp / step * np.diff(straight, axis=0)
    states = np.empty(held.shape, dtype=np.complex128)
    states[0] = start
    states[1:], _ = signal.lfilter([1.0], [1.0, -decay], drive, axis=0, zi=(decay * start)[None])
    return states
