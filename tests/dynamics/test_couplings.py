"""Bodies that follow joints: everything against Pinocchio's tree, projected, and against finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.base_reaction import BaseReaction
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.model import DynamicModel, numeric_model_base, static_base
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import RobotError
from exciter.excitation.constraints.torque_limits_and_bounds import torque_jacobians
from exciter.excitation.criteria.cramer_rao import torque_jacobian_pullback
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.observation_rows import EnergyRows, regressor_pullback
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Tanh, Viscous
from exciter.robot import Motion, MotionGradient, Robot, load
from exciter.robot.coupling import LinearCoupling, Mimic, coupled_motion, with_mimics
from exciter.robot.pinocchio_model import to_pinocchio
from support.coupled_robots import COUPLED, gripper_urdf
from support.robots import random_robot, smooth_motion, states

ENGINES = {"numpy": NumpyEngine(), "numba": NumbaEngine()}
TERMS = (RotorInertia(), Viscous(), Coulomb(Tanh(0.1)), Offset())


def pinocchio_rows(robot: Robot, motion: Motion) -> np.ndarray:
    """(N, n, 10 per body): Nᵀ of the tree's regressors."""
    model, tree = to_pinocchio(robot), coupled_motion(robot, motion)
    data, null = model.createData(), robot.coupling.motion(motion).null
    samples = zip(tree.q, tree.qd, tree.qdd, strict=True)
    return np.array([null.T @ pin.computeJointTorqueRegressor(model, data, *x) for x in samples])


def along(
    gradient: MotionGradient, value: Callable[[Motion], float], motion: Motion, h: float = 1e-4
) -> tuple[float, float]:
    """Directional derivative by a gradient, and by differences of fourth order."""
    rng = np.random.default_rng(9)
    ways = rng.standard_normal((3, *motion.q.shape))
    given = (motion.q, motion.qd, motion.qdd)

    def moved(k: int) -> float:
        return value(Motion(motion.time, *(x + k * h * d for x, d in zip(given, ways, strict=True))))

    at = [moved(k) for k in (1, -1, 2, -2)]
    exact = sum((x * d).sum() for x, d in zip((gradient.q, gradient.qd, gradient.qdd), ways, strict=True))
    return float(exact), (8.0 * (at[0] - at[1]) - (at[2] - at[3])) / (12.0 * h)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
@pytest.mark.parametrize("name", COUPLED)
def test_rows_torques_and_matrices_are_pinocchios_projected(name: str, engine: NumpyEngine) -> None:
    robot, dynamics = COUPLED[name](), Dynamics(COUPLED[name](), engine)
    motion, tree = states(robot, 40), coupled_motion(robot, states(robot, 40))
    rows = pinocchio_rows(robot, motion)
    assert_allclose(dynamics.regressor(motion), rows, atol=1e-9)
    assert_allclose(dynamics.inverse_dynamics(motion), rows @ robot.inertias.ravel(), atol=1e-9)
    model, null = to_pinocchio(robot), robot.coupling.motion(motion).null
    data, frame = model.createData(), robot.tool_frame
    for k in range(5):
        mass = pin.crba(model, data, tree.q[k])
        whole = np.triu(mass) + np.triu(mass, 1).T
        assert_allclose(dynamics.inertia_matrix(motion.q[k])[0], null.T @ whole @ null, atol=1e-9)
        pin.computeJointJacobians(model, data, tree.q[k])
        pin.framesForwardKinematics(model, data, tree.q[k])
        jacobian = pin.getFrameJacobian(model, data, model.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED)
        assert_allclose(dynamics.jacobian(frame, motion.q[k])[0], jacobian @ null, atol=1e-9)
        place = data.oMf[model.getFrameId(frame)]
        assert_allclose(dynamics.placement(frame, motion.q[k])[1][0], place.translation, atol=1e-9)


