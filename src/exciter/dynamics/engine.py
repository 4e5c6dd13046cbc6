"""The two ways to compute, NumPy reference and compiled twin, behind one small interface; and what they see of a robot.

That is plain arrays, every joint axis along z of its own frame. A robot whose axes point elsewhere is seen through
frames turned so that they do; ``parameter_map`` turns the inertial parameters along, so that the rest of the package
never notices. Everything here is arrays with samples last: q, q̇, q̈ are (n, N). ``default_engine`` prefers Numba, whose
engine runs compiled kernels over the samples, in one thread or several, and falls back to NumPy (``reference``); both
give the same numbers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.kernels.cache import kernels
from exciter.errors import ExciterError, ParameterError
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import inertia_transform, rotation_to
from exciter.typing import Array

Index = NDArray[np.int64]
KERNEL_BLOCK_SAMPLES = 64  # threads share samples in whole blocks, so that they change no rounding inside one
EXACT_SINE_ANGLE_RAD = 1e5  # beyond it the kernels reduce an angle with errors (``blocks.sin_cos``)
NO_SEED = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Chain:
    """Kinematic tree of n joints and its P pairs (link i, ancestor-or-own joint j), ordered by link, from the base.
    parent (n,), prismatic (n,); rotation (n, 3, 3), origin (n, 3) [m]: link frame in its parent's at q = 0; gravity
    (3,) [m/s²]. Pairs of link i are first[i] … first[i+1]; joint (P,) and link_of (P,) name them. Pairs of row (joint)
    j are row_pairs[row_first[j] … row_first[j+1]], by increasing link. parameter_map (n, 10, 10): φ seen in this
    chain's frames = parameter_map[i] @ φ in the robot's joint frames. axis_frames (n, 3, 3): this chain's link frame in
    the robot's joint frame."""

    parent: Index
    prismatic: NDArray[np.bool_]
    rotation: Array
    origin: Array
    gravity: Array
    first: Index
    joint: Index
    link_of: Index
    row_pairs: Index
    row_first: Index
    parameter_map: Array
    axis_frames: Array

    @classmethod
    def of(cls, robot: Robot) -> Chain:
        turned = np.array([rotation_to(joint.axis) for joint in robot.joints])
        above = [np.eye(3) if j.parent == BASE else turned[j.parent] for j in robot.joints]
        rotation = [u.T @ j.rotation @ t for u, j, t in zip(above, robot.joints, turned, strict=True)]
        origin = [u.T @ j.translation for u, j in zip(above, robot.joints, strict=True)]
        ancestors = [robot.ancestors(i) for i in range(robot.n)]
        joint = np.array([j for path in ancestors for j in path], dtype=np.int64)
        depth = [len(path) for path in ancestors]
        return cls(
            parent=robot.parents,
            prismatic=np.array([j.is_prismatic for j in robot.joints]),
            rotation=np.array(rotation),
            origin=np.array(origin),
            gravity=np.array(robot.gravity),
            first=np.concatenate([[0], np.cumsum(depth)]).astype(np.int64),
            joint=joint,
            link_of=np.repeat(np.arange(robot.n), depth).astype(np.int64),
            row_pairs=np.argsort(joint, kind="stable").astype(np.int64),
            row_first=np.searchsorted(np.sort(joint), np.arange(robot.n + 1)).astype(np.int64),
            parameter_map=np.array([inertia_transform(t.T, np.zeros(3)) for t in turned]),
            axis_frames=turned,
        )

    @property
    def n(self) -> int:
        return int(self.parent.size)

    @cached_property
    def is_aligned(self) -> bool:
        """Whether the robot's own axes are already along z, so that no parameter needs turning."""
        return bool((self.axis_frames == np.eye(3)).all())


