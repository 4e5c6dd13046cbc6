"""Sections 4.1 to 4.3: the three measures of the condition number, the change of variables, the three optimisers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.stats import binomtest

import exciter as ex
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, EnergyRows
from exciter.excitation.criteria.optimality_and_condition import FrobeniusCondition, QrCondition
from exciter.excitation.criteria.weighted_sums import Logarithm
from exciter.excitation.experiments.points import Minimiser, NelderMead, PointVariables, Powell, QuasiNewton
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.gautier_khalil.sequences import ENERGY_PAPER_FIGURES, assumed_limits, robot_model
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, same, shown, undecided

# -- one descent from one start ----------------------------------------------------------------------------------------


class BudgetSpentError(Exception):
    """The evaluations are used up; methods of SciPy have no common way to be told so."""


@dataclass(frozen=True, eq=False)
class PointProblem:
    """f(x) over r + 1 points, in the variables of (23b): W does not depend on q1."""

    model: ex.DynamicModel
    r: int
    criterion: AnyCriterion

    @cached_property
    def variables(self) -> PointVariables:
        return PointVariables.of(self.model, self.r + 1)

    @property
    def size(self) -> int:
        """n_d of (23b)."""
        return self.variables.size

    def start(self, seed: int) -> Array:
        """Normally distributed, as in 4.3."""
        return np.random.default_rng(seed).standard_normal(self.size)

    def cond(self, x: Array) -> float:
        """cond(W) in the 2-norm, whatever is minimised."""
        return evaluate(self.model, self.variables.motion(x), 1.0, None, EnergyRows()).condition_number


@dataclass(eq=False)
class CountedObjective:
    """f and ∂f/∂x, counted. gradient: whether the method uses it; price: evaluations that one call stands for."""

    problem: PointProblem
    budget: int
    gradient: bool = True
    price: int = 1
    spent: int = 0
    better: list[tuple[int, float, Array]] = field(default_factory=list)  #: (evaluations, value, x) of improvements

    def __post_init__(self) -> None:
        problem = self.problem
        columns = DesignColumns.of(problem.model, None)
        self._objective = DesignObjective(
            problem.model, problem.criterion, columns, np.ones(problem.model.n), EnergyRows()
        )

    def __call__(self, x: Array) -> tuple[float, Array]:
        if self.spent + self.price > self.budget:
            raise BudgetSpentError
        self.spent += self.price
        variables = self.problem.variables
        if self.gradient:
            value, gradient = variables.value_and_gradient(self._objective, x)
        else:
            value, gradient = self._objective.value(variables.motion(x)), np.zeros_like(x)
        if not self.better or value < self.better[-1][1]:
            self.better.append((self.spent, value, x.copy()))
        return value, gradient


@dataclass(frozen=True, eq=False)
class Descent:
    """cond(W) at the best x found; evaluations spent; history (K, 2): evaluations and cond(W) on the way."""

    cond: float
    evaluations: int
    history: Array

    def after(self, evaluations: Array) -> Array:
        """cond(W) that holds after so many evaluations; NaN before the first."""
        at = np.searchsorted(self.history[:, 0], evaluations, side="right") - 1
        found: Array = np.where(at >= 0, self.history[np.maximum(at, 0), 1], np.nan)
        return found

    def held(self, evaluations: Array) -> Array:
        """The same for a method that may have stopped before."""
        return np.asarray(np.where(evaluations <= self.evaluations, self.after(evaluations), self.cond))


def descend(
    problem: PointProblem, method: Minimiser, start: Array, budget: int, *, gradient: bool = True, price: int = 1
) -> Descent:
    """From one start until the method stops or the budget is spent."""
    function = CountedObjective(problem, budget, gradient, price)
    with suppress(BudgetSpentError):
        method.minimise(function, start)
    kept = np.unique(np.geomspace(1, len(function.better), 40).astype(int)) - 1
    history = np.array([(spent, problem.cond(x)) for spent, _, x in (function.better[k] for k in kept)])
    return Descent(float(history[-1, 1]), function.spent, history)


OPTIMA_OF_TABLE_2: dict[int, float] = ENERGY_PAPER_FIGURES["table_2"]["optimum"]
CONDITION_MEASURES: dict[str, AnyCriterion] = {
    "SVD": ex.ConditionNumber(),
    "QR": QrCondition(),
    "Frobenius": FrobeniusCondition(),
}
DIFFERENCES = "quasi-Newton, differences"
METHODS: dict[str, Minimiser] = {
    "Nelder–Mead": NelderMead(10**6),
    DIFFERENCES: QuasiNewton(10**6),
    "Powell": Powell(10**6),
}
EXACT_QUASI_NEWTON = "quasi-Newton, exact gradient"
EXACT_BUDGET = 250  # evaluations with exact gradients
JUDGED = 30  # r of section 6.2, whose computing time is printed
JUDGED_QUICKLY = 15  # r of a quick run
EVALUATIONS_PER_VARIABLE = 20  # of a quick run
UNCERTAIN_PRICE_FACTOR = 10.0  # by which an evaluation may have cost more than its matrix operations
ORDER_FALSE_ALARM_CHANCE = 0.05  # of the order of two optimisers, starts being few
SIMILAR_RESULT_RATIO = 2.0  # ratio up to which results count as similar


def run(effort: Effort) -> Sequence[Part]:
    return (_variables(), _measures(effort), _optimisers(effort))


# -- 4.2: the change of variables --------------------------------------------------------------------------------------


def _variables() -> Part:
    findings = []
    for r, printed in ENERGY_PAPER_FIGURES["variables"].items():
        findings.append(same(f"variables n_d that W depends on, r = {r}", printed, _felt(r), 0.0))
    variables = PointVariables.of(robot_model(), max(OPTIMA_OF_TABLE_2) + 1)
    motion = variables.motion(10.0 * np.random.default_rng(0).standard_normal(variables.size))
    inside = (motion.q >= variables.lower) & (motion.q <= variables.upper) & (np.abs(motion.qd) <= variables.velocity)
    return Part(
        "Sections 4.2, 4.3",
        "Change of variables",
        "q = q_I + (q_F − q_I) sin² x, q̇ = q̇_M sin x. Variables are counted by the exact gradient of cond(W) at a "
        "random point (seed 0): those with a slope are the ones that matter; q1 is none, (23b). The ranges of the "
        "index j printed in 4.2 must both be 1 … n.",
        (
            *findings,
            claim("points keep the limits for any x", inside.all(), f"{inside.size} coordinates, x of size 10"),
        ),
    )


def _felt(r: int) -> int:
    """Variables with a slope."""
    model = robot_model()
    variables = PointVariables.of(model, r + 1)
    x = np.random.default_rng(0).standard_normal(variables.size)
    objective = DesignObjective(
        model, ex.ConditionNumber(), DesignColumns.of(model, None), np.ones(model.n), EnergyRows()
    )
    gradient = objective.value_and_gradient(variables.motion(x))[1]
    slope = np.abs(variables.pullback(x, gradient.q, gradient.qd))
    return int((slope > 1e-9 * slope.max()).sum())


# -- 4.1: three measures of the condition number -----------------------------------------------------------------------


def _measures(effort: Effort) -> Part:
    starts, budget = effort.pick(2, 6), effort.pick(150, 1500)
    runs: dict[tuple[int, str], list[Descent]] = {}
    for r in OPTIMA_OF_TABLE_2:
        for name, criterion in CONDITION_MEASURES.items():
            problem = PointProblem(robot_model(), r, Logarithm(criterion))
            runs[r, name] = [descend(problem, QuasiNewton(), problem.start(seed), budget) for seed in range(starts)]
    medians = {key: float(np.median([one.cond for one in found])) for key, found in runs.items()}
    spread = {
        r: max(medians[r, m] for m in CONDITION_MEASURES) / min(medians[r, m] for m in CONDITION_MEASURES)
        for r in OPTIMA_OF_TABLE_2
    }
    best = all(medians[r, "Frobenius"] == min(medians[r, m] for m in CONDITION_MEASURES) for r in OPTIMA_OF_TABLE_2)
    words = "; ".join(
        f"r = {r}: " + ", ".join(f"{name} {medians[r, name]:.3g}" for name in CONDITION_MEASURES)
        for r in OPTIMA_OF_TABLE_2
    )
    largest = max(OPTIMA_OF_TABLE_2)
    return Part(
        "Section 4.1",
        "Three measures of the condition number, minimised",
        f"{assumed_limits()}. The logarithm of each measure is minimised by a quasi-Newton method with exact "
        f"gradients from the same {starts} starts (x normally distributed, seeds 0 to {starts - 1}), at most {budget} "
        f"evaluations each; "
        "whatever is minimised, cond(W) in the 2-norm is compared. The paper does not say which of its optimisers was "
        f"used for the comparison. Results count as similar up to a ratio of {SIMILAR_RESULT_RATIO:g} between the "
        "medians.",
        (
            claim(
                "similar results with the three measures",
                max(spread.values()) <= SIMILAR_RESULT_RATIO,
                f"medians of cond(W) over starts: {words}. The 2-norm has a kink wherever singular values meet and "
                "the QR estimate one wherever pivots change; both stop there, the Frobenius norm is smooth",
            ),
            claim("the Frobenius condition of WᵀW converges best", best, f"medians of cond(W): {words}"),
        ),
        DataTable(
            "measures",
            f"cond(W) reached by minimising each measure, {starts} starts",
            ("r", "measure", "best", "median", "worst", "evaluations, median"),
            [
                [
                    r,
                    name,
                    *(of([one.cond for one in found]) for of in (np.min, np.median, np.max)),
                    np.median([one.evaluations for one in found]),
                ]
                for (r, name), found in runs.items()
            ],
        ),
        _convergence(
            f"Convergence with the three measures, r = {largest} (median of {starts} starts)",
            {name: runs[largest, name] for name in CONDITION_MEASURES},
            budget,
        ),
    )


# -- 4.3: three optimisers ---------------------------------------------------------------------------------------------


def _optimisers(effort: Effort) -> Part:
    r, starts = effort.pick(JUDGED_QUICKLY, JUDGED), effort.pick(4, 6)
    paid = affordable(r)
    problem = _problem(r)
    runs = _methods(r, effort.pick(EVALUATIONS_PER_VARIABLE * problem.size, paid), starts)
    counts = np.geomspace(paid / UNCERTAIN_PRICE_FACTOR, paid, 9)
    early = EVALUATIONS_PER_VARIABLE * problem.size
    rows = [early, *([] if effort.quick else counts[::2])]
    reached = {name: np.array([one.held(np.array(rows)) for one in found]) for name, found in runs.items()}
    curves = {name: np.array([one.held(counts) for one in found]) for name, found in runs.items()}
    computer = ENERGY_PAPER_FIGURES["computer"]
    return Part(
        "Section 4.3",
        "Three optimisers",
        f"{assumed_limits()}. Nelder–Mead, quasi-Newton with derivatives by differences, and Powell 1964, r = {r}, "
        f"from {starts} starts (x normally distributed, seeds 0, 1, …; Nelder–Mead, which is far behind, from the "
        "first alone) on the logarithm of the Frobenius condition. No number of evaluations is printed, but time, "
        f"{computer['minutes']} minutes, and the speed of the computer, {computer['mflops']} Mflop/s, which pay for "
        f"{paid:.2g} evaluations at most; what else an evaluation costs is not known, so that the statement is judged "
        f"at every number from {paid / UNCERTAIN_PRICE_FACTOR:.2g} to that: met where Powell is ahead throughout, "
        f"differs where it is behind throughout (sign test of the starts, {ORDER_FALSE_ALARM_CHANCE:g}), otherwise "
        "undecided. Methods are SciPy's, not the programs of the Harwell library, and n_d variables without q1 are "
        "free. The derivative of the quasi-Newton method is exact here and charged as n_d + 1 evaluations, the price "
        "of forward differences. Beside them the same method with exact gradients charged once, which is how points "
        "are found here.",
        (
            powell_best(curves, counts, early if effort.quick else paid),
            *(
                shown(
                    f"median cond(W) from one start, {name}",
                    np.median(reached[name][:, 0]),
                    f"r = {r}, where the published optimum is {OPTIMA_OF_TABLE_2[r]}; {len(reached[name])} starts, "
                    f"{EXACT_BUDGET if name == EXACT_QUASI_NEWTON else early} evaluations each",
                )
                for name in ("Powell", EXACT_QUASI_NEWTON)
            ),
            shown(
                f"evaluations that {computer['minutes']} minutes at {computer['mflops']} Mflop/s can pay for, r = "
                f"{JUDGED}, at most",
                affordable(JUDGED),
                f"{_operations(JUDGED)} operations for WᵀW and its inverse alone",
            ),
        ),
        DataTable(
            "optimisers",
            "Median cond(W) over starts after so many evaluations",
            ("r", "n_d", "evaluations", *METHODS, EXACT_QUASI_NEWTON),
            [
                [r, problem.size, round(count), *(np.median(v[:, k]) for v in reached.values())]
                for k, count in enumerate(rows)
            ],
        ),
        _convergence(
            f"Convergence of the optimisers, r = {r} (median over starts)",
            runs,
            max(one.evaluations for found in runs.values() for one in found),
        ),
    )


def powell_best(curves: Mapping[str, Array], counts: Array, spent: int) -> Finding:
    """cond(W) (starts, k) by method, at the numbers of evaluations (k,) that the paper may have had; of the simplex
    perhaps from fewer starts. spent: evaluations that were run."""
    statement = "Powell's method gives the best results of the three"
    powell, differences, simplex = (curves[name] for name in ("Powell", DIFFERENCES, "Nelder–Mead"))
    middle = {name: np.median(values, axis=0) for name, values in curves.items() if name in METHODS}
    listed = ", ".join(f"{name} {values[0]:.3g} … {values[-1]:.3g}" for name, values in middle.items())
    if spent < counts[0]:
        return undecided(
            statement,
            f"the number of evaluations is not printed, and this quick run spent {spent}, fewer than the paper's time "
            f"pays for ({counts[-1]:.2g} at most); medians of cond(W) so far: {listed}",
        )
    wins = (powell < differences).sum(axis=0)
    ahead = np.array([binomtest(int(k), len(powell)).pvalue < ORDER_FALSE_ALARM_CHANCE for k in wins])
    best = (middle["Powell"] < middle[DIFFERENCES]) & (powell[: len(simplex)] < simplex).all(axis=0)
    note = (
        f"medians of cond(W) after {counts[0]:.2g} … {counts[-1]:.2g} evaluations: {listed}. Powell is ahead of "
        f"quasi-Newton from {wins.min()} … {wins.max()} of {len(powell)} starts. The number of evaluations is not "
        "printed, only what its time can pay for at most, and the programs are not those of the paper"
    )
    if (ahead & best).all() or (ahead & ~best).all():
        return claim(statement, bool(best.all()), note)
    return undecided(statement, note)


def _problem(r: int) -> PointProblem:
    return PointProblem(robot_model(), r, Logarithm(FrobeniusCondition()))


def price(problem: PointProblem, method: str) -> int:
    """Evaluations that one call of the function stands for."""
    return problem.size + 1 if method == DIFFERENCES else 1


def _methods(r: int, budget: int, starts: int) -> dict[str, list[Descent]]:
    problem = _problem(r)
    found = {
        name: [
            descend(
                problem, method, problem.start(seed), budget, gradient=name == DIFFERENCES, price=price(problem, name)
            )
            for seed in range(1 if name == "Nelder–Mead" else starts)
        ]
        for name, method in METHODS.items()
    }
    found[EXACT_QUASI_NEWTON] = [
        descend(problem, QuasiNewton(), problem.start(seed), EXACT_BUDGET) for seed in range(starts)
    ]
    return found


def _operations(r: int) -> int:
    """Multiplications and additions of WᵀW, r b (b + 1), and of its inverse, b³."""
    b = len(robot_model().base.independent)
    return r * b * (b + 1) + b**3


def affordable(r: int) -> int:
    """Evaluations that the printed time and speed of the computer pay for, at most; two digits."""
    computer = ENERGY_PAPER_FIGURES["computer"]
    return int(float(f"{computer['mflops'] * 1e6 * 60.0 * computer['minutes'] / _operations(r):.2g}"))


def _convergence(title: str, runs: Mapping[str, Sequence[Descent]], budget: int) -> Plot:
    x = np.geomspace(1.0, budget, 200)
    lines = [Line(name, np.median([one.held(x) for one in found], axis=0)) for name, found in runs.items()]
    return Plot(title, np.log10(x), "log₁₀ of the evaluations", "cond(W)", lines, log=True)
