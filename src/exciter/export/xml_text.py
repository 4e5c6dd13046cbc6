"""What the files for other tools share: numbers that read back exactly, angles, comments, names of bodies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import visible
from exciter.parameters.conventions import UrdfInertia, to_urdf
from exciter.parameters.inertial import UPPER_TRIANGLE, checked
from exciter.robot.geometry import Capsule, Shape
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

RESERVED = ("world", "universe")  #: names that readers take for the ground
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def number(value: float) -> str:
    """The shortest text that gives the same number when read back."""
    return repr(float(value) + 0.0).removesuffix(".0")


def numbers(values: ArrayLike) -> str:
    return " ".join(number(value) for value in np.asarray(values, dtype=float))


def leaf(parent: Element, tag: str, text: str, **attributes: str) -> Element:
    """A child with text in it."""
    child = SubElement(parent, tag, attributes)
    child.text = text
    return child


def document(root: Element, comment: str = "") -> str:
    """The whole file; comment: for people, at the top."""
    indent(root)
    return '<?xml version="1.0"?>\n' + commented(comment) + tostring(root, encoding="unicode") + "\n"


def commented(text: str, newline: str = "\n") -> str:
    """An XML comment on a line of its own; nothing for nothing. Neighbouring dashes, which would end the comment, are
    set apart, and characters that XML cannot hold are written as escapes."""
    return f"<!-- {re.sub('-(?=-)', '- ', visible(text))} -->{newline}" if text else ""


def roll_pitch_yaw(rotation: Array) -> Array:
    """Angles of Rot_z(yaw) Rot_y(pitch) Rot_x(roll). Roll is read after yaw has been taken away, so that the three
    give the rotation back exactly where roll and yaw turn about one axis, too."""
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    pitch = math.atan2(-rotation[2, 0], math.hypot(rotation[0, 0], rotation[1, 0]))
    across = math.cos(yaw) * rotation[1] - math.sin(yaw) * rotation[0]  # row 2 of Rot_y Rot_x: (0, cos, −sin) of roll
    return np.array([math.atan2(-across[2], across[1]), pitch, yaw])


def about_centre(phi: ArrayLike) -> UrdfInertia:
    """φ (10,) as mass, centre and moments about it, in the axes of its frame; about the origin without a mass."""
    values = checked(phi)
    if values[0] != 0.0:
        return to_urdf(values)
    return UrdfInertia(0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), *values[list(UPPER_TRIANGLE)].tolist())


def joint_kind(robot: Robot, index: int) -> str:
    """Revolute only with both limits: otherwise continuous."""
    joint = robot.joints[index]
    if joint.is_prismatic:
        return "prismatic"
    return "revolute" if bounded(robot, index) else "continuous"


def bounded(robot: Robot, index: int) -> bool:
    """Whether a joint has both position limits."""
    limits = robot.joints[index].limits
    return math.isfinite(limits.lower) and math.isfinite(limits.upper)


def link_names(robot: Robot) -> dict[int, str]:
    """One name per body, the base's included, none twice and none that a frame has."""
    names: dict[int, str] = {}
    taken = {frame.name for frame in robot.frames}
    for index in (BASE, *range(robot.n)):
        name = "base_link" if index == BASE else robot.joints[index].link or f"{robot.joints[index].name}_link"
        while name in RESERVED or name in names.values() or (name in taken and not _is_origin(robot, name, index)):
            name += "_body"
        names[index] = name
    return names


def free_name(name: str, taken: set[str], suffix: str = "_frame") -> str:
    return name if name not in taken else free_name(f"{name}{suffix}", taken, suffix)


def _is_origin(robot: Robot, name: str, index: int) -> bool:
    """Whether the frame of that name is the body's own: then the body may bear its name."""
    frame = robot.frame(name)
    return frame.joint == index and np.array_equal(frame.rotation, np.eye(3)) and not frame.translation.any()


def drawn(robot: Robot) -> Iterator[Shape]:
    """Shapes to look at: those of the description, or its capsules where it has none. Meshes lie in files of their own
    and are left out."""
    simple = [shape for shape in robot.shapes if shape.visible and shape.kind != "mesh"]
    yield from simple or (_as_shape(capsule) for capsule in robot.capsules)


def _as_shape(capsule: Capsule) -> Shape:
    """A sphere where it has no length, which readers refuse."""
    solid = capsule.solid
    return solid if solid.size[1] else replace(solid, kind="sphere", size=(capsule.radius,))
