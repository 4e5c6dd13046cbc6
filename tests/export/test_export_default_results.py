"""What ``identify`` gives by itself, exported to C and Python: the torques of the result, with any friction."""

import numpy as np
import pytest

import exciter as ex
from exciter.experiment.virtual.virtual_robot import SimulateSettings
from exciter.parameters.terms import Dahl
from support.compiled_code import C99, Compiled, compiled, imported, needs_gcc
from support.robots import smooth_motion
from support.starting_files import exciter

ROBOTS = ("gautier-khalil", "kuka-ir361", "puma560", "ur10e", "lwr4")
SOME = ("joint_1", "joint_3")
COARSE = SimulateSettings(simulation_rate=1000.0)  # nothing here is about the simulator


def log_of(name):
    """A short motion with stops, on a virtual robot."""
    robot = ex.load(name)
    return robot, ex.simulate(robot, ex.design(robot, ex.RandomPoints(points=6)), COARSE, seed=1).recording


def check(found, folder):
    """Beside the result's own torques along another motion, relative to the largest of each joint."""
    motion = smooth_motion(found.robot, np.linspace(0.0, 4.0, 801), seed=3)
    state = motion.q, motion.qd, motion.qdd
    wanted = found.torque(*state)
    found.export(folder / "robot.c")
    (path,) = found.export(folder / "robot.py")
    code = Compiled(compiled(folder / "robot.c", *C99), found.model)
    assert bool(code.contacts) == any(term.has_memory for term in found.model.bound)
    for torque in (code.torque, imported(path.read_text()).torque):
        assert (np.abs(torque(*state) - wanted) <= 1e-12 * np.abs(wanted).max(axis=0)).all()
    return code


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_default_results_predict_the_same_in_c_and_python(name, tmp_path):
    check(ex.identify(*log_of(name)), tmp_path)


@needs_gcc
def test_identified_pre_sliding_predicts_the_same(tmp_path, capsys):
    """Given, not chosen: the file has a state whatever automatic settings would do. The command writes the same."""
    terms = [
        ex.RotorInertia(),
        ex.Viscous(),
        ex.Offset(),
        ex.Coulomb(Dahl({"joint_1": 1e-3, "joint_3": 5e-3}), SOME),
    ]
    robot, log = log_of("gautier-khalil")
    found = ex.identify(robot, log, terms=terms, estimator=ex.WeightedLeastSquares())
    assert check(found, tmp_path).contacts == 2
    found.export(tmp_path / "quick.c", stateless=True)
    folder = found.save(tmp_path / "found")
    assert exciter("export", folder, "--format", "c", "-o", tmp_path / "again.c") == 0
    assert "joint_1, joint_3 depends on the way they came: functions take a state" in " ".join(
        capsys.readouterr().out.split()
    )
    assert (tmp_path / "again.h").read_text() == (tmp_path / "robot.h").read_text()
    assert exciter("export", folder, "--format", "c", "-o", tmp_path / "loose.c", "--stateless") == 0
    assert "left out of joint_1, joint_3" in " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "loose.h").read_text() == (tmp_path / "quick.h").read_text()
    for form in ("json", "ros2"):
        assert exciter("export", folder, "--format", form, "-o", tmp_path / "x.json", "--stateless") == 2
        assert "stateless was asked of" in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()
