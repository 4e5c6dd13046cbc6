"""Estimation in stages: parameters found earlier are known later, with their uncertainty.

Never better than estimating all together (Gauss–Markov), but each stage may use the motion that suits its parameters,
and needs fewer of them at once (12.5.1, 12.7). Known sequences: link by link, wrist then shoulder, static then dynamic,
friction first.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from exciter.errors import ParameterError, RecordingError
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.information.estimate import Estimate, assumed, filtered
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem, zero_torque
from exciter.identification.stages.compressed_stages import Cells, cells_of
from exciter.identification.stages.error_propagation import StageSolver, State, refuse_few_rows
from exciter.identification.stages.stage import ActingAtRest, AtRest, FrictionParameters, Stage, SteadyMotion, Unused
from exciter.notes import Note, done
from exciter.settings import Whole
from exciter.settings.field_markers import ListOfTexts
from exciter.typing import Array

STAGE_ASSUMPTIONS = assumed(
    "every equation has an error of its own, of one variance per joint and stage, and W is exact",
    "what earlier stages leave uncertain is carried into later ones",
)
USUAL_WRIST_JOINTS = 3  #: joints


@dataclass(frozen=True)
class Staged(Estimator):
    """A parameter is determined by the first stage that asks for it and whose equations determine it."""

    title = "least squares in stages"
    stages: tuple[Stage, ...]

    def estimate(self, problem: Problem) -> Estimate:
        _refuse(problem, self.stages)
        cells = cells_of(problem, self.stages)
        for j in np.unique(cells.joint):
            if not cells.factors[cells.joint == j, :, -1].any():
                raise zero_torque(problem.joints[j])
        state, notes = State.start(cells, len(problem.names)), list[Note]()
        for k, stage in enumerate(self.stages):
            state, said = _through(problem, cells, state, k, stage)
            notes.append(said)
        if missing := [name for name, known in zip(problem.names, state.known, strict=True) if not known]:
            raise ParameterError(
                f"no stage determines {', '.join(missing)}; add a stage that asks for them, or move more"
            )
        used = np.isfinite(state.noise)
        everything = Information.empty(len(problem.names))
        for factor in cells.factors[used]:
            everything = everything.add(factor[:, :-1], factor[:, -1])
        alone = (
            f"nothing but the parameters of stage '{stage.name}' acts in its equations, friction neither"
            for stage in self.stages
            if stage.alone
        )
        return Estimate.of(
            problem,
            everything,
            values=state.values,
            covariance=state.covariance(cells),
            noise=_pooled_noise(cells, state, len(problem.joints)),
            freedom=state.freedom(cells),
            assumptions=(*STAGE_ASSUMPTIONS, *assumed(*alone), *filtered(cells.inflation)),
            notes=tuple(notes),
        )


def _through(problem: Problem, cells: Cells, state: State, k: int, stage: Stage) -> tuple[State, Note]:
    """What is known after a stage, and what it did."""
    if not cells.used[:, k].any():
        raise RecordingError(
            f"no equation is chosen for stage '{stage.name}'; choose less strictly ({stage.selection}), or record a "
            f"motion for it{_hint(cells, stage)}"
        )
    chosen = stage.parameters.chosen(problem)
    step = StageSolver.of(cells, state, k, chosen, stage.alone)
    refuse_few_rows(step, stage.name, _hint(cells, stage))
    wanted = chosen[step.unknown] & step.determined
    left = [problem.names[i] for i in step.unknown[chosen[step.unknown] & ~wanted]]
    joints = ", ".join(problem.joints[j] for j in np.unique(cells.joint[step.mine]))
    count, rows = int(wanted.sum()), int(cells.rows[step.mine].sum())
    text = f"{stage.name}: {count} parameter{'s' * (count != 1)} from {rows} equations of {joints}"
    if len(step.known):
        text += f", {len(step.known)} known before"
    if left:
        text += f"; {', '.join(left)} left to later stages: not determined here"
    return (step.solve(wanted) if wanted.any() else state), done("stage", text)


def _hint(cells: Cells, stage: Stage) -> str:
    """Why there may be few equations."""
    if not (stage.alone and cells.reach):
        return ""
    return (
        f"; filtered, an equation holds what happens up to {cells.reach:.3g} s around it: what is chosen must last "
        f"longer than {2.0 * cells.reach:.3g} s, or the filter forget sooner (lower order, higher cut-off)"
    )


def _refuse(problem: Problem, stages: tuple[Stage, ...]) -> None:
    joints = problem.model.robot.joint_names
    if problem.joints != joints:
        raise ParameterError(
            f"stages go by joints, and these equations are of {', '.join(problem.joints)}; use the inverse dynamic or "
            "filtered dynamic model, which have one equation per joint"
        )
    runs = {run.name for run in problem.runs}
    for stage in stages:
        if strange := [str(j) for j in stage.joints or () if not 0 <= j < len(joints)]:
            raise ParameterError(f"stage '{stage.name}' names joint {strange[0]}; there are 0 … {len(joints) - 1}")
        if lost := [name for name in stage.runs or () if name not in runs]:
            raise RecordingError(f"stage '{stage.name}' names run '{lost[0]}'; there are: {', '.join(sorted(runs))}")


def _pooled_noise(cells: Cells, state: State, joints: int) -> Array:
    """(J,) root mean square of the noise of a joint's equations, whatever stage used them."""
    used = np.isfinite(state.noise)
    rows = np.bincount(cells.joint[used], cells.rows[used], joints)
    squares = np.bincount(cells.joint[used], cells.rows[used] * state.noise[used] ** 2, joints)
    return np.asarray(np.sqrt(squares / np.maximum(rows, 1.0)))


