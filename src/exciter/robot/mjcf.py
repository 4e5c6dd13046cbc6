"""MJCF made plain: one joint per body, explicit inertias, everything resolved as MuJoCo itself resolves it.

``mujoco.MjSpec`` parses the file (``mjcf_model.py``). Of 860 damaged files that a parser of our own accepted, MuJoCo
refuses 328 (misplaced elements, words like angle="degre"), and reads the others alike. What stays ours, and why: the
words that were judged (``mjcf_vocabulary.py``: a newer MuJoCo may mean a force by a new one), <inertial> and mass
bounds (MuJoCo compiles no impossible or absent inertia), mesh paths, and what drives can give.

A body with several joints becomes a chain of links; a joint's ``ref`` moves the body, so that q means what it means in
MuJoCo. A free joint makes the base free (``free_base.py``). What no robot here has (ball joints) is refused. A joint
that follows another (equality) stays a body, and is no joint of its own; bodies that are joined are loops.

Actuators act on their joints through the gear: rotor inertia, friction, and the torque they can give. MuJoCo's torque
at a joint is gear · force, summed over its actuators and clamped to the joint's ``actuatorfrcrange``. The force of each
is clamped to ``forcerange``; that of a motor (a fixed gain, no bias) is gain · control, or gain · activation, and these
are clamped to ``ctrlrange`` and ``actrange``. Servos and muscles have no other bound; what they reach of it depends on
posture and speed, unless a servo can be commanded to any force: that is a doubt about the limit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from exciter.errors import RobotError
from exciter.notes import COLLISION_SUBJECT, Note, note, warning
from exciter.robot.coupling import Mimic
from exciter.robot.description import JointFacts, Link, PlainDescription, refuse_duplicates, refuse_giants
from exciter.robot.geometry import Role, Shape
from exciter.robot.limits import Limits, Unlimited
from exciter.robot.loop_assembly import KinematicLoop
from exciter.robot.mjcf_loops import loops_of
from exciter.robot.mjcf_model import FROM_GEOMS, CompiledMjcf, body_inertia, compiled, geom_kind, geom_solid, word_of
from exciter.robot.mjcf_vocabulary import ACTUATOR_TAGS, COMPILED_ADVICE, refuse_infinite_numbers, refuse_unknown
from exciter.robot.names import named
from exciter.robot.robot import Frame
from exciter.robot.spatial import axis_rotation, homogeneous
from exciter.robot.xml_safety import parse_xml
from exciter.typing import Array

WORLD_BODY = "world"
DRIVE_LIMITS = "(actuatorfrcrange, or ctrlrange or forcerange of motors)"
UNLIMITED_IN_MJCF = (
    Unlimited(which="velocity", where="(MJCF has none)", then="give limits: velocity"),
    Unlimited(which="torque", where=DRIVE_LIMITS, then="taken as unlimited"),
)
LEVEL_PLANE_VERSINE = 1e-9  # 1 − cos of the tilt of a plane that counts as level
SHORTEST_AXIS = 1e-6  # norm of the axis of a joint that still has a direction
LAST_VISIBLE_GROUP = 2  # MuJoCo's custom: geoms of group 3 and above are hidden
TENDON_FORCES = ("stiffness", "damping", "frictionloss", "armature", "range", "actuatorfrcrange")
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


@dataclass
class _Gathered:
    """What the walk over the bodies collects. joints: MuJoCo's. floating: bodies with
    a free joint, and that joint. unmeasured: link, kind of geom, whether it collides."""

    file: CompiledMjcf
    drives: tuple[MjcfDrive, ...]
    links: list[Link] = field(default_factory=lambda: [Link(WORLD_BODY, "", np.eye(3), np.zeros(3))])
    joints: dict[str, Any] = field(default_factory=dict)
    frames: list[tuple[str, Frame]] = field(default_factory=list)
    shapes: list[tuple[str, Shape]] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    unmeasured: list[tuple[str, str, bool]] = field(default_factory=list)
    floating: dict[str, Any] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)

    def off(self, *flags: Any) -> bool:
        return is_off(self.file.spec.option, *flags)

    def reference(self, name: str) -> float:
        """[rad, m] ref of a joint."""
        joint = self.joints[name]
        return float(joint.ref) * (self.file.angle if joint.type == mujoco.mjtJoint.mjJNT_HINGE else 1.0)

    def limits(self, joint: Any, what: str) -> tuple[float, float]:
        """A range of a joint; one from the defaults with nothing between its ends stays, to be refused."""
        low, high = getattr(joint, f"{what}range")
        empty = low > high or low == high != 0.0
        return (low, high) if empty else limits_of(joint, what, self.file.spec.compiler.autolimits)


def plain_mjcf(path: Path, mesh_root: Path | None = None) -> PlainDescription:
    """Read and check an MJCF file; ``mesh_root`` (default: the file's folder) bounds where assets may lie."""
    root = parse_xml(path)
    if root.tag != "mujoco":
        raise RobotError(f"the root element of '{path}' is <{root.tag}>; an MJCF file has <mujoco>")
    refuse_unknown(root, f"'{path}'")
    refuse_giants(sum(1 for _ in root.iter("joint")), sum(1 for _ in root.iter("body")), str(path))
    refuse_infinite_numbers(root)
    _refuse_other_physics(root)
    file = compiled(root, path, mesh_root or path.parent)
    spec = file.spec
    found = _Gathered(file, read_drives(root, spec))
    _attachments(spec.worldbody, file.still.worldbody, WORLD_BODY, np.eye(4), found)
    for body, twin in _pairs(spec.worldbody, file.still.worldbody, "bodies"):
        _walk(body, twin, WORLD_BODY, np.eye(4), (), found)
    joints = [link.joint.name for link in found.links if link.joint is not None]
    refuse_duplicates([link.name for link in found.links], "body", str(path))
    refuse_duplicates(joints, "joint", str(path))
    if unknown := [drive.joint for drive in found.drives if drive.joint is not None and drive.joint not in joints]:
        raise RobotError(f"an actuator of '{path}' drives joint '{unknown[0]}', which is not there")
    unmeasured, (mimics, still, loops) = _unmeasured(found), _couplings(found, str(path))
    driven = {drive.joint for drive in found.drives if drive.joint is not None}
    return PlainDescription(
        name=root.get("model") or path.stem,
        links=tuple(found.links),
        gravity=(0.0, 0.0, 0.0) if found.off(DISABLED.mjDSBL_GRAVITY) else tuple(map(float, spec.option.gravity)),
        frames=tuple(found.frames),
        shapes=tuple(found.shapes),
        solid=frozenset(link for link, _ in found.shapes) | unmeasured.keys(),
        unmeasured=frozenset(unmeasured),
        ground=max(found.floors, default=None),
        mimics=mimics,
        still=still,
        floating=tuple(found.floating),
        grounded=tuple(link.name for link in found.links if link.parent == WORLD_BODY and link.joint is None),
        loops=loops,
        posture=_drawn(root, found, joints),
        actuated=tuple(name for name in joints if name in driven) or None,
        notes=_notes(found, unmeasured),
        lacking=_lacking(root, found),
        unlimited=UNLIMITED_IN_MJCF,
    )


def _refuse_other_physics(root: Element) -> None:
    """Masses that the compiler changes, forces of a fluid, inertias that are not given."""
    for compiler in root.findall("compiler"):
        if compiler.get("coordinate", "local") != "local":
            raise RobotError(f'compiler coordinate="{compiler.get("coordinate")}" is not supported; {COMPILED_ADVICE}')
        if compiler.get("settotalmass", "-1").strip()[:1] != "-" or compiler.get("balanceinertia") == "true":
            raise RobotError(f"compiler settotalmass and balanceinertia change masses unseen; {COMPILED_ADVICE}")
    for option in root.findall("option"):
        if fluid := [word for word in ("density", "viscosity") if option.get(word, "0").strip("0. ")]:
            given = ", ".join(f'{word}="{option.get(word)}"' for word in fluid)
            problem = f"<option {given}> puts the robot into a fluid, whose forces the model does not have"
            raise RobotError(f"{problem}; remove it, or give 0, for a robot in air")
    for body in root.iter("body"):
        inertial = body.find("inertial")
        if inertial is not None and not {"diaginertia", "fullinertia"} & set(inertial.keys()):
            owner = f"body '{body.get('name', '')}'"
            raise RobotError(f"<inertial> of {owner} has neither diaginertia nor fullinertia; give one")


def _pairs(body: Any, twin: Any, what: str) -> zip[tuple[Any, Any]]:
    """Elements of a body with those of its copy that was compiled."""
    return zip(getattr(body, what), getattr(twin, what), strict=True)


def _walk(body: Any, twin: Any, parent: str, fixed: Array, above: tuple[str, ...], found: _Gathered) -> None:
    """One body, a chain of links where it has several joints, then its children. fixed: the parent (4, 4) in the world
    at q = ref; above: the joints that carry it, a free body first."""
    name = body.name or f"{parent}_{sum(not link.hidden for link in found.links)}"
    owner = f"body '{name}'"
    joints = list(body.joints)
    if free := [joint for joint in joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]:
        if len(joints) > 1 or parent != WORLD_BODY:
            problem = (
                f"{owner} has a free joint, which only a body of the world has, and beside which no other joint is"
            )
            raise RobotError(f"{problem}; remove it")
        found.floating[name], joints, above = free[0], [], (*above, name)
    if body.mocap and (joints or body.find_all("joint")):
        found.moved.append(name)
    at = found.file.placement("body", twin)
    fixed = fixed @ homogeneous(*at)
    inertia, meshed = body_inertia(body, twin, found.file, owner)
    carrier, facts = parent, None
    for index, joint in enumerate(joints):
        if facts is not None:  # the joint before moves a link that the file does not have
            found.links.append(Link(f"{name}/{index}", carrier, *at, joint=facts, hidden=True))
            carrier, at = f"{name}/{index}", (np.eye(3), np.zeros(3))
        at = _unreferenced(joint, *at, found.file.angle, owner)
        facts = _joint(joint, joint.name or f"{name}_joint{index + 1 if index else ''}", found)
        above += (facts.name,)
    found.links.append(Link(name, carrier, *at, inertia, facts, weighed=not (meshed and above)))
    # weight that MuJoCo takes off a body is carried by drives where every joint below it says so, else by nobody
    loose = [one for one in above if one in found.floating or not found.joints[one].actgravcomp]
    if body.gravcomp != 0.0 and loose:
        kind = "the free body" if loose[0] in found.floating else "joint"
        problem = f"{owner} has gravcomp, which takes its weight off {kind} '{loose[0]}' without a drive"
        advice = 'remove gravcomp, or give the joints actuatorgravcomp="true" where the drives carry it'
        raise RobotError(f"{problem}: a force that the model does not have; {advice}")
    _attachments(body, twin, name, None if above else fixed, found)
    for child, child_twin in _pairs(body, twin, "bodies"):
        _walk(child, child_twin, name, fixed, above, found)


def _unreferenced(joint: Any, rotation: Array, translation: Array, angle: float, owner: str) -> tuple[Array, Array]:
    """The body's placement at q = 0; the file gives it at q = ref."""
    if joint.ref == 0.0:
        return rotation, translation
    axis = _axis(joint, owner)
    if joint.type == mujoco.mjtJoint.mjJNT_SLIDE:
        return rotation, translation - rotation @ axis * joint.ref
    anchor, turn = np.array(joint.pos), axis_rotation(axis, -joint.ref * angle)
    return rotation @ turn, translation + rotation @ (anchor - turn @ anchor)


def _axis(joint: Any, owner: str) -> Array:
    axis = np.array(joint.axis)
    if (length := float(np.linalg.norm(axis))) < SHORTEST_AXIS:
        raise RobotError(f"the axis of a joint of {owner} has no direction: {axis.tolist()}")
    return axis / length


def _joint(joint: Any, name: str, found: _Gathered) -> JointFacts:
    """Limits, friction and armature of a joint, its drive's included; zero where friction is switched off."""
    owner, kind = f"joint '{name}'", word_of(joint.type)
    if kind not in ("hinge", "slide"):
        raise RobotError(f"{owner} is '{kind}'; allowed are hinge and slide")
    axis, unit = _axis(joint, owner), found.file.angle if kind == "hinge" else 1.0
    lower, upper = (end * unit for end in found.limits(joint, ""))
    torque, doubt, rotor, drag = drives_of(found.drives, name, found.limits(joint, "actfrc"))
    viscous, coulomb, armature = float(joint.damping[0]), float(joint.frictionloss), float(joint.armature)
    if min(viscous, coulomb, armature, rotor, drag) < 0:
        raise RobotError(f"{owner} has a negative damping, frictionloss or armature; give zero or more")
    limits = Limits(lower=lower, upper=upper, torque=torque, torque_doubt=doubt).checked(name)
    if any(joint.springdamper):
        problem = f"{owner} has springdamper, from which MuJoCo computes a spring and damping"
        raise RobotError(f"{problem}; {COMPILED_ADVICE}")
    found.joints[name] = joint
    return JointFacts(
        name=name,
        kind="prismatic" if kind == "slide" else "continuous" if math.isinf(upper) else "revolute",
        axis=axis,
        limits=limits,
        anchor=np.array(joint.pos),
        viscous=0.0 if found.off(DISABLED.mjDSBL_DAMPER) else viscous + drag,
        coulomb=0.0 if found.off(DISABLED.mjDSBL_FRICTIONLOSS, DISABLED.mjDSBL_CONSTRAINT) else coulomb,
        rotor_inertia=armature + rotor,
    )


def _attachments(body: Any, twin: Any, name: str, fixed: Array | None, found: _Gathered) -> None:
    """Sites as frames, geoms as shapes. A geom without contype and conaffinity touches nothing; a level plane, which
    has no edge in MuJoCo, is the floor. fixed: placement (4, 4) of a body that stands still."""
    for site, site_twin in _pairs(body, twin, "sites"):
        if site.name:
            found.frames.append((name, Frame(site.name, -1, *found.file.placement("site", site_twin))))
    for geom, geom_twin in _pairs(body, twin, "geoms"):
        visible, collides = geom.group <= LAST_VISIBLE_GROUP, bool(geom.contype or geom.conaffinity)
        if not visible and not collides:
            continue
        solid, kind = geom_solid(geom, geom_twin, found.file, f"body '{name}'"), geom_kind(geom)
        if solid is not None:
            role: Role = "both" if visible and collides else "visual" if visible else "collision"
            found.shapes.append((name, replace(solid, role=role)))
            continue
        at = np.zeros((4, 4)) if fixed is None else fixed @ homogeneous(*found.file.placement("geom", geom_twin))
        if kind == "plane" and collides and at[2, 2] > 1.0 - LEVEL_PLANE_VERSINE:
            found.floors.append(float(at[2, 3]))
        elif collides or kind != "plane":
            found.unmeasured.append((name, kind, collides))


def _unmeasured(found: _Gathered) -> dict[str, str]:
    """Links with a shape of no known size, and what it is; what is only drawn counts where nothing of them collides."""
    solid = {link for link, shape in found.shapes if shape.collides}
    solid |= {link for link, _, collides in found.unmeasured if collides}
    kinds: dict[str, list[str]] = {}
    for link, kind, collides in found.unmeasured:
        if collides or link not in solid:
            kinds.setdefault(link, []).append(kind)
    return {link: ", ".join(dict.fromkeys(words)) for link, words in kinds.items()}


def _couplings(found: _Gathered, source: str) -> tuple[tuple[Mimic, ...], dict[str, float], tuple[KinematicLoop, ...]]:
    """Joints that follow another, q₁ − ref₁ = c₀ + c₁ (q₂ − ref₂), those that are held where they are, and loops:
    bodies that are joined, and joints that follow on a curve."""
    if found.off(DISABLED.mjDSBL_EQUALITY, DISABLED.mjDSBL_CONSTRAINT):
        return (), {}, ()
    bodies = [link.name for link in found.links if not link.hidden]
    mimics, still, loops = list[Mimic](), dict[str, float](), [*loops_of(found.file, bodies, source)]
    for one in (one for one in found.file.spec.equalities if one.active and one.type == mujoco.mjtEq.mjEQ_JOINT):
        first, ratio, *bends = (float(c) for c in one.data[:5])
        if unknown := [name for name in (one.name1, one.name2) if name and name not in found.joints]:
            raise RobotError(f"an equality of {source} ties joint '{unknown[0]}', which is not there")
        if one.name2 and any(bends):
            zeros = found.reference(one.name1), found.reference(one.name2)
            loops.append(
                KinematicLoop("joint", (one.name1, one.name2), coefficients=(first, ratio, *bends), zeros=zeros)
            )
            continue
        start = first + found.reference(one.name1)
        if one.name2 and ratio != 0.0:
            mimics.append(Mimic(one.name1, one.name2, ratio, start - ratio * found.reference(one.name2), "equality"))
        else:
            still[one.name1] = start
    return tuple(mimics), still, tuple(loops)


def _drawn(root: Element, found: _Gathered, joints: list[str]) -> dict[str, float]:
    """[rad, m] of the first key frame with a posture, which a file with loops has where it draws none that is closed;
    otherwise of the drawing itself."""
    for key in root.findall("keyframe/key"):
        numbers = key.get("qpos", "").split()
        with suppress(ValueError):
            if len(numbers) == len(joints) and all(map(math.isfinite, posture := [float(one) for one in numbers])):
                return dict(zip(joints, posture, strict=True))
    return {name: found.reference(name) for name in joints}


def _notes(found: _Gathered, unmeasured: dict[str, str]) -> tuple[Note, ...]:
    """Among them drives whose limits are no torque limit of a joint. A joint with an actuatorfrcrange has that one, and
    a doubt where its own drives may not reach it."""
    known = {name for name, joint in found.joints.items() if any(map(math.isfinite, found.limits(joint, "actfrc")))}
    enabled = [drive for drive in found.drives if drive.enabled]
    free = [d for d in enabled if d.joint is None or (math.inf in map(abs, d.torque) and d.joint not in known)]
    joints = dict.fromkeys(drive.joint for drive in enabled if drive.joint is not None and drive.joint not in known)
    one_way = [joint for joint in joints if _both_ways([drive for drive in enabled if drive.joint == joint]) <= 0.0]
    unread = f"no torque limit can be read of actuators {_called(free)}: give limits: torque where they act"
    pushed = f"actuators push {named(one_way)} one way at most: no torque limit is read; give limits: torque"
    absent = f"asset files absent: {len(found.file.absent)} (first: {''.join(found.file.absent[:1])})"
    which = f"no capsule for {named([f'{kinds} of {link}' for link, kinds in unmeasured.items()])}"
    needed = "what moves needs other shapes (box, sphere, cylinder, capsule, mesh file)"
    fixed = f"the mocap bodies {named(found.moved)} are taken as fixed where the file puts them"
    remarks = (
        (free, warning("torque limit", unread)),
        (one_way, warning("torque limit", pushed)),
        (found.file.absent, note("asset files", absent)),
        (unmeasured, warning(COLLISION_SUBJECT, f"{which}: {needed}, what stands still can be given as obstacles")),
        (found.moved, note("mocap bodies", fixed)),
    )
    return *(remark for reason, remark in remarks if reason), *found.file.outside


def _lacking(root: Element, found: _Gathered) -> tuple[str, ...]:
    """Forces that MuJoCo applies and a robot has no place for."""
    forces, spec = list[str](), found.file.spec
    if meshed := [link.name for link in found.links if not link.weighed]:
        from_geoms = spec.compiler.inertiafromgeom == FROM_GEOMS.mjINERTIAFROMGEOM_TRUE
        whence = "take their inertia from meshes or height fields, which are not weighed: give <inertial>"
        forces.append(f"bodies {named(meshed)} {whence}" + (' and inertiafromgeom="auto"' if from_geoms else ""))
    springs = [name for name, joint in found.joints.items() if any(joint.stiffness)]
    if springs and not found.off(DISABLED.mjDSBL_SPRING):
        which = f"springs (stiffness) of joints {named(springs)}"
        forces.append(f"{which} are not part of the robot: its torques lack them")
    curved = [name for name, joint in found.joints.items() if any(joint.damping[1:])]
    if curved and not found.off(DISABLED.mjDSBL_DAMPER):
        which = f"damping of joints {named(curved)} that grows with the square or cube of velocity"
        forces.append(f"{which} is not part of the robot: its torques lack it")
    drags = ("stiffness", "damping", "frictionloss", "armature")
    dragged = [name for name, one in found.floating.items() if any(np.any(getattr(one, word)) for word in drags)]
    if dragged:
        what = f"{', '.join(drags)} of the free joint of {named(dragged)}"
        forces.append(f"{what} are not part of the robot: nothing but contacts acts on its base here")
    tendons = {}
    for k, tendon in enumerate(spec.tendons, start=1):
        words = [w for w in TENDON_FORCES if np.any(getattr(tendon, w.replace("actuator", "act")))]
        tendons[tendon.name or f"tendon {k}"] = words
    for what, each in (("tendon", tendons), ("drive", {drive.name: drive.unmodelled for drive in found.drives})):
        if said := "; ".join(f"'{name}': {', '.join(words)}" for name, words in each.items() if words):
            forces.append(f"forces and limits of {what}s are not part of the robot, its torques lack them: {said}")
    if plugins := [plugin.get("plugin", "") for plugin in root.findall("extension/plugin")]:
        forces.append(f"plugins {named(plugins)} are not run: forces that they make are not part of the robot")
    return tuple(forces)


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
