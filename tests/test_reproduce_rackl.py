"""Rackl et al. 2012, run again: counts, splines, designs, estimates, and what of the printed figures can hold."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from scipy.interpolate import BSpline as SciPySpline

from exciter.dynamics.base import inertia_base
from exciter.excitation.trajectories.trajectory import motion
from exciter.parameters import inertial
from exciter.reproduction.finding import UNEXPLAINED, Verdict
from exciter.reproduction.paper import Effort
from exciter.reproduction.papers import paper
from exciter.reproduction.published import published
from exciter.reproduction.rackl import bound, designs, labels, ranks, set_up, spline, static
from exciter.reproduction.run import run_study
from exciter.robot.pinocchio_model import to_pinocchio

QUICK = Effort(quick=True)


@pytest.fixture(scope="module")
def parts():
    """All parts of the quick run, by item."""
    keys = [study.key for study in paper("rackl-2012").studies]
    return {part.item: part for key in keys for part in run_study("rackl-2012", key, QUICK)[1]}


def found(parts, item, words):
    (one,) = [finding for finding in parts[item].findings if words in finding.quantity]
    return one


def table(parts, item, key):
    (one,) = [table for table in parts[item].tables if table.key == key]
    return one.rows


FIGURE_3, RANDOM = "Section IV, Figure 3", "Section IV, random trajectories"
MET = [
    ("Section II-C", "parameters in Table I"),
    ("Section II-C", "Table I lists exactly"),
    ("Section II-C", "static and dynamic parameters together"),
    ("Section III-B", "control points for n"),
    ("Section III-B", "jerk continuous"),
    ("Section III-B", "zero at both ends"),
    ("Section III-B", "(control points)"),
    ("Table I, as printed", "sufficiently estimated"),
    ("Table I, as printed", "slight trend"),
    ("Section II-C, static step", "depends on positions"),
    ("Section II-C, static step", "in two steps"),
    ("Section II-C, static step", "tell more than every random set"),
    ("Section II-C, static step", "is unbiased"),
    (FIGURE_3, "certified"),
    (FIGURE_3, "zero at both ends"),
    (RANDOM, "better than every random one"),
    ("Section IV, payload (design)", "signal-to-noise"),
    ("Section IV, payload (design)", "certified"),
    ("Table I", "within the intervals"),
    ("Table I", "as large as their covariance"),
    ("Table I", "small parameters are estimated worse"),
    ("Section IV-B, Figure 4", "joints 2 to 6 torque errors"),
    ("Section IV-B, Figure 4", "joint 7 both models"),
    ("Section IV-B, Figure 4", "certified"),
    ("Section IV-B, Figure 4", "more data points"),
    ("Section IV, payload (experiment)", "payload is recovered"),
]


@pytest.mark.parametrize(("item", "words"), MET)
def test_what_holds(parts, item, words):
    assert found(parts, item, words).verdict == Verdict.MET


def test_nothing_else_is_short_or_differs(parts):
    open_ones = {f.quantity for part in parts.values() for f in part.findings if f.verdict in UNEXPLAINED}
    expected = (
        "number of knots",
        "(way-points)",
        "bodies with the parameters of Table I",
        "condition number λ of the optimised",
        "condition number of random trajectories, weighted",
        "the sixteen values and σ",
    )
    assert len(open_ones) == len(expected)
    assert all(any(words in quantity for quantity in open_ones) for words in expected)


# -- counts ------------------------------------------------------------------------------------------------------------


def pinocchio_rows(states: int = 150, static: bool = False) -> np.ndarray:
    """Regressor rows (7 states, 70) by Pinocchio."""
    model = to_pinocchio(set_up.paper_model().robot)
    data, rng, rows = model.createData(), np.random.default_rng(3), []
    for _ in range(states):
        q, v, a = rng.uniform(-2.0, 2.0, (3, 7))
        q = pinocchio.integrate(model, pinocchio.neutral(model), q)
        rest = np.zeros(7)
        rows.append(pinocchio.computeJointTorqueRegressor(model, data, q, *((rest, rest) if static else (v, a))).copy())
    return np.vstack(rows)


def test_ranks_by_pinocchio(parts):
    moments = np.array([k for k in range(70) if k % 10 >= 4])
    rows, still = pinocchio_rows(), pinocchio_rows(static=True)
    counts = [np.linalg.matrix_rank(x, 1e-9 * np.linalg.norm(x, 2)) for x in (rows, still, rows[:, moments])]
    shown = [
        found(parts, "Section II-C", words).reached
        for words in ("whole dynamics", "static base", "dynamic base parameters")
    ]
    assert counts == shown == [43, 12, 31]


def test_symmetries_by_pinocchio():
    """Sixteen parameters are left when XY, XZ, then YZ of two links and XX7 − YY7 are zero."""
    rows = pinocchio_rows()
    at = {f"{name}{j + 1}": 10 * j + k for j in range(7) for k, name in enumerate(inertial.NAMES)}
    keep = [f"{name}{j}" for j in range(1, 8) for name in ("XX", "YY", "ZZ")] + [f"YZ{j}" for j in (2, 3, 4, 5)]
    keep = [name for name in keep if name not in ("XX7", "YY7")]
    columns = np.column_stack([rows[:, [at[name] for name in keep]], rows[:, at["XX7"]] + rows[:, at["YY7"]]])
    assert np.linalg.matrix_rank(columns, 1e-9 * np.linalg.norm(columns, 2)) == 16
    assert sorted(ranks.symmetric_names(set_up.paper_model())) == sorted(set_up.names_16())


# -- splines -----------------------------------------------------------------------------------------------------------


def test_knots_by_scipy(parts):
    """The knot vector printed below (21), written out: only with 16 knots do 11 control points make a spline."""
    n, p = 6, 4
    t = np.linspace(0.0, 10.0, n + 1)
    knots = np.concatenate([np.repeat(t[0], p + 1), 0.5 * (t[1:] + t[:-1]), np.repeat(t[-1], p + 1)])
    assert found(parts, "Section III-B", "number of knots").reached == len(knots) == 16
    coefficients = np.random.default_rng(0).standard_normal(len(knots) - p - 1)
    assert len(coefficients) == found(parts, "Section III-B", "control points for").reached == 11
    ours = set_up.spline(n)
    times = np.linspace(0.0, 10.0, 50)
    np.testing.assert_allclose(
        ours.basis(times, 0)[0] @ coefficients, SciPySpline(knots, coefficients, p)(times), atol=1e-12
    )


def test_smoothness_and_start_jerk(parts):
    family = set_up.spline(6)
    delta = family.interpolate(np.random.default_rng(1).standard_normal((1, 7)))
    assert spline.jump(family, delta, 3) < 1e-9 < 1e-3 < spline.jump(family, delta, 4)
    assert abs(found(parts, "Section III-B", "jerk at the start").reached) > 0.1


# -- Table I as printed ------------------------------------------------------------------------------------------------


def test_label_conditions_hold_for_bodies_that_exist():
    """No robot of random real bodies is called impossible."""
    model = set_up.paper_model()
    rng = np.random.default_rng(0)
    base = inertia_base(model)
    names = set_up.names_31(model)
    for _ in range(200):
        moments = {}
        for j in range(1, 8):
            points = rng.standard_normal((4, 3)) * rng.uniform(0.05, 0.3, 3)
            second = points.T @ points
            inertia = np.trace(second) * np.eye(3) - second
            for name, (a, b) in {"XX": (0, 0), "XY": (0, 1), "XZ": (0, 2), "YY": (1, 1), "YZ": (1, 2)}.items():
                moments[f"{name}{j}"] = inertia[a, b]
            moments[f"ZZ{j}"] = inertia[2, 2]
            moments[f"YZ{j}"] = abs(moments[f"YZ{j}"])  # the sign does not matter to the conditions
        values = dict(zip(names, base.base_values([moments[s] for s in base.standard]), strict=True))
        assert labels.impossible(values) == ()


def test_printed_labels_are_impossible(parts):
    rows = {name: value for name, value, _ in published("rackl")["table_1"]}
    needed = rows["YZ2"] ** 2 / rows["ZZ2"]
    assert needed == pytest.approx(6.8, abs=0.05)
    assert found(parts, "Table I, as printed", "YY2 that YZ2").reached == pytest.approx(needed)
    assert needed > 1000 * rows["ZZ1"]
    assert labels.impossible(rows) == (2, 3, 4, 5)
    assert not found(parts, "Table I, as printed", "bodies with").reached


# -- the dynamic step --------------------------------------------------------------------------------------------------


def test_designs_reach_their_targets(parts):
    assert found(parts, FIGURE_3, "optimised trajectory, (15)").reached <= 153.0
    assert found(parts, FIGURE_3, "sixteen columns").reached <= 3.3
    assert found(parts, FIGURE_3, "all 31").reached <= 5.0
    low, high = set_up.DURATIONS
    assert low <= found(parts, FIGURE_3, "duration").reached <= high


def test_published_condition_is_below_every_bound(parts):
    published_one = published("rackl")["condition"]["optimised"]
    reached = found(parts, FIGURE_3, "optimised trajectory, (15)")
    assert reached.verdict == Verdict.SHORT
    for _, condition, least, *_ in table(parts, FIGURE_3, "bounds"):
        assert published_one < least <= condition
    assert found(parts, FIGURE_3, "smallest such bound").reached > 2.0 * published_one


def test_column_ratio_and_its_derivative():
    rng = np.random.default_rng(0)
    w = rng.standard_normal((50, 16))
    weights = tuple(rng.uniform(0.1, 3.0, 16))
    criterion = bound.ColumnRatio(weights)
    h = w.T @ w
    lengths = np.linalg.norm(w * weights, axis=0)
    exact = np.log(lengths.max() / lengths.min())
    value, gradient = criterion(h)
    assert exact <= value <= exact + np.log(16.0) / criterion.power
    assert np.linalg.cond(w * weights) >= np.exp(exact)
    step = rng.standard_normal((16, 16))
    step = 1e-3 * (step + step.T)
    difference = criterion(h + step)[0] - criterion(h - step)[0]
    assert (gradient * step).sum() * 2.0 == pytest.approx(difference, rel=1e-4)


def test_weighted_condition_by_numpy(parts):
    design = designs.full_criterion(2, payload=True, jobs=1)  # the one of the quick run, cached
    log = motion(design.trajectory, design.delta, design.trajectory.sample_times(design.samples))
    columns = [design.model.standard.index(name) for name in set_up.names_16()]
    w = design.model.regressor(log)[:, :, columns].reshape(-1, 16) * set_up.weights_16()
    assert np.linalg.cond(w) == pytest.approx(found(parts, FIGURE_3, "(15)").reached, rel=1e-6)
    assert design.criterion.name.count("inverse-torque") == 1
    assert {limit.what for limit in design.certificate.limits} >= {"position", "velocity", "acceleration", "torque"}


def test_random_splines_as_distributions(parts):
    """Medians where other programs found them (15 … 54, 29 … 155, 990 … 1900), and the published figure far outside."""
    medians = {
        (points, words): row[4] for row in table(parts, RANDOM, "random") for points, words in [(row[0], row[2])]
    }
    assert all(14.0 <= medians[points, "16 columns"] <= 55.0 for points in (7, 9, 13))
    assert all(28.0 <= medians[points, "31 columns"] <= 156.0 for points in (7, 9, 13))
    assert all(950.0 <= medians[points, "16 columns, weighted"] <= 1950.0 for points in (7, 9, 13))
    assert found(parts, RANDOM, "random trajectories, weighted").verdict == Verdict.DIFFERS
    assert found(parts, RANDOM, "improves the median").verdict == Verdict.BEATEN


# -- identification ----------------------------------------------------------------------------------------------------


def test_table_1_layout(parts):
    rows = {row[0]: row for row in table(parts, "Table I", "table-1")}
    assert len(rows) == 43
    printed = {name: (row[1], row[2]) for name, row in rows.items() if row[1] is not None}
    assert len(printed) == 16
    assert printed["ZZR1"] == (0.0057, 0.429)
    assert printed["YZ5"] == (0.0506, 1.354)
    errors = np.array([row[8] for row in rows.values()])
    assert 0.5 < np.sqrt(np.mean(errors**2)) < 2.0
    off = np.array([(row[3] - row[4]) / row[6] for row in rows.values()])
    assert np.abs(off).max() > 20.0  # what CAD gets wrong is far outside σ


def test_static_poses_keep_every_limit(parts):
    model = set_up.paper_model()
    limits = published("rackl")["limits"]
    q = np.deg2rad([row[1:] for row in table(parts, "Section II-C, static step", "poses")])
    assert len(q) == static.POSES
    assert (q >= np.deg2rad(limits["lower"]) - 1e-9).all()
    assert (q <= np.deg2rad(limits["upper"]) + 1e-9).all()
    pin = to_pinocchio(model.robot)
    data = pin.createData()
    for posture in q:
        pinocchio.forwardKinematics(pin, data, posture)
        tool = data.oMi[7].translation
        assert np.linalg.norm(tool) >= 0.3 - 1e-6
        assert tool[2] >= 0.3 - 1e-6
        torque = pinocchio.rnea(pin, data, posture, np.zeros(7), np.zeros(7))
        assert (np.abs(torque) <= limits["torque"]).all()


def test_payload_changes_torques_and_no_sigma(parts):
    ratio = found(parts, "Section IV, payload (experiment)", "σ with payload over").reached
    assert ratio == pytest.approx(1.0, abs=0.03)
    mass = found(parts, "Section IV, payload (experiment)", "mass of the payload").reached
    assert mass == pytest.approx(7850 * np.pi * 0.05**2 * 0.05, rel=0.005)
    for _, without, with_load, *_ in table(parts, "Section IV, payload (design)", "payload-relative"):
        assert with_load > without


def test_sigma_of_the_lightest_link_needs_a_log_of_days(parts):
    assert found(parts, "Table I", "length of a log").reached > 24.0


def test_figures_can_be_drawn(parts):
    for item in (FIGURE_3, RANDOM, "Section III-B", "Section IV-B, Figure 4"):
        assert all(figure.html() for figure in parts[item].figures)
    assert len(parts["Section IV-B, Figure 4"].figures) == 6
