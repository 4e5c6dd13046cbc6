"""``exciter validate``: an identified model on motion it never saw, beside models that know less and noise alone."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from exciter.commands.common import console, output_folder, print_notes, shown, versions
from exciter.commands.identify_logs import Logs
from exciter.commands.progress import Step, steps
from exciter.commands.result_files import VALIDATED
from exciter.errors import RecordingError
from exciter.files import json_text, staged
from exciter.identification.config.evaluation import judged_words
from exciter.identification.identified import IdentifiedModel
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.report.identification.validation_report import write_validation_report
from exciter.robot import Robot
from exciter.validation.inertia_matrix import InertiaMatrix, check_inertia_matrix
from exciter.validation.simulation import SimulatedRun, simulate_run
from exciter.validation.validation import RunValidation, Validation, validate

REPORT, DATA = "report.html", VALIDATED.name


@dataclass(frozen=True, eq=False)
class Checked:
    """All that is asked of an identified model: by logs, by its inertia matrix, by simulation."""

    validation: Validation
    inertia: InertiaMatrix
    simulations: tuple[SimulatedRun, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Of the model, beside those of its runs."""
        return (*self.inertia.words, *(f"{one.run}: {word}" for one in self.simulations for word in one.words))


def run(arguments: argparse.Namespace) -> int:
    found = IdentifiedModel.read(arguments.folder)
    with ExitStack() as stack:
        folder = None if arguments.output is None else stack.enter_context(output_folder(arguments.output))
        step = stack.enter_context(steps(2 * len(arguments.logs) + 3))
        logs = Logs(found.config, found.model.robot, arguments.data, step)
        runs = read(found, logs, arguments.logs)
        found = in_gravity(found, logs.robot)
        checked = check(found, runs, step)
        data = validation_data(found, checked, logs, arguments.folder)
        if folder is not None:
            step("writing")
            data = write(found, checked, logs, runs, data, folder)
    if arguments.json:
        print(json_text(data), end="")
    else:
        print_validation(console(), checked, logs)
        if found.config.settings.evaluation is not None:
            console().print(judged_words(found.config.evaluation(())), markup=False)
        if folder is not None:
            console().print(f"written to {folder}: {REPORT}, {DATA}", markup=False)
    return 0


def read(found: IdentifiedModel, logs: Logs, paths: list[Path]) -> tuple[Run, ...]:
    """Logs of other motion than the model was made from."""
    runs = logs.read(paths)
    if (gains := found.gains) is not None:
        runs = tuple(logs.in_newtons(run, gains) for run in runs)
    for one in runs:
        for before in found.data["runs"]:
            if _shared(one, before):
                raise RecordingError(
                    f"{one.name} was identified from ({before['log']}): it validates nothing; give other motion"
                )
    logs.refuse_repeated(runs, ())
    return runs


def _shared(run: Run, before: Mapping[str, Any]) -> bool:
    """Whether a run has samples that were identified from: one file, and one time of it."""
    files = () if run.recording is None else run.recording.about.sources
    same = {source.sha256 for source in files} & {source["sha256"] for source in before["sources"]}
    first, last = before["span"] or (-math.inf, math.inf)
    return bool(same) and run.span is not None and run.span[0] < last and first < run.span[1]


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


def check(found: IdentifiedModel, runs: tuple[Run, ...], step: Step) -> Checked:
    estimate, model = found.estimate, found.model
    problem = Problem(model, runs, found.config.evaluation((), runs))
    step("predicting")
    validation = validate(problem, estimate)
    step("searching the inertia matrix")
    inertia = check_inertia_matrix(model, estimate.values, estimate.covariance)
    simulations = []
    zone = found.config.dead_zone(())
    for one in runs:
        step(f"simulating {Path(one.name).name}")
        simulations.append(simulate_run(model, estimate.values, one.bounded, dead_zone=zone))
    return Checked(validation, inertia, tuple(simulations))


def validation_data(found: IdentifiedModel, checked: Checked, logs: Logs, folder: Path) -> dict[str, Any]:
    """validation.json."""
    return {
        "robot": found.model.robot.name,
        "model": str(folder),
        "joints": list(found.model.robot.joint_names),
        **checked.validation.to_dict(),
        "inertia_matrix": checked.inertia.to_dict(),
        "simulation": [one.to_dict() for one in checked.simulations],
        "notes": logs.notes,
        "judged_through": found.data["judged_through"],
        "percentages": judged_words(found.config.evaluation(())),
        "versions": versions(),
    }


def write(
    found: IdentifiedModel, checked: Checked, logs: Logs, runs: tuple[Run, ...], data: dict[str, Any], folder: Path
) -> dict[str, Any]:
    with staged(folder, VALIDATED) as stage:
        write_validation_report(
            found,
            checked.validation,
            stage / REPORT,
            runs=runs,
            notes=logs.notes,
            quality=logs.quality,
            inertia_matrix=checked.inertia,
            simulation=checked.simulations,
        )
        return VALIDATED.write(stage, data)


# -- what is printed -------------------------------------------------------------------------------------------------


def print_validation(out: Console, checked: Checked, logs: Logs) -> None:
    for one in checked.validation.runs:
        out.print(Text(Path(one.run).name, style="bold"))
        print_models(out, one)
        for word in one.words:
            out.print(word, markup=False)
        out.print()
    for word in checked.words:
        out.print(word, markup=False)
    print_notes(out, logs.notes, ())


def _with(value: float, unit: str) -> str:
    return f"{shown(value)} {unit}" if math.isfinite(value) else shown(value)


def print_models(out: Console, one: RunValidation) -> None:
    """What every model leaves of the torque, joint by joint, and what noise alone would."""
    baselines = one.baselines
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(Text("left of the torque [%]"))
    for joint in (*baselines.joints, "total"):
        table.add_column(Text(joint), justify="right")
    for left in baselines.models:
        table.add_row(left.model, *(shown(value) for value in (*left.percent, left.total_percent)))
    floor = one.floor
    if floor.total_percent is not None and floor.percent is not None:
        table.add_row("noise alone", *(shown(value) for value in (*floor.percent, floor.total_percent)))
    worst = baselines.identified
    units = zip(worst.worst, baselines.units, strict=True)
    table.add_row("worst, identified", *(_with(value, unit) for value, unit in units), "")
    table.add_row(Text("… at [s]"), *(shown(value, 5) for value in worst.when), "")
    out.print(table)
