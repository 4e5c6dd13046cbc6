"""The noise of section 6.3: equations are perturbed on the right, on the left or on both sides, and solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.identification.information import Information
from exciter.reproduction.gautier_khalil.point_sequences import Sequences, true_parameters
from exciter.reproduction.gautier_khalil.printed import data
from exciter.reproduction.gautier_khalil.sequences import robot_model
from exciter.typing import Array


@dataclass(frozen=True)
class Reading:
    """What noise on W may mean. q, qd: standard deviations, as parts of those of the text; one_end: only the end of
    every interval has noise, so that rows share none."""

    name: str
    q: float = 1.0
    qd: float = 1.0
    one_end: bool = False


TEXT = Reading("as in the text")


@dataclass(frozen=True, eq=False)
class Draws:
    """M sequences, each with K levels of noise, (M, K) unless said otherwise.

    cond (M,): of W. dy, dw: ‖δY‖/‖Y‖ and ‖δW‖/‖W‖, 2-norms. dx: ‖δX‖/‖X‖ with Y, W or both perturbed. cond_perturbed:
    cond(W + δW). errors, std (M, K, 15): X̂ − X and σ with Y perturbed; errors_both: with both, and the σ that knows of
    Y alone. squares: errorᵀ C⁻¹ error. ratio_w: right side of (13) over its left side.
    """

    cond: Array
    dy: Array
    dw: Array
    dx_y: Array
    dx_w: Array
    dx_both: Array
    cond_perturbed: Array
    errors: Array
    std: Array
    squares: Array
    errors_both: Array
    std_both: Array
    ratio_w: Array

    @property
    def ratio(self) -> Array:
        """κ ‖δY‖ ‖X‖ / (‖Y‖ ‖δX‖): by how much (12) overestimates."""
        return self.cond[:, None] * self.dy / self.dx_y


@dataclass(frozen=True, eq=False)
class LeftDraws:
    """Noise on W alone, and on both: (M, K) each, as in ``Draws``."""

    dw: Array
    dx_w: Array
    dx_both: Array


def draws(sequences: Sequences, levels: tuple[float, ...], seed: int, reading: Reading = TEXT) -> Draws:
    """Normal noise of standard deviation k/4 of max|Y| on Y; of k/4 of |q_F − q_I| and of q̇_M on q and q̇, once per
    point, on W."""
    rng = np.random.default_rng(seed)
    x, w = true_parameters(), sequences.w
    y, cond = w @ x, np.asarray(np.linalg.cond(w))
    parts: list[dict[str, Array]] = []
    for k in levels:
        sigma, dy = right_noise(y, k, rng)
        noisy = left_noise(sequences, k, rng, reading)
        estimate, covariance = solve(w, y + dy, sigma)
        inverse = np.asarray(np.linalg.pinv(noisy), dtype=np.float64)
        left, both, error = _times(inverse, y), _times(inverse, y + dy), estimate - x
        relative = _norm(noisy - w) / _norm(w)
        parts.append(
            {
                "dy": _size(dy) / _size(y),
                "dw": relative,
                "dx_y": _size(error) / _size(x),
                "dx_w": _size(left - x) / _size(x),
                "dx_both": _size(both - x) / _size(x),
                "cond_perturbed": np.linalg.cond(noisy),
                "errors": error,
                "std": np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)),
                "squares": _squares(w, sigma, error),
                "errors_both": both - x,
                "ratio_w": cond * relative * _size(left) / _size(left - x),
                "std_both": sigma[:, None] * np.linalg.norm(inverse, axis=2),
            }
        )
    return Draws(cond=cond, **{key: np.stack([one[key] for one in parts], axis=1) for key in parts[0]})


def left_draws(sequences: Sequences, levels: tuple[float, ...], seed: int, reading: Reading) -> LeftDraws:
    """What depends on how noise on W is meant, with other noise than ``draws`` has at the same seed."""
    rng = np.random.default_rng([seed, 1])
    x, w = true_parameters(), sequences.w
    y, found = w @ x, []
    for k in levels:
        noisy, (_, dy) = left_noise(sequences, k, rng, reading), right_noise(y, k, rng)
        inverse = np.asarray(np.linalg.pinv(noisy), dtype=np.float64)
        errors = [_size(_times(inverse, right) - x) / _size(x) for right in (y, y + dy)]
        found.append([_norm(noisy - w) / _norm(w), *errors])
    return LeftDraws(*np.array(found).transpose(1, 2, 0))


def right_noise(y: Array, k: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """σ_ρ (M,) and δY (M, r)."""
    sigma = k / float(data()["noise"]["part"]) * np.abs(y).max(axis=1)
    return sigma, sigma[:, None] * rng.standard_normal(y.shape)


def left_noise(sequences: Sequences, k: float, rng: np.random.Generator, reading: Reading) -> Array:
    """W + δW (M, r, 15)."""
    robot, share = robot_model().robot, k / float(data()["noise"]["part"])
    lower, upper = robot.position_range()
    dq = reading.q * share * (upper - lower) * rng.standard_normal(sequences.q.shape)
    dqd = reading.qd * share * robot.limit("velocity") * rng.standard_normal(sequences.q.shape)
    noisy = Sequences(sequences.q + dq, sequences.qd + dqd)
    if reading.one_end:
        return np.asarray(noisy.h[:, 1:] - sequences.h[:, :-1])
    return noisy.w


def solve(w: Array, y: Array, sigma: Array) -> tuple[Array, Array]:
    """Least squares of M systems: X̂ (M, b) and its covariance (M, b, b) for errors of known σ (M,)."""
    empty = Information.empty(w.shape[2])
    found = [empty.add(one_w / one, one_y / one).solve() for one_w, one_y, one in zip(w, y, sigma, strict=True)]
    return np.array([values for values, _ in found]), np.array([covariance for _, covariance in found])


def _squares(w: Array, sigma: Array, error: Array) -> Array:
    """errorᵀ C⁻¹ error with C = σ² (WᵀW)⁻¹: the squared length of W error, in σ."""
    fitted = np.einsum("mrb,mb->mr", w, error) / sigma[:, None]
    return np.asarray((fitted**2).sum(axis=1))


def _times(inverse: Array, y: Array) -> Array:
    """W⁺ Y (M, b): least squares without σ."""
    return np.asarray(np.einsum("mbr,mr->mb", inverse, y))


def _size(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=-1))


def _norm(matrices: Array) -> Array:
    """The 2-norm; of the squares, which is enough for the largest singular value."""
    return np.asarray(np.sqrt(np.linalg.eigvalsh(np.swapaxes(matrices, 1, 2) @ matrices)[:, -1]))
