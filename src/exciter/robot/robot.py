"""The robot: a frozen tree of one-degree-of-freedom joints, by name, with limits and gravity.

Links that are rigidly connected are one body, named after the joint that moves it. Joint ``i`` carries a frame;
its placement in the parent's frame at q = 0 is ``(rotation, translation)``, and the body turns about (or slides
along) ``axis``, a unit vector of that frame. Joints are ordered so that a parent comes before its children;
parent −1 is the base. Units are SI throughout: m, rad, kg, kg·m, kg·m², N·m (N for prismatic joints), s."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import RobotError, unknown_name, unseen, visible
from exciter.labelled import table_html
from exciter.notes import Note, note, warning
from exciter.robot.geometry import Capsule, OnBody, Shape, frozen_array
from exciter.robot.limits import TIME_TO_FULL_SPEED_S, Limits, Unlimited
from exciter.robot.spatial import axis_rotation, transform_inertia
from exciter.typing import Array, Index

if TYPE_CHECKING:
    from exciter.robot.mdh import MDHTable

JointKind = Literal["revolute", "continuous", "prismatic"]
Carried = dict[int, tuple[int, Array, Array]]  # by joint: the new joint on which its frame is fixed, and where
BASE = -1
STANDARD_GRAVITY = (0.0, 0.0, -9.81)


def check_name(what: str, name: str) -> None:
    """Refuse a name that cannot be shown as it is: files for other tools could not hold it, or would hold something
    else than a reader sees. Every character that prints is allowed."""
    if unseen(name):
        unprinted = "control codes, ends of lines, marks of writing direction or zero width"
        problem = f"the {what} name '{visible(name)}' has characters that do not print ({unprinted})"
        raise RobotError(f"{problem}, here shown as escapes; rename it")


def named(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def bodies_have(joints: Sequence[str]) -> str:
    """Subject and verb of a sentence about the bodies of joints."""
    one = len(joints) == 1
    return f"the body of joint {named(joints)} has" if one else f"the bodies of joints {named(joints)} have"


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint and the body it moves. rotation (3, 3), translation (3,) [m]: joint frame in the parent's joint frame
    at q = 0. axis (3,): unit vector in the joint frame. inertia (10,): m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz
    about the joint-frame origin, in the joint frame (Pinocchio's order) [kg, kg·m, kg·m²]. bodiless: it moves no body
    of its own, but the next joint of the same one (MJCF). actuated: a drive gives it torque."""

    name: str
    kind: JointKind
    parent: int
    rotation: Array
    translation: Array
    axis: Array
    limits: Limits
    inertia: Array
    link: str = ""
    bodiless: bool = False
    actuated: bool = True

    def __post_init__(self) -> None:
        for attribute, shape in (("rotation", (3, 3)), ("translation", (3,)), ("axis", (3,)), ("inertia", (10,))):
            array = frozen_array(getattr(self, attribute), shape, f"{attribute} of joint '{self.name}'")
            object.__setattr__(self, attribute, array)
        if self.kind not in ("revolute", "continuous", "prismatic"):
            allowed = "revolute, continuous, prismatic, fixed"
            raise RobotError(f"joint '{self.name}' is '{self.kind}'; allowed are {allowed}")
        if abs(np.linalg.norm(self.axis) - 1.0) > 1e-9:
            raise RobotError(f"the axis of joint '{self.name}' is not a unit vector: {self.axis.tolist()}")
        if np.abs(self.rotation @ self.rotation.T - np.eye(3)).max() > 1e-8 or np.linalg.det(self.rotation) < 0:
            raise RobotError(f"the placement of joint '{self.name}' is not a rotation")

    @property
    def is_prismatic(self) -> bool:
        return self.kind == "prismatic"


