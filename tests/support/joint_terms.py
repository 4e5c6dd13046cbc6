"""Every joint term, and an arm to bind it to."""

from __future__ import annotations

from typing import Any

import numpy as np

from exciter.parameters import terms as t
from exciter.robot.limits import Limits
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Joint, Robot

Array = np.ndarray


def make_robot(*kinds: str) -> Robot:
    joints = tuple(
        Joint(f"joint_{i}", kind, i - 2, np.eye(3), [0.1 * i, 0.2, 0.3], [0, 0, 1], Limits(), np.zeros(10))  # type: ignore[arg-type]
        for i, kind in enumerate(kinds, start=1)
    )
    return Robot("test", joints)


ARM = make_robot("revolute", "continuous", "revolute")


class SmoothLoad:
    """A stand-in for the rigid torque: couples all joints, derivatives by hand."""

    mixing = np.array([[0.8, -0.3, 0.2], [0.1, 1.1, -0.4], [0.5, 0.2, 0.9]])

    def inverse_dynamics(self, motion: Motion, inertias: Array | None = None) -> Array:
        torque = 3.0 + np.sin(motion.q) @ self.mixing.T + (motion.qd**2 + 0.3 * motion.qdd) @ self.mixing
        return torque if inertias is None else torque * inertias[:, 0]

    def torque_pullback(self, motion: Motion, seed: Array, inertias: Array | None = None) -> MotionGradient:
        seed = seed if inertias is None else seed * inertias[:, 0]
        onto = seed @ self.mixing.T
        return MotionGradient(np.cos(motion.q) * (seed @ self.mixing), 2 * motion.qd * onto, 0.3 * onto)


LOAD = SmoothLoad()


TWO = ("joint_3", "joint_1")


LEVER = {"base_arm": 0.8, "link_arm": 0.2, "offset": 1.66}


GAS = t.GasSpring("joint_2", **LEVER, volume=0.96e-3, area=np.pi * (0.055**2 - 0.030**2) / 4)


LINKS = tuple((mass, *([0.1] * 9)) for mass in (2.0, 0.7, -1.3))


SPRINGS = ((GAS, -40.0), (t.GravitySpring("joint_2", offset=0.4), (1.5, -0.8)), (t.Ripple(("joint_2",)), (0.2, 0.3)))


def cubic(joints: str | tuple[str, ...] = "joint_2", **derivatives: Any) -> t.UserTerm:
    return t.UserTerm("Kc2", joints, lambda q, qd, qdd: q**3 + q * qd - 2 * qdd, unit="N·m", **derivatives)


def geared(q: Array, qd: Array, qdd: Array) -> Array:
    return np.stack([np.sin(q[1]) * qd[0], q[0] * q[1] + qdd[1]])


def geared_dq(q: Array, qd: Array, qdd: Array) -> Array:
    zero = np.zeros_like(q[0])
    return np.array([[zero, np.cos(q[1]) * qd[0]], [q[1], q[0]]])


#: name → (term, tags): d dissipative, m with memory.
TERMS: dict[str, tuple[t.JointTerm, str]] = {
    "rotor": (t.RotorInertia(), ""),
    "viscous": (t.Viscous(), "d"),
    "sqrt": (t.SqrtViscous(), "d"),
    "coulomb-sign": (t.Coulomb(), "d"),
    "coulomb-tanh": (t.Coulomb(t.Tanh(0.3)), "d"),
    "coulomb-dahl": (t.Coulomb(t.Dahl(0.2, start=0.3)), "m"),
    "coulomb-dahl-per-joint": (t.Coulomb(t.Dahl({"joint_1": 0.1, "joint_2": 0.3, "joint_3": 0.7})), "m"),
    "asymmetric-sign": (t.AsymmetricCoulomb(), "d"),
    "asymmetric-tanh": (t.AsymmetricCoulomb(t.Tanh(0.3)), "d"),
    "asymmetric-dahl": (t.AsymmetricCoulomb(t.Dahl(0.2)), "m"),
    "load-sign": (t.LoadFriction(), "d"),
    "load-tanh": (t.LoadFriction(t.Tanh([0.2, 0.3, 0.4])), "d"),
    "load-dahl": (t.LoadFriction(t.Dahl(0.2)), "m"),
    "load-links": (t.LoadFriction(links=LINKS), "d"),
    "load-springs": (t.LoadFriction(t.Tanh(0.3), links=LINKS, springs=SPRINGS), "d"),
    "load-springs-dahl": (t.LoadFriction(t.Dahl(0.2), springs=SPRINGS), "m"),
    "stribeck-sign": (t.Stribeck(velocity=0.8), "d"),
    "stribeck-tanh": (t.Stribeck(t.Tanh(0.2), velocity=(0.5, 0.8, 1.1)), "d"),
    "stribeck-dahl": (t.Stribeck(t.Dahl(0.2), velocity=0.8), "m"),
    "offset": (t.Offset(), ""),
    "ripple": (t.Ripple(), ""),
    "gravity-spring": (t.GravitySpring("joint_2", offset=0.4), ""),
    "spring": (t.Spring("joint_2", **LEVER, free_length=0.5), ""),
    "gas-spring": (GAS, ""),
    "coupling-sign": (t.DriveCoupling("joint_2", "joint_3"), ""),
    "coupling-tanh": (t.DriveCoupling("joint_3", "joint_1", ratio=-0.7, shape=t.Tanh(0.3)), ""),
    "coupling-dahl": (t.DriveCoupling("joint_2", "joint_3", shape=t.Dahl(0.2)), "m"),
    "coupling-sqrt": (t.CoupledSqrtViscous("joint_2", "joint_3"), "d"),
    "coupling-sqrt-reversed": (t.CoupledSqrtViscous("joint_3", "joint_1", ratio=-0.7, width={"joint_1": 0.1}), "d"),
    "user": (cubic(dq=lambda q, qd, qdd: 3 * q**2 + qd, dqd=lambda q, qd, qdd: q, dqdd=-2.0), ""),
    "user-numeric": (cubic(), ""),
    "user-two-joints": (t.UserTerm("G", TWO, geared, dq=geared_dq), ""),
}
