"""The inverse dynamic model [12.18]: Γ = Φ(q, q̇, q̈) χ, one equation per joint and instant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import ParallelFilter, Rows, filtered_rows, model_rows
from exciter.identification.formulations.formulation import Formulation
from exciter.parameters.terms.dry_friction import BoundDryFriction
from exciter.parameters.terms.term import PerJoint, per_joint
from exciter.typing import Array


@dataclass(frozen=True)
class InverseDynamic(Formulation):
    """parallel_filter: through which both sides go, and are decimated [12.21]ff.; None: rows as measured.

    dead_zone [rad/s or m/s], one for all joints, by name or in order: a joint with dry friction that is slower has no
    equation. What friction is at rest no model of sliding tells: it is whatever holds the joint. Pre-sliding friction
    tells, and needs none.
    """

    word, title = "dynamic", "the inverse dynamic model"
    inner = ("parallel_filter", "dead_zone")
    parallel_filter: ParallelFilter | None = None
    dead_zone: PerJoint = 0.0

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: NDArray[np.int64]) -> Iterator[Rows]:
        zone = self.zone(model)
        if self.parallel_filter is None:
            return model_rows(model, pieces, columns, dead_zone=zone)
        return filtered_rows(model, pieces, self.parallel_filter, columns, dead_zone=zone)

    def zone(self, model: DynamicModel) -> Array:
        """(n,); zero for joints without dry friction."""
        zone = per_joint(self.dead_zone, model.robot.joint_names, "the dead zone")[:, 0]
        if not np.isfinite(zone).all() or (zone < 0.0).any():
            raise ParameterError(f"the dead zone is {zone.tolist()} rad/s or m/s; give numbers ≥ 0")
        sliding = [term for term in model.bound if isinstance(term, BoundDryFriction) and not term.has_memory]
        dry = {joint for term in sliding for joint, _ in term.rows}
        return np.where(np.isin(np.arange(model.n), list(dry)), zone, 0.0)

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return model.robot.joint_names
