"""``exciter demo``: the whole story on an embedded robot."""

from __future__ import annotations

import argparse

from exciter.commands.common import chosen_robot, console
from exciter.demo import demo
from exciter.files import prepare


def run(arguments: argparse.Namespace) -> None:
    if arguments.output is not None:
        prepare(arguments.output)
    demo(console(), chosen_robot(arguments), arguments.seed, arguments.output)
