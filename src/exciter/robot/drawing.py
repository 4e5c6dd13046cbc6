"""What a robot looks like: the shapes of its description, meshes read from files and made coarse enough for a page.

A mesh is made coarser by clustering: its vertices in one cell of a grid become their mean, triangles that collapse
vanish. The grid is the same for all meshes of a robot, so that the same detail is seen everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from exciter.errors import RobotError
from exciter.notes import Note, note
from exciter.robot.capsules import LARGEST_DISTANCE_M, read_mesh
from exciter.robot.geometry import Shape, Surface
from exciter.robot.robot import Robot
from exciter.robot.spatial import axis_rotation
from exciter.robot.xml_safety import parse_xml
from exciter.typing import Array, Index

MOST_DRAWN_TRIANGLES = 60_000  #: of a robot: about 0.7 MB of a page
MOST_READ_TRIANGLES = 3_000_000  #: of one file
MOST_DRAWN_MESHES = 300  #: files of a robot that are read
CELLS_PER_MESH = 400  #: finest grid, along the longest side of the largest mesh
CELL_GROWTH = 1.25  #: from one grid to the next coarser one
MeshFile = tuple[str, tuple[float, ...]]  # its path, and the scale x, y, z


@dataclass(frozen=True, eq=False)
class Drawing:
    """shapes: what to draw on the bodies, those of kind "mesh" with their surface. notes: meshes that are not shown."""

    shapes: tuple[Shape, ...]
    notes: tuple[Note, ...]


def drawing(robot: Robot) -> Drawing:
    """The visible shapes, and the capsules of bodies that have none which can be drawn."""
    seen = [shape for shape in robot.shapes if shape.visible]
    files = tuple(dict.fromkeys((s.mesh, s.size) for s in seen if s.kind == "mesh" and s.surface is None))
    surfaces = _surfaces(files)
    shapes, missing = [], dict[str, str]()
    for shape in seen:
        found = surfaces.get((shape.mesh, shape.size), shape.surface)
        if isinstance(found, str):
            missing[shape.mesh] = found
        else:
            shapes.append(replace(shape, surface=found))
    drawn = {shape.joint for shape in shapes}
    shapes += [capsule.solid for capsule in robot.capsules if capsule.joint not in drawn]
    count = "1 mesh is" if len(missing) == 1 else f"{len(missing)} meshes are"
    said = [f"{count} not drawn: {reason}" for reason in [*missing.values()][:1]]
    return Drawing(tuple(shapes), tuple(note("mesh files", text) for text in said))


def pictured(robot: Robot) -> Robot:
    """The same robot with the surfaces of its meshes, to be drawn where their files are not."""
    surfaces = {(shape.mesh, shape.size): shape.surface for shape in drawing(robot).shapes}
    return replace(robot, shapes=tuple(replace(s, surface=surfaces.get((s.mesh, s.size))) for s in robot.shapes))


@lru_cache(maxsize=8)
def _surfaces(files: tuple[MeshFile, ...]) -> Mapping[MeshFile, Surface | str]:
    """Of every file, coarse enough for all of them; or why there is none."""
    found: dict[MeshFile, Surface | str] = {}
    for number, file in enumerate(files):
        try:
            if number >= MOST_DRAWN_MESHES:
                raise RobotError(f"the robot has more than {MOST_DRAWN_MESHES} of them")
            found[file] = _read(*file)
        except RobotError as error:
            found[file] = str(error)
    read = {file: one for file, one in found.items() if isinstance(one, Surface)}
    cell = max((float(np.ptp(one.vertices, axis=0).max()) for one in read.values()), default=0.0) / CELLS_PER_MESH
    while sum(len(one.faces) for one in read.values()) > MOST_DRAWN_TRIANGLES:
        read = {file: clustered(one, cell) for file, one in read.items()}
        cell *= CELL_GROWTH
    return {**found, **read}


def _read(path: str, scale: tuple[float, ...]) -> Surface:
    if path.lower().endswith(".dae"):
        found = read_collada(Path(path))
        found = Surface(found.vertices * scale, found.faces)
    else:
        mesh = read_mesh(path, scale)
        if mesh.num_tris > MOST_READ_TRIANGLES:
            raise RobotError(f"the mesh file '{path}' has more than {MOST_READ_TRIANGLES} triangles; simplify it")
        corners = [mesh.tri_indices(k) for k in range(mesh.num_tris)]
        faces = np.array([(one[0], one[1], one[2]) for one in corners], dtype=np.int64).reshape(-1, 3)
        found = Surface(np.array(mesh.vertices(), dtype=float).reshape(-1, 3), faces)
    size = float(np.ptp(found.vertices, axis=0).max()) if len(found.faces) else 0.0
    if not 0.0 < size <= LARGEST_DISTANCE_M:
        raise RobotError(f"the mesh file '{path}' has no triangles, or some far away; export it again")
    return clustered(found, 1e-6 * size)  # formats without shared vertices have each of them often


def clustered(surface: Surface, cell: float) -> Surface:
    """The surface with one vertex for each cell [m] of a grid."""
    vertices = surface.vertices
    places = np.floor((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    _, cluster = np.unique(places @ (1, 2**21, 2**42), return_inverse=True)
    count = np.bincount(cluster)
    means = np.column_stack([np.bincount(cluster, column) / count for column in vertices.T])
    faces = cluster[surface.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    _, once = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return Surface(means, faces[np.sort(once)])


def read_collada(path: Path) -> Surface:
    """All polygons that the nodes of a DAE file place [m], in its axes (readers of URDF do not turn by ``up_axis``).
    Read here, because the general loader runs for ever on some damaged files."""
    root = parse_xml(path)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite in the end is refused
            found = _placed_surface(root)
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        raise RobotError(f"the mesh file '{path}' cannot be read: {error}; export it as STL or OBJ") from None
    if not np.isfinite(found.vertices).all():
        raise RobotError(f"the mesh file '{path}' contains NaN or infinity; export it again")
    return found


def _placed_surface(root: Element) -> Surface:
    unit = root.find("asset/unit")
    size = 1.0 if unit is None else float(unit.get("meter", 1.0))
    if not 0.0 < size <= LARGEST_DISTANCE_M:
        raise ValueError(f"its unit is {size:g} m")
    metres = np.diag([size, size, size, 1.0])
    meshes = {f"#{one.get('id')}": _polygons(_needed(one, "mesh")) for one in root.iter("geometry")}
    nodes = [(node, metres) for scene in root.iter("visual_scene") for node in scene.findall("node")]
    vertices, faces, count, read = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)], 0, 0
    for node, carried in nodes:  # which grows by the nodes below
        here = carried @ _placement(node)
        nodes += [(child, here) for child in node.findall("node")]
        for use in node.findall("instance_geometry"):
            points, triangles = meshes[use.get("url", "")]
            vertices.append(points @ here[:3, :3].T + here[:3, 3])
            faces.append(triangles + count)
            count, read = count + len(points), read + len(points) + len(triangles)
            if read > MOST_READ_TRIANGLES:
                raise ValueError(f"it has more than {MOST_READ_TRIANGLES} triangles and points")
    return Surface(np.concatenate(vertices), np.concatenate(faces))


def _placement(node: Element) -> Array:
    """(4, 4) of a node: its transformations one after the other."""
    total = np.eye(4)
    for element in node:
        step = np.eye(4)
        if element.tag == "matrix":
            step = _numbers(element).reshape(4, 4)
        elif element.tag == "translate":
            step[:3, 3] = _numbers(element).reshape(3)
        elif element.tag == "scale":
            step[:3, :3] = np.diag(_numbers(element).reshape(3))
        elif element.tag == "rotate":
            x, y, z, degrees = _numbers(element).reshape(4)
            length = math.hypot(x, y, z)
            if not 0.0 < length < math.inf:
                raise ValueError("<rotate> has no axis")
            step[:3, :3] = axis_rotation(np.array([x, y, z]) / length, math.radians(degrees))
        total = total @ step
    return total


def _polygons(mesh: Element) -> tuple[Array, Index]:
    """Points (V, 3) of a mesh, and triangles: polygons of more corners are cut into fans."""
    sources = {one.get("id", ""): one for one in (*mesh.findall("source"), *mesh.findall("vertices"))}
    points, faces, count = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)], 0
    for element in (*mesh.findall("triangles"), *mesh.findall("polylist")):
        vertex = _needed(element, "input[@semantic='VERTEX']")
        stride = 1 + max(int(one.get("offset", 0)) for one in element.findall("input"))
        corners = _numbers(_needed(element, "p"), np.int64).reshape(-1, stride)[:, int(vertex.get("offset", 0))]
        sizes = element.find("vcount")
        counts = np.full(len(corners) // 3, 3) if sizes is None else _numbers(sizes, np.int64)
        position = _needed(sources[vertex.get("source", "")[1:]], "input[@semantic='POSITION']")
        source = sources[position.get("source", "")[1:]]
        width = int(_needed(source, "technique_common/accessor").get("stride", 3))
        own = _numbers(_needed(source, "float_array")).reshape(-1, width)[:, :3]
        fits = len(corners) == counts.sum() and counts.min(initial=3) >= 3
        if not (fits and corners.min(initial=0) >= 0 and corners.max(initial=0) < len(own)):
            raise ValueError("its polygons do not fit its points")
        first = np.repeat(np.cumsum(counts) - counts, counts - 2)
        k = np.arange(len(first)) - np.repeat(np.cumsum(counts - 2) - (counts - 2), counts - 2)
        points.append(own)
        faces.append(corners[np.stack([first, first + k + 1, first + k + 2], axis=1)] + count)
        count += len(own)
    return np.concatenate(points), np.concatenate(faces)


def _needed(element: Element, path: str) -> Element:
    found = element.find(path)
    if found is None:
        raise ValueError(f"<{element.tag}> has no {path}")
    return found


def _numbers(element: Element, kind: type = float) -> Any:
    found: Any = np.array((element.text or "").split(), dtype=kind)
    if not np.isfinite(found).all():
        raise ValueError(f"<{element.tag}> contains NaN or infinity")
    return found
