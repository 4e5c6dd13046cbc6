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


def write_model(found: IdentifiedModel, path: Path, format: str) -> Written:
    """The files of a format of ``WRITERS``; all of them or none."""
    if format not in WRITERS:
        raise ExciterError(unknown_name("format", format, WRITERS))
    return WRITERS[format](found, path)


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
