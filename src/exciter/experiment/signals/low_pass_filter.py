"""Low-pass filters: the analogue one before the sampling of torque or current, and zero-phase ones of samples.

Zero-phase: recursive sections run over the samples forwards, then backwards.
Two passes: the phase is zero, the gain that of one pass squared. Non-causal, so a filter knows the samples behind.
Edges: the series is continued beyond its ends by its reflection about the end points (value and slope stay
continuous); what this guess changes fades from the ends as fast as the filter forgets, see ``settle``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from math import pi
from typing import Annotated, ClassVar, Self

import numpy as np
import scipy

from exciter.dynamics.kernels.cache import kernels
from exciter.errors import RecordingError, shown
from exciter.experiment.recording.analogue_filter import HIGHEST_FILTER_ORDER, AnalogResponse
from exciter.experiment.recording.recording import About
from exciter.experiment.recording.signal_filters import AnyAnalogFilter, named_filters
from exciter.notes import Note, warning
from exciter.settings import Number
from exciter.typing import Array

SIGNAL_KERNELS = "exciter.experiment.signals.kernels"
BANDWIDTH_NOTE = "torque bandwidth [Hz]"  # in About.notes, so that it is written and read with the recording
NEGLIGIBLE_EDGE = 1e-16  #: that a margin may leave of an edge's influence: nothing that counts after two differences
EDGE_FRACTION = 1e-3  #: that may be left of an edge's influence where samples are kept
LOWEST_CUTOFF_RATE_FRACTION = 1e-6  #: below, poles are too close to 1 to be told from it
FINEST_EDGE_FRACTION = 1e-6  #: so that an edge ends well within the first piece of a stream
Edge = Annotated[float, Number(least=FINEST_EDGE_FRACTION, below=1.0)]  #: as settings have it
LARGEST_RIPPLE_DB = 3.0  #: of one pass: more is no low-pass, but a resonance
EVERY_SAMPLE = slice(None)
STOPPED_GAIN = 0.01  #: of both passes, below which nothing passes to speak of


def passes(analog: AnyAnalogFilter) -> float:
    """[Hz] up to which the filters hardly change what a signal has."""
    each = (analog,) if isinstance(analog, AnalogResponse) else (*analog.torque, *analog.position, *analog.velocity)
    return min(one.passes for one in each if one is not None)


def left_in(analog: AnyAnalogFilter) -> Note:
    late = "was left in: the torque is late and attenuated; Prewhitening undoes it"
    return warning("analogue filter", f"{named_filters(analog)} {late}")


def noted_bandwidth(about: About) -> float:
    """[Hz] above which the torque was cut when a filter was undone; infinite where none was."""
    try:
        return float(about.notes.get(BANDWIDTH_NOTE, "inf"))
    except ValueError:
        wrong = f"notes: '{BANDWIDTH_NOTE}' is {shown(about.notes[BANDWIDTH_NOTE])}; it must be a frequency"
        raise RecordingError(wrong) from None


def torque_bandwidth(about: About) -> tuple[float, tuple[Note, ...]]:
    """[Hz] up to which the recorded torque is whole, and a warning where a filter was left as it is."""
    if about.filter is None:
        return noted_bandwidth(about), ()
    return min(noted_bandwidth(about), passes(about.filter)), (left_in(about.filter),)


@dataclass(frozen=True)
class LowPass(ABC):
    """cutoff [Hz] and order of one pass. kind: SciPy's word for the family; title: for people."""

    kind: ClassVar[str]
    title: ClassVar[str]
    cutoff: float
    order: int

    def __post_init__(self) -> None:
        if not (1 <= self.order <= HIGHEST_FILTER_ORDER and 0.0 < self.cutoff < float("inf")):
            wrong = f"{self}: the order must be 1 … {HIGHEST_FILTER_ORDER} and the cut-off a positive frequency [Hz]"
            raise RecordingError(wrong)

    @abstractmethod
    def _stop_ratio(self) -> float:
        """Frequency where both passes' gain is ``STOPPED_GAIN``, over the cut-off; of the analogue filter."""

    def sections(self, rate: float) -> Array:
        """(sections, 6) of one pass at ``rate`` [Hz]."""
        if self.cutoff < (least := LOWEST_CUTOFF_RATE_FRACTION * rate):
            low = f"a cut-off of {self.cutoff:g} Hz is too low for samples at {rate:g} Hz; least: {least:g} Hz"
            raise RecordingError(low)
        if not self.cutoff < 0.5 * rate:
            why = f"a cut-off of {self.cutoff:g} Hz needs samples at more than {2 * self.cutoff:g} Hz, they come at "
            raise RecordingError(f"{why}{rate:g} Hz; give a lower cut-off")
        return _designed(self, rate)[0].copy()

    def settle(self, rate: float, remainder: float = EDGE_FRACTION) -> int:
        """Samples after which a disturbance has faded to ``remainder``: decay of the slowest pole."""
        self.sections(rate)  # refuses a cut-off the rate is too low for
        return int(np.ceil(np.log(remainder) / np.log(_designed(self, rate)[1]))) + 1

    def reach(self, rate: float) -> int:
        """Samples beyond which the filter does not notice."""
        return self.settle(rate, NEGLIGIBLE_EDGE)

    def stop(self, rate: float) -> float:
        """[Hz] from here on at most 1 % passes (both passes, bilinear transformation of the analogue filter)."""
        return float(rate / np.pi * np.arctan(self._stop_ratio() * np.tan(np.pi * self.cutoff / rate)))

    def stopped_at(self, frequency: float, rate: float) -> Self:
        """The same filter with the cut-off at which ``stop`` is there [Hz]."""
        bent = np.tan(np.pi * min(frequency, 0.499 * rate) / rate) / self._stop_ratio()
        return replace(self, cutoff=float(rate / np.pi * np.arctan(bent)))

    def noise_bandwidth(self, rate: float) -> float:
        """[Hz] White noise comes out with the variance it would have behind an ideal low-pass of this width."""
        frequencies = np.linspace(0.0, self.stop(rate), 4096)
        gain = np.abs(scipy.signal.freqz_sos(self.sections(rate), worN=frequencies, fs=rate)[1]) ** 2
        return float(np.trapezoid((gain / gain[0]) ** 2, frequencies))

    def zero_phase(self, samples: Array, rate: float, axis: int = 0, kept: slice = EVERY_SAMPLE) -> Array:
        """Samples at ``rate`` [Hz] along ``axis``, filtered; of these the ones that are kept. For motion. Equations:
        see ``ParallelFilter``."""
        self.sections(rate)  # refuses what it cannot be
        sections, _, at_rest = _designed(self, rate)
        series = np.moveaxis(np.asarray(samples, dtype=np.float64), axis, -1)
        flat = np.require(series.reshape(-1, series.shape[-1]), requirements=["C", "W"])  # others are compiled again
        wanted = range(series.shape[-1])[kept]
        found, padding = np.empty((len(flat), len(wanted))), min(self.settle(rate), flat.shape[1] - 1)
        every = kernels("recursive", SIGNAL_KERNELS)
        every.both_ways(flat, padding, sections, at_rest, wanted.start, wanted.step, found)
        return np.moveaxis(found.reshape(*series.shape[:-1], len(wanted)), -1, axis)


