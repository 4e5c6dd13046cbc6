"""What is sought, as a vector: every unknown is one number of one kind, of one drive or of several that share it.

Positive numbers are searched by their logarithm, so that no step makes them negative and σ is relative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from exciter.errors import ParameterError, unknown_name
from exciter.identification.actuators.actuator_settings import (
    ACTUATOR_KINDS,
    DRIVE_KINDS,
    LINK_KINDS,
    SHARED_BY_ALL,
    ActuatorKind,
    ActuatorSettings,
    by_pattern,
)
from exciter.identification.actuators.moved_links import start_of_links
from exciter.robot.robot import Robot
from exciter.typing import Array, Index

Numbers = Mapping[str, Array]  #: (n,) of every kind in ``ACTUATOR_KINDS``
DESCRIBED = {"armature": "rotor_inertia", "damping": "viscous", "friction": "coulomb"}  #: names of a robot's friction
#: Where to begin with what the description does not give: armature that makes the loop 10 Hz fast; of Kd, of Kp
LOOP_RAD_PER_S = 60.0
DAMPING_SHARE, FRICTION_SHARE_RAD = 0.1, 0.005


@dataclass(frozen=True)
class Unknown:
    """A number to be found; joints: of which drives."""

    kind: ActuatorKind
    joints: tuple[int, ...]
    name: str

    def coordinate(self, value: float) -> float:
        return float(np.log(value)) if self.kind.positive else value

    def value(self, coordinate: float) -> float:
        return float(np.exp(coordinate)) if self.kind.positive else coordinate


@dataclass(frozen=True, eq=False)
class DriveNumbers:
    """The unknowns, the numbers of all drives to start from, and joints that the description makes alike."""

    joints: tuple[str, ...]
    unknowns: tuple[Unknown, ...]
    start: Numbers
    populations: tuple[Index, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(u.name for u in self.unknowns)

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(u.kind.unit for u in self.unknowns)

    @property
    def coordinates(self) -> Array:
        """(p,) of the start."""
        return np.array([u.coordinate(float(self.start[u.kind.word][u.joints[0]])) for u in self.unknowns])

    @property
    def spreads(self) -> Array:
        """(p,) σ of the weak prior around the start."""
        return np.array([u.kind.spread for u in self.unknowns])

    def at(self, coordinates: Array) -> dict[str, Array]:
        """Numbers of all drives."""
        found = {word: np.array(values) for word, values in self.start.items()}
        for unknown, x in zip(self.unknowns, coordinates, strict=True):
            found[unknown.kind.word][list(unknown.joints)] = unknown.value(float(x))
        return found

    def values(self, coordinates: Array) -> Array:
        """(p,) in their units."""
        return np.array([u.value(float(x)) for u, x in zip(self.unknowns, coordinates, strict=True)])

    def slopes(self, coordinates: Array) -> Array:
        """(p,) ∂value/∂coordinate."""
        return np.array(
            [u.value(float(x)) if u.kind.positive else 1.0 for u, x in zip(self.unknowns, coordinates, strict=True)]
        )

    def started(self, numbers: Numbers) -> DriveNumbers:
        """The same from other numbers."""
        return DriveNumbers(self.joints, self.unknowns, numbers, self.populations)


def drive_numbers(robot: Robot, settings: ActuatorSettings, gains: Numbers) -> DriveNumbers:
    """gains: kp, kd, limit (n,) of the control law."""
    joints = robot.joint_names
    start = {word: np.full(robot.n, kind.scale) for word, kind in ACTUATOR_KINDS.items()} | dict(gains)
    start |= start_of_links(robot, settings)
    start["armature"] = gains["kp"] / LOOP_RAD_PER_S**2
    start["damping"] = DAMPING_SHARE * np.maximum(gains["kd"], gains["kp"] / LOOP_RAD_PER_S)
    start["friction"] = FRICTION_SHARE_RAD * gains["kp"]
    for word in DRIVE_KINDS:
        told = described(robot, word)
        start[word] = np.where(told > 0.0, told, start[word])
    held = set[tuple[str, int]]()
    for word, given in settings.known.items():
        values = by_pattern(given, joints, f"known: {word}")
        if ACTUATOR_KINDS[word].positive and (values <= 0.0).any():
            raise ParameterError(f"known: {word} must be positive")
        if word in LINK_KINDS and (absent := np.flatnonzero(~np.isnan(values) & (start[word] == 0.0))).size:
            raise ParameterError(f"known: the link of joint '{joints[int(absent[0])]}' has no {word} to be given")
        start[word] = np.where(np.isnan(values), start[word], values)
        held |= {(word, int(j)) for j in np.flatnonzero(~np.isnan(values))}
    for word in settings.shared:
        if word not in settings.unknown:
            raise ParameterError(f"shared: {word} is not among the unknown: {', '.join(settings.unknown)}")
    unknowns = list[Unknown]()
    for word in settings.unknown:
        free = [j for j in range(robot.n) if (word, j) not in held]
        if word == "limit":
            free = [j for j in free if np.isfinite(start["limit"][j])]
        if word in LINK_KINDS:
            free = [j for j in free if start[word][j] > 0.0]
        unknowns += _of_kind(ACTUATOR_KINDS[word], free, joints, settings.shared.get(word))
    in_parts = any(u.kind.word == "measurement_delay" and len(u.joints) < robot.n for u in unknowns)
    if in_parts or np.ptp(start["measurement_delay"]) > 0.0:
        raise ParameterError(
            "measurement_delay is one number of all joints: give it, or leave it open, for all of them"
        )
    if not unknowns:
        raise ParameterError("nothing is unknown: every number of the drives is given under known")
    return DriveNumbers(joints, tuple(unknowns), start, _alike(robot) if settings.alike else ())


def described(robot: Robot, word: str) -> Array:
    """(n,) of the description; zero where it says nothing."""
    return np.asarray(robot.friction.get(DESCRIBED[word], np.zeros(robot.n)), dtype=float)[: robot.n]


def start_source(robot: Robot, settings: ActuatorSettings, unknown: Unknown) -> str:
    """Where the number that the search of an unknown begins with is from."""
    word, joint = unknown.kind.word, unknown.joints[0]
    given = settings.known.get(word, {})
    if any(fnmatchcase(robot.joint_names[joint], pattern) for pattern in given):
        return "settings"
    if word in LINK_KINDS:
        return "description" if word == "mass" else "rule of thumb"
    if word not in DRIVE_KINDS:
        return "control law" if word in ("kp", "kd", "limit") else "zero"
    return "description" if described(robot, word)[joint] > 0.0 else "rule of thumb"


def _of_kind(
    kind: ActuatorKind, free: Sequence[int], joints: Sequence[str], shared: Sequence[str] | None
) -> list[Unknown]:
    """One per group of joints, in the order of their first ones."""
    groups = dict[str, list[int]]()
    patterns = ("*",) if shared is None and kind.word in SHARED_BY_ALL else shared or ()
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in joints):
            raise ParameterError(f"shared: {kind.word}: {unknown_name('joint', pattern, joints)}")
    for j in free:
        pattern = next((p for p in patterns if fnmatchcase(joints[j], p)), joints[j])
        groups.setdefault(pattern, []).append(j)
    return [
        Unknown(kind, tuple(members), kind.word if pattern == "*" else f"{kind.word} {pattern}")
        for pattern, members in groups.items()
    ]


def _alike(robot: Robot) -> tuple[Index, ...]:
    """Joints of which the description says the same: friction, rotor, torque limit, whether they turn; two at least."""
    told = [described(robot, word) for word in DESCRIBED]
    groups = dict[tuple[object, ...], list[int]]()
    for j, joint in enumerate(robot.joints):
        groups.setdefault((joint.is_prismatic, joint.limits.torque, *(float(v[j]) for v in told)), []).append(j)
    return tuple(np.array(members) for members in groups.values() if len(members) > 1)
