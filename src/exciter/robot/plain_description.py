"""A description made plain: what a reader of URDF or MJCF hands on, checked and free of special cases.

One tree of links, the root first, each with its inertia, its place in the link that carries it, and the joint that
moves it; what is attached to links is listed beside it, by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from exciter.errors import RobotError
from exciter.notes import Note
from exciter.robot.geometry import Shape
from exciter.robot.limits import Limits, Unlimited
from exciter.robot.robot import STANDARD_GRAVITY, Frame, JointKind, check_name
from exciter.typing import Array

MOST_MOVING_JOINTS = 200
MOST_LINKS = 2000
CentralInertia = tuple[Array, Array]  # (10,) about the centre of mass in the link's axes, and the centre of mass (3,)
MASSLESS_BODY: CentralInertia = (np.zeros(10), np.zeros(3))


@dataclass(frozen=True, eq=False)
class JointFacts:
    """What a file says of a moving joint, seen from its link: a unit vector along the axis, a point on it [m]; friction
    in N·m(·s/rad), rotor in kg·m²."""

    name: str
    kind: JointKind
    axis: Array
    limits: Limits
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    viscous: float = 0.0
    coulomb: float = 0.0
    rotor_inertia: float = 0.0


@dataclass(frozen=True, eq=False)
class Link:
    """A link at (rotation, translation) [m] in its parent at q = 0, fixed there unless a joint moves it. weighed: False
    where the inertia lacks a share that is not known. hidden: the file has no such link."""

    name: str
    parent: str
    rotation: Array
    translation: Array
    inertia: CentralInertia = MASSLESS_BODY
    joint: JointFacts | None = None
    weighed: bool = True
    hidden: bool = False


@dataclass(frozen=True)
class PlainDescription:
    """The parts of a robot; shapes and frames are placed in the frame of the link they are listed with.

    solid: the links that have a shape, whether or not it is among ``shapes``; unmeasured: those with a part whose shape
    is not given or cannot be among them. ground: height [m] of the floor, if the file has one. lacking: forces that the
    file speaks of and a robot has no place for, in words. unlimited: kinds of limits that it may leave open.
    couplings: joints that follow another one: names of both, the tag that says so (URDF mimic, MJCF equality).
    A ``Frame`` or ``Shape`` here still has joint −1: which joint moves its link is known after assembly.
    """

    name: str
    links: tuple[Link, ...]
    gravity: tuple[float, ...] = STANDARD_GRAVITY
    frames: tuple[tuple[str, Frame], ...] = ()
    shapes: tuple[tuple[str, Shape], ...] = ()
    solid: frozenset[str] = frozenset()
    unmeasured: frozenset[str] = frozenset()
    ground: float | None = None
    couplings: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[Note, ...] = ()
    lacking: tuple[str, ...] = ()
    unlimited: tuple[Unlimited, ...] = ()


def refuse_giants(joints: int, links: int, source: str) -> None:
    """Bounds that no robot comes near; beyond them the recursive readers of the field run out of memory."""
    if joints > MOST_MOVING_JOINTS or links > MOST_LINKS:
        raise RobotError(
            f"{source} has {joints} moving joints and {links} links; "
            f"at most {MOST_MOVING_JOINTS} and {MOST_LINKS} are allowed"
        )


def refuse_duplicates(names: Sequence[str], what: str, source: str) -> None:
    """Names identify; two of the same are an error."""
    seen: set[str] = set()
    for name in names:
        if not name:
            raise RobotError(f"{source} has a {what} without a name; give every {what} a name")
        check_name(what, name)
        if name in seen:
            raise RobotError(f"{source} uses the {what} name '{name}' twice; names must be unique")
        seen.add(name)
