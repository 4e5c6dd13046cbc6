"""Data of the moving robot: its kinematics, what to draw on every body, and the joint positions over time.

The page computes the placements itself from the joint positions: a few kilobytes instead of a pose per body and
picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exciter.report.markup import Markup, data_block, element, packed
from exciter.robot.geometry import Shape
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import upright
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Replay:
    """Positions q (N, n) at even times (N,) [s], and the path (N, 3) [m] of the scene's frame, in the base. group: of
    the plots over the same time."""

    name: str
    group: str
    time: Array
    q: Array
    path: Array


@dataclass(frozen=True, eq=False)
class Scene:
    """A robot that replays one of several motions, with the path of one of its frames. around: what stands around it,
    drawn translucent (``surroundings``)."""

    robot: Robot
    frame: str
    motions: Sequence[Replay]
    around: Sequence[dict[str, Any]] = ()

    def html(self) -> Markup:
        label = f"{self.robot.name} in 3D: drag or arrow keys to turn, plus and minus to zoom, space to play or pause"
        canvas = element("canvas", tabindex=0, role="img", aria_label=label)
        return element("figure", canvas, data_block(self.data()), class_="scene")

    def data(self) -> dict[str, Any]:
        frame = self.robot.frame(self.frame)
        return {
            "joints": [
                {
                    "name": joint.name,
                    "parent": joint.parent,
                    "prismatic": joint.is_prismatic,
                    "rotation": joint.rotation.ravel().tolist(),
                    "translation": joint.translation.tolist(),
                    "axis": joint.axis.tolist(),
                }
                for joint in self.robot.joints
            ],
            "shapes": drawables(self.robot),
            "sticks": sticks(self.robot),
            "around": list(self.around),
            "upright": upright(self.robot.gravity).ravel().tolist(),
            "frame": {
                "name": frame.name,
                "joint": frame.joint,
                "rotation": frame.rotation.ravel().tolist(),
                "translation": frame.translation.tolist(),
            },
            "motions": [
                {
                    "name": motion.name,
                    "group": motion.group,
                    "time": packed(motion.time),
                    "q": packed(motion.q),
                    "path": packed(motion.path),
                }
                for motion in self.motions
            ],
        }


def drawables(robot: Robot) -> list[dict[str, Any]]:
    """The shapes of every body; its capsules where it has no shape that can be drawn (mesh files stay outside)."""
    shapes = [shape for shape in robot.shapes if shape.visible and shape.kind != "mesh"]
    drawn = {shape.joint for shape in shapes}
    capsules = [capsule for capsule in robot.capsules if capsule.joint not in drawn]
    return [shape_data(shape) for shape in shapes] + [shape_data(capsule.solid) for capsule in capsules]


def shape_data(shape: Shape) -> dict[str, Any]:
    return {
        "kind": shape.kind,
        "joint": shape.joint,
        "size": [float(size) for size in shape.size],
        "rotation": shape.rotation.ravel().tolist(),
        "translation": shape.translation.tolist(),
        "colour": None if shape.colour == Shape.colour else [float(part) for part in shape.colour],
    }


def sticks(robot: Robot) -> list[dict[str, Any]]:
    """Straight connections for bodies with nothing to draw: from a joint's origin to what the body carries."""
    drawn = {shape["joint"] for shape in drawables(robot)}
    ends: list[dict[str, Any]] = []
    for child, joint in enumerate(robot.joints):
        if joint.parent not in drawn:
            ends.append({"from": joint.parent, "to": child, "offset": [0.0, 0.0, 0.0]})
    for frame in robot.frames:
        if frame.joint != BASE and frame.joint not in drawn:
            ends.append({"from": frame.joint, "to": frame.joint, "offset": frame.translation.tolist()})
    return ends
