"""Least squares with a penalty on the distance from a prior, over the whole standard set χ.

½‖R P χ − z‖² + λ d(χ, χ₀) + a trace of the prior that picks one χ among those with equal β, within cones; λ by blocked
cross-validation: the weight whose fits predict stretches of time left out; weights that agree with the residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from exciter.identification.information.compressed import (
    Compressed,
    ResidualSizes,
    Score,
    cross_validate,
    until_noise_settles,
)
from exciter.identification.information.estimate import Estimate
from exciter.identification.physical.cone_program import Cone, nearest
from exciter.identification.physical.prior_metric import Metric, PseudoInertia, Reference, StandardEquations, link_rows
from exciter.independent_blocks import upper_factor
from exciter.notes import Note, done, note
from exciter.typing import Array

Sides = tuple[Array, Array]
TRACE_WEIGHT = 1e-4  #: λ of what is always there: every number of a link known to 100 times its size, terms likewise
FIRST_NEWTON_WEIGHT = 100.0  # at which Newton's method starts at the reference
NEWTON_WEIGHT_RATIO = 10.0  # from one weight to the next
MOST_NEWTON_STEPS = 100
SETTLED_NEWTON_DECREMENT = 1e-9  # squared Newton step, in units of the noise, over the objective
SMALLEST_NEWTON_DECREMENT = 1e-14  # of a step that must still lead down
LOWEST_WEIGHT_DECADE = -4  # log10 λ: as little as is always there
SETTLED_WEIGHT_CHANGE = 1e-9  # relative change of noise
NOTABLE_RESIDUAL_RISE = 0.05  #: relative rise of a joint's residual that deserves a word
EXACT_RESIDUAL_PERCENT = 1e-4  # [%] residuals that are as good as none


@dataclass(frozen=True, eq=False)
class PenalisedObjective:
    """weight λ of ``metric``; 0: no prior beyond the trace."""

    equations: StandardEquations
    reference: Reference
    metric: Metric
    weight: float = 0.0

    def minimum(self, sides: Sides, cones: Sequence[Cone] = (), start: Array | None = None) -> tuple[Array, Array]:
        """χ (p,) for R P and z (``StandardEquations.sides``), and K (p, p), KᵀK the curvature there; start: near it."""
        sides = self._with_trace(sides)
        if self.weight == 0.0 or self.metric.quadratic:
            return self._step(sides, self.reference.chi, cones)
        if cones:  # a quadratic start satisfies all bounds, and so does everything between it and later steps
            quadratic = replace(self, metric=PseudoInertia())
            return self._newton(sides, quadratic._step(sides, self.reference.chi, cones)[0], cones)
        if start is None:  # a weak pull far from the reference is reached step by step
            start = self.reference.chi
            for weight in self.weight * NEWTON_WEIGHT_RATIO ** np.arange(
                np.log(FIRST_NEWTON_WEIGHT / self.weight) / np.log(NEWTON_WEIGHT_RATIO), 0.0, -1.0
            ):
                start, _ = replace(self, weight=float(weight))._newton(sides, start, cones)
        return self._newton(sides, start, cones)

    def _newton(self, sides: Sides, chi: Array, cones: Sequence[Cone]) -> tuple[Array, Array]:
        value = self._value(sides, chi)
        for _ in range(MOST_NEWTON_STEPS):
            target, factor = self._step(sides, chi, cones)
            step = target - chi
            decrement = float(((factor @ step) ** 2).sum())
            if decrement <= SETTLED_NEWTON_DECREMENT * (1.0 + value):  # the next one would be its square
                return target, factor
            while not (trial := self._value(sides, chi + step)) <= value:
                step, decrement = 0.5 * step, 0.25 * decrement
                if decrement <= SMALLEST_NEWTON_DECREMENT * (1.0 + value):  # rounding is all that is left
                    return chi, factor
            chi, value = chi + step, trial
        return chi, factor

    def _with_trace(self, sides: Sides) -> Sides:
        """Data and trace together, compressed: a square factor that is never singular."""
        root = np.diag(np.append(np.zeros(self.equations.links), 1.0 / self.equations.term_scale))
        root[: self.equations.links] = link_rows(self.reference.whitening, len(root))
        root *= np.sqrt(TRACE_WEIGHT)
        if self.reference.spread is not None:
            terms = np.arange(self.equations.links, len(root))
            root[terms, terms] = np.hypot(root[terms, terms], 1.0 / self.reference.spread)
        return _compressed(np.vstack([sides[0], root]), np.append(sides[1], root @ self.reference.chi))

    def _value(self, sides: Sides, chi: Array) -> float:
        total = 0.5 * float(((sides[0] @ chi - sides[1]) ** 2).sum())
        links, _ = self.equations.split(chi)
        return total + (self.weight * self.metric.value(links, self.reference) if self.weight else 0.0)

    def _step(self, sides: Sides, chi: Array, cones: Sequence[Cone]) -> tuple[Array, Array]:
        """Minimum of the second-order model at χ, within the cones, and its factor."""
        factor, right = _compressed(*self._rows(sides, chi)) if self.weight else sides
        best = np.asarray(linalg.solve_triangular(factor, right))
        return (nearest(best, factor, cones, self.reference.chi) if cones else best), factor

    def _rows(self, sides: Sides, chi: Array) -> Sides:
        """The second-order model at χ as least squares: rows (m, p) and right sides (m,)."""
        root, target = self.metric.model(self.equations.split(chi)[0], self.reference)
        block = link_rows(np.sqrt(self.weight) * root, len(chi))
        return np.vstack([sides[0], block]), np.append(sides[1], np.sqrt(self.weight) * target.ravel())


def _compressed(rows: Array, right: Array) -> Sides:
    """Triangular factor (p, p) and right side (p,) of the same minimum, what no χ explains left out."""
    p = rows.shape[1]
    upper = upper_factor(np.column_stack([rows, right]))
    return upper[:p, :p], upper[:p, p]


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


def weight_of_least_error(
    equations: StandardEquations, reference: Reference, metric: Metric, noise: Array, cones: Sequence[Cone] = ()
) -> WeightChoice:
    """The weight with the smallest mean squared residual; noise (J,): weights of rows, the same for all fits. No
    standard-error rule toward stronger priors: one stretch that a wrong prior misses would let it win."""
    # one per decade: from what outweighs all data to what hardly counts
    rows, _ = equations.sides(noise)
    blocks = rows[:, : equations.links].reshape(len(rows), -1, 10)
    seen = np.einsum("bni,nij->bnj", blocks, np.linalg.inv(reference.whitening)).reshape(len(rows), -1)
    strongest = int(np.ceil(np.log10(np.linalg.norm(seen, 2) ** 2 + 1.0)))
    weights = np.asarray(10.0 ** np.arange(strongest, LOWEST_WEIGHT_DECADE - 1, -1), dtype=np.float64)

    def fits(kept: Compressed) -> Iterator[Array]:
        """Each begins at what the weight before found."""
        sides, chi = replace(equations, compressed=kept).sides(noise), None
        for weight in weights:
            chi, _ = PenalisedObjective(equations, reference, metric, float(weight)).minimum(sides, cones, chi)
            yield np.asarray(equations.grouping @ chi)

    scores = cross_validate(equations.compressed, fits, noise)
    return WeightChoice(weights=weights, scores=scores, chosen=int(np.argmin([score.mean for score in scores])))


@dataclass(frozen=True, eq=False)
class PhysicalEstimate(Estimate):
    """choice: how the weight of the prior was found, where it was. free: residuals of the fit without prior and bounds,
    on the same equations. weights (J,): what rows were divided by. prior (m, b + 1): what it says of base parameters,
    as rows and right sides over their σ; none where it is not least squares. pulled: what is assumed of it."""

    choice: WeightChoice | None = None
    free: ResidualSizes | None = None
    weights: Array | None = None
    prior: Array | None = None
    pulled: tuple[Note, ...] = ()


@dataclass(frozen=True, eq=False)
class StandardFit:
    """χ (p,), factor K (p, p) of what was known, weights (J,) of rows, noise (J,) of the residuals."""

    chi: Array
    factor: Array
    weights: Array
    noise: Array


def unconstrained(equations: StandardEquations, reference: Reference) -> StandardFit:
    """The best fit, without prior (but for a trace) and without bounds."""
    plain = PenalisedObjective(equations, reference, PseudoInertia())

    def fit(weights: Array) -> tuple[None, Array]:
        return None, equations.weights(settled(plain, weights).noise)

    return settled(plain, until_noise_settles(fit, equations.signal, SETTLED_WEIGHT_CHANGE)[1])


def settled(objective: PenalisedObjective, noise: Array, cones: Sequence[Cone] = ()) -> StandardFit:
    """The objective's minimum within the cones, rows over ``noise`` (J,) of the unconstrained fit: weights that follow
    residuals of a wrong prior, or of bounds that a missing term pushes against, would let go of joints that object."""
    equations = objective.equations
    weights = equations.weights(noise)
    chi, factor = objective.minimum(equations.sides(weights), cones)
    noise = equations.noise(chi, factor, weights)
    return StandardFit(chi=chi, factor=factor, weights=weights, noise=noise)


def base_covariance(equations: StandardEquations, found: StandardFit) -> Array:
    """(b, b) of β = P χ: K⁻¹ (data + prior) K⁻ᵀ, where the data's share counts the noise that was found and the
    correlation of filtered rows, and the prior's share is taken at its word."""
    rows, _ = equations.sides(found.weights)
    inverse = linalg.solve_triangular(found.factor, np.eye(len(found.chi)))
    seen = rows @ inverse
    whole = equations.whole
    spread = whole.per_group(found.weights) ** 2 / (np.maximum(found.noise, 1e-300) * np.sqrt(whole.inflation))
    noise = whole.information(spread).r @ equations.grouping @ inverse
    share = noise.T @ noise + np.eye(len(found.chi)) - seen.T @ seen
    reach = equations.grouping @ inverse
    result = reach @ share @ reach.T
    return np.asarray(0.5 * (result + result.T))


def residual_rise(before: ResidualSizes, after: ResidualSizes) -> Note:
    """How much worse the fit is than without prior and bounds, and what that may mean."""
    percent = after.percent - before.percent
    worst = int(np.nanargmax(percent))  # a joint without equations has none
    total = f"{after.total_percent:.3g} % of what was measured, {before.total_percent:.3g} % without prior and bounds"
    text = f"residuals {total}"
    if percent[worst] < NOTABLE_RESIDUAL_RISE * max(before.percent[worst], EXACT_RESIDUAL_PERCENT):
        return done("residuals", text)
    text = (
        f"{text}; most on {before.joints[worst]}: {after.percent[worst]:.3g} % instead of "
        f"{before.percent[worst]:.3g} %: the model may lack a term there (a spring, a load, a coupling), or the prior "
        "is wrong"
    )
    return note("residuals", text, before.joints[worst])
