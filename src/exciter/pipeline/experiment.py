"""A staged experiment for a robot: its motions, its plan, and the plan executed by a virtual robot, or certified."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, shown
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.collision import Obstacle
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.criteria.criterion import Figures
from exciter.excitation.design_settings import DesignSettings, home
from exciter.excitation.experiments.experiment import (
    Experiment,
    ExperimentStage,
    ExperimentTask,
    StageProgress,
    together,
)
from exciter.excitation.experiments.registry import EXPERIMENTS
from exciter.excitation.files.trajectory_files import DESIGN, EXACT_FILE, Exported, read_trajectory
from exciter.excitation.optimiser.deadline import NEVER, Deadline
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.experiment.plan import LOG_FOLDER, PLAN_FILE, Plan, PlannedStage
from exciter.experiment.recording.own_log_format import check_beside, write_recording, written_beside
from exciter.experiment.virtual import Simulated, VirtualRobot
from exciter.experiment.virtual.motion_execution import Progress
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.files import json_text, output_folder, path_of, scratch, staged
from exciter.notes import Note, texts
from exciter.pipeline.check import CheckedMotion, check, design_settings
from exciter.pipeline.design import Designed, designed_settings, time_limit
from exciter.pipeline.saving import REPORT_FILE, description_hash, robot_data, versions
from exciter.pipeline.settings_file import FileContent, SettingsFile, counted, loaded
from exciter.report.experiment_report import experiment_page
from exciter.report.page import Page
from exciter.robot.robot import Robot
from exciter.settings import OneOf, fill, written, yaml_text
from exciter.workers import Processes, Workers

SUMMARY_FILE = "experiment.json"
AnyExperiment = Experiment | str | Mapping[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignedExperiment:
    """The stages of an experiment, each with a certified motion, and what asked for them. sha256: of the robot's
    description.

    >>> experiment = ex.design_experiment(robot, "otani", seed=3)
    >>> experiment
    <otani for gautier-khalil: 1 stage, 10 s of motion, certified>
    >>> experiment.plan.stages[0].log
    'logs/excitation.csv'"""

    experiment: Experiment
    stages: tuple[ExperimentStage, ...]
    config: DesignSettings
    sha256: str | None

    @property
    def robot(self) -> Robot:
        return self.stages[0].design.model.robot

    @property
    def certified(self) -> bool:
        """Whether every limit holds in every stage for all time."""
        return all(one.certified for one in self.certificates.values())

    @property
    def certificates(self) -> dict[str, Certificate]:
        """By the name of the stage."""
        return {stage.name: stage.design.certificate for stage in self.stages}

    @property
    def duration(self) -> float:
        """[s] of all motions."""
        return sum(stage.design.curve.duration for stage in self.stages)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was assumed of robot and noise, and how the motions were found."""
        own = (replace(note, text=f"{stage.name}: {note.text}") for stage in self.stages for note in stage.design.notes)
        return (*self.robot.remarks, *self.config.notes, *own)

    @property
    def not_checked(self) -> tuple[Note, ...]:
        """What the certificates do not speak of, each once."""
        return tuple({note.text: note for stage in self.stages for note in stage.design.unchecked}.values())

    @cached_property
    def figures(self) -> Figures:
        """What the logs of all stages together tell about the base parameters, were all of their samples used."""
        return together(self.stages)

    @property
    def plan(self) -> Plan:
        """Which motion is for what, and where its log is expected."""
        planned = tuple(
            PlannedStage(
                name=stage.name,
                purpose=stage.purpose,
                motion=f"{stage.name}/{EXACT_FILE}",
                log=f"{LOG_FOLDER}/{stage.name}.csv",
                moves=stage.moves,
                dwells=stage.dwells,
                cruises=stage.cruises,
            )
            for stage in self.stages
        )
        estimator, word = type(self.experiment).estimator, type(self.experiment).word
        return Plan(experiment=word, robot=self.robot.name, estimator=estimator, stages=planned)

    def designed(self, stage: str) -> Designed:
        """One stage, as any design is."""
        self.plan.stage(stage)  # refuses a name that is none
        found = next(one for one in self.stages if one.name == stage)
        return Designed(design=found.design, config=self.config, sha256=self.sha256)

    # -- shown, saved ------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """The files of ``exciter design`` with an experiment: a folder for every stage, plan.yaml, experiment.json and
        report.html; all of them or none."""
        self.write(path_of(folder, "the folder"))
        return Path(folder)

    def write(self, folder: Path, *, deadline: Deadline = NEVER) -> dict[str, Any]:
        """What experiment.json says. Everything is written beside its place, read back and certified first; the plan,
        through which the rest is read, comes last."""
        with output_folder(folder), scratch(folder) as aside:
            files = {}
            for stage in self.stages:
                files[stage.name] = self.designed(stage.name).write(aside / stage.name, deadline=deadline)[0]
            data = self.to_dict(files)
            (folder / PLAN_FILE).unlink(missing_ok=True)
            for stage in self.stages:
                with output_folder(folder / stage.name) as place, staged(place, DESIGN) as inner:
                    for path in (aside / stage.name).iterdir():
                        os.replace(path, inner / path.name)
            with staged(folder, last=PLAN_FILE) as top:
                (top / PLAN_FILE).write_text(yaml_text(written(self.plan)), encoding="utf-8")
                (top / SUMMARY_FILE).write_text(json_text(data), encoding="utf-8")
                self.report().write(top / REPORT_FILE)
        return data

    def report(self) -> Page:
        """All stages with their verdicts; every stage has a report of its own in its folder."""
        return experiment_page(self.experiment, self.stages, self.figures, self.settings, self.notes, REPORT_FILE)

    @property
    def settings(self) -> dict[str, Any]:
        """Plain data; written as YAML it is a settings file that asks for the same experiment."""
        return {"experiment": written(self.experiment), **self.config.to_dict()}

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        count = "1 stage" if len(self.stages) == 1 else f"{len(self.stages)} stages"
        proved = "certified" if self.certified else "not certified"
        word = type(self.experiment).word
        return f"<{word} for {self.robot.name}: {count}, {self.duration:.4g} s of motion, {proved}>"

    def to_dict(self, files: Mapping[str, Exported]) -> dict[str, Any]:
        """experiment.json. files: of each stage."""
        planned = {stage.name: written(stage) for stage in self.plan.stages}
        stages = [
            {
                **planned[stage.name],
                "duration": stage.design.curve.duration,
                "parameters": list(stage.design.parameters),
                "condition_number": stage.design.condition_number,
                "condition_number_normalized": stage.design.condition_number_normalized,
                "log_det": stage.design.log_det,
                "certificate": stage.design.certificate.to_dict(),
                "files": files[stage.name].to_dict(),
            }
            for stage in self.stages
        ]
        return {
            "experiment": type(self.experiment).word,
            "robot": robot_data(self.robot, self.sha256),
            "certified": self.certified,
            "duration": self.duration,
            "condition_number": self.figures.condition_number,
            "condition_number_normalized": self.figures.condition_number_normalized,
            "log_det": -self.figures.log_det,
            "predicted_std": dict(zip(self.figures.names, self.figures.predicted_std.tolist(), strict=True)),
            "stages": stages,
            "remarks": texts(self.notes),
            "not_checked": texts(self.not_checked),
            "settings": self.settings,
            "versions": versions(),
        }


def design_experiment(
    robot: Robot | str | Path,
    experiment: AnyExperiment | None = None,
    *,
    settings: DesignSettings | FileContent = None,
    constraints: ConstraintSettings | Constraint | Obstacle | Sequence[Constraint | Obstacle] = (),
    deadline: Deadline | None = None,
    workers: Workers | None = None,
    progress: StageProgress | None = None,
    **changes: Any,
) -> DesignedExperiment:
    """The motions of a staged experiment, within all limits, certified.

    experiment: its word (static, constant-velocity, wrist-then-arm, link-by-link, vandanjon, points, otani,
    armstrong), a mapping from the word to its settings, or an object; that of the settings file unless given. settings,
    constraints, workers, changes: as of ``design``; trajectory is the family of those motions that are searched.

    >>> experiment = ex.design_experiment(robot, {"static": {"poses": 4, "dwell": 0.5}}, starts=1)
    >>> [(stage.name, stage.purpose) for stage in experiment.stages]
    [('poses', 'rest'), ('excitation', 'excitation')]
    >>> folder = experiment.save("plan")  # plan.yaml, report.html, and a folder for every stage"""
    chosen = chosen_experiment(settings, experiment)
    trajectory = changes.pop("trajectory", None)
    config = designed_settings(settings, trajectory, constraints, changes)
    robot, options = loaded(robot, config.robot)
    config = replace(config, robot=options)
    if not isinstance(config.motion, Trajectory):
        raise ExciterError(
            f"{config.place('trajectory')} is {config.trajectory.family}, which is drawn; an experiment searches its "
            "motions: choose another family"
        )
    if config.parameters is not None:
        raise ExciterError(
            f"{config.place('parameters')} is for one motion; each stage of an experiment has its own: leave it out"
        )
    if config.duration_range is not None:
        raise ExciterError(
            f"{config.place('trajectory')}: duration_range is for one motion; leave it out of a staged experiment"
        )
    model, noise = config.model(robot), config.noise_of(robot)
    until = time_limit(config) if deadline is None else deadline
    task = ExperimentTask(
        model=model,
        constraints=config.constraints_of(robot),
        noise=model.per_joint(1.0 if noise is None else noise, "noise"),
        family=config.motion,
        criterion=config.criterion_of(model),
        home=home(robot),
        prior=config.prior_information(model),
        samples=config.samples,
        periods=config.periods,
        ramps=config.ramps(robot),
        starts=config.starts,
        seed=config.seed,
        workers=Processes(config.jobs) if workers is None else workers,
        rate=config.rate,
        deadline=until,
        progress=progress,
    )
    with until.kept():
        stages = chosen.stages(task)
    return DesignedExperiment(experiment=chosen, stages=stages, config=config, sha256=description_hash(robot))


