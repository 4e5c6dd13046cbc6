"""How residuals of neighbouring instants and of joints are alike, in one pass over the rows, in constant memory.

Equations are gone through once more: in order of time, without gaps. The weighted linear least-squares fit is
recognised from its estimate: which weights, which parameters free.

How far correlation reaches, with which weights lags are summed so that no variance becomes negative, and whether
residuals are white: what noise alone leaves; anything else is a filter, or a model that misses something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Protocol

import numpy as np
import scipy
from scipy import linalg

from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.resample import peeked, segments
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.information.rows_of_run import RowsOfRun
from exciter.typing import Array, Index

MOST_CORRELATION_LAGS = 2048  #: lags that are looked at; errors that are alike for longer are said to be so
ROWS_PER_LAG = 8  #: and at most so many of the rows
TAPER_FADING_RATIO = 6  #: times the lag where correlation has faded, that the taper reaches at least
FADED_STANDARD_ERRORS = 3.0  #: standard errors within which a correlation counts as faded
FADED_EXTRA_LAGS = 5  #: lags, and as many again as before, for which it must stay faded
LASTING_CORRELATION = 0.3  #: a correlation this large, in the second half of the lags looked at, has not faded
COLUMN_PROBES = 16  # random combinations that stand for all columns; fewer columns than this stand for themselves
FEW_PROBES_ROWS = 100_000  # rows of a joint, from which on two are enough: they average over more frequencies
LEAST_POWER_SHARE = 0.1  # of the noise's power: that much is always taken as left by the fit
ERROR_GAP_INTERVALS = 1.5  #: intervals between samples, beyond which errors have nothing to do with each other
SAME_ESTIMATE_SIGMAS = 0.01  # σ: an estimate this close to that of least squares is the one of least squares
ESTIMATE_ROUNDING_FRACTION = 1e-9  # of the parameters over their σ: the same for data without noise
Sums = tuple[Array, Array, Array, Array]
RatedSums = tuple[tuple[float, Sums], ...]  #: by the rate of the rows [Hz]
WHITENESS_TEST_LAGS = 20  # that the test looks at
WHITENESS_TEST_LEVEL = 0.01  # of the test
SLOW_BAND_SHARE = 0.1  # of the band: the share of power there is reported
COLOURED_POWER_RATIO = 1.5  # times the power of white residuals: a part of the band with more has too much


class LinearEquations(Protocol):
    """W χ = y of J ``joints`` for p parameters ``names``: a ``Problem``, or one with further columns."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def joints(self) -> tuple[str, ...]: ...

    @property
    def compressed(self) -> Compressed: ...

    def rows(self) -> Iterator[tuple[int, Rows]]: ...


def stretches(
    equations: Iterable[tuple[int, Rows]], block: float = 0.0, combinations: Array | None = None
) -> Iterator[tuple[float, Iterator[Rows]]]:
    """(rate [Hz], rows piece by piece) of every stretch without a gap, of (run, rows); a run is at least one. A stretch
    is gone when the next one is asked for.

    block [s]: rows within so much time are put together to one, see ``blocked``; rate is then that of the blocks.
    combinations (m, p + 1): of columns of W and y, in their place; the last is y."""
    for _, numbered in groupby(equations, key=itemgetter(0)):
        first, parts = peeked((rows for _, rows in numbered), 1)
        if first is not None:
            size = max(1, int(block * first.rate + 1e-9))
            for segment in segments(parts, ERROR_GAP_INTERVALS / first.rate):
                chosen = segment if combinations is None else (_combined(rows, combinations) for rows in segment)
                yield first.rate / size, blocked(chosen, size)


def _combined(rows: Rows, combinations: Array) -> Rows:
    sides = combinations @ by_time(rows)
    sides.flags.writeable = False
    return replace(rows, sides=sides.transpose(2, 0, 1), parameters=("combination",) * (len(combinations) - 1))


