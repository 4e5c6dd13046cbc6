"""What residuals of drives look like, where armature, damping and dry friction do not describe them.

An encoder's residual is what the closed loop made of a torque that the model lacks. For every structure that drives
are known for, that torque is written down along the simulated motion, up to its size, and sent through the simulated
loop: the difference of two roll-outs is the trace that it would leave. With τ_s the torque that moves the links (rigid,
without rotor and friction), x the links' lag behind the motor, and s the sign of q̇:

- elastic gear, behind which links ring at ω: x = −ω²/(s² + 2ζω s + ω²) τ_s/(J ω²) (Laplace; J: inertia of the links);
- backlash: x stays at one end of the gap as long as τ_s pulls there; then motor and links move freely until the other
  end stops them;
- of both, the encoder on the motor's side: rigid torques of the links' motion that is off by x, in all joints; on the
  side of the links, in the loop: rotor · ẍ + damping · ẋ; logged on that side and not in the loop: x itself;
- friction that changes with position, −q s, with load, −|τ| s, at low speed (Stribeck), −s exp(−|q̇|/v);
- a torque that changes with position, −q, −q²: springs, cables, masses that are off.

Traces are regressed on the residual of the whole log, simulated freely, after all unknowns and first states had their
part of both (a score test). σ counts that residuals last. The largest of those that chance does not explain is named,
then the next joint of the limb beside it. What explains nearly as much is named, too: traces of different structures
are alike in some motions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from exciter.dynamics.model import DynamicModel
from exciter.identification.actuators.drive_numbers import DriveNumbers, Numbers
from exciter.identification.actuators.drive_simulator import DriveSimulator, Stretch, commanded
from exciter.identification.actuators.score_covariance import correlated_scores, lags_of, window_freedom
from exciter.identification.actuators.shooting_fit import ShootingProblem, repeated, robust_sigma
from exciter.notes import Note, warning
from exciter.robot.motion import Motion
from exciter.typing import Array

STRUCTURE_SUBJECT = "structure"  #: of the notes
LOOKED_AT_REPEATS = 2.0  #: samples that say the same, from which on residuals are looked at: less is noise
WRONG_STRUCTURE_CHANCE = 0.01  #: of naming any structure where there is none (Bonferroni)
LEAST_EXPLAINED = 0.2  #: part of a residual's variance, that a structure must explain to be named
NEARLY_AS_MUCH = 0.8  #: of what the best structure explains: told beside it
TRIED_PART = 0.1  #: of the residual: size of the trace from which a slope is taken
FINE_S = 0.001  #: between instants at which torques are written down, unless the simulation's step is longer
SIGN_SPEED = 0.02  #: [rad/s, m/s] over which the sign of a speed changes
RINGING_HZ, RINGING_DAMPING = (5.0, 8.0, 12.0, 18.0, 27.0), 0.05
MOST_TIMES_THE_LAG = 5.0  #: of the gear that a trace was simulated with, that a gear may have
HALF_GAPS_RAD = (0.0005, 0.0015, 0.005)  #: of backlash: wider gaps are crossed later
STRIBECK_SPEED_PARTS = (0.1, 0.3)  #: of the joint's rms speed
HALF_A_RATE = 0.4  #: of the rate of the log: what rings faster is not seen


@dataclass(frozen=True, eq=False)
class LogMotion:
    """A log as the fit simulates it: time (T,) even [s]; q, v, a, torque of the control, load that moves the links
    (T, n); speed (n,): rms; centre (n,) of q in all logs, inertia (n,) of the links about the joints there. rate: of
    the log [Hz]."""

    model: DynamicModel
    numbers: Numbers
    time: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    load: Array
    centre: Array
    speed: Array
    inertia: Array
    rate: float

    def lagging(self, top: float, bottom: Sequence[float], values: Array) -> tuple[Array, Array, Array]:
        """(T,) values through top/bottom (polynomial in s), and its first and second derivative, from rest."""
        step = float(self.time[1] - self.time[0])
        found = list[Array]()
        for order in range(3):
            b, a = scipy.signal.bilinear([top, *[0.0] * order], bottom, fs=1.0 / step)
            at_rest = values - values[0] if order else values
            state = scipy.signal.lfilter_zi(b, a) * at_rest[0]
            found.append(np.asarray(scipy.signal.lfilter(b, a, at_rest, zi=state)[0]))
        return found[0], found[1], found[2]

    def alone(self, j: int, values: Array) -> Array:
        """(T, n): values (T,) of joint j."""
        torque = np.zeros_like(self.q)
        torque[:, j] = values
        return torque

    def behind(self, j: int, lag: tuple[Array, Array, Array]) -> Array:
        """(T, n) torque on the motors of links that are off by a lag (T,) of joint j."""
        moved = [values + self.alone(j, off) for values, off in zip((self.q, self.v, self.a), lag, strict=True)]
        return np.asarray(self.load - self.model.torque(Motion.at(*moved)))

    def ahead(self, j: int, lag: tuple[Array, Array, Array]) -> Array:
        """(T, n) torque of a motor that must be ahead of its links, where the encoder is on their side."""
        rotor, damping, dry = (self.numbers[word][j] for word in ("armature", "damping", "friction"))
        v = self.v[:, j]
        turns = np.tanh((v + lag[1]) / SIGN_SPEED) - np.tanh(v / SIGN_SPEED)  # friction is where the motor moves
        return self.alone(j, rotor * lag[2] + damping * lag[1] + dry * turns)


@dataclass(frozen=True, eq=False)
class LackingTorque:
    """values: gives the torque (T, n) of a structure of size one, or seen: what the encoder shows by itself. positive:
    it has no negative size. words: of its size, in words; empty where there is none of that size."""

    family: str
    values: Callable[[], Array]
    words: Callable[[float], str]
    seen: bool = False
    positive: bool = True


def shapes(motion: LogMotion, j: int) -> list[LackingTorque]:
    """Every structure that is known, of joint j along a motion."""
    found = [*_elastic(motion, j), *_backlash(motion, j)]
    sign, off = np.tanh(motion.v[:, j] / SIGN_SPEED), motion.q[:, j] - motion.centre[j]
    found.append(
        LackingTorque(
            "friction that changes with the position",
            partial(motion.alone, j, -off * sign),
            lambda size: f"dry friction that changes by {size:+.2g} N·m per rad with the position",
            positive=False,
        )
    )
    found.append(
        LackingTorque(
            "friction that grows with the load",
            partial(motion.alone, j, -np.abs(motion.torque[:, j]) * sign),
            lambda size: f"dry friction that grows by {size:.2g} N·m per N·m of load",
        )
    )
    for part in STRIBECK_SPEED_PARTS:
        v = part * float(motion.speed[j])
        found.append(
            LackingTorque(
                "friction at low speed",
                partial(motion.alone, j, -sign * np.exp(-np.abs(motion.v[:, j]) / v)),
                lambda size, v=v: f"dry friction that is larger by {size:.2g} N·m below some {v:.2g} rad/s",  # type: ignore[misc]
            )
        )
    for power, unit in ((1, "N·m/rad"), (2, "N·m/rad²")):
        found.append(
            LackingTorque(
                "torque that changes with the position",
                partial(motion.alone, j, -(off**power)),
                lambda size, unit=unit: (  # type: ignore[misc]
                    f"a torque that changes with the position ({size:+.2g} {unit}): a spring, cables, or masses that "
                    "are off"
                ),
                positive=False,
            )
        )
    return found


def _elastic(motion: LogMotion, j: int) -> list[LackingTorque]:
    found = list[LackingTorque]()
    for hertz in RINGING_HZ:
        if hertz > HALF_A_RATE * motion.rate:
            continue
        w = 2.0 * np.pi * hertz
        lag = motion.lagging(1.0, [1.0, 2.0 * RINGING_DAMPING * w, w * w], -motion.load[:, j] / motion.inertia[j])
        for side, torque in (("motor's", partial(motion.behind, j, lag)), ("links'", partial(motion.ahead, j, lag))):
            found.append(
                LackingTorque("elastic gear", torque, lambda size, hertz=hertz, side=side: _rings(size, hertz, side))  # type: ignore[misc]
            )
    given = partial(motion.alone, j, -motion.load[:, j])
    found.append(
        LackingTorque(
            "elastic gear",
            given,
            lambda size: (
                f"an elastic gear of {1.0 / size:.2g} N·m/rad between the control's encoder and the logged one"
            ),
            seen=True,
        )
    )
    return found


def _rings(size: float, hertz: float, side: str) -> str:
    """A lag of so much times that of a gear that rings at a frequency is one of a softer or stiffer gear."""
    hertz = hertz / float(np.sqrt(size))
    if not _consistent(size):
        return ""
    return f"an elastic gear behind which the links ring at some {hertz:.2g} Hz, with the encoder on the {side} side"


def _backlash(motion: LogMotion, j: int) -> list[LackingTorque]:
    found = list[LackingTorque]()
    beside = "not the control's, on the links' side"
    for half in HALF_GAPS_RAD:
        lag = _crossed(motion, j, half)
        for where, torque in (
            ("on the motor's side", partial(motion.behind, j, lag)),
            ("on the links' side", partial(motion.ahead, j, lag)),
            (beside, partial(motion.alone, j, lag[0])),
        ):
            found.append(
                LackingTorque(
                    "backlash",
                    torque,
                    lambda size, half=half, where=where: _gap(size, half, where),  # type: ignore[misc]
                    seen=where == beside,
                )
            )
    return found


def _crossed(motion: LogMotion, j: int, half: float) -> tuple[Array, Array, Array]:
    """(T,) how far links are off the middle of a gap, and two derivatives: in it the motor has the rotor to move alone,
    and links nothing that moves them; its ends swallow the blow."""
    step = float(motion.time[1] - motion.time[0])
    inertia, rotor = float(motion.inertia[j]), float(motion.numbers["armature"][j])
    apart = -motion.load[:, j] * (1.0 / inertia + 1.0 / rotor)
    x, v = np.empty(len(apart)), np.empty(len(apart))
    at, speed = float(np.sign(apart[0])) * half, 0.0
    for k, acceleration in enumerate(apart.tolist()):
        speed += step * acceleration
        at += step * speed
        if abs(at) > half:
            at, speed = (half if at > 0.0 else -half), 0.0
        x[k], v[k] = at, speed
    return x, v, np.diff(v, prepend=v[0]) / step


def _gap(size: float, half: float, where: str) -> str:
    return f"backlash of some {2e3 * size * half:.2g} mrad, with the encoder {where}" if _consistent(size) else ""


def _consistent(size: float) -> bool:
    """Lags are those of one gear: many times of them are another's, that would move in another way."""
    return 1.0 / MOST_TIMES_THE_LAG < size < MOST_TIMES_THE_LAG


