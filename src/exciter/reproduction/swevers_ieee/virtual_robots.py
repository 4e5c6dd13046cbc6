"""Virtual robots with more friction than the model has: what two designs make of them (sections V-B, V-C)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.design import Design
from exciter.excitation.validation_motion.draw import Drawn
from exciter.excitation.validation_motion.random_families import RandomPoints
from exciter.experiment.signals.low_pass import Butterworth
from exciter.experiment.signals.rows import ParallelFilter, filtered_pair
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.parameters.terms import LoadFriction, Stribeck
from exciter.reproduction.swevers_ieee.experiment import (
    PERIODS,
    PRINTED,
    RATE,
    TORQUE_VARIANCE,
)
from exciter.reproduction.swevers_ieee.record import Record
from exciter.reproduction.swevers_ieee.set_up import FAMILY, NOISE, chi, model, sampled, theta, workspace
from exciter.robot.motion import Motion
from exciter.typing import Array

FITTED: Array = np.array(PRINTED["estimation_residual"])  #: (3,) [(N·m)²]
POINTS = RandomPoints(points=PRINTED["validation"]["points"], rest=0.0)
LOW_PASS = ParallelFilter(Butterworth(float(PRINTED["validation"]["cutoff"])), 1)
SLOW = 0.1  # [rad/s]
VELOCITIES = (0.03, 0.3)  # [rad/s] of Stribeck friction
WAVES = (1.0, 30.0)  # of the gear, per radian
ROUNDS = 4  # of sizing model errors to the published residual


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of one virtual robot. pair: number of its motions. models (2) of both motions; residuals (2, 3) mean
    square [(N·m)²] of each on its own motion; unseen (2, 3) on the validation motion, quiet: without noise there. slow:
    of joint 1, model 2, at low speed over elsewhere. control (21,): errors in σ of model 2 when nothing is left out of
    the model."""

    pair: int
    models: tuple[Estimate, Estimate]
    residuals: Array
    unseen: Array
    quiet: Array
    slow: float
    control: Array

    def errors(self, which: int) -> Array:
        """(21,) in σ of (9)."""
        return np.asarray((self.models[which].values - theta()) / self.models[which].std)

    def ratio(self, quiet: bool = False) -> float:
        """Mean squares of model 1 over model 2, joints averaged."""
        residual = self.quiet if quiet else self.unseen
        return float((residual[0] / residual[1]).mean())


@dataclass(frozen=True, eq=False)
class Bench:
    """Motions of both criteria (every start of its design ends in one), and motions for validation: independent pairs,
    each with its own validation motion."""

    designs: tuple[Design, Design]
    validation: tuple[Drawn, ...]

    @cached_property
    def fitted(self) -> tuple[tuple[Motion, ...], tuple[Motion, ...]]:
        """Of criterion c1, and of c2."""
        first, second = (
            tuple(sampled(one.delta) for one in found.attempts if one.delta is not None) for found in self.designs
        )
        return first, second

    @property
    def certificates(self) -> list[Certificate]:
        """Of all motions."""
        robot, limits = model().robot, [workspace(model().robot)]
        deltas = [one.delta for found in self.designs for one in found.attempts if one.delta is not None]
        own = [certify(robot, FAMILY.curve(delta), limits) for delta in deltas]
        return [*own, *(one.certificate for one in self.validation)]

    @cached_property
    def unseen(self) -> tuple[Motion, ...]:
        return tuple(
            one.curve.motion(np.arange(int(one.curve.duration * RATE)) / RATE + one.curve.start)
            for one in self.validation
        )

    @property
    def pairs(self) -> int:
        return min(len(some) for some in (*self.fitted, self.unseen))

    def robot(self, seed: int) -> Outcome:
        """Robots share the pairs of motions in turn."""
        rng = np.random.default_rng(seed)
        pair = seed % self.pairs
        unseen = self.unseen[pair]
        motions = [some[pair] for some in self.fitted]
        extra = Unmodelled.drawn(rng, motions[1])
        models, residuals = [], []
        left = np.zeros((0, 3))
        for motion in motions:
            torque = model().torque(motion, chi()) + extra.torque(motion) + NOISE * rng.standard_normal(motion.q.shape)
            models.append(estimated(motion, torque))
            left = torque - predicted(motion, models[-1])
            residuals.append((left**2).mean(axis=0))
        white = estimated(motions[1], model().torque(motions[1], chi()) + _noise(motions[1], rng))
        exact = model().torque(unseen, chi()) + extra.torque(unseen)
        noisy = exact + np.sqrt(PERIODS) * _noise(unseen, rng)  # one run: no average
        both = [[residual(unseen, torque, one) for one in models] for torque in (noisy, exact)]
        slow = np.abs(motions[1].qd[:, 0]) < SLOW
        peaks = float((left[slow, 0] ** 2).mean() / (left[~slow, 0] ** 2).mean())
        control = (white.values - theta()) / white.std
        return Outcome(
            pair, (models[0], models[1]), np.array(residuals), np.array(both[0]), np.array(both[1]), peaks, control
        )


