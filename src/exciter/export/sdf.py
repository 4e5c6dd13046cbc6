"""A robot as SDFormat 1.9, what Gazebo and Drake load: links, joints, inertias, limits, damping, friction, visuals.

Every link is placed relative to the link that carries it, the joint in the link it moves; the base is fixed to the
world. Links, joints and frames of a model share one set of names: joints keep theirs, then links, then frames. Gravity
belongs to the world, so it stands in the comment at the top, with everything else that a model has no place for.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.export.robot_xml import (
    URDF_SYMBOLS,
    about_centre,
    bounded,
    document,
    free_name,
    identified_robot,
    joint_kind,
    leaf,
    link_names,
    number,
    numbers,
    provenance,
    reference,
    roll_pitch_yaw,
    visuals,
)
from exciter.robot.geometry import Shape
from exciter.robot.robot import BASE, Robot
from exciter.robot.urdf import URDF_MOMENTS
from exciter.typing import Array

SDF_VERSION = "1.9"


def sdf_text(model: DynamicModel, chi: ArrayLike | None, folder: Path | None = None) -> str:
    """The SDF model of a full set χ (p,); what it has no place for stands in a comment at the top. folder: where the
    file will lie, from which paths of meshes are seen; absolute ones unless given."""
    robot = identified_robot(model, chi, "SDF")
    assert chi is not None
    root = Element("sdf", version=SDF_VERSION)
    body = SubElement(root, "model", name=_allowed(robot.name))
    joints, links, frames = _names(robot)
    elements = {BASE: SubElement(body, "link", name=links[BASE])}
    mount = SubElement(body, "joint", name=joints[BASE], type="fixed")
    leaf(mount, "parent", "world")
    leaf(mount, "child", links[BASE])
    for index, joint in enumerate(robot.joints):
        elements[index] = link = SubElement(body, "link", name=links[index])
        _pose(link, joint.rotation, joint.translation, relative_to=links[joint.parent])
        _inertial(link, joint.inertia)
        _joint(SubElement(body, "joint", name=joints[index], type=joint_kind(robot, index)), robot, index, links)
    for count, shape in enumerate(visuals(robot, files=True), start=1):
        _visual(SubElement(elements[shape.joint], "visual", name=f"shape_{count}"), shape, folder)
    for frame, name in zip(robot.frames, frames, strict=True):
        if name:
            element = SubElement(body, "frame", name=name, attached_to=links[frame.joint])
            _pose(element, frame.rotation, frame.translation)
    return document(root, provenance(model, chi, URDF_SYMBOLS, gravity=False))


def _names(robot: Robot) -> tuple[dict[int, str], dict[int, str], list[str]]:
    """Names of joints, links and frames, none twice; none ("") for a frame that is the link of its name."""
    taken: set[str] = set()

    def given(name: str, suffix: str) -> str:
        taken.add(name := free_name(_allowed(name), taken, suffix))
        return name

    joints = {index: given(joint.name, "_joint") for index, joint in enumerate(robot.joints)}
    own = link_names(robot)
    links = {index: given(name, "_link") for index, name in own.items()}
    frames = ["" if frame.name == own[frame.joint] else given(frame.name, "_frame") for frame in robot.frames]
    joints[BASE] = given("base_mount", "_joint")
    return joints, links, frames


def _allowed(name: str) -> str:
    """A name that SDF allows: no scopes (::), none of the reserved ones (__name__)."""
    name = name.replace("::", "_")
    return f"{name}_" if name in ("world", "") or (name.startswith("__") and name.endswith("__")) else name


def _pose(element: Element, rotation: Array, translation: Array, **attributes: str) -> None:
    leaf(element, "pose", numbers([*translation, *roll_pitch_yaw(rotation)]), **attributes)


def _inertial(link: Element, phi: Array) -> None:
    body = about_centre(phi)
    inertial = SubElement(link, "inertial")
    _pose(inertial, np.eye(3), np.array(body.xyz))
    leaf(inertial, "mass", number(body.mass))
    inertia = SubElement(inertial, "inertia")
    for name in URDF_MOMENTS:
        leaf(inertia, name, number(getattr(body, name)))


def _joint(element: Element, robot: Robot, index: int, links: dict[int, str]) -> None:
    """Its frame is that of the link it moves, where the axis is given too."""
    joint = robot.joints[index]
    leaf(element, "parent", links[joint.parent])
    leaf(element, "child", links[index])
    axis = SubElement(element, "axis")
    leaf(axis, "xyz", numbers(joint.axis))
    limits = joint.limits
    limit = SubElement(axis, "limit")
    given = {"lower": limits.lower, "upper": limits.upper} if bounded(robot, index) else {}
    for name, value in {**given, "effort": limits.torque, "velocity": limits.velocity}.items():
        if math.isfinite(value):
            leaf(limit, name, number(value))
    dynamics = SubElement(axis, "dynamics")
    leaf(dynamics, "damping", number(robot.friction["viscous"][index]))
    leaf(dynamics, "friction", number(robot.friction["coulomb"][index]))


def _visual(visual: Element, shape: Shape, folder: Path | None) -> None:
    _pose(visual, shape.rotation, shape.translation)
    kind = SubElement(SubElement(visual, "geometry"), shape.kind)
    if shape.kind == "box":
        leaf(kind, "size", numbers(shape.size))
    elif shape.kind == "mesh":
        leaf(kind, "uri", reference(shape.mesh, folder))
        leaf(kind, "scale", numbers(shape.size))
    else:
        for name, value in zip(("radius", "length"), shape.size, strict=False):
            leaf(kind, name, number(value))
    leaf(SubElement(visual, "material"), "diffuse", numbers(shape.colour))
