"""The search of a certificate, with constraints in closed form: what counts as proved, what is looked at, and how far.

No interval may be left out, no verdict may rest on less than a bound for all of them: here each of these shows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import CertificateEffort, _Grid, _grid, _verdict, certify, remembers
from exciter.excitation.certificate.certificate import Certificate, LimitVerdict, Status
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import AnyOf, ConstraintRows, RowName
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.parameters import terms as t
from exciter.robot import Motion, Robot
from support.robots import random_robot

Array = np.ndarray
STILL = Curve((PolynomialPiece([0.0, 10.0], [[[0.0, 0.0]]]),))  #: one joint that stands for ten seconds


def free_joint() -> Robot:
    """Without any limit, so that all verdicts are those of the constraints."""
    free = dict.fromkeys(("velocity", "acceleration", "jerk", "torque", "upper"), np.inf)
    return random_robot(4, 1, prismatic=0.0).with_limits(**free, lower=-np.inf)


@dataclass(eq=False)
class Given:
    """Rows that are functions of time alone, and of an interval's start and end; remembers what it was asked."""

    value: Callable[[Array], Array]
    bound: Callable[[Array, Array], Array]
    rows: tuple[RowName, ...] = (RowName("height", "tool", "m", 0.0, 1.0, False),)
    model: Any = None
    asked: list[Motion] = field(default_factory=list)
    spans: list[tuple[Array, Array]] = field(default_factory=list)

    def values(self, motion: Motion) -> Array:
        self.asked.append(motion)
        return np.broadcast_to(self.value(motion.time), (len(self.rows), len(motion)))

    def lower_bounds(self, spans: Spans) -> Array:
        self.spans.append((spans.start, spans.end))
        return np.broadcast_to(self.bound(spans.start, spans.end), (len(self.rows), len(spans.start)))

    def linearised(self, motion: Motion) -> ConstraintRows:
        raise NotImplementedError

    @property
    def widths(self) -> Array:
        return np.concatenate([end - start for start, end in self.spans])


def judged(constraint: Given, effort: CertificateEffort | None = None) -> LimitVerdict:
    certificate = certify(free_joint(), STILL, [constraint], effort)
    [verdict] = certificate.limits
    assert certificate.certified == (verdict.status in ("holds", "assumed"))
    assert certificate.nodes == sum(map(len, constraint.asked))
    return verdict


