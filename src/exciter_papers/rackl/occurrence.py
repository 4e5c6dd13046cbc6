"""Figure 4 as a test that can say no: error occurrences of two models on one validation log, compared.

The figure has two histograms per joint. What can be read off them is the chance that an error of one model, drawn from
its histogram, is smaller in size than one of the other: 1/2 where both are alike, one where the histograms do not
overlap. Whether it differs from 1/2 by more than chance is told by exchanging both models in whole blocks of time,
since errors of neighbouring samples are alike: were the models equally good, every exchange would be as likely as the
log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import stats

from exciter.typing import Array, BoolArray
from exciter.validation.prediction import Prediction
from exciter_papers.paper import Finding, claim, undecided

BLOCK_TIME = 1.0  # [s] after which errors count as independent
MOST_BLOCKS = 14  # 2¹⁴ exchanges are computed, not drawn
OCCURRENCE_FALSE_ALARM_CHANCE = 0.01  # of all joints together


@dataclass(frozen=True)
class Occurrence:
    """Of one joint. closer: chance that an error of the estimated model is smaller than one of CAD. better, worse:
    chances of as much or more in either direction, were both equally good."""

    joint: int
    closer: float
    better: float
    worse: float


def occurrence(joint: int, estimated: Array, cad: Array, block: int) -> Occurrence:
    """estimated, cad (N,): errors at the same instants; block: samples that are exchanged together."""
    blocks = min(max(len(estimated) // block, 1), MOST_BLOCKS)
    ranks = stats.rankdata(np.abs(np.concatenate([estimated, cad])))  # of both together: no exchange changes them
    starts = np.linspace(0, len(estimated), blocks + 1).astype(int)[:-1]
    own, other = (np.add.reduceat(half, starts) for half in (ranks[: len(estimated)], ranks[len(estimated) :]))
    exchanged = np.array(list(product((1.0, -1.0), repeat=blocks))) @ (other - own)
    tie = 1e-9 * np.abs(own + other).sum()
    at_least, at_most = (float(np.mean(sign * exchanged >= sign * exchanged[0] - tie)) for sign in (1.0, -1.0))
    closer = 0.5 + exchanged[0] / (2.0 * len(estimated) ** 2)  # Mann–Whitney
    return Occurrence(joint, float(closer), at_least, at_most)


def occurrences(prediction: Prediction, joints: Sequence[int]) -> list[Occurrence]:
    """By the estimate and by the description, on the log of a prediction."""
    block = round(BLOCK_TIME * prediction.rate)
    errors = prediction.residual, prediction.measured - prediction.description
    return [occurrence(j, errors[0][:, j], errors[1][:, j], block) for j in joints]


def sure(chances: Sequence[float]) -> list[bool]:
    """Which of several tests say so, with one chance of a false alarm for all of them (Holm)."""
    order = np.argsort(chances)
    told, found = True, [False] * len(chances)
    for rank, k in enumerate(order):
        told = told and chances[k] < OCCURRENCE_FALSE_ALARM_CHANCE / (len(chances) - rank)
        found[k] = bool(told)
    return found


def occurrence_finding(statement: str, found: Sequence[Occurrence]) -> Finding:
    """Met where every joint is surely better, differs where one is surely worse, otherwise undecided."""
    better, worse = sure([one.better for one in found]), sure([one.worse for one in found])
    words = ", ".join(f"joint {one.joint + 1} {one.closer:.2f} ({one.better:.2g})" for one in found)
    note = (
        "chance that an error of the estimated model is smaller than one of CAD, 0.5 where both are alike (and chance "
        f"of so much or more if they were; blocks of {BLOCK_TIME:g} s exchanged, false alarm of all joints "
        f"{100 * OCCURRENCE_FALSE_ALARM_CHANCE:g} %): {words}"
    )
    if all(better) or any(worse):
        return claim(statement, all(better), note)
    unsure = ", ".join(f"joint {one.joint + 1}" for one, told in zip(found, better, strict=True) if not told)
    return undecided(statement, f"not surely better: {unsure}; {note}")


# -- the statements of the text, over many robots ----------------------------------------------------------------------


def most_of(holds: BoolArray) -> float:
    """Chance that as many of independent robots (m,) or more would have it, were it so for half of them."""
    return float(stats.binom.sf(int(np.sum(holds)) - 1, len(holds), 0.5))


def smaller_finding(statement: str, clear: BoolArray, note: str) -> Finding:
    """clear (m, k): whether the error of a joint is clearly smaller with the estimated model, robot by robot. Met where
    that is surely so for most robots in every joint, differs where it surely is not in one."""
    yes, no = (sure([most_of(column) for column in side.T]) for side in (clear, ~clear))
    if all(yes) or any(no):
        return claim(statement, all(yes), note)
    return undecided(statement, note)


def equal_finding(statement: str, clear: BoolArray, note: str) -> Finding:
    """clear (m,) of one joint: met where most robots surely have no clearly smaller error, differs where most have."""
    yes, no = (most_of(side) < OCCURRENCE_FALSE_ALARM_CHANCE for side in (~clear, clear))
    return claim(statement, yes, note) if yes or no else undecided(statement, note)
