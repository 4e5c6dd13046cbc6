"""Khalil & Dombre, chapter 12: four models, noise, filters, uncertainty, number of equations, criteria."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import signal
from scipy.stats import chi2

from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.excitation.validation_motion.random_families import random_trajectory
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter_papers.khalil_dombre import criteria, equations, filters, four_models, noise, set_up, uncertainty
from exciter_papers.khalil_dombre.four_models import SAID
from exciter_papers.khalil_dombre.set_up import PROCEDURE_FIGURES
from exciter_papers.paper import Effort, Finding, Part, Verdict
from exciter_papers.run import run_study
from support.documented import assert_documented

pytestmark = pytest.mark.papers

STUDIES = ("four-models", "noise", "uncertainty", "filters", "equations", "criteria")
#: Statements that do not hold here; all others do
WRONG = {"enough", "no_zero"}
ERRORS = ("dynamic", "filtered dynamic", "power", "energy")
X = {  # Gautier & Khalil 1992, Table 6
    "ZZR1": 5.0186,
    "XXR2": -2.05,
    "XY2": 0.7,
    "XZR2": -1.07,
    "YZ2": 0.65,
    "ZZR2": 6.55,
    "MXR2": 4.3,
    "MY2": 0.6,
    "XXR3": 0.7634,
    "XY3": 0.6872,
    "XZ3": 0.55,
    "YZ3": -0.6,
    "ZZ3": 0.9646,
    "MX3": 0.528,
    "MY3": 1.14,
}
FRICTION = {"Fs1": 3.0, "Fs2": 4.0, "Fs3": 2.0, "Fv1": 1.5, "Fv2": 2.0, "Fv3": 1.0}
Parts = dict[str, tuple[Part, ...]]


@pytest.fixture(scope="module")
def parts() -> Parts:
    return {key: run_study("khalil-dombre-ch12", key, Effort(quick=True))[1] for key in STUDIES}


def finding(parts: Parts, key: str, start: str) -> Finding:
    """The one whose quantity begins so."""
    found = [one for part in parts[key] for one in part.findings if one.quantity.startswith(start)]
    assert len(found) == 1, [one.quantity for one in found]
    return found[0]


def number(parts: Parts, key: str, start: str) -> float:
    reached = finding(parts, key, start).reached
    assert isinstance(reached, (float, int))
    return float(reached)


def table(parts: Parts, study: str, key: str) -> list[dict[str, object]]:
    (found,) = (one for part in parts[study] for one in part.tables if one.key == key)
    return [dict(zip(found.headings, row, strict=True)) for row in found.rows]


# -- all of it ---------------------------------------------------------------------------------------------------------


def test_statements_hold_but_for_those_that_are_wrong(parts: Parts) -> None:
    findings = {one.quantity: one for key in STUDIES for part in parts[key] for one in part.findings}
    verdicts = {key: findings[said].verdict for key, said in SAID.items()}
    assert verdicts == {key: Verdict.DIFFERS if key in WRONG else Verdict.MET for key in SAID}
    others = [one for quantity, one in findings.items() if quantity not in SAID.values()]
    assert {one.verdict for one in others} == {Verdict.MET, Verdict.SHOWN}


def test_parts_can_be_told_apart_and_are_complete(parts: Parts) -> None:
    every = [part for key in STUDIES for part in parts[key]]
    keys = [one.key for part in every for one in part.tables]
    assert len(set(keys)) == len(keys)
    for part in every:
        assert part.findings
        assert part.set_up
        assert part is every[0] or "Motion: 5 harmonics of 0.1 Hz, coefficients" not in part.set_up
        assert all(len(row) == len(one.headings) for one in part.tables for row in one.rows)
        for figure in part.figures:
            assert "canvas" in str(figure.html() if hasattr(figure, "html") else figure)


# -- set-up ------------------------------------------------------------------------------------------------------------


def test_robot_is_that_of_table_6_with_friction() -> None:
    assert dict(zip(set_up.model().base.names, set_up.true_values(), strict=True)) == pytest.approx(X | FRICTION)


def test_torques_are_those_of_pinocchio() -> None:
    pinocchio = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from exciter.robot.pinocchio_model import to_pinocchio

    arm = to_pinocchio(set_up.model().robot)
    data, motion = arm.createData(), set_up.motion()
    coulomb, viscous = (np.array([FRICTION[f"{kind}{j}"] for j in (1, 2, 3)]) for kind in ("Fs", "Fv"))
    for k in (0, 1234, 9876, 15555):
        rigid = pinocchio.rnea(arm, data, motion.q[k], motion.qd[k], motion.qdd[k])
        assert_allclose(
            set_up.torque()[k], rigid + coulomb * np.sign(motion.qd[k]) + viscous * motion.qd[k], atol=1e-10
        )


def test_conditions_are_those_of_the_set_up(parts: Parts) -> None:
    """About 35, 203 and 204; once more from W itself."""
    rows = {row["model"]: float(str(row["cond(W)"])) for row in table(parts, "four-models", "exact-data")}
    assert_allclose([rows[name] for name in ERRORS], [35.0, 35.0, 203.0, 204.0], rtol=0.03)
    model, motion = set_up.model(), set_up.motion()
    phi = model.regressor(motion)[:, :, model.base.independent]
    assert np.linalg.cond(phi.reshape(-1, 21)) == pytest.approx(35.0, rel=0.01)
    assert np.linalg.cond(np.einsum("tj,tjk->tk", motion.qd, phi)) == pytest.approx(203.0, rel=0.01)


def test_noise_is_what_it_says() -> None:
    log = set_up.recording((1, 2), 2e-4, 2.0, (0.0, 1.0, 0.0))
    assert_allclose((log.q - set_up.motion().q).std(axis=0), 2e-4, rtol=0.03)
    left = log.needed_torque() - set_up.torque()
    assert_allclose(left.std(axis=0), 0.02 * np.abs(set_up.torque()).max(axis=0), rtol=0.03)
    assert_allclose(left.mean(axis=0), [0.0, 1.0, 0.0], atol=0.05)
    again = set_up.recording((1, 2), 2e-4, 2.0, (0.0, 1.0, 0.0))
    assert (again.q == log.q).all()
    assert (again.needed_torque() == log.needed_torque()).all()
    assert (set_up.noisy_torque(3, 2.0).torque != set_up.noisy_torque(4, 2.0).torque).all()


# -- four models -------------------------------------------------------------------------------------------------------


def test_exact_data_give_exact_parameters(parts: Parts) -> None:
    """Targets 1e-14, 2.6e-6, 1.1e-5, 5.5e-6; the last three are those of the differences and trapezia as printed."""
    rows = {row["model"]: row for row in table(parts, "four-models", "exact-data")}
    assert float(str(rows["dynamic"]["relative error"])) < 5e-14
    for name, target in (("filtered dynamic", 2.6e-6), ("power", 1.1e-5), ("energy", 5.5e-6)):
        row = rows[name]
        assert float(str(row["relative error"])) < 1e-4 * target
        assert float(str(row["relative error as printed"])) == pytest.approx(target, rel=0.25)


def test_offset_misleads_as_much_as_it_should(parts: Parts) -> None:
    """Targets .017, .017, .095, .097 for 1 N·m on joint 2; nothing where offsets are parameters."""
    rows = {row["model"]: row for row in table(parts, "four-models", "offset")}
    for name, target in zip(ERRORS, (0.017, 0.017, 0.095, 0.097), strict=True):
        assert float(str(rows[name]["without offset in the model"])) == pytest.approx(target, rel=0.25)
        assert float(str(rows[name]["with offsets as parameters"])) < 1e-9


def energy_over(first: np.ndarray, last: np.ndarray) -> float:
    """Relative error with 1 N·m on joint 2; integrals over samples first … last by trapezia, with NumPy alone."""
    model, motion = set_up.model(), set_up.motion()
    names, torque = model.base.names, set_up.torque() + np.array([0.0, 1.0, 0.0])
    dry = [k for k, name in enumerate(names) if name.startswith("F")]
    h = np.nan_to_num(model.energy(motion)[:, model.base.independent])
    phi = model.regressor(motion)[:, :, model.base.independent]
    rates = np.column_stack([np.einsum("tj,tjk->tk", motion.qd, phi)[:, dry], (motion.qd * torque).sum(axis=1)])
    sums = np.vstack([np.zeros(len(dry) + 1), np.cumsum(0.5 * (rates[1:] + rates[:-1]), axis=0) * 1e-3])
    taken = sums[last] - sums[first]
    w = h[last] - h[first]
    w[:, dry] = taken[:, :-1]
    return set_up.relative_error(np.linalg.lstsq(w, taken[:, -1])[0])


def test_offset_by_length_of_the_intervals(parts: Parts) -> None:
    """0.114 at 0.05 s, 0.202 at 0.5 s; all lengths, and all from the start, once more by trapezia."""
    rows = {row["length of the intervals"]: row for row in table(parts, "four-models", "offset-intervals")}
    found = {name: float(str(row["relative error"])) for name, row in rows.items()}
    assert found["0.05 s"] == pytest.approx(0.114, abs=0.001)
    assert found["0.5 s"] == pytest.approx(0.202, abs=0.001)
    for length in four_models.LENGTHS:
        k = round(1000 * length)
        first = np.arange(0, 19951 - k, 50)
        assert found[f"{length:g} s"] == pytest.approx(energy_over(first, first + k), rel=0.02)
    last = np.arange(50, 19951, 50)
    assert found[four_models.SINCE] == pytest.approx(energy_over(np.zeros_like(last), last), rel=0.02)


def test_offset_counts_as_worse_from_a_length_on_or_not_at_all() -> None:
    assert four_models.larger_from({1.0: 1.0, 2.0: 1.2, 3.0: 1.3}, 1.0) == 2.0
    assert four_models.larger_from({1.0: 1.5, 2.0: 1.2, 3.0: 1.05}, 1.0) is None


def test_groupings_that_differ_are_told_apart() -> None:
    base = set_up.model().base
    other = replace(base, grouping=base.grouping + 1e-3)
    assert four_models.same_grouping(base, base)
    assert not four_models.same_grouping(base, other)


def test_work_of_an_offset_is_offset_times_travel() -> None:
    """Why its error does not grow with time: the energy equations' y changes by that, and by nothing else."""
    part, model = set_up.exact(), set_up.model()
    more = replace(part, torque=part.torque + np.array([0.0, 1.0, 0.0]))
    energy, columns = four_models.FOUR["energy"], model.base.independent
    plain, offset = (Rows.join(list(energy.rows(model, [one], columns))) for one in (part, more))
    start = np.round((plain.time - 0.025) * 1000).astype(int)
    travel = part.motion.q[start + 50, 1] - part.motion.q[start, 1]
    assert_allclose((offset.y - plain.y)[:, 0], travel, atol=1e-9)


