"""Ranges of the channels, and what touches the description's limits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exciter.experiment.quality.tally import Index
from exciter.experiment.recording.recording import Recording
from exciter.robot.robot import Robot
from exciter.typing import Array

TINY = 1e-300  # a gain of zero has no limit


class Values:
    """lowest, highest (n,) per signal; at_limit (n,): samples at or beyond the description's limit."""

    def __init__(self, limits: Mapping[str, tuple[Array, Array]], near: float) -> None:
        self.limits, self._near = dict(limits), near
        self.lowest: dict[str, Array] = {}
        self.highest: dict[str, Array] = {}
        self.at_limit: dict[str, Index] = {}

    def see(self, piece: Recording, old: int) -> None:
        self._limit_current(piece)
        for name in piece.signals:
            x = getattr(piece, name)[old:]
            finite = np.isfinite(x)
            low, high = np.where(finite, x, np.inf).min(axis=0), np.where(finite, x, -np.inf).max(axis=0)
            self.lowest[name] = np.minimum(self.lowest.get(name, low), low)
            self.highest[name] = np.maximum(self.highest.get(name, high), high)
            if name in self.limits:
                lower, upper = self.limits[name]
                margin = self._near * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
                count = ((x <= lower + margin) | (x >= upper - margin)).sum(axis=0)
                self.at_limit[name] = self.at_limit.get(name, np.zeros_like(count)) + count

    def _limit_current(self, piece: Recording) -> None:
        """The torque's limits as currents, where gains are known and no torque was recorded."""
        gains = piece.about.gains
        if "torque" in self.limits and "current" in piece.signals and "torque" not in piece.signals and gains:
            most = self.limits["torque"][1] / np.maximum(np.abs(gains), TINY)
            self.limits["current"] = (-most, most)

    def range(self, name: str) -> Array:
        """(n,) highest − lowest, 0 where nothing is known."""
        span = self.highest[name] - self.lowest[name]
        return np.where(np.isfinite(span), span, 0.0)


def limits_of(robot: Robot | None) -> dict[str, tuple[Array, Array]]:
    """Lower and upper limits (n,) by signal, infinite where there is none."""
    if robot is None:
        return {}
    symmetric = {"qd": robot.limit("velocity"), "torque": robot.limit("torque")}
    position = {"q": (robot.limit("lower"), robot.limit("upper"))}
    return {**position, **{name: (-limit, limit) for name, limit in symmetric.items()}}


def placeholder(limit: Array) -> bool:
    """Whether limits look like those of a description that has none: finite, and the same for three joints or more."""
    return bool(len(limit) >= 3 and np.isfinite(limit).all() and np.ptp(limit) == 0.0)
