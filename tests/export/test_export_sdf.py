"""SDF files we write, read back by a reader of its own (and by Drake where it is installed): the same torques."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from exciter.errors import ParameterError
from exciter.export.sdf import sdf_text
from exciter.parameters.terms import Offset
from exciter.robot import Frame, load
from support.export_cases import identified, without
from support.meshes import meshed_arm
from support.paths import ROBOTS
from support.robots import random_robot, states

CASES = {
    "panda": lambda: load("panda"),
    "ur10e": lambda: load("ur10e"),
    "gripper-arm": lambda: load(ROBOTS / "gripper_arm.urdf"),
    "gripper-locked": lambda: load(ROBOTS / "gripper_arm.urdf").lock({"finger_1": 0.02, "finger_2": 0.01}),
    "two-arms": lambda: load(ROBOTS / "two_arms.urdf"),
    "gantry": lambda: load(ROBOTS / "gantry.urdf"),
    "tree": lambda: random_robot(2, 7, tree=True),
}


class Reader:
    """SDFormat as its specification says: poses of links in the frame they name, of joints in their child link, axes in
    the joint's frame. World poses of all links first; a joint's placement is what lies between two of them."""

    def __init__(self, text):
        self.model = ElementTree.fromstring(text.encode()).find("model")
        named = [*self.model.iter("link"), *self.model.iter("joint"), *self.model.iter("frame")]
        self.elements = {element.get("name"): element for element in named}
        assert len(self.elements) == len(named), "names of links, joints and frames must differ"

    @staticmethod
    def pose(element):
        pose = element.find("pose")
        if pose is None:
            return pin.SE3.Identity()
        x, y, z, roll, pitch, yaw = (float(word) for word in pose.text.split())
        return pin.SE3(Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix(), np.array([x, y, z]))

    def world(self, name):
        element = self.elements[name]
        pose = element.find("pose")
        base = None if pose is None else pose.get("relative_to")
        if base is None and element.tag == "joint":
            base = element.findtext("child")
        base = base or element.get("attached_to")
        return (self.world(base) if base else pin.SE3.Identity()) * self.pose(element)

    def pinocchio(self, gravity):
        """A model with joints in the order of a walk from the base; also damping and friction by joint."""
        model, ids, self.damping, self.friction = pin.Model(), {"world": 0}, {}, {}
        model.gravity.linear = gravity
        for joint in self.model.iter("joint"):  # parents come first in what we write
            parent, child, name = joint.findtext("parent"), joint.findtext("child"), joint.get("name")
            if joint.get("type") == "fixed":
                ids[child] = ids[parent]
                continue
            axis = joint.find("axis")
            unit = np.array([float(word) for word in axis.findtext("xyz").split()])
            kind = (
                pin.JointModelPrismaticUnaligned
                if joint.get("type") == "prismatic"
                else pin.JointModelRevoluteUnaligned
            )
            placed = self.world(parent).actInv(self.world(name))
            ids[child] = model.addJoint(ids[parent], kind(unit), placed, name)
            inertial = self.elements[child].find("inertial")
            moments = inertial.find("inertia")
            xx, xy, xz, yy, yz, zz = (float(moments.findtext(k)) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            body = pin.Inertia(float(inertial.findtext("mass")), np.zeros(3), matrix)
            seen = self.world(name).actInv(self.world(child)) * self.pose(inertial)
            model.appendBodyToJoint(ids[child], body, seen)
            self.damping[name] = float(axis.findtext("dynamics/damping"))
            self.friction[name] = float(axis.findtext("dynamics/friction"))
        return model

    def torque(self, robot, motion):
        model = self.pinocchio(robot.gravity)
        data = model.createData()
        order = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
        torque = np.empty(motion.q.shape)
        for k in range(len(motion)):
            q, v, a = np.zeros((3, model.nv))
            q[order], v[order], a[order] = motion.q[k], motion.qd[k], motion.qdd[k]
            torque[k] = pin.rnea(model, data, q, v, a)[order]
        damping, friction = (np.array([f[n] for n in robot.joint_names]) for f in (self.damping, self.friction))
        return torque + damping * motion.qd + friction * np.sign(motion.qd)


@pytest.mark.parametrize("case", CASES)
def test_the_same_torques(case):
    model, chi = identified(CASES[case]())
    motion = states(model.robot, 20)
    own = model.torque(motion, without(model, chi, "Ia"))
    text = sdf_text(model, chi)
    assert_allclose(Reader(text).torque(model.robot, motion), own, rtol=1e-9, atol=1e-9 * np.abs(own).max())
    assert f"without a place here: Ia1 {chi[model.standard.index('Ia1')]:.9g} kg" in text


@pytest.mark.parametrize("case", CASES)
def test_drake_agrees(case, tmp_path):
    """libsdformat itself, inside Drake; it has no dry friction."""
    parsing = pytest.importorskip("pydrake.multibody.parsing", reason="Drake is not installed (pip install drake)")
    plants, tree = pytest.importorskip("pydrake.multibody.plant"), pytest.importorskip("pydrake.multibody.tree")
    model, chi = identified(CASES[case]())
    path = tmp_path / "robot.sdf"
    path.write_text(sdf_text(model, chi), encoding="utf-8")
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModels(str(path))
    plant.mutable_gravity_field().set_gravity_vector(model.robot.gravity)
    plant.Finalize()
    context, motion = plant.CreateDefaultContext(), states(model.robot, 10)
    own = model.torque(motion, without(model, chi, "Ia", "Fs"))
    at = [plant.GetJointByName(name).velocity_start() for name in model.robot.joint_names]
    for k in range(len(motion)):
        q, v, a = np.zeros((3, model.n))
        q[at], v[at], a[at] = motion.q[k], motion.qd[k], motion.qdd[k]
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        forces = tree.MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        back = plant.CalcInverseDynamics(context, a, forces)[at]
        assert_allclose(back, own[k], rtol=1e-9, atol=1e-9 * np.abs(own).max())


def test_frames_limits_and_names():
    """A frame where the robot has it; limits where there are any; no name twice."""
    robot = load(ROBOTS / "gripper_arm.urdf")
    names = ("pan", "upper", "__elbow__", "a::b", "finger_right")
    joints = tuple(replace(joint, link=name) for joint, name in zip(robot.joints, names, strict=True))
    frames = (*robot.frames, Frame("lift", 1, np.eye(3), np.array([0.0, 0.1, 0.0])))
    model, chi = identified(replace(robot, joints=joints, frames=frames))
    text = sdf_text(model, chi)
    reader = Reader(text)
    assert {"pan", "pan_link", "lift", "lift_frame", "__elbow___", "a_b"} <= set(reader.elements)
    motion = states(robot, 5)
    own = model.torque(motion, without(model, chi, "Ia"))
    assert_allclose(reader.torque(robot, motion), own, rtol=1e-9, atol=1e-9 * np.abs(own).max())
    placements = {}
    for index, joint in enumerate(robot.joints):
        carrier = placements[joint.parent] if joint.parent >= 0 else pin.SE3.Identity()
        placements[index] = carrier * pin.SE3(np.array(joint.rotation), np.array(joint.translation))
    for frame in robot.frames:
        on = placements.get(frame.joint, pin.SE3.Identity())
        wanted = on * pin.SE3(np.array(frame.rotation), np.array(frame.translation))
        found = reader.world({"world": "world_"}.get(frame.name, frame.name))
        assert_allclose(found.homogeneous, wanted.homogeneous, atol=1e-12)
    for joint in robot.joints:
        limit = reader.elements[joint.name].find("axis/limit")
        for tag, value in (("lower", joint.limits.lower), ("effort", joint.limits.torque)):
            assert limit.findtext(tag) == (None if np.isinf(value) else repr(value).removesuffix(".0"))


def test_visuals_are_those_of_the_description(tmp_path):
    """Meshes by their files, seen from where the export lies; what has lost its file is its capsule, or nothing."""
    robot = load(meshed_arm(tmp_path / "arm"))
    model, chi = identified(robot)
    folder = tmp_path / "other"
    folder.mkdir()
    reader = Reader(sdf_text(model, chi, folder))
    for shape in (one for one in robot.shapes if one.kind == "mesh"):
        link = reader.elements[("base_link", "upper", "fore")[shape.joint + 1]]
        visual = link.find("visual")
        uri, scale = visual.findtext("geometry/mesh/uri"), visual.findtext("geometry/mesh/scale")
        assert (folder / uri).resolve() == Path(shape.mesh).resolve()
        assert_allclose([float(word) for word in scale.split()], shape.size)
        placed = reader.pose(visual)
        assert_allclose(placed.rotation, shape.rotation, atol=1e-12)
        assert_allclose(placed.translation, shape.translation)
    assert len(list(reader.model.iter("box"))) == 1
    motion = states(robot, 5)
    own = model.torque(motion, without(model, chi, "Ia"))
    assert_allclose(reader.torque(robot, motion), own, rtol=1e-9, atol=1e-9 * np.abs(own).max())
    (tmp_path / "arm" / "meshes" / "part.obj").unlink()
    again = Reader(sdf_text(model, chi, folder))
    assert [len(list(again.elements[name].iter("mesh"))) for name in ("base_link", "upper", "fore")] == [1, 0, 1]


def test_base_parameters_and_impossible_sets_are_refused():
    model, chi = identified(load("panda"), (Offset(),))
    with pytest.raises(ParameterError, match=r"only base parameters are known.*SDF"):
        sdf_text(model, None)
    chi[10] = -1.0
    with pytest.raises(ParameterError, match="negative mass"):
        sdf_text(model, chi)
