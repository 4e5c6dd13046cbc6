"""``identify:`` of the file of ``--config``, beside ``terms:`` and what is said of the robot.

terms: [rotor, viscous, coulomb, offset]   # these unless given; without rotor where torques are measured on the links
identify:
  automatic: true                          # what is left open below is chosen from the logs; so unless an estimator,
                                           # or a formulation that has no joint torques, is asked for
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
  friction: choose                         # the friction model of each joint by cross-validation; as-given: not, also
                                           # when automatic
  gains: identify                          # drive gains of currents, from the known payload of one of the logs; or
  # gains: {M7: 0.74, ZZR1: [1.2, 0.1]}    # from parameters known beforehand: value, or value and σ (SI)
  accept_problems: false                   # also use logs that exciter inspect finds useless
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from exciter.errors import ExciterError, RecordingError, shown
from exciter.experiment.quality.prepare_log import ROUTES
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Route
from exciter.experiment.virtual.control import LAWS, ComputedTorque, Control
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.formulations.base_wrench import BaseWrench
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.problem import USUAL_FOLDS
from exciter.identification.runs.run import Run, bounded_parts
from exciter.identification.uncertainty.covariance_of_correlated_errors import (
    CorrelatedErrors,
    HeteroscedasticErrors,
    StationaryErrors,
)
from exciter.parameters.terms.term import PerJoint
from exciter.settings import (
    ByName,
    Number,
    OneOf,
    OneWord,
    PerJointNumber,
    Registry,
    Settings,
    Switch,
    Text,
    Whole,
    written,
)
from exciter.settings.field_markers import Flag, Kind
from exciter.settings.messages import wrong

MOST_SAMPLES_PER_ROW = 1_000_000  # samples of which one is kept
NO_FILTER_WORD = "none"  #: no filter
MOST_FOLDS = 1000  #: more would be single samples
CHOOSE_FRICTION, FRICTION_AS_GIVEN = "choose", "as-given"  #: friction
IDENTIFY_GAINS = "identify"  #: drive gains


@dataclass(frozen=True)
class EquationFilter(Settings):
    """``{cutoff: 10, order: 4, factor: 5}``: a Butterworth low-pass, cutoff [Hz] and order of one pass, and of how many
    samples one is kept, unless given what the cut-off allows; ``none``, or a cutoff of None: as measured."""

    cutoff: Annotated[float | None, Number(above=0.0, unit="Hz", open=NO_FILTER_WORD)]
    order: Annotated[int, Whole(1)] = 4
    factor: Annotated[int | None, Whole(1, MOST_SAMPLES_PER_ROW)] = None

    def __post_init__(self) -> None:
        _ = self.parallel  # refuses orders that no filter has

    @classmethod
    def of(cls, both: ParallelFilter | None) -> EquationFilter:
        if both is None:
            return cls(None)
        assert isinstance(both.low_pass, Butterworth)  # there are no settings for others
        return cls(both.low_pass.cutoff, both.low_pass.order, both.factor)

    @property
    def parallel(self) -> ParallelFilter | None:
        return None if self.cutoff is None else ParallelFilter(Butterworth(self.cutoff, self.order), self.factor)

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if not isinstance(given, str):
            return given
        if given.strip().lower() != NO_FILTER_WORD:
            raise wrong(f" is {shown(given)}; give none, or {{cutoff: …}} [Hz]")
        return {"cutoff": NO_FILTER_WORD}

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"const": NO_FILTER_WORD}, schema]}

    def spelling(self, data: dict[str, Any]) -> Any:
        return NO_FILTER_WORD if self.cutoff is None else {"cutoff": self.cutoff, "order": self.order, **data}


@dataclass(frozen=True)
class EvaluationFilter(Settings):
    """``{cutoff: 10, order: 4}``: cutoff [Hz] and order of one pass.

    Percentages are 100 · RMS(τ_f − τ̂_f) / RMS(τ_f) over every sample: τ_f is the measured torque through a zero-phase
    Butterworth filter, τ̂_f the prediction through the same one. Edges are cut; nothing is decimated, and rest counts
    like motion. So methods with filters and dead zones of their own are compared by one figure.
    """

    cutoff: Annotated[float, Number(above=0.0, unit="Hz")]
    order: Annotated[int, Whole(1)] = 4

    def __post_init__(self) -> None:
        _ = self.judge  # refuses orders that no filter has

    @property
    def judge(self) -> InverseDynamic:
        return InverseDynamic(ParallelFilter(Butterworth(self.cutoff, self.order), factor=1), 0.0)

    def judging(self, runs: Iterable[Run], where: str) -> InverseDynamic:
        """Of runs, which must allow it; where: the setting stands, for messages."""
        judge = self.judge
        assert judge.parallel_filter is not None
        try:
            for part in bounded_parts(runs):
                judge.parallel_filter.at(part.rate, part.torque_bandwidth)
        except RecordingError as error:
            raise ExciterError(f"{where}: {error}") from None
        return judge


@dataclass(frozen=True)
class IndependentErrors(Settings):
    """Every equation has an error of its own, as estimators take them."""

    word, title = "independent", "errors that are independent"


Errors = CorrelatedErrors | IndependentErrors
ERROR_MODELS = Registry[Settings]("assumption", StationaryErrors, HeteroscedasticErrors, IndependentErrors)


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
    """An identification, as the section ``identify:`` of a file asks for it.

    What the section says; None: left open, so that it is chosen from the logs or the usual one.

    dead_zone [rad/s, m/s] and noise, σ of the torques as sampled [N·m, N]: one or per joint. gains: (value, σ) of
    parameters known beforehand, by name; none where the payload of a log is.

    >>> settings = ex.IdentifySettings(estimator=ex.WeightedLeastSquares(), dead_zone=0.02)
    >>> ex.identify(robot, log, settings).config.settings.dead_zone
    0.02
    """

    automatic: Annotated[bool | None, Flag()] = None
    formulation: Annotated[Formulation | None, OneOf(FORMULATIONS)] = None
    estimator: Annotated[Estimator | None, OneOf(ESTIMATORS)] = None
    route: Annotated[Route | None, OneOf(ROUTES, tag="method", usual="differences")] = None
    filter: EquationFilter | None = None
    dead_zone: Annotated[PerJoint | None, PerJointNumber(least=0.0, unit="rad/s, m/s")] = None
    evaluation: EvaluationFilter | None = None
    noise: Annotated[PerJoint | None, PerJointNumber(above=0.0, unit="N·m, N")] = None
    uncertainty: Annotated[Errors | None, OneOf(ERROR_MODELS)] = None
    folds: Annotated[int, Whole(2, MOST_FOLDS)] = USUAL_FOLDS
    control: Annotated[Control | None, OneOf(LAWS, tag="law", usual=ComputedTorque.word)] = None
    payload: Annotated[str | None, Text("a frame")] = None
    friction: Annotated[str | None, OneWord((CHOOSE_FRICTION, FRICTION_AS_GIVEN))] = None
    gains: Annotated[Mapping[str, tuple[float, float]] | None, KnownForGains(ValueAndSigma())] = None
    accept_problems: Switch = False

    def __post_init__(self) -> None:
        if self.evaluation is not None and isinstance(self.formulation, BaseWrench):
            raise ExciterError("evaluation is of joint torques; base-wrench has none: leave evaluation: out")
        given = self.formulation
        if word_of(given) in FORMULATIONS and OneOf(FORMULATIONS).check(written(given), {}) != given:
            raise ExciterError(
                f"{type(given).__name__} has a filter or a dead zone of its own, which would not be written "
                "with the settings; give them as filter and dead_zone"
            )

    def spelling(self, data: dict[str, Any]) -> Any:
        return {**data, "gains": IDENTIFY_GAINS} if data.get("gains") == {} else data


def word_of(setting: object) -> str:
    """That of a class in a registry; one of the user's own need not have any."""
    return str(getattr(setting, "word", type(setting).__name__))
