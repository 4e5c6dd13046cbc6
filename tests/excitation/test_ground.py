"""The plane a robot is mounted on: kept by default, said where it is only assumed, moved or left out on request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.constraints.ground import Ground, grounds, mounting_plane, surroundings
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.design import design
from exciter.excitation.files.trajectory_files import export, read_trajectory
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.validation_motion.random_families import RandomSpline, draw
from exciter.notes import texts
from exciter.pipeline.settings_file import SettingsFile
from exciter.pipeline.starting_configuration import starting_configuration
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded
from exciter.robot.description import read_mjcf, read_urdf
from exciter.robot.geometry import Capsule
from exciter.robot.load import RobotOptions
from exciter.robot.mdh_file import read_mdh
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Robot
from exciter.settings import fill
from support.mdh_writing import write_mdh

NO_OTHERS = {"torque": False, "self_collision": False}

ARM = """<robot name="arm"><link name="foot">{foot}</link><link name="turret"/>
<link name="upper">{upper}</link><link name="lower">{lower}</link><link name="tool"/>
<joint name="pan" type="revolute"><parent link="foot"/><child link="turret"/><origin xyz="0 0 {height}"/>
  <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="50" velocity="2"/></joint>
<joint name="lift" type="revolute"><parent link="turret"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="{low}" upper="{high}" effort="50" velocity="2"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
  <axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
<joint name="mount" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0.3 0 0"/></joint>
</robot>"""
ROD = """<collision><origin xyz="{x} 0 0" rpy="0 1.5707963267948966 0"/>
  <geometry><capsule radius="0.05" length="{length}"/></geometry></collision>"""
UPPER, LOWER = ROD.format(x=0.2, length=0.4), ROD.format(x=0.1, length=0.2)


SCARA = """name: scara
joints:
  - {joint: shoulder, r: 0.3, limits: {lower: -2, upper: 2, velocity: 1}}
  - {joint: elbow, d: 0.3, limits: {lower: -2, upper: 2, velocity: 1}}
  - {joint: quill, type: prismatic, d: 0.3, limits: {lower: -0.2, upper: 0, velocity: 1}}
"""


def arm(folder: Path, *, foot="", upper=UPPER, lower=LOWER, height=0.4, low=-2.0, high=2.0, **options) -> Robot:
    (folder / "arm.urdf").write_text(ARM.format(foot=foot, upper=upper, lower=lower, height=height, low=low, high=high))
    return read_urdf(folder / "arm.urdf", options=RobotOptions(**options))


def plane(robot: Robot, ground: object = None):
    """The constraint of the ground by the configuration, or None."""
    given = NO_OTHERS if ground is None else {**NO_OTHERS, "ground": ground}
    found = fill(ConstraintSettings, given, "constraints").constraints(robot)
    assert len(found) <= 1
    return found[0] if found else None


def lowest(robot: Robot, q: np.ndarray, joints: set[int], normal=(0.0, 0.0, 1.0)) -> float:
    """[m] along the normal: the lowest point of the capsules on these joints, by Pinocchio's kinematics."""
    model = to_pinocchio(robot)
    data, heights = model.createData(), []
    for row in q:
        pin.forwardKinematics(model, data, row)
        for capsule in robot.capsules:
            if capsule.joint in joints:
                ends = [data.oMi[capsule.joint + 1].act(end) for end in (capsule.start, capsule.end)]
                heights.append(min(np.dot(normal, end) for end in ends) - capsule.radius)
    return min(heights)


# -- which plane ---------------------------------------------------------------------------------------------------


def test_the_floor_is_kept_by_default():
    robot = embedded.robot("panda")
    found = plane(robot)
    (ground,) = grounds((found,))
    assert (ground.name, ground.offset, found.clearance) == ("floor (ground)", 0.0, 0.01)
    bodies = {row.where.partition(" – ")[0] for row in found.rows}
    assert bodies == {c.name for c in robot.capsules if c.joint > 0}  # neither the base nor what only turns on it
    assert not any(row.assumed for row in found.rows)  # its own file says where it stands
    assert ground.unchecked == ()


