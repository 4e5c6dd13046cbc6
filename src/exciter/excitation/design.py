"""The design of an experiment: the motion that makes a criterion smallest within all limits, with its certificate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.criteria import AnyCriterion, Columns, DOptimality
from exciter.excitation.criteria.figures import evaluate
from exciter.excitation.criteria.formulation import Formulation
from exciter.excitation.criteria.inverse_dynamic import InverseDynamic
from exciter.excitation.objective import Objective
from exciter.excitation.optimiser.joint_limits import check_room
from exciter.excitation.optimiser.multistart import Progress, run_starts
from exciter.excitation.optimiser.search import Attempt, Search
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.ramps import Ramps, ramped
from exciter.excitation.trajectories.trajectory import Trajectory, motion
from exciter.robot.robot import Robot

Array = NDArray[np.float64]
RATE = 100.0  # [1/s] samples of the log that the criterion counts, unless their number is given


@dataclass(frozen=True, eq=False)
class Design:
    """A certified exciting motion and what it promises.

    delta (n, c): coefficients of the family ``trajectory``; curve: what the robot executes, ramps and periods included.
    value: the criterion for one duration of the family at ``samples`` instants, with true friction signs; log_det: log
    det of the covariance; predicted_std (b,): of the parameters, in the order of ``parameters``. A motion that
    was drawn, not searched, has no attempts.
    """

    model: DynamicModel
    trajectory: Trajectory
    delta: Array
    curve: Curve
    ramps: Ramps | None
    periods: int
    criterion: AnyCriterion
    value: float
    condition_number: float
    condition_number_normalized: float
    log_det: float
    parameters: tuple[str, ...]
    predicted_std: Array
    certificate: Certificate
    constraints: tuple[Constraint, ...]
    attempts: tuple[Attempt, ...]
    seconds: float
    evaluations: int
    samples: int
    noise: Array
    seed: int
    interrupted: bool
    words: tuple[str, ...] = ()  # remarks on how the motion was found


def design(
    model: DynamicModel,
    trajectory: Trajectory,
    *,
    criterion: AnyCriterion | None = None,
    noise: ArrayLike | None = None,
    constraints: Sequence[Constraint] = (),
    columns: ArrayLike | Columns | None = None,
    formulation: Formulation | None = None,
    prior: Array | None = None,
    samples: int | None = None,
    ramps: Ramps | None = None,
    periods: int = 1,
    duration_range: tuple[float, float] | None = None,
    seed: int = 0,
    starts: int = 16,
    jobs: int = 1,
    time_limit: float | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Design:
    """Minimise a criterion (D-optimality unless given) over the motions of a family, within all limits for all time.

    noise σ (n,) or one number [N·m]: of the torques, one unless given. constraints: beyond the joint limits, which the
    robot has. columns: the parameters it is about (``Columns``), the base parameters unless given. samples: of the log
    over one duration, 100 per second unless given. prior (b, b): information of earlier experiments. duration_range
    [s]: makes the duration free. starts, from different seeds, over ``jobs`` processes; the best one is returned.
    time_limit [s] and Ctrl-C end the search early with what was reached; a checkpoint file keeps completed starts.
    """
    began = time.monotonic()
    robot = model.robot
    sigma = model.per_joint(1.0 if noise is None else noise, "noise")
    samples = round(trajectory.duration * RATE) if samples is None else samples
    check_room(robot, trajectory)
    if starts < 1 or samples < 2:
        raise ExciterError(f"a design needs 1 start and 2 samples at least; given {starts} and {samples}")
    criterion = DOptimality() if criterion is None else criterion
    formulation = InverseDynamic() if formulation is None else formulation
    objective = Objective(model, criterion, Columns.of(model, columns), sigma**-2.0, formulation, prior)
    _check_excitable(objective, trajectory, samples)
    stretch = _stretch(trajectory, duration_range)
    if stretch is not None and ("cramer-rao" in criterion.name or not isinstance(formulation, InverseDynamic)):
        raise ExciterError(
            "a free duration works with the inverse dynamic model and without cramer-rao; fix the duration"
        )
    search = Search(trajectory, objective, tuple(constraints), samples, seed, stretch)
    found = run_starts(search, starts, jobs=jobs, time_limit=time_limit, checkpoint=checkpoint, progress=progress)
    if not any(attempt.feasible for attempt in found.attempts):
        raise ExciterError(_failure(found.attempts))
    family, delta, curve, certificate = _executable(found.attempts, robot, constraints, periods, ramps)
    promised = promises(objective, family, delta, samples)
    if not np.isfinite(promised["value"]):
        log = motion(family, delta, family.sample_times(samples))
        names = ", ".join(objective.unexcited(log) or promised["parameters"])
        raise ExciterError(f"the criterion is infinite: within these limits no motion was found that excites {names}")
    return Design(
        model=model,
        trajectory=family,
        delta=delta,
        curve=curve,
        ramps=ramps,
        periods=periods,
        **promised,
        certificate=certificate,
        constraints=tuple(constraints),
        attempts=found.attempts,
        seconds=time.monotonic() - began,
        evaluations=sum(attempt.evaluations for attempt in found.attempts),
        samples=samples,
        noise=sigma,
        seed=seed,
        interrupted=found.interrupted,
    )


def promises(objective: Objective, family: Trajectory, delta: Array, samples: int) -> dict[str, Any]:
    """The fields of a design that say what a log of so many samples of one duration tells of the parameters."""
    log = motion(family, delta, family.sample_times(samples))
    columns, formulation = objective.chosen, objective.formulation
    figures = evaluate(objective.model, log, objective.weights, columns, formulation, objective.prior)
    return {
        "criterion": objective.criterion,
        "value": objective.value(log),
        "condition_number": figures.condition_number,
        "condition_number_normalized": figures.condition_number_normalized,
        "log_det": -figures.log_det,
        "parameters": figures.names,
        "predicted_std": figures.predicted_std,
    }


def _executable(
    attempts: Sequence[Attempt], robot: Robot, constraints: Sequence[Constraint], periods: int, ramps: Ramps | None
) -> tuple[Trajectory, Array, Curve, Certificate]:
    """The best attempt that can be entered and left within all limits, and the certificate of the whole."""
    refused: MotionError | None = None
    for attempt in sorted(attempts, key=lambda attempt: (attempt.value, attempt.number)):
        if attempt.delta is None:
            continue
        certificates: list[Certificate] = []

        def allowed(curve: Curve, certificates: list[Certificate] = certificates) -> bool:
            certificates.append(certify(robot, curve, constraints))
            return certificates[-1].certified

        try:
            curve = ramped(attempt.trajectory, attempt.delta, robot, periods=periods, ramps=ramps, allowed=allowed)
        except MotionError as error:
            refused = refused or error
            continue
        return attempt.trajectory, attempt.delta, curve, certificates[-1]
    assert refused is not None
    raise refused


def _stretch(trajectory: Trajectory, duration_range: tuple[float, float] | None) -> tuple[float, float] | None:
    if duration_range is None:
        return None
    low, high = duration_range
    if not 0.0 < low <= trajectory.duration <= high < np.inf:
        raise ExciterError(
            f"the duration may lie in {low:g} … {high:g} s, which must be positive and contain the trajectory's own "
            f"{trajectory.duration:g} s, where the search begins"
        )
    return low / trajectory.duration, high / trajectory.duration


def _check_excitable(objective: Objective, trajectory: Trajectory, samples: int) -> None:
    """Refuse parameters that no motion of the family tells anything about, by name."""
    low, high = objective.model.robot.position_range()
    rng = np.random.default_rng(0)
    middle = trajectory.still(0.5 * (low + high))
    swing = rng.standard_normal((len(low), trajectory.free.shape[1])) @ trajectory.free.T
    times = trajectory.sample_times(samples)
    shape = trajectory.basis(times, 0)[0] @ swing.T
    delta = middle + 0.3 * ((high - low) / np.ptp(shape, axis=0))[:, None] * swing
    names = objective.unexcited(motion(trajectory, delta, times))
    if names:
        raise ExciterError(
            f"the criterion is infinite: no motion of this kind excites {', '.join(names)} with {samples} samples; "
            f"leave {'it' if len(names) == 1 else 'them'} out, let more joints move, or take more samples"
        )


def _failure(attempts: Sequence[Attempt]) -> str:
    obstacles = [attempt.obstacle for attempt in attempts if attempt.obstacle]
    hardest = max(obstacles, key=obstacles.count, default="a limit")
    count = "the start did not end" if len(attempts) == 1 else f"none of {len(attempts)} starts ended"
    return f"infeasible: {count} with a motion that keeps all limits; hardest to keep is {hardest}; loosen it"
