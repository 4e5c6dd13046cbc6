"""Khalil and Dombre, chapter 12: procedures in steps, Vandanjon's motions, validation; statements held to what theory
says by ways of their own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter_papers.khalil_dombre import (
    friction_gravity,
    sequential,
    set_up,
    uncertainty,
    validation,
    vandanjon,
    virtual,
)
from exciter_papers.khalil_dombre.friction_gravity import FRICTION_SAMPLE_RATE, FRICTION_SETTINGS, exciting
from exciter_papers.khalil_dombre.set_up import (
    PROCEDURE_FIGURES,
    RepeatedLogs,
    Step,
    as_printed,
    link_of,
    only_joints,
    recovered,
)
from exciter_papers.khalil_dombre.virtual import payload
from exciter_papers.paper import UNEXPLAINED, Effort, Finding, Part, Verdict
from exciter_papers.run import run_study
from support.documented import assert_documented

pytestmark = pytest.mark.papers

STUDIES = ("sequential", "wrist", "friction", "gravity", "vandanjon", "essential", "validation")
#: What the chapter says and runs do not confirm; everything else that it says must be met.
DIFFERENT = {
    "fewer points are needed than by the global method",
    "a parameter whose relative σ exceeds ten times the smallest is poorly identified",
}


@pytest.fixture(scope="module")
def parts() -> dict[str, Part]:
    found = [part for key in STUDIES for part in run_study("khalil-dombre-ch12", key, Effort(quick=True))[1]]
    return {part.item: part for part in found}


def finding(part: Part, words: str) -> Finding:
    (found,) = (one for one in part.findings if words in one.quantity)
    return found


def reached(part: Part, words: str) -> float:
    value = finding(part, words).reached
    assert isinstance(value, float)
    return value


def table(part: Part, key: str) -> dict[str, tuple]:
    (found,) = (one for one in part.tables if one.key == key)
    return {str(row[0]): tuple(row[1:]) for row in found.rows}


@pytest.fixture(scope="module")
def regressor() -> np.ndarray:
    """W (N, 3, 21) of the common motion at 100 Hz."""
    model = set_up.model()
    return model.regressor(set_up.motion(100.0))[:, :, model.base.independent]


# -- verdicts ----------------------------------------------------------------------------------------------------------


def test_statements_of_the_chapter(parts):
    unmet = {one.quantity for part in parts.values() for one in part.findings if one.verdict in UNEXPLAINED}
    assert unmet == DIFFERENT
    met = [one for part in parts.values() for one in part.findings if one.verdict is Verdict.MET]
    assert len(met) == 17
    assert not [one.quantity for one in met if "certified" in one.quantity]  # the chapter has none


def test_what_is_shown_as_true_is_true(parts):
    """Nothing published to compare with; a statement of ours that fails must be looked at."""
    wrong = [one.quantity for part in parts.values() for one in part.findings if one.reached is False]
    assert set(wrong) == DIFFERENT


def test_every_part_is_complete(parts):
    keys = [one.key for part in parts.values() for one in part.tables]
    assert len(keys) == len(set(keys)) >= 9
    for part in parts.values():
        assert part.set_up, part.item
        assert "seed" in part.set_up, part.item
        assert part.findings, part.item
        for one in part.tables:
            assert all(len(row) == len(one.headings) for row in one.rows), one.key


# -- link by link ------------------------------------------------------------------------------------------------------


def test_steps_as_printed_are_plain_least_squares(regressor):
    """[12.23], [12.24] written out with numpy.linalg.lstsq."""
    model, true = set_up.model(), set_up.true_values()
    piece = set_up.noisy_torque(3, 2.0, 100.0)
    problem = Problem(model, (Run((piece,)),), folds=1)
    link = link_of(problem.names)
    expected, left = np.zeros(21), piece.torque.copy()
    for j in (2, 1, 0):
        own = link == j + 1
        expected[own] = np.linalg.lstsq(regressor[:, j][:, own], left[:, j], rcond=None)[0]
        left -= regressor[:, :, own] @ expected[own]
    steps = []
    for j in (2, 1, 0):
        own = np.flatnonzero(link == j + 1)
        steps.append(Step(only_joints(problem.compressed, (j,)), own, own))
    values, reach = as_printed(steps, 21)
    assert_allclose(values, expected, rtol=1e-8, atol=1e-9)
    assert np.abs(values - true).max() < 0.5
    w3 = regressor[:, 2][:, link == 3]
    rest = piece.torque[:, 2] - w3 @ expected[link == 3]
    sigma = np.sqrt(rest @ rest / (len(w3) - 9) * np.linalg.inv(w3.T @ w3).diagonal())
    assert_allclose(reach[link == 3], 1.9612 * sigma, rtol=1e-3)  # Student, 1991 degrees of freedom


def test_errors_of_steps_are_those_of_theory(parts, regressor):
    """Covariance of [12.24] with the errors of earlier links carried through, against errors over the logs."""
    sigma, link = set_up.torque_noise(PROCEDURE_FIGURES["noise"]), link_of(set_up.model().base.names)
    variance = np.zeros((21, 21))
    for j in (2, 1, 0):
        own, later = link == j + 1, link > j + 1
        solve = np.linalg.pinv(regressor[:, j][:, own])
        carried = solve @ regressor[:, j][:, later]
        variance[np.ix_(own, own)] = (
            sigma[j] ** 2 * solve @ solve.T + carried @ variance[np.ix_(later, later)] @ carried.T
        )
        variance[np.ix_(own, later)] = -carried @ variance[np.ix_(later, later)]
        variance[np.ix_(later, own)] = variance[np.ix_(own, later)].T
    rows = table(parts["Section 12.5.1"], "sequential-errors")
    weights = (regressor / sigma[:, None]).reshape(-1, 21)
    best = np.linalg.inv(weights.T @ weights)
    for j in (3, 2, 1):
        both = {2: variance, 1: best}  # columns: as printed, all at once and weighted
        for column, covariance in both.items():
            promised = np.sqrt(covariance.diagonal()[link == j].mean())
            assert rows[f"link {j}"][column] == pytest.approx(promised, rel=0.45), (j, column)
    assert variance.diagonal()[link == 1].mean() > 4.0 * best.diagonal()[link == 1].mean()  # errors that accumulated


def test_points_that_are_needed(parts, regressor):
    """b/n all at once, the most parameters of a link in steps."""
    note = finding(parts["Section 12.5.1"], "fewer points").note
    counts = np.bincount(link_of(set_up.model().base.names))[1:]
    assert f"at least {counts.max()} random points link by link, {counts.sum() // 3} all at once" in note
    points = regressor[:: len(regressor) // 7][:7]
    assert np.linalg.matrix_rank(points.reshape(-1, 21), tol=1e-9) == 21


def made(errors: np.ndarray, reach: float = 1.96) -> RepeatedLogs:
    return RepeatedLogs(np.ones(errors.shape[1]), errors, np.full(errors.shape, reach))


def test_judges_of_steps_can_say_no():
    """Two parameters, 400 logs: errors as large as the intervals say, and three times as large."""
    errors = np.random.default_rng(0).standard_normal((400, 2))
    last, first = np.array([True, False]), np.array([False, True])
    right, grown, wrong = made(errors), made(errors * [1.0, 3.0]), made(errors * 3.0)
    assert sequential.accumulated(grown, last, first)
    assert not sequential.accumulated(right, last, first)
    assert not sequential.accumulated(wrong, last, first)  # the last link's do not hold either
    assert sequential.overcome(right, first, 1.0)
    assert not sequential.overcome(right, first, 1.2)
    assert not sequential.overcome(grown, first, 1.0)
    assert sequential.rms_ratio(made(errors * [1.0, 7.0]), right, slice(None)) == pytest.approx(5.0)


def test_known_values_are_recovered_or_not():
    """Of load and gains: intervals that miss too often, or a mean error, are seen."""
    assert recovered(2, 50, 0.5)[0]
    assert not recovered(20, 50, 0.5)[0]
    assert not recovered(2, 50, 4.0)[0]
    assert not recovered(2, 50, -4.0)[0]
    assert recovered(2, 50, 0.0)[1] == pytest.approx(1.0, abs=0.3)
    errors = np.array([[1.0, -3.0], [1.0, -1.0], [1.0, -2.0], [1.0, -2.0]])
    assert virtual.standard_errors(errors) == pytest.approx(4.0)


def test_rule_of_ten_can_hold():
    assert uncertainty.rule_holds(np.array([15.0, 40.0]))
    assert uncertainty.rule_holds(np.zeros(0))
    assert not uncertainty.rule_holds(np.array([2.0, 40.0]))


def test_conditions_of_wrist_and_shoulder(parts):
    """cond(W) of each step from its own rows and columns, by singular values."""
    model, rng = sequential.arm(), np.random.default_rng(0)
    link = link_of(model.base.names)
    moving, locked = rng.standard_normal((2, 60, 6, len(link)))
    hand, shoulder = np.flatnonzero(link > 3), np.flatnonzero(link <= 3)
    whole, first, second = sequential.conditions(moving, locked, (hand, shoulder))
    blocks = (
        np.vstack([moving.reshape(-1, len(link)), locked.reshape(-1, len(link))]),
        np.vstack([moving[:, j][:, link > 3] for j in (3, 4, 5)]),
        np.vstack([locked[:, j][:, link <= 3] for j in (0, 1, 2)]),
    )
    expected = [np.sqrt(np.linalg.eigvalsh(w.T @ w)[[-1, 0]]) for w in blocks]
    assert_allclose((whole, first, second), [large / small for large, small in expected], rtol=1e-8)
    assert reached(parts["Section 12.7, two steps"], "cond(W) of a step") == pytest.approx(0.655, rel=0.05)


def test_live_estimates_are_those_of_all_data(parts):
    part = parts["Sections 12.2 and 12.8"]
    assert reached(part, "largest difference between the two") < 1e-7
    assert reached(part, "relative difference of σ") < 1e-9


def test_wrist_first_costs_what_half_the_data_cost(parts):
    """Each step has one of two logs: √2, and no more, for the wrist hardly feels the shoulder's errors."""
    rows = table(parts["Section 12.7, two steps"], "wrist-first")
    assert 1.1 < rows["wrist then shoulder, as printed"][1] < 2.0
    assert rows["wrist then shoulder, weighted"][0] < 1.1
    assert rows["all at once, ordinary"][0] > 4.0


