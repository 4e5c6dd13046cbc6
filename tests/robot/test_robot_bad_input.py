"""What is wrong with a robot file is told in one clear line, and nothing outside its folder is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.errors import ExciterError, RobotError
from exciter.notes import texts
from exciter.robot import xml_safety
from exciter.robot.description import read_mjcf, read_urdf
from exciter.robot.drawing import drawing
from exciter.robot.load import RobotOptions, load, options_from
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import asset_path
from exciter.robot.yaml_file import read_yaml
from support.paths import ROBOTS

GRIPPER = (ROBOTS / "gripper_arm.urdf").read_text()
GANTRY = (ROBOTS / "gantry.urdf").read_text()
ARM = (ROBOTS / "arm.xml").read_text()


def refusal(folder: Path, text: str | bytes, name: str = "robot.urdf") -> str:
    """The one line with which reading this text is refused."""
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(RobotError) as caught:
        load(file)
    line = str(caught.value)
    assert "\n" not in line
    return line


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def joint(name: str, parent: str, child: str, kind: str = "fixed") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></joint>'


END = "</robot>"
URDF_CASES = {
    "truncated": (GANTRY, GANTRY[-200:], "", "not well-formed XML: unclosed token: line"),
    "mismatched": (GANTRY, '<link name="floor"/>', '<link name="floor">', "mismatched tag: line"),
    "negative mass": (GANTRY, '"1.2"', '"-1.2"', "link 'spindle' has the negative mass -1.2 kg"),
    "negative mass on the base": (GANTRY, '"40"', '"-40"', "link 'frame' has the negative mass"),
    "no mass": (GANTRY, '<mass value="40"/>', "", "link 'frame' has an <inertial> without <mass"),
    "NaN mass": (GANTRY, '"1.2"', '"NaN"', "value=\"NaN\" in <mass> of link 'spindle' is not finite"),
    "infinite inertia": (GANTRY, 'ixx="0.004"', 'ixx="1e999"', "link 'spindle' is not finite"),
    "missing moment": (GANTRY, 'ixx="0.004" ', "", "<inertia> of link 'spindle' lacks ixx"),
    "NaN limit": (GANTRY, 'lower="-1"', 'lower="nan"', "lower=\"nan\" in <limit> of joint 'x' is not finite"),
    "infinite velocity": (GANTRY, 'velocity="1.2"', 'velocity="inf"', "<limit> of joint 'x' is not finite"),
    "word limit": (GANTRY, 'lower="-1"', 'lower="low"', "joint 'x' is not a number"),
    "underscore": (GANTRY, 'effort="800"', 'effort="8_00"', "joint 'x' is not a number"),
    "reversed limits": (GANTRY, 'lower="-1"', 'lower="2"', "joint 'x' has lower limit 2 and upper limit 1.5"),
    "negative velocity": (GANTRY, 'velocity="1.2"', 'velocity="-1"', "velocity limit of joint 'x' is -1"),
    "negative damping": (GANTRY, 'damping="20"', 'damping="-2"', "joint 'x' has negative damping"),
    "short vector": (GANTRY, 'xyz="0 0 2"', 'xyz="0 2"', "must be 3 numbers"),
    "no axis": (GANTRY, 'axis xyz="1 0 0"', 'axis xyz="0 0 0"', "the axis of joint 'x' has no direction"),
    "quaternion": (GANTRY, '<origin xyz="0 0 2"', '<origin quat_xyzw="0 0 0 1" xyz="0 0 2"', "as rpy"),
    "floating": (GANTRY, '"mount" type="fixed"', '"mount" type="floating"', "joint 'mount' is 'floating'; allowed"),
    "planar": (GANTRY, 'name="x" type="prismatic"', 'name="x" type="planar"', "joint 'x' is 'planar'; allowed"),
    "spherical": (GANTRY, 'name="x" type="prismatic"', 'name="x" type="ball"', "joint 'x' is 'ball'; allowed"),
    "no type": (GANTRY, ' type="fixed"', "", "joint 'mount' is ''; allowed are"),
    "mimic of nobody": (GANTRY, '<dynamics damping="12"/>', '<mimic joint="u"/>', "mimic of 'y': unknown joint 'u'"),
    "mimic of itself": (GANTRY, '<dynamics damping="12"/>', '<mimic joint="y"/>', "in a circle (mimic): 'y' → 'y'"),
    "mimic by nothing": (
        GANTRY,
        '<dynamics damping="12"/>',
        '<mimic joint="x" multiplier="0"/>',
        "joint 'y' follows 'x' (mimic) with the multiplier 0",
    ),
    "mimic in words": (
        GANTRY,
        '<dynamics damping="12"/>',
        '<mimic joint="x" multiplier="two"/>',
        "multiplier='two' in <mimic> of joint 'y' is not a number",
    ),
    "two roots": (GANTRY, END, '<link name="island"/></robot>', "several root links ('floor', 'island')"),
    "same link": (GANTRY, END, '<link name="floor"/></robot>', "uses the link name 'floor' twice"),
    "same joint": (GANTRY, 'name="y"', 'name="x"', "uses the joint name 'x' twice"),
    "no name": (GANTRY, '<link name="floor"/>', "<link/>", "a link without a name"),
    "unknown link": (GANTRY, 'parent link="floor"', 'parent link="ceiling"', "has the parent link 'ceiling'"),
    "two parents": (
        GANTRY,
        END,
        joint("closing", "spindle", "bridge") + END,
        "link 'bridge' of",
    ),
    "cycle": (GANTRY, END, joint("closing", "spindle", "floor") + END, "a kinematic loop"),
    "detached cycle": (
        GANTRY,
        END,
        f'<link name="p"/><link name="q"/>{joint("pq", "p", "q")}{joint("qp", "q", "p")}{END}',
        "link 'p' of",
    ),
    "doctype": (GANTRY, "<robot ", "<!DOCTYPE robot>\n<robot ", "has a DTD or an entity (line 3)"),
    "xacro": (GANTRY, END, '<xacro:arm name="a"/></robot>', "is a xacro file; expand it first"),
    "xacro expression": (GANTRY, 'effort="800"', 'effort="${force}"', "is a xacro file; expand it first"),
    "odd shape": (GANTRY, '<cylinder radius="0.04"', '<torus radius="0.04"', "has the geometry <torus>"),
    "two shapes in one": (
        GANTRY,
        '<geometry><cylinder radius="0.05"',
        '<geometry><sphere radius="9"/><cylinder radius="0.05"',
        "has 2 shapes in one <collision>; give each of them its own",
    ),
    "two geometries in one": (
        GANTRY,
        '<geometry><cylinder radius="0.05"',
        '<geometry><sphere radius="9"/></geometry><geometry><cylinder radius="0.05"',
        "has 2 shapes in one <collision>",
    ),
    "negative radius": (GANTRY, '<cylinder radius="0.04"', '<cylinder radius="-1"', "must be given and positive"),
}


@pytest.mark.parametrize("case", URDF_CASES.values(), ids=URDF_CASES.keys())
def test_bad_urdf(case: tuple[str, str, str, str], tmp_path: Path) -> None:
    text, old, new, message = case
    assert message in refusal(tmp_path, changed(text, old, new))


MJCF_CASES = {
    "include": (END_OF := "</mujoco>", '<include file="other.xml"/></mujoco>', "has <include>, which is not"),
    "frame": ('<site name="corner" pos="1 1 0"/>', '<frame pos="0 0 1"/>', "has <frame>, which is not supported"),
    "connect": (
        END_OF,
        '<equality><connect body1="hand" body2="hand" anchor="0 0 0"/></equality></mujoco>',
        "which are on one body",
    ),
    "coupled": (
        END_OF,
        '<equality><joint joint1="roll" joint2="roll" polycoef="0 1 0.5"/></equality></mujoco>',
        "joint 'roll' is said to follow itself",
    ),
    "free": ('<joint name="turn"', '<freejoint/><joint name="turn"', "body 'column' has a free joint"),
    "ball": ('<joint name="roll"', '<joint type="ball" name="roll"', "joint 'roll' is 'ball'; allowed"),
    "NaN": ('pos="0.15 0.01 0"', 'pos="nan 0 0"', "body 'upper' is not finite"),
    "negative mass": ('mass="2"', 'mass="-2"', "body 'upper' has the negative mass -2 kg"),
    "negative geom": ('mass="0.3"', 'mass="-0.3"', "a geom of body 'hand' has the negative mass"),
    "no inertia": ('diaginertia="0.004 0.005 0.003"', "", "neither diaginertia nor fullinertia"),
    "same name": (
        'joint name="belt"',
        'joint name="turn"',
        'repeated name \'turn\' in joint in <joint name="turn" type="slide"',
    ),
    "same body": ('body name="conveyor"', 'body name="hand"', "repeated name 'hand' in body in <body name"),
    "world": ('body name="conveyor"', 'body name="world"', "repeated name 'world' in body"),
    "unknown class": ('class="arm" axis', 'class="leg" axis', "unknown default class name 'leg' in <joint"),
    "range": ('range="-90 120"', 'range="90 -120"', "the lower one must be smaller"),
    "empty range": ('range="-90 120"', 'range="0 0"', "range='0 0' of the file: the lower one must be smaller"),
    "one place": ('range="-90 120"', 'range="0.1 0.1"', "the lower one must be smaller"),
    "no force": ('range="-90 120"', 'range="-90 120" actuatorfrcrange="5 5"', "actuatorfrcrange='5 5' of the file"),
    "two orientations": (
        'axisangle="0 1 1 40"',
        'axisangle="0 1 1 40" euler="0 0 0"',
        "multiple orientation specifiers",
    ),
    "quaternion": ('quat="0.9 0.1 -0.2 0.3"', 'quat="0 0 0 0"', "zero quaternion is not allowed in <body name"),
    "euler": ('eulerseq="XYz"', 'eulerseq="abc"', "euler sequence can only contain x, y, z"),
    "total mass": ('boundmass="0.01"', 'settotalmass="3"', "mj_saveLastXML"),
}


@pytest.mark.parametrize("case", MJCF_CASES.values(), ids=MJCF_CASES.keys())
def test_bad_mjcf(case: tuple[str, str, str], tmp_path: Path) -> None:
    old, new, message = case
    assert message in refusal(tmp_path, changed(ARM, old, new), "robot.xml")


def test_mujoco_leaves_no_file_of_its_complaints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes MUJOCO_LOG.TXT where it runs, on a NaN."""
    monkeypatch.chdir(tmp_path)
    for bad in ("nan 0 0", "0 NaN(7) 0", "0 -nan 0", "1e400 0 0", "0 0"):
        refusal(tmp_path, changed(ARM, 'pos="0.15 0.01 0"', f'pos="{bad}"'), "robot.xml")
    assert [file.name for file in tmp_path.iterdir()] == ["robot.xml"]


