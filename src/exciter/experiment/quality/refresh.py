"""How finely and how often a channel is measured: quantisation, and values held over several samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.tally import runs
from exciter.experiment.quality.words import number, unit
from exciter.experiment.signals.noise import quantisation_step
from exciter.notes import Note, note, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

SHORT = 20  # samples: what stays longer rests, or is stuck
COARSE = 5.0  # steps of quantisation that a held channel makes at once
VISIBLE = 1e-5  # of the range: finer steps are digits of a text file
FEWEST = 200  # values to judge by


def quantisation(evidence: Evidence) -> Iterator[Note]:
    """The step of which all values are multiples."""
    for name in evidence.signals:
        values = getattr(evidence.windows[0], name)
        steps = np.array([quantisation_step(column[np.isfinite(column)]) for column in values.T])
        steps[steps < VISIBLE * evidence.survey.values.range(name)] = 0.0
        if seen := [int(j) for j in np.flatnonzero(steps)]:
            each = (f"{number(steps[j], 2)} {unit(evidence, name, j)} ({evidence.joints[j]})" for j in seen)
            words = f"{name} comes in steps of {', '.join(each)}"
            yield note("quantisation", words, signal=name, steps=[float(step) for step in steps])


def held(evidence: Evidence) -> Iterator[Note]:
    """Channels refreshed more slowly than they are logged."""
    for name in evidence.signals:
        for j, joint in enumerate(evidence.joints):
            shares = [_repeats(getattr(window, name)[:, j]) for window in evidence.windows]
            share = float(np.mean(shares))
            if share > evidence.thresholds.held:
                words = (
                    f"{100 * share:.0f} % of the values of {name} repeat the one before: it is refreshed about every "
                    f"{1.0 / (1.0 - share):.1f} samples and late by half of that; log it at its own rate"
                )
                yield warning("held values", words, joint, signal=name, share=share)


def _repeats(x: Array) -> float:
    """Share of values that repeat the one before while the channel moves by more than a few steps of quantisation."""
    step = np.abs(np.diff(x))
    moving = step[(step > 0) & np.isfinite(step)]
    if len(step) < FEWEST or not moving.size or np.median(moving) < COARSE * np.quantile(moving, 0.01):
        return 0.0
    _, lengths = runs(step == 0.0)
    repeated = int(lengths[lengths < SHORT].sum())
    return repeated / (repeated + moving.size)
