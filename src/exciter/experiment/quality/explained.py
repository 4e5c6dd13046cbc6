"""How much of the measured torque the robot explains, joint by joint: the plausibility test behind all others.

Explained is 1 − Σr²/Σ(τ − mean)², once by the inertias of the description, where they are known (offset, friction and
rotor inertia of every joint fitted, as are joint terms of a model that was given), and once by a plain fit of all base
parameters. A fault nobody looked for, such as the zero of a joint, leaves torque unexplained here, whatever it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.match import unknown_terms
from exciter.notes import Note, Severity, note, problem, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

WHAT = "explained torque"
SMALL = 0.03  # of the largest joint's torque: what is missing of a smaller one may be noise
SINGULAR = 1e-8  # relative singular value that is none
CLEARLY = 0.15  # of the torque: what a fit must explain beyond the description to blame the latter
CAUSES = "the zero of a joint, their order, a sign, a unit, a delay, or another robot (this cannot tell which)"
#: A problem of this name is reason enough for unexplained torque.
REASONS = frozenset(
    (
        "joint order",
        "sign",
        "zero",
        "unit of position",
        "unit of torque",
        "unit of time",
        "stuck sensor",
        "saturation",
        "jumps",
    )
)


@dataclass(frozen=True, eq=False)
class Explained:
    """Shares (n,) of the torque's variance: by the description's inertias (None where they are unknown), by a fit of
    all base parameters; negative where the model adds torque that is not there."""

    described: Array | None
    fitted: Array


def explained_of(evidence: Evidence) -> Explained | None:
    """None without torque, robot or enough rows."""
    smooth, rows, fit, robot = evidence.smooth, evidence.regressor, evidence.excitation, evidence.robot
    if smooth is None or smooth.effort is None or rows is None or fit is None or robot is None:
        return None
    effort = smooth.effort
    turns = np.array([not joint.is_prismatic for joint in robot.joints])
    std = np.std(effort, axis=0)
    largest = np.where(turns, std[turns].max(initial=0.0), std[~turns].max(initial=0.0))
    size = np.maximum(std, SMALL * largest) ** 2

    def share(left: Array) -> Array:
        return np.asarray(1.0 - np.mean(left**2, axis=0) / np.where(size > 0, size, np.inf))

    if evidence.effort_unit == "A":  # every joint in a unit of its own: parameters of one say nothing of another
        own = [_left(rows[:, j], effort[:, j]) for j in range(len(turns))]
        return Explained(None, share(np.column_stack(own)))
    described = None
    if evidence.inertias_known and evidence.survey.about.payload is None:
        left = effort - DynamicModel(robot).torque(smooth.motion)
        beside = unknown_terms(smooth.motion, evidence.given_model)
        described = share(np.column_stack([r - u @ (u.T @ r) for r, u in zip(left.T, beside, strict=True)]))
    return Explained(described, share(effort - rows @ fit.values))


def _left(w: Array, y: Array) -> Array:
    norms = np.linalg.norm(w, axis=0)
    fit, *_ = np.linalg.lstsq(w[:, norms > 0] / norms[norms > 0], y, rcond=SINGULAR)
    return np.asarray(y - (w[:, norms > 0] / norms[norms > 0]) @ fit)


def explained(evidence: Evidence) -> Iterator[Note]:
    """Always the numbers; a warning or problem where a lot is left."""
    found, limits = None if evidence.foreign_units else explained_of(evidence), evidence.thresholds
    if found is None:
        return
    joints, fitted, described = evidence.joints, found.fitted, found.described
    numbers = {"fitted": dict(zip(joints, fitted.tolist(), strict=True)), "described": None}
    if described is not None:
        numbers["described"] = dict(zip(joints, described.tolist(), strict=True))
    each = [f"{joint} {_both(found, j)}" for j, joint in enumerate(joints)]
    how = "a fit of all parameters" if described is None else "the description and by a fit of all parameters"
    yield note(WHAT, f"explained by {how}: {', '.join(each)}", **numbers)
    poor = [j for j in range(len(joints)) if fitted[j] < limits.explained]
    if poor:
        each = [f"{joints[j]} {_percent(fitted[j])} %" for j in poor]
        words = f"no parameters of this robot explain the torque: {', '.join(each)} at best; {CAUSES}"
        grave = fitted[poor].min() < limits.explained_problem
        yield (problem if grave else warning)(WHAT, words, joints=[joints[j] for j in poor], **numbers)
    if described is None:
        return
    wrong = described < np.minimum(limits.explained_described, fitted - CLEARLY)
    rest = [j for j in map(int, np.flatnonzero(wrong)) if j not in poor]
    if rest:
        each = [f"{joints[j]} {_percent(described[j])} of {_percent(fitted[j])} %" for j in rest]
        words = (
            f"the description's inertias explain little of what a fit of all parameters explains: {', '.join(each)}; "
            f"{CAUSES}"
        )
        yield warning(WHAT, words, joints=[joints[j] for j in rest], **numbers)


def with_reasons(findings: Sequence[Note]) -> tuple[Note, ...]:
    """Without complaints of unexplained torque where a problem that explains it was found; the numbers stay."""
    grave = (f for f in findings if f.severity == Severity.PROBLEM and f.subject in REASONS)
    if all("friction" in f.numbers for f in grave):  # a sign told by friction alone may itself be the consequence
        return tuple(findings)
    return tuple(f for f in findings if f.subject != WHAT or f.severity == Severity.NOTE)


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f}" if share > 0.0 else "0"


def _both(found: Explained, j: int) -> str:
    own = _percent(found.fitted[j])
    return f"{own} %" if found.described is None else f"{_percent(found.described[j])} and {own} %"
