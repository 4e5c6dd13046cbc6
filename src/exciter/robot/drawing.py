"""What a robot looks like: the shapes of its description, meshes read from files and made coarse enough for a page.

A mesh is made coarser by clustering: its vertices in one cell of a grid become their mean, triangles that collapse
vanish. The grid is the same for all meshes of a robot, so that the same detail is seen everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from exciter.errors import RobotError
from exciter.notes import Note, note
from exciter.robot.capsules import read_mesh
from exciter.robot.geometry import Shape, Surface
from exciter.robot.robot import Robot

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
    return Drawing(tuple(shapes), tuple(note("mesh files", text) for text in _summary(list(missing.values()))))


def pictured(robot: Robot) -> Robot:
    """The same robot with the surfaces of its meshes, to be drawn where their files are not."""
    surfaces = {(shape.mesh, shape.size): shape.surface for shape in drawing(robot).shapes}
    return replace(robot, shapes=tuple(replace(s, surface=surfaces.get((s.mesh, s.size))) for s in robot.shapes))


def _summary(reasons: list[str]) -> list[str]:
    if not reasons:
        return []
    count = "1 mesh is" if len(reasons) == 1 else f"{len(reasons)} meshes are"
    return [f"{count} not drawn: {reasons[0]}"]


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
    mesh = read_mesh(path, scale)
    if mesh.num_tris > MOST_READ_TRIANGLES:
        raise RobotError(f"the mesh file '{path}' has more than {MOST_READ_TRIANGLES} triangles; simplify it")
    corners = [mesh.tri_indices(k) for k in range(mesh.num_tris)]
    faces = np.array([(one[0], one[1], one[2]) for one in corners], dtype=np.int64).reshape(-1, 3)
    vertices = np.array(mesh.vertices(), dtype=float).reshape(-1, 3)
    size = float(np.ptp(vertices, axis=0).max())
    if not len(faces) or size == 0.0:
        raise RobotError(f"the mesh file '{path}' has no triangles; export it again")
    return clustered(Surface(vertices, faces), 1e-6 * size)  # formats without shared vertices have each of them often


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
