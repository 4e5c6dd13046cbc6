"""The experiment of section IV on robots that differ from CAD: logs, estimation in two steps and in one, repetitions.

How much better an estimated model is than CAD depends on the noise, and is found without logs for many robots: noise of
the decimated torques and what a model gets wrong add up as squares. A hundred robots and more take no longer so than a
few that execute their motions and are identified, which are the check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import exciter as ex
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.validation_motion.random_families import DrawnMotion, draw
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.virtual.sensors import Encoder, Sampling, TorqueMeter
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.experiment.virtual.true_parameters import Truth
from exciter.experiment.virtual.true_parameters import draw as draw_truth
from exciter.experiment.virtual.virtual_robot import VirtualRobot
from exciter.identification.estimators.staged import StaticThenDynamic
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.typing import Array
from exciter.validation.baselines import Baselines, baselines
from exciter.validation.known_load import KnownLoad
from exciter_papers.known_load import recover_known_load
from exciter_papers.paper import DataTable, published
from exciter_papers.rackl import designs, set_up, static

POSE_DWELL_TIME = 0.4  # [s] in every pose
VALIDATION = ex.RandomSpline(duration=10.0, segments=8, degree=4)
VALIDATION_SEED = 1
PAYLOAD_SEED_OFFSET = 500  # added to the seed of a log with payload


@dataclass(frozen=True, eq=False)
class Motions:
    """What every robot executes: poses, the optimised trajectory, and a random spline to validate on."""

    tour: Curve
    dynamic: Curve
    validation: DrawnMotion

    @classmethod
    def of(cls, model: ex.DynamicModel) -> Motions:
        return cls(
            static.optimised_poses(model).tour(model.robot, POSE_DWELL_TIME),
            designs.full_criterion(1, payload=True).curve,
            draw(model.robot, VALIDATION, set_up.limits_of(model), seed=VALIDATION_SEED),
        )


@dataclass(frozen=True, eq=False)
class PayloadExperiment:
    """Logs of one robot; chi (p,): its true standard parameters."""

    model: ex.DynamicModel
    chi: Array
    tour: ex.Recording
    dynamic: ex.Recording
    validation: ex.Recording

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
        return StaticThenDynamic(runs=("static",), known=True).estimate(self.problem)

    @cached_property
    def one_step(self) -> Estimate:
        """All equations together, weighted by the noise of their joints."""
        return ex.WeightedLeastSquares().estimate(self.problem)


def truth(model: ex.DynamicModel, seed: int) -> Truth:
    """A robot whose links differ from the description in mass, size and place."""
    return draw_truth(model.robot, seed)


def route() -> FilteredDifferences:
    """Positions through a Butterworth filter forwards and backwards, and central differences."""
    return FilteredDifferences(cutoff=published("rackl")["filter"]["cutoff"])


def virtual_experiment(model: ex.DynamicModel, motions: Motions, seed: int) -> PayloadExperiment:
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
    return PayloadExperiment(model, chi, log(model, motions.tour, chi, 3 * seed), dynamic, validation)


def synthetic_experiment(model: ex.DynamicModel, motions: Motions, seed: int) -> PayloadExperiment:
    """Straight from the model: exact torques of the true parameters, white noise on torques and positions."""
    chi = true_chi(model, seed)
    curves = motions.tour, motions.dynamic, motions.validation.curve
    logs = [log(model, curve, chi, 3 * seed + k) for k, curve in enumerate(curves)]
    return PayloadExperiment(model, chi, logs[0], logs[1], logs[2])


def true_chi(model: ex.DynamicModel, seed: int) -> Array:
    """χ (p,) of rigid bodies: friction is behind the sensors."""
    return ex.DynamicModel(truth(model, seed).robot).nominal


def log(model: ex.DynamicModel, curve: Curve, chi: Array, seed: int) -> ex.Recording:
    rate = set_up.sampling_rate()
    motion = curve.motion(np.arange(int(curve.duration * rate) + 1) / rate)
    noise = set_up.torque_noise()
    return synthetic_recording(model, motion, chi, noise, position_noise=set_up.POSITION_NOISE_STD, seed=seed)


def loaded_run(model: ex.DynamicModel, motions: Motions, seed: int) -> Run:
    """The dynamic trajectory with the payload on the flange, which the run names as known."""
    chi = true_chi(model, seed) + (set_up.loaded_chi(model) - model.nominal)
    recording = log(model, motions.dynamic, chi, 3 * seed + PAYLOAD_SEED_OFFSET)
    run = Run.of(recording, route(), name="loaded")
    return Run(run.parts, run.name, run.span, run.period, set_up.payload(), recording, run.notes)


# -- estimated model over CAD, by the noise ----------------------------------------------------------------------------

ROBOTS = 200  # seeds 1 … 200
TRAJECTORY_INSTANTS = 200  # of the trajectory
CLEARLY_SMALLER_ERROR_RATIO = 0.9  # of the CAD model's error: less is clearly smaller


def torque_rms(model: ex.DynamicModel, curve: Curve, wrong: Array) -> Array:
    """(m, n) [N·m] rms of the torques of base parameters (m, b) that are too much, along a curve."""
    rows = model.base.project(model.regressor(curve.motion(np.linspace(0.0, curve.duration, TRAJECTORY_INSTANTS))))
    return np.asarray(np.sqrt(np.square(np.einsum("Njb,mb->mNj", rows, wrong)).mean(axis=1)))


def cad_errors(model: ex.DynamicModel, curve: Curve, robots: int = ROBOTS) -> Array:
    """(robots, n) [N·m] rms of what CAD gets wrong, without noise."""
    differences = [model.nominal - true_chi(model, seed) for seed in range(1, 1 + robots)]
    return torque_rms(model, curve, np.array([model.base.base_values(one) for one in differences]))


def expected(noise: Array, own: Array, cad: Array, factor: float = 1.0) -> Array:
    """Ratio of the rms errors, estimated model over CAD, with ``factor`` times the noise [N·m]: what the estimated
    model gets wrong, own [N·m], grows with the noise, what CAD does, does not."""
    return np.asarray(factor * np.hypot(noise, own) / np.hypot(factor * noise, cad))


def clearly_better(ratios: Array) -> Array:
    """(n,) share of robots."""
    return np.asarray((ratios < CLEARLY_SMALLER_ERROR_RATIO).mean(axis=0))


def wider() -> float:
    """How many times larger σ is when the noise of the source fills the source's band only."""
    return float(np.sqrt(set_up.passed_band() / published("rackl")["repeatability"]["band"]))


