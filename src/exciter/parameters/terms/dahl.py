"""Dry friction with pre-sliding after Dahl (1968): near a reversal the contact bends before it slides.

dz/dq = (1 − z sgn q̇)/δ. Between two samples the joint is taken to move one way, so the step is exact:

    z_{k+1} = s + (z_k − s) e^{−|Δq|/δ},   Δq = q_{k+1} − q_k,   s = sgn Δq.

z depends on the path alone, not on speed; δ → 0 gives the true sign of the motion, and at rest z stays
where it is. The samples must be one recording in the order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from exciter.parameters.terms.per_joint import OfNamedJoints, PerJoint, Travel, check_positive, check_within, per_joint
from exciter.parameters.terms.ranges import Interval
from exciter.parameters.terms.shape import BoundShape, FrictionShape
from exciter.typing import Array


@dataclass(frozen=True)
class Dahl(FrictionShape):
    """Pre-sliding; delta δ [rad or m] is the travel over which the friction builds up, one or per joint.

    start: z before the first sample's motion, in −1 … 1, one or per joint. Motor-side encoders see δ of some
    0.02–0.2 mrad, link-side encoders 0.5–4 mrad.
    """

    word: ClassVar[str] = "dahl"
    title: ClassVar[str] = "Dahl pre-sliding"
    delta: Travel
    start: Annotated[PerJoint, OfNamedJoints(least=-1.0)] = 0.0

    def __post_init__(self) -> None:
        check_positive(self.delta, "delta of Dahl")
        check_within(self.start, -1.0, 1.0, "start of Dahl")

    def bind(self, joints: Sequence[str]) -> BoundShape:
        delta = per_joint(self.delta, joints, "delta of Dahl")
        return _Dahl(delta, per_joint(self.start, joints, "start of Dahl")[:, 0])


@dataclass(frozen=True, eq=False)
class _Dahl(BoundShape):
    memory: ClassVar[bool] = True
    delta: Array
    start: Array

    def values(self, q: Array, qd: Array) -> Array:
        return self._run(q)[0]

    def after(self, q: Array, qd: Array) -> BoundShape:
        return replace(self, start=self._run(q)[0][:, -1])

    def value_range(self, low: Array, high: Array) -> Interval:
        """Where it came from decides: all that can be."""
        return np.full_like(low, -1.0), np.ones_like(high)

    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        z, decay, direction = self._run(q)
        # λ_k = seed_k + decay_k λ_{k+1}: the same recursion, backwards in time.
        backwards = linear_recursion(decay[:, ::-1], seed[:, :-1][:, ::-1], seed[:, -1])
        later = backwards[:, :-1][:, ::-1]
        # ∂z_{k+1}/∂Δq = decay (1 − s z_k)/δ; at Δq = 0 this is 1/δ, the mean of both one-sided derivatives.
        step = later * decay * (1.0 - direction * z[:, :-1]) / self.delta
        gradient = np.zeros_like(q)
        gradient[:, 1:] += step
        gradient[:, :-1] -= step
        return gradient, None

    def _run(self, q: Array) -> tuple[Array, Array, Array]:
        """z (m, N), and decay e^{−|Δq|/δ} and direction sgn Δq of every step, each (m, N − 1)."""
        travel = np.diff(q, axis=1)
        direction = np.sign(travel)
        exponent = -np.abs(travel) / self.delta
        decay = np.exp(exponent)
        return linear_recursion(decay, -np.expm1(exponent) * direction, self.start), decay, direction


def linear_recursion(a: Array, b: Array, start: Array) -> Array:
    """x (m, K + 1) of x_{k+1} = a_k x_k + b_k from x_0 = start (m,), for a, b (m, K).

    Two steps at a time are a recursion of the same form with half the length, which gives every even x; one
    more product gives the odd ones. O(K) work in O(log K) NumPy calls, and stable because |a| ≤ 1 is never
    divided by.
    """
    steps = a.shape[1]
    x = np.empty((a.shape[0], steps + 1))
    if steps <= 8:
        x[:, 0] = start
        for k in range(steps):
            x[:, k + 1] = a[:, k] * x[:, k] + b[:, k]
        return x
    pairs = steps // 2
    a0, b0, a1, b1 = a[:, : 2 * pairs : 2], b[:, : 2 * pairs : 2], a[:, 1::2], b[:, 1::2]
    x[:, : 2 * pairs + 1 : 2] = linear_recursion(a0 * a1, a1 * b0 + b1, start)
    x[:, 1 : 2 * pairs : 2] = a0 * x[:, : 2 * pairs : 2] + b0
    if steps % 2:
        x[:, -1] = a[:, -1] * x[:, -2] + b[:, -1]
    return x
