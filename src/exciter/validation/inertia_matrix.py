"""Is the inertia matrix A(q) of the identified model positive definite wherever the robot can be (§ 12.7)?

A is what the torque gains per acceleration, ∂Γ/∂q̈: bodies, rotors, drive coupling; never friction. It depends on the
base parameters alone. With A ⊁ 0 some motion would have negative kinetic energy: nothing can be simulated, no inverse
of A used by a controller can be trusted.

Joints that turn and joints that slide have inertias of different units, and a wrist is a thousand times lighter than a
shoulder. So eigenvalues are those of D^(−½) A D^(−½), with D the mean diagonal of A over the workspace: numbers without
unit, near 1 for joints that do not feel each other, 0 where A is singular. Their signs are those of A's own.

A free base is looked at in one pose: another changes A by a congruence alone, ṗᵀAṗ being the same energy of the same
twist, but for a pitch of ±π/2, where three angles cannot turn every way and A is singular whatever the bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.closed_loop.closed_loop import dry_friction
from exciter.identification.information.estimate import Estimate
from exciter.notes import Note, warning
from exciter.parameters.terms.friction import DryFriction
from exciter.robot.loop_reach import within_reach
from exciter.robot.motion import Motion
from exciter.typing import Array

POSTURES_AT_ONCE = 1024  # of which the matrices are computed together
ZERO_EIGENVALUE = 1e-12  # a smaller eigenvalue counts as zero
SURE_EIGENVALUE_SIGMAS = 2.0  # from zero, from which on an eigenvalue counts as surely positive
FULL_TURN_RAD = 2.0 * np.pi
MOVED_AND_REST = np.array([[1.0], [0.0]])  # parts of an acceleration, at the same posture


@dataclass(frozen=True)
class PostureSearch:
    """postures: a power of two, by Sobol and a seed; starts: the worst of them, from which minima are looked for."""

    postures: int = 2048
    starts: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if self.postures < 2 or self.postures & (self.postures - 1):
            raise ParameterError(f"postures is {self.postures}; give a power of two, 2 or more")
        if not 0 <= self.starts <= self.postures:
            raise ParameterError(f"starts is {self.starts}; give 0 … {self.postures}, the number of postures")


@dataclass(frozen=True, eq=False)
class InertiaMatrix:
    """smallest: eigenvalue that was found, without unit (see above), at ``posture`` (n,) [rad or m], for accelerations
    in proportion to ``direction`` (n,); sampled: the smallest before the minimum was looked for. description: the
    smallest of the description's own parameters at that posture, by the same scale (n,) [kg·m² or kg].
    std: σ of ``smallest``; surety: the fewest σ an eigenvalue is from zero, and at which posture; None: not known."""

    joints: tuple[str, ...]
    position_units: tuple[str, ...]
    smallest: float
    posture: Array
    direction: Array
    sampled: float
    description: float
    scale: Array
    std: float | None
    surety: float | None
    surety_posture: Array | None
    search: PostureSearch

    @property
    def definite(self) -> bool:
        """At every posture that was looked at."""
        return self.smallest > ZERO_EIGENVALUE

    @property
    def sure(self) -> bool | None:
        """Whether uncertainty leaves that in doubt nowhere; None where it is not known."""
        return None if self.surety is None else bool(self.definite and self.surety >= SURE_EIGENVALUE_SIGMAS)

    @property
    def verdict(self) -> str:
        if not self.definite:
            return "not positive definite"
        return "positive definite" if self.sure is not False else "positive definite, but not surely"

    @property
    def note(self) -> Note:
        return warning("inertia matrix", f"{self.verdict}: {self._smallest()}", smallest=self.smallest)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        said = [f"the inertia matrix is {self.verdict}: {self._smallest()}"]
        if not self.definite:
            words = "no arm has such an inertia matrix: do not simulate with these parameters nor invert A; ask for a "
            said.append(f"{words}physically consistent estimate, or excite the joints named above more")
        elif self.description > ZERO_EIGENVALUE:
            ratio = self.smallest / self.description
            said.append(f"that is {ratio:.2g} times what the description's own parameters have at this posture")
        if self.surety is not None and self.surety_posture is not None and self.definite:
            doubt = "" if self.sure else f"; less than {SURE_EIGENVALUE_SIGMAS:g} σ: another log could make it negative"
            said.append(f"where it is least sure, it is {self.surety:.2g} σ from zero{doubt}")
        words = f"this is a search, not a proof: {self.search.postures} postures over the joint ranges, and minima "
        said.append(f"{words}looked for from the {self.search.starts} worst")
        return tuple(said)

    def _smallest(self) -> str:
        plus = "" if self.std is None else f" ± {self.std:.1g} (σ)"
        named = zip(self.joints, self.posture, self.position_units, strict=True)
        where = ", ".join(f"{joint} {value:.3g} {unit}" for joint, value, unit in named)
        moves = np.abs(self.direction) * np.sqrt(self.scale)
        who = ", ".join(self.joints[j] for j in np.argsort(-moves) if moves[j] > 0.3 * moves.max())
        return f"smallest scaled eigenvalue {self.smallest:.3g}{plus}, for accelerations of {who}, at {where}"

    def to_dict(self) -> dict[str, Any]:
        arrays = (self.posture, self.direction, self.scale, self.surety_posture)
        posture, direction, scale, least_sure = (
            None if values is None else dict(zip(self.joints, values.tolist(), strict=True)) for values in arrays
        )
        verdict = {"verdict": self.verdict, "positive_definite": self.definite, "sure": self.sure}
        found = {"smallest_eigenvalue": self.smallest, "std": self.std, "posture": posture, "direction": direction}
        beside = {"scale": scale, "description_at_posture": self.description}
        surety = {"least_sigmas_from_zero": self.surety, "least_sure_posture": least_sure}
        return {**verdict, **found, **beside, **surety, **vars(self.search), "words": list(self.sentences)}


def check_inertia_matrix(
    model: DynamicModel, values: ArrayLike, covariance: ArrayLike | None = None, search: PostureSearch | None = None
) -> InertiaMatrix:
    """values (b,) of the model's base parameters, with their covariance (b, b) where it is known."""
    search = search or PostureSearch()
    chi, size = base_chi(model, values), len(model.base)
    if covariance is not None and (shape := np.shape(covariance)) != (size, size):
        raise ParameterError(f"the covariance has shape {shape}; give {(size, size)}")
    low, high = (np.array(bound) for bound in model.robot.position_range())
    for bound in (low, high):
        bound[list(model.robot.free_base)] = 0.0
    sobol = scipy.stats.qmc.Sobol(model.n, seed=search.seed).random_base2(search.postures.bit_length() - 1)
    q = within_reach(model.robot, low + (high - low) * sobol)
    matrices = inertia_matrices(model, chi, q)
    diagonal = np.abs(np.diagonal(matrices, axis1=1, axis2=2)).mean(axis=0)
    scale = np.where(diagonal > 0.0, diagonal, 1.0)
    eigen, vectors = _smallest(matrices, scale)
    starts, bare = q[np.argsort(eigen)[: search.starts]], _without_dry_friction(model, chi)
    found = np.array([_minimum(*bare, scale, start, low, high) for start in starts]).reshape(-1, model.n)
    more = _smallest(inertia_matrices(model, chi, found), scale)
    places, eigen_all, along = np.vstack([q, found]), np.append(eigen, more[0]), np.vstack([vectors, more[1]])
    worst = int(np.argmin(eigen_all))
    sure: dict[str, Any] = dict.fromkeys(("std", "surety", "surety_posture"))
    if covariance is not None:
        std = _std(model, places, along, np.asarray(covariance, dtype=float))
        sigmas = eigen_all / np.maximum(std, 1e-300)
        least = int(np.argmin(sigmas))
        sure = {"std": float(std[worst]), "surety": float(sigmas[least]), "surety_posture": places[least]}
    own = _smallest(inertia_matrices(model, model.nominal, places[worst : worst + 1]), scale)[0]
    return InertiaMatrix(
        joints=model.robot.joint_names,
        position_units=tuple("m" if joint.is_prismatic else "rad" for joint in model.robot.joints),
        smallest=float(eigen_all[worst]),
        posture=places[worst],
        direction=along[worst] / np.abs(along[worst]).max(),
        sampled=float(eigen.min()),
        description=float(own[0]),
        scale=scale,
        search=search,
        **sure,
    )


