"""Modified Denavit–Hartenberg tables after Khalil and Kleinfinger, for serial and tree robots; and those of any robot.

Frame j sits on joint j with z_j along the joint axis. Its placement in the frame of its antecedent a(j) is

    T = Rot_z(γ) Trans_z(b) Rot_x(α) Trans_x(d) Rot_z(θ) Trans_z(r)

where θ grows by q for a revolute joint (σ = 0) and r grows by q for a prismatic one (σ = 1). γ = b = 0 for
the joint whose common perpendicular defines x of the antecedent, so a serial robot needs α, d, θ, r alone.

Any robot → its table. The rules, for joint j with antecedent a (the base frame is kept as it is):

- z_j lies along the joint axis, in the same sense, so q keeps its sign and its zero.
- x_j lies along the common perpendicular of z_j and the axis of j's first child; other children, and children
  of the base, get γ and b. Its sense leaves θ_j in (−90°, 90°]; d takes the sign that follows.
- Parallel axes: the perpendicular is taken where r_j = 0. Coincident axes and leaves: θ_j = 0 and r_j = 0.
- A prismatic axis has a direction but no place: it is put through the origin of its antecedent.

A robot whose joint frames already obey the table's form keeps them, whatever choices its author made.

Axes closer than ``parallel`` [rad] count as parallel (descriptions print π/2 with few digits): their true
common perpendicular would lie kilometres away. α keeps the exact angle about x, and what the table then
cannot hold is smaller than ``parallel``. ``in_mdh_frames`` keeps the geometry to machine precision anyway."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import RobotError
from exciter.robot.geometry import frozen_array
from exciter.robot.limits import Limits
from exciter.robot.robot import BASE, Joint, Robot, carried
from exciter.robot.spatial import homogeneous, transform_inertia
from exciter.typing import Array

MDH_NUMBERS = ("alpha", "d", "theta", "r", "gamma", "b")
_QUARTER_COS = (1.0, 0.0, -1.0, 0.0)
PARALLEL_AXES_RAD = 1e-5  #: [rad] twice what 3.1416 lacks of π
SAME_PLACE_TOLERANCE = 1e-9  #: [m], and [rad] when frames are recognised as being of the table's form
TABLE_ROUNDING = 1e-13  #: [m, rad] numbers are cleaned by no more than this
_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class MDHRow:
    """One line of the table: angles α, θ, γ [rad], lengths d, r, b [m]; parent −1 is the base. sigma: 0 revolute (theta
    is the offset of q), 1 prismatic (r is the offset of q)."""

    joint: str
    parent: int
    sigma: int
    alpha: float
    d: float
    theta: float
    r: float
    gamma: float = 0.0
    b: float = 0.0

    def __post_init__(self) -> None:
        if self.sigma not in (0, 1):
            raise RobotError(f"joint '{self.joint}' has sigma {self.sigma}; allowed are 0 (revolute), 1 (prismatic)")
        for name in MDH_NUMBERS:
            if not math.isfinite(getattr(self, name)):
                raise RobotError(f"{name} of joint '{self.joint}' is {getattr(self, name)}; give a finite number")


@dataclass(frozen=True, eq=False)
class MDHTable:
    """A robot's table, parents before children. rotations (n, 3, 3), translations (n, 3) [m]: placement of every frame
    in the joint frame of the robot it was derived from; identity and zero when the table itself is the definition."""

    name: str
    rows: tuple[MDHRow, ...]
    rotations: Array = field(default_factory=lambda: np.zeros((0, 3, 3)))
    translations: Array = field(default_factory=lambda: np.zeros((0, 3)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        n = len(self.rows)
        rotations = self.rotations if len(self.rotations) else np.tile(np.eye(3), (n, 1, 1))
        translations = self.translations if len(self.translations) else np.zeros((n, 3))
        object.__setattr__(self, "rotations", frozen_array(rotations, (n, 3, 3), f"rotations of '{self.name}'"))
        object.__setattr__(self, "translations", frozen_array(translations, (n, 3), f"origins of '{self.name}'"))
        for index, row in enumerate(self.rows):
            if not BASE <= row.parent < index:
                raise RobotError(f"joint '{row.joint}' must come after its parent (parent index {row.parent})")

    def transform(self, j: int, q: float = 0.0) -> Array:
        """(4, 4) placement of frame j in its antecedent's frame at joint position q [rad or m]."""
        row = self.rows[j]
        turn, slide = (0.0, q) if row.sigma else (q, 0.0)
        common, own = _screw_x(row.alpha, row.d), _screw_z(row.theta + turn, row.r + slide)
        return np.asarray(_screw_z(row.gamma, row.b) @ common @ own + 0.0)  # no negative zeros, for people who print it

    def joint(self, j: int, **facts: Any) -> Joint:
        """The joint whose frame is frame j of this table, so its axis is exactly z; facts: what else ``Joint`` has."""
        row, t = self.rows[j], self.transform(j)
        known: dict[str, Any] = {"kind": "prismatic" if row.sigma else "revolute", "limits": Limits()} | facts
        return Joint(name=row.joint, parent=row.parent, rotation=t[:3, :3], translation=t[:3, 3], axis=_Z, **known)

    def robot(self, *, inertias: ArrayLike | None = None, **rest: Any) -> Robot:
        """The robot whose joint frames are those of this table, with inertias (n, 10) in these; rest: of ``Robot``."""
        n = len(self.rows)
        phi = np.zeros((n, 10)) if inertias is None else frozen_array(inertias, (n, 10), "inertias")
        return Robot(name=self.name, joints=tuple(self.joint(j, inertia=phi[j]) for j in range(n)), **rest)


def cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin, exactly 0 and ±1 at multiples of 90°."""
    quarters = angle / (math.pi / 2)
    nearest = round(quarters)
    if abs(quarters - nearest) < 1e-13 * max(1.0, abs(quarters)):
        return _QUARTER_COS[nearest % 4], _QUARTER_COS[(nearest - 1) % 4]
    return math.cos(angle), math.sin(angle)


def _screw_z(angle: float, length: float) -> Array:
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, length], [0, 0, 0, 1.0]])


def _screw_x(angle: float, length: float) -> Array:
    c, s = cos_sin(angle)
    return np.array([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def to_mdh(robot: Robot, *, parallel: float = PARALLEL_AXES_RAD) -> MDHTable:
    """The table of a robot, with the placements of its frames in the joint frames."""
    local = [homogeneous(joint.rotation, joint.translation) for joint in robot.bodies]
    first = _first_children(robot)
    kept = all(np.abs(joint.axis - _Z).max() <= 1e-12 for joint in robot.bodies)  # γ = b = 0 for every first child
    kept = kept and all(_is_simple(local[child]) for child in first if child is not None)
    placements = [np.eye(4)] * robot.n_bodies if kept else _choose_frames(robot, local, parallel)
    rows = []
    for j, joint in enumerate(robot.bodies):
        relative = _relative(joint, placements, j)
        simple = joint.parent != BASE and first[joint.parent] == j
        numbers = _simple_row(relative) if simple or _is_simple(relative) else _general_row(relative, parallel)
        cleaned = (clean(value) for clean, value in zip((_clean_angle, _clean) * 3, numbers, strict=True))
        rows.append(MDHRow(joint.name, joint.parent, int(joint.is_prismatic), *cleaned))
    stacked = np.array(placements)
    return MDHTable(name=robot.name, rows=tuple(rows), rotations=stacked[:, :3, :3], translations=stacked[:, :3, 3])


def in_mdh_frames(robot: Robot, *, parallel: float = PARALLEL_AXES_RAD) -> tuple[Robot, MDHTable]:
    """The same robot (names, limits, q) with the frames of its table as joint frames; and the table."""
    table = to_mdh(robot, parallel=parallel)
    placements = [homogeneous(r, t) for r, t in zip(table.rotations, table.translations, strict=True)]
    if all((p == np.eye(4)).all() for p in placements):
        return robot, table
    back = [_inverse(p) for p in placements]  # joint frame in the new frame
    joints = []
    for j, joint in enumerate(robot.bodies):
        exact, tidy = _relative(joint, placements, j), table.transform(j)
        relative = tidy if np.abs(tidy - exact).max() < 1e-12 else exact
        inertia = transform_inertia(joint.inertia, back[j][:3, :3], back[j][:3, 3])
        joints.append(replace(joint, rotation=relative[:3, :3], translation=relative[:3, 3], axis=_Z, inertia=inertia))
    old = {j: (j, t[:3, :3], t[:3, 3]) for j, t in [*enumerate(back), (BASE, np.eye(4))]}
    return carried(robot, old).with_bodies(joints), table


def _choose_frames(robot: Robot, local: list[Array], parallel: float) -> list[Array]:
    """(4, 4) placement of every new frame in its joint frame; the geometry is taken at q = 0, in the base."""
    world: list[Array] = []
    for joint, t in zip(robot.bodies, local, strict=True):
        world.append(t if joint.parent == BASE else world[joint.parent] @ t)
    axes = [w[:3, :3] @ joint.axis for w, joint in zip(world, robot.bodies, strict=True)]
    first = _first_children(robot)
    frames: list[Array] = []
    for j, joint in enumerate(robot.bodies):
        above = np.eye(4) if joint.parent == BASE else frames[joint.parent]
        point = above[:3, 3] if joint.is_prismatic else world[j][:3, 3]
        x, _, origin = _perpendicular(above, axes[j], point, parallel)
        if (child := first[j]) is not None:
            seen_from = _frame(x, axes[j], origin)
            through = origin if robot.bodies[child].is_prismatic else world[child][:3, 3]
            x, origin, _ = _perpendicular(seen_from, axes[child], through, parallel)
        frames.append(_frame(x, axes[j], origin))
    found = [_inverse(there) @ frame for there, frame in zip(world, frames, strict=True)]
    return [_tidy(_frame(t[:3, 0], joint.axis, t[:3, 3])) for t, joint in zip(found, robot.bodies, strict=True)]


def _perpendicular(frame: Array, axis: Array, point: Array, parallel: float) -> tuple[Array, Array, Array]:
    """The common perpendicular of the frame's z and the line (point, axis): its direction, within (−90°, 90°] of the
    frame's x (which it is where it is free), and its two feet (the first at the origin where it is free: parallel)."""
    z, origin = frame[:3, 2], frame[:3, 3]
    offset = point - origin
    normal = np.cross(z, axis)
    s2 = float(normal @ normal)
    if s2 > parallel**2:
        along_z = float(np.cross(offset, axis) @ normal) / s2
        along_axis = float(np.cross(offset, z) @ normal) / s2
        return _sensed(normal / math.sqrt(s2), frame), origin + along_z * z, point + along_axis * axis
    foot = point - float(offset @ axis) * axis  # abreast of the origin
    across = offset - float(offset @ z) * z
    distance = float(np.linalg.norm(across))
    direction = _sensed(across / distance, frame) if distance > SAME_PLACE_TOLERANCE else frame[:3, 0]
    return direction, origin, foot