def test_names_may_contain_nan(tmp_path: Path) -> None:
    """A texture called nano is no number."""
    path = tmp_path / "robot.xml"
    texture = '<texture name="nano" type="2d" builtin="flat" width="1" height="1"/><material name="a" texture="nano"/>'
    path.write_text(changed(ARM, END_OF, f"<asset>{texture}</asset></mujoco>"), encoding="utf-8")
    assert load(path).n == load(ROBOTS / "arm.xml").n


def test_no_moving_joint(tmp_path: Path) -> None:
    """It is a body that moves freely, unless there is none, or too many, or it is told to stand still."""
    assert "no link" in refusal(tmp_path, '<robot name="nothing"/>')
    two = "<mujoco><worldbody><body><geom size='1'/></body><body><geom size='1'/></body></worldbody></mujoco>"
    assert "2 bodies in the world" in refusal(tmp_path, two, "robot.xml")
    assert "no body that could move" in refusal(tmp_path, "<mujoco><worldbody/></mujoco>", "robot.xml")
    rock = tmp_path / "rock.urdf"
    rock.write_text('<robot name="rock"><link name="rock"/></robot>', encoding="utf-8")
    with pytest.raises(RobotError, match="has no moving joint; with a fixed base at least one is needed"):
        load(rock, base="fixed")


