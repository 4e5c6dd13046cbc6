"""What files put in place of what nobody knows, where joining links or locking joints would hide it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.robot import Robot, load
from exciter.robot.load import RobotOptions
from exciter.robot.lock import lock
from exciter.robot.placeholders import bare_bodies, is_physical
from exciter.robot.spatial import transform_inertia
from support.robots import random_robot

BODY = """<inertial><origin xyz="0 0 0.1"/><mass value="{0}"/>
<inertia ixx="{1}" iyy="{1}" izz="{2}" ixy="0" ixz="0" iyz="0"/></inertial>"""
SOLID = '<{}><geometry><box size="0.1 0.1 0.1"/></geometry></{}>'
MESH = '<visual><geometry><mesh filename="absent.stl"/></geometry></visual>'
GIVEN = BODY.format(2.0, 0.02, 0.015)
SHAPES = {"visual": SOLID.format("visual", "visual"), "collision": SOLID.format("collision", "collision"), "mesh": MESH}


def urdf(folder: Path, tool: str = "", *, first: str = GIVEN, stand: str = "") -> Path:
    """Two joints, a stand on the base, a frame and a tool fixed on the last link."""
    text = f'<robot name="arm"><link name="base"/><link name="stand">{stand}</link>'
    text += '<joint name="on_base" type="fixed"><parent link="base"/><child link="stand"/></joint>'
    for k, (above, inertial) in enumerate((("base", first), ("one", BODY.format(1.0, 0.01, 0.012))), start=1):
        name = ("", "one", "two")[k]
        text += (
            f'<link name="{name}">{inertial}</link><joint name="j{k}" type="revolute"><parent link="{above}"/>'
            f'<child link="{name}"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>'
            '<limit lower="-2" upper="2" velocity="2" effort="50"/><dynamics damping="1" friction="1"/></joint>'
        )
    text += (
        '<link name="flange"/><joint name="to_flange" type="fixed"><parent link="two"/><child link="flange"/></joint>'
    )
    text += f'<link name="tool">{tool}</link>'
    text += '<joint name="to_tool" type="fixed"><parent link="flange"/><child link="tool"/></joint></robot>'
    path = folder / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    return path


def told(robot: Robot) -> list[str]:
    limits = TorqueLimits.of(robot)
    assert any(row.assumed for row in limits.rows) == bool(limits.unchecked)
    return [sentence.partition(": ")[2] for sentence in limits.unchecked]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mass", ["", BODY.format(0, 0, 0), BODY.format(1e-6, 1e-9, 1e-9)], ids=["none", "0", "1e-6"])
def test_a_fixed_link_with_a_shape_and_no_mass_is_named(tmp_path: Path, shape: str, mass: str) -> None:
    """Also where shapes in files are not looked at; one on the base, which does not move, is none of the torque's."""
    path = urdf(tmp_path, mass + SHAPES[shape])
    for options in (RobotOptions(), RobotOptions(meshes=False)):
        [sentence] = told(load(path, options))
        assert sentence.startswith("no mass is given for link 'tool', in spite of a shape")
    assert told(load(urdf(tmp_path, mass, stand=mass + SHAPES[shape]))) == []  # a frame, and a stand on the base
    assert told(load(urdf(tmp_path, GIVEN + SHAPES[shape]))) == []


def test_a_link_that_moves_does_not_hide_behind_one_that_is_fixed_on_it(tmp_path: Path) -> None:
    """Its shape says that it is there, and the mass of a part is not its own; without a shape it is a frame."""
    shaped = urdf(tmp_path, first="").read_text()
    part = '<link name="part">{}</link><joint name="p" type="fixed"><parent link="one"/><child link="part"/></joint>'
    for shape, count in ((SHAPES["visual"], 1), ("", 0)):
        text = shaped.replace('<link name="one">', f'<link name="one">{shape}').replace(
            "</robot>", part.format(GIVEN) + "</robot>"
        )
        (tmp_path / "arm.urdf").write_text(text)
        found = told(load(tmp_path / "arm.urdf"))
        assert [sentence.startswith("no mass is given for link 'one'") for sentence in found] == [True] * count
    found = told(load(urdf(tmp_path, first=SHAPES["visual"])))
    assert found == ["the description gives no mass for the bodies of j1"]  # once


def test_an_inertia_of_no_body_does_not_hide_in_the_body_that_it_is_joined_to(tmp_path: Path) -> None:
    [sentence] = told(load(urdf(tmp_path, BODY.format(0.1, 0.001, 0.003))))
    assert sentence.startswith("the inertia of link 'tool' is that of no body")
    assert told(load(urdf(tmp_path, BODY.format(0.1, 0.001, 0.002)))) == []
    [sentence] = told(load(urdf(tmp_path, BODY.format(5.0, 0.001, 3.0))))
    assert sentence == "no body can have the inertia that the description gives those of j2"  # it shows: once


