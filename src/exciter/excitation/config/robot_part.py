"""The file of ``--config`` as a ``Section``, for readers that go through it key by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exciter.excitation.config.section import Section
from exciter.robot.options import RobotOptions
from exciter.robot.settings_file import SettingsFile


def read_section(path: Path) -> Section:
    """The whole file; unknown keys are refused."""
    return _section(SettingsFile.read(path))


def whole_section(data: Any, where: str) -> Section:
    """The content of such a file."""
    return _section(SettingsFile(data, where))


def robot_options(top: Section, folder: Path) -> RobotOptions:
    """Limits, gravity, locked joints, mesh folder; relative paths start at ``folder``."""
    return SettingsFile(top.data, top.where, folder).robot


def _section(file: SettingsFile) -> Section:
    return Section(file.data, file.where)
