"""What a log has of a virtual robot: gears and motors, encoders, torques, their ripple and filter, and its instants.

The analogue filter before the sampling of a signal is simulated as the continuous system it is: sections of first
order with complex poles in series, solved exactly between the steps of the simulation for an input that is held (the
torque of a drive between two commands) and one that is straight (ripple, sensors); so it may be asked at any instant,
on a step or not. One that is known by its frequency response alone is applied line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
import scipy
from scipy import linalg

from exciter.errors import ExciterError, ParameterError
from exciter.experiment.recording.analogue_filter import AnalogResponse, RationalResponse
from exciter.experiment.recording.current_map import CurrentMap, MapsOfJoints
from exciter.experiment.recording.recording import TORQUE_SIDES
from exciter.experiment.recording.signal_filters import (
    AnyAnalogFilter,
    JointFilters,
    OfSignals,
    filters_of,
)
from exciter.experiment.virtual.true_parameters import resolved, stream
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.settings import Fraction, Number, OneWord, PerJointNumber, Settings, Switch
from exciter.typing import Array, BoolArray, ComplexArray, Index

MOST_JITTER_SHARE = 0.45  # of an interval: instants keep their order
FORGOTTEN_TIME_CONSTANTS = 14.0  # time constants after which a millionth is left
STATED_OF_DRIVES = ("map", "gains", "nothing")  #: in logs of currents
MOST_JITTER_STD_SHARE = MOST_JITTER_SHARE / 3.0  # of an interval: three standard deviations are as wide


@dataclass(frozen=True)
class GearedDrive(Settings):
    """gear: turns of the motor per turn of the joint; where it slides, its radians per metre [rad/m].

    torque_constant: k_t [N·m/A] of the motor. current = torque at the joint / (gear · k_t): no loss but friction.

    map: torque at the joint of the motor's current, instead of gear · k_t. stated: what a log of currents says of it,
    all of it, the gain of small currents, or nothing, as of a robot that nobody knows."""

    gear: Annotated[PerJoint, PerJointNumber(above=0.0)] = 100.0
    torque_constant: Annotated[PerJoint, PerJointNumber(above=0.0, unit="N·m/A")] = 0.1

    map: Annotated[tuple[CurrentMap, ...] | None, MapsOfJoints()] = None
    stated: Annotated[str, OneWord(STATED_OF_DRIVES)] = STATED_OF_DRIVES[0]

    def ratios(self, robot: Robot) -> Array:
        """(n,)"""
        return resolved(self.gear, robot, "gear", positive=True)

    def gains(self, robot: Robot) -> Array:
        """(n,) torque at the joint per ampere [N·m/A]; of small currents."""
        if self.map is not None:
            return np.array([one.small_gain for one in self.map]) * np.ones(robot.n)
        return self.ratios(robot) * resolved(self.torque_constant, robot, "torque_constant", positive=True)


@dataclass(frozen=True)
class Encoder(Settings):
    """counts: per turn of the motor, or of the joint; None: a position without steps. noise: standard deviation of the
    position [rad], before it is counted. velocity_noise [rad/s]: of a tachometer; None: velocities are not logged."""

    called: ClassVar[Mapping[str, str]] = {"on_motor": "side"}
    counts: Annotated[PerJoint | None, PerJointNumber(above=0.0, open="none")] = 4096.0
    on_motor: Annotated[bool, OneWord(("motor", "joint"), (True, False))] = True
    noise: Annotated[PerJoint, PerJointNumber(least=0.0, unit="rad")] = 0.0
    velocity_noise: Annotated[PerJoint | None, PerJointNumber(least=0.0, unit="rad/s")] = None

    def step(self, robot: Robot, drive: GearedDrive) -> Array:
        """(n,) of the logged position [rad or m]; zero without counts."""
        if self.counts is None:
            return np.zeros(robot.n)
        counts = resolved(self.counts, robot, "counts", positive=True)
        return 2.0 * np.pi / (counts * (drive.ratios(robot) if self.on_motor else 1.0))

    def position(self, q: Array, robot: Robot, drive: GearedDrive, seed: int) -> Array:
        """(N, n) as logged."""
        noise, step = resolved(self.noise, robot, "position noise"), self.step(robot, drive)
        noisy: Array = q + noise * stream(seed, "position").standard_normal(q.shape)
        return noisy if self.counts is None else np.round(noisy / step) * step

    def velocity(self, qd: Array, robot: Robot, seed: int) -> Array | None:
        """(N, n) as logged."""
        if self.velocity_noise is None:
            return None
        noise = resolved(self.velocity_noise, robot, "velocity noise")
        return np.asarray(qd + noise * stream(seed, "velocity").standard_normal(qd.shape))


@dataclass(frozen=True)
class TorqueRipple(Settings):
    """amplitude [N·m at the joint]; per_turn: waves per turn of the motor. The phase of every joint is drawn."""

    amplitude: Annotated[PerJoint, PerJointNumber(least=0.0, unit="N·m at the joint")]
    per_turn: Annotated[PerJoint, PerJointNumber(least=0.0)] = 6.0

    def values(self, q: Array, robot: Robot, drive: GearedDrive, seed: int) -> Array:
        """(N, n) at joint positions (N, n) on the motor's side."""
        amplitude, waves = resolved(self.amplitude, robot, "ripple"), resolved(self.per_turn, robot, "per_turn")
        phase = stream(seed, "ripple").uniform(0.0, 2.0 * np.pi, robot.n)
        return np.asarray(amplitude * np.sin(waves * drive.ratios(robot) * q + phase))


