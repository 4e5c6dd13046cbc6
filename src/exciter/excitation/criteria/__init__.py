"""Criteria: how much a motion reveals, as a number to be made small. One criterion per file."""

from exciter.excitation.criteria.a_optimality import AOptimality
from exciter.excitation.criteria.columns import Columns
from exciter.excitation.criteria.condition_number import ConditionNumber
from exciter.excitation.criteria.cramer_rao import CramerRao
from exciter.excitation.criteria.criterion import AnyCriterion, Criterion, Evaluation, MotionCriterion, evaluation
from exciter.excitation.criteria.d_optimality import DOptimality
from exciter.excitation.criteria.design_and_estimate import Rounds, iterate
from exciter.excitation.criteria.design_rows import DesignRows, TorqueRows
from exciter.excitation.criteria.e_optimality import EOptimality
from exciter.excitation.criteria.energy_rows import EnergyRows
from exciter.excitation.criteria.equilibrium import Equilibrium
from exciter.excitation.criteria.figures import Figures, evaluate
from exciter.excitation.criteria.frobenius_condition import FrobeniusCondition
from exciter.excitation.criteria.normalized_condition import NormalizedCondition
from exciter.excitation.criteria.observed import Observed
from exciter.excitation.criteria.qr_condition import QrCondition
from exciter.excitation.criteria.registry import CRITERIA
from exciter.excitation.criteria.scaled_condition import ScaledCondition
from exciter.excitation.criteria.smallest_singular import ConditionAndSmallest
from exciter.excitation.criteria.torque_activity import InverseTorque
from exciter.excitation.criteria.unexcited import unexcited
from exciter.excitation.criteria.weighted_sum import ConditionAndEquilibrium, ConditionAndTorque, WeightedSum, bound

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
