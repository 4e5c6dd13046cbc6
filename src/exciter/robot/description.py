"""Robots from URDF and MJCF files.

The file is first made plain (``urdf.py``, ``mjcf.py``), checked and free of special cases: one tree of links, the root
first, each with its inertia, its place in the link that carries it, and the joint that moves it; what is attached to
links is listed beside it, by their names. Then what is rigidly connected is merged, and becomes a ``Robot``. Frames:
every link (body) of the file by its name, fixed joints and sites too; where a name occurs twice the link wins, then the
moving joint. Joints come in the order of Pinocchio's readers: depth first, siblings of a URDF by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from exciter.errors import RobotError
from exciter.notes import COLLISION_SUBJECT, Note, note, warning
from exciter.robot.capsules import enclosing_capsule, lowest_point, with_collision_pairs
from exciter.robot.coupling import Mimic, with_mimics
from exciter.robot.geometry import Capsule, Shape
from exciter.robot.limits import Limits, Unlimited
from exciter.robot.load import RobotOptions
from exciter.robot.lock import locked_positions
from exciter.robot.loop_assembly import KinematicLoop, with_loops
from exciter.robot.names import bodies_have, check_name, named
from exciter.robot.placeholders import bare_bodies, hidden_in_bodies, is_physical, unreal_bodies
from exciter.robot.robot import BASE, STANDARD_GRAVITY, Frame, Joint, JointKind, Robot
from exciter.robot.spatial import moment_matrix
from exciter.typing import Array

MOST_MOVING_JOINTS = 200
MOST_LINKS = 2000
BASE_LEVEL_TOLERANCE_M = 1e-3  # [m] a base that ends this little below its origin stands at it
LARGEST_FRAME_MASS_KG = 1e-3  # [kg] up to which a link is a mere frame that some tools do not accept without a mass
LinkShapes = Sequence[tuple[str, Shape]]
LinkPlaces = dict[str, tuple[int, Array, Array]]  # of every link: the joint that moves it, and where it is there
CentralInertia = tuple[Array, Array]  # (10,) about the centre of mass in the link's axes, and the centre of mass (3,)
MASSLESS_BODY: CentralInertia = (np.zeros(10), np.zeros(3))


@dataclass(frozen=True, eq=False)
class JointFacts:
    """A moving joint, seen from its link: unit vector along the axis, a point on it [m]; friction, rotor in SI."""

    name: str
    kind: JointKind
    axis: Array
    limits: Limits
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    viscous: float = 0.0
    coulomb: float = 0.0
    rotor_inertia: float = 0.0
    actuated: bool = True


@dataclass(frozen=True, eq=False)
class Link:
    """A link at (rotation, translation) [m] in its parent at q = 0, fixed there unless a joint moves it. weighed: False
    where the inertia lacks a share that is not known. hidden: the file has no such link."""

    name: str
    parent: str
    rotation: Array
    translation: Array
    inertia: CentralInertia = MASSLESS_BODY
    joint: JointFacts | None = None
    weighed: bool = True
    hidden: bool = False


@dataclass(frozen=True)
class PlainDescription:
    """The parts of a robot; shapes and frames are placed in the frame of the link they are listed with. solid: the
    links that have a shape, whether or not it is among ``shapes``; unmeasured: those with a part whose shape is not
    given or cannot be among them. ground: height [m] of the floor, if the file has one. lacking: forces that the file
    speaks of and a robot has no place for, in words. unlimited: kinds of limits that it may leave open. mimics:
    joints that follow another one (URDF mimic, MJCF equality); still: positions of joints that the file holds.
    floating: links that the file lets move freely, here fixed where it puts them; grounded: those that could
    (``free_base.py``). loops: what joins bodies, near a posture, by drives of the joints ``actuated`` (None: any may
    have one). A
    ``Frame`` or ``Shape`` here still has joint −1: which joint moves its link is known after assembly."""

    name: str
    links: tuple[Link, ...]
    gravity: tuple[float, ...] = STANDARD_GRAVITY
    frames: tuple[tuple[str, Frame], ...] = ()
    shapes: LinkShapes = ()
    solid: frozenset[str] = frozenset()
    unmeasured: frozenset[str] = frozenset()
    ground: float | None = None
    mimics: tuple[Mimic, ...] = ()
    still: Mapping[str, float] = field(default_factory=dict)
    floating: tuple[str, ...] = ()
    grounded: tuple[str, ...] = ()
    loops: tuple[KinematicLoop, ...] = ()
    posture: Mapping[str, float] = field(default_factory=dict)
    actuated: tuple[str, ...] | None = None
    notes: tuple[Note, ...] = ()
    lacking: tuple[str, ...] = ()
    unlimited: tuple[Unlimited, ...] = ()


def refuse_giants(joints: int, links: int, source: str) -> None:
    """Bounds that no robot comes near; beyond them the recursive readers of the field run out of memory."""
    if joints > MOST_MOVING_JOINTS or links > MOST_LINKS:
        problem = f"{source} has {joints} moving joints and {links} links"
        raise RobotError(f"{problem}; at most {MOST_MOVING_JOINTS} and {MOST_LINKS} are allowed")


def refuse_duplicates(names: Sequence[str], what: str, source: str) -> None:
    for k, name in enumerate(names):
        if not name:
            raise RobotError(f"{source} has a {what} without a name; give every {what} a name")
        check_name(what, name)
        if name in names[:k]:
            raise RobotError(f"{source} uses the {what} name '{name}' twice; names must be unique")


def read_urdf(path: str | Path, options: RobotOptions | None = None) -> Robot:
    """The robot of a URDF file. options: limits, gravity and locked joints to apply, the folder that mesh paths may not
    leave (default: that of the file); joints that follow another (mimic) stay bodies. Acceleration limits that are
    still missing come from the default policy of ``Limits``."""
    from exciter.robot.urdf import plain_urdf

    return _read(plain_urdf, "URDF", Path(path), options or RobotOptions())


def read_mjcf(path: str | Path, options: RobotOptions | None = None) -> Robot:
    """The robot of an MJCF file; as ``read_urdf``."""
    from exciter.robot.mjcf import plain_mjcf  # MuJoCo takes a while to load, and URDF needs none

    return _read(plain_mjcf, "MJCF", Path(path), options or RobotOptions())


def _read(reader: Callable[..., PlainDescription], kind: str, path: Path, options: RobotOptions) -> Robot:
    from exciter.robot.free_base import based  # which needs the classes of this file

    plain = based(reader(path, options.mesh_root), options.base, f"'{path}'")
    robot = _assembled(plain, f"{kind} file {path.name}", options.meshes)
    locked_positions(robot, options.lock)  # an unknown name is told first
    if loops := (*plain.loops, *(one.loop for one in options.loops)):
        robot = robot.lock(plain.still) if plain.still else robot
        followed = tuple(
            KinematicLoop("joint", (one.follower, one.leader), coefficients=(one.offset, one.multiplier))
            for one in plain.mimics
        )
        posture = {**plain.posture, **options.posture}
        robot = with_loops(robot, (*loops, *followed), options.actuated or plain.actuated, posture)
        options = options.without_loops()
    else:
        robot = with_mimics(robot, plain.mimics)
        robot = robot.lock(plain.still) if plain.still else robot
    limited = options.limits_on(robot)
    joints = tuple(replace(j, limits=j.limits.with_default_acceleration()) for j in limited.joints)
    return with_collision_pairs(options.apply(replace(limited, joints=joints)))


def _assembled(plain: PlainDescription, source: str, meshes: bool) -> Robot:
    """meshes: whether shapes in files of their own are looked at."""
    joints, links = _tree(plain)
    given = [(link, shape) for link, shape in plain.shapes if meshes or shape.kind != "mesh"]
    shapes, notes = _collision_shapes([(link, shape.placed(*links[link])) for link, shape in given])
    capsules, failed = _capsules(shapes)
    for first in [*failed.values()][:1]:
        text = f"no capsule for shapes of links {named(list(failed))}; the first: {first}"
        notes.append(warning(COLLISION_SUBJECT, text))
    frames = {link.name: Frame(link.name, *links[link.name]) for link in plain.links if not link.hidden}
    taken = {*links, *(joint.name for joint in joints)}
    for link, frame in plain.frames:  # of fixed joints and sites
        if frame.name not in taken:
            frames.setdefault(frame.name, frame.placed(*links[link]))
    # inertias that no body can have are common in files (dummies): told, not refused
    massless = [joint.name for joint in joints if joint.inertia[0] == 0.0 and not joint.bodiless]
    unreal = [joint.name for joint in joints if joint.name not in massless and not is_physical(joint.inertia)]
    found = {"no mass in the file": massless, "an inertia that is not physical (dummy values?)": unreal}
    wrong = [warning("inertias", f"{bodies_have(names)} {what}") for what, names in found.items() if names]
    facts = [link.joint for link in plain.links if link.joint is not None]
    terms = {k: np.array([getattr(one, k) for one in facts]) for k in ("viscous", "coulomb", "rotor_inertia")}
    robot = Robot(
        name=plain.name,
        joints=joints,
        gravity=np.array(plain.gravity),
        frames=tuple(frames.values()),
        capsules=capsules,
        shapes=tuple(shape for _, shape in shapes),
        ground=plain.ground,
        base_bottom=_base_bottom([shape for _, shape in shapes if shape.collides and shape.joint == BASE]),
        unshaped=_unshaped(plain, shapes, links, failed.keys()),
        friction={term: values for term, values in terms.items() if np.any(values != 0.0)},
        source=source,
        notes=(*plain.notes, *wrong, *notes),
        lacking=plain.lacking,
        unlimited=plain.unlimited,
    )
    # links without a mass, or with that of no body, within bodies that look complete
    shown = {*bare_bodies(robot), *unreal_bodies(robot), BASE}
    parts = {one.name: one.inertia[0] for one in plain.links if one.weighed and links[one.name][0] not in shown}
    return replace(robot, lacking=(*robot.lacking, *hidden_in_bodies(parts, plain.solid, robot)))


def _tree(plain: PlainDescription) -> tuple[tuple[Joint, ...], LinkPlaces]:
    """The joints that move, each with the inertias of all links that it moves rigidly; and the places of all links."""
    joints: list[Joint] = []
    bodies: list[Any] = []  # the inertia of each joint's, in its frame
    placed: dict[str, tuple[int, Any]] = {}
    for link in plain.links:
        parent, on = placed.get(link.parent, (BASE, pin.SE3.Identity()))
        index, at = parent, on * pin.SE3(link.rotation, link.translation)
        if (facts := link.joint) is not None:
            anchor = pin.SE3(np.eye(3), facts.anchor)
            index, placement, at = len(joints), at * anchor, anchor.inverse()
            at_zero = parent, placement.rotation, placement.translation
            nothing = np.zeros(10)
            own = Joint(facts.name, facts.kind, *at_zero, facts.axis, facts.limits, nothing, link.name, link.hidden)
            own = replace(own, actuated=facts.actuated)
            joints.append(own)
            bodies.append(pin.Inertia.Zero())
        placed[link.name] = index, at
        if index != BASE:
            body = pin.Inertia.Zero()
            body.mass, body.lever, body.inertia = link.inertia[0][0], link.inertia[1], moment_matrix(link.inertia[0])
            bodies[index] += at.act(body)
    whole = (replace(j, inertia=body.toDynamicParameters()) for j, body in zip(joints, bodies, strict=True))
    return tuple(whole), {name: (k, at.rotation, at.translation) for name, (k, at) in placed.items()}


def _collision_shapes(given: LinkShapes) -> tuple[LinkShapes, list[Note]]:
    """The shapes; those that a link without collision shapes has to look at count as collision shapes, too. It is
    settled here, link by link: later, links that are rigidly joined are one body, and would hide behind each other."""
    solid = {link for link, shape in given if shape.collides}
    shapes = [(link, shape if link in solid else replace(shape, role="both")) for link, shape in given]
    visual_only = list(dict.fromkeys(link for link, _ in given if link not in solid))
    drawn = dict.fromkeys(shape.mesh for _, shape in shapes if shape.kind == "mesh" and not shape.collides)
    absent = [mesh for mesh in drawn if not isfile(mesh)]
    taken = "what is drawn of them is taken for what collides; give <collision> shapes"
    notes = [note(COLLISION_SUBJECT, f"no collision shape on {named(visual_only)}: {taken}")] if visual_only else []
    if absent:
        count = f"mesh files absent: {len(absent)} (first: {Path(absent[0]).name})"
        notes.append(note("mesh files", f"{count}; these are only needed for pictures"))
    return shapes, notes


def _capsules(given: LinkShapes) -> tuple[tuple[Capsule, ...], dict[str, str]]:
    """A capsule per collision shape, named after its link (link/1, link/2, … where it has several), and links with a
    shape that has none, such as a mesh whose file is missing, with the reason."""
    solids = [(link, shape) for link, shape in given if shape.collides]
    shapes = Counter(link for link, _ in solids)
    capsules: dict[str, Capsule] = {}
    failed: dict[str, str] = {}
    for link, shape in solids:
        name, number = link, 0
        while name in capsules or (shapes[link] > 1 and not number):
            number += 1
            name = f"{link}/{number}"
        try:
            capsules[name] = enclosing_capsule(name, shape)
        except RobotError as error:
            failed.setdefault(link, str(error))
    return tuple(capsules.values()), failed


def _unshaped(plain: PlainDescription, shapes: LinkShapes, links: LinkPlaces, failed: Set[str]) -> tuple[str, ...]:
    """Links that move and have a mass or a shape, of which something could not be measured, and what stands still with
    such a shape. It is settled here: later they are part of a body whose other links may have shapes."""
    shaped = {link for link, shape in shapes if shape.collides and link not in failed}
    heavy = {link.name for link in plain.links if link.weighed and link.inertia[0][0] > LARGEST_FRAME_MASS_KG}
    moving = {link for link in (heavy | plain.solid) - shaped if links[link][0] != BASE}
    return tuple(link for link in links if link in moving | plain.unmeasured | failed)


def _base_bottom(shapes: Sequence[Shape]) -> float:
    """Height [m] where shapes of the base end, if below its origin (what is locked to it later stands on nothing)."""
    lowest = 0.0
    for shape in shapes:
        with suppress(RobotError):  # a mesh that cannot be read is noted with its capsule
            lowest = min(lowest, lowest_point(shape))
    return lowest if lowest < -BASE_LEVEL_TOLERANCE_M else 0.0
