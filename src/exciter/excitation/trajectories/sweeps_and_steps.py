"""Families that excite drives: sines whose frequency is swept, and steps from level to level.

A drive that is told a position answers with delay, lag and overshoot: over a band of frequencies, or after a sudden
change. A robot cannot be told a jump, so that steps are quintics from rest to rest in a short time. The third of the
kind, a sum of sines, is a Fourier series (``Fourier``).

Both are piecewise quintics, so that their extrema are exact like those of any spline: a swept sine is the quintic
spline with its position, velocity and acceleration at knots that lie densely in every cycle; that spline, and not the
sine between the knots, is the family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError, shown
from exciter.excitation.trajectories.piecewise import MOST_FAMILY_SPANS, PiecewisePolynomial
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece, hermite
from exciter.excitation.trajectories.trajectory import Duration
from exciter.settings import Number, Positive, Settings, Whole, keys_of
from exciter.settings.fill import checked, filled
from exciter.typing import Array

SPANS_PER_CYCLE, SPANS_PER_RISE = 12.0, 8.0  # of a swept sine, and of what lets it grow from rest
INSTANTS_PER_SPAN = 8  # at which knots are looked for
MOST_SWEEP_SPANS = 10_000  # a family of few coefficients, so that its basis stays small
MOST_CHIRP_SWEEPS = 200
MOST_STEPS = MOST_FAMILY_SPANS // 2 - 1  # each is a span, and so is each hold
LEAST_RATIO_LOGARITHM = 1e-6  # of frequencies; below it the frequency is one


@dataclass(frozen=True)
class Chirp(PiecewisePolynomial):
    """Sines of each joint about a position, whose frequency is swept; at rest at both ends, and between sweeps.

    duration [s], shared by sweeps one after the other; from lowest to highest [Hz], exponentially, in each. fall:
    amplitudes go with frequency^−fall (0: one amplitude of position, 1: of velocity, 2: of acceleration). rise: part of
    a sweep in which it grows from rest, and in which it comes to rest.

    Coefficients (n, 1 + 2 sweeps): q0, then the sine and the cosine of every sweep, each by its amplitude at the lowest
    frequency [rad]. A joint that has a sweep of its own moves alone in it.

    >>> ex.design(robot, ex.Chirp(duration=6, lowest=0.2, highest=1.0, sweeps=2), starts=1).curve.duration
    6.0"""

    word, title = "chirp", "sines with a swept frequency"
    duration: Duration = 10.0
    lowest: Annotated[float, Number(above=0.0, unit="Hz")] = 0.2
    highest: Annotated[float, Number(above=0.0, unit="Hz")] = 2.0
    sweeps: Annotated[int, Whole(1, MOST_CHIRP_SWEEPS)] = 1
    fall: Annotated[float, Number(least=0.0, most=3.0)] = 1.0
    rise: Annotated[float, Number(least=0.01, most=0.5)] = 0.1

    def __post_init__(self) -> None:
        if not self.lowest <= self.highest:
            raise ExciterError(f"frequencies from {self.lowest:g} to {self.highest:g} Hz; give lowest ≤ highest")
        if self.sweeps * self._spans_each > MOST_SWEEP_SPANS:
            most = (MOST_SWEEP_SPANS / self.sweeps - SPANS_PER_RISE / self.rise) / SPANS_PER_CYCLE * self.sweeps
            raise ExciterError(
                f"{self.sweeps * self._cycles(1.0):.0f} cycles of a swept sine; at most {max(0.0, most):.0f} are "
                "allowed: give a shorter duration, or lower frequencies"
            )

    @property
    def labels(self) -> tuple[str, ...]:
        return ("q0", *(f"{wave}{k + 1}" for k in range(self.sweeps) for wave in ("sin", "cos")))

    def still(self, posture: ArrayLike) -> Array:
        """All but q0 are amplitudes."""
        return np.outer(np.asarray(posture, dtype=float), np.eye(1, self.coefficients)[0])

    def with_duration(self, duration: float) -> Self:
        slower = self.duration / duration
        return replace(self, duration=duration, lowest=self.lowest * slower, highest=self.highest * slower)

    @property
    def _growth(self) -> float:
        """Logarithm of the ratio of frequencies."""
        return float(np.log(self.highest / self.lowest))

    def _cycles(self, u: Any) -> Any:
        """That are done at a part u of a sweep."""
        first, growth = self.lowest * self.duration / self.sweeps, self._growth
        return first * (u if growth < LEAST_RATIO_LOGARITHM else np.expm1(growth * u) / growth)

    @property
    def _spans_each(self) -> int:
        return int(np.ceil(SPANS_PER_CYCLE * self._cycles(1.0) + SPANS_PER_RISE / self.rise))

    @cached_property
    def _knots(self) -> Array:
        """(S + 1,) of one sweep, parts of it: equally far apart in cycles and time together."""
        count = self._spans_each
        fine = np.linspace(0.0, 1.0, INSTANTS_PER_SPAN * count + 1)
        done = SPANS_PER_CYCLE * self._cycles(fine) + SPANS_PER_RISE / self.rise * fine
        knots = np.interp(np.linspace(0.0, done[-1], count + 1), done, fine)
        knots[0], knots[-1] = 0.0, 1.0
        return knots

    @cached_property
    def functions(self) -> PolynomialPiece:
        u, width = self._knots, self.duration / self.sweeps
        waves = hermite(np.diff(u), *(self._waves(u)[:, :, part] for part in (slice(None, -1), slice(1, None))))
        waves = waves * width ** -np.arange(6.0)  # powers of seconds
        count = len(u) - 1
        pieces = np.zeros((self.coefficients, self.sweeps * count, 6))
        pieces[0, :, 0] = 1.0
        for k in range(self.sweeps):
            pieces[1 + 2 * k : 3 + 2 * k, k * count : (k + 1) * count] = waves
        starts = (np.arange(self.sweeps)[:, None] + u[:-1]).ravel() * width
        return PolynomialPiece(np.append(starts, self.duration), pieces)

    def _waves(self, u: Array) -> Array:
        """(3, 2, N): sine and cosine with the amplitude of the moment, and their derivatives by the part u."""
        phase = 2.0 * np.pi * self._cycles(u)
        rate = 2.0 * np.pi * self.lowest * self.duration / self.sweeps * np.exp(self._growth * u)
        e0, e1, e2 = self._grown(u)
        down, slope = np.exp(-self.fall * self._growth * u), -self.fall * self._growth
        a0, a1, a2 = down * e0, down * (e1 + slope * e0), down * (e2 + 2.0 * slope * e1 + slope**2 * e0)
        sin, cos = np.sin(phase), np.cos(phase)
        found = []
        for wave, turned in ((sin, cos), (cos, -sin)):  # and its derivative by the phase
            first = a1 * wave + a0 * rate * turned
            second = a2 * wave + (2.0 * a1 + a0 * self._growth) * rate * turned - a0 * rate**2 * wave
            found.append([a0 * wave, first, second])
        return np.array(found).transpose(1, 0, 2)

    def _grown(self, u: Array) -> Array:
        """(3, N): from 0 to 1 within ``rise`` and back, with two derivatives: a quintic, and its mirror image."""
        x = np.clip(np.minimum(u, 1.0 - u) / self.rise, 0.0, 1.0)
        side = np.where(u < 0.5, 1.0, -1.0) / self.rise
        shape = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        return np.array([shape, 30.0 * (x * (1.0 - x)) ** 2 * side, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) * side**2])


@dataclass(frozen=True)
class EvenSteps(Settings):
    """Instead of times, in a file."""

    duration: Duration = 10.0
    steps: Annotated[int, Whole(1, MOST_STEPS)] = 8
    rise: Annotated[float, Number(above=0.0, unit="s")] = 0.5


@dataclass(frozen=True)
class Steps(PiecewisePolynomial):
    """Steps from level to level, each a quintic from rest to rest, with a hold before and after each.

    rises [s]: how long each step takes; holds [s]: how long all joints stand before the first, between, and after the
    last, one more than there are steps.

    Coefficients (n, steps + 1): the levels [rad]. A joint whose level does not change stands still in that step.

    >>> ex.design(robot, ex.Steps(rises=(0.5, 0.75, 0.5), holds=(0.25, 1.0, 0.5, 1.0)), starts=1).curve.duration
    4.5"""

    word, title = "steps", "steps from level to level"
    also: ClassVar[type[Settings]] = EvenSteps
    rises: tuple[Positive, ...]
    holds: tuple[Annotated[float, Number(least=0.0, unit="s")], ...]

    def __post_init__(self) -> None:
        if len(self.rises) > MOST_STEPS:
            raise ExciterError(f"{len(self.rises)} steps; at most {MOST_STEPS}")
        if not self.rises or len(self.holds) != len(self.rises) + 1:
            raise ExciterError(
                f"rises {shown(self.rises)} and holds {shown(self.holds)} of steps; give one hold more than rises"
            )
        checked(Duration, self.duration, "the duration of all steps")

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if context.get("exact"):
            return given
        even = {key: given.get(key) for key in keys_of(EvenSteps)}
        rest = {key: value for key, value in given.items() if key not in even}
        if rest.get("rises") is None and rest.get("holds") is None:
            made = cls.even(**vars(filled(EvenSteps, even, context)))
            rest["rises"], rest["holds"] = made.rises, made.holds
        return rest

    @classmethod
    def even(cls, duration: float, steps: int, rise: float) -> Self:
        """Equal steps and holds."""
        hold = (duration - steps * rise) / (steps + 1)
        if hold < 0.0:
            raise ExciterError(f"{steps} steps of {rise:g} s take more than {duration:g} s; give fewer or shorter ones")
        return cls((rise,) * steps, (hold,) * (steps + 1))

    @property
    def duration(self) -> float:  # type: ignore[override]
        """[s] of all steps and holds."""
        return float(sum(self.rises) + sum(self.holds))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"q{i}" for i in range(len(self.holds)))

    @cached_property
    def functions(self) -> PolynomialPiece:
        """The share of each level: 1 where the joints stand at it."""
        levels, still = np.eye(self.coefficients), np.eye(1, 6)[0]
        spans = [(self.holds[0], np.outer(levels[0], still))]
        for i, rise in enumerate(self.rises):
            done = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0]) / rise ** np.arange(6.0)
            spans.append((rise, np.outer(levels[i], still - done) + np.outer(levels[i + 1], done)))
            spans.append((self.holds[i + 1], np.outer(levels[i + 1], still)))
        widths, shares = zip(*((width, share) for width, share in spans if width > 0.0), strict=True)
        return PolynomialPiece(np.concatenate([[0.0], np.cumsum(widths)]), np.stack(shares, axis=1))

    def with_duration(self, duration: float) -> Self:
        scale = duration / self.duration
        return replace(
            self, rises=tuple(scale * one for one in self.rises), holds=tuple(scale * one for one in self.holds)
        )
