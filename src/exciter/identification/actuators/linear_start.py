"""Where the search begins: the torque that the control law gives for command and measured motion, on the usual rows.

τ_c = Kp (c(t − d) − q) − Kd q̇ = rigid(q, q̇, q̈) + armature q̈ + damping q̇ + friction sgn q̇ − offset, joint by joint, for
delays d on a grid; the one that leaves least is taken. Derivatives are those of parabolas through neighbouring
samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from exciter.dynamics.model import DynamicModel
from exciter.identification.actuators.drive_numbers import DriveNumbers
from exciter.identification.actuators.drive_simulator import DriveSimulator, Stretch
from exciter.robot.motion import Motion
from exciter.typing import Array

SMOOTHED_S = 0.06  #: [s] over which a parabola is laid
LONGEST_DELAY_S, DELAYS = 0.03, 13
REST_SPEED = 0.02  #: [rad/s, m/s] over which the sign of a speed changes
LEAST_SHARE = 0.1  #: of the start before, that a positive number has at least


def linear_start(simulator: DriveSimulator, numbers: DriveNumbers, stretches: Sequence[Stretch]) -> DriveNumbers:
    """The same unknowns from better numbers."""
    start = {word: np.array(values) for word, values in numbers.start.items()}
    sought = {(u.kind.word, j) for u in numbers.unknowns for j in u.joints}
    parts = [_derived(s) for s in stretches]
    model = DynamicModel(simulator.robot, ())
    rigid = [model.torque(Motion.at(q, qd, qdd)) for _, q, qd, qdd in parts]
    delays = np.linspace(0.0, LONGEST_DELAY_S, DELAYS) if ("delay", 0) in sought else start["delay"][:1]
    best, left = None, np.inf
    for delay in delays:
        found, total = dict[str, Array](), 0.0
        solved = [_of_joint(j, float(delay), stretches, parts, rigid, start) for j in range(simulator.n)]
        total = float(sum(error for _, error in solved))
        if total < left:
            table = np.array([values for values, _ in solved])
            found = dict(zip(("armature", "damping", "friction", "offset"), table.T, strict=True))
            best, left = {**found, "delay": np.full(simulator.n, float(delay))}, total
    assert best is not None
    for word, values in best.items():
        for j in range(simulator.n):
            if (word, j) in sought:
                floor = LEAST_SHARE * start[word][j] if word not in ("offset", "delay") else -np.inf
                start[word][j] = max(float(values[j]), floor)
    for u in numbers.unknowns:  # of drives that share a number the mean
        own = list(u.joints)
        mean = np.exp(np.log(start[u.kind.word][own]).mean()) if u.kind.positive else start[u.kind.word][own].mean()
        start[u.kind.word][own] = mean
    return numbers.started(start)


def _derived(stretch: Stretch) -> tuple[Array, Array, Array, Array]:
    """Even instants (T,), and q, q̇, q̈ (T, n) there."""
    step = float(np.median(np.diff(stretch.time)))
    time = np.arange(stretch.time[0], stretch.time[-1], step)
    q = np.column_stack([np.interp(time, stretch.time, column) for column in stretch.q.T])
    width = max(5, 2 * int(0.5 * SMOOTHED_S / step) + 1)
    width = min(width, len(time) - (1 - len(time) % 2))
    smooth = [scipy.signal.savgol_filter(q, width, 2, deriv=d, delta=step, axis=0) for d in range(3)]
    return time, *smooth


def _of_joint(
    j: int,
    delay: float,
    stretches: Sequence[Stretch],
    parts: Sequence[tuple[Array, Array, Array, Array]],
    rigid: Sequence[Array],
    start: dict[str, Array],
) -> tuple[Array, float]:
    """Armature, damping, friction, offset (4,), and the rms of what is left over that of the torque."""
    rows, right = list[Array](), list[Array]()
    for stretch, (time, q, qd, qdd), torque in zip(stretches, parts, rigid, strict=True):
        told = np.interp(time - delay, stretch.command_time, stretch.command[:, j])
        given = np.clip(
            start["kp"][j] * (told - q[:, j]) - start["kd"][j] * qd[:, j], -start["limit"][j], start["limit"][j]
        )
        rows.append(np.column_stack([qdd[:, j], qd[:, j], np.tanh(qd[:, j] / REST_SPEED), -np.ones(len(time))]))
        right.append(given - torque[:, j])
    matrix, vector = np.vstack(rows), np.concatenate(right)
    solved = np.asarray(np.linalg.lstsq(matrix, vector, rcond=None)[0], dtype=float)
    return solved, float(np.mean((vector - matrix @ solved) ** 2) / max(float(np.mean(vector**2)), 1e-30))
