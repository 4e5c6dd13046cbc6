"""Gautier & Khalil 1992: Table 2, the criteria and optimisers of section 4, and the Appendix, run again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

from exciter.excitation.criteria.criterion import DesignObjective, Observed, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, EnergyRows
from exciter.excitation.criteria.weighted_sums import Equilibrium, SoftEquilibrium
from exciter.excitation.experiments.points import Powell
from exciter.robot.motion import Motion
from exciter_papers.gautier_khalil import appendix, methods, optimum, random_sequences, sequences
from exciter_papers.gautier_khalil.methods import PointProblem, descend
from exciter_papers.gautier_khalil.paper import GAUTIER_KHALIL_1992
from exciter_papers.gautier_khalil.sequences import (
    ENERGY_PAPER_FIGURES,
    chained,
    energies,
    equilibria,
    groups,
    robot_model,
    starting_points,
    uniform_points,
)
from exciter_papers.paper import Effort, Finding, Part, Verdict
from exciter_papers.run import run_study
from support.closed_forms import closed_form_w
from support.documented import assert_documented

pytestmark = pytest.mark.papers

MINE = {
    "random-sequences": random_sequences.run,
    "limits": random_sequences.run_limits,
    "optimum": optimum.run,
    "methods": methods.run,
    "appendix": appendix.run,
}
#: Range of eight medians of 100 random sequences by a separate implementation; at r = 500 it is that of fewer
MEDIANS = {
    15: (10888, 16978),
    20: (1674, 1909),
    30: (811, 924),
    50: (556, 599),
    100: (453, 486),
    200: (425, 435),
    500: (398, 416),
}


@pytest.fixture(scope="module")
def parts() -> dict[str, Part]:
    found = (run_study("gautier-khalil-1992", key, Effort(quick=True))[1] for key in MINE)
    return {part.item: part for study in found for part in study}


def finding(part: Part, start: str) -> Finding:
    return next(one for one in part.findings if one.quantity.startswith(start))


def verdicts(part: Part) -> dict[str, Verdict]:
    return {one.quantity: one.verdict for one in part.findings}


def test_the_paper_lists_these_studies() -> None:
    assert {study.key: study.run for study in GAUTIER_KHALIL_1992.studies}.items() >= MINE.items()


def test_tables_are_rectangular_and_named_once(parts: dict[str, Part]) -> None:
    tables = [table for part in parts.values() for table in part.tables]
    assert len({table.key for table in tables}) == len(tables)
    assert all(len(row) == len(table.headings) for table in tables for row in table.rows)
    assert all(len(table.headings) == len(set(table.headings)) for table in tables)
    for part in parts.values():
        assert all("<figure" in str(figure.html()) for figure in part.figures)


# -- random sequences --------------------------------------------------------------------------------------------------


def test_every_printed_figure_of_the_random_columns_is_a_typical_draw(parts: dict[str, Part]) -> None:
    part = parts["Table 2, Figure 2"]
    judged = [one for one in part.findings if one.quantity.endswith("random sequences") and "r = " in one.quantity]
    judged = [one for one in judged if "of 10" in one.quantity]
    assert len(judged) == 24
    assert {one.verdict for one in judged} == {Verdict.MET}
    assert finding(part, "printed figures outside").reached == 0.0


def test_a_draw_that_is_not_typical_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the printed figures, which the same judgement must refuse."""
    pool = random_sequences.Pool.drawn(100, Effort(quick=True))
    monkeypatch.setitem(
        random_sequences.PUBLISHED_RANDOM,
        100,
        [2.0 * value for value in ENERGY_PAPER_FIGURES["table_2"]["random"][100]],
    )
    assert {one.verdict for one in random_sequences._columns(pool)} == {Verdict.DIFFERS}


def test_random_sequences_are_those_of_the_closed_form() -> None:
    model = robot_model()
    points = uniform_points(model, 3 * 21, seed=5)
    w = chained(energies(model, points), 20)
    for k in range(3):
        at = slice(21 * k, 21 * (k + 1))
        by_hand = closed_form_w(points.q[at], points.qd[at])
        assert np.linalg.cond(w[k]) == pytest.approx(np.linalg.cond(by_hand), rel=1e-9)
        assert equilibria(w)[k] == pytest.approx(np.abs(by_hand).max() / np.abs(by_hand).min(), rel=1e-9)
        observed = Observed(
            model, Motion.at(points.q[at], points.qd[at]), DesignColumns.of(model, None), np.ones(3), EnergyRows()
        )
        assert equilibria(w)[k] == pytest.approx(Equilibrium().at(observed).value, rel=1e-9)


