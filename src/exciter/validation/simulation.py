"""The identified arm simulated, in open and in closed loop; torque and motion compared with the log (§ 12.7).

``SimulatedArm``: the direct dynamics of a model, with dry friction that holds a joint at rest.

Open loop, over short horizons: from a measured state q̈ = A⁻¹(Γ_measured − h(q, q̇)) is integrated for a fraction of a
second, from many instants of a log, and the position it leads to is compared with the recorded one. Longer horizons say
less: an arm without its controller is not stable, and any error grows. Compared with the description's own parameters,
and with no model: constant velocity.

Closed loop: with the robot's own controller and reference known (``ClosedLoop``), the simulated robot gets the same
reference. Without them, a computed-torque controller that knows the identified model follows the recorded motion: Γ =
Γ̂(q_r, q̇_r, q̈_r) + Â(q_r)(K_d ė + K_p e). The torque it takes is what the model predicts for this motion; a motion that
cannot be followed is one the model cannot make. While dry friction holds a joint, its torque depends on the controller:
torques are compared while the joint moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.quality.smoothed_log import columns_at
from exciter.experiment.recording import Payload
from exciter.experiment.signals.processed_motion import Processed
from exciter.files import by_name, finite
from exciter.identification.closed_loop import closed_loop as loops
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.runs.run import Run, load_chi
from exciter.notes import Note, note, texts, warning
from exciter.parameters.terms import Sign
from exciter.parameters.terms.friction import DryFriction
from exciter.parameters.terms.term import PerJoint
from exciter.robot.motion import Motion
from exciter.settings import Positive, Settings
from exciter.typing import Array, Index
from exciter.validation.inertia_matrix import base_chi, inertia_matrices

TORQUE_HOLD_S = 2e-3  # over which the measured torque is averaged and held, unless the log is slower
LONGEST_INTEGRATION_STEP_S = 1e-3
DIVERGED_DISTANCE = 1e3  # [rad or m] from the recording, beyond which a simulation has diverged
LEAST_CONTROLLER_RATE_HZ = 1000.0  # of the controller that follows
BANDWIDTH_OVER_MOTION = 5.0  # of the motion's own frequency, unless a bandwidth is given
LEAST_BANDWIDTH_HZ = 10.0  # unless a bandwidth is given
MOST_BANDWIDTH_HZ = 0.05 * LEAST_CONTROLLER_RATE_HZ  # unless a bandwidth is given
FRICTION_FADE_SPEED_SHARE = 0.02  # of the rms speed, below which the feed-forward of dry friction fades
MOST_DRAWN_INSTANTS = 4000
REST_SHARE_OF_FASTEST = 0.01  # of a joint's highest speed, below which it rests


@dataclass(frozen=True, eq=False)
class SimulatedArm:
    """model, chi: what is simulated, dry friction with the true sign and not below zero. whole, beside: the model as it
    was given, and χ of its terms that the simulator does not have, zero for all others. notes: on what was changed."""

    model: DynamicModel
    chi: Array
    whole: DynamicModel
    beside: Array
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, model: DynamicModel, chi: Array, payload: Payload | None = None) -> SimulatedArm:
        """Standard parameters χ (p,) of ``model``, and a known load on top of them."""
        kept = [term for term in model.terms if type(term) in loops.TERM_FORCE_ROWS]
        terms = tuple(replace(term, shape=Sign()) if isinstance(term, DryFriction) else term for term in kept)
        simulated = DynamicModel(model.robot, terms, model.engine)
        known = dict(zip(model.standard, chi, strict=True))
        own = np.array([known[name] for name in simulated.standard])
        if payload is not None and payload.mass:
            own = own + load_chi(simulated, payload)
        dry, said = loops.dry_friction(simulated), list[Note]()
        if other := [type(term).__name__ for term in model.terms if type(term) not in loops.TERM_FORCE_ROWS]:
            text = f"the simulator does not have {', '.join(other)}: their torque is taken along the recorded motion"
            said.append(note("joint terms", text))
        if shaped := {type(term.shape).__name__ for term in kept if isinstance(term, DryFriction)} - {"Sign"}:
            how = "is simulated with the true sign of the velocity, and holds joints at rest"
            said.append(note("dry friction", f"dry friction with {', '.join(sorted(shaped))} {how}"))
        if negative := [simulated.standard[k] for k in np.flatnonzero(dry & (own < 0.0))]:
            text = f"dry friction below zero, which no joint has, is simulated as none: {', '.join(negative)}"
            said.append(warning("dry friction", text))
        own = np.where(dry, np.maximum(own, 0.0), own)
        beside = np.where(np.isin(model.standard, simulated.standard), 0.0, chi)
        return cls(model=simulated, chi=own, whole=model, beside=beside, notes=tuple(said))

    def recorded(self, motion: Motion) -> Array:
        """(N, n) torque of the terms that the simulator does not have, along a recorded motion [N·m or N]."""
        return self.whole.torque(motion, self.beside) if self.beside.any() else np.zeros_like(motion.q)


@dataclass(frozen=True)
class Horizons:
    """seconds: how far to integrate [s]; starts: instants of the log to start from, evenly over it, at most."""

    seconds: tuple[float, ...] = (0.05, 0.1, 0.2)
    starts: int = 150

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", tuple(sorted(float(h) for h in self.seconds)))
        if not self.seconds or not all(0.0 < h < 60.0 for h in self.seconds):
            raise ParameterError(f"horizons are {list(self.seconds)}; give seconds, more than 0 and less than 60")
        if self.starts < 1:
            raise ParameterError(f"starts is {self.starts}; give 1 or more")


@dataclass(frozen=True, eq=False)
class OpenLoop:
    """rms (H, n) of the simulated position less the recorded one after ``horizons`` (H,) [s], in ``units``: of the
    identified ``model``, of the ``description`` and at ``constant_velocity``. starts: of how many simulations; stopped,
    description_stopped: of these, how many no arm could go on with (A ⊁ 0, or lost), not in the rms; NaN: all."""

    run: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    horizons: Array
    starts: int
    model: Array
    description: Array
    constant_velocity: Array
    stopped: int
    description_stopped: int
    notes: tuple[Note, ...] = ()

    @property
    def relative(self) -> Array:
        """(H,) error of the model over that at constant velocity: rms over joints of the ratios that are defined."""
        return self._over_constant(self.model)

    @property
    def description_relative(self) -> Array:
        return self._over_constant(self.description)

    def _over_constant(self, rms: Array) -> Array:
        moved = self.constant_velocity > 0.0
        ratio = np.where(moved, rms, 0.0) / np.where(moved, self.constant_velocity, 1.0)
        return np.asarray(np.sqrt((ratio**2).sum(axis=1) / np.maximum(moved.sum(axis=1), 1)))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        models = (("the identified model", self.stopped), ("the description", self.description_stopped))
        why = "its inertia matrix is not positive definite there, or the simulation diverged; figures are of the others"
        failed = [(f"in {stopped} of {self.starts} simulations {what}", stopped) for what, stopped in models]
        said = [f"{which} could not move: {why}" for which, stopped in failed if stopped]
        if np.isfinite(self.model).all():
            last = zip(self.joints, self.model[-1], self.units, strict=True)
            each = ", ".join(f"{joint} {value:.2g} {unit}" for joint, value, unit in last)
            both = (self.relative[-1], self.description_relative[-1])
            own, other = (f"{100.0 * part:.3g} % of" if part < 10.0 else f"{part:.0f} times" for part in both)
            beside = f", the description {other} it" if np.isfinite(self.description).all() else ""
            useless = "; the model is of no use for simulation over this time" if self.relative[-1] >= 1.0 else ""
            words = f"driven by the measured torque for {self.horizons[-1]:g} s, the identified model ends this far "
            words += f"from the recorded position (rms of {self.starts} starts): {each}; {own} the error at constant "
            said.append(f"{words}velocity{beside}{useless}")
        return (*said, *texts(self.notes))

    def to_dict(self) -> dict[str, Any]:
        rows = []
        for k, horizon in enumerate(self.horizons):
            rms = {kind: getattr(self, kind)[k] for kind in ("model", "description", "constant_velocity")}
            own, other = self.relative[k], self.description_relative[k]
            ratios = {"relative_to_constant_velocity": own, "description_relative_to_constant_velocity": other}
            joints = by_name(self.joints, unit=self.units, **rms)
            rows.append({"seconds": float(horizon), **ratios, "joints": joints})
        about = {name: getattr(self, name) for name in ("run", "starts", "stopped", "description_stopped")}
        return finite({**about, "horizons": rows, "words": list(self.sentences)})


def simulate_open_loop(model: DynamicModel, values: ArrayLike, run: Run, horizons: Horizons | None = None) -> OpenLoop:
    """values (b,) of the model's base parameters; run: motion and measured torque, a known payload included."""
    horizons = horizons or Horizons()
    arms = [SimulatedArm.of(model, chi, run.payload) for chi in (base_chi(model, values), model.nominal)]
    count, ends, squares = 0, None, np.zeros((3, len(horizons.seconds), model.n))
    counted = np.zeros(squares.shape[:2], dtype=np.int64)
    assert run.span is not None
    wanted = np.linspace(run.span[0], max(run.span[1] - horizons.seconds[-1], run.span[0]), horizons.starts)
    for part in filter(len, run.parts):
        motion, time = part.motion, part.motion.time
        group = max(1, round(part.rate * TORQUE_HOLD_S))  # samples over which the torque is held
        steps = group * np.array([max(1, round(h * part.rate / group)) for h in horizons.seconds])  # to each end
        at = np.rint((wanted - time[0]) * part.rate).astype(np.int64)
        starts = np.unique(at[(at >= 0) & (at <= len(part) - 1 - steps[-1])])
        if not len(starts):
            continue
        count += len(starts)
        seconds = steps / part.rate  # horizons as whole samples
        ends = seconds if ends is None else ends
        driven = [_simulated(arm, replace(part, silent=run.silent), group, starts, steps) for arm in arms]
        straight = motion.q[starts][:, None] + seconds[:, None] * motion.qd[starts][:, None]
        for k, positions in enumerate((*driven, straight)):
            errors = positions - motion.q[starts[:, None] + steps]
            good = np.asarray(np.isfinite(errors).all(axis=2))
            squares[k] += (np.where(good[..., None], errors, 0.0) ** 2).sum(axis=0)
            counted[k] += good.sum(axis=0)
    if ends is None:
        why = f"{run.name} has no stretch of {horizons.seconds[-1]:g} s without a gap to simulate; give shorter "
        raise RecordingError(f"{why}horizons")
    rms = np.sqrt(squares / np.where(counted > 0, counted, np.nan)[..., None])
    kinds = dict(zip(("model", "description", "constant_velocity"), rms, strict=True))
    return OpenLoop(
        run=run.name,
        joints=model.robot.joint_names,
        units=tuple("m" if joint.is_prismatic else "rad" for joint in model.robot.joints),
        horizons=ends,
        starts=count,
        **kinds,
        stopped=count - int(counted[0, -1]),
        description_stopped=count - int(counted[1, -1]),
        notes=(*arms[0].notes, *_borrowed(model, run)),
    )


