"""From a motion that keeps its limits at grid points to one that keeps them at every instant.

Joint limits alone: every joint's swing about its posture is scaled so that its tightest limit is just kept, by exact
extrema. With nonlinear limits: margins grow by what is found between the grid points, a few more iterations repair the
motion, and a certificate decides; as a last resort the motion shrinks about a posture that keeps all limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from exciter.excitation.optimiser.joint_limits import JointLimits
from exciter.excitation.optimiser.nonlinear import NonlinearLimits
from exciter.excitation.optimiser.sqp import Program, SQPSettings, minimise
from exciter.excitation.optimiser.start import shrunk
from exciter.excitation.optimiser.variables import Grid, Variables
from exciter.excitation.trajectories.curve import Curve
from exciter.typing import Array

FINE = 2000  # instants of the check between the grid points
ROUNDS = 4
REPAIR = 12  # iterations after margins have grown
UNPROVED = 0.007  # counts as broken by this much: kept at the fine grid, but not proved in between
LAST_RESORT = (1.0, 0.99, 0.97, 0.93, 0.85, 0.7, 0.5, 0.3, 0.1)  # of the swing about the posture
TIMELY_CERTIFICATES = 2  # for which a search or a repair stops in time: of the motion, and of one that shrinks
HAIR = 1e-6  # of half a range that exact extrema keep inside their limit: room for a file's resampling


@dataclass(frozen=True, eq=False)
class Finished:
    """A motion that keeps all limits at every instant, and what its repair cost; None where there is none."""

    y: Array | None
    evaluations: int


def curve_of(variables: Variables, y: Array) -> Curve:
    family, delta = variables.result(y)
    return family.curve(delta)


def joint_excess(limits: JointLimits, curve: Curve) -> Array:
    """(4, n): how far the exact extrema pass a limit, in half ranges; negative: room that is left."""
    excess = np.full(limits.lower.shape, -np.inf)
    for k in limits.kinds:
        extremum = curve.extremum(k)
        half = 0.5 * (limits.upper[k] - limits.lower[k])
        with np.errstate(invalid="ignore"):
            over = np.maximum(extremum.highest - limits.upper[k], limits.lower[k] - extremum.lowest) / half
        excess[k] = np.where(np.isfinite(half), over, -np.inf)
    return excess


def scaled_to_limits(limits: JointLimits, centre: Array, y: Array) -> tuple[Array, Array]:
    """Every joint's swing about the centre, shrunk where a limit is passed; and stretched too where none is met."""
    variables = limits.variables
    u, s = variables.split(y)
    c, _ = variables.split(centre)
    curve = curve_of(variables, y)
    posture = curve_of(variables, variables.join(c, s)).extremum(0).highest
    ratio = np.zeros(variables.n)
    for k in limits.kinds:
        extremum, rest = curve.extremum(k), posture if k == 0 else np.zeros_like(posture)
        room_above, room_below = limits.upper[k] - rest, rest - limits.lower[k]
        ratio = np.maximum(ratio, (extremum.highest - rest) / room_above)
        ratio = np.maximum(ratio, (rest - extremum.lowest) / room_below)
    factor = (1.0 - HAIR) / ratio
    shrunk_only, stretched = (c + (u - c) * f[:, None] for f in (np.minimum(factor, 1.0), factor))
    return variables.join(shrunk_only, s), variables.join(stretched, s)


def finish(
    problem: Program,
    y: Array,
    centre: Array,
    certified: Callable[[Array], bool],
    settings: SQPSettings,
    certificate_seconds: float = 0.0,
) -> Finished:
    """Repair y until ``certified(y)``; ``centre`` is a posture at rest within all limits.

    certificate_seconds: what one certificate takes; the repair leaves time for ``TIMELY_CERTIFICATES`` of them.
    """
    repair_deadline = problem.deadline.moved(-TIMELY_CERTIFICATES * certificate_seconds)
    if problem.nonlinear is None:
        best = min(scaled_to_limits(problem.limits, centre, y), key=lambda x: problem.criterion(x)[0])
        return Finished(best if certified(best) else None, 2)
    evaluations = 0
    limits, nonlinear = problem.limits, problem.nonlinear
    fine = limits.variables.grid(limits.variables.trajectory.sample_times(FINE))
    for _ in range(ROUNDS):
        joint, other = _between(limits, nonlinear, fine, y)
        if not joint.any() and not other.any():
            if certified(y):
                return Finished(y, evaluations)
            other = np.full(len(other), UNPROVED)
        limits = replace(limits, margins=limits.margins + 1.5 * joint)
        nonlinear = replace(nonlinear, margins=nonlinear.margins + 1.5 * other)
        repaired = Program(problem.criterion, limits, nonlinear).within(repair_deadline)
        outcome = minimise(repaired, shrunk(limits, nonlinear, centre, y), replace(settings, iterations=REPAIR))
        y, evaluations = outcome.y, evaluations + outcome.evaluations
    for share in LAST_RESORT:
        candidate = centre + share * (y - centre)
        joint, other = _between(limits, nonlinear, fine, candidate)
        if not joint.any() and not other.any() and certified(candidate):
            return Finished(candidate, evaluations)
    return Finished(None, evaluations)


def _between(limits: JointLimits, nonlinear: NonlinearLimits, fine: Grid, y: Array) -> tuple[Array, Array]:
    """How far limits are broken anywhere: joints (4, n) exactly, nonlinear rows (K,) on a fine grid."""
    joint = np.maximum(joint_excess(limits, curve_of(limits.variables, y)) + HAIR, 0.0)
    values = nonlinear.at(limits.variables.motion(fine, y))
    return joint, np.maximum(-values.min(axis=1), 0.0)
