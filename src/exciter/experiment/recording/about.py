"""What is known of a recording beside its samples: how the motion repeats, what was mounted, how it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from types import MappingProxyType
from typing import Any

from exciter.errors import RecordingError, shown, unknown_name

Triple = tuple[float, float, float]
MOTOR, LINK = "motor", "link"
HIGHEST_ORDER = 20  #: of a filter: beyond, its poles cannot be told apart
SIDES = (MOTOR, LINK)  #: of the gears, on which torques are measured


@dataclass(frozen=True)
class AnalogFilter:
    """A low-pass Butterworth filter before the sampling of torque or current (seed 002, V-A); cutoff [Hz]."""

    order: int = 8
    cutoff: float = 40.0

    def __post_init__(self) -> None:
        if not 1 <= self.order <= HIGHEST_ORDER:
            raise RecordingError(f"order is {shown(self.order)}; the order must be 1 … {HIGHEST_ORDER}")
        if not 0.0 < self.cutoff < float("inf"):
            raise RecordingError(f"cutoff is {self.cutoff}; give a positive frequency [Hz]")


@dataclass(frozen=True)
class Payload:
    """A known body carried by ``frame``: mass [kg], centre [m] and inertia about it [kg·m²], in that frame.

    inertia: Ixx, Ixy, Ixz, Iyy, Iyz, Izz.
    """

    frame: str
    mass: float
    centre: Triple = (0.0, 0.0, 0.0)
    inertia: tuple[float, ...] = (0.0,) * 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", tuple(float(x) for x in self.centre))
        object.__setattr__(self, "inertia", tuple(float(x) for x in self.inertia))
        if not 0.0 <= self.mass < float("inf"):
            raise RecordingError(f"mass of the payload is {self.mass}; give a number ≥ 0 [kg]")
        if len(self.centre) != 3:
            raise RecordingError(f"centre of the payload has {len(self.centre)} numbers; give 3 [m]")
        if len(self.inertia) != 6:
            raise RecordingError(
                f"inertia of the payload has {len(self.inertia)} numbers; give 6, Ixx, Ixy, Ixz, Iyy, Iyz, Izz [kg·m²]"
            )


@dataclass(frozen=True)
class SourceFile:
    """A file the samples came from, and its SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True)
class About:
    """period [s]: of a motion that repeats; settled [s]: from this time on the robot repeats itself, too.

    gravity: in the base frame [m/s²], None: as the robot description says. filter: before the sampling of torque or
    current. gains: torque at the joint per ampere [N·m/A]. notes: anything else, in words.

    side: of the gears on which torque is measured, None: unknown. ``motor``: what the motors do, so that rotor inertia
    and all friction of the gears are in it. ``link``: a sensor behind the gear; only what is behind it is in it.
    """

    period: float | None = None
    settled: float | None = None
    gravity: Triple | None = None
    payload: Payload | None = None
    filter: AnalogFilter | None = None
    gains: tuple[float, ...] | None = None
    sources: tuple[SourceFile, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    side: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))
        if self.side not in (None, *SIDES):
            raise RecordingError(f"side is {shown(self.side)}; allowed are {', '.join(SIDES)}")
        if self.period is not None and not 0.0 < self.period < float("inf"):
            raise RecordingError(f"period is {shown(self.period)}; give a positive number of seconds")
        if self.settled is not None and not isfinite(self.settled):
            raise RecordingError(f"settled is {shown(self.settled)}; give a time [s]")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {k: asdict(v) if isinstance(v, Payload | AnalogFilter) else v for k, v in named.items()}
        plain["sources"] = [asdict(s) for s in self.sources]
        plain["notes"] = dict(self.notes)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items() if v not in (None, [], {})}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> About:
        """The inverse of ``to_dict``."""
        given = dict(data)
        for key in given:
            if key not in (names := [f.name for f in fields(cls)]):
                raise RecordingError(unknown_name("key", key, names))
        try:
            if "payload" in given:
                given["payload"] = Payload(**given["payload"])
            if "filter" in given:
                given["filter"] = AnalogFilter(**given["filter"])
            given["sources"] = tuple(SourceFile(**s) for s in given.get("sources", ()))
            for key in ("gravity", "gains"):
                if key in given:
                    given[key] = tuple(float(x) for x in given[key])
            return cls(**given)
        except (TypeError, ValueError) as error:
            raise RecordingError(f"the description of the recording is wrong: {error}") from None