def chosen_experiment(
    settings: DesignSettings | FileContent, given: AnyExperiment | None, where: str = "experiment"
) -> Experiment:
    """By object, word, or word with settings; a word alone has the settings of the file, where that names the same.
    where: it is given, for messages."""
    of_file = None if isinstance(settings, DesignSettings) else SettingsFile.read(settings).experiment
    if given is None:
        if of_file is None:
            words = ", ".join(EXPERIMENTS.words)
            raise ExciterError(f"no experiment is named; give one of {words}, or a settings file with experiment: …")
        return of_file
    made: Experiment = fill(OneOf(EXPERIMENTS).hint, given, where)
    same = isinstance(given, str) and of_file is not None and type(of_file) is type(made)
    return of_file if same and of_file is not None else made


# -- a plan ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedPlan:
    """A plan, and which limits its motions keep, by the name of the stage."""

    plan: Plan
    stages: Mapping[str, CheckedMotion]

    @property
    def certified(self) -> bool:
        return all(self.stages.values())

    def __bool__(self) -> bool:
        return self.certified

    def to_dict(self) -> dict[str, Any]:
        return {"certified": self.certified, "stages": {name: one.to_dict() for name, one in self.stages.items()}}


def check_plan(
    robot: Robot | str | Path, plan: Plan | str | Path, settings: DesignSettings | FileContent = None
) -> CheckedPlan:
    """Every motion of a plan certified again, and compared with what the plan says of it: rests and cruises.

    >>> ex.check_plan(robot, ex.design_experiment(robot, "otani").save("otani") / "plan.yaml").certified
    True"""
    plan = plan if isinstance(plan, Plan) else Plan.read(plan)
    config = design_settings(settings)
    robot = loaded(robot, config.robot)[0]
    plan.refuse_other(robot)
    found = {}
    for stage in plan.stages:
        curve = read_trajectory(plan.motion_path(stage), robot, jumps=True)
        stage.refuse_other(curve, robot)
        found[stage.name] = check(robot, curve, config)
    return CheckedPlan(plan=plan, stages=found)


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedPlan:
    """A plan executed by one virtual robot: how each stage went, by its name. seed: from which truth and noise come."""

    plan: Plan
    stages: Mapping[str, Simulated]
    seed: int = 0

    def save(self, folder: str | Path, truth: str | Path | None = None) -> tuple[Path, ...]:
        """The log of every stage where the plan expects it, if ``folder`` is that of the plan or of its logs; elsewhere
        the logs there, with a plan that names them. truth: the true parameters (.json). What was written: all of it, or
        nothing; where it is stopped between two files some log, or the plan of its folder, is missing."""
        place = path_of(folder, "the folder of the logs")
        own = [self.plan.folder, *{self.plan.log_path(stage).parent for stage in self.plan.stages}]
        here = any(place.resolve() == one.resolve() for one in own)
        plan = self.plan if here else self.plan.with_logs_in(place)
        logs = {plan.log_path(stage): self.stages[stage.name] for stage in plan.stages}
        if len(logs) < len(plan.stages):
            raise ExciterError(f"logs of two stages would be one file in '{place}'; give each log: a name of its own")
        later = {} if here else {place / PLAN_FILE: yaml_text(written(plan))}
        if truth is not None:
            later[path_of(truth, "truth")] = json_text(
                replace(self.stages[plan.stages[-1].name], seed=self.seed).truth_data()
            )
        for path in (*logs, *later):
            if path.is_dir():
                raise ExciterError(f"'{path}' is a folder, where a file is to be written; choose another place")
        with ExitStack() as folders:
            for path in (*later, *logs):
                folders.enter_context(output_folder(path.parent))
            with ExitStack() as renamed:  # the last that is entered is the first to be renamed
                for path, text in later.items():
                    (renamed.enter_context(staged(path.parent)) / path.name).write_text(text, encoding="utf-8")
                for path, one in reversed(logs.items()):
                    check_beside(path)
                    stage = renamed.enter_context(staged(path.parent, last=path.name))
                    write_recording(one.recording, stage / path.name)
                for path in (*later, *logs):  # logs of two robots beside each other would look like those of one
                    path.unlink(missing_ok=True)
        files = [*logs, *reversed(later)]
        return tuple(one for path in files for one in (path, written_beside(path)) if one is not None)

    def to_dict(self) -> dict[str, Any]:
        return {"stages": {name: one.to_dict() for name, one in self.stages.items()}}