# -- files ---------------------------------------------------------------------------------------------------


def test_missing_file_and_unknown_name_list_the_embedded_robots() -> None:
    with pytest.raises(RobotError, match=r"there is no robot or file 'pandaa'.*embedded robot: .*panda") as caught:
        load("pandaa")
    assert "gautier-khalil" in str(caught.value)
    with pytest.raises(RobotError, match=r"there is no file 'nowhere/arm.urdf'.*panda"):
        load("nowhere/arm.urdf")


def test_embedded_robots_load_by_name() -> None:
    assert load("panda").n == 7


@pytest.mark.parametrize("read", [read_urdf, read_mjcf])
def test_readers_refuse_missing_files_and_folders(read: object, tmp_path: Path) -> None:
    assert callable(read)
    with pytest.raises(RobotError, match="there is no file"):
        read(tmp_path / "absent.urdf")
    with pytest.raises(RobotError, match="is a folder"):
        read(tmp_path)


def test_folder_and_wrong_ending(tmp_path: Path) -> None:
    with pytest.raises(RobotError, match="is a folder; give the robot description file inside it"):
        load(tmp_path)
    assert "ends in '.txt'; a robot file ends in .urdf" in refusal(tmp_path, GANTRY, "robot.txt")


def test_wrong_root_element(tmp_path: Path) -> None:
    assert "allowed are <robot> (URDF) and <mujoco>" in refusal(tmp_path, "<sdf/>", "robot.xml")
    assert "a URDF file has <robot>" in refusal(tmp_path, ARM, "robot.urdf")
    assert "an MJCF file has <mujoco>" in refusal(tmp_path, GANTRY, "robot.mjcf")


