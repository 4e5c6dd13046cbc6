"""``exciter init``: a commented configuration to start from, made for one robot."""

from __future__ import annotations

import argparse

from exciter.commands.common import console
from exciter.errors import ExciterError
from exciter.files import output_folder, staged
from exciter.pipeline.saving import refuse_parts_of_results
from exciter.pipeline.starting_configuration import starting_configuration
from exciter.robot import load


def run(arguments: argparse.Namespace) -> int:
    path = arguments.output
    if path.suffix.lower() not in (".yaml", ".yml") or path.is_dir():
        raise ExciterError(f"-o is '{path}'; give the name of a file that ends in .yaml")
    if path.exists() and not arguments.force:
        raise ExciterError(f"'{path}' exists; give another name with -o, or --force to write over it")
    refuse_parts_of_results(path)
    robot = load(arguments.robot)
    text = starting_configuration(robot, arguments.robot)
    with output_folder(path.absolute().parent) as folder, staged(folder) as stage:
        (stage / path.name).write_text(text, encoding="utf-8")
    first = "give the limits in it that it calls required, then" if robot.rateless else "next:"
    console().print(
        f"written: {path}; {first} exciter design {arguments.robot} -o design --config {path}", markup=False
    )
    return 0
