"""Pieces of motion and torque, before equations are made of them: whether a model can work on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.signals.processed import Processed


def checked_pieces(model: DynamicModel, pieces: Iterable[Processed]) -> Iterator[Processed]:
    """Those with samples; refused where the model cannot work on them."""
    end = -np.inf
    for piece in pieces:
        if piece.motion.n != model.n:
            raise RecordingError(f"the motion has {piece.motion.n} joints, the robot {model.n}; see Recording.arranged")
        if len(piece):
            _refuse_torn_memory(model, piece, end)
            end = piece.motion.time[-1]
            yield piece


def _refuse_torn_memory(model: DynamicModel, piece: Processed, end: float) -> None:
    """A term that remembers cannot be given the second half of a motion."""
    if piece.motion.time[0] - end < 1.5 / piece.rate and any(term.has_memory for term in model.bound):
        raise RecordingError(
            "a joint term of the model remembers earlier samples (Dahl friction) and cannot work on a motion in "
            "pieces; process the recording as one (Route.apply), or use Coulomb friction for this log"
        )
