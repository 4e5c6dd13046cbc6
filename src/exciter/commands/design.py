"""``exciter design``: the best motion within all limits, its files, its figures, its report; all of them or none."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from exciter.commands.check import chosen_config
from exciter.commands.common import console, description_hash, output_folder, print_notes, versions
from exciter.commands.progress import bar_with
from exciter.commands.result_files import CHECKPOINT
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.unchecked import unchecked
from exciter.excitation.criteria.energy import Energy
from exciter.excitation.deadline import NEVER, Deadline
from exciter.excitation.design import Design, design
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.files.export import Exported, export
from exciter.excitation.files.read import DESIGN, MOTION_FILES
from exciter.excitation.optimiser.checkpoint import discard, refuse_foreign
from exciter.excitation.optimiser.multistart import Progress as SearchProgress
from exciter.excitation.validation_motion.draw import RandomMotion, draw
from exciter.excitation.validation_motion.drawn_design import drawn_design
from exciter.excitation.validation_motion.random_points import RandomPoints
from exciter.excitation.validation_motion.random_spline import RandomSpline
from exciter.files import json_text, staged
from exciter.report.design_report import write_design_report
from exciter.report.spectrum import acceleration_spectrum
from exciter.report.tool_frame import tool_frame
from exciter.report.verdict_words import verdict
from exciter.robot import Robot, load

INTERRUPTED = 130
BEST = TextColumn("{task.fields[best]}")
WRITTEN = (*MOTION_FILES, DESIGN.name, "report.html")


def run(arguments: argparse.Namespace) -> int:
    """0 when all was done, 130 when Ctrl-C came first: what was reached is written in either case."""
    config = chosen_config(arguments).overridden(
        trajectory=arguments.trajectory,
        criterion=arguments.criterion,
        starts=arguments.starts,
        seed=arguments.seed,
        jobs=arguments.jobs,
        time_limit=arguments.time_limit,
    )
    check_flags(arguments, config)
    limit = None if config.trajectory.drawn else config.time_limit  # of a search
    deadline = Deadline.after(limit, time.monotonic() - arguments.began)
    robot = load(arguments.robot, config.robot)
    with output_folder(arguments.output) as folder:
        designed = _design(config, robot, folder / CHECKPOINT, deadline, resume=arguments.resume)
        # A resumed run that had no time left has its motion from the checkpoint: it is written, too.
        overtime = NEVER if arguments.resume and deadline.passed else deadline.moved(deadline.overtime)
        with overtime.kept(), staged(folder, DESIGN) as stage:
            files = export(
                stage,
                robot,
                designed.curve,
                designed.trajectory,
                designed.delta,
                lambda curve: certify(robot, curve, designed.constraints, check=overtime.check, from_rest=True),
                periods=designed.periods,
                rate=config.rate,
            )
            write_design_report(designed, stage / "report.html", settings=config.to_dict())
            data = DESIGN.write(stage, design_data(designed, config, files, arguments.robot))
    if arguments.json:
        print(json_text(data), end="")
    else:
        print_design(designed, files, folder)
        if data["interrupted"]:
            console().print(stopped_words(designed), style="yellow")
    return INTERRUPTED if designed.interrupted and not designed.out_of_time else 0


def _design(config: DesignSettings, robot: Robot, checkpoint: Path, deadline: Deadline, *, resume: bool) -> Design:
    """The design of a configuration; a checkpoint of before counts only when it is to be resumed."""
    model, chosen = config.model(robot), config.motion
    if isinstance(chosen, RandomPoints | RandomSpline):
        refuse_foreign(checkpoint)
        drawn = _drawn(config, model, chosen)
        discard(checkpoint)
        return drawn
    with progress_bar(config.starts) as tell:
        return design(
            model,
            chosen,
            criterion=config.criterion_of(model),
            noise=config.noise_of(robot),
            constraints=config.constraints_of(model.robot),
            formulation=config.formulation_of(),
            prior=config.prior_information(model),
            samples=config.samples,
            ramps=config.ramps(robot),
            periods=config.periods,
            duration_range=config.duration_range,
            seed=config.seed,
            starts=config.starts,
            jobs=config.jobs,
            time_limit=deadline,
            file_rate=config.rate,
            checkpoint=checkpoint,
            resume=resume,
            progress=tell,
        )


def _drawn(config: DesignSettings, model: DynamicModel, settings: RandomMotion) -> Design:
    """A random motion instead of the best one."""
    robot = model.robot
    drawn = draw(
        robot,
        settings,
        config.constraints_of(model.robot),
        seed=config.seed,
        periods=config.periods,
        ramps=config.ramps(robot),
    )
    return drawn_design(
        model,
        drawn,
        criterion=config.criterion_of(model, drawn.trajectory),
        noise=config.noise_of(robot),
        formulation=config.formulation_of(),
        prior=config.prior_information(model),
        samples=config.samples,
    )


def check_flags(arguments: argparse.Namespace, config: DesignSettings) -> None:
    """Refuse flags of a search where there is none."""
    if not config.trajectory.drawn:
        return
    for flag in ("starts", "jobs", "time_limit", "resume"):
        if getattr(arguments, flag):
            raise ExciterError(
                f"--{flag.replace('_', '-')} is for a search; a {config.trajectory.family} motion is drawn from its "
                "seed: leave the flag out, or choose another --trajectory"
            )


@contextmanager
def progress_bar(starts: int) -> Iterator[Any]:
    """Starts done, the best value, the time."""
    with bar_with(TextColumn("designing"), BarColumn(), MofNCompleteColumn(), BEST, TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=starts, best="")

        def tell(report: SearchProgress) -> None:
            best = f"best {report.value:.4g}" if np.isfinite(report.value) else ""
            bar.update(task, completed=report.done, best=best)

        yield tell


# -- what is written -------------------------------------------------------------------------------------------------


def design_data(designed: Design, config: DesignSettings, files: Exported, source: str) -> dict[str, Any]:
    """design.json: the promised keys first, then what else is worth keeping."""
    model, rows = designed.model, config.formulation_of()
    names, std = model.base.names, designed.predicted_std.tolist()
    return {
        "criterion": designed.criterion.name,
        "value": designed.value,
        "condition_number": designed.condition_number,
        "condition_number_normalized": designed.condition_number_normalized,
        "log_det": designed.log_det,
        "predicted_std": dict(zip(names, std, strict=True)),
        "certificate": designed.certificate.to_dict(),
        "seconds": designed.seconds,
        "evaluations": designed.evaluations,
        "seed": designed.seed,
        "robot": {
            "name": model.robot.name,
            "joints": list(model.robot.joint_names),
            "sha256": description_hash(source),
        },
        "parameters": _parameters(designed),
        "duration": designed.curve.duration,
        "periods": designed.periods,
        "samples": designed.samples,
        "noise": rows.noise if isinstance(rows, Energy) else designed.noise.tolist(),
        "remarks": [*model.robot.remarks, *designed.words],
        "not_checked": list(unchecked(model.robot, designed.constraints, designed.certificate)),
        "files": files.to_dict(),
        "interrupted": designed.interrupted,
        "starts": [_start(attempt) for attempt in designed.attempts],
        "spectrum": _spectrum(designed),
        "settings": config.to_dict(),
        "versions": versions(),
    }


def _parameters(designed: Design) -> list[dict[str, Any]]:
    """Name, expression, unit, the description's value, and the predicted standard deviation of every parameter."""
    model, base = designed.model, designed.model.base
    units = dict(zip(model.standard, model.units, strict=True))
    kept = [units[base.standard[k]] for k in base.independent]
    nominal = base.base_values(model.nominal)
    columns = zip(base.names, base.expressions, kept, nominal, designed.predicted_std, strict=True)
    return [
        {"name": name, "expression": expression, "unit": unit, "nominal": float(value), "predicted_std": float(std)}
        for name, expression, unit, value, std in columns
    ]