def simulate_plan(
    robot: Robot | str | Path,
    plan: Plan | str | Path,
    virtual: VirtualRobot | SimulateSettings | str | Path | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> SimulatedPlan:
    """Execute all stages of a plan on one virtual robot, of one truth; every log has noise of its own. Arguments as of
    ``simulate``; progress is told which part of all motions is done.

    >>> folder = ex.design_experiment(robot, "otani").save("otani")
    >>> [path.name for path in ex.simulate_plan(robot, folder, seed=3).save(folder)]
    ['excitation.csv', 'excitation.yaml']"""
    plan, seed = plan if isinstance(plan, Plan) else Plan.read(plan), counted(seed, "seed", 0) or 0
    file = SettingsFile.read(virtual) if isinstance(virtual, str | Path) else SettingsFile()
    robot = loaded(robot, file.robot)[0]
    if virtual is None or isinstance(virtual, str | Path):
        virtual = file.virtual(robot, seed)
    elif isinstance(virtual, SimulateSettings):
        virtual = virtual.virtual(robot, seed)
    elif not isinstance(virtual, VirtualRobot):
        raise ExciterError(f"virtual is {shown(virtual)}; give a VirtualRobot, SimulateSettings, or a YAML file")
    plan.refuse_other(robot)
    curves = {stage.name: read_trajectory(plan.motion_path(stage), robot) for stage in plan.stages}
    whole, done, found = sum(curve.duration for curve in curves.values()), 0.0, {}
    seeds = np.random.SeedSequence(seed).generate_state(len(curves), np.uint32).tolist()
    for (name, curve), own in zip(curves.items(), seeds, strict=True):

        def told(part: float, begun: float = done, length: float = curve.duration) -> None:
            if progress is not None:
                progress((begun + part * length) / whole)

        found[name] = virtual.run(curve, seed=own, progress=told)
        done += curve.duration
    return SimulatedPlan(plan=plan, stages=found, seed=seed)
