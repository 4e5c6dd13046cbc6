"""The file of ``--config``: one serves all commands; each takes its part of it and leaves the rest aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from exciter.errors import ExciterError, RobotError
from exciter.excitation.design_settings import DesignSettings
from exciter.experiment.recording.description import RecordingSettings
from exciter.experiment.virtual import VirtualRobot
from exciter.experiment.virtual.simulate_settings import SimulateSettings
from exciter.files import path_of
from exciter.identification.identify_config import CONFIG_KEYS, IdentifyConfig, IdentifySettings
from exciter.robot.load import RobotOptions
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import read_yaml
from exciter.settings import fill, keys_of, known_keys
from exciter.settings.schema import file_schema

FileContent: TypeAlias = str | Path | Mapping[str, Any] | None  #: by its path, or as it is
SIMULATE, IDENTIFY = "simulate", "identify"  #: sections; the keys of the others stand at the top of the file


@dataclass(frozen=True)
class SettingsFile:
    """Its content, whose keys are those that some command knows; where begins every message; relative paths start at
    folder."""

    data: Mapping[str, Any] = field(default_factory=dict)
    where: str = "configuration"
    folder: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        keys = (*keys_of(RobotOptions), *keys_of(DesignSettings), SIMULATE, IDENTIFY)
        object.__setattr__(self, "data", known_keys(self.data, self.where, keys))

    @classmethod
    def read(cls, given: FileContent) -> SettingsFile:
        """By its path, or its content; None: as if nothing were said."""
        if given is None or isinstance(given, Mapping):
            return cls(given or {})
        path = path_of(given, "the file of the settings")
        return cls(read_yaml(path, "configuration"), str(path), path.parent)

    @property
    def robot(self) -> RobotOptions:
        """What is said of the robot."""
        own = self._only(keys_of(RobotOptions))
        return fill(RobotOptions, own, self.where, error=RobotError, folder=self.folder)

    @property
    def design(self) -> DesignSettings:
        own = fill(DesignSettings, self._only(keys_of(DesignSettings)), self.where, folder=self.folder)
        return replace(own, source=self.where, robot=self.robot)

    @property
    def identify(self) -> IdentifyConfig:
        return replace(IdentifyConfig.of(self._only(CONFIG_KEYS), self.where, self.folder), robot=self.robot)

    def virtual(self, robot: Robot, seed: int) -> VirtualRobot:
        """A robot to rehearse on; seed: of the truth, unless the file has one."""
        where = f"{self.where}: {SIMULATE}"
        settings = fill(SimulateSettings, self.data.get(SIMULATE), where, folder=self.folder, robot=robot)
        try:
            return settings.virtual(robot, seed)
        except ExciterError as error:
            raise ExciterError(f"{where}: {error}") from None

    def _only(self, keys: tuple[str, ...]) -> dict[str, Any]:
        return {key: value for key, value in self.data.items() if key in keys}


def design_settings(given: DesignSettings | FileContent) -> DesignSettings:
    """Of an object, of a file, or as if nothing were said."""
    return given if isinstance(given, DesignSettings) else SettingsFile.read(given).design


def identify_config(given: IdentifyConfig | IdentifySettings | FileContent) -> IdentifyConfig:
    """Of an object, of a file, or as if nothing were said."""
    if isinstance(given, IdentifySettings):
        return IdentifyConfig(settings=given)
    return given if isinstance(given, IdentifyConfig) else SettingsFile.read(given).identify


def configuration_schema() -> dict[str, Any]:
    """JSON schema of the file."""
    parts = ((None, RobotOptions), (None, DesignSettings), (IDENTIFY, IdentifySettings), (SIMULATE, SimulateSettings))
    return file_schema("Settings of Exciter", parts)


def recording_schema() -> dict[str, Any]:
    """JSON schema of a recording.yaml."""
    return file_schema("recording.yaml of Exciter", [(None, RecordingSettings)])
