"""``exciter init``: a commented configuration to start from, made for one robot."""

from __future__ import annotations

import argparse

from exciter.commands.common import console, refuse_parts_of_sets
from exciter.commands.schema import schema_text
from exciter.errors import ExciterError
from exciter.files import output_folder, staged
from exciter.pipeline.starting_configuration import SCHEMA_FILE, starting_configuration
from exciter.robot import load


def run(arguments: argparse.Namespace) -> None:
    path = arguments.output
    if path.suffix.lower() not in (".yaml", ".yml") or path.is_dir():
        raise ExciterError(f"-o is '{path}'; give the name of a file that ends in .yaml")
    beside, described = path.parent / SCHEMA_FILE, schema_text("exciter")
    same = beside.is_file() and beside.read_bytes() == described.encode()  # it is the same for every robot
    for file in (path, beside):
        if file.exists() and not arguments.force and not (file is beside and same):
            raise ExciterError(f"'{file}' exists; give another name with -o, or --force to write over it")
    refuse_parts_of_sets(path, beside)
    robot = load(arguments.robot)
    text = starting_configuration(robot, arguments.robot)
    with output_folder(path.absolute().parent) as folder, staged(folder, last=path.name) as stage:
        (stage / SCHEMA_FILE).write_text(described, encoding="utf-8")
        (stage / path.name).write_text(text, encoding="utf-8")
    first = "give the limits in it that it calls required, then" if robot.rateless else "next:"
    console().print(
        f"written: {path}, and {beside.name} for editors; {first} exciter design {arguments.robot} -o design "
        f"--config {path}"
    )
