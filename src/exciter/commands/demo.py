"""``exciter demo``: the whole story on an embedded robot."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from exciter.commands.common import chosen_robot, console, output_folder
from exciter.demo import demo


def run(arguments: argparse.Namespace) -> None:
    with nullcontext() if arguments.output is None else output_folder(arguments.output) as folder:
        demo(console(), chosen_robot(arguments), arguments.seed, folder)
