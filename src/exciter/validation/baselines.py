"""The residual of a model beside those of simpler models, and beside the noise of the log (002 V-C, 004 IV-B).

Zero torque leaves 100 % by definition; the description's gravity alone is what holds a robot without identification;
the description's whole model is what its maker gave. Exact over a whole run, in one pass over its rows.

The noise floor is the part of the torque that no model can explain. A motion that repeats shows it: d(t) = (y(t +
period) − y(t))/√2 has the variance of the noise, whatever its colour, and nothing of the motion. Otherwise noise is
taken as white above the motion, with the σ of ``estimate_noise``. Either goes through the rows' own filter. A torque
that was low-passed before it was logged hides its noise: then there is no floor, of that joint and of all together.
Noise of positions comes on top; where the base is free, that of its pose is not small, and no floor is stated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from exciter.errors import RecordingError
from exciter.experiment.signals.noise import (
    FEWEST_NOISE_SAMPLES,
    QUIETEST_TORQUE_FRACTION,
    estimate_noise,
    trimmed_deviation,
)
from exciter.experiment.signals.processed_motion import Processed
from exciter.experiment.signals.resample import resample
from exciter.files import by_name, finite
from exciter.identification.formulations.dynamic import WRENCH_EQUATIONS
from exciter.identification.formulations.formulation import NO_COLUMNS, Formulation
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.robot.motion import Motion
from exciter.typing import Array
from exciter.validation.prediction import MOST_PREDICTED_INSTANTS, Prediction, equation_units, predictions

IDENTIFIED, DESCRIPTION, GRAVITY, ZERO = "identified", "description", "gravity only", "zero"
MODELS = (IDENTIFIED, DESCRIPTION, GRAVITY, ZERO)
#: what tables call them
MODEL_TITLES = {IDENTIFIED: "identified model", DESCRIPTION: "description", GRAVITY: "gravity only", ZERO: "no model"}
MOST_FLOOR_SAMPLES = 200_000  #: that the noise is estimated from
LONGEST_GAP_INTERVALS = 2.5  #: sampling intervals: longer gaps are not interpolated
FRICTION_JUMP_SIGMAS = 5.0  #: larger differences between periods are steps of friction, not noise
WAY_PERIODS = "from what differs between periods at the same phase"
WAY_AVERAGED = "from what differs between periods at the same phase, and their number"
WAY_WHITE = "from the band above the motion, taken as white"


@dataclass(frozen=True, eq=False)
class ModelResidual:
    """Residual of ``model`` in J equations: its rms (J,), percent (J,) of the rms of what was measured, worst (J,): the
    largest |residual|, at the instants when (J,) [s], both of whole equations, where forces of the ground took a part
    of them; total_percent: of all together. NaN: it rests throughout."""

    model: str
    rms: Array
    percent: Array
    worst: Array
    when: Array
    total_percent: float


@dataclass(frozen=True, eq=False)
class Baselines:
    """Of N ``instants`` of a run; signal (J,): rms of what was measured, in ``units``; equations (J,): how many a joint
    has, none while it rests. models: ``MODELS``, in order. measured: torque, or what else its equations are of."""

    run: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    instants: int
    signal: Array
    equations: Array
    models: tuple[ModelResidual, ...]
    measured: str = "torque"

    @classmethod
    def stacked(cls, runs: Sequence[Baselines]) -> Baselines:
        """Of several runs as if they were one: squares of all their samples added. When: of the run that has it."""
        first, equations = runs[0], np.sum([run.equations for run in runs], axis=0)
        squares = [[np.nan_to_num(run.equations * one.rms**2) for one in run.models] for run in runs]
        summed, largest = np.sum(squares, axis=0), [[one.worst for one in run.models] for run in runs]
        worst, at = np.fmax.reduce(largest), np.nanargmax(np.nan_to_num(largest, nan=-1.0), axis=0)
        when = np.take_along_axis(np.array([[one.when for one in run.models] for run in runs]), at[None], axis=0)[0]
        models, signal = _residuals(summed, equations, worst, when)
        return replace(
            first,
            run=", ".join(run.run for run in runs),
            instants=sum(run.instants for run in runs),
            signal=signal,
            equations=equations,
            models=models,
        )

    @property
    def total_name(self) -> str:
        """What stands above figures of all joints: where some slide and some turn, their squares are added as numbers,
        [N²] to [(N·m)²]."""
        return "total (N and N·m added)" if len(set(self.units)) > 1 else "total"

    @property
    def described(self) -> bool:
        """Whether the description says anything of what was measured: of currents, without drive gains, it does not."""
        return self.measured == Formulation.measured

    def of(self, model: str) -> ModelResidual:
        return self.models[MODELS.index(model)]

    @property
    def identified(self) -> ModelResidual:
        return self.models[0]

    @property
    def resting(self) -> tuple[str, ...]:
        return tuple(joint for joint, size in zip(self.joints, self.signal, strict=True) if np.isnan(size))

    def to_dict(self) -> dict[str, Any]:
        plain = {}
        for one in self.models:
            joints = by_name(self.joints, rms=one.rms, percent=one.percent, worst=one.worst, worst_at=one.when)
            plain[one.model] = {"joints": joints, "total_percent": one.total_percent}
        return finite(plain)


def baselines(problem: Problem, estimate: Estimate) -> Baselines:
    """Of all runs of the problem together."""
    return baselines_and_prediction(problem, estimate)[0]


def baselines_and_prediction(problem: Problem, estimate: Estimate) -> tuple[Baselines, Prediction]:
    """Of all runs together, and the first 200 000 instants of them, in one pass over the rows."""
    run, held, instants = problem.run_names, list[Prediction](), 0
    counted, there = np.zeros((2, len(problem.joints)))
    squares, worst, when = np.zeros((3, len(MODELS), len(problem.joints)))
    for piece in predictions(problem, estimate):
        if instants < MOST_PREDICTED_INSTANTS:
            held.append(piece)
        torques = (piece.predicted, piece.description, piece.gravity, np.zeros_like(piece.measured))
        left = np.abs(piece.measured - np.stack(torques))  # (models, N, J)
        squares += (left**2).sum(axis=1)
        largest = left.max(axis=1)
        when = np.where(largest > worst, piece.time[left.argmax(axis=1)], when)
        worst = np.maximum(largest, worst)
        instants += len(piece)
        counted += piece.counted or len(piece)
        there += piece.there or len(piece)
    first = Prediction.join(held)
    first = first if len(first) <= MOST_PREDICTED_INSTANTS else first[:MOST_PREDICTED_INSTANTS]
    prediction = replace(first, run=run, complete=instants <= MOST_PREDICTED_INSTANTS)
    if (counted <= 0.0).all():
        raise RecordingError(f"{run}: every joint rests throughout; give a log of the robot moving")
    worst *= np.sqrt(there / np.where(counted > 0.0, counted, np.inf))  # of a whole equation, as the rms is
    models, signal = _residuals(squares, counted, worst, when)
    found = Baselines(
        run=run,
        joints=problem.joints,
        units=equation_units(problem),
        instants=instants,
        signal=signal,
        equations=counted,
        models=models,
        measured=problem.formulation.measured,
    )
    return found, prediction


def _residuals(squares: Array, counted: Array, worst: Array, when: Array) -> tuple[tuple[ModelResidual, ...], Array]:
    """Of sums of squares (models, J) over ``counted`` (J,) equations; and the rms of what was measured."""
    rests = counted <= 0.0
    rms = np.sqrt(squares / np.where(rests, np.nan, np.maximum(counted, 1.0)))
    signal = np.maximum(squares[-1], 1e-300)
    percent, worst, when = (np.where(rests, np.nan, x) for x in (100.0 * np.sqrt(squares / signal), worst, when))
    totals = (100.0 * np.sqrt(squares.sum(axis=1) / signal.sum())).tolist()
    return tuple(map(ModelResidual, MODELS, rms, percent, worst, when, totals)), rms[-1]


@dataclass(frozen=True, eq=False)
class NoiseFloor:
    """sigma (J,): standard deviation of the noise in the rows' measured side; None where it cannot be known, NaN of a
    joint whose torque was smoothed before it was logged. signal (J,): rms of what was measured. Both are NaN of a joint
    that rests throughout. way: how it was found, or why not."""

    joints: tuple[str, ...]
    sigma: Array | None
    signal: Array
    way: str

    @classmethod
    def stacked(cls, floors: Sequence[NoiseFloor], runs: Sequence[Baselines]) -> NoiseFloor:
        """Of several runs as if they were one; not known where that of one of them is not."""
        signal, way = Baselines.stacked(runs).signal, "; ".join(dict.fromkeys(one.way for one in floors))
        known = [one.sigma for one in floors if one.sigma is not None]
        if len(known) < len(floors):
            return cls(joints=floors[0].joints, sigma=None, signal=signal, way=way)
        squares = np.sum([np.nan_to_num(run.equations * s**2) for run, s in zip(runs, known, strict=True)], axis=0)
        counted = np.sum([run.equations for run in runs], axis=0)
        sigma = np.sqrt(squares / np.where(counted > 0.0, counted, np.nan))
        return cls(joints=floors[0].joints, sigma=sigma, signal=signal, way=way)

    @property
    def percent(self) -> Array:
        """(J,) of the rms of what was measured; NaN where it cannot be known."""
        sigma = np.nan if self.sigma is None else self.sigma
        return np.asarray(100.0 * sigma / np.maximum(self.signal, 1e-300))

    @property
    def total_percent(self) -> float | None:
        """The same over all joints together; None where that of one cannot be known."""
        if self.sigma is None or self.hidden:
            return None
        return float(100.0 * np.sqrt(np.nansum(self.sigma**2) / max(float(np.nansum(self.signal**2)), 1e-300)))

    @property
    def hidden(self) -> tuple[str, ...]:
        """Joints that move, and whose noise cannot be seen though that of others can."""
        unseen = np.isnan(self.percent) & ~np.isnan(self.signal) if self.sigma is not None else ()
        return tuple(self.joints[j] for j in np.flatnonzero(unseen))

    @property
    def sentence(self) -> str:
        if self.hidden:
            why = f"what was measured of {', '.join(self.hidden)} is smoother than any sensor, and was low-passed"
            return f"the noise floor cannot be known: {why} before it was logged"
        if (total := self.total_percent) is None:
            return f"the noise floor cannot be known: {self.way}"
        return f"noise floor {total:.3g} %, {self.way}"

    def to_dict(self) -> dict[str, Any]:
        named = by_name(self.joints, sigma=self.sigma, percent=self.percent) if self.sigma is not None else None
        return finite({"way": self.way, "total_percent": self.total_percent, "joints": named})


def noise_floor(problem: Problem, signal: Array) -> NoiseFloor:
    """Of a problem with one run; signal (J,): rms of what was measured, as rows have it."""
    (run,) = problem.runs
    try:
        sigma, way = _found(problem, run)
    except RecordingError as error:
        sigma, way = None, str(error)
    seen = None if sigma is None else np.where(sigma >= QUIETEST_TORQUE_FRACTION * signal, sigma, np.nan)
    return NoiseFloor(joints=problem.joints, sigma=seen, signal=signal, way=way)


def _found(problem: Problem, run: Run) -> tuple[Array | None, str]:
    if problem.model.robot.free_base:  # without a drive, and noise of torques is the lesser part
        return None, "noise of the base's measured pose comes on top, and is not told apart from what models miss"
    pieces, count = list[Processed](), 0
    for piece in run.parts:
        if len(piece):
            pieces.append(piece[: MOST_FLOOR_SAMPLES - count])
            count += len(pieces[-1])
        if count >= MOST_FLOOR_SAMPLES:
            break
    if all(piece.series is not None for piece in pieces):
        return _of_average(problem, run, pieces)
    if any(np.isfinite(piece.torque_bandwidth) for piece in pieces):
        return None, "an analogue filter took away what the torque had above the motion"
    noise = _white(problem, pieces)
    if run.period is not None:
        apart, same = (_apart(problem, some, run.period) for some in (pieces, noise))
        if apart:
            return _rms(problem, apart) * _rms(problem, noise) / np.maximum(_rms(problem, same), 1e-300), WAY_PERIODS
    long = [piece for piece in pieces if len(piece) >= FEWEST_NOISE_SAMPLES]
    if not long:
        return None, "there are too few samples"
    found = [estimate_noise(piece.motion.time, _measured(problem, piece), judge_low_pass=True) for piece in long]
    limits = [estimate.low_pass for estimate in found if estimate.low_pass is not None]
    if limits:
        return None, f"the torque was low-passed at about {max(limits):.3g} Hz before it was logged, its noise with it"
    variance = np.average([estimate.sigma**2 for estimate in found], axis=0, weights=[len(piece) for piece in long])
    return np.sqrt(variance) * _rms(problem, noise), WAY_WHITE


def _of_average(problem: Problem, run: Run, pieces: Sequence[Processed]) -> tuple[Array | None, str]:
    """Rows of a mean over periods: its noise is known by the average, its colour from the periods themselves."""
    if problem.joints == WRENCH_EQUATIONS:
        return None, "of a wrench averaged over periods no noise is kept"
    if len(pieces) != 1 or pieces[0].torque_noise is None:
        return None, "a single period has nothing to be compared with"
    (piece,) = pieces
    motion, noise, recording = piece.motion, pieces[0].torque_noise, run.recording
    if np.isfinite(piece.torque_bandwidth):
        return None, "an analogue filter of the torque was undone, its noise is no longer what the periods show"
    apart, start = list[Processed](), float(motion.time[0])
    gap = np.inf if recording is None else np.diff(recording.time).max() / recording.interval
    if recording is not None and run.period is not None and gap <= LONGEST_GAP_INTERVALS:
        kept = recording.between(start, np.inf)
        uniform = resample(replace(kept, torque=kept.needed_torque(), qd=None, current=None, wrench=None), piece.rate)
        periodic = partial(np.interp, uniform.time - start, motion.time - start, period=run.period)
        again = (np.stack([periodic(column) for column in x.T], axis=1) for x in (motion.q, motion.qd, motion.qdd))
        raw = Processed(Motion(uniform.time, *again), uniform.needed_torque(), piece.rate)  # rest has no equations
        apart = _apart(problem, [raw], run.period)
    if not apart:
        return noise * _rms(problem, _white(problem, pieces)), f"{WAY_AVERAGED}, taken as white"
    whole_apart = np.sqrt((apart[0].torque ** 2).mean(axis=0))
    return noise * _rms(problem, apart) / np.maximum(whole_apart, 1e-300), WAY_AVERAGED


def _measured(problem: Problem, piece: Processed) -> Array:
    values = piece.wrench if problem.joints == WRENCH_EQUATIONS else piece.torque
    if values is None:
        raise RecordingError("no wrench on the base was recorded")
    return values


def _instead(problem: Problem, piece: Processed, values: Array) -> Processed:
    return replace(piece, wrench=values) if problem.joints == WRENCH_EQUATIONS else replace(piece, torque=values)


def _white(problem: Problem, pieces: Iterable[Processed]) -> list[Processed]:
    """White noise of σ 1 in place of what was measured; always the same."""
    rng = np.random.default_rng(0)
    return [_instead(problem, piece, rng.standard_normal(_measured(problem, piece).shape)) for piece in pieces]


def _apart(problem: Problem, pieces: Iterable[Processed], period: float) -> list[Processed]:
    """d(t) in place of what was measured, as long as a period follows; of pieces that have a whole one of it."""
    found = []
    for piece in pieces:
        lag = period * piece.rate
        count = int(np.floor(len(piece) - 1 - lag + 1e-6)) + 1
        if count < lag:
            continue
        time, values = piece.motion.time, _measured(problem, piece)
        if abs(lag - round(lag)) < 1e-6 * max(1.0, lag):
            apart = (values[round(lag) : round(lag) + count] - values[:count]) / np.sqrt(2.0)
        else:
            later = scipy.interpolate.CubicSpline(time, values)(np.minimum(time[:count] + period, time[-1]))
            apart = np.asarray((later - values[:count]) / np.sqrt(2.0))
            apart[np.abs(apart) > FRICTION_JUMP_SIGMAS * trimmed_deviation(apart)] = 0.0
        found.append(_instead(problem, piece[:count], apart))
    return found


def _rms(problem: Problem, pieces: Iterable[Processed]) -> Array:
    """(J,) of what the rows of a problem make of what was measured."""
    squares, count = np.zeros((2, len(problem.joints)))
    for rows in problem.projecting.rows(problem.model, pieces, NO_COLUMNS):
        squares += (rows.y**2).sum(axis=0)
        count += rows.counted
    return np.asarray(np.sqrt(squares / np.maximum(count, 1.0)))
