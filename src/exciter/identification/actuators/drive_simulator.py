"""The closed loop of command and drive as MuJoCo simulates it, many roll-outs at a time.

τ = clip(Kp (command(t − delay) − q − bias) − Kd q̇ + offset, ± limit) is MuJoCo's affine actuator, so that all of a
roll-out happens inside MuJoCo: its integrator, armature, damping and frictionloss, which is where the numbers go. With
implicitfast the control's damping is integrated implicitly, as that of a drive that runs much faster than the step;
with euler it is explicit, as a loop that computes torques once per step. Contacts and joint stops are left out: a robot
that hangs or is clamped touches neither. Joints that follow one other (mimic) are held to it by MuJoCo's equality, as
soft as the file has it, and their friction and rotors are those of the one they follow. The encoder says q(t −
measurement delay) + bias. Commands are straight lines between samples, and positions cubics between steps, so that
delays need not be whole steps."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.errors import RobotError
from exciter.experiment.virtual.plant import STIFF_SOLIMP, body_tree, engine
from exciter.identification.actuators.actuator_settings import SimulatorSettings
from exciter.identification.actuators.control_law import joint_refs
from exciter.identification.actuators.drive_numbers import Numbers
from exciter.identification.actuators.moved_links import link_masses
from exciter.notes import Note, warning
from exciter.robot.coupling import LinearCoupling
from exciter.robot.mjcf import is_off
from exciter.robot.mjcf_model import compiled
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import parse_xml
from exciter.typing import Array, Index

LONGEST_STEP_S = 0.0025  #: of a simulation whose description has none
SOLVER_ITERATIONS, SOLVER_TOLERANCE = 100, 1e-12  #: of friction, so that differences of roll-outs are smooth
#: solimp of friction that is spread over speeds around zero: where roll-outs stick, they have no slope
SOFT_FRICTION = 0.1
NO_LOAD = {"explicitinertial": True, "mass": 0.0, "inertia": (0.0, 0.0, 0.0), "ipos": (0.0, 0.0, 0.0)}


@dataclass(frozen=True, eq=False)
class Stretch:
    """Samples of a log that are simulated from one state: time (N,) [s], position (N, n) and the command around them
    (M, n) at its own instants (M,)."""

    log: int
    time: Array
    q: Array
    command_time: Array
    command: Array


@dataclass(frozen=True, eq=False)
class Rolled:
    """said (N, n): by the encoder. q, v (T + 1, n) of the joints themselves, at steps from the instant ``begin`` of the
    commands [s]."""

    said: Array
    q: Array
    v: Array
    begin: float


@dataclass(frozen=True, eq=False)
class DriveSimulator:
    """model: MuJoCo's, with one affine actuator per joint; dof (n,): where MuJoCo has the joints, tree (bodies,): where
    it has all that moves. links (n,): where it has the bodies of the joints; loads: by joint, where their payloads.
    step [s]. refs (bodies,): positions that the description's file begins at, by which MuJoCo scales friction."""

    robot: Robot
    model: Any
    dof: Index
    tree: Index
    links: Index
    loads: Mapping[int, int]
    step: float
    refs: Array

    @property
    def n(self) -> int:
        return self.robot.n

    @property
    def integrator(self) -> str:
        return "euler" if self.model.opt.integrator == engine().mjtIntegrator.mjINT_EULER else "implicitfast"

    def inertia_of_step(self, numbers: Numbers) -> Array:
        """(n,) [kg·m²] that the step adds to the rotors: a damping D of the speed half a step after a position is
        D (q̇ + h/2 q̈), of that before it D (q̇ − h/2 q̈)."""
        kd = -numbers["kd"] if self.integrator == "euler" else numbers["kd"]
        return np.asarray(0.5 * self.step * (numbers["damping"] + kd))

    def state(self, q: Array, v: Array) -> Array:
        """MuJoCo's (1 + 2 bodies,), time zero, where joints have positions and speeds (n,)."""
        begun, held = np.zeros(1 + 2 * len(self.tree)), self.robot.coupling
        if isinstance(held, LinearCoupling):
            q, v = held.matrix @ q + held.offset, held.matrix @ v
        begun[1 + self.tree], begun[1 + len(self.tree) + self.tree] = q, v
        return begun

    def with_numbers(self, numbers: Numbers, softness: float | None = None) -> Any:
        """MuJoCo's model with these drives; softness: solimp of friction instead of the description's."""
        mujoco, model = engine(), copy.copy(self.model)
        model.dof_armature[self.dof] = numbers["armature"]
        model.dof_damping[self.dof] = numbers["damping"]
        model.dof_frictionloss[self.dof] = numbers["friction"]
        model.actuator_gainprm[:, 0] = numbers["kp"]
        model.actuator_biasprm[:, 0] = numbers["offset"]
        model.actuator_biasprm[:, 1] = -numbers["kp"]
        model.actuator_biasprm[:, 2] = -numbers["kd"]
        finite = np.isfinite(numbers["limit"])
        model.actuator_forcelimited[:] = finite
        model.actuator_forcerange[finite, 1] = numbers["limit"][finite]
        model.actuator_forcerange[finite, 0] = -numbers["limit"][finite]
        masses = link_masses(self.robot)
        ratio = np.where(masses > 0.0, numbers["mass"] / np.where(masses > 0.0, masses, 1.0), 1.0)
        model.body_mass[self.links] *= ratio
        model.body_inertia[self.links] *= ratio[:, None]
        for j, load in self.loads.items():
            model.body_mass[load] = numbers["payload"][j]
        if softness is not None:
            model.dof_solimp[:, :2] = softness
        mujoco.mj_setConst(model, mujoco.MjData(model))  # what friction is scaled by follows the rotors and masses
        if self.refs.any():
            self._scale_friction(model)
        return model

    def _scale_friction(self, model: Any) -> None:
        """By (M⁻¹)_jj with the joints at their ``refs``: there the file has its zero, here it is where joints are 0."""
        mujoco, data, inverse = engine(), engine().MjData(model), np.eye(model.nv)
        data.qpos[self.tree] = self.refs
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
        model.dof_invweight0[:] = np.diag(inverse)

    def roll(self, model: Any, numbers: Numbers, states: Array, stretches: Sequence[Stretch]) -> list[Array]:
        """What the encoder would say (N, n) at the instants of each stretch, from states (S, 2 n) of encoder position
        and velocity at its first sample."""
        return self.roll_many([(model, numbers, states)], stretches)[0]

    def roll_many(self, runs: Sequence[tuple[Any, Numbers, Array]], stretches: Sequence[Stretch]) -> list[list[Array]]:
        """The same of several models at once."""
        return [[one.said for one in run] for run in self.rolled(runs, stretches)]

    def rolled(self, runs: Sequence[tuple[Any, Numbers, Array]], stretches: Sequence[Stretch]) -> list[list[Rolled]]:
        """The same with all states on the way."""
        from mujoco import rollout

        h, n = self.step, self.n
        steps = [int(np.ceil((s.time[-1] - s.time[0]) / h - 1e-9)) + 1 for s in stretches]
        most = max(steps)
        models, starts, controls = list[Any](), list[Array](), list[Array]()
        for model, numbers, states in runs:
            for stretch, state in zip(stretches, states, strict=True):
                begin = stretch.time[0] - numbers["measurement_delay"][0]
                grid = begin + h * np.arange(most)
                models.append(model)
                starts.append(self.state(state[:n] - numbers["bias"], state[n:]))
                controls.append(commanded(stretch, grid, numbers))
        with unwarned():
            batch, _ = rollout.rollout(models, [engine().MjData(self.model)], np.array(starts), np.array(controls))
        found, k = list[list[Rolled]](), 0
        for _, numbers, states in runs:
            own = list[Rolled]()
            for stretch, state, count in zip(stretches, states, steps, strict=True):
                q = np.vstack([state[:n] - numbers["bias"], batch[k][:count, 1 + self.dof]])
                v = np.vstack([state[n:], batch[k][:count, 1 + len(self.tree) + self.dof]])
                said = _between(stretch.time - stretch.time[0], q, v, h) + numbers["bias"]
                own.append(Rolled(said, q, v, float(stretch.time[0] - numbers["measurement_delay"][0])))
                k += 1
            found.append(own)
        return found

    def held_friction(self, model: Any) -> tuple[Array, Array]:
        """D and b (n,) of MuJoCo's f = −D (a + b q̇), dry friction that holds; of a joint without any D is one."""
        mujoco, data = engine(), engine().MjData(model)
        mujoco.mj_forward(model, data)
        hard, rate = np.ones(model.nv), np.zeros(model.nv)
        rows = np.flatnonzero(data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)
        hard[data.efc_id[rows]] = data.efc_D[rows]
        rate[data.efc_id[rows]] = np.reshape(data.efc_KBIP, (-1, 4))[rows, 1]
        return hard[self.dof], rate[self.dof]