def test_xacro_ending(tmp_path: Path) -> None:
    assert "xacro robot.urdf.xacro > robot.urdf" in refusal(tmp_path, GANTRY, "robot.urdf.xacro")


def chain(links: int, kind: str) -> str:
    """A URDF of so many links in a row, the last joint always moving."""
    parts = [f'<link name="l{i}"/>' for i in range(links)]
    parts += [joint(f"j{i}", f"l{i - 1}", f"l{i}", kind) for i in range(1, links - 1)]
    parts.append(joint("last", f"l{links - 2}", f"l{links - 1}", "continuous"))
    return f'<robot name="chain">{"".join(parts)}</robot>'


def test_giants(tmp_path: Path) -> None:
    assert "at most 200 and 2000 are allowed" in refusal(tmp_path, chain(202, "continuous"))
    assert "at most 200 and 2000 are allowed" in refusal(tmp_path, chain(2001, "fixed"))
    for links, kind, joints in ((201, "continuous", 200), (2000, "fixed", 1)):
        (tmp_path / "long.urdf").write_text(chain(links, kind))
        assert read_urdf(tmp_path / "long.urdf").n == joints


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes do not exist here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(RobotError, match="is not a regular file"):
        load(tmp_path / "pipe.urdf")


# -- XML that means harm -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE r [<!ENTITY a "b">]>',
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE r SYSTEM "file:///etc/hostname">',
        '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://localhost/x"> %p;]>',
        "<!DOCTYPE r [" + '<!ENTITY a "ha"><!ENTITY b "&a;&a;">' + "]>",
    ],
)
@pytest.mark.parametrize("name", ["robot.urdf", "robot.xml", "robot.mjcf"])
def test_dtd_and_entities(prolog: str, name: str, tmp_path: Path) -> None:
    line = refusal(tmp_path, f'<?xml version="1.0"?>\n{prolog}\n<robot name="&a;"/>', name)
    assert "has a DTD or an entity (line 2)" in line


