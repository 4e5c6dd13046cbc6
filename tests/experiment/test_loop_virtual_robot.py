"""The virtual robot with closed loops: MuJoCo's kinematics step by step, against batches, energy and the model."""

from __future__ import annotations

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import MotionError
from exciter.experiment.virtual.control import FRICTION_FADE_SPEED, ComputedTorque
from exciter.experiment.virtual.plant import build
from exciter.experiment.virtual.true_parameters import TrueFriction, Truth
from exciter.robot.loop_assembly import KinematicLoop, with_loops
from exciter.robot.motion import Motion
from support.loops import FOUR_BAR_POSTURE, four_bar, parallelogram, spatial_loop
from support.paths import ROBOTS

BENT = KinematicLoop("joint", ("l0", "carrier"), coefficients=(0.1, 0.5, 0.2, -0.1, 0.05))
MADE = {
    "four bar": lambda: with_loops(
        four_bar(), [KinematicLoop("connect", ("coupler_end", "rocker_end"))], ["crank"], FOUR_BAR_POSTURE
    ),
    "weld": lambda: with_loops(spatial_loop(), [KinematicLoop("weld", ("left", "right")), BENT]),
    "world": lambda: with_loops(spatial_loop(), [KinematicLoop("connect", ("left", "world"))]),
    "palletiser": lambda: ex.load(ROBOTS / "palletiser.urdf", ROBOTS / "palletiser.yaml"),
}


@pytest.mark.parametrize("name", MADE)
def test_state_by_state_is_the_batch(name):
    robot = MADE[name]()
    plant, rng = build(Truth(robot, rotor_inertia=0.0, friction=TrueFriction())), np.random.default_rng(0)
    u = robot.coupling.home + 0.01 * np.cumsum(rng.uniform(-1, 1, (8, robot.n)), axis=0)
    ud, tau = rng.uniform(-1, 1, (2, *u.shape))
    plant.begin(1e-3)
    moved = robot.coupling.motion(Motion.at(u, ud))
    dynamics = Dynamics(robot)
    for k in range(len(u)):
        q, qd, bent, null = plant.model._loops(u[k], ud[k])
        for found, expected in ((q, moved.tree.q), (qd, moved.tree.qd), (bent, moved.tree.qdd), (null, moved.null)):
            np.testing.assert_allclose(found, expected[k], atol=1e-9)
        plant.data.qpos[:], plant.data.qvel[:], plant.data.qfrc_applied[:] = u[k], ud[k], tau[k]
        plant.forward(plant.data)
        asked = dynamics.inverse_dynamics(Motion.at(u[k : k + 1], ud[k : k + 1], plant.data.qacc[None]))
        np.testing.assert_allclose(asked[0], tau[k], atol=1e-8 * max(1.0, np.abs(asked).max()))


@pytest.mark.parametrize("name", MADE)
def test_computed_torque_is_inverse_dynamics(name):
    """State by state, with jumps between them; without feedback, as the robot is where it should be."""
    robot, rng = MADE[name](), np.random.default_rng(1)
    u = robot.coupling.home + rng.uniform(-0.1, 0.1, (6, robot.n))
    planned = Motion(np.arange(6.0), u, *rng.uniform(-1, 1, (2, *u.shape)))
    law = ComputedTorque().law(robot, planned)
    found = np.array([law(k, planned.q[k], planned.qd[k]) for k in range(len(planned))])
    expected = Dynamics(robot).inverse_dynamics(planned)
    friction = {key: robot.friction.get(key, np.zeros(robot.n)) for key in ("viscous", "coulomb", "rotor_inertia")}
    expected = expected + friction["viscous"] * planned.qd + friction["rotor_inertia"] * planned.qdd
    expected += friction["coulomb"] * np.tanh(planned.qd / FRICTION_FADE_SPEED)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_energy_is_kept_without_friction():
    robot = MADE["four bar"]()
    plant = build(Truth(robot, rotor_inertia=0.0, friction=TrueFriction()))
    plant.begin(1e-3)
    plant.data.qpos[:], plant.data.qvel[:] = 1.0, 2.0
    model, energies = DynamicModel(robot), []
    for _ in range(300):
        energies.append(float((model.energy(Motion.at(plant.data.qpos, plant.data.qvel)) @ model.nominal)[0]))
        plant.forward(plant.data)
        plant.advance(plant.data)
    assert abs(plant.data.qpos[0] - 1.0) > 0.1
    assert np.ptp(energies) < 1e-7 * np.abs(energies).max()


def cranked(robot, middle):
    """4 s of a parallelogram: the crank within ± 0.15 rad of ``middle``, the shoulder within ± 0.05 rad of zero."""
    trajectory = ex.Fourier(period=4.0, harmonics=2)
    delta = np.zeros((robot.n, trajectory.coefficients))
    turn = 2.0 * np.pi / trajectory.period
    delta[:, :2] = turn * np.diag([0.0, 0.3]) + turn * np.array([[0.0, 0.1], [0.0, 0.0]])
    delta[1, -1] = middle
    return trajectory.curve(delta)


def test_a_parallelogram_that_comes_flat_is_refused(tmp_path):
    """There it may go on crossed, which samples beside that instant do not show."""
    robot = parallelogram(tmp_path)
    with pytest.raises(MotionError, match=r"loops.*singular"):
        ex.simulate(robot, cranked(robot, 0.0713))
    assert len(ex.simulate(robot, cranked(robot, 0.6), periods=1).recording) > 100


def test_other_positions_that_loops_cannot_have_explain_no_log(tmp_path):
    """Whether positions are exchanged, turned round or shifted is tried, also where these would open the loop."""
    robot = parallelogram(tmp_path)
    found = ex.inspect(robot, ex.simulate(robot, cranked(robot, 0.5), periods=2, seed=1))
    assert found.usable
