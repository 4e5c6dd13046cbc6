"""``exciter simulate``: a robot to rehearse on executes a trajectory, and its log is written."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console

from exciter.commands.common import chosen_robot, console, plain_table, print_notes, refuse_parts_of_sets, working
from exciter.errors import ExciterError
from exciter.excitation.files.trajectory_files import read_trajectory
from exciter.experiment.plan import Plan
from exciter.experiment.recording.own_log_format import check_beside
from exciter.experiment.virtual import Simulated
from exciter.experiment.virtual.motion_execution import Progress as Tell
from exciter.experiment.virtual.standing_run import StandingRun
from exciter.files import json_text, output_folder
from exciter.notes import texts
from exciter.pipeline.settings_file import SettingsFile
from exciter.pipeline.simulate import simulate
from exciter.robot.stance import footings

LOG_SUFFIXES = (".csv", ".npz")


def run(arguments: argparse.Namespace) -> None:
    """0 when the motion was executed and logged; nothing is written otherwise."""
    if Plan.is_one(arguments.trajectory):
        from exciter.commands import plans

        return plans.simulate(arguments)
    log, truth, motion = arguments.output, arguments.truth, arguments.motion
    check_paths(arguments)
    robot = chosen_robot(arguments)
    if not arguments.trajectory.exists():
        raise ExciterError(f"there is no file '{arguments.trajectory}'; give a trajectory, or a plan.yaml")
    curve = read_trajectory(arguments.trajectory, robot)
    file = SettingsFile.read(arguments.config)
    virtual = file.simulate(robot) if footings(robot) else file.virtual(robot, arguments.seed)
    with ExitStack() as folders:
        for path in filter(None, (log, truth, motion)):
            folders.enter_context(output_folder(path.absolute().parent))
        with progress_bar() as tell:
            simulated = simulate(robot, curve, virtual, periods=arguments.periods, seed=arguments.seed, progress=tell)
        files = simulated.save(log, truth, motion)
    given = (log, truth, motion)
    written = [str(path) if path in given else f"{path} (what is known beside the samples)" for path in files]
    if arguments.json:
        print(json_text({**simulated.to_dict(), "written": written}), end="")
        return
    if isinstance(simulated, StandingRun):
        console().print("\n".join(simulated.sentences))
        print_notes(console(), texts(simulated.notes), ())
    else:
        print_simulated(console(), simulated)
    console().print(f"written: {', '.join(written)}")


def check_paths(arguments: argparse.Namespace) -> None:
    """Names that cannot be are told before any work, and so are files that would be lost."""
    given = {"-o": arguments.output, "--truth": arguments.truth, "--motion": arguments.motion}
    targets = {flag: path for flag, path in given.items() if path is not None}
    for flag, path in targets.items():
        suffixes = (".json",) if flag == "--truth" else LOG_SUFFIXES
        if path.suffix.lower() not in suffixes or path.is_dir():
            raise ExciterError(f"{flag} is '{path}'; give the name of a file that ends in {' or '.join(suffixes)}")
    taken = {"TRAJECTORY": arguments.trajectory, "--config": arguments.config}
    for flag, path in targets.items():
        beside = path.with_suffix(".yaml") if path.suffix.lower() == ".csv" else path
        for name in (path, beside):
            for other, file in taken.items():
                if file is not None and name.resolve() == file.resolve():
                    raise ExciterError(f"{flag} {path} would write '{name}', the file of {other}; choose another name")
        refuse_parts_of_sets(path, beside)
        check_beside(path)
        taken |= {flag: path, f"{flag}, too": beside}


@contextmanager
def progress_bar() -> Iterator[Tell]:
    """Part of the motion that is done."""
    with working(1.0) as tell:
        yield lambda part: tell(part, f"simulating: {10 * int(10 * part)} %")  # a pipe gets a line for every tenth


def print_simulated(out: Console, simulated: Simulated) -> None:
    """How the motion went, joint by joint."""
    recording, virtual = simulated.recording, simulated.virtual
    signal = "current" if virtual.meter.current else "link-side torque" if virtual.meter.link_side else "torque"
    out.print(
        f"{virtual.robot.name}: {simulated.plan.curve.duration:.4g} s of motion in {simulated.seconds:.2f} s "
        f"({simulated.real_time_factor:.1f} times real time) at {simulated.rate:g} Hz; {len(recording)} samples of "
        f"position and {signal}"
    )
    if (period := recording.about.period) is not None:
        out.print(f"periodic: {period:.6g} s, settled from {recording.about.settled:.4g} s on")
    noise, rows = virtual.meter.std(virtual.robot), []
    for j, joint in enumerate(virtual.robot.joints):
        length, force = ("m", "N") if joint.kind == "prismatic" else ("rad", "N·m")
        tracking = (f"{error:.2e} {length}" for error in (simulated.tracking[j], abs(simulated.error[:, j]).max()))
        torque = (f"{simulated.torque_rms[j]:.4g} {force}", f"{noise[j]:.3g} {force}")
        rows.append((joint.name, *tracking, *torque, f"{100 * simulated.saturated[j]:.3g} %"))
    headings = ("joint", "tracking error rms", "largest", "torque rms", "noise", "at the limit")
    out.print(plain_table(headings, rows, right=range(1, 6)))
    print_notes(out, texts(simulated.notes), ())
