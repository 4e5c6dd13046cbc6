"""The part of the configuration that speaks of the robot. One file serves all commands: those that only need the robot
leave the rest of it aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exciter.excitation.config.section import Section
from exciter.robot.options import KEYS as ROBOT_KEYS
from exciter.robot.options import RobotOptions, options_from
from exciter.robot.yaml_file import read_yaml
from exciter.settings import keys_of

EXPERIMENT_KEYS = ("simulate", "identify")  # read by the commands of these names


def read_section(path: Path) -> Section:
    """The whole file; unknown keys are refused."""
    return whole_section(read_yaml(path, "configuration"), str(path))


def whole_section(data: Any, where: str) -> Section:
    """The content of such a file."""
    from exciter.excitation.design_settings import DesignSettings  # which reads its file with this

    return Section.of(data, where, (*ROBOT_KEYS, *keys_of(DesignSettings), *EXPERIMENT_KEYS))


def robot_options(top: Section, folder: Path) -> RobotOptions:
    """Limits, gravity, locked joints, mesh folder; relative paths start at ``folder``."""
    return options_from({key: top.data[key] for key in ROBOT_KEYS if key in top.data}, top.where, folder)
