"""Joint order and signs without a search: how much torques of the log are alike those of the model, and friction that
drives its joint.

From torque τ_i of the log and model torque of joint j what 1, q̇_j, sign(q̇_j) and q̈_j explain is removed: offset,
friction and rotor inertia need not be known. The correlation of the residuals shows which torques could be exchanged
unnoticed; what is wrong with a log, and whether it is sure, ``explanations`` says.

A drive at its limit says nothing of signs: it gives what it can, not what the motion that was asked for takes, and the
joint goes its own way, often too fast for a log. Rows near such samples do not vote (``with_reserve``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.believable import LEAST_NOISE_SHARE, REWEIGHTED_BODIES
from exciter.experiment.quality.smoothed_log import EffortRows, unexplained, unit_columns
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Recording
from exciter.robot.motion import Motion
from exciter.typing import Array, BoolArray

VISIBLE_TORQUE_SHARE = 1e-6  # of the largest torque: a smaller model torque is rounding
CLEAR_FISHER_DIFFERENCE = 0.5  # of correlations, Fisher's z: four standard errors of 130 independent samples
SINGULAR_FRICTION_VALUE = 1e-6  # relative singular value that counts as zero
UNDETERMINED_FRICTION_SHARE = 1e-3  # of a combination, that the rows need not determine
SURE_FRICTION_ERRORS = 6.0  # standard errors of friction that drives its joint
BEYOND_DRIVE_SHARE = 0.05  # of a drive's limit: torques that are larger by more than noise are of another unit or joint


def unknown_terms(motion: Motion, model: DynamicModel | None = None) -> list[Array]:
    """(N, 4) per joint: orthonormal basis of offset, friction and rotor inertia; and of the terms of a model given."""
    columns = ((np.ones_like(qd), qd, np.sign(qd), qdd) for qd, qdd in zip(motion.qd.T, motion.qdd.T, strict=True))
    usual = [np.asarray(np.linalg.qr(np.column_stack(terms))[0]) for terms in columns]
    if model is None:
        return usual
    more, bases = model.regressor(motion)[:, :, model.inertial_size :], []
    for j, basis in enumerate(usual):  # (N, 4 + r)
        u, s, _ = np.linalg.svd(unexplained(basis, unit_columns(more[:, j])), full_matrices=False)
        bases.append(np.column_stack([basis, u[:, s > VISIBLE_TORQUE_SHARE]]))
    return bases


def match(model: DynamicModel, motion: Motion, effort: Array, unknown: Sequence[Array]) -> tuple[Array, Array]:
    """Of smooth rows (N, n): correlation (n, n) of the measured torque of row i with the model torque of column j, and
    scale (n, n), the one over the other, least squares. unknown: ``unknown_terms``."""
    bodies = model.torque(motion)
    correlation, scale = np.zeros((2, motion.n, motion.n))
    size = np.linalg.norm(bodies, axis=0).max(initial=0.0)
    for j, beside in enumerate(unknown):
        wanted, measured = unexplained(beside, bodies[:, j]), unexplained(beside, effort)
        length = float(np.linalg.norm(wanted))
        if length > VISIBLE_TORQUE_SHARE * size:
            norms = np.linalg.norm(measured, axis=0)
            correlation[:, j] = (measured.T @ wanted) / np.where(norms > 0, norms, np.inf) / length
            scale[:, j] = (measured.T @ wanted) / length**2
    return correlation, scale


def with_reserve(rows: EffortRows, pieces: Sequence[Recording], limits: Thresholds) -> BoolArray:
    """(N,): rows in whose surroundings, a period of the filter's cut-off, no drive of the robot was at its limit.
    pieces: the torques as they were logged. Where torques are beyond a limit, too, it is not the drive's."""
    most, good = rows.model.robot.limit("torque"), np.ones(len(rows.smooth), dtype=bool)
    logged = [(piece.time, np.abs(piece.torque)) for piece in pieces if piece.torque is not None]
    if not logged:
        return good
    highest = np.max([torque.max(axis=0) for _, torque in logged], axis=0)
    near = [torque >= (1.0 - 2.0 * limits.at_limit) * most for _, torque in logged]
    often = np.sum([at.sum(axis=0) for at in near], axis=0) >= limits.flat_samples
    held = np.isfinite(most) & often & (highest <= (1.0 + BEYOND_DRIVE_SHARE) * most)
    times = [time[at[:, held].any(axis=1)] for (time, _), at in zip(logged, near, strict=True)]
    instants, far = np.concatenate([[-np.inf], *times, [np.inf]]), 1.0 / rows.smooth.cutoff
    after = np.searchsorted(instants, rows.smooth.motion.time)
    away = np.minimum(instants[after] - rows.smooth.motion.time, rows.smooth.motion.time - instants[after - 1])
    return np.asarray(good & (away > far))


@dataclass(frozen=True, eq=False)
class Arrangement:
    """correlation (n, n) of measured against model torques, empty where inertias are unknown. driving: friction that
    drives its joint, by number, and its standard error. unclear: joints whose torque follows the model's too little, or
    that of another about as well, to notice an exchange."""

    correlation: Array = field(default_factory=lambda: np.zeros((0, 0)))
    driving: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    unclear: Sequence[int] = ()