def test_a_dtd_in_another_encoding_is_seen_too(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>'
    assert "has a DTD or an entity" in refusal(tmp_path, text.encode("utf-16"))


def test_unknown_encoding_and_binary(tmp_path: Path) -> None:
    assert "not well-formed XML" in refusal(tmp_path, '<?xml version="1.0" encoding="klingon"?><robot/>')
    assert "not well-formed XML" in refusal(tmp_path, bytes(range(256)))
    assert "not well-formed XML" in refusal(tmp_path, b"")


def test_deep_nesting(tmp_path: Path) -> None:
    assert "nests more than" in refusal(tmp_path, "<robot>" + "<a>" * 50_000)


def test_size(tmp_path: Path) -> None:
    file = tmp_path / "big.urdf"
    file.write_bytes(b"<robot>" + b" " * xml_safety.LARGEST_DESCRIPTION_BYTES)
    with pytest.raises(RobotError, match="is larger than 20 MB"):
        load(file)


def robot_or_line(read: Callable[[Path], Robot], file: Path) -> None:
    """Any other exception fails the test."""
    line = ""
    try:
        robot = read(file)
    except ExciterError as error:
        line = str(error)
    assert (len(line.splitlines()) == 1) if line else (robot.n >= 1)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(0, len(GRIPPER) - 1), st.integers(1, 40), st.sampled_from(["", "<", '"', "nan", "1e400", "-"]))
def test_a_damaged_file_never_gives_anything_but_a_robot_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, filler: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "damaged.urdf"
    file.write_text(GRIPPER[:start] + filler + GRIPPER[start + length :])
    robot_or_line(read_urdf, file)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(0, len(ARM) - 1), st.integers(1, 40), st.sampled_from(["", "<", '"', "nan", "1e400", "-"]))
def test_a_damaged_mjcf_file_neither(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, filler: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "damaged.xml"
    file.write_text(ARM[:start] + filler + ARM[start + length :])
    robot_or_line(read_mjcf, file)


# -- paths ---------------------------------------------------------------------------------------------------

MESH = "package://gripper_arm/meshes/shoulder.stl"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.stl",
        "meshes/../../secret.stl",
        "/etc/passwd",
        "file:///etc/passwd",
        "package://../../etc/passwd",
        "package://gripper_arm/../../etc/passwd",
        "model://a/../../b.stl",
        "..\\secret.stl",
        "C:\\secret.stl",
        "http://example.org/a.stl",
    ],
)
def test_mesh_paths_outside_the_folder(path: str, tmp_path: Path) -> None:
    """Never opened: a note says so, and the link is not measured."""
    file = tmp_path / "robot.urdf"
    file.write_text(changed(GRIPPER, MESH, path))
    robot = load(file)
    assert [line for line in texts(robot.notes) if "not opened" in line and "outside the allowed folder" in line]
    assert not [shape.mesh for shape in robot.shapes if shape.visible and shape.mesh]
    asset = f'<asset><mesh name="m" file="{path}"/></asset></mujoco>'
    (tmp_path / "robot.xml").write_text(changed(ARM, "</mujoco>", asset))
    robot = load(tmp_path / "robot.xml")
    assert [line for line in texts(robot.notes) if "not opened" in line and "outside the allowed folder" in line]


