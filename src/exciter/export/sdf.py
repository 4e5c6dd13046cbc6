"""A robot as SDFormat 1.9, what Gazebo and Drake load: links, joints, inertias, limits, damping, friction, visuals.

Every link is placed relative to the link that carries it, the joint in the link it moves; the base is fixed to the
world. Links, joints and frames of a model share one set of names: joints keep theirs, then links, then frames. Gravity
belongs to the world, so it stands in the comment at the top, with everything else that a model has no place for."""

from __future__ import annotations

import math
from pathlib import Path

from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.export.robot_xml import bounded, document, free_name, identified_robot, link_names, provenance, visuals
from exciter.robot.robot import BASE, Joint, Robot

SDF_VERSION = "1.9"


def sdf_text(model: DynamicModel, chi: ArrayLike | None, folder: Path | None = None) -> str:
    """The SDF model of a full set χ (p,); what it has no place for stands in a comment at the top. folder: where the
    file will lie, from which paths of meshes are seen; absolute ones unless given."""
    robot = identified_robot(model, chi, "SDF")
    if robot.coupling is not None:
        raise ParameterError(f"SDF {SDF_VERSION} has no place for joints that follow others; export URDF or MJCF")
    joints, links, frames = _names(robot)
    named = [(name, frame) for name, frame in zip(frames, robot.frames, strict=True) if name]
    return document(
        "robot.sdf.in",
        robot,
        provenance(model, chi),
        version=SDF_VERSION,
        name=_allowed(robot.name),
        joints=joints,
        links=links,
        frames=named,
        limits=[_limits(joint) for joint in robot.joints],
        shapes=list(enumerate(visuals(robot, files=True), start=1)),
        folder=folder,
    )


def _names(robot: Robot) -> tuple[dict[int, str], dict[int, str], list[str]]:
    """Names of joints, links and frames, none twice; none ("") for a frame that is the link of its name."""
    taken: set[str] = set()

    def given(name: str, suffix: str) -> str:
        taken.add(name := free_name(_allowed(name), taken, suffix))
        return name

    joints = {index: given(joint.name, "_joint") for index, joint in enumerate(robot.joints)}
    own = link_names(robot)
    links = {index: given(name, "_link") for index, name in own.items()}
    frames = ["" if frame.name == own[frame.joint] else given(frame.name, "_frame") for frame in robot.frames]
    joints[BASE] = given("base_mount", "_joint")
    return joints, links, frames


def _allowed(name: str) -> str:
    """A name that SDF allows: no scopes (::), none of the reserved ones (__name__)."""
    name = name.replace("::", "_")
    return f"{name}_" if name in ("world", "") or (name.startswith("__") and name.endswith("__")) else name


def _limits(joint: Joint) -> dict[str, float]:
    limits = joint.limits
    ends = {"lower": limits.lower, "upper": limits.upper} if bounded(joint) else {}
    given = {**ends, "effort": limits.torque, "velocity": limits.velocity}
    return {name: value for name, value in given.items() if math.isfinite(value)}
