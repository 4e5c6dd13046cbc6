"""Swevers et al. 1997 (IEEE), sections II to IV: designs, Table I, Table II, the Monte Carlo, recomputed figures."""

import json
import re
from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammainc, gammaincc, ndtr

from exciter.excitation.constraints.constraint import ROW_LENGTH_M
from exciter.excitation.criteria.criterion import evaluate
from exciter.robot.pinocchio_model import to_pinocchio
from exciter_papers.paper import Effort, Verdict
from exciter_papers.run import run_study
from exciter_papers.swevers_ieee import designs, monte_carlo, printed, set_up
from support.documented import assert_documented
from support.paths import SHARED_DATA

pytestmark = pytest.mark.papers

PUBLISHED = set_up.IEEE_FIGURES
PINOCCHIO = ["M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ"]  # its order of one link's parameters
INDEPENDENT = [line["standard"] for line in PUBLISHED["table_1"]["rows"]]


@pytest.fixture(scope="module")
def parts():
    found = [run_study("swevers-1997-ieee", key, Effort(quick=True))[1] for key in ("designs", "printed")]
    return {part.item: part for group in found for part in group}


@pytest.fixture(scope="module")
def motions(parts):
    """The coefficients (3, 11) of both motions, from the tables of Figures 2 and 3."""
    tables = parts["Figures 2 and 3"].tables
    return {f"c{k + 1}": np.array([row[1:] for row in table.rows], dtype=float).T for k, table in enumerate(tables)}


def table(parts, item):
    (found,) = parts[item].tables
    return found


def column(found, heading):
    return np.array([row[found.headings.index(heading)] for row in found.rows])


def finding(parts, item, start):
    (found,) = (one for one in parts[item].findings if one.quantity.startswith(start))
    return found


def series(delta, time):
    """Eq. (11), written out."""
    omega = 2.0 * np.pi * 0.1
    q, qd, qdd = (np.zeros((len(time), 3)) for _ in range(3))
    for j, row in enumerate(delta):
        q[:, j] = row[10]
        for l in range(1, 6):
            a, b, w = row[l - 1], row[l + 4], omega * l
            q[:, j] += a / w * np.sin(w * time) - b / w * np.cos(w * time)
            qd[:, j] += a * np.cos(w * time) + b * np.sin(w * time)
            qdd[:, j] += -a * w * np.sin(w * time) + b * w * np.cos(w * time)
    return q, qd, qdd


def pinocchio_rows(delta, count=1500):
    """Σ^-1/2 F (3 N, 21) in the order of Table I, by another program."""
    arm = to_pinocchio(set_up.model().robot)
    data = arm.createData()
    places = [10 * (int(name[-1]) - 1) + PINOCCHIO.index(name[:-1]) for name in INDEPENDENT[:15]]
    rows = []
    for q, qd, qdd in zip(*series(delta, 10.0 * np.arange(count) / count), strict=True):
        inertial = pinocchio.computeJointTorqueRegressor(arm, data, q, qd, qdd)[:, places]
        rows.append(np.hstack([inertial, np.diag(qd), np.diag(np.sign(qd))]) / np.sqrt([[25.0], [26.0], [10.0]]))
    return np.vstack(rows)


def figures(rows):
    """Condition number with unit columns, log₁₀ det of the covariance, σ."""
    unit = rows / np.linalg.norm(rows, axis=0)
    covariance = np.linalg.inv(rows.T @ rows)
    return np.linalg.cond(unit), np.linalg.slogdet(covariance)[1] / np.log(10.0), np.sqrt(np.diag(covariance))


# -- verdicts --------------------------------------------------------------------------------------------------------


