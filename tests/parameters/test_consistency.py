"""Physical consistency and log-Cholesky coordinates: bodies that exist, and numbers that no body has."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.errors import ParameterError
from exciter.parameters import conventions
from exciter.parameters.consistency import consistency, consistency_margin, dummies, link_consistency
from exciter.parameters.inertial import from_mass_com_inertia, mass_com_inertia
from exciter.robot import embedded_robots as embedded
from exciter.robot.spatial import axis_rotation, pseudo_inertia, transform_inertia

SEEDS = st.integers(0, 10_000)
MANY = settings(derandomize=True, deadline=None, max_examples=40)


def cloud(seed: int, count: int | None = None) -> np.ndarray:
    """φ of random point masses: physical by construction; at least four of them span a volume."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 12)) if count is None else count
    points = rng.normal(size=(count, 3)) * rng.uniform(0.02, 1.0) + rng.normal(size=3) * rng.uniform(0, 2)
    phi = np.zeros(10)
    for mass, p in zip(rng.uniform(0.1, 5.0, count), points, strict=True):
        phi += from_mass_com_inertia(mass, p, np.zeros((3, 3)))
    return phi


def triangle_body(moments: tuple[float, float, float], com: object = (0.1, -0.3, 0.2), mass: float = 2.0) -> np.ndarray:
    axes = axis_rotation([0.6, 0.0, 0.8], 0.7)
    return from_mass_com_inertia(mass, com, axes @ np.diag(moments) @ axes.T)  # type: ignore[arg-type]


@MANY
@given(SEEDS)
def test_point_masses_are_consistent(seed: int) -> None:
    verdict = link_consistency(cloud(seed))
    assert verdict.consistent
    assert verdict.margin > 0
    assert "physically consistent" in str(verdict)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_points_rods_and_plates_are_on_the_boundary(count: int) -> None:
    verdict = link_consistency(cloud(3, count))
    assert verdict.consistent
    assert abs(verdict.margin) < 1e-12
    assert link_consistency(np.zeros(10)).consistent  # a body that is not there


