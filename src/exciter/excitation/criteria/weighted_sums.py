"""Criteria made of others, and those that stand beside another: weighted sums, equilibrium of W, torque activity.

On the way to a criterion other ones are minimised: smooth stand-ins first, and logarithms of what spans many decades.

All criteria by their words; what one needs of the robot is taken from it unless given (``bound``):

criterion: d-optimal
criterion: {condition: 1.0, torque-activity: 0.1}
criterion: {cramer-rao: {joint_noise: 1.0e-4}}             # settings beside an optional weight
criterion: {condition-scaled: {weight: 2.0}, torque-activity: 1.0}"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, reduce
from typing import Any, ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel, random_motion
from exciter.errors import ExciterError, ParameterError, not_allowed, shown
from exciter.excitation.criteria import optimality_and_condition as gram
from exciter.excitation.criteria.a_priori_sizes import USUAL_SIZE_FLOOR, Floor, Sizes, bound_sizes
from exciter.excitation.criteria.cramer_rao import CramerRao
from exciter.excitation.criteria.criterion import AnyCriterion, CriterionEvaluation, CriterionSettings, Observed
from exciter.excitation.criteria.observation_rows import DesignColumns, DesignRows, EnergyRows, TorqueRows
from exciter.excitation.criteria.targets import BoundTargets, Targets
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import MotionGradient
from exciter.settings import Amount, Positive, Registry, Settings
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.settings.fill import filled, json_schema
from exciter.typing import Array, BoolArray

PROBED_ROWS_PER_KIND = 40  # rows of each kind at which an element must be non-zero at least once
STRUCTURAL_ZERO_SHARE = 1e-9  # of its column's largest element: smaller ones along a random motion are zero
ROUNDED_ZERO_SHARE = 1e-12  # the same for the motion at hand: zero but for rounding
SOFT_CONDITION_POWERS = (4.0, 16.0)  # of the stand-ins for a condition number, one stage each
EQUILIBRIUM_HOPS = 8  # times that all stages are run through again, from near the best so far: see ``hops``
HOP_SHARE = 0.3  # of the mean size of the variables about the posture: standard deviation of a hop
#: of the stand-ins for a condition number and for S, one stage each; None: without S
EQUILIBRIUM_STAGES = ((4.0, None), (8.0, 4.0), (16.0, 16.0), (32.0, 64.0))


@dataclass(frozen=True)
class Equilibrium(CriterionSettings):
    """S = max|W_ij| / min|W_ij| over the elements that are not zero (Gautier & Khalil (19), [12.13]).

    A joint's torque does not depend on links before it, whatever the motion: those zeros are left out. So are elements
    that vanish to rounding where a joint is at rest; a column that is nothing but zeros makes S infinite. S is decided
    by two elements and has a kink wherever others take over, hence ``SoftEquilibrium`` on the way. It belongs to few
    rows: points, or long intervals of energy. Along a densely sampled motion every element that changes its sign passes
    zero, and S says only how near a sample came."""

    word, title = "equilibrium", "equilibrium of the elements"
    companion: ClassVar[bool] = True

    def at(self, observed: Observed) -> CriterionEvaluation:
        w = observed.w[:, observed.columns.interest]
        size = np.abs(w)
        if (places := counted(observed, size)) is None:
            return CriterionEvaluation(np.inf)
        most, least = int(size.argmax()), int(np.where(places, size, np.inf).argmin())
        large, small = size.flat[most], size.flat[least]
        seed = np.zeros_like(w)
        seed.flat[most] = np.sign(w.flat[most]) / small
        seed.flat[least] -= np.sign(w.flat[least]) * large / small**2
        return CriterionEvaluation(float(large / small), further=(partial(pulled_back, observed, seed),))


@dataclass(frozen=True)
class SoftEquilibrium:
    """(mean |w|^p · mean |w|^−p)^(1/p) over the elements w that S counts: S as p → ∞, never above it, and smooth.
    All large and all small elements are pushed, not only the extreme pair. It grows without bound where an element
    comes near zero, so that hardly any changes its sign on the way: the signs are those where its descent begins."""

    power: float
    name: ClassVar[str] = "soft equilibrium"

    def at(self, observed: Observed) -> CriterionEvaluation:
        w = observed.w[:, observed.columns.interest]
        size = np.abs(w)
        if (places := counted(observed, size)) is None:
            return CriterionEvaluation(np.inf)
        most, least = float(size[places].max()), float(size[places].min())
        large = np.where(places, size / most, 0.0) ** self.power
        small = np.divide(least, size, out=np.zeros_like(size), where=places) ** self.power
        value = most / least * float(large.sum() * small.sum() / np.count_nonzero(places) ** 2) ** (1.0 / self.power)
        slope = value * (large / large.sum() - small / small.sum())
        seed = np.divide(slope, w, out=np.zeros_like(w), where=places)
        return CriterionEvaluation(value, further=(partial(pulled_back, observed, seed),))


def pulled_back(observed: Observed, seed: Array) -> MotionGradient:
    """From a slope (R, columns of interest) by the elements of W that belong to the parameters of interest."""
    whole = np.zeros_like(observed.w)
    whole[:, observed.columns.interest] = seed
    return observed.rows_pullback(whole)


def counted(observed: Observed, size: Array) -> BoolArray | None:
    """(R, columns of interest) elements that are not zero, neither by structure nor to rounding, of |W|;
    None where a column has no other."""
    largest = size.max(axis=0)
    if not largest.all():
        return None
    pattern = structure(observed.model, observed.columns, observed.formulation)[:, observed.columns.interest]
    places: BoolArray = np.tile(pattern, (len(size) // len(pattern), 1)) & (size > ROUNDED_ZERO_SHARE * largest)
    return places


@lru_cache(maxsize=16)
def structure(model: DynamicModel, columns: DesignColumns, formulation: DesignRows) -> BoolArray:
    """(kinds, b): elements that can be non-zero, seen along a random motion."""
    kinds = formulation.kinds(model)
    if isinstance(formulation, EnergyRows):
        formulation = EnergyRows()  # whatever the interval, and the noise
    motion = random_motion(model.robot, PROBED_ROWS_PER_KIND + 1)
    w = np.abs(Observed(model, motion, columns, np.ones(model.n), formulation).w)
    seen: BoolArray = w.reshape(-1, kinds, len(columns)).max(axis=0) > STRUCTURAL_ZERO_SHARE * w.max(axis=0)
    return seen


@dataclass(frozen=True)
class InverseTorque(CriterionSettings):
    """1 / Σ_j mean_t |τ_j| [1/(N·m)]: second summand of Rackl et al. (15), with |τ| so that torques cannot cancel.

    chi (p,): standard parameters, the description's unless given. The mean over time keeps its balance with a
    condition number when a motion is sampled more densely; ξ₂ of the paper is ours times its number of points."""

    chi: tuple[Amount, ...] | None = None

    word, title, name = "torque-activity", "torque activity", "inverse-torque"
    companion: ClassVar[bool] = True

    def at(self, observed: Observed) -> CriterionEvaluation:
        model, motion = observed.model, observed.motion
        torque = model.torque(motion, self.chi)
        activity = float(np.abs(torque).mean(axis=0).sum())
        if not activity > 0:
            return CriterionEvaluation(np.inf)
        seed = -np.sign(torque) / (len(motion) * activity**2)
        return CriterionEvaluation(1.0 / activity, further=(lambda: model.torque_pullback(motion, seed, self.chi),))


@dataclass(frozen=True)
class WeightedSum(Settings):
    """Σ weight · criterion, parts as pairs (weight > 0, criterion). All ∂f/∂H are added first: one pass back."""

    parts: tuple[tuple[float, AnyCriterion], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple((float(weight), criterion) for weight, criterion in self.parts))
        weights = [weight for weight, _ in self.parts]
        if not weights or not all(np.isfinite(w) and w > 0 for w in weights):
            raise ParameterError(f"a weighted sum needs parts with positive weights; given {weights}")

    def bound(self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None) -> WeightedSum:
        return WeightedSum(tuple((weight, bound(part, model, trajectory, columns)) for weight, part in self.parts))

    def spelling(self, data: dict[str, Any]) -> Any:
        """``{condition: 1.0, a-optimal: {weight: 0.5, scale: […]}}``"""
        words: dict[str, Any] = {}
        for weight, part in data["parts"]:
            word, settings = (part, {}) if isinstance(part, str) else next(iter(part.items()))
            if word in words:
                raise ExciterError(f"a weighted sum has {word} twice; a configuration can have it once")
            words[word] = {"weight": weight, **settings} if settings else weight
        return words

    @property
    def name(self) -> str:
        return " + ".join(f"{weight:g} {criterion.name}" for weight, criterion in self.parts)

    def at(self, observed: Observed) -> CriterionEvaluation:
        parts = []
        for weight, criterion in self.parts:
            part = observed.evaluation(criterion)
            if not np.isfinite(part.value):
                return part
            parts.append(part.times(weight, weight * part.value))
        slopes = [part.dfdh for part in parts if part.dfdh is not None]
        return CriterionEvaluation(
            value=sum(part.value for part in parts),
            dfdh=reduce(np.add, slopes) if slopes else None,
            further=tuple(gradient for part in parts for gradient in part.further),
        )


def bound(
    criterion: AnyCriterion, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None
) -> AnyCriterion:
    """The criterion with what it leaves open taken from a model, the family of the motion, and the parameters."""
    own = getattr(criterion, "bound", None)  # one of Python code need not have it
    return criterion if own is None else own(model, trajectory, columns)


class SumByWord(CriterionSettings):
    """A weighted sum that has a word of its own."""

    @cached_property
    def sum(self) -> WeightedSum:
        raise NotImplementedError

    @property
    def name(self) -> str:
        return self.sum.name

    def at(self, observed: Observed) -> CriterionEvaluation:
        return self.sum.at(observed)


@dataclass(frozen=True)
class ConditionAndEquilibrium(SumByWord):
    """cond(W) + k₁ max|W_ij|/min|W_ij| [12.13]."""

    word, title = "condition-equilibrium", "condition number and equilibrium"
    k1: Positive = 1e-3

    @cached_property
    def sum(self) -> WeightedSum:
        return WeightedSum(((1.0, gram.ConditionNumber()), (self.k1, Equilibrium())))


@dataclass(frozen=True)
class ConditionAndTorque(SumByWord):
    """ξ₁ cond(W diag Z) + ξ₂ / Σ mean |τ| (Rackl et al. (15)); values Z as of ``ScaledCondition``."""

    word, title = "condition-torque", "condition number and torque activity"
    values: Sizes = None
    xi1: Positive = 1.0
    xi2: Positive = 1.0
    chi: tuple[Amount, ...] | None = None
    floor: Floor = USUAL_SIZE_FLOOR

    @cached_property
    def sum(self) -> WeightedSum:
        scaled = gram.ScaledCondition(self.values, self.floor)
        return WeightedSum(((self.xi1, scaled), (self.xi2, InverseTorque(self.chi))))

    def bound(
        self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None
    ) -> ConditionAndTorque:
        return replace(self, values=bound_sizes(self.values, model, columns, self.floor, self.word))


@dataclass(frozen=True)
class Logarithm:
    """log of a criterion that is always positive: the same minima, and steps that do not depend on its size."""

    criterion: AnyCriterion

    @property
    def name(self) -> str:
        return f"log {self.criterion.name}"

    def at(self, observed: Observed) -> CriterionEvaluation:
        found = observed.evaluation(self.criterion)
        if not np.isfinite(found.value):
            return found
        return found.times(1.0 / found.value, float(np.log(found.value)))


POSITIVE = (  #: criteria of which a logarithm can be taken
    *(gram.ConditionNumber, gram.NormalizedCondition, gram.ScaledCondition, gram.SoftCondition),
    *(gram.FrobeniusCondition, gram.QrCondition, gram.ConditionAndSmallest, gram.AOptimality),
    *(Equilibrium, SoftEquilibrium),
)


def stages(criterion: AnyCriterion) -> tuple[AnyCriterion, ...]:
    """Criteria to be minimised one after the other; the last one has the minima of the given one.

    A part that speaks of elements of W comes in after the others: from a random start it would keep all signs, and with
    them a bad condition number."""
    if isinstance(criterion, Targets | BoundTargets):  # few parameters decide: far from a good motion they lead nowhere
        return gram.DOptimality(), criterion
    criterion = criterion.sum if isinstance(criterion, SumByWord) else criterion  # its parts are what is softened
    powers = EQUILIBRIUM_STAGES if of_elements(criterion) else [(power, None) for power in SOFT_CONDITION_POWERS]
    alone = criterion == Equilibrium()
    soft = [softened(criterion, power, elements) for power, elements in powers if elements is not None or not alone]
    every = [criterion] if soft[-1] == criterion else [*soft, criterion]
    return tuple(Logarithm(stage) if positive(stage) else stage for stage in every)


def of_elements(criterion: AnyCriterion) -> bool:
    """Whether single elements of W decide on it: every sample of the log counts then, and few cannot stand for all."""
    if isinstance(criterion, WeightedSum):
        return any(of_elements(part) for _, part in criterion.parts)
    return isinstance(criterion, Equilibrium | ConditionAndEquilibrium)


def adds_over_limbs(criterion: AnyCriterion) -> bool:
    """Whether it is a sum over parts of H that have nothing in common: log det of blocks."""
    return isinstance(criterion, gram.DOptimality)


def hops(criterion: AnyCriterion) -> int:
    """How often a start goes through all stages again, from a motion near the best that it has found. Where S has a
    part in the criterion the signs of W's elements are settled early, by chance; without S they are free again."""
    return EQUILIBRIUM_HOPS if of_elements(criterion) else 0


