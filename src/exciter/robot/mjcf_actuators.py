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
from xml.etree.ElementTree import Element

from exciter.errors import RobotError
from exciter.notes import Note, warning
from exciter.robot.mjcf_settings import KIND, Classes, Compiler, Options, resolved
from exciter.robot.mjcf_vocabulary import drive_joint
from exciter.robot.plain import named
from exciter.robot.xml_safety import number, numbers

Range = tuple[float, float]
ANY: Range = (-math.inf, math.inf)
FOLLOWING = ("filter", "filterexact")  # activations that follow the control, and stay within its range
SERVO_GAINS = ("kp", "kv", "gainprm")


@dataclass(frozen=True)
class Drive:
    """An actuator as its joint feels it; joint: None where it acts on something else (a tendon, a site, a body).

    rotor_inertia [kg·m², kg] and viscous [N·m·s/rad, N·s/m] that it adds; torque: the least and the most that it can
    give [N·m, N], infinite where nothing bounds it. enabled: False where its group is switched off. posed: True where
    what it can give of that depends on posture or speed.
    """

    name: str
    kind: str
    joint: str | None
    rotor_inertia: float = 0.0
    viscous: float = 0.0
    torque: Range = ANY
    enabled: bool = True
    posed: bool = False


def read_drives(root: Element, classes: Classes, compiler: Compiler, options: Options) -> tuple[Drive, ...]:
    """All actuators of a file, in its order."""
    found: list[Drive] = []
    for section in root.findall("actuator"):
        for element in section:
            drive = resolved(element, classes, "main", "actuator")
            name = element.get("name") or f"actuator {len(found) + 1}"
            found.append(_drive(drive, name, compiler, options))
    return tuple(found)


def _drive(drive: Element, name: str, compiler: Compiler, options: Options) -> Drive:
    owner, joint = f"actuator '{name}'", drive_joint(drive)
    armature, damping = number(drive, "armature", owner), numbers(drive, "damping", None, owner) or (0.0,)
    gear = (numbers(drive, "gear", None, owner) or (1.0,))[0]
    enabled = options.actuation and int(number(drive, "group", owner)) not in options.actuators_off
    if joint is None:
        return Drive(name, drive.tag, None, enabled=enabled)
    if any(damping[1:]):
        raise RobotError(f"{owner} has damping beyond the linear one, which is not supported; remove it")
    torque, posed = _force(drive, compiler, options, owner)
    inertia, friction = gear**2 * armature, gear**2 * damping[0]
    return Drive(name, drive.tag, joint, inertia, friction, _scaled(torque, gear), enabled, posed)


# -- the torque that a drive can give ----------------------------------------------------------------------------------


def _force(drive: Element, compiler: Compiler, options: Options, owner: str) -> tuple[Range, bool]:
    """Before the gear, and whether it depends on posture or speed how much of it there is."""
    force, activation = _clamp(drive, "force", compiler, owner), _clamp(drive, "act", compiler, owner)
    control = _clamp(drive, "ctrl", compiler, owner) if options.controls_clamped else ANY
    dynamics = drive.get("dyntype", "none")
    gain = _fixed_gain(drive, owner)
    if gain is None:
        free = control == activation == ANY and dynamics in ("none", *FOLLOWING) and _is_servo(drive, owner)
        return force, not free
    if dynamics not in ("none", "integrator", *FOLLOWING):
        return force, True
    if dynamics != "none":
        control = _common(control, activation) if dynamics in FOLLOWING else activation
    return _common(force, _scaled(control, gain)), False


def _fixed_gain(drive: Element, owner: str) -> float | None:
    """Force per control, where the force depends on nothing else; None for servos, muscles and the like."""
    if drive.get(KIND, "motor") != "motor" or drive.get("gaintype", "fixed") != "fixed" or _has_inputs(drive):
        return None
    if drive.get("biastype", "none") != "none" and any(numbers(drive, "biasprm", None, owner) or ()):
        return None
    return (numbers(drive, "gainprm", None, owner) or (1.0,))[0]


