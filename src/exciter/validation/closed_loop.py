"""Closed loop: the identified arm is simulated under a controller, and torque and motion compared with the recording.

With the robot's own controller and reference known (``ClosedLoop``), the simulated robot is asked to do what the real
one was asked to do. Without them, a computed-torque controller that knows the identified model follows the recorded
motion: Γ = Γ̂(q_r, q̇_r, q̈_r) + Â(q_r)(K_d ė + K_p e). The torque it takes is then what the model says about this motion,
a motion that cannot be followed is one the model cannot make. While dry friction holds a joint, its drive may give
anything within the friction, and what it gives is the controller's affair: torques are compared while the joint moves.

A simulator that is driven by the identified model, compared with what the robot did (§ 12.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicHermiteSpline

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.processed import Processed
from exciter.experiment.virtual.control import Law
from exciter.identification.closed_loop.closed_loop import ClosedLoop, SimulatedRun, Simulation, Ticks, Unmovable
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.runs.run import Run
from exciter.notes import Note, texts
from exciter.parameters.terms.term import PerJoint
from exciter.robot.motion import Motion
from exciter.typing import Array
from exciter.validation.inertia_matrix import base_chi, inertia_matrices
from exciter.validation.open_loop import Horizons, OpenLoop, SimulatedArm, simulate_open_loop

LEAST_CONTROLLER_RATE_HZ = 1000.0  # [Hz] at least, of the controller that follows
BANDWIDTH_OVER_MOTION = 5.0  # times the motion's own frequency: the bandwidth unless given
LEAST_BANDWIDTH_HZ, MOST_BANDWIDTH_PER_TICK = 10.0, 0.05  # [Hz] and of the ticks: least and largest bandwidth then
FRICTION_FADE_SPEED_SHARE = 0.02  # of the rms speed: below it the feed-forward of dry friction fades
MOST_DRAWN_INSTANTS = 4000  # instants kept for drawing
REST_SHARE_OF_FASTEST = 0.01  # of a joint's fastest: slower, it rests


@dataclass(frozen=True)
class Following:
    """bandwidth [Hz] and damping ratio of the controller that follows a recorded motion; None: five times the motion's
    own frequency, 10 Hz or more. seconds: of the log that are simulated, at most."""

    bandwidth: float | None = None
    damping: float = 1.0
    seconds: float = 20.0

    def __post_init__(self) -> None:
        for name in ("bandwidth", "damping", "seconds"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise ParameterError(f"{name} is {value:g}; give a number > 0")


@dataclass(frozen=True, eq=False)
class Followed:
    """tracking (n,): rms of the simulated position less the recorded one [position_units]; torque, prediction, signal
    (n,): rms of the simulated torque less the measured one, of the inverse model's along the recorded motion less the
    measured one, and of the measured torque [torque_units], while the joint moves; NaN where it rests throughout.
    seconds: that were simulated; bandwidth [Hz]: of the controller that follows, None for the robot's own. stopped: why
    it could not go on, empty where it could.

    time (M,), measured, simulated (M, n): some of the instants, for drawing.
    """

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
        """(n,) the same of the inverse model along the recorded motion."""
        return np.asarray(100.0 * self.prediction / np.maximum(self.signal, 1e-300))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        if self.stopped:
            return (f"the identified model could not be simulated in closed loop: {self.stopped}", *texts(self.notes))
        each = "; ".join(self._of_joint(j) for j in range(len(self.joints)))
        who = "the robot's own controller" if self.bandwidth is None else f"a {self.bandwidth:.3g} Hz controller"
        return (
            f"simulated for {self.seconds:.3g} s under {who}, the torque of joints that move differs from the measured "
            "one by this part of its rms, noise included (the inverse model's along the recorded motion: in brackets), "
            f"and the position by: {each}",
            *texts(self.notes),
        )

    def _of_joint(self, j: int) -> str:
        error = f"{self.tracking[j]:.2g} {self.position_units[j]}"
        if np.isnan(self.percent[j]):
            return f"{self.joints[j]} rests, {error}"
        return f"{self.joints[j]} {self.percent[j]:.3g} % ({self.prediction_percent[j]:.3g} %), {error}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the instants."""
        columns = (self.tracking, self.torque, self.percent, self.prediction_percent)
        keys = ("tracking_rms", "torque_rms", "torque_percent", "prediction_percent")
        joints = {
            joint: {
                "position_unit": self.position_units[j],
                "torque_unit": self.torque_units[j],
                **{key: self._plain(column[j]) for key, column in zip(keys, columns, strict=True)},
            }
            for j, joint in enumerate(self.joints)
        }
        return {
            "run": self.run,
            "seconds": self.seconds,
            "bandwidth": self.bandwidth,
            "stopped": self.stopped or None,
            "joints": joints,
            "words": list(self.sentences),
        }

    def _plain(self, number: float) -> float | None:
        return None if self.stopped or np.isnan(number) else float(number)


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
    parts = tuple(_beginning(run, following.seconds))
    zone = _zone(model, dead_zone, parts)
    bandwidth, sums, stopped = None, _Sums(model.n), ""
    for part in parts:
        if loop is None and bandwidth is None:
            bandwidth = following.bandwidth or usual_bandwidth(part.motion)
        try:
            if loop is not None:
                found = loop.run(arm.model, arm.chi, part.motion.time)
            else:
                assert bandwidth is not None
                found = follow(arm, part.motion, part.rate, bandwidth, following.damping)
        except Unmovable as error:
            stopped = str(error)
            break
        beside = arm.recorded(part.motion)
        moves = np.abs(part.motion.qd) >= zone
        sums.add(part, found, beside, arm.model.torque(part.motion, arm.chi) + beside, moves)
    kinds = [joint.is_prismatic for joint in model.robot.joints]
    time, measured, simulated = sums.shown()
    tracking, torque, prediction, signal = sums.rms()
    return Followed(
        run.name,
        model.robot.joint_names,
        tuple("m" if slides else "rad" for slides in kinds),
        tuple("N" if slides else "N·m" for slides in kinds),
        sums.seconds,
        bandwidth,
        tracking,
        torque,
        prediction,
        signal,
        time,
        measured,
        simulated,
        stopped,
        arm.notes,
    )


