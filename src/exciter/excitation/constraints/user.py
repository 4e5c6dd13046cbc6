"""A user's own constraint: any function of the motion that must stay ≥ 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exciter.errors import ParameterError
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import RowName, Rows
from exciter.robot.motion import Motion
from exciter.typing import Array

STEP = 1e-5  # of central differences, relative to max(1, |x|): errors of 1e-10 of a smooth function


@dataclass(frozen=True, eq=False)
class UserConstraint:
    """A constraint of your own, from a plain function of the motion.

    ``function(motion)`` gives c (K, N), each sample from the same sample of q, q̇, q̈, K = ``count`` rows.

    Scale the rows so that 1 is a comfortable distance from the limit, as the other constraints do.
    derivatives: ``derivatives(motion)`` gives ∂c/∂q, ∂c/∂q̇, ∂c/∂q̈, each (K, n, N); central differences unless given.
    bound: ``bound(spans)`` gives (K, M), below which c never falls in each of M intervals; without it the constraint
    is kept at samples and can never be certified in between.

    >>> cable = ex.UserConstraint("cable", lambda motion: 1.0 - np.abs(motion.q[:, 1] + motion.q[:, 2])[None] / 1.2)
    >>> float(cable.values(ex.Motion.at([0.0, 0.3, 0.3]))[0, 0])
    0.5
    """

    name: str
    function: Callable[[Motion], Array]
    count: int = 1
    derivatives: Callable[[Motion], tuple[Array, Array, Array]] | None = None
    bound: Callable[[Spans], Array] | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ParameterError(f"UserConstraint '{self.name}' has {self.count} rows; it must have at least one")

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        numbers = [""] if self.count == 1 else [str(k + 1) for k in range(self.count)]
        return tuple(RowName(self.name, number, "1", 0.0, 1.0, False) for number in numbers)

    def values(self, motion: Motion) -> Array:
        return self._checked(self.function(motion), "function", (self.count, len(motion)))

    def linearised(self, motion: Motion) -> Rows:
        shape = (self.count, motion.n, len(motion))
        if self.derivatives is None:
            given = tuple(self._differences(motion, order) for order in range(3))
        else:
            given = self.derivatives(motion)
            if len(given) != 3:
                raise ParameterError(
                    f"derivatives of UserConstraint '{self.name}' gave {len(given)} arrays; give ∂c/∂q, ∂c/∂q̇, ∂c/∂q̈"
                )
        dq, dqd, dqdd = (self._checked(d, "a derivative", shape) for d in given)
        return Rows(self.values(motion), dq, dqd, dqdd)

    def lower_bounds(self, spans: Spans) -> Array:
        shape = (self.count, len(spans.start))
        if self.bound is None:
            return np.full(shape, -np.inf)
        return self._checked(self.bound(spans), "bound", shape, finite=False)

    def _differences(self, motion: Motion, order: int) -> Array:
        """(K, n, N) central differences with respect to q, q̇ or q̈; one joint at a time, all samples at once."""
        columns = []
        for joint in range(motion.n):
            sides = []
            for sign in (1.0, -1.0):
                arrays = [np.array(x) for x in (motion.q, motion.qd, motion.qdd)]
                moved = arrays[order][:, joint]
                moved += sign * STEP * np.maximum(1.0, np.abs(moved))
                sides.append((moved, self.values(Motion(motion.time, *arrays))))
            columns.append((sides[0][1] - sides[1][1]) / (sides[0][0] - sides[1][0]))
        return np.stack(columns, axis=1)

    def _checked(self, given: Array, what: str, shape: tuple[int, ...], *, finite: bool = True) -> Array:
        try:
            array = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise ParameterError(f"{what} of UserConstraint '{self.name}' must give numbers of shape {shape}") from None
        if array.shape != shape:
            raise ParameterError(f"{what} of UserConstraint '{self.name}' gave shape {array.shape}; it must be {shape}")
        if np.isnan(array).any() or (finite and np.isinf(array).any()):
            raise ParameterError(f"{what} of UserConstraint '{self.name}' is not finite; c must be a number everywhere")
        return array
