"""All that is run along one motion c2: preprocessing, noise, estimators and their bound (sections II, III-A, V)."""

from __future__ import annotations

from collections.abc import Sequence

from exciter.excitation.criteria import DOptimality
from exciter.reproduction.paper import Effort, Part
from exciter.reproduction.swevers_ieee import preprocessing
from exciter.reproduction.swevers_ieee.bound import fisher_part, needless_part
from exciter.reproduction.swevers_ieee.experiment import STARTS
from exciter.reproduction.swevers_ieee.likelihood import Cases, estimators_part
from exciter.reproduction.swevers_ieee.set_up import optimised, sampled
from exciter.reproduction.swevers_ieee.variances import variance_part


def run(effort: Effort) -> Sequence[Part]:
    c2 = optimised(DOptimality(), STARTS)
    cases = Cases.along(c2.delta, effort.pick(3, 40))
    return (
        *preprocessing.parts(c2.delta, effort),
        variance_part(cases.measured),
        estimators_part(cases),
        fisher_part(sampled(c2.delta), cases.loudest),
        needless_part(c2),
    )
