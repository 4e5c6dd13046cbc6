"""Gains of the drives: as settings give them, else those of the position actuators of the robot's MJCF, joint by joint.

MuJoCo resolves default classes. An actuator of gear g on a joint has force = kp (control − g q) − kv g q̇ and torque g ·
force, so that in terms of the joint Kp = g² kp and Kd = g² kv, and a control of g · command is meant by a command. A
``dampratio`` ζ is kv = 2 ζ √(kp m), m = 1 / (g² (M⁻¹)_jj) with the joints at their ``ref``, as MuJoCo's compiler has
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import mujoco
import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.actuators.actuator_settings import ActuatorSettings, PositionControl, by_pattern
from exciter.identification.actuators.drive_numbers import described
from exciter.notes import Note, note, warning
from exciter.robot.mjcf import is_off, limits_of
from exciter.robot.mjcf_model import CompiledMjcf, compiled
from exciter.robot.names import named
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import parse_xml
from exciter.typing import Array

HOW_TO_SAY = "say in the settings: actuators: {control: {kp: 20, kd: 0.5}}  # N·m/rad, N·m·s/rad"
SAME_GAIN = 1e-9  #: relative, between what a command and what a position multiply


@dataclass(frozen=True, eq=False)
class DescribedControl:
    """kp, kd (n,) of the description, NaN where it has none; commands (n, 2): range to which it clamps them; why: in
    words, by joint; uneven: torques by joint, where it limits them more in one direction than in the other."""

    kp: Array
    kd: Array
    commands: Array
    why: Mapping[str, str] = field(default_factory=dict)
    uneven: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def _of_locked(given: Mapping[str, float], robot: Robot) -> list[str]:
    """Names and patterns that fit no joint, but what a locked one left behind: a frame of its name."""
    moving = {name for name in given if any(fnmatchcase(joint, name) for joint in robot.joint_names)}
    return [name for name in given if name not in moving and any(fnmatchcase(f, name) for f in robot.frame_names)]


def control_gains(robot: Robot, settings: ActuatorSettings) -> tuple[dict[str, Array], tuple[Note, ...]]:
    """kp, kd, limit (n,) of the control law, and from where they are. What is given counts before what the description
    says; without either Kd is zero, the limit the robot's own, and Kp is asked for."""
    law, joints = settings.control or PositionControl(), robot.joint_names
    told = described_control(robot)
    words = ("kp", "kd", "limit")
    still = {word: _of_locked(getattr(law, word), robot) for word in words}
    given = {
        word: by_pattern({name: x for name, x in getattr(law, word).items() if name not in still[word]}, joints, word)
        for word in words
    }
    kp = np.where(np.isnan(given["kp"]), told.kp, given["kp"])
    if np.isnan(kp).all() and not law.kp:
        reason = f" ({next(iter(told.why.values()))})" if told.why else ""
        raise ParameterError(
            f"the control law of the drives is not given, nor does the description{reason}; {HOW_TO_SAY}"
        )
    if (missing := np.flatnonzero(np.isnan(kp))).size:
        name = joints[int(missing[0])]
        raise ParameterError(
            f"control: kp of joint '{name}' is not given, nor by the description: {told.why.get(name, 'it has none')}"
        )
    kd = np.where(np.isnan(given["kd"]), told.kd, given["kd"])
    limits = np.array([joint.limits.torque for joint in robot.joints])
    found = {
        "kp": kp,
        "kd": np.where(np.isnan(kd), 0.0, kd),
        "limit": np.where(np.isnan(given["limit"]), limits, given["limit"]),
    }
    taken = [
        f"{word} of {named([name for name, own in zip(joints, here, strict=True) if own])}"
        for word, values in (("kp", told.kp), ("kd", told.kd))
        if (here := np.isnan(given[word]) & ~np.isnan(values)).any()
    ]
    said = [note("control law", f"{', '.join(taken)}: those of the MJCF's position actuators")] if taken else []
    for word in words:
        if still[word]:
            said.append(note("control law", f"{word} of {named(still[word])} is not used: it does not move"))
    for j, name in enumerate(joints):
        if name in told.uneven and np.isnan(given["limit"][j]):
            (low, high), unit = told.uneven[name], "N" if robot.joints[j].is_prismatic else "N·m"
            text = (
                f"the MJCF limits its torque to {low:.4g} … {high:.4g} {unit}; "
                f"limits are simulated as the same in both directions, here ± {limits[j]:.4g}: where torques come "
                "near it, give control: {limit: …}"
            )
            said.append(warning("torque limit", text, name))
    return found, tuple(said)


def clamped_commands(robot: Robot, commands: Array) -> Iterator[Note]:
    """Where commands (N, n) of logs are beyond what position actuators of the robot's MJCF take."""
    ranges = described_control(robot).commands
    for j, (low, high) in enumerate(ranges):
        if commands[:, j].min() < low or commands[:, j].max() > high:
            text = (
                f"commands from {commands[:, j].min():.4g} to {commands[:, j].max():.4g} go beyond the ctrlrange of "
                f"its position actuator, {low:.4g} … {high:.4g} (through the gear), to which MuJoCo would clamp them; "
                "they are simulated as they were sent"
            )
            yield warning("command", text, robot.joint_names[j])


