"""Table 2 and Figure 2, random columns: condition numbers of random sequences over the number of equations r."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, Verdict, claim, same, shown, typical
from exciter.reproduction.gautier_khalil.printed import IDENTIFIED, PrintedSequence
from exciter.reproduction.gautier_khalil.sequences import (
    PUBLISHED,
    assumed_limits,
    chained,
    energies,
    equilibria,
    groups,
    robot_model,
    starting_points,
    uniform_points,
)
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.typing import Array

RANDOM: dict[int, list[float]] = PUBLISHED["table_2"]["random"]
TEN: int = PUBLISHED["table_2"]["sequences"]
HUNDRED = 100
ROUNDS = 20  # in which the sequences are regrouped
COLUMNS: dict[str, Callable[..., Any]] = {"minimum": np.min, "mean": np.mean, "maximum": np.max}
STARTING = "sequences with normally distributed x"
FLAT = 50  # r from which the paper sees no more change


@dataclass(frozen=True, eq=False)
class Pool:
    """cond(W) and S of many independent random sequences with r equations."""

    r: int
    cond: Array
    equilibrium: Array

    @classmethod
    def drawn(cls, r: int, effort: Effort) -> Pool:
        """Seed: r."""
        model = robot_model()
        count = max(effort.pick(300, 2000), effort.pick(80_000, 400_000) // (r + 1))
        w = chained(energies(model, uniform_points(model, count * (r + 1), seed=r)), r)
        return cls(r, np.linalg.cond(w), equilibria(w))

    def of_groups(self, size: int) -> Array:
        return groups(self.cond, size, ROUNDS, seed=self.r)

    def medians(self, size: int = HUNDRED) -> Array:
        """Medians of as many sequences, over and over."""
        found: Array = np.median(self.of_groups(size), axis=1)
        return found


def run(effort: Effort) -> Sequence[Part]:
    pools = [Pool.drawn(r, effort) for r in RANDOM]
    return (_table_2(pools), _identified(pools, effort))


# -- Table 2 -----------------------------------------------------------------------------------------------------------


def _table_2(pools: Sequence[Pool]) -> Part:
    judged = [finding for pool in pools for finding in _columns(pool)]
    outside = [finding.quantity for finding in judged if finding.verdict is Verdict.DIFFERS]
    counts = ", ".join(f"{len(pool.cond)} at r = {pool.r}" for pool in pools)
    model = robot_model()
    return Part(
        "Table 2, Figure 2",
        "Condition number of W for random sequences of r + 1 points",
        f"{assumed_limits()}. The velocity was solved for at the largest r, so the agreement there is by "
        "construction. Points are uniformly distributed within the limits, which the paper does not say either; r + 1 "
        "chained points give r "
        f"rows. Independent sequences drawn here (seed r): {counts}. A printed minimum, mean or maximum is that of "
        f"{TEN} sequences, itself a draw: it is judged by the distribution over groups of {TEN} of ours, regrouped "
        f"{ROUNDS} times; two of a hundred such figures would fall outside by chance.",
        (
            same("number of base parameters b", PUBLISHED["base_parameters"], len(model.base.independent), 0.0),
            *judged,
            shown("printed figures outside the 98 % range", float(len(outside)), "; ".join(outside)),
            *_claims(pools),
        ),
        (_judged_table(pools), _hundred_table(pools)),
        (_figure(pools),),
        "The text says that cond(W) does not vary any more from r = 50 on. Its own mean column still falls by a "
        "quarter from there to r = 500, and so does ours: the rows differ less and less from an average over the "
        "whole range.",
    )


def _columns(pool: Pool) -> Sequence[Finding]:
    ten = pool.of_groups(TEN)
    pairs = zip(COLUMNS.items(), RANDOM[pool.r], strict=True)
    return [
        typical(
            f"cond(W), r = {pool.r}, {name} of {TEN} random sequences",
            printed,
            of(ten, axis=1),
            f"{len(pool.cond)} independent sequences, regrouped",
        )
        for (name, of), printed in pairs
    ]


def _claims(pools: Sequence[Pool]) -> Sequence[Finding]:
    medians = np.array([np.median(pool.cond) for pool in pools])
    later = [pool for pool in pools if pool.r >= FLAT]
    first, last = later[0], later[-1]
    fall = 1.0 - np.median(last.cond) / np.median(first.cond)
    printed = 1.0 - RANDOM[last.r][1] / RANDOM[first.r][1]
    overlap = np.mean(first.medians() <= last.medians().max())
    return (
        claim(
            "cond(W) of random sequences decreases with r",
            bool((np.diff(medians) < 0).all()),
            "medians: " + ", ".join(f"{m:.4g}" for m in medians),
        ),
        claim(
            f"cond(W) of random sequences does not vary any more for r ≥ {FLAT}",
            bool(overlap > 0.01),
            f"the median falls by {100 * fall:.0f} % from r = {first.r} to {last.r}, the printed mean by "
            f"{100 * printed:.0f} %; medians of {HUNDRED} sequences at r = {first.r} that are no larger than the "
            f"largest at r = {last.r}: {100 * overlap:.1f} %",
        ),
    )


def _judged_table(pools: Sequence[Pool]) -> DataTable:
    rows = []
    for pool in pools:
        ten = pool.of_groups(TEN)
        row: list[float] = [pool.r]
        for of, printed in zip(COLUMNS.values(), RANDOM[pool.r], strict=True):
            row += [printed, *np.quantile(of(ten, axis=1), [0.01, 0.5, 0.99]).tolist()]
        rows.append(row)
    headings = [f"{name}{part}" for name in COLUMNS for part in (", published", ", 1 %", ", median", ", 99 %")]
    return DataTable(
        "table-2-random",
        f"cond(W) of groups of {TEN} random sequences: minimum, mean and maximum as published, and quantiles over "
        "groups",
        ("r", *headings),
        rows,
    )


def _hundred_table(pools: Sequence[Pool]) -> DataTable:
    rows = []
    for pool in pools:
        ten, hundred = pool.cond[:TEN], pool.cond[:HUNDRED]
        summary = [float(of(some)) for some in (ten, hundred) for of in (np.min, np.median, np.mean, np.max)]
        spread = np.quantile(pool.medians(), [0.01, 0.5, 0.99]).tolist()
        rows.append([pool.r, *summary, *spread])
    return DataTable(
        "table-2-hundred",
        f"cond(W) of the first {TEN} and the first {HUNDRED} sequences, and how the median of {HUNDRED} spreads over "
        "repetitions (the mean at r = 15 is decided by a few very large values; the median is not)",
        (
            "r",
            *(f"{n}: {what}" for n in (TEN, HUNDRED) for what in ("minimum", "median", "mean", "maximum")),
            *(f"median of {HUNDRED}: {q}" for q in ("1 %", "median", "99 %")),
        ),
        rows,
    )


def _figure(pools: Sequence[Pool]) -> Plot:
    r = np.array([pool.r for pool in pools], dtype=float)
    low, median, high = np.array([np.quantile(pool.cond, [0.05, 0.5, 0.95]) for pool in pools]).T
    printed = np.array([RANDOM[pool.r] for pool in pools]).T
    best = PUBLISHED["table_2"]["optimum"]
    optimum = np.array([best.get(pool.r, np.nan) for pool in pools], dtype=float)
    return Plot(
        "Condition number over the number of equations (Figure 2)",
        np.log10(r),
        "log₁₀ of the number of equations r",
        "cond(W)",
        (
            Line("5 % of random sequences", low, width=0.8),
            Line("95 % of random sequences", high, width=0.8),
            Line("median", median),
            *(
                Line(f"published {name} of {TEN}", line, points=True)
                for name, line in zip(COLUMNS, printed, strict=True)
            ),
            Line("published optimum", optimum, points=True),
        ),
        log=True,
        band=(0, 1),
        band_label="90 % of random sequences",
    )


# -- the random sequences that the paper identifies with --------------------------------------------------------------


def _identified(pools: Sequence[Pool], effort: Effort) -> Part:
    findings, model, count = [], robot_model(), effort.pick(2000, 10_000)
    for pool in (pool for pool in pools if pool.r in IDENTIFIED):
        printed, r = PrintedSequence.of(pool.r, "random"), pool.r
        w = chained(energies(model, starting_points(model, count * (r + 1), seed=r)), r)
        for name, one, of_starts, of_pool in (
            ("cond", printed.cond, np.linalg.cond(w), pool.cond),
            ("S", printed.equilibrium, equilibria(w), pool.equilibrium),
        ):
            below, uniform = (100 * np.mean(values <= one.value) for values in (of_starts, of_pool))
            note = (
                f"{below:.2g} % of them are below the printed figure, and {uniform:.2g} % of {len(of_pool)} sequences "
                "of uniformly distributed points"
            )
            findings.append(typical(f"{name} of the random sequence, r = {r}", one.value, of_starts, note, of=STARTING))
    return Part(
        "Tables 3–5, 8–10",
        "Condition and equilibrium S of the random sequences that the paper identifies with",
        f"{assumed_limits()}. Figures printed below these tables, each of a single sequence. At r = 30 they are those "
        "that 6.2 gives for the points at which the optimisation begins, and by 4.3 these come from normally "
        "distributed x; so they are judged by the distribution over such sequences (seed r). For comparison the "
        "uniform sequences of Table 2.",
        tuple(findings),
        differences="S is the ratio of the largest to the smallest of r · b elements, so its distribution has a long "
        "upper tail, and it grows with r. A printed S that is smaller than almost all of ours means a sequence that "
        "was chosen, or other limits.",
    )