@MANY
@given(SEEDS, st.floats(-4, 4), st.floats(-3, 3))
def test_margin_does_not_depend_on_units(seed: int, mass_exponent: float, length_exponent: float) -> None:
    phi = cloud(seed) - np.random.default_rng(seed).integers(0, 2) * 1.2 * cloud(seed, 2)
    length, mass = 10.0**length_exponent, 10.0**mass_exponent
    scaled = phi * mass * np.array([1, *[length] * 3, *[length**2] * 6])
    np.testing.assert_allclose(consistency_margin(scaled), consistency_margin(phi), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("phi", [[0, 0.1, 0, 0, 1, 0, 1, 0, 0, 1], [0, 0.1, 0, 0, *[0] * 6], [1, 3, 0, 0, *[0] * 6]])
def test_margin_of_degenerate_numbers_does_not_depend_on_units(phi: list[float], scale: float) -> None:
    assert consistency_margin(phi) < -0.3
    np.testing.assert_allclose(consistency_margin(scale * np.array(phi)), consistency_margin(phi), rtol=1e-9)


@MANY
@given(SEEDS, st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(-0.5, 0.5))
def test_verdict_equals_the_textbook_conditions(seed: int, a: float, b: float, excess: float) -> None:
    """Mass > 0 and triangle inequality about the centre of mass, seen from any frame."""
    largest = a + b + excess * min(a, b)
    phi = triangle_body((a, b, largest))
    rng = np.random.default_rng(seed)
    phi = transform_inertia(phi, axis_rotation([0, 1, 0], rng.uniform(-3, 3)), rng.uniform(-0.2, 0.2, 3))
    if abs(excess) < 1e-3:
        return
    assert link_consistency(phi).consistent == (excess < 0)
    assert (consistency_margin(phi) > 0) == (excess < 0)
    assert (np.linalg.eigvalsh(pseudo_inertia(phi))[0] >= 0) == (excess < 0)


@pytest.mark.parametrize(
    ("phi", "words"),
    [
        (triangle_body((1.0, 1.0, 2.5)), "triangle inequality violated"),
        (triangle_body((0.1, 0.1, 0.1), mass=-1.0), "negative mass"),
        (triangle_body((-0.2, 0.1, 0.1)), "negative moment of inertia"),
        ([0, 0.1, 0, 0, 1, 0, 1, 0, 0, 1], "mass is zero but the first moments"),
        ([0, 0.1, 0, 0, 0, 0, 0, 0, 0, 0], "mass is zero but the first moments"),
        ([0, 0, 0, 0, 1, 0, 1, 0, 0, 3], "mass is zero and the moments"),
        ([1, 3, 0, 0, 1, 0, 1, 0, 0, 1], "centre of mass .* too far out"),
        ([2, 1, 0, 0, 0, 0, 0, 0, 0, 0], "negative moment of inertia"),
        ([5e-324, 0.1, 0, 0, 1, 0, 1, 0, 0, 1], r"mass is 4.941e-324 kg but the first moments are \(0.1, 0, 0\)"),
        ([5e-324, 1e30, 0, 0, 0, 0, 0, 0, 0, 0], "mass is 4.941e-324 kg but the first moments"),
    ],
)
def test_reasons_in_words(phi: object, words: str) -> None:
    verdict = link_consistency(phi, "forearm")  # type: ignore[arg-type]
    assert not verdict.consistent
    assert verdict.margin < 0
    assert re.search(words, str(verdict))
    assert str(verdict).startswith("forearm: ")


SIZES = (0.0, 1e-100, 1e-30, 1.0, 1e30)  # the last is the largest number of a robot


@pytest.mark.parametrize("mass", [*SIZES, 5e-324])
@pytest.mark.parametrize("first", SIZES)
@pytest.mark.parametrize("second", SIZES)
def test_bodies_of_any_size_are_judged_as_by_exact_arithmetic(mass: float, first: float, second: float) -> None:
    """∫ x xᵀ dm = second · 1 and one first moment: a body exactly when first² ≤ mass · second."""
    phi = np.array([mass, first, 0, 0, 2 * second, 0, 2 * second, 0, 0, 2 * second])
    verdict = link_consistency(phi)
    assert verdict.consistent == (Fraction(first) ** 2 <= Fraction(mass) * Fraction(second) * (1 + Fraction(1, 10**9)))
    assert abs(verdict.margin) <= 1.0 + 1e-12


@pytest.mark.parametrize("mass", [5e-324, -5e-324, 1e-300])
def test_a_centre_of_mass_beyond_all_numbers_is_refused_in_one_line(mass: float) -> None:
    phi = np.array([mass, 0.1, 0, 0, 1, 0, 1, 0, 0, 1])
    with pytest.raises(ParameterError, match=r"first moments are up to 0\.1 kg·m, .* give a mass that fits"):
        mass_com_inertia(phi)
    one = embedded.robot("gautier-khalil")
    described = [phi if mass > 0 else -phi, *one.inertias[1:]]
    assert dummies(one.with_inertias(described)) == ""
    assert "fits its first moments" in dummies(one.with_inertias([described[0]] * one.n))


def test_robot_is_as_good_as_its_worst_link() -> None:
    good, bad = cloud(1), triangle_body((1.0, 1.0, 2.5))
    verdict = consistency([good, bad, good], names=["a", "b", "c"])
    assert not verdict.consistent
    assert [link.consistent for link in verdict.links] == [True, False, True]
    assert verdict.margin == consistency_margin(bad)
    assert "b: triangle" in str(verdict)
    assert consistency([good, good]).consistent
    assert consistency([good]).links[0].name == "link 1"


def test_tolerance_decides_near_the_boundary() -> None:
    phi = triangle_body((1.0, 1.0, 2.0 + 1e-6))
    assert not link_consistency(phi).consistent
    assert link_consistency(phi, tolerance=1e-5).consistent


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ParameterError, match="one link"):
        link_consistency(np.zeros((2, 10)))
    with pytest.raises(ParameterError, match=r"\(n, 10\)"):
        consistency(np.zeros(10))
    with pytest.raises(ParameterError, match=r"2 names .* 1 links"):
        consistency(np.zeros((1, 10)), names=["a", "b"])


