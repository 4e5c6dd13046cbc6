"""Noise of a measured motion is in W: parameters come out too small where it moves little, whatever the residuals say.

W = W₀ + δ, so that A = Wᵀ Σ⁻¹ W is on average larger than W₀ᵀ Σ⁻¹ W₀ by D = E(δᵀ Σ⁻¹ δ), while Wᵀ Σ⁻¹ y is not: the
truth is near (A − D)⁻¹ Wᵀ Σ⁻¹ y (Fuller 1987), and least squares gives A⁻¹ Wᵀ Σ⁻¹ y. Residuals show the size of δ χ,
whose variance is counted; that δ is in W as well is not seen there. Encoders are fine enough for that not to matter.
The pose of a free base, by cameras or by state estimation, is not: accelerations of its six joints are the noisiest
there are, and unknown forces leave few equations without them.

D, and what becomes of Wᵀ Σ⁻¹ y where W bends, are found by trying (Cook & Stefanski 1994): as much noise again, of the
size and band that were found in the log. Noise and its opposite, half of both: what depends on chance goes, to first
order. Parameters may be off by the difference together, once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from exciter.errors import ExciterError
from exciter.experiment.signals.differentiation import low_passed_differences
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.error_bounds import motion_errors
from exciter.identification.uncertainty.further_columns import WeightedFit
from exciter.notes import Note
from exciter.typing import Array

TRIED_NOISE_SEED = 0
LARGEST_NOISE_SHARE = 0.9  #: of what W shows in a direction: more noise than that, and nothing is known there


@dataclass(frozen=True, eq=False)
class MotionNoiseError:
    """change (p,): of the parameters, without the noise of the motion."""

    change: Array

    @property
    def assumptions(self) -> tuple[Note, ...]:
        return assumed("noise of the motion is in W, too, which counts by what it changes")


def motion_noise_error(problem: Problem, estimate: Estimate) -> MotionNoiseError | None:
    """Of a robot with a free base, and an estimate by (weighted) least squares, with a prior or not; None for others,
    and where the noise of a motion is not known."""
    fit = WeightedFit.of(problem, estimate)
    parts = [part for run in problem.runs for part in run.parts] if problem.model.robot.free_base else []
    if not parts or any(part.series is None and part.position_noise is None for part in parts):
        return None
    rng = np.random.default_rng(TRIED_NOISE_SEED)
    drawn = [[drawn_noise(part, rng) for part in run.parts] for run in problem.runs]
    for run, errors in zip(problem.runs, drawn, strict=True):
        if run.recording is not None and run.recording.base_acceleration is not None:  # an IMU's, not of the pose
            for one in errors:
                one[2][:, list(problem.model.robot.free_base)] = 0.0
    try:
        here, *there = (_normal(fit, _moved(problem, drawn, sign)) for sign in (0.0, 1.0, -1.0))
    except ExciterError:  # noise so large that nothing is determined
        return None
    known = np.zeros((0, len(problem.names) + 1)) if fit.prior is None else fit.prior
    known = known.T @ known
    gram, more = here + known, 0.5 * (there[0] + there[1]) - here
    return MotionNoiseError(change=_change(gram, more))


def _change(gram: Array, more: Array) -> Array:
    """(p,) from what least squares found to what it would without noise; gram, more (p + 1, p + 1): WᵀΣ⁻¹W, WᵀΣ⁻¹y
    beside it, and what as much noise again adds."""
    lower = np.linalg.cholesky(gram[:-1, :-1])
    added = linalg.solve_triangular(lower, linalg.solve_triangular(lower, more[:-1, :-1], lower=True).T, lower=True)
    share, turn = np.linalg.eigh(0.5 * (added + added.T))
    share = np.clip(share, 0.0, LARGEST_NOISE_SHARE)
    right, less = (turn.T @ linalg.solve_triangular(lower, x[:-1, -1], lower=True) for x in (gram, more))
    change = (share * right - less) / (1.0 - share)  # (right − less) / (1 − share) − right
    return np.asarray(linalg.solve_triangular(lower.T, turn @ change))


def drawn_noise(piece: Processed, rng: np.random.Generator) -> Array:
    """(3, N, n) errors of q, q̇ and q̈: white, through the filter that positions went through; of a fitted series those
    of its coefficients."""
    if piece.series is not None or not np.isfinite(piece.position_bandwidth):
        drawn = motion_errors(piece, piece.motion.time)
        return np.zeros((3, *piece.motion.q.shape)) if drawn is None else drawn(rng)
    low_pass, count = Butterworth(piece.position_bandwidth), len(piece)
    beyond = low_pass.settle(piece.rate) + 1  # of the ends
    white = rng.standard_normal((count + 2 * beyond, piece.motion.n))
    share = np.sqrt(min(1.0, 2.0 * low_pass.noise_bandwidth(piece.rate) / piece.rate))  # σ that the filter leaves
    size = np.asarray(piece.position_noise) / share
    return np.stack(low_passed_differences(low_pass, piece.rate, size * white, None, slice(beyond, beyond + count)))


def _moved(problem: Problem, drawn: list[list[Array]], sign: float) -> Problem:
    """Along the motion with errors times a sign; unknown forces taken off by the same σ."""

    def moved(piece: Processed, errors: Array) -> Processed:
        motion = piece.motion
        q, qd, qdd = (x + sign * e for x, e in zip((motion.q, motion.qd, motion.qdd), errors, strict=True))
        return replace(piece, motion=replace(motion, q=q, qd=qd, qdd=qdd))

    def run(one: Run, errors: list[Array]) -> Run:
        return replace(one, parts=tuple(moved(piece, e) for piece, e in zip(one.parts, errors, strict=True)))

    settled = replace(problem, formulation=problem.projecting)
    return settled.along(tuple(run(one, errors) for one, errors in zip(problem.runs, drawn, strict=True)))


def _normal(fit: WeightedFit, problem: Problem) -> Array:
    """(p + 1, p + 1) [W y]ᵀ Σ⁻¹ [W y]."""
    factor = problem.compressed.information(fit.weights).factor
    return np.asarray(factor.T @ factor)
