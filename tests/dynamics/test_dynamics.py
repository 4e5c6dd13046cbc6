"""The dynamics against Pinocchio, and against the physics itself: energy, power, Lagrange."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import MotionError
from exciter.robot import Motion, load
from exciter.robot.pinocchio_model import to_pinocchio
from support.robots import random_gravity, random_robot, smooth_motion, states

ENGINES = {"numpy": NumpyEngine(), "numba": NumbaEngine(), "numba, two threads": NumbaEngine(threads=2)}


@pytest.fixture(params=list(ENGINES))
def engine(request):
    return ENGINES[request.param]


@pytest.fixture(params=["own gravity", "random gravity"])
def robot(request, any_robot):
    return any_robot if request.param == "own gravity" else any_robot.with_gravity(random_gravity(any_robot.name))


def close(actual, expected):
    expected = np.asarray(expected).reshape(np.shape(actual))  # Pinocchio drops dimensions of length one
    assert_allclose(actual, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))


def test_torque_regressor_energies_and_inertia_matrix_equal_pinocchios(robot, engine):
    model = to_pinocchio(robot)
    data = model.createData()
    motion = states(robot, 70)  # one block of the kernels and a bit
    dynamics = Dynamics(robot, engine)
    phi, tau = dynamics.regressor(motion), dynamics.inverse_dynamics(motion)
    rows = dynamics.lagrange(motion)
    inertia = dynamics.inertia_matrix(motion.q)
    chi = robot.inertias.ravel()
    for k, (q, qd, qdd) in enumerate(zip(motion.q, motion.qd, motion.qdd, strict=True)):
        close(phi[k], pin.computeJointTorqueRegressor(model, data, q, qd, qdd))
        close(tau[k], pin.rnea(model, data, q, qd, qdd))
        close(rows.e[k] @ chi, pin.computeKineticEnergy(model, data, q, qd))
        close(rows.u[k] @ chi, pin.computePotentialEnergy(model, data, q))
        upper = np.triu(pin.crba(model, data, q))
        close(inertia[k], upper + np.triu(upper, 1).T)


@pytest.mark.parametrize("tilt", [0.0, 1e-8, 1e-6, 1e-3])
def test_axes_near_minus_z(tilt, engine):
    """Kernels see every axis as z; half a turn away from it nothing may be snapped or lost."""
    base = random_robot(8, 4, prismatic=0.3)
    axis = np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    robot = replace(base, joints=tuple(replace(joint, axis=axis) for joint in base.joints))
    model = to_pinocchio(robot)
    data = model.createData()
    motion = states(robot, 10)
    expected = [pin.rnea(model, data, *x) for x in zip(motion.q, motion.qd, motion.qdd, strict=True)]
    close(Dynamics(robot, engine).inverse_dynamics(motion), np.array(expected))


def test_every_frame_and_jacobian_equals_pinocchios(any_robot, engine):
    model = to_pinocchio(any_robot)
    data = model.createData()
    q = states(any_robot, 5).q
    dynamics = Dynamics(any_robot, engine)
    for name in any_robot.frame_names:
        rotation, origin = dynamics.placement(name, q)
        jacobian = dynamics.jacobian(name, q)
        joint = any_robot.frame(name).joint + 1
        placement = pin.SE3(any_robot.frame(name).rotation, any_robot.frame(name).translation)
        for k in range(len(q)):
            pin.computeJointJacobians(model, data, q[k])
            world = data.oMi[joint] * placement
            close(rotation[k], world.rotation)
            close(origin[k], world.translation)
            local = placement.inverse().action @ pin.getJointJacobian(model, data, joint, pin.LOCAL)
            turn = np.kron(np.eye(2), world.rotation)
            close(jacobian[k], turn @ local)


def test_power_balance(robot, engine):
    """dH/dt = q̇ᵀΓ for the rigid bodies, along a motion with exact derivatives."""
    h, t = 1e-3, np.linspace(0.0, 4.0, 40)
    dynamics = Dynamics(robot, engine)
    chi = robot.inertias.ravel()

    def energy(time):
        rows = dynamics.lagrange(smooth_motion(robot, time))
        return (rows.e + rows.u) @ chi

    rate = (8 * (energy(t + h) - energy(t - h)) - (energy(t + 2 * h) - energy(t - 2 * h))) / (12 * h)
    motion = smooth_motion(robot, t)
    power = (motion.qd * dynamics.inverse_dynamics(motion)).sum(1)
    assert_allclose(rate, power, atol=1e-8 * np.abs(power).max())


def test_lagrange_form_gives_the_torque(robot, engine):
    """Γ = (d/dt B1 + B2) K with B1 = ∂e/∂q̇ and B2 = ∂u/∂q − ∂e/∂q [12.35–12.37], column by column."""
    h, t = 1e-3, np.linspace(0.0, 4.0, 30)
    dynamics = Dynamics(robot, engine)

    def b1(time):
        return dynamics.lagrange(smooth_motion(robot, time)).momentum

    rate = (8 * (b1(t + h) - b1(t - h)) - (b1(t + 2 * h) - b1(t - 2 * h))) / (12 * h)
    rows = dynamics.lagrange(smooth_motion(robot, t))
    phi = dynamics.regressor(smooth_motion(robot, t))
    assert_allclose(rate + rows.du_dq - rows.de_dq, phi, atol=1e-8 * np.abs(phi).max())


def test_energy_rows_are_what_their_derivatives_say(any_robot):
    """B1 and ∂h/∂q against central differences of e and u; kinetic energy is homogeneous: q̇ᵀB1 = 2 e."""
    motion, h = states(any_robot, 9), 1e-5
    dynamics = Dynamics(any_robot, NumpyEngine())
    rows = dynamics.lagrange(motion)
    assert_allclose(np.einsum("Nj,Njp->Np", motion.qd, rows.momentum), 2 * rows.e, atol=1e-10)
    for j in range(any_robot.n):
        step = h * np.eye(any_robot.n)[j]
        up, down = (dynamics.lagrange(Motion.at(motion.q + s * step, motion.qd)) for s in (1, -1))
        assert_allclose((up.e - down.e) / (2 * h), rows.de_dq[:, j], atol=1e-7)
        assert_allclose((up.u - down.u) / (2 * h), rows.du_dq[:, j], atol=1e-7)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 700])
def test_engines_agree_for_any_number_of_samples(size):
    robot = load("panda")
    motion = states(robot, size)
    first, *others = (Dynamics(robot, e) for e in ENGINES.values())
    for other in others:
        close(other.regressor(motion), first.regressor(motion))
        close(other.inverse_dynamics(motion), first.inverse_dynamics(motion))
        a, b = other.lagrange(motion), first.lagrange(motion)
        for name in ("e", "u", "momentum", "de_dq", "du_dq"):
            close(getattr(a, name), getattr(b, name))


def test_compiled_rotations_are_exact():
    """The kernels' own sine and cosine, as the kernels call them: to rounding, over the whole range."""
    robot = random_robot(1, 1, prismatic=0.0, aligned=True)
    for size in (1.0, 1e2, 1e4, 9.9e4):
        q = np.random.default_rng(0).uniform(-size, size, (500, 1))
        compiled, _ = Dynamics(robot, NumbaEngine()).placement("j1", q)
        plain, _ = Dynamics(robot, NumpyEngine()).placement("j1", q)
        assert_allclose(compiled, plain, rtol=0, atol=1e-15)


