"""The covariance of a linear estimate whose errors are correlated in time and between joints.

θ̂ = A⁻¹ Wᵀ Σ⁻¹ y has the covariance A⁻¹ B A⁻¹ with B = Wᵀ Σ⁻¹ C Σ⁻¹ W, whatever the errors' covariance C is. What C is,
is an assumption: one object for each (``StationaryErrors``; ``HeteroscedasticErrors``).

With a prior ‖S β − t‖², β̂ = A⁻¹ (Wᵀ Σ⁻¹ y + Sᵀ t), A = Wᵀ Σ⁻¹ W + Sᵀ S, has the covariance A⁻¹ (B + s² Sᵀ S) A⁻¹: s
is the error of the prior, in units of what its weight says. The weight may have been chosen stronger than the prior is
good, for the sake of prediction; the distance from β̂ to the prior shows it: S β̂ − t has the covariance
S A⁻¹ B A⁻¹ Sᵀ + s² (1 − H)² with H = S A⁻¹ Sᵀ. Or weaker, and s is below one. Errors that are none of the equations'
(noise in W) pull β̂ from the prior as well: they must be known before, or s takes them for its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import scipy
from scipy import linalg

from exciter.errors import ExciterError, ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.resample import OverlappedPiece, overlapped
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.problem import Problem
from exciter.identification.information.rows_of_run import RowsOfRun
from exciter.identification.physical.penalised_fit import PhysicalEstimate
from exciter.identification.stages.stage_weights import StagedEstimate, StagedProblem
from exciter.identification.uncertainty.residual_autocorrelation import (
    Correlation,
    LinearEquations,
    LinearFit,
    Taper,
    by_time,
    correlations,
    linear_fit,
    stretches,
)
from exciter.notes import Note, done, warning
from exciter.settings import Settings, Switch, Whole
from exciter.typing import Array, Index

LONG_LOG_BLOCK_S = 0.01  # s: rows within it are put together where there are many, for W does not change so fast
LONG_LOG_ROWS = 20_000  # rows of a joint that are many
PULLED_ROUNDS = 3  # of how far off priors on links and on terms are, each with the other's
LEAST_KNOWN_SHARE = 0.5  # H (1 − H) of all directions together: so much is known of a weight beforehand
UNINFORMED_SHARE = 1e-6  # 1 − H: there the data say nothing


@dataclass(frozen=True, eq=False)
class Sandwich:
    """covariance (p, p) of the estimate. independent (J,): rows of each joint, in independent ones they are worth for
    these parameters. freedom: degrees of freedom of the variances. reach [s]: the longest lag that was summed.
    faded: whether correlation was gone before."""

    covariance: Array
    independent: Array
    freedom: float
    reach: float
    faded: bool


@dataclass(frozen=True, eq=False)
class CorrelatedResiduals:
    """What is known before B is summed: the fit, blocks [s] of rows, their correlation and the lags to be summed, and
    fast (J,): σ² of what is within blocks."""

    fit: LinearFit
    block: float
    tapered: tuple[tuple[Correlation, Taper], ...]
    fast: Array


@dataclass(frozen=True, eq=False)
class Meat:
    """B (f, f) of the free columns. own: of each joint the columns that its rows have, and the part (c, c) of B that is
    of these rows alone; none where parts of joints are not known."""

    whole: Array
    own: tuple[tuple[Index, Array], ...] = ()


@dataclass(frozen=True)
class CorrelatedErrors(Settings, ABC):
    """What is assumed of errors. lags: samples (blocks of samples, in long logs) after which they have nothing to do
    with each other; None: as the residuals show, see ``Correlation.lags``."""

    refusal: ClassVar[type[ExciterError]] = ParameterError
    lags: Annotated[int | None, Whole(0)] = None

    @property
    @abstractmethod
    def assumptions(self) -> tuple[Note, ...]:
        """That a covariance of such errors rests on."""

    @abstractmethod
    def taper(self, lags: int) -> Taper:
        """Weights of the lags."""

    @abstractmethod
    def meat(self, equations: LinearEquations, residuals: CorrelatedResiduals) -> Meat:
        """B for the free columns; in one pass over the rows."""

    def residuals(self, equations: LinearEquations, fit: LinearFit) -> CorrelatedResiduals:
        """In one pass over the rows."""
        rows = fit.compressed.rows.sum(axis=0)
        block = LONG_LOG_BLOCK_S if fit.compressed.fewest_instants >= LONG_LOG_ROWS else 0.0
        tapered = []
        for c in correlations(equations, fit, block):
            lags = c.lags(self.taper) if self.lags is None else min(self.lags, len(c.covariance) - 1)
            tapered.append((c, self.taper(lags)))
        squares = fit.compressed.squares(fit.values).sum(axis=0)
        slow = sum(c.rows * c.covariance[0].diagonal() for c, _ in tapered)
        within = rows - sum(c.counted for c, _ in tapered)
        fast = np.where(within >= 1.0, np.maximum(squares - slow, 0.0) / np.maximum(within, 1.0), 0.0)
        return CorrelatedResiduals(fit=fit, block=block, tapered=tuple(tapered), fast=fast)


@dataclass(frozen=True)
class StationaryErrors(CorrelatedErrors):
    """Errors whose correlation depends on the time between them alone: estimated from all residuals, so few numbers
    are needed, and the covariance is nearly as sharp as with independent errors.

    across_joints: whether errors of different joints may be correlated, too."""

    word, title = "correlated", "errors that are alike for a while"
    across_joints: Switch = True

    @property
    def assumptions(self) -> tuple[Note, ...]:
        between = " and between joints" if self.across_joints else ", joints having errors of their own"
        return assumed(f"errors are stationary, correlated in time{between} as the residuals are, and W is exact")

    def taper(self, lags: int) -> Taper:
        return Taper.parzen(lags)

    def meat(self, equations: LinearEquations, residuals: CorrelatedResiduals) -> Meat:
        """That of blocks, and what little W, which is slow, has within blocks times errors taken as white."""
        fit = residuals.fit
        kernels = {c.rate: self._kernel(c, taper, fit.weights) for c, taper in residuals.tapered}
        factors, f = fit.compressed.by_piece, len(fit.free)
        columns = tuple(np.flatnonzero(np.isin(fit.free, own[:-1])) for own in factors.own)
        how = MeatSettings(residuals.block, fit.free, columns, tuple(kernels.items()), self.across_joints)
        if isinstance(equations, Problem) and equations.elsewhere:
            parts = [meat_of(equations.rows_of(equations.here), how)]
            parts += [one for _, one in equations.summed(meat_of_run, how)]
        else:
            parts = [meat_of(equations.rows(), how)]
        total, projected = sum((part.total for part in parts), np.zeros((f, f))), any(part.projected for part in parts)
        alone, slow = (
            [sum(one) for one in zip(*some, strict=True)]
            for some in zip(*((p.alone, p.slow) for p in parts), strict=True)
        )
        for j, one in enumerate(alone):
            total[np.ix_(columns[j], columns[j])] += one
        if projected:
            total, alone = self._unprojected(equations, residuals, columns, total, alone)
        for j, variance in enumerate(residuals.fast / fit.weights**4):
            if variance:
                stacked = factors.blocks[j][..., np.isin(factors.own[j], fit.free)].reshape(-1, len(columns[j]))
                within = variance * (stacked.T @ stacked - slow[j])
                alone[j] += within
                total[np.ix_(columns[j], columns[j])] += within
        return Meat(whole=total, own=tuple(zip(columns, alone, strict=True)))

    def _unprojected(
        self,
        equations: LinearEquations,
        residuals: CorrelatedResiduals,
        columns: Sequence[Index],
        total: Array,
        alone: list[Array],
    ) -> tuple[Array, list[Array]]:
        """B where unknown forces were taken off: Π turns with the posture, so that a mean over residuals Π e is less
        than the errors are where W is, which is Π W. How much less is known of white errors of the size of the weights:
        M = Wᵀ S⁻¹ mean(S⁻¹ Π S) S⁻¹ W stands there for A = Wᵀ S⁻² W, of the same rows. With M = L_M L_Mᵀ and
        A = L_A L_Aᵀ, L_A L_M⁻¹ B L_M⁻ᵀ L_Aᵀ has A where B has M."""
        fit, f = residuals.fit, len(residuals.fit.free)
        gram, mean = np.zeros((2, f, f))
        left = {c.rate: c.projection for c, _ in residuals.tapered}
        for rate, parts in stretches(equations.rows(), residuals.block):
            share = left[rate]
            assert share is not None
            share = share if self.across_joints else np.diag(share.diagonal())
            for piece in parts:
                w = by_time(piece)[:, fit.free] / fit.weights[:, None, None]  # (J, f, N)
                flat, turned = w.transpose(1, 0, 2).reshape(f, -1), np.tensordot(share, w, 1)
                gram += flat @ flat.T
                mean += flat @ turned.transpose(1, 0, 2).reshape(f, -1).T
        turn = np.linalg.cholesky(gram) @ np.linalg.inv(np.linalg.cholesky(mean))
        counted, rows = (sum(getattr(c, name) for c, _ in residuals.tapered) for name in ("counted", "rows"))
        of_one = rows / np.maximum(counted, 1e-300)  # of a joint by itself
        return turn @ total @ turn.T, [ratio * one for ratio, one in zip(of_one, alone, strict=True)]

    def _kernel(self, found: Correlation, taper: Taper, weights: Array) -> Array:
        """(J, J, 2L + 1) covariances of e_j(t)/w_j² and e_l(t − k)/w_l², k = −L … L; what the fit took put back."""
        scale = 1.0 / (weights**2 * np.sqrt(found.left(taper)))
        after = found.covariance[: taper.lags + 1] * taper.weights[:, None, None] * np.outer(scale, scale)
        before = after[:0:-1].transpose(0, 2, 1)
        return np.ascontiguousarray(np.concatenate([before, after]).transpose(1, 2, 0))


@dataclass(frozen=True, eq=False)
class MeatSettings:
    """block [s]: of rows that are put together; free (f,): columns that were estimated; columns: of them those that a
    joint has; kernels: of each rate [Hz] (J, J, 2L + 1); across: between joints, too."""

    block: float
    free: Index
    columns: tuple[Index, ...]
    kernels: tuple[tuple[float, Array], ...]
    across: bool


@dataclass(frozen=True, eq=False)
class MeatSums:
    """Of some runs: products between joints (f, f), of each joint by itself, and of its blocks; whether unknown forces
    were taken off."""

    total: Array
    alone: tuple[Array, ...]
    slow: tuple[Array, ...]
    projected: bool


def meat_of_run(rows: RowsOfRun, how: MeatSettings) -> MeatSums:
    """What one run adds."""
    return meat_of(((0, one) for one in rows.rows()), how)


def meat_of(equations: Iterable[tuple[int, Rows]], how: MeatSettings) -> MeatSums:
    f, columns, kernels, projected = len(how.free), how.columns, dict(how.kernels), False
    total, alone, slow = np.zeros((f, f)), *([np.zeros((len(c), len(c))) for c in columns] for _ in range(2))
    for rate, parts in stretches(equations, how.block):
        kernel = kernels[rate]
        for piece in overlapped(parts, kernel.shape[2] // 2 + 1):
            projected = projected or piece.whole.left is not None
            for first, second, block in _products_of_joints(piece, how.free, columns, kernel, how.across):
                if first == second:
                    alone[first] += block
                else:
                    total[np.ix_(columns[first], columns[second])] += block
                    total[np.ix_(columns[second], columns[first])] += block.T
            for one, rows in zip(slow, _inner_rows(piece, how.free, columns), strict=True):
                one += rows @ rows.T
    return MeatSums(total=total, alone=tuple(alone), slow=tuple(slow), projected=projected)


def _inner_rows(piece: OverlappedPiece[Rows], free: Index, columns: Sequence[Index]) -> list[Array]:
    """W_jᵀ of the inner rows of a piece."""
    sides = by_time(piece.whole)
    return [np.ascontiguousarray(w[free[c], piece.inner]) for w, c in zip(sides, columns, strict=True)]


def _products_of_joints(
    piece: OverlappedPiece[Rows], free: Index, columns: Sequence[Index], kernel: Array, across: bool
) -> Iterator[tuple[int, int, Array]]:
    """j ≤ l and W_jᵀ (c_jl * W_l) for the inner rows of a piece."""
    sides, reach, inner = by_time(piece.whole), kernel.shape[2] // 2, _inner_rows(piece, free, columns)
    size = scipy.fft.next_fast_len(sides.shape[2] + reach, real=True)
    for second, own in enumerate(columns):
        wrapped = np.zeros((len(kernel), size))  # the middle of the kernel is lag zero
        wrapped[:, : reach + 1] = kernel[:, second, reach:]
        if reach:
            wrapped[:, -reach:] = kernel[:, second, :reach]
        response = scipy.fft.rfft(wrapped)  # (J, F)
        spectrum = scipy.fft.rfft(sides[second, free[own]], size)
        for first in range(second + 1) if across else (second,):
            alike = scipy.fft.irfft(spectrum * response[first], size)[:, piece.inner]
            yield first, second, inner[first] @ alike.T


def sandwich(equations: LinearEquations, fit: LinearFit, errors: CorrelatedErrors) -> Sandwich:
    """A⁻¹ B A⁻¹, in two passes over the rows: residuals, then B."""
    residuals = errors.residuals(equations, fit)
    meat = errors.meat(equations, residuals)
    root = fit.inverse_root
    half = root.T @ meat.whole @ root
    covariance = np.zeros((len(fit.values), len(fit.values)))
    covariance[np.ix_(fit.free, fit.free)] = root @ (0.5 * (half + half.T)) @ root.T
    freedoms = np.sum([taper.freedom(c.counted) * c.left(taper) for c, taper in residuals.tapered], axis=0)
    freedom = _freedom(fit, meat, np.clip(freedoms, 1.0, np.maximum(fit.compressed.rows.sum(axis=0), 1.0)))
    reach = max(taper.lags / c.rate for c, taper in residuals.tapered)
    faded = all(f.faded for c, _ in residuals.tapered for f in c.fading)
    return Sandwich(
        covariance=covariance,
        independent=_worth(fit, meat),
        freedom=freedom,
        reach=reach,
        faded=faded,
    )


def _freedom(fit: LinearFit, meat: Meat, freedoms: Array) -> float:
    """Of the parameter that is worst off: each joint's variance has ``freedoms`` (J,) of its own, and what a parameter
    has of several is known as their sum is (Satterthwaite 1946)."""
    known = fit.compressed.rows.any(axis=0)
    if not meat.own:
        return float(freedoms[known].min())
    root, parts = fit.inverse_root, list[Array]()
    inverse = root @ root.T
    for columns, own in meat.own:
        parts.append(np.einsum("ic,cd,id->i", inverse[:, columns], own, inverse[:, columns]))
    shares = np.maximum(np.array(parts), 0.0)[known]  # (J, f)
    sums, squares = shares.sum(axis=0), (shares**2 / freedoms[known][:, None]).sum(axis=0)
    some = squares > 0.0
    return float((sums[some] ** 2 / squares[some]).min()) if some.any() else float(freedoms[known].min())


def _worth(fit: LinearFit, meat: Meat) -> Array:
    """(J,) rows times how much smaller the variances of these parameters would be with errors that are independent."""
    root, compressed = fit.inverse_root, fit.compressed
    every = np.zeros((len(fit.values), root.shape[1]))
    every[fit.free] = root
    scaled = compressed.by_piece.over(compressed.per_group(fit.weights)).times(every)
    hat = np.array([(one**2).sum() for one in scaled])  # per joint: trace of A⁻¹ Wⱼᵀ Wⱼ / wⱼ²
    rows = compressed.rows.sum(axis=0)
    variance = compressed.squares(fit.values).sum(axis=0) / np.maximum(rows - hat, 1.0)
    white = hat * variance / fit.weights**2
    spread = np.array([((b @ root[c]) * root[c]).sum() for c, b in meat.own])
    if not meat.own:  # not known by joints
        white, spread = np.asarray(white.sum()), np.array([((meat.whole @ root) * root).sum()])
    return np.asarray(rows * np.where(spread > 0.0, white / np.maximum(spread, 1e-300), 1.0))


def with_correlated_errors(
    equations: LinearEquations, estimate: Estimate, errors: CorrelatedErrors | None = None
) -> Estimate:
    """The same values with a covariance that holds where errors are alike: rows that were filtered, or taken more often
    than they change; a model that leaves something out. ``StationaryErrors`` unless given. For estimates of ordinary or
    weighted least squares, with all or some of the parameters free."""
    errors = StationaryErrors() if errors is None else errors
    found = sandwich(equations, linear_fit(equations, estimate), errors)
    rows = equations.compressed.rows.sum(axis=0)
    worth = "; ".join(
        f"{joint}: {have} rows are worth {least:.0f} independent ones"
        for joint, have, least in zip(equations.joints, rows, np.minimum(found.independent, rows), strict=True)
        if have
    )
    notes = [done("covariance", f"covariance with lags up to {found.reach:.3g} s; {worth}")]
    if not found.faded:
        text = (
            f"residuals are still alike after {found.reach:.3g} s: the model leaves something out, and intervals cover "
            "what it costs only in part"
        )
        notes.append(warning("residuals", text))
    return replace(
        estimate,
        covariance=found.covariance,
        freedom=found.freedom,
        assumptions=errors.assumptions,
        notes=(*estimate.notes, *notes),
    )


@dataclass(frozen=True)
class HeteroscedasticErrors(CorrelatedErrors):
    """Errors of any size at any time, alike within ``lags`` samples at most, in time and between joints."""

    word, title = "hac", "errors that change their size"

    @property
    def assumptions(self) -> tuple[Note, ...]:
        return assumed(
            "errors may change their size and be alike for a while, in time and between joints, and W is exact"
        )

    def taper(self, lags: int) -> Taper:
        return Taper.bartlett(lags)

    def meat(self, equations: LinearEquations, residuals: CorrelatedResiduals) -> Meat:
        fit = residuals.fit
        f = len(fit.free)
        total = np.zeros((f, f))
        width = {c.rate: taper.lags + 1 for c, taper in residuals.tapered}
        scale = {c.rate: 1.0 / (fit.weights**2 * np.sqrt(c.left(taper))) for c, taper in residuals.tapered}
        residual = np.append(-fit.values, 1.0)
        for rate, parts in stretches(equations.rows(), residuals.block):
            scaled = ((sides, (residual @ sides) * scale[rate][:, None]) for sides in map(by_time, parts))
            scores = (np.einsum("jfm,jm->fm", sides[:, fit.free], errors) for sides, errors in scaled)
            for window in _windows(scores, width[rate], f):
                total += window @ window.T / width[rate]
        return Meat(whole=total)


def _windows(scores: Iterator[Array], width: int, f: int) -> Iterator[Array]:
    """(f, M) sums over ``width`` instants, also of those that hang over the ends of the stretch."""
    before = np.zeros((f, width))
    for piece in scores:
        whole = np.cumsum(np.concatenate([before, piece], axis=1), axis=1)
        yield whole[:, width:] - whole[:, :-width]
        before = np.concatenate([before, piece], axis=1)[:, piece.shape[1] :]
    whole = np.cumsum(before, axis=1)
    yield whole[:, -1:] - whole[:, :-1]


@dataclass(frozen=True, eq=False)
class Pulled:
    """covariance (p, p) of an estimate with a prior; sandwich: the data's share; off: s² of what is known of links, and
    of terms, see the head of this file."""

    covariance: Array
    sandwich: Sandwich
    off: tuple[float, float]


def pulled(
    equations: LinearEquations,
    fit: LinearFit,
    prior: Array,
    links: Index,
    errors: CorrelatedErrors,
    changes: Array | None = None,
) -> Pulled:
    """fit: with the prior (m, p + 1) in its root; bounds do not count, which is on the safe side. Links and terms are
    known from elsewhere, and each for themselves: rows without a parameter of ``links`` (their numbers) are of terms.
    How many parameters a row has would not tell: rows of links may have one, or one but for rounding. changes (k, p):
    what β̂ may be off by besides, which is not counted in what is found, but not blamed on the prior either."""
    found, root = sandwich(equations, fit, errors), fit.inverse_root
    known = found.covariance if changes is None else found.covariance + changes.T @ changes
    information = fit.compressed.information(fit.weights).add(prior[:, :-1], prior[:, -1])
    free = root @ root.T @ (information.r.T @ information.z)  # without bounds, which would pull from the prior as well
    linked = prior[:, links].any(axis=1)
    of_links, of_terms = prior[linked], prior[~linked]
    reach = [root.T @ some[:, :-1].T for some in (of_links, of_terms)]  # (p, m)
    between = reach[0].T @ reach[1]  # H of links and terms
    off = [1.0, 1.0]
    for _ in range(PULLED_ROUNDS):
        off[0] = _off(of_links, free, known, reach[0], off[1] * between @ between.T)
        off[1] = _off(of_terms, free, known, reach[1], off[0] * between.T @ between)
    shares = [root @ one for one in reach]
    pull = sum(s * share @ share.T for s, share in zip(off, shares, strict=True))
    return Pulled(covariance=found.covariance + pull, sandwich=found, off=(off[0], off[1]))


def with_correlated_errors_and_prior(
    problem: Problem, estimate: PhysicalEstimate, errors: CorrelatedErrors, changes: Array | None = None
) -> PhysicalEstimate:
    """For estimates that know their weights and their prior; changes: see ``pulled``."""
    assert estimate.weights is not None
    assert estimate.prior is not None
    compressed, prior = problem.compressed, estimate.prior
    information = compressed.information(estimate.weights).add(prior[:, :-1], prior[:, -1])
    root = np.asarray(linalg.solve_triangular(information.r, np.eye(len(estimate.values))))
    every = np.arange(len(estimate.values))
    fit = LinearFit(compressed, estimate.values, estimate.weights, every, root)
    found = pulled(problem, fit, prior, problem.of_links, errors, changes)
    further = f"the prior is off by {found.off[0] ** 0.5:.2g} times that: so far the data pulled the estimate from it"
    return replace(
        estimate,
        covariance=found.covariance,
        freedom=found.sandwich.freedom,
        assumptions=(*errors.assumptions, *estimate.pulled, *assumed(further)),
    )


def with_correlated_errors_of_stages(
    problem: Problem, estimate: StagedEstimate, errors: CorrelatedErrors
) -> StagedEstimate:
    """For estimates in stages that are least squares. Errors of poses are independent, of the variance that σ says."""
    assert estimate.weights is not None
    equations, poses = StagedProblem.of_stages(problem, estimate.weights), estimate.weights.poses
    compressed, alike = equations.compressed, np.ones(len(equations.joints))
    information = compressed.information(alike).add(poses[:, :-1], poses[:, -1])
    root = np.asarray(linalg.solve_triangular(information.r, np.eye(len(estimate.values))))
    every = np.arange(len(estimate.values))
    found = sandwich(equations, LinearFit(compressed, estimate.values, alike, every, root), errors)
    spread = root @ (root.T @ poses[:, :-1].T)
    return replace(
        estimate,
        covariance=found.covariance + spread @ spread.T,
        freedom=min(found.freedom, estimate.freedom),
        assumptions=(*errors.assumptions, *estimate.assumptions[1:]),
    )


def _off(prior: Array, values: Array, covariance: Array, reach: Array, beside: Array | float = 0.0) -> float:
    """s², with which what the data pulled is as large as expected on average over the directions of H (Paule & Mandel
    1982), each by H (1 − H): where the prior moves the estimate and the data can tell. Against s < 1 the weight counts
    as two more directions, seen by half, in which s is one: few directions are small by chance. values (b,): β̂
    without bounds; reach (b, m), reachᵀ reach = H; beside (m, m): of S β̂ − t by errors of another prior."""
    taken, directions = np.linalg.eigh(reach.T @ reach)
    seen, along = 1.0 - taken, directions.T @ prior
    informed = seen > UNINFORMED_SHARE
    seen, along = seen[informed], along[informed]
    counts = seen * (1.0 - seen)
    squares = (along[:, :-1] @ values - along[:, -1]) ** 2
    noise = np.einsum("mb,bc,mc->m", along[:, :-1], covariance, along[:, :-1])
    noise = np.maximum(noise, counts)  # errors as independent as the weights say, at least
    noise += (directions.T @ (beside + np.zeros((len(taken), len(taken)))) @ directions).diagonal()[informed]

    def too_large(exponent: float) -> float:
        s = float(np.exp(exponent))
        known = LEAST_KNOWN_SHARE * max(1.0 / s - 1.0, 0.0)
        return float((counts * (squares / (noise + s * seen**2) - 1.0)).sum()) + known

    most = 1.0 + 2.0 * float((squares / seen**2).max(initial=0.0))  # there all of it is less than expected
    return float(np.exp(scipy.optimize.brentq(too_large, -np.log(1e6), np.log(most), rtol=1e-6)))
