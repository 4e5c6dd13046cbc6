"""``estimator:`` by word: how equations are solved.

estimator: wls                             # where nothing is automatic; ols; irls: Tukey's bisquare; huber; tls; …
estimator: {huber: {k: 1.345}}
estimator: {consistent: {weight: auto, metric: entropic, values: rods, bounds: [{mass: 40}]}}
estimator: {prior: {weight: 0.1, nonnegative: true, offset: 0.03}}
estimator: links                           # link by link; {two-step: {wrist: 3}}: the wrist, then the shoulder
estimator: {static: {runs: [poses.csv]}}   # gravity from poses at rest, then the rest
estimator: friction-first                  # from constant velocities, axis by axis, then the rest
estimator: didim                           # iv: the controlled robot is simulated, see --planned and control:
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exciter.errors import ExciterError, shown
from exciter.excitation.config.section import Section, number, per_joint
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.signals.filtered_differences import FilteredDifferences
from exciter.experiment.virtual.control import Control
from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.config.bounds import bounds_of
from exciter.identification.config.words import settings_section, word_with_settings
from exciter.identification.estimators.consistent import PhysicallyConsistent
from exciter.identification.estimators.didim import DIDIM
from exciter.identification.estimators.essential import Essential
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.instrumental import InstrumentalVariables
from exciter.identification.estimators.loss import Bisquare
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.nonnegative import NonNegative
from exciter.identification.estimators.ordinary import OrdinaryLeastSquares
from exciter.identification.estimators.prior import Prior
from exciter.identification.estimators.robust import Huber, IterativelyReweighted
from exciter.identification.estimators.sequential import Sequential
from exciter.identification.estimators.total import TotalLeastSquares
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.physical.metric import Entropic, PseudoInertia
from exciter.identification.physical.reference import BestKnown, Described, UniformRods
from exciter.identification.stages.selection import AtRest, ConstantVelocity
from exciter.identification.stages.sequences import FrictionFirst, LinkByLink, StaticThenDynamic, TwoStep
from exciter.robot.robot import Robot

METRICS = {"pseudo-inertia": PseudoInertia, "entropic": Entropic}
VALUES = {"best-known": BestKnown, "description": Described, "rods": UniformRods}
PRIOR = ("weight", "metric", "values", "offset")


@dataclass(frozen=True, eq=False)
class EstimatorContext:
    """What an estimator may be told beside its settings: the robot, σ of the torques as sampled, and which part of it
    the filter of the equations lets pass; for those that simulate the loop, the controller, the
    planned motion, and how positions were differentiated."""

    robot: Robot
    noise: Any = None
    passed: float = 1.0
    where: str = "configuration"
    control: Control | None = None
    planned: Curve | None = None
    periods: int | None = None
    route: FilteredDifferences | None = None

    def sigma(self) -> tuple[float, ...] | None:
        """σ (n,) of the equations, where that of the torques was given [N·m or N]."""
        if self.noise is None:
            return None
        sampled = per_joint(self.noise, f"{self.where}: noise", self.robot.joint_names, above=0.0)
        return tuple((self.passed * sampled).tolist())

    def loop(self, word: str) -> ClosedLoop:
        if self.planned is None or self.control is None:
            raise ExciterError(
                f"{word} simulates the controlled robot; say which motion was planned (--planned TRAJECTORY), and how "
                "it was controlled (identify: control:)"
            )
        return ClosedLoop(self.robot, self.control, self.planned, self.periods)


Make = Callable[[Section, EstimatorContext], Estimator]


def _prior(section: Section, usual: float | None, known: EstimatorContext) -> Prior:
    weight = section.get("weight")
    if weight is None:
        weight = usual
    elif weight == "auto":
        weight = None
    else:
        weight = section.number("weight", 0.0, least=0.0)
    metric = METRICS[section.word("metric", tuple(METRICS), "pseudo-inertia")]()
    values = VALUES[section.word("values", tuple(VALUES), "best-known")]()
    offset = section.number("offset", 1.0, above=0.0) if section.get("offset") is not None else None
    return Prior(metric, values, weight, section.flag("nonnegative", False), offset, known.sigma())


def _consistent(section: Section, known: EstimatorContext) -> Estimator:
    bounds = bounds_of(section.entries("bounds"), section.at("bounds"))
    return PhysicallyConsistent(_prior(section, 0.0, known), bounds, section.number("margin", 1e-4, least=0.0))


def _essential(section: Section, known: EstimatorContext) -> Estimator:
    return Essential(section.number("level", Essential.level, above=0.0), _names(section, "keep"))


def _two_step(section: Section, known: EstimatorContext) -> Estimator:
    usual = min(TwoStep.wrist, max(1, known.robot.n // 2))  # of a short arm, half
    return TwoStep(section.whole("wrist", usual, least=1, most=known.robot.n))


def _static(section: Section, known: EstimatorContext) -> Estimator:
    usual = AtRest()
    speed, rate = (_number(section, key, getattr(usual, key)) for key in ("speed", "acceleration"))
    return StaticThenDynamic(AtRest(speed, rate), _names(section, "runs") or None)


def _friction_first(section: Section, known: EstimatorContext) -> Estimator:
    usual = ConstantVelocity()
    slowest, rate = (_number(section, key, getattr(usual, key)) for key in ("slowest", "acceleration"))
    return FrictionFirst(ConstantVelocity(slowest, rate))


def _tls(section: Section, known: EstimatorContext) -> Estimator:
    if "errors" not in section:
        return TotalLeastSquares()
    given = section.get("errors")
    if not isinstance(given, dict):
        raise ExciterError(f"{section.at('errors')} is {shown(given)}; give σ of columns over σ of y: {{MX2: 0.1}}")
    return TotalLeastSquares({str(k): number(v, f"{section.at('errors')}: {k}", least=0.0) for k, v in given.items()})


def _names(section: Section, key: str) -> tuple[str, ...]:
    given = section.entries(key)
    if not all(isinstance(name, str) for name in given):
        raise ExciterError(f"{section.at(key)} is {shown(given)}; give a list of names")
    return tuple(given)


def _ml(section: Section, known: EstimatorContext) -> Estimator:
    given = section.get("position_noise")
    names = known.robot.joint_names
    position = None if given is None else tuple(per_joint(given, section.at("position_noise"), names, above=0.0))
    return MaximumLikelihood(position, known.sigma())


def _number(section: Section, key: str, usual: float) -> float:
    return section.number(key, usual, above=0.0)


WORDS: dict[str, tuple[tuple[str, ...], Make]] = {
    "ols": ((), lambda section, known: OrdinaryLeastSquares()),
    "wls": ((), lambda section, known: WeightedLeastSquares(known.sigma())),
    "irls": (("c",), lambda section, known: IterativelyReweighted(Bisquare(_number(section, "c", Bisquare.c)))),
    "huber": (("k",), lambda section, known: Huber(_number(section, "k", Huber.k))),
    "tls": (("errors",), _tls),
    "ml": (("position_noise",), _ml),
    "sequential": ((), lambda section, known: Sequential(known.sigma())),
    "nonnegative": ((), lambda section, known: NonNegative()),
    "consistent": ((*PRIOR, "bounds", "margin"), _consistent),
    "prior": ((*PRIOR, "nonnegative"), lambda section, known: _prior(section, None, known)),
    "essential": (("level", "keep"), _essential),
    "links": ((), lambda section, known: LinkByLink()),
    "two-step": (("wrist",), _two_step),
    "static": (("runs", "speed", "acceleration"), _static),
    "friction-first": (("slowest", "acceleration"), _friction_first),
    "iv": ((), lambda section, known: InstrumentalVariables(known.loop("iv"), known.route)),
    "didim": ((), lambda section, known: DIDIM(known.loop("didim"))),
}


def estimator_of(given: Any, where: str, known: EstimatorContext) -> Estimator:
    """The estimator of a word, weighted least squares unless given."""
    word, settings = word_with_settings("wls" if given is None else given, where, tuple(WORDS))
    keys, make = WORDS[word]
    return make(settings_section(settings, where, word, keys), known)
