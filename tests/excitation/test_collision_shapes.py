"""What may collide by the description is what is measured; what is drawn counts where there is nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.trajectories.fourier import Fourier
from exciter.notes import texts
from exciter.robot.capsules import lowest_point
from exciter.robot.description import read_mjcf, read_urdf
from exciter.robot.drawing import drawing
from exciter.robot.geometry import Shape
from exciter.robot.load import RobotOptions
from exciter.robot.mdh_file import read_mdh
from exciter.robot.robot import Robot
from exciter.settings import fill
from support.mdh_writing import write_mdh

SMALL, LARGE = 0.05, 0.25  # [m] of a ball 0.3 m from another one of 0.1 m: free by 0.15, overlapping by 0.05

URDF = """<robot name="balls">
<link name="post"><collision><origin xyz="0.5 0 0.6"/><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="one"/>
<link name="two">{shapes}</link>
<link name="tool">{tool}</link>
<joint name="a" type="revolute"><parent link="post"/><child link="one"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" effort="50" velocity="2"/></joint>
<joint name="b" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0.5 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
<joint name="mount" type="fixed"><parent link="two"/><child link="tool"/></joint>
</robot>"""

MJCF = """<mujoco><compiler angle="radian"/>
<default><default class="look"><geom contype="0" conaffinity="0" group="2"/></default>
<default class="touch"><geom group="3"/></default></default>
<worldbody><geom type="sphere" size="0.1" pos="0.5 0 0.6"/>
<body name="one"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
<joint name="a" axis="0 0 1" range="-3 3" actuatorfrcrange="-50 50"/>
<body name="two" pos="0.5 0 0.3"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
<joint name="b" axis="0 1 0" range="-2 2" actuatorfrcrange="-50 50"/>{shapes}
<body name="tool">{tool}</body></body></body></worldbody></mujoco>"""


def urdf_balls(visual: float | None, collision: float | None) -> str:
    balls = [(tag, radius) for tag, radius in (("visual", visual), ("collision", collision)) if radius is not None]
    return "".join(f'<{tag}><geometry><sphere radius="{r}"/></geometry></{tag}>' for tag, r in balls)


def mjcf_balls(visual: float | None, collision: float | None) -> str:
    balls = [(name, radius) for name, radius in (("look", visual), ("touch", collision)) if radius is not None]
    return "".join(f'<geom class="{name}" type="sphere" size="{r}"/>' for name, r in balls)


FORMATS = {"urdf": (URDF, urdf_balls, read_urdf), "mjcf": (MJCF, mjcf_balls, read_mjcf)}


def described(
    folder: Path,
    kind: str,
    visual: float | None,
    collision: float | None,
    tool: tuple[float | None, float | None] = (None, None),
    **options: object,
) -> Robot:
    text, balls, read = FORMATS[kind]
    file = folder / f"balls.{kind}"
    file.write_text(text.format(shapes=balls(visual, collision), tool=balls(*tool)))
    return read(file, options=RobotOptions(limits={"velocity": 2.0}, **options))


def status(robot: Robot, meshes: bool) -> str:
    """Of the distance of the two balls, while the robot moves a little."""
    asked = {"pairs": [["base", "two"]], "meshes": meshes}
    config = fill(ConstraintSettings, {"self_collision": asked, "torque": False, "ground": "none"}, "constraints")
    constraints = config.constraints(robot)
    family = Fourier(10.0, 1)
    delta = family.still(np.zeros(robot.n))
    delta[:, 1] += 0.02
    limits = certify(robot, family.curve(delta), constraints).limits
    return next(limit.status for limit in limits if limit.what == "distance" and limit.limit == 0.01)


@pytest.mark.parametrize("meshes", [False, True], ids=["capsules", "shapes"])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("visual", "collision", "expected"),
    [
        pytest.param(SMALL, LARGE, "broken", id="collision-larger"),
        pytest.param(LARGE, SMALL, "holds", id="visual-larger"),
        pytest.param(None, SMALL, "holds", id="collision-only-free"),
        pytest.param(None, LARGE, "broken", id="collision-only-overlapping"),
        pytest.param(SMALL, None, "holds", id="visual-only-free"),
        pytest.param(LARGE, None, "broken", id="visual-only-overlapping"),
    ],
)
def test_collision_shapes_are_what_is_measured(tmp_path, kind, visual, collision, expected, meshes):
    robot = described(tmp_path, kind, visual, collision)
    assert status(robot, meshes) == expected
    said = [remark for remark in texts(robot.remarks) if "no collision shape on 'two'" in remark]
    assert bool(said) == (collision is None)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_link_that_is_only_drawn_does_not_hide_behind_the_one_it_is_joined_to(tmp_path, kind):
    """Rigidly joined links are one body; a tool without collision shape on a link that has one still counts."""
    assert status(described(tmp_path, kind, None, SMALL, tool=(LARGE, None)), meshes=True) == "broken"
    assert status(described(tmp_path, kind, None, SMALL, tool=(LARGE, SMALL)), meshes=True) == "holds"


@pytest.mark.parametrize("kind", FORMATS)
def test_locked_bodies_keep_what_collides_and_what_is_drawn_apart(tmp_path, kind):
    robot = described(tmp_path, kind, LARGE, SMALL)
    locked = described(tmp_path, kind, LARGE, SMALL, lock={"b": 0.0})
    assert sorted(s.role for s in locked.shapes) == sorted(s.role for s in robot.shapes)
    assert {s.size for s in locked.shapes if s.collides and s.joint == 0} == {(SMALL,)}
    assert status(robot.lock({"b": 0.0}).lock({}), meshes=True) == "holds"


@pytest.mark.parametrize("kind", FORMATS)
def test_pictures_show_what_is_to_be_looked_at(tmp_path, kind):
    robot = described(tmp_path, kind, LARGE, SMALL)
    assert [shape.size for shape in drawing(robot).shapes if shape.joint == 1] == [(LARGE,)]


def test_a_geom_that_is_seen_and_touches_is_both(tmp_path):
    file = tmp_path / "both.mjcf"
    file.write_text(MJCF.format(shapes=f'<geom type="sphere" size="{SMALL}"/>', tool=""))
    robot = read_mjcf(file)
    assert [shape.role for shape in robot.shapes if shape.joint == 1] == ["both"]
    assert len([capsule for capsule in robot.capsules if capsule.joint == 1]) == 1


def test_roles_survive_a_file_of_our_own(tmp_path):
    robot = described(tmp_path, "urdf", LARGE, SMALL)
    write_mdh(robot, tmp_path / "balls.yaml")
    again = read_mdh(tmp_path / "balls.yaml")
    assert [(s.role, s.size) for s in again.shapes] == [(s.role, s.size) for s in robot.shapes]


@pytest.mark.parametrize("kind", ["box", "sphere", "cylinder", "capsule"])
def test_the_lowest_point_is_below_all_others(kind):
    """Against points all over the surface."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turn *= np.sign(np.linalg.det(turn))
        size = tuple(rng.uniform(0.05, 0.5, {"box": 3, "sphere": 1}.get(kind, 2)))
        towards = rng.normal(size=(20000, 3))
        towards /= np.linalg.norm(towards, axis=1)[:, None]
        if kind == "box":
            surface = 0.5 * np.array(size) * np.sign(towards)
        elif kind == "sphere":
            surface = size[0] * towards
        elif kind == "capsule":
            surface = size[0] * towards + [0, 0, 0.5 * size[1]] * np.sign(towards[:, 2:])
        else:
            around = towards[:, :2] / np.linalg.norm(towards[:, :2], axis=1)[:, None]
            surface = np.hstack([size[0] * around, 0.5 * size[1] * np.sign(towards[:, 2:])])
        place = rng.uniform(-1, 1, 3)
        heights = (surface @ turn.T + place)[:, 2]
        lowest = lowest_point(Shape(kind, -1, size, turn, place))
        assert lowest <= heights.min() + 1e-12
        assert lowest == pytest.approx(heights.min(), abs=0.01)
