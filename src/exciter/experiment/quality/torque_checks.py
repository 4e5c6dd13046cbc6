"""Checks of torque against the model: units, joint order and signs, zeros of joints, explained torque."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.joint_order_and_signs import unclear, unknown_terms
from exciter.experiment.quality.numbers_in_words import listed, number
from exciter.experiment.quality.smoothed_log import residual
from exciter.notes import Note, Severity, note, problem, warning
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

UNIT_NAMES = {"deg": "degrees", "mm": "millimetres"}
ZERO_SEARCH_SAMPLES = 300  # that angles are compared on
ZERO_ANGLES_PER_TURN = 48  # that are tried
ZERO_NOISE_SHARE = 0.01  # of the largest joint's torque: smaller residuals are noise
LEAST_ZERO_RAD = 0.1  # centres of mass of descriptions are wrong by such an angle
EXPLAINED_SUBJECT = "explained torque"
SMALL_TORQUE_SHARE = 0.03  # of the largest joint's torque: the residual of a smaller one may be noise
CLEARLY_EXPLAINED_SHARE = 0.15  # of the torque, that a fit must explain beyond the description to blame the latter
UNEXPLAINED_CAUSES = "the zero of a joint, joint order, a sign, a unit, a delay, or another robot (not known which)"
#: Problems that explain why torque is unexplained.
EXPLAINING_SUBJECTS = {"joint order", "sign", "zero", "stuck sensor", "saturation", "jumps"}
EXPLAINING_SUBJECTS |= {"unit of position", "unit of torque", "unit of time"}


def units(evidence: Evidence) -> Iterator[Note]:
    """Positions that only make sense in another unit, and the line that says so."""
    foreign, joints, known = evidence.foreign_units, evidence.joints, evidence.robot is not None
    if not foreign:
        return
    values = evidence.survey.values
    largest = np.maximum(np.abs(values.lowest["q"]), np.abs(values.highest["q"]))
    each = [f"{joints[j]} reaches {number(largest[j], 4)} {evidence.unit('q', j)}" for j in foreign]
    names = listed([UNIT_NAMES[name] for name in dict.fromkeys(foreign.values())])
    why = f"outside the description's limits, and within them as {names}" if known else "more than two turns"
    every = [foreign.get(j, evidence.unit("q", j)) for j in range(len(joints))]
    line = every[0] if len(set(every)) == 1 else f"[{', '.join(every)}]"
    words = f"{', '.join(each)}: {why}; if that is so, set position: {{unit: {line}}}"
    joint = joints[next(iter(foreign))] if len(foreign) == 1 else None
    numbers = {"units": {joints[j]: name for j, name in foreign.items()}, "largest": largest.tolist()}
    yield (problem if known else warning)("unit of position", words, joint, **numbers)


def torque_scale(evidence: Evidence) -> Iterator[Note]:
    """Measured over model torque of every joint where both clearly follow each other."""
    match = evidence.match
    if match is None or evidence.effort_unit != "N·m" or evidence.foreign_units:
        return
    sure = np.abs(match.correlation.diagonal()) > evidence.thresholds.conclusive
    scale, most = np.abs(match.scale.diagonal()), evidence.thresholds.torque_scale
    off = sure & ((scale > most) | (scale < 1.0 / most))
    if not off.any():
        return
    what = "currents times gains" if evidence.effort_name == "current" else "measured torques"
    other = "mA" if evidence.effort_name == "current" else "mN·m"
    why = f"another unit ({other}, per cent), motor torque without gear ratio, or inertias of another robot?"
    if off[sure].all() and sure.sum() > 1:
        common = float(np.median(scale[sure]))
        words = f"{what} are {number(common)} times those of the description; {why}"
        yield problem("unit of torque", words, scale=common)
        return
    for j in map(int, np.flatnonzero(off)):
        words = f"{what} are {number(scale[j])} times those of the description, of other joints not; {why}"
        yield problem("unit of torque", words, evidence.joints[j], scale=float(scale[j]))


def order_and_signs(evidence: Evidence) -> Iterator[Note]:
    """Torque columns permuted or of the wrong sign; whole joints exchanged; axes counted the other way round."""
    joints, found = evidence.joints, evidence.arrangement
    c = np.zeros((0, 0)) if evidence.match is None else evidence.match.correlation
    for i, j in found.columns:
        words = (
            f"the torque recorded for it follows the model's torque of {joints[j]} (correlation "
            f"{c[i, j]:.2f}), not its own ({c[i, i]:.2f}); are the torque columns in the order of the joints?"
        )
        numbers = {"belongs_to": joints[j], "correlation": float(c[i, j]), "own": float(c[i, i])}
        yield problem("joint order", words, joints[i], **numbers)
    for j in found.signs:
        words = (
            f"the torque has the opposite sign of the model's (correlation {c[j, j]:.2f}); see signs, or a negative "
            "gain, in recording.yaml"
        )
        yield problem("sign", words, joints[j], correlation=float(c[j, j]), of="torque")
    if found.whole is not None:
        hypothesis, own, there = found.whole
        first, *second = (joints[j] for j in hypothesis.joints)
        then = {"own": own.tolist(), "then": there.tolist()}
        if second:
            words = (
                f"with {first} and {second[0]} exchanged the torques fit the model (Σ correlation² "
                f"{(there**2).sum():.2f} instead of {(np.maximum(own, 0) ** 2).sum():.2f}); are joints and columns in "
                "the same order?"
            )
            yield problem("joint order", words, first, belongs_to=second[0], **then)
        else:
            both = there[hypothesis.joints[0]] > 0
            what = "position and torque" if both else "the position"
            words = (
                f"the torques fit the model when {what} of this axis count the other way round; see signs in "
                "recording.yaml"
            )
            yield problem("sign", words, first, of="axis" if both else "position", **then)
    for j, (friction, error) in found.driving.items():
        words = (
            f"its friction would drive the joint ({number(friction)} ± {number(error, 2)} "
            f"{evidence.unit('effort', j)} at usual speed): torque or position counts the other way round; see signs "
            "in recording.yaml"
        )
        yield problem("sign", words, joints[j], friction=friction, error=error, of="torque or position")


def unjudged(evidence: Evidence) -> list[str]:
    """Joints whose order cannot be judged. None where inertias are unknown."""
    like = evidence.likeness
    doubtful = [] if like is None else unclear(like, evidence.thresholds)
    return [evidence.joints[j] for j in doubtful if j not in evidence.arrangement.joints]


@dataclass(frozen=True)
class JointZero:
    """Of joint number ``joint``: what must be added to its positions [rad], and the change of Σ ln(residual power)."""

    joint: int
    angle: float
    change: float


def best_zero(robot: Robot, motion: Motion, effort: Array) -> JointZero | None:
    """The single joint and angle that improve the fit most; None where no joint turns.

    Every turning joint is tried at every angle, all others as logged; offset, friction and rotor inertia are removed
    from both sides. A fit by itself would hide it: a zero that is off looks like a centre of mass elsewhere.
    """
    change = _measure(robot, motion, effort)
    turning = [j for j, joint in enumerate(robot.joints) if not joint.is_prismatic]
    angles = np.arange(1, ZERO_ANGLES_PER_TURN) * (2.0 * np.pi / ZERO_ANGLES_PER_TURN) - np.pi
    tried = [JointZero(j, float(angle), change(j, float(angle))) for j in turning for angle in angles]
    if not tried:
        return None
    best = min(tried, key=lambda zero: zero.change)
    step = 2.0 * np.pi / ZERO_ANGLES_PER_TURN
    found = minimize_scalar(
        lambda angle: change(best.joint, float(angle)),
        bounds=(best.angle - step, best.angle + step),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return JointZero(best.joint, float(found.x), min(float(found.fun), best.change))


def _measure(robot: Robot, motion: Motion, effort: Array) -> Callable[[int, float], float]:
    model, beside = DynamicModel(robot), unknown_terms(motion)
    floor = (ZERO_NOISE_SHARE * np.std(effort, axis=0).max(initial=0.0)) ** 2 + 1e-300

    def power(q: Array) -> Array:
        left = effort - model.torque(Motion(motion.time, q, motion.qd, motion.qdd))
        rest = [r - u @ (u.T @ r) for r, u in zip(left.T, beside, strict=True)]
        return np.asarray(np.mean(np.square(rest), axis=1) + floor)

    now = power(motion.q)

    def change(j: int, angle: float) -> float:
        q = motion.q.copy()
        q[:, j] += angle
        return float(np.log(power(q) / now).sum())

    return change


def zero(evidence: Evidence) -> Iterator[Note]:
    """Where order and signs are right and one angle explains much of the unexplained torque."""
    smooth, robot = evidence.smooth, evidence.robot
    if smooth is None or smooth.effort is None or robot is None or not evidence.inertias_known:
        return
    payload = evidence.survey.about.payload
    if evidence.arrangement.joints or evidence.foreign_units or evidence.effort_unit == "A" or payload is not None:
        return
    step = max(1, len(smooth) // ZERO_SEARCH_SAMPLES)
    found = best_zero(robot, smooth.motion[::step], smooth.effort[::step])
    if found is None or abs(found.angle) < LEAST_ZERO_RAD or found.change > -evidence.thresholds.zero:
        return
    degrees = number(np.degrees(found.angle), 3)
    values = ", ".join(degrees if j == found.joint else "0" for j in range(robot.n))
    words = (
        f"torques fit the description much better when {degrees}° are added to its position: is its zero that of the "
        f"description? else set offset: {{values: [{values}], unit: deg}}"
    )
    yield problem("zero", words, evidence.joints[found.joint], angle=found.angle, change=found.change)


@dataclass(frozen=True, eq=False)
class Explained:
    """Shares (n,) of the torque's variance, 1 − Σr²/Σ(τ − mean)²: by the description's inertias (None where they are
    unknown; offset, friction and rotor inertia of every joint fitted, as are joint terms of a model that was given),
    and by a plain fit of all base parameters; negative where the model adds torque that is not there.

    The plausibility test behind all others: any fault that no other check finds leaves torque unexplained here.
    """

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
    size = np.maximum(std, SMALL_TORQUE_SHARE * largest) ** 2

    def share(left: Array) -> Array:
        return np.asarray(1.0 - np.mean(left**2, axis=0) / np.where(size > 0, size, np.inf))

    if evidence.effort_unit == "A":  # every joint in a unit of its own: parameters of one say nothing of another
        own = [residual(rows[:, j], effort[:, j]) for j in range(len(turns))]
        return Explained(None, share(np.column_stack(own)))
    described = None
    if evidence.inertias_known and evidence.survey.about.payload is None:
        left = effort - DynamicModel(robot).torque(smooth.motion)
        beside = unknown_terms(smooth.motion, evidence.given_model)
        described = share(np.column_stack([r - u @ (u.T @ r) for r, u in zip(left.T, beside, strict=True)]))
    return Explained(described, share(effort - rows @ fit.values))


def explained(evidence: Evidence) -> Iterator[Note]:
    """Always the numbers; a warning or problem where much torque is unexplained."""
    found, limits = None if evidence.foreign_units else explained_of(evidence), evidence.thresholds
    if found is None:
        return
    joints, fitted, described = evidence.joints, found.fitted, found.described
    numbers = {"fitted": dict(zip(joints, fitted.tolist(), strict=True)), "described": None}
    if described is not None:
        numbers["described"] = dict(zip(joints, described.tolist(), strict=True))
    each = [f"{joint} {_both(found, j)}" for j, joint in enumerate(joints)]
    how = "a fit of all parameters" if described is None else "the description and by a fit of all parameters"
    yield note(EXPLAINED_SUBJECT, f"explained by {how}: {', '.join(each)}", **numbers)
    poor = [j for j in range(len(joints)) if fitted[j] < limits.explained]
    if poor:
        each = [f"{joints[j]} {_percent(fitted[j])} %" for j in poor]
        words = f"no parameters of this robot explain the torque: {', '.join(each)} at best; {UNEXPLAINED_CAUSES}"
        grave = fitted[poor].min() < limits.explained_problem
        yield (problem if grave else warning)(EXPLAINED_SUBJECT, words, joints=[joints[j] for j in poor], **numbers)
    if described is None:
        return
    wrong = described < np.minimum(limits.explained_described, fitted - CLEARLY_EXPLAINED_SHARE)
    rest = [j for j in map(int, np.flatnonzero(wrong)) if j not in poor]
    if rest:
        each = [f"{joints[j]} {_percent(described[j])} of {_percent(fitted[j])} %" for j in rest]
        words = (
            f"the description's inertias explain little of what a fit of all parameters explains: {', '.join(each)}; "
            f"{UNEXPLAINED_CAUSES}"
        )
        yield warning(EXPLAINED_SUBJECT, words, joints=[joints[j] for j in rest], **numbers)


def with_reasons(findings: Sequence[Note]) -> tuple[Note, ...]:
    """Without warnings of unexplained torque where a problem that explains it was found; the numbers stay."""
    grave = (f for f in findings if f.severity == Severity.PROBLEM and f.subject in EXPLAINING_SUBJECTS)
    if all("friction" in f.numbers for f in grave):  # a sign found by friction alone may itself be the consequence
        return tuple(findings)
    return tuple(f for f in findings if f.subject != EXPLAINED_SUBJECT or f.severity == Severity.NOTE)


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f}" if share > 0.0 else "0"


def _both(found: Explained, j: int) -> str:
    own = _percent(found.fitted[j])
    return f"{own} %" if found.described is None else f"{_percent(found.described[j])} and {own} %"
