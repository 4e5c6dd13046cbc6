"""What an MJCF file can say, compared with MuJoCo's own inverse dynamics: the robot has the same torques, or the file
is refused, or a remark says what is missing."""

import re
from dataclasses import dataclass

import mujoco
import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.errors import RobotError
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import Motion, load
from exciter.robot.mjcf_vocabulary import HARMLESS_SECTIONS, KNOWN_SECTIONS

BASE = """<mujoco model="m">
  <compiler angle="radian" {compiler}/>
  <option {option}><flag {flag}/></option>
  <default><geom contype="0" conaffinity="0"/>{default}</default>
  {section}
  <worldbody>
    {world}
    <body name="b1" pos="0.1 0 0.2" euler="0.1 0.2 -0.3" {body}>
      {inside}
      <joint name="j1" axis="0 1 0" damping="0.4" {joint}/>
      <geom name="g1" type="capsule" size="0.05 0.2" pos="0.1 0 0" {geom}/>
      <geom name="g2" type="box" size="0.1 0.05 0.04" pos="0 0.1 0" group="4"/>
      <body name="b2" pos="0.3 0 0">
        <joint name="j2" axis="0 0 1" pos="0.02 0 0" frictionloss="0.3" armature="0.02" {second}/>
        <inertial mass="1.2" pos="0.1 0.02 0" {inertial}/>
        <geom type="sphere" size="0.06"/>
        <geom type="sphere" size="0.05" pos="0.1 0 0" group="4"/>
        <body name="b3" pos="0.2 0 0">
          <joint name="j3" type="slide" axis="1 0 0"/>
          <joint name="j4" axis="1 0 0" range="-3 3"/>
          <geom type="ellipsoid" size="0.05 0.1 0.07" mass="0.8" pos="0.05 0 0"/>
          <geom type="sphere" size="0.05" group="4"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="t" {tendon}><joint joint="j1" coef="2"/><joint joint="j2" coef="1"/></fixed></tendon>
  <actuator>{actuator}</actuator>
</mujoco>"""
PLACES = re.findall(r"{(\w+)}", BASE)
WHOLE = {"inertial": 'diaginertia="0.02 0.03 0.04"'}


@dataclass(frozen=True)
class Said:
    """Words at a place of the file. noted: of the remark that says what is missing. refused: of the message."""

    place: str
    words: str
    noted: str = ""
    refused: str = ""