@pytest.mark.parametrize("r", MEDIANS)
def test_medians_of_a_hundred_lie_where_eight_of_another_implementation_lie(r: int) -> None:
    """What lies between the smallest and the largest of eight draws follows Beta(7, 2), whatever the distribution."""
    low, high = MEDIANS[r]
    medians = random_sequences.Pool.drawn(r, Effort(quick=True)).medians()
    inside = np.mean((medians >= low) & (medians <= high))
    assert inside >= beta.ppf(0.001, 7, 2)
    assert low < np.median(medians) < high


def test_medians_spread_as_the_median_of_a_hundred_does() -> None:
    """The chance that a median of 100 falls below the 40 % quantile is binomial."""
    pool = random_sequences.Pool.drawn(15, Effort(quick=True))
    medians = pool.medians()
    below = np.mean(medians < np.quantile(pool.cond, 0.4))
    expected = binom.sf(49.5, 100, 0.4)
    assert expected < 0.03
    assert below <= expected + 4.0 * np.sqrt(expected / (len(pool.cond) / 100))


def test_groups_use_every_value_once_a_round() -> None:
    values = np.arange(37.0)
    found = groups(values, 10, rounds=4, seed=0)
    assert found.shape == (12, 10)
    for k in range(4):
        assert len(np.unique(found[3 * k : 3 * k + 3])) == 30


def test_the_statement_that_nothing_changes_from_fifty_on_is_refused(parts: dict[str, Part]) -> None:
    part = parts["Table 2, Figure 2"]
    assert finding(part, "cond(W) of random sequences does not vary").verdict is Verdict.DIFFERS
    assert finding(part, "cond(W) of random sequences decreases").verdict is Verdict.MET


def test_random_sequences_that_were_identified_with(parts: dict[str, Part]) -> None:
    found = verdicts(parts["Tables 3–5, 8–10"])
    assert found == {
        "cond of the random sequence, r = 15": Verdict.UNDECIDED,  # within ranges of decades
        "S of the random sequence, r = 15": Verdict.UNDECIDED,
        "cond of the random sequence, r = 30": Verdict.MET,
        "S of the random sequence, r = 30": Verdict.UNDECIDED,
    }


def test_every_figure_of_table_2_and_section_6_2_is_as_printed() -> None:
    table = """
        15 5.6650e+03 2.7994e+04 9.4585e+04
        20 9.3734e+02 1.9450e+03 2.9600e+03
        30 4.0261e+02 9.5398e+02 1.6989e+03
        50 4.7723e+02 5.8609e+02 7.5051e+02
        100 4.0985e+02 4.9641e+02 6.9085e+02
        200 3.8291e+02 4.3867e+02 5.1616e+02
        300 3.6296e+02 4.1815e+02 4.8995e+02
        500 3.8040e+02 4.2205e+02 4.6090e+02"""
    rows = [[float(text) for text in line.split()] for line in table.strip().splitlines()]
    assert [[r, *figures] for r, figures in ENERGY_PAPER_FIGURES["table_2"]["random"].items()] == rows
    assert ENERGY_PAPER_FIGURES["table_2"]["optimum"] == {15: 53, 20: 30, 30: 11}
    assert ENERGY_PAPER_FIGURES["table_2"]["sequences"] == 10
    assert ENERGY_PAPER_FIGURES["computer"] == {"minutes": 30, "mflops": 1.2}
    assert ENERGY_PAPER_FIGURES["variables"] == {15: 80, 30: 155}
    assert ENERGY_PAPER_FIGURES["base_parameters"] == 15


def test_the_table_of_a_hundred_is_that_of_a_hundred() -> None:
    pool = random_sequences.Pool(15, np.arange(1.0, 301.0), np.ones(300))
    row = random_sequences._hundred_table([pool]).rows[0]
    assert list(row[1:9]) == [1.0, 5.5, 5.5, 10.0, 1.0, 50.5, 50.5, 100.0]


# -- limits ------------------------------------------------------------------------------------------------------------


def test_the_fitted_velocity_is_fifty_degrees_a_second(parts: dict[str, Part]) -> None:
    part = parts["Table 2, limits"]
    assert finding(part, "velocity limit").reached == pytest.approx(50.0, rel=0.04)
    robot = robot_model().robot
    assert np.rad2deg(robot.limit("velocity")) == pytest.approx(50.0)
    assert np.rad2deg(robot.position_range()[1]) == pytest.approx(45.0)
    ours = part.tables[0].rows[0]
    assert ours[-1] == pytest.approx(1.0, abs=0.01)  # by construction
    assert all(0.75 < ratio < 1.35 for ratio in ours[5:])  # not by construction


