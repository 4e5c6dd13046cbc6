"""Parameters known beforehand (a link weighed, a drawing), as linear conditions C β = d on the base parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from exciter.errors import ParameterError, unknown_name
from exciter.parameters.base import BaseParameters
from exciter.typing import Array

RANK = 1e-10  # relative singular value below which a direction is none
EXACT = 1e-12  # of the largest variance: less is none
AGREE = 1e-6  # of their size, by which exact values may contradict each other


@dataclass(frozen=True)
class KnownParameter:
    """A base or standard parameter by name, its value and standard deviation (SI); std 0: exact."""

    name: str
    value: float
    std: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and np.isfinite(self.std) and self.std >= 0.0):
            raise ParameterError(f"{self.name} is known as {self.value} ± {self.std}; give finite numbers, std ≥ 0")


@dataclass(frozen=True, eq=False)
class Conditions:
    """β = start + free θ holds exactly; rows (m, b) β = values (m,) with errors of standard deviation one."""

    start: Array
    free: Array
    rows: Array
    values: Array

    @classmethod
    def none(cls, b: int) -> Conditions:
        return cls(np.zeros(b), np.eye(b), np.zeros((0, b)), np.zeros(0))

    @property
    def count(self) -> int:
        return int(self.free.shape[0] - self.free.shape[1] + len(self.values))


def conditions(base: BaseParameters, known: Sequence[KnownParameter]) -> Conditions:
    """All that known parameters say about the base parameters.

    A standard parameter rarely stands alone in them: with χ_S known and χ_U not, β = P_S χ_S + P_U χ_U, so that known
    are the combinations l with lᵀ P_U = 0: lᵀ β = lᵀ P_S χ_S.
    """
    b = len(base)
    if not known:
        return Conditions.none(b)
    names = [item.name for item in known]
    if len(set(names)) < len(names):
        raise ParameterError(f"{next(n for n in names if names.count(n) > 1)} is given twice as known; give it once")
    for name in names:
        if name not in base.names and name not in base.standard:
            raise ParameterError(unknown_name("parameter", name, (*base.names, *base.standard)))
    whole = [item for item in known if item.name in base.names]
    parts = [item for item in known if item.name not in base.names]
    c = np.eye(b)[[base.names.index(item.name) for item in whole]]
    d, covariance = np.array([item.value for item in whole]), np.diag([item.std**2 for item in whole])
    if parts:
        more, their = _combinations(base, parts)
        values, variances = np.array([x.value for x in parts]), np.array([x.std**2 for x in parts])
        c, d = np.vstack([c, more]), np.append(d, their @ values)
        covariance = linalg.block_diag(covariance, (their * variances) @ their.T)
    return _split(c, d, covariance)


def _combinations(base: BaseParameters, parts: Sequence[KnownParameter]) -> tuple[Array, Array]:
    """Lᵀ (m, b) and Lᵀ P_S (m, s) of the known standard parameters S."""
    inside = [base.standard.index(item.name) for item in parts]
    outside = np.setdiff1d(np.arange(len(base.standard)), inside)
    grouping = base.grouping
    lengths = np.maximum(np.linalg.norm(grouping[:, outside], axis=0), 1e-300)
    combinations = linalg.null_space((grouping[:, outside] / lengths).T, rcond=RANK).T
    if not len(combinations):
        raise ParameterError(_hint(base, inside))
    return combinations, combinations @ grouping[:, inside]


def _hint(base: BaseParameters, inside: list[int]) -> str:
    """What is missing, in the shortest case."""
    names = ", ".join(base.standard[i] for i in inside)
    touched = [k for k in range(len(base)) if set(base.members(k)) & set(inside)]
    if not touched:
        return f"{names} has no effect on this robot's torques, so that it fixes nothing; give others"
    shortest = min(touched, key=lambda k: len(set(base.members(k)) - set(inside)))
    missing = ", ".join(base.standard[i] for i in base.members(shortest) if i not in inside)
    whole = base.expression(shortest)
    return f"{names} alone fixes no base parameter; {whole} would be fixed if {missing} were given, too"


def _split(c: Array, d: Array, covariance: Array) -> Conditions:
    """Directions without an error become exact, the others rows over their errors."""
    variances, directions = np.linalg.eigh(covariance)
    exact = variances <= EXACT * max(float(variances.max(initial=0.0)), 0.0)
    rotated, values = directions.T @ c, directions.T @ d
    start: Array = np.zeros(c.shape[1])
    free: Array = np.eye(c.shape[1])
    if exact.any():
        start = np.asarray(np.linalg.lstsq(rotated[exact], values[exact], rcond=None)[0], dtype=np.float64)
        if np.abs(rotated[exact] @ start - values[exact]).max() > AGREE * np.abs(values[exact]).max():
            raise ParameterError("the known parameters contradict each other; give one value for each, or errors")
        free = linalg.null_space(rotated[exact], rcond=RANK)
    sigma = np.sqrt(variances[~exact])
    return Conditions(start, free, rotated[~exact] / sigma[:, None], values[~exact] / sigma)
