"""The bounds (11)–(13) of Gautier & Khalil for an estimate: errors of the torques from the noise that its residuals
show, errors of W from the noise of the positions, where that is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.parameters.perturbation_bounds import PerturbationBounds, norm_2
from exciter.robot.motion import Motion
from exciter.typing import Array, Index

MOST_PROBED_INSTANTS = 400  # of a run, at which W is computed with and without errors
PERTURBATION_DRAWS = 8  # of errors, the worst of which counts: ‖δW‖ of errors that last is a matter of chance
PERTURBATION_SEED = 0
SINUSOIDS = 30  # of which noise of positions up to a cut-off is made


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
    model, columns = problem.model, problem.base.independent
    pieces = [piece for run in problem.bounded.runs for piece in islice(run.parts, 1)]
    thinned = [piece.motion[:: max(1, len(piece) // MOST_PROBED_INSTANTS)] for piece in pieces]
    draws = [motion_errors(piece, at.time) for piece, at in zip(pieces, thinned, strict=True)]
    w = np.vstack([_rows(model, at, columns, noise) for at in thinned])
    worst = 0.0
    for draw in range(PERTURBATION_DRAWS):
        rng, changed = np.random.default_rng((PERTURBATION_SEED, draw)), list[Array]()
        for drawn, at in zip(draws, thinned, strict=True):
            if drawn is None:
                return None
            errors = drawn(rng)
            moved = replace(at, q=at.q + errors[0], qd=at.qd + errors[1], qdd=at.qdd + errors[2])
            changed.append(_rows(model, moved, columns, noise))
        worst = max(worst, norm_2(np.vstack(changed) - w))
    return worst / norm_2(w)


def _rows(model: DynamicModel, motion: Motion, columns: Index, noise: Array) -> Array:
    rows: Array = (model.regressor(motion)[:, :, columns] / noise[:, None]).reshape(-1, len(columns))
    return rows


def motion_errors(piece: Processed, time: Array) -> Callable[[np.random.Generator], Array] | None:
    """What draws errors (3, N, n) of q, q̇ and q̈ by chance, each the derivative of the one before, as they are left in
    W: of a fitted series those of its coefficients; of filtered differences noise that is white up to the cut-off f of
    the filter, with σ (2π f)^k / √(2 k + 1). None where neither is known."""
    if (series := piece.series) is not None:
        bases = series.trajectory.basis(time - series.start)
        roots = dict[bytes, Array]()  # joints with as many harmonics have the same
        for used in series.used:
            if used.tobytes() not in roots:
                roots[used.tobytes()] = np.asarray(np.linalg.cholesky(series.gram[np.ix_(used, used)]), dtype=float)

        def of_coefficients(rng: np.random.Generator) -> Array:
            delta = np.zeros_like(series.delta)
            for used, sigma, own in zip(series.used, series.noise, delta, strict=True):
                root = roots[used.tobytes()]
                own[used] = sigma * linalg.solve_triangular(root, rng.standard_normal(len(root)), lower=True, trans="T")
            return np.stack([basis @ delta.T for basis in bases])

        return of_coefficients
    if (noise := piece.position_noise) is None or not np.isfinite(piece.position_bandwidth):
        return None

    def of_waves(rng: np.random.Generator) -> Array:
        omega = 2.0 * np.pi * rng.uniform(0.0, piece.position_bandwidth, (SINUSOIDS, piece.motion.n))
        phase = rng.uniform(0.0, 2.0 * np.pi, omega.shape)
        size, angle = noise * np.sqrt(2.0 / SINUSOIDS), time[:, None, None] * omega + phase
        waves = (np.sin(angle), omega * np.cos(angle), -(omega**2) * np.sin(angle))
        return np.stack([size * wave.sum(axis=1) for wave in waves])

    return of_waves
