"""Torques that were low-passed before they were logged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from exciter.experiment.quality.finding import Finding, note, warning
from exciter.experiment.signals.noise import earlier_low_pass

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

LOWEST = 0.3  # of half the rate: a band that is emptier than this was filtered on purpose


def low_pass(evidence: Evidence) -> Iterator[Finding]:
    """The frequency above which torque or current holds nothing."""
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
        words += "; filter the model the same way, and take noise estimates from it as lower bounds"
        yield warning("earlier low-pass", words, cutoff=limit)