class StageSequence(Estimator):
    """A known sequence of stages, which depends on the robot."""

    @abstractmethod
    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        """In order."""

    def estimate(self, problem: Problem) -> Estimate:
        return Staged(self.stages(problem)).estimate(problem)


@dataclass(frozen=True)
class LinkByLink(StageSequence):
    """From the last link to the first [12.22]–[12.24]: Φ is upper block triangular, so that the equation of joint j
    adds the parameters of link j to those of the links after it, which are known by then."""

    word, title = "links", "least squares link by link"

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        names = problem.model.robot.joint_names
        return tuple(Stage(f"link of {names[j]}", joints=(j,)) for j in reversed(range(len(names))))


@dataclass(frozen=True)
class TwoStep(StageSequence):
    """The last ``wrist`` joints first, then the others with the wrist known (12.7): for robots whose wrist links are
    of another order of magnitude than those of the shoulder. None: three, of a short arm half."""

    word, title = "two-step", "least squares in two steps, wrist first"
    wrist: Annotated[int | None, Whole(1)] = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        n = problem.model.n
        wrist = min(USUAL_WRIST_JOINTS, max(1, n // 2)) if self.wrist is None else self.wrist
        if not 0 < wrist < n:
            raise ParameterError(f"a wrist of {wrist} joints; the robot has {n}: give 1 … {n - 1}")
        first = n - wrist
        return (Stage("wrist", joints=tuple(range(first, n))), Stage("shoulder", joints=tuple(range(first))))


@dataclass(frozen=True)
class StaticThenDynamic(StageSequence):
    """Gravity from poses at rest, then the inertias and friction from motion, gravity known (Rackl et al. 2012).

    Rests on torques at rest being those of gravity: no derivatives are needed, but a torque measured at the motor
    holds friction of unknown sign and size up to Fs. Equations of a pose are averaged into one, so that this friction
    is an error of the pose; approach poses from both sides as often, and it cancels and shows in σ. Approached from one
    side only, it biases gravity, and nothing in the data tells. Sensors on the link side do not see it. A filter brings
    motion into a pose from both sides: what it reaches is left to the second stage, see ``reach``.

    runs: names of the runs that hold the poses, all unless given.
    """

    word, title = "static", "least squares from poses at rest, then from motion"
    flat = ("rest",)
    rest: AtRest = field(default_factory=AtRest)
    runs: Annotated[tuple[str, ...] | None, ListOfTexts("runs", least=1)] = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        static = Stage("static", ActingAtRest(), selection=self.rest, runs=self.runs, alone=True, mean=True)
        return (static, Stage("dynamic", selection=Unused()))


@dataclass(frozen=True)
class FrictionFirst(StageSequence):
    """Friction axis by axis from where the joint moves at constant velocity, then the rest (12.3.3 ii).

    Whatever else acts on the axis there (gravity, Coriolis) is estimated along and forgotten, so that nothing is
    assumed about it; the axis must move both ways, or its friction cannot be separated from gravity and offset.
    Equations are used once: by the friction of their axis, or by the rest.
    """

    word, title = "friction-first", "least squares with the friction first"
    flat = ("steady",)
    steady: SteadyMotion = field(default_factory=SteadyMotion)

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        axes = tuple(
            Stage(f"friction of {name}", FrictionParameters((j,)), joints=(j,), selection=self.steady)
            for j, name in enumerate(problem.model.robot.joint_names)
            if FrictionParameters((j,)).chosen(problem).any()
        )
        return (*axes, Stage("rest", selection=Unused()))
