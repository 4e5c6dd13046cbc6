"""Joint terms as source text: one expression per entry, in the arithmetic that C and NumPy have in common.

``q[2]``, ``qd[2]``, ``qdd[2]`` are position, velocity and acceleration of the third joint, a number in C and a row over
samples in Python; ``load[2]`` is the torque that known bodies need there. Functions are those of C's
math.h, which NumPy has under the same names, and the few ``HELPERS``. Pre-sliding friction stands as
``contact(place, travel, start)``, which ``numbered`` turns into ``z[0]``, ``z[1]``, …: what the caller remembers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from exciter.errors import ParameterError
from exciter.identification.runs.reversals import REST_SPEED_FRACTION
from exciter.parameters import terms
from exciter.parameters.terms.friction import STANDSTILL_SPEED, DryFriction
from exciter.parameters.terms.term import joint_indices, per_joint, revolute_indices
from exciter.robot.robot import Robot
from exciter.typing import Array

UNKNOWN_SPEED_LIMIT = 1.0  #: [rad/s or m/s] of a joint whose description has none
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


# -- friction that pre-slides ------------------------------------------------------------------------------------------


class SlidingContact(NamedTuple):
    """What bends before it slides: the expression of its place, travel δ [rad or m] and z at the start, as text."""

    place: str
    travel: str
    start: str

    @property
    def joint(self) -> int:
        """Which it belongs to: the second of a motor that turns with two."""
        return int(re.findall(r"q\[(\d+)\]", self.place)[-1])


def numbered(texts: Iterable[str]) -> tuple[list[str], tuple[SlidingContact, ...]]:
    """Expressions with ``z[k]`` for contact k, and all contacts; terms that slide in the same way share one."""
    pattern, given = re.compile(r"contact\((.+?), (.+?), (.+?)\)"), list(texts)
    contacts = tuple(dict.fromkeys(SlidingContact(*match) for text in given for match in pattern.findall(text)))
    return [
        pattern.sub(lambda match: f"z[{contacts.index(SlidingContact(*match.groups()))}]", one) for one in given
    ], contacts


def sliding(term: terms.JointTerm, robot: Robot) -> terms.JointTerm:
    """Pre-sliding friction as what it tends to after a few δ of travel, the direction of motion, without memory.

    z = tanh(q̇/w), w a hundredth of the velocity limit: slower, a joint counts as resting in identification too, since
    the sign of a measured velocity is then that of its noise; a controller that used it would chatter."""
    if type(getattr(term, "shape", None)) is not terms.Dahl:
        return term
    limit = robot.limit("velocity")
    fastest: Array = np.where(np.isfinite(limit), limit, UNKNOWN_SPEED_LIMIT)
    if isinstance(term, terms.DriveCoupling):
        motor = abs(term.ratio) * fastest[robot.index(term.first)] + fastest[robot.index(term.second)]
        return replace(term, shape=terms.Tanh(REST_SPEED_FRACTION * float(motor)))
    width = dict(zip(robot.joint_names, (REST_SPEED_FRACTION * fastest).tolist(), strict=True))
    return replace(term, shape=terms.Tanh(width)) if isinstance(term, DryFriction) else term


def presliding_travels(given: Iterable[terms.JointTerm], robot: Robot) -> dict[str, float]:
    """Joints with pre-sliding friction, or whose motor has it, and δ [rad or m]; the largest of several."""
    travels = dict[str, float]()
    for term in given:
        if isinstance(term, DryFriction | terms.DriveCoupling) and isinstance(term.shape, terms.Dahl):
            joints = (term.second,) if isinstance(term, terms.DriveCoupling) else term.joints
            names = [robot.joint_names[j] for j in joint_indices(robot, joints)]
            for name, delta in zip(names, per_joint(term.shape.delta, names, "delta")[:, 0].tolist(), strict=True):
                travels[name] = max(delta, travels.get(name, 0.0))
    return travels


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
    """z of the named joints, from their velocities; where it pre-slides, from the places that these are of."""
    if type(shape) is terms.Sign:
        return [f"direction({velocity})" for velocity in velocities]
    if type(shape) is terms.Tanh:
        widths = per_joint(shape.width, names, "the width of Tanh")[:, 0]
        return [
            f"tanh({f'({velocity})' if ' ' in velocity else velocity} / {number(width)})"
            for velocity, width in zip(velocities, widths, strict=True)
        ]
    if type(shape) is terms.Dahl:
        settings = zip(per_joint(shape.delta, names, "delta"), per_joint(shape.start, names, "start"), strict=True)
        return [
            f"contact({velocity.replace('qd[', 'q[')}, {number(delta)}, {number(start)})"
            for velocity, ((delta,), (start,)) in zip(velocities, settings, strict=True)
        ]
    raise ParameterError(
        f"the friction shape {type(shape).__name__} of {', '.join(names)} is of your own: code can be written of sign, "
        "tanh and dahl; identify with one of them, or export yaml and add it by hand"
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
