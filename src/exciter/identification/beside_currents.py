"""What equations of currents whose gains nobody knows do not go with: whatever wants torques in N·m."""

from __future__ import annotations

from typing import Any

from exciter.errors import ExciterError
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares, Sequential, WeightedLeastSquares
from exciter.identification.estimators.robust import Huber, IterativelyReweighted
from exciter.identification.formulations.gain_free import GainFree

#: that need no torque in N·m
CURRENT_ESTIMATORS = (OrdinaryLeastSquares, WeightedLeastSquares, IterativelyReweighted, Huber, Sequential)
TORQUE_KEYS = ("automatic", "evaluation", "gains", "current_map", "payload")  #: of ``identify:``


def refuse_beside_currents(settings: Any) -> None:
    """settings: ``IdentifySettings`` whose formulation is ``GainFree``."""
    asked = [key for key in TORQUE_KEYS if getattr(settings, key) not in (None, False)]
    if settings.friction == "choose":
        asked.append("friction")
    if asked:
        raise ExciterError(f"{asked[0]}: is for torques in N·m; {GainFree.word} has currents: leave {asked[0]}: out")
    estimator: Estimator | None = settings.estimator
    if estimator is not None and not isinstance(estimator, CURRENT_ESTIMATORS):
        words = ", ".join(one.word for one in CURRENT_ESTIMATORS)
        word = getattr(estimator, "word", type(estimator).__name__)
        raise ExciterError(f"{word} is for torques in N·m; {GainFree.word} has currents: give one of {words}")