def _borrowed(model: DynamicModel, run: Run) -> tuple[Note, ...]:
    joints = ", ".join(model.robot.joint_names[j] for j in run.silent)
    text = f"the torque of {joints} is unusable: there the robot is driven by what the model itself asks for"
    return (note("torque", text),) if joints else ()


def _simulated(arm: SimulatedArm, part: Processed, group: int, starts: Index, ends: Index) -> Array:
    """(S, H, n) positions after ``ends`` (H,) samples, the torque held over ``group`` of them; NaN once it stopped."""
    kernel, simulated = loops.forward_kernel(arm.model, arm.chi)
    torque, silent = part.torque - arm.recorded(part.motion), list(part.silent)
    if silent:
        torque[:, silent] = arm.model.torque(part.motion, arm.chi)[:, silent]
    total = np.concatenate([np.zeros((1, torque.shape[1])), np.cumsum(0.5 * (torque[1:] + torque[:-1]), axis=0)])
    held = (total[group:] - total[:-group]) / group  # mean of the intervals that follow each sample (trapezium rule)
    steps = int(np.ceil(group / part.rate / LONGEST_INTEGRATION_STEP_S - 1e-9))
    step = group / part.rate / steps
    found = np.full((len(starts), len(ends), arm.model.n), np.nan)
    for k, start in enumerate(starts.tolist()):
        q, qd, done = part.motion.q[start].copy(), part.motion.qd[start].copy(), 0
        for h, end in enumerate(ends.tolist()):
            push = held[start + done : start + end : group]
            arrived = all(kernel.advance(simulated, q, qd, torque, step, steps, 0.0) for torque in push)
            if not arrived or not (np.abs(q - part.motion.q[start + end]) < DIVERGED_DISTANCE).all():
                break
            found[k, h], done = q, end
    return found


