"""The torque that a joint can get is what MuJoCo's actuators can give it; what cannot be read is said."""

import itertools
import re

import mujoco
import numpy as np
import pytest

from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.errors import RobotError
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.notes import texts
from exciter.pipeline.starting_configuration import starting_configuration
from exciter.robot import load
from exciter.robot.load import RobotOptions
from support.mdh_writing import write_mdh

FILE = """<mujoco>{top}<option gravity="0 0 0"/>
<worldbody><body name="b"><joint name="j" axis="0 1 0" {joint}/><geom size="0.1" pos="0.2 0 0"/><site name="s"/>
<body name="c" pos="0 0 1"><joint name="k" axis="0 1 0" actuatorfrcrange="-9 9" actuatorfrclimited="true"/>
<geom size="0.1"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
<actuator>{actuators}</actuator></mujoco>"""

#: Words of the joint, actuators, words before all.
BOUNDED = {
    "control": ("", '<motor joint="j" ctrlrange="-3 4"/>', ""),
    "gear": ("", '<motor joint="j" ctrlrange="-1 1" gear="50"/>', ""),
    "a gear that turns the other way": ("", '<motor joint="j" ctrlrange="-1 2" gear="-50 3 3"/>', ""),
    "force": ("", '<motor joint="j" forcerange="-2 3" gear="10"/>', ""),
    "force before control": ("", '<motor joint="j" forcerange="-2 3" ctrlrange="-5 5" gear="10"/>', ""),
    "control before force": ("", '<motor joint="j" forcerange="-20 30" ctrlrange="-5 5"/>', ""),
    "the joint before its drive": ('actuatorfrcrange="-2 5"', '<motor joint="j" ctrlrange="-3 3"/>', ""),
    "the drive before its joint": ('actuatorfrcrange="-7 7"', '<motor joint="j" ctrlrange="-3 3"/>', ""),
    "the joint alone": ('actuatorfrcrange="-7 6"', '<position joint="j" kp="1e9"/>', ""),
    "a joint that is not limited": (
        'actuatorfrcrange="-1 1" actuatorfrclimited="false"', '<motor joint="j" ctrlrange="-3 3"/>', "",
    ),
    "a control that is not limited": (
        "", '<motor joint="j" ctrllimited="false" ctrlrange="-1 1" forcerange="-9 9"/>', "",
    ),
    "limits that have to be said": (
        "", '<motor joint="j" ctrllimited="true" ctrlrange="-4 4"/>', '<compiler autolimits="false"/>',
    ),
    "a range without width": ("", '<motor joint="j" ctrlrange="-6 6" forcerange="0 0"/>', ""),
    "infinite controls": ("", '<motor joint="j" ctrlrange="-inf Inf" forcerange="-3 3"/>', ""),
    "two drives": (
        "", '<motor joint="j" ctrlrange="-3 4"/><motor joint="j" ctrlrange="-1 1" gear="-2"/>', "",
    ),
    "one way and the other": (
        "", '<motor joint="j" ctrlrange="0 4"/><motor joint="j" ctrlrange="0 1" gear="-2"/>', "",
    ),
    "two drives at a joint with a limit": (
        'actuatorfrcrange="-4 4"', '<motor joint="j" ctrlrange="-3 3"/><motor joint="j" ctrlrange="-3 3"/>', "",
    ),
    "a servo with a force": ("", '<position joint="j" kp="1e9" forcerange="-8 9"/>', ""),
    "a velocity servo with a force": ("", '<velocity joint="j" kv="1e9" forcerange="-8 9" gear="2"/>', ""),
    "a general one": ("", '<general joint="j" gainprm="3" ctrlrange="-2 2"/>', ""),
    "a negative gain": ("", '<general joint="j" gainprm="-3" ctrlrange="-2 1"/>', ""),
    "a bias of nothing": ("", '<general joint="j" biastype="affine" biasprm="0 0 0" ctrlrange="-2 2"/>', ""),
    "a filter": ("", '<general joint="j" dyntype="filter" dynprm="0.1" gainprm="3" ctrlrange="-2 2"/>', ""),
    "a filter that is limited": (
        "", '<general joint="j" dyntype="filter" dynprm="0.1" ctrlrange="-2 2" actrange="-1 1"/>', "",
    ),
    "an integrator": ("", '<general joint="j" dyntype="integrator" actrange="-2 2" ctrlrange="-50 50"/>', ""),
    "seen from the parent": ("", '<motor jointinparent="j" ctrlrange="-3 3"/>', ""),
    "a motor after defaults of others": (
        "", '<motor joint="j" ctrlrange="-3 3"/>',
        '<default><general gainprm="7" biastype="affine" biasprm="1 2 3" dyntype="integrator"/></default>',
    ),
    "ranges of defaults": (
        "", '<motor joint="j" class="x"/>',
        '<default><motor gear="2" ctrlrange="-1 1"/><default class="x"><motor ctrlrange="-4 4"/></default></default>',
    ),
    "a drive whose group is off": (
        "", '<motor joint="j" ctrlrange="-3 3"/><motor joint="j" group="2" ctrlrange="-5 5"/>',
        '<option actuatorgroupdisable="2 3"/>',
    ),
    "controls that are not clamped": (
        "", '<motor joint="j" ctrlrange="-1 1" forcerange="-5 5"/>',
        '<option><flag clampctrl="disable"/></option>',
    ),
    "a general one after a motor among the defaults": (
        "", '<general joint="j"/>', '<default><general gainprm="100"/><motor ctrlrange="-1 1"/></default>',
    ),
    "a general one after a general one among the defaults": (
        "", '<general joint="j"/>', '<default><motor ctrlrange="-1 1"/><general gainprm="100"/></default>',
    ),
    "a motor in a class of a servo's": (
        "", '<general joint="j" class="x"/>',
        '<default><position kp="100"/><default class="x"><motor ctrlrange="-1 1"/></default></default>',
    ),
    "a control that a damper among the defaults limits": (
        "", '<motor joint="j" ctrlrange="-3 3" forcelimited="true" forcerange="-9 9"/>',
        '<compiler autolimits="false"/><default><damper kv="1" ctrlrange="0 1"/></default>',
    ),
    "a general servo with a force": (
        "", '<general joint="j" gainprm="1e9" biastype="affine" biasprm="0 -1e9" forcerange="-8 9"/>', "",
    ),
}  # fmt: skip

