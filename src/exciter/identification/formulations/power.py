"""The power model [12.50]–[12.52]: F(s) q̇ᵀΓ = (s F(s) h + F(s) q̇ᵀ friction) χ, one equation per instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import ParallelFilter, Rows
from exciter.identification.formulations.derivative import differentiated
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.power_balance import balance_rows, even, uneven
from exciter.settings import Switch

NAME = "power"


@dataclass(frozen=True)
class Power(Formulation):
    """parallel_filter: F, and how many rows are kept.

    even: equations divided by the size of their errors, which grow with speed (``power_balance``), before they are
    filtered; y is then power over speed [N·m]. Without it rows are those of [12.52], in W, and a covariance that takes
    their errors as alike is too small.
    """

    word, title = "power", "the power model"
    inner = ("parallel_filter",)
    parallel_filter: ParallelFilter = field(default_factory=ParallelFilter)
    even: Switch = True

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: NDArray[np.int64]) -> Iterator[Rows]:
        balance = differentiated(balance_rows(model, pieces, columns, NAME))
        return self.parallel_filter.stream(map(even if self.even else uneven, balance))

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return (NAME,)
