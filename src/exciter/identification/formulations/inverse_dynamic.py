"""The inverse dynamic model [12.18]: Γ = Φ(q, q̇, q̈) χ, one equation per joint and instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.parallel_filter import ParallelFilter, filtered_rows
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import Rows, model_rows
from exciter.identification.formulations.formulation import Formulation


@dataclass(frozen=True)
class InverseDynamic(Formulation):
    """parallel_filter: through which both sides go, and are decimated [12.21]ff.; None: rows as measured."""

    parallel_filter: ParallelFilter | None = None

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: NDArray[np.int64]) -> Iterator[Rows]:
        if self.parallel_filter is None:
            return model_rows(model, pieces, columns)
        return filtered_rows(model, pieces, self.parallel_filter, columns)

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return model.robot.joint_names
