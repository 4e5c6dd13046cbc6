"""Robots, logs and results from disk: one word for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError
from exciter.excitation.files.read import DESIGN
from exciter.experiment.recording import Recording, read_recording
from exciter.files import path_of
from exciter.identification.identified_model import RESULT_SEAL
from exciter.pipeline.design import Designed
from exciter.pipeline.identified import Identified
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot.load import RobotOptions
from exciter.robot.load import load as load_robot
from exciter.robot.robot import Robot


def load(
    source: str | Path, options: RobotOptions | str | Path | Mapping[str, Any] | None = None, **said: Any
) -> Robot:
    """The robot of a file (URDF, MJCF, a modified-DH table in YAML), or an embedded one by name.

    options: limits, gravity and locked joints, as an object, or as a settings file says them (or its content); the same
    as keywords: ``acceleration=5.0``, ``velocity={"joint_1": 1.0}``, ``gravity=(0, 0, -9.81)``,
    ``lock={"finger": 0.02}``. A plain name of an embedded robot means that robot, unless it is given as a path
    (``./panda``).

    >>> ex.load("gautier-khalil", acceleration=5.0)
    <gautier-khalil: joint_1, joint_2, joint_3>
    """
    if options is not None and not isinstance(options, RobotOptions):
        options = SettingsFile.read(options).robot
    return load_robot(source, options, **said)


def read(path: str | Path, data: str | Path | None = None) -> Recording:
    """A log: a recording.yaml that says how to read foreign files, or CSV, NPZ, MAT, bags of known kinds. data: folder
    of the files that a recording.yaml names. Logs larger than memory are given to ``identify`` by their path.

    >>> path = log.save("log.csv")
    >>> len(ex.read("log.csv")) == len(log)
    True
    """
    return read_recording(path_of(path, "the log"), data)


def open(folder: str | Path) -> Identified | Designed:
    """What ``save`` or a command wrote: an identification, or a design.

    >>> folder = found.save("found")
    >>> ex.open(folder).parameters.names == found.parameters.names
    True
    """
    place = path_of(folder, "the folder")
    if RESULT_SEAL.is_there(place):
        return Identified.open(place)
    if DESIGN.is_there(place):
        return Designed.open(place)
    raise ExciterError(f"'{folder}' has neither {RESULT_SEAL.name} nor {DESIGN.name}; give a folder that was saved")
