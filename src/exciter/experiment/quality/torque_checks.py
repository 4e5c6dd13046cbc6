"""Checks of torque against the model: joint order and signs, zeros of joints, explained torque; and of what happens to
torques before they are logged: coupled drives, delay, low-pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.explanations import Change
from exciter.experiment.quality.joint_order_and_signs import unknown_terms
from exciter.experiment.quality.numbers_in_words import number, percent, time_span
from exciter.experiment.quality.smoothed_log import SINGULAR_ROWS, EffortRows, determined, residual, span, unexplained
from exciter.experiment.recording.signal_filters import AnyAnalogFilter, filters_of, named_filters
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.noise import earlier_low_pass, estimate_noise
from exciter.notes import Note, Severity, note, problem, warning
from exciter.typing import Array, BoolArray

EXPLAINED_SUBJECT = "explained torque"
SMALL_TORQUE_SHARE = 0.03  # of the largest joint's torque: the residual of a smaller one may be noise
CLEARLY_EXPLAINED_SHARE = 0.15  # of the torque, that a fit must explain beyond the description to blame the latter
NOISE_ALONE_RATIO = 1.5  # of powers: what is left beside the noise of samples, within which it may be that alone
UNEXPLAINED_CAUSES = "the zero of a joint, joint order, a sign, a unit, a delay, or another robot (not known which)"
#: Problems that explain why torque is unexplained.
EXPLAINING_SUBJECTS = {"joint order", "sign", "zero", "stuck sensor", "saturation", "jumps"}
EXPLAINING_SUBJECTS |= {"unit of position", "unit of torque", "unit of time", "contacts"}
FILTER_DELAY_TOLERANCE = 0.1  # of the delay that a filter explains: fast motion is delayed a little more
DOUBTFUL_DELAY_ERRORS = 2.0  # standard errors: a smaller delay may be none
CERTAIN_DELAY_ERRORS = 10.0  # standard errors: a larger delay is reported even if it explains little
DELAY_POWER_SHARE = 0.5  # of the residual's power without shift: a minimum so much lower is no chance
FILTERED_BAND_SHARE = 0.3  # of half the rate: a band that is emptier than this was filtered on purpose
CUTOFF_FRACTIONS = np.geomspace(1.0, 0.125, 13)  # of the frequency above which nothing is, that are tried
HIGHEST_CUTOFF_SHARE = 0.7  # of the cut-off that torques went through here: above, it would be taken for the other
FILTER_POWER_SHARE = 0.9  # of the residual power: a filter that leaves less was there
FILTER_EDGE_PERIODS = 0.5  # periods of the cut-off left out at both ends


def order_and_signs(evidence: Evidence) -> Iterator[Note]:
    """What no believable robot explains as it is: torque or position columns exchanged, or that count the other way
    round, torques in another unit, zeros elsewhere. Where it is not sure, a warning."""
    found = evidence.explanation
    if found is not None:
        for change, rivals in zip(found.changes, found.rivals, strict=True):
            yield from _told(evidence, change, problem, rivals)
        if found.possible is not None:
            yield from _told(evidence, found.possible, warning, ())
    for j, (friction, error) in evidence.arrangement.driving.items():
        unit = evidence.unit("torque" if evidence.effort_unit == "N·m" else "current", j)
        words = f"its friction would drive the joint ({number(friction)} ± {number(error, 2)} {unit} at usual speed): "
        words += "torque or position counts the other way round; see signs in recording.yaml"
        yield problem("sign", words, evidence.joints[j], friction=friction, error=error, of="torque or position")


def _told(evidence: Evidence, change: Change, grave: Callable[..., Note], rivals: tuple[int, ...]) -> Iterator[Note]:
    joints, c, kind = evidence.joints, evidence.arrangement.correlation, change.kind
    numbers: dict[str, Any] = {"gain": change.gain, "rivals": [joints[j] for j in rivals]}
    likely = change.gain > evidence.explanation.needed if evidence.explanation is not None else False
    doubt = "much is unexplained either way" if likely else "bodies unlike those of the description explain it, too"
    unsure = "" if grave is problem else f"; not sure: {doubt}"
    unsure += f"; or the same of {' or '.join(numbers['rivals'])}" if rivals else ""
    first, *second = (joints[j] for j in change.joints)
    if kind == "unit":
        yield _other_unit(evidence, change, grave)
    elif kind == "torques":
        for j in change.joints:
            i = change.then.torques[j]
            reversed_too = ", with the other sign" if change.then.factor[j] < 0.0 else ""
            words = f"the torque recorded for it follows the model's torque of {joints[j]} (correlation {c[i, j]:.2f})"
            words += f"{reversed_too}, not its own ({c[i, i]:.2f}); are the torque columns in the order of the joints?"
            numbers |= {"belongs_to": joints[j], "correlation": float(c[i, j]), "own": float(c[i, i])}
            yield grave("joint order", words + unsure, joints[i], **numbers)
    elif kind in ("positions", "joints"):
        what, order = ("positions of ", "position columns") if kind == "positions" else ("", "columns")
        words = f"with {what}{first} and {second[0]} exchanged a robot near the description explains the torques; are "
        words += f"joints and {order} in the same order?{unsure}"
        yield grave("joint order", words, first, belongs_to=second[0], of=kind, **numbers)
    elif kind == "torque sign":
        for j in change.joints:
            words = f"the torque has the opposite sign of the model's (correlation {c[j, j]:.2f}); see signs, or a "
            words += f"negative gain, in recording.yaml{unsure}"
            yield grave("sign", words, joints[j], correlation=float(c[j, j]), of="torque", **numbers)
    elif kind == "zero":
        degrees = number(np.degrees(change.angle), 3)
        values = ", ".join(degrees if k == change.joints[0] else "0" for k in range(len(joints)))
        words = (
            f"robots near the description have these torques when {degrees}° are added to its position: is its zero "
        )
        words += f"that of the description? else set offset: {{values: [{values}], unit: deg}}{unsure}"
        yield grave("zero", words, first, angle=change.angle, **numbers)
    else:
        both, of = ("position and torque", "axis") if kind == "axis" else ("the positions", "position")
        words = f"the torques fit the model when {both} of this axis count the other way round"
        yield grave("sign", f"{words}; see signs in recording.yaml{unsure}", first, of=of, **numbers)


def _other_unit(evidence: Evidence, change: Change, grave: Callable[..., Note]) -> Note:
    """Measured over model torque, of one joint or of all, beyond what descriptions may err."""
    of_current, one = evidence.effort_name == "current", len(change.joints) == 1
    what, other = ("currents times gains", "mA") if of_current else ("measured torques", "mN·m")
    why = f"another unit ({other}, per cent), motor torque without gear ratio, or inertias of another robot?"
    joint, others = (evidence.joints[change.joints[0]], ", of other joints not") if one else (None, "")
    size = 1.0 / change.then.factor[change.joints[0]]
    words = f"{what} are {number(size)} times those of the description{others}; {why}"
    return grave("unit of torque", words, joint, scale=size, gain=change.gain)


def explained_of(evidence: Evidence) -> tuple[Array | None, Array] | None:
    """Shares (n,) of the torque's variance, 1 − Σr²/Σ(τ − mean)²: by the description's inertias (None where they are
    unknown; offset, friction and rotor inertia of every joint fitted, as are joint terms of a model that was given),
    and by a plain fit of all base parameters; negative where the model adds torque that is not there. None without
    torque, robot or enough rows. Any fault that no other check finds leaves torque unexplained here."""
    rows, fit = evidence.rows, evidence.excitation
    if rows is None or fit is None:
        return None
    effort, regressor, motion, robot = rows.effort, rows.regressor, rows.smooth.motion, rows.model.robot
    turns = np.array([not joint.is_prismatic for joint in robot.joints])
    std = np.std(effort, axis=0)
    largest = np.where(turns, std[turns].max(initial=0.0), std[~turns].max(initial=0.0))
    size = np.maximum(std, SMALL_TORQUE_SHARE * largest) ** 2

    def share(left: Array) -> Array:
        return np.asarray(1.0 - np.mean(left**2, axis=0) / np.where(size > 0, size, np.inf))

    if evidence.effort_unit == "A":  # every joint in a unit of its own: parameters of one say nothing of another
        return None, share(np.column_stack([residual(regressor[:, j], effort[:, j]) for j in range(len(turns))]))
    described = None
    if evidence.inertias_known and not evidence.loaded:
        left, beside = effort - DynamicModel(robot).torque(motion), unknown_terms(motion, evidence.given_model)
        left[:, list(evidence.silent)] = 0.0
        described = share(np.column_stack(list(map(unexplained, beside, left.T))))
    return described, share(effort - regressor @ fit.values)


def noise_alone(evidence: Evidence) -> BoolArray:
    """(n,): a plain fit of all base parameters leaves no more of a joint's torque than noise of single samples does,
    which the low-pass lets through; a torque that was low-passed before has less in these than it has."""
    rows, fit, piece = evidence.rows, evidence.excitation, max(evidence.pieces, key=len)
    assert rows is not None
    assert fit is not None
    assert piece.torque is not None
    share = rows.smooth.noise_share(1.0 / evidence.timing.interval)
    passed = share * estimate_noise(piece.time, piece.torque).sigma ** 2
    left = np.mean((rows.effort - rows.regressor @ fit.values) ** 2, axis=0)
    return np.asarray(left <= NOISE_ALONE_RATIO * passed)


def explained(evidence: Evidence) -> Iterator[Note]:
    """Always the numbers; a warning or problem where much torque is unexplained."""
    found, limits = explained_of(evidence), evidence.limits
    if found is None or evidence.too_short:
        return
    joints, (described, fitted) = evidence.joints, found
    shares = [fitted] if described is None else [described, fitted]
    how = "the description and by a fit of all parameters" if len(shares) > 1 else "a fit of all parameters"
    each = [[f"{100.0 * max(share, 0.0):.0f}" for share in own] for own in zip(*shares, strict=True)]
    heard = [j for j in range(len(joints)) if j not in evidence.silent]
    words = ", ".join(f"{joints[j]} {' and '.join(each[j])} %" for j in heard)
    words += "".join(f", {joints[j]} has no torque" for j in evidence.silent if j not in evidence.held)
    by_joint = [{joints[j]: float(own[j]) for j in heard} for own in shares]
    numbers = {"fitted": by_joint[-1], "described": by_joint[0] if len(shares) > 1 else None}
    yield note(EXPLAINED_SUBJECT, f"explained by {how}: {words}", **numbers)
    low, noise = np.flatnonzero(fitted < limits.explained), np.zeros(len(joints), dtype=np.bool_)
    if low.size:
        noise[low] = noise_alone(evidence)[low]
    for j in np.flatnonzero(noise).tolist():
        words = "its torque is noise for the most part, as differences from sample to sample have it: nothing tells "
        words += "whether it is its own; let it move faster, or carry more"
        yield warning(EXPLAINED_SUBJECT, words, joints[j], noise=True)
    if poor := low[~noise[low]].tolist():
        words = ", ".join(f"{joints[j]} {each[j][-1]} %" for j in poor)
        words = f"no parameters of this robot explain the torque: {words} at best; {UNEXPLAINED_CAUSES}"
        grave = fitted[poor].min() < limits.explained_problem
        yield (problem if grave else warning)(EXPLAINED_SUBJECT, words, joints=[joints[j] for j in poor], **numbers)
    if described is None:
        return
    wrong = described < np.minimum(limits.explained_described, fitted - CLEARLY_EXPLAINED_SHARE)
    if rest := [j for j in np.flatnonzero(wrong & ~noise).tolist() if j not in poor]:
        words = "the description's inertias explain little of what a fit of all parameters explains: "
        words += f"{', '.join(f'{joints[j]} {each[j][0]} of {each[j][1]} %' for j in rest)}; {UNEXPLAINED_CAUSES}"
        yield warning(EXPLAINED_SUBJECT, words, joints=[joints[j] for j in rest], **numbers)


def with_reasons(findings: Sequence[Note]) -> tuple[Note, ...]:
    """Without warnings of unexplained torque where a problem that explains it was found; the numbers stay."""
    grave = (f for f in findings if f.severity == Severity.PROBLEM and f.subject in EXPLAINING_SUBJECTS)
    if all("friction" in f.numbers for f in grave):  # a sign found by friction alone may itself be the consequence
        return tuple(findings)
    return tuple(f for f in findings if f.subject != EXPLAINED_SUBJECT or f.severity == Severity.NOTE)


def coupled_drives(evidence: Evidence) -> Iterator[Note]:
    """The motor of one joint moves with another joint, too, as in many wrists; its rotor and friction act on both. The
    residual of j follows velocity and acceleration of k, and that of k follows j; one of the two may be chance."""
    rows = evidence.rows
    if rows is None or evidence.changed or evidence.arrangement.driving:
        return
    spaces = {}
    for j, w in enumerate(np.moveaxis(rows.regressor, 1, 0)):
        turns = not rows.model.robot.joints[j].is_prismatic and np.ptp(rows.smooth.motion.q[:, j]) > 0
        if turns and w.any() and determined(w, rows.smooth.independent):
            spaces[j] = span(w)
    for j, k in combinations(spaces, 2):
        (one, slope), (other, _) = (_left_by_other(rows, spaces[a], a, b) for a, b in ((j, k), (k, j)))
        if max(one, other) < evidence.limits.coupled:
            first, second = evidence.joints[j], evidence.joints[k]
            ratio = "" if slope > 0 else ", ratio: -1"
            term = f"{{drive-coupling: {{first: {first}, second: {second}{ratio}}}}}"
            words = f"the torques of {first} and {second} follow each other's motion: of their unexplained torque, "
            words += f"velocity and acceleration of the other explain {percent(1.0 - one)} and {percent(1.0 - other)}; "
            words += f"if the motor of one turns with both joints, add {term} to terms:"
            yield warning("coupled drives", words, first=first, second=second, left=[one, other])


def _left_by_other(rows: EffortRows, basis: Array, j: int, k: int) -> tuple[float, float]:
    """Share of the residual power of joint j that rotor and friction of a motor that also moves with k do not explain,
    and their viscous part, whose sign gives the directions."""
    m = rows.smooth.motion
    both = np.column_stack([m.qd[:, k], m.qdd[:, k], *(np.sign(m.qd[:, j] + s * m.qd[:, k]) for s in (1.0, -1.0))])
    left, own = unexplained(basis, rows.effort[:, j]), unexplained(basis, both)
    found, *_ = np.linalg.lstsq(own, left, rcond=SINGULAR_ROWS)
    power = float(left @ left)
    return (float(np.sum((left - own @ found) ** 2)) / power if power > 0 else 1.0), float(found[0])


def delay(evidence: Evidence) -> Iterator[Note]:
    found, limits = evidence.delays, evidence.limits
    if found is None:
        return
    if found.edge is not None and found.power < DELAY_POWER_SHARE:
        words = f"torque and position fit best {1e3 * abs(found.edge):.3g} ms apart, the farthest that was tried, the "
        words += f"torque {'after' if found.edge > 0 else 'before'} the position: are both of the same motion and "
        yield warning("delay", f"{words}clock?", edge=found.edge, residual=found.power)
    if not found.known:
        return
    mean, error, interval = found.delay, found.error, evidence.timing.interval
    effect = abs(mean) * found.change
    numbers: dict[str, Any] = {"delay": mean, "error": error, "samples": mean / interval}
    numbers["per_joint"] = {evidence.joints[j]: value for j, (value, _) in found.joints.items()}
    numbers["per_joint_error"] = {evidence.joints[j]: value for j, (_, value) in found.joints.items()}
    doubtful = abs(mean) <= DOUBTFUL_DELAY_ERRORS * error
    fits = "none is found between torque and position: the torque fits best" if doubtful else "the torque comes"
    words = f"{fits} {number(1e3 * abs(mean))} ± {number(1e3 * error, 2)} ms {'after' if mean >= 0 else 'before'} the "
    words += f"position ({mean / interval:+.2g} samples)"
    least = max(limits.delay_errors * error, limits.delay_samples * interval)
    sure = abs(mean) > least
    if evidence.rows is None:  # what q, q̇, q̈ of each joint alone cannot explain may look like a delay
        words += ", roughly: without a robot coupled motion is not modelled"
        sure &= found.power < DELAY_POWER_SHARE
    beyond_doubt = abs(mean) > CERTAIN_DELAY_ERRORS * error
    given, grave = evidence.about.filter, note
    expected = 0.0 if given is None else filter_delay(given, len(evidence.joints))
    if given is not None and abs(mean - expected) < max(least, FILTER_DELAY_TOLERANCE * abs(expected)):
        words += f", as the filter given explains (expected {time_span(expected)})"
    elif sure and effect > limits.delay_effect and (beyond_doubt or found.power < limits.delay_power):
        grave = warning
        words += f": it changes the torque by {percent(effect)}; nothing is shifted by itself; "
        words += "if an analogue filter did it, set filter: {order: …, cutoff: …}" if given is None else ""
        words += "" if given is None else f"the filter given explains {time_span(expected)} of it"
    yield grave("delay", words, expected=expected, **numbers)


def filter_delay(given: AnyAnalogFilter, n: int) -> float:
    """[s] by which the torque comes after the position through their filters, mean of the joints."""
    torque, position = (
        sum(0.0 if one is None else one.delay for one in filters_of(given, name, n)) / n
        for name in ("torque", "position")
    )
    return torque - position


def low_pass(evidence: Evidence) -> Iterator[Note]:
    """The frequency above which the effort holds nothing, and the cut-off that fits: it rounds dry friction's steps."""
    efforts, rate = [x for piece in evidence.pieces if (x := piece.torque) is not None], evidence.timing.rate
    limit = earlier_low_pass(max(efforts, key=len), rate) if efforts else None
    if limit is None:
        return
    known = evidence.about.filter
    words = f"the torque holds nothing above {limit:.3g} Hz: it was low-passed before it was logged"
    if known is not None:
        yield note("earlier low-pass", words + f", as is known ({named_filters(known)})", cutoff=limit)
    elif limit < FILTERED_BAND_SHARE * 0.5 * rate:
        numbers = {"cutoff": limit}
        if evidence.rows is not None and (found := source_cutoff(evidence.rows, limit)) is not None:
            numbers["half"], left = found
            words += f", at about {number(numbers['half'], 2)} Hz (−6 dB): with the model filtered alike, "
            words += f"{percent(1.0 - left)} less of it is unexplained"
        words += "; filter the model the same way, and take noise estimates from it as lower bounds"
        yield warning("earlier low-pass", words, **numbers)


