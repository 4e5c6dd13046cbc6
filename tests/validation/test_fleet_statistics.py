"""Who differs from a type: distances have the distribution they state, false alarms stay below their level, what is
different is named, and a few that are far off do not make the type wide."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import exciter as ex
from exciter.errors import ExciterError
from exciter.identification.actuators.alike import likeliest_spread
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.validation.fleet.friction_trends import trend
from exciter.validation.fleet.groups import ParameterGroups
from exciter.validation.fleet.multiple_tests import BENJAMINI_HOCHBERG, HOLM, adjusted, any_of
from exciter.validation.fleet.population import FAR_LEVEL, population
from exciter.validation.fleet.type_comparison import (
    DRIFT,
    FRICTION,
    INERTIAL,
    LOAD,
    RESIDUAL,
    LoadDifference,
    LogNumbers,
    RobotNumbers,
    compare_robots,
)
from support.fleets import fleet_of

LEVEL = 0.1


@pytest.fixture(scope="module")
def groups() -> ParameterGroups:
    robot = ex.load("gautier-khalil")
    return ParameterGroups.of(ex.DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb(), Offset())))


def changed(one: RobotNumbers, difference: np.ndarray, residual: np.ndarray | None = None) -> RobotNumbers:
    return RobotNumbers(
        one.name, one.values + difference, one.covariance, one.residual if residual is None else residual, one.logs
    )


# -- a population ----------------------------------------------------------------------------------------------------


def test_distances_are_hotellings_where_errors_are_nothing():
    """Leave one out by hand: mean and covariance of the others, F(d, m − d + 1)."""
    rng = np.random.default_rng(0)
    count, size = 40, 3
    x = rng.standard_normal((count, size)) @ rng.standard_normal((size, size))
    found = population(x, np.zeros((count, size, size)))
    assert found.kept.all()
    p = []
    for k in range(count):
        others = np.delete(x, k, axis=0)
        m = len(others) - 1
        off = x[k] - others.mean(axis=0)
        square = off @ np.linalg.solve(np.cov(others.T) * (1.0 + 1.0 / len(others)), off)
        p.append(stats.f.sf(square * (m - size + 1.0) / (m * size), size, m - size + 1.0))
    ratio = np.median(stats.f.isf(p, size, found.freedom) / stats.f.isf(found.p_values, size, found.freedom))
    assert ratio >= 1.0 - 1e-9  # widened, never narrowed, where distances are larger than they should be
    scaled = stats.f.sf(stats.f.isf(p, size, found.freedom) / ratio, size, found.freedom)
    assert_allclose(found.p_values, scaled, rtol=0.02, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_spread_is_that_of_the_restricted_likelihood(seed):
    """Of one number with errors of different size, as for drives that are alike, which is maximised in another way."""
    rng = np.random.default_rng(seed)
    sigma = np.exp(rng.normal(-2.0, 0.7, 60))
    x = 1.0 + 0.3 * rng.standard_normal(60) + sigma * rng.standard_normal(60)
    found = population(x[:, None], sigma[:, None, None] ** 2)
    kept = found.kept
    assert kept.mean() > 0.9
    assert_allclose(np.sqrt(found.spread[0, 0]), likeliest_spread(x[kept], np.diag(sigma[kept] ** 2)), rtol=0.01)


@pytest.mark.parametrize(
    ("count", "size", "errors", "unequal"),
    [
        (200, 3, 0.0, 0.0),
        (200, 3, 1.0, 0.35),
        (60, 12, 0.3, 0.0),
        (30, 3, 1.0, 0.35),
        (8, 3, 0.1, 0.0),
        (20, 30, 0.1, 0.0),
    ],
)
def test_p_values_are_no_smaller_than_they_say(count, size, errors, unequal):
    """Over healthy fleets; the last two have too few robots for a full covariance."""
    rng = np.random.default_rng(count + size)
    p, far, fleets = [], 0, max(20, 6000 // count)
    for _ in range(fleets):
        mixed, noisy = rng.standard_normal((2, size, size))
        factor = np.exp(unequal * rng.standard_normal(count))
        root = np.sqrt(errors) * factor[:, None, None] * noisy
        x = rng.standard_normal((count, size)) @ mixed.T + np.einsum(
            "nij,nj->ni", root, rng.standard_normal((count, size))
        )
        found = population(x, root @ root.swapaxes(1, 2))
        p.append(found.p_values)
        far += bool(found.p_values.min() < FAR_LEVEL / count)
    share = np.mean(np.concatenate(p) < 0.1)
    assert 0.04 < share < 0.115
    assert far / fleets <= FAR_LEVEL + 3.0 * np.sqrt(FAR_LEVEL / fleets)


@pytest.mark.parametrize("size", [1, 3])
def test_a_few_sure_robots_show_the_spread_that_the_others_hide(size):
    """A quarter of them five times as sure as the others, whose errors are twice the spread."""
    rng = np.random.default_rng(size)
    sigma = np.where(np.arange(80) < 20, 0.4, 2.0)
    c = sigma[:, None, None] ** 2 * np.eye(size)
    p = []
    for _ in range(30):
        x = np.sqrt(1.0 + sigma**2)[:, None] * rng.standard_normal((80, size))
        p.append(population(x, c).p_values[:20])
    assert np.mean(np.array(p) < 0.01) < 0.035  # it was 0.1


def test_a_few_that_are_far_off_do_not_widen_the_type():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((120, 4))
    x[:8] += 12.0 * np.array([1.0, 1.0, 0.0, 0.0])
    alone, all_of_them = population(x[8:], np.zeros((112, 4, 4))), population(x, np.zeros((120, 4, 4)))
    assert not all_of_them.kept[:8].any()
    assert (all_of_them.p_values[:8] < 1e-6).all()
    assert_allclose(all_of_them.mean, alone.mean, atol=0.05)
    assert_allclose(all_of_them.spread, alone.spread, atol=0.1)


@pytest.mark.parametrize(("count", "far", "size"), [(5, 1, 1), (5, 1, 3), (10, 2, 1), (10, 2, 3), (20, 4, 3)])
def test_as_many_as_a_fifth_with_the_same_fault_do_not_hide_each_other(count, far, size):
    rng = np.random.default_rng(count)
    found = []
    for _ in range(20):
        x = rng.standard_normal((count, size))
        x[:far] += 30.0
        found.append((population(x, np.broadcast_to(0.01 * np.eye(size), (count, size, size))).p_values < 0.01)[:far])
    assert np.mean(found) > 0.9


@pytest.mark.parametrize("count", [5, 8])
@pytest.mark.parametrize("errors", [0.1, 1.0])
def test_of_few_robots_small_p_values_are_rare(count, errors):
    """Where who is far off is left out, and where the spread may be found as nothing."""
    rng = np.random.default_rng(count)
    c = np.full((count, 1, 1), errors**2)
    sigma = np.hypot(1.0, errors)
    p = np.concatenate([population(sigma * rng.standard_normal((count, 1)), c).p_values for _ in range(500)])
    for level in (0.01, 0.002):
        assert np.mean(p < level) < level + 3.0 * np.sqrt(level / len(p))


def test_a_direction_is_the_part_of_the_distance_that_lies_in_it():
    """One parameter alone, the others free: what is left is the distance of the others. Together with a known answer:
    without errors and with all others at zero, the amount is the difference itself."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((80, 4)) @ rng.standard_normal((4, 4))
    found = population(x, np.zeros((80, 4, 4)))
    along = found.along(np.eye(4)[:, 0])
    others = np.linalg.solve(found.predicted[:, 1:, 1:], found.off[:, 1:, None])[..., 0]
    assert_allclose(along.rest, np.einsum("ni,ni->n", found.off[:, 1:], others), rtol=1e-8)
    assert_allclose(along.squares + along.rest, found.squares, rtol=1e-8)
    p = np.concatenate(
        [
            population(rng.standard_normal((60, 5)), np.zeros((60, 5, 5))).along(np.eye(5)[:, :2]).p_values
            for _ in range(60)
        ]
    )
    assert np.mean(p < 0.1) == pytest.approx(0.1, abs=0.02)
    assert np.mean(p < 0.01) == pytest.approx(0.01, abs=0.006)


