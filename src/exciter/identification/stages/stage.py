"""A stage: some parameters from some of the equations."""

from __future__ import annotations

from dataclasses import dataclass, field

from exciter.identification.stages.parameters import Others, Parameters
from exciter.identification.stages.selection import Everything, Selection


@dataclass(frozen=True)
class Stage:
    """name: for people. parameters: which it determines. joints: whose equations it uses, numbers from 0, all unless
    given. selection, runs: at which instants, and of which runs by name, all unless given.

    alone: parameters that are neither determined here nor known have no part in these equations (at rest inertias
    have none), so that their columns are left out; else they are estimated along and forgotten. Filtered equations are
    then chosen only where the selection holds as far as the filter looks.
    mean: consecutive equations of a stretch without motion become one, their mean: what they share (friction that
    holds the joint) is one error, not hundreds.
    """

    name: str
    parameters: Parameters = field(default_factory=Others)
    joints: tuple[int, ...] | None = None
    selection: Selection = field(default_factory=Everything)
    runs: tuple[str, ...] | None = None
    alone: bool = False
    mean: bool = False
