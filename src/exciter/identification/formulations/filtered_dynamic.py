"""The filtered dynamic model [12.27]–[12.37]: F(s) Γ = (s F(s) B1 + F(s) B2) χ, without joint accelerations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.low_pass import SecondOrder
from exciter.experiment.signals.processed import Processed, remembered_pieces
from exciter.experiment.signals.rows import ParallelFilter, Rows
from exciter.identification.formulations.derivative import differentiated
from exciter.identification.formulations.dissipation import dissipation
from exciter.identification.formulations.formulation import Formulation
from exciter.settings import Number

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class FilteredDynamic(Formulation):
    """parallel_filter: F, and how many rows are kept. a [rad/s]: F is a²/(s + a)² of [12.29] instead.

    B1 is differentiated (central difference) and goes through F like all the rest, so that s F(s) is what it is for
    any low-pass. The torque's analogue filter is respected as in ``ParallelFilter``.
    """

    word, title = "filtered", "the filtered dynamic model, without accelerations"
    inner = ("parallel_filter",)
    parallel_filter: ParallelFilter = field(default_factory=ParallelFilter)
    a: Annotated[float | None, Number(above=0.0, unit="rad/s")] = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.a is not None:
            object.__setattr__(self, "parallel_filter", ParallelFilter(SecondOrder.of(self.a)))

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: IntArray) -> Iterator[Rows]:
        return self.parallel_filter.stream(differentiated(_lagrange_rows(model, pieces, columns)))

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return model.robot.joint_names


def _lagrange_rows(
    model: DynamicModel, pieces: Iterable[Processed], columns: IntArray, size: int = 2048
) -> Iterator[Rows]:
    """B1, then B2, as columns, and y = Γ."""
    names = tuple(model.standard[k] for k in columns)
    p = len(names)
    for memory, piece in remembered_pieces(model, pieces):
        friction = dissipation(model, piece.motion, memory)
        for start in range(0, len(piece), size):
            part = slice(start, min(start + size, len(piece)))
            b1, b2 = model.momentum_rows(piece.motion[part])
            for joint, column, values in friction:  # those of the part alone remember nothing
                b2[:, joint, column] = values[part]
            sides = np.empty((model.n, 2 * p + 1, len(b1)))  # time last, as filters want it
            sides[:, :p] = b1.transpose(1, 2, 0)[:, columns]
            sides[:, p:-1] = b2.transpose(1, 2, 0)[:, columns]
            sides[:, -1] = piece.torque[part].T
            sides.flags.writeable = False
            time, both, limit = piece.motion.time[part], sides.transpose(2, 0, 1), piece.torque_bandwidth
            yield Rows(time, both, piece.rate, model.robot.joint_names, 2 * names, torque_bandwidth=limit)