def test_only_what_the_paper_has_wrong_differs(parts):
    """Everything that can be run is met or beaten; what differs is a misprint or a wrong statement, explained, but for
    the single σ of Table II, which belong to motions unlike ours."""
    verdicts = {
        (part.item, one.quantity): one.verdict
        for part in parts.values()
        for one in part.findings
        if one.verdict not in (Verdict.MET, Verdict.BEATEN, Verdict.SHOWN)
    }
    short = "Section IV-B, shorter records"
    wrong = {
        ("Table I", "lines of Table I that are base parameters as printed"),
        ("Section IV-B, interval of the ratios", "lower end by the printed formula"),
        ("Section IV-B, interval of the ratios", "upper end by the printed formula"),
        *(
            (
                "Table II",
                f"σ of {name}, parameter by parameter: RMS distance from our starts, in standard deviations of log σ",
            )
            for name in ("c1", "c2")
        ),
        ("Equations (6) and (9)", "(6): the Fisher information is the product of the gradients at exact data"),
        ("Equations (6) and (9)", "minimising −log det M of the covariance M makes uncertainty small"),
        *(
            (short, f"{record} give {what}")
            for record in ("500 samples of one period", "the first 500 of 1500 samples")
            for what in ("biased estimates", "a covariance significantly larger than the Cramér–Rao bound")
        ),
    }
    unrunnable = {("Figures 2 and 3", "coefficients of the trajectories in Figures 2 and 3")}
    assert {key for key, verdict in verdicts.items() if verdict is Verdict.DIFFERS} == wrong
    assert {key for key, verdict in verdicts.items() if verdict is Verdict.CLOSED} == unrunnable
    undecided = {("Section IV-B", "c2: log₁₀ det of the covariance")}  # by a posture that is not printed
    assert {key for key, verdict in verdicts.items() if verdict is Verdict.UNDECIDED} == undecided
    assert len(verdicts) == len(wrong) + len(unrunnable) + len(undecided)


# -- designs ---------------------------------------------------------------------------------------------------------


def test_what_is_better_is_beaten_only_for_every_reading():
    both = designs.terms("cond", {"forearm horizontal": True, "arm upright": True})
    one = designs.terms("cond", {"forearm horizontal": True, "arm upright": False})
    assert not both.left_open
    assert "do not decide it" in both.conditions
    assert one.left_open.endswith("not better with the arm upright at zero")
    assert "do not decide it" not in one.conditions


def test_height_limits_for_all_likely_lengths_by_hand():
    """z of the end effector for lengths and shoulders between the ends lies between the heights that are kept."""
    robot = set_up.of_any_lengths(set_up.model().robot).robot
    motion = set_up.sampled(0.3 * np.random.default_rng(3).standard_normal((3, 11)), 50)
    limits = set_up.workspace_of_any_lengths(robot)
    margins = ROW_LENGTH_M * np.min([one.values(motion).min() for one in limits])
    heights = []
    for length in np.linspace(*set_up.TOOL_LENGTHS, 5):
        for shoulder in 1.02 + set_up.SHOULDER_RANGE * np.array([-1.0, 0.0, 1.0]):
            q2, q3 = motion.q[:, 1], motion.q[:, 2]
            heights.append(shoulder + 0.48 * np.cos(q2) - length * np.sin(q2 + q3))
    assert (margins >= 0.0) == (0.8 <= np.min(heights) <= np.max(heights) <= 1.8)
    assert margins == pytest.approx(min(np.min(heights) - 0.8, 1.8 - np.max(heights)), abs=1e-9)


def test_both_criteria_are_better_and_one_is_beaten_whatever_is_not_printed(parts):
    """Within height limits for all likely lengths, c1 is better for both postures at zero, c2 for one."""
    c1, c2 = (finding(parts, "Section IV-B", f"{name}: {what}") for name, what in (("c1", "cond"), ("c2", "log")))
    assert (c1.verdict, c2.verdict) == (Verdict.BEATEN, Verdict.UNDECIDED)
    assert "not better with the arm upright" in c2.note
    for name, published, better in (("c1", 4.15, (True, True)), ("c2", -48.63, (None, False))):
        for posture, holds in zip(("forearm horizontal", "arm upright"), better, strict=True):
            start = f"{name} with the height limits kept for all likely lengths at once, {posture}"
            reached = finding(parts, "Section IV-B", start).reached
            assert holds is None or (reached < published) == holds
    assert c1.published == 4.15
    assert c1.reached <= 3.6
    assert_allclose(c2.published, -48.63, atol=0.005)
    assert c2.reached <= -49.5


