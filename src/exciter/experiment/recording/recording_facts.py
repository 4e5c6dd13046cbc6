"""What is known of a recording beside its samples: how the motion repeats, what was mounted, how it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from exciter.errors import ExciterError, RecordingError, shown
from exciter.settings import ByName, Number, OneWord, Settings, Switch, Text, Vector, Whole, written
from exciter.settings.field_markers import Kind
from exciter.settings.messages import wrong

Triple = tuple[float, float, float]
MOTOR_SIDE, LINK_SIDE = "motor", "link"
HIGHEST_FILTER_ORDER = 20  #: of a filter: beyond, its poles cannot be told apart
TORQUE_SIDES = (MOTOR_SIDE, LINK_SIDE)  #: of the gears, on which torques are measured
Seconds = Annotated[float, Number(least=0.0, unit="s")]


@dataclass(frozen=True)
class AnalogFilter(Settings):
    """A low-pass Butterworth filter before the sampling of torque or current (seed 002, V-A); cutoff [Hz]."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    order: Annotated[int, Whole(1, HIGHEST_FILTER_ORDER)] = 8
    cutoff: Annotated[float, Number(above=0.0, unit="Hz")] = 40.0

    def spelling(self, data: dict[str, Any]) -> Any:
        return asdict(self)  # whole, for people


@dataclass(frozen=True)
class Payload(Settings):
    """A known body carried by ``frame``: mass [kg], centre [m] and inertia about it [kg·m²], in that frame.

    inertia: Ixx, Ixy, Ixz, Iyy, Iyz, Izz."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    frame: Annotated[str, Text("the frame that carries it")]
    mass: Annotated[float, Number(least=0.0, unit="kg")]
    centre: Annotated[Triple, Vector(3, "m")] = (0.0, 0.0, 0.0)
    inertia: Annotated[tuple[float, ...], Vector(6, "kg·m²")] = (0.0,) * 6

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, Mapping) and (given.get("frame") is None or given.get("mass") is None):
            robot = context.get("robot")
            frames = "" if robot is None else f"; frames are {', '.join(robot.frame_names)}"
            raise RecordingError(f"it needs a frame and a mass [kg]{frames}")
        return given

    def spelling(self, data: dict[str, Any]) -> Any:
        return written(asdict(self))


@dataclass(frozen=True)
class SourceFile(Settings):
    """A file the samples came from, and its SHA-256."""

    name: Annotated[str, Text(empty=True)]
    sha256: Annotated[str, Text(empty=True)]


@dataclass(frozen=True)
class NoteText(Kind):
    """Whatever YAML makes of a text."""

    wanted = "a text"

    def check(self, given: Any, context: Mapping[str, Any]) -> str:
        if isinstance(given, list | tuple | Mapping):
            raise wrong(f" is {shown(given)}; a note is a text")
        return str(given)

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "boolean", "null"]}


@dataclass(frozen=True)
class About(Settings):
    """period [s]: of a motion that repeats; settled [s]: from this time on the robot repeats itself, too.

    gravity: in the base frame [m/s²], None: as the robot description says. filter: before the sampling of torque or
    current. gains: torque at the joint per ampere [N·m/A]. notes: anything else, in words.

    side: of the gears on which torque is measured, None: unknown. ``motor``: what the motors do, so that rotor inertia
    and all friction of the gears are in it. ``link``: a sensor behind the gear; only what is behind it is in it."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    period: Annotated[float | None, Number(above=0.0, unit="s")] = None
    settled: Annotated[float | None, Number(unit="s")] = None
    gravity: Annotated[Triple | None, Vector(3, "m/s²")] = None
    payload: Payload | None = None
    filter: AnalogFilter | None = None
    gains: Annotated[tuple[float, ...] | None, Vector(None, "N·m/A")] = None
    sources: tuple[SourceFile, ...] = ()
    notes: Annotated[Mapping[str, str], ByName(NoteText())] = field(default_factory=dict)
    side: Annotated[str | None, OneWord(TORQUE_SIDES)] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))


@dataclass(frozen=True)
class Repairs(Settings):
    """The ``repair:`` section of a recording.yaml.

    duplicates: drop samples that copy the one before, time included. contradicting: also drop those that say
    something else at the same time. interpolate [s]: fill runs of NaN up to that long; 0: none. spikes: replace
    isolated outliers. unwrap: continue angles that wrap around over whole turns. longest_gap [s]: split the recording
    at longer ones, nothing is ever bridged there. cut_standstill: cut the standstill before and after the motion.
    shortest [s]: leave out pieces that are shorter."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    duplicates: Switch = True
    contradicting: Switch = False
    interpolate: Seconds = 0.05
    spikes: Switch = False
    unwrap: Switch = False
    longest_gap: Annotated[float, Number(above=0.0, unit="s")] = 0.05
    cut_standstill: Switch = False
    shortest: Seconds = 0.5
