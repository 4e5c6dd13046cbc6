"""Equations of a robot that stands still: one per pose and joint, with what holds the joint beside gravity.

    τ_j = Φ_j(q, 0, 0) χ + s_j h_j + ε

Both sides are means over the samples of a pose, as measured: a mean is a low-pass of its own, and no other brings
motion into a pose from both sides. What the samples of a pose share is one error of the pose, not hundreds.

Dry friction holds a joint that came to rest, against the way it came: s_j = ±1 is the side from which joint j was
approached, h_j the friction that holds it on average, an unknown beside the others. Its size is not the model's Fs,
for a joint that stops may have turned back a little; how it varies from pose to pose is an error ε. Approached from
both sides, h_j is told from an offset; from one, the two cannot be told apart, and the offset is left to motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.information.problem import Problem
from exciter.parameters.terms.friction import BoundDryFriction
from exciter.robot.motion import Motion
from exciter.typing import Array, BoolArray

NEW_POSE_DISTANCE = 0.01  # [rad or m] a joint moved from one instant to the next: another pose, without the way there
POSE_GAP_INTERVALS = 1.5  # of sampling: what follows later is of another pose
FEWEST_POSE_SAMPLES = 2.0  # independent samples of a pose, below which their spread tells nothing
APPROACH_SPEED_FRACTION = 0.05  # of a joint's fastest on the way: slower, it may as well swing back as it stops
Chosen = Callable[[str, Motion], BoolArray]


@dataclass(frozen=True, eq=False)
class PoseRows:
    """P poses: sides (P, n, p + n + 1), W, the sides s_j as n further columns, and y; scatter (P, n): variance of y as
    the spread of its samples tells it, 0 where these are too few. time (P,) [s]: of their middles. usable (P, n): not
    the equation of a joint with dry friction that came from where nobody saw, beside others that were seen."""

    time: Array
    sides: Array
    scatter: Array
    usable: BoolArray


@dataclass(eq=False)
class _Pose:
    """Sums over the samples of a pose so far; side (n,) from which its joints came, 0 where that is not known."""

    side: Array
    first: Array
    time: float = 0.0
    q: Array = field(default_factory=lambda: np.zeros(()))
    torque: Array = field(default_factory=lambda: np.zeros(()))  # less the first, so that squares are exact
    squares: Array = field(default_factory=lambda: np.zeros(()))
    count: int = 0
    independent: float = 0.0

    def add(self, piece: Processed, part: slice) -> None:
        more = piece.torque[part] - self.first
        self.time = self.time + float(piece.motion.time[part].sum())
        self.q = self.q + piece.motion.q[part].sum(axis=0)
        self.torque, self.squares = self.torque + more.sum(axis=0), self.squares + (more**2).sum(axis=0)
        self.count += len(more)
        self.independent += len(more) * min(1.0, 2.0 * piece.torque_bandwidth / piece.rate)

    @property
    def scatter(self) -> Array:
        """(n,) of m independent errors of variance v, the spread is v (1 − 1/m) and the mean's variance v / m."""
        if self.independent < FEWEST_POSE_SAMPLES:
            return np.zeros_like(self.first)
        spread = np.maximum(self.squares / self.count - (self.torque / self.count) ** 2, 0.0)
        return np.asarray(spread / (self.independent - 1.0))


def pose_rows(problem: Problem, chosen: Chosen) -> Iterator[tuple[int, PoseRows]]:
    """(number of the run, its poses) of runs that have some; divided by ``Problem.scales``. chosen: instants."""
    model, columns = problem.model, problem.base.independent
    held = {row for term in model.bound if isinstance(term, BoundDryFriction) for row, _ in term.rows}
    holds = np.isin(np.arange(model.n), list(held))
    for index, run in enumerate(problem.runs):
        poses = list(_poses(problem, index, lambda motion, name=run.name: chosen(name, motion)[:, 0]))  # type: ignore[misc]
        if not poses:
            continue
        count = np.array([pose.count for pose in poses])
        q = np.array([pose.q for pose in poses]) / count[:, None]
        sides = np.zeros((len(poses), model.n, len(columns) + model.n + 1))
        sides[:, :, : len(columns)] = model.regressor(Motion.at(q))[:, :, columns]
        for j in np.flatnonzero(holds):
            sides[:, j, len(columns) + j] = [pose.side[j] for pose in poses]
        sides[:, :, -1] = [pose.first + pose.torque / pose.count for pose in poses]
        scale = problem.scales[index]
        seen = ~holds | np.array([pose.side != 0.0 for pose in poses])
        yield (
            index,
            PoseRows(
                time=np.array([pose.time for pose in poses]) / count,
                sides=sides / scale[:, None],
                scatter=np.array([pose.scatter for pose in poses]) / scale**2,
                usable=seen | ~seen.any(axis=0),
            ),
        )


def _poses(problem: Problem, index: int, chosen: Callable[[Motion], BoolArray]) -> Iterator[_Pose]:
    run, pose = problem.runs[index], None
    side, last_q, last_time = np.zeros(problem.model.n), None, -np.inf
    for piece in problem.pieces(run):
        motion = piece.motion
        if not len(motion):
            continue
        rests = chosen(motion)
        before = motion.q[:1] if last_q is None else last_q[None]
        jump = np.abs(np.diff(np.vstack([before, motion.q]), axis=0)) > NEW_POSE_DISTANCE  # (N, n)
        late = np.diff(np.append(last_time, motion.time)) > POSE_GAP_INTERVALS / piece.rate
        unseen = jump | late[:, None]
        new = rests & (unseen.any(axis=1) | ~np.append(pose is not None, rests[:-1]))
        edges = np.flatnonzero(np.diff(rests, prepend=~rests[0]) | new)
        for start, end in zip(edges, np.append(edges[1:], len(motion)), strict=True):
            part = slice(int(start), int(end))
            side = np.where(unseen[part].any(axis=0), 0.0, side)  # the way there was not seen
            if not rests[start]:
                if pose is not None:
                    yield pose
                pose = None
                side = np.where(np.ptp(motion.q[part], axis=0) > NEW_POSE_DISTANCE, _came(motion.qd[part]), side)
            else:
                if pose is not None and new[start]:
                    yield pose
                    pose = None
                pose = _Pose(side.copy(), piece.torque[start].copy()) if pose is None else pose
                pose.add(piece, part)
        last_q, last_time = motion.q[-1], float(motion.time[-1])
    if pose is not None:
        yield pose


def _came(qd: Array) -> Array:
    """(n,) signs of the velocities (N, n) with which joints came to the end of a stretch of motion."""
    fast = np.abs(qd) >= APPROACH_SPEED_FRACTION * np.abs(qd).max(axis=0)
    last = len(qd) - 1 - np.argmax(fast[::-1], axis=0)
    return np.asarray(np.sign(qd[last, np.arange(qd.shape[1])]))