def source_cutoff(rows: EffortRows, limit: float) -> tuple[float, float] | None:
    """[Hz] of the zero-phase low-pass (−6 dB) through which base parameters explain the torque best, and the residual
    (RMS) over that without it; None where it is not determined."""
    smooth, time = rows.smooth, rows.smooth.motion.time
    cutoffs = [float(f) for f in limit * CUTOFF_FRACTIONS if f < HIGHEST_CUTOFF_SHARE * smooth.cutoff]
    if len(smooth) < 3 * rows.regressor.shape[2] or len(cutoffs) < 3:
        return None
    rate, edge = 1.0 / float(np.median(np.diff(time))), FILTER_EDGE_PERIODS / cutoffs[-1]  # [s] at the ends of a piece
    pieces = [smooth.piece == k for k in np.unique(smooth.piece)]
    moving = [np.flatnonzero(w.any(axis=0)) for w in rows.regressor.swapaxes(0, 1)]  # columns that a joint has
    inside = np.any([own & (time > time[own][0] + edge) & (time < time[own][-1] - edge) for own in pieces], axis=0)

    def power(cutoff: float | None) -> float:
        """Mean over the joints of the logarithm of the residual power of a fit of each to rows through the filter."""
        left = list[float]()
        for j, y in enumerate(rows.effort[inside].T):
            if j not in rows.silent:
                w = rows.regressor[:, j, moving[j]]
                for own in pieces:
                    w[own] = w[own] if cutoff is None else Butterworth(cutoff).zero_phase(w[own], rate)
                left.append(float(np.mean(residual(w[inside], y) ** 2)) + 1e-300)
        return float(np.mean(np.log(left)))

    powers = np.array([power(cutoff) for cutoff in (None, *cutoffs)])
    best = int(np.argmin(powers[1:])) + 1
    if best in (1, len(cutoffs)) or powers[best] > powers[0] + np.log(FILTER_POWER_SHARE):
        return None
    a, b, c = powers[best - 1 : best + 2]
    shift = 0.5 * (a - c) / (a - 2.0 * b + c)  # of the parabola through three points of a geometric series
    cutoff = cutoffs[best - 1] * float(CUTOFF_FRACTIONS[1] / CUTOFF_FRACTIONS[0]) ** float(shift)
    return cutoff, float(np.exp(0.5 * (powers[best] - powers[0])))


CHECKS_OF_TORQUE = (order_and_signs, explained, coupled_drives, delay, low_pass)