@dataclass(frozen=True, eq=False)
class Unmodelled:
    """Stribeck friction (velocity [rad/s]), friction that grows with the load, and a torque of the gear over the
    joint's angle (waves per radian, phase); amplitude (3 kinds, 3 joints)."""

    velocity: Array
    waves: Array
    phase: Array
    amplitude: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator, motion: Motion) -> Unmodelled:
        """With any shares of the three in the mean square along a motion."""
        velocity = np.exp(rng.uniform(np.log(VELOCITIES[0]), np.log(VELOCITIES[1]), 3))
        waves = np.exp(rng.uniform(np.log(WAVES[0]), np.log(WAVES[1]), 3))
        one = cls(velocity, waves, rng.uniform(0.0, 2.0 * np.pi, 3), np.ones((3, 3)))
        shares = rng.dirichlet(np.ones(3), 3).T
        return replace(one, amplitude=np.sqrt(shares / (one.kinds(motion) ** 2).mean(axis=1))).sized(motion)

    def kinds(self, motion: Motion) -> Array:
        """(3, N, 3) for amplitudes of one."""
        rich = self._rich
        names = np.array(rich.standard)
        units = [np.char.startswith(names, symbol).astype(float) for symbol in ("Fst", "Fl")]
        return np.array([*(rich.torque(motion, x) for x in units), np.sin(self.waves * motion.q + self.phase)])

    @cached_property
    def _rich(self) -> DynamicModel:
        terms = (Stribeck(velocity=tuple(self.velocity.tolist())), LoadFriction())
        return DynamicModel(model().robot, terms)

    def torque(self, motion: Motion) -> Array:
        """(N, 3) [N·m]."""
        return np.asarray((self.amplitude[:, None] * self.kinds(motion)).sum(axis=0))

    def sized(self, motion: Motion) -> Unmodelled:
        """So that what the model cannot explain of it has the mean square that the paper found beyond noise."""
        found, kinds = self, self.kinds(motion)
        explained, _ = np.linalg.qr(Record(motion).rows)
        for _ in range(ROUNDS):
            torque = ((found.amplitude[:, None] * kinds).sum(axis=0) / NOISE).ravel()
            left = NOISE * (torque - explained @ (explained.T @ torque)).reshape(-1, len(NOISE))
            growth = np.sqrt((FITTED - TORQUE_VARIANCE) / (left**2).mean(axis=0))
            found = replace(found, amplitude=found.amplitude * growth)
        return found


def estimated(motion: Motion, torque: Array) -> Estimate:
    """By (7)."""
    problem = Problem(model(), (Run.at(motion, torque, RATE),), folds=1)
    return WeightedLeastSquares(tuple(NOISE)).estimate(problem)


def predicted(motion: Motion, found: Estimate) -> Array:
    known = np.zeros(len(model().standard))
    known[model().base.independent] = found.values
    return model().torque(motion, known)


def residual(motion: Motion, torque: Array, found: Estimate) -> Array:
    """(3,) mean square [(N·m)²] of both torques low-passed."""
    measured, foretold = filtered_pair(torque, predicted(motion, found), RATE, LOW_PASS)
    return np.asarray(((measured - foretold) ** 2).mean(axis=0))


def _noise(motion: Motion, rng: np.random.Generator) -> Array:
    return np.asarray(NOISE * rng.standard_normal(motion.q.shape))
