"""An MJCF file in MuJoCo's hands: parsed by ``mujoco.MjSpec``, and compiled as far as bodies, geoms and sites go.

MuJoCo resolves default classes, angles, orientations, fromto and the masses of geoms. It gets a copy of the file that
was checked before, without whatever opens files, and compiles it without joints, <inertial>, meshes and height fields:
descriptions are read without their mesh files, and with bodies of no mass or of an impossible inertia, which MuJoCo
does not compile. Measured: a NaN makes MuJoCo write MUJOCO_LOG.TXT, so that it must be refused before. MuJoCo gives a
body without <inertial> the mass of its geoms; meshes and height fields do not weigh here: such a body needs an
<inertial> element, or goes without their share (noted)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import mujoco
import numpy as np

from exciter.errors import RobotError, shown
from exciter.notes import Note
from exciter.robot import spatial
from exciter.robot.description import CentralInertia
from exciter.robot.geometry import GREY, Shape
from exciter.robot.xml_safety import asset_path, outside_note
from exciter.typing import Array

SECTIONS_COMPILED = ("compiler", "default", "worldbody")
SECTIONS_READ = (*SECTIONS_COMPILED, "option", "tendon", "actuator", "equality")
ELEMENTS_OF_PICTURES = ("camera", "light", "material", "texture", "layer", "pair")
#: Attributes that name what the copy does not have, or only cost memory (user data is as long for all as for one).
ATTRIBUTES_OF_PICTURES = ("user", "material", "sleep")
MESH_ATTRIBUTES = ("name", "class", "file", "scale", "refpos", "refquat")
GEOM_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
MEASURED_GEOMS = (*GEOM_SIZES, "plane")
SMALLEST_GEOM_SIZE_M = 1e-30  # whose cube is still a number
MUJOCO_GREY = (0.5, 0.5, 0.5, 1.0)  # of a geom without a colour
FILE_ATTRIBUTES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
OWN_INERTIA_ADVICE = 'give <inertial>, which the compiler\'s inertiafromgeom="true" would not look at'
FROM_GEOMS = mujoco.mjtInertiaFromGeom
#: Of the angle to −z: below it MuJoCo 4 turns about x, earlier versions do below 1e-10.
AMBIGUOUS_ZAXIS_SINE = 1e-7
LONGEST_ELEMENT_TEXT = 100  # characters of an element that a message shows


@dataclass(frozen=True)
class CompiledMjcf:
    """spec: everything as MuJoCo parsed it. still: the copy that does not move, its elements in the same order; model:
    what it compiles to. meshes: those that lie in files, by name, in their own frames. absent: files that are not.
    outside: what is said of files that must stay closed."""

    spec: Any
    still: Any
    model: Any
    meshes: Mapping[str, Shape]
    absent: tuple[str, ...]
    outside: tuple[Note, ...] = ()

    @property
    def angle(self) -> float:
        """rad per unit of angle in the file."""
        return np.pi / 180.0 if self.spec.compiler.degree else 1.0

    def placement(self, kind: Literal["body", "geom", "site"], twin: Any) -> tuple[Array, Array]:
        """(rotation, translation) of an element of ``still`` in its parent."""
        quaternion, translation = getattr(self.model, f"{kind}_quat"), getattr(self.model, f"{kind}_pos")
        return matrix(quaternion[twin.id]), translation[twin.id].copy()


def matrix(quaternion: Any) -> Array:
    """The rotation of a unit quaternion (w, x, y, z)."""
    found = np.empty(9)
    mujoco.mju_quat2Mat(found, np.asarray(quaternion, dtype=float))
    return found.reshape(3, 3)


def geom_kind(geom: Any) -> str:
    """The geom's type; a primitive that MuJoCo fits to a mesh counts as that mesh."""
    return "mesh" if geom.meshname else word_of(geom.type)


def word_of(value: Any) -> str:
    """The word of MJCF of one of MuJoCo's enumerations: "hinge" of mjJNT_HINGE."""
    return str(value.name.partition("_")[2].lower())