def softened(criterion: AnyCriterion, power: float, elements: float | None = None) -> AnyCriterion:
    """The criterion with smooth stand-ins for its condition numbers, and for S, which is left out without a power."""
    if isinstance(criterion, gram.ConditionNumber):
        return gram.SoftCondition(power)
    if isinstance(criterion, gram.NormalizedCondition | gram.ScaledCondition):
        return gram.SoftCondition(power, criterion)
    if isinstance(criterion, Equilibrium):
        return criterion if elements is None else SoftEquilibrium(elements)
    if isinstance(criterion, SumByWord):
        return softened(criterion.sum, power, elements)
    if isinstance(criterion, WeightedSum):
        parts = [part for part in criterion.parts if elements is not None or not isinstance(part[1], Equilibrium)]
        return WeightedSum(tuple((weight, softened(part, power, elements)) for weight, part in parts))
    return criterion


def positive(criterion: AnyCriterion) -> bool:
    if isinstance(criterion, WeightedSum):
        return all(positive(part) for _, part in criterion.parts)
    return isinstance(criterion, POSITIVE)


CRITERIA = Registry[CriterionSettings](
    "criterion",
    gram.DOptimality,
    gram.AOptimality,
    gram.LogSigma,
    gram.EOptimality,
    gram.ConditionNumber,
    gram.QrCondition,
    gram.FrobeniusCondition,
    gram.NormalizedCondition,
    gram.ScaledCondition,
    gram.ConditionAndSmallest,
    ConditionAndEquilibrium,
    ConditionAndTorque,
    CramerRao,
    Targets,
    InverseTorque,
    Equilibrium,
)
SUFFICIENT_CRITERIA = tuple(cls.word for cls in CRITERIA if not cls.companion)  # words that need no other beside them
DESIGN_ROWS = Registry[Any]("formulation", TorqueRows, EnergyRows)
WEIGHT_KEY = "weight"