#: Drives that have a bound, and in some posture or at some speed do not reach it.
POSED = {
    "a servo with limits of its command": (
        "", '<position name="m" joint="j" kp="9" ctrlrange="-1 1" forcerange="-8 8"/>', "",
    ),
    "a servo that inherits them": (
        'range="-40 40"', '<position name="m" joint="j" kp="9" inheritrange="1" forcerange="-8 8"/>', "",
    ),
    "a servo without a gain": ("", '<position name="m" joint="j" kp="0" forcerange="-8 8"/>', ""),
    "a servo at a joint with a limit": (
        'actuatorfrcrange="-8 8"', '<position name="m" joint="j" kp="9" ctrlrange="-1 1"/>', "",
    ),
    "a velocity servo": ("", '<velocity name="m" joint="j" kv="9" ctrlrange="-1 1" forcerange="-8 8"/>', ""),
    "an integrated velocity": (
        "", '<intvelocity name="m" joint="j" kp="9" actrange="-1 1" forcerange="-8 8"/>', "",
    ),
    "a cylinder": (
        "", '<cylinder name="m" joint="j" area="4" timeconst="0.01" ctrlrange="-1 1" forcerange="-8 8"/>', "",
    ),
    "a general servo": (
        "", '<general name="m" joint="j" gainprm="9" biastype="affine" biasprm="0 -9 -1" ctrlrange="-1 1" '
        'forcerange="-8 8"/>', "",
    ),
    "a constant bias": (
        "", '<general name="m" joint="j" gainprm="9" biastype="affine" biasprm="5" ctrlrange="-1 1" '
        'forcerange="-8 8"/>', "",
    ),
    "a gain by posture": (
        "", '<general name="m" joint="j" gaintype="affine" gainprm="9 -9" ctrlrange="-1 1" forcerange="-8 8"/>', "",
    ),
    "a damper": ("", '<damper name="m" joint="j" kv="9" ctrlrange="0 1" forcerange="-8 8"/>', ""),
    "a muscle": (
        "", '<muscle name="m" joint="j" lengthrange="-1 1" force="90" forcerange="-8 8"/>', "",
    ),
    "the activation of a muscle": (
        "", '<general name="m" joint="j" dyntype="muscle" dynprm="0.01 0.04" gainprm="9" actrange="-1 1" '
        'forcerange="-8 8"/>', "",
    ),
    "one way at a joint with a limit": ('actuatorfrcrange="-8 8"', '<motor name="m" joint="j" ctrlrange="0 9"/>', ""),
    "a servo beside a motor": (
        "", '<motor joint="j" ctrlrange="-3 3"/><position name="m" joint="j" kp="9" ctrlrange="-1 1" '
        'forcerange="-5 5"/>', "",
    ),
    "a servo by a default class": (
        "", '<general name="m" joint="j"/>', '<default><position kp="9" ctrlrange="-1 1" forcerange="-8 8"/></default>',
    ),
}  # fmt: skip