@dataclass(frozen=True, eq=False)
class FoundStructure:
    """Of a joint (number): family, in words with its size, part of the residual's variance that it explains, families
    that explain nearly as much; p_value of so much by chance, with all that was tried. likely: number and size of every
    shape that explains nearly as much, its own first."""

    joint: int
    family: str
    words: str
    size: float
    share: float
    rivals: tuple[str, ...]
    p_value: float
    likely: tuple[tuple[int, float], ...]


def wrong_structures(
    simulator: DriveSimulator, numbers: DriveNumbers, x: Array, logs: Sequence[Stretch], first_states: Array
) -> tuple[FoundStructure, ...]:
    """Of joints whose residuals last; x (p,): where the fit ended; logs: whole, first_states (L, 2 n) of each."""
    problem = ShootingProblem(simulator, numbers, logs, None)
    simulated = problem.simulate(x, first_states)
    residuals = [log.q - said for log, said in zip(logs, simulated, strict=True)]
    looked = np.flatnonzero(repeated(residuals) > LOOKED_AT_REPEATS)
    if not len(looked) or not all(np.isfinite(r).all() for r in residuals):
        return ()
    here, sigma = numbers.at(x), robust_sigma(residuals)
    by_theta, by_state = problem.slopes(x, first_states, simulated, None)
    motions = log_motions(simulator, here, logs, first_states)
    tried = {int(j): [shapes(one, int(j)) for one in motions] for j in looked}
    count = sum(len(of_logs[0]) for of_logs in tried.values())
    traces, found = dict[int, list[list[Array]]](), list[FoundStructure]()
    for place in range(max(map(len, problem.limbs))):
        group = [limb[place] for limb in problem.limbs if place < len(limb) and limb[place] in tried]
        if group:
            traces |= shape_traces(problem, here, first_states, motions, group, tried, TRIED_PART * sigma)
    for limb in problem.limbs:
        own = {j: traces[j] for j in limb if j in traces}
        known = _columns(limb, by_theta, by_state)
        left = np.vstack([r[:, limb] / sigma[limb] for r in residuals])
        found += _selected(limb, known, left, own, tried, sigma[limb], [len(r) for r in residuals], count)
    return tuple(found)


