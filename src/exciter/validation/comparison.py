"""Formulations and estimators side by side on the same runs, by the same judge (§ 12.7).

Every method makes its own equations and its own estimate; all are then judged by one formulation of joint torques, on
the runs they were made from and on held-out runs. Where two of them differ by more than their uncertainties say, one
uncertainty is too small, or one of the methods is biased on these data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from exciter.dynamics.kernels.cache import working_seconds
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.files import finite
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.identification import JudgedRun, Uncertainty, judged
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.labelled import Labelled
from exciter.typing import Array
from exciter.validation.validation import some_of
from exciter.workers import one_thread

AGREEMENT_CONFIDENCE_LEVEL = 0.95  # of the whole set of parameters of a pair
NEGLIGIBLE_TORQUE_PERCENT = 1.0  # [%] of the torque: methods that differ by less are the same for most uses
CORRELATED = "estimates from the same data share its errors; σ of a difference is taken as √(σ₁² + σ₂²), as if they "
CORRELATED += "did not, which is too large where they do: a disagreement that is named is one, others may be overlooked"


@dataclass(frozen=True)
class IdentificationMethod:
    """A formulation and an estimator, by name."""

    name: str
    formulation: Formulation
    estimator: Estimator


@dataclass(frozen=True, eq=False)
class Compared:
    """Result of a method: estimate, fit and validation by the common judge; seconds: of making its equations, however
    many methods share them, and of solving them. failed: why there is no estimate, empty where there is one."""

    name: str
    seconds: float
    estimate: Estimate | None = None
    fit: JudgedRun | None = None
    validation: tuple[JudgedRun, ...] = ()
    failed: str = ""

    @property
    def score(self) -> float:
        """[%] residual on the validation, on the fit where there is none."""
        if self.validation:
            return float(np.sqrt(np.mean([one.residuals.total_percent**2 for one in self.validation])))
        return float("inf") if self.fit is None else self.fit.residuals.total_percent

    def to_dict(self) -> dict[str, Any]:
        found = self.estimate
        rows = [] if found is None else zip(found.names, found.units, found.values, found.std, strict=True)
        return {
            "name": self.name,
            "failed": self.failed or None,
            "seconds": self.seconds,
            "fit_percent": None if self.fit is None else self.fit.residuals.total_percent,
            "validation": [{"run": one.run, "percent": one.residuals.total_percent} for one in self.validation],
            "parameters": [{"name": n, "unit": u, "value": float(v), "std": float(s)} for n, u, v, s in rows],
        }


@dataclass(frozen=True, eq=False)
class ParameterDifference:
    """Between two estimates of the same parameters: normalized (b,), the difference of each over √(σ₁² + σ₂²), zero
    where both are certain and equal. limit: size of a normalized difference that chance alone exceeds in 5 % of cases,
    for any parameter of the pair."""

    first: str
    second: str
    names: tuple[str, ...]
    normalized: Array
    limit: float

    @property
    def largest(self) -> float:
        """Of the normalized differences, in σ."""
        return float(np.abs(self.normalized).max())

    @property
    def disagree(self) -> tuple[str, ...]:
        """Parameters that differ by more than uncertainty explains, the worst first."""
        order = np.argsort(-np.abs(self.normalized))
        return tuple(self.names[k] for k in order if abs(self.normalized[k]) > self.limit)

    @property
    def agreement(self) -> str:
        """In words."""
        both, far = f"{self.first} and {self.second}", self.disagree
        if not far:
            return f"{both} agree within their uncertainties"
        size = dict(zip(self.names, np.abs(self.normalized), strict=True))
        return f"{both} disagree on {some_of([f'{name} ({size[name]:.2g} σ)' for name in far])}"


def normalized_difference(first: Array, second: Array, std: Array, other_std: Array) -> Array:
    """(b,) of two estimates (b,), with σ of each."""
    change, spread = first - second, np.hypot(std, other_std)
    same = np.abs(change) <= 1e-9 * np.maximum(np.abs(first), np.abs(second))
    return np.where(same, 0.0, np.divide(change, spread, out=np.full_like(change, np.inf), where=spread > 0.0))


def chance_limit(count: int, freedom: float) -> float:
    """Of ``count`` normalized differences: Student's t, the chance shared among all of them (Bonferroni)."""
    level = 1.0 - 0.5 * (1.0 - AGREEMENT_CONFIDENCE_LEVEL) / count
    return float(scipy.stats.t.ppf(level, max(freedom, 1.0)))


@dataclass(frozen=True, eq=False)
class Difference(ParameterDifference):
    """Between two methods. torque_percent: rms of the torque that it makes on the runs, of that measured."""

    torque_percent: float

    @property
    def sentence(self) -> str:
        torque = f"their torques differ by {self.torque_percent:.2g} % of the measured one (rms)"
        small = self.disagree and self.torque_percent < NEGLIGIBLE_TORQUE_PERCENT
        return f"{self.agreement}; {torque}{'; this matters little' if small else ''}"

    def to_dict(self) -> dict[str, Any]:
        both, normalized = [self.first, self.second], dict(zip(self.names, self.normalized.tolist(), strict=True))
        about = {"methods": both, "normalized": normalized, "limit": self.limit, "disagree": list(self.disagree)}
        return finite({**about, "torque_percent": self.torque_percent, "words": self.sentence})


