"""The experiment of section V on virtual data: sixteen periods, averaged, and a machine that moves them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.recording import Recording
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import PeriodAverage, average_periods
from exciter.experiment.synthetic import synthetic_recording
from exciter.experiment.virtual import Encoder, Sampling, Simulated, TorqueMeter, Truth, VirtualRobot
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.reproduction.published import published
from exciter.reproduction.swevers_ieee.set_up import FAMILY, chi, model
from exciter.robot.motion import Motion
from exciter.typing import Array

PRINTED: dict[str, Any] = published("swevers_ieee", "published_experiment")
PERIODS: int = PRINTED["periods"]
RATE: float = float(PRINTED["rate"])  #: [Hz]
POSITION_VARIANCE: Array = np.array(PRINTED["position_variance"])  #: (3,) [rad²] of the average
TORQUE_VARIANCE: Array = np.array(PRINTED["torque_variance"])  #: (3,) [(N·m)²] of the average
UNCERTAIN = 4.0  # σ of q̇ within which its sign is not certain
STEPS = 900.0  #: [Hz] of the machine's simulation
STARTS = 2  #: of the motion c2 of all studies of estimation
C2 = f"motion c2 (best of {STARTS} starts, seed 0)"  #: in words


def logged(motion: Motion, torque_noise: ArrayLike, position_noise: ArrayLike, seed: int) -> Recording:
    """Sixteen periods of noisy torques and angles of the robot of Table I; noise σ is that of the average."""
    more = np.sqrt(PERIODS)
    sigma = more * np.asarray(torque_noise)
    angles = more * np.asarray(position_noise)
    return synthetic_recording(model(), motion, chi(), sigma, position_noise=angles, periods=PERIODS, seed=seed)


def averaged(log: Recording, average: PeriodAverage | None = None) -> Run:
    """The angles as a series (11) fitted to the mean of all periods, the torques averaged (V-A, V-B)."""
    mean = average_periods(log) if average is None else average
    processed, _ = FourierFit(len(FAMILY.numbers)).of_average(mean)
    return Run((processed,), period=log.about.period, recording=log)


@dataclass(frozen=True, eq=False)
class Pair:
    """The maximum-likelihood estimate and weighted least squares, of the same log. careful: WLS without torques at
    reversals, where q̇ is so slow that the direction of friction is not certain; ML leaves these out, too."""

    ml: Estimate
    wls: Estimate
    careful: Estimate

    @classmethod
    def of(cls, run: Run) -> Pair:
        problem = Problem(model(), (run,), folds=1)
        ml = MaximumLikelihood().estimate(problem)
        wls = WeightedLeastSquares(tuple(ml.noise))
        (piece,) = run.parts
        zone = np.zeros(3) if piece.series is None else UNCERTAIN * piece.series.noise_of_derivatives[1]
        careful = replace(problem, formulation=InverseDynamic(dead_zone=tuple(zone.tolist())))
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
    return ramped(FAMILY, delta, model().robot, periods=periods)


def executed(truth: Truth, curve: Curve, meter: TorqueMeter, seed: int = 0, position_noise: float = 0.0) -> Simulated:
    """A machine whose controller believes Table I, and knows its friction, moves along a curve; its log at 150 Hz."""
    robot, friction = model().robot, truth.friction
    known = {name: friction.array(name) for name in ("viscous", "coulomb")}
    machine = VirtualRobot(
        replace(robot, friction=known),
        truth,
        meter=meter,
        encoder=Encoder(counts=None, noise=position_noise),
        sampling=Sampling(RATE),
        simulation_rate=STEPS,
    )
    return machine.run(curve, seed=seed)
