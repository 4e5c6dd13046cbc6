"""Torque columns that store no energy: friction, and whatever else works through its power alone."""

from __future__ import annotations

from exciter.dynamics.model import DynamicModel, TermMemory
from exciter.robot.motion import Motion
from exciter.typing import Array

Entry = tuple[int, int, Array]


def dissipation(model: DynamicModel, motion: Motion, before: TermMemory) -> list[Entry]:
    """(joint, standard column, values (N,) [torque per unit]) of every entry that is not conservative; before: what
    terms remember of the motion that this one continues."""
    conservative = [kept for term in model.bound for kept in term.conservative]
    entries = zip(model.entries, before.values(motion), strict=True)
    return [(j, 10 * model.n + column, values) for (j, column), values in entries if not conservative[column]]
