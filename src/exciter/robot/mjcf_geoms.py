"""The geoms of an MJCF body: shapes to look at and to collide with, and the inertia they give the body.

MuJoCo gives a body without <inertial> the mass of its geoms (1000 kg/m³ unless told otherwise). Meshes and height
fields do not weigh here: such a body needs an <inertial> element, or goes without their share (noted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np

from exciter.errors import RobotError
from exciter.robot.geometry import Shape
from exciter.robot.mjcf_settings import Compiler, orientation, rotation_to_axis
from exciter.robot.place import place_shape
from exciter.robot.spatial import from_pseudo_inertia, rotation_to, transform_inertia
from exciter.robot.xml_safety import number, numbers
from exciter.typing import Array

WEIGHTLESS = ("plane", "hfield", "mesh")  # all but planes are noted
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
SMALLEST_SIZE = 1e-30  # [m] whose cube is still a number
OWN_INERTIA = 'give <inertial>, which the compiler\'s inertiafromgeom="true" would not look at'
WATER = 1000.0  # kg/m³, MuJoCo's default density


def geom_kind(geom: Element) -> str:
    """The geom's type; a primitive that MuJoCo fits to a mesh counts as that mesh."""
    return "mesh" if geom.get("mesh") else geom.get("type", "sphere")


def weighs_by_mesh(geom: Element) -> bool:
    """True when MuJoCo would compute mass or moments from a mesh file or a height field."""
    weight = number(geom, "mass", "a geom", number(geom, "density", "a geom", WATER))
    return geom_kind(geom) in ("mesh", "hfield") and weight != 0.0


def geom_placement(geom: Element, compiler: Compiler, owner: str) -> tuple[Array, Array]:
    """(rotation, translation) of a geom or site in its body's frame."""
    ends = numbers(geom, "fromto", 6, owner)
    if ends is None:
        translation = np.array(numbers(geom, "pos", 3, owner) or (0.0, 0.0, 0.0))
        return orientation(geom, compiler, owner), translation
    start, end = np.array(ends[:3]), np.array(ends[3:])
    length = float(np.linalg.norm(start - end))
    if length < 1e-12:
        raise RobotError(f"fromto in <{geom.tag}> of {owner} has no length")
    round_ = geom.tag == "geom" and geom_kind(geom) in ("capsule", "cylinder")  # about z, so that z is all that counts
    along = (start - end) / length  # MuJoCo's z axis points to the first end
    return rotation_to(along) if round_ else rotation_to_axis(along, owner), 0.5 * (start + end)


def half_sizes(geom: Element, owner: str) -> tuple[float, ...]:
    """Radii and half lengths of a primitive: sphere r; capsule, cylinder r, h; ellipsoid, box x, y, z."""
    kind = geom_kind(geom)
    size = numbers(geom, "size", None, owner) or ()
    ends = numbers(geom, "fromto", 6, owner)
    if ends is not None and size:
        half = 0.5 * float(np.linalg.norm(np.array(ends[:3]) - np.array(ends[3:])))
        size = (size[0], half) if SIZES[kind] == 2 else (size[0], size[0], half)
    size = size[: SIZES[kind]]
    if len(size) < SIZES[kind] or min(size) < SMALLEST_SIZE:
        raise RobotError(f"a {kind} geom of {owner} needs {SIZES[kind]} positive sizes")
    return size


def geom_shape(geom: Element, compiler: Compiler, owner: str) -> Shape | None:
    """A box, sphere, cylinder or capsule; None for what has no such form."""
    kind = geom_kind(geom)
    if kind not in ("sphere", "box", "capsule", "cylinder"):
        return None
    rotation, translation = geom_placement(geom, compiler, owner)
    half = half_sizes(geom, owner)
    red, green, blue, alpha = numbers(geom, "rgba", 4, owner) or (0.7, 0.7, 0.7, 1.0)
    colour = (red, green, blue, alpha)
    if kind == "sphere":
        return Shape("sphere", -1, half, rotation, translation, colour)
    if kind == "box":
        return Shape("box", -1, tuple(2 * value for value in half), rotation, translation, colour)
    size = (half[0], 2 * half[1])
    if kind == "capsule":
        return Shape("capsule", -1, size, rotation, translation, colour)
    return Shape("cylinder", -1, size, rotation, translation, colour)


def geom_solid(geom: Element, compiler: Compiler, meshes: Mapping[str, Shape], owner: str) -> Shape | None:
    """A shape, the capsule around an ellipsoid, a mesh; None for planes, height fields and the like.

    meshes: those of the assets by name, placed in their own frames.
    """
    kind = geom_kind(geom)
    if kind not in ("mesh", "ellipsoid"):
        return geom_shape(geom, compiler, owner)
    rotation, translation = geom_placement(geom, compiler, owner)
    if kind == "mesh":
        mesh = meshes.get(geom.get("mesh", ""))
        return None if mesh is None else place_shape(mesh, -1, rotation, translation)
    half = np.array(half_sizes(geom, owner))
    longest = int(np.argmax(half))
    radius = float(np.delete(half, longest).max())
    turn = rotation @ rotation_to(np.eye(3)[longest])
    return Shape("capsule", -1, (radius, 2.0 * (half[longest] - radius)), turn, translation)


def geom_inertia(geom: Element, compiler: Compiler, owner: str) -> Array:
    """(10,) of a primitive in the body's frame; zero for planes, height fields, meshes."""
    kind = geom_kind(geom)
    if kind in WEIGHTLESS:
        return np.zeros(10)
    if kind not in SIZES:
        raise RobotError(f"a geom of {owner} is of type '{kind}', whose inertia is not known here; {OWN_INERTIA}")
    if geom.get("shellinertia") == "true":
        raise RobotError(f"a geom of {owner} has shellinertia, which is not supported; {OWN_INERTIA}")
    volume, moments = _volume_and_moments(kind, half_sizes(geom, owner))
    mass = number(geom, "mass", owner, number(geom, "density", owner, WATER) * volume)
    if mass < 0:
        raise RobotError(f"a geom of {owner} has the negative mass {mass:g} kg; masses must be zero or positive")
    own = from_pseudo_inertia(np.diag([*(mass * moments), mass]))
    return transform_inertia(own, *geom_placement(geom, compiler, owner))


def _volume_and_moments(kind: str, half: tuple[float, ...]) -> tuple[float, Array]:
    """Volume [m³] and mean squares ⟨x²⟩, ⟨y²⟩, ⟨z²⟩ [m²] of a uniform solid about its centre."""
    if kind == "box":
        return 8.0 * math.prod(half), np.square(half) / 3.0
    if kind in ("sphere", "ellipsoid"):
        radii = np.array(half * 3 if kind == "sphere" else half)
        return 4.0 / 3.0 * math.pi * float(np.prod(radii)), np.square(radii) / 5.0
    r, h = half
    cylinder, across, along = 2.0 * math.pi * r**2 * h, r**2 / 4.0, h**2 / 3.0
    if kind == "cylinder":
        return cylinder, np.array([across, across, along])
    ball = 4.0 / 3.0 * math.pi * r**3  # the two caps; their centres of mass are 3r/8 beyond ±h
    total = cylinder + ball
    across = (cylinder * across + ball * r**2 / 5.0) / total
    along = (cylinder * along + ball * (h**2 + 0.75 * h * r + r**2 / 5.0)) / total
    return total, np.array([across, across, along])