def described_control(robot: Robot) -> DescribedControl:
    """Of the robot's MJCF; nothing where it has none."""
    nothing, free = np.full(robot.n, np.nan), np.tile([-np.inf, np.inf], (robot.n, 1))
    if robot.file is None or robot.file.suffix.lower() not in (".xml", ".mjcf"):
        return DescribedControl(nothing, nothing, free)
    root = parse_xml(robot.file)
    if root.tag != "mujoco":
        return DescribedControl(nothing, nothing, free)
    file = compiled(root, robot.file, robot.file.parent)
    spec = file.spec
    clamped = not is_off(spec.option, mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    kp, kd, why = nothing.copy(), nothing.copy(), dict[str, str]()
    stated, joints = joint_refs(file), {joint.name: joint for joint in file.spec.joints}
    refs = np.array([stated.get(name, 0.0) for name in robot.joint_names])
    uneven, commands = dict[str, tuple[float, float]](), free.copy()
    for j, name in enumerate(robot.joint_names):
        own = [a for a in spec.actuators if driven_joint(a) == name and not _switched_off(a, spec.option)]
        if len(own) != 1:
            why[name] = "no actuator drives it" if not own else f"{len(own)} actuators drive it"
        elif reason := no_position_control(own[0]):
            why[name] = f"its actuator {reason}"
        else:
            gear, stiffness, rate = float(own[0].gear[0]), float(own[0].gainprm[0]), float(own[0].biasprm[2])
            kp[j] = gear**2 * stiffness
            kd[j] = -(gear**2) * rate if rate <= 0.0 else 2.0 * rate * np.sqrt(kp[j] * _felt_inertia(robot, refs, j))
            torque = _torque_range(spec, own[0], joints[name])
            if abs(torque[0] + torque[1]) > SAME_GAIN * max(map(abs, torque)):
                uneven[name] = torque
            if clamped:
                commands[j] = sorted(end / gear for end in limits_of(own[0], "ctrl", spec.compiler.autolimits))
    return DescribedControl(kp, kd, commands, why, uneven)


def driven_joint(actuator: Any) -> str | None:
    """The joint on which an actuator of an MJCF acts; None where it acts on something else."""
    kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    return str(actuator.target) if actuator.trntype in kinds else None


def _switched_off(actuator: Any, option: Any) -> bool:
    group = 1 << actuator.group if actuator.group >= 0 else 0
    return is_off(option, mujoco.mjtDisableBit.mjDSBL_ACTUATION) or bool(option.disableactuator & group)


def no_position_control(actuator: Any) -> str:
    """Why it does not do kp (control − position) − kv velocity; empty where it does."""
    gain, (constant, position) = float(actuator.gainprm[0]), map(float, actuator.biasprm[:2])
    if actuator.gaintype != mujoco.mjtGain.mjGAIN_FIXED or actuator.biastype != mujoco.mjtBias.mjBIAS_AFFINE:
        return "is no position actuator"
    if position == 0.0 or gain <= 0.0:
        return "is no position actuator"
    if abs(gain + position) > SAME_GAIN * gain or constant != 0.0:
        return "has a control that is not a position of its joint (gain and bias differ)"
    if actuator.dyntype != mujoco.mjtDyn.mjDYN_NONE:
        return "filters or integrates its control (timeconst), which is not simulated here"
    return ""


def joint_refs(file: CompiledMjcf) -> dict[str, float]:
    """Positions of the joints where the file has the bodies [rad, m]."""
    return {joint.name: float(joint.ref) * _unit(file, joint) for joint in file.spec.joints}


def _unit(file: CompiledMjcf, joint: Any) -> float:
    """Of the file's positions of a joint."""
    return file.angle if joint.type == mujoco.mjtJoint.mjJNT_HINGE else 1.0


def _torque_range(spec: Any, actuator: Any, joint: Any) -> tuple[float, float]:
    """[N·m, N] of a joint, by forcerange and actuatorfrcrange."""
    automatic, gear = spec.compiler.autolimits, float(actuator.gear[0])
    force = sorted(gear * end for end in limits_of(actuator, "force", automatic))
    clamp = limits_of(joint, "actfrc", automatic)
    return max(force[0], clamp[0]), min(force[1], clamp[1])


def _felt_inertia(robot: Robot, refs: Array, j: int) -> float:
    """1 / (M⁻¹)_jj with the joints at refs, rotors of the description among it."""
    rigid = DynamicModel(robot, ()).dynamics.inertia_matrix(refs[None])[0]
    return float(1.0 / np.linalg.inv(rigid + np.diag(described(robot, "armature")))[j, j])
