"""The virtual robot as a MuJoCo model: an engine that shares no equation with the estimator.

Joint frames, axes, bodies and gravity are the robot's; there are no joint stops, and no contacts but those of feet with
the ground, where they are asked for: balls on a level plane. Rotor inertia is
MuJoCo's armature, viscous friction its damping. Dry friction is its ``frictionloss``, a constraint that is solved
together with the acceleration: a joint that slips feels exactly ±(Fs + Fst …), one that rests what keeps it there, up
to a creep of 1e-4 of the speed that the same torque would give it within one step; a joint that would come to rest
within the present step counts as resting. What Stribeck adds is updated at every step. A compensation spring is a
tendon between two points, a flexible joint a rotor of its own on a tendon wound round both. Where bodies follow joints,
MuJoCo's tree is moved by the joints alone (``reduced_plant.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from exciter.dynamics.contacts import GroundContact
from exciter.errors import ExciterError, ParameterError
from exciter.experiment.virtual.reduced_plant import ReducedState, ReducedTree
from exciter.experiment.virtual.true_parameters import Flexibility, Truth, resolved
from exciter.parameters.conventions import to_mujoco
from exciter.robot.loop_reach import rest_posture
from exciter.robot.robot import Frame, Joint, Robot
from exciter.robot.spatial import axis_rotation, rotation_to
from exciter.typing import Array, Index

NEGLIGIBLE_INERTIA = 1e-12  # [kg, kg·m²] that MuJoCo gets instead of zero
NO_BODY = {"mass": NEGLIGIBLE_INERTIA, "inertia": (NEGLIGIBLE_INERTIA,) * 3, "explicitinertial": True}
STIFF_SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp: as hard as MuJoCo makes a constraint
GROUND_SOLIMP = (0.8, 0.95, 0.001, 0.5, 2.0)  # harder, and a light foot chatters: no force for single steps
#: Time constant of the ground, in steps; MuJoCo allows no less than two. Its contacts leave J̇q̇ out of the acceleration
#: of the point that touches, so that a foot that only rolls creeps by about J̇q̇ times half that time.
GROUND_STEPS = 2.0
GROUND_IMPRATIO = 20.0  #: of friction to normal force in stiffness: feet hardly creep
SMALLEST_FOOT_M = 1e-3  #: [m] radius of the ball that stands for a pointed foot
LEAST_JOINT_INERTIA = 1e-9  # [kg·m²] a joint with less to move than this cannot be controlled


def engine() -> Any:
    """MuJoCo, or one line that says how to get it."""
    try:
        import mujoco
    except ImportError:
        raise ExciterError("the virtual robot needs MuJoCo; install it with: pip install mujoco") from None
    return mujoco


@dataclass(frozen=True, eq=False)
class Plant:
    """A compiled model; ``link`` and ``motor`` (n,): indices into q and q̇, the same unless joints are flexible. model,
    data: MuJoCo's, or of a tree that follows its joints."""

    truth: Truth
    model: Any
    data: Any
    link: Index
    motor: Index
    stiffness: Array
    damping: Array
    flexible: bool

    def inertia_matrix(self) -> Array:
        """M at the present state, of links with the rotors of rigid joints, and of motors of flexible ones."""
        mujoco = engine()
        if isinstance(self.model, ReducedTree):
            return self.model.equations(self.data.qpos, self.data.qvel)[0]
        mujoco.mj_forward(self.model, self.data)
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return full

    def begin(self, step: float) -> None:
        """Everything at zero, before steps of ``step`` [s]."""
        self.take(step)
        if isinstance(self.model, ReducedTree):
            for name in ("qpos", "qvel", "qacc", "qfrc_applied", "qfrc_constraint"):
                getattr(self.data, name)[:] = 0.0
            return
        engine().mj_resetData(self.model, self.data)
        self.model.dof_solref[self.motor] = (2.0 * step, 1.0)
        self.model.geom_solref[:] = (GROUND_STEPS * step, 1.0)  # of feet and ground: there are no others

    def take(self, step: float) -> float:
        """Steps of ``step`` [s] from now on; those before."""
        holder = self.model if isinstance(self.model, ReducedTree) else self.model.opt
        before, holder.timestep = holder.timestep, step
        return float(before)

    def another(self) -> Any:
        """Room for another state."""
        reduced = isinstance(self.model, ReducedTree)
        return ReducedState(len(self.link)) if reduced else engine().MjData(self.model)

    def copy(self, data: Any, probe: Any) -> None:
        probe.qpos[:], probe.qvel[:], probe.qfrc_applied[:] = data.qpos, data.qvel, data.qfrc_applied
        if not isinstance(self.model, ReducedTree):
            probe.qacc_warmstart[:] = data.qacc

    def forward(self, data: Any) -> None:
        """Accelerations of a state."""
        if isinstance(self.model, ReducedTree):
            self.model.forward(data)
        else:
            engine().mj_forward(self.model, data)

    def advance(self, data: Any) -> None:
        """One step, from a state whose accelerations are known."""
        if isinstance(self.model, ReducedTree):
            self.model.advance(data)
        else:
            engine().mj_RungeKutta(self.model, data, 4)


