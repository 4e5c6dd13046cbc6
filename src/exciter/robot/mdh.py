"""Modified Denavit–Hartenberg tables after Khalil and Kleinfinger, for serial and tree robots.

Frame j sits on joint j with z_j along the joint axis. Its placement in the frame of its antecedent a(j) is

    T = Rot_z(γ) Trans_z(b) Rot_x(α) Trans_x(d) Rot_z(θ) Trans_z(r)

where θ grows by q for a revolute joint (σ = 0) and r grows by q for a prismatic one (σ = 1). γ = b = 0 for
the joint whose common perpendicular defines x of the antecedent, so a serial robot needs α, d, θ, r alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import RobotError
from exciter.robot.geometry import frozen_array
from exciter.robot.limits import Limits
from exciter.robot.robot import BASE, Joint, JointKind, Robot
from exciter.typing import Array

_NUMBERS = ("alpha", "d", "theta", "r", "gamma", "b")
_QUARTER_COS = (1.0, 0.0, -1.0, 0.0)


@dataclass(frozen=True)
class MDHRow:
    """One line of the table: angles α, θ, γ [rad], lengths d, r, b [m]; parent −1 is the base.

    sigma: 0 revolute (theta is the offset of q), 1 prismatic (r is the offset of q).
    """

    joint: str
    parent: int
    sigma: int
    alpha: float
    d: float
    theta: float
    r: float
    gamma: float = 0.0
    b: float = 0.0

    def __post_init__(self) -> None:
        if self.sigma not in (0, 1):
            raise RobotError(f"joint '{self.joint}' has sigma {self.sigma}; allowed are 0 (revolute), 1 (prismatic)")
        for name in _NUMBERS:
            if not math.isfinite(getattr(self, name)):
                raise RobotError(f"{name} of joint '{self.joint}' is {getattr(self, name)}; give a finite number")


@dataclass(frozen=True, eq=False)
class MDHTable:
    """A robot's table. A parent comes before its children.

    rotations (n, 3, 3), translations (n, 3) [m]: placement of every frame of the table in the joint frame of
    the robot it was derived from; identity and zero when the table itself is the definition.
    """

    name: str
    rows: tuple[MDHRow, ...]
    rotations: Array = field(default_factory=lambda: np.zeros((0, 3, 3)))
    translations: Array = field(default_factory=lambda: np.zeros((0, 3)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        n = len(self.rows)
        rotations = self.rotations if len(self.rotations) else np.tile(np.eye(3), (n, 1, 1))
        translations = self.translations if len(self.translations) else np.zeros((n, 3))
        object.__setattr__(self, "rotations", frozen_array(rotations, (n, 3, 3), f"rotations of '{self.name}'"))
        object.__setattr__(self, "translations", frozen_array(translations, (n, 3), f"origins of '{self.name}'"))
        for index, row in enumerate(self.rows):
            if not BASE <= row.parent < index:
                raise RobotError(f"joint '{row.joint}' must come after its parent (parent index {row.parent})")

    def transform(self, j: int, q: float = 0.0) -> Array:
        """(4, 4) placement of frame j in its antecedent's frame at joint position q [rad or m]."""
        row = self.rows[j]
        turn, slide = (0.0, q) if row.sigma else (q, 0.0)
        placement: Array = (
            _screw_z(row.gamma, row.b) @ _screw_x(row.alpha, row.d) @ _screw_z(row.theta + turn, row.r + slide)
        )
        placement += 0.0  # no negative zeros, for people who print it
        return placement

    def robot(
        self,
        *,
        limits: Sequence[Limits] | None = None,
        inertias: ArrayLike | None = None,
        kinds: Sequence[JointKind] | None = None,
        links: Sequence[str] | None = None,
        **rest: Any,
    ) -> Robot:
        """The robot whose joint frames are the frames of this table, so every axis is exactly z.

        limits and inertias (n, 10) in these frames, one per joint; kinds only to say that a joint is
        "continuous"; ``rest`` goes to ``Robot`` as it is (gravity, frames, capsules, shapes, friction, …).
        """
        n = len(self.rows)
        phi = np.zeros((n, 10)) if inertias is None else frozen_array(inertias, (n, 10), "inertias")
        all_limits = [Limits()] * n if limits is None else list(limits)
        default: list[JointKind] = ["prismatic" if row.sigma else "revolute" for row in self.rows]
        all_kinds = default if kinds is None else list(kinds)
        joints = []
        for j, row in enumerate(self.rows):
            t = self.transform(j)
            joints.append(
                Joint(
                    name=row.joint,
                    kind=all_kinds[j],
                    parent=row.parent,
                    rotation=t[:3, :3],
                    translation=t[:3, 3],
                    axis=np.array([0.0, 0.0, 1.0]),
                    limits=all_limits[j].checked(row.joint),
                    inertia=phi[j],
                    link=links[j] if links else "",
                )
            )
        return Robot(name=rest.pop("name", self.name), joints=tuple(joints), **rest)


def cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin, exactly 0 and ±1 at multiples of 90°."""
    quarters = angle / (math.pi / 2)
    nearest = round(quarters)
    if abs(quarters - nearest) < 1e-13 * max(1.0, abs(quarters)):
        return _QUARTER_COS[nearest % 4], _QUARTER_COS[(nearest - 1) % 4]
    return math.cos(angle), math.sin(angle)


def _screw_z(angle: float, length: float) -> Array:
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, length], [0, 0, 0, 1.0]])


def _screw_x(angle: float, length: float) -> Array:
    c, s = cos_sin(angle)
    return np.array([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])