TETRAHEDRON = """solid t
facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet
facet normal 0 1 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\nendfacet
facet normal 1 0 0\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\nendfacet
facet normal 1 1 1\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\nendfacet
endsolid t
"""
ONE_LINK = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0"
iyy="1" iyz="0" izz="1"/></inertial>{}</link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
ONE_BODY = """<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><body name="b"><joint name="j"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


WAYS_OUT = ("climbing", "absolute", "link")


@pytest.mark.parametrize(
    ("role", "way"),
    [(role, way) for role in ("visual", "collision") for way in (*WAYS_OUT, "file://")]
    + [("MJCF", way) for way in WAYS_OUT],
)
def test_files_outside_are_never_read(role: str, way: str, tmp_path: Path) -> None:
    """A mesh that could be read, were it looked at: allowed it gives a capsule, outside neither capsule nor picture."""
    folder, secret = tmp_path / "robot", tmp_path / "secret.stl"
    folder.mkdir()
    secret.write_text(TETRAHEDRON)
    if way == "link":
        try:
            (folder / "mesh.stl").symlink_to(secret)
        except OSError:
            pytest.skip("symbolic links cannot be made here")
    reference = {"climbing": "../secret.stl", "absolute": str(secret), "file://": secret.as_uri(), "link": "mesh.stl"}
    solid = f'<{role}><geometry><mesh filename="{reference[way]}"/></geometry></{role}>'
    file = folder / ("robot.xml" if role == "MJCF" else "robot.urdf")
    file.write_text(ONE_BODY.format(reference[way]) if role == "MJCF" else ONE_LINK.format(solid))
    assert [capsule.name for capsule in load(file, mesh_root=tmp_path).capsules] == ["b"]
    closed = load(file)
    assert not closed.capsules
    assert not closed.shapes
    assert closed.unshaped == ("b",)  # under "not checked" of every certificate
    assert not drawing(closed).shapes
    assert any("not opened" in line for line in texts(closed.notes))


def test_textures_and_asset_folders_outside(tmp_path: Path) -> None:
    """Of a URDF textures are not looked at."""
    texture = '<color rgba="1 0.5 0 1"/><texture filename="../a.png"/>'
    (tmp_path / "robot.urdf").write_text(changed(GRIPPER, '<color rgba="1 0.5 0 1"/>', texture))
    load(tmp_path / "robot.urdf")
    asset = '<compiler meshdir="../meshes"/><asset><mesh file="a.stl"/></asset></mujoco>'
    (tmp_path / "robot.xml").write_text(changed(ARM, "</mujoco>", asset))
    assert any("'../meshes/a.stl'" in line for line in texts(load(tmp_path / "robot.xml").notes))


def test_a_wider_root_allows_what_the_folder_does_not(tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_text("solid a")
    file = tmp_path / "urdf" / "robot.urdf"
    file.write_text(changed(GRIPPER, MESH, "../meshes/a.stl"))
    assert not [shape.mesh for shape in read_urdf(file).shapes if shape.visible and shape.mesh]
    shapes = read_urdf(file, RobotOptions(mesh_root=tmp_path)).shapes
    (mesh,) = (s.mesh for s in shapes if s.visible and s.kind == "mesh")
    assert Path(mesh).samefile(tmp_path / "meshes" / "a.stl")
    (tmp_path / "options.yaml").write_text("mesh_root: .")
    assert (
        load(
            file,
            options_from(
                read_yaml(tmp_path / "options.yaml", "options file"), str(tmp_path / "options.yaml"), tmp_path
            ),
        ).n
        == 5
    )


def test_package_paths_are_found_with_or_without_the_package_folder(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_text("solid a")
    found = asset_path("package://name/meshes/a.stl", tmp_path, tmp_path)
    assert found == tmp_path / "meshes" / "a.stl"
    absent = asset_path("package://name/meshes/b.stl", tmp_path, tmp_path)
    assert absent == tmp_path / "name" / "meshes" / "b.stl"


def test_meshes_of_the_package_around_a_description_are_found(tmp_path: Path) -> None:
    """package://arms/… from arms/robots/one/urdf/one.urdf, without mesh_root, or one beside it: by manifests."""
    urdf = tmp_path / "share" / "arms" / "robots" / "one" / "urdf"
    urdf.mkdir(parents=True)
    for package in ("arms", "hands", "other"):
        meshes = tmp_path / "share" / package / "meshes"
        meshes.mkdir(parents=True)
        (meshes / "a.stl").write_text("solid a")
    for reference in ("package://arms/meshes/a.stl", f"package://{tmp_path.name}/share/arms/meshes/a.stl"):
        assert asset_path(reference, urdf).is_relative_to(urdf)  # a folder above it, but no package
    for package in ("arms", "hands"):
        (tmp_path / "share" / package / "package.xml").write_text("<package/>")
    for reference in ("package://arms/meshes/a.stl", "package:///arms/meshes/a.stl", "package://hands/meshes/a.stl"):
        package = reference.split("/meshes")[0].rpartition("/")[2]
        assert asset_path(reference, urdf).samefile(tmp_path / "share" / package / "meshes" / "a.stl")
    for reference in ("package://other/meshes/a.stl", "package://arms/meshes/b.stl"):  # no package, no file
        assert asset_path(reference, urdf).is_relative_to(urdf)
    assert asset_path("package://arms/meshes/a.stl", urdf, urdf).is_relative_to(urdf)  # given, it is the root
    secret = tmp_path / "secret.stl"
    secret.write_text("secret")
    try:
        (tmp_path / "share" / "arms" / "meshes" / "link.stl").symlink_to(secret)
    except OSError:
        pytest.skip("symbolic links cannot be made here")
    assert asset_path("package://arms/meshes/link.stl", urdf).is_relative_to(urdf)
    file = urdf / "one.urdf"
    file.write_text(changed(GRIPPER, MESH, "package://arms/meshes/a.stl"))
    (mesh,) = (s.mesh for s in read_urdf(file).shapes if s.visible and s.kind == "mesh")
    assert Path(mesh).samefile(tmp_path / "share" / "arms" / "meshes" / "a.stl")


