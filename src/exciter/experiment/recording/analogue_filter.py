"""Analogue filters before the sampling of a signal: what H(j2πf) they have, however it is known (seed 002, V-A).

filter: {order: 8, cutoff: 40}                                   # Butterworth; or family: bessel, chebyshev
filter: {numerator: [1], denominator: [1e-6, 2e-3, 1]}           # polynomials in s, highest power first
filter: {poles: [-250, [-180, 180]], zeros: [], gain: 1.0}       # [rad/s]; [re, im] stands for a conjugate pair
filter: {frequency: [1, 10, 40], gain: [1, 0.98, 0.7], phase: [-1.4, -14, -60]}   # measured: [Hz], ratio, [deg]
filter: {file: response.csv}                                     # the same as a table
filter: {torque: …, position: …, velocity: …}                    # by signal; torque is meant unless told
filter: {joint_1: …, joint_2: none}                              # by joint, or a list in their order

The samples are of H times the signal: a gain at 0 Hz other than one counts. What passes nothing at 0 Hz, grows without
bound (unstable) or answers before it is asked (improper) is refused: none of it stands before a converter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from exciter.errors import ExciterError, RecordingError, shown
from exciter.experiment.sources.open_source import open_source
from exciter.settings import Number, OneWord, Settings, Vector, Whole
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.typing import Array, ComplexArray

HIGHEST_FILTER_ORDER = 20  #: of a filter: beyond, its poles cannot be told apart
BUTTERWORTH, BESSEL, CHEBYSHEV = "butterworth", "bessel", "chebyshev"
PASSED_GAIN = 0.99  #: down to which a filter is said to pass; and up to its inverse
MOST_RESPONSE_POINTS = 100_000  #: of a measured frequency response
FEWEST_RESPONSE_POINTS = 3
LARGEST_GAIN_DB = 300.0  #: up or down: more is no measurement
LARGEST_FIRST_PHASE_DEG = 45.0  #: of a measured response: more, and nobody knows how it goes on to 0 Hz
LARGEST_PHASE_STEP_DEG = 150.0  #: between two frequencies: more, and it may have turned the other way
SEARCHED_FREQUENCIES = 4000  #: between the slowest and the fastest, in search of where a filter has a certain gain
LOWEST_SEARCHED_RATIO = 1e-3  #: of the slowest corner, where that search begins
ON_AXIS_FRACTION = 1e-9  #: of its size: a zero whose real part is less lies on the imaginary axis
KNOWN_EXACTLY, KNOWN_BY_MEASUREMENT = 1e-5, 1e-3  #: relative errors that kernels of a response may have


class AnalogResponse(Settings, ABC):
    """What an analogue filter does to a signal: H at frequencies [Hz]."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    accuracy: ClassVar[float] = KNOWN_EXACTLY  #: relative, to which it is worth being undone
    highest: float = np.inf  #: [Hz] beyond which nothing is known

    @abstractmethod
    def response(self, frequency: Array) -> ComplexArray:
        """H(j2πf), up to ``highest``."""

    @property
    @abstractmethod
    def words(self) -> str:
        """For people: the analogue …"""

    @property
    @abstractmethod
    def delay(self) -> float:
        """[s] of slow signals: −d arg H/dω at ω = 0."""

    @property
    @abstractmethod
    def corners(self) -> tuple[float, float]:
        """[Hz] the slowest and the fastest thing it does."""

    @property
    @abstractmethod
    def memory(self) -> float:
        """[s] time constant with which it forgets."""

    @property
    def at_rest(self) -> float:
        """H(0)."""
        return float(self.response(np.zeros(1))[0].real)

    def amplified(self, times: float, top: float) -> float:
        """[Hz] where 1/|H| is first that many times its value at 0 Hz, at most ``top`` and what is known."""
        return _first(self, lambda gain: times * gain - 1.0, min(top, self.highest))

    @property
    def passes(self) -> float:
        """[Hz] up to which it hardly changes sizes: within 1 %."""
        top = min(self.highest, 1e3 * self.corners[1])
        low = _first(self, lambda gain: gain - PASSED_GAIN, top)
        return min(low, _first(self, lambda gain: 1.0 / PASSED_GAIN - gain, top))


@lru_cache(maxsize=256)
def _sizes(analog: AnalogResponse, top: float) -> tuple[Array, Array]:
    """Frequencies [Hz] up to the top, and |H| there over that at 0 Hz."""
    low = min(LOWEST_SEARCHED_RATIO * analog.corners[0], 0.5 * top)
    frequency = np.geomspace(low, top, SEARCHED_FREQUENCIES)
    return frequency, np.abs(analog.response(frequency) / analog.at_rest)


