"""Trajectory families by the words that files and the command line use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exciter.errors import ExciterError, shown, unknown_name
from exciter.excitation.trajectories.acceleration import AccelerationSequence
from exciter.excitation.trajectories.bspline import BSpline
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.quintic import Quintic
from exciter.excitation.trajectories.stops import Stops
from exciter.excitation.trajectories.trajectory import Trajectory

FAMILIES: dict[str, type[Fourier] | type[BSpline] | type[Quintic] | type[AccelerationSequence] | type[Stops]] = {
    "fourier": Fourier,
    "bspline": BSpline,
    "quintic": Quintic,
    "acceleration": AccelerationSequence,
    "stops": Stops,
}


def trajectory_from(data: Mapping[str, Any]) -> Trajectory:
    """The family that ``to_dict`` wrote; settings that are left out have their defaults."""
    settings = dict(data)
    word = settings.pop("family", None)
    if word not in FAMILIES:
        raise ExciterError(unknown_name("trajectory family", str(word), FAMILIES))
    family = FAMILIES[word]
    valid = tuple(family.__dataclass_fields__)
    for name in settings:
        if name not in valid:
            raise ExciterError(unknown_name(f"setting of the {word} trajectory", name, valid))
    try:
        return family(**settings)
    except (TypeError, ValueError) as error:
        raise ExciterError(f"settings of a {word} trajectory that cannot be used: {shown(settings)}; {error}") from None
