"""Physically consistent estimate: the best fit among robots that can exist, as a full set of standard parameters.

½‖R P χ − z‖² within the pseudo-inertia LMIs of all links (Wensing, Kim & Slotine 2018; Sousa & Cortesão 2014), joint
terms ≥ 0 where physics wants it, and bounds on masses and centres of mass where they are known. Among χ with the same
base parameters, which the torques cannot tell apart, the one nearest to the prior is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.prior import Prior
from exciter.identification.information.estimate import assumed
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import Bound, Cone, KnownOfABody, one_by_one
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.physics import physics
from exciter.identification.physical.reference import Reference, nonnegative_terms
from exciter.identification.physical.settle import PhysicalEstimate, Settled, physical_estimate, settled
from exciter.identification.physical.whitening import whitened_links
from exciter.notes import Note, done
from exciter.settings import Number
from exciter.typing import Array

UNBOUNDED = assumed(
    "covariance of the estimate without bounds: a robot that exists is never farther from the bounded estimate than "
    "from the unbounded one, in the measure of that covariance"
)
ACTIVE = 1e-6  # of the reference: links and terms nearer to their bound than this are named
STRICT = 1e-7  # smallest margin, below which rounding would decide


@dataclass(frozen=True)
class PhysicallyConsistent(Estimator):
    """Standard parameters that bodies can have, all of them, as simulators need them.

    prior: values and weight to be pulled to; by default values alone, for what torques cannot tell.

    bounds: on masses and centres of mass. margin: every link's pseudo-inertia is at least this part of the prior's,
    and so is the inertia matrix, everywhere.

    >>> ex.identify(robot, log, estimator=ex.PhysicallyConsistent()).physically_consistent
    True
    """

    word, title = "consistent", "physically consistent least squares"
    flat = ("prior",)
    prior: Prior = field(default_factory=Prior)
    bounds: tuple[Annotated[Bound, KnownOfABody()], ...] = ()
    margin: Annotated[float, Number(least=STRICT, below=1.0)] = 1e-4

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", one_by_one(self.bounds))

    def estimate(self, problem: Problem) -> PhysicalEstimate:
        prior = replace(self.prior, weight=0.0) if self.prior.weight is None else self.prior
        pull = prior.pull(problem, self._limits)
        objective = pull.objective
        equations, reference = objective.equations, objective.reference
        found = settled(objective, pull.free.noise, pull.cones)
        chi = self._inside(found.chi, equations, reference)
        found = Settled(chi, found.factor, found.weights, found.noise)
        notes = (*pull.notes, *self._active(chi, equations, reference))
        assumptions = pull.assumptions + UNBOUNDED if objective.weight else UNBOUNDED
        rows = pull.rows(problem)
        return physical_estimate(problem, equations, found, pull.free, assumptions, notes, pull.choice, rows)

    def _limits(self, equations: Equations, reference: Reference) -> list[Cone]:
        given = [cone for bound in self.bounds for cone in bound.cones(equations.model, reference)]
        return [*physics(equations, reference, self.margin), *given]

    def _inside(self, chi: Array, equations: Equations, reference: Reference) -> Array:
        """χ with what the solver's tolerance left outside put right: a trace of the reference body added, terms cut."""
        links = chi[: equations.links].reshape(-1, 10)
        smallest = np.linalg.eigvalsh(whitened_links(links, reference.lower))[:, 0]
        lacking = np.maximum(self.margin - smallest, 0.0)
        terms = chi[equations.links :]
        terms = np.where(nonnegative_terms(equations), np.maximum(terms, 0.0), terms)
        return np.concatenate([(links + lacking[:, None] * reference.links).ravel(), terms])

    def _active(self, chi: Array, equations: Equations, reference: Reference) -> list[Note]:
        """Which bounds of physics hold the estimate."""
        model = equations.model
        links = chi[: equations.links].reshape(-1, 10)
        smallest = np.linalg.eigvalsh(whitened_links(links, reference.lower))[:, 0]
        thin = [j.name for j, x in zip(model.robot.joints, smallest, strict=True) if x - self.margin < ACTIVE]
        names = model.standard[equations.links :]
        size = chi[equations.links :] / equations.term_scale
        zero = [n for n, x, b in zip(names, size, nonnegative_terms(equations), strict=True) if b and x < ACTIVE]
        held = {"links held at the limit of what can exist": thin, "held at zero": zero}
        return [done("bounds", f"{how}: {', '.join(names)}") for how, names in held.items() if names]
