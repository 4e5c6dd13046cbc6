"""``fleet.yaml``: robots of a type, or of a few, and where the logs of each are.

    description: arm.urdf               # of the type; or the name of an embedded robot
    settings: exciter.yaml              # as of --config, or what such a file holds; what is open is chosen once for all
    folders: logs                       # every sub-folder is a robot, its logs are the files in it
    robots:                             # or by name, its logs by path or pattern
      A-017: logs/A-017/*.csv
      A-018: {logs: [a.csv, b.csv], dates: [2026-01-05, 2026-03-05], payload: {frame: flange, mass: 1.2}}
      A-019: {logs: c.csv, description: arm-calibrated.urdf}
    load: flange                        # the frame on which another load would sit; the last one unless given
    level: 0.1                          # of naming a robot wrongly, see control
    control: benjamini-hochberg         # or holm
    choose_from: 3                      # robots that settings are chosen from
    types: {short: {description: …, robots: …}, long: {description: …, folders: …}}   # in place of one type

Paths begin at the folder of the file; a log may be at a URL. A date stands in the name of a log (2026-01-05,
20260105T0930) unless dates gives it; without dates logs count in the order in which they are named."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from os.path import isdir, isfile, lexists
from pathlib import Path
from typing import Annotated, Any

from exciter.errors import ExciterError, shown
from exciter.experiment.recording.recording import Payload
from exciter.experiment.sources.open_source import READER_OF_SUFFIX
from exciter.files import is_plain
from exciter.remote_files import address, is_url
from exciter.settings import Number, OneWord, Settings, Text, Whole, written
from exciter.settings.field_markers import Kind, ListOfTexts, inside, wrong
from exciter.settings.fill import filled, json_schema
from exciter.validation.fleet.multiple_tests import BENJAMINI_HOCHBERG, LEVEL_METHODS

MOST_ROBOTS = 100_000
ONE_TYPE = "type"  #: name of the only one
SAMPLE_SUFFIXES = (".csv", ".txt", ".bag", *READER_OF_SUFFIX)  #: of the files in the folder of a robot
DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?:[T_ -]?(\d{2})[:h-]?(\d{2})(?:[:m-]?(\d{2}))?)?(?!\d)")
SECONDS_PER_DAY = 86_400.0


class Dates(Kind):
    """Dates as YAML has them, or as ISO texts; one per log."""

    wanted = "a list of dates such as 2026-01-05 or 2026-01-05T09:30"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[str, ...]:
        listed = given if isinstance(given, list | tuple) else [given]
        found = []
        for one in listed:
            try:
                found.append(_instant(one).isoformat())
            except (TypeError, ValueError):
                raise wrong(f" is {shown(one)}; give {self.wanted}") from None
        return tuple(found)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}}


def _instant(given: Any) -> datetime:
    if isinstance(given, date) and not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day)
    found = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo is not None else found


@dataclass(frozen=True)
class FleetRobot(Settings):
    """A robot of a fleet. logs: paths or patterns; description: of its own, with the joints of the type; payload: that
    it carries in all of its logs; dates: of its logs, in their order."""

    logs: Annotated[tuple[str, ...], ListOfTexts("logs", least=1)]
    description: Annotated[str | None, Text("a description")] = None
    payload: Payload | None = None
    dates: Annotated[tuple[str, ...] | None, Dates()] = None

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        return {"logs": given} if isinstance(given, str | list | tuple) else given


class RobotsByName(Kind):
    """Robots, each by its logs alone or with more that is said of it."""

    wanted = "a mapping (robot: its logs)"

    def check(self, given: Any, context: Mapping[str, Any]) -> dict[str, FleetRobot]:
        if not isinstance(given, Mapping):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        found = {}
        for name, one in given.items():
            with inside(f": {name}"):
                found[str(name)] = one if isinstance(one, FleetRobot) else filled(FleetRobot, one, context)
        if len(found) < len(given):
            raise wrong(" has a name twice")
        return found

    def schema(self) -> dict[str, Any]:
        logs = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
        one = {"anyOf": [*logs["anyOf"], json_schema(FleetRobot)]}
        return {"type": "object", "additionalProperties": one}


class ContentOrPlace(Kind):
    """A settings file by its path, or what it holds."""

    wanted = "the path of a settings file, or what such a file holds"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if not isinstance(given, str | Mapping) or given == "":
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return given

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}


AnySettings = Annotated[str | Mapping[str, Any] | None, ContentOrPlace()]
Robots = Annotated[Mapping[str, FleetRobot], RobotsByName()]
Folders = Annotated[tuple[str, ...], ListOfTexts("folders")]


@dataclass(frozen=True)
class FleetType(Settings):
    """Robots that are made alike. load: the frame on which another load would sit."""

    description: Annotated[str, Text("the file of the type, or the name of an embedded robot")]
    settings: AnySettings = None
    robots: Robots = field(default_factory=dict)
    folders: Folders = ()
    load: Annotated[str | None, Text("a frame")] = None


class TypesByName(RobotsByName):
    """Types of robots."""

    wanted = "a mapping (type: its description and robots)"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if not isinstance(given, Mapping) or not given:
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        found = {}
        for name, one in given.items():
            with inside(f": {name}"):
                found[str(name)] = one if isinstance(one, FleetType) else filled(FleetType, one, context)
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": json_schema(FleetType)}


@dataclass(frozen=True)
class FleetSettings(Settings):
    """A fleet: robots of a type, or of several types; how sure one must be to name a robot.

    >>> ex.FleetSettings(description="panda", robots={"A": "logs/A/*.csv"}).control
    'benjamini-hochberg'"""

    description: Annotated[str | None, Text("the file of the type, or the name of an embedded robot")] = None
    settings: AnySettings = None
    robots: Robots = field(default_factory=dict)
    folders: Folders = ()
    load: Annotated[str | None, Text("a frame")] = None
    types: Annotated[Mapping[str, FleetType] | None, TypesByName()] = None
    level: Annotated[float, Number(above=0.0, below=1.0)] = 0.1
    control: Annotated[str, OneWord(LEVEL_METHODS)] = BENJAMINI_HOCHBERG
    choose_from: Annotated[int, Whole(1, MOST_ROBOTS)] = 3

    def __post_init__(self) -> None:
        own = self.description is not None or self.robots or self.folders or self.load is not None
        if self.types is not None and (own or self.settings is not None):
            raise ExciterError("types are given, each with its own description and robots; leave the others out")
        if self.types is None and self.description is None:
            raise ExciterError("there is no description of the type; give description: arm.urdf")

    @property
    def each_type(self) -> dict[str, FleetType]:
        if self.types is not None:
            return dict(self.types)
        assert self.description is not None
        one = FleetType(self.description, self.settings, self.robots, self.folders, self.load)
        return {ONE_TYPE: one}


@dataclass(frozen=True)
class LogOfRobot:
    """path; date: as ISO text, where one is known."""

    path: str
    date: str | None


@dataclass(frozen=True)
class RobotAsked:
    """A robot with its files. description: a path, or the name of an embedded robot."""

    name: str
    description: str
    logs: tuple[LogOfRobot, ...]
    payload: Mapping[str, Any] | None = None


def robots_of(one: FleetType, folder: Path, where: str) -> tuple[RobotAsked, ...]:
    """All robots of a type with their logs as they are on disk now; folder: at which paths begin."""
    found = dict[str, RobotAsked]()
    for name, robot in (*one.robots.items(), *_in_folders(one, folder, where)):
        if not is_plain(name) or name.startswith(".") or name.strip() != name:
            raise ExciterError(f"{where}: {shown(name)} is no name for a folder; give the robot a plain one")
        twice = next((other for other in found if other.casefold() == name.casefold()), None)
        if twice is not None:
            raise ExciterError(f"{where}: there are two robots called {shown(name)}; give each a name of its own")
        paths = [path for pattern in robot.logs for path in _files(folder, pattern)]
        if robot.dates is not None and len(robot.dates) != len(paths):
            raise ExciterError(
                f"{where}: {name}: as many dates as logs are needed, {len(robot.dates)} for {len(paths)}"
            )
        dates: tuple[str | None, ...] = robot.dates or tuple(date_in_name(path) for path in paths)
        logs = tuple(LogOfRobot(path, day) for path, day in zip(paths, dates, strict=True))
        if all(log.date is not None for log in logs):
            logs = tuple(sorted(logs, key=lambda log: log.date or ""))
        description = described(one.description if robot.description is None else robot.description, folder)
        payload = None if robot.payload is None else written(robot.payload)
        found[name] = RobotAsked(name, description, logs, payload)
    if not found:
        empty = f" (no sub-folder in {', '.join(map(shown, one.folders))})" if one.folders else ""
        raise ExciterError(f"{where}: there are no robots{empty}; give robots: {{name: its logs}}, or folders: logs")
    if not any(is_url(log.path) or isfile(log.path) or isdir(log.path) for one in found.values() for log in one.logs):
        first = next(iter(found.values()))
        raise ExciterError(f"{where}: no robot has a log, for {shown(first.name)} nothing is at '{first.logs[0].path}'")
    return tuple(found.values())


def described(given: str, folder: Path) -> str:
    """A file beside the fleet's, or the name of an embedded robot."""
    path = folder / given
    return str(path) if lexists(path) else given


