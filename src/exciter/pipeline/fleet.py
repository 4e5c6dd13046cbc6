"""A fleet: many robots of a type (or of a few types), each identified from its own logs, put beside each other.

    DIR/fleet.json, fleet.csv, report.html   who differs from the type and why, a row for each robot
    DIR/settings.json                        what was chosen for each type, and asked for
    DIR/robots/NAME/                         of each what ``exciter identify`` writes; DIR/robots/TYPE/NAME of types

Robots are done one by one, here or by workers, each written whole: a run that was stopped goes on with those that are
missing, or whose logs, description or settings have changed since."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np

from exciter.archive import archived, opened
from exciter.errors import ClusterLost, ExciterError, RobotError
from exciter.files import csv_line, output_folder, path_of, readable_json, staged, write_json
from exciter.files import sha256 as hash_of
from exciter.identification.identify_config import IdentifyConfig
from exciter.labelled import drawn_on, needed
from exciter.pipeline import fleet_choice as choice
from exciter.pipeline.fleet_robots import (
    RobotOfFleet,
    chosen_by_robot,
    kept_robot,
    robot_from,
    robot_of_fleet,
    task_of,
)
from exciter.pipeline.fleet_settings import FleetSettings, FleetType, RobotAsked, described, instants, robots_of
from exciter.pipeline.fleet_table import TypeOfFleet, rows_of, shown_type, type_data
from exciter.pipeline.saving import (
    FLEET_ARCHIVE,
    FLEET_SEAL,
    FLEET_TABLE,
    REPORT_FILE,
    description_hash,
    versions,
)
from exciter.pipeline.settings_file import SettingsFile, changed, loaded, refuse_unknown
from exciter.report.fleet_report import fleet_page
from exciter.report.page import Page
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import read_yaml
from exciter.settings import fill
from exciter.validation.fleet.friction_trends import DAYS, LOGS
from exciter.validation.fleet.multiple_tests import LEVEL_MEANING
from exciter.validation.fleet.type_comparison import DIFFERS, TypeComparison
from exciter.workers import HERE, Workers

SETTINGS_FILE = "settings.json"  #: what was chosen for each type
ROBOTS_FOLDER = "robots"
OTHER_PARAMETERS = "it has other parameters than the others of its type"
AnyFleet = FleetSettings | str | Path | Mapping[str, Any]
Step = Callable[[float, str], None]  #: what share is done, and what is going on


def unseen(share: float, step: str) -> None:
    """For those who do not look."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fleet:
    """Robots beside each other, type by type.

    >>> logs = {f"R{k}": str(ex.simulate(robot, motion, seed=k).save(f"R{k}.csv")[0]) for k in range(5)}
    >>> made = ex.fleet(description="gautier-khalil", robots=logs, choose_from=1)
    >>> made
    <fleet of 5 robots, ... differ..., 0 refused>
    >>> made.to_pandas().shape[0]
    5"""

    types: tuple[TypeOfFleet, ...]
    level: float
    control: str

    @property
    def robots(self) -> tuple[RobotOfFleet, ...]:
        return tuple(one for kind in self.types for one in kind.robots)

    @property
    def refused(self) -> tuple[RobotOfFleet, ...]:
        """Those that could not be identified, each with its reason."""
        return tuple(one for kind in self.types for one in kind.refused)

    @cached_property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """A row for each robot, those that differ first, each type for itself; the refused ones last."""
        return tuple(row for kind in self.types for row in rows_of(kind))

    @property
    def differing(self) -> dict[str, tuple[str, ...]]:
        """Who differs from its type, the surest first, and why."""
        return {row["robot"]: tuple(row["reasons"]) for row in self.rows if row["status"] == DIFFERS}

    def comparison(self, kind: str | None = None) -> TypeComparison:
        """Of a type, by its name, where there is more than one."""
        found = {one.name: one for one in self.types}
        if (kind is None and len(found) > 1) or (kind is not None and kind not in found):
            raise ExciterError(f"there are the types {', '.join(found)}; name one of them")
        return (self.types[0] if kind is None else found[kind]).comparison

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each robot."""
        rows = [{**row, "reasons": "; ".join(row["reasons"])} for row in self.rows]
        return needed("pandas").DataFrame(rows).set_index("robot")

    def plot(self, kind: str | None = None, axes: Any = None) -> Any:
        """Friction of every joint beside the type's [%], a dot for each robot; returns matplotlib's axes."""
        found, axes = self.comparison(kind), drawn_on(axes)
        for k, (name, row) in enumerate(zip(found.names, found.friction_percent, strict=True)):
            at = np.arange(1, len(row) + 1) + 0.3 * (k / max(len(found.names), 2) - 0.5)
            named = bool(found.differs[k])
            axes.plot(at, row, "o" if named else ".", color=None if named else "0.6", label=name if named else None)
        axes.set_xticks(np.arange(1, len(found.groups.joints) + 1), found.groups.joints)
        axes.set_ylabel("friction beside the type [%]")
        if found.differs.any():
            axes.legend()
        return axes

    @property
    def meaning(self) -> str:
        """Of being named, in words."""
        return LEVEL_MEANING[self.control].format(level=self.level)

    def to_dict(self) -> dict[str, Any]:
        """The content of fleet.json."""
        return {
            "robots": list(self.rows),
            "differing": {name: list(why) for name, why in self.differing.items()},
            "refused": {one.name: one.reason for one in self.refused},
            "types": [type_data(kind) for kind in self.types],
            "level": self.level,
            "control": self.control,
            "meaning": self.meaning,
            "versions": versions(),
        }

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``save`` keeps."""
        return fleet_page([shown_type(kind) for kind in self.types], self.meaning)

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        differ = len(self.differing)
        words = f"{differ} {'differs' if differ == 1 else 'differ'} from their type, {len(self.refused)} refused"
        return f"<fleet of {len(self.robots)} robots, {words}>"

    def table(self) -> str:
        """The content of fleet.csv: the rows, with the friction and the residual of every joint."""
        lines = []
        for kind in self.types:
            joints = kind.groups.joints
            heads = ["robot", "type", "status", "p_value", "adjusted_p_value", "distance", "total_percent"]
            heads += [f"{j}.friction_percent" for j in joints] + [f"{j}.residual_ratio" for j in joints] + ["reasons"]
            lines.append(csv_line(heads))
            for row in rows_of(kind):
                numbers = [row[key] for key in heads[3:7]]
                by_joint = [*row["friction_percent"].values(), *row["residual_ratio"].values()]
                by_joint = by_joint or [None] * (2 * len(joints))
                cells = ["" if x is None or not np.isfinite(x) else f"{x:.6g}" for x in (*numbers, *by_joint)]
                lines.append(csv_line([row["robot"], row["type"], row["status"], *cells, "; ".join(row["reasons"])]))
        return "\n".join(lines) + "\n"

    # -- saved -------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """fleet.json, the table and the report; folders of robots are written as robots are done."""
        place = path_of(folder, "the folder")
        with output_folder(place), staged(place, FLEET_SEAL) as stage:
            (stage / FLEET_ARCHIVE).write_bytes(archived(self))
            (stage / FLEET_TABLE).write_text(self.table(), encoding="utf-8", newline="\n")
            self.report().write(stage / REPORT_FILE)
            FLEET_SEAL.write(stage, self.to_dict())
        return place

    @classmethod
    def open(cls, folder: str | Path) -> Fleet:
        """What ``exciter fleet``, or ``save``, wrote."""
        return opened(path_of(folder, "the folder"), FLEET_SEAL, FLEET_ARCHIVE, cls)