@dataclass(frozen=True, eq=False)
class Frame(OnBody):
    """A named frame fixed on the body moved by ``joint`` (−1: the base); placement in that joint's frame."""

    name: str
    joint: int
    rotation: Array
    translation: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen_array(self.rotation, (3, 3), f"rotation of '{self.name}'"))
        object.__setattr__(self, "translation", frozen_array(self.translation, (3,), f"origin of '{self.name}'"))


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot, immutable; methods that change something return a new one.

    friction: nominal joint-term values by term name, each (n,): ``viscous`` [N·m·s/rad], ``coulomb`` [N·m],
    ``rotor_inertia`` [kg·m²] and so on; absent when nothing is known.
    nominal: True when inertias and friction are plausible values rather than the manufacturer's or identified.
    ground: height [m], along z of the base, of the plane that the robot is mounted on; None where it is not known.
    base_bottom: height [m] where the shapes of the base end, 0 unless below its origin: a guess at an unknown ground.
    unshaped: links of which something could not be measured: with a mass but without a shape, on bodies that may have
    other shapes, or with a shape that cannot be read; the latter on the base, too.
    source: where kinematics and limits come from. notes: what a reader had to leave out or assume; lacking:
    forces among it, without which no torque is the robot's. unlimited: kinds of limits to be told of where a joint has
    none. file, options: what ``load`` made it from (``RobotOptions``), None where Python code made or changed it.

    >>> robot.n, robot.tool_frame
    (3, 'tool')
    >>> robot.with_gravity((0, 0, 9.81)).lock(["joint_3"]).joint_names
    ('joint_1', 'joint_2')"""

    name: str
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    frames: tuple[Frame, ...] = ()
    capsules: tuple[Capsule, ...] = ()
    collision_pairs: tuple[tuple[str, str], ...] = ()
    shapes: tuple[Shape, ...] = ()
    ground: float | None = None
    base_bottom: float = 0.0
    unshaped: tuple[str, ...] = ()
    friction: Mapping[str, Array] = field(default_factory=dict)
    nominal: bool = False
    source: str = ""
    notes: tuple[Note, ...] = ()
    lacking: tuple[str, ...] = ()
    unlimited: tuple[Unlimited, ...] = ()
    file: Path | None = field(default=None, repr=False)
    options: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        gravity = frozen_array(self.gravity, (3,), f"gravity of robot '{self.name}'")
        object.__setattr__(self, "gravity", gravity)
        if self.ground is not None and not math.isfinite(self.ground):
            raise RobotError(f"ground of robot '{self.name}' is {self.ground}; give a finite height in m, or None")
        friction = {k: frozen_array(v, (self.n,), f"{k} of robot '{self.name}'") for k, v in self.friction.items()}
        object.__setattr__(self, "friction", MappingProxyType(friction))
        check_name("robot's", self.name)
        for what in ("frame", "capsule"):
            for one in getattr(self, f"{what}s"):
                check_name(what, one.name)
        if not self.joints:
            raise RobotError(f"robot '{self.name}' has no moving joint; at least one is needed")
        for index, joint in enumerate(self.joints):
            check_name("joint", joint.name)
            check_name("link", joint.link)
            problem = f"robot '{self.name}' has"
            if joint.name == "base":
                raise RobotError(f"{problem} a joint named 'base', which means the base itself; rename it")
            if joint.name in self.joint_names[:index]:
                raise RobotError(f"{problem} two joints named '{joint.name}'; names must be unique")
            if not BASE <= joint.parent < index:
                raise RobotError(f"joint '{joint.name}' must come after its parent (parent index {joint.parent})")

    def __repr__(self) -> str:
        return f"<{self.name}: {', '.join(self.joint_names)}>"

    def _repr_html_(self) -> str:
        rows = []
        for joint in self.joints:
            limits, unit = joint.limits, "m" if joint.is_prismatic else "rad"
            span = f"{limits.lower:.4g} … {limits.upper:.4g} {unit}"
            rates = (f"{limits.velocity:.4g} {unit}/s", f"{limits.acceleration:.4g} {unit}/s²")
            rows.append([joint.name, span, *rates, f"{limits.torque:.4g} {'N' if joint.is_prismatic else 'N·m'}"])
        headings = ("joint", "position", "velocity", "acceleration", "torque")
        return table_html(f"{self.name}: {self.n} joints", headings, rows, whole=True)

    def __getstate__(self) -> dict[str, Any]:
        """For copies in other processes: a read-only view of a mapping cannot travel, the mapping can."""
        return {**vars(self), "friction": dict(self.friction)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, friction=MappingProxyType(state["friction"]))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def n_bodies(self) -> int:
        """Number of bodies that move."""
        return len(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    def index(self, name: str) -> int:
        """Index of a joint by name."""
        if name not in self.joint_names:
            raise RobotError(unknown_name("joint", name, self.joint_names))
        return self.joint_names.index(name)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every name that ``frame`` knows: the joints' own frames first, then the frames fixed on bodies."""
        return self.joint_names + tuple(f.name for f in self.frames)

    def frame(self, name: str) -> Frame:
        """A frame by name; a joint's name gives that joint's own frame."""
        if name not in self.frame_names:
            raise RobotError(unknown_name("frame", name, self.frame_names))
        own = (Frame(one, j, np.eye(3), np.zeros(3)) for j, one in enumerate(self.joint_names))
        return next(frame for frame in (*self.frames, *own) if frame.name == name)

    @property
    def parents(self) -> Index:
        return np.array([joint.parent for joint in self.joints], dtype=np.int64)

    def ancestors(self, joint: int) -> tuple[int, ...]:
        """Joints from the base to ``joint``, itself included."""
        path = [joint]
        while self.joints[path[-1]].parent != BASE:
            path.append(self.joints[path[-1]].parent)
        return tuple(reversed(path))

    @property
    def inertias(self) -> Array:
        """(n, 10) inertial parameters of the bodies, in the joint frames, Pinocchio's order."""
        return np.array([joint.inertia for joint in self.joints])

    def limit(self, which: str) -> Array:
        """(n,) of one limit: lower, upper, velocity, acceleration, jerk or torque; ±inf where there is none."""
        if which not in Limits.names():
            raise RobotError(unknown_name("limit", which, Limits.names()))
        return np.array([getattr(joint.limits, which) for joint in self.joints])

    @property
    def remarks(self) -> tuple[Note, ...]:
        """The notes, forces that are lacking, and what is assumed or missing among the limits as they are now."""
        remarks = list[Note]()
        for one in self.unlimited:
            turning = [j.name for j in self.joints if one.which == "upper" and j.kind == "continuous"]
            free = [j.name for j in self.joints if math.isinf(getattr(j.limits, one.which)) and j.name not in turning]
            remarks += [one.note(named(free))] if free else []
        remarks += [warning("torque limit", text) for text in self.torque_doubts]
        wider = defaultdict[str, list[str]](list)
        for joint in self.joints:
            for which, here, there in joint.limits.wider():
                wider[which].append(f"{joint.name} {here:g} instead of {there:g}")
        for which, some in wider.items():
            words = f"{which} limits in settings are wider than the description's: {', '.join(some)}; is that meant? "
            remarks.append(warning(f"{which} limit", f"{words}Units are rad, m, s, N·m, N"))
        remarks += [*self.notes, *(warning("forces", text) for text in self.lacking)]
        if assumed := [j.name for j in self.joints if j.limits.assumed]:
            policy = f"full speed in {TIME_TO_FULL_SPEED_S:g} s; give better ones with limits: {{acceleration: …}}"
            text = f"acceleration limits of {self._which(assumed)} are assumed: {policy}"
            remarks.append(note("acceleration limit", text))
        if self.rateless:
            text = f"no velocity and no acceleration limit is known for {self._which(self.rateless)}"
            remarks.append(warning("velocity limit", f"{text}; a design needs one of them"))
        return tuple(remarks)

    @property
    def torque_doubts(self) -> tuple[str, ...]:
        """A sentence for each joint whose drive may not always give the torque of its limit."""
        doubts = ((joint.name, joint.limits.torque_doubt) for joint in self.joints)
        return tuple(f"the torque limit of '{name}' is not proved: {doubt}" for name, doubt in doubts if doubt)

    @property
    def rateless(self) -> tuple[str, ...]:
        """Joints with neither a velocity nor an acceleration limit: a design needs one of them."""
        rates = np.minimum(self.limit("velocity"), self.limit("acceleration"))
        return tuple(name for name, rate in zip(self.joint_names, rates, strict=True) if math.isinf(rate))

    def _which(self, names: Sequence[str]) -> str:
        return "all joints" if len(names) == self.n else named(names)

    def position_range(self) -> tuple[Array, Array]:
        """(n,) lower and upper position; an end that is missing lies one turn (or 2π m) from the other, or at ±π."""
        lower, upper = self.limit("lower"), self.limit("upper")
        lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * np.pi, -np.pi))
        return lower, np.where(np.isfinite(upper), upper, lower + 2.0 * np.pi)

    @property
    def tool_frame(self) -> str:
        """What stands for the tool when no frame is named: the last one on a joint with the most joints below it, so
        that it moves; such a joint's own where there is none."""
        depths = [len(self.ancestors(k)) for k in range(self.n)]
        deepest = {k for k, depth in enumerate(depths) if depth == max(depths)}
        tools = [frame.name for frame in self.frames if frame.joint != BASE and frame.joint in deepest]
        return tools[-1] if tools else self.joint_names[max(deepest)]

    def for_archive(self) -> Robot:
        """With the surfaces of its meshes: the archive may be opened where their files are not."""
        from exciter.robot.drawing import pictured

        return pictured(self)

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """The same robot mounted otherwise: gravity [m/s²] in the base frame."""
        return replace(self, gravity=np.asarray(gravity, dtype=float))

    def with_inertias(self, inertias: ArrayLike, *, nominal: bool = False) -> Self:
        """The same robot with (n, 10) other inertial parameters, in the joint frames."""
        values = frozen_array(inertias, (self.n, 10), "inertias")
        joints = tuple(replace(j, inertia=row) for j, row in zip(self.joints, values, strict=True))
        return replace(self, joints=joints, nominal=nominal, file=None, options=None)

    def with_limits(self, **limits: ArrayLike | Mapping[str, float]) -> Self:
        """Replace limits, by kind: a number for all joints, a list per joint, or a mapping from joint names.
        ``robot.with_limits(acceleration=5.0, velocity={"joint_1": 1.0})``"""
        changes: list[dict[str, float]] = [{} for _ in self.joints]  # all at once: the order must not matter
        for which, given in limits.items():
            self.limit(which)  # refuses an unknown kind
            if isinstance(given, Mapping):
                values = {self.index(name): value for name, value in given.items()}
            else:
                array = np.asarray(given, dtype=float)
                if array.shape not in ((), (self.n,)):
                    allowed = f"one number, {self.n} numbers, or a mapping by joint"
                    raise RobotError(f"{which} has shape {array.shape}; give {allowed}")
                values = dict(enumerate(np.broadcast_to(array, (self.n,))))
            for index, value in values.items():
                changes[index][which] = float(value)
        joints = []
        for joint, change in zip(self.joints, changes, strict=True):
            described, new = joint.limits.described or joint.limits, joint.limits.replaced(joint.name, **change)
            joints.append(replace(joint, limits=replace(new, described=described)))
        return replace(self, joints=tuple(joints), file=None, options=None)

    def lock(self, joints: Mapping[str, float] | Iterable[str]) -> Robot:
        """Freeze joints (at a given position, or at zero): their bodies become part of what carries them."""
        joints = [joints] if isinstance(joints, str) else joints
        return lock(self, joints if isinstance(joints, Mapping) else dict.fromkeys(joints, 0.0))

    def subchain(self, tip: str) -> Robot:
        """The serial chain from the base to joint or frame ``tip``; side branches are locked at zero, or at the
        limit nearest to it."""
        last = self.frame(tip).joint
        if last == BASE:
            raise RobotError(f"frame '{tip}' is fixed on the base; name a joint or a frame that moves")
        keep = set(self.ancestors(last))
        rest = [j for i, j in enumerate(self.joints) if i not in keep]
        return self.lock({j.name: min(max(0.0, j.limits.lower), j.limits.upper) for j in rest})

    def to_mdh(self) -> MDHTable:
        """The modified Denavit–Hartenberg table (Khalil–Kleinfinger) of this robot, frames recomputed."""
        from exciter.robot.mdh import to_mdh

        return to_mdh(self)