def _first(analog: AnalogResponse, passes: Callable[[Any], Any], top: float) -> float:
    """[Hz] up to which ``passes`` of the relative gain is not negative."""
    frequency, gain = _sizes(analog, top)
    below = np.flatnonzero(passes(gain) < 0.0)
    if not below.size:
        return float(top)
    if (k := int(below[0])) == 0:
        return float(frequency[0])

    def margin(f: float) -> float:
        return float(passes(abs(analog.response(np.array([f]))[0]) / abs(analog.at_rest)))

    return float(scipy.optimize.brentq(margin, frequency[k - 1], frequency[k], xtol=1e-12 * frequency[k]))


class RationalResponse(AnalogResponse):
    """k Π(s − z) / Π(s − p)."""

    @property
    def zpk(self) -> tuple[ComplexArray, ComplexArray, float]:
        """Zeros and poles [rad/s], both of a conjugate pair, and k."""
        raise NotImplementedError

    def response(self, frequency: Array) -> ComplexArray:
        zeros, poles, gain = self.zpk
        s = 2j * np.pi * np.asarray(frequency)[..., None]
        # pole by pole beside zero: k alone overflows where an order is high
        each = len(poles) - len(zeros)
        ones = np.concatenate([s - zeros, np.broadcast_to(_mean_size(poles), (*s.shape[:-1], each))], axis=-1)
        return np.asarray(gain / _mean_size(poles) ** each * np.prod(ones / (s - poles), axis=-1))

    @property
    def delay(self) -> float:
        zeros, poles, _ = self.zpk
        return float(((1.0 / zeros).sum() - (1.0 / poles).sum()).real)

    @property
    def corners(self) -> tuple[float, float]:
        zeros, poles, _ = self.zpk
        damped = np.abs(np.concatenate([zeros[np.abs(zeros.real) > ON_AXIS_FRACTION * np.abs(zeros)], poles]).real)
        return float(damped.min() / (2.0 * np.pi)), float(np.abs(np.concatenate([zeros, poles])).max() / (2.0 * np.pi))

    @property
    def memory(self) -> float:
        return float(1.0 / np.abs(self.zpk[1].real).min())

    def refuse_unusable(self) -> None:
        with np.errstate(all="ignore"):
            self._refuse_unusable()

    def _refuse_unusable(self) -> None:
        zeros, poles, gain = self.zpk
        if not (np.isfinite(zeros).all() and np.isfinite(poles).all() and np.isfinite(gain)):
            raise RecordingError("its zeros and poles are not finite numbers; check the coefficients")
        if len(zeros) > len(poles):
            why = f"{len(zeros)} zeros and {len(poles)} poles: it is improper, and amplifies without bound; give at "
            raise RecordingError(f"{why}least as many poles as zeros")
        if not len(poles):
            raise RecordingError("it has no poles: it is a gain, not a filter; give it as factor: of the signal")
        if len(poles) > HIGHEST_FILTER_ORDER:
            raise RecordingError(f"its order is {len(poles)}; allowed are orders up to {HIGHEST_FILTER_ORDER}")
        if (worst := poles[np.argmax(poles.real)]).real >= 0.0:
            why = f"it is unstable: a pole at {worst.real:.4g} {worst.imag:+.4g}j rad/s; all must have a negative "
            raise RecordingError(f"{why}real part")
        if gain == 0.0 or (zeros == 0.0).any() or not np.isfinite(rest := self.at_rest) or rest == 0.0:
            raise RecordingError("it passes nothing at 0 Hz, so that weight cannot be told from it; give a low-pass")


def _mean_size(poles: ComplexArray) -> float:
    """[rad/s] geometric."""
    return float(np.exp(np.log(np.abs(poles)).mean()))