def usual_bandwidth(motion: Motion) -> float:
    """[Hz] five times the motion's frequency, rms q̈ / rms q̇ of its fastest joint, within what ticks allow."""
    speed, change = (np.sqrt((x**2).mean(axis=0)) for x in (motion.qd, motion.qdd))
    moving = speed > 1e-3 * speed.max()
    own = float((change[moving] / speed[moving]).max(initial=0.0)) / (2.0 * np.pi) if speed.max() > 0.0 else 0.0
    return float(
        np.clip(BANDWIDTH_OVER_MOTION * own, LEAST_BANDWIDTH_HZ, MOST_BANDWIDTH_PER_TICK * LEAST_CONTROLLER_RATE_HZ)
    )


def follow(arm: SimulatedArm, motion: Motion, rate: float, bandwidth: float, damping: float = 1.0) -> SimulatedRun:
    """The arm under computed torque along a recorded motion at ``rate`` [Hz], seen at its samples."""
    between = max(1, int(np.ceil(LEAST_CONTROLLER_RATE_HZ / rate - 1e-9)))
    reference = _between_samples(motion, between, rate)
    ticks = Ticks(1.0 / (rate * between), 1, len(reference))
    law = _computed_torque(arm, reference, 2.0 * np.pi * bandwidth, damping)
    start = motion.q[0].copy(), motion.qd[0].copy()
    simulation = Simulation(arm.model, arm.chi, law, np.full(arm.model.n, np.inf), ticks, start)
    return simulation.at(np.arange(len(motion)) / rate)


def _between_samples(motion: Motion, between: int, rate: float) -> Motion:
    """With ``between`` ticks per sample."""
    if between == 1 or len(motion) < 2:
        return motion
    own = np.arange(len(motion)) / rate
    time = np.arange((len(motion) - 1) * between + 1) / (rate * between)
    curve = CubicHermiteSpline(own, motion.q, motion.qd)
    qdd = np.column_stack([np.interp(time, own, column) for column in motion.qdd.T])
    return Motion(time, curve(time), curve(time, 1), qdd)


