"""Undoing the analogue filter before the sampling of torque or current (seed 002, V-A).

An 8th-order Butterworth filter of 40 Hz delays the torque by some 20 ms and colours its noise. The paper inverts an
identified digital equivalent by extended-bandwidth zero-phase-error tracking: a causal recursive inverse made stable
by leaving unstable zeros alone, with the phase corrected over a band. A recording is no control loop: samples from
later are at hand, so the analogue response H(j2πf) itself can be divided out, gain and phase:

* periodic data: exactly, harmonic by harmonic, on the averaged period;
* other data: by convolution with the finite kernel of 1/H, faded out above a bandwidth limit.

1/H grows without bound, and white noise of the samples with it; hence the limit. Above it the torque is cut and the
regressor is not, which would bias every estimate: the limit goes with the data (``Processed.torque_bandwidth``), and
equations are refused until both sides were low-passed below it. So the limit need not follow the noise: a row filter
does that. Or both sides are delayed alike: ``filtered_alike`` passes the positions through H, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import fft, signal

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.recording import AnalogFilter, Recording
from exciter.experiment.signals.low_pass_filter import BANDWIDTH_NOTE, named, noted_bandwidth, passes, response
from exciter.experiment.signals.periods import PeriodAverage
from exciter.experiment.signals.resample import resample
from exciter.notes import done
from exciter.typing import Array, ComplexArray

USUAL_NOISE_GAIN = 10.0  #: up to which noise is amplified at a frequency unless a bandwidth is given
LARGEST_NOISE_GAIN = 30.0
HIGHEST_LIMIT_RATE_FRACTION = 0.4  #: the kernel needs room to fade out
PREWHITENING_NOTE = "prewhitening"  #: of notes
FADE_END_RATIO = 1.2  #: to the limit, from which the kernel fades out
KERNEL_ERROR_IN_BAND, KERNEL_ERROR_ABOVE = 1e-5, 1e-3  #: relative, up to the limit, and above


@dataclass(frozen=True)
class Prewhitening:
    """bandwidth [Hz] up to which the filter is undone, None: where noise is amplified ten times."""

    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not 0.0 < self.bandwidth < float("inf"):
            raise RecordingError(f"bandwidth is {shown(self.bandwidth)}; give a positive frequency [Hz]")

    def limit(self, analog: AnalogFilter, rate: float) -> float:
        """[Hz] the bandwidth for samples at ``rate`` [Hz]."""
        if self.bandwidth is None:
            return _amplified(analog, USUAL_NOISE_GAIN, rate)
        if self.bandwidth > (top := _amplified(analog, LARGEST_NOISE_GAIN, rate)) * (1.0 + 1e-9):
            why = f"a bandwidth of {self.bandwidth:g} Hz is too much for this filter and rate: noise grows "
            raise RecordingError(f"{why}{LARGEST_NOISE_GAIN:g}-fold or samples end at {top:.4g} Hz; give that or less")
        return self.bandwidth

    def of_average(self, average: PeriodAverage) -> PeriodAverage:
        """The averaged torque before the filter, harmonic by harmonic; what lies above the bandwidth is dropped."""
        analog = _named(average.filter)
        count, limit = len(average.time), self.limit(analog, average.rate)
        lines = np.fft.rfft(average.torque, axis=0)
        frequency = np.arange(len(lines)) / average.period
        inverse = np.where(frequency <= limit, 1.0 / response(analog, frequency), 0.0)
        gain = float(np.sqrt((2.0 * (np.abs(inverse[1:]) ** 2).sum() + 1.0) / count))
        noises = (average.torque_noise, average.torque_noise_of_mean)
        one, of_mean = (None if noise is None else gain * noise for noise in noises)
        return replace(
            average,
            torque=np.fft.irfft(lines * inverse[:, None], count, axis=0),
            notes=(*average.notes, done(PREWHITENING_NOTE, _words(analog, limit, gain))),
            filter=None,
            torque_bandwidth=min(limit, average.torque_bandwidth),
            torque_noise=one,
            torque_noise_of_mean=of_mean,
        )

    def apply(self, recording: Recording, rate: float | None = None) -> Recording:
        """Torque and current before the filter, at uniform instants (``rate`` [Hz]: as for ``resample``); the ends are
        cut by half the kernel's length. What was done is in ``about.notes['prewhitening']``, and the bandwidth."""
        analog = _named(recording.about.filter)
        uniform = resample(recording, rate)
        rate = 1.0 / uniform.interval
        limit = self.limit(analog, rate)
        kernel = _kernel(lambda f: _fade(f, limit, rate) / response(analog, f), analog, limit, rate)
        words = _words(analog, limit, float(np.sqrt((kernel**2).sum())))
        words += f"; {len(kernel) // 2 / rate:.3g} s cut at each end"
        return _through(uniform, kernel, ("torque", "current"), words, limit)