def hidden(ratios: Array, joints: Array) -> str:
    """Joints for which the estimated model is not clearly better with most robots."""
    found = [set_up.joint_name(j) for j in joints if not clearly_better(ratios)[j] > 0.5]
    return ", ".join(found) or "no joint"


def noise_table(scan: Mapping[float, Array]) -> DataTable:
    """scan: ratios (robots, n) by how many times larger noise is."""
    rows = [(factor, set_up.cad_error() / factor, *np.median(ratios, axis=0)) for factor, ratios in scan.items()]
    joints = (set_up.joint_name(j) for j in range(len(rows[0]) - 2))
    caption = (
        "Median ratio of the errors, estimated model over CAD, by noise. Or, in the second column, with our noise and "
        "another error of CAD: only the ratio of the two counts"
    )
    return DataTable("figure-4-noise", caption, ("noise, of ours", "or CAD error [%]", *joints), rows)


# -- one robot of many -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Repetition:
    """truth (b,): base parameters. two_steps, one_step: estimates. errors: of the two steps and of CAD on the
    validation trajectory; apart (2, n) [N·m]: the same without noise. loaded, bare: estimates from the dynamic
    trajectory alone, with the payload taken off and without payload; load: the payload found again."""

    truth: Array
    two_steps: Estimate
    one_step: Estimate
    errors: Baselines
    apart: Array
    loaded: Estimate
    bare: Estimate
    load: KnownLoad


def repetition(model: ex.DynamicModel, motions: Motions, seed: int) -> Repetition:
    one = synthetic_experiment(model, motions, seed)
    loaded, bare = loaded_run(model, motions, seed), one.problem.runs[1]
    with_load, without = (ex.WeightedLeastSquares().estimate(Problem(model, (run,))) for run in (loaded, bare))
    load = recover_known_load(
        model, (bare,), (loaded,), set_up.payload(), uncertainty=lambda problem, estimate: estimate
    )  # noise is white here, so that covariances need nothing more
    errors = baselines(judged(one), one.two_steps)
    apart = model_errors(one, motions)
    return Repetition(one.truth, one.two_steps, one.one_step, errors, apart, with_load, without, load)


def judged(one: PayloadExperiment) -> Problem:
    """The validation log, both sides filtered and decimated."""
    return Problem(
        one.model, (Run.of(one.validation, route(), name="validation"),), ex.InverseDynamic(ParallelFilter())
    )


def model_errors(one: PayloadExperiment, motions: Motions) -> Array:
    """(2, n) [N·m] rms of what the estimated model and CAD get wrong on the validation trajectory, without noise."""
    values = np.array([one.two_steps.values, one.model.base.base_values(one.model.nominal)])
    return torque_rms(one.model, motions.validation.curve, values - one.truth)