def test_distribution_over_starts(parts):
    """A prototype accepted 22 of 23 and 24 of 24 starts, medians 3.87 and 10^-48.5; 19 and 8 beat the paper."""
    found = table(parts, "Section IV-B")
    criterion, condition, det = (column(found, name) for name in found.headings[:1] + found.headings[2:])
    c1, c2 = condition[criterion == "c1"], det[criterion == "c2"].astype(float)
    assert len(c1) == len(c2) == 16
    assert np.median(c1) <= 3.87
    assert np.mean(c1 <= 4.15) >= 19 / 23
    assert np.median(c2) <= -48.4
    assert np.mean(c2 <= np.log10(2.36e-49)) >= 8 / 24
    assert det[criterion == "c1"].min() > c2.max()
    assert finding(parts, "Section IV-B", "c2 gives").note.endswith("pairs of starts 100 % say so")
    assert designs._share_of_pairs(np.array([1.0, 4.0]), np.array([2.0, 3.0, 5.0, 0.0])) == 50.0


def test_use_of_the_limits(parts, motions):
    """Largest share of each kind of limit over joints and time, and the heights, by (11) on a grid."""
    limits = (np.array([1.6, 1.2, 1.2]), 1.45, 3.0)
    for name, delta in zip(("Figure 2, c1", "Figure 3, c2"), motions.values(), strict=True):
        values = series(delta, np.linspace(0.0, 10.0, 20001))
        for kind, value, limit in zip(("position", "velocity", "acceleration"), values, limits, strict=True):
            found = finding(parts, "Figures 2 and 3", f"{name}: largest {kind}")
            assert_allclose(found.reached, np.abs(value / limit).max(), rtol=1e-5)
        q = values[0]
        height = 1.02 + 0.48 * np.cos(q[:, 1]) - 0.765 * np.sin(q[:, 1] + q[:, 2])
        found = finding(parts, "Figures 2 and 3", f"{name}: height")
        assert_allclose([float(x) for x in found.reached.split(" … ")], [height.min(), height.max()], atol=1e-3)
        assert found.note == "0.8 … 1.8 m are allowed"


def test_motions_keep_all_limits(motions):
    """Of the coefficients that are printed, by (11) and forward kinematics written out."""
    for delta in motions.values():
        q, qd, qdd = series(delta, np.linspace(0.0, 10.0, 20001))
        assert (np.abs(q) <= [1.6, 1.2, 1.2]).all()
        assert (np.abs(qd) <= 1.45).all()
        assert (np.abs(qdd) <= 3.0).all()
        height = 1.02 + 0.48 * np.cos(q[:, 1]) - 0.765 * np.sin(q[:, 1] + q[:, 2])
        assert height.min() >= 0.8
        assert height.max() <= 1.8


def test_figures_of_the_motions_by_pinocchio(parts, motions):
    condition, log10_det, sigma = figures(pinocchio_rows(motions["c1"]))
    assert_allclose(finding(parts, "Section IV-B", "c1: cond").reached, condition, rtol=1e-9)
    assert f"the best motion has {log10_det:.1f}" in finding(parts, "Section IV-B", "c1: log").note
    found = parts["Table II"].tables[0]
    assert_allclose(column(found, "σ_c1, ours").astype(float), sigma, rtol=1e-9)
    condition, log10_det, sigma = figures(pinocchio_rows(motions["c2"]))
    assert_allclose(finding(parts, "Section IV-B", "c2: log").reached, log10_det, rtol=1e-9)
    assert f"the best motion has {condition:.2f}" in finding(parts, "Section IV-B", "c2: cond").note
    assert_allclose(column(found, "σ_c2, ours").astype(float), sigma, rtol=1e-9)
    assert_allclose(column(found, "σ_c2/√200, ours").astype(float), sigma / np.sqrt(200), rtol=1e-9)


