"""What exports of a whole robot (URDF, MJCF, SDF) share: a full set of parameters as a robot, XML with exact numbers,
names of bodies, and what to look at.

Base parameters alone describe many robots and no single one. A full set is refused when it is not there, and when no
robot can have it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import FRICTION_KEY_BY_SYMBOL, DynamicModel
from exciter.errors import ParameterError, visible
from exciter.export import templates
from exciter.export.term_expressions import presliding_travels
from exciter.identification.physical.bounds import physical_problems
from exciter.parameters.consistency import presentable
from exciter.parameters.conventions import UrdfInertia, to_mujoco, to_urdf
from exciter.parameters.inertial import UPPER_TRIANGLE, checked
from exciter.robot.coupling import LinearCoupling
from exciter.robot.drawing import drawing
from exciter.robot.geometry import Shape
from exciter.robot.robot import BASE, Frame, Joint, Robot
from exciter.typing import Array

if TYPE_CHECKING:
    from jinja2 import Environment

ESCAPES = {'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"}  #: of text in quotes, beside & < >
RESERVED_NAMES = ("world", "universe")  #: names that readers take for the ground
URDF_SYMBOLS = ("Fv", "Fs")  #: of the joint terms that URDF and SDF hold: damping, friction


def identified_robot(model: DynamicModel, chi: ArrayLike | None, form: str = "a robot") -> Robot:
    """The robot of a model with standard parameters χ (p,): inertias in its joint frames, rotor inertia and friction.

    Joints without such a term in the model have none, whatever the description says. Refused when no robot can have
    these parameters; bodies on the edge of what can exist are made ``presentable``. form: what it is for, in words."""
    if chi is None:
        raise ParameterError(
            f"only base parameters are known, which no single robot has, and {form} describes one; identify with "
            "the estimator consistent to get a full set (what torques cannot tell then comes from the description), or "
            "export yaml, c or python, which need base parameters only"
        )
    values = np.asarray(chi, dtype=float)
    if values.shape != (len(model.standard),) or not np.isfinite(values).all():
        raise ParameterError(
            f"χ has shape {values.shape}; {form} needs {len(model.standard)} finite numbers, the model's standard set"
        )
    problems = physical_problems(model, values)
    if problems:
        raise ParameterError(f"{problems[0]}; identify with the estimator 'consistent' to get a robot that can exist")
    named = dict(zip(model.standard, values.tolist(), strict=True))
    friction = {
        key: np.array([named.get(f"{symbol}{j + 1}", 0.0) for j in range(model.n)])
        for symbol, key in FRICTION_KEY_BY_SYMBOL.items()
    }
    inertias = np.array([presentable(phi) for phi in model.joint_frame_inertias(values)])
    inertias[list(model.robot.free_base[:-1])] = 0.0  # no bodies
    return replace(model.robot.with_inertias(inertias), friction=friction)


def left_out(model: DynamicModel, chi: ArrayLike, held: Sequence[str] = URDF_SYMBOLS) -> dict[str, str]:
    """Parameters of joint terms that are not zero and have no place in a file that holds the symbols ``held`` (URDF's
    unless given), by name, each with its value and unit."""
    named = zip(model.standard[model.inertial_size :], model.units[model.inertial_size :], strict=True)
    values = np.asarray(chi, dtype=float)[model.inertial_size :].tolist()
    kept = {f"{symbol}{j + 1}" for symbol in held for j in range(model.n)}
    every = zip(named, values, strict=True)
    return {name: f"{value:.9g} {unit}" for (name, unit), value in every if value and name not in kept}


def provenance(
    model: DynamicModel, chi: ArrayLike | None, held: Sequence[str] = URDF_SYMBOLS, *, gravity: bool = False
) -> str:
    """What the top of a file says: where its numbers come from, and what is not in it. gravity: whether it is."""
    assert chi is not None  # there is a robot of it
    words = ["Inertias and friction identified by Exciter."]
    lost = [f"{name} {value}" for name, value in left_out(model, chi, held).items()]
    if lost:
        words.append(f"Identified too, but without a place here: {', '.join(lost)}.")
    if travels := presliding_travels(model.terms, model.robot):
        each = ", ".join(f"{name} {travel:.3g}" for name, travel in travels.items())
        words.append(f"Dry friction builds up over a short travel [rad or m], which has no place here: {each}.")
    if not gravity:
        words.append(f"Gravity was ({', '.join(f'{v:g}' for v in model.robot.gravity)}) m/s² in the base frame.")
    return " ".join(words)


# -- XML --------------------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """The shortest text that gives the same number when read back."""
    return repr(float(value) + 0.0).removesuffix(".0")


def numbers(values: ArrayLike) -> str:
    return " ".join(number(value) for value in np.asarray(values, dtype=float))


def document(template: str, robot: Robot, comment: str, **values: Any) -> str:
    """The whole file, laid out by a template; comment: for people, at the top."""
    text = _templates().get_template(template).render(robot=robot, BASE=BASE, **values)
    return '<?xml version="1.0"?>\n' + commented(comment) + text


@cache
def _templates() -> Environment:
    """Values of any kind stand in quotes or between tags as they are: numbers exact, text escaped."""
    found = templates(autoescape=True, finalize=_exact)
    found.filters |= {"attributes": attributes, "roll_pitch_yaw": roll_pitch_yaw, "about_centre": about_centre}
    found.filters |= {"joint_kind": joint_kind, "reference": reference, "to_mujoco": to_mujoco}
    return found


def _exact(value: Any) -> Any:
    from markupsafe import Markup

    if hasattr(value, "__html__"):
        return value
    if isinstance(value, str | int):
        return Markup(escape(str(value), ESCAPES))
    return Markup(number(value) if np.ndim(value) == 0 else numbers(value))


def attributes(values: Mapping[str, Any]) -> Any:
    """`` name="value"`` of each."""
    from markupsafe import Markup

    return Markup("").join(Markup(' {}="{}"').format(name, _exact(value)) for name, value in values.items())


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


def joint_kind(joint: Joint) -> str:
    """Revolute only with both limits: otherwise continuous."""
    return "prismatic" if joint.is_prismatic else "revolute" if bounded(joint) else "continuous"


def bounded(joint: Joint) -> bool:
    """Whether it has both position limits."""
    return math.isfinite(joint.limits.lower) and math.isfinite(joint.limits.upper)


@dataclass(frozen=True, eq=False)
class FreeBody:
    """The base link of a robot whose base is free: its name, and its inertia φ (10,) in its own frame."""

    link: str
    inertia: Array


def without_free_base(robot: Robot) -> tuple[Robot, FreeBody | None]:
    """The robot as files have it: a base link that nothing holds, instead of six joints. None where it is fixed."""
    if not (free := robot.free_base):
        return robot, None
    last, moving = robot.joints[free[-1]], [j for j in range(robot.n) if j not in free]
    if not moving:
        raise ParameterError(f"robot '{robot.name}' is a single body; only the URDF it was read from can be written")
    tree = [i for i in range(robot.n_bodies) if i not in free]  # the six are in front of bodies and of joints alike
    number = {old: new for new, old in enumerate(tree)} | {free[-1]: BASE}
    bodies = tuple(replace(robot.bodies[i], parent=number[robot.bodies[i].parent]) for i in tree)
    joints = tuple(replace(robot.joints[j], parent=number[robot.joints[j].parent]) for j in moving)
    coupling = robot.coupling
    if isinstance(coupling, LinearCoupling):
        coupling = LinearCoupling(coupling.matrix[np.ix_(tree, moving)], coupling.offset[tree])
    elif coupling is not None:
        raise ParameterError(f"robot '{robot.name}' has loops and a free base, which no file here has a place for")
    kept: dict[str, Any] = {
        kind: tuple(replace(one, joint=number[one.joint]) for one in getattr(robot, kind) if one.joint in number)
        for kind in ("frames", "shapes", "capsules")
    }
    friction = {key: values[moving] for key, values in robot.friction.items()}
    names = {capsule.name for capsule in kept["capsules"]}
    pairs = tuple(pair for pair in robot.collision_pairs if names.issuperset(pair))
    parts: dict[str, Any] = {"joints": joints, "bodies": bodies, "coupling": coupling, "friction": friction}
    found = replace(robot, collision_pairs=pairs, **parts, **kept)
    return found, FreeBody(last.link or f"{robot.name}_base", last.inertia)


def link_names(robot: Robot, base: FreeBody | None = None) -> dict[int, str]:
    """One name per body, the base's included, none twice and none that a frame has. base: where it is free."""
    names: dict[int, str] = {}
    first = "base_link" if base is None else base.link
    for index in (BASE, *range(robot.n_bodies)):
        name = first if index == BASE else robot.bodies[index].link or f"{robot.bodies[index].name}_link"
        others = {frame.name for frame in robot.frames if not _is_origin(frame, index)}
        while name in RESERVED_NAMES or name in names.values() or name in others:
            name += "_body"
        names[index] = name
    return names


