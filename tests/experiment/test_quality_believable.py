"""What a believable robot explains: bodies near the description, loads nobody knows, logs of robots never seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality import check
from exciter.experiment.quality.believable import BODY_SPREAD, Believable, body_spread
from exciter.experiment.recording import About, Payload, Recording
from exciter.experiment.signals.noise import moves
from exciter.notes import Severity
from exciter.parameters.inertial import from_mass_com_inertia, mass_com_inertia
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded
from exciter.robot.load import load
from exciter.robot.spatial import pseudo_inertia, transform_inertia
from support.paths import ROBOTS
from support.quality_logs import clean, fourier
from support.robots import random_robot
from support.scripts import benchmark

pytestmark = pytest.mark.slow


# -- bodies ------------------------------------------------------------------------------------------------------------


def test_bodies_err_by_their_own_size_wherever_their_frame_is():
    """Masses by 0.3, centres by 0.3/√2 gyration radii along every axis; from any other origin, too."""
    inertia = np.diag([0.02, 0.03, 0.04])
    here = from_mass_com_inertia(2.0, [0.1, -0.2, 0.3], inertia)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    there = transform_inertia(here, turn, [0.5, 1.0, -2.0])
    radius = np.sqrt(0.5 * np.trace(inertia) / 2.0)  # Σ x² dm = ½ tr I
    for phi in (here, there):
        (spread,) = body_spread(phi[None])
        mass, centre, _ = mass_com_inertia(phi)
        assert np.linalg.norm(spread[0]) == pytest.approx(BODY_SPREAD * mass)
        moved = (spread[1:4] - np.outer(centre, spread[0])) / mass
        assert np.linalg.norm(moved, axis=1) == pytest.approx(np.full(3, BODY_SPREAD * np.sqrt(0.5) * radius))
    covariance = [body_spread(phi[None])[0] @ body_spread(phi[None])[0].T for phi in (here, there)]
    carry = np.array([transform_inertia(unit, turn, [0.5, 1.0, -2.0]) for unit in np.eye(10)]).T
    assert carry @ covariance[0] @ carry.T == pytest.approx(covariance[1], rel=1e-9, abs=1e-12)
    assert not body_spread(np.zeros((1, 10))).any()


def test_the_cost_is_the_least_there_is():
    """Against a general minimiser, drives eliminated by plain least squares."""
    robot, rng = random_robot(5, 2, prismatic=0.0), np.random.default_rng(3)
    model, motion = DynamicModel(robot), Motion(np.arange(40.0), *rng.normal(size=(3, 40, 2)))
    links = model.dynamics.robot.inertias
    spread, worth = body_spread(links), 20.0
    assert (np.linalg.eigvalsh(pseudo_inertia(links)) > 0.0).all()
    effort = model.torque(motion) * 1.2 + 0.1 * model.torque(motion).std() * rng.normal(size=(40, 2))
    drive = [
        np.column_stack([np.ones(40), qd, np.sign(qd), qdd]) for qd, qdd in zip(motion.qd.T, motion.qdd.T, strict=True)
    ]
    bases = [np.linalg.qr(w)[0] for w in drive]
    found = Believable(model, motion, bases, effort, spread, worth).fit()
    least = (0.02 * effort.std(axis=0)) ** 2

    def cost(z):
        bodies = model.dynamics.inverse_dynamics(motion, links + (spread @ z.reshape(2, 10, 1))[..., 0])
        left = [y - w @ np.linalg.lstsq(w, y, rcond=None)[0] for w, y in zip(drive, (effort - bodies).T, strict=True)]
        return worth * np.log1p(np.mean(np.square(left), axis=1) / least).sum() + z @ z

    assert cost(found.z) == pytest.approx(found.cost, rel=1e-5)
    assert minimize(cost, found.z).fun == pytest.approx(found.cost, rel=2e-3)


def test_limbs_are_believed_one_by_one_as_all_at_once():
    """Two arms around one base: z and what it leaves are those of a dense solution."""
    model, rng = DynamicModel(load(ROBOTS / "two_arms.urdf").lock({"waist": 0.2})), np.random.default_rng(4)
    assert [len(limb) for limb in model.robot.limbs] == [3, 2]
    motion = Motion(np.arange(60.0), *rng.normal(size=(3, 60, 5)))
    effort = model.torque(motion) * np.linspace(0.8, 1.3, 5) + 0.1 * rng.normal(size=(60, 5))
    bases = [np.linalg.qr(np.column_stack([np.ones(60), qd]))[0] for qd in motion.qd.T]
    spread = body_spread(model.dynamics.robot.inertias)
    asked = Believable(model, motion, bases, effort, spread, 20.0)
    found = asked.fit()
    every = (model.dynamics.regressor(motion).reshape(60, 5, 5, 1, 10) @ spread).reshape(60, 5, 50).swapaxes(0, 1)
    dense = np.stack([w - u @ (u.T @ w) for w, u in zip(every, bases, strict=True)])
    left = np.stack([y - u @ (u.T @ y) for y, u in zip((effort - model.torque(motion)).T, bases, strict=True)])
    a = np.eye(50) + np.einsum("j,jNa,jNb->ab", found.weights, dense, dense) / 60
    z = np.linalg.solve(a, np.einsum("j,jNa,jN->a", found.weights, dense, left) / 60)
    assert found.z == pytest.approx(z, rel=1e-9, abs=1e-9)
    assert found.left == pytest.approx(np.mean((left - dense @ z) ** 2, axis=1), rel=1e-8)
    assert asked.known(found.weights, 3.0)(z) == pytest.approx(np.linalg.solve(a + 2.0 * np.eye(50), z), abs=1e-9)


# -- loads -------------------------------------------------------------------------------------------------------------


def loaded_log(mass: float):
    """A UR10e that carries ``mass`` [kg], 12 cm beside its last axis, and its description without it."""
    robot = embedded.robot("ur10e")
    inertias = robot.inertias.copy()
    inertias[-1] += from_mass_com_inertia(mass, [0.12, 0.0, 0.05], 0.01 * mass * np.eye(3))
    time = np.arange(0.0, 20.0, 0.004)
    motion, rng = fourier(robot, time, 3), np.random.default_rng(0)
    torque = DynamicModel(robot.with_inertias(inertias)).torque(motion)
    size = torque.std(axis=0)
    torque = torque + 0.1 * size * np.sign(motion.qd) + 0.01 * size * rng.standard_normal(torque.shape)
    return Recording(robot.joint_names, time, motion.q, None, torque), robot


def test_a_wrist_that_carries_an_unknown_load_is_not_refused():
    recording, robot = loaded_log(10.0)
    doubted = check(recording, robot)
    assert {f.subject for f in doubted.findings} & {"unit of torque", "zero", "sign", "joint order"}
    stated = replace(recording, about=About(payload=Payload(robot.tool_frame, 10.0)))
    for quality in (check(recording, robot, loaded=True), check(stated, robot)):
        assert quality.usable, quality.verdict
        assert not {f.subject for f in quality.warnings} & {"unit of torque", "zero", "sign", "joint order"}


def test_faults_beside_an_unknown_load_are_found():
    recording, robot = loaded_log(10.0)
    torque = recording.torque * [1.0, -1.0, 1.0, 1.0, 1.0, 1.0]
    wrong = check(replace(recording, torque=torque), robot, loaded=True).problems
    assert [(f.subject, f.joint) for f in wrong] == [("sign", robot.joint_names[1])]
    wrong = check(replace(recording, torque=1e3 * recording.torque), robot, loaded=True).problems
    assert [(f.subject, f.joint) for f in wrong if f.subject != "beyond limit"] == [("unit of torque", None)]


# -- one cause, one problem --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ur10e", "panda"])
def test_other_units_are_told_alone(name):
    recording, robot = clean(name, 3)
    degrees = check(replace(recording, q=np.degrees(recording.q)), robot)
    assert {f.subject for f in degrees.problems} == {"unit of position"}
    slow = check(replace(recording, time=1e3 * recording.time), robot)
    assert {f.subject for f in slow.problems} - {"velocity"} == {"unit of time"}
    milli = check(replace(recording, torque=1e3 * recording.torque), robot)
    assert {f.subject for f in milli.problems} - {"beyond limit"} == {"unit of torque"}
    for quality in (degrees, slow):
        assert any("torques were not judged" in one.text for one in quality.skipped)


def test_a_short_log_is_too_short_and_not_of_another_robot():
    recording, robot = clean("ur10e", 1, rate=1000.0)
    for start in (2.0, 5.0, 11.0):
        quality = check(recording.between(start, start + 0.6), robot)
        assert [f.subject for f in quality.problems] == ["too short"]
        assert not any("another robot" in f.text for f in quality.findings)
    assert check(recording.between(2.0, 3.5), robot).usable


def test_a_position_that_is_constant_does_not_move():
    time = np.arange(2000) / 250.0
    still = Recording(("a", "b"), time, np.tile([1.2345, -0.7], (2000, 1)), None, np.zeros((2000, 2)))
    assert not moves(still).any()
    q = still.q + [[0.0, 0.3]] * np.sin(time)[:, None]
    assert moves(replace(still, q=q)).any()


# -- robots never seen -------------------------------------------------------------------------------------------------


def test_random_robots_are_accepted_and_their_faults_found():
    """Ten robots of ``benchmarks/refusals.py``: torques by Pinocchio, bodies as wrong as descriptions are."""
    refusals = benchmark("refusals")
    found = [one for seed in range(10) for one in refusals.outcomes(seed, 3, 8, refusals.FAULTS)]
    refused = [line for one in found if one.told == "refused" for line in one.lines]
    assert not refused
    judged = [one for one in found if one.what != "healthy" and one.told not in ("believable", "not visible")]
    assert len(judged) > 50
    missed = [f"{one.seed} {one.what}" for one in judged if one.told == "silent"]
    assert len(missed) <= 0.05 * len(judged), missed
    assert not [one.lines for one in judged if one.told == "problem" and one.beside]


def test_a_zero_that_is_off_by_ten_degrees_is_a_problem_where_no_body_explains_it():
    recording, robot = clean("ur10e", 1)
    q = recording.q + np.radians([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])
    (finding,) = check(replace(recording, q=q), robot).problems
    assert (finding.subject, finding.joint, finding.severity) == ("zero", robot.joint_names[2], Severity.PROBLEM)
    assert np.degrees(finding.numbers["angle"]) == pytest.approx(-10.0, abs=2.0)
