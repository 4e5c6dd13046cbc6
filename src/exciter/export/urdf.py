"""A robot as URDF: bodies, joints, limits, friction; what Pinocchio, MuJoCo and ROS 2 load."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import NOMINAL, DynamicModel
from exciter.errors import ParameterError
from exciter.identification.physical.verdict import physical_problems
from exciter.parameters.conventions import UrdfInertia, to_urdf
from exciter.robot.robot import BASE, Robot

Array = NDArray[np.float64]
LEVEL = 1.0 - 1e-12  #: |sin(pitch)| beyond which roll and yaw turn about one axis
RESERVED = ("world", "universe")  #: names that readers of URDF take for the ground
UNLIMITED = 1e9  #: URDF wants a number for effort and velocity


def identified_robot(model: DynamicModel, chi: ArrayLike) -> Robot:
    """The robot of a model with standard parameters χ (p,): inertias in its joint frames, rotor inertia and friction.

    Joints without such a term in the model have none, whatever the description says. Refused when no robot can have
    these parameters.
    """
    chi = np.asarray(chi, dtype=float)
    problems = physical_problems(model, chi)
    if problems:
        raise ParameterError(f"{problems[0]}; identify with the estimator 'consistent' to get a robot that can exist")
    values = dict(zip(model.standard, chi.tolist(), strict=True))
    friction = {
        key: np.array([values.get(f"{symbol}{j + 1}", 0.0) for j in range(model.n)]) for symbol, key in NOMINAL.items()
    }
    return replace(model.robot.with_inertias(model.joint_frame_inertias(chi)), friction=friction)


def left_out(model: DynamicModel, chi: ArrayLike) -> tuple[str, ...]:
    """Parameters of joint terms that are not zero and have no place in a URDF, with their values."""
    named = zip(model.standard[10 * model.n :], model.units[10 * model.n :], strict=True)
    values = np.asarray(chi, dtype=float)[10 * model.n :].tolist()
    held = {f"{symbol}{j + 1}" for symbol in ("Fv", "Fs") for j in range(model.n)}
    return tuple(
        f"{name} {v:.9g} {unit}" for (name, unit), v in zip(named, values, strict=True) if v and name not in held
    )


def urdf_text(robot: Robot, comment: str = "") -> str:
    """The URDF of a robot. Bodies that are rigidly connected are one link; frames are links without mass.

    comment: for people, at the top.
    """
    root = Element("robot", name=robot.name)
    links = _link_names(robot)
    SubElement(root, "link", name=links[BASE])
    for index, joint in enumerate(robot.joints):
        link = SubElement(root, "link", name=links[index])
        if joint.inertia[0] > 0.0:
            _inertial(link, to_urdf(joint.inertia))
        element = SubElement(root, "joint", name=joint.name, type=_kind(robot, index))
        _origin(element, joint.rotation, joint.translation)
        SubElement(element, "parent", link=links[joint.parent])
        SubElement(element, "child", link=links[index])
        SubElement(element, "axis", xyz=_numbers(joint.axis))
        _limit(element, robot, index)
        _dynamics(element, robot, index)
    joints = set(robot.joint_names)
    for frame in robot.frames:
        if frame.name in links.values():
            continue
        SubElement(root, "link", name=frame.name)
        element = SubElement(root, "joint", name=_free(f"{frame.name}_fixed", joints), type="fixed")
        joints.add(element.get("name", ""))
        _origin(element, frame.rotation, frame.translation)
        SubElement(element, "parent", link=links[frame.joint])
        SubElement(element, "child", link=frame.name)
    indent(root)
    text = f"<!-- {comment.replace('--', '- -')} -->\n" if comment else ""  # two dashes would end the comment
    return '<?xml version="1.0"?>\n' + text + tostring(root, encoding="unicode") + "\n"


def _link_names(robot: Robot) -> dict[int, str]:
    """One name per body, the base's included, none twice and none that a frame has."""
    names: dict[int, str] = {}
    taken = {frame.name for frame in robot.frames}
    for index in (BASE, *range(robot.n)):
        name = "base_link" if index == BASE else robot.joints[index].link or f"{robot.joints[index].name}_link"
        while name in RESERVED or name in names.values() or (name in taken and not _is_origin(robot, name, index)):
            name += "_body"
        names[index] = name
    return names


def _free(name: str, taken: set[str]) -> str:
    return name if name not in taken else _free(f"{name}_frame", taken)


def _is_origin(robot: Robot, name: str, index: int) -> bool:
    """Whether the frame of that name is the body's own: then the body may bear its name."""
    frame = robot.frame(name)
    return frame.joint == index and np.array_equal(frame.rotation, np.eye(3)) and not frame.translation.any()


def _kind(robot: Robot, index: int) -> str:
    joint = robot.joints[index]
    if joint.is_prismatic:
        return "prismatic"
    bounded = math.isfinite(joint.limits.lower) and math.isfinite(joint.limits.upper)
    return "revolute" if bounded else "continuous"


def _inertial(link: Element, body: UrdfInertia) -> None:
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_numbers(body.xyz), rpy=_numbers(body.rpy))
    SubElement(inertial, "mass", value=_number(body.mass))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    SubElement(inertial, "inertia", {name: _number(getattr(body, name)) for name in names})


def _limit(element: Element, robot: Robot, index: int) -> None:
    limits = robot.joints[index].limits
    given = {}
    if math.isfinite(limits.lower) and math.isfinite(limits.upper):
        given = {"lower": _number(limits.lower), "upper": _number(limits.upper)}
    for name, value in (("effort", limits.torque), ("velocity", limits.velocity)):
        given[name] = _number(value if math.isfinite(value) else UNLIMITED)
    SubElement(element, "limit", given)


def _dynamics(element: Element, robot: Robot, index: int) -> None:
    keys = (("damping", "viscous"), ("friction", "coulomb"))
    given = {name: _number(robot.friction[key][index]) for name, key in keys if key in robot.friction}
    if given:
        SubElement(element, "dynamics", given)


def _origin(element: Element, rotation: Array, translation: Array) -> None:
    SubElement(element, "origin", xyz=_numbers(translation), rpy=_numbers(roll_pitch_yaw(rotation)))


def roll_pitch_yaw(rotation: Array) -> Array:
    """Angles of Rot_z(yaw) Rot_y(pitch) Rot_x(roll)."""
    sine = -rotation[2, 0]
    if abs(sine) > LEVEL:  # only roll ∓ yaw is determined
        return np.array([math.atan2(-rotation[1, 2], rotation[1, 1]), math.copysign(math.pi / 2, sine), 0.0])
    roll = math.atan2(rotation[2, 1], rotation[2, 2])
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    return np.array([roll, math.atan2(sine, math.hypot(rotation[0, 0], rotation[1, 0])), yaw])


def _numbers(values: ArrayLike) -> str:
    return " ".join(_number(value) for value in np.asarray(values, dtype=float))


def _number(value: float) -> str:
    return format(float(value) + 0.0, ".17g")
