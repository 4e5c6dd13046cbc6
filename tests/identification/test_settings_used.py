"""Every setting of estimators and of what they choose among, and every setting of an identification beside every
estimator: it is used, or refused in one line that names it.

Fields are enumerated, so that a new one fails here until somebody says how it can vary. Settings of formulations:
``test_formulation_settings.py``."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

import exciter as ex
from exciter.errors import ExciterError
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual import ComputedTorque
from exciter.identification.equation_filter import EquationFilter, EvaluationFilter
from exciter.identification.estimators.least_squares import (
    Essential,
    OrdinaryLeastSquares,
    Sequential,
    WeightedLeastSquares,
)
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.estimators.robust import LOSSES, Bisquare, Huber, HuberLoss, IterativelyReweighted
from exciter.identification.estimators.simulated_motion import DIDIM, InstrumentalVariables
from exciter.identification.estimators.staged import FrictionFirst, LinkByLink, StaticThenDynamic, TwoStep
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identify_config import ERROR_MODELS, IdentifySettings, with_uncertainty
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import MassBound
from exciter.identification.physical.prior_metric import METRICS, Entropic
from exciter.identification.physical.prior_values import PRIOR_VALUES, UniformRods
from exciter.identification.runs.run import Run
from exciter.identification.stages.stage import AtRest, SteadyMotion
from exciter.identification.uncertainty.covariance_of_correlated_errors import HeteroscedasticErrors, StationaryErrors
from exciter.parameters.terms import Offset
from support.held_log import MODEL, NOISE, ROBOT, ZONE, estimate, executed, poses, problem, usual_estimator

pytestmark = pytest.mark.slow

STATIC, AXES = usual_estimator("static"), usual_estimator("friction-first")
PULLED, LIGHT = Prior(weight=1.0), (MassBound(None, 1.0, 2.0),)
#: An estimator, or assumption on errors, with a setting as it is usual, and with another
VARIATIONS = {
    (OrdinaryLeastSquares, "noise"): (OrdinaryLeastSquares(), OrdinaryLeastSquares("common")),
    (WeightedLeastSquares, "noise"): (WeightedLeastSquares(), WeightedLeastSquares((1.0, 2.0, 3.0))),
    (IterativelyReweighted, "loss"): (IterativelyReweighted(), IterativelyReweighted(HuberLoss())),
    (IterativelyReweighted, "tolerance"): (IterativelyReweighted(), IterativelyReweighted(tolerance=3.0)),
    (HuberLoss, "k"): tuple(IterativelyReweighted(HuberLoss(k)) for k in (1.345, 1.0)),
    (Bisquare, "c"): tuple(IterativelyReweighted(Bisquare(c)) for c in (4.685, 6.0)),
    (Huber, "k"): (Huber(), Huber(1.0)),
    (Huber, "tolerance"): (Huber(), Huber(tolerance=3.0)),
    (TotalLeastSquares, "errors"): (TotalLeastSquares({}), TotalLeastSquares({"Fv1": 1e-2})),
    (TotalLeastSquares, "exact"): (TotalLeastSquares({"Fv1": 1e-2}), TotalLeastSquares({"Fv1": 1e-2}, ("Fv1",))),
    (MaximumLikelihood, "position_noise"): (MaximumLikelihood(), MaximumLikelihood(1e-3)),
    (MaximumLikelihood, "torque_noise"): (MaximumLikelihood(), MaximumLikelihood(torque_noise=(1.0, 2.0, 3.0))),
    (Sequential, "noise"): (Sequential(), Sequential((1.0, 2.0, 3.0))),
    (Prior, "metric"): (PULLED, replace(PULLED, metric=Entropic())),
    (Prior, "values"): (PULLED, replace(PULLED, values=UniformRods())),
    (UniformRods, "mass"): tuple(replace(PULLED, values=UniformRods(mass)) for mass in (None, 50.0)),
    (Prior, "weight"): (PULLED, Prior(weight=10.0)),
    (Prior, "nonnegative"): (PULLED, replace(PULLED, nonnegative=True)),
    (Prior, "offset"): (PULLED, replace(PULLED, offset=1e-3)),
    (Prior, "noise"): (PULLED, replace(PULLED, noise=(1.0, 2.0, 3.0))),
    (PhysicallyConsistent, "prior"): (PhysicallyConsistent(), PhysicallyConsistent(PULLED)),
    (PhysicallyConsistent, "bounds"): (PhysicallyConsistent(PULLED), PhysicallyConsistent(PULLED, LIGHT)),
    (PhysicallyConsistent, "margin"): tuple(PhysicallyConsistent(PULLED, margin=share) for share in (1e-4, 0.9)),
    (Essential, "level"): (Essential(), Essential(1e-9)),
    (Essential, "keep"): (Essential(1e-9), Essential(1e-9, MODEL.base.names)),
    (LinkByLink, "known"): (LinkByLink(), LinkByLink(known=True)),
    (TwoStep, "wrist"): (TwoStep(1, known=True), TwoStep(2, known=True)),
    (TwoStep, "known"): (TwoStep(), TwoStep(known=True)),
    (StaticThenDynamic, "rest"): (STATIC, replace(STATIC, rest=AtRest(0.1, 1.0))),
    (StaticThenDynamic, "runs"): (STATIC, replace(STATIC, runs=("nobody",))),
    (StaticThenDynamic, "known"): (STATIC, replace(STATIC, known=True)),
    (AtRest, "speed"): tuple(StaticThenDynamic(AtRest(speed), ("poses",)) for speed in (1e-3, 0.1)),
    (AtRest, "acceleration"): tuple(StaticThenDynamic(AtRest(1e-3, most), ("poses",)) for most in (0.05, 1.0)),
    (FrictionFirst, "steady"): (AXES, FrictionFirst(SteadyMotion(0.3, 5.0))),
    (FrictionFirst, "known"): tuple(FrictionFirst(SteadyMotion(0.1, 1.0), known) for known in (False, True)),
    (SteadyMotion, "slowest"): tuple(FrictionFirst(SteadyMotion(slowest, 5.0)) for slowest in (0.1, 0.3)),
    (SteadyMotion, "acceleration"): tuple(FrictionFirst(SteadyMotion(0.1, most)) for most in (5.0, 3.0)),
    (InstrumentalVariables, "rounds"): (InstrumentalVariables(), InstrumentalVariables(rounds=1)),
    (InstrumentalVariables, "tolerance"): (InstrumentalVariables(), InstrumentalVariables(tolerance=1e9)),
    (DIDIM, "rounds"): (DIDIM(), DIDIM(rounds=1)),
    (DIDIM, "tolerance"): (DIDIM(), DIDIM(tolerance=1e9)),
    (StationaryErrors, "lags"): (StationaryErrors(), StationaryErrors(lags=2)),
    (StationaryErrors, "across_joints"): (StationaryErrors(), StationaryErrors(across_joints=False)),
    (HeteroscedasticErrors, "lags"): (HeteroscedasticErrors(), HeteroscedasticErrors(lags=2)),
}
CLASSES = (*ESTIMATORS, *LOSSES, *METRICS, *PRIOR_VALUES, *ERROR_MODELS, AtRest, SteadyMotion)


#: How one line calls a setting
NAMES = {"runs": "run"}
#: With what every estimator is tried, in a whole identification
BESIDE = {
    "noise": (0.9, 1.8, 0.9),
    "uncertainty": HeteroscedasticErrors(),
    "folds": 3,
    "route": FilteredDifferences(20.0),
    "control": ComputedTorque(bandwidth=10.0, rate=250.0),
}
#: What changes problem or percentages, whatever the estimator: tried with one; filter and zone go to the formulation
BEFORE = {
    "automatic": True,
    "filter": EquationFilter(6.0),
    "dead_zone": ZONE,
    "evaluation": EvaluationFilter(5.0),
    "payload": "tool",
    "friction": "choose",
    "gains": {},
    "current_map": "cubic",
}
#: Whose members these tests go through; and what lets pass a log that is not good, which this one is
OF_ITS_OWN = {"formulation", "estimator", "accept_problems"}


def alike(one, other):
    """Whether two estimates are the same, σ included."""
    pairs = ((one.values, other.values), (one.std, other.std))
    return all(len(a) == len(b) and np.abs(a - b).max() < 1e-7 * np.abs(a).max() for a, b in pairs)


@cache
def slipping():
    """A problem with offsets, and friction of the last joint that pushes: what a prior may hold back."""
    ((part,),) = (run.parts for run in problem().runs)
    torque = part.torque + 5.0
    torque[:, -1] -= 40.0 * part.motion.qd[:, -1]
    model = replace(MODEL, terms=(*MODEL.terms, Offset()))
    return Problem(model, (Run((replace(part, torque=torque),)),))


@cache
def creeping():
    """Poses of which some creep, and some others begin to move."""
    (part,) = poses().parts
    pose = np.arange(len(part)) // 10 % 4
    qd, qdd = (np.repeat(size * (pose == k)[:, None], MODEL.n, axis=1) for k, size in ((1, 0.05), (2, 0.2)))
    return replace(poses(), parts=(replace(part, motion=replace(part.motion, qd=qd, qdd=qdd)),))


def solved(settings):
    """An estimate; or that of weighted least squares with the σ of such errors."""
    sliding = InverseDynamic(None, ZONE)
    if isinstance(settings, Prior | PhysicallyConsistent):
        return estimate(settings, sliding, slipping())
    if isinstance(settings, tuple(ESTIMATORS)):
        return estimate(settings, sliding, stands=creeping())
    asked, wls = replace(problem(), formulation=sliding), WeightedLeastSquares()
    return with_uncertainty(asked, wls, wls.estimate(asked), settings)


def wrong(name, before, attempt):
    """What is wrong with a setting, compared with the estimate without."""
    try:
        found = attempt()
    except ExciterError as error:
        named = NAMES.get(name, name) in str(error) and "\n" not in str(error)
        return None if named else str(error)
    return "the same" if alike(found, before) else None


def test_every_setting_is_asked_about():
    assert {(cls, one.name) for cls in CLASSES for one in fields(cls) if one.name not in cls.inner} == set(VARIATIONS)
    assert {one.name for one in fields(IdentifySettings)} == {*BESIDE, *BEFORE, *OF_ITS_OWN}


@pytest.mark.parametrize("setting", VARIATIONS, ids=lambda key: f"{key[0].__name__} {key[1]}")
def test_settings_are_used_or_refused(setting):
    usual, other = VARIATIONS[setting]
    assert usual != other
    assert wrong(setting[1], solved(usual), lambda: solved(other)) is None


@cache
def recording():
    """Torques with noise, and nothing that holds joints."""
    log = executed()[0].recording
    return replace(log, torque=log.torque + NOISE * np.random.default_rng(4).standard_normal(log.torque.shape))


def identified(word, **settings):
    cls, (_, loop) = ESTIMATORS[word], executed()
    beside = {"control": loop.control} if "loop" in cls.inner else {}
    estimator = StaticThenDynamic(AtRest(0.3, 20.0)) if word == "static" else usual_estimator(word)
    planned = loop.curve if "loop" in cls.inner else None
    return ex.identify(ROBOT, recording(), estimator=estimator, planned=planned, **(beside | settings))


usually = cache(identified)


@pytest.mark.parametrize("name", BESIDE)
def test_every_estimator_uses_or_refuses_settings_of_an_identification(name):
    given = {name: BESIDE[name]}
    found = {
        word: wrong(name, usually(word).estimate, lambda word=word: identified(word, **given).estimate)
        for word in ESTIMATORS.words
    }
    assert {word: why for word, why in found.items() if why} == {}


@pytest.mark.parametrize("name", BEFORE)
def test_an_identification_uses_or_refuses_its_settings(name):
    before, word = usually("wls"), "wls"

    def attempt():
        found = identified(word, **{name: BEFORE[name]})
        same = found.fit[0].total_percent == before.fit[0].total_percent and found.choices == before.choices
        return found.estimate if same else replace(found.estimate, values=np.zeros(0))

    assert wrong(name, before.estimate, attempt) is None


def test_folds_are_of_cross_validation_alone():
    """Rows that a dead zone and a filter leave are parts of rows; how they are counted does not depend on folds."""
    judged = InverseDynamic(ParallelFilter(Butterworth(15.0)), ZONE)
    few, many = (estimate(WeightedLeastSquares(), judged, replace(problem(), folds=folds)) for folds in (3, 10))
    assert alike(few, many)
