"""How much a model leaves unexplained, beside models that know less: no model is judged alone (002 V-C, 004 IV-B).

Zero torque leaves 100 % by definition. Gravity of the description alone is what a robot without identification holds
itself with; the description's whole model is what its maker gave. Exact over a whole run, in one pass over its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.errors import RecordingError
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.typing import Array
from exciter.validation.prediction import Prediction, predictions

IDENTIFIED, DESCRIPTION, GRAVITY, ZERO = "identified", "description", "gravity only", "zero"
MODELS = (IDENTIFIED, DESCRIPTION, GRAVITY, ZERO)


@dataclass(frozen=True, eq=False)
class Left:
    """What ``model`` leaves of J equations: rms (J,) of measured less predicted, percent (J,) of the rms of what was
    measured, worst (J,): the largest |residual|, at the instants when (J,) [s]; total_percent: of all together. NaN of
    a joint that rests throughout: it has no equations."""

    model: str
    rms: Array
    percent: Array
    worst: Array
    when: Array
    total_percent: float


@dataclass(frozen=True, eq=False)
class Baselines:
    """Of N ``instants`` of a run; signal (J,): rms of what was measured, in ``units``. models: ``MODELS``, in order."""

    run: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    instants: int
    signal: Array
    models: tuple[Left, ...]

    def of(self, model: str) -> Left:
        return self.models[MODELS.index(model)]

    @property
    def identified(self) -> Left:
        return self.models[0]

    @property
    def resting(self) -> tuple[str, ...]:
        """Joints without any equation."""
        return tuple(joint for joint, size in zip(self.joints, self.signal, strict=True) if np.isnan(size))

    def to_dict(self) -> dict[str, Any]:
        return {left.model: self._plain(left) for left in self.models}

    def _plain(self, left: Left) -> dict[str, Any]:
        columns = (left.rms, left.percent, left.worst, left.when)
        numbers = zip(*([plain(number) for number in column] for column in columns), strict=True)
        keys = ("rms", "percent", "worst", "worst_at")
        joints = {joint: dict(zip(keys, row, strict=True)) for joint, row in zip(self.joints, numbers, strict=True)}
        return {"joints": joints, "total_percent": left.total_percent}


def baselines(problem: Problem, estimate: Estimate) -> Baselines:
    """Of all runs of the problem together."""
    sums = Sums()
    for _ in sums.of(predictions(problem, estimate)):
        pass
    return sums.baselines(", ".join(run.name for run in problem.runs))


def plain(number: float) -> float | None:
    """For JSON, which has no NaN."""
    return float(number) if np.isfinite(number) else None


class Sums:
    """Squares and largest residuals of all models, gathered while predictions pass through."""

    def __init__(self) -> None:
        self.like: Prediction | None = None
        self.instants = 0
        self.counted: Array = np.zeros(1)

    def of(self, pieces: Iterable[Prediction]) -> Iterable[Prediction]:
        for piece in pieces:
            self.add(piece)
            yield piece

    def add(self, piece: Prediction) -> None:
        if self.like is None:
            self.like = piece[:0]
            self.squares, self.worst, self.when = np.zeros((3, len(MODELS), len(piece.joints)))
        nothing = np.zeros_like(piece.measured)
        for k, torque in enumerate((piece.predicted, piece.description, piece.gravity, nothing)):
            left = np.abs(piece.measured - torque)
            self.squares[k] += (left**2).sum(axis=0)
            at = left.argmax(axis=0)
            largest = np.take_along_axis(left, at[None], axis=0)[0]
            self.when[k] = np.where(largest > self.worst[k], piece.time[at], self.when[k])
            self.worst[k] = np.maximum(largest, self.worst[k])
        self.instants += len(piece)
        self.counted = self.counted + (piece.counted or len(piece))

    def baselines(self, run: str) -> Baselines:
        like = self.like if self.like is not None else Prediction.join([])  # which says what is wrong
        counted = np.where(self.counted > 0.0, np.maximum(self.counted, 1.0), np.nan) * np.ones(len(like.joints))
        rests = np.isnan(counted)
        if rests.all():
            raise RecordingError(f"{run}: every joint rests throughout; give a log of the robot moving")
        signal = np.maximum(self.squares[-1], 1e-300)
        models = tuple(
            Left(
                name,
                np.sqrt(self.squares[k] / counted),
                np.where(rests, np.nan, 100.0 * np.sqrt(self.squares[k] / signal)),
                np.where(rests, np.nan, self.worst[k]),
                np.where(rests, np.nan, self.when[k]),
                float(100.0 * np.sqrt(self.squares[k].sum() / signal.sum())),
            )
            for k, name in enumerate(MODELS)
        )
        return Baselines(run, like.joints, like.units, self.instants, np.sqrt(self.squares[-1] / counted), models)