def log_motions(simulator: DriveSimulator, here: Numbers, logs: Sequence[Stretch], states: Array) -> list[LogMotion]:
    """Of every log."""
    spacing = max(simulator.step, FINE_S)
    fine = [Stretch(s.log, _even(s.time, spacing), np.zeros((0, simulator.n)), s.command_time, s.command) for s in logs]
    runs = simulator.roll(simulator.with_numbers(here), here, states, fine)
    model, found = DynamicModel(simulator.robot, ()), list[LogMotion]()
    speeds = [np.gradient(q, spacing, axis=0) for q in runs]
    centre = np.vstack(runs).mean(axis=0)
    inertia = np.diagonal(model.dynamics.inertia_matrix(centre[None])[0])
    speed = np.sqrt(np.mean(np.vstack(speeds) ** 2, axis=0))
    for log, stretch, q, v in zip(logs, fine, runs, speeds, strict=True):
        a = np.gradient(v, spacing, axis=0)
        told = commanded(stretch, stretch.time - here["measurement_delay"][0], here) + here["bias"]
        torque = np.clip(here["kp"] * (told - q) - here["kd"] * v + here["offset"], -here["limit"], here["limit"])
        load = model.torque(Motion.at(q, v, a))
        rate = 1.0 / float(np.median(np.diff(log.time)))
        found.append(
            LogMotion(model, here, stretch.time, q, v, a, torque, load, centre, speed, np.asarray(inertia), rate)
        )
    return found


