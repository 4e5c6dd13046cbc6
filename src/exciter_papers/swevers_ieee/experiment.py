"""The experiment of section V on virtual data: sixteen periods, averaged, again and again, and a machine that moves
them; estimates by maximum likelihood and least squares, their errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

import exciter as ex
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.signals.differentiation import first_difference, second_difference
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import PeriodAverage, average_periods
from exciter.experiment.virtual import Encoder, Sampling, Spread, TorqueMeter, TrueFriction, Truth, VirtualRobot, draw
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.typing import Array
from exciter_papers.paper import published
from exciter_papers.swevers_ieee.set_up import IEEE_FAMILY, IEEE_SAMPLES, TORQUE_NOISE_STD, chi, model, theta

PRINTED_EXPERIMENT: dict[str, Any] = published("swevers_ieee", "published_experiment")
RECORDED_PERIODS: int = PRINTED_EXPERIMENT["periods"]
LOG_RATE: float = float(PRINTED_EXPERIMENT["rate"])  #: [Hz]
POSITION_VARIANCE: Array = np.array(PRINTED_EXPERIMENT["position_variance"])  #: (3,) [rad²] of the average
TORQUE_VARIANCE: Array = np.array(PRINTED_EXPERIMENT["torque_variance"])  #: (3,) [(N·m)²] of the average
UNCERTAIN_SIGN_STDS = 4.0  # σ of q̇ within which its sign is not certain
SIMULATION_RATE_HZ = 900.0  #: [Hz] of the machine's simulation
ESTIMATION_DESIGN_STARTS = 2  #: of the motion c2 of all studies of estimation
C2 = f"motion c2 (best of {ESTIMATION_DESIGN_STARTS} starts, seed 0)"  #: in words


def logged(motion: ex.Motion, torque_noise: ArrayLike, position_noise: ArrayLike, seed: int) -> ex.Recording:
    """Sixteen periods of noisy torques and angles of the robot of Table I; noise σ is that of the average."""
    more = np.sqrt(RECORDED_PERIODS)
    sigma = more * np.asarray(torque_noise)
    angles = more * np.asarray(position_noise)
    return synthetic_recording(
        model(), motion, chi(), sigma, position_noise=angles, periods=RECORDED_PERIODS, seed=seed
    )


def averaged(log: ex.Recording, average: PeriodAverage | None = None) -> Run:
    """The angles as a series (11) fitted to the mean of all periods, the torques averaged (V-A, V-B)."""
    mean = average_periods(log) if average is None else average
    processed, _ = FourierFit(len(IEEE_FAMILY.numbers)).of_average(mean)
    return Run((processed,), period=log.about.period, recording=log)


@dataclass(frozen=True, eq=False)
class EstimatePair:
    """The maximum-likelihood estimate and weighted least squares, of the same log. careful: WLS without torques at
    reversals, where q̇ is so slow that the direction of friction is not certain; ML leaves these out, too."""

    ml: Estimate
    wls: Estimate
    careful: Estimate

    @classmethod
    def of(cls, run: Run) -> EstimatePair:
        problem = Problem(model(), (run,), folds=1)
        ml = MaximumLikelihood().estimate(problem)
        wls = ex.WeightedLeastSquares(tuple(ml.noise))
        (piece,) = run.parts
        zone = np.zeros(3) if piece.series is None else UNCERTAIN_SIGN_STDS * piece.series.noise_of_derivatives[1]
        careful = replace(problem, formulation=ex.InverseDynamic(dead_zone=tuple(zone.tolist())))
        return cls(ml, wls.estimate(problem), wls.estimate(careful))

    @property
    def apart(self) -> float:
        """The largest difference of a parameter between ML and WLS, in σ."""
        return float(np.abs((self.ml.values - self.wls.values) / self.ml.std).max())

    @property
    def apart_careful(self) -> float:
        return float(np.abs((self.ml.values - self.careful.values) / self.ml.std).max())


def periodic(delta: Array, periods: int) -> Curve:
    """From rest into so many periods of coefficients (3, 11), and back."""
    return ramped(IEEE_FAMILY, delta, model().robot, periods=periods)


def executed(
    truth: Truth, curve: Curve, meter: TorqueMeter, seed: int = 0, position_noise: float = 0.0
) -> ex.Simulated:
    """A machine whose controller believes Table I, and knows its friction, moves along a curve; its log at 150 Hz."""
    robot, friction = model().robot, truth.friction
    known = {name: friction.array(name) for name in ("viscous", "coulomb")}
    machine = VirtualRobot(
        replace(robot, friction=known),
        truth,
        meter=meter,
        encoder=Encoder(counts=None, noise=position_noise),
        sampling=Sampling(LOG_RATE),
        simulation_rate=SIMULATION_RATE_HZ,
    )
    return machine.run(curve, seed=seed)


# -- again and again ---------------------------------------------------------------------------------------------------

EXPERIMENT_FALSE_ALARM_CHANCE = 1e-3  # of a false alarm, two-sided


@dataclass(frozen=True, eq=False)
class NoiseCase:
    """Logs with the same noise: σ (3,) of averaged torques [N·m] and angles [rad], the estimates of each log, and the
    squared deviations between periods (R, 2, 3) of angles and torques. truth (21,). wrong (R,): samples whose fitted
    velocity has not the direction of the true one; None where the true motion is not known."""

    torque_noise: Array
    position_noise: Array
    pairs: tuple[EstimatePair, ...]
    differences: tuple[Estimate, ...]
    squares: Array
    truth: Array
    wrong: NDArray[np.int64] | None

    def errors(self, word: str) -> Array:
        """(R, 21) of an estimator, in σ of maximum likelihood."""
        found = {"ml": [p.ml for p in self.pairs], "wls": [p.wls for p in self.pairs], "plain": self.differences}
        return np.array([(e.values - self.truth) / p.ml.std for e, p in zip(found[word], self.pairs, strict=True)])

    def rms(self, word: str) -> float:
        return float(np.sqrt((self.errors(word) ** 2).mean()))

    @property
    def apart(self) -> Array:
        """(R,) ML and WLS: the largest difference of any parameter of a log, in σ."""
        return np.array([pair.apart for pair in self.pairs])

    @property
    def apart_careful(self) -> Array:
        """(R,) the same, WLS without torques whose direction of friction is uncertain."""
        return np.array([pair.apart_careful for pair in self.pairs])

    @property
    def misled(self) -> int | None:
        """Logs with a sample of the wrong direction."""
        return None if self.wrong is None else int((self.wrong > 0).sum())

    @property
    def bias(self) -> float:
        """The largest mean error of maximum likelihood over its standard error."""
        errors = self.errors("ml")
        return float(np.abs(errors.mean(axis=0)).max() * np.sqrt(len(errors)))

    @property
    def bias_limit(self) -> float:
        """What chance makes of it at most, over all parameters."""
        return float(stats.norm.isf(0.5 * EXPERIMENT_FALSE_ALARM_CHANCE / len(self.truth)))

    @property
    def chance(self) -> float:
        """Two-sided chance of Σ eᵀC⁻¹e under the covariances of maximum likelihood: χ², 21 degrees of freedom a log."""
        squares = 0.0
        for pair in self.pairs:
            error = pair.ml.values - self.truth
            squares += float(error @ np.linalg.solve(pair.ml.covariance, error))
        return two_sided(squares, len(self.truth) * len(self.pairs))

    @property
    def torques(self) -> str:
        """Their noise, in words."""
        scale = self.torque_noise[0] / TORQUE_NOISE_STD[0]
        return "a tenth" if scale < 0.5 else ("of the paper" if scale == 1.0 else "measured")

    @property
    def angles(self) -> float | str:
        """Their variance [rad²], or a word."""
        variance = self.position_noise**2
        return float(f"{variance[0]:.6g}") if np.ptp(variance) == 0.0 else "measured"

    def __str__(self) -> str:
        angles = self.angles
        if isinstance(angles, str):
            return "measured noise"
        return f"torque noise {self.torques}, angle variance {angles:.0e} rad²"


def two_sided(squares: float, freedom: int) -> float:
    """Chance of a χ² so far from its middle."""
    return float(2.0 * min(stats.chi2.cdf(squares, freedom), stats.chi2.sf(squares, freedom)))


def repeated(motion: ex.Motion, torque_noise: Array, position_noise: Array, repetitions: int) -> NoiseCase:
    """Seeds 0, 1, …: the same draws for every size of the noise."""
    logs = (logged(motion, torque_noise, position_noise, seed) for seed in range(repetitions))
    return _case(logs, torque_noise, position_noise, theta(), motion)


def _case(
    logs: Iterable[ex.Recording], torque_noise: Array, position_noise: Array, truth: Array, motion: ex.Motion | None
) -> NoiseCase:
    pairs, plain, squares, wrong = [], [], [], []
    for log in logs:
        average = average_periods(log)
        run = averaged(log, average)
        pair = EstimatePair.of(run)
        differences = Problem(model(), (differenced(average),), folds=1)
        pairs.append(pair)
        plain.append(ex.WeightedLeastSquares(tuple(pair.ml.noise)).estimate(differences))
        squares.append(between_periods(log))
        if motion is not None:
            (piece,) = run.parts
            wrong.append(int((np.sign(piece.motion.qd) != np.sign(motion.qd)).sum()))
    counts = None if motion is None else np.array(wrong)
    return NoiseCase(torque_noise, position_noise, tuple(pairs), tuple(plain), np.array(squares), truth, counts)


def between_periods(log: ex.Recording) -> Array:
    """(2, 3) Σ_k Σ_j (x_j(k) − x̄(k))² of angles and torques."""
    signals = np.array([log.q, log.needed_torque()]).reshape(2, RECORDED_PERIODS, IEEE_SAMPLES, -1)
    return np.asarray(((signals - signals.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2)))


def differenced(mean: PeriodAverage) -> Run:
    """The averaged angles differentiated sample by sample, without a series."""
    around = np.concatenate([mean.q[-1:], mean.q, mean.q[:1]])
    derivatives = first_difference(around, mean.rate), second_difference(around, mean.rate)
    return Run.at(ex.Motion(mean.time, mean.q, *derivatives), mean.torque, mean.rate)


def on_machine(delta: Array, repetitions: int) -> NoiseCase:
    """A machine with dry friction executes the motion once; its settled period, sixteen times with noise of its own.

    The controller sees no noise, so that one execution stands for all periods.
    """
    truth = nearest_machine()
    simulated = executed(truth, periodic(delta, 2), TorqueMeter(noise=0.0))
    period = average_periods(simulated.recording)
    sigma = np.sqrt(RECORDED_PERIODS) * np.array([np.sqrt(POSITION_VARIANCE), np.sqrt(TORQUE_VARIANCE)])

    def log(seed: int) -> ex.Recording:
        rng = np.random.default_rng(seed)
        shape = (RECORDED_PERIODS * len(period.time), 3)
        q, torque = (np.tile(x, (RECORDED_PERIODS, 1)) for x in (period.q, period.torque))
        start = float(period.time[0])
        return ex.Recording(
            simulated.recording.joints,
            start + np.arange(len(q)) / period.rate,
            q + sigma[0] * rng.standard_normal(shape),
            torque=torque + sigma[1] * rng.standard_normal(shape),
            about=replace(simulated.recording.about, settled=start),
        )

    known = dict(zip(truth.model.standard, truth.chi, strict=True))
    values = model().base.base_values([known.get(name, 0.0) for name in model().standard])
    return _case(map(log, range(repetitions)), np.sqrt(TORQUE_VARIANCE), np.sqrt(POSITION_VARIANCE), values, None)


def nearest_machine() -> Truth:
    """The bodies nearest to Table I that can exist, with its friction."""
    robot = model().robot
    friction = TrueFriction(*(tuple(robot.friction[name].tolist()) for name in ("viscous", "coulomb")))
    return replace(draw(robot, 0, Spread(0.0, 0.0)), friction=friction)
