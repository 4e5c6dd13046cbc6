"""Joint order and signs: does the log call its joints, and count them, as the description does?

Said only when it is conclusive: the arrangement of the log fits badly and another one fits well. Wrists without load
say nothing, and nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.match import Match, match, unknown_terms
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.quality.words import number, unit
from exciter.notes import Note, problem
from exciter.robot.motion import Motion
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

ROWS = 300  # samples that hypotheses are compared on
GAIN = 0.5  # of the score: better by less may be chance
WORSE = 0.1  # of a correlation: what another arrangement may cost a joint at most
CLEARLY = 0.5  # difference of correlations, Fisher's z: four standard errors of 130 independent samples
SINGULAR = 1e-6  # relative singular value that is none
SEEN = 1e-3  # of a combination that may lie outside of what the rows show
SURE = 6.0  # standard errors


def order_and_signs(evidence: Evidence) -> Iterator[Note]:
    """Torque columns permuted or of the wrong sign; whole joints exchanged; axes counted the other way round."""
    yield from evidence.order


def unjudged(evidence: Evidence) -> list[str]:
    """Joints that may be exchanged without anybody noticing: their torque follows the model's too little, or that of
    another joint about as well. None where inertias are unknown, and nothing is judged."""
    if evidence.match is None:
        return []
    like = likeness(evidence, evidence.match)
    z, own = np.arctanh(np.minimum(like, 1.0 - 1e-9)), like.diagonal()
    others = z - np.diag(np.full(len(z), np.inf))
    clear = z.diagonal() - np.maximum(others.max(axis=0), others.max(axis=1)) > CLEARLY
    told = {name for f in evidence.order for name in (f.joint, f.numbers.get("belongs_to"))}
    sure = (own > evidence.thresholds.conclusive) & clear
    return [name for name, fine in zip(evidence.joints, sure, strict=True) if not fine and name not in told]


def found_order(evidence: Evidence) -> Iterator[Note]:
    """What ``order_and_signs`` says."""
    smooth, model = evidence.smooth, evidence.model
    if smooth is None or smooth.effort is None or model is None:
        return
    if not evidence.inertias_known:
        yield from driving_friction(evidence)
        return
    assert evidence.match is not None
    wrong = list(_torque_columns(evidence, evidence.match))
    wrong = wrong or list(_whole_joints(evidence, smooth.motion, smooth.effort, DynamicModel(model.robot)))
    yield from wrong or driving_friction(evidence)


def _torque_columns(evidence: Evidence, found: Match) -> Iterator[Note]:
    """Positions are right, torque columns are not: Hungarian assignment on correlations, either sign."""
    c, limits, like = found.correlation, evidence.thresholds, likeness(evidence, found)
    _, columns = linear_sum_assignment(-like)
    for i, j in [(i, j) for cycle in cycles(columns.tolist()) if _sure(like, cycle, limits) for i, j in cycle]:
        words = (
            f"the torque recorded for it follows the model's torque of {evidence.joints[j]} (correlation "
            f"{c[i, j]:.2f}), not its own ({c[i, i]:.2f}); are the torque columns in the order of the joints?"
        )
        numbers = {"belongs_to": evidence.joints[j], "correlation": float(c[i, j]), "own": float(c[i, i])}
        yield problem("joint order", words, evidence.joints[i], **numbers)
    for j in map(int, np.flatnonzero(c.diagonal() < -limits.conclusive)):
        words = (
            f"the torque has the opposite sign of the model's (correlation {c[j, j]:.2f}); see signs, or a negative "
            "gain, in recording.yaml"
        )
        yield problem("sign", words, evidence.joints[j], correlation=float(c[j, j]), of="torque")


def likeness(evidence: Evidence, found: Match) -> Array:
    """(n, n) how much the torque of row i is like the model's of column j, whatever its sign."""
    like, most = np.abs(found.correlation), evidence.thresholds.torque_scale
    if evidence.effort_unit != "N·m":
        return like
    scale = np.abs(found.scale)  # a torque that would have to be scaled beyond reason belongs to another joint
    return np.where((scale < most) & (scale > 1.0 / most), like, 0.0)


def cycles(order: Sequence[int]) -> list[list[tuple[int, int]]]:
    """The pairs (i, order[i]) of every cycle longer than one."""
    left, found = set(range(len(order))), []
    while left:
        at = min(left)
        cycle = []
        while at in left:
            left.remove(at)
            cycle.append((at, order[at]))
            at = order[at]
        found += [cycle] if len(cycle) > 1 else []
    return found


def _sure(like: Array, cycle: Sequence[tuple[int, int]], limits: Thresholds) -> bool:
    """Every joint of the cycle fits better where it is put, and two of them fit well there and clearly better."""
    better = all(like[i, j] > like[i, i] for i, j in cycle)
    z = np.arctanh(np.minimum(like, 1.0 - 1e-9))  # Fisher: differences mean the same near 0 and near 1
    clear = [like[i, j] > limits.conclusive and z[i, j] - z[i, i] > CLEARLY for i, j in cycle]
    return better and sum(clear) >= 2


@dataclass(frozen=True)
class Hypothesis:
    """Columns of the log per joint, signs of positions, and what it means."""

    order: tuple[int, ...]
    signs: tuple[int, ...]
    joints: tuple[int, ...]

    def applied(self, motion: Motion, effort: Array) -> tuple[Motion, Array]:
        order, signs = list(self.order), np.array(self.signs)
        q, qd, qdd = (x[:, order] * signs for x in (motion.q, motion.qd, motion.qdd))
        return Motion(motion.time, q, qd, qdd), effort[:, order] * signs