@contextmanager
def unwarned() -> Iterator[None]:
    """Without what MuJoCo says of loops that diverge, on screen and in MUJOCO_LOG.TXT where one works: a search may try
    such numbers, and those that it ends with are looked at."""
    mujoco = engine()
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda words: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def commanded(stretch: Stretch, grid: Array, numbers: Numbers) -> Array:
    """(T, n) what the drives are told at instants (T,), less the encoder's bias."""
    told = np.empty((len(grid), stretch.command.shape[1]))
    for j in range(told.shape[1]):
        told[:, j] = np.interp(grid - numbers["delay"][j], stretch.command_time, stretch.command[:, j])
    return told - numbers["bias"]


def _between(time: Array, q: Array, v: Array, h: float) -> Array:
    """Positions (N, n) at instants (N,) after the first of states (T, n) at steps of h: cubics through both ends."""
    k, w = cubic_weights(time, len(q) - 1, h)
    return np.asarray(w[:, :1] * q[k] + w[:, 1:2] * q[k + 1] + w[:, 2:3] * v[k] + w[:, 3:] * v[k + 1])


def cubic_weights(time: Array, steps: int, h: float) -> tuple[Index, Array]:
    """Of instants (N,): steps (N,) before them, and weights (N, 4) of q, q⁺, v, v⁺ in cubics of steps of h."""
    k = np.clip((time / h).astype(np.int64), 0, steps - 1)
    x = time / h - k
    up = x * x * (3.0 - 2.0 * x)
    return k, np.column_stack([1.0 - up, up, h * x * (1.0 - x) ** 2, h * x * x * (x - 1.0)])


