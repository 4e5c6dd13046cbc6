"""Problems for statistics: W is made once, only y changes, so that a repetition costs a compression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Motion, load

RATE = 100.0
USUAL = (Viscous(), Coulomb())


@dataclass(frozen=True, eq=False)
class Given(Formulation):
    """Rows that were made before."""

    given: Rows

    def rows(self, model, pieces, columns):
        yield self.given

    def equations(self, model):
        return self.given.joints


@dataclass(frozen=True, eq=False)
class Experiment:
    """A model, a motion, W (N, n, b) of its base parameters and their true values (b,)."""

    model: DynamicModel
    motion: Motion
    w: np.ndarray
    true: np.ndarray

    @classmethod
    def of(cls, motion: Motion, terms=USUAL, robot: str = "gautier-khalil") -> Experiment:
        model = DynamicModel(load(robot), terms, NumpyEngine())
        return cls(model, motion, model.regressor(motion)[:, :, model.base.independent], _values(model))

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.base.names

    @property
    def exact(self) -> np.ndarray:
        return self.w @ self.true

    def problem(self, y: np.ndarray, w: np.ndarray | None = None) -> Problem:
        """Equations with another right side (N, n), and with another W where given; one fold."""
        joints = self.model.robot.joint_names
        rows = Rows.of(self.motion.time, self.w if w is None else w, y, RATE, joints, self.names)
        return Problem(self.model, (Run.at(self.motion, y, RATE),), Given(rows), folds=1)

    def with_zeros(self, *names: str) -> Experiment:
        """The same where some parameters are zero."""
        return replace(self, true=np.where(np.isin(self.names, names), 0.0, self.true))

    def repeated(
        self, estimator: Estimator, problem: Callable[[np.random.Generator], Problem], times: int
    ) -> Repetitions:
        found = [estimator.estimate(problem(np.random.default_rng(seed))) for seed in range(times)]
        return Repetitions(self.true, tuple(found))


@dataclass(frozen=True, eq=False)
class Repetitions:
    """Estimates of the same truth from data that differ in their noise."""

    true: np.ndarray
    found: tuple[Estimate, ...]

    @property
    def errors(self) -> np.ndarray:
        return np.array([estimate.values - self.true for estimate in self.found])

    @property
    def bias(self) -> np.ndarray:
        """Over its standard error."""
        return self.errors.mean(axis=0) / self.errors.std(axis=0) * np.sqrt(len(self.found))

    @property
    def covered(self) -> np.ndarray:
        """Whether the 95 % interval holds the truth."""
        ends = [estimate.interval() for estimate in self.found]
        return np.array([(low <= self.true) & (self.true <= high) for low, high in ends])

    def assert_honest(self) -> None:
        """Unbiased; normalised errors follow χ²; 95 % intervals cover 93–97 %."""
        assert np.abs(self.bias).max() < 4.0, self.bias
        squares = sum(e @ np.linalg.solve(f.covariance, e) for e, f in zip(self.errors, self.found, strict=True))
        freedom = self.errors.size
        tails = chi2.ppf([0.0005, 0.9995], freedom)
        student = np.mean([f.freedom / (f.freedom - 2.0) for f in self.found])  # σ is estimated, too
        assert tails[0] < squares / student < tails[1], squares / freedom
        assert 0.93 < self.covered.mean() < 0.97, self.covered.mean()


def _values(model: DynamicModel) -> np.ndarray:
    """Different from zero, all of them, and of the size links have."""
    rng = np.random.default_rng(11)
    nominal = model.base.base_values(model.nominal)
    return np.where(np.abs(nominal) > 1e-9, nominal, rng.uniform(0.5, 2.0, len(nominal)))


def moving(samples: int, joints: int = 3, seed: int = 3, harmonics: int = 5, rate: float = RATE) -> Motion:
    """Sums of sines with exact derivatives, that excite everything."""
    rng = np.random.default_rng(seed)
    time = np.arange(samples) / rate
    k = np.arange(1, harmonics + 1) * 2.0 * np.pi * rate / samples
    sine, cosine = rng.standard_normal((2, harmonics, joints)) * (2.0 / k[:, None]) / np.sqrt(harmonics)
    s, c = np.sin(np.outer(time, k)), np.cos(np.outer(time, k))
    qd, qdd = (c * k) @ sine - (s * k) @ cosine, -(s * k**2) @ sine - (c * k**2) @ cosine
    return Motion(time, s @ sine + c @ cosine, qd, qdd)


def with_poses(motion: Motion, poses: int, samples: int, seed: int = 1, rate: float = RATE) -> Motion:
    """The motion, and after it poses at which all joints rest for some samples each; without the way between them."""
    q = np.repeat(np.random.default_rng(seed).uniform(-1.5, 1.5, (poses, motion.n)), samples, axis=0)
    still = np.zeros_like(q)
    time = motion.time[-1] + 1.0 + np.arange(len(q)) / rate
    pairs = ((motion.time, time), (motion.q, q), (motion.qd, still), (motion.qdd, still))
    return Motion(*(np.concatenate(pair) for pair in pairs))
