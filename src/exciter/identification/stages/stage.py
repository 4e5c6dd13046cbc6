"""A stage: some parameters from some of the equations.

Small rules name both: columns of a problem, and equations by what the motion does at their instants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, unknown_name
from exciter.identification.information.problem import Problem
from exciter.robot.motion import Motion
from exciter.settings import NonNegative, Settings

BoolArray = NDArray[np.bool_]
POSES = 100  # random ones, to see which columns act at rest
NOTHING = 1e-9  # of the largest entry


class Parameters(ABC):
    """A rule, without a robot. What earlier stages determined, and what the equations do not, is left out by itself."""

    @abstractmethod
    def chosen(self, problem: Problem) -> BoolArray:
        """(p,) of ``problem.names``."""


@dataclass(frozen=True)
class Others(Parameters):
    """All that are left."""

    def chosen(self, problem: Problem) -> BoolArray:
        return np.ones(len(problem.names), dtype=bool)


@dataclass(frozen=True)
class Named(Parameters):
    """By name."""

    names: tuple[str, ...]

    def chosen(self, problem: Problem) -> BoolArray:
        for name in self.names:
            if name not in problem.names:
                raise ParameterError(unknown_name("parameter", name, problem.names))
        return np.isin(problem.names, self.names)


@dataclass(frozen=True)
class Friction(Parameters):
    """Of joint terms that store no energy, of some joints (numbers from 0), all unless given."""

    joints: tuple[int, ...] | None = None

    def chosen(self, problem: Problem) -> BoolArray:
        model = problem.model
        found = np.zeros(len(model.standard), dtype=bool)
        at = 10 * model.n
        for term in model.bound:
            for row, column in term.rows:
                if not term.conservative[column] and (self.joints is None or row in self.joints):
                    found[at + column] = True
            at += len(term.names)
        return np.asarray(found[problem.base.independent])


@dataclass(frozen=True)
class ActingAtRest(Parameters):
    """Gravity (first moments), and springs and offsets: all that a torque at rest depends on, friction aside."""

    def chosen(self, problem: Problem) -> BoolArray:
        model = problem.model
        poses = np.random.default_rng(0).uniform(-np.pi, np.pi, (POSES, model.n))
        size = np.abs(model.regressor(Motion.at(poses))).max(axis=(0, 1))
        acting = size > NOTHING * size.max()
        return np.asarray((acting & ~_friction(model))[problem.base.independent])


def _friction(model: DynamicModel) -> BoolArray:
    """(standard,) columns of joint terms that store no energy."""
    conservative = [flag for term in model.bound for flag in term.conservative]
    return np.array([False] * (10 * model.n) + [not flag for flag in conservative])


class Selection(Settings, ABC):
    """A rule, without data."""

    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def chosen(self, motion: Motion) -> BoolArray:
        """(N, n): instants at which the equation of each joint is used."""


@dataclass(frozen=True)
class Everything(Selection):
    def chosen(self, motion: Motion) -> BoolArray:
        return np.ones(motion.q.shape, dtype=bool)


@dataclass(frozen=True)
class Unused(Selection):
    """All that no earlier stage uses."""

    def chosen(self, motion: Motion) -> BoolArray:
        return np.ones(motion.q.shape, dtype=bool)


@dataclass(frozen=True)
class AtRest(Selection):
    """All joints slower than ``speed`` [rad/s or m/s] and accelerated by less than ``acceleration`` [rad/s², m/s²]."""

    speed: NonNegative = 1e-3
    acceleration: NonNegative = 0.05

    def chosen(self, motion: Motion) -> BoolArray:
        still = (np.abs(motion.qd) <= self.speed) & (np.abs(motion.qdd) <= self.acceleration)
        return np.broadcast_to(still.all(axis=1, keepdims=True), motion.q.shape)


@dataclass(frozen=True)
class ConstantVelocity(Selection):
    """The joint moves, faster than ``slowest`` [rad/s or m/s], and is accelerated by less than ``acceleration``
    [rad/s² or m/s²]; whatever the other joints do."""

    slowest: NonNegative = 0.05
    acceleration: NonNegative = 0.05

    def chosen(self, motion: Motion) -> BoolArray:
        return (np.abs(motion.qd) >= self.slowest) & (np.abs(motion.qdd) <= self.acceleration)


@dataclass(frozen=True)
class Stage:
    """name: for people. parameters: which it determines. joints: whose equations it uses, numbers from 0, all unless
    given. selection, runs: at which instants, and of which runs by name, all unless given.

    alone: parameters that are neither determined here nor known have no part in these equations (at rest inertias
    have none), so that their columns are left out; else they are estimated along and forgotten. Filtered equations are
    then chosen only where the selection holds as far as the filter looks.
    mean: consecutive equations of a stretch without motion become one, their mean: what they share (friction that
    holds the joint) is one error, not hundreds.
    """

    name: str
    parameters: Parameters = field(default_factory=Others)
    joints: tuple[int, ...] | None = None
    selection: Selection = field(default_factory=Everything)
    runs: tuple[str, ...] | None = None
    alone: bool = False
    mean: bool = False
