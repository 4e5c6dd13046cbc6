"""The designs of the dynamic step: the criterion (15) with everything the paper asks for, its parts alone, and a lower
bound of a condition number that needs no eigenvalues: cond(W) ≥ longest / shortest column.

‖W e_k‖ lies between the smallest and the largest singular value for every unit vector e_k. So a motion whose weighted
columns differ by a factor cannot have a smaller weighted condition number, whatever else it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

import exciter as ex
from exciter.excitation.criteria.criterion import AnyCriterion, evaluate
from exciter.excitation.criteria.optimality_and_condition import ScaledCondition
from exciter.excitation.criteria.weighted_sums import ConditionAndTorque
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.trajectory import motion
from exciter.typing import Array
from exciter_papers.rackl import set_up
from exciter_papers.rackl.set_up import columns, names_16


@dataclass(frozen=True)
class ColumnRatio:
    """log of √(‖d‖_p ‖1/d‖_p), d the squared lengths of the columns of W diag Z: the log of the bound as p → ∞, never
    below it, and smooth. values Z (b,)."""

    values: tuple[float, ...]
    power: float = 32.0

    name: ClassVar[str] = "column-ratio"

    def __call__(self, h: Array) -> tuple[float, Array]:
        squared = np.square(self.values)
        d = h.diagonal() * squared
        if not d.min() > 0.0:
            return np.inf, np.zeros_like(h)
        large, small = (d / d.max()) ** self.power, (d.min() / d) ** self.power
        spread = np.log(large.sum() * small.sum()) / self.power
        slope = large / large.sum() - small / small.sum()
        return float(0.5 * (np.log(d.max() / d.min()) + spread)), np.diag(0.5 * slope / d * squared)


@dataclass(frozen=True)
class Weighted:
    """Of W diag Z of a motion: its condition number, the bound, and the names of longest and shortest column."""

    condition: float
    bound: float
    longest: str
    shortest: str


def weighted(found: Design, weights: tuple[float, ...], slower: float = 1.0) -> Weighted:
    """For the sixteen columns of Table I, by SVD. slower: how many times as long the same way-points take."""
    names = names_16()
    matrix = np.zeros((len(found.model.standard), len(names)))
    matrix[columns(found.model, names)] = np.diag(weights)
    log = motion(found.trajectory, found.delta, found.trajectory.sample_times(found.samples))
    log = ex.Motion(slower * log.time, log.q, log.qd / slower, log.qdd / slower**2)
    figures = evaluate(found.model, log, 1.0, matrix)
    w = found.model.regressor(log) @ matrix
    lengths = np.linalg.norm(w.reshape(-1, len(names)), axis=0)
    long, short = int(lengths.argmax()), int(lengths.argmin())
    return Weighted(figures.condition_number, float(lengths[long] / lengths[short]), names[long], names[short])


WEIGHTED_DESIGN_SEED = 0


@cache
def full_criterion(starts: int, *, payload: bool, xi_2: float = set_up.XI_2) -> Design:
    """(15)–(18) as corrected: weighted condition number and torque term, free duration, torque limits, box, sphere."""
    model = set_up.paper_model()
    chi = set_up.loaded_chi(model) if payload else model.nominal
    criterion = ConditionAndTorque(set_up.weights_16(), set_up.XI_1, xi_2, tuple(chi.tolist()))
    return search(criterion, starts, chi=chi)


def weighted_only(weights: tuple[float, ...], starts: int) -> Design:
    """The condition number with other weights, free duration."""
    return search(ScaledCondition(weights), starts)


def plain(names: tuple[str, ...], starts: int) -> Design:
    """The condition number without weights; the duration stays."""
    return search(ex.ConditionNumber(), starts, names, free=False)


def smallest_bound(starts: int) -> Design:
    """Not the condition number but its lower bound made as small as it goes, whatever becomes of the rest."""
    return search(ColumnRatio(set_up.weights_16()), starts)


def search(
    criterion: AnyCriterion,
    starts: int,
    names: tuple[str, ...] | None = None,
    *,
    chi: Array | None = None,
    free: bool = True,
) -> Design:
    """names: of the columns, those of Table I unless given; free: the duration."""
    model = set_up.paper_model()
    return design(
        model,
        set_up.spline(),
        criterion=criterion,
        columns=set_up.columns(model, names or names_16()),
        constraints=set_up.limits_of(model, chi),
        duration_range=set_up.DURATIONS if free else None,
        seed=WEIGHTED_DESIGN_SEED,
        starts=starts,
        race=False,  # what all starts come to is shown
    )


def torque_sum(found: Design, chi: Array) -> float:
    """Σ_j mean |τ_j| [N·m] over the motion, whose reciprocal is the second summand of (15)."""
    times = found.trajectory.sample_times(found.samples)
    torque = found.model.torque(found.curve.motion(times), chi)
    return float(np.abs(torque).mean(axis=0).sum())
