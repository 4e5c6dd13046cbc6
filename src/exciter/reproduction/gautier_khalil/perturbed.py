"""The noise of section 6.3: equations are perturbed on the right, on the left or on both sides, and solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.identification.information import Information
from exciter.reproduction.gautier_khalil.point_sequences import Sequences, true_parameters
from exciter.reproduction.gautier_khalil.printed import data
from exciter.reproduction.gautier_khalil.sequences import robot_model

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draws:
    """M sequences, each with K levels of noise, (M, K) unless said otherwise.

    cond (M,): of W. dy, dw: ‖δY‖/‖Y‖ and ‖δW‖/‖W‖, 2-norms. dx: ‖δX‖/‖X‖ by the table's number that it belongs to, Y, W
    or both perturbed. cond_perturbed: cond(W + δW). dw_half, dx_half, dx_both_half: with half of the noise
    on positions.
    errors, std (M, K, 15): X̂ − X and σ with Y perturbed; errors_both: with both, and the σ that knows of Y alone.
    squares: errorᵀ C⁻¹ error. ratio_w: right side of (13) over its left side.
    """

    cond: Array
    dy: Array
    dw: Array
    dw_half: Array
    dx_y: Array
    dx_w: Array
    dx_half: Array
    dx_both: Array
    dx_both_half: Array
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


def draws(sequences: Sequences, levels: tuple[float, ...], seed: int) -> Draws:
    """Normal noise of standard deviation k/4 of max|Y| on Y; of k/4 of |q_F − q_I| and of q̇_M on q and q̇, once per
    point, on W."""
    rng = np.random.default_rng(seed)
    robot, part = robot_model().robot, float(data()["noise"]["part"])
    lower, upper = robot.position_range()
    x, w = true_parameters(), sequences.w
    y = w @ x
    parts: list[dict[str, Array]] = []
    for k in levels:
        sigma = k / part * np.abs(y).max(axis=1)
        dy = sigma[:, None] * rng.standard_normal(y.shape)
        dq = k / part * (upper - lower) * rng.standard_normal(sequences.q.shape)
        dqd = k / part * robot.limit("velocity") * rng.standard_normal(sequences.q.shape)
        whole, half = (Sequences(sequences.q + share * dq, sequences.qd + dqd).w for share in (1.0, 0.5))
        estimate, covariance = solve(w, y + dy, sigma)
        inverse, inverse_half = (np.asarray(np.linalg.pinv(one), dtype=np.float64) for one in (whole, half))
        left, both, error = _times(inverse, y), _times(inverse, y + dy), estimate - x
        relative = _norm(whole - w) / _norm(w)
        parts.append(
            {
                "dy": _size(dy) / _size(y),
                "dw": relative,
                "dw_half": _norm(half - w) / _norm(w),
                "dx_y": _size(error) / _size(x),
                "dx_w": _size(left - x) / _size(x),
                "dx_half": _size(_times(inverse_half, y) - x) / _size(x),
                "dx_both": _size(both - x) / _size(x),
                "dx_both_half": _size(_times(inverse_half, y + dy) - x) / _size(x),
                "cond_perturbed": np.linalg.cond(whole),
                "errors": error,
                "std": np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)),
                "squares": _squares(w, sigma, error),
                "errors_both": both - x,
                "ratio_w": np.linalg.cond(w) * relative * _size(left) / _size(left - x),
                "std_both": sigma[:, None] * np.linalg.norm(inverse, axis=2),
            }
        )
    return Draws(cond=np.linalg.cond(w), **{key: np.stack([one[key] for one in parts], axis=1) for key in parts[0]})


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
    """The 2-norm."""
    return np.asarray(np.linalg.norm(matrices, 2, axis=(1, 2)))
