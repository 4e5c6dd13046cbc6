"""What a log may say of a free base: its pose and twist, an IMU on it, and which frames touch the ground.

recording.yaml beside the joints' own sections:

    base_position: {columns: [x, y, z], unit: m}                      # of the base link's origin, in the world
    base_orientation: {columns: [qx, qy, qz, qw], order: xyzw}        # of the base link in the world
    base_twist: {columns: [vx, vy, vz, wx, wy, wz], frame: local}     # linear, then angular; world or local axes
    imu: {columns: [gx, gy, gz, ax, ay, az], frame: imu_link}         # angular velocity, then specific force
    contacts: {frames: [foot_1, foot_2], columns: [c1, c2]}           # touches where above threshold
    contact_force: {columns: [...], axes: world}                      # of the ground on the robot, frame by frame"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.dynamics.contacts import CONTACT_KINDS, ContactKind, GroundContact, Stance
from exciter.errors import ExciterError, RecordingError, shown
from exciter.settings import Number, OneWord, Settings, Text, Vector
from exciter.settings.field_markers import ListOfTexts, wrong
from exciter.typing import Array

WORLD, LOCAL = "world", "local"
AXES = (WORLD, LOCAL)  #: in which a vector is given
POSITION_COLUMNS = ("px", "py", "pz")
ORIENTATION_COLUMNS = ("qw", "qx", "qy", "qz")
TWIST_COLUMNS = ("vx", "vy", "vz", "wx", "wy", "wz")
IMU_COLUMNS = ("gx", "gy", "gz", "ax", "ay", "az")
FORCE_COLUMNS = ("fx", "fy", "fz")
MOMENT_COLUMNS = ("mx", "my", "mz")
#: by channel: names of its columns, and their units in SI
BASE_CHANNELS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "base_position": (POSITION_COLUMNS, ("m",) * 3),
    "base_orientation": (ORIENTATION_COLUMNS, ("1",) * 4),
    "base_twist": (TWIST_COLUMNS, ("m/s",) * 3 + ("rad/s",) * 3),
    "imu": (IMU_COLUMNS, ("rad/s",) * 3 + ("m/s²",) * 3),
}
TOUCHING_SHARE = 0.5  #: of a flag between 0 and 1


class FrameNames(ListOfTexts):
    """Names of frames, each once."""

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[str, ...]:
        names = super().check([given] if isinstance(given, str) else given, context)
        if not names or len(set(names)) < len(names):
            raise wrong(f" is {shown(given)}; name at least one frame, each once")
        return tuple(names)


@dataclass(frozen=True)
class ImuMounting(Settings):
    """frame: of the robot, on its base link, in whose axes the IMU measures; None: the base link itself. translation
    [m], rpy [rad]: where it sits in that frame (angles about its fixed x, y, z)."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    frame: Annotated[str | None, Text("a frame of the base link")] = None
    translation: Annotated[tuple[float, float, float], Vector(3, "m")] = (0.0, 0.0, 0.0)
    rpy: Annotated[tuple[float, float, float], Vector(3, "rad")] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class TwistAxes(Settings):
    """In which axes velocity and angular velocity of the base are given: of the world, or its own (local)."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    frame: Annotated[str, OneWord(AXES)] = WORLD
    angular: Annotated[str | None, OneWord(AXES)] = None

    @property
    def of_spin(self) -> str:
        return self.angular or self.frame


@dataclass(frozen=True)
class Contacts(Settings):
    """frames: of the robot that may touch the ground. kind: in a point, so that a force acts; flat: a moment, too.
    radius [m]: of round feet about the frame's origin. margin [s]: before and behind every change of contact, in which
    equations are left out. threshold: of the columns, above which a frame touches. axes: of forces that were measured;
    moments: whether moments were, too."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    frames: Annotated[tuple[str, ...], FrameNames()]
    kind: Annotated[ContactKind, OneWord(CONTACT_KINDS)] = "point"
    radius: Annotated[float, Number(least=0.0, unit="m")] = 0.0
    margin: Annotated[float, Number(least=0.0, unit="s")] = 0.1
    threshold: Annotated[float, Number()] = TOUCHING_SHARE
    axes: Annotated[str, OneWord(AXES)] = WORLD
    moments: bool = False

    @property
    def all(self) -> Stance:
        return tuple(GroundContact(frame, self.kind, self.radius) for frame in self.frames)

    @property
    def force_columns(self) -> tuple[str, ...]:
        parts = (*FORCE_COLUMNS, *MOMENT_COLUMNS) if self.moments else FORCE_COLUMNS
        return tuple(f"{frame}.{part}" for frame in self.frames for part in parts)

    def touching(self, flags: Array) -> Array:
        """(N, k) of what columns say: 1 where a frame touches, 0 where not."""
        return np.where(np.isnan(flags), np.nan, (flags > self.threshold).astype(float))

    def stance(self, touching: Array) -> Stance:
        """Of one instant (k,)."""
        return tuple(one for one, on in zip(self.all, touching > TOUCHING_SHARE, strict=True) if on)
