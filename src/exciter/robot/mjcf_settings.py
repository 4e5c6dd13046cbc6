"""What an MJCF file says once for many elements: compiler settings and default classes, resolved.

Elements come out with every inherited attribute written on them, angles in rad, orientations as matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from exciter.errors import RobotError, unknown_name
from exciter.robot.robot import STANDARD_GRAVITY
from exciter.robot.spatial import SINE_OF_OPPOSITE, axis_rotation, rotation_to
from exciter.robot.xml_safety import number, numbers
from exciter.typing import Array

Classes = dict[str, dict[str, dict[str, str]]]  # class → tag → attributes
# kinds of one thing, which share their defaults
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
#: What a <motor> among the defaults, or after them, takes back: the laws of force of other kinds.
LAWS_OF_FORCE = (
    "dyntype", "dynprm", "gaintype", "gainprm", "biastype", "biasprm", "kp", "ki", "kv", "dampratio", "timeconst",
    "area", "diameter", "bias", "motorconst", "force", "gain", "inheritrange",
)  # fmt: skip
KIND = "kind"  # no word of MJCF: the last of the kinds with a law of its own that an actuator went through
SINE_OF_AMBIGUOUS_ZAXIS = 1e-7  # of the angle to −z: below it MuJoCo 4 turns about x, earlier ones do below 1e-10
ADVICE = "let MuJoCo write the compiled model (mj_saveLastXML) and read that file"


@dataclass(frozen=True)
class Compiler:
    """The settings of <compiler> that bear on bodies and joints; defaults are MuJoCo's."""

    degrees: bool = True
    euler: str = "xyz"
    autolimits: bool = True
    inertia_from_geom: str = "auto"
    bound_mass: float = 0.0
    bound_inertia: float = 0.0
    inertia_groups: tuple[float, float] = (0.0, 5.0)
    mesh_folder: str = ""
    texture_folder: str = ""
    strip_path: bool = False

    @property
    def angle(self) -> float:
        """rad per unit of angle in the file."""
        return math.pi / 180.0 if self.degrees else 1.0


def read_compiler(root: Element) -> Compiler:
    """All <compiler> elements together; later ones win."""
    merged = Element("compiler")
    for element in root.findall("compiler"):
        merged.attrib.update(element.attrib)
    if merged.get("coordinate", "local") != "local":
        raise RobotError(f'compiler coordinate="{merged.get("coordinate")}" is not supported; {ADVICE}')
    if number(merged, "settotalmass", "the file", -1.0) > 0 or merged.get("balanceinertia") == "true":
        raise RobotError(f"compiler settotalmass and balanceinertia change masses unseen; {ADVICE}")
    euler = merged.get("eulerseq", "xyz")
    if len(euler) != 3 or euler.lower().strip("xyz"):
        raise RobotError(f'compiler eulerseq="{euler}" must be three letters out of xyzXYZ')
    assets = merged.get("assetdir", "")
    groups = numbers(merged, "inertiagrouprange", 2, "the file") or Compiler.inertia_groups
    return Compiler(
        degrees=merged.get("angle", "degree") == "degree",
        euler=euler,
        autolimits=merged.get("autolimits", "true") == "true",
        inertia_from_geom=merged.get("inertiafromgeom", "auto"),
        bound_mass=number(merged, "boundmass", "the file"),
        bound_inertia=number(merged, "boundinertia", "the file"),
        inertia_groups=(groups[0], groups[1]),
        mesh_folder=merged.get("meshdir", assets),
        texture_folder=merged.get("texturedir", assets),
        strip_path=merged.get("strippath") == "true",
    )


@dataclass(frozen=True)
class Options:
    """The settings of <option> that bear on torques: gravity [m/s²], which passive forces are switched on, and what of
    the actuators is: all, their limits of control, and but for some groups."""

    gravity: tuple[float, ...] = STANDARD_GRAVITY
    springs: bool = True
    damping: bool = True
    friction: bool = True
    equalities: bool = True
    actuation: bool = True
    controls_clamped: bool = True
    actuators_off: frozenset[int] = frozenset()


def read_options(root: Element) -> Options:
    """All <option> elements and their flags together; later ones win. A fluid around the robot is refused."""
    merged, flags = Element("option"), dict[str, str]()
    for element in root.findall("option"):
        merged.attrib.update(element.attrib)
        for flag in element.findall("flag"):
            flags.update(flag.attrib)
    off = {word for word, state in flags.items() if state == "disable"}
    fluid = [word for word in ("density", "viscosity") if number(merged, word, "the file") != 0.0]
    if fluid:
        given = ", ".join(f'{word}="{merged.get(word)}"' for word in fluid)
        raise RobotError(
            f"<option {given}> puts the robot into a fluid, whose forces the model does not have; remove it, "
            "or give 0, for a robot in air"
        )
    gravity = numbers(merged, "gravity", 3, "the file") or STANDARD_GRAVITY
    return Options(
        gravity=(0.0, 0.0, 0.0) if "gravity" in off else gravity,
        springs=not off & {"spring", "passive"},
        damping=not off & {"damper", "passive"},
        friction=not off & {"frictionloss", "constraint"},
        equalities=not off & {"equality", "constraint"},
        actuation="actuation" not in off,
        controls_clamped="clampctrl" not in off,
        actuators_off=frozenset(map(int, numbers(merged, "actuatorgroupdisable", None, "the file") or ())),
    )