def _even(time: Array, spacing: float) -> Array:
    return np.asarray(time[0] + spacing * np.arange(int(np.ceil((time[-1] - time[0]) / spacing)) + 1))


def shape_traces(
    problem: ShootingProblem,
    here: Numbers,
    states: Array,
    motions: Sequence[LogMotion],
    group: Sequence[int],
    tried: dict[int, list[list[LackingTorque]]],
    small: Array,
) -> dict[int, list[list[Array]]]:
    """What every shape of joints of different limbs, of size one, leaves on the encoders of its limb, in each
    log. One roll-out for all of the joints."""
    simulator, logs = problem.simulator, problem.stretches
    model = simulator.with_numbers(here)
    plain = [_disturbed(log, here, motion, None) for log, motion in zip(logs, motions, strict=True)]
    base = simulator.roll(model, here, states, plain)
    limb = {j: problem.limbs[problem.limb_of[j]] for j in group}
    found: dict[int, list[list[Array]]] = {j: [] for j in group}
    for k, one in enumerate(tried[group[0]][0]):
        own = {j: [shapes_of[k].values() for shapes_of in tried[j]] for j in group}
        if one.seen:
            for j in group:
                traces = [np.zeros_like(log.q) for log in logs]
                for trace, log, motion, values in zip(traces, logs, motions, own[j], strict=True):
                    trace[:, j] = np.interp(log.time, motion.time, values[:, j])
                found[j].append([trace[:, limb[j]] for trace in traces])
            continue
        size = {j: max(float(np.sqrt(np.mean(np.vstack(own[j])[:, j] ** 2))), 1e-300) for j in group}
        step = {j: float(small[j] * here["kp"][j]) / size[j] for j in group}
        pushed = [
            _disturbed(log, here, motion, sum((step[j] * own[j][i] for j in group), np.zeros_like(motion.q)))
            for i, (log, motion) in enumerate(zip(logs, motions, strict=True))
        ]
        runs = simulator.roll(model, here, states, pushed)
        for j in group:
            found[j].append([(run - without)[:, limb[j]] / step[j] for run, without in zip(runs, base, strict=True)])
    return found


