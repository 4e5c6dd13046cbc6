"""From the current of a motor to the torque at its joint where a gain is not enough (seed 002, Remark 1).

current:
  map: {saturation: {gain: 12, limit: 90}}                         # τ = limit tanh(gain i / limit) [N·m/A, N·m]
  map: {polynomial: {odd: [12, 0, -0.02]}}                         # τ = 12 i + 0 i|i| − 0.02 i³; even: of i², i⁴, …
  map: {table: {current: [0, 5, 10, 15], torque: [0, 60, 115, 150]}}   # from 0: the same backwards; monotone cubics
  map: {joint_1: {saturation: …}, joint_2: 7.5}                    # by joint, or a list; a number is a gain

Torque must grow with the current, or fall, all along: beyond the turning point of a polynomial, or a tenth beyond the
ends of a table, samples are refused, for nobody knows what torque they stand for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from exciter.errors import ExciterError, RecordingError, shown
from exciter.settings import Number, OneOf, Registry, Settings, Vector
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.typing import Array

MOST_COEFFICIENTS = 20  #: of a polynomial
MOST_TABLE_ROWS = 10_000
CLOSEST_CURRENTS_FRACTION = 1e-9  #: of the largest: closer ones of a table have no slope between them
BEYOND_TABLE_FRACTION = 0.1  #: of its largest current: so far a table goes on straight
USUAL_RANGE_A = 1e6  #: within which a turning point is looked for
MOST_HALVINGS = 200  #: in search of the current of a torque


class CurrentMap(Settings, ABC):
    """τ(i) [N·m, N] of one joint, which grows or falls all along."""

    by_word: ClassVar[bool] = True
    refusal: ClassVar[type[ExciterError]] = RecordingError

    @abstractmethod
    def values(self, current: Array) -> Array:
        """τ of currents [A] within ``reach``."""

    @abstractmethod
    def slopes(self, current: Array) -> Array:
        """dτ/di [N·m/A]."""

    @property
    @abstractmethod
    def reach(self) -> tuple[float, float]:
        """[A] within which it is known."""

    @property
    def small_gain(self) -> float:
        """[N·m/A] at zero current."""
        return float(self.slopes(np.zeros(1))[0])

    def to_torque(self, current: Array, joint: str = "joint") -> Array:
        """τ of currents [A]; NaN stays, beyond ``reach`` they are refused."""
        low, high = self.reach
        beyond = (current < low) | (current > high)
        if beyond.any():
            worst = float(current[beyond][np.argmax(np.abs(current[beyond]))])
            why = f"the current of '{joint}' reaches {worst:.4g} A, and its map ends at {low:.4g} … {high:.4g} A"
            raise RecordingError(f"{why}: give a map that goes on, or cut those samples")
        return self.values(current)

    def to_current(self, torque: Array, joint: str = "joint") -> Array:
        """i [A] of torques; refused where no current gives them."""
        low, high = (min(max(end, -USUAL_RANGE_A), USUAL_RANGE_A) for end in self.reach)
        ends = self.values(np.array([low, high]))
        weakest, strongest = float(ends.min()), float(ends.max())
        if ((torque <= weakest) | (torque >= strongest)).any():
            far = float(torque[np.argmax(np.abs(torque))])
            why = f"'{joint}' needs {far:.4g} N·m, and its drive gives {weakest:.4g} … {strongest:.4g} N·m"
            raise ExciterError(f"{why}: choose a slower motion, or another map of its current")
        return _inverse(self, np.asarray(torque, dtype=float), low, high)


def _inverse(given: CurrentMap, torque: Array, low: float, high: float) -> Array:
    """Bracketed by halves from end to end, then Newton's method."""
    sign = np.sign(given.small_gain)
    below, above = np.full(torque.shape, low), np.full(torque.shape, high)
    current = np.clip(torque / given.small_gain, low, high)
    for _ in range(MOST_HALVINGS):
        error = given.values(current) - torque
        if not (np.abs(error) > 1e-13 * np.maximum(np.abs(torque), abs(given.small_gain) * 1e-6)).any():
            break
        above, below = np.where(sign * error > 0.0, current, above), np.where(sign * error > 0.0, below, current)
        step = current - error / np.where(given.slopes(current) == 0.0, given.small_gain, given.slopes(current))
        inner = (step > below) & (step < above)
        current = np.where(inner, step, 0.5 * (below + above))
    return np.asarray(current)


