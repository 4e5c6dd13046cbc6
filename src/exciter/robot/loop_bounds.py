"""What the followers of closed chains can do between two instants: bounds of q̇ … q⁗ and of N, by norms.

On an interval of width h, with J₀ and C = (J₀)⁺ at its start, and ε ≥ |C J_d(t) − 1| entry by entry,

    J_d q̇_d = −J_u u̇        →    (1 − ε) |q̇_d| ≤ |C J_u(t)| |u̇|
    (J q̇)⁽ᵏ⁾ = 0             →    (1 − ε) |q_d⁽ᵏ⁺¹⁾| ≤ |C J_u| |u⁽ᵏ⁺¹⁾| + Σ_{l ≥ 1} C(k, l) |C| |J⁽ˡ⁾| |q⁽ᵏ⁺¹⁻ˡ⁾|

and the derivatives of N likewise, from (J N)⁽ᵏ⁾ = 0. ε itself rests on |J(t) − J₀| ≤ h |J̇|, and that on the speeds of
the followers: they are assumed (V), and found (V′). Where V′ < V for every follower, no solution that starts at the
interval's start can be the first to reach V, nor can J_d become singular: it exists up to the end. ε holds for all
postures within h V of the start, so there is no other one among these; the posture that was computed for the end is one
of them. So this proves, too, that the loops close throughout, and in one way of assembly. Where the proof fails nothing
is said (``UNPROVED``), and intervals are split.

Columns of J are products of axes and levers; their jets are Leibniz' rule on norms, limb by limb."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from exciter.robot.closed_loops import ClosedLoops, CoupledLoops
from exciter.robot.jets import product, turning
from exciter.robot.ties import JointTie, Limb
from exciter.typing import Array, BoolArray

UNPROVED = 1e30  # for a bound that is none: beyond any, and its powers are still numbers
ASSUMED_SPEED = 1.3  # of the speeds at the ends, or of what was found in the round before: V
ASSUMED_ROUNDS = 6
LEAST_SPEED = 1e-6  # [rad/s, m/s] of V: a follower that stands still needs room, too
LEAST_BOUND = 1e-12  # [rad, m, per time] what rounding alone may be
PROOF_ROUNDING = 1e-9  # relative, by which a bound must stay below what it proves


@dataclass(frozen=True, eq=False)
class LoopBounds:
    """rates (4, nb, M) ≥ |q̇|, |q̈|, |q⃛|, |q⁗| of the tree; null (3, nb, m, M) ≥ |N|, |Ṅ|, |N̈|; of followers
    ``UNPROVED`` where it is not proved that the loops close throughout."""

    rates: Array
    null: Array


def loop_bounds(
    coupling: ClosedLoops, left: CoupledLoops, right: CoupledLoops, width: Array, given: Array
) -> LoopBounds:
    """Of M intervals: the tree at both ends, widths (M,) [s], and what the coordinates can do, (4, m, M)."""
    return _Bounding(coupling, left, right, width, given).found()


class _Bounding:
    def __init__(
        self, coupling: ClosedLoops, left: CoupledLoops, right: CoupledLoops, width: Array, given: Array
    ) -> None:
        self.coupling, self.left, self.right, self.width, self.given = coupling, left, right, width, given
        ties, self.u, self.d = coupling.ties, coupling.coordinates, coupling.followers
        mix = np.eye(ties.count) if ties.mix is None else ties.mix
        inverse = left.inverse @ mix  # (M, d, k)
        self.at_start = np.abs(np.einsum("Mdr,Mrm->Mdm", left.inverse, left.state.jacobian[:, :, self.u]))
        blocks = list[Array]()  # by tie: |C| of its point, and of its turn or its equation
        for tie, rows in zip(ties.ties, ties.rows, strict=True):
            if isinstance(tie, JointTie):
                size = ties.length / ties.column_sizes[tie.joint]
                blocks.append(size * np.abs(inverse[:, :, rows]).sum(axis=2)[None])
            else:
                parts = [slice(rows.start, rows.start + 3)] + (
                    [slice(rows.start + 3, rows.stop)] if tie.word == "weld" else []
                )
                sizes = [1.0, ties.length]
                blocks.append(
                    np.stack([s * np.linalg.norm(inverse[:, :, p], axis=2) for p, s in zip(parts, sizes, strict=False)])
                )
        self.blocks = blocks  # each (1 or 2, M, d)

    def found(self) -> LoopBounds:
        nb, m, count = *self.coupling.shape, len(self.width)
        rates, null = np.full((4, nb, count), UNPROVED), np.full((3, nb, m, count), UNPROVED)
        rates[:, self.u] = self.given
        speeds = np.zeros((4, nb, count))
        speeds[:, self.u] = self.given
        ends = np.maximum(np.abs(self.left.tree.qd), np.abs(self.right.tree.qd)).T[self.d]
        apart = np.abs(self.right.tree.q - self.left.tree.q).T[self.d]
        assumed, proved = ASSUMED_SPEED * ends + LEAST_SPEED, np.zeros(count, dtype=bool)
        system = np.zeros((count, len(self.d), len(self.d)))
        for _ in range(ASSUMED_ROUNDS):
            speeds[0, self.d] = np.where(proved, speeds[0, self.d], assumed)
            change = self._weighted(self._columns(speeds, 1)[1]) * self.width[:, None, None]  # (M, d, nb) of C J
            eps = change[:, :, self.d]
            solved, fits = _solved(eps, self._onto(self.at_start + change[:, :, self.u], self.given[0]))
            below = (1.0 - PROOF_ROUNDING) * speeds[0, self.d] > solved.T
            fits = fits & (below & (apart <= self.width * speeds[0, self.d])).all(axis=0)
            new = fits & ~proved
            system[new], proved = eps[new], proved | fits
            assumed = np.where(np.isfinite(solved.T), ASSUMED_SPEED * np.maximum(solved.T, ends) + LEAST_SPEED, np.inf)
            if proved.all():
                break
            assumed = np.where(np.isfinite(assumed), assumed, 2.0 * speeds[0, self.d])
        self._higher(speeds, system, proved)
        self._higher(speeds, system, proved)  # with what the first round showed of the lower orders
        rates[:, :, proved] = np.minimum(speeds[:, :, proved], UNPROVED)
        null[..., proved] = np.minimum(self._null(speeds, system)[..., proved], UNPROVED)
        return LoopBounds(rates, null)

    def _onto(self, matrix: Array, speeds: Array) -> Array:
        """(M, d): matrix (M, d, m) times speeds (m, M)."""
        return np.asarray(np.einsum("Mdm,mM->Md", matrix, speeds))

    def _higher(self, speeds: Array, system: Array, proved: Array) -> None:
        """The orders 2 … 4 of the followers in place, then the lower ones by what the ends show."""
        columns = [self._weighted(part) for part in self._columns(speeds, 3)]
        reach = self.at_start + columns[1][:, :, self.u] * self.width[:, None, None]
        for k in range(1, 4):
            if k > 1:
                columns = [self._weighted(part) for part in self._columns(speeds, 3)]
            total = self._onto(reach, self.given[k])
            for l in range(1, k + 1):
                total += comb(k, l) * np.einsum("Mdj,jM->Md", columns[l], speeds[k - l])
            speeds[k, self.d] = np.where(proved, _solved(system, total)[0].T, np.inf)
        for order, (a, b) in enumerate(
            ((self.left.tree.qd, self.right.tree.qd), (self.left.tree.qdd, self.right.tree.qdd))
        ):
            seen = np.maximum(np.abs(a), np.abs(b)).T[self.d] + self.width**2 / 8.0 * speeds[order + 2, self.d]
            speeds[order, self.d] = np.minimum(speeds[order, self.d], seen)

    def _null(self, speeds: Array, system: Array) -> Array:
        """(3, nb, m, M)."""
        columns = [self._weighted(part) for part in self._columns(speeds, 2)]
        nb, m, count = *self.coupling.shape, len(self.width)
        null = np.zeros((3, nb, m, count))
        null[0, self.u, np.arange(m)] = 1.0
        for k in range(3):
            for j in range(m):
                total = np.zeros((count, len(self.d)))
                if k == 0:
                    total = self.at_start[:, :, j] + columns[1][:, :, self.u[j]] * self.width[:, None]
                for l in range(1, k + 1):
                    total += comb(k, l) * np.einsum("Mdi,iM->Md", columns[l], null[k - l, :, j])
                null[k, self.d, j] = _solved(system, total)[0].T
        return null

    def _weighted(self, columns: list[Array]) -> Array:
        """(M, d, nb): |C| times norms of the columns, by tie (1 or 2, nb, M)."""
        return np.asarray(
            sum(np.einsum("bMd,bjM->Mdj", own, part) for own, part in zip(self.blocks, columns, strict=True))
        )

    def _columns(self, speeds: Array, order: int) -> list[list[Array]]:
        """By order 0 … order and by tie: norms (1 or 2, nb, M) of what the joints do to its point and to its turn."""
        with np.errstate(invalid="ignore", over="ignore"):
            found = [self._tie(k, speeds, order) for k in range(len(self.coupling.ties.ties))]
        return [[np.nan_to_num(part[l], nan=np.inf, posinf=np.inf) for part in found] for l in range(order + 1)]

    def _tie(self, k: int, speeds: Array, order: int) -> Array:
        """(order + 1, 1 or 2, nb, M)."""
        tie, limbs = self.coupling.ties.ties[k], self.coupling.ties.limbs[k]
        nb, count = speeds.shape[1:]
        if isinstance(tie, JointTie):
            return self._polynomial(tie, speeds, order)
        parts = 2 if tie.word == "weld" else 1
        out = np.zeros((order + 1, parts, nb, count))
        assert limbs is not None
        for limb in limbs:
            self._limb(limb, speeds, order, out)
        return out

    def _limb(self, limb: Limb, speeds: Array, order: int, out: Array) -> None:
        """Axes and levers outward, then the way from each joint to the tie's point, inward."""
        count = speeds.shape[2]
        turn = np.zeros((order, count))  # jet of ω of the body before, up to the order that is needed
        axes, levers = list[Array](), list[Array]()
        arm = np.linalg.norm(limb.translation)
        for place, joint in enumerate(limb.joints):
            fixed = turning(turn)  # what is fixed in the body before: the lever to this joint, and its axis
            lever = np.zeros((order + 1, count))
            lever[0] = np.linalg.norm(limb.placements[place][:, 3])
            axes.append(fixed)
            if limb.prismatic[place]:
                lever[0] += self._farthest(joint, speeds)
                lever[1:] = speeds[:order, joint]
            else:
                turn = turn + product(fixed, speeds[:, joint], order - 1)
            levers.append(product(fixed, lever, order))
        beyond = arm * turning(turn)
        for place in reversed(range(len(limb.joints))):
            joint = limb.joints[place]
            if limb.prismatic[place]:
                out[:, 0, joint] += axes[place]
            else:
                out[:, 0, joint] += product(axes[place], beyond, order)
                if out.shape[1] == 2:
                    out[:, 1, joint] += axes[place]
            beyond = beyond + levers[place]

    def _farthest(self, joint: int, speeds: Array) -> Array:
        """(M,) |q| of a joint that slides can be."""
        ends = np.maximum(np.abs(self.left.tree.q[:, joint]), np.abs(self.right.tree.q[:, joint]))
        return np.asarray(ends + self.width * speeds[0, joint])

    def _polynomial(self, tie: JointTie, speeds: Array, order: int) -> Array:
        """P′(q_leader) and its derivatives in time; the follower's own column is constant."""
        nb, count = speeds.shape[1:]
        out = np.zeros((order + 1, 1, nb, count))
        out[0, 0, tie.joint] = 1.0
        if tie.leader < 0:
            return out
        reach = self._farthest(tie.leader, speeds) + abs(tie.leader_zero)
        powers = np.abs(
            np.array(
                [np.polynomial.Polynomial(tie.coefficients).deriv(k).coef.tolist() + [0.0] * k for k in range(1, 5)]
            )
        )
        p1, p2, p3, p4 = (np.polynomial.polynomial.polyval(reach, row) for row in powers)
        v = speeds[:, tie.leader]
        jet = [p1, p2 * v[0], p3 * v[0] ** 2 + p2 * v[1], p4 * v[0] ** 3 + 3.0 * p3 * v[0] * v[1] + p2 * v[2]]
        out[:, 0, tie.leader] = jet[: order + 1]
        return out


def _solved(eps: Array, total: Array) -> tuple[Array, BoolArray]:
    """x (M, d) of (1 − ε) x = total, which bounds every y ≥ 0 with y ≤ ε y + total where ε has a spectral radius below
    one, and whether that is shown: by an x > 0 that (1 − ε) takes to something positive. Infinite elsewhere."""
    finite = np.isfinite(eps).all(axis=(1, 2)) & np.isfinite(total).all(axis=1)
    count, size = total.shape
    out, shown = np.full((count, size), np.inf), np.zeros(count, dtype=bool)
    if not size:
        return np.zeros((count, 0)), np.ones(count, dtype=bool)
    room = np.eye(size) - eps[finite]
    right = np.stack([total[finite], np.ones((int(finite.sum()), size))], axis=2)
    regular = np.abs(np.linalg.det(room)) > np.finfo(float).tiny
    both = np.full(right.shape, -1.0)
    both[regular] = np.linalg.solve(room[regular], right[regular])
    fits = regular & (both[:, :, 1] > 0.0).all(axis=1)
    places = np.flatnonzero(finite)[fits]
    out[places], shown[places] = (1.0 + PROOF_ROUNDING) * np.maximum(both[fits][:, :, 0], LEAST_BOUND), True
    return out, shown
