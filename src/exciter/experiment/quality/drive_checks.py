"""Checks of what happens to torques before they are logged: coupled drives, delay, low-pass."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter

from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.numbers_in_words import number, percent, time_span
from exciter.experiment.quality.smoothed_log import SINGULAR_ROW_VALUE, Smooth, determined, residual, span
from exciter.experiment.recording.recording_facts import AnalogFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.noise import earlier_low_pass
from exciter.notes import Note, note, warning
from exciter.typing import Array

FILTER_DELAY_TOLERANCE = 0.1  # of the delay that a filter explains: fast motion is delayed a little more
DOUBTFUL_DELAY_ERRORS = 2.0  # standard errors: a smaller delay may be none
CERTAIN_DELAY_ERRORS = 10.0  # standard errors: a larger delay is reported even if it explains little
DELAY_POWER_SHARE = 0.5  # of the residual's power without shift: a minimum so much lower is no chance
FILTERED_BAND_SHARE = 0.3  # of half the rate: a band that is emptier than this was filtered on purpose
CUTOFF_FRACTIONS = np.geomspace(1.0, 0.125, 13)  # of the frequency above which nothing is, that are tried
HIGHEST_CUTOFF_SHARE = 0.7  # of the cut-off that torques went through here: above, it would be taken for the other
FILTER_POWER_SHARE = 0.9  # of the residual power: a filter that leaves less was there
FILTER_EDGE_PERIODS = 0.5  # periods of the cut-off left out at both ends


def coupled_drives(evidence: Evidence) -> Iterator[Note]:
    """Drives that turn each other: the motor of one joint moves with another joint, too, as in many wrists.

    Its rotor and friction then act on both joints. The residual of joint j follows velocity and acceleration of joint
    k, and that of k follows j; one of the two alone may be chance.
    """
    rows, smooth, robot = evidence.regressor, evidence.smooth, evidence.robot
    if rows is None or smooth is None or smooth.effort is None or robot is None or evidence.arrangement.joints:
        return
    turning = [j for j, joint in enumerate(robot.joints) if not joint.is_prismatic and np.ptp(smooth.motion.q[:, j])]
    enough = [j for j in turning if rows[:, j].any() and determined(rows[:, j], smooth.independent)]
    spaces = {j: span(rows[:, j]) for j in enough}
    for j, k in combinations(spaces, 2):
        (one, slope), (other, _) = (_left_by_other(smooth, spaces[a], a, b) for a, b in ((j, k), (k, j)))
        if max(one, other) < evidence.thresholds.coupled:
            first, second = evidence.joints[j], evidence.joints[k]
            ratio = "" if slope > 0 else ", ratio: -1"
            term = f"{{drive-coupling: {{first: {first}, second: {second}{ratio}}}}}"
            words = (
                f"the torques of {first} and {second} follow each other's motion: of their unexplained torque, "
                f"velocity and acceleration of the other explain {percent(1.0 - one)} and {percent(1.0 - other)}; if "
                f"the motor of one turns with both joints, add {term} to terms:"
            )
            yield warning("coupled drives", words, first=first, second=second, left=[one, other])


def _left_by_other(smooth: Smooth, basis: Array, j: int, k: int) -> tuple[float, float]:
    """Share of the residual power of joint j that rotor and friction of a motor that also moves with k do not explain,
    and their viscous part, whose sign gives the directions."""
    assert smooth.effort is not None
    m = smooth.motion
    both = np.column_stack([m.qd[:, k], m.qdd[:, k], *(np.sign(m.qd[:, j] + s * m.qd[:, k]) for s in (1.0, -1.0))])
    left, own = (x - basis @ (basis.T @ x) for x in (smooth.effort[:, j], both))
    found, *_ = np.linalg.lstsq(own, left, rcond=SINGULAR_ROW_VALUE)
    power = float(left @ left)
    return (float(np.sum((left - own @ found) ** 2)) / power if power > 0 else 1.0), float(found[0])


def delay(evidence: Evidence) -> Iterator[Note]:
    """Of all joints together, and of each."""
    found, limits = evidence.delays, evidence.thresholds
    if found is None:
        return
    if found.edge is not None and found.power < DELAY_POWER_SHARE:
        words = (
            f"torque and position fit best {1e3 * abs(found.edge):.3g} ms apart, the farthest that was tried, the "
            f"torque {'after' if found.edge > 0 else 'before'} the position: are both of the same motion and clock?"
        )
        yield warning("delay", words, edge=found.edge, residual=found.power)
    if not found.known:
        return
    mean, error = found.delay, found.error
    interval = evidence.survey.timing.interval
    effect = abs(mean) * found.change
    numbers = {
        "delay": mean,
        "error": error,
        "samples": mean / interval,
        "per_joint": {evidence.joints[j]: value for j, (value, _) in found.joints.items()},
        "per_joint_error": {evidence.joints[j]: value for j, (_, value) in found.joints.items()},
    }
    where = "after" if mean >= 0 else "before"
    words = (
        f"{number(1e3 * abs(mean))} ± {number(1e3 * error, 2)} ms {where} the position ({mean / interval:+.2g} samples)"
    )
    if abs(mean) > DOUBTFUL_DELAY_ERRORS * error:
        words = f"the torque comes {words}"
    else:
        words = f"none is found between torque and position: the torque fits best {words}"
    sure = abs(mean) > max(limits.delay_errors * error, limits.delay_samples * interval)
    if evidence.regressor is None:  # what q, q̇, q̈ of each joint alone cannot explain may look like a delay
        words += ", roughly: without a robot coupled motion is not modelled"
        sure &= found.power < DELAY_POWER_SHARE
    beyond_doubt = abs(mean) > CERTAIN_DELAY_ERRORS * error
    given = evidence.survey.about.filter
    expected = 0.0 if given is None else group_delay(given)
    allowed = max(limits.delay_errors * error, limits.delay_samples * interval, FILTER_DELAY_TOLERANCE * expected)
    if given is not None and abs(mean - expected) < allowed:
        words += f", as the filter given explains (expected {time_span(expected)})"
        yield note("delay", words, expected=expected, **numbers)
    elif sure and effect > limits.delay_effect and (beyond_doubt or found.power < limits.delay_power):
        words += f": it changes the torque by {percent(effect)}; nothing is shifted by itself"
        if given is None:
            words += "; if an analogue filter did it, set filter: {order: …, cutoff: …}"
        else:
            words += f"; the filter given explains {time_span(expected)} of it"
        yield warning("delay", words, expected=expected, **numbers)
    else:
        yield note("delay", words, expected=expected, **numbers)


def group_delay(given: AnalogFilter) -> float:
    """[s] of slow signals through a Butterworth filter: −d arg H/dω at ω = 0."""
    _, denominator = butter(given.order, 2.0 * np.pi * given.cutoff, analog=True)
    return float(denominator[-2] / denominator[-1])


def low_pass(evidence: Evidence) -> Iterator[Note]:
    """The frequency above which torque or current holds nothing, and the cut-off that fits: the steps of dry friction
    show it, which are rounded."""
    efforts = [piece.effort for piece in evidence.pieces if piece.effort is not None]
    if not efforts:
        return
    rate = evidence.survey.timing.rate
    limit = earlier_low_pass(max(efforts, key=len), rate)
    if limit is None:
        return
    known = evidence.survey.about.filter
    words = f"the torque holds nothing above {limit:.3g} Hz: it was low-passed before it was logged"
    if known is not None:
        yield note("earlier low-pass", words + f", as is known ({known.cutoff:g} Hz)", cutoff=limit)
    elif limit < FILTERED_BAND_SHARE * 0.5 * rate:
        numbers = {"cutoff": limit}
        if (found := source_cutoff(evidence, limit)) is not None:
            numbers["half"], left = found
            words += (
                f", at about {number(numbers['half'], 2)} Hz (−6 dB): with the model filtered alike, "
                f"{percent(1.0 - left)} less of it is unexplained"
            )
        words += "; filter the model the same way, and take noise estimates from it as lower bounds"
        yield warning("earlier low-pass", words, **numbers)


def source_cutoff(evidence: Evidence, limit: float) -> tuple[float, float] | None:
    """[Hz] of the zero-phase low-pass (−6 dB) through which base parameters explain the torque best, and the residual
    (RMS) over that without it; None where it is not determined."""
    rows, smooth = evidence.regressor, evidence.smooth
    if rows is None or smooth is None or smooth.effort is None or len(smooth) < 3 * rows.shape[2]:
        return None
    rate = 1.0 / float(np.median(np.diff(smooth.motion.time)))
    cutoffs = [float(f) for f in limit * CUTOFF_FRACTIONS if f < HIGHEST_CUTOFF_SHARE * smooth.cutoff]
    if len(cutoffs) < 3:
        return None
    inside = _inside(smooth, FILTER_EDGE_PERIODS / cutoffs[-1])
    powers = np.array([_power(_filtered(rows, smooth, f, rate), smooth.effort, inside) for f in (None, *cutoffs)])
    best = int(np.argmin(powers[1:])) + 1
    if best in (1, len(cutoffs)) or powers[best] > powers[0] + np.log(FILTER_POWER_SHARE):
        return None
    a, b, c = powers[best - 1 : best + 2]
    shift = 0.5 * (a - c) / (a - 2.0 * b + c)  # of the parabola through three points of a geometric series
    cutoff = cutoffs[best - 1] * float(CUTOFF_FRACTIONS[1] / CUTOFF_FRACTIONS[0]) ** float(shift)
    return cutoff, float(np.exp(0.5 * (powers[best] - powers[0])))


def _filtered(rows: Array, smooth: Smooth, cutoff: float | None, rate: float) -> Array:
    """(N, n, b) rows through the filter, piece by piece."""
    if cutoff is None:
        return rows
    filtered = np.empty_like(rows)
    for k in np.unique(smooth.piece):
        own = smooth.piece == k
        filtered[own] = Butterworth(cutoff).zero_phase(rows[own], rate)
    return filtered


def _inside(smooth: Smooth, edge: float) -> NDArray[np.bool_]:
    """(N,) whether a row is ``edge`` [s] or more from the ends of its piece."""
    time, keep = smooth.motion.time, np.zeros(len(smooth), dtype=bool)
    for k in np.unique(smooth.piece):
        own = smooth.piece == k
        keep |= own & (time > time[own][0] + edge) & (time < time[own][-1] - edge)
    return keep


def _power(rows: Array, effort: Array, inside: NDArray[np.bool_]) -> float:
    """Mean over the joints of the logarithm of the residual power of a fit of each."""
    left = [np.mean(residual(rows[inside, j], y) ** 2) + 1e-300 for j, y in enumerate(effort[inside].T)]
    return float(np.mean(np.log(left)))
