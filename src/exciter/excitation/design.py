"""Design of a Fourier excitation within position, velocity and acceleration limits that hold for all time.

Every iterate is feasible by construction: the coefficients of a joint, taken relative to the middle of its range,
are shrunk radially until position, velocity and acceleration keep their limits. Between samples a trigonometric
polynomial of degree h stays below max over M equispaced samples / cos(π h / M) (Ehlich & Zeller), so limits
tightened by that cosine on the samples hold at every instant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.criteria import Criterion, DOptimality
from exciter.excitation.objective import Objective
from exciter.excitation.trajectories.fourier import Fourier
from exciter.robot.robot import Robot

Array = NDArray[np.float64]
SHARPNESS = 24.0  # exponent of the norm that stands for the maximum while optimising


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Position, velocity and acceleration limits as one norm per joint: a motion is allowed where it is ≤ 1."""

    trajectory: Fourier
    middle: Array
    rows: tuple[Array, ...]  # per joint: samples × coefficients, scaled so that a limit is 1

    @classmethod
    def of(cls, robot: Robot, trajectory: Fourier) -> JointLimits:
        points = 16 * trajectory.harmonics
        bases = trajectory.basis(np.linspace(0.0, trajectory.period, points, endpoint=False))
        between = np.cos(np.pi * trajectory.harmonics / points)
        lower, upper = robot.position_range()
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        rows = []
        for j, joint in enumerate(robot.joints):
            limits = (half[j], joint.limits.velocity, joint.limits.acceleration)
            if not np.isfinite(limits[1:]).any():
                raise ExciterError(
                    f"joint '{joint.name}' has neither a velocity nor an acceleration limit; give one, "
                    "e.g. limits: {velocity: 2.0} in a YAML file given with --config"
                )
            if joint.is_prismatic and not np.isfinite([joint.limits.lower, joint.limits.upper]).all():
                raise ExciterError(f"prismatic joint '{joint.name}' has no end; give its lower and upper limit")
            rows.append(np.vstack([b / (between * x) for b, x in zip(bases, limits, strict=True) if np.isfinite(x)]))
        return cls(trajectory, middle, tuple(rows))

    def worst(self, x: Array) -> Array:
        """(n,) largest ratio of motion to limit, at the samples, tightened for what lies between them."""
        return np.array([np.abs(rows @ row).max() for rows, row in zip(self.rows, x, strict=True)])

    def shrink(self, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Feasible coefficients for any x (n, c), and the pullback of gradients through that map."""
        out, pulls = np.empty_like(x), []
        for j, (rows, row) in enumerate(zip(self.rows, x, strict=True)):
            ratio = rows @ row
            worst = np.abs(ratio).max()
            powers = (np.abs(ratio) / worst) ** (SHARPNESS - 1)
            total = float((powers * np.abs(ratio) / worst).sum())
            norm = worst * total ** (1.0 / SHARPNESS)  # ≥ the maximum, and smooth
            slope = rows.T @ (powers * np.sign(ratio)) * total ** (1.0 / SHARPNESS - 1.0)
            out[j] = row / norm
            pulls.append((norm, slope, out[j].copy()))
        out[:, -1] += self.middle

        def pullback(gradient: Array) -> Array:
            parts = zip(pulls, gradient, strict=True)
            return np.array([(g - s * (g @ unit)) / norm for (norm, s, unit), g in parts])

        return out, pullback


@dataclass(frozen=True, eq=False)
class Design:
    """A designed trajectory: coefficients (n, 2 h + 1), the criterion it reaches, and how."""

    trajectory: Fourier
    coefficients: Array
    value: float
    evaluations: int
    margin: float  # largest ratio to any position, velocity or acceleration limit, for all time; ≤ 1


def design(
    model: DynamicModel,
    trajectory: Fourier,
    *,
    criterion: Criterion | None = None,
    noise: ArrayLike | None = None,
    seed: int = 0,
    iterations: int = 200,
    progress: Callable[[int, float], None] | None = None,
) -> Design:
    """Minimise a criterion (D-optimality unless given) from a random start, torque noise σ (n,) [N·m] given.

    Position, velocity and acceleration limits are kept; jerk and torque limits are not considered.
    """
    weights = np.ones(model.n) if noise is None else 1.0 / model.per_joint(noise, "noise") ** 2
    smooth = DynamicModel(model.robot, tuple(t.smoothed(0.03) for t in model.terms), model.engine)
    columns = model.base.independent
    objective = Objective(smooth, trajectory, criterion or DOptimality(), columns, weights)
    limits = JointLimits.of(model.robot, trajectory)
    shape = (model.n, trajectory.coefficients)
    evaluations = 0

    def f(flat: Array) -> tuple[float, Array]:
        nonlocal evaluations
        evaluations += 1
        delta, pullback = limits.shrink(flat.reshape(shape))
        value, gradient = objective.value_and_gradient(delta)
        if progress is not None:
            progress(evaluations, value)
        return value, pullback(gradient).ravel()

    start = np.random.default_rng(seed).standard_normal(shape)
    start[:, -1] *= 0.3
    solution = minimize(f, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    delta, _ = limits.shrink(solution.x.reshape(shape))
    delta, margin = _stretch(limits, delta)
    true = Objective(model, trajectory, objective.criterion, columns, weights)
    return Design(trajectory, delta, true.value(delta), evaluations, margin)


def _stretch(limits: JointLimits, delta: Array) -> tuple[Array, float]:
    """Take up the slack of the smooth norm: every joint up to its tightest limit, less a hair for rounding."""
    x = delta.copy()
    x[:, -1] -= limits.middle
    x *= ((1.0 - 1e-9) / limits.worst(x))[:, None]
    margin = float(limits.worst(x).max())
    x[:, -1] += limits.middle
    return x, margin
