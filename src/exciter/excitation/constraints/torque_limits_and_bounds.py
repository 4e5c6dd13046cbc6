"""Torque limits: |τ_j| ≤ τ_max,j of a model with all its joint terms, with a margin for what is not known.

What is identified and what the robot has are two things: ``TorqueLimits.of(robot)`` takes the masses, the friction and
the rotor inertia of the description, whatever a design is about. What the description lacks is a ``Gap``: the rows of
those joints can be kept, but not proved.

Between samples: smooth parts (rigid bodies, rotor inertia, viscous friction, offset …) follow the chord of their values
at both ends within h²/8 times the bound of their second derivative. Parts that jump or bend sharply (dry friction,
springs on a lever) enter with the range of their values. Newton–Euler runs twice over the same tree: once with vectors,
at the ends, exactly; once with norms (``spans``), for the bound of the second derivative:

    force on a body   F = m (r̈ − g) + d²/dt² h     moment about r     N = d/dt (I ω) + h × (r̈ − g)
    of a sub-tree     f_j = F_j + Σ f_c            moment about o_j   M_j = N_j + r × F_j + Σ M_c + l_c × f_c
    torque            τ_j = z_j · M_j  (prismatic z_j · f_j)

r is a point of the body, h its first moments and I its inertia about r. No positivity is assumed anywhere, so published
parameters that belong to no real body are fine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from exciter.dynamics.driven_followers import ProjectedTerm
from exciter.dynamics.engine import writable
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import Chain, cross
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.certificate.spans import BOUND_ROUNDING, LinkSpan, Spans, tighten
from exciter.excitation.constraints.constraint import ConstraintRows, RowName
from exciter.parameters.consistency import dummies
from exciter.parameters.inertial import inertia_matrix
from exciter.parameters.terms import declared_by_key, declared_terms
from exciter.parameters.terms.term import BoundTerm, Interval
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.jets import product, product_at, turning
from exciter.robot.motion import Motion
from exciter.robot.placeholders import bare_bodies, placeholder_torques, unreal_bodies
from exciter.robot.robot import Robot
from exciter.robot.spatial import pseudo_inertia, transform_inertia
from exciter.typing import Array, BoolArray, Index

PLACEHOLDER_FRICTION = 1e-3  #: of the torque limit: gears lose percents of it, bearings and seals alone no less
#: [rad/s or m/s] at which it is compared, where a joint may be as fast: every arm moves at such speeds, whatever limit
#: is missing or a number in place of one.
FRICTION_SPEED = 1.0
Gap = tuple[str, tuple[int, ...]]  #: why the torque of some joints, by index, is not known, in words


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """Rows 1 − τ_j/τ̂_j of every joint with a finite torque limit, then 1 + τ_j/τ̂_j; τ̂ = (1 − margin) τ_max.
    chi: standard parameters χ (p,), those of the description unless given. margin: part of every limit that is kept
    free, 0 ≤ margin < 1. gaps: what the torque lacks, so that rows are ``assumed``; unless given what ``torque_gaps``
    finds in the description; a χ that is given is taken at its word, and limits alone are doubted.
    Friction with a true sign jumps at q̇ = 0: optimise with a model of ``smoothed`` terms."""

    model: DynamicModel
    chi: Array = None  # type: ignore[assignment]
    margin: float = 0.0
    gaps: tuple[Gap, ...] = None  # type: ignore[assignment]

    @classmethod
    def of(cls, robot: Robot, *, margin: float = 0.0) -> Self:
        """Those of a description: its masses and all joint terms that it declares."""
        return cls(DynamicModel(robot, declared_terms(robot)), margin=margin)

    def __post_init__(self) -> None:
        if not 0.0 <= self.margin < 1.0:
            raise ParameterError(f"the margin of the torque limits is {self.margin}; it must be in 0 … 1, 1 excluded")
        described = torque_gaps(self.model) if self.chi is None else _limit_gaps(self.model.robot)
        object.__setattr__(self, "gaps", described if self.gaps is None else tuple(self.gaps))
        chi = np.array(self.model.nominal if self.chi is None else self.chi, dtype=float)
        size = len(self.model.standard)
        if chi.shape != (size,) or not np.isfinite(chi).all():
            raise ParameterError(f"χ of the torque limits must be {size} finite numbers; given shape {chi.shape}")
        chi.flags.writeable = False
        object.__setattr__(self, "chi", chi)
        if not len(self.joints):
            raise ParameterError(
                f"robot '{self.model.robot.name}' has no torque limit; give one with limits: {{torque: …}}"
            )

    @cached_property
    def limit(self) -> Array:
        """τ̂ (n,) [N·m or N]; infinite where there is none."""
        return (1.0 - self.margin) * self.model.robot.limit("torque")

    @cached_property
    def joints(self) -> Index:
        """Joints with a finite limit; row k and row k + len(joints) are the upper and lower one of joints[k]."""
        return np.flatnonzero(np.isfinite(self.limit))

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        names, unknown = [], {j for _, joints in self.gaps for j in joints}
        for sign in (1.0, -1.0):
            for j in self.joints.tolist():
                joint, limit = self.model.robot.joints[j], float(self.limit[j])
                unit = "N" if joint.is_prismatic else "N·m"
                names.append(RowName("torque", joint.name, unit, sign * limit, limit, sign > 0.0, j in unknown))
        return tuple(names)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """A sentence for each gap that concerns a limited joint."""
        limited, sentences = self.joints.tolist(), []
        for why, joints in self.gaps:
            names = [self.model.robot.joint_names[j] for j in joints if j in limited]
            if names:
                sentences.append(f"torque{'' if len(names) == len(limited) else ' of ' + ', '.join(names)}: {why}")
        return tuple(sentences)

    def values(self, motion: Motion) -> Array:
        return 1.0 + self._per_limit(self.model.torque(motion, self.chi).T)

    def linearised(self, motion: Motion) -> ConstraintRows:
        tau, *derivatives = torque_jacobians(self.model, motion, self.chi)
        ratio, *ratios = (self._per_limit(d) for d in (tau, *derivatives))
        return ConstraintRows(1.0 + ratio, *ratios)

    def _per_limit(self, torque: Array) -> Array:
        """−τ/τ̂ and τ/τ̂ of the limited joints; of derivatives likewise."""
        count = len(self.joints)
        both = np.empty((2 * count, *torque.shape[1:]))
        scale = 1.0 / self.limit[self.joints].reshape(-1, *(1,) * (torque.ndim - 1))
        np.multiply(torque if count == len(torque) else torque[self.joints], scale, out=both[count:])
        np.negative(both[count:], out=both[:count])
        return both

    def lower_bounds(self, spans: Spans) -> Array:
        low, high = torque_range(self.model, np.asarray(self.chi), spans)
        limit = self.limit[self.joints, None]
        ratio = np.concatenate([high[self.joints] / limit, -low[self.joints] / limit])
        return np.asarray(1.0 - ratio - BOUND_ROUNDING * (1.0 + np.abs(ratio)))


def refuse_held(limits: TorqueLimits, moving: Sequence[int]) -> None:
    """Refuse joints, of those that are to move, whose dry friction alone takes all of the torque."""
    robot = limits.model.robot
    dry, most = robot.friction.get("coulomb", np.zeros(robot.n)), limits.limit
    if held := [j for j in moving if dry[j] >= most[j]]:
        name, unit = robot.joint_names[held[0]], "N" if robot.joints[held[0]].is_prismatic else "N·m"
        names = ", ".join(f"'{robot.joint_names[j]}'" for j in held)
        problem = f"joint{'' if len(held) == 1 else 's'} {names} cannot move: a dry friction of {dry[held[0]]:g} {unit}"
        advice = f"give limits: {{torque: {{{name}: …}}}}, or leave it out: lock {name}"
        raise ExciterError(f"{problem} takes all of the {most[held[0]]:g} {unit} that are allowed; {advice}")


def torque_gaps(model: DynamicModel) -> tuple[Gap, ...]:
    """What a model's torque lacks of the robot: masses and friction that the description leaves out or makes up, or
    that the model leaves out of it, limits that are none, and forces of other kinds."""
    robot, everywhere = model.robot, tuple(range(model.n))
    found = [("masses and friction are plausible values, which nobody measured", everywhere)] if robot.nominal else []
    found += [*mass_gaps(robot), *_friction_gaps(robot)]
    for key, term in declared_by_key(robot).items():
        joints = tuple(np.flatnonzero(robot.friction[key]).tolist()) if term not in model.terms else ()
        word = key.replace("_", " ")
        found.append((f"the model leaves out the {word} term of the description; TorqueLimits.of has it", joints))
    found += _limit_gaps(robot)
    return (*(gap for gap in found if gap[1]), *((force, everywhere) for force in robot.lacking))


def mass_gaps(robot: Robot) -> Iterator[Gap]:
    """Bodies that weigh nothing or that cannot be, for all joints that carry them."""
    if why := dummies(robot):
        yield f"the description has no masses that could be a robot's: {why}", tuple(range(robot.n))
        return
    bare, unreal = bare_bodies(robot), unreal_bodies(robot)
    given = {j: f" ({robot.bodies[j].inertia[0]:.4g} kg)" if robot.bodies[j].inertia[0] else "" for j in bare}
    light = ", ".join(robot.tree_names[j] + given[j] for j in bare)
    wrong = ", ".join(robot.tree_names[j] for j in unreal)
    for why, bodies in (
        (f"the description gives no mass for the bodies of {light}", bare),
        (f"no body can have the inertia that the description gives those of {wrong}", unreal),
    ):
        yield why, tuple(sorted({joint for body in bodies for joint in robot.movers(body)}))


def _friction_gaps(robot: Robot) -> Iterator[Gap]:
    """Every drive has both kinds of friction: Coulomb friction rules when it is slow, viscous friction when it is fast,
    and a description that gives one of them did not measure the other."""
    of_joints = [k for k, one in enumerate(robot.drives) if one.name in robot.joint_names]
    known = {key: values[of_joints] for key, values in robot.friction.items()}
    values = {key: known.get(key, np.zeros(robot.n)) for key in ("viscous", "coulomb", "rotor_inertia")}
    viscous, dry, limit = values["viscous"], values["coulomb"], robot.limit("torque")
    both = (viscous > 0.0) & (dry > 0.0)
    moving = dry + viscous * np.minimum(robot.limit("velocity"), FRICTION_SPEED)
    slight = both & np.isfinite(limit) & (moving < PLACEHOLDER_FRICTION * limit)
    slight[list(placeholder_torques(robot))] = False  # which is reported of the limit
    without = "; what is kept is the torque without it"
    part = (
        f"at {FRICTION_SPEED:g} rad/s or m/s it is below {100.0 * PLACEHOLDER_FRICTION:g} % of the limit, less than "
        "in any drive"
    )
    found = {
        f"the description declares no friction{without}": (viscous == 0.0) & (dry == 0.0),
        f"the description declares damping and no Coulomb friction{without}": (viscous != 0.0) & (dry == 0.0),
        f"the description declares Coulomb friction and no damping{without}": (viscous == 0.0) & (dry != 0.0),
        f"the friction of the description, or the limit, is a placeholder: {part}": slight,
        "the description gives a negative friction or rotor inertia, which no joint has": np.any(
            [value < 0.0 for value in values.values()], axis=0
        ),
    }
    yield from ((why, tuple(np.flatnonzero(joints).tolist())) for why, joints in found.items())


def _limit_gaps(robot: Robot) -> tuple[Gap, ...]:
    """A sentence for each limit that is none, or that the drive may not reach."""
    joints: dict[str, tuple[int, ...]] = {}
    for j in placeholder_torques(robot):
        limit = f"{robot.joints[j].limits.torque:.4g} {'N' if robot.joints[j].is_prismatic else 'N·m'}"
        why = f"the limit of {limit} is a placeholder, too much for this robot; give limits: {{torque: …}}"
        joints[why] = (*joints.get(why, ()), j)
    doubts = [(joint.limits.torque_doubt, (j,)) for j, joint in enumerate(robot.joints) if joint.limits.torque_doubt]
    return (*joints.items(), *doubts)


# -- between samples ---------------------------------------------------------------------------------------------------


def torque_jacobians(model: DynamicModel, motion: Motion, chi: Array) -> tuple[Array, Array, Array, Array]:
    """τ (n, N) and ∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ (n, n, N): torque, joint, sample. With a kernel of its own, for a design with
    torque limits takes a sixth longer with ``DynamicModel.torque_jacobian``."""
    for term in model.bound:
        if term.has_memory:
            raise ParameterError(
                f"the torque of {', '.join(term.names)} remembers earlier samples, so it has no derivative sample by "
                "sample; optimise with another friction shape (tanh) and check the result with this one"
            )
    moved = model.dynamics.coupled(motion)
    if model.engine.name != "numba" or (moved is not None and moved.null.ndim == 3):
        return model.torque(motion, chi).T, *model.torque_jacobian(motion, chi)
    chain, phi = model.dynamics.chain, model.dynamics.chain_inertias(chi[: model.inertial_size])
    tree = motion if moved is None else moved.tree
    tau, derivatives = np.empty((chain.n, len(motion))), np.zeros((3, chain.n, chain.n, len(motion)))
    bodies = writable(phi[:, 0], phi[:, 1:4], pseudo_inertia(phi)[:, :3, :3])
    compiled: Any = kernels("torque", "exciter.excitation.kernels").torque_derivatives
    geometry = (chain.parent, chain.prismatic, chain.rotation, chain.origin, chain.gravity)
    compiled(*geometry, *bodies, *writable(tree.q, tree.qd, tree.qdd), tau, *derivatives)
    if moved is not None:  # ∂(Nᵀτ)/∂u = Nᵀ ∂τ/∂q N
        tau = moved.project(tau)
        derivatives = np.stack([moved.project(moved.project(d).swapaxes(0, 1)).swapaxes(0, 1) for d in derivatives])
    for term, columns in model.term_columns:
        _add_term(term, motion, chi[columns], tau, derivatives)
    dq, dqd, dqdd = derivatives
    return tau, dq, dqd, dqdd


def _add_term(term: BoundTerm, motion: Motion, chi: Array, tau: Array, derivatives: Array) -> None:
    """Add a joint term's torque and derivatives. When every entry depends on its own joint only, one pass gives the
    diagonals of all joints; a term that couples joints needs a pass per row."""
    if not chi.any():
        return
    row = np.array([joint for joint, _ in term.rows])
    weight = chi[[column for _, column in term.rows]]
    for joint, entry in zip(row, weight[:, None] * term.values(motion), strict=True):
        tau[joint] += entry
    if term.joint_wise:
        gradient = term.pullback(motion, np.repeat(weight[:, None], len(motion), 1))
        diagonal = np.arange(len(tau))
        for total, part in zip(derivatives, (gradient.q, gradient.qd, gradient.qdd), strict=True):
            total[diagonal, diagonal] += part.T
        return
    for joint in np.unique(row):
        gradient = term.pullback(motion, np.repeat(np.where(row == joint, weight, 0.0)[:, None], len(motion), 1))
        for total, part in zip(derivatives, (gradient.q, gradient.qd, gradient.qdd), strict=True):
            total[joint] += part.T


@dataclass(frozen=True, eq=False)
class Body:
    """mass m, a point r (3,) of the body, first moments h (3,) and inertia I (3, 3) about it, in link axes. I = mean ·
    1 + D: only the spread |D| turns with the body."""

    mass: float
    point: Array
    first: Array
    inertia: Array
    mean: float
    spread: float

    @classmethod
    @lru_cache(maxsize=256)  # every round of a certificate asks again
    def of(cls, *numbers: float) -> Body:
        """Of the ten inertial parameters: about the centre of mass where that makes the inertia smaller, as it does for
        every real body, otherwise about the origin."""
        phi, found = np.array(numbers), []
        for point in (np.zeros(3),) if phi[0] == 0.0 else (phi[1:4] / phi[0], np.zeros(3)):
            moved = transform_inertia(phi, np.eye(3), -point)
            moments = np.linalg.eigvalsh(inertia_matrix(moved))
            mean, spread = float(0.5 * (moments[-1] + moments[0])), float(0.5 * (moments[-1] - moments[0]))
            found.append(cls(float(phi[0]), point, moved[1:4], inertia_matrix(moved), mean, spread))
        return min(found, key=lambda body: abs(body.mean) + body.spread)


@dataclass(frozen=True, eq=False)
class CarriedWrench:
    """A force and a moment about a point, in base axes: at ``spans.ends`` (3, 2 M), and their jets (3, M)."""

    force: Array
    moment: Array
    force_jet: Array
    moment_jet: Array


@dataclass(frozen=True, eq=False)
class Push:
    """A force on a link at a lever from its origin, in base axes: at ``spans.ends`` (3, 2 M), and jets (3, M)."""

    link: int
    force: Array
    lever: Array
    force_jet: Array
    lever_jet: Array


def rigid_torque(chain: Chain, inertias: Array, spans: Spans, pushes: Sequence[Push] = ()) -> tuple[Array, Array]:
    """τ (n, 2 M) of inertial parameters (n, 10) at ``spans.ends``, and (n, M) ≥ |τ̈| throughout; pushes: what acts on
    links from outside, of which the drives are relieved."""
    return _outside_in(chain, inertias, spans, pushes)[:2]


def carried_wrench(chain: Chain, inertias: Array, spans: Spans) -> CarriedWrench:
    """What moves all bodies together, about the origin of the base."""
    return _outside_in(chain, inertias, spans, ())[2]


def _outside_in(
    chain: Chain, inertias: Array, spans: Spans, pushes: Sequence[Push]
) -> tuple[Array, Array, CarriedWrench]:
    links, width = spans.links(chain), spans.width
    force, moment = np.zeros((2, chain.n + 1, 3, 2 * len(width)))  # the last: of the base
    force_jet, moment_jet = np.zeros((2, chain.n + 1, 3, len(width)))
    torque, curvature = np.empty((chain.n, 2 * len(width))), np.empty((chain.n, len(width)))
    for i, link in reversed(list(enumerate(links))):
        body = Body.of(*inertias[i].tolist())
        own_force, own_moment = _at_ends(link, body, chain.gravity)
        force[i] += own_force
        moment[i] += own_moment
        own_force_jet, own_moment_jet = _between(link, body, chain.gravity, own_force, width)
        force_jet[i] += own_force_jet
        moment_jet[i] += own_moment_jet
        for push in (one for one in pushes if one.link == i):
            force[i] -= push.force
            moment[i] -= cross(push.lever, push.force)
            force_jet[i] += push.force_jet
            moment_jet[i] += product(push.lever_jet, push.force_jet, 2)
        tighten(force_jet[i], 0, force[i], width)
        tighten(moment_jet[i], 0, moment[i], width)
        load, load_jet = (force, force_jet) if chain.prismatic[i] else (moment, moment_jet)
        torque[i] = (link.rotation[:, 2] * load[i]).sum(axis=0)
        curvature[i] = product_at(link.carrier, load_jet[i], 2)
        k = int(chain.parent[i])
        force[k] += force[i]
        force_jet[k] += force_jet[i]
        moment[k] += moment[i] + cross(link.lever, force[i])
        moment_jet[k] += moment_jet[i] + product(link.lever_jet, force_jet[i], 2)
    for jet, ends in ((force_jet, force), (moment_jet, moment)):
        tighten(jet[-1], 0, ends[-1], width)
    return torque, curvature, CarriedWrench(force[-1], moment[-1], force_jet[-1], moment_jet[-1])


def _at_ends(link: LinkSpan, body: Body, gravity: Array) -> tuple[Array, Array]:
    """F and the moment about the link's origin (3, N) that move a body."""
    omega, alpha, rotation = link.omega, link.alpha, link.rotation
    acceleration = link.point(body.point)[1] - gravity[:, None]
    first = link.turned(body.first)
    force = body.mass * acceleration + cross(alpha, first) + cross(omega, cross(omega, first))
    spin, spun = (
        np.einsum("abN,bN->aN", rotation, body.inertia @ np.einsum("baN,bN->aN", rotation, v)) for v in (omega, alpha)
    )
    moment = spun + cross(omega, spin) + cross(first, acceleration)
    return force, moment + cross(link.turned(body.point), force)


