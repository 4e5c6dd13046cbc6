"""[12.12]–[12.15]: motions optimised by one criterion, judged by all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from exciter import ConditionNumber, DOptimality
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, Observed, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, TorqueRows
from exciter.excitation.criteria.optimality_and_condition import ConditionAndSmallest, ScaledCondition
from exciter.excitation.criteria.weighted_sums import ConditionAndEquilibrium, Equilibrium, structure
from exciter.excitation.design import design
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.excitation.validation_motion.random_families import random_trajectory
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.khalil_dombre.four_models import SAID
from exciter_papers.khalil_dombre.set_up import counted
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown
from exciter_papers.swevers_asme.optimum import Continued

SAMPLES_PER_PERIOD = 1000  # of one period, in all figures but S
INSTANTS_OF_S = 40  # instants for [12.13]
K1 = 1e-3  # of [12.13]; the chapter says that it is positive
SINGULAR_VALUE_WEIGHT_RATIO = 10.0  # k₂ of [12.14], over the largest singular value along a random motion
RANDOM_SEEDS = range(12)
CRITERIA_SEED = 0  # of all designs
RANDOM_MOTION = "random motion"
PLAIN, EQUILIBRIUM, SMALLEST, SCALED, D_OPTIMAL = "[12.12]", "[12.13]", "[12.14]", "[12.15]", "log det (Exciter)"


@dataclass(frozen=True)
class Judged:
    """A motion by all criteria: noise of 1 N·m on every torque. spreads: largest over smallest σ, and relative σ;
    worst: the largest relative σ [%]; thirds: median relative σ of the smallest third of the parameters over that of
    the largest third."""

    condition: float
    equilibrium: float
    combined: float
    largest: float
    smallest: float
    with_smallest: float
    scaled: float
    log_det: float
    spread: float
    relative_spread: float
    worst: float
    thirds: float
    certified: bool


CRITERIA_HEADINGS = (
    "cond(W) [12.12]",
    f"S at {INSTANTS_OF_S} instants",
    f"cond + k₁ S at {INSTANTS_OF_S} instants [12.13]",
    "largest singular value",
    "smallest singular value",
    "cond + k₂/σ_min [12.14]",
    "cond(W diag Z) [12.15]",
    "log det of the covariance",
    "σ, largest over smallest",
    "relative σ, largest over smallest",
    "largest relative σ [%]",
    "relative σ, smallest over largest third of |χ|",
    "certified",
)


def run(effort: Effort) -> Part:
    drawn = [random_trajectory(set_up.family(), set_up.model().robot, seed) for seed in RANDOM_SEEDS]
    k2 = SINGULAR_VALUE_WEIGHT_RATIO * float(np.median([_singular(delta)[0] for delta in drawn]))
    starts, of_points = effort.pick(3, 12), effort.pick(1, 8)
    best, tried = optimised(k2, starts, of_points)
    found = {RANDOM_MOTION: drawn[0]} | best
    judged = {name: judge(delta, k2) for name, delta in found.items()}
    others = [relative_std(delta) for delta in drawn]
    rows = [[name, *(getattr(one, field.name) for field in fields(Judged))] for name, one in judged.items()]
    return Part(
        "[12.12]–[12.15]",
        "Criteria of excitation",
        f"{_words(k2)} Starts: {starts}, seed {CRITERIA_SEED}; for [12.13] {counted(of_points, 'random one')}, and the "
        "motions of the other criteria.",
        (*_zeros(found[PLAIN]), *_values(judged, tried), *_claims(judged, others)),
        (
            DataTable("criteria", "Rows: optimised by; columns: judged by", ("optimised by", *CRITERIA_HEADINGS), rows),
            _samples(found),
        ),
        _plot(found),
        "[12.13] belongs to few points that are chosen one by one, as in the energy model. Along a sampled motion "
        "every element of W that changes its sign passes zero, and S says how near a sample came to it. With the "
        "dynamic model, zeros that are there for any motion [12.22] make it infinite; here they are left out.",
    )


def _words(k2: float) -> str:
    robot = set_up.model().robot
    span, speed = (np.rad2deg(limit[0]) for limit in (robot.position_range()[1], robot.limit("velocity")))
    return (
        f"{set_up.ROBOT_STATEMENT} The chapter has no limits; these are ours for this robot: ±{span:.0f}°, "
        f"{speed:.0f}°/s, "
        f"{robot.limit('acceleration')[0]:g} rad/s², certified for all time. Motion: {set_up.HARMONICS}, "
        f"{SAMPLES_PER_PERIOD} "
        f"samples of one period, rows of the dynamic model with equal noise. k₁ = {K1:g}; k₂ = {k2:.0f}, "
        f"{SINGULAR_VALUE_WEIGHT_RATIO:g} "
        f"times the largest singular value along random motions (median of {len(RANDOM_SEEDS)}, seeds "
        f"{RANDOM_SEEDS[0]} … {RANDOM_SEEDS[-1]}), so that σ_min leads; Z: the true |χ|. [12.13] is optimised at "
        f"{INSTANTS_OF_S} instants. Random motion: seed {RANDOM_SEEDS[0]}, as large as the limits allow."
    )


def optimised(k2: float, starts: int, starts_of_points: int) -> tuple[dict[str, Array], list[float]]:
    """Coefficients (n, c) of the best motion by each criterion, and where all starts of [12.13] ended: random ones, and
    the motions of the other criteria; two elements of W decide, and a search seldom gets far from where it begins."""
    criteria: dict[str, tuple[AnyCriterion, int, int]] = {
        PLAIN: (ConditionNumber(), SAMPLES_PER_PERIOD, starts),
        EQUILIBRIUM: (ConditionAndEquilibrium(K1), INSTANTS_OF_S, starts_of_points),
        SMALLEST: (ConditionAndSmallest(k2), SAMPLES_PER_PERIOD, starts),
        SCALED: (ScaledCondition(_expected()), SAMPLES_PER_PERIOD, starts),
        D_OPTIMAL: (DOptimality(), SAMPLES_PER_PERIOD, starts),
    }
    found = {
        name: design(
            set_up.model(),
            set_up.family(),
            criterion=criterion,
            samples=samples,
            starts=count,
            race=False,  # where all starts end is shown
            seed=CRITERIA_SEED,
        )
        for name, (criterion, samples, count) in criteria.items()
    }
    best = {name: one.delta for name, one in found.items()}
    model, both = set_up.model(), ConditionAndEquilibrium(K1)
    objective = DesignObjective(model, both, DesignColumns.of(model, None), np.ones(model.n), TorqueRows(), None)
    search = Continued(set_up.family(), objective, (), INSTANTS_OF_S, CRITERIA_SEED, share=1.0)
    others = [search.improved(best[name], anew=False) for name in (PLAIN, SMALLEST, SCALED, D_OPTIMAL)]
    random = [one.delta for one in found[EQUILIBRIUM].attempts]
    ends = [delta for delta in (*random, *others) if delta is not None]
    values = [observed(delta, INSTANTS_OF_S).evaluation(both).value for delta in ends]
    best[EQUILIBRIUM] = ends[int(np.argmin(values))]
    return best, values


def _expected() -> tuple[float, ...]:
    return tuple(np.abs(set_up.true_values()))


def observed(delta: Array, samples: int) -> Observed:
    model, family = set_up.model(), set_up.family()
    motion = motion_of(family, delta, family.sample_times(samples))
    return Observed(model, motion, DesignColumns.of(model, None), np.ones(model.n), TorqueRows())


def _singular(delta: Array) -> tuple[float, float]:
    values = np.linalg.svd(observed(delta, SAMPLES_PER_PERIOD).w, compute_uv=False)
    return float(values[0]), float(values[-1])


def relative_std(delta: Array) -> Array:
    """(p,) σ/|χ| for noise of 1 N·m."""
    found = evaluate(set_up.model(), observed(delta, SAMPLES_PER_PERIOD).motion, 1.0).predicted_std
    return np.asarray(found / np.abs(set_up.true_values()))


def _extremes(values: Array) -> float:
    """Largest over smallest."""
    return float(values.max() / values.min())


def judge(delta: Array, k2: float) -> Judged:
    dense, few = observed(delta, SAMPLES_PER_PERIOD), observed(delta, INSTANTS_OF_S)
    figures, relative = evaluate(dense.model, dense.motion, 1.0), relative_std(delta)
    std, order = figures.predicted_std, np.argsort(np.abs(set_up.true_values()))
    third = len(order) // 3
    largest, smallest = _singular(delta)
    return Judged(
        figures.condition_number,
        few.evaluation(Equilibrium()).value,
        few.evaluation(ConditionAndEquilibrium(K1)).value,
        largest,
        smallest,
        ConditionAndSmallest(k2)(dense.h)[0],
        ScaledCondition(_expected())(dense.h)[0],
        -figures.log_det,
        _extremes(std),
        _extremes(relative),
        100.0 * float(relative.max()),
        float(np.median(relative[order[:third]]) / np.median(relative[order[-third:]])),
        certify(dense.model.robot, set_up.family().curve(delta)).certified,
    )


def _zeros(delta: Array) -> tuple[Finding, ...]:
    """[12.13] as printed."""
    one = observed(delta, INSTANTS_OF_S)
    pattern = structure(one.model, one.columns, one.formulation)
    always = int((~pattern).sum())
    return (
        claim(
            SAID["no_zero"],
            (one.w != 0.0).all(),
            f"{always} of the {pattern.size} elements that one instant adds to W are zero for any motion: a torque "
            "does not depend on the links before its joint [12.22], nor on friction elsewhere, and some parameters of "
            "later links do not reach it. As printed the criterion is infinite for the dynamic model",
        ),
        shown("elements of W that are zero for any motion [%]", 100.0 * always / pattern.size),
    )


def _values(judged: Mapping[str, Judged], tried: Sequence[float]) -> tuple[Finding, ...]:
    """What the search reached."""
    smooth = (
        (PLAIN, "condition", "cond(W)"),
        (EQUILIBRIUM, "combined", f"cond + k₁ S at {INSTANTS_OF_S} instants"),
        (SMALLEST, "with_smallest", "cond + k₂/σ_min"),
        (SCALED, "scaled", "cond(W diag Z)"),
    )
    best = [getattr(judged[name], key) <= min(getattr(one, key) for one in judged.values()) for name, key, _ in smooth]
    return (
        shown("every motion certified within all limits", all(one.certified for one in judged.values())),
        *(shown(f"{what}, motion optimised by {name}", getattr(judged[name], key)) for name, key, what in smooth),
        shown("each of these is smallest for the motion that was optimised by it", all(best)),
        shown(
            f"worst over best of the searches by {EQUILIBRIUM}",
            max(tried) / min(tried),
            "two elements of W decide, and each search ends elsewhere: this optimum is not a sure one",
        ),
    )


def _claims(judged: Mapping[str, Judged], others: Sequence[Array]) -> tuple[Finding, ...]:
    plain, equal, small, scaled = (judged[name] for name in (PLAIN, EQUILIBRIUM, SMALLEST, SCALED))
    size = np.abs(set_up.true_values())
    spread, relative = (np.median([_extremes(one * unit) for one in others]) for unit in (size, 1.0))
    return (
        claim(
            SAID["alike"],
            equal.equilibrium < plain.equilibrium,
            f"{plain.equilibrium:.2g} by [12.12], {equal.equilibrium:.2g} by [12.13] at {INSTANTS_OF_S} instants, "
            "structural "
            f"zeros left out: {np.log10(equal.equilibrium):.1f} orders of magnitude remain, where the chapter asks "
            f"for none. cond(W) goes from {plain.condition:.3g} to {equal.condition:.3g}",
        ),
        claim(
            SAID["no_small"],
            small.smallest > 1.01 * plain.smallest,
            f"σ_min {small.smallest:.3g} against {plain.smallest:.3g}, at cond(W) {small.condition:.3g} against "
            f"{plain.condition:.3g}",
        ),
        claim(
            SAID["even_std"],
            small.spread < 0.5 * spread,
            f"largest over smallest σ: {small.spread:.3g}, median of {len(others)} random motions {spread:.3g}; but "
            f"[12.12] does the same ({plain.spread:.3g})",
        ),
        claim(
            SAID["small_suffer"],
            small.thirds > 2.0,
            "relative σ of the smallest third of the parameters over that of the largest third (medians): "
            f"{small.thirds:.2g}; {scaled.thirds:.2g} by [12.15], {judged[D_OPTIMAL].thirds:.2g} by log det",
        ),
        claim(
            SAID["even_relative"],
            scaled.relative_spread < 0.5 * relative,
            f"largest over smallest relative σ: {scaled.relative_spread:.3g}, median of {len(others)} random motions "
            f"{relative:.3g}; but {plain.relative_spread:.3g} by [12.12]",
        ),
    )


def _samples(found: Mapping[str, Array]) -> DataTable:
    counts = (INSTANTS_OF_S, 100, SAMPLES_PER_PERIOD, 10_000)
    rows = [
        [name, *(observed(delta, count).evaluation(Equilibrium()).value for count in counts)]
        for name, delta in found.items()
    ]
    headings = ("optimised by", *(f"S at {count} instants" for count in counts))
    return DataTable(
        "equilibrium", "max|W_ij|/min|W_ij| without structural zeros, by number of instants", headings, rows
    )


def _plot(found: Mapping[str, Array]) -> Plot:
    names = set_up.model().base.names
    lines = [Line(name, 100.0 * relative_std(delta), points=True) for name, delta in found.items()]
    title = "Relative standard deviation of each parameter, noise of 1 N·m (" + ", ".join(names) + ")"
    return Plot(title, np.arange(1.0, len(names) + 1.0), "parameter", "relative σ [%]", lines, log=True)