@pytest.mark.parametrize("name", COUPLED)
def test_energy_balances_and_momentum_gives_the_torque(name: str) -> None:
    """Along one motion: d(e + u)/dt = τ · q̇, and τ = d/dt ∂e/∂q̇ + ∂(u − e)/∂q."""
    robot, h = COUPLED[name](), 1e-4
    model, time = DynamicModel(robot, (), NumpyEngine()), np.linspace(0.1, 1.1, 6)
    around = [smooth_motion(robot, time + k * h) for k in (-2, -1, 0, 1, 2)]

    def slope(values: list[np.ndarray]) -> np.ndarray:
        return (values[0] - 8.0 * values[1] + 8.0 * values[3] - values[4]) / (12.0 * h)

    chi, here = model.nominal, around[2]
    torque = model.torque(here)
    power = slope([model.energy(motion) @ chi for motion in around])
    assert_allclose(power, (torque * here.qd).sum(axis=1), rtol=1e-7, atol=1e-7)
    momenta = [model.momentum_rows(motion) for motion in around]
    assert_allclose(slope([b1 @ chi for b1, _ in momenta]) + momenta[2][1] @ chi, torque, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
@pytest.mark.parametrize("name", COUPLED)
def test_gradients_are_finite_differences(name: str, engine: NumpyEngine) -> None:
    robot = COUPLED[name]()
    model, motion, rng = DynamicModel(robot, TERMS, engine), states(robot, 70, 2), np.random.default_rng(3)
    layout = model.layout(model.base.independent)
    size, torque_seed = len(model.base), rng.standard_normal((70, robot.n))
    weights, plain = rng.uniform(0.5, 2.0, robot.n), DynamicModel(robot, (), engine)
    change = rng.standard_normal((size, size))
    rows = model.rows(motion, layout, weights)
    w = model.regressor(motion)[:, :, model.base.independent] * np.sqrt(weights)[:, None]
    assert_allclose(rows.gram(), np.einsum("Njb,Njc->bc", w, w), rtol=1e-9, atol=1e-9)
    [(_, pieces)] = model.regressor_chunks(motion, layout=layout, room=2)
    assert_allclose(pieces[..., :-2], model.regressor(motion)[:, :, model.base.independent], atol=1e-12)
    assert not pieces[..., -2:].any()
    row_seed, chi = rng.standard_normal((70, robot.n, len(model.standard))), rng.uniform(0.5, 1.0, len(model.standard))
    energy_seed = np.where(np.isnan(model.energy(motion)), 0.0, rng.standard_normal((70, len(model.standard))))
    jacobian_seed = rng.standard_normal((3, 70, robot.n, robot.n))
    cases: dict[str, tuple[MotionGradient, Callable[[Motion], float]]] = {
        "gram": (
            rows.pullback(change, torque_seed),
            lambda m: (change * model.rows(m, layout, weights).gram()).sum() + (torque_seed * plain.torque(m)).sum(),
        ),
        "rows": (regressor_pullback(model, motion, row_seed), lambda m: (row_seed * model.regressor(m)).sum()),
        "torque": (
            model.torque_pullback(motion, torque_seed, chi),
            lambda m: (torque_seed * model.torque(m, chi)).sum(),
        ),
        "energy": (
            model.energy_pullback(motion, energy_seed),
            lambda m: (energy_seed * np.nan_to_num(model.energy(m))).sum(),
        ),
        "jacobian": (
            torque_jacobian_pullback(model, motion, chi, jacobian_seed),
            lambda m: (jacobian_seed.transpose(0, 2, 3, 1) * model.torque_jacobian(m, chi)).sum(),
        ),
    }
    for what, (gradient, value) in cases.items():
        exact, differences = along(gradient, value, motion)
        assert exact == pytest.approx(differences, rel=1e-6), what
    tau, *derivatives = torque_jacobians(model, motion, chi)
    assert_allclose(tau.T, model.torque(motion, chi), atol=1e-9)
    assert_allclose(derivatives, model.torque_jacobian(motion, chi), atol=1e-8)


def test_criterion_of_a_motion_of_energies() -> None:
    robot = COUPLED["mimic"]()
    model = DynamicModel(robot, (RotorInertia(), Viscous()))
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(robot.n), EnergyRows())
    motion = states(robot, 300)
    exact, differences = along(objective.value_and_gradient(motion)[1], objective.value, motion, 1e-6)
    assert exact == pytest.approx(differences, rel=1e-6)


