"""An identified model written for another tool: one class per format, chosen by its word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from exciter.export.c_code import write_c
from exciter.export.data import write_json_result, write_yaml_result
from exciter.export.mjcf import mjcf_text
from exciter.export.python_module import write_python
from exciter.export.sdf import sdf_text
from exciter.export.text_files import require_suffix, write_texts
from exciter.export.urdf import identified_urdf
from exciter.identification.identified_model import IdentifiedModel
from exciter.settings import Registry

Written = tuple[Path, ...]


class Export(ABC):
    """word: in a command; title: for people; suffixes: of the file, the first of them the usual one."""

    word: ClassVar[str]
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def write(self, found: IdentifiedModel, path: Path) -> Written:
        """All files or none; which they are."""


class TextExport(Export):
    """One text in one file."""

    @abstractmethod
    def text(self, found: IdentifiedModel) -> str: ...

    def write(self, found: IdentifiedModel, path: Path) -> Written:
        require_suffix(path, *self.suffixes)
        return write_texts(path.parent, {path.name: self.text(found)})


class Urdf(TextExport):
    word, title, suffixes = "urdf", "URDF", (".urdf", ".xml")

    def text(self, found: IdentifiedModel) -> str:
        return identified_urdf(found.model, found.chi, found.description)


class Mjcf(TextExport):
    word, title, suffixes = "mjcf", "MJCF (MuJoCo)", (".mjcf", ".xml")

    def text(self, found: IdentifiedModel) -> str:
        return mjcf_text(found.model, found.chi)


class Sdf(TextExport):
    word, title, suffixes = "sdf", "SDF (Gazebo)", (".sdf", ".xml")

    def text(self, found: IdentifiedModel) -> str:
        return sdf_text(found.model, found.chi)


class Yaml(Export):
    word, title, suffixes = "yaml", "YAML", (".yaml",)

    def write(self, found: IdentifiedModel, path: Path) -> Written:
        return (write_yaml_result(path, found.model, found.estimate, found.data),)


class Json(Export):
    word, title, suffixes = "json", "JSON", (".json",)

    def write(self, found: IdentifiedModel, path: Path) -> Written:
        return (write_json_result(path, found.model, found.estimate, found.data),)


class CCode(Export):
    word, title, suffixes = "c", "C", (".c",)

    def write(self, found: IdentifiedModel, path: Path) -> Written:
        return write_c(path, found.model, found.values, std=found.estimate.std)


class PythonModule(Export):
    word, title, suffixes = "python", "Python module", (".py",)

    def write(self, found: IdentifiedModel, path: Path) -> Written:
        return (write_python(path, found.model, found.values, std=found.estimate.std),)


EXPORTS = Registry[Export]("format", Urdf, Mjcf, Sdf, Yaml, Json, CCode, PythonModule)


def formats_by_suffix() -> dict[str, str]:
    """Words, of those that were added by others, too."""
    return {one.suffixes[0]: one.word for one in EXPORTS}


def write_model(found: IdentifiedModel, path: Path, format: str) -> Written:
    """The files of a format of ``EXPORTS``; all of them or none."""
    return EXPORTS[format]().write(found, path)
