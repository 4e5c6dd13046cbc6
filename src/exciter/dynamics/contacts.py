"""Contacts of a robot with the ground: where forces act that nobody measured, and what can be known without them.

W χ = Sᵀτ + Σ Jᵀf. A foot that touches in a point takes a force (three rows of J), one that stands flat a force and a
moment (six). A round foot touches below its centre, on the ground: its point of contact rolls along, so the rows of J
are those of the point that touches now, and J q̇ = 0 says that it rolls without slipping.

Unknown forces are taken off by projection. Whatever they are, they lie in the range of Jᵀ: with σ_j the error of the
equation of joint j and S = diag(σ),

    Π = 1 − Jᵀ (J S⁻² Jᵀ)⁺ J S⁻²,        Π W χ = Π Sᵀτ

is what is left of the equations when the forces that explain their errors best are taken off: as much as NᵀW of a null
space N of J tells, weighted by (Nᵀ S² N)⁻¹, but in the joints' own units, and without a choice of N. Of joint j a share
π_j = (S⁻¹ Π S)_jj of its equation is left; they sum to n − rank J. The torque of a joint that nobody measured, or that
friction holds, is such a force, too: a unit vector beside Jᵀ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.errors import RobotError, unknown_name
from exciter.parameters.base import BaseParameters, numeric_base
from exciter.parameters.base_symbolic import prismatic_links
from exciter.robot.coupling import coupled_motion
from exciter.robot.motion import Motion
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import BASE, FREE_BASE_JOINTS, Robot
from exciter.robot.spatial import skew
from exciter.typing import Array, BoolArray

if TYPE_CHECKING:
    from exciter.dynamics.model import DynamicModel

ContactKind = Literal["point", "flat"]
CONTACT_KINDS: tuple[ContactKind, ...] = ("point", "flat")
DEPENDENT_FORCE_FRACTION = 1e-9  #: of the largest singular value: forces below it are combinations of others
INDEPENDENT_FRACTION = 1e-4  #: of the diagonal of a triangular factor: above it no direction is a combination of others
#: of the strongest direction: a round foot that rolls shows its own mass so little that errors of the motion show more
BARELY_VISIBLE_FRACTION = 1e-3
ON_AXIS_M = 1e-6  #: [m] from a joint's axis: nearer it does not move a point
STATES_AT_ONCE = 256
STATES_PER_JOINT = 20  #: random states of a stance, by which base parameters are decided


@dataclass(frozen=True)
class GroundContact:
    """A frame that touches the ground, in a point or flat. radius [m]: of a round foot about the frame's origin, which
    touches that far below it (against gravity: up is −gravity)."""

    frame: str
    kind: ContactKind = "point"
    radius: float = 0.0

    @property
    def size(self) -> int:
        """Forces, and moments, that it takes."""
        return 6 if self.kind == "flat" else 3


Stance = tuple[GroundContact, ...]  #: all that touches at one time


def checked_stance(robot: Robot, stance: Stance) -> Stance:
    """Refused where a contact is at no frame of the robot, or at one that does not move."""
    for contact in stance:
        if contact.frame not in robot.frame_names:
            raise RobotError(f"a contact is at no frame: {unknown_name('frame', contact.frame, robot.frame_names)}")
        if robot.frame(contact.frame).joint == BASE:
            raise RobotError(f"the contact '{contact.frame}' is fixed on the world; name a frame that moves")
    return stance


def refuse_contacts_of_the_base(robot: Robot, stance: Stance) -> None:
    """A contact that no joint moves against the free base: an unknown force there is one on the base, whatever the
    joints do, and no torque of theirs tells of it."""
    base = {BASE, *(k for k, body in enumerate(robot.bodies) if body.name in FREE_BASE_JOINTS)}
    for contact in stance:
        frame = robot.frame(contact.frame)
        at, body = frame.translation, frame.joint
        while body not in base:
            joint = robot.bodies[body]
            off_axis = float(np.linalg.norm(np.cross(joint.axis, at)))
            if joint.is_prismatic or contact.kind == "flat" or contact.radius or off_axis > ON_AXIS_M:
                break
            at, body = joint.rotation @ at + joint.translation, joint.parent
        else:
            advice = "name a frame of a leg, give what force was measured there (contact_force:), or load it with"
            raise RobotError(f"the contact '{contact.frame}' is on the base itself; {advice} base: fixed")


def contact_jacobian(dynamics: Dynamics, stance: Stance, q: Array) -> Array:
    """J (N, m, n): velocities of all points of contact, and turning of flat feet, in axes of the world."""
    parts = [np.zeros((len(q), 0, dynamics.robot.n))]
    for contact in stance:
        whole = dynamics.jacobian(contact.frame, q)
        linear = whole[:, :3]
        if contact.radius:  # v + ω × d, d from the centre to the ground
            linear = linear - skew(_below(dynamics.robot, contact)) @ whole[:, 3:]
        parts.append(np.concatenate([linear, whole[:, 3:]], axis=1) if contact.kind == "flat" else linear)
    return np.concatenate(parts, axis=1)


def _below(robot: Robot, contact: GroundContact) -> Array:
    """(3,) [m] from the centre of a round foot to where it touches, in axes of the world."""
    size = float(np.linalg.norm(robot.gravity))
    return contact.radius * (robot.gravity / size if size else np.array([0.0, 0.0, -1.0]))


def taken_off(sides: Array, forces: Array, noise: Array) -> tuple[Array, Array]:
    """Π sides, and S⁻¹ Π S (n, n), its mean over the instants, with π on its diagonal: of equations (N, n, k) without
    the unknown forces whose directions (N, n, m) are given; noise (n,): σ of every equation."""
    scaled = forces / noise[:, None]
    u = _orthonormal(scaled)
    taken = u.swapaxes(1, 2) / noise @ sides
    left = sides - (noise[:, None] * u) @ taken
    within = u.transpose(1, 0, 2).reshape(len(noise), -1)
    return left, np.asarray(np.eye(len(noise)) - within @ within.T / max(len(u), 1))


def _orthonormal(directions: Array) -> Array:
    """(N, n, m) that span the same, zero where a direction is a combination of others. Columns of a QR factor, several
    times cheaper than singular vectors, at instants where its diagonal shows that none is."""
    q, r = np.linalg.qr(directions)
    diagonal = np.abs(np.diagonal(r, axis1=1, axis2=2))
    doubtful = diagonal.min(axis=1, initial=np.inf) <= INDEPENDENT_FRACTION * diagonal.max(axis=1, initial=0.0)
    if doubtful.any():
        u, values, _ = np.linalg.svd(directions[doubtful], full_matrices=False)
        kept = values > DEPENDENT_FORCE_FRACTION * values.max(axis=1, initial=0.0)[:, None]
        q[doubtful] = u * kept[:, None]
    return np.asarray(q)


def unknown_forces(dynamics: Dynamics, stance: Stance, q: Array, unmeasured: BoolArray) -> Array:
    """(N, n, m): directions in which forces act that are not known: those of contacts, and the torque of a joint where
    ``unmeasured`` (N, n) says so."""
    forces = contact_jacobian(dynamics, stance, q).swapaxes(1, 2)
    joints = np.flatnonzero(unmeasured.any(axis=0))
    if not joints.size:
        return forces
    own = np.eye(dynamics.robot.n)[:, joints] * unmeasured[:, None, joints]
    return np.concatenate([forces, own], axis=2)


def standing_states(dynamics: Dynamics, stance: Stance, samples: int, seed: int = 0) -> Motion:
    """Random states in which nothing slips: any posture, J q̇ = 0, J q̈ + J̇ q̇ = 0."""
    from exciter.dynamics.model import random_states  # which needs this file

    robot = dynamics.robot
    free = random_states(robot, samples, seed)
    if not stance:
        return free
    jacobian = contact_jacobian(dynamics, stance, free.q)
    inverse: Array = np.asarray(np.linalg.pinv(jacobian, rcond=DEPENDENT_FORCE_FRACTION), dtype=float)
    qd = free.qd - _times(inverse, _times(jacobian, free.qd))
    bias = contact_bias(robot, stance, free.q, qd)
    qdd = free.qdd - _times(inverse, _times(jacobian, free.qdd) + bias)
    return Motion.at(free.q, qd, qdd)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray(np.einsum("Nij,Nj->Ni", matrices, vectors))


def contact_bias(robot: Robot, stance: Stance, q: Array, qd: Array) -> Array:
    """J̇ q̇ (N, m): accelerations at contacts while the joints' own are zero."""
    import pinocchio as pin

    model, tree = to_pinocchio(robot.tree), coupled_motion(robot, Motion.at(q, qd, np.zeros_like(q)))
    data, found = model.createData(), np.zeros((len(q), sum(c.size for c in stance)))
    numbers = [model.getFrameId(contact.frame) for contact in stance]
    for k in range(len(q)):
        pin.forwardKinematics(model, data, tree.q[k], tree.qd[k], tree.qdd[k])
        parts = [np.zeros(0)]
        for contact, number in zip(stance, numbers, strict=True):
            pin.updateFramePlacement(model, data, number)
            at = pin.getFrameClassicalAcceleration(model, data, number, pin.LOCAL_WORLD_ALIGNED)
            linear = at.linear + np.cross(at.angular, _below(robot, contact))
            parts.append(np.concatenate([linear, at.angular]) if contact.kind == "flat" else linear)
        found[k] = np.concatenate(parts)
    return found


