"""Joint terms as source text: one expression per entry, in the arithmetic that C and NumPy have in common.

``q[2]``, ``qd[2]``, ``qdd[2]`` are position, velocity and acceleration of the third joint, a number in C and a row over
samples in Python; ``load[2]`` is the torque that known bodies need there. Functions are those of C's
math.h, which NumPy has under the same names, and the few ``HELPERS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    Coulomb,
    CoupledSqrtViscous,
    Dahl,
    DriveCoupling,
    FrictionShape,
    GasSpring,
    GravitySpring,
    JointTerm,
    LoadFriction,
    Offset,
    Ripple,
    RotorInertia,
    Sign,
    Spring,
    SqrtViscous,
    Stribeck,
    Tanh,
    Viscous,
)
from exciter.parameters.terms.friction import STANDSTILL_SPEED, DryFriction
from exciter.parameters.terms.term import joint_indices, per_joint, revolute_indices
from exciter.robot.robot import Robot

MATH_FUNCTIONS = ("copysign", "cos", "exp", "fabs", "fmax", "fmin", "sin", "sqrt", "tanh")  #: of math.h, and of NumPy


@dataclass(frozen=True)
class Helper:
    """A function of numbers: its name, its arguments, the expression it returns, and what that is."""

    name: str
    arguments: tuple[str, ...]
    expression: str
    about: str


HELPERS = (
    Helper(
        "direction",
        ("velocity",),
        f"copysign(1.0, velocity) * (fabs(velocity) > {STANDSTILL_SPEED!r})",
        f"Direction of motion: -1, 1, or 0 at rest (slower than {STANDSTILL_SPEED:g} rad/s or m/s).",
    ),
    Helper(
        "signed_root",
        ("velocity", "width"),
        "velocity / sqrt(sqrt(velocity * velocity + width * width))",
        "Root of the speed with its direction, rounded off within width.",
    ),
    Helper("bell", ("x",), "exp(-x * x)", "What is left of the Stribeck effect at x times its velocity."),
    Helper(
        "lever_length",
        ("angle", "base", "link"),
        "sqrt(base * base + link * link - 2.0 * base * link * cos(angle))",
        "Length [m] of a spring between points at distances base and link [m] from the axis.",
    ),
    Helper(
        "lever_arm",
        ("angle", "base", "link"),
        "base * link * sin(angle) / lever_length(angle, base, link)",
        "Its lever arm [m]: derivative of the length by the angle.",
    ),
)


def expressions(term: JointTerm, robot: Robot) -> list[str]:
    """One per entry of the bound term, in the order of its ``rows``; a term that cannot be written is refused."""
    write = WRITERS.get(type(term))
    if write is None:
        raise ParameterError(
            f"{type(term).__name__} is a term of your own: code can be written of the terms that come with exciter; "
            "identify without it, or export yaml and add it by hand"
        )
    return write(term, robot)


def used_helpers(texts: Iterable[str]) -> tuple[Helper, ...]:
    """Those that appear in the texts, and those that these need, before what uses them."""
    words = used_words(texts)
    for helper in reversed(HELPERS):
        if helper.name in words:
            words |= used_words([helper.expression])
    return tuple(helper for helper in HELPERS if helper.name in words)


def used_words(texts: Iterable[str]) -> set[str]:
    """Names in source text."""
    return {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}


# -- numbers and shapes ------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Shortest text that gives the number back, for C, Python and people."""
    if not np.isfinite(value):
        raise ParameterError(f"code cannot be written with the number {value}; give finite parameters and settings")
    return repr(float(value) + 0.0)


def _plus(text: str, value: float) -> str:
    return text if value == 0 else f"{text} {'-' if value < 0 else '+'} {number(abs(value))}"


def _times(value: float, text: str) -> str:
    return text if value == 1 else f"{number(value)} * {text}"


def _direction(shape: FrictionShape, names: list[str], velocities: list[str]) -> list[str]:
    """z of the named joints, from their velocities."""
    if type(shape) is Sign:
        return [f"direction({velocity})" for velocity in velocities]
    if type(shape) is Tanh:
        widths = per_joint(shape.width, names, "the width of Tanh")[:, 0]
        return [
            f"tanh({f'({velocity})' if ' ' in velocity else velocity} / {number(width)})"
            for velocity, width in zip(velocities, widths, strict=True)
        ]
    what = "pre-sliding friction (Dahl)" if isinstance(shape, Dahl) else f"the friction shape {type(shape).__name__}"
    raise ParameterError(
        f"{what} of {', '.join(names)} depends on earlier instants, and exported functions know only the present one; "
        "identify with friction: as-given under identify:, and another shape: the plain coulomb, or {coulomb: {shape: "
        "{tanh: {width: …}}}}"
    )


def _dry(term: DryFriction, robot: Robot) -> tuple[list[int], list[str]]:
    """Joints of a term and their z."""
    joints = joint_indices(robot, term.joints)
    names = [robot.joint_names[j] for j in joints]
    return joints, _direction(term.shape, names, [f"qd[{j}]" for j in joints])


