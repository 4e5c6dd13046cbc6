"""Every kind of motion by its word: families to search in, motions that are drawn to validate a model on, and stops,
which a drawn motion becomes in its file.

trajectory: {family: fourier, period: 10, harmonics: [1, 2, 5], at_rest: true}
trajectory: {family: bspline, duration: 10, segments: 8, degree: 5, variables: waypoints}
trajectory: {family: quintic, duration: 10, segments: 10, at_rest_ends: true}     # or times: [0, 1.5, 4]
trajectory: {family: acceleration, duration: 10, intervals: 20}
trajectory: {family: random-points, points: 20, rest: 0.2, rise: 0.05, draws: 2000}
trajectory: {family: random-spline, duration: 20, segments: 20, degree: 5, draws: 50}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exciter.errors import ExciterError, shown
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic, Stops
from exciter.excitation.trajectories.trajectory import Family, Trajectory
from exciter.excitation.validation_motion.random_families import RandomPoints, RandomSpline
from exciter.settings import OneOf, Registry, fill

FAMILIES = Registry[Family](
    "trajectory family", Fourier, BSpline, Quintic, AccelerationSequence, RandomPoints, RandomSpline, Stops
)
DRAWN_FAMILIES = (RandomPoints, RandomSpline)  # not searched
TO_DESIGN = OneOf(FAMILIES, tag="family", usual=Fourier.word, without=(Stops.word,))
OF_A_FILE = OneOf(FAMILIES, tag="family", without=tuple(cls.word for cls in DRAWN_FAMILIES))


def trajectory_from(data: Mapping[str, Any]) -> Trajectory:
    """The family that a trajectory.json names; settings that are left out have their defaults."""
    if not isinstance(data, Mapping):
        raise ExciterError(f"trajectory is {shown(data)}; give a mapping with family: {', '.join(OF_A_FILE.words)}")
    made: Trajectory = fill(OF_A_FILE.hint, data, "trajectory", exact=True)
    return made
