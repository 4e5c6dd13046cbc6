"""Which equations a stage uses, by what the motion does at their instants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.robot.motion import Motion
from exciter.settings import NonNegative, Settings

BoolArray = NDArray[np.bool_]


class Selection(Settings, ABC):
    """A rule, without data."""

    @abstractmethod
    def chosen(self, motion: Motion) -> BoolArray:
        """(N, n): instants at which the equation of each joint is used."""


@dataclass(frozen=True)
class Everything(Selection):
    def chosen(self, motion: Motion) -> BoolArray:
        return np.ones(motion.q.shape, dtype=bool)


@dataclass(frozen=True)
class Unused(Selection):
    """All that no earlier stage uses."""

    def chosen(self, motion: Motion) -> BoolArray:
        return np.ones(motion.q.shape, dtype=bool)


@dataclass(frozen=True)
class AtRest(Selection):
    """All joints slower than ``speed`` [rad/s or m/s] and accelerated by less than ``acceleration`` [rad/s², m/s²]."""

    speed: NonNegative = 1e-3
    acceleration: NonNegative = 0.05

    def __post_init__(self) -> None:
        _not_negative(self)

    def chosen(self, motion: Motion) -> BoolArray:
        still = (np.abs(motion.qd) <= self.speed) & (np.abs(motion.qdd) <= self.acceleration)
        return np.broadcast_to(still.all(axis=1, keepdims=True), motion.q.shape)


@dataclass(frozen=True)
class ConstantVelocity(Selection):
    """The joint moves, faster than ``slowest`` [rad/s or m/s], and is accelerated by less than ``acceleration``
    [rad/s² or m/s²]; whatever the other joints do."""

    slowest: NonNegative = 0.05
    acceleration: NonNegative = 0.05

    def __post_init__(self) -> None:
        _not_negative(self)

    def chosen(self, motion: Motion) -> BoolArray:
        return (np.abs(motion.qd) >= self.slowest) & (np.abs(motion.qdd) <= self.acceleration)


def _not_negative(settings: AtRest | ConstantVelocity) -> None:
    if not all(np.isfinite(value) and value >= 0.0 for value in vars(settings).values()):
        raise ParameterError(f"{settings}: give numbers that are not negative")