@pytest.mark.parametrize(
    ("ground", "height", "normal", "clearance"),
    [
        (-0.5, -0.5, (0, 0, 1), 0.01),
        ("1e-1", 0.1, (0, 0, 1), 0.01),
        (True, -0.672, (0, 0, 1), 0.01),
        ({"clearance": 0.05}, -0.672, (0, 0, 1), 0.05),
        ({"height": -0.4, "clearance": 0}, -0.4, (0, 0, 1), 0.0),
        ({"height": 0.2, "normal": [0, 0, -5]}, 0.2, (0, 0, -1), 0.01),
        ({"normal": [0, 2, 0]}, 0.0, (0, 1, 0), 0.01),
    ],
)
def test_where_the_plane_is_can_be_said(ground, height, normal, clearance):
    found = plane(embedded.robot("puma560"), ground)
    (wall,) = grounds((found,))
    assert wall.offset == pytest.approx(height)
    assert wall.normal.tolist() == list(normal)
    assert found.clearance == clearance
    assert not any(row.assumed for row in found.rows)


@pytest.mark.parametrize("ground", ["none", "None", "NONE", False])
def test_no_ground_on_request_and_not_checked_says_so(ground):
    robot = replace(embedded.robot("panda"), nominal=False)
    model = DynamicModel(robot)
    mounted, around = "what the robot is mounted on", "people and whatever stands around"
    ball = [{"sphere": {"centre": [3, 0, 0], "radius": 0.1}}]
    for given, words in (
        ({"ground": ground}, [mounted, around]),
        ({"ground": ground, "obstacles": ball}, [mounted]),
        ({"ground": ground, "workspace": [{"frame": "flange", "z_min": -3}]}, [mounted, around]),
        ({"ground": ground, "obstacles": [{"half_space": {"normal": [0, 0, 2], "offset": -0.08}}]}, [around]),
        ({"ground": ground, "obstacles": [{"half_space": {"normal": [1, 0, 0.5], "offset": -9}}]}, [mounted]),
        ({}, [around]),
    ):
        constraints = fill(ConstraintSettings, given, "constraints").constraints(model.robot)
        assert bool(grounds(constraints)) == (given == {})
        family = Fourier(10.0, 1)
        certificate = certify(robot, family.curve(family.still(embedded.home("panda"))), constraints)
        said = texts(unchecked(robot, constraints, certificate))
        assert "no ground is known" not in " ".join(said)  # who says that there is none knows it
        told = [text.partition(":")[0] for text in said]
        assert [what for what in told if what != "torque" and "collision" not in what] == words


def test_what_cannot_change_its_height_needs_no_ground():
    """Its joints turn about the normal or slide across it: nothing reaches the plane, and nothing is said of it."""
    flat = embedded.robot("panda")
    nothing = {"frames": (), "capsules": (), "collision_pairs": (), "shapes": (), "friction": {}}
    flat = replace(flat, joints=flat.joints[:1], **nothing)
    assert mounting_plane(flat) is None
    family = Fourier(10.0, 1)
    told = texts(unchecked(flat, (), certify(flat, family.curve(family.still(np.zeros(1))))))
    assert not [text for text in told if "mounted on" in text]


@pytest.mark.parametrize("null", ["", "~", "null", "Null", "NULL"])
def test_a_null_is_no_ground_that_was_given_so_that_the_usual_one_is_kept(tmp_path, null):
    (tmp_path / "c.yaml").write_text(f"constraints:\n  ground: {null}\n")
    (tmp_path / "without.yaml").write_text("constraints: {}\n")
    model = DynamicModel(embedded.robot("panda"))
    found, usual = (
        grounds(SettingsFile.read(tmp_path / name).design.constraints_of(model.robot))
        for name in ("c.yaml", "without.yaml")
    )
    assert [wall.offset for wall in found] == [wall.offset for wall in usual]
    assert usual


@pytest.mark.parametrize(
    "ground", ["floor", [0, 1], float("nan"), {"hight": 1}, {"normal": [0, 0, 0]}, {"clearance": -1}]
)
def test_a_ground_that_makes_no_sense_is_one_line(ground):
    with pytest.raises(ExciterError, match="constraints: ground"):
        plane(embedded.robot("panda"), ground)


