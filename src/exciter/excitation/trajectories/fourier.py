"""Periodic excitation as finite Fourier series (Swevers et al. 1997, eq. (11) / (5)).

q_j(t) = q0_j + Σ_l a_jl/(ω l) sin(ω l t) − b_jl/(ω l) cos(ω l t): linear in (a, b, q0), joint by joint. The harmonics l
may be any set of whole numbers, so that a band of frequencies is avoided or hit on purpose; each joint i may have its
own N_i of them (ASME, (5)), by name: a heavy first axis few and low ones, the wrist more. Coefficients of those that a
joint has not are zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.linalg import block_diag, null_space

from exciter.errors import ExciterError, MotionError, shown, unknown_name
from exciter.excitation.trajectories.curve import Curve, Extremum
from exciter.excitation.trajectories.trajectory import Duration, Trajectory, as_coefficients
from exciter.settings import Switch
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.typing import Array, BoolArray, Index

LARGEST_PHASE_RAD = 1e9  # [rad]
LEAST_OMEGA_RAD_S = 1e-9  # [rad/s]
HIGHEST_HARMONIC = 200  # extrema are the roots of a polynomial of twice this degree, found in some seconds per joint
LEAST_LEADING_SHARE = 1e-3  # of the largest coefficient of a polynomial, below which its leading one may vanish
MOST_FITTED_HARMONICS = 10_000  # of a series that is fitted to data; a motion for a robot has fewer


@dataclass(frozen=True, eq=False)
class FourierPiece:
    """q = q0 + Σ_l a_l/(ω l) sin(ω l s) − b_l/(ω l) cos(ω l s), s = t − phase_time, for start ≤ t ≤ end [s].
    omega: ω [rad/s]; harmonics (h,): the numbers l; a, b (n, h) [rad/s]; offset: q0 (n,) [rad]."""

    start: float
    end: float
    omega: float
    harmonics: NDArray[np.int64]
    a: Array
    b: Array
    offset: Array
    phase_time: float = 0.0

    def __post_init__(self) -> None:
        if np.ndim(self.harmonics) != 1 or not (np.abs(self.harmonics) <= HIGHEST_HARMONIC).all():
            raise MotionError(
                f"harmonics {shown(np.asarray(self.harmonics).tolist())} of a Fourier series; give a list of whole "
                f"numbers, 1 to {HIGHEST_HARMONIC}"
            )
        for name, kind in (("harmonics", np.int64), ("a", float), ("b", float), ("offset", float)):
            array = np.array(getattr(self, name), dtype=kind)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        n, h = len(self.offset), len(self.harmonics)
        if self.a.shape != (n, h) or self.b.shape != (n, h):
            raise MotionError(f"a {self.a.shape} and b {self.b.shape} of a Fourier series; expected {(n, h)} each")
        numbers = np.concatenate([self.a, self.b, self.offset[:, None]], axis=1)
        if not (np.isfinite(numbers).all() and np.isfinite([self.start, self.end, self.omega, self.phase_time]).all()):
            raise MotionError("a Fourier series contains NaN or infinity; give finite coefficients and times")
        if not (self.end > self.start and self.omega > 0 and h > 0 and (self.harmonics > 0).all()):
            raise MotionError(
                f"a Fourier series from {self.start} to {self.end} s, ω = {self.omega}, harmonics "
                f"{shown(self.harmonics.tolist())}; the end must follow the start, ω and the harmonics must be positive"
            )
        turned = self.omega * self.harmonics.max() * max(abs(t - self.phase_time) for t in (self.start, self.end))
        if not (self.omega >= LEAST_OMEGA_RAD_S and turned <= LARGEST_PHASE_RAD):
            raise MotionError(
                f"a Fourier series with ω = {self.omega:g} rad/s comes to a phase of {turned:g} rad; ω must be at "
                f"least {LEAST_OMEGA_RAD_S:g}, and phases of more than {LARGEST_PHASE_RAD:g} have too few digits left"
            )

    @property
    def n(self) -> int:
        return len(self.offset)

    @property
    def knots(self) -> Array:
        return np.array([self.start, self.end])

    def _phasors(self, order: int) -> NDArray[np.complex128]:
        """(n, h) F with q^(order) = Re Σ_l F_l e^{iω l s}, the offset left out."""
        frequencies = np.float64(self.omega) * self.harmonics
        return -(self.b + 1j * self.a) / frequencies * (1j * frequencies) ** order

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        phase = np.float64(self.omega) * self.harmonics[:, None] * (time - self.phase_time)
        waves = np.concatenate([np.cos(phase), np.sin(phase)])
        phasors = np.stack([self._phasors(k) for k in range(order + 1)])
        values: Array = np.concatenate([phasors.real, -phasors.imag], axis=2) @ waves
        values[0] += self.offset[:, None]
        return values

    def extremum(self, order: int) -> Extremum:
        """At both ends, and at all roots of the next derivative, which is a polynomial in z = e^{iω s}."""
        period = 2.0 * np.pi / self.omega
        turned = self._stationary(self._phasors(order + 1)) / self.omega
        inside = self.start + np.mod(turned + self.phase_time - self.start, period)
        inside = np.where(inside <= self.end, inside, self.start)
        time = np.hstack([np.broadcast_to([self.start, self.end], (self.n, 2)), inside])
        phase = np.float64(self.omega) * self.harmonics[:, None] * (time - self.phase_time)[:, None]
        values = (self._phasors(order)[:, None] @ np.exp(1j * phase)).real[:, 0]
        return Extremum.of(values + self.offset[:, None] if order == 0 else values, time)

    def _stationary(self, phasors: NDArray[np.complex128]) -> Array:
        """(n, 2 top) angles of all roots z of Σ_l F_l z^l + F̄_l z^−l (h,), of every row F; those off the unit circle do
        no harm. Eigenvalues of companion matrices, all at once; of a pencil for a row whose highest harmonic hardly
        moves, for there the leading coefficient would vanish."""
        size, top = np.abs(phasors).max(axis=1), int(self.harmonics.max())
        scaled = phasors / np.where(size > 0.0, size, 1.0)[:, None]
        polynomial = np.zeros((len(phasors), 2 * top + 1), dtype=complex)  # increasing powers, times z^top
        np.add.at(polynomial.T, top + self.harmonics, scaled.T)
        polynomial[:, :top] = polynomial[:, :top:-1].conj()
        left = np.broadcast_to(np.eye(2 * top, k=1, dtype=complex), (len(phasors), 2 * top, 2 * top)).copy()
        leads = np.abs(polynomial[:, -1]) >= LEAST_LEADING_SHARE
        left[leads, -1] = -polynomial[leads, :-1] / polynomial[leads, -1:]
        angles = np.zeros((len(phasors), 2 * top))
        angles[leads] = np.angle(np.linalg.eigvals(left[leads]))
        for row in np.flatnonzero(~leads & (size > 0.0)):
            right = np.eye(2 * top, dtype=complex)
            left[row, -1], right[-1, -1] = -polynomial[row, :-1], polynomial[row, -1]
            alpha, beta = linalg.eigvals(left[row], right, homogeneous_eigvals=True, check_finite=False)
            angles[row] = np.angle(alpha * beta.conj())
        return angles

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        """(4, n, M): |q^(k)| ≤ |q^(k)(centre)| + r |q^(k+1)(centre)| + r²/2 Σ_l |F_l| of order k + 2, r half the width;
        never more than the sum of amplitudes of order k."""
        size = np.abs(self.derivatives(span, 0.5 * (start + end), 5))
        amplitude = [np.abs(self._phasors(k)).sum(axis=1)[:, None] for k in range(7)]
        radius = 0.5 * (end - start)
        taylor = [size[k] + radius * size[k + 1] + 0.5 * radius**2 * amplitude[k + 2] for k in range(1, 5)]
        return np.stack([np.minimum(bound, amplitude[k]) for k, bound in enumerate(taylor, start=1)])

    def shifted(self, dt: float) -> Self:
        return replace(self, start=self.start + dt, end=self.end + dt, phase_time=self.phase_time + dt)


class HarmonicsByJoint(dict[str, int | tuple[int, ...]]):
    """How many, or which, in the order of the joints where it was put into it; a family that has them hashes."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def __eq__(self, other: object) -> bool:
        """In another order it is another family: rows of coefficients have no names."""
        return isinstance(other, HarmonicsByJoint) and list(self.items()) == list(other.items())


