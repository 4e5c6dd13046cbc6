"""Every part of a bound alone, where it is all there is: a bound that is too small is then below the truth, one that is
twice too large is far from it. Along motions of whole arms neither shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.rigid_torque import Body
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.certificate.torque_bound import torque_range
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier_piece import FourierPiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.parameters import terms as t
from exciter.robot import Joint, Limits, Robot
from exciter.robot.geometry import Shape
from test_certificate import even_spans, inside

Array = np.ndarray
SINE, COSINE = 10, 11  #: equal intervals of a period, one of them with a peak in its middle, where bounds are reached


def arm(*inertias: Array) -> Robot:
    """Links of 1 m in the vertical plane xy, straight along x where q = 0."""
    joints = tuple(
        Joint(f"j{i + 1}", "revolute", i - 1, np.eye(3), [float(i > 0), 0, 0], [0, 0, 1.0], Limits(-9, 9, 99, 999), phi)
        for i, phi in enumerate(inertias)
    )
    return Robot("plane", joints, gravity=np.array([0.0, -9.81, 0.0]))


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


@pytest.mark.parametrize("moments", [(0.0, 1.0, 1.0), (-1.0, 0.3, 1.0)])
def test_an_uneven_inertia_alone(moments: tuple[float, float, float]) -> None:
    """About the axis of its largest moment, by angles so small that the body hardly turns: τ = I_zz q̈. Half of that is
    the spread for a rod, all of it for an inertia of no real body."""
    xx, yy, zz = moments
    inertia = np.array([0.0, 0, 0, 0, xx, 0, yy, 0, 0, zz])
    assert Body.of(inertia).spread == pytest.approx(0.5 * (zz - xx))
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