@dataclass(frozen=True, eq=False)
class ColumnLayout:
    """Column numbers of H for inertial parameters and joint terms; −1 marks a column left out. inertial (n, 10);
    term_row (E,): joint row of each term entry; term_column (E,): its column. size: order of H."""

    inertial: Index
    term_row: Index
    term_column: Index
    size: int

    @classmethod
    def select(cls, n: int, entries: Sequence[tuple[int, int]], columns: Sequence[int] | Index) -> ColumnLayout:
        """Keep the given standard columns, in the given order. Standard columns are the 10 n inertial ones, then the
        term columns; entries are (joint row, term column)."""
        count = 10 * n + 1 + max((c for _, c in entries), default=-1)
        wanted = np.asarray(columns, dtype=np.int64)
        if len(wanted) != len(set(wanted.tolist())) or ((wanted < 0) | (wanted >= count)).any():
            raise ParameterError(f"columns must be different numbers from 0 to {count - 1}; given {wanted.tolist()}")
        place = np.full(count, -1, dtype=np.int64)
        place[wanted] = np.arange(len(wanted))
        rows = np.array([row for row, _ in entries], dtype=np.int64)
        terms = np.array([10 * n + c for _, c in entries], dtype=np.int64)
        inertial = place[: 10 * n].reshape(n, 10).copy()
        return cls(inertial=inertial, term_row=rows, term_column=place[terms], size=len(wanted))


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Rows of W over samples, as the engines take them: q, qd, qdd (n, N), values of the term entries (E, N), and
    a weight 1/σ² per joint (n,)."""

    chain: Chain
    layout: ColumnLayout
    terms: Array
    weights: Array
    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class LagrangeRows:
    """Energies of the ten parameters of every link and their derivatives, samples last. e, u (n, 10, N): kinetic and
    potential energy per parameter [12.33, 12.34]. momentum, de_dq, du_dq (n, n, 10, N): ∂e/∂q̇_j, ∂e/∂q_j, ∂u/∂q_j by
    joint, link, parameter [12.36, 12.37]."""

    e: Array
    u: Array
    momentum: Array
    de_dq: Array
    du_dq: Array


class Placements(NamedTuple):
    """Link frames in the base: rotation (n, 3, 3, N), origin (n, 3, N) [m]; screws (P, 3, N) in the link frames."""

    rotation: Array
    origin: Array
    sv: Array
    sw: Array


class Engine(Protocol):
    @property
    def name(self) -> str:
        """Word for it: numpy or numba."""

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Array:
        """Φ as (n, n, 10, N): joint row, link, parameter, sample; into ``out`` when given."""

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        """τ (n, N) of inertial parameters (n, 10)."""

    def gram(self, rows: RowBatch) -> Array:
        """H = Σ_j weights_j W_jᵀ W_j (b, b), W never stored."""

    def columns(self, rows: RowBatch, out: Array) -> None:
        """The b columns of W into out (n, ≥ b, N), which was zero: joint row, column, sample."""

    def adjoint(
        self, rows: RowBatch, matrix: Array | None, torque_seed: Array | None, inertias: Array
    ) -> tuple[Array, Array, Array, Array]:
        """q̄, q̇̄, q̈̄ (n, N) and ∂/∂terms (E, N) of f(H) + Σ torque_seed·τ, with matrix = ∂f/∂H + its transpose.
        torque_seed (n, N) acts on the torque of inertial parameters (n, 10); None leaves a part out."""

    def lagrange(self, chain: Chain, q: Array, qd: Array) -> LagrangeRows:
        """Energies, momenta and their position derivatives."""

    def placements(self, chain: Chain, q: Array) -> Placements:
        """Forward kinematics."""


def wrapped(chain: Chain, q: Array) -> Array:
    """Positions within what the kernels' sine can reduce exactly; farther angles lose their whole turns first."""
    if q.size and np.abs(q).max() > EXACT_SINE_ANGLE_RAD:
        return np.where(chain.prismatic[:, None], q, np.arctan2(np.sin(q), np.cos(q)))
    return q


def writable(*arrays: Array) -> tuple[Array, ...]:
    """Contiguous float64 arrays that Numba types alike: a read-only array would compile everything again."""
    return tuple(np.require(a, np.float64, ["C", "W"]) for a in arrays)


def _geometry(chain: Chain) -> tuple[Any, ...]:
    return chain.parent, chain.prismatic, chain.rotation, chain.origin, chain.gravity, chain.first


def _rows(rows: RowBatch) -> tuple[Any, ...]:
    chain, layout = rows.chain, rows.layout
    structure = (chain.joint, chain.link_of, chain.row_pairs, chain.row_first, layout.inertial)
    terms, weights = writable(rows.terms, rows.weights)
    return (*_geometry(chain), *structure, terms, layout.term_row, layout.term_column, weights)


