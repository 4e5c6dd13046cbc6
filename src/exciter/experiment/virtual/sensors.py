"""What a log has of a virtual robot: gears and motors, encoders, torques, their ripple and filter, and its instants.

The analogue low-pass filter before the sampling of torque or current is simulated as the continuous system it is. A
Butterworth filter is a sum of first-order systems with complex poles, H(s) = Σ r_i / (s − p_i). Each is solved
exactly between the steps of the simulation: for an input that is held (the torque of a drive between two commands)
and one that is straight (ripple, sensors); so the filter may be asked at any instant, on a step or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import signal

from exciter.errors import ExciterError, ParameterError
from exciter.experiment.recording.recording import TORQUE_SIDES, AnalogFilter
from exciter.experiment.virtual.true_parameters import resolved, stream
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.settings import Fraction, Number, OneWord, PerJointNumber, Settings, Switch
from exciter.typing import Array, BoolArray, ComplexArray

MOST_JITTER_SHARE = 0.45  # of an interval: instants keep their order
MOST_JITTER_STD_SHARE = MOST_JITTER_SHARE / 3.0  # of an interval: three standard deviations are as wide


@dataclass(frozen=True)
class GearedDrive(Settings):
    """gear: turns of the motor per turn of the joint; where it slides, its radians per metre [rad/m].

    torque_constant: k_t [N·m/A] of the motor. current = torque at the joint / (gear · k_t): no loss but friction."""

    gear: Annotated[PerJoint, PerJointNumber(above=0.0)] = 100.0
    torque_constant: Annotated[PerJoint, PerJointNumber(above=0.0, unit="N·m/A")] = 0.1

    def ratios(self, robot: Robot) -> Array:
        """(n,)"""
        return resolved(self.gear, robot, "gear", positive=True)

    def gains(self, robot: Robot) -> Array:
        """(n,) torque at the joint per ampere [N·m/A]."""
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


def poles_of(settings: AnalogFilter) -> tuple[ComplexArray, ComplexArray]:
    """p_i and r_i of one of each conjugate pair (the sum is twice the real part) and of a real pole."""
    _, poles, gain = signal.butter(settings.order, 2.0 * np.pi * settings.cutoff, analog=True, output="zpk")
    residues = np.array([gain / np.prod(p - np.delete(poles, i)) for i, p in enumerate(poles)])
    upper, real = poles.imag > 1e-9 * np.abs(poles), np.abs(poles.imag) <= 1e-9 * np.abs(poles)
    return np.concatenate([poles[upper], poles[real].real]), np.concatenate([2.0 * residues[upper], residues[real]])


def filtered(
    settings: AnalogFilter | None, held: Array, straight: Array, step: float, at: Array, before: Array | None = None
) -> Array:
    """(N, n) output at instants ``at`` (N,) [s] for inputs (K, n) at 0, step, 2 step, …; before: (n,) what the input
    was until then, its first value unless given. Without a filter the input itself."""
    before = held[0] + straight[0] if before is None else before
    index = np.clip((at / step + 1e-9).astype(np.int64), 0, len(held) - 1)
    change = straight[np.minimum(index + 1, len(held) - 1)] - straight[index]
    if settings is None:
        return np.asarray(held[index] + straight[index] + np.clip(at / step - index, 0.0, 1.0)[:, None] * change)
    late = np.maximum(at - index * step, 0.0)[:, None]
    output = np.zeros((len(at), held.shape[1]))
    for pole, residue in zip(*poles_of(settings), strict=True):
        start, (decay, constant, ramp) = -before / pole, _response(pole, step)
        drive = constant * (held + straight)[:-1] + ramp / step * np.diff(straight, axis=0)
        states = signal.lfilter([1.0], [1.0, -decay], drive, axis=0, zi=(decay * start)[None])[0]
        state = np.concatenate([start[None], states])[index]  # the last before each instant
        decay, constant, ramp = _response(pole, late)
        value = decay * state + constant * (held[index] + straight[index]) + ramp * (change / step)
        output += (residue * value).real
    return output


def _response(pole: complex, time: Array | float) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    """Of x' = p x + u after a time: to its state, to a constant input, to one that grows by 1 per second."""
    constant = np.expm1(pole * time) / pole
    return np.exp(pole * time), constant, (constant - time) / pole


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
    filter: AnalogFilter | None = None

    def __post_init__(self) -> None:
        if self.current and self.link_side:
            raise ParameterError("a sensor on the link's side measures torque; currents belong to the motor's side")

    def std(self, robot: Robot) -> Array:
        """(n,) of the noise [N·m at the joint]."""
        return resolved(0.0 if self.noise is None else self.noise, robot, "torque noise")

    def measure(self, held: Array, smooth: Array, step: float, at: Array, robot: Robot, seed: int) -> Array:
        """(N, n) [N·m] at instants ``at`` of a signal (K, n) at every step: a part that is held, and a smooth one."""
        noise, rng = self.std(robot), stream(seed, "torque")
        before = held[0] + smooth[0]
        if self.noise_before_filter:
            held = held + noise * rng.standard_normal(held.shape)
        value = filtered(self.filter, held, smooth, step, at, before)
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