def _between(link: LinkSpan, body: Body, gravity: Array, force: Array, width: Array) -> tuple[Array, Array]:
    """Jets (3, M) of the same, up to the second derivative."""
    fixed, omega = link.fixed, link.omega_jet
    arm, first = float(np.linalg.norm(body.point)), float(np.linalg.norm(body.first))
    acceleration = link.moved + arm * fixed[2:]
    acceleration[0] += np.linalg.norm(gravity)
    if first > 0.0:
        tighten(acceleration, 0, link.point(body.point)[1] - gravity[:, None], width)
    force_jet = abs(body.mass) * acceleration + first * fixed[2:]
    tighten(force_jet, 0, force, width)
    spin = abs(body.mean) * omega + body.spread * product(turning(omega, 2.0), omega, 3)
    moment_jet = spin[1:] + arm * product(fixed, force_jet, 2)
    if first > 0.0:
        moment_jet += first * product(fixed, acceleration, 2)
    return force_jet, moment_jet


def joint_torque(
    model: DynamicModel, inertias: Array | None, spans: Spans, pushes: Sequence[Push] = ()
) -> tuple[Array, Array]:
    """``rigid_torque`` of the joints (n, …): where bodies follow them Nᵀ τ, with the curvature N̈ᵀτ + 2 Ṅᵀτ̇ + Nᵀτ̈; for
    |τ̇| and |τ| what the ends and |τ̈| say."""
    dynamics = model.dynamics
    tree = spans.tree(model.robot)
    ends, curvature = rigid_torque(dynamics.chain, dynamics.chain_inertias(inertias), tree, pushes)
    moved = dynamics.coupled(spans.ends)
    if moved is None:
        return ends, curvature
    if not isinstance(coupling := model.robot.coupling, ClosedLoops):
        return moved.project(ends), np.abs(moved.null).T @ curvature
    null, rate, bend = coupling.bounds(spans.left, spans.right, spans.rates).null  # each (bodies, n, M)
    left, right = ends[:, 0::2], ends[:, 1::2]
    size = np.maximum(np.abs(left), np.abs(right)) + spans.width**2 / 8.0 * curvature
    slope = np.abs(right - left) / spans.width + 0.5 * spans.width * curvature
    parts = (bend, size), (2.0 * rate, slope), (null, curvature)
    return moved.project(ends), np.sum([np.einsum("bjM,bM->jM", a, b) for a, b in parts], axis=0)


