"""Joint terms as source text: one expression per entry, in the arithmetic that C and NumPy have in common.

``q[2]``, ``qd[2]``, ``qdd[2]`` are position, velocity and acceleration of the third joint, a number in C and a row over
samples in Python; ``load[2]`` is the torque that known bodies need there. Functions are those of C's
math.h, which NumPy has under the same names, and the few ``HELPERS``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters import terms
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


#: each with what it is below
HELPER_FORMULAS = f"""
direction(velocity) = copysign(1.0, velocity) * (fabs(velocity) > {STANDSTILL_SPEED!r})
Direction of motion: -1, 1, or 0 at rest (slower than {STANDSTILL_SPEED:g} rad/s or m/s).
signed_root(velocity, width) = velocity / sqrt(sqrt(velocity * velocity + width * width))
Root of the speed with its direction, rounded off within width.
bell(x) = exp(-x * x)
What is left of the Stribeck effect at x times its velocity.
lever_length(angle, base, link) = sqrt(base * base + link * link - 2.0 * base * link * cos(angle))
Length [m] of a spring between points at distances base and link [m] from the axis.
lever_arm(angle, base, link) = base * link * sin(angle) / lever_length(angle, base, link)
Its lever arm [m]: derivative of the length by the angle.
"""
HELPERS = tuple(
    Helper(name, tuple(arguments.split(", ")), expression, about)
    for name, arguments, expression, about in re.findall(r"(\w+)\((.*?)\) = (.*)\n(.*)\n", HELPER_FORMULAS)
)


def expressions(term: terms.JointTerm, robot: Robot) -> list[str]:
    """One per entry of the bound term, in the order of its ``rows``; a term that cannot be written is refused."""
    # what is derived from one of ours may compute something else
    own = type(term).__module__.startswith("exciter.") and not isinstance(term, terms.UserTerm)
    joints = joint_indices(robot, term.joints) if own and hasattr(term, "joints") else []
    refusal = ParameterError(
        f"{type(term).__name__} is a term of your own: code can be written of the terms that come with exciter; "
        "identify without it, or export yaml and add it by hand"
    )
    if not own:
        raise refusal
    match term:
        case terms.RotorInertia():
            return [f"qdd[{j}]" for j in joints]
        case terms.Viscous():
            return [f"qd[{j}]" for j in joints]
        case terms.Offset():
            return ["1.0"] * len(joints)
        case terms.Coulomb():
            return _dry(term, robot, joints)
        case terms.AsymmetricCoulomb():
            return [f"{function}({z}, 0.0)" for function in ("fmax", "fmin") for z in _dry(term, robot, joints)]
        case terms.SqrtViscous():
            widths = _numbers(term.width, robot, joints, "the width of SqrtViscous")
            return [f"signed_root(qd[{j}], {width})" for j, width in zip(joints, widths, strict=True)]
        case terms.Stribeck():
            velocities = _numbers(term.velocity, robot, joints, "the velocity of Stribeck")
            entries = zip(joints, _dry(term, robot, joints), velocities, strict=True)
            return [f"{z} * bell(qd[{j}] / {velocity})" for j, z, velocity in entries]
        case terms.LoadFriction():
            loads = _loads(term, robot)
            return [f"{z} * fabs({loads[j]})" for j, z in zip(joints, _dry(term, robot, joints), strict=True)]
        case terms.Ripple():
            turning = revolute_indices(robot, term.joints, "Ripple")
            return [f"{function}(q[{j}])" for function in ("sin", "cos") for j in turning]
        case terms.Spring():
            length, arm = _lever(term, robot)
            return [f"({_plus(length, -term.free_length)}) * {arm}", arm]
        case terms.GasSpring():
            length, arm = _lever(term, robot)
            return [f"{arm} / (1.0 - {number(term.area / term.volume)} * ({_plus(length, -term.shortest)}))"]
        case terms.GravitySpring():
            angle = _plus(f"q[{robot.index(term.joint)}]", term.offset)
            return [f"sin({angle})", f"cos({angle})"]
        case terms.DriveCoupling():
            first, second = robot.index(term.first), robot.index(term.second)
            (z,) = _direction(term.shape, [term.second], [_motor(term, robot)])
            linear = [_times(term.ratio, f"{x}[{j}]") for x in ("qdd", "qd") for j in (second, first)]
            return [*linear, _times(term.ratio, z), z]
        case terms.CoupledSqrtViscous():
            (width,) = _numbers(term.width, robot, [robot.index(term.second)], "the width of CoupledSqrtViscous")
            root = f"signed_root({_motor(term, robot)}, {width})"
            return [_times(term.ratio, root), root]
    raise refusal


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


def _direction(shape: terms.FrictionShape, names: list[str], velocities: list[str]) -> list[str]:
    """z of the named joints, from their velocities."""
    if type(shape) is terms.Sign:
        return [f"direction({velocity})" for velocity in velocities]
    if type(shape) is terms.Tanh:
        widths = per_joint(shape.width, names, "the width of Tanh")[:, 0]
        return [
            f"tanh({f'({velocity})' if ' ' in velocity else velocity} / {number(width)})"
            for velocity, width in zip(velocities, widths, strict=True)
        ]
    what = (
        "pre-sliding friction (Dahl)" if isinstance(shape, terms.Dahl) else f"the friction shape {type(shape).__name__}"
    )
    raise ParameterError(
        f"{what} of {', '.join(names)} depends on earlier instants, and exported functions know only the present one; "
        "identify with friction: as-given under identify:, and another shape: the plain coulomb, or {coulomb: {shape: "
        "{tanh: {width: …}}}}"
    )


def _dry(term: DryFriction, robot: Robot, joints: list[int]) -> list[str]:
    """z of the joints of a term."""
    return _direction(term.shape, [robot.joint_names[j] for j in joints], [f"qd[{j}]" for j in joints])


def _numbers(given: Any, robot: Robot, joints: list[int], what: str) -> list[str]:
    """One for each joint, of one for all or one each."""
    return [number(value) for value in per_joint(given, [robot.joint_names[j] for j in joints], what)[:, 0]]


def _loads(term: terms.LoadFriction, robot: Robot) -> list[str]:
    """What the gear of every joint carries."""
    carried = [f"load[{j}]" for j in range(robot.n)]
    for spring, value in term.springs:
        bound, values = spring.bind(robot), np.atleast_1d(value)
        for (joint, column), text in zip(bound.rows, expressions(spring, robot), strict=True):
            carried[joint] += f" + {number(values[column])} * ({text})"
    return carried


def _lever(term: terms.Spring | terms.GasSpring, robot: Robot) -> tuple[str, str]:
    """Length and lever arm."""
    angle = _plus(f"q[{robot.index(term.joint)}]", term.offset)
    arguments = f"({angle}, {number(term.base_arm)}, {number(term.link_arm)})"
    return f"lever_length{arguments}", f"lever_arm{arguments}"


def _motor(term: terms.DriveCoupling | terms.CoupledSqrtViscous, robot: Robot) -> str:
    """Speed of a motor that turns with two joints."""
    return f"{_times(term.ratio, f'qd[{robot.index(term.first)}]')} + qd[{robot.index(term.second)}]"
