"""A robot as URDF: bodies, joints, limits, friction; what Pinocchio, MuJoCo and ROS 2 load.

A robot that came as URDF goes back into its own file (``urdf_patch``); any other is written anew.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.export.full_set import full_set, identified_robot, left_out, provenance
from exciter.export.urdf_patch import HELD, patched_urdf
from exciter.export.xml_edit import xml_of
from exciter.export.xml_text import (
    MOMENTS,
    about_centre,
    bounded,
    document,
    free_name,
    joint_kind,
    link_names,
    number,
    numbers,
    roll_pitch_yaw,
)
from exciter.robot.robot import BASE, Robot
from exciter.robot.xml_safety import parse_xml
from exciter.typing import Array

__all__ = ["identified_robot", "identified_urdf", "left_out", "patched_urdf", "roll_pitch_yaw", "urdf_text"]
UNLIMITED = 1e9  #: URDF wants a number for effort and velocity


def identified_urdf(model: DynamicModel, chi: ArrayLike | None, description: Path | None = None) -> str:
    """The URDF of a model with the full set χ (p,).

    description: the file the robot was read from. A URDF is returned with nothing but inertias, damping and friction
    changed; for other files, and for embedded robots (None), a URDF is written anew. Write the text as UTF-8 with its
    line ends as they are (``newline=""``).
    """
    values = full_set(model, chi, "URDF")
    if description is not None and _is_urdf(description):
        return patched_urdf(xml_of(description), model, values)
    return urdf_text(identified_robot(model, values), provenance(model, values, HELD, gravity=False))


def _is_urdf(path: Path) -> bool:
    suffix = path.suffix.lower()
    return suffix == ".urdf" or (suffix == ".xml" and parse_xml(path).tag == "robot")


def urdf_text(robot: Robot, comment: str = "") -> str:
    """The URDF of a robot. Bodies that are rigidly connected are one link; frames are links without mass.

    comment: for people, at the top.
    """
    root = Element("robot", name=robot.name)
    links = link_names(robot)
    SubElement(root, "link", name=links[BASE])
    for index, joint in enumerate(robot.joints):
        link = SubElement(root, "link", name=links[index])
        if joint.inertia.any():
            _inertial(link, joint.inertia)
        element = SubElement(root, "joint", name=joint.name, type=joint_kind(robot, index))
        _origin(element, joint.rotation, joint.translation)
        SubElement(element, "parent", link=links[joint.parent])
        SubElement(element, "child", link=links[index])
        SubElement(element, "axis", xyz=numbers(joint.axis))
        _limit(element, robot, index)
        _dynamics(element, robot, index)
    joints = set(robot.joint_names)
    for frame in robot.frames:
        if frame.name in links.values():
            continue
        SubElement(root, "link", name=frame.name)
        element = SubElement(root, "joint", name=free_name(f"{frame.name}_fixed", joints), type="fixed")
        joints.add(element.get("name", ""))
        _origin(element, frame.rotation, frame.translation)
        SubElement(element, "parent", link=links[frame.joint])
        SubElement(element, "child", link=frame.name)
    return document(root, comment)


def _inertial(link: Element, phi: Array) -> None:
    body = about_centre(phi)
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=numbers(body.xyz), rpy=numbers(body.rpy))
    SubElement(inertial, "mass", value=number(body.mass))
    SubElement(inertial, "inertia", {name: number(getattr(body, name)) for name in MOMENTS})


def _limit(element: Element, robot: Robot, index: int) -> None:
    limits = robot.joints[index].limits
    given = {}
    if bounded(robot, index) or robot.joints[index].is_prismatic:  # one without both would be read as 0 … 0
        given = {"lower": number(max(limits.lower, -UNLIMITED)), "upper": number(min(limits.upper, UNLIMITED))}
    for name, value in (("effort", limits.torque), ("velocity", limits.velocity)):
        given[name] = number(value if math.isfinite(value) else UNLIMITED)
    SubElement(element, "limit", given)


def _dynamics(element: Element, robot: Robot, index: int) -> None:
    keys = (("damping", "viscous"), ("friction", "coulomb"))
    given = {name: number(robot.friction[key][index]) for name, key in keys if key in robot.friction}
    if given:
        SubElement(element, "dynamics", given)


def _origin(element: Element, rotation: Array, translation: Array) -> None:
    SubElement(element, "origin", xyz=numbers(translation), rpy=numbers(roll_pitch_yaw(rotation)))
