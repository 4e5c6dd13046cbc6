"""What the log of a motion would tell of drives: Fisher information of the output error, before anything has moved.

The closed loop is simulated with the numbers that are known beforehand, from rest, as the fit would simulate it: in
stretches from states of their own. With slopes of the encoder positions by the unknowns, A, and by the states, B, rows
over the encoders' σ, the information on the unknowns is Aᵀ(1 − B B⁺)A, summed over stretches. It counts noise that is
white; what a wrong model leaves in residuals nobody knows before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exciter.errors import ExciterError, ParameterError
from exciter.excitation.trajectories.curve import Curve
from exciter.identification.actuators.actuator_fit import cut, gains_of
from exciter.identification.actuators.actuator_settings import ActuatorSettings, by_pattern
from exciter.identification.actuators.drive_numbers import DriveNumbers, drive_numbers
from exciter.identification.actuators.drive_simulator import DriveSimulator, Stretch, drive_simulator, refuse_others
from exciter.identification.actuators.moved_links import payload_places
from exciter.identification.actuators.shooting_fit import DIVERGED_RAD, ShootingProblem
from exciter.identification.actuators.untold import combinations
from exciter.robot.robot import Robot
from exciter.typing import Array

DRIVE_SETTLING_S = 2.0  #: [s] in which a robot that is told its first posture comes to rest there
VELOCITY_STEP_S = 1e-5  #: [s] of the differences that give velocities where stretches begin


@dataclass(frozen=True, eq=False)
class Response:
    """What encoders would say (N, n) at instants (N,) of a log, and the commands (N, n)."""

    time: Array
    q: Array
    command: Array

    @property
    def largest_lag(self) -> Array:
        """(n,) largest difference from the command [rad or m]."""
        return np.asarray(np.abs(self.q - self.command).max(axis=0))

    def within(self, lower: Array, upper: Array) -> bool:
        """Whether all samples are inside limits (n,)."""
        return bool(((self.q >= lower) & (self.q <= upper)).all())


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpectedDrives:
    """numbers: the unknowns, with the values that were known; information (p, p): of their coordinates, from the log
    alone; noise (n,): σ of the encoders that it counts on."""

    numbers: DriveNumbers
    information: Array
    noise: Array
    response: Response

    @cached_property
    def relative(self) -> Array:
        """(p, p) information, with the weak prior, of unknowns in units of their own spread: never singular."""
        scale = self.numbers.spreads
        return np.asarray(np.eye(len(scale)) + self.information * np.outer(scale, scale))

    @cached_property
    def std(self) -> Array:
        """(p,) in the units of the values; the weak prior of the fit counts."""
        variance = np.diag(np.linalg.inv(self.relative)) * self.numbers.spreads**2
        return np.asarray(np.sqrt(variance) * self.numbers.slopes(self.numbers.coordinates))

    @property
    def names(self) -> tuple[str, ...]:
        return self.numbers.names

    @property
    def units(self) -> tuple[str, ...]:
        return self.numbers.units

    @property
    def values(self) -> Array:
        """(p,) that were known beforehand."""
        return self.numbers.values(self.numbers.coordinates)

    @property
    def untold(self) -> tuple[str, ...]:
        """Combinations that the log will not tell apart, in words."""
        return combinations(self.numbers, self.information)


@dataclass(frozen=True, eq=False)
class DriveProspect:
    """From a commanded motion to what its log would tell. rate [Hz]: of commands and log."""

    simulator: DriveSimulator
    numbers: DriveNumbers
    noise: Array
    rate: float
    segment: float

    @classmethod
    def of(cls, robot: Robot, settings: ActuatorSettings, rate: float) -> DriveProspect:
        refuse_others(robot)
        numbers = drive_numbers(robot, settings, gains_of(robot, settings))
        noise = by_pattern(settings.motion.noise, robot.joint_names, "motion: noise")
        if np.isnan(noise).any():
            name = robot.joint_names[int(np.isnan(noise).argmax())]
            raise ParameterError(f"motion: noise of joint '{name}' is not given")
        simulator = drive_simulator(robot, settings.simulator, 1.0 / rate, payload_places(robot, settings))
        return cls(simulator, numbers, noise, rate, settings.segment)

    def response(self, curve: Curve) -> Response:
        """Of a robot that has come to rest where the motion begins."""
        count = int(np.floor(curve.duration * self.rate + 1e-6))
        time = np.minimum(np.arange(count + 1) / self.rate, curve.duration)
        command = curve.motion(curve.start + time).q
        return Response(time, self._rolled(command, time, time), command)

    def _rolled(self, command: Array, at: Array, time: Array) -> Array:
        """(N, n) encoder positions at instants (N,) after the beginning; command (M, n) at its own instants (M,)."""
        start, n = self.numbers.start, self.simulator.n
        model, still = self.simulator.with_numbers(start), np.zeros(n)
        stands = np.repeat(command[:1], 2, axis=0)
        pause = np.array([0.0, DRIVE_SETTLING_S])
        before = Stretch(0, pause, stands, pause, stands)
        rest = self.simulator.roll(model, start, np.concatenate([command[0], still])[None], [before])[0][-1]
        whole = Stretch(0, at, np.empty((len(at), n)), time, command)
        q = self.simulator.roll(model, start, np.concatenate([rest, still])[None], [whole])[0]
        if not np.isfinite(q).all() or np.abs(q).max() > DIVERGED_RAD:
            raise ExciterError(
                "the simulated loop is not stable with these gains; check kp and kd, or take a smaller step"
            )
        return q

    def expected(self, response: Response) -> ExpectedDrives:
        """Information of a log of this response."""
        whole = Stretch(0, response.time, response.q, response.time, response.command)
        stretches = cut(whole, self.segment)
        problem = ShootingProblem(self.simulator, self.numbers, stretches, None)
        x, states = self.numbers.coordinates, self._states(response, stretches)
        by_theta, by_state = problem.slopes(x, states, problem.simulate(x, states), None)
        p, n = len(x), self.simulator.n
        information = np.zeros((p, p))
        for theta, state in zip(by_theta, by_state, strict=True):
            rows = (theta / self.noise[:, None]).reshape(-1, p)
            basis = np.linalg.qr((state / self.noise[:, None]).reshape(-1, 2 * n))[0]
            free = rows - basis @ (basis.T @ rows)
            information += free.T @ free
        return ExpectedDrives(
            numbers=self.numbers,
            information=0.5 * (information + information.T),
            noise=self.noise,
            response=response,
        )

    def _states(self, response: Response, stretches: list[Stretch]) -> Array:
        """(S, 2 n): where the response is when each stretch begins; the first one at rest."""
        n = self.simulator.n
        states = np.array([np.concatenate([one.q[0], np.zeros(n)]) for one in stretches])
        if len(stretches) > 1:
            inner = np.array([one.time[0] for one in stretches[1:]])
            at = np.concatenate([[0.0], np.column_stack([inner - VELOCITY_STEP_S, inner + VELOCITY_STEP_S]).ravel()])
            q = self._rolled(response.command, at, response.time)[1:]
            states[1:, n:] = (q[1::2] - q[::2]) / (2.0 * VELOCITY_STEP_S)
        return states
