"""Uncertainty number by number: two joints, three parameters, runs at two rates, written out with dense matrices."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.information.estimate import Estimate
from exciter.identification.uncertainty import covariance_of_correlated_errors as correlated
from exciter.identification.uncertainty import residual_autocorrelation as correlation_module
from exciter.identification.uncertainty.covariance_of_correlated_errors import (
    CorrelatedErrors,
    HeteroscedasticErrors,
    Sandwich,
    StationaryErrors,
    sandwich,
    with_correlated_errors,
)
from exciter.identification.uncertainty.residual_autocorrelation import (
    LEAST_POWER_SHARE,
    MOST_CORRELATION_LAGS,
    Correlation,
    Fading,
    LinearFit,
    Taper,
    _probes,
    blocked,
    correlations,
    fading,
    linear_fit,
    most_lags,
    stretches,
)
from exciter.notes import texts
from exciter_papers.khalil_dombre.set_up import with_known
from support.dense_example import (
    JOINTS,
    NAMES,
    WEIGHTS,
    Array,
    Dense,
    Plain,
    example,
    fitted,
    parzen,
)

pytestmark = pytest.mark.slow


def bread(parts: list[Dense]) -> Array:
    return np.linalg.inv(sum(np.einsum("tjp,tjq,j->pq", d.w, d.w, WEIGHTS**-2) for d in parts))


def lagged(parts: list[Dense], beta: Array, inverse: Array, most: int) -> tuple[Array, Array, Array]:
    """rows (J,), covariance (K + 1, J, J), leverage (K + 1, J) by their definitions, of stretches at one rate."""
    rows = np.sum([d.present.sum(axis=0) for d in parts], axis=0)
    covariance, leverage = np.zeros((most + 1, 2, 2)), np.zeros((most + 1, 2))
    for d in parts:
        e = d.y - d.w @ beta
        for k in range(min(most, len(e) - 1) + 1):
            covariance[k] += e[k:].T @ e[: len(e) - k] / np.sqrt(np.outer(rows, rows))
            leverage[k] += np.einsum("tjp,pq,tjq->j", d.w[k:], inverse, d.w[: len(e) - k]) / WEIGHTS**2
    return rows, covariance, leverage


@pytest.fixture(params=[False, True], ids=["moving", "resting"])
def small(request: pytest.FixtureRequest) -> tuple[Plain, list[Dense], LinearFit]:
    equations, parts = example(rests=request.param)
    return equations, parts, fitted(equations)


def both_sides(weights: Array, values: Array) -> float:
    return float(np.concatenate([weights[:0:-1], weights]) @ np.concatenate([values[:0:-1], values]))


# -- tapers, fading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lags", [0, 1, 6, 13])
def test_tapers_are_their_formulas_and_sums_go_to_both_sides(lags: int) -> None:
    k = np.arange(lags + 1)
    values = np.random.default_rng(lags).standard_normal(lags + 1)
    for taper, weights in (
        (Taper.parzen(lags), parzen(k, lags)),
        (Taper.bartlett(lags), 1.0 - k / (lags + 1.0)),
    ):
        assert taper.lags == lags
        assert_allclose(taper.weights, weights, atol=1e-15)
        assert taper.both_sides(values) == pytest.approx(both_sides(weights, values))
        freedom = 2.0 * np.array([100.0, 40.0]) / both_sides(weights, weights)
        assert_allclose(taper.freedom(np.array([100.0, 40.0])), freedom)
        spectrum = np.fft.rfft(np.concatenate([taper.weights, np.zeros(64), taper.weights[:0:-1]]))
        assert spectrum.real.min() > -1e-12  # no variance can become negative


def test_lags_looked_at_are_an_eighth_of_the_rows() -> None:
    assert [most_lags(rows) for rows in (3, 8, 800, 807, 10**9)] == [1, 1, 100, 100, MOST_CORRELATION_LAGS]


def test_fading_is_bartletts_standard_error_to_the_letter() -> None:
    """ρ(1) = ½: from lag 2 on the limit is 3 √((1 + 2·¼)/N), before it 3 √(1/N)."""
    rows, rho = 900.0, np.zeros(60)
    rho[:2] = 1.0, 0.5
    limit = 3.0 * np.sqrt(1.5 / rows)
    for lag in (2, 9):  # the last lag of the window of m = 2, 2 · 2 + 5
        rho[lag] = 0.999 * limit
        assert fading(rho, rows) == Fading(2, True)
        rho[lag] = -1.001 * limit
        assert fading(rho, rows).lag == 1 + lag
        rho[lag] = 0.0
    rho[10] = 1.5 * limit  # beyond the window
    assert fading(rho, rows) == Fading(2, True)
    rho[10], rho[1] = 0.0, 0.999 * 3.0 / 30.0
    assert fading(rho, rows) == Fading(1, True)
    rho[1] = 1.001 * 3.0 / 30.0
    assert fading(rho, rows) == Fading(2, True)
    assert fading(rho, 0.0) == Fading(1, True)  # standard errors of one row: nothing is beyond them


def test_what_is_left_in_the_second_half_of_the_lags_has_not_faded() -> None:
    for most, lag, expected in ((40, 20, False), (40, 19, True), (10, 5, False), (9, 5, True)):
        rho = np.eye(1, most + 1)[0]
        rho[lag] = 0.31
        assert fading(rho, 10.0).faded is expected
        rho[lag] = 0.29
        assert fading(rho, 10.0).faded
    assert fading(np.ones(30), 1e9) == Fading(29, False)


# -- equations in stretches --------------------------------------------------------------------------------------------


def test_stretches_end_at_gaps_and_runs_and_blocks_keep_the_mean_time() -> None:
    equations, parts = example()
    found = [(rate, Rows.join(list(pieces))) for rate, pieces in stretches(equations.rows())]
    assert [(rate, len(rows)) for rate, rows in found] == [(d.rate, len(d.y)) for d in parts]
    for (_, rows), d in zip(found, parts, strict=True):
        assert_allclose(rows.sides, np.concatenate([d.w, d.y[:, :, None]], axis=2))
    for (rate, pieces), d in zip(stretches(equations.rows(), 0.1), parts, strict=True):
        rows, block = Rows.join(list(pieces)), d.in_blocks(0.1)
        size = round(d.rate / block.rate)
        assert rate == rows.rate == block.rate == d.rate / size
        assert_allclose(rows.sides, np.concatenate([block.w, block.y[:, :, None]], axis=2))
        assert_allclose(np.diff(rows.time), size / d.rate)
    first = next(iter(stretches(equations.rows(), 0.1)))[1]
    assert next(first).time[0] == pytest.approx(2.0 / 50.0)  # of the instants 0 … 4
    mixed = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    for (_, pieces), d in zip(stretches(equations.rows(), combinations=mixed), parts, strict=True):
        rows = Rows.join(list(pieces))
        assert_allclose(rows.w[..., 0], d.w[..., 0] + 2.0 * d.w[..., 1])
        assert_allclose(rows.y, d.w[..., 2] + d.y)


def test_a_gap_is_more_than_one_and_a_half_intervals() -> None:
    ((_, rows),) = (example()[0].pieces[2],)
    for later, count in ((0.49, 1), (0.51, 2)):
        time = rows.time + np.where(np.arange(len(rows)) >= 9, later / rows.rate, 0.0)
        assert len(list(stretches([(0, replace(rows, time=time))]))) == count


@pytest.mark.parametrize("size", [1, 2, 5, 22])
def test_blocks_do_not_depend_on_how_rows_come(size: int) -> None:
    """Pieces shorter and longer than a block, that end with it and within it."""
    whole = Rows.join([rows for run, rows in example()[0].pieces if run == 1])
    expected = whole.sides[: len(whole) // size * size].reshape(-1, size, *whole.sides.shape[1:]).sum(axis=1)
    for cuts in ((0, 83), (0, 1, 2, 3, 83), (0, 5, 10, 12, 20, 83), (0, 22, 44, 45, 66, 82, 83), range(84)):
        made = list(blocked(iter([whole[a:z] for a, z in pairwise(cuts)]), size))
        assert_allclose(np.concatenate([rows.sides for rows in made]), expected / np.sqrt(size), atol=1e-12)


# -- correlation -------------------------------------------------------------------------------------------------------


def test_correlations_of_every_rate_are_sums_over_its_stretches(small: tuple[Plain, list[Dense], LinearFit]) -> None:
    equations, parts, fit = small
    resting = any((d.present < 1.0).any() for d in parts)
    for block in (0.0,) if resting else (0.0, 0.06, 0.1):
        found = {c.rate: c for c in correlations(equations, fit, block)}
        dense = [d.in_blocks(block) for d in parts]
        least = min(sum(d.present[:, j].sum() for d in parts) for j in range(2))
        most = int(least) // 8
        assert set(found) == {d.rate for d in dense}
        for rate, c in found.items():
            rows, covariance, leverage = lagged([d for d in dense if d.rate == rate], fit.values, bread(parts), most)
            assert_allclose(c.covariance, covariance, rtol=1e-9, atol=1e-12)
            assert_allclose(c.leverage, leverage, rtol=1e-9, atol=1e-12)
            assert_allclose(c.rows, rows)
            assert_allclose(c.autocorrelation[:, 1], covariance[:, 1, 1] / covariance[0, 1, 1], atol=1e-12)
            assert c.fading == tuple(fading(c.autocorrelation[:, j], rows[j]) for j in range(2))


def test_what_the_fit_took_and_the_inflation_are_their_sums(small: tuple[Plain, list[Dense], LinearFit]) -> None:
    equations, _, fit = small
    swung = example(pole=-0.6)[0]
    for c in (*correlations(equations, fit), *correlations(swung, fitted(swung))):
        weights = parzen(np.arange(8), 7)
        left, inflation = np.empty((2, 2))
        for j in range(2):
            a, rho = c.leverage[:8, j], c.covariance[:8, j, j] / c.covariance[0, j, j]
            left[j] = max(1.0 - both_sides(weights, a**2) / (c.rows[j] * a[0]), LEAST_POWER_SHARE)
            inflation[j] = max(both_sides(weights, rho * a) / a[0], 0.0) / left[j]
        assert_allclose(c.left(Taper.parzen(7)), left)
        assert_allclose(c.inflation(Taper.parzen(7)), inflation)
    nearly = replace(c, leverage=c.leverage * 1e6)
    assert nearly.left(Taper.parzen(7)).tolist() == [LEAST_POWER_SHARE, LEAST_POWER_SHARE]  # a fit of everything
    swinging = replace(
        c, covariance=c.covariance * np.where(np.arange(len(c.covariance)) == 0, 1e-9, -1)[:, None, None]
    )
    assert (swinging.inflation(Taper.parzen(7)) >= 0.0).all()


def correlation(rho: Array, rows: float = 1e4) -> Correlation:
    """Of one joint, of a motion so slow that the leverage is the same at all lags."""
    return Correlation(10.0, np.array([rows]), rho[:, None, None], np.full((len(rho), 1), 1e-9))


def test_lags_are_six_times_the_fading_and_more_where_a_small_correlation_lasts() -> None:
    white = np.eye(1, 1001)[0]
    assert correlation(white).lags(Taper.parzen) == 6
    assert correlation(white[:4]).lags(Taper.parzen) == 3
    assert correlation(np.eye(1, 1001)[0] + 0.9 ** np.arange(1001) * (np.arange(1001) > 0)).lags(Taper.parzen) >= 6 * 20
    lasting = np.where(np.arange(1001) == 0, 1.0, 0.02 * (np.arange(1001) < 150))
    assert fading(lasting, 1e4).lag == 1  # not seen at any lag, and yet the variance is seven times as large
    chosen = correlation(lasting).lags(Taper.parzen)
    assert 150 <= chosen < 1000
    inflation = correlation(lasting).inflation(Taper.parzen(chosen))[0]
    error = np.sqrt(2.0 / Taper.parzen(1000).freedom(np.array([1e4]))[0])
    assert inflation == pytest.approx(correlation(lasting).inflation(Taper.parzen(1000))[0], rel=1.5 * error)


def test_small_correlations_that_last_are_found_whichever_their_sign_and_however_late_they_show() -> None:
    k = np.arange(1001)
    falling = correlation(np.where(k == 0, 1.0, -0.003 * (k < 150)))  # the variance is a tenth of what it seems
    assert 100 <= falling.lags(Taper.parzen) < 1000
    late = correlation(np.where(k == 0, 1.0, 0.002 * (k < 600)))  # twelve lags agree with six, four hundred do not
    assert late.lags(Taper.parzen) >= 192


def test_all_joints_have_a_say_in_the_lags() -> None:
    white, slow = np.eye(1, 201)[0], 0.9 ** np.arange(201)
    covariance = np.zeros((201, 2, 2))
    covariance[:, 0, 0], covariance[:, 1, 1] = white, slow
    both = Correlation(10.0, np.array([1e4, 1e4]), covariance, np.full((201, 2), 1e-9))
    assert both.lags(Taper.parzen) == correlation(slow).lags(Taper.parzen) > correlation(white).lags(Taper.parzen)


# -- the sandwich ------------------------------------------------------------------------------------------------------


def stationary(parts: list[Dense], block: float, beta: Array, lags: int, across: bool) -> tuple[Array, Sandwich]:
    """B (J, J, p, p) and all that is told of it, with the whole covariance matrix of the errors."""
    dense = [d.in_blocks(block) for d in parts]
    meat, slow, freedom, reach = np.zeros((2, 2, 3, 3)), np.zeros((2, 3, 3)), 0.0, 0.0
    rows, blocks, squares, slow_squares = (np.zeros(2) for _ in range(4))
    least = np.sum([d.present.sum(axis=0) for d in parts], axis=0).min()
    for rate in dict.fromkeys(d.rate for d in dense):
        mine = [d for d in dense if d.rate == rate]
        count, covariance, leverage = lagged(mine, beta, bread(parts), int(least) // 8)
        used = min(lags, int(least) // 8)
        weights = parzen(np.arange(used + 1), used)
        left = [
            max(
                1.0 - both_sides(weights, leverage[: used + 1, j] ** 2) / (count[j] * leverage[0, j]), LEAST_POWER_SHARE
            )
            for j in range(2)
        ]
        for d in mine:
            apart = np.subtract.outer(np.arange(len(d.y)), np.arange(len(d.y)))
            taper = parzen(apart, used)
            at = np.minimum(np.abs(apart), used)
            for j in range(2):
                slow[j] += d.w[:, j].T @ d.w[:, j]
                for i in range(2) if across else (j,):
                    c = np.where(apart >= 0, covariance[at, j, i], covariance[at, i, j]) * taper
                    scale = np.sqrt(left[j] * left[i]) * WEIGHTS[j] ** 2 * WEIGHTS[i] ** 2
                    meat[j, i] += d.w[:, j].T @ c @ d.w[:, i] / scale
        freedom = freedom + 2.0 * count / both_sides(weights, weights) * left
        reach = max(reach, used / rate)
        blocks += count
        slow_squares += count * covariance[0].diagonal()
    for d in parts:
        rows += d.present.sum(axis=0)
        squares += ((d.y - d.w @ beta) ** 2).sum(axis=0)
    for j in range(2):
        gram = sum(d.w[:, j].T @ d.w[:, j] for d in parts)
        if rows[j] - blocks[j] >= 1.0:
            fast = max(squares[j] - slow_squares[j], 0.0) / (rows[j] - blocks[j])
            meat[j, j] += fast * (gram - slow[j]) / WEIGHTS[j] ** 4
    inverse = bread(parts)
    worth = np.empty(2)
    for j in range(2):
        hat = np.trace(inverse @ sum(d.w[:, j].T @ d.w[:, j] for d in parts)) / WEIGHTS[j] ** 2
        white = hat * squares[j] / (rows[j] - hat) / WEIGHTS[j] ** 2
        worth[j] = rows[j] * white / np.trace(inverse @ meat[j, j])
    covariance = inverse @ meat.sum(axis=(0, 1)) @ inverse
    return meat, Sandwich(covariance, worth, float(np.clip(np.min(freedom), 1.0, least)), reach, True)


@pytest.mark.parametrize("across", [True, False], ids=["across", "apart"])
@pytest.mark.parametrize("block", [0.0, 0.06, 0.1])
def test_the_sandwich_of_two_rates_is_the_dense_one(
    block: float, across: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks: the errors of blocks, and what W has within them times errors that are white there."""
    equations, parts = example()
    fit = fitted(equations)
    monkeypatch.setattr(correlated, "LONG_LOG_ROWS", 207 if block else 208)  # there are 207 rows of each joint
    monkeypatch.setattr(correlated, "LONG_LOG_BLOCK_S", block or 0.1)
    for lags in (0, 5, 1000):
        errors = StationaryErrors(lags, across)
        meat, expected = stationary(parts, block, fit.values, lags, across)
        of_errors = errors.meat(equations, errors.residuals(equations, fit))
        assert_allclose(of_errors.whole, meat.sum(axis=(0, 1)), rtol=1e-7, atol=1e-9)
        for j, (columns, own) in enumerate(of_errors.own):
            alone = np.zeros((3, 3))
            alone[np.ix_(columns, columns)] = own
            assert_allclose(alone, meat[j, j], rtol=1e-7, atol=1e-9)
        found = sandwich(equations, fit, errors)
        assert_allclose(found.covariance, expected.covariance, rtol=1e-7, atol=1e-12)
        assert_allclose(found.independent, expected.independent, rtol=1e-7)
        assert found.freedom >= 0.999 * expected.freedom  # of the joint that is worst off, or of several together
        assert found.reach == pytest.approx(expected.reach)