# -- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lowest", "bound", "status"),
    [
        (1.0, 0.5, "holds"),
        (0.0, 0.0, "holds"),
        (1.0, -1e-300, "open"),
        (0.0, -np.inf, "open"),
        (1.0, np.nan, "open"),
        (np.nan, np.nan, "open"),
        (-1e-9, -1.0, "open"),  # below zero by what rounding explains: neither proved nor broken
        (-1.001e-9, -1.0, "broken"),
        (-2.0, -3.0, "broken"),
    ],
)
@pytest.mark.parametrize("assumed", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_only_a_bound_of_zero_or_more_is_a_proof(
    lowest: float, bound: float, status: str, assumed: bool, upper: bool
) -> None:
    row = RowName("torque", "j1", "N·m", 40.0, 8.0, upper, assumed)
    found = _verdict(row, lowest, bound, 1.5)
    assert found.status == ("assumed" if assumed and status == "holds" else status)
    sign = -1.0 if upper else 1.0
    assert [found.reached, found.bound] == pytest.approx(
        [40.0 + sign * 8.0 * lowest, 40.0 + sign * 8.0 * bound], nan_ok=True
    )
    assert found.margin == pytest.approx(lowest if status == "broken" else bound, nan_ok=True)
    told = (found.what, found.where, found.unit, found.limit, found.at, found.upper)
    assert told == ("torque", "j1", "N·m", 40.0, 1.5, upper)


def test_one_limit_that_is_open_or_broken_is_enough_to_refuse() -> None:
    def of(status: Status, margin: float) -> LimitVerdict:
        return LimitVerdict("torque", "j1", "N·m", 1.0, 0.5, 0.5, margin, 0.0, status, True)

    holds, assumed, open_, broken = of("holds", 0.5), of("assumed", 0.1), of("open", -0.2), of("broken", -0.3)
    for limits, certified in (
        ((), True), ((holds,), True), ((assumed,), True), ((assumed, holds), True),
        ((open_,), False), ((broken,), False), ((holds, open_, holds), False), ((holds, assumed, broken), False),
    ):  # fmt: skip
        certificate = Certificate(limits, 1.0, 7)
        assert certificate.certified == certified
        assert certificate.proved == tuple(limit for limit in limits if limit is holds)
        assert certificate.assumed == tuple(limit for limit in limits if limit is assumed)
        said = certificate.to_dict()
        assert (said["starts_at_rest"], said["ends_at_rest"]) == (True, True)  # unless said otherwise
        assert (said["certified"], said["proved"], said["assumed"]) == (
            certified,
            limits.count(holds),
            limits.count(assumed),
        )
        known = [limit for limit in limits if limit is not assumed]
        assert certificate.worst is (min(known, key=lambda limit: limit.margin) if known else None)


@pytest.mark.parametrize(
    ("status", "bound", "upper", "unit", "what", "words"),
    [
        ("holds", 0.03, False, "m", "distance", "+10.0 mm"),
        ("holds", 0.03, True, "m", "height", "-10.0 mm"),
        ("broken", 0.03, False, "m", "distance", "-5.0 mm"),  # by what was reached
        ("open", -np.inf, False, "m", "distance", "-5.0 mm"),
        ("holds", 0.03, False, "m", "position", "+12.50 %"),
        ("holds", 0.03, False, "N·m", "torque", "+12.50 %"),
    ],
)
def test_margins_are_said_in_the_direction_of_the_limit(
    status: Status, bound: float, upper: bool, unit: str, what: str, words: str
) -> None:
    assert LimitVerdict(what, "a", unit, 0.02, 0.015, bound, 0.125, 0.0, status, upper).margin_words == words
    assert LimitVerdict("torque", "a", "N·m", 1.0, 0.0, bound, np.inf, 0.0, status, upper).margin_words == "–"


@pytest.mark.parametrize("status", ["holds", "assumed"])
def test_a_limit_that_is_kept_has_no_margin_below_zero(status: Status) -> None:
    """A motion that touches its limit passes it by rounding, which is said to be no overshoot."""
    for unit, what, zero in (("N·m", "torque", "+0.00 %"), ("m", "distance", "+0.0 mm")):
        for passed in (0.0, -0.0, -1e-12, 1e-12):
            kept = LimitVerdict(what, "a", unit, 1.0, 1.0, 1.0 + passed, passed, 0.0, status, False)
            assert kept.margin_words == zero
            assert replace(kept, status="broken", reached=1.0 - 1e-9, margin=-1e-9).margin_words.startswith("-0.0")
    robot = random_robot(3, 1, prismatic=0.0).with_limits(lower=-1.0, upper=1.0, velocity=5.0)
    for beyond, found, sign in ((1e-10, "holds", 0), (1e-3, "broken", -1), (-0.5, "holds", 1)):
        still = Curve((PolynomialPiece([0.0, 1.0], [[[1.0 + beyond, 0.0]]]),))
        [limit] = [x for x in certify(robot, still).limits if x.what == "position" and x.upper]
        assert (limit.status, np.sign(limit.margin)) == (found, sign)


# -- what is looked at ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intervals", [1, 7, 10, 200, 3000])
def test_the_grid_leaves_out_no_instant(intervals: int) -> None:
    knots = np.array([-1.0, -0.5, 0.1, 0.1 + 1e-6, 3.0, 3.0 + 1e-11, 9.0])
    grid = _grid(Curve((PolynomialPiece(knots, np.zeros((1, 6, 2))),)), intervals)
    assert (grid.start[0], grid.end[-1]) == (-1.0, 9.0)
    assert (grid.start[1:] == grid.end[:-1]).all()
    assert (grid.start >= knots[grid.span]).all()
    assert (grid.end <= knots[grid.span + 1]).all()
    widths = grid.end - grid.start
    assert (widths > 0.0).all()
    assert widths.max() <= 10.0 / intervals * (1 + 1e-8)
    for span in range(6):
        own = widths[grid.span == span]
        np.testing.assert_allclose(own, own[0], rtol=1e-6)
        assert len(own) == max(1, np.ceil((knots[span + 1] - knots[span]) * intervals / 10.0 - 1e-9))


def test_intervals_are_split_into_four_without_a_gap() -> None:
    rng = np.random.default_rng(1)
    grid = _Grid(rng.integers(0, 9, 300), rng.uniform(-1.0, 0.1, 300), rng.uniform(1.0, 3.0, 300))
    assert (grid.start + (grid.end - grid.start) != grid.end).any()  # in floating point the end is not the sum
    which = np.arange(len(grid.start)) % 3 == 1
    parts = grid.split(which)
    assert (parts.span == np.repeat(grid.span[which], 4)).all()
    starts, ends = parts.start.reshape(-1, 4), parts.end.reshape(-1, 4)
    assert (starts[:, 0] == grid.start[which]).all()
    assert (ends[:, -1] == grid.end[which]).all()
    assert (starts[:, 1:] == ends[:, :-1]).all()
    np.testing.assert_allclose(ends - starts, 0.25 * (grid.end - grid.start)[which, None] * np.ones(4), rtol=1e-9)


@pytest.mark.parametrize("grid", [10, 2500])
@pytest.mark.parametrize("at", [0.0005, 4.0979, 5.0, 9.9995])
@pytest.mark.parametrize("bad", [-1.0, -np.inf, np.nan])
def test_one_interval_that_proves_nothing_leaves_open(grid: int, at: float, bad: float) -> None:
    """Wherever it is, in whatever block, however small it gets, and if its bound is no number."""
    constraint = Given(lambda time: 0 * time + 1.0, lambda start, end: np.where((start <= at) & (at <= end), bad, 1.0))
    assert judged(constraint, CertificateEffort(grid=grid, narrowest=1e-3)).status == "open"
    assert judged(Given(constraint.value, lambda start, end: 0 * start), CertificateEffort(grid=grid)).status == "holds"


def test_a_row_is_judged_by_its_own_values_and_bounds() -> None:
    """Three rows, one proved, one broken, one open: neither helps another, nor does it keep another from its proof."""
    rows = tuple(RowName("height", name, "m", 0.0, 1.0, False, name == "b") for name in "abcd")
    dip = 3.0
    constraint = Given(
        lambda time: np.stack([0 * time + 2.0, 0 * time + 0.5, np.abs(time - dip) - 0.01, 0 * time + 1.0]),
        lambda start, end: np.stack([2.0 - (end - start), 0.5 - (end - start), 0 * start - 1.0, 0 * start - 1.0]),
        rows,
    )
    certificate = certify(free_joint(), STILL, [constraint])
    assert [limit.status for limit in certificate.limits] == ["holds", "assumed", "broken", "open"]
    broken = certificate.limits[2]
    assert broken.at == pytest.approx(dip, abs=0.01)
    assert broken.reached == pytest.approx(abs(broken.at - dip) - 0.01, abs=1e-12)


def test_a_break_between_the_samples_of_the_grid_is_found() -> None:
    """By the values at finer intervals; and the time that is told is that of the worst value of all."""
    dip = 3.0123

    def bound(start: Array, end: Array) -> Array:
        nearest = np.clip(np.maximum(start - dip, dip - end), 0.0, 0.3)
        return np.asarray(nearest - 1e-3)

    constraint = Given(lambda time: np.minimum(np.abs(time - dip), 0.3) - 1e-3, bound)
    verdict = judged(constraint, CertificateEffort(grid=10))
    assert verdict.status == "broken"
    assert abs(verdict.at - dip) < 1e-3
    every = np.concatenate([motion.time for motion in constraint.asked])
    values = constraint.value(every)
    assert verdict.reached == values.min()
    assert verdict.at == every[np.argmin(values)]


def test_what_holds_for_the_whole_holds_for_its_parts() -> None:
    """A bound that gets worse where intervals get shorter spoils nothing that was known."""
    constraint = Given(
        lambda time: 0 * time + 1.0,
        lambda start, end: np.where(end - start > 0.9, 0.2, np.where(start < 5.0, 0.9, -1.0)),
    )
    verdict = judged(constraint, CertificateEffort(grid=10))
    assert verdict.status == "holds"
    assert verdict.margin == pytest.approx(0.2)


# -- how far ----------------------------------------------------------------------------------------------------------


def test_margins_that_are_told_are_as_close_as_the_tolerance_says() -> None:
    """Bounds 5 h below the truth; for the effort that is given, and no further."""
    for true, tolerance in ((0.5, 0.01), (4.0, 0.01), (0.5, 0.1)):
        constraint = Given(lambda time, c=true: 0 * time + c, lambda start, end, c=true: c - 5.0 * (end - start))  # type: ignore[misc]
        margin = judged(constraint, CertificateEffort(grid=20, tolerance=tolerance, refine=10**6, most=10**6)).margin
        assert true - tolerance * (1.0 + true) <= margin <= true
        widths = np.unique(constraint.widths.round(12))[::-1]
        assert 5.0 * widths[-2] > tolerance * (1.0 + true)  # the last split was needed
    hasty = Given(lambda time: 0 * time + 4.0, lambda start, end: 4.0 - 5.0 * (end - start))
    assert judged(hasty, CertificateEffort(grid=20, refine=40)).margin == pytest.approx(
        1.5
    )  # 40 instants: those of the grid
    hasty = Given(lambda time: 0 * time + 0.6, lambda start, end: 0.6 - (end - start))
    assert judged(hasty, CertificateEffort(grid=20, refine=40)).margin == pytest.approx(0.1)


def test_no_interval_gets_narrower_than_is_said() -> None:
    for narrowest in (1e-7, 1e-4, 3e-3):
        constraint = Given(
            lambda time: np.abs(time - 3.0), lambda start, end: np.where((start <= 3.0) & (end >= 3.0), -1.0, 1.0)
        )
        assert judged(constraint, CertificateEffort(grid=7, narrowest=narrowest)).status == "open"
        assert narrowest * (1 - 1e-6) < constraint.widths.min() <= 4.0 * narrowest
    assert CertificateEffort().narrowest == 1e-7


def test_no_more_instants_than_allowed_beyond_the_grid() -> None:
    """Ten intervals of which none is proved before it is split to 1/16: 20 + 40 + 160 instants."""
    for most, status in ((0, "open"), (39, "open"), (199, "open"), (200, "holds"), (10**4, "holds")):
        constraint = Given(lambda time: 0 * time + 0.5, lambda start, end: np.where(end - start < 0.1, 0.5, -1.0))
        assert judged(constraint, CertificateEffort(grid=10, most=most)).status == status
        assert sum(map(len, constraint.asked)) - 20 <= most


def test_a_motion_that_touches_a_limit_is_proved() -> None:
    """Exactly: its value is zero there, and so are the bounds of short intervals beside it."""
    constraint = Given(lambda time: np.abs(time - 5.0), lambda start, end: np.where(end - start < 0.1, 0.0, -1.0))
    assert judged(constraint, CertificateEffort(grid=10)).status == "holds"


def test_nothing_is_split_for_a_row_that_is_broken_anyway() -> None:
    constraint = Given(lambda time: 0 * time - 1.0, lambda start, end: 0 * start - 2.0)
    assert judged(constraint).status == "broken"
    assert len(constraint.widths) == 200


def test_the_work_can_be_ended_between_any_two_steps() -> None:
    """And nothing is certified then."""

    def constraint() -> Given:
        return Given(lambda time: 0 * time + 0.5, lambda start, end: np.where(end - start < 0.5, 0.5, -1.0))

    calls = []
    certify(free_joint(), STILL, [constraint()], CertificateEffort(grid=10), lambda: calls.append(1))
    assert len(calls) == 4  # values and bounds, of the grid and of its parts
    for last in range(4):
        left = iter(range(last))
        with pytest.raises(StopIteration):
            certify(free_joint(), STILL, [constraint()], CertificateEffort(grid=10), lambda left=left: next(left))  # type: ignore[misc]


# -- memory -----------------------------------------------------------------------------------------------------------


def test_what_remembers_is_evaluated_along_the_whole_motion_at_once() -> None:
    robot = free_joint().with_limits(torque=9.0)
    plain, sliding = DynamicModel(robot), DynamicModel(robot, (t.Viscous(), t.Coulomb(t.Dahl(1e-3))))
    members = TorqueLimits(plain), TorqueLimits(sliding)
    assert [remembers(member) for member in members] == [False, True]
    assert [remembers(AnyOf((members[0], member))) for member in members] == [False, True]
    assert not remembers(Given(np.cos, np.minimum))
    early = lambda time: np.where(time < 1e-9, -1.0, 1.0)  # noqa: E731
    late = lambda time: np.where(time > 10.0 - 1e-9, -1.0, 1.0)  # noqa: E731
    for value in (early, late):
        constraint = Given(value, lambda start, end: np.where(end - start < 0.5, 1.0, -1.0), model=sliding)
        assert judged(constraint, CertificateEffort(grid=10)).status == "broken"
        [motion] = constraint.asked
        assert (motion.time[0], motion.time[-1]) == (0.0, 10.0)
        assert len(motion) > 100
        np.testing.assert_allclose([b - a for a, b in pairwise(motion.time)], 10.0 / (len(motion) - 1), rtol=1e-9)
