"""Equations of a problem with further columns: what else may be in the torque, tested with all parameters free.

A column is a torque that the model does not have, as the equations have it: through the same filter, nothing while a
joint rests. Its coefficient is estimated beside all parameters, with their prior where they have one, and judged by a
covariance that holds for correlated errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.formulation import NO_COLUMNS
from exciter.identification.information.compressed import Compressed, compress
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.physical.penalised_fit import PhysicalEstimate
from exciter.identification.stages.stage_weights import StagedEstimate, StagedProblem
from exciter.identification.uncertainty.covariance_of_correlated_errors import CorrelatedErrors, Pulled, pulled
from exciter.identification.uncertainty.residual_autocorrelation import LinearFit
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class WeightedFit:
    """An estimate as weighted least squares: equations, what they are divided by (J,), what is known of the parameters
    beside (m, p + 1), and σ (J,) of what is left of the equations."""

    problem: Problem
    weights: Array
    prior: Array | None
    noise: Array

    @classmethod
    def of(cls, problem: Problem, estimate: Estimate) -> WeightedFit:
        if isinstance(estimate, StagedEstimate) and estimate.weights is not None:
            staged = StagedProblem.of_stages(problem, estimate.weights)
            compressed = staged.compressed
            rows = np.maximum(compressed.rows.sum(axis=0), 1)
            left = np.sqrt(compressed.squares(estimate.values).sum(axis=0) / rows)
            return cls(staged, np.ones(len(problem.joints)), estimate.weights.poses, left)
        if isinstance(estimate, PhysicalEstimate) and estimate.weights is not None:
            return cls(problem, estimate.weights, estimate.prior, estimate.noise)
        return cls(problem, estimate.noise, None, estimate.noise)


@dataclass(frozen=True, eq=False)
class FurtherColumns(ABC):
    """The equations of a problem and one more column for each of ``further_names``."""

    problem: Problem

    @property
    @abstractmethod
    def further_names(self) -> tuple[str, ...]: ...

    @abstractmethod
    def further(self) -> Iterator[Array]:
        """(J, k, N) piece by piece, as ``problem.rows`` has them; may ask for them."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*self.problem.names, *self.further_names)

    @property
    def joints(self) -> tuple[str, ...]:
        return self.problem.joints

    def rows(self) -> Iterator[tuple[int, Rows]]:
        for (index, rows), more in zip(self.problem.rows(), self.further(), strict=True):
            sides = rows.sides.transpose(1, 2, 0)
            wide = np.concatenate([sides[:, :-1], more, sides[:, -1:]], axis=1)
            wide.flags.writeable = False
            yield index, replace(rows, sides=wide.transpose(2, 0, 1), parameters=self.names)

    @cached_property
    def compressed(self) -> Compressed:
        labelled = ((index, np.zeros(len(rows), dtype=np.int64), rows) for index, rows in self.rows())
        return compress(labelled, self.names, self.joints, len(self.problem.runs), 1)

    def made(self, piece: Processed) -> Array:
        """(N, n) a torque that is made of a piece of motion, where columns are made of one; of 1 unless told."""
        return np.ones_like(piece.torque)

    def signal(self) -> Iterator[Array]:
        """(J, N) piece by piece: ``made``, as the equations have it; kept where these are."""
        if not self.problem.is_held:
            return self._signal()
        if "_made" not in self.__dict__:
            self.__dict__["_made"] = tuple(self._signal())
        return iter(self.__dict__["_made"])

    def _signal(self) -> Iterator[Array]:
        problem = self.problem
        for index, run in enumerate(problem.runs):
            torques = (replace(piece, torque=self.made(piece)) for piece in problem.pieces(run))
            for rows in problem.projecting.rows(problem.model, torques, NO_COLUMNS):
                yield problem.weighted(index, rows).y.T

    def power(self, column: int, joint: int) -> float:
        """Mean square of a column in the equations of a joint."""
        found = self.compressed
        squares = found.by_piece.column_squares(column)[joint]
        return float(squares / max(found.rows[:, joint].sum(), 1))

    def fitted(self, weights: Array, prior: Array | None, errors: CorrelatedErrors) -> tuple[Array, Pulled]:
        """Values (p,) of all parameters and columns and their covariance; weights (J,): what rows are divided by; prior
        (m, b + 1): what is known of the problem's own parameters, see ``PhysicalEstimate``."""
        information, known = self._information(weights, prior)
        root = np.asarray(linalg.solve_triangular(information.r, np.eye(len(self.names))))
        values = root @ information.z
        fit = LinearFit(self.compressed, values, weights, np.arange(len(values)), root)
        return values, pulled(self, fit, known, self.problem.of_links, errors)

    def values(self, weights: Array, prior: Array | None, further: Sequence[int]) -> Array:
        """The values alone, with some of the further columns; the others are left out."""
        information, _ = self._information(weights, prior, further)
        return np.asarray(linalg.solve_triangular(information.r, information.z))

    def taken(self, weights: Array, prior: Array | None) -> Array:
        """(p, k) what the problem's own parameters take of each further column where it is left out: A⁻¹ Wᵀ Σ⁻¹ c."""
        information, _ = self._information(weights, prior)
        p = len(self.problem.names)
        return np.asarray(linalg.solve_triangular(information.r[:p, :p], information.r[:p, p:]))

    def _information(
        self, weights: Array, prior: Array | None, further: Sequence[int] | None = None
    ) -> tuple[Information, Array]:
        compressed, p = self.compressed, len(self.problem.names)
        if further is not None:
            compressed = compressed.columns([*range(p), *(p + k for k in further)])
        known = np.zeros((0 if prior is None else len(prior), len(compressed.parameters) + 1))
        if prior is not None:
            known[:, : prior.shape[1] - 1], known[:, -1] = prior[:, :-1], prior[:, -1]
        information = compressed.enough().information(weights).add(known[:, :-1], known[:, -1])
        information.refuse_singular(compressed.parameters)
        return information, known
