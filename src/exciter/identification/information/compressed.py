"""Equations compressed: one triangular factor per group of rows, all that estimators need of W and y.

A group is one joint's equations within one fold of one run. Weights per joint or run, folds left out,
columns left out, residuals of any parameters: all of it follows from the factors, without going through the rows.
Rows become factors piece by piece and by several threads (``compress``): W is never whole in memory.

A fold is a stretch of time, or of the period where the motion repeats (``Run.fold``): neighbouring samples share their
errors, so folds of single samples would flatter whatever fits noise in a cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event, Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from exciter.errors import ParameterError, shown
from exciter.experiment.signals.equation_rows import Rows
from exciter.files import by_name
from exciter.identification.information.information import Information
from exciter.identification.information.joint_factors import GroupFactors, JointFactors, upper
from exciter.typing import Array, BoolArray, Index
from exciter.workers import one_thread

Fit = TypeVar("Fit")
Labelled = tuple[int, Index, Rows]
OF_ROWS = ("rows", "independent", "there")  #: arrays (G, J)
OF_GROUPS = (*OF_ROWS, "run", "fold")  #: arrays whose first axis is the group
OF_PARTS = ("instants", *OF_ROWS)  #: that the threads count, each its own
MOST_NOISE_ROUNDS, MOST_SCALE_ROUNDS = 100, 10
SETTLED_NOISE_CHANGE = 1e-10  #: relative change of σ, below which weights and residuals agree
LEAST_TOLD_FRACTION = 0.05  #: of the degrees of freedom of other joints, by which the noise of one is told
EXACT_DATA_NOISE = 1e-13  #: of the torque: what rounding leaves of exact data
FEWEST_FREE_ROWS = 30.0  #: independent rows of a run beyond what the fit took, from which its noise is known
RUN_NOISE_ROUNDING = 1e-9  # of the torque: less is rounding, not noise
ROUNDING_EXCESS = 1e-6  #: of mean squares: a smaller difference is rounding
AS_GOOD_FRACTION = 0.1  #: of the least mean square: more than this is not "as well"


@dataclass(frozen=True, eq=False)
class Compressed:
    """G pieces of the runs times J equations per instant, for p ``parameters``. by_piece: R and z of each, and in the
    last corner the norm of what no parameters explain; rows not divided by any noise. rows, independent (G, J): how
    many, and how many independent ones they are worth. run, fold (G,): of a piece. there (G, J): instants with an
    equation, more than rows where unknown forces left a part of each; as many as rows unless given."""

    parameters: tuple[str, ...]
    joints: tuple[str, ...]
    by_piece: JointFactors
    rows: Index
    independent: Array
    run: Index
    fold: Index
    there: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if self.there.shape != self.rows.shape:
            object.__setattr__(self, "there", self.rows.astype(float))

    @cached_property
    def factors(self) -> Array:
        """(G, J, p + 1, p + 1) the same with all columns: large where there are many joints."""
        return self.by_piece.dense

    def with_factors(self, factors: Array) -> Compressed:
        """The same counts of other equations; factors (G, J, p + 1, p + 1), or rows (G, J, m, p + 1)."""
        return replace(self, by_piece=JointFactors.of(factors))

    def where(self, chosen: BoolArray) -> Compressed:
        """Some of the pieces; chosen (G,)."""
        kept = {name: getattr(self, name)[chosen] for name in OF_GROUPS}
        return replace(self, by_piece=self.by_piece.where(chosen), **kept)

    def of_joints(self, kept: Sequence[int]) -> Compressed:
        """Some of the J equations of an instant."""
        some = list(kept)
        return replace(
            self,
            joints=tuple(self.joints[j] for j in some),
            by_piece=self.by_piece.of_joints(some),
            **{name: getattr(self, name)[:, some] for name in OF_ROWS},
        )

    def over(self, sigma: Array) -> Compressed:
        """Rows divided by sigma (G, J)."""
        return replace(self, by_piece=self.by_piece.over(sigma))

    def without_fold(self, fold: int) -> Compressed:
        """All pieces but those; what is put together for it is kept, for models are judged by the same folds again."""
        kept = self.where(self.fold != fold)
        if fold not in self._without:
            self._without[fold] = kept.by_joint
        kept.__dict__["by_joint"] = self._without[fold]
        return kept

    @cached_property
    def _without(self) -> dict[int, JointFactors]:
        return {}

    def columns(self, chosen: ArrayLike) -> Compressed:
        """Some of the parameters, in the given order; the others are zero."""
        kept = np.asarray(chosen, dtype=np.int64)
        names = tuple(self.parameters[k] for k in kept)
        return replace(self, parameters=names, by_piece=self.by_piece.columns(kept))

    def merge(self, other: Compressed) -> Compressed:
        """Both together; runs of the other are numbered after those of this one."""
        if self.parameters != other.parameters or self.joints != other.joints:
            raise ParameterError("equations of different parameters or joints cannot be put together")
        after = int(self.run.max(initial=-1)) + 1
        later = replace(other, run=other.run + after)
        both: dict[str, Any] = {name: np.concatenate([getattr(x, name) for x in (self, later)]) for name in OF_GROUPS}
        return replace(self, by_piece=JointFactors.merged([self.by_piece, other.by_piece]), **both)

    def information(self, noise: ArrayLike = 1.0) -> Information:
        """All groups together, rows divided by noise: σ for all, (J,) per joint, or (G, J) per group."""
        sigma = self.per_group(noise)
        alike = np.ndim(noise) < 2  # for all pieces of a joint, which need not be told apart
        stacked = self.by_joint.over(sigma[:1]) if alike else self.by_piece.over(sigma)
        return Information.of_factor(upper(stacked.rows()), int(self.rows.sum()))

    @cached_property
    def by_joint(self) -> JointFactors:
        """One factor of each joint, for all pieces."""
        return self.by_piece.together()

    def squares(self, values: ArrayLike) -> Array:
        """(G, J) sum of squared residuals of parameters (p,)."""
        left = self.by_piece.residuals(np.asarray(values, dtype=float))
        return np.stack([(one**2).sum(axis=1) for one in left], axis=1)

    @property
    def signal(self) -> Array:
        """(J,) sum of squares of y."""
        return np.array([(block[..., -1] ** 2).sum() for block in self.by_piece.blocks])

    @property
    def rms(self) -> Array:
        """(J,) of y."""
        return np.asarray(np.sqrt(self.signal / np.maximum(self.rows.sum(axis=0), 1)))

    @property
    def fewest_instants(self) -> int:
        """With an equation, or what is left of one, of the joints that have any: one whose torque is unusable has
        none."""
        there = self.there.sum(axis=0)[self.rows.any(axis=0)]
        return round(float(there.min(initial=there.max(initial=0.0))))

    @property
    def inflation(self) -> Array:
        """(G, J) by how much variances are larger than formulas for independent rows say; 1 where they are."""
        some = (self.independent > 0.0) & (self.rows > 0)
        return np.where(some, self.rows / np.maximum(self.independent, 1e-300), 1.0)

    def taken(self, inverse: Array, sigma: Array) -> Array:
        """(G, J) degrees of freedom that rows gave to a fit; inverse: of its R, sigma (G, J): what rows are divided by.
        The trace of each group's part of the hat matrix; correlated rows take more (inflation)."""
        rotated = self.by_piece.over(sigma).times(inverse)
        return np.stack([(one**2).sum(axis=(1, 2)) for one in rotated], axis=1) * self.inflation

    def taken_by(self, weights: ArrayLike) -> Array:
        """(J,) the same of each joint's rows and a fit that was weighted by 1/``weights`` (J,)."""
        return self._taken_by(self.information(weights), weights)

    def _taken_by(self, information: Information, weights: ArrayLike) -> Array:
        """information: that of these weights."""
        inverse: Array = np.asarray(np.linalg.inv(information.r), dtype=float)
        return np.asarray(self.taken(inverse, self.per_group(weights)).sum(axis=0))

    def noise_of(self, values: Array, weights: ArrayLike) -> Array:
        """σ (J,) of one row per joint, from the residuals of an estimate that was weighted by 1/``weights`` (J,): Σ e²
        of a joint has as many degrees of freedom as rows less what the fit took."""
        return self.residual_noise(values, self.taken_by(weights), np.asarray(weights, dtype=float))

    def residual_noise(self, values: Array, took: Array, weights: Array) -> Array:
        """The same of an estimate that took so many degrees of freedom (J,) of each joint's rows; above rounding. Rows
        that the fit took wholly, as forces of the ground may leave them, tell nothing of their noise: it is what
        ``weights`` (J,) say beside that of others, else the next fit would trust them without end, or waver."""
        sigma = np.sqrt(self.squares(values).sum(axis=0) / np.maximum(self.rows.sum(axis=0) - took, 1.0))
        least = np.where(self.rows.any(axis=0), np.maximum(EXACT_DATA_NOISE * self.rms, 1e-300), 1.0)  # of no rows: any
        sigma, rows = np.maximum(sigma, least), self.rows.sum(axis=0)
        left = rows - took
        told = left >= max(1.0, LEAST_TOLD_FRACTION * float(np.median(left[rows > 0]))) if rows.any() else left >= 1.0
        if told.any() and not told[rows > 0].all():
            weights = np.broadcast_to(weights, sigma.shape)
            sigma = np.where(told | (rows == 0), sigma, weights * np.median(sigma[told] / weights[told]))
        return np.asarray(sigma)

    def settled(self, solve: Callable[[Array], Array], noise: Array) -> tuple[Array, Array, bool]:
        """Values (p,) of ``solve`` with weights 1/noise and noise (J,) of their residuals: ``until_noise_settles``."""

        def fit(noise: Array) -> tuple[Array, Array]:
            values = solve(noise)
            return values, self.noise_of(values, noise)

        return until_noise_settles(fit, noise)

    def reweighted(self) -> tuple[Array, Array]:
        """Least squares: parameters (p,) and noise (J,) that agree with each other."""

        def fit(noise: Array) -> tuple[Array, Array]:
            information = self.information(noise)  # made once, for values and for what they took
            values = information.solve(self.parameters)[0]
            return values, self.residual_noise(values, self._taken_by(information, noise), noise)

        values, noise, settled = until_noise_settles(fit, fit(np.ones(len(self.joints)))[1])
        # few equations settle slowly: then at least the values are those of the weights that are reported
        return values if settled else fit(noise)[0], noise

    def enough(self) -> Compressed:
        """The same, where there is at least one equation more than parameters."""
        have, p, worth = int(self.rows.sum()), len(self.parameters), self.independent.sum()
        if min(have, worth) <= p:
            alike = "" if have <= p else f", worth {worth:.0f} independent ones,"
            raise ParameterError(
                f"{have} equations{alike} for {p} parameters; record longer, filter or decimate less, or ask for fewer "
                "parameters"
            )
        return self

    def per_group(self, noise: ArrayLike) -> Array:
        """(G, J) positive standard deviations, from one, (J,) or (G, J)."""
        given = np.asarray(noise, dtype=float)
        shape = self.rows.shape
        if given.shape not in ((), shape[1:], shape) or not ((given > 0.0) & np.isfinite(given)).all():
            raise ParameterError(
                f"noise is {shown(given.tolist())}; give one positive number, or {shape[1]}, one per equation: "
                f"{', '.join(self.joints)}"
            )
        return np.broadcast_to(given, shape)


