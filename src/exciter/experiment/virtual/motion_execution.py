"""Executing a motion: the controller in its ticks, the engine in its steps, the log at its instants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from exciter.errors import ExciterError, MotionError
from exciter.excitation.trajectories.curve import Curve, CurvePiece
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.experiment.recording.recording import Recording
from exciter.experiment.virtual.control import Law
from exciter.experiment.virtual.plant import Plant
from exciter.robot.motion import Motion
from exciter.typing import Array, BoolArray

MOST_PIECE_ENDS = 1_000_000  # of the pieces of a repeated motion
WHOLE_PERIOD_TOLERANCE = 1e-6  # of a period, by which a number of periods may miss a whole one
Progress = Callable[[float], None] | None  #: called with the part that is done
DIVERGED_SPEED = 1e6  # [rad/s] beyond which a simulation has diverged
PROGRESS_STEPS = 500  # between two reports of progress
ON_STEP_TOLERANCE = 1e-6  # of a step, by which an instant counts as on it


class DivergedError(ExciterError):
    """A simulation whose speeds have no end: of the machine itself, or of steps that are too long for it."""


@dataclass(frozen=True, eq=False, repr=False)
class ExactMotion(Recording):
    """q, qd, qdd (N, n) of the links and torque of the drives, without noise, counts, filter or ripple, in SI units.
    Written like any recording (columns ``<joint>.q``, ``.qd``, ``.qdd``, ``.tau``); read as one, without q̈."""

    qdd: Array | None = None

    @property
    def signals(self) -> tuple[str, ...]:
        return tuple(name for name in ("q", "qd", "qdd", "torque") if getattr(self, name) is not None)


@dataclass(frozen=True, eq=False)
class ExecutionPlan:
    """curve: from time 0; period [s] and the stretch from ``start`` to ``end`` [s] in which it repeats, if it does."""

    curve: Curve
    period: float | None = None
    start: float = 0.0
    end: float = 0.0


def plan(curve: Curve, periods: int | None = None) -> ExecutionPlan:
    """The curve as it is, or with its periodic part ``periods`` times: the longest stretch of one Fourier series over
    whole periods, ramps left aside; a curve without one is repeated as a whole, and must end in its first state."""
    curve = curve.shifted(-curve.start)
    if periods is not None and periods < 1:
        raise MotionError(f"{periods} periods; give 1 or more")
    if periods is not None and periods > (most := MOST_PIECE_ENDS // len(curve.knots)):
        raise MotionError(f"{periods} periods are too many; of this motion at most {most} are run")
    first, last = _longest_series(curve)
    if first == last:
        if periods is None or periods == 1:
            return ExecutionPlan(curve)
        try:
            whole = curve.repeated(periods)
        except MotionError as error:
            why = f"the motion has no Fourier part of whole periods and cannot be run {periods} times as a whole"
            raise MotionError(f"{why}: {error}") from None
        return ExecutionPlan(curve=whole, period=curve.duration, start=0.0, end=whole.end)
    series = curve.pieces[first]
    assert isinstance(series, FourierPiece)
    period = 2.0 * np.pi / series.omega
    start, end = float(series.start), float(curve.pieces[last - 1].knots[-1])
    if periods is None:
        return ExecutionPlan(curve=curve, period=period, start=start, end=end)
    exciting = replace(series, end=start + periods * period)
    after = tuple(piece.shifted(exciting.end - end) for piece in curve.pieces[last:])
    whole = Curve((*curve.pieces[:first], exciting, *after)).continuous()
    return ExecutionPlan(curve=whole, period=period, start=start, end=exciting.end)


def _longest_series(curve: Curve) -> tuple[int, int]:
    """Pieces first … last − 1 that are whole periods of one series; equal when there are none."""
    best, longest, last = (0, 0), 0.0, 0
    while (first := last) < len(curve.pieces):
        series, last = curve.pieces[first], first + 1
        if isinstance(series, FourierPiece):
            while last < len(curve.pieces) and _same_series(series, curve.pieces[last]):
                last += 1
            duration = float(curve.pieces[last - 1].knots[-1]) - series.start
            count = duration * series.omega / (2.0 * np.pi)
            if round(count) >= 1 and abs(count - round(count)) < WHOLE_PERIOD_TOLERANCE and duration > longest:
                best, longest = (first, last), duration
    return best


def _same_series(one: FourierPiece, other: CurvePiece) -> bool:
    if not isinstance(other, FourierPiece):
        return False
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("harmonics", "a", "b", "offset"))
    turns = (other.phase_time - one.phase_time) * one.omega / (2.0 * np.pi)
    return same and one.omega == other.omega and abs(turns - round(turns)) < WHOLE_PERIOD_TOLERANCE


@dataclass(frozen=True, eq=False)
class SimulationTiming:
    """step [s] of the simulation; a tick of the controller every ``every`` steps; ``steps`` in all."""

    step: float
    every: int
    steps: int


@dataclass(frozen=True, eq=False)
class Executed:
    """What happened, exactly. At N log instants: link and motor motion, torque of the drives, of dry friction, of the
    link's side, each (N, n). At K steps: torque of the drives, motor positions, and link-side torque if it was asked
    for, else zero (K, n). At T ticks: error of the motor positions (T, n), and whether a drive was at its limit."""

    link: Motion
    motor: Motion
    torque: Array
    dry_friction: Array
    link_torque: Array
    drive_steps: Array
    link_steps: Array
    motor_steps: Array
    error: Array
    saturated: BoolArray


def execute(
    plant: Plant,
    law: Law,
    planned: Motion,
    timing: SimulationTiming,
    instants: Array,
    start: tuple[Array, Array],
    *,
    link_side: bool = False,
    progress: Progress = None,
) -> Executed:
    """Run a controller along a planned motion (a sample per tick) from ``start``, q and q̇ (n,), and look at its state
    at ``instants`` (N,). Torques are held between two steps: an instant there is reached by a shorter step."""
    model, data, robot = plant.model, plant.data, plant.truth.robot
    link, motor = plant.link, plant.motor
    plant.begin(timing.step)
    for place in (link, motor):
        data.qpos[place], data.qvel[place] = start
    highest, true = robot.limit("torque"), plant.truth.friction.array
    lowest = -highest
    coulomb, extra, velocity = true("coulomb"), true("stribeck"), true("stribeck_velocity")
    loss, depends = model.dof_frictionloss, bool(extra.any())

    def update_friction(velocities: Array) -> None:
        """Dry friction that depends on the velocity: from the state before the acceleration is asked for."""
        if depends:
            loss[motor] = coulomb + extra * np.exp(-((velocities[motor] / velocity) ** 2))

    in_steps = instants / timing.step
    in_steps = np.where(np.abs(in_steps - np.rint(in_steps)) < ON_STEP_TOLERANCE, np.rint(in_steps), in_steps)
    at_step = np.minimum(np.floor(in_steps), timing.steps).astype(np.int64)  # the last step before each instant,
    late = np.maximum(in_steps - at_step, 0.0) * timing.step  # and the time since then [s]
    due = [*at_step.tolist(), -1]  # no step at the end; numbers of a list are quicker to look at than those of an array
    looked = np.empty((len(instants), 9, robot.n))  # q, q̇, q̈ of links and motors; drives, dry friction, link side
    probe = plant.another() if (late > 0.0).any() else None
    drive_steps, link_steps, motor_steps = np.zeros((3, timing.steps + 1, robot.n))
    asked = np.empty((len(planned), robot.n))
    positions, velocities, applied, torque = data.qpos, data.qvel, data.qfrc_applied, np.zeros(robot.n)
    sample = 0
    for k in range(timing.steps + 1):
        motor_steps[k] = q = positions[motor]
        if k % timing.every == 0:
            tick = k // timing.every
            if not velocities.dot(velocities) < DIVERGED_SPEED**2:  # NaN is lost, too
                _lost(plant, k * timing.step)
            asked[tick] = wanted = law(tick, q, velocities[motor])
            applied[motor] = torque = np.minimum(np.maximum(wanted, lowest), highest)
        drive_steps[k] = torque
        update_friction(velocities)
        plant.forward(data)
        if link_side:
            link_steps[k] = _link_torque(plant, data, torque)
        while due[sample] == k:
            now = _shortly_after(plant, data, probe, late[sample], update_friction) if late[sample] else data
            rows = [values[place] for place in (link, motor) for values in (now.qpos, now.qvel, now.qacc)]
            looked[sample] = [*rows, torque, -now.qfrc_constraint[motor], _link_torque(plant, now, torque)]
            sample += 1
        if k < timing.steps:
            if probe is not None:  # which may have left its own
                update_friction(velocities)
            plant.advance(data)
        if progress is not None and k % PROGRESS_STEPS == 0:
            progress(k / max(timing.steps, 1))
    if not np.isfinite(looked).all():
        _lost(plant, timing.steps * timing.step)
    parts = looked.transpose(1, 0, 2)
    torque, dry, behind = parts[6:]
    both = Motion(instants, *parts[0:3]), Motion(instants, *parts[3:6])
    ticks = slice(0, len(planned) * timing.every, timing.every)
    error, saturated = planned.q - motor_steps[ticks], drive_steps[ticks] != asked
    return Executed(*both, torque, dry, behind, drive_steps, link_steps, motor_steps, error=error, saturated=saturated)


def _link_torque(plant: Plant, data: Any, torque: Array) -> Array:
    """(n,) what arrives at the link: through the spring of a flexible joint, or all but rotor and friction."""
    link, motor = plant.link, plant.motor
    if plant.flexible:
        twist, rate = (x[motor] - x[link] for x in (data.qpos, data.qvel))
        return np.asarray(plant.stiffness * twist + plant.damping * rate)
    viscous, rotor = plant.model.dof_damping[link] * data.qvel[link], plant.model.dof_armature[link] * data.qacc[link]
    return np.asarray(torque - rotor - viscous + data.qfrc_constraint[link])


def _shortly_after(plant: Plant, data: Any, probe: Any, late: float, update_friction: Callable[[Array], None]) -> Any:
    """The state ``late`` [s] after the one of ``data``, which stays as it is."""
    plant.copy(data, probe)
    step = plant.take(late)
    plant.forward(probe)
    plant.advance(probe)
    plant.take(step)
    update_friction(probe.qvel)
    plant.forward(probe)
    return probe


def _lost(plant: Plant, time: float) -> NoReturn:
    names = plant.truth.robot.joint_names
    speed = np.nan_to_num(np.abs(plant.data.qvel[plant.motor]), nan=np.inf)
    why = f"the simulation diverged before {time:.4g} s (joint '{names[int(np.argmax(speed))]}' first); raise "
    raise DivergedError(f"{why}simulation_rate, or lower the bandwidth of the controller")
