"""The shapes of a URDF: what to look at, and what may collide. Meshes are names; their files stay closed here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from exciter.errors import RobotError
from exciter.robot.geometry import Shape
from exciter.robot.spatial import axis_rotation
from exciter.robot.xml_safety import asset_path, number, numbers
from exciter.typing import Array

Colour = tuple[float, float, float, float]
LinkShapes = tuple[tuple[str, Shape], ...]
GREY: Colour = (0.7, 0.7, 0.7, 1.0)


def read_shapes(root: Element, folder: Path, mesh_root: Path) -> tuple[LinkShapes, tuple[str, ...]]:
    """Visual shapes and collision shapes, each with its link and placed in the link's frame; and the links with a
    <collision> that says of no shape, so that something is there and nobody knows what."""
    for texture in root.iter("texture"):
        if texture.get("filename"):
            asset_path(texture.get("filename", ""), folder, mesh_root)
    colours = {m.get("name", ""): _colour(m, {}) for m in root.findall("material")}
    found: list[tuple[str, Shape]] = []
    shapeless: dict[str, None] = {}
    for link in root.findall("link"):
        name = link.get("name", "")
        for role in ("visual", "collision"):
            for element in link.findall(role):
                shape = _shape(element, f"link '{name}'", folder, mesh_root, colours)
                if shape is not None:
                    found.append((name, replace(shape, role=role)))
                elif role == "collision":
                    shapeless[name] = None
    return tuple(found), tuple(shapeless)


def rpy_rotation(rpy: tuple[float, ...]) -> Array:
    """Rotation by roll, pitch, yaw [rad] about the fixed x, y, z axes (URDF)."""
    roll, pitch, yaw = rpy
    rotation: Array = axis_rotation([0, 0, 1], yaw) @ axis_rotation([0, 1, 0], pitch) @ axis_rotation([1, 0, 0], roll)
    return rotation


def _shape(element: Element, owner: str, folder: Path, mesh_root: Path, colours: dict[str, Colour]) -> Shape | None:
    solids = [solid for geometry in element.findall("geometry") for solid in geometry]
    if not solids:
        return None
    if len(solids) > 1:
        raise RobotError(f"{owner} has {len(solids)} shapes in one <{element.tag}>; give each of them its own")
    [solid] = solids
    origin = element.find("origin")
    xyz = (0.0, 0.0, 0.0) if origin is None else (numbers(origin, "xyz", 3, owner) or (0.0, 0.0, 0.0))
    rpy = (0.0, 0.0, 0.0) if origin is None else (numbers(origin, "rpy", 3, owner) or (0.0, 0.0, 0.0))
    rotation, translation = rpy_rotation(rpy), np.array(xyz)
    material = element.find("material")
    colour = GREY if material is None else _colour(material, colours)
    if solid.tag == "mesh":
        scale = numbers(solid, "scale", 3, owner) or (1.0, 1.0, 1.0)
        path = asset_path(solid.get("filename", ""), folder, mesh_root)
        return Shape("mesh", -1, scale, rotation, translation, colour, str(path))
    if solid.tag == "box":
        size = numbers(solid, "size", 3, owner) or ()
        return Shape("box", -1, _positive(size, owner), rotation, translation, colour)
    radius, length = number(solid, "radius", owner), number(solid, "length", owner)
    if solid.tag == "sphere":
        return Shape("sphere", -1, _positive((radius,), owner), rotation, translation, colour)
    if solid.tag == "cylinder":
        return Shape("cylinder", -1, _positive((radius, length), owner), rotation, translation, colour)
    if solid.tag == "capsule":
        return Shape("capsule", -1, _positive((radius, length), owner), rotation, translation, colour)
    raise RobotError(f"{owner} has the geometry <{solid.tag}>; allowed are box, sphere, cylinder, capsule and mesh")


def _positive(size: tuple[float, ...], owner: str) -> tuple[float, ...]:
    if not size or min(size) <= 0:
        raise RobotError(f"a shape of {owner} has the size {size}; every length must be given and positive")
    return size


def _colour(material: Element, named_colours: dict[str, Colour]) -> Colour:
    element = material.find("color")
    if element is None:
        return named_colours.get(material.get("name", ""), GREY)
    red, green, blue, alpha = numbers(element, "rgba", 4, f"material '{material.get('name')}'") or GREY
    return red, green, blue, alpha