def test_twenty_columns_are_stood_for_by_random_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ v vᵀ is A⁻¹ on average, and every combination has its length: the leverage is right in sum."""
    rng = np.random.default_rng(0)
    w, names = rng.standard_normal((400, 1, 20)), tuple(f"p{k}" for k in range(20))
    rows = Rows.of(np.arange(400.0), w, rng.standard_normal((400, 1)), 1.0, ("only",), names)
    equations = Plain(((0, rows),), names, ("only",))
    fit = LinearFit.of(equations.compressed, np.zeros(20), np.array([1.0]), np.arange(20))
    probes = _probes(fit)
    bread = np.linalg.inv(w[:, 0].T @ w[:, 0])
    assert probes.shape == (16, 20)
    whitened = probes @ np.linalg.cholesky(np.linalg.inv(bread))
    assert_allclose((whitened**2).sum(axis=1), 20.0 / 16.0, rtol=0.9)
    assert np.trace(whitened.T @ whitened) == pytest.approx(20.0)  # signs have the size one
    assert np.abs(np.mean(np.sign(fit.inverse_root.T @ np.linalg.inv(bread) @ probes.T))) < 0.3
    monkeypatch.setattr(correlation_module, "FEW_PROBES_ROWS", 400)
    assert _probes(fit).shape == (2, 20)
    monkeypatch.setattr(correlation_module, "FEW_PROBES_ROWS", 401)
    assert _probes(fit).shape == (16, 20)


@pytest.mark.parametrize("long", [1, 10**9], ids=["blocks", "rows"])
def test_units_do_not_matter(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torques in MN·m: the same covariance, in its units."""
    monkeypatch.setattr(correlated, "LONG_LOG_ROWS", long)
    monkeypatch.setattr(correlated, "LONG_LOG_BLOCK_S", 0.1)
    equations, _ = example()
    small = Plain(tuple((run, Rows.of(r.time, r.w, 1e-6 * r.y, r.rate, JOINTS, NAMES)) for run, r in equations.pieces))
    one, other = (sandwich(e, fitted(e), StationaryErrors()) for e in (equations, small))
    assert StationaryErrors().across_joints
    assert_allclose(other.covariance, 1e-12 * one.covariance, rtol=1e-6)
    assert_allclose(other.independent, one.independent, rtol=1e-6)
    assert other.freedom == pytest.approx(one.freedom)


