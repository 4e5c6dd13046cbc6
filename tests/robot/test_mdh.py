"""Modified Denavit–Hartenberg tables: robot → table → robot, and the YAML file. Oracle: Pinocchio."""

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.errors import RobotError
from exciter.robot.description import read_urdf
from exciter.robot.geometry import Capsule, Shape
from exciter.robot.limits import Limits
from exciter.robot.mdh import PARALLEL_AXES_RAD, MDHRow, MDHTable, cos_sin, in_mdh_frames, to_mdh
from exciter.robot.mdh_file import read_mdh
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Frame, Joint, Robot
from exciter.robot.spatial import axis_rotation, from_pseudo_inertia
from support.mdh_writing import write_mdh
from support.paths import SHARED_DATA

PI_2 = 1.57079632679  # as real descriptions print it
Z = np.array([0.0, 0.0, 1.0])


def rpy(*angles: float) -> np.ndarray:
    return np.asarray(pin.rpy.rpyToMatrix(*map(float, angles)))


def joint(index, parent, rotation, translation, axis, kind="revolute", inertia=None) -> Joint:
    inertia = np.eye(10)[0] if inertia is None else inertia
    return Joint(f"j{index}", kind, parent, rotation, translation, axis, Limits(-1, 1, 2, 3, 4, 5), inertia)


def random_robot(seed: int, *, serial: bool, lattice: bool) -> Robot:
    """lattice: right angles (printed with few digits) and equal lengths, so parallel, intersecting and
    coincident axes abound."""
    rng = np.random.default_rng(seed)
    joints = []
    for i in range(int(rng.integers(1, 8))):
        parent = i - 1 if serial or i == 0 else int(rng.integers(-1, i))
        if lattice:
            axis = rng.permutation([rng.choice([-1.0, 1.0]), 0.0, 0.0])
            rotation, translation = rpy(*(rng.integers(-2, 3, 3) * PI_2)), rng.integers(-1, 2, 3) * 0.3
        else:
            axis = rng.normal(size=3)
            rotation, translation = rpy(*rng.uniform(-3, 3, 3)), rng.normal(size=3) * 0.3
        root = rng.normal(size=(4, 6))
        kind = "prismatic" if rng.random() < 0.3 else "revolute"
        inertia = from_pseudo_inertia(root @ root.T)
        joints.append(joint(i, parent, rotation, translation, axis / np.linalg.norm(axis), kind, inertia))
    last = len(joints) - 1
    return Robot(
        "random",
        tuple(joints),
        gravity=rng.normal(size=3) * 5,
        frames=(Frame("tool", last, rpy(0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3])),),
        capsules=(Capsule("c", last, [0, 0, 0], [0.1, 0.2, 0.3], 0.05), Capsule("b", -1, [0, 0, 0], Z, 0.05)),
        shapes=(Shape("sphere", last, (0.1,), np.eye(3), np.array([0.1, 0.2, 0.3])),),
    )


def world(robot: Robot, q: np.ndarray):
    model = to_pinocchio(robot)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return [data.oMi[j + 1].homogeneous for j in range(robot.n)], model, data


def inverse_dynamics(robot: Robot, q, v, a) -> np.ndarray:
    model = to_pinocchio(robot)
    return np.array(pin.rnea(model, model.createData(), q, v, a))


def placement(table: MDHTable, j: int) -> np.ndarray:
    t = np.eye(4)
    t[:3, :3], t[:3, 3] = table.rotations[j], table.translations[j]
    return t


def assert_round_trip(robot: Robot, tolerance: float) -> MDHTable:
    """The table's robot and the robot in the table's frames move and weigh as the original does."""
    moved, table = in_mdh_frames(robot)
    rebuilt = table.robot(inertias=moved.inertias, gravity=robot.gravity)
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, robot.n))
    frames = [t @ placement(table, j) for j, t in enumerate(world(robot, q)[0])]
    np.testing.assert_allclose(world(moved, q)[0], frames, atol=1e-12)
    np.testing.assert_allclose(world(rebuilt, q)[0], frames, atol=tolerance)
    torque = inverse_dynamics(robot, q, v, a)
    scale = 1.0 + np.abs(torque).max()
    np.testing.assert_allclose(inverse_dynamics(moved, q, v, a) / scale, torque / scale, atol=1e-12)
    np.testing.assert_allclose(inverse_dynamics(rebuilt, q, v, a) / scale, torque / scale, atol=10 * tolerance)
    return table


