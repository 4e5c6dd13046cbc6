"""Armstrong (1989), as Swevers et al. 1997 describe it: a sequence of joint accelerations that makes the smallest
singular value large. The accelerations themselves are the unknowns, the freest description of a motion and the one with
most variables; positions and velocities follow by integration. With limits kept by the optimiser it is a design like
any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria.optimality_and_condition import EOptimality
from exciter.excitation.design import Design, design
from exciter.excitation.experiments.experiment import Experiment, ExperimentStage, ExperimentTask
from exciter.excitation.trajectories.piecewise import MOST_FAMILY_SPANS, AccelerationSequence
from exciter.excitation.trajectories.trajectory import Duration
from exciter.settings import Whole


def armstrong(model: DynamicModel, sequence: AccelerationSequence | None = None, **settings: Any) -> Design:
    """The acceleration sequence that maximises σ_min(FᵀF) within all limits; settings as of ``design``.

    ``random_trajectory(sequence, …)`` draws a random one, to compare with."""
    return design(model, sequence or AccelerationSequence(), **{"criterion": EOptimality(), **settings})


@dataclass(frozen=True)
class ArmstrongExperiment(Experiment):
    """duration [s], cut into equal intervals, at whose ends the accelerations are free."""

    word, title = "armstrong", "a sequence of accelerations with the largest smallest singular value"
    duration: Duration = 10.0
    intervals: Annotated[int, Whole(3, MOST_FAMILY_SPANS)] = 20

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        family = AccelerationSequence(self.duration, self.intervals)
        return (task.searched("excitation", "excitation", family=family, criterion=EOptimality()),)