# -- all of it ---------------------------------------------------------------------------------------------------------


def fleet(
    settings: AnyFleet | None = None,
    folder: str | Path | None = None,
    *,
    workers: Workers = HERE,
    progress: Step = unseen,
    **changes: Any,
) -> Fleet:
    """Hundreds of robots of a type, each with its logs: who differs from the type, whose friction drifts.

    settings: an object, or a fleet.yaml or its content; keywords change it: description, robots, folders, settings,
    level, … (fields of ``FleetSettings``). folder: where each robot is kept as it is done, and from which a fleet that
    was stopped goes on. workers: processes or a cluster that identify robots side by side.

    >>> logs = {f"R{k}": str(ex.simulate(robot, motion, seed=k).save(f"R{k}.csv")[0]) for k in range(5)}
    >>> made = ex.fleet({"description": "gautier-khalil", "robots": logs}, choose_from=1)
    >>> len(made.robots), made.refused
    (5, ())"""
    asked, base, where = fleet_settings(settings, changes)
    types = [_begun(name, one, asked, base, where) for name, one in asked.each_type.items()]
    if folder is None:
        return _made(asked, types, None, workers, progress)
    place = path_of(folder, "the folder")
    with output_folder(place):
        try:
            made = _made(asked, types, place, workers, progress)
        except ClusterLost as error:
            kept = f"robots that are done are kept in '{place}': the same command goes on with the others"
            raise ClusterLost(f"{error}; {kept}") from None
        made.save(place)
    return made


