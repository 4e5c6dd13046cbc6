"""The designs of the dynamic step: the criterion (15) with everything the paper asks for, and its parts alone."""

from __future__ import annotations

from functools import cache

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import AnyCriterion, ConditionNumber, ScaledCondition
from exciter.excitation.criteria.sums import ConditionAndTorque
from exciter.excitation.design import Design, design
from exciter.reproduction.rackl import set_up
from exciter.reproduction.rackl.bound import ColumnRatio
from exciter.typing import Array

SEED = 0


@cache
def full_criterion(starts: int, *, payload: bool, xi_2: float = set_up.XI_2) -> Design:
    """(15)–(18) as corrected: weighted condition number and torque term, free duration, torque limits, box, sphere."""
    model = set_up.paper_model()
    chi = set_up.loaded_chi(model) if payload else model.nominal
    weights = set_up.weights_16()
    criterion = ConditionAndTorque(weights, set_up.XI_1, xi_2, tuple(chi.tolist()))
    return search(model, criterion, set_up.names_16(), starts, chi=chi, free=True)


def weighted_only(weights: tuple[float, ...], starts: int) -> Design:
    """The condition number with other weights, free duration."""
    model = set_up.paper_model()
    return search(model, ScaledCondition(weights), set_up.names_16(), starts, free=True)


def plain(names: tuple[str, ...], starts: int) -> Design:
    """The condition number without weights; the duration stays."""
    return search(set_up.paper_model(), ConditionNumber(), names, starts)


def smallest_bound(starts: int) -> Design:
    """Not the condition number but its lower bound made as small as it goes, whatever becomes of the rest."""
    model = set_up.paper_model()
    return search(model, ColumnRatio(set_up.weights_16()), set_up.names_16(), starts, free=True)


def search(
    model: DynamicModel,
    criterion: AnyCriterion,
    names: tuple[str, ...],
    starts: int,
    *,
    chi: Array | None = None,
    free: bool = False,
) -> Design:
    return design(
        model,
        set_up.spline(),
        criterion=criterion,
        columns=set_up.columns(model, names),
        constraints=set_up.limits_of(model, chi),
        duration_range=set_up.DURATIONS if free else None,
        seed=SEED,
        starts=starts,
    )


def equal_summands(condition: float, torque: float) -> float:
    """ξ₂ for which both summands of (15) are equal at a trajectory of this λ and Σ mean |τ| [N·m]."""
    return set_up.XI_1 * condition * torque


def torque_sum(found: Design, chi: Array) -> float:
    """Σ_j mean |τ_j| [N·m] over the motion, whose reciprocal is the second summand of (15)."""
    times = found.trajectory.sample_times(found.samples)
    torque = found.model.torque(found.curve.motion(times), chi)
    return float(np.abs(torque).mean(axis=0).sum())
