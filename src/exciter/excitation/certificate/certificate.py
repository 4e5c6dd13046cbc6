"""The verdict: every limit, what is reached for all time, how far it is from being broken; and the same in words.

Limits of position, velocity, acceleration and jerk are decided here, by the exact extrema of the curve.
That positions and velocities are continuous is a limit of every joint, whatever else is limited: a jump is a broken
one. Where nothing jumps there is no row, so that what is counted are limits of the robot.

An arm that stands must be able to follow a curve from its start, and stand at its end. For part of a longer motion this
is a remark. For a whole one, which an arm that stands is to run, a velocity at either end is a jump like any other
between two rows of a file, and so is an acceleration where the jerk is limited (``end_jumps``)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from exciter.excitation.trajectories.curve import Curve
from exciter.robot.robot import Joint, Robot
from exciter.typing import Array

Status = Literal["holds", "assumed", "open", "broken"]
FAILURES = ("open", "broken")  #: what keeps a curve from being certified
#: Velocity and acceleration below this part of their limit are none. A controller that interpolates positions and
#: velocities starts a motion from rest with a small acceleration, of the order of the square of its sampling time.
REST_LIMIT_FRACTION = {"velocity": 1e-6, "acceleration": 1e-3}
LARGEST_AT_REST = {"velocity": 1e-4, "acceleration": 0.1}  #: [SI] more is never none: a limit may be a placeholder
CLOSE_BOUND_FRACTION = 0.05  #: of a limit: a bound this close to what is reached says no more
CLOSE_BOUND_M = 0.005  #: [m] likewise
LARGEST_MARGIN_SHOWN = 10.0  #: a margin beyond ten times the limit says no more than that
LIMIT_ROUNDING_FRACTION = 1e-9  #: of a limit, by which rounding may pass it: a motion designed to touch it does
SYMMETRIC = ("velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class LimitVerdict:
    """One limit. ``reached``: the most extreme value found; ``bound``: what it can never pass (equal where exact).
    margin: distance from bound to limit (when broken from what was reached, negative), as a fraction of the limit, of
    the range of a position, or of 0.1 m of a distance.
    status: "holds" (proved for all time), "assumed" (kept, but the limit, or data that it is computed from, was assumed
    or is missing: never counted as a proof), "broken" (``reached`` at time ``at`` is beyond it), "open" (neither)."""

    what: str  # position, velocity, acceleration, jerk, torque, height, distance …
    where: str  # joint, frame or pair of bodies
    unit: str
    limit: float
    reached: float
    bound: float
    margin: float
    at: float
    status: Status
    upper: bool  # whether the limit is an upper one

    @classmethod
    def jump(cls, what: str, where: str, unit: str, *, allowed: float, size: float, at: float) -> LimitVerdict:
        """Broken by a jump of this size; ``allowed``: what rounding can explain of it."""
        margin = 1.0 - size / allowed if allowed > 0.0 else -math.inf
        return cls(f"jump of {what}", where, unit, allowed, size, size, margin, at, "broken", upper=True)

    @property
    def is_length(self) -> bool:
        """A height or a distance: its margin is a length, and says nothing as a part of its limit."""
        return self.unit == "m" and self.what != "position"

    @property
    def margin_words(self) -> str:
        """Signed, in mm for heights and distances, in % of the limit for all else, up to ``LARGEST_MARGIN_SHOWN``."""
        room = self.bound if math.isfinite(self.bound) and self.status != "broken" else self.reached
        length = 1e3 * (self.limit - room if self.upper else room - self.limit)
        value, digits, unit = (length, 1, "mm") if self.is_length else (100.0 * self.margin, 2, "%")
        if not math.isfinite(value):
            return "–"
        if not self.is_length and abs(self.margin) > LARGEST_MARGIN_SHOWN:
            return f"{'> +' if self.margin > 0 else '< -'}{100 * LARGEST_MARGIN_SHOWN:g} %"
        if self.status not in FAILURES and round(value, digits) == 0.0:
            value = 0.0  # a limit that is kept is not reported as passed by -0.0
        return f"{value:+.{digits}f} {unit}"


@dataclass(frozen=True)
class RowName:
    """What one row limits: c = (limit − value)/scale for an upper limit, (value − limit)/scale for a lower one."""

    what: str  # "position", "torque", "height", "distance" …
    where: str  # joint, frame or pair of bodies
    unit: str
    limit: float
    scale: float  # what its margin is a part of: the limit itself, the range of a position, a length
    upper: bool  # the value must stay below the limit
    assumed: bool = False  # the limit or the data behind it is missing: that a row is kept is no proof

    @property
    def kept(self) -> Status:
        """The status of a row that is ≥ 0 for all time."""
        return "assumed" if self.assumed else "holds"

    def verdict(self, status: Status, *, reached: float, bound: float, margin: float, at: float) -> LimitVerdict:
        own = (self.what, self.where, self.unit, self.limit)
        return LimitVerdict(*own, reached, bound, margin, at, status, self.upper)


@dataclass(frozen=True)
class Certificate:
    """All limits of one curve, and whether an arm that stands can begin it and stands when it is over. Rest is a limit
    only of what is run from rest, such as files (``from_rest`` of ``certify``), not of periods of a longer motion."""

    limits: tuple[LimitVerdict, ...]
    duration: float
    nodes: int  # instants evaluated
    starts_at_rest: bool = True
    ends_at_rest: bool = True

    def __repr__(self) -> str:
        return f"<{verdict(self)}>"

    @property
    def certified(self) -> bool:
        """No limit is broken or open: those that are ``proved`` hold, the ``assumed`` ones are kept as far as known."""
        return not any(limit.status in FAILURES for limit in self.limits)

    @property
    def proved(self) -> tuple[LimitVerdict, ...]:
        return tuple(limit for limit in self.limits if limit.status == "holds")

    @property
    def assumed(self) -> tuple[LimitVerdict, ...]:
        return tuple(limit for limit in self.limits if limit.status == "assumed")

    @property
    def worst(self) -> LimitVerdict | None:
        """The limit with the smallest margin, assumed ones left aside."""
        known = (limit for limit in self.limits if limit.status != "assumed")
        return min(known, key=lambda limit: limit.margin, default=None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "certified": self.certified,
            "proved": len(self.proved),
            "assumed": len(self.assumed),
            **{name: value for name, value in vars(self).items() if name != "limits"},
            "limits": [vars(limit) for limit in self.limits],
        }


def rests(robot: Robot, curve: Curve) -> tuple[bool, bool]:
    """At the start and at the end: no velocity and no acceleration."""
    resting = [(size <= allowed[:, None]).all(axis=0) for *_, size, allowed in _at_the_ends(robot, curve)]
    start, end = np.all(resting, axis=0).tolist()
    return start, end


def end_jumps(robot: Robot, curve: Curve) -> Iterator[LimitVerdict]:
    """Every joint that would jump from or to rest, by velocity; where its jerk is limited, by acceleration too."""
    jerky = np.isfinite(robot.limit("jerk"))
    for order, what, size, allowed in _at_the_ends(robot, curve):
        moving = ~(size <= allowed[:, None])  # NaN is a jump
        for j, end in np.argwhere(moving & jerky[:, None] if order == 2 else moving):
            joint, at = robot.joints[j], (curve.start, curve.end)[end]
            how, most, reached = f"{what} {('from', 'to')[end]} rest", float(allowed[j]), float(size[j, end])
            yield LimitVerdict.jump(how, joint.name, _unit(joint, order), allowed=most, size=reached, at=at)


def _at_the_ends(robot: Robot, curve: Curve) -> Iterator[tuple[int, str, Array, Array]]:
    """Of velocity, then acceleration, by order and word: magnitude (n, 2) at the start and at the end, and up to which
    it is none (n,): by the size of the limit or, where there is none, of what the joint reaches, within reason."""
    span, time = np.array([0, len(curve.knots) - 2]), np.array([curve.start, curve.end])
    for order, what in enumerate(REST_LIMIT_FRACTION, start=1):
        limit = robot.limit(what)
        size = np.where(np.isfinite(limit), limit, np.maximum(1.0, curve.extremum(order).size))
        allowed = np.minimum(REST_LIMIT_FRACTION[what] * size, LARGEST_AT_REST[what])
        yield order, what, np.abs(curve.derivatives(span, time, order)[order]), allowed


def reached_words(limit: LimitVerdict) -> str:
    """What is reached; and how far the proof came, where that leaves a limit open or decides its margin."""
    beyond = limit.bound - limit.reached if limit.upper else limit.reached - limit.bound
    close = beyond <= (CLOSE_BOUND_M if limit.is_length else CLOSE_BOUND_FRACTION * abs(limit.limit))
    if limit.status == "broken" or (limit.status != "open" and close):
        return f"{limit.reached:.6g}"
    bound = f"{'at most' if limit.upper else 'at least'} {limit.bound:.6g}"
    return f"{limit.reached:.6g}, {bound if math.isfinite(limit.bound) else 'no bound'}"


def limits_words(count: int) -> str:
    return "1 limit" if count == 1 else f"{count} limits"


def assumed_words(certificate: Certificate) -> str:
    """How many limits are kept but rest on what was assumed; empty where there are none."""
    count = len(certificate.assumed)
    if not count:
        return ""
    kept = "1 more is kept, but rests" if count == 1 else f"{count} more are kept, but rest"
    return f"{kept} on what was assumed or is missing"


def failures_words(certificate: Certificate) -> str:
    """How many limits are broken and how many open, of how many."""
    counts = {word: sum(limit.status == word for limit in certificate.limits) for word in ("broken", "open")}
    failed = " and ".join(f"{count} {word}" for word, count in counts.items() if count)
    open_ = " (neither proved nor broken)" if counts["open"] else ""
    return f"of {limits_words(len(certificate.limits))}, {failed}{open_}"


def verdict(certificate: Certificate) -> str:
    """One sentence."""
    if not certificate.limits:
        return "nothing to certify: there is no limit that could be broken"
    if not certificate.certified:
        return f"NOT certified: {failures_words(certificate)}"
    worst, count, assumed = certificate.worst, len(certificate.proved), assumed_words(certificate)
    if worst is None:
        return f"nothing to certify: no limit that could be broken is known; {assumed}"
    return (
        f"certified: {limits_words(count)} {'holds' if count == 1 else 'hold'} at every instant of "
        f"{certificate.duration:.3f} s; tightest is {worst.what} of {worst.where}, margin {worst.margin_words}"
        f"{'; ' + assumed if assumed else ''}"
    )


def _exact_verdict(row: RowName, reached: float, at: float) -> LimitVerdict:
    """Of the exact extreme. Rounding has the size of the limit, or of a position's range where that is narrow."""
    room = row.limit - reached if row.upper else reached - row.limit
    touching = LIMIT_ROUNDING_FRACTION * min(row.scale, max(1.0, abs(row.limit)))
    status = row.kept if room >= -touching else "broken"
    margin = room / row.scale if status == "broken" else max(0.0, room / row.scale)  # rounding is no overshoot
    return row.verdict(status, reached=reached, bound=reached, margin=margin, at=at)