def _disturbed(log: Stretch, here: Numbers, motion: LogMotion, torque: Array | None) -> Stretch:
    """The same log with a torque (T, n) beside that of the control: told as a command that is off by torque / Kp."""
    late = here["delay"] + here["measurement_delay"]
    time = motion.time - float(late[0])
    time = np.concatenate([[min(log.command_time[0], time[0]) - 1.0], time])
    command = np.column_stack([np.interp(time, log.command_time, column) for column in log.command.T])
    if torque is not None:
        for j in range(command.shape[1]):
            command[:, j] += np.interp(time + late[j], motion.time, torque[:, j]) / here["kp"][j]
    return Stretch(log.log, log.time, log.q, time, command)


def _columns(limb: Sequence[int], by_theta: Sequence[Array], by_state: Sequence[Array]) -> Array:
    """(rows, columns) of what is fitted anyway: unknowns that move the limb, and its first state in each log."""
    n = by_state[0].shape[1]
    states = [*limb, *(n + j for j in limb)]
    theta = np.vstack([one[:, limb].reshape(-1, one.shape[2]) for one in by_theta])
    theta = theta[:, np.abs(theta).max(axis=0) > 0.0]
    begun = np.zeros((len(theta), len(states) * len(by_state)))
    row = 0
    for k, one in enumerate(by_state):
        own = one[:, limb][:, :, states].reshape(-1, len(states))
        begun[row : row + len(own), k * len(states) : (k + 1) * len(states)] = own
        row += len(own)
    return np.hstack([theta, begun])


@dataclass(frozen=True, order=True)
class JudgedTrace:
    """One shape (number ``shape`` of a joint): gain: of the sum of squares of the limb; share of the joint's own; size;
    p_value with all that was tried."""

    gain: float
    share: float
    size: float
    p_value: float
    joint: int
    shape: int