# -- noise -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "noise", "targets"),
    [
        ("5 Hz", "0.0002 rad, 2 %", (0.0022, 0.0022, 0.018, 0.021)),
        ("10 Hz", "0.0002 rad, 2 %", (0.0030, 0.0030, 0.029, 0.027)),
        ("40 Hz", "0.0002 rad, 2 %", (0.353, 0.353, 1.97, 0.33)),
        ("10 Hz", "2e-05 rad, 5 %", (0.0053, 0.0053, 0.043, 0.049)),
    ],
)
def test_errors_with_noise(parts: Parts, way: str, noise: str, targets: tuple[float, ...]) -> None:
    """Each target is one draw; medians of a few are within a factor of two of it."""
    for name, target in zip(ERRORS, targets, strict=True):
        reached = number(parts, "noise", f"relative error, {name} model, positions through {way} ({noise})")
        assert target / 2.0 < reached < 2.0 * target


def test_noise_in_w_biases_and_printed_deviations_do_not_say_so(parts: Parts) -> None:
    """Error over printed σ about 8.5 at 40 Hz, 1 at 5 Hz."""
    assert 6.0 < number(parts, "noise", "error over printed σ [12.7], rms, dynamic model, 40 Hz") < 11.0
    assert 0.6 < number(parts, "noise", "error over printed σ [12.7], rms, dynamic model, 5 Hz") < 1.5


