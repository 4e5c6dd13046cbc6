"""Ratios of drive gains from currents alone: the same parameters stand in the equations of several joints.

x_j = T_j β / G_j, one set of parameters x_j per joint (``GainFree``), all of the same β. Found are the β and G that
explain the x of all joints best, errors of x weighted by their covariance; all G may grow with β by a factor, so that
one gain is the unit of the others. Joints that share nothing with the others leave theirs open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.formulations.gain_free import JointwiseBase, shared_parameters
from exciter.identification.information.estimate import Estimate, finite_or_none, student_interval
from exciter.typing import Array, BoolArray

RATIO_RANK_TOLERANCE = 1e-7  #: relative singular value below which nothing is said
OPEN_DIRECTION_SHARE = 1e-4  #: of a unit vector: more, and a gain belongs to a direction of which nothing is said
LEAST_STD_SHARE = 1e-9  #: of a parameter: a smaller error is rounding


@dataclass(frozen=True, eq=False)
class GainRatios:
    """ratios (J,): drive gain over that of the joint ``reference``, one there, NaN where not ``determined``; std (J,).
    excess: by how much the parameters of all joints contradict each other, a mean square, one by chance."""

    joints: tuple[str, ...]
    reference: str
    ratios: Array
    std: Array
    determined: BoolArray
    freedom: float
    excess: float

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends (J,) (Student)."""
        return student_interval(self.ratios, self.std, self.freedom, level)

    @property
    def sentence(self) -> str:
        each = zip(self.joints, self.ratios, self.std, self.determined, strict=True)
        told = [
            f"{joint} {value:.5g} ± {std:.2g}" if sure else f"{joint} not determined"
            for joint, value, std, sure in each
            if joint != self.reference
        ]
        return f"drive gains over that of {self.reference}: {', '.join(told)}" if told else "one joint has no ratio"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        low, high = self.interval()
        rows = zip(self.joints, self.ratios, self.std, low, high, strict=True)
        keys = ("value", "std", "low", "high")
        return {
            "reference": self.reference,
            "ratios": [
                {"joint": joint, **dict(zip(keys, map(finite_or_none, numbers), strict=True))}
                for joint, *numbers in rows
            ],
            "excess": finite_or_none(self.excess),
        }


def gain_ratios(model: DynamicModel, base: JointwiseBase, estimate: Estimate) -> GainRatios:
    """estimate: of ``base``, see ``GainFree``."""
    shared, n, b = shared_parameters(base, model.base), model.n, len(model.base)
    if estimate.names != base.names:
        raise ParameterError("the estimate is of other parameters than each joint has by itself; use GainFree")
    parts = [estimate.values[base.joint == j] for j in range(n)]
    whiten, rows = _whitening(estimate), len(estimate.values)

    def explained(k: Array) -> Array:
        """(rows, b) of β: k_j T_j."""
        return np.asarray(whiten @ np.vstack([k[j] * shared[j] for j in range(n)]))

    measured = whiten @ estimate.values

    def best(k: Array) -> tuple[Array, Array, Array]:
        """β, the residual, and an orthonormal basis of what β explains."""
        columns = explained(k)
        scale = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        u, singular, v = np.linalg.svd(columns / scale, full_matrices=False)
        rank = int((singular > RATIO_RANK_TOLERANCE * singular[0]).sum())
        u, along = u[:, :rank], u[:, :rank].T @ measured
        return v[:rank].T @ (along / singular[:rank]) / scale, measured - u @ along, u

    def of_gains(k: Array, beta: Array) -> Array:
        """(rows, n) what each k_j changes."""
        found = np.zeros((rows, n))
        for j in range(n):
            found[base.joint == j, j] = shared[j] @ beta
        return np.asarray(whiten @ found)

    k = _start(shared, parts, np.asarray(estimate.std), base)
    size = np.abs(k)

    def slope(x: Array) -> Array:
        beta, _, u = best(x * size)
        along = of_gains(x * size, beta) * size
        return np.asarray(u @ (u.T @ along) - along)

    found = scipy.optimize.least_squares(
        lambda x: best(x * size)[1], k / size, slope, method="trf", xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=200
    )
    k = found.x * size
    beta, left, _ = best(k)
    whole = np.hstack([explained(k), of_gains(k, beta) * k])  # of β, and of relative changes of k
    options = [_judged(whole, b, n, j) for j in range(n)]

    def worth(j: int) -> tuple[int, float]:
        sure, relative, _ = options[j]
        return int(sure.sum()), -float(np.median(relative[sure]))

    reference = max(range(n), key=worth)
    determined, relative, taken = options[reference]
    with np.errstate(all="ignore"):
        ratios = np.where(determined, k[reference] / k, np.nan)
    ratios[reference] = 1.0
    std = np.where(determined, np.abs(ratios) * relative, np.inf)
    std[reference] = 0.0
    more = rows - taken
    return GainRatios(
        joints=model.robot.joint_names,
        reference=model.robot.joint_names[reference],
        ratios=ratios,
        std=std,
        determined=determined,
        freedom=estimate.freedom,
        excess=float(left @ left / more) if more > 0 else float("nan"),
    )


