"""``exciter check``: the certificate of a trajectory file, whoever wrote it."""

from __future__ import annotations

import argparse
from dataclasses import replace

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from exciter.commands.common import console, with_flags
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.config.design_config import DesignConfig, read_config
from exciter.excitation.files.read import read_trajectory
from exciter.files import json_text
from exciter.robot import load

STYLES = {"holds": "green", "broken": "bold red", "open": "yellow"}


def chosen_config(arguments: argparse.Namespace) -> DesignConfig:
    """The file of --config, or the defaults, with the robot's flags on top."""
    config = DesignConfig() if arguments.config is None else read_config(arguments.config)
    return replace(config, robot=with_flags(config.robot, arguments))


def run(arguments: argparse.Namespace) -> int:
    """0 when every limit is proved for all time, 1 when one is broken or cannot be proved."""
    config = chosen_config(arguments)
    robot = load(arguments.robot, config.robot)
    constraints = config.constraints(config.model(robot))
    curve = read_trajectory(arguments.trajectory, robot)
    certificate = certify(robot, curve, constraints)
    if arguments.json:
        print(
            json_text({"robot": robot.name, "trajectory": str(arguments.trajectory), **certificate.to_dict()}), end=""
        )
    else:
        print_certificate(robot.name, certificate)
    return 0 if certificate.certified else 1


def print_certificate(name: str, certificate: Certificate) -> None:
    """A table, the tightest limit first, and the verdict."""
    out = console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("limit", "of", "allowed", "reached", "at [s]", "margin", "status"):
        table.add_column(Text(heading), justify="left" if heading in ("limit", "of", "status") else "right")
    for limit in sorted(certificate.limits, key=lambda limit: limit.margin):
        sign = "≤" if limit.upper else "≥"
        table.add_row(
            Text(limit.what),
            Text(limit.where),
            Text(f"{sign} {limit.limit:.6g} {limit.unit}"),
            Text(f"{limit.reached:.6g}"),
            Text(f"{limit.at:.4f}"),
            Text(limit.margin_words),
            Text(limit.status, style=STYLES[limit.status]),
        )
    out.print(table)
    out.print(f"\n{escape(name)}: {verdict(certificate)}")


def verdict(certificate: Certificate) -> str:
    """One sentence."""
    count = len(certificate.limits)
    if certificate.certified:
        worst = certificate.worst
        tightest = "" if worst is None else f"; tightest is {worst.what} of {worst.where}, margin {worst.margin_words}"
        return f"certified: {count} limits hold at every instant of {certificate.duration:.3f} s{tightest}"
    broken = [limit for limit in certificate.limits if limit.status == "broken"]
    if broken:
        return f"NOT certified: {len(broken)} of {count} limits are broken"
    return f"NOT certified: {sum(limit.status == 'open' for limit in certificate.limits)} of {count} cannot be proved"
