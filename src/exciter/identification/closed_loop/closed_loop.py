"""The closed loop of an experiment: controller, reference, start. Given parameters, it says what the robot would do."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError, ParameterError
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.virtual.control import PATH, Control, Law
from exciter.experiment.virtual.execute import Plan, plan
from exciter.experiment.virtual.truth import believed, resolved
from exciter.experiment.virtual.virtual_robot import FINEST, SIMULATION_RATE, Start
from exciter.identification.closed_loop.simulation import Simulated, Simulation, Ticks
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

MOST = 20_000_000  # ticks × joints whose reference is kept in memory


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """robot: the description, which the controller believes. control, curve, periods, start: as the virtual robot
    takes them, see ``VirtualRobot`` and ``plan``; torques end at the robot's limits.

    offset [s]: of the recording's clock at the start of the motion. rate [Hz]: steps of the simulation, at least; a
    controller without a rate of its own ticks with every step, as often as the virtual robot's does.
    """

    robot: Robot
    control: Control
    curve: Curve
    periods: int | None = None
    start: Start = field(default_factory=Start)
    offset: float = 0.0
    rate: float | None = None

    def __post_init__(self) -> None:
        if self.curve.n != self.robot.n:
            raise MotionError(
                f"the reference moves {self.curve.n} joints; robot '{self.robot.name}' has {self.robot.n}"
            )
        if not math.isfinite(self.offset):
            raise ParameterError(f"the offset of the closed loop is {self.offset}; give a finite time [s]")
        if self.rate is not None and not 0.0 < self.rate <= FINEST:
            raise ParameterError(f"rate is {self.rate:g}; give 0 < rate ≤ {FINEST:g} [Hz]")
        resolved(self.start.error, self.robot, "start error", least=-1e12)

    # -- what does not depend on parameters --------------------------------------------------------------------------

    @cached_property
    def plan(self) -> Plan:
        """The reference from time 0."""
        return plan(self.curve, self.periods)

    @cached_property
    def believed(self) -> Robot:
        """The robot as the controller knows it."""
        return believed(self.robot)[0]

    @cached_property
    def ticks(self) -> Ticks:
        wanted = SIMULATION_RATE if self.rate is None else self.rate
        if self.control.rate is None:
            rate, every = max(wanted, self._needed_rate) if self.rate is None else wanted, 1
        else:
            every = max(1, math.ceil(wanted / self.control.rate - 1e-9))
            rate = every * self.control.rate
        if rate > FINEST * (1.0 + 1e-9):
            raise ExciterError(
                f"the controller is so fast that steps at {rate:.3g} Hz would be needed; give its rate, a lower "
                "bandwidth, or the rate of the simulation"
            )
        count = math.floor(self.plan.curve.end * rate / every + 1e-9) + 1
        if count * self.robot.n > MOST:
            raise ExciterError(
                f"{self.plan.curve.end:.6g} s of reference are {count} ticks of {self.robot.n} joints, more than are "
                f"kept in memory ({MOST // self.robot.n}); identify from fewer periods, or a slower controller"
            )
        return Ticks(1.0 / rate, every, count)

    @property
    def _needed_rate(self) -> float:
        """[Hz] for the controller on what it believes to move."""
        from exciter.dynamics.dynamics import Dynamics

        path = self.plan.curve.motion(np.linspace(0.0, self.plan.curve.end, PATH))
        inertia = Dynamics(self.believed).inertia_matrix(path.q[:1])[0]
        inertia = inertia + np.diag(self.believed.friction.get("rotor_inertia", np.zeros(self.robot.n)))
        damping = self.control.damping_matrix(self.believed, path)
        return 2.0 * float(np.abs(np.linalg.eigvals(np.linalg.solve(inertia, damping))).max())

    @cached_property
    def reference(self) -> Motion:
        """One sample per tick."""
        at = np.minimum(np.arange(self.ticks.count) * self.ticks.interval, self.plan.curve.end)
        return self.plan.curve.motion(at)

    @cached_property
    def _law(self) -> Law:
        return self.control.law(self.believed, self.reference)

    @cached_property
    def _from(self) -> tuple[Array, Array]:
        """q and q̇ at the start."""
        first = self.plan.curve.motion([0.0])
        q = first.q[0] + resolved(self.start.error, self.robot, "start error", least=-1e12)
        return q, np.zeros(self.robot.n) if self.start.at_rest else first.qd[0].copy()

    # -- simulation ------------------------------------------------------------------------------------------------

    def refuse(self, model: DynamicModel, span: tuple[float, float], name: str = "the log") -> None:
        """A model of another robot, and a log (from, to) [s] that the reference does not cover."""
        if model.robot.joint_names != self.robot.joint_names:
            raise ParameterError(
                f"the closed loop is one of the joints {', '.join(self.robot.joint_names)}; the model has "
                f"{', '.join(model.robot.joint_names)}"
            )
        first, last = span[0] - self.offset, span[1] - self.offset
        end = self.plan.curve.end
        if first < -1e-6 or last > end + 1e-6:
            raise MotionError(
                f"{name} lasts from {first:.6g} to {last:.6g} s of the reference's clock, the reference from 0 to "
                f"{end:.6g} s; give the whole reference (its periods), the clock's offset, or a shorter window"
            )

    def simulation(self, model: DynamicModel, chi: ArrayLike) -> Simulation:
        """A run with standard parameters χ (p,) of ``model``, at its start; its clock starts at zero."""
        values = np.asarray(chi, dtype=float)
        if values.shape != (len(model.standard),) or not np.isfinite(values).all():
            raise ParameterError(f"χ must be {len(model.standard)} finite numbers; given shape {values.shape}")
        return Simulation(model, values, self._law, self.robot.limit("torque"), self.ticks, self._from)

    def run(self, model: DynamicModel, chi: ArrayLike, time: ArrayLike) -> Simulated:
        """What a robot with χ does at instants ``time`` (N,) [s] of the recording's clock."""
        at = np.asarray(time, dtype=float)
        if len(at):
            self.refuse(model, (float(at[0]), float(at[-1])))
        found = self.simulation(model, chi).at(at - self.offset)
        motion = found.motion
        return Simulated(Motion(at, motion.q, motion.qd, motion.qdd), found.torque)