def _whitening(estimate: Estimate) -> Array:
    """(p, p) that makes the errors of the estimate independent, of σ one."""
    std = np.maximum(estimate.std, LEAST_STD_SHARE * max(float(np.abs(estimate.values).max()), 1e-300))
    correlation = estimate.covariance / np.outer(std, std)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    floor = LEAST_STD_SHARE * float(values.max())
    return np.asarray((vectors / np.sqrt(np.maximum(values, floor))).T / std)


def _start(shared: tuple[Array, ...], parts: list[Array], std: Array, base: JointwiseBase) -> Array:
    """1/G (n,) of T_j β = G_j x_j, homogeneous in (β, G): the smallest singular vector, of rows over their errors.
    Gains that nothing connects with the others begin like them."""
    floor = LEAST_STD_SHARE * max(float(max(np.abs(part).max(initial=0.0) for part in parts)), 1e-300)
    weights = 1.0 / np.maximum(std, floor)
    exact = np.vstack(shared)
    noisy = linalg.block_diag(*(part[:, None] for part in parts))
    gains = np.ones(len(parts))
    for _ in range(3):  # weights of T_j β − G_j x_j are σ G_j
        w = (weights / np.abs(gains[base.joint]))[:, None]
        basis = linalg.orth(w * exact, rcond=RATIO_RANK_TOLERANCE)
        left = w * noisy - basis @ (basis.T @ (w * noisy))
        scale = np.maximum(np.linalg.norm(w * noisy, axis=0), 1e-300)
        _, _, v = np.linalg.svd(left / scale, full_matrices=False)
        found = v[-1] / scale
        typical = float(np.median(np.abs(found))) or 1.0
        gains = np.where(np.abs(found) > 1e-4 * typical, found, typical) / typical
    return np.asarray(1.0 / gains)


def _judged(whole: Array, b: int, n: int, reference: int) -> tuple[BoolArray, Array, int]:
    """Which gains are determined beside the reference's, σ of their logarithms, and how many unknowns there were."""
    jacobian = np.delete(whole, b + reference, axis=1)
    scale = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
    _, singular, v = np.linalg.svd(jacobian / scale)
    rank = int((singular > RATIO_RANK_TOLERANCE * singular[0]).sum())
    others = [j for j in range(n) if j != reference]
    lost = np.abs(v[rank:, b:]).max(axis=0, initial=0.0) > OPEN_DIRECTION_SHARE
    spread = np.sqrt(((v[:rank, b:] / singular[:rank, None]) ** 2).sum(axis=0)) / scale[b:]
    determined, relative = np.ones(n, dtype=bool), np.zeros(n)
    determined[others], relative[others] = ~lost & (spread > 0.0), spread
    return determined, relative, rank