@pytest.mark.parametrize("name", ["B_c1", "B_c2"])
def test_reference_trajectories(name):
    """Two trajectories with the figures another program gave for them."""
    path = SHARED_DATA.parent / "reference" / "papers_trajectories.json"
    if not path.exists():
        pytest.skip("reference trajectories are not here")
    expected = json.loads(path.read_text())[name]
    found = monte_carlo.Record(set_up.sampled(np.array(expected["coef"])))
    assert_allclose(found.information.condition_number_normalized, expected["cond"], rtol=1e-6)
    assert_allclose(np.linalg.slogdet(found.covariance)[1] / np.log(10.0), expected["log10det"], rtol=1e-6)
    assert_allclose(found.sigma[set_up.order()], expected["sigma"], atol=6e-6)  # five decimals are listed


def test_upright_reading_does_not_get_there(parts):
    assert finding(parts, "Section IV-B", "c2 if the arm").reached > np.log10(2.36e-49) + 1.0


# -- Table I ---------------------------------------------------------------------------------------------------------


def test_table_1_gives_the_torques_of_any_inertias(motions):
    """Corrected it does, as printed or with another length it does not; torques by Pinocchio."""
    arm = to_pinocchio(set_up.model().robot)
    data = arm.createData()
    places = [10 * (int(name[-1]) - 1) + PINOCCHIO.index(name[:-1]) for name in INDEPENDENT[:15]]
    names = [f"{name}{link}" for link in (1, 2, 3) for name in PINOCCHIO]
    into = [set_up.model().standard.index(name) for name in names]
    chi = np.random.default_rng(3).standard_normal(30)
    regressors = np.array(
        [
            pinocchio.computeJointTorqueRegressor(arm, data, *instant)
            for instant in zip(*series(motions["c2"], np.linspace(0.0, 9.0, 20)), strict=True)
        ]
    )

    def error(grouping):
        return np.abs(regressors[:, :, places] @ grouping[:15][:, into] @ chi - regressors @ chi).max()

    corrected = printed.groupings(corrected=True)
    assert error(corrected) < 1e-12
    assert error(printed.groupings(corrected=False)) > 0.1
    longer = corrected.copy()
    longer[0, set_up.model().standard.index("M3")] = 1.02**2
    assert error(longer) > 0.01


def test_set_up_is_the_papers(parts):
    model = set_up.model()
    assert [model.base.names[k] for k in set_up.order()][:3] == ["ZZR1", "MXR2", "MY2"]
    assert_allclose(set_up.theta()[set_up.order()], [line["value"] for line in PUBLISHED["table_1"]["rows"]])
    assert_allclose(model.base.base_values(set_up.chi()), set_up.theta())
    assert_allclose(set_up.TORQUE_NOISE_STD**2, [25.0, 26.0, 10.0])
    assert PUBLISHED["simulation"]["samples"] == PUBLISHED["simulation"]["rate"] * PUBLISHED["simulation"]["period"]
    assert finding(parts, "Table I", "XX3").reached is False
    assert not printed._of_a_body({"XX3": 8.21, "ZZ3": 7.63, "XX2": 9.0})
    assert printed._of_a_body({"XX3": 7.0, "ZZ3": 7.63, "XX2": -28.69})


# -- Table II --------------------------------------------------------------------------------------------------------


def test_printed_counts(parts):
    item = "Table II, as printed"
    means, ratios = (finding(parts, item, start) for start in ("means", "ratios"))
    assert (means.reached, means.note) == (16, "outside: 3, 8, 14, 18, 19")
    assert (ratios.reached, ratios.note) == (19, "outside: 2 (0.894), 3 (0.905)")
    assert finding(parts, item, "σ_c2 is smaller").note == "recomputed: 2, 9, 16, 17, 20, 21"
    assert finding(parts, item, "c1").note == "10^-42.75 and 10^-39.06"
    assert finding(parts, item, "c2").note == "10^-48.63 and 10^-44.44"
    assert finding(parts, item, "column 6").note.startswith("line 20:")