def until_noise_settles(
    fit: Callable[[Array], tuple[Fit, Array]], noise: Array, change: float = SETTLED_NOISE_CHANGE
) -> tuple[Fit, Array, bool]:
    """A fit with weights 1/``noise`` (J,) gives what it found and the σ (J,) of its residuals, again and again until
    weights and residuals agree: the last fit, that σ, and whether they do."""
    for _ in range(MOST_NOISE_ROUNDS):
        found, after = fit(noise)
        before, noise = noise, after
        if (np.abs(noise - before) <= change * noise).all():
            return found, noise, True
    return found, noise, False


@dataclass(frozen=True, eq=False)
class ResidualSizes:
    """rms (J,): of measured less predicted [N·m or N]; signal (J,): rms of what was measured; rows (J,): how many."""

    joints: tuple[str, ...]
    rms: Array
    signal: Array
    rows: Array

    @classmethod
    def of(cls, compressed: Compressed, values: ArrayLike) -> ResidualSizes:
        """Of parameters (p,) on equations; both sides as the equations have them, filtered or not."""
        rows = compressed.rows.sum(axis=0)
        rms = np.sqrt(compressed.squares(values).sum(axis=0) / np.maximum(rows, 1))
        return cls(joints=compressed.joints, rms=rms, signal=compressed.rms, rows=rows.astype(float))

    @property
    def percent(self) -> Array:
        """(J,) 100 · rms of the residual / rms of what was measured; NaN where a joint rests throughout."""
        return np.where(self.rows > 0.0, 100.0 * self.rms / np.maximum(self.signal, 1e-300), np.nan)

    @property
    def total_percent(self) -> float:
        """The same over all joints together."""
        squares, signal = (self.rows * self.rms**2).sum(), (self.rows * self.signal**2).sum()
        return float(100.0 * np.sqrt(squares / max(signal, 1e-300)))

    def to_dict(self) -> dict[str, Any]:
        rms = np.where(self.rows > 0.0, self.rms, np.nan)
        return by_name(self.joints, rms=rms.tolist(), percent=self.percent.tolist())