def torque_range(model: DynamicModel, chi: Array, spans: Spans, pushes: Sequence[Push] = ()) -> Interval:
    """Lowest and highest torque (n, M) of parameters χ within each interval; infinite where a term cannot say. pushes:
    on links, from outside."""
    n, width = model.n, spans.width
    ends, curvature = joint_torque(model, chi[: model.inertial_size], spans, pushes)
    jumping_low, jumping_high = np.zeros((2, n, len(width)))

    def load(links: Array | None = None) -> Interval:
        return chord_range(*joint_torque(model, links, spans, pushes), width)

    for term, columns in model.term_columns:
        if isinstance(term, ProjectedTerm):
            parts = _projected(model, term, chi[columns], spans, pushes)
            for total, part in zip((ends, curvature, jumping_low, jumping_high), parts, strict=True):
                total += part
            continue
        bends = term.curvature(spans.rates)
        smooth: BoolArray = np.all(np.isfinite(bends), axis=1)
        values = term.values(spans.ends) if smooth.any() else bends
        low, high = (bends, bends) if smooth.all() else term.value_range(spans.ranges, load)
        for entry, (row, column) in enumerate(term.rows):
            weight = chi[columns.start + column]
            if weight == 0.0:
                continue
            if smooth[entry]:
                ends[row] += weight * values[entry]
                curvature[row] += abs(weight) * bends[entry]
            else:
                jumping_low[row] += weight * (low if weight > 0 else high)[entry]
                jumping_high[row] += weight * (high if weight > 0 else low)[entry]
    lowest, highest = chord_range(ends, curvature, width)
    return lowest + jumping_low, highest + jumping_high