def filtered(
    filters: AnalogResponse | JointFilters | None,
    held: Array,
    straight: Array,
    step: float,
    at: Array,
    before: Array | None = None,
) -> Array:
    """(N, n) output at instants ``at`` (N,) [s] for inputs (K, n) at 0, step, 2 step, …; before: (n,) what the input
    was until then, its first value unless given. filters: of all columns, or one each; without one the input itself."""
    before = held[0] + straight[0] if before is None else before
    each = filters if isinstance(filters, tuple) else (filters,) * held.shape[1]
    output = np.empty((len(at), held.shape[1]))
    for one in dict.fromkeys(each):
        own = [j for j, other in enumerate(each) if other == one]
        inputs = Inputs(held[:, own], straight[:, own], step, at, before[own])
        if one is None:
            output[:, own] = inputs.now
        elif isinstance(one, RationalResponse):
            output[:, own] = _cascaded(one, inputs)
        else:
            output[:, own] = _by_lines(one, inputs)
    return output


@dataclass(frozen=True, eq=False)
class Inputs:
    """Of a filter, see ``filtered``."""

    held: Array
    straight: Array
    step: float
    at: Array
    before: Array

    @cached_property
    def index(self) -> Index:
        """(N,) the last step before each instant."""
        return np.clip((self.at / self.step + 1e-9).astype(np.int64), 0, len(self.held) - 1)

    @cached_property
    def late(self) -> Array:
        """(N,) [s] of each instant after that step."""
        return np.maximum(self.at - self.index * self.step, 0.0)

    @cached_property
    def start(self) -> Array:
        """(N, n) of the input at that step."""
        return np.asarray((self.held + self.straight)[self.index])

    @cached_property
    def change(self) -> Array:
        """(N, n) of the straight part until the next step."""
        return np.asarray(self.straight[np.minimum(self.index + 1, len(self.held) - 1)] - self.straight[self.index])

    @property
    def now(self) -> Array:
        """(N, n) the input itself."""
        return np.asarray(self.start + np.minimum(self.late / self.step, 1.0)[:, None] * self.change)