def _numbers_of(given: int | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(1, given + 1)) if isinstance(given, int) else tuple(sorted(given))


@dataclass(frozen=True)
class Harmonics(Kind):
    """Of all joints, or by joint. most: of a motion; a series that Python code fits to data may have more."""

    most: int = HIGHEST_HARMONIC

    @property
    def wanted(self) -> str:
        return f"how many, a whole number ≥ 1, or a list of different ones, at most {self.most}; or such by joint"

    def value(self, given: Any) -> Any:
        return super(Harmonics, replace(self, most=MOST_FITTED_HARMONICS)).value(given)

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, Mapping) and given:
            found = HarmonicsByJoint()
            for name, one in given.items():
                with inside(f": {name}"):
                    found[str(name)] = self._of_one(one)
            return found
        return self._of_one(given)

    def _of_one(self, given: Any) -> int | tuple[int, ...]:
        numbers = given if isinstance(given, list | tuple) else [given]
        whole = bool(numbers) and all(type(k) is int and 1 <= k <= self.most for k in numbers)
        if not whole or len(set(numbers)) < len(numbers):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return tuple(numbers) if isinstance(given, list | tuple) else int(given)

    def schema(self) -> dict[str, Any]:
        one = {"type": "integer", "minimum": 1, "maximum": HIGHEST_HARMONIC}
        several = {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}
        each = {"type": "object", "additionalProperties": {"anyOf": [one, several]}, "minProperties": 1}
        return {"anyOf": [one, several, each]}


