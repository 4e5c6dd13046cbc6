"""The dynamic model: rigid bodies plus joint terms, linear in one standard parameter vector χ.

τ = Φ(q, q̇, q̈) χ. Inertial parameters are those of the links in modified-DH frames, so that the papers' names and
groupings apply and the base projection is a selection of columns; joint-term parameters follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.contacts import Stance, standing_base
from exciter.dynamics.coupled_rows import ProjectedRows
from exciter.dynamics.driven_followers import ProjectedTerm
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.engine import default_engine
from exciter.dynamics.reference import ColumnLayout, LagrangeRows, NumpyEngine, RowBatch
from exciter.errors import ParameterError, RobotError, shown
from exciter.independent_blocks import Block, independent_blocks
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters, numeric_base, restricted, triangle
from exciter.parameters.base_symbolic import massless_columns, prismatic_links, symbolic_base, symbolic_static_base
from exciter.parameters.parameter_names import INERTIA_SYMBOLS, split_name
from exciter.parameters.terms import BoundTerm, Coulomb, JointTerm, Offset, RotorInertia, SqrtViscous, Stribeck, Viscous
from exciter.robot.loop_reach import swing_room, within_reach
from exciter.robot.mdh import MDHTable, in_mdh_frames
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.robot.spatial import transform_inertia
from exciter.settings.fill import checked
from exciter.typing import Array, Index

#: [rad] Axes of a calibrated robot miss being parallel by a little, and their common perpendicular lies kilometres
#: away: no place for an origin. Frames treat such axes as parallel; the geometry stays exact.
PARALLEL_AXES_ANGLE_RAD = 0.02
#: samples at a time for which joint terms that remember are evaluated: bounds memory
MEMORY_BLOCK_SAMPLES = 65_536
FRICTION_KEY_BY_SYMBOL = {"Ia": "rotor_inertia", "Fv": "viscous", "Fs": "coulomb"}  # term symbol → Robot.friction
REMEMBERED_ROBOTS = 8  # whose modified-DH frames are kept
JACOBIAN_SAMPLES = 128  # at a time: what is computed of n copies of them stays in the cache
GROUPING_ROUNDING = 1e-11  # of the largest coefficient: what is below is none
MOST_BASE_SAMPLES = 300  # random states that decide a rank: each has a row of every joint, ten times what is asked for
COUPLED_BASE_SAMPLES = 100  # random states whose projected rows decide a rank; beside twice what a joint's share asks
#: Joint terms the closed form knows: a rotor beside the inertias, an offset beside the weight, friction beside nothing.
TERMS_WITH_RULE = (RotorInertia, Offset, Viscous, SqrtViscous, Coulomb, Stribeck)


@dataclass(frozen=True, eq=False)
class DynamicModel:
    """Robot and joint terms. ``standard`` names χ; columns of every matrix follow that order. stances: contacts
    of unknown forces in which the robot is looked at, and base parameters are what shows then (``contacts.py``).

    >>> model = ex.DynamicModel(robot, (ex.Viscous(), ex.Coulomb()))
    >>> pose = ex.Motion.at([0.1, 0.2, 0.3])
    >>> model.regressor(pose).shape, model.torque(pose).shape
    ((1, 3, 36), (1, 3))
    >>> model.base.expressions[0]
    'ZZR1 = ZZ1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3'"""

    robot: Robot
    terms: tuple[JointTerm, ...] = ()
    engine: NumpyEngine = field(default_factory=default_engine)
    stances: tuple[Stance, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise RobotError(f"the robot of a model is {shown(self.robot)}; give a Robot, as load gives it")
        object.__setattr__(self, "terms", checked(tuple[JointTerm, ...], self.terms, "terms", ParameterError))
        if len(set(self.standard)) < len(self.standard):
            repeated = min(name for name in self.standard if self.standard.count(name) > 1)
            raise ParameterError(f"two joint terms give the parameter {repeated}; use one of them")

    @cached_property
    def _in_mdh(self) -> tuple[Robot, MDHTable]:
        return _framed(self.robot)

    @property
    def mdh(self) -> MDHTable:
        """The modified-DH table whose frames carry the inertial parameters."""
        return self._in_mdh[1]

    @cached_property
    def dynamics(self) -> Dynamics:
        """Rigid-body dynamics in modified-DH frames."""
        return Dynamics(self._in_mdh[0], self.engine)

    @cached_property
    def bound(self) -> tuple[BoundTerm, ...]:
        robot, dynamics = self.dynamics.robot, self.dynamics
        if robot.drives is robot.joints:
            return tuple(term.bind(robot, dynamics) for term in self.terms)
        return tuple(ProjectedTerm.of(term.bind(robot.tree, dynamics.tree), robot) for term in self.terms)

    @property
    def n(self) -> int:
        return self.robot.n

    @property
    def inertial_size(self) -> int:
        """How many parameters of χ are inertial, the first ones: ten per body."""
        return 10 * self.robot.n_bodies

    @cached_property
    def standard(self) -> tuple[str, ...]:
        """Names of χ: M1, MX1, … ZZn, then the joint terms'."""
        return inertial.names(self.robot.n_bodies) + tuple(name for term in self.bound for name in term.names)

    @cached_property
    def units(self) -> tuple[str, ...]:
        return inertial.units(self.robot.n_bodies) + tuple(unit for term in self.bound for unit in term.units)

    @cached_property
    def nominal(self) -> Array:
        """χ of the description: its inertias in modified-DH frames, its friction, zero where nothing is known."""
        values = dict(zip(inertial.names(self.robot.n_bodies), self.dynamics.robot.inertias.ravel(), strict=True))
        for symbol, key in FRICTION_KEY_BY_SYMBOL.items():
            for j, value in enumerate(self.robot.friction.get(key, np.zeros(0))):
                values[f"{symbol}{j + 1}"] = value
        return np.array([values.get(name, 0.0) for name in self.standard])

    def joint_frame_inertias(self, chi: ArrayLike) -> Array:
        """(bodies, 10) inertial part of χ in the robot's own joint frames, as URDF and Pinocchio want it."""
        links = np.asarray(chi, dtype=float)[: self.inertial_size].reshape(-1, 10)
        placed = zip(links, self.mdh.rotations, self.mdh.translations, strict=True)
        return np.array([transform_inertia(phi, r, p) for phi, r, p in placed])

    def _checked(self, chi: ArrayLike | None) -> Array:
        values = self.nominal if chi is None else np.asarray(chi, dtype=float)
        if values.shape != (len(self.standard),):
            raise ParameterError(f"χ has shape {values.shape}; this model has {len(self.standard)} standard parameters")
        return values

    def regressor(self, motion: Motion) -> Array:
        """Φ (N, n, p)."""
        phi = np.zeros((self.n, len(self.standard), len(motion)))  # samples last: every write is contiguous
        phi[:, : self.inertial_size] = self.dynamics.regressor(motion).transpose(1, 2, 0)
        for (row, column), values in zip(self.entries, self.term_values(motion), strict=True):
            phi[row, self.inertial_size + column] = values
        return phi.transpose(2, 0, 1)

    def regressor_chunks(
        self,
        motion: Motion,
        size: int = 2048,
        layout: ColumnLayout | None = None,
        room: int = 0,
        before: TermMemory | None = None,
    ) -> Iterator[tuple[slice, Array]]:
        """Φ piece by piece, (samples, Φ of these): memory stays flat for long motions. layout: of the columns that are
        wanted, all unless given; ``room`` columns of zeros follow them. before: what joint terms remember of the motion
        that this one continues."""
        self.dynamics.check(motion)
        layout = self.layout(np.arange(len(self.standard))) if layout is None else layout
        remembered = TermMemory(self) if before is None else before
        block = max(1, MEMORY_BLOCK_SAMPLES // size) * size if any(term.has_memory for term in self.bound) else size
        for start in range(0, len(motion), size):
            if start % block == 0:
                values = remembered.values(motion[start : start + block])
            part = slice(start, min(start + size, len(motion)))
            piece = motion[part]
            terms = values[:, start % block : start % block + len(piece)]
            phi = np.zeros((self.n, layout.size + room, len(piece)))  # samples last: every write is contiguous
            if self.robot.coupling is None:
                batch = RowBatch(self.dynamics.chain, layout, terms, np.ones(self.n), *piece.samples_last)
                self.engine.columns(batch, phi)
            else:
                for rows in ProjectedRows(self.dynamics, piece, layout, terms, np.ones(self.n)).batches(room):
                    phi[:, :, rows.samples] = rows.joints
            yield part, phi.transpose(2, 0, 1)

    def torque(self, motion: Motion, chi: ArrayLike | None = None) -> Array:
        """τ = Φ χ (N, n), χ nominal unless given."""
        chi = self._checked(chi)
        tau = np.array(self.dynamics.inverse_dynamics(motion, chi[: self.inertial_size]))
        for (row, column), values in zip(self.entries, self.term_values(motion), strict=True):
            tau[:, row] += chi[self.inertial_size + column] * values
        return tau

    def torque_jacobian(self, motion: Motion, chi: ArrayLike | None = None) -> Array:
        """∂τ_j/∂q_i, ∂τ_j/∂q̇_i, ∂τ_j/∂q̈_i (3, n, n, N): part, torque j, joint i, sample. Row j is the adjoint of τ_j,
        all in one pass over n copies of the motion. Not for terms that remember earlier samples."""
        n, jacobian = self.n, np.empty((3, self.n, self.n, len(motion)))
        for first in range(0, len(motion), JACOBIAN_SAMPLES):
            part = slice(first, first + JACOBIAN_SAMPLES)
            copies = Motion.at(*(np.tile(x[part], (n, 1)) for x in (motion.q, motion.qd, motion.qdd)))
            gradient = self.torque_pullback(copies, np.repeat(np.eye(n), len(copies) // n, axis=0), chi)
            for whole, found in zip(jacobian, (gradient.q, gradient.qd, gradient.qdd), strict=True):
                whole[:, :, part] = found.T.reshape(n, n, -1).swapaxes(0, 1)
        return jacobian

    def torque_pullback(self, motion: Motion, seed: Array, chi: ArrayLike | None = None) -> MotionGradient:
        """Gradient of Σ seed ⊙ τ, seed (N, n), with respect to every sample of the motion."""
        chi = self._checked(chi)
        gradient = self.dynamics.torque_pullback(motion, seed, chi[: self.inertial_size])
        seeds = [chi[self.inertial_size + column] * seed[:, row] for row, column in self.entries]
        return gradient + self.terms_pullback(motion, np.array(seeds).reshape(len(seeds), len(motion)))

    def energy(self, motion: Motion, rows: LagrangeRows | None = None) -> Array:
        """h = e + u (N, p): total energy per parameter [12.42]; NaN for columns that are not conservative. rows:
        ``dynamics.lagrange(motion)`` where it is there already."""
        rows = self.dynamics.lagrange(motion) if rows is None else rows
        h = np.full((len(motion), len(self.standard)), np.nan)
        h[:, : self.inertial_size] = rows.e + rows.u
        for term, columns in self.term_columns:
            kept = np.array(term.conservative)
            block = np.where(kept, 0.0, np.nan)[:, None] * np.ones(len(motion))
            for part in (term.kinetic(motion), term.potential(motion)):
                block = block if part is None else block + np.where(kept[:, None], part, 0.0)
            h[:, columns] = block.T
        return h

    def energy_pullback(self, motion: Motion, seed: Array, rows: LagrangeRows | None = None) -> MotionGradient:
        """Gradient of Σ seed ⊙ h, seed (N, p); seeds of columns that are not conservative must be zero."""
        rows = self.dynamics.lagrange(motion) if rows is None else rows
        own = seed[:, : self.inertial_size]
        q = np.einsum("Njp,Np->Nj", rows.de_dq + rows.du_dq, own)
        gradient = MotionGradient(q, np.einsum("Njp,Np->Nj", rows.momentum, own), np.zeros_like(q))
        for term, columns in self.term_columns:
            part = np.ascontiguousarray(seed[:, columns].T)
            gradient = gradient + term.energy_pullback(motion, part, part)
        return gradient

    def momentum_rows(self, motion: Motion) -> tuple[Array, Array]:
        """B1 = ∂e/∂q̇ and B2 = ∂u/∂q − ∂e/∂q (N, n, p) [12.36, 12.37]: Γ = (d/dt B1 + B2) χ. A joint term that stores
        no energy (friction) is wholly in B2, as in [12.35]."""
        rows = self.dynamics.lagrange(motion)
        memory = np.zeros((2, self.n, len(self.standard), len(motion)))  # samples last: every write is contiguous
        b1, b2 = memory.transpose(0, 3, 1, 2)
        b1[:, :, : self.inertial_size] = rows.momentum
        b2[:, :, : self.inertial_size] = rows.du_dq - rows.de_dq
        for term, columns in self.term_columns:
            momentum, force, values = term.momentum(motion), term.force(motion), term.values(motion)
            for k, (row, column) in enumerate(term.rows):
                at = columns.start + column
                if not term.conservative[column]:
                    b2[:, row, at] = values[k]
                    continue
                b1[:, row, at] = 0.0 if momentum is None else momentum[k]
                b2[:, row, at] = 0.0 if force is None else force[k]
        return b1, b2

    def per_joint(self, values: ArrayLike, what: str) -> Array:
        """(n,) positive finite numbers, from one for all joints or one per joint."""
        array = np.asarray(values, dtype=float)
        if array.shape not in ((), (self.n,)) or not (np.isfinite(array).all() and (array > 0).all()):
            allowed = f"one positive number, or {self.n}, one per joint"
            raise ParameterError(f"{what} must be {allowed}; given {array.tolist()}")
        return np.broadcast_to(array, (self.n,)).copy()

    def layout(self, columns: Sequence[int] | Index) -> ColumnLayout:
        """Standard columns to keep, in that order; ``base.independent`` for the base parameters."""
        return ColumnLayout.select(self.robot.n_bodies, self.entries, columns)

    def rows(self, motion: Motion, layout: ColumnLayout, weights: ArrayLike | None = None) -> MotionRows:
        """The rows of a motion for the columns of a layout; weights 1/σ_j² [1/(N·m)²] per joint, one unless given."""
        return MotionRows(self, motion, layout, np.broadcast_to(1.0 if weights is None else weights, (self.n,)))

    @cached_property
    def base(self) -> BaseParameters:
        """In closed form, or from random samples where a term has no rule or forces of the ground are not known; where
        bodies follow joints, the closed form of the tree, and of that what random samples show of the joints' rows."""
        if self.stances and all(self.stances):
            return standing_base(self, self.stances)
        if self.robot.coupling is not None:
            return coupled_base(self)
        if not all(isinstance(term, TERMS_WITH_RULE) for term in self.terms):
            return numeric_model_base(self)
        closed = symbolic_base(self.dynamics.robot, self.standard[self.inertial_size :])
        if closed.decision.is_clear and reproduces(self, closed):
            return closed
        numeric = numeric_model_base(self)
        return numeric if numeric.decision.is_clear else closed

    @cached_property
    def term_columns(self) -> tuple[tuple[BoundTerm, slice], ...]:
        """Each joint term with its columns among those of χ."""
        ends = self.inertial_size + np.cumsum([0, *(len(term.names) for term in self.bound)])
        return tuple((term, slice(*part)) for term, part in zip(self.bound, pairwise(ends.tolist()), strict=True))

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """(joint row, term column) of every structurally non-zero term entry."""
        first = self.inertial_size
        return tuple((row, at.start - first + column) for term, at in self.term_columns for row, column in term.rows)

    @cached_property
    def limbs(self) -> list[Block]:
        """Joints and standard columns of each limb: rows of no two of them have a column in common."""
        there = np.zeros((self.n, len(self.standard)))
        for body in range(self.robot.n_bodies):
            there[list(self.robot.movers(body)), 10 * body : 10 * body + 10] = 1.0
        rows, columns = (list(some) for some in zip(*self.entries, strict=True)) if self.entries else ([], [])
        there[rows, self.inertial_size + np.array(columns, dtype=np.int64)] = 1.0
        return independent_blocks(there)

    @property
    def longest_limb(self) -> int:
        """Joints of the limb that has the most: each has rows of its own, so that random states need be no more."""
        return max((len(joints) for joints, _ in self.limbs), default=self.n)

    def term_values(self, motion: Motion) -> Array:
        """(E, N): values of the entries."""
        return TermMemory(self).values(motion)

    def terms_pullback(self, motion: Motion, seeds: Array) -> MotionGradient:
        """Gradient of Σ seeds ⊙ term_values, seeds (E, N)."""
        own = np.split(seeds, np.cumsum([len(term.rows) for term in self.bound]))
        return MotionGradient.sum(motion, [term.pullback(motion, s) for term, s in zip(self.bound, own, strict=False)])


@lru_cache(maxsize=REMEMBERED_ROBOTS)
def _framed(robot: Robot) -> tuple[Robot, MDHTable]:
    """Models of one robot that differ in their terms are made by the dozen."""
    return in_mdh_frames(robot, parallel=PARALLEL_AXES_ANGLE_RAD)


class TermMemory:
    """Values of joint terms, some of which remember, along a motion that comes block by block. Mutable."""

    def __init__(self, model: DynamicModel) -> None:
        self._bound = model.bound
        self._remembers = any(term.has_memory for term in model.bound)
        self._before: Motion | None = None

    def values(self, motion: Motion) -> Array:
        """(E, N), as ``DynamicModel.term_values``, of samples that follow those of the block before."""
        seen = motion
        if self._before is not None:
            self._bound = tuple(term.after(self._before) for term in self._bound)
            seen = self._before[-1:].followed_by(motion)
        self._before = seen if self._remembers else None
        found = [term.values(seen)[:, len(seen) - len(motion) :] for term in self._bound]
        return np.concatenate(found) if found else np.zeros((0, len(motion)))


@dataclass(frozen=True, eq=False)
class MotionRows:
    """The chosen columns of W over a motion, as what is needed of them: Gram matrix and adjoint. W is never stored."""

    model: DynamicModel
    motion: Motion
    layout: ColumnLayout
    weights: Array

    def __post_init__(self) -> None:
        self.model.dynamics.check(self.motion)
        rows = [row for row, _ in self.model.entries]
        if len(self.layout.inertial) != self.model.robot.n_bodies or self.layout.term_row.tolist() != rows:
            raise ParameterError("the layout was made for another model; make it with this model's layout(columns)")

    @cached_property
    def _batch(self) -> RowBatch:
        chain, terms = self.model.dynamics.chain, self.model.term_values(self.motion)
        return RowBatch(chain, self.layout, terms, self.weights, *self.motion.samples_last)

    @cached_property
    def _projected(self) -> ProjectedRows | None:
        """Where bodies follow joints."""
        if self.model.robot.coupling is None:
            return None
        terms = self.model.term_values(self.motion)
        return ProjectedRows(self.model.dynamics, self.motion, self.layout, terms, self.weights)

    def gram(self) -> Array:
        """H = Σ_j w_j W_jᵀ W_j (b, b)."""
        return self.model.engine.gram(self._batch) if self._projected is None else self._projected.gram()

    def pullback(self, dfdh: Array, torque_seed: Array | None = None) -> MotionGradient:
        """Gradient of f(H) for ∂f/∂H (b, b) with respect to every sample; with a torque_seed (N, n) that of
        Σ torque_seed ⊙ τ of the nominal rigid bodies is added in the same pass."""
        if np.shape(dfdh) != (self.layout.size, self.layout.size):
            raise ParameterError(f"∂f/∂H has shape {np.shape(dfdh)}; H is {self.layout.size} × {self.layout.size}")
        seed = None if torque_seed is None else self.model.dynamics.checked_seed(self.motion, torque_seed)
        inertias = self.model.dynamics.robot.inertias
        if self._projected is not None:
            gradient, terms = self._projected.adjoint(dfdh + dfdh.T, seed, inertias)
            return gradient + self.model.terms_pullback(self.motion, terms)
        q, qd, qdd, terms = self.model.engine.adjoint(self._batch, dfdh + dfdh.T, seed, inertias)
        return MotionGradient(q.T, qd.T, qdd.T) + self.model.terms_pullback(self.motion, terms)


# -- base parameters, by both methods, for the whole dynamics and for its parts ----------------------------------------


def usual_range(robot: Robot) -> tuple[Array, Array]:
    """(n,) lower and upper position: the joint range, at most one turn (or some metres) about its middle."""
    lower, upper = robot.position_range()
    middle, half = 0.5 * (lower + upper), np.minimum(0.5 * (upper - lower), np.pi)
    return middle - half, middle + half


def random_states(robot: Robot, samples: int, seed: int = 0, *, static: bool = False) -> Motion:
    """Independent random states: anywhere in the joint range, speeds and accelerations of order one."""
    rng, (lower, upper) = np.random.default_rng(seed), usual_range(robot)
    q = within_reach(robot, rng.uniform(lower, upper, (samples, robot.n)))
    if static:
        return Motion.at(q)
    qd, qdd = rng.uniform(-2.0, 2.0, (2, samples, robot.n))
    return Motion.at(q, qd, qdd)


def random_motion(robot: Robot, samples: int, seed: int = 0) -> Motion:
    """One smooth random motion in time order: three sines per joint with incommensurate frequencies of order one."""
    rng, (lower, upper) = np.random.default_rng(seed), usual_range(robot)
    time = np.linspace(0.0, 0.1 * samples, samples)
    frequency, phase = rng.uniform(0.3, 3.0, (3, 1, robot.n)), rng.uniform(0.0, 2.0 * np.pi, (3, 1, robot.n))
    size, angle = (upper - lower) / 6.0, frequency * time[:, None] + phase
    q, qd, qdd = (size * x.sum(0) for x in (np.sin(angle), frequency * np.cos(angle), -(frequency**2) * np.sin(angle)))
    middle, share = swing_room(robot, 0.5 * (lower + upper), q)
    return Motion(time, middle + share * q, share * qd, share * qdd)


def reproduces(model: DynamicModel, base: BaseParameters, tolerance: float = 1e-4) -> bool:
    """Whether the base parameters of random χ give its torques at random states: W_b (P χ) = W χ. Tolerance, relative:
    right angles that a description prints with five digits are exact in the closed form."""
    plain = DynamicModel(model.robot, model.terms, NumpyEngine())
    rows = plain.regressor(random_states(model.robot, 5 * model.longest_limb, seed=1)).reshape(-1, len(model.standard))
    size = np.linalg.norm(rows, axis=0)
    floor = 1e-6 * size.max(initial=0.0) or 1.0  # a column of rounding noise must not be blown up
    chi = np.random.default_rng(1).standard_normal(len(size)) / np.maximum(size, floor)
    chi[massless_columns(model.robot)] = 0.0
    exact = rows @ chi
    return bool(np.abs(base.project(rows) @ base.base_values(chi) - exact).max() <= tolerance * np.abs(exact).max())


def numeric_model_base(model: DynamicModel, *, seed: int = 0, static: bool = False) -> BaseParameters:
    """From the regressor at random states (along a random motion for terms with memory); static: at rest."""
    samples = min(20 * model.longest_limb + 2 * len(model.standard) // model.n, MOST_BASE_SAMPLES)
    if any(term.has_memory for term in model.bound) and not static:
        return excited_base(model, random_motion(model.robot, 3 * samples, seed))
    return excited_base(model, random_states(model.robot, samples, seed, static=static))


def coupled_base(model: DynamicModel, *, seed: int = 0) -> BaseParameters:
    """Where bodies follow joints: Khalil & Dombre's order, first the tree in closed form, then what the coupling groups
    further, by the rank of the projected rows of what is left, at random states."""
    tree, size, p = symbolic_base(model.dynamics.robot.tree), model.inertial_size, len(model.standard)
    if not (tree.decision.is_clear and reproduces(DynamicModel(model.robot.tree, (), model.engine), tree)):
        return numeric_model_base(model, seed=seed)
    columns = np.append(tree.independent, np.arange(size, p))
    samples = COUPLED_BASE_SAMPLES + 2 * len(columns) // model.n
    remembers = any(term.has_memory for term in model.bound)
    motion = random_motion(model.robot, 3 * samples, seed) if remembers else random_states(model.robot, samples, seed)
    r, layout = np.zeros((0, len(columns))), model.layout(columns)
    for _, rows in model.regressor_chunks(motion, 2 * COUPLED_BASE_SAMPLES, layout):
        r = triangle(np.vstack([r, rows.reshape(-1, len(columns))]))
    found = numeric_base(r, [model.standard[k] for k in columns], prismatic=prismatic_links(model.robot))
    whole = np.zeros((len(columns), p))
    whole[: len(tree), :size], whole[len(tree) :, size:] = tree.grouping, np.eye(p - size)
    grouping = found.grouping @ whole
    return BaseParameters(
        standard=model.standard,
        independent=columns[found.independent],
        grouping=np.where(np.abs(grouping) < GROUPING_ROUNDING * np.abs(grouping).max(), 0.0, grouping),
        decision=found.decision,
        method=f"tree in closed form, its coupling numeric, {model.n * len(motion)} rows",
    )


def excited_base(model: DynamicModel, motion: Motion) -> BaseParameters:
    """The minimal set that the samples of a motion excite, whatever the robot could reveal on others."""
    limbs, p = model.limbs, len(model.standard)
    if len(limbs) <= 1 or model.robot.coupling is not None:
        rows = model.regressor(motion).reshape(-1, p)
    else:  # rows of all limbs side by side would be zeros for the most part
        rows, values = np.zeros((p, p)), model.term_values(motion)
        for joints, columns in limbs:
            phi = np.zeros((model.n, len(columns), len(motion)))
            layout, weights = model.layout(columns), np.ones(model.n)
            model.engine.columns(RowBatch(model.dynamics.chain, layout, values, weights, *motion.samples_last), phi)
            found = triangle(phi[joints].transpose(2, 0, 1).reshape(-1, len(columns)))
            rows[np.ix_(columns[: len(found)], columns)] = found
    rows[:, massless_columns(model.robot)] = 0.0
    prismatic, count = prismatic_links(model.robot), model.n * len(motion)
    return numeric_base(rows, model.standard, prismatic=prismatic, count=count)


def static_base(model: DynamicModel) -> BaseParameters:
    """Gravity, offsets and springs: what poses at rest can tell (friction and rotor inertias do not act there)."""
    if model.robot.coupling is not None or not all(isinstance(term, TERMS_WITH_RULE) for term in model.terms):
        return numeric_model_base(model, static=True)
    return symbolic_static_base(model.dynamics.robot, [name for name in model.standard if name.startswith("off")])


def static_columns(model: DynamicModel) -> Index:
    """Numbers, among the standard parameters of the model, of what stands for ``static_base``, which knows fewer."""
    base = static_base(model)
    return np.array([model.standard.index(base.standard[k]) for k in base.independent], dtype=np.int64)


def inertia_base(model: DynamicModel) -> BaseParameters:
    """Second moments only (XX … ZZ of every link), masses and first moments taken as known (Rackl et al.)."""
    robot = model.dynamics.robot
    wanted = [name for name in inertial.names(model.robot.n_bodies) if split_name(name)[0] in INERTIA_SYMBOLS]
    whole = symbolic_base(robot) if robot.coupling is None else coupled_base(DynamicModel(model.robot))
    return restricted(whole, wanted, prismatic_links(robot))