def hypotheses(n: int) -> list[Hypothesis]:
    """Every pair exchanged, every axis reversed."""
    same, plus = tuple(range(n)), (1,) * n
    reversed_ = [Hypothesis(same, _with(plus, {j: -1}), (j,)) for j in range(n)]
    swapped = [Hypothesis(_with(same, {i: j, j: i}), plus, (i, j)) for i, j in combinations(range(n), 2)]
    return reversed_ + swapped


def _with(values: Sequence[int], changes: dict[int, int]) -> tuple[int, ...]:
    return tuple(changes.get(k, value) for k, value in enumerate(values))


def _whole_joints(evidence: Evidence, motion: Motion, effort: Array, bodies: DynamicModel) -> Iterator[Note]:
    """Positions and torques together: the best single exchange or reversal, where it explains what was unexplained.

    A position that alone counts the other way shows as a reversed axis whose torque then has the wrong sign.
    """
    step = max(1, len(motion) // ROWS)
    motion, effort = motion[::step], effort[::step]
    unknown = unknown_terms(motion)  # the same span whichever way an axis counts
    now = match(bodies, motion, effort, unknown)
    own, limits = now.correlation.diagonal(), evidence.thresholds
    if own.size and own.min() > limits.conclusive:
        return
    best: tuple[float, Hypothesis, Array] | None = None
    for hypothesis in hypotheses(motion.n):
        tried = match(bodies, *hypothesis.applied(motion, effort), [unknown[k] for k in hypothesis.order])
        there = np.abs(tried.correlation.diagonal())
        gained = float((there**2).sum()) - float((np.maximum(own, 0.0) ** 2).sum())
        fair = bool((there >= np.maximum(own, 0.0) - WORSE).all())
        rescued = bool(((own < limits.doubtful) & (there > limits.conclusive)).any())
        if fair and rescued and gained > GAIN and (best is None or gained > best[0]):
            best = (gained, hypothesis, tried.correlation.diagonal())
    if best is not None:
        yield _told(evidence, best[1], own, best[2])


def _told(evidence: Evidence, hypothesis: Hypothesis, own: Array, there: Array) -> Note:
    names = [evidence.joints[j] for j in hypothesis.joints]
    numbers = {"own": own.tolist(), "then": there.tolist()}
    if len(names) == 2:
        words = (
            f"with {names[0]} and {names[1]} exchanged the torques fit the model (Σ correlation² "
            f"{(there**2).sum():.2f} instead of {(np.maximum(own, 0) ** 2).sum():.2f}); are joints and columns in the "
            "same order?"
        )
        return problem("joint order", words, names[0], belongs_to=names[1], **numbers)
    j = hypothesis.joints[0]
    what = "position and torque" if there[j] > 0 else "the position"
    words = f"the torques fit the model when {what} of this axis count the other way round; see signs in recording.yaml"
    return problem("sign", words, names[0], of="axis" if there[j] > 0 else "position", **numbers)


def driving_friction(evidence: Evidence) -> Iterator[Note]:
    """Without known inertias: friction that drives its joint means a torque (or position) of the wrong sign.

    The base regressor of each joint's own rows is fitted; friction at usual speed must not be negative.
    """
    smooth, model, rows = evidence.smooth, evidence.model, evidence.regressor
    if smooth is None or smooth.effort is None or model is None or rows is None:
        return
    names = model.base.names
    for j, joint in enumerate(evidence.joints):
        own = [k for k, name in enumerate(names) if name in (f"Fv{j + 1}", f"Fs{j + 1}")]
        if not own:
            continue
        speed = float(np.sqrt(np.mean(smooth.motion.qd[:, j] ** 2)))
        wanted = np.zeros(len(names))
        wanted[own] = [speed if names[k].startswith("Fv") else 1.0 for k in own]
        y = smooth.effort[:, j]
        judged = _combination(rows[:, j], y, wanted, smooth.independent)
        if judged is None:
            continue
        friction, error = judged
        size = float(np.sqrt(np.mean((y - y.mean()) ** 2)))
        if friction < -max(SURE * error, evidence.thresholds.driving_friction * size):
            value = f"{number(friction)} ± {number(error, 2)} {unit(evidence, 'effort', j)}"
            words = (
                f"its friction would drive the joint ({value} at usual "
                "speed): torque or position counts the other way round; see signs in recording.yaml"
            )
            yield problem("sign", words, joint, friction=friction, error=error, of="torque or position")


def _combination(w: Array, y: Array, wanted: Array, independent: float) -> tuple[float, float] | None:
    """Value and standard error of the combination ``wanted`` of the parameters of y = w β; None where the rows, worth
    ``independent`` samples, do not determine it."""
    norms = np.linalg.norm(w, axis=0)
    if (norms[wanted != 0.0] == 0.0).any():
        return None
    scale = np.where(norms > 0, norms, 1.0)
    u, s, vt = np.linalg.svd(w / scale, full_matrices=False)
    kept = s > SINGULAR * s[0]
    u, s, vt = u[:, kept], s[kept], vt[kept]
    seen = vt @ (wanted / scale)
    if np.linalg.norm(wanted / scale - vt.T @ seen) > SEEN * np.linalg.norm(wanted / scale):
        return None
    left = y - u @ (u.T @ y)
    variance = float(left @ left) / max(independent - len(s), 1.0)
    return float((seen / s) @ (u.T @ y)), float(np.sqrt(variance) * np.linalg.norm(seen / s))
