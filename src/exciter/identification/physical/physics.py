"""What physics asks of χ: every link a body, joint terms ≥ 0 where they must be, coupled rotors together."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.identification.physical.bounds import Cone
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.reference import Reference, nonnegative_terms
from exciter.identification.physical.whitening import svec
from exciter.robot.motion import Motion
from exciter.typing import Array


def physics(equations: Equations, reference: Reference, margin: float) -> list[Cone]:
    """margin: J ⪰ margin · J₀ for every link, so that the inertia matrix is ⪰ margin times the reference's, too."""
    return [*_bodies(equations, reference, margin), *physical_terms(equations)]


def physical_terms(equations: Equations) -> list[Cone]:
    """What physics asks of joint terms alone: friction, rotor inertia and stiffness ≥ 0."""
    return [*_terms(equations), *_rotors(equations)]


def _bodies(equations: Equations, reference: Reference, margin: float) -> list[Cone]:
    cones = []
    for j, joint in enumerate(equations.model.robot.joints):
        g = np.zeros((10, len(equations.model.standard)))
        g[:, 10 * j : 10 * j + 10] = reference.whitening[j]
        h = -margin * svec(np.eye(4))
        cones.append(Cone("semidefinite", g, h, f"the link of '{joint.name}' is a body"))
    return cones


def _terms(equations: Equations) -> list[Cone]:
    wanted = np.flatnonzero(nonnegative_terms(equations))
    if not len(wanted):
        return []
    g = np.zeros((len(wanted), len(equations.model.standard)))
    g[np.arange(len(wanted)), equations.links + wanted] = 1.0 / equations.term_scale[wanted]
    return [Cone("nonnegative", g, np.zeros(len(wanted)), "friction, rotor inertia and stiffness are not negative")]


def rotor_matrices(model: DynamicModel) -> Array:
    """(t, n, n): what every joint-term parameter adds to the inertia matrix, per unit."""
    n = model.n
    still = np.zeros((n, n))
    unit = Motion.at(still, np.eye(n), still)
    found = []
    for term in model.bound:
        block = np.zeros((len(term.names), n, n))
        momentum = term.momentum(unit)
        if momentum is not None:
            for k, (row, column) in enumerate(term.rows):
                block[column, row] += momentum[k]
        found.append(block)
    return np.concatenate(found) if found else np.zeros((0, n, n))


def _rotors(equations: Equations) -> list[Cone]:
    """Σ χ A ⪰ 0 of joints whose rotors are coupled; others are ≥ 0 by themselves."""
    matrices = rotor_matrices(equations.model)
    coupled = np.abs(matrices).sum(axis=0)
    np.fill_diagonal(coupled, 0.0)
    joints = np.flatnonzero(coupled.any(axis=0))
    if not len(joints):
        return []
    scale = equations.term_scale[np.abs(matrices).sum(axis=(1, 2)) > 0.0].min()
    g = np.zeros((len(joints) * (len(joints) + 1) // 2, len(equations.model.standard)))
    g[:, equations.links :] = svec(matrices[:, joints][:, :, joints]).T / scale
    return [Cone("semidefinite", g, np.zeros(len(g)), "the inertia of coupled rotors is positive")]
