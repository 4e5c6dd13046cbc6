"""Every estimator on every setting of every formulation: it uses the setting, or refuses it in one line that names the
setting, or the formulation.

Fields are enumerated, so that a new one, or a new estimator, is picked up: it fails here until somebody says how it can
vary, or it passes by itself. Settings of estimators and of whole identifications: ``test_settings_used.py``."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from exciter.errors import ExciterError
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual.standing import StandingNoise
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.formulations.base_link import BaseLink
from exciter.identification.formulations.dynamic import BaseWrench, FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.formulations.gain_free import GainFree
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from support.held_log import MODEL, TRUTH, ZONE, estimate, usual_estimator
from support.standing import RATE, flying, standing

pytestmark = pytest.mark.slow

FRICTION = [f"{kind}{j}" for kind in ("Fv", "Fs") for j in (1, 2, 3)]
GENTLE = ParallelFilter(Butterworth(15.0))
UNEVEN = (0.3,) * 3 + (0.1,) * 3 + (0.02, 0.05, 0.01) * 4  # [N, N·m] σ of the equations
RIGHT = 0.1  # of friction, within which an estimate is right on this log
#: A setting as it is usual, and another; of fields within a filter, too
VARIATIONS = {
    ("dynamic", "parallel_filter"): (InverseDynamic(), InverseDynamic(GENTLE)),
    ("dynamic", "dead_zone"): (InverseDynamic(), InverseDynamic(None, ZONE)),
    ("filtered", "parallel_filter"): (FilteredDynamic(GENTLE), FilteredDynamic(ParallelFilter(Butterworth(8.0)))),
    ("filtered", "a"): (FilteredDynamic(GENTLE), FilteredDynamic(a=20.0)),
    ("energy", "interval"): (Energy(), Energy(interval=0.1)),
    ("energy", "step"): (Energy(), Energy(step=0.02)),
    ("energy", "even"): (Energy(), Energy(even=False)),
    ("power", "parallel_filter"): (Power(GENTLE), Power(ParallelFilter(Butterworth(8.0)))),
    ("power", "even"): (Power(GENTLE), Power(GENTLE, even=False)),
    ("gain-free", "parallel_filter"): (GainFree(), GainFree(GENTLE)),
    ("gain-free", "dead_zone"): (GainFree(), GainFree(None, ZONE)),
    ("base-wrench", "parallel_filter"): (BaseWrench(), BaseWrench(GENTLE)),
    ("filter", "low_pass"): (InverseDynamic(GENTLE), InverseDynamic(ParallelFilter(Butterworth(10.0), factor=1))),
    ("filter", "factor"): (InverseDynamic(GENTLE), InverseDynamic(replace(GENTLE, factor=4))),
    ("filter", "look_ahead"): (InverseDynamic(GENTLE), InverseDynamic(replace(GENTLE, look_ahead=0.15))),
    ("filter", "edge"): (InverseDynamic(GENTLE), InverseDynamic(replace(GENTLE, edge=0.2))),
}
#: The same of free bases and of forces that are projected out, on logs of a quadruped: which stands, or flies
OF_CONTACTS = {
    ("dynamic", "noise"): (standing, InverseDynamic(), InverseDynamic(noise=UNEVEN)),
    ("gain-free", "noise"): (standing, GainFree(), GainFree(noise=UNEVEN)),
    ("base-link", "parallel_filter"): (flying, BaseLink(), BaseLink(ParallelFilter(Butterworth(15.0)))),
}
#: whatever an estimator does, rows are projected and filtered before it sees them: some of each kind stand for all
ON_LEGS = ("ols", "wls", "huber", "consistent")
#: How one line calls a setting
OF_THE_FILTER = ("parallel_filter", *(one.name for one in fields(ParallelFilter)))
NAMES = {"dead_zone": "dead zone"} | dict.fromkeys(OF_THE_FILTER, "filter")


@cache
def estimated(word, formulation):
    """The estimate, or why there is none."""
    try:
        return estimate(usual_estimator(word), formulation)
    except ExciterError as error:
        return error


def test_every_setting_is_asked_about():
    named = {cls.word: {one.name for one in fields(cls)} for cls in FORMULATIONS}
    named["filter"] = {one.name for one in fields(ParallelFilter)}
    assert {(word, name) for word, names in named.items() for name in names} == {*VARIATIONS, *OF_CONTACTS}


@cache
def on_legs(experiment):
    """A short log with some noise of torques: of a robot on its feet, or in the air with all forces measured."""
    found = experiment(3.0)
    stood, rng = found.stood, np.random.default_rng(3)
    torque = stood.torque.copy()
    if experiment is flying:
        torque = stood.recording(StandingNoise(0, 0, 0, 0, 0, 0), forces=True).arranged(stood.robot).torque.copy()
    torque[:, 6:] += 0.01 * rng.standard_normal(torque[:, 6:].shape)
    if experiment is flying:
        torque[:, :6] += 0.01 * rng.standard_normal(torque[:, :6].shape)
    run = Run.at(stood.motion, torque, RATE)
    if experiment is standing:
        flags = np.ones((len(torque), len(stood.contacts.frames)))
        run = replace(run, parts=(replace(run.parts[0], contact=flags, contacts=stood.contacts),))
    return Problem(found.model, (run,))


@pytest.mark.parametrize("setting", OF_CONTACTS, ids=" ".join)
def test_settings_of_contacts_are_used_or_refused(setting):
    """Estimates differ, or the formulation as a whole is refused where forces are not known."""
    experiment, usual, other = OF_CONTACTS[setting]
    wrong = []
    for word in ON_LEGS:
        found, before = (estimated_on_legs(word, one, experiment) for one in (other, usual))
        if isinstance(found, ExciterError) or isinstance(before, ExciterError):
            refused = isinstance(before, ExciterError) and isinstance(found, ExciterError)
            if not refused or not (named(before, usual) and named(found, other)):
                wrong.append((word, str(found), str(before)))
        elif np.abs(found.values - before.values).max() < 1e-7 * np.abs(before.values).max():
            wrong.append((word, "the same"))
    assert not wrong


def estimated_on_legs(word, formulation, experiment):
    try:
        return usual_estimator(word).estimate(replace(on_legs(experiment), formulation=formulation))
    except ExciterError as error:
        return error


def named(error, formulation, setting=None):
    """Whether a refusal says in one line what it refuses: the formulation (its word, its class or its equations), or a
    setting of it."""
    equations = set()
    if not isinstance(formulation, BaseLink):  # which is of a robot with a free base
        equations = set(formulation.equations(MODEL)) - set(MODEL.robot.joint_names)
    names = (formulation.word, type(formulation).__name__, *equations)
    wanted = names if setting is None else (NAMES.get(setting, setting),)
    return "\n" not in str(error) and any(name in str(error) for name in wanted)


@pytest.mark.parametrize("setting", VARIATIONS, ids=" ".join)
def test_settings_are_used_or_refused(setting):
    usual, other = VARIATIONS[setting]
    wrong = []
    for word in ESTIMATORS.words:
        found, before = (estimated(word, one) for one in (other, usual))
        if isinstance(found, ExciterError):
            whole = isinstance(before, ExciterError) and named(before, usual) and named(found, other)
            if not whole and not named(found, other, setting[1]):
                wrong.append((word, str(found)))
        elif isinstance(before, ExciterError):
            wrong.append((word, str(before)))
        elif np.abs(found.values - before.values).max() < 1e-7 * np.abs(before.values).max():
            wrong.append((word, "the same"))
    assert not wrong


def test_a_dead_zone_leaves_out_what_it_says():
    """Torques that hold slow joints spoil friction; with the zone, every estimator has it right."""
    truth = MODEL.base.base_values(TRUTH.chi)
    which = [MODEL.base.names.index(name) for name in FRICTION]
    off = {}
    for word in ESTIMATORS.words:
        found = [estimated(word, InverseDynamic(None, zone)) for zone in (0.0, ZONE)]
        off[word] = [float(np.abs((one.values - truth)[which] / truth[which]).max()) for one in found]
    robust = ("irls", "huber")  # which take them for outliers
    wrong = {
        word: pair for word, pair in off.items() if pair[1] > RIGHT or (pair[0] < 2.5 * RIGHT and word not in robust)
    }
    assert not wrong