def test_our_ways_are_no_worse_than_the_best_cutoff(parts: Parts) -> None:
    rows = {(row["positions"], row["model"]): row for row in table(parts, "noise", "with-noise")}
    errors = {key: float(str(row["median relative error, ordinary least squares"])) for key, row in rows.items()}
    best = min(errors[f"{f} Hz", "dynamic"] for f in (5, 10, 40))
    assert errors["cut-off chosen from the data", "dynamic"] < 1.5 * best
    assert errors["Fourier series fitted", "dynamic"] < 1.2 * best
    for name in ("power", "energy"):
        assert errors["10 Hz", f"{name}, rows evened"] < errors["10 Hz", name]


def test_figures_of_a_sample() -> None:
    """Errors of torques with NumPy; the part in common without what few repetitions have in common by chance."""
    way = noise.routes((10.0,))[noise.SERIES]
    found = noise.monte_carlo({noise.SERIES: way}, 2e-4, 2.0, 1)[noise.SERIES, "dynamic", "ordinary"]
    phi = set_up.model().regressor(set_up.motion(50.0))[:, :, set_up.model().base.independent]
    expected = np.linalg.norm(phi @ found.errors[0]) / np.linalg.norm(set_up.torque(50.0))
    assert found.torque[0] == pytest.approx(expected)
    two = noise.Sample(np.array([[2.0], [0.0]]), np.ones((2, 1)), np.ones(2), np.ones(2))
    assert two.bias_share == 0.0  # mean 1, its variance 1
    same = noise.Sample(np.array([[2.0], [2.0]]), np.ones((2, 1)), np.ones(2), np.ones(2))
    assert same.bias_share == 1.0


