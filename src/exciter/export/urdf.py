"""A robot as URDF: bodies, joints, limits, friction; what Pinocchio, MuJoCo and ROS 2 load.

A robot that came as URDF goes back into its own file, where only inertias, damping and friction change; any other is
written anew. Gravity, rotor inertia and other terms have no place in URDF and are listed in a comment.

Links that are fixed to each other (or joined by a joint that was locked) are one body, and torques depend on the sum of
their inertias only. A body whose links add up to what was identified is not touched. Otherwise the heaviest link of the
description gets the difference and the others keep their own. Where that would leave it less than ``KEPT_SHARE`` of
what it had (or no body at all), every link of the body is deformed by one affine map, which keeps the shares of mass:
the parts stay bodies that can exist, and their sum is exactly the identified one. Links on the base and locked joints
keep what they have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import RobotError
from exciter.export.loops import WrittenLoops
from exciter.export.robot_xml import (
    about_centre,
    attributes,
    bounded,
    commented,
    document,
    free_name,
    identified_robot,
    link_names,
    numbers,
    provenance,
    without_free_base,
)
from exciter.export.xml_edit import EditableXml, xml_of
from exciter.parameters.consistency import SMALLEST_BODY_INERTIA, divided, same_inertia
from exciter.parameters.conventions import UrdfInertia, from_urdf
from exciter.robot.coupling import mimics_of
from exciter.robot.robot import BASE, Joint, Robot
from exciter.robot.spatial import URDF_MOMENTS, transform_inertia
from exciter.robot.xml_safety import number as read_number
from exciter.robot.xml_safety import numbers as read_numbers
from exciter.robot.xml_safety import parse_xml
from exciter.typing import Array

UNLIMITED_VALUE = 1e9  #: [N·m, N, rad/s, m/s, m] URDF wants a number for effort and velocity
URDF_FRICTION = {"damping": "viscous", "friction": "coulomb"}
ORIGIN = (0.0, 0.0, 0.0)
Attributes = Mapping[str, Sequence[float]]  # numbers of an element, by attribute


def identified_urdf(model: DynamicModel, chi: ArrayLike | None, description: Path | None = None) -> str:
    """The URDF of a model with the full set χ (p,).

    description: the file the robot was read from. A URDF is returned with nothing but inertias, damping and friction
    changed; for other files, and for embedded robots (None), a URDF is written anew. Write the text as UTF-8 with its
    line ends as they are (``newline=""``)."""
    robot = identified_robot(model, chi, "URDF")
    suffix = "" if description is None else description.suffix.lower()
    if description is not None and (suffix == ".urdf" or (suffix == ".xml" and parse_xml(description).tag == "robot")):
        return patched_urdf(xml_of(description), model, chi)
    return urdf_text(robot, provenance(model, chi))


def urdf_text(robot: Robot, comment: str = "") -> str:
    """The URDF of a robot. Bodies that are rigidly connected are one link; frames are links without mass.

    comment: for people, at the top."""
    robot, base = without_free_base(robot)
    loops = WrittenLoops.of(robot)
    robot = robot if loops is None else loops.robot
    links, joints, fixed = link_names(robot, base), set(robot.tree_names), {}
    for frame in robot.frames:
        if frame.name not in links.values():
            fixed[name := free_name(f"{frame.name}_fixed", joints)] = frame
            joints.add(name)
    own = {name: j for j, name in enumerate(robot.joint_names)}
    given = [(name, robot.friction[key]) for name, key in URDF_FRICTION.items() if key in robot.friction]
    dynamics = [{name: values[own[one]] for name, values in given if one in own} for one in robot.tree_names]
    limits = [_limits(robot.joints[own[body.name]] if body.name in own else body) for body in robot.bodies]
    mimics = {
        one.follower: {"joint": one.leader, "multiplier": one.multiplier, "offset": one.offset}
        for one in mimics_of(robot, "URDF")
    }
    parts = {"links": links, "fixed": fixed, "limits": limits, "dynamics": dynamics, "mimics": mimics, "base": base}
    return document("robot.urdf.in", robot, comment, **parts)


def _limits(joint: Joint) -> dict[str, float]:
    limits, given = joint.limits, {}
    if bounded(joint) or joint.is_prismatic:  # one without both would be read as 0 … 0
        given = {"lower": max(limits.lower, -UNLIMITED_VALUE), "upper": min(limits.upper, UNLIMITED_VALUE)}
    for name, value in (("effort", limits.torque), ("velocity", limits.velocity)):
        given[name] = value if math.isfinite(value) else UNLIMITED_VALUE
    return given


# -- identified parameters in the user's own file ---------------------------------------------------------------------


def patched_urdf(text: str, model: DynamicModel, chi: ArrayLike | None) -> str:
    """The URDF ``text`` of the model's robot with the full set χ (p,) in it, and a comment before <robot>."""
    robot = identified_robot(model, chi, "URDF")
    xml = EditableXml(text)
    links = {link.get("name", ""): link for link in xml.root.findall("link")}
    joints = {joint.get("name", ""): joint for joint in xml.root.findall("joint")}
    bodies = _bodies(robot, xml.root, joints, links)
    for index, joint in enumerate(robot.bodies):
        _patch_body(xml, robot, index, {name: links[name] for name in bodies[index]})
        if index not in robot.free_base:
            _patch_dynamics(xml, joints[joint.name], robot)
    words = provenance(model, chi)
    marker = words[: words.index(".")]
    together = [names for names in bodies if sum(links[name].find("inertial") is not None for name in names) > 1]
    for names in together:
        words += f" Links {', '.join(names)} are one body: only the sum of their inertias was identified."
    xml.head(commented(words, newline=""), marker)
    return xml.text()