def test_the_misfit_counts_every_r_and_the_text_names_better_fits(parts: dict[str, Part]) -> None:
    ratios = np.ones(8)
    ratios[-1] = np.e
    fit = random_sequences.Fit("±45°", "uniform", 1.0, ratios, np.nan)
    assert fit.misfit == pytest.approx(np.sqrt(1 / 8))
    better = random_sequences.Fit("±30°", "normal x", 1.0, np.ones(8), np.nan)
    part = random_sequences._limits_part([fit, better])
    assert finding(part, "other ranges").reached == 1.0
    assert "±30°, normal x: 0.000" in part.differences
    assert "not determine the limits" in parts["Table 2, limits"].differences


def test_condition_of_scaled_velocities_is_that_of_the_scaled_robot() -> None:
    drawn = random_sequences.Parts.drawn("±90°", "normal x", 20, 5)
    slow = sequences.limited(-0.5 * np.pi, 0.5 * np.pi, velocity=0.7)
    w = chained(energies(slow, starting_points(slow, 5 * 21, 20)), 20)
    assert drawn.cond(0.7) == pytest.approx(np.linalg.cond(w), rel=1e-8)


# -- optimum -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("r", "target"), [(15, 22.0), (20, 17.0), (30, 11.5)])
def test_optimum_column_is_better_under_limits_that_are_not_the_papers(
    parts: dict[str, Part], r: int, target: float
) -> None:
    one = finding(parts["Table 2, optimum"], f"cond(W) of the optimum sequence, r = {r}")
    assert one.verdict is Verdict.UNDECIDED
    assert "limits of the paper are not printed" in one.note
    assert one.reached <= target


def test_optimal_points_keep_the_limits_and_more_equations_help(parts: dict[str, Part]) -> None:
    part = parts["Table 2, optimum"]
    assert finding(part, "all optimal points keep").verdict is Verdict.MET
    assert finding(part, "for r ≥ 50").verdict is Verdict.DIFFERS


def test_equilibrium_with_condition(parts: dict[str, Part]) -> None:
    part = parts["Equations (18), (19), section 6.2"]
    ratios = [finding(part, f"larger of cond(W) and S over the published {pair}") for pair in ("53.27", "11.158")]
    assert [one.verdict for one in ratios] == [Verdict.UNDECIDED, Verdict.SHORT]
    assert ratios[1].reached < 1.5
    assert finding(part, "S, r = 15, both").reached < 968
    for r in (15, 30):
        assert finding(part, f"S, r = {r}, cond(W) alone").reached > 1e6


def test_soft_equilibrium_tends_to_s_and_has_its_gradient() -> None:
    model = robot_model()
    objective = DesignObjective(model, SoftEquilibrium(2000.0), DesignColumns.of(model, None), np.ones(3), EnergyRows())
    points = uniform_points(model, 21, seed=2)
    s = equilibria(chained(energies(model, points), 20))[0]
    assert objective.value(points) == pytest.approx(s, rel=0.01)
    soft = DesignObjective(model, SoftEquilibrium(3.0), DesignColumns.of(model, None), np.ones(3), EnergyRows())
    along = np.random.default_rng(0).standard_normal((2, 21, 3))
    _, gradient = soft.value_and_gradient(points)

    def moved(step: float) -> float:
        return soft.value(Motion.at(points.q + step * along[0], points.qd + step * along[1]))

    slope = (moved(1e-7) - moved(-1e-7)) / 2e-7
    assert (gradient.q * along[0]).sum() + (gradient.qd * along[1]).sum() == pytest.approx(slope, rel=1e-4)


# -- measures, variables, optimisers -----------------------------------------------------------------------------------


def test_variables_measures_and_optimisers(parts: dict[str, Part]) -> None:
    assert set(verdicts(parts["Sections 4.2, 4.3"]).values()) == {Verdict.MET}
    assert list(verdicts(parts["Section 4.1"]).values()) == [Verdict.DIFFERS, Verdict.MET]
    part = parts["Section 4.3"]
    assert finding(part, "Powell's method").verdict is Verdict.UNDECIDED
    powell = finding(part, "median cond(W) from one start, Powell").reached
    exact = finding(part, "median cond(W) from one start, quasi-Newton, exact").reached
    assert exact < 0.5 * powell
    assert finding(part, "evaluations that 30 minutes").reached == pytest.approx(1.2e6 * 1800 / 10575, rel=0.03)
    (curves,) = part.figures
    assert [line.name for line in curves.lines] == [*methods.METHODS, methods.EXACT_QUASI_NEWTON]


