"""Which parameters a stage determines: small rules that name columns of a problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, unknown_name
from exciter.identification.problem import Problem
from exciter.robot.motion import Motion

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
