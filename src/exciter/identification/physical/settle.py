"""From an objective to an estimate: weights and residuals brought to agree, bodies strictly physical, covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from exciter.identification.information.compressed import Residuals
from exciter.identification.information.estimate import FILTERED, WHITE, Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import Cone
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.metric import PseudoInertia
from exciter.identification.physical.objective import Objective
from exciter.identification.physical.prior_weight import WeightChoice
from exciter.identification.physical.reference import Reference
from exciter.notes import Note, done, note
from exciter.typing import Array

ROUNDS = 100
SETTLED = 1e-9  # relative change of noise
NOTABLE = 0.05  #: relative rise of a joint's residual that deserves a word
EXACT = 1e-4  # [%] residuals that are as good as none


@dataclass(frozen=True, eq=False)
class PhysicalEstimate(Estimate):
    """choice: how the weight of the prior was found, where it was. free: residuals of the fit without prior and bounds,
    on the same equations. weights (J,): what rows were divided by. prior (m, b + 1): what the prior says of the base
    parameters, as rows and right sides over their standard deviations; none where it is not least squares. pulled:
    what is assumed of it."""

    choice: WeightChoice | None = None
    free: Residuals | None = None
    weights: Array | None = None
    prior: Array | None = None
    pulled: tuple[Note, ...] = ()


@dataclass(frozen=True, eq=False)
class Settled:
    """χ (p,), factor K (p, p) of what was known, weights (J,) of rows, noise (J,) of the residuals."""

    chi: Array
    factor: Array
    weights: Array
    noise: Array


def unconstrained(equations: Equations, reference: Reference) -> Settled:
    """The best fit, without prior (but for a trace) and without bounds."""
    plain = Objective(equations, reference, PseudoInertia())
    found = settled(plain, equations.signal)
    for _ in range(ROUNDS):
        before, found = found, settled(plain, found.noise)
        if (np.abs(found.weights - before.weights) <= SETTLED * found.weights).all():
            break
    return found


def settled(objective: Objective, noise: Array, cones: Sequence[Cone] = ()) -> Settled:
    """The objective's minimum within the cones, rows over ``noise`` (J,).

    That is the noise of the unconstrained fit: weights that followed the residuals of a wrong prior, or of bounds that
    a missing term pushes against, would let go of the very joints that object.
    """
    equations = objective.equations
    weights = equations.weights(noise)
    chi, factor = objective.minimum(equations.sides(weights), cones)
    return Settled(chi, factor, weights, equations.noise(chi, factor, weights))


def physical_estimate(
    problem: Problem,
    equations: Equations,
    found: Settled,
    free: Settled,
    assumptions: tuple[Note, ...],
    notes: Sequence[Note],
    choice: WeightChoice | None = None,
    prior: Array | None = None,
) -> PhysicalEstimate:
    """free: the unconstrained fit, to compare residuals with."""
    before, after = (Residuals.of(equations.whole, equations.grouping @ x.chi) for x in (free, found))
    filtered = equations.compressed.inflation.max() > 1.0 + 1e-9
    plain = equations.whole.information()
    return PhysicalEstimate(
        problem.names,
        problem.units,
        equations.grouping @ found.chi,
        covariance(equations, found),
        problem.joints,
        found.noise,
        float(equations.compressed.independent.sum() - len(problem.names)),
        (*WHITE, *assumptions, *(FILTERED if filtered else ())),
        plain.condition_number,
        plain.condition_number_normalized,
        found.chi,
        (*notes, rise(before, after)),
        choice,
        before,
        found.weights,
        prior,
        assumptions,
    )


def covariance(equations: Equations, found: Settled) -> Array:
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


def rise(before: Residuals, after: Residuals) -> Note:
    """How much worse the fit is than without prior and bounds, and what that betrays."""
    percent = after.percent - before.percent
    worst = int(np.argmax(percent))
    total = f"{after.total_percent:.3g} % of what was measured, {before.total_percent:.3g} % without prior and bounds"
    text = f"residuals {total}"
    if percent[worst] < NOTABLE * max(before.percent[worst], EXACT):
        return done("residuals", text)
    text = (
        f"{text}; most on {before.joints[worst]}: {after.percent[worst]:.3g} % instead of "
        f"{before.percent[worst]:.3g} %: the model may lack a term there (a spring, a load, a coupling), or the prior "
        "is wrong"
    )
    return note("residuals", text, before.joints[worst])
