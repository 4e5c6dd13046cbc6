"""Hand-made test motions: moves from rest to rest along a straight line in joint space, and poses to stand still in.

Among the moves are motions at constant velocity, axis by axis, from which friction can be read (Khalil & Dombre,
12.3.3 ii). One joint at a time travels to and fro at several speeds while the others stand still: no joint accelerates,
so what the torque of that joint has besides gravity is friction, one value for each speed and direction.

Static poses tell most about weights and centres of mass (Rackl et al. 2012, II-C).
At rest the torques depend on gravity's parameters only, and on positions only. Poses are chosen D-optimally: the best
of many random ones by exchange, then moved continuously along the exact gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from exciter import DOptimality, DynamicModel, ExciterError, Motion, Robot
from exciter.dynamics.model import static_base
from exciter.excitation.criteria.criterion import DesignObjective, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.optimiser.limits import check_posture
from exciter.excitation.trajectories.curve import Curve, CurvePiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece, hermite
from exciter.typing import Array

LIMITED_RATES = ("velocity", "acceleration", "jerk")
#: Largest derivatives of the quintic from 0 to 1 in one second.
QUINTIC_PEAK_RATES = np.array([15.0 / 8.0, 10.0 / np.sqrt(3.0), 60.0])
#: Least share of the way that is travelled at constant speed.
LEAST_CRUISE_SHARE = 0.5
Allowed = Callable[[Array], NDArray[np.bool_]]  # positions (N, n) ↦ which of them (N,) may be taken


def quick_move(robot: Robot, start: ArrayLike, end: ArrayLike, pace: float = 1.0) -> Curve:
    """One quintic, in the shortest time t the limits allow divided by the pace ≤ 1: over a way A from rest to rest
    |q̇| reaches 15/8 A/t, |q̈| 10/√3 A/t², the jerk 60 A/t³."""
    states = np.stack([_posture(robot, start), _posture(robot, end)])
    way, still = np.abs(states[1] - states[0]), np.zeros_like(states)
    order = np.arange(1, 4)[:, None]
    limits = np.stack([robot.limit(name) for name in LIMITED_RATES])
    width = float(((QUINTIC_PEAK_RATES[:, None] * way / limits) ** (1.0 / order)).max()) / pace
    return Curve((PolynomialPiece.from_samples([0.0, width], states, still, still),))


def cruising_move(robot: Robot, start: ArrayLike, end: ArrayLike, pace: float = 1.0) -> Curve:
    """Ramp up, constant speed over at least half of the way, ramp down. Speed: ``pace`` times the fastest one.

    On the ramps the velocity is a cubic of time that ends without acceleration, q̇ = v (3 x² − 2 x³). They last as long
    at every pace, so that slow moves are gentle.
    """
    a, b = _posture(robot, start), _posture(robot, end)
    way = b - a
    with np.errstate(divide="ignore"):
        velocity, acceleration, jerk = (float((robot.limit(name) / np.abs(way)).min()) for name in LIMITED_RATES)
    fastest = min(velocity, fastest_cruise(acceleration, jerk))
    ramp = max(1.5 * fastest / acceleration, float(np.sqrt(6.0 * fastest / jerk)))  # peaks: 1.5 v/t and 6 v/t²
    speed = pace * fastest
    knots = np.cumsum([0.0, ramp, 1.0 / speed - ramp, ramp])
    path = np.array([0.0, 0.5 * speed * ramp, 1.0 - 0.5 * speed * ramp, 1.0])
    rates = np.array([0.0, speed, speed, 0.0])
    states = np.stack([path, rates, np.zeros(4)])[:, None]
    share = hermite(np.diff(knots), states[..., :-1], states[..., 1:])  # (1, 3, 6) of the way
    share[0, 1, 2:] = 0.0  # no rounding where the speed is constant
    coefficients = way[:, None, None] * share
    coefficients[:, :, 0] += a[:, None]
    return Curve((PolynomialPiece(knots, coefficients),))


def fastest_cruise(acceleration: float, jerk: float) -> float:
    """Speed (in ways per second) at which both ramps together take the share of the way that is not cruised."""
    ramps = 1.0 - LEAST_CRUISE_SHARE  # speed · ramp time
    return min(float(np.sqrt(ramps * acceleration / 1.5)), float((ramps**2 * jerk / 6.0) ** (1.0 / 3.0)))


def rest(posture: ArrayLike, duration: float) -> Curve:
    """Standing still."""
    q = np.asarray(posture, dtype=float)
    return Curve((PolynomialPiece(np.array([0.0, duration]), q[:, None, None]),))


def chained(parts: list[Curve]) -> Curve:
    """One after the other, from time 0; each must start in the state in which the one before ends."""
    pieces: list[CurvePiece] = []
    at = 0.0
    for part in parts:
        pieces += part.shifted(at - part.start).pieces
        at += part.duration
    return Curve(tuple(pieces)).continuous()


def to_and_fro(there: Curve, back: Curve, times: int) -> Curve:
    """There and back again, several times: a periodic motion between two points."""
    return chained([there, back]).repeated(times)


def _posture(robot: Robot, q: ArrayLike) -> Array:
    """(n,) within the position limits."""
    return check_posture(robot, np.asarray(q, dtype=float), robot.limit("lower"), robot.limit("upper"))


@dataclass(frozen=True)
class Cruise:
    """From start to end [s] the joint moves at ``speed`` [rad/s or m/s], signed, and no other joint moves."""

    joint: str
    speed: float
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class FrictionMotion:
    """One motion from rest to rest, and the stretches of constant velocity in it."""

    curve: Curve
    cruises: tuple[Cruise, ...]


@dataclass(frozen=True)
class ConstantVelocityMoves:
    """paces: shares of the fastest speed that leaves half of the way at constant velocity; travel: share of the joint's
    range that is used, about its middle; posture (n,): where the other joints wait, the middle unless given."""

    paces: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1.0)
    travel: float = 0.8
    posture: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("paces", "posture"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, tuple(float(x) for x in given))
        if not self.paces or not all(0 < pace <= 1 for pace in self.paces) or not 0 < self.travel <= 1:
            raise ExciterError(f"paces and travel are shares between 0 and 1, not {self.paces} and {self.travel}")


def constant_velocity(robot: Robot, settings: ConstantVelocityMoves | None = None) -> FrictionMotion:
    """Every joint in turn, every pace, both directions."""
    settings = settings or ConstantVelocityMoves()
    lower, upper = robot.position_range()
    middle, half = 0.5 * (lower + upper), 0.5 * settings.travel * (upper - lower)
    home = middle if settings.posture is None else np.array(settings.posture)
    parts: list[Curve] = []
    cruises: list[Cruise] = []
    at = home
    for j, joint in enumerate(robot.joints):
        low, high = home.copy(), home.copy()
        low[j], high[j] = middle[j] - half[j], middle[j] + half[j]
        parts += _approach(robot, at, low)
        for pace in settings.paces:
            for start, end in ((low, high), (high, low)):
                before = sum(part.duration for part in parts)
                move = cruising_move(robot, start, end, pace)
                begin, finish = (float(knot) for knot in move.knots[1:3])
                speed = float(move.motion([0.5 * (begin + finish)]).qd[0, j])
                cruises.append(Cruise(joint=joint.name, speed=speed, start=before + begin, end=before + finish))
                parts.append(move)
        at = low
    parts += _approach(robot, at, home)
    return FrictionMotion(chained(parts), tuple(cruises))


def _approach(robot: Robot, start: ArrayLike, end: ArrayLike) -> list[Curve]:
    return [] if np.array_equal(start, end) else [quick_move(robot, start, end)]


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
    the same for the best random candidates, before they were moved; predicted_std (b,) of the parameters."""

    q: Array
    parameters: tuple[str, ...]
    log_det: float
    selected: float
    condition_number: float
    condition_number_normalized: float
    predicted_std: Array

    def tour(self, robot: Robot, dwell: float = 1.0) -> Curve:
        """A motion that stands still ``dwell`` [s] in every pose, the nearest next; joint limits hold on the way,
        collisions on the way are not looked at."""
        left = list(range(1, len(self.q)))
        parts, at = [rest(self.q[0], dwell)], 0
        scale = robot.limit("velocity")
        while left:
            nearest = min(left, key=lambda k: float((np.abs(self.q[k] - self.q[at]) / scale).max()))
            if not np.array_equal(self.q[nearest], self.q[at]):
                parts.append(quick_move(robot, self.q[at], self.q[nearest]))
            parts.append(rest(self.q[nearest], dwell))
            left.remove(nearest)
            at = nearest
        return chained(parts)


