"""Robots from URDF and MJCF files, read through Pinocchio.

The file is first made plain (``urdf.py``, ``mjcf.py``): checked, with limits and friction taken out.
Pinocchio assembles the tree of the plain copy and merges what is rigidly connected; this module turns the
result into a ``Robot``. Frames: every link (body) of the file by its name, fixed joints and sites too; where
a name occurs twice the link wins, then the moving joint. Joints come in Pinocchio's order (siblings of a URDF
by name).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import RobotError
from exciter.files import scratch
from exciter.notes import COLLISION_SUBJECT, Note, note, warning
from exciter.robot.capsules import enclosing_capsule, lowest_point, with_collision_pairs
from exciter.robot.geometry import Capsule, Shape
from exciter.robot.load import RobotOptions, with_default_accelerations
from exciter.robot.placeholders import bare_bodies, hidden_in_bodies, is_physical, unreal_bodies
from exciter.robot.plain_description import PlainDescription, bodies_have, named
from exciter.robot.robot import BASE, Frame, Joint, Robot
from exciter.robot.urdf import plain_urdf
from exciter.typing import Array

BASE_LEVEL_TOLERANCE_M = 1e-3  # [m] a base that ends this little below its origin stands at it
LARGEST_FRAME_MASS_KG = 1e-3  # [kg] up to which a link is a mere frame that some tools do not accept without a mass


def read_urdf(path: str | Path, *, mesh_root: Path | None = None, options: RobotOptions | None = None) -> Robot:
    """The robot of a URDF file.

    mesh_root: folder that mesh paths may not leave (default: the folder of the file).
    options: limits, gravity and locked joints to apply; coupled (mimic) joints must be locked here.
    Acceleration limits that are still missing come from the default policy of ``Limits``.
    """
    path, options = Path(path), options or RobotOptions()
    plain = _shaped(plain_urdf(path, mesh_root or options.mesh_root), options)
    return _finished(_assembled(_model_from_urdf(plain, path), plain, f"URDF file {path.name}"), plain, options)


def read_mjcf(path: str | Path, *, mesh_root: Path | None = None, options: RobotOptions | None = None) -> Robot:
    """The robot of an MJCF file; as ``read_urdf``."""
    from exciter.robot.mjcf import plain_mjcf  # MuJoCo takes a while to load, and URDF needs none

    path, options = Path(path), options or RobotOptions()
    plain = _shaped(plain_mjcf(path, mesh_root or options.mesh_root), options)
    return _finished(_assembled(_model_from_mjcf(plain, path), plain, f"MJCF file {path.name}"), plain, options)


def _shaped(plain: PlainDescription, options: RobotOptions) -> PlainDescription:
    """Without shapes in files of their own, where those are not to be opened."""
    if options.meshes:
        return plain
    return replace(plain, shapes=tuple(pair for pair in plain.shapes if pair[1].kind != "mesh"))


def _finished(robot: Robot, plain: PlainDescription, options: RobotOptions) -> Robot:
    for name in options.lock:
        robot.index(name)  # an unknown name is told before a coupling is
    for coupling in plain.couplings:
        coupling.check(tuple(options.lock))
    return with_collision_pairs(options.apply(with_default_accelerations(robot.with_limits(**options.limits))))


def _model_from_urdf(plain: PlainDescription, path: Path) -> Any:
    import pinocchio as pin

    try:
        return pin.buildModelFromXML(plain.xml)
    except Exception as error:  # whatever a foreign parser throws
        raise RobotError(f"Pinocchio cannot read '{path}': {error}") from None


def _model_from_mjcf(plain: PlainDescription, path: Path) -> Any:
    import pinocchio as pin

    with scratch() as folder:  # Pinocchio reads MJCF from files only
        copy = folder / "plain.xml"
        copy.write_text(plain.xml, encoding="utf-8")
        try:
            return pin.buildModelFromMJCF(str(copy))
        except Exception as error:
            raise RobotError(f"Pinocchio cannot read '{path}': {error}") from None


def _assembled(model: Any, plain: PlainDescription, source: str) -> Robot:
    data = model.createData()
    joints = tuple(_joint(model, data, index, plain) for index in range(1, model.njoints))
    links = _link_frames(model)
    shapes, shape_notes = _collision_shapes(plain)
    capsules, failed = _capsules(shapes, links)
    without = (f"no capsule for shapes of links {named(list(failed))}; the first: {e}" for e in [*failed.values()][:1])
    robot = Robot(
        name=plain.name,
        joints=joints,
        gravity=np.array(plain.gravity),
        frames=_frames(model, plain, links, {joint.name for joint in joints}),
        capsules=capsules,
        shapes=tuple(_placed(shape, links[link]) for link, shape in shapes),
        ground=plain.ground,
        base_bottom=_base_bottom(shapes, links),
        unshaped=_unshaped(plain, shapes, links, failed),
        friction=_friction(plain, joints),
        source=source,
        notes=(
            *plain.notes,
            *_inertia_notes(joints),
            *shape_notes,
            *(warning(COLLISION_SUBJECT, text) for text in without),
        ),
        lacking=plain.lacking,
        unlimited=plain.unlimited,
    )
    return _with_what_is_hidden(robot, plain, links)


def _joint(model: Any, data: Any, index: int, plain: PlainDescription) -> Joint:
    import pinocchio as pin

    name = model.names[index]
    facts = plain.joints[name]
    # the joint's own column of its Jacobian in its own frame is the axis, whatever class Pinocchio chose
    jacobian = pin.computeJointJacobian(model, data, np.zeros(model.nq), index)
    column = np.reshape(jacobian, (6, model.nv))[:, model.joints[index].idx_v]  # one joint alone gives (6,)
    axis = column[:3] if facts.kind == "prismatic" else column[3:]
    placement = model.jointPlacements[index]
    return Joint(
        name=name,
        kind=facts.kind,
        parent=int(model.parents[index]) - 1,
        rotation=placement.rotation,
        translation=placement.translation,
        axis=axis / np.linalg.norm(axis),
        limits=facts.limits,
        inertia=model.inertias[index].toDynamicParameters(),
        link=facts.link,
        bodiless=facts.link in plain.hidden,
    )


def _link_frames(model: Any) -> dict[str, Frame]:
    import pinocchio as pin

    return {
        f.name: Frame(f.name, int(f.parentJoint) - 1, f.placement.rotation, f.placement.translation)
        for f in model.frames
        if f.type == pin.FrameType.BODY
    }


def _frames(model: Any, plain: PlainDescription, links: dict[str, Frame], joints: set[str]) -> tuple[Frame, ...]:
    """Links, then the frames of fixed joints and sites whose names are still free."""
    frames = dict(links)
    for link, frame in plain.frames:
        if frame.name not in joints and frame.name not in frames:
            on = links[link]
            frames[frame.name] = frame.placed(on.joint, on.rotation, on.translation)
    return tuple(frames[name] for name in frames if name not in plain.hidden)


def _placed(shape: Shape, on: Frame) -> Shape:
    return shape.placed(on.joint, on.rotation, on.translation)


def _collision_shapes(plain: PlainDescription) -> tuple[list[tuple[str, Shape]], list[Note]]:
    """The shapes; those that a link without collision shapes has to look at count as collision shapes, too. It is
    settled here, link by link: later, links that are rigidly joined are one body, and would hide behind each other."""
    solid = {link for link, shape in plain.shapes if shape.collides}
    shapes = [(link, shape if link in solid else replace(shape, role="both")) for link, shape in plain.shapes]
    visual_only = list(dict.fromkeys(link for link, _ in plain.shapes if link not in solid))
    absent = list(
        dict.fromkeys(s.mesh for _, s in shapes if not s.collides and s.kind == "mesh" and not isfile(s.mesh))
    )
    notes = list[Note]()
    if visual_only:
        text = (
            f"no collision shape on {named(visual_only)}: what is drawn of them is taken for what collides; give "
            "<collision> shapes"
        )
        notes.append(note(COLLISION_SUBJECT, text))
    if absent:
        first = Path(absent[0]).name
        text = f"mesh files absent: {len(absent)} (first: {first}); these are only needed for pictures"
        notes.append(note("mesh files", text))
    return shapes, notes


def _capsules(given: list[tuple[str, Shape]], links: dict[str, Frame]) -> tuple[tuple[Capsule, ...], dict[str, str]]:
    """A capsule per collision shape, named after its link (link/1, link/2, … where it has several), and links with a
    shape that has none, such as a mesh whose file is missing, with the reason."""
    solids = [(link, shape) for link, shape in given if shape.collides]
    shapes = Counter(link for link, _ in solids)
    capsules: dict[str, Capsule] = {}
    failed: dict[str, str] = {}
    for link, shape in solids:
        name, number = link, 0
        while name in capsules or (shapes[link] > 1 and not number):
            number += 1
            name = f"{link}/{number}"
        try:
            capsules[name] = enclosing_capsule(name, _placed(shape, links[link]))
        except RobotError as error:
            failed.setdefault(link, str(error))
    return tuple(capsules.values()), failed


def _unshaped(
    plain: PlainDescription, shapes: list[tuple[str, Shape]], links: dict[str, Frame], failed: Mapping[str, str]
) -> tuple[str, ...]:
    """Links that move and have a mass or a shape, of which something could not be measured, and what stands still with
    such a shape. It is settled here: later they are part of a body whose other links may have shapes."""
    shaped = {link for link, shape in shapes if shape.collides and link not in failed}
    there = {link for link, phi in plain.inertias.items() if phi[0] > LARGEST_FRAME_MASS_KG} | plain.solid
    moving = {link for link in there - shaped if links[link].joint != BASE}
    return tuple(link for link in links if link in moving | plain.unmeasured | failed.keys())


def _base_bottom(shapes: list[tuple[str, Shape]], links: dict[str, Frame]) -> float:
    """Height [m] at which the shapes of the base end, if that is below its origin (locked joints add to the base later
    and do not stand on anything)."""
    base = [_placed(shape, links[link]) for link, shape in shapes if shape.collides and links[link].joint == BASE]
    lowest = min((height for shape in base if (height := _bottom(shape)) is not None), default=0.0)
    return lowest if lowest < -BASE_LEVEL_TOLERANCE_M else 0.0


def _bottom(shape: Shape) -> float | None:
    """z [m] of a shape's lowest point; None where its mesh cannot be read, which is noted with its capsule."""
    try:
        return lowest_point(shape)
    except RobotError:
        return None