def test_misread_digits_would_be_noticed(monkeypatch):
    """A column 6 that is a digit off is not called the same."""
    wrong = printed.PRINTED_COLUMNS["sigma_mean"].copy()
    wrong[3] += 1e-4
    monkeypatch.setitem(printed.PRINTED_COLUMNS, "sigma_mean", wrong)
    assert printed._column_6().verdict is Verdict.DIFFERS


def test_a_determinant_above_hadamards_bound_would_be_noticed(monkeypatch):
    assert printed._hadamard("c1").verdict is Verdict.MET
    monkeypatch.setitem(set_up.IEEE_FIGURES["designs"]["c1"], "determinant", 1e-38)
    assert printed._hadamard("c1").verdict is Verdict.DIFFERS


def test_standard_deviations_belong_to_their_parameters(motions):
    """Of every start, in the order of Table I: by Pinocchio, whose columns are in that order."""
    _, _, sigma = figures(pinocchio_rows(motions["c2"]))
    evaluated = evaluate(set_up.model(), set_up.sampled(motions["c2"]), set_up.TORQUE_NOISE_STD**-2.0)
    assert_allclose(designs.Starts(None, (evaluated,)).std[0], sigma, rtol=1e-9)
    assert set_up.order().tolist() != list(range(21))


def test_departures_from_our_starts():
    """One of the same kind is about 1 away; with its σ given to other parameters it is far, though as large."""
    rng = np.random.default_rng(1)
    centre = np.exp(rng.standard_normal(21))
    starts = centre * np.exp(0.1 * rng.standard_normal((40, 21)))
    alike = centre * np.exp(0.1 * rng.standard_normal(21))
    assert 0.6 < monte_carlo.departure(alike, starts) < 1.5
    assert 0.8 < np.median(monte_carlo.left_out(starts)) < 1.2
    exchanged = np.roll(alike, 1)
    assert_allclose(monte_carlo._mean_ratio(exchanged, centre), monte_carlo._mean_ratio(alike, centre))
    assert monte_carlo.departure(exchanged, starts) > 3.0 * max(monte_carlo.left_out(starts))
    assert_allclose(monte_carlo.departures(np.exp(np.log(starts).mean(axis=0)), starts), 0.0, atol=1e-12)
    three = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    assert [monte_carlo.inside(np.array(x), three) for x in ([2.5, 5.5], [4.0, 5.5], [0.5, 7.5])] == [2, 1, 0]
    assert monte_carlo.larger_in_pairs(three, np.array([[1.5, 6.5], [0.0, 0.0]])).tolist() == [0, 2, 1, 2, 2, 2]


def test_what_stands_out_is_named(parts):
    """Of both columns viscous friction and first moments of joint 3; nothing of links 1 and 2 but friction."""
    for name in ("c1", "c2"):
        note = finding(parts, "Table II", f"σ of {name}, parameter").note
        assert all(parameter in note for parameter in ("Fv3", "MX3", "MY3"))
        assert not any(parameter in note for parameter in ("ZZR1", "MXR2", "YZ2"))


def test_sizes_of_the_standard_deviations(parts):
    """Units, model and noise are the paper's: a prototype's best motions had 0.50 … 2.9 and 0.58 … 1.57 of Table II."""
    found = parts["Table II"].tables[0]
    for name, low, high in (("σ_c1", 0.50, 2.9), ("σ_c2", 0.55, 1.6)):
        ratio = column(found, f"{name}, ours").astype(float) / column(found, f"{name}, published").astype(float)
        assert low < ratio.min() < 1.0 < ratio.max() < high


