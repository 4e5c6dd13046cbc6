"""A recording: what a robot's sensors said, sample by sample, on the joint side and in SI units; and what is known of
it beside its samples: how the motion repeats, what was mounted, how it was measured. Immutable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError, RecordingError, shown, unknown_name
from exciter.experiment.recording.base_sensing import BASE_CHANNELS, Contacts, ImuMounting, TwistAxes
from exciter.experiment.recording.current_map import CurrentMap, MapsOfJoints, mapped
from exciter.experiment.recording.signal_filters import AnyAnalogFilter, OfSignals, arranged_filters
from exciter.labelled import Labelled, table_html
from exciter.notes import Note
from exciter.parameters import inertial
from exciter.robot.motion import as_numbers, freeze
from exciter.robot.robot import FREE_BASE_JOINTS, Robot
from exciter.robot.stated_gravity import GravityVector
from exciter.settings import ByName, Number, OneWord, Settings, Switch, Text, Vector, written
from exciter.settings.field_markers import Kind, ListOfTexts, wrong
from exciter.typing import Array, BoolArray, Index

JOINT_SIGNALS = ("q", "qd", "torque", "current")  # of the joints
WRENCH_COLUMNS = ("fx", "fy", "fz", "mx", "my", "mz")  #: columns of the wrench on the base
BESIDE_SIGNALS = ("temperature", "command")  #: of the joints, too, but in no equation: never filled, nor smoothed
CHANNEL_UNITS = {"q": "rad or m", "qd": "rad/s or m/s", "torque": "N·m or N", "current": "A", "temperature": "°C"}
CHANNEL_UNITS |= {"command": "rad or m"}
WRENCH_UNITS = ("N", "N", "N", "N·m", "N·m", "N·m")
FREE_BASE_CHANNELS = (*BASE_CHANNELS, "contact", "contact_force", "base_acceleration")
ACCELERATION_UNITS = ("m/s²",) * 3 + ("rad/s²",) * 3
FOR_COMMANDS = "there are commands beside the positions, and `exciter actuators` is for such logs"
Triple = tuple[float, float, float]
MOTOR_SIDE, LINK_SIDE = "motor", "link"
TORQUE_SIDES = (MOTOR_SIDE, LINK_SIDE)  #: of the gears, on which torques are measured
Seconds = Annotated[float, Number(least=0.0, unit="s")]


@dataclass(frozen=True)
class Payload(Settings):
    """A body carried by ``frame``: mass [kg], centre [m] and inertia about it [kg·m²], in that frame; None: unknown.

    inertia: Ixx, Ixy, Ixz, Iyy, Iyz, Izz; without a centre it says nothing that torques show by itself."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    frame: Annotated[str, Text("the frame that carries it")]
    mass: Annotated[float, Number(least=0.0, unit="kg")]
    centre: Annotated[Triple | None, Vector(3, "m")] = None
    inertia: Annotated[tuple[float, ...] | None, Vector(6, "kg·m²")] = None

    @property
    def missing(self) -> tuple[str, ...]:
        """What of a body is not known; nothing of a load without mass."""
        return tuple(name for name in ("centre", "inertia") if self.mass and getattr(self, name) is None)

    @property
    def stated(self) -> Array:
        """φ (10,) of what is known: m, m·c, inertia about the origin of the frame; what is not known is zero."""
        if self.centre is None:
            return inertial.from_mass_com_inertia(self.mass, np.zeros(3), np.zeros((3, 3)))
        about = np.zeros((3, 3)) if self.inertia is None else inertial.symmetric(*self.inertia)
        return inertial.from_mass_com_inertia(self.mass, self.centre, about)

    @property
    def unknown(self) -> Index:
        """(k,) which of φ are not known, or not in full."""
        return np.arange(1 if self.centre is None else 4 if self.inertia is None else 10, 10 if self.mass else 0)

    @property
    def phi(self) -> Array:
        """φ (10,) of a body that is known; refused where it is not."""
        if self.missing:
            why = f"{' and '.join(self.missing)} of the load of {self.mass:g} kg on '{self.frame}' are not given, so "
            where = "say it under payload: (inertia: [0, 0, 0, 0, 0, 0] of a point mass)"
            raise RecordingError(f"{why}that its torque is not known; {where}")
        return self.stated

    @property
    def simulated(self) -> Payload:
        """A body that is known: a point mass at the origin of its frame, unless more is given."""
        return replace(self, centre=self.centre or (0.0, 0.0, 0.0), inertia=self.inertia or (0.0,) * 6)

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, Mapping) and (given.get("frame") is None or given.get("mass") is None):
            robot = context.get("robot")
            frames = "" if robot is None else f"; frames are {', '.join(robot.frame_names)}"
            raise RecordingError(f"it needs a frame and a mass [kg]{frames}")
        return given

    def spelling(self, data: dict[str, Any]) -> Any:
        return {key: written(value) for key, value in asdict(self).items() if value is not None}


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


