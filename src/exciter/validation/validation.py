"""A model judged by runs: its residual beside those of other models and of noise, what it misses, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.files import finite
from exciter.identification.identification import Identification
from exciter.identification.information.estimate import INSIGNIFICANT, WEAK, Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.residual_autocorrelation import Whiteness
from exciter.labelled import Labelled
from exciter.notes import Note, Severity
from exciter.notes import lines as note_lines
from exciter.typing import Array
from exciter.validation import residuals
from exciter.validation.baselines import (
    DESCRIPTION,
    MODEL_TITLES,
    Baselines,
    NoiseFloor,
    baselines_and_prediction,
    noise_floor,
)
from exciter.validation.friction_curves import FrictionCurve, friction_curves
from exciter.validation.prediction import Prediction
from exciter.validation.structure import Structure, structures
from exciter.workers import one_thread

DOWN_TO_NOISE_FACTOR = 1.2  #: times the noise floor: a model that leaves no more explains all there is
JOINT_ABOVE_NOISE_FACTOR = 1.3  #: times its own noise floor: a joint that leaves more is named
SLOW_POWER_SHARE = 0.2  #: of the power in the lowest tenth of the band: twice that of noise
NO_BETTER_FACTOR = 0.95  #: times what the description leaves
GOOD_MODEL_PERCENT, FAIR_MODEL_PERCENT = 5.0, 15.0  #: of the torque: with a smaller residual, a model is good, or fair
UNTOLD_PARAMETERS_SHARE = 0.5  #: of all parameters: if more are not significant, the motion told little
MOST_RUNS_SHOWN = 6  #: of a kind that are looked at closely
MOST_NAMES_LISTED = 3  #: in a sentence
POOR_MOTION = ("small motion", "poor excitation")  #: findings of the quality check
ResidualRow = tuple[str, Array, float]  #: what it is of; [%] of the torque, per joint and of all


@dataclass(frozen=True, eq=False)
class RunValidation:
    """How a model with the parameters ``estimate`` does on one run. prediction: of the first 200 000 instants."""

    model: DynamicModel
    estimate: Estimate
    prediction: Prediction
    baselines: Baselines
    histograms: tuple[residuals.Histogram, ...]
    whiteness: tuple[Whiteness, ...]
    correlation: residuals.JointCorrelation
    structures: tuple[Structure, ...]
    floor: NoiseFloor

    def __repr__(self) -> str:
        return f"<{self.run}: {self.verdict}>"

    @property
    def run(self) -> str:
        return self.baselines.run

    @property
    def total_percent(self) -> float:
        """[%] residual over all joints, of the torque."""
        return self.baselines.identified.total_percent

    @property
    def measured(self) -> Labelled:
        """Torque (or current, where drive gains are not known) over time, as it enters the equations."""
        return self._labelled(f"measured {self.baselines.measured}", self.prediction.measured)

    @property
    def predicted(self) -> Labelled:
        return self._labelled(f"predicted {self.baselines.measured}", self.prediction.predicted)

    @property
    def band(self) -> Labelled:
        return self._labelled("half-width of the 95 % band", self.prediction.band)

    @property
    def residual(self) -> Labelled:
        return self._labelled("residual", self.prediction.residual)

    def _labelled(self, title: str, values: Array) -> Labelled:
        found = self.prediction
        return Labelled(f"{title}, {self.run}", values, found.joints, found.units, found.time, "time [s]")

    def plot(self, joint: str | None = None, axes: Any = None) -> Any:
        """Measured and predicted torque of a joint (the one with most torque left, unless given); matplotlib's axes."""
        joint = self.prediction.joints[int(np.argmax(self.baselines.identified.rms))] if joint is None else joint
        axes = self.measured.plot(joint, axes, label="measured", color="0.6")
        return self.predicted.plot(joint, axes, label="predicted", title=f"{joint}, {self.run}, both filtered alike")

    @property
    def name(self) -> str:
        """The file without its folders."""
        return PurePath(self.run).name

    @cached_property
    def spectrum(self) -> residuals.ResidualSpectrum | None:
        """Of torque and residual; None where the run is too short."""
        return residuals.residual_spectrum(self.prediction)

    @property
    def down_to_noise(self) -> bool:
        """Whether the residual is no larger than the noise; False where that is not known."""
        floor = self.floor.total_percent
        return floor is not None and self.total_percent <= DOWN_TO_NOISE_FACTOR * floor

    @property
    def missed(self) -> tuple[Structure, ...]:
        """What the residuals depend on, more than chance explains; the largest part of the total first."""
        left = dict(zip(self.baselines.joints, self.baselines.identified.rms, strict=True))
        found = [one for one in self.structures if one.found]
        return tuple(sorted(found, key=lambda one: -one.share * left[one.joint] ** 2))

    @property
    def above(self) -> tuple[str, ...]:
        """Joints whose residual is larger than their noise, with how much."""
        both = zip(self.baselines.joints, self.baselines.identified.percent, self.floor.percent, strict=True)
        above = ((name, left / least) for name, left, least in both if left > JOINT_ABOVE_NOISE_FACTOR * least)
        return tuple(f"{name} ({ratio:.2g} times its noise)" for name, ratio in above)

    @property
    def useless(self) -> bool:
        """Whether no model, or that of the description, does as well."""
        worse = self.total_percent >= NO_BETTER_FACTOR * self.baselines.of(DESCRIPTION).total_percent
        return self.total_percent >= 100.0 or (worse and not self.down_to_noise)

    @property
    def verdict(self) -> str:
        total, before = self.total_percent, self.baselines.of(DESCRIPTION).total_percent
        floor, measured = self.floor.total_percent, self.baselines.measured
        why = f": {self.missed[0].sentence}" if self.missed else ""
        if total >= 100.0:
            return f"worse than no model: residual {total:.3g} % of the {measured}; are joints, signs and units right?"
        if self.useless:
            return f"no better than the description: residual {total:.3g} %, its own {before:.3g} %{why}"
        if floor is None:
            return f"residual {total:.3g} % of the {measured}; how much of it is noise cannot be known{why}"
        if self.down_to_noise:
            said = f"explains the motion down to the noise: residual {total:.3g} %, noise {floor:.3g} %"
            return f"{said}; but for {', '.join(self.above)}{why}" if self.above else said
        why = why or ": it depends on no quantity that was tested: elasticity, a delay, noise of the positions?"
        return f"residual {total:.3g} % of the {measured}, noise {floor:.3g} %{why}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Verdict first, then the reasons."""
        only = "rests throughout: only its effect on other joints is judged"
        rests = [f"{joint} {only}" for joint in self.baselines.resting]
        missed = [one.sentence for one in self.missed]
        coloured = [one for one in self.whiteness if not one.white]  # a filter alone leaves neighbours alike
        slow = [one.sentence for one in coloured if one.slow > SLOW_POWER_SHARE or math.isinf(one.fades)]
        return (self.verdict, self.floor.sentence, *rests, *missed, *self.correlation.sentences, *slow)

    def to_dict(self) -> dict[str, Any]:
        figures = ("white", "neighbour", "p_value", "fades", "slow")
        return {
            "run": self.run,
            "verdict": self.verdict,
            "words": list(self.sentences),
            "instants": self.baselines.instants,
            "total_percent": self.total_percent,
            "models": self.baselines.to_dict(),
            "floor": self.floor.to_dict(),
            "histograms": {one.joint: one.to_dict() for one in self.histograms},
            "whiteness": {one.joint: finite({key: getattr(one, key) for key in figures}) for one in self.whiteness},
            "correlation": self.correlation.coefficients.tolist(),
            "structure": [one.to_dict() for one in self.structures],
        }


