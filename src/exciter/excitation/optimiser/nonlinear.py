"""Torque, workspace, distance and user constraints on a grid of instants, with rows of the Jacobian where asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.constraints.constraint import Constraint, Rows
from exciter.excitation.deadline import NEVER, Deadline
from exciter.excitation.optimiser.variables import Grid, Variables
from exciter.robot.motion import Motion
from exciter.typing import Array

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Linearised:
    """Values c (K, N), margins taken off, and what the rows of the Jacobian at y are made of."""

    variables: Variables
    grid: Grid
    y: Array
    motion: Motion
    values: Array
    parts: tuple[Rows, ...]

    @cached_property
    def _owner(self) -> tuple[Index, Index]:
        """(K,): which part a row belongs to, and its number in there."""
        counts = [len(part.values) for part in self.parts]
        return np.repeat(np.arange(len(counts)), counts), np.concatenate([np.arange(c) for c in counts])

    def rows(self, row: Index, at: Index) -> Array:
        """(M, size): ∂c/∂y of rows ``row`` at samples ``at``."""
        out = np.zeros((len(row), self.variables.size))
        part_of, inside = self._owner
        for p, part in enumerate(self.parts):
            mine = np.flatnonzero(part_of[row] == p)
            if not len(mine):
                continue
            k, i = inside[row[mine]], at[mine]
            slopes = [None if x is None else x[k, :, i] for x in (part.dq, part.dqd, part.dqdd)]
            out[mine] = self.variables.rows(self.grid, self.y, self.motion, i, slopes)
        return out

    def reach(self, radius: float) -> Array:
        """(K, N): how much a step of that size may change c, to first order."""
        _, s = self.variables.split(self.y)
        sizes = [float(np.linalg.norm(c, axis=1).max()) / s**k for k, c in enumerate(self.grid.matrices[:3])]
        reach = []
        for part in self.parts:
            slopes = zip((part.dq, part.dqd, part.dqdd), sizes, strict=True)
            reach.append(sum(np.abs(x).sum(axis=1) * size for x, size in slopes if x is not None))
        return radius * np.concatenate(reach)


@dataclass(frozen=True, eq=False)
class NonlinearLimits:
    """Constraints on a grid; margins (K,) are kept free on the grid for what happens between its instants.

    The deadline is looked at before every constraint: hundreds of rows, or a user's own function, take their time.
    """

    variables: Variables
    grid: Grid
    constraints: tuple[Constraint, ...]
    margins: Array
    deadline: Deadline = NEVER

    @classmethod
    def of(cls, variables: Variables, grid: Grid, constraints: Sequence[Constraint], margin: float) -> NonlinearLimits:
        count = sum(len(c.rows) for c in constraints)
        return cls(variables, grid, tuple(constraints), np.full(count, margin))

    def within(self, deadline: Deadline) -> NonlinearLimits:
        return replace(self, deadline=deadline)

    def values(self, y: Array) -> Array:
        """c (K, N) less the margins: ≥ 0 where kept."""
        return self.at(self.variables.motion(self.grid, y)) - self.margins[:, None]

    def at(self, motion: Motion) -> Array:
        """c (K, N) of any motion, without margins."""
        parts = [constraint.values(motion) for constraint in self._in_time()]
        return np.concatenate(parts) if parts else np.zeros((0, len(motion)))

    def linearised(self, y: Array) -> Linearised:
        motion = self.variables.motion(self.grid, y)
        parts = tuple(constraint.linearised(motion) for constraint in self._in_time())
        values = np.concatenate([part.values for part in parts]) - self.margins[:, None]
        return Linearised(self.variables, self.grid, y, motion, values, parts)

    def _in_time(self) -> Iterator[Constraint]:
        for constraint in self.constraints:
            self.deadline.check()
            yield constraint
