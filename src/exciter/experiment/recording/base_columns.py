"""Sections of a recording.yaml about a free base: ``base_position:`` … ``contact_force:``, see ``base_sensing.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.dynamics.contacts import CONTACT_KINDS, ContactKind
from exciter.errors import RecordingError
from exciter.experiment.recording.base_sensing import (
    AXES,
    BASE_CHANNELS,
    ORIENTATION_COLUMNS,
    TOUCHING_SHARE,
    WORLD,
    Contacts,
    FrameNames,
    ImuMounting,
    TwistAxes,
)
from exciter.experiment.recording.signal_columns import Position, Signal, UnitOf, Units
from exciter.settings import Number, OneWord, Switch, Text, Vector

ORDERS = ("wxyz", "xyzw")  #: of the columns of a quaternion
BASE_SECTIONS = ("base_position", "base_orientation", "base_twist", "imu", "contacts", "contact_force")


@dataclass(frozen=True)
class BasePosition(Position):
    """Position of the base link's origin in the world."""

    signal: ClassVar[str] = "base_position"
    unit: Annotated[Units, UnitOf("base_position")] = "m"


@dataclass(frozen=True)
class BaseOrientation(Position):
    """Quaternion that turns vectors of the base link into vectors of the world; order: of its columns."""

    signal: ClassVar[str] = "base_orientation"
    unit: Annotated[Units, UnitOf("base_orientation")] = "1"
    order: Annotated[str | None, OneWord(ORDERS)] = None

    def names(self, joints: Sequence[str]) -> Sequence[str]:
        if self.order is None:
            raise RecordingError(f"order of a quaternion is missing; give one of {', '.join(ORDERS)}")
        return tuple(f"q{letter}" for letter in self.order)

    def of(self, joints: Sequence[str], where: str, *, required: bool) -> Signal:
        try:
            found = super().of(joints, where, required=required)
        except RecordingError as error:
            raise RecordingError(str(error) if where in str(error) else f"{where}: {error}") from None
        places = [found.names.index(name) for name in ORIENTATION_COLUMNS]
        return replace(found, matrix=None if places == list(range(4)) else np.eye(4)[places])


@dataclass(frozen=True)
class BaseTwist(Position):
    """Velocity of the base link's origin, then its angular velocity; frame: in whose axes, angular: of the latter."""

    signal: ClassVar[str] = "base_twist"
    unit: Annotated[Units, UnitOf("base_twist")] = BASE_CHANNELS["base_twist"][1]
    frame: Annotated[str | None, OneWord(AXES)] = None
    angular: Annotated[str | None, OneWord(AXES)] = None

    @property
    def axes(self) -> TwistAxes:
        if self.frame is None:
            raise RecordingError(f"frame of base_twist is missing; give one of {', '.join(AXES)}")
        return TwistAxes(frame=self.frame, angular=self.angular)


@dataclass(frozen=True)
class Imu(Position):
    """Angular velocity, then specific force (gravity included), in axes of the IMU; frame, translation, rpy: where it
    sits."""

    signal: ClassVar[str] = "imu"
    unit: Annotated[Units, UnitOf("imu")] = BASE_CHANNELS["imu"][1]
    frame: Annotated[str | None, Text("a frame of the base link")] = None
    translation: Annotated[tuple[float, float, float], Vector(3, "m")] = (0.0, 0.0, 0.0)
    rpy: Annotated[tuple[float, float, float], Vector(3, "rad")] = (0.0, 0.0, 0.0)

    @property
    def mounting(self) -> ImuMounting:
        return ImuMounting(frame=self.frame, translation=self.translation, rpy=self.rpy)


@dataclass(frozen=True)
class ContactFlags(Position):
    """Which frames touch the ground: one column each, above threshold where it does; without columns: all the time."""

    signal: ClassVar[str] = "contacts"
    unit: Annotated[Units, UnitOf("contacts")] = "1"
    frames: Annotated[tuple[str, ...], FrameNames()] = ()
    kind: Annotated[ContactKind, OneWord(CONTACT_KINDS)] = "point"
    radius: Annotated[float, Number(least=0.0, unit="m")] = 0.0
    margin: Annotated[float, Number(least=0.0, unit="s")] = 0.1
    threshold: Annotated[float, Number()] = TOUCHING_SHARE

    def names(self, joints: Sequence[str]) -> Sequence[str]:
        return self.frames


@dataclass(frozen=True)
class ContactForces(Position):
    """Forces of the ground on every frame of contacts, in axes of the world or of the frame (local); moments: these,
    about the frame's origin, behind each force."""

    signal: ClassVar[str] = "contact_force"
    unit: Annotated[Units, UnitOf("contact_force")] = "N"
    axes: Annotated[str, OneWord(AXES)] = WORLD
    moments: Switch = False


def stated_contacts(flags: ContactFlags | None, forces: ContactForces | None, where: str) -> Contacts | None:
    """What the two sections say together."""
    if flags is None:
        if forces is not None:
            raise RecordingError(f"{where}: contact_force: of which frames? Name them: contacts: {{frames: […]}}")
        return None
    if not flags.frames:
        raise RecordingError(f"{where}: contacts: frames is missing; name the frames of the robot that may touch")
    same = {name: getattr(flags, name) for name in ("frames", "kind", "radius", "margin", "threshold")}
    more: Mapping[str, Any] = {} if forces is None else {"axes": forces.axes, "moments": forces.moments}
    return Contacts(**same, **more)
