"""Poses to stand still in, which tell most about weights and centres of mass (Rackl et al. 2012, II-C).

At rest the torques depend on gravity's parameters only, and on positions only. Poses are chosen D-optimally: the best
of many random ones by exchange, then moved continuously along the exact gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel, static_base, static_columns
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import DesignObjective, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.experiments.moves import chained, quick_move, rest
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

Allowed = Callable[[Array], NDArray[np.bool_]]  # positions (N, n) ↦ which of them (N,) may be taken


@dataclass(frozen=True)
class PoseSearch:
    """poses: how many, twice the number of parameters over the number of joints unless given; candidates: random
    postures to choose from; iterations of the continuous improvement (0: none)."""

    poses: int | None = None
    candidates: int = 2000
    iterations: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.poses is not None and self.poses < 1) or self.candidates < 1 or self.iterations < 0:
            raise ExciterError(f"{self}: poses and candidates must be 1 or more, iterations 0 or more")


@dataclass(frozen=True, eq=False)
class StaticPoses:
    """q (K, n) [rad]; the static base parameters (b,) by name; log_det: log det WᵀΣ⁻¹W, of the information; selected:
    the same for the best random candidates, before they were moved, and chosen (K,): their numbers among all;
    predicted_std (b,) of the parameters."""

    q: Array
    chosen: NDArray[np.int64]
    parameters: tuple[str, ...]
    log_det: float
    selected: float
    condition_number: float
    condition_number_normalized: float
    predicted_std: Array

    def tour(self, robot: Robot, dwell: float = 1.0) -> Curve:
        """A motion that stands still ``dwell`` [s] in every pose, the nearest next; joint limits hold on the way,
        collisions on the way are not looked at."""
        order = nearest_first(robot, self.q, self.q[0])
        parts = [rest(order[0], dwell)]
        for before, after in pairwise(order):
            if not np.array_equal(before, after):
                parts.append(quick_move(robot, before, after))
            parts.append(rest(after, dwell))
        return chained(parts)


def nearest_first(robot: Robot, q: Array, start: Array) -> Array:
    """Postures (K, n) in the order in which the nearest is next, by the time that the slowest joint needs."""
    lower, upper = robot.position_range()
    speed = robot.limit("velocity")
    scale = np.where(np.isfinite(speed), speed, upper - lower)
    left, order, at = list(range(len(q))), [], start
    while left:
        nearest = min(left, key=lambda k: float((np.abs(q[k] - at) / scale).max()))
        left.remove(nearest)
        order.append(nearest)
        at = q[nearest]
    return q[order]


def static_poses(
    model: DynamicModel,
    search: PoseSearch | None = None,
    *,
    noise: ArrayLike | None = None,
    allowed: Allowed | None = None,
    candidates: Array | None = None,
) -> StaticPoses:
    """D-optimal poses for the static base parameters; noise σ (n,) [N·m], one unless given.

    allowed: which positions may be taken at all (workspace, collisions), beyond the position limits. candidates (N, n):
    postures that are, from which the poses are chosen; random ones unless given."""
    search = search or PoseSearch()
    base, columns = static_base(model), static_columns(model)
    if not len(base):
        raise ExciterError(f"no weight acts on the joints of robot '{model.robot.name}'; static poses tell nothing")
    weights = model.per_joint(1.0 if noise is None else noise, "noise") ** -2.0
    objective = DesignObjective(model, DOptimality(), DesignColumns.of(model, columns), weights)
    count = search.poses or max(2, -(-2 * len(base) // model.n))
    candidates = _candidates(model.robot, search, allowed, count) if candidates is None else candidates
    rows = model.regressor(Motion.at(candidates))[:, :, columns] * np.sqrt(weights)[:, None]
    chosen = select(rows, count)
    q = candidates[chosen]
    selected = objective.value(Motion.at(q))
    if not np.isfinite(selected):
        raise ExciterError(
            f"{count} poses do not determine the {len(base)} static parameters ({', '.join(base.names)}); "
            "give more poses, or allow more of the workspace"
        )
    q = _polished(objective, q, search.iterations, allowed)
    figures = evaluate(model, Motion.at(q), weights, columns)
    return StaticPoses(
        q=q,
        chosen=chosen,
        parameters=base.names,
        log_det=figures.log_det,
        selected=-selected,
        condition_number=figures.condition_number,
        condition_number_normalized=figures.condition_number_normalized,
        predicted_std=figures.predicted_std,
    )


def _candidates(robot: Robot, search: PoseSearch, allowed: Allowed | None, count: int) -> Array:
    """(N, n) random positions within the limits that are allowed."""
    rng = np.random.default_rng(search.seed)
    q = rng.uniform(*robot.position_range(), (search.candidates, robot.n))
    kept = q if allowed is None else q[np.asarray(allowed(q), dtype=bool)]
    if len(kept) < count:
        raise ExciterError(
            f"only {len(kept)} of {search.candidates} random postures are allowed, {count} poses are wanted; "
            "give more candidates or loosen what is allowed"
        )
    return kept


def select(rows: Array, count: int) -> NDArray[np.int64]:
    """Which ``count`` of N poses with rows (N, n, b) make det Σ WᵀW largest: greedy, then exchange one by one."""
    scale = np.sqrt((rows**2).sum(axis=(0, 1)))
    rows = rows / np.where(scale > 0, scale, 1.0)
    grams = np.einsum("Njb,Njc->Nbc", rows, rows)
    total = 1e-9 * np.eye(rows.shape[2])  # so that the first few poses can be compared
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(_best(rows, total))
        total = total + grams[chosen[-1]]
    improved = True
    while improved:
        improved = False
        for place, old in enumerate(chosen):
            others = total - grams[old]
            new = _best(rows, others)
            before, after = (np.linalg.slogdet(others + grams[k])[1] for k in (old, new))
            if after > before + 1e-9:
                chosen[place], total, improved = new, others + grams[new], True
    return np.array(chosen, dtype=np.int64)


def _best(rows: Array, total: Array) -> int:
    """The pose that multiplies det most: det(H + WᵀW) = det H · det(1 + W H⁻¹ Wᵀ)."""
    spread = np.einsum("Njb,bc,Nkc->Njk", rows, np.linalg.inv(total), rows, optimize=True)
    return int(np.argmax(np.linalg.slogdet(np.eye(rows.shape[1]) + spread)[1]))


def _polished(objective: DesignObjective, q: Array, iterations: int, allowed: Allowed | None) -> Array:
    """Poses moved within the position limits to where −log det is smallest; those that end where it is not allowed go
    back half the way, again and again; the whole counts only if it is better than before."""
    if not iterations:
        return q
    lower, upper = objective.model.robot.position_range()
    bounds = list(zip(np.tile(lower, len(q)), np.tile(upper, len(q)), strict=True))

    def function(x: Array) -> tuple[float, Array]:
        value, gradient = objective.value_and_gradient(Motion.at(x.reshape(q.shape)))
        return value, np.asarray(gradient.q).ravel()

    options = {"maxiter": iterations, "ftol": 1e-10}
    solution = scipy.optimize.minimize(function, q.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    moved = np.clip(solution.x.reshape(q.shape), lower, upper)
    if allowed is not None:
        for halvings in range(13):
            refused = ~np.asarray(allowed(moved), dtype=bool)
            moved[refused] = 0.5 * (q + moved)[refused] if halvings < 12 else q[refused]
    return moved if function(moved.ravel())[0] < function(q.ravel())[0] else q