class WordsOfCriteria(Kind):
    """A word, or a mapping of words to weights, or to settings and a weight: their sum."""

    wanted = f"one of {', '.join(SUFFICIENT_CRITERIA)}, or a mapping of words to weights"

    def check(self, given: Any, context: Mapping[str, Any]) -> AnyCriterion:
        if isinstance(given, WeightedSum | CriterionSettings):
            return given  # type: ignore[return-value]
        entries = {given: 1.0} if isinstance(given, str) else given
        if not isinstance(entries, Mapping) or not entries:
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        for word in entries:
            if word not in CRITERIA:
                raise wrong(not_allowed(word, CRITERIA.words))
        if all(CRITERIA[word].companion for word in entries):
            raise wrong(f": {', '.join(entries)} alone says nothing of the parameters; add a criterion")
        parts = tuple(_part(word, entry, context) for word, entry in entries.items())
        return parts[0][1] if len(parts) == 1 else WeightedSum(parts)

    def schema(self) -> dict[str, Any]:
        weight = json_schema(Positive)
        parts = {}
        for cls in CRITERIA:
            inner = json_schema(cls)
            inner["properties"] = {**inner["properties"], WEIGHT_KEY: weight}
            parts[cls.word] = {"anyOf": [weight, inner]}
        several = {"type": "object", "properties": parts, "additionalProperties": False, "minProperties": 1}
        return {"anyOf": [{"enum": list(SUFFICIENT_CRITERIA)}, several]}


def _part(word: str, entry: Any, context: Mapping[str, Any]) -> tuple[float, Any]:
    weight, settings = 1.0, dict(entry) if isinstance(entry, Mapping) else {}
    with inside(f": {word}"):
        if not isinstance(entry, Mapping):
            weight = filled(Positive, entry)
        elif settings.pop(WEIGHT_KEY, None) is not None:
            with inside(f": {WEIGHT_KEY}"):
                weight = filled(Positive, entry[WEIGHT_KEY])
        return weight, filled(CRITERIA[word], settings, context)
