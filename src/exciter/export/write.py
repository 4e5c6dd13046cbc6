"""An identified model written for another tool: one class per format, chosen by its word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from exciter.errors import ExciterError
from exciter.export.data import json_result, yaml_result
from exciter.export.generated_code import c_code, python_module
from exciter.export.loops import WrittenLoops
from exciter.export.mjcf import mjcf_text
from exciter.export.sdf import sdf_text
from exciter.export.term_expressions import presliding_travels
from exciter.export.urdf import identified_urdf
from exciter.files import require_suffix, write_texts
from exciter.identification.identified_model import IdentifiedModel
from exciter.notes import Note, note
from exciter.settings import Registry

Written = tuple[Path, ...]


class Export(ABC):
    """word: in a command; title: for people; suffixes: of the file, the first of them the usual one."""

    word: ClassVar[str]
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def texts(self, found: IdentifiedModel, path: Path) -> Mapping[str, str]:
        """The texts of all files by their names; path: of the file that is asked for."""

    def write(self, found: IdentifiedModel, path: Path) -> Written:
        """All files or none; which they are."""
        require_suffix(path, *self.suffixes)
        return write_texts(path.parent, self.texts(found, path))


class TextExport(Export):
    """One text in one file."""

    @abstractmethod
    def text(self, found: IdentifiedModel) -> str: ...

    def texts(self, found: IdentifiedModel, path: Path) -> Mapping[str, str]:
        return {path.name: self.text(found)}


class Urdf(TextExport):
    word, title, suffixes = "urdf", "URDF", (".urdf", ".xml")

    def text(self, found: IdentifiedModel) -> str:
        return identified_urdf(found.model, found.chi, found.description)

    def texts(self, found: IdentifiedModel, path: Path) -> Mapping[str, str]:
        """With the loops that a URDF cannot hold, where the robot has some."""
        loops = WrittenLoops.of(found.model.robot)
        beside = {} if loops is None else {f"{path.stem}_loops.yaml": loops.lines}
        return {**super().texts(found, path), **beside}


class Mjcf(Export):
    word, title, suffixes = "mjcf", "MJCF (MuJoCo)", (".mjcf", ".xml")

    def texts(self, found: IdentifiedModel, path: Path) -> Mapping[str, str]:
        return {path.name: mjcf_text(found.model, found.chi, path.parent)}


class Sdf(Export):
    word, title, suffixes = "sdf", "SDF (Gazebo)", (".sdf", ".xml")

    def texts(self, found: IdentifiedModel, path: Path) -> Mapping[str, str]:
        return {path.name: sdf_text(found.model, found.chi, path.parent)}


class Yaml(TextExport):
    word, title, suffixes = "yaml", "YAML", (".yaml", ".yml")

    def text(self, found: IdentifiedModel) -> str:
        return yaml_result(found.model, found.estimate, found.data)


class Json(TextExport):
    word, title, suffixes = "json", "JSON", (".json",)

    def text(self, found: IdentifiedModel) -> str:
        return json_result(found.model, found.estimate, found.data)


@dataclass(frozen=True)
class GeneratedCode(Export):
    """stateless: pre-sliding friction without its memory, as the direction of motion."""

    stateless: bool = False


class CCode(GeneratedCode):
    word, title, suffixes = "c", "C", (".c",)

    def texts(self, found: IdentifiedModel, path: Path) -> Mapping[str, str]:
        """The source, and the header beside it."""
        if not (path.name.isascii() and path.name.isprintable()) or set(path.name) & set('"\\?'):
            raise ExciterError(f"'{path.name}' cannot stand in an #include; choose a name of plain letters and digits")
        header = path.with_suffix(".h").name
        code = c_code(found.model, found.values, std=found.estimate.std, header=header, stateless=self.stateless)
        return {header: code.header, path.name: code.source}


class PythonModule(GeneratedCode, TextExport):
    word, title, suffixes = "python", "Python module", (".py",)

    def text(self, found: IdentifiedModel) -> str:
        return python_module(found.model, found.values, std=found.estimate.std, stateless=self.stateless)


EXPORTS = Registry[Export]("format", Urdf, Mjcf, Sdf, Yaml, Json, CCode, PythonModule)


def write_model(found: IdentifiedModel, path: Path, format: str, *, stateless: bool = False) -> Written:
    """The files of a format of ``EXPORTS``; all of them or none. stateless: as ``GeneratedCode`` has it."""
    kind = EXPORTS[format]
    found.refuse_currents()
    if not stateless:
        return kind().write(found, path)
    if not issubclass(kind, GeneratedCode):
        known = " and ".join(one.word for one in EXPORTS if issubclass(one, GeneratedCode))
        raise ExciterError(f"stateless was asked of {kind.word}, which has no state; it is for {known}: leave it out")
    return kind(stateless=True).write(found, path)


def export_notes(found: IdentifiedModel, format: str, *, stateless: bool = False) -> tuple[Note, ...]:
    """What whoever uses the file should know of its friction."""
    names = ", ".join(presliding_travels(found.model.terms, found.model.robot))
    if not names or not issubclass(EXPORTS[format], GeneratedCode):
        return ()
    kept = f"dry friction of {names} depends on the way they came: functions take a state; stateless ones leave it out"
    lost = f"left out of {names}: dry friction is tanh of the speed, and does not hold a joint at rest"
    return (note("pre-sliding", lost if stateless else kept),)