def told_inertia_matrix(model: DynamicModel, estimate: Estimate) -> InertiaMatrix | None:
    """The same; of a robot that stood on unknown forces by its full set of parameters, where there is one. What the
    feet hid, masses that never moved, is in A all the same: base values of a stance do not make it."""
    if not any(model.stances):
        return check_inertia_matrix(model, estimate.values, estimate.covariance)
    if estimate.standard is None:
        return None
    whole = replace(model, stances=())
    return check_inertia_matrix(whole, whole.base.base_values(estimate.standard))


def base_chi(model: DynamicModel, values: ArrayLike) -> Array:
    """χ (p,) with base values (b,) at their places, zeros elsewhere: torques and A are those of every full set."""
    given = np.asarray(values, dtype=float)
    if given.shape != (len(model.base),) or not np.isfinite(given).all():
        wrong = f"base values of shape {given.shape}; this model has {len(model.base)} base parameters, finite numbers"
        raise ParameterError(wrong)
    chi = np.zeros(len(model.standard))
    chi[model.base.independent] = given
    return chi


def inertia_matrices(model: DynamicModel, chi: ArrayLike, q: ArrayLike) -> Array:
    """A (N, n, n) [kg·m², kg] at postures q (N, n): the torque that unit accelerations add at rest; symmetric part."""
    return _matrices(*_without_dry_friction(model, np.asarray(chi, dtype=float)), q)