@dataclass(frozen=True)
class Fourier(Trajectory):
    """A Fourier series of each joint: periodic, so that a log of several periods can be averaged.

    period [s]; harmonics: how many (1 … h), or which, of all joints or by name; at_rest: q̇(0) = q̈(0) = 0.

    Coefficients (n, 2 h + 1), columns a_l …, b_l …, q0 [rad/s, rad/s, rad], l all that any joint has.

    >>> ex.design(robot, ex.Fourier(period=5, harmonics=(1, 2, 4), at_rest=True), starts=1).curve.duration
    5.0
    >>> each = {"joint_1": 2, "joint_2": 4, "joint_3": (1, 3)}
    >>> motion = ex.design(robot, ex.Fourier(period=5, harmonics=each), starts=1)
    >>> motion.design.delta[0, 2:4].tolist()  # a3 and a4 of the first joint
    [0.0, 0.0]"""

    word, title, periodic = "fourier", "Fourier series", True
    period: Duration = 10.0
    harmonics: Annotated[int | tuple[int, ...] | Mapping[str, int | tuple[int, ...]], Harmonics()] = 5
    at_rest: Switch = False

    def __post_init__(self) -> None:
        if isinstance(self.harmonics, tuple):
            object.__setattr__(self, "harmonics", tuple(sorted(self.harmonics)))
        elif isinstance(self.harmonics, Mapping):
            each = ((name, own if isinstance(own, int) else _numbers_of(own)) for name, own in self.harmonics.items())
            object.__setattr__(self, "harmonics", HarmonicsByJoint(each))
        for name, own in (self._each or {"": self.numbers}).items():
            if self.at_rest and len(own) < 2:
                of_joint = f" of joint '{name}'" if name else ""
                raise ExciterError(f"one harmonic{of_joint} that starts at rest cannot move; give two or more")

    @cached_property
    def _each(self) -> dict[str, tuple[int, ...]] | None:
        """By joint, increasing; None where all have the same."""
        if not isinstance(self.harmonics, Mapping):
            return None
        return {name: _numbers_of(own) for name, own in self.harmonics.items()}

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The harmonics l, increasing, that any joint has."""
        if self._each is not None:
            return tuple(sorted(set().union(*self._each.values())))
        assert not isinstance(self.harmonics, Mapping)
        return _numbers_of(self.harmonics)

    def of_joints(self, names: Sequence[str]) -> Self:
        if not isinstance(given := self.harmonics, Mapping):
            return self
        for name in given:
            if name not in names:
                raise ExciterError(f"harmonics: {unknown_name('joint', name, names)}")
        for name in names:
            if name not in given:
                raise ExciterError(f"harmonics say nothing of joint '{name}'; give them for every joint")
        return replace(self, harmonics=HarmonicsByJoint({name: given[name] for name in names}))

    def _missing(self, n: int) -> BoolArray | None:
        """(n, c) coefficients that a joint has not; None where every joint has all."""
        if self._each is None:
            return None
        if len(self._each) != n:
            raise MotionError(
                f"harmonics of {len(self._each)} joints, and coefficients of {n}; give one entry per joint"
            )
        absent = np.array([[number not in own for number in self.numbers] for own in self._each.values()])
        return np.hstack([absent, absent, np.zeros((n, 1), dtype=bool)])

    def shares(self, n: int) -> tuple[Array, ...] | None:
        if (missing := self._missing(n)) is None:
            return None
        return tuple(np.asarray(null_space(self.free[row])) for row in missing)

    def nearest(self, delta: Array) -> Array:
        missing, near = self._missing(len(delta)), super().nearest(delta)
        return near if missing is None else np.where(missing, 0.0, near)

    @property
    def duration(self) -> float:  # type: ignore[override]
        """[s] one period."""
        return self.period

    @property
    def labels(self) -> tuple[str, ...]:
        return (*(f"{letter}{l}" for letter in "ab" for l in self.numbers), "q0")

    @property
    def time_powers(self) -> NDArray[np.int64]:
        """a and b are velocities, q0 is a position."""
        return np.array([1] * (self.coefficients - 1) + [0])

    @cached_property
    def free(self) -> Array:
        """Z (c, v): all coefficients, or those with Σ a_l = 0 (velocity) and Σ l b_l = 0 (acceleration) at t = 0."""
        if not self.at_rest:
            return np.eye(self.coefficients)
        number = np.array([self.numbers], dtype=float)
        return np.asarray(block_diag(null_space(np.ones_like(number)), null_space(number), 1.0), dtype=float)

    def basis(self, time: Array, order: int = 2) -> tuple[Array, ...]:
        omega = 2.0 * np.pi / self.period * np.array(self.numbers)
        phase, h = np.outer(time, omega), len(self.numbers)
        sin, cos = np.sin(phase), np.cos(phase)
        turns = (sin, 1.0), (cos, 1.0), (sin, -1.0), (cos, -1.0)  # derivatives of the sine, in turn
        found = np.empty((order + 1, len(time), 2 * h + 1))
        for k, basis in enumerate(found):
            (of_a, sign_a), (of_b, sign_b) = turns[k % 4], turns[(k - 1) % 4]  # of sin, of −cos
            np.multiply(of_a, sign_a * omega ** (k - 1), out=basis[:, :h])
            np.multiply(of_b, sign_b * omega ** (k - 1), out=basis[:, h : 2 * h])
            basis[:, -1] = k == 0
        return tuple(found)

    def curve(self, delta: ArrayLike) -> Curve:
        delta = as_coefficients(delta, self.coefficients)
        if (missing := self._missing(len(delta))) is not None and delta[missing].any():
            joint = list(self._each or ())[int(np.flatnonzero((missing & (delta != 0.0)).any(axis=1))[0])]
            raise MotionError(f"coefficients of harmonics that joint '{joint}' has not; they must be zero")
        a, b = np.split(delta[:, :-1], 2, axis=1)
        omega = 2.0 * np.pi / self.period
        return Curve((FourierPiece(0.0, self.period, omega, np.array(self.numbers), a, b, delta[:, -1]),))

    def with_duration(self, duration: float) -> Self:
        return replace(self, period=duration)
