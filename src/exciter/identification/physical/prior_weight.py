"""How much a prior is worth, by blocked cross-validation: the weight whose fits predict stretches of time left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter.identification.information.compressed import Compressed
from exciter.identification.information.cross_validation import Score, cross_validate
from exciter.identification.physical.bounds import Cone
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.metric import Metric
from exciter.identification.physical.objective import Objective, Sides
from exciter.identification.physical.reference import Reference
from exciter.typing import Array

LOWEST = -4  # log10 λ: as little as is always there


@dataclass(frozen=True, eq=False)
class WeightChoice:
    """weights λ (K,) descending, the scores of their fits on what was left out, and which was chosen."""

    weights: Array
    scores: tuple[Score, ...]
    chosen: int

    @property
    def weight(self) -> float:
        return float(self.weights[self.chosen])

    @property
    def sentence(self) -> str:
        means = [score.mean for score in self.scores]
        text = (
            f"weight of the prior {self.weight:.3g} (each link known to {100.0 / np.sqrt(self.weight):.3g} % of its "
            f"size), by cross-validation over {len(self.scores[0].squares)} stretches of time: mean squared residual "
            f"{means[self.chosen]:.4g} of the noise's, {means[-1]:.4g} nearly without prior, {means[0]:.4g} nearly "
            "without data"
        )
        if self.chosen == 0:
            text += "; the strongest that was tried: the data hardly add to the prior"
        return text


def choose_weight(
    equations: Equations, reference: Reference, metric: Metric, noise: Array, cones: Sequence[Cone] = ()
) -> WeightChoice:
    """The weight with the smallest mean squared residual; noise (J,): weights of rows, the same for all fits.

    No standard-error rule toward stronger priors: one stretch that a prior gets wrong makes that error large, and a
    prior that is wrong would win by being wrong.
    """
    weights = candidates(equations, reference, noise)
    sides: dict[bytes, Sides] = {}  # of all folds but one
    last: dict[bytes, Array] = {}  # what the weight before found

    def score(weight: float) -> Score:
        objective = Objective(equations, reference, metric, weight)

        def fit(kept: Compressed) -> Array:
            key = kept.fold.tobytes()
            if key not in sides:
                sides[key] = equations.where(kept).sides(noise)
            last[key], _ = objective.minimum(sides[key], cones, last.get(key))
            return np.asarray(equations.grouping @ last[key])

        return cross_validate(equations.compressed, fit, noise)

    scores = tuple(score(float(weight)) for weight in weights)
    return WeightChoice(weights, scores, int(np.argmin([score.mean for score in scores])))


def candidates(equations: Equations, reference: Reference, noise: Array) -> Array:
    """(K,) descending, one per decade: from what outweighs all data to what hardly counts."""
    rows, _ = equations.sides(noise)
    n = equations.model.n
    blocks = rows[:, : equations.links].reshape(len(rows), n, 10)
    seen = np.einsum("bni,nij->bnj", blocks, np.linalg.inv(reference.whitening)).reshape(len(rows), -1)
    strongest = int(np.ceil(np.log10(np.linalg.norm(seen, 2) ** 2 + 1.0)))
    return np.asarray(10.0 ** np.arange(strongest, LOWEST - 1, -1))
