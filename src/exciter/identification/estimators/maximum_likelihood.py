"""Maximum likelihood with noise on joint angles and torques (seed 002, II-A and V-B): trajectory and model together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.maximum_likelihood.levenberg_marquardt import (
    LinearisedLikelihood,
    Point,
    Solved,
    minimise,
    with_noise,
)
from exciter.identification.maximum_likelihood.measured_period import Measured
from exciter.notes import Note, done, note, warning
from exciter.parameters.terms.term import PerJoint, per_joint
from exciter.settings import PerJointNumber
from exciter.typing import Array

THREADED_COEFFICIENTS, MOST_TRAJECTORY_COEFFICIENTS = 300, 2000  # coefficients of a trajectory
MOST_LIKELIHOOD_NOISE_ROUNDS = 20  # of noise from residuals
ROUGH_FIT_ITERATIONS = 3  # iterations, after which residuals tell the noise
AGREED_NOISE_CHANGE = 5e-3  # relative change of noise, which thousands of samples tell to a per cent
MODEL_ERROR_PROBABILITY = 1e-3  # residuals larger than noise makes this often are model errors
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
    beyond chance (model errors), and for a single period.
    """

    word, title = "ml", "maximum likelihood"
    position_noise: Annotated[PerJoint | None, PerJointNumber(above=0.0, unit="rad, m")] = None
    torque_noise: Annotated[PerJoint | None, PerJointNumber(above=0.0, unit="N·m, N")] = None

    def estimate(self, problem: Problem) -> Estimate:
        measured = self._measured(problem)
        most = max(len(one.delta) for one in measured)
        with threadpool_limits(
            1 if most < THREADED_COEFFICIENTS else None
        ):  # small matrices: threads would wait for each other
            start = _Start.of(problem, measured)
            found = self._agreed(start)
        at = found.at
        rows = np.array([one.rows for one in at.measured])
        variance = np.array([one.noise**2 for one in at.measured])
        return Estimate.of(
            problem,
            start.regressor,
            values=at.point.beta,
            covariance=found.newton.beta.solve(problem.names)[1],
            noise=np.sqrt((rows * variance).sum(axis=0) / rows.sum(axis=0)),
            freedom=float(rows.sum() - len(at.point.beta)),
            assumptions=LIKELIHOOD_ASSUMPTIONS,
            notes=(*_solution_notes(found), *start.notes, *_noise_notes(problem, at.measured, start.stated)),
        )

    def _measured(self, problem: Problem) -> tuple[Measured, ...]:
        model, formulation = problem.model, problem.formulation
        if not isinstance(formulation, InverseDynamic) or formulation.parallel_filter is not None:
            raise ParameterError(
                "maximum likelihood compares torques as they were measured: use the inverse dynamic formulation "
                "without a filter, or another estimator"
            )
        if any(term.has_memory for term in model.bound):
            raise ParameterError(
                "a joint term of the model remembers earlier samples (Dahl friction), which maximum likelihood cannot "
                "differentiate; use Coulomb friction with another shape, or another estimator"
            )
        angles = _sigma(model, self.position_noise, "position noise")
        torques = _sigma(model, self.torque_noise, "torque noise")
        columns = problem.base.independent
        measured = [
            Measured.of(model, columns, run, piece, angles, torques) for run in problem.runs for piece in run.parts
        ]
        if (most := max(len(one.delta) for one in measured)) > MOST_TRAJECTORY_COEFFICIENTS:
            raise ParameterError(
                f"a motion was fitted with {most} coefficients, and at most {MOST_TRAJECTORY_COEFFICIENTS} are "
                "estimated together; give fewer harmonics (route: {method: fourier, harmonics: 20}), or use another "
                "estimator"
            )
        have, p = sum(int(one.rows.sum()) for one in measured), len(columns)
        if have <= p:
            raise ParameterError(f"{have} torques for {p} parameters; record longer, or ask for fewer parameters")
        return tuple(measured)

    def _agreed(self, start: _Start) -> Solved:
        """With noise that residuals do not contradict; from small to large, for torque errors that another trajectory
        explains are none."""
        found = minimise(LinearisedLikelihood.at(start.point, start.measured), ROUGH_FIT_ITERATIONS)
        iterations = found.iterations
        for _ in range(MOST_LIKELIHOOD_NOISE_ROUNDS if self.torque_noise is None else 0):
            noise = [
                np.where(np.isnan(old) | (residual > limit * old), residual, old)
                for (residual, limit), old in zip(_residuals(found), start.stated, strict=True)
            ]
            before = [one.noise for one in found.at.measured]
            if all((np.abs(a - b) <= AGREED_NOISE_CHANGE * b).all() for a, b in zip(noise, before, strict=True)):
                break
            found = minimise(found.at.with_noise(noise), ROUGH_FIT_ITERATIONS)
            iterations += found.iterations
        found = minimise(found.at)
        return replace(found, iterations=iterations + found.iterations)