def free_name(name: str, taken: set[str], suffix: str = "_frame") -> str:
    return name if name not in taken else free_name(f"{name}{suffix}", taken, suffix)


def _is_origin(frame: Frame, index: int) -> bool:
    """Whether a frame is the body's own: then the body may bear its name."""
    return frame.joint == index and np.array_equal(frame.rotation, np.eye(3)) and not frame.translation.any()


# -- what to look at -------------------------------------------------------------------------------------------------


def visuals(robot: Robot, *, files: bool = False) -> list[Shape]:
    """The shapes of the description, meshes that can be read included; capsules of bodies without, those without
    length as spheres, which readers ask for. files: only meshes whose files are there."""
    there = [shape for shape in robot.shapes if shape.kind != "mesh" or not files or isfile(shape.mesh)]
    return [
        replace(shape, kind="sphere", size=shape.size[:1]) if shape.kind == "capsule" and not shape.size[1] else shape
        for shape in drawing(replace(robot, shapes=tuple(there))).shapes
    ]


def reference(mesh: str, folder: Path | None) -> str:
    """The path of a mesh file as a file in ``folder`` names it; absolute without one, or on another drive."""
    try:
        path = os.path.abspath(mesh) if folder is None else os.path.relpath(mesh, folder)
    except ValueError:
        path = os.path.abspath(mesh)
    return path.replace(os.sep, "/")
