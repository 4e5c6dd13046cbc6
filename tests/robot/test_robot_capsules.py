"""Capsules and collision pairs of descriptions that name none: nothing sticks out, nothing is left out unsaid."""

from __future__ import annotations

import math
import struct
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exciter.errors import RobotError
from exciter.notes import texts
from exciter.robot.capsules import body_of, capsule_around, capsules_of, smallest_circle
from exciter.robot.description import read_mjcf, read_urdf
from exciter.robot.load import RobotOptions
from exciter.robot.robot import Robot
from support.robots import random_rotation

Array = np.ndarray


def aside(points: Array, start: Array, end: Array) -> Array:
    """Distance of points (V, 3) from a segment, by a fine search along it that is then refined."""
    low, high = np.zeros(len(points)), np.ones(len(points))
    for _ in range(60):  # the distance is convex along the segment
        a, b = low + (high - low) / 3, high - (high - low) / 3
        far = [np.linalg.norm(points - start - s[:, None] * (end - start), axis=1) for s in (a, b)]
        low, high = np.where(far[0] > far[1], a, low), np.where(far[0] > far[1], high, b)
    return np.linalg.norm(points - start - low[:, None] * (end - start), axis=1)


def stl(path: Path, points: Array) -> Path:
    """A binary STL with a triangle for every three points in a row."""
    body = b"".join(
        struct.pack(
            "<12fH", 0, 0, 0, *np.ravel([points[k], points[(k + 1) % len(points)], points[(k + 2) % len(points)]]), 0
        )
        for k in range(len(points))
    )
    path.write_bytes(bytes(80) + struct.pack("<I", len(points)) + body)
    return path


# -- capsules around points --------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 60), st.tuples(*3 * [st.sampled_from([0.0, 1e-3, 0.1, 1.0])]))
@settings(max_examples=150, deadline=None)
def test_every_point_is_inside(seed, count, extent):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (count, 3)) * extent @ random_rotation(rng).T + rng.uniform(-1, 1, 3)
    start, end, radius = capsule_around(points)
    assert radius > 0.0
    assert (aside(points, start, end) <= radius).all()
    box = np.ptp(points, axis=0)
    assert radius <= 0.5 * np.linalg.norm(box) * 1.5 + 1e-5  # and not somewhere far around


def test_a_capsule_of_points_is_found_again():
    rng = np.random.default_rng(0)
    turn, move = random_rotation(rng), np.array([0.3, -0.2, 0.7])
    towards = rng.normal(size=(4000, 3))
    towards *= 0.05 / np.linalg.norm(towards, axis=1)[:, None]
    points = (towards + [0, 0, 0.2] * np.sign(towards[:, 2:])) @ turn.T + move
    start, end, radius = capsule_around(points)
    assert radius == pytest.approx(0.05, rel=0.02)
    assert np.linalg.norm(end - start) == pytest.approx(0.4, rel=0.02)
    assert abs((end - start) @ turn[:, 2]) == pytest.approx(0.4, rel=0.02)


@given(st.integers(0, 10**6), st.integers(2, 12), st.booleans())
@example(236, 30, None)
@example(246, 30, None)
@settings(max_examples=100, deadline=None)
def test_the_circle_is_the_smallest(seed, count, on_grid):
    """Two or three of the points fix it: the best of all that contain the others."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (count, 2)).astype(float) if on_grid else rng.normal(size=(count, 2))
    if on_grid is None:  # one point, up to the last digit
        rng = np.random.default_rng(seed)
        points = rng.normal(size=2) * (1.0 + rng.integers(-3, 4, (count, 2)) * 1.2e-16)
    centre, radius = smallest_circle(points)
    assert np.linalg.norm(points - centre, axis=1).max() <= radius * (1 + 1e-9)
    best = math.inf
    for chosen in (c for size in (2, 3) for c in combinations(points, size)):
        a, b = chosen[0], chosen[1]
        middle = 0.5 * (a + b)
        if len(chosen) == 3:
            u, v = b - a, chosen[2] - a
            area = 2.0 * (u[0] * v[1] - u[1] * v[0])
            if abs(area) < 1e-9:
                continue
            middle = a + np.array([v[1] * (u @ u) - u[1] * (v @ v), u[0] * (v @ v) - v[0] * (u @ u)]) / area
        size = np.linalg.norm(points - middle, axis=1).max()
        best = min(best, float(size))
    assert radius == pytest.approx(best, rel=1e-9, abs=1e-12)


# -- meshes of files ---------------------------------------------------------------------------------------------

ARM = """<robot name="arm">
<link name="base_link"><collision><origin xyz="0 0 0.05"/>
  <geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="first"/>
<link name="second"><collision><geometry><cylinder radius="0.03" length="0.2"/></geometry></collision>
  <collision><origin xyz="0 0 0.2"/><geometry><sphere radius="0.04"/></geometry></collision></link>
