"""Table 2 and Figure 2, random columns: condition numbers of random sequences over the number of equations r, and the
joint limits, which the paper leaves out, fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from exciter import Motion
from exciter.excitation.experiments.points import PointSearch, optimise_points
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.gautier_khalil import sequences
from exciter_papers.gautier_khalil.printed import IDENTIFIED, PrintedSequence
from exciter_papers.paper import DataTable, Effort, Finding, Part, Verdict, claim, same, shown, typical

PUBLISHED_RANDOM: dict[int, list[float]] = sequences.ENERGY_PAPER_FIGURES["table_2"]["random"]
PUBLISHED_SEQUENCES: int = sequences.ENERGY_PAPER_FIGURES["table_2"]["sequences"]
SEQUENCES_PER_ROUND = 100
REGROUPING_ROUNDS = 20  # in which the sequences are regrouped
TABLE_2_COLUMNS: dict[str, Callable[..., Any]] = {"minimum": np.min, "mean": np.mean, "maximum": np.max}
STARTING = "sequences with normally distributed x"
FLAT_FROM_EQUATIONS = 50  # r from which the paper sees no more change


@dataclass(frozen=True, eq=False)
class Pool:
    """cond(W) and S of many independent random sequences with r equations."""

    r: int
    cond: Array
    equilibrium: Array

    @classmethod
    def drawn(cls, r: int, effort: Effort) -> Pool:
        """Seed: r."""
        model = sequences.robot_model()
        count = max(effort.pick(300, 2000), effort.pick(80_000, 400_000) // (r + 1))
        w = sequences.chained(sequences.energies(model, sequences.uniform_points(model, count * (r + 1), seed=r)), r)
        return cls(r, np.linalg.cond(w), sequences.equilibria(w))

    def of_groups(self, size: int) -> Array:
        return sequences.groups(self.cond, size, REGROUPING_ROUNDS, seed=self.r)

    def medians(self, size: int = SEQUENCES_PER_ROUND) -> Array:
        """Medians of as many sequences, over and over."""
        found: Array = np.median(self.of_groups(size), axis=1)
        return found


def run(effort: Effort) -> Sequence[Part]:
    pools = [Pool.drawn(r, effort) for r in PUBLISHED_RANDOM]
    return (_table_2(pools), _identified(pools, effort))


# -- Table 2 -----------------------------------------------------------------------------------------------------------


def _table_2(pools: Sequence[Pool]) -> Part:
    judged = [finding for pool in pools for finding in _columns(pool)]
    outside = [finding.quantity for finding in judged if finding.verdict is Verdict.DIFFERS]
    counts = ", ".join(f"{len(pool.cond)} at r = {pool.r}" for pool in pools)
    model = sequences.robot_model()
    return Part(
        "Table 2, Figure 2",
        "Condition number of W for random sequences of r + 1 points",
        f"{sequences.assumed_limits()}. The velocity was solved for at the largest r, so the agreement there is by "
        "construction. Points are uniformly distributed within the limits, which the paper does not say either; r + 1 "
        f"chained points give r rows. Independent sequences drawn here (seed r): {counts}. A printed minimum, mean or "
        f"maximum is that of {PUBLISHED_SEQUENCES} sequences, itself a draw: it is judged by the distribution over "
        f"groups of {PUBLISHED_SEQUENCES} of "
        f"ours, regrouped {REGROUPING_ROUNDS} times; two of a hundred such figures would fall outside by chance.",
        (
            same(
                "number of base parameters b",
                sequences.ENERGY_PAPER_FIGURES["base_parameters"],
                len(model.base.independent),
                0.0,
            ),
            *judged,
            shown("printed figures outside the 98 % range", float(len(outside)), "; ".join(outside)),
            *_claims(pools),
        ),
        (_judged_table(pools), _hundred_table(pools)),
        _figure(pools),
        "The text says that cond(W) does not vary any more from r = 50 on. Its own mean column still falls by a "
        "quarter from there to r = 500, and so does ours: the rows differ less and less from an average over the "
        "whole range.",
    )


def _columns(pool: Pool) -> Sequence[Finding]:
    ten = pool.of_groups(PUBLISHED_SEQUENCES)
    pairs = zip(TABLE_2_COLUMNS.items(), PUBLISHED_RANDOM[pool.r], strict=True)
    return [
        typical(
            f"cond(W), r = {pool.r}, {name} of {PUBLISHED_SEQUENCES} random sequences",
            printed,
            of(ten, axis=1),
            f"{len(pool.cond)} independent sequences, regrouped",
        )
        for (name, of), printed in pairs
    ]


def _claims(pools: Sequence[Pool]) -> Sequence[Finding]:
    medians = np.array([np.median(pool.cond) for pool in pools])
    later = [pool for pool in pools if pool.r >= FLAT_FROM_EQUATIONS]
    first, last = later[0], later[-1]
    fall = 1.0 - np.median(last.cond) / np.median(first.cond)
    printed = 1.0 - PUBLISHED_RANDOM[last.r][1] / PUBLISHED_RANDOM[first.r][1]
    overlap = np.mean(first.medians() <= last.medians().max())
    return (
        claim(
            "cond(W) of random sequences decreases with r",
            (np.diff(medians) < 0).all(),
            "medians: " + ", ".join(f"{m:.4g}" for m in medians),
        ),
        claim(
            f"cond(W) of random sequences does not vary any more for r ≥ {FLAT_FROM_EQUATIONS}",
            overlap > 0.01,
            f"the median falls by {100 * fall:.0f} % from r = {first.r} to {last.r}, the printed mean by "
            f"{100 * printed:.0f} %; medians of {SEQUENCES_PER_ROUND} sequences at r = {first.r} that are no larger "
            "than the "
            f"largest at r = {last.r}: {100 * overlap:.1f} %",
        ),
    )


def _judged_table(pools: Sequence[Pool]) -> DataTable:
    rows = []
    for pool in pools:
        ten = pool.of_groups(PUBLISHED_SEQUENCES)
        row: list[float] = [pool.r]
        for of, printed in zip(TABLE_2_COLUMNS.values(), PUBLISHED_RANDOM[pool.r], strict=True):
            row += [printed, *np.quantile(of(ten, axis=1), [0.01, 0.5, 0.99]).tolist()]
        rows.append(row)
    headings = [f"{name}{part}" for name in TABLE_2_COLUMNS for part in (", published", ", 1 %", ", median", ", 99 %")]
    return DataTable(
        "table-2-random",
        f"cond(W) of groups of {PUBLISHED_SEQUENCES} random sequences: minimum, mean and maximum as published, and "
        "quantiles over "
        "groups",
        ("r", *headings),
        rows,
    )


def _hundred_table(pools: Sequence[Pool]) -> DataTable:
    rows = []
    for pool in pools:
        ten, hundred = pool.cond[:PUBLISHED_SEQUENCES], pool.cond[:SEQUENCES_PER_ROUND]
        summary = [float(of(some)) for some in (ten, hundred) for of in (np.min, np.median, np.mean, np.max)]
        spread = np.quantile(pool.medians(), [0.01, 0.5, 0.99]).tolist()
        rows.append([pool.r, *summary, *spread])
    return DataTable(
        "table-2-hundred",
        f"cond(W) of the first {PUBLISHED_SEQUENCES} and the first {SEQUENCES_PER_ROUND} sequences, and how the "
        f"median of {SEQUENCES_PER_ROUND} spreads over "
        "repetitions (the mean at r = 15 is decided by a few very large values; the median is not)",
        (
            "r",
            *(
                f"{n}: {what}"
                for n in (PUBLISHED_SEQUENCES, SEQUENCES_PER_ROUND)
                for what in ("minimum", "median", "mean", "maximum")
            ),
            *(f"median of {SEQUENCES_PER_ROUND}: {q}" for q in ("1 %", "median", "99 %")),
        ),
        rows,
    )


def _figure(pools: Sequence[Pool]) -> Plot:
    r = np.array([pool.r for pool in pools], dtype=float)
    low, median, high = np.array([np.quantile(pool.cond, [0.05, 0.5, 0.95]) for pool in pools]).T
    printed = np.array([PUBLISHED_RANDOM[pool.r] for pool in pools]).T
    best = sequences.ENERGY_PAPER_FIGURES["table_2"]["optimum"]
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
                Line(f"published {name} of {PUBLISHED_SEQUENCES}", line, points=True)
                for name, line in zip(TABLE_2_COLUMNS, printed, strict=True)
            ),
            Line("published optimum", optimum, points=True),
        ),
        log=True,
        band=(0, 1),
        band_label="90 % of random sequences",
    )


# -- the random sequences that the paper identifies with --------------------------------------------------------------


def _identified(pools: Sequence[Pool], effort: Effort) -> Part:
    findings, model, count = [], sequences.robot_model(), effort.pick(2000, 10_000)
    for pool in (pool for pool in pools if pool.r in IDENTIFIED):
        printed, r = PrintedSequence.of(pool.r, "random"), pool.r
        w = sequences.chained(sequences.energies(model, sequences.starting_points(model, count * (r + 1), seed=r)), r)
        for name, one, of_starts, of_pool in (
            ("cond", printed.cond, np.linalg.cond(w), pool.cond),
            ("S", printed.equilibrium, sequences.equilibria(w), pool.equilibrium),
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
        f"{sequences.assumed_limits()}. Figures printed below these tables, each of a single sequence. At r = 30 they "
        "are those that 6.2 gives for the points at which the optimisation begins, and by 4.3 these come from normally "
        "distributed x; so they are judged by the distribution over such sequences (seed r). For comparison the "
        "uniform sequences of Table 2.",
        findings,
        differences="S is the ratio of the largest to the smallest of r · b elements, so its distribution has a long "
        "upper tail, and it grows with r. A printed S that is smaller than almost all of ours means a sequence that "
        "was chosen, or other limits.",
    )


# -- the joint limits --------------------------------------------------------------------------------------------------

OPTIMUM_STARTS = (0, 4)  # of the optimum, quick and full
SLOWEST, FASTEST = 0.1, 3.0  # [rad/s], between which the velocity limit is sought
WAYS_TO_DRAW = {"uniform": sequences.uniform_points, "normal x": sequences.starting_points}
Side = float | tuple[float, float, float]
RANGES: dict[str, tuple[Side, Side]] = {  # lower, upper [degrees]
    "±45°": (-45.0, 45.0),
    "±30°": (-30.0, 30.0),
    "±60°": (-60.0, 60.0),
    "±90°": (-90.0, 90.0),
    "0 … 90°": (0.0, 90.0),
    "±135°": (-135.0, 135.0),
    "±180°": (-180.0, 180.0),
    "±160°, ±120°, ±135°": ((-160.0, -120.0, -135.0), (160.0, 120.0, 135.0)),
}
QUICK_RANGES = ("±45°", "±30°")


@dataclass(frozen=True, eq=False)
class Fit:
    """One position range and distribution. velocity [rad/s]: solved so that the mean of cond(W) at the largest r is the
    published one. ratios: median over groups of ten of their mean cond(W), over the published mean, per r. best:
    smallest cond(W) of optimised points with r = 30; NaN where it was not sought."""

    limits: str
    draw: str
    velocity: float
    ratios: Array
    best: float

    @property
    def misfit(self) -> float:
        return float(np.sqrt(np.mean(np.log(self.ratios) ** 2)))


@dataclass(frozen=True, eq=False)
class Parts:
    """W(v) = gravity + v² kinetic of random sequences whose velocities are scaled by v."""

    gravity: Array
    kinetic: Array

    @classmethod
    def drawn(cls, limits: str, draw: str, r: int, count: int) -> Parts:
        lower, upper = (np.deg2rad(side) for side in RANGES[limits])
        model = sequences.limited(lower, upper, velocity=1.0)
        points = WAYS_TO_DRAW[draw](model, count * (r + 1), r)
        at_rest = sequences.energies(model, Motion.at(points.q, np.zeros_like(points.qd)))
        return cls(sequences.chained(at_rest, r), sequences.chained(sequences.energies(model, points) - at_rest, r))

    def cond(self, velocity: float) -> Array:
        found: Array = np.linalg.cond(self.gravity + velocity**2 * self.kinetic)
        return found


def run_limits(effort: Effort) -> Part:
    names = effort.pick(QUICK_RANGES, tuple(RANGES))
    fits = [fitted(name, draw, effort) for name in names for draw in WAYS_TO_DRAW]
    return _limits_part(fits)


def fitted(limits: str, draw: str, effort: Effort) -> Fit:
    counts = {r: max(effort.pick(30, 300), effort.pick(6_000, 60_000) // (r + 1)) for r in PUBLISHED_RANDOM}
    parts = {r: Parts.drawn(limits, draw, r, count) for r, count in counts.items()}
    last = max(PUBLISHED_RANDOM)
    velocity = float(
        brentq(lambda v: np.log(parts[last].cond(v).mean() / PUBLISHED_RANDOM[last][1]), SLOWEST, FASTEST, xtol=1e-4)
    )
    ratios = []
    for r, printed in PUBLISHED_RANDOM.items():
        ten = sequences.groups(parts[r].cond(velocity), PUBLISHED_SEQUENCES, REGROUPING_ROUNDS, seed=r)
        ratios.append(np.median(ten.mean(axis=1)) / printed[1])
    best = np.nan
    starts = effort.pick(*OPTIMUM_STARTS)
    if starts and draw == "uniform":  # the optimum does not depend on how random sequences are drawn
        lower, upper = (np.deg2rad(side) for side in RANGES[limits])
        search = PointSearch(equations=30, starts=starts, keep=starts // 4, explore=100)
        best = optimise_points(sequences.limited(lower, upper, velocity), search).condition_number
    return Fit(limits, draw, velocity, np.array(ratios), best)


def _limits_part(fits: Sequence[Fit]) -> Part:
    ours = fits[0]
    others = [fit for fit in fits[1:] if fit.misfit <= ours.misfit]
    ordered = sorted(others, key=lambda fit: fit.misfit)
    listed = "; ".join(f"{fit.limits}, {fit.draw}: {fit.misfit:.3f}" for fit in ordered) or "none"
    r = np.array(list(PUBLISHED_RANDOM), dtype=float)
    worst = int(np.argmax(np.abs(np.log(ours.ratios))))
    return Part(
        "Table 2, limits",
        "Joint limits that explain the random columns",
        "The paper prints neither position nor velocity limits, nor how random points are distributed. For each "
        "position range and distribution (uniform, or x of 4.2 normally distributed) one velocity limit, the same for "
        f"all joints, is solved so that the mean of cond(W) at r = {max(PUBLISHED_RANDOM)} is the published mean. "
        "Two numbers "
        "are thus fitted, and the agreement there is by construction. The misfit is the root mean square over r of the "
        f"logarithm of our mean of {PUBLISHED_SEQUENCES} (median over groups) over the published mean. Seeds: r for "
        "sequences; a full "
        f"run also seeks the optimum within each range, {OPTIMUM_STARTS[1]} starts with seed 0.",
        (
            shown("velocity limit fitted to ±45° and uniform points [°/s]", np.rad2deg(ours.velocity)),
            shown(
                "misfit of ±45° and uniform points",
                ours.misfit,
                f"largest deviation {100 * (ours.ratios[worst] - 1):+.0f} %, at r = {r[worst]:.0f}",
            ),
            shown(
                "other ranges and distributions tried whose misfit is no larger than that",
                float(len(others)),
                "; ".join(
                    f"{fit.limits} {fit.draw}, {np.rad2deg(fit.velocity):.0f}°/s: {fit.misfit:.3f}" for fit in others
                ),
            ),
            *_optima(fits),
        ),
        DataTable(
            "limits",
            "Velocity limit solved for r = 500, and what it gives elsewhere: our mean over the published mean",
            ("positions", "points", "velocity [°/s]", "misfit", "optimum r = 30", *map(str, PUBLISHED_RANDOM)),
            [
                [
                    fit.limits,
                    fit.draw,
                    np.rad2deg(fit.velocity),
                    fit.misfit,
                    float(fit.best) if np.isfinite(fit.best) else None,
                    *fit.ratios,
                ]
                for fit in fits
            ],
        ),
        Plot(
            "Our mean of ten random sequences over the published one",
            np.log10(r),
            "log₁₀ of the number of equations r",
            "ratio",
            tuple(Line(f"{fit.limits}, {fit.draw}, {np.rad2deg(fit.velocity):.0f}°/s", fit.ratios) for fit in fits),
            level=1.0,
        ),
        # why these limits, and what they do not explain
        "The random columns do not determine the limits: cond(W) depends on them mostly through the ratio of kinetic "
        f"to potential energy, so that a velocity makes up for another range. {ours.limits} and uniform points, which "
        f"are used for Table 2, have a misfit of {ours.misfit:.3f}; of what was tried, these fit as well or better: "
        f"{listed}. {ours.limits} was chosen also because cond(W) of the optimum comes near the published one in a "
        "narrow range, so the optimum column of Table 2 is no independent evidence for these limits.",
    )


def _optima(fits: Sequence[Fit]) -> Sequence[Finding]:
    sought = [fit for fit in fits if np.isfinite(fit.best)]
    if not sought:
        return ()
    printed = sequences.ENERGY_PAPER_FIGURES["table_2"]["optimum"][30]
    near = min(sought, key=lambda fit: abs(np.log(fit.best / printed)))
    return (
        shown(
            f"range whose optimum at r = 30 is nearest to the published {printed}",
            near.limits,
            "; ".join(f"{fit.limits}, {np.rad2deg(fit.velocity):.0f}°/s: {fit.best:.3g}" for fit in sought),
        ),
    )