def test_freedom_is_not_more_than_the_rows_of_the_joint_that_has_fewest() -> None:
    equations, _ = example(rests=True)
    rows = equations.compressed.rows.sum(axis=0)
    assert rows[1] < rows[0]
    freedom = sandwich(equations, fitted(equations), StationaryErrors(0)).freedom  # of a parameter that is nearly its
    assert freedom == pytest.approx(rows[1], rel=1e-3)


def test_parameters_that_are_given_have_no_variance_and_no_part_in_that_of_others() -> None:
    equations, _ = example()
    free = np.array([0, 2])
    values = np.array([1.0, -2.0, 0.5])
    fit = LinearFit.of(equations.compressed, values, WEIGHTS, free)
    found = sandwich(equations, fit, StationaryErrors(4))
    without = Plain(
        tuple(
            (run, Rows.of(r.time, r.w[..., free], r.y + 2.0 * r.w[..., 1], r.rate, JOINTS, ("a", "c")))
            for run, r in equations.pieces
        ),
        ("a", "c"),
    )
    other = sandwich(
        without, LinearFit.of(without.compressed, values[free], WEIGHTS, np.arange(2)), StationaryErrors(4)
    )
    assert_allclose(found.covariance[np.ix_(free, free)], other.covariance, rtol=1e-9)
    assert_allclose(found.independent, other.independent, rtol=1e-9)
    assert not found.covariance[1].any()
    assert not found.covariance[:, 1].any()