@pytest.mark.parametrize(
    ("gravity", "word"),
    [((0, 0, -9.81), "floor"), ((0, 0, 9.81), "ceiling"), ((9.81, 0, 0), "wall"), ((0, 0, 0), "mount")],
)
def test_hanging_and_wall_mounted_robots_stay_on_their_side(gravity, word):
    """The base's z points out of the mounting, wherever gravity points; gravity only names the plane."""
    robot = embedded.robot("ur10e").with_gravity(gravity)
    found = plane(robot)
    (ground,) = grounds((found,))
    assert ground.name.startswith(word)
    assert ground.normal.tolist() == [0.0, 0.0, 1.0]
    q = np.array([[0.0, 0.5, 0, 0, 0, 0], [0.0, -1.5, 0, 0, 0, 0]])  # the arm through the plane, and away from it
    room = found.values(Motion.at(q)).min(axis=0) * 0.1
    joints = set(range(1, robot.n))
    for row, d in zip(q, room, strict=True):
        assert d == pytest.approx(lowest(robot, row[None], joints) - 0.01, abs=1e-9)
    assert room[0] < 0.0 < room[1] or room[1] < 0.0 < room[0]


def test_a_base_frame_at_the_shoulder_is_not_the_floor(tmp_path):
    """Where the shapes of the base reach below its origin, that is where it stands; locked joints do not move it."""
    foot = '<collision><origin xyz="0 0 -0.3"/><geometry><cylinder radius="0.1" length="0.6"/></geometry></collision>'
    robot = arm(tmp_path, foot=foot, height=0.1)
    assert (robot.ground, robot.base_bottom) == (None, pytest.approx(-0.6))
    (ground,) = grounds((plane(robot),))
    assert ground.offset == pytest.approx(-0.6)
    assert ground.assumed  # a spike of the base's mesh may reach below what it stands on
    assert "assumed at z = -0.6 of the base, where the base's shapes end" in ground.unchecked[0]
    assert all(row.assumed for row in plane(robot).rows)
    assert not grounds((plane(robot, -0.6),))[0].assumed
    above = foot.replace("-0.3", "0.3")
    assert arm(tmp_path, foot=above, height=0.1, lock={"pan": 0.0, "lift": 1.5}).base_bottom == 0.0


def test_the_floor_of_an_mjcf_world_is_the_ground(tmp_path):
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1" pos="0 0 -0.7"/>{tilted}
    <body name="one"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><joint name="a" axis="0 1 0"/>
    <geom type="sphere" size="0.1" pos="0.5 0 0"/></body></worldbody></mujoco>"""
    for tilted, noted in (("", False), ('<geom type="plane" size="1 1 1" euler="30 0 0"/>', True)):
        (tmp_path / "world.xml").write_text(text.format(tilted=tilted))
        robot = read_mjcf(tmp_path / "world.xml")
        assert robot.ground == -0.7
        assert any("no capsule for 'plane of world'" in note for note in texts(robot.notes)) == noted


def test_the_floor_is_the_highest_level_plane_of_all_that_stands_still(tmp_path):
    """MuJoCo's planes have no edge, on a table as in the world; what is no floor is said to be there."""
    text = """<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset><worldbody>
    <geom type="plane" size="1 1 1" pos="0 0 -5"/><body name="table" pos="0 0 -1" euler="180 0 0">{table}
    <body name="top" pos="0 0 -0.3" euler="0 180 0">{top}</body></body>
    <body name="one"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><joint name="a" axis="0 1 0"/>
    <geom type="sphere" size="0.1" pos="0.5 0 0"/></body></worldbody></mujoco>"""
    plane = '<geom type="plane" size="1 1 1" pos="0 0 0.1" {}/>'
    cases = (
        ({}, -5.0, ""),
        ({"top": plane.format("")}, -0.6, ""),
        ({"top": plane.format('contype="0" conaffinity="0"')}, -5.0, ""),
        ({"top": plane.format('zaxis="1 0 1"')}, -5.0, "top"),
        ({"table": plane.format("")}, -5.0, "table"),  # upside down
        ({"table": plane.format('zaxis="0 0 -1"')}, -1.1, ""),
        ({"top": '<geom type="hfield" hfield="h"/>'}, -5.0, "top"),
    )
    for words, height, still in cases:
        path = tmp_path / "world.xml"
        path.write_text(text.format(**({"table": "", "top": ""} | words)), encoding="utf-8")
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        planes = [
            data.geom_xpos[k][2]
            for k in range(model.ngeom)
            if model.geom_type[k] == mujoco.mjtGeom.mjGEOM_PLANE
            and model.geom_contype[k]
            and data.geom_xmat[k][8] > 1.0 - 1e-12
        ]
        robot = read_mjcf(path)
        assert robot.ground == pytest.approx(height) == pytest.approx(max(planes)), words
        assert robot.unshaped == ((still,) if still else ()), words
        at_rest = certify(robot, Curve((PolynomialPiece([0.0, 1.0], np.zeros((robot.n, 1, 2))),)))
        told = [sentence for sentence in texts(unchecked(robot, [], at_rest)) if "what stands still" in sentence]
        assert told == [f"what stands still, {still}: not all of it could be measured; give constraints: obstacles"] * (
            still != ""
        )


