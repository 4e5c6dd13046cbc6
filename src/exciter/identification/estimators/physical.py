"""Estimates of the whole standard set χ: pulled to a prior, or the best fit among robots that can exist.

Prior: ½‖R P χ − z‖² + λ d(χ, χ₀), decisive where the motion excites poorly; d is the pseudo-inertia metric (Lee,
Wensing & Park 2020) or the entropic distance. Joint terms are free. λ by blocked cross-validation unless given.

PhysicallyConsistent: the same within the pseudo-inertia LMIs of all links (Wensing, Kim & Slotine 2018; Sousa &
Cortesão 2014), joint terms ≥ 0 where physics wants it, and bounds on masses and centres of mass where they are known.
Among χ with the same base parameters, which the torques cannot distinguish, the one nearest to the prior is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import Annotated, Any

import numpy as np

from exciter.identification.estimators.estimator import EquationNoise, Estimator
from exciter.identification.information.compressed import ResidualSizes
from exciter.identification.information.estimate import WHITE, assumed, filtered
from exciter.identification.information.problem import Problem
from exciter.identification.physical import penalised_fit as fit
from exciter.identification.physical import prior_metric as metrics
from exciter.identification.physical.bounds import Bound, KnownOfABody, physical_terms, physics
from exciter.identification.physical.cone_program import Cone
from exciter.identification.physical.prior_values import PRIOR_VALUES, BestKnown, PriorValues
from exciter.notes import Note, done, warning
from exciter.parameters.consistency import consistency
from exciter.settings import Number, OneOf, Switch
from exciter.typing import Array

Limits = Callable[[metrics.StandardEquations, metrics.Reference], Sequence[Cone]]
Finish = Callable[[Array, fit.PenalisedObjective], tuple[Array, list[Note]]]
CONSISTENT_ASSUMPTIONS = assumed(
    "covariance of the estimate without bounds: a robot that exists is never farther from the bounded estimate than "
    "from the unbounded one, in the measure of that covariance"
)
AUTO = "auto"  #: weight of a prior: by cross-validation
ACTIVE_BOUND_FRACTION = 1e-6  # of the reference: links and terms nearer to their bound than this are named
SMALLEST_MARGIN_FRACTION = 1e-7  # smallest margin, below which rounding would decide


@dataclass(frozen=True)
class Weight(Number):
    """A number, or the word that stands for one to be chosen: it is kept, for not given is another thing."""

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        found = super().check(given, context)
        return self.open if found is None else found


@dataclass(frozen=True)
class Prior(Estimator):
    """metric: distance from the prior. values: where it comes from. weight: λ; ``AUTO``: by cross-validation; None:
    the usual one, which is that, but zero of ``PhysicallyConsistent``; 1/√λ is how well every number of a link is
    taken to be known, relative to the body's size. nonnegative: whether friction, rotor
    inertia and stiffness are kept ≥ 0. offset: σ of the offset of a joint's torque, relative to the rms of that torque;
    None: offsets are free. Little motion cannot tell one from the weight of the links. noise: σ of the equations, one
    or one per joint, by which they are weighted; None: from the residuals of the fit without prior."""

    word, title = "prior", "least squares with a prior"
    metric: Annotated[metrics.Metric, OneOf(metrics.METRICS)] = field(default_factory=metrics.PseudoInertia)
    values: Annotated[PriorValues, OneOf(PRIOR_VALUES)] = field(default_factory=BestKnown)
    weight: Annotated[float | str | None, Weight(least=0.0, open=AUTO)] = None
    nonnegative: Switch = False
    offset: Annotated[float | None, Number(above=0.0)] = None
    noise: EquationNoise = None

    def estimate(self, problem: Problem) -> fit.PhysicalEstimate:
        return self.within(problem, (lambda equations, _: physical_terms(equations)) if self.nonnegative else None)

    def within(self, problem: Problem, limits: Limits | None, finish: Finish | None = None) -> fit.PhysicalEstimate:
        """The best fit pulled to the prior, compared with the fit without prior and bounds. limits: bounds within which
        it will be. finish: puts right what the solver left outside of them, and says which of them hold."""
        problem.compressed.enough()
        equations, base = metrics.StandardEquations.of(problem), problem.base
        reference = self.values.reference(equations)
        free = fit.unconstrained(equations, reference)
        if self.noise is not None:
            free = replace(free, noise=equations.whole.per_group(self.noise)[0].copy())
        if self.offset is not None:
            reference = reference.with_small_offsets(equations, self.offset)
        cones = () if limits is None else tuple(limits(equations, reference))
        choice, weight = None, self.weight
        if weight is None or isinstance(weight, str):
            # the entropic distance keeps bodies physical by itself, and cones at every step are slow
            tried = cones if self.metric.quadratic else ()
            choice = fit.weight_of_least_error(equations, reference, self.metric, equations.weights(free.noise), tried)
            text, weight = choice.sentence, choice.weight
        else:
            text = f"weight of the prior {weight:.3g}" if weight else "it counts where torques do not decide"
        objective = fit.PenalisedObjective(equations, reference, self.metric, weight)
        found = fit.settled(objective, free.noise, cones)
        pulled = assumed("no prior") if finish is None else ()
        if weight:
            share = 100.0 / weight**0.5
            pulled = assumed(f"the prior's links are off by about {share:.3g} % of their size (its weight), at random")
        if finish is None:
            bodies = consistency(equations.split(found.chi)[0], problem.model.robot.tree_names).links
            bad = ", ".join(link.name for link in bodies if not link.consistent)
            told = f"no body can have the inertias found for {bad}; PhysicallyConsistent prevents that"
            notes = [warning("bodies", told)] if bad else []
        else:
            chi, notes = finish(found.chi, objective)
            found, pulled = replace(found, chi=chi), pulled + CONSISTENT_ASSUMPTIONS
        before, after = (ResidualSizes.of(equations.whole, equations.grouping @ x.chi) for x in (free, found))
        alike = base.standard[: equations.links] == problem.model.standard[: equations.links]
        squares = weight and self.metric.quadratic and alike  # the prior is rows for base parameters
        return fit.PhysicalEstimate.of(
            problem,
            equations.whole.information(),
            values=equations.grouping @ found.chi,
            covariance=fit.base_covariance(equations, found),
            noise=found.noise,
            freedom=float(equations.compressed.independent.sum() - len(problem.names)),
            assumptions=(*WHITE, *pulled, *filtered(equations.compressed.inflation)),
            standard=found.chi,
            notes=(*reference.notes, done("prior", text), *notes, fit.residual_rise(before, after)),
            choice=choice,
            free=before,
            weights=found.weights,
            prior=metrics.base_prior(base, reference, weight) if squares else None,
            pulled=pulled,
        )


@dataclass(frozen=True)
class PhysicallyConsistent(Estimator):
    """Standard parameters that bodies can have, all of them, as simulators need them.

    prior: values and weight to be pulled to; by default values alone, for what torques cannot tell. bounds: on masses
    and centres of mass. margin: pseudo-inertias, and so the inertia matrix, are at least this part of the prior's.

    >>> ex.identify(robot, log, estimator=ex.PhysicallyConsistent()).physically_consistent
    True"""

    word, title = "consistent", "physically consistent least squares"
    flat = ("prior",)
    prior: Prior = field(default_factory=Prior)
    bounds: tuple[Annotated[Bound, KnownOfABody()], ...] = ()
    margin: Annotated[float, Number(least=SMALLEST_MARGIN_FRACTION, below=1.0)] = 1e-4

    def __post_init__(self) -> None:
        entries = ((one,) if isinstance(one, Bound) else one for one in self.bounds)
        object.__setattr__(self, "bounds", tuple(chain.from_iterable(entries)))

    def estimate(self, problem: Problem) -> fit.PhysicalEstimate:
        prior = replace(self.prior, weight=0.0) if self.prior.weight is None else self.prior
        return prior.within(problem, self._limits, self._inside)

    def _limits(self, equations: metrics.StandardEquations, reference: metrics.Reference) -> list[Cone]:
        given = [cone for bound in self.bounds for cone in bound.cones(equations.model, reference)]
        return [*physics(equations, reference, self.margin), *given]

    def _inside(self, chi: Array, objective: fit.PenalisedObjective) -> tuple[Array, list[Note]]:
        """χ with what the solver's tolerance left outside put right: a trace of the reference body added, terms cut;
        and which bounds of physics hold the estimate."""
        equations, reference = objective.equations, objective.reference
        links, terms = equations.split(chi)
        lacking = np.maximum(self.margin - reference.thinnest(links), 0.0)
        links, terms = links + lacking[:, None] * reference.links, equations.nonnegative_part(terms)
        thin = reference.thinnest(links) - self.margin < ACTIVE_BOUND_FRACTION
        zero = equations.nonnegative & (terms / equations.term_scale < ACTIVE_BOUND_FRACTION)
        held = {
            "links held at the limit of what can exist": compress(equations.model.robot.tree_names, thin),
            "held at zero": compress(equations.model.standard[equations.links :], zero),
        }
        notes = [done("bounds", f"{how}: {named}") for how, names in held.items() if (named := ", ".join(names))]
        return np.concatenate([links.ravel(), terms]), notes
