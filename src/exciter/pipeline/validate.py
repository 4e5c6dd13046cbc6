"""A validation: an identified model on logs of other motion, beside models that know less and noise alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import RecordingError
from exciter.files import path_of, prepare, staged
from exciter.identification.closed_loop.closed_loop import not_simulated
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import judged_words
from exciter.identification.information.problem import Problem
from exciter.notes import Note, notable
from exciter.pipeline.identified import Identified
from exciter.pipeline.inspect import AnyLog, Given, several
from exciter.pipeline.logs import Logs, Progress, read_logs, unseen_progress
from exciter.pipeline.saving import REPORT_FILE, VALIDATION_SEAL, versions
from exciter.report.identification.report import validation_page
from exciter.report.page import Page
from exciter.robot import Robot
from exciter.validation import validation
from exciter.validation.inertia_matrix import InertiaMatrix, told_inertia_matrix
from exciter.validation.simulation import SimulationCheck, simulate_run
from exciter.validation.validation import RunValidation, Validation, ValidationVerdict


@dataclass(frozen=True, eq=False, kw_only=True)
class Validated:
    """All that is asked of an identified model: by logs, by its inertia matrix, by simulation. model: as the logs have
    the robot stand.

    >>> other = ex.simulate(robot, ex.design(robot, ex.RandomPoints(points=5))).recording
    >>> judged = ex.validate(found, other)
    >>> [one.run for one in judged]
    ['recording 1']"""

    model: IdentifiedModel
    logs: Logs
    validation: Validation
    inertia: InertiaMatrix | None
    simulations: tuple[SimulationCheck, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Of the model, beside those of its runs."""
        matrix = () if self.inertia is None else self.inertia.sentences
        return (*matrix, *self.left_out, *(f"{one.run}: {said}" for one in self.simulations for said in one.sentences))

    @property
    def left_out(self) -> tuple[str, ...]:
        """What could not be asked of such a robot."""
        reason = not_simulated(self.model.model.robot)
        return (f"not simulated: {reason}",) if reason else ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should see."""
        return notable(self.logs.notes)

    @cached_property
    def verdict(self) -> ValidationVerdict:
        """How good the model is, in words: ``lines`` are what the command ends with."""
        return ValidationVerdict(Validation(()), self.validation, self.notes)

    def __iter__(self) -> Iterator[RunValidation]:
        return iter(self.validation)

    def __getitem__(self, key: int) -> RunValidation:
        """How the model does on a log."""
        found: RunValidation = self.validation[key]
        return found

    def __len__(self) -> int:
        return len(self.validation)

    def to_dict(self) -> dict[str, Any]:
        """The content of validation.json."""
        model = self.model
        return {
            "robot": model.model.robot.name,
            "model": str(model.folder),
            "joints": list(model.model.robot.joint_names),
            **self.validation.to_dict(),
            "verdict": self.verdict.to_dict(),
            "inertia_matrix": None if self.inertia is None else self.inertia.to_dict(),
            "simulation": [one.to_dict() for one in self.simulations],
            "notes": [str(one) for one in self.notes],
            "judged_through": model.data["judged_through"],
            "percentages": judged_words(model.config.evaluation(())),
            "versions": versions(),
        }

    def save(self, folder: str | Path) -> Path:
        """The files of ``exciter validate -o``: all of them or none."""
        self.write(Path(folder))
        return Path(folder)

    def write(self, folder: Path) -> dict[str, Any]:
        """validation.json and the report; the content of validation.json."""
        prepare(folder)
        with staged(folder, VALIDATION_SEAL) as stage:
            self.report().write(stage / REPORT_FILE)
            return VALIDATION_SEAL.write(stage, self.to_dict())

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``write`` keeps."""
        return validation_page(
            self.model,
            self.verdict,
            runs=self.logs.runs,
            quality=self.logs.quality,
            inertia_matrix=self.inertia,
            simulation=self.simulations,
        )

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        return repr(self.validation)


def validate(
    model: Identified | IdentifiedModel | str | Path,
    logs: AnyLog | Sequence[AnyLog],
    *,
    data: Path | None = None,
    progress: Progress = unseen_progress,
) -> Validated:
    """An identified model, or its folder, on logs of other motion than it was made from. data: folder of the files that
    a recording.yaml names.

    >>> other = ex.simulate(robot, ex.design(robot, ex.RandomPoints(points=5))).recording
    >>> ex.validate(found, other)[0].total_percent < 5.0
    True"""
    if isinstance(model, Identified):
        model = model.as_model
    elif not isinstance(model, IdentifiedModel):
        model = IdentifiedModel.read(path_of(model, "the model"))
    ready = other_logs(model, several(logs), data, progress)
    model, runs = in_gravity(model, ready.robot), ready.runs
    estimate, dynamics, config = model.estimate, model.model, model.config
    progress("predicting")
    predicted = validation.validate(Problem(dynamics, runs, config.evaluation((), runs)), estimate)
    inertia, simulations, zone = None, list[SimulationCheck](), config.dead_zone(())
    if model.of_torques:
        progress("searching the inertia matrix")
        inertia = told_inertia_matrix(dynamics, estimate)
    stands = any(dynamics.stances)  # on forces that nobody knows, without which it would fall
    for run in runs if model.of_torques and not stands and not not_simulated(dynamics.robot) else ():
        progress(f"simulating {Path(run.name).name}")
        simulations.append(simulate_run(dynamics, estimate.values, run.bounded, dead_zone=zone))
    return Validated(model=model, logs=ready, validation=predicted, inertia=inertia, simulations=tuple(simulations))


def other_logs(model: IdentifiedModel, logs: Sequence[Given], data: Path | None, progress: Progress) -> Logs:
    """Read as those that the model was made from, with its drive gains; refused where samples are the same."""
    ready = read_logs(model.model.robot, model.config, logs, data=data, progress=progress)
    if (maps := model.map) is not None:
        ready = ready.each(lambda log: log.with_map(maps, model.config.route))
    elif (gains := model.gains) is not None:
        ready = ready.each(lambda log: log.with_gains(gains, model.config.route))
    for run, before in product(ready.runs, model.data["runs"]):  # one file, and one time of it
        same = {source.sha256 for source in run.sources} & {source["sha256"] for source in before["sources"]}
        first, last = before["span"] or (-math.inf, math.inf)
        if same and run.span is not None and run.span[0] < last and first < run.span[1]:
            raise RecordingError(
                f"{run.name} was identified from ({before['log']}): it validates nothing; give other motion"
            )
    return ready


def in_gravity(found: IdentifiedModel, robot: Robot) -> IdentifiedModel:
    """The model as the logs have the robot stand; other base parameters than the identified ones cannot be judged."""
    if np.allclose(robot.gravity, found.model.robot.gravity):
        return found
    model = replace(found.model, robot=found.model.robot.with_gravity(robot.gravity))
    if model.base.expressions != found.model.base.expressions:
        raise RecordingError(
            f"the logs were recorded with gravity {robot.gravity.tolist()} m/s², where other base parameters count "
            f"than with {found.model.robot.gravity.tolist()}; validate on a robot that stands so, or identify anew"
        )
    return replace(found, model=model)
