"""Identifications for the tests of reports: real motions and torques, without a log."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.quality.quality import Quality
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.identification import Identification, identify
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.notes import note, warning
from exciter.parameters.terms import Coulomb, Offset, Viscous
from exciter.robot import Robot
from exciter.validation.validation import Validation, validate_both

NOISE = 0.3
RATE = 100.0


@dataclass(frozen=True, eq=False)
class Identified:
    """found: on a run; validation: problems of a run never seen; chi: the truth. fit, unseen: judged by both."""

    found: Identification
    validation: tuple[Problem, ...]
    chi: np.ndarray
    fit: Validation
    unseen: Validation


def run_of(model: DynamicModel, chi: np.ndarray, seed: int, seconds: float = 8.0, name: str = "") -> Run:
    """A Fourier motion within the joint ranges, with the torque it takes and noise."""
    robot, rng = model.robot, np.random.default_rng(seed)
    trajectory = Fourier(period=seconds, harmonics=4)
    low, high = robot.position_range()
    delta = rng.standard_normal((robot.n, trajectory.coefficients)) * 0.06 * (high - low)[:, None]
    delta[:, -1] = 0.5 * (low + high)
    moved = motion(trajectory, delta, np.arange(int(seconds * RATE)) / RATE)
    torque = model.torque(moved, chi) + NOISE * rng.standard_normal(moved.q.shape)
    return Run.at(moved, torque, RATE, name or f"logs/run {seed}.csv")


def identified(robot: Robot) -> Identified:
    model = DynamicModel(robot, (Viscous(), Coulomb(), Offset()))
    rng = np.random.default_rng(5)
    chi = model.nominal * rng.uniform(0.7, 1.3, len(model.standard))
    friction = rng.uniform(1.0, 3.0, len(chi) - model.inertial_size)
    chi[model.inertial_size :] += friction
    problem = Problem(model, (run_of(model, chi, 1),))
    never = run_of(model, chi, 2)
    found = identify(problem, WeightedLeastSquares(), (never,))
    return Identified(found, (replace(found.judge, runs=(never,)),), chi, *validate_both(found, (never,)))


def quality_of(robot: Robot) -> Quality:
    """With the same finding on several joints."""
    several = [
        warning("spikes", f"{k + 2} samples stand out", name, count=k + 2) for k, name in enumerate(robot.joint_names)
    ]
    skipped = (note("planned motion", "no planned motion"),)
    return Quality(robot.joint_names, 800, 8.0, 100.0, (*several, note("rate", "100 Hz")), skipped)
