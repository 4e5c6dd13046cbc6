"""``exciter check``: the certificate of a trajectory file, whoever wrote it."""

from __future__ import annotations

import argparse
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from exciter.commands.common import console, plain_table, print_notes, with_flags
from exciter.excitation.certificate.certificate import Certificate, reached_words, verdict
from exciter.excitation.design_settings import DesignSettings
from exciter.excitation.files.trajectory_files import read_trajectory
from exciter.experiment.plan import Plan
from exciter.files import json_text
from exciter.notes import texts
from exciter.pipeline.check import check
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import load

LIMIT_STYLES = {"holds": "green", "assumed": "cyan", "open": "yellow", "broken": "bold red"}


def chosen_config(arguments: argparse.Namespace) -> DesignSettings:
    """The file of --config, or the defaults, with the robot's flags on top."""
    config = SettingsFile.read(arguments.config).design
    return replace(config, robot=with_flags(config.robot, arguments))


def run(arguments: argparse.Namespace) -> int:
    """0 when no limit is broken or open: proved for all time, or kept and named as assumed; else 1."""
    if Plan.is_one(arguments.trajectory):
        from exciter.commands import plans

        return plans.check(arguments)
    config = chosen_config(arguments)
    robot = load(arguments.robot, config.robot)
    checked = check(robot, read_trajectory(arguments.trajectory, robot, jumps=True), config)
    if arguments.json:
        data = {"robot": robot.name, "trajectory": str(arguments.trajectory), **checked.to_dict()}
        print(json_text(data), end="")
    else:
        out = console()
        print_certificate(out, checked.certificate)
        out.print(f"\n{robot.name}: {verdict(checked.certificate)}")
        if checked.rounding is not None:
            out.print(f"hint: {checked.rounding}", style="yellow")
        print_notes(out, texts(robot.remarks), texts(checked.not_checked))
    return 0 if checked.certificate.certified else 1


def print_certificate(out: Console, certificate: Certificate) -> None:
    """A table, the tightest limit first."""
    if not certificate.limits:
        return
    rows = [
        (
            limit.what,
            limit.where,
            f"{'≤' if limit.upper else '≥'} {limit.limit:.6g} {limit.unit}",
            reached_words(limit),
            f"{limit.at:.4f}",
            limit.margin_words,
            Text(limit.status, style=LIMIT_STYLES[limit.status]),
        )
        for limit in sorted(certificate.limits, key=lambda limit: limit.margin)
    ]
    out.print(plain_table(("limit", "of", "allowed", "reached", "at [s]", "margin", "status"), rows, range(2, 6)))