# -- friction, gravity -------------------------------------------------------------------------------------------------


def test_friction_that_changes_biases_what_theory_says(parts):
    """pinv(W_inertial) W_friction δF on the common motion: some parameters are off by several σ, on the optimised one
    none is."""
    model, true = set_up.model(), set_up.true_values()
    dry = np.array([name.startswith("F") for name in model.base.names])
    worst = {}
    for name, motion in (
        ("common", set_up.motion(FRICTION_SAMPLE_RATE)),
        ("optimised", exciting(FRICTION_SETTINGS["excitation"])),
    ):
        w = model.regressor(motion)[:, :, model.base.independent]
        solve = np.linalg.pinv(w[:, :, ~dry].reshape(-1, 15))
        bias = solve @ w[:, :, dry].reshape(-1, 6) @ ((1.0 - FRICTION_SETTINGS["warm"]) * true[dry])
        noise = np.tile(set_up.torque_noise(PROCEDURE_FIGURES["noise"]), len(w))
        worst[name] = np.abs(bias / np.linalg.norm(solve * noise, axis=1)).max()
    assert worst["common"] > 4.0
    assert worst["optimised"] < 2.5
    shares = [float(row[2].split()[0]) for row in _rows(parts["Section 12.3.3"], "friction-taken-as-exact")]
    assert shares[3] < 88.0 < 92.0 < min(shares[:2])


