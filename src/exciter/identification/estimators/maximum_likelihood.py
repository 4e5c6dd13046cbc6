"""Maximum likelihood with noise on joint angles and torques (seed 002, II-A and V-B): trajectory and model together.

Levenberg–Marquardt on criterion (4), with its structure: every period has δ of its own, β is common to all.
J = [root 0; ∂τ/∂δ/σ Φ/σ] per period. Its normal equations are summed up joint by joint; Cholesky takes each period's δ
out, the remainder adds up to square-root information on β alone, and steps of δ follow by substitution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
import scipy
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.measured_period import Measured
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import word_of
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem, resting
from exciter.notes import Note, done, note, warning
from exciter.parameters.terms.term import PerJoint, per_joint
from exciter.settings import PerJointNumber
from exciter.typing import Array
from exciter.workers import one_thread

THREADED_COEFFICIENTS, MOST_TRAJECTORY_COEFFICIENTS = 300, 2000  # coefficients of a trajectory
MOST_LIKELIHOOD_NOISE_ROUNDS = 20  # of noise from residuals
ROUGH_FIT_ITERATIONS = 3  # iterations, after which residuals tell the noise
AGREED_NOISE_CHANGE = 5e-3  # relative change of noise, which thousands of samples tell to a per cent
MODEL_ERROR_PROBABILITY = 1e-3  # residuals larger than noise makes this often are model errors
MOST_LIKELIHOOD_ITERATIONS = 60
SETTLED_STEP_LENGTH, ACCEPTED_STEP_LENGTH = 1e-10, 1e-3  # squared length of a Gauss–Newton step, in σ of the estimate
FIRST_DAMPING, DAMPING_FACTOR, LARGEST_DAMPING = 1e-4, 10.0, 1e10  # damping
COST_ROUNDING_FRACTION = 1e-12  # of the cost
LIKELIHOOD_ASSUMPTIONS = assumed(
    "errors of angles and torques are independent, with the noise stated",
    "the motion is the finite Fourier series and the model is right: Cramér–Rao bound",
)


@dataclass(frozen=True)
class MaximumLikelihood(Estimator):
    """Minimises (4) over Fourier coefficients δ of every joint and parameters β, from what ``FourierFit`` and weighted
    least squares find; needs runs that repeat, in the inverse dynamic formulation without a filter.

    position_noise, torque_noise: σ [rad or m, N·m or N] of one recorded sample, one for all joints or one per joint.
    None: as samples vary between periods; but torques have the σ of their residuals for a joint where these are larger
    beyond chance (model errors), and for a single period."""

    word, title = "ml", "maximum likelihood"
    position_noise: Annotated[PerJoint | None, PerJointNumber(above=0.0, unit="rad, m")] = None
    torque_noise: Annotated[PerJoint | None, PerJointNumber(above=0.0, unit="N·m, N")] = None

    def estimate(self, problem: Problem) -> Estimate:
        measured, zone = self._measured(problem)
        with one_thread() if max(len(one.delta) for one in measured) < THREADED_COEFFICIENTS else nullcontext():
            moving = tuple(one.beyond(zone) for one in measured)
            used = tuple(one.certain() for one in moving)
            _refuse_few(problem, moving, used)
            stated = [one.noise for one in used]
            start, regressor = _start(problem, used)
            at, iterations = self._agreed(start, stated)
        rows = np.array([one.rows for one in at.measured])
        variance = np.array([one.noise**2 for one in at.measured])
        have, sliding, count = (sum(int(one.rows.sum()) for one in some) for some in (measured, moving, used))
        slow = []
        if sliding < have:
            text = f"{have - sliding} of {have} torques are not used: the joint is slower there than its dead zone"
            slow.append(done("torques", text))
        if count < sliding:
            text = (
                f"{sliding - count} of {sliding} torques are not used: the joint is so slow there that the direction "
                "of its friction is not certain"
            )
            slow.append(note("torques", text))
        return Estimate.of(
            problem,
            regressor,
            values=at.beta,
            covariance=at.newton.beta.solve(problem.names)[1],
            noise=np.sqrt((rows * variance).sum(axis=0) / rows.sum(axis=0)),
            freedom=float(rows.sum() - len(at.beta)),
            assumptions=LIKELIHOOD_ASSUMPTIONS,
            notes=(*_solution_notes(at, iterations), *slow, *_noise_notes(problem, at.measured, stated)),
        )

    def _measured(self, problem: Problem) -> tuple[tuple[Measured, ...], Array]:
        """Every period, and the dead zone (n,) of the formulation."""
        model, formulation = problem.model, problem.formulation
        problem.refuse_currents("maximum likelihood")
        if not isinstance(formulation, InverseDynamic) or formulation.parallel_filter is not None:
            given = "a filter" if isinstance(formulation, InverseDynamic) else f"the formulation {word_of(formulation)}"
            raise ParameterError(
                f"maximum likelihood compares torques as they were measured, not through {given}: use the inverse "
                "dynamic formulation without a filter, or another estimator"
            )
        if any(term.has_memory for term in model.bound):
            raise ParameterError(
                "a joint term of the model remembers earlier samples (Dahl friction), which maximum likelihood cannot "
                "differentiate; use Coulomb friction with another shape, or another estimator"
            )
        angles = _sigma(model, self.position_noise, "position noise")
        torques = _sigma(model, self.torque_noise, "torque noise")
        columns = problem.base.independent
        problem.refuse_silent("maximum likelihood")
        pieces = ((run, piece) for run in problem.runs for piece in run.parts)
        measured = [Measured.of(model, columns, run, piece, angles, torques) for run, piece in pieces]
        if (most := max(len(one.delta) for one in measured)) > MOST_TRAJECTORY_COEFFICIENTS:
            raise ParameterError(
                f"a motion was fitted with {most} coefficients, and at most {MOST_TRAJECTORY_COEFFICIENTS} are "
                "estimated together; give fewer harmonics (route: {method: fourier, harmonics: 20}), or use another "
                "estimator"
            )
        return tuple(measured), formulation.zone(model)

    def _agreed(self, start: LinearisedLikelihood, stated: list[Array]) -> tuple[LinearisedLikelihood, int]:
        """With noise that residuals do not contradict, and in how many iterations; from small to large, for torque
        errors that another trajectory explains are none."""
        at, iterations = minimise(start, ROUGH_FIT_ITERATIONS)
        for _ in range(MOST_LIKELIHOOD_NOISE_ROUNDS if self.torque_noise is None else 0):
            noise = []
            for k, (one, delta, gram, old) in enumerate(zip(at.measured, at.deltas, at.grams, stated, strict=True)):
                freedom = np.maximum(one.rows - at.newton.taken(k, gram, one.noise), 1.0)
                residual = np.maximum(np.sqrt(one.squares(delta, at.beta) / freedom), one.floor)
                chance = np.sqrt(
                    scipy.stats.f.isf(MODEL_ERROR_PROBABILITY, freedom, one.noise_freedom)
                )  # over the true σ
                noise.append(np.where(np.isnan(old) | (residual > chance * old), residual, old))
            before = [one.noise for one in at.measured]
            if all((np.abs(a - b) <= AGREED_NOISE_CHANGE * b).all() for a, b in zip(noise, before, strict=True)):
                break
            at, more = minimise(replace(at, measured=with_noise(at.measured, noise)), ROUGH_FIT_ITERATIONS)
            iterations += more
        at, more = minimise(at)
        return at, iterations + more


def _sigma(model: DynamicModel, given: PerJoint | None, what: str) -> Array | None:
    """(n,)"""
    if given is None:
        return None
    named = isinstance(given, Mapping)
    return model.per_joint(np.array(per_joint(given, model.robot.joint_names, what)[:, 0] if named else given), what)


def _refuse_few(problem: Problem, moving: tuple[Measured, ...], used: tuple[Measured, ...]) -> None:
    for joint, count in zip(problem.joints, np.sum([one.rows for one in moving], axis=0), strict=True):
        if not count:
            raise resting(joint)
    have, p = sum(int(one.rows.sum()) for one in used), len(problem.names)
    if have <= p:
        raise ParameterError(f"{have} torques for {p} parameters; record longer, or ask for fewer parameters")


def _start(problem: Problem, used: tuple[Measured, ...]) -> tuple[LinearisedLikelihood, Information]:
    """Where the paper starts, too (V-B): δ of the angles alone, β by weighted least squares (7) with that trajectory;
    noise is that of residuals where none is stated. And information of W, not divided by noise."""
    p, stated = len(problem.names), [one.noise for one in used]
    used = with_noise(used, [np.where(np.isnan(noise), 1.0, noise) for noise in stated])
    weighted = plain = Information.empty(p)
    for one in used:
        factors = one.linear(one.delta)
        for rows, total in zip(factors, one.rows, strict=True):
            plain = plain.merge(Information.of_factor(rows, int(total)))
        sides = (factors / one.noise[:, None, None]).reshape(-1, p + 1)
        weighted = weighted.add(sides[:, :-1], sides[:, -1])
    beta, _ = weighted.solve(problem.names)
    left = [np.sqrt(one.squares(one.delta, beta) / np.maximum(one.rows, 1)) + one.floor for one in used]
    used = with_noise(used, [np.where(np.isnan(a), b, a) for a, b in zip(stated, left, strict=True)])
    return LinearisedLikelihood.at(used, tuple(one.delta for one in used), beta), plain


# -- Levenberg–Marquardt -----------------------------------------------------------------------------------------------


def with_noise(measured: Sequence[Measured], noise: Sequence[Array]) -> tuple[Measured, ...]:
    """Every period with another σ (n,) of its torques."""
    return tuple(replace(one, noise=sigma) for one, sigma in zip(measured, noise, strict=True))


@dataclass(frozen=True, eq=False)
class LinearisedLikelihood:
    """Criterion (4) around δ of every period and β: Gram matrices of every period (see ``Measured.gram``)."""

    measured: tuple[Measured, ...]
    deltas: tuple[Array, ...]
    beta: Array
    grams: tuple[Array, ...]

    @classmethod
    def at(cls, measured: tuple[Measured, ...], deltas: tuple[Array, ...], beta: Array) -> LinearisedLikelihood:
        grams = tuple(one.gram(delta, beta) for one, delta in zip(measured, deltas, strict=True))
        return cls(measured=measured, deltas=deltas, beta=beta, grams=grams)

    @cached_property
    def newton(self) -> Eliminated:
        """A step without damping."""
        return self.eliminated()

    @property
    def settled(self) -> bool:
        """Whether it is a minimum."""
        return self.newton.length <= ACCEPTED_STEP_LENGTH

    def eliminated(self, damping: float = 0.0) -> Eliminated:
        p = len(self.beta)
        tops, beta = [], Information.empty(p)
        for one, delta, gram in zip(self.measured, self.deltas, self.grams, strict=True):
            c = len(delta)
            angles = np.zeros((c, c + p + 1))
            angles[:, :c], angles[:, -1] = one.root, one.root @ (one.delta - delta)
            normal = (gram / one.noise[:, None, None] ** 2).sum(axis=0) + angles.T @ angles
            normal.flat[: c * (c + p + 2) : c + p + 2] *= 1.0 + damping
            upper = _cholesky(normal)
            tops.append(upper[:c])
            beta = beta.merge(Information.of_factor(upper[c:, c:], int(one.rows.sum())))
        if damping:
            beta = beta.add(np.diag(np.sqrt(damping) * np.linalg.norm(beta.r, axis=0)), np.zeros(p))
        return Eliminated(tuple(tops), beta)


@dataclass(frozen=True, eq=False)
class Eliminated:
    """tops: of every period (c, c + p + 1), R and z of its δ given β; beta: information on β with every δ unknown."""

    tops: tuple[Array, ...]
    beta: Information

    @property
    def length(self) -> float:
        """Squared length of the step in σ: by so much it lowers the cost, were the criterion quadratic."""
        return float((self.beta.z**2).sum() + sum((top[:, -1] ** 2).sum() for top in self.tops))

    def step(self) -> tuple[list[Array], Array]:
        """Of every δ, and of β."""
        beta = linalg.solve_triangular(self.beta.r, self.beta.z)
        steps = []
        for top in self.tops:
            c = len(top)
            steps.append(linalg.solve_triangular(top[:, :c], top[:, -1] - top[:, c:-1] @ beta))
        return steps, beta

    def taken(self, index: int, gram: Array, noise: Array) -> Array:
        """(n,) degrees of freedom that the torques of a period gave to the fit: traces of the hat matrix."""
        top = self.tops[index]
        c, p = len(top), len(self.beta.z)
        r = np.zeros((c + p, c + p))
        r[:c], r[c:, c:] = top[:, :-1], self.beta.r
        inverse = linalg.solve_triangular(r, np.eye(c + p))
        return np.asarray(np.einsum("jab,ba->j", gram[:, :-1, :-1], inverse @ inverse.T) / noise**2)


def cost(measured: tuple[Measured, ...], deltas: tuple[Array, ...], beta: Array) -> float:
    """Σ ((q − q(δ))/σ_q)² + Σ ((τ − τ(δ, β))/σ_τ)²: twice (4), less what no δ explains of the angles."""
    total = 0.0
    for one, delta in zip(measured, deltas, strict=True):
        total += float((one.squares(delta, beta) / one.noise**2).sum())
        total += float(((one.root @ (delta - one.delta)) ** 2).sum())
    return total


def minimise(at: LinearisedLikelihood, rounds: int = MOST_LIKELIHOOD_ITERATIONS) -> tuple[LinearisedLikelihood, int]:
    """To a minimum, in so many iterations at most: Gauss–Newton where its steps lower the cost, damped where not."""
    now, damping = cost(at.measured, at.deltas, at.beta), 0.0
    for iteration in range(rounds):
        if at.newton.length <= SETTLED_STEP_LENGTH:
            return at, iteration
        while True:
            steps, step = (at.eliminated(damping) if damping else at.newton).step()
            trial = tuple(delta + moved for delta, moved in zip(at.deltas, steps, strict=True)), at.beta + step
            then = cost(at.measured, *trial)
            if then <= now * (1.0 + COST_ROUNDING_FRACTION):
                break
            damping = max(DAMPING_FACTOR * damping, FIRST_DAMPING)
            if at.settled or damping > LARGEST_DAMPING:  # a jump of the model (sign of q̇) is in the way
                return at, iteration
        at, now = LinearisedLikelihood.at(at.measured, *trial), then
        damping = 0.0 if damping <= FIRST_DAMPING else damping / DAMPING_FACTOR
    return at, rounds


def _cholesky(normal: Array) -> Array:
    """Upper triangular, of a Gram matrix whose last column is a right side, which exact data may make zero."""
    scale = np.sqrt(np.diag(normal))
    scale[scale == 0.0] = 1.0
    scaled = normal / np.outer(scale, scale)
    scaled[-1, -1] += 1.0  # keeps it definite; the corner says nothing of R and z
    try:
        upper = np.linalg.cholesky(scaled).T * scale
    except np.linalg.LinAlgError:
        raise ParameterError(
            "torques hardly tell parameters and trajectory apart; move more, or give fewer harmonics"
        ) from None
    return np.asarray(upper)


# -- notes -------------------------------------------------------------------------------------------------------------


def _solution_notes(at: LinearisedLikelihood, iterations: int) -> list[Note]:
    left = cost(at.measured, at.deltas, at.beta)
    freedom = sum(int(one.rows.sum()) for one in at.measured) - len(at.beta)
    known = len(at.measured[0].noise) * sum(one.noise_freedom for one in at.measured)
    tail = 0.5 * MODEL_ERROR_PROBABILITY
    low, high = freedom * scipy.stats.f.ppf([tail, 1.0 - tail], freedom, known)
    verdict = "more than" if left > high else "less than" if left < low else "as"
    text = (
        f"maximum likelihood: {iterations} iterations"
        + ("" if at.settled else ", stopped where no step lowered the cost further")
        + f"; cost {left:.6g} for {freedom} degrees of freedom ({left / freedom:.4g} each), "
        f"{verdict} the noise stated makes it"
    )
    notes = [done("iterations", text)]
    for one, delta in zip(at.measured, at.deltas, strict=True):
        step = one.coefficients(delta - one.delta)
        moved = np.sqrt(np.einsum("ja,ab,jb->j", step, one.series.gram, step) / one.series.samples)
        relative = moved / one.series.noise_of_derivatives[0]
        j = int(np.argmax(relative))
        joint = one.series.joints[j]
        text = f"torques moved the trajectory by up to {relative[j]:.2g} of its noise ('{joint}', {moved[j]:.2g} rms)"
        notes.append(done("trajectory", text, joint))
        squares = float(((one.root @ (delta - one.delta)) ** 2).sum())
        if squares > scipy.stats.chi2.isf(MODEL_ERROR_PROBABILITY, len(delta)):
            text = (
                "that is more than its noise allows: the model has errors, or the noise of the angles is larger than "
                "stated; give position_noise or torque_noise"
            )
            notes.append(warning("trajectory", text))
    return notes


def _noise_notes(problem: Problem, measured: tuple[Measured, ...], stated: list[Array]) -> list[Note]:
    notes = list[Note]()
    larger = np.max([one.noise / noise for one, noise in zip(measured, stated, strict=True)], axis=0)
    if named := [f"'{name}' {ratio:.3g}" for name, ratio in zip(problem.joints, larger, strict=True) if ratio > 1.0]:
        text = f"torques differ from the model by more than noise between periods, times {', '.join(named)}"
        notes.append(note("noise", f"{text}: σ there is that of the residuals"))
    if any(np.isnan(noise).any() for noise in stated):
        notes.append(note("noise", "one period only: the noise of torques is that of the residuals"))
    return notes
