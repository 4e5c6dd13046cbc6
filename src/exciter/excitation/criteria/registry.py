"""Words for criteria, as the command line and files use them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from exciter.errors import ParameterError, shown, unknown_name
from exciter.excitation.criteria.a_optimality import AOptimality
from exciter.excitation.criteria.condition_number import ConditionNumber
from exciter.excitation.criteria.cramer_rao import CramerRao
from exciter.excitation.criteria.criterion import AnyCriterion
from exciter.excitation.criteria.d_optimality import DOptimality
from exciter.excitation.criteria.e_optimality import EOptimality
from exciter.excitation.criteria.equilibrium import Equilibrium
from exciter.excitation.criteria.frobenius_condition import FrobeniusCondition
from exciter.excitation.criteria.normalized_condition import NormalizedCondition
from exciter.excitation.criteria.qr_condition import QrCondition
from exciter.excitation.criteria.scaled_condition import ScaledCondition
from exciter.excitation.criteria.smallest_singular import ConditionAndSmallest
from exciter.excitation.criteria.torque_activity import InverseTorque
from exciter.excitation.criteria.weighted_sum import WeightedSum


def condition_and_equilibrium(k1: float = 1e-3) -> WeightedSum:
    """cond(W) + k₁ max|W_ij|/min|W_ij| [12.13]."""
    return WeightedSum(((1.0, ConditionNumber()), (k1, Equilibrium())))


def condition_and_torque(
    values: tuple[float, ...], xi1: float = 1.0, xi2: float = 1.0, chi: tuple[float, ...] | None = None
) -> WeightedSum:
    """ξ₁ cond(W diag Z) + ξ₂ / Σ mean |τ| (Rackl et al. (15))."""
    return WeightedSum(((xi1, ScaledCondition(values)), (xi2, InverseTorque(chi))))


CRITERIA: dict[str, Callable[..., AnyCriterion]] = {
    "d-optimal": DOptimality,
    "a-optimal": AOptimality,
    "e-optimal": EOptimality,
    "condition": ConditionNumber,
    "condition-qr": QrCondition,
    "condition-frobenius": FrobeniusCondition,
    "condition-normalized": NormalizedCondition,
    "condition-scaled": ScaledCondition,
    "condition-smallest": ConditionAndSmallest,
    "condition-equilibrium": condition_and_equilibrium,
    "condition-torque": condition_and_torque,
    "cramer-rao": CramerRao,
}


def settings_of(word: str) -> dict[str, bool]:
    """Settings that a criterion takes, and whether it cannot do without."""
    if word not in CRITERIA:
        raise ParameterError(unknown_name("criterion", word, CRITERIA))
    parameters = inspect.signature(CRITERIA[word]).parameters.values()
    return {p.name: p.default is inspect.Parameter.empty for p in parameters}


def criterion_from(word: str, settings: Mapping[str, Any] | None = None) -> AnyCriterion:
    """The criterion of a word with its settings."""
    given, known = dict(settings or {}), settings_of(word)
    for name in given:
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise ParameterError(f"criterion '{word}' has no setting {shown(name)}; its settings: {allowed}")
    missing = [name for name, needed in known.items() if needed and name not in given]
    if missing:
        raise ParameterError(f"criterion '{word}' needs the setting '{missing[0]}'; give it")
    return CRITERIA[word](**given)
