"""Least squares pulled toward what is known of the links: decisive where the motion excites poorly.

½‖R P χ − z‖² + λ d(χ, χ₀) over the whole standard set χ; d is the pseudo-inertia metric (Lee, Wensing & Park 2020) or
the entropic distance. Joint terms are free. λ by blocked cross-validation unless given.

Physically consistent estimate: the best fit among robots that can exist, as a full set of standard parameters.

½‖R P χ − z‖² within the pseudo-inertia LMIs of all links (Wensing, Kim & Slotine 2018; Sousa & Cortesão 2014), joint
terms ≥ 0 where physics wants it, and bounds on masses and centres of mass where they are known. Among χ with the same
base parameters, which the torques cannot tell apart, the one nearest to the prior is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from exciter.identification.estimators.estimator import EquationNoise, Estimator
from exciter.identification.information.estimate import assumed, enough_rows
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import Bound, KnownOfABody, one_by_one, physical_terms, physics
from exciter.identification.physical.cone_program import Cone
from exciter.identification.physical.penalised_fit import (
    PenalisedObjective,
    PhysicalEstimate,
    StandardFit,
    WeightChoice,
    choose_weight,
    physical_estimate,
    settled,
    unconstrained,
)
from exciter.identification.physical.prior_metric import (
    METRICS,
    Metric,
    PseudoInertia,
    Reference,
    base_prior,
    whitened_links,
)
from exciter.identification.physical.prior_values import PRIOR_VALUES, BestKnown, PriorValues, nonnegative_terms
from exciter.identification.physical.standard_equations import StandardEquations
from exciter.notes import Note, done, warning
from exciter.parameters.consistency import consistency
from exciter.settings import Number, OneOf, Switch
from exciter.typing import Array

Limits = Callable[[StandardEquations, Reference], Sequence[Cone]]
AUTO = "auto"  #: weight of a prior: by cross-validation


@dataclass(frozen=True)
class Weight(Number):
    """A number, or the word that stands for one to be chosen: it is kept, for not given is another thing."""

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        found = super().check(given, context)
        return self.open if found is None else found


@dataclass(frozen=True, eq=False)
class Pull:
    """An objective with its prior in place, the fit without it, bounds, and how that came about."""

    objective: PenalisedObjective
    free: StandardFit
    cones: tuple[Cone, ...]
    choice: WeightChoice | None
    notes: tuple[Note, ...]

    def rows(self, problem: Problem) -> Array | None:
        """(m, b + 1) of the prior for base parameters; None where there is none, or it is not least squares."""
        objective, base = self.objective, problem.base
        links = objective.equations.links
        alike = base.standard[:links] == problem.model.standard[:links]
        if not (objective.weight and objective.metric.quadratic and alike):
            return None
        return base_prior(base, objective.reference, objective.weight)

    @property
    def assumptions(self) -> tuple[Note, ...]:
        if not self.objective.weight:
            return assumed("no prior")
        share = 100.0 / self.objective.weight**0.5
        return assumed(f"the prior's links are off by about {share:.3g} % of their size (its weight), at random")


@dataclass(frozen=True)
class Prior(Estimator):
    """metric: distance from the prior. values: where it comes from. weight: λ; ``AUTO``: by cross-validation; None:
    the usual one, which is that, but zero of ``PhysicallyConsistent``; 1/√λ is how well every number of a link is
    taken to be known, relative to the body's size. nonnegative: whether friction, rotor
    inertia and stiffness are kept ≥ 0. offset: σ of the offset of a joint's torque, relative to the rms of that torque;
    None: offsets are free. Little motion cannot tell one from the weight of the links. noise: σ of the equations, one
    or one per joint, by which they are weighted; None: from the residuals of the fit without prior."""

    word, title = "prior", "least squares with a prior"
    metric: Annotated[Metric, OneOf(METRICS)] = field(default_factory=PseudoInertia)
    values: Annotated[PriorValues, OneOf(PRIOR_VALUES)] = field(default_factory=BestKnown)
    weight: Annotated[float | str | None, Weight(least=0.0, open=AUTO)] = None
    nonnegative: Switch = False
    offset: Annotated[float | None, Number(above=0.0)] = None
    noise: EquationNoise = None

    def estimate(self, problem: Problem) -> PhysicalEstimate:
        pull = self.pull(problem, (lambda equations, _: physical_terms(equations)) if self.nonnegative else None)
        objective = pull.objective
        found = settled(objective, pull.free.noise, pull.cones)
        links = found.chi[: objective.equations.links].reshape(-1, 10)
        verdict = consistency(links, problem.model.robot.joint_names)
        bad = [link.name for link in verdict.links if not link.consistent]
        notes = pull.notes
        if bad:
            text = f"no body can have the inertias found for {', '.join(bad)}; PhysicallyConsistent prevents that"
            notes += (warning("bodies", text),)
        prior = pull.rows(problem)
        return physical_estimate(
            problem, objective.equations, found, pull.free, pull.assumptions, notes, pull.choice, prior
        )

    def pull(self, problem: Problem, limits: Limits | None = None) -> Pull:
        """What is to be minimised for this problem; limits: bounds within which it will be."""
        enough_rows(problem.compressed)
        equations = StandardEquations.of(problem)
        reference = self.values.reference(equations)
        free = unconstrained(equations, reference)
        if self.noise is not None:
            free = replace(free, noise=equations.whole.per_group(self.noise)[0].copy())
        if self.offset is not None:
            reference = reference.with_small_offsets(equations, self.offset)
        cones = () if limits is None else tuple(limits(equations, reference))
        choice, weight = None, self.weight
        if weight is None or isinstance(weight, str):
            # the entropic distance keeps bodies physical by itself, and cones at every step are slow
            tried = cones if self.metric.quadratic else ()
            choice = choose_weight(equations, reference, self.metric, equations.weights(free.noise), tried)
            text, weight = choice.sentence, choice.weight
        else:
            text = f"weight of the prior {weight:.3g}" if weight else "it counts where torques do not decide"
        objective = PenalisedObjective(equations, reference, self.metric, weight)
        return Pull(objective, free, cones, choice, (*reference.notes, done("prior", text)))


CONSISTENT_ASSUMPTIONS = assumed(
    "covariance of the estimate without bounds: a robot that exists is never farther from the bounded estimate than "
    "from the unbounded one, in the measure of that covariance"
)
ACTIVE_BOUND_FRACTION = 1e-6  # of the reference: links and terms nearer to their bound than this are named
SMALLEST_MARGIN_FRACTION = 1e-7  # smallest margin, below which rounding would decide


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
    margin: Annotated[float, Number(least=SMALLEST_MARGIN_FRACTION, below=1.0)] = 1e-4

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", one_by_one(self.bounds))

    def estimate(self, problem: Problem) -> PhysicalEstimate:
        prior = replace(self.prior, weight=0.0) if self.prior.weight is None else self.prior
        pull = prior.pull(problem, self._limits)
        objective = pull.objective
        equations, reference = objective.equations, objective.reference
        found = settled(objective, pull.free.noise, pull.cones)
        chi = self._inside(found.chi, equations, reference)
        found = StandardFit(chi, found.factor, found.weights, found.noise)
        notes = (*pull.notes, *self._active(chi, equations, reference))
        assumptions = pull.assumptions + CONSISTENT_ASSUMPTIONS if objective.weight else CONSISTENT_ASSUMPTIONS
        rows = pull.rows(problem)
        return physical_estimate(problem, equations, found, pull.free, assumptions, notes, pull.choice, rows)

    def _limits(self, equations: StandardEquations, reference: Reference) -> list[Cone]:
        given = [cone for bound in self.bounds for cone in bound.cones(equations.model, reference)]
        return [*physics(equations, reference, self.margin), *given]

    def _inside(self, chi: Array, equations: StandardEquations, reference: Reference) -> Array:
        """χ with what the solver's tolerance left outside put right: a trace of the reference body added, terms cut."""
        links = chi[: equations.links].reshape(-1, 10)
        smallest = np.linalg.eigvalsh(whitened_links(links, reference.lower))[:, 0]
        lacking = np.maximum(self.margin - smallest, 0.0)
        terms = chi[equations.links :]
        terms = np.where(nonnegative_terms(equations), np.maximum(terms, 0.0), terms)
        return np.concatenate([(links + lacking[:, None] * reference.links).ravel(), terms])

    def _active(self, chi: Array, equations: StandardEquations, reference: Reference) -> list[Note]:
        """Which bounds of physics hold the estimate."""
        model = equations.model
        links = chi[: equations.links].reshape(-1, 10)
        smallest = np.linalg.eigvalsh(whitened_links(links, reference.lower))[:, 0]
        thin = [
            j.name for j, x in zip(model.robot.joints, smallest, strict=True) if x - self.margin < ACTIVE_BOUND_FRACTION
        ]
        names = model.standard[equations.links :]
        size = chi[equations.links :] / equations.term_scale
        zero = [
            n
            for n, x, b in zip(names, size, nonnegative_terms(equations), strict=True)
            if b and x < ACTIVE_BOUND_FRACTION
        ]
        held = {"links held at the limit of what can exist": thin, "held at zero": zero}
        return [done("bounds", f"{how}: {', '.join(names)}") for how, names in held.items() if names]
