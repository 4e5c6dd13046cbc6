"""Table 2, optimum column: points that minimise the condition number, and the same with the equilibrium term S."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exciter.excitation.optimiser.points import OptimalPoints, PointSearch, PointVariables, QuasiNewton, optimise_points
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, at_most, claim
from exciter.reproduction.gautier_khalil.equilibrium import equilibrium_part
from exciter.reproduction.gautier_khalil.printed import IDENTIFIED, PrintedSequence
from exciter.reproduction.gautier_khalil.sequences import PUBLISHED, assumed_limits, chained, energies, robot_model
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.robot.motion import Motion

OPTIMUM: dict[int, float] = PUBLISHED["table_2"]["optimum"]
MORE = 50  # equations at which the paper's optimisation failed


def search(r: int, effort: Effort) -> PointSearch:
    """Starts that are explored, and those that are carried through; a quick run has fewer."""
    if not effort.quick:
        return PointSearch(equations=r, starts=4, keep=1) if r == MORE else PointSearch(equations=r)
    if r == MORE:
        return PointSearch(equations=r, starts=1, keep=1, explore=100, method=QuasiNewton(300))
    starts, keep, explore = {15: (12, 2, 150), 20: (8, 1, 150), 30: (8, 2, 200)}[r]
    return PointSearch(equations=r, starts=starts, keep=keep, explore=explore, method=QuasiNewton(800))


def run(effort: Effort) -> Sequence[Part]:
    searches = {r: search(r, effort) for r in (*OPTIMUM, MORE)}
    found = {r: optimise_points(robot_model(), one) for r, one in searches.items()}
    return (_table_2(searches, found), equilibrium_part({r: found[r] for r in sorted(IDENTIFIED)}, effort))


def _table_2(searches: Mapping[int, PointSearch], found: Mapping[int, OptimalPoints]) -> Part:
    random = PUBLISHED["table_2"]["random"]
    starts = ", ".join(f"{one.starts} at r = {r}, of which {one.keep} to the end" for r, one in searches.items())
    more = found[MORE]
    return Part(
        "Table 2, optimum",
        "Condition number of W for optimal sequences of r + 1 points",
        f"{assumed_limits()}. Points are found by limited-memory BFGS with exact gradients in the variables of 4.2, "
        f"by way of smooth stand-ins for the 2-norm condition number, from normally distributed starts (seed 0): "
        f"{starts}. "
        "Exact figures of the published optima are printed at the foot of Tables 4 and 8. The paper minimised cond(W) "
        "and S together with weights that it does not print; here cond(W) alone, and with S in the next part.",
        (
            *(_beaten(r, found[r]) for r in OPTIMUM),
            claim("all optimal points keep the limits on q and q̇", all(_inside(points) for points in found.values())),
            claim(
                f"for r ≥ {MORE} the optimisation fails because of the number of variables",
                more.condition_number > min(OPTIMUM.values()),
                f"r = {MORE}: cond(W) = {more.condition_number:.4g} after {more.evaluations} evaluations; the smallest "
                f"published optimum is {min(OPTIMUM.values())}, at r = {max(OPTIMUM)}. With exact gradients the "
                "number of evaluations hardly grows with the number of variables",
            ),
        ),
        (
            DataTable(
                "table-2-optimum",
                "cond(W) of the starts that were carried through",
                ("r", "published", "best", "median", "worst", "evaluations"),
                [
                    [
                        r,
                        OPTIMUM.get(r),
                        *(float(of(points.values)) for of in (np.min, np.median, np.max)),
                        points.evaluations,
                    ]
                    for r, points in found.items()
                ],
            ),
        ),
        (
            Plot(
                "Random and optimal sequences",
                np.array(list(found), dtype=float),
                "number of equations r",
                "cond(W)",
                (
                    Line("published mean of random sequences", np.array([random[r][1] for r in found])),
                    Line("published optimum", np.array([OPTIMUM.get(r, np.nan) for r in found], dtype=float)),
                    Line("optimum reached", np.array([points.condition_number for points in found.values()])),
                ),
                log=True,
            ),
        ),
    )


def _beaten(r: int, points: OptimalPoints) -> Finding:
    printed = PrintedSequence.of(r, "optimum").cond.value if r in IDENTIFIED else OPTIMUM[r]
    w = chained(energies(robot_model(), Motion.at(points.q, points.qd)), r)[0]
    values = ", ".join(f"{value:.4g}" for value in points.values[:6])
    return at_most(
        f"cond(W) of the optimum sequence, r = {r}",
        printed,
        float(np.linalg.cond(w)),
        f"best starts: {values}; {points.evaluations} evaluations",
    )


def _inside(points: OptimalPoints) -> bool:
    limits = PointVariables.of(robot_model().robot, len(points.q))
    kept = (points.q >= limits.lower) & (points.q <= limits.upper) & (np.abs(points.qd) <= limits.velocity)
    return bool(kept.all())
