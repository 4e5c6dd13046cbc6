"""Criteria: how much a motion reveals, as a number to be made small. Criteria by subject."""

from exciter.excitation.criteria.condition import (
    ConditionAndSmallest,
    ConditionNumber,
    FrobeniusCondition,
    NormalizedCondition,
    QrCondition,
    ScaledCondition,
)
from exciter.excitation.criteria.cramer_rao import CramerRao, Rounds, iterate
from exciter.excitation.criteria.criterion import (
    AnyCriterion,
    Criterion,
    Evaluation,
    MotionCriterion,
    Observed,
    evaluation,
)
from exciter.excitation.criteria.design_rows import Columns, DesignRows, EnergyRows, TorqueRows
from exciter.excitation.criteria.figures import Figures, evaluate, unexcited
from exciter.excitation.criteria.optimality import AOptimality, DOptimality, EOptimality
from exciter.excitation.criteria.registry import CRITERIA
from exciter.excitation.criteria.sums import (
    ConditionAndEquilibrium,
    ConditionAndTorque,
    Equilibrium,
    InverseTorque,
    WeightedSum,
    bound,
)

__all__ = [
    "CRITERIA",
    "AOptimality",
    "AnyCriterion",
    "Columns",
    "ConditionAndEquilibrium",
    "ConditionAndSmallest",
    "ConditionAndTorque",
    "ConditionNumber",
    "CramerRao",
    "Criterion",
    "DOptimality",
    "DesignRows",
    "EOptimality",
    "EnergyRows",
    "Equilibrium",
    "Evaluation",
    "Figures",
    "FrobeniusCondition",
    "InverseTorque",
    "MotionCriterion",
    "NormalizedCondition",
    "Observed",
    "QrCondition",
    "Rounds",
    "ScaledCondition",
    "TorqueRows",
    "WeightedSum",
    "bound",
    "evaluate",
    "evaluation",
    "iterate",
    "unexcited",
]
