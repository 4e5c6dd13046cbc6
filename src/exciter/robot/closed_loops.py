"""Closed chains: the tree's positions that keep all ties, as a function of a few of them, with exact derivatives.

Coordinates u are some joints of the tree, the others (d) follow: c(φ(u)) = 0. With J = ∂c/∂q, split into columns of
coordinates and followers, and J⁺ = (J_d)⁺ (least squares: equations that say nothing new, as planar loops have them, do
no harm while J_d keeps its full column rank),

    N_d = −J⁺ J_u,   q̈_d = −J⁺ (J_u ü + γ),   γ = J̇ q̇,   ∂q̇_d/∂u = −½ J⁺ (∂γ/∂q̇) N

and the adjoint of a seed x_d of any of these is the multiplier λ = (J⁺)ᵀ x_d of its equation, whose derivative with
respect to q (``ties.py``) is again a seed of q.

Positions come by continuation: from the reference, from postures that it led to, or from neighbours in time, in steps
short enough that Newton's correction is small beside the step; so the way in which the loop is assembled stays. A step
that must shrink to nothing is a place where the loop cannot close, or where the followers no longer follow (singular):
told, never a NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from exciter.errors import LoopError
from exciter.robot.coupling import Coupled, Coupling
from exciter.robot.geometry import frozen_array
from exciter.robot.limits import Limits
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Frame, Robot
from exciter.robot.ties import JointTie, Tie, TiedState, Ties
from exciter.typing import Array, BoolArray, Index

if TYPE_CHECKING:
    from exciter.robot.loop_bounds import LoopBounds

SINGULAR_RATIO = 1e-5  # of singular values of J_d, below which the followers do not follow
NEWTON_STEPS = 10
CLOSED_STEP = 1e-9  # [rad, or of the length] correction after which Newton's next one is rounding
CLOSED_ERROR = 1e-8  # of the length: what may remain of equations that say nothing new
LARGEST_STEP = 0.3  # [rad, or of the length] of any joint in one step of a continuation
LARGEST_CORRECTION = 0.25  # of a step: beyond, the step was too long
SHORTEST_STEP = 1e-4  # of the whole way
MOST_CONTINUATION_STEPS = 400
DAMPING = 1e-13  # of Newton's normal equations, of their trace: a singular start must not end the batch
SAMPLE_STRIDES = (64, 8, 1)  # of a motion: those at the coarsest start at the atlas, those between from neighbours
LEAST_STRIDE_SAMPLES = 8  # at a stride that is used
ATLAS_POSTURES = 256
NEAR_REFERENCE = 0.3  # [rad, or of the length] within which the reference is start enough
MOST_LEFT_SHARE = 0.25  # of samples that the motion before does not lead to: beyond, it is no help
MOST_LAST_MOTIONS = 8  # of different numbers of samples that are kept
MOST_KEPT_SAMPLES = 20_000  # of a motion whose tree is kept
SPANNED_SHARE = 1e-4  # of a combination of equations, in ties that are left: below, it is rounding
STILL_RATE = 1e-9  # |∂q/∂u| of a joint that does not move
STILL_POSTURES = 5  # random ones, at which joints that do not move are told from others


@dataclass(frozen=True, eq=False, kw_only=True)
class CoupledLoops(Coupled):
    """With what derivatives need again: the ties at these positions, and J⁺ (N, d, r)."""

    state: TiedState
    inverse: Array

    @cached_property
    def by_velocity(self) -> Array:
        """∂γ/∂q̇ (N, r, nb)."""
        return self.state.by_velocity(self.tree.qd)

    @cached_property
    def by_position(self) -> Array:
        """∂(J q̈ + γ)/∂q N (N, r, m)."""
        return np.asarray(self.state.by_position(self.tree.qd, self.tree.qdd) @ self.null)

    @cached_property
    def curved(self) -> Array:
        """∂(J N_k)/∂q N_l (N, r, m, m), k before l: −J ∂²q/∂u_k∂u_l."""
        still = np.zeros_like(self.tree.qd)
        parts = [self.state.by_position(still, self.null[:, :, k]) @ self.null for k in range(self.null.shape[2])]
        return np.stack(parts, axis=2)

    def bent_twice(self, followers: Index) -> Array:
        """∂q̈/∂u (N, nb, m): what c̈ = J q̈ + γ = 0 asks of q̈ where u changes, q and q̇ with it."""
        assert self.bent is not None
        out = np.zeros_like(self.null)
        out[:, followers] = -self.inverse @ (self.by_position + self.by_velocity @ self.bent)
        return out


#: By number of samples: coordinates and positions of the motion that was closed last.
_LAST_CLOSED: WeakKeyDictionary[ClosedLoops, dict[int, tuple[Array, Array]]] = WeakKeyDictionary()
_KEPT_TREES: WeakKeyDictionary[Motion, dict[ClosedLoops, CoupledLoops]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class ClosedLoops:
    """ties: of the tree; coordinates (m,): which of its joints move on their own, in their order; reference (nb,): a
    posture [rad, m] in which all ties hold. ``loop_assembly.with_loops`` makes it of frames and names."""

    ties: Ties
    coordinates: Index
    reference: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", frozen_array(self.reference, (self.shape[0],), "the reference posture"))

    @property
    def constant(self) -> bool:
        return False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.ties.tree), len(self.coordinates)

    @property
    def home(self) -> Array:
        """(m,) coordinates of the reference."""
        return self.reference[self.coordinates]

    @cached_property
    def followers(self) -> Index:
        """(d,) joints of the tree that are no coordinates."""
        return np.setdiff1d(np.arange(self.shape[0]), self.coordinates)

    @cached_property
    def _sizes(self) -> Array:
        return self.ties.column_sizes

    # -- positions ----------------------------------------------------------------------------------------------------

    def positions(self, u: Array) -> Array:
        """(N, nb) of coordinates (N, m)."""
        q, closed = self.closed(u)
        if not closed.all():
            raise LoopError(self._problem(u, int(np.argmin(closed)), q))
        return q

    def closed(self, u: Array) -> tuple[Array, BoolArray]:
        """Positions (N, nb) of coordinates (N, m), and where the loops could be closed; elsewhere as far as it went."""
        samples, last = len(u), _LAST_CLOSED.setdefault(self, {})
        if samples in last:
            q, closed = self._from_last(*last[samples], u)
            rest = np.flatnonzero(~closed)
            if len(rest) <= MOST_LEFT_SHARE * samples:
                q[rest], closed[rest] = self._from_atlas(u[rest])
                return self._kept(u, *self._from_neighbours(u, q, closed))
        q, closed = np.tile(self.reference, (samples, 1)), np.zeros(samples, dtype=bool)
        strides = [stride for stride in SAMPLE_STRIDES if stride == 1 or samples >= LEAST_STRIDE_SAMPLES * stride]
        first = np.arange(0, samples, strides[0])
        q[first], closed[first] = self._from_atlas(u[first])
        for coarse, fine in pairwise(strides):
            new = np.setdiff1d(np.arange(0, samples, fine), np.arange(0, samples, coarse))
            before = new // coarse * coarse
            after = np.minimum(before + coarse, (samples - 1) // coarse * coarse)
            apart = self._distance(q[after] - q[before])
            between = closed[before] & closed[after] & (apart <= LARGEST_STEP)
            some, part = new[between], ((new - before) / coarse)[between, None]
            start = (1.0 - part) * q[before[between]] + part * q[after[between]]
            q[some], closed[some] = self._corrected(start, u[some], LARGEST_CORRECTION * apart[between])
            rest = new[~closed[new]]
            q[rest], closed[rest] = self._from_atlas(u[rest])
        return self._kept(u, *self._from_neighbours(u, q, closed))

    def _kept(self, u: Array, q: Array, closed: BoolArray) -> tuple[Array, BoolArray]:
        """The same, kept as the beginning of the next motion of as many samples."""
        if LEAST_STRIDE_SAMPLES <= len(u) <= MOST_KEPT_SAMPLES and closed.all():
            last = _LAST_CLOSED[self]
            last[len(u)] = np.array(u), q.copy()
            for other in list(last)[: max(0, len(last) - MOST_LAST_MOTIONS)]:
                del last[other]
        return q, closed

    def _from_last(self, before: Array, start: Array, u: Array) -> tuple[Array, BoolArray]:
        """From closed positions (N, nb) at coordinates ``before`` (N, m), each by one step of a continuation: a search
        asks for motions that hardly differ. True where the step was short enough."""
        way = np.zeros_like(start)
        way[:, self.coordinates] = u - before
        state = self.ties.at(start)
        way[:, self.followers] = self._solved(state, np.einsum("Nkj,Nj->Nk", state.jacobian, way))
        rate = self._distance(way)
        q, near = start.copy(), np.flatnonzero(rate <= LARGEST_STEP)
        closed = np.zeros(len(u), dtype=bool)
        q[near], closed[near] = self._corrected((start + way)[near], u[near], LARGEST_CORRECTION * rate[near])
        return q, closed & ~self._beyond(self.ties.at(q))

    @cached_property
    def _atlas(self) -> Array:
        """(K, nb): the reference, and postures all over the ranges of the coordinates, as far as straight lines from
        there reach them; always the same ones, so that results do not depend on what was asked before."""
        ends = np.array([(joint.limits.lower, joint.limits.upper) for joint in self.ties.tree])[self.coordinates]
        ends = np.where(np.isfinite(ends), ends, self.home[:, None] + [-np.pi, np.pi])
        u = np.random.default_rng(0).uniform(ends[:, 0], ends[:, 1], (ATLAS_POSTURES, self.shape[1]))
        q, done = self._continued(np.tile(self.reference, (len(u), 1)), u)
        return np.vstack([self.reference, q[(done > 0.0) & ~self._beyond(self.ties.at(q))]])

    def _from_atlas(self, u: Array) -> tuple[Array, BoolArray]:
        """From the posture of the atlas whose coordinates are nearest; where that fails, from the reference."""
        from scipy.spatial import cKDTree  # takes a while to load

        if not len(u):
            return np.zeros((0, self.shape[0])), np.zeros(0, dtype=bool)
        sizes = self._sizes[self.coordinates]
        if np.abs((u - self.home) / sizes).max() <= NEAR_REFERENCE:
            start = np.tile(self.reference, (len(u), 1))
        else:
            start = self._atlas[cKDTree(self._atlas[:, self.coordinates] / sizes).query(u / sizes)[1]]
        q, done = self._continued(start, u)
        rest = np.flatnonzero((done < 1.0) | self._beyond(self.ties.at(q)))
        q[rest], done[rest] = self._continued(np.tile(self.reference, (len(rest), 1)), u[rest])
        return q, done >= 1.0

    def _from_neighbours(self, u: Array, q: Array, closed: BoolArray) -> tuple[Array, BoolArray]:
        """Samples that no straight way from the reference reaches: from those beside them, which one did."""
        samples, tried = len(u), set[tuple[int, int]]()
        while not closed.all():
            ways = [
                (k, near)
                for k in np.flatnonzero(~closed).tolist()
                for near in (k - 1, k + 1)
                if 0 <= near < samples and closed[near] and (k, near) not in tried
            ]
            if not ways:
                break
            tried.update(ways)
            to, start = np.array(ways).T
            found, part = self._continued(q[start], u[to])
            reached = part >= 1.0
            q[to[reached]], closed[to[reached]] = found[reached], True
        return q, closed

    def _distance(self, step: Array) -> Array:
        """(N,) largest of steps (N, nb), sliding joints by the length."""
        return np.asarray(np.abs(step / self._sizes).max(axis=1, initial=0.0))

    def _continued(self, start: Array, u: Array) -> tuple[Array, Array]:
        """From closed positions (M, nb), each along a straight line in the coordinates to (M, m): how far it came, and
        which part of the way (M,) that is, 1 for all of it."""
        q, samples = start.copy(), len(u)
        begin = start[:, self.coordinates]
        done, step = np.zeros(samples), np.ones(samples)
        active = np.arange(samples)
        for _ in range(MOST_CONTINUATION_STEPS):
            if not active.size:
                break
            way = np.zeros((active.size, self.shape[0]))
            way[:, self.coordinates] = u[active] - begin[active]
            state = self.ties.at(q[active])
            way[:, self.followers] = self._solved(state, np.einsum("Nkj,Nj->Nk", state.jacobian, way))
            rate = np.maximum(self._distance(way), np.finfo(float).tiny)
            step[active] = np.minimum(np.minimum(step[active], 1.0 - done[active]), LARGEST_STEP / rate)
            trial = q[active] + step[active, None] * way
            at = done[active] + step[active]
            goal = np.where((at >= 1.0)[:, None], u[active], begin[active] + at[:, None] * (u[active] - begin[active]))
            allowed = LARGEST_CORRECTION * step[active] * rate
            found, reached = self._corrected(trial, goal, allowed)
            q[active[reached]] = found[reached]
            done[active] = np.where(reached, at, done[active])
            step[active] *= np.where(reached, 2.0, 0.5)
            active = active[(done[active] < 1.0) & (step[active] > SHORTEST_STEP)]
        return q, done

    def _corrected(self, start: Array, u: Array, allowed: Array) -> tuple[Array, BoolArray]:
        """Newton's method from (M, nb) with the coordinates at (M, m); true where it ends in a posture that keeps the
        ties, no further away than allowed (M,)."""
        q = start.copy()
        q[:, self.coordinates] = u
        first, closed, active = q.copy(), np.zeros(len(q), dtype=bool), np.arange(len(q))
        for _ in range(NEWTON_STEPS):
            if not active.size:
                break
            state = self.ties.at(q[active])
            step = self._solved(state, state.error)
            left = state.error + np.einsum("Nkd,Nd->Nk", state.jacobian[:, :, self.followers], step)
            q[np.ix_(active, self.followers)] += step
            size = np.abs(step / self._sizes[self.followers]).max(axis=1, initial=0.0)
            fits = np.abs(left).max(axis=1, initial=0.0) <= CLOSED_ERROR * self.ties.length
            closed[active] = (size <= CLOSED_STEP) & fits & ~state.flipped
            near = self._distance(q[active] - first[active]) <= np.maximum(allowed[active], CLOSED_STEP)
            closed[active] &= near
            active = active[(size > CLOSED_STEP) & near]
        return q, closed

    def _solved(self, state: TiedState, equations: Array) -> Array:
        """−J⁺ equations (M, d), by damped normal equations: fast, and good enough to iterate with."""
        sizes = self._sizes[self.followers]
        own = state.jacobian[:, :, self.followers] * sizes
        normal = own.swapaxes(1, 2) @ own
        if not normal.size:
            return np.zeros((len(equations), 0))
        damping = DAMPING * np.trace(normal, axis1=1, axis2=2) + np.finfo(float).tiny
        normal += damping[:, None, None] * np.eye(normal.shape[1])
        return -sizes * np.linalg.solve(normal, np.einsum("Nkd,Nk->Nd", own, equations)[..., None])[..., 0]

    # -- motion and its adjoint ---------------------------------------------------------------------------------------

    def motion(self, motion: Motion) -> CoupledLoops:
        """Kept as long as a motion of moderate length lives: criteria, constraints and gradients ask for the same."""
        known = _KEPT_TREES.setdefault(motion, {}) if len(motion) <= MOST_KEPT_SAMPLES else {}
        if self not in known:
            known[self] = self._moved(motion)
        return known[self]

    def null_at(self, u: Array) -> Array:
        """N (nb, m) at coordinates (m,)."""
        return np.asarray(self.motion(Motion.at(u)).null[0])

    def _moved(self, motion: Motion) -> CoupledLoops:
        q = self.positions(motion.q)
        state = self.ties.at(q)
        inverse = self._inverse(state, motion.q)
        null = np.zeros((len(q), *self.shape))
        null[:, self.coordinates, np.arange(self.shape[1])] = 1.0
        null[:, self.followers] = -inverse @ state.jacobian[:, :, self.coordinates]
        qd = np.einsum("Njm,Nm->Nj", null, motion.qd)
        bent = np.zeros_like(null)
        bent[:, self.followers] = -0.5 * inverse @ (state.by_velocity(qd) @ null)
        qdd = np.einsum("Njm,Nm->Nj", null, motion.qdd) + np.einsum("Njm,Nm->Nj", bent, motion.qd)
        tree = Motion(motion.time, q, qd, qdd)
        return CoupledLoops(tree=tree, null=null, bent=bent, state=state, inverse=inverse)

    def _inverse(self, state: TiedState, u: Array) -> Array:
        """J⁺ (N, d, k), refused where the followers do not follow."""
        sizes = self._sizes[self.followers]
        left, values, right = self._values(state)
        if (singular := _singular(values) | self._beyond(state)).any():
            raise LoopError(self._problem(u, int(np.argmax(singular)), state.q, singular=True))
        return np.asarray(sizes[:, None] * (right.swapaxes(1, 2) / values[:, None]) @ left.swapaxes(1, 2))

    def _values(self, state: TiedState) -> tuple[Array, Array, Array]:
        """Singular values of J_d, largest first, between their vectors."""
        own = state.jacobian[:, :, self.followers] * self._sizes[self.followers]
        left, values, right = np.linalg.svd(own, full_matrices=False)
        return left, values, right

    def _beyond(self, state: TiedState) -> BoolArray:
        """(N,): det J_d has another sign than at the reference, so that no way leads here on which the followers follow
        throughout: a flat parallelogram, say, may go on as one or as the other that crosses itself."""
        own = state.jacobian[:, :, self.followers] * self._sizes[self.followers]
        if own.shape[1] != own.shape[2]:
            return np.zeros(len(own), dtype=bool)
        return np.asarray(np.sign(np.linalg.det(own)) == -self._orientation)

    @cached_property
    def _orientation(self) -> float:
        own = self.ties.at(self.reference[None]).jacobian[:, :, self.followers] * self._sizes[self.followers]
        return float(np.sign(np.linalg.det(own))[0])

    def pullback(
        self, motion: Motion, coupled: Coupled, tree_bar: MotionGradient, null_bar: Array | None = None
    ) -> MotionGradient:
        """With multipliers λ of the equations of q̈, q̇ and N: see the head of this file. What does not depend on seeds
        is kept with the motion: criteria and constraints ask with many."""
        if isinstance(coupled, CoupledLoops):
            moved = coupled
        else:
            state = self.ties.at(coupled.tree.q)
            own = state, self._inverse(state, motion.q)
            moved = CoupledLoops(coupled.tree, coupled.null, coupled.bent, state=own[0], inverse=own[1])

        def multiplier(bar: Array) -> Array:
            return np.asarray(np.einsum("Ndk,Nd...->Nk...", moved.inverse, bar[:, self.followers]))

        def down(bar: Array) -> Array:
            return np.asarray(np.einsum("Njm,Nj->Nm", moved.null, bar))

        by_acceleration = multiplier(tree_bar.qdd)
        qd_bar = tree_bar.qd - np.einsum("Nkj,Nk->Nj", moved.by_velocity, by_acceleration)
        u_bar = down(tree_bar.q) - np.einsum("Nkl,Nk->Nl", moved.by_position, by_acceleration)
        multipliers = multiplier(qd_bar)[:, :, None] * motion.qd[:, None]  # q̇ = N u̇
        if null_bar is not None:
            multipliers += multiplier(null_bar)
        u_bar -= np.einsum("Nkml,Nkm->Nl", moved.curved, multipliers, optimize=True)
        return MotionGradient(q=u_bar, qd=down(qd_bar), qdd=down(tree_bar.qdd))

    def rates(self, left: Motion, right: Motion, rates: Array) -> Array:
        """See ``Coupling``; ``UNPROVED`` where it is not shown that the loops close throughout (``loop_bounds.py``)."""
        return self.bounds(left, right, rates).rates

    def bounds(self, left: Motion, right: Motion, rates: Array) -> LoopBounds:
        """The same, with bounds of N."""
        from exciter.robot.loop_bounds import loop_bounds

        return loop_bounds(self, self.motion(left), self.motion(right), right.time - left.time, rates)

    def slopes(self, motion: Motion) -> tuple[Array, Array, Array]:
        """N = ∂q/∂u = ∂q̇/∂u̇ = ∂q̈/∂ü, ∂q̇/∂u = ½ ∂q̈/∂u̇, and ∂q̈/∂u, each (N, nb, m)."""
        moved = self.motion(motion)
        assert moved.bent is not None
        return moved.null, moved.bent, moved.bent_twice(self.followers)

    def steepest(self, motion: Motion) -> tuple[float, int, int, int]:
        """The largest |∂q/∂u| of a motion, sliding joints by the length; at which sample, of which joint of the tree,
        by which coordinate."""
        sizes = self._sizes
        rates = np.abs(self.motion(motion).null) * sizes[self.coordinates] / sizes[:, None]
        k, body, joint = np.unravel_index(int(np.argmax(rates)), rates.shape)
        return float(rates.max()), int(k), int(body), int(joint)

    def reach(self, u: Array) -> tuple[Array, Array]:
        """How far straight lines from the reference to (N, m) can be followed: positions (N, nb), and which part of the
        way (N,) that is; 1 only where the followers follow at the end."""
        q, done = self._continued(np.tile(self.reference, (len(u), 1)), u)
        state = self.ties.at(q)
        singular = _singular(self._values(state)[1]) | self._beyond(state)
        return q, np.where(singular, np.minimum(done, 1.0 - SHORTEST_STEP), done)

    # -- other ------------------------------------------------------------------------------------------------------

    def _problem(self, u: Array, sample: int, q: Array, *, singular: bool = False) -> str:
        names = [self.ties.tree[k].name for k in self.coordinates]
        where = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, u[sample], strict=True))
        which = f"sample {sample} ({where})" if len(u) > 1 else where
        error = np.abs(self.ties.at(self._attempt(q, u, sample)).errors[0])
        worst = int(np.argmax([error[rows].max() for rows in self.ties.rows]))
        loop = f"the loop {self.ties.ties[worst].name}"
        if singular:
            follow = ", ".join(self.ties.tree[k].name for k in self.followers)
            place = f"is singular at {which}, or on the way there"
            return f"{loop} {place}: {follow} do not follow throughout; keep away from it by limits"
        return f"{loop} cannot close at {which}; give limits within which it can, or other coordinates (actuated: …)"

    def _attempt(self, q: Array, u: Array, sample: int) -> Array:
        """(1, nb): where a continuation ended, with the coordinates where they should be."""
        tried = q[sample : sample + 1].copy()
        tried[:, self.coordinates] = u[sample]
        return tried

    @cached_property
    def pattern(self) -> BoolArray:
        """(nb, m): which coordinate moves which joint of the tree, at random postures about the reference."""
        return self._moving(self.reference[self.coordinates], [*range(self.shape[1])])

    def _moving(self, u: Array, free: list[int]) -> BoolArray:
        """(nb, f) what some coordinates move, the others standing still at u (m,)."""
        near = np.tile(u, (STILL_POSTURES, 1))
        near[1:, free] += np.random.default_rng(0).uniform(-0.1, 0.1, (STILL_POSTURES - 1, len(free)))
        null = self.motion(Motion.at(near[self.closed(near)[1]])).null[:, :, free]
        return np.asarray((np.abs(null) > STILL_RATE).any(axis=0))

    def locked(self, positions: Mapping[int, float]) -> tuple[Coupling | None, dict[int, float]]:
        """See ``Coupling``; the ties of what still moves are seen from the bodies that carry it then."""
        u = self.reference[self.coordinates].copy()
        u[list(positions)] = [*positions.values()]
        q = self.positions(u[None])[0]
        free = [k for k in range(self.shape[1]) if k not in positions]
        moving = self._moving(u, free).any(axis=1)
        stands = {int(k): float(q[k]) for k in np.flatnonzero(~moving)}
        if not free:
            return None, stands
        return self._without(stands, q, [int(self.coordinates[k]) for k in free]), stands

    def _without(self, stands: Mapping[int, float], q: Array, coordinates: list[int]) -> Coupling | None:
        tree, frames = self.ties.tree, list[Frame]()
        for k, tie in enumerate(self.ties.ties):
            if not isinstance(tie, JointTie):
                frames += [replace(tie.a, name=f"{k}:a"), replace(tie.b, name=f"{k}:b")]
        unlimited = tuple(replace(joint, limits=Limits()) for joint in tree)
        robot = Robot("loops", unlimited, frames=tuple(frames))
        moved = robot.lock({tree[k].name: value for k, value in stands.items()})
        place = {name: k for k, name in enumerate(moved.joint_names)}
        at = {k: place[joint.name] for k, joint in enumerate(tree) if joint.name in place}
        by_name = {frame.name: frame for frame in moved.frames}
        ties, rows = list[Tie](), list[int]()
        for k, tie in enumerate(self.ties.ties):
            own = self.ties.rows[k]
            if isinstance(tie, JointTie):
                if tie.joint in at:
                    ties.append(replace(tie, joint=at[tie.joint], leader=at[tie.leader]))
                    rows += range(own.start, own.stop)
                continue
            a, b = by_name[f"{k}:a"], by_name[f"{k}:b"]
            if a.joint != b.joint:
                ties.append(replace(tie, a=replace(a, name=tie.a.name), b=replace(b, name=tie.b.name)))
                rows += range(own.start, own.stop)
        if not ties:
            return None
        mix = None if self.ties.mix is None else _spanning(self.ties.mix[:, rows])
        known = [k for k in range(len(tree)) if k in at]
        order = np.array([at[k] for k in coordinates])
        return ClosedLoops(replace(self.ties, tree=moved.joints, ties=tuple(ties), mix=mix), order, q[known])


def _spanning(rows: Array) -> Array:
    """Orthonormal rows of the same space, of some columns of orthonormal rows."""
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    return frozen_array(
        right[values > SPANNED_SHARE], (int((values > SPANNED_SHARE).sum()), rows.shape[1]), "equations"
    )


def _singular(values: Array) -> BoolArray:
    """(N,) of singular values (N, d)."""
    if not values.shape[1]:
        return np.zeros(len(values), dtype=bool)
    return np.asarray(values[:, -1] < SINGULAR_RATIO * values[:, 0])
