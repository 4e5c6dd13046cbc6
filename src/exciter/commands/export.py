"""``exciter export``: an identified model, or a designed motion, in the form another tool reads."""

from __future__ import annotations

import argparse
from os.path import isdir  # false, too, for a name that is too long
from pathlib import Path

from exciter.commands.common import console, refuse_parts_of_sets
from exciter.errors import ExciterError
from exciter.export.ros2 import write_joint_trajectory
from exciter.export.write import export_notes, write_model
from exciter.files import output_folder
from exciter.identification.identified_model import IdentifiedModel


def run(arguments: argparse.Namespace) -> None:
    path, folder = arguments.output, arguments.folder
    if isdir(path) or not path.name:
        raise ExciterError(f"-o is '{path}', a folder; give the name of a file")
    if not isdir(folder):
        raise ExciterError(f"there is no folder '{folder}'; give one that exciter identify or exciter design wrote")
    refuse_parts_of_sets(path, *([path.with_suffix(".h")] if arguments.format == "c" else []))
    with output_folder(path.absolute().parent):
        if arguments.format == "ros2":
            if arguments.stateless:
                raise ExciterError("--stateless was asked of ros2, which has no state; it is for c and python")
            written: tuple[Path, ...] = (write_joint_trajectory(path, folder),)
        else:
            found, options = IdentifiedModel.read(folder), {"stateless": arguments.stateless}
            written = write_model(found, path, arguments.format, **options)
            for remark in export_notes(found, arguments.format, **options):
                console().print(str(remark))
    console().print(f"written: {', '.join(map(str, written))}")