def arrangement_of(
    rows: EffortRows, limits: Thresholds, changed: set[int], spread: Array | None, *, of_torque: bool
) -> Arrangement:
    """Where inertias are known. changed: joints of which something is known to be wrong. spread: of bodies near the
    description (``body_spread``), None where efforts are no torques. How much the torque of row i
    is like the model's of column j does not depend on its sign; one that would have to be scaled beyond reason belongs
    to another joint."""
    motion, most = rows.smooth.motion, limits.torque_scale
    correlation, scale = match(DynamicModel(rows.model.robot), motion, rows.effort, unknown_terms(motion))
    size = np.abs(scale)
    like = np.where(((size < most) & (size > 1.0 / most)) | (not of_torque), np.abs(correlation), 0.0)
    z = np.arctanh(np.minimum(like, 1.0 - 1e-9))  # Fisher: differences mean the same near 0 and near 1
    driving = {} if changed else driving_friction(rows, limits, spread)
    others = z - np.diag(np.full(len(z), np.inf))
    clear = z.diagonal() - np.maximum(others.max(axis=0), others.max(axis=1)) > CLEAR_FISHER_DIFFERENCE
    doubtful = np.flatnonzero(~((like.diagonal() > limits.conclusive) & clear)).tolist()
    unclear = [j for j in doubtful if j not in changed and j not in driving]
    return Arrangement(correlation, driving, unclear)


def driving_friction(
    rows: EffortRows, limits: Thresholds, spread: Array | None = None
) -> dict[int, tuple[float, float]]:
    """Friction that drives its joint means a torque (or position) of the wrong sign; by joint, with its error. Each
    joint's own rows are fitted; friction at usual speed must not be negative. spread: of bodies near the description,
    where that has any: bodies of any kind explain what friction does where a joint hardly moves, and noise decides."""
    driving, bodies, motion = {}, DynamicModel(rows.model.robot), rows.smooth.motion
    near = None if spread is None else (bodies.torque(motion), bodies.dynamics.regressor(motion))
    for j, y in enumerate(rows.effort.T):
        speed = float(np.sqrt(np.mean(motion.qd[:, j] ** 2)))
        friction = {f"Fv{j + 1}": speed, f"Fs{j + 1}": 1.0}
        wanted = np.array([friction.get(name, 0.0) for name in rows.model.base.names])
        if not wanted.any():
            continue
        if spread is None or near is None:
            judged = _combination(rows.regressor[:, j], y, wanted, rows.smooth.independent)
        else:
            judged = _friction_near(rows, j, y - near[0][:, j], near[1][:, j], spread)
        size = float(np.sqrt(np.mean((y - y.mean()) ** 2)))
        if judged is not None and judged[0] < -max(SURE_FRICTION_ERRORS * judged[1], limits.driving_friction * size):
            driving[j] = judged
    return driving


def _friction_near(rows: EffortRows, j: int, y: Array, own: Array, spread: Array) -> tuple[float, float] | None:
    """Friction of joint j at usual speed, its standard error: y = Y B z + U u + noise, y what the description leaves,
    z ~ N(0, 1) bodies near it, u offset, friction and rotor inertia, which it does not know. own (N, 10 n): rows Y."""
    n, qd, qdd = len(y), rows.smooth.motion.qd[:, j], rows.smooth.motion.qdd[:, j]
    own = own.reshape(n, -1, 10)
    moved = np.flatnonzero(own.any(axis=(0, 2)))
    bodies = (own[:, moved, None] @ spread[moved]).reshape(n, -1)
    drive = np.column_stack([qd, rows.smooth.direction[:, j], np.ones_like(qd), qdd])
    w, known = np.column_stack([drive, bodies]), np.eye(drive.shape[1] + bodies.shape[1])[drive.shape[1] :]
    wanted, independent = np.r_[np.sqrt(np.mean(qd**2)), 1.0, np.zeros(w.shape[1] - 2)], rows.smooth.independent
    least = (LEAST_NOISE_SHARE * float(np.std(rows.effort[:, j]))) ** 2 + np.finfo(float).tiny
    power = float(np.mean(unexplained(np.linalg.qr(drive)[0], y) ** 2))
    for _ in range(REWEIGHTED_BODIES):  # noise is what bodies as far away as noise asks for leave
        weight = np.sqrt(independent / n / (power + least))
        stacked, aims = np.vstack([weight * w, known]), np.concatenate([weight * y, np.zeros(len(known))])
        power = float(np.mean((y - w @ np.linalg.lstsq(stacked, aims, rcond=SINGULAR_FRICTION_VALUE)[0]) ** 2))
    return _combination(stacked, aims, wanted, independent + len(known))


def _combination(w: Array, y: Array, wanted: Array, independent: float) -> tuple[float, float] | None:
    """Value and standard error of the combination ``wanted`` of β in y = w β; None where it is not determined."""
    norms = np.linalg.norm(w, axis=0)
    if (norms[wanted != 0.0] == 0.0).any():
        return None
    own = norms > 0.0  # of many limbs the columns of one
    wanted, scale = wanted[own], norms[own]
    u, s, vt = np.linalg.svd(w[:, own] / scale, full_matrices=False)
    kept = s > SINGULAR_FRICTION_VALUE * s[0]
    u, s, vt = u[:, kept], s[kept], vt[kept]
    seen = vt @ (wanted / scale)
    if np.linalg.norm(wanted / scale - vt.T @ seen) > UNDETERMINED_FRICTION_SHARE * np.linalg.norm(wanted / scale):
        return None
    left = unexplained(u, y)
    variance = float(left @ left) / max(independent - len(s), 1.0)
    return float((seen / s) @ (u.T @ y)), float(np.sqrt(variance) * np.linalg.norm(seen / s))
