"""The bounds (11)–(13) of Gautier & Khalil for an estimate: errors of the torques from the noise that its residuals
show, errors of W from the noise of the positions, where that is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.parameters.perturbation_bounds import PerturbationBounds, norm_2
from exciter.robot.motion import Motion
from exciter.typing import Array, Index

MOST_PROBED_INSTANTS = 400  # of a run, at which W is computed with and without errors
PERTURBATION_SEED = 0


def error_bounds(problem: Problem, estimate: Estimate) -> PerturbationBounds | None:
    """Rows over the noise of the estimate; None where W does not determine all parameters, or noise is not known."""
    compressed, noise = problem.compressed, np.asarray(estimate.noise, dtype=float)
    if estimate.names != compressed.parameters or not (np.isfinite(noise) & (noise > 0.0)).all():
        return None
    information = compressed.information(noise)
    if not information.rows or information.undetermined():
        return None
    residual = float(np.sqrt(max(information.squares(estimate.values), 0.0)))
    relative = _relative_error_of_w(problem, noise)
    dw = None if relative is None else relative * norm_2(information.r)
    return PerturbationBounds.of(information.r, estimate.values, float(np.sqrt(information.rows)), dw, residual)


def _relative_error_of_w(problem: Problem, noise: Array) -> float | None:
    """‖δW‖/‖W‖ at some instants of the runs, for rows of joint torques."""
    if not isinstance(problem.formulation, InverseDynamic) or problem.base.names != problem.model.base.names:
        return None
    rng, model, columns = np.random.default_rng(PERTURBATION_SEED), problem.model, problem.base.independent
    plain: list[Array] = []
    changed: list[Array] = []
    for run in problem.bounded.runs:
        for piece in islice(run.parts, 1):
            if (sigma := derivative_noise(piece)) is None:
                return None
            every = max(1, len(piece) // MOST_PROBED_INSTANTS)
            at = piece.motion[::every]
            errors = sigma[:, None] * rng.standard_normal((3, len(at), model.n))
            moved = replace(at, q=at.q + errors[0], qd=at.qd + errors[1], qdd=at.qdd + errors[2])
            plain.append(_rows(model, at, columns, noise))
            changed.append(_rows(model, moved, columns, noise))
    w = np.vstack(plain)
    return norm_2(np.vstack(changed) - w) / norm_2(w)


def _rows(model: DynamicModel, motion: Motion, columns: Index, noise: Array) -> Array:
    rows: Array = (model.regressor(motion)[:, :, columns] / noise[:, None]).reshape(-1, len(columns))
    return rows


def derivative_noise(piece: Processed) -> Array | None:
    """(3, n) σ of q, q̇ and q̈ that are left in W: of a fitted series as it says; of filtered differences as noise that
    is white up to the cut-off f of the filter, σ (2π f)^k / √(2 k + 1). None where neither is known."""
    if piece.series is not None:
        return np.asarray(piece.series.noise_of_derivatives)[:3]
    if piece.position_noise is None or not np.isfinite(piece.position_bandwidth):
        return None
    k = np.arange(3.0)[:, None]
    return np.asarray(piece.position_noise * (2.0 * np.pi * piece.position_bandwidth) ** k / np.sqrt(2.0 * k + 1.0))
