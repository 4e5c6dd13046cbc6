"""Eleven robots with constraints of every kind, and how Pinocchio and MuJoCo see them: mimic joints, closed chains,
feet on the ground, a free base in the air."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pinocchio as pin

import exciter as ex
from exciter.dynamics.contacts import GroundContact, Stance, standing_states
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel, random_states
from exciter.export.mjcf import mjcf_text
from exciter.robot import Motion, Robot
from exciter.robot.base_motion import BaseMotion, angle_accelerations, quaternions, rate_matrix
from exciter.robot.loop_assembly import KinematicLoop, with_loops
from exciter.robot.loop_reach import within_reach
from support.example_robots import FILES
from support.loops import FOUR_BAR_POSTURE, four_bar
from support.paths import ROBOTS

FLYING_ARM = """<mujoco model="flying_arm"><worldbody>
  <geom type="plane" size="1 1 0.1"/>
  <body name="frame" pos="1 2 3"><freejoint/>
    <inertial pos="0.01 0.02 0.03" mass="1.5" fullinertia="0.02 0.03 0.04 0.001 0.002 0.003"/>
    <geom type="box" size="0.1 0.1 0.02"/>
    <body name="arm" pos="0 0 -0.1"><joint name="shoulder" axis="0 1 0" range="-1 1"/>
      <inertial pos="0 0 -0.1" mass="0.3" diaginertia="0.002 0.002 0.0002"/>
      <body name="hand" pos="0 0 -0.2"><joint name="wrist" axis="1 0 0"/>
        <inertial pos="0 0.01 -0.05" mass="0.1" diaginertia="0.0003 0.0003 0.0001"/></body></body></body>
</worldbody></mujoco>"""
BODY = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>'
#: a planar chain welded to a lever, and a slider that follows the first joint on a curve
WELDED = f"""<mujoco><compiler angle="degree"/><worldbody>
 <body name="a" pos="0.1 0 0" euler="90 0 0"><joint name="a" axis="0 0 1" ref="20" range="-170 170"/>{BODY}
  <body name="b" pos="0.3 0 0" euler="0 0 30"><joint name="b" axis="0 0 1"/>{BODY}
   <body name="d" pos="0.5 0 0" euler="0 0 -80"><joint name="d" axis="0 0 1" pos="0.1 0 0"/>{BODY}</body></body></body>
 <body name="c" pos="0.8 0.02 0.1" euler="90 0 0"><joint name="c" axis="0 0 1" ref="-15"/>{BODY}</body>
 <body name="slider"><joint name="slider" type="slide" axis="0 0 1" range="-2 2"/>{BODY}</body>
