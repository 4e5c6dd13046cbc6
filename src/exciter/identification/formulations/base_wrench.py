"""The reaction on the base (12.8): six equations per instant from a force plate, without joint friction.

f, m = Φ_base(q, q̇, q̈) χ + offset. Whatever acts between links is not in it: drives, friction, springs, and the spin of
rotors as far as it is neglected. Nor is what does not change: the plate's zero and the weight of the base are six
offsets, and masses that only load the plate join them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from exciter.dynamics.base import random_states
from exciter.dynamics.model import BaseReaction, DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.recording.recording import WRENCH_COLUMNS, WRENCH_UNITS
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.formulation import Formulation, IntArray, blocks, instants_first
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters, numeric_base
from exciter.parameters.base_symbolic import prismatic_links

WRENCH_EQUATIONS = tuple(f"base.{name}" for name in WRENCH_COLUMNS)
WRENCH_OFFSETS = tuple(f"off.{name}" for name in WRENCH_COLUMNS)
CONSTANT_COLUMN_TOLERANCE = 1e-9  # of a column: less is none


@dataclass(frozen=True)
class BaseWrench(Formulation):
    """parallel_filter: through which both sides go, and are decimated; None: rows as measured.

    Standard parameters are the links' and the six offsets; parameters of joint terms do not appear."""

    word, title = "base-wrench", "the wrench on the base"
    inner = ("parallel_filter",)
    parallel_filter: ParallelFilter | None = None

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: IntArray) -> Iterator[Rows]:
        rows = _wrench_rows(model, pieces, columns)
        return rows if self.parallel_filter is None else self.parallel_filter.stream(rows)

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return WRENCH_EQUATIONS

    def units(self, model: DynamicModel) -> tuple[str, ...]:
        return inertial.units(model.n) + WRENCH_UNITS

    def base(self, model: DynamicModel) -> BaseParameters:
        """Numerically, at random states: of what varies first; what is left constant joins the offsets."""
        names = inertial.names(model.n)
        reaction = BaseReaction(model).regressor(random_states(model.robot, 20 * model.n + 20))
        varying = (reaction - reaction.mean(axis=0)).reshape(-1, len(names))
        found = numeric_base(varying, names, prismatic=prismatic_links(model.robot))
        constant = (reaction - reaction[:, :, found.independent] @ found.grouping).mean(axis=0)  # (6, p)
        constant[np.abs(constant) < CONSTANT_COLUMN_TOLERANCE * np.abs(reaction).max(axis=(0, 1))] = 0.0
        b, p = found.grouping.shape
        grouping = np.zeros((b + 6, p + 6))
        grouping[:b, :p], grouping[b:, :p], grouping[b:, p:] = found.grouping, constant, np.eye(6)
        return BaseParameters(
            standard=(*names, *WRENCH_OFFSETS),
            independent=np.append(found.independent, p + np.arange(6)),
            grouping=grouping,
            decision=replace(found.decision, rank=b + 6),
            method=f"{found.method}, and six offsets",
        )


def _wrench_rows(
    model: DynamicModel, pieces: Iterable[Processed], columns: IntArray, size: int = 1024
) -> Iterator[Rows]:
    reaction, own = BaseReaction(model), 10 * model.n
    names = (*inertial.names(model.n), *WRENCH_OFFSETS)
    parameters = tuple(names[k] for k in columns)
    for piece in pieces:
        if piece.wrench is None:
            raise RecordingError(
                "no wrench on the base was recorded; give a log that has one (base.fx … base.mz, or wrench: in "
                "recording.yaml), or use another formulation"
            )
        for part in blocks(len(piece), size):
            phi = reaction.regressor(piece.motion[part]).transpose(1, 2, 0)
            sides = np.zeros((6, len(columns) + 1, phi.shape[2]))  # time last, as filters want it
            for place, column in enumerate(columns):
                if column < own:
                    sides[:, place] = phi[:, column]
                else:
                    sides[column - own, place] = 1.0
            sides[:, -1] = piece.wrench[part].T
            yield Rows(piece.motion.time[part], instants_first(sides), piece.rate, WRENCH_EQUATIONS, parameters)