@pytest.mark.parametrize(
    ("powell", "others", "simplex", "verdict"),
    [
        (np.full((6, 3), 1.0), np.full((6, 3), 2.0), 9.0, Verdict.MET),
        (np.full((6, 3), 2.0), np.full((6, 3), 1.0), 9.0, Verdict.DIFFERS),
        (np.full((6, 3), 1.0), np.full((6, 3), 2.0), 0.5, Verdict.DIFFERS),  # the simplex is ahead
        (np.tile([3.0, 2.0, 1.0], (6, 1)), np.full((6, 3), 2.5), 9.0, Verdict.UNDECIDED),  # it depends on how many
        (np.full((4, 3), 1.0), np.full((4, 3), 2.0), 9.0, Verdict.UNDECIDED),  # four starts do not tell
    ],
)
def test_powell_is_judged_at_all_evaluations_that_the_paper_may_have_had(powell, others, simplex, verdict) -> None:
    curves = {"Nelder–Mead": np.full((1, 3), simplex), methods.DIFFERENCES: others, "Powell": powell}
    counts = np.array([2e4, 6e4, 2e5])
    assert methods.powell_best(curves, counts, 200_000).verdict is verdict
    assert methods.powell_best(curves, counts, 3000).verdict is Verdict.UNDECIDED


def test_derivatives_by_differences_are_charged() -> None:
    problem = PointProblem(robot_model(), 15, methods.CONDITION_MEASURES["Frobenius"])
    assert [methods.price(problem, name) for name in methods.METHODS] == [1, 81, 1]
    (found,) = methods._methods(15, 3 * 80, 1)[methods.DIFFERENCES]
    assert found.evaluations == 2 * 81  # a third call would exceed 3 · 80


def test_a_descent_keeps_its_budget_and_returns_the_best_of_it() -> None:
    problem = PointProblem(robot_model(), 15, methods.CONDITION_MEASURES["Frobenius"])
    start = problem.start(0)
    found = descend(problem, Powell(10**6), start, 150, gradient=False)
    assert found.evaluations == 150
    assert found.history[0] == pytest.approx([1, problem.cond(start)])
    assert found.cond < problem.cond(start)
    assert found.after(np.array([0.5, 1.0, 1e9]))[1:] == pytest.approx([problem.cond(start), found.cond])
    assert np.isnan(found.after(np.array([0.5]))[0])
    priced = descend(problem, Powell(10**6), start, 150, gradient=False, price=100)
    assert priced.evaluations == 100


def test_the_condition_of_a_descent_is_that_of_the_closed_form() -> None:
    problem = PointProblem(robot_model(), 15, methods.CONDITION_MEASURES["SVD"])
    x = problem.start(3)
    motion = problem.variables.motion(x)
    assert problem.cond(x) == pytest.approx(np.linalg.cond(closed_form_w(motion.q, motion.qd)), rel=1e-9)
    assert evaluate(robot_model(), motion, 1.0, None, EnergyRows()).condition_number == pytest.approx(problem.cond(x))


# -- appendix ----------------------------------------------------------------------------------------------------------


def test_all_of_the_appendix_is_exact(parts: dict[str, Part]) -> None:
    for item in ("Appendix, example 1", "Appendix, example 2"):
        assert set(verdicts(parts[item]).values()) <= {Verdict.MET, Verdict.SHOWN}


def test_example_1_by_hand(parts: dict[str, Part]) -> None:
    """Integers alone: 10 A = (41 28; 97 66), whose determinant is 2706 − 2716 = −10."""
    part = parts["Appendix, example 1"]
    assert 41 * 66 - 28 * 97 == -10
    assert finding(part, "det A").reached == -10 / 100
    assert finding(part, "Cond₁(A)").reached == float(Fraction(138, 10) * 163) == 2249.4
    assert [finding(part, f"(X + δX)_{i}").reached for i in (1, 2)] == [0.34, 0.97]
    assert finding(part, "‖δY‖/‖Y‖").reached == 1 / 1380


def test_example_2_by_hand(parts: dict[str, Part]) -> None:
    part = parts["Appendix, example 2"]
    assert finding(part, "Cond₂(A)").reached == 1e6
    assert finding(part, "first perturbation: bound").reached == pytest.approx(np.sqrt(2) * 1e6, rel=1e-6)
    assert finding(part, "second perturbation: bound").reached == pytest.approx(np.sqrt(2), rel=1e-6)
    assert finding(part, "Cond₂ with columns").reached == pytest.approx(1.0)


def test_a_wrong_digit_of_the_appendix_is_told() -> None:
    printed = {**ENERGY_PAPER_FIGURES["appendix"]["example_1"], "cond": "2249.5", "error_Y": "7.245e-4"}
    found = {one.quantity: one.verdict for one in appendix._example_1(printed).findings}
    assert found["Cond₁(A)"] is Verdict.DIFFERS
    assert found["‖δY‖/‖Y‖"] is Verdict.DIFFERS
    assert found["det A"] is Verdict.MET


def test_the_page_says_the_same(parts):
    assert_documented("gautier-khalil-1992", parts.values())
