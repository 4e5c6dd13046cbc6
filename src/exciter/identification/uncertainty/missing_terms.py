"""What the torque has and the model has not: dry friction that falls with the speed, torque that comes late.

A model that misses something leaves residuals that follow it; what they follow is looked for directly, for it is small
beside the noise of single samples, and the parameters took some of it. Each kind is a column for each joint:

    friction at low speed: sgn(q̇) exp(−(q̇/v)²) (Stribeck);   delay: dτ/dt, since τ(t − T) = τ − T dτ/dt,

τ of the links alone: how friction turns round with a joint would look like a delay.

Where one of them is there, parameters are off by what they took of it: the change of the estimate when the columns are
let in. It counts as an error of its own, beside that of the noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy import stats

from exciter.errors import ParameterError
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.physical.penalised_fit import PhysicalEstimate
from exciter.identification.runs.run import bounded_parts
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.identification.uncertainty.further_columns import FurtherColumns
from exciter.notes import Note, warning
from exciter.parameters.terms.friction import STANDSTILL_SPEED, BoundStribeck
from exciter.typing import Array

MISSING_FALSE_ALARM_LEVEL = 0.01  #: chance of a false alarm, of all joints and kinds together
LOW_SPEED_SHARE = 0.1  #: of a joint's rms speed: where dry friction falls is unknown; slower, there is little motion
LEAST_MISSING_SHARE = 0.01  #: of the residual's variance: less is not worth a word, however sure
LOW_SPEED, DELAY = "friction at low speed", "delay"  #: kinds
MODEL_SUBJECT = "model error"  #: of notes that say it lacks something


ADVICE: Mapping[str, str] = MappingProxyType(
    {
        LOW_SPEED: "dry friction is {size} N·m larger at low speed: σ counts what the parameters took of "
        "it; try a term {{stribeck: {{velocity: {speed:.2g}}}}}",
        DELAY: "torque is {late} positions by {size} s, or the joint bends: σ counts what the parameters took of it; "
        "see delay: in recording.yaml",
    }
)


@dataclass(frozen=True)
class Missing:
    """What ``joint`` has of ``kind``: size [N·m or N; s of a delay] with its σ; p_value: of so much by chance, either
    way, of this one alone. speed [rad/s, m/s]: below which friction was looked for."""

    joint: str
    kind: str
    size: float
    std: float
    p_value: float
    speed: float

    @property
    def note(self) -> Note:
        size = f"{abs(self.size):.2g} ± {self.std:.1g}"
        late = "later than" if self.size < 0.0 else "ahead of"
        text = ADVICE[self.kind].format(size=size, late=late, speed=self.speed)
        if self.kind == LOW_SPEED and self.size < 0.0:
            text = text.replace("larger", "smaller")
        return warning(MODEL_SUBJECT, text, self.joint, size=self.size, std=self.std)


@dataclass(frozen=True, eq=False)
class ModelError:
    """missing: the surest first. change (p,): of the estimate's values when what is missing is let in."""

    missing: tuple[Missing, ...]
    change: Array


@dataclass(frozen=True, eq=False)
class _Probed(FurtherColumns):
    """columns: kind and number of the joint; speed (n,): see ``LOW_SPEED_SHARE``; links (10 n,): φ of all."""

    columns: tuple[tuple[str, int], ...]
    speed: Array
    links: Array

    @property
    def further_names(self) -> tuple[str, ...]:
        return tuple(f"{kind} of {self.problem.joints[j]}" for kind, j in self.columns)

    def _low_speed(self, piece: Processed) -> Array:
        qd = piece.motion.qd
        return np.asarray(np.sign(qd) * np.exp(-((qd / self.speed) ** 2)))

    def _rate(self, piece: Processed) -> Array:
        torque = self.problem.model.dynamics.inverse_dynamics(piece.motion, self.links)
        return np.asarray(np.gradient(torque, piece.motion.time, axis=0))

    def further(self) -> Iterator[Array]:
        for slow, rate in zip(self.signal(self._low_speed), self.signal(self._rate), strict=True):
            more = np.zeros((len(self.joints), len(self.columns), slow.shape[1]))
            for k, (kind, j) in enumerate(self.columns):
                more[j, k] = slow[j] if kind == LOW_SPEED else rate[j]
            yield more


def find_missing(problem: Problem, estimate: Estimate, level: float = MISSING_FALSE_ALARM_LEVEL) -> ModelError | None:
    """What chance does not explain; None where nothing is found, or the motion is too little to tell. Of equations that
    are torques of joints, and an estimate by (weighted) least squares, with a prior or not. level: chance of any
    finding where the model is right (Bonferroni)."""
    if problem.joints != problem.model.robot.joint_names:
        return None
    squares = np.mean(np.concatenate([part.motion.qd**2 for part in bounded_parts(problem.runs)]), axis=0)
    speed = np.maximum(LOW_SPEED_SHARE * np.sqrt(squares), STANDSTILL_SPEED)
    known = {j for term in problem.model.bound if isinstance(term, BoundStribeck) for j in term.joints}
    columns = [(LOW_SPEED, j) for j in range(len(speed)) if j not in known]
    links = np.zeros(10 * len(speed))
    if estimate.standard is not None and len(estimate.standard) == len(problem.model.standard):
        links = estimate.standard[: len(links)]
        columns += [(DELAY, j) for j in range(len(speed))]
    weights, prior = estimate.noise, None
    if isinstance(estimate, PhysicalEstimate) and estimate.weights is not None:
        weights, prior = estimate.weights, estimate.prior
    try:
        every = _Probed(problem, tuple(columns), speed, links)
        values, found = every.fitted(weights, prior, StationaryErrors())
    except ParameterError:
        return None
    first = len(problem.names)
    std = np.sqrt(np.maximum(found.covariance.diagonal()[first:], 1e-300))
    p_values = 2.0 * stats.t.sf(np.abs(values[first:]) / std, found.sandwich.freedom)
    missing = []
    for k, (kind, j) in enumerate(columns):
        size, joint = float(values[first + k]), problem.joints[j]
        share = every.power(first + k, j) * (size / estimate.noise[j]) ** 2
        if p_values[k] * len(columns) < level and share > LEAST_MISSING_SHARE:
            error, p = float(std[k]), float(p_values[k])
            missing.append(((kind, j), Missing(joint, kind, size, std=error, p_value=p, speed=float(speed[j]))))
    if not missing:
        return None
    there, listed = zip(*missing, strict=True)
    let_in = replace(every, columns=there).values(weights, prior)[:first]
    return ModelError(
        missing=tuple(sorted(listed, key=lambda one: one.p_value)),
        change=let_in - replace(every, columns=()).values(weights, prior),
    )
