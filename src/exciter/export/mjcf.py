"""A robot as MJCF, what MuJoCo loads: bodies, joints, inertias, friction, rotors, gravity, motors.

Viscous friction is MuJoCo's damping, rotor inertia its armature, Coulomb friction its frictionloss. That last one is a
constraint, not a force: MuJoCo gives ±Fs to a joint that slides and what keeps it there to one that rests. It is made
as hard as MuJoCo allows, since by default a light joint would feel only a part of it. Frames are sites, shapes are
geoms without mass that touch nothing, and every joint has a motor whose control is its torque [N·m or N].
"""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from exciter.dynamics.model import DynamicModel
from exciter.export.full_set import identified_robot, provenance
from exciter.export.xml_text import bounded, document, drawn, link_names, number, numbers
from exciter.parameters.conventions import to_mujoco
from exciter.robot.geometry import Shape
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

HELD = ("Fv", "Fs", "Ia")  #: symbols of the joint terms that MJCF holds: damping, frictionloss, armature
HARD = "0.9999 0.9999 0.001 0.5 2"  #: solimp of dry friction: next to no creep at rest
TERMS = (("damping", "viscous"), ("frictionloss", "coulomb"), ("armature", "rotor_inertia"))


def mjcf_text(model: DynamicModel, chi: ArrayLike | None) -> str:
    """The MJCF of a model with the full set χ (p,); what it has no place for stands in a comment at the top."""
    robot = identified_robot(model, chi, "MJCF")
    assert chi is not None
    root = Element("mujoco", model=robot.name)
    SubElement(root, "compiler", angle="radian", autolimits="true")
    SubElement(root, "option", gravity=numbers(robot.gravity))
    _defaults(root)
    bodies = {BASE: SubElement(root, "worldbody")}
    names = link_names(robot)
    for index, joint in enumerate(robot.joints):
        body = SubElement(bodies[joint.parent], "body", name=names[index])
        _place(body, joint.rotation, joint.translation)
        _inertial(body, joint.inertia)
        _joint(body, robot, index)
        bodies[index] = body
    for shape in drawn(robot):
        _geom(bodies[shape.joint], shape)
    for frame in robot.frames:
        site = SubElement(bodies[frame.joint], "site", name=frame.name)
        _place(site, frame.rotation, frame.translation)
    _children_last(bodies)
    _motors(root, robot)
    return document(root, provenance(model, chi, HELD, gravity=True))


def _defaults(root: Element) -> None:
    default = SubElement(root, "default")
    SubElement(default, "joint", solimpfriction=HARD)
    SubElement(default, "geom", contype="0", conaffinity="0", mass="0", group="1")


def _place(element: Element, rotation: Array, translation: Array) -> None:
    if translation.any():
        element.set("pos", numbers(translation))
    if not np.array_equal(rotation, np.eye(3)):
        x, y, z, w = Rotation.from_matrix(rotation).as_quat().tolist()
        element.set("quat", numbers([w, x, y, z]))


def _inertial(body: Element, phi: Array) -> None:
    """Principal axes: MuJoCo keeps these, and would find them less exactly than we do."""
    inertia = to_mujoco(phi)
    given = {"pos": numbers(inertia.ipos), "quat": numbers(inertia.iquat), "mass": number(inertia.mass)}
    SubElement(body, "inertial", given, diaginertia=numbers(inertia.diaginertia))


def _joint(body: Element, robot: Robot, index: int) -> None:
    joint = robot.joints[index]
    element = SubElement(body, "joint", name=joint.name, type="slide" if joint.is_prismatic else "hinge")
    element.set("axis", numbers(joint.axis))
    if bounded(robot, index):
        element.set("range", numbers([joint.limits.lower, joint.limits.upper]))
    if math.isfinite(joint.limits.torque):
        element.set("actuatorfrcrange", numbers([-joint.limits.torque, joint.limits.torque]))
    for attribute, key in TERMS:
        if robot.friction[key][index]:
            element.set(attribute, number(robot.friction[key][index]))


def _geom(body: Element, shape: Shape) -> None:
    radius, *lengths = shape.size
    size = [0.5 * v for v in shape.size] if shape.kind == "box" else [radius, *(0.5 * v for v in lengths)]
    element = SubElement(body, "geom", type=shape.kind, size=numbers(size), rgba=numbers(shape.colour))
    _place(element, shape.rotation, shape.translation)


def _children_last(bodies: dict[int, Element]) -> None:
    """A body's own parts before the bodies it carries."""
    for body in bodies.values():
        body[:] = sorted(body, key=lambda child: child.tag == "body")


def _motors(root: Element, robot: Robot) -> None:
    actuator = SubElement(root, "actuator")
    for joint in robot.joints:
        motor = SubElement(actuator, "motor", name=joint.name, joint=joint.name)
        if math.isfinite(joint.limits.torque):
            motor.set("ctrlrange", numbers([-joint.limits.torque, joint.limits.torque]))