def blocked(parts: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Sums of ``size`` rows that follow each other, over √size: an orthogonal projection of the equations onto what is
    slow, white errors keeping their σ. An end shorter than a block is left out."""
    if size == 1:
        yield from parts
        return
    rest: list[Rows] = []
    for part in parts:
        rows = Rows.join([*rest, part])
        whole = len(rows) // size * size
        rest = [rows[whole:]] if whole < len(rows) else []
        if whole:
            sides, time = by_time(rows)[..., :whole], rows.time[:whole].reshape(-1, size).mean(axis=1)
            sums = sides.reshape(*sides.shape[:2], -1, size).sum(axis=3) / np.sqrt(size)
            sums.flags.writeable = False
            yield replace(rows, time=time, sides=sums.transpose(2, 0, 1), rate=rows.rate / size)


def by_time(rows: Rows) -> Array:
    """(J, p + 1, N) W and y, time last as it is in memory."""
    return rows.sides.transpose(1, 2, 0)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """values (p,), of which only ``free`` were estimated, with rows divided by weights (J,). inverse_root (f, f): R⁻¹
    with RᵀR = A, the Gram matrix of the weighted free columns."""

    compressed: Compressed
    values: Array
    weights: Array
    free: Index
    inverse_root: Array

    @classmethod
    def of(cls, compressed: Compressed, values: Array, weights: Array, free: Index) -> LinearFit:
        information = compressed.columns(free).information(weights)
        information.refuse_singular([compressed.parameters[k] for k in free])
        root = linalg.solve_triangular(information.r, np.eye(len(free)))
        return cls(compressed=compressed, values=values, weights=weights, free=free, inverse_root=np.asarray(root))

    @property
    def is_least_squares(self) -> bool:
        """Whether the values are those of least squares with these weights, within a hundredth of σ."""
        compressed = self.compressed
        scaled = compressed.by_piece.over(compressed.per_group(self.weights))
        score = np.zeros(len(self.values))
        for own, block, left in zip(scaled.own, scaled.blocks, scaled.residuals(self.values), strict=True):
            score[own[:-1]] += np.einsum("grc,gr->c", block[..., :-1], left)
        size = float(np.sqrt((compressed.signal / self.weights**2).sum()))
        return bool(
            np.linalg.norm(self.inverse_root.T @ score[self.free])
            <= max(SAME_ESTIMATE_SIGMAS, ESTIMATE_ROUNDING_FRACTION * size)
        )


def linear_fit(equations: LinearEquations, estimate: Estimate) -> LinearFit:
    """Of an estimate that was ordinary or weighted (by its noise) least squares, perhaps of some parameters only.
    Parameters without any variance count as given. Any other estimate is refused: its covariance is another one."""
    compressed = equations.compressed
    if estimate.names != compressed.parameters:
        raise ParameterError("the estimate is of other parameters than the equations")
    free = np.flatnonzero(estimate.covariance.diagonal() > 0.0)
    candidates = [np.asarray(estimate.noise, dtype=float), np.ones(len(compressed.joints))]
    for weights in candidates:
        if weights.shape == (len(compressed.joints),) and (weights > 0.0).all():
            fit = LinearFit.of(compressed, estimate.values, weights, free)
            if fit.is_least_squares:
                return fit
    raise ParameterError(
        "the covariance for correlated errors is that of ordinary or weighted least squares; this estimate is neither: "
        "keep the covariance it came with"
    )


def most_lags(rows: int) -> int:
    """Lags worth looking at in so many rows of a joint."""
    return int(min(MOST_CORRELATION_LAGS, max(rows // ROWS_PER_LAG, 1)))


@dataclass(frozen=True)
class Fading:
    """lag: from which on correlation is not seen any more; faded: whether there is none far beyond."""

    lag: int
    faded: bool


def fading(correlation: Array, rows: float) -> Fading:
    """Of autocorrelations (K + 1,), from lag 0, of so many samples.

    The first lag m such that all of m … 2m + 5 are within 3 standard errors √((1 + 2 Σ_{k<m} ρ²)/N) (Bartlett): a
    window that grows, for slow correlations pass through zero slowly. Errors that swing for ever make these standard
    errors large, so the correlation in the second half of the lags is judged by its size."""
    squares = np.cumsum(np.append(0.0, correlation[1:] ** 2))
    small, most = np.abs(correlation), len(correlation) - 1
    faded = most < 2 * FADED_EXTRA_LAGS or bool(small[most // 2 :].max() <= LASTING_CORRELATION)
    for m in range(1, most + 1):
        limit = FADED_STANDARD_ERRORS * np.sqrt((1.0 + 2.0 * squares[m - 1]) / max(rows, 1.0))
        if (small[m : 2 * m + FADED_EXTRA_LAGS + 1] <= limit).all():
            return Fading(m, faded)
    return Fading(most, False)


@dataclass(frozen=True, eq=False)
class Taper:
    """weights (L + 1,) of lags 0 … L; their spectrum is nowhere negative, and so is what they are multiplied with."""

    weights: Array

    @classmethod
    def parzen(cls, lags: int) -> Taper:
        """1 − 6x² + 6x³ up to the middle, 2(1 − x)³ to the end: small lags are hardly touched."""
        x = np.arange(lags + 1) / (lags + 1)
        return cls(np.where(x < 0.5, 1.0 - 6.0 * x**2 * (1.0 - x), 2.0 * (1.0 - x) ** 3))

    @classmethod
    def bartlett(cls, lags: int) -> Taper:
        """1 − x: Newey and West's, a mean over windows."""
        return cls(1.0 - np.arange(lags + 1) / (lags + 1))

    @property
    def lags(self) -> int:
        return len(self.weights) - 1

    def both_sides(self, values: Array) -> float:
        """Σ over lags −L … L of weights · values (L + 1,), the same on both sides."""
        return float(2.0 * (self.weights * values).sum() - self.weights[0] * values[0])

    def freedom(self, rows: Array) -> Array:
        """(J,) degrees of freedom of a spectrum smoothed so, from rows (J,)."""
        return np.asarray(2.0 * rows / self.both_sides(self.weights))


@dataclass(frozen=True, eq=False)
class Correlation:
    """Of residuals at one ``rate`` [Hz], N instants or blocks with ``rows`` (J,) equations of a joint (rest has none).

    covariance (K + 1, J, J): mean of e_j(t) e_l(t − k) over the equations, lags k = 0 … K. leverage (K + 1, J): the sum
    over t of the hat matrix's entries (t, t − k) of a joint: what the fit took from the errors, lag by lag. projection
    (J, J): what unknown forces left of errors over their σ, in the mean over the equations (``Rows.left``); the
    identity unless given.

    What is zero at rest must not make errors look small: sums over two joints are divided by √(N_j N_l). That is exact
    for one joint at lag zero, and near it for lags that are short beside the rests. It is too much for two joints that
    rest at different times (filtered rows do not tell which instants both have), whose common errors look smaller."""

    rate: float
    rows: Array
    covariance: Array
    leverage: Array
    projection: Array | None = None

    @property
    def counted(self) -> Array:
        """(J,) equations that rows are worth."""
        return self.rows if self.projection is None else self.rows * self.projection.diagonal()

    @property
    def autocorrelation(self) -> Array:
        """(K + 1, J)."""
        own = np.einsum("kjj->kj", self.covariance)
        return np.asarray(own / np.maximum(own[0], 1e-300))

    @property
    def fading(self) -> tuple[Fading, ...]:
        return tuple(fading(rho, rows) for rho, rows in zip(self.autocorrelation.T, self.rows, strict=True))

    def inflation(self, taper: Taper) -> Array:
        """(J,) variances of the parameters over those with as large errors that are independent, on average over the
        parameters: Σ_k taper(k) ρ(k) a(k) / a(0), the errors' spectrum where W has its own; and what the fit took."""
        rho, a = self.autocorrelation[: taper.lags + 1], self.leverage[: taper.lags + 1]
        sums = [taper.both_sides(r * b) / max(b[0], 1e-300) for r, b in zip(rho.T, a.T, strict=True)]
        return np.asarray(np.maximum(sums, 0.0) / self.left(taper))

    def lags(self, shape: Callable[[int], Taper]) -> int:
        """To be summed: six times the lag of fading, or more where that changes the inflation by more than chance.

        A small correlation that lasts is not seen at any single lag, and yet adds up. Of lags that double, the first
        is taken with which all longer ones agree within their standard errors √(2/ν) (Lepski)."""
        most = len(self.covariance) - 1
        lags = min(max(TAPER_FADING_RATIO * f.lag for f in self.fading), most)
        choices = [lags]
        while lags < most:
            lags = min(2 * lags, most)
            choices.append(lags)
        tapers = [shape(lags) for lags in choices]
        found = np.array([self.inflation(taper) for taper in tapers])
        error = np.sqrt([2.0 / taper.freedom(np.maximum(self.counted, 1.0)) for taper in tapers])  # (choices, J)
        for k, taper in enumerate(tapers):
            if (np.abs(found[k + 1 :] - found[k]) <= error[k + 1 :] * found[k + 1 :]).all():
                return taper.lags
        return most

    def left(self, taper: Taper) -> Array:
        """(J,) part of the errors' power that the fit left in the residuals, where it counts.

        The fit takes errors that look like columns of W. Of a spectrum smoothed by the taper it takes, on average over
        the frequencies that W has, Σ_k taper(k) a(k)² / (N a(0)) with a: the leverage; N lags of none: a(0)/N, the
        well-known p/N."""
        a = self.leverage[: taper.lags + 1]
        took = [
            taper.both_sides(column**2) / max(column[0] * rows, 1e-300)
            for column, rows in zip(a.T, self.counted, strict=True)
        ]
        return np.asarray(np.maximum(1.0 - np.array(took), LEAST_POWER_SHARE))


def correlations(equations: LinearEquations, fit: LinearFit, block: float = 0.0) -> tuple[Correlation, ...]:
    """Of the residuals of a fit, one for every rate among the rows; block [s]: of blocks of rows, see ``stretches``."""
    combinations = np.vstack([np.pad(_probes(fit), ((0, 0), (0, 1))), np.append(-fit.values, 1.0)])
    most = most_lags(fit.compressed.fewest_instants)
    here, elsewhere = equations.rows, list[RatedSums]()
    if isinstance(equations, Problem) and equations.elsewhere:
        here = partial(equations.rows_of, equations.here)
        elsewhere = [sums for _, sums in equations.summed(sums_of_run, block, combinations, most)]
    found = _correlations((_sums(stretches(here(), block, combinations), most), *elsewhere))
    return tuple(replace(c, leverage=c.leverage / fit.weights**2) for c in found)


def correlations_at(found: Iterable[tuple[float, Iterable[Rows]]], most: int) -> tuple[Correlation, ...]:
    """Of stretches at their rates, y being the residual and W what the leverage is of; lags up to ``most``."""
    return _correlations([_sums(found, most)])


def sums_of_run(rows: RowsOfRun, block: float, combinations: Array, most: int) -> RatedSums:
    """What one run adds."""
    return _sums(stretches(((0, one) for one in rows.rows()), block, combinations), most)


def _sums(found: Iterable[tuple[float, Iterable[Rows]]], most: int) -> RatedSums:
    sums: dict[float, Sums] = {}
    for rate, pieces in found:
        for more in _lagged(pieces, most):
            sums[rate] = _plus(sums.get(rate), more)
    return tuple(sums.items())


def _plus(before: Sums | None, more: Sums) -> Sums:
    if before is None:
        return more
    return before[0] + more[0], before[1] + more[1], before[2] + more[2], before[3] + more[3]


def _correlations(parts: Iterable[RatedSums]) -> tuple[Correlation, ...]:
    sums: dict[float, Sums] = {}
    for rate, more in chain.from_iterable(parts):
        sums[rate] = _plus(sums.get(rate), more)
    return tuple(
        Correlation(
            rate=rate,
            rows=rows,
            covariance=covariance / _pairs(rows),
            leverage=leverage,
            projection=projection / _pairs(rows),
        )
        for rate, (rows, projection, covariance, leverage) in sums.items()
    )


def _pairs(rows: Array) -> Array:
    """(J, J) products of residuals that a mean is over."""
    root = np.sqrt(np.maximum(rows, 1.0))
    return np.asarray(np.outer(root, root))


def _probes(fit: LinearFit) -> Array:
    """(m, p) combinations v of columns with Σ v vᵀ = A⁻¹ on average, A⁻¹ being the inverse Gram matrix."""
    root, p = fit.inverse_root, len(fit.values)
    root = root * np.where(root.diagonal() < 0.0, -1.0, 1.0)  # whatever signs a factorisation chose
    enough = COLUMN_PROBES if fit.compressed.fewest_instants < FEW_PROBES_ROWS else 2
    if root.shape[1] > enough:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (root.shape[1], enough))
        root = root @ signs / np.sqrt(enough)
    probes = np.zeros((root.shape[1], p))
    probes[:, fit.free] = root.T
    return probes