def _cascaded(analog: RationalResponse, inputs: Inputs) -> Array:
    """Sections of first order in series, each −p/(s − p) or (p/z)(s − z)/(s − p): x_i' = p_i x_i + v_i,
    v_{i+1} = c_i x_i + d_i v_i. Together a triangular system, solved exactly from step to step, equal poles or not."""
    system, read, direct = _sections(analog)
    n, step = len(system), inputs.step
    # with the input and its slope as states: exp gives the response to each
    whole = np.zeros((n + 2, n + 2), dtype=complex)
    whole[:n, : n + 1], whole[n, n + 1] = system, 1.0
    over = linalg.expm(whole * step)
    steps = inputs.held + inputs.straight
    slope = np.diff(inputs.straight, axis=0) / step
    rest = -np.linalg.solve(system[:, :n], system[:, n : n + 1] * inputs.before)  # (n, columns) before it began
    states = np.empty((n, len(steps), steps.shape[1]), dtype=complex)
    for i in range(n):
        drive = over[i, n] * steps[:-1] + over[i, n + 1] * slope
        for k in range(i):
            if over[i, k]:
                drive = drive + over[i, k] * states[k, :-1]
        states[i, 0] = rest[i]
        decay = over[i, i]
        states[i, 1:] = scipy.signal.lfilter([1.0], [1.0, -decay], drive, axis=0, zi=(decay * rest[i])[None])[0]
    late, where = np.unique(inputs.late, return_inverse=True)
    until = linalg.expm(whole * late[:, None, None])[where]  # (N, n + 2, n + 2)
    at = np.einsum("tik,ktj->tij", until[:, :n, :n], states[:, inputs.index])
    at += until[:, :n, n, None] * inputs.start[:, None] + until[:, :n, n + 1, None] * (inputs.change / step)[:, None]
    return np.asarray((np.einsum("i,tij->tj", read, at) + direct * inputs.now).real)


def _sections(analog: RationalResponse) -> tuple[ComplexArray, ComplexArray, complex]:
    """(n, n + 1) states and input → derivatives, (n,) states → output, and the input's direct part."""
    zeros, poles, _ = analog.zpk
    free, pairs = list(zeros), list[tuple[complex, complex | None]]()
    for pole in sorted(poles, key=lambda p: (abs(p), p.imag)):  # each zero beside the pole it is nearest to
        near = min(free, key=lambda z: abs(z - pole), default=None)
        left = len(poles) - len(pairs)
        if near is not None and (left == len(free) or abs(near - pole) < abs(pole)):
            free.remove(near)
            pairs.append((pole, near))
        else:
            pairs.append((pole, None))
    n = len(pairs)
    system, read = np.zeros((n, n + 1), dtype=complex), np.zeros(n + 1, dtype=complex)
    read[n] = 1.0  # of what goes into the next section: from states so far, and from the input
    for i, (pole, zero) in enumerate(pairs):
        system[i] = read
        system[i, i] += pole
        if zero is None:
            read = np.zeros(n + 1, dtype=complex)
            read[i] = -pole
        else:
            read = read * (pole / zero)
            read[i] += pole / zero * (pole - zero)
    rest = analog.at_rest
    return system, np.asarray(rest * read[:n], dtype=np.complex128), complex(rest * read[n])


def _by_lines(analog: AnalogResponse, inputs: Inputs) -> Array:
    """Of a response that is known by its frequencies alone: line by line, the input resting for long before and after;
    what it does above the last frequency is not known, and nothing passes there."""
    steps, rest = inputs.held + inputs.straight, inputs.before
    margin = int(np.ceil(FORGOTTEN_TIME_CONSTANTS * analog.memory / inputs.step)) + 1
    ends = (np.broadcast_to(rest, (margin, len(rest))), np.broadcast_to(steps[-1], (margin, len(rest))))
    padded = np.concatenate([ends[0], steps, ends[1]]) - rest
    # back to where it began, so that it repeats without a step
    back = padded[-1] * (0.5 + 0.5 * np.cos(np.linspace(0.0, np.pi, 2 * margin)))[:, None]
    whole = np.concatenate([padded, back])
    size = scipy.fft.next_fast_len(len(whole), real=True)
    frequency = np.fft.rfftfreq(size, inputs.step)
    response = np.where(frequency <= analog.highest, analog.response(np.minimum(frequency, analog.highest)), 0.0)
    found = np.fft.irfft(np.fft.rfft(whole, size, axis=0) * response[:, None], size, axis=0)
    found = found[margin : margin + len(steps)] + analog.at_rest * rest
    time = np.arange(len(steps)) * inputs.step
    return np.column_stack([np.interp(inputs.at, time, column) for column in found.T])


