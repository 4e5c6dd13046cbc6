"""Forces of the ground on a robot that stands, and torques of its drives beside them.

Feet do not move, so where forces act is fixed in the world: with G (6, 3k) of these points, constant, the forces f (3k)
of k feet carry a motion that takes the wrench w (all bodies, about the origin of the world) where G f = w. There are
more forces than equations; the least ones are chosen, f = G⁺ w, which a controller's feed-forward must ask for. Then

    normal force       n · f_i ≥ load · m g / k
    friction cone      μ n · f_i − √(|f_i − n (n · f_i)|² + δ²) ≥ 0        (concave in f; δ: a little, for its tip)
    torques            |τ| ≤ τ_max,   τ = (W χ + terms)_legs − J_legsᵀ f

w follows from the six equations of the base, τ_base = Bᵀ w. Between samples f is as near to its chord as w is, and a
concave row is nowhere below its ends by more than that; torques are those of Newton–Euler with forces at the feet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import cross
from exciter.errors import ParameterError
from exciter.excitation.certificate.spans import BOUND_ROUNDING, Spans, largest, tighten
from exciter.excitation.constraints.constraint import ConstraintRows, Kinematics, RowName, kinematics
from exciter.excitation.constraints.follower_limits import OPEN_ROW, FollowerLimits
from exciter.excitation.constraints.torque_limits_and_bounds import (
    Gap,
    Push,
    carried_wrench,
    mass_gaps,
    torque_gaps,
    torque_jacobians,
    torque_range,
)
from exciter.parameters.terms import declared_terms
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.motion import Motion
from exciter.robot.robot import FREE_BASE_JOINTS, Robot
from exciter.robot.spatial import skew
from exciter.robot.stance import Footing, footings, touching, upward
from exciter.typing import Array, Index

CONE_TIP_FRACTION = 1e-3  # of a foot's share of the weight: δ, by which cones are smaller


class Carried(NamedTuple):
    """Of N samples: wrench w (6, N), forces (3 k, N), torques (bodies, N) beside them."""

    wrench: Array
    forces: Array
    torque: Array


class Slopes(NamedTuple):
    """Derivatives of forces (3 k, m, N) and torques (bodies, m, N) with respect to u, u̇ or ü."""

    forces: Array
    torque: Array


@dataclass(frozen=True, eq=False)
class StanceForces:
    """Rows: every foot's normal force, every foot's friction cone, in parts of an equal share of the weight; then 1 − τ
    / τ̂ and 1 + τ/τ̂ of all drives with a limit, τ̂ = (1 − margin) τ_max. model: of the tree, with all its terms."""

    robot: Robot
    model: DynamicModel
    margin: float = 0.0
    torques: bool = True

    @classmethod
    def of(cls, robot: Robot, margin: float = 0.0, *, torques: bool = True) -> Self | None:
        """With masses and terms of the description; None for a robot that does not stand. torques: keep limits."""
        if not footings(robot):
            return None
        if not 0.0 <= margin < 1.0:
            raise ParameterError(f"the margin of the torque limits is {margin}; it must be in 0 … 1, 1 excluded")
        return cls(robot, DynamicModel(robot.tree, declared_terms(robot)), margin, torques)

    # -- what does not change ----------------------------------------------------------------------------------------

    @cached_property
    def feet(self) -> tuple[Footing, ...]:
        return footings(self.robot)

    @cached_property
    def _coupling(self) -> ClosedLoops:
        assert isinstance(self.robot.coupling, ClosedLoops)
        return self.robot.coupling

    @cached_property
    def _points(self) -> Array:
        return touching(self.robot)

    @cached_property
    def share(self) -> float:
        """[N] of the weight, for each foot."""
        weight = float(self.robot.inertias[:, 0].sum() * np.linalg.norm(self.robot.gravity))
        if not weight > 0.0:
            raise ParameterError(f"robot '{self.robot.name}' has no weight to stand by; give masses and gravity")
        return weight / len(self.feet)

    @cached_property
    def _sharing(self) -> Array:
        """G⁺ (3 k, 6)."""
        moments = [skew(point) for point in self._points]
        grasp = np.vstack([np.tile(np.eye(3), len(self.feet)), np.hstack(moments)])
        return np.asarray(np.linalg.pinv(grasp))

    @cached_property
    def _base(self) -> Index:
        return np.array([self.robot.body(name) for name in FREE_BASE_JOINTS])

    @cached_property
    def _above(self) -> tuple[tuple[int, ...], ...]:
        """Bodies between the base link and each foot."""
        base = {*self._base.tolist()}
        return tuple(tuple(b for b in self.robot.ancestors(f.a.joint) if b not in base) for f in self.feet)

    @cached_property
    def limit(self) -> Array:
        """τ̂ (bodies,) [N·m or N]; infinite where there is none."""
        driven = [body.actuated and self.torques for body in self.robot.bodies]
        return np.where(driven, (1.0 - self.margin) * self.model.robot.limit("torque"), np.inf)

    @cached_property
    def drives(self) -> Index:
        """Bodies whose drives have a limit."""
        return np.flatnonzero(np.isfinite(self.limit))

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """What torques lack, by body; see ``torque_gaps``."""
        return torque_gaps(self.model)

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        lacking = (
            self.robot.nominal or bool(self.robot.lacking) or any(joints for _, joints in mass_gaps(self.model.robot))
        )
        unknown = {j for _, joints in self.gaps for j in joints}
        names = [
            RowName("normal force", foot.a.name, "N", foot.load * self.share, self.share, False, lacking)
            for foot in self.feet
        ]
        names += [
            RowName("force left in the friction cone", foot.a.name, "N", 0.0, self.share, False, lacking)
            for foot in self.feet
        ]
        for sign in (1.0, -1.0):
            for j in self.drives.tolist():
                joint, most = self.robot.bodies[j], float(self.limit[j])
                unit = "N" if joint.is_prismatic else "N·m"
                names.append(RowName("torque", joint.name, unit, sign * most, most, sign > 0.0, j in unknown))
        return tuple(names)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What is said of the ground and of a controller, and what torques lack."""
        feet = ", ".join(foot.a.name for foot in self.feet)
        said = [
            f"the ground under {feet}: taken as level and rigid, with a friction of {self.feet[0].friction:g}, which "
            "nobody measured; give stance: {friction: …}",
            "forces between the feet: proved is that the least forces that carry the motion stay within friction cones "
            "and torque limits; a controller that asks for others, or follows inexactly, has others",
        ]
        if self.feet[0].radius:
            said.append(
                f"rolling of round feet: {feet} are held at their centres, and touch {self.feet[0].radius:g} m below"
            )
        free = [body.name for j, body in enumerate(self.robot.bodies) if body.actuated and np.isinf(self.limit[j])]
        if not self.torques:
            said.append("torque: it is not among the constraints")
        elif free:
            said.append(f"torque of {', '.join(free)}: no limit is known; give limits: {{torque: …}}")
        for why, joints in self.gaps:
            names = [self.robot.tree_names[j] for j in joints if j in self.drives]
            every = len(names) == len(self.drives)
            said += [f"torque{'' if every else ' of ' + ', '.join(names)}: {why}"] if names else []
        return tuple(said)

    # -- at samples --------------------------------------------------------------------------------------------------

    def carried(self, motion: Motion) -> Carried:
        """Least forces of the ground, and torques of the drives beside them."""
        tree = self._coupling.motion(motion).tree
        return self._carried(kinematics(self.robot, motion), self.model.torque(tree).T)

    def _carried(self, at: Kinematics, torque: Array) -> Carried:
        wrench = self._solved(at, torque[self._base][:, None])[:, 0]
        forces = self._sharing @ wrench
        return Carried(wrench, forces, self._relieved(at, torque, forces))

    def _screws(self, at: Kinematics, bodies: Index, point: Array | None = None) -> Array:
        """(bodies, 6, N): force and moment about the world's origin, per unit torque; of a point (3,): its force."""
        axis, origin = at.rotation[bodies, :, 2], at.origin[bodies]
        slides = at.dynamics.chain.prismatic[bodies][:, None, None]
        seen = origin if point is None else origin - point[:, None]
        force = np.where(slides, axis, cross(seen, axis))
        return force if point is not None else np.concatenate([force, np.where(slides, 0.0, axis)], axis=1)

    def _solved(self, at: Kinematics, right: Array) -> Array:
        """w (6, r, N) of Bᵀ w = right (6, r, N)."""
        matrix = self._screws(at, self._base).transpose(2, 0, 1)
        return np.asarray(np.linalg.solve(matrix, right.transpose(2, 0, 1)).transpose(1, 2, 0))

    def _relieved(self, at: Kinematics, torque: Array, forces: Array) -> Array:
        """Torques (bodies, …, N) less Jᵀ f, zero of the base; forces (3 k, …, N)."""
        left = np.array(torque)
        for k, (above, point) in enumerate(zip(self._above, self._points, strict=True)):
            arms = self._screws(at, np.array(above), point)
            left[list(above)] -= np.einsum("bcN,c...N->b...N", arms, forces[3 * k : 3 * k + 3])
        left[self._base] = 0.0
        return left

    def values(self, motion: Motion) -> Array:
        closed = FollowerLimits(self.robot).closed(motion)
        out = np.full((len(self.rows), len(motion)), OPEN_ROW)
        out[:, closed] = self._rows(self.carried(motion if closed.all() else motion[closed]))
        return out

    def _rows(self, found: Carried) -> Array:
        normal, side = self._split(found.forces)
        tip, friction = self._tip, np.array([foot.friction for foot in self.feet])[:, None]
        least = np.array([foot.load for foot in self.feet])[:, None]
        cone = friction * normal - np.sqrt((side**2).sum(axis=1) + tip**2)
        ratio = found.torque[self.drives] / self.limit[self.drives, None]
        return np.concatenate([normal / self.share - least, cone / self.share, 1.0 - ratio, 1.0 + ratio])

    @property
    def _tip(self) -> float:
        return CONE_TIP_FRACTION * self.share

    def _split(self, forces: Array) -> tuple[Array, Array]:
        """Normal (k, …, N) and tangential part (k, 3, …, N) of forces (3 k, …, N)."""
        each, up = forces.reshape(len(self.feet), 3, *forces.shape[1:]), upward(self.robot)
        normal = np.einsum("c,kc...->k...", up, each)
        return normal, each - np.einsum("c,k...->kc...", up, normal)

    def linearised(self, motion: Motion) -> ConstraintRows:
        found, slopes = self.sloped(motion)
        _, side = self._split(found.forces)
        size = np.sqrt((side**2).sum(axis=1) + self._tip**2)
        friction = np.array([foot.friction for foot in self.feet])[:, None, None]
        parts = []
        for one in slopes:
            normal, across = self._split(one.forces)
            cone = friction * normal - np.einsum("kcN,kcjN->kjN", side, across) / size[:, None]
            ratio = one.torque[self.drives] / self.limit[self.drives, None, None]
            parts.append(np.concatenate([normal / self.share, cone / self.share, -ratio, ratio]))
        return ConstraintRows(self._rows(found), *parts)

    def sloped(self, motion: Motion) -> tuple[Carried, list[Slopes]]:
        """What is carried, and its derivatives with respect to u, u̇ and ü."""
        null, bent, twice = (x.transpose(1, 2, 0) for x in self._coupling.slopes(motion))
        tree, at = self._coupling.motion(motion).tree, kinematics(self.robot, motion)
        torque, dq, dqd, dqdd = torque_jacobians(self.model, tree, self.model.nominal)
        found = self._carried(at, torque)

        def through(tree_slopes: Array, lead: Array) -> Array:
            return np.asarray(np.einsum("abN,bjN->ajN", tree_slopes, lead, optimize=True))

        by_u = through(dq, null) + through(dqd, bent) + through(dqdd, twice)
        by_ud = through(dqd, null) + 2.0 * through(dqdd, bent)
        moved = self._turned(at, found)
        slopes = []
        for part, geometry in ((by_u, through(moved, null)), (by_ud, None), (through(dqdd, null), None)):
            right = part if geometry is None else part - geometry
            forces = np.einsum("fw,wjN->fjN", self._sharing, self._solved(at, right[self._base]))
            slopes.append(Slopes(forces, self._relieved(at, right, forces)))
        return found, slopes

    def _turned(self, at: Kinematics, found: Carried) -> Array:
        """(bodies, bodies, N): how Bᵀ w of the base, and Jᵀ f of the legs, change with every joint of the tree before,
        w, f and where they act held: axes and origins turn with it."""
        bodies, samples = self.robot.n_bodies, at.samples
        out = np.zeros((bodies, bodies, samples))
        load = {int(j): (found.wrench[:3], found.wrench[3:]) for j in self._base}
        for k, above in enumerate(self._above):
            force, point = found.forces[3 * k : 3 * k + 3], self._points[k][:, None]
            for j in above:
                before = load.get(j, (0.0, 0.0))
                load[j] = before[0] + force, before[1] + cross(np.broadcast_to(point, force.shape), force)
        slides = at.dynamics.chain.prismatic
        for j, (force, moment) in load.items():
            axis, origin = at.rotation[j, :, 2], at.origin[j]
            about = force if slides[j] else moment - cross(origin, force)  # what acts along, or about, the axis
            for k in self.robot.ancestors(j):
                lead = at.rotation[k, :, 2]
                turned = np.zeros_like(axis) if slides[k] else cross(lead, axis)
                shift = lead if slides[k] else cross(lead, origin - at.origin[k])
                out[j, k] = (turned * about).sum(axis=0)
                if not slides[j]:
                    out[j, k] -= (axis * cross(shift, force)).sum(axis=0)
        return out

    # -- between samples ---------------------------------------------------------------------------------------------

    def lower_bounds(self, spans: Spans) -> Array:
        limits = FollowerLimits(self.robot)
        closed = limits.closed(spans.left) & limits.closed(spans.right)
        out = np.full((len(self.rows), len(closed)), -np.inf)
        if closed.all():
            kept = spans
        else:
            ends = spans.start[closed], spans.end[closed], spans.left[closed], spans.right[closed]
            kept = Spans(*ends, spans.rates[..., closed])
        with np.errstate(over="ignore", invalid="ignore"):
            bounds = self._bounds(kept)
        out[:, closed] = np.nan_to_num(bounds - BOUND_ROUNDING * (1.0 + np.abs(bounds)), nan=-np.inf)
        return out

    def _bounds(self, spans: Spans) -> Array:
        tree, model = spans.tree(self.robot), self.model
        chain, width = model.dynamics.chain, spans.width
        wrench = carried_wrench(chain, model.dynamics.chain_inertias(None), tree)
        ends = self._sharing @ np.concatenate([wrench.force, wrench.moment])
        slack, pushes, links = list[Array](), list[Push](), tree.links(chain)
        for k, foot in enumerate(self.feet):
            own = slice(3 * k, 3 * k + 3)
            by_force, by_moment = (np.linalg.norm(x, ord=2) for x in np.hsplit(self._sharing[own], 2))
            jet = by_force * wrench.force_jet + by_moment * wrench.moment_jet
            tighten(jet, 0, ends[own], width)
            slack.append(width**2 / 8.0 * jet[2])
            link = links[foot.a.joint]
            arm = largest(foot.b.translation[:, None] - link.origin)
            reach = arm * link.fixed[:3]
            reach[0] += foot.radius
            lever = self._points[k][:, None] - link.origin
            pushes.append(Push(foot.a.joint, ends[own], lever, jet, reach))
        friction = np.array([foot.friction for foot in self.feet])[:, None]
        at_ends = self._rows(Carried(np.zeros((6, 0)), ends, np.zeros((self.robot.n_bodies, ends.shape[1]))))
        count = len(self.feet)
        lowest = np.minimum(at_ends[:, 0::2], at_ends[:, 1::2])
        apart = np.array(slack) / self.share
        low, high = torque_range(model, np.asarray(model.nominal), tree, pushes)
        most = self.limit[self.drives, None]
        torques = [1.0 - high[self.drives] / most, 1.0 + low[self.drives] / most]
        cones = lowest[count : 2 * count] - np.sqrt(1.0 + friction**2) * apart
        return np.concatenate([lowest[:count] - apart, cones, *torques])
