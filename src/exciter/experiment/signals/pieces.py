"""Pieces of motion and torque, before equations are made of them: of which robot, and what goes on from the last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from exciter.dynamics.model import DynamicModel, TermMemory
from exciter.errors import RecordingError
from exciter.experiment.signals.processed import Processed

STRETCH_GAP_INTERVALS = 1.5  #: between samples, beyond which a motion does not go on


def remembered_pieces(model: DynamicModel, pieces: Iterable[Processed]) -> Iterator[tuple[TermMemory, Processed]]:
    """Those with samples, and what joint terms remember of the stretch without gap that each of them continues; refused
    where they are of another robot."""
    end = -np.inf
    for piece in pieces:
        if piece.motion.n != model.n:
            raise RecordingError(f"the motion has {piece.motion.n} joints, the robot {model.n}; see Recording.arranged")
        if len(piece):
            if piece.motion.time[0] - end >= STRETCH_GAP_INTERVALS / piece.rate:
                memory = TermMemory(model)
            end = piece.motion.time[-1]
            yield memory, piece