def _bodies(robot: Robot, root: Element, joints: dict[str, Element], links: dict[str, Element]) -> list[list[str]]:
    """Names of the links of each body, by joint; where the text describes this robot: its moving joints are there, and
    move the same links."""
    if root.tag != "robot":
        raise RobotError(f"the root element of the description is <{root.tag}>; a URDF has <robot>")
    for joint in (joint for j, joint in enumerate(robot.bodies) if j not in robot.free_base):
        element = joints.get(joint.name)
        child = None if element is None else element.find("child")
        if child is None or child.get("link") != joint.link:
            raise RobotError(
                f"the URDF has no joint '{joint.name}' that moves link '{joint.link}'; give the file that the robot of "
                "the model was read from"
            )
    bodies: list[list[str]] = [[] for _ in robot.bodies]
    known = {frame.name: frame.joint for frame in robot.frames}
    for name in links:
        if name not in known:
            raise RobotError(
                f"link '{name}' of the URDF is not one of the model's robot; give the file it was read from"
            )
        if known[name] != BASE:
            bodies[known[name]].append(name)
    return bodies


def _patch_body(xml: EditableXml, robot: Robot, index: int, links: dict[str, Element]) -> None:
    """Inertials of the links of one body; φ of all in the joint's frame."""
    total = robot.bodies[index].inertia
    parts = {name: phi for name, link in links.items() if (phi := _inertia_of(link, robot)).any()}
    if same_inertia(sum(parts.values(), np.zeros(10)), total) or (not parts and total[0] <= SMALLEST_BODY_INERTIA):
        return
    main = max(parts, key=lambda name: parts[name][0], default=robot.bodies[index].link)
    for name, phi in divided(total, parts, main).items():
        frame = robot.frame(name)
        body = transform_inertia(phi, frame.rotation.T, -frame.rotation.T @ frame.translation)
        _write_inertial(xml, links[name], about_centre(body))


def _inertia_of(link: Element, robot: Robot) -> Array:
    """φ (10,) of a link of the file in its joint's frame, zero where it has no inertial."""
    inertial, owner = link.find("inertial"), f"link '{link.get('name')}'"
    if inertial is None:
        return np.zeros(10)
    origin, moments = inertial.find("origin"), inertial.find("inertia")
    placed = [None if origin is None else read_numbers(origin, key, 3, owner) for key in ("xyz", "rpy")]
    (x, y, z), (roll, pitch, yaw) = (given or ORIGIN for given in placed)
    mass = read_number(inertial.find("mass"), "value", owner)
    body = UrdfInertia(
        mass, (x, y, z), (roll, pitch, yaw), *(read_number(moments, name, owner) for name in URDF_MOMENTS)
    )
    frame = robot.frame(link.get("name", ""))
    return transform_inertia(from_urdf(body), frame.rotation, frame.translation)


def _write_inertial(xml: EditableXml, link: Element, body: UrdfInertia) -> None:
    """The first inertial of the link, as readers take it; a new one where there is none."""
    parts: dict[str, Attributes] = {
        "origin": {"xyz": body.xyz, "rpy": ORIGIN},
        "mass": {"value": (body.mass,)},
        "inertia": {name: (getattr(body, name),) for name in URDF_MOMENTS},
    }
    inertial = link.find("inertial")
    if inertial is None:
        inner = [f"  {_tag(name, values)}" for name, values in parts.items()]
        xml.insert(link, ["<inertial>", *inner, "</inertial>"])
        return
    missing = [_tag(name, values) for name, values in parts.items() if inertial.find(name) is None]
    for name, values in parts.items():
        if (element := inertial.find(name)) is not None:
            _set(xml, element, values)
    if missing:
        xml.insert(inertial, missing)


def _patch_dynamics(xml: EditableXml, joint: Element, robot: Robot) -> None:
    """Friction of a joint; none on one that follows another, which has it all."""
    name = joint.get("name", "")
    own = robot.joint_names.index(name) if name in robot.joint_names else None
    values = {one: (0.0 if own is None else robot.friction[key][own],) for one, key in URDF_FRICTION.items()}
    dynamics = joint.find("dynamics")
    if dynamics is not None:
        _set(xml, dynamics, values)
    elif any(value for (value,) in values.values()):
        xml.insert(joint, [_tag("dynamics", values)], last=True)


def _tag(name: str, values: Attributes) -> str:
    return f"<{name}{attributes(values)}/>"


def _set(xml: EditableXml, element: Element, values: Attributes) -> None:
    """Numbers of attributes, zero where one is absent; text that says the same number stays."""
    for name, given in values.items():
        present = read_numbers(element, name, len(given), f"<{element.tag}>") or (0.0,) * len(given)
        if tuple(present) != tuple(given):
            xml.set(element, name, numbers(given))
