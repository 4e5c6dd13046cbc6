"""Joint controllers: they know the description, not the truth, and see the joints without noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.errors import ExciterError, ParameterError
from exciter.experiment.virtual.true_parameters import TrueFriction, Truth, resolved
from exciter.parameters.terms.term import PerJoint
from exciter.robot import Motion, Robot
from exciter.robot.coupling import LinearCoupling
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.settings import Number, OneOf, PerJointNumber, Registry, Settings
from exciter.typing import Array

Law = Callable[[int, Array, Array], Array]  #: (number of the tick, q, q̇) → τ (n,)
PATH_POSTURES = 200  # of the motion, that gains are chosen for
FRICTION_FADE_SPEED = 0.05  # [rad/s] below which the feed-forward of dry friction fades


@dataclass(frozen=True)
class Control(Settings, ABC):
    """bandwidth [Hz] and damping ratio of the error, from which the gains follow; rate [Hz] at which torques change,
    that of the simulation unless given. stiffness, derivative: the gains themselves, instead."""

    refusal: ClassVar[type[ExciterError]] = ParameterError
    tag: ClassVar[str] = "law"
    bandwidth: Annotated[float, Number(above=0.0, unit="Hz")] = 20.0
    damping: Annotated[float, Number(above=0.0)] = 1.0
    rate: Annotated[float | None, Number(above=0.0, unit="Hz")] = None
    stiffness: Annotated[PerJoint | None, PerJointNumber(least=0.0)] = None
    derivative: Annotated[PerJoint | None, PerJointNumber(least=0.0)] = None

    @property
    def settling(self) -> float:
        """[s] in which an error falls to a millionth."""
        return float(14.0 / (min(self.damping, 1.0) * 2.0 * np.pi * self.bandwidth))

    @abstractmethod
    def damping_matrix(self, robot: Robot, planned: Motion) -> Array:
        """(n, n) D with −D q̇ the torque that answers to a velocity at the start [N·m·s/rad]."""

    @abstractmethod
    def law(self, robot: Robot, planned: Motion) -> Law:
        """The controller of a planned motion, one sample per tick; robot: as believed."""

    def gains(self, robot: Robot, inertia: Array | float) -> tuple[Array, Array]:
        """K_p, K_d (n,) for joints of that inertia."""
        omega = 2.0 * np.pi * self.bandwidth
        kp, kd = (np.broadcast_to(x, (robot.n,)) for x in (inertia * omega**2, 2.0 * self.damping * omega * inertia))
        kp = kp if self.stiffness is None else resolved(self.stiffness, robot, "control stiffness")
        kd = kd if self.derivative is None else resolved(self.derivative, robot, "control derivative")
        return kp, kd


@dataclass(frozen=True)
class ComputedTorque(Control):
    """τ = M̂(q)(q̈_d + K_d ė + K_p e) + ĥ(q, q̇) + friction; gains in 1/s², 1/s."""

    word, title = "computed-torque", "computed torque"

    def damping_matrix(self, robot: Robot, planned: Motion) -> Array:
        inertia = Dynamics(robot).inertia_matrix(planned.q[:1])[0] + np.diag(believed_rotor(robot))
        return np.asarray(inertia * self.gains(robot, 1.0)[1])

    def law(self, robot: Robot, planned: Motion) -> Law:
        rigid, rotor = _rigid_torque(robot), believed_rotor(robot)
        kp, kd = self.gains(robot, 1.0)
        viscous, dry = (robot.friction.get(name, np.zeros(robot.n)) for name in ("viscous", "coulomb"))
        friction = viscous * planned.qd + dry * np.tanh(planned.qd / FRICTION_FADE_SPEED)  # smoothed at reversals
        q_d, qd_d, qdd_d = planned.q, planned.qd, planned.qdd

        def torque(tick: int, q: Array, qd: Array) -> Array:
            a = qdd_d[tick] + kd * (qd_d[tick] - qd) + kp * (q_d[tick] - q)
            return np.asarray(rigid(q, qd, a) + rotor * a + friction[tick])

        return torque


@dataclass(frozen=True)
class GravityPD(Control):
    """τ = ĝ(q_d) + K_p e + K_d ė; gains in N·m/rad, N·m·s/rad.

    They are chosen for the largest inertia along the motion that a joint feels while the others are free, 1/(M̂⁻¹)_jj;
    with that of locked neighbours, joints on nearly the same axis would drive each other unstable."""

    word, title = "pd", "PD control with gravity fed forward"

    def _gains(self, robot: Robot, planned: Motion) -> tuple[Array, Array]:
        path = planned.q[:: max(1, len(planned) // PATH_POSTURES)]
        mobility = np.linalg.inv(Dynamics(robot).inertia_matrix(path) + np.diag(believed_rotor(robot)))
        return self.gains(robot, 1.0 / np.diagonal(mobility, axis1=1, axis2=2).min(axis=0))

    def damping_matrix(self, robot: Robot, planned: Motion) -> Array:
        return np.diag(self._gains(robot, planned)[1])

    def law(self, robot: Robot, planned: Motion) -> Law:
        kp, kd = self._gains(robot, planned)
        weight, q_d, qd_d = Dynamics(robot).inverse_dynamics(Motion.at(planned.q)), planned.q, planned.qd

        def torque(tick: int, q: Array, qd: Array) -> Array:
            return np.asarray(weight[tick] + kp * (q_d[tick] - q) + kd * (qd_d[tick] - qd))

        return torque


LAWS = Registry[Control]("control law", ComputedTorque, GravityPD)
AnyLaw = Annotated[Control, OneOf(LAWS, tag="law", usual=ComputedTorque.word)]


def _rigid_torque(robot: Robot) -> Callable[[Array, Array, Array], Array]:
    """(n,) torque of the bodies at one state q, q̇, q̈ (n,)."""
    import pinocchio as pin

    model, coupling = to_pinocchio(robot), robot.coupling
    data = model.createData()

    def proportional(q: Array, qd: Array, a: Array) -> Array:
        return np.asarray(matrix.T @ pin.rnea(model, data, matrix @ q + offset, matrix @ qd, matrix @ a))

    if isinstance(coupling, LinearCoupling):
        matrix, offset = coupling.matrix, coupling.offset
        return proportional
    return (
        _closed_torque(robot) if coupling is not None else lambda q, qd, a: np.asarray(pin.rnea(model, data, q, qd, a))
    )


def _closed_torque(robot: Robot) -> Callable[[Array, Array, Array], Array]:
    """The same of a robot with loops, which are closed from the state before: faster than from anywhere."""
    from exciter.experiment.virtual.plant import build

    unit = 1.0  # [kg·m²] rotors, without which a joint may have nothing to move; they are taken off again
    tree = build(Truth(robot, rotor_inertia=unit, friction=TrueFriction())).model

    def torque(q: Array, qd: Array, a: Array) -> Array:
        inertia, rest = tree.equations(q, qd)
        return np.asarray(inertia @ a + rest - unit * a)

    return torque


def believed_rotor(robot: Robot) -> Array:
    """(n,) rotor inertia that is believed [kg·m²]."""
    return robot.friction.get("rotor_inertia", np.zeros(robot.n))
