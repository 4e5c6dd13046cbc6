"""Base parameters: the fewest combinations of the standard parameters that the joint torques depend on.

The torques are τ = Φ χ with standard parameters χ (p,). Only β = P χ (b,) matters, b ≤ p, and Φ χ = Φ_b β
where Φ_b is Φ reduced to b of its own columns, the independent ones (Gautier & Khalil).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import ParameterError
from exciter.parameters.parameter_names import is_inertial, paper_order, regrouped_name, split_name
from exciter.typing import Array

IntArray = NDArray[np.int64]

CLEAR_GAP = 1e3  #: a rank is clear when what was kept exceeds what was dropped by this factor
WEAK = 1e-5  #: below this, relative to the strongest, a kept direction deserves a word


@dataclass(frozen=True, eq=False)
class RankDecision:
    """Why a rank is what it is.

    kept: the smallest singular value that was taken as different from zero. dropped: the largest one that was
    taken as zero, or what rounding alone may leave behind when that is more. values: all of them, descending.
    Values are relative: 1 is the size of the largest or of the robot.
    """

    rank: int
    kept: float
    dropped: float
    values: Array

    @property
    def gap(self) -> float:
        """Ratio of the smallest kept to the largest dropped value: the evidence for the rank."""
        return self.kept / self.dropped

    @property
    def is_clear(self) -> bool:
        return self.gap >= CLEAR_GAP

    @property
    def words(self) -> str:
        """The decision in one sentence, doubts included."""
        if not self.rank:
            return "rank 0: no parameter has any effect"
        text = (
            f"rank {self.rank}: smallest value kept {self.kept:.1e}, "
            f"largest dropped {self.dropped:.1e}, gap {self.gap:.1e}"
        )
        if not self.is_clear:
            return (
                text
                + "; no clear gap: the rank is doubtful (a poor motion, or axes that are nearly but not quite parallel)"
            )
        if self.kept < WEAK:
            text += "; the weakest combination is barely visible (rounded angles in the robot, or a poor motion?)"
        return text


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """β = P χ and how to get it.

    standard (p,): names of the standard parameters. independent (b,): standard columns that are kept, in
    reading order. grouping (b, p): P, the identity on the independent columns. decision: the evidence for b.
    method: how it was found, in words.
    """

    standard: tuple[str, ...]
    independent: IntArray
    grouping: Array
    decision: RankDecision
    method: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "standard", tuple(self.standard))
        independent = np.array(self.independent, dtype=np.int64)
        grouping = np.array(self.grouping, dtype=np.float64)
        if grouping.shape != (len(independent), len(self.standard)):
            raise ParameterError(
                f"the grouping matrix has shape {grouping.shape}; "
                f"it must be {(len(independent), len(self.standard))}: base × standard parameters"
            )
        for array in (independent, grouping):
            array.flags.writeable = False
        object.__setattr__(self, "independent", independent)
        object.__setattr__(self, "grouping", grouping)

    # -- numbers -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """b, the number of base parameters."""
        return len(self.independent)

    @property
    def inertial_count(self) -> int:
        """How many of them stand for inertial parameters (the others for joint terms)."""
        return sum(is_inertial(self.standard[i]) for i in self.independent)

    def project(self, rows: ArrayLike) -> Array:
        """Φ_b (…, b): the independent columns of regressor rows (…, p)."""
        array = self._checked(rows, "regressor rows")
        return array[..., self.independent]

    def base_values(self, chi: ArrayLike) -> Array:
        """β (…, b) of standard parameters χ (…, p)."""
        return self._checked(chi, "standard parameters") @ self.grouping.T

    def _checked(self, values: ArrayLike, what: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != len(self.standard):
            raise ParameterError(
                f"{what} of shape {array.shape} do not fit {len(self.standard)} standard parameters; "
                "the last dimension must be that number"
            )
        return array

    def same_space(self, other: BaseParameters, tolerance: float = 1e-6) -> bool:
        """Whether both say the same about the robot, whatever columns each of them keeps.

        Equal when every row of one is a combination of the rows of the other; the coefficients of that
        combination are the entries at the other's independent columns. Compared entry by entry, so units do
        not matter.
        """
        if self.standard != other.standard or len(self) != len(other):
            return False
        mine = self.grouping[:, other.independent]
        error = np.abs(mine @ other.grouping - self.grouping)
        size = np.abs(mine) @ np.abs(other.grouping) + np.abs(self.grouping)
        column = size.max(axis=0, initial=0.0)
        return bool((error <= tolerance * column).all())

    # -- words ---------------------------------------------------------------------------------------------

    def members(self, k: int) -> tuple[int, ...]:
        """Standard parameters in base parameter k: its own, the rest of its link, then link by link."""
        own = int(self.independent[k])
        link = split_name(self.standard[own])[1]
        others = [i for i in self._reading if self.grouping[k, i] != 0.0 and i != own]
        return (own, *(sorted(others, key=lambda i: self._nearness(i, link))))

    @cached_property
    def _reading(self) -> list[int]:
        return paper_order(self.standard)

    def _nearness(self, index: int, link: int) -> tuple[bool, int]:
        number = split_name(self.standard[index])[1]
        return number != link, number

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name per base parameter: ZZR1 for a combination, MY2 for a parameter that stands alone."""
        return tuple(self._name(k) for k in range(len(self)))

    def _name(self, k: int) -> str:
        own = self.standard[self.independent[k]]
        return regrouped_name(own) if np.count_nonzero(self.grouping[k]) > 1 else own

    def expression(self, k: int) -> str:
        """``ZZR1 = ZZ1 + YY2 + 0.4 MZ3``; the bare name for a parameter that stands alone."""
        members = self.members(k)
        if len(members) == 1:
            return self.names[k]
        terms = [(float(self.grouping[k, i]), self.standard[i]) for i in members]
        return f"{self.names[k]} = {linear_combination(terms)}"

    @property
    def expressions(self) -> tuple[str, ...]:
        return tuple(self.expression(k) for k in range(len(self)))


def linear_combination(terms: Sequence[tuple[float, str]]) -> str:
    """``ZZ1 + YY2 - 0.25 M3`` of [(1, 'ZZ1'), (1, 'YY2'), (-0.25, 'M3')]; six significant digits."""
    text = ""
    for coefficient, name in terms:
        digits = f"{abs(coefficient):.6g}"
        term = name if digits == "1" else f"{digits} {name}"
        if not text:
            text = term if coefficient > 0 else f"-{term}"
        else:
            text += f" {'+' if coefficient > 0 else '-'} {term}"
    return text