def _sensed(direction: Array, frame: Array) -> Array:
    """± direction, within (−90°, 90°] of the frame's x."""
    forward, sideways = float(direction @ frame[:3, 0]), float(direction @ frame[:3, 1])
    leading = forward if abs(forward) > PARALLEL_AXES_RAD else sideways
    return direction if leading > 0 else -direction


def _frame(x: Array, z: Array, origin: Array) -> Array:
    """(4, 4) frame with exactly this z and x as close to the given one as that allows."""
    x = x - float(x @ z) * z
    x = x / np.linalg.norm(x)
    return homogeneous(np.column_stack([x, np.cross(z, x), z]), origin)


def _is_simple(t: Array) -> bool:
    """Whether t = Rot_x(α) Trans_x(d) Rot_z(θ) Trans_z(r) for some α, d, θ, r."""
    z, p = t[:3, 2], t[:3, 3]
    return bool(abs(z[0]) < SAME_PLACE_TOLERANCE and abs(p[1] * z[2] - p[2] * z[1]) < SAME_PLACE_TOLERANCE)


def _simple_row(t: Array) -> tuple[float, ...]:
    """α, d, θ, r, γ, b."""
    alpha = math.atan2(-t[1, 2], t[2, 2])
    theta = math.atan2(-t[0, 1], t[0, 0])
    return alpha, float(t[0, 3]), theta, float(t[1:3, 2] @ t[1:3, 3]), 0.0, 0.0


def _general_row(t: Array, parallel: float) -> tuple[float, ...]:
    u, foot_above, foot = _perpendicular(np.eye(4), t[:3, 2], t[:3, 3], parallel)
    alpha = math.atan2(float(np.cross(_Z, t[:3, 2]) @ u), t[2, 2])
    theta = math.atan2(-float(u @ t[:3, 1]), float(u @ t[:3, 0]))
    d = float((foot - foot_above) @ u)
    r = float((t[:3, 3] - foot) @ t[:3, 2])
    return alpha, d, theta, r, math.atan2(u[1], u[0]), float(foot_above[2])


def _clean_angle(value: float) -> float:
    """Rounding noise removed: multiples of 90° made exact; −180° becomes 180°."""
    quarters = round(value / (math.pi / 2))
    if abs(value - quarters * (math.pi / 2)) < TABLE_ROUNDING:
        return (2 if quarters == -2 else quarters) * (math.pi / 2)
    return _clean(value)


def _clean(value: float) -> float:
    """The 13th decimal rounded where nothing lies behind it."""
    rounded = 0.0 if abs(value) < TABLE_ROUNDING else round(value, 13)
    return rounded if abs(rounded - value) < 1e-15 or rounded == 0.0 else value


def _tidy(t: Array) -> Array:
    """Entries that are 0 or ±1 up to rounding noise made exactly so."""
    whole = np.round(t[:3, :3])
    if np.abs(whole - t[:3, :3]).max() < TABLE_ROUNDING:
        t[:3, :3] = whole
    t[:3, 3][np.abs(t[:3, 3]) < TABLE_ROUNDING] = 0.0
    t += 0.0
    return t


def _first_children(robot: Robot) -> list[int | None]:
    parents = robot.parents.tolist()
    return [parents.index(j) if j in parents else None for j in range(robot.n_bodies)]


def _inverse(t: Array) -> Array:
    return homogeneous(t[:3, :3].T, -t[:3, :3].T @ t[:3, 3])


def _relative(joint: Joint, placements: list[Array], j: int) -> Array:
    """Placement of new frame j in the new frame of its antecedent, at q = 0."""
    inside: Array = homogeneous(joint.rotation, joint.translation) @ placements[j]
    return inside if joint.parent == BASE else _inverse(placements[joint.parent]) @ inside