# -- inertias that no body has, and options ------------------------------------------------------------------


def test_an_inertia_that_is_not_physical_is_a_note(tmp_path: Path) -> None:
    file = tmp_path / "dummy.urdf"
    file.write_text(changed(GANTRY, 'izz="0.003"', 'izz="3"'))
    assert any(
        "the body of joint 'spin' has an inertia that is not physical" in note for note in texts(read_urdf(file).notes)
    )
    assert not any("physical" in note for note in texts(read_urdf(ROBOTS / "gantry.urdf").notes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limits: {speed: 3}", "unknown limit 'speed'; valid names: lower, upper, velocity"),
        ("limit: {velocity: 3}", "unknown key 'limit'; valid names: limits, gravity, lock"),
        ("limits: {velocity: fast}", "limits: velocity is 'fast'; give a number"),
        ("limits: {velocity: true}", "limits: velocity is true; give a number"),
        ("limits: {velocity: {x: .nan}}", "limits: velocity: x is nan; give a number"),
        ("limits: {velocity: [1, 2]}", "give a number"),
        ("limits: 3", "limits is 3; give a mapping (limit: value)"),
        ("gravity: down", "gravity is 'down'; give a list of 3 numbers [m/s²]"),
        ("gravity: [0, 0, .inf]", "gravity is inf; give a number"),
        ("lock: 3", "lock is 3; give a list of joints, or a mapping (joint: value)"),
        ("- 1", "some of the keys limits, gravity, lock, only, base, loops, actuated, posture, stance, mesh_root"),
        ("limits: {velocity: [", "is not valid YAML"),
        ("a: !!python/object/apply:os.getcwd []", "is not valid YAML"),
    ],
)
def test_bad_options(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text(text)
    with pytest.raises(RobotError) as caught:
        options_from(read_yaml(file, "options file"), str(file), tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"limits": {"velocity": {"w": 1.0}}}, "unknown joint 'w'; valid names: x, y, z, spin"),
        ({"lock": ["w"]}, "unknown joint 'w'; valid names: x, y, z, spin"),
        ({"limits": {"velocity": -1}}, "the velocity limit of joint 'x' is -1; it must be positive"),
        ({"lock": {"x": 9}}, "joint 'x' cannot be locked at 9"),
    ],
)
def test_options_that_do_not_fit_the_robot(data: object, message: str) -> None:
    with pytest.raises(RobotError) as caught:
        load(ROBOTS / "gantry.urdf", options_from(data))
    assert message in str(caught.value)
