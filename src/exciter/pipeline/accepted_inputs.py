"""What functions of the pipeline may be given: robots by name, motions by file, settings by keyword."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, get_type_hints, runtime_checkable

from exciter.errors import ExciterError, MotionError, shown, unknown_name
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.load import RobotOptions, load
from exciter.robot.robot import Robot
from exciter.settings import Settings, Whole
from exciter.settings.fill import checked, settings_fields

S = TypeVar("S", bound=Any)


@runtime_checkable
class HasCurve(Protocol):
    """A design, or another result with a motion."""

    @property
    def curve(self) -> Curve: ...


AnyMotion = Curve | HasCurve | str | Path


def curve_of(given: AnyMotion, robot: Robot) -> Curve:
    """A motion, of a design, or of any trajectory file or folder that ``exciter check`` understands."""
    if isinstance(given, str | Path):
        return read_trajectory(Path(given), robot)
    curve = given.curve if isinstance(given, HasCurve) and not isinstance(given, type) else given
    if not isinstance(curve, Curve):
        raise MotionError(f"the motion is {shown(given)}; give a design, its curve, or a trajectory file")
    return curve


def loaded(robot: Robot | str | Path, options: RobotOptions) -> tuple[Robot, RobotOptions]:
    """A robot, by file or name where it is not there yet, and all that was said of it. What settings say beyond that
    with which a robot was loaded holds for it, too."""
    if not isinstance(robot, Robot):
        return load(robot, options), options
    known = robot.options or RobotOptions()
    more = options.beyond(known)
    if more == RobotOptions():
        return robot, known
    together = known.joined(more)
    return replace(more.apply(robot), options=together), together


def changed(settings: S, changes: Mapping[str, Any]) -> S:
    """Settings with what keywords say; what a file could say (a word, a mapping) becomes an object."""
    hints = get_type_hints(type(settings), include_extras=True)
    return replace(settings, **{key: checked(hints[key], value, key) for key, value in changes.items()})


def counted(given: int | None, what: str, least: int = 1) -> int | None:
    """A whole number, or None."""
    found: int | None = checked(Annotated[int | None, Whole(least)], given, what)
    return found


def refuse_unknown(given: Iterable[str], *known: type[Settings] | str) -> None:
    """A keyword that is neither one of these names, nor a field of these settings, is refused with the nearest."""
    names = [name for one in known for name in ([one] if isinstance(one, str) else settings_fields(one))]
    for name in given:
        if name not in names:
            raise ExciterError(unknown_name("keyword", name, names))