@dataclass(frozen=True)
class PolynomialMap(CurrentMap):
    """τ = Σ odd_k i |i|^(k−1) + Σ even_k i^(2k), k = 1, 2, …: what both directions share, and what they do not."""

    word, title = "polynomial", "a polynomial of the current"
    odd: Annotated[tuple[float, ...], Vector(None, "N·m/A, N·m/A², …")]
    even: Annotated[tuple[float, ...], Vector(None, "N·m/A², N·m/A⁴, …")] = ()

    def __post_init__(self) -> None:
        if not self.odd or len(self.odd) + len(self.even) > MOST_COEFFICIENTS or self.odd[0] == 0.0:
            why = f"polynomial: odd is {shown(list(self.odd))}; it begins with the gain, other than 0"
            raise RecordingError(f"{why}, and has at most {MOST_COEFFICIENTS} coefficients")
        _ = self.reach

    def values(self, current: Array) -> Array:
        size, found = np.abs(current), np.zeros(np.shape(current))
        with np.errstate(over="ignore", invalid="ignore"):
            for k, one in enumerate(self.odd):
                found = found + one * current * size**k
            for k, one in enumerate(self.even):
                found = found + one * current ** (2 * k + 2)
        return np.asarray(found)

    def slopes(self, current: Array) -> Array:
        size, found = np.abs(current), np.zeros(np.shape(current))
        with np.errstate(over="ignore", invalid="ignore"):
            for k, one in enumerate(self.odd):
                found = found + one * (k + 1) * size**k
            for k, one in enumerate(self.even):
                found = found + one * (2 * k + 2) * current ** (2 * k + 1)
        return np.asarray(found)

    @property
    def reach(self) -> tuple[float, float]:
        return _turning(self, -1.0), _turning(self, 1.0)


@lru_cache(maxsize=256)
def _turning(given: PolynomialMap, side: float) -> float:
    """[A] the first current to one side where the slope is zero; infinite where there is none."""
    odd = [(k + 1) * one for k, one in enumerate(given.odd)]  # of |i|^k
    even = {2 * k + 1: (2 * k + 2) * one * side for k, one in enumerate(given.even)}
    size = max(len(odd), max(even, default=0) + 1)
    coefficients = [(odd[k] if k < len(odd) else 0.0) + even.get(k, 0.0) for k in range(size)]
    try:
        with np.errstate(all="ignore"):
            roots = np.roots(np.trim_zeros(coefficients[::-1], "f"))
    except np.linalg.LinAlgError:
        raise RecordingError("polynomial: its coefficients are too far apart to be those of a drive") from None
    real = roots[(np.abs(roots.imag) < 1e-9 * np.maximum(np.abs(roots), 1e-300)) & (roots.real > 0.0)].real
    return side * float(real.min(initial=np.inf))


@dataclass(frozen=True)
class SaturationMap(CurrentMap):
    """τ = limit tanh(gain i / limit): gain [N·m/A] of small currents, limit [N·m] of large ones."""

    word, title = "saturation", "a torque that saturates"
    gain: Annotated[float, Number(unit="N·m/A")]
    limit: Annotated[float, Number(above=0.0, unit="N·m")]

    def __post_init__(self) -> None:
        if self.gain == 0.0:
            raise RecordingError("saturation: gain is 0; give torque per current [N·m/A]")

    def values(self, current: Array) -> Array:
        return np.asarray(self.limit * np.tanh(self.gain * current / self.limit))

    def slopes(self, current: Array) -> Array:
        return np.asarray(self.gain * (1.0 - np.tanh(self.gain * current / self.limit) ** 2))

    @property
    def reach(self) -> tuple[float, float]:
        most = 18.0 * self.limit / abs(self.gain)  # beyond, the torque does not change in the last digit
        return -most, most