@dataclass(frozen=True)
class AnalogFilter(RationalResponse):
    """A classical low-pass before the sampling of torque or current (seed 002, V-A); cutoff [Hz], where the gain is −3
    dB, of a Chebyshev filter the end of its ripple [dB]; H(0) = 1.

    family: butterworth, bessel or chebyshev."""

    order: Annotated[int, Whole(1, HIGHEST_FILTER_ORDER)] = 8
    cutoff: Annotated[float, Number(above=0.0, unit="Hz")] = 40.0
    family: Annotated[str, OneWord((BUTTERWORTH, BESSEL, CHEBYSHEV))] = BUTTERWORTH
    ripple: Annotated[float | None, Number(above=0.0, most=3.0, unit="dB")] = None

    def __post_init__(self) -> None:
        if (self.ripple is None) == (self.family == CHEBYSHEV):
            what = "needs a ripple: [dB]" if self.ripple is None else f"{self.ripple:g} is of {CHEBYSHEV} filters alone"
            raise RecordingError(f"AnalogFilter: {self.family if self.ripple is None else 'ripple:'} {what}")

    def spelling(self, data: dict[str, Any]) -> Any:
        return {"order": self.order, "cutoff": self.cutoff, **data}  # whole, for people

    @property
    def zpk(self) -> tuple[ComplexArray, ComplexArray, float]:
        return _designed(self)

    @property
    def corners(self) -> tuple[float, float]:
        return self.cutoff, self.cutoff

    @property
    def words(self) -> str:
        return f"the analogue {self.family.capitalize()} filter of order {self.order} and {self.cutoff:g} Hz"


@lru_cache(maxsize=64)
def _designed(given: AnalogFilter) -> tuple[ComplexArray, ComplexArray, float]:
    w = 2.0 * np.pi * given.cutoff
    if given.family == BESSEL:
        zeros, poles, gain = scipy.signal.bessel(given.order, w, analog=True, output="zpk", norm="mag")
    elif given.family == CHEBYSHEV:
        zeros, poles, _ = scipy.signal.cheby1(given.order, given.ripple, w, analog=True, output="zpk")
        gain = np.prod(-poles).real  # an even order would begin at the bottom of its ripple; circuits begin at one
    else:
        zeros, poles, gain = scipy.signal.butter(given.order, w, analog=True, output="zpk")
    return np.asarray(zeros, dtype=complex), np.asarray(poles, dtype=complex), float(gain)


@dataclass(frozen=True)
class TransferFunction(RationalResponse):
    """numerator and denominator: coefficients of polynomials in s [rad/s], of the highest power first."""

    numerator: Annotated[tuple[float, ...], Vector(None)]
    denominator: Annotated[tuple[float, ...], Vector(None)]

    def __post_init__(self) -> None:
        if not np.any(self.denominator) or not np.any(self.numerator):
            raise RecordingError("TransferFunction: numerator and denominator need a coefficient other than 0 each")
        self.refuse_unusable()

    @property
    def zpk(self) -> tuple[ComplexArray, ComplexArray, float]:
        return _roots(self)

    @property
    def words(self) -> str:
        _, poles, _ = self.zpk
        return f"the analogue transfer function of order {len(poles)}"


@lru_cache(maxsize=64)
def _roots(given: TransferFunction) -> tuple[ComplexArray, ComplexArray, float]:
    top, bottom = (np.trim_zeros(np.array(x), "f") for x in (given.numerator, given.denominator))
    # roots in a unit of frequency in which the first and last coefficients are alike: powers of s differ by decades
    last = np.flatnonzero(bottom)[-1]
    with np.errstate(all="ignore"):
        unit = float(np.abs(bottom[last] / bottom[0]) ** (1.0 / max(last, 1)))
        scaled = [x * unit ** np.arange(len(x) - 1.0, -1.0, -1.0) for x in (top, bottom)]
        if not all(np.isfinite(x).all() and x[0] for x in scaled):
            raise RecordingError("TransferFunction: its coefficients are too far apart to have roots; check them")
        try:
            zeros, poles = (np.asarray(unit * np.roots(x), dtype=np.complex128) for x in scaled)
        except np.linalg.LinAlgError:
            raise RecordingError("TransferFunction: its coefficients are too far apart to have roots") from None
        return zeros, poles, float(top[0] / bottom[0])


@dataclass(frozen=True)
class Roots(Kind):
    """Zeros or poles [rad/s]: a number where it is real, [re, im] for both of a conjugate pair."""

    wanted = "a list of numbers, and of pairs [re, im] for conjugates [rad/s]"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[Any, ...]:
        if not isinstance(given, list | tuple) or len(given) > HIGHEST_FILTER_ORDER:
            raise wrong(f" is {shown(given)}; give {self.wanted}, at most {HIGHEST_FILTER_ORDER}")
        number, found = Number().number, list[Any]()
        for one in given:
            if isinstance(one, complex):
                one = (one.real, abs(one.imag))
            if isinstance(one, list | tuple):
                if len(one) != 2:
                    raise wrong(f" has {shown(one)}; give {self.wanted}")
                found.append((number(one[0]), abs(number(one[1]))))
            else:
                found.append(number(one))
        return tuple(found)

    def schema(self) -> dict[str, Any]:
        pair = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": {"anyOf": [{"type": "number"}, pair]}, "maxItems": HIGHEST_FILTER_ORDER}


