"""MJCF made plain: default classes and compiler settings resolved, one joint per body, explicit inertias.

MuJoCo's format is rich and Pinocchio's reader covers a part of it, so the plain copy uses that part only:
bodies with pos, quat, a full inertia and at most one hinge or slide joint. A body with several joints becomes
a chain; a joint's ``ref`` moves the body, so that q means what it means in MuJoCo. The rest is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from exciter.errors import RobotError
from exciter.notes import COLLISION_SUBJECT, Note, note, warning
from exciter.robot.geometry import Role, Shape
from exciter.robot.limits import Limits, Unlimited
from exciter.robot.mjcf_actuators import Drive, drive_notes, joint_torque, read_drives, torque_doubt
from exciter.robot.mjcf_geoms import (
    MASSLESS,
    Central,
    absent_assets,
    asset_meshes,
    body_inertia,
    geom_kind,
    geom_placement,
    geom_solid,
)
from exciter.robot.mjcf_settings import (
    ADVICE,
    Classes,
    Compiler,
    Options,
    orientation,
    quaternion_of,
    read_classes,
    read_compiler,
    read_options,
    resolved,
)
from exciter.robot.mjcf_vocabulary import missing_forces, refuse_unknown
from exciter.robot.plain import Coupling, JointFacts, PlainDescription, named, refuse_duplicates, refuse_giants
from exciter.robot.robot import Frame
from exciter.robot.spatial import axis_rotation, homogeneous
from exciter.robot.xml_safety import number, numbers, parse_xml
from exciter.typing import Array

WORLD = "world"
UNLIMITED = (
    Unlimited("velocity", "(MJCF has none)", "give limits: velocity"),
    Unlimited("torque", "(actuatorfrcrange, or ctrlrange or forcerange of motors)", "taken as unlimited"),
)
LEVEL_PLANE = 1e-9  # 1 − cos of the tilt of a plane that counts as level


@dataclass
class _Gathered:
    """What the walk over the bodies collects."""

    compiler: Compiler
    options: Options
    classes: Classes
    meshes: Mapping[str, Shape]
    drives: tuple[Drive, ...]
    links: list[str] = field(default_factory=lambda: [WORLD])
    joints: list[tuple[str, JointFacts]] = field(default_factory=list)
    frames: list[tuple[str, Frame]] = field(default_factory=list)
    shapes: list[tuple[str, Shape]] = field(default_factory=list)
    inertias: dict[str, Array] = field(default_factory=dict)
    floors: list[float] = field(default_factory=list)
    unmeasured: list[tuple[str, str, bool]] = field(default_factory=list)  # link, kind of geom, whether it collides
    hidden: list[str] = field(default_factory=list)
    meshed: list[str] = field(default_factory=list)
    springs: list[str] = field(default_factory=list)
    curved: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    clamped: list[str] = field(default_factory=list)  # joints with an actuatorfrcrange
    lifted: dict[str, bool] = field(default_factory=dict)  # joint → drives carry what gravcomp takes off


def plain_mjcf(path: Path, mesh_root: Path | None = None) -> PlainDescription:
    """Read and check an MJCF file; ``mesh_root`` (default: the file's folder) bounds where assets may lie."""
    root = parse_xml(path)
    if root.tag != "mujoco":
        raise RobotError(f"the root element of '{path}' is <{root.tag}>; an MJCF file has <mujoco>")
    refuse_unknown(root, f"'{path}'")
    refuse_giants(sum(1 for _ in root.iter("joint")), sum(1 for _ in root.iter("body")), str(path))
    compiler, options = read_compiler(root), read_options(root)
    mesh_root, classes = mesh_root or path.parent, read_classes(root)
    absent = absent_assets(root, compiler, path, mesh_root)
    meshes = asset_meshes(root, compiler, classes, path, mesh_root)
    found = _Gathered(compiler, options, classes, meshes, read_drives(root, classes, compiler, options))
    copy = Element("mujoco", model=root.get("model") or path.stem)
    SubElement(copy, "compiler", angle="radian", autolimits="true")
    world = SubElement(SubElement(copy, "worldbody"), "body", name=WORLD)
    _write_inertia(world, MASSLESS)
    for worldbody in root.findall("worldbody"):
        geoms = [resolved(geom, found.classes, "main") for geom in worldbody.findall("geom")]
        _attachments(worldbody, WORLD, geoms, "main", np.eye(4), found)
        for body in worldbody.findall("body"):
            _walk(body, world, "main", WORLD, np.eye(4), (), found)
    refuse_duplicates([*found.links, *found.hidden], "body", str(path))
    refuse_duplicates([name for name, _ in found.joints], "joint", str(path))
    if not found.joints:
        raise RobotError(f"'{path}' has no moving joint; at least one hinge or slide is needed")
    facts = dict(found.joints)
    if unknown := [drive.joint for drive in found.drives if drive.joint is not None and drive.joint not in facts]:
        raise RobotError(f"an actuator of '{path}' drives joint '{unknown[0]}', which is not there")
    unmeasured = frozenset(_unmeasured(found))
    return PlainDescription(
        name=copy.get("model", ""),
        xml=tostring(copy, encoding="unicode"),
        joints=facts,
        gravity=options.gravity,
        frames=tuple(found.frames),
        shapes=tuple(found.shapes),
        inertias=found.inertias,
        solid=frozenset(link for link, _ in found.shapes) | unmeasured,
        unmeasured=unmeasured,
        ground=max(found.floors, default=None),
        couplings=_couplings(root, found, str(path)) if options.equalities else (),
        hidden=frozenset(found.hidden),
        notes=_notes(found, absent),
        lacking=_lacking(root, found),
        unlimited=UNLIMITED,
    )


# -- bodies ---------------------------------------------------------------------------------------------


def _walk(
    body: Element,
    parent: Element,
    childclass: str,
    parent_name: str,
    fixed: Array,
    above: tuple[str, ...],
    found: _Gathered,
) -> None:
    """Write one body, its joints as a chain, then its children. fixed: placement (4, 4) of the parent in the world at
    q = ref; above: the joints that carry it."""
    name = body.get("name") or f"{parent_name}_{len(found.links)}"
    owner = f"body '{name}'"
    childclass = body.get("childclass", childclass)
    if body.find("freejoint") is not None:
        raise RobotError(f"{owner} has a free joint; allowed are hinge and slide: remove it to fix the base")
    if body.get("mocap") == "true" and any(True for _ in body.iter("joint")):
        found.moved.append(name)
    rotation = orientation(body, found.compiler, owner)
    translation = np.array(numbers(body, "pos", 3, owner) or (0.0, 0.0, 0.0))
    fixed = fixed @ homogeneous(rotation, translation)
    geoms = [resolved(geom, found.classes, childclass) for geom in body.findall("geom")]
    inertia, meshed = body_inertia(body, geoms, found.compiler, owner)
    joints = [resolved(joint, found.classes, childclass) for joint in body.findall("joint")]
    for index, joint in enumerate(joints):
        last = index == len(joints) - 1
        link = name if last else f"{name}/{index + 1}"
        if not last:
            found.hidden.append(link)
        rotation, translation = _unreferenced(joint, rotation, translation, found.compiler, owner)
        parent = _write_body(parent, link, rotation, translation)
        _write_inertia(parent, inertia if last else MASSLESS)
        _write_joint(parent, joint, link, name, index, found)
        rotation, translation = np.eye(3), np.zeros(3)
    if not joints:
        parent = _write_body(parent, name, rotation, translation)
        _write_inertia(parent, inertia)
    above += tuple(joint_name for joint_name, _ in found.joints[len(found.joints) - len(joints) :])
    if meshed and above:
        found.meshed.append(name)
    else:
        found.inertias[name] = inertia[0]
    _refuse_gravity_compensation(body, above, found, owner)
    found.links.append(name)
    _attachments(body, name, geoms, childclass, None if above else fixed, found)
    for child in body.findall("body"):
        _walk(child, parent, childclass, name, fixed, above, found)


def _refuse_gravity_compensation(body: Element, above: tuple[str, ...], found: _Gathered, owner: str) -> None:
    """Weight that MuJoCo takes off a body is carried by drives where every joint below it says so, else by nobody."""
    free = [name for name in above if not found.lifted[name]]
    if number(body, "gravcomp", owner) != 0.0 and free:
        raise RobotError(
            f"{owner} has gravcomp, which takes its weight off joint '{free[0]}' without a drive: a force that the "
            'model does not have; remove gravcomp, or give the joints actuatorgravcomp="true" where the drives carry it'
        )


def _unreferenced(
    joint: Element, rotation: Array, translation: Array, compiler: Compiler, owner: str
) -> tuple[Array, Array]:
    """The body's placement at q = 0; the file gives it at q = ref."""
    reference = number(joint, "ref", owner)
    if reference == 0.0:
        return rotation, translation
    axis = _axis(joint, owner)
    if joint.get("type", "hinge") == "slide":
        return rotation, translation - rotation @ axis * reference
    anchor = np.array(numbers(joint, "pos", 3, owner) or (0.0, 0.0, 0.0))
    turn = axis_rotation(axis, -reference * compiler.angle)
    return rotation @ turn, translation + rotation @ (anchor - turn @ anchor)


def _axis(joint: Element, owner: str) -> Array:
    axis = np.array(numbers(joint, "axis", 3, owner) or (0.0, 0.0, 1.0))
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        raise RobotError(f"the axis of a joint of {owner} has no direction: {axis.tolist()}")
    return axis / length


def _write_body(parent: Element, name: str, rotation: Array, translation: Array) -> Element:
    return SubElement(parent, "body", name=name, pos=_text(translation), quat=_text(quaternion_of(rotation)))


def _write_inertia(body: Element, inertia: Central) -> None:
    own, centre = inertia
    xx, xy, yy, xz, yz, zz = own[4:]
    full = np.array([xx, yy, zz, xy, xz, yz])
    SubElement(body, "inertial", mass=repr(float(own[0])), pos=_text(centre), fullinertia=_text(full))


def _text(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)


def _write_joint(body: Element, joint: Element, link: str, owner_name: str, index: int, found: _Gathered) -> None:
    name = joint.get("name") or f"{owner_name}_joint{index + 1 if index else ''}"
    owner = f"joint '{name}'"
    kind = joint.get("type", "hinge")
    if kind not in ("hinge", "slide"):
        raise RobotError(f"{owner} is '{kind}'; allowed are hinge and slide")
    anchor = numbers(joint, "pos", 3, owner) or (0.0, 0.0, 0.0)
    SubElement(body, "joint", name=name, type=kind, axis=_text(_axis(joint, owner)), pos=_text(np.array(anchor)))
    found.joints.append((name, _facts(joint, name, link, found)))
    found.lifted[name] = joint.get("actuatorgravcomp") == "true"
    if any(numbers(joint, "springdamper", None, owner) or ()):
        raise RobotError(f"{owner} has springdamper, from which MuJoCo computes a spring and damping; {ADVICE}")
    if found.options.springs and any(numbers(joint, "stiffness", None, owner) or ()):
        found.springs.append(name)
    if found.options.damping and any((numbers(joint, "damping", None, owner) or ())[1:]):
        found.curved.append(name)


def _facts(joint: Element, name: str, link: str, found: _Gathered) -> JointFacts:
    """Limits, friction and armature of a joint, its drive's included; zero where friction is switched off."""
    owner, compiler, options = f"joint '{name}'", found.compiler, found.options
    hinge = joint.get("type", "hinge") == "hinge"
    lower, upper = -math.inf, math.inf
    bounds = numbers(joint, "range", 2, owner)
    if bounds is not None and _limited(joint, "limited", compiler):
        lower, upper = (value * (compiler.angle if hinge else 1.0) for value in bounds)
    torque = joint_torque(found.drives, name)
    force = numbers(joint, "actuatorfrcrange", 2, owner)
    if force is not None and _limited(joint, "actuatorfrclimited", compiler):
        torque = min(torque, -force[0], force[1])
        found.clamped.append(name)
    doubt = torque_doubt(found.drives, name) if math.isfinite(torque) else ""
    damping = numbers(joint, "damping", None, owner) or (0.0,)
    terms = (damping[0], number(joint, "frictionloss", owner), number(joint, "armature", owner))
    drives = [drive for drive in found.drives if drive.joint == name]
    rotor, drag = sum(drive.rotor_inertia for drive in drives), sum(drive.viscous for drive in drives)
    if min(*terms, rotor, drag) < 0:
        raise RobotError(f"{owner} has a negative damping, frictionloss or armature; give zero or more")
    return JointFacts(
        kind="prismatic" if not hinge else "continuous" if math.isinf(upper) else "revolute",
        link=link,
        limits=Limits(lower=lower, upper=upper, torque=torque, torque_doubt=doubt).checked(name),
        viscous=(terms[0] + drag) * options.damping,
        coulomb=terms[1] * options.friction,
        rotor_inertia=terms[2] + rotor,
    )


def _limited(joint: Element, attribute: str, compiler: Compiler) -> bool:
    given = joint.get(attribute, "auto")
    return given == "true" or (given == "auto" and compiler.autolimits)


# -- everything else ------------------------------------------------------------------------------------


def _attachments(
    body: Element, name: str, geoms: list[Element], childclass: str, fixed: Array | None, found: _Gathered
) -> None:
    """Sites as frames, geoms as shapes; group 3 and above is MuJoCo's custom for hidden geoms. A geom without contype
    and conaffinity touches nothing; a level plane is the floor. fixed: placement (4, 4) of a body that stands still."""
    owner = f"body '{name}'"
    for element in body.findall("site"):
        site = resolved(element, found.classes, childclass)
        if site.get("name"):
            rotation, translation = geom_placement(site, found.compiler, owner)
            found.frames.append((name, Frame(site.get("name", ""), -1, rotation, translation)))
    for geom in geoms:
        visible = number(geom, "group", owner) <= 2
        collides = bool(number(geom, "contype", owner, 1) or number(geom, "conaffinity", owner, 1))
        if not visible and not collides:
            continue
        solid = geom_solid(geom, found.compiler, found.meshes, owner)
        if solid is not None:
            role: Role = "both" if visible and collides else "visual" if visible else "collision"
            found.shapes.append((name, replace(solid, role=role)))
        elif geom_kind(geom) != "plane":
            found.unmeasured.append((name, geom_kind(geom), collides))
        elif collides and (height := _floor_height(geom, fixed, found.compiler, owner)) is not None:
            found.floors.append(height)
        elif collides:
            found.unmeasured.append((name, "plane", True))


def _floor_height(geom: Element, fixed: Array | None, compiler: Compiler, owner: str) -> float | None:
    """z [m] of a level plane of a body that stands still; None for any other one. MuJoCo's planes have no edge."""
    if fixed is None:
        return None
    at = fixed @ homogeneous(*geom_placement(geom, compiler, owner))
    return float(at[2, 3]) if at[2, 2] > 1.0 - LEVEL_PLANE else None


def _unmeasured(found: _Gathered) -> dict[str, str]:
    """Links with a shape of which no size is known, and what it is; what is only drawn counts where nothing of the link
    collides."""
    solid = {link for link, shape in found.shapes if shape.collides}
    solid |= {link for link, _, collides in found.unmeasured if collides}
    kinds: dict[str, list[str]] = {}
    for link, kind, collides in found.unmeasured:
        if collides or link not in solid:
            kinds.setdefault(link, []).append(kind)
    return {link: ", ".join(dict.fromkeys(words)) for link, words in kinds.items()}


def _couplings(root: Element, found: _Gathered, source: str) -> tuple[Coupling, ...]:
    couplings = []
    for section in root.findall("equality"):
        for constraint in section:
            if resolved(constraint, found.classes, "main", "equality").get("active") == "false":
                continue
            if constraint.tag != "joint":
                first = constraint.get("body1") or constraint.get("site1") or constraint.get("tendon1") or "?"
                raise RobotError(
                    f"{source} ties '{first}' by the equality <{constraint.tag}>: a kinematic loop, which is "
                    "not supported; remove the constraint to open it"
                )
            follower = constraint.get("joint1", "")
            couplings.append(Coupling(follower, constraint.get("joint2", follower), "equality"))
    return tuple(couplings)


def _notes(found: _Gathered, absent: list[str]) -> tuple[Note, ...]:
    notes = drive_notes(found.drives, found.clamped)
    if absent:
        notes.append(note("asset files", f"asset files absent: {len(absent)} (first: {absent[0]})"))
    if unmeasured := _unmeasured(found):
        each = [f"{kinds} of {link}" for link, kinds in unmeasured.items()]
        text = (
            f"no capsule for {named(each)}: what moves needs other shapes (box, sphere, cylinder, capsule, mesh file), "
            "what stands still can be given as obstacles"
        )
        notes.append(warning(COLLISION_SUBJECT, text))
    if found.moved:
        text = f"the mocap bodies {named(found.moved)} are taken as fixed where the file puts them"
        notes.append(note("mocap bodies", text))
    return tuple(notes)


def _lacking(root: Element, found: _Gathered) -> tuple[str, ...]:
    """Forces that MuJoCo applies and a robot has no place for."""
    forces = []
    if found.meshed:
        meshed = list(dict.fromkeys(found.meshed))
        kept = ' and inertiafromgeom="auto"' if found.compiler.inertia_from_geom == "true" else ""
        forces.append(
            f"bodies {named(meshed)} take their inertia from meshes or height fields, which are not weighed: give "
            f"<inertial>{kept}"
        )
    if found.springs:
        forces.append(
            f"springs (stiffness) of joints {named(found.springs)} are not part of the robot: its torques lack them"
        )
    if found.curved:
        forces.append(
            f"damping of joints {named(found.curved)} that grows with the square or cube of velocity is not part "
            "of the robot: its torques lack it"
        )
    return (*forces, *missing_forces(root, found.classes))
