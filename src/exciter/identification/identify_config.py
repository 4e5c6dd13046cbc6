"""``identify:`` of the file of ``--config``, beside ``terms:``; and an identification so asked for, of a robot's logs.

terms: [rotor, viscous, coulomb, offset]   # these unless given; without rotor where torques are measured on the links
identify:
  automatic: true                          # what is open below is chosen from the logs; unless an estimator is given
  formulation: dynamic                     # see ``formulations``
  estimator: consistent                    # see ``estimators.registry``; wls where nothing is automatic
  route: {method: differences, cutoff: 20, measured_velocity: true}   # or fourier, spline; chosen unless given
  filter: {cutoff: 10}                     # both sides of the equations [Hz]; none; the cut-off of route: unless given
  dead_zone: 0.02                          # [rad/s, m/s], one or by joint: slower joints have no equation; 0: all have
  evaluation: {cutoff: 10, order: 4}       # percentages are of every sample through this [Hz]; as fitted unless given
  noise: [1.0, 1.0, 0.5]                   # σ of the torques [N·m], one or per joint; from residuals unless given
  uncertainty: correlated                  # or hac, independent
  folds: 10                                # of cross-validation
  control: {law: computed-torque, bandwidth: 20}   # for iv and didim, as under simulate:
  payload: flange                          # frame that carries the load of --loaded
  friction: choose                         # the friction model of each joint by cross-validation; as-given: not
  gains: identify                          # of currents, by a known payload; or by {M7: 0.74, ZZR1: [value, σ]}
  current_map: cubic                       # τ = K i + k i³ of currents, k found; K as gains: of the log or of this file
  accept_problems: false                   # also use logs that exciter inspect finds useless"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, shown
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.experiment.quality.prepare_log import ROUTES
from exciter.experiment.recording.recording import LINK_SIDE
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import DECIMATION_FACTOR, ParallelFilter
from exciter.experiment.signals.low_pass_filter import Chebyshev
from exciter.experiment.signals.processed_motion import Route
from exciter.experiment.virtual.control import LAWS, ComputedTorque, Control
from exciter.identification.beside_currents import refuse_beside_currents
from exciter.identification.closed_loop.closed_loop import ClosedLoop, refuse_not_simulated
from exciter.identification.drive_gains import KnownParameter
from exciter.identification.equation_filter import EquationFilter, EvaluationFilter
from exciter.identification.estimators.estimator import Estimator, completed, takes_noise
from exciter.identification.estimators.least_squares import (
    LINEAR_ESTIMATORS,
    OrdinaryLeastSquares,
    WeightedLeastSquares,
)
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.physical import AUTO, PhysicallyConsistent, Prior
from exciter.identification.estimators.registry import ESTIMATORS, NOISE_ESTIMATORS, SIMULATED_ESTIMATORS
from exciter.identification.estimators.staged import StageSequence
from exciter.identification.formulations import FORMULATIONS, with_filter
from exciter.identification.formulations.base_link import BaseLink
from exciter.identification.formulations.dynamic import BaseWrench, InverseDynamic
from exciter.identification.formulations.energy import Energy
from exciter.identification.formulations.formulation import Formulation, word_of
from exciter.identification.formulations.gain_free import GainFree
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.problem import USUAL_FOLDS, Problem
from exciter.identification.physical.penalised_fit import PhysicalEstimate
from exciter.identification.runs.reversals import below_cruises, resting_speed, sticking_speed
from exciter.identification.runs.run import Run, bounded_parts
from exciter.identification.selection.cutoff_choice import usual_filter
from exciter.identification.stages.planned import PlannedRun, free_in
from exciter.identification.stages.stage_weights import StagedEstimate
from exciter.identification.uncertainty import covariance_of_correlated_errors as correlated
from exciter.notes import note
from exciter.parameters.terms import JointTerm, ListOfTerms, RotorInertia
from exciter.parameters.terms.term import PerJoint, per_joint
from exciter.robot.load import RobotOptions, options_from
from exciter.robot.robot import Robot
from exciter.settings import ByName, OneOf, PerJointNumber, Registry, Settings, fill, keys_of, known_keys, written
from exciter.settings.field_markers import Flag, Kind, Number, OneWord, Switch, Text, Whole, wrong
from exciter.settings.fill import flags, place, settings_fields
from exciter.typing import Array

MOST_FOLDS = 1000  #: more would be single samples
CHOOSE_FRICTION, FRICTION_AS_GIVEN = "choose", "as-given"  #: friction
IDENTIFY_GAINS = "identify"  #: drive gains
CUBIC_MAP = "cubic"  #: of drives: τ = K i + k i³
CONFIG_KEYS = (*keys_of(RobotOptions), "terms", "identify")  #: of plain data


@dataclass(frozen=True)
class IndependentErrors(Settings):
    """Every equation has an error of its own, as estimators take them."""

    word, title = "independent", "errors that are independent"


Errors = correlated.CorrelatedErrors | IndependentErrors
ERROR_MODELS = Registry[Settings](
    "assumption", correlated.StationaryErrors, correlated.HeteroscedasticErrors, IndependentErrors
)


@dataclass(frozen=True)
class ValueAndSigma(Kind):
    """A number, or one with its standard deviation."""

    wanted = "a value, or a list of a value and its σ"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[float, float]:
        value, std = given if isinstance(given, list | tuple) and len(given) == 2 else (given, 0.0)
        return Number().number(value), Number().number(std)

    def schema(self) -> dict[str, Any]:
        one = Number().schema()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 2, "maxItems": 2}]}


@dataclass(frozen=True)
class KnownForGains(ByName):
    """The word identify, or parameters that are known: (value, σ) by name."""

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if given != IDENTIFY_GAINS and not isinstance(given, Mapping):
            raise wrong(f" is {shown(given)}; write identify, or parameters that are known: {{M7: 0.74}}")
        return {} if given == IDENTIFY_GAINS else super().check(given, context)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"const": IDENTIFY_GAINS}, super().schema()]}


@dataclass(frozen=True)
class IdentifySettings(Settings):
    """An identification, as the section ``identify:`` of a file asks for it; None: chosen from the logs, or as usual.

    dead_zone [rad/s, m/s] and noise, σ of the torques as sampled [N·m, N]: one or per joint. gains: (value, σ) of
    parameters known beforehand, by name; none where the payload of a log is. current_map: how torque depends on the
    current beyond a gain, found with the parameters.

    >>> settings = ex.IdentifySettings(estimator=ex.WeightedLeastSquares(), dead_zone=0.02)
    >>> ex.identify(robot, log, settings).config.settings.dead_zone
    0.02"""

    automatic: Annotated[bool | None, Flag()] = None
    formulation: Annotated[Formulation | None, OneOf(FORMULATIONS)] = None
    estimator: Annotated[Estimator | None, OneOf(ESTIMATORS)] = None
    route: Annotated[Route | None, OneOf(ROUTES, tag="method", usual="differences")] = None
    filter: EquationFilter | None = None
    dead_zone: Annotated[PerJoint | None, PerJointNumber(least=0.0, unit="rad/s, m/s")] = None
    evaluation: EvaluationFilter | None = None
    noise: Annotated[PerJoint | None, PerJointNumber(above=0.0, unit="N·m, N")] = None
    uncertainty: Annotated[Errors | None, OneOf(ERROR_MODELS)] = None
    folds: Annotated[int | None, Whole(2, MOST_FOLDS)] = None
    control: Annotated[Control | None, OneOf(LAWS, tag="law", usual=ComputedTorque.word)] = None
    payload: Annotated[str | None, Text("a frame")] = None
    friction: Annotated[str | None, OneWord((CHOOSE_FRICTION, FRICTION_AS_GIVEN))] = None
    gains: Annotated[Mapping[str, tuple[float, float]] | None, KnownForGains(ValueAndSigma())] = None
    current_map: Annotated[str | None, OneWord((CUBIC_MAP,))] = None
    accept_problems: Switch = False

    def __post_init__(self) -> None:
        given = self.formulation
        if self.evaluation is not None and isinstance(given, BaseWrench | BaseLink):
            raise ExciterError(f"evaluation is of joint torques; {given.word} has none: leave evaluation: out")
        if has_one_sigma(self.estimator) and not isinstance(self.uncertainty, IndependentErrors | None):
            raise ExciterError(
                f"uncertainty: {self.uncertainty.word} and the one σ of ols [12.6]–[12.8] are two covariances; give "
                f"uncertainty: {IndependentErrors.word}, or ols without noise: common"
            )
        if isinstance(given, GainFree):
            refuse_beside_currents(self)
        if word_of(given) in FORMULATIONS and OneOf(FORMULATIONS).check(written(given), {}) != given:
            raise ExciterError(
                f"{type(given).__name__} has a filter or a dead zone of its own, which would not be written "
                "with the settings; give them as filter and dead_zone"
            )

    def spelling(self, data: dict[str, Any]) -> Any:
        return {**data, "gains": IDENTIFY_GAINS} if data.get("gains") == {} else data


def has_one_sigma(estimator: Estimator | None) -> bool:
    """Whether its covariance is the chapter's, which errors that are alike, or different by joint, would change."""
    return isinstance(estimator, OrdinaryLeastSquares) and estimator.has_one_sigma