def joint_type(joint: Joint) -> Any:
    types = engine().mjtJoint
    return types.mjJNT_SLIDE if joint.is_prismatic else types.mjJNT_HINGE


def body_tree(robot: Robot) -> tuple[Any, list[Any]]:
    """MuJoCo's description of the robot's bodies, which no drive moves yet, and the bodies in their order; joint i is
    named ``link`` and its number."""
    spec, bodies = engine().MjSpec(), list[Any]()
    spec.option.gravity = np.array(robot.gravity)
    for i, joint in enumerate(robot.bodies):
        parent = spec.worldbody if joint.parent < 0 else bodies[joint.parent]
        bodies.append(_add_body(parent, joint, i))
        bodies[i].add_joint(name=f"link{i}", type=joint_type(joint), axis=joint.axis)
    return spec, bodies


def build(
    truth: Truth, flexibility: Flexibility | None = None, ground: Sequence[tuple[GroundContact, Frame]] = ()
) -> Plant:
    """The robot of a truth; payloads are already part of it. ground: feet, and the frames they are at."""
    mujoco = engine()
    robot = truth.robot
    spec, bodies = body_tree(robot)
    option, kinds = spec.option, [joint_type(joint) for joint in robot.bodies]
    option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    option.disableflags = mujoco.mjtDisableBit.mjDSBL_LIMIT
    if not ground:
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    option.tolerance, option.iterations = 1e-14, 100
    if ground:
        _put_on_ground(spec, bodies, ground)
    if flexibility is not None:
        if robot.coupling is not None:
            raise ParameterError("joints are flexible, or bodies follow them; both at once cannot be simulated")
        if not (truth.rotor > 0.0).all():
            raise ParameterError("a flexible joint needs a rotor; give rotor_inertia > 0 for every joint")
        for i, kind in enumerate(kinds):  # rotors that are nothing but an armature, and a tendon θ − q to the link
            body = spec.worldbody.add_body(name=f"rotor{i}", gravcomp=1.0, **NO_BODY)
            body.add_joint(name=f"motor{i}", type=kind, axis=(0.0, 0.0, 1.0))
            tendon = spec.add_tendon(name=f"gear{i}")
            tendon.wrap_joint(f"motor{i}", 1.0)
            tendon.wrap_joint(f"link{i}", -1.0)
    for number, spring in enumerate(truth.springs):  # a tendon from a point beside the axis to one on the link
        index = robot.body(spring.joint)
        joint = robot.bodies[index]
        arm = rotation_to(joint.axis)[:, 0]  # perpendicular to the axis
        before = spec.worldbody if joint.parent < 0 else bodies[joint.parent]
        fixed = joint.translation + joint.rotation @ (spring.base_arm * arm)
        moving = axis_rotation(joint.axis, spring.offset) @ (spring.link_arm * arm)  # q + offset further round
        tendon = spec.add_tendon(name=f"spring{number}")
        for name, body, place in (("fixed", before, fixed), ("moving", bodies[index], moving)):
            body.add_site(name=f"{name}{number}", pos=place, size=[0.001] * 3)
            tendon.wrap_site(f"{name}{number}")
    model = spec.compile()
    link = np.array([model.joint(f"link{i}").dofadr[0] for i in range(robot.n_bodies)], dtype=np.int64)
    if robot.coupling is not None:
        return _following(truth, model, mujoco.MjData(model), link)
    motor = link
    stiffness, damping = np.zeros((2, robot.n))
    if flexibility is not None:
        motor = np.array([model.joint(f"motor{i}").dofadr[0] for i in range(robot.n)], dtype=np.int64)
        stiffness = resolved(flexibility.stiffness, robot, "joint stiffness", positive=True)
        damping = resolved(flexibility.damping, robot, "joint damping")
    plant = Plant(truth, model, mujoco.MjData(model), link, motor, stiffness, damping, flexibility is not None)
    model.dof_armature[motor] = truth.rotor
    model.dof_damping[motor] = truth.friction.array("viscous")
    model.dof_frictionloss[motor] = truth.friction.array("coulomb") + truth.friction.array("stribeck")
    model.dof_solimp[motor] = STIFF_SOLIMP
    _wind(model, truth, [(f"gear{i}", stiffness[i], damping[i], 0.0) for i in range(robot.n if plant.flexible else 0)])
    mujoco.mj_setConst(model, plant.data)
    # MuJoCo forgets the rotor of a body that only slides, and would make its dry friction as soft as the body is light.
    whole = plant.inertia_matrix()
    if np.diag(whole).min() > 0.0:
        model.dof_invweight0[:] = np.diag(np.linalg.inv(whole))
    _refuse_light(plant)
    return plant