#: And what is said of them; nothing bounds these.
OPEN = {
    "a motor without limits": ("", '<motor name="m" joint="j"/>', "", r"of actuators 'm' \(motor\)"),
    "a position servo": ("", '<position name="m" joint="j" kp="9" ctrlrange="-1 1"/>', "", r"'m' \(position\)"),
    "a velocity servo": ("", '<velocity name="m" joint="j" kv="9" ctrlrange="-1 1"/>', "", r"'m' \(velocity\)"),
    "an affine gain": (
        "", '<general name="m" joint="j" gaintype="affine" gainprm="1 2 3" ctrlrange="-1 1"/>', "", "'m'",
    ),
    "a bias": ("", '<general name="m" joint="j" biastype="affine" biasprm="0 -1" ctrlrange="-1 1"/>', "", "'m'"),
    "a damper": ("", '<damper name="m" joint="j" kv="2" ctrlrange="0 1"/>', "", r"'m' \(damper\)"),
    "a muscle": ("", '<muscle name="m" joint="j" lengthrange="0 1"/>', "", r"'m' \(muscle\)"),
    "an integrator without an end": (
        "", '<general name="m" joint="j" dyntype="integrator" ctrlrange="-1 1"/>', "", "'m'",
    ),
    "a servo by a default class": (
        "", '<general name="m" joint="j" ctrlrange="-1 1"/>', '<default><position kp="7"/></default>', "'m'",
    ),
    "controls that are not clamped": (
        "", '<motor name="m" joint="j" ctrlrange="-1 1"/>', '<option><flag clampctrl="disable"/></option>', "'m'",
    ),
    "a second one without limits": (
        "", '<motor joint="j" ctrlrange="-1 1"/><position name="m" joint="j"/>', "", "'m'",
    ),
    "one way": ("", '<motor joint="j" ctrlrange="0 1"/>', "", "push 'j' one way"),
    "no gear": ("", '<motor joint="j" gear="0" ctrlrange="-1 1"/>', "", "push 'j' one way"),
    "a tendon": ("", '<motor name="m" tendon="t" ctrlrange="-1 1"/>', "", r"'m' \(motor, not on a joint\)"),
    "a site": ("", '<motor name="m" site="s" ctrlrange="-1 1"/>', "", r"'m' \(motor, not on a joint\)"),
    "nothing": ("", "", "", "no torque limit .* for 'j': taken as unlimited"),
}  # fmt: skip


def written(path, joint, actuators, top):
    path.write_text(FILE.format(joint=joint, actuators=actuators, top=top), encoding="utf-8")
    return path


def given_by_mujoco(path) -> float:
    """What the drives of the joint give in both directions, whatever is asked of them and however it moves."""
    model = mujoco.MjModel.from_xml_path(str(path))
    seen = [0.0]
    for signs in itertools.product((-1e6, 1e6), repeat=model.nu):
        data = mujoco.MjData(model)
        data.ctrl[:] = signs
        for _ in range(1000 if model.na else 1):
            mujoco.mj_step(model, data)
        data.qvel[:] = 0.0
        mujoco.mj_forward(model, data)
        seen.append(float(data.qfrc_actuator[0]))
    return min(-min(seen), max(seen))


