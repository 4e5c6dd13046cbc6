"""The equations of one run of a problem, for a worker that reads its file: what is summed over them comes back.

Everything that is decided by looking at all runs, or at samples of them, has been decided: the noise by which unknown
forces are taken off, the choices of the route, the period by which folds are told, the scale of the equations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import Absorbed, absorbed
from exciter.identification.runs.run import Run, StreamedParts, without_load
from exciter.typing import Array, Index


@dataclass(frozen=True, eq=False)
class RowsOfRun:
    """columns: of the standard parameters; scale (J,): by which equations are divided, None: as measured."""

    model: DynamicModel
    formulation: Formulation
    columns: Index
    run: Run
    scale: Array | None = None

    @classmethod
    def elsewhere(cls, model: DynamicModel, formulation: Formulation, columns: Index, run: Run) -> RowsOfRun:
        """Without the samples of the run that are at hand."""
        assert isinstance(run.parts, StreamedParts)
        period = run.period or run.seen_period
        parts = run.parts.for_worker()
        named = replace(run, parts=parts, recording=None, sample=None, held=run.silent, period=period, notes=())
        return cls(model, formulation, columns, named)

    def rows(self) -> Iterator[Rows]:
        """In order of time."""
        try:
            for rows in self.formulation.rows(self.model, loaded_pieces(self.model, self.run), self.columns):
                yield scaled(rows, self.scale)
        except RecordingError as error:
            named = self.run.name in str(error)
            raise RecordingError(str(error) if named else f"{self.run.name}: {error}") from None

    def absorbed(self, joints: int, folds: int) -> Absorbed:
        """In one triangular factor per fold and joint."""
        labelled = ((0, self.run.fold(rows.time, folds), rows) for rows in self.rows())
        return absorbed(labelled, len(self.columns), joints, 1, folds)


def loaded_pieces(model: DynamicModel, run: Run) -> Iterator[Processed]:
    """Motion, torque and wrench of a run, without what a known payload took."""
    for piece in run.parts:
        if piece.motion.n != model.n:
            raise RecordingError(f"{run.name} has {piece.motion.n} joints, the robot {model.n}; see Recording.arranged")
        piece, payload = replace(piece, silent=run.silent) if run.silent else piece, run.payload
        yield piece if payload is None or not payload.mass else without_load(model, payload, piece)


def scaled(rows: Rows, scale: Array | None) -> Rows:
    """Equations divided by ``scale`` (J,)."""
    if scale is None or (scale == 1.0).all():
        return rows
    sides = rows.sides / scale[:, None]
    sides.flags.writeable = False
    return replace(rows, sides=sides)
