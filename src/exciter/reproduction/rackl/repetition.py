"""One robot of many: identified, validated, and its payload found again; logs are not kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.reproduction.rackl import set_up
from exciter.reproduction.rackl.experiment import Experiment, Motions, loaded_run, route, synthetic_experiment
from exciter.reproduction.rackl.ratios import torque_rms
from exciter.typing import Array
from exciter.validation.baselines import Baselines, baselines
from exciter.validation.known_load import KnownLoad, recover_known_load


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


def repetition(model: DynamicModel, motions: Motions, seed: int) -> Repetition:
    one = synthetic_experiment(model, motions, seed)
    loaded, bare = loaded_run(model, motions, seed), one.problem.runs[1]
    with_load, without = (WeightedLeastSquares().estimate(Problem(model, (run,))) for run in (loaded, bare))
    load = recover_known_load(
        model, (bare,), (loaded,), set_up.payload(), uncertainty=lambda problem, estimate: estimate
    )  # noise is white here, so that covariances need nothing more
    errors = baselines(judged(one), one.two_steps)
    apart = model_errors(one, motions)
    return Repetition(one.truth, one.two_steps, one.one_step, errors, apart, with_load, without, load)


def judged(one: Experiment) -> Problem:
    """The validation log, both sides filtered and decimated."""
    return Problem(one.model, (Run.of(one.validation, route(), name="validation"),), InverseDynamic(ParallelFilter()))


def model_errors(one: Experiment, motions: Motions) -> Array:
    """(2, n) [N·m] rms of what the estimated model and CAD get wrong on the validation trajectory, without noise."""
    values = np.array([one.two_steps.values, one.model.base.base_values(one.model.nominal)])
    return torque_rms(one.model, motions.validation.curve, values - one.truth)
