"""Which parameters an experiment is designed for: standard columns, or linear combinations of them.

A condition number depends on how parameters are written down. Authors who combine standard parameters in their own
way, χ = C θ, have the regressor W C and the Gram matrix CᵀHC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.layout import ColumnLayout
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, unknown_name
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Columns:
    """names (b,); layout of the s standard columns in use; combination C (s, b), None for the identity."""

    names: tuple[str, ...]
    selected: NDArray[np.int64]
    layout: ColumnLayout
    combination: Array | None = None

    @classmethod
    def of(cls, model: DynamicModel, columns: ArrayLike | Columns | None = None) -> Columns:
        """From standard column numbers (b,), or a matrix C (p, b) with χ = C θ; the base parameters unless given."""
        if isinstance(columns, Columns):
            return columns
        base = model.base.independent
        array = base if columns is None else np.asarray(columns)
        if array.ndim == 2:
            return cls._combined(model, np.asarray(columns, dtype=float))
        if array.ndim != 1 or not (array.size and np.issubdtype(array.dtype, np.integer)):
            raise ParameterError(
                f"columns have shape {array.shape} and type {array.dtype}; give column numbers, or a matrix with "
                f"{len(model.standard)} rows that combines the standard parameters"
            )
        layout = model.layout(array)
        names = model.base.names if np.array_equal(array, base) else tuple(model.standard[k] for k in array)
        return cls(names, array.astype(np.int64), layout)

    @classmethod
    def _combined(cls, model: DynamicModel, matrix: Array) -> Columns:
        if len(matrix) != len(model.standard) or not np.isfinite(matrix).all() or not matrix.any(axis=0).all():
            raise ParameterError(
                f"the combination matrix has shape {matrix.shape}; it must have {len(model.standard)} rows, "
                "finite numbers, and something in every column"
            )
        selected = np.flatnonzero(matrix.any(axis=1))
        names = tuple(f"theta{k + 1}" for k in range(matrix.shape[1]))
        return cls(names, selected, model.layout(selected), np.ascontiguousarray(matrix[selected]))

    @classmethod
    def combined(cls, model: DynamicModel, parameters: Mapping[str, Mapping[str, float]]) -> Columns:
        """From named parameters, each by its coefficients: {"kd2": {"XX2": 1, "YY2": -1}} stands for
        χ(XX2) = kd2, χ(YY2) = −kd2."""
        matrix = np.zeros((len(model.standard), len(parameters)))
        for k, coefficients in enumerate(parameters.values()):
            for name, value in coefficients.items():
                if name not in model.standard:
                    raise ParameterError(unknown_name("standard parameter", name, model.standard))
                matrix[model.standard.index(name), k] = value
        columns = cls.of(model, matrix)
        return cls(tuple(parameters), columns.selected, columns.layout, columns.combination)

    def __len__(self) -> int:
        return len(self.names)

    # -- from the s standard columns to the b parameters, and back ------------------------------------------------

    def gram(self, h: Array) -> Array:
        """CᵀHC (b, b)."""
        return h if self.combination is None else self.combination.T @ h @ self.combination

    def gram_seed(self, dfdh: Array) -> Array:
        """∂f/∂H (s, s) from ∂f/∂(CᵀHC) (b, b)."""
        return dfdh if self.combination is None else self.combination @ dfdh @ self.combination.T

    def rows(self, w: Array) -> Array:
        """W C (…, b)."""
        return w if self.combination is None else w @ self.combination

    def rows_seed(self, seed: Array) -> Array:
        """∂f/∂W (…, s) from ∂f/∂(W C) (…, b)."""
        return seed if self.combination is None else seed @ self.combination.T


def coefficient_rows(rows: Sequence[int] | NDArray[np.int64], values: Array, count: int) -> Array:
    """(…, count) zero but for ``values`` (…, len(rows)) at the given places of the last axis."""
    full = np.zeros((*values.shape[:-1], count))
    full[..., rows] = values
    return full