def joint_verdicts(robot: Robot, curve: Curve, *, from_rest: bool = False) -> list[LimitVerdict]:
    """Jumps of position and velocity, where it is run from rest those at its ends too, then every finite limit of every
    joint; where the acceleration jumps, the jerk is infinite and its limit broken."""
    found = list(end_jumps(robot, curve)) if from_rest else []
    for jump in curve.breaks():
        joint = robot.joints[jump.joint]
        place = joint.name, _unit(joint, jump.order)
        found.append(LimitVerdict.jump(jump.what, *place, allowed=jump.allowed, size=jump.size, at=jump.at))
    found += _positions(robot, curve)
    for order, what in enumerate(SYMMETRIC, start=1):
        found += _rates(robot, curve, order, what)
    return found


def _unit(joint: Joint, order: int) -> str:
    """Of the order-th derivative of a position."""
    return ("m" if joint.is_prismatic else "rad") + ("", "/s", "/s²", "/s³")[order]


def _positions(robot: Robot, curve: Curve) -> Iterator[LimitVerdict]:
    low, high = robot.position_range()
    reached = curve.extremum(0)
    sides = (("lower", reached.lowest, reached.lowest_at), ("upper", reached.highest, reached.highest_at))
    for j, joint in enumerate(robot.joints):
        for side, value, at in sides:
            limit, upper, far = float(getattr(joint.limits, side)), side == "upper", joint.limits.is_placeholder(side)
            row = RowName("position", joint.name, _unit(joint, 0), limit, float(high[j] - low[j]), upper, far)
            if math.isfinite(limit):
                yield _exact_verdict(row, float(value[j]), float(at[j]))


def _rates(robot: Robot, curve: Curve, order: int, what: str) -> Iterator[LimitVerdict]:
    """The largest |q̇|, |q̈| or |q⃛| of every joint that has such a limit."""
    limited = np.flatnonzero(np.isfinite(robot.limit(what)))
    if not len(limited):
        return
    reached = curve.extremum(order)
    for j in limited:
        joint = robot.joints[j]
        limit = float(getattr(joint.limits, what))
        assumed = joint.limits.is_placeholder(what) or (what == "acceleration" and joint.limits.assumed)
        row = RowName(what, joint.name, _unit(joint, order), limit, limit, True, assumed)
        low, high = (-reached.lowest[j], reached.lowest_at[j]), (reached.highest[j], reached.highest_at[j])
        size, at = low if low[0] > high[0] else high
        yield _exact_verdict(row, float(size), float(at))
