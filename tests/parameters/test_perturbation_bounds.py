"""The bounds (11)–(13): attained by the paper's own example, never broken by errors of any kind."""

from __future__ import annotations

import numpy as np
import pytest

from exciter.errors import ParameterError
from exciter.parameters.perturbation_bounds import PerturbationBounds, norm_2

TRIALS = 300


def system(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W of condition 60 or so, X, and ρ orthogonal to W."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((rows, 5)) * np.array([1.0, 3.0, 0.1, 10.0, 1.0])
    left = rng.standard_normal(rows)
    return w, rng.standard_normal(5), 0.3 * (left - w @ np.linalg.lstsq(w, left)[0])


def solved(w: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(w, y)[0]


@pytest.mark.parametrize("rows", [5, 40])
def test_no_errors_of_y_and_w_carry_the_solution_further_than_the_bound(rows: int) -> None:
    w, x, rho = system(rows)
    y, rng, closest = w @ x + rho, np.random.default_rng(1), np.zeros(3)
    for trial in range(TRIALS):
        dy, dw = rng.standard_normal(rows), rng.standard_normal(w.shape)
        if trial % 3 == 0:  # the direction that is felt most
            dy = np.linalg.svd(w)[0][:, 4] + 1e-3 * dy
        dw *= 10.0 ** rng.uniform(-5, -2.5) / np.linalg.norm(dw, 2)
        found = PerturbationBounds.of(w, x, np.linalg.norm(dy), np.linalg.norm(dw, 2), np.linalg.norm(rho))
        assert found is not None
        changes = [solved(w, y + dy), solved(w + dw, y), solved(w + dw, y + dy)]
        sizes = [np.linalg.norm(one - x) / np.linalg.norm(x) for one in changes]
        share = np.array(sizes) / [found.by_dy, found.by_dw, found.by_both]
        assert (share <= 1.0 + 1e-9).all()
        closest = np.maximum(closest, share)
    assert closest[0] > 0.99  # (12) is attained
    assert closest[1] > (0.1 if rows == 5 else 0.03)  # W's errors are by chance: the worst of them were not drawn


@pytest.mark.parametrize("rows", [5, 40])
def test_the_bound_of_errors_of_w_is_attained(rows: int) -> None:
    """δW that takes from the smallest singular value, X in its direction, and δY along it."""
    w = system(rows)[0]
    u, singular, vt = np.linalg.svd(w, full_matrices=False)
    x, size = vt[-1], 0.3 * singular[-1]
    dw, dy = -size * np.outer(u[:, -1], vt[-1]), 0.2 * u[:, -1]
    found = PerturbationBounds.of(w, x, 0.2, size)
    assert found is not None
    assert np.linalg.norm(solved(w + dw, w @ x) - x) == pytest.approx(found.by_dw, rel=1e-9)
    assert np.linalg.norm(solved(w + dw, w @ x + dy) - x) == pytest.approx(found.by_both, rel=1e-9)


def test_the_bound_is_that_of_the_paper_on_its_example() -> None:
    """Appendix, example 1: the bound there is in the 1-norm and attained; in the 2-norm it is nearly so."""
    a, y, dy = np.array([[4.1, 2.8], [9.7, 6.6]]), np.array([4.1, 9.7]), np.array([0.01, 0.0])
    assert np.linalg.cond(a, 1) == pytest.approx(2249.4)
    x = np.linalg.solve(a, y)
    moved = np.linalg.norm(np.linalg.solve(a, dy)) / np.linalg.norm(x)
    found = PerturbationBounds.of(a, x, np.linalg.norm(dy))
    assert found is not None
    assert found.condition_number == pytest.approx(np.linalg.cond(a))
    assert found.dy == pytest.approx(np.linalg.norm(dy) / np.linalg.norm(y))
    assert moved <= found.by_dy <= found.condition_number * found.dy * (1.0 + 1e-12)
    assert moved > 0.9 * found.by_dy
    assert (found.dw, found.by_dw, found.by_both) == (None, None, None)


def test_noise_by_chance_makes_what_is_expected_and_far_less_than_the_bound() -> None:
    w, x, _ = system(200)
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((2000, 200))
    errors = noise @ np.linalg.pinv(w).T
    found = PerturbationBounds.of(w, x, np.sqrt(200.0))
    assert found is not None
    rms = np.sqrt((errors**2).sum(axis=1).mean()) / np.linalg.norm(x)
    assert rms == pytest.approx(found.expected, rel=0.05)
    assert rms < 0.2 * found.by_dy


def test_where_no_bound_exists_there_is_none() -> None:
    w, x, _ = system(5)
    large = PerturbationBounds.of(w, x, 0.1, np.linalg.norm(w, 2))
    assert large is not None
    assert (large.by_dw, large.by_both) == (None, None)
    assert "no bound" in large.sentence
    w[:, 1] = w[:, 0]
    w[1:] = 0.0
    assert PerturbationBounds.of(w, x, 0.1) is None
    assert PerturbationBounds.of(np.eye(5), np.zeros(5), 0.1) is None
    assert PerturbationBounds.of(np.eye(5), x, np.nan) is None
    with pytest.raises(ParameterError, match="one column for each"):
        PerturbationBounds.of(np.eye(4), x, 0.1)


@pytest.mark.parametrize("larger", [0, 1])
def test_the_norm_of_limbs_is_that_of_all_rows(larger):
    rng = np.random.default_rng(larger)
    w = np.zeros((40, 7))
    w[:20, [0, 2, 5]], w[20:, [1, 3]] = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    w[20 * larger : 20 * larger + 20] *= 10.0
    assert norm_2(w) == pytest.approx(np.linalg.svd(w)[1][0], rel=1e-12)
    assert norm_2(np.zeros((3, 2))) == 0.0
