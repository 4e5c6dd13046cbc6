"""The virtual robot: a true machine, its controller and its sensors, that executes motions and logs them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from exciter import __version__
from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import FAILURES
from exciter.excitation.constraints.follower_limits import FollowerLimits
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.recording import About, Payload, Recording
from exciter.experiment.recording.current_map import unmapped
from exciter.experiment.recording.own_log_format import write_recording, written_beside
from exciter.experiment.recording.signal_filters import (
    FILTERED_SIGNALS,
    AnyAnalogFilter,
    OfSignals,
    filters_of,
)
from exciter.experiment.virtual import motion_execution, true_parameters
from exciter.experiment.virtual.control import PATH_POSTURES, AnyLaw, ComputedTorque, Control
from exciter.experiment.virtual.motion_execution import (
    DivergedError,
    ExactMotion,
    Executed,
    ExecutionPlan,
    Progress,
    SimulationTiming,
)
from exciter.experiment.virtual.plant import Plant, build
from exciter.experiment.virtual.sensors import (
    FORGOTTEN_TIME_CONSTANTS,
    Encoder,
    GearedDrive,
    Sampling,
    TorqueMeter,
    TorqueRipple,
    filtered,
)
from exciter.experiment.virtual.standing_run import StandingRun, StandingSettings, stand_through
from exciter.experiment.virtual.true_parameters import Flexibility, Truth, TruthSettings, drive_torque, resolved
from exciter.files import by_name, json_text, prepare, staged
from exciter.notes import COLLISION_SUBJECT, Note, note, texts, warning
from exciter.parameters.terms.term import PerJoint
from exciter.robot import Motion, Robot
from exciter.robot.coupling import coupled_motion
from exciter.robot.stance import footings
from exciter.settings import Number, PerJointNumber, Settings, Switch, written
from exciter.typing import Array

LEAST_SIMULATION_RATE_HZ = 4000.0
LEAST_STEPS_PER_SAMPLE = 4  # of the simulation, per sample of the log
MOST_SIMULATION_RATE_HZ = 50_000.0  # unless one is given
NOISE_TORQUE_SHARE = 0.005  # of the torque a drive is made for: noise of the log unless given
MOST_STORED_STEPS = 60_000_000  # steps × joints that are kept in memory
UNSIMULATED_SUBJECTS = (COLLISION_SUBJECT, "asset files")  # subjects that nothing is simulated of


@dataclass(frozen=True)
class Start(Settings):
    """How the motion is entered: at rest, or already with the planned velocity; error [rad]: from the planned start."""

    at_rest: Switch = True
    error: Annotated[PerJoint, PerJointNumber(unit="rad")] = 0.0


@dataclass(frozen=True, eq=False)
class VirtualRobot:
    """robot: the description, which the controller believes; truth: the machine. simulation_rate [Hz]: None: chosen."""

    robot: Robot
    truth: Truth
    control: Control = field(default_factory=ComputedTorque)
    start: Start = field(default_factory=Start)
    drive: GearedDrive = field(default_factory=GearedDrive)
    encoder: Encoder = field(default_factory=Encoder)
    meter: TorqueMeter = field(default_factory=TorqueMeter)
    sampling: Sampling = field(default_factory=Sampling)
    flexibility: Flexibility | None = None
    payload: Payload | None = None
    simulation_rate: float | None = None

    def __post_init__(self) -> None:
        if footings(self.robot):
            problem = f"robot '{self.robot.name}' stands on its feet, for which there are motions, and no plans"
            raise ExciterError(f"{problem}; exciter simulate ROBOT trajectory.csv tries them")
        true, own = self.truth.robot.joint_names, self.robot.joint_names
        if true != own:
            raise ExciterError(f"the truth has the joints {', '.join(true)}; the robot has {', '.join(own)}")
        if self.simulation_rate is not None and not 0.0 < self.simulation_rate <= 1e7:
            raise ExciterError(f"simulation_rate is {self.simulation_rate}; give a positive number [Hz] up to 1e7")
        nothing = np.zeros((0, self.robot.n))  # what is impossible is refused before any work
        self.truth.loaded(self.payload)
        self.drive.gains(self.robot)
        self.encoder.position(nothing, self.robot, self.drive, 0)
        self.encoder.velocity(nothing, self.robot, 0)
        self.meter.std(self.robot)
        if self.meter.ripple is not None:
            self.meter.ripple.values(nothing, self.robot, self.drive, 0)
        sensed = [one for name in FILTERED_SIGNALS[1:] for one in filters_of(self.meter.filter, name, self.robot.n)]
        if any(sensed) and self.flexibility is not None and self.flexibility.encoder_on_link:
            raise ExciterError("filters of positions and velocities are of encoders on the motors; give encoder: motor")
        if self.meter.noise is None:
            noise = tuple((NOISE_TORQUE_SHARE * drive_torque(self.believed)).tolist())
            object.__setattr__(self, "meter", replace(self.meter, noise=noise))

    @cached_property
    def believed(self) -> Robot:
        return true_parameters.believed(self.robot)[0]

    def _refuse_open_loops(self, curve: Curve, todo: ExecutionPlan) -> None:
        """Samples see loops that do not close. Between them a flat parallelogram may have gone on crossed, of which a
        real one chooses neither: that loops follow throughout is proved."""
        coupled_motion(self.robot, todo.curve.motion(np.linspace(0.0, todo.curve.end, PATH_POSTURES)))
        closure = FollowerLimits(self.robot, limited=False)
        for limit in certify(self.robot, curve, [closure]).limits if closure.rows else ():
            if limit.what == closure.rows[0].what and limit.status in FAILURES:
                raise MotionError(
                    f"loops are not proved to follow throughout this motion, at {limit.at:.4g} s: they are singular "
                    "there, or nearly; keep away from it by limits"
                )

    def run(self, curve: Curve, *, periods: int | None = None, seed: int = 0, progress: Progress = None) -> Simulated:
        """Execute a motion; seed: of noise, jitter and whatever else chance does to the log."""
        if curve.n != self.robot.n:
            raise MotionError(f"the motion moves {curve.n} joints; robot '{self.robot.name}' has {self.robot.n}")
        clock, todo = time.perf_counter(), motion_execution.plan(curve, periods)
        self._refuse_open_loops(curve, todo)
        start = todo.curve.motion([0.0])
        q = start.q[0] + resolved(self.start.error, self.robot, "start error", least=-1e12)
        qd = np.zeros(self.robot.n) if self.start.at_rest else start.qd[0]
        cut = todo.period is not None and not self.sampling.lead_out
        instants = self.sampling.instants(todo.end if cut else todo.curve.end, seed)
        kept, factor, slower = self.sampling.kept(len(instants), seed), 1, tuple[Note, ...]()
        while True:
            plant = build(self.truth.loaded(self.payload), self.flexibility)
            timing, notes = self._timing(plant, todo, q, factor)
            ticks = np.minimum(np.arange(timing.steps // timing.every + 1) * timing.every * timing.step, todo.curve.end)
            planned = todo.curve.motion(ticks)
            law = self.control.law(self.believed, planned)
            try:
                happened = motion_execution.execute(
                    plant, law, planned, timing, instants, (q, qd), link_side=self.meter.link_side, progress=progress
                )
                break
            except DivergedError:  # how fast the loop is was seen at the start of the motion alone
                factor *= 2
                if self.simulation_rate is not None or 2.0 / timing.step > MOST_SIMULATION_RATE_HZ:
                    raise
            text = f"diverged with steps at {1.0 / timing.step:.6g} Hz, which were made half as long"
            slower = (*slower, note("simulation rate", text))
        notes = (*notes, *slower)
        return Simulated(
            recording=self._recorded(happened, timing.step, todo if cut else None, seed)[kept],
            motion=happened.link[kept],
            **{name: getattr(happened, name)[kept] for name in ("motor", "torque", "dry_friction", "link_torque")},
            virtual=self,
            plan=todo,
            error=happened.error,
            saturated=happened.saturated.mean(axis=0),
            rate=1.0 / timing.step,
            seconds=time.perf_counter() - clock,
            run_notes=(*self.truth.notes, *notes, *self._run_notes(todo, happened)),
            seed=seed,
        )

    def _timing(
        self, plant: Plant, todo: ExecutionPlan, q: Array, factor: int
    ) -> tuple[SimulationTiming, tuple[Note, ...]]:
        """Steps that the controller's ticks are made of, enough of them per sample of the log, and for what is fast;
        factor: as many times as many, unless their rate is given."""
        notes, fixed = tuple[Note, ...](), self.simulation_rate
        least = max(LEAST_SIMULATION_RATE_HZ, LEAST_STEPS_PER_SAMPLE * self.sampling.rate)
        needed, ticked = self._needed_rate(plant, todo, q), self.control.rate
        if fixed is not None and ticked is not None and ticked > fixed:
            both = f"the controller ticks at {ticked:g} Hz and the simulation at {fixed:g} Hz"
            raise ExciterError(f"{both}; raise simulation_rate")
        if fixed is None and needed > max(least, MOST_SIMULATION_RATE_HZ):
            why = f"joints and controller are so fast that steps at {needed:.3g} Hz would be needed; lower the "
            why += "stiffness or damping of flexible joints or the controller's bandwidth, give heavier rotors, or set "
            raise ExciterError(f"{why}simulation_rate yourself")
        if fixed is None and needed > least:
            text = f"joints and controller are fast: the simulation takes steps at {needed:.3g} Hz or more"
            notes = (note("simulation rate", text),)
        wanted = factor * max(least, needed) if fixed is None else fixed
        grid = ticked or (self.sampling.rate if fixed is None else fixed)
        every, n = max(1, math.ceil(wanted / grid - 1e-9)), self.robot.n
        rate = every * grid
        if (steps := math.ceil(todo.curve.end * rate - 1e-9)) > MOST_STORED_STEPS // n:
            why = f"{todo.curve.end:.6g} s at {rate:.6g} Hz are {steps} steps of {n} joints, more than are kept in "
            raise ExciterError(f"{why}memory ({MOST_STORED_STEPS // n}); run fewer periods, or lower the rates")
        return SimulationTiming(step=1.0 / rate, every=1 if ticked is None else every, steps=steps), notes

    def _needed_rate(self, plant: Plant, todo: ExecutionPlan, q: Array) -> float:
        """[Hz] for the joints' flexibility; and, unless its rate is given, for the controller on what it moves."""
        plant.data.qpos[plant.link] = plant.data.qpos[plant.motor] = q
        inertia, rates = plant.inertia_matrix()[np.ix_(plant.link, plant.link)], [0.0]
        if self.control.rate is None:
            path = todo.curve.motion(np.linspace(0.0, todo.curve.end, PATH_POSTURES))
            damping = self.control.damping_matrix(self.believed, path)
            moved = np.diag(self.truth.rotor) if plant.flexible else inertia
            rates.append(2.0 * float(np.abs(np.linalg.eigvals(np.linalg.solve(moved, damping))).max()))
        if plant.flexible:
            # Two steps per radian of the fastest mode, ω² of (M⁻¹ + J⁻¹) K, which is K (1/I + 1/J) of a single joint;
            # one per time constant of the dampers, (M⁻¹ + J⁻¹) D.
            mobility = np.linalg.inv(inertia) + np.diag(1.0 / self.truth.rotor)
            both = (plant.stiffness, plant.damping)
            springs, dampers = (np.abs(np.linalg.eigvals(mobility * values)).max() for values in both)
            rates.append(float(max(2.0 * np.sqrt(springs), dampers)))
        return max(rates)

    def _recorded(self, happened: Executed, step: float, todo: ExecutionPlan | None, seed: int) -> Recording:
        """The samples before some are dropped; step [s] of the simulation; todo: the plan, where the log repeats."""
        robot, drive, meter = self.robot, self.drive, self.meter
        on_link = self.flexibility is not None and self.flexibility.encoder_on_link
        motion = happened.link if on_link else happened.motor
        none = np.zeros_like(happened.drive_steps)
        held, smooth = (none, happened.link_steps) if meter.link_side else (happened.drive_steps, none)
        if meter.ripple is not None:
            smooth = smooth + meter.ripple.values(happened.motor_steps, robot, drive, seed)
        gains = drive.gains(robot)
        bent = drive.map if meter.current else None
        if bent is None:
            torque = meter.measure(held, smooth, step, motion.time, robot, seed)
            effort = torque / gains if meter.current else torque
        else:  # the filter and the noise are the current's
            currents = unmapped(bent, held + smooth, robot.joint_names)
            effort = meter.measure(currents, none, step, motion.time, robot, seed, gains)
        stated = drive.stated if meter.current else "nothing"
        forgotten = self.control.settling  # [s] after which controller and filter have forgotten how it began
        if meter.filter is not None:
            each = [one for name in FILTERED_SIGNALS for one in filters_of(meter.filter, name, robot.n)]
            forgotten += FORGOTTEN_TIME_CONSTANTS * max(one.memory for one in each if one is not None)
        return Recording(
            joints=robot.joint_names,
            time=motion.time,
            q=self.encoder.position(self._sensed(motion.q, motion.time, happened, step), robot, drive, seed),
            qd=self.encoder.velocity(self._sensed(motion.qd, motion.time, happened, step, 1), robot, seed),
            torque=None if meter.current else effort,
            current=effort if meter.current else None,
            about=About(
                period=None if todo is None else todo.period,
                settled=None if todo is None else min(todo.start + forgotten, todo.end),
                gravity=tuple(robot.gravity.tolist()),
                payload=None if self.payload is None else self.payload.simulated,
                filter=meter.filter,
                gains=None if stated == "nothing" or (stated == "map" and bent is not None) else tuple(gains.tolist()),
                map=bent if stated == "map" else None,
                notes={"origin": f"virtual robot '{robot.name}', seed {seed}"},
            ),
        )

    def _sensed(self, exact: Array, at: Array, happened: Executed, step: float, derivative: int = 0) -> Array:
        """Positions (N, n), or velocities, at instants behind the filter of their sensor, where they have one."""
        filters = filters_of(self.meter.filter, ("position", "velocity")[derivative], self.robot.n)
        if all(one is None for one in filters):
            return exact
        steps = happened.motor_steps
        if derivative:
            steps = np.gradient(steps, step, axis=0)
        return filtered(filters, np.zeros_like(steps), steps, step, at)

    def _run_notes(self, todo: ExecutionPlan, happened: Executed) -> tuple[Note, ...]:
        notes, span, joints = list[Note](), todo.curve.extremum(0), self.robot.joints
        for joint, low, high in zip(joints, span.lowest, span.highest, strict=True):
            if low < joint.limits.lower - 1e-9 or high > joint.limits.upper + 1e-9:
                text = f"the planned motion takes joint '{joint.name}' to {low:.4g} … {high:.4g}, beyond its limits "
                text += f"{joint.limits.lower:.4g} … {joint.limits.upper:.4g}; a real robot would stop: see exciter "
                text += "check"
                notes.append(warning("limits", text, joint.name))
        for joint, part in zip(joints, happened.saturated.mean(axis=0), strict=True):
            if part:
                at_limit = f"at its limit of {joint.limits.torque:g} for {100 * part:.3g} % of the time"
                notes.append(warning("saturation", f"the drive of '{joint.name}' was {at_limit}", joint.name))
        return tuple(notes)