def static_poses(
    model: DynamicModel,
    search: PoseSearch | None = None,
    *,
    noise: ArrayLike | None = None,
    allowed: Allowed | None = None,
) -> StaticPoses:
    """D-optimal poses for the static base parameters; noise σ (n,) [N·m], one unless given.

    allowed: which positions may be taken at all (workspace, collisions), beyond the position limits.
    """
    search = search or PoseSearch()
    base = static_base(model)
    if not len(base):
        raise ExciterError(f"no weight acts on the joints of robot '{model.robot.name}'; static poses tell nothing")
    weights = model.per_joint(1.0 if noise is None else noise, "noise") ** -2.0
    objective = DesignObjective(model, DOptimality(), DesignColumns.of(model, base.independent), weights)
    count = search.poses or max(2, -(-2 * len(base) // model.n))
    candidates = _candidates(model.robot, search, allowed, count)
    rows = model.regressor(Motion.at(candidates))[:, :, base.independent] * np.sqrt(weights)[:, None]
    q = candidates[select(rows, count)]
    selected = objective.value(Motion.at(q))
    if not np.isfinite(selected):
        raise ExciterError(
            f"{count} poses do not determine the {len(base)} static parameters ({', '.join(base.names)}); "
            "give more poses, or allow more of the workspace"
        )
    q = _polished(objective, q, search.iterations, allowed)
    figures = evaluate(model, Motion.at(q), weights, base.independent)
    return StaticPoses(
        q=q,
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
    solution = minimize(function, q.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    moved = np.clip(solution.x.reshape(q.shape), lower, upper)
    if allowed is not None:
        for halvings in range(13):
            refused = ~np.asarray(allowed(moved), dtype=bool)
            moved[refused] = 0.5 * (q + moved)[refused] if halvings < 12 else q[refused]
    return moved if function(moved.ravel())[0] < function(q.ravel())[0] else q