def test_one_joint_whose_errors_never_fade_is_enough_to_say_so() -> None:
    equations, _ = example()
    values = fitted(equations).values
    stuck = [
        (run, Rows.of(r.time, r.w, r.y + np.array([0.0, 100.0]), r.rate, JOINTS, NAMES)) for run, r in equations.pieces
    ]
    changed = Plain(tuple(stuck))
    fit = LinearFit.of(changed.compressed, values, WEIGHTS, np.arange(3))
    assert {j: {c.fading[j].faded for c in correlations(changed, fit)} for j in (0, 1)} == {0: {True}, 1: {False}}
    assert not sandwich(changed, fit, StationaryErrors()).faded
    assert sandwich(equations, fitted(equations), StationaryErrors()).faded


@pytest.mark.parametrize("errors", [StationaryErrors(5), HeteroscedasticErrors(5)])
def test_what_is_told_are_the_numbers_of_the_sandwich(errors: CorrelatedErrors) -> None:
    equations, parts = example()
    fit = fitted(equations)
    given = Estimate(NAMES, ("", "", ""), fit.values, np.eye(3), JOINTS, WEIGHTS, 204.0)
    found, made = with_correlated_errors(equations, given, errors), sandwich(equations, fit, errors)
    assert_allclose(found.covariance, made.covariance)
    assert found.freedom == made.freedom
    assert found.assumptions == errors.assumptions
    if isinstance(errors, StationaryErrors):
        assert "time and between joints" in errors.assumptions[0].text
        assert "errors of their own" in replace(errors, across_joints=False).assumptions[0].text
    told = " ".join(texts(found.notes))
    assert f"lags up to {made.reach:.3g} s" in told
    for j, joint in enumerate(JOINTS):
        worth = made.independent[j if len(made.independent) > 1 else 0]
        assert f"{joint}: 207 rows are worth {min(worth, 207):.0f} independent ones" in told
    assert ("leaves something out" in told) is not made.faded
    if len(made.independent) == 1 or isinstance(errors, HeteroscedasticErrors):  # not known by joints: all together
        hat = [np.trace(bread(parts) @ sum(d.w[:, j].T @ d.w[:, j] for d in parts)) / WEIGHTS[j] ** 2 for j in (0, 1)]
        squares = equations.compressed.squares(fit.values).sum(axis=0)
        white = sum(hat[j] * squares[j] / (207 - hat[j]) / WEIGHTS[j] ** 2 for j in (0, 1))
        spread = np.trace(np.linalg.inv(bread(parts)) @ made.covariance)
        assert_allclose(made.independent, 207.0 * white / spread)