def _judged(
    limb: Sequence[int],
    basis: Array,
    columns: dict[tuple[int, int], Array],
    r: Array,
    at_first: Array,
    lengths: Sequence[int],
    count: int,
) -> list[JudgedTrace]:
    """Columns that explain enough of residuals r (N, limb); basis: what has had its part of r. at_first: squares of
    each joint."""
    found, cuts = list[JudgedTrace](), np.cumsum(lengths)[:-1]
    repeats = repeated(np.split(r, cuts))  # before the column takes what lasts
    for (j, k), column in columns.items():
        free = column - basis @ (basis.T @ column)
        power = float(free @ free)
        if power <= 1e-8 * float(column @ column):  # what is fitted does the same
            continue
        size, place = float(free @ r.ravel()) / power, list(limb).index(j)
        free = free.reshape(r.shape)
        rest = r - size * free
        share = float((r[:, place] ** 2).sum() - (rest[:, place] ** 2).sum()) / float(at_first[place])
        if share <= LEAST_EXPLAINED:
            continue
        scores = (free * rest).sum(axis=1)[:, None]
        lags = lags_of(repeats)
        degrees = window_freedom(np.split((free**2).sum(axis=1)[:, None], cuts), lags)
        effective = len(r) / float(repeats[place])
        # the basis took its part of the samples that say something of their own
        left = max(1.0, effective - basis.shape[1] / r.shape[1]) / effective
        spread = float(np.sqrt(correlated_scores(np.split(scores, cuts), lags)[0, 0] / left))
        freedom = max(1.0, left * (float(degrees[0]) - 1.0))
        p_value = count * 2.0 * float(scipy.stats.t.sf(abs(size) * power / max(spread, 1e-300), freedom))
        found.append(JudgedTrace(size * size * power, share, size, min(1.0, p_value), j, k))
    return found


def _selected(
    limb: Sequence[int],
    known: Array,
    left: Array,
    traces: dict[int, list[list[Array]]],
    tried: dict[int, list[list[LackingTorque]]],
    sigma: Array,
    lengths: Sequence[int],
    count: int,
) -> list[FoundStructure]:
    """The structure that explains most of the limb, then the one that does beside it, of joints that have none yet."""
    weight = np.tile(1.0 / sigma, len(left))
    basis = _orthonormal(known * weight[:, None])
    columns = {
        (j, k): np.concatenate([one.ravel() for one in trace]) * weight
        for j, own in traces.items()
        for k, trace in enumerate(own)
    }
    r = (left.ravel() - basis @ (basis.T @ left.ravel())).reshape(left.shape)
    at_first, found = (r**2).sum(axis=0), list[FoundStructure]()
    while columns:
        sure = list[JudgedTrace]()
        for one in _judged(limb, basis, columns, r, at_first, lengths, count):
            shape = tried[one.joint][0][one.shape]
            possible = (one.size > 0.0 or not shape.positive) and shape.words(one.size)
            if possible and one.p_value < WRONG_STRUCTURE_CHANCE:
                sure.append(one)
        if not sure:
            break
        best = max(sure)
        own = tried[best.joint][0]
        near = [
            one
            for one in sorted(sure, reverse=True)
            if one.joint == best.joint and one.gain > NEARLY_AS_MUCH * best.gain
        ]
        rivals = {own[one.shape].family: None for one in near}
        family, words = own[best.shape].family, own[best.shape].words(best.size)
        rivals.pop(family)
        likely = tuple((one.shape, one.size) for one in near)
        found.append(
            FoundStructure(best.joint, family, words, best.size, best.share, tuple(rivals), best.p_value, likely)
        )
        column = columns[best.joint, best.shape]
        free = column - basis @ (basis.T @ column)
        basis = np.column_stack([basis, free / np.linalg.norm(free)])
        r = (r.ravel() - basis[:, -1] * float(basis[:, -1] @ r.ravel())).reshape(r.shape)
        columns = {key: one for key, one in columns.items() if key[0] != best.joint}
    return found


def _orthonormal(columns: Array) -> Array:
    """Of what columns span; those that are none of their own are left out."""
    scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    u, s, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(u[:, s > 1e-7 * s[0]])


def structure_notes(found: Sequence[FoundStructure], joints: Sequence[str]) -> tuple[Note, ...]:
    """What is said of it."""
    notes = list[Note]()
    for one in found:
        beside = f"; {' or '.join(one.rivals)} would explain nearly as much" if one.rivals else ""
        text = f"{100.0 * one.share:.0f} % of the residual's variance look like {one.words}{beside}"
        notes.append(
            warning(STRUCTURE_SUBJECT, text, joints[one.joint], None, family=one.family, share=one.share, size=one.size)
        )
    return tuple(notes)