def compiled(root: Element, path: Path, mesh_root: Path) -> CompiledMjcf:
    """The elements of a checked file, as MuJoCo understands them; files of assets outside ``mesh_root`` stay closed."""
    whole = Element("mujoco")
    for section in root:
        if section.tag in SECTIONS_READ:
            whole.append(deepcopy(section))
            _remove(whole[-1], ELEMENTS_OF_PICTURES)
            for element in whole[-1].iter():
                for word in ATTRIBUTES_OF_PICTURES:
                    element.attrib.pop(word, None)
        elif section.tag == "asset":
            assets = SubElement(whole, "asset")
            for mesh in section.findall("mesh"):
                SubElement(assets, "mesh", {word: mesh.attrib[word] for word in MESH_ATTRIBUTES if word in mesh.attrib})
    spec = _by_mujoco(whole, path, mujoco.MjSpec.from_string)
    for section in list(whole):
        if section.tag not in SECTIONS_COMPILED:
            whole.remove(section)
        elif section.tag == "worldbody":
            _remove(section, ("joint", "freejoint", "inertial"))
    still = _by_mujoco(whole, path, mujoco.MjSpec.from_string)
    _simplify(still)
    model = _by_mujoco(whole, path, lambda _: still.compile())
    absent, outside, meshes = _assets(root, spec, path, mesh_root)
    notes = (outside_note(outside, mesh_root),) if outside else ()
    return CompiledMjcf(spec=spec, still=still, model=model, meshes=meshes, absent=tuple(absent), outside=notes)


def _remove(parent: Element, tags: tuple[str, ...]) -> None:
    for child in list(parent):
        parent.remove(child) if child.tag in tags else _remove(child, tags)


def _simplify(still: Any) -> None:
    """All bodies have the mass of those geoms whose shape is known here; a weightless box stands for others."""
    compiler, box = still.compiler, mujoco.mjtGeom.mjGEOM_BOX
    compiler.boundmass = compiler.boundinertia = 0.0
    compiler.inertiafromgeom = int(mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE)
    compiler.fusestatic = compiler.discardvisual = compiler.usethread = False
    for body in still.bodies:
        body.mocap, owner = False, f"body '{body.name}'"
        _refuse_ambiguous_axis(body.alt, None, owner)
        for geom in body.geoms:
            kind = geom_kind(geom)
            _refuse_ambiguous_axis(geom.alt, None if kind in ("capsule", "cylinder") else geom.fromto, owner)
            if geom.mass < 0.0:
                raise RobotError(f"a geom of {owner} has the negative mass {geom.mass:g} kg; give zero or more")
            if kind not in MEASURED_GEOMS:
                geom.meshname = geom.hfieldname = ""
                geom.type, geom.size, geom.mass = box, (1.0, 1.0, 1.0), 0.0
        for site in body.sites:
            _refuse_ambiguous_axis(site.alt, site.fromto, owner)
            if geom_kind(site) not in MEASURED_GEOMS:
                site.meshname, site.type, site.size = "", box, (1.0, 1.0, 1.0)


def _refuse_ambiguous_axis(orientation: Any, ends: Any, owner: str) -> None:
    """ends: fromto, which MuJoCo turns as a zaxis from the second to the first."""
    axis = np.array(orientation.zaxis if orientation.type == mujoco.mjtOrientation.mjORIENTATION_ZAXIS else np.zeros(3))
    if ends is not None and not np.isnan(ends[0]):
        axis = np.asarray(ends[:3]) - np.asarray(ends[3:])
    sine = np.hypot(axis[0], axis[1]) / max(float(np.linalg.norm(axis)), np.finfo(float).tiny)
    if axis[2] < 0.0 and spatial.OPPOSITE_AXIS_SINE <= sine < AMBIGUOUS_ZAXIS_SINE:
        problem = f"zaxis or fromto of {owner} points so nearly to -z that MuJoCo's versions turn it about"
        raise RobotError(f"{problem} different axes; give exactly 0 0 -1, or quat")


