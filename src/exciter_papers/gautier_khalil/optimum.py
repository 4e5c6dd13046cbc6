"""Table 2, optimum column: points that minimise the condition number, and the same with the equilibrium term S (18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exciter import Motion
from exciter.excitation.experiments.points import (
    OptimalPoints,
    PointSearch,
    PointVariables,
    QuasiNewton,
    optimise_points,
)
from exciter.report.plot import Line, Plot
from exciter_papers.gautier_khalil import sequences
from exciter_papers.gautier_khalil.printed import IDENTIFIED, PrintedSequence
from exciter_papers.paper import DataTable, Effort, Finding, Part, Terms, at_most, claim, shown

PUBLISHED_OPTIMA: dict[int, float] = sequences.ENERGY_PAPER_FIGURES["table_2"]["optimum"]
FAILING_EQUATIONS = 50  # equations at which the paper's optimisation failed
TERMS_OF_TABLE_2 = Terms(
    "cond(W) in the 2-norm of the energy model's W, r chained rows, columns as they are",
    "the robot of Table 1; joint limits that are fitted to the random columns of Table 2",
    "the joint limits of the paper are not printed, and it minimised cond(W) and S together with weights that are not "
    "printed either, here cond(W) alone",
)
TERMS_OF_PAIRS = Terms(
    "λ₁ cond(W) + λ₂ S (18)",
    "the robot of Table 1; joint limits that are fitted to the random columns of Table 2",
    "neither the joint limits nor the weights λ₁ and λ₂ of the published pair are printed",
)


def search(r: int, effort: Effort) -> PointSearch:
    """Starts that are explored, and those that are carried through; a quick run has fewer."""
    if not effort.quick:
        return PointSearch(equations=r, starts=4, keep=1) if r == FAILING_EQUATIONS else PointSearch(equations=r)
    if r == FAILING_EQUATIONS:
        return PointSearch(equations=r, starts=1, keep=1, explore=100, method=QuasiNewton(300))
    starts, keep, explore = {15: (12, 2, 150), 20: (8, 1, 150), 30: (8, 2, 200)}[r]
    return PointSearch(equations=r, starts=starts, keep=keep, explore=explore, method=QuasiNewton(800))


def run(effort: Effort) -> Sequence[Part]:
    searches = {r: search(r, effort) for r in (*PUBLISHED_OPTIMA, FAILING_EQUATIONS)}
    found = {r: optimise_points(sequences.robot_model(), one) for r, one in searches.items()}
    return (_table_2(searches, found), equilibrium_part({r: found[r] for r in sorted(IDENTIFIED)}, effort))


def _table_2(searches: Mapping[int, PointSearch], found: Mapping[int, OptimalPoints]) -> Part:
    random = sequences.ENERGY_PAPER_FIGURES["table_2"]["random"]
    starts = ", ".join(f"{one.starts} at r = {r}, of which {one.keep} to the end" for r, one in searches.items())
    more = found[FAILING_EQUATIONS]
    return Part(
        "Table 2, optimum",
        "Condition number of W for optimal sequences of r + 1 points",
        f"{sequences.assumed_limits()}. Points are found by limited-memory BFGS with exact gradients in the variables "
        "of 4.2, by way of smooth stand-ins for the 2-norm condition number, from normally distributed starts (seed "
        f"0): {starts}. Exact figures of the published optima are printed at the foot of Tables 4 and 8. The paper "
        "minimised cond(W) and S together with weights that it does not print; here cond(W) alone, and with S in the "
        "next part.",
        (
            *(_reached(r, found[r]) for r in PUBLISHED_OPTIMA),
            claim("all optimal points keep the limits on q and q̇", all(_inside(points) for points in found.values())),
            claim(
                f"for r ≥ {FAILING_EQUATIONS} the optimisation fails because of the number of variables",
                more.condition_number > min(PUBLISHED_OPTIMA.values()),
                f"r = {FAILING_EQUATIONS}: cond(W) = {more.condition_number:.4g} after {more.evaluations} "
                "evaluations; the smallest "
                f"published optimum is {min(PUBLISHED_OPTIMA.values())}, at r = {max(PUBLISHED_OPTIMA)}. With exact "
                "gradients the "
                "number of evaluations hardly grows with the number of variables",
            ),
        ),
        DataTable(
            "table-2-optimum",
            "cond(W) of the starts that were carried through",
            ("r", "published", "best", "median", "worst", "evaluations"),
            [
                [
                    r,
                    PUBLISHED_OPTIMA.get(r),
                    *(of(points.values) for of in (np.min, np.median, np.max)),
                    points.evaluations,
                ]
                for r, points in found.items()
            ],
        ),
        Plot(
            "Random and optimal sequences",
            np.array(list(found), dtype=float),
            "number of equations r",
            "cond(W)",
            (
                Line("published mean of random sequences", np.array([random[r][1] for r in found])),
                Line("published optimum", np.array([PUBLISHED_OPTIMA.get(r, np.nan) for r in found], dtype=float)),
                Line("optimum reached", np.array([points.condition_number for points in found.values()])),
            ),
            log=True,
        ),
    )


def _reached(r: int, points: OptimalPoints) -> Finding:
    printed = PrintedSequence.of(r, "optimum").cond.value if r in IDENTIFIED else PUBLISHED_OPTIMA[r]
    w = sequences.chained(sequences.energies(sequences.robot_model(), Motion.at(points.q, points.qd)), r)[0]
    values = ", ".join(f"{value:.4g}" for value in points.values[:6])
    return at_most(
        f"cond(W) of the optimum sequence, r = {r}",
        printed,
        float(np.linalg.cond(w)),
        TERMS_OF_TABLE_2,
        f"best starts: {values}; {points.evaluations} evaluations",
    )


def _inside(points: OptimalPoints) -> bool:
    limits = PointVariables.of(sequences.robot_model(), len(points.q))
    kept = (points.q >= limits.lower) & (points.q <= limits.upper) & (np.abs(points.qd) <= limits.velocity)
    return bool(kept.all())


# -- condition number and equilibrium together (18) --------------------------------------------------------------------


@dataclass(frozen=True)
class WeightedOptimum:
    """One optimum of log cond + weight · log S; seed: of the nudge."""

    r: int
    weight: float
    seed: int
    cond: float
    equilibrium: float


def equilibrium_part(optima: Mapping[int, OptimalPoints], effort: Effort) -> Part:
    weights, seeds = effort.pick((0.6,), (0.3, 0.6)), range(effort.pick(1, 5))
    method = QuasiNewton(effort.pick(300, 3000))
    pairs = [paired(points, weight, seed, method) for points in optima.values() for weight in weights for seed in seeds]
    return Part(
        "Equations (18), (19), section 6.2",
        "Condition number and equilibrium S together",
        f"{sequences.assumed_limits()}. λ₁ and λ₂ of (18) are not printed. Here log cond(W) + w log S is minimised for "
        "several w, which has the same optima as (18) with λ₂/λ₁ = w cond/S, by smooth stand-ins for both, from the "
        f"optimum of cond(W) alone, moved by {sequences.OPTIMUM_NUDGE_STD} in x (normally distributed, {len(seeds)} "
        "from seed 0 "
        "on). The published pair is compared with the result for which the larger of the two ratios to it is smallest.",
        tuple(finding for r, points in optima.items() for finding in _judged(r, points, pairs)),
        DataTable(
            "equilibrium",
            "cond(W) and S at the optima of log cond + w log S",
            ("r", "w", "seed", "cond(W)", "S", "cond(W), published", "S, published"),
            [
                [pair.r, pair.weight, pair.seed, pair.cond, pair.equilibrium, *_printed(pair.r)]
                for pair in sorted(pairs, key=lambda pair: (pair.r, pair.cond))
            ],
        ),
        tuple(_figure(r, pairs) for r in optima),
        "The published pairs belong to limits and weights that we do not know.",
    )


def paired(points: OptimalPoints, weight: float, seed: int, method: QuasiNewton) -> WeightedOptimum:
    r = len(points.q) - 1
    w = sequences.chained(
        sequences.energies(sequences.robot_model(), sequences.balanced(points, weight, seed, method)), r
    )
    return WeightedOptimum(r, weight, seed, float(np.linalg.cond(w[0])), float(sequences.equilibria(w)[0]))


def _printed(r: int) -> tuple[float, float]:
    printed = PrintedSequence.of(r, "optimum")
    return printed.cond.value, printed.equilibrium.value


def _judged(r: int, points: OptimalPoints, pairs: Sequence[WeightedOptimum]) -> Sequence[Finding]:
    cond, equilibrium = _printed(r)
    mine = [pair for pair in pairs if pair.r == r]

    def ratio(pair: WeightedOptimum) -> float:
        return max(pair.cond / cond, pair.equilibrium / equilibrium)

    best = min(mine, key=ratio)
    listed = "; ".join(f"{pair.cond:.4g} and {pair.equilibrium:.4g}" for pair in sorted(mine, key=lambda p: p.cond))
    w = sequences.chained(sequences.energies(sequences.robot_model(), Motion.at(points.q, points.qd)), r)
    with np.errstate(divide="ignore"):
        alone = float(sequences.equilibria(w)[0])
    return (
        at_most(
            f"larger of cond(W) and S over the published {cond:g} and {equilibrium:g}, r = {r}",
            1.0,
            ratio(best),
            TERMS_OF_PAIRS,
            f"pairs of cond(W) and S over all w and seeds: {listed}. Limits are fitted and weights unknown; without S "
            f"the optimum reached here is {points.condition_number:.4g}",
        ),
        shown(f"cond(W), r = {r}, both in the criterion", best.cond, f"w = {best.weight:g}"),
        shown(f"S, r = {r}, both in the criterion", best.equilibrium, f"w = {best.weight:g}"),
        shown(f"S, r = {r}, cond(W) alone in the criterion", alone, "elements that vanish cost nothing then"),
    )


def _figure(r: int, pairs: Sequence[WeightedOptimum]) -> Plot:
    mine = sorted((pair for pair in pairs if pair.r == r), key=lambda pair: pair.cond)
    cond, equilibrium = _printed(r)
    x = np.array([*(pair.cond for pair in mine), cond])
    order = np.argsort(x)
    gap = [np.nan]
    reached = np.array([*(pair.equilibrium for pair in mine), *gap])[order]
    published = np.array([*(gap * len(mine)), equilibrium])[order]
    return Plot(
        f"S over cond(W), r = {r}",
        x[order],
        "cond(W)",
        "S",
        (Line("reached", reached, points=True), Line("published", published, points=True)),
        log=True,
    )
