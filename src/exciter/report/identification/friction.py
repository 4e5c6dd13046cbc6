"""Friction of every joint over its velocity: as identified, and as the measured torque shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.identification.estimate import Estimate
from exciter.parameters.terms import CoupledSqrtViscous, DriveCoupling, LoadFriction, Offset, Ripple
from exciter.report.identification.drawn import Drawn, per_joint, shown_runs
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import Markup
from exciter.report.plain_words import named
from exciter.report.plot import Line, Plot
from exciter.report.section import Section
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
GRID = 41  #: velocities of either sign at which friction is computed
SLOWEST = 2e-3  #: of the fastest velocity: the first of them
TRAVEL, STEPS = 0.2, 60  #: [rad, m] and samples at constant velocity, after which pre-sliding is over
MOST_POINTS = 1500
OF_OTHERS = (LoadFriction, DriveCoupling)  #: terms of pre-sliding that depend on more than their own joint's motion


@dataclass(frozen=True, eq=False)
class FrictionColumns:
    """Entries of the model that are friction, or an offset, of one joint alone: (entry, joint, base parameter)."""

    model: DynamicModel
    entries: tuple[tuple[int, int, int], ...]
    joints: tuple[int, ...]

    @classmethod
    def of(cls, model: DynamicModel) -> FrictionColumns:
        base = {int(standard): k for k, standard in enumerate(model.base.independent)}
        entries, entry, column = [], 0, 10 * model.n
        for settings, term in zip(model.terms, model.bound, strict=True):
            alone = term.joint_wise or (term.has_memory and not isinstance(settings, OF_OTHERS))
            for joint, k in term.rows:
                wanted = alone and (isinstance(settings, Offset) or not term.conservative[k])
                if wanted and column + k in base:
                    entries.append((entry, joint, base[column + k]))
                entry += 1
            column += len(term.names)
        fixed = {j for j in range(model.n) if any(joint == j for _, joint, _ in entries)}
        return cls(model, tuple(entries), tuple(sorted(fixed)))

    def torque(self, motion: Motion, beta: Array) -> Array:
        """(N, n) of base parameters (p,)."""
        values = self.model.term_values(motion)
        found = np.zeros((len(motion), self.model.n))
        for entry, joint, parameter in self.entries:
            found[:, joint] += beta[parameter] * values[entry]
        return found

    def at(self, velocities: Array) -> Array:
        """(n, p, V) columns at constant velocities (V, n), long after they began."""
        found = np.zeros((self.model.n, len(self.model.base), len(velocities)))
        for k, v in enumerate(velocities):
            time = np.linspace(0.0, TRAVEL / np.abs(v).min(), STEPS)
            q = time[:, None] * v
            values = self.model.term_values(Motion(time, q, np.broadcast_to(v, q.shape), np.zeros_like(q)))
            for entry, joint, parameter in self.entries:
                found[joint, parameter, k] += values[entry, -1]
        return found


@dataclass(frozen=True, eq=False)
class Curve:
    """Of one joint: friction (M,) with the half-width of its 95 % band at velocities (M,), and the measured torque less
    everything else of the model there."""

    velocity: Array
    friction: Array
    band: Array
    measured: Array


def friction_curves(model: DynamicModel, estimate: Estimate, runs: Sequence[Drawn]) -> dict[int, Curve]:
    """By the number of the joint; joints without friction in the model, or that never moved, are left out."""
    columns = FrictionColumns.of(model)
    if not columns.joints:
        return {}
    predictions = [drawn.prediction for drawn in runs]
    speed = np.concatenate([p.qd for p in predictions])
    fastest = np.abs(speed).max(axis=0)
    shares = np.geomspace(SLOWEST, 1.0, GRID)
    grid = np.concatenate([-shares[::-1], shares])
    found = columns.at(grid[:, None] * np.where(fastest > 0.0, fastest, 1.0))
    # residual + friction = measured less the rest of the model
    seen = np.concatenate(
        [p.residual + columns.torque(Motion(p.time, p.q, p.qd, p.qdd), estimate.values) for p in predictions]
    )
    few = np.linspace(0, len(speed) - 1, min(MOST_POINTS, len(speed))).astype(int)
    curves = {}
    for j in columns.joints:
        if fastest[j] == 0.0:
            continue
        friction = estimate.values @ found[j]
        band = estimate.quantile() * np.sqrt(np.einsum("pv,pq,qv->v", found[j], estimate.covariance, found[j]))
        at = few[np.argsort(speed[few, j], kind="stable")]
        v, known = speed[at, j], grid * fastest[j]
        curves[j] = Curve(v, np.interp(v, known, friction), np.interp(v, known, band), seen[at, j])
    return curves


def friction_section(model: DynamicModel, estimate: Estimate, runs: Sequence[Drawn]) -> Section | None:
    """None where the model has no friction, or the equations are not those of joints."""
    shown = [drawn for drawn in shown_runs(tuple(runs)) if drawn.prediction.of_joints]
    if not shown or estimate.names != model.base.names:
        return None
    curves = friction_curves(model, estimate, shown)
    if not curves:
        return None
    text = (
        "The line is the identified friction while a joint slides at constant speed, with its 95 % band, an offset "
        "included; points are what was measured less everything else the model predicts (every instant of "
        f"{', '.join(drawn.name for drawn in shown)}, thinned). A cloud that bends away from the line asks for another "
        "friction model."
    )
    if any(term.has_memory for term in model.bound):
        text += (
            " Near standstill points leave the line: after a reversal friction builds up over a short travel, and "
            "filters blur it."
        )
    others = [named(term) for term in model.terms if isinstance(term, (*OF_OTHERS, CoupledSqrtViscous, Ripple))]
    if others:
        text += f" Not in the picture, since velocity alone does not tell it: {', '.join(dict.fromkeys(others))}."
    names = model.robot.joint_names
    plots = {j: curve_plot(model, j, curve) for j, curve in curves.items()}
    if len(curves) < model.n:
        text += f" No friction curve: {', '.join(name for j, name in enumerate(names) if j not in curves)}."
    return Section("friction", "Friction", text, (joint_choice(names), per_joint(plots)))


def curve_plot(model: DynamicModel, j: int, curve: Curve) -> Markup:
    joint = model.robot.joints[j]
    unit, speed = ("N", "m/s") if joint.is_prismatic else ("N·m", "rad/s")
    lines = [
        Line("lower end", curve.friction - curve.band, unit),
        Line("upper end", curve.friction + curve.band, unit),
        Line("measured less the rest", curve.measured, unit, points=True),
        Line("friction", curve.friction, unit),
    ]
    label = f"velocity [{speed}]"
    return Plot(joint.name, curve.velocity, label, f"friction [{unit}]", lines, band=(0, 1)).html()