</worldbody><actuator><motor joint="a"/></actuator><equality>
 <weld body1="d" body2="c" relpose="0.25 0.1 -0.02 0.6 0 0 0.8"/>
 <joint joint1="slider" joint2="a" polycoef="0.1 0.5 -0.3 0.2 0.1"/></equality></mujoco>"""
FOLDER = tempfile.TemporaryDirectory()  # for as long as the tests run
SPREAD = 0.3  # [rad, m] of loops about their reference
SPHERE_RADIUS_M = 0.02  # of feet in MuJoCo
SOLE = ((0.05, 0.03), (0.05, -0.03), (-0.05, 0.02), (-0.04, -0.03))  # [m] corners of a flat foot


@dataclass(frozen=True, eq=False)
class Constrained:
    """A robot and what touches the ground. file: its description, which other tools read themselves."""

    robot: Robot
    file: Path | None = None
    stance: Stance = ()

    def states(self, samples: int = 4, seed: int = 0) -> Motion:
        """Coordinates that move as the constraints let them."""
        if self.stance:
            return standing_states(Dynamics(self.robot), self.stance, samples, seed)
        if self.robot.coupling is None or self.robot.coupling.constant:
            return random_states(self.robot, samples, seed)
        rng, home = np.random.default_rng(seed), self.robot.coupling.home
        u = within_reach(self.robot, home + rng.uniform(-SPREAD, SPREAD, (samples, self.robot.n)))
        return Motion.at(u, *rng.uniform(-2, 2, (2, *u.shape)))

    @cached_property
    def mimics(self) -> list[tuple[str, str, float]]:
        """Follower, leader, multiplier as the tags of the file say it."""
        assert self.file is not None
        tags = ((joint.get("name", ""), joint.find("mimic")) for joint in ElementTree.parse(self.file).iter("joint"))
        return [
            (name, tag.get("joint", ""), float(tag.get("multiplier", "1"))) for name, tag in tags if tag is not None
        ]


def example(ending: str, stance: Stance = (), **options: object) -> Constrained:
    path = next(path for name, path in FILES.items() if name.endswith(ending))
    return Constrained(ex.load(path, meshes=False, **options), path, stance)


def written(name: str, text: str) -> Path:
    path = Path(FOLDER.name) / f"{name}.xml"
    path.write_text(text, encoding="utf-8")
    return path


def from_mjcf(name: str, text: str) -> Constrained:
    path = written(name, text)
    return Constrained(ex.load(path), path)


def crank_and_rocker() -> Robot:
    loop = [KinematicLoop("connect", ("coupler_end", "rocker_end"))]
    return with_loops(four_bar(), loop, ["crank"], FOUR_BAR_POSTURE)


def palletiser() -> Robot:
    return ex.load(ROBOTS / "palletiser.urdf", ROBOTS / "palletiser.yaml")


def on(*feet: str, kind: str = "point", radius: float = 0.0) -> Stance:
    return tuple(GroundContact(foot, kind, radius) for foot in feet)


MADE: dict[str, Callable[[], Constrained]] = {
    "panda with hand": lambda: example("panda_description/urdf/panda.urdf"),
    "talos": lambda: example("talos_full_v2.urdf"),
    "pr2": lambda: example("pr2.urdf"),
    "tiago pro": lambda: example("tiago_pro.urdf"),
    "four bar": lambda: Constrained(crank_and_rocker()),
    "palletiser": lambda: Constrained(palletiser()),
    "weld and curve": lambda: from_mjcf("weld", WELDED),
    "solo12 standing": lambda: example("solo12.urdf", on("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), base="free"),
    "anymal on three feet": lambda: example("anymal-kinova.urdf", on("LF_FOOT", "RF_FOOT", "LH_FOOT"), base="free"),
    "g1 on flat feet": lambda: example(
        "g1_29dof_rev_1_0.urdf", on("left_ankle_roll_link", "right_ankle_roll_link", kind="flat"), base="free"
    ),
    "flying arm": lambda: from_mjcf("flying_arm", FLYING_ARM),
}
MIMIC, STANDING = ("panda with hand", "talos", "pr2", "tiago pro"), ("solo12", "anymal", "g1")


@cache
def made(name: str) -> Constrained:
    return MADE[name]()


# -- Pinocchio -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Read:
    """Pinocchio's own reading of a description, with a free flyer where the robot has one."""

    robot: Robot
    model: pin.Model

    @cached_property
    def places(self) -> list[tuple[int, pin.JointModel]]:
        """Of the coordinates that are not the base's: their number, and what they are there."""
        free = self.robot.free_base
        own = [(j, joint.name) for j, joint in enumerate(self.robot.joints) if j not in free]
        return [(j, self.model.joints[self.model.getJointId(name)]) for j, name in own]

    def state(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of one state of the coordinates."""
        there, v, a = pin.neutral(self.model), np.zeros(self.model.nv), np.zeros(self.model.nv)
        if self.robot.free_base:
            seen = BaseMotion.of_joints(q[:6], qd[:6], qdd[:6])
            turn, spin = seen.rotation[0], seen.spin[0]
            w, x, y, z = quaternions(seen.rotation)[0]
            there[:7] = [*seen.position[0], x, y, z, w]
            v[:6] = [*(turn.T @ seen.velocity[0]), *spin]
            a[:6] = [*(turn.T @ seen.acceleration[0] - np.cross(spin, v[:3])), *seen.spin_rate[0]]
        for j, place in self.places:
            turns = place.nq == 2  # continuous joints are points of a circle there
            there[place.idx_q : place.idx_q + place.nq] = [np.cos(q[j]), np.sin(q[j])] if turns else [q[j]]
            v[place.idx_v], a[place.idx_v] = qd[j], qdd[j]
        return there, v, a

    def forces(self, own: np.ndarray) -> np.ndarray:
        """(nv,) of forces of driven coordinates (n,)."""
        out = np.zeros(self.model.nv)
        for j, place in self.places:
            out[place.idx_v] = own[j]
        return out

    def accelerations(self, q: np.ndarray, qd: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(n,) of the coordinates, of (nv,) there."""
        out = np.zeros(self.robot.n)
        if self.robot.free_base:
            seen = BaseMotion.of_joints(q[:6], qd[:6], np.zeros(6))
            turn, spin = seen.rotation[0], seen.spin[0]
            out[:3] = turn @ (a[:3] + np.cross(spin, turn.T @ seen.velocity[0]))
            out[3:6] = angle_accelerations(q[None, 3:6], qd[None, 3:6], a[None, 3:6])[0]
        for j, place in self.places:
            out[j] = a[place.idx_v]
        return out


def gauss(mass: np.ndarray, force: np.ndarray, rows: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """a of M a = force + rowsᵀλ under rows a = rates (Gauss' principle), of equations that may repeat each other."""
    _, values, vt = np.linalg.svd(rows)
    rank = int((values > 1e-9 * values[0]).sum())
    null, some = vt[rank:].T, np.linalg.lstsq(rows, rates, rcond=1e-9)[0]
    return some + null @ np.linalg.solve(null.T @ mass @ null, null.T @ (force - mass @ some))


# -- MuJoCo --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Compiled:
    """MuJoCo's model: of the file where it is MJCF, else of our export, every foot a sphere (a flat one: four) with a
    plane of its own below."""

    case: Constrained

    @cached_property
    def model(self) -> mujoco.MjModel:
        robot, file = self.case.robot, self.case.file
        dynamic = DynamicModel(robot)
        own = file is not None and file.suffix == ".xml"
        spec = mujoco.MjSpec.from_string(file.read_text() if own else mjcf_text(dynamic, dynamic.nominal))
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        for geom in spec.geoms:
            geom.contype = geom.conaffinity = 0
        for k, (body, place) in enumerate(self.spheres):
            carrier = spec.joint(robot.bodies[body].name).parent
            sphere = mujoco.mjtGeom.mjGEOM_SPHERE
            carrier.add_geom(name=f"foot{k}", type=sphere, size=[SPHERE_RADIUS_M, 0, 0], pos=place, mass=0)
            plane = mujoco.mjtGeom.mjGEOM_PLANE
            low = {"pos": [0, 0, -1], "size": [9, 9, 1]}  # not at zero, where MuJoCo would leave it
            spec.worldbody.add_geom(name=f"floor{k}", type=plane, contype=0, conaffinity=0, **low)
            spec.add_pair(geomname1=f"floor{k}", geomname2=f"foot{k}", condim=3, margin=1e-3)
        return spec.compile()

    @cached_property
    def spheres(self) -> list[tuple[int, np.ndarray]]:
        """Body and place there of every sphere."""
        found = []
        for contact in self.case.stance:
            frame = self.case.robot.frame(contact.frame)
            corners = [(*corner, 0.0) for corner in SOLE] if contact.kind == "flat" else [(0.0, 0.0, 0.0)]
            found += [(frame.joint, frame.translation + frame.rotation @ corner) for corner in corners]
        return found

    @property
    def stance(self) -> Stance:
        """A ball touches below its centre; a sole by points that do not move on it."""
        balls = {"point": SPHERE_RADIUS_M, "flat": 0.0}
        return tuple(replace(contact, radius=balls[contact.kind]) for contact in self.case.stance)

    def at(self, tree: Motion) -> tuple[mujoco.MjData, np.ndarray, np.ndarray]:
        """Of one state of the tree (1, nb): the data, velocities there per tree velocity (nv, nb), accelerations."""
        model, robot, data = self.model, self.case.robot, mujoco.MjData(self.model)
        there, a = np.zeros((model.nv, robot.n_bodies)), np.zeros(model.nv)
        free = len(robot.free_base)
        if free:
            seen = BaseMotion.of_joints(tree.q[:, :6], tree.qd[:, :6], tree.qdd[:, :6])
            data.qpos[:7] = [*seen.position[0], *quaternions(seen.rotation)[0]]
            there[:3, :3], there[3:6, 3:6] = np.eye(3), rate_matrix(tree.q[:, 3:6])[0]
            a[:6] = [*seen.acceleration[0], *seen.spin_rate[0]]
        for k, body in enumerate(robot.bodies[free:], start=free):
            joint = model.joint(body.name)
            data.qpos[joint.qposadr[0]], a[joint.dofadr[0]] = tree.q[0, k], tree.qdd[0, k]
            there[joint.dofadr[0], k] = 1.0
        data.qvel = there @ tree.qd[0]
        mujoco.mj_kinematics(model, data)
        for k in range(len(self.spheres)):
            model.geom(f"floor{k}").pos[:] = [0.0, 0.0, data.geom(f"foot{k}").xpos[2] - SPHERE_RADIUS_M]
        mujoco.mj_forward(model, data)
        return data, there, a