def _projected(
    model: DynamicModel, term: ProjectedTerm, chi: Array, spans: Spans, pushes: Sequence[Push]
) -> tuple[Array, Array, Array, Array]:
    """Of a term on the tree's joints, N_bj v_b as coordinates feel it: its smooth part (n, 2 M) at ``spans.ends`` with
    (n, M) ≥ the second derivative, N̈ v + 2 Ṅ v̇ + N v̈, and the lowest and highest value (n, M) of the rest."""
    coupling, tree, width, dynamics = term.coupling, spans.tree(model.robot), spans.width, model.dynamics
    assert isinstance(coupling, ClosedLoops)
    null = coupling.motion(spans.ends).null.transpose(1, 2, 0)  # (bodies, n, 2 M)
    size, rate, bend = coupling.bounds(spans.left, spans.right, spans.rates).null
    null_low, null_high = chord_range(null, bend, width)

    def load(links: Array | None = None) -> Interval:
        return chord_range(*rigid_torque(dynamics.chain, dynamics.chain_inertias(links), tree, pushes), width)

    ends, (curvature, lowest, highest) = np.zeros(null.shape[1:]), np.zeros((3, *bend.shape[1:]))
    values, bends = term.tree.values(tree.ends), term.tree.curvature(tree.rates)
    smooth: BoolArray = np.all(np.isfinite(bends), axis=1)
    low, high = (bends, bends) if smooth.all() else term.tree.value_range(tree.ranges, load)
    for entry, (body, column) in enumerate(term.tree.rows):
        if (weight := chi[column]) == 0.0:
            continue
        if smooth[entry]:
            v, left, right = (weight * values[entry, k::step] for k, step in ((0, 1), (0, 2), (1, 2)))
            second = abs(weight) * bends[entry]
            most = np.maximum(np.abs(left), np.abs(right)) + width**2 / 8.0 * second
            slope = np.abs(right - left) / width + 0.5 * width * second
            ends += null[body] * v
            curvature += bend[body] * most + 2.0 * rate[body] * slope + size[body] * second
        else:
            corners = [weight * n * v[entry] for n in (null_low[body], null_high[body]) for v in (low, high)]
            lowest += np.min(corners, axis=0)
            highest += np.max(corners, axis=0)
    return ends, curvature, lowest, highest


def chord_range(ends: Array, curvature: Array, width: Array) -> Interval:
    """What values (…, M) can be within intervals, from those at both ends (…, 2 M) and a bound of their f″ (…, M)."""
    slack = width**2 / 8.0 * curvature
    left, right = ends[..., 0::2], ends[..., 1::2]
    return np.minimum(left, right) - slack, np.maximum(left, right) + slack