@pytest.mark.parametrize("name", COUPLED)
def test_base_parameters_are_the_rank_of_projected_rows(name: str) -> None:
    robot = COUPLED[name]()
    model = DynamicModel(robot)
    rows = pinocchio_rows(robot, states(robot, 300, 4)).reshape(-1, model.inertial_size)
    assert len(model.base) == np.linalg.matrix_rank(rows, tol=1e-9 * np.linalg.norm(rows))
    assert model.base.decision.is_clear
    assert len(numeric_model_base(model)) == len(model.base) <= len(DynamicModel(robot.tree).base)
    chi = np.random.default_rng(0).standard_normal(model.inertial_size)
    own = model.regressor(states(robot, 50, 5))
    assert_allclose(model.base.project(own) @ model.base.base_values(chi), own @ chi, atol=1e-8)
    held = model.regressor(Motion.at(states(robot, 200, 6).q)).reshape(-1, model.inertial_size)
    assert len(static_base(model)) == np.linalg.matrix_rank(held, tol=1e-9 * np.linalg.norm(held))
    drives = DynamicModel(robot, (Viscous(), Coulomb(), RotorInertia()))
    both = drives.regressor(states(robot, 300, 4)).reshape(-1, len(drives.standard))
    size = np.linalg.norm(both, axis=0)
    both = both[:, size > 1e-9 * size.max()] / size[size > 1e-9 * size.max()]
    assert len(drives.base) == np.linalg.matrix_rank(both, tol=1e-9)


def test_the_wrench_on_the_base_is_that_of_all_bodies() -> None:
    robot = COUPLED["mimic"]()
    motion = states(robot, 10)
    tree = BaseReaction(DynamicModel(robot.tree)).wrench(coupled_motion(robot, motion))
    assert_allclose(BaseReaction(DynamicModel(robot)).wrench(motion), tree, atol=1e-9)


# -- how robots come to be coupled -------------------------------------------------------------------------------------


def test_mimic_joints_of_a_file(tmp_path) -> None:
    """A mimic of a mimic is resolved; limits of followers are kept by their leader, with sign, ratio and offset."""
    robot = load(gripper_urdf(tmp_path / "gripper.urdf"))
    assert robot.joint_names == ("shoulder", "elbow", "finger")
    assert robot.tree_names == ("shoulder", "elbow", "finger", "other", "lid")
    assert_allclose(coupled_motion(robot, Motion.at([0.1, 0.2, 0.05])).q, [[0.1, 0.2, 0.05, -0.05, -0.3]])
    finger = robot.joints[2].limits
    assert finger.lower == pytest.approx(-0.09)  # |other| ≤ 0.09; lid = 0.1 − 8 finger stays within ±1
    assert finger.upper == pytest.approx(0.09)
    assert finger.velocity == pytest.approx(2.0 / 8.0)
    assert finger.torque == 50.0
    assert robot.friction["viscous"][2] == pytest.approx(1.5 * (1.0 + 1.0 + 64.0))
    assert robot.friction["coulomb"][2] == pytest.approx(0.4 * (1.0 + 1.0 + 8.0))
    with pytest.raises(RobotError, match="joint 'lid' follows 'finger', and is none of its own"):
        robot.with_limits(velocity={"lid": 1.0})


def test_circles_of_followers_are_refused() -> None:
    tree = random_robot(1, 4)
    with pytest.raises(RobotError, match=r"in a circle .*'j2' → 'j3' → 'j2'; let one of them lead"):
        with_mimics(tree, [Mimic("j2", "j3"), Mimic("j3", "j2")])
    with pytest.raises(RobotError, match="joint 'j2' follows both 'j1' and 'j3'"):
        with_mimics(tree, [Mimic("j2", "j1"), Mimic("j2", "j3")])


def test_limits_that_contradict_are_told(tmp_path) -> None:
    tree = random_robot(1, 3)
    robot = with_mimics(tree, [Mimic("j2", "j1", 1.0, 9.0)])
    assert robot.joints[0].limits == tree.joints[0].limits
    assert "they contradict each other" in robot.notes[-1].text


@pytest.mark.parametrize("name", COUPLED)
def test_locked_leaders_lock_their_followers(name: str) -> None:
    """Torques of what still moves are those of the whole with the others at rest."""
    robot = COUPLED[name]()
    first = robot.joint_names[0]
    locked, motion = robot.lock({first: 0.4}), states(robot, 20)
    kept = [k for k in range(robot.n) if k != 0]
    still = [
        np.where(np.arange(robot.n) == 0, value, x) for value, x in ((0.4, motion.q), (0, motion.qd), (0, motion.qdd))
    ]
    whole = Dynamics(robot).inverse_dynamics(Motion.at(*still))[:, kept]
    part = Motion.at(*(x[:, kept] for x in (motion.q, motion.qd, motion.qdd)))
    assert_allclose(Dynamics(locked).inverse_dynamics(part), whole, atol=1e-9)