def read_classes(root: Element) -> Classes:
    """Default classes with what they inherit; the top one is called "main" unless it has a name."""
    classes: Classes = {"main": {}}

    def enter(element: Element, name: str, inherited: dict[str, dict[str, str]]) -> None:
        known = {tag: dict(attributes) for tag, attributes in inherited.items()}
        for child in element:
            if child.tag != "default":
                tag = "actuator" if child.tag in ACTUATORS else child.tag
                known[tag] = _over(known.get(tag, {}), child)
        classes[name] = known
        for child in element.findall("default"):
            if not child.get("class"):
                raise RobotError("a nested <default> has no class name; give it one")
            enter(child, child.get("class", ""), known)

    for element in root.findall("default"):
        enter(element, "main", classes["main"])
        classes[element.get("class", "main")] = classes["main"]
    return classes


def resolved(element: Element, classes: Classes, childclass: str, kind: str = "") -> Element:
    """The element with the attributes of its class written on it; its own ones win. kind: what it is called among the
    defaults, its own tag unless given."""
    name = element.get("class", childclass)
    if name not in classes:
        raise RobotError(f"<{element.tag}>: {unknown_name('default class', name, classes)}")
    return Element(element.tag, _over(classes[name].get(kind or element.tag, {}), element))


def _over(inherited: dict[str, str], element: Element) -> dict[str, str]:
    """The attributes of an element over inherited ones. All kinds of actuators share one default, on which each leaves
    its law of force, as the last one wins; <general> changes what it names."""
    if element.tag not in ACTUATORS or element.tag == "general":
        return {**inherited, **element.attrib}
    kept = {word: text for word, text in inherited.items() if element.tag != "motor" or word not in LAWS_OF_FORCE}
    always = {"ctrllimited": "true"} if element.tag in ("damper", "adhesion") else {}
    return {**kept, **element.attrib, **always, KIND: element.tag}


def orientation(element: Element, compiler: Compiler, owner: str) -> Array:
    """Rotation of an element: quat (w, x, y, z), axisangle, euler, xyaxes or zaxis; identity without any."""
    given = [a for a in ("quat", "axisangle", "euler", "xyaxes", "zaxis") if element.get(a) is not None]
    if len(given) > 1:
        raise RobotError(f"<{element.tag}> of {owner} has several orientations ({', '.join(given)}); give one")
    if not given:
        return np.eye(3)
    count = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[given[0]]
    values = np.array(numbers(element, given[0], count, owner))
    if given[0] == "euler":
        return _euler(values * compiler.angle, compiler.euler)
    if given[0] == "axisangle":
        return axis_rotation(_unit(values[:3], owner), values[3] * compiler.angle)
    if given[0] == "zaxis":
        return rotation_to_axis(values, owner)
    if given[0] == "xyaxes":
        x = _unit(values[:3], owner)
        y = _unit(values[3:] - x * (x @ values[3:]), owner)
        return np.column_stack([x, y, np.cross(x, y)])
    w, x, y, z = _unit(values, owner)
    return np.asarray(Rotation.from_quat([x, y, z, w]).as_matrix())


def rotation_to_axis(axis: Array, owner: str) -> Array:
    """The rotation that MuJoCo means by an axis z."""
    x, y, z = _unit(axis, owner)
    if z < 0.0 and SINE_OF_OPPOSITE <= math.hypot(x, y) < SINE_OF_AMBIGUOUS_ZAXIS:
        raise RobotError(
            f"zaxis or fromto of {owner} points so nearly to -z that MuJoCo's versions turn it about different axes; "
            "give exactly 0 0 -1, or quat"
        )
    return rotation_to([x, y, z])


def quaternion_of(rotation: Array) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation."""
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return np.array([w, x, y, z])


def _euler(angles: Array, sequence: str) -> Array:
    """Small letters turn about the axes that move along, capitals about the axes that stay."""
    rotation = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        turn = axis_rotation(np.eye(3)["xyz".index(letter.lower())], float(angle))
        rotation = rotation @ turn if letter.islower() else turn @ rotation
    return rotation


def _unit(vector: Array, owner: str) -> Array:
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        raise RobotError(f"an orientation or axis of {owner} has no direction: {vector.tolist()}")
    return vector / length