def test_weights_are_used(parts: Parts) -> None:
    """Noise of three sizes: weights matter to the dynamic model. Unevened power equations are all of one kind."""
    for row in table(parts, "noise", "with-noise"):
        ordinary, weighted = (
            float(str(row[f"median relative error, {word} least squares"])) for word in ("ordinary", "weighted")
        )
        if "dynamic" in str(row["model"]):
            assert abs(weighted / ordinary - 1.0) > 1e-3
    flat = {row["positions"]: row for row in table(parts, "noise", "with-noise") if row["model"] == "dynamic"}
    best = flat["Fourier series fitted"]
    assert float(str(best["median relative error, weighted least squares"])) < 0.02


def test_judges_of_noise_can_say_no() -> None:
    assert noise.less_sensitive({"energy": 10.0, "dynamic": 100.0})
    assert not noise.less_sensitive({"energy": 90.0, "dynamic": 100.0})
    assert noise.well_chosen(1.2, 1.0, 30.0)
    assert not noise.well_chosen(2.0, 1.0, 30.0)
    assert not noise.well_chosen(1.0, 1.0, 3.0)
    assert noise.hidden(5.0, 1.3)
    assert not noise.hidden(5.0, 4.0)
    assert not noise.hidden(1.5, 0.5)


def test_cutoff_is_chosen_by_simulation_without_the_true_parameters(parts: Parts) -> None:
    assert noise.simulated_choice((5.0, 40.0), 1) == 5.0
    assert "chosen by simulation" in finding(parts, "noise", "12.7: filter parameters").note


# -- uncertainty -------------------------------------------------------------------------------------------------------


def test_printed_deviation_is_that_of_the_equations() -> None:
    """[12.7]–[12.9] written out with NumPy."""
    part, model = set_up.noisy_torque(5, 2.0, 50.0), set_up.model()
    problem = Problem(model, (Run((part,)),), InverseDynamic())
    found = OrdinaryLeastSquares().estimate(problem)
    w = model.regressor(part.motion)[:, :, model.base.independent].reshape(-1, 21)
    y = part.torque.ravel()
    chi = np.linalg.pinv(w) @ y
    variance = np.sum((y - w @ chi) ** 2) / (len(y) - 21)
    expected = np.sqrt(np.diag(variance * np.linalg.inv(w.T @ w)))
    assert_allclose(uncertainty.printed_std(problem, found), expected, rtol=1e-8)


