"""An identified model written for another tool, by the word of its format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from exciter.errors import ExciterError, unknown_name
from exciter.export.c_code import write_c
from exciter.export.data import write_json_result, write_yaml_result
from exciter.export.mjcf import mjcf_text
from exciter.export.python_module import write_python
from exciter.export.sdf import sdf_text
from exciter.export.text_files import require_suffix, write_texts
from exciter.export.urdf import identified_urdf
from exciter.identification.identified import IdentifiedModel

Written = tuple[Path, ...]
Text = Callable[[IdentifiedModel], str]


def write_model(found: IdentifiedModel, path: Path, format: str) -> Written:
    """The files of a format of ``WRITERS``; all of them or none."""
    if format not in WRITERS:
        raise ExciterError(unknown_name("format", format, WRITERS))
    return WRITERS[format](found, path)


def _one_text(text: Text, *suffixes: str) -> Callable[[IdentifiedModel, Path], Written]:
    """Writes a text to a file that ends in one of the suffixes."""

    def write(found: IdentifiedModel, path: Path) -> Written:
        require_suffix(path, *suffixes)
        return write_texts(path.parent, {path.name: text(found)})

    return write


WRITERS: dict[str, Callable[[IdentifiedModel, Path], Written]] = {
    "urdf": _one_text(lambda found: identified_urdf(found.model, found.chi, found.description), ".urdf", ".xml"),
    "mjcf": _one_text(lambda found: mjcf_text(found.model, found.chi), ".xml", ".mjcf"),
    "sdf": _one_text(lambda found: sdf_text(found.model, found.chi), ".sdf", ".xml"),
    "yaml": lambda found, path: (write_yaml_result(path, found.model, found.estimate, found.data),),
    "json": lambda found, path: (write_json_result(path, found.model, found.estimate, found.data),),
    "c": lambda found, path: write_c(path, found.model, found.values, std=found.estimate.std),
    "python": lambda found, path: (write_python(path, found.model, found.values, std=found.estimate.std),),
}
