"""Drives that were found, in the user's own file: MJCF or URDF with nothing but their attributes changed.

MJCF: armature, damping, frictionloss of joints; kp, kv and forcerange where the file has position actuators, through
their gear, or gainprm and biasprm of general ones that do the same. Of other actuators the control law is outside of
MuJoCo, and stays there. Rotor inertia and damping that actuators had are part of what the joint then has.
URDF: damping and friction of <dynamics>; it has no place for the rotor inertia. Both: masses of links and payloads,
where they were asked for (``drive_links.py``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from exciter.errors import RobotError
from exciter.export.drive_links import write_links
from exciter.export.xml_edit import EditableXml, xml_of
from exciter.identification.actuators.control_law import driven_joint, no_position_control
from exciter.identification.actuators.moved_links import ChangedLink
from exciter.robot.mjcf_model import compiled
from exciter.robot.mjcf_vocabulary import ACTUATOR_TAGS
from exciter.robot.xml_safety import parse_xml
from exciter.typing import Array

JOINT_ATTRIBUTES = {"armature": "armature", "damping": "damping", "friction": "frictionloss"}
DRIVES_MARKER = "Drives found by Exciter"


def described_drives(
    path: Path,
    joints: Sequence[str],
    drives: Mapping[str, Array],
    followers: Sequence[str] = (),
    links: Sequence[ChangedLink] = (),
) -> str:
    """The text of a description with the numbers (n,) of the drives of its joints, which are those of their followers
    too; links: those that are not as described."""
    names = (*joints, *followers)
    none = np.zeros(len(followers))
    drives = {word: np.concatenate([values, none]) for word, values in drives.items()}
    xml = EditableXml(xml_of(path))
    if xml.root.tag == "mujoco":
        _mjcf(xml, path, joints, names, drives)
    elif xml.root.tag == "robot":
        _urdf(xml, names, drives)
    else:
        raise RobotError(f"'{path}' is neither MJCF nor URDF; drives are written into these")
    write_links(xml, names, links)
    xml.head(f"<!-- {DRIVES_MARKER} from command and encoder; all else is as it was. -->", DRIVES_MARKER)
    return xml.text()


def _number(value: float) -> str:
    return repr(float(value))


def _mjcf(
    xml: EditableXml, path: Path, joints: Sequence[str], names: Sequence[str], drives: Mapping[str, Array]
) -> None:
    elements = {e.get("name", ""): e for body in xml.root.iter("worldbody") for e in body.iter("joint")}
    for j, name in enumerate(names):
        if name not in elements:
            raise RobotError(f"the MJCF has no joint '{name}'; give the file that the robot was read from")
        for kind, attribute in JOINT_ATTRIBUTES.items():
            xml.set(elements[name], attribute, _number(drives[kind][j]))
    written = [e for section in xml.root.findall("actuator") for e in section if e.tag in ACTUATOR_TAGS]
    read = compiled(parse_xml(path), path, path.parent).spec.actuators  # default classes and gears as MuJoCo has them
    for element, actuator in zip(written, read, strict=True):
        if (driven := driven_joint(actuator)) in joints:
            j = list(joints).index(str(driven))
            _servo(xml, element, actuator, {word: float(drives[word][j]) for word in ("kp", "kd", "limit")})


def _servo(xml: EditableXml, element: Element, actuator: Any, law: Mapping[str, float]) -> None:
    """law: of the joint, which feels the square of the gear."""
    for word in ("armature", "damping"):
        if np.any(getattr(actuator, word)):
            xml.set(element, word, "0")
    gear = float(actuator.gear[0])
    if gear == 0.0 or no_position_control(actuator):
        return
    kp, kv = (_number(law[word] / gear**2) for word in ("kp", "kd"))
    if element.tag == "position":
        xml.remove(element, "dampratio")  # which would say kv once more
        xml.set(element, "kp", kp)
        xml.set(element, "kv", kv)
    else:
        xml.set(element, "gainprm", kp)
        xml.set(element, "biasprm", f"0 -{kp} -{kv}")
    if math.isfinite(law["limit"]):
        limit = _number(law["limit"] / abs(gear))
        xml.set(element, "forcerange", f"-{limit} {limit}")


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
