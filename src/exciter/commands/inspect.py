"""``exciter inspect``: what a log is good for, before anything is computed from it."""

from __future__ import annotations

import argparse
from os.path import exists, isdir  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from exciter.commands.common import chosen_robot, console, print_notes
from exciter.commands.result_files import refuse_parts_of_results
from exciter.errors import ExciterError
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality import Quality, Repaired, Repairs, Severity, check, check_stream, repair
from exciter.experiment.recording import RecordingFile, open_recording, write_recording
from exciter.files import json_text
from exciter.pipeline.logs import naming
from exciter.robot import Robot

STYLES = {Severity.PROBLEM: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "default"}
HEADINGS = {Severity.PROBLEM: "problems", Severity.WARNING: "warnings", Severity.NOTE: "notes"}


def run(arguments: argparse.Namespace) -> int:
    """0 when every log is usable, 1 when one has a problem; with -o what is written decides."""
    if arguments.output is not None and len(arguments.logs) > 1:
        raise ExciterError(f"-o writes one recording, {len(arguments.logs)} logs are given; repair them one by one")
    if arguments.output is not None:
        refuse_parts_of_results(*written(arguments.output))
    robot = chosen_robot(arguments)
    planned = None if arguments.planned is None else read_trajectory(arguments.planned, robot)
    usable, reports, out = True, [], console()
    for path in arguments.logs:
        file = open_recording(path, arguments.data)
        if arguments.output is not None:
            refuse_overwriting(file, arguments.output)
        repairs = Repairs.from_dict(file.repair, f"{path}: repair")
        with naming(path):
            quality = check_stream(file.chunks(), robot, planned=planned)
        report: dict[str, Any] = {"log": str(path), **quality.to_dict(), "remarks": list(file.remarks)}
        if not arguments.json:
            print_quality(out, str(path), quality)
            print_notes(out, file.remarks, ())
        if arguments.output is not None:
            with naming(path):
                repaired, quality = repaired_log(file, repairs, robot, planned, arguments.output)
            report |= {"repairs": list(repaired.words), "written": str(arguments.output), "repaired": quality.to_dict()}
            if not arguments.json:
                print_repairs(out, repaired, quality, arguments.output)
        usable &= quality.usable
        reports.append(report)
    if arguments.json:
        print(json_text({"robot": robot.name, "usable": usable, "logs": reports}), end="")
    return 0 if usable else 1


def refuse_overwriting(file: RecordingFile, output: Path) -> None:
    """Neither the repaired log nor what is written beside it may be what it is read from."""
    read = [file.path, file.path.with_suffix(".yaml"), *(path for _, path in file.files)]
    for path in read:
        for target in written(output):
            if exists(path) and (same(path, target) or (isdir(path) and path.resolve() in target.resolve().parents)):
                raise ExciterError(
                    f"-o {output} would write over {path}, which the log is read from; give another name"
                )


def written(output: Path) -> tuple[Path, ...]:
    """The repaired log, and what is written beside a table."""
    return (output,) if output.suffix.lower() == ".npz" else (output, output.with_suffix(".yaml"))


def same(a: Path, b: Path) -> bool:
    """One file, whatever it is called."""
    return a.resolve() == b.resolve() or (exists(a) and exists(b) and a.samefile(b))


def repaired_log(
    file: RecordingFile, repairs: Repairs, robot: Robot, planned: Curve | None, output: Path
) -> tuple[Repaired, Quality]:
    """Repair as recording.yaml asks, write, and judge what was written."""
    repaired = repair(file.read(), repairs)
    write_recording(repaired.recording, output)
    return repaired, check(repaired.recording, robot, planned=planned)


def print_quality(out: Console, name: str, quality: Quality) -> None:
    """The verdict, then a table, problems first."""
    style = STYLES[max((f.severity for f in quality.findings), default=Severity.NOTE)]
    out.print(Text.assemble((name, "bold"), ": ", (quality.verdict, style)))
    for severity in sorted(Severity, reverse=True):
        findings = quality.of(severity)
        if not findings:
            continue
        table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
        for _ in range(2):
            table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in findings:
            table.add_row(Text(finding.what), Text(finding.joint or ""), Text(finding.words))
        out.print(Text(f"\n{HEADINGS[severity]}", style=STYLES[severity]))
        out.print(table)
    out.print()
    print_notes(out, (), quality.skipped)


def print_repairs(out: Console, repaired: Repaired, quality: Quality, output: Path) -> None:
    out.print()
    for words in repaired.words or ("nothing had to be repaired",):
        out.print(f"repair: {words}", markup=False)
    out.print(f"written to {output}, which is {quality.verdict}", markup=False)
