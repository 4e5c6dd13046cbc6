"""Stretches of a motion in which the same frames touch the ground, without what is near a change of contact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from exciter.dynamics.contacts import Stance
from exciter.experiment.recording.base_sensing import TOUCHING_SHARE
from exciter.experiment.signals.processed_motion import Processed


def stretches(piece: Processed) -> Iterator[tuple[Stance, Processed]]:
    """In order of time; the margin of ``Contacts`` is left out before and behind every change. In the air, and where
    all forces were measured, nothing touches with an unknown force: the stance is empty."""
    if piece.contact is None or piece.contacts is None:
        yield (), piece
        return
    touching = piece.contact > TOUCHING_SHARE
    changes = np.flatnonzero((touching[1:] != touching[:-1]).any(axis=1)) + 1
    margin = math.ceil(piece.contacts.margin * piece.rate)
    ends = [0, *changes.tolist(), len(piece)]
    for k in range(len(ends) - 1):
        first = ends[k] + (margin if k else 0)
        last = ends[k + 1] - (margin if k < len(ends) - 2 else 0)
        if first < last:
            stance = piece.contacts.stance(piece.contact[first])
            part = piece[first:last]
            yield stance, part if stance else replace(part, contact=None, contacts=None)


def stances(pieces: Iterable[Processed]) -> tuple[Stance, ...]:
    """All that occur, each once; nothing where no contact of unknown force does."""
    found = dict.fromkeys(stance for piece in pieces for stance, part in stretches(piece) if len(part))
    return tuple(found) if any(found) else ()
