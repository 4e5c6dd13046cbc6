"""URDF made plain: structure and numbers checked, limits and friction read, meshes not opened.

Decisions where files differ from what they mean: an effort or velocity of 0 and a position range 0…0 are what
exporters write when they know nothing, so they count as "not given" (and are noted); the limits of a
continuous joint's position are ignored. Only the links and joints right below <robot> count; what simulators
and drivers add (gazebo, transmission, ros2_control) is left alone, and noted where it changes torques.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from exciter.errors import RobotError
from exciter.notes import COLLISION_SUBJECT, Note, note, warning
from exciter.robot.geometry import GREY, Colour, Shape
from exciter.robot.limits import Limits, Unlimited
from exciter.robot.plain_description import (
    Coupling,
    JointFacts,
    PlainDescription,
    named,
    refuse_duplicates,
    refuse_giants,
)
from exciter.robot.robot import Frame
from exciter.robot.spatial import axis_rotation
from exciter.robot.xml_safety import asset_path, check_numbers, number, numbers, parse_xml, refuse_xacro
from exciter.typing import Array

MOVING_JOINT_TYPES = ("revolute", "continuous", "prismatic")
URDF_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
GAZEBO_FORCES = (
    "springStiffness", "spring_stiffness", "dampingFactor", "damping", "friction",
)  # fmt: skip
MUJOCO_FORCES = {
    "density", "viscosity", "gravity", "boundmass", "boundinertia", "settotalmass", "balanceinertia", "inertiafromgeom",
}  # fmt: skip
URDF_NUMBER_COUNTS: dict[str, dict[str, int | None]] = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(URDF_MOMENTS, 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": {"damping": 1, "friction": 1},
}
UNLIMITED_IN_URDF = tuple(
    Unlimited(which=which, where="in the file (absent or 0)", then="taken as unlimited")
    for which in ("upper", "velocity", "torque")
)
LinkShapes = tuple[tuple[str, Shape], ...]


def plain_urdf(path: Path, mesh_root: Path | None = None) -> PlainDescription:
    """Read and check a URDF file; ``mesh_root`` (default: the file's folder) bounds where meshes may lie."""
    root = parse_xml(path)
    refuse_xacro(root, path)
    if root.tag != "robot":
        raise RobotError(f"the root element of '{path}' is <{root.tag}>; a URDF file has <robot>")
    links, joints = root.findall("link"), root.findall("joint")
    refuse_giants(sum(joint.get("type") != "fixed" for joint in joints), len(links), str(path))
    _check_structure(links, joints, str(path))
    plain = Element("robot", name=root.get("name") or path.stem)
    for link in links:
        plain.append(_plain_link(link))
    facts: dict[str, JointFacts] = {}
    for joint in joints:
        plain.append(_plain_joint(joint))
        if joint.get("type") in MOVING_JOINT_TYPES:
            facts[joint.get("name", "")] = _facts(joint)
    if not facts:
        raise RobotError(f"'{path}' has no moving joint; at least one revolute, continuous or prismatic is needed")
    shapes, shapeless = read_shapes(root, path.parent, mesh_root or path.parent)
    return PlainDescription(
        name=plain.get("name", ""),
        xml=tostring(plain, encoding="unicode"),
        joints=facts,
        frames=tuple(
            (_end(joint, "child"), Frame(joint.get("name", ""), -1, np.eye(3), np.zeros(3)))
            for joint in joints
            if joint.get("type") == "fixed"
        ),
        shapes=shapes,
        inertias={link.get("name", ""): _inertia(link) for link in plain.findall("link")},
        solid=frozenset((*shapeless, *(link for link, _ in shapes))),
        unmeasured=frozenset(shapeless),
        couplings=_mimics(joints, facts),
        notes=(*_unused_limits(joints), *_shapeless_notes(shapeless)),
        lacking=_simulator_forces(root, joints),
        unlimited=UNLIMITED_IN_URDF,
    )


def _shapeless_notes(links: Sequence[str]) -> tuple[Note, ...]:
    text = f"a <collision> without a shape on {named(links)}: what it stands for is kept away from nothing; give one"
    return (warning(COLLISION_SUBJECT, text),) if links else ()


def _end(joint: Element, which: str) -> str:
    """Name of a joint's parent or child link."""
    element = joint.find(which)
    return "" if element is None else element.get("link", "")


def _check_structure(links: list[Element], joints: list[Element], source: str) -> None:
    """A tree: unique names, known ends, no link with two parents, no cycle, one root."""
    names = [link.get("name", "") for link in links]
    refuse_duplicates(names, "link", source)
    refuse_duplicates([joint.get("name", "") for joint in joints], "joint", source)
    known = set(names)
    carrier: dict[str, str] = {}
    children: dict[str, list[str]] = {}
    for joint in joints:
        name = joint.get("name", "")
        for which in ("parent", "child"):
            if _end(joint, which) not in known:
                raise RobotError(f"joint '{name}' of {source} has the {which} link '{_end(joint, which)}', unknown")
        child = _end(joint, "child")
        if child in carrier:
            raise RobotError(
                f"link '{child}' of {source} is the child of joints '{carrier[child]}' and '{name}': "
                "a kinematic loop; open it by removing one of the joints"
            )
        carrier[child] = name
        children.setdefault(_end(joint, "parent"), []).append(child)
    roots = [name for name in names if name not in carrier]
    if len(roots) > 1:
        raise RobotError(f"{source} has several root links ({named(roots)}); join them by fixed joints")
    if not names:
        raise RobotError(f"{source} has no link; a robot needs at least two, and a joint between them")
    _refuse_cycle(names, roots, children, source)


def _refuse_cycle(names: list[str], roots: list[str], children: dict[str, list[str]], source: str) -> None:
    """Every link hangs on the root; one that does not is part of a cycle."""
    reached, pending = set(roots), list(roots)
    while pending:
        for child in children.get(pending.pop(), []):
            reached.add(child)
            pending.append(child)
    for name in names:
        if name not in reached:
            raise RobotError(f"link '{name}' of {source} hangs on itself: a kinematic loop; open it at one joint")


def _plain_link(link: Element) -> Element:
    """The link with its first inertial element only; a negative mass is refused."""
    name = link.get("name", "")
    owner = f"link '{name}'"
    plain = Element("link", name=name)
    inertial = link.find("inertial")
    if inertial is None:
        return plain
    check_numbers(inertial, URDF_NUMBER_COUNTS, owner)
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None or mass.get("value") is None:
        raise RobotError(f"{owner} has an <inertial> without <mass value=…>; give it, or remove <inertial>")
    if number(mass, "value", owner) < 0:
        raise RobotError(f"{owner} has the negative mass {mass.get('value')} kg; masses must be zero or positive")
    copy = SubElement(plain, "inertial")
    _copy_origin(inertial, copy, owner)
    SubElement(copy, "mass", value=mass.get("value", "0"))
    moments = dict.fromkeys(URDF_MOMENTS, "0") if inertia is None else dict(inertia.attrib)
    missing = [moment for moment in URDF_MOMENTS if moment not in moments]
    if missing:
        raise RobotError(f"<inertia> of {owner} lacks {', '.join(missing)}; give all six moments")
    SubElement(copy, "inertia", {moment: moments[moment] for moment in URDF_MOMENTS})
    return plain


def _inertia(plain: Element) -> Array:
    """φ (10,) about the centre of mass, in the axes of <inertial>; zero where the link has none."""
    mass, inertia = plain.find("inertial/mass"), plain.find("inertial/inertia")
    owner = f"link '{plain.get('name', '')}'"
    moments = [number(inertia, moment, owner) for moment in ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")]
    return np.array([number(mass, "value", owner), 0.0, 0.0, 0.0, *moments])


def _plain_joint(joint: Element) -> Element:
    """The joint as Pinocchio gets it: continuous becomes revolute (one number q), limits stay outside."""
    name, kind = joint.get("name", ""), joint.get("type", "")
    owner = f"joint '{name}'"
    if kind not in (*MOVING_JOINT_TYPES, "fixed"):
        raise RobotError(f"{owner} is '{kind}'; allowed are {', '.join(MOVING_JOINT_TYPES)} and fixed")
    check_numbers(joint, URDF_NUMBER_COUNTS, owner)
    plain = Element("joint", name=name, type="revolute" if kind == "continuous" else kind)
    _copy_origin(joint, plain, owner)
    SubElement(plain, "parent", link=_end(joint, "parent"))
    SubElement(plain, "child", link=_end(joint, "child"))
    if kind in MOVING_JOINT_TYPES:
        element = joint.find("axis")
        axis = (1.0, 0.0, 0.0) if element is None else (numbers(element, "xyz", 3, owner) or (1.0, 0.0, 0.0))
        length = float(np.linalg.norm(axis))
        if length < 1e-6:
            raise RobotError(f"the axis of {owner} has no direction: {axis}; give a unit vector")
        SubElement(plain, "axis", xyz=" ".join(repr(float(value / length)) for value in axis))
        SubElement(plain, "limit", lower="-1", upper="1", effort="1", velocity="1")
    return plain


def _copy_origin(source: Element, target: Element, owner: str) -> None:
    """The first <origin>, as the URDF readers of the field do."""
    origin = source.find("origin")
    if origin is None:
        return
    if origin.get("quat_xyzw") is not None:
        raise RobotError(f"<origin> of {owner} has quat_xyzw; write the rotation as rpy")
    given = {key: origin.get(key, "") for key in ("xyz", "rpy") if origin.get(key) is not None}
    SubElement(target, "origin", given)


def _facts(joint: Element) -> JointFacts:
    """Limits and friction of a moving joint; zero means "not given"."""
    name, kind = joint.get("name", ""), joint.get("type", "")
    owner = f"joint '{name}'"
    limit, dynamics = joint.find("limit"), joint.find("dynamics")
    lower, upper = number(limit, "lower", owner), number(limit, "upper", owner)
    if kind == "continuous" or lower == upper == 0.0:
        lower, upper = -math.inf, math.inf
    limits = Limits(
        lower=lower,
        upper=upper,
        velocity=number(limit, "velocity", owner) or math.inf,
        torque=number(limit, "effort", owner) or math.inf,
    )
    viscous, coulomb = number(dynamics, "damping", owner), number(dynamics, "friction", owner)
    if viscous < 0 or coulomb < 0:
        raise RobotError(f"{owner} has negative damping or friction ({viscous:g}, {coulomb:g}); give zero or more")
    return JointFacts(
        kind="continuous" if kind == "continuous" else "prismatic" if kind == "prismatic" else "revolute",
        link=_end(joint, "child"),
        limits=limits.checked(name),
        viscous=viscous,
        coulomb=coulomb,
    )


def _unused_limits(joints: list[Element]) -> tuple[Note, ...]:
    """Limits of the file that are not read."""
    unused = [
        joint.get("name", "")
        for joint in joints
        if (calibrated := joint.find("safety_controller")) is not None and calibrated.get("soft_upper_limit")
    ]
    text = f"soft limits (safety_controller) are not used: {named(unused)}"
    return (note("soft limits", text),) if unused else ()


def _simulator_forces(root: Element, joints: list[Element]) -> tuple[str, ...]:
    """Forces, masses and loops that a simulator would add to what URDF itself says."""
    found: dict[str, list[str]] = {}
    for joint in joints:
        for dynamics in joint.findall("dynamics"):
            for attribute in sorted(dynamics.attrib.keys() - URDF_NUMBER_COUNTS["dynamics"].keys()):
                found.setdefault(f"<dynamics {attribute}>", []).append(joint.get("name", ""))
    for section in root.findall("gazebo"):
        for element in section.iter():
            if element is not section and _is_force(element):
                found.setdefault(f"<gazebo> <{element.tag}>", []).append(section.get("reference", "the robot"))
    for section in root.findall("mujoco"):
        for element in section.iter():
            for attribute in sorted(MUJOCO_FORCES.intersection(element.attrib)):
                found.setdefault(f"<mujoco> {attribute}", []).append("the robot")
    return tuple(
        f"{what} of {named(list(dict.fromkeys(owners)))} is not part of the robot: its torques lack what it adds"
        for what, owners in sorted(found.items())
    )


def _is_force(element: Element) -> bool:
    """Whether an element of Gazebo changes torques: a value of its own, other than the one that changes nothing."""
    text = (element.text or "").strip().lower()
    if element.tag in ("gravity", "turnGravityOff"):
        return text in (("false", "0") if element.tag == "gravity" else ("true", "1"))
    return element.tag == "joint" or (element.tag in GAZEBO_FORCES and text not in ("", "0", "0.0", "false"))


def _mimics(joints: list[Element], facts: dict[str, JointFacts]) -> tuple[Coupling, ...]:
    found = ((joint.get("name", ""), joint.find("mimic")) for joint in joints)
    return tuple(
        Coupling(follower=name, leader=mimic.get("joint", ""), tag="mimic")
        for name, mimic in found
        if mimic is not None and name in facts
    )


def read_shapes(root: Element, folder: Path, mesh_root: Path) -> tuple[LinkShapes, tuple[str, ...]]:
    """Visual shapes and collision shapes, each with its link and placed in the link's frame; and the links with a
    <collision> that says of no shape, so that something is there and nobody knows what. Meshes are names; their
    files stay closed here."""
    for texture in root.iter("texture"):
        if texture.get("filename"):
            asset_path(texture.get("filename", ""), folder, mesh_root)
    colours = {m.get("name", ""): _colour(m, {}) for m in root.findall("material")}
    found: list[tuple[str, Shape]] = []
    shapeless: dict[str, None] = {}
    for link in root.findall("link"):
        name = link.get("name", "")
        for role in ("visual", "collision"):
            for element in link.findall(role):
                shape = _shape(element, f"link '{name}'", folder, mesh_root, colours)
                if shape is not None:
                    found.append((name, replace(shape, role=role)))
                elif role == "collision":
                    shapeless[name] = None
    return tuple(found), tuple(shapeless)


def rpy_rotation(rpy: tuple[float, ...]) -> Array:
    """Rotation by roll, pitch, yaw [rad] about the fixed x, y, z axes (URDF)."""
    roll, pitch, yaw = rpy
    rotation: Array = axis_rotation([0, 0, 1], yaw) @ axis_rotation([0, 1, 0], pitch) @ axis_rotation([1, 0, 0], roll)
    return rotation


def _shape(element: Element, owner: str, folder: Path, mesh_root: Path, colours: dict[str, Colour]) -> Shape | None:
    solids = [solid for geometry in element.findall("geometry") for solid in geometry]
    if not solids:
        return None
    if len(solids) > 1:
        raise RobotError(f"{owner} has {len(solids)} shapes in one <{element.tag}>; give each of them its own")
    [solid] = solids
    origin = element.find("origin")
    xyz = (0.0, 0.0, 0.0) if origin is None else (numbers(origin, "xyz", 3, owner) or (0.0, 0.0, 0.0))
    rpy = (0.0, 0.0, 0.0) if origin is None else (numbers(origin, "rpy", 3, owner) or (0.0, 0.0, 0.0))
    rotation, translation = rpy_rotation(rpy), np.array(xyz)
    material = element.find("material")
    colour = GREY if material is None else _colour(material, colours)
    kind: Any = solid.tag
    if kind == "mesh":
        scale = numbers(solid, "scale", 3, owner) or (1.0, 1.0, 1.0)
        path = asset_path(solid.get("filename", ""), folder, mesh_root)
        return Shape("mesh", -1, scale, rotation, translation, colour, str(path))
    if kind == "box":
        size = numbers(solid, "size", 3, owner) or ()
    else:
        radius, length = number(solid, "radius", owner), number(solid, "length", owner)
        if kind not in ("sphere", "cylinder", "capsule"):
            raise RobotError(f"{owner} has the geometry <{kind}>; allowed are box, sphere, cylinder, capsule and mesh")
        size = (radius,) if kind == "sphere" else (radius, length)
    if not size or min(size) <= 0:
        raise RobotError(f"a shape of {owner} has the size {size}; every length must be given and positive")
    return Shape(kind, -1, size, rotation, translation, colour)


def _colour(material: Element, named_colours: dict[str, Colour]) -> Colour:
    element = material.find("color")
    if element is None:
        return named_colours.get(material.get("name", ""), GREY)
    red, green, blue, alpha = numbers(element, "rgba", 4, f"material '{material.get('name')}'") or GREY
    return red, green, blue, alpha
