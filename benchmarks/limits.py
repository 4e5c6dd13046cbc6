"""What limits the prediction of four real robots: noise, the structure of the model, or what the training motion told.

    python benchmarks/limits.py [--data DIR] [--found DIR] [ROBOT…]

The robots, logs and evaluation filters are those of examples/real; ``--found``: what ``run.py -o`` kept there, else all
are identified anew. Everything is of torques through the evaluation filter. For every robot:

- noise: of the torque, from what is faster than the motion, taken as white; "repeated": half of what differs between
  two runs of one motion (over √2), and how much of the residuals is the same in both;
- fits of the same structure and settings to the held-out data themselves, to both logs, and to the held-out data
  without prior and bounds: none of them is a prediction;
- predictions by the training log with one thing done otherwise: offsets free, links that cannot exist allowed, gravity
  as described, and, where torques were low-passed before they were logged, the model alone through that filter;
- how much of the held-out motion is outside the range that a joint had in training;
- where the squared error of the prediction comes from: noise; what the structure cannot say, which is the fit to the
  held-out data less noise; and what the training motion did not tell, or what changed since: the rest;
- which parameters would have to be others: one kind at a time fitted to the held-out data, all else as identified;
- what the residuals depend on.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ.setdefault(variable, "1")

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import signal

REAL = Path(__file__).parents[1] / "examples" / "real"
sys.path.insert(0, str(REAL))

from run import ROBOTS, missing, run_robot

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.experiment.signals.equation_rows import Rows, model_rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.periods import estimate_period
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import with_uncertainty
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import (
    GasSpring,
    GravitySpring,
    Offset,
    Ripple,
    RotorInertia,
    Spring,
    SqrtViscous,
    Viscous,
)
from exciter.pipeline.logs import read_logs
from exciter.validation.baselines import NoiseFloor, noise_floor
from exciter.validation.prediction import Prediction
from exciter.validation.residuals import joint_correlation, residual_whiteness
from exciter.validation.structure import structures

Array = np.ndarray
LABEL, CELL = 40, 8
ALIKE = 0.05  #: of the spread of positions: motions that differ by more are not the same
BANDS = (0.2, 1.0, 5.0, 20.0)  #: [Hz]
MOST = 6  #: parameters and dependences that are named
KINDS = (
    (RotorInertia, "rotor inertias"),
    ((Viscous, SqrtViscous), "viscous friction"),
    (Offset, "offsets"),
    ((GasSpring, GravitySpring, Spring), "springs"),
    (Ripple, "ripple"),
)
ORDER = ("offsets", "dry friction", "viscous friction", "rotor inertias", "springs", "ripple", "weights", "inertias")


# -- what is computed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Limits:
    """An identified robot with its two logs, as they enter the evaluation. source [Hz]: of the low-pass that torques of
    the training log went through before they were logged, as the quality check finds it."""

    found: IdentifiedModel
    train: tuple[Run, ...]
    held: tuple[Run, ...]
    source: float | None

    @classmethod
    def of(cls, robot: str, data: Path, folder: Path) -> Limits:
        found = IdentifiedModel.read(folder)
        train, held = ([REAL / robot / name] for name in ("recording.yaml", "held_out.yaml"))
        logs = read_logs(found.model.robot, found.config, train, held, data=data)
        findings = [one for one in logs.logs[0].quality.warnings if "half" in one.numbers]
        return cls(found, logs.runs, logs.validation_runs, float(findings[0].numbers["half"]) if findings else None)

    @cached_property
    def judged(self) -> Problem:
        """The held-out torques, through the evaluation filter."""
        return Problem(self.found.model, self.held, self.found.config.evaluation((), self.held))

    def prediction(self, runs: tuple[Run, ...], estimate: Estimate) -> Prediction:
        return Prediction.of(replace(self.judged, runs=runs), estimate)

    @cached_property
    def predicted(self) -> Prediction:
        return self.prediction(self.held, self.found.estimate)

    def fit(self, runs: tuple[Run, ...], estimator: Estimator | None = None) -> Estimate:
        """Of the same structure to other data; estimator: as identified unless given."""
        config = self.found.config
        if estimator is not None:
            config = config.with_settings(estimator=estimator)
        problem = config.problem(self.found.model, runs)
        method = config.estimator(self.found.model.robot, runs=runs)
        return with_uncertainty(problem, method, method.estimate(problem), config.uncertainty)

    def otherwise(self) -> Iterator[tuple[str, Prediction]]:
        """Predictions of the held-out log with one thing done otherwise; in words."""
        unbounded = replace(self.prior, nonnegative=True)
        described = replace(self, found=replace(self.found, model=self.described))
        yield "links that cannot exist", self.prediction(self.held, self.fit(self.train, unbounded))
        if self.prior.offset is not None:
            yield "offsets free", self.prediction(self.held, self.fit(self.train, self.free))
        if self.described is not self.found.model:
            for words, estimator in (("gravity as described", None), ("… and links that cannot", unbounded)):
                yield words, described.prediction(self.held, described.fit(self.train, estimator))
        if self.source is not None:
            yield f"model through {self.source:.2g} Hz, too", self._through(self.source)

    @cached_property
    def prior(self) -> Prior:
        """That was identified with."""
        estimator = self.found.config.settings.estimator
        assert isinstance(estimator, PhysicallyConsistent)
        return estimator.prior

    @cached_property
    def free(self) -> Estimator:
        """The estimator with free offsets."""
        return PhysicallyConsistent(replace(self.prior, offset=None))

    @cached_property
    def described(self) -> DynamicModel:
        """With gravity straight down."""
        model, gravity = self.found.model, np.array([0.0, 0.0, -9.81])
        upright = np.allclose(model.robot.gravity, gravity)
        return model if upright else replace(model, robot=model.robot.with_gravity(gravity))

    def _through(self, cutoff: float) -> Prediction:
        config, model = self.found.config, self.found.model
        problem = config.problem(model, self.train)
        method = config.estimator(model.robot, runs=self.train)
        found = method.estimate(replace(problem, formulation=Through.of(problem.formulation, cutoff)))
        return Prediction.of(replace(self.judged, formulation=Through.of(self.judged.formulation, cutoff)), found)

    def outside(self) -> Array:
        """(n,) [%] of the held-out samples whose positions the training log does not reach."""
        both = ([part.motion.q for run in runs for part in run.parts] for runs in (self.train, self.held))
        seen, new = (np.concatenate(parts) for parts in both)
        return np.asarray(100.0 * ((new < seen.min(axis=0)) | (new > seen.max(axis=0))).mean(axis=0))

    @cached_property
    def own(self) -> Estimate:
        return self.fit(self.held)

    @cached_property
    def floor(self) -> NoiseFloor:
        return noise_floor(self.judged, rms(self.predicted.measured))

    def refitted(self) -> dict[str, float]:
        """[%] left of the held-out torques with one kind of parameters fitted to them, by kind."""
        compressed, values = self.judged.compressed, self.found.values
        information = compressed.information(np.maximum(rms(self.predicted.residual), 1e-300))
        rest = information.z - information.r @ values
        left, kinds = {}, np.array(kinds_of(self.found.model))[self.found.model.base.independent]
        for kind in (*ORDER, "all of them"):
            chosen = (kinds == kind) | (kind == "all of them")
            if chosen.any():
                step, *_ = np.linalg.lstsq(information.r[:, chosen], rest, rcond=1e-10)
                other = values.copy()
                other[chosen] += step
                left[kind] = 100.0 * np.sqrt(compressed.squares(other).sum() / compressed.signal.sum())
        return left

    def moved(self) -> list[tuple[str, float, float, float, float]]:
        """Parameters whose values differ most between both logs: name, both values, difference over its σ, and the rms
        of the torque it makes on the held-out log [N·m]."""
        first, second = self.found.estimate, self.own
        difference = second.values - first.values
        sigma = np.hypot(first.std, second.std)
        factors = self.judged.compressed.factors[..., :-1]
        rows = max(float(self.judged.compressed.rows.sum(axis=0).max()), 1.0)
        torque = np.sqrt((factors**2).sum(axis=(0, 1, 2)) / rows) * np.abs(difference)
        order = np.argsort(-np.abs(difference) / np.maximum(sigma, 1e-300))[:MOST]
        return [
            (first.names[k], first.values[k], second.values[k], difference[k] / sigma[k], float(torque[k]))
            for k in order
        ]


@dataclass(frozen=True)
class Through(InverseDynamic):
    """The model alone through one more low-pass [Hz], both sides then through the filter of the equations."""

    cutoff: float = 1.0

    @classmethod
    def of(cls, like: object, cutoff: float) -> Through:
        assert isinstance(like, InverseDynamic)
        return cls(like.parallel_filter, like.dead_zone, cutoff)

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Array) -> Iterator[Rows]:
        assert self.parallel_filter is not None
        for piece in pieces:
            rows = Rows.join(list(model_rows(model, piece, columns)))
            sides = rows.sides.copy()
            if len(columns):
                sides[:, :, :-1] = Butterworth(self.cutoff).zero_phase(rows.w.copy(), rows.rate)
            yield self.parallel_filter.apply(replace(rows, sides=sides))


def rms(x: Array) -> Array:
    return np.asarray(np.sqrt((x**2).mean(axis=0)))


def percent(prediction: Prediction) -> tuple[Array, float]:
    error, size = ((x**2).sum(axis=0) for x in (prediction.residual, prediction.measured))
    return 100.0 * np.sqrt(error / size), float(100.0 * np.sqrt(error.sum() / size.sum()))


def kinds_of(model: DynamicModel) -> list[str]:
    """Of every standard parameter; first moments and masses are weights."""
    found = ["weights" if name.startswith("M") else "inertias" for name in model.standard[: model.inertial_size]]
    for term, bound in zip(model.terms, model.bound, strict=True):
        kind = next((word for kinds, word in KINDS if isinstance(term, kinds)), "dry friction")
        found += [kind] * len(bound.names)
    return found


@dataclass(frozen=True, eq=False)
class Repeated:
    """Two runs of one motion. apart (J,) [N·m]: rms of the difference of measured torques; left (J,): of residuals;
    same (J,): correlation of both residuals. positions: rms difference over the spread. part: of the second run that is
    in the first, too."""

    apart: Array
    left: Array
    same: Array
    positions: float
    part: float


def repeated(first: Prediction, second: Prediction) -> Repeated | None:
    """Compared at the shift in time at which positions agree best; None where they do not."""
    step = max(1, len(second) // 400)
    coarse, time = second.time[::step] - second.time[0], first.time - first.time[0]
    spread = second.q.std(axis=0)

    def apart(shift: float) -> float:
        inside = (coarse + shift >= 0.0) & (coarse + shift <= time[-1])
        if inside.mean() < 0.5:
            return np.inf
        at = _at(time, first.q, coarse[inside] + shift)
        return float(np.sqrt((((at - second.q[::step][inside]) / spread) ** 2).mean()))

    shifts = np.arange(-0.5 * coarse[-1], time[-1] - 0.5 * coarse[-1], 0.01)
    best = min(shifts, key=apart)
    best = min(best + np.linspace(-0.01, 0.01, 41), key=apart)
    if apart(best) > ALIKE:
        return None
    t = second.time - second.time[0] + best
    inside = (t >= 0.0) & (t <= time[-1])
    measured, residual = (_at(time, x, t[inside]) for x in (first.measured, first.residual))
    own = second.residual[inside]
    same = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(residual.T, own.T, strict=True)])
    return Repeated(
        rms(measured - second.measured[inside]), rms(residual - own), same, apart(best), float(inside.mean())
    )


def _at(time: Array, x: Array, when: Array) -> Array:
    return np.stack([np.interp(when, time, column) for column in x.T], axis=1)


# -- what is printed ---------------------------------------------------------------------------------------------------


def lines(robot: str, one: Limits) -> Iterator[str]:
    yield f"== {robot}: held-out torques through {one.judged.formulation.parallel_filter.low_pass.cutoff:g} Hz"  # type: ignore[attr-defined]
    yield from figures(one)
    yield ""
    yield from kinds(one)
    yield ""
    yield from structure(one.predicted)
    yield ""


def figures(one: Limits) -> Iterator[str]:
    seen = one.predicted
    size, whole = rms(seen.measured), float(np.sqrt((rms(seen.measured) ** 2).sum()))
    yield row("", [*(f"joint {j + 1}" for j in range(len(size))), "total"])
    yield row("torque [N·m]", [*size, whole])
    if one.floor.sigma is not None:
        yield row("noise [N·m]", [*one.floor.sigma, np.sqrt((one.floor.sigma**2).sum())])
        yield row("noise [%]", [*one.floor.percent, one.floor.total_percent])
    yield row("identification [%]", flat(percent(one.prediction(one.train, one.found.estimate))))
    yield row("held out [%]", flat(percent(seen)))
    own = one.prediction(one.held, one.own)
    yield row("fitted to held-out data [%]", flat(percent(own)))
    both = one.prediction(one.held, one.fit((*one.train, *one.held)))
    yield row("fitted to both [%]", flat(percent(both)))
    free = one.prediction(one.held, one.fit(one.held, "wls"))
    yield row("… held-out, no prior or bounds", flat(percent(free)))
    for words, other in one.otherwise():
        yield row(f"otherwise: {words} [%]", flat(percent(other)))
    yield from split(one, own)
    yield row("not in the training range [%]", list(one.outside()))
    yield row("offset, over the torque [%]", offsets(one.found.estimate, size))
    yield row("offset, where offsets are free [%]", offsets(one.fit(one.train, one.free), size))
    for choice in one.found.data["automatic"]:
        if choice["setting"] in ("gravity", "estimator: offset"):
            yield f"{choice['setting']}: {choice['value']}; {choice['reason']}"
    yield from again(one)
    if one.floor.sigma is None:
        yield one.floor.sentence


def offsets(estimate: Estimate, size: Array) -> list[float]:
    """[%] of the rms torque (n,) of their joint."""
    found = zip(estimate.names, estimate.values, strict=True)
    return [100.0 * abs(value) / size[int(name[3:]) - 1] for name, value in found if name.startswith("off")]


def split(one: Limits, own: Prediction) -> Iterator[str]:
    """Of the squared error, in per cent of it."""
    error, floor = (rms(x.residual) ** 2 for x in (one.predicted, own))
    noise = np.zeros_like(error) if one.floor.sigma is None else np.minimum(one.floor.sigma**2, floor)
    parts = {"noise": noise, "structure": floor - noise, "not told by training": error - floor}
    if one.floor.sigma is None:
        parts = {"noise and structure": floor, "not told by training": error - floor}
    for name, part in parts.items():
        yield row(f"error²: {name} [%]", [*(100.0 * part / error), 100.0 * part.sum() / error.sum()])


def again(one: Limits) -> Iterator[str]:
    for name, run in (("training log", one.train[0]), ("held-out log", one.held[0])):
        try:
            assert run.recording is not None
            yield f"the motion of the {name} {estimate_period(run.recording).sentence}"
        except ExciterError:
            yield f"the motion of the {name} does not repeat"
    found = repeated(one.prediction(one.train, one.found.estimate), one.predicted)
    if found is None:
        yield "the held-out motion is another one than that of the training log"
        return
    size = rms(one.predicted.measured)
    yield (
        f"{100 * found.part:.0f} % of the held-out motion is in the training log, too (positions differ by "
        f"{100 * found.positions:.2g} % of their spread):"
    )
    for name, values in (("torques differ", found.apart), ("residuals differ", found.left)):
        yield row(f"{name} [N·m]", [*values, np.sqrt((values**2).sum())])
        yield row(f"{name} [%]", [*(100 * values / size), 100 * np.sqrt((values**2).sum() / (size**2).sum())])
    yield row("correlation of both residuals", list(found.same))


def kinds(one: Limits) -> Iterator[str]:
    before = percent(one.predicted)[1]
    yield f"one kind of parameters fitted to the held-out data, all else as identified ({before:.3g} %):"
    yield "  " + ", ".join(f"{kind} {left:.3g} %" for kind, left in one.refitted().items())
    yield "fitted to the one log and to the other (difference over its σ; torque that it makes):"
    for name, first, second, sigmas, torque in one.moved():
        yield f"  {name}: {first:.4g} → {second:.4g} ({sigmas:+.1f} σ, {torque:.3g} N·m)"


def structure(seen: Prediction) -> Iterator[str]:
    found = sorted((x for x in structures(seen) if x.found), key=lambda x: -x.share)
    yield "held-out residuals:"
    for dependence in found[:MOST]:
        yield f"  {dependence.joint}: {100 * dependence.share:.2g} % of it depends on {dependence.quantity}"
    if not found:
        yield "  depend on velocity, load, position and time no more than chance explains"
    for words in joint_correlation(seen).sentences[:MOST]:
        yield f"  {words.split(':')[0]}"
    yield row("  delay of the torque [ms]", [1e3 * d for d in delays(seen)])
    yield row("  correlated for [s]", [x.fades if np.isfinite(x.fades) else "long" for x in residual_whiteness(seen)])
    e = rms(seen.residual)
    for name, part in (("first", seen[: len(seen) // 3]), ("last", seen[-(len(seen) // 3) :])):
        yield row(f"  {name} third [% of its rms]", list(100.0 * rms(part.residual) / e))
        yield row(f"  {name} third: mean [% of rms]", list(100.0 * part.residual.mean(axis=0) / e))
    frequency, power = signal.periodogram(seen.residual, seen.rate, axis=0, detrend=False)
    edges = [-1.0, *(f for f in BANDS if f < 0.5 * seen.rate), np.inf]
    for low, high in pairwise(edges):
        part = power[(frequency > low) & (frequency <= high)].sum(axis=0) / power.sum(axis=0)
        if (part > 0.005).any():
            label = f"up to {high:g} Hz" if low < 0 else f"{low:g} … {high:g} Hz" if np.isfinite(high) else "faster"
            yield row(f"  power {label} [%]", list(100.0 * part))


def delays(seen: Prediction) -> Array:
    """(J,) [s] by which measured torques come later than predicted ones, by least squares."""
    slope = np.gradient(seen.predicted, 1.0 / seen.rate, axis=0)
    return np.asarray(-(seen.residual * slope).sum(axis=0) / np.maximum((slope**2).sum(axis=0), 1e-300))


def row(label: str, cells: Sequence[object]) -> str:
    return f"{label:{LABEL}}" + "".join(f"{shown(cell):>{CELL}}" for cell in cells)


def flat(figure: tuple[Array, float]) -> list[float]:
    return [*figure[0].tolist(), figure[1]]


def shown(value: object) -> str:
    if not isinstance(value, float | np.floating):
        return str(value)
    value = float(value)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.3f}"


def main(argv: Sequence[str] | None = None) -> int:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("robots", nargs="*", metavar="ROBOT", help=f"some of {', '.join(ROBOTS)}; all unless given")
    command.add_argument("--data", type=Path, help="folder of the data; $EXCITER_DATA unless given")
    command.add_argument(
        "--found", type=Path, help="folder that examples/real/run.py -o wrote; identified anew unless given"
    )
    arguments = command.parse_args(argv)
    if wrong := [name for name in arguments.robots if name not in ROBOTS]:
        command.error(f"'{wrong[0]}' is none of {', '.join(ROBOTS)}")
    data = arguments.data or Path(os.environ.get("EXCITER_DATA") or "data")
    with tempfile.TemporaryDirectory() as scratch:
        for robot in arguments.robots or ROBOTS:
            if why := missing(robot, data):
                print(f"{robot} is skipped: {why}", file=sys.stderr)
                continue
            folder = (arguments.found or Path(scratch)) / robot
            if arguments.found is None:
                run_robot(robot, data, folder)
            print("\n".join(lines(robot, Limits.of(robot, data, folder))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
