"""Cramér–Rao bound when joint positions are measured with noise too (Swevers et al. 1997, IEEE, (3)–(6), III-B).

Measured are q_m = q(δ) + n_q and τ_m = Φ(δ) θ + n_τ; estimated are θ and the coefficients δ of the motion. With
T = ∂τ/∂δ the Fisher information of both, JᵀΣ⁻¹J of the residuals, is

    [ΦᵀΣ_τ⁻¹Φ   ΦᵀΣ_τ⁻¹T                ]
    [   ·       TᵀΣ_τ⁻¹T + B₀ᵀΣ_q⁻¹B₀   ]

and what it tells about θ alone is its Schur complement H = ΦᵀΣ_τ⁻¹Φ − UᵀS⁻¹U with U = TᵀΣ_τ⁻¹Φ and S the lower right
block; H⁻¹ bounds the covariance of θ. T needs parameter values: the bound can only be minimised for an estimate of
them, and a better motion gives a better estimate, hence the loop of the paper, design and estimation in turn.

Second derivatives of the rigid-body torque are exact without any symbolic work: in the position of one revolute
joint the torque is a trigonometric polynomial of degree two, in that of a prismatic joint, in a velocity or an
acceleration an ordinary polynomial of degree two. The derivative of such a function is a fixed combination of its
values a finite way off (M. Riesz' formula, and the central difference), with no remainder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.excitation.criteria.criterion import Criterion, CriterionEvaluation, CriterionSettings, Observed
from exciter.excitation.criteria.observation_rows import DesignColumns, TorqueRows
from exciter.excitation.criteria.optimality_and_condition import AOptimality, ConditionNumber, DOptimality, EOptimality
from exciter.excitation.criteria.targets import Targets
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Amount, Numbers, OneOf, Registry
from exciter.typing import Array

#: functions of H alone that a file can name here
GRAM_CRITERIA = Registry[Any]("criterion", DOptimality, AOptimality, EOptimality, ConditionNumber, Targets)
Stencil = tuple[tuple[float, float], ...]  # (shift, factor)
#: f′(0) of a trigonometric polynomial of degree 2
RIESZ_STENCIL: Stencil = tuple(
    (x, (-1.0) ** k / (8.0 * np.sin(0.5 * x) ** 2)) for k, x in enumerate(np.pi / 4 * np.array([1, 3, 5, 7]))
)
CENTRAL_STENCIL: Stencil = ((1.0, 0.5), (-1.0, -0.5))  # f′(0) of a polynomial of degree 2
#: f′(0) to fourth order, for joint terms, which may be any function; the step is small beside a smoothed sign's width
TERM_STEP_SIZE = 1e-4
FOURTH_ORDER_STENCIL: Stencil = tuple(
    (k * TERM_STEP_SIZE, w / TERM_STEP_SIZE) for k, w in ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))
)


def torque_jacobian_pullback(model: DynamicModel, motion: Motion, chi: Array, seed: Array) -> MotionGradient:
    """Gradient of Σ seed ⊙ ∂τ_j/∂(q, q̇, q̈)_i with respect to every sample, seed (3, N, n, n): part, sample, j, i.
    Joint terms are differentiated by fourth-order differences of their exact gradients."""
    inertial, own = chi[: model.inertial_size], chi[model.inertial_size :]
    variables = [(part, i) for part in range(3) for i in range(model.n)]
    turning = [part == 0 and not model.robot.joints[i].is_prismatic for part, i in variables]
    exact = [RIESZ_STENCIL if turns else CENTRAL_STENCIL for turns in turning]
    if model.robot.coupling is not None:  # of what several bodies follow torque may be any function of its position
        several = model.robot.pattern.sum(axis=0) > 1
        far = [part == 0 and (several[i] or not model.robot.coupling.constant) for part, i in variables]
        exact = [FOURTH_ORDER_STENCIL if many else one for many, one in zip(far, exact, strict=True)]
    moved, seeds = _shifted(motion, seed, list(zip(variables, exact, strict=True)))
    gradient = _gathered(motion, model.dynamics.torque_pullback(moved, seeds, inertial))
    if not model.entries:
        return gradient
    moved, seeds = _shifted(motion, seed, [(variable, FOURTH_ORDER_STENCIL) for variable in variables])
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


@dataclass(frozen=True)
class CramerRao(CriterionSettings):
    """criterion(H) of the information that is left about θ when the motion must be estimated from noisy positions.

    trajectory: the family of the motion, of fixed duration; that of the design where a file asks for it.
    joint_noise: σ_q of a position [rad or m], one for all joints or one each. chi (p,): standard parameters, the
    description's unless given. Value and gradient are exact, but for fourth-order differences of joint terms (viscous
    friction, rotor inertia, offset: exact)."""

    trajectory: Trajectory | None = None
    joint_noise: Annotated[float | tuple[float, ...] | None, Numbers(unit="rad or m")] = None
    chi: tuple[Amount, ...] | None = None
    criterion: Annotated[Criterion, OneOf(GRAM_CRITERIA)] = field(default_factory=DOptimality)

    inner: ClassVar[tuple[str, ...]] = ("trajectory",)
    word, title = "cramer-rao", "Cramér–Rao bound"

    def __post_init__(self) -> None:
        if self.joint_noise is None:
            raise ParameterError("it needs joint_noise; give criterion: {cramer-rao: {joint_noise: 1.0e-4}}")

    def bound(self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None) -> CramerRao:
        own: Any = getattr(self.criterion, "bound", None)
        inner = self.criterion if own is None else own(model, trajectory, columns)
        family = (self.trajectory or trajectory).of_joints(model.robot.joint_names)
        return replace(self, trajectory=family, criterion=inner)

    def at(self, observed: Observed) -> CriterionEvaluation:
        h, pullback = self.information(observed)
        reduced = observed.reduced(h + (0.0 if observed.prior is None else observed.prior))
        value, dfdh = self.criterion(reduced.h)
        return CriterionEvaluation(value, further=(lambda: pullback(reduced.lifted(dfdh)),))

    def information(self, observed: Observed) -> tuple[Array, Callable[[Array], MotionGradient]]:
        """H (b, b): Fisher information about θ, without prior; and the gradient of any f(H), from M = ∂f/∂H."""
        model, motion, w = observed.model, observed.motion, observed.w
        if not isinstance(observed.formulation, TorqueRows):
            raise ParameterError(
                f"the Cramér–Rao bound is that of the inverse dynamic model; given '{observed.formulation.name}'"
            )
        if self.trajectory is None or self.joint_noise is None:
            raise ParameterError("the Cramér–Rao bound has no trajectory; give the family of the motion")
        for term, bound in zip(model.terms, model.bound, strict=True):
            if bound.has_memory:  # no derivative sample by sample
                raise ParameterError(
                    f"the Cramér–Rao bound needs torques that depend on the present state only; {term} remembers: "
                    "use a friction without memory while designing"
                )
        chi = model.nominal if self.chi is None else np.array(self.chi)
        noise = model.per_joint(self.joint_noise, "joint_noise")
        bases = np.array([basis @ self.trajectory.free for basis in self.trajectory.basis(motion.time)[:3]])
        position = block_diag(*(bases[0].T @ bases[0] / s**2 for s in noise))
        shares = self.trajectory.shares(model.n)  # of joints that have fewer coefficients than others
        own = np.eye(len(position)) if shares is None else block_diag(*shares)
        t = np.einsum("kjiN,kNc->Njic", model.torque_jacobian(motion, chi), bases, optimize=True)
        root = np.sqrt(observed.weights)[:, None, None]
        t = (t * root).reshape(len(motion) * model.n, -1) @ own
        x = cho_solve(cho_factor(t.T @ t + own.T @ position @ own), t.T @ w)  # X = S⁻¹U (n c, b)
        rest = w - t @ x  # E = W − T X (N n, b)
        half = w.T @ rest  # H = WᵀE

        def pullback(dfdh: Array) -> MotionGradient:
            """∂f/∂W = 2 E M and ∂f/∂T = −2 E M Xᵀ."""
            seed = 2.0 * rest @ dfdh
            by_t = -(seed @ x.T @ own.T).reshape(len(motion), model.n, model.n, -1) * root
            by_jacobian = np.einsum("Njic,kNc->kNji", by_t, bases, optimize=True)
            return observed.rows_pullback(seed) + torque_jacobian_pullback(model, motion, chi, by_jacobian)

        return 0.5 * (half + half.T), pullback