<link name="third"><collision><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>
  <geometry><mesh filename="{mesh}" scale="0.1 0.2 -0.3"/></geometry></collision></link>
<link name="tool"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<joint name="a" type="revolute"><parent link="base_link"/><child link="first"/>
  <origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" effort="5" velocity="2"/></joint>
<joint name="b" type="revolute"><parent link="first"/><child link="second"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="5" velocity="2"/></joint>
<joint name="c" type="revolute"><parent link="second"/><child link="third"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="5" velocity="2"/></joint>
<joint name="mount" type="fixed"><parent link="third"/><child link="tool"/><origin xyz="0 0 0.5"/></joint>
</robot>"""


def arm(folder: Path, mesh: str = "cloud.stl", **options: object) -> Robot:
    (folder / "arm.urdf").write_text(ARM.format(mesh=mesh))
    return read_urdf(folder / "arm.urdf", options=RobotOptions(**options))


@pytest.fixture
def cloud(tmp_path: Path) -> Array:
    """Points that a mesh file of the folder has, rounded as it holds them."""
    points = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    stl(tmp_path / "cloud.stl", points)
    return points.astype(float)


def test_a_mesh_gets_a_capsule_that_contains_it(tmp_path, cloud):
    robot = arm(tmp_path)
    capsule = next(c for c in robot.capsules if c.name == "third")
    assert capsule.joint == robot.index("c")
    cr, sr, cp, sp, cy, sy = (f(x) for x in (0.4, 0.5, 0.6) for f in (math.cos, math.sin))
    turn = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ [[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]]
    turn = turn @ [[1, 0, 0], [0, cr, -sr], [0, sr, cr]]
    placed = cloud * [0.1, 0.2, -0.3] @ turn.T + [0.1, 0.2, 0.3]
    reach = aside(placed, capsule.start, capsule.end)
    assert (reach <= capsule.radius).all()
    assert reach.max() > 0.99 * capsule.radius  # it touches
    assert not any("no capsule for" in note for note in texts(robot.notes))


def test_a_mesh_that_cannot_be_opened_is_told_by_its_link(tmp_path):
    robot = arm(tmp_path, "nowhere.stl")
    assert "third" not in [c.name for c in robot.capsules]
    (note,) = (note for note in texts(robot.notes) if note.startswith("no capsule for shapes"))
    assert "'third'" in note
    assert "nowhere.stl' is missing" in note
    (tmp_path / "broken.stl").write_bytes(b"solid of nothing")
    assert any("'third'" in n and "broken.stl' cannot be read" in n for n in texts(arm(tmp_path, "broken.stl").notes))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('lower="-3" upper="3"', 'lower="-1e308" upper="1e308"', "the body of joint 'a' has no capsule"),
        ('length="0.2"', 'length="1e20"', "links 'second'; the first: a cylinder is larger"),
        ('scale="0.1 0.2 -0.3"', 'scale="1e25 1 1"', "links 'third'; the first: a mesh is larger"),
        ('scale="0.1 0.2 -0.3"', 'scale="9e5 1e6 1"', "links 'third'; the first: the mesh file"),
        ('xyz="0.1 0.2 0.3"', 'xyz="1e29 1e29 0.3"', "links 'third'; the first: a mesh is larger"),
    ],
)
def test_numbers_of_no_robot_are_survived_and_told(tmp_path, cloud, old, new, told):
    text = ARM.format(mesh="cloud.stl")
    assert old in text
    (tmp_path / "odd.urdf").write_text(text.replace(old, new, 1))
    assert any(told in note for note in texts(read_urdf(tmp_path / "odd.urdf").notes))


def test_mjcf_meshes_and_ellipsoids_are_inside_their_capsules(tmp_path, cloud):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the oracle of this test")
    file = tmp_path / "arm.xml"
    file.write_text(
        '<mujoco><default><mesh scale="0.1 0.2 0.3"/></default><asset><mesh file="cloud.stl"/>'
        '<mesh name="moved" file="cloud.stl" refpos="0 0 1"/></asset><worldbody><body name="first"><joint name="a"/>'
        '<geom type="mesh" mesh="cloud" pos="1 2 3" quat="0.6 0 0.8 0"/>'
        '<body name="egg" pos="0 0 2"><joint name="b" axis="0 1 0"/>'
        '<geom type="ellipsoid" size="0.1 0.3 0.2" pos="0.1 0 0" quat="0.8 0 0 0.6"/>'
        '<geom type="mesh" mesh="moved"/></body></body></worldbody></mujoco>'
    )
    robot = read_mjcf(file)
    capsule = {c.name: c for c in robot.capsules}
    assert set(capsule) == {"first", "egg"}
    assert any("no capsule for 'mesh of egg'" in note for note in texts(robot.notes))
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    count = model.mesh_vertnum[0]
    vertices = model.mesh_vert[:count] @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    assert (aside(vertices, capsule["first"].start, capsule["first"].end) <= capsule["first"].radius + 1e-6).all()
    sphere = np.random.default_rng(0).normal(size=(2000, 3))
    sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    surface = sphere * [0.1, 0.3, 0.2] @ data.geom_xmat[1].reshape(3, 3).T + data.geom_xpos[1] - [0, 0, 2]
    reach = aside(surface, capsule["egg"].start, capsule["egg"].end)
    assert reach.max() == pytest.approx(0.2, rel=0.01)
    assert capsule["egg"].radius == 0.2
    assert reach.max() <= 0.2 + 1e-12


# -- pairs -------------------------------------------------------------------------------------------------------


def test_pairs_are_all_that_are_no_neighbours(tmp_path, cloud):
    robot = arm(tmp_path)
    assert [c.name for c in robot.capsules] == ["base_link", "second/1", "second/2", "third", "tool"]
    pairs = {frozenset(pair) for pair in robot.collision_pairs}
    assert frozenset(("second/2", "tool")) not in pairs  # parent and child, whichever link of the body it is
    assert frozenset(("third", "tool")) not in pairs  # one body
    # the first body has no capsule: base and second are no neighbours, 0.2 m apart at least when upright
    assert pairs <= {frozenset(("base_link", other)) for other in ("second/1", "second/2", "third", "tool")}
    assert frozenset(("base_link", "tool")) in pairs


def test_what_is_always_close_is_left_out_and_named(tmp_path, cloud):
    text = ARM.format(mesh="cloud.stl").replace('xyz="0 0 0.05"', 'xyz="0 0 0.29"')  # the base reaches the shoulder
    (tmp_path / "near.urdf").write_text(text)
    robot = read_urdf(tmp_path / "near.urdf")
    assert ("base_link", "second/1") not in robot.collision_pairs
    assert ("base_link", "second/2") in robot.collision_pairs
    (note,) = (note for note in texts(robot.notes) if note.startswith("self-collision is not checked for"))
    assert "1 of 4 pairs" in note
    assert note.endswith("base_link – second/1")


def test_what_overlaps_at_zero_only_is_kept_and_told(tmp_path, cloud):
    """An arm that is folded at zero: the tool lies on the base."""
    text = ARM.format(mesh="cloud.stl").replace('xyz="0 0 0.5"', 'xyz="0 0 -0.65"')
    (tmp_path / "folded.urdf").write_text(text)
    robot = read_urdf(tmp_path / "folded.urdf")
    assert ("base_link", "tool") in robot.collision_pairs
    (note,) = (note for note in texts(robot.notes) if note.startswith("capsules overlap at the zero posture"))
    assert "base_link – tool" in note


def test_pairs_follow_the_locked_joints(tmp_path, cloud):
    """With joint a locked, the second link turns on the base, which no joint of the description joins to it: what is
    locked to the base stays a neighbour of its own neighbours only."""
    robot, whole = arm(tmp_path, lock={"a": 0.0}), arm(tmp_path)
    body = {capsule.name: capsule.joint for capsule in robot.capsules}
    pairs = {frozenset(pair) for pair in robot.collision_pairs}
    assert frozenset(("base_link", "second/2")) in pairs
    assert pairs <= {frozenset(pair) for pair in whole.collision_pairs}
    assert all(body[a] != body[b] for a, b in robot.collision_pairs)


def test_bodies_without_capsules_are_named(tmp_path, cloud):
    assert any("the body of joint 'a' has no capsule" in note for note in texts(arm(tmp_path).notes))
    locked = arm(tmp_path, lock={"a": 0.0})
    assert not any("no capsule" in note for note in texts(locked.notes))


def test_the_same_file_gives_the_same_pairs(tmp_path, cloud):
    assert arm(tmp_path).collision_pairs == arm(tmp_path).collision_pairs


# -- names -------------------------------------------------------------------------------------------------------


def test_a_name_is_a_capsule_a_link_or_a_joint(tmp_path, cloud):
    robot = arm(tmp_path)
    assert capsules_of(robot, "second/2") == (2,)
    assert capsules_of(robot, "second") == capsules_of(robot, "b") == (1, 2)
    assert capsules_of(robot, "third") == (3,)  # the link itself …
    assert capsules_of(robot, "c") == (3, 4)  # … and all that its joint moves
    assert capsules_of(robot, "base") == capsules_of(robot, "base_link") == (0,)
    assert [body_of(robot, name) for name in ("base", "second/2", "second", "b", "tool", "mount", "c")] == [
        -1, 1, 1, 1, 2, 2, 2,
    ]  # fmt: skip
    with pytest.raises(RobotError, match=r"unknown body 'hand'; valid names: base_link, second/1, .*tool.*, a, b, c"):
        capsules_of(robot, "hand")
    with pytest.raises(RobotError, match="body 'first' has no capsule; these have: base_link"):
        capsules_of(robot, "first")
