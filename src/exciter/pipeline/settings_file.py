"""What functions of the pipeline may be given: the file of ``--config``, of which each takes its part and leaves the
rest aside, robots by name, motions by file, settings by keyword.

A room is imported where its part is asked for: each takes a command a good part of a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias, TypeVar, get_type_hints

from exciter.errors import ExciterError, MotionError, RobotError, shown, unknown_name
from exciter.files import path_of
from exciter.robot.load import RobotOptions
from exciter.robot.load import load as load_robot
from exciter.robot.robot import Robot
from exciter.robot.stance import footings
from exciter.robot.yaml_file import read_yaml
from exciter.settings import OneOf, Settings, Whole, fill, keys_of, known_keys
from exciter.settings.fill import checked, settings_fields

if TYPE_CHECKING:
    from exciter.excitation.design_settings import DesignSettings
    from exciter.excitation.experiments.experiment import Experiment
    from exciter.excitation.trajectories.curve import Curve
    from exciter.experiment.virtual import VirtualRobot
    from exciter.experiment.virtual.virtual_robot import SimulateSettings
    from exciter.identification.actuators.actuator_settings import ActuatorSettings
    from exciter.identification.following.follow_settings import FollowSettings
    from exciter.identification.identify_config import IdentifyConfig
    from exciter.pipeline.campaign_settings import CampaignSettings

S = TypeVar("S", bound=Any)
FileContent: TypeAlias = str | Path | Mapping[str, Any] | None  #: by its path, or as it is
#: sections; other keys stand at the top
SIMULATE, IDENTIFY, FOLLOW, EXPERIMENT, CAMPAIGN = "simulate", "identify", "follow", "experiment", "campaign"
ACTUATORS = "actuators"


@dataclass(frozen=True)
class SettingsFile:
    """Its content, whose keys are those that some command knows; where begins every message; relative paths start at
    folder."""

    data: Mapping[str, Any] = field(default_factory=dict)
    where: str = "configuration"
    folder: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        if self.data == {}:
            return
        from exciter.excitation.design_settings import DesignSettings

        sections = (SIMULATE, IDENTIFY, FOLLOW, EXPERIMENT, CAMPAIGN, ACTUATORS)
        keys = (*keys_of(RobotOptions), *keys_of(DesignSettings), *sections)
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
        from exciter.excitation.design_settings import DesignSettings

        own = fill(DesignSettings, self._only(keys_of(DesignSettings)), self.where, folder=self.folder)
        return replace(own, source=self.where, robot=self.robot)

    @property
    def identify(self) -> IdentifyConfig:
        from exciter.identification.identify_config import CONFIG_KEYS, IdentifyConfig

        return replace(IdentifyConfig.of(self._only(CONFIG_KEYS), self.where, self.folder), robot=self.robot)

    @property
    def follow(self) -> FollowSettings:
        from exciter.identification.following.follow_settings import FollowSettings

        return fill(FollowSettings, self.data.get(FOLLOW), f"{self.where}: {FOLLOW}", folder=self.folder)

    @property
    def experiment(self) -> Experiment | None:
        """The staged experiment that is to be designed; None where the file names none."""
        if self.data.get(EXPERIMENT) is None:
            return None
        from exciter.excitation.experiments.registry import EXPERIMENTS

        found: Experiment = fill(OneOf(EXPERIMENTS).hint, self.data[EXPERIMENT], f"{self.where}: {EXPERIMENT}")
        return found

    @property
    def actuators(self) -> ActuatorSettings:
        from exciter.identification.actuators.actuator_settings import ActuatorSettings

        return fill(ActuatorSettings, self.data.get(ACTUATORS), f"{self.where}: {ACTUATORS}", folder=self.folder)

    @property
    def campaign(self) -> CampaignSettings:
        from exciter.pipeline.campaign_settings import CampaignSettings

        return fill(CampaignSettings, self.data.get(CAMPAIGN), f"{self.where}: {CAMPAIGN}", folder=self.folder)

    def simulate(self, robot: Robot) -> SimulateSettings:
        """How it is rehearsed; of a robot that stands all joints count."""
        from exciter.experiment.virtual.virtual_robot import SimulateSettings

        joints, where = robot.tree if footings(robot) else robot, f"{self.where}: {SIMULATE}"
        return fill(SimulateSettings, self.data.get(SIMULATE), where, folder=self.folder, robot=joints)

    def virtual(self, robot: Robot, seed: int) -> VirtualRobot:
        """A robot to rehearse on; seed: of the truth, unless the file has one."""
        settings = self.simulate(robot)
        try:
            return settings.virtual(robot, seed)
        except ExciterError as error:
            raise ExciterError(f"{self.where}: {SIMULATE}: {error}") from None

    def _only(self, keys: tuple[str, ...]) -> dict[str, Any]:
        return {key: value for key, value in self.data.items() if key in keys}


class HasCurve(Protocol):
    """A design, or another result with a motion."""

    @property
    def curve(self) -> Curve: ...


AnyMotion: TypeAlias = "Curve | HasCurve | str | Path"


def curve_of(given: AnyMotion, robot: Robot) -> Curve:
    """A motion, of a design, or of any trajectory file or folder that ``exciter check`` understands."""
    from exciter.excitation.files.trajectory_files import read_trajectory
    from exciter.excitation.trajectories.curve import Curve

    if isinstance(given, str | Path):
        return read_trajectory(Path(given), robot)
    curve = getattr(given, "curve", given)
    if not isinstance(curve, Curve):
        raise MotionError(f"the motion is {shown(given)}; give a design, its curve, or a trajectory file")
    return curve


def load(
    source: str | Path, options: RobotOptions | str | Path | Mapping[str, Any] | None = None, **said: Any
) -> Robot:
    """The robot of a file (URDF, MJCF, a modified-DH table in YAML), or an embedded one by name.

    options: limits, gravity and locked joints, as an object, or as a settings file says them (or its content); the same
    as keywords: ``acceleration=5.0``, ``velocity={"joint_1": 1.0}``, ``gravity=(0, 0, -9.81)``,
    ``lock={"finger": 0.02}``. A plain name of an embedded robot means that robot, unless it is given as a path
    (``./panda``).

    >>> ex.load("gautier-khalil", acceleration=5.0)
    <gautier-khalil: joint_1, joint_2, joint_3>"""
    if options is not None and not isinstance(options, RobotOptions):
        options = SettingsFile.read(options).robot
    return load_robot(source, options, **said)


def loaded(robot: Robot | str | Path, options: RobotOptions) -> tuple[Robot, RobotOptions]:
    """A robot, by file or name where it is not there yet, and all that was said of it. What settings say beyond that
    with which a robot was loaded holds for it, too."""
    if not isinstance(robot, Robot):
        return load_robot(robot, options), options
    known = robot.options or RobotOptions()
    more = options.beyond(known)
    if more == RobotOptions():
        return robot, known
    together = known.joined(more)
    return replace(more.apply(robot), options=together), together


def loaded_for_logs(robot: Robot | str | Path, options: RobotOptions) -> tuple[Robot, RobotOptions]:
    """As ``loaded``; a robot that stands as its bodies, free: logs have all joints, and say what touches."""
    robot, options = loaded(robot, options)
    if not footings(robot):
        return robot, options
    free = options.off_its_feet([body.name for body in robot.bodies if body.actuated])
    if robot.file is None or options.stance is None:  # stood, or changed, in Python
        return robot.tree, free
    return load_robot(robot.file, free), free


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