def run_scales(compressed: Compressed, runs: int) -> Array:
    """(runs, J) noise of every run over that of all of them together, from the residuals of a fit that is weighted by
    them, again and again; one where a run has too few rows, where data are exact, or where nothing can be fitted."""
    size = compressed.rows.shape[1]
    scales = np.ones((runs, size))
    member = np.arange(runs)[:, None] == compressed.run  # (R, G)
    rows, independent = member @ compressed.rows, member @ compressed.independent
    signal = compressed.rms
    together = np.maximum(signal, 1e-300)
    try:
        for _ in range(MOST_SCALE_ROUNDS):
            weights = (scales * together)[compressed.run]
            information = compressed.information(weights)
            values, _ = information.solve()
            inverse = linalg.solve_triangular(information.r, np.eye(len(values)))
            took = member @ compressed.taken(inverse, weights)
            variance = (member @ compressed.squares(values)) / np.maximum(rows - took, 1.0)
            share = rows / np.maximum(rows.sum(axis=0), 1)
            together = np.maximum(np.sqrt((share * variance).sum(axis=0)), RUN_NOISE_ROUNDING * signal)
            known = (independent - took > FEWEST_FREE_ROWS) & (np.sqrt(variance) > RUN_NOISE_ROUNDING * signal)
            before, scales = scales, np.where(known, np.sqrt(variance) / together, 1.0)
            if np.abs(scales - before).max() < 1e-4:
                break
    except ParameterError:
        return np.ones((runs, size))
    return scales