def refuse_others(robot: Robot) -> None:
    """Robots whose drives cannot be found this way."""
    coupling = robot.coupling
    if coupling is not None and not isinstance(coupling, LinearCoupling):
        loops = ", ".join(f"'{name}'" for name in robot.tree_names if name not in robot.joint_names)
        raise RobotError(
            f"{loops} close a loop with other joints; drives in loops cannot be found from commands: lock the joints "
            "of the loop where it stood still (lock: ['pattern*'])"
        )
    for body, name in enumerate(robot.tree_names):
        if coupling is not None and coupling.leader(body) is None:
            raise RobotError(
                f"'{name}' follows several joints at once; drives of such gears cannot be found from commands: lock "
                "all but one of these joints (lock: ['pattern*'])"
            )
    if robot.free_base:
        raise RobotError(
            "the base is free; drives are found with the robot hung or clamped, its base at rest: give base: fixed"
        )


def drive_simulator(
    robot: Robot, settings: SimulatorSettings, interval: float, places: Mapping[int, Array] | None = None
) -> DriveSimulator:
    """Of a robot on a fixed base; interval [s]: between samples of the log. places: of payloads (``payload_places``)
    of joints."""
    refuse_others(robot)
    mujoco = engine()
    spec, bodies = body_tree(robot)
    for j, place in (places or {}).items():  # a body of its own, which MuJoCo lets weigh nothing
        bodies[robot.body(robot.joint_names[j])].add_body(name=f"load{j}", pos=place, **NO_LOAD)
    option, own = spec.option, _options(robot)
    integrator = settings.integrator or own["integrator"]
    step = settings.step or own["step"] or interval / np.ceil(interval / LONGEST_STEP_S - 1e-9)
    option.timestep, option.iterations, option.tolerance = float(step), SOLVER_ITERATIONS, SOLVER_TOLERANCE
    option.integrator = (
        mujoco.mjtIntegrator.mjINT_EULER if integrator == "euler" else mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    )
    option.disableflags = mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    for k, name in enumerate(robot.joint_names):
        drive = {"target": f"link{robot.body(name)}", "trntype": mujoco.mjtTrn.mjTRN_JOINT}
        actuator = spec.add_actuator(name=f"drive{k}", **drive)
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    _hold_followers(spec, robot, own["equalities"], float(step))
    model = spec.compile()
    tree = np.array([int(model.joint(f"link{i}").dofadr[0]) for i in range(robot.n_bodies)], dtype=np.int64)
    dof = tree[[robot.body(name) for name in robot.joint_names]]
    for j, (solref, solimp) in zip(dof, own["friction"], strict=False):  # nothing where the file says nothing
        model.dof_solref[j], model.dof_solimp[j] = solref, solimp
    links = np.array([int(model.jnt_bodyid[model.dof_jntid[k]]) for k in dof], dtype=np.int64)
    loads = {j: int(model.body(f"load{j}").id) for j in places or {}}
    refs = np.array([own["refs"].get(name, 0.0) for name in robot.tree_names])
    return DriveSimulator(robot, model, dof, tree, links, loads, float(step), refs)