def fleet_settings(settings: AnyFleet | None, changes: Mapping[str, Any]) -> tuple[FleetSettings, Path, str]:
    """Settings, the folder at which paths begin, and what messages begin with."""
    refuse_unknown(changes, FleetSettings)
    if isinstance(settings, FleetSettings):
        return changed(settings, changes), Path(), "fleet"
    if settings is None or isinstance(settings, Mapping):
        content: Any = {**(settings or {}), **changes}
        return fill(FleetSettings, content, "fleet", folder=Path()), Path(), "fleet"
    path = path_of(settings, "the file of the fleet")
    if path.is_dir():
        raise ExciterError(f"'{path}' is a folder; give a fleet.yaml that says folders: {path.name}, and of which type")
    content = read_yaml(path, "fleet")
    found = fill(FleetSettings, content, str(path), folder=path.parent)
    return changed(found, changes), path.parent, str(path)


@dataclass(frozen=True, eq=False)
class _Begun:
    """A type before any work: its robot, its robots with their files, settings as asked for, and times of the logs."""

    name: str
    robot: Robot
    config: IdentifyConfig
    load: str | None
    robots: tuple[RobotAsked, ...]
    when: dict[str, tuple[float, ...]]
    unit: str
    description: str
    choose_from: int

    @property
    def key(self) -> str:
        """Of what settings are chosen for, and from how many."""
        described = hash_of(Path(self.description)) if isfile(self.description) else self.description
        chosen_for = {"description": described, "settings": self.config.to_dict(), "choose_from": self.choose_from}
        text = readable_json(chosen_for)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _begun(name: str, one: FleetType, asked: FleetSettings, base: Path, where: str) -> _Begun:
    place = where if asked.types is None else f"{where}: types: {name}"
    given = one.settings
    config = SettingsFile.read(base / given if isinstance(given, str) else given).identify
    robots = robots_of(one, base, place)
    own = described(one.description, base)
    robot, options = loaded(own, config.robot)
    config = replace(config, robot=options)
    if one.load is not None:
        try:
            robot.frame(one.load)
        except RobotError as error:
            raise RobotError(f"{place}: load: {error}") from None
    choice.fixed(config).refuse_early(robot, planned=False)
    for description in dict.fromkeys(one.description for one in robots if one.description != own):
        other = loaded(description, config.robot)[0]
        if [(j.name, j.is_prismatic) for j in other.joints] != [(j.name, j.is_prismatic) for j in robot.joints]:
            raise RobotError(
                f"{place}: '{description}' has the joints {', '.join(other.joint_names)}; the type has "
                f"{', '.join(robot.joint_names)}: give it a type of its own"
            )
    dates = {one.name: instants(tuple(log.date for log in one.logs)) for one in robots}
    several = [one.name for one in robots if len(one.logs) > 1]
    dated = bool(several) and all(dates[name] is not None for name in several)
    first = min((days[0] for days in dates.values() if days), default=0.0)
    when = {
        one.name: tuple(x - first for x in dates[one.name] or (first,))
        if dated and dates[one.name] is not None
        else tuple(float(k) for k in range(len(one.logs)))
        for one in robots
    }
    return _Begun(name, robot, config, one.load, robots, when, DAYS if dated else LOGS, own, asked.choose_from)


