"""``trajectory:`` of the configuration: a family and its settings, each checked by name.

    trajectory: {family: fourier, period: 10, harmonics: [1, 2, 5], at_rest: true}
    trajectory: {family: bspline, duration: 10, segments: 8, degree: 5, variables: waypoints}
    trajectory: {family: quintic, duration: 10, segments: 10, at_rest_ends: true}     # or times: [0, 1.5, 4]
    trajectory: {family: acceleration, duration: 10, intervals: 20}

Motions that are drawn at random, not searched, to validate a model on:

    trajectory: {family: random-points, points: 20, rest: 0.2, rise: 0.05, draws: 2000}
    trajectory: {family: random-spline, duration: 20, segments: 20, degree: 5, draws: 50}

Beside them stand the keys of ``EXECUTION``: how the motion is run, whatever its family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from exciter.errors import ExciterError, shown
from exciter.excitation.config.section import Section, number
from exciter.excitation.trajectories.acceleration import AccelerationSequence
from exciter.excitation.trajectories.bspline import BSpline, Variables
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.fourier_piece import HIGHEST_HARMONIC
from exciter.excitation.trajectories.piecewise import MOST_SPANS
from exciter.excitation.trajectories.quintic import Quintic
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.excitation.validation_motion.random_points import RandomPoints
from exciter.excitation.validation_motion.random_spline import RandomSpline

MOST_DRAWS = 1_000_000  # of random points or motions
EXECUTION = ("periods", "rate", "ramps", "duration_range")
DRAWN = ("random-points", "random-spline")  # words of motions that are drawn, not searched


def _fourier(given: Section) -> Trajectory:
    """A robot is started standing still unless at_rest is false: then ramps lead in and out."""
    period = given.number("period", Fourier.period, above=0.0)
    return Fourier(period, _harmonics(given), given.flag("at_rest", True))


def _harmonics(given: Section) -> int | tuple[int, ...]:
    harmonics = given.get("harmonics")
    if harmonics is None:
        return Fourier.harmonics
    numbers = harmonics if isinstance(harmonics, list) else [harmonics]
    whole = bool(numbers) and all(type(k) is int and 1 <= k <= HIGHEST_HARMONIC for k in numbers)
    if not whole or len(set(numbers)) < len(numbers):
        raise ExciterError(
            f"{given.at('harmonics')} is {shown(harmonics)}; give how many, a whole number ≥ 1, or a list of different "
            f"ones, at most {HIGHEST_HARMONIC}"
        )
    return tuple(numbers) if isinstance(harmonics, list) else harmonics


def _bspline(given: Section) -> Trajectory:
    duration = given.number("duration", BSpline.duration, above=0.0)
    segments, degree = (
        given.whole("segments", BSpline.segments, least=1, most=MOST_SPANS),
        given.whole("degree", BSpline.degree, least=4, most=None),
    )
    variables: Any = given.word("variables", get_args(Variables), BSpline.variables)
    return BSpline(duration, segments, degree, variables)


def _quintic(given: Section) -> Trajectory:
    at_rest_ends = given.flag("at_rest_ends", True)
    if "times" in given:
        return Quintic(tuple(number(time, given.at("times")) for time in given.entries("times")), at_rest_ends)
    duration, segments = (
        given.number("duration", 10.0, above=0.0),
        given.whole("segments", 10, least=1, most=MOST_SPANS),
    )
    return Quintic.even(duration, segments, at_rest_ends=at_rest_ends)


def _acceleration(given: Section) -> Trajectory:
    duration = given.number("duration", AccelerationSequence.duration, above=0.0)
    return AccelerationSequence(
        duration, given.whole("intervals", AccelerationSequence.intervals, least=3, most=MOST_SPANS)
    )


def _random_points(given: Section) -> RandomPoints:
    return RandomPoints(
        given.whole("points", RandomPoints.points, least=2, most=None),
        given.number("rest", RandomPoints.rest, least=0.0),
        given.number("rise", RandomPoints.rise, above=0.0),
        given.whole("draws", RandomPoints.draws, least=1, most=MOST_DRAWS),
    )


def _random_spline(given: Section) -> RandomSpline:
    return RandomSpline(
        given.number("duration", RandomSpline.duration, above=0.0),
        given.whole("segments", RandomSpline.segments, least=1, most=None),
        given.whole("degree", RandomSpline.degree, least=4, most=None),
        given.whole("draws", RandomSpline.draws, least=1, most=MOST_DRAWS),
    )


FAMILIES: dict[str, tuple[tuple[str, ...], Callable[[Section], Trajectory | RandomPoints | RandomSpline]]] = {
    "fourier": (("period", "harmonics", "at_rest"), _fourier),
    "bspline": (("duration", "segments", "degree", "variables"), _bspline),
    "quintic": (("duration", "segments", "times", "at_rest_ends"), _quintic),
    "acceleration": (("duration", "intervals"), _acceleration),
    "random-points": (("points", "rest", "rise", "draws"), _random_points),
    "random-spline": (("duration", "segments", "degree", "draws"), _random_spline),
}


def trajectory(family: str, settings: Mapping[str, Any], where: str) -> Trajectory | RandomPoints | RandomSpline:
    """The family, or the kind of random motion, with its settings; what is left out has its default."""
    keys, build = FAMILIES[family]
    section = Section.of(settings, where, ("family", *keys, *EXECUTION))
    try:
        return build(section)
    except ExciterError as error:
        message = str(error)
        raise ExciterError(message if message.startswith(where) else f"{where}: {message}") from None