@pytest.mark.parametrize("name", BOUNDED)
def test_the_torque_limit_is_what_mujocos_drives_can_give(tmp_path, name):
    path = written(tmp_path / "m.xml", *BOUNDED[name])
    robot = load(path)
    assert robot.joints[robot.index("j")].limits.torque == pytest.approx(given_by_mujoco(path), rel=1e-6)
    assert not [remark for remark in texts(robot.remarks) if "actuators" in remark or "torque limit" in remark]


STATES = tuple(itertools.product((-0.7, 0.0, 0.6), (-5.0, 0.0, 5.0)))


def given_everywhere(path) -> float:
    """The least, over postures and speeds, of what the drives of the joint give in both directions."""
    model = mujoco.MjModel.from_xml_path(str(path))
    least = np.inf
    for position, speed in STATES:
        seen = []
        for signs in itertools.product((-1e6, 1e6), repeat=model.nu):
            data = mujoco.MjData(model)
            data.ctrl[:] = signs
            for last in range(200 if model.na else 1, -1, -1):
                data.qpos[0], data.qvel[0] = position, speed
                mujoco.mj_step(model, data) if last else mujoco.mj_forward(model, data)
            seen.append(float(data.qfrc_actuator[0]))
        least = min(least, -min(seen), max(seen))
    return least


@pytest.mark.parametrize("name", POSED)
def test_a_limit_that_drives_do_not_reach_everywhere_is_not_proved(tmp_path, name):
    path = written(tmp_path / "m.xml", *POSED[name])
    robot = load(path)
    assert robot.joint_names[0] == "j"
    limits = robot.joints[0].limits
    assert limits.torque == 8.0
    assert given_everywhere(path) < 0.999 * limits.torque
    torque = TorqueLimits(DynamicModel(robot, ()))
    assert {row.assumed for row in torque.rows if row.where == "j"} == {True}
    told = [words for words in torque.unchecked if "'m'" in words]
    assert re.fullmatch(r"torque of j: .*(depends on posture or speed|one way at most); give limits: .*", told[0]), told
    assert [remark for remark in texts(robot.remarks) if "the torque limit of 'j' is not proved" in remark]
    assert TorqueLimits(torque.model, chi=torque.chi).unchecked == tuple(told)  # whoever gives parameters, too
    given = robot.with_limits(torque=7.0)
    assert not given.torque_doubts
    assert robot.with_limits(velocity=7.0).torque_doubts
    assert not [words for words in TorqueLimits(DynamicModel(given, ())).unchecked if "'m'" in words]


def test_a_doubt_about_a_limit_is_kept_in_a_table(tmp_path):
    robot = load(written(tmp_path / "m.xml", *POSED["a damper"]))
    write_mdh(robot, tmp_path / "r.yaml")
    assert set(robot.torque_doubts) <= set(load(tmp_path / "r.yaml").lacking)


