"""One list of robots with mimic joints, closed chains, feet on the ground and free bases: inverse dynamics against
Pinocchio's and MuJoCo's constrained ones, energy, gradients.

MuJoCo's own solver is no oracle of the last digits: its equalities and contacts are springs and dampers (solref,
solimp) that yield, by a hundredth of the acceleration in ``test_couplings``. What it solves them with is exact, and is
what is compared: its inertia matrix, its bias forces and the Jacobian of its constraints, so that
Nᵀ(M q̈ + h) = Nᵀ Sᵀ τ is."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from exciter.dynamics.contacts import contact_bias, contact_jacobian, taken_off
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.experiment.virtual.standing import least_forces
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Motion
from exciter.robot.coupling import coupled_motion
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.ties import JointTie
from support.constrained_robots import MADE, MIMIC, Compiled, Constrained, Read, gauss, made
from support.example_robots import FILES

pytestmark = pytest.mark.skipif(not FILES, reason="the package example-robot-data is not installed")
CLOSE = 1e-9  # of the largest
STANDING = tuple(name for name in MADE if name.startswith(("solo12", "anymal", "g1")))
LOOPS = ("four bar", "palletiser", "weld and curve")


def null_of(case: Constrained, motion: Motion) -> np.ndarray:
    """(N, nb, m) of the coupling; the identity without one."""
    if case.robot.coupling is None:
        return np.tile(np.eye(case.robot.n), (len(motion), 1, 1))
    null = case.robot.coupling.motion(motion).null
    return np.broadcast_to(null, (len(motion), *null.shape[-2:]))


def close(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(got, expected, atol=CLOSE * np.abs(expected).max())


# -- Pinocchio -----------------------------------------------------------------------------------------------------


def constraint(case: Constrained, model: pin.Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows G of the tree and right-hand sides γ, G q̈ = γ: of mimic tags, and of what loops join, by Pinocchio's
    Jacobians and accelerations of both ends."""
    rows, rates = [], []
    if case.robot.coupling.constant:
        for follower, leader, ratio in case.mimics:
            row = np.zeros(model.nv)
            row[model.joints[model.getJointId(follower)].idx_v] = 1.0
            row[model.joints[model.getJointId(leader)].idx_v] = -ratio
            rows.append(row)
        return np.array(rows), np.zeros(len(rows))
    data, axes = model.createData(), pin.LOCAL_WORLD_ALIGNED
    for tie in case.robot.coupling.ties.ties:
        if isinstance(tie, JointTie):
            row, (first, second) = np.zeros(model.nv), (tie.derivative(q[tie.leader], k) for k in (1, 2))
            row[tie.joint], row[tie.leader] = 1.0, -first
            rows.append(row[None])
            rates.append(np.atleast_1d(second * v[tie.leader] ** 2))
            continue
        pin.computeJointJacobians(model, data, q)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        ends = []
        for end in (tie.a, tie.b):
            place = end.joint + 1, pin.SE3(end.rotation, end.translation)
            jacobian = pin.getFrameJacobian(model, data, *place, axes)
            felt = pin.getFrameClassicalAcceleration(model, data, *place, axes).vector
            ends.append((jacobian, felt))
        count = 3 if tie.word == "connect" else 6
        rows.append((ends[0][0] - ends[1][0])[:count])
        rates.append((ends[1][1] - ends[0][1])[:count])
    return np.vstack(rows), np.concatenate(rates)


@pytest.mark.parametrize("name", [*MIMIC, *LOOPS])
def test_inverse_dynamics_undo_pinocchios_of_the_constrained_tree(name: str) -> None:
    """Torques of the coordinates → accelerations of the tree under M q̈ + h = Sᵀτ + Gᵀλ, G q̈ = γ → torques."""
    case, rng = made(name), np.random.default_rng(1)
    robot, motion, model = case.robot, case.states(), to_pinocchio(case.robot)
    data, tree, null = model.createData(), coupled_motion(case.robot, motion), null_of(case, motion)
    tau, at = rng.uniform(-5, 5, motion.q.shape), [robot.tree_names.index(name) for name in robot.joint_names]
    found = []
    for k, (q, v) in enumerate(zip(tree.q, tree.qd, strict=True)):
        mass, whole = np.array(pin.crba(model, data, q)), np.zeros(model.nv)
        mass = np.triu(mass) + np.triu(mass, 1).T
        whole[at] = tau[k]
        rows, rates = constraint(case, model, q, v)
        assert np.abs(rows @ null[k]).max() < CLOSE * np.abs(rows).max()
        found.append(gauss(mass, whole - pin.nonLinearEffects(model, data, q, v), rows, rates))
    moved = Motion.at(motion.q, motion.qd, np.array(found)[:, at])
    close(coupled_motion(robot, moved).qdd, np.array(found))
    close(Dynamics(robot).inverse_dynamics(moved), tau)


