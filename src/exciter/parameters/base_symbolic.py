"""Base parameters in closed form: from the modified-DH geometry and the direction of gravity, without
sampling.

Exact for serial and tree robots, revolute and prismatic joints, any gravity; see ``link_mobility`` for the
theory. The robot must be in modified-DH frames for the names to be those of the papers; the count and the
space are right in any frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters
from exciter.parameters.base_names import split_name
from exciter.parameters.base_numeric import judged, orthonormal_rows, select
from exciter.parameters.link_mobility import OFFSET, ROTOR, Mobility, mobility
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

ROTOR_SYMBOL, OFFSET_SYMBOL = "Ia", "off"
#: Joint terms that are odd in the joint's velocity: no inertia and no weight can look like them.
FRICTION_SYMBOLS = ("Fv", "Fr", "Fs", "Fst")
RIGHT_ANGLE = 1e-5  #: [rad] descriptions print π/2 with few digits; 1.5708 must be a right angle
TOLERANCE = 1e-9  #: singular values below this, in units of the robot's size, are zero


def symbolic_base(robot: Robot, terms: Sequence[str] = (), *, right_angle: float = RIGHT_ANGLE) -> BaseParameters:
    """Base parameters of the whole dynamics.

    terms: names of joint-term columns, in order, after the inertial ones: Ia1 (rotor inertia), off1
    (offset), Fv1, Fr1, Fs1, Fst1 (friction). right_angle [rad]: angles this close to a multiple of 90° count
    as that.
    """
    squared, turned = square_up(robot, right_angle)
    found = mobility(squared, tolerance=TOLERANCE)
    return _grouped(squared, found, terms, "closed form" + _remark(turned))


def symbolic_static_base(
    robot: Robot, terms: Sequence[str] = (), *, right_angle: float = RIGHT_ANGLE
) -> BaseParameters:
    """Base parameters of the gravity torques: what poses at rest can tell. terms: offsets (off1) only."""
    for name in terms:
        if split_name(name)[0] != OFFSET_SYMBOL:
            raise ParameterError(
                f"'{name}' has no effect at rest; poses at rest allow only offsets: {OFFSET_SYMBOL}1, …"
            )
    squared, turned = square_up(robot, right_angle)
    found = mobility(squared, kinetic=False, tolerance=TOLERANCE)
    return _grouped(squared, found, terms, "closed form, gravity only" + _remark(turned))


def square_up(robot: Robot, right_angle: float = RIGHT_ANGLE) -> tuple[Robot, float]:
    """The robot with nearly right angles made exact, gravity included; and the largest change."""
    joints = []
    changes = [0.0]
    for joint in robot.joints:
        rotation = np.where(np.abs(joint.rotation) < right_angle, 0.0, joint.rotation)
        u, _, vt = np.linalg.svd(rotation)  # the nearest rotation to what is left
        changed = float(np.abs(u @ vt - joint.rotation).max())
        if changed > 1e-14:
            changes.append(changed)
            joint = replace(joint, rotation=u @ vt, translation=_straightened(joint.translation, right_angle))
        joints.append(joint)
    gravity = _straightened(robot.gravity, right_angle)
    return replace(robot, joints=tuple(joints), gravity=gravity), max(changes)


def _straightened(vector: Array, right_angle: float) -> Array:
    """The vector without components that only say it is not quite at a right angle to that axis."""
    return np.where(np.abs(vector) < right_angle * np.linalg.norm(vector), 0.0, vector)


def _remark(turned: float) -> str:
    """For changes that are more than rounding."""
    return f" (angles within {turned:.1e} rad of a right angle taken as such)" if turned > 1e-9 else ""


def prismatic_links(robot: Robot) -> frozenset[int]:
    """Numbers, from 1, of the links that slide on the link before."""
    return frozenset(i + 1 for i, joint in enumerate(robot.joints) if joint.is_prismatic)


def _grouped(robot: Robot, found: Mobility, terms: Sequence[str], method: str) -> BaseParameters:
    places = [_place(name, robot.n) for name in terms]
    names = (*inertial.names(robot.n), *terms)
    wide = 10 * robot.n
    blocks: list[Array] = []
    values = [found.values]
    for i, link in enumerate(found.links):
        own = [(wide + k, column) for k, (joint, column) in enumerate(places) if joint == i and column >= 0]
        columns = [*range(10), *(column for _, column in own)]
        conditions, seen = orthonormal_rows(link.conditions[:, columns], TOLERANCE)
        values.append(seen)
        block = np.zeros((len(conditions), len(names)))
        for d, carry in _carried(found, i):
            block[:, 10 * d : 10 * d + 10] = conditions[:, :10] @ carry
        block[:, [k for k, _ in own]] = conditions[:, 10:]
        blocks.append(block)
    friction = [wide + k for k, (_, column) in enumerate(places) if column < 0]
    blocks.append(np.eye(len(names))[friction])
    stacked = np.vstack(blocks)  # independent rows: block triangular with independent blocks
    rows = np.linalg.qr(stacked.T)[0].T
    decision = judged(np.concatenate(values), TOLERANCE, rank=len(rows))
    scale = np.concatenate([np.tile(_inertial_scale(found.length), robot.n), _term_scale(robot, places, found)])
    return select(rows, scale, names, decision, method, prismatic=prismatic_links(robot))


def _carried(found: Mobility, i: int) -> list[tuple[int, Array]]:
    """Link i and all links it carries, each with the matrix that turns its φ into frame i at q = 0."""
    seen: dict[int, Array] = {i: np.eye(10)}
    for d in range(i + 1, len(found.links)):
        parent = found.links[d].parent
        if parent != BASE and parent in seen:
            seen[d] = seen[parent] @ found.links[d].carry
    return list(seen.items())


def _place(name: str, n: int) -> tuple[int, int]:
    """Joint index and column of C_i of a joint term; column −1 for friction."""
    symbol, number = split_name(name)
    columns = {ROTOR_SYMBOL: ROTOR, OFFSET_SYMBOL: OFFSET, **dict.fromkeys(FRICTION_SYMBOLS, -1)}
    if symbol not in columns or not 1 <= number <= n:
        allowed = ", ".join(f"{s}1…{s}{n}" for s in columns)
        raise ParameterError(
            f"the closed form does not know the joint term '{name}'; it knows {allowed}; "
            "use the numeric base parameters for others"
        )
    return number - 1, columns[symbol]


def _inertial_scale(length: float) -> Array:
    """Factors that make φ comparable: lengths in units of the robot's size."""
    return np.array([1.0, *[1.0 / length] * 3, *[1.0 / length**2] * 6])


def _term_scale(robot: Robot, places: Sequence[tuple[int, int]], found: Mobility) -> Array:
    """The same for joint terms: Ia beside φ in the kinetic energy, offsets beside it in the weight."""
    weight = float(np.linalg.norm(robot.gravity)) or 1.0
    scale = np.ones(len(places))
    for k, (joint, column) in enumerate(places):
        lever = 1.0 if robot.joints[joint].is_prismatic else found.length
        if column == ROTOR:
            scale[k] = 1.0 / lever**2
        elif column == OFFSET:
            scale[k] = 1.0 / (weight * lever)
    return scale
