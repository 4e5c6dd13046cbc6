"""The plan of a staged experiment, ``plan.yaml``: which motion is for what, and where the log of each is expected.

experiment: static                  # the procedure
robot: kuka-ir361
estimator: static                   # the word with which the logs are identified, unless said otherwise
stages:
  - name: poses                     # that of its folder
    purpose: rest
    motion: poses/trajectory.json   # paths start at the folder of the plan
    log: logs/poses.csv             # or a recording.yaml; a user may change it
    moves: [joint_1, joint_2]       # joints that move
    dwells: [[0.0, 1.0]]            # [s] purpose rest: stretches of the motion in which the robot stands still
    cruises: []                     # purpose constant-velocity: {joint, speed, start, end}

Times are those of the motion's file, which begins at its first row."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.errors import ExciterError, shown, unknown_name
from exciter.excitation.experiments.moves import Cruise
from exciter.excitation.trajectories.curve import Curve
from exciter.files import is_plain, path_of, require_suffix, write_texts
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import LARGEST_YAML_BYTES, read_yaml
from exciter.settings import Name, Names, OneWord, Settings, Vector, fill, written, yaml_text

#: What a stage is for: standing still; one joint at constant velocity; some joints locked; the four kinds of test
#: motions of Vandanjon; everything at once.
PURPOSES = (
    "rest",
    "constant-velocity",
    "locked",
    "gravity",
    "inertia",
    "centrifugal-coupling",
    "inertial-coupling",
    "excitation",
)
Purpose = Annotated[str, OneWord(PURPOSES)]
PLAN_FILE = "plan.yaml"
LOG_FOLDER = "logs"  #: beside the plan, unless it says otherwise
PLAN_SUFFIXES = (".yaml", ".yml")
#: Keys of a plan that no other YAML file of Exciter has at its top.
PLAN_KEYS = ("experiment", "stages")
SAME_INSTANT_S = 1e-6  # [s] by which a plan may miss the end of a motion
SAME_SPEED = 1e-6  # [rad/s or m/s] by which a motion may miss what a plan says
STEADY_INSTANTS = 21  # of a stretch, at which it is looked at


@dataclass(frozen=True)
class PlannedStage(Settings):
    """One motion of an experiment. name: of its folder; motion, log: paths from the plan; moves: joints that move;
    dwells: of a stage at rest, when [s] the robot stands still; cruises: of one at constant velocity, when it is.

    >>> ex.PlannedStage(name="poses", purpose="rest", motion="m.json", log="poses.csv", dwells=[(0.5, 1.5)]).dwells
    ((0.5, 1.5),)"""

    name: Name
    purpose: Purpose
    motion: Name
    log: Name
    moves: Names = ()
    dwells: tuple[Annotated[tuple[float, float], Vector(2, "s")], ...] = ()
    cruises: tuple[Cruise, ...] = ()

    def __post_init__(self) -> None:
        if not is_plain(self.name):
            raise ExciterError(f"name is {shown(self.name)}; give the name of a folder, without / or \\")
        for begin, end in self.dwells:
            if not 0.0 <= begin < end:
                raise ExciterError(f"dwells has {begin:g} … {end:g} s; the end must come after the start, both from 0")
        for key, purpose in (("dwells", "rest"), ("cruises", "constant-velocity")):
            if bool(getattr(self, key)) != (self.purpose == purpose):
                told = f"has no {key}" if self.purpose == purpose else f"has {key}"
                raise ExciterError(
                    f"stage {self.name}, purpose {self.purpose}, {told}; they belong to purpose {purpose}, which needs "
                    "at least one"
                )

    def spelling(self, data: dict[str, Any]) -> Any:
        return {**data, "moves": list(self.moves)}

    def refuse_other(self, curve: Curve, robot: Robot) -> None:
        """A motion that does not rest, or is not at constant velocity, where the plan says so, is another one."""
        steady = [(begin, end, np.zeros(robot.n)) for begin, end in self.dwells]
        for one in self.cruises:
            velocity = np.zeros(robot.n)
            velocity[robot.index(one.joint)] = one.speed
            steady.append((one.start, one.end, velocity))
        for begin, end, velocity in steady:
            where = f"stage {self.name}: the plan says that from {begin:g} to {end:g} s"
            if end > curve.duration + SAME_INSTANT_S:
                raise ExciterError(f"{where} …, and its motion lasts {curve.duration:g} s; design again")
            at = np.minimum(np.linspace(begin, end, STEADY_INSTANTS), curve.duration)
            found = curve.motion(curve.start + at[1:-1]).qd
            if np.abs(found - velocity).max() > SAME_SPEED:
                kind = "the robot stands still" if not velocity.any() else "one joint moves at constant velocity"
                raise ExciterError(f"{where} {kind}; its motion does not; design again, or correct the plan")


@dataclass(frozen=True)
class Plan(Settings):
    """A staged experiment: the word of its procedure, the robot's name, the word of the estimator that its logs are
    for, and its stages in order.

    folder: where paths of the stages start; that of the file, where there is one.

    >>> stage = ex.PlannedStage(name="all", purpose="excitation", motion="all/trajectory.json", log="logs/all.csv")
    >>> plan = ex.Plan(experiment="otani", robot="arm", estimator="wls", stages=(stage,))
    >>> path = plan.write("plan.yaml")
    >>> ex.Plan.read(path).stages == plan.stages
    True"""

    inner: ClassVar[tuple[str, ...]] = ("folder",)
    experiment: Name
    robot: Name
    estimator: Name
    stages: tuple[PlannedStage, ...]
    folder: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        if not self.stages:
            raise ExciterError("a plan without stages; give one at least")
        for name, count in Counter(stage.name.casefold() for stage in self.stages).items():
            if count > 1:
                raise ExciterError(f"{count} stages are called '{name}'; give each a name of its own")

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Of a file, or of the folder that has one."""
        file = path_of(path, "the plan")
        file = file / PLAN_FILE if file.is_dir() else file
        return replace(fill(cls, read_yaml(file, "plan"), str(file)), folder=file.parent)

    def write(self, path: str | Path) -> Path:
        """As YAML; a folder gets a plan.yaml."""
        file = path_of(path, "the plan")
        file = file / PLAN_FILE if file.is_dir() else file
        require_suffix(file, *PLAN_SUFFIXES)
        write_texts(file.parent, {file.name: yaml_text(written(self))})
        return file

    @staticmethod
    def is_one(path: Path) -> bool:
        """Whether a path is that of a plan, or of a folder that has one, and not of a motion or a recording: by the
        keys at the beginning of its lines. Motions in YAML can be large, and nobody waits for them to be read twice."""
        file = path / PLAN_FILE if path.is_dir() else path
        if file.suffix not in PLAN_SUFFIXES or not file.is_file():
            return False
        with file.open("rb") as stream:
            text = stream.read(LARGEST_YAML_BYTES).decode("utf-8", "replace")
        return all(re.search(rf"^{key}\s*:", text, re.MULTILINE) for key in PLAN_KEYS)

    def stage(self, name: str) -> PlannedStage:
        for one in self.stages:
            if one.name == name:
                return one
        raise ExciterError(unknown_name("stage", name, [one.name for one in self.stages]))

    def with_logs_in(self, folder: Path) -> Plan:
        """The same plan for another folder, with all logs directly there."""
        stages = tuple(
            replace(
                stage,
                motion=Path(os.path.relpath(self.motion_path(stage).resolve(), folder.resolve())).as_posix(),
                log=Path(stage.log).name,
            )
            for stage in self.stages
        )
        return replace(self, stages=stages, folder=folder)

    def motion_path(self, stage: PlannedStage) -> Path:
        """Of its trajectory file."""
        return self.folder / stage.motion

    def log_path(self, stage: PlannedStage) -> Path:
        """Where its log is expected."""
        return self.folder / stage.log

    def refuse_other(self, robot: Robot) -> None:
        """A plan names joints; one of another robot cannot be meant."""
        joints = [name for stage in self.stages for name in (*stage.moves, *(one.joint for one in stage.cruises))]
        for name in joints:
            if name not in robot.joint_names:
                raise ExciterError(
                    f"the plan is one of robot '{self.robot}': {unknown_name('joint', name, robot.joint_names)}"
                )
