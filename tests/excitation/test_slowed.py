"""A motion at part of its speed: the same path, gentler derivatives, certified anew, gravity and all."""

from argparse import Namespace

import numpy as np
import pytest

from exciter.commands import slow
from exciter.dynamics.model import DynamicModel
from exciter.errors import MotionError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.files import read_trajectory
from exciter.excitation.files.trajectory_files import (
    EXACT_FILE,
    TABLE_FILE,
    certified_slowed,
    exact_data,
    export,
    slowed,
)
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.virtual.motion_execution import plan
from exciter.files import json_text
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load
from exciter.robot.load import options_from

ROBOT = load("kuka-ir361")


@pytest.fixture(scope="module")
def curve() -> Curve:
    """Ramps by quintics around two periods of a series, not from time zero."""
    delta = 0.1 * np.random.default_rng(2).standard_normal((3, 7))
    return ramped(Fourier(4.0, 3), delta, ROBOT, periods=2).shifted(3.0)


@pytest.mark.parametrize("speed", [0.1, 0.5, 1.0])
def test_the_same_path_with_smaller_derivatives(curve, speed):
    slow = slowed(curve, speed)
    assert (slow.start, slow.duration) == (0.0, pytest.approx(curve.duration / speed, rel=1e-12))
    time = np.linspace(0.0, curve.duration, 301)
    fast, now = curve.motion(time + curve.start), slow.motion(time / speed)
    assert now.q == pytest.approx(fast.q, abs=1e-12)
    assert now.qd == pytest.approx(speed * fast.qd, abs=1e-12)
    assert now.qdd == pytest.approx(speed**2 * fast.qdd, abs=1e-11)
    for order in range(4):  # exact extrema, jerk included
        assert slow.extremum(order).size == pytest.approx(speed**order * curve.extremum(order).size, rel=1e-9)


def test_torque_falls_to_gravity_and_dry_friction(curve):
    """Γ(s) = s² inertial + s viscous + gravity + dry friction, with each part from the model by itself."""
    model = DynamicModel(ROBOT, (Viscous(), Coulomb()))
    chi = model.nominal.copy()
    chi[-6:] = 7.0
    weightless = DynamicModel(ROBOT.with_gravity([0.0, 0.0, 0.0]), (Viscous(), Coulomb()))
    friction = np.where(np.arange(len(chi)) >= len(chi) - 6, chi, 0.0)
    viscous = np.where(np.char.startswith(model.standard, "Fv"), chi, 0.0)
    time, speed = np.linspace(curve.start, curve.end, 200), 0.2
    fast = curve.motion(time)
    inertial = weightless.torque(fast, chi - friction)
    gravity = model.torque(fast, chi - friction) - inertial
    parts = speed**2 * inertial + gravity + speed * model.torque(fast, viscous) + model.torque(fast, friction - viscous)
    now = slowed(curve, speed).motion((time - curve.start) / speed)
    assert model.torque(now, chi) == pytest.approx(parts, abs=1e-9 * np.abs(parts).max())
    assert np.abs(gravity).max() > 1.0


def test_files_are_certified_again_and_read_back(curve, tmp_path):
    slow, certificate = certified_slowed(curve, 0.1, lambda c: certify(ROBOT, c))
    written = export(tmp_path, ROBOT, slow, None, None, lambda c: certify(ROBOT, c), rate=20.0)
    assert written.certificate.certified
    assert certificate.certified
    exact, rows = (read_trajectory(tmp_path / name, ROBOT) for name in (EXACT_FILE, TABLE_FILE))
    whole = slowed(curve, 0.1)
    time = np.linspace(0.0, whole.duration, 500)
    assert exact.motion(time).q == pytest.approx(whole.motion(time).q, abs=1e-12)
    assert rows.motion(time).q == pytest.approx(whole.motion(time).q, abs=1e-6)
    assert plan(exact).period == pytest.approx(40.0)  # still a series: a log of it can be averaged
    assert {path.name for path in tmp_path.iterdir()} == {
        TABLE_FILE,
        EXACT_FILE,
        "trajectory.ros2.yaml",
        "trajectory.ros2.json",
    }


def test_the_command(curve, tmp_path, capsys):
    """Writes what check reads; says how long it lasts."""
    (tmp_path / EXACT_FILE).write_text(json_text(exact_data(curve, ROBOT)), encoding="utf-8")
    given = {"robot": "kuka-ir361", "trajectory": tmp_path / EXACT_FILE, "speed": 50.0, "output": tmp_path / "slow"}
    assert slow.run(Namespace(**given, config=None, lock=[], only=[], base=None, gravity=None, quiet=False)) == 0
    said = capsys.readouterr().out
    assert "at 50 % of the speed: certified" in said
    assert f"lasts {2 * curve.duration:.4g} s" in said
    half = read_trajectory(tmp_path / "slow" / TABLE_FILE, ROBOT)
    assert half.extremum(1).size == pytest.approx(0.5 * curve.extremum(1).size, rel=1e-5)


def test_gravity_alone_can_break_a_limit(curve):
    """Slow is not safe by itself: a load that the drives cannot hold stays one."""
    weak = load("kuka-ir361", options_from({"limits": {"torque": 1.0}}))
    torque = TorqueLimits(DynamicModel(weak))
    with pytest.raises(MotionError, match=r"at 1 % of its speed the motion breaks a limit: torque"):
        certified_slowed(curve, 0.01, lambda c: certify(weak, c, [torque]))


@pytest.mark.parametrize("speed", [0.0, -0.1, 1.1, 0.001, float("nan")])
def test_wrong_speeds(curve, speed):
    with pytest.raises(MotionError, match="give 1 … 100 %"):
        slowed(curve, speed)
