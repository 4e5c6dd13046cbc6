"""How near to zero offsets of torques are: the nearest that predicts what was left out as well as any.

Over a short part of a joint's range the weight of the links, a counterbalance and an offset look alike, and the least
squares may share torque among them as they like: right there, wrong elsewhere. Weight and springs are there for a
reason; an offset is what sensors and uneven friction leave, and small.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exciter.identification.automatic.choice import Choice
from exciter.identification.automatic.trial import Trial
from exciter.identification.automatic.weight import strongest_as_good
from exciter.typing import Array

OFFSETS = (0.03, 0.1, 0.3, 1.0, None)  #: σ over the rms torque of the joint, from the nearest to zero; None: free


def choose_offset(trial: Trial, weight: float, noise: Array) -> tuple[float | None, Choice]:
    """σ of offsets over the torque of their joint, and why; weight: of the prior on links, noise (J,) of equations."""
    scores = [replace(trial, offset=offset).scores(np.array([weight]), noise)[0] for offset in OFFSETS]
    chosen = strongest_as_good(scores)
    listed = ", ".join(f"{score.mean:.4g} {_within(one)}" for one, score in zip(OFFSETS, scores, strict=True))
    reason = f"the nearest to zero that predicts as well as any: error {listed}"
    return OFFSETS[chosen], Choice("estimator: offset", _shown(OFFSETS[chosen]), reason)


def _within(offset: float | None) -> str:
    return "free" if offset is None else f"within {100.0 * offset:g} %"


def _shown(offset: float | None) -> str:
    return "free" if offset is None else f"offsets are {_within(offset)} of the joint's torque, about"