# -- what of the robot counts --------------------------------------------------------------------------------------


def test_a_body_without_shape_counts_by_its_frames_and_the_rest_is_said(tmp_path):
    robot = arm(tmp_path, lower="")
    found = plane(robot)
    assert {row.where for row in found.rows} == {
        f"{name} – floor (ground)" for name in ("upper", "origin of elbow", "origin of tool")
    }
    q = np.array([[0.3, -0.4, 0.9], [0.0, 0.7, 0.2]])
    model = to_pinocchio(robot)
    data = model.createData()
    tool = next(row for row, name in enumerate(found.rows) if name.where.startswith("origin of tool"))
    for k, row in enumerate(q):
        pin.forwardKinematics(model, data, row)
        height = data.oMi[3].act(np.array([0.3, 0, 0]))[2]
        assert found.values(Motion.at(q))[tool, k] * 0.1 == pytest.approx(height - 0.01, abs=2e-6)
    bare = "floor: the bodies of elbow beyond the origins of their frames: they have no shape"
    assert grounds((found,))[0].unchecked[1:] == (bare,)  # the first says that the floor is assumed


def test_a_tool_frame_outside_the_shapes_counts(tmp_path):
    found = plane(arm(tmp_path))
    assert "origin of tool – floor (ground)" in {row.where for row in found.rows}
    inside = plane(arm(tmp_path, lower=ROD.format(x=0.15, length=0.3)))
    assert "origin of tool – floor (ground)" not in {row.where for row in inside.rows}


def test_a_body_that_sits_on_the_mounting_is_left_out_and_said(tmp_path):
    """Its capsule is below the plane in every posture of its joint: nothing a motion could do about."""
    found = plane(arm(tmp_path, height=0.02))
    (ground,) = grounds((found,))
    assert "upper" not in ground.against
    assert "lower" in ground.against
    assert "upper cannot be kept away from it in any posture" in ground.unchecked[1]
    assert "constraints: {ground: HEIGHT}" in ground.unchecked[1]


def test_a_body_that_its_own_joint_frees_is_kept_away(tmp_path):
    """Below the plane at q = 0, above it when its joint turns up: not left out, unless the clearance is more than that.
    Its lower end is 0.1 m from the axis then, 0.04 m above the plane, less its radius."""
    robot = arm(tmp_path, upper=ROD.format(x=0.25, length=0.3), height=0.04)
    for clearance, counts in ((0.0, True), (0.085, True), (0.095, False)):
        (ground,) = grounds((mounting_plane(robot, 0.0, clearance=clearance),))
        assert ("upper" in ground.against) == counts
        assert any("cannot be kept away" in sentence for sentence in ground.unchecked) != counts
    bare = mounting_plane(robot)
    assert (bare.clearance, bare.obstacles[0].offset, bare.obstacles[0].assumed) == (0.0, 0.0, False)
    assert not any(row.assumed for row in bare.rows)
    assert not Ground("floor", np.array([0.0, 0.0, 1.0]), 0.0).assumed


def test_origins_on_an_axis_that_stays_are_no_points(tmp_path):
    """The lift's own origin cannot move, with or without a shape on its body; names are made to differ."""
    rows = {row.where.partition(" – ")[0] for row in mounting_plane(arm(tmp_path, upper="")).rows}
    assert rows == {"lower", "origin of tool"}
    robot = arm(tmp_path)
    taken = replace(
        robot, capsules=tuple(replace(c, name="origin of tool") for c in robot.capsules if c.name == "lower")
    )
    rows = [row.where.partition(" – ")[0] for row in mounting_plane(taken).rows]
    assert sorted(rows) == ["origin of tool", "origin of tool'"]


