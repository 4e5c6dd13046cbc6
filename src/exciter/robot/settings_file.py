"""The file of ``--config``: one serves all commands; each takes its part of it and leaves the rest aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from exciter.errors import ExciterError, RobotError
from exciter.robot.options import RobotOptions
from exciter.robot.yaml_file import read_yaml
from exciter.settings import Settings, fill, keys_of, known_keys

DESIGN_KEYS = (
    "terms",
    "trajectory",
    "criterion",
    "formulation",
    "noise",
    "constraints",
    "samples",
    "starts",
    "seed",
    "jobs",
    "time_limit",
    "prior",
)
SECTIONS = ("simulate", "identify")  #: read by the commands of these names
S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class SettingsFile:
    """Its content, whose keys are those that some command knows; where begins every message; relative paths start at
    folder."""

    data: Mapping[str, Any] = field(default_factory=dict)
    where: str = "configuration"
    folder: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        keys = (*keys_of(RobotOptions), *DESIGN_KEYS, *SECTIONS)
        object.__setattr__(self, "data", known_keys(self.data, self.where, keys))

    @classmethod
    def read(cls, path: str | Path | None) -> SettingsFile:
        """Without a path: as if nothing were said."""
        return cls() if path is None else cls(read_yaml(path, "configuration"), str(path), Path(path).parent)

    @property
    def robot(self) -> RobotOptions:
        """What is said of the robot."""
        return self.part(RobotOptions, error=RobotError)

    def part(
        self, cls: type[S], section: str | None = None, *, error: type[ExciterError] = ExciterError, **context: Any
    ) -> S:
        """The settings below a key; without one, those whose keys stand at the top of the file."""
        given, where = self.data.get(section or ""), f"{self.where}: {section}"
        if section is None:
            given, where = {key: value for key, value in self.data.items() if key in keys_of(cls)}, self.where
        return fill(cls, given, where, error=error, folder=self.folder, **context)
