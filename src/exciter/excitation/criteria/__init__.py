"""Criteria: from the Gram matrix H = WᵀΣ⁻¹W to a number to be made small."""

from exciter.excitation.criteria.criterion import ConditionNumber, Criterion, DOptimality

__all__ = ["ConditionNumber", "Criterion", "DOptimality"]
