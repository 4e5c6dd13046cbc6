"""A robot by file or by name: what every command's ROBOT argument means, and what a description does not say.

Limits, gravity and locked joints are given in a small YAML file:

    limits:
      acceleration: 5.0              # one number for all joints, or by name:
      velocity: {joint_1: 1.0}       # also jerk, torque, lower, upper; .inf where there is no limit
    gravity: [0, 0, -9.81]           # m/s² in the base frame
    lock: {finger_1: 0.02}           # or a list of names, locked at zero; a name may be a pattern, 'gripper*'
    only: arm_left                   # all other joints are locked: at zero, or at the limit nearest to it
    base: free                       # legged robots, drones: six joints in front; or fixed
    loops: [{connect: [rod_end, arm_tail]}]   # frames that are joined; also weld, and joint: [follower, leader]
    actuated: [crank]                # joints of loops that have drives, any unless given
    posture: {crank: 0.5}            # near which loops are closed, zero unless given
    stance: {feet: [FL_FOOT, FR_FOOT, HL_FOOT, HR_FOOT], friction: 0.6}   # a legged robot on the ground (``stance.py``)
    mesh_root: ..                    # folder that meshes may lie in, seen from this file

In code the same is ``robot.with_limits(...)``, ``robot.with_gravity(...)``, ``robot.lock(...)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from exciter.errors import RobotError, unknown_name
from exciter.files import path_of
from exciter.robot.limits import Limits
from exciter.robot.loop_assembly import LoopSettings, with_drives, with_loops
from exciter.robot.robot import Robot
from exciter.robot.stance import StanceSettings, standing
from exciter.robot.stated_gravity import GravityVector
from exciter.robot.xml_safety import parse_xml
from exciter.settings import ByName, Number, OneWord, Place, Settings, fill
from exciter.settings.field_markers import ListOfTexts

DESCRIPTION_SUFFIXES = (".urdf", ".xml", ".mjcf", ".yaml", ".yml")
FREE, FIXED = "free", "fixed"
BASES = (FREE, FIXED)  #: words of ``base:``
LOOP_FIELDS = ("loops", "actuated", "posture", "stance")
LIMITS_MARKER = ByName(ByName(Number(infinite=True), what="joint", all=True), Limits.names(), "limit")


@dataclass(frozen=True)
class RobotOptions(Settings):
    """Limits by kind (one number, or by joint name), gravity [m/s²], locked joints [rad, m], what alone moves, base
    (free or fixed, None: as the description has it), loops (frames that are joined), joints that have drives, a posture
    near which loops are closed, or in which a robot stands on the feet of its stance, mesh folder; meshes: whether
    shapes in files of their own are looked at."""

    inner: ClassVar[tuple[str, ...]] = ("meshes",)
    limits: Annotated[Mapping[str, float | Mapping[str, float]], LIMITS_MARKER] = field(default_factory=dict)
    gravity: Annotated[tuple[float, float, float] | None, GravityVector()] = None
    lock: Annotated[Mapping[str, float], ByName(Number(), what="joint", listed=0.0)] = field(default_factory=dict)
    only: Annotated[tuple[str, ...], ListOfTexts("joints, links or frames")] = ()
    base: Annotated[str | None, OneWord(BASES)] = None
    loops: tuple[LoopSettings, ...] = ()
    actuated: Annotated[tuple[str, ...], ListOfTexts("joints")] = ()
    posture: Annotated[Mapping[str, float], ByName(Number(), what="joint")] = field(default_factory=dict)
    stance: StanceSettings | None = None
    mesh_root: Annotated[Path | None, Place("a folder")] = None
    meshes: bool = True

    def spelling(self, data: dict[str, Any]) -> dict[str, Any]:
        return data if self.mesh_root is None else {**data, "mesh_root": str(self.mesh_root.resolve())}

    def beyond(self, known: RobotOptions) -> RobotOptions:
        """What these say, and others do not say already."""
        limits = {key: value for key, value in self.limits.items() if known.limits.get(key) != value}
        lock = {name: value for name, value in self.lock.items() if known.lock.get(name) != value}
        same = self.gravity == known.gravity and type(self.gravity) is type(known.gravity)
        gravity, only = None if same else self.gravity, () if self.only == known.only else self.only
        closed = all(getattr(self, name) == getattr(known, name) for name in LOOP_FIELDS)
        left = replace(self, loops=(), actuated=(), posture={}, stance=None) if closed else self
        own = replace(left, base=None if self.base == known.base else self.base)
        return replace(own, limits=limits, lock=lock, only=only, gravity=gravity, mesh_root=None, meshes=True)

    def joined(self, more: RobotOptions) -> RobotOptions:
        """With what others say, which goes before."""
        limits, lock = {**self.limits, **more.limits}, {**self.lock, **more.lock}
        only, gravity, base = more.only or self.only, more.gravity or self.gravity, more.base or self.base
        loops = {name: getattr(more, name) or getattr(self, name) for name in LOOP_FIELDS}
        return replace(self, limits=limits, lock=lock, only=only, gravity=gravity, base=base, **loops)

    def without_loops(self) -> RobotOptions:
        """Which are closed already; those of a stance are made last."""
        return replace(self, loops=(), actuated=(), posture={} if self.stance is None else self.posture)

    def off_its_feet(self, drives: Sequence[str]) -> RobotOptions:
        """Without the stance that a motion is planned for: a log says itself what touches. Numbers for all joints stay
        those of the drives."""
        if self.stance is None:
            return self
        limits = {k: v if isinstance(v, Mapping) else dict.fromkeys(drives, v) for k, v in self.limits.items()}
        return replace(self, stance=None, posture={}, base=FREE, limits=limits)

    def limits_on(self, robot: Robot) -> Robot:
        """Numbers for all joints are those of drives where a robot is to stand: of its base legs decide."""
        every = robot.joint_names if self.stance is None else [robot.joint_names[j] for j in robot.actuated]
        given = {k: v if isinstance(v, Mapping) else dict.fromkeys(every, v) for k, v in self.limits.items()}
        return robot.with_limits(**(self.limits if self.stance is None else given))

    def apply(self, robot: Robot) -> Robot:
        if self.base is not None and (self.base == FREE) != bool(robot.free_base):
            problem = f"the base of robot '{robot.name}' is {FIXED if self.base == FREE else FREE}, not {self.base}"
            advice = "only the reading of a URDF or MJCF file changes that: load(FILE, base=…), with its base link"
            raise RobotError(f"{problem}; {advice}")
        if self.loops:
            robot = with_loops(robot, [one.loop for one in self.loops], self.actuated or None, self.posture)
            robot = with_drives(robot, self.actuated)
        elif self.actuated or (self.posture and self.stance is None):
            raise RobotError("actuated and posture are for robots with loops; give loops: [{connect: [frame, frame]}]")
        robot = self.limits_on(robot)
        if self.gravity is not None:
            robot = robot.with_gravity(self.gravity)
        robot = robot.lock(self.lock) if self.lock else robot
        robot = robot.only(*self.only) if self.only else robot
        return robot if self.stance is None else standing(robot, self.stance, self.posture)


def options_from(data: Any, source: str = "options", folder: Path | None = None) -> RobotOptions:
    """Options from a mapping as YAML gives it; ``folder`` is where a relative mesh_root starts."""
    return fill(RobotOptions, data, source, error=RobotError, folder=folder)


def load(source: str | Path, options: RobotOptions | None = None, **said: Any) -> Robot:
    """The robot of a file, or an embedded one by name.

    Files: .urdf, .mjcf, .xml (which of the two, by its root element), .yaml (a modified-DH table).
    options: limits, gravity and locked joints to apply; the same as keywords:
    ``acceleration=5.0``, ``velocity={"joint_1": 1.0}``, ``gravity=(0, 0, -9.81)``, ``lock={"finger": 0.02}``,
    ``only="arm_left"``, ``base="free"``, ``loops=[{"connect": ["rod_end", "arm_tail"]}]``.
    A plain name of an embedded robot means that robot, unless it is given as a path (``./panda``)."""
    from exciter.robot import embedded_robots as embedded

    limits, own = Limits.names(), [one.name for one in fields(RobotOptions) if one.name != "limits"]
    if unknown := [name for name in said if name not in (*own, *limits)]:
        raise RobotError(unknown_name("keyword", unknown[0], (*limits, *own)))
    options = options or RobotOptions()
    given = {**options.limits, **{name: value for name, value in said.items() if name in limits}}
    options = replace(options, limits=given, **{name: value for name, value in said.items() if name in own})
    if isinstance(source, str) and source in embedded.names():
        return replace(options.apply(embedded.robot(source)), file=embedded.path(source), options=options)
    path = path_of(source, "the robot")
    try:
        missing = not path.exists() and not path.is_symlink()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise RobotError(f"cannot look for '{str(path)[:80]}': {error.strerror}; check the path") from None
    if missing:
        kind = "no file" if path.suffix in DESCRIPTION_SUFFIXES or len(path.parts) > 1 else "no robot or file"
        allowed = f"an existing URDF, MJCF or YAML file, or an embedded robot: {', '.join(embedded.names())}"
        raise RobotError(f"there is {kind} '{path}'; give {allowed}")
    return replace(_from_file(path, options), file=path, options=options)


def _from_file(path: Path, options: RobotOptions) -> Robot:
    from exciter.robot.mdh_file import read_mdh

    suffix = path.suffix.lower()
    if options.stance is not None and options.base is None:
        options = replace(options, base=FREE)
    if path.is_dir():
        raise RobotError(f"'{path}' is a folder; give the robot description file inside it")
    if suffix not in (*DESCRIPTION_SUFFIXES, ".xacro"):
        raise RobotError(f"'{path}' ends in '{path.suffix}'; a robot file ends in {', '.join(DESCRIPTION_SUFFIXES)}")
    if suffix in (".yaml", ".yml"):
        return options.apply(read_mdh(path))
    root = {".urdf": "robot", ".xacro": "robot", ".mjcf": "mujoco"}.get(suffix) or parse_xml(path).tag
    if root not in ("robot", "mujoco"):
        raise RobotError(f"the root element of '{path}' is <{root}>; allowed are <robot> (URDF) and <mujoco> (MJCF)")
    from exciter.robot.description import read_mjcf, read_urdf  # Pinocchio, of which modified DH parameters take none

    return (read_urdf if root == "robot" else read_mjcf)(path, options=options)
