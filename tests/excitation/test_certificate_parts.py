"""Every part of a bound alone, where it is all there is: a bound that is too small is then below the truth, one that is
twice too large is far from it. Along motions of whole arms neither shows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.spans import BOUND_ROUNDING, LinkSpan, Spans, distances, tighten
from exciter.excitation.constraints.collision import (
    Block,
    Touch,
    Wall,
    obstacle_apart,
)
from exciter.excitation.constraints.constraint import ROW_LENGTH_M, RowName, rows_of
from exciter.excitation.constraints.mesh import MESH_DISTANCE_ACCURACY_M, MeshDistance, approach, body_radii
from exciter.excitation.constraints.segments import best_plane, segments_apart
from exciter.excitation.constraints.torque_limits_and_bounds import Body, TorqueLimits, torque_range
from exciter.excitation.constraints.workspace import OutsideSphere, Region
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.parameters import terms as t
from exciter.robot import Motion
from exciter.robot.geometry import Shape
from support.certificate_arms import Array, arm, slider
from support.certificates import even_spans, inside

SINE, COSINE = 10, 11  #: equal intervals of a period, one of them with a peak in its middle, where bounds are reached


def sine(size: float, omega: float) -> Curve:
    """q = size · sin(ω t) during a period."""
    return Curve((FourierPiece(0.0, 2 * np.pi / omega, omega, [1], [[size * omega]], [[0.0]], [0.0]),))


def turn(speed: float) -> Curve:
    """q = speed · t."""
    return Curve((PolynomialPiece([0.0, 2 * np.pi / speed], [[[0.0, speed]]]),))


def sharpness(model: DynamicModel, chi: Array, truth: Array, spans: Spans) -> float:
    """Largest distance of the true torque (M · k samples inside) from what is reached at both ends of its interval, as
    part of what the bound allows for."""
    low, high = (side[0] for side in torque_range(model, chi, spans))
    ends = model.regressor(spans.ends)[:, 0] @ chi
    least, most = np.minimum(ends[0::2], ends[1::2]), np.maximum(ends[0::2], ends[1::2])
    inner = truth.reshape(len(low), -1)
    beyond = np.maximum(inner.max(axis=1) - most, least - inner.min(axis=1))
    allowed = np.minimum(high - most, least - low)
    np.testing.assert_allclose(high - most, least - low, rtol=1e-6, atol=1e-9)
    return float((beyond / (allowed + 1e-9)).max())


@pytest.mark.parametrize(("term", "order"), [(t.Viscous(), 1), (t.RotorInertia(), 2)])
def test_friction_and_rotors_alone(term: t.Term, order: int) -> None:
    """A joint without a body: τ = F_v q̇ or I_a q̈, in closed form."""
    model, curve, size = DynamicModel(arm(np.zeros(10)), (term,)), sine(1.0, 2.0), 40.0
    chi = np.append(np.zeros(10), size)
    spans = even_spans(curve, COSINE if order == 1 else SINE)
    _, motion = inside(spans, curve, 51)
    truth = size * (2.0 * np.cos(2.0 * motion.time) if order == 1 else -4.0 * np.sin(2.0 * motion.time))
    assert 0.85 < sharpness(model, chi, truth, spans) <= 1.0


@pytest.mark.parametrize("moments", [(0.0, 1.0, 1.0), (-1.0, 0.3, 1.0), (-1.0, -1.0, -1.0)])
def test_an_uneven_inertia_alone(moments: tuple[float, float, float]) -> None:
    """About the axis of its largest moment, by angles so small that the body hardly turns: τ = I_zz q̈. Half of that is
    the spread for a rod, all of it for an inertia of no real body."""
    xx, yy, zz = moments
    inertia = np.array([0.0, 0, 0, 0, xx, 0, yy, 0, 0, zz])
    assert Body.of(*inertia).spread == pytest.approx(0.5 * (zz - xx))
    model, curve = DynamicModel(arm(inertia)), sine(0.01, 1.0)
    spans = even_spans(curve, SINE)
    _, motion = inside(spans, curve, 51)
    truth = -0.01 * zz * np.sin(motion.time)
    assert 0.85 < sharpness(model, inertia, truth, spans) <= 1.0


def test_a_first_moment_without_a_mass_alone() -> None:
    """A body that weighs nothing and yet hangs: τ = h g cos q, in closed form, at a steady speed."""
    inertia = np.array([0.0, 0.7, 0, 0, 0, 0, 0, 0, 0, 0])
    model, curve = DynamicModel(arm(inertia)), turn(1.5)
    spans = even_spans(curve, COSINE)
    _, motion = inside(spans, curve, 51)
    truth = 0.7 * 9.81 * np.cos(1.5 * motion.time)
    assert 0.85 < sharpness(model, inertia, truth, spans) <= 1.0


@pytest.mark.parametrize("moving", [0, 1, 2])
def test_bodies_with_joints_between_them_approach_as_fast_as_the_whole_arm_reaches(moving: int) -> None:
    """A ball at the tip of three links, straight, turned as one about one of their joints towards another ball."""
    places = {-1: [3.0, 2.0, 0.0], 2: [1.0, 0.0, 0.0]}
    balls = tuple(Shape("sphere", joint, (0.05,), np.eye(3), place) for joint, place in places.items())
    robot = replace(arm(*np.zeros((3, 10))), shapes=balls)
    constraint = MeshDistance(robot, pairs=[("base", "j3")])
    speed = np.eye(3)[moving]
    curve = Curve((PolynomialPiece([0.0, 0.3], np.stack([-0.15 * speed, speed], axis=-1)[:, None]),))
    spans = even_spans(curve, 6)
    bounds, values = constraint.lower_bounds(spans)[0], constraint.values(spans.ends)[0].reshape(-1, 2)
    reach = 3.0 - moving
    tip = np.array([moving + reach * np.cos(spans.ends.time - 0.15), reach * np.sin(spans.ends.time - 0.15)])
    apart = np.hypot(tip[0] - 3.0, tip[1] - 2.0) - 0.1
    np.testing.assert_allclose(values.ravel(), apart / 0.1, rtol=1e-6)
    least, fall = values.min(axis=1), np.abs(np.diff(values, axis=1)[:, 0])
    assert (bounds <= least).all()
    assert (least - bounds <= 0.2 * fall).all()


# -- rules that all bounds are made of, where they are reached ---------------------------------------------------------


def parabola(order: int, bend: float, width: float) -> Spans:
    """One interval of a joint whose order-th derivative is bend t²/2 about the middle of the interval."""
    coefficients = np.zeros(order + 3)
    coefficients[order + 2] = bend / math.factorial(order + 2)
    shifted = np.polynomial.Polynomial(coefficients)(np.polynomial.Polynomial([-0.5 * width, 1.0])).coef
    return even_spans(Curve((PolynomialPiece([0.0, width], [[shifted]]),)), 1)


@pytest.mark.parametrize("bend", [3.0, -3.0])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_ranges_of_a_motion_are_reached_by_parabolas(order: int, bend: float) -> None:
    """Between b h²/8 at both ends it comes to zero: all that h²/8 times the next derivative but one allows for."""
    width = 0.4
    ranges = parabola(order, bend, width).ranges
    low, high = ((ranges.q_low, ranges.q_high), (ranges.qd_low, ranges.qd_high), (ranges.qdd_low, ranges.qdd_high))[
        order
    ]
    found = sorted([low.item(), high.item()], key=abs)
    ends = bend * width**2 / 8
    assert found == pytest.approx([0.0, 2 * ends], abs=1e-12)
    assert min(found) == low.item() == pytest.approx(min(0.0, 2 * ends), abs=1e-12)


def test_exact_ends_improve_jets_as_far_as_a_parabola_goes() -> None:
    """f = K − c (t − h/2)²/2: |f| ≤ K and |ḟ| ≤ c h/2 are reached; what was known better stays."""
    width, bend, top = np.array([0.4, 0.2]), 3.0, 5.0
    direction = np.array([0.0, 0.6, -0.8])[:, None]
    ends = direction * np.repeat(top - bend * width**2 / 8, 2)
    for order in (0, 1):
        jet = np.full((5, 2), 1e9)
        jet[order + 2] = bend
        tighten(jet, order, ends, width)
        np.testing.assert_allclose(jet[order], top)
        np.testing.assert_allclose(jet[order + 1], 0.5 * bend * width)
        better = np.full((5, 2), 1e-3)
        better[order + 2] = bend
        tighten(better, order, ends, width)
        assert (better[order : order + 2] == 1e-3).all()
    line, jet = np.array([[1.0, 2.0, 0.0, -4.0], [0.0] * 4, [0.0] * 4]), np.full((3, 2), 1e9)
    jet[2] = 0.0
    tighten(jet, 0, line, width)  # a straight way: the chord itself
    np.testing.assert_allclose(jet[:2], [[2.0, 4.0], [1.0 / 0.4, 4.0 / 0.2]])


def test_acceleration_of_a_point_is_bounded_by_the_better_of_two_rules() -> None:
    """Its majorant, or its value at the ends and what the fourth derivative adds: h²/8 (P⁗ + arm E⁗)."""
    width, acceleration = np.array([0.4, 0.2]), np.array([[1.0, 3.0, 2.0, 0.0], [0.0] * 4, [0.0] * 4])
    fixed = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [5.0, 5.0], [7.0, 7.0]])
    for first, expected in ((1e3, 3.0 + 0.02 * (11.0 + 0.5 * 7.0)), (1.0, 1.0 + 0.5 * 3.0)):
        known = {"fixed": fixed, "moved": np.array([[first, 1e3], [9.0, 9.0], [11.0, 11.0]])}
        link = LinkSpan(**{**dict.fromkeys(LinkSpan.__dataclass_fields__), **known})
        assert link.acceleration_bound(0.5, acceleration, width)[0] == pytest.approx(expected)


def test_links_are_as_far_apart_as_the_farther_end_of_the_rail() -> None:
    chain = Dynamics(slider()).chain
    curve = Curve((PolynomialPiece([0.0, 1.0], [[[-0.4, 1.6]]]),))  # −0.4 … 1.2
    spans = even_spans(curve, 4)
    np.testing.assert_allclose(distances(chain, spans.ranges)[0], np.hypot(0.3, [0.4, 0.4, 0.8, 1.2]))


def test_kinematics_are_kept_chain_by_chain() -> None:
    chains = [DynamicModel(robot).dynamics.chain for robot in (slider(), arm(np.zeros(10)))]
    spans = even_spans(sine(1.0, 2.0), 3)
    links = [spans.links(chain) for chain in chains]
    assert np.ptp(links[0][0].origin[1]) > 0.5 > np.ptp(links[1][0].origin[1])
    for chain, kept in zip(chains, links, strict=True):
        assert spans.links(chain) is kept


# -- torque ------------------------------------------------------------------------------------------------------------


def test_a_first_moment_without_a_mass_on_a_lift() -> None:
    """The lift accelerates upwards by 5 m/s²: τ = h (g + 5) cos q; what tightens the bound must see both, and not
    where the lift is: 20 m below at first."""
    inertia = np.array([0.0, 0.7, 0, 0, 0, 0, 0, 0, 0, 0])
    base = slider()
    hinge = replace(arm(inertia).joints[0], parent=0)
    robot = replace(base, joints=(*base.joints, hinge))
    model = DynamicModel(robot)
    curve = Curve((PolynomialPiece([0.0, 2 * np.pi / 1.5], [[[-20.0, 0.0, 2.5]], [[0.0, 1.5, 0.0]]]),))
    spans = even_spans(curve, COSINE)
    low, high = (side[1] for side in torque_range(model, model.nominal, spans))
    _, motion = inside(spans, curve, 51)
    truth = (0.7 * (9.81 + 5.0) * np.cos(1.5 * motion.time)).reshape(len(low), -1)
    assert (truth >= low[:, None] - 1e-9).all()
    assert (truth <= high[:, None] + 1e-9).all()
    ends = model.torque(spans.ends)[:, 1].reshape(-1, 2)
    assert ((ends.min(axis=1) - truth.min(axis=1)) / (ends.min(axis=1) - low)).max() > 0.85


@pytest.mark.parametrize("weight", [-40.0, -0.5, 40.0])
@pytest.mark.parametrize("term", [t.Viscous(), t.Coulomb()], ids=["smooth", "jumping"])
def test_parameters_below_zero_turn_the_range_around(term: t.Term, weight: float) -> None:
    """No real friction, but a published number may be one."""
    model, curve = DynamicModel(arm(np.zeros(10)), (term,)), sine(1.0, 2.0)
    spans = even_spans(curve, SINE)
    chi = np.append(np.zeros(10), weight)
    low, high = (side[0] for side in torque_range(model, chi, spans))
    _, motion = inside(spans, curve, 51)
    truth = (model.regressor(motion)[:, 0] @ chi).reshape(len(low), -1)
    assert (low <= truth.min(axis=1) + 1e-9).all()
    assert (high >= truth.max(axis=1) - 1e-9).all()
    assert (high - low <= 2.2 * np.abs(weight) * 2.0).all()


@dataclass(frozen=True)
class HalfSmooth:
    """A term of two entries, 3 on joint 1 and 5 on joint 2; the second bends sharply in the first interval."""

    names: tuple[str, ...] = ("smooth", "sharp")
    rows: tuple[tuple[int, int], ...] = ((0, 0), (1, 1))

    def curvature(self, rates: Array) -> Array:
        bends = np.full((2, rates.shape[2]), 2.0)
        bends[1, 0] = np.inf
        return bends

    def values(self, motion: Motion) -> Array:
        return np.repeat([[3.0], [5.0]], len(motion), axis=1)

    def value_range(self, ranges: Any, load: Any) -> tuple[Array, Array]:
        ones = np.ones((2, ranges.q_low.shape[1]))
        return 4.5 * ones, 6.0 * ones


def test_an_entry_that_bends_sharply_somewhere_enters_with_its_range_everywhere() -> None:
    """The others keep to their chords: 3 ± h²/8 · 2."""
    plain = DynamicModel(arm(*np.zeros((2, 10))))
    model = SimpleNamespace(
        robot=plain.robot, dynamics=plain.dynamics, n=2, inertial_size=20, term_columns=((HalfSmooth(), slice(20, 22)),)
    )
    spans = even_spans(Curve((PolynomialPiece([0.0, 1.0], [[[0.0, 1.0]], [[0.0, 1.0]]]),)), 2)
    low, high = torque_range(model, np.append(np.zeros(20), [1.0, 1.0]), spans)
    slack = 0.5**2 / 8 * 2.0
    np.testing.assert_allclose(low, [[3.0 - slack] * 2, [4.5] * 2])
    np.testing.assert_allclose(high, [[3.0 + slack] * 2, [6.0] * 2])


def test_bounds_leave_room_for_rounding() -> None:
    """A constant torque of −3 of 4 N·m, and distances of both signs: less by rounding, of one and of their own size."""
    robot = arm(np.zeros(10)).with_limits(torque=4.0)
    model = DynamicModel(robot, (t.Offset(),))
    limits = TorqueLimits(model, np.append(np.zeros(10), -3.0))
    bounds = limits.lower_bounds(even_spans(turn(1.0), 1))[:, 0]
    ratio = np.array([-0.75, 0.75])
    np.testing.assert_allclose((1.0 - ratio) - bounds, BOUND_ROUNDING * 1.75, rtol=1e-5)
    distance = np.array([-0.5, 0.0, 2.0])
    less = distance - rows_of(distance) * 0.1
    np.testing.assert_allclose(less, BOUND_ROUNDING * np.array([1.5, 1.0, 3.0]), rtol=1e-5)


# -- distances ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Away(Region):
    """At least 0.2 m from a point: neither convex nor known to the bounds."""

    centre: Array
    concave: ClassVar[bool] = False
    rows = (RowName("distance", "tool", "m", 0.0, ROW_LENGTH_M, False),)

    def distance(self, x: Array) -> Array:
        return (np.linalg.norm(x - self.centre[:, None], axis=0) - 0.2)[None]

    def gradient(self, x: Array) -> Array:
        raise NotImplementedError


def test_a_region_of_any_shape_is_approached_no_faster_than_the_point_moves() -> None:
    """Straight towards its centre and away from it the bound is the distance itself."""
    region = Away(slider(), "rail", np.array([0.3, 1.0, 0.0]))
    spans = even_spans(Curve((PolynomialPiece([0.0, 2.0], [[[-0.5, 1.0]]]),)), 4)  # passes by it at 1.5 s
    apart = region.values(spans.ends)[0].reshape(-1, 2).min(axis=1)
    np.testing.assert_allclose(region.lower_bounds(spans)[0], apart, atol=1e-7)


def test_the_distance_from_a_ball_is_exact_where_its_tangent_plane_is() -> None:
    """Passing by it is closest half-way; straight towards it the plane is passed at right angles."""
    passing = even_spans(Curve((PolynomialPiece([0.0, 1.0], [[[0.1, 1.0]]]),)), 1)
    aside = OutsideSphere(slider(), "rail", 0.2, (1.0, 0.6, 0.0))
    assert aside.lower_bounds(passing).item() == pytest.approx((0.7 - 0.2) / ROW_LENGTH_M, abs=1e-6)
    towards = even_spans(Curve((PolynomialPiece([0.0, 1.0], [[[-2.0, 1.0]]]),)), 1)
    before = OutsideSphere(slider(), "rail", 0.2, (0.3, 0.6, 0.0))
    assert before.lower_bounds(towards).item() == pytest.approx((1.6 - 0.2) / ROW_LENGTH_M, abs=1e-6)


def test_points_that_pass_each_other_are_as_close_as_half_way() -> None:
    """The planes at both ends are turned by 63° either way; their mean is the one that tells."""
    still, slack = np.zeros((2, 3, 2)), np.zeros((1, 2, 2, 1))
    moving = np.array([[-1.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    x = np.stack([np.stack([moving, moving]), still])[None]
    assert segments_apart(x, slack).item() == pytest.approx(0.5)
    slack[0, 0, 1], slack[0, 1, 0] = 0.1, 0.03  # only one end of each segment can be elsewhere
    assert segments_apart(x, slack).item() == pytest.approx(0.5 - 0.13)


def test_planes_between_the_ends_are_of_unit_length() -> None:
    """Or the one on the left, where those at the ends point against each other."""
    length = np.array([0.04, 0.06, 0.09, 0.11, 0.15, 0.25, 1.0, 1.9])
    half = np.arcsin(0.5 * length)
    left, right = (np.array([np.sin(half), sign * np.cos(half), 0.0 * half]) for sign in (1.0, -1.0))
    normal = np.stack([left, right], axis=2).reshape(3, -1)
    np.testing.assert_allclose(best_plane(normal, lambda n: np.linalg.norm(n, axis=0)), 1.0)
    np.testing.assert_allclose(best_plane(normal, lambda n: -np.linalg.norm(n, axis=0)), -1.0)
    np.testing.assert_allclose(best_plane(normal, lambda n: n[0]), np.where(length > 0.1, 1.0, np.sin(half)))
    np.testing.assert_allclose(best_plane(normal, lambda n: n[1]), np.cos(half))
    np.testing.assert_allclose(best_plane(normal, lambda n: -n[1]), np.cos(half))


@dataclass(frozen=True)
class Ball:
    """About the origin, 0.2 m; measures the start of a segment, and does not say how far it reaches."""

    name: str = "ball"
    against: None = None

    def touch(self, start: Array, end: Array) -> Touch:
        distance = np.linalg.norm(start, axis=0)
        return distance - 0.2, start, start / distance

    def reach(self, normal: Array) -> float:
        return np.inf


def test_an_obstacle_of_any_shape_is_approached_no_faster_than_both_ends_move() -> None:
    start = np.array([[1.0, 0.7], [0.0, 0.0], [0.0, 0.0]])
    x, slack = np.stack([start, start]), np.array([[0.01], [0.04]])
    assert obstacle_apart(Ball(), x, slack).item() == pytest.approx(0.5 - 0.04)
    x = np.stack([start, start + np.array([[0.0, -0.1], [0.0, 0.0], [0.0, 0.0]])])  # the end moves by 0.1 m more
    assert obstacle_apart(Ball(), x, slack).item() == pytest.approx(0.5 * (0.8 + 0.5 - 0.4) - 0.04)


@pytest.mark.parametrize("face", range(6))
def test_a_segment_that_slides_along_a_face_stays_as_far_from_it(face: int) -> None:
    """A box of any placement, and a wall; by 1 m, so that nothing but the plane of the face can tell."""
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    size, centre = np.array([0.6, 0.8, 1.0]), np.array([0.3, -0.2, 0.5])
    normal = np.concatenate([rotation, -rotation], axis=1)[:, face]
    along, across = rotation[:, (face + 1) % 3], rotation[:, (face + 2) % 3]
    begin = centre + normal * (0.5 * size[face % 3] + 0.25) - 0.05 * across
    start = np.stack([begin - 0.2 * along, begin + 0.2 * along], axis=1)
    x = np.stack([start, start + (0.1 * across + 0.02 * normal)[:, None]])
    slack = np.array([[0.01], [0.02]])
    block = Block("box", centre, size, rotation)
    wall = Wall("wall", 2.0 * normal, 2.0 * (normal @ centre + 0.5 * size[face % 3]))
    assert obstacle_apart(block, x, slack).item() == pytest.approx(0.25 - 0.01)
    assert obstacle_apart(wall, x, slack).item() == pytest.approx(0.25 - 0.01)
    slack = np.array([[0.01], [0.05]])  # then the end is the one that may come closer
    assert obstacle_apart(wall, x, slack).item() == pytest.approx(0.27 - 0.05)


def test_bodies_reach_as_far_as_their_farthest_shape() -> None:
    def shape(centre: list[float], radius: float) -> Any:
        return SimpleNamespace(computeLocalAABB=lambda: None, aabb_center=np.array(centre), aabb_radius=radius)

    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    geometries = [
        (0, shape([3.0, 0.0, 0.0], 0.5), quarter, np.array([0.0, 1.0, 0.0])),  # 4 m along y
        (0, shape([0.0, 0.0, 0.0], 0.1), np.eye(3), np.zeros(3)),
        (1, shape([1.0, 0.0, 0.0], 0.1), np.eye(3), np.array([-1.0, 0.0, 0.0])),
    ]
    assert body_radii(geometries) == pytest.approx({0: 4.5, 1: 0.1})


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("tilt", [-0.6, 0.0, 0.6])
def test_bodies_approach_no_faster_than_joints_turn_between_the_ends(sign: float, tilt: float) -> None:
    """q̇ = 2 + tilt t − 6 t² about the middle: where nothing better is known, its chord and h²/8 · 12."""
    robot, width = arm(np.zeros(10)), 0.5
    chain = Dynamics(robot).chain
    middle = np.polynomial.Polynomial([-0.5 * width, 1.0])
    speed = sign * np.polynomial.Polynomial([2.0, tilt, -6.0])(middle)
    spans = even_spans(Curve((PolynomialPiece([0.0, width], [[speed.integ().coef]]),)), 1)
    radius = {0: 1.5, -1: 0.0}
    peak = 2.0 + tilt**2 / 24.0
    chord = 2.0 - 6.0 * (0.5 * width) ** 2 + abs(tilt) * 0.5 * width
    vague = replace(spans, rates=spans.rates * np.array([10.0, 1.0, 1.0, 1.0])[:, None, None])
    for a, b in ((-1, 0), (0, -1)):
        assert 1.5 * peak - 1e-9 <= approach(robot, chain, a, b, radius, spans).item() <= 1.5 * (peak + abs(tilt))
        found = approach(robot, chain, a, b, radius, vague).item()
        assert found == pytest.approx(1.5 * (chord + width**2 / 8 * 12.0))


def test_only_joints_between_two_bodies_let_them_approach() -> None:
    """Of one arm and of two: all joints of the one, and all of the other, but not those that carry both."""
    robot = arm(*np.zeros((3, 10)))
    chain, radius = Dynamics(robot).chain, {-1: 0.0, 0: 0.2, 1: 0.3, 2: 0.4}
    curve = Curve((PolynomialPiece([0.0, 1.0], [[[0.0, 1.0]], [[0.0, 2.0]], [[0.0, 4.0]]]),))
    spans = even_spans(curve, 1)
    for a, b, expected in (
        (2, 0, 4.0 * 0.4 + 2.0 * 1.4),
        (0, 2, 4.0 * 0.4 + 2.0 * 1.4),
        (2, 1, 4.0 * 0.4),
        (-1, 2, 4.0 * 0.4 + 2.0 * 1.4 + 1.0 * 2.4),
    ):
        assert approach(robot, chain, a, b, radius, spans).item() == pytest.approx(expected)
    forked = replace(robot, joints=(robot.joints[0], robot.joints[1], replace(robot.joints[2], parent=0)))
    apart = approach(forked, Dynamics(forked).chain, 1, 2, radius, spans).item()
    assert apart == pytest.approx(2.0 * 0.3 + 4.0 * 0.4)


def test_distances_of_general_shapes_are_trusted_to_a_micrometre() -> None:
    places = {-1: [3.0, 0.0, 0.0], 0: [1.0, 0.0, 0.0]}
    balls = tuple(Shape("sphere", joint, (0.05,), np.eye(3), place) for joint, place in places.items())
    constraint = MeshDistance(replace(arm(np.zeros(10)), shapes=balls), pairs=[("base", "j1")])
    spans = even_spans(Curve((PolynomialPiece([0.0, 1.0], [[[0.2, 0.0]]]),)), 2)  # at rest
    less = constraint.values(spans.left) - constraint.lower_bounds(spans)
    np.testing.assert_allclose(less, MESH_DISTANCE_ACCURACY_M / ROW_LENGTH_M, rtol=1e-6)
