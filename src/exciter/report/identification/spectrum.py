"""Which frequencies the torque has, and which of them the model leaves in the residual."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from exciter.report.identification.drawn import Drawn, per_joint
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import number
from exciter.report.plot import Line, Plot
from exciter.report.section import Section

Array = NDArray[np.float64]
SEGMENT = 1024  #: samples of a segment, at most
FEWEST = 32  #: samples without a gap that a spectrum needs
EMPTY = 1e-4  #: of the largest density: frequencies beyond the last that has more are not drawn, filters emptied them
GAP = 1.5  #: sampling intervals: a longer step is a gap


@dataclass(frozen=True, eq=False)
class Density:
    """Amplitude density (F, J) [unit/√Hz] at frequencies (F,) [Hz], by the method of Welch."""

    frequency: Array
    values: Array


def stretches(time: Array, rate: float) -> list[slice]:
    """Parts of a series without a gap."""
    cuts = [0, *(np.flatnonzero(np.abs(np.diff(time) * rate - 1.0) > GAP - 1.0) + 1).tolist(), len(time)]
    return [slice(a, b) for a, b in itertools.pairwise(cuts)]


def density(time: Array, rate: float, *series: Array) -> tuple[Density, ...]:
    """Of series (N, J) at the same instants; mean over the stretches without a gap, by their length. Nothing where all
    of them are too short."""
    parts = stretches(time, rate)
    length = min(SEGMENT, max(part.stop - part.start for part in parts))
    parts = [part for part in parts if part.stop - part.start >= length]
    if length < FEWEST:
        return ()
    weights = [part.stop - part.start for part in parts]
    found = []
    for values in series:
        power = [signal.welch(values[part], rate, nperseg=length, axis=0) for part in parts]
        mean = np.average([p for _, p in power], axis=0, weights=weights)
        found.append(Density(power[0][0][1:], np.sqrt(mean[1:])))  # the mean is no vibration
    return tuple(found)


def drawn_up_to(measured: Density) -> int:
    """How many of the frequencies are worth drawing."""
    some = (measured.values > EMPTY * measured.values.max(axis=0)).any(axis=1)
    return int(np.flatnonzero(some)[-1]) + 1 if some.any() else len(some)


def spectrum_section(drawn: Drawn) -> Section | None:
    """None where the run is too short."""
    prediction = drawn.prediction
    found = density(prediction.time, prediction.rate, prediction.measured, prediction.residual)
    if not found:
        return None
    measured, residual = found
    last = drawn_up_to(measured)
    text = (
        f"Amplitude density of {drawn.name} ({drawn.kind}), measured and residual, as they enter the equations. A flat "
        "residual is noise; a peak in it is something that the model misses, such as an elastic joint or a ripple of "
        "the drive."
    )
    if last < len(measured.frequency):
        text += f" Above {number(float(measured.frequency[last - 1]), 3)} Hz filters left nothing to draw."
    plots = {
        j: Plot(
            name,
            measured.frequency[:last],
            "frequency [Hz]",
            f"density [{unit or 'unit'}/√Hz]",
            [Line("measured", measured.values[:last, j], unit), Line("residual", residual.values[:last, j], unit)],
            group=f"spectrum-{drawn.group}",
            log=True,
        ).html()
        for j, (name, unit) in enumerate(zip(prediction.joints, prediction.units, strict=True))
    }
    contents = (joint_choice(prediction.joints), per_joint(plots))
    return Section("spectrum", "Spectrum of torque and residual", text, contents)
