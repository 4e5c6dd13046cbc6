"""Torque between samples: rigid bodies and joint terms together.

Smooth parts (rigid bodies, rotor inertia, viscous friction, offset …) follow the chord of their values at both ends
within h²/8 times the bound of their second derivative. Parts that jump or bend sharply (dry friction, springs on a
lever) enter with the range of their values.

Torque of the rigid bodies: exact at the ends of intervals, and a bound of its second derivative between them.

Newton–Euler twice over the same tree: once with vectors, at the ends, once with norms (``spans``):

    force on a body   F = m (r̈ − g) + d²/dt² h     moment about r     N = d/dt (I ω) + h × (r̈ − g)
    of a sub-tree     f_j = F_j + Σ f_c            moment about o_j   M_j = N_j + r × F_j + Σ M_c + l_c × f_c
    torque            τ_j = z_j · M_j  (prismatic z_j · f_j)

r is a point of the body, h its first moments and I its inertia about r. No positivity is assumed anywhere, so published
parameters that belong to no real body are fine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.engine import Chain
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import cross
from exciter.excitation.certificate.spans import (
    LinkJets,
    NodeKinematics,
    Spans,
    product,
    product_at,
    tighten,
    turning,
)
from exciter.parameters.inertial import inertia_matrix
from exciter.parameters.terms.ranges import Interval
from exciter.robot.spatial import transform_inertia
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Body:
    """mass m, a point r (3,) of the body, first moments h (3,) and inertia I (3, 3) about it, in link axes.

    I = mean · 1 + D: only the spread |D| turns with the body.
    """

    mass: float
    point: Array
    first: Array
    inertia: Array
    mean: float
    spread: float

    @classmethod
    def of(cls, phi: Array) -> Body:
        """Seen from the centre of mass where that makes the inertia smaller, as it does for every real body, otherwise
        from the origin."""
        about_origin = cls._about(phi, np.zeros(3))
        if phi[0] == 0.0:
            return about_origin
        about_centre = cls._about(phi, phi[1:4] / phi[0])
        return about_centre if about_centre.largest <= about_origin.largest else about_origin

    @classmethod
    def _about(cls, phi: Array, point: Array) -> Body:
        moved = transform_inertia(phi, np.eye(3), -point)
        moments = np.linalg.eigvalsh(inertia_matrix(moved))
        mean, spread = 0.5 * (moments[-1] + moments[0]), 0.5 * (moments[-1] - moments[0])
        return cls(float(phi[0]), point, moved[1:4], inertia_matrix(moved), float(mean), float(spread))

    @property
    def largest(self) -> float:
        return abs(self.mean) + self.spread


@lru_cache(maxsize=256)
def _body(*phi: float) -> Body:
    """Kept, because every round of a certificate asks again."""
    return Body.of(np.array(phi))


def rigid_torque(chain: Chain, inertias: Array, spans: Spans) -> tuple[Array, Array]:
    """τ (n, 2 M) of inertial parameters (n, 10) at ``spans.ends``, and (n, M) ≥ |τ̈| throughout."""
    nodes, jets, width = spans.nodes(chain), spans.jets(chain), spans.width
    bodies = [_body(*phi) for phi in inertias.tolist()]
    force, moment = np.zeros((2, chain.n, 3, 2 * len(width)))
    force_jet, moment_jet = np.zeros((2, chain.n, 3, len(width)))
    torque, curvature = np.empty((chain.n, 2 * len(width))), np.empty((chain.n, len(width)))
    for i in reversed(range(chain.n)):
        own_force, own_moment = _at_ends(nodes, i, bodies[i], chain.gravity)
        force[i] += own_force
        moment[i] += own_moment
        own_force_jet, own_moment_jet = _between(jets, i, bodies[i], chain.gravity, nodes, own_force, width)
        force_jet[i] += own_force_jet
        moment_jet[i] += own_moment_jet
        tighten(force_jet[i], 0, force[i], width)
        tighten(moment_jet[i], 0, moment[i], width)
        load, load_jet = (force, force_jet) if chain.prismatic[i] else (moment, moment_jet)
        torque[i] = (nodes.rotation[i][:, 2] * load[i]).sum(axis=0)
        curvature[i] = product_at(jets.carrier[i], load_jet[i], 2)
        if (k := int(chain.parent[i])) >= 0:
            force[k] += force[i]
            force_jet[k] += force_jet[i]
            moment[k] += moment[i] + cross(nodes.lever[i], force[i])
            moment_jet[k] += moment_jet[i] + product(jets.lever[i], force_jet[i], 2)
    return torque, curvature


def _at_ends(nodes: NodeKinematics, i: int, body: Body, gravity: Array) -> tuple[Array, Array]:
    """F and the moment about the link's origin (3, N) that move a body."""
    omega, alpha, rotation = nodes.omega[i], nodes.alpha[i], nodes.rotation[i]
    acceleration = nodes.point(i, body.point)[1] - gravity[:, None]
    first = nodes.turned(i, body.first)
    force = body.mass * acceleration + cross(alpha, first) + cross(omega, cross(omega, first))
    spin, spun = (
        np.einsum("abN,bN->aN", rotation, body.inertia @ np.einsum("baN,bN->aN", rotation, v)) for v in (omega, alpha)
    )
    moment = spun + cross(omega, spin) + cross(first, acceleration)
    return force, moment + cross(nodes.turned(i, body.point), force)


