"""A virtual robot with a free base on level ground: MuJoCo's contacts, and a controller that holds a given motion.

The base is asked for a smooth motion while the feet stay where they are; the legs follow (``standing_motion``). Joints
are held by τ = τ_ff + K_p (q_d − q) + K_d (q̇_d − q̇), the feed-forward from the description's inverse dynamics with the
least forces of the ground that do it. What comes of it is MuJoCo's: feet roll, give a little and may slip."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.contacts import Stance, checked_stance, contact_bias, contact_jacobian
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import MotionError, RobotError
from exciter.experiment.recording.base_sensing import Contacts, TwistAxes
from exciter.experiment.recording.recording import About, Recording
from exciter.experiment.virtual.plant import Plant, build, engine
from exciter.experiment.virtual.true_parameters import Truth
from exciter.parameters.terms import declared_terms
from exciter.robot.base_motion import BaseMotion, quaternions, rotation_of_angles
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Number, Settings
from exciter.typing import Array, Index

CLOSED_M = 1e-12  #: [m] by which feet may miss their places
MOST_CLOSING_STEPS = 50
LARGEST_CLOSING_STEP_RAD = 0.5
FALLEN_FRACTION = 0.5  #: of the height asked for: farther from it, and the robot fell
FALLEN_TURN_RAD = 1.0  #: [rad] away from the attitude asked for


@dataclass(frozen=True)
class StandingControl(Settings):
    """stiffness [N·m/rad] and damping [N·m·s/rad] of every joint; friction: of the ground; step [s] of the simulation,
    in which torques hold."""

    stiffness: Annotated[float, Number(least=0.0, unit="N·m/rad")] = 30.0
    damping: Annotated[float, Number(least=0.0, unit="N·m·s/rad")] = 0.3
    friction: Annotated[float, Number(above=0.0)] = 1.0
    step: Annotated[float, Number(above=0.0, unit="s")] = 5e-4


@dataclass(frozen=True)
class StandingNoise(Settings):
    """σ of one sample: position [rad] and torque [N·m] of joints, place [m], attitude [rad], velocity [m/s] and spin
    [rad/s] of the base."""

    position: Annotated[float, Number(least=0.0, unit="rad")] = 1e-4
    torque: Annotated[float, Number(least=0.0, unit="N·m")] = 0.02
    place: Annotated[float, Number(least=0.0, unit="m")] = 3e-4
    attitude: Annotated[float, Number(least=0.0, unit="rad")] = 5e-4
    velocity: Annotated[float, Number(least=0.0, unit="m/s")] = 5e-3
    spin: Annotated[float, Number(least=0.0, unit="rad/s")] = 5e-3


def started(motion: Motion, place: ArrayLike, seconds: float = 1.0) -> Motion:
    """A motion about ``place`` (k,) that begins there at rest, and is as it was, about it, after ``seconds``."""
    x = np.clip((motion.time - motion.time[0]) / seconds, 0.0, 1.0)[:, None]
    s, sd = x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * x**2 * (1.0 - x) ** 2 / seconds
    sdd = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / seconds**2
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    return Motion(motion.time, s * q + np.asarray(place), sd * q + s * qd, sdd * q + 2.0 * sd * qd + s * qdd)


def standing_motion(robot: Robot, stance: Stance, base: Motion, posture: ArrayLike) -> Motion:
    """The whole robot (N, n), while its six base joints do ``base`` (N, 6) and the frames of the stance stay where they
    are in ``posture`` (n,). Every leg needs as many joints as its contact holds."""
    if not robot.free_base:
        raise RobotError(f"robot '{robot.name}' has no free base; load it with base: free")
    dynamics, start = Dynamics(robot), np.atleast_2d(np.asarray(posture, dtype=float))
    held = tuple(replace(contact, radius=0.0) for contact in checked_stance(robot, stance))
    free, legs = list(robot.free_base), [j for j in range(robot.n) if j not in robot.free_base]
    targets = [dynamics.placement(contact.frame, start)[1][0] for contact in held]
    moved = [j for j in legs if np.any([robot.frame(c.frame).joint in _below(robot, j) for c in held])]
    if len(moved) != sum(contact.size for contact in held) or any(contact.kind == "flat" for contact in held):
        raise MotionError(f"{len(moved)} joints cannot hold {len(held)} points in one way; give legs of three joints")
    q = np.tile(start, (len(base), 1))
    q[:, free] = base.q
    for _ in range(MOST_CLOSING_STEPS):
        places = [dynamics.placement(contact.frame, q)[1] for contact in held]
        error = np.hstack([target - place for target, place in zip(targets, places, strict=True)])
        if np.abs(error).max() < CLOSED_M:
            break
        jacobian = contact_jacobian(dynamics, held, q)[:, :, moved]
        step = np.linalg.solve(jacobian, error[:, :, None])[:, :, 0]
        q[:, moved] += np.clip(step, -LARGEST_CLOSING_STEP_RAD, LARGEST_CLOSING_STEP_RAD)
    else:
        raise MotionError("the legs do not reach: the base moves farther than the feet allow; ask for less")
    jacobian = contact_jacobian(dynamics, held, q)
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    qd[:, free], qdd[:, free] = base.qd, base.qdd

    def legs_of(rates: Array, rest: Array | float) -> Array:
        right = -np.einsum("Nmj,Nj->Nm", jacobian[:, :, free], rates) - rest
        return np.asarray(np.linalg.solve(jacobian[:, :, moved], right[:, :, None])[:, :, 0])

    qd[:, moved] = legs_of(base.qd, 0.0)
    qdd[:, moved] = legs_of(base.qdd, contact_bias(robot, held, q, qd))
    return Motion(base.time, q, qd, qdd)


def rolled_motion(robot: Robot, stance: Stance, motion: Motion) -> Motion:
    """The same motion of the base at even instants, with legs whose round feet roll from where they are first: the
    point that touches stands still, J q̇ = 0, by Runge–Kutta from instant to instant. As it is for pointed feet."""
    if not any(contact.radius for contact in stance):
        return motion
    dynamics, free = Dynamics(robot), list(robot.free_base)
    legs = [j for j in range(robot.n) if j not in robot.free_base]

    def solved(q: Array, right: Array) -> Array:
        """Rates of the legs: J_legs x = −J_base right (N, 6), the least where more would do."""
        jacobian = contact_jacobian(dynamics, stance, q)
        other = np.einsum("Nmj,Nj->Nm", jacobian[:, :, free], right)
        return np.asarray(-np.einsum("Njm,Nm->Nj", np.linalg.pinv(jacobian[:, :, legs]), other))

    step, q = float(motion.time[1] - motion.time[0]), np.array(motion.q)
    for k in range(len(motion) - 1):
        h, base, rate = step, motion.q[k : k + 2, free], motion.qd[k : k + 2, free]
        half = 0.5 * base.sum(axis=0) - 0.125 * h * np.diff(rate, axis=0)[0]  # cubic through both ends
        middle = 1.5 * np.diff(base, axis=0)[0] / h - 0.25 * rate.sum(axis=0)
        at, slopes = q[k, legs], list[Array]()
        for part, place, speed in (
            (0.0, base[0], rate[0]),
            (0.5, half, middle),
            (0.5, half, middle),
            (1.0, base[1], rate[1]),
        ):
            trial = q[k : k + 1].copy()
            trial[0, free], trial[0, legs] = place, at + (part * h * slopes[-1] if slopes else 0.0)
            slopes.append(solved(trial, speed[None])[0])
        q[k + 1, legs] = at + h / 6.0 * (slopes[0] + 2.0 * slopes[1] + 2.0 * slopes[2] + slopes[3])
    qd, qdd = np.array(motion.qd), np.array(motion.qdd)
    qd[:, legs] = solved(q, motion.qd[:, free])
    jacobian = contact_jacobian(dynamics, stance, q)
    right = np.einsum("Nmj,Nj->Nm", jacobian[:, :, free], motion.qdd[:, free]) + contact_bias(robot, stance, q, qd)
    qdd[:, legs] = -np.einsum("Njm,Nm->Nj", np.linalg.pinv(jacobian[:, :, legs]), right)
    return Motion(motion.time, q, qd, qdd)


def _below(robot: Robot, joint: int) -> set[int]:
    return {j for j in range(robot.n) if joint in robot.ancestors(j)}


def least_forces(dynamics: Dynamics, stance: Stance, motion: Motion, torque: Array) -> tuple[Array, Array]:
    """Torque of the joints (N, n), zero of the base, and forces of the ground (N, m) in axes of the world, the least
    that carry the base: of what the motion takes altogether (N, n)."""
    free = list(dynamics.robot.free_base)
    jacobian = contact_jacobian(dynamics, stance, motion.q)
    carrying = np.linalg.pinv(jacobian[:, :, free].swapaxes(1, 2))
    forces = np.einsum("Nij,Nj->Ni", carrying, torque[:, free])
    joints = torque - np.einsum("Nmj,Nm->Nj", jacobian, forces)
    joints[:, free] = 0.0
    return joints, forces


@dataclass(frozen=True, eq=False)
class Stood:
    """What happened, exactly: motion and torque (N, n) of all joints, forces (N, 3 k) of the ground on the feet, in
    axes of the world."""

    robot: Robot
    contacts: Contacts
    motion: Motion
    torque: Array
    forces: Array
    period: float | None = None

    def between(self, start: float, end: float) -> Stood:
        """Samples of start ≤ time < end [s], whose time begins at zero."""
        kept = (self.motion.time >= start - 1e-9) & (self.motion.time < end - 1e-9)
        moved = Motion(*(x[kept] for x in (self.motion.time - start, self.motion.q, self.motion.qd, self.motion.qdd)))
        return replace(self, motion=moved, torque=self.torque[kept], forces=self.forces[kept])

    def recording(self, noise: StandingNoise, seed: int = 0, *, forces: bool = False) -> Recording:
        """As sensors would say it; forces: whether those of the ground are measured, too."""
        rng, free = np.random.default_rng(seed), list(self.robot.free_base)
        legs = [j for j in range(self.robot.n) if j not in free]

        def noisy(values: Array, sigma: float) -> Array:
            return values + sigma * rng.standard_normal(values.shape)

        motion = self.motion
        base = BaseMotion.of_joints(motion.q[:, free], motion.qd[:, free], motion.qdd[:, free])
        turn = rotation_of_angles(noisy(np.zeros((len(motion), 3)), noise.attitude))  # small: any three angles will do
        return Recording(
            joints=tuple(self.robot.joint_names[j] for j in legs),
            time=motion.time,
            q=noisy(motion.q[:, legs], noise.position),
            torque=noisy(self.torque[:, legs], noise.torque),
            base_position=noisy(base.position, noise.place),
            base_orientation=quaternions(base.rotation @ turn),
            base_twist=np.hstack([noisy(base.velocity, noise.velocity), noisy(base.spin, noise.spin)]),
            contact=np.ones((len(motion), len(self.contacts.frames))),
            contact_force=self.forces if forces else None,
            about=About(period=self.period, contacts=self.contacts, base_twist=TwistAxes("world", "local")),
        )


@dataclass(frozen=True, eq=False)
class StandingRobot:
    """truth: what the robot really is; its description is what the controller knows."""

    truth: Truth
    contacts: Contacts
    control: StandingControl = field(default_factory=StandingControl)

    def plant(self) -> Plant:
        """MuJoCo's, with round feet on a plane."""
        robot = self.truth.robot
        return build(self.truth, ground=[(contact, robot.frame(contact.frame)) for contact in self.contacts.all])

    def stand(self, motion: Motion, described: Robot, period: float | None = None) -> Stood:
        """Follow a motion (N, n) at uniform instants, from rest in its first posture; described: what the feed-forward
        knows. Samples are at the motion's instants."""
        mujoco, control, plant = engine(), self.control, self.plant()
        model, data, dof, stance = plant.model, plant.data, plant.link, self.contacts.all
        interval = float(motion.time[1] - motion.time[0])
        every = max(1, round(interval / control.step))
        plant.begin(interval / every)  # friction of the joints as hard as that step allows
        for name in ("ground", *(f"foot{k}" for k in range(len(stance)))):  # MuJoCo takes the larger one of two
            model.geom(name).friction[0] = control.friction
        dynamics = Dynamics(described)
        known = DynamicModel(described, declared_terms(described)).torque(motion)  # friction included, where declared
        ahead, _ = least_forces(dynamics, stance, motion, known)
        legs = np.array([j for j in range(described.n) if j not in described.free_base])
        own = dof[legs]
        data.qpos[dof] = motion.q[0]
        q, qd, qdd, torque = (np.zeros(motion.q.shape) for _ in range(4))
        forces = np.zeros((len(motion), 3 * len(stance)))
        places, speeds = _between(motion, legs, every)
        for k in range(len(motion)):
            step = (ahead[min(k + 1, len(motion) - 1), legs] - ahead[k, legs]) / every
            for tick in range(every):  # between samples, too: a controller that jumps would be logged before each jump
                ff, place, speed = ahead[k, legs] + tick * step, places[k, tick], speeds[k, tick]
                given = ff + control.stiffness * (place - data.qpos[own]) + control.damping * (speed - data.qvel[own])
                data.qfrc_applied[own] = given
                if tick == 0:
                    mujoco.mj_forward(model, data)
                    torque[k, legs] = given
                    q[k], qd[k], qdd[k] = data.qpos[dof], data.qvel[dof], data.qacc[dof]
                    forces[k] = _ground_forces(mujoco, plant, len(stance))
                mujoco.mj_step(model, data)
        if bool(data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number) or _fell(described, q, motion.q):
            advice = "control it more stiffly (simulate: {standing: {stiffness: …, damping: …}})"
            raise MotionError(f"the virtual robot fell; ask for less, or {advice}")
        return Stood(described, self.contacts, Motion(motion.time, q, qd, qdd), torque, forces, period)


