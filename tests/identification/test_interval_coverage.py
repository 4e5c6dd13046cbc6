"""The simulator of ``benchmarks/interval_coverage.py`` has the package's robots and noise as asked; tables print."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from support.scripts import benchmark

script = benchmark("interval_coverage")
simulator = sys.modules["independent_simulator"]


def simulated(robot, condition="white", number=0):
    return simulator.SimulatedLog.of(robot.joints, robot.gravity, condition, (7, number), duration=1.0)


@pytest.mark.parametrize("name", script.ROBOTS)
def test_regressor_times_true_base_parameters_is_the_torque_of_the_simulator(name):
    robot = script.described(name, 7)
    log = simulated(robot, "wrong")
    assert script.disagreement(robot, log) < script.MOST_DISAGREEMENT
    heavier = replace(log.truth, inertias=1.01 * log.truth.inertias)
    torque, other = (truth.moved(log.sines, log.time)[1] for truth in (log.truth, heavier))
    assert np.abs(other - torque).max() > 1e-3 * np.abs(torque).max()


def test_bodies_are_those_of_pinocchios_own_reader():
    robot = script.described(script.RANDOM_ARM, 7)
    read = pin.buildModelFromXML(simulator.random_arm(7))
    built = simulator.rigid_bodies(robot.joints, [joint.inertia for joint in robot.joints], robot.gravity)
    rng = np.random.default_rng(0)
    motion = [rng.standard_normal((5, robot.n)) for _ in range(3)]
    expected = simulator.inverse_dynamics(read, *motion)
    np.testing.assert_allclose(simulator.inverse_dynamics(built, *motion), expected, rtol=1e-6, atol=1e-6)


def test_conditions_differ_in_what_they_say():
    """Noise of 2 % in both right ones, coloured as asked; more than noise where the model is wrong,
    ripple of 2 % at least."""
    robot = script.described(script.RANDOM_ARM, 7)
    right, coloured, wrong = (simulated(robot, condition) for condition in script.CONDITIONS)
    exact = right.truth.moved(right.sines, right.time)[1]
    size = np.sqrt((exact**2).mean(axis=0))
    neighbours = []
    for log in (right, coloured):
        noise = (log.torque - exact) / size
        np.testing.assert_allclose(noise.std(axis=0), simulator.NOISE_TORQUE_SHARE, rtol=0.5)
        neighbours.append(float((noise[1:] * noise[:-1]).mean() / (noise**2).mean()))
    assert neighbours[0] < 0.3 < 0.6 < neighbours[1]
    assert (np.sqrt(((wrong.torque - exact) ** 2).mean(axis=0)) > 1.2 * simulator.NOISE_TORQUE_SHARE * size).all()
    steps = right.q / simulator.ENCODER_STEP_RAD
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)


def test_tables_print(capsys, tmp_path):
    asked = ["--logs", "1", "--robots", script.RANDOM_ARM, "--conditions", "white", "--duration", "5", "--jobs", "1"]
    assert script.main([*asked, "--json", str(tmp_path / "all.json")]) == 0
    out = capsys.readouterr().out
    row = next(line.split() for line in out.splitlines() if line.startswith("all right"))
    head = next(line.split() for line in out.splitlines() if line.startswith("automatic: covered"))
    assert len(row) == len(head)
    assert {"moments", "rotor", "Coulomb", "band", "said"} <= set(head)
    assert "right model, band" in out
    assert (tmp_path / "all.json").read_text(encoding="utf-8").count('"inside"') > 30
