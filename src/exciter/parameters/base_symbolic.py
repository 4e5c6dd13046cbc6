"""Base parameters in closed form: from the modified-DH geometry and the direction of gravity, without sampling.

Exact for serial and tree robots, revolute and prismatic joints, any gravity. The robot must be in modified-DH frames
for the names to be those of the papers; the count and the space are right in any frames. The source of every grouping
rule is what each link can do (``mobility``):

The torques vanish for every motion exactly when the kinetic energy vanishes and the potential energy is constant. Take
a change δφ of the inertial parameters and walk from the tips to the base. Only the terms of a tip link i depend on q_i
and q̇_i, so these energies must not depend on them; then the change acts on the rest of the robot as if it were fixed
to the link that carries i, and it can be added there. With the composite change

    ψ_i = δφ_i + Σ_children A_c ψ_c           (A_c: φ of child c seen from frame i at q_c = 0)

a change is invisible exactly when C_i ψ_i = 0 for every link, where the rows of C_i say "the energy of ψ_i does not
depend on q_i and q̇_i". So the base parameters are the numbers C_i ψ_i and nothing else (the recursive idea is that of
Wensing, Niemeyer & Slotine; Khalil & Gautier's rules are its special cases). C_i needs two spans, both found by walking
from the base outwards, and both constant linear algebra, nothing is sampled:

    velocities L_i ⊂ R⁶     all (v, ω) the link can have, in its own frame
    energies   O_i ⊂ R¹⁰    all rows e with energy = e φ_i that link i can have while the others move

Crossing joint i turns a row e of the carrying link into e A exp(q_i G), G the generator of the joint's motion, so the
dependence on q_i is in the powers e A Gᵏ, k ≥ 1; the dependence on q̇_i is the momentum along the joint screw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters import inertial
from exciter.parameters.base import EXACT_SELECTION, BaseParameters, judged, orthonormal_rows, select
from exciter.parameters.parameter_names import split_name
from exciter.robot.robot import BASE, Joint, Robot
from exciter.robot.spatial import from_pseudo_inertia, inertia_transform, pseudo_inertia, skew
from exciter.typing import Array

ROTOR, OFFSET = 10, 11  #: columns of C_i after the ten of the link: rotor inertia and torque offset of joint i
ROTOR_SYMBOL, OFFSET_SYMBOL = "Ia", "off"
#: Joint terms that are odd in the joint's velocity: no inertia and no weight can look like them.
FRICTION_SYMBOLS = ("Fv", "Fr", "Fs", "Fst")
RIGHT_ANGLE_ERROR_RAD = 1e-5  #: [rad] descriptions print π/2 with few digits; 1.5708 must be a right angle
SYMBOLIC_RANK_TOLERANCE = 1e-9  #: singular values below this, in units of the robot's size, are zero


@dataclass(frozen=True, eq=False)
class LinkMobility:
    """Link i (frame i, lengths divided by the robot's size). velocities (·, 6): basis of L_i, rows (v, ω). conditions
    (·, 12): C_i, orthonormal rows over φ, rotor inertia and torque offset of joint i. energies (·, 11): O_i, see
    ``_across``. carry (10, 10): A, φ_i seen from the parent."""

    velocities: Array
    conditions: Array
    energies: Array
    carry: Array


class _Spans:
    """Bases of row spaces; remembers the singular values it judged."""

    def __init__(self) -> None:
        self.judged: list[Array] = []

    def basis(self, *rows: Array) -> Array:
        basis, values = orthonormal_rows(np.vstack(rows), SYMBOLIC_RANK_TOLERANCE)
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


def mobility(robot: Robot, *, kinetic: bool = True) -> tuple[list[LinkMobility], float, Array]:
    """Walk the robot from the base outwards; kinetic=False: statics, only gravity counts. Links; the robot's size [m],
    in units of which lengths are: the longest offset between two joints, 1 when all are zero; and every singular value
    that was compared with the tolerance."""
    length = max(float(np.linalg.norm(_offset(joint))) for joint in robot.joints) or 1.0
    spans = _Spans()
    down = np.zeros((1, 11))  # the energy row of the base, and 1: see _across
    down[0, 10] = 1.0
    if np.any(robot.gravity):
        down[0, 1:4] = -robot.gravity / np.linalg.norm(robot.gravity)
    links: list[LinkMobility] = []
    for joint in robot.joints:
        up = None if joint.parent == BASE else links[joint.parent]
        reach, seen = (np.zeros((0, 6)), down) if up is None else (up.velocities, up.energies)
        links.append(_across(joint, length, reach, seen, spans, kinetic))
    return links, length, np.sort(np.concatenate([v for v in spans.judged if len(v)]))[::-1]


def _offset(joint: Joint) -> Array:
    """Origin of the joint in the carrying link [m]; zero on the base, where it only adds a constant."""
    return np.zeros(3) if joint.parent == BASE else joint.translation


def _across(joint: Joint, length: float, reach: Array, seen: Array, spans: _Spans, kinetic: bool) -> LinkMobility:
    """Cross one joint: what its link can do, from what the carrying link can do. ``seen`` (·, 11): energy rows of the
    carrying link, with 1 behind a row that occurs in the potential energy as it stands and 0 behind differences of such
    rows. A constant torque τ₀ at joint i has the potential τ₀ q_i: it joins the first derivative of exactly those."""
    translation = _offset(joint) / length
    carry = inertia_transform(joint.rotation, translation)
    g6, g10 = _generators(joint)
    screw = np.concatenate([joint.axis, np.zeros(3)] if joint.is_prismatic else [np.zeros(3), joint.axis])
    across = np.kron(np.eye(2), joint.rotation.T)  # (v, ω) of the parent's frame → of the same motion in the joint's
    across[:3, 3:] = -joint.rotation.T @ skew(translation)

    carried = spans.closure(reach @ across.T, g6.T)
    velocities = spans.basis(carried, screw[None])

    arriving = np.column_stack([seen[:, :10] @ carry, seen[:, 10]])
    # Dependence on q_i: first derivative of every row, the offset with it; then all higher derivatives.
    slope = np.column_stack([arriving[:, :10] @ g10, np.zeros(len(seen)), arriving[:, 10]])
    rows = [spans.closure(slope, np.pad(g10, (0, 2)))]
    if kinetic:  # dependence on q̇_i: momentum along the joint; ½ Ia q̇² joins the screw with itself
        momentum = [np.append(energy_row(screw, v), [0.0, 0.0]) for v in carried]
        rows += [np.array(momentum).reshape(-1, 12), np.append(energy_row(screw, screw), [1.0, 0.0])[None]]
    conditions = spans.basis(*rows)

    energies = [spans.closure(arriving, np.pad(g10, (0, 1)))]
    if kinetic:
        energies.append(np.array([np.append(energy_row(screw, v), 0.0) for v in velocities]))
    return LinkMobility(velocities=velocities, conditions=conditions, energies=spans.basis(*energies), carry=carry)


def energy_row(a: Array, b: Array) -> Array:
    """Row e (10,) with e φ = aᵀ 𝓜(φ) b for the spatial inertia 𝓜 and velocities a, b = (v, ω)."""
    va, wa, vb, wb = a[:3], a[3:], b[:3], b[3:]
    first = _cross(va, wb) + _cross(vb, wa)
    s = np.outer(wa, wb)
    second = [s[0, 0], s[0, 1] + s[1, 0], s[1, 1], s[0, 2] + s[2, 0], s[1, 2] + s[2, 1], s[2, 2]]
    return np.concatenate([[va @ vb], first, second])


def _cross(a: Array, b: Array) -> Array:
    """Of two vectors (3,): ``np.cross`` looks at shapes for longer than it multiplies."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


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


def symbolic_base(
    robot: Robot, terms: Sequence[str] = (), *, right_angle: float = RIGHT_ANGLE_ERROR_RAD, kinetic: bool = True
) -> BaseParameters:
    """Base parameters of the whole dynamics. terms: names of joint-term columns, in order, after the inertial ones: Ia1
    (rotor inertia), off1 (offset), Fv1, Fr1, Fs1, Fst1 (friction). right_angle [rad]: angles this close to a multiple
    of 90° count as that. kinetic=False: of the gravity torques alone."""
    robot, turned = square_up(robot.tree, right_angle)
    method = "closed form" if kinetic else "closed form, gravity only"
    if turned > 1e-9:  # more than rounding
        method += f" (angles within {turned:.1e} rad of a right angle taken as such)"
    links, length, compared = mobility(robot, kinetic=kinetic)
    places = [_place(name, robot.n) for name in terms]
    names, wide = (*inertial.names(robot.n), *terms), 10 * robot.n
    blocks, values = list[Array](), [compared]
    for i, link in enumerate(links):
        own = [(wide + k, column) for k, (joint, column) in enumerate(places) if joint == i and column >= 0]
        columns = [*range(10), *(column for _, column in own)]
        conditions, seen = orthonormal_rows(link.conditions[:, columns], SYMBOLIC_RANK_TOLERANCE)
        values.append(seen)
        block = np.zeros((len(conditions), len(names)))
        carried = {i: np.eye(10)}  # link i and all links it carries, with what turns their φ into frame i at q = 0
        for d, parent in enumerate(robot.parents):
            if parent in carried:
                carried[d] = carried[parent] @ links[d].carry
            if d in carried:
                block[:, 10 * d : 10 * d + 10] = conditions[:, :10] @ carried[d]
        block[:, [k for k, _ in own]] = conditions[:, 10:]
        blocks.append(block)
    friction = [wide + k for k, (_, column) in enumerate(places) if column < 0]
    blocks.append(np.eye(len(names))[friction])
    stacked = np.vstack(blocks)  # independent rows: block triangular with independent blocks
    rows = np.linalg.qr(stacked.T)[0].T
    decision = judged(np.concatenate(values), SYMBOLIC_RANK_TOLERANCE, rank=len(rows))
    inertias = [1.0, *[1.0 / length] * 3, *[1.0 / length**2] * 6]  # lengths in units of the robot's size
    # joint terms, made comparable: Ia beside φ in the kinetic energy, offsets beside it in the weight
    weight = float(np.linalg.norm(robot.gravity)) or 1.0
    levers = [1.0 if robot.joints[joint].is_prismatic else length for joint, _ in places]
    factors = [{ROTOR: 1.0 / lever**2, OFFSET: 1.0 / (weight * lever)} for lever in levers]
    drives = [factor.get(column, 1.0) for factor, (_, column) in zip(factors, places, strict=True)]
    scale = np.concatenate([np.tile(inertias, robot.n), drives])
    chosen = select(rows, scale, names, prismatic_links(robot), *EXACT_SELECTION)
    return BaseParameters(names, *chosen, decision, method)


def symbolic_static_base(robot: Robot, terms: Sequence[str] = ()) -> BaseParameters:
    """Base parameters of the gravity torques: what poses at rest can tell. terms: offsets (off1) only."""
    for name in (name for name in terms if split_name(name)[0] != OFFSET_SYMBOL):
        raise ParameterError(f"'{name}' has no effect at rest; poses at rest allow only offsets: {OFFSET_SYMBOL}1, …")
    return symbolic_base(robot, terms, kinetic=False)


def square_up(robot: Robot, right_angle: float = RIGHT_ANGLE_ERROR_RAD) -> tuple[Robot, float]:
    """The robot with nearly right angles made exact, gravity included; and the largest change."""
    joints, changes = [], [0.0]
    for joint in robot.joints:
        rotation = np.where(np.abs(joint.rotation) < right_angle, 0.0, joint.rotation)
        u, _, vt = np.linalg.svd(rotation)  # the nearest rotation to what is left
        if (changed := float(np.abs(u @ vt - joint.rotation).max())) > 1e-14:
            changes.append(changed)
            joint = replace(joint, rotation=u @ vt, translation=_straightened(joint.translation, right_angle))
        joints.append(joint)
    return replace(robot, joints=tuple(joints), gravity=_straightened(robot.gravity, right_angle)), max(changes)


def _straightened(vector: Array, right_angle: float) -> Array:
    """The vector without components that only say it is not quite at a right angle to that axis."""
    return np.where(np.abs(vector) < right_angle * np.linalg.norm(vector), 0.0, vector)


def prismatic_links(robot: Robot) -> frozenset[int]:
    """Numbers, from 1, of the links that slide on the link before."""
    return frozenset(i + 1 for i, body in enumerate(robot.bodies) if body.is_prismatic)


def _place(name: str, n: int) -> tuple[int, int]:
    """Joint index and column of C_i of a joint term; column −1 for friction."""
    symbol, number = split_name(name)
    columns = {ROTOR_SYMBOL: ROTOR, OFFSET_SYMBOL: OFFSET, **dict.fromkeys(FRICTION_SYMBOLS, -1)}
    if symbol not in columns or not 1 <= number <= n:
        allowed = ", ".join(f"{s}1…{s}{n}" for s in columns)
        problem = f"the closed form does not know the joint term '{name}'; it knows {allowed}"
        raise ParameterError(f"{problem}; use the numeric base parameters for others")
    return number - 1, columns[symbol]