def test_printed_deviations_fail_after_filtering_and_ours_do_not(parts: Parts) -> None:
    """Errors are correlated over 1/(2 · bandwidth): [12.7] is too small by the root of samples per such time."""
    rows = {row["rows"]: row for row in table(parts, "uncertainty", "uncertainty")}
    ratio = {name: float(str(row["error over σ, [12.7]"])) for name, row in rows.items()}
    worth = {
        name: float(str(row["equations"])) / float(str(row["worth independent ones"])) for name, row in rows.items()
    }
    for name in ("filtered, all kept", "F(s), all kept"):
        assert ratio[name] / ratio["as measured"] == pytest.approx(np.sqrt(worth[name]), rel=0.35)
    assert worth["filtered, all kept"] == pytest.approx(1000.0 / 2.0 / 42.5, rel=0.03)  # 40 Hz and the filter's skirt
    assert ratio["F(s), all kept"] > 8.0
    for row in rows.values():
        for way in ("by bandwidth", "by correlation"):
            assert 0.65 < float(str(row[f"error over σ, {way}"])) < 1.4
    right = number(parts, "uncertainty", "σ by bandwidth over that of theory")
    estimated = number(parts, "uncertainty", "σ by correlation over that of theory")
    assert right == pytest.approx(1.0, rel=0.01)
    assert 0.005 < abs(estimated - right) < 0.3  # an estimate of another kind


def test_deviations_of_theory() -> None:
    w = set_up.model().regressor(set_up.motion())[:, :, set_up.model().base.independent]
    pinv = np.linalg.pinv(w.reshape(-1, 21)).reshape(21, -1, 3)
    expected = np.sqrt((pinv**2 * set_up.torque_noise(2.0) ** 2).sum(axis=(1, 2)))
    assert_allclose(uncertainty.expected_std(), expected, rtol=1e-8)


def test_coverage_is_that_of_normal_errors() -> None:
    errors = np.random.default_rng(0).standard_normal((1000, 21))
    found = uncertainty.Deviations(errors, {"right": np.ones((1000, 21)), "half": np.full((1000, 21), 0.5)}, 1, 1.0)
    assert found.covered("right") == pytest.approx(0.95, abs=0.005)
    assert found.covered("half") == pytest.approx(0.673, abs=0.01)  # within 0.98 σ
    assert found.over("half") == pytest.approx(2.0, rel=0.02)


def test_rule_of_ten_is_the_printed_one() -> None:
    assert PROCEDURE_FIGURES["printed"]["poorly"] == uncertainty.POOR_STD_RATIO


# -- filters -----------------------------------------------------------------------------------------------------------


def test_decimate_is_a_chebyshev_filter_of_order_8_and_40_hz() -> None:
    """Directly: SciPy's result is that of this filter, forwards and backwards, and every tenth sample."""
    x = np.random.default_rng(0).standard_normal(3000)
    sections = signal.cheby1(8, 0.05, 40.0, fs=1000.0, output="sos")
    expected = signal.sosfiltfilt(sections, x)[::10]
    assert_allclose(signal.decimate(x, 10, zero_phase=True)[30:-30], expected[30:-30], atol=1e-6)


def test_decimate_as_a_black_box(parts: Parts) -> None:
    assert finding(parts, "filters", "order of the filter").reached == 8.0
    assert number(parts, "filters", "cut-off over the sampling rate") == pytest.approx(0.04, rel=1e-4)
    assert number(parts, "filters", "largest difference between its gain") < 1e-10


def test_filtering_one_side_only(parts: Parts) -> None:
    """Targets 46, 26, 14 %; on both sides 3e-13 and, with s F(s) B1 + F(s) B2, 1e-6."""
    rows = table(parts, "filters", "second-order")
    for row, target in zip(rows, (0.46, 0.26, 0.14), strict=True):
        assert float(str(row["F on Y alone"])) == pytest.approx(target, rel=0.25)
        assert float(str(row["F on Y and W"])) < 3e-13
        assert float(str(row["F on Y, s F on B1, F on B2"])) < 2e-6
        assert max(float(str(row[f"Exciter, {name}"])) for name in ("dynamic", "filtered dynamic")) < 1e-13