@dataclass(frozen=True)
class ZerosPolesGain(RationalResponse):
    """zeros and poles [rad/s], (re, im) for both of a conjugate pair; gain: H at 0 Hz."""

    poles: Annotated[tuple[Any, ...], Roots()]
    zeros: Annotated[tuple[Any, ...], Roots()] = ()
    gain: Annotated[float, Number()] = 1.0

    def __post_init__(self) -> None:
        if any(not np.any(one) for one in self.zeros):
            raise RecordingError("ZerosPolesGain: a zero at 0 passes nothing at 0 Hz; give a low-pass")
        self.refuse_unusable()

    @property
    def zpk(self) -> tuple[ComplexArray, ComplexArray, float]:
        zeros, poles = _both(self.zeros), _both(self.poles)
        if not len(poles) or not np.all(poles):
            return zeros, poles, self.gain  # refused
        each = len(poles) - len(zeros)
        scale = np.prod(poles[: len(zeros)] / zeros) * np.prod(poles[len(zeros) :])
        return zeros, poles, float(self.gain * (scale * (-1.0) ** each).real)

    @property
    def words(self) -> str:
        return f"the analogue filter of {len(_both(self.poles))} poles and {len(_both(self.zeros))} zeros"


def _both(given: Sequence[Any]) -> ComplexArray:
    """All roots, conjugates among them."""
    found = list[complex]()
    for one in given:
        found += [complex(*one), complex(one[0], -one[1])] if isinstance(one, tuple) else [complex(one)]
    return np.array(found, dtype=complex)


@dataclass(frozen=True)
class MeasuredResponse(AnalogResponse):
    """A frequency response as measured: frequency [Hz], gain as a ratio, phase [deg].

    Between frequencies log |H| and the unwrapped phase are interpolated over log f (monotone cubics). Below the first
    one the gain is that of the first, and the phase falls to zero in proportion to f: one delay. Above the last one
    nothing is known: what is undone ends there."""

    accuracy: ClassVar[float] = KNOWN_BY_MEASUREMENT
    frequency: Annotated[tuple[float, ...], Vector(None, "Hz")]
    gain: Annotated[tuple[float, ...], Vector(None)]
    phase: Annotated[tuple[float, ...], Vector(None, "deg")]

    def __post_init__(self) -> None:
        f, gain, phase = self.frequency, self.gain, np.unwrap(self.phase, period=360.0)
        if len(f) > MOST_RESPONSE_POINTS:
            raise RecordingError(f"a response of {len(f)} frequencies is too much; give up to {MOST_RESPONSE_POINTS}")
        if len(f) < FEWEST_RESPONSE_POINTS or not len(f) == len(gain) == len(phase):
            counts = f"{len(f)} frequencies, {len(gain)} gains and {len(phase)} phases"
            raise RecordingError(f"the response has {counts}; give as many of each, {FEWEST_RESPONSE_POINTS} at least")
        if f[0] <= 0.0 or min(np.diff(f)) <= 0.0:
            raise RecordingError("the frequencies [Hz] of the response must be above 0 and increase")
        if min(gain) <= 0.0:
            raise RecordingError(f"a gain of the response is {min(gain):g}; ratios are above 0 (decibels: gain_db)")
        first = float(phase[0] - 360.0 * round(phase[0] / 360.0))
        if abs(first) > LARGEST_FIRST_PHASE_DEG:
            why = f"the phase is {first:.4g}° at the lowest frequency, {f[0]:g} Hz: how it comes from 0° at 0 Hz is "
            raise RecordingError(f"{why}not known; measure lower ones (reversed: signs)")
        if (steps := np.abs(np.diff(phase))).max() > LARGEST_PHASE_STEP_DEG:
            k = int(np.argmax(steps))
            why = f"the phase turns by {steps[k]:.4g}° from {f[k]:g} to {f[k + 1]:g} Hz, in whichever direction; "
            raise RecordingError(f"{why}measure frequencies between")

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        """A file for the numbers; decibels and radians for ratios and degrees."""
        if not isinstance(given, Mapping):
            return given
        data = dict(given)
        if (file := data.pop("file", None)) is not None:
            if data:
                raise RecordingError(f"file: stands alone; leave out {', '.join(map(str, data))}")
            data = response_table(file, context)
        number, decibels = Number().number, Number(-LARGEST_GAIN_DB, most=LARGEST_GAIN_DB, unit="dB").number
        for other, key, change in (
            ("gain_db", "gain", lambda x: 10.0 ** (decibels(x) / 20.0)),
            ("phase_rad", "phase", lambda x: float(np.degrees(number(x)))),
        ):
            if other in data:
                if key in data:
                    raise RecordingError(f"{key} and {other} say the same; leave one out")
                values = data.pop(other)
                if not isinstance(values, list | tuple):
                    raise RecordingError(f"{other} is {shown(values)}; give a list of numbers")
                with inside(f": {other}"):
                    data[key] = [change(one) for one in values]
        return data

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        keys, numbers = schema["properties"], {"type": "array", "items": {"type": "number"}}
        more = {"gain_db": numbers, "phase_rad": numbers, "file": {"type": "string", "minLength": 1}}
        return {**schema, "properties": {**keys, **more}, "required": []}

    @property
    def highest(self) -> float:  # type: ignore[override]
        return self.frequency[-1]

    def response(self, frequency: Array) -> ComplexArray:
        f, first = np.asarray(frequency, dtype=float), self.frequency[0]
        found = _interpolated(self)(np.log(np.clip(f, first, self.highest)))
        return np.asarray(np.exp(found[..., 0] + 1j * found[..., 1] * np.minimum(f / first, 1.0)))

    @property
    def delay(self) -> float:
        return float(-_interpolated(self)(np.log(self.frequency[0]))[1] / (2.0 * np.pi * self.frequency[0]))

    @property
    def corners(self) -> tuple[float, float]:
        return self.frequency[0], self.frequency[-1]

    @property
    def memory(self) -> float:
        """The longest of the delays that its phase stands for."""
        log_f = np.log(np.array(self.frequency))
        slope = _interpolated(self).derivative()(log_f)[:, 1]
        return float(max(self.delay, np.abs(slope / (2.0 * np.pi * np.array(self.frequency))).max()))

    @property
    def words(self) -> str:
        count, low, high = len(self.frequency), self.frequency[0], self.frequency[-1]
        return f"the analogue filter measured at {count} frequencies, {low:g} … {high:g} Hz,"


