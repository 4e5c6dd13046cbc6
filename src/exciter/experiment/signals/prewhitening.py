"""Undoing the analogue filter before the sampling of torque or current (seed 002, V-A).

An 8th-order Butterworth filter of 40 Hz delays the torque by some 20 ms and colours its noise. The paper inverts an
identified digital equivalent by extended-bandwidth zero-phase-error tracking: a causal recursive inverse made stable
by leaving unstable zeros alone, with the phase corrected over a band. A recording is no control loop: samples from
later are at hand, so the analogue response H(j2πf) itself can be divided out, gain and phase, with no digital
equivalent between:

* periodic data: exactly, harmonic by harmonic, on the averaged period;
* other data: by convolution with the finite kernel of 1/H, faded out above a bandwidth limit.

1/H grows without bound, and white noise of the samples with it; hence the limit, where signal no longer exceeds noise.
Or both sides are delayed alike: ``filtered_alike`` passes the positions through H, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, signal

from exciter.errors import RecordingError
from exciter.experiment.recording.about import About, AnalogFilter
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.cutoff import spectrum
from exciter.experiment.signals.periods import PeriodAverage
from exciter.experiment.signals.resample import resample

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
LARGEST = 30.0  # times: no noise is amplified more than this at any frequency
PENALTY = 4.6  # times its noise: what a harmonic must exceed to be taken for signal
FADE = 1.5  # the kernel of other data fades out from the limit to this times it
REST = 1e-7  # of a kernel's energy may lie outside its ends


def response(analog: AnalogFilter, frequency: Array) -> Complex:
    """H(j2πf) of the analogue Butterworth filter at frequencies [Hz]."""
    zeros, poles, gain = signal.butter(analog.order, 2.0 * np.pi * analog.cutoff, analog=True, output="zpk")
    return np.asarray(signal.freqs_zpk(zeros, poles, gain, 2.0 * np.pi * frequency)[1])


@dataclass(frozen=True)
class Prewhitening:
    """bandwidth [Hz] up to which the filter is undone, None: chosen from signal and noise, and told."""

    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not 0.0 < self.bandwidth < float("inf"):
            raise RecordingError(f"bandwidth is {self.bandwidth!r}; give a positive frequency [Hz]")

    # -- periodic data ---------------------------------------------------------------------------------------------

    def of_average(self, average: PeriodAverage, analog: AnalogFilter) -> PeriodAverage:
        """The averaged torque before the filter, harmonic by harmonic; what lies above the bandwidth is dropped."""
        count = len(average.time)
        lines = np.fft.rfft(average.torque, axis=0)
        frequency = np.arange(len(lines)) / average.period
        inverse = 1.0 / response(analog, frequency)
        limit, why = self._of_lines(average, analog, lines, frequency)
        inverse[(frequency > limit) | (frequency >= 0.5 * average.rate)] = 0.0
        torque = np.fft.irfft(lines * inverse[:, None], count, axis=0)
        gain = float(np.sqrt((2.0 * (np.abs(inverse[1:]) ** 2).sum() + 1.0) / count))
        return replace(
            average,
            torque=torque,
            torque_noise=None if average.torque_noise is None else gain * average.torque_noise,
            torque_noise_of_mean=None if average.torque_noise_of_mean is None else gain * average.torque_noise_of_mean,
            words=(*average.words, _words(analog, limit, gain, why)),
        )

    def _of_lines(
        self, average: PeriodAverage, analog: AnalogFilter, lines: Complex, frequency: Array
    ) -> tuple[float, str]:
        top = _highest(analog, average.rate)
        if self.bandwidth is not None:
            return _allowed(self.bandwidth, top), "as given"
        if average.torque_noise_of_mean is None:
            return top, "noise is not known from one period"
        inside = (frequency > 0.0) & (frequency <= top)
        noise = average.torque_noise_of_mean**2 * len(average.time)
        weight = 1.0 / np.abs(response(analog, frequency[inside])) ** 2
        excess = np.abs(lines[inside]) ** 2 - PENALTY * noise
        won = np.cumsum(excess * weight[:, None] / np.maximum(noise, 1e-300), axis=0).sum(axis=1)
        if not len(won) or won.max() <= 0.0:
            return top, "no harmonic of the torque shows above noise"
        return float(frequency[inside][int(np.argmax(won))]), "the highest harmonics that show above noise"

    # -- other data ------------------------------------------------------------------------------------------------

    def apply(self, recording: Recording) -> Recording:
        """Torque and current before the filter, at uniform instants; the ends are cut by half the kernel's length.

        What was done, bandwidth and noise amplification are in ``about.notes['prewhitening']``.
        """
        analog = _named(recording)
        uniform = resample(recording)
        rate = 1.0 / uniform.interval
        limit, why = self._of_spectrum(uniform, analog, rate)
        kernel = _kernel(lambda f: _fade(f, limit, rate) / response(analog, f), analog, rate)
        gain = float(np.sqrt((kernel**2).sum()))
        half = len(kernel) // 2
        inner = _inner(uniform, half)
        changed: dict[str, Any] = {
            name: _convolved(getattr(uniform, name), kernel)
            for name in ("torque", "current")
            if name in uniform.signals
        }
        words = f"{_words(analog, limit, gain, why)}; {half / rate:.3g} s cut at each end"
        return replace(inner, **changed, about=_noted(recording, words))

    def _of_spectrum(self, uniform: Recording, analog: AnalogFilter, rate: float) -> tuple[float, str]:
        top = _highest(analog, rate)
        if self.bandwidth is not None:
            return _allowed(self.bandwidth, top), "as given"
        seen = spectrum(uniform.needed_torque(), rate)
        inside = seen.frequency <= top
        weight = seen.width[inside] / np.abs(response(analog, seen.frequency[inside])) ** 2
        worth = (seen.signal[inside] - seen.noise[inside]) / np.maximum(seen.noise[0], 1e-300)
        won = np.cumsum(weight[:, None] * worth, axis=0).sum(axis=1)
        if not len(won) or won.max() <= 0.0:
            return top, "no signal shows above noise"
        return float(min(seen.frequency[int(np.argmax(won))] * 2 ** (1 / 12), top)), "signal exceeds noise up to there"


def filtered_alike(recording: Recording) -> Recording:
    """Positions and velocities through the filter the torque went through: both sides late by the same.

    Exact for what the filter only delays (frequencies well below its cut-off); the model is not linear in q, so that
    closer to the cut-off undoing the filter is better. Noise is not amplified.
    """
    analog = _named(recording)
    uniform = resample(recording)
    rate = 1.0 / uniform.interval
    kernel = _kernel(lambda f: response(analog, f), analog, rate)
    inner = _inner(uniform, len(kernel) // 2)
    changed: dict[str, Any] = {
        name: _convolved(getattr(uniform, name), kernel) for name in ("q", "qd") if name in uniform.signals
    }
    return replace(inner, **changed, about=_noted(recording, f"positions went through {_name(analog)}, too"))


# -- kernels ----------------------------------------------------------------------------------------------------------


def _kernel(wanted: Callable[[Array], Complex], analog: AnalogFilter, rate: float) -> Array:
    """(2 L + 1,) samples of the impulse response, its middle at time zero, sum 1; as long as its energy asks."""
    size = fft.next_fast_len(int(400.0 * rate / analog.cutoff) + 512, real=True)
    frequency = np.asarray(np.fft.rfftfreq(size, 1.0 / rate), dtype=np.float64)
    whole = np.fft.fftshift(np.fft.irfft(wanted(frequency), size))
    middle = size // 2
    reach = min(middle, size - 1 - middle)
    centred = whole[middle - reach : middle + reach + 1]
    energy = centred[reach:] ** 2
    energy[1:] += centred[:reach][::-1] ** 2
    outside = energy.sum() - np.cumsum(energy)
    half = int(np.argmax(outside <= REST * energy.sum()))
    kernel = centred[reach - half : reach + half + 1]
    return np.asarray(kernel / kernel.sum())


def _fade(frequency: Array, limit: float, rate: float) -> Array:
    end = min(FADE * limit, 0.5 * rate)
    inside = np.clip((frequency - limit) / max(end - limit, 1e-12), 0.0, 1.0)
    return np.asarray(0.5 + 0.5 * np.cos(np.pi * inside))


def _convolved(x: Array, kernel: Array) -> Array:
    centre = x.mean(axis=0)  # convolution keeps what is constant: take it out for the last digits
    return np.asarray(signal.oaconvolve(x - centre, kernel[:, None], mode="valid", axes=0) + centre)


def _inner(uniform: Recording, half: int) -> Recording:
    if len(uniform) < 2 * half + 16:
        raise RecordingError(
            f"{len(uniform)} samples are too few: undoing or copying the filter costs {half} at each end; record longer"
        )
    return uniform[half : len(uniform) - half]


# -- limits and words --------------------------------------------------------------------------------------------------


def _highest(analog: AnalogFilter, rate: float) -> float:
    """[Hz] where 1/|H| reaches LARGEST, or the samples end."""
    return float(min(analog.cutoff * (LARGEST**2 - 1.0) ** (0.5 / analog.order), 0.48 * rate))


def _allowed(bandwidth: float, top: float) -> float:
    if bandwidth > top * (1.0 + 1e-9):
        raise RecordingError(
            f"a bandwidth of {bandwidth:g} Hz is too much for this filter and rate: noise grows {LARGEST:g}-fold or "
            f"samples end at {top:.4g} Hz; give that or less"
        )
    return bandwidth


def _named(recording: Recording) -> AnalogFilter:
    if recording.about.filter is None:
        raise RecordingError("no analogue filter is named for this recording; give filter: {order, cutoff}")
    return recording.about.filter


def _noted(recording: Recording, words: str) -> About:
    return replace(recording.about, filter=None, notes={**recording.about.notes, "prewhitening": words})


def _name(analog: AnalogFilter) -> str:
    return f"the analogue Butterworth filter of order {analog.order} and {analog.cutoff:g} Hz"


def _words(analog: AnalogFilter, limit: float, gain: float, why: str) -> str:
    return (
        f"{_name(analog)} undone up to {limit:.4g} Hz ({why}), the torque has nothing above; white noise of its "
        f"samples times {gain:.2g}, at most times {1.0 / abs(response(analog, np.array([limit]))[0]):.3g} at one line"
    )
