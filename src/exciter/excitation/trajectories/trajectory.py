"""What every trajectory family offers: motions that are linear in their coefficients.

A family (Fourier, B-spline, quintic, piecewise acceleration) is a small settings object. Joint j moves by
q_j(t) = B₀(t) δ_j, q̇_j = B₁ δ_j, q̈_j = B₂ δ_j, the same basis for all joints, coefficients δ (n, c).
Conditions such as rest at both ends are linear too: δ_j = Z x_j with the family's map Z (c, v); the optimiser
moves x (n, v) and never sees the conditions. Where a joint may do less than another (fewer harmonics), its x_j are
x_j = E_j z_j of some z_j, v_j ≤ v of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Number, Settings
from exciter.typing import Array

SHORTEST_MOTION_S, LONGEST_MOTION_S = 1e-3, 1e6  # [s] beyond which no robot is meant, and numbers overflow
Duration = Annotated[float, Number(least=SHORTEST_MOTION_S, most=LONGEST_MOTION_S, unit="s")]
SPECTRUM_SAMPLES = 4096
SPECTRUM_POWER_SHOWN = 0.999  #: share of the acceleration's power that lies below the highest frequency shown


class Family(Settings):
    """Settings of a kind of motion. All of them are written: what a file means must not change with a default."""

    tag: ClassVar[str] = "family"
    complete: ClassVar[bool] = True

    def entry(self, data: Any) -> Any:
        """One of Python code alone need not have a word."""
        return {self.tag: getattr(type(self), "word", type(self).__name__), **data}


class Trajectory(Family, ABC):
    """A family of motions, linear in its coefficients; with its own duration, labels, basis and curve."""

    duration: float  # [s] of the exciting part: one period, or from start to end
    periodic: ClassVar[bool] = False  # whether the end joins the start smoothly, so that the motion may be repeated

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Names of the c coefficients, for tables and files."""

    @abstractmethod
    def basis(self, time: Array, order: int = 2) -> tuple[Array, ...]:
        """B₀ … B_order (N, c) at times within [0, duration]: the k-th derivative is B_k δ."""

    @abstractmethod
    def curve(self, delta: ArrayLike) -> Curve:
        """The exact motion of coefficients (n, c) over [0, duration], for certificates and files."""

    @property
    def coefficients(self) -> int:
        """c: coefficients per joint."""
        return len(self.labels)

    @property
    def time_powers(self) -> NDArray[np.int64]:
        """(c,): powers p of 1/s in the coefficients' units, zero of positions. The same path in another time has
        coefficients δ_i (old / new)^p_i; Z does not change with the duration."""
        return np.zeros(self.coefficients, dtype=np.int64)

    @property
    def free(self) -> Array:
        """Z (c, v): δ_j = Z x_j fulfils the family's conditions (rest at the ends …) for every x_j (v,)."""
        return np.eye(self.coefficients)

    def of_joints(self, names: Sequence[str]) -> Self:
        """For joints of these names, in this order: what is said by name is put into it."""
        return self

    def shares(self, n: int) -> tuple[Array, ...] | None:
        """E_j (v, v_j) with orthonormal columns, of each of n joints; None where every joint has all of Z."""
        return None

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """(n, c) normally distributed x of n joints, as coefficients."""
        delta = rng.standard_normal((n, self.free.shape[1])) @ self.free.T
        return delta if self.shares(n) is None else self.nearest(delta)

    def nearest(self, delta: Array) -> Array:
        """(n, c) the coefficients themselves where they fulfil the family's conditions, else those near to them."""
        x, shares = np.linalg.lstsq(self.free, delta.T)[0], self.shares(len(delta))
        if shares is not None:
            x = np.array([share @ (share.T @ one) for share, one in zip(shares, x.T, strict=True)]).T
        return np.asarray((self.free @ x).T)

    def sample_times(self, count: int) -> Array:
        """(count,) [s] at which a criterion is sampled: evenly from start to end; of a period without its end."""
        return np.linspace(0.0, self.duration, count, endpoint=not self.periodic)

    def still(self, posture: ArrayLike) -> Array:
        """Coefficients (n, c) of standing still at a posture (n,): every position is that, all else is zero."""
        return np.outer(np.asarray(posture, dtype=float), self.time_powers == 0)

    def with_duration(self, duration: float) -> Self:
        """The same family in another time: at normalised time, column i of B_k scales with (old / new)^(k − p_i)."""
        return replace(self, duration=duration)  # type: ignore[type-var]


AnyTrajectory = TypeVar("AnyTrajectory", bound=Trajectory)


def as_coefficients(delta: ArrayLike, c: int) -> Array:
    """Coefficients as (n, c), from that shape or flat; an error says what was expected."""
    delta = np.asarray(delta, dtype=float)
    if delta.size == 0 or (delta.shape[-1] != c and not (delta.ndim == 1 and delta.size % c == 0)):
        raise MotionError(f"coefficients of shape {delta.shape}; this trajectory has {c} per joint: (n, {c})")
    return delta.reshape(-1, c)


def retimed(trajectory: AnyTrajectory, delta: ArrayLike, duration: float) -> tuple[AnyTrajectory, Array]:
    """The same path in another duration [s]: the k-th derivative scales with (old / new)^k."""
    factor = (trajectory.duration / duration) ** trajectory.time_powers
    return trajectory.with_duration(duration), as_coefficients(delta, trajectory.coefficients) * factor


def motion(trajectory: Trajectory, delta: ArrayLike, time: Array) -> Motion:
    """The motion of coefficients (n, c) at given times."""
    delta = as_coefficients(delta, trajectory.coefficients)
    q, qd, qdd = (basis @ delta.T for basis in trajectory.basis(time))
    return Motion(time, q, qd, qdd)


def pullback(trajectory: Trajectory, time: Array, gradient: MotionGradient) -> Array:
    """Gradient with respect to the coefficients (n, c), from that with respect to every sample at these times."""
    bars = gradient.q, gradient.qd, gradient.qdd
    return np.asarray(sum(bar.T @ basis for bar, basis in zip(bars, trajectory.basis(time), strict=True)))


@dataclass(frozen=True, eq=False)
class AccelerationSpectrum:
    """Amplitudes (F, n) of q̈ [rad/s² or m/s²] at frequencies (F,) [Hz]. exact: lines of a period, else smeared."""

    frequency: Array
    amplitude: Array
    exact: bool


def acceleration_spectrum(trajectory: Trajectory, delta: Array) -> AccelerationSpectrum:
    """Of the exciting part, without ramps: the Fourier lines of one period, or windowed (Hann) when not periodic."""
    qdd = motion(trajectory, delta, np.linspace(0.0, trajectory.duration, SPECTRUM_SAMPLES, endpoint=False)).qdd
    window = np.ones(SPECTRUM_SAMPLES) if trajectory.periodic else np.hanning(SPECTRUM_SAMPLES)
    lines = np.abs(np.fft.rfft(qdd * window[:, None], axis=0)) / window.sum()
    lines[1:] *= 2.0  # a sine has half of its amplitude at −f
    power = np.cumsum((lines**2).sum(axis=1))
    last = int(np.searchsorted(power, SPECTRUM_POWER_SHOWN * power[-1])) if power[-1] > 0 else 0
    shown = min(max(int(1.25 * last) + 2, 8), len(lines))
    frequency = np.arange(shown, dtype=np.float64) / trajectory.duration
    return AccelerationSpectrum(frequency=frequency, amplitude=lines[:shown], exact=trajectory.periodic)