# -- the table -------------------------------------------------------------------------------------------------


def test_transform_is_the_product_of_its_six_motions():
    row = MDHRow("j", -1, 0, alpha=0.3, d=0.2, theta=0.5, r=0.7, gamma=-0.4, b=0.1)
    x, z = np.array([1.0, 0, 0]), Z

    def motion(axis, angle, length):
        return pin.SE3(axis_rotation(axis, angle), length * axis).homogeneous

    expected = motion(z, -0.4, 0.1) @ motion(x, 0.3, 0.2) @ motion(z, 0.5 + 0.25, 0.7)
    np.testing.assert_allclose(MDHTable("t", (row,)).transform(0, 0.25), expected, atol=1e-15)
    slide = MDHRow("j", -1, 1, alpha=0.3, d=0.2, theta=0.5, r=0.7)
    expected = motion(x, 0.3, 0.2) @ motion(z, 0.5, 0.7 + 0.25)
    np.testing.assert_allclose(MDHTable("t", (slide,)).transform(0, 0.25), expected, atol=1e-15)


@pytest.mark.parametrize("quarters", range(-8, 9))
def test_right_angles_are_exact(quarters):
    assert cos_sin(quarters * math.pi / 2) == (
        round(math.cos(quarters * math.pi / 2)),
        round(math.sin(quarters * math.pi / 2)),
    )


def test_a_printed_right_angle_is_not_rounded():
    assert cos_sin(PI_2) == (math.cos(PI_2), math.sin(PI_2))


@pytest.mark.parametrize(
    ("values", "message"),
    [({"sigma": 2}, "allowed are 0"), ({"alpha": math.nan}, "alpha of joint 'j' is nan"), ({"d": math.inf}, "finite")],
)
def test_bad_rows(values, message):
    with pytest.raises(RobotError, match=message):
        MDHRow(**({"joint": "j", "parent": -1, "sigma": 0, "alpha": 0, "d": 0, "theta": 0, "r": 0} | values))


def test_a_child_before_its_parent_is_refused():
    with pytest.raises(RobotError, match="after its parent"):
        MDHTable("t", (MDHRow("j", 0, 0, 0, 0, 0, 0),))


# -- robot → table -----------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), serial=st.booleans(), lattice=st.booleans())
def test_round_trip_of_random_robots(seed, serial, lattice):
    robot = random_robot(seed, serial=serial, lattice=lattice)
    table = assert_round_trip(robot, 1e-9)
    used = [row for row in table.rows if row.gamma or row.b]
    first = {joint.parent: i for i, joint in reversed(list(enumerate(robot.joints))) if joint.parent >= 0}
    assert not set(first.values()) & {robot.index(row.joint) for row in used}  # only where the form needs them
    assert all(abs(length) < 30 for row in table.rows for length in (row.d, row.r, row.b)) or not lattice