def test_filtering_one_side_only_without_phase(parts: Parts) -> None:
    """Gain of both passes a²/(ω² + a²), with the Fourier transform of the torques, which have two whole periods."""
    model = set_up.model()
    omega = 2.0 * np.pi * np.fft.rfftfreq(len(set_up.torque()), 1e-3)[:, None]
    late = slice(filters.SETTLING_SAMPLES, -filters.SETTLING_SAMPLES)
    w = model.regressor(set_up.motion())[late][:, :, model.base.independent].reshape(-1, 21)
    for row in table(parts, "filters", "second-order"):
        a = float(str(row["a [rad/s]"]))
        y = np.fft.irfft(np.fft.rfft(set_up.torque(), axis=0) * a**2 / (omega**2 + a**2), len(set_up.torque()), axis=0)
        error = set_up.relative_error(np.linalg.lstsq(w, y[late].ravel())[0])
        assert float(str(row["F on Y alone, without its phase"])) == pytest.approx(error, rel=0.01)


def test_filtering_one_side_only_by_another_rule() -> None:
    """F(s) = a²/(s + a)² solved exactly for torques that are straight between samples."""
    a, model, late = 20.0, set_up.model(), slice(filters.SETTLING_SAMPLES, None)
    top, below, _ = signal.cont2discrete(([a * a], [1.0, 2 * a, a * a]), 1e-3, method="foh")
    y = signal.lfilter(top.ravel(), below, set_up.torque(), axis=0)
    w = model.regressor(set_up.motion())[late][:, :, model.base.independent]
    biased = np.linalg.lstsq(w.reshape(-1, 21), y[late].ravel())[0]
    assert_allclose(filters.causal(a)[2], biased, rtol=1e-3, atol=1e-3)


# -- number of equations -----------------------------------------------------------------------------------------------


def test_error_falls_with_the_root_of_the_number_of_equations(parts: Parts) -> None:
    assert number(parts, "equations", "slope of log error") == pytest.approx(-0.5, abs=0.05)
    rows = {row["equations per parameter"]: row for row in table(parts, "equations", "equations")}
    for m, target in ((5, 0.077), (20, 0.030), (100, 0.015), (500, 0.0065)):
        assert float(str(rows[m]["relative error, rms"])) == pytest.approx(target, rel=0.35)


def test_slopes_before_and_after_a_break() -> None:
    """Synthetic: −½ up to 500, −1 beyond; and no break."""
    counts = np.array(equations.EQUATIONS_PER_PARAMETER, dtype=float)
    scatter = np.exp(0.01 * np.random.default_rng(0).standard_normal((12, len(counts))))
    broken = counts**-0.5 * np.maximum(counts / 500.0, 1.0) ** -0.5
    nothing = np.full(len(counts), np.nan)
    for error, beyond in ((counts**-0.5, -0.5), (broken, -1.0)):
        found = equations.ErrorsByCount(equations.EQUATIONS_PER_PARAMETER, error * scatter, nothing, nothing)
        below, above = found.slopes(most=500), found.slopes(least=500)
        assert below.mean() == pytest.approx(-0.5, abs=0.01)
        assert above.mean() == pytest.approx(beyond, abs=0.02)
        assert equations._differ(below, above)[0] is (beyond < -0.5)
    assert equations.too_few(True, 0.95)
    assert equations.too_few(False, 0.8)
    assert not equations.too_few(False, 0.95)


def test_intervals_hold_as_often_as_they_say(parts: Parts) -> None:
    """With any number of equations; 12 × 9 logs, worth a few independent parameters each."""
    rows = table(parts, "equations", "equations")
    held = np.mean([float(str(row["95 % intervals that hold"])) for row in rows])
    assert held == pytest.approx(0.95, abs=0.02)