@dataclass(frozen=True, eq=False)
class Validation(Sequence[RunValidation]):
    """A model judged by ``runs``: a sequence."""

    runs: tuple[RunValidation, ...]

    def __repr__(self) -> str:
        return f"<{'; '.join(self.sentences) or 'no run'}>"

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, key: Any) -> Any:
        return self.runs[key]

    @property
    def worst(self) -> RunValidation:
        """With the largest percentage."""
        return max(self, key=lambda run: run.total_percent)

    @property
    def names(self) -> tuple[str, ...]:
        """Files of the runs; with their folders where two have one name."""
        files = tuple(one.name for one in self)
        return files if len(set(files)) == len(files) else tuple(one.run for one in self)

    @cached_property
    def stacked(self) -> Baselines:
        """Of all runs together: all their samples stacked, so that a long run counts for more than a short one."""
        return self[0].baselines if len(self) == 1 else Baselines.stacked([one.baselines for one in self])

    @cached_property
    def floor(self) -> NoiseFloor:
        """The same of the noise."""
        runs = [one.baselines for one in self]
        return self[0].floor if len(self) == 1 else NoiseFloor.stacked([one.floor for one in self], runs)

    @property
    def total_percent(self) -> float:
        """[%] residual over all joints and runs, of the torque."""
        return self.stacked.identified.total_percent

    def rows(self, kind: str) -> tuple[ResidualRow, ...]:
        """One for each run and, of several, one for all; then what the description leaves, and noise."""
        found = [(f"{kind}: {name}", one.baselines.identified) for name, one in zip(self.names, self, strict=True)]
        found += [(f"{kind}: all {len(self)} logs", self.stacked.identified)] if len(self) > 1 else []
        described = len(self) > 0 and self.stacked.described
        found += [(f"{MODEL_TITLES[DESCRIPTION]}, {kind}", self.stacked.of(DESCRIPTION))] if described else []
        rows = [(name, one.percent, one.total_percent) for name, one in found]
        if len(self) and self.floor.total_percent is not None:
            rows.append((f"noise floor, {kind}", self.floor.percent, self.floor.total_percent))
        return tuple(rows)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{one.run}: {one.verdict}" for one in self)

    def to_dict(self) -> dict[str, Any]:
        stacked = {"models": self.stacked.to_dict(), "floor": self.floor.to_dict()} if len(self) else {}
        return {"runs": [one.to_dict() for one in self], "all_runs": stacked}


