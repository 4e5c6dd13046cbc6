"""``exciter export``: an identified model, or a designed motion, in the form another tool reads."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from os.path import isdir  # false, too, for a name that is too long
from pathlib import Path

from exciter.commands.common import console
from exciter.errors import ExciterError
from exciter.export.c_code import write_c
from exciter.export.data import write_json_result, write_yaml_result
from exciter.export.mjcf import mjcf_text
from exciter.export.python_module import write_python
from exciter.export.ros2 import write_joint_trajectory
from exciter.export.sdf import sdf_text
from exciter.export.text_files import require_suffix, write_texts
from exciter.export.urdf import identified_urdf
from exciter.files import output_folder
from exciter.identification.identified import IdentifiedModel
from exciter.saving import refuse_parts_of_results

Written = tuple[Path, ...]


def run(arguments: argparse.Namespace) -> int:
    path, folder = arguments.output, arguments.folder
    if isdir(path) or not path.name:
        raise ExciterError(f"-o is '{path}', a folder; give the name of a file")
    if not isdir(folder):
        raise ExciterError(f"there is no folder '{folder}'; give one that exciter identify or exciter design wrote")
    refuse_parts_of_results(path, *([path.with_suffix(".h")] if arguments.format == "c" else []))
    with output_folder(path.absolute().parent):
        if arguments.format == "ros2":
            written: Written = (write_joint_trajectory(path, folder),)
        else:
            written = WRITERS[arguments.format](IdentifiedModel.read(folder), path)
    console().print(f"written: {', '.join(map(str, written))}", markup=False)
    return 0


def _urdf(found: IdentifiedModel, path: Path) -> Written:
    require_suffix(path, ".urdf", ".xml")
    return write_texts(path.parent, {path.name: identified_urdf(found.model, found.chi, found.description)})


def _mjcf(found: IdentifiedModel, path: Path) -> Written:
    require_suffix(path, ".xml", ".mjcf")
    return write_texts(path.parent, {path.name: mjcf_text(found.model, found.chi)})


def _sdf(found: IdentifiedModel, path: Path) -> Written:
    require_suffix(path, ".sdf", ".xml")
    return write_texts(path.parent, {path.name: sdf_text(found.model, found.chi)})


def _yaml(found: IdentifiedModel, path: Path) -> Written:
    return (write_yaml_result(path, found.model, found.estimate, found.data),)


def _json(found: IdentifiedModel, path: Path) -> Written:
    return (write_json_result(path, found.model, found.estimate, found.data),)


def _c(found: IdentifiedModel, path: Path) -> Written:
    return write_c(path, found.model, found.values, std=found.estimate.std)


def _python(found: IdentifiedModel, path: Path) -> Written:
    return (write_python(path, found.model, found.values, std=found.estimate.std),)


WRITERS: dict[str, Callable[[IdentifiedModel, Path], Written]] = {
    "urdf": _urdf,
    "mjcf": _mjcf,
    "sdf": _sdf,
    "yaml": _yaml,
    "json": _json,
    "c": _c,
    "python": _python,
}
