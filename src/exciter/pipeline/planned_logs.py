"""The logs of a plan: which file belongs to which stage, and when in each the robot does what its stage is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from exciter.errors import ExciterError, shown
from exciter.excitation.files.trajectory_files import read_trajectory
from exciter.experiment.plan import Plan
from exciter.experiment.quality.motion_checks import began
from exciter.experiment.recording import Recording
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.runs.run import Run
from exciter.identification.selection.friction_candidates import position_resolution
from exciter.identification.stages.planned import PlannedRun, settled
from exciter.pipeline.inspect import Given, StageMotion, naming
from exciter.robot.robot import Robot
from exciter.typing import Array

AnyPlan = Plan | str | Path


@dataclass(frozen=True, eq=False)
class PlannedLogs:
    """A plan for a robot; given: the log of every stage, in order."""

    plan: Plan
    stages: tuple[StageMotion, ...]
    given: tuple[Given, ...]

    @classmethod
    def of(cls, plan: AnyPlan, robot: Robot, logs: Sequence[Given] = ()) -> PlannedLogs:
        """logs: in the order of the stages, instead of those where the plan expects them."""
        if not isinstance(plan, Plan | str | Path):
            raise ExciterError(f"the plan is {shown(plan)}; give a Plan, or the path of a plan.yaml")
        found = plan if isinstance(plan, Plan) else Plan.read(plan)
        found.refuse_other(robot)
        count = len(found.stages)
        if logs and len(logs) != count:
            names = ", ".join(stage.name for stage in found.stages)
            raise ExciterError(
                f"{len(logs)} logs are given, and the plan has {count} stages ({names}); give one of each in this "
                "order, or none: the plan says where they are"
            )
        expected = [found.log_path(stage) for stage in found.stages]
        if not logs and (missing := [path for path in expected if not path.exists()]):
            named = ", ".join(map(str, missing[:3])) + (f" and {len(missing) - 3} more" if missing[3:] else "")
            raise ExciterError(
                f"the plan expects logs that are not there: {named}; record them there, correct log: in the plan, or "
                "give one log for each stage, in order"
            )
        stages = tuple(StageMotion(one, read_trajectory(found.motion_path(one), robot)) for one in found.stages)
        for one in stages:
            one.stage.refuse_other(one.sent, robot)
        return cls(found, stages, tuple(logs) or tuple(expected))

    @property
    def estimator(self) -> Estimator:
        """That the plan names."""
        if self.plan.estimator not in ESTIMATORS.words:
            raise ExciterError(
                f"the plan names estimator '{self.plan.estimator}'; there are: {', '.join(ESTIMATORS.words)}"
            )
        return ESTIMATORS[self.plan.estimator]()

    def runs(self, runs: Sequence[Run]) -> tuple[PlannedRun, ...]:
        """Of the logs of all stages, in order."""
        made = []
        for one, run in zip(self.stages, runs, strict=True):
            with naming(run.name):
                made.append(replace(planned_run(one, run), experiment=self.plan.experiment))
        return tuple(made)


def planned_run(motion: StageMotion, run: Run) -> PlannedRun:
    """When in a run the robot rests, or moves at constant velocity, as its stage says; the log's clock is its own."""
    stage, (time, q) = motion.stage, _positions(run)
    first, dwells = 0.0, list[tuple[float, float]]()
    if stage.dwells or stage.cruises:
        first = began(motion.sent, time, q)
    resolution = position_resolution((run,))
    for begin, end in stage.dwells:
        if (kept := settled(time, q, (first + begin, first + end), resolution)) is not None:
            dwells.append(kept)
    speeds = dict[str, float]()
    for one in stage.cruises:
        speeds[one.joint] = min(abs(one.speed), speeds.get(one.joint, np.inf))
    return PlannedRun(
        run=run.name,
        stage=stage.name,
        purpose=stage.purpose,
        moves=stage.moves or tuple(() if run.recording is None else run.recording.joints),
        dwells=tuple(dwells),
        cruises=tuple((one.joint, (first + one.start, first + one.end)) for one in stage.cruises),
        slowest=tuple(speeds.items()),
    )


def _positions(run: Run) -> tuple[Array, Array]:
    """(N,), (N, n) as recorded; smoothed, of a log that is not held."""
    recording = run.recording
    if isinstance(recording, Recording) and run.sample is None:
        good = np.isfinite(recording.q).all(axis=1)
        return recording.time[good], recording.q[good]
    motions = [part.motion for part in run.parts]
    return np.concatenate([m.time for m in motions]), np.concatenate([m.q for m in motions])
