"""Loops in files: MJCF equalities as MuJoCo understands them, YAML lines beside a URDF, and what is refused."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import exciter as ex
from exciter import cli
from exciter.errors import RobotError
from exciter.robot.loop_reach import within_reach
from exciter.robot.motion import Motion
from exciter.settings import yaml_text
from support.terminal import without_progress

ROBOTS = Path(__file__).parents[1] / "robots"
BODY = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>'
MJCF = """<mujoco><compiler angle="degree"/><worldbody>
 <body name="a" pos="0.1 0 0" euler="90 0 0"><joint name="a" axis="0 0 1" ref="20" range="-170 170"/>{body}
  <body name="b" pos="0.3 0 0" euler="0 0 30"><joint name="b" axis="0 0 1"/>{body}
   <body name="d" pos="0.5 0 0" euler="0 0 -80"><joint name="d" axis="0 0 1" pos="0.1 0 0"/>{body}</body></body></body>
 <body name="c" pos="0.8 0.02 0.1" euler="90 0 0"><joint name="c" axis="0 0 1" ref="-15"/>{body}</body>
 <body name="slider"><joint name="slider" type="slide" axis="0 0 1" range="-2 2"/>{body}</body>
</worldbody><actuator><motor joint="a"/><motor joint="slider"/></actuator><equality>{ties}</equality></mujoco>"""
ANCHOR = '<connect body1="d" body2="c" anchor="0.2 0 0"/>'
TIES = {
    "anchor": '<connect body1="d" body2="c" anchor="0.2 0.1 0"/>',
    "to the world": '<connect body1="d" anchor="0.2 0.1 0"/>',
    "weld as drawn": '<weld body1="d" body2="c"/>',
    "weld": '<weld body1="d" body2="c" relpose="0.25 0.1 -0.02 0.6 0 0 0.8"/>',
    "polynomial": f'<joint joint1="b" joint2="a" polycoef="0.1 0.5 -0.3 0.2 0.1"/>{ANCHOR}',
    "line and loop": f'<joint joint1="slider" joint2="a" polycoef="0.1 0.5 0 0 0"/>{ANCHOR}',
}


def written(tmp_path, text):
    path = tmp_path / "robot.xml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", TIES)
def test_mjcf_ties_are_mujocos(name, tmp_path):
    path = written(tmp_path, MJCF.format(body=BODY, ties=TIES[name]))
    robot, model = ex.load(path), mujoco.MjModel.from_xml_path(str(path))
    data, home = mujoco.MjData(model), robot.coupling.home
    rng = np.random.default_rng(0)
    u = within_reach(robot, home + rng.uniform(-0.2, 0.2, (5, robot.n)))
    moved = robot.coupling.motion(Motion.at(u))
    order = [model.joint(name).qposadr[0] for name in robot.tree_names]
    for q, null in zip(moved.tree.q, moved.null, strict=True):
        data.qpos[order] = q
        mujoco.mj_forward(model, data)
        ties = int(np.sum(data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY))
        assert ties >= 3
        assert np.abs(data.efc_pos[:ties]).max() < 1e-9
        assert np.abs(data.efc_J.reshape(-1, model.nv)[:ties][:, order] @ null).max() < 1e-9
    assert {*robot.joint_names} >= {"a"}  # drives lead
    assert all(joint.actuated == (joint.name in ("a", "slider")) for joint in robot.bodies)


def test_inactive_or_disabled_ties_are_none(tmp_path):
    off = TIES["anchor"].replace("<connect", '<connect active="false"')
    assert ex.load(written(tmp_path, MJCF.format(body=BODY, ties=off))).coupling is None
    text = MJCF.format(body=BODY, ties=TIES["anchor"]).replace(
        "<worldbody>", '<option><flag equality="disable"/></option><worldbody>'
    )
    assert ex.load(written(tmp_path, text)).n == 5


def test_lines_beside_a_urdf_and_keywords_say_the_same():
    by_file = ex.load(ROBOTS / "palletiser.urdf", ROBOTS / "palletiser.yaml")
    said = {"loops": [{"connect": ["rod_end", "tail"]}], "actuated": ["waist", "shoulder", "crank"]}
    by_code = ex.load(ROBOTS / "palletiser.urdf", acceleration=6.0, **said)
    assert by_file.joint_names == by_code.joint_names == ("waist", "crank", "shoulder")
    assert by_file.tree_names == ("waist", "crank", "rod", "shoulder", "elbow")
    assert [j.name for j in by_file.bodies if not j.actuated] == ["rod", "elbow"]
    assert any("2 of 3 equations are independent" in note.text for note in by_file.remarks)
    limited = ex.load(ROBOTS / "palletiser.urdf", upper={"elbow": 0.4}, **said)  # of a follower
    assert {body.name: body.limits.upper for body in limited.bodies}["elbow"] == 0.4
    locked = by_file.lock({"shoulder": 0.2})
    assert locked.joint_names == ("waist", "crank")
    assert len(ex.base(locked).model.base) < len(ex.base(by_file).model.base)


BAD = {
    "unknown frame": ({"loops": [{"connect": ["rod_end", "tael"]}]}, "unknown frame 'tael'.*did you mean 'tail'"),
    "one end": ({"loops": [{"connect": ["tail"]}]}, "joins two things"),
    "two ways": ({"loops": [{"connect": ["tail", "rod_end"], "weld": ["tail", "rod_end"]}]}, "in one way"),
    "unknown key": ({"loops": [{"conect": ["tail", "rod_end"]}]}, "conect"),
    "unknown drive": ({"loops": [{"connect": ["tail", "rod_end"]}], "actuated": ["wrist"]}, "unknown joint 'wrist'"),
    "no loop": ({"actuated": ["waist"]}, "for robots with loops"),
    "too far": ({"loops": [{"connect": ["flange", "rod_end"]}, {"connect": ["tail", "base"]}]}, "cannot close"),
    "no freedom": ({"loops": [{"weld": ["flange", "base"]}]}, "cannot close|no freedom"),
    "not loops": ({"loops": 3}, "loops"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_loops_are_refused_in_one_line(name):
    said, problem = BAD[name]
    with pytest.raises(RobotError, match=problem) as refused:
        ex.load(ROBOTS / "palletiser.urdf", said)
    assert "\n" not in str(refused.value)


def test_drives_beyond_the_freedom_are_told():
    robot = ex.load(
        ROBOTS / "palletiser.urdf",
        loops=[{"connect": ["rod_end", "tail"]}],
        actuated=["waist", "shoulder", "crank", "elbow"],
    )
    assert any("driven beyond the freedom" in note.text and "Nᵀτ" in note.text for note in robot.remarks)
    passive = ex.load(ROBOTS / "palletiser.urdf", loops=[{"connect": ["rod_end", "tail"]}], actuated=["waist", "crank"])
    assert any("no drive moves" in note.text for note in passive.remarks)
    assert sum(not joint.actuated for joint in passive.joints) == 1


@pytest.mark.parametrize("name", ["unknown frame", "too far", "no freedom"])
def test_commands_end_with_one_line_and_code_2(name, tmp_path, capsys):
    (tmp_path / "loops.yaml").write_text(yaml_text(BAD[name][0]))
    with pytest.raises(SystemExit) as leaving:
        cli.main(["base", str(ROBOTS / "palletiser.urdf"), "--config", str(tmp_path / "loops.yaml")])
    told = without_progress(capsys.readouterr().err)
    assert leaving.value.code == 2
    assert told.startswith("exciter: ")
    assert told.count("\n") == 1
