"""The words of MJCF that are known here: those that are read, and those that change no torque of a joint.

Whatever else a file says is refused, because the next version of MuJoCo may mean a force, a mass or a joint by it, and
a model without it would be certified. MuJoCo itself refuses words that it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from exciter.errors import RobotError
from exciter.robot.mjcf_settings import ACTUATORS, ADVICE, Classes, resolved
from exciter.robot.plain import named
from exciter.robot.xml_safety import numbers

Words = Mapping[str, frozenset[str] | None]  # tag → attributes; None: whatever they are, they change nothing


def _words(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


POSE = "pos quat axisangle euler xyaxes zaxis"
SOFT = "solimplimit solreflimit solimpfriction solreffriction"
JOINT = _words(
    "name class type group user axis pos range limited ref margin damping frictionloss armature stiffness springref",
    "springyield springdamper actuatorfrcrange actuatorfrclimited actuatorgravcomp",
    SOFT,
)
GEOM = _words(
    f"name class type group user size fromto mass density shellinertia mesh fitscale hfield {POSE}",
    "contype conaffinity condim priority friction solmix solref solimp margin gap adhesion surfacevel",
    "fluidshape fluidcoef material rgba castshadow",
)
SITE = _words(f"name class type group user size fromto mesh material rgba {POSE}")
TENDON = _words(
    "name class group user stiffness springlength springyield damping frictionloss armature range limited margin",
    "actuatorfrcrange actuatorfrclimited width material rgba",
    SOFT,
)
ACTUATOR = _words(
    "name class group user joint jointinparent tendon site refsite slidersite cranksite cranklength body gear armature",
    "damping ctrllimited ctrlrange forcelimited forcerange actlimited actrange actdim actearly lengthrange",
    "inheritrange dyntype dynprm gaintype gainprm biastype biasprm kp ki kv dampratio timeconst area diameter bias",
    "range force scale lmin lmax vmax fpmax fvmax tausmooth gain motorconst resistance inductance nominal saturation",
    "thermal cogging lugre controller input delay interp nsample ffrange velrange posrange imax slewmax plugin",
    "instance",
)
EQUALITY = _words("name class active solref solimp polycoef anchor relpose torquescale cell flex") | _words(
    "body1 body2 site1 site2 joint1 joint2 tendon1 tendon2"
)
SEEN: Words = {"camera": None, "light": None}
TREE: Words = {
    **SEEN,
    "body": _words(f"name childclass gravcomp mocap user simple sleep fuse {POSE}"),
    "inertial": _words(f"mass diaginertia fullinertia {POSE}"),
    "freejoint": None,  # refused by its own name
    "joint": JOINT,
    "geom": GEOM,
    "site": SITE,
}
SECTIONS: Mapping[str, Words] = {
    "compiler": {
        "compiler": _words(
            "angle eulerseq autolimits inertiafromgeom inertiagrouprange boundmass boundinertia balanceinertia",
            "settotalmass coordinate meshdir texturedir assetdir strippath fusestatic discardvisual alignfree fitaabb",
            "usethread conflict passthrough saveinertial savecanonical savecompiled convexhull exactmeshinertia",
        ),
        "lengthrange": None,
    },
    "option": {
        "option": _words(
            "gravity density viscosity wind magnetic timestep integrator cone jacobian solver iterations tolerance",
            "ls_iterations ls_tolerance noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance mpr_iterations",
            "mpr_tolerance sdf_iterations sdf_initpoints impratio actuatorgroupdisable sleep_tolerance apirate",
            "o_margin o_solref o_solimp o_friction collision",
        ),
        "flag": _words(
            "gravity spring damper passive frictionloss constraint equality limit contact actuation clampctrl",
            "warmstart filterparent refsafe sensor midphase nativeccd eulerdamp autoreset override energy fwdinv",
            "invdiscrete multiccd island sleep ipc diagexact speculative",
        ),
    },
    "worldbody": TREE,
    "default": {
        **SEEN, **dict.fromkeys(ACTUATORS, ACTUATOR), **dict.fromkeys(("mesh", "material", "layer", "texture", "pair")),
        "default": _words("class"), "joint": JOINT, "geom": GEOM, "site": SITE, "tendon": TENDON, "equality": EQUALITY,
    },
    "tendon": {
        "spatial": TENDON, "fixed": TENDON, "joint": _words("joint coef"), "site": _words("site"),
        "geom": _words("geom sidesite"), "pulley": _words("divisor"),
    },
    "actuator": {**dict.fromkeys(ACTUATORS, ACTUATOR), "config": None},
    "equality": dict.fromkeys(("connect", "weld", "joint", "tendon", "flex", "flexstrain", "flexvert"), EQUALITY),
    "asset": dict.fromkeys(("mesh", "plugin", "config", "hfield", "skin", "bone", "texture", "material", "layer")),
    "deformable": dict.fromkeys(("skin", "bone")),
}  # fmt: skip
#: Sections that speak of pictures, sensors, contacts, memory and postures to start from. Plugins are noted.
HARMLESS = ("size", "statistic", "visual", "contact", "sensor", "keyframe", "custom", "extension")


def refuse_unknown(root: Element, source: str) -> None:
    """Refuse elements and attributes that are not known here."""
    for section in root:
        if section.tag in HARMLESS:
            continue
        known = SECTIONS.get(section.tag)
        if known is None:
            raise RobotError(f"{source} has <{section.tag}>, which is not supported; {ADVICE}")
        for element in section.iter():
            if element is not section or section.tag in known:
                _check(element, known, source)


def _check(element: Element, known: Words, source: str) -> None:
    if element.tag not in known:
        raise RobotError(f"{source} has <{element.tag}>, which is not supported; {ADVICE}")
    allowed = known[element.tag]
    unknown = [word for word in element.attrib if allowed is not None and word not in allowed]
    if unknown:
        raise RobotError(
            f"{source} has the attribute '{unknown[0]}' in <{element.tag}> ({element.get('name', 'no name')}), which "
            f"is not known here and may change torques; remove it, or {ADVICE}"
        )


# -- forces that no joint term stands for ------------------------------------------------------------------------------


def missing_forces(root: Element, classes: Classes) -> list[str]:
    """Of tendons, drives and plugins: what changes torques, or bounds them, and is no part of the robot, in words."""
    notes = []
    for what, found in (("tendon", _tendons(root, classes)), ("drive", _drives(root, classes))):
        if found:
            first = "; ".join(f"'{name}': {', '.join(words)}" for name, words in found.items())
            notes.append(f"forces and limits of {what}s are not part of the robot, its torques lack them: {first}")
    plugins = [plugin.get("plugin", "") for plugin in root.findall("extension/plugin")]
    if plugins:
        notes.append(f"plugins {named(plugins)} are not run: forces that they make are not part of the robot")
    return notes


def _tendons(root: Element, classes: Classes) -> dict[str, list[str]]:
    found = {}
    for section in root.findall("tendon"):
        for k, element in enumerate(section):
            tendon = resolved(element, classes, "main", "tendon")
            said = _nonzero(tendon, ("stiffness", "damping", "frictionloss", "armature", "range", "actuatorfrcrange"))
            if said:
                found[tendon.get("name") or f"tendon {k + 1}"] = said
    return found


def _drives(root: Element, classes: Classes) -> dict[str, list[str]]:
    """What drives add to friction and inertia besides what ``drive_terms`` reads."""
    found = {}
    for section in root.findall("actuator"):
        for k, element in enumerate(section):
            drive = resolved(element, classes, "main", "actuator")
            said = _nonzero(drive, ("cogging", "lugre"))
            if drive_joint(drive) is None:
                said += _nonzero(drive, ("armature", "damping"))
            if said:
                found[drive.get("name") or f"drive {k + 1}"] = said
    return found


def drive_joint(drive: Element) -> str | None:
    """The joint that an actuator turns, if it acts on one."""
    return drive.get("joint") or drive.get("jointinparent")


def _nonzero(element: Element, attributes: tuple[str, ...]) -> list[str]:
    owner = f"'{element.get('name', '')}'"
    return [word for word in attributes if any(numbers(element, word, None, owner) or ())]