def _wind(model: Any, truth: Truth, tendons: list[tuple[str, float, float, float]]) -> None:
    """Stiffness, damping and length of tendons, springs among them."""
    for number, spring in enumerate(truth.springs):
        slack = spring.free_length - spring.preload / spring.stiffness
        tendons.append((f"spring{number}", spring.stiffness, 0.0, slack))
    for name, *numbers in tendons:
        tendon = model.tendon(name).id
        model.tendon_stiffness[tendon], model.tendon_damping[tendon], model.tendon_lengthspring[tendon] = numbers


def _refuse_light(plant: Plant) -> None:
    light = np.flatnonzero(np.diag(plant.inertia_matrix())[plant.link] < LEAST_JOINT_INERTIA)
    if light.size:
        name = plant.truth.robot.joint_names[int(light[0])]
        raise ParameterError(f"joint '{name}' has nothing to move: its body has no mass; give it one, or a rotor")


def _following(truth: Truth, model: Any, data: Any, place: Index) -> Plant:
    """Of a tree whose bodies follow joints."""
    robot, true = truth.robot, truth.friction.array
    assert robot.coupling is not None
    _wind(model, truth, [])
    loss = true("coulomb") + true("stribeck")
    tree = ReducedTree(model, data, place, robot.coupling, truth.rotor, true("viscous"), loss)
    joints, none = np.arange(robot.n), np.zeros(robot.n)
    plant = Plant(truth, tree, ReducedState(robot.n), joints, joints, none, none, False)
    plant.data.qpos[:] = rest_posture(robot)
    _refuse_light(plant)
    return plant


def _put_on_ground(spec: Any, bodies: Sequence[Any], feet: Sequence[tuple[GroundContact, Frame]]) -> None:
    """A plane at height zero, and a ball at every foot, which touch each other only; as hard as the step allows."""
    mujoco = engine()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, GROUND_IMPRATIO
    hard: dict[str, Any] = {"solimp": GROUND_SOLIMP, "condim": 3, "mass": 0.0}
    plane = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": (0.0, 0.0, 1.0), "contype": 1, "conaffinity": 0}
    spec.worldbody.add_geom(name="ground", **plane, **hard)
    ball = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "contype": 0, "conaffinity": 1}
    for k, (contact, frame) in enumerate(feet):
        size = (max(contact.radius, SMALLEST_FOOT_M), 0.0, 0.0)
        bodies[frame.joint].add_geom(name=f"foot{k}", pos=frame.translation, size=size, **ball, **hard)


def _add_body(parent: Any, joint: Joint, number: int) -> Any:
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(joint.rotation).as_quat().tolist()
    inertial: dict[str, Any] = {**NO_BODY, "ipos": (0.0, 0.0, 0.0), "iquat": (1.0, 0.0, 0.0, 0.0)}
    if joint.inertia[0] > NEGLIGIBLE_INERTIA:
        own = to_mujoco(joint.inertia)
        a, b, c = np.maximum(own.diaginertia, NEGLIGIBLE_INERTIA).tolist()
        moments = (min(a, b + c), b, c)  # the largest comes first; rods and plates are on the edge of what can be
        inertial |= {"mass": own.mass, "ipos": own.ipos, "iquat": own.iquat, "inertia": moments}
    return parent.add_body(name=f"body{number}", pos=joint.translation, quat=[w, x, y, z], **inertial)