@pytest.mark.parametrize(("cosine", "word"), [(-0.51, "floor"), (-0.49, "wall"), (0.49, "wall"), (0.51, "ceiling")])
def test_a_plane_is_called_by_its_slope(tmp_path, cosine, word):
    robot = replace(arm(tmp_path), gravity=9.81 * np.array([np.sqrt(1.0 - cosine**2), 0.0, cosine]))
    assert mounting_plane(robot, -9.0).obstacles[0].name == f"{word} (ground)"


def test_what_no_joint_lifts_or_lowers_does_not_count(tmp_path):
    """A robot that turns about the vertical only, however low it is, and a SCARA: its quill alone goes up and down."""
    robot = embedded.robot("panda").lock([f"joint_{k}" for k in range(2, 4)]).lock({"joint_4": -1.0})
    robot = robot.lock({"joint_5": 0.0, "joint_6": 1.0, "joint_7": 0.0})
    assert mounting_plane(robot, 5.0) is None
    for text in (SCARA, SCARA.replace("r: 0.3", "r: 0.3, alpha: 3.7e-6")):  # upright to the digits of a file
        (tmp_path / "scara.yaml").write_text(text)
        rows = plane(read_mdh(tmp_path / "scara.yaml")).rows
        assert [row.where for row in rows] == ["origin of quill – floor (ground)"]


def test_a_capsule_may_be_called_floor():
    robot = embedded.robot("panda")
    capsules = tuple(replace(c, name="floor") if c.name == "base" else c for c in robot.capsules)
    assert plane(replace(robot, capsules=capsules, collision_pairs=())) is not None


# -- what is said --------------------------------------------------------------------------------------------------


def test_an_assumed_floor_is_said_with_what_to_write(tmp_path):
    robot = arm(tmp_path)
    assert all(row.assumed for row in plane(robot).rows)  # kept, never counted as proved
    (told,) = plane(robot).unchecked
    assert told.startswith("floor: assumed at z = 0 of the base; constraints: {ground: HEIGHT}")
    low = arm(tmp_path, height=0.03, low=-3.0, high=0.1)
    told, stuck = plane(low).unchecked
    assert "upper cannot be kept away" in stuck
    assert "at q = 0 lower is beyond it: if it is elsewhere, write constraints: {ground: -0.03} or lower" in told
    assert plane(low, -0.03).values(Motion.at(np.zeros((1, 3)))).min() >= -1e-9
    assert plane(low, -0.2).unchecked == ()


def test_a_starting_configuration_shows_the_height_in_force(tmp_path):
    assert "\n  # ground: -0.672 " in starting_configuration(embedded.robot("puma560"), "puma560")
    (line,) = (line for line in starting_configuration(arm(tmp_path), "arm").splitlines() if "# ground: 0 " in line)
    assert "assumed" in line


def test_a_robot_wholly_beyond_the_assumed_floor_gets_one_line(tmp_path):
    """Described with z up and hanging below its origin: no posture is above; the line says what to write."""
    robot = arm(tmp_path, height=-0.5, low=1.0, high=2.0)
    model = DynamicModel(robot)
    with pytest.raises(
        ExciterError, match=r"floor \(ground\).*constraints: \{ground: HEIGHT\}, \{height: …, normal: …\}"
    ):
        design(model, Fourier(10.0, 2), constraints=[plane(robot)], starts=1)
    below = plane(robot, {"normal": [0, 0, -1]})
    assert below.values(Motion.at(np.array([[0.0, 1.5, 0.0]]))).min() > 0.0


# -- motions -------------------------------------------------------------------------------------------------------


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    out = capsys.readouterr()
    return left.value.code, out.out + out.err


