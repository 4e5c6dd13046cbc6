"""Adjoints of the whole regressor, and of the derivatives of the torque: what criteria need that see more than H.

Second derivatives of the rigid-body torque are exact without any symbolic work: in the position of one revolute
joint the torque is a trigonometric polynomial of degree two, in that of a prismatic joint, in a velocity or an
acceleration an ordinary polynomial of degree two. The derivative of such a function is a fixed combination of its
values a finite way off (M. Riesz' formula, and the central difference), with no remainder.
"""

from __future__ import annotations

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import backward, forward, regressor_rows_adjoint
from exciter.errors import ParameterError
from exciter.robot.motion import Motion, MotionGradient
from exciter.typing import Array

Stencil = tuple[tuple[float, float], ...]  # (shift, factor)
#: f′(0) of a trigonometric polynomial of degree 2
RIESZ: Stencil = tuple(
    (x, (-1.0) ** k / (8.0 * np.sin(0.5 * x) ** 2)) for k, x in enumerate(np.pi / 4 * np.array([1, 3, 5, 7]))
)
CENTRAL: Stencil = ((1.0, 0.5), (-1.0, -0.5))  # f′(0) of a polynomial of degree 2
#: f′(0) to fourth order, for joint terms, which may be any function; the step is small beside a smoothed sign's width
STEP = 1e-4
FOURTH: Stencil = tuple((k * STEP, w / STEP) for k, w in ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12)))


def regressor_pullback(model: DynamicModel, motion: Motion, seed: Array) -> MotionGradient:
    """Gradient of Σ seed ⊙ Φ with respect to every sample, seed (N, n, p)."""
    n, chain = model.n, model.dynamics.chain
    model.dynamics.check(motion)
    own = np.einsum("Njik,ick->jicN", seed[:, :, : 10 * n].reshape(-1, n, n, 10), chain.parameter_map)
    q, qd, qdd = motion.samples_last
    links = forward(chain, q, qd, qdd)
    seeds = [own[chain.joint[chain.first[i] : chain.first[i + 1]], i] for i in range(n)]
    bars = [regressor_rows_adjoint(link, g) for link, g in zip(links, seeds, strict=True)]
    rigid = MotionGradient(*(x.T for x in backward(chain, links, bars, qd)))
    terms = np.array([seed[:, row, 10 * n + column] for row, column in model.entries])
    return rigid + model.terms_pullback(motion, terms.reshape(len(model.entries), len(motion)))


def refuse_memory(model: DynamicModel) -> None:
    """Torques that depend on earlier samples have no derivative sample by sample."""
    for term, bound in zip(model.terms, model.bound, strict=True):
        if bound.has_memory:
            raise ParameterError(
                f"the Cramér–Rao bound needs torques that depend on the present state only; {term} remembers: "
                "use a friction without memory while designing"
            )


def torque_jacobian(model: DynamicModel, motion: Motion, chi: Array) -> Array:
    """∂τ_j/∂q_i, ∂τ_j/∂q̇_i, ∂τ_j/∂q̈_i as (3, N, n, n): part, sample, torque j, joint i."""
    jacobian = np.empty((3, len(motion), model.n, model.n))
    for j in range(model.n):
        seed = np.zeros((len(motion), model.n))
        seed[:, j] = 1.0
        gradient = model.torque_pullback(motion, seed, chi)
        jacobian[:, :, j] = gradient.q, gradient.qd, gradient.qdd
    return jacobian


def torque_jacobian_pullback(model: DynamicModel, motion: Motion, chi: Array, seed: Array) -> MotionGradient:
    """Gradient of Σ seed ⊙ ``torque_jacobian`` with respect to every sample, seed (3, N, n, n).

    Joint terms are differentiated by fourth-order differences of their exact gradients.
    """
    inertial, own = chi[: 10 * model.n], chi[10 * model.n :]
    variables = [(part, i) for part in range(3) for i in range(model.n)]
    turning = [part == 0 and not model.robot.joints[i].is_prismatic for part, i in variables]
    exact = [RIESZ if turns else CENTRAL for turns in turning]
    moved, seeds = _shifted(motion, seed, list(zip(variables, exact, strict=True)))
    gradient = _gathered(motion, model.dynamics.torque_pullback(moved, seeds, inertial))
    if not model.entries:
        return gradient
    moved, seeds = _shifted(motion, seed, [(variable, FOURTH) for variable in variables])
    of_terms = np.array([own[column] * seeds[:, row] for row, column in model.entries])
    return gradient + _gathered(motion, model.terms_pullback(moved, of_terms))


def _shifted(motion: Motion, seed: Array, stencils: list[tuple[tuple[int, int], Stencil]]) -> tuple[Motion, Array]:
    """All shifted copies of the motion one after the other (S N samples), and torque seeds (S N, n): along variable
    (part, i) the combination Σ_j seed_j τ_j is differentiated."""
    points = [(part, i, shift, factor) for (part, i), stencil in stencils for shift, factor in stencil]
    copies = np.repeat(np.array([motion.q, motion.qd, motion.qdd])[:, None], len(points), axis=1)  # (3, S, N, n)
    for k, (part, i, shift, _) in enumerate(points):
        copies[part, k, :, i] += shift
    seeds = np.concatenate([factor * seed[part, :, :, i] for part, i, _, factor in points])
    return Motion.at(*copies.reshape(3, -1, motion.n)), seeds


def _gathered(motion: Motion, gradient: MotionGradient) -> MotionGradient:
    """Gradients of all copies added up, sample by sample."""
    shape = (-1, len(motion), motion.n)
    return MotionGradient(*(x.reshape(shape).sum(axis=0) for x in (gradient.q, gradient.qd, gradient.qdd)))
