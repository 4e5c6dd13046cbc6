"""What is said of residuals, of parameters that are not well identified, and of predicted torques: the numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from exciter.errors import ParameterError
from exciter.identification.information.estimate import Estimate
from exciter.identification.uncertainty.conditioning import explain
from exciter.identification.uncertainty.residual_autocorrelation import (
    Correlation,
    Whiteness,
    _of_joint,
    correlations,
    linear_fit,
)
from exciter.notes import texts
from support.dense_example import JOINTS, NAMES, WEIGHTS, Array, example, fitted, parzen
from support.estimates import whiteness
from support.torque_band import Band


def test_whiteness_is_ljung_and_box_and_a_share_of_the_spectrum() -> None:
    equations, _ = example(pole=0.3)
    fit = fitted(equations)
    given = Estimate(NAMES, ("", "", ""), fit.values, np.eye(3), JOINTS, WEIGHTS, 204.0)
    found = whiteness(equations, given)
    c = next(c for c in correlations(equations, fit) if c.rate == 50.0)  # most of the rows
    frequency = np.linspace(0.0, 0.5, 20_001)  # of the rate
    for j, joint in enumerate(found):
        rho, n = c.covariance[:, j, j] / c.covariance[0, j, j], 124
        k = np.arange(1, 21)
        statistic = n * (n + 2) * (rho[1:21] ** 2 / (n - k)).sum()
        assert joint.p_value == pytest.approx(stats.chi2.sf(statistic, 20))
        weights = parzen(np.arange(len(rho)), len(rho) - 1)
        spectrum = 1.0 + 2.0 * np.cos(2.0 * np.pi * np.outer(frequency, np.arange(1, len(rho)))) @ (weights * rho)[1:]
        assert joint.slow == pytest.approx(spectrum[frequency <= 0.05].mean() / spectrum.mean() / 10.0, rel=2e-3)
        assert joint.neighbour == pytest.approx(rho[1])
        assert joint.interval == 0.02
        assert joint.fades == pytest.approx(c.fading[j].lag / 50.0)
        assert (joint.joint, joint.white) == (JOINTS[j], joint.p_value >= 0.01)


@pytest.mark.parametrize(("rows", "most", "lags"), [(100.0, 4, 4), (100.0, 19, 19), (100.0, 21, 20), (100.0, 1, 1),
                                                  (3.0, 9, 2), (2.0, 9, 1), (9.5, 20, 8)])  # fmt: skip
def test_short_logs_are_tested_at_the_lags_they_have(rows: float, most: int, lags: int) -> None:
    rho = 0.5 ** np.arange(most + 1)
    found = _of_joint(Correlation(10.0, np.array([rows]), rho[:, None, None], np.ones((most + 1, 1))), 0, "j")
    k = np.arange(1, lags + 1)
    statistic = rows * (rows + 2.0) * (rho[k] ** 2 / (rows - k)).sum()
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, lags))
    assert found.neighbour == 0.5


@pytest.mark.parametrize("rows", [0.0, 1.0])
def test_a_joint_that_rests_has_no_residuals_that_could_be_alike(rows: float) -> None:
    nothing = Correlation(10.0, np.array([rows]), np.zeros((3, 1, 1)), np.zeros((3, 1)))
    assert _of_joint(nothing, 0, "j").p_value == 1.0
    assert _of_joint(nothing, 0, "j").white


def test_words_about_residuals() -> None:
    white = Whiteness("j", 0.5, 0.01, 0.3, 0.16, 0.02)
    assert white.sentence == "j: residuals look like white noise"
    alike = replace(white, p_value=0.0099)
    assert "0.02 s apart correlate by 0.50, gone after 0.3 s; 16 % of their power" in alike.sentence
    assert "of their power" not in replace(alike, slow=0.15).sentence
    assert "as long as was looked at" in replace(alike, fades=float("inf")).sentence


def estimate_of(covariance: Array, values: Array, noise: Array = WEIGHTS) -> Estimate:
    return Estimate(NAMES, ("kg", "", "m"), values, covariance, JOINTS, noise, 1e6)


def test_reasons_count_how_much_better_a_parameter_would_be_known_alone() -> None:
    """a and b, correlated by ρ: alone, σ would be √(1 − ρ²) of what it is, three times less from ρ² = 8/9 on."""
    equations, _ = example()
    for square, shared in ((8.0 / 9.0 - 1e-3, False), (8.0 / 9.0 + 1e-3, True)):
        covariance = np.diag([4.0, 1.0, 1.0])
        covariance[0, 1] = covariance[1, 0] = -2.0 * np.sqrt(square)
        reasons = texts(explain(equations.compressed, estimate_of(covariance, np.array([0.1, 30.0, 50.0]))))
        assert len(reasons) == 1
        assert reasons[0].startswith("a is not significant (σ 2 kg): ")
        assert (f"from b (correlation {-np.sqrt(square):.2f}); with the others" in reasons[0]) is shared
        assert (f"would be {1.0 / np.sqrt(1.0 - square):.3g} times less" in reasons[0]) is shared
        parts = np.concatenate([rows.w[:, :, 0] for _, rows in equations.pieces])
        rms = 0.1 * np.sqrt((parts[:, 0] ** 2).mean())
        assert (f"equations of first is {rms:.2g} (rms), the noise 2;" in reasons[0]) is not shared


def test_reasons_name_those_that_are_alike_and_skip_what_was_not_estimated() -> None:
    equations, _ = example()
    # a = b + c + little: correlations of a with both are near ½ … 1, those of b and c small
    mixing = np.array([[0.8, 0.59, 0.05], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    reasons = texts(explain(equations.compressed, estimate_of(mixing @ mixing.T, np.array([0.1, 30.0, 50.0]))))
    correlations_of_a = mixing[0, :2] / np.linalg.norm(mixing[0])
    assert "from b (correlation {:.2f}), c (correlation {:.2f});".format(*correlations_of_a) in reasons[0]
    mixing[0] = 0.9, 0.4, 0.05
    (reason,) = texts(explain(equations.compressed, estimate_of(mixing @ mixing.T, np.array([0.1, 30.0, 50.0]))))
    assert "from b (correlation 0.91); with" in reason
    # b and c pull against each other: a is known from both, and from neither alone
    angles = np.radians([68.0, 0.0, 140.0])
    mixing = np.column_stack([np.cos(angles), np.sin(angles), [0.05, 0.0, 0.0]])
    (reason,) = texts(explain(equations.compressed, estimate_of(mixing @ mixing.T, np.array([0.1, 30.0, 50.0]))))
    assert "hardly tells it from b (correlation 0.37); with" in reason
    dropped = np.diag([0.0, 1.0, 1.0])
    dropped[0, 0] = 0.0
    reasons = texts(explain(equations.compressed, estimate_of(dropped, np.array([0.0, 30.0, 50.0]))))
    assert reasons == ["a is not significant: it was not estimated"]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("noise", [[2.0, 0.5], [0.5, 2.0]])
def test_a_small_share_is_told_of_the_joint_that_shows_it_best(sign: float, noise: list[float]) -> None:
    """b is in the equations of both joints, and as large in both; the joint with less noise tells more of it."""
    equations, _ = example()
    given = estimate_of(np.diag([1.0, 4.0, 1.0]), np.array([30.0, 0.1 * sign, 50.0]), np.array(noise))
    (reason,) = texts(explain(equations.compressed, given))
    best = int(np.argmin(noise))
    rms = 0.1 * np.sqrt((np.concatenate([rows.w[:, best, 1] for _, rows in equations.pieces]) ** 2).mean())
    assert f"equations of {JOINTS[best]} is {rms:.2g} (rms), the noise 0.5;" in reason


def test_equations_of_other_parameters_are_refused() -> None:
    equations, _ = example()
    other = replace(estimate_of(np.eye(3), np.ones(3)), names=("a", "c", "b"))
    for told in (explain, linear_fit, whiteness):
        with pytest.raises(ParameterError, match="other parameters"):
            told(equations.compressed if told is explain else equations, other)


def test_bands_reach_so_many_sigma_to_both_sides() -> None:
    torque, std, measured = np.array([[1.0, -2.0]]), np.array([[0.5, 0.25]]), np.array([[2.0, 3.0]])
    band = Band(torque, std, measured, 2.0)
    assert [side.tolist() for side in band.interval] == [[[0.0, -2.5]], [[2.0, -1.5]]]
    assert [side.tolist() for side in band.prediction_interval] == [[[-3.0, -8.0]], [[5.0, 4.0]]]


def test_status_is_absolute_and_the_papers_rule_stands_beside_it():
    """0.2 % is good, however well another parameter is known; borders are 5 % and 20 %, then 95 % from zero."""
    relative = np.array([0.01, 0.2, 4.99, 5.01, 19.9, 20.1, 50.0, 52.0, 1e11])  # [%] of a value of one
    count = len(relative)
    names = tuple("abcdefghi")
    covariance = np.diag((relative / 100.0) ** 2)
    found = Estimate(names, ("",) * count, np.ones(count), covariance, ("j",), np.ones(1), 1e9)
    assert found.status == (*("good",) * 3, *("fair",) * 2, *("weak",) * 2, *("not significant",) * 2)
    np.testing.assert_allclose(found.ratio_to_best, relative / 0.01)
    assert found.poor_by_ratio == (False, *(True,) * (count - 1))
    assert found.counted == "3 of 9 parameters good, 2 fair, 2 weak, 2 not significant"
    assert repr(found) == f"<estimate: {found.counted}>"
    zero = replace(found, values=np.zeros(count))
    assert set(zero.status) == {"not significant"}
    assert np.isinf(zero.ratio_to_best).all()
    certain = replace(found, covariance=np.zeros((count, count)))
    assert set(certain.status) == {"good"}
    assert not any(certain.poor_by_ratio)