class SomeJoints(ListOfTexts):
    """Names of joints, which must be the log's where these are known."""

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[str, ...]:
        names, joints = tuple(dict.fromkeys(super().check(given, context))), context.get("joints")
        for name in names:
            if joints is not None and name not in joints:
                raise wrong(f": {unknown_name('joint', name, joints)}")
        return names


@dataclass(frozen=True)
class About(Settings):
    """period [s]: of a motion that repeats; settled [s]: from this time on the robot repeats itself, too.

    gravity: in the base frame [m/s²], about this, or exactly (``ExactGravity``); None: as the robot description says.
    map: torque at the joint of a motor's current, one for all joints or one each, where a gain is not enough.

    filter: before the sampling of torque or current, or by signal (``SignalFilters``). gains: torque at the joint per
    ampere [N·m/A]. notes: anything else, in words.

    unusable: joints whose torque, or current, is no measurement although their motion is; it is zero then, and has no
    equations.

    base_twist, imu, contacts: of a free base, what its channels mean (``base_sensing.py``).

    side: of the gears on which torque is measured, None: unknown. ``motor``: what the motors do, so that rotor inertia
    and all friction of the gears are in it. ``link``: a sensor behind the gear; only what is behind it is in it."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    period: Annotated[float | None, Number(above=0.0, unit="s")] = None
    settled: Annotated[float | None, Number(unit="s")] = None
    gravity: Annotated[Triple | None, GravityVector()] = None
    payload: Payload | None = None
    filter: Annotated[AnyAnalogFilter | None, OfSignals()] = None
    gains: Annotated[tuple[float, ...] | None, Vector(None, "N·m/A")] = None
    map: Annotated[tuple[CurrentMap, ...] | None, MapsOfJoints()] = None
    sources: tuple[SourceFile, ...] = ()
    notes: Annotated[Mapping[str, str], ByName(NoteText())] = field(default_factory=dict)
    side: Annotated[str | None, OneWord(TORQUE_SIDES)] = None
    unusable: Annotated[tuple[str, ...], SomeJoints()] = ()
    base_twist: TwistAxes | None = None
    imu: ImuMounting | None = None
    contacts: Contacts | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))
        if self.gains is not None and self.map is not None:
            raise RecordingError("gains and map both say what currents mean; leave one out")

    @property
    def knows_torques(self) -> bool:
        """Whether it says which torque a current stands for."""
        return self.gains is not None or self.map is not None

    def to_torque(self, current: Array, joints: Sequence[str]) -> Array:
        """(…, n) [N·m] of currents (…, n) [A]."""
        if self.map is not None:
            return mapped(self.map, current, joints)
        if self.gains is None:
            raise RecordingError("the recording has currents [A]; say in recording.yaml what they mean: gains [N·m/A]")
        return np.asarray(current * np.array(self.gains))


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


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples at ``time`` (N,) [s], which never runs backwards and need not be uniform.

    q, qd, torque, current (N, n): one column per joint of ``joints`` [rad, rad/s, N·m, A; m, m/s, N for joints that
    slide]; None where it was not recorded, NaN where a sample is missing.

    wrench (N, 6): force [N] and torque about the base's origin [N·m] that the ground exerts on the base, in axes of the
    base, from a force plate; a robot at rest is carried with +m·g.

    temperature (N, n) [°C]: of each joint's drive; NaN where it was not read. command (N, n) [rad, m]: positions that
    the drives were told to take, on the joint side, at the same instants; NaN where there is none.

    Of a free base, as sensors say it until ``arranged`` makes joints of it: base_position (N, 3) [m], base_orientation
    (N, 4) quaternion w, x, y, z, base_twist (N, 6) [m/s, rad/s], imu (N, 6) [rad/s, m/s²]; contact (N, k): 1 where
    frame k of ``about.contacts`` touches, contact_force (N, 3 k) or (N, 6 k) [N, N·m]: of the ground on it.
    base_acceleration (N, 6): q̈ of the base's joints by an IMU. undriven: joints without a drive, whose torque is zero,
    or that of measured contacts.

    name: of the file it was read from, repairs: that its recording.yaml asks for, notes: on how it was read. named:
    whether the joints' names are known; if not, they are those of the robot, in its order.

    >>> time = np.arange(500) / 100
    >>> q = np.outer(np.sin(time), [0.5, 0.4, 0.3])
    >>> ex.Recording.of(time, q, torque=10 * q, joints=robot.joint_names)
    <recording: 500 samples, 4.99 s, 100 Hz; q, torque of joint_1, joint_2, joint_3>"""

    joints: tuple[str, ...]
    time: Array
    q: Array
    qd: Array | None = None
    torque: Array | None = None
    current: Array | None = None
    about: About = field(default_factory=About)
    wrench: Array | None = None
    temperature: Array | None = None
    command: Array | None = None
    base_position: Array | None = None
    base_orientation: Array | None = None
    base_twist: Array | None = None
    imu: Array | None = None
    contact: Array | None = None
    contact_force: Array | None = None
    base_acceleration: Array | None = None
    undriven: tuple[str, ...] = ()
    name: str | None = None
    repairs: Repairs = field(default_factory=Repairs)
    notes: tuple[Note, ...] = ()
    named: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        if not (self.joints or self.base_orientation is not None) or len(set(self.joints)) < len(self.joints):
            raise RecordingError(f"a recording needs joints of different names; given {list(self.joints)}")
        for name in self.about.unusable:
            if name not in self.joints:
                raise RecordingError(f"torque: unusable: {unknown_name('joint', name, self.joints)}")
        for name in ("torque", "current") if self.silent else ():
            if (given := getattr(self, name)) is not None:
                values = np.array(given, dtype=float)
                values[..., list(self.silent)] = 0.0  # whatever it is, NaN among them, nobody must look at it
                object.__setattr__(self, name, values)
        freeze(self, "time", *JOINT_SIGNALS, "wrench", *BESIDE_SIGNALS, *FREE_BASE_CHANNELS)
        shape = (len(self.time), self.n)
        if self.time.ndim != 1 or any(getattr(self, name).shape != shape for name in self.signals):
            given = ", ".join(f"{name} {getattr(self, name).shape}" for name in ("time", *self.signals))
            raise RecordingError(f"samples of {self.n} joints must have shapes (N,) and (N, {self.n}); given {given}")
        for name in set(self.everything) - set(self.signals):
            found, expected = getattr(self, name).shape, (len(self.time), len(self.columns(name)))
            if found != expected:
                raise RecordingError(f"{name} has shape {found}; expected {expected}")
        if not np.isfinite(self.time).all():
            raise RecordingError("time contains NaN or infinity; repair or cut those samples")
        if (back := np.flatnonzero(np.diff(self.time) < 0)).size:
            k = int(back[0])
            why = f"time runs backwards after sample {k} ({self.time[k]:.6g} s, then {self.time[k + 1]:.6g} s); is it "
            raise RecordingError(f"{why}the right column, or are these several recordings in one file?")

    @classmethod
    def of(
        cls,
        time: ArrayLike,
        q: ArrayLike,
        torque: ArrayLike | None = None,
        *,
        joints: Sequence[str] | None = None,
        qd: ArrayLike | None = None,
        current: ArrayLike | None = None,
        command: ArrayLike | None = None,
        about: About | None = None,
        name: str | None = None,
    ) -> Recording:
        """Samples from arrays: time (N,), others (N, n) in SI units; joints: by name, else the robot's in order."""
        positions = as_numbers(q, "q")
        count = positions.shape[1] if positions.ndim == 2 else 1
        given = {"qd": qd, "torque": torque, "current": current, "command": command}
        fields: dict[str, Any] = {key: as_numbers(x, key) for key, x in given.items() if x is not None}
        fields |= {"about": about or About(), "name": name, "named": joints is not None}
        names = tuple(f"joint {k + 1}" for k in range(count)) if joints is None else tuple(joints)
        return cls(names, as_numbers(time, "time"), positions, **fields)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def silent(self) -> tuple[int, ...]:
        """Numbers of the joints whose torque is unusable (``About.unusable``)."""
        return tuple(j for j, name in enumerate(self.joints) if name in self.about.unusable)

    @property
    def signals(self) -> tuple[str, ...]:
        """Which of q, qd, torque, current there are."""
        return tuple(name for name in JOINT_SIGNALS if getattr(self, name) is not None)

    @property
    def channels(self) -> tuple[str, ...]:
        """The signals, the wrench and what is said of a free base, where it is there: what equations are made of."""
        beside = ("wrench", *FREE_BASE_CHANNELS)
        return (*self.signals, *(name for name in beside if getattr(self, name) is not None))

    @property
    def everything(self) -> tuple[str, ...]:
        """The channels, temperature and command where there are any: all that comes sample by sample."""
        return (*self.channels, *(name for name in BESIDE_SIGNALS if getattr(self, name) is not None))

    def columns(self, channel: str) -> tuple[str, ...]:
        """Names of a channel's columns: the joints', or those of the wrench, of the base, of contacts."""
        if channel in ("contact", "contact_force"):
            if (contacts := self.about.contacts) is None:
                raise RecordingError(f"{channel} is given, but not of which frames; say about=About(contacts=…)")
            return contacts.frames if channel == "contact" else contacts.force_columns
        known: dict[str, tuple[str, ...]] = {name: columns for name, (columns, _) in BASE_CHANNELS.items()}
        known |= {"wrench": WRENCH_COLUMNS, "base_acceleration": FREE_BASE_JOINTS}
        return known.get(channel, self.joints)

    def units(self, channel: str) -> tuple[str, ...]:
        """Of a channel's columns."""
        columns = self.columns(channel)
        if channel == "contact_force":
            return tuple("N" if name.rpartition(".")[2].startswith("f") else "N·m" for name in columns)
        known = {"wrench": WRENCH_UNITS, "contact": ("1",) * len(columns), "base_acceleration": ACCELERATION_UNITS}
        known |= {name: units for name, (_, units) in BASE_CHANNELS.items()}
        return known[channel] if channel in known else (CHANNEL_UNITS[channel],) * len(columns)

    @property
    def duration(self) -> float:
        """[s] from the first to the last sample."""
        return float(self.time[-1] - self.time[0]) if len(self) else 0.0

    @property
    def interval(self) -> float:
        """[s] between samples: the median, which lost samples do not move."""
        if len(self) < 2:
            raise RecordingError(f"a recording of {len(self)} samples has no rate; at least 2 are needed")
        return float(np.median(np.diff(self.time)))

    def __getitem__(self, part: slice | BoolArray | Index) -> Recording:
        """Some of the samples, in order."""
        return changed(self, lambda _, x: x[part], self.everything, time=self.time[part])

    def between(self, start: float, end: float) -> Recording:
        """The samples of start ≤ time ≤ end [s]."""
        first, last = np.searchsorted(self.time, start, "left"), np.searchsorted(self.time, end, "right")
        return self[int(first) : int(last)]

    def chunks(self, size: int) -> Iterator[Recording]:
        """Pieces of at most ``size`` samples, in order."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    @staticmethod
    def join(parts: Sequence[Recording]) -> Recording:
        """Pieces of one recording, in order of time, together."""
        if not parts:
            raise RecordingError("nothing was recorded")
        names = ("time", *parts[0].everything)
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return replace(parts[0], **joined)

    def arranged(self, robot: Robot, before: Recording | None = None) -> Recording:
        """The robot's joints, in its order; those of a free base from its pose. before: the piece that this one
        continues, arranged."""
        if robot.free_base or any(getattr(self, name) is not None for name in FREE_BASE_CHANNELS):
            from exciter.experiment.recording.base_joints import with_base_joints  # which needs this class

            return with_base_joints(self, robot, before)
        return self.in_order(robot)

    def in_order(self, robot: Robot) -> Recording:
        """The robot's joints, in its order, all of which were recorded as joints."""
        if not self.named and self.n == robot.n:
            about = replace(self.about, unusable=tuple(robot.joint_names[j] for j in self.silent))
            return replace(self, joints=robot.joint_names, named=True, about=about)
        missing = [name for name in robot.joint_names if name not in self.joints]
        if missing:
            why = f"the log has no joint '{missing[0]}' of the robot; it has {', '.join(self.joints)}; rename them "
            raise RecordingError(f"{why}under joints: in a recording.yaml")
        columns = [self.joints.index(name) for name in robot.joint_names]
        own = [name for name in self.everything if name not in ("wrench", *FREE_BASE_CHANNELS)]
        gains = None if self.about.gains is None else tuple(self.about.gains[k] for k in columns)
        unusable = tuple(name for name in robot.joint_names if name in self.about.unusable)
        filters, maps = arranged_filters(self.about.filter, columns), self.about.map
        maps = maps if maps is None or len(maps) == 1 else tuple(maps[k] for k in columns)
        about = replace(self.about, map=maps, gains=gains, unusable=unusable, filter=filters)
        return changed(self, lambda _, x: x[:, columns], own, joints=robot.joint_names, about=about)

    def labelled(self, channel: str) -> Labelled:
        """q, qd, torque, current, wrench, temperature or command over time, with names and units."""
        if channel not in self.everything:
            raise RecordingError(unknown_name("channel", channel, self.everything))
        columns = self.columns(channel)
        units = self.units(channel)
        return Labelled(channel, getattr(self, channel), columns, units, self.time, "time [s]")

    def plot(self, channel: str = "torque", joints: str | tuple[str, ...] | None = None, axes: Any = None) -> Any:
        """A channel over time; matplotlib's axes."""
        return self.labelled(channel).plot(joints, axes)

    def save(self, path: str | Path) -> Path:
        """As .npz, or as .csv with a .yaml for what a table cannot say; ``read`` gives the same again."""
        from exciter.experiment.recording.own_log_format import write_recording  # which needs this class

        write_recording(self, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        rate = f", {1.0 / self.interval:.6g} Hz" if len(self) > 1 and self.interval else ""
        said = f"<{self.name or 'recording'}: {len(self)} samples, {self.duration:.6g} s{rate}; "
        return f"{said}{', '.join(self.everything)} of {', '.join(self.joints)}>"

    def _repr_html_(self) -> str:
        rows = []
        for channel in self.everything:
            found = self.labelled(channel)
            for name, heading in zip(found.columns, found.headings, strict=True):
                column = found[name]
                low, high = (f"{bound(column):.5g}" for bound in (np.nanmin, np.nanmax)) if len(self) else ("", "")
                rows.append([channel, heading, low, high])
        return table_html(repr(self).strip("<>"), ("channel", "joint", "least", "greatest"), rows)

    @property
    def side(self) -> str | None:
        """Of the gears on which torques are measured: ``motor``, ``link``, None: unknown. Currents are the motors'."""
        from_currents = self.about.knows_torques or (self.torque is None and self.current is not None)
        return self.about.side or (MOTOR_SIDE if from_currents else None)

    def needed_torque(self) -> Array:
        """(N, n) torque, also from currents where their gains are known; zero where a wrench was recorded instead."""
        if self.torque is not None:
            return self.torque
        if self.current is None and self.wrench is not None:
            return np.zeros_like(self.q)
        if self.current is None:
            told = "" if self.command is None else f"; {FOR_COMMANDS}"
            raise RecordingError(f"neither torque nor current was recorded{told}")
        return self.about.to_torque(self.current, self.joints)


def changed(
    recording: Recording, change: Callable[[str, Array], Array], names: Sequence[str] | None = None, **others: Any
) -> Recording:
    """With what ``change`` makes of name and values (N, k), of all channels unless named; others: fields."""
    others |= {name: change(name, getattr(recording, name)) for name in (names or recording.channels)}
    return replace(recording, **others)