@dataclass(frozen=True, eq=False)
class IdentifyConfig:
    """An identification as it was asked for; what depends on robot and logs is made when these are there.

    robot: what is said of it. terms: of the model, None: the usual ones. side: of the gears on which all logs measure
    torque (``Recording.side``); behind them no rotor is felt. planned: runs of a plan, where there is one. where: the
    settings stand, for messages; given: those that do not, as a flag or a keyword spells them."""

    robot: RobotOptions = field(default_factory=RobotOptions)
    terms: tuple[JointTerm, ...] | None = None
    settings: IdentifySettings = field(default_factory=IdentifySettings)
    side: str | None = None
    planned: tuple[PlannedRun, ...] | None = None
    where: str = "configuration: identify"
    given: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str, folder: Path | None = None) -> IdentifyConfig:
        """Of plain data, as ``to_dict`` gives it. folder: at which relative paths start."""
        data = known_keys(given, where, CONFIG_KEYS)
        robot = options_from({key: one for key, one in data.items() if key in keys_of(RobotOptions)}, where, folder)
        settings = fill(IdentifySettings, data.get("identify"), f"{where}: identify", folder=folder)
        terms = terms_of(data.get("terms"), f"{where}: terms")
        return cls(robot=robot, terms=terms, settings=settings, where=f"{where}: identify")

    def overridden(self, **given: Any) -> IdentifyConfig:
        """With words of the command line, or plain data; a word that the file gives with settings keeps them."""
        changed = {key: word for key, word in given.items() if word not in (None, word_of(getattr(self.settings, key)))}
        spelled, hints = flags(changed), settings_fields(IdentifySettings)
        found = {key: fill(hints[key], word, spelled[key]) for key, word in changed.items()}
        return replace(self, given={**self.given, **spelled}).with_settings(**found)

    def place(self, key: str) -> str:
        """Of a setting, for messages."""
        return place(key, self.where, self.given)

    def with_settings(self, **changes: Any) -> IdentifyConfig:
        return replace(self, settings=replace(self.settings, **changes))

    def refuse_early(self, robot: Robot, *, planned: bool) -> None:
        """What is wrong whatever the logs are, before they are read."""
        settings = self.settings
        if "loop" in self._estimator.inner:
            refuse_not_simulated(robot, word_of(self._estimator))
            if not planned or settings.control is None:
                raise self._plan_missing()
        named = {*FORMULATIONS, *ESTIMATORS}  # a file can name them; methods of the user's own it cannot
        own: Any = {key: None for key in ("formulation", "estimator") if type(getattr(settings, key)) not in named}
        fill(IdentifySettings, written(replace(settings, **own)), self.where, robot=robot)  # numbers are of its joints
        if settings.payload is not None:
            robot.frame(settings.payload)
        _ = self.model(robot), self.automatic, self.known_parameters
        self._refuse_unused()

    def _refuse_unused(self) -> None:
        """Settings that were given and that nothing would use: a result must not state them as applied."""
        settings, estimator, formulation = self.settings, self._estimator, self._formulation
        if settings.dead_zone is not None and not isinstance(formulation, InverseDynamic):
            raise ExciterError(
                f"{self.place('dead_zone')} belongs to the formulation dynamic, not to "
                f"{word_of(formulation)}; leave it out"
            )
        unfiltered = isinstance(formulation, Energy) or getattr(formulation, "a", None) is not None
        if unfiltered and settings.filter is not None and settings.filter.parallel is not None:
            raise ExciterError(
                f"{self.place('filter')} has no part in the formulation {written(formulation)}; leave it out"
            )
        if self.automatic:
            return
        if settings.noise is not None and not takes_noise(estimator):
            raise ExciterError(
                f"{self.place('noise')} is given, and {word_of(estimator)} has its own, or takes it from the "
                f"residuals; leave it out, or use {', '.join(NOISE_ESTIMATORS)} without noise of its own"
            )
        if isinstance(settings.uncertainty, correlated.CorrelatedErrors) and not takes_correlated(estimator):
            raise ExciterError(
                f"{self.place('uncertainty')} {word_of(settings.uncertainty)} is for least squares, and "
                f"{word_of(estimator)} has a covariance of its own; leave it out"
            )
        if settings.control is not None and "loop" not in estimator.inner:
            raise ExciterError(
                f"{self.where}: control is for {' and '.join(SIMULATED_ESTIMATORS)}, which simulate the controlled "
                f"robot; {word_of(estimator)} does not: leave it out"
            )
        if settings.folds is not None and settings.friction != CHOOSE_FRICTION and not cross_validates(estimator):
            raise ExciterError(
                f"{self.where}: folds are of cross-validation, by which {word_of(estimator)} as it is set chooses "
                f"nothing; leave it out, or say automatic: true, friction: {CHOOSE_FRICTION}, or weight: {AUTO} of a "
                "prior"
            )

    def _plan_missing(self) -> ExciterError:
        return ExciterError(
            f"{word_of(self._estimator)} simulates the controlled robot: say which motion was planned (planned), "
            f"and how it was controlled ({self.place('control')})"
        )

    def model(self, robot: Robot) -> DynamicModel:
        return DynamicModel(robot, self.terms_or_usual)

    @property
    def terms_or_usual(self) -> tuple[JointTerm, ...]:
        """``terms:``; unless given, what a drive has, seen from the side on which its torque is measured."""
        if self.terms is not None:
            return self.terms
        return tuple(term for term in USUAL_TERMS if self.side != LINK_SIDE or not isinstance(term, RotorInertia))

    @property
    def route(self) -> Route | None:
        return self.settings.route

    @property
    def _estimator(self) -> Estimator:
        return self.settings.estimator or WeightedLeastSquares()

    @property
    def _formulation(self) -> Formulation:
        return self.settings.formulation or InverseDynamic()

    def _both(self, runs: tuple[Run, ...]) -> ParallelFilter | None:
        """What both sides go through; unless given, that of the motion itself, not of ways from pose to pose."""
        given, free = self.settings.filter, free_in(self.planned)
        moving = tuple(run for run in runs if free is None or run.name in free) or runs
        return usual_filter(bounded_parts(moving)) if given is None else given.parallel

    def formulation(self, runs: tuple[Run, ...]) -> Formulation:
        # maximum likelihood compares torques as they were measured
        as_measured = isinstance(self._estimator, MaximumLikelihood) and self.settings.filter is None
        rate = min((part.rate for part in bounded_parts(runs)), default=1.0)
        made = with_filter(self._formulation, None if as_measured else self._both(runs), rate)
        return replace(made, dead_zone=self.dead_zone(runs)) if isinstance(made, InverseDynamic) else made

    def dead_zone(self, runs: tuple[Run, ...]) -> PerJoint:
        """[rad/s, m/s] As given; else a hundredth of each joint's fastest. In stages, where joints come to rest all the
        time, more (``sticking_speed``), but never as much as a planned cruise."""
        if self.settings.dead_zone is not None:
            return self.settings.dead_zone
        if not runs:
            return 0.0
        parts = [part for part in bounded_parts(runs) if len(part)]
        if not self.in_stages:
            return tuple(resting_speed(parts).tolist())
        names = next((run.recording.joints for run in runs if run.recording is not None), ())
        cruises = [(names.index(joint), speed) for one in self.planned or () for joint, speed in one.slowest]
        return tuple(below_cruises(np.maximum(resting_speed(parts), sticking_speed(parts)), cruises).tolist())

    @property
    def method_name(self) -> str:
        """Formulation and estimator, by their words."""
        return f"{word_of(self._formulation)}/{word_of(self._estimator)}"

    def judge(self, runs: tuple[Run, ...]) -> InverseDynamic:
        """Joint torques, through the same filter: what every estimate is measured by unless ``evaluation`` is given."""
        return InverseDynamic(self._both(runs), self.dead_zone(runs))

    def evaluation(self, runs: tuple[Run, ...], others: tuple[Run, ...] = ()) -> InverseDynamic:
        """What percentages of residuals are of, on these runs and on others: ``evaluation:``, else as ``judge``."""
        given = self.settings.evaluation
        if self.of_currents:
            return GainFree(self._both(runs), self.dead_zone(runs))
        return self.judge(runs) if given is None else given.judging((*runs, *others), self.place("evaluation"))

    def problem(self, model: DynamicModel, runs: tuple[Run, ...]) -> Problem:
        return Problem(model, runs, self.formulation(runs), self.folds)

    @property
    def folds(self) -> int:
        """Pieces that logs are cut into for cross-validation."""
        return self.settings.folds or USUAL_FOLDS

    @property
    def in_stages(self) -> bool:
        """Whether joints start and stop in turns, as a plan or an estimate in stages wants it."""
        return bool(self.planned) or isinstance(self._estimator, StageSequence)

    def estimator(
        self, robot: Robot, planned: Curve | None = None, periods: int | None = None, runs: tuple[Run, ...] = ()
    ) -> Estimator:
        """planned, periods: the motion that was sent, and how often it was run through, for iv and didim."""
        found, noise, loop = self._estimator, self.settings.noise, None
        if noise is not None:  # σ of the equations is what their filter lets pass
            passed = noise_share(self.formulation(runs), runs) if runs else 1.0
            noise = tuple((passed * per_joint(noise, robot.joint_names, self.place("noise"))[:, 0]).tolist())
        if "loop" in found.inner:
            if planned is None:
                raise self._plan_missing()
            loop = ClosedLoop(robot, self.settings.control or ComputedTorque(), planned, periods)
        route = differences_route(self.route, runs)
        return completed(found, noise=noise, torque_noise=noise, loop=loop, route=route, planned=self.planned)

    @property
    def uncertainty(self) -> Errors:
        return self.settings.uncertainty or correlated.StationaryErrors()

    @property
    def automatic(self) -> bool:
        """Whether settings that were left open are chosen from the logs: asked for, or nothing else was."""
        settings = self.settings
        possible = isinstance(self._formulation, InverseDynamic) and not self.wants_currents
        wanted = possible and settings.estimator is None if settings.automatic is None else settings.automatic
        if wanted and not possible:
            raise ExciterError(
                f"{self.place('automatic')} chooses settings for joint torques in N·m; leave it out, or take the "
                "formulation dynamic and logs whose gains are known"
            )
        return wanted

    @property
    def of_currents(self) -> bool:
        """Whether equations are of currents whose gains stay unknown."""
        return isinstance(self._formulation, GainFree)

    @property
    def wants_currents(self) -> bool:
        """Whether logs are read in amperes, whatever gains they state."""
        return self.of_currents or self.known_parameters is not None or self.settings.current_map is not None

    @property
    def known_parameters(self) -> tuple[KnownParameter, ...] | None:
        """What drive gains are to be found from beside known payloads; None: gains are not asked for."""
        gains = self.settings.gains
        return None if gains is None else tuple(KnownParameter(name, *known) for name, known in gains.items())

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data; written as YAML they are a file for --config that asks for the same again."""
        robot = written(replace(self.robot, mesh_root=None))
        plain = {**robot, "terms": written(self.terms_or_usual) or "none", "identify": written(self.settings)}
        return {key: value for key, value in plain.items() if value != {}}


def terms_of(given: Any, where: str) -> tuple[JointTerm, ...] | None:
    """Joint terms of a file; None: nothing is said of them. Which joints there are is asked when they are bound."""
    return None if given is None else fill(ListOfTerms().hint, given, where)


def differences_route(route: Route | None, runs: Iterable[Run]) -> FilteredDifferences | None:
    """The filtered differences that runs went through, chosen or given; None where it was another route."""
    if isinstance(route, FilteredDifferences):
        return route
    parts = bounded_parts(runs)
    chosen = route is None and parts and all(part.position_bandwidth < float("inf") for part in parts)
    return FilteredDifferences() if chosen else None


def noise_share(formulation: Formulation, runs: Iterable[Run]) -> float:
    """σ of filtered white noise over that of its samples; one for equations that go through no filter."""
    both: ParallelFilter | None = getattr(formulation, "parallel_filter", None)
    if both is None:
        return 1.0
    return passed_share(both, *min((part.rate, part.torque_bandwidth) for part in bounded_parts(runs)))


def passed_share(both: ParallelFilter, rate: float, limit: float) -> float:
    """The same of samples at a rate [Hz] whose torque ends at ``limit`` [Hz]."""
    return float(min(1.0, 2.0 * both.at(rate, limit)[0].noise_bandwidth(rate) / rate) ** 0.5)


def judged_words(judge: Formulation) -> str:
    """What percentages of residuals are of, in one sentence."""
    if not isinstance(judge, InverseDynamic):
        return "Percentages are of the measured side of the equations."
    both = judge.parallel_filter
    if both is None:
        return f"Percentages are of the measured {judge.measured}."
    if (low_pass := both.low_pass) is None:
        count, order = both.factor or DECIMATION_FACTOR, Chebyshev.order
        words = f"Chebyshev low-pass at 0.8 of the half rate that is left, one of {count} kept"
    else:
        words, order = f"{type(low_pass).__name__} low-pass of {low_pass.cutoff:.4g} Hz", low_pass.order
    same = f"{words}, order {order}, forwards and backwards; the prediction went through the same"
    through = f"Percentages are of the measured {judge.measured} through a {same}"
    zone = judge.dead_zone
    if np.any(list(zone.values()) if isinstance(zone, Mapping) else zone):
        return f"{through}. While a joint with dry friction rests, it does not count."
    return f"{through}, and every sample counts, at rest too." if both.factor == 1 else f"{through}."


def cross_validates(estimator: Estimator) -> bool:
    """Whether it may ask which of its answers predicts best; one of the user's own may."""
    if isinstance(estimator, PhysicallyConsistent):
        return estimator.prior.weight == AUTO
    return estimator.weight in (None, AUTO) if isinstance(estimator, Prior) else type(estimator) not in {*ESTIMATORS}