@dataclass(frozen=True, eq=False)
class Absorbed:
    """What rows came to, of K groups: run · folds + fold, ascending. Counts are of instants (K,), and (K, J)."""

    groups: Index
    factors: JointFactors
    instants: Array
    rows: Array
    independent: Array
    there: Array

    @staticmethod
    def together(parts: Sequence[Absorbed]) -> Absorbed:
        """Of runs that follow each other, each part with its own."""
        if len(parts) == 1:
            return parts[0]
        counts = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("groups", *OF_PARTS)}
        order = np.argsort(counts["groups"], kind="stable")
        factors = JointFactors.merged([part.factors for part in parts]).where(order)
        return Absorbed(factors=factors, **{name: values[order] for name, values in counts.items()})

    def compressed(self, parameters: Sequence[str], joints: Sequence[str], folds: int) -> Compressed:
        if not self.groups.size:
            raise ParameterError("there are no equations; is the recording shorter than the edges of its filters?")
        # whole numbers, whose sums do not depend on how many folds there are
        counted = np.diff(np.rint(np.cumsum(self.rows, axis=0)), axis=0, prepend=0.0)
        return Compressed(
            parameters=tuple(parameters),
            joints=tuple(joints),
            by_piece=self.factors,
            rows=counted.astype(np.int64),
            independent=counted * self.independent / np.where(self.rows > 0.0, self.rows, 1.0),
            run=self.groups // folds,
            fold=self.groups % folds,
            there=self.there,
        )


