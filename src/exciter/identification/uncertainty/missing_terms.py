"""What the torque has and the model has not: dry friction that is another one at low speed.

A model that misses something leaves residuals that follow it; what they follow is looked for directly, for it is small
beside the noise of single samples, it comes with both signs at the same speed, and the parameters took some of it. Each
joint gets one more column, sgn(q̇) exp(−(q̇/v)²): Stribeck's, and near that of joints that stick when they turn round.

Where it is there, parameters are off by what they took of it: the change of the estimate when the columns are let in.
It counts as an error of its own, beside that of the noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from exciter.errors import ParameterError
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import bounded_parts
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.identification.uncertainty.further_columns import FurtherColumns, WeightedFit
from exciter.notes import Note, warning
from exciter.parameters.terms.friction import STANDSTILL_SPEED, BoundStribeck
from exciter.typing import Array

MISSING_FALSE_ALARM_LEVEL = 0.01  #: chance of a false alarm, of all joints together
LOW_SPEED_SHARE = 0.1  #: of a joint's rms speed: where dry friction falls is unknown; slower, there is little motion
LEAST_MISSING_SHARE = 0.01  #: of the residual's variance: less is not worth a word, however sure
MODEL_SUBJECT = "model error"  #: of notes that say it lacks something


@dataclass(frozen=True)
class MissingFriction:
    """size [``unit``]: of dry friction below ``speed`` [rad/s, m/s] that the model lacks, with its σ; p_value: of so
    much by chance, either way, of this joint alone."""

    joint: str
    unit: str
    size: float
    std: float
    p_value: float
    speed: float

    @property
    def note(self) -> Note:
        more = "more" if self.size > 0.0 else "less"
        why = (
            f"try a term {{stribeck: {{velocity: {self.speed:.2g}}}}}"
            if self.size > 0.0
            else "it may stick when it turns"
        )
        text = (
            f"dry friction is {abs(self.size):.2g} ± {self.std:.1g} {self.unit} {more} at low speed than in the model; "
            f"σ counts what other parameters took of it; {why}"
        )
        return warning(MODEL_SUBJECT, text, self.joint, size=self.size, std=self.std)


@dataclass(frozen=True, eq=False)
class ModelError:
    """missing: the surest first. change (p,): of the estimate's values when what is missing is let in."""

    missing: tuple[MissingFriction, ...]
    change: Array


@dataclass(frozen=True, eq=False)
class _WithLowSpeedFriction(FurtherColumns):
    """at: numbers of the joints that get the column; speed (n,): see ``LOW_SPEED_SHARE``."""

    at: tuple[int, ...]
    speed: Array

    @property
    def further_names(self) -> tuple[str, ...]:
        return tuple(f"friction of {self.joints[j]} at low speed" for j in self.at)

    def further(self) -> Iterator[Array]:
        for column in self.signal():
            more = np.zeros((len(self.joints), len(self.at), column.shape[1]))
            more[self.at, range(len(self.at))] = column[list(self.at)]
            yield more

    def made(self, piece: Processed) -> Array:
        qd = piece.motion.qd
        return np.asarray(np.sign(qd) * np.exp(-((qd / self.speed) ** 2)))


def find_missing(problem: Problem, estimate: Estimate, level: float = MISSING_FALSE_ALARM_LEVEL) -> ModelError | None:
    """What chance does not explain; None where nothing is found, or the motion is too little to tell. Of equations that
    are torques of joints, and an estimate by (weighted) least squares, with a prior or not. level: chance of any
    finding where the model is right (Bonferroni)."""
    robot = problem.model.robot
    if problem.joints != robot.joint_names:
        return None
    squares = np.mean(np.concatenate([part.motion.qd**2 for part in bounded_parts(problem.runs)]), axis=0)
    speed = np.maximum(LOW_SPEED_SHARE * np.sqrt(squares), STANDSTILL_SPEED)
    known = {j for term in problem.model.bound if isinstance(term, BoundStribeck) for j in term.joints}
    fit = WeightedFit.of(problem, estimate)
    every = _WithLowSpeedFriction(fit.problem, tuple(j for j in range(robot.n) if j not in known), speed)
    first = len(problem.names)
    heard = tuple(j for k, j in enumerate(every.at, start=first) if every.power(k, j) > 0.0)  # no rest, no lost torque
    every = every if heard == every.at else replace(every, at=heard)
    try:
        values, found = every.fitted(fit.weights, fit.prior, StationaryErrors())
    except ParameterError:
        return None
    missing = dict[int, MissingFriction]()
    std = np.sqrt(np.maximum(found.covariance.diagonal(), 1e-300))
    p_values = 2.0 * scipy.stats.t.sf(np.abs(values) / std, found.sandwich.freedom)
    for k, j in enumerate(every.at, start=first):
        share = every.power(k, j) * (values[k] / fit.noise[j]) ** 2
        if p_values[k] * len(every.at) < level and share > LEAST_MISSING_SHARE:
            missing[j] = MissingFriction(
                joint=robot.joints[j].name,
                unit="N" if robot.joints[j].is_prismatic else "N·m",
                size=float(values[k]),
                std=float(std[k]),
                p_value=float(p_values[k]),
                speed=float(speed[j]),
            )
    if not missing:
        return None
    surely = [every.at.index(j) for j in missing]
    let_in, without = (every.values(fit.weights, fit.prior, some)[:first] for some in (surely, ()))
    return ModelError(missing=tuple(sorted(missing.values(), key=lambda one: one.p_value)), change=let_in - without)