def _by_mujoco(tree: Element, path: Path, work: Any) -> Any:
    """What MuJoCo makes of the text of a tree, or one line with the element that it refuses."""
    indent(tree)  # one element a line: MuJoCo's messages give lines
    text = tostring(tree, encoding="unicode")
    try:
        return work(text)
    except ValueError as error:
        said, lines = str(error).strip().splitlines() or ["no reason given"], text.splitlines()
        reason = shown(re.sub("^(XML )?(Error: )*", "", said[0]))[1:-1]
        line = re.search(r"line (\d+)", said[-1])
        element = lines[int(line[1]) - 1].strip()[:LONGEST_ELEMENT_TEXT] if line else "the file"
        raise RobotError(f"MuJoCo cannot read '{path}': {reason} in {element}; correct it") from None


def geom_solid(geom: Any, twin: Any, file: CompiledMjcf, owner: str) -> Shape | None:
    """A box, sphere, cylinder, capsule or mesh, the capsule around an ellipsoid; None for planes, height fields, …"""
    kind: Any = geom_kind(geom)
    rotation, translation = file.placement("geom", twin)
    if kind == "mesh":
        mesh = file.meshes.get(geom.meshname)
        return None if mesh is None else mesh.placed(-1, rotation, translation)
    if kind not in GEOM_SIZES:
        return None
    half = file.model.geom_size[twin.id][: GEOM_SIZES[kind]]
    if half.min() < SMALLEST_GEOM_SIZE_M:
        raise RobotError(f"a {kind} geom of {owner} needs {GEOM_SIZES[kind]} positive sizes")
    if kind == "ellipsoid":
        longest = int(np.argmax(half))
        radius = float(np.delete(half, longest).max())
        turn = rotation @ spatial.rotation_to(np.eye(3)[longest])
        return Shape("capsule", -1, (radius, 2.0 * (float(half[longest]) - radius)), turn, translation)
    red, green, blue, alpha = (round(float(part), 6) for part in geom.rgba)  # MuJoCo keeps single precision
    colour = GREY if (red, green, blue, alpha) == MUJOCO_GREY else (red, green, blue, alpha)
    radii = 1 if kind in ("sphere", "capsule", "cylinder") else 0  # how many sizes are radii, not half lengths
    size = (*half[:radii].tolist(), *(2 * half[radii:]).tolist())
    return Shape(kind, -1, size, rotation, translation, colour)


def _assets(root: Element, spec: Any, path: Path, mesh_root: Path) -> tuple[list[str], list[str], dict[str, Shape]]:
    """Files of assets that do not exist, and those outside the root, of which nobody knows. And the meshes that lie in
    files, by name, without those that MuJoCo moves as it reads them."""

    def seen(reference: str, folder: str) -> tuple[str, Path | None]:
        """What an attribute names, seen from the description, and where that lies."""
        if spec.strippath:
            reference = PurePosixPath(reference.replace("\\", "/")).name
        named = reference if "://" in reference else str(PurePosixPath(folder.replace("\\", "/")) / reference)
        return named, asset_path(named, path.parent, mesh_root)

    absent, outside, meshes, compiler = list[str](), list[str](), {}, spec.compiler
    for asset in (asset for section in root.findall("asset") for asset in section.iter()):
        folder = compiler.texturedir if asset.tag == "texture" else compiler.meshdir
        files = [seen(reference, folder) for reference in filter(None, map(asset.get, FILE_ATTRIBUTES))]
        absent += [named for named, file in files if file is not None and not isfile(file)]
        outside += [named for named, file in files if file is None]
    for mesh in spec.meshes:
        if mesh.file and not np.any(mesh.refpos) and np.allclose(mesh.refquat, (1.0, 0.0, 0.0, 0.0)):
            file, scale = seen(mesh.file, compiler.meshdir)[1], tuple(float(part) for part in mesh.scale)
            if file is None:
                continue
            meshes[mesh.name or file.stem] = Shape("mesh", -1, scale, np.eye(3), np.zeros(3), mesh=str(file))
    return absent, outside, meshes


