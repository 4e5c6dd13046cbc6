"""What a model is worth by the runs it was tried on: a word and its reasons, where it is weakest, what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exciter.errors import ParameterError
from exciter.experiment.quality.quality import Quality
from exciter.identification.identification import Identification
from exciter.validation.friction_curves import FrictionCurve, friction_curves
from exciter.validation.validation import DOWN_TO, RunValidation, Validation

GOOD_PERCENT, FAIR_PERCENT = 5.0, 15.0  #: of the torque left unexplained: below, a model is good, or fair
MOST_RUNS = 6  #: of a kind that are looked at closely
MOST_NAMES = 3  #: in a sentence
POOR_MOTION = ("small motion", "poor excitation")  #: findings of the quality check


@dataclass(frozen=True, eq=False)
class WorstJoint:
    """``percent`` of its own torque is left: ``rms`` of ``signal`` [``unit``], both root mean squares."""

    joint: str
    unit: str
    percent: float
    rms: float
    signal: float


@dataclass(frozen=True, eq=False)
class Verdict:
    """Of a model, by the runs that it was identified from (``fit``) and by those that it never saw (``unseen``); one of
    both may have none."""

    fit: Validation
    unseen: Validation

    def __post_init__(self) -> None:
        if not (self.fit.runs or self.unseen.runs):
            raise ParameterError("a model is judged by runs, and there are none; give one at least")

    def __repr__(self) -> str:
        return f"<{self.word}>"

    @property
    def shown(self) -> tuple[RunValidation, ...]:
        """Not too many of a kind; those identified from first."""
        return (*self.fit.runs[:MOST_RUNS], *self.unseen.runs[:MOST_RUNS])

    @cached_property
    def decisive(self) -> RunValidation:
        """The worst run of motion never seen, where there is some; else of what was identified from."""
        return (self.unseen if self.unseen.runs else self.fit).worst

    @property
    def grade(self) -> str:
        """good, fair or poor, by what is left of all torque."""
        left = self.decisive.baselines.identified.total_percent
        return "good" if left < GOOD_PERCENT else "fair" if left < FAIR_PERCENT else "poor"

    @property
    def weak_joints(self) -> tuple[str, ...]:
        """Of whose own torque too much is left, however little that counts in the total."""
        base = self.decisive.baselines
        rows = zip(base.joints, base.identified.percent, strict=True)
        return tuple(joint for joint, left in rows if left >= FAIR_PERCENT)

    @property
    def tone(self) -> str:
        """good, fair or poor: as the grade, and no better than fair where joints are weak."""
        return "fair" if self.grade == "good" and self.weak_joints else self.grade

    @property
    def word(self) -> str:
        """``good model but for joint_2, tried on motion never seen``."""
        what, validated = ("model", "tried on motion never seen") if self.unseen.runs else ("fit", "not validated")
        but = f" but for {some_of(self.weak_joints)}" if self.tone != self.grade else ""
        return f"{self.grade} {what}{but}, {validated}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the decisive run shows, in sentences."""
        return self.decisive.sentences

    @property
    def worst_joint(self) -> WorstJoint:
        """Most of its own torque is left, and more than noise leaves, where that can be said."""
        base, floor = self.decisive.baselines, self.decisive.floor
        found = base.identified
        beyond = np.where(found.percent > DOWN_TO * floor.percent, found.percent, np.nan)  # the rest is down to noise
        j = int(np.nanargmax(found.percent if np.isnan(beyond).all() else beyond))
        numbers = (float(values[j]) for values in (found.percent, found.rms, base.signal))
        return WorstJoint(base.joints[j], base.units[j], *numbers)

    @cached_property
    def friction_curves(self) -> tuple[FrictionCurve, ...]:
        """Of the joints that have one, with the instants of the runs ``shown``."""
        one = self.decisive
        return friction_curves(one.model, one.estimate, [run.prediction for run in self.shown])


def some_of(names: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def next_steps(found: Identification, verdict: Verdict, quality: Mapping[str, Quality]) -> list[str]:
    """What to do with a model, or about it, the most urgent first. quality: of the logs, by name."""
    steps = []
    if not verdict.unseen.runs:
        steps.append("Record other motion and validate on it: a fit alone does not tell how well the model predicts.")
    names = {run.name for run in found.problem.runs}
    seen = {finding.subject for log, one in quality.items() if log in names for finding in one.warnings}
    if any(what in seen for what in POOR_MOTION):
        steps.append(
            "Let the robot move more (exciter design): this motion excites too little, so that prior knowledge decides "
            "part of the parameters. Until then trust the model for motion like that of the logs."
        )
    if weak := verdict.weak_joints:
        steps.append(
            f"Do not rely on the predicted torque of {', '.join(weak)}: much of it is left, see What the model misses. "
            "Where the torque itself is small this may not matter."
        )
    if missed := verdict.decisive.missed:
        most = max(missed, key=lambda one: one.share)
        steps.append(
            f"What is left of {most.joint} depends on {most.quantity}: the model may lack a term. See What the model "
            "misses."
        )
    if found.physically_consistent:
        steps.append(
            "exciter export writes the model for simulators and controllers; exciter validate judges it on other logs."
        )
    return steps