def _fell(robot: Robot, q: Array, asked: Array) -> bool:
    """Whether the base came far from where it was asked to be (N, n): down, up, or turned."""
    if not np.isfinite(q).all():
        return True
    height, turns = robot.free_base[2], list(robot.free_base[3:])
    off = np.abs(q - asked)
    return bool((off[:, height] > FALLEN_FRACTION * asked[:, height]).any() or (off[:, turns] > FALLEN_TURN_RAD).any())


def _between(motion: Motion, joints: Index, every: int) -> tuple[Array, Array]:
    """Positions and velocities (N, every, joints) that are asked for, by cubics through both samples: a reference with
    kinks would make all that is logged at its samples ripple in step with them."""
    following = np.minimum(np.arange(len(motion)) + 1, len(motion) - 1)
    h, x = float(motion.time[1] - motion.time[0]), (np.arange(every) / every)[None, :, None]
    q, qd = motion.q[:, None, joints], h * motion.qd[:, None, joints]
    way, to = q[following] - q, qd[following]
    bend, twist = 3.0 * way - 2.0 * qd - to, qd + to - 2.0 * way
    return q + x * (qd + x * (bend + x * twist)), (qd + x * (2.0 * bend + 3.0 * x * twist)) / h


def _ground_forces(mujoco: Any, plant: Plant, feet: int) -> Array:
    """(3 k,) on the feet, in axes of the world."""
    found, own, data = np.zeros((feet, 3)), np.zeros(6), plant.data
    numbers = {plant.model.geom(f"foot{k}").id: k for k in range(feet)}
    for number in range(data.ncon):
        contact = data.contact[number]
        mujoco.mj_contactForce(plant.model, data, number, own)
        force = contact.frame.reshape(3, 3).T @ own[:3]
        for geom, sign in ((contact.geom1, -1.0), (contact.geom2, 1.0)):
            if geom in numbers:
                found[numbers[geom]] += sign * force
    return found.ravel()
