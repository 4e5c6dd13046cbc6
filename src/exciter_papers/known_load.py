"""A known load, recovered: identify without it and with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from exciter import DynamicModel, InverseDynamic, WeightedLeastSquares
from exciter.errors import ParameterError
from exciter.experiment.recording import Payload
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.identification import Uncertainty
from exciter.identification.identify_config import with_uncertainty
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.payload import identify_payload, payload_between
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.notes import note
from exciter.validation.known_load import KnownLoad, judge_known_load


def recover_known_load(
    model: DynamicModel,
    unloaded: Sequence[Run],
    loaded: Sequence[Run],
    known: Payload,
    known_std: ArrayLike = 0.0,
    formulation: Formulation | None = None,
    estimator: Estimator | None = None,
    uncertainty: Uncertainty | None = None,
) -> KnownLoad:
    """known_std: σ of what is known, one or one per quantity (mass, centre, inertia as in ``LOAD_QUANTITIES``).

    Runs with and without the load are identified apart and the load is what lies between; where the loaded ones alone
    do not determine the robot, all in one fit. uncertainty: of both covariances, errors correlated in time unless
    given. A run that names this load as its known payload is taken without it: here it is to be identified.
    """
    formulation, estimator = formulation or InverseDynamic(), estimator or WeightedLeastSquares()
    own = [run.name for run in loaded if run.payload == known]
    text = f"{', '.join(own)} name this load as their known payload: it was put back, to be found"
    back = (note("known payload", text),) if own else ()
    loaded = [replace(run, payload=None) if run.payload == known else run for run in loaded]

    def estimated(problem: Problem) -> Estimate:
        estimate = estimator.estimate(problem)
        if uncertainty is not None:
            return uncertainty(problem, estimate)
        return with_uncertainty(problem, estimator, estimate, StationaryErrors())

    with_load = Problem(model, tuple(loaded), formulation)
    try:
        without = estimated(Problem(model, tuple(unloaded), formulation))
        found = payload_between(model, known.frame, estimated(with_load), without, with_load.base)
    except ParameterError:
        found = identify_payload(model, known.frame, loaded, unloaded, formulation=formulation)
    return judge_known_load(found, known, with_load, known_std, back)