@dataclass(frozen=True)
class TableMap(CurrentMap):
    """current [A] and torque [N·m], both monotone; from (0, 0) on: the same with opposite signs. Between them monotone
    cubics (PCHIP), beyond them straight for a tenth of the largest current."""

    word, title = "table", "a table of currents and torques"
    current: Annotated[tuple[float, ...], Vector(None, "A")]
    torque: Annotated[tuple[float, ...], Vector(None, "N·m")]

    def __post_init__(self) -> None:
        i, tau = np.array(self.current), np.array(self.torque)
        if len(i) != len(tau) or not 2 <= len(i) <= MOST_TABLE_ROWS:
            why = f"table: {len(i)} currents and {len(tau)} torques; give as many of both, 2 … {MOST_TABLE_ROWS}"
            raise RecordingError(why)
        steps = np.diff(tau)
        least = CLOSEST_CURRENTS_FRACTION * float(np.abs(i).max())
        if (np.diff(i) <= least).any() or not ((steps > 0.0).all() or (steps < 0.0).all()):
            raise RecordingError("table: currents must increase, and torques increase or decrease all along")
        if i[0] > 0.0 or i[-1] < 0.0 or (i[0] == 0.0 and tau[0] != 0.0):
            raise RecordingError("table: currents begin at 0 with the torque 0, or reach from negative to positive")

    @property
    def mirrored(self) -> tuple[Array, Array]:
        """Both columns, with what is the same backwards."""
        i, tau = np.array(self.current), np.array(self.torque)
        if i[0] < 0.0:
            return i, tau
        return np.concatenate([-i[:0:-1], i]), np.concatenate([-tau[:0:-1], tau])

    def values(self, current: Array) -> Array:
        i, _ = self.mirrored
        curve, inner = _curve(self), np.clip(current, i[0], i[-1])
        return np.asarray(curve(inner) + curve.derivative()(inner) * (current - inner))

    def slopes(self, current: Array) -> Array:
        i, _ = self.mirrored
        return np.asarray(_curve(self).derivative()(np.clip(current, i[0], i[-1])))

    @property
    def reach(self) -> tuple[float, float]:
        i, _ = self.mirrored
        more = BEYOND_TABLE_FRACTION * float(np.abs(i).max())
        return float(i[0]) - more, float(i[-1]) + more


@lru_cache(maxsize=64)
def _curve(given: TableMap) -> scipy.interpolate.PchipInterpolator:
    return scipy.interpolate.PchipInterpolator(*given.mirrored)


CURRENT_MAPS = Registry[CurrentMap]("map", PolynomialMap, SaturationMap, TableMap)


@dataclass(frozen=True)
class MapsOfJoints(Kind):
    """One map for all joints, a list in their order, or by name of all of them; a number is a gain [N·m/A]."""

    @property
    def wanted(self) -> str:
        return f"one of {', '.join(CURRENT_MAPS.words)} with its settings, a gain [N·m/A], or such by joint"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[CurrentMap, ...]:
        robot = context.get("robot")
        joints: Any = context.get("joints") if robot is None else robot.joint_names
        if isinstance(given, Mapping) and set(given) & set(joints or ()):
            for name in (*given, *joints):
                if name not in joints or name not in given:
                    raise wrong(f" must name every joint once: {', '.join(joints)}; '{name}' is not so")
            given = [given[name] for name in joints]
        if not isinstance(given, list | tuple):
            return (self.one(given, context),) * (1 if joints is None else len(joints))
        if not given or (joints is not None and len(given) not in (1, len(joints))):
            raise wrong(f" has {len(given)} entries; give one, or one for each of {len(joints or ())} joints")
        found = list[CurrentMap]()
        for k, one in enumerate(given):
            with inside(f" {k + 1}"):
                found.append(self.one(one, context))
        return tuple(found) * (1 if joints is None or len(found) > 1 else len(joints))

    def one(self, given: Any, context: Mapping[str, Any]) -> CurrentMap:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return PolynomialMap((Number().number(given),))
        found: CurrentMap = OneOf(CURRENT_MAPS).check(given, context)
        return found

    def schema(self) -> dict[str, Any]:
        one = {"anyOf": [{"type": "number"}, *OneOf(CURRENT_MAPS).schema()["anyOf"]]}
        return {"anyOf": [one, {"type": "array", "items": one}, {"type": "object", "additionalProperties": one}]}


def mapped(maps: Sequence[CurrentMap], current: Array, joints: Sequence[str]) -> Array:
    """(…, n) torques of currents (…, n), one map for all or one each."""
    each = tuple(maps) * (len(joints) if len(maps) == 1 else 1)
    columns = zip(each, np.moveaxis(np.asarray(current, dtype=float), -1, 0), joints, strict=True)
    return np.stack([one.to_torque(x, joint) for one, x, joint in columns], axis=-1)


def unmapped(maps: Sequence[CurrentMap], torque: Array, joints: Sequence[str]) -> Array:
    """(…, n) currents of torques (…, n)."""
    each = tuple(maps) * (len(joints) if len(maps) == 1 else 1)
    columns = zip(each, np.moveaxis(np.asarray(torque, dtype=float), -1, 0), joints, strict=True)
    return np.stack([one.to_current(x, joint) for one, x, joint in columns], axis=-1)