def validate(problem: Problem, estimate: Estimate, runs: Sequence[Run] | None = None) -> Validation:
    """problem: whose equations judge (``Identification.judge``); runs: its own unless given. One pass over rows."""
    found = []
    with one_thread():
        for run in problem.runs if runs is None else runs:
            alone = problem.alone(run)
            baselines, prediction = baselines_and_prediction(alone, estimate)
            one = RunValidation(
                model=problem.model,
                estimate=estimate,
                prediction=prediction,
                baselines=baselines,
                histograms=residuals.histograms(prediction),
                whiteness=residuals.residual_whiteness(_apart(prediction, alone)),
                correlation=residuals.joint_correlation(prediction),
                structures=structures(prediction),
                floor=noise_floor(alone, baselines.signal),
            )
            found.append(one)
    return Validation(tuple(found))


def validate_both(found: Identification, held_out: Sequence[Run] = ()) -> tuple[Validation, Validation]:
    """On the runs that were identified from, and on held-out ones; on samples of those that are read in pieces."""
    unseen = validate(found.judge, found.estimate, [run.bounded for run in held_out])
    return validate(found.judge.bounded, found.estimate), unseen


def _apart(prediction: Prediction, problem: Problem) -> Prediction:
    """Of rows filtered and not decimated, instants that it leaves different: 1 / (2 · noise bandwidth) apart."""
    both = getattr(problem.formulation, "parallel_filter", None)
    if not isinstance(both, ParallelFilter) or both.factor != 1 or not len(prediction):
        return prediction
    step = max(1, int(0.5 * prediction.rate / both.at(prediction.rate)[0].noise_bandwidth(prediction.rate)))
    counted = tuple(count / step for count in prediction.counted)
    return replace(prediction[::step], rate=prediction.rate / step, counted=counted)


