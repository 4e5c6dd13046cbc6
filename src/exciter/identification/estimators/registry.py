"""``estimator:`` by word: how equations are solved.

estimator: wls                             # where nothing is automatic; ols; irls: Tukey's bisquare; huber; tls; …
estimator: {huber: {k: 1.345}}
estimator: {consistent: {weight: auto, metric: entropic, values: rods, bounds: [{mass: 40}]}}
estimator: {prior: {weight: 0.1, nonnegative: true, offset: 0.03}}
estimator: links                           # link by link; {two-step: {wrist: 3}}: the wrist, then the shoulder;
                                           # {links: {known: true}}: later stages do not correct earlier ones
estimator: {static: {runs: [poses.csv]}}   # gravity from poses at rest, then the rest
estimator: friction-first                  # from constant velocities, axis by axis, then the rest
estimator: didim                           # iv: the controlled robot is simulated, see --planned and control:"""

from __future__ import annotations

from exciter.identification.estimators import least_squares
from exciter.identification.estimators.estimator import Estimator, takes_noise
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.estimators.robust import Huber, IterativelyReweighted
from exciter.identification.estimators.simulated_motion import DIDIM, InstrumentalVariables
from exciter.identification.estimators.staged import FrictionFirst, LinkByLink, StaticThenDynamic, TwoStep
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.settings import Registry

ESTIMATORS = Registry[Estimator](
    "estimator",
    least_squares.OrdinaryLeastSquares,
    least_squares.WeightedLeastSquares,
    IterativelyReweighted,
    Huber,
    TotalLeastSquares,
    MaximumLikelihood,
    least_squares.Sequential,
    least_squares.NonNegative,
    PhysicallyConsistent,
    Prior,
    least_squares.Essential,
    LinkByLink,
    TwoStep,
    StaticThenDynamic,
    FrictionFirst,
    InstrumentalVariables,
    DIDIM,
)
#: words of those that need the controller
SIMULATED_ESTIMATORS = tuple(cls.word for cls in ESTIMATORS if "loop" in cls.inner)
#: words of those that can be told σ
NOISE_ESTIMATORS = tuple(cls.word for cls in ESTIMATORS if takes_noise(cls()))
