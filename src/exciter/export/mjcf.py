"""A robot as MJCF, what MuJoCo loads: bodies, joints, inertias, friction, rotors, gravity, motors, visuals.

Viscous friction is MuJoCo's damping, rotor inertia its armature, Coulomb friction its frictionloss. That last one is a
constraint, not a force: MuJoCo gives ±Fs to a joint that slides and what keeps it there to one that rests. It is made
as hard as MuJoCo allows, since by default a light joint would feel only a part of it. Frames are sites, shapes are
geoms of group 2 without mass that touch nothing, and every joint has a motor whose control is its torque [N·m or N].
Meshes are references to their files; those that MuJoCo cannot read (such as DAE) are written into the file, coarser.
"""

from __future__ import annotations

import math
from os.path import isfile
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from exciter.dynamics.model import DynamicModel
from exciter.export.robot_xml import (
    bounded,
    document,
    identified_robot,
    link_names,
    number,
    numbers,
    provenance,
    reference,
    visuals,
)
from exciter.parameters.conventions import to_mujoco
from exciter.robot.geometry import Shape
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

MJCF_SYMBOLS = ("Fv", "Fs", "Ia")  #: of the joint terms that MJCF holds: damping, frictionloss, armature
HARD_FRICTION = "0.9999 0.9999 0.001 0.5 2"  #: solimp of dry friction: next to no creep at rest
JOINT_TERMS = (("damping", "viscous"), ("frictionloss", "coulomb"), ("armature", "rotor_inertia"))
LEAST_MESH_VERTICES = 4  #: of a mesh: MuJoCo refuses a model with fewer
MOST_MUJOCO_FACES = 200_000  #: of a mesh file: MuJoCo refuses more
STL_HEAD_BYTES, STL_FACE_BYTES = 84, 50  #: of a binary STL file


def mjcf_text(model: DynamicModel, chi: ArrayLike | None, folder: Path | None = None) -> str:
    """The MJCF of a model with the full set χ (p,); what it has no place for stands in a comment at the top. folder:
    where the file will lie, from which paths of meshes are seen; absolute ones unless given."""
    robot = identified_robot(model, chi, "MJCF")
    assert chi is not None
    root = Element("mujoco", model=robot.name)
    SubElement(root, "compiler", angle="radian", autolimits="true")
    SubElement(root, "option", gravity=numbers(robot.gravity))
    default = SubElement(root, "default")
    SubElement(default, "joint", solimpfriction=HARD_FRICTION)
    SubElement(default, "geom", contype="0", conaffinity="0", mass="0", group="2")
    shapes = [
        shape for shape in visuals(robot) if shape.surface is None or len(shape.surface.vertices) >= LEAST_MESH_VERTICES
    ]
    meshes = _assets(root, shapes, folder)
    bodies = {BASE: SubElement(root, "worldbody")}
    names = link_names(robot)
    for index, joint in enumerate(robot.joints):
        body = SubElement(bodies[joint.parent], "body", name=names[index])
        _place(body, joint.rotation, joint.translation)
        _inertial(body, joint.inertia)
        _joint(body, robot, index)
        bodies[index] = body
    for shape in shapes:
        _geom(bodies[shape.joint], shape, meshes)
    for frame in robot.frames:
        site = SubElement(bodies[frame.joint], "site", name=frame.name)
        _place(site, frame.rotation, frame.translation)
    for body in bodies.values():  # a body's own parts before the bodies it carries
        body[:] = sorted(body, key=lambda child: child.tag == "body")
    _motors(root, robot)
    return document(root, provenance(model, chi, MJCF_SYMBOLS, gravity=True))


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
    for attribute, key in JOINT_TERMS:
        if robot.friction[key][index]:
            element.set(attribute, number(robot.friction[key][index]))


def _motors(root: Element, robot: Robot) -> None:
    actuator = SubElement(root, "actuator")
    for joint in robot.joints:
        motor = SubElement(actuator, "motor", name=joint.name, joint=joint.name)
        if math.isfinite(joint.limits.torque):
            motor.set("ctrlrange", numbers([-joint.limits.torque, joint.limits.torque]))


# -- what to look at ---------------------------------------------------------------------------------------------------


def _assets(root: Element, shapes: list[Shape], folder: Path | None) -> dict[tuple[str, tuple[float, ...]], str]:
    """The names of the meshes, by file and scale."""
    meshes = {(shape.mesh, shape.size): shape for shape in shapes if shape.surface is not None}
    asset = SubElement(root, "asset") if meshes else root
    names = {}
    for count, (key, shape) in enumerate(meshes.items(), start=1):
        names[key] = f"mesh_{count}"
        mesh = SubElement(asset, "mesh", name=names[key], inertia="shell")  # a visual need not enclose a volume
        if _readable(shape.mesh):
            mesh.set("file", reference(shape.mesh, folder))
            mesh.set("scale", numbers(shape.size))
        elif shape.surface is not None:
            mesh.set("vertex", " ".join(f"{value:.6g}" for value in shape.surface.vertices.ravel()))
            mesh.set("face", " ".join(map(str, shape.surface.faces.ravel())))
    return names


def _readable(path: str) -> bool:
    """Whether MuJoCo reads this file: OBJ, or binary STL of so many faces."""
    if not isfile(path):
        return False
    suffix = Path(path).suffix.lower()
    faces, rest = divmod(Path(path).stat().st_size - STL_HEAD_BYTES, STL_FACE_BYTES)
    return suffix == ".obj" or (suffix == ".stl" and rest == 0 and 0 < faces <= MOST_MUJOCO_FACES)


def _geom(body: Element, shape: Shape, meshes: dict[tuple[str, tuple[float, ...]], str]) -> None:
    element = SubElement(body, "geom", type=shape.kind)
    if shape.kind == "mesh":
        element.set("mesh", meshes[shape.mesh, shape.size])
    else:
        radius, *lengths = shape.size
        size = [0.5 * v for v in shape.size] if shape.kind == "box" else [radius, *(0.5 * v for v in lengths)]
        element.set("size", numbers(size))
    element.set("rgba", numbers(shape.colour))
    _place(element, shape.rotation, shape.translation)
