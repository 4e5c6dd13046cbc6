"""What design, check and simulate do with a staged experiment: its stages and its plan in place of one motion."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.text import Text

from exciter.commands.check import chosen_config, print_certificate
from exciter.commands.common import (
    chosen_robot,
    chosen_workers,
    console,
    iteration_words,
    plain_table,
    print_notes,
    refuse_parts_of_sets,
    running,
    working,
)
from exciter.commands.simulate import print_simulated
from exciter.commands.simulate import progress_bar as simulation_bar
from exciter.errors import ExciterError
from exciter.excitation.certificate.certificate import verdict
from exciter.excitation.experiments.experiment import StageProgress
from exciter.excitation.optimiser.run_starts import Progress as SearchProgress
from exciter.experiment.plan import LOG_FOLDER, PLAN_FILE, Plan
from exciter.files import json_text, output_folder
from exciter.notes import texts
from exciter.pipeline.design import time_limit
from exciter.pipeline.experiment import (
    DesignedExperiment,
    check_plan,
    chosen_experiment,
    design_experiment,
    simulate_plan,
)
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import load

SEARCH_FLAGS = ("trajectory", "criterion", "parameters", "starts", "seed", "jobs", "time_limit")
ONE_MOTION_FLAGS = ("periods", "motion")  # of simulate


def design(arguments: argparse.Namespace) -> int:
    """0 when all stages are designed, certified and written."""
    if arguments.resume:
        raise ExciterError("--resume is for one motion; a staged experiment keeps no checkpoint: leave it out")
    experiment = chosen_experiment(arguments.config, arguments.experiment, "--experiment")
    config = chosen_config(arguments).overridden(**{flag: getattr(arguments, flag) for flag in SEARCH_FLAGS})
    deadline = time_limit(config, time.monotonic() - arguments.began)
    with output_folder(arguments.output) as folder:
        with running(chosen_workers(arguments, config.jobs)) as workers, progress_bar(config.starts) as tell:
            until: dict[str, Any] = {"deadline": deadline, "workers": workers, "progress": tell}
            designed = design_experiment(arguments.robot, experiment, settings=config, **until)
        data = designed.write(folder, deadline=deadline.of_files(resumed=False))
    if arguments.json:
        print(json_text(data), end="")
    else:
        print_experiment(designed, folder, arguments.robot)
    return 0


@contextmanager
def progress_bar(starts: int) -> Iterator[StageProgress]:
    """Of every stage: what is done for it; of a search, its starts."""
    with working(starts) as tell:

        def told(stage: str, report: SearchProgress) -> None:
            doing = report.doing or f"{report.done} of {starts} starts"
            tell(report.done, f"designing {stage}: {doing}", iteration_words(report))

        yield told


def print_experiment(designed: DesignedExperiment, folder: Path, robot: str) -> None:
    """robot: as it was given, for what to type next."""
    out, figures = console(), designed.figures
    count = "1 stage" if len(designed.stages) == 1 else f"{len(designed.stages)} stages"
    title = type(designed.experiment).title
    out.print(Text.assemble((designed.robot.name, "bold"), f": {title}; {count}, {designed.duration:.4g} s of motion"))
    rows = []
    for stage in designed.stages:
        found, worst = stage.design, stage.design.certificate.worst
        tightest = "–" if worst is None else f"{worst.what} of {worst.where}, {worst.margin_words}"
        duration, cond = f"{found.curve.duration:.4g}", f"{found.condition_number:.4g}"
        moves = "all" if stage.moves == designed.robot.joint_names else ", ".join(stage.moves)
        proved = Text("certified", style="green") if found.certificate.certified else Text("open", style="bold red")
        rows.append((stage.name, stage.purpose, moves, duration, f"{len(found.parameters)}", cond, tightest, proved))
    headings = ("stage", "purpose", "moves", "seconds", "parameters", "cond", "tightest limit", "verdict")
    out.print(plain_table(headings, rows, right=(3, 4, 5)))
    out.print(
        f"all stages together: log det of the covariance {-figures.log_det:.4f}, condition number "
        f"{figures.condition_number:.4g}, with unit columns {figures.condition_number_normalized:.4g}"
    )
    print_notes(out, texts(designed.notes), texts(designed.not_checked))
    folders = ", ".join(f"{stage.name}/" for stage in designed.stages)
    out.print(f"written to {folder}: plan.yaml, report.html, experiment.json, {folders}")
    command = shlex.join(("exciter", "identify", robot, "--plan", str(folder / PLAN_FILE), "-o", "found"))
    where = f"where the plan expects it ({LOG_FOLDER}/)"
    out.print(f"next: run every motion and put its log {where}; then {command}", soft_wrap=True)


def check(arguments: argparse.Namespace) -> int:
    """0 when no limit of any stage is broken or open; else 1."""
    config = chosen_config(arguments)
    robot = load(arguments.robot, config.robot)
    checked = check_plan(robot, arguments.trajectory, config)
    if arguments.json:
        print(json_text({"robot": robot.name, "plan": str(arguments.trajectory), **checked.to_dict()}), end="")
        return 0 if checked.certified else 1
    out = console()
    for name, one in checked.stages.items():
        if not one.certified:
            print_certificate(out, one.certificate)
            if one.rounding is not None:
                out.print(f"hint: {one.rounding}", style="yellow")
        out.print(f"{robot.name}, {name}: {verdict(one.certificate)}")
    missing = {text: None for one in checked.stages.values() for text in texts(one.not_checked)}
    print_notes(out, texts(robot.remarks), missing)
    return 0 if checked.certified else 1


def simulate(arguments: argparse.Namespace) -> None:
    """All stages executed and logged; nothing is written otherwise."""
    for flag in ONE_MOTION_FLAGS:
        if getattr(arguments, flag) is not None:
            raise ExciterError(f"--{flag} is for one trajectory; leave it out for a plan")
    folder, truth = arguments.output, arguments.truth
    if folder.suffix or folder.is_file():
        raise ExciterError(f"-o is '{folder}'; for a plan give a folder, that of the plan to put its logs in place")
    if truth is not None and (truth.suffix.lower() != ".json" or truth.is_dir()):
        raise ExciterError(f"--truth is '{truth}'; give the name of a file that ends in .json")
    robot = chosen_robot(arguments)
    plan = Plan.read(arguments.trajectory)
    virtual = SettingsFile.read(arguments.config).virtual(robot, arguments.seed)
    refuse_parts_of_sets(*filter(None, [truth, *map(plan.log_path, plan.stages)]))
    with output_folder(folder):
        with simulation_bar() as tell:
            simulated = simulate_plan(robot, plan, virtual, seed=arguments.seed, progress=tell)
        files = simulated.save(folder, truth)
    written = [str(path) for path in files]
    if arguments.json:
        print(json_text({**simulated.to_dict(), "written": written}), end="")
        return
    for name, one in simulated.stages.items():
        console().print(f"stage {name}", style="bold")
        print_simulated(console(), one)
    console().print(f"written: {', '.join(written)}")
