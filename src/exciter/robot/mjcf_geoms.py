"""The geoms of an MJCF body: shapes to look at and to collide with, files of meshes among them, and the body's inertia.

MuJoCo gives a body without <inertial> the mass of its geoms (1000 kg/m³ unless told otherwise). Meshes and height
fields do not weigh here: such a body needs an <inertial> element, or goes without their share (noted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from exciter.errors import RobotError
from exciter.robot.geometry import GREY, Shape
from exciter.robot.mjcf_settings import Classes, Compiler, orientation, resolved, rotation_to_axis
from exciter.robot.spatial import from_pseudo_inertia, rotation_to, transform_inertia
from exciter.robot.xml_safety import asset_path, number, numbers
from exciter.typing import Array

WEIGHTLESS = ("plane", "hfield", "mesh")  # all but planes are noted
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
SMALLEST_SIZE = 1e-30  # [m] whose cube is still a number
OWN_INERTIA = 'give <inertial>, which the compiler\'s inertiafromgeom="true" would not look at'
WATER = 1000.0  # kg/m³, MuJoCo's default density
FILE_ATTRIBUTES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
Central = tuple[Array, Array]  # (10,) about the centre of mass in the body's axes, and the centre of mass (3,)
LIGHTEST_GEOM = 1e-14  # [kg] below which MuJoCo takes no inertia from a geom
MASSLESS: Central = (np.zeros(10), np.zeros(3))


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
    kind: Any = geom_kind(geom)
    if kind not in ("sphere", "box", "capsule", "cylinder"):
        return None
    rotation, translation = geom_placement(geom, compiler, owner)
    half = half_sizes(geom, owner)
    red, green, blue, alpha = numbers(geom, "rgba", 4, owner) or GREY
    size = half if kind == "sphere" else tuple(2 * value for value in half)
    size = size if kind in ("sphere", "box") else (half[0], size[1])
    return Shape(kind, -1, size, rotation, translation, (red, green, blue, alpha))


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
        return None if mesh is None else mesh.placed(-1, rotation, translation)
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


def absent_assets(root: Element, compiler: Compiler, path: Path, mesh_root: Path) -> list[str]:
    """Every file an asset names stays below the root; those that do not exist are returned."""
    absent = []
    for section in root.findall("asset"):
        for asset in section.iter():
            for attribute in FILE_ATTRIBUTES:
                if asset.get(attribute):
                    reference = _reference(asset, attribute, compiler)
                    if not isfile(asset_path(reference, path.parent, mesh_root)):
                        absent.append(reference)
    return absent


def asset_meshes(root: Element, compiler: Compiler, classes: Classes, path: Path, mesh_root: Path) -> dict[str, Shape]:
    """The meshes that lie in files, by name; without those that MuJoCo moves as it reads them."""
    found = {}
    for section in root.findall("asset"):
        for element in section.findall("mesh"):
            mesh = resolved(element, classes, "main")
            if not mesh.get("file") or mesh.get("refpos") or mesh.get("refquat"):
                continue
            file = asset_path(_reference(mesh, "file", compiler), path.parent, mesh_root)
            name = mesh.get("name") or file.stem
            scale = numbers(mesh, "scale", 3, f"mesh '{name}'") or (1.0, 1.0, 1.0)
            found[name] = Shape("mesh", -1, scale, np.eye(3), np.zeros(3), mesh=str(file))
    return found


def _reference(asset: Element, attribute: str, compiler: Compiler) -> str:
    """What an attribute names, seen from the description."""
    reference = asset.get(attribute, "")
    if compiler.strip_path:
        reference = PurePosixPath(reference.replace("\\", "/")).name
    if "://" in reference:
        return reference
    folder = compiler.texture_folder if asset.tag == "texture" else compiler.mesh_folder
    return str(PurePosixPath(folder.replace("\\", "/")) / reference)


def body_inertia(body: Element, geoms: list[Element], compiler: Compiler, owner: str) -> tuple[Central, bool]:
    """From <inertial> or geoms, as MuJoCo's compiler decides: inertia about the centre of mass, and the centre; and
    whether it lacks the share of meshes. ``geoms``: the body's, defaults written on them. Where none of them weighs,
    <inertial> holds whatever the compiler is told."""
    inertial = body.find("inertial")
    inferred = compiler.inertia_from_geom == "true" or (compiler.inertia_from_geom == "auto" and inertial is None)
    first, last = compiler.inertia_groups
    counted = [geom for geom in geoms if inferred and first <= number(geom, "group", owner) <= last]
    meshed = any(weighs_by_mesh(geom) for geom in counted)
    weights = [phi for geom in counted if (phi := geom_inertia(geom, compiler, owner))[0] >= LIGHTEST_GEOM]
    if inertial is not None and not weights and not meshed:
        return _bounded(_from_inertial(inertial, compiler, owner), compiler), False
    total = np.sum([np.zeros(10), *weights], axis=0)
    # MuJoCo puts the mass that bounds give a body without any at the coordinates of the body itself, in its own frame
    given = numbers(body, "pos", 3, owner) or (0.0, 0.0, 0.0)
    centre = total[1:4] / total[0] if total[0] > 0 else np.array(given)
    return _bounded((transform_inertia(total, np.eye(3), -centre), centre), compiler), meshed


def _from_inertial(inertial: Element, compiler: Compiler, owner: str) -> Central:
    mass = number(inertial, "mass", owner)
    if mass < 0:
        raise RobotError(f"{owner} has the negative mass {mass:g} kg; masses must be zero or positive")
    centre = np.array(numbers(inertial, "pos", 3, owner) or (0.0, 0.0, 0.0))
    full = numbers(inertial, "fullinertia", 6, owner)
    diagonal = numbers(inertial, "diaginertia", 3, owner)
    if full is None and diagonal is None:
        raise RobotError(f"<inertial> of {owner} has neither diaginertia nor fullinertia; give one")
    xx, yy, zz, xy, xz, yz = full if full is not None else (*(diagonal or ()), 0.0, 0.0, 0.0)
    own = np.array([mass, 0, 0, 0, xx, xy, yy, xz, yz, zz])
    return transform_inertia(own, orientation(inertial, compiler, owner), np.zeros(3)), centre


def _bounded(central: Central, compiler: Compiler) -> Central:
    """After MuJoCo's lower bounds on mass and principal moments."""
    own, centre = central[0].copy(), central[1]
    own[0] = max(own[0], compiler.bound_mass)
    if compiler.bound_inertia > 0:
        xx, xy, yy, xz, yz, zz = own[4:]
        values, vectors = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        matrix = vectors @ np.diag(np.maximum(values, compiler.bound_inertia)) @ vectors.T
        own[4:] = matrix[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    return own, centre
