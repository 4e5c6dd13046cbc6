"""The point nearest to an unconstrained least-squares solution within cones, by Clarabel's interior-point method.

In coordinates u = K (χ − χ̂), in which the objective is ‖u‖², every number is in units of the noise or of the
reference, and a gram-sized robot looks like one of half a tonne."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Literal

import clarabel  # type: ignore[import-untyped]
import numpy as np
import scipy
from scipy import linalg

from exciter.errors import ParameterError
from exciter.independent_blocks import independent_blocks
from exciter.typing import Array

CONE_SOLVER_TOLERANCE = 1e-9
LARGEST_CONE_VIOLATION = 1e-6  #: scaled violation that is put right afterwards; more means that the solver failed
FARTHEST_NOISE_UNITS = 1e3  # units of noise
BLAMED_PROOF_SHARE = 1e-3  #: share in a proof of infeasibility, over the largest, of bounds that are named
ConeKind = Literal["nonnegative", "second-order", "semidefinite"]


@dataclass(frozen=True, eq=False)
class Cone:
    """G χ + h in a cone: entries ≥ 0, first entry ≥ norm of the others, or svec of a matrix ⪰ 0. given: by a user."""

    kind: ConeKind
    g: Array
    h: Array
    name: str
    given: bool = False


def nearest(best: Array, factor: Array, cones: Sequence[Cone], known: Array) -> Array:
    """χ (p,) that minimises ‖K (χ − best)‖² within the cones; K (p, p) upper triangular. known: a χ whose distance from
    ``best`` is a measure of how far the answer may be. Given bounds that contradict each other are named."""
    parts = [part for cone in cones for part in _separate(cone)]
    shared = np.array([part.g.any(axis=0) for part in parts], dtype=float).reshape(len(parts), len(best))
    blocks = independent_blocks(np.vstack([factor, shared]))
    if len(blocks) <= 1:
        return _nearest(best, factor, cones, known)
    chi = best.copy()
    for rows, columns in blocks:
        own = [parts[k] for k in rows[rows >= len(factor)] - len(factor)]
        if own:
            within = [replace(cone, g=cone.g[:, columns]) for cone in own]
            at = np.ix_(rows[rows < len(factor)], columns)
            chi[columns] = _nearest(best[columns], factor[at], within, known[columns])
    return chi


def _separate(cone: Cone) -> list[Cone]:
    """Bounds on single numbers, each for itself: those of one limb have nothing to do with those of another."""
    if cone.kind != "nonnegative" or not cone.g.any(axis=1).all():
        return [cone]
    return [replace(cone, g=cone.g[at], h=cone.h[at]) for at, _ in independent_blocks(cone.g)]


def _nearest(best: Array, factor: Array, cones: Sequence[Cone], known: Array) -> Array:
    g = np.vstack([cone.g for cone in cones])
    value = g @ best + np.concatenate([cone.h for cone in cones])
    if _inside(value, cones):
        return best
    a = -linalg.solve_triangular(factor, g.T, trans="T").T
    u, solution = _in_units(1.0, a, value, cones)
    if not np.linalg.norm(u) <= FARTHEST_NOISE_UNITS:  # not found, or so far that its own size is the better unit
        u, solution = _in_units(float(np.linalg.norm(factor @ (known - best))), a, value, cones)
        if "PrimalInfeasible" in str(solution.status):
            shares = np.array([np.linalg.norm(part) for part in _parts(np.array(solution.z), cones)])
            blamed = compress(cones, shares > BLAMED_PROOF_SHARE * shares.max())
            named = "; ".join(dict.fromkeys(cone.name for cone in blamed if cone.given)) or "bounds"
            raise ParameterError(f"no robot satisfies all bounds; these clash: {named}; widen or remove one of them")
        finer, _ = _in_units(float(np.linalg.norm(u)), a, value, cones)
        u = finer if np.linalg.norm(finer) < np.linalg.norm(u) else u
    if not np.isfinite(u).all():
        given = "; ".join(dict.fromkeys(cone.name for cone in cones if cone.given))
        raise ParameterError(
            f"no robot was found within the bounds ({given}); they clash, or are too tight: widen or remove one of them"
            if given
            else f"no physical set was found ({solution.status}); give a prior whose masses are right within a factor "
            "of 1000"
        )
    return np.asarray(best + linalg.solve_triangular(factor, u))


def _in_units(unit: float, a: Array, value: Array, cones: Sequence[Cone]) -> tuple[Array, Any]:
    """The shortest u with value − a u in the cones, in multiples of ``unit``, NaN where there is none; its solution."""
    if not np.isfinite(unit):
        return np.full(a.shape[1], np.nan), None
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = CONE_SOLVER_TOLERANCE
    settings.max_threads = 1
    made = {
        "nonnegative": clarabel.NonnegativeConeT,
        "second-order": clarabel.SecondOrderConeT,
        "semidefinite": lambda size: clarabel.PSDTriangleConeT(_side(size)),
    }
    kinds, p = [made[cone.kind](len(cone.h)) for cone in cones], a.shape[1]
    identity = scipy.sparse.identity(p, format="csc")  # min ½‖x‖² with value − unit a x in the cones
    solver = clarabel.DefaultSolver(identity, np.zeros(p), scipy.sparse.csc_matrix(unit * a), value, kinds, settings)
    solution = solver.solve()
    u = unit * np.array(solution.x)
    inside = np.isfinite(u).all() and _inside(value - a @ u, cones, LARGEST_CONE_VIOLATION)
    return (u if inside else np.full_like(u, np.nan)), solution


def _side(size: int) -> int:
    """k of a triangle of k (k + 1) / 2 numbers."""
    return (int(np.sqrt(8 * size + 1)) - 1) // 2


def slack(cone: Cone, value: Array) -> float:
    """How far G χ + h is inside the cone; negative outside."""
    if cone.kind == "nonnegative":
        return float(value.min())
    if cone.kind == "second-order":
        return float(value[0] - np.linalg.norm(value[1:]))
    columns, rows = np.tril_indices(_side(len(value)))
    matrix = np.zeros((columns[-1] + 1, columns[-1] + 1))  # of ``svec``
    matrix[rows, columns] = matrix[columns, rows] = value / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return float(np.linalg.eigvalsh(matrix)[0])


def _inside(value: Array, cones: Sequence[Cone], tolerance: float = 0.0) -> bool:
    return all(slack(c, v) >= -tolerance for c, v in zip(cones, _parts(value, cones), strict=True))


def _parts(value: Array, cones: Sequence[Cone]) -> list[Array]:
    """Of every cone."""
    return np.split(value, np.cumsum([len(cone.h) for cone in cones])[:-1])