def _sigma(model: DynamicModel, given: PerJoint | None, what: str) -> Array | None:
    """(n,)"""
    if given is None:
        return None
    named = isinstance(given, Mapping)
    return model.per_joint(np.array(per_joint(given, model.robot.joint_names, what)[:, 0] if named else given), what)


@dataclass(frozen=True, eq=False)
class _Start:
    """Where the paper starts, too (V-B): δ of the angles alone, β by weighted least squares with that trajectory.

    measured: without torques at an uncertain direction of motion; noise as ``stated``, that of residuals where it is
    NaN. regressor: information of W, not divided by noise.
    """

    measured: tuple[Measured, ...]
    point: Point
    stated: list[Array]
    regressor: Information
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, problem: Problem, measured: tuple[Measured, ...]) -> _Start:
        used = tuple(one.certain() for one in measured)
        stated = [one.noise for one in used]
        used = with_noise(used, [np.where(np.isnan(noise), 1.0, noise) for noise in stated])
        beta, regressor = _weighted_least_squares(problem, used)
        left = [np.sqrt(one.squares(one.delta, beta) / np.maximum(one.rows, 1)) + one.floor for one in used]
        used = with_noise(used, [np.where(np.isnan(a), b, a) for a, b in zip(stated, left, strict=True)])
        count, have = (sum(int(one.rows.sum()) for one in some) for some in (used, measured))
        text = (
            f"{have - count} of {have} torques are not used: the joint is so slow there that the direction of its "
            "friction is not certain"
        )
        point = Point(tuple(one.delta for one in used), beta)
        notes = (note("torques", text),) if count < have else ()
        return cls(measured=used, point=point, stated=stated, regressor=regressor, notes=notes)


def _weighted_least_squares(problem: Problem, measured: tuple[Measured, ...]) -> tuple[Array, Information]:
    """(7) with the trajectory of the angles alone; and information of W as it is."""
    p = len(problem.names)
    weighted = plain = Information.empty(p)
    for one in measured:
        factors = one.linear(one.delta)
        for rows, total in zip(factors, one.rows, strict=True):
            plain = plain.merge(Information.of_factor(rows, int(total)))
        sides = (factors / one.noise[:, None, None]).reshape(-1, p + 1)
        weighted = weighted.add(sides[:, :-1], sides[:, -1])
    beta, _ = weighted.solve(problem.names)
    return beta, plain


def _residuals(found: Solved) -> list[tuple[Array, Array]]:
    """Of every period: σ (n,) by its residuals, and how much larger than the true σ chance makes it at most."""
    all_of_them = []
    at = found.at
    for k, (one, delta, gram) in enumerate(zip(at.measured, at.point.deltas, at.grams, strict=True)):
        freedom = np.maximum(one.rows - found.newton.taken(k, gram, one.noise), 1.0)
        residual = np.sqrt(one.squares(delta, at.point.beta) / freedom)
        limit = np.sqrt(stats.f.isf(MODEL_ERROR_PROBABILITY, freedom, one.noise_freedom))
        all_of_them.append((np.maximum(residual, one.floor), limit))
    return all_of_them


# -- notes -------------------------------------------------------------------------------------------------------------


def _solution_notes(found: Solved) -> list[Note]:
    at = found.at
    freedom = sum(int(one.rows.sum()) for one in at.measured) - len(at.point.beta)
    known = len(at.measured[0].noise) * sum(one.noise_freedom for one in at.measured)
    low, high = freedom * stats.f.ppf(
        [0.5 * MODEL_ERROR_PROBABILITY, 1.0 - 0.5 * MODEL_ERROR_PROBABILITY], freedom, known
    )
    verdict = "more than" if found.cost > high else "less than" if found.cost < low else "as"
    text = (
        f"maximum likelihood: {found.iterations} iterations"
        + ("" if found.settled else ", stopped where no step lowered the cost further")
        + f"; cost {found.cost:.6g} for {freedom} degrees of freedom ({found.cost / freedom:.4g} each), "
        f"{verdict} the noise stated makes it"
    )
    notes = [done("iterations", text)]
    for one, delta in zip(at.measured, at.point.deltas, strict=True):
        step = one.coefficients(delta - one.delta)
        moved = np.sqrt(np.einsum("ja,ab,jb->j", step, one.series.gram, step) / one.series.samples)
        relative = moved / one.series.noise_of_derivatives[0]
        j = int(np.argmax(relative))
        joint = one.series.joints[j]
        text = f"torques moved the trajectory by up to {relative[j]:.2g} of its noise ('{joint}', {moved[j]:.2g} rms)"
        notes.append(done("trajectory", text, joint))
        squares = float(((one.root @ (delta - one.delta)) ** 2).sum())
        if squares > stats.chi2.isf(MODEL_ERROR_PROBABILITY, len(delta)):
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