def _friction(plain: PlainDescription, joints: tuple[Joint, ...]) -> dict[str, Array]:
    """Joint terms that the file gives for at least one joint, zero for the others."""
    terms = {
        term: np.array([getattr(plain.joints[joint.name], term) for joint in joints])
        for term in ("viscous", "coulomb", "rotor_inertia")
    }
    return {term: values for term, values in terms.items() if np.any(values != 0.0)}


def _inertia_notes(joints: tuple[Joint, ...]) -> list[Note]:
    """Inertias that no body can have are common in files (dummies): told, not refused."""
    massless = [joint.name for joint in joints if joint.inertia[0] == 0.0 and not joint.bodiless]
    wrong = [j.name for j in joints if j.name not in massless and not is_physical(j.inertia)]
    found = {"no mass in the file": massless, "an inertia that is not physical (dummy values?)": wrong}
    return [warning("inertias", f"{bodies_have(names)} {what}") for what, names in found.items() if names]


def _with_what_is_hidden(robot: Robot, plain: PlainDescription, links: dict[str, Frame]) -> Robot:
    """Links without a mass, or with that of no body, within bodies that look complete."""
    shown = {*bare_bodies(robot), *unreal_bodies(robot), BASE}
    parts = {link: phi for link, phi in plain.inertias.items() if links[link].joint not in shown}
    return replace(robot, lacking=(*robot.lacking, *hidden_in_bodies(parts, plain.solid, robot)))
