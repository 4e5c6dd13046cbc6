"""``exciter robots``: the embedded robots."""

from __future__ import annotations

import argparse

from rich.table import Table

from exciter.commands.common import console
from exciter.files import json_text
from exciter.robot import embedded_robots as embedded


def run(arguments: argparse.Namespace) -> None:
    rows = [(name, embedded.robot(name)) for name in embedded.names()]
    if arguments.json:
        data = [{"name": n, "joints": r.n, "nominal": r.nominal, "source": r.source} for n, r in rows]
        print(json_text(data), end="")
        return
    table = Table(box=None, padding=(0, 2, 1, 0))
    for heading in ("robot", "axes", "source"):
        table.add_column(heading, justify="right" if heading == "axes" else "left", no_wrap=heading == "robot")
    for name, robot in rows:
        table.add_row(name, str(robot.n), " ".join(robot.source.split()))
    console().print(table)