@lru_cache(maxsize=64)
def _designed(low_pass: LowPass, rate: float) -> tuple[Array, float, Array]:
    """Sections, the modulus of the slowest pole, and the states (sections, 2) after ones for ever; a stream asks for
    them again and again."""
    ripple, wn = getattr(low_pass, "ripple", None), 2.0 * low_pass.cutoff / rate
    zpk = scipy.signal.iirfilter(low_pass.order, wn, rp=ripple, btype="low", ftype=low_pass.kind, output="zpk")
    sections = np.asarray(scipy.signal.zpk2sos(*zpk))
    return sections, float(np.abs(zpk[1]).max()), np.asarray(scipy.signal.sosfilt_zi(sections))


@dataclass(frozen=True)
class Butterworth(LowPass):
    """Gain of both passes 1 / (1 + (f/cutoff)^(2·order)): a half (−6 dB) at the cut-off, 1 % of error at 0.56 · cutoff
    for order 4. ``order`` is that of one pass, as in ``filtfilt`` of the papers. At the digital end frequencies are
    bent a little (bilinear transformation); the cut-off stays exactly where it is."""

    kind, title = "butter", "Butterworth"
    order: int = 4

    def _stop_ratio(self) -> float:
        return float((1.0 / STOPPED_GAIN - 1.0) ** (0.5 / self.order))


@dataclass(frozen=True)
class Chebyshev(LowPass):
    """ripple [dB] of one pass, its attenuation at the cut-off. Order 8 and 0.05 dB: those of MATLAB's ``decimate``."""

    kind, title = "cheby1", "Chebyshev"
    order: int = 8
    ripple: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.ripple <= LARGEST_RIPPLE_DB:
            raise RecordingError(f"{self}: the ripple must be above 0 and at most {LARGEST_RIPPLE_DB:g} dB")

    def _stop_ratio(self) -> float:
        epsilon = np.sqrt(10.0 ** (self.ripple / 10.0) - 1.0)
        return float(np.cosh(np.arccosh(np.sqrt(1.0 / STOPPED_GAIN - 1.0) / epsilon) / self.order))


@dataclass(frozen=True)
class SecondOrder(Butterworth):
    """Gain a²/(ω² + a²), a half (−6 dB) at a = 2π·cutoff: a/(s + a) forwards, then backwards. Gain and −12 dB per
    octave are those of F(s), whose phase both sides of equations share; without it rows stay at their instants."""

    title = "second order"
    order: int = 1

    @classmethod
    def of(cls, a: float) -> SecondOrder:
        """a [rad/s]; the chapter suggests 10 … 40."""
        return cls(a / (2.0 * pi))