def _rows(part: Part, key: str) -> list[tuple]:
    (found,) = (one for one in part.tables if one.key == key)
    return [tuple(row) for row in found.rows]


def test_one_motion_beats_steps_of_the_same_length(parts):
    part = parts["Section 12.3.3"]
    rows = {row[0]: row for row in _rows(part, "friction-errors")}
    longest = max((row for name, row in rows.items() if "one motion" in name), key=lambda row: row[1])
    assert longest[1] == pytest.approx(rows["as printed"][1])
    assert longest[2] < 0.8 * rows["as printed"][2]
    assert longest[3] < 0.8 * rows["as printed"][3]


def test_poses_held_by_friction(parts):
    """Errors of gravity as ±Fc makes them: uniform, variance Fc²/3 per pose."""
    part = parts["Section 12.3.4.2, gravity first"]
    rows = {row[0]: row for row in _rows(part, "gravity-errors")}
    assert rows["as printed, friction holds the joints"][2] > 2.5 * rows["as printed"][2]
    assert rows["weighted, friction holds the joints"][2] < 0.75 * rows["as printed, friction holds the joints"][2]


def test_every_log_is_held_by_other_torques():
    """Constant in a pose, within ±Fc, and drawn anew for every pose, joint and log."""
    still = np.repeat([True, False, True, True, False], 10)
    one, other = friction_gravity._holding(still, 0), friction_gravity._holding(still, 1)
    assert (one[~still] == 0.0).all()
    assert (one[:10] == one[0]).all()
    assert (one[20:40] == one[20]).all()
    assert len(np.unique(np.concatenate([one[[0, 20]], other[[0, 20]]]))) == 12
    drawn = np.array([friction_gravity._holding(still, seed)[0] for seed in range(300)])
    limits = np.array(set_up.SET_UP["Fc"])
    assert (np.abs(drawn) <= limits).all()
    assert_allclose((drawn**2).mean(axis=0), limits**2 / 3.0, rtol=0.2)


# -- Vandanjon ---------------------------------------------------------------------------------------------------------