# -- the terms ---------------------------------------------------------------------------------------------------------


def _each(expression: str) -> Callable[[Any, Robot], list[str]]:
    """The same for every joint ``j`` of a term."""
    return lambda term, robot: [expression.format(j=j) for j in joint_indices(robot, term.joints)]


def _coulomb(term: Coulomb, robot: Robot) -> list[str]:
    return _dry(term, robot)[1]


def _asymmetric(term: AsymmetricCoulomb, robot: Robot) -> list[str]:
    return [f"{function}({one}, 0.0)" for function in ("fmax", "fmin") for one in _dry(term, robot)[1]]


def _root(term: SqrtViscous, robot: Robot) -> list[str]:
    joints = joint_indices(robot, term.joints)
    widths = per_joint(term.width, [robot.joint_names[j] for j in joints], "the width of SqrtViscous")[:, 0]
    return [f"signed_root(qd[{j}], {number(width)})" for j, width in zip(joints, widths, strict=True)]


def _stribeck(term: Stribeck, robot: Robot) -> list[str]:
    joints, z = _dry(term, robot)
    names = [robot.joint_names[j] for j in joints]
    velocities = map(number, per_joint(term.velocity, names, "the velocity of Stribeck")[:, 0])
    return [f"{one} * bell(qd[{j}] / {velocity})" for j, one, velocity in zip(joints, z, velocities, strict=True)]


def _load(term: LoadFriction, robot: Robot) -> list[str]:
    carried = {j: f"load[{j}]" for j in range(robot.n)}
    for spring, value in term.springs:
        bound, values = spring.bind(robot), np.atleast_1d(value)
        for (joint, column), text in zip(bound.rows, expressions(spring, robot), strict=True):
            carried[joint] += f" + {number(values[column])} * ({text})"
    return [f"{one} * fabs({carried[j]})" for j, one in zip(*_dry(term, robot), strict=True)]


def _lever(term: Spring | GasSpring, robot: Robot) -> tuple[str, str]:
    """Length and lever arm."""
    angle = _plus(f"q[{robot.index(term.joint)}]", term.offset)
    arguments = f"({angle}, {number(term.base_arm)}, {number(term.link_arm)})"
    return f"lever_length{arguments}", f"lever_arm{arguments}"


def _spring(term: Spring, robot: Robot) -> list[str]:
    length, arm = _lever(term, robot)
    return [f"({_plus(length, -term.free_length)}) * {arm}", arm]


def _gas_spring(term: GasSpring, robot: Robot) -> list[str]:
    length, arm = _lever(term, robot)
    return [f"{arm} / (1.0 - {number(term.area / term.volume)} * ({_plus(length, -term.shortest)}))"]


def _gravity_spring(term: GravitySpring, robot: Robot) -> list[str]:
    angle = _plus(f"q[{robot.index(term.joint)}]", term.offset)
    return [f"sin({angle})", f"cos({angle})"]


def _ripple(term: Ripple, robot: Robot) -> list[str]:
    joints = revolute_indices(robot, term.joints, "Ripple")
    return [f"{function}(q[{j}])" for function in ("sin", "cos") for j in joints]


def _drive_coupling(term: DriveCoupling, robot: Robot) -> list[str]:
    first, second, ratio = robot.index(term.first), robot.index(term.second), term.ratio
    (z,) = _direction(term.shape, [term.second], [_motor(term, robot)])
    linear = [_times(ratio, f"{x}[{j}]") for x in ("qdd", "qd") for j in (second, first)]
    return [*linear, _times(ratio, z), z]


def _coupled_root(term: CoupledSqrtViscous, robot: Robot) -> list[str]:
    width = float(per_joint(term.width, [term.second], "the width of CoupledSqrtViscous")[0, 0])
    root = f"signed_root({_motor(term, robot)}, {number(width)})"
    return [_times(term.ratio, root), root]


def _motor(term: DriveCoupling | CoupledSqrtViscous, robot: Robot) -> str:
    """Speed of a motor that turns with two joints."""
    return f"{_times(term.ratio, f'qd[{robot.index(term.first)}]')} + qd[{robot.index(term.second)}]"


WRITERS: dict[type[JointTerm], Callable[[Any, Robot], list[str]]] = {
    RotorInertia: _each("qdd[{j}]"),
    Viscous: _each("qd[{j}]"),
    Offset: _each("1.0"),
    Coulomb: _coulomb,
    AsymmetricCoulomb: _asymmetric,
    SqrtViscous: _root,
    Stribeck: _stribeck,
    LoadFriction: _load,
    Ripple: _ripple,
    Spring: _spring,
    GasSpring: _gas_spring,
    GravitySpring: _gravity_spring,
    DriveCoupling: _drive_coupling,
    CoupledSqrtViscous: _coupled_root,
}
