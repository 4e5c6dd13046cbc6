"""The same experiment again and again: W stays, only y is drawn anew, so that a repetition costs next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem


@dataclass(frozen=True, eq=False)
class Redrawn(Problem):
    """A problem whose rows are given, and made when they are asked for: most estimators never do."""

    make: Callable[[], tuple[tuple[int, Rows], ...]] = tuple

    @property
    def given(self) -> tuple[tuple[int, Rows], ...]:
        return self.make()

    def rows(self) -> Iterator[tuple[int, Rows]]:
        return iter(self.given)


@dataclass(frozen=True, eq=False)
class Bench:
    """problem: of which W is taken; its own y does not matter. errors: (rng) → errors (N, n) of the samples, that go
    through the formulation like a torque."""

    problem: Problem
    truth: np.ndarray
    errors: Callable[[np.random.Generator], np.ndarray]
    through: Callable[[np.ndarray], np.ndarray] = field(default=lambda errors: errors)
    bias: np.ndarray | float = 0.0
    drawn: dict[int, Redrawn] = field(default_factory=dict)

    @cached_property
    def _rows(self) -> tuple[tuple[int, Rows], ...]:
        return tuple(self.problem.rows())

    @cached_property
    def _exact(self) -> np.ndarray:
        return np.concatenate([rows.w @ self.truth for _, rows in self._rows]) + self.bias

    @cached_property
    def _orthogonal(self) -> list[tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]]:
        """Per run and fold: which instants, and Q and R of every joint."""
        w = np.concatenate([rows.w for _, rows in self._rows])
        of = [self.problem.runs[i].fold(r.time, self.problem.folds) + i * self.problem.folds for i, r in self._rows]
        fold = np.concatenate(of)
        groups = [(fold == k) for k in np.unique(fold)]
        return [(g, [np.linalg.qr(w[g, j]) for j in range(w.shape[1])]) for g in groups]

    def draw(self, seed: int) -> Redrawn:
        """Always the same object for a seed."""
        if seed not in self.drawn:
            p, y = self.problem, self._exact + self.through(self.errors(np.random.default_rng(seed)))
            drawn = Redrawn(p.model, p.runs, p.formulation, p.folds, make=lambda: self._given(y))
            drawn.__dict__["base"] = p.base
            drawn.__dict__["compressed"] = self._compressed(y)
            self.drawn[seed] = drawn
        return self.drawn[seed]

    def _given(self, y: np.ndarray) -> tuple[tuple[int, Rows], ...]:
        given, at = [], 0
        for index, rows in self._rows:
            sides = np.array(rows.sides)
            sides[:, :, -1] = y[at : at + len(rows)]
            at += len(rows)
            sides.flags.writeable = False
            given.append((index, replace(rows, sides=sides)))
        return tuple(given)

    def _compressed(self, y: np.ndarray) -> Compressed:
        template = self.problem.compressed
        factors = np.zeros_like(template.factors)
        for k, (chosen, joints) in enumerate(self._orthogonal):
            for j, (q, r) in enumerate(joints):
                part = y[chosen, j]
                z = q.T @ part
                factors[k, j, : len(r), :-1] = r
                factors[k, j, : len(z), -1] = z
                factors[k, j, -1, -1] += np.linalg.norm(part - q @ z)
        return template.with_factors(factors)


def linear(through: ParallelFilter, problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """What the row filter of a problem with one run of one part makes of errors (N, n) of the samples."""
    (part,) = problem.runs[0].parts
    time = np.concatenate([rows.time for _, rows in problem.rows()])
    kept = np.rint((time - part.motion.time[0]) * part.rate).astype(int)
    low_pass, _ = through.at(part.rate)
    return lambda errors: low_pass.zero_phase(errors, part.rate, axis=0)[kept]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Of M repetitions with p parameters: errors (M, p), σ as reported (M, p), whether 95 % intervals cover (M, p)."""

    errors: np.ndarray
    std: np.ndarray
    covers: np.ndarray
    squares: np.ndarray  # (M,) errorᵀ Cov⁻¹ error

    @property
    def bias(self) -> np.ndarray:
        """(p,) mean error over its own standard error: standard normal when there is none."""
        return self.errors.mean(axis=0) / (self.errors.std(axis=0, ddof=1) / np.sqrt(len(self.errors)))

    @property
    def ratio(self) -> np.ndarray:
        """(p,) empirical σ over the reported one (root mean square)."""
        return self.errors.std(axis=0, ddof=1) / np.sqrt((self.std**2).mean(axis=0))

    @property
    def coverage(self) -> float:
        return float(self.covers.mean())

    @property
    def coverage_error(self) -> float:
        """Standard error of the coverage. Parameters of a repetition are correlated, repetitions are not: so it is how
        the share covered scatters between repetitions that tells."""
        return float(self.covers.mean(axis=1).std(ddof=1) / np.sqrt(len(self.covers)))


def repeat(bench: Bench, estimate: Callable[[Problem], Estimate], runs: int, first: int = 0) -> Statistics:
    errors, std, covers, squares = [], [], [], []
    for seed in range(first, first + runs):
        found = estimate(bench.draw(seed))
        error = found.values - bench.truth
        low, high = found.interval()
        errors.append(error)
        std.append(found.std)
        covers.append((low <= bench.truth) & (bench.truth <= high))
        squares.append(error @ np.linalg.solve(found.covariance, error))
    return Statistics(*(np.array(x) for x in (errors, std, covers, squares)))
