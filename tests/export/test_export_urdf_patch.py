"""Identified parameters in the user's own URDF: the same torques, and no other byte changed."""

import re

import mujoco
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RobotError
from exciter.export.urdf import identified_urdf, patched_urdf, urdf_text
from exciter.parameters.consistency import consistency_margin, divided
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import load
from exciter.robot.load import RobotOptions
from support.export_cases import identified, without
from support.paths import ROBOTS
from support.robots import random_inertia, states

FINGERS = {"finger_1": 0.02, "finger_2": 0.01}
ODD = (ROBOTS / "odd.urdf").read_text(encoding="utf-8")
FILES = {
    "gantry": ((ROBOTS / "gantry.urdf").read_text(encoding="utf-8"), {}),
    "two-arms": ((ROBOTS / "two_arms.urdf").read_text(encoding="utf-8"), {}),
    "gripper-arm": ((ROBOTS / "gripper_arm.urdf").read_text(encoding="utf-8"), {}),
    "gripper-locked": ((ROBOTS / "gripper_arm.urdf").read_text(encoding="utf-8"), FINGERS),
    "elbow-locked": ((ROBOTS / "gripper_arm.urdf").read_text(encoding="utf-8"), {"elbow": 0.7, "pan": 0.2}),
    "odd": (ODD, {}),
    "odd-windows": (ODD.replace("\n", "\r\n"), {}),
    "odd-locked": (ODD, {"bend": -0.4}),
    "panda": (urdf_text(load("panda"), "as published"), {}),
}


def robot_of(text, folder, lock=None):
    path = folder / "robot.urdf"
    path.write_bytes(text.encode())
    return load(path, RobotOptions(lock=lock or {}))


def pinocchio_torque(text, robot, motion, lock):
    """Torques (N, n) of the text as Pinocchio reads it, locked joints held where they are; friction not included."""
    model = pinocchio.buildModelFromXML(text)
    model.gravity.linear = robot.gravity
    data = model.createData()

    def place(q, name, angle):
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        return joint.idx_v

    torque = np.empty(motion.q.shape)
    for k in range(len(motion)):
        q, v, a = pinocchio.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for name, angle in lock.items():
            place(q, name, angle)
        at = [place(q, name, motion.q[k, i]) for i, name in enumerate(robot.joint_names)]
        v[at], a[at] = motion.qd[k], motion.qdd[k]
        torque[k] = pinocchio.rnea(model, data, q, v, a)[at]
    return torque


@pytest.mark.parametrize("far", [0.02, 0.3])
@pytest.mark.parametrize("case", FILES)
def test_pinocchio_predicts_the_same_torques(case, far, tmp_path):
    """Rigid bodies by Pinocchio, friction by what stands in the file; near the description and far from it."""
    text, lock = FILES[case]
    model, chi = identified(robot_of(text, tmp_path, lock), far=far)
    new = patched_urdf(text, model, chi)
    motion = states(model.robot, 20)
    rigid = model.torque(motion, without(model, chi, "Ia", "Fv", "Fs"))
    back = pinocchio_torque(new, model.robot, motion, lock)
    assert_allclose(back, rigid, rtol=1e-9, atol=1e-9 * np.abs(rigid).max())
    again = robot_of(new, tmp_path, lock)
    own = model.torque(motion, without(model, chi, "Ia"))
    read = DynamicModel(again, (Viscous(), Coulomb())).torque(motion)
    assert_allclose(read, own, rtol=1e-9, atol=1e-9 * np.abs(own).max())
    assert all(consistency_margin(phi) > -1e-9 for phi in link_inertias(new) if phi[0])
    assert f"Ia1 {chi[model.standard.index('Ia1')]:.9g}" in new


def link_inertias(text):
    """φ of every body that a free joint in place of every joint of the file would give."""
    loose = re.sub(r'type\s*=\s*(["\'])(fixed|revolute|continuous|prismatic)\1', 'type="floating"', text)
    return [inertia.toDynamicParameters() for inertia in pinocchio.buildModelFromXML(loose).inertias]


