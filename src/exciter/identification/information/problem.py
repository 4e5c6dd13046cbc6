"""The problem to be solved: a model, runs of the robot, and a formulation that makes equations of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar, TypeVar

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.signals.contact_stretches import stances
from exciter.experiment.signals.equation_rows import PackedRows, Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import Absorbed, Compressed, absorbed, run_scales
from exciter.identification.information.rows_of_run import RowsOfRun, loaded_pieces, scaled
from exciter.identification.runs.run import NotKept, Run, StreamedParts, bounded_parts
from exciter.parameters.base import BaseParameters
from exciter.typing import Array, Index
from exciter.workers import numbered

Found = TypeVar("Found")
HELD_ROWS_BYTES = 64_000_000  #: [B] equations of a problem that are kept, once they were gone through
PROJECTED_NOISE_ROUNDS = 3  #: of noise and of equations that are projected by it
LEAST_PROJECTED_NOISE_FRACTION = 1e-3  #: of the noisiest equation: an equation that is trusted more decides alone
USUAL_FOLDS = 10  #: pieces of time every run is cut into, for cross-validation


@dataclass(frozen=True, eq=False)
class Problem:
    """What is asked: the base parameters of ``model``, of all runs together. Known payloads are taken off first. folds:
    how many pieces of time every run is cut into (pieces of its period, where it repeats). jobs: how many threads
    compress the equations. balanced: whether runs of different noise are brought to equal terms first."""

    model: DynamicModel
    runs: tuple[Run, ...]
    formulation: Formulation = field(default_factory=InverseDynamic)
    folds: int = USUAL_FOLDS
    jobs: int = 1
    balanced: bool = True

    archived_caches: ClassVar[tuple[str, ...]] = ("measured", "compressed")  #: samples are not kept with a result

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", tuple(self.runs))
        if not self.runs:
            raise RecordingError("there is nothing to identify from; give at least one recording")
        if not self.model.stances and (found := stances(bounded_parts(self._at_hand))):
            object.__setattr__(self, "model", replace(self.model, stances=found))
        if self.folds < 1:
            raise ParameterError(f"{self.folds} folds; give 1 or more")
        for run in self.runs:
            if run.recording is not None and run.recording.joints != self.model.robot.joint_names:
                raise RecordingError(
                    f"{run.name} has the joints {', '.join(run.recording.joints)}, the robot "
                    f"{', '.join(self.model.robot.joint_names)}; see Recording.arranged"
                )

    @property
    def _at_hand(self) -> list[Run]:
        """Runs whose samples were kept."""
        return [run for run in self.runs if not isinstance(run.bounded.parts, NotKept)]

    @property
    def run_names(self) -> str:
        return ", ".join(run.name for run in self.runs)

    @cached_property
    def base(self) -> BaseParameters:
        return self.formulation.base(self.model)

    @property
    def names(self) -> tuple[str, ...]:
        return self.base.names

    @cached_property
    def units(self) -> tuple[str, ...]:
        units = self.formulation.units(self.model)
        return tuple(units[k] for k in self.base.independent)

    @property
    def of_links(self) -> Index:
        """Numbers of the parameters that are led by one of a link; joint terms lead the others."""
        links = set(self.model.standard[: self.model.inertial_size])
        return np.flatnonzero([self.base.standard[k] in links for k in self.base.independent])

    @property
    def nominal(self) -> Array:
        """(p,) base values of the description's own parameters; zero where it says nothing."""
        known = dict(zip(self.model.standard, self.model.nominal, strict=True))
        return np.asarray(self.base.base_values([known.get(name, 0.0) for name in self.base.standard]))

    def refuse_silent(self, method: str) -> None:
        """Where a method wants the torque of every joint, and that of some is unusable."""
        for run in self.runs:
            if run.silent:
                joints = ", ".join(self.model.robot.joint_names[j] for j in run.silent)
                raise RecordingError(
                    f"{run.name}: the torque of {joints} is unusable, and {method} needs that of every joint: use "
                    "consistent, wls or huber"
                )

    def refuse_currents(self, method: str) -> None:
        """Where a method wants torques, and the equations are of currents."""
        if self.formulation.measured != InverseDynamic.measured:
            raise ParameterError(
                f"{method} needs joint torques in N·m, and {self.formulation.word} has currents over unknown gains: "
                "use wls or huber, or find the gains first (gains:)"
            )

    @property
    def joints(self) -> tuple[str, ...]:
        """Equations of an instant."""
        return self.formulation.equations(self.model)

    @property
    def driven(self) -> frozenset[str]:
        """Joints with a drive, whose torque cannot be zero throughout."""
        return frozenset(self.model.robot.joint_names[j] for j in self.model.robot.actuated)

    def along(self, runs: tuple[Run, ...]) -> Problem:
        """The same torques beside other motions, weighted as here."""
        other = replace(self, runs=runs)
        other.__dict__["scales"] = self.scales
        return other

    @property
    def bounded(self) -> Problem:
        """The same of what can be looked at at once: samples of runs that are read piece by piece (``Run.bounded``)."""
        if all(run.sample is None for run in self.runs):
            return self
        return replace(self, runs=tuple(run.bounded for run in self.runs))

    def pieces(self, run: Run) -> Iterator[Processed]:
        """Motion, torque and wrench of a run, without what a known payload took."""
        return loaded_pieces(self.model, run)

    def rows(self) -> Iterator[tuple[int, Rows]]:
        """(number of the run, equations) in order of time, piece by piece, divided by ``scales``; again and again."""
        yield from self.rows_of(range(len(self.runs)))

    def rows_of(self, runs: Iterable[int]) -> Iterator[tuple[int, Rows]]:
        """The same of some runs, by their numbers."""
        for index, rows in self._as_measured(runs):
            yield index, self.weighted(index, rows)

    def weighted(self, run: int, rows: Rows) -> Rows:
        """Equations of a run (number) as measured, divided by its ``scales``."""
        return scaled(rows, self.scales[run])

    # -- runs that others go through --------------------------------------------------------------------------------

    @cached_property
    def elsewhere(self) -> tuple[int, ...]:
        """Numbers of the runs that workers read (``StreamedParts.workers``)."""
        return tuple(
            k for k, run in enumerate(self.runs) if isinstance(run.parts, StreamedParts) and run.parts.elsewhere
        )

    @property
    def here(self) -> tuple[int, ...]:
        """Numbers of the others."""
        return tuple(k for k in range(len(self.runs)) if k not in self.elsewhere)

    @cached_property
    def _named(self) -> dict[int, RowsOfRun]:
        columns = self.base.independent
        return {k: RowsOfRun.elsewhere(self.model, self.projecting, columns, self.runs[k]) for k in self.elsewhere}

    def summed(self, function: Callable[..., Found], *given: Any, weighted: bool = True) -> Iterator[tuple[int, Found]]:
        """(number of the run, ``function(RowsOfRun, *given)``) of the runs that workers read, in order of the runs.
        weighted: by ``scales``."""
        if not self.elsewhere:
            return
        tasks = (
            (k, function, replace(one, scale=self.scales[k]) if weighted else one, *given)
            for k, one in self._named.items()
        )
        parts = self.runs[self.elsewhere[0]].parts
        assert isinstance(parts, StreamedParts)
        with closing(parts.workers.over(numbered, tasks)) as running:
            yield from sorted(running, key=itemgetter(0))

    @property
    def _alike_equations(self) -> list[list[int]]:
        """Numbers of equations whose errors are taken to be of one size: those of the base's place, those of its
        attitude, that of every other joint."""
        free = list(self.model.robot.free_base)
        return [*([free[:3], free[3:]] if free else []), *([j] for j in range(self.model.n) if j not in free)]

    @cached_property
    def projecting(self) -> Formulation:
        """The formulation, with the noise by which unknown forces of the ground are taken off: that of the equations
        they are taken off from, found from residuals again and again (Förstner's estimate of variance components)."""
        asked = self.formulation
        if not any(self.model.stances) or not isinstance(asked, InverseDynamic) or asked.noise is not None:
            return asked
        noise = np.ones(self.model.n)
        for _ in range(PROJECTED_NOISE_ROUNDS):
            known = replace(asked, noise=tuple(noise.tolist()))
            measured = replace(self.bounded, formulation=known, folds=1, balanced=False).measured
            values, left = measured.information(noise).solve(self.names)[0], measured.squares
            redundancy = np.maximum(measured.rows.sum(axis=0) - measured.taken_by(noise), 0.0)
            squares, found = left(values).sum(axis=0), noise.copy()
            for group in self._alike_equations:  # of which forces of the ground may take some wholly
                found[group] = np.sqrt(squares[group].sum() / max(redundancy[group].sum(), 1.0))
            noise = np.maximum(found, LEAST_PROJECTED_NOISE_FRACTION * found.max())
        return replace(asked, noise=tuple(noise.tolist()))

    @property
    def is_held(self) -> bool:
        """Whether equations were gone through, and kept."""
        return "_held" in self.__dict__

    @property
    def _unprojected_are_held(self) -> bool:
        """Whether they were kept as the formulation makes them by itself."""
        return self.is_held and self.projecting is self.formulation

    def alone(self, run: Run) -> Problem:
        """Of one run; with what is kept of its equations, if it is one of the problem's."""
        one = replace(self, runs=(run,))
        if self._unprojected_are_held and run in self.runs:
            number = self.runs.index(run)
            one.__dict__["_held"] = tuple((0, packed) for index, packed in self.__dict__["_held"] if index == number)
        return one

    def made(self, run: Run) -> Iterator[Rows]:
        """Equations of one of the runs as the formulation makes them by itself, not weighted."""
        if self._unprojected_are_held:
            return (rows for _, rows in self._as_measured([self.runs.index(run)]))
        return self.formulation.rows(self.model, self.pieces(run), self.base.independent)

    def _as_measured(self, runs: Iterable[int]) -> Iterator[tuple[int, Rows]]:
        runs = tuple(runs)
        if self.is_held:
            yield from ((index, packed.rows) for index, packed in self.__dict__["_held"] if index in runs)
            return
        keeps = len(runs) == len(self.runs) and not self.formulation.keeps_columns
        held, room = list[tuple[int, PackedRows]](), HELD_ROWS_BYTES if keeps else -1
        for index in runs:
            run = self.runs[index]
            room = room if isinstance(run.parts, tuple) else -1  # of what is read anew, rows are made anew
            try:
                for rows in self.projecting.rows(self.model, self.pieces(run), self.base.independent):
                    if room >= 0:
                        held.append((index, packed := PackedRows.of(rows)))
                        room -= packed.values.nbytes
                    else:
                        held.clear()
                    yield index, rows
            except RecordingError as error:
                raise RecordingError(str(error) if run.name in str(error) else f"{run.name}: {error}") from None
        if room >= 0:
            self.__dict__["_held"] = tuple(held)

    @cached_property
    def measured(self) -> Compressed:
        """All equations as measured, in one triangular factor per run, fold and joint; rows are gone through once."""
        here, p, j = self._as_measured(self.here), len(self.names), len(self.joints)
        labelled = ((index, self.runs[index].fold(rows.time, self.folds), rows) for index, rows in here)
        parts = [absorbed(labelled, p, j, len(self.runs), self.folds, self.jobs)] if self.here else []
        for index, part in self.summed(RowsOfRun.absorbed, j, self.folds, weighted=False):
            parts.append(replace(part, groups=part.groups + index * self.folds))
        found = Absorbed.together(parts).compressed(self.names, self.joints, self.folds)
        for index, run in enumerate(self.runs):
            mine = found.where(found.run == index)
            for joint, squares, rows in zip(mine.joints, mine.signal, mine.rows.sum(axis=0), strict=True):
                if (
                    squares == 0.0 and rows and joint in self.driven
                ):  # no rows: it rests throughout, as it may where another run moves it
                    raise zero_torque(joint, run.name)
        if not found.signal.any():
            raise RecordingError(
                "all equations have zero on their right side: nothing acts on the robot whose size is known, so that "
                "parameters are known up to a factor only; give joint torques, or forces of contacts"
            )
        return found

    @cached_property
    def scales(self) -> Array:
        """(runs, J) by which equations are divided, so that those of all runs have errors alike."""
        if len(self.runs) == 1 or not self.balanced:
            return np.ones((len(self.runs), len(self.joints)))
        return run_scales(self.measured, len(self.runs))

    @cached_property
    def compressed(self) -> Compressed:
        """What estimators work on: the equations of ``rows``, compressed."""
        measured = self.measured
        silent = {
            self.model.robot.joint_names[j] for j in range(self.model.n) if all(j in run.silent for run in self.runs)
        }
        for joint, rows in zip(measured.joints, measured.rows.sum(axis=0), strict=True):
            if not rows and measured.rows.any() and joint not in silent and joint in self.driven:
                raise resting(joint)
        scales = self.scales[measured.run]
        if (scales == 1.0).all():
            return measured
        return measured.over(scales)


def zero_torque(joint: str, run: str = "") -> RecordingError:
    """Of a joint, throughout a run or all of them."""
    return RecordingError(
        f"the torque of '{joint}' is zero throughout{f' {run}' if run else ''}: it was not recorded, or the drive was "
        "off; lock the joint, or give a log that has it"
    )


def resting(joint: str) -> RecordingError:
    """Of a joint that has no equation in any run."""
    return RecordingError(
        f"'{joint}' rests throughout: it never leaves its dead zone, and has no equations; lock the joint, or give a "
        "log in which it moves"
    )
