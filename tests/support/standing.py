"""A quadruped that stands, or flies, and what its sensors would say: exact motions, torques and forces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import exciter as ex
from exciter.dynamics.contacts import contact_jacobian
from exciter.dynamics.dynamics import Dynamics
from exciter.experiment.recording.base_sensing import Contacts
from exciter.experiment.virtual.standing import Stood, least_forces, standing_motion
from exciter.robot import Motion, Robot, load
from support.paths import ROBOTS

QUADRUPED = ROBOTS / "quadruped.urdf"
FEET = ("LF_foot", "RF_foot", "LH_foot", "RH_foot")
VISCOUS = 0.03  # [N·m·s/rad] of every joint
RATE = 100.0  # [Hz]
TERMS = (ex.Viscous(),)


@cache
def quadruped() -> Robot:
    return load(QUADRUPED, base="free")


def posture(robot: Robot, radius: float = 0.0) -> np.ndarray:
    """Knees bent, feet on the ground."""
    q = np.zeros(robot.n)
    q[6:] = [0.0, 0.6, -1.2, 0.0, -0.6, 1.2] * 2  # LF, LH, RF, RH
    q[2] = radius - Dynamics(robot).placement(FEET[0], q[None])[1][0, 2]
    return q


def sines(seconds: float, sizes: np.ndarray, seed: int, slowest: float = 2.0, fastest: float = 8.0) -> Motion:
    """Three sines for each coordinate [rad/s], with exact derivatives."""
    rng, time = np.random.default_rng(seed), np.arange(round(seconds * RATE)) / RATE
    rate, phase = rng.uniform(slowest, fastest, (3, 1, len(sizes))), rng.uniform(0.0, 6.0, (3, 1, len(sizes)))
    angle = rate * time[:, None] + phase
    parts = (np.sin(angle), rate * np.cos(angle), -(rate**2) * np.sin(angle))
    return Motion(time, *(sizes / 3.0 * part.sum(axis=0) for part in parts))


def true_parameters(model: ex.DynamicModel) -> np.ndarray:
    """Not the description's: masses and friction of its own."""
    scale = np.random.default_rng(9).uniform(0.9, 1.1, model.n)
    inertias = model.robot.inertias * scale[:, None]
    chi = replace(model, robot=model.robot.with_inertias(inertias)).nominal.copy()
    chi[model.inertial_size :] = VISCOUS
    return chi


@dataclass(frozen=True, eq=False)
class Experiment:
    """What was, exactly; chi: of whom."""

    model: ex.DynamicModel
    chi: np.ndarray
    stood: Stood


def standing(seconds: float = 10.0, seed: int = 0) -> Experiment:
    """All feet on the ground, the base wriggles; forces of the ground are the least that do it."""
    robot = quadruped()
    model, contacts = ex.DynamicModel(robot, TERMS), Contacts(FEET)
    chi, start = true_parameters(model), posture(robot)
    moved = sines(seconds, np.array([0.03, 0.03, 0.02, 0.2, 0.15, 0.2]), seed)
    base = Motion(moved.time, moved.q + start[:6], moved.qd, moved.qdd)
    motion = standing_motion(robot, contacts.all, base, start)
    torque, forces = least_forces(Dynamics(robot), contacts.all, motion, model.torque(motion, chi))
    return Experiment(model, chi, Stood(robot, contacts, motion, torque, forces))


def flying(seconds: float = 10.0, seed: int = 0) -> Experiment:
    """Nothing touches; joints and base do what they like, as if held by no force but thrust on the trunk."""
    robot = quadruped()
    model, contacts = ex.DynamicModel(robot, TERMS), Contacts(("trunk",), moments=True)
    chi = true_parameters(model)
    motion = sines(seconds, np.array([0.3] * 3 + [0.5] * 3 + [0.6] * 12), seed)
    torque = model.torque(motion, chi)
    jacobian = contact_jacobian(Dynamics(robot), (replace(contacts.all[0], kind="flat"),), motion.q)[:, :, :6]
    wrench = np.linalg.solve(jacobian.swapaxes(1, 2), torque[:, :6, None])[:, :, 0]
    torque[:, :6] = 0.0
    return Experiment(model, chi, Stood(robot, contacts, motion, torque, wrench))
