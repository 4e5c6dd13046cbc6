"""What to choose, measured: trajectories, criteria, formulations, filters, estimators, and how uncertainty is computed.

    python benchmarks/choosing.py            # the tables of docs/choosing.md, in Markdown
    python benchmarks/choosing.py criteria   # one of them

Every robot has secret parameters: its description with every body changed by about 10 % and friction by 20 %. Logs are
exact torques of these parameters with white noise on torques, and on positions where a table says so. "Held-out error"
is the rms, over all joints, of predicted less exact torque on motion that was not identified from, relative to the
noise σ of each joint or to the rms torque, as the table says.
All is seeded; figures are means over the draws given.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ[variable] = "1"

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import evaluate
from exciter.excitation.criteria.weighted_sums import CRITERIA
from exciter.excitation.design import design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.excitation.validation_motion.random_families import random_trajectory
from exciter.experiment.recording import Recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Route
from exciter.experiment.virtual import draw
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.experiment.virtual.true_parameters import drive_torque
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.estimators.robust import Huber, IterativelyReweighted
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.identification.formulations.dynamic import FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import (
    HeteroscedasticErrors,
    with_correlated_errors,
)
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import Motion, load

Array = NDArray[np.float64]
TERMS = (RotorInertia(), Viscous(), Coulomb())
DURATION, RATE = 10.0, 200.0  # [s], [Hz]
NOISE = 0.01  # σ of the torque over what the drive is made for
DRAWS, HELD_OUT = 20, 20


@dataclass(frozen=True, eq=False)
class Secret:
    """A model, the parameters χ of the robot that answers, the noise σ (n,) [N·m] of its torques, and motion (with its
    exact torque) for judging."""

    model: DynamicModel
    chi: Array
    noise: Array
    held_out: Motion

    @property
    def values(self) -> Array:
        return self.model.base.base_values(self.chi)

    def excess(self, values: Array) -> Array:
        """(N, n) predicted less exact torque of base parameters on the held-out motion [N·m]."""
        rows = self.model.base.project(self.model.regressor(self.held_out))
        return np.asarray(rows @ (values - self.values))

    def over_noise(self, values: Array) -> float:
        """Per cent of the noise σ."""
        return float(100.0 * np.sqrt(np.mean((self.excess(values) / self.noise) ** 2)))

    def over_torque(self, values: Array) -> float:
        """Per cent of the rms torque, joint by joint, then the rms over joints."""
        torque = self.model.torque(self.held_out, self.chi)
        ratio = np.mean(self.excess(values) ** 2, axis=0) / np.mean(torque**2, axis=0)
        return float(100.0 * np.sqrt(ratio.mean()))

    def ideal_std(self, motion: Motion) -> Array:
        """(b,) standard deviations that exact motion and white torque noise leave."""
        figures = evaluate(self.model, motion, self.noise**-2.0, self.model.base.independent)
        return figures.predicted_std


@cache
def secret(name: str) -> Secret:
    robot = load(name)
    model = DynamicModel(robot, TERMS)
    truth = draw(robot, seed=3)
    known = dict(zip(truth.model.standard, truth.chi, strict=True))
    chi = np.array([known.get(parameter, 0.0) for parameter in model.standard])
    spline = BSpline(DURATION, 8)  # random points, far from what any design is fitted to
    times = np.linspace(0.0, DURATION, 100, endpoint=False)
    motions = [motion_of(spline, random_trajectory(spline, robot, seed), times) for seed in range(HELD_OUT)]
    q, qd, qdd = (np.concatenate([getattr(m, part) for m in motions]) for part in ("q", "qd", "qdd"))
    held_out = Motion(np.arange(len(q)) / RATE, q, qd, qdd)
    return Secret(model, chi, NOISE * drive_torque(robot), held_out)


def sampled(family: Trajectory, delta: Array, rate: float = RATE) -> Motion:
    return motion_of(family, delta, np.arange(round(family.duration * rate)) / rate)


@cache
def designed(name: str, criterion: str = "d-optimal", harmonics: int = 5) -> tuple[Trajectory, Array]:
    return _designed(name, Fourier(DURATION, harmonics, at_rest=True), criterion)


def _designed(name: str, family: Trajectory, criterion: str) -> tuple[Trajectory, Array]:
    given = secret(name)
    found = design(
        given.model,
        family,
        criterion=CRITERIA[criterion](),
        noise=given.noise,
        starts=4,
        samples=int(DURATION * RATE),
    )
    return found.trajectory, found.delta


def rms(values: Iterable[float]) -> float:
    return float(np.sqrt(np.mean(np.square(list(values)))))


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n**{title}**\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


# -- trajectories and criteria ---------------------------------------------------------------------------------------


def judged(name: str, family: Trajectory, delta: Array) -> tuple[str, ...]:
    """Condition number, mean σ over that of the first design, held-out error, error over predicted σ."""
    given = secret(name)
    motion = sampled(family, delta)
    figures = evaluate(given.model, motion, given.noise**-2.0, given.model.base.independent)
    first, coefficients = designed(name)
    best = given.ideal_std(sampled(first, coefficients))
    exact = given.model.torque(motion, given.chi)
    torques, ratios = [], []
    for seed in range(DRAWS):
        noisy = exact + given.noise * np.random.default_rng(seed).standard_normal(exact.shape)
        problem = Problem(given.model, (Run.at(motion, noisy, RATE),), folds=1)
        found = WeightedLeastSquares(tuple(given.noise)).estimate(problem)
        torques.append(given.over_noise(found.values))
        ratios.append(rms((found.values - given.values) / figures.predicted_std))
    spread = np.exp(np.mean(np.log(figures.predicted_std / best)))
    worst = (figures.predicted_std / best).max()
    return (
        f"{figures.condition_number:.0f}",
        f"{spread:.2f}",
        f"{worst:.1f}",
        f"{rms(torques):.1f}",
        f"{rms(ratios):.2f}",
    )


HEADS = ("condition number", "σ, mean", "σ, worst", "held-out error [% of noise σ]", "actual / predicted σ")


def families() -> None:
    """Families at equal duration, all D-optimal; random motion that fills the joint limits beside them."""
    named: dict[str, Trajectory] = {
        "bspline": BSpline(DURATION, 10),
        "quintic": Quintic.even(DURATION, 6),
        "acceleration": AccelerationSequence(DURATION, 13),
    }
    for robot in ("kuka-ir361", "panda"):
        rows = []
        for harmonics in (5, 8):
            family, delta = designed(robot, harmonics=harmonics)
            label = f"`fourier`, {harmonics} harmonics: {family.free.shape[1]} variables per joint"
            rows.append((label, *judged(robot, family, delta)))
        for word, plain in named.items():
            family, delta = _designed(robot, plain, "d-optimal")
            label = f"`{word}`: {family.free.shape[1]} variables per joint"
            rows.append((label, *judged(robot, family, delta)))
        fourier, robot_ = Fourier(DURATION, 5, at_rest=True), secret(robot).model.robot
        drawn = [judged(robot, fourier, random_trajectory(fourier, robot_, seed)) for seed in range(9)]
        median = (f"{np.median([float(cells[k]) for cells in drawn]):.3g}" for k in range(len(HEADS)))
        rows.append(("random `fourier`, median of 9", *median))
        table(f"Families, {robot}, D-optimal, {DURATION:g} s", ("family", *HEADS), rows)


def criteria() -> None:
    """Criteria for one family."""
    words = ("d-optimal", "a-optimal", "e-optimal", "condition", "condition-normalized", "condition-frobenius")
    for robot in ("kuka-ir361", "panda"):
        rows = []
        for word in words:
            family, delta = designed(robot, word)
            rows.append((f"`{word}`", *judged(robot, family, delta)))
        table(f"Criteria, {robot}, 5 harmonics, {DURATION:g} s", ("criterion", *HEADS), rows)


# -- formulations, filters, uncertainty ------------------------------------------------------------------------------

LOG_RATE = 500.0  # [Hz]
ROUTE = FilteredDifferences(cutoff=20.0)
BOTH = ParallelFilter(Butterworth(10.0))


def log(
    seed: int, torque: float = 1.0, position: float | None = None, periods: int = 1, name: str = "kuka-ir361"
) -> Recording:
    """A log of the D-optimal motion; torque: times the usual noise."""
    given = secret(name)
    family, delta = designed(name)
    motion = sampled(family, delta, LOG_RATE)
    if periods == 1:  # run through twice all the same, as one recording without a period
        motion = motion_of(family, delta, np.arange(round(2 * DURATION * LOG_RATE)) / LOG_RATE)
    return synthetic_recording(
        given.model, motion, given.chi, torque * given.noise, position_noise=position, periods=periods, seed=seed
    )


def estimated(
    recording: Recording, formulation: Formulation, estimator: Estimator, route: Route = ROUTE
) -> tuple[Problem, Estimate]:
    problem = Problem(secret("kuka-ir361").model, (Run.of(recording, route),), formulation)
    return problem, estimator.estimate(problem)


def formulations() -> None:
    kinds: dict[str, Formulation] = {
        "`dynamic`, filter 10 Hz": InverseDynamic(BOTH),
        "`filtered`, 10 Hz": FilteredDynamic(BOTH),
        "`energy`, 0.1 s": Energy(0.1),
        "`power`, 10 Hz": Power(BOTH),
    }
    noises = ((1e-6, 0.1), (1e-5, 1.0), (1e-4, 1.0), (1e-4, 5.0))
    heads = ("formulation", *(f"q {1e3 * q:g} mrad, τ {NOISE * 100 * t:g} %" for q, t in noises))
    rows = []
    for label, kind in kinds.items():
        cells = []
        for position, torque in noises:
            logs = (log(seed, torque, position) for seed in range(5))
            found = (estimated(one, kind, WeightedLeastSquares())[1].values for one in logs)
            cells.append(f"{rms(secret('kuka-ir361').over_torque(values) for values in found):.2f}")
        rows.append((label, *cells))
    table("Formulations, kuka-ir361, held-out error [% of rms torque]", heads, rows)


def filters() -> None:
    """Raw and filtered equations, and what each uncertainty promises."""
    routes: dict[str, tuple[Route, Formulation]] = {
        "q at 20 Hz, no filter": (ROUTE, InverseDynamic()),
        "q at 20 Hz, both sides 10 Hz": (ROUTE, InverseDynamic(BOTH)),
        "q at 50 Hz, no filter": (FilteredDifferences(cutoff=50.0), InverseDynamic()),
        "q at 50 Hz, both sides 10 Hz": (FilteredDifferences(cutoff=50.0), InverseDynamic(BOTH)),
    }
    given, rows = secret("kuka-ir361"), []
    for label, (route, formulation) in routes.items():
        held, inside = [], {"independent": 0, "correlated": 0, "hac": 0}
        for seed in range(DRAWS):
            problem, plain = estimated(log(seed, 1.0, 2e-5), formulation, WeightedLeastSquares(), route)
            held.append(given.over_torque(plain.values))
            correlated = with_correlated_errors(problem, plain)
            hac = with_correlated_errors(problem, plain, HeteroscedasticErrors())
            for word, found in zip(inside, (plain, correlated, hac), strict=True):
                low, high = found.interval()
                inside[word] += int(((low <= given.values) & (given.values <= high)).sum())
        total = DRAWS * len(given.values)
        rows.append((label, f"{rms(held):.2f}", *(f"{100 * count / total:.0f}" for count in inside.values())))
    heads = (
        "equations",
        "held-out error [% of rms torque]",
        *(f"95 % intervals, `{word}`: hit [%]" for word in inside),
    )
    table("Filters and uncertainty, kuka-ir361, q 0.02 mrad, τ 1 %", heads, rows)


# -- estimators ------------------------------------------------------------------------------------------------------


def spoilt(recording: Recording, seed: int) -> Recording:
    """Two per cent of the torques are off by 20 σ, to either side."""
    rng = np.random.default_rng(1000 + seed)
    torque = recording.needed_torque().copy()
    hit = rng.random(torque.shape) < 0.02
    torque += hit * rng.choice([-20.0, 20.0], torque.shape) * secret("kuka-ir361").noise
    return Recording(recording.joints, recording.time, recording.q, torque=torque, about=recording.about)


def poor(seconds: float, size: float) -> Callable[[int], Recording]:
    """The first seconds of a random motion of three harmonics, which fills the joint limits at size 1."""
    given = secret("kuka-ir361")
    fourier = Fourier(DURATION, 3, at_rest=True)
    swing = random_trajectory(fourier, given.model.robot, 7)
    still = fourier.still(0.5 * np.add(*given.model.robot.position_range()))
    motion = motion_of(fourier, still + size * (swing - still), np.arange(round(seconds * LOG_RATE)) / LOG_RATE)
    return lambda seed: synthetic_recording(given.model, motion, given.chi, given.noise, position_noise=1e-6, seed=seed)


def estimators() -> None:
    raw, fifty = InverseDynamic(), FilteredDifferences(cutoff=50.0)
    data: dict[str, tuple[Callable[[int], Recording], Route, Formulation]] = {
        "clean": (lambda seed: log(seed, 1.0, 1e-6), ROUTE, raw),
        "2 % of torques off by 20 σ": (lambda seed: spoilt(log(seed, 1.0, 1e-6), seed), ROUTE, raw),
        "q 1 mrad, low-passed at 50 Hz": (lambda seed: log(seed, 1.0, 1e-3), fifty, raw),
        "q 1 mrad, at 5 Hz, both sides 3 Hz": (
            lambda seed: log(seed, 1.0, 1e-3),
            FilteredDifferences(cutoff=5.0),
            InverseDynamic(ParallelFilter(Butterworth(3.0))),
        ),
        "q 1 mrad, 10 periods averaged": (lambda seed: log(seed, 1.0, 1e-3, 10), FourierFit(), raw),
        "random, half size, 10 s": (poor(10.0, 0.5), ROUTE, raw),
        "random, 3 s": (poor(3.0, 1.0), ROUTE, raw),
    }
    kinds: dict[str, Estimator] = {
        "`ols`": OrdinaryLeastSquares(),
        "`wls`": WeightedLeastSquares(),
        "`huber`": Huber(),
        "`irls`": IterativelyReweighted(),
        "`tls`": TotalLeastSquares(),
        "`consistent`": PhysicallyConsistent(),
        "`prior`": Prior(),
        "`ml`": MaximumLikelihood(),
    }
    given = secret("kuka-ir361")
    described = given.over_torque(given.model.base.base_values(given.model.nominal))
    rows = [("none: the description", *(f"{described:.2f}" for _ in data))]
    for label, kind in kinds.items():
        cells = []
        for made, route, formulation in data.values():
            if isinstance(kind, MaximumLikelihood) and not isinstance(route, FourierFit):
                cells.append("–")
                continue
            try:
                found = (estimated(made(seed), formulation, kind, route)[1] for seed in range(5))
                cells.append(f"{rms(secret('kuka-ir361').over_torque(one.values) for one in found):.2f}")
            except ExciterError as error:
                cells.append("refused")
                print(f"{label}: {error}", file=sys.stderr)
        rows.append((label, *cells))
    table("Estimators, kuka-ir361, held-out error [% of rms torque]", ("estimator", *data), rows)


TABLES = {f.__name__: f for f in (families, criteria, formulations, filters, estimators)}


def main(words: Sequence[str]) -> int:
    unknown = [word for word in words if word not in TABLES]
    if unknown:
        print(f"no table '{unknown[0]}'; allowed are {', '.join(TABLES)}", file=sys.stderr)
        return 2
    for word in words or TABLES:
        began = time.monotonic()
        TABLES[word]()
        print(f"{word}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