@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods, in the order given, and the differences of every two that gave an estimate."""

    methods: tuple[Compared, ...]
    differences: tuple[Difference, ...]
    description: JudgedRun

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        said = [f"{one.name} gave no estimate: {one.failed}" for one in self.methods if one.failed]
        good = [one for one in self.methods if one.fit is not None]
        if not good:
            return tuple(said)
        best = min(good, key=lambda one: one.score)
        what = "validation" if best.validation else "fit"
        others = ", ".join(f"{one.name} {one.score:.3g} %" for one in good if one is not best) or "gave none"
        words = f"smallest residual on the {what}: {best.name}, {best.score:.3g} % of the torque; the others "
        said.append(f"{words}{others}")
        said += [one.sentence for one in self.differences]
        return (*said, CORRELATED) if self.differences else tuple(said)

    @property
    def table(self) -> Labelled:
        """Residual of each method, on the runs it was made from and on held-out ones, and its time."""
        rows = []
        for one in self.methods:
            fit = np.nan if one.fit is None else one.fit.residuals.total_percent
            other = [run.residuals.total_percent for run in one.validation]
            rows.append([fit, np.mean(other) if other else np.nan, one.seconds])
        names, columns = tuple(one.name for one in self.methods), ("left of the fit", "left of held-out runs", "time")
        return Labelled("methods", np.array(rows), columns, ("%", "%", "s"), names, "method")

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def __repr__(self) -> str:
        rows = zip(self.table.index, self.table.values.tolist(), strict=True)
        return "\n".join(f"{name:24} {fit:8.3f} % {other:8.3f} % {time:8.2f} s" for name, (fit, other, time) in rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "methods": [one.to_dict() for one in self.methods],
            "differences": [one.to_dict() for one in self.differences],
            "description_percent": self.description.description.total_percent,
            "words": list(self.sentences),
        }


def compare(
    model: DynamicModel,
    runs: Sequence[Run],
    methods: Sequence[IdentificationMethod],
    validation: Sequence[Run] = (),
    judge: InverseDynamic | None = None,
    uncertainty: Uncertainty | dict[str, Uncertainty] | None = None,
) -> Comparison:
    """judge: joint torques by which all are measured. uncertainty: see ``identify``; for all methods, or by name."""
    names = [method.name for method in methods]
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"methods are named {names}; give at least one, each with a name of its own")
    measure = Problem(model, tuple(runs), judge or InverseDynamic())
    judges = (measure, *(replace(measure, runs=(run,)) for run in validation))
    made = list[tuple[Problem, float]]()  # once for all methods that have a formulation, and the seconds it took

    def equations(formulation: Formulation) -> tuple[Problem, float]:
        for problem, seconds in made:
            if problem.formulation == formulation:
                return problem, seconds
        same, kind, clock = formulation == measure.formulation, type(formulation).__name__, working_seconds()
        problem = measure if same else replace(measure, formulation=formulation)
        if problem.names != measure.names:
            raise ParameterError(f"{kind} estimates other parameters than joint torques have; compare it by itself")
        if not problem.measured.rows.any():
            raise ParameterError(f"{kind} makes no equations of these runs; record longer, filter or decimate less")
        made.append((problem, working_seconds() - clock))
        return made[-1]

    def compared(method: IdentificationMethod) -> Compared:
        uncertain = uncertainty.get(method.name) if isinstance(uncertainty, dict) else uncertainty
        clock = working_seconds()
        try:
            problem, seconds = equations(method.formulation)
            clock = working_seconds()
            with one_thread():  # as ``identify`` has it, without its judging: here one judge is made once, for all
                estimate = method.estimator.estimate(problem)
                estimate = estimate if uncertain is None else uncertain(problem, estimate)
            if not np.isfinite(estimate.values).all():
                raise ParameterError("the estimate is not finite; are the units of the log right?")
        except ExciterError as error:
            return Compared(name=method.name, seconds=working_seconds() - clock, failed=str(error))
        seconds += working_seconds() - clock
        with one_thread():
            fit, *unseen = (judged(one, estimate.values, one.run_names) for one in judges)
        return Compared(name=method.name, seconds=seconds, estimate=estimate, fit=fit, validation=tuple(unseen))

    found = [compared(method) for method in methods]
    with one_thread():
        pairs = combinations([one for one in found if one.estimate is not None], 2)
        differences = tuple(_difference(measure, one, other) for one, other in pairs)
        description = judged(measure, measure.base.base_values(model.nominal), measure.run_names)
        return Comparison(methods=tuple(found), differences=differences, description=description)


def _difference(measure: Problem, one: Compared, other: Compared) -> Difference:
    """Chance: for the fewer degrees of freedom."""
    a, b = one.estimate, other.estimate
    assert a is not None
    assert b is not None
    change, normalized = a.values - b.values, normalized_difference(a.values, b.values, a.std, b.std)
    limit = chance_limit(len(change), min(a.freedom, b.freedom))
    made = ((measure.measured.factors[..., :-1] @ change) ** 2).sum()
    percent = 100.0 * float(np.sqrt(made / max(float(measure.measured.signal.sum()), 1e-300)))
    return Difference(one.name, other.name, measure.names, normalized, limit=limit, torque_percent=percent)