def test_a_design_that_went_through_the_floor_stays_above_it(tmp_path, capsys):
    """And one that goes through is broken to check, and not slowed down."""
    robot = embedded.robot("ur10e")
    (tmp_path / "none.yaml").write_text("constraints: {ground: none}")
    model = DynamicModel(robot)
    others = fill(ConstraintSettings, {"ground": "none"}, "constraints").constraints(model.robot)
    free = design(model, Fourier(10.0, 3, at_rest=True), constraints=others, starts=1)
    (tmp_path / "free").mkdir()
    files = (tmp_path / "free", robot, free.curve, free.trajectory, free.delta)
    export(*files, lambda curve: certify(robot, curve), rate=100.0)
    assert run(capsys, "design", "ur10e", "-o", tmp_path / "kept", "--starts", 1)[0] == 0
    reached = {}
    for name in ("free", "kept"):
        curve = read_trajectory(tmp_path / name / "trajectory.json", robot)
        q = curve.motion(np.linspace(curve.start, curve.end, 2000)).q
        reached[name] = lowest(robot, q, set(range(1, robot.n)))
    assert reached["free"] < -0.1
    assert reached["kept"] >= 0.01 - 1e-9
    data = json.loads((tmp_path / "kept" / "design.json").read_text())
    assert any(limit["where"] == "wrist_3 – floor (ground)" for limit in data["certificate"]["limits"])
    file = tmp_path / "free" / "trajectory.csv"
    code, out = run(capsys, "check", "ur10e", file, "--json")
    broken = [limit["where"] for limit in json.loads(out)["limits"] if limit["status"] == "broken"]
    assert code == 1
    assert broken
    assert all(name.endswith("floor (ground)") for name in broken)
    assert run(capsys, "check", "ur10e", file, "--config", tmp_path / "none.yaml")[0] == 0
    code, out = run(capsys, "slow", "ur10e", file, "--speed", 50, "-o", tmp_path / "slow")
    assert code == 2
    assert "floor (ground)" in out
    assert not (tmp_path / "slow" / "trajectory.csv").exists()


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 9.81), (9.81, 0.0, 0.0)], ids=["hanging", "wall"])
def test_random_motions_of_other_mountings_keep_their_plane(gravity):
    robot = embedded.robot("ur10e").with_gravity(gravity)
    reached = []
    for constraints in ((), (plane(robot),)):
        curve = draw(robot, RandomSpline(), constraints).curve
        q = curve.motion(np.linspace(curve.start, curve.end, 1000)).q
        reached.append(lowest(robot, q, set(range(1, robot.n))))
    assert reached[0] < -0.1
    assert reached[1] >= 0.01 - 1e-9


def test_home_of_every_embedded_robot_is_above_its_ground():
    """And every one states its ground: nothing is assumed of them."""
    for name in embedded.names():
        robot = embedded.robot(name)
        found = plane(robot)
        assert robot.ground is not None
        assert grounds((found,))[0].unchecked == ()
        assert found.values(Motion.at(embedded.home(name)[None])).min() > 0.0, name
        base = [c for c in robot.capsules if c.joint < 0]
        assert robot.ground >= min(min(c.start[2], c.end[2]) - c.radius for c in base) - 1e-9, name


def test_the_report_draws_the_ground():
    robot = embedded.robot("puma560")
    (shape,) = surroundings([plane(robot)])
    assert (shape.kind, shape.ground, shape.border) == ("plane", True, False)
    assert shape.translation == pytest.approx([0, 0, -0.672])
    wall = surroundings([plane(robot, {"normal": [0, 3, 4], "height": 0.5})])[0]
    assert wall.rotation[:, 2] == pytest.approx([0, 0.6, 0.8])
    assert np.dot([0, 0.6, 0.8], wall.translation) == pytest.approx(0.5)


@pytest.mark.parametrize("height", [2.0, 700.0])
def test_a_ground_that_no_posture_keeps_is_refused(height):
    """A slip of units, say: what was asked for is not left out."""
    robot = embedded.robot("panda")
    swings = replace(robot, joints=robot.joints[:2], frames=(), friction={}, shapes=(), collision_pairs=(),
                     capsules=tuple(c for c in robot.capsules if c.joint < 2))  # fmt: skip
    with pytest.raises(ExciterError, match=f"constraints: ground: no posture keeps .* a plane at {height:g} m"):
        plane(swings, height)
    assert mounting_plane(swings, height, assumed=True) is None


def test_links_that_could_not_be_measured_are_written_to_tables(tmp_path):
    robot = embedded.robot("panda")
    robot = replace(robot, unshaped=("flange",))
    write_mdh(robot, tmp_path / "r.yaml")
    assert read_mdh(tmp_path / "r.yaml").unshaped == ("flange",)


def test_points_are_bodies_like_any_other():
    """A point capsule of a constraint can be named by an obstacle; an unknown name is refused."""
    robot = embedded.robot("panda")
    found = plane(replace(robot, capsules=(), collision_pairs=()))
    assert all(isinstance(point, Capsule) and point.radius < 1e-5 for point in found.points)
    assert len(found.rows) == len(found.points) > 4
