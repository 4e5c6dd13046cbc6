"""The base-link method: the six equations of a free base alone, which need no torque of any joint.

W_base χ = Σ J_baseᵀ f: what moves the whole robot in the world is gravity and what the ground does to it (Ayusawa,
Venture & Nakamura 2014). In the air the right sides are zero but for gravity, which stands in W: then χ is known up to
a factor only, unless something of known force touches. All inertial base parameters show in these six; drives, friction
and rotors act between links, and do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError, RobotError
from exciter.experiment.signals.contact_stretches import stretches
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows, model_rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.formulation import Formulation, instants_first
from exciter.parameters.base import BaseParameters
from exciter.robot.robot import FREE_BASE_JOINTS
from exciter.typing import Index

UNKNOWN_FORCES = (
    "forces of contacts were not measured, and the six equations of the base need them; give contact_force: in a "
    "recording.yaml, or use formulation dynamic, which takes unknown forces off"
)


@dataclass(frozen=True)
class BaseLink(Formulation):
    """parallel_filter: through which both sides go, and are decimated; None: rows as measured.

    Standard parameters are the links'; parameters of joint terms do not appear."""

    word, title = "base-link", "the six equations of a free base"
    inner = ("parallel_filter",)
    parallel_filter: ParallelFilter | None = None

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        rows = _base_rows(model, pieces, columns)
        return rows if self.parallel_filter is None else self.parallel_filter.stream(rows)

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        _refuse_fixed(model)
        return FREE_BASE_JOINTS

    def units(self, model: DynamicModel) -> tuple[str, ...]:
        return model.units[: model.inertial_size]

    def base(self, model: DynamicModel) -> BaseParameters:
        """Those of all equations together, without joint terms: the base feels whatever a joint feels of a link."""
        _refuse_fixed(model)
        return replace(model, terms=(), stances=()).base


def _refuse_fixed(model: DynamicModel) -> None:
    if not model.robot.free_base:
        raise RobotError(f"formulation base-link needs a free base, that of '{model.robot.name}' is fixed: base: free")


def _base_rows(model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
    free = list(model.robot.free_base)

    def known(piece: Processed) -> Processed:
        if any(stance for stance, _ in stretches(piece)):
            raise RecordingError(UNKNOWN_FORCES)
        return replace(piece, silent=())

    for rows in model_rows(model, map(known, pieces), columns):
        sides = rows.sides.transpose(1, 2, 0)[free]
        yield replace(rows, sides=instants_first(sides), joints=FREE_BASE_JOINTS, present=None)