# -- what a fit is -----------------------------------------------------------------------------------------------------


def test_least_squares_is_recognised_within_a_hundredth_of_sigma() -> None:
    equations, _ = example()
    fit = fitted(equations)
    sigma = np.sqrt((fit.inverse_root @ fit.inverse_root.T).diagonal())
    assert fit.is_least_squares
    direction = fit.inverse_root[:, 0]  # one σ long, as the score measures it
    assert replace(fit, values=fit.values + 0.0099 * direction).is_least_squares
    assert not replace(fit, values=fit.values + 0.0101 * direction).is_least_squares
    assert not replace(fit, values=fit.values + 0.0101 * fit.inverse_root[:, 2]).is_least_squares
    given = Estimate(NAMES, ("", "", ""), fit.values, np.diag(sigma**2), JOINTS, WEIGHTS, 204.0)
    assert linear_fit(equations, given).weights.tolist() == WEIGHTS.tolist()
    fixed = replace(given, covariance=np.diag([1.0, 0.0, 1.0]))
    kept = np.array([0, 2])
    values = fit.values + np.array([0.0, 0.3, 0.0])
    values[kept] = with_known(equations.compressed, values[[1]], np.array([1])).information(WEIGHTS).solve()[0]
    assert linear_fit(equations, replace(fixed, values=values)).free.tolist() == [0, 2]


