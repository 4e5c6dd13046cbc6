"""Amplitude spectrum of each joint: which frequencies a motion excites."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.excitation.trajectories.trajectory import Trajectory, motion
from exciter.typing import Array

SAMPLES = 4096
SHOWN = 0.999  #: share of the acceleration's power that lies below the highest frequency shown


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Amplitudes (F, n) of q̈ [rad/s² or m/s²] at frequencies (F,) [Hz]. exact: the lines of a periodic motion,
    otherwise smeared by the window."""

    frequency: Array
    amplitude: Array
    exact: bool


def acceleration_spectrum(trajectory: Trajectory, delta: Array) -> Spectrum:
    """Of the exciting part, without ramps: the Fourier lines of one period, or windowed (Hann) when not periodic."""
    time = np.linspace(0.0, trajectory.duration, SAMPLES, endpoint=False)
    qdd = motion(trajectory, delta, time).qdd
    window = np.ones(SAMPLES) if trajectory.periodic else np.hanning(SAMPLES)
    lines = np.abs(np.fft.rfft(qdd * window[:, None], axis=0)) / window.sum()
    lines[1:] *= 2.0  # a sine has half of its amplitude at −f
    power = np.cumsum((lines**2).sum(axis=1))
    last = int(np.searchsorted(power, SHOWN * power[-1])) if power[-1] > 0 else 0
    shown = min(max(int(1.25 * last) + 2, 8), len(lines))
    frequency = np.arange(shown, dtype=np.float64) / trajectory.duration
    return Spectrum(frequency, lines[:shown], trajectory.periodic)
