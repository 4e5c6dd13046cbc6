"""Logs simulated freely, from their first state by their command alone: with the drives that were found, and with those
of the description; which joints stand out, and what their residuals depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.identification.actuators.actuator_fit import ActuatorFit
from exciter.identification.actuators.structure import STRUCTURE_SUBJECT
from exciter.identification.uncertainty.conditioning import correlated_pairs
from exciter.typing import Array
from exciter.validation.structure import STRUCTURE_FALSE_ALARM_CHANCE, on_motion
from exciter.validation.validation import some_of

STANDS_OUT_RATIO = 2.0  #: rms of a joint over the median of all, from which on it stands out
LEAST_NAMED_SHARE = 0.1  #: of a residual's variance, that goes with a quantity
WHY_BY_QUANTITY = {
    "position": "friction, a spring or a load that changes with the position, or masses that are off",
    "velocity": "friction that is neither viscous nor dry",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class FreeRun:
    """A log that was simulated from its first state by its command alone. time (N,) [s]; command, measured, simulated
    with the drives that were found, and described, with those of the description (N, n) [rad or m]. fitted: whether the
    drives are from this log."""

    log: str
    fitted: bool
    joints: tuple[str, ...]
    units: tuple[str, ...]
    time: Array
    command: Array
    measured: Array
    simulated: Array
    described: Array

    @property
    def name(self) -> str:
        return PurePath(self.log).name

    @property
    def kind(self) -> str:
        return "fitted" if self.fitted else "validation data"

    @cached_property
    def rms(self) -> Array:
        """(n,) of simulated minus measured."""
        return root_mean_square(self.simulated - self.measured)

    @cached_property
    def before(self) -> Array:
        """(n,) the same with the drives of the description."""
        return root_mean_square(self.described - self.measured)

    @property
    def total(self) -> float:
        return float(root_mean_square(self.rms))

    @property
    def before_total(self) -> float:
        return float(root_mean_square(self.before))


def root_mean_square(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def free_run(fit: ActuatorFit, recording: Recording, *, fitted: bool = False) -> FreeRun:
    """How a log, one that was fitted or another, is simulated before and after."""
    name = recording.name or "recording"
    if recording.command is None:
        raise RecordingError(f"{name} has no command column ('<joint>.command', or command: in recording.yaml)")
    arranged = recording.arranged(fit.robot)
    assert arranged.command is not None
    known = np.isfinite(arranged.command).all(axis=1) & np.isfinite(arranged.q).all(axis=1)
    used = arranged if known.all() else arranged[np.flatnonzero(known)]
    stretch, simulated = fit.simulate(used)
    assert used.command is not None
    return FreeRun(
        log=name,
        fitted=fitted,
        joints=fit.robot.joint_names,
        units=tuple("m" if joint.is_prismatic else "rad" for joint in fit.robot.joints),
        time=stretch.time,
        command=used.command,
        measured=stretch.q,
        simulated=simulated,
        described=fit.before(used),
    )


@dataclass(frozen=True)
class OutstandingJoint:
    """A joint whose residual is large beside those of the others, or larger than before. ratio: of its rms to the
    median of all joints; reasons: why, as far as the logs show it."""

    joint: str
    rms: float
    before: float
    ratio: float
    unit: str
    reasons: tuple[str, ...]

    @property
    def sentence(self) -> str:
        size = f"{self.joint}: {1e3 * self.before:.3g} → {1e3 * self.rms:.3g} m{self.unit}"
        beside = f"{self.ratio:.2g} times the median of the joints"
        return "; ".join([f"{size}, {beside}", *self.reasons])


@dataclass(frozen=True)
class DrivePopulation:
    """Numbers of one kind (by their place among all) that are alike; low, high: ± σ around their mean."""

    kind: str
    members: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class DriveVerdict:
    """How drives do on all logs. runs: those that were fitted, then validation data."""

    fit: ActuatorFit
    runs: tuple[FreeRun, ...]

    @property
    def fitted(self) -> tuple[FreeRun, ...]:
        return tuple(run for run in self.runs if run.fitted)

    @property
    def unseen(self) -> tuple[FreeRun, ...]:
        return tuple(run for run in self.runs if not run.fitted)

    @property
    def judged(self) -> tuple[FreeRun, ...]:
        """Validation data where there are some."""
        return self.unseen or self.fitted

    @cached_property
    def rms(self) -> Array:
        """(n,) of all samples that are judged, and ``before`` with the drives of the description."""
        return stacked([run.rms for run in self.judged], self.judged)

    @cached_property
    def before(self) -> Array:
        return stacked([run.before for run in self.judged], self.judged)

    @property
    def gain(self) -> float:
        """How many times closer to the logs than with the drives of the description."""
        return float(root_mean_square(self.before) / max(float(root_mean_square(self.rms)), 1e-300))

    @property
    def tone(self) -> str:
        if not self.gain > 1.0:
            return "poor"
        clean = self.unseen and not self.fit.untold and not self.outstanding
        return "good" if clean else "fair"

    @property
    def word(self) -> str:
        times = float(f"{self.gain:.2g}")  # two digits, and no power of ten
        how = f"{times:g} times closer than" if self.gain > 1.0 else "no closer than"
        return f"{how} the description{'' if self.unseen else ', not validated'}"

    @cached_property
    def outstanding(self) -> tuple[OutstandingJoint, ...]:
        """The worst first."""
        run = self.judged[0]
        middle = max(float(np.median(self.rms)), 1e-300)
        found = list[OutstandingJoint]()
        for j in np.argsort(-self.rms):
            ratio, worse = float(self.rms[j]) / middle, bool(self.rms[j] > self.before[j])
            if ratio < STANDS_OUT_RATIO and not worse:
                continue
            reasons = [*(["larger than with the drives of the description"] if worse else []), *self._why(int(j))]
            found.append(
                OutstandingJoint(
                    run.joints[j], float(self.rms[j]), float(self.before[j]), ratio, run.units[j], tuple(reasons)
                )
            )
        return tuple(found)

    def _why(self, j: int) -> list[str]:
        """What the residual of a joint depends on, in the longest log that is judged; what the fit remarked on it."""
        run = max(self.judged, key=lambda one: len(one.time))
        residual, q = run.measured[:, j] - run.simulated[:, j], run.measured[:, j]
        speed = np.gradient(run.simulated[:, j], run.time)
        said = list[str]()
        for quantity, values in (("position", q), ("velocity", speed)):
            found = on_motion(residual, values, np.abs(speed))
            sure = found is not None and found.p_value < STRUCTURE_FALSE_ALARM_CHANCE
            if found is not None and sure and found.share > LEAST_NAMED_SHARE:
                said.append(
                    f"{100.0 * found.share:.2g} % of the residual's variance goes with {quantity}: "
                    f"{WHY_BY_QUANTITY[quantity]}"
                )
        noted = [one.subject for one in self.fit.notes if run.joints[j] in (one.joint, *one.numbers.get("joints", ()))]
        # what it looks like is named by its structure, whatever else the residual goes with
        told = [subject for subject in noted if not said or subject == STRUCTURE_SUBJECT]
        return [*said, *(f"see the note on its {subject}" for subject in told)]

    @property
    def pairs(self) -> tuple[tuple[str, str, float], ...]:
        """Two numbers whose errors go together, and their correlation, the strongest first."""
        return correlated_pairs(self.fit.names, self.fit.correlation)

    @property
    def populations(self) -> tuple[DrivePopulation, ...]:
        """Of drives that the description makes alike: where most of them are."""
        found = list[DrivePopulation]()
        for one in self.fit.alike:
            mean = float(np.mean(np.log(self.fit.values[list(one.members)])))
            low, high = (float(np.exp(mean + side * one.spread)) for side in (-1.0, 1.0))
            found.append(DrivePopulation(one.kind, one.members, low, high))
        return tuple(found)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the head of a report says."""
        said = list[str]()
        for what, runs in (("the fitted logs", self.fitted), ("validation data", self.unseen)):
            if runs:
                after, before = (
                    1e3 * float(root_mean_square(stacked([getattr(run, one) for run in runs], runs)))
                    for one in ("rms", "before")
                )
                names = some_of([run.name for run in runs])
                said.append(
                    f"Simulated freely by the commands of {what} ({names}), the robot is {after:.3g} "
                    f"{thousandths(runs[0].units)} (rms) from what the encoders said; with the drives of the "
                    f"description {before:.3g}."
                )
        if self.outstanding:
            said.append(f"Stands out: {some_of([one.joint for one in self.outstanding])}.")
        return tuple(said)


def thousandths(units: Sequence[str]) -> str:
    """``mrad``, ``mm``, or both."""
    return " or ".join(f"m{unit}" for unit in dict.fromkeys(units))


def stacked(values: Sequence[Array], runs: Sequence[FreeRun]) -> Array:
    """(n,) rms of all samples of runs, from those of each."""
    weights = np.array([len(run.time) for run in runs], dtype=float)
    squares = np.array(values) ** 2
    return np.asarray(np.sqrt(weights @ squares / weights.sum()))
