"""Equations free of drive gains (12.3.6; Khalil 93, Gautier 94): currents as measured, gains and parameters together.

Γ_j = G_j u_j is Φ_j χ, so that u_j = Φ_j (χ / G_j): a new set of parameters for each joint, those that its own equation
can tell, over its own gain. They are named ZZR1/G1, and found without any gain; what they predict is a current.
Equations of different joints share no parameter, so that there are more of them than with the gains known.

The same χ stands behind all joints, which is what their quotients say of the gains (``gain_ratios``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from exciter.dynamics.model import DynamicModel, random_motion, random_states
from exciter.experiment.signals.equation_rows import Rows, model_rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import InverseDynamic, refuse_unknown_forces
from exciter.identification.formulations.formulation import instants_first
from exciter.parameters.base import BaseParameters, RankDecision, numeric_base
from exciter.parameters.base_symbolic import prismatic_links
from exciter.typing import Array, Index

STATES_PER_COLUMN = 4  #: random states per parameter, at which the equation of a joint is looked at
MOTION_INSTANTS_RATIO = 3  #: times as many instants of a motion, whose neighbours are alike


@dataclass(frozen=True, eq=False)
class JointwiseBase(BaseParameters):
    """Those of each joint's equation by itself, one joint after the other. each: over which of the model's standard
    parameters they combine; standard parameters are these over each gain."""

    each: tuple[BaseParameters, ...] = ()

    @classmethod
    def of(cls, each: tuple[BaseParameters, ...]) -> JointwiseBase:
        p = len(each[0].standard)
        return cls(
            standard=tuple(f"{name}/G{j + 1}" for j, own in enumerate(each) for name in own.standard),
            independent=np.concatenate([own.independent + j * p for j, own in enumerate(each)]),
            grouping=linalg.block_diag(*(own.grouping for own in each)),
            decision=_weakest([own.decision for own in each]),
            method=f"{each[0].method}, joint by joint",
            each=each,
        )

    @property
    def joint(self) -> Index:
        """(b,) in whose equation each parameter stands."""
        return np.repeat(np.arange(len(self.each)), [len(own) for own in self.each])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{name}/G{j + 1}" for j, own in enumerate(self.each) for name in own.names)

    def combination(self, k: int) -> str:
        j = int(self.joint[k])
        text = self.each[j].combination(k - sum(map(len, self.each[:j])))
        return f"({text})/G{j + 1}" if text else ""


def _weakest(decisions: list[RankDecision]) -> RankDecision:
    worst = min(decisions, key=lambda one: one.gap)
    return replace(worst, rank=sum(one.rank for one in decisions))


@dataclass(frozen=True)
class GainFree(InverseDynamic):
    """Currents of each joint by parameters of its own, over its drive gain: no gain needs to be known.

    parallel_filter, dead_zone: as of ``InverseDynamic``.

    >>> found = ex.identify(robot, log, formulation=ex.InverseDynamic(), estimator=ex.WeightedLeastSquares())
    >>> current = ex.Recording.of(log.time, log.q, current=log.torque / [50.0, 30.0, 20.0])
    >>> free = ex.identify(robot, current, formulation=ex.GainFree())
    >>> round(float(free.parameters["Fv3/G3"].value / found.parameters["Fv3"].value * 20.0), 1)
    1.0"""

    word, title = "gain-free", "the inverse dynamic model over unknown drive gains"
    measured = "current"

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: Index) -> Iterator[Rows]:
        p = len(model.standard)
        joint, column = np.divmod(np.asarray(columns, dtype=np.int64), p)
        wanted = np.unique(column)

        def known(piece: Processed) -> Processed:
            refuse_unknown_forces(piece, self.word)
            return piece

        rows = model_rows(model, map(known, pieces), wanted, dead_zone=self.zone(model))
        rows = rows if self.parallel_filter is None else self.parallel_filter.stream(rows)
        names = tuple(f"{model.standard[k]}/G{j + 1}" for j, k in zip(joint, column, strict=True))
        places = np.searchsorted(wanted, column)
        for one in rows:
            given = one.sides.transpose(1, 2, 0)
            sides = np.zeros((model.n, len(names) + 1, given.shape[2]))
            for j in range(model.n):
                sides[j, :-1][joint == j] = given[j, places[joint == j]]
            sides[:, -1] = given[:, -1]
            yield replace(one, sides=instants_first(sides), parameters=names)

    def base(self, model: DynamicModel) -> JointwiseBase:
        """Of what all joints together can tell, what each can tell alone: numerically, at random states."""
        whole = model.base
        count = STATES_PER_COLUMN * len(whole) + 20 * model.n
        moves = any(term.has_memory for term in model.bound)
        along = random_motion(model.robot, MOTION_INSTANTS_RATIO * count) if moves else None
        states = random_states(model.robot, count) if along is None else along
        rows, names = whole.project(model.regressor(states)), tuple(whole.standard[k] for k in whole.independent)
        each = list[BaseParameters]()
        for j in range(model.n):
            found = numeric_base(rows[:, j], names, prismatic=prismatic_links(model.robot))
            kept, grouping = whole.independent[found.independent], found.grouping @ whole.grouping
            each.append(BaseParameters(whole.standard, kept, grouping, found.decision, found.method))
        return JointwiseBase.of(tuple(each))

    def units(self, model: DynamicModel) -> tuple[str, ...]:
        effort = ("N" if joint.is_prismatic else "N·m" for joint in model.robot.joints)
        return tuple(f"{unit} / ({of}/A)" if unit else f"A/{of}" for of in effort for unit in model.units)


def shared_parameters(base: JointwiseBase, whole: BaseParameters) -> tuple[Array, ...]:
    """(b_j, b) of each joint: its parameters times its gain, from the base parameters of all joints together."""
    return tuple(own.grouping[:, whole.independent] for own in base.each)