def test_columns_2_and_5(parts, motions):
    """Mean and scatter of 200 estimates, by least squares written out for the same noise."""
    found = parts["Table II"].tables[0]
    rows = pinocchio_rows(motions["c2"])
    truth = np.array([line["value"] for line in PUBLISHED["table_1"]["rows"]])
    noise = np.array([np.random.default_rng(seed).standard_normal((1500, 3)).ravel() for seed in range(200)])
    estimates = np.linalg.lstsq(rows, (rows @ truth)[:, None] + noise.T, rcond=None)[0]
    assert_allclose(column(found, "mean, ours").astype(float), estimates.mean(axis=1), atol=1e-9)
    assert_allclose(column(found, "σ_e, ours").astype(float), estimates.std(axis=1, ddof=1), atol=1e-9)
    sigma = figures(rows)[2]
    near = np.abs(estimates.mean(axis=1) - truth) < sigma / np.sqrt(200)
    ratios = estimates.std(axis=1, ddof=1) / sigma
    assert finding(parts, "Table II", "column 2, ours").reached == near.sum()
    assert finding(parts, "Table II", "column 5, ours").reached == ((ratios > 0.923) & (ratios < 1.089)).sum()


# -- the Monte Carlo -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def repeated(motions):
    return monte_carlo.Record(set_up.sampled(motions["c2"], 300)).repeated(150, 5)


def test_counts_have_the_expected_value(repeated):
    """Each with its exact probability; five standard errors, one false alarm in a million."""
    low, high = PUBLISHED["table_2"]["ratio_interval"]
    by_gamma = np.diff(gammainc(199 / 2, 199 * np.array([low, high]) ** 2 / 2))[0]
    assert_allclose(monte_carlo.ratio_probability(low, high), by_gamma, rtol=1e-12)
    assert_allclose(monte_carlo.mean_probability(), 2.0 * ndtr(1.0) - 1.0, rtol=1e-12)
    for counts, chance in ((repeated.means_inside(), ndtr(1.0) - ndtr(-1.0)), (repeated.ratios_inside, by_gamma)):
        assert abs(counts.mean() - 21 * chance) < 5.0 * counts.std(ddof=1) / np.sqrt(len(counts))


def test_published_counts_are_typical(parts):
    item = "Section IV-B, Monte Carlo"
    means, ratios = (finding(parts, item, start) for start in ("means", "ratios"))
    assert (means.published, ratios.published) == (16, 19)
    assert 12 <= means.reached <= 17
    assert 17 <= ratios.reached <= 20
    assert finding(parts, item, "largest difference").reached < 1e-8
    shares = np.array(table(parts, item).rows, dtype=float)[:, 1:]
    assert_allclose(shares.sum(axis=0), 1.0)


def test_bias_and_excess_are_noticed(repeated):
    """The tests behind 'unbiased' and 'efficient' see a tenth of σ and two per cent."""
    assert repeated.bias_chance > 1e-3
    assert repeated.excess_chance > 1e-3
    shifted = replace(repeated, means=repeated.means + 0.1 * repeated.record.sigma)
    assert shifted.bias_chance < 1e-6
    assert replace(repeated, squares=1.02 * repeated.squares).excess_chance < 1e-6


def test_chances_are_those_of_chi_square(repeated):
    """Degrees of freedom and scale written out: 150 Monte Carlos of 200 estimates of 21 parameters."""
    mean = repeated.means.mean(axis=0)
    distance = 150 * 200 * mean @ np.linalg.inv(repeated.record.covariance) @ mean
    assert_allclose(repeated.bias_chance, gammaincc(21 / 2, distance / 2), rtol=1e-6)
    assert repeated.freedom == 150 * 199 * 21
    assert_allclose(repeated.excess_chance, gammaincc(150 * 199 * 21 / 2, repeated.squares / 2), rtol=1e-6)


def test_words_on_a_published_count():
    """Two-sided chance of an independent count: of 2 of 10 with chance 0.5 it is 2 · 56/1024, of the middle one 1."""
    counts = np.array([4, 5, 6, 5])
    assert monte_carlo._theory(counts, 10, 0.5, 2).endswith("a two-sided chance of 0.11")
    assert monte_carlo._theory(counts, 10, 0.5, 8).endswith("a two-sided chance of 0.11")
    assert monte_carlo._theory(counts, 10, 0.5, 5).endswith("a two-sided chance of 1.00")