@pytest.mark.parametrize("turns", [1e3, 9e4, 3e5, 1e9])
def test_compiled_sine_and_cosine_hold_far_from_zero(turns):
    """Continuous joints may turn a hundred thousand radians."""
    robot = load("panda")
    motion = states(robot, 200)
    far = Motion.at(np.linspace(-1.0, 1.0, 200)[:, None] ** 3 * turns + motion.q, motion.qd, motion.qdd)
    close(Dynamics(robot, NumbaEngine()).regressor(far), Dynamics(robot, NumpyEngine()).regressor(far))


def test_motion_of_another_robot_is_refused():
    with pytest.raises(MotionError, match=r"3 joints.*'panda' has 7"):
        Dynamics(load("panda"), NumpyEngine()).regressor(Motion.at(np.zeros((2, 3))))
    with pytest.raises(MotionError, match="NaN"):
        Motion.at([[np.nan, 0.0]])


def test_first_use_says_that_kernels_are_compiled_once(tmp_path):
    """With an empty cache the user is told before the wait; a cached kernel is silent."""
    code = """
from exciter.cli import notice
from exciter.dynamics.kernels.cache import kernels, when_compiling
when_compiling(notice)
print(kernels("drivers").adjoint.stats.cache_path)
"""

    def run():
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip(), done.stderr

    folder, said = run()
    assert "compiling numerical kernels" in said
    (Path(folder) / "drivers.adjoint-1.py311.nbi").touch()
    assert run()[1] == ""
