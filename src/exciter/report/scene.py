"""The moving robot in 3D, and the path of one of its frames from three sides.

The page computes placements itself from the joint positions: a few kilobytes instead of a pose per body and picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from exciter.excitation.constraints.ground import Surrounding
from exciter.report.markup import PagePart, packed, packed_whole
from exciter.report.plot import finite
from exciter.robot.coupling import coupled_motion
from exciter.robot.drawing import Drawing, drawing
from exciter.robot.geometry import Shape, Surface
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import upright
from exciter.typing import Array

PATH_SQUARE, LABEL_MARGIN, TOP_MARGIN = 220.0, 34.0, 6.0  #: [drawing units] of a side view
SMALLEST_SPAN_M = 1e-3  #: of a path that hardly moves
ROOM_AROUND_PATH = 1.08  #: side of the square over that of the path
STEPS_PER_BOX_SIDE = 65535  #: vertices of a mesh as 16-bit numbers


@dataclass(frozen=True, eq=False)
class Replay:
    """Positions q (N, n) at even times (N,) [s], and the path (N, 3) [m] of the scene's frame, in the base. group: of
    the plots over the same time."""

    name: str
    group: str
    time: Array
    q: Array
    path: Array


class Scene(PagePart):
    """A robot that replays one of several motions, with the path of one of its frames. around: drawn translucent."""

    template: ClassVar[str] = "figures.html"
    robot: Robot
    frame: str
    motions: Sequence[Replay]
    around: Sequence[Surrounding] = ()

    @cached_property
    def drawing(self) -> Drawing:
        return drawing(self.robot)

    def data(self) -> dict[str, Any]:
        frame, shapes = self.robot.frame(self.frame), self.drawing.shapes
        surfaces = list(dict.fromkeys(shape.surface for shape in shapes if shape.surface is not None))
        return {
            "joints": [
                {"name": joint.name, "parent": joint.parent, "prismatic": joint.is_prismatic}
                | {"axis": joint.axis.tolist(), **placement(joint)}
                for joint in self.robot.bodies
            ],
            "shapes": [shape_data(shape, surfaces) for shape in shapes],
            "surfaces": [surface_data(surface) for surface in surfaces],
            "sticks": sticks(self.robot, {shape.joint for shape in shapes}),
            "around": [
                {"kind": one.kind, "size": list(map(finite, one.size)), "border": one.border, "ground": one.ground}
                | placement(one)
                for one in self.around  # as wide as the scene where a plane or a cylinder has no end: null
            ],
            "upright": upright(self.robot.gravity).ravel().tolist(),
            "frame": {"name": frame.name, "joint": frame.joint, **placement(frame)},
            "motions": [
                {key: value if isinstance(value, str) else packed(value) for key, value in vars(motion).items()}
                | {"q": packed(coupled_motion(self.robot, Motion.at(motion.q)).q)}
                for motion in self.motions
            ],
        }


def placement(thing: Any) -> dict[str, list[float]]:
    return {"rotation": thing.rotation.ravel().tolist(), "translation": thing.translation.tolist()}


def shape_data(shape: Shape, surfaces: Sequence[Surface]) -> dict[str, Any]:
    return {
        "kind": shape.kind,
        "joint": shape.joint,
        "size": [float(size) for size in shape.size],
        "colour": None if shape.colour == Shape.colour else [float(part) for part in shape.colour],
        "surface": None if shape.surface is None else surfaces.index(shape.surface),
        **placement(shape),
    }


def surface_data(surface: Surface) -> dict[str, Any]:
    """Vertices as 16-bit steps within their box."""
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    step = np.where(high > low, (high - low) / STEPS_PER_BOX_SIDE, 1.0)
    return {
        "low": low.tolist(),
        "step": step.tolist(),
        "vertices": packed_whole(np.rint((surface.vertices - low) / step)),
        "faces": packed_whole(surface.faces),
    }


def sticks(robot: Robot, drawn: set[int]) -> list[dict[str, Any]]:
    """Straight connections for bodies with nothing to draw, from a joint's origin to what the body carries. drawn: the
    joints whose bodies have a shape."""
    ends = [(joint.parent, child, [0.0, 0.0, 0.0]) for child, joint in enumerate(robot.bodies)]
    ends += [(frame.joint, frame.joint, frame.translation.tolist()) for frame in robot.frames if frame.joint != BASE]
    nothing = {k for k, joint in enumerate(robot.bodies) if joint.is_massless}  # of a free base: no rod leads to it
    kept = (one for one in ends if one[0] not in drawn and nothing.isdisjoint(one[:2]))
    return [{"from": start, "to": end, "offset": offset} for start, end, offset in kept]


# -- the path from three sides, up is against gravity ------------------------------------------------------------------


class SideViews(PagePart):
    """A path (N, 3) [m] in the base, as drawings that need no script."""

    template: ClassVar[str] = "figures.html"
    path: Array
    gravity: Array
    left, right = LABEL_MARGIN, LABEL_MARGIN + PATH_SQUARE
    top, bottom = TOP_MARGIN, TOP_MARGIN + PATH_SQUARE
    width, height = LABEL_MARGIN + PATH_SQUARE + 8.0, LABEL_MARGIN + PATH_SQUARE + 4.0

    @property
    def views(self) -> list[dict[str, Any]]:
        """The drawings, in drawing units. right, up: names of the axes; axes: their numbers in upright coordinates.
        columns, lines: where the grid is, each with its coordinate [m]."""
        turn = upright(self.gravity)
        path, names = self.path @ turn.T, axis_names(turn)
        span = max(ROOM_AROUND_PATH * float(np.ptp(path, axis=0).max()), SMALLEST_SPAN_M)
        sides = ((0, 1, "from above"), (0, 2, "from the side"), (1, 2, "from the front"))
        return [self._view(path, names, (a, b), span, f"seen {side}") for a, b, side in sides]

    def _view(self, path: Array, names: Sequence[str], axes: tuple[int, int], span: float, seen: str) -> dict[str, Any]:
        scale, step, seen_path = PATH_SQUARE / span, tick_step(span), path[:, axes]
        low = 0.5 * (seen_path.min(axis=0) + seen_path.max(axis=0)) - 0.5 * span
        x, y = self.left - low[0] * scale, self.bottom + low[1] * scale  # of the origin
        drawn = np.round(np.column_stack([x + scale * seen_path[:, 0], y - scale * seen_path[:, 1]]), 1).tolist()
        return {
            "seen": seen,
            "right": names[axes[0]],
            "up": names[axes[1]],
            "axes": axes,
            "place": f"{x:.6g} {scale:.6g} {y:.6g} {-scale:.6g}",
            "points": " ".join(f"{u},{v}" for u, v in drawn),
            "start": drawn[0],
            "columns": [(round(x + scale * u, 1), u) for u in multiples(low[0], low[0] + span, step)],
            "lines": [(round(y - scale * v, 1), v) for v in multiples(low[1], low[1] + span, step)],
        }


def axis_names(turn: Array) -> list[str]:
    """Of the axes of upright coordinates: that of the base where one is parallel (``−x``), else what it is."""
    signed = {(k, sign): f"{'−' if sign < 0 else ''}{'xyz'[k]}" for k in range(3) for sign in (-1, 1)}
    names = ["first horizontal axis", "second horizontal axis", "height"]
    for row, axis in enumerate(turn):
        k = int(np.abs(axis).argmax())
        if abs(axis[k]) > 1.0 - 1e-6:
            names[row] = signed[k, int(np.sign(axis[k]))]
    return names


def tick_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, for three to seven lines in a span."""
    power = 10.0 ** np.floor(np.log10(span / 3.0))
    return float(max(step * power for step in (1.0, 2.0, 5.0) if step * power <= span / 3.0))


def multiples(low: float, high: float, step: float) -> list[float]:
    """Multiples of a step within [low, high], free of rounding dust."""
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]