@dataclass(frozen=True, eq=False)
class ValidationVerdict:
    """Of a model, by runs identified from (``fit``) and by held-out ones (``unseen``); one of both may have none.
    notes: on the model and its logs; warnings among them are cautions.

    Terminal, report and notebook say what stands here, so that all say the same."""

    fit: Validation
    unseen: Validation
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        if not (self.fit or self.unseen):
            raise ParameterError("a model is judged by runs, and there are none; give one at least")

    def __repr__(self) -> str:
        return f"<{self.word}>"

    @property
    def shown(self) -> tuple[RunValidation, ...]:
        """Not too many of a kind; those identified from first."""
        return (*self.fit.runs[:MOST_RUNS_SHOWN], *self.unseen.runs[:MOST_RUNS_SHOWN])

    @property
    def judged(self) -> Validation:
        """The held-out runs, where there are any; else those identified from."""
        return self.unseen or self.fit

    @cached_property
    def decisive(self) -> RunValidation:
        """The worst run of those: what is looked at in detail."""
        return self.judged.worst

    @property
    def grade(self) -> str:
        """good, fair or poor, by the residual over all joints and all runs ``judged``."""
        return graded(self.judged.total_percent)

    @property
    def weak_joints(self) -> tuple[str, ...]:
        """With a large residual relative to their own torque, however little that counts in the total."""
        base = self.judged.stacked
        return tuple(base.joints[k] for k in np.flatnonzero(base.identified.percent >= FAIR_MODEL_PERCENT))

    @property
    def weak_runs(self) -> tuple[str, ...]:
        """Runs that would have a worse grade alone."""
        grades = ("good", "fair", "poor")
        worse = (grades.index(graded(one.total_percent)) > grades.index(self.grade) for one in self.judged)
        return tuple(name for name, weak in zip(self.judged.names, worse, strict=True) if weak)

    @property
    def tone(self) -> str:
        """good, fair or poor: as the grade, and no better than fair where joints or runs are weak, or most parameters
        could as well be zero."""
        weak = self.weak_joints or self.weak_runs or self.untold
        return "fair" if self.grade == "good" and weak else self.grade

    @property
    def untold(self) -> bool:
        """Whether most parameters are not significant: residuals are small, and the motion told little."""
        counts = self.decisive.estimate.counts
        return counts[INSIGNIFICANT] > UNTOLD_PARAMETERS_SHARE * sum(counts.values())

    @property
    def word(self) -> str:
        """``good model but for joint_2, validated on held-out motion``."""
        what, validated = ("model", "validated on held-out motion") if self.unseen.runs else ("fit", "not validated")
        weak = some_of((*self.weak_runs, *self.weak_joints)) if self.tone != self.grade else ""
        told = ", most parameters not significant" if self.untold else ""
        return f"{self.grade} {what}{f' but for {weak}' if weak else ''}{told}, {validated}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the decisive run shows, in sentences."""
        return self.decisive.sentences

    @property
    def worst_joint(self) -> int:
        """With the largest residual relative to its own torque, over all runs ``judged``."""
        return int(np.nanargmax(self.judged.stacked.identified.percent))

    @property
    def rows(self) -> tuple[ResidualRow, ...]:
        """Residuals of every run, of all of a kind, of the description, and noise."""
        return (*self.fit.rows("identification data"), *self.unseen.rows("validation data"))

    @property
    def figures(self) -> str:
        """How good it is, on which data, and how sure: of all runs ``judged``."""
        found, runs = self.judged.stacked, self.judged
        left, worst = found.identified, self.worst_joint
        known = [f"{MODEL_TITLES[DESCRIPTION]} {found.of(DESCRIPTION).total_percent:.3g} %"] if found.described else []
        known += [] if runs.floor.total_percent is None else [f"noise {runs.floor.total_percent:.3g} %"]
        beside = f" ({', '.join(known)})" if known else ""
        size = f"residual {left.total_percent:.3g} % of the {found.measured} on {', '.join(runs.names)}{beside}"
        own = f"({left.rms[worst]:.3g} of {found.signal[worst]:.3g} {found.units[worst]} rms)"
        most = f"worst {found.joints[worst]} with {left.percent[worst]:.3g} % of its own {own}"
        return f"{size}, {most}; {self.decisive.estimate.counted}"

    @property
    def caution(self) -> str:
        """What to be careful about before all else."""
        first, more = self.cautions[:1], len(self.cautions) - 1
        also = f" ({more} more in the report)" if more > 0 else ""
        return f"Careful: {first[0]}{also}" if first else "No warnings: nothing speaks against using it"

    @property
    def lines(self) -> tuple[str, str]:
        """In two lines: what was found and how good it is; what to be careful about."""
        return f"{self.decisive.model.robot.name}: {self.word}: {self.figures}", self.caution

    @property
    def next_action(self) -> str:
        """inspect a log that is not explained, validate what was not, else export."""
        return "inspect" if self.decisive.useless else "export" if self.unseen else "validate"

    @property
    def steps(self) -> tuple[str, ...]:
        """What the residuals and the motion ask to be careful about, and what to do, the most urgent first."""
        said = []
        if not self.unseen:
            why = "a fit alone does not tell how well the model predicts"
            said.append(f"not validated: {why}; record other motion and validate on it")
        names, grave = {run.run for run in self.fit}, self._warnings
        if any(one.subject in POOR_MOTION and one.log in names for one in grave):
            why = "the motion excites too little, so that prior knowledge decides part of the parameters"
            until = "until then trust the model for motion like that of the logs"
            said.append(f"{why}; let the robot move more (exciter design), {until}")
        measured = self.judged.stacked.measured
        if weak := self.weak_joints:
            why = f"{FAIR_MODEL_PERCENT:g} % of it or more is missed; where the {measured} is small this may not matter"
            said.append(f"do not rely on the predicted {measured} of {', '.join(weak)}: {why}")
        if missed := self.decisive.missed:
            most = max(missed, key=lambda one: one.share)
            said.append(f"the residual of {most.joint} depends on {most.quantity}: the model may lack a term")
        elif above := self.decisive.above:
            said.append(f"more than noise is left of {some_of(above)}: the model may lack a term")
        counts = self.decisive.estimate.counts
        if unsure := [f"{counts[word]} {word}" for word in (WEAK, INSIGNIFICANT) if counts[word]]:
            why = f"{measured}s are predicted all the same, but do not use these values one by one"
            said.append(f"{' and '.join(unsure)} of {sum(counts.values())} parameters: {why}")
        return tuple(said)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The gravest first: problems, a useless model, warnings on the model itself, ``steps``, warnings on logs."""
        grave, useless = self._warnings, self.decisive.useless
        problems = note_lines(one for one in grave if one.severity == Severity.PROBLEM)
        warnings = [one for one in grave if one.severity == Severity.WARNING and one.subject not in POOR_MOTION]
        of_model, of_logs = (note_lines(one for one in warnings if (one.log is None) is own) for own in (True, False))
        judged = [f"{self.decisive.name}: {self.decisive.verdict}"] if useless else []
        return (*problems, *judged, *of_model, *self.steps, *of_logs)

    @property
    def _warnings(self) -> tuple[Note, ...]:
        return tuple(one for one in self.notes if one.severity >= Severity.WARNING)

    def to_dict(self) -> dict[str, Any]:
        plain = {"word": self.word, "lines": list(self.lines), "total_percent": self.judged.total_percent}
        return {**plain, "worst_joint": self.judged.stacked.joints[self.worst_joint], "cautions": list(self.cautions)}

    @cached_property
    def friction_curves(self) -> tuple[FrictionCurve, ...]:
        """Of the joints that have one, with the instants of the runs ``shown``."""
        one = self.decisive
        return friction_curves(one.model, one.estimate, [run.prediction for run in self.shown])


def graded(percent: float) -> str:
    """good, fair or poor: by the residual in per cent of the torque."""
    return "good" if percent < GOOD_MODEL_PERCENT else "fair" if percent < FAIR_MODEL_PERCENT else "poor"


def some_of(names: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = len(names) - MOST_NAMES_LISTED
    return ", ".join(names[:MOST_NAMES_LISTED]) + (f" and {more} more" if more > 0 else "")