def test_errors_are_as_large_as_white_noise_makes_them(parts: Parts) -> None:
    """Covariance of least squares written out for 100 equations per parameter; χ² of few degrees of freedom."""
    model, rate = set_up.model(), 100 * 21 / 3 / 20.0
    w = model.regressor(set_up.motion(rate))[:, :, model.base.independent]
    pinv = np.linalg.pinv(w.reshape(-1, 21)).reshape(21, -1, 3)
    variances = (pinv**2 * set_up.torque_noise(2.0) ** 2).sum(axis=(1, 2))
    expected = np.sqrt(variances.sum()) / np.linalg.norm(set_up.true_values())
    rows = {row["equations per parameter"]: row for row in table(parts, "equations", "equations")}
    assert float(str(rows[100]["predicted"])) == pytest.approx(expected, rel=0.05)
    freedom = 12 * variances.sum() ** 2 / (variances**2).sum()  # at least: parameters may be correlated
    low, high = np.sqrt(chi2.ppf([1e-4, 1 - 1e-4], freedom / 2.0) / (freedom / 2.0))
    assert low < float(str(rows[100]["relative error, rms"])) / expected < high


def test_filtered_equations_cannot_be_multiplied(parts: Parts) -> None:
    errors = [float(str(row["relative error, rms"])) for row in table(parts, "equations", "filtered-equations")]
    assert_allclose(errors, errors[0], rtol=0.05)


# -- criteria ----------------------------------------------------------------------------------------------------------


def test_every_design_is_certified_and_best_by_its_own_criterion(parts: Parts) -> None:
    assert finding(parts, "criteria", "every motion certified").reached is True
    assert finding(parts, "criteria", "each of these is smallest").reached is True
    assert number(parts, "criteria", "cond(W), motion optimised by [12.12]") < 48.0
    assert number(parts, "criteria", "cond + k₁ S at 40 instants, motion optimised by [12.13]") < 70.0
    assert number(parts, "criteria", "cond(W diag Z), motion optimised by [12.15]") < 120.0


def test_criteria_are_those_of_the_equations() -> None:
    """[12.12], [12.14], [12.15] and the spreads with NumPy, along the random motion."""
    model, family = set_up.model(), set_up.family()
    delta, k2 = random_trajectory(family, model.robot, 0), 100.0
    motion = motion_of(family, delta, family.sample_times(criteria.SAMPLES_PER_PERIOD))
    w = model.regressor(motion)[:, :, model.base.independent].reshape(-1, 21)
    sigma, z = np.linalg.svd(w, compute_uv=False), np.abs(set_up.true_values())
    found = criteria.judge(delta, k2)
    assert found.condition == pytest.approx(sigma[0] / sigma[-1], rel=1e-6)
    assert found.with_smallest == pytest.approx(sigma[0] / sigma[-1] + k2 / sigma[-1], rel=1e-5)
    assert found.scaled == pytest.approx(np.linalg.cond(w * z), rel=1e-5)
    std = np.sqrt(np.diag(np.linalg.inv(w.T @ w)))
    assert found.spread == pytest.approx(std.max() / std.min(), rel=1e-4)
    assert found.relative_spread == pytest.approx((std / z).max() / (std / z).min(), rel=1e-4)
    assert found.certified
    assert found.worst == pytest.approx(100.0 * (std / z).max(), rel=1e-4)
    order = np.argsort(z)
    assert found.thirds == pytest.approx(np.median((std / z)[order[:7]]) / np.median((std / z)[order[-7:]]), rel=1e-4)
    few = model.regressor(motion_of(family, delta, family.sample_times(40)))[:, :, model.base.independent]
    sizes = np.abs(few)[
        :, np.abs(set_up.model().regressor(set_up.motion(50.0))[:, :, model.base.independent]).max(axis=0) > 1e-9
    ]
    assert found.equilibrium == pytest.approx(sizes.max() / sizes.min(), rel=1e-6)
    assert found.combined == pytest.approx(np.linalg.cond(few.reshape(-1, 21)) + 1e-3 * found.equilibrium, rel=1e-6)


def test_elements_that_are_always_zero(parts: Parts) -> None:
    """Counted along the motion of the set-up, where every other element is not zero somewhere."""
    phi = np.abs(set_up.model().regressor(set_up.motion(50.0))[:, :, set_up.model().base.independent]).max(axis=0)
    share = 100.0 * np.mean(phi < 1e-9)
    assert number(parts, "criteria", "elements of W that are zero for any motion") == pytest.approx(share)


def test_the_page_says_the_same(parts):
    assert_documented("khalil-dombre-ch12", [part for group in parts.values() for part in group])
