"""Limits of joints that follow others: what closed loops make them do must keep their own position, velocity and
acceleration limits, and the loops must close at every instant.

Rows are in parts of a limit, or of the range of a position. Between samples the tree's joints are bounded as the
coordinates are (``Spans.tree``), by a proof that the loops close throughout; where that fails a row stays open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exciter.errors import LoopError
from exciter.excitation.certificate.certificate import RowName
from exciter.excitation.certificate.spans import BOUND_ROUNDING, Spans
from exciter.excitation.constraints.constraint import ConstraintRows
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.coupling import Coupled, LinearCoupling
from exciter.robot.loop_bounds import UNPROVED
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray

CLOSED_ROW, OPEN_ROW = 1.0, -1.0  # of a loop that closes, and of one that does not
FARTHER = 1.1  # times as far from the reference as a posture that has room
FOLLOWER_LIMIT_KINDS = ("position", "velocity", "acceleration")  # by order of the derivative


class FollowerLimit(NamedTuple):
    """Of a body of the tree: order of the derivative, the limit, what rows are parts of, and which side."""

    body: int
    order: int
    limit: float
    scale: float
    upper: bool


@dataclass(frozen=True, eq=False)
class FollowerLimits:
    """First row: closed (1) or not (−1), where there are loops; then the finite limits of what follows, where
    ``limited``."""

    robot: Robot
    limited: bool = True

    @classmethod
    def of(cls, robot: Robot) -> FollowerLimits | None:
        """None where nothing of this kind is to be kept."""
        found = cls(robot)
        return found if found.rows else None

    @cached_property
    def _loops(self) -> bool:
        return isinstance(self.robot.coupling, ClosedLoops)

    @cached_property
    def followers(self) -> tuple[int, ...]:
        """Bodies whose limits are those of no joint: of loops all that follow, of others those that several move."""
        coupling = self.robot.coupling
        if isinstance(coupling, ClosedLoops):
            return tuple(coupling.followers.tolist())
        if isinstance(coupling, LinearCoupling):
            return tuple(k for k in range(self.robot.n_bodies) if coupling.leader(k) is None)
        return ()

    @cached_property
    def limits(self) -> tuple[FollowerLimit, ...]:
        found = list[FollowerLimit]()
        for body in self.followers if self.limited else ():
            own = self.robot.bodies[body].limits
            span = own.upper - own.lower if math.isfinite(own.upper - own.lower) else 2.0 * math.pi
            sides = [(0, own.lower, span, False), (0, own.upper, span, True)]
            for order, size in ((1, own.velocity), (2, own.acceleration)):
                sides += [(order, size, size, True), (order, -size, size, False)]
            found += [FollowerLimit(body, *side) for side in sides if math.isfinite(side[1])]
        return tuple(found)

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        names = [RowName("closure", "loops", "1", 0.0, 1.0, upper=False)] if self._loops else []
        for body, order, limit, scale, upper in self.limits:
            joint = self.robot.bodies[body]
            unit = ("m" if joint.is_prismatic else "rad") + ("", "/s", "/s²")[order]
            names.append(RowName(FOLLOWER_LIMIT_KINDS[order], joint.name, unit, limit, scale, upper))
        return tuple(names)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Followers without a limit of position or velocity."""
        said = list[str]()
        for what, order in (("position", 0), ("velocity", 1)):
            known = {one.body for one in self.limits if one.order == order}
            free = [self.robot.bodies[k].name for k in self.followers if k not in known]
            advice = "give limits: by the name of the joint"
            said += [f"{what} of {', '.join(free)}, which follow: no limit is known; {advice}"] if free else []
        return tuple(said)

    def values(self, motion: Motion) -> Array:
        """Samples where a loop cannot close break all rows."""
        coupling, closed = self.robot.coupling, self.closed(motion)
        assert coupling is not None
        out = np.full((len(self.rows), len(motion)), OPEN_ROW)
        out[:, closed] = self._values(coupling.motion(motion if closed.all() else motion[closed]))
        return out

    def closed(self, motion: Motion) -> BoolArray:
        """(N,) where the loops can close."""
        coupling = self.robot.coupling
        if isinstance(coupling, ClosedLoops):
            try:
                coupling.motion(motion)
            except LoopError:
                return np.asarray(coupling.reach(motion.q)[1] >= 1.0)
        return np.ones(len(motion), dtype=bool)

    def cramped(self, postures: Array) -> BoolArray:
        """(N,): of postures (N, n), whether loops open, or become singular, a little farther from the reference."""
        coupling = self.robot.coupling
        if not isinstance(coupling, ClosedLoops):
            return np.zeros(len(postures), dtype=bool)
        farther = coupling.home + FARTHER * (postures - coupling.home)
        return np.asarray(coupling.reach(farther)[1] < 1.0)

    def _values(self, moved: Coupled) -> Array:
        tree, out = moved.tree, np.full((len(self.rows), len(moved.tree)), CLOSED_ROW)
        for row, (body, order, limit, scale, upper) in enumerate(self.limits, start=int(self._loops)):
            reached = (tree.q, tree.qd, tree.qdd)[order][:, body]
            out[row] = (limit - reached if upper else reached - limit) / scale
        return out

    def linearised(self, motion: Motion) -> ConstraintRows:
        coupling = self.robot.coupling
        assert coupling is not None
        moved, slopes = coupling.motion(motion), np.zeros((3, len(self.rows), motion.n, len(motion)))
        null, nothing = np.broadcast_to(moved.null, (len(motion), *coupling.shape)), np.zeros(())
        bent, twice = (nothing, nothing) if not isinstance(coupling, ClosedLoops) else coupling.slopes(motion)[1:]
        by_order = (null, nothing, nothing), (bent, null, nothing), (twice, 2.0 * bent, null)  # of q, q̇, q̈
        for row, (body, order, _, scale, upper) in enumerate(self.limits, start=int(self._loops)):
            for slope, part in zip(slopes, by_order[order], strict=True):
                slope[row] = (-1.0 if upper else 1.0) / scale * (part[:, body].T if part.ndim else part)
        return ConstraintRows(self._values(moved), *slopes)

    def lower_bounds(self, spans: Spans) -> Array:
        closed = self.closed(spans.left) & self.closed(spans.right)
        if closed.all():
            return self._bounds(spans)
        ends = spans.start[closed], spans.end[closed], spans.left[closed], spans.right[closed]
        out = np.full((len(self.rows), len(closed)), -np.inf)
        out[:, closed] = self._bounds(Spans(*ends, spans.rates[..., closed]))
        return out

    def _bounds(self, spans: Spans) -> Array:
        tree = spans.tree(self.robot)
        ranges = tree.ranges
        ends = ((ranges.q_low, ranges.q_high), (ranges.qd_low, ranges.qd_high), (ranges.qdd_low, ranges.qdd_high))
        out = np.full((len(self.rows), len(spans.width)), CLOSED_ROW)
        if self._loops:
            out[0] = np.where((tree.rates < UNPROVED).all(axis=(0, 1)), CLOSED_ROW, -np.inf)
        for row, (body, order, limit, scale, upper) in enumerate(self.limits, start=int(self._loops)):
            low, high = (end[body] for end in ends[order])
            bound = (limit - high if upper else low - limit) / scale
            out[row] = bound - BOUND_ROUNDING * (1.0 + np.abs(bound))
        return out