def test_too_few_robots_are_refused():
    with pytest.raises(ExciterError, match="4 robots are too few"):
        population(np.zeros((4, 1)), np.zeros((4, 1, 1)))


# -- many tests --------------------------------------------------------------------------------------------------------


def test_adjusted_p_values_are_those_of_the_books():
    p = np.random.default_rng(0).uniform(size=30) ** 3
    assert_allclose(adjusted(p, BENJAMINI_HOCHBERG), stats.false_discovery_control(p))
    order = np.argsort(p)
    stepped, worst = np.empty(30), 0.0
    for rank, k in enumerate(order):
        worst = max(worst, min(1.0, (30 - rank) * p[k]))
        stepped[k] = worst
    assert_allclose(adjusted(p, HOLM), stepped)
    with_gap = np.append(p, np.nan)
    assert_allclose(adjusted(with_gap, HOLM)[:-1], stepped)
    assert_allclose(any_of(np.array([[0.01, 0.5, np.nan], [np.nan, 0.7, 0.9]])), [0.02, 1.0])


# -- robots ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "logs", "fleets"), [(8, 3, 120), (20, 0, 150), (60, 0, 80)])
def test_of_healthy_fleets_as_many_as_stated_have_somebody_named(groups, count, logs, fleets):
    rng = np.random.default_rng(count)
    named = np.mean(
        [compare_robots(groups, fleet_of(groups, count, rng, logs=logs), LEVEL).differs.any() for _ in range(fleets)]
    )
    assert named <= LEVEL + 3.0 * np.sqrt(LEVEL / fleets)


