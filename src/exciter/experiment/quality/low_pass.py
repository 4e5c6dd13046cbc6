"""Torques that were low-passed before they were logged, and where: dry friction betrays it, whose steps they round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.quality.smooth import Smooth
from exciter.experiment.quality.words import number, percent
from exciter.experiment.signals.low_pass import Butterworth
from exciter.experiment.signals.noise import earlier_low_pass
from exciter.notes import Note, note, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

LOWEST = 0.3  # of half the rate: a band that is emptier than this was filtered on purpose
PARTS = np.geomspace(1.0, 0.125, 13)  # of the frequency above which nothing is: where the filter may have been
HIGHEST = 0.7  # of the cut-off that torques went through here: above, it would be taken for the other
FITS = 0.9  # of the residual power: a filter that leaves less was there
EDGE = 0.5  # periods of the cut-off left out at both ends


def low_pass(evidence: Evidence) -> Iterator[Note]:
    """The frequency above which torque or current holds nothing, and the cut-off that fits."""
    pieces = [piece for piece in evidence.pieces if piece.effort is not None]
    if not pieces:
        return
    effort = max((piece.effort for piece in pieces if piece.effort is not None), key=len)
    rate = evidence.survey.timing.rate
    limit = earlier_low_pass(effort, rate)
    if limit is None:
        return
    known = evidence.survey.about.filter
    words = f"the torque holds nothing above {limit:.3g} Hz: it was low-passed before it was logged"
    if known is not None:
        yield note("earlier low-pass", words + f", as is known ({known.cutoff:g} Hz)", cutoff=limit)
    elif limit < LOWEST * 0.5 * rate:
        numbers = {"cutoff": limit}
        if (found := source_cutoff(evidence, limit)) is not None:
            numbers["half"], left = found
            words += (
                f", at about {number(numbers['half'], 2)} Hz (−6 dB): filtered alike, the robot leaves "
                f"{percent(1.0 - left)} less of it unexplained"
            )
        words += "; filter the model the same way, and take noise estimates from it as lower bounds"
        yield warning("earlier low-pass", words, **numbers)


def source_cutoff(evidence: Evidence, limit: float) -> tuple[float, float] | None:
    """[Hz] of the zero-phase low-pass (−6 dB) through which base parameters explain the torque best, and what it leaves
    of the residual (RMS) without it; None where that cannot be told."""
    rows, smooth = evidence.regressor, evidence.smooth
    if rows is None or smooth is None or smooth.effort is None or len(smooth) < 3 * rows.shape[2]:
        return None
    rate = 1.0 / float(np.median(np.diff(smooth.motion.time)))
    cutoffs = [float(f) for f in limit * PARTS if f < HIGHEST * smooth.cutoff]
    if len(cutoffs) < 3:
        return None
    inside = _inside(smooth, EDGE / cutoffs[-1])
    powers = np.array([_power(_filtered(rows, smooth, f, rate), smooth.effort, inside) for f in (None, *cutoffs)])
    best = int(np.argmin(powers[1:])) + 1
    if best in (1, len(cutoffs)) or powers[best] > powers[0] + np.log(FITS):
        return None
    a, b, c = powers[best - 1 : best + 2]
    shift = 0.5 * (a - c) / (a - 2.0 * b + c)  # of the parabola through three points of a geometric series
    return cutoffs[best - 1] * float(PARTS[1] / PARTS[0]) ** float(shift), float(
        np.exp(0.5 * (powers[best] - powers[0]))
    )


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
    """Mean over the joints of the logarithm of what a fit of each leaves."""
    left = []
    for j, y in enumerate(effort[inside].T):
        w = rows[inside, j]
        norms = np.linalg.norm(w, axis=0)
        w = w[:, norms > 0] / norms[norms > 0]
        found, *_ = np.linalg.lstsq(w, y, rcond=1e-8)
        left.append(np.mean((y - w @ found) ** 2) + 1e-300)
    return float(np.mean(np.log(left)))
