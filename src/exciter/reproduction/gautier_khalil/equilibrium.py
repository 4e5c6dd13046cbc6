"""The criterion (18): condition number and equilibrium S together, and what one costs of the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exciter.excitation.criteria import Columns, EnergyRows, WeightedSum
from exciter.excitation.criteria.criterion import Objective
from exciter.excitation.criteria.gram import SoftCondition
from exciter.excitation.criteria.sums import Logarithm
from exciter.excitation.optimiser.points import OptimalPoints, PointVariables, QuasiNewton
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Finding, at_most, shown
from exciter.reproduction.gautier_khalil.printed import PrintedSequence
from exciter.reproduction.gautier_khalil.sequences import assumed_limits, chained, energies, equilibria, robot_model
from exciter.reproduction.gautier_khalil.soft_equilibrium import SoftEquilibrium
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.robot.motion import Motion
from exciter.typing import Array

POWERS = ((1.0, 4.0), (4.0, 8.0), (16.0, 16.0), (64.0, 32.0))  # of the stand-ins for S and for cond(W), by stage
NUDGE = 0.03  # standard deviation of x about the optimum; points on a limit have no slope, and elements of W vanish


@dataclass(frozen=True)
class Pair:
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
        f"{assumed_limits()}. λ₁ and λ₂ of (18) are not printed. Here log cond(W) + w log S is minimised for several "
        "w, which has the same optima as (18) with λ₂/λ₁ = w cond/S, by smooth stand-ins for both, from the optimum "
        "of cond(W) "
        f"alone, moved by {NUDGE} in x (normally distributed, {len(seeds)} from seed 0 on). The published "
        "pair is compared with the result for which the larger of the two ratios to it is smallest.",
        tuple(finding for r, points in optima.items() for finding in _judged(r, points, pairs)),
        (
            DataTable(
                "equilibrium",
                "cond(W) and S at the optima of log cond + w log S",
                ("r", "w", "seed", "cond(W)", "S", "cond(W), published", "S, published"),
                [
                    [pair.r, pair.weight, pair.seed, pair.cond, pair.equilibrium, *_printed(pair.r)]
                    for pair in sorted(pairs, key=lambda pair: (pair.r, pair.cond))
                ],
            ),
        ),
        tuple(_figure(r, pairs) for r in optima),
        "The published pairs belong to limits and weights that we do not know.",
    )


def paired(points: OptimalPoints, weight: float, seed: int, method: QuasiNewton) -> Pair:
    r = len(points.q) - 1
    w = chained(energies(robot_model(), balanced(points, weight, seed, method)), r)
    return Pair(r, weight, seed, float(np.linalg.cond(w[0])), float(equilibria(w)[0]))


def balanced(points: OptimalPoints, weight: float, seed: int, method: QuasiNewton) -> Motion:
    """Points of least log cond + weight · log S near those of least cond; seed: of the nudge; the method's iterations
    are those of one stage."""
    model = robot_model()
    variables = PointVariables.of(model.robot, len(points.q))
    x = inverse(variables, points) + NUDGE * np.random.default_rng(seed).standard_normal(variables.size)
    for element, singular in POWERS:
        both = WeightedSum(((1.0, Logarithm(SoftCondition(singular))), (weight, SoftEquilibrium(element))))
        objective = Objective(model, both, Columns.of(model, None), np.ones(model.n), EnergyRows())

        def function(x: Array, objective: Objective = objective) -> tuple[float, Array]:
            value, gradient = objective.value_and_gradient(variables.motion(x))
            return value, variables.pullback(x, gradient.q, gradient.qd)

        x = method.minimise(function, x).x
    return variables.motion(x)


def inverse(variables: PointVariables, points: OptimalPoints) -> Array:
    """x of given points."""
    share = (points.q - variables.lower) / (variables.upper - variables.lower)
    position = np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))
    speed = np.arcsin(np.clip(points.qd / variables.velocity, -1.0, 1.0))
    return np.concatenate([position.ravel(), speed.ravel()])


def _printed(r: int) -> tuple[float, float]:
    printed = PrintedSequence.of(r, "optimum")
    return printed.cond.value, printed.equilibrium.value


def _judged(r: int, points: OptimalPoints, pairs: Sequence[Pair]) -> Sequence[Finding]:
    cond, equilibrium = _printed(r)
    mine = [pair for pair in pairs if pair.r == r]

    def ratio(pair: Pair) -> float:
        return max(pair.cond / cond, pair.equilibrium / equilibrium)

    best = min(mine, key=ratio)
    listed = "; ".join(f"{pair.cond:.4g} and {pair.equilibrium:.4g}" for pair in sorted(mine, key=lambda p: p.cond))
    w = chained(energies(robot_model(), Motion.at(points.q, points.qd)), r)
    with np.errstate(divide="ignore"):
        alone = float(equilibria(w)[0])
    return (
        at_most(
            f"larger of cond(W) and S over the published {cond:g} and {equilibrium:g}, r = {r}",
            1.0,
            ratio(best),
            f"pairs of cond(W) and S over all w and seeds: {listed}. Limits are fitted and weights unknown; without S "
            f"the optimum reached here is {points.condition_number:.4g}",
        ),
        shown(f"cond(W), r = {r}, both in the criterion", best.cond, f"w = {best.weight:g}"),
        shown(f"S, r = {r}, both in the criterion", best.equilibrium, f"w = {best.weight:g}"),
        shown(f"S, r = {r}, cond(W) alone in the criterion", alone, "elements that vanish cost nothing then"),
    )


def _figure(r: int, pairs: Sequence[Pair]) -> Plot:
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
