"""Drift: friction or offset that changes while the robot is recorded, as a drive warms up.

Every friction parameter and every joint's offset gets one more column, itself times the time from −½ to ½: its
estimate is the change from beginning to end. It is tested with all other parameters free, and with a covariance for
correlated errors; so slow residuals of a model that misses something are not taken for a change that goes one way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np
import scipy

from exciter.errors import ParameterError
from exciter.identification.information.problem import Problem
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors, sandwich
from exciter.identification.uncertainty.further_columns import FurtherColumns
from exciter.identification.uncertainty.residual_autocorrelation import LinearFit
from exciter.notes import Note, warning
from exciter.typing import Array

DRIFT_FALSE_ALARM_LEVEL = 0.01  #: chance of a false alarm, of all parameters together
DRIFT_KINDS = {"Fv": "viscous friction", "Fs": "Coulomb friction", "off": "offset"}
OFFSET_SYMBOL = "off"
NO_CONSTANT = np.zeros((0, 0))  #: of numbers without meaning, where no offset is asked for


@dataclass(frozen=True)
class Drift:
    """A change of one parameter from the beginning to the end, ``seconds`` later, with its σ; value: of the parameter
    in the middle. p_value: chance of a change so large, either way, where there is none; of this parameter alone.
    doubtful: residuals are alike as far as was looked, so that a model that misses something may look like a drift."""

    joint: str
    parameter: str
    unit: str
    value: float
    change: float
    std: float
    p_value: float
    seconds: float
    doubtful: bool = False

    @property
    def possible(self) -> bool:
        """Friction that would be negative at one end did not change: the motion was too little to tell."""
        below = 0.5 * abs(self.change) - abs(self.value)
        return self.parameter.startswith(OFFSET_SYMBOL) or below <= 2.0 * self.std

    @property
    def sentence(self) -> str:
        return f"{self.kind} of {self.joint} {self._change}"

    @property
    def note(self) -> Note:
        return warning(self.kind, self._change, self.joint, change=self.change, std=self.std, seconds=self.seconds)

    @property
    def kind(self) -> str:
        """What changes, in a word or two."""
        return DRIFT_KINDS.get(self.parameter.rstrip("0123456789"), self.parameter)

    @property
    def _change(self) -> str:
        size = f"{abs(self.change):.3g} {self.unit}".strip()
        if abs(self.value) > abs(self.change):
            size = f"{100.0 * abs(self.change / self.value):.3g} %"
        way = (
            "falls" if self.change * (self.value if self.kind != DRIFT_KINDS[OFFSET_SYMBOL] else 1.0) < 0.0 else "rises"
        )
        why = ": warming up?" if self.kind == DRIFT_KINDS["Fv"] and way == "falls" else ""
        if self.doubtful:
            why = ", unless the model misses something that the motion shows at one end more than at the other"
        sure = f"{abs(self.change) / self.std:.1f} σ"
        return f"{way} by {size} over {self.seconds:.4g} s ({sure}){why}"


@dataclass(frozen=True)
class DriftCandidate:
    """A column (−1: a constant) that may change, in the equations of a joint (by number)."""

    joint: int
    parameter: str
    unit: str
    column: int


def find_drift(problem: Problem, level: float = DRIFT_FALSE_ALARM_LEVEL) -> tuple[Drift, ...]:
    """Changes that are beyond chance, the surest first; runs count as done one after the other, in their order. level:
    chance that anything is found where nothing changes (Bonferroni). Three passes over the rows."""
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level is {level:g}; give the chance of a false alarm, between 0 and 1")
    changes = Drifting(problem, candidates(problem)).changes(StationaryErrors())
    found = [change for change in changes if change.p_value * len(changes) < level and change.possible]
    return tuple(sorted(found, key=lambda change: change.p_value))


def candidates(problem: Problem) -> tuple[DriftCandidate, ...]:
    """Friction of any kind that acts on one joint, and the offset of every joint where equations are torques."""
    model, found, at = problem.model, list[DriftCandidate](), problem.model.inertial_size
    columns = {int(standard): k for k, standard in enumerate(problem.base.independent)}
    for term in model.bound:
        for k, (name, unit) in enumerate(zip(term.names, term.units, strict=True)):
            joints = {joint for joint, column in term.rows if column == k}
            if len(joints) == 1 and not term.columns.conservative[k] and at + k in columns:
                found.append(DriftCandidate(joint=joints.pop(), parameter=name, unit=unit, column=columns[at + k]))
        at += len(term.names)
    if problem.joints == model.robot.joint_names:
        for j, joint in enumerate(model.robot.joints):
            unit = "N" if joint.is_prismatic else "N·m"
            found.append(DriftCandidate(joint=j, parameter=f"{OFFSET_SYMBOL}{j + 1}", unit=unit, column=-1))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Drifting(FurtherColumns):
    """The equations of a problem with one more column for every candidate."""

    candidates: tuple[DriftCandidate, ...]

    @property
    def further_names(self) -> tuple[str, ...]:
        return tuple(f"change of {c.parameter}" for c in self.candidates)

    @cached_property
    def clock(self) -> tuple[tuple[float, ...], float]:
        """[s] what is to be added to the time of every run so that they follow each other, and how long all last."""
        shifts, end = list[float](), 0.0
        for index, run in enumerate(self.problem.runs):
            assert run.span is not None
            first, last = run.span
            shift = -first if not index else max(shifts[-1], end - first)
            shifts.append(shift)
            end = last + shift
        return tuple(shifts), max(end, 1e-300)

    def further(self) -> Iterator[Array]:
        (shifts, seconds), constants = self.clock, self.signal()
        if all(candidate.column >= 0 for candidate in self.candidates):
            constants = repeat(NO_CONSTANT)
        for (index, rows), constant in zip(self.problem.rows(), constants, strict=False):
            late = (rows.time + shifts[index]) / seconds - 0.5
            sides = rows.sides.transpose(1, 2, 0)
            more = np.zeros((len(sides), len(self.candidates), len(late)))
            for k, candidate in enumerate(self.candidates):
                j, column = candidate.joint, candidate.column
                more[j, k] = late * (constant[j] if column < 0 else sides[j, column])
            yield more

    def changes(self, errors: StationaryErrors) -> tuple[Drift, ...]:
        """Of every candidate that the motion tells from the other parameters."""
        lost = set(self.compressed.enough().information().undetermined()) - set(range(len(self.problem.names)))
        if lost:
            kept = tuple(c for k, c in enumerate(self.candidates) if k + len(self.problem.names) not in lost)
            return Drifting(self.problem, kept).changes(errors)
        values, noise = self.compressed.reweighted()
        fit = LinearFit.of(self.compressed, values, noise, np.arange(len(values)))
        found = sandwich(self, fit, errors)
        std = np.sqrt(np.maximum(found.covariance.diagonal(), 1e-300))
        p_values = 2.0 * scipy.stats.t.sf(np.abs(values) / std, found.freedom)
        first, names = len(self.problem.names), self.problem.model.robot.joint_names
        return tuple(
            Drift(
                joint=names[c.joint],
                parameter=c.parameter,
                unit=c.unit,
                value=float(values[c.column]) if c.column >= 0 else 0.0,
                change=float(values[k]),
                std=float(std[k]),
                p_value=float(p_values[k]),
                seconds=self.clock[1],
                doubtful=not found.faded,
            )
            for k, c in enumerate(self.candidates, start=first)
        )
