"""From a given motion, instead of a random one, to the local optimum near it: Table 1, or the best of many starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from exciter.excitation.criteria.sums import stages
from exciter.excitation.optimiser.feasible import finish, shrunk
from exciter.excitation.optimiser.limits import JointLimits, NonlinearLimits
from exciter.excitation.optimiser.search import Search
from exciter.excitation.optimiser.sqp import minimise
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Continued(Search):
    """A search with ``share`` of the usual margins between grid points and limits; the certificate decides as ever."""

    share: float = 0.3

    @cached_property
    def limits(self) -> JointLimits:
        usual = super().limits
        return replace(usual, margins=self.share * usual.margins)

    @cached_property
    def nonlinear(self) -> NonlinearLimits | None:
        usual = super().nonlinear
        return None if usual is None else replace(usual, margins=self.share * usual.margins)

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
        finished = finish(self._problem(todo[-1]), y, centre, self.certified, self.settings)
        return None if finished.y is None else variables.result(finished.y)[1]