def integrator_remark(robot: Robot, simulator: DriveSimulator) -> Iterator[Note]:
    """That the robot's MJCF asks for another integrator than the one that is simulated."""
    stated = _options(robot)["stated"]
    if stated is not None and stated.lower() != simulator.integrator:
        yield warning(
            "integrator",
            f"the MJCF asks for {stated}, simulated is {simulator.integrator}: the numbers are those that make "
            f"this one move as the robot did, and the file that is written, which keeps {stated}, may move otherwise; "
            "write the integrator that you train with into the file, Euler or implicitfast",
        )


def _hold_followers(spec: Any, robot: Robot, described: Mapping[str, tuple[Array, Array]], step: float) -> None:
    """By equalities with solref and solimp of the file, else as hard as the step allows."""
    if not isinstance(robot.coupling, LinearCoupling):
        return
    for body, name in enumerate(robot.tree_names):
        if name in robot.joint_names:
            continue
        found = robot.coupling.leader(body)
        assert found is not None  # by ``refuse_others``
        leader, ratio, offset = found
        held = spec.add_equality(
            name=f"follow{body}", type=engine().mjtEq.mjEQ_JOINT, objtype=engine().mjtObj.mjOBJ_JOINT
        )
        held.name1, held.name2 = f"link{body}", f"link{robot.body(robot.joint_names[leader])}"
        held.data[:5] = offset, ratio, 0.0, 0.0, 0.0
        held.solref[:], held.solimp[:] = described.get(name, ((2.0 * step, 1.0), STIFF_SOLIMP))


def _options(robot: Robot) -> dict[str, Any]:
    """Integrator, step and how hard friction and equalities are, of the robot's MJCF where it has one."""
    nothing: dict[str, Any] = {
        "integrator": "implicitfast",
        "stated": None,
        "step": None,
        "friction": [],
        "equalities": {},
        "refs": {},
    }
    if robot.file is None or robot.file.suffix.lower() not in (".xml", ".mjcf"):
        return nothing
    root = parse_xml(robot.file)
    if root.tag != "mujoco":
        return nothing
    file = compiled(root, robot.file, robot.file.parent)
    spec = file.spec
    euler = spec.option.integrator == engine().mjtIntegrator.mjINT_EULER
    said = {word for option in root.findall("option") for word in option.attrib}
    stated = next((one.get("integrator") for one in root.findall("option")[::-1] if "integrator" in one.attrib), None)
    if euler and is_off(spec.option, engine().mjtDisableBit.mjDSBL_EULERDAMP):
        stated = "Euler without eulerdamp"
    joints = {joint.name: joint for joint in spec.joints}
    friction = [
        (np.array(joints[name].solref_friction), np.array(joints[name].solimp_friction))
        for name in robot.joint_names
        if name in joints
    ]
    return {
        "integrator": "euler" if euler and "integrator" in said else "implicitfast",
        "stated": stated,
        "step": float(spec.option.timestep) if "timestep" in said else None,
        "friction": friction if len(friction) == robot.n else [],
        "equalities": {
            one.name1: (np.array(one.solref), np.array(one.solimp))
            for one in spec.equalities
            if one.type == engine().mjtEq.mjEQ_JOINT
        },
        "refs": joint_refs(file),
    }
