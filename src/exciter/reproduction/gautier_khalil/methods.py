"""Sections 4.1 to 4.3: the three measures of the condition number, the change of variables, the three optimisers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import binomtest

from exciter.excitation.criteria import (
    AnyCriterion,
    Columns,
    ConditionNumber,
    EnergyRows,
    FrobeniusCondition,
    QrCondition,
)
from exciter.excitation.criteria.criterion import Objective
from exciter.excitation.criteria.sums import Logarithm
from exciter.excitation.optimiser.points import Method, NelderMead, PointVariables, Powell, QuasiNewton
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, claim, same, shown
from exciter.reproduction.gautier_khalil.search import Descent, PointProblem, descend
from exciter.reproduction.gautier_khalil.sequences import PUBLISHED, assumed_limits, robot_model
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.typing import Array

OPTIMUM: dict[int, float] = PUBLISHED["table_2"]["optimum"]
MEASURES: dict[str, AnyCriterion] = {"SVD": ConditionNumber(), "QR": QrCondition(), "Frobenius": FrobeniusCondition()}
DIFFERENCES = "quasi-Newton, differences"
METHODS: dict[str, Method] = {
    "Nelder–Mead": NelderMead(10**6),
    DIFFERENCES: QuasiNewton(10**6),
    "Powell": Powell(10**6),
}
EXACT = "quasi-Newton, exact gradient"
EXACT_BUDGET = 250  # evaluations with exact gradients
JUDGED = min(OPTIMUM)  # r at which optimisers are compared in any run
PER_VARIABLE = 20  # evaluations after which they are
SIMILAR = 2.0  # ratio up to which results count as similar


def run(effort: Effort) -> Sequence[Part]:
    return (_variables(), _measures(effort), _optimisers(effort))


# -- 4.2: the change of variables --------------------------------------------------------------------------------------


def _variables() -> Part:
    findings = []
    for r, printed in PUBLISHED["variables"].items():
        findings.append(same(f"variables n_d that W depends on, r = {r}", printed, _felt(r), 0.0))
    variables = PointVariables.of(robot_model().robot, max(OPTIMUM) + 1)
    motion = variables.motion(10.0 * np.random.default_rng(0).standard_normal(variables.size))
    inside = (motion.q >= variables.lower) & (motion.q <= variables.upper) & (np.abs(motion.qd) <= variables.velocity)
    return Part(
        "Sections 4.2, 4.3",
        "Change of variables",
        "q = q_I + (q_F − q_I) sin² x, q̇ = q̇_M sin x. Variables are counted by the exact gradient of cond(W) at a "
        "random point (seed 0): those with a slope are the ones that matter; q1 has none, (23b). The ranges of the "
        "index j printed in 4.2 must both be 1 … n.",
        (
            *findings,
            claim("points keep the limits for any x", bool(inside.all()), f"{inside.size} coordinates, x of size 10"),
        ),
    )


def _felt(r: int) -> int:
    """Variables, of all 2 n (r + 1), with a slope."""
    model = robot_model()
    variables = PointVariables.of(model.robot, r + 1)
    x = np.random.default_rng(0).standard_normal(variables.size)
    objective = Objective(model, ConditionNumber(), Columns.of(model, None), np.ones(model.n), EnergyRows())
    gradient = objective.value_and_gradient(variables.motion(x))[1]
    slope = np.abs(variables.pullback(x, gradient.q, gradient.qd))
    return int((slope > 1e-9 * slope.max()).sum())


# -- 4.1: three measures of the condition number -----------------------------------------------------------------------


def _measures(effort: Effort) -> Part:
    starts, budget = effort.pick(2, 6), effort.pick(150, 1500)
    runs: dict[tuple[int, str], list[Descent]] = {}
    for r in OPTIMUM:
        for name, criterion in MEASURES.items():
            problem = PointProblem(robot_model(), r, Logarithm(criterion))
            runs[r, name] = [descend(problem, QuasiNewton(), problem.start(seed), budget) for seed in range(starts)]
    medians = {key: float(np.median([one.cond for one in found])) for key, found in runs.items()}
    spread = {r: max(medians[r, m] for m in MEASURES) / min(medians[r, m] for m in MEASURES) for r in OPTIMUM}
    best = all(medians[r, "Frobenius"] == min(medians[r, m] for m in MEASURES) for r in OPTIMUM)
    words = "; ".join(f"r = {r}: " + ", ".join(f"{name} {medians[r, name]:.3g}" for name in MEASURES) for r in OPTIMUM)
    largest = max(OPTIMUM)
    return Part(
        "Section 4.1",
        "Three measures of the condition number, minimised",
        f"{assumed_limits()}. The logarithm of each measure is minimised by a quasi-Newton method with exact "
        f"gradients from the same {starts} starts (x normally distributed, seeds 0 to {starts - 1}), at most {budget} "
        f"evaluations each; "
        "whatever is minimised, cond(W) in the 2-norm is compared. The paper does not say which of its optimisers was "
        f"used for the comparison. Results count as similar up to a ratio of {SIMILAR:g} between the medians.",
        (
            claim(
                "similar results with the three measures",
                max(spread.values()) <= SIMILAR,
                f"medians of cond(W) over starts: {words}. The 2-norm has a kink wherever singular values meet and "
                "the QR estimate one wherever pivots change; both stop there, the Frobenius norm is smooth",
            ),
            claim("the Frobenius condition of WᵀW converges best", best, f"medians of cond(W): {words}"),
        ),
        (
            DataTable(
                "measures",
                f"cond(W) reached by minimising each measure, {starts} starts",
                ("r", "measure", "best", "median", "worst", "evaluations, median"),
                [
                    [
                        r,
                        name,
                        *(float(of([one.cond for one in found])) for of in (np.min, np.median, np.max)),
                        float(np.median([one.evaluations for one in found])),
                    ]
                    for (r, name), found in runs.items()
                ],
            ),
        ),
        (
            _convergence(
                f"Convergence with the three measures, r = {largest} (median of {starts} starts)",
                {name: runs[largest, name] for name in MEASURES},
                budget,
            ),
        ),
    )


# -- 4.3: three optimisers ---------------------------------------------------------------------------------------------


def _optimisers(effort: Effort) -> Part:
    sizes, starts = effort.pick((JUDGED,), tuple(OPTIMUM)), effort.pick(4, 6)
    spent = effort.pick(PER_VARIABLE, 2 * PER_VARIABLE)
    runs = {r: _methods(r, spent, starts) for r in sizes}
    reached = {
        (r, each): {name: _after(found, each * _problem(r).size) for name, found in runs[r].items()}
        for r in sizes
        for each in (PER_VARIABLE, spent)
    }
    judged, largest = reached[JUDGED, PER_VARIABLE], max(sizes)
    return Part(
        "Section 4.3",
        "Three optimisers",
        f"{assumed_limits()}. Nelder–Mead, quasi-Newton with derivatives by differences, and Powell 1964, from "
        f"{starts} "
        "starts (x normally distributed, seeds 0, 1, …; Nelder–Mead, which is far behind, from the first alone) on the "
        f"logarithm of the Frobenius condition, {spent} evaluations per variable each. The statement is judged at r = "
        f"{JUDGED} after {PER_VARIABLE} per variable, by the medians. How many the paper spent is not printed. Methods "
        "are SciPy's, not the programs of the Harwell library, and n_d variables without q1 are free. The derivative "
        "of the quasi-Newton method is exact here and charged as n_d + 1 evaluations, the price of forward "
        "differences. Beside them the same method with exact gradients charged once, which is how points are found "
        "here.",
        (
            powell_best(judged["Nelder–Mead"], judged[DIFFERENCES], judged["Powell"]),
            *(
                shown(
                    f"median cond(W) from one start, r = {JUDGED}, {name}",
                    float(np.median(judged[name])),
                    f"the published optimum is {OPTIMUM[JUDGED]}; {len(judged[name])} starts, "
                    f"{EXACT_BUDGET if name == EXACT else PER_VARIABLE * _problem(JUDGED).size} evaluations each",
                )
                for name in ("Powell", EXACT)
            ),
            _affordable(max(OPTIMUM)),
        ),
        (
            DataTable(
                "optimisers",
                "Median cond(W) over starts after so many evaluations",
                ("r", "n_d", "evaluations", *METHODS, EXACT),
                [
                    [r, _problem(r).size, each * _problem(r).size, *(float(np.median(v)) for v in found.values())]
                    for (r, each), found in reached.items()
                ],
            ),
        ),
        (
            _convergence(
                f"Convergence of the optimisers, r = {largest} (median over starts)",
                runs[largest],
                spent * _problem(largest).size,
            ),
        ),
    )


def powell_best(simplex: Array, differences: Array, powell: Array) -> Finding:
    """cond(W) by method, per start; of the simplex perhaps from fewer starts."""
    wins = int((powell < differences).sum())
    chance = float(binomtest(wins, len(powell)).pvalue)
    best = np.median(powell) < np.median(differences) and (powell[: len(simplex)] < simplex).all()
    return claim(
        f"Powell's method gives the best results of the three, r = {JUDGED}",
        bool(best),
        f"medians of cond(W): Powell {np.median(powell):.3g}, quasi-Newton with differences "
        f"{np.median(differences):.3g}, Nelder–Mead {np.median(simplex):.3g}. Powell is ahead of quasi-Newton from "
        f"{wins} of {len(powell)} starts (sign test: p = {chance:.2g}). The order depends on the number of evaluations "
        "and on r",
    )


def _problem(r: int) -> PointProblem:
    return PointProblem(robot_model(), r, Logarithm(FrobeniusCondition()))


def price(problem: PointProblem, method: str) -> int:
    """Evaluations that one call of the function stands for."""
    return problem.size + 1 if method == DIFFERENCES else 1


def _methods(r: int, spent: int, starts: int) -> dict[str, list[Descent]]:
    problem = _problem(r)
    budget = spent * problem.size
    found = {
        name: [
            descend(
                problem,
                method,
                problem.start(seed),
                budget,
                gradient=name == DIFFERENCES,
                price=price(problem, name),
            )
            for seed in range(1 if name == "Nelder–Mead" else starts)
        ]
        for name, method in METHODS.items()
    }
    found[EXACT] = [descend(problem, QuasiNewton(), problem.start(seed), EXACT_BUDGET) for seed in range(starts)]
    return found


def _after(found: Sequence[Descent], evaluations: int) -> Array:
    return np.array([one.after(np.array([evaluations]))[0] for one in found])


def _affordable(r: int) -> Finding:
    """Multiplications and additions of WᵀW, r b (b + 1), and of its inverse, b³."""
    b = len(robot_model().base.independent)
    operations = r * b * (b + 1) + b**3
    computer = PUBLISHED["computer"]
    most = computer["mflops"] * 1e6 * 60.0 * computer["minutes"] / operations
    return shown(
        f"evaluations that {computer['minutes']} minutes at {computer['mflops']} Mflop/s can pay for, r = {r}, at most",
        float(f"{most:.2g}"),
        f"{operations} operations for WᵀW and its inverse alone",
    )


def _convergence(title: str, runs: Mapping[str, Sequence[Descent]], budget: int) -> Plot:
    x = np.geomspace(1.0, budget, 200)
    lines = [
        Line(name, np.median([np.where(x <= one.evaluations, one.after(x), one.cond) for one in found], axis=0))
        for name, found in runs.items()
    ]
    return Plot(title, np.log10(x), "log₁₀ of the evaluations", "cond(W)", lines, log=True)