def _start(attempt: Any) -> dict[str, Any]:
    keys = ("number", "value", "feasible", "complete", "evaluations", "seconds")
    return {key: getattr(attempt, key) for key in keys}


def _spectrum(designed: Design) -> dict[str, Any]:
    """Amplitudes of the accelerations by joint."""
    spectrum = acceleration_spectrum(designed.trajectory, designed.delta)
    rows = zip(designed.model.robot.joint_names, spectrum.amplitude.T.tolist(), strict=True)
    return {"quantity": "acceleration", "frequency": spectrum.frequency.tolist(), "amplitude": dict(rows)}


def reach(designed: Design) -> str:
    """Where the tool goes, so that a person can compare it with what stands there."""
    robot = designed.model.robot
    frame = tool_frame(robot)
    q = designed.curve.motion(np.linspace(designed.curve.start, designed.curve.end, 2000)).q
    low, high = (bound(Dynamics(robot).placement(frame, q)[1], axis=0) for bound in (np.min, np.max))
    ranges = ", ".join(f"{axis} {a:.2f} … {b:.2f}" for axis, a, b in zip("xyz", low, high, strict=True))
    return f"frame '{frame}' moves within {ranges} m"


def found_words(designed: Design) -> str:
    """How the motion came about, and its criterion."""
    value, count = f"{designed.criterion.name} {designed.value:.6g}", designed.evaluations
    if not designed.attempts:
        draws = f"{count} {'draw' if count == 1 else 'draws'} in {designed.seconds:.2f} s"
        return f"{designed.curve.duration:.4g} s of random motion after {draws}; {value}"
    if designed.unsearched:
        return f"{value}, not searched for: the time limit came first"
    feasible = sum(attempt.feasible for attempt in designed.attempts)
    starts = f"{feasible} of {len(designed.attempts)} starts feasible"
    return f"{value} after {count} evaluations in {designed.seconds:.2f} s; {starts}"


def stopped_words(designed: Design) -> str:
    """What an interrupted search has come to, and what --resume would begin with."""
    complete = any(attempt.complete and attempt.feasible for attempt in designed.attempts)
    resumed = "--resume goes on" if complete else "--resume begins anew, for no start was complete"
    if designed.unsearched:
        return f"stopped before any start had a motion; give more time (--time-limit); {resumed}"
    return f"stopped early: this is the best so far; {resumed}"


def print_design(designed: Design, files: Exported, folder: Path) -> None:
    out = console()
    out.print(Text.assemble((designed.model.robot.name, "bold"), f": {found_words(designed)}"))
    out.print(
        f"log det of the covariance {designed.log_det:.4f}, condition number {designed.condition_number:.4g}, with "
        f"unit columns {designed.condition_number_normalized:.4g}"
    )
    out.print(verdict(designed.certificate), markup=False)
    out.print(
        f"the file's {files.rows} rows at {files.rate:g} Hz, joined by quintics: {verdict(files.certificate)}",
        markup=False,
    )
    robot = designed.model.robot
    remarks = (*robot.remarks, *designed.words, reach(designed))
    print_notes(out, remarks, unchecked(robot, designed.constraints, designed.certificate))
    out.print(f"written to {folder}: {', '.join(WRITTEN)}", markup=False)
