"""``exciter inspect``: what a log is good for, before anything is computed from it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from exciter.commands.common import chosen_robot, console, plain_table, print_notes, refuse_parts_of_sets
from exciter.errors import ExciterError
from exciter.excitation.files.trajectory_files import read_trajectory
from exciter.experiment.quality import Quality
from exciter.experiment.recording import open_recording, write_recording
from exciter.files import json_text
from exciter.notes import Severity, texts
from exciter.pipeline.inspect import StageMotion, inspect, naming, refuse_overwriting, repaired_files, repaired_log
from exciter.pipeline.planned_logs import PlannedLogs
from exciter.pipeline.settings_file import loaded_for_logs
from exciter.remote_files import address
from exciter.robot.load import RobotOptions

SEVERITY_STYLES = {Severity.PROBLEM: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "default"}
SEVERITY_HEADINGS = {Severity.PROBLEM: "problems", Severity.WARNING: "warnings", Severity.NOTE: "notes"}


def run(arguments: argparse.Namespace) -> int:
    """0 when every log is usable, 1 when one has a problem; with -o what is written decides."""
    output: Path | None = arguments.output
    if output is not None:
        if len(arguments.logs) > 1:
            raise ExciterError(f"-o writes one recording, {len(arguments.logs)} logs are given; repair them one by one")
        refuse_parts_of_sets(*repaired_files(output))
    robot = loaded_for_logs(chosen_robot(arguments), RobotOptions())[0]
    planned = None if arguments.planned is None else read_trajectory(arguments.planned, robot)
    usable, reports, out = True, [], console()
    logs, stages = arguments.logs, list[StageMotion | None]()
    if arguments.plan is not None:
        if output is not None or planned is not None:
            raise ExciterError(
                "--plan says what was sent, and judges the logs of all stages; leave out -o and --planned"
            )
        staged = PlannedLogs.of(arguments.plan, robot, logs)
        logs, stages = staged.given, [*staged.stages]
    elif not logs:
        raise ExciterError("no LOG is given; give at least one, or --plan")
    for path, stage in zip(logs, stages or [None] * len(logs), strict=True):
        file = open_recording(path, arguments.data)
        name = address(path)
        if output is not None:
            refuse_overwriting(file, output)
        quality = inspect(robot, file, planned=planned, periods=arguments.periods, stage=stage)
        report: dict[str, Any] = {"log": name, **quality.to_dict(), "remarks": [str(one) for one in file.notes]}
        if stage is not None:
            report |= {"stage": stage.stage.name, "purpose": stage.stage.purpose}
        if not arguments.json:
            told = "" if stage is None else f" (stage {stage.stage.name}, {stage.stage.purpose})"
            print_quality(out, f"{name}{told}", quality)
            print_notes(out, map(str, file.notes), ())
        if output is not None:
            repaired, quality = repaired_log(robot, file, planned=planned, periods=arguments.periods)
            with naming(name):
                write_recording(repaired.recording, output)
            done = texts(repaired.notes)
            report |= {"repairs": done, "written": str(output), "repaired": quality.to_dict()}
            if not arguments.json:
                out.print("\n" + "\n".join(f"repair: {text}" for text in done or ("nothing had to be repaired",)))
                out.print(f"written to {output}, which is {quality.verdict}")
        usable &= quality.usable
        reports.append(report)
    if arguments.json:
        print(json_text({"robot": robot.name, "usable": usable, "logs": reports}), end="")
    return 0 if usable else 1


def print_quality(out: Console, name: str, quality: Quality) -> None:
    """The verdict, then a table, problems first."""
    style = SEVERITY_STYLES[max((f.severity for f in quality.findings), default=Severity.NOTE)]
    out.print(Text.assemble((name, "bold"), ": ", (quality.verdict, style)))
    for severity in sorted(Severity, reverse=True):
        findings = quality.of(severity)
        if not findings:
            continue
        rows = [(finding.subject, finding.joint or "", finding.text) for finding in findings]
        table = plain_table(("", "", ""), rows, padding=(0, 2, 0, 2), show_header=False)
        table.columns[0].no_wrap = table.columns[1].no_wrap = True
        table.columns[2].overflow = "fold"
        out.print(Text(f"\n{SEVERITY_HEADINGS[severity]}", style=SEVERITY_STYLES[severity]))
        out.print(table)
    out.print()
    print_notes(out, (), texts(quality.skipped))
