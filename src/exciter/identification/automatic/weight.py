"""How much the prior is worth: the strongest that predicts what was left out as well as any.

Stretches left out of one recording are motion much like the rest. What the model will be asked for may not be, and
there a prior is all that holds directions the motion did not excite. So among weights that cannot be told apart by
cross-validation the strongest is taken, up to a part of the least error: a wrong prior, whose error differs so much
between stretches that nothing can be told, must not win by that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exciter.identification.automatic.choice import Choice
from exciter.identification.automatic.trial import Trial
from exciter.identification.cross_validation import Score

Array = NDArray[np.float64]
WEIGHTS = 10.0 ** np.arange(3.0, -3.1, -0.5)  #: λ, from the strongest
WORSE = 0.1  #: of the least mean square: more than this is not "as well"


def choose_weight(trial: Trial, noise: Array) -> tuple[float, Choice]:
    """λ, and why; noise (J,) of the equations."""
    scores = trial.scores(WEIGHTS, noise)
    best, chosen = int(np.argmin([score.mean for score in scores])), strongest_as_good(scores)
    weight = float(WEIGHTS[chosen])
    means = [score.mean for score in scores]
    reason = (
        f"the strongest prior whose prediction of stretches left out is as good as the best ({means[chosen]:.3g} times "
        f"the noise's square; {means[best]:.3g} with {WEIGHTS[best]:.2g}, {means[-1]:.3g} nearly without prior, "
        f"{means[0]:.3g} with {WEIGHTS[0]:.2g})"
    )
    if chosen == 0:
        reason += "; the strongest that was tried: the data hardly add to the prior"
    known = f"{weight:.3g} (each link known to {100.0 / weight**0.5:.2g} % of its size)"
    return weight, Choice("estimator: weight", known, reason)


def strongest_as_good(scores: Sequence[Score]) -> int:
    """Of scores from the strongest prior on: the first that is not worse than the best by more than the standard error
    of the difference, nor by more than ``WORSE``."""
    best = int(np.argmin([score.mean for score in scores]))
    for k, score in enumerate(scores[:best]):
        excess = score.mean - scores[best].mean
        if excess <= min(score.error_of_difference(scores[best]), WORSE * scores[best].mean):
            return k
    return best