@dataclass(frozen=True, eq=False)
class Simulated:
    """A recording, and the exact values at its samples (N, n): motion of links and motors, torque of the drives, dry
    friction among it [N·m], and the torque at the links.

    error (T, n): planned less executed position at every tick. saturated (n,): part of the time each drive was at its
    limit. rate [Hz] of the simulation, seconds it took; run_notes: on how it came about; seed: of noise and the like.

    >>> simulated = ex.simulate(robot, motion)
    >>> [path.name for path in simulated.save("log.csv", truth="truth.json")]
    ['log.csv', 'log.yaml', 'truth.json']"""

    recording: Recording
    motion: Motion
    motor: Motion
    torque: Array
    dry_friction: Array
    link_torque: Array
    virtual: VirtualRobot
    plan: ExecutionPlan
    error: Array
    saturated: Array
    rate: float
    seconds: float
    run_notes: tuple[Note, ...]
    seed: int

    def __repr__(self) -> str:
        return f"<{self.plan.curve.duration:.4g} s of motion executed by {self.virtual.robot.name}: {self.recording!r}>"

    @property
    def truth(self) -> Truth:
        """Of the robot alone, without its payload."""
        return self.virtual.truth

    @property
    def exact(self) -> ExactMotion:
        """The exact values, to be written like a recording: motion of the links, torque of the drives."""
        motion, recording = self.motion, self.recording
        notes = {**recording.about.notes, "content": "exact motion of the links and torque of the drives"}
        about = replace(recording.about, filter=None, gains=None, map=None, notes=notes)
        return ExactMotion(recording.joints, motion.time, motion.q, motion.qd, self.torque, about=about, qdd=motion.qdd)

    @property
    def tracking(self) -> Array:
        """(n,) rms of planned less executed position [rad or m]."""
        return np.asarray(np.sqrt((self.error**2).mean(axis=0)))

    @property
    def torque_rms(self) -> Array:
        """(n,) of the drives [N·m or N]."""
        return np.asarray(np.sqrt((self.torque**2).mean(axis=0)))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know: of the description as far as a simulation depends on it, and of the run."""
        described = (one for one in self.virtual.robot.notes if one.subject not in UNSIMULATED_SUBJECTS)
        return (*described, *self.run_notes)

    @property
    def real_time_factor(self) -> float:
        """Seconds of motion per second of computing."""
        return self.plan.curve.duration / self.seconds

    def save(
        self, log: str | Path, truth: str | Path | None = None, motion: str | Path | None = None
    ) -> tuple[Path, ...]:
        """The log (.csv, .npz), its true parameters (.json) and its exact motion; what was written, files beside tables
        included. Truth and exact motion of an older log go before it, and come after the new one: they are its own."""
        given = [Path(path) for path in (log, truth, motion) if path is not None]
        secret, exact = (None if path is None else Path(path) for path in (truth, motion))
        for path in given:
            prepare(path.absolute().parent)
        older = [path for path in (secret, exact, exact and written_beside(exact)) if path is not None]
        with ExitStack() as later:
            if secret is not None:
                stage = later.enter_context(staged(secret.absolute().parent))
                (stage / secret.name).write_text(json_text(self.truth_data()), encoding="utf-8")
            if exact is not None:
                stage = later.enter_context(staged(exact.absolute().parent, last=exact.name))
                write_recording(self.exact, stage / exact.name)
            write_recording(self.recording, given[0], remove=older)
        return tuple(file for path in given for file in (path, written_beside(path)) if file is not None)

    def to_dict(self) -> dict[str, Any]:
        """How the motion went, joint by joint, as plain data."""
        about, robot = self.recording.about, self.virtual.robot
        worst, noise = abs(self.error).max(axis=0), self.virtual.meter.std(robot)
        per_joint = {"tracking_rms": self.tracking, "tracking_worst": worst, "torque_rms": self.torque_rms}
        per_joint |= {"noise": noise, "saturated": self.saturated}
        joints = by_name(robot.joint_names, **{key: values.tolist() for key, values in per_joint.items()})
        log = {"robot": robot.name, "samples": len(self.recording), "rate": self.rate}
        repeats = {"period": about.period, "settled": about.settled}
        return {**log, **repeats, "joints": joints, "notes": texts(self.notes), "seconds": self.seconds}

    def truth_data(self) -> dict[str, Any]:
        """Everything an estimator may be compared with, as plain data."""
        virtual, robot, flexible = self.virtual, self.virtual.robot, self.virtual.flexibility
        if flexible is not None:
            both = {"stiffness": flexible.stiffness, "damping": flexible.damping}
            both = {key: resolved(value, robot, f"joint {key}").tolist() for key, value in both.items()}
        return {
            "exciter": __version__,
            "seed": self.seed,
            **virtual.truth.to_dict(),
            "gravity": robot.gravity.tolist(),
            "gains": virtual.drive.gains(robot).tolist(),
            "map": written(virtual.drive.map),
            "gear": virtual.drive.ratios(robot).tolist(),
            "noise": virtual.meter.std(robot).tolist(),
            "payload": written(self.recording.about.payload),
            "flexibility": None if flexible is None else both,
        }


@dataclass(frozen=True)
class SimulateSettings(Settings):
    """A virtual robot: its true parameters, its controller, its drives and its sensors.

    The section ``simulate:`` of a settings file, which docs/simulate.md shows in full."""

    truth: TruthSettings = field(default_factory=TruthSettings)
    control: AnyLaw = field(default_factory=ComputedTorque)
    start: Start = field(default_factory=Start)
    drive: GearedDrive = field(default_factory=GearedDrive)
    encoder: Encoder = field(default_factory=Encoder)
    torque: TorqueMeter = field(default_factory=TorqueMeter)
    ripple: TorqueRipple | None = None
    filter: Annotated[AnyAnalogFilter | None, OfSignals()] = None
    log: Sampling = field(default_factory=Sampling)
    flexibility: Flexibility | None = None
    payload: Payload | None = None
    simulation_rate: Annotated[float | None, Number(above=0.0, most=1e7, unit="Hz")] = None
    standing: StandingSettings = field(default_factory=StandingSettings)

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        """An empty ripple or filter is none."""
        empty = [key for key in ("ripple", "filter") if isinstance(given, Mapping) and given.get(key) == {}]
        return {key: value for key, value in given.items() if key not in empty} if empty else given

    def stand(self, robot: Robot, curve: Curve, *, periods: int | None = None, seed: int = 0) -> StandingRun:
        """What a robot on its feet does with a motion: its truth, its log's rate and ``standing`` count."""
        truth, rate = self.truth.truth(robot.tree, seed), self.log.rate
        return stand_through(robot, curve, truth, self.standing, rate=rate, periods=periods, seed=seed)

    def virtual(self, robot: Robot, seed: int) -> VirtualRobot:
        """seed: of the truth, unless the settings have one."""
        same = ("control", "start", "drive", "encoder", "flexibility", "payload", "simulation_rate")
        meter = replace(self.torque, ripple=self.ripple, filter=self.filter)
        given: dict[str, Any] = {name: getattr(self, name) for name in same}
        return VirtualRobot(robot, self.truth.truth(robot, seed), meter=meter, sampling=self.log, **given)
