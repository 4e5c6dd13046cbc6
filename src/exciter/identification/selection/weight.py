"""How much the prior is worth: the strongest that predicts what was left out as well as any.

Stretches left out of one recording are motion much like the rest. What the model will be asked for may not be, and
there a prior is all that holds directions the motion did not excite. So among weights that cannot be told apart by
cross-validation the strongest is taken, up to a part of the least error: a wrong prior, whose error differs so much
between stretches that nothing can be told, must not win by that.

However that comes out, links count as known to between 18 and 100 % of their size: a body of the right size is known
beforehand, and few descriptions are much more exact. What that costs and gains: ``benchmarks/parts.py``. Only
where a faint prior leaves much less is it weaker: rods whose mass was fitted to an arm in balance have not even the
right size.

How near to zero offsets of torques are: the nearest that predicts what was left out as well as any.

Over a short part of a joint's range the weight of the links, a counterbalance and an offset look alike, and the least
squares may share torque among them as they like: right there, wrong elsewhere. Weight and springs are there for a
reason; an offset is what sensors and uneven friction leave, and small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exciter.identification.information.cross_validation import Score
from exciter.identification.selection.trial import Choice, Trial
from exciter.typing import Array

WEIGHTS = 10.0 ** np.arange(1.5, -0.1, -0.5)  #: λ, from the strongest; a link is known to 1/√λ of its size
FAINT = 10.0 ** np.arange(-0.5, -3.1, -0.5)  #: λ where links of the prior have not even the right size
FAR = 2.0  #: times the mean square that a faint prior leaves: then the prior has not
WORSE = 0.1  #: of the least mean square: more than this is not "as well"
OFFSETS = (0.03, 0.1, 0.3, 1.0, None)  #: σ over the rms torque of the joint, from the nearest to zero; None: free


def choose_weight(trial: Trial, noise: Array) -> tuple[float, Choice]:
    """λ, and why; noise (J,) of the equations."""
    weights, scores, faint = WEIGHTS, trial.scores(WEIGHTS, noise), trial.scores(FAINT, noise)
    if min(score.mean for score in scores) > FAR * min(score.mean for score in faint):
        weights, scores = np.concatenate([WEIGHTS, FAINT]), [*scores, *faint]
    chosen = strongest_as_good(scores)
    weight = float(weights[chosen])
    listed = ", ".join(f"{score.mean:.3g} with {one:.3g}" for one, score in zip(weights, scores, strict=True))
    reason = f"the strongest pull to the prior that predicts as well as the best: error {listed}"
    if chosen == 0:
        reason += "; no description is believed more"
    if weight < WEIGHTS[-1]:
        reason += "; weaker than usual: links of the prior have not even the right size"
    known = f"{weight:.3g}: links of the prior count as known to {100.0 / weight**0.5:.2g} % of their size"
    return weight, Choice("estimator", known, reason, "weight")


def strongest_as_good(scores: Sequence[Score]) -> int:
    """Of scores from the strongest prior on: the first that is not worse than the best by more than the standard error
    of the difference, nor by more than ``WORSE``."""
    best = int(np.argmin([score.mean for score in scores]))
    for k, score in enumerate(scores[:best]):
        excess = score.mean - scores[best].mean
        if excess <= min(score.error_of_difference(scores[best]), WORSE * scores[best].mean):
            return k
    return best


def choose_offset(trial: Trial, weight: float, noise: Array) -> tuple[float | None, Choice]:
    """σ of offsets over the torque of their joint, and why; weight: of the prior on links, noise (J,) of equations."""
    scores = [replace(trial, offset=offset).scores(np.array([weight]), noise)[0] for offset in OFFSETS]
    chosen = strongest_as_good(scores)
    listed = ", ".join(f"{score.mean:.4g} {_within(one)}" for one, score in zip(OFFSETS, scores, strict=True))
    reason = f"the nearest to zero that predicts as well as any: error {listed}"
    return OFFSETS[chosen], Choice("estimator", _shown(OFFSETS[chosen]), reason, "offset")


def _within(offset: float | None) -> str:
    return "free" if offset is None else f"within {100.0 * offset:g} %"


def _shown(offset: float | None) -> str:
    return "free" if offset is None else f"offsets are {_within(offset)} of the joint's torque, about"