def body_inertia(body: Any, twin: Any, file: CompiledMjcf, owner: str) -> tuple[CentralInertia, bool]:
    """From <inertial> or geoms, as MuJoCo's compiler decides: inertia about the centre of mass, and the centre; and
    whether it lacks the share of meshes. Where no geom weighs, <inertial> holds whatever the compiler is told."""
    compiler, model = file.spec.compiler, file.model
    automatic = compiler.inertiafromgeom == FROM_GEOMS.mjINERTIAFROMGEOM_AUTO and not body.explicitinertial
    from_geoms = automatic or compiler.inertiafromgeom == FROM_GEOMS.mjINERTIAFROMGEOM_TRUE
    first, last = compiler.inertiagrouprange
    counted = [geom for geom in body.geoms if from_geoms and first <= geom.group <= last]
    meshed = [_weighs_by_mesh(geom, owner) for geom in counted]
    weighs = from_geoms and model.body_mass[twin.id] > 0.0
    if body.explicitinertial and not weighs and not any(meshed):
        own, centre = _from_inertial(body, file, owner)
    elif weighs:
        mass, moments = model.body_mass[twin.id], model.body_inertia[twin.id]
        own = spatial.from_pseudo_inertia(np.diag([*(0.5 * moments.sum() - moments), mass]))
        own = spatial.transform_inertia(own, matrix(model.body_iquat[twin.id]), np.zeros(3))
        centre = model.body_ipos[twin.id].copy()
    else:  # MuJoCo puts the mass that bounds give such a body at the coordinates of the body itself, in its own frame
        own, centre = np.zeros(10), np.array(body.pos)
    own[0] = max(own[0], compiler.boundmass)
    if compiler.boundinertia > 0:
        values, vectors = np.linalg.eigh(spatial.moment_matrix(own))
        own[4:] = (vectors @ np.diag(np.maximum(values, compiler.boundinertia)) @ vectors.T)[spatial.MOMENTS_OF_PHI]
    return (own, centre), any(meshed)


def _weighs_by_mesh(geom: Any, owner: str) -> bool:
    """True when MuJoCo would compute mass or moments from a mesh file or a height field."""
    kind = geom_kind(geom)
    weight = geom.density if np.isnan(geom.mass) else geom.mass
    if kind not in (*MEASURED_GEOMS, "hfield", "mesh"):
        problem = f"a geom of {owner} is of type '{kind}', whose inertia is not known here"
        raise RobotError(f"{problem}; {OWN_INERTIA_ADVICE}")
    if geom.typeinertia == mujoco.mjtGeomInertia.mjINERTIA_SHELL:
        raise RobotError(f"a geom of {owner} has shellinertia, which is not supported; {OWN_INERTIA_ADVICE}")
    return kind in ("mesh", "hfield") and weight != 0.0


def _from_inertial(body: Any, file: CompiledMjcf, owner: str) -> CentralInertia:
    if body.mass < 0:
        raise RobotError(f"{owner} has the negative mass {body.mass:g} kg; masses must be zero or positive")
    full = not np.isnan(body.fullinertia[0])
    xx, yy, zz, xy, xz, yz = body.fullinertia if full else (*body.inertia, 0.0, 0.0, 0.0)
    quaternion, compiler = np.asarray(body.iquat) / np.linalg.norm(body.iquat), file.spec.compiler
    if body.ialt.type != mujoco.mjtOrientation.mjORIENTATION_QUAT:
        _refuse_ambiguous_axis(body.ialt, None, owner)
        try:
            resolved = mujoco.MjSpec.resolve_orientation
            quaternion = resolved(degree=compiler.degree, sequence=compiler.eulerseq, orientation=body.ialt)
        except ValueError as error:
            raise RobotError(f"the orientation of <inertial> of {owner} has no direction: {error}") from None
    own = np.array([body.mass, 0, 0, 0, xx, xy, yy, xz, yz, zz])
    return spatial.transform_inertia(own, matrix(quaternion), np.zeros(3)), np.array(body.ipos)