def _lagged(pieces: Iterable[Rows], most: int) -> Iterator[Sums]:
    """Sums over a stretch, in parts: of equations (J,), of their projections (J, J), of products of residuals
    (K + 1, J, J), and of probes (K + 1, J). Pieces are put together until longer than the lags, and multiplied with
    themselves and the lags before."""
    before: Array | None = None
    there, left, held = np.zeros(1), np.zeros((1, 1)), list[Array]()
    for piece in pieces:
        held.append(by_time(piece))
        there, left = there + piece.there, left + piece.projection
        if sum(part.shape[2] for part in held) >= 2 * most:
            sums, before = _products(before, np.concatenate(held, axis=2), most)
            yield there, left, *sums
            there, left, held = np.zeros(1), np.zeros((1, 1)), []
    if held:
        yield there, left, *_products(before, np.concatenate(held, axis=2), most)[0]


def _products(before: Array | None, now: Array, most: int) -> tuple[tuple[Array, Array], Array]:
    """Of (J, m + 1, M), residuals last: sums of ``now`` with itself and before; and what the next one needs of both."""
    whole = now if before is None else np.concatenate([before, now], axis=2)
    size = scipy.fft.next_fast_len(whole.shape[2] + most + 1, real=True)
    earlier = scipy.fft.rfft(whole, size)
    later = earlier if before is None else scipy.fft.rfft(np.pad(now, ((0, 0), (0, 0), (before.shape[2], 0))), size)
    pairs = later[:, None, -1] * earlier[None, :, -1].conj()
    own = (later[:, :-1] * earlier[:, :-1].conj()).sum(axis=1)
    covariance = scipy.fft.irfft(pairs, size)[..., : most + 1].transpose(2, 0, 1)
    leverage = scipy.fft.irfft(own, size)[..., : most + 1].T
    return (covariance, leverage), whole[..., max(0, whole.shape[2] - most) :]