@dataclass(frozen=True)
class Following(Settings):
    """bandwidth [Hz] and damping ratio of the controller that follows a recorded motion; None: five times the motion's
    own frequency, 10 Hz or more. seconds: of the log that are simulated, at most."""

    refusal = ParameterError
    bandwidth: Positive | None = None
    damping: Positive = 1.0
    seconds: Positive = 20.0


@dataclass(frozen=True, eq=False)
class ClosedLoopCheck:
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
        none = "rests, or has no torque"
        each = "; ".join(
            f"{joint} {none if np.isnan(percent) else f'{percent:.3g} % ({inverse:.3g} %)'}, {error:.2g} {unit}"
            for joint, percent, inverse, error, unit in rows
        )
        who = "the robot's own controller" if self.bandwidth is None else f"a {self.bandwidth:.3g} Hz controller"
        words = f"simulated for {self.seconds:.3g} s under {who}, the torque of joints that move differs from the "
        words += "measured one by this part of its rms, noise included (the inverse model's along the recorded motion: "
        return (f"{words}in brackets), and the position by: {each}", *texts(self.notes))

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
    loop: loops.ClosedLoop | None = None,
    dead_zone: PerJoint = 0.0,
) -> ClosedLoopCheck:
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
        except loops.Unmovable as error:
            stopped = str(error)
            break
        beside, moves = arm.recorded(motion), np.abs(motion.qd) >= zone
        moves[:, list(run.silent)] = False  # there is no torque to compare with
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
    return ClosedLoopCheck(
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


def follow(arm: SimulatedArm, motion: Motion, rate: float, bandwidth: float, damping: float) -> loops.SimulatedRun:
    """The arm under computed torque along a recorded motion at ``rate`` [Hz], at its samples."""
    between = max(1, int(np.ceil(LEAST_CONTROLLER_RATE_HZ / rate - 1e-9)))  # ticks per sample
    own, reference = np.arange(len(motion)) / rate, motion
    if between > 1 and len(motion) > 1:
        time = np.arange((len(motion) - 1) * between + 1) / (rate * between)
        curve = scipy.interpolate.CubicHermiteSpline(own, motion.q, motion.qd)
        reference = Motion(time, curve(time), curve(time, 1), columns_at(time, own, motion.qdd))
    speed = max(FRICTION_FADE_SPEED_SHARE * float(np.sqrt((reference.qd**2).mean(axis=0)).max()), 1e-9)
    soft = DynamicModel(arm.model.robot, tuple(term.smoothed(speed) for term in arm.model.terms), arm.model.engine)
    forward, inertia = soft.torque(reference, arm.chi), inertia_matrices(arm.model, arm.chi, reference.q)
    q_r, qd_r, omega = reference.q, reference.qd, 2.0 * np.pi * bandwidth

    def computed_torque(tick: int, q: Array, qd: Array) -> Array:
        wanted = 2.0 * damping * omega * (qd_r[tick] - qd) + omega**2 * (q_r[tick] - q)
        return np.asarray(forward[tick] + inertia[tick] @ wanted)

    ticks, start = loops.Ticks(1.0 / (rate * between), 1, len(reference)), (motion.q[0], motion.qd[0])
    return loops.Simulation(arm.model, arm.chi, computed_torque, np.full(arm.model.n, np.inf), ticks, start).at(own)


def _beginning(run: Run, seconds: float) -> Iterator[Processed]:
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
    closed_loop: ClosedLoopCheck
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
