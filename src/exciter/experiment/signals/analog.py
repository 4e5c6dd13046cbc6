"""The analogue filter before the sampling of torque or current: its response, and how much of the torque is whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.about import About, AnalogFilter
from exciter.notes import Note, warning
from exciter.typing import Array

UNTOUCHED = 0.99  # gain up to which a filter is said to pass
NOTE = "torque bandwidth [Hz]"  # in About.notes, so that it is written and read with the recording


def response(analog: AnalogFilter, frequency: Array) -> NDArray[np.complex128]:
    """H(j2πf) of the analogue Butterworth filter at frequencies [Hz]."""
    zeros, poles, gain = signal.butter(analog.order, 2.0 * np.pi * analog.cutoff, analog=True, output="zpk")
    return np.asarray(signal.freqs_zpk(zeros, poles, gain, 2.0 * np.pi * frequency)[1])


def passes(analog: AnalogFilter) -> float:
    """[Hz] up to which the filter hardly attenuates."""
    return float(analog.cutoff * (UNTOUCHED**-2 - 1.0) ** (0.5 / analog.order))


def named(analog: AnalogFilter) -> str:
    return f"the analogue Butterworth filter of order {analog.order} and {analog.cutoff:g} Hz"


def left_in(analog: AnalogFilter) -> Note:
    text = f"{named(analog)} was left in: the torque is late and attenuated; Prewhitening undoes it"
    return warning("analogue filter", text)


def noted_bandwidth(about: About) -> float:
    """[Hz] above which the torque was cut when a filter was undone; infinite where none was."""
    try:
        return float(about.notes.get(NOTE, "inf"))
    except ValueError:
        raise RecordingError(f"notes: '{NOTE}' is {shown(about.notes[NOTE])}; it must be a frequency") from None


def torque_bandwidth(about: About) -> tuple[float, tuple[Note, ...]]:
    """[Hz] up to which the recorded torque is whole, and a warning where a filter was left as it is."""
    if about.filter is None:
        return noted_bandwidth(about), ()
    return min(noted_bandwidth(about), passes(about.filter)), (left_in(about.filter),)
