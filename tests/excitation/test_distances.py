"""Distances in closed form and by brute force: segments, boxes, cylinders, bodies; and bounds along straight ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.excitation.constraints.collision import Block, Round, Wall, vector
from exciter.excitation.constraints.constraint import ROW_LENGTH_M, UserConstraint
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.segments import closest_points
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import (
    Box,
    HalfSpace,
    InsideCylinder,
    InsideSphere,
    OutsideCylinder,
)
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.robot import Motion
from exciter.robot.geometry import Shape
from support.certificate_arms import arm, slider
from support.certificates import even_spans
from support.robots import random_rotation

Array = np.ndarray


def check_closest(first: Array, second: Array, expected: Array, atol: float) -> None:
    """Segments (2, 3, N): the distance, and points on both that have it."""
    distance, at, on, normal = closest_points(first, second)
    np.testing.assert_allclose(distance, expected, atol=atol)
    np.testing.assert_allclose(np.linalg.norm(at - on, axis=0), distance, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=0), 1.0)
    for point, (start, end) in ((at, first), (on, second)):
        along = np.linalg.norm(point - start, axis=0) + np.linalg.norm(point - end, axis=0)
        np.testing.assert_allclose(along, np.linalg.norm(end - start, axis=0), atol=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-9, 1e-6])
def test_segments_that_are_parallel_or_nearly_so(tilt: float) -> None:
    """Also points; beside each other, one behind the other, in either direction, anywhere in space."""
    rng, count = np.random.default_rng(1), 400
    lengths = rng.uniform(0.1, 1.0, (2, count)) * (rng.random((2, count)) > 0.15)
    shift, aside = rng.uniform(-2.0, 2.0, count), rng.uniform(0.05, 1.0, count)
    sign = rng.choice([-1.0, 1.0], count)
    zero = np.zeros(count)
    first = np.array([[zero, zero, zero], [lengths[0], zero, zero]])
    second = np.array([[shift, aside, zero], [shift + sign * lengths[1], aside, tilt * lengths[1]]])
    low, high = np.minimum(shift, shift + sign * lengths[1]), np.maximum(shift, shift + sign * lengths[1])
    gap = np.maximum(0.0, np.maximum(low - lengths[0], -high))
    turn, place = random_rotation(rng), rng.standard_normal((3, 1))
    check_closest(turn @ first + place, turn @ second + place, np.hypot(gap, aside), 2.0 * tilt + 1e-12)


def test_segments_anywhere_by_brute_force() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.uniform(-1.0, 1.0, (2, 2, 3, 300))
    s = np.linspace(0.0, 1.0, 101)
    points = [x[0] + s[:, None, None] * (x[1] - x[0]) for x in (first, second)]
    least = np.min([np.linalg.norm(points[1] - one, axis=1).min(axis=0) for one in points[0]], axis=0)
    found = closest_points(first, second)[0]
    assert (found <= least + 1e-12).all()
    np.testing.assert_allclose(found, least, atol=0.02)
    check_closest(first, second, found, 1e-12)


def test_segments_that_touch_have_a_direction_across_both() -> None:
    x, y, z = np.eye(3)[:, :, None]
    distance, _, _, crossing = closest_points((-x, x), (-0.1 * y, 0.1 * y))
    assert distance.item() == 0.0
    assert abs(crossing[2].item()) == pytest.approx(1.0)
    *_, on_a_line = closest_points((-x, x), (0.5 * x, 2.0 * x))
    np.testing.assert_allclose(on_a_line, z)


def test_boxes_and_segments_by_brute_force() -> None:
    """Any segment, those along an axis, and points; outside the distance, inside the shortest way out of a face."""
    rng = np.random.default_rng(3)
    size, centre, rotation = np.array([0.6, 1.0, 0.4]), np.array([0.2, -0.1, 0.3]), random_rotation(rng)
    start, end = rng.uniform(-1.5, 1.5, (2, 3, 600))
    end[:, :100] = start[:, :100]
    end[0, 100:200], end[1, 200:300], end[1:, 300:400] = start[0, 100:200], start[1, 200:300], start[1:, 300:400]
    placed = [rotation @ x + centre[:, None] for x in (start, end)]
    distance, point, normal = Block("box", centre, size, rotation).touch(*placed)
    s = np.linspace(0.0, 1.0, 401)[:, None, None]
    on = start + s * (end - start)
    away = np.linalg.norm(np.maximum(np.abs(on) - 0.5 * size[:, None], 0.0), axis=1)
    outside = away.min(axis=0) > 0.01
    step = np.linalg.norm(end - start, axis=0) / 400
    assert outside.sum() > 200
    assert (distance <= away.min(axis=0) + 1e-12)[outside].all()
    assert (distance >= away.min(axis=0) - step - 1e-12)[outside].all()
    np.testing.assert_allclose(np.linalg.norm(normal, axis=0), 1.0)
    behind = point - distance * normal  # on the box, where it is outside
    own = rotation.T @ (behind - centre[:, None])
    surface = np.max(np.abs(own) - 0.5 * size[:, None], axis=0)
    np.testing.assert_allclose(surface[outside], 0.0, atol=1e-9)


@pytest.mark.parametrize("face", range(6))
def test_a_segment_inside_a_box_leaves_it_by_the_nearest_face(face: int) -> None:
    size = np.array([0.6, 1.0, 0.8])
    normal = np.concatenate([np.eye(3), -np.eye(3)])[face]
    axis, other = face % 3, np.eye(3)[(face + 1) % 3]
    near, deep = normal * (0.5 * size[axis] - 0.02), normal * (0.5 * size[axis] - 0.05) + 0.01 * other
    for start, end in ((near, deep), (deep, near)):
        distance, point, out = Block("box", np.zeros(3), size).touch(start[:, None], end[:, None])
        assert distance.item() == pytest.approx(-0.05)
        np.testing.assert_allclose(out[:, 0], normal)
        np.testing.assert_allclose(point[:, 0], deep)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (-0.6, 0.0, 0.8)])
def test_a_cylinder_between_two_heights(axis: tuple[float, float, float]) -> None:
    """Beside it, above it, below it, beside an edge and inside; gradients by differences."""
    across = np.cross(axis, [0.48, 0.36, 0.8])
    across = across / np.linalg.norm(across)
    point = np.array([0.1, 0.2, 0.3])
    cylinder = OutsideCylinder(slider(), "rail", 0.5, point, axis, -0.4, 0.7)
    cases = {
        (0.9, 0.0): 0.4, (0.2, 1.0): 0.3, (0.1, -1.0): 0.6, (0.8, 1.1): 0.5, (0.8, -0.8): 0.5,
        (0.3, 0.1): -0.2, (0.1, 0.6): -0.1, (0.1, -0.3): -0.1,
    }  # fmt: skip
    for (out, along), expected in cases.items():
        x = (point + out * across + along * np.array(axis))[:, None]
        assert cylinder.distance(x).item() == pytest.approx(expected)
        slope = [
            (cylinder.distance(x + h) - cylinder.distance(x - h)).item() / 2e-6 for h in 1e-6 * np.eye(3)[:, :, None]
        ]
        np.testing.assert_allclose(cylinder.gradient(x)[0, :, 0], slope, atol=1e-6)


def test_what_a_way_passes_is_seen_between_its_ends() -> None:
    """Regions that are not convex: a cylinder passed by, above and below, its ends being far."""
    way = even_spans(Curve((PolynomialPiece([0.0, 1.0], [[[-1.0, 2.0]]]),)), 1)  # x = 0.3, y from −1 to 1
    for cylinder, least in (
        (OutsideCylinder(slider(), "rail", 0.2, (0.0, 0.0, 0.0)), 0.1),
        (OutsideCylinder(slider(), "rail", 0.5, (0.0, 0.0, 0.0), upper=-0.1), 0.1),
        (OutsideCylinder(slider(), "rail", 0.5, (0.0, 0.0, 0.0), lower=0.2), 0.2),
    ):
        time = np.linspace(0.0, 1.0, 201)
        motion = Motion(time, 2.0 * time[:, None] - 1.0, 0 * time[:, None] + 2.0, 0 * time[:, None])
        assert ROW_LENGTH_M * cylinder.values(motion).min() == pytest.approx(least, abs=1e-3)
        assert (cylinder.lower_bounds(way).item() <= cylinder.values(motion)).all()


def test_convex_regions_are_as_far_as_the_nearer_end() -> None:
    way = even_spans(Curve((PolynomialPiece([0.0, 1.0], [[[-1.0, 1.5]]]),)), 3)
    for region in (
        HalfSpace(slider(), "rail", (0.6, 0.8, 0.0), -2.0),
        Box(slider(), "rail", (-2.0, -2.0, -2.0), (2.0, 2.0, 2.0)),
        InsideSphere(slider(), "rail", 3.0),
        InsideCylinder(slider(), "rail", 3.0),
    ):
        ends = region.values(way.ends)
        np.testing.assert_allclose(region.lower_bounds(way), np.minimum(ends[:, 0::2], ends[:, 1::2]), atol=1e-6)


def test_the_clearance_of_bodies_is_kept_free() -> None:
    places = {-1: [3.0, 0.5, 0.0], 0: [1.0, 0.0, 0.0]}
    balls = tuple(Shape("sphere", joint, (0.05,), np.eye(3), place) for joint, place in places.items())
    robot = replace(arm(np.zeros(10)), shapes=balls)
    motion = Motion.at(np.array([[0.0], [0.3]]), np.zeros((2, 1)), np.zeros((2, 1)))
    apart = np.hypot(3.0 - np.cos([0.0, 0.3]), 0.5 - np.sin([0.0, 0.3])) - 0.1
    bare, kept = (MeshDistance(robot, pairs=[("base", "j1")], clearance=c) for c in (0.0, 0.3))
    np.testing.assert_allclose(bare.values(motion)[0], apart / ROW_LENGTH_M, rtol=1e-6)
    np.testing.assert_allclose(kept.values(motion)[0], (apart - 0.3) / ROW_LENGTH_M, rtol=1e-6)
    np.testing.assert_allclose(kept.linearised(motion).values, kept.values(motion), rtol=1e-6)
    assert not kept.rows[0].upper
    for clearance in (-0.1, np.inf, np.nan):
        with pytest.raises(ParameterError, match="clearance"):
            MeshDistance(robot, pairs=[("base", "j1")], clearance=clearance)


def test_what_cannot_be_a_limit_is_refused() -> None:
    robot = arm(*np.zeros((2, 10)))
    model = DynamicModel(robot.with_limits(torque=[0.5, 0.1]))
    assert TorqueLimits(model, margin=0.9).limit.tolist() == pytest.approx([0.05, 0.01])
    with pytest.raises(ParameterError, match="finite"):
        TorqueLimits(model, np.append(np.zeros(len(model.standard) - 1), np.nan))
    for values in ([1.0, np.nan, 0.0], [np.inf, 0.0, 0.0], [1.0, 2.0], "north", None):
        with pytest.raises(ParameterError, match="three finite numbers"):
            vector(values, "x")
    for radius in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="radius"):
            Round("ball", np.zeros(3), np.zeros(3), radius)
        with pytest.raises(ParameterError, match="radius"):
            OutsideCylinder(slider(), "rail", radius)
    with pytest.raises(ParameterError, match="offset"):
        Wall("wall", np.array([0.0, 0.0, 1.0]), np.nan)
    for constraint in (
        UserConstraint("nan", lambda m: np.where(np.arange(len(m)) == 1, np.nan, 1.0)[None]),
        UserConstraint("infinite", lambda m: np.where(np.arange(len(m)) == 1, np.inf, 1.0)[None]),
        UserConstraint("word", lambda m: "far"),
    ):
        with pytest.raises(ParameterError, match=constraint.name):
            constraint.values(Motion.at(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1))))
