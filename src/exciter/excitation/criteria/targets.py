"""How far standard deviations are above those that are wanted: what a campaign makes small.

Wanted are σ_i of parameters and of predicted torques. Each is a linear function of the covariance C = H⁻¹: with
v_k = tr(A_k C), A_k = e_i e_iᵀ/t_i² for a parameter that shall be known to t_i, and A_k = mean φ_j φ_jᵀ/t_j² over
random states for the torque of joint j, all targets are reached when every v_k ≤ 1. Minimised is the logarithm of a
smooth maximum, (Σ v_k^p)^(1/p), so that what is reached with room to spare no longer costs any motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from exciter.dynamics.model import DynamicModel, usual_range
from exciter.errors import ParameterError, shown
from exciter.excitation.criteria.criterion import CriterionSettings, inverse, singular
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.loop_reach import within_reach
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import NonNegative, Number
from exciter.typing import Array

TORQUE_STATES = 500  # random ones, over which the variance of a predicted torque is averaged
TORQUE_STATES_SEED = 0
UNLIMITED_SPEED, UNLIMITED_ACCELERATION = 2.0, 5.0  # [rad/s, rad/s²; m] of these states, of joints without such limits
USUAL_TORQUE_SHARE = 0.01  # of a joint's rms torque over these states: σ wanted where nothing is said
SMALLEST_TORQUE_SHARE = 1e-3  # of the largest rms torque: a joint that bears less is compared with this


def torque_states(robot: Robot) -> Motion:
    """Independent states anywhere within the limits, the same for everybody."""
    rng = np.random.default_rng(TORQUE_STATES_SEED)
    shape = (TORQUE_STATES, robot.n)
    lower, upper = usual_range(robot)
    pairs = (("velocity", UNLIMITED_SPEED), ("acceleration", UNLIMITED_ACCELERATION))
    limits = (np.where(np.isfinite(robot.limit(what)), robot.limit(what), other) for what, other in pairs)
    q = within_reach(robot, rng.uniform(lower, upper, shape))
    return Motion.at(q, *(limit * rng.uniform(-1.0, 1.0, shape) for limit in limits))


def torque_squares(model: DynamicModel) -> Array:
    """(n, b, b): mean φ_j φ_jᵀ over the states, of the base parameters: tr(A_j C) is the mean variance of a torque."""
    rows = model.base.project(model.regressor(torque_states(model.robot)))
    return np.asarray(np.einsum("Njb,Njc->jbc", rows, rows, optimize=True) / len(rows))


def usual_torques(squares: Array, values: Array) -> Array:
    """(n,) rms torque [N·m or N] over the states, of base parameters (b,); never quite nothing."""
    rms = np.sqrt(np.einsum("jbc,b,c->j", squares, values, values, optimize=True))
    return np.asarray(np.maximum(rms, SMALLEST_TORQUE_SHARE * rms.max(initial=0.0)))


@dataclass(frozen=True)
class Targets(CriterionSettings):
    """The worst σ beside the one that is wanted: 2 log max σ_i/t_i, with a smooth maximum.

    sigma (b,): t_i wanted of each parameter, torque (n,): of the predicted torque of each joint [N·m or N], rms over
    random states; zero where nothing is wanted. Neither: torques to 1 % of those of the description. power: of the
    smooth maximum, which is the true one as it grows."""

    word, title = "targets", "σ over the σ wanted"
    sigma: tuple[NonNegative, ...] | None = None
    torque: tuple[NonNegative, ...] | None = None
    power: Annotated[float, Number(least=1.0)] = 8.0

    def bound(
        self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None
    ) -> Targets | BoundTargets:
        torque = self.torque
        if torque is None and self.sigma is not None:
            return self
        if columns is not None and (columns.names != model.base.names or columns.nuisance is not None):
            raise ParameterError("predicted torques hang on all parameters; give sigma of those that are chosen")
        squares = torque_squares(model)
        if torque is None:
            usual = usual_torques(squares, np.asarray(model.base.base_values(model.nominal)))
            torque = tuple((USUAL_TORQUE_SHARE * usual).tolist())
        if len(torque) != model.n:
            raise ParameterError(f"torque has {len(torque)} numbers; the robot has {model.n} joints")
        wanted = np.array(torque)
        if not wanted.any() and not np.any(self.sigma or 0.0):
            raise ParameterError("nothing is wanted; give sigma of a parameter, or torque of a joint, above zero")
        forms = squares[wanted > 0] / (wanted[wanted > 0] ** 2)[:, None, None]
        return BoundTargets(replace(self, torque=torque), forms)

    def __call__(self, h: Array, forms: Array | None = None) -> tuple[float, Array]:
        """forms (k, b, b): A_k beyond those of single parameters."""
        if self.sigma is None and forms is None:
            raise ParameterError("targets have no σ; give one for every parameter, or bind them to a model")
        wanted = np.zeros(len(h)) if self.sigma is None else np.array(self.sigma)
        if wanted.shape != (len(h),):
            raise ParameterError(f"sigma must be {len(h)} numbers, one per parameter; given {shown(wanted.tolist())}")
        if (inverted := inverse(h)) is None:
            return singular(h)
        covariance = inverted[0]
        weight = np.divide(1.0, wanted**2, out=np.zeros(len(h)), where=wanted > 0)  # A_k, all of one element
        squares = covariance.diagonal() * weight
        others = np.zeros(0) if forms is None else np.einsum("kbc,bc->k", forms, covariance)
        most = max(squares.max(initial=0.0), others.max(initial=0.0))
        if not most > 0.0:
            raise ParameterError("nothing is wanted; give sigma of a parameter above zero")
        shares, more = (squares / most) ** self.power, (others / most) ** self.power
        total = shares.sum() + more.sum()
        value = float(np.log(most) + np.log(total) / self.power)
        # ∂f/∂C = Σ v_k^(p−1) A_k / Σ v_k^p, and ∂C = −C ∂H C
        slope = np.diag(weight * (squares / most) ** (self.power - 1.0))
        if forms is not None:
            slope = slope + np.einsum("k,kbc->bc", (others / most) ** (self.power - 1.0), forms)
        return value, -covariance @ (slope / (most * total)) @ covariance


@dataclass(frozen=True, eq=False)
class BoundTargets:
    """Targets of a model: forms (k, b, b) of the torques that are wanted."""

    targets: Targets
    forms: Array

    @property
    def name(self) -> str:
        return self.targets.name

    def __call__(self, h: Array) -> tuple[float, Array]:
        return self.targets(h, self.forms)
