"""Otani & Kakizaki's exciting motions (1993), as Swevers et al. 1997 describe them.

Every joint moves by a cosine on a ramp: its velocity swings between zero and a maximum. Free are the frequency and the
maximum of each joint and the initial configuration; the criterion is the condition number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.baselines.cosine_ramp_piece import CosineRampPiece
from exciter.excitation.criteria import AnyCriterion, Columns, ConditionNumber, evaluate
from exciter.excitation.objective import Objective
from exciter.excitation.optimiser.joint_limits import limit_ranges
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.robot import Robot
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class CosineRamp:
    """frequency (n,) [Hz] and speed (n,) [rad/s], the largest of each joint; start (n,) [rad]; duration [s].

    Where the next cycle would pass a position limit, a joint runs it backwards; when no whole cycle is left before the
    end, it stands still. So all joints start and end at rest.
    """

    frequency: Array
    speed: Array
    start: Array
    duration: float

    def curve(self, robot: Robot) -> Curve:
        """The exact motion within the position limits."""
        cycles = [self._cycles(robot, j) for j in range(robot.n)]
        knots = np.unique(np.concatenate([[0.0, self.duration], *(begin for begin, _, _ in cycles)]))
        knots = knots[np.append(np.diff(knots) > 1e-9 * self.duration, True)]
        knots[-1] = self.duration
        middle = 0.5 * (knots[:-1] + knots[1:])
        which = [np.searchsorted(begin, middle, side="right") - 1 for begin, _, _ in cycles]
        since, speed, position = (
            np.stack([cycle[k][chosen] for cycle, chosen in zip(cycles, which, strict=True)]) for k in range(3)
        )
        return Curve((CosineRampPiece(knots, 2.0 * np.pi * self.frequency, speed, since, position),))

    def _cycles(self, robot: Robot, j: int) -> tuple[Array, Array, Array]:
        """When each cycle of a joint begins, its signed speed (zero for the rest after the last), and q there."""
        lower, upper = (limit[j] for limit in robot.position_range())
        period = 1.0 / self.frequency[j]
        step, slack = 0.5 * self.speed[j] * period, 1e-12 * (upper - lower)
        count = int(np.floor(self.duration / period * (1.0 + 1e-12)))
        q, direction, speed = [float(self.start[j])], 1.0, []
        for _ in range(count):
            if not lower - slack <= q[-1] + direction * step <= upper + slack:
                direction = -direction
            if not lower - slack <= q[-1] + direction * step <= upper + slack:
                raise ExciterError(
                    f"a cycle of joint '{robot.joints[j].name}' takes {step:.4g}, which from {q[-1]:.4g} fits neither "
                    f"way into {lower:.4g} … {upper:.4g}; give a lower speed or a higher frequency"
                )
            speed.append(direction * self.speed[j])
            q.append(q[-1] + direction * step)
        return period * np.arange(count + 1), np.array([*speed, 0.0]), np.array(q)


@dataclass(frozen=True)
class OtaniSearch:
    """Random settings, then random changes of the best ones that become smaller and smaller: ``tries`` of each.

    frequency: range (lowest, highest) [Hz] that joints may have. rate: samples per second that the criterion sees.
    """

    duration: float = 10.0
    frequency: tuple[float, float] = (0.2, 1.0)
    tries: int = 200
    rate: float = 25.0
    criterion: AnyCriterion = field(default_factory=ConditionNumber)
    seed: int = 0

    def __post_init__(self) -> None:
        low, high = self.frequency
        if not (0 < low <= high < np.inf and low * self.duration >= 1.0 and self.tries >= 1 and self.rate > 0):
            raise ExciterError(
                f"frequencies {low:g} … {high:g} Hz over {self.duration:g} s with {self.tries} tries; the slowest "
                "cycle must fit into the duration, and one try or more is needed"
            )


@dataclass(frozen=True, eq=False)
class OtaniDesign:
    """The best settings found, their motion, the criterion and cond(W) there."""

    settings: CosineRamp
    curve: Curve
    value: float
    condition_number: float


def otani(
    model: DynamicModel, search: OtaniSearch | None = None, *, columns: ArrayLike | Columns | None = None
) -> OtaniDesign:
    """Frequencies, speeds and initial configuration by random search, within all joint limits."""
    search = search or OtaniSearch()
    robot, rng = model.robot, np.random.default_rng(search.seed)
    objective = Objective(model, search.criterion, Columns.of(model, columns), np.ones(model.n))
    time = np.linspace(0.0, search.duration, round(search.rate * search.duration) + 1)

    def value(x: Array) -> float:
        return objective.value(cosine_ramp(robot, search, x).curve(robot).motion(time))

    best = rng.uniform(size=(3, robot.n))
    least = value(best)
    for size in np.concatenate([np.ones(search.tries - 1), np.geomspace(0.5, 0.01, search.tries)]):
        near = np.clip(best + size * rng.normal(size=best.shape), 0.0, 1.0)
        x = near if size < 1.0 else rng.uniform(size=best.shape)
        if (found := value(x)) < least:
            best, least = x, found
    if not np.isfinite(least):
        raise ExciterError(
            f"none of {2 * search.tries} motions excites all parameters; give a longer duration or higher frequencies"
        )
    settings = cosine_ramp(robot, search, best)
    curve = settings.curve(robot)
    cond = evaluate(model, curve.motion(time), 1.0, columns).condition_number
    return OtaniDesign(settings, curve, least, cond)


def cosine_ramp(robot: Robot, search: OtaniSearch, x: Array) -> CosineRamp:
    """Settings within all limits from numbers x (3, n) between 0 and 1: frequency, speed, start.

    q̇ reaches v, q̈ reaches π f v, the jerk 2 π² f² v, and a cycle takes v/(2 f), of which half the range is allowed so
    that one direction always fits.
    """
    lower, upper = limit_ranges(robot)
    low, high = search.frequency
    frequency = low * (high / low) ** x[0]
    pulse = np.pi * frequency
    room = np.stack([frequency * (upper[0] - lower[0]), upper[1], upper[2] / pulse, upper[3] / (2.0 * pulse**2)])
    speed = room.min(axis=0) * (0.1 + 0.9 * x[1])
    return CosineRamp(frequency, speed, lower[0] + x[2] * (upper[0] - lower[0]), search.duration)
