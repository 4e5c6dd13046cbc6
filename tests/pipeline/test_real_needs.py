"""What logs of real robots need, each shown on a log whose truth is known: lost packets and an unsteady clock, delays
that are told and not applied, coupled drives, velocities that are recorded or not, descriptions with placeholders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality import check
from exciter.experiment.quality.prepare_log import process
from exciter.experiment.recording import Recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.notes import Severity, texts
from exciter.parameters.consistency import dummies
from exciter.parameters.inertial import from_mass_com_inertia, mass_com_inertia
from exciter.parameters.terms import DriveCoupling
from exciter.robot import Robot
from exciter.robot import embedded_robots as embedded
from support.quality_logs import TERMS, bspline, clean, late, truth

pytestmark = pytest.mark.slow

RATE = 250.0


def identified(recording: Recording, model: DynamicModel, *, measured_velocity: bool = False) -> Estimate:
    run = Run.of(recording, FilteredDifferences(20.0, measured_velocity=measured_velocity))
    formulation = InverseDynamic(ParallelFilter(Butterworth(10.0)), 0.01)
    return WeightedLeastSquares().estimate(Problem(model, (run,), formulation))


# -- time --------------------------------------------------------------------------------------------------------------


def with_terms(chi: np.ndarray, model: DynamicModel, **values: float) -> np.ndarray:
    """χ with friction and the like of every joint."""
    chi = chi.copy()
    for symbol, value in values.items():
        chi[
            [k for k, name in enumerate(model.standard) if name.startswith(symbol) and name[len(symbol) :].isdigit()]
        ] = value
    return chi


@pytest.fixture(scope="module")
def torn():
    """(model, true base parameters, logs by kind): the same motion on a steady clock, on one with jitter and 2 % of the
    packets lost, and that one with its stamps replaced by a steady clock."""
    robot = embedded.robot("ur10e")
    model = DynamicModel(robot, TERMS)
    chi = with_terms(truth(model, 1), model, Fv=5.0, Fs=4.0, off=1.0, Ia=0.5)
    rng = np.random.default_rng(4)
    steady = np.arange(round(24.0 * RATE)) / RATE
    shaken = (steady + 0.2 / RATE * rng.uniform(-1, 1, len(steady)))[rng.random(len(steady)) > 0.02]
    logs = {}
    for name, time in (("steady", steady), ("torn", shaken)):
        logs[name] = synthetic_recording(model, bspline(robot, time, 1), chi, noise=0.5, position_noise=1e-5, seed=7)
    even = np.linspace(shaken[0], shaken[-1], len(shaken))
    logs["stamps ignored"] = replace(logs["torn"], time=even)
    return model, model.base.base_values(chi), logs


def test_lost_packets_and_jitter_cost_nothing(torn):
    """Errors in σ of the steady log; whoever ignores the stamps pays."""
    model, true, logs = torn
    sigma = identified(logs["steady"], model).std
    off = {
        name: float(np.sqrt(np.mean(((identified(log, model).values - true) / sigma) ** 2)))
        for name, log in logs.items()
    }
    assert off["torn"] < 1.3 * off["steady"]
    assert off["stamps ignored"] > 5.0 * off["steady"]


def test_lost_packets_and_jitter_are_told(torn):
    model, _, logs = torn
    findings = {f.subject: f for f in check(logs["torn"], model.robot).warnings}
    assert set(findings) == {"jitter", "lost samples"}
    assert findings["lost samples"].numbers["share"] == pytest.approx(
        1.0 - len(logs["torn"]) / len(logs["steady"]), abs=0.001
    )
    assert not check(logs["steady"], model.robot).warnings


# -- delay -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [3, 12])
def test_a_delay_is_told_and_not_applied(samples):
    recording, robot = clean("panda", 5, motion="bspline")
    shifted = late(recording, samples)
    finding = next(f for f in check(shifted, robot).warnings if f.subject == "delay")
    assert finding.numbers["samples"] == pytest.approx(samples, abs=0.5)
    (part,) = process(shifted, FilteredDifferences(20.0)).parts
    at = np.searchsorted(shifted.time, part.motion.time - 1e-9)
    assert np.allclose(part.torque, shifted.torque[at], atol=1e-6 * np.abs(shifted.torque).max())


@pytest.mark.parametrize("size", [1e-4, 0.2])
def test_a_delay_within_its_error_is_called_none(size):
    """Torques that hardly depend on it: noise, or slow motion."""
    recording, robot = clean("kuka-ir361", 2, noise=size)
    finding = next(f for f in check(recording, robot).findings if f.subject == "delay")
    assert finding.severity == Severity.NOTE
    doubtful = abs(finding.numbers["delay"]) <= 2.0 * finding.numbers["error"]
    assert finding.text.startswith("none is found" if doubtful else "the torque comes")


# -- filters at the source ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cutoff", [1.5, 2.0, 3.0])
def test_a_low_pass_at_the_source_is_found_with_its_cutoff(cutoff):
    """By the steps of dry friction, which it rounds; a log without one is not blamed."""
    recording, robot = clean("kuka-ir361", 5, motion="bspline")
    assert "earlier low-pass" not in {f.subject for f in check(recording, robot).findings}
    torque = Butterworth(cutoff, 6).zero_phase(recording.torque, RATE)
    (finding,) = (
        f for f in check(replace(recording, torque=torque), robot).warnings if f.subject == "earlier low-pass"
    )
    assert finding.numbers["half"] == pytest.approx(cutoff, rel=0.15)
    assert finding.numbers["cutoff"] > cutoff


def test_a_low_pass_far_above_the_motion_gets_no_cutoff():
    recording, robot = clean("kuka-ir361", 5, motion="bspline")
    torque = Butterworth(12.0, 6).zero_phase(recording.torque, RATE)
    (finding,) = (
        f for f in check(replace(recording, torque=torque), robot).warnings if f.subject == "earlier low-pass"
    )
    assert "half" not in finding.numbers


# -- velocity ----------------------------------------------------------------------------------------------------------


def test_velocity_may_be_given_or_not():
    """The same parameters within their σ; recorded velocities are not used unless asked for."""
    recording, robot = clean("ur10e", 3, motion="bspline")
    model = DynamicModel(robot, TERMS)
    without = identified(replace(recording, qd=None), model)
    assert np.array_equal(identified(recording, model).values, without.values)
    used = identified(recording, model, measured_velocity=True)
    assert not np.array_equal(used.values, without.values)
    assert np.abs((used.values - without.values) / without.std).max() < 3.0


# -- coupled drives ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.0, -1.0])
def test_coupled_drives_are_found_and_named(ratio):
    robot = embedded.robot("tx40")
    first, second = robot.joint_names[4:6]
    model = DynamicModel(robot, (*TERMS, DriveCoupling(first, second, ratio)))
    chi = with_terms(truth(model, 1), model, Fv=2.0, Fs=2.0, Ia=0.02, Iam=0.01, fvm=0.6, fsm=1.5)
    motion = bspline(robot, np.arange(round(20.0 * RATE)) / RATE, 2)
    recording = synthetic_recording(model, motion, chi, noise=0.05, position_noise=1e-6)
    (finding,) = (f for f in check(recording, robot).warnings if f.subject == "coupled drives")
    assert (finding.numbers["first"], finding.numbers["second"]) == (first, second)
    assert ("ratio: -1" in finding.text) == (ratio < 0)
    with_term = check(recording, model=DynamicModel(robot, (*TERMS, DriveCoupling(first, second, ratio))))
    assert with_term.verdict == "usable: nothing suspicious was found"


# -- descriptions ------------------------------------------------------------------------------------------------------


def described(robot: Robot, masses, moments, centres) -> Robot:
    """With other bodies: mass [kg], principal moments [kg·m²] about the centre [m], one or per link."""
    n = robot.n
    bodies = zip(
        np.broadcast_to(masses, n), np.broadcast_to(moments, (n, 3)), np.broadcast_to(centres, (n, 3)), strict=True
    )
    inertias = [from_mass_com_inertia(float(m), c, np.diag(i)) for m, i, c in bodies]
    return replace(robot, joints=tuple(replace(j, inertia=phi) for j, phi in zip(robot.joints, inertias, strict=True)))


def real(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    masses, centres, _ = zip(*(mass_com_inertia(phi) for phi in robot.inertias), strict=True)
    return np.array(masses), np.array(centres)


DUMMIES = {
    "1 kg, identity": lambda m, c: (1.0, 1.0, 0.0),
    "1 kg, 0.01 of identity": lambda m, c: (1.0, 0.01, 0.0),
    "1 kg, identity, true centres": lambda m, c: (1.0, 1.0, c),
    "1 kg, moments of a box each": lambda m, c: (1.0, np.linspace(0.01, 0.02, 3 * len(m)).reshape(-1, 3), c),
    "0.1 kg, 0.03 0.03 0.03": lambda m, c: (0.1, 0.03, 0.0),
    "a gram, a millionth": lambda m, c: (1e-3, 1e-6, 0.0),
    "true masses, no moments": lambda m, c: (m, 0.0, 0.0),
    "true masses and centres, no moments": lambda m, c: (m, 0.0, c),
    "true masses and centres, 0.01 of identity": lambda m, c: (m, 0.01, c),
    "true masses, balls at the joints": lambda m, c: (m, 0.4 * m[:, None] * 0.01, 0.0),
    "no masses": lambda m, c: (0.0, 0.0, 0.0),
}
GOOD = {
    "20 % heavier": lambda m, c: (1.2 * m, 0.01 * m[:, None] * np.array([1.0, 1.2, 0.5]), c),
    "rods": lambda m, c: (m, m[:, None] * np.array([0.02, 0.02, 0.001]), c),
    "equal masses but bodies of their own": lambda m, c: (
        4.0,
        0.01 * np.linspace(1.0, 2.0, len(m))[:, None] * np.array([1.0, 1.2, 0.5]),
        c,
    ),
}


@pytest.mark.parametrize("form", DUMMIES)
@pytest.mark.parametrize("name", ["panda", "tx40"])
def test_placeholders_are_recognised(name, form):
    robot = embedded.robot(name)
    assert dummies(described(robot, *DUMMIES[form](*real(robot))))


@pytest.mark.parametrize("form", GOOD)
@pytest.mark.parametrize("name", ["panda", "tx40"])
def test_bodies_are_no_placeholders(name, form):
    robot = embedded.robot(name)
    assert not dummies(described(robot, *GOOD[form](*real(robot))))


@pytest.mark.parametrize("form", ["1 kg, identity, true centres", "true masses, no moments", "a gram, a millionth"])
def test_placeholders_raise_no_alarm(form):
    """A log is not blamed for a description that says nothing."""
    recording, robot = clean("panda", 2)
    quality = check(recording, described(robot, *DUMMIES[form](*real(robot))))
    assert quality.verdict == "usable: nothing suspicious was found"
    assert any("placeholders" in words for words in texts(quality.skipped))