@lru_cache(maxsize=64)
def _interpolated(given: MeasuredResponse) -> scipy.interpolate.PchipInterpolator:
    """log |H| and phase [rad] over log f."""
    phase = np.unwrap(np.radians(given.phase))
    phase -= 2.0 * np.pi * np.round(phase[0] / (2.0 * np.pi))
    return scipy.interpolate.PchipInterpolator(np.log(given.frequency), np.column_stack([np.log(given.gain), phase]))


def response_table(file: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Of a text file: frequency [Hz], gain or gain [dB], phase [deg] or phase [rad], by the words of its header; these
    three in this order, ratios and degrees, where it has none."""
    if not isinstance(file, str | Path) or not str(file):
        raise RecordingError(f"file is {shown(file)}; give the path of a table: frequency [Hz], gain, phase [deg]")
    folders = context.get("folders") or (context.get("folder") or Path(),)
    path = next((folder / file for folder in map(Path, folders) if (folder / file).exists()), Path(folders[0]) / file)
    source, keys = open_source(path, format="csv"), list[str]()
    names = [name.strip().lower() for name in source.names]
    for name in names if any(name[:1].isalpha() for name in names) else ("frequency", "gain", "phase"):
        if name.startswith(("f", "hz")):
            keys.append("frequency")
        elif name.startswith(("gain", "mag", "db", "ratio", "amp")):
            keys.append("gain_db" if "db" in name else "gain")
        else:
            keys.append("phase_rad" if "rad" in name else "phase" if name.startswith(("ph", "deg", "arg")) else name)
    if sorted(key[:4] for key in keys) != ["freq", "gain", "phas"]:
        why = f"{path} has the columns {', '.join(source.names[:6])}; it must have frequency [Hz], gain (or gain [dB]) "
        raise RecordingError(f"{why}and phase [deg] (or phase [rad])")
    rows = list[Array]()
    for block in source.blocks(range(len(keys)), MOST_RESPONSE_POINTS + 1):
        rows.append(block)
        if sum(map(len, rows)) > MOST_RESPONSE_POINTS:
            raise RecordingError(f"{path} has more than {MOST_RESPONSE_POINTS} frequencies; give fewer")
    table = np.concatenate(rows) if rows else np.zeros((0, len(keys)))
    if not np.isfinite(table).all():
        raise RecordingError(f"{path} has cells that are no numbers; every frequency needs a gain and a phase")
    return {key: column.tolist() for key, column in zip(keys, table.T, strict=True)}