@pytest.fixture(scope="module")
def defective(groups):
    """Sixty robots, four of them with something: who, and the comparison."""
    rng = np.random.default_rng(11)
    robots = fleet_of(groups, 60, rng)
    nothing = np.zeros(len(groups.names))
    stiff = nothing.copy()
    which = groups.friction[1]
    stiff[which] = np.where(groups.positive[which], 0.6 * robots[7].values[which], 0.0)
    robots[7] = changed(robots[7], stiff)
    phi = np.array([0.8, 0.0, 0.0, 0.08, 0.02, 0.0, 0.02, 0.0, 0.0, 0.01])
    robots[21] = changed(robots[21], groups.load @ phi)
    loud = robots[33].residual.copy()
    loud[2] *= 2.0
    robots[33] = changed(robots[33], nothing, loud)
    link = groups.effects[1][:, 4:10] @ np.full(6, 1.0)
    robots[40] = changed(robots[40], link)
    return robots, compare_robots(groups, robots, LEVEL)


def test_those_with_something_are_named_and_told_what(groups, defective):
    _, found = defective
    assert set(np.flatnonzero(found.differs)) >= {7, 21, 33, 40}
    assert found.differs.sum() <= 5  # one by chance, as the level allows
    first = {k: found.reasons(k)[0] for k in (7, 21, 33, 40)}
    assert first[7].asked.kind == FRICTION
    assert first[7].asked.joint == groups.joints[1]
    assert first[7].numbers["friction_percent"] == pytest.approx(60.0, abs=25.0)  # and what it had of its own
    assert first[21].asked.kind in (LOAD, INERTIAL)
    mass, sigma = first[21].numbers["mass"], first[21].numbers["mass_std"]
    assert abs(mass - 0.8) < 3.0 * sigma
    assert first[33].asked.kind == RESIDUAL
    assert first[33].asked.joint == groups.joints[2]
    assert first[33].numbers["residual_ratio"] == pytest.approx(2.0, rel=0.15)
    assert groups.links[1] in first[40].text
    healthy = int(np.flatnonzero(~found.differs)[0])
    assert found.reasons(healthy) == ()
    assert found.distance[~found.differs].max() < 2.0 < found.distance[40]


