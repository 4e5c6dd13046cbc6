"""One design problem of section 4.2: many starts, the best one continued close to the limits, certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

import exciter as ex
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, Figures
from exciter.excitation.criteria.weighted_sums import stages
from exciter.excitation.design import design
from exciter.excitation.optimiser.limits import JointLimits, NonlinearLimits
from exciter.excitation.optimiser.search import Search, finish, shrunk
from exciter.excitation.optimiser.sqp import minimise
from exciter.typing import Array
from exciter_papers.swevers_asme.set_up import (
    ASME_FAMILY,
    ASME_SAMPLES,
    columns,
    figures,
    model,
    robot,
    sampled,
    workspace,
)


@dataclass(frozen=True, eq=False)
class Continued(Search):
    """A search with ``share`` of the usual margins between grid points and limits; the certificate decides as ever."""

    share: float = 0.3

    @cached_property
    def limits(self) -> JointLimits:
        usual = super().limits
        return replace(usual, margins=self.share * usual.margins)

    @cached_property
    def nonlinear(self) -> NonlinearLimits:
        usual = super().nonlinear
        return replace(usual, margins=self.share * usual.margins)

    def improved(self, delta: Array, anew: bool = True) -> Array | None:
        """δ of the optimum reached from δ, which is shrunk about a posture until it keeps all limits; None where no
        motion was certified. anew: by the smooth stand-ins of the criterion first, as every search; they may lead away
        to another optimum."""
        variables = self.variables
        centre = variables.from_delta(self.trajectory.still(self.posture()))
        y = shrunk(self.limits, self.nonlinear, centre, variables.from_delta(delta))
        todo = stages(self.criterion)[0 if anew else -1 :]
        for criterion in todo:
            y = minimise(self._problem(criterion), y, self.settings).y
        found, _ = finish(self._problem(todo[-1]), y, centre, self.certified, self.settings)
        return None if found is None else variables.result(found)[1]


ASME_DESIGN_SEED = 0


@dataclass(frozen=True)
class DesignCase:
    """What is optimised, and within which limits; all those of the paper, corrected, unless said otherwise."""

    friction: bool = True
    criterion: AnyCriterion = field(default_factory=ex.ConditionNumber)
    acceleration_limit: bool = True
    constraints: Callable[[ex.Robot], tuple[Constraint, ...]] = workspace
    family: ex.Fourier = ASME_FAMILY

    @property
    def robot(self) -> ex.Robot:
        return robot(self.acceleration_limit)

    @property
    def limits(self) -> tuple[Constraint, ...]:
        return self.constraints(self.robot)

    @property
    def objective(self) -> DesignObjective:
        return DesignObjective(model(self.acceleration_limit), self.criterion, columns(self.friction), np.ones(3))


@dataclass(frozen=True, eq=False)
class Optimum:
    """delta (3, c): the best motion; values (K,): of the criterion, one per start, infinite where none was feasible."""

    case: DesignCase
    delta: Array
    certificate: Certificate
    values: Array

    @property
    def value(self) -> float:
        """Of the criterion at all samples."""
        return self.value_of(self.delta)

    def value_of(self, delta: Array) -> float:
        return self.case.objective.value(sampled(delta, self.case.family))

    @property
    def figures(self) -> Figures:
        return figures(self.delta, self.case.friction, self.case.family)

    def or_better(self, *others: Optimum | None) -> Optimum:
        """With the best of the motions found under other limits, where it keeps those of this case."""
        best = self
        for other in others:
            if other is not None and self.value_of(other.delta) < best.value:
                certificate = certify(self.case.robot, self.case.family.curve(other.delta), self.case.limits)
                if certificate.certified:
                    best = replace(best, delta=other.delta, certificate=certificate)
        return best


def best_of(case: DesignCase, starts: int, further: bool = False) -> Optimum:
    """The best of so many starts from seed 0; further: and continued with narrower margins where that is better."""
    found = design(
        model(case.acceleration_limit),
        case.family,
        criterion=case.criterion,
        columns=columns(case.friction),
        constraints=case.limits,
        samples=ASME_SAMPLES,
        seed=ASME_DESIGN_SEED,
        starts=starts,
        race=False,  # the distribution over starts is shown
    )
    values = np.array([attempt.value for attempt in found.attempts])
    best = Optimum(case, found.delta, found.certificate, values)
    for anew in (True, False) if further else ():
        other = continued(case, found.delta, anew)
        if other is not None and other.value < best.value:
            best = replace(best, delta=other.delta, certificate=other.certificate)
    return best


def continued(case: DesignCase, delta: Array, anew: bool = True) -> Optimum | None:
    """The local optimum reached from a given motion; None where none was certified."""
    improved = Continued(case.family, case.objective, case.limits, ASME_SAMPLES, ASME_DESIGN_SEED).improved(delta, anew)
    if improved is None:
        return None
    certificate = certify(case.robot, case.family.curve(improved), case.limits)
    one = Optimum(case, improved, certificate, np.zeros(0))
    return Optimum(case, improved, certificate, np.array([one.value]))
