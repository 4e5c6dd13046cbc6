"""Every estimator on every setting of every formulation: it uses the setting, or refuses it in one line that names the
setting, or the formulation.

Fields are enumerated, so that a new one, or a new estimator, is picked up: it fails here until somebody says how it can
vary, or it passes by itself. Settings of estimators and of whole identifications: ``test_settings_used.py``."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from exciter.dynamics.model import BaseReaction
from exciter.errors import ExciterError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual import ComputedTorque, Encoder, Sampling, TorqueMeter, VirtualRobot, draw
from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.estimators.staged import FrictionFirst, StaticThenDynamic
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.formulations.dynamic import BaseWrench, FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.formulations.gain_free import GainFree
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.stages.stage import SteadyMotion
from exciter.robot import Motion, load

pytestmark = pytest.mark.slow

ROBOT = load("kuka-ir361")
TRUTH = draw(ROBOT, 1)
MODEL = TRUTH.model
FRICTION = [f"{kind}{j}" for kind in ("Fv", "Fs") for j in (1, 2, 3)]
GENTLE = ParallelFilter(Butterworth(15.0))
ZONE = 0.2  # [rad/s]
NOISE, HELD = 0.5, 60.0  # [N·m] of a sample; of whatever holds slow joints
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
#: How one line calls a setting
OF_THE_FILTER = ("parallel_filter", *(one.name for one in fields(ParallelFilter)))
NAMES = {"dead_zone": "dead zone"} | dict.fromkeys(OF_THE_FILTER, "filter")
#: What an estimator needs beside its usual settings, on this log
SPECIAL = {
    "static": StaticThenDynamic(runs=("poses",)),
    "friction-first": FrictionFirst(SteadyMotion(0.1, 5.0)),
    "tls": TotalLeastSquares({}),
}


@cache
def executed():
    """Periods on a virtual robot, of which two are settled; exact angles."""
    family = Fourier(4.0, 4)
    delta = 0.3 * np.random.default_rng(0).standard_normal((ROBOT.n, len(family.labels)))
    low, high = ROBOT.position_range()
    delta[:, -1] = np.where((low < 0.1) & (high > 0.1), 0.1, 0.5 * (low + high))
    curve, control = ramped(family, delta, ROBOT, periods=3), ComputedTorque(rate=250.0)
    quiet = {"encoder": Encoder(counts=None), "meter": TorqueMeter(noise=0.0), "sampling": Sampling(100.0)}
    return VirtualRobot(ROBOT, TRUTH, control=control, **quiet).run(curve, seed=1), ClosedLoop(ROBOT, control, curve)


@cache
def problem():
    """Noise on torques, and while a joint is slow something holds it that no model of sliding tells."""
    log, _ = executed()
    speed = np.abs(log.motion.qd)
    torque = log.recording.torque + NOISE * np.random.default_rng(4).standard_normal(speed.shape)
    wrench = BaseReaction(MODEL).wrench(log.motion, TRUTH.chi) + NOISE * np.random.default_rng(6).standard_normal(6)
    held = replace(log.recording, torque=torque + np.where(speed < 0.9 * ZONE, HELD, 0.0), wrench=wrench)
    run = Run((FourierFit(20).apply(held),), period=held.about.period, recording=held)
    return Problem(MODEL, (run,))


@cache
def poses():
    """Twelve poses of ten samples, which hold nothing but weight and noise."""
    low, high = ROBOT.position_range()
    rng = np.random.default_rng(5)
    q = np.repeat(rng.uniform(np.maximum(low, -1.5), np.minimum(high, 1.5), (12, ROBOT.n)), 10, axis=0)
    motion = Motion(np.arange(len(q)) / 100.0, q, 0.0 * q, 0.0 * q)
    weight = MODEL.torque(motion, TRUTH.chi) + NOISE * rng.standard_normal(q.shape)
    return Run.at(motion, weight, 100.0, "poses")


@cache
def estimated(word, formulation):
    """The estimate, or why there is none."""
    _, loop = executed()
    cls, runs = ESTIMATORS[word], (*problem().runs, *([poses()] if word == "static" else []))
    estimator = SPECIAL.get(word) or cls()
    estimator = replace(estimator, loop=loop) if "loop" in cls.inner else estimator
    try:
        return estimator.estimate(replace(problem(), runs=runs, formulation=formulation))
    except ExciterError as error:
        return error


def test_every_setting_is_asked_about():
    named = {cls.word: {one.name for one in fields(cls)} for cls in FORMULATIONS}
    named["filter"] = {one.name for one in fields(ParallelFilter)}
    assert {(word, name) for word, names in named.items() for name in names} == set(VARIATIONS)


def named(error, formulation, setting=None):
    """Whether a refusal says in one line what it refuses: the formulation (its word, its class or its equations), or a
    setting of it."""
    names = (formulation.word, type(formulation).__name__, *formulation.equations(MODEL))
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
