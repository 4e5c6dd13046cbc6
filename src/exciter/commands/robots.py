"""``exciter robots``: the embedded robots."""

from __future__ import annotations

import argparse

from exciter.commands.common import console, plain_table
from exciter.files import json_text
from exciter.robot import embedded_robots as embedded


def run(arguments: argparse.Namespace) -> None:
    rows = [(name, embedded.robot(name)) for name in embedded.names()]
    if arguments.json:
        data = [{"name": n, "joints": r.n, "nominal": r.nominal, "source": r.source} for n, r in rows]
        print(json_text(data), end="")
        return
    cells = [(name, str(robot.n), " ".join(robot.source.split())) for name, robot in rows]
    table = plain_table(("robot", "axes", "source"), cells, right=(1,), padding=(0, 2, 1, 0))
    table.columns[0].no_wrap = True
    console().print(table)
