"""Identified parameters in the user's own URDF: only inertias, damping and friction change, all else stays as it was.

Links that are fixed to each other (or joined by a joint that was locked) are one body, and torques only tell the sum of
their inertias. A body whose links add up to what was identified is not touched. Otherwise the heaviest link of the
description gets the difference and the others keep their own. Where that would leave it less than ``KEPT_SHARE`` of
what it had (or no body at all), every link of the body is deformed by one affine map, which keeps the shares of mass:
the parts stay bodies that can exist, and their sum is exactly the identified one. Links on the base and locked joints
keep what they have; gravity, rotor inertia and other terms have no place in URDF and are told in a comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import RobotError
from exciter.export.full_set import identified_robot, provenance
from exciter.export.xml_edit import EditableXml
from exciter.export.xml_text import MOMENTS, about_centre, commented
from exciter.export.xml_text import number as written
from exciter.export.xml_text import numbers as listed
from exciter.parameters.consistency import SMALLEST_BODY, divided, same_inertia
from exciter.parameters.conventions import UrdfInertia, from_urdf
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import transform_inertia
from exciter.robot.xml_safety import number, numbers
from exciter.typing import Array

HELD = ("Fv", "Fs")  #: symbols of the joint terms that URDF holds: damping, friction
ORIGIN = (0.0, 0.0, 0.0)


def patched_urdf(text: str, model: DynamicModel, chi: ArrayLike | None) -> str:
    """The URDF ``text`` of the model's robot with the full set χ (p,) in it, and a comment before <robot>."""
    robot = identified_robot(model, chi, "URDF")
    assert chi is not None
    xml = EditableXml(text)
    links = {link.get("name", ""): link for link in xml.root.findall("link")}
    joints = {joint.get("name", ""): joint for joint in xml.root.findall("joint")}
    _check(xml.root, joints, robot)
    bodies = _bodies(robot, links)
    for index, joint in enumerate(robot.joints):
        _patch_body(xml, robot, index, {name: links[name] for name in bodies[index]})
        _patch_dynamics(xml, joints[joint.name], robot, index)
    words = provenance(model, chi, HELD, gravity=False)
    marker = words[: words.index(".")]
    together = [names for names in bodies if sum(links[name].find("inertial") is not None for name in names) > 1]
    for names in together:
        words += f" Links {', '.join(names)} are one body: only the sum of their inertias was identified."
    xml.head(commented(words, newline=""), marker)
    return xml.text()


def _check(root: Element, joints: dict[str, Element], robot: Robot) -> None:
    """The text describes this robot: its moving joints are there, and move the same links."""
    if root.tag != "robot":
        raise RobotError(f"the root element of the description is <{root.tag}>; a URDF has <robot>")
    for joint in robot.joints:
        element = joints.get(joint.name)
        child = None if element is None else element.find("child")
        if child is None or child.get("link") != joint.link:
            raise RobotError(
                f"the URDF has no joint '{joint.name}' that moves link '{joint.link}'; give the file that the robot of "
                "the model was read from"
            )


def _bodies(robot: Robot, links: dict[str, Element]) -> list[list[str]]:
    """Names of the links of each body, by joint."""
    bodies: list[list[str]] = [[] for _ in robot.joints]
    known = {frame.name: frame.joint for frame in robot.frames}
    for name in links:
        if name not in known:
            raise RobotError(
                f"link '{name}' of the URDF is not one of the model's robot; give the file it was read from"
            )
        if known[name] != BASE:
            bodies[known[name]].append(name)
    return bodies


# -- inertias --------------------------------------------------------------------------------------------------------


def _patch_body(xml: EditableXml, robot: Robot, index: int, links: dict[str, Element]) -> None:
    """Inertials of the links of one body; φ of all in the joint's frame."""
    total = robot.joints[index].inertia
    parts = {name: phi for name, link in links.items() if (phi := _inertia_of(link, robot)).any()}
    if same_inertia(sum(parts.values(), np.zeros(10)), total) or (not parts and total[0] <= SMALLEST_BODY):
        return
    main = max(parts, key=lambda name: parts[name][0], default=robot.joints[index].link)
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
    placed = [None if origin is None else numbers(origin, key, 3, owner) for key in ("xyz", "rpy")]
    (x, y, z), (roll, pitch, yaw) = (given or ORIGIN for given in placed)
    mass = number(inertial.find("mass"), "value", owner)
    body = UrdfInertia(mass, (x, y, z), (roll, pitch, yaw), *(number(moments, name, owner) for name in MOMENTS))
    frame = robot.frame(link.get("name", ""))
    return transform_inertia(from_urdf(body), frame.rotation, frame.translation)


def _write_inertial(xml: EditableXml, link: Element, body: UrdfInertia) -> None:
    """The first inertial of the link, as readers take it; a new one where there is none."""
    moments = {name: getattr(body, name) for name in MOMENTS}
    origin_line = f'<origin xyz="{listed(body.xyz)}" rpy="0 0 0"/>'
    inertia_line = f"<inertia {_attributes(moments)}/>"
    inertial = link.find("inertial")
    if inertial is None:
        inner = [origin_line, f'<mass value="{written(body.mass)}"/>', inertia_line]
        xml.insert(link, ["<inertial>", *(f"  {line}" for line in inner), "</inertial>"])
        return
    origin, mass, inertia = (inertial.find(tag) for tag in ("origin", "mass", "inertia"))
    missing = []
    if origin is None:
        missing.append(origin_line)
    else:
        _set(xml, origin, "xyz", body.xyz)
        _set(xml, origin, "rpy", ORIGIN)
    if mass is None:
        missing.append(f'<mass value="{written(body.mass)}"/>')
    else:
        _set(xml, mass, "value", (body.mass,))
    if inertia is None:
        missing.append(inertia_line)
    else:
        for name, value in moments.items():
            _set(xml, inertia, name, (value,))
    if missing:
        xml.insert(inertial, missing)


# -- friction --------------------------------------------------------------------------------------------------------


def _patch_dynamics(xml: EditableXml, joint: Element, robot: Robot, index: int) -> None:
    values = {"damping": robot.friction["viscous"][index], "friction": robot.friction["coulomb"][index]}
    dynamics = joint.find("dynamics")
    if dynamics is not None:
        for name, value in values.items():
            _set(xml, dynamics, name, (value,))
    elif any(values.values()):
        xml.insert(joint, [f"<dynamics {_attributes(values)}/>"], last=True)


def _attributes(values: dict[str, float]) -> str:
    return " ".join(f'{name}="{written(value)}"' for name, value in values.items())


def _set(xml: EditableXml, element: Element, attribute: str, values: Sequence[float]) -> None:
    """Numbers of an attribute, zero where it is absent; text that says the same number stays."""
    present = numbers(element, attribute, len(values), f"<{element.tag}>") or (0.0,) * len(values)
    if tuple(present) != tuple(values):
        xml.set(element, attribute, listed(values))