def _is_servo(drive: Element, owner: str) -> bool:
    """A fixed gain and a bias by posture and speed: some control gives any force, wherever the joint is."""
    gains = [values[0] for word in SERVO_GAINS if (values := numbers(drive, word, None, owner))]
    return (
        drive.get(KIND, "motor") in ("motor", "position", "velocity")
        and drive.get("gaintype", "fixed") == "fixed"
        and drive.get("biastype", "none") in ("none", "affine")
        and not number(drive, "inheritrange", owner)
        and not _has_inputs(drive)
        and all(gains)
    )


def _has_inputs(drive: Element) -> bool:
    """Whether its control is another one than a force or what a servo follows."""
    return any(drive.get(word) is not None for word in ("input", "ffrange", "velrange"))


def _clamp(drive: Element, what: str, compiler: Compiler, owner: str) -> Range:
    """forcerange, ctrlrange or actrange, where it is in force; MuJoCo takes infinity for an end."""
    text = drive.get(f"{what}range")
    if text is None:
        return ANY
    finite = Element(drive.tag, {f"{what}range": text.lower().replace("infinity", "inf").replace("inf", "1e300")})
    low, high = numbers(finite, f"{what}range", 2, owner) or ANY
    given = drive.get(f"{what}limited", "auto")
    limited = given == "true" or (given == "auto" and compiler.autolimits and low < high)
    return (low, high) if limited else ANY


def _scaled(bounds: Range, factor: float) -> Range:
    if factor == 0.0:
        return 0.0, 0.0
    low, high = sorted(factor * end for end in bounds)
    return low, high


def _common(one: Range, other: Range) -> Range:
    return max(one[0], other[0]), min(one[1], other[1])


# -- all drives of a joint ---------------------------------------------------------------------------------------------


def joint_torque(drives: Iterable[Drive], joint: str) -> float:
    """What the drives of a joint can give in both directions [N·m, N]; infinite where they have no bound, or none in
    one of them, or where there are none."""
    most = _both_ways([drive for drive in drives if drive.enabled and drive.joint == joint])
    return most if most > 0.0 else math.inf


def torque_doubt(drives: Iterable[Drive], joint: str) -> str:
    """Why the drives of a joint may give less than the limit that is read, in words; empty where they give it."""
    own = [drive for drive in drives if drive.enabled and drive.joint == joint]
    if posed := [drive for drive in own if drive.posed]:
        given = f"what {_called(posed)} can give of it depends on posture or speed"
    elif _both_ways(own) <= 0.0:
        given = f"its drives {_called(own)} push one way at most"
    else:
        return ""
    return f"{given}; give limits: {{torque: …}}"


def _both_ways(drives: list[Drive]) -> float:
    ends = [drive.torque for drive in drives]
    return min(-sum(low for low, _ in ends), sum(high for _, high in ends)) if ends else math.inf


def _called(drives: list[Drive]) -> str:
    return ", ".join(f"'{d.name}' ({d.kind}{'' if d.joint else ', not on a joint'})" for d in drives)


def drive_notes(drives: Iterable[Drive], clamped: Iterable[str]) -> list[Note]:
    """Drives whose limits are no torque limit of a joint; clamped: joints with an actuatorfrcrange, whose
    limit is that one, with a doubt where their own drives may not reach it."""
    known, enabled, notes = set(clamped), [drive for drive in drives if drive.enabled], list[Note]()
    open_ = [d for d in enabled if d.joint is None or (math.inf in map(abs, d.torque) and d.joint not in known)]
    joints = dict.fromkeys(drive.joint for drive in enabled if drive.joint is not None and drive.joint not in known)
    one_way = [joint for joint in joints if _both_ways([drive for drive in enabled if drive.joint == joint]) <= 0.0]
    if open_:
        text = f"no torque limit can be read of actuators {_called(open_)}: give limits: torque where they act"
        notes.append(warning("torque limit", text))
    if one_way:
        text = f"actuators push {named(one_way)} one way at most: no torque limit is read; give limits: torque"
        notes.append(warning("torque limit", text))
    return notes