def standing_base(model: DynamicModel, stances: Sequence[Stance]) -> BaseParameters:
    """Base parameters of what shows while the robot stands in one of these ways, forces of the ground unknown: of the
    projected equations at random states, without what is barely visible there. Nothing is lost where one of them is in
    the air."""
    dynamics, n = model.dynamics, model.n
    whole = replace(model, stances=()).base  # of which columns that are combinations of others stay such
    names, layout = tuple(model.standard[k] for k in whole.independent), model.layout(whole.independent)
    samples = STATES_PER_JOINT * n + 2 * len(names)
    r = np.zeros((0, len(names)))
    for k, stance in enumerate(stances):
        states = standing_states(dynamics, checked_stance(model.robot, stance), samples, seed=k)
        for part, sides in model.regressor_chunks(states, size=STATES_AT_ONCE, layout=layout):
            forces = unknown_forces(dynamics, stance, states.q[part], np.zeros((len(sides), n), dtype=bool))
            left = taken_off(sides, forces, np.ones(n))[0].reshape(-1, len(names))
            r = np.asarray(np.linalg.qr(np.vstack([r, left]), mode="r"))
    sliding = prismatic_links(model.robot)
    found = numeric_base(r, names, prismatic=sliding, tolerance=BARELY_VISIBLE_FRACTION)
    said = " or ".join(", ".join(contact.frame for contact in stance) or "nothing" for stance in stances)
    return BaseParameters(
        standard=whole.standard,
        independent=whole.independent[found.independent],
        grouping=found.grouping @ whole.grouping,
        decision=found.decision,
        method=f"numeric, standing on {said} with forces unknown",
    )