def test_data_without_noise_are_recognised_within_rounding() -> None:
    """A billionth of what all rows say, in σ, counts as the same where that is more than a hundredth of σ."""
    equations, _ = example()
    weights = np.array([2e-10, 5e-11])
    values = equations.compressed.information(weights).solve()[0]
    fit = LinearFit.of(equations.compressed, values, weights, np.arange(3))
    y = np.concatenate([rows.y for _, rows in equations.pieces])
    granted = 1e-9 * np.linalg.norm(y / weights)
    assert granted > 1.0
    for k in range(3):
        assert replace(fit, values=values + 0.99 * granted * fit.inverse_root[:, k]).is_least_squares
        assert not replace(fit, values=values + 1.01 * granted * fit.inverse_root[:, k]).is_least_squares


@pytest.mark.parametrize("noise", [[0.0, 0.5], [-1.0, 0.5], [0.0, 0.0], [1.0], [1.0, 1.0, 1.0]])
def test_a_noise_that_cannot_be_a_weight_is_not_taken_for_one(noise: list[float]) -> None:
    equations, _ = example()
    values = equations.compressed.information().solve()[0]
    given = Estimate(NAMES, ("", "", ""), values, np.eye(3), JOINTS, WEIGHTS, 204.0)
    object.__setattr__(given, "noise", np.array(noise))
    assert linear_fit(equations, given).weights.tolist() == [1.0, 1.0]


def test_columns_that_cannot_be_told_apart_are_named() -> None:
    equations, _ = example()
    twice = [(run, Rows.of(r.time, r.w[..., [0, 1, 1]], r.y, r.rate, JOINTS, NAMES)) for run, r in equations.pieces]
    with pytest.raises(ParameterError, match=r"do not determine all 3 parameters: .*b"):
        LinearFit.of(Plain(tuple(twice)).compressed, np.ones(3), WEIGHTS, np.arange(3))


def test_least_squares_is_recognised_where_columns_are_nearly_alike() -> None:
    """One σ in a direction is one σ, also where single parameters are hardly known."""
    mixing = np.array([[1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.0, 1.0, 0.1]]).T
    alike = [(run, Rows.of(r.time, r.w @ mixing, r.y, r.rate, JOINTS, NAMES)) for run, r in example()[0].pieces]
    fit = fitted(Plain(tuple(alike)))
    for k in range(3):
        assert replace(fit, values=fit.values + 0.0099 * fit.inverse_root[:, k]).is_least_squares
        assert not replace(fit, values=fit.values + 0.0101 * fit.inverse_root[:, k]).is_least_squares
