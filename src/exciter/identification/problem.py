"""The problem to be solved: a model, runs of the robot, and a formulation that makes equations of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import Rows
from exciter.identification.compress import compress
from exciter.identification.compressed import Compressed
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.load import without_load
from exciter.identification.run import Run
from exciter.parameters.base import BaseParameters

FOLDS = 10  #: pieces of time every run is cut into, for cross-validation


@dataclass(frozen=True, eq=False)
class Problem:
    """What is asked: the base parameters of ``model``, of all runs together. Known payloads are taken off first.

    folds: how many pieces of time every run is cut into (pieces of its period, where it repeats). jobs: how many
    threads compress the equations.
    """

    model: DynamicModel
    runs: tuple[Run, ...]
    formulation: Formulation = field(default_factory=InverseDynamic)
    folds: int = FOLDS
    jobs: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", tuple(self.runs))
        if not self.runs:
            raise RecordingError("there is nothing to identify from; give at least one recording")
        if self.folds < 1:
            raise ParameterError(f"{self.folds} folds; give 1 or more")

    # -- what is asked ---------------------------------------------------------------------------------------------

    @cached_property
    def base(self) -> BaseParameters:
        return self.formulation.base(self.model)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the base parameters."""
        return self.base.names

    @cached_property
    def units(self) -> tuple[str, ...]:
        units = self.formulation.units(self.model)
        return tuple(units[k] for k in self.base.independent)

    @property
    def joints(self) -> tuple[str, ...]:
        """Equations of an instant."""
        return self.formulation.equations(self.model)

    # -- equations -------------------------------------------------------------------------------------------------

    def pieces(self, run: Run) -> Iterator[Processed]:
        """Motion, torque and wrench of a run, without what a known payload took."""
        for piece in run.parts:
            if piece.motion.n != self.model.n:
                raise RecordingError(
                    f"{run.name} has {piece.motion.n} joints, the robot {self.model.n}; see Recording.arranged"
                )
            payload = run.payload
            yield piece if payload is None or not payload.mass else without_load(self.model, payload, piece)

    def rows(self) -> Iterator[tuple[int, Rows]]:
        """(number of the run, equations) in order of time, piece by piece; can be gone through again and again."""
        for index, run in enumerate(self.runs):
            for rows in self.formulation.rows(self.model, self.pieces(run), self.base.independent):
                yield index, rows

    @cached_property
    def compressed(self) -> Compressed:
        """All equations in one triangular factor per run, fold and joint; the rows are gone through once."""
        labelled = ((index, self.runs[index].fold(rows.time, self.folds), rows) for index, rows in self.rows())
        found = compress(labelled, self.names, self.joints, len(self.runs), self.folds, self.jobs)
        for joint, squares in zip(found.joints, found.signal, strict=True):
            if squares == 0.0:
                raise RecordingError(
                    f"the torque of '{joint}' is zero throughout: it was not recorded, or the drive was off; lock the "
                    "joint, or give a log that has it"
                )
        return found