@dataclass(frozen=True)
class TorqueMeter(Settings):
    """current: log motor currents [A] instead of torques. link_side: a sensor behind the gear, which feels neither
    rotor nor friction; otherwise all that the actuator gives.

    noise: standard deviation [N·m at the joint] of white noise, of every sample of the log; with noise_before_filter of
    every step of the simulation, so that the filter colours it. None: 0.5 % of the torque a drive is made for."""

    inner: ClassVar[tuple[str, ...]] = ("ripple", "filter")
    called: ClassVar[Mapping[str, str]] = {"current": "signal", "link_side": "side"}
    current: Annotated[bool, OneWord(("torque", "current"), (False, True))] = False
    link_side: Annotated[bool, OneWord(TORQUE_SIDES, (False, True))] = False
    noise: Annotated[PerJoint | None, PerJointNumber(least=0.0, unit="N·m")] = None
    noise_before_filter: Switch = False
    ripple: TorqueRipple | None = None
    filter: Annotated[AnyAnalogFilter | None, OfSignals()] = None

    def __post_init__(self) -> None:
        if self.current and self.link_side:
            raise ParameterError("a sensor on the link's side measures torque; currents belong to the motor's side")

    def std(self, robot: Robot) -> Array:
        """(n,) of the noise [N·m at the joint]."""
        return resolved(0.0 if self.noise is None else self.noise, robot, "torque noise")

    def measure(
        self, held: Array, smooth: Array, step: float, at: Array, robot: Robot, seed: int, unit: Array | float = 1.0
    ) -> Array:
        """(N, n) at instants ``at`` of a signal (K, n) at every step: a part that is held, and a smooth one. unit
        [N·m]: of the signal, per joint."""
        noise, rng = self.std(robot) / np.abs(unit), stream(seed, "torque")
        before = held[0] + smooth[0]
        if self.noise_before_filter:
            held = held + noise * rng.standard_normal(held.shape)
        value = filtered(filters_of(self.filter, "torque", robot.n), held, smooth, step, at, before)
        return value if self.noise_before_filter else value + noise * rng.standard_normal(value.shape)


@dataclass(frozen=True)
class Sampling(Settings):
    """rate [Hz]; jitter: standard deviation of the instants [s], whose stamps are true, up to 15 % of an interval, so
    that samples keep their order (the 0.3 % beyond three deviations are taken at most 0.45 intervals off); dropped:
    part of the samples that is lost, 0 … 1. lead_out: also log what follows a periodic part; then nothing is said of a
    period."""

    refusal: ClassVar[type[ExciterError]] = ParameterError
    rate: Annotated[float, Number(above=0.0, most=1e6, unit="Hz")] = 500.0
    jitter: Annotated[float, Number(least=0.0, unit="s")] = 0.0
    dropped: Fraction = 0.0
    lead_out: Switch = False

    def __post_init__(self) -> None:
        if self.jitter > (most := MOST_JITTER_STD_SHARE / self.rate):
            why = f"jitter is {self.jitter:g}; at {self.rate:g} Hz samples keep their order with 0 ≤ jitter ≤ "
            raise ParameterError(f"{why}{most:.3g} [s], the standard deviation of their instants")

    def instants(self, end: float, seed: int) -> Array:
        """(N,) [s] from 0 to ``end``, increasing."""
        planned = np.arange(int(np.floor(end * self.rate * (1.0 + 1e-12) + 1e-9)) + 1) / self.rate
        if self.jitter == 0.0:
            return np.asarray(planned)
        late, most = self.jitter * stream(seed, "instants").standard_normal(len(planned)), MOST_JITTER_SHARE / self.rate
        return np.clip(planned + np.clip(late, -most, most), 0.0, end)

    def kept(self, count: int, seed: int) -> BoolArray:
        """(N,) which samples reach the log; the first and the last do."""
        kept = stream(seed, "dropped").random(count) >= self.dropped
        kept[[0, -1]] = True
        return kept
