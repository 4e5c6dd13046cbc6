"""What is minimised: ½‖R P χ − z‖² + λ d(χ, χ₀) + a trace of the prior that picks one χ among those with equal β."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from exciter.identification.physical.bounds import Cone
from exciter.identification.physical.cone_program import nearest
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.metric import Metric, PseudoInertia
from exciter.identification.physical.reference import Reference
from exciter.typing import Array

Sides = tuple[Array, Array]
TRACE = 1e-4  #: λ of what is always there: every number of a link known to 100 times its size, terms likewise
EASY, EASIER = 100.0, 10.0  # weight at which Newton's method starts at the reference; from one weight to the next
STEPS = 100
SETTLED = 1e-9  # squared Newton step, in units of the noise, over the objective
SMALLEST = 1e-14  # of a step that must still lead down


@dataclass(frozen=True, eq=False)
class Objective:
    """weight λ of ``metric``; 0: no prior beyond the trace."""

    equations: Equations
    reference: Reference
    metric: Metric
    weight: float = 0.0

    def minimum(self, sides: Sides, cones: Sequence[Cone] = (), start: Array | None = None) -> tuple[Array, Array]:
        """χ (p,) for R P and z (see ``Equations.sides``), and the factor K (p, p) of the curvature KᵀK there.

        start: χ of a nearby weight, from which fewer steps are needed.
        """
        sides = self._with_trace(sides)
        if self.weight == 0.0 or self.metric.quadratic:
            return self._step(sides, self.reference.chi, cones)
        if cones:  # a quadratic start satisfies all bounds, and so does everything between it and later steps
            quadratic = replace(self, metric=PseudoInertia())
            return self._newton(sides, quadratic._step(sides, self.reference.chi, cones)[0], cones)
        if start is None:  # a weak pull far from the reference is reached step by step
            start = self.reference.chi
            for weight in self.weight * EASIER ** np.arange(np.log(EASY / self.weight) / np.log(EASIER), 0.0, -1.0):
                start, _ = replace(self, weight=float(weight))._newton(sides, start, cones)
        return self._newton(sides, start, cones)

    def _newton(self, sides: Sides, chi: Array, cones: Sequence[Cone]) -> tuple[Array, Array]:
        value = self._value(sides, chi)
        for _ in range(STEPS):
            target, factor = self._step(sides, chi, cones)
            step = target - chi
            decrement = float(((factor @ step) ** 2).sum())
            if decrement <= SETTLED * (1.0 + value):  # the next one would be its square
                return target, factor
            while not (trial := self._value(sides, chi + step)) <= value:
                step, decrement = 0.5 * step, 0.25 * decrement
                if decrement <= SMALLEST * (1.0 + value):  # rounding is all that is left
                    return chi, factor
            chi, value = chi + step, trial
        return chi, factor

    def value(self, sides: Sides, chi: Array) -> float:
        """Less what no χ explains."""
        return self._value(self._with_trace(sides), chi)

    def gradient(self, sides: Sides, chi: Array) -> Array:
        """(p,)"""
        rows, target = self._rows(self._with_trace(sides), chi)
        return np.asarray(rows.T @ (rows @ chi - target))

    # -- with the trace put to the data ----------------------------------------------------------------------------

    def _with_trace(self, sides: Sides) -> Sides:
        """Data and trace together, compressed: a square factor that is never singular."""
        root = np.diag(np.append(np.zeros(self.equations.links), 1.0 / self.equations.term_scale))
        _fill(root, self.reference.whitening)
        root *= np.sqrt(TRACE)
        if self.reference.spread is not None:
            terms = np.arange(self.equations.links, len(root))
            root[terms, terms] = np.hypot(root[terms, terms], 1.0 / self.reference.spread)
        return _compressed(np.vstack([sides[0], root]), np.append(sides[1], root @ self.reference.chi))

    def _value(self, sides: Sides, chi: Array) -> float:
        total = 0.5 * float(((sides[0] @ chi - sides[1]) ** 2).sum())
        links = chi[: self.equations.links].reshape(-1, 10)
        return total + (self.weight * self.metric.value(links, self.reference) if self.weight else 0.0)

    def _step(self, sides: Sides, chi: Array, cones: Sequence[Cone]) -> tuple[Array, Array]:
        """Minimum of the second-order model at χ, within the cones, and its factor."""
        factor, right = _compressed(*self._rows(sides, chi)) if self.weight else sides
        best = np.asarray(linalg.solve_triangular(factor, right))
        return (nearest(best, factor, cones, self.reference.chi) if cones else best), factor

    def _rows(self, sides: Sides, chi: Array) -> Sides:
        """The second-order model at χ as least squares: rows (m, p) and right sides (m,)."""
        if not self.weight:
            return sides
        root, target = self.metric.model(chi[: self.equations.links].reshape(-1, 10), self.reference)
        block = np.zeros((target.size, len(chi)))
        _fill(block, np.sqrt(self.weight) * root)
        return np.vstack([sides[0], block]), np.append(sides[1], np.sqrt(self.weight) * target.ravel())


def _fill(matrix: Array, blocks: Array) -> None:
    """Blocks (n, 10, 10) down the diagonal."""
    for k, block in enumerate(blocks):
        matrix[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block


def _compressed(rows: Array, right: Array) -> Sides:
    """Triangular factor (p, p) and right side (p,) of the same minimum, what no χ explains left out."""
    p = rows.shape[1]
    upper: Array = np.asarray(np.linalg.qr(np.column_stack([rows, right]), mode="r"))
    return upper[:p, :p], upper[:p, p]