def test_shorter_records(parts, motions):
    """A third of the samples: √3 for a whole period, more for a third of it; both unbiased and efficient."""
    found = table(parts, "Section IV-B, shorter records")
    condition, sigma, means, ratios = np.array([row[1:5] for row in found.rows], dtype=float).T
    assert_allclose(sigma, [1.0, np.sqrt(3.0), sigma[2]], rtol=0.02)
    assert 3.0 < sigma[2] < 6.0
    assert condition[2] > 3.0 * condition[0]
    assert_allclose(means, 21 * monte_carlo.mean_probability(), atol=2.0)
    assert_allclose(ratios, 21 * 0.9, atol=1.2)
    exact = figures(pinocchio_rows(motions["c2"])[: 3 * 500])
    assert_allclose(condition[2], exact[0], rtol=1e-9)
    note = finding(parts, "Section IV-B, shorter records", "500 samples of one period give biased").note
    mistaken = float(re.search(r"([\d.]+) of 21 lie inside that", note)[1])  # σ is √3 of what the interval is for
    assert_allclose(mistaken, 21 * (2.0 * ndtr(1.0 / np.sqrt(3.0)) - 1.0), atol=1.5)


def test_estimates_of_the_product_are_the_linear_ones(motions):
    """(7) by the product's estimator, against the normal equations of Pinocchio's rows."""
    rows = pinocchio_rows(motions["c1"], 300)
    truth = set_up.theta()[set_up.order()]
    noise = np.array([np.random.default_rng(seed).standard_normal((300, 3)).ravel() for seed in range(3)])
    linear = truth + noise @ rows @ np.linalg.inv(rows.T @ rows)
    found = monte_carlo.estimated(set_up.sampled(motions["c1"], 300), 3)[:, set_up.order()]
    assert_allclose(found, linear, atol=1e-9)


# -- intervals and weighting -----------------------------------------------------------------------------------------


def test_intervals_of_the_ratios(parts):
    assert_array_equal(np.round(printed.formula_interval(), 3), [0.919, 1.084])
    exact = printed.exact_interval()
    assert_array_equal(np.round(exact, 3), [0.917, 1.082])
    assert_allclose(gammainc(199 / 2, 199 * exact**2 / 2), [0.05, 0.95], rtol=1e-9)
    low, high = printed.formula_interval()
    lower = finding(parts, "Section IV-B, interval of the ratios", "lower end")
    assert f"{1.0 / high:.4f} … {1.0 / low:.4f} by the same formula" in lower.note


def test_weighting(parts, motions):
    """Gauss–Markov: ordinary least squares is never better; covariances by pseudo-inverses of Pinocchio's rows."""
    sigma = np.tile(np.sqrt([25.0, 26.0, 10.0]), 1500)
    whitened = pinocchio_rows(motions["c2"])
    plain = np.linalg.pinv(whitened * sigma[:, None]) * sigma
    ordinary, weighted = designs.covariances(motions["c2"])
    at = np.ix_(set_up.order(), set_up.order())
    assert_allclose(ordinary[at], plain @ plain.T, rtol=1e-6, atol=1e-10)
    assert_allclose(weighted[at], np.linalg.inv(whitened.T @ whitened), rtol=1e-6, atol=1e-10)
    rows = np.array([row[2:] for row in table(parts, "Section II-B").rows], dtype=float)
    assert (rows >= 1.0).all()
    assert 1.05 < rows.max() < 1.2
    assert_allclose(rows[:, 1], np.sqrt(np.diag(plain @ plain.T)) / figures(whitened)[2], rtol=1e-6)
    assert_allclose(designs.least_gain(np.diag([2.0, 0.5, 3.0]), np.eye(3)), -0.5)  # better in one direction


def test_the_page_says_the_same(parts):
    distances = [
        f"σ of {c}, parameter by parameter: RMS distance from our starts, in standard deviations of log σ"
        for c in ("c1", "c2")
    ]
    assert_documented("swevers-1997-ieee", parts.values(), distances)
