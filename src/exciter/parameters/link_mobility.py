"""What each link can do, in closed form: the source of every grouping rule.

The torques vanish for every motion exactly when the kinetic energy vanishes and the potential energy is
constant. Take a change δφ of the inertial parameters and walk from the tips to the base. Only the terms of a
tip link i depend on q_i and q̇_i, so these energies must not depend on them; then the change acts on the
rest of the robot as if it were fixed to the link that carries i, and it can be added there. With the
composite change

    ψ_i = δφ_i + Σ_children A_c ψ_c           (A_c: φ of child c seen from frame i at q_c = 0)

a change is invisible exactly when C_i ψ_i = 0 for every link, where the rows of C_i say "the energy of ψ_i
does not depend on q_i and q̇_i". So the base parameters are the numbers C_i ψ_i and nothing else (the
recursive idea is that of Wensing, Niemeyer & Slotine; Khalil & Gautier's rules are its special cases). C_i
needs two spans, both found by walking from the base outwards, and both constant linear algebra, nothing is
sampled:

    velocities L_i ⊂ R⁶     all (v, ω) the link can have, in its own frame
    energies   O_i ⊂ R¹⁰    all rows e with energy = e φ_i that link i can have while the others move

Crossing joint i turns a row e of the carrying link into e A exp(q_i G), G the generator of the joint's
motion, so the dependence on q_i is in the powers e A Gᵏ, k ≥ 1; the dependence on q̇_i is the momentum along
the joint screw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.parameters.base_numeric import orthonormal_rows
from exciter.robot.robot import BASE, Joint, Robot
from exciter.robot.spatial import (
    from_pseudo_inertia,
    inertia_transform,
    pseudo_inertia,
    skew,
)
from exciter.typing import Array

ROTOR, OFFSET = (
    10,
    11,
)  #: columns of C_i after the ten of the link: rotor inertia and torque offset of joint i


@dataclass(frozen=True, eq=False)
class LinkMobility:
    """Link i (frame i, lengths divided by the robot's size).

    velocities (·, 6): basis of L_i, rows (v, ω). conditions (·, 12): C_i, orthonormal rows over the ten
    inertial parameters, the rotor inertia and the torque offset of joint i. carry (10, 10): A, φ_i seen from
    the parent.
    """

    parent: int
    velocities: Array
    conditions: Array
    carry: Array


@dataclass(frozen=True, eq=False)
class Mobility:
    """All links, and what the ranks relied on.

    length [m]: the robot's size. values: every singular value that was compared with the tolerance.
    """

    links: tuple[LinkMobility, ...]
    length: float
    values: Array


class _Spans:
    """Bases of row spaces with one tolerance; remembers the singular values it judged."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.judged: list[Array] = []

    def basis(self, *rows: Array) -> Array:
        basis, values = orthonormal_rows(np.vstack(rows), self.tolerance)
        self.judged.append(values)
        return basis

    def closure(self, rows: Array, generator: Array) -> Array:
        """Smallest space that contains the rows and, with every row x, also x · generator."""
        basis = self.basis(rows)
        while True:
            larger = self.basis(basis, basis @ generator)
            if len(larger) == len(basis):
                return larger
            basis = larger


def mobility(robot: Robot, *, kinetic: bool = True, gravity: bool = True, tolerance: float = 1e-9) -> Mobility:
    """Walk the robot from the base outwards.

    kinetic=False: statics, only gravity counts. gravity=False: as if weightless. tolerance: smaller
    singular values are zero; lengths are in units of the robot's size.
    """
    length = robot_size(robot)
    spans = _Spans(tolerance)
    down = np.zeros((1, 11))  # the energy row of the base, and 1: see _across
    down[0, 10] = 1.0
    if gravity and np.any(robot.gravity):
        down[0, 1:4] = -robot.gravity / np.linalg.norm(robot.gravity)
    links: list[LinkMobility] = []
    energies: list[Array] = []
    for joint in robot.joints:
        above = joint.parent
        reach = np.zeros((0, 6)) if above == BASE else links[above].velocities
        seen = down if above == BASE else energies[above]
        link, energy = _across(joint, length, reach, seen, spans, kinetic)
        links.append(link)
        energies.append(energy)
    values = np.sort(np.concatenate([v for v in spans.judged if len(v)]))[::-1]
    return Mobility(tuple(links), length, values)


def robot_size(robot: Robot) -> float:
    """A length typical of the robot [m]: the longest offset between two joints; 1 when all are zero."""
    longest = max(float(np.linalg.norm(_offset(joint))) for joint in robot.joints)
    return longest if longest > 0 else 1.0


def _offset(joint: Joint) -> Array:
    """Origin of the joint in the carrying link [m]; zero on the base, where it only adds a constant."""
    return np.zeros(3) if joint.parent == BASE else joint.translation


def _across(
    joint: Joint, length: float, reach: Array, seen: Array, spans: _Spans, kinetic: bool
) -> tuple[LinkMobility, Array]:
    """Cross one joint: what its link can do, from what the carrying link can do.

    ``seen`` (·, 11): energy rows of the carrying link and one more entry, 1 for a row that occurs in the
    potential energy as it stands and 0 for differences of such rows. A constant torque τ₀ at joint i has the
    potential τ₀ q_i, so it joins the first derivative of exactly those rows.
    """
    translation = _offset(joint) / length
    carry = inertia_transform(joint.rotation, translation)
    g6, g10 = _generators(joint)
    screw = np.concatenate([joint.axis, np.zeros(3)] if joint.is_prismatic else [np.zeros(3), joint.axis])

    carried = spans.closure(reach @ _velocity_transform(joint.rotation, translation).T, g6.T)
    velocities = spans.basis(carried, screw[None])

    arriving = np.column_stack([seen[:, :10] @ carry, seen[:, 10]])
    # Dependence on q_i: first derivative of every row, the offset with it; then all higher derivatives.
    slope = np.column_stack([arriving[:, :10] @ g10, np.zeros(len(seen)), arriving[:, 10]])
    rows = [spans.closure(slope, np.block([[g10, np.zeros((10, 2))], [np.zeros((2, 12))]]))]
    if kinetic:  # dependence on q̇_i: momentum along the joint; ½ Ia q̇² joins the screw with itself
        momentum = [np.append(energy_row(screw, v), [0.0, 0.0]) for v in carried]
        rows += [np.array(momentum).reshape(-1, 12), np.append(energy_row(screw, screw), [1.0, 0.0])[None]]
    conditions = spans.basis(*rows)

    shift = np.zeros((11, 11))
    shift[:10, :10] = g10
    energies = [spans.closure(arriving, shift)]
    if kinetic:
        moving = [np.append(energy_row(screw, v), 0.0) for v in velocities]
        energies.append(np.array(moving))
    return LinkMobility(joint.parent, velocities, conditions, carry), spans.basis(*energies)


def energy_row(a: Array, b: Array) -> Array:
    """Row e (10,) with e φ = aᵀ 𝓜(φ) b for the spatial inertia 𝓜 and velocities a, b = (v, ω)."""
    va, wa, vb, wb = a[:3], a[3:], b[:3], b[3:]
    first = np.cross(va, wb) + np.cross(vb, wa)
    s = np.outer(wa, wb)
    second = [s[0, 0], s[0, 1] + s[1, 0], s[1, 1], s[0, 2] + s[2, 0], s[1, 2] + s[2, 1], s[2, 2]]
    return np.concatenate([[va @ vb], first, second])


def _velocity_transform(rotation: Array, translation: Array) -> Array:
    """(6, 6): (v, ω) of the parent's frame → (v, ω) of the same rigid motion in the joint's frame."""
    x = np.zeros((6, 6))
    x[:3, :3] = x[3:, 3:] = rotation.T
    x[:3, 3:] = -rotation.T @ skew(translation)
    return x


def _generators(joint: Joint) -> tuple[Array, Array]:
    """Derivatives at q = 0 of the joint's own motion acting on velocities (6, 6) and on φ (10, 10)."""
    g6, xi = np.zeros((6, 6)), np.zeros((4, 4))
    k = skew(joint.axis)
    if joint.is_prismatic:
        g6[:3, 3:] = -k
        xi[:3, 3] = joint.axis
    else:
        g6[:3, :3] = g6[3:, 3:] = -k
        xi[:3, :3] = k
    j = pseudo_inertia(np.eye(10))
    return g6, from_pseudo_inertia(xi @ j + j @ xi.T).T
