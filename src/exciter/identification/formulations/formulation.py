"""What a formulation is: a motion and its torque in, equations W χ = y out.

Rows that hold a time derivative, (d/dt W1 + W2) χ = y [12.30, 12.52], have W1 differentiated numerically.
A central difference over seven samples: a sine of ω comes out too small by (ωT)⁶/140, some 10⁻¹¹ for 3 Hz at 1 kHz,
where [12.16] misses (ωT)²/6. It reaches three samples to each side, which are lost at the ends of a segment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel, TermMemory
from exciter.errors import ExciterError, ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.experiment.signals.resample import overlapped, peeked, segments
from exciter.parameters.base import BaseParameters
from exciter.robot.motion import Motion
from exciter.settings import Settings
from exciter.typing import Array, Index

DIFFERENCE_WEIGHTS = (45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0)  # of x(k + i) − x(k − i), i = 1, 2, 3
DIFFERENCE_REACH = len(DIFFERENCE_WEIGHTS)
NO_COLUMNS = np.zeros(0, dtype=np.int64)  #: of W: the right side alone
BLOCK_SAMPLES = 2048  #: of equations that are made, and go through a filter, at a time
LONGEST_STEP_SAMPLES = 1.5  #: intervals: what follows within belongs to the same segment
Entry = tuple[int, int, Array]


class Formulation(Settings, ABC):
    """Settings of a formulation, frozen, without a robot."""

    by_word: ClassVar[bool] = True
    refusal: ClassVar[type[ExciterError]] = ParameterError
    measured: ClassVar[str] = "torque"  #: of the joints: what the equations are of; or current
    keeps_columns: ClassVar[bool] = False  #: of the equations it made: a problem need not keep them, too

    @abstractmethod
    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        """Equations for some of the standard parameters, piece by piece. pieces: of one recording, in order of time;
        they may follow each other without a gap (a log larger than memory), and a gap starts anew."""

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        """One name per equation of an instant: ``Rows.joints``."""
        return model.robot.joint_names

    def base(self, model: DynamicModel) -> BaseParameters:
        """What these equations can determine at best; its ``independent`` are the columns."""
        return model.base

    def units(self, model: DynamicModel) -> tuple[str, ...]:
        """Of ``base(model).standard``."""
        return model.units


def word_of(setting: object) -> str:
    """That of a class in a registry; one of the user's own need not have any."""
    return str(getattr(setting, "word", type(setting).__name__))


def blocks(length: int, size: int = BLOCK_SAMPLES) -> Iterator[slice]:
    """Of at most ``size`` instants, one after the other."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def instants_first(sides: Array) -> Array:
    """From (J, p + 1, N), which filters want, to (N, J, p + 1); read-only."""
    sides.flags.writeable = False
    return sides.transpose(2, 0, 1)


def differentiated(rows: Iterable[Rows]) -> Iterator[Rows]:
    """From rows with the 2p columns W1 and W2, in pieces, to rows with p; a gap in time starts anew."""
    beginning, stream = peeked(rows, 1)
    if beginning is None:
        return
    for segment in segments(stream, LONGEST_STEP_SAMPLES / beginning.rate):
        for piece in overlapped(segment, DIFFERENCE_REACH):
            start = max(piece.inner.start, DIFFERENCE_REACH)
            stop = min(piece.inner.stop, len(piece.whole) - DIFFERENCE_REACH)
            if start < stop:
                yield _rows(piece.whole, start, stop)


def _rows(rows: Rows, start: int, stop: int) -> Rows:
    p = len(rows.parameters) // 2
    given = rows.sides.transpose(1, 2, 0)
    sides = given[:, p:, start:stop].copy()
    for reach, weight in enumerate(DIFFERENCE_WEIGHTS, start=1):
        ahead, behind = (given[:, :p, start + k : stop + k] for k in (reach, -reach))
        sides[:, :p] += weight * rows.rate * (ahead - behind)
    return replace(rows, time=rows.time[start:stop], sides=instants_first(sides), parameters=rows.parameters[p:])


def losses(model: DynamicModel, motion: Motion, before: TermMemory) -> list[Entry]:
    """(joint, standard column, values (N,) [torque per unit]) of entries that are not conservative; before: memory."""
    conservative = [kept for term in model.bound for kept in term.conservative]
    entries = zip(model.entries, before.values(motion), strict=True)
    return [(j, model.inertial_size + column, values) for (j, column), values in entries if not conservative[column]]