@pytest.mark.parametrize(("count", "worn"), [(12, 1), (12, 2), (20, 3)])
def test_joints_that_are_worn_alike_are_named(groups, count, worn):
    rng = np.random.default_rng(count)
    robots = fleet_of(groups, count, rng)
    for k in range(worn):
        loud = np.where(np.arange(len(groups.joints)) == 1, 2.5, 1.0) * robots[k].residual
        robots[k] = changed(robots[k], np.zeros(len(groups.names)), loud)
    found = compare_robots(groups, robots, LEVEL)
    assert found.differs[:worn].all()
    assert all(found.reasons(k)[0].asked.kind == RESIDUAL for k in range(worn))


def test_the_centre_of_a_load_has_its_sigma():
    """Of draws of mass and first moments."""
    rng = np.random.default_rng(0)
    phi, root = np.array([2.0, 0.1, -0.2, 0.3]), 0.02 * rng.standard_normal((4, 4))
    centre, sigma = LoadDifference(np.arange(4), phi, root @ root.T).centre
    drawn = phi + rng.standard_normal((20_000, 4)) @ root.T
    assert_allclose(centre, phi[1:] / phi[0])
    assert_allclose(sigma, np.std(drawn[:, 1:] / drawn[:, :1], axis=0), rtol=0.05)


def test_the_type_is_what_robots_have_in_common(groups, defective):
    _, found = defective
    friction = np.concatenate(groups.friction)
    positive = friction[groups.positive[friction]]
    assert_allclose(found.type_values[positive], 1.0, atol=0.06)
    assert_allclose(found.type_spread[positive] / found.type_values[positive], 0.1, rtol=0.35)
    assert found.logarithmic[positive].all()
    assert not found.logarithmic[groups.inertial].any()


def test_the_level_is_kept_in_both_ways(groups, defective):
    robots, found = defective
    strict = compare_robots(groups, robots, 0.01, HOLM)
    assert set(np.flatnonzero(strict.differs)) <= set(np.flatnonzero(found.differs))
    assert (strict.adjusted >= strict.robot_p_values).all()
    assert (found.p_values >= 0.0).all()


# -- drift -------------------------------------------------------------------------------------------------------------


def test_a_trend_is_the_weighted_line():
    rng = np.random.default_rng(2)
    when, y, sigma = np.arange(6.0), rng.standard_normal(6), rng.uniform(0.5, 2.0, 6)
    found = trend(when, y[:, None], sigma[:, None, None] ** 2)
    slope, covariance = np.polyfit(when, y, 1, w=1.0 / sigma, cov="unscaled")
    assert found.slope[0] == pytest.approx(slope[0])
    wider = max(1.0, np.sum(((y - np.polyval(slope, when)) / sigma) ** 2) / 4.0)
    assert found.covariance[0, 0] == pytest.approx(wider * covariance[0, 0])
    low, high = found.interval()
    assert high[0] - low[0] == pytest.approx(2.0 * stats.t.ppf(0.975, 4) * np.sqrt(found.covariance[0, 0]))
    assert trend(np.zeros(3), y[:3, None], sigma[:3, None, None] ** 2) is None


def test_who_drifts_unlike_the_others_is_named(groups):
    rng = np.random.default_rng(8)
    robots = fleet_of(groups, 30, rng, logs=4)
    which = groups.friction[0]
    slope = np.zeros(len(groups.names))
    slope[which] = np.where(groups.positive[which], 0.15, 0.0)
    one = robots[4]
    drifting = tuple(
        LogNumbers(log.log, log.when, log.values + log.values * slope * (log.when - 1.5), log.covariance)
        for log in one.logs
    )
    robots[4] = RobotNumbers(one.name, one.values, one.covariance, one.residual, drifting)
    found = compare_robots(groups, robots, LEVEL)
    assert np.argmin(found.robot_p_values) == 4
    assert found.differs[4]
    assert found.differs.sum() <= 2  # one by chance, as the level allows
    reason = found.reasons(4)[0]
    assert (reason.asked.kind, reason.asked.joint) == (DRIFT, groups.joints[0])
    assert reason.numbers["low"] < 15.0 < reason.numbers["high"]


def test_with_too_few_robots_nobody_is_compared(groups):
    found = compare_robots(groups, fleet_of(groups, 4, np.random.default_rng(0)), LEVEL)
    assert not found.differs.any()
    assert np.isnan(found.robot_p_values).all()
    assert found.asked == ()
