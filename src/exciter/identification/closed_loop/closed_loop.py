"""The closed loop of an experiment: controller, reference, start. Given parameters, it says what the robot would do.

A simulated run goes from its start onwards: the controller in its ticks, the arm in its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.engine import writable
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError, ParameterError
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.virtual.control import PATH_POSTURES, Control, Law
from exciter.experiment.virtual.motion_execution import ExecutionPlan, plan
from exciter.experiment.virtual.true_parameters import believed, resolved
from exciter.experiment.virtual.virtual_robot import LEAST_SIMULATION_RATE_HZ, MOST_SIMULATION_RATE_HZ, Start
from exciter.identification.closed_loop.kernels import joint_numbers as row
from exciter.parameters import terms
from exciter.parameters.terms.friction import DryFriction, Sign
from exciter.parameters.terms.term import per_joint
from exciter.robot.coupling import LinearCoupling
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray

#: term → rows that its kinds of columns add to, one after the other
TERM_FORCE_ROWS: dict[type[terms.JointTerm], tuple[tuple[int, ...], ...]] = {
    terms.RotorInertia: ((row.ROTOR_ROW,),),
    terms.Viscous: ((row.VISCOUS_ROW,),),
    terms.SqrtViscous: ((row.ROOT_ROW,),),
    terms.Coulomb: ((row.FORWARD_ROW, row.BACKWARD_ROW),),
    terms.AsymmetricCoulomb: ((row.FORWARD_ROW,), (row.BACKWARD_ROW,)),
    terms.Stribeck: ((row.STRIBECK_ROW,),),
    terms.Offset: ((row.OFFSET_ROW,),),
    terms.GravitySpring: ((row.SINE_ROW,), (row.COSINE_ROW,)),
    terms.Ripple: ((row.SINE_ROW,), (row.COSINE_ROW,)),
    terms.Spring: ((row.STIFFNESS_ROW,), (row.PRELOAD_ROW,)),
}
CLOSED_LOOP_KERNELS = "exciter.identification.closed_loop.kernels"
DIVERGED_SPEED_RAD_S = 1e6  # [rad/s] beyond which a simulation has lost its way
ON_TICK_FRACTION = 1e-6  # of a tick, by which an instant counts as on it
LARGEST_REFERENCE_SAMPLES = 20_000_000  # ticks × joints whose reference is kept in memory


def joint_forces(model: DynamicModel, chi: Array) -> Array:
    """(17, n) of standard parameters χ (p,). Dry friction below zero, which no joint has, acts as none."""
    forces = np.zeros((row.FORCE_ROW_COUNT, model.n))
    for term, (bound, columns) in zip(model.terms, model.term_columns, strict=True):
        if type(term) not in TERM_FORCE_ROWS or (isinstance(term, DryFriction) and not isinstance(term.shape, Sign)):
            shape = f" with {type(term.shape).__name__}" if isinstance(term, DryFriction) else ""
            raise ParameterError(
                f"the closed loop cannot be simulated with {type(term).__name__}{shape}; it has "
                f"{', '.join(kind.__name__ for kind in TERM_FORCE_ROWS)}, dry friction with Sign; use another "
                "estimator, or leave the term out"
            )
        values = chi[columns]
        if isinstance(term, terms.GravitySpring):  # of q + offset, as those of q: several terms of a joint then add up
            (sine, cosine), cos, sin = values, np.cos(term.offset), np.sin(term.offset)
            values = np.array([sine * cos - cosine * sin, sine * sin + cosine * cos])
        places = TERM_FORCE_ROWS[type(term)]
        joints = bound.columns.joints[: len(values) // len(places)]
        for rows, part in zip(places, np.split(values, len(places)), strict=True):
            for number in rows:
                forces[number, joints] += part
        named = [model.robot.joint_names[j] for j in joints]
        if isinstance(term, terms.SqrtViscous):  # settings that are not parameters
            forces[row.ROOT_WIDTH_ROW, joints] = per_joint(term.width, named, "the width of SqrtViscous")[:, 0]
        elif isinstance(term, terms.Stribeck):
            velocity = per_joint(term.velocity, named, "the velocity of Stribeck")[:, 0]
            forces[row.STRIBECK_VELOCITY_ROW, joints] = velocity
        elif isinstance(term, terms.Spring):
            lengths = [row.BASE_ARM_ROW, row.LINK_ARM_ROW, row.ARM_OFFSET_ROW, row.FREE_LENGTH_ROW]
            forces[np.ix_(lengths, joints)] = np.c_[[term.base_arm, term.link_arm, term.offset, term.free_length]]
    return forces


def not_simulated(robot: Robot) -> str:
    """Why a robot cannot be simulated here; empty where it can."""
    if not isinstance(robot.coupling, LinearCoupling | None):
        return "bodies follow joints other than in proportion (closed loops)"
    return "its base is free, and nothing is known of what holds it" if robot.free_base else ""


def refuse_not_simulated(robot: Robot, method: str) -> None:
    """Of a method that simulates: before it asks for a plan, which would not help."""
    if why := not_simulated(robot):
        raise ParameterError(
            f"{method} simulates the controlled robot, and '{robot.name}' cannot be: {why}; use another"
        )


def forward_kernel(model: DynamicModel, chi: Array) -> tuple[Any, tuple[Any, ...]]:
    """The compiled steps in time (``kernels.forward``), and as they take it the arm with standard parameters χ (p,)."""
    chain, inertias = model.dynamics.chain, model.dynamics.chain_inertias(chi[: model.inertial_size])
    coupling = model.robot.coupling
    if not isinstance(coupling, LinearCoupling | None):
        raise ParameterError("joints that follow others other than in proportion cannot be simulated; lock them")
    follows = (np.zeros((0, 0)), np.zeros(0)) if coupling is None else (coupling.matrix, coupling.offset)
    fixed = writable(chain.rotation, chain.origin, chain.gravity, inertias, joint_forces(model, chi), *follows)
    return kernels("forward", CLOSED_LOOP_KERNELS), (chain.parent, chain.prismatic, *fixed)


def dry_friction(model: DynamicModel) -> BoolArray:
    """(p,) which standard parameters are those of dry friction."""
    both = zip(model.terms, model.bound, strict=True)
    names = {name for term, bound in both if isinstance(term, DryFriction) for name in bound.names}
    return np.array([name in names for name in model.standard])


class Unmovable(ParameterError):
    """No arm can be simulated with the parameters: M is not positive definite, or the loop diverges. why: in short."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """What the loop did at N instants: the motion, and the torque (N, n) of the drives [N·m]."""

    motion: Motion
    torque: Array


@dataclass(frozen=True)
class Ticks:
    """The controller ticks every ``every`` steps of ``step`` [s], ``count`` times; the torque is held between."""

    step: float
    every: int
    count: int

    @property
    def interval(self) -> float:
        return self.step * self.every


class Simulation:
    """The state of a run with standard parameters χ (p,); ``at`` takes it further, never back."""

    def __init__(
        self, model: DynamicModel, chi: Array, law: Law, limit: Array, ticks: Ticks, start: tuple[Array, Array]
    ) -> None:
        self._kernel, self._arm = forward_kernel(model, chi)
        self._law, self._limit, self._ticks, self._tick = law, limit, ticks, 0
        self._q, self._qd = start[0].copy(), start[1].copy()
        self._names = model.robot.joint_names
        self._ask()

    def at(self, instants: Array) -> SimulatedRun:
        """Motion and torque at ``instants`` (N,) [s] since the start, increasing, after those of earlier calls."""
        ticks, n = self._ticks, len(self._q)
        place = instants / ticks.interval
        near = np.rint(place)
        place = np.where(np.abs(place - near) < ON_TICK_FRACTION, near, place)
        number = np.minimum(np.floor(place), ticks.count - 1).astype(np.int64)
        if len(number) and (number[0] < self._tick or (np.diff(instants) < 0.0).any()):
            raise MotionError("a simulated run goes forwards only; give increasing instants, after those before")
        late = np.maximum(place - number, 0.0) * ticks.interval
        seen, torque = np.empty((3, len(instants), n)), np.empty((len(instants), n))
        for k, (tick, after) in enumerate(zip(number.tolist(), late.tolist(), strict=True)):
            while self._tick < tick:
                good = self._kernel.advance(self._arm, self._q, self._qd, self._torque, ticks.step, ticks.every, 0.0)
                self._tick += 1
                if not good or not self._qd @ self._qd < DIVERGED_SPEED_RAD_S**2:
                    self._lost(good)
                self._ask()
            seen[:, k] = self._look(after)
            torque[k] = self._torque
        return SimulatedRun(Motion(instants, *seen), torque)

    def _ask(self) -> None:
        asked = self._law(self._tick, self._q, self._qd)
        self._torque = np.minimum(np.maximum(asked, -self._limit), self._limit)

    def _look(self, late: float) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ ``late`` [s] after the tick; the state itself stays."""
        step = self._ticks.step
        q, qd, qdd = self._q, self._qd, np.empty_like(self._q)
        good = True
        if late > 0.0:
            q, qd = q.copy(), qd.copy()
            whole = int(late / step * (1.0 + ON_TICK_FRACTION))
            good = self._kernel.advance(self._arm, q, qd, self._torque, step, whole, late - whole * step)
        good &= self._kernel.look(self._arm, q, qd, self._torque, step, qdd)
        if not good:
            self._lost(good)
        return q, qd, qdd

    def _lost(self, positive: bool) -> None:
        time = self._tick * self._ticks.interval
        speed = np.nan_to_num(np.abs(self._qd), nan=np.inf)
        at_tick = self._kernel.look(self._arm, self._q, self._qd, self._torque, self._ticks.step, np.empty_like(speed))
        if not positive and not at_tick:
            why = f"the inertia matrix is not positive definite at {time:.4g} s of the simulated motion"
            advice = "no arm moves so; start from values nearer to the truth (nominal ones)"
            raise Unmovable(why, f"with these parameters {why}: {advice}")
        first = self._names[int(np.argmax(speed))]
        why = f"the simulated closed loop diverged before {time:.4g} s (joint '{first}' first)"
        raise Unmovable(why, f"{why}; check the controller's gains and rate, or raise the simulation's rate")


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """robot: the description, which the controller believes. control, curve, periods, start: as the virtual robot takes
    them, see ``VirtualRobot`` and ``plan``; torques end at the robot's limits. offset [s]: of the recording's clock at
    the start of the motion. rate [Hz]: steps of the simulation, at least; a controller without one ticks with each."""

    robot: Robot
    control: Control
    curve: Curve
    periods: int | None = None
    start: Start = field(default_factory=Start)
    offset: float = 0.0
    rate: float | None = None

    def __post_init__(self) -> None:
        moved, robot = self.curve.n, self.robot
        if moved != robot.n:
            raise MotionError(f"the reference moves {moved} joints; robot '{robot.name}' has {robot.n}")
        if not math.isfinite(self.offset):
            raise ParameterError(f"the offset of the closed loop is {self.offset}; give a finite time [s]")
        if self.rate is not None and not 0.0 < self.rate <= MOST_SIMULATION_RATE_HZ:
            raise ParameterError(f"rate is {self.rate:g}; give 0 < rate ≤ {MOST_SIMULATION_RATE_HZ:g} [Hz]")
        resolved(self.start.error, self.robot, "start error", least=-1e12)

    @cached_property
    def plan(self) -> ExecutionPlan:
        """The reference from time 0."""
        return plan(self.curve, self.periods)

    @cached_property
    def believed(self) -> Robot:
        """The robot as the controller knows it."""
        return believed(self.robot)[0]

    @cached_property
    def ticks(self) -> Ticks:
        wanted = LEAST_SIMULATION_RATE_HZ if self.rate is None else self.rate
        if self.control.rate is None:
            rate, every = max(wanted, self._needed_rate) if self.rate is None else wanted, 1
        else:
            every = max(1, math.ceil(wanted / self.control.rate - 1e-9))
            rate = every * self.control.rate
        if rate > MOST_SIMULATION_RATE_HZ * (1.0 + 1e-9):
            raise ExciterError(
                f"the controller is so fast that steps at {rate:.3g} Hz would be needed; give its rate, a lower "
                "bandwidth, or the rate of the simulation"
            )
        count = math.floor(self.plan.curve.end * rate / every + 1e-9) + 1
        if count * self.robot.n > LARGEST_REFERENCE_SAMPLES:
            raise ExciterError(
                f"{self.plan.curve.end:.6g} s of reference are {count} ticks of {self.robot.n} joints, more than are "
                f"kept in memory ({LARGEST_REFERENCE_SAMPLES // self.robot.n}); identify from fewer periods, or a "
                "slower controller"
            )
        return Ticks(step=1.0 / rate, every=every, count=count)

    @property
    def _needed_rate(self) -> float:
        """[Hz] for the controller on what it believes to move."""
        from exciter.dynamics.dynamics import Dynamics

        path = self.plan.curve.motion(np.linspace(0.0, self.plan.curve.end, PATH_POSTURES))
        inertia = Dynamics(self.believed).inertia_matrix(path.q[:1])[0]
        inertia = inertia + np.diag(self.believed.friction.get("rotor_inertia", np.zeros(self.robot.n)))
        damping = self.control.damping_matrix(self.believed, path)
        return 2.0 * float(np.abs(np.linalg.eigvals(np.linalg.solve(inertia, damping))).max())

    @cached_property
    def _law(self) -> Law:
        """Along the reference, one sample per tick."""
        at = np.minimum(np.arange(self.ticks.count) * self.ticks.interval, self.plan.curve.end)
        return self.control.law(self.believed, self.plan.curve.motion(at))

    def refuse(self, model: DynamicModel, span: tuple[float, float], name: str = "the log") -> None:
        """A model of another robot, and a log (from, to) [s] that the reference does not cover."""
        if model.robot.joint_names != self.robot.joint_names:
            raise ParameterError(
                f"the closed loop is one of the joints {', '.join(self.robot.joint_names)}; the model has "
                f"{', '.join(model.robot.joint_names)}"
            )
        first, last, end = span[0] - self.offset, span[1] - self.offset, self.plan.curve.end
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
        first = self.plan.curve.motion([0.0])
        q = first.q[0] + resolved(self.start.error, self.robot, "start error", least=-1e12)
        start = q, np.zeros(self.robot.n) if self.start.at_rest else first.qd[0]
        return Simulation(model, values, self._law, self.robot.limit("torque"), self.ticks, start)

    def run(self, model: DynamicModel, chi: ArrayLike, time: ArrayLike) -> SimulatedRun:
        """What a robot with χ does at instants ``time`` (N,) [s] of the recording's clock."""
        at = np.asarray(time, dtype=float)
        if len(at):
            self.refuse(model, (float(at[0]), float(at[-1])))
        found = self.simulation(model, chi).at(at - self.offset)
        return replace(found, motion=replace(found.motion, time=at))