def _between(
    jets: LinkJets, i: int, body: Body, gravity: Array, nodes: NodeKinematics, force: Array, width: Array
) -> tuple[Array, Array]:
    """Jets (3, M) of the same, up to the second derivative."""
    fixed, omega = jets.fixed[i], jets.omega[i]
    arm, first = float(np.linalg.norm(body.point)), float(np.linalg.norm(body.first))
    acceleration = jets.moved[i] + arm * fixed[2:]
    acceleration[0] += np.linalg.norm(gravity)
    if first > 0.0:
        tighten(acceleration, 0, nodes.point(i, body.point)[1] - gravity[:, None], width)
    force_jet = abs(body.mass) * acceleration + first * fixed[2:]
    tighten(force_jet, 0, force, width)
    spin = abs(body.mean) * omega + body.spread * product(turning(omega, 2.0), omega, 3)
    moment_jet = spin[1:] + arm * product(fixed, force_jet, 2)
    if first > 0.0:
        moment_jet += first * product(fixed, acceleration, 2)
    return force_jet, moment_jet


def torque_range(model: DynamicModel, chi: Array, spans: Spans) -> Interval:
    """Lowest and highest torque (n, M) of standard parameters χ within each interval; infinite where a term cannot
    say."""
    dynamics, n, width = model.dynamics, model.n, spans.width
    ends, curvature = rigid_torque(dynamics.chain, dynamics.chain_inertias(chi[: 10 * n]), spans)
    jumping_low, jumping_high = np.zeros((2, n, len(width)))

    def load(links: Array | None = None) -> Interval:
        return chord_range(*rigid_torque(dynamics.chain, dynamics.chain_inertias(links), spans), width)

    for term, columns in model.term_columns:
        bends = term.curvature(spans.rates)
        smooth: NDArray[np.bool_] = np.all(np.isfinite(bends), axis=1)
        values = term.values(spans.ends) if smooth.any() else bends
        low, high = (bends, bends) if smooth.all() else term.value_range(spans.ranges, load)
        for entry, (row, column) in enumerate(term.rows):
            weight = chi[columns.start + column]
            if weight == 0.0:
                continue
            if smooth[entry]:
                ends[row] += weight * values[entry]
                curvature[row] += abs(weight) * bends[entry]
            else:
                jumping_low[row] += weight * (low if weight > 0 else high)[entry]
                jumping_high[row] += weight * (high if weight > 0 else low)[entry]
    lowest, highest = chord_range(ends, curvature, width)
    return lowest + jumping_low, highest + jumping_high


def chord_range(ends: Array, curvature: Array, width: Array) -> Interval:
    """What values (…, M) can be within intervals of these widths, from those at both ends (…, 2 M) and the bound of the
    second derivative (…, M)."""
    slack = width**2 / 8.0 * curvature
    left, right = ends[..., 0::2], ends[..., 1::2]
    return np.minimum(left, right) - slack, np.maximum(left, right) + slack
