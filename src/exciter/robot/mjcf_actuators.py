"""What actuators of an MJCF file do to their joints, through the gear: rotor inertia, friction, and the torque they can
give.

MuJoCo's torque at a joint is gear · force, summed over its actuators and clamped to the joint's ``actuatorfrcrange``.
The force of each is clamped to ``forcerange``; that of a motor (a fixed gain, no bias) is gain · control, or gain ·
activation, and these are clamped to ``ctrlrange`` and ``actrange``. Servos and muscles have no other bound; what they
reach of it depends on posture and speed, unless a servo can be commanded to any force: that is a doubt about the limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from exciter.errors import RobotError
from exciter.notes import Note, warning
from exciter.robot.mjcf_vocabulary import ACTUATOR_TAGS
from exciter.robot.robot import named

Range = tuple[float, float]
UNBOUNDED_RANGE: Range = (-math.inf, math.inf)
LIMITED, DISABLED, DYNAMICS = mujoco.mjtLimited, mujoco.mjtDisableBit, mujoco.mjtDyn
#: Activations that follow the control, and stay within its range.
FOLLOWING_ACTIVATIONS = (DYNAMICS.mjDYN_FILTER, DYNAMICS.mjDYN_FILTEREXACT)
FORCE_CONTROL, SERVO_CONTROLS = 0, (0, 1, 2)  # ctrlspec: bits of position (1) and velocity (2) commands
INPUT_ATTRIBUTES = ("input", "ffrange", "velrange")  # whose control is neither a force nor what a servo follows


@dataclass(frozen=True)
class MjcfDrive:
    """An actuator as its joint feels it; joint: None where it acts on something else (a tendon, a site, a body).
    rotor_inertia [kg·m², kg] and viscous [N·m·s/rad, N·s/m] that it adds; torque: the least and the most that it can
    give [N·m, N], infinite where nothing bounds it. enabled: False where its group is switched off. posed: True where
    what it can give of that depends on posture or speed. unmodelled: what it adds besides, in words of MJCF."""

    name: str
    kind: str
    joint: str | None
    rotor_inertia: float = 0.0
    viscous: float = 0.0
    torque: Range = UNBOUNDED_RANGE
    enabled: bool = True
    posed: bool = False
    unmodelled: tuple[str, ...] = ()


def is_off(option: Any, *flags: Any) -> bool:
    return any(option.disableflags & int(flag) for flag in flags)


def limits_of(element: Any, what: str, autolimits: bool) -> Range:
    """The range of an element where it is in force, as MuJoCo decides."""
    low, high = (float(end) for end in getattr(element, f"{what}range"))
    limited = getattr(element, f"{what}limited")
    in_force = limited == LIMITED.mjLIMITED_TRUE or (limited == LIMITED.mjLIMITED_AUTO and autolimits and low < high)
    return (low, high) if in_force else UNBOUNDED_RANGE


def read_drives(root: Element, spec: Any) -> tuple[MjcfDrive, ...]:
    elements = [element for section in root.findall("actuator") for element in section if element.tag in ACTUATOR_TAGS]
    defaults = [element for section in root.findall("default") for element in section.iter()]
    anywhere = any(word in element.attrib for element in defaults for word in INPUT_ATTRIBUTES)
    found: list[MjcfDrive] = []
    for element, actuator in zip(elements, spec.actuators, strict=True):
        inputs = anywhere or any(word in element.attrib for word in INPUT_ATTRIBUTES)
        found.append(_drive(actuator, actuator.name or f"actuator {len(found) + 1}", element.tag, spec, inputs))
    return tuple(found)


def _drive(actuator: Any, name: str, kind: str, spec: Any, inputs: bool) -> MjcfDrive:
    option, group = spec.option, 1 << actuator.group if actuator.group >= 0 else 0
    enabled = not is_off(option, DISABLED.mjDSBL_ACTUATION) and not option.disableactuator & group
    unmodelled = []
    if actuator.biastype == mujoco.mjtBias.mjBIAS_DCMOTOR:  # the first part of its bias is cogging, the second LuGre
        parts = {"cogging": actuator.biasprm[:3], "lugre": (*actuator.biasprm[3:6], *actuator.dynprm[5:7])}
        unmodelled = [word for word, values in parts.items() if any(values)]
    if actuator.trntype not in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
        unmodelled += [word for word in ("armature", "damping") if np.any(getattr(actuator, word))]
        return MjcfDrive(name=name, kind=kind, joint=None, enabled=enabled, unmodelled=tuple(unmodelled))
    if any(actuator.damping[1:]):
        raise RobotError(f"actuator '{name}' has damping beyond the linear one, which is not supported; remove it")
    gear = float(actuator.gear[0])
    torque, posed = _force(actuator, spec, inputs)
    return MjcfDrive(
        name=name,
        kind=kind,
        joint=actuator.target,
        rotor_inertia=gear**2 * actuator.armature,
        viscous=gear**2 * float(actuator.damping[0]),
        torque=_scaled(torque, gear),
        enabled=enabled,
        posed=posed,
        unmodelled=tuple(unmodelled),
    )


def _force(actuator: Any, spec: Any, inputs: bool) -> tuple[Range, bool]:
    """Before the gear, and whether it depends on posture or speed how much of it there is."""
    automatic = spec.compiler.autolimits
    force, activation = limits_of(actuator, "force", automatic), limits_of(actuator, "act", automatic)
    clamped = not is_off(spec.option, DISABLED.mjDSBL_CLAMPCTRL)
    control = limits_of(actuator, "ctrl", automatic) if clamped else UNBOUNDED_RANGE
    dynamics, gain = actuator.dyntype, float(actuator.gainprm[0])
    fixed = actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED and not inputs
    biased = actuator.biastype != mujoco.mjtBias.mjBIAS_NONE
    if not fixed or actuator.ctrlspec != FORCE_CONTROL or (biased and any(actuator.biasprm)):
        # a servo of a fixed gain can be commanded to any force, wherever the joint is, unless its command is limited
        servo = fixed and actuator.ctrlspec in SERVO_CONTROLS and gain != 0.0 and not actuator.inheritrange
        servo &= not biased or actuator.biastype == mujoco.mjtBias.mjBIAS_AFFINE
        free = control == activation == UNBOUNDED_RANGE and dynamics in (DYNAMICS.mjDYN_NONE, *FOLLOWING_ACTIVATIONS)
        return force, not (servo and free)
    if dynamics not in (DYNAMICS.mjDYN_NONE, DYNAMICS.mjDYN_INTEGRATOR, *FOLLOWING_ACTIVATIONS):
        return force, True
    if dynamics != DYNAMICS.mjDYN_NONE:
        control = _common(control, activation) if dynamics in FOLLOWING_ACTIVATIONS else activation
    return _common(force, _scaled(control, gain)), False


def _scaled(bounds: Range, factor: float) -> Range:
    if factor == 0.0:
        return 0.0, 0.0
    low, high = sorted(factor * end for end in bounds)
    return low, high


def _common(one: Range, other: Range) -> Range:
    return max(one[0], other[0]), min(one[1], other[1])


def drives_of(drives: Iterable[MjcfDrive], joint: str, clamp: Range) -> tuple[float, str, float, float]:
    """Of all drives of a joint: the torque limit [N·m, N], in both directions and clamped to a range, infinite where
    nothing bounds it; why they may give less than that, in words; rotor inertia [kg·m², kg]; viscous friction."""
    own = [drive for drive in drives if drive.joint == joint]
    working = [drive for drive in own if drive.enabled]
    both_ways, doubt = _both_ways(working), ""
    torque = min(both_ways if both_ways > 0.0 else math.inf, -clamp[0], clamp[1])
    if posed := [drive for drive in working if drive.posed]:
        doubt = f"what {_called(posed)} can give of it depends on posture or speed; give limits: {{torque: …}}"
    elif both_ways <= 0.0:
        doubt = f"its drives {_called(working)} push one way at most; give limits: {{torque: …}}"
    inertia, viscous = sum(drive.rotor_inertia for drive in own), sum(drive.viscous for drive in own)
    return torque, doubt if math.isfinite(torque) else "", inertia, viscous


def _both_ways(drives: list[MjcfDrive]) -> float:
    ends = [drive.torque for drive in drives]
    return min(-sum(low for low, _ in ends), sum(high for _, high in ends)) if ends else math.inf


def _called(drives: list[MjcfDrive]) -> str:
    return ", ".join(f"'{d.name}' ({d.kind}{'' if d.joint else ', not on a joint'})" for d in drives)


def drive_notes(drives: Iterable[MjcfDrive], clamped: Iterable[str]) -> list[Note]:
    """Drives whose limits are no torque limit of a joint; clamped: joints with an actuatorfrcrange, whose
    limit is that one, with a doubt where their own drives may not reach it."""
    known, enabled = set(clamped), [drive for drive in drives if drive.enabled]
    open_ = [d for d in enabled if d.joint is None or (math.inf in map(abs, d.torque) and d.joint not in known)]
    joints = dict.fromkeys(drive.joint for drive in enabled if drive.joint is not None and drive.joint not in known)
    one_way = [joint for joint in joints if _both_ways([drive for drive in enabled if drive.joint == joint]) <= 0.0]
    said = {
        f"no torque limit can be read of actuators {_called(open_)}: give limits: torque where they act": open_,
        f"actuators push {named(one_way)} one way at most: no torque limit is read; give limits: torque": one_way,
    }
    return [warning("torque limit", text) for text, found in said.items() if found]
