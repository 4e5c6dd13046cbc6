"""Intervals instead of values: what a joint's motion can be over a short time, and sound arithmetic with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exciter.typing import Array

Interval = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Lowest and highest q, q̇, q̈ of every joint over M intervals of time, each (n, M)."""

    q_low: Array
    q_high: Array
    qd_low: Array
    qd_high: Array
    qdd_low: Array
    qdd_high: Array


class LoadRange(Protocol):
    """What the torque of the rigid bodies can be over the same M intervals."""

    def __call__(self, links: Array | None = None) -> Interval:
        """Lowest and highest torque (n, M) [N·m or N] of links (n, 10), the description's unless given."""


def times(a: Interval, b: Interval) -> Interval:
    """Every product of a number of a and one of b."""
    products = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    low = np.minimum(np.minimum(products[0], products[1]), np.minimum(products[2], products[3]))
    return low, np.maximum(np.maximum(products[0], products[1]), np.maximum(products[2], products[3]))


def absolute(a: Interval) -> Interval:
    """|x| for every x of a."""
    low = np.maximum(0.0, np.maximum(a[0], -a[1]))
    return low, np.maximum(np.abs(a[0]), np.abs(a[1]))


def plus(a: Interval, b: Interval) -> Interval:
    """Every sum of a number of a and one of b."""
    return a[0] + b[0], a[1] + b[1]


def sine(angle: Interval) -> Interval:
    """sin x for every x of an interval of angles [rad]."""
    return cosine((angle[0] - 0.5 * np.pi, angle[1] - 0.5 * np.pi))


def cosine(angle: Interval) -> Interval:
    """cos x for every x of an interval of angles [rad]."""
    low, high = np.cos(angle[0]), np.cos(angle[1])
    turn = 2.0 * np.pi

    def passes(extreme: float) -> NDArray[np.bool_]:
        return np.floor((angle[1] - extreme) / turn) >= np.ceil((angle[0] - extreme) / turn)

    return (
        np.where(passes(np.pi), -1.0, np.minimum(low, high)),
        np.where(passes(0.0), 1.0, np.maximum(low, high)),
    )