def test_locking_by_pattern_and_keeping_a_chain(tmp_path) -> None:
    robot = load(gripper_urdf(tmp_path / "gripper.urdf"))
    for names in ({"finger": 0.01}, ["finger", "other", "lid"], ["*i[nd]*", "other"], {"[fol]*r": 0.02, "finger": 0}):
        locked = robot.lock(names)
        assert locked.joint_names == ("shoulder", "elbow")
        assert locked.coupling is None
    assert robot.only("fore").joint_names == robot.joint_names  # what it carries is kept
    assert robot.only("upp").joint_names == robot.joint_names
    arm = robot.lock(["finger"])
    assert arm.only("shoulder").joint_names == ("shoulder", "elbow")
    assert robot.subchain("elbow").joint_names == ("shoulder", "elbow")
    assert robot.subchain("lid").joint_names == robot.joint_names
    with pytest.raises(RobotError, match="joint 'lid' follows 'finger', and cannot be locked alone"):
        robot.lock(["lid"])
    with pytest.raises(RobotError, match="only: unknown joint, link or frame 'leg'"):
        robot.only("leg")


def test_linear_equalities_of_mjcf_are_mujocos(tmp_path) -> None:
    """Accelerations under given torques: by MuJoCo's M, bias and constraint Jacobian exactly, its solver nearly."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the oracle of this test")
    path = tmp_path / "pair.xml"
    body = '<inertial pos="0.1 0.02 0.03" mass="{}" diaginertia="0.02 0.03 0.025"/>'
    path.write_text(
        f"""<mujoco><compiler angle="radian"/><worldbody><body name="a"><joint name="lead" axis="0 1 0" ref="0.2"/>
        {body.format(2)}<body name="b" pos="0.3 0 0"><joint name="follow" axis="0 1 1" ref="-0.1"/>{body.format(1)}
        <body name="c" pos="0.2 0 0.1"><joint name="slide" type="slide" axis="1 0 0"/>{body.format(0.5)}</body></body>
        </body></worldbody><equality><joint joint1="follow" joint2="lead" polycoef="0.3 -0.8 0 0 0" solref="0.002 1"
        solimp="0.9999 0.9999 0.001 0.5 2"/></equality></mujoco>""",
        encoding="utf-8",
    )
    robot = load(path)
    assert robot.joint_names == ("lead", "slide")
    motion = states(robot, 6)
    tree, dynamics = coupled_motion(robot, motion), Dynamics(robot)
    assert_allclose(tree.q[:, 1] + 0.1, 0.3 - 0.8 * (motion.q[:, 0] - 0.2), atol=1e-12)
    model = mujoco.MjModel.from_xml_path(str(path))
    data, torque = mujoco.MjData(model), np.array([3.0, -2.0])
    for k in range(len(motion)):
        at = Motion.at(motion.q[k], motion.qd[k], np.zeros(2))
        free = torque - dynamics.inverse_dynamics(at)[0]
        ours = robot.coupling.matrix @ np.linalg.solve(dynamics.inertia_matrix(motion.q[k])[0], free)
        data.qpos[:], data.qvel[:] = tree.q[k], tree.qd[k]
        data.qfrc_applied[[0, 2]] = torque
        mujoco.mj_forward(model, data)
        mass = np.zeros((3, 3))
        mujoco.mj_fullM(model, data, mass)
        rows = data.efc_J.reshape(-1, 3)[:1]
        whole = np.block([[mass, rows.T], [rows, np.zeros((1, 1))]])
        held = np.append(data.qfrc_applied - data.qfrc_bias, 0.0)
        assert_allclose(ours, np.linalg.solve(whole, held)[:3], atol=1e-9 * np.abs(ours).max())
        assert_allclose(ours, data.qacc, atol=1e-2 * np.abs(ours).max())


def test_a_joint_that_an_equality_holds_is_locked(tmp_path) -> None:
    path = tmp_path / "held.xml"
    joint = '<body name="{0}" pos="0.1 0 0"><joint name="{1}" axis="0 1 0"/><geom size="0.1" mass="1"/>'
    bodies = joint.format("a", "one") + joint.format("b", "two") + "</body></body>"
    equality = '<equality><joint joint1="two" polycoef="0.3 0 0 0 0"/></equality>'
    path.write_text(f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody>{equality}</mujoco>')
    robot = load(path)
    assert robot.joint_names == ("one",)
    assert any("'two' at 0.3" in note.text for note in robot.notes)


def test_couplings_say_what_they_cannot_be() -> None:
    with pytest.raises(RobotError, match=r"must be \(bodies, joints\)"):
        LinearCoupling(np.zeros(3), np.zeros(3))