def _without_dry_friction(model: DynamicModel, chi: Array) -> tuple[DynamicModel, Array]:
    """It may depend on accelerations through the load, but is no inertia."""
    kept = tuple(term for term in model.terms if not isinstance(term, DryFriction))
    return DynamicModel(model.robot, kept, model.engine), chi[~dry_friction(model)]


def _matrices(model: DynamicModel, chi: Array, q: ArrayLike) -> Array:
    q = np.atleast_2d(np.asarray(q, dtype=float))
    found, unit = np.empty((len(q), model.n, model.n)), np.eye(model.n + 1, model.n)  # the last: at rest
    for start in range(0, len(q), POSTURES_AT_ONCE):
        part = slice(start, start + POSTURES_AT_ONCE)
        repeated = np.repeat(q[part], len(unit), axis=0)
        torque = model.torque(Motion.at(repeated, None, np.tile(unit, (len(q[part]), 1))), chi)
        torque = torque.reshape(-1, len(unit), model.n)
        found[part] = torque[:, :-1] - torque[:, -1:]
    return 0.5 * (found + found.swapaxes(1, 2))


def _smallest(matrices: Array, scale: Array) -> tuple[Array, Array]:
    """(N,) smallest eigenvalues of D^(−½) A D^(−½), and u (N, n) with uᵀ A u equal to them."""
    root = np.sqrt(scale)
    values, vectors = np.linalg.eigh(matrices / np.outer(root, root))
    return values[:, 0], vectors[:, :, 0] / root


def _minimum(model: DynamicModel, chi: Array, scale: Array, start: Array, low: Array, high: Array) -> Array:
    """q (n,) of a minimum of the smallest eigenvalue near ``start``, with its exact slope: ∂λ/∂q = uᵀ ∂A/∂q u, the
    gradient of the torque that the acceleration u adds, seeded with u."""
    turns = np.array([not joint.is_prismatic for joint in model.robot.joints]) & (high - low > FULL_TURN_RAD - 1e-9)

    def value(q: Array) -> tuple[float, Array]:
        q = within_reach(model.robot, q[None])[0]
        eigen, vectors = _smallest(_matrices(model, chi, q), scale)
        seeds = np.repeat(vectors, 2, axis=0)
        moved, rest = model.torque_pullback(Motion.at(np.stack([q, q]), None, seeds * MOVED_AND_REST), seeds, chi).q
        return float(eigen[0]), moved - rest

    bounds = [(None, None) if free else (a, b) for free, a, b in zip(turns, low, high, strict=True)]
    found = np.asarray(scipy.optimize.minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    found = np.where(turns, low + (found - low) % FULL_TURN_RAD, np.clip(found, low, high))
    return np.asarray(within_reach(model.robot, found[None])[0])


def _std(model: DynamicModel, q: Array, along: Array, covariance: Array) -> Array:
    """(N,) σ of λ = uᵀ A u to first order: A is linear in the base parameters."""
    columns, std = model.base.independent, np.empty(len(q))
    eigen, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(eigen, 0.0))
    root[dry_friction(model)[columns]] = 0.0
    both, layout = (Motion.at(q, None, along), Motion.at(q)), model.layout(columns)
    chunks = (model.regressor_chunks(motion, POSTURES_AT_ONCE, layout) for motion in both)
    for (part, pushed), (_, rest) in zip(*chunks, strict=True):
        slopes = np.einsum("Nj,Njb->Nb", along[part], pushed - rest)
        std[part] = np.linalg.norm(slopes @ root, axis=1)
    return std
