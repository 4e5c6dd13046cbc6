"""A population: robots of one type, each known with an error of its own, and how far each lies from the others.

    x̂_i = μ + u_i + e_i,   u_i ~ N(0, T) between robots,   e_i ~ N(0, C_i) of the identification

μ (d,) and T (d, d) maximise the restricted likelihood (EM). Some of the robots may be of no type at all: the first μ
and T are those of a part that lies close together (concentration steps, as of the minimum covariance determinant), then
of all but those that are far off, until these stay the same.

Each robot is compared with the others, itself left out: D² = rᵀ S⁻¹ r, r = x̂_i − μ_(i), S = T_(i) + C_i + var μ_(i).
T is known from m = (others − 1) differences: where all C_i are equal D² (m − d + 1)/(m d) has the F(d, m − d + 1)
distribution of Hotelling, whatever T is; directions in which robots do not differ beyond C_i, which is known, take no
freedom. With fewer robots than three for every parameter T is taken parameter by parameter, and p is that of the
parameter that is farthest off, times d (Bonferroni), which holds however parameters go together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

from exciter.errors import ExciterError
from exciter.typing import Array, BoolArray

FEWEST_ROBOTS = 5  #: of a population: with fewer, nobody can be told from the others
ROBOTS_PER_PARAMETER = 3  #: fewer do not tell how parameters go together
FAR_LEVEL = 0.05  #: chance that any healthy robot counts as far off, and is left out of μ and T
MOST_REFITS, MOST_EM_STEPS = 10, 200
UNEQUAL = 4.0  #: traces of C_i, the largest over the smallest, from which on moments are not trusted
EM_TOLERANCE = 1e-4  #: of T, relative to T + C
MOST_FAR = 0.2  #: of the robots, that may be far off
LEAST_VARIANCE = 1e-12  #: relative to the scale of a parameter
LEAST_FREEDOM = 1.0  #: of T, beyond its size
KNOWN_FREEDOM = 3.0  #: times as much where robots do not differ beyond C: that they do not is an estimate, too
SEEN_SPREAD = 1e-3  #: variance between robots over that of errors: less is none
START_SHARE = 0.75  #: of the robots, from which the type is taken at first
CALIBRATED_SHARES = (0.5, 0.8)  #: of the robots, whose distances are to be as they should
PER_ROBOT = ("values", "covariances", "kept", "off", "predicted", "freedom", "compared")
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, eq=False)
class TypePopulation:
    """values (N, d), covariances (N, d, d) as they were given. kept (N,): who counts for the type. mean (d,) and spread
    (d, d): μ and T. off (N, d): each robot less the mean of the others; predicted (N, d, d): S of that, inflated for T
    that is estimated; freedom (N,): of S; compared (N,): m, the freedom of T. whole: whether T is a full matrix."""

    values: Array
    covariances: Array
    kept: BoolArray
    mean: Array
    spread: Array
    off: Array
    predicted: Array
    freedom: Array
    compared: Array
    whole: bool

    @property
    def size(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def z(self) -> Array:
        """(N, d) how many standard deviations of its prediction each parameter is off."""
        found: Array = self.off / np.sqrt(np.diagonal(self.predicted, axis1=1, axis2=2))
        return found

    @cached_property
    def squares(self) -> Array:
        """(N,) D²."""
        found: Array = np.einsum("ni,ni->n", self.off, np.linalg.solve(self.predicted, self.off[..., None])[..., 0])
        return found

    @cached_property
    def p_values(self) -> Array:
        """(N,) of a robot of the type to be so far off."""
        if self.whole:
            return np.asarray(stats.f.sf(self.squares / self.size, self.size, self.freedom))
        each = 2.0 * stats.t.sf(np.abs(self.z), self.freedom[:, None])
        return np.asarray(np.minimum(1.0, self.size * each.min(axis=1)))

    def only(self, k: int) -> TypePopulation:
        """Robot k alone, beside the same others."""
        own = {name: value[k : k + 1] for name, value in vars(self).items() if name in PER_ROBOT}
        return replace(self, **own)

    def along(self, directions: Array) -> Along:
        """The part of each difference that lies in a subspace, directions (d, r) or one direction (d,)."""
        columns = directions[:, None] if directions.ndim == 1 else directions
        left, values, _ = np.linalg.svd(columns, full_matrices=False)
        basis = left[:, values > 1e-9 * values[0]]
        weighted = np.linalg.solve(self.predicted, np.broadcast_to(basis, (len(self.off), *basis.shape)))
        information = basis.T @ weighted
        pull = np.einsum("ndr,nd->nr", weighted, self.off)
        amount = np.linalg.solve(information, pull[..., None])[..., 0]
        square = np.einsum("nr,nr->n", amount, pull)
        # Rao: what is beside the subspace, and T of few robots, make the part within it less sure
        rest = np.maximum(self.squares - square, 0.0)
        r, m = basis.shape[1], np.maximum(self.freedom, 1.0) + self.size - 1.0
        p = stats.f.sf(square / r / (1.0 + rest / m), r, self.freedom)
        return Along(amount=amount @ basis.T, squares=square, rest=rest, p_values=np.asarray(p), rank=r)


@dataclass(frozen=True, eq=False)
class Along:
    """amount (N, d): the likeliest difference within the subspace; squares (N,): how much of D² it explains, rest: how
    much is left; p_values (N,): of none; rank: of the subspace."""

    amount: Array
    squares: Array
    rest: Array
    p_values: Array
    rank: int


def population(values: Array, covariances: Array) -> TypePopulation:
    """values (N, d) with covariances (N, d, d) of their errors."""
    count, size = values.shape
    if count < FEWEST_ROBOTS:
        raise ExciterError(f"{count} robots are too few to tell who differs; give at least {FEWEST_ROBOTS}")
    centre = np.median(values, axis=0)
    deviation = MAD_TO_SIGMA * np.median(np.abs(values - centre), axis=0)
    typical = np.sqrt(np.median(np.diagonal(covariances, axis1=1, axis2=2), axis=0))
    scale = np.hypot(deviation, typical)
    scale = np.where(scale > 0.0, scale, np.maximum(np.abs(centre), 1.0) * LEAST_VARIANCE)
    x, c = (values - centre) / scale, covariances / np.outer(scale, scale)
    whole = count >= ROBOTS_PER_PARAMETER * size
    kept = _start(x, c, whole)
    for refit in range(MOST_REFITS):
        fitted = _Fit.of(x[kept], c[kept], whole)
        found = _compared(x, c, kept, fitted, whole)
        calibration = _calibration(found, 1.0 if refit else 0.0)
        found = _widened(found, calibration)
        before, kept = kept, found.p_values > FAR_LEVEL / count
        if kept.sum() < count - int(MOST_FAR * count):
            kept = before
        if refit and (kept == before).all():
            break
    else:
        fitted = _Fit.of(x[kept], c[kept], whole)
        found = _compared(x, c, kept, fitted, whole)
        found = _widened(found, _calibration(found))
    outer = np.outer(scale, scale)
    return TypePopulation(
        values=values,
        covariances=covariances,
        kept=kept,
        mean=centre + scale * found.mean,
        spread=outer * found.spread,
        off=scale * found.off,
        predicted=outer * found.predicted,
        freedom=found.freedom,
        compared=found.compared,
        whole=whole,
    )


def _start(x: Array, c: Array, whole: bool) -> BoolArray:
    """Robots that lie close together: at first by their worst parameter, then by distance from these."""
    count = len(x)
    wanted = max(int(START_SHARE * count), count // 2 + 1)
    worst = np.abs(x / np.sqrt(1.0 + np.diagonal(c, axis1=1, axis2=2))).max(axis=1)
    kept = _nearest(worst, wanted)
    for _ in range(MOST_REFITS):
        fitted = _Fit.of(x[kept], c[kept], whole, steps=5)
        off = x - fitted.mean
        s = fitted.spread + c
        square = np.einsum("ni,ni->n", off, np.linalg.solve(s, off[..., None])[..., 0])
        before, kept = kept, _nearest(square, wanted)
        if (kept == before).all():
            break
    return kept


def _nearest(distance: Array, wanted: int) -> BoolArray:
    kept = np.zeros(len(distance), dtype=np.bool_)
    kept[np.argsort(distance, kind="stable")[:wanted]] = True
    return kept


@dataclass(frozen=True, eq=False)
class _Fit:
    """μ and T of n robots; weights (n, d, d): W_i = (T + C_i)⁻¹; weighted (n, d): W_i x̂_i."""

    mean: Array
    spread: Array
    weights: Array
    weighted: Array
    likelihood: float

    @classmethod
    def of(cls, x: Array, c: Array, whole: bool, steps: int = MOST_EM_STEPS) -> _Fit:
        """EM from the moments, which are the answer where all C_i are equal. Where these are not, moments may find no
        spread, from which EM hardly comes away: then from the whole scatter, too, and the likelier of both."""
        observed, size = np.atleast_2d(np.cov(x.T)), np.trace(c, axis1=1, axis2=2)
        starts = [_moments(observed, _typical(c), whole)]
        if size.max() > UNEQUAL * size.min():
            starts.append(observed if whole else _diagonals(observed))
        return max((cls._from(start, x, c, whole, steps) for start in starts), key=lambda one: one.likelihood)

    @classmethod
    def _from(cls, spread: Array, x: Array, c: Array, whole: bool, steps: int) -> _Fit:
        """EM; likelihood: the restricted one, its logarithm but for a constant."""
        d = x.shape[1]
        typical, floor = _typical(c), LEAST_VARIANCE * np.eye(d)
        for _ in range(steps):
            weights = np.asarray(np.linalg.inv(spread + floor + c), dtype=np.float64)
            information = weights.sum(axis=0)
            total = np.linalg.inv(information)
            weighted = np.einsum("nij,nj->ni", weights, x)
            mean = total @ weighted.sum(axis=0)
            off = x - mean
            square = np.einsum("ni,nij,nj->", off, weights, off)
            volume = np.linalg.slogdet(weights)[1].sum() - np.linalg.slogdet(information)[1]
            pull = np.einsum("nij,nj->ni", weights, off) @ spread
            tw = spread @ weights
            parts = pull[:, :, None] * pull[:, None, :] + spread - tw @ spread + tw @ total @ tw.swapaxes(1, 2)
            new = _symmetric(parts.mean(axis=0))
            if not whole:
                new = np.diag(np.diag(new))
            change = np.abs(new - spread).max() / (np.diag(new).max() + np.diag(typical).max() + LEAST_VARIANCE)
            spread = new
            if change < EM_TOLERANCE:
                break
        likelihood = 0.5 * float(volume - square)
        return cls(mean=mean, spread=spread, weights=weights, weighted=weighted, likelihood=likelihood)


def _typical(c: Array) -> Array:
    """C of the robot in the middle: one whose log tells hardly anything must not stand for all, as in their mean."""
    return np.asarray(c[np.argsort(np.trace(c, axis1=1, axis2=2), kind="stable")[len(c) // 2]])


def _moments(observed: Array, typical: Array, whole: bool) -> Array:
    """T = S − C where that is positive; S: of the values."""
    if not whole:
        return np.asarray(np.diag(np.maximum(np.diag(observed) - np.diag(typical), 0.0)))
    values, vectors = np.linalg.eigh(observed)
    root = vectors * np.sqrt(np.maximum(values, LEAST_VARIANCE * max(float(values[-1]), 1.0)))
    inverse = np.linalg.inv(root)
    share, turn = np.linalg.eigh(_symmetric(inverse @ typical @ inverse.T))
    half = root @ turn * np.sqrt(np.maximum(1.0 - share, 0.0))
    return np.asarray(half @ half.T)


def _compared(x: Array, c: Array, kept: BoolArray, fitted: _Fit, whole: bool) -> TypePopulation:
    """Every robot beside the others; those that count for μ and T are left out of them."""
    count, d = x.shape
    total = fitted.weights.sum(axis=0)
    information, side = np.broadcast_to(total, (count, d, d)).copy(), np.zeros((count, d))
    side += fitted.weighted.sum(axis=0)
    information[kept] -= fitted.weights
    side[kept] -= fitted.weighted
    uncertain = np.linalg.inv(information)
    off = x - np.einsum("nij,nj->ni", uncertain, side)
    spread = np.broadcast_to(fitted.spread, (count, d, d)).copy()
    spread[kept] = _without_each(x[kept], c[kept], fitted, whole)
    typical = _typical(c[kept]) + LEAST_VARIANCE * np.eye(d)
    # errors of T over S of a robot: those with small C know T best, and need it best
    weight = np.trace(np.linalg.solve(fitted.spread + c + LEAST_VARIANCE * np.eye(d), fitted.spread + typical),
                      axis1=1, axis2=2)  # fmt: skip
    others = np.minimum((weight[kept] ** 2).sum() / weight**2, kept.sum())
    m = np.maximum(others - 1.0 - kept, LEAST_FREEDOM + d * whole)
    lower = np.linalg.cholesky(typical)
    inverse = np.linalg.inv(lower)
    values, vectors = np.linalg.eigh(_symmetric(inverse @ fitted.spread @ inverse.T))
    seen = values > SEEN_SPREAD
    k = int(seen.sum())
    if not whole or not k:
        near: Array = spread + c + uncertain
        varies = (np.diag(fitted.spread) > SEEN_SPREAD * np.diag(typical)).any()
        freedom: Array = m if varies else m * KNOWN_FREEDOM
        return TypePopulation(x, c, kept, fitted.mean, fitted.spread, off, near, freedom, m, whole)
    # T is estimated as the scatter less C, and errs as the scatter does: that counts, not T alone
    onto = lower @ vectors[:, seen] @ vectors[:, seen].T @ inverse
    scatter = onto @ (spread + c + uncertain) @ onto.T
    predicted: Array = spread + c + uncertain + ((k - 1.0) / (m - k + 1.0))[:, None, None] * scatter
    freedom = m - k + 1.0
    return TypePopulation(x, c, kept, fitted.mean, fitted.spread, off, predicted, freedom, m, whole)


def _without_each(x: Array, c: Array, fitted: _Fit, whole: bool) -> Array:
    """(n, d, d) T of the others: one step of the score Σ W (r rᵀ − S) W = 0; exact where all C_i are equal."""
    n = len(x)
    off = x - fitted.mean
    back = np.linalg.inv(fitted.weights.mean(axis=0)) @ fitted.weights
    own = n / (n - 1.0) * off[:, :, None] * off[:, None, :] - fitted.spread - c
    found = _symmetric(fitted.spread - back @ own @ back.swapaxes(1, 2) / (n - 2.0))
    if not whole:
        return np.maximum(_diagonals(found), 0.0)
    values, vectors = np.linalg.eigh(found)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.swapaxes(1, 2))


def _calibration(found: TypePopulation, least: float = 1.0) -> float:
    """What S lacks: distances over what they should be, in the middle and towards the far end, of which the few that
    differ are no part. Never below ``least``: of a part that lies close together T is too small at first."""
    freedom, ratios = np.median(found.freedom), []
    for wanted in CALIBRATED_SHARES:
        # of one robot, not between two: the farther one may be of those that differ
        at = int(wanted * (len(found.off) - 1))
        share = (at + 0.5) / len(found.off)
        if found.whole:
            seen = np.sort(found.squares)[at] / found.size
            ratios.append(seen / stats.f.ppf(share, found.size, freedom))
        else:
            seen = np.median(np.sort(found.z**2, axis=0)[at])
            ratios.append(seen / stats.f.ppf(share, 1.0, freedom))
    return float(max(*ratios, least, LEAST_VARIANCE))


def _widened(found: TypePopulation, factor: float) -> TypePopulation:
    return replace(found, predicted=factor * found.predicted)


def _diagonals(matrices: Array) -> Array:
    return matrices * np.eye(matrices.shape[-1])


def _symmetric(x: Array) -> Array:
    return np.asarray(0.5 * (x + np.swapaxes(x, -1, -2)))
