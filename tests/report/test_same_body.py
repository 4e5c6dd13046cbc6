"""The robot looks the same in every report, whether its mesh files are still there or not; pages stay small."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import exciter as ex
from exciter.identification.identified_model import IdentifiedModel
from exciter.pipeline.validate import validate
from exciter.report.design_report import design_page
from exciter.robot import drawing, load
from support.meshes import fine_sphere, meshed_arm, write_mesh
from support.report_designs import designed

pytestmark = pytest.mark.slow

LARGEST_PAGE_BYTES = 10_000_000


def scene(page: str) -> dict:
    """What the 3D view of a page is made of."""
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    return next(data for block in blocks if "surfaces" in (data := json.loads(block)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """found: an identification of an arm whose mesh files are gone afterwards; motion: a design for it."""
    at = tmp_path_factory.mktemp("arm")
    robot = ex.load(meshed_arm(at / "arm"))
    for name, seed in (("log", 0), ("other", 1)):
        motion = ex.design(robot, ex.RandomPoints(points=4), seed=seed)
        ex.simulate(robot, motion).recording.save(at / f"{name}.csv")
    motion.save(at / "motion")
    ex.identify(robot, at / "log.csv", estimator="wls").save(at / "found")
    for path in (at / "arm" / "meshes").iterdir():
        path.unlink()
    drawing._surfaces.cache_clear()
    return at


def test_every_report_shows_the_same_body(place):
    identified = (place / "found" / "report.html").read_text(encoding="utf-8")
    shapes, surfaces = (scene(identified)[key] for key in ("shapes", "surfaces"))
    assert [shape["kind"] for shape in shapes] == ["mesh", "mesh", "mesh", "box"]
    assert len(surfaces) == 3
    checked = validate(IdentifiedModel.read(place / "found"), [place / "other.csv"])
    pages = {
        "motion": (place / "motion" / "report.html").read_text(encoding="utf-8"),
        "validation": checked.report().html(),
        "opened": ex.open(place / "found").report().html(),
        "opened motion": ex.open(place / "motion").report().html(),
    }
    for name, page in pages.items():
        assert scene(page)["shapes"] == shapes, name
        assert scene(page)["surfaces"] == surfaces, name
        assert "not drawn" not in page, name


def test_large_meshes_do_not_make_large_pages(tmp_path):
    path = meshed_arm(tmp_path / "arm")
    for suffix in ("stl", "obj"):
        write_mesh(path.parent / "meshes" / f"part.{suffix}", *fine_sphere(240))
    page = design_page(designed(load(path)), rate=20.0).html()
    assert len(page.encode()) < 0.3 * LARGEST_PAGE_BYTES
    faces = [
        len(surface["faces"].get("u16", "") + surface["faces"].get("u32", "")) for surface in scene(page)["surfaces"]
    ]
    assert sum(faces) > 100_000


def test_a_damaged_mesh_is_a_note_below_the_picture(tmp_path):
    path = meshed_arm(tmp_path / "arm")
    (path.parent / "meshes" / "part.obj").write_bytes(b"\x00\x01 nothing")
    text = design_page(designed(load(path)), rate=20.0).html()
    assert "1 mesh is not drawn: the mesh file" in text
    assert len(scene(text)["surfaces"]) == 2
    assert {stick["from"] for stick in scene(text)["sticks"]} == {0}
