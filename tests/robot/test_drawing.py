"""What a robot looks like: meshes of three formats, coarser where they are fine, and none of them needed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.archive import archived, unarchived
from exciter.errors import RobotError
from exciter.robot import drawing as module
from exciter.robot import load
from exciter.robot.drawing import MOST_DRAWN_TRIANGLES, clustered, drawing, pictured, read_collada
from exciter.robot.geometry import Surface
from support.meshes import CORNERS, FACES, fine_sphere, meshed_arm, write_mesh

NODE = "<node><translate>1 0 0</translate><rotate>0 0 1 90</rotate>"


@pytest.fixture
def arm(tmp_path):
    return meshed_arm(tmp_path / "arm")


def test_meshes_are_read_whatever_their_format(arm):
    """Scaled, in their own frame; shapes that are no meshes as they are."""
    found = drawing(load(arm))
    assert [(shape.kind, shape.joint) for shape in found.shapes] == [("mesh", -1), ("mesh", 0), ("mesh", 1), ("box", 1)]
    assert found.notes == ()
    for k, shape in enumerate(found.shapes[:3]):
        corners = np.unique(np.round(shape.surface.vertices, 9), axis=0)
        assert_allclose(corners, CORNERS * [0.1, 0.2, 0.3 + k / 10], atol=1e-7)
        assert len(shape.surface.faces) == len(FACES)


def test_what_cannot_be_read_is_a_note_and_a_capsule(arm):
    (arm.parent / "meshes" / "part.stl").write_text("solid nothing")
    (arm.parent / "meshes" / "part.dae").unlink()
    found = drawing(load(arm))
    assert [(shape.kind, shape.joint) for shape in found.shapes] == [("mesh", 0), ("box", 1)]
    assert "2 meshes are not drawn: the mesh file" in found.notes[0].text
    sphere = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    text = arm.read_text().replace('filename="meshes/part.obj"', 'filename="meshes/part.ply"')
    arm.write_text(text.replace("</visual></link>", f"</visual>{sphere}</link>"))
    assert {shape.kind for shape in drawing(load(arm)).shapes if shape.joint == 0} == {"capsule"}


def test_fine_meshes_are_made_coarser_and_keep_their_shape(arm):
    write_mesh(arm.parent / "meshes" / "part.stl", *fine_sphere(240))
    shapes = drawing(load(arm)).shapes
    assert sum(len(shape.surface.faces) for shape in shapes if shape.surface) <= MOST_DRAWN_TRIANGLES
    surface = shapes[0].surface
    assert len(surface.faces) > MOST_DRAWN_TRIANGLES / 4
    radii = np.linalg.norm(surface.vertices / [0.1, 0.2, 0.3], axis=1)
    assert radii.max() <= 1.0 + 1e-6
    assert radii.min() > 0.99


def test_a_cluster_is_the_mean_of_its_vertices():
    near = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = clustered(Surface(near, np.array([[0, 1, 2], [0, 2, 3], [1, 2, 3]])), 0.5)
    assert_allclose(sorted(found.vertices.tolist()), [[0.0, 1.0, 0.0], [0.05, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert len(found.faces) == 1


def test_polygons_of_a_placed_and_scaled_node(tmp_path):
    """A square as one polygon, in centimetres, turned and moved by its node; damage is one line."""
    path = tmp_path / "square.dae"
    write_mesh(path, np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2]]))
    text = path.read_text().replace('meter="1"', 'meter="0.01"').replace("<node>", NODE)
    text = text.replace("<triangles", "<polylist").replace("</triangles>", "</polylist>")
    path.write_text(text.replace("<p>0 1 2</p>", "<vcount>4</vcount><p>0 1 2 3</p>"))
    found = read_collada(path)
    assert_allclose(found.vertices, [[0.01, 0, 0], [0.01, 0.01, 0], [0, 0.01, 0], [0, 0, 0]], atol=1e-15)
    assert found.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    for wrong in ("0 1 2 9", "0 1 2", "0 1 2 x", "0 1 2 99999999999999999999"):
        path.write_text(text.replace("<p>0 1 2</p>", f"<vcount>4</vcount><p>{wrong}</p>"))
        with pytest.raises(RobotError, match="cannot be read"):
            read_collada(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('meter="1"', 'meter="inf"'),
        ('meter="1"', 'meter="0"'),
        ("<node>", "<node><translate>1</translate>"),
        ("<node>", "<node><scale>2</scale>"),
        ("<node>", "<node><rotate>0 0 0 90</rotate>"),
        ("<node>", "<node><scale>1e200 1 1</scale><scale>1e200 1 1</scale>"),
    ],
)
def test_damaged_placements_are_one_line(tmp_path, old, new):
    """Without warnings of NumPy, which are errors here."""
    path = tmp_path / "square.dae"
    write_mesh(path, np.eye(3), np.array([[0, 1, 2]]))
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(RobotError, match=r"cannot be read|NaN or infinity"):
        read_collada(path)


@pytest.mark.parametrize("bound", ["MOST_READ_TRIANGLES", "MOST_DRAWN_MESHES"])
def test_reading_is_bounded(arm, bound, monkeypatch):
    monkeypatch.setattr(module, bound, 1)
    module._surfaces.cache_clear()
    found = drawing(load(arm))
    assert "not drawn" in found.notes[0].text
    module._surfaces.cache_clear()


def test_a_robot_in_an_archive_looks_the_same_without_its_files(arm, tmp_path):
    robot = load(arm)
    (tmp_path / "robot.npz").write_bytes(archived(robot))
    wanted = drawing(robot).shapes
    for path in (arm.parent / "meshes").iterdir():
        path.unlink()
    module._surfaces.cache_clear()
    for again in (unarchived(tmp_path / "robot.npz"), pictured(unarchived(tmp_path / "robot.npz"))):
        found = drawing(again)
        assert found.notes == ()
        for shape, other in zip(found.shapes, wanted, strict=True):
            assert shape.kind == other.kind
            if shape.surface is not None:
                assert_allclose(shape.surface.vertices, other.surface.vertices)
