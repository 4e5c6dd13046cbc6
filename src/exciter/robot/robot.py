"""The robot: a frozen tree of one-degree-of-freedom joints, by name, with limits and gravity.

Links that are rigidly connected are one body, named after the joint that moves it. Joint ``i`` carries a frame;
its placement in the parent's frame at q = 0 is ``(rotation, translation)``, and the body turns about (or slides
along) ``axis``, a unit vector of that frame. Joints are ordered so that a parent comes before its children;
parent −1 is the base. Bodies may follow joints (``coupling.py``): then there are more bodies than joints, and what is
fixed on bodies (frames, capsules, shapes, parents) counts bodies. Units are SI throughout: m, rad, kg, kg·m, kg·m², N·m
(N for prismatic joints), s."""

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

from exciter.errors import RobotError, unknown_name
from exciter.independent_blocks import independent_blocks
from exciter.labelled import table_html
from exciter.notes import Note, note, warning
from exciter.robot.geometry import Capsule, OnBody, Shape, frozen_array
from exciter.robot.limits import TIME_TO_FULL_SPEED_S, Limits, Unlimited
from exciter.robot.names import check_name, named
from exciter.typing import Array, BoolArray, Index

if TYPE_CHECKING:
    from exciter.robot.coupling import Coupling, Mimic
    from exciter.robot.loop_assembly import KinematicLoop
    from exciter.robot.mdh import MDHTable