def test_four_kinds_of_motion(parts):
    part = parts["Section 12.3.4.2, Vandanjon"]
    rows = {row[0]: row for row in _rows(part, "vandanjon")}
    kinds = [rows[kind] for kind in PROCEDURE_FIGURES["printed"]["phenomena"]]
    together = rows["four kinds together"]
    assert len(kinds) == 4
    assert together[1] == pytest.approx(sum(row[1] for row in kinds))
    assert [row[4] is None for row in kinds] == [row[2] < 21 for row in kinds]
    assert together[2] == together[3] == 21
    assert all(row[4] is None or row[4] > together[4] for row in kinds)
    best = rows["one motion, D-optimal"]
    assert best[1] == pytest.approx(together[1], abs=0.1)
    assert best[4] < together[4]


def test_deviations_are_those_of_weighted_least_squares():
    """√diag inv(Wᵀ Σ⁻¹ W) with NumPy, along the common motion."""
    model, sigma = set_up.model(), np.array([0.5, 2.0, 7.0])
    path = set_up.motion(vandanjon.VANDANJON_SAMPLE_RATE)
    found = vandanjon.Excited.of([path], sigma)
    w = model.regressor(path)[:, :, model.base.independent]
    information = np.einsum("tjp,j,tjq->pq", w, sigma**-2.0, w)
    assert_allclose(found.std, np.sqrt(np.linalg.inv(information).diagonal()), rtol=1e-6)
    assert found.condition == pytest.approx(np.linalg.cond(w.reshape(-1, 21)), rel=1e-6)
    assert (found.rank, found.seconds) == (21, 20.0)


def test_information_of_motions_adds_up(parts):
    """1/σ² of the union is at least that of every kind alone."""
    part = parts["Section 12.3.4.2, Vandanjon"]
    for row in _rows(part, "vandanjon-std"):
        alone = [value for value in row[2:6] if value is not None]
        assert row[6] <= min(alone) * (1 + 1e-9), row[0]


# -- essential parameters ----------------------------------------------------------------------------------------------


def test_zeros_are_found_at_the_level_of_the_test(parts):
    part = parts["[12.10] and section 12.7, essential parameters"]
    times = PROCEDURE_FIGURES["essential"]["repetitions"]["quick"] * len(PROCEDURE_FIGURES["essential"]["zeros"])
    dropped = reached(part, "parameters that are zero and dropped")
    assert dropped >= 100.0 * (1.0 - 0.05 - 4.0 * np.sqrt(0.05 * 0.95 / times))
    assert reached(part, "that are not zero and dropped") == 0.0


# -- validation --------------------------------------------------------------------------------------------------------


def test_alarms(parts):
    """Gains that are wrong by one factor are seen by nothing but a known load; a log that is too short by everything
    but its own residuals."""
    rows = table(parts["Section 12.7, validation"], "validation-alarms")
    assert rows["nothing"] == (0.0,) * 6
    assert rows["all torque gains too large"] == (0.0, 0.0, 0.0, 100.0, 0.0, 0.0)
    assert rows["no dry friction in the model"] == (100.0, 100.0, 0.0, 0.0, 100.0, 100.0)  # simulator: by its torques
    assert rows["too short a log"][:3] == (0.0, 100.0, 100.0)
    tests = table(parts["Section 12.7, validation"], "validation-tests")
    assert not [one for one in tests["no dry friction in the model"] if one == "stopped"]
    assert reached(parts["Section 12.7, validation"], "constant offset") < 20.0


def test_wrong_gains_scale_everything(parts):
    """Mass and parameters are wrong by the factor itself, residuals relative to the torque by nothing."""
    rows = table(parts["Section 12.7, validation"], "validation-tests")
    factor = PROCEDURE_FIGURES["validation"]["faults"]["gain"]
    wrong, right = rows["all torque gains too large"], rows["nothing"]
    assert float(wrong[4].split()[0]) == pytest.approx(factor * payload().mass, abs=0.03)
    assert wrong[-1] == pytest.approx(100 * (factor - 1), abs=2.0)
    assert wrong[1:4] == right[1:4]


def test_simulator_that_is_unlike_the_robot():
    assert validation.alike(0.0, 0.03)
    assert not validation.alike(0.2, 0.03)
    assert not validation.alike(0.0, 0.5)


def test_known_load_and_gains(parts):
    loads = finding(parts["Section 12.7, validation"], "known load, the load").note
    mass = float(loads.split("mass ")[1].split()[0])
    assert mass == pytest.approx(payload().mass, abs=0.02)
    for row in _rows(parts["Section 12.3.6"], "drive-gains"):
        assert row[3] == pytest.approx(row[1] * row[2])  # [12.17b]
        assert row[4] == pytest.approx(row[3], rel=0.015)
        assert row[5] < 3.0 * row[6]


def test_the_page_says_the_same(parts):
    assert_documented("khalil-dombre-ch12", parts.values())
