"""The virtual robot and the closed loop where bodies follow joints: exactly the model's dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.experiment.virtual.control import ComputedTorque, GravityPD
from exciter.experiment.virtual.plant import build
from exciter.experiment.virtual.true_parameters import CompensationSpring, Flexibility, TrueFriction, Truth, draw
from exciter.experiment.virtual.virtual_robot import VirtualRobot
from exciter.identification.closed_loop.closed_loop import forward_kernel
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import Motion, Robot, load
from support.coupled_robots import COUPLED, gripper_urdf, mimicking


def swing(robot: Robot, seconds: float = 0.4) -> Curve:
    """From rest to rest, little enough for any limit."""
    q = np.stack([np.zeros(robot.n), np.linspace(0.03, 0.06, robot.n)])
    return Curve((PolynomialPiece.from_samples([0.0, seconds], q, 0 * q, 0 * q),))


@pytest.mark.parametrize("control", [ComputedTorque(), GravityPD()])
def test_what_happened_is_what_the_truth_says(control, tmp_path) -> None:
    """Torques of the drives are those of the true parameters along the executed motion, dry friction as it was."""
    robot = load(gripper_urdf(tmp_path / "gripper.urdf"))
    truth = draw(robot, seed=3)
    done = VirtualRobot(robot, truth, control=control).run(swing(robot), seed=1)
    model = DynamicModel(truth.robot, (RotorInertia(), Viscous()))
    chi = np.concatenate([model.nominal[: model.inertial_size], truth.rotor, truth.friction.array("viscous")])
    expected = model.torque(done.motion, chi) + done.dry_friction
    np.testing.assert_allclose(done.torque, expected, atol=1e-9 * np.abs(expected).max())
    sliding = np.abs(done.motion.qd) > 1e-2
    bound = truth.friction.array("coulomb") * np.sign(done.motion.qd)
    np.testing.assert_allclose(done.dry_friction[sliding], bound[sliding], rtol=1e-9)


def test_energy_is_kept_without_friction() -> None:
    robot = mimicking()
    truth = Truth(robot, rotor_inertia=0.0, friction=TrueFriction())
    plant, state = build(truth), np.array([0.3, -0.2, 0.4])
    plant.begin(1e-3)
    plant.data.qpos[:], plant.data.qvel[:] = state, [0.5, -1.0, 0.8]
    model, energies = DynamicModel(robot), []
    for _ in range(300):
        motion = Motion.at(plant.data.qpos, plant.data.qvel)
        energies.append(float((model.energy(motion) @ model.nominal)[0]))
        plant.forward(plant.data)
        plant.advance(plant.data)
    assert np.ptp(energies) < 1e-7 * np.abs(energies).max()


def test_plant_and_closed_loop_accelerate_alike() -> None:
    """Two implementations, MuJoCo's tree and the kernel, and M ü = τ − h of the dynamics."""
    robot = mimicking()
    truth = draw(robot, seed=2)
    plant, rng = build(truth), np.random.default_rng(0)
    plant.begin(1e-3)
    model = DynamicModel(truth.robot, (RotorInertia(), Viscous(), Coulomb()))
    bodies = model.nominal[: model.inertial_size]
    terms = [truth.rotor, truth.friction.array("viscous"), truth.friction.array("coulomb")]
    chi = np.concatenate([bodies, *terms])
    kernel, arm = forward_kernel(model, chi)
    dynamics = Dynamics(truth.robot)
    for _ in range(5):
        q, qd, torque = rng.uniform(-1.0, 1.0, (3, robot.n))
        qd = np.where(np.abs(qd) < 0.3, 0.3, qd)  # far from sticking
        plant.data.qpos[:], plant.data.qvel[:], plant.data.qfrc_applied[:] = q, qd, 20.0 * torque
        plant.forward(plant.data)
        seen = np.empty(robot.n)
        assert kernel.look(arm, q, qd, 20.0 * torque, 1e-3, seen)
        np.testing.assert_allclose(plant.data.qacc, seen, rtol=1e-9, atol=1e-9 * np.abs(seen).max())
        mass = dynamics.inertia_matrix(q)[0] + np.diag(truth.rotor)
        free = 20.0 * torque - dynamics.inverse_dynamics(Motion.at(q, qd))[0] - terms[1] * qd - terms[2] * np.sign(qd)
        np.testing.assert_allclose(seen, np.linalg.solve(mass, free), rtol=1e-9, atol=1e-9 * np.abs(seen).max())


def test_a_joint_at_rest_is_held_by_dry_friction() -> None:
    robot = mimicking().with_gravity(np.zeros(3))
    truth = Truth(robot, rotor_inertia=0.1, friction=TrueFriction(coulomb=5.0))
    plant = build(truth)
    plant.begin(1e-3)
    plant.data.qfrc_applied[:] = [3.0, -2.0, 0.5]
    plant.forward(plant.data)
    np.testing.assert_allclose(plant.data.qacc, 0.0, atol=1e-9)
    np.testing.assert_allclose(plant.data.qfrc_constraint, [-3.0, 2.0, -0.5], atol=1e-9)


def test_springs_and_flexible_joints() -> None:
    robot = next(COUPLED[name]() for name in COUPLED)
    turning = next(joint.name for joint in robot.joints if not joint.is_prismatic)
    spring = CompensationSpring(turning, stiffness=500.0, base_arm=0.4, link_arm=0.1, offset=0.0, free_length=0.2)
    truth = Truth(robot, rotor_inertia=0.1, springs=(spring,))
    build(truth)
    with pytest.raises(ExciterError, match="joints are flexible, or bodies follow them"):
        build(Truth(robot, rotor_inertia=0.1), Flexibility(stiffness=1e4))
