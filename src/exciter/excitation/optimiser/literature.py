"""Unconstrained minimisers of the literature (Gautier & Khalil 1992, 4.3), as settings objects that may be swapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from scipy.optimize import minimize

from exciter.typing import Array

Function = Callable[[Array], tuple[float, Array]]  # x ↦ f and ∂f/∂x
HUGE = 1e10  # stands for an infinite value where a method cannot bear infinity


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a method stopped, the value there, and how often the function was evaluated."""

    x: Array
    value: float
    evaluations: int


class Method(Protocol):
    """A way to minimise a function of unconstrained variables."""

    @property
    def name(self) -> str:
        """A word for it."""

    def minimise(self, function: Function, start: Array, iterations: int | None = None) -> Minimum:
        """From a start (m,); fewer iterations than the settings say where given."""


@dataclass(frozen=True)
class QuasiNewton:
    """Limited-memory BFGS with exact gradients. tolerance: relative decrease per step below which it stops."""

    iterations: int = 3000
    tolerance: float = 1e-6
    memory: int = 20
    name: ClassVar[str] = "quasi-newton"

    def minimise(self, function: Function, start: Array, iterations: int | None = None) -> Minimum:
        limit = self.iterations if iterations is None else min(iterations, self.iterations)
        options = {"maxiter": limit, "maxfun": 2 * limit, "maxcor": self.memory, "ftol": self.tolerance, "gtol": 1e-9}
        solution = minimize(function, start, jac=True, method="L-BFGS-B", options=options)
        return Minimum(solution.x, float(solution.fun), int(solution.nfev))


@dataclass(frozen=True)
class Powell:
    """Conjugate directions without derivatives (Powell 1964), the paper's choice."""

    evaluations: int = 40_000
    name: ClassVar[str] = "powell"

    def minimise(self, function: Function, start: Array, iterations: int | None = None) -> Minimum:
        return _without_gradient("Powell", self.evaluations, function, start, iterations)


@dataclass(frozen=True)
class NelderMead:
    """The simplex of Nelder and Mead (1965), with steps adapted to the number of variables."""

    evaluations: int = 40_000
    name: ClassVar[str] = "nelder-mead"

    def minimise(self, function: Function, start: Array, iterations: int | None = None) -> Minimum:
        return _without_gradient("Nelder-Mead", self.evaluations, function, start, iterations, adaptive=True)


def _without_gradient(
    method: str, evaluations: int, function: Function, start: Array, iterations: int | None, **options: bool
) -> Minimum:
    """A few evaluations per variable and iteration, as many as a gradient by differences would take."""
    limit = evaluations if iterations is None else min(evaluations, iterations * len(start))

    def value(x: Array) -> float:
        return min(function(x)[0], HUGE)

    solution = minimize(value, start, method=method, options={"maxfev": limit, **options})
    return Minimum(solution.x, float(solution.fun), int(solution.nfev))