@pytest.mark.parametrize("name", [name for name in MIMIC if name != "talos"])
def test_pinocchios_own_mimic_joints_take_the_same_torques(name: str) -> None:
    """(It reads no mimic whose leader comes later in the file, as TALOS has them.)"""
    case = made(name)
    motion, read = case.states(), Read(case.robot, pin.buildModelFromUrdf(str(case.file), True))
    data = read.model.createData()
    rows = zip(motion.q, motion.qd, motion.qdd, strict=True)
    theirs = np.array([pin.rnea(read.model, data, *read.state(*row)) for row in rows])
    close(Dynamics(case.robot).inverse_dynamics(motion), theirs[:, [place.idx_v for _, place in read.places]])


@pytest.mark.parametrize("name", [*STANDING, "flying arm"])
def test_projected_dynamics_undo_pinocchios_with_contacts(name: str) -> None:
    """Pinocchio's own reading of the file, with a free flyer and its rigid contacts: torques of drives → accelerations;
    put into our equations, they leave nothing once forces of the ground are taken off, and no foot slips."""
    case, rng = made(name), np.random.default_rng(2)
    robot, motion, dynamics = case.robot, case.states(), Dynamics(case.robot)
    path = str(case.file)
    model = (
        pin.buildModelFromMJCF(path)
        if path.endswith(".xml")
        else pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    )
    read, data, contacts = Read(robot, model), model.createData(), []
    for contact in case.stance:
        frame = model.frames[model.getFrameId(contact.frame)]
        kind = pin.ContactType.CONTACT_6D if contact.kind == "flat" else pin.ContactType.CONTACT_3D
        place = frame.parentJoint, frame.placement
        contacts.append(pin.RigidConstraintModel(kind, model, *place, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED))
    datas = [one.createData() for one in contacts]
    pin.initConstraintDynamics(model, data, contacts, datas)
    tau = np.where([joint.actuated for joint in robot.joints], rng.uniform(-5, 5, motion.q.shape), 0.0)
    settings, found = pin.ProximalSettings(1e-14, 1e-10, 50), []
    for q, qd, own in zip(motion.q, motion.qd, tau, strict=True):
        at, v, _ = read.state(q, qd, np.zeros(robot.n))
        a = pin.constraintDynamics(model, data, at, v, read.forces(own), contacts, datas, settings)
        found.append(read.accelerations(q, qd, a))
    moved = Motion.at(motion.q, motion.qd, np.array(found))
    jacobian = contact_jacobian(dynamics, case.stance, moved.q)
    slips = np.einsum("Nmj,Nj->Nm", jacobian, moved.qdd) + contact_bias(robot, case.stance, moved.q, moved.qd)
    assert np.abs(slips).max(initial=0.0) < CLOSE * np.abs(moved.qdd).max()
    needed = dynamics.inverse_dynamics(moved)
    left, _ = taken_off((needed - tau)[:, :, None], jacobian.swapaxes(1, 2), np.ones(robot.n))
    assert np.abs(left).max() < CLOSE * np.abs(needed).max()


