"""What every constraint offers: rows c ≥ 0 at the samples of a motion, their derivatives, and bounds between samples.

Rows are dimensionless so that one trust region and one margin fit all: torque 1 ∓ τ/τ_max, distance d / 0.1 m.
A constraint is a frozen settings object bound to a robot; linear joint limits are treated apart (``joint_limits``),
because they are linear in the coefficients.

A constraint that rests on data which a description may lack says so itself: its rows are ``assumed`` then, and its
property ``unchecked``, which most need not have, gives a sentence each ("torque of joint_2: …") on what is not checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from exciter.excitation.certificate.spans import Spans
from exciter.robot.motion import Motion
from exciter.typing import Array

LENGTH = 0.1  # [m] a clearance of this length counts as one


@dataclass(frozen=True, eq=False)
class Rows:
    """Values c (K, N) and derivatives ∂c/∂q, ∂c/∂q̇, ∂c/∂q̈ (K, n, N), samples last; None where nothing depends on it."""

    values: Array
    dq: Array
    dqd: Array | None = None
    dqdd: Array | None = None


@dataclass(frozen=True)
class RowName:
    """What one row limits, for people: c = (limit − value)/scale for an upper limit, (value − limit)/scale for a
    lower one."""

    what: str  # "torque", "height", "distance" …
    where: str  # joint, frame or pair of bodies
    unit: str
    limit: float
    scale: float
    upper: bool  # the value must stay below the limit
    assumed: bool = False  # the limit or the data behind it is missing: that a row is kept is no proof


@runtime_checkable
class Constraint(Protocol):
    """K rows that must be ≥ 0 at every instant."""

    @property
    def rows(self) -> tuple[RowName, ...]:
        """What the K rows are."""

    def values(self, motion: Motion) -> Array:
        """c (K, N)."""

    def linearised(self, motion: Motion) -> Rows:
        """c and its derivatives with respect to q, q̇, q̈ of the same sample."""

    def lower_bounds(self, spans: Spans) -> Array:
        """(K, M): c is at least this throughout each of M short intervals; −inf where nothing can be said."""