def takes_correlated(estimator: Estimator) -> bool:
    """Whether the covariance of errors that are alike from instant to instant can be that of its estimates."""
    in_stages = isinstance(estimator, StageSequence) and not estimator.known
    return in_stages or isinstance(estimator, (*LINEAR_ESTIMATORS, PhysicallyConsistent, Prior))


def with_uncertainty(
    problem: Problem, estimator: Estimator, estimate: Estimate, errors: Errors, changes: Array | None = None
) -> Estimate:
    """With the covariance of such errors, or with a word on its own. changes: see ``correlated.pulled``."""
    if isinstance(errors, IndependentErrors) or has_one_sigma(estimator):
        return estimate
    if isinstance(estimator, LINEAR_ESTIMATORS):
        return correlated.with_correlated_errors(problem, estimate, errors)
    if isinstance(estimator, PhysicallyConsistent) and estimator.prior.weight in (None, AUTO, 0.0):
        return _of_the_free_fit(problem, estimate, errors)
    if isinstance(estimate, PhysicalEstimate) and estimate.prior is not None:
        return correlated.with_correlated_errors_and_prior(problem, estimate, errors, changes)
    if isinstance(estimate, StagedEstimate) and estimate.weights is not None:
        return correlated.with_correlated_errors_of_stages(problem, estimate, errors)
    own = f"uncertainty: {errors.word} is for least squares; {type(estimator).__name__} has a covariance of its own"
    return replace(estimate, notes=(*estimate.notes, note("uncertainty", own)))


def _of_the_free_fit(problem: Problem, estimate: Estimate, errors: correlated.CorrelatedErrors) -> Estimate:
    """Bounds bring an estimate nearer to any truth that keeps them, so that this is safe; as it is where data lack."""
    try:
        free = correlated.with_correlated_errors(problem, WeightedLeastSquares().estimate(problem), errors)
    except ParameterError:
        return estimate
    said = free.assumptions + assumed("of the fit without bounds, which is on the safe side")
    covariance, notes = free.covariance, (*estimate.notes, *free.notes)
    return replace(estimate, covariance=covariance, freedom=free.freedom, assumptions=said, notes=notes)