def _computed_torque(arm: SimulatedArm, reference: Motion, omega: float, damping: float) -> Law:
    speed = float(np.sqrt((reference.qd**2).mean(axis=0)).max())
    soft = DynamicModel(
        arm.model.robot,
        tuple(t.smoothed(max(FRICTION_FADE_SPEED_SHARE * speed, 1e-9)) for t in arm.model.terms),
        arm.model.engine,
    )
    forward = soft.torque(reference, arm.chi)
    inertia = inertia_matrices(arm.model, arm.chi, reference.q)
    q_r, qd_r = reference.q, reference.qd

    def torque(tick: int, q: Array, qd: Array) -> Array:
        wanted = 2.0 * damping * omega * (qd_r[tick] - qd) + omega**2 * (q_r[tick] - q)
        tau: Array = forward[tick] + inertia[tick] @ wanted
        return tau

    return torque


def _zone(model: DynamicModel, dead_zone: PerJoint, parts: Sequence[Processed]) -> Array:
    """(n,) speeds below which a joint rests."""
    fastest = np.max([np.zeros(model.n), *(np.abs(part.motion.qd).max(axis=0) for part in parts)], axis=0)
    given, usual = (
        InverseDynamic(None, zone).zone(model)
        for zone in (dead_zone, tuple((REST_SHARE_OF_FASTEST * fastest).tolist()))
    )
    return np.where(given > 0.0, given, usual)


def _beginning(run: Run, seconds: float) -> Iterator[Processed]:
    """Pieces of the run until so much of it was seen."""
    left = seconds
    for part in run.parts:
        count = min(len(part), int(left * part.rate) + 1)
        if count < 2:
            return
        yield part[:count]
        left -= count / part.rate


class _Sums:
    """Squares of tracking, torque and prediction errors and of the torque; some instants for drawing."""

    def __init__(self, n: int) -> None:
        self._squares, self._counts, self._count, self.seconds = np.zeros((4, n)), np.zeros((4, n)), 0, 0.0
        self._kept: list[tuple[Array, Array, Array]] = [(np.zeros(0), np.zeros((0, n)), np.zeros((0, n)))]

    def add(
        self, part: Processed, found: SimulatedRun, beside: Array, predicted: Array, moves: NDArray[np.bool_]
    ) -> None:
        """moves (N, n): where torques are compared."""
        simulated, motion = found.torque + beside, found.motion
        errors = (simulated - part.torque, predicted - part.torque, part.torque)
        tracking = ((motion.q - part.motion.q) ** 2).sum(axis=0)
        self._squares += [tracking, *((error**2 * moves).sum(axis=0) for error in errors)]
        self._counts += [np.full(len(tracking), len(part)), *(moves.sum(axis=0),) * 3]
        self._count += len(part)
        self.seconds += len(part) / part.rate
        self._kept.append((part.motion.time, part.torque, simulated))

    def rms(self) -> Array:
        """(4, n); NaN where nothing was simulated, or no joint moves."""
        return np.sqrt(self._squares / np.where(self._counts > 0, self._counts, np.nan))

    def shown(self) -> tuple[Array, Array, Array]:
        every = max(1, -(-self._count // MOST_DRAWN_INSTANTS))
        time, measured, simulated = (np.concatenate(x)[::every] for x in zip(*self._kept, strict=True))
        return time, measured, simulated


@dataclass(frozen=True, eq=False)
class SimulationCheck:
    """The same run in both ways: under a controller, and driven by the measured torque for a short time."""

    run: str
    closed_loop: Followed
    open_loop: OpenLoop

    @property
    def sentences(self) -> tuple[str, ...]:
        said = (*self.closed_loop.sentences, *self.open_loop.sentences)
        return tuple(dict.fromkeys(said))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "run": self.run,
            "closed_loop": self.closed_loop.to_dict(),
            "open_loop": self.open_loop.to_dict(),
            "words": list(self.sentences),
        }


def simulate_run(
    model: DynamicModel,
    values: ArrayLike,
    run: Run,
    horizons: Horizons | None = None,
    following: Following | None = None,
    loop: ClosedLoop | None = None,
    dead_zone: PerJoint = 0.0,
) -> SimulationCheck:
    """values (b,) of the model's base parameters; see ``simulate_open_loop`` and ``simulate_closed_loop``."""
    closed = simulate_closed_loop(model, values, run, following, loop, dead_zone)
    return SimulationCheck(run.name, closed, simulate_open_loop(model, values, run, horizons))