def carried(robot: Robot, where: Carried) -> Robot:
    """With all that is fixed on bodies where the old frames of their joints are now, by old joint."""
    moved: dict[str, Any] = {
        kind: tuple(one.placed(*where[one.joint]) for one in getattr(robot, kind))
        for kind in ("frames", "capsules", "shapes")
    }
    return replace(robot, **moved)


def lock(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """The robot with joints frozen at ``positions`` [rad or m], by name: the body of a joint that does not move becomes
    part of whatever carries it. Inertias are added in the carrier's frame; frames, capsules and shapes are seen from
    it. What ends up on the base keeps frames and capsules, but no inertia: the base does not move, and does no work."""
    frozen = {robot.index(name): q for name, q in positions.items()}
    for limits, name, q in ((robot.joints[i].limits, robot.joints[i].name, q) for i, q in frozen.items()):
        if not np.isfinite(q):
            raise RobotError(f"joint '{name}' cannot be locked at {q}; give a finite position")
        if not limits.lower <= q <= limits.upper:
            allowed = f"its limits are {limits.lower:g} … {limits.upper:g}; give a position between them"
            raise RobotError(f"joint '{name}' cannot be locked at {q:g}: {allowed}")
    if not frozen:
        return robot
    if len(frozen) == robot.n:
        raise RobotError(f"locking all joints of '{robot.name}' leaves nothing that moves; keep at least one")
    joints: list[Joint] = []
    where: Carried = {BASE: (BASE, np.eye(3), np.zeros(3))}
    for index, joint in enumerate(robot.joints):
        on, rotation, translation = where[joint.parent]
        rotation, translation = rotation @ joint.rotation, rotation @ joint.translation + translation
        if index not in frozen:
            where[index] = (len(joints), np.eye(3), np.zeros(3))
            joints.append(replace(joint, parent=on, rotation=rotation, translation=translation))
            continue
        if joint.is_prismatic:
            translation = rotation @ (frozen[index] * joint.axis) + translation
        else:
            rotation = rotation @ axis_rotation(joint.axis, frozen[index])
        where[index] = (on, rotation, translation)
        if on != BASE:
            added = transform_inertia(joint.inertia, rotation, translation)
            joints[on] = replace(joints[on], inertia=joints[on].inertia + added)
    names = {frame.name for frame in robot.frames}
    own = [Frame(robot.joints[i].name, *where[i]) for i in sorted(frozen) if robot.joints[i].name not in names]
    moved = carried(robot, where)
    body = {capsule.name: capsule.joint for capsule in moved.capsules}
    kept = [i for i in range(robot.n) if i not in frozen]
    said = ", ".join(f"'{robot.joints[i].name}' at {q:g}" for i, q in sorted(frozen.items()))
    locked = replace(
        moved,
        joints=tuple(joints),
        frames=(*moved.frames, *own),
        collision_pairs=tuple((a, b) for a, b in robot.collision_pairs if body.get(a) != body.get(b)),
        friction={term: values[kept] for term, values in robot.friction.items()},
        notes=(*robot.notes, note("locked joints", f"locked: {said}")),
        file=None,
        options=None,
    )
    return replace(locked, lacking=(*robot.lacking, *_forgotten(robot, locked, where)))


def _forgotten(robot: Robot, locked: Robot, where: Carried) -> list[str]:
    """What joined bodies no longer show: that one of them, locked or carrying, has no mass or that of no body."""
    from exciter.robot.placeholders import bare_bodies, unreal_bodies

    no_mass, unreal = "no mass: torques lack their weight", "an inertia of no body: torques rest on it"
    said = []
    for found, words in ((bare_bodies, no_mass), (unreal_bodies, unreal)):
        shown = {*found(locked), BASE}
        lost = [robot.joint_names[i] for i in found(robot) if where[i][0] not in shown]
        if lost:
            said.append(f"the bodies of joints {', '.join(lost)}, joined by locking, have {words}")
    return said
