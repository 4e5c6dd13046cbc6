"""The experiment of section IV on robots that differ from CAD: logs, processing, estimation in two steps and in one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.validation_motion.draw import Drawn, draw
from exciter.excitation.validation_motion.random_families import RandomSpline
from exciter.experiment.recording import Recording
from exciter.experiment.signals.local_routes import FilteredDifferences
from exciter.experiment.synthetic import synthetic_recording
from exciter.experiment.virtual.sensors import Encoder, Sampling, TorqueMeter
from exciter.experiment.virtual.truth import Truth
from exciter.experiment.virtual.truth import draw as draw_truth
from exciter.experiment.virtual.virtual_robot import VirtualRobot
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.staged import StaticThenDynamic
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.reproduction.published import published
from exciter.reproduction.rackl import designs, set_up, static
from exciter.typing import Array

DWELL = 0.4  # [s] in every pose
VALIDATION = RandomSpline(duration=10.0, segments=8, degree=4)
VALIDATION_SEED = 1
LOADED = 500  # added to the seed of a log with payload


@dataclass(frozen=True, eq=False)
class Motions:
    """What every robot executes: poses, the optimised trajectory, and a random spline to validate on."""

    tour: Curve
    dynamic: Curve
    validation: Drawn

    @classmethod
    def of(cls, model: DynamicModel) -> Motions:
        return cls(
            static.optimised_poses(model).tour(model.robot, DWELL),
            designs.full_criterion(1, payload=True).curve,
            draw(model.robot, VALIDATION, set_up.limits_of(model), seed=VALIDATION_SEED),
        )


@dataclass(frozen=True, eq=False)
class Experiment:
    """Logs of one robot; chi (p,): its true standard parameters."""

    model: DynamicModel
    chi: Array
    tour: Recording
    dynamic: Recording
    validation: Recording

    @cached_property
    def truth(self) -> Array:
        """(43,) true base parameters."""
        return self.model.base.base_values(self.chi)

    @cached_property
    def problem(self) -> Problem:
        """Static and dynamic logs, processed as in section IV."""
        runs = Run.of(self.tour, route(), name="static"), Run.of(self.dynamic, route(), name="dynamic")
        return Problem(self.model, runs)

    @cached_property
    def two_steps(self) -> Estimate:
        """Gravity from the poses, then inertias from the trajectory, (7) and (8)."""
        return StaticThenDynamic(runs=("static",)).estimate(self.problem)

    @cached_property
    def one_step(self) -> Estimate:
        """All equations together, weighted by the noise of their joints."""
        return WeightedLeastSquares().estimate(self.problem)


def truth(model: DynamicModel, seed: int) -> Truth:
    """A robot whose links differ from the description in mass, size and place."""
    return draw_truth(model.robot, seed)


def route() -> FilteredDifferences:
    """Positions through a Butterworth filter forwards and backwards, and central differences."""
    return FilteredDifferences(cutoff=published("rackl")["filter"]["cutoff"])


def virtual_experiment(model: DynamicModel, motions: Motions, seed: int) -> Experiment:
    """By the virtual robot: a controller moves a simulated machine; encoders with steps, noisy sensors behind gears.
    Poses at rest need no controller: their log comes straight from the model."""
    robot = VirtualRobot(
        model.robot,
        truth(model, seed),
        encoder=Encoder(),
        meter=TorqueMeter(link_side=True, noise=tuple(set_up.torque_noise().tolist())),
        sampling=Sampling(set_up.sampling_rate()),
        simulation_rate=set_up.sampling_rate(),
    )
    chi = true_chi(model, seed)
    curves = motions.dynamic, motions.validation.curve
    dynamic, validation = (robot.run(curve, seed=3 * seed + k).recording for k, curve in enumerate(curves, 1))
    return Experiment(model, chi, log(model, motions.tour, chi, 3 * seed), dynamic, validation)


def synthetic_experiment(model: DynamicModel, motions: Motions, seed: int) -> Experiment:
    """Straight from the model: exact torques of the true parameters, white noise on torques and positions."""
    chi = true_chi(model, seed)
    curves = motions.tour, motions.dynamic, motions.validation.curve
    logs = [log(model, curve, chi, 3 * seed + k) for k, curve in enumerate(curves)]
    return Experiment(model, chi, logs[0], logs[1], logs[2])


def true_chi(model: DynamicModel, seed: int) -> Array:
    """χ (p,) of rigid bodies: friction is behind the sensors."""
    return DynamicModel(truth(model, seed).robot).nominal


def log(model: DynamicModel, curve: Curve, chi: Array, seed: int) -> Recording:
    rate = set_up.sampling_rate()
    motion = curve.motion(np.arange(int(curve.duration * rate) + 1) / rate)
    noise = set_up.torque_noise()
    return synthetic_recording(model, motion, chi, noise, position_noise=set_up.POSITION_NOISE, seed=seed)


def loaded_run(model: DynamicModel, motions: Motions, seed: int) -> Run:
    """The dynamic trajectory with the payload on the flange, which the run names as known."""
    chi = true_chi(model, seed) + (set_up.loaded_chi(model) - model.nominal)
    recording = log(model, motions.dynamic, chi, 3 * seed + LOADED)
    run = Run.of(recording, route(), name="loaded")
    return Run(run.parts, run.name, run.span, run.period, set_up.payload(), recording, run.notes)
