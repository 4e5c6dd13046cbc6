"""What functions of the pipeline may be given: robots by name, motions by file, settings by keyword."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from exciter.errors import ExciterError, unknown_name
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.load import RobotOptions, load
from exciter.robot.robot import Robot
from exciter.settings import fill
from exciter.settings.fill import settings_fields

S = TypeVar("S", bound=Any)


@runtime_checkable
class HasCurve(Protocol):
    """A design, or another result with a motion."""

    @property
    def curve(self) -> Curve: ...


AnyMotion = Curve | HasCurve | str | Path


def curve_of(given: AnyMotion, robot: Robot) -> Curve:
    """A motion, of a design, or of any trajectory file or folder that ``exciter check`` understands."""
    if isinstance(given, Curve):
        return given
    return read_trajectory(Path(given), robot) if isinstance(given, str | Path) else given.curve


def loaded(robot: Robot | str | Path, options: RobotOptions) -> tuple[Robot, RobotOptions]:
    """A robot, by file or name where it is not there yet, and what was said of it when it was loaded."""
    if isinstance(robot, Robot):
        return robot, options if robot.options is None else robot.options
    return load(robot, options), options


def changed(settings: S, changes: Mapping[str, Any]) -> S:
    """Settings with what keywords say; one that is not a field is refused with the nearest that is."""
    names = [field.name for field in fields(settings)]
    for name in changes:
        if name not in names:
            raise ExciterError(unknown_name("keyword", name, names))
    hints = settings_fields(type(settings))
    given = {key: fill(hints[key], x, key) if key in hints and is_plain(x) else x for key, x in changes.items()}
    return replace(settings, **given)


def is_plain(given: Any) -> bool:
    """What a file could give: checked as if it came from one, where words become objects."""
    if isinstance(given, list | tuple):
        return bool(given) and all(map(is_plain, given))
    return isinstance(given, str | int | float | Mapping)
