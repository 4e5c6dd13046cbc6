"""A gripper, a palletiser and a quadruped, identified from logs and exported: what other tools read gives the torques
of the identified model, projected on its coordinates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.experiment.recording.recording import Recording
from exciter.experiment.virtual.standing import StandingNoise
from exciter.export.robot_xml import identified_robot
from exciter.identification.identified_model import IDENTIFIED_LOOPS, IDENTIFIED_URDF, RESULT_SEAL
from exciter.pipeline.identified import Identified
from exciter.robot import Motion, Robot
from support.coupled_robots import gripper_urdf
from support.paths import ROBOTS
from support.standing import QUADRUPED, standing

TERMS = ["viscous"]
RATE, SECONDS = 100.0, 8.0
SMALL = StandingNoise(position=0.0, torque=0.001, place=0.0, attitude=0.0, velocity=0.0, spin=0.0)


def moved(robot: Robot, sizes: np.ndarray, seed: int) -> Recording:
    """Sines of all joints about where they are at rest, with the torques of another robot, and a little noise."""
    rng, time = np.random.default_rng(seed), np.arange(round(RATE * SECONDS)) / RATE
    rate, phase = rng.uniform(1.0, 5.0, robot.n), rng.uniform(0.0, 6.0, robot.n)
    angle = rate * time[:, None] + phase
    home = np.zeros(robot.n) if robot.coupling.constant else robot.coupling.home
    motion = Motion(time, home + sizes * np.sin(angle), sizes * rate * np.cos(angle), -sizes * rate**2 * np.sin(angle))
    model = ex.DynamicModel(robot, (ex.Viscous(),))
    chi = model.nominal.copy()
    chi[: model.inertial_size] *= np.repeat(np.random.default_rng(9).uniform(0.8, 1.2, robot.n_bodies), 10)
    chi[model.inertial_size :] = 2.0
    torque = model.torque(motion, chi)
    noisy = torque + 0.001 * np.abs(torque).max(axis=0) * rng.standard_normal(torque.shape)
    return Recording(joints=robot.joint_names, time=time, q=motion.q, qd=motion.qd, torque=noisy)


def gripper(folder: Path, seed: int = 0) -> tuple[Robot, Recording]:
    robot = ex.load(gripper_urdf(folder / "gripper.urdf"))
    return robot, moved(robot, np.array([0.8, 0.8, 0.06]), seed)


def palletiser(_: Path, seed: int = 0) -> tuple[Robot, Recording]:
    robot = ex.load(ROBOTS / "palletiser.urdf", ROBOTS / "palletiser.yaml")
    return robot, moved(robot, np.array([0.8, 0.4, 0.4]), seed)


def quadruped(_: Path, seed: int = 0) -> tuple[Robot, Recording]:
    stood = standing(5.0, seed).stood
    return ex.load(QUADRUPED, base="free"), stood.recording(SMALL, seed)


MADE: dict[str, Callable[..., tuple[Robot, Recording]]] = {
    "gripper": gripper,
    "palletiser": palletiser,
    "quadruped": quadruped,
}


@pytest.fixture(scope="module", params=MADE)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Identified:
    robot, log = MADE[request.param](tmp_path_factory.mktemp("robots"))
    settings = {"estimator": "consistent", "dead_zone": 0.0, "route": {"method": "differences", "cutoff": 20}}
    return ex.identify(robot, log, terms=TERMS, accept_problems=True, **settings)


@pytest.mark.parametrize("form", ["urdf", "mjcf"])
def test_read_back_it_is_the_identified_model(found: Identified, form: str, tmp_path: Path) -> None:
    robot = found.model.robot
    chi = np.asarray(found.estimate.standard)
    expected = identified_robot(found.model, chi)
    assert not np.allclose(expected.inertias, robot.inertias, rtol=0.01)
    found.export(tmp_path / f"model.{form}")
    options = {"base": "free"} if form == "urdf" and robot.free_base else {}
    lines = tmp_path / "model_loops.yaml"
    read = ex.load(tmp_path / f"model.{form}", *([lines] if lines.exists() else []), **options)
    assert set(read.tree_names) == set(robot.tree_names)
    order = [read.joint_names.index(name) for name in robot.joint_names]
    rng = np.random.default_rng(1)
    home = np.zeros(robot.n) if robot.coupling is None or robot.coupling.constant else robot.coupling.home
    state = [home + rng.uniform(-0.05, 0.05, (6, robot.n)), *rng.uniform(-1.0, 1.0, (2, 6, robot.n))]
    turned = Motion.at(*(x[:, np.argsort(order)] for x in state))
    torque = Dynamics(expected).inverse_dynamics(Motion.at(*state))
    again = Dynamics(read.with_gravity(robot.gravity)).inverse_dynamics(turned)[:, order]
    np.testing.assert_allclose(again, torque, atol=1e-9 * np.abs(torque).max())
    assert [joint.actuated for joint in read.joints] == [robot.joints[k].actuated for k in np.argsort(order)]


def test_a_saved_result_has_the_loops_of_its_urdf(found: Identified, tmp_path: Path) -> None:
    robot = found.model.robot
    if robot.coupling is None or robot.coupling.constant:
        pytest.skip("no loops that a URDF cannot say")
    folder = found.save(tmp_path / "found")
    read = ex.load(folder / IDENTIFIED_URDF, folder / IDENTIFIED_LOOPS)
    assert read.joint_names == robot.joint_names
    assert IDENTIFIED_LOOPS in RESULT_SEAL.hashes(folder)


def test_another_motion_is_predicted_and_what_cannot_be_simulated_is_said(found: Identified, tmp_path: Path) -> None:
    robot = found.model.robot
    if robot.coupling is not None and robot.coupling.constant:
        pytest.skip("mimic joints are simulated: test_coupled_cli")
    _, other = MADE["quadruped" if robot.free_base else "palletiser"](tmp_path, 5)
    validated = ex.validate(found, other)
    assert validated.validation.runs[0].total_percent < 1.0
    assert not validated.simulations
    assert [said for said in validated.sentences if said.startswith("not simulated: ")]
