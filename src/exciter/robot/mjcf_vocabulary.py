"""The words of MJCF that are known here: those that are read, and those that change no torque of a joint.

Whatever else a file says is refused, because the next version of MuJoCo may mean a force, a mass or a joint by it, and
a model without it would be certified. MuJoCo itself refuses words that it does not know."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from xml.etree.ElementTree import Element

from exciter.errors import RobotError, shown
from exciter.robot.xml_safety import UNBOUNDED_ATTRIBUTES
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT

COMPILED_ADVICE = "let MuJoCo write the compiled model (mj_saveLastXML) and read that file"
ACTUATOR_TAGS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
Words = Mapping[str, frozenset[str] | None]  # tag → attributes; None: whatever they are, they change nothing


def _words(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


POSE_WORDS = "pos quat axisangle euler xyaxes zaxis"
SOFT_CONSTRAINT_WORDS = "solimplimit solreflimit solimpfriction solreffriction"
JOINT_WORDS = _words(
    "name class type group user axis pos range limited ref margin damping frictionloss armature stiffness springref",
    "springyield springdamper actuatorfrcrange actuatorfrclimited actuatorgravcomp",
    SOFT_CONSTRAINT_WORDS,
)
GEOM_WORDS = _words(
    f"name class type group user size fromto mass density shellinertia mesh fitscale hfield {POSE_WORDS}",
    "contype conaffinity condim priority friction solmix solref solimp margin gap adhesion surfacevel",
    "fluidshape fluidcoef material rgba castshadow",
)
SITE_WORDS = _words(f"name class type group user size fromto mesh material rgba {POSE_WORDS}")
TENDON_WORDS = _words(
    "name class group user stiffness springlength springyield damping frictionloss armature range limited margin",
    "actuatorfrcrange actuatorfrclimited width material rgba",
    SOFT_CONSTRAINT_WORDS,
)
ACTUATOR_WORDS = _words(
    "name class group user joint jointinparent tendon site refsite slidersite cranksite cranklength body gear armature",
    "damping ctrllimited ctrlrange forcelimited forcerange actlimited actrange actdim actearly lengthrange",
    "inheritrange dyntype dynprm gaintype gainprm biastype biasprm kp ki kv dampratio timeconst area diameter bias",
    "range force scale lmin lmax vmax fpmax fvmax tausmooth gain motorconst resistance inductance nominal saturation",
    "thermal cogging lugre controller input delay interp nsample ffrange velrange posrange imax slewmax plugin",
    "instance",
)
ENDS_OF_TIES = "body1 body2 site1 site2 joint1 joint2 tendon1 tendon2"
EQUALITY_WORDS = _words(f"name class active solref solimp polycoef anchor relpose torquescale cell flex {ENDS_OF_TIES}")
PICTURE_WORDS: Words = {"camera": None, "light": None}
BODY_WORDS: Words = {
    **PICTURE_WORDS,
    "body": _words(f"name childclass gravcomp mocap user simple sleep fuse {POSE_WORDS}"),
    "inertial": _words(f"mass diaginertia fullinertia {POSE_WORDS}"),
    "freejoint": None,  # refused by its own name
    "joint": JOINT_WORDS,
    "geom": GEOM_WORDS,
    "site": SITE_WORDS,
}
KNOWN_SECTIONS: Mapping[str, Words] = {
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
    "worldbody": BODY_WORDS,
    "default": {
        **PICTURE_WORDS, **dict.fromkeys(ACTUATOR_TAGS, ACTUATOR_WORDS), "default": _words("class"),
        **dict.fromkeys(("mesh", "material", "layer", "texture", "pair")), "joint": JOINT_WORDS,
        "geom": GEOM_WORDS, "site": SITE_WORDS, "tendon": TENDON_WORDS, "equality": EQUALITY_WORDS,
    },
    "tendon": {
        "spatial": TENDON_WORDS, "fixed": TENDON_WORDS, "joint": _words("joint coef"), "site": _words("site"),
        "geom": _words("geom sidesite"), "pulley": _words("divisor"),
    },
    "actuator": {**dict.fromkeys(ACTUATOR_TAGS, ACTUATOR_WORDS), "config": None},
    "equality": dict.fromkeys(("connect", "weld", "joint", "tendon", "flex", "flexstrain", "flexvert"), EQUALITY_WORDS),
    "asset": dict.fromkeys(("mesh", "plugin", "config", "hfield", "skin", "bone", "texture", "material", "layer")),
    "deformable": dict.fromkeys(("skin", "bone")),
}  # fmt: skip
#: Attributes that are names, and may look like numbers.
NAMES_OF_ELEMENTS = _words(
    "name class childclass joint jointinparent tendon site refsite slidersite cranksite body mesh hfield material geom",
    "sidesite plugin instance flex cell model file fileright fileleft fileup filedown filefront fileback meshdir",
    f"texture target texturedir assetdir {ENDS_OF_TIES}",
)
#: Ranges of a joint, and the attribute that switches each off.
RANGE_SWITCHES = {"range": "limited", "actuatorfrcrange": "actuatorfrclimited"}
#: Sections that speak of pictures, sensors, contacts, memory and postures to start from. Plugins are noted.
HARMLESS_SECTIONS = ("size", "statistic", "visual", "contact", "sensor", "keyframe", "custom", "extension")


def refuse_unknown(root: Element, source: str) -> None:
    for section in root:
        if section.tag in HARMLESS_SECTIONS:
            continue
        known = KNOWN_SECTIONS.get(section.tag)
        if known is None:
            raise RobotError(f"{source} has <{section.tag}>, which is not supported; {COMPILED_ADVICE}")
        for element in section.iter():
            if element is section and section.tag not in known:
                continue
            if element.tag not in known:
                raise RobotError(f"{source} has <{element.tag}>, which is not supported; {COMPILED_ADVICE}")
            allowed = known[element.tag]
            if unknown := [word for word in element.attrib if allowed is not None and word not in allowed]:
                where = f"in <{element.tag}> ({element.get('name', 'no name')})"
                problem = f"{source} has the attribute '{unknown[0]}' {where}, which is not known here"
                raise RobotError(f"{problem} and may change torques; remove it, or {COMPILED_ADVICE}")


def refuse_infinite_numbers(element: Element, owner: str = "the file") -> None:
    """Refuse numbers that are not finite (limits excepted) or that no robot has, and ranges of joints with nothing
    between their ends, which MuJoCo takes for none; what is no number, MuJoCo refuses."""
    if element.tag in ("body", "joint") and element.get("name"):
        owner = f"{element.tag} '{element.get('name')}'"
    for word, text in element.attrib.items():
        if word in NAMES_OF_ELEMENTS:
            continue
        parts = text.split()
        numbers = [one for one in map(_number, parts) if one is not None]
        huge = word not in UNBOUNDED_ATTRIBUTES and any(abs(one) > LARGEST_OF_A_ROBOT for one in numbers)
        if huge or any(map(math.isnan, numbers)):
            problem = f"{word}={shown(text)} in <{element.tag}> of {owner} is not finite or beyond"
            raise RobotError(f"{problem} {LARGEST_OF_A_ROBOT:g}; give a number or leave it out")
        ranged = element.tag == "joint" and word in RANGE_SWITCHES and element.get(RANGE_SWITCHES[word]) != "false"
        if ranged and len(numbers) == len(parts) == 2 and numbers[0] >= numbers[1]:
            given = " ".join(f"{one:g}" for one in numbers)
            raise RobotError(f"{word}='{given}' of {owner}: the lower one must be smaller than the upper one")
    for child in element:
        if child.tag not in HARMLESS_SECTIONS:
            refuse_infinite_numbers(child, owner)


def _number(part: str) -> float | None:
    """As C reads it, which knows nan(…); None for a word."""
    try:
        return math.nan if re.fullmatch(r"[+-]?nan(\(.*\))?", part, re.IGNORECASE) else float(part)
    except ValueError:
        return None
