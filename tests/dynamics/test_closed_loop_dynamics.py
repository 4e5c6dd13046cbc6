"""Dynamics of closed chains: against Pinocchio's and MuJoCo's constraints, closed forms, energy and differences."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel, random_states
from exciter.parameters.terms import RotorInertia, Viscous
from exciter.robot.coupling import LinearCoupling
from exciter.robot.loop_assembly import KinematicLoop, with_loops
from exciter.robot.loop_reach import within_reach
from exciter.robot.motion import Motion
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.spatial import from_pseudo_inertia
from support.constrained_robots import crank_and_rocker, palletiser
from support.loops import four_bar_angles, spatial_loop

ROBOTS = Path(__file__).parents[1] / "robots"
ROD = 0.8  # m, of the palletiser, as long as its upper arm


MADE = {
    "four bar": crank_and_rocker,
    "weld": lambda: with_loops(spatial_loop(), [KinematicLoop("weld", ("left", "right"))]),
    "connect": lambda: with_loops(spatial_loop(), [KinematicLoop("connect", ("left", "right"))]),
    "world": lambda: with_loops(spatial_loop(), [KinematicLoop("weld", ("left", "world"))]),
    "palletiser": palletiser,
    "MJCF": lambda: ex.load(ROBOTS / "four_bar.xml"),
}


def states(robot, samples=5, seed=0, spread=0.3):
    rng, home = np.random.default_rng(seed), robot.coupling.home
    u = within_reach(robot, home + rng.uniform(-spread, spread, (samples, robot.n)))
    return Motion.at(u, *rng.uniform(-2, 2, (2, *u.shape)))


def constrained_forward(robot, q, qd, tau):
    """Accelerations (nb,) of the tree by Pinocchio, with its loops as rigid constraints."""
    model = to_pinocchio(robot)
    data, constraints = model.createData(), []
    for tie in robot.coupling.ties.ties:
        kind = pin.ContactType.CONTACT_3D if tie.word == "connect" else pin.ContactType.CONTACT_6D
        ends = [x for end in (tie.a, tie.b) for x in (end.joint + 1, pin.SE3(end.rotation, end.translation))]
        constraints.append(pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL))
    datas = [one.createData() for one in constraints]
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-14, 1e-10, 50)
    return pin.constraintDynamics(model, data, q, qd, tau, constraints, datas, settings)


@pytest.mark.parametrize("name", MADE)
def test_inverse_dynamics_undo_pinocchios_constrained_forward_dynamics(name):
    robot = MADE[name]()
    motion, rng = states(robot), np.random.default_rng(1)
    tau = rng.uniform(-5, 5, motion.q.shape)
    tree, at = robot.coupling.motion(motion).tree, robot.coupling.coordinates
    acceleration = []
    for q, qd, own in zip(tree.q, tree.qd, tau, strict=True):
        whole = np.zeros(robot.n_bodies)
        whole[at] = own
        acceleration.append(constrained_forward(robot, q, qd, whole))
    acceleration = np.array(acceleration)
    moved = Motion.at(motion.q, motion.qd, acceleration[:, at])
    dynamics = Dynamics(robot)
    assert np.abs(robot.coupling.motion(moved).tree.qdd - acceleration).max() <= 1e-9 * (1 + np.abs(acceleration).max())
    assert np.abs(dynamics.inverse_dynamics(moved) - tau).max() <= 1e-9 * (1 + np.abs(tau).max())
    # the inertia matrix, and the regressor of the same parameters
    mass, still = dynamics.inertia_matrix(moved.q), replace(moved, qdd=np.zeros_like(moved.q))
    rest = dynamics.inverse_dynamics(still)
    assert np.allclose(np.einsum("Nij,Nj->Ni", mass, moved.qdd) + rest, tau, atol=1e-8)
    assert np.allclose(dynamics.regressor(moved) @ robot.inertias.ravel(), tau, atol=1e-8)


def test_mujoco_has_the_same_constraint_and_the_same_forces():
    path = ROBOTS / "four_bar.xml"
    robot, model = ex.load(path), mujoco.MjModel.from_xml_path(str(path))
    data, motion = mujoco.MjData(model), states(robot, 8, spread=1.0)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    moved = robot.coupling.motion(motion)
    tau = DynamicModel(robot, (RotorInertia(), Viscous())).torque(motion)
    for k, tree in enumerate(zip(moved.tree.q, moved.tree.qd, moved.tree.qdd, strict=True)):
        data.qpos, data.qvel, qdd = tree
        mujoco.mj_forward(model, data)
        rows = data.efc_J.reshape(-1, model.nv)[:3]  # of the connection
        assert np.abs(data.efc_pos[:3]).max() < 1e-12
        assert np.abs(rows @ moved.null[k]).max() < 1e-12
        force = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, force, qdd)
        force += data.qfrc_bias - data.qfrc_passive
        assert np.allclose(moved.null[k].T @ force, tau[k], atol=1e-9)


def test_four_bar_torque_by_virtual_work():
    """From angles by the law of cosines: τ u̇ = d/dt (kinetic + potential energy) of three bodies in a plane."""
    robot = crank_and_rocker()
    time, h = np.linspace(0, 2, 9), 1e-3

    def crank(t):
        return 1.0 + 0.8 * np.sin(1.7 * t)

    def energy(t):
        d = 1e-5
        q, rate = four_bar_angles(crank(t)), (four_bar_angles(crank(t + d)) - four_bar_angles(crank(t - d))) / (2 * d)
        total, origin, angle = 0.0, np.zeros((len(t), 2)), np.zeros(len(t))
        velocity, omega = np.zeros((len(t), 2)), np.zeros(len(t))
        for k, joint in enumerate(robot.bodies):
            if joint.parent < 0:  # of crank and rocker: at rest
                origin, angle, velocity, omega = joint.translation[:2] + np.zeros((len(t), 2)), 0.0, 0.0, 0.0
            else:
                arm = joint.translation[0] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
                origin = origin + arm
                velocity = velocity + omega[:, None] * np.stack([-arm[:, 1], arm[:, 0]], axis=-1)
            angle, omega = angle + q[:, k], omega + rate[:, k]
            mass, hx, hy, zz = joint.inertia[[0, 1, 2, 9]]
            first = np.stack(
                [np.cos(angle) * hx - np.sin(angle) * hy, np.sin(angle) * hx + np.cos(angle) * hy], axis=-1
            )
            swing = omega[:, None] * np.stack([-first[:, 1], first[:, 0]], axis=-1)
            total += 0.5 * zz * omega**2 + mass * 9.81 * origin[:, 1] + 9.81 * first[:, 1]
            total += 0.5 * mass * np.sum(velocity**2, -1) + np.sum(velocity * swing, -1) if joint.parent >= 0 else 0.0
        return total

    speed, bend = 0.8 * 1.7 * np.cos(1.7 * time), -0.8 * 1.7**2 * np.sin(1.7 * time)
    motion = Motion(time, crank(time)[:, None], speed[:, None], bend[:, None])
    power = Dynamics(robot).inverse_dynamics(motion)[:, 0] * speed
    slope = (8 * (energy(time + h) - energy(time - h)) - (energy(time + 2 * h) - energy(time - 2 * h))) / (12 * h)
    assert np.abs(power - slope).max() <= 1e-6 * np.abs(slope).max()


def test_parallelogram_torques_in_closed_form():
    """Two parallel pairs with the waist held: upper arm and rod lean by θ₁, crank and forearm by θ₂. A centre of mass
    is at R(θ₁) a + R(θ₂) b in the plane: with A = Σ I + m |a|², B = Σ I + m |b|², k(δ) = Σ m a·R(δ) b and δ = θ₂ − θ₁

        τ₁ = A θ̈₁ + k θ̈₂ + k' θ̇₂² + g ∂h/∂θ₁,    τ₂ = B θ̈₂ + k θ̈₁ − k' θ̇₁² + g ∂h/∂θ₂

    written from the numbers of palletiser.urdf, in x and z, turned about y, and nothing else of the package."""
    arm, tail, base = np.array([0.0, 0.8]), np.array([-0.25, 0.0]), np.zeros(2)
    bodies = (  # mass, I about y, a, b of the centre (x, z), which of the two it turns with
        (25.0, 1.6, np.array([0.02, 0.35]), base, 0),
        (18.0, 2.2, arm, np.array([0.4, 0.02]), 1),
        (6.0, 0.06, base, np.array([-0.1, 0.0]), 1),
        (5.0, 0.3, np.array([0.0, 0.4]), tail, 0),
    )
    robot = palletiser().lock({"waist": 0.0})
    first, second = robot.joint_names.index("shoulder"), robot.joint_names.index("crank")
    motion = states(robot, 20, seed=4, spread=0.5)
    (t1, t2), (d1, d2), (s1, s2) = ((x[:, first], x[:, second]) for x in (motion.q, motion.qd, motion.qdd))
    a_sum = sum(m * a @ a + (i if pair == 0 else 0.0) for m, i, a, _, pair in bodies)
    b_sum = sum(m * b @ b + (i if pair == 1 else 0.0) for m, i, _, b, pair in bodies)
    along = sum(m * (a @ b) for m, _, a, b, _ in bodies)
    across = sum(m * (a[1] * b[0] - a[0] * b[1]) for m, _, a, b, _ in bodies)
    delta = t2 - t1
    # about y: R(θ) (x, z) = (x cos θ + z sin θ, z cos θ − x sin θ)
    k, slope = along * np.cos(delta) - across * np.sin(delta), -along * np.sin(delta) - across * np.cos(delta)

    def weight(moments, angle):  # g ∂z/∂θ
        x, z = moments
        return -9.81 * (x * np.cos(angle) + z * np.sin(angle))

    held = [weight(sum(body[0] * body[2 + which] for body in bodies), angle) for which, angle in enumerate((t1, t2))]
    expected = np.empty_like(motion.q)
    expected[:, first] = a_sum * s1 + k * s2 + slope * d2**2 + held[0]
    expected[:, second] = b_sum * s2 + k * s1 - slope * d1**2 + held[1]
    got = Dynamics(robot).inverse_dynamics(motion)
    assert np.abs(got - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["four bar", "weld", "palletiser"])
def test_energies_and_momenta_are_lagranges(name):
    robot = MADE[name]()
    dynamics, motion, chi, h = Dynamics(robot), states(robot), robot.inertias.ravel(), 1e-5
    rows = dynamics.lagrange(motion)

    def momentum(t):
        u, ud = motion.q + motion.qd * t + motion.qdd * t * t / 2, motion.qd + motion.qdd * t
        return dynamics.lagrange(Motion.at(u, ud)).momentum @ chi

    force = (momentum(h) - momentum(-h)) / (2 * h) - rows.de_dq @ chi + rows.du_dq @ chi
    tau = dynamics.inverse_dynamics(motion)
    assert np.abs(force - tau).max() <= 1e-6 * np.abs(tau).max()


@pytest.mark.parametrize("name", ["four bar", "weld"])
def test_gradients_of_torque_and_gram_matrix(name):
    robot = MADE[name]()
    model, motion, rng = DynamicModel(robot, (Viscous(),)), states(robot, 4), np.random.default_rng(2)
    seed, layout = rng.standard_normal(motion.q.shape), model.layout(model.base.independent)
    square = rng.standard_normal((layout.size, layout.size))

    def value(moved):
        return np.vdot(seed, model.dynamics.inverse_dynamics(moved)), np.vdot(square, model.rows(moved, layout).gram())

    found = model.dynamics.torque_pullback(motion, seed), model.rows(motion, layout).pullback(square)
    for which in ("q", "qd", "qdd"):
        step = rng.standard_normal(motion.q.shape)
        ends = [value(replace(motion, **{which: getattr(motion, which) + s * 1e-6 * step})) for s in (1, -1)]
        for k, gradient in enumerate(found):
            slope = (ends[0][k] - ends[1][k]) / 2e-6
            assert np.vdot(getattr(gradient, which), step) == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["four bar", "palletiser", "connect"])
def test_base_parameters_are_the_rank_of_pinocchios_projected_regressors(name):
    robot = MADE[name]()
    model = DynamicModel(robot)
    motion = random_states(robot, 150, seed=3)
    moved, tree = robot.coupling.motion(motion), to_pinocchio(robot)
    data = tree.createData()
    rows = np.vstack(
        [
            null.T @ pin.computeJointTorqueRegressor(tree, data, q, qd, qdd)
            for null, q, qd, qdd in zip(moved.null, moved.tree.q, moved.tree.qd, moved.tree.qdd, strict=True)
        ]
    )
    sizes = np.linalg.norm(rows, axis=0)
    rank = np.linalg.matrix_rank(rows / np.where(sizes > 1e-9 * sizes.max(), sizes, np.inf), tol=1e-8)
    assert len(model.base) == rank


def test_parallelogram_is_a_linear_transmission_and_groups_as_two_pin_masses():
    """Rods of a parallelogram: elbow = crank − shoulder, rod = shoulder − crank. What keeps its direction with another
    body adds its moments of inertia to that one's; a rod that is held at both ends is masses at its pins besides."""
    robot = palletiser()
    order = {name: k for k, name in enumerate(robot.joint_names)}
    matrix = np.zeros((robot.n_bodies, robot.n))
    signs = {"elbow": ("crank", "shoulder"), "rod": ("shoulder", "crank")}
    for body, name in enumerate(robot.tree_names):
        plus, minus = signs.get(name, (name, None))
        matrix[body, order[plus]] += 1.0
        if minus is not None:
            matrix[body, order[minus]] -= 1.0
    twin = replace(robot, coupling=LinearCoupling(matrix, np.zeros(robot.n_bodies)))
    model, linear, motion = DynamicModel(robot), DynamicModel(twin), states(robot, 6)
    assert np.allclose(model.regressor(motion), linear.regressor(motion), atol=1e-9)
    assert len(model.base) == len(linear.base)
    # mass m at a share s along the rod: (1 − s) m at the crank's pin, s m at the forearm's, I − s m L² to the upper arm
    bodies, share, mass = dict(zip(robot.tree_names, np.array(robot.inertias), strict=True)), 0.35, 4.0

    def point(m, x):
        place = np.append(x, 1.0)
        return from_pseudo_inertia(m * np.outer(place, place))

    with_rod, without = (np.zeros_like(robot.inertias) for _ in range(2))
    at = {name: k for k, name in enumerate(robot.tree_names)}
    with_rod[at["rod"]] = point(mass, [0, 0, share * ROD])
    without[at["crank"]] = point((1 - share) * mass, [-0.25, 0, 0])
    without[at["elbow"]] = point(share * mass, [-0.25, 0.1, 0])
    without[at["shoulder"], [4, 6]] = (share**2 - share) * mass * ROD**2  # about x and y of the upper arm
    assert len(bodies) == robot.n_bodies
    torque = Dynamics(robot).inverse_dynamics
    assert np.allclose(torque(motion, with_rod), torque(motion, without), atol=1e-9)
