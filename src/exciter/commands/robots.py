"""``exciter robots``: the embedded robots."""

from __future__ import annotations

import argparse
import json

from rich.table import Table

from exciter.commands.common import console
from exciter.robot import library


def run(arguments: argparse.Namespace) -> None:
    rows = [(name, library.embedded(name)) for name in library.names()]
    if arguments.json:
        print(
            json.dumps(
                [{"name": n, "joints": r.n, "nominal": r.nominal, "source": r.source} for n, r in rows], indent=2
            )
        )
        return
    table = Table(box=None, padding=(0, 2, 1, 0))
    for heading in ("robot", "axes", "source"):
        table.add_column(heading, justify="right" if heading == "axes" else "left", no_wrap=heading == "robot")
    for name, robot in rows:
        table.add_row(name, str(robot.n), " ".join(robot.source.split()))
    console().print(table)
