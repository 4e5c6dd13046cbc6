"""A robot as MJCF, what MuJoCo loads: bodies, joints, inertias, friction, rotors, gravity, motors, visuals.

Viscous friction is MuJoCo's damping, rotor inertia its armature, Coulomb friction its frictionloss. That last one is a
constraint, not a force: MuJoCo gives ±Fs to a joint that slides and what keeps it there to one that rests. It is made
as hard as MuJoCo allows, since by default a light joint would feel only a part of it. Frames are sites, shapes are
geoms of group 2 without mass that touch nothing, and every joint has a motor whose control is its torque [N·m or N].
Meshes are references to their files; those that MuJoCo cannot read (such as DAE) are written into the file, coarser."""

from __future__ import annotations

import math
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.export.loops import WrittenLoops
from exciter.export.robot_xml import (
    bounded,
    document,
    identified_robot,
    link_names,
    provenance,
    reference,
    visuals,
    without_free_base,
)
from exciter.robot.coupling import mimics_of
from exciter.robot.geometry import Shape
from exciter.robot.robot import Frame, Joint, Robot

MJCF_SYMBOLS = ("Fv", "Fs", "Ia")  #: of the joint terms that MJCF holds: damping, frictionloss, armature
HARD_FRICTION = "0.9999 0.9999 0.001 0.5 2"  #: solimp of dry friction: next to no creep at rest
JOINT_TERMS = (("damping", "viscous"), ("frictionloss", "coulomb"), ("armature", "rotor_inertia"))
LEAST_MESH_VERTICES = 4  #: of a mesh: MuJoCo refuses a model with fewer
MOST_MUJOCO_FACES = 200_000  #: of a mesh file: MuJoCo refuses more
STL_HEAD_BYTES, STL_FACE_BYTES = 84, 50  #: of a binary STL file


def mjcf_text(model: DynamicModel, chi: ArrayLike | None, folder: Path | None = None) -> str:
    """The MJCF of a model with the full set χ (p,); what it has no place for stands in a comment at the top. folder:
    where the file will lie, from which paths of meshes are seen; absolute ones unless given."""
    robot, base = without_free_base(identified_robot(model, chi, "MJCF"))
    loops = WrittenLoops.of(robot)
    robot = robot if loops is None else loops.robot
    shapes = [
        shape for shape in visuals(robot) if shape.surface is None or len(shape.surface.vertices) >= LEAST_MESH_VERTICES
    ]
    meshes = {(shape.mesh, shape.size): shape for shape in shapes if shape.surface is not None}
    names = {key: f"mesh_{count}" for count, key in enumerate(meshes, start=1)}
    return document(
        "robot.mjcf.in",
        robot,
        provenance(model, chi, MJCF_SYMBOLS, gravity=True),
        hard_friction=HARD_FRICTION,
        base=base,
        links=link_names(robot, base),
        joints=[(index, joint, placement(joint)) for index, joint in enumerate(robot.bodies)],
        mimics=mimics_of(robot, "MJCF"),
        loops=loops,
        sites=[(frame, placement(frame)) for frame in (robot.frames if loops is None else loops.sites)],
        limits=[_limits(robot, body) for body in robot.bodies],
        motors=[(joint, _torques(joint, "ctrlrange")) for joint in robot.joints if joint.actuated],
        meshes=[{"name": names[key], **_mesh(shape, folder)} for key, shape in meshes.items()],
        geoms=[(shape.joint, _geom(shape, names)) for shape in shapes],
    )


def placement(part: Joint | Frame | Shape) -> dict[str, Any]:
    """Where it is in what carries it; nothing for what is not moved or turned."""
    place: dict[str, Any] = {"pos": part.translation} if part.translation.any() else {}
    if not np.array_equal(part.rotation, np.eye(3)):
        x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(part.rotation).as_quat().tolist()
        place["quat"] = [w, x, y, z]
    return place


def _limits(robot: Robot, body: Joint) -> dict[str, Any]:
    """Of a joint that follows another its range alone: drive and friction are that one's."""
    own = body.name in robot.joint_names
    index = robot.joint_names.index(body.name) if own else 0
    joint = robot.joints[index] if own else body
    ends = {"range": [joint.limits.lower, joint.limits.upper]} if bounded(joint) else {}
    if not own:
        return ends
    terms = {name: robot.friction[key][index] for name, key in JOINT_TERMS if robot.friction[key][index]}
    return {**ends, **_torques(joint, "actuatorfrcrange"), **terms}


def _torques(joint: Joint, name: str) -> dict[str, Any]:
    limit = joint.limits.torque
    return {name: [-limit, limit]} if math.isfinite(limit) else {}


def _mesh(shape: Shape, folder: Path | None) -> dict[str, Any]:
    """By its file and scale, or with all its points; a visual need not enclose a volume: a shell."""
    path, readable = Path(shape.mesh), False
    if isfile(path):  # which MuJoCo reads: OBJ, or binary STL of so many faces
        suffix, (faces, rest) = path.suffix.lower(), divmod(path.stat().st_size - STL_HEAD_BYTES, STL_FACE_BYTES)
        readable = suffix == ".obj" or (suffix == ".stl" and rest == 0 and 0 < faces <= MOST_MUJOCO_FACES)
    if readable:
        return {"inertia": "shell", "file": reference(shape.mesh, folder), "scale": shape.size}
    assert shape.surface is not None
    points = " ".join(f"{value:.6g}" for value in shape.surface.vertices.ravel())
    return {"inertia": "shell", "vertex": points, "face": " ".join(map(str, shape.surface.faces.ravel()))}


def _geom(shape: Shape, meshes: dict[tuple[str, tuple[float, ...]], str]) -> dict[str, Any]:
    radius, *lengths = shape.size
    size = [0.5 * v for v in shape.size] if shape.kind == "box" else [radius, *(0.5 * v for v in lengths)]
    extent = {"mesh": meshes[shape.mesh, shape.size]} if shape.kind == "mesh" else {"size": size}
    return {"type": shape.kind, **extent, "rgba": shape.colour, **placement(shape)}
