"""Known sequences of stages: link by link, wrist then shoulder, static then dynamic, friction first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from exciter.errors import ParameterError
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.staged import Staged
from exciter.identification.problem import Problem
from exciter.identification.stages.parameters import ActingAtRest, Friction
from exciter.identification.stages.selection import AtRest, ConstantVelocity, Unused
from exciter.identification.stages.stage import Stage
from exciter.settings import Whole
from exciter.settings.kinds import ListOfTexts

USUAL_WRIST = 3  #: joints


@dataclass(frozen=True)
class LinkByLink(Estimator):
    """From the last link to the first [12.22]–[12.24]: Φ is upper block triangular, so that the equation of joint j
    adds the parameters of link j to those of the links after it, which are known by then."""

    word, title = "links", "least squares link by link"

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        names = problem.model.robot.joint_names
        return tuple(Stage(f"link of {names[j]}", joints=(j,)) for j in reversed(range(len(names))))

    def estimate(self, problem: Problem) -> Estimate:
        return Staged(self.stages(problem)).estimate(problem)


@dataclass(frozen=True)
class TwoStep(Estimator):
    """The last ``wrist`` joints first, then the others with the wrist known (12.7): for robots whose wrist links are
    of another order of magnitude than those of the shoulder. None: three, of a short arm half."""

    word, title = "two-step", "least squares in two steps, wrist first"
    wrist: Annotated[int | None, Whole(1)] = None

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        n = problem.model.n
        wrist = min(USUAL_WRIST, max(1, n // 2)) if self.wrist is None else self.wrist
        if not 0 < wrist < n:
            raise ParameterError(f"a wrist of {wrist} joints; the robot has {n}: give 1 … {n - 1}")
        first = n - wrist
        return (Stage("wrist", joints=tuple(range(first, n))), Stage("shoulder", joints=tuple(range(first))))

    def estimate(self, problem: Problem) -> Estimate:
        return Staged(self.stages(problem)).estimate(problem)


@dataclass(frozen=True)
class StaticThenDynamic(Estimator):
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

    def estimate(self, problem: Problem) -> Estimate:
        return Staged(self.stages(problem)).estimate(problem)


@dataclass(frozen=True)
class FrictionFirst(Estimator):
    """Friction axis by axis from where the joint moves at constant velocity, then the rest (12.3.3 ii).

    Whatever else acts on the axis there (gravity, Coriolis) is estimated along and forgotten, so that nothing is
    assumed about it; the axis must move both ways, or its friction cannot be told from gravity and offset.
    Equations are used once: by the friction of their axis, or by the rest.
    """

    word, title = "friction-first", "least squares with the friction first"
    flat = ("steady",)
    steady: ConstantVelocity = field(default_factory=ConstantVelocity)

    def stages(self, problem: Problem) -> tuple[Stage, ...]:
        axes = tuple(
            Stage(f"friction of {name}", Friction((j,)), joints=(j,), selection=self.steady)
            for j, name in enumerate(problem.model.robot.joint_names)
            if Friction((j,)).chosen(problem).any()
        )
        return (*axes, Stage("rest", selection=Unused()))

    def estimate(self, problem: Problem) -> Estimate:
        return Staged(self.stages(problem)).estimate(problem)