def _made(asked: FleetSettings, types: list[_Begun], place: Path | None, workers: Workers, progress: Step) -> Fleet:
    known = _settings_before(place)
    todo = sum(len(one.robots) for one in types)
    found, done, chosen = list[TypeOfFleet](), 0, dict[str, Any]()
    with workers.ready():
        for one in types:
            home = None if place is None else place / ROBOTS_FOLDER
            home = home if home is None or asked.types is None else home / one.name
            config, names = _chosen(one, asked, known, workers, progress, done / todo)
            chosen[one.name] = {"key": one.key, "settings": config.to_dict(), "chosen_from": list(names)}
            if place is not None:
                write_json(place / SETTINGS_FILE, {**known, **chosen})
            robots, tasks = dict[str, RobotOfFleet](), dict[str, dict[str, Any]]()
            for robot in one.robots:
                task = task_of(robot, config, one.when[robot.name], None if home is None else home / robot.name)
                kept = kept_robot(task)
                if kept is None:
                    tasks[robot.name] = task
                else:
                    robots[robot.name] = kept
                    done += 1
            progress(done / todo, f"{done} of {todo} robots")
            with closing(workers.over(robot_of_fleet, [(task,) for task in tasks.values()])) as running:
                for data in running:
                    robots[data["name"]] = robot_from(data, tasks[data["name"]])
                    done += 1
                    progress(done / todo, f"{done} of {todo} robots")
            found.append(
                TypeOfFleet(
                    name=one.name,
                    robot=one.robot,
                    sha256=description_hash(one.robot),
                    config=config,
                    chosen_from=names,
                    load=one.load,
                    unit=one.unit,
                    robots=_comparable(tuple(robots[robot.name] for robot in one.robots)),
                    level=asked.level,
                    control=asked.control,
                )
            )
    progress(1.0, "comparing")
    return Fleet(types=tuple(found), level=asked.level, control=asked.control)


def _settings_before(place: Path | None) -> dict[str, Any]:
    """What an earlier run chose; nothing where there is none that can be read."""
    try:
        found = json.loads((place / SETTINGS_FILE).read_text(encoding="utf-8")) if place is not None else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _chosen(
    one: _Begun, asked: FleetSettings, known: Mapping[str, Any], workers: Workers, progress: Step, share: float
) -> tuple[IdentifyConfig, tuple[str, ...]]:
    """The settings of all robots of a type, and the robots they were chosen from."""
    if not choice.is_chosen(one.config):
        return choice.fixed(one.config), ()
    before = known.get(one.name)
    if isinstance(before, Mapping) and before.get("key") == one.key:
        return IdentifyConfig.of(before["settings"], SETTINGS_FILE), tuple(before["chosen_from"])
    count = len(one.robots)
    spread = np.unique(np.linspace(0, count - 1, min(asked.choose_from, count)).astype(int)).tolist()
    order = [*spread, *(k for k in range(count) if k not in spread)]  # more, where one of these is refused
    found, reasons = dict[str, IdentifyConfig](), list[str]()
    config = choice.asking(one.config)
    while order and len(found) < asked.choose_from:
        few, order = order[: asked.choose_from - len(found)], order[asked.choose_from - len(found) :]
        progress(share, f"choosing settings from {', '.join(one.robots[k].name for k in few)}")
        tasks = [(task_of(one.robots[k], config, one.when[one.robots[k].name], None),) for k in few]
        with closing(workers.over(chosen_by_robot, tasks)) as running:
            for data in running:
                if "settings" in data:
                    found[data["name"]] = IdentifyConfig.of(data["settings"], "settings of the type")
                else:
                    reasons.append(f"{data['name']}: {data['reason']}")
    if not found:
        raise ExciterError(f"no robot can be identified; {reasons[0]}")
    names = tuple(robot.name for robot in one.robots if robot.name in found)
    return choice.together(one.config, [found[name] for name in names], one.robot), names


def _comparable(robots: tuple[RobotOfFleet, ...]) -> tuple[RobotOfFleet, ...]:
    """Without those that have other parameters than most, or a log that is another robot's, too."""
    usual = Counter(one.parameters for one in robots if one.identified).most_common(1)
    owners = dict[str, str]()
    found = list[RobotOfFleet]()
    for one in robots:
        if one.identified and one.parameters != usual[0][0]:
            other = sorted(set(one.parameters) ^ set(usual[0][0]))[:4]
            one = one.refused(f"{OTHER_PARAMETERS} ({', '.join(other)}): is it moved as they are?")
        shared = next((owners[sha] for sha in one.sources if sha in owners), None) if one.identified else None
        if shared is not None:
            one = one.refused(f"its log has the samples of {shared}; give its own")
        owners |= {sha: one.name for sha in one.sources if sha not in owners}
        found.append(one)
    return tuple(found)