@settings(derandomize=True, deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), lattice=st.booleans())
def test_mdh_frames_are_a_fixed_point(seed, lattice):
    moved, table = in_mdh_frames(random_robot(seed, serial=False, lattice=lattice))
    again, same = in_mdh_frames(moved)
    assert again is moved
    assert (same.rotations == np.eye(3)).all()
    assert not same.translations.any()
    for j in range(moved.n):
        np.testing.assert_allclose(same.transform(j), table.transform(j), atol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_frames_capsules_and_shapes_stay_where_they_were(seed):
    robot = random_robot(seed, serial=False, lattice=False)
    moved, _ = in_mdh_frames(robot)
    q = np.random.default_rng(seed).normal(size=robot.n)
    (before, model, data), (after, model2, data2) = world(robot, q), world(moved, q)
    tool = model.getFrameId("tool")
    np.testing.assert_allclose(data.oMf[tool].homogeneous, data2.oMf[model2.getFrameId("tool")].homogeneous, atol=1e-12)
    last = robot.n - 1
    old, new = robot.capsules[0], moved.capsules[0]
    np.testing.assert_allclose(after[last] @ [*new.end, 1], before[last] @ [*old.end, 1], atol=1e-12)
    sphere = moved.shapes[0].translation
    np.testing.assert_allclose(after[last] @ [*sphere, 1], before[last] @ [*old.end, 1], atol=1e-12)
    np.testing.assert_array_equal(moved.capsules[1].end, Z)  # what stands on the base stays there
    assert (moved.joint_names, moved.limit("torque").tolist()) == (robot.joint_names, [5.0] * robot.n)


def chain(*places) -> Robot:
    """Joints from (rotation, translation, axis), one after the other."""
    return Robot("chain", tuple(joint(i, i - 1, r, t, np.array(a, float)) for i, (r, t, a) in enumerate(places)))


def columns(table: MDHTable) -> list[tuple[float, ...]]:
    return [(round(math.degrees(row.alpha), 6), row.d, round(math.degrees(row.theta), 6), row.r) for row in table.rows]


EYE = np.eye(3)


def test_parallel_axes_put_no_offset_on_the_first():
    robot = chain((EYE, [0, 0, 0.5], Z), (EYE, [0.4, 0, 0.2], Z), (EYE, [0, 0.3, -0.1], Z))
    table = assert_round_trip(robot, 1e-12)
    assert [row.r for row in table.rows] == [0, 0, 0]
    assert [row.d for row in table.rows] == [0, 0.4, 0.3]
    assert columns(table)[1][2] == pytest.approx(90)


def test_coincident_and_opposite_axes():
    robot = chain((EYE, [0, 0, 0.5], Z), (rpy(0.3, 0, 0) @ rpy(-0.3, 0, 0), [0, 0, 0.2], -Z), (EYE, [0, 0, 1], Z))
    table = assert_round_trip(robot, 1e-12)
    assert columns(table) == [(0, 0, 0, 0), (180, 0, 0, 0), (180, 0, 0, 0)]


def test_intersecting_axes_have_zero_d_and_the_sense_that_keeps_theta_small():
    robot = chain((EYE, [0, 0, 0.5], Z), (rpy(-PI_2, 0, 0), [0, 0, 0], Z), (rpy(PI_2, 0, 0), [0, -0.3, 0], Z))
    table = assert_round_trip(robot, 1e-11)
    assert columns(table) == [(0, 0, 0, 0.5), (-90, 0, 0, 0), (90, 0, 0, pytest.approx(0.3, abs=1e-11))]
    assert table.rows[1].alpha == pytest.approx(-PI_2, abs=1e-15)  # the angle as printed, not as meant


@pytest.mark.parametrize("tilt", [1e-3, 2e-5, 7.3e-6, 1e-6, 3e-8, 1e-9, 5e-12, 0.0])
def test_nearly_parallel_axes(tilt):
    """Above the tolerance the true perpendicular is found, far away; below it the table is off by the tilt."""
    robot = chain((EYE, [0, 0, 0.5], Z), (rpy(tilt, 0, 0), [0.4, 0, 0.2], Z), (EYE, [0.3, 0.1, 0], Z))
    table = to_mdh(robot)
    q = np.array([0.3, -0.4, 0.5])
    frames = [t @ placement(table, j) for j, t in enumerate(world(robot, q)[0])]
    error = np.abs(np.array(world(table.robot(), q)[0]) - frames).max()
    assert error <= (1e-8 if tilt > PARALLEL_AXES_RAD else max(2 * tilt, 1e-12))
    assert tilt > PARALLEL_AXES_RAD or max(abs(row.r) for row in table.rows) < 1


def test_another_tolerance_can_be_given():
    robot = chain((EYE, [0, 0, 0.5], Z), (rpy(3.7e-6, 0, 0), [0.4, 0.1, 0.2], Z))
    assert abs(to_mdh(robot).rows[0].r) < 1
    assert abs(to_mdh(robot, parallel=1e-7).rows[0].r) > 1e3


def test_prismatic_axes_pass_through_the_origin_before_them():
    joints = [joint(i, i - 1, EYE, [0.3, 0.2, 0.1], EYE[i], "prismatic") for i in range(3)]
    table = assert_round_trip(Robot("gantry", tuple(joints)), 1e-12)
    assert all(row.sigma == 1 for row in table.rows)
    assert [row.d for row in table.rows] == [0, 0, 0]


def test_gamma_and_b_survive_in_a_tree():
    rows = (
        MDHRow("trunk", -1, 0, 0, 0, 0, 0.5),
        MDHRow("left", 0, 0, math.pi / 2, 0.2, 0.1, 0.3),
        MDHRow("right", 0, 0, math.pi / 2, 0.2, -0.1, 0.3, gamma=1.0, b=0.4),
        MDHRow("hand", 2, 1, 0.3, 0.1, 0.2, 0.3),
    )
    robot = MDHTable("tree", rows).robot()
    again, table = in_mdh_frames(robot)
    assert again is robot
    for row, expected in zip(table.rows, rows, strict=True):
        values = [getattr(row, k) for k in ("alpha", "d", "theta", "r", "gamma", "b")]
        np.testing.assert_allclose(
            values, [getattr(expected, k) for k in ("alpha", "d", "theta", "r", "gamma", "b")], atol=1e-12
        )


@pytest.mark.parametrize("name", ["tx40", "panda", "lwr4", "kr300"])
def test_round_trip_of_real_descriptions(name):
    path = SHARED_DATA / name / f"{name}.urdf"
    if not path.exists():
        pytest.skip(f"real robot description {name}.urdf is not here")
    table = assert_round_trip(read_urdf(path), 1e-9)
    assert all(abs(v) < 2 for row in table.rows for v in (row.d, row.r, row.b))


# -- the file ----------------------------------------------------------------------------------------------------

GOOD = """
name: two-links
source: an example
gravity: [0, 0, -9.8]
joints:
  - {joint: shoulder, alpha: 0, d: 0, theta: 0, r: 0.3, limits: {lower: -170 deg, upper: 17pi/18, velocity: 2}}
  - joint: slide
    parent: shoulder
    type: prismatic
    alpha: -pi/2
    d: 2e-1
    inertia: {M: 2, MX: 0.1, YZ: 0.01, ZZ: 0.1}
    friction: {viscous: 3}
  - {joint: other, parent: base, gamma: 90 deg, b: 1,
     inertia: {mass: 2, com: [0.1, 0, 0], about_com: [1, 0, 0, 1, 0, 1]}}
frames: {tool: {joint: slide, xyz: [0, 0, 0.1], rpy: [0, 90 deg, 0]}}
capsules:
  one: {joint: base, start: [0, 0, 0], end: [0, 0, 1], radius: 0.1}
  two: {joint: slide, start: [0, 0, 0], end: [0, 1, 0], radius: 0.1}
collision_pairs: [[one, two]]
shapes: capsules
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "robot.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_read(tmp_path):
    robot = read_mdh(written(tmp_path, GOOD))
    assert robot.joint_names == ("shoulder", "slide", "other")
    assert robot.parents.tolist() == [-1, 0, -1]
    assert robot.limit("upper")[0] == pytest.approx(math.radians(170))
    assert robot.limit("acceleration").tolist() == [4.0, math.inf, math.inf]
    assert "of 'shoulder' are assumed" in robot.remarks[0].text
    assert robot.inertias[1].tolist() == [2, 0.1, 0, 0, 0, 0, 0, 0, 0.01, 0.1]
    np.testing.assert_allclose(robot.inertias[2], [2, 0.2, 0, 0, 1, 0, 1.02, 0, 0, 1.02])
    np.testing.assert_array_equal(robot.joints[1].rotation, [[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    np.testing.assert_array_equal(robot.joints[2].translation, [0, 0, 1])
    np.testing.assert_array_equal(robot.frame("tool").rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    assert robot.friction["viscous"].tolist() == [0, 3, 0]
    np.testing.assert_allclose(robot.shapes[1].rotation @ Z, [0, 1, 0], atol=1e-15)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000), lattice=st.booleans())
def test_what_is_written_reads_back(seed, lattice, tmp_path_factory):
    robot, _ = in_mdh_frames(random_robot(seed, serial=False, lattice=lattice))
    path = tmp_path_factory.mktemp("mdh") / "robot.yaml"
    write_mdh(robot, path)
    again = read_mdh(path)
    assert again.joint_names == robot.joint_names
    assert again.parents.tolist() == robot.parents.tolist()
    np.testing.assert_array_equal(again.inertias, robot.inertias)
    for a, b in zip(again.joints, robot.joints, strict=True):
        np.testing.assert_allclose(a.rotation, b.rotation, atol=1e-10)
        np.testing.assert_allclose(a.translation, b.translation, atol=1e-9)
        assert a.limits == b.limits
    np.testing.assert_allclose(again.frames[0].rotation, robot.frames[0].rotation, atol=1e-14)
    np.testing.assert_allclose(again.shapes[0].rotation, robot.shapes[0].rotation, atol=1e-14)
    np.testing.assert_array_equal(again.capsules[0].end, robot.capsules[0].end)


def test_a_bare_table_is_written_and_read(tmp_path):
    table = MDHTable("t", (MDHRow("a", -1, 0, 0.1, 0.2, 0.3, 0.4), MDHRow("b", -1, 1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)))
    write_mdh(table, tmp_path / "t.yaml")
    robot = read_mdh(tmp_path / "t.yaml")
    np.testing.assert_array_equal(robot.joints[1].rotation, table.transform(1)[:3, :3])


BAD = {
    "name: x": "lacks 'joints'",
    "joints: [{joint: a}]": "lacks 'name'",
    "name: x\njoints: []": "no moving joint",
    "name: x\njoints: 3": "expected a list",
    "name: 3\njoints: [{joint: a}]": "expected text",
    "- 1": "expected 'key: value'",
    "name: [": "not valid YAML",
    "name: x\ncolour: 3\njoints: [{joint: a}]": "unknown key 'colour'; valid names: name, source",
    "name: x\njoints: [{alpha: 0}]": "lacks 'joint'",
    "name: x\njoints: [{joint: a, beta: 0}]": "unknown key 'beta'; valid names: joint, parent",
    "name: x\njoints: [{joint: a}, {joint: a}]": "two joints named 'a'",
    "name: x\njoints: [{joint: a, parent: b}]": "unknown joint 'b'; valid names: base",
    "name: x\njoints: [{joint: a, sigma: 2}]": "sigma of joint 'a'",
    "name: x\njoints: [{joint: a, sigma: true}]": "sigma of joint 'a'",
    "name: x\njoints: [{joint: a, type: ball}]": "allowed are revolute",
    "name: x\njoints: [{joint: a, type: prismatic, sigma: 0}]": "contradict",
    "name: x\njoints: [{joint: a, d: .nan}]": "finite number",
    "name: x\njoints: [{joint: a, d: [1]}]": "expected a number",
    "name: x\njoints: [{joint: a, d: true}]": "expected a number",
    "name: x\njoints: [{joint: a, d: 90 deg}]": "expected a number",
    "name: x\njoints: [{joint: a, alpha: pi/0}]": "division by zero",
    "name: x\njoints: [{joint: a, alpha: __import__('os')}]": "expected radians",
    "name: x\njoints: [{joint: a, alpha: pi deg}]": "expected radians",
    "name: x\njoints: [{joint: a, inertia: {M: -1}}]": "must not be negative",
    "name: x\njoints: [{joint: a, inertia: {mass: -1}}]": "must not be negative",
    "name: x\njoints: [{joint: a, inertia: {com: [0, 0, 0]}}]": "lacks 'mass'",
    "name: x\njoints: [{joint: a, inertia: {mass: 1, XX: 2}}]": "unknown key 'XX'; valid names: mass, com",
    "name: x\njoints: [{joint: a, limits: {lower: .nan}}]": "finite",
    "name: x\njoints: [{joint: a, limits: {lower: 1, upper: 0}}]": "must be smaller",
    "name: x\njoints: [{joint: a, limits: {speed: 1}}]": "valid names: lower, upper",
    "name: x\njoints: [{joint: a, friction: {stiction: 1}}]": "valid names: viscous",
    "name: x\njoints: [{joint: a}]\nframes: {t: {joint: b}}": "unknown joint 'b'; valid names: a, base",
    "name: x\njoints: [{joint: a}]\nframes: {t: {joint: a, xyz: [0, 0]}}": "list of 3 numbers",
    "name: x\njoints: [{joint: a}]\ncapsules: {c: {joint: a, start: [0, 0, 0], end: [0, 0, 0], radius: 0}}": "positive",
    "name: x\njoints: [{joint: a}]\ncollision_pairs: [[b, c]]": "unknown capsule 'b'",
    "name: x\njoints: [{joint: a}]\nshapes: [{kind: cone, joint: a, size: [1]}]": "unknown kind 'cone'",
    "name: x\njoints: [{joint: a}]\nshapes: [{kind: [1], joint: a, size: [1]}]": "unknown kind",
    "name: x\nnominal: 2\njoints: [{joint: a}]": "true or false",
    "!!python/object/apply:os.getcwd []": "not valid YAML",
    "[" * 5000: "YAML|nested",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_files_get_one_clear_line(tmp_path, text):
    with pytest.raises(RobotError, match=BAD[text]) as caught:
        read_mdh(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(RobotError, match="there is no file"):
        read_mdh(tmp_path / "absent.yaml")
    with pytest.raises(RobotError, match="is a folder"):
        read_mdh(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(RobotError, match="not text"):
        read_mdh(tmp_path / "binary.yaml")
    with pytest.raises(RobotError, match="cannot write"):
        write_mdh(MDHTable("t", (MDHRow("a", -1, 0, 0, 0, 0, 0),)), tmp_path / "absent" / "t.yaml")
