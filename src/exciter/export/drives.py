"""Drives that were found, in the user's own file: MJCF or URDF with nothing but their attributes changed.

MJCF: armature, damping, frictionloss of joints; kp, kv and forcerange where the file has position actuators. Of other
actuators the control law is outside of MuJoCo, and stays there. URDF: damping and friction of <dynamics>; it has no
place for the rotor inertia."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from exciter.errors import RobotError
from exciter.export.xml_edit import EditableXml, xml_of
from exciter.typing import Array

JOINT_ATTRIBUTES = {"armature": "armature", "damping": "damping", "friction": "frictionloss"}
DRIVES_MARKER = "Drives found by Exciter"


def described_drives(path: Path, joints: Sequence[str], drives: Mapping[str, Array]) -> str:
    """The text of a description with the numbers (n,) of the drives of its joints."""
    xml = EditableXml(xml_of(path))
    if xml.root.tag == "mujoco":
        _mjcf(xml, joints, drives)
    elif xml.root.tag == "robot":
        _urdf(xml, joints, drives)
    else:
        raise RobotError(f"'{path}' is neither MJCF nor URDF; drives are written into these")
    xml.head(f"<!-- {DRIVES_MARKER} from command and encoder; all else is as it was. -->", DRIVES_MARKER)
    return xml.text()


def _number(value: float) -> str:
    return repr(float(value))


def _mjcf(xml: EditableXml, joints: Sequence[str], drives: Mapping[str, Array]) -> None:
    elements = {e.get("name", ""): e for body in xml.root.iter("worldbody") for e in body.iter("joint")}
    for j, name in enumerate(joints):
        if name not in elements:
            raise RobotError(f"the MJCF has no joint '{name}'; give the file that the robot was read from")
        for kind, attribute in JOINT_ATTRIBUTES.items():
            xml.set(elements[name], attribute, _number(drives[kind][j]))
    for servo in (e for section in xml.root.findall("actuator") for e in section.findall("position")):
        if (driven := servo.get("joint", "")) in joints:
            j = list(joints).index(driven)
            xml.set(servo, "kp", _number(drives["kp"][j]))
            xml.set(servo, "kv", _number(drives["kd"][j]))
            if math.isfinite(drives["limit"][j]):
                xml.set(servo, "forcerange", f"{_number(-drives['limit'][j])} {_number(drives['limit'][j])}")


def _urdf(xml: EditableXml, joints: Sequence[str], drives: Mapping[str, Array]) -> None:
    elements = {e.get("name", ""): e for e in xml.root.findall("joint")}
    for j, name in enumerate(joints):
        if name not in elements:
            raise RobotError(f"the URDF has no joint '{name}'; give the file that the robot was read from")
        given = {"damping": _number(drives["damping"][j]), "friction": _number(drives["friction"][j])}
        dynamics = elements[name].find("dynamics")
        if dynamics is None:
            text = " ".join(f'{key}="{value}"' for key, value in given.items())
            xml.insert(elements[name], [f"<dynamics {text}/>"], last=True)
        else:
            for key, value in given.items():
                xml.set(dynamics, key, value)
