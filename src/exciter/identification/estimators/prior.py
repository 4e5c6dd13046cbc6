"""Least squares pulled toward what is known of the links: decisive where the motion excites poorly.

½‖R P χ − z‖² + λ d(χ, χ₀) over the whole standard set χ; d is the pseudo-inertia metric (Lee, Wensing & Park 2020) or
the entropic distance. Joint terms are free. λ by blocked cross-validation unless given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from exciter.identification.estimators.estimator import EquationNoise, Estimator
from exciter.identification.information.estimate import assumed, enough_rows
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import Cone
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.metric import METRICS, Metric, PseudoInertia, base_prior
from exciter.identification.physical.objective import Objective
from exciter.identification.physical.physics import physical_terms
from exciter.identification.physical.prior_weight import WeightChoice, choose_weight
from exciter.identification.physical.reference import PRIOR_VALUES, BestKnown, PriorValues, Reference
from exciter.identification.physical.settle import (
    PhysicalEstimate,
    Settled,
    physical_estimate,
    settled,
    unconstrained,
)
from exciter.notes import Note, done, warning
from exciter.parameters.consistency import consistency
from exciter.settings import Number, OneOf, Switch
from exciter.typing import Array

Limits = Callable[[Equations, Reference], Sequence[Cone]]
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

    objective: Objective
    free: Settled
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
        equations = Equations.of(problem)
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
        objective = Objective(equations, reference, self.metric, weight)
        return Pull(objective, free, cones, choice, (*reference.notes, done("prior", text)))
