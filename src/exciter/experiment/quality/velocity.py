"""Measured velocity against the derivative of position: factor, sign, delay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.words import number
from exciter.notes import Note, note, problem, warning

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

CLOSE = 0.1  # relative, of a factor that has a name
NAMED = {180.0 / np.pi: "degrees per second", 60.0 / (2.0 * np.pi): "rpm", np.pi / 180.0: "radians beside degrees"}
NOTHING = 1e-100  # a length below is rounding
LATE = 0.02  # periods of the cut-off
FITS = 0.05  # of the velocity's RMS may be left over for a factor to be taken seriously


def velocity(evidence: Evidence) -> Iterator[Note]:
    """q̇ measured = a (q̇ − d q̈), joint by joint: factor a and delay d [s]."""
    smooth, limits = evidence.smooth, evidence.thresholds
    if smooth is None or smooth.qd is None:
        return
    interval = evidence.survey.timing.interval
    moves = evidence.survey.values.range("q") > 0
    late: dict[str, float] = {}
    for j in np.flatnonzero(moves):
        joint, measured = evidence.joints[j], smooth.qd[:, j]
        rows = np.column_stack([smooth.motion.qd[:, j], smooth.motion.qdd[:, j]])
        length = np.linalg.norm(rows, axis=0)
        if not (length > NOTHING).all():
            continue
        (factor, slope), *_ = np.linalg.lstsq(rows / length, measured, rcond=None)
        left = measured - (rows / length) @ (factor, slope)
        factor, slope = factor / length[0], slope / length[1]
        usual = float(np.sqrt(np.mean(rows[:, 0] ** 2)))
        rest = float(np.sqrt(np.mean(left**2))) / max(abs(factor) * usual, 1e-300)
        delay = -slope / factor if factor else 0.0
        numbers = {"factor": float(factor), "delay": float(delay), "rest": rest}
        if rest > 4 * FITS:
            words = f"the measured velocity is not the derivative of position ({100 * rest:.0f} % of it is left over)"
            yield warning("velocity", words, joint, **numbers)
        elif factor < 0:
            words = (
                f"the measured velocity is {number(factor)} times the derivative of position: one of them counts the "
            )
            yield problem("velocity", words + "other way round; see signs in recording.yaml", joint, **numbers)
        elif abs(factor - 1.0) > limits.velocity_factor:
            name = next((f", {word}?" for f, word in NAMED.items() if abs(factor / f - 1.0) < CLOSE), "")
            words = f"the measured velocity is {number(factor, 4)} times the derivative of position{name}"
            yield problem("velocity", words, joint, **numbers)
        elif abs(delay) > max(2.0 * interval, LATE / smooth.cutoff):
            late[joint] = float(delay)
    if late:
        least, most = 1e3 * min(late.values()), 1e3 * max(late.values())
        words = (
            f"the measured velocity comes {number(least)} … {number(most)} ms after the position "
            f"({', '.join(late)}): it was "
        )
        yield note(
            "velocity", words + "filtered, or logged late; derivatives of position do not mix with it", delay=late
        )