def filtered_alike(recording: Recording) -> Recording:
    """Positions and velocities through the torque's filter: both sides late by the same, no noise amplified. Exact well
    below its cut-off; the model is not linear in q, so that closer to it undoing the filter is better."""
    analog = _named(recording.about.filter)
    uniform = resample(recording)
    rate = 1.0 / uniform.interval
    top = HIGHEST_LIMIT_RATE_FRACTION * rate
    kernel = _kernel(lambda f: _fade(f, top, rate) * response(analog, f), analog, analog.cutoff, rate)
    words = f"positions went through {named(analog)}, too"
    return _through(uniform, kernel, ("q", "qd", "wrench"), words, passes(analog))


def _kernel(wanted: Callable[[Array], ComplexArray], analog: AnalogFilter, limit: float, rate: float) -> Array:
    """(2 L + 1,) impulse response, time zero in the middle, sum 1; short, yet accurate up to limit [Hz]."""
    size = fft.next_fast_len(int(400.0 * rate / min(analog.cutoff, 4.0 * limit)) + 512, real=True)
    frequency = np.asarray(np.fft.rfftfreq(size, 1.0 / rate), dtype=np.float64)
    aim = wanted(frequency)
    whole = np.fft.irfft(aim, size)
    allowed = np.where(frequency <= limit, KERNEL_ERROR_IN_BAND, KERNEL_ERROR_ABOVE) * np.maximum(np.abs(aim), 1.0)

    def cut(half: int) -> Array:
        kept = np.concatenate([whole[size - half :], whole[: half + 1]])
        return np.asarray(kept / kept.sum())

    def accurate(half: int) -> bool:
        padded = np.zeros(size)
        kernel = cut(half)
        padded[: half + 1], padded[size - half :] = kernel[half:], kernel[:half]
        return bool((np.abs(np.fft.rfft(padded) - aim) <= allowed).all())

    low, high = 0, (size - 1) // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accurate(middle) else (middle, high)
    return cut(high)


def _fade(frequency: Array, limit: float, rate: float) -> Array:
    """1 up to the limit, then to 0 with three continuous derivatives: a kernel without long tails."""
    end = min(FADE_END_RATIO * limit, 0.5 * rate)
    x = np.clip((frequency - limit) / max(end - limit, 1e-12), 0.0, 1.0)
    return np.asarray(1.0 - x**4 * (35.0 - 84.0 * x + 70.0 * x**2 - 20.0 * x**3))


def _through(uniform: Recording, kernel: Array, names: Iterable[str], words: str, limit: float) -> Recording:
    """Signals through the kernel, all of them without the ends that it does not reach; words and limit [Hz] noted."""
    half = len(kernel) // 2
    if len(uniform) < 2 * half + 16:
        why = f"{len(uniform)} samples are too few: undoing or copying the filter costs {half} at each end; record "
        raise RecordingError(f"{why}longer")
    changed: dict[str, Any] = {name: x for name in names if (x := getattr(uniform, name)) is not None}
    for name, x in changed.items():
        centre = x.mean(axis=0)  # convolution keeps what is constant: take it out for the last digits
        changed[name] = signal.oaconvolve(x - centre, kernel[:, None], mode="valid", axes=0) + centre
    limit = min(limit, noted_bandwidth(uniform.about))
    notes = {**uniform.about.notes, PREWHITENING_NOTE: words, BANDWIDTH_NOTE: repr(float(limit))}
    about = replace(uniform.about, filter=None, notes=notes)
    return replace(uniform[half : len(uniform) - half], **changed, about=about)


def _amplified(analog: AnalogFilter, times: float, rate: float) -> float:
    """[Hz] where 1/|H| is that much, or the samples end."""
    return float(min(analog.cutoff * (times**2 - 1.0) ** (0.5 / analog.order), HIGHEST_LIMIT_RATE_FRACTION * rate))


def _named(analog: AnalogFilter | None) -> AnalogFilter:
    if analog is None:
        raise RecordingError("no analogue filter is named for this recording; give filter: {order, cutoff}")
    return analog


def _words(analog: AnalogFilter, limit: float, gain: float) -> str:
    most = 1.0 / abs(response(analog, np.array([limit]))[0])
    words = f"{named(analog)} undone up to {limit:.4g} Hz, the torque has nothing above and equations must be "
    return f"{words}low-passed below; white noise of its samples times {gain:.2g}, at most times {most:.3g} at one line"
