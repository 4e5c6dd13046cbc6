"""Closed loop: the identified arm simulated under a controller; torque and motion compared with the log (§ 12.7).

With the robot's own controller and reference known (``ClosedLoop``), the simulated robot gets the same reference.
Without them, a computed-torque controller that knows the identified model follows the recorded motion: Γ = Γ̂(q_r,
q̇_r, q̈_r) + Â(q_r)(K_d ė + K_p e). The torque it takes is what the model predicts for this motion; a motion that
cannot be followed is one the model cannot make. While dry friction holds a joint, its torque depends on the controller:
torques are compared while the joint moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.processed_motion import Processed
from exciter.files import by_name, finite
from exciter.identification.closed_loop.closed_loop import ClosedLoop, SimulatedRun, Simulation, Ticks, Unmovable
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.runs.run import Run
from exciter.notes import Note, texts
from exciter.parameters.terms.term import PerJoint
from exciter.robot.motion import Motion
from exciter.settings import Positive, Settings
from exciter.typing import Array
from exciter.validation.inertia_matrix import base_chi, inertia_matrices
from exciter.validation.open_loop import Horizons, OpenLoop, SimulatedArm, simulate_open_loop

LEAST_CONTROLLER_RATE_HZ = 1000.0  # of the controller that follows
BANDWIDTH_OVER_MOTION = 5.0  # of the motion's own frequency, unless a bandwidth is given
LEAST_BANDWIDTH_HZ = 10.0  # unless a bandwidth is given
MOST_BANDWIDTH_HZ = 0.05 * LEAST_CONTROLLER_RATE_HZ  # unless a bandwidth is given
FRICTION_FADE_SPEED_SHARE = 0.02  # of the rms speed, below which the feed-forward of dry friction fades
MOST_DRAWN_INSTANTS = 4000
REST_SHARE_OF_FASTEST = 0.01  # of a joint's highest speed, below which it rests


@dataclass(frozen=True)
class Following(Settings):
    """bandwidth [Hz] and damping ratio of the controller that follows a recorded motion; None: five times the motion's
    own frequency, 10 Hz or more. seconds: of the log that are simulated, at most."""

    refusal = ParameterError
    bandwidth: Positive | None = None
    damping: Positive = 1.0
    seconds: Positive = 20.0


@dataclass(frozen=True, eq=False)
class Followed:
    """tracking (n,): rms of the simulated position less the recorded one [position_units]; torque, prediction, signal
    (n,): rms of the simulated torque less the measured one, of the inverse model's along the recorded motion less the
    measured one, and of the measured torque [torque_units], while the joint moves; NaN where it rests throughout.
    seconds: that were simulated; bandwidth [Hz]: of the controller that follows, None for the robot's own. stopped: why
    it could not go on, empty where it could.

    time (M,), measured, simulated (M, n): some of the instants, for drawing."""

    run: str
    joints: tuple[str, ...]
    position_units: tuple[str, ...]
    torque_units: tuple[str, ...]
    seconds: float
    bandwidth: float | None
    tracking: Array
    torque: Array
    prediction: Array
    signal: Array
    time: Array
    measured: Array
    simulated: Array
    stopped: str = ""
    notes: tuple[Note, ...] = ()

    @property
    def percent(self) -> Array:
        """(n,) 100 · rms of the torque's difference / rms of the measured torque."""
        return np.asarray(100.0 * self.torque / np.maximum(self.signal, 1e-300))

    @property
    def prediction_percent(self) -> Array:
        """(n,) of the inverse model along the recorded motion."""
        return np.asarray(100.0 * self.prediction / np.maximum(self.signal, 1e-300))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        if self.stopped:
            return (f"the identified model could not be simulated in closed loop: {self.stopped}", *texts(self.notes))
        rows = zip(self.joints, self.percent, self.prediction_percent, self.tracking, self.position_units, strict=True)
        each = "; ".join(
            f"{joint} {'rests' if np.isnan(percent) else f'{percent:.3g} % ({inverse:.3g} %)'}, {error:.2g} {unit}"
            for joint, percent, inverse, error, unit in rows
        )
        who = "the robot's own controller" if self.bandwidth is None else f"a {self.bandwidth:.3g} Hz controller"
        return (
            f"simulated for {self.seconds:.3g} s under {who}, the torque of joints that move differs from the measured "
            "one by this part of its rms, noise included (the inverse model's along the recorded motion: in brackets), "
            f"and the position by: {each}",
            *texts(self.notes),
        )

    def to_dict(self) -> dict[str, Any]:
        columns = {"tracking_rms": self.tracking, "torque_rms": self.torque, "torque_percent": self.percent}
        columns["prediction_percent"] = self.prediction_percent
        told = {key: np.full(len(self.joints), np.nan) if self.stopped else x for key, x in columns.items()}
        joints = by_name(self.joints, position_unit=self.position_units, torque_unit=self.torque_units, **told)
        about = {"run": self.run, "seconds": self.seconds, "bandwidth": self.bandwidth, "stopped": self.stopped or None}
        return finite({**about, "joints": joints, "words": list(self.sentences)})


