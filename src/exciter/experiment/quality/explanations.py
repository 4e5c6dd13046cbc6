"""What would have to be changed in a log so that a believable robot explains it: columns of two joints exchanged, one
that counts the other way, a zero elsewhere. The best change is found, made, and the search goes on from there.

Changes are compared first with the description as it is, which is quick, then the best of each kind by what believable
robots leave (``Believable``). A change must gain more than chance lets the best of all that were tried. Where other
positions would open a closed loop they are none that a robot can have: such changes cost without end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np
import scipy

from exciter.dynamics.model import DynamicModel
from exciter.errors import LoopError
from exciter.experiment.quality.believable import LEAST_NOISE_SHARE, Believable, Believed, body_spread
from exciter.experiment.quality.smoothed_log import CUTOFF_OVER_BAND, EffortRows, unexplained, unit_columns
from exciter.experiment.quality.thresholds import Thresholds
from exciter.robot.motion import Motion
from exciter.typing import Array

EXPLANATION_SAMPLES = 300  # that changes are compared on
TRIED_OF_A_KIND = 3  # best changes of a kind by the description, that believable robots are asked about
ZERO_ANGLES_PER_TURN = 48  # that are tried
ZERO_STEPS = 4  # of Gauss and Newton, to the best angle
ZERO_STEP_RAD = 1e-3  # [rad] of the difference that stands for a derivative
FARTHEST_ZERO_STEP_RAD = 0.5  # [rad] that a parabola is believed over
LEAST_ZERO_RAD = 0.1  # centres of mass of descriptions are wrong by such an angle
LEAST_ZERO_GAIN = 0.1  # promised by a parabola, to go on
USUAL_STRICTNESS = 3.0  # of bodies whose errors are even within ± BODY_SPREAD: their variance is a third
LIKELY_ZERO_GAIN = 2.0  # beyond chance of the best of n joints: 1 : 2.7, worth a warning
MOST_CHANGES = 4  # rounds
RIVAL_GAIN = 10.0  # −2 ln of odds, 1 : 150: a change that gains less than that less is as good
HELPED_SHARE = 0.05  # of the gain of a change, that is a joint's own: it is one that the change is about
EXPLAINED_SHARE = 0.5  # of a joint's torque, RMS, left at most: a change that leaves more explains too little
SINGULAR_DRIVE = 1e-6  # relative singular value of what drives do that counts as zero


T = TypeVar("T")


class Arranged(NamedTuple):
    """Which columns of the log are taken for those of each joint, and how: q_j = turn_j q_order(j) + shift_j, and
    τ_j = factor_j τ_torques(j)."""

    order: tuple[int, ...]
    turn: tuple[float, ...]
    shift: tuple[float, ...]
    torques: tuple[int, ...]
    factor: tuple[float, ...]

    @classmethod
    def as_logged(cls, n: int) -> Arranged:
        same = tuple(range(n))
        return cls(same, (1.0,) * n, (0.0,) * n, same, (1.0,) * n)


@dataclass(frozen=True, eq=False)
class Change:
    """kind: unit, torque sign, torques (exchanged), position sign, positions, axis (position and torque), joints, zero.
    gain: of cost, −2 ln of odds. believed: the log when it is made. angle [rad]: to be added to the position."""

    kind: str
    joints: tuple[int, ...]
    then: Arranged
    gain: float
    believed: Believed
    angle: float = 0.0

    @property
    def parts(self) -> int:
        """Of how many changes it is made up."""
        return len(self.joints) if self.kind == "torque sign" else 1

    def sure(self, before: Believed, needed: float) -> bool:
        """Whether the gain is of joints that are explained then, with as much noise as other joints have for reasons
        unknown, in per cent and in N·m; a torque is in its place where it is explained."""
        after, gains = self.believed, before.costs - self.believed.costs
        improved, explained = gains > HELPED_SHARE * self.gain, after.share < EXPLAINED_SHARE
        least = after.least
        if not improved.all():
            torque = after.least / LEAST_NOISE_SHARE**2
            elsewhere = np.minimum(
                torque * float(after.share[~improved].max()) ** 2, float(after.left[~improved].max())
            )
            least = np.where(improved, np.maximum(least, elsewhere), least)
        old, new = (np.log1p(one.left / least * after.least / one.least) for one in (before, after))
        gains = after.worth * (old - new)
        solid = float(np.where(explained, gains, np.minimum(gains, 0.0)).sum()) + before.penalty - after.penalty
        moved = self.kind in ("torques", "joints")
        return solid > needed and (not moved or bool(explained[list(self.joints)].all()))


@dataclass(frozen=True, eq=False)
class Explanation:
    """believed: the log as it is. changes: that a believable robot needs, each with a gain above ``needed``; possible:
    the best where none is sure."""

    believed: Believed
    needed: float
    changes: tuple[Change, ...] = ()
    possible: Change | None = None
    rivals: tuple[tuple[int, ...], ...] = ()


Candidate = tuple[str, tuple[int, ...], Arranged]


class ChangeSearch:
    """model: whose joint terms are free, beside usual ones. loaded: the tips carry an unknown load. amperes:
    efforts are currents without gains, any factor will do."""

    def __init__(
        self,
        rows: EffortRows,
        limits: Thresholds,
        model: DynamicModel | None = None,
        *,
        loaded: bool = False,
        amperes: bool = False,
    ) -> None:
        step = max(1, len(rows.smooth) // EXPLANATION_SAMPLES)
        self.motion, self.effort = rows.smooth.motion[::step], rows.effort[::step]
        self.bodies, self.limits, self.amperes = DynamicModel(rows.model.robot), limits, amperes
        self.n = n = self.bodies.n
        self.turning = [j for j, joint in enumerate(rows.model.robot.joints) if not joint.is_prismatic]
        self.worth = rows.smooth.independent / CUTOFF_OVER_BAND  # what a model misses changes as slowly as the motion
        robot = self.bodies.dynamics.robot
        tips = sorted(set(range(robot.n_bodies)) - set(robot.parents.tolist())) if loaded else ()
        self.spread = body_spread(robot.inertias, tips)
        beside = None if model is None else model.regressor(self.motion)[:, :, model.inertial_size :]
        self.bases = list[Array]()
        for j, (qd, qdd, direction) in enumerate(
            zip(self.motion.qd.T, self.motion.qdd.T, rows.smooth.direction[::step].T, strict=True)
        ):
            more = () if beside is None else beside[:, j].T
            columns = np.column_stack([np.ones_like(qd), qd, qdd, np.sign(qd), direction, *more])
            u, s, _ = np.linalg.svd(unit_columns(columns), full_matrices=False)
            self.bases.append(u[:, s > SINGULAR_DRIVE * s[0]])
        tried = 4 * n + 3 * n * (n - 1) + len(self.turning) * ZERO_ANGLES_PER_TURN
        self.chance = 2.0 * float(np.log(tried))  # that the best of so many gains
        self.needed = self.chance + limits.refusal
        self._made: dict[tuple[tuple[float, ...], ...], Believable] = {}

    def at(self, a: Arranged) -> Believable:
        key = (a.order, a.turn, a.shift)
        if key not in self._made:
            if len(self._made) > 2 * TRIED_OF_A_KIND:
                self._made.clear()
            order, turn, m = list(a.order), np.array(a.turn), self.motion
            q, qd, qdd = (x[:, order] * turn for x in (m.q, m.qd, m.qdd))
            motion, bases = Motion(m.time, q + np.array(a.shift), qd, qdd), [self.bases[k] for k in order]
            self._made[key] = Believable(self.bodies, motion, bases, self.effort, self.spread, self.worth)
        return self._made[key]

    def fit(self, a: Arranged) -> Believed:
        return self.at(a).fit(np.array(a.torques), np.array(a.factor))

    def factors(self, here: Believable) -> tuple[Array, Array]:
        """(j, i) of the effort i at joint j, as it is and the other way round."""
        size = np.abs(here.scale()[0]) if self.amperes else np.ones((self.n, self.n))
        return size, -size

    def run(self) -> Explanation:
        now = Arranged.as_logged(self.n)
        if self.amperes:
            own = self.factors(self.at(now))[0].diagonal()
            now = now._replace(factor=tuple(np.where(own > 0.0, own, 1.0).tolist()))
        first = before = self.fit(now)
        changes, rivals, possible = list[Change](), list[tuple[int, ...]](), None
        for _ in range(MOST_CHANGES):
            if before.explicable < self.chance:
                break
            tried = list(self.tried(now, before))
            sure = [one for one in tried if one.gain > self.needed and one.sure(before, self.needed)]
            if not sure:
                likely = (one for one in tried if one.gain > self.chance and not changes)
                possible = max(likely, key=lambda one: one.gain, default=None)
                break
            best = max(sure, key=lambda one: one.gain - self.needed * one.parts)  # each must be worth it
            changes.append(best)
            alike = (one for one in sure if one.kind == best.kind and one.gain > best.gain - RIVAL_GAIN)
            rivals.append(tuple(sorted({j for one in alike for j in one.joints} - set(best.joints))))
            now, before = best.then, best.believed
            if best.kind == "unit":  # in which everything else is judged
                break
        possible = possible if changes or possible is not None else self.likely_zero(now)
        return Explanation(first, self.needed, tuple(changes), possible, tuple(rivals))

    def likely_zero(self, now: Arranged) -> Change | None:
        """A zero that bodies hide, where those would be at the edge of what is believed: a fit of bodies as near to the
        description as usual (BODY_SPREAD as the ends of what is likely, not as σ) is better off with another one."""
        believed = self.at(now).fit(np.array(now.torques), np.array(now.factor), strict=USUAL_STRICTNESS)
        scores = zip(self.turning, self.scores(now, believed, self.turning), strict=True)
        far = [(gain, j, angle) for j, (gain, angle) in scores if abs(angle) >= LEAST_ZERO_RAD]
        gain, j, angle = max(far, default=(0.0, 0, 0.0))
        if gain < LIKELY_ZERO_GAIN + 2.0 * np.log(self.n):
            return None
        then = now._replace(shift=_with(now.shift, [j], [now.shift[j] + angle]))
        return Change("zero", (j,), then, gain, believed, angle)

    def tried(self, now: Arranged, before: Believed) -> Iterator[Change]:
        """Until one explains all there is to explain."""
        for candidates in (self.units, self.torque_changes, self.near_zeros, self.position_changes, self.far_zeros):
            done = False
            for kind, joints, then in candidates(now, before):
                if kind == "zero":
                    one = self.settled(then, joints[0], now, before)
                else:
                    after = self.fit(then)
                    one = Change(kind, joints, then, before.cost - after.cost, after)
                if one is not None:
                    yield one
                    done = done or (one.gain > self.needed and one.believed.explicable < self.needed)
            if done:
                return

    def units(self, now: Arranged, before: Believed) -> list[Candidate]:
        """Torques of all joints, or of one, beyond reason against the description's."""
        if self.amperes:
            return []
        scale, like = (np.abs(x.diagonal()) for x in self.at(now).scale())
        sure = like > self.limits.conclusive
        off = np.flatnonzero(sure & ((scale > self.limits.torque_scale) | (scale < 1.0 / self.limits.torque_scale)))
        alike = len(off) > 1 and len(off) == sure.sum()
        if alike:
            return [("unit", tuple(range(self.n)), now._replace(factor=(float(np.median(scale[off])),) * self.n))]
        factors = ((j, _with(now.factor, [j], [float(scale[j])])) for j in off.tolist())
        return [("unit", (j,), now._replace(factor=factor)) for j, factor in factors]

    # -- torques -------------------------------------------------------------------------------------------------------

    def torque_changes(self, now: Arranged, before: Believed) -> list[Candidate]:
        here, n = self.at(now), self.n
        plus, minus = self.factors(here)
        costs = np.stack([here.alone(plus), here.alone(minus)])
        better = costs[0] <= costs[1]
        either, signed = np.where(better, costs[0], costs[1]), np.where(better, plus, minus)
        at, torques, factor = np.arange(n), np.array(now.torques), np.array(now.factor)
        own, other = (
            costs[np.where(factor > 0, [0], [1]), at, torques],
            costs[np.where(factor > 0, [1], [0]), at, torques],
        )
        found = list[Candidate]()
        against = np.flatnonzero(own - other > self.needed)
        flips = [[j] for j in _best(own - other)] + ([against.tolist()] if len(against) > 1 else [])
        for joints in flips:
            then = now._replace(factor=_with(now.factor, joints, [-now.factor[j] for j in joints]))
            found.append(("torque sign", tuple(joints), then))

        def moved(joints: Sequence[int], to: Sequence[int]) -> None:
            factors = [float(signed[j, i]) for j, i in zip(joints, to, strict=True)]
            then = now._replace(torques=_with(now.torques, joints, to), factor=_with(now.factor, joints, factors))
            found.append(("torques", tuple(joints), then))

        taken, pairs = either[:, torques], list(combinations(range(n), 2))
        for k in _best(np.array([own[i] + own[j] - taken[i, j] - taken[j, i] for i, j in pairs])):
            moved(pairs[k], [int(torques[m]) for m in pairs[k][::-1]])
        _, best = scipy.optimize.linear_sum_assignment(taken)  # joint j takes the torque that is at best(j)
        for cycle in cycles(best.tolist()):
            if len(cycle) > 2:
                moved([j for j, _ in cycle], [int(torques[k]) for _, k in cycle])
        return found

    # -- positions -----------------------------------------------------------------------------------------------------

    def position_changes(self, now: Arranged, before: Believed) -> list[Candidate]:
        own = self.alone(now)
        kinds: dict[str, list[tuple[float, tuple[int, ...], Arranged]]] = {}
        slides = [j not in self.turning for j in range(self.n)]
        for j in range(self.n):
            turned = now._replace(
                turn=_with(now.turn, [j], [-now.turn[j]]), shift=_with(now.shift, [j], [-now.shift[j]])
            )
            axis = turned._replace(factor=_with(now.factor, [j], [-now.factor[j]]))
            for kind, then in (("position sign", turned), ("axis", axis)):
                kinds.setdefault(kind, []).append((own - self.alone(then), (j,), then))
        for i, j in combinations(range(self.n), 2):
            if slides[i] != slides[j]:
                continue
            back = {name: _with(x, [i, j], [x[j], x[i]]) for name, x in now._asdict().items()}
            positions = now._replace(order=back["order"], turn=back["turn"], shift=back["shift"])
            for kind, then in (("positions", positions), ("joints", Arranged(**back))):
                kinds.setdefault(kind, []).append((own - self.alone(then), (i, j), then))
        best = ((kind, sorted(tried, key=lambda one: -one[0])[:TRIED_OF_A_KIND]) for kind, tried in kinds.items())
        return [(kind, joints, then) for kind, some in best for gain, joints, then in some if np.isfinite(gain)]

    def alone(self, a: Arranged) -> float:
        """Cost of the description as it is; infinite where loops do not close."""
        order, turn, m = list(a.order), np.array(a.turn), self.motion
        q, qd, qdd = (x[:, order] * turn for x in (m.q, m.qd, m.qdd))
        try:
            torque = self.bodies.torque(Motion(m.time, q + np.array(a.shift), qd, qdd))
        except LoopError:
            return np.inf
        effort, least = self._efforts(a)
        left = [unexplained(self.bases[k], x) for k, x in zip(order, (effort - torque).T, strict=True)]
        return float(self.worth * np.log1p(np.mean(np.square(left), axis=1) / least).sum())

    def _efforts(self, a: Arranged) -> tuple[Array, Array]:
        """(N, n) at the joints, and f² (n,) of them."""
        chosen, factor = list(a.torques), np.array(a.factor)
        return self.effort[:, chosen] * factor, factor**2 * self.at(a).least[chosen]

    # -- zeros ---------------------------------------------------------------------------------------------------------

    def settled(self, start: Arranged, j: int, now: Arranged, before: Believed) -> Change | None:
        """The zero of joint j that fits best, from ``start`` on; None where it is as good as the one there is."""
        angle, best = start.shift[j] - now.shift[j], None
        for _ in range(ZERO_STEPS):
            then = now._replace(shift=_with(now.shift, [j], [now.shift[j] + angle]))
            try:
                after = self.fit(then)
            except LoopError:
                break
            if best is None or after.cost < best[2].cost:
                best = (angle, then, after)
            gain, step = next(self.scores(then, after, [j]))
            if gain < LEAST_ZERO_GAIN:
                break
            angle += step
        if best is None or abs(turn := float((best[0] + np.pi) % (2.0 * np.pi) - np.pi)) < LEAST_ZERO_RAD:
            return None
        return Change("zero", (j,), best[1], before.cost - best[2].cost, best[2], turn)

    def near_zeros(self, now: Arranged, before: Believed) -> list[Candidate]:
        """Best joints by the slope of the cost along their zero, bodies free to follow."""
        scores = zip(self.turning, self.scores(now, before, self.turning), strict=True)
        best = sorted(scores, key=lambda one: -one[1][0])[:TRIED_OF_A_KIND]
        return [("zero", (j,), now._replace(shift=_with(now.shift, [j], [now.shift[j] + d]))) for j, (_, d) in best]

    def scores(self, a: Arranged, believed: Believed, joints: Sequence[int]) -> Iterator[tuple[float, float]]:
        """Of joint after joint: gain of cost that a parabola promises for another zero, and the step there [rad]."""
        here, m = self.at(a), self.at(a).motion
        links = self.bodies.dynamics.robot.inertias + (self.spread @ believed.z.reshape(-1, 10, 1))[..., 0]
        measured = here.left(np.array(a.torques), np.array(a.factor))
        left = [y - w @ believed.z[own] for y, (own, w) in zip(measured, here.rows, strict=True)]
        weights, known = believed.weights / here.samples, here.known(believed.weights, believed.strict)
        for j in joints:
            away = ZERO_STEP_RAD * np.eye(self.n)[j]
            try:
                ends = [
                    self.bodies.dynamics.inverse_dynamics(Motion(m.time, m.q + d, m.qd, m.qdd), links)
                    for d in (away, -away)
                ]
            except LoopError:  # at the edge of what they reach
                yield 0.0, 0.0
                continue
            slope = (ends[0] - ends[1]).T / (2.0 * ZERO_STEP_RAD)
            first, second, parts = 0.0, 0.0, [np.zeros(len(own)) for own, _ in here.rows]
            for i in np.flatnonzero(slope.any(axis=1)).tolist():  # of other limbs nothing changes
                d, w = unexplained(here.bases[i], slope[i]), weights[i]
                first, second = first + float(w * (d @ left[i])), second + float(w * (d @ d))
                parts[i] = w * (d @ here.rows[i][1])
            mixed = here.summed(parts)
            second -= float(mixed @ known(mixed))
            step = first / second if second > SINGULAR_DRIVE else 0.0
            yield first * step, float(np.clip(step, -FARTHEST_ZERO_STEP_RAD, FARTHEST_ZERO_STEP_RAD))

    def far_zeros(self, now: Arranged, before: Believed) -> list[Candidate]:
        """Best joints and angles with the description as it is. Torques are a Fourier series of second order in the
        angle of one joint: five angles say what they are at any other."""
        here, (effort, least) = self.at(now), self._efforts(now)
        m, sampled = here.motion, 2.0 * np.pi / 5.0 * np.arange(5)

        def left(q: Array) -> Array:
            torque = self.bodies.torque(Motion(m.time, q, m.qd, m.qdd))
            return np.stack(list(map(unexplained, here.bases, (effort - torque).T)))

        angles = np.arange(1, ZERO_ANGLES_PER_TURN) * 2.0 * np.pi / ZERO_ANGLES_PER_TURN - np.pi
        away = angles[:, None] - sampled
        share = (1.0 + 2.0 * np.cos(away) + 2.0 * np.cos(2.0 * away)) / 5.0  # (angles, 5)
        logged, found = left(m.q), list[tuple[float, int, float]]()
        for j in self.turning:
            try:
                turned = [left(m.q + angle * np.eye(self.n)[j]) for angle in sampled[1:]]
            except LoopError:
                continue
            five = np.stack([logged, *turned], axis=1)
            squares = np.einsum("ap,jpr,ar->aj", share, five @ five.mT / five.shape[-1], share, optimize=True)
            costs = np.log1p(np.maximum(squares, 0.0) / least).sum(axis=1)
            found.append((float(costs.min()), j, float(angles[int(np.argmin(costs))])))
        best = sorted(found)[:TRIED_OF_A_KIND]
        return [("zero", (j,), now._replace(shift=_with(now.shift, [j], [now.shift[j] + d]))) for _, j, d in best]


def cycles(order: Sequence[int]) -> list[list[tuple[int, int]]]:
    """The pairs (i, order[i]) of every cycle longer than one."""
    left, found = set(range(len(order))), []
    while left:
        at = min(left)
        cycle = []
        while at in left:
            left.remove(at)
            cycle.append((at, order[at]))
            at = order[at]
        found += [cycle] if len(cycle) > 1 else []
    return found


def _best(gains: Array) -> list[int]:
    return [int(k) for k in np.argsort(-gains)[:TRIED_OF_A_KIND] if gains[k] > 0.0]


def _with(x: tuple[T, ...], at: Sequence[int], values: Sequence[T]) -> tuple[T, ...]:
    changed = list(x)
    for k, value in zip(at, values, strict=True):
        changed[k] = value
    return tuple(changed)
