"""``exciter simulate``: a robot to rehearse on executes a trajectory, and its log is written."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from exciter import __version__
from exciter.commands.common import chosen_robot, console, output_folder, print_notes
from exciter.errors import ExciterError
from exciter.excitation.files.read import read_trajectory
from exciter.experiment.recording.native import write_recording
from exciter.experiment.virtual import Simulated
from exciter.experiment.virtual.config import read_virtual
from exciter.experiment.virtual.execute import Progress as Tell
from exciter.files import write_json

LOGS = (".csv", ".npz")


def run(arguments: argparse.Namespace) -> int:
    """0 when the motion was executed and logged; nothing is written otherwise."""
    log, truth = arguments.output, arguments.truth
    check_names(log, truth)
    robot = chosen_robot(arguments)
    curve = read_trajectory(arguments.trajectory, robot)
    virtual = read_virtual(arguments.config, robot, arguments.seed)
    with output_folder(log.absolute().parent), output_folder((truth or log).absolute().parent):
        with progress_bar() as tell:
            simulated = virtual.run(curve, periods=arguments.periods, seed=arguments.seed, progress=tell)
        data = {"exciter": __version__, "seed": arguments.seed, **simulated.truth_data()}
        write_recording(simulated.recording, log)
        if truth is not None:
            write_json(truth, data)
    out = console()
    print_simulated(out, simulated)
    print_notes(out, (*robot.remarks, *simulated.words), ())
    written = str(log) if truth is None else f"{log}, {truth}"
    out.print(f"written: {written}", markup=False)
    return 0


def check_names(log: Path, truth: Path | None) -> None:
    """Names that cannot be are told before any work."""
    if log.suffix.lower() not in LOGS or log.is_dir():
        raise ExciterError(f"-o is '{log}'; give the name of a log, which ends in {' or '.join(LOGS)}")
    if truth is not None and (truth.suffix.lower() != ".json" or truth.is_dir()):
        raise ExciterError(f"--truth is '{truth}'; give the name of a file that ends in .json")


@contextmanager
def progress_bar() -> Iterator[Tell]:
    """Part of the motion that is done; on a terminal only, and beside what goes to standard output."""
    screen = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("simulating"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda part: bar.update(task, completed=part)


def print_simulated(out: Console, simulated: Simulated) -> None:
    """How the motion went, joint by joint."""
    recording, virtual = simulated.recording, simulated.virtual
    signal = "current" if virtual.meter.current else "link-side torque" if virtual.meter.link_side else "torque"
    out.print(
        f"{virtual.robot.name}: {simulated.plan.curve.duration:.4g} s of motion in {simulated.seconds:.2f} s "
        f"({simulated.real_time_factor:.1f} times real time) at {simulated.rate:g} Hz; {len(recording)} samples of "
        f"position and {signal}",
        markup=False,
    )
    if (period := recording.about.period) is not None:
        out.print(f"periodic: {period:.6g} s, settled from {recording.about.settled:.4g} s on", markup=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("joint")
    for heading in ("tracking error rms", "largest", "torque rms", "noise", "at the limit"):
        table.add_column(heading, justify="right")
    rms = (simulated.torque**2).mean(axis=0) ** 0.5
    noise = virtual.meter.std(virtual.robot)
    for j, name in enumerate(virtual.robot.joint_names):
        table.add_row(
            Text(name), f"{simulated.tracking[j]:.2e}", f"{abs(simulated.error[:, j]).max():.2e}", f"{rms[j]:.4g}",
            f"{noise[j]:.3g}", f"{100 * simulated.saturated[j]:.3g} %",
        )  # fmt: skip
    out.print(table)
