"""Equilibrium of W: how far apart in size its elements are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.base import random_motion
from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria.columns import Columns
from exciter.excitation.criteria.criterion import CriterionSettings, Evaluation
from exciter.excitation.criteria.design_rows import DesignRows
from exciter.excitation.criteria.observed import Observed

PROBES = 40  # rows of each kind at which an element must be non-zero at least once
NOTHING = 1e-9  # an element below this along a random motion, relative to the largest of its column, is zero
ROUNDED = 1e-12  # the same for the motion at hand: zero but for rounding


@dataclass(frozen=True)
class Equilibrium(CriterionSettings):
    """S = max|W_ij| / min|W_ij| over the elements that are not zero (Gautier & Khalil (19), [12.13]).

    A joint's torque does not depend on links before it, whatever the motion: those zeros are left out. So are elements
    that vanish to rounding where a joint is at rest; a column that is nothing but zeros makes S infinite. S is decided
    by two elements and has a kink wherever others take over. It belongs to few points, chosen one by one: along a
    densely sampled motion every element that changes its sign passes zero, and S says only how near a sample came.
    """

    word: ClassVar[str] = "equilibrium"
    title: ClassVar[str] = "equilibrium of the elements"
    companion: ClassVar[bool] = True

    def at(self, observed: Observed) -> Evaluation:
        pattern = structure(observed.model, observed.columns, observed.formulation)
        w = observed.w
        size = np.abs(w)
        largest = size.max(axis=0)
        if not largest.all():
            return Evaluation(np.inf)
        places = np.tile(pattern, (len(w) // len(pattern), 1)) & (size > ROUNDED * largest)
        most, least = int(size.argmax()), int(np.where(places, size, np.inf).argmin())
        large, small = size.flat[most], size.flat[least]
        seed = np.zeros_like(w)
        seed.flat[most] = np.sign(w.flat[most]) / small
        seed.flat[least] -= np.sign(w.flat[least]) * large / small**2
        return Evaluation(float(large / small), further=(lambda: observed.rows_pullback(seed),))


@lru_cache(maxsize=16)
def structure(model: DynamicModel, columns: Columns, formulation: DesignRows) -> NDArray[np.bool_]:
    """(kinds, b): elements that can be non-zero, seen along a random motion."""
    kinds = formulation.kinds(model)
    motion = random_motion(model.robot, PROBES * formulation.interval + 1)
    w = np.abs(Observed(model, motion, columns, np.ones(model.n), formulation).w)
    seen: NDArray[np.bool_] = w.reshape(-1, kinds, len(columns)).max(axis=0) > NOTHING * w.max(axis=0)
    return seen