@pytest.mark.parametrize("seed", range(4))
def test_no_limit_is_beyond_what_any_drive_gives_unless_that_is_said(tmp_path, seed):
    """Kinds of drives over defaults of other kinds, with and without limits: what is not doubted, MuJoCo gives
    everywhere."""
    random = np.random.default_rng(seed)
    laws = {
        "motor": [], "position": ['kp="9"', 'kp="0"', 'kp="1e4"'], "velocity": ['kv="9"', 'kv="1e4"'],
        "damper": ['kv="9"'], "cylinder": ['area="4" timeconst="0.01"', 'bias="1 0 0"'],
        "general": [
            'gainprm="7"', 'gainprm="0.5"', 'biastype="affine"', 'biasprm="1 -3 -1"', 'biasprm="0 0 0"',
            'dyntype="filter" dynprm="0.01"', 'gaintype="affine"', 'gaintype="fixed"', 'biastype="none"',
        ],
    }  # fmt: skip

    def some(kind):
        words = [word for word in laws[kind] if random.random() < 0.4]
        words += [w for w in ('ctrlrange="0 2"' if kind == "damper" else 'ctrlrange="-2 2"',) if random.random() < 0.5]
        words += ['forcerange="-5 6"'] if random.random() < 0.5 else []
        return kind, " ".join({word.split("=")[0]: word for word in words}.values())

    proved = 0
    for _ in range(40):
        *defaults, own = (some(random.choice(list(laws))) for _ in range(random.integers(1, 4)))
        joint = 'actuatorfrcrange="-4 4"' if random.random() < 0.3 else ""
        top = f"<default>{''.join(f'<{kind} {words}/>' for kind, words in defaults)}</default>"
        path = written(tmp_path / "m.xml", joint, f'<{own[0]} joint="j" {own[1]}/>', top)
        try:
            reached = given_everywhere(path)
        except ValueError:  # which MuJoCo refuses
            continue
        limits = load(path).joints[0].limits
        if np.isfinite(limits.torque) and not limits.torque_doubt:
            assert limits.torque <= reached * (1 + 1e-6), path.read_text(encoding="utf-8")
            proved += 1
    assert proved >= 5


@pytest.mark.parametrize("name", OPEN)
def test_drives_without_a_torque_limit_are_said(tmp_path, name):
    *words, says = OPEN[name]
    path = written(tmp_path / "m.xml", *words)
    mujoco.MjModel.from_xml_path(str(path))
    robot = load(path)
    assert np.isinf(robot.joints[robot.index("j")].limits.torque)
    assert robot.joints[robot.index("k")].limits.torque == 9.0
    text = "\n".join(texts(robot.remarks))
    assert re.search(says, text), text
    assert "no torque limit (actuatorfrcrange, or ctrlrange or forcerange of motors) for 'j': taken as" in text


def test_a_servo_at_a_joint_with_a_limit_of_its_own_needs_no_word(tmp_path):
    robot = load(written(tmp_path / "m.xml", 'actuatorfrcrange="-2 2"', '<position joint="j" kp="9"/>', ""))
    assert robot.joints[0].limits.torque == 2.0
    assert not [remark for remark in texts(robot.remarks) if "actuators" in remark]


def test_an_actuator_of_a_joint_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RobotError, match="drives joint 'x', which is not there"):
        load(written(tmp_path / "m.xml", "", '<motor joint="x" ctrlrange="-1 1"/>', ""))


# -- velocities, of which MJCF has none --------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return written(tmp_path / "m.xml", "", '<motor joint="j" ctrlrange="-1 1"/>', "")


def test_limits_that_were_given_are_not_said_to_be_missing(path):
    assert "no velocity limit (MJCF has none) for 'j', 'k': give limits: velocity" in texts(load(path).remarks)
    part = load(path, RobotOptions(limits={"velocity": {"j": 2.0}}))
    assert "no velocity limit (MJCF has none) for 'k': give limits: velocity" in texts(part.remarks)
    whole = load(path, RobotOptions(limits={"velocity": 2.0}))
    assert not [remark for remark in texts(whole.remarks) if "velocity limit" in remark]
    assert not [remark for remark in texts(load(path).with_limits(velocity=2.0).remarks) if "velocity limit" in remark]
    locked = load(path, RobotOptions(limits={"velocity": {"j": 2.0}}, lock={"k": 0.0}))
    assert not [remark for remark in texts(locked.remarks) if "velocity limit" in remark]


def test_init_says_that_a_design_needs_velocities(path, capsys):
    with pytest.raises(SystemExit):
        main(["init", str(path), "-o", str(path.with_name("exciter.yaml"))])
    assert "give the limits in it that it calls required, then exciter design" in " ".join(
        capsys.readouterr().out.split()
    )
    text = starting_configuration(load(path), "m.xml")
    assert "  # velocity: 1.0             # required: the description has none; or give acceleration" in text
    assert "required" not in starting_configuration(load("panda"), "panda")
    given = starting_configuration(load(path, RobotOptions(limits={"velocity": {"j": 2.0}})), "m.xml")
    assert "required for 'k'" in given