@dataclass(frozen=True)
class NumbaEngine:
    """See ``engine.Engine``. threads: how many parts of the samples run at once; one for columns, energies and
    kinematics."""

    threads: int = 1
    name: str = "numba"

    def _call(self, kernel: str, fixed: tuple[Any, ...], samples: int, *out: Array) -> None:
        """Run a kernel over all samples: serial ones take (begin, end), parallel ones the cuts between parts."""
        if self.threads > 1:
            blocks = -(-samples // KERNEL_BLOCK_SAMPLES)
            cuts = np.minimum(samples, KERNEL_BLOCK_SAMPLES * (blocks * np.arange(self.threads + 1) // self.threads))
            getattr(kernels("parallel"), kernel)(*fixed, cuts, *out)
        else:
            getattr(kernels("drivers"), kernel)(*fixed, 0, samples, *out)

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Array:
        q, qd, qdd = writable(wrapped(chain, q), qd, qdd)
        out = np.empty((chain.n, chain.n, 10, q.shape[1])) if out is None else out
        self._call("regressor", (*_geometry(chain), chain.joint, q, qd, qdd), q.shape[1], out)
        return out

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        inertias, q, qd, qdd = writable(inertias, wrapped(chain, q), qd, qdd)
        out = np.empty(q.shape)
        self._call("torque", (*_geometry(chain), chain.joint, inertias, q, qd, qdd), q.shape[1], out)
        return out

    def gram(self, rows: RowBatch) -> Array:
        size = rows.layout.size
        h = np.zeros((self.threads, size, size))
        motion = writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd)
        self._call("gram", (*_rows(rows), *motion), rows.q.shape[1], h if self.threads > 1 else h[0])
        total: Array = h.sum(0)
        return total

    def columns(self, rows: RowBatch, out: Array) -> None:
        motion = writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd)
        kernels("columns").columns(*_rows(rows), *motion, 0, rows.q.shape[1], out)

    def adjoint(
        self, rows: RowBatch, matrix: Array | None, torque_seed: Array | None, inertias: Array
    ) -> tuple[Array, Array, Array, Array]:
        seeds = writable(*(NO_SEED if one is None else one for one in (matrix, torque_seed)), inertias)
        motion = writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd)
        shape = rows.q.shape
        out = (np.empty(shape), np.empty(shape), np.empty(shape), np.zeros_like(rows.terms))
        self._call("adjoint", (*_rows(rows), *seeds, *motion), shape[1], *out)
        return out

    def lagrange(self, chain: Chain, q: Array, qd: Array) -> LagrangeRows:
        q, qd = writable(wrapped(chain, q), qd)
        n, samples = q.shape
        rows = LagrangeRows(*np.zeros((2, n, 10, samples)), *np.zeros((3, n, n, 10, samples)))
        out = (rows.e, rows.u, rows.momentum, rows.de_dq, rows.du_dq)
        kernels("lagrange").lagrange(*_geometry(chain), chain.joint, q, qd, 0, samples, *out)
        return rows

    def placements(self, chain: Chain, q: Array) -> Placements:
        (q,) = writable(wrapped(chain, q))
        n, samples, pairs = chain.n, q.shape[1], chain.joint.size
        r, p = np.empty((n, 3, 3, samples)), np.empty((n, 3, samples))
        sv, sw = np.empty((2, pairs, 3, samples))
        kernels("lagrange").placements(*_geometry(chain), q, 0, samples, r, p, sv, sw)
        return Placements(r, p, sv, sw)


@lru_cache(maxsize=1)
def default_engine() -> Engine:
    """Numba when it is installed, NumPy otherwise; the environment variable EXCITER_ENGINE chooses by name."""
    wanted = os.environ.get("EXCITER_ENGINE", "auto")
    if wanted not in ("auto", "numba", "numpy"):
        raise ExciterError(f"EXCITER_ENGINE is '{wanted}'; allowed are auto, numba, numpy")
    if wanted == "numba" or (wanted == "auto" and find_spec("numba") is not None):
        return NumbaEngine()
    from exciter.dynamics.reference import NumpyEngine

    return NumpyEngine()
