"""An arm whose visuals lie in mesh files of three formats, for pictures of it and files for other tools."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)
INERTIAL = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial>'
)
COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="{count}">{numbers}</float_array><technique_common>
<accessor source="#a" count="{vertices}" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="{triangles}"><input semantic="VERTEX" source="#v" offset="0"/><p>{faces}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def write_mesh(path: Path, vertices: np.ndarray = CORNERS, faces: np.ndarray = FACES) -> None:
    """STL (binary), OBJ or DAE, by the suffix."""
    if path.suffix == ".stl":
        rows = np.zeros(len(faces), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
        rows["corners"] = vertices[faces]
        path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + rows.tobytes())
    elif path.suffix == ".obj":
        lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
        path.write_text("\n".join(lines))
    else:
        sizes = {"count": vertices.size, "vertices": len(vertices), "triangles": len(faces)}
        numbers, indices = (" ".join(map(str, values.ravel())) for values in (vertices, faces))
        path.write_text(COLLADA.format(numbers=numbers, faces=indices, **sizes))


def fine_sphere(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a unit sphere of about 2 count² triangles."""
    up, around = np.meshgrid(np.linspace(0, np.pi, count + 1), np.linspace(0, 2 * np.pi, count + 1), indexing="ij")
    points = np.stack([np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)], axis=-1).reshape(-1, 3)
    first = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).ravel()
    below = first + count + 1
    return points, np.concatenate([np.stack([first, below, below + 1], 1), np.stack([first, below + 1, first + 1], 1)])


def meshed_arm(folder: Path) -> Path:
    """A URDF in a folder that need not exist: an STL base, an OBJ link and a DAE link that has a box as well."""
    (folder / "meshes").mkdir(parents=True)
    for suffix in ("stl", "obj", "dae"):
        write_mesh(folder / "meshes" / f"part.{suffix}")
    links = "".join(
        f'<link name="{name}">{INERTIAL}<visual><origin xyz="0 0 {k / 10}" rpy="0 0 0.5"/><geometry>'
        f'<mesh filename="meshes/part.{suffix}" scale="0.1 0.2 {0.3 + k / 10}"/></geometry></visual>{more}</link>'
        for k, (name, suffix, more) in enumerate(
            [
                ("base_link", "stl", ""),
                ("upper", "obj", ""),
                ("fore", "dae", '<visual><geometry><box size="0.1 0.1 0.4"/></geometry></visual>'),
            ]
        )
    )
    joints = "".join(
        f'<joint name="{name}" type="revolute"><origin xyz="0 0 0.5"/><parent link="{parent}"/><child link="{child}"/>'
        '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="2"/></joint>'
        for name, parent, child in (("shoulder", "base_link", "upper"), ("elbow", "upper", "fore"))
    )
    path = folder / "arm.urdf"
    path.write_text(f'<robot name="meshed">{links}{joints}</robot>')
    return path
