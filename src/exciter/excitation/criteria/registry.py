"""Criteria: how much a motion reveals, as a number to be made small. By subject; and by their words:

criterion: d-optimal
criterion: {condition: 1.0, torque-activity: 0.1}
criterion: {cramer-rao: {joint_noise: 1.0e-4}}             # settings beside an optional weight
criterion: {condition-scaled: {weight: 2.0}, torque-activity: 1.0}

What a criterion needs of the robot is taken from it unless given (``bound``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exciter.errors import not_allowed, shown
from exciter.excitation.criteria import cramer_rao, optimality_and_condition, weighted_sums
from exciter.excitation.criteria.criterion import AnyCriterion, CriterionSettings
from exciter.excitation.criteria.observation_rows import EnergyRows, TorqueRows
from exciter.settings import Positive, Registry
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.settings.fill import filled, json_schema

CRITERIA = Registry[CriterionSettings](
    "criterion",
    optimality_and_condition.DOptimality,
    optimality_and_condition.AOptimality,
    optimality_and_condition.EOptimality,
    optimality_and_condition.ConditionNumber,
    optimality_and_condition.QrCondition,
    optimality_and_condition.FrobeniusCondition,
    optimality_and_condition.NormalizedCondition,
    optimality_and_condition.ScaledCondition,
    optimality_and_condition.ConditionAndSmallest,
    weighted_sums.ConditionAndEquilibrium,
    weighted_sums.ConditionAndTorque,
    cramer_rao.CramerRao,
    weighted_sums.InverseTorque,
    weighted_sums.Equilibrium,
)
SUFFICIENT_CRITERIA = tuple(cls.word for cls in CRITERIA if not cls.companion)  # words that need no other beside them
DESIGN_ROWS = Registry[Any]("formulation", TorqueRows, EnergyRows)
WEIGHT_KEY = "weight"


class WordsOfCriteria(Kind):
    """A word, or a mapping of words to weights, or to settings and a weight: their sum."""

    wanted = f"one of {', '.join(SUFFICIENT_CRITERIA)}, or a mapping of words to weights"

    def check(self, given: Any, context: Mapping[str, Any]) -> AnyCriterion:
        if isinstance(given, weighted_sums.WeightedSum | CriterionSettings):
            return given  # type: ignore[return-value]
        entries = {given: 1.0} if isinstance(given, str) else given
        if not isinstance(entries, Mapping) or not entries:
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        for word in entries:
            if word not in CRITERIA:
                raise wrong(not_allowed(word, CRITERIA.words))
        if all(CRITERIA[word].companion for word in entries):
            raise wrong(f": {', '.join(entries)} alone says nothing of the parameters; add a criterion")
        parts = tuple(_part(word, entry, context) for word, entry in entries.items())
        return parts[0][1] if len(parts) == 1 else weighted_sums.WeightedSum(parts)

    def schema(self) -> dict[str, Any]:
        weight = json_schema(Positive)
        parts = {}
        for cls in CRITERIA:
            inner = json_schema(cls)
            inner["properties"] = {**inner["properties"], WEIGHT_KEY: weight}
            parts[cls.word] = {"anyOf": [weight, inner]}
        several = {"type": "object", "properties": parts, "additionalProperties": False, "minProperties": 1}
        return {"anyOf": [{"enum": list(SUFFICIENT_CRITERIA)}, several]}


def _part(word: str, entry: Any, context: Mapping[str, Any]) -> tuple[float, Any]:
    weight, settings = 1.0, dict(entry) if isinstance(entry, Mapping) else {}
    with inside(f": {word}"):
        if not isinstance(entry, Mapping):
            weight = filled(Positive, entry)
        elif settings.pop(WEIGHT_KEY, None) is not None:
            with inside(f": {WEIGHT_KEY}"):
                weight = filled(Positive, entry[WEIGHT_KEY])
        return weight, filled(CRITERIA[word], settings, context)
