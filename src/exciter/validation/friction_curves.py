"""Friction of every joint over its velocity: as identified, and as the measured torque shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.identification.information.estimate import Estimate
from exciter.labelled import Labelled
from exciter.parameters.terms import CoupledSqrtViscous, DriveCoupling, LoadFriction, Offset, Ripple
from exciter.robot.motion import Motion
from exciter.typing import Array
from exciter.validation.prediction import Prediction

CURVE_VELOCITIES = 41  #: of either sign at which friction is computed
SLOWEST_VELOCITY_SHARE = 2e-3  #: of the fastest velocity: the first of them
SLIDING_TRAVEL, SLIDING_SAMPLES = 0.2, 60  #: [rad, m] and samples at constant velocity, after which pre-sliding is over
MOST_CURVE_POINTS = 1500
OF_OTHERS = (LoadFriction, DriveCoupling)  #: terms of pre-sliding that depend on more than their own joint's motion
NOT_OF_VELOCITY = (*OF_OTHERS, CoupledSqrtViscous, Ripple)  #: friction that velocity alone does not tell


def friction_entries(model: DynamicModel) -> list[tuple[int, int, int]]:
    """(entry, joint, base parameter) of the model that are friction, or an offset, of one joint alone."""
    base = {int(standard): k for k, standard in enumerate(model.base.independent)}
    entries, entry, column = [], 0, model.inertial_size
    for settings, term in zip(model.terms, model.bound, strict=True):
        alone = term.joint_wise or (term.has_memory and not isinstance(settings, OF_OTHERS))
        for joint, k in term.rows:
            wanted = alone and (isinstance(settings, Offset) or not term.conservative[k])
            if wanted and column + k in base:
                entries.append((entry, joint, base[column + k]))
            entry += 1
        column += len(term.names)
    return entries


@dataclass(frozen=True, eq=False)
class FrictionCurve:
    """Of one joint: friction (M,) [``unit``] with the half-width of its 95 % band at velocities (M,)
    [``velocity_unit``], an offset included, and the measured torque less everything else of the model there."""

    joint: str
    unit: str
    velocity_unit: str
    velocity: Array
    friction: Array
    band: Array
    measured: Array

    def __repr__(self) -> str:
        return repr(self.labelled)

    @property
    def labelled(self) -> Labelled:
        """Model, half-width of its band, and what was measured, over the velocity."""
        values = np.column_stack([self.friction, self.band, self.measured])
        title, names = f"friction of {self.joint}", ("model", "half-width of the 95 % band", "measured")
        return Labelled(title, values, names, (self.unit,) * 3, self.velocity, f"velocity [{self.velocity_unit}]")

    def to_pandas(self) -> Any:
        return self.labelled.to_pandas()

    def plot(self, axes: Any = None) -> Any:
        """The curve with its band, and what was measured; matplotlib's axes."""
        axes = self.labelled.plot("measured", axes, linestyle="none", marker=".", color="0.7")
        axes.fill_between(self.velocity, self.friction - self.band, self.friction + self.band, alpha=0.3)
        return self.labelled.plot("model", axes)


def friction_curves(
    model: DynamicModel, estimate: Estimate, predictions: Sequence[Prediction]
) -> tuple[FrictionCurve, ...]:
    """Of joints with friction in the model that moved, where equations are of joints; measured: instants, thinned."""
    entries, predictions = friction_entries(model), [one for one in predictions if one.of_joints]
    if not entries or not predictions or estimate.names != model.base.names:
        return ()
    speed = np.concatenate([p.qd for p in predictions])
    fastest = np.abs(speed).max(axis=0)
    shares = np.geomspace(SLOWEST_VELOCITY_SHARE, 1.0, CURVE_VELOCITIES)
    grid = np.concatenate([-shares[::-1], shares])
    found = np.zeros((model.n, len(model.base), len(grid)))  # columns at constant velocities, long after they began
    for k, v in enumerate(grid[:, None] * np.where(fastest > 0.0, fastest, 1.0)):
        time = np.linspace(0.0, SLIDING_TRAVEL / np.abs(v).min(), SLIDING_SAMPLES)
        q = time[:, None] * v
        values = model.term_values(Motion(time, q, np.broadcast_to(v, q.shape), np.zeros_like(q)))
        for entry, joint, parameter in entries:
            found[joint, parameter, k] += values[entry, -1]
    torques = []  # residual + friction = measured less the rest of the model
    for p in predictions:
        values, torque = model.term_values(Motion(p.time, p.q, p.qd, p.qdd)), np.zeros_like(p.qd)
        for entry, joint, parameter in entries:
            torque[:, joint] += estimate.values[parameter] * values[entry]
        torques.append(p.residual + torque)
    measured = np.concatenate(torques)
    few = np.linspace(0, len(speed) - 1, min(MOST_CURVE_POINTS, len(speed))).astype(int)
    curves = []
    for j in sorted({joint for _, joint, _ in entries if fastest[joint] > 0.0}):
        slides = model.robot.joints[j].is_prismatic
        band = estimate.quantile() * np.sqrt(np.einsum("pv,pq,qv->v", found[j], estimate.covariance, found[j]))
        at = few[np.argsort(speed[few, j], kind="stable")]
        v, known = speed[at, j], grid * fastest[j]
        curve = FrictionCurve(
            joint=model.robot.joint_names[j],
            unit="N" if slides else "N·m",
            velocity_unit="m/s" if slides else "rad/s",
            velocity=v,
            friction=np.interp(v, known, estimate.values @ found[j]),
            band=np.interp(v, known, band),
            measured=measured[at, j],
        )
        curves.append(curve)
    return tuple(curves)
