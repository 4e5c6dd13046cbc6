"""What physics asks of χ: every link a body, joint terms ≥ 0 where they must be, coupled rotors together.

Which base parameters no physical robot has negative.

A base parameter is Σ over links of ⟨C, J⟩ plus joint terms. ⟨C, J⟩ ≥ 0 for every body, J ⪰ 0, exactly when C ⪰ 0: the
integral of a polynomial that is nowhere negative. So is ZZR1 = ZZ1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3, though MZ3 alone
has any sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import Cone
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.reference import Reference, nonnegative_terms
from exciter.identification.physical.whitening import svec
from exciter.parameters.consistency import consistency
from exciter.robot.motion import Motion
from exciter.robot.spatial import from_pseudo_inertia
from exciter.typing import Array

ROUNDING = 1e-9
ROTOR_ROUNDING = 1e-9  # of the largest rotor


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


def nonnegative_base(problem: Problem) -> NDArray[np.bool_]:
    """(b,)"""
    equations = Equations.of(problem)
    links, terms = np.split(equations.grouping, [equations.links], axis=1)
    negligible = ROUNDING * np.abs(equations.grouping).max(axis=1)
    smallest = np.linalg.eigvalsh(coefficient_matrix(links.reshape(len(links), -1, 10)))[..., 0]
    bodies = (smallest >= -negligible[:, None]).all(axis=1)
    wanted = nonnegative_terms(equations)
    signs = np.where(wanted, terms >= -negligible[:, None], np.abs(terms) <= negligible[:, None]).all(axis=1)
    return np.asarray(bodies & signs)


def coefficient_matrix(c: Array) -> Array:
    """(…, 4, 4) C with ⟨C, J(φ)⟩ = c·φ for coefficients c (…, 10)."""
    basis = np.zeros((4, 4, 4, 4))
    for i in range(4):
        for j in range(4):
            basis[i, j, i, j] += 0.5
            basis[i, j, j, i] += 0.5
    return np.asarray(np.einsum("ijk,...k->...ij", from_pseudo_inertia(basis), c))


def physical_problems(model: DynamicModel, chi: ArrayLike) -> tuple[str, ...]:
    """What is wrong with χ (p,), in words; nothing for a robot that can exist."""
    values = np.asarray(chi, dtype=float)
    names = [f"the body of joint '{name}'" for name in model.robot.joint_names]
    bodies = consistency(model.joint_frame_inertias(values), names)
    problems = [str(link) for link in bodies.links if not link.consistent]
    terms = values[10 * model.n :]
    wanted = [flag for term in model.bound for flag in term.nonnegative]
    for name, value, positive in zip(model.standard[10 * model.n :], terms, wanted, strict=True):
        if positive and value < 0.0:
            problems.append(f"{name} is negative ({value:.4g})")
    rotors = np.tensordot(terms, rotor_matrices(model), axes=1)
    if np.linalg.eigvalsh(rotors)[0] < -ROTOR_ROUNDING * np.abs(rotors).max(initial=0.0) and not problems:
        problems.append("the inertia of coupled rotors is not positive")
    return tuple(problems)