def compress(
    labelled: Iterable[Labelled], parameters: Sequence[str], joints: Sequence[str], runs: int, folds: int, jobs: int = 1
) -> Compressed:
    """(run, fold of every instant, rows), in any order, to one factor per run, fold and joint. jobs: how many threads
    absorb pieces, each the next one when it is free; put together at the end, results differ by rounding only."""
    return absorbed(labelled, len(parameters), len(joints), runs, folds, jobs).compressed(parameters, joints, folds)


def absorbed(
    labelled: Iterable[Labelled], parameters: int, joints: int, runs: int, folds: int, jobs: int = 1
) -> Absorbed:
    """The same before it is looked at, so that more may join it."""
    if jobs < 1:
        raise ParameterError(f"{jobs} jobs; give 1 or more")
    parts = [GroupFactors(runs * folds, joints, parameters) for _ in range(jobs)]
    stream, turn, stop = iter(labelled), Lock(), Event()

    def work(part: GroupFactors) -> None:
        while not stop.is_set():
            with turn:
                item = next(stream, None)
            if item is None:
                return
            run, fold, rows = item
            part.add(run * folds, fold, rows)

    with one_thread():
        if jobs == 1:
            work(parts[0])
        else:
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    for task in [pool.submit(work, part) for part in parts]:
                        task.result()
                finally:  # an error, or Ctrl-C: the others must not go on to the end of the log
                    stop.set()
    instants, rows, independent, there = (np.sum([getattr(part, name) for part in parts], axis=0) for name in OF_PARTS)
    kept = np.flatnonzero(instants)
    return Absorbed(
        groups=kept,
        factors=JointFactors.added([part.found(kept.tolist()) for part in parts]),
        instants=instants[kept],
        rows=rows[kept],
        independent=independent[kept],
        there=there[kept],
    )


# -- blocked cross-validation: a fold is left out, the fit is judged on it, nothing is re-read -------------------------


@dataclass(frozen=True, eq=False)
class Score:
    """squares (K, J): of residuals held out, over noise², in each of K folds; rows (K, J): how many."""

    squares: Array
    rows: Array

    @property
    def mean(self) -> float:
        """Over all joints and folds."""
        return float(self.squares.sum() / self.rows.sum())

    def error_of_difference(self, other: Score) -> float:
        """σ of mean − other.mean, from how the difference scatters between folds."""
        difference = (self.squares - other.squares).sum(axis=1) / self.rows.sum(axis=1)
        return float(difference.std(ddof=1) / np.sqrt(len(difference)))


def cross_validate(
    compressed: Compressed, fits: Callable[[Compressed], Iterable[Array]], noise: ArrayLike
) -> tuple[Score, ...]:
    """Of several models, whose parameters (p,) ``fits`` finds from all folds but one; noise: σ (J,) of residuals."""
    folds = np.unique(compressed.fold)
    if len(folds) < 2:
        raise ParameterError("cross-validation needs at least 2 folds; give a longer recording, or more folds")
    sigma = compressed.per_group(noise)
    squares, rows = [], []
    for fold in folds.tolist():
        held_out = compressed.fold == fold
        found = fits(compressed.without_fold(fold))
        squares.append([(compressed.squares(values) / sigma / sigma)[held_out].sum(axis=0) for values in found])
        rows.append(compressed.rows[held_out].sum(axis=0))
    return tuple(Score(np.array(one), np.array(rows, dtype=float)) for one in zip(*squares, strict=True))


def simplest_within_error(scores: Sequence[Score], largest_excess: float = np.inf) -> int:
    """Which of several, ordered from the simplest: the first whose score is not worse than the best's by more than the
    standard error of the difference, nor by more than ``largest_excess`` of the best's. A model with more columns whose
    best values are zero is the same model: rounding must not decide for it."""
    best = int(np.argmin([score.mean for score in scores]))
    for index, score in enumerate(scores[:best]):
        excess, least = score.mean - scores[best].mean, ROUNDING_EXCESS * scores[best].mean
        error = max(score.error_of_difference(scores[best]), least)
        if excess <= min(error, largest_excess * scores[best].mean):
            return index
    return best
