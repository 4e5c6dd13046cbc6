"""Design with what is known, estimate from what is measured, and again (Swevers et al. 1997, IEEE, III-B).

A bound that depends on the parameters can only be minimised for an estimate of them, and a better motion gives a
better estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.typing import Array

Plan = TypeVar("Plan")


@dataclass(frozen=True, eq=False)
class Rounds(Generic[Plan]):
    """plans: the design of each round; chi: what was known before the first and after each; settled: whether the
    last round changed nothing that matters."""

    plans: tuple[Plan, ...]
    chi: tuple[Array, ...]
    settled: bool


def iterate(
    design: Callable[[Array], Plan],
    estimate: Callable[[Plan], ArrayLike],
    chi0: ArrayLike,
    rounds: int = 5,
    *,
    tolerance: float = 0.01,
    scale: ArrayLike | None = None,
) -> Rounds[Plan]:
    """Alternate design(χ) and estimate(plan) → χ until no parameter moves by more than tolerance · scale.

    scale (p,): what a change is measured by, e.g. the standard deviation of each parameter; the size of its first
    value unless given (a first value of zero counts by the mean size of all).
    """
    if rounds < 1:
        raise ParameterError(f"rounds must be at least 1; given {rounds}")
    known = [np.array(chi0, dtype=float)]
    size = np.abs(known[0] if scale is None else np.broadcast_to(np.asarray(scale, dtype=float), known[0].shape))
    size = np.where(size > 0, size, size.mean() or 1.0)
    plans: list[Plan] = []
    for _ in range(rounds):
        plans.append(design(known[-1]))
        chi = np.array(estimate(plans[-1]), dtype=float)
        if chi.shape != known[0].shape or not np.isfinite(chi).all():
            raise ParameterError(
                f"round {len(plans)} estimated parameters of shape {chi.shape}; expected {known[0].shape}, all finite"
            )
        known.append(chi)
        if (np.abs(chi - known[-2]) <= tolerance * size).all():
            return Rounds(tuple(plans), tuple(known), True)
    return Rounds(tuple(plans), tuple(known), False)