@dataclass(frozen=True)
class Whiteness:
    """Of one joint's residuals. neighbour: correlation of samples that follow each other. p_value: of the test of Ljung
    and Box over 20 lags. fades [s]: after which no correlation is seen, infinite where it is as far as was looked.
    slow: share of the power in the lowest tenth of the band, 0.1 when white. interval [s] between samples."""

    joint: str
    neighbour: float
    p_value: float
    fades: float
    slow: float
    interval: float

    @property
    def white(self) -> bool:
        return self.p_value >= WHITENESS_TEST_LEVEL

    @property
    def sentence(self) -> str:
        if self.white:
            return f"{self.joint}: residuals look like white noise"
        text = f"{self.joint}: residuals {self.interval:.3g} s apart correlate by {self.neighbour:.2f}"
        if np.isfinite(self.fades):
            text += f", gone after {self.fades:.3g} s"
        else:
            text += ", and are alike for as long as was looked at"
        if self.slow > COLOURED_POWER_RATIO * SLOW_BAND_SHARE:
            text += f"; {100 * self.slow:.0f} % of their power is in the lowest tenth of the band: filtered rows, or a "
            text += "model that misses something"
        return text


def whiteness_of(correlated: Iterable[Correlation], joints: Sequence[str]) -> tuple[Whiteness, ...]:
    """Of every joint; of rows at the rate that most of them have."""
    found = max(correlated, key=lambda c: float(c.rows.sum()))
    return tuple(_of_joint(found, j, joint) for j, joint in enumerate(joints))


def _of_joint(found: Correlation, j: int, joint: str) -> Whiteness:
    rho, n = found.autocorrelation[:, j], float(found.rows[j])
    lags = min(WHITENESS_TEST_LAGS, len(rho) - 1, int(n) - 1)
    k = np.arange(1, lags + 1)
    statistic = n * (n + 2.0) * (rho[1 : lags + 1] ** 2 / (n - k)).sum()
    taper = Taper.parzen(len(rho) - 1)
    k = np.arange(1, len(rho))
    slow = (
        SLOW_BAND_SHARE + 2.0 * (taper.weights[1:] * rho[1:] * np.sin(SLOW_BAND_SHARE * np.pi * k) / (np.pi * k)).sum()
    )
    fading = found.fading[j]
    return Whiteness(
        joint=joint,
        neighbour=float(rho[1]),
        p_value=float(scipy.stats.chi2.sf(statistic, lags)) if lags > 0 else 1.0,  # nothing to compare
        fades=fading.lag / found.rate if fading.faded else float("inf"),
        slow=float(np.clip(slow, 0.0, 1.0)),
        interval=1.0 / found.rate,
    )
