"""Limits of position, velocity, acceleration and jerk: decided by the exact extrema of the curve.

That positions and velocities are continuous is a limit of every joint, whatever else is limited: a jump is a broken
one. Where nothing jumps there is no row, so that what is counted are limits of the robot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exciter.excitation.certificate.certificate import LimitVerdict, Status
from exciter.excitation.trajectories.curve import Curve, Extremum
from exciter.robot.robot import Robot

#: By how much of a limit rounding may pass it: a motion designed to touch a limit does.
TOUCHING = 1e-9
SYMMETRIC = ("velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class _Limit:
    """One limit of one joint. scale: what its margin is a part of, the limit itself or the range of a position.
    assumed: nobody gave it, or a number in place of it."""

    what: str
    where: str
    unit: str
    limit: float
    scale: float
    upper: bool
    assumed: bool

    def verdict(self, reached: float, at: float) -> LimitVerdict:
        room = self.limit - reached if self.upper else reached - self.limit
        kept: Status = "assumed" if self.assumed else "holds"
        status: Status = kept if room >= -self.touching else "broken"
        margin = room / self.scale if status == "broken" else max(0.0, room / self.scale)  # rounding is no overshoot
        return LimitVerdict(
            self.what, self.where, self.unit, self.limit, reached, reached, margin, at, status, self.upper
        )

    @property
    def touching(self) -> float:
        """Rounding has the size of the limit, however wide the range of a position is; it is less where that is
        narrow."""
        return TOUCHING * min(self.scale, max(1.0, abs(self.limit)))


def joint_verdicts(robot: Robot, curve: Curve) -> list[LimitVerdict]:
    """Jumps of position and velocity, then every finite limit of every joint; where the acceleration jumps, the jerk is
    infinite and its limit broken."""
    return [*_jumps(robot, curve), *_positions(robot, curve)] + [
        verdict for order, what in enumerate(SYMMETRIC, start=1) for verdict in _rates(robot, curve, order, what)
    ]


def _jumps(robot: Robot, curve: Curve) -> Iterator[LimitVerdict]:
    """Positions and velocities."""
    for jump in curve.breaks():
        joint = robot.joints[jump.joint]
        unit = ("m" if joint.is_prismatic else "rad") + ("", "/s")[jump.order]
        yield LimitVerdict.jump(jump.what, joint.name, unit, allowed=jump.allowed, size=jump.size, at=jump.at)


def _positions(robot: Robot, curve: Curve) -> list[LimitVerdict]:
    extremum, verdicts = curve.extremum(0), []
    lower, upper = robot.limit("lower"), robot.limit("upper")
    low, high = robot.position_range()
    for j, joint in enumerate(robot.joints):
        unit, scale = "m" if joint.is_prismatic else "rad", float(high[j] - low[j])
        if np.isfinite(lower[j]):
            far = joint.limits.is_placeholder("lower")
            limit = _Limit("position", joint.name, unit, float(lower[j]), scale, False, far)
            verdicts.append(limit.verdict(float(extremum.lowest[j]), float(extremum.lowest_at[j])))
        if np.isfinite(upper[j]):
            far = joint.limits.is_placeholder("upper")
            limit = _Limit("position", joint.name, unit, float(upper[j]), scale, True, far)
            verdicts.append(limit.verdict(float(extremum.highest[j]), float(extremum.highest_at[j])))
    return verdicts


def _rates(robot: Robot, curve: Curve, order: int, what: str) -> list[LimitVerdict]:
    """The largest |q̇|, |q̈| or |q⃛| of every joint that has such a limit."""
    limits = robot.limit(what)
    if not np.isfinite(limits).any():
        return []
    extremum, verdicts = curve.extremum(order), []
    power = "⁰ ²³"[order].strip()
    for j in np.flatnonzero(np.isfinite(limits)):
        unit = f"{'m' if robot.joints[j].is_prismatic else 'rad'}/s{power}"
        own = robot.joints[j].limits
        assumed = own.is_placeholder(what) or (what == "acceleration" and own.assumed)
        limit = _Limit(what, robot.joints[j].name, unit, float(limits[j]), float(limits[j]), True, assumed)
        verdicts.append(limit.verdict(*_farthest_from_zero(extremum, int(j))))
    return verdicts


def _farthest_from_zero(extremum: Extremum, j: int) -> tuple[float, float]:
    """Largest magnitude, and when."""
    if -extremum.lowest[j] > extremum.highest[j]:
        return float(-extremum.lowest[j]), float(extremum.lowest_at[j])
    return float(extremum.highest[j]), float(extremum.highest_at[j])