# -- log-Cholesky ----------------------------------------------------------------------------------------


@MANY
@given(SEEDS)
def test_any_theta_is_a_physical_body_and_comes_back(seed: int) -> None:
    theta = np.random.default_rng(seed).uniform(-1.5, 1.5, 10)
    phi = conventions.from_log_cholesky(theta)
    assert np.linalg.eigvalsh(pseudo_inertia(phi))[0] > 0
    np.testing.assert_allclose(conventions.to_log_cholesky(phi), theta, atol=1e-8)
    mass, com, _ = mass_com_inertia(phi)
    np.testing.assert_allclose(mass, np.exp(2 * theta[0]))
    np.testing.assert_allclose(com, theta[7:], atol=1e-12)


@MANY
@given(SEEDS)
def test_any_physical_body_has_a_theta(seed: int) -> None:
    phi = cloud(seed)
    np.testing.assert_allclose(
        conventions.from_log_cholesky(conventions.to_log_cholesky(phi)), phi, rtol=1e-10, atol=1e-12
    )


def test_published_expansion() -> None:
    """φ written out by hand from J = U Uᵀ."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta = np.random.default_rng(4).normal(size=10)
    e = np.exp
    sxx = s12**2 + s13**2 + t1**2 + e(2 * d1)
    syy = s23**2 + t2**2 + e(2 * d2)
    szz = t3**2 + e(2 * d3)
    xy, xz, yz = -s12 * e(d2) - s13 * s23 - t1 * t2, -s13 * e(d3) - t1 * t3, -s23 * e(d3) - t2 * t3
    expected = e(2 * a) * np.array([1, t1, t2, t3, syy + szz, xy, sxx + szz, xz, yz, sxx + syy])
    np.testing.assert_allclose(conventions.from_log_cholesky(theta), expected, rtol=1e-12)


@MANY
@given(SEEDS)
def test_jacobian_against_finite_differences(seed: int) -> None:
    theta = np.random.default_rng(seed).uniform(-1.0, 1.0, 10)
    step = 1e-6
    numeric = np.stack(
        [
            (conventions.from_log_cholesky(theta + d) - conventions.from_log_cholesky(theta - d)) / (2 * step)
            for d in step * np.eye(10)
        ],
        axis=1,
    )
    exact = conventions.log_cholesky_jacobian(theta)
    np.testing.assert_allclose(exact, numeric, atol=1e-8 * np.abs(exact).max())
    assert np.linalg.matrix_rank(exact) == 10  # a local bijection


def test_whole_robots_at_once() -> None:
    theta = np.random.default_rng(0).normal(size=(5, 10))
    phi, jacobian = conventions.from_log_cholesky(theta), conventions.log_cholesky_jacobian(theta)
    assert jacobian.shape == (5, 10, 10)
    for i in range(5):
        np.testing.assert_allclose(phi[i], conventions.from_log_cholesky(theta[i]))
        np.testing.assert_allclose(jacobian[i], conventions.log_cholesky_jacobian(theta[i]))
    np.testing.assert_allclose(conventions.to_log_cholesky(phi), theta, atol=1e-8)


@pytest.mark.parametrize("phi", [np.zeros(10), triangle_body((1.0, 1.0, 2.5)), -cloud(2)])
def test_no_coordinates_for_what_is_not_a_body(phi: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="not strictly physical"):
        conventions.to_log_cholesky(phi)