def simulate_closed_loop(
    model: DynamicModel,
    values: ArrayLike,
    run: Run,
    following: Following | None = None,
    loop: ClosedLoop | None = None,
    dead_zone: PerJoint = 0.0,
) -> Followed:
    """values (b,) of the model's base parameters. loop: the robot's own controller and reference where they are known,
    instead of one that follows the recorded motion. dead_zone [rad/s or m/s]: joints with dry friction that are slower
    rest, see ``InverseDynamic``; where it is zero, a hundredth of the joint's fastest."""
    following = following or Following()
    arm = SimulatedArm.of(model, base_chi(model, values), run.payload)
    if loop is not None:
        assert run.span is not None
        loop.refuse(arm.model, run.span, run.name)
    parts, nothing = tuple(_beginning(run, following.seconds)), np.zeros((0, model.n))
    fastest = np.max([np.zeros(model.n), *(np.abs(part.motion.qd).max(axis=0) for part in parts)], axis=0)
    slow = tuple((REST_SHARE_OF_FASTEST * fastest).tolist())
    given, usual = (InverseDynamic(None, zone).zone(model) for zone in (dead_zone, slow))
    zone = np.where(given > 0.0, given, usual)  # (n,) speeds below which a joint rests
    squares, counts = np.zeros((2, 4, model.n))  # of tracking, torque and prediction errors, and of the torque
    kept, seconds, stopped = [(np.zeros(0), nothing, nothing)], 0.0, ""
    bandwidth = following.bandwidth if loop is None and parts else None
    for part in parts:
        motion, measured = part.motion, part.torque
        try:
            if loop is not None:
                found = loop.run(arm.model, arm.chi, motion.time)
            else:
                bandwidth = bandwidth or usual_bandwidth(motion)
                found = follow(arm, motion, part.rate, bandwidth, following.damping)
        except Unmovable as error:
            stopped = str(error)
            break
        beside, moves = arm.recorded(motion), np.abs(motion.qd) >= zone
        simulated, tracking = found.torque + beside, found.motion.q - motion.q
        errors = (simulated - measured, arm.model.torque(motion, arm.chi) + beside - measured, measured)
        squares += [(tracking**2).sum(axis=0), *((error**2 * moves).sum(axis=0) for error in errors)]
        counts += [np.full(model.n, len(part)), *(moves.sum(axis=0),) * 3]
        seconds += len(part) / part.rate
        kept.append((motion.time, measured, simulated))
    rms = np.sqrt(squares / np.where(counts > 0, counts, np.nan))
    drawn = [np.concatenate(x) for x in zip(*kept, strict=True)]
    every = max(1, -(-len(drawn[0]) // MOST_DRAWN_INSTANTS))
    slides = [joint.is_prismatic for joint in model.robot.joints]
    return Followed(
        run=run.name,
        joints=model.robot.joint_names,
        position_units=tuple("m" if one else "rad" for one in slides),
        torque_units=tuple("N" if one else "N·m" for one in slides),
        seconds=seconds,
        bandwidth=bandwidth,
        stopped=stopped,
        notes=arm.notes,
        **dict(zip(("tracking", "torque", "prediction", "signal"), rms, strict=True)),
        **dict(zip(("time", "measured", "simulated"), (x[::every] for x in drawn), strict=True)),
    )


def usual_bandwidth(motion: Motion) -> float:
    """[Hz] five times the motion's frequency, rms q̈ / rms q̇ of its fastest joint, within limits."""
    speed, change = (np.sqrt((x**2).mean(axis=0)) for x in (motion.qd, motion.qdd))
    moving = speed > 1e-3 * speed.max()
    own = float((change[moving] / speed[moving]).max(initial=0.0)) / (2.0 * np.pi) if speed.max() > 0.0 else 0.0
    return float(np.clip(BANDWIDTH_OVER_MOTION * own, LEAST_BANDWIDTH_HZ, MOST_BANDWIDTH_HZ))


def follow(arm: SimulatedArm, motion: Motion, rate: float, bandwidth: float, damping: float = 1.0) -> SimulatedRun:
    """The arm under computed torque along a recorded motion at ``rate`` [Hz], at its samples."""
    between = max(1, int(np.ceil(LEAST_CONTROLLER_RATE_HZ / rate - 1e-9)))  # ticks per sample
    own, reference = np.arange(len(motion)) / rate, motion
    if between > 1 and len(motion) > 1:
        time = np.arange((len(motion) - 1) * between + 1) / (rate * between)
        curve = CubicHermiteSpline(own, motion.q, motion.qd)
        qdd = np.column_stack([np.interp(time, own, column) for column in motion.qdd.T])
        reference = Motion(time, curve(time), curve(time, 1), qdd)
    speed = max(FRICTION_FADE_SPEED_SHARE * float(np.sqrt((reference.qd**2).mean(axis=0)).max()), 1e-9)
    soft = DynamicModel(arm.model.robot, tuple(term.smoothed(speed) for term in arm.model.terms), arm.model.engine)
    forward, inertia = soft.torque(reference, arm.chi), inertia_matrices(arm.model, arm.chi, reference.q)
    q_r, qd_r, omega = reference.q, reference.qd, 2.0 * np.pi * bandwidth

    def computed_torque(tick: int, q: Array, qd: Array) -> Array:
        wanted = 2.0 * damping * omega * (qd_r[tick] - qd) + omega**2 * (q_r[tick] - q)
        return np.asarray(forward[tick] + inertia[tick] @ wanted)

    ticks, start = Ticks(1.0 / (rate * between), 1, len(reference)), (motion.q[0], motion.qd[0])
    return Simulation(arm.model, arm.chi, computed_torque, np.full(arm.model.n, np.inf), ticks, start).at(own)


def _beginning(run: Run, seconds: float) -> Iterator[Processed]:
    """Pieces of the run, so many seconds of it."""
    left = seconds
    for part in run.parts:
        count = min(len(part), int(left * part.rate) + 1)
        if count < 2:
            return
        yield part[:count]
        left -= count / part.rate


@dataclass(frozen=True, eq=False)
class SimulationCheck:
    """The same run in both ways: under a controller, and driven by the measured torque for a short time."""

    run: str
    closed_loop: Followed
    open_loop: OpenLoop

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.closed_loop.sentences, *self.open_loop.sentences)))

    def to_dict(self) -> dict[str, Any]:
        both = {"closed_loop": self.closed_loop.to_dict(), "open_loop": self.open_loop.to_dict()}
        return {"run": self.run, **both, "words": list(self.sentences)}


def simulate_run(
    model: DynamicModel,
    values: ArrayLike,
    run: Run,
    horizons: Horizons | None = None,
    following: Following | None = None,
    dead_zone: PerJoint = 0.0,
) -> SimulationCheck:
    """values (b,) of the model's base parameters; see ``simulate_open_loop`` and ``simulate_closed_loop``."""
    closed = simulate_closed_loop(model, values, run, following, dead_zone=dead_zone)
    opened = simulate_open_loop(model, values, run, horizons)
    return SimulationCheck(run=run.name, closed_loop=closed, open_loop=opened)
