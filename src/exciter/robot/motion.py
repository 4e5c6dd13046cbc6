"""A motion: what the joints do over time. Arrays are read-only, one row per sample, one column per joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import MotionError, shown
from exciter.typing import Array, BoolArray


def as_numbers(given: object, name: str) -> Array:
    """An array of what Python code gives for ``name``."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise MotionError(f"{name} is {shown(given)}; give an array of numbers") from None


def freeze(owner: object, *names: str) -> None:
    """Make arrays of a frozen object its own and read-only: what a caller does later is theirs. None stays."""
    for name in names:
        if (given := getattr(owner, name)) is not None:
            array = as_numbers(given, name).copy()
            array.flags.writeable = False
            object.__setattr__(owner, name, array)


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples of q, q̇, q̈, each (N, n) [rad, rad/s, rad/s² or m, …], at ``time`` (N,) [s], increasing.

    >>> time = np.linspace(0, 1, 101)
    >>> q = np.outer(np.sin(time), [1.0, 0.5, 0.2])
    >>> swing = ex.Motion(time, q, np.gradient(q, time, axis=0), -q)
    >>> len(swing), swing.n
    (101, 3)"""

    time: Array
    q: Array
    qd: Array
    qdd: Array

    def __post_init__(self) -> None:
        freeze(self, "time", "q", "qd", "qdd")
        if self.q.ndim != 2 or self.time.shape != (self.q.shape[0],):
            raise MotionError(f"q has shape {self.q.shape} and time {self.time.shape}; expected (N, n) and (N,)")
        shapes = [x.shape for x in (self.q, self.qd, self.qdd)]
        if len(set(shapes)) > 1:
            raise MotionError(f"q, q̇ and q̈ must have one shape; given {', '.join(map(str, shapes))}")
        if len(self.time) > 1 and (self.time[1:] < self.time[:-1]).any():
            raise MotionError("the time of a motion must not run backwards; sort or cut the samples")
        for name in ("time", "q", "qd", "qdd"):
            if not np.isfinite(getattr(self, name)).all():
                raise MotionError(f"{name} of the motion contains NaN or infinity; repair or cut those samples")

    def __repr__(self) -> str:
        return f"<motion of {self.n} joints: {len(self)} samples>"

    @classmethod
    def at(cls, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None) -> Motion:
        """Samples that are not a time series (random states, static poses): time counts 0, 1, 2, …"""
        q = np.atleast_2d(np.asarray(q, dtype=float))
        rates = (np.zeros_like(q) if x is None else np.atleast_2d(np.asarray(x, dtype=float)) for x in (qd, qdd))
        return cls(np.arange(len(q), dtype=float), q, *rates)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: slice | BoolArray) -> Motion:
        """Some of the samples, in order."""
        return Motion(time=self.time[part], q=self.q[part], qd=self.qd[part], qdd=self.qdd[part])

    def followed_by(self, later: Motion) -> Motion:
        """Both, one after the other."""
        pairs = ((getattr(self, name), getattr(later, name)) for name in ("time", "q", "qd", "qdd"))
        return Motion(*(np.concatenate(pair) for pair in pairs))

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @cached_property
    def samples_last(self) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ as contiguous (n, N), read-only: one row per joint, what kernels and joint terms work on."""
        q, qd, qdd = (np.ascontiguousarray(x.T) for x in (self.q, self.qd, self.qdd))
        q.flags.writeable = qd.flags.writeable = qdd.flags.writeable = False
        return q, qd, qdd


@dataclass(frozen=True, eq=False)
class MotionGradient:
    """Gradient of a scalar with respect to every sample of a motion; shapes as in ``Motion``, memory samples last."""

    q: Array
    qd: Array
    qdd: Array

    @classmethod
    def sum(cls, motion: Motion, parts: Sequence[MotionGradient]) -> MotionGradient:
        """All parts together; zero when there are none."""
        if not parts:
            q, qd, qdd = np.zeros((3, motion.n, len(motion)))
            return cls(q.T, qd.T, qdd.T)
        return reduce(MotionGradient.__add__, parts)

    def __add__(self, other: MotionGradient) -> MotionGradient:
        return MotionGradient(q=self.q + other.q, qd=self.qd + other.qd, qdd=self.qdd + other.qdd)
