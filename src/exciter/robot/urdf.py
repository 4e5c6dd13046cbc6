"""URDF made plain: structure and numbers checked, limits and friction read, meshes not opened.

Decisions where files differ from what they mean: an effort or velocity of 0 and a position range 0…0 are what
exporters write when they know nothing, so they count as "not given" (and are noted); the limits of a
continuous joint's position are ignored. Only the links and joints right below <robot> count; what simulators
and drivers add (gazebo, transmission, ros2_control) is left alone, and noted where it changes torques."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import pinocchio as pin

from exciter.errors import RobotError
from exciter.notes import COLLISION_SUBJECT, Note, note, warning
from exciter.robot import description
from exciter.robot.coupling import Mimic
from exciter.robot.description import CentralInertia, JointFacts, Link, LinkShapes, PlainDescription
from exciter.robot.geometry import GREY, Colour, Shape
from exciter.robot.limits import Limits, Unlimited
from exciter.robot.names import named
from exciter.robot.robot import Frame, JointKind
from exciter.robot.spatial import MOMENTS_OF_PHI, URDF_MOMENTS
from exciter.robot.xml_safety import asset_path, check_numbers, number, numbers, outside_note, parse_xml, refuse_xacro
from exciter.typing import Array

MOVING_JOINT_TYPES: tuple[JointKind, ...] = ("revolute", "continuous", "prismatic")
GAZEBO_FORCES = ("springStiffness", "spring_stiffness", "dampingFactor", "damping", "friction")
MUJOCO_FORCES = {
    "density", "viscosity", "gravity", "boundmass", "boundinertia", "settotalmass", "balanceinertia", "inertiafromgeom",
}  # fmt: skip
URDF_NUMBER_COUNTS: dict[str, dict[str, int]] = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(URDF_MOMENTS, 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
}
UNLIMITED_IN_URDF = tuple(
    Unlimited(which=which, where="in the file (absent or 0)", then="taken as unlimited")
    for which in ("upper", "velocity", "torque")
)


def plain_urdf(path: Path, mesh_root: Path | None = None) -> PlainDescription:
    """Read and check a URDF file; ``mesh_root`` (default: the file's folder, and the package of a mesh around it)
    bounds where meshes may lie: those outside are never opened, and their links count as not measured."""
    root = parse_xml(path)
    refuse_xacro(root, path)
    if root.tag != "robot":
        raise RobotError(f"the root element of '{path}' is <{root.tag}>; a URDF file has <robot>")
    links, joints = root.findall("link"), root.findall("joint")
    description.refuse_giants(sum(joint.get("type") != "fixed" for joint in joints), len(links), str(path))
    order = _checked_order(links, joints, str(path))
    inertias = {link.get("name", ""): _inertia(link) for link in links}
    carried = {_end(joint, "child"): _carried(joint) for joint in joints}
    carried |= {order[0]: ("", np.eye(3), np.zeros(3), None)}
    shapes, shapeless, outside = read_shapes(root, path.parent, mesh_root)
    closed, references = _unseen(links, outside), list(dict.fromkeys(name for _, _, name in outside))
    left_closed = [outside_note(references, mesh_root or path.parent)] if references else []
    fixed = [joint for joint in joints if joint.get("type") == "fixed"]
    mimics = [mimic for joint in joints if joint not in fixed and (mimic := _mimic(joint)) is not None]
    unmoved = {joint.get("name", "") for joint in fixed}
    return PlainDescription(
        name=root.get("name") or path.stem,
        links=tuple(Link(name, *carried[name][:3], inertias[name], carried[name][3]) for name in order),
        frames=tuple((_end(one, "child"), Frame(one.get("name", ""), -1, np.eye(3), np.zeros(3))) for one in fixed),
        shapes=shapes,
        solid=frozenset((*shapeless, *closed, *(link for link, _ in shapes))),
        unmeasured=frozenset((*shapeless, *closed)),
        mimics=tuple(mimic for mimic in mimics if mimic.leader not in unmoved),
        still={mimic.follower: mimic.offset for mimic in mimics if mimic.leader in unmoved},
        grounded=(order[0],),
        notes=(*_notes(joints, shapeless, closed), *left_closed),
        lacking=_simulator_forces(root, joints),
        unlimited=UNLIMITED_IN_URDF,
    )


def _mimic(joint: Element) -> Mimic | None:
    element, owner = joint.find("mimic"), f"joint '{joint.get('name', '')}'"
    if element is None:
        return None
    multiplier, offset = number(element, "multiplier", owner, 1.0), number(element, "offset", owner)
    return Mimic(joint.get("name", ""), element.get("joint", ""), multiplier, offset)


def _end(joint: Element, which: str) -> str:
    element = joint.find(which)
    return "" if element is None else element.get("link", "")


def _checked_order(links: list[Element], joints: list[Element], source: str) -> list[str]:
    """The links of a tree (unique names, known ends, one parent each, no cycle, one root), depth first, by joint."""
    names = [link.get("name", "") for link in links]
    description.refuse_duplicates(names, "link", source)
    description.refuse_duplicates([joint.get("name", "") for joint in joints], "joint", source)
    known = set(names)
    carrier: dict[str, str] = {}
    children: dict[str, list[tuple[str, str]]] = {}
    for joint in joints:
        name = joint.get("name", "")
        for which in ("parent", "child"):
            if _end(joint, which) not in known:
                raise RobotError(f"joint '{name}' of {source} has the {which} link '{_end(joint, which)}', unknown")
        child = _end(joint, "child")
        if child in carrier:
            problem = f"link '{child}' of {source} is the child of joints '{carrier[child]}' and '{name}'"
            advice = "open it by removing one of the joints, and say what is joined: loops: [{connect: [frame, frame]}]"
            raise RobotError(f"{problem}: a kinematic loop; {advice}")
        carrier[child] = name
        children.setdefault(_end(joint, "parent"), []).append((name, child))
    roots = [name for name in names if name not in carrier]
    if len(roots) > 1:
        raise RobotError(f"{source} has several root links ({named(roots)}); join them by fixed joints")
    if not names:
        raise RobotError(f"{source} has no link; a robot needs at least two, and a joint between them")
    order, pending = list[str](), roots
    while pending:
        order.append(pending.pop())
        pending += [child for _, child in sorted(children.get(order[-1], []), reverse=True)]
    if apart := set(names).difference(order):
        name = next(name for name in names if name in apart)
        raise RobotError(f"link '{name}' of {source} hangs on itself: a kinematic loop; open it at one joint")
    return order


def _inertia(link: Element) -> CentralInertia:
    owner, inertial = f"link '{link.get('name', '')}'", link.find("inertial")
    if inertial is None:
        return description.MASSLESS_BODY
    check_numbers(inertial, URDF_NUMBER_COUNTS, owner)
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None or mass.get("value") is None:
        raise RobotError(f"{owner} has an <inertial> without <mass value=…>; give it, or remove <inertial>")
    if number(mass, "value", owner) < 0:
        raise RobotError(f"{owner} has the negative mass {mass.get('value')} kg; masses must be zero or positive")
    rotation, centre = _origin(inertial, owner)
    if missing := [moment for moment in URDF_MOMENTS if inertia is not None and moment not in inertia.attrib]:
        raise RobotError(f"<inertia> of {owner} lacks {', '.join(missing)}; give all six moments")
    xx, xy, xz, yy, yz, zz = (number(inertia, moment, owner) for moment in URDF_MOMENTS)
    turned = rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ rotation.T
    return np.array([number(mass, "value", owner), 0.0, 0.0, 0.0, *turned[MOMENTS_OF_PHI]]), centre


def _carried(joint: Element) -> tuple[str, Array, Array, JointFacts | None]:
    """The parent of a joint's link, its placement there, and what is said of the joint if it moves."""
    kind, owner = joint.get("type", ""), f"joint '{joint.get('name', '')}'"
    if kind not in (*MOVING_JOINT_TYPES, "fixed"):
        raise RobotError(f"{owner} is '{kind}'; allowed are {', '.join(MOVING_JOINT_TYPES)} and fixed")
    check_numbers(joint, URDF_NUMBER_COUNTS, owner)
    return _end(joint, "parent"), *_origin(joint, owner), None if kind == "fixed" else _facts(joint)


def _origin(element: Element, owner: str) -> tuple[Array, Array]:
    """Rotation and translation of the first <origin>, as the URDF readers of the field do: rpy are angles [rad] about
    the fixed x, y, z axes; by a quaternion, as other readers round it."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    if element.tag in ("joint", "inertial") and origin.get("quat_xyzw") is not None:
        raise RobotError(f"<origin> of {owner} has quat_xyzw; write the rotation as rpy")
    xyz, rpy = (numbers(origin, word, 3, owner) or (0.0, 0.0, 0.0) for word in ("xyz", "rpy"))
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(0.5 * angle), math.sin(0.5 * angle)) for angle in rpy)
    w, x = cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy
    y, z = cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy
    return np.array(pin.Quaternion(w, x, y, z).normalized().matrix()), np.array(xyz)


def _facts(joint: Element) -> JointFacts:
    """Axis, limits and friction of a moving joint; zero means "not given"."""
    name, kind = joint.get("name", ""), joint.get("type", "")
    owner, element = f"joint '{name}'", joint.find("axis")
    axis = (1.0, 0.0, 0.0) if element is None else (numbers(element, "xyz", 3, owner) or (1.0, 0.0, 0.0))
    if (length := float(np.linalg.norm(axis))) < 1e-6:
        raise RobotError(f"the axis of {owner} has no direction: {axis}; give a unit vector")
    limit, dynamics = joint.find("limit"), joint.find("dynamics")
    lower, upper = number(limit, "lower", owner), number(limit, "upper", owner)
    if kind == "continuous" or lower == upper == 0.0:
        lower, upper = -math.inf, math.inf
    velocity, torque = (number(limit, word, owner) or math.inf for word in ("velocity", "effort"))
    limits = Limits(lower=lower, upper=upper, velocity=velocity, torque=torque)
    viscous, coulomb = number(dynamics, "damping", owner), number(dynamics, "friction", owner)
    if viscous < 0 or coulomb < 0:
        raise RobotError(f"{owner} has negative damping or friction ({viscous:g}, {coulomb:g}); give zero or more")
    said = next(one for one in MOVING_JOINT_TYPES if one == kind)
    return JointFacts(name, said, np.array(axis) / length, limits.checked(name), viscous=viscous, coulomb=coulomb)


def _unseen(links: list[Element], outside: Sequence[tuple[str, str, str]]) -> tuple[str, ...]:
    """Links with a shape in a file that stays closed; what is only drawn counts where nothing of them collides."""
    solid = {link.get("name", "") for link in links if link.find("collision") is not None}
    return tuple(dict.fromkeys(link for link, role, _ in outside if role == "collision" or link not in solid))


def _notes(joints: list[Element], shapeless: Sequence[str], closed: Sequence[str]) -> Iterator[Note]:
    """Limits of the file that are not read, and what nothing is known of."""
    soft = ((joint.get("name", ""), joint.find("safety_controller")) for joint in joints)
    if unused := [name for name, safety in soft if safety is not None and safety.get("soft_upper_limit")]:
        yield note("soft limits", f"soft limits (safety_controller) are not used: {named(unused)}")
    if shapeless:
        which = f"a <collision> without a shape on {named(shapeless)}"
        yield warning(COLLISION_SUBJECT, f"{which}: what it stands for is kept away from nothing; give one")
    if closed:
        yield warning(COLLISION_SUBJECT, f"no capsule for meshes of links {named(closed)}: their files are not opened")


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


def read_shapes(
    root: Element, folder: Path, mesh_root: Path | None
) -> tuple[LinkShapes, tuple[str, ...], list[tuple[str, str, str]]]:
    """Visual and collision shapes, each with its link and placed in its frame, mesh files unopened (textures are not
    looked at); links with a <collision> that says of no shape, so that something is there and nobody knows what;
    and (link, role, reference) of meshes outside ``mesh_root``, which are no shapes."""
    colours = {m.get("name", ""): _colour(m, {}) for m in root.findall("material")}
    found: list[tuple[str, Shape]] = []
    shapeless, outside = dict[str, None](), list[tuple[str, str, str]]()
    for link in root.findall("link"):
        name = link.get("name", "")
        for role in ("visual", "collision"):
            for element in link.findall(role):
                shape = _shape(element, f"link '{name}'", folder, mesh_root, colours)
                if isinstance(shape, str):
                    outside.append((name, role, shape))
                elif shape is not None:
                    found.append((name, replace(shape, role=role)))
                elif role == "collision":
                    shapeless[name] = None
    return tuple(found), tuple(shapeless), outside


def _shape(
    element: Element, owner: str, folder: Path, mesh_root: Path | None, colours: dict[str, Colour]
) -> Shape | str | None:
    """None without one; of a mesh outside ``mesh_root`` what the file calls it."""
    solids = [solid for geometry in element.findall("geometry") for solid in geometry]
    if not solids:
        return None
    if len(solids) > 1:
        raise RobotError(f"{owner} has {len(solids)} shapes in one <{element.tag}>; give each of them its own")
    [solid] = solids
    rotation, translation = _origin(element, owner)
    material = element.find("material")
    colour = GREY if material is None else _colour(material, colours)
    kind: Any = solid.tag
    if kind == "mesh":
        scale = numbers(solid, "scale", 3, owner) or (1.0, 1.0, 1.0)
        reference = solid.get("filename", "")
        path = asset_path(reference, folder, mesh_root)
        return reference if path is None else Shape("mesh", -1, scale, rotation, translation, colour, str(path))
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