def rest(text):
    """A text without what may change: inertials of links, dynamics of joints, the comment that is put before <robot>.

    Found by another way than the code's; comments and foreign tags, taken out of sight first, are returned too."""
    hidden = []

    def hide(found):
        hidden.append(found[0])
        return f"\0{len(hidden) - 1}\0"

    text = re.sub(r"<!-- Inertias and friction identified by Exciter.*?-->\r?\n", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->|<(gazebo|transmission)\b.*?</\1>", hide, text, flags=re.DOTALL)
    text = re.sub(r"\s*<inertial\b[^>]*>.*?</inertial>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*<dynamics\b[^>]*/>", "", text)
    text = re.sub(r"(<link\b[^>]*?)\s*/>", r"\1></link>", text)
    return re.sub(r"(<link\b[^>]*>)\s*</link>", r"\1</link>", text), hidden


@pytest.mark.parametrize("case", FILES)
def test_nothing_else_changes_and_twice_is_once(case, tmp_path):
    text, lock = FILES[case]
    model, chi = identified(robot_of(text, tmp_path, lock), far=0.3)
    new = patched_urdf(text, model, chi)
    assert new != text
    assert rest(new) == rest(text)
    assert new.count("\r\n") == (new.count("\n") if "\r\n" in text else 0)
    assert patched_urdf(new, model, chi) == new
    other = patched_urdf(new, *identified(robot_of(text, tmp_path, lock), far=0.3, seed=1))
    assert other != new
    assert other.count("identified by Exciter") == 1


@pytest.mark.parametrize("case", FILES)
def test_the_description_s_own_parameters_change_nothing(case, tmp_path):
    """A comment apart, byte for byte; so the torques are those of the description."""
    text, lock = FILES[case]
    model = DynamicModel(robot_of(text, tmp_path, lock), (Viscous(), Coulomb(), Offset()))
    new = patched_urdf(text, model, model.nominal)
    assert re.sub(r"<!-- Inertias and friction identified.*?-->\r?\n", "", new) == text


@pytest.mark.parametrize("case", ["odd", "two-arms"])
def test_a_description_without_inertias_gets_them(case, tmp_path):
    """In the link that the joint moves, laid out as the file is."""
    text = re.sub(r"<!--.*?-->", "", FILES[case][0], flags=re.DOTALL)
    text = re.sub(r"\s*<inertial\b[^>]*>.*?</inertial>", "", text, flags=re.DOTALL)
    robot, rng = robot_of(text, tmp_path), np.random.default_rng(0)
    heavy = robot.with_inertias([random_inertia(rng) for _ in robot.joints])
    chi, model = DynamicModel(heavy).nominal, DynamicModel(robot)
    new = patched_urdf(text, model, chi)
    motion = states(robot, 5)
    own = model.torque(motion, chi)
    assert_allclose(pinocchio_torque(new, robot, motion, {}), own, rtol=1e-9, atol=1e-9 * np.abs(own).max())
    assert rest(new) == rest(text)
    assert new.count("<inertial>") == text.count("<inertial>") + robot.n
    assert patched_urdf(new, model, chi) == new
    if case == "two-arms":
        assert re.search(r'\n  <link name="torso">\n    <inertial>\n      <origin [^>]*/>\n      <mass [^>]*/>\n', new)
    massless = patched_urdf(text, model, np.zeros(10 * robot.n))
    assert "<inertial>" not in massless


def test_what_was_not_identified_stays(tmp_path):
    """Links on the base, locked joints, second inertials, foreign attributes; where the same body's links are told."""
    model, chi = identified(robot_of(ODD, tmp_path))
    new = patched_urdf(ODD, model, chi)
    assert '<link name="base"><inertial><mass value="7"/><inertia ixx="1"' in new
    assert '<inertial><mass value="99"/></inertial></link>' in new
    assert re.search(r"<dynamics spring='3'  friction = '[\d.]+' damping=\"[\d.]+\"/> <!-- after -->", new)
    assert new.count("<!-- from CAD -->") == 1
    assert "one body" not in new
    gripper, lock = FILES["gripper-locked"]
    told = patched_urdf(gripper, *identified(robot_of(gripper, tmp_path, lock)))
    assert "Links forearm, palm, camera, finger_left, finger_right are one body: only the sum" in told
    for name in FINGERS:
        assert joint_text(told, name) == joint_text(gripper, name)
    friction = patched_urdf(gripper, *identified(robot_of(gripper, tmp_path, lock), (RotorInertia(),)))
    assert 'damping="0" friction="0"' in joint_text(friction, "pan")  # the model has none
    assert "<dynamics" not in joint_text(friction, "elbow")


def joint_text(text, name):
    return re.search(rf'<joint name="{name}".*?</joint>', text, flags=re.DOTALL)[0]


def test_one_body_of_many_links():
    """The heaviest link gets the difference where it can; otherwise all change alike. The sum is always right."""
    rng = np.random.default_rng(3)
    parts = {name: scale * random_inertia(rng) for name, scale in (("a", 0.5), ("b", 2.0), ("c", 0.1))}
    whole = sum(parts.values())
    near = divided(1.05 * whole, parts, "b")
    assert set(near) == {"b"}
    assert_allclose(near["b"] + parts["a"] + parts["c"], 1.05 * whole, rtol=1e-12)
    other = 0.5 * random_inertia(rng)
    far = divided(other, parts, "b")
    assert_allclose(sum(far.values()), other, rtol=1e-9, atol=1e-12)
    assert min(consistency_margin(phi) for phi in far.values()) > 0.0
    shares = [far[name][0] / parts[name][0] for name in parts]
    assert_allclose(shares, other[0] / whole[0])
    slim = parts["a"] + parts["c"] + 0.05 * parts["b"]  # what is left for b is physical but next to nothing
    assert set(divided(slim, parts, "b")) == {"a", "b", "c"}
    dummy = {**parts, "c": np.array([0.2, *np.zeros(3), 1.0, 0.0, 1e-6, 0.0, 0.0, 1e-6])}  # no body has that
    split = divided(other, dummy, "b")
    assert_allclose(sum(split.values()), other, rtol=1e-12)
    assert min(consistency_margin(phi) for phi in split.values()) > 0.0
    weightless = {
        "a": np.array([0.0] * 4 + [1.0, 0.0, 1.0, 0.0, 0.0, 3.0]),
        "b": np.array([0.0] * 4 + [1.0, 0, 1, 0, 0, 1]),
    }
    assert_allclose(divided(other, weightless, "b")["b"], other)
    assert not divided(other, weightless, "b")["a"].any()


@pytest.mark.parametrize("case", ["gantry", "two-arms", "gripper-fingers"])
def test_mujoco_loads_it(case, tmp_path):
    """Also where the joints that were locked move again."""
    text, lock = FILES.get(case, FILES["gripper-locked"])
    text = re.sub(r"<(visual|collision)><geometry><mesh.*?</\1>", "", text)  # these files do not exist
    model, chi = identified(robot_of(text, tmp_path, lock), (Viscous(), Coulomb()), far=0.3)
    compiled = mujoco.MjModel.from_xml_string(patched_urdf(text, model, chi))
    compiled.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    compiled.dof_frictionloss[:] = 0.0  # a constraint in MuJoCo
    data, motion = mujoco.MjData(compiled), states(model.robot, 1)
    at = [int(compiled.joint(name).dofadr[0]) for name in model.robot.joint_names]
    for name, angle in lock.items():
        data.qpos[compiled.joint(name).qposadr[0]] = angle
    data.qpos[at], data.qvel[at], data.qacc[at] = motion.q[0], motion.qd[0], motion.qdd[0]
    mujoco.mj_inverse(compiled, data)
    own = model.torque(motion, without(model, chi, "Fs"))[0]
    assert_allclose(data.qfrc_inverse[at], own, rtol=1e-8, atol=1e-8 * np.abs(own).max())


SPACE = st.sampled_from(["", " ", "\n", "\r\n\t", "\n    ", "<!-- a > b </link> -->", "\n<!-- <dynamics/> -->\n  "])
GAP = st.sampled_from([" ", "  ", "\n", "\t\n "])
QUOTE = st.sampled_from("\"'")


@st.composite
def urdf_texts(draw):
    """A chain of links, fixed or moving, with any white space, quotes, order of attributes and comments."""

    def tag(name, attributes, inside=None):
        quote, pairs = draw(QUOTE), draw(st.permutations(sorted(attributes.items())))
        words = "".join(f"{draw(GAP)}{key}={quote}{value}{quote}" for key, value in pairs)
        if inside is None:
            return f"<{name}{words}{draw(st.sampled_from(['', ' ', chr(10)]))}/>"
        body = "".join(f"{draw(SPACE)}{child}" for child in draw(st.permutations(inside)))
        return f"<{name}{words}>{body}{draw(SPACE)}</{name}>"

    def inertial(mass):
        moments = {"ixx": mass, "ixy": 0, "ixz": 0, "iyy": mass, "iyz": f"{0.1 * mass}", "izz": mass}
        origin = [tag("origin", {"xyz": "0.1 0 1e-1", "rpy": "0 .3 0"})] if draw(st.booleans()) else []
        return tag("inertial", {}, [tag("mass", {"value": mass}), tag("inertia", moments), *origin])

    count = draw(st.integers(3, 5))
    kinds = ["revolute", *(draw(st.sampled_from(["fixed", "prismatic", "continuous"])) for _ in range(count - 2))]
    parts = [tag("link", {"name": "l0"})]
    for i, kind in enumerate(kinds, 1):
        heavy = kind != "fixed" or draw(st.booleans())
        parts.append(tag("link", {"name": f"l{i}"}, [inertial(i)] if heavy else draw(st.sampled_from([None, []]))))
        given = {"lower": -1, "upper": 1, "effort": 9, "velocity": 2}
        inside = [tag("parent", {"link": f"l{i - 1}"}), tag("child", {"link": f"l{i}"}), tag("limit", given)]
        inside.append(tag("origin", {"xyz": "0.2 0 .1", "rpy": "0.4 0 0"}))
        if draw(st.booleans()):
            inside.append(tag("dynamics", draw(st.sampled_from([{"damping": 1}, {"friction": "2."}, {}]))))
        parts.append(tag("joint", {"name": f"j{i}", "type": kind}, inside))
    return tag("robot", {"name": "any"}, parts)


@settings(max_examples=20)
@given(text=urdf_texts(), seed=st.integers(0, 9))
def test_any_layout(text, seed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    model, chi = identified(robot_of(text, folder), far=0.3, seed=seed)
    new = patched_urdf(text, model, chi)
    assert rest(new) == rest(text)
    assert patched_urdf(new, model, chi) == new
    motion = states(model.robot, 3)
    own = model.torque(motion, without(model, chi, "Ia"))
    read = DynamicModel(robot_of(new, folder), (Viscous(), Coulomb())).torque(motion)
    assert_allclose(read, own, rtol=1e-9, atol=1e-9 * np.abs(own).max())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_any_encoding(encoding, tmp_path):
    """The text then says UTF-8, which is how it is written; a .xml file is a URDF when its root says so."""
    named = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    path = tmp_path / "robot.xml"
    path.write_bytes(ODD.replace("utf-8", named).encode(encoding))
    model, chi = identified(load(path))
    new = identified_urdf(model, chi, path)
    assert rest(new.removeprefix("\ufeff")) == rest(ODD.replace("utf-8", "utf-8" if named == "utf-8" else "UTF-8"))
    path.write_bytes(new.encode())
    assert_allclose(load(path).friction["viscous"], [chi[model.standard.index(f"Fv{j}")] for j in (1, 2, 3)])


def test_wrong_texts_are_refused(tmp_path):
    model, chi = identified(robot_of(ODD, tmp_path))
    with pytest.raises(ParameterError, match="only base parameters"):
        patched_urdf(ODD, model, None)
    with pytest.raises(RobotError, match=r"no joint 'turn' that moves link 'empty'.*was read from"):
        patched_urdf(FILES["gantry"][0], model, chi)
    with pytest.raises(RobotError, match="link 'more' of the URDF is not one"):
        patched_urdf(ODD.replace("<gazebo", '<link name="more"/><gazebo'), model, chi)
    with pytest.raises(RobotError, match="<mujoco>"):
        patched_urdf("<mujoco/>", model, chi)
    with pytest.raises(RobotError, match="DTD"):
        patched_urdf('<!DOCTYPE a [<!ENTITY b "c">]><robot/>', model, chi)
    with pytest.raises(RobotError, match="not well-formed"):
        patched_urdf("<robot>", model, chi)
    with pytest.raises(RobotError, match="nests more than"):
        patched_urdf("<robot>" + "<a>" * 300, model, chi)
    chi[0] = -1.0
    with pytest.raises(ParameterError, match=r"negative mass.*consistent"):
        patched_urdf(ODD, model, chi)
