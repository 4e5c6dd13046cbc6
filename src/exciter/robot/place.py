"""Things fixed on a body, seen from another body: what merging and locking do to shapes and frames."""

from __future__ import annotations

from dataclasses import replace

from exciter.robot.geometry import Capsule, Shape
from exciter.robot.robot import Frame
from exciter.typing import Array


def place_frame(frame: Frame, joint: int, rotation: Array, translation: Array) -> Frame:
    """The frame on ``joint``, where (rotation, translation) is its old reference seen from that joint."""
    return replace(
        frame,
        joint=joint,
        rotation=rotation @ frame.rotation,
        translation=rotation @ frame.translation + translation,
    )


def place_shape(shape: Shape, joint: int, rotation: Array, translation: Array) -> Shape:
    """The shape on ``joint``; as ``place_frame``."""
    return replace(
        shape,
        joint=joint,
        rotation=rotation @ shape.rotation,
        translation=rotation @ shape.translation + translation,
    )


def place_capsule(capsule: Capsule, joint: int, rotation: Array, translation: Array) -> Capsule:
    """The capsule on ``joint``; as ``place_frame``."""
    start, end = rotation @ capsule.start + translation, rotation @ capsule.end + translation
    return replace(capsule, joint=joint, start=start, end=end)
