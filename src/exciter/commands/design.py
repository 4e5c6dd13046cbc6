"""``exciter design``: the best motion within all limits, its files, its figures, its report; all of them or none."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from exciter.commands.check import chosen_config
from exciter.commands.common import (
    chosen_workers,
    console,
    iteration_words,
    plain_table,
    print_notes,
    running,
    shown,
    working,
)
from exciter.errors import ExciterError
from exciter.excitation.certificate.certificate import verdict
from exciter.excitation.design import Design
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.files.trajectory_files import ARCHIVE, DESIGN, MOTION_FILES, Exported
from exciter.excitation.optimiser.run_starts import Progress as SearchProgress
from exciter.files import json_text, output_folder
from exciter.notes import texts
from exciter.pipeline.design import Designed, design, time_limit
from exciter.pipeline.saving import CHECKPOINT_FILE
from exciter.pipeline.settings_file import ACTUATORS, SettingsFile

INTERRUPTED_EXIT_CODE = 130
LONGEST_SILENCE_S = 10.0  # [s] of a search that is piped: then a line says how far it is
DESIGN_FILES = (*MOTION_FILES, DESIGN.name, ARCHIVE, "report.html")


def run(arguments: argparse.Namespace) -> int:
    """0 when all was done, 130 when Ctrl-C came first: what was reached is written in either case."""
    drives = getattr(arguments, "for") == ACTUATORS
    if drives:
        refuse_of_torques(arguments)
    elif arguments.experiment is not None or SettingsFile.read(arguments.config).experiment is not None:
        from exciter.commands import plans

        return plans.design(arguments)
    flags = ("trajectory", "criterion", "parameters", "starts", "seed", "jobs", "time_limit")
    config = chosen_config(arguments).overridden(**{flag: getattr(arguments, flag) for flag in flags})
    if not drives:
        check_flags(arguments, config)
    deadline = time_limit(config, time.monotonic() - arguments.began)
    with output_folder(arguments.output) as folder:
        drawn = config.trajectory.drawn and not drives
        asked = chosen_workers(arguments, config.jobs)
        with running(asked) as workers, nullcontext() if drawn else progress_bar(config.starts) as tell:
            designed = design(
                arguments.robot,
                settings=config,
                actuators=SettingsFile.read(arguments.config).actuators if drives else None,
                checkpoint=None if drives else folder / CHECKPOINT_FILE,
                resume=arguments.resume,
                deadline=deadline,
                workers=workers,
                progress=tell,
            )
        files, data = designed.write(folder, deadline=deadline.of_files(resumed=arguments.resume))
    if arguments.json:
        print(json_text(data), end="")
    else:
        print_design(designed, files, folder)
    found = designed.design
    return INTERRUPTED_EXIT_CODE if found.interrupted and not found.out_of_time else 0


def refuse_of_torques(arguments: argparse.Namespace) -> None:
    """Flags that mean nothing to a motion for drives."""
    for flag in ("experiment", "parameters", "jobs", "cluster", "resume"):
        if getattr(arguments, flag):
            raise ExciterError(f"--{flag} has no meaning beside --for {ACTUATORS}; leave it out")


def check_flags(arguments: argparse.Namespace, config: DesignSettings) -> None:
    """Refuse flags of a search where there is none."""
    if not config.trajectory.drawn:
        return
    for flag in ("starts", "jobs", "cluster", "time_limit", "resume"):
        if getattr(arguments, flag):
            raise ExciterError(
                f"--{flag.replace('_', '-')} is for a search; a {config.trajectory.family} motion is drawn from its "
                "seed: leave the flag out, or choose another --trajectory"
            )


@contextmanager
def progress_bar(starts: int) -> Iterator[Any]:
    """Starts done, the best value, the time."""
    with working(starts) as tell:
        counted, best, since = -1, "", 0.0

        def told(report: SearchProgress) -> None:
            nonlocal counted, best, since
            late = report.seconds - since >= LONGEST_SILENCE_S
            if (
                report.done != counted or late or report.doing
            ):  # a pipe gets a line for every start, not for every step of it
                best = f", best {report.value:.4g}" if np.isfinite(report.value) else ""
                best = f"{best}, step {report.iteration} of the next" if late and report.iteration else best
                counted, since = report.done, report.seconds
            doing = report.doing or f"{report.done} of {starts} starts"
            tell(report.done, f"designing: {doing}{best}", iteration_words(report))

        yield told


def stopped_words(designed: Design) -> str:
    """What an interrupted search has come to, and what --resume would begin with."""
    complete = any(attempt.complete and attempt.feasible for attempt in designed.attempts)
    resumed = "--resume goes on" if complete else "--resume begins anew, for no start was complete"
    if designed.unsearched:
        return f"stopped before any start had a motion; give more time (--time-limit); {resumed}"
    return f"stopped early: this is the best so far; {resumed}"


def print_design(designed: Designed, files: Exported, folder: Path) -> None:
    out, found, robot = console(), designed.design, designed.robot
    out.print(Text.assemble((robot.name, "bold"), f": {found.summary}"))
    out.print(
        f"log det of the covariance {found.log_det:.4f}, condition number {found.condition_number:.4g}, with "
        f"unit columns {found.condition_number_normalized:.4g}"
    )
    if not found.of_torques:
        print_expected(found)
    out.print(verdict(found.certificate))
    out.print(f"the file's {files.rows} rows at {files.rate:g} Hz, joined by quintics: {verdict(files.certificate)}")
    ranges = ", ".join(f"{axis} {a:.2f} … {b:.2f}" for axis, a, b in zip("xyz", *found.reach, strict=True))
    reach = f"frame '{robot.tool_frame}' moves within {ranges} m"
    print_notes(out, (*texts(designed.notes), reach), texts(designed.not_checked))
    out.print(f"written to {folder}: {', '.join(DESIGN_FILES)}")
    if found.interrupted:
        told = stopped_words(found) if found.of_torques else "stopped early: this is the best so far"
        out.print(told, style="yellow")


def print_expected(found: Design) -> None:
    """σ of every number of the drives, were the motion recorded."""
    columns = found.parameters, found.nominal_or_none, found.predicted_std, found.units, found.relative_std_percent
    rows = [
        (name, shown(np.nan if value is None else value, 4), shown(std, 2), unit, shown(percent, 2))
        for name, value, std, unit, percent in zip(*columns, strict=True)
    ]
    console().print(plain_table(("drive", "assumed", "expected σ", "unit", "%"), rows, right=(1, 2, 4)))
