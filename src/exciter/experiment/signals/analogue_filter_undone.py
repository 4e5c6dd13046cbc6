"""Undoing the analogue filter before the sampling of torque or current (seed 002, V-A).

An 8th-order Butterworth filter of 40 Hz delays the torque by some 20 ms and colours its noise. The paper inverts an
identified digital equivalent by extended-bandwidth zero-phase-error tracking: a causal recursive inverse made stable
by leaving unstable zeros alone, with the phase corrected over a band. A recording is no control loop: samples from
later are at hand, so the analogue response H(j2πf) itself can be divided out, gain and phase, be it a formula or
measured; of torque or current, and of positions and velocities where these have filters of their own:

* periodic data: exactly, harmonic by harmonic, on the averaged period;
* other data: by convolution with the finite kernel of 1/H, faded out above a bandwidth limit.

1/H grows without bound, and white noise of the samples with it; hence the limit. Above it the torque is cut and the
regressor is not, which would bias every estimate: the limit goes with the data (``Processed.torque_bandwidth``), and
equations are refused until both sides were low-passed below it. So the limit need not follow the noise: a row filter
does that. Positions that were freed of a filter end at a limit of their own, and the lower one counts. Or both sides
are delayed alike: ``filtered_alike`` passes the positions through H, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.analogue_filter import AnalogResponse
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.signal_filters import (
    FILTERED_SIGNALS,
    AnyAnalogFilter,
    JointFilters,
    filters_of,
    named_filters,
)
from exciter.experiment.signals.low_pass_filter import BANDWIDTH_NOTE, noted_bandwidth, passes
from exciter.experiment.signals.periods import PeriodAverage
from exciter.experiment.signals.resample import resample
from exciter.notes import done
from exciter.typing import Array, ComplexArray

USUAL_NOISE_GAIN = 10.0  #: up to which noise is amplified at a frequency unless a bandwidth is given
LARGEST_NOISE_GAIN = 30.0
HIGHEST_LIMIT_RATE_FRACTION = 0.4  #: the kernel needs room to fade out
PREWHITENING_NOTE = "prewhitening"  #: of notes
FADE_END_RATIO = 1.2  #: to the limit, from which the kernel fades out
KERNEL_ERROR_ABOVE_RATIO = 100.0  #: of the error that a kernel may have above its limit, to that below
MOST_KERNEL_SAMPLES = 1 << 18  #: of a filter that forgets more slowly nothing would be left
CHANNELS_OF_SIGNAL = {"torque": ("torque", "current"), "position": ("q",), "velocity": ("qd",)}


@dataclass(frozen=True)
class Prewhitening:
    """bandwidth [Hz] up to which the filter is undone, None: where noise is amplified ten times."""

    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not 0.0 < self.bandwidth < float("inf"):
            raise RecordingError(f"bandwidth is {shown(self.bandwidth)}; give a positive frequency [Hz]")

    def limit(self, analog: AnalogResponse, rate: float) -> float:
        """[Hz] the bandwidth for samples at ``rate`` [Hz]."""
        most = HIGHEST_LIMIT_RATE_FRACTION * rate
        if self.bandwidth is None:
            return analog.amplified(USUAL_NOISE_GAIN, most)
        if self.bandwidth > (top := analog.amplified(LARGEST_NOISE_GAIN, most)) * (1.0 + 1e-9):
            why = f"a bandwidth of {self.bandwidth:g} Hz is too much for this filter and rate: noise grows "
            raise RecordingError(f"{why}{LARGEST_NOISE_GAIN:g}-fold or samples end at {top:.4g} Hz; give that or less")
        return self.bandwidth

    def _limits(self, analog: AnyAnalogFilter, rate: float, n: int) -> dict[str, float]:
        """[Hz] of each signal that has a filter: of its joints the lowest."""
        each = {name: [x for x in filters_of(analog, name, n) if x is not None] for name in FILTERED_SIGNALS}
        return {name: min(self.limit(x, rate) for x in some) for name, some in each.items() if some}

    def of_average(self, average: PeriodAverage) -> PeriodAverage:
        """The averages before their filters, harmonic by harmonic; what lies above the bandwidth is dropped."""
        analog, n = _named(average.filter), len(average.joints)
        limits = {k: f for k, f in self._limits(analog, average.rate, n).items() if k != "velocity"}  # none is averaged
        changed: dict[str, Any] = {"filter": None, "notes": average.notes}
        for name, limit in limits.items():
            field = "q" if name == "position" else name
            undone, gain = _undone_lines(getattr(average, field), average.period, limit, filters_of(analog, name, n))
            changed[field] = undone
            noises = {key: getattr(average, key) for key in (f"{name}_noise", f"{name}_noise_of_mean")}
            changed |= {key: None if noise is None else gain * noise for key, noise in noises.items()}
            words = _words(analog, name, limit, n, float(gain.max()))
            changed["notes"] = (*changed["notes"], done(PREWHITENING_NOTE, words))
        return replace(average, torque_bandwidth=min(*limits.values(), average.torque_bandwidth), **changed)

    def apply(self, recording: Recording, rate: float | None = None) -> Recording:
        """All signals before their filters, at uniform instants (``rate`` [Hz]: as for ``resample``); the ends are cut
        by half the kernel's length. What was done is in ``about.notes['prewhitening']``, and the bandwidth."""
        analog, n = _named(recording.about.filter), recording.n
        uniform = resample(recording, rate)
        rate = 1.0 / uniform.interval
        limits, kernels, said = self._limits(analog, rate, n), dict[str, list[Array]](), list[str]()
        for name, limit in limits.items():
            made = [_inverse_kernel(one, limit, rate) for one in filters_of(analog, name, n)]
            kernels |= dict.fromkeys(CHANNELS_OF_SIGNAL[name], made)
            said.append(_words(analog, name, limit, n, max(float(np.sqrt((one**2).sum())) for one in made)))
        half = max(len(one) // 2 for made in kernels.values() for one in made)
        said[-1] += f"; {half / rate:.3g} s cut at each end"
        return _through(uniform, kernels, "; ".join(said), min(limits.values()))


def _undone_lines(x: Array, period: float, limit: float, filters: JointFilters) -> tuple[Array, Array]:
    """(N, n) of a period without its filters, up to the limit [Hz], and (n,) by how much white noise grew."""
    lines = np.fft.rfft(x, axis=0)
    frequency = np.arange(len(lines)) / period
    inverse = np.ones(lines.shape, dtype=complex)
    for j, one in enumerate(filters):
        inverse[:, j] = np.where(frequency <= limit, 1.0, 0.0)
        if one is not None:
            known = np.minimum(frequency, limit)
            inverse[:, j] /= one.response(known)
    gain = np.sqrt((2.0 * (np.abs(inverse[1:]) ** 2).sum(axis=0) + np.abs(inverse[0]) ** 2) / len(x))
    return np.asarray(np.fft.irfft(lines * inverse, len(x), axis=0)), gain


def filtered_alike(recording: Recording) -> Recording:
    """Positions and velocities through the torque's filter: both sides late by the same, no noise amplified. Exact well
    below its cut-off; the model is not linear in q, so that closer to it undoing the filter is better."""
    analog = _named(recording.about.filter)
    if not isinstance(analog, AnalogResponse):
        raise RecordingError("joints or signals have filters of their own: one cannot copy the other; undo them")
    uniform = resample(recording)
    rate = 1.0 / uniform.interval
    top = min(HIGHEST_LIMIT_RATE_FRACTION * rate, analog.highest / FADE_END_RATIO)
    kernel = _kernel(lambda f: _fade(f, top, rate) * analog.response(f), analog, min(analog.corners[0], top), rate)
    words = f"positions went through {analog.words}, too"
    return _through(uniform, {name: [kernel] for name in ("q", "qd", "wrench")}, words, passes(analog))


def _inverse_kernel(analog: AnalogResponse | None, limit: float, rate: float) -> Array:
    """Of 1/H up to the limit [Hz]; of a joint without a filter nothing."""
    if analog is None:
        return np.ones(1)

    def wanted(frequency: Array) -> ComplexArray:
        fade = _fade(frequency, limit, rate)
        known = np.minimum(frequency, min(analog.highest, FADE_END_RATIO * limit))
        return np.asarray(fade / analog.response(known))

    return _kernel(wanted, analog, limit, rate)


def _kernel(wanted: Callable[[Array], ComplexArray], analog: AnalogResponse, limit: float, rate: float) -> Array:
    """(2 L + 1,) impulse response, time zero in the middle, its sum H(0); short, yet accurate up to limit [Hz]."""
    length = int(min(400.0 * rate / min(analog.corners[0], 4.0 * limit), MOST_KERNEL_SAMPLES)) + 512
    size = scipy.fft.next_fast_len(length, real=True)
    frequency = np.asarray(np.fft.rfftfreq(size, 1.0 / rate), dtype=np.float64)
    aim = wanted(frequency)
    whole, rest = np.fft.irfft(aim, size), float(aim[0].real)
    error = np.where(frequency <= limit, analog.accuracy, KERNEL_ERROR_ABOVE_RATIO * analog.accuracy)
    allowed = error * np.maximum(np.abs(aim), abs(rest))

    def cut(half: int) -> Array:
        kept = np.concatenate([whole[size - half :], whole[: half + 1]])
        return np.asarray(kept * (rest / kept.sum()))

    def accurate(half: int) -> bool:
        padded = np.zeros(size)
        kernel = cut(half)
        padded[: half + 1], padded[size - half :] = kernel[half:], kernel[:half]
        return bool((np.abs(np.fft.rfft(padded) - aim) <= allowed).all())

    low, high = 0, (size - 1) // 2
    if not accurate(high):
        why = f"{analog.words} forgets too slowly, or changes too abruptly with frequency, to be undone within "
        raise RecordingError(f"{why}{size / rate:.3g} s; check its numbers, or give a motion that repeats (period:)")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accurate(middle) else (middle, high)
    return cut(high)


def _fade(frequency: Array, limit: float, rate: float) -> Array:
    """1 up to the limit, then to 0 with three continuous derivatives: a kernel without long tails."""
    end = min(FADE_END_RATIO * limit, 0.5 * rate)
    x = np.clip((frequency - limit) / max(end - limit, 1e-12), 0.0, 1.0)
    return np.asarray(1.0 - x**4 * (35.0 - 84.0 * x + 70.0 * x**2 - 20.0 * x**3))


def _through(uniform: Recording, kernels: Mapping[str, list[Array]], words: str, limit: float) -> Recording:
    """Channels through their kernels, one or one per joint; all of them without the ends that a kernel does not reach;
    words and limit [Hz] noted."""
    there = {name: each for name, each in kernels.items() if getattr(uniform, name) is not None}
    half = max((len(one) // 2 for each in there.values() for one in each), default=0)
    if len(uniform) < 2 * half + 16:
        why = f"{len(uniform)} samples are too few: undoing or copying the filter costs {half} at each end; record "
        raise RecordingError(f"{why}longer")
    changed = dict[str, Any]()
    for name, each in there.items():
        x = getattr(uniform, name)
        centre = x.mean(axis=0)  # convolution keeps what is constant: take it out for the last digits
        columns = list[Array]()
        for j in range(x.shape[1]):
            kernel = each[j if len(each) > 1 else 0]
            inner = slice(half - len(kernel) // 2, len(x) - half + len(kernel) // 2)
            part = scipy.signal.oaconvolve(x[inner, j] - centre[j], kernel, mode="valid")
            columns.append(part + centre[j] * kernel.sum())
        changed[name] = np.column_stack(columns)
    limit = min(limit, noted_bandwidth(uniform.about))
    notes = {**uniform.about.notes, PREWHITENING_NOTE: words, BANDWIDTH_NOTE: repr(float(limit))}
    about = replace(uniform.about, filter=None, notes=notes)
    return replace(uniform[half : len(uniform) - half], **changed, about=about)


def _named(analog: AnyAnalogFilter | None) -> AnyAnalogFilter:
    if analog is None:
        raise RecordingError("no analogue filter is named for this recording; give filter: {order, cutoff}")
    return analog


def _words(analog: AnyAnalogFilter, name: str, limit: float, n: int, gain: float) -> str:
    each = [one for one in filters_of(analog, name, n) if one is not None]
    most = max(1.0 / abs(one.response(np.array([limit]))[0]) for one in each)
    cut = f"{named_filters(analog, (name,))} undone up to {limit:.4g} Hz, the {name} has nothing above and equations "
    noise = f"white noise of its samples times {gain:.2g}, at most times {most:.3g} at one line"
    return f"{cut}must be low-passed below; {noise}"