SAME = [
    *(Said("option", words) for words in (
        'gravity="1 2 -5"', 'wind="1 2 3"', 'magnetic="1 2 3"', 'integrator="implicitfast"', 'integrator="RK4"',
        'cone="elliptic"', 'timestep="0.01"', 'density="0" viscosity="0"', 'o_margin="0.1"', 'impratio="10"',
        'actuatorgroupdisable="0"',
    )),
    *(Said("flag", f'{word}="disable"') for word in (
        "gravity", "damper", "frictionloss", "constraint", "equality", "limit", "contact", "actuation", "spring",
        "sensor", "warmstart", "filterparent", "refsafe", "eulerdamp",
    )),
    *(Said("flag", f'{word}="enable"') for word in ("override", "energy", "fwdinv", "sleep")),
    *(Said("compiler", words) for words in (
        'eulerseq="zyx"', 'eulerseq="XyZ"', 'inertiafromgeom="true"',
        'inertiafromgeom="false" boundmass="0.2" boundinertia="0.01"',
        'boundmass="2"', 'boundinertia="0.1"', 'inertiagrouprange="0 3"', 'inertiagrouprange="4 5"',
        'autolimits="true"', 'fusestatic="true"', 'discardvisual="true" inertiafromgeom="auto"', 'usethread="false"',
    )),
    *(Said("joint", words) for words in (
        'armature="0.5"', 'frictionloss="0.7"', 'ref="0.4"', 'springref="1"', 'margin="0.1"', 'range="-3 3"',
        'pos="0 0 0.1"', 'actuatorfrcrange="-5 5"', 'actuatorgravcomp="true"', 'group="3"',
        'solimpfriction="0.99 0.99 0.01 0.5 2"',
    )),
    *(Said("second", words) for words in ('ref="0.3"', 'damping="0.2"', 'type="slide" ref="0.1"')),
    *(Said("geom", words) for words in (
        'density="300"', 'mass="2"', 'fluidshape="ellipsoid"', 'friction="2"', 'condim="6"', 'rgba="1 0 0 1"',
        'group="2"', 'quat="1 2 3 4"', 'margin="0.1"', 'solref="0.1 1"',
    )),
    *(Said("body", words) for words in ('xyaxes="0 1 0 -1 0 0"', 'zaxis="1 0 1"')),  # euler goes, below
    Said("inertial", 'fullinertia="0.02 0.03 0.04 0.001 0.002 -0.001"'),
    Said("inertial", 'diaginertia="0.02 0.03 0.04" euler="0.3 0.2 0.1"'),
    Said("inside", '<geom type="sphere" size="0.1" density="500" pos="0 0 0.2"/>'),
    Said("inside", '<body name="stuck" pos="0 0 0.3"><geom type="cylinder" size="0.05 0.1"/></body>'),
    Said("inside", '<camera name="c"/><light name="l"/>'),
    Said("world", '<body name="target" mocap="true"><geom size="0.1"/></body>'),
    Said("world", '<body name="table" gravcomp="1"><geom type="box" size="0.1 0.1 0.1"/></body>'),
    Said("default", '<joint armature="0.1" damping="0.3" frictionloss="0.2"/>'),
    Said("actuator", '<position joint="j1" damping="0.3"/>'),
    Said("default", '<default class="y"><geom density="500"/></default><motor armature="0.1"/>'),
    Said("default", '<default class="x"><joint damping="9"/></default>'),
    Said("tendon", 'margin="0.1" group="2"'),
    Said("actuator", '<motor joint="j1" gear="3" armature="0.1"/>'),
    Said("actuator", '<motor joint="j2" gear="-2" damping="0.1"/><position joint="j2" kp="9" armature="0.02"/>'),
    Said("actuator", '<position joint="j1" kp="100" kv="10"/><velocity joint="j2" kv="3"/><general tendon="t"/>'),
    Said("section", '<keyframe><key qpos="0.1 0.2 0.3 0.4"/></keyframe><sensor><jointpos joint="j1"/></sensor>'),
    Said("section", '<visual><global fovy="30"/></visual><statistic extent="1"/><size memory="1M"/><custom/>'),
    Said("section", '<contact><exclude body1="b1" body2="b3"/></contact>'),
    Said("section", '<equality><joint joint1="j1" active="false"/></equality>'),
]  # fmt: skip
NOTED = [
    Said("joint", 'stiffness="3"', noted=r"springs \(stiffness\) of joints 'j1'.*lack"),
    Said("joint", 'stiffness="3" springref="0.5"', noted="springs"),
    Said("default", '<joint stiffness="2"/>', noted="springs.*'j1', 'j2', 'j3', 'j4'"),
    Said("second", 'damping="0.1 0.2"', noted="damping of joints 'j2' that grows"),
    Said("second", 'stiffness="0 2"', noted="springs"),
    Said("tendon", 'stiffness="2" springlength="1"', noted="forces and limits of tendons.*'t': stiffness"),
    Said("tendon", 'damping="2"', noted="'t': damping"),
    Said("tendon", 'frictionloss="0.4"', noted="'t': frictionloss"),
    Said("tendon", 'armature="0.3"', noted="'t': armature"),
    Said("tendon", 'range="-0.01 0.01"', noted="'t': range"),
    Said("default", '<tendon damping="1"/>', noted="'t': damping"),
    Said("actuator", '<motor name="m" tendon="t" armature="0.1"/>', noted="of drives .*'m': armature"),
]
REFUSED = [
    Said("option", 'density="1.2"', refused="fluid"),
    Said("option", 'viscosity="0.01"', refused="fluid"),
    Said("body", 'gravcomp="1"', refused="body 'b1' has gravcomp.*joint 'j1'"),
    Said("joint", 'springdamper="0.1 1"', refused="springdamper.*mj_saveLastXML"),
    Said("compiler", 'settotalmass="3"', refused="settotalmass"),
    Said("compiler", 'balanceinertia="true"', refused="balanceinertia"),
    Said("geom", 'shellinertia="true"', refused="shellinertia"),
    Said("actuator", '<motor joint="j1" damping="0.1 0.2"/>', refused="damping beyond the linear one"),
    Said("section", '<equality><weld body1="b3"/></equality>', refused="leave no freedom"),
    Said("inside", '<frame pos="0 0 1"><geom size="0.1"/></frame>', refused="<frame>.*not supported"),
    Said("inside", '<replicate count="2"><geom size="0.1"/></replicate>', refused="<replicate>"),
    Said("world", '<body><freejoint/><geom size="0.1"/></body>', refused="free joint"),
    Said("world", '<body><joint type="ball"/><geom size="0.1"/></body>', refused="'ball'"),
]
#: What MuJoCo does not have (yet) is refused, wherever it may change a torque.
UNKNOWN = [
    *(Said(place, 'wobble="1"', refused="'wobble'.*not known") for place in (
        "compiler", "option", "flag", "body", "joint", "geom", "inertial", "tendon",
    )),
    *(Said(place, "<wobble/>", refused="<wobble>.*not supported") for place in (
        "section", "world", "inside", "default", "actuator",
    )),
    Said("actuator", '<motor joint="j1" wobble="1"/>', refused="wobble"),
    Said("default", '<joint wobble="1"/>', refused="wobble"),
    Said("section", "<equality><wobble/></equality>", refused="wobble"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """MuJoCo writes what it complains of to a file where it runs."""
    monkeypatch.chdir(tmp_path)


def text_of(*said):
    words = dict.fromkeys(PLACES, "") | WHOLE
    for one in said:
        words[one.place] = one.words if one.place in WHOLE else f"{words[one.place]} {one.words}"
    text = BASE.format(**words)
    if re.search("xyaxes|zaxis", words["body"]):
        text = text.replace('euler="0.1 0.2 -0.3" ', "")
    return text


def torques(path, said):
    """Of the robot and of MuJoCo, over a few states, the joints in MuJoCo's order; and the robot."""
    path.write_text(text_of(*said), encoding="utf-8")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    robot = load(path)
    names = [model.joint(k).name for k in range(model.njnt)]
    assert set(robot.joint_names) == set(names)
    rng = np.random.default_rng(7)
    q = 0.5 * rng.standard_normal((6, model.nv))
    qd = rng.choice([-1.0, 1.0], q.shape) * rng.uniform(0.5, 2.0, q.shape)  # far from rest: dry friction is ±Fs
    qdd = rng.uniform(-2.0, 2.0, q.shape)
    expected = np.empty_like(q)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], qd[k], qdd[k]
        mujoco.mj_inverse(model, data)
        expected[k] = data.qfrc_inverse
    order = [names.index(name) for name in robot.joint_names]
    whole = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb()))
    reached = whole.torque(Motion.at(q[:, order], qd[:, order], qdd[:, order]), whole.nominal)
    return reached, expected[:, order], robot