# -- MuJoCo --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_mujocos_matrices_bias_and_constraints_give_the_same_projected_torques(name: str) -> None:
    case = made(name)
    robot, motion, compiled = case.robot, case.states(seed=3), Compiled(case)
    tree, dynamics = coupled_motion(robot, motion), Dynamics(robot)
    torque, null, model = dynamics.inverse_dynamics(motion), null_of(case, motion), compiled.model
    stood = contact_jacobian(dynamics, compiled.stance, motion.q)
    for k in range(len(motion)):
        data, there, a = compiled.at(tree[k : k + 1])
        kinds, own = data.efc_type, null[k]
        wanted = (mujoco.mjtConstraint.mjCNSTR_EQUALITY, mujoco.mjtConstraint.mjCNSTR_CONTACT_ELLIPTIC)
        rows = data.efc_J.reshape(-1, model.nv)[np.isin(kinds, wanted)] @ there
        if case.stance:  # what forces of the ground cannot push
            assert data.ncon == len(compiled.spheres)
            _, values, vt = np.linalg.svd(stood[k])
            own = vt[(values > CLOSE * values[0]).sum() :].T
        if len(rows):
            assert np.abs(rows @ own).max() < CLOSE * np.abs(rows).max()
            assert np.linalg.matrix_rank(rows, tol=1e-8) == len(own) - own.shape[1]  # nothing else is held
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        force = there.T @ (mass @ a + data.qfrc_bias)
        ours = own.T @ torque[k] if case.stance else torque[k]
        np.testing.assert_allclose(own.T @ force, ours, atol=CLOSE * np.abs(force).max())


# -- energy and gradients ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_drives_give_what_energy_gains_and_friction_takes(name: str) -> None:
    """τᵀu̇ = d/dt (kinetic + potential) + Σ Fv u̇² + Fs |u̇|: energy by Pinocchio of the tree, along u(t); of a robot
    that stands the joints' own torques alone: what holds a foot does no work."""
    case, viscous, coulomb, h = made(name), 0.3, 0.2, 1e-3
    robot, motion, tree = case.robot, case.states(seed=4), to_pinocchio(case.robot)
    data, model = tree.createData(), DynamicModel(robot, (Viscous(), Coulomb()))
    chi = model.nominal.copy()
    for k, parameter in enumerate(model.standard[model.inertial_size :], start=model.inertial_size):
        chi[k] = viscous if parameter.startswith("Fv") else coulomb
    torque = model.torque(motion, chi)
    if case.stance:
        torque, _ = least_forces(model.dynamics, case.stance, motion, torque)
    power = (torque * motion.qd).sum(axis=1)

    def energy(t: float) -> np.ndarray:
        u, ud = motion.q + motion.qd * t + motion.qdd * t * t / 2, motion.qd + motion.qdd * t
        moved = coupled_motion(robot, Motion.at(u, ud))
        return np.array([pin.computeMechanicalEnergy(tree, data, *row) for row in zip(moved.q, moved.qd, strict=True)])

    slope = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    speed = motion.qd[:, [joint.actuated for joint in robot.joints]]
    lost = (viscous * speed**2 + coulomb * np.abs(speed)).sum(axis=1)
    np.testing.assert_allclose(power, slope + lost, atol=1e-6 * np.abs(torque * motion.qd).max())


@pytest.mark.parametrize("name", MADE)
def test_gradients_are_those_of_differences(name: str) -> None:
    """Of torques, and of the Gram matrix of some columns, along a random way of all samples."""
    case, rng, h = made(name), np.random.default_rng(5), 1e-4
    model, motion = DynamicModel(case.robot, (Viscous(),)), case.states(3, seed=5)
    columns = np.sort(rng.choice(len(model.standard), min(20, len(model.standard)), replace=False))
    layout, seed = model.layout(columns), rng.standard_normal(motion.q.shape)
    square = rng.standard_normal((layout.size, layout.size))

    def value(moved: Motion) -> np.ndarray:
        torque = np.vdot(seed, model.dynamics.inverse_dynamics(moved))
        return np.array([torque, np.vdot(square, model.rows(moved, layout).gram())])

    found = model.dynamics.torque_pullback(motion, seed), model.rows(motion, layout).pullback(square)
    for which in ("q", "qd", "qdd"):
        way = rng.standard_normal(motion.q.shape)
        at = {s: value(replace(motion, **{which: getattr(motion, which) + s * h * way})) for s in (-2, -1, 1, 2)}
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        for k, gradient in enumerate(found):
            own = getattr(gradient, which) * way
            assert abs(own.sum() - slope[k]) <= 1e-6 * np.abs(own).sum()