JointKind = Literal["revolute", "continuous", "prismatic"]
Carried = dict[int, tuple[int, Array, Array]]  # by joint: the new joint on which its frame is fixed, and where
BASE = -1
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
#: of a free base, in this order (``free_base.py``): along x, y, z of the world, then about z, y, x
FREE_BASE_JOINTS = ("base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll")


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint and the body it moves. rotation (3, 3), translation (3,) [m]: joint frame in the parent's joint frame
    at q = 0. axis (3,): unit vector in the joint frame. inertia (10,): m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz
    about the joint-frame origin, in the joint frame (Pinocchio's order) [kg, kg·m, kg·m²]. bodiless: it moves no body
    of its own, but the next joint of the same one (MJCF, free bases). actuated: False where no drive acts, so that
    its torque is known to be zero without being measured."""

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

    @property
    def is_massless(self) -> bool:
        """Whether there is no body at all, so that its ten parameters are known to be zero."""
        return self.bodiless and not self.inertia.any()


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

    friction: nominal joint-term values by term name, each (n,), or one per body of ``drives``: ``viscous``
    [N·m·s/rad], ``coulomb`` [N·m], ``rotor_inertia`` [kg·m²] and so on; absent when nothing is known.
    nominal: True when inertias and friction are plausible values rather than the manufacturer's or identified.
    ground: height [m], along z of the base, of the plane that the robot is mounted on; None where it is not known.
    base_bottom: height [m] where the shapes of the base end, 0 unless below its origin: a guess at an unknown ground.
    unshaped: links of which something could not be measured: with a mass but without a shape, on bodies that may have
    other shapes, or with a shape that cannot be read; the latter on the base, too.
    source: where kinematics and limits come from. notes: what a reader had to leave out or assume; lacking:
    forces among it, without which no torque is the robot's. unlimited: kinds of limits to be told of where a joint has
    none. file, options: what ``load`` made it from (``RobotOptions``), None where Python code made or changed it.
    joints: the coordinates, what moves on its own. bodies: the whole tree, among them the joints by name, and coupling:
    how it follows them; the joints themselves and None unless given. ``with_bodies`` changes both.

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
    bodies: tuple[Joint, ...] = ()
    coupling: Coupling | None = None
    file: Path | None = field(default=None, repr=False)
    options: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "bodies", self.joints if self.coupling is None else tuple(self.bodies))
        gravity = frozen_array(self.gravity, (3,), f"gravity of robot '{self.name}'")
        object.__setattr__(self, "gravity", gravity)
        if self.ground is not None and not math.isfinite(self.ground):
            raise RobotError(f"ground of robot '{self.name}' is {self.ground}; give a finite height in m, or None")
        size = (len(self.drives),)
        friction = {k: frozen_array(v, size, f"{k} of robot '{self.name}'") for k, v in self.friction.items()}
        object.__setattr__(self, "friction", MappingProxyType(friction))
        check_name("robot's", self.name)
        for what in ("frame", "capsule"):
            for one in getattr(self, f"{what}s"):
                check_name(what, one.name)
        if not self.joints:
            raise RobotError(f"robot '{self.name}' has no moving joint; at least one is needed")
        names = [body.name for body in self.bodies]
        for index, joint in enumerate(self.bodies):
            check_name("joint", joint.name)
            check_name("link", joint.link)
            problem = f"robot '{self.name}' has"
            if joint.name == "base":
                raise RobotError(f"{problem} a joint named 'base', which means the base itself; rename it")
            if joint.name in names[:index]:
                raise RobotError(f"{problem} two joints named '{joint.name}'; names must be unique")
            if not BASE <= joint.parent < index:
                raise RobotError(f"joint '{joint.name}' must come after its parent (parent index {joint.parent})")
        if self.coupling is not None:
            self._check_coupling(self.coupling)

    def _check_coupling(self, coupling: Coupling) -> None:
        """Every joint is a body of the tree, by name, and differs from it in limits at most."""
        if coupling.shape != (len(self.bodies), self.n):
            given = f"{len(self.bodies)} bodies and {self.n} joints"
            raise RobotError(f"robot '{self.name}' has {given}; its coupling is for {coupling.shape}")
        tree = {body.name: body for body in self.bodies}
        for joint in self.joints:
            body = tree.get(joint.name)
            same = body is not None and body.parent == joint.parent and body.is_prismatic == joint.is_prismatic
            parts = ("rotation", "translation", "axis", "inertia")
            if body is None or not same or any((getattr(body, k) != getattr(joint, k)).any() for k in parts):
                raise RobotError(f"joint '{joint.name}' of '{self.name}' is not among its bodies; change both")

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
        return len(self.bodies)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @property
    def actuated(self) -> tuple[int, ...]:
        """Numbers of the joints that a drive acts on."""
        return tuple(j for j, joint in enumerate(self.joints) if joint.actuated)

    @property
    def free_base(self) -> tuple[int, ...]:
        """Numbers of the six joints of a free base (``FREE_BASE_JOINTS``), none where the base is fixed."""
        free = {joint.name: j for j, joint in enumerate(self.joints) if not joint.actuated}
        return tuple(free[name] for name in FREE_BASE_JOINTS) if set(FREE_BASE_JOINTS) <= free.keys() else ()

    @property
    def base_link(self) -> int:
        """Number of the joint whose body is the base link: −1 where it stands still."""
        return self.free_base[-1] if self.free_base else BASE

    @property
    def tree_names(self) -> tuple[str, ...]:
        """Names of the joints that move the bodies; those of the robot unless some follow."""
        return tuple(body.name for body in self.bodies)

    def index(self, name: str) -> int:
        """Index of a joint by name."""
        if name not in self.joint_names:
            if name in self.tree_names:
                leaders = named(self.leaders(self.tree_names.index(name)))
                raise RobotError(f"joint '{name}' follows {leaders}, and is none of its own; name what it follows")
            raise RobotError(unknown_name("joint", name, self.joint_names))
        return self.joint_names.index(name)

    @property
    def tree(self) -> Robot:
        """All bodies as if each moved on its own; the robot itself where each does."""
        if self.coupling is None:
            return self
        own = self.friction if self.drives is self.bodies else {}
        return replace(self, joints=self.bodies, bodies=(), coupling=None, friction=own, file=None, options=None)

    @property
    def drives(self) -> tuple[Joint, ...]:
        """What joint terms act on: the joints; all bodies where some that follow in loops have drives (actuated)."""
        loops, names = self.coupling is not None and not self.coupling.constant, self.joint_names
        return self.bodies if loops and any(b.actuated and b.name not in names for b in self.bodies) else self.joints

    @property
    def pattern(self) -> BoolArray:
        """(bodies, n): whether a joint moves the tree's joint of a body."""
        return np.eye(self.n, dtype=bool) if self.coupling is None else self.coupling.pattern

    def body(self, name: str) -> int:
        """Index of the body that a joint, also one that follows, moves."""
        if name not in self.tree_names:
            raise RobotError(unknown_name("joint", name, self.tree_names))
        return self.tree_names.index(name)

    def leaders(self, body: int) -> tuple[str, ...]:
        """Names of the joints that a body's own joint of the tree follows."""
        return tuple(self.joint_names[k] for k in np.flatnonzero(self.pattern[body]))

    def movers(self, body: int) -> tuple[int, ...]:
        """Joints that move a body."""
        path = self.ancestors(body)
        return path if self.coupling is None else tuple(np.flatnonzero(self.pattern[list(path)].any(axis=0)).tolist())

    @property
    def limbs(self) -> tuple[tuple[int, ...], ...]:
        """Joints in groups that move no body in common: limbs that share no joint but the base."""
        moved = [np.isin(np.arange(self.n), self.movers(body)) for body in range(len(self.bodies))]
        return tuple(tuple(joints.tolist()) for _, joints in independent_blocks(np.array(moved, dtype=np.float64)))

    def with_bodies(self, bodies: Sequence[Joint]) -> Self:
        """With other geometry or inertias of the same tree; joints that bodies follow keep their limits."""
        if self.coupling is None:
            return replace(self, joints=tuple(bodies))
        found = {body.name: body for body in bodies}
        joints = (replace(found[one.name], limits=one.limits, kind=one.kind) for one in self.joints)
        return replace(self, joints=tuple(joints), bodies=tuple(bodies))

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every name that ``frame`` knows: the joints' own frames first, then the frames fixed on bodies."""
        return self.tree_names + tuple(f.name for f in self.frames)

    def frame(self, name: str) -> Frame:
        """A frame by name; a joint's name gives that joint's own frame."""
        if name not in self.frame_names:
            raise RobotError(unknown_name("frame", name, self.frame_names))
        own = (Frame(one, j, np.eye(3), np.zeros(3)) for j, one in enumerate(self.tree_names))
        return next(frame for frame in (*self.frames, *own) if frame.name == name)

    @property
    def parents(self) -> Index:
        """(bodies,) of every body the one that carries it."""
        return np.array([body.parent for body in self.bodies], dtype=np.int64)

    def ancestors(self, body: int) -> tuple[int, ...]:
        """Bodies from the base to ``body``, itself included."""
        path = [body]
        while self.bodies[path[-1]].parent != BASE:
            path.append(self.bodies[path[-1]].parent)
        return tuple(reversed(path))

    @property
    def inertias(self) -> Array:
        """(bodies, 10) inertial parameters, in the joint frames, Pinocchio's order."""
        return np.array([body.inertia for body in self.bodies])

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
            driven = [self.joints[j] for j in self.actuated]
            turning = [j.name for j in driven if one.which == "upper" and j.kind == "continuous"]
            free = [j.name for j in driven if math.isinf(getattr(j.limits, one.which)) and j.name not in turning]
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
        that it moves; such a joint's own where there is none. Where legs follow a free base: a frame of that, for
        feet that stand do not move."""
        if self.free_base and self.coupling is not None and not self.coupling.constant:
            own = [frame.name for frame in self.frames if frame.joint == self.base_link]
            return own[0] if own else self.tree_names[self.base_link]
        depths = [len(self.ancestors(k)) for k in range(self.n_bodies)]
        deepest = {k for k, depth in enumerate(depths) if depth == max(depths)}
        tools = [frame.name for frame in self.frames if frame.joint != BASE and frame.joint in deepest]
        return tools[-1] if tools else self.tree_names[max(deepest)]

    def for_archive(self) -> Robot:
        """With the surfaces of its meshes: the archive may be opened where their files are not."""
        from exciter.robot.drawing import pictured

        return pictured(self)

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """The same robot mounted otherwise: gravity [m/s²] in the base frame."""
        return replace(self, gravity=np.asarray(gravity, dtype=float))

    def with_inertias(self, inertias: ArrayLike, *, nominal: bool = False) -> Self:
        """The same robot with (bodies, 10) other inertial parameters, in the joint frames."""
        values = frozen_array(inertias, (self.n_bodies, 10), "inertias")
        bodies = [replace(body, inertia=row) for body, row in zip(self.bodies, values, strict=True)]
        return replace(self.with_bodies(bodies), nominal=nominal, file=None, options=None)

    def with_limits(self, **limits: ArrayLike | Mapping[str, float]) -> Self:
        """Replace limits, by kind: a number for all joints, a list per joint, or a mapping from joint names.
        ``robot.with_limits(acceleration=5.0, velocity={"joint_1": 1.0})``. By name, those of joints that follow in
        closed loops, too."""
        changes: list[dict[str, float]] = [{} for _ in self.joints]  # all at once: the order must not matter
        loops = self.coupling is not None and not self.coupling.constant
        followers = {name: dict[str, float]() for name in self.tree_names if loops and name not in self.joint_names}
        for which, given in limits.items():
            self.limit(which)  # refuses an unknown kind
            if isinstance(given, Mapping):
                for name, value in ((name, value) for name, value in given.items() if name in followers):
                    followers[name][which] = float(value)
                values = {self.index(name): value for name, value in given.items() if name not in followers}
            else:
                array = np.asarray(given, dtype=float)
                if array.shape not in ((), (self.n,)):
                    allowed = f"one number, {self.n} numbers, or a mapping by joint"
                    raise RobotError(f"{which} has shape {array.shape}; give {allowed}")
                values = dict(enumerate(np.broadcast_to(array, (self.n,))))
            for index, value in values.items():
                changes[index][which] = float(value)
        joints = tuple(_limited(joint, change) for joint, change in zip(self.joints, changes, strict=True))
        bodies = tuple(_limited(body, followers.get(body.name, {})) for body in self.bodies) if loops else self.bodies
        return replace(self, joints=joints, bodies=bodies, file=None, options=None)

    def couple(self, *mimics: Mimic) -> Robot:
        """With joints that follow others from now on: fewer joints, all bodies as they were."""
        from exciter.robot.coupling import with_mimics

        return with_mimics(self, mimics)

    def close(
        self, *loops: KinematicLoop, actuated: Sequence[str] | None = None, posture: Mapping[str, float] | None = None
    ) -> Robot:
        """With bodies joined to closed chains: its joints are the coordinates that the loops leave, those with drives
        first (``actuated``, any unless given). posture [rad, m]: near which the loops are closed, zero unless given."""
        from exciter.robot.loop_assembly import with_loops

        return with_loops(self, loops, actuated, posture)

    def stand(self, *feet: str, posture: Mapping[str, float] | None = None, **stance: float) -> Robot:
        """With a free base on its feet, which stay where a posture [rad, m] has them; see ``StanceSettings``."""
        from exciter.robot.stance import StanceSettings, standing

        return standing(self, StanceSettings(feet, **stance), posture)

    def lock(self, joints: Mapping[str, float] | Iterable[str]) -> Robot:
        """Freeze joints (at a given position, or at zero): their bodies become part of what carries them. A name may be
        a pattern, "gripper*"; what follows a locked joint stands still with it."""
        from exciter.robot.lock import lock

        joints = [joints] if isinstance(joints, str) else joints
        return lock(self, joints if isinstance(joints, Mapping) else dict.fromkeys(joints, 0.0))

    def only(self, *names: str) -> Robot:
        """What is named (joints, links, frames; patterns, or what names begin with), all that it carries, and what is
        between it and the base; the others are locked at zero, or at the limit nearest to it."""
        from exciter.robot.lock import only

        return only(self, names)

    def subchain(self, tip: str) -> Robot:
        """The serial chain from the base to joint or frame ``tip``; side branches are locked at zero, or at the
        limit nearest to it."""
        from exciter.robot.lock import keep

        last = self.frame(tip).joint
        if last == BASE:
            raise RobotError(f"frame '{tip}' is fixed on the base; name a joint or a frame that moves")
        return keep(self, self.ancestors(last))

    def to_mdh(self) -> MDHTable:
        """The modified Denavit–Hartenberg table (Khalil–Kleinfinger) of this robot, frames recomputed."""
        from exciter.robot.mdh import to_mdh

        return to_mdh(self)


def _limited(joint: Joint, change: Mapping[str, float]) -> Joint:
    described, new = joint.limits.described or joint.limits, joint.limits.replaced(joint.name, **change)
    return replace(joint, limits=replace(new, described=described))


def carried(robot: Robot, where: Carried) -> Robot:
    """With all that is fixed on bodies where the old frames of their joints are now, by old joint."""
    moved: dict[str, Any] = {
        kind: tuple(one.placed(*where[one.joint]) for one in getattr(robot, kind))
        for kind in ("frames", "capsules", "shapes")
    }
    return replace(robot, **moved)