MJCF = """<mujoco><compiler angle="radian" inertiafromgeom="{}"/><worldbody>
<body name="one"><joint name="j1" axis="0 1 0" range="-2 2" actuatorfrcrange="-50 50" damping="1" frictionloss="1"/>
  <inertial mass="2" pos="0 0 0.1" diaginertia="0.02 0.02 0.015"/>
  <body name="two" pos="0 0 0.3">
    <joint name="j2" axis="0 1 0" range="-2 2" actuatorfrcrange="-50 50" damping="1" frictionloss="1"/>
    <inertial mass="1" pos="0 0 0.1" diaginertia="0.01 0.01 0.012"/>
    <body name="tool">{}</body></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("setting", "tool", "named"),
    [
        ("auto", '<geom type="box" size="0.1 0.1 0.1"/>', False),  # weighs as MuJoCo weighs it
        ("false", '<geom type="box" size="0.1 0.1 0.1"/>', True),
        ("auto", '<geom type="box" size="0.1 0.1 0.1" mass="0"/>', True),
        ("auto", '<geom type="box" size="0.1 0.1 0.1" density="0"/>', True),
        ("false", '<site name="tip"/>', False),
        ("false", "", False),
    ],
)
def test_a_fixed_mjcf_body_with_a_geom_and_no_mass_is_named(
    tmp_path: Path, setting: str, tool: str, named: bool
) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(MJCF.format(setting, tool))
    found = told(load(path).with_limits(velocity=2.0))
    assert [sentence.startswith("no mass is given for link 'tool'") for sentence in found] == [True] * named


def locked_body(**changes: np.ndarray) -> Robot:
    """Three joints of known bodies, some of which are changed; j3 is locked on j2."""
    robot = replace(random_robot(4, 3, prismatic=0.0), friction={"viscous": np.ones(3), "coulomb": np.ones(3)})
    joints = [replace(j, inertia=changes.get(j.name, j.inertia)) for j in robot.joints]
    return lock(replace(robot, joints=tuple(joints)).with_limits(torque=50.0), {"j3": 0.0})


def test_locking_hides_no_placeholder() -> None:
    """Neither that of the locked body nor that of the body which carries it; on the base it has no part in a torque."""
    flat = transform_inertia([0.3, 0, 0, 0, 1e-3, 0, 1e-3, 0, 0, 3e-3], np.eye(3), [0.1, 0.2, 0.3])
    assert not is_physical(flat)
    assert locked_body().lacking == ()
    for name in ("j2", "j3"):
        for phi, words in ((np.zeros(10), "no mass"), (1e-6 * np.ones(10), "no mass"), (flat, "an inertia of no body")):
            [sentence] = locked_body(**{name: phi}).lacking
            assert sentence.startswith(f"the bodies of joints {name}, joined by locking, have {words}")
            assert told(locked_body(**{name: phi})) == [sentence]
    first = random_robot(4, 3, prismatic=0.0)
    bare = replace(first, joints=(replace(first.joints[0], inertia=np.zeros(10)), *first.joints[1:]))
    assert lock(bare, {"j1": 0.0}).lacking == ()


@pytest.mark.parametrize("own", [True, False])
def test_what_lies_between_two_joints_of_one_body_is_no_body(tmp_path: Path, own: bool) -> None:
    """MJCF has several joints in a body; the link between them is the reader's, and lacks no mass. A body of its own
    does."""
    hinge = '<joint name="{0}" axis="{1}" range="-1 1" damping="1" frictionloss="1" actuatorfrcrange="-50 50"/>'
    roll, lift = hinge.format("roll", "1 0 0"), hinge.format("lift", "0 1 0")
    inside = '<inertial mass="2" pos="0.2 0 0" diaginertia=".02 .02 .02"/>'
    body = f'<body name="b">{roll}<body name="c">{lift}{inside}</body></body>'
    if not own:
        body = f'<body name="c">{roll}{lift}{inside}</body>'
    path = tmp_path / "arm.xml"
    path.write_text(f'<mujoco><compiler angle="radian"/><worldbody>{body}</worldbody></mujoco>', encoding="utf-8")
    assert any("no mass for the bodies of roll" in sentence for sentence in told(load(path))) is own
    assert told(load(path)) == [] or own


def test_no_name_of_a_link_excuses_a_body_without_mass() -> None:
    """That no frame has the name says nothing: tables name links as they like."""
    robot = random_robot(4, 2, prismatic=0.0).with_limits(torque=50.0)
    bare = replace(robot.joints[1], inertia=np.zeros(10), link="elbow")
    assert bare_bodies(replace(robot, joints=(robot.joints[0], bare))) == (1,)
    assert bare_bodies(replace(robot, joints=(robot.joints[0], replace(bare, bodiless=True)))) == ()
    light = replace(bare, bodiless=True, inertia=np.array([1e-9, *np.zeros(9)]))
    assert bare_bodies(replace(robot, joints=(robot.joints[0], light))) == (1,)