def _files(folder: Path, pattern: str) -> list[str]:
    """Those that fit a pattern, by name; what is none stands for itself, there or not, and so does a URL."""
    if is_url(pattern):
        return [pattern]
    whole = str(folder / pattern)
    if not glob.has_magic(pattern) or lexists(whole):
        return [whole]
    return sorted(glob.glob(whole, recursive=True)) or [whole]


def _in_folders(one: FleetType, folder: Path, where: str) -> Iterator[tuple[str, FleetRobot]]:
    for given in one.folders:
        place = folder / given
        if not place.is_dir():
            raise ExciterError(f"{where}: folders: '{place}' is no folder; give one whose sub-folders are robots")
        for home in sorted(path for path in place.iterdir() if path.is_dir() and not path.name.startswith(".")):
            yield home.name, FleetRobot(logs=tuple(map(str, logs_in(home))) or (str(home / "*.csv"),))


def logs_in(home: Path) -> list[Path]:
    """Of the folder of a robot: what recording*.yaml describe; else the files that hold samples."""
    files = sorted(path.absolute() for path in home.iterdir() if path.is_file() and not path.name.startswith("."))
    described = [path for path in files if path.name.startswith("recording") and path.suffix in (".yaml", ".yml")]
    return described or [path for path in files if path.suffix.lower() in SAMPLE_SUFFIXES]


def date_in_name(path: str) -> str | None:
    """ISO text of the date in the name of a log."""
    for found in DATE_IN_NAME.finditer(Path(address(path)).name):
        try:
            return datetime(*(int(part) for part in found.groups() if part is not None)).isoformat()  # type: ignore[arg-type]
        except ValueError:  # some other number
            continue
    return None


def instants(dates: tuple[str | None, ...]) -> tuple[float, ...] | None:
    """[days] since the year 1; None where one is not known."""
    known = [_instant(one) for one in dates if one is not None]
    if len(known) < len(dates):
        return None
    return tuple((one - datetime(1, 1, 1)).total_seconds() / SECONDS_PER_DAY for one in known)