def assert_same(reached, expected):
    np.testing.assert_allclose(reached, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def named(said):
    return f"{said.place}: {said.words}"[:60]


@pytest.mark.parametrize("said", SAME, ids=named)
def test_torques_are_mujocos(said, tmp_path):
    reached, expected, robot = torques(tmp_path / "m.xml", [said])
    assert_same(reached, expected)
    assert not [remark for remark in texts(robot.remarks) if "lack" in remark]


@pytest.mark.parametrize("said", NOTED, ids=named)
def test_missing_torque_is_remarked(said, tmp_path):
    """Torques differ, and a remark says by what."""
    reached, expected, robot = torques(tmp_path / "m.xml", [said])
    assert np.abs(reached - expected).max() > 1e-3
    assert re.search(said.noted, "\n".join(texts(robot.remarks)))
    assert re.search(said.noted, "\n".join(robot.lacking))
    limits = TorqueLimits.of(robot.with_limits(torque=100.0))
    assert all(row.assumed for row in limits.rows)  # kept, never proved: the torque is another one
    assert any(re.search(said.noted, sentence) for sentence in limits.unchecked)


@pytest.mark.parametrize("said", REFUSED, ids=named)
def test_torque_of_another_kind_is_refused(said, tmp_path):
    """MuJoCo takes the file."""
    (tmp_path / "m.xml").write_text(text_of(said), encoding="utf-8")
    mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    with pytest.raises(RobotError, match=said.refused):
        load(tmp_path / "m.xml")


@pytest.mark.parametrize("said", UNKNOWN, ids=named)
def test_unknown_words_are_refused(said, tmp_path):
    (tmp_path / "m.xml").write_text(text_of(said), encoding="utf-8")
    with pytest.raises(RobotError, match=said.refused):
        load(tmp_path / "m.xml")


@pytest.mark.parametrize("seed", range(30))
def test_any_combination_of_harmless_and_modelled_words(seed, tmp_path):
    """At most one of everything, so that the file is one."""
    rng = np.random.default_rng(seed)
    words: dict[str, Said] = {}
    for k in rng.permutation(len(SAME))[:20]:
        one = SAME[k]
        before = words[one.place].words if one.place in words else ""
        said_before, says = (set(re.findall(r"(\w+)=", text)) for text in (before, one.words))
        if not before or (one.place in ("compiler", "option", "flag", "joint", "geom") and not said_before & says):
            words[one.place] = Said(one.place, f"{before} {one.words}")
    reached, expected, robot = torques(tmp_path / "m.xml", list(words.values()))
    if not [remark for remark in texts(robot.remarks) if "of drives" in remark]:  # of a tendon, from defaults
        assert_same(reached, expected)


def test_springs_and_gravity_compensation_that_are_switched_off_or_driven(tmp_path):
    """A spring without force is no remark; weight that drives carry is the joints' torque, as here."""
    off = [Said("joint", 'stiffness="3"'), Said("flag", 'spring="disable"')]
    reached, expected, robot = torques(tmp_path / "m.xml", off)
    assert_same(reached, expected)
    assert not [remark for remark in texts(robot.remarks) if "spring" in remark]
    driven = [Said("body", 'gravcomp="0.7"'), Said("joint", 'actuatorgravcomp="true"')]
    reached, expected, _ = torques(tmp_path / "m.xml", driven)
    assert_same(reached, expected)


def test_equalities_that_are_switched_off(tmp_path):
    tie = Said("section", '<equality><joint joint1="j1" joint2="j2"/></equality>')
    for off in (Said("flag", 'equality="disable"'), Said("default", '<equality active="false"/>')):
        assert_same(*torques(tmp_path / "m.xml", [tie, off])[:2])


def test_kinds_of_drives_share_defaults(tmp_path):
    kinds = [Said("default", '<motor armature="0.1" gear="2"/>'), Said("actuator", '<position joint="j1" kp="9"/>')]
    reached, expected, robot = torques(tmp_path / "m.xml", kinds)
    assert_same(reached, expected)
    assert robot.friction["rotor_inertia"][robot.index("j1")] == pytest.approx(0.4)


def test_drives_and_plugins_are_remarked(tmp_path):
    cogging = Said("actuator", '<dcmotor name="d" joint="j1" motorconst="0.1" resistance="1" cogging="0.1 6"/>')
    plugin = Said("section", '<extension><plugin plugin="own.spring"/></extension>')
    (tmp_path / "m.xml").write_text(text_of(cogging, plugin), encoding="utf-8")
    remarks = "\n".join(texts(load(tmp_path / "m.xml").remarks))
    assert "'d': cogging" in remarks
    assert "plugins 'own.spring' are not run" in remarks


def test_mocap_body_that_carries_the_robot_is_remarked(tmp_path):
    text = text_of().replace('<body name="b1"', '<body name="hand" mocap="true"><body name="b1"')
    text = text.replace("</body>\n  </worldbody>", "</body></body>\n  </worldbody>")
    (tmp_path / "m.xml").write_text(text, encoding="utf-8")
    mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    assert "mocap bodies 'hand' are taken as fixed" in "\n".join(texts(load(tmp_path / "m.xml").remarks))


def test_geoms_of_unknown_kind_do_not_go_without_mass(tmp_path):
    (tmp_path / "m.xml").write_text(text_of(Said("inside", '<geom type="sdf" size="0.1"/>')), encoding="utf-8")
    with pytest.raises(RobotError, match="type 'sdf', whose inertia is not known here"):
        load(tmp_path / "m.xml")


def test_vocabulary_has_every_word_of_mujoco():
    """So that no valid file is refused by mistake; what a newer MuJoCo adds is refused until it has been judged."""
    if tuple(map(int, mujoco.__version__.split(".")[:2])) > (4, 0):
        pytest.skip("a newer MuJoCo than the one whose words were judged")
    unsupported = {"plugin", "flexcomp", "composite", "frame", "replicate", "attach", "model", "flex", "include"}
    missing = []
    path: list[tuple[int, str, set[str]]] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        head = re.match(r"( *)(\(world\)body|\w+) \(.\)", line)
        if head:
            depth = len(head[1])
            path = [entry for entry in path if entry[0] < depth]
            tag = head[2].replace("(world)body", "worldbody" if len(path) == 1 else "body")
            path.append((depth, tag, set()))
        words = line[30:].split() if len(line) > 30 else []
        tags = [tag for _, tag, _ in path]
        if len(tags) < 2 or tags[1] in HARMLESS_SECTIONS or unsupported & set(tags):
            continue
        known = KNOWN_SECTIONS.get(tags[1])
        tag = "body" if tags[-1] == "worldbody" else tags[-1]
        if known is None or (tag not in known and len(tags) > 2):
            missing.append(tags)
        elif (allowed := known.get(tag)) is not None:
            missing += [(*tags, word) for word in words if word not in allowed]
    assert not missing


# -- URDF: what simulators add to it -----------------------------------------------------------------------------------

URDF = """<robot name="r"><link name="a"/>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.1" friction="0.2" {dynamics}/>
    <calibration rising="0"/></joint>
  {beside}</robot>"""


@pytest.mark.parametrize(
    ("words", "remark"),
    [
        ({"dynamics": 'spring_stiffness="3"'}, "<dynamics spring_stiffness> of 'j' is not part"),
        ({"beside": '<gazebo reference="j"><springStiffness>3</springStiffness></gazebo>'}, "<springStiffness> of 'j'"),
        ({"beside": '<gazebo reference="b"><turnGravityOff>true</turnGravityOff></gazebo>'}, "<turnGravityOff> of 'b'"),
        ({"beside": '<gazebo reference="b"><gravity>0</gravity></gazebo>'}, "<gravity> of 'b'"),
        ({"beside": '<gazebo><joint name="loop" type="revolute"/></gazebo>'}, "<gazebo> <joint> of 'the robot'"),
        ({"beside": '<mujoco><compiler balanceinertia="true"/></mujoco>'}, "<mujoco> balanceinertia"),
        ({"beside": '<mujoco><option density="1000"/></mujoco>'}, "<mujoco> density"),
    ],
)
def test_urdf_remarks_on_forces_of_simulators(words, remark, tmp_path):
    (tmp_path / "r.urdf").write_text(URDF.format(**{"dynamics": "", "beside": ""} | words), encoding="utf-8")
    assert [one for one in texts(load(tmp_path / "r.urdf").remarks) if remark in one and "lack what it adds" in one]


def test_urdf_keeps_quiet_about_what_changes_nothing(tmp_path):
    beside = """<transmission name="t"><joint name="j"/></transmission><ros2_control name="x" type="system"/>
      <gazebo reference="b"><gravity>true</gravity><turnGravityOff>false</turnGravityOff><material>x</material></gazebo>
      <gazebo reference="j"><springStiffness>0</springStiffness><implicitSpringDamper>1</implicitSpringDamper></gazebo>
      <mujoco><compiler meshdir="m" discardvisual="true"/></mujoco>"""
    (tmp_path / "r.urdf").write_text(URDF.format(dynamics="", beside=beside), encoding="utf-8")
    assert not [one for one in texts(load(tmp_path / "r.urdf").remarks) if "lack" in one]
