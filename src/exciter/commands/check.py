"""``exciter check``: the certificate of a trajectory file, whoever wrote it."""

from __future__ import annotations

import argparse
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from exciter.commands.common import console, print_notes, with_flags
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.certificate.unchecked import unchecked
from exciter.excitation.design_settings import DesignSettings, read_config
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.files.rounding import Rounding
from exciter.excitation.files.samples import unchecked_rows
from exciter.files import json_text
from exciter.report.verdict_words import margin_words, reached_words, verdict
from exciter.robot import load

STYLES = {"holds": "green", "assumed": "cyan", "open": "yellow", "broken": "bold red"}


def chosen_config(arguments: argparse.Namespace) -> DesignSettings:
    """The file of --config, or the defaults, with the robot's flags on top."""
    config = DesignSettings() if arguments.config is None else read_config(arguments.config)
    return replace(config, robot=with_flags(config.robot, arguments))


def run(arguments: argparse.Namespace) -> int:
    """0 when no limit is broken or open: proved for all time, or kept and named as assumed; else 1."""
    config = chosen_config(arguments)
    robot = load(arguments.robot, config.robot)
    curve = read_trajectory(arguments.trajectory, robot, jumps=True)
    constraints = config.constraints_of(robot)
    certificate = certify(robot, curve, constraints, from_rest=True)
    missing = (*unchecked(robot, constraints, certificate), *unchecked_rows(curve))
    rounded = Rounding.of(curve)
    if arguments.json:
        data = {"robot": robot.name, "trajectory": str(arguments.trajectory), **certificate.to_dict()}
        print(json_text({**data, "remarks": robot.remarks, "not_checked": missing}), end="")
    else:
        out = console()
        print_certificate(out, certificate)
        out.print(f"\n{robot.name}: {verdict(certificate)}", markup=False)
        if rounded is not None and rounded.matters and not certificate.certified:
            out.print(f"hint: {rounded}", style="yellow", markup=False)
        print_notes(out, robot.remarks, missing)
    return 0 if certificate.certified else 1


def print_certificate(out: Console, certificate: Certificate) -> None:
    """A table, the tightest limit first."""
    if not certificate.limits:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("limit", "of", "allowed", "reached", "at [s]", "margin", "status"):
        table.add_column(Text(heading), justify="left" if heading in ("limit", "of", "status") else "right")
    for limit in sorted(certificate.limits, key=lambda limit: limit.margin):
        sign = "≤" if limit.upper else "≥"
        table.add_row(
            Text(limit.what),
            Text(limit.where),
            Text(f"{sign} {limit.limit:.6g} {limit.unit}"),
            Text(reached_words(limit)),
            Text(f"{limit.at:.4f}"),
            Text(margin_words(limit)),
            Text(limit.status, style=STYLES[limit.status]),
        )
    out.print(table)
