"""A spring between a point on the base side and a point on the link, with a free length and a preload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.parameters.terms.columns import Column, Joint, joint_columns, revolute_index
from exciter.parameters.terms.lever import Angle, Arm, Lever
from exciter.parameters.terms.per_joint import check_within
from exciter.parameters.terms.pointwise import Partials, PotentialTerm, Samples
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges, times
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.robot.robot import Robot
from exciter.settings import Number
from exciter.typing import Array

STIFFNESS = Column("Ks", ("N/m", ""), nonnegative=True, conservative=True)
PRELOAD = Column("Ps", ("N", ""), conservative=True)


@dataclass(frozen=True)
class Spring(JointTerm):
    """Γ = (Ks (L − L0) + Ps) dL/dq, where L(q) is the spring's length (see ``lever``).

    Ks stiffness [N/m], Ps tension at the free length L0 [N]. base_arm D, link_arm k, free_length L0 [m];
    offset [rad]: q + offset is the angle between both arms. free_length = 0 with Ps = 0 is the sine of
    GravitySpring.
    """

    word: ClassVar[str] = "spring"
    title: ClassVar[str] = "spring"
    joint: Joint
    base_arm: Arm
    link_arm: Arm
    offset: Angle
    free_length: Annotated[float, Number(least=0.0, unit="m")]

    def __post_init__(self) -> None:
        Lever(self.base_arm, self.link_arm, self.offset)
        check_within(self.free_length, 0.0, np.finfo(float).max, "free_length")

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joint = revolute_index(robot, self.joint, "Spring")
        lever = Lever(self.base_arm, self.link_arm, self.offset)
        return _Spring(joint_columns(robot, [joint], STIFFNESS, PRELOAD), lever, self.free_length)


@dataclass(frozen=True, eq=False)
class _Spring(PotentialTerm):
    lever: Lever
    free_length: float

    def entries(self, at: Samples) -> Array:
        length, arm, _ = self.lever.at(at.q[0])
        return np.stack([(length - self.free_length) * arm, arm])

    def partials(self, at: Samples) -> Partials:
        length, arm, slope = self.lever.at(at.q[0])
        return Partials(q=np.stack([arm**2 + (length - self.free_length) * slope, slope]))

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        joint = self.columns.joints[0]
        length, arm = self.lever.ranges((ranges.q_low[joint], ranges.q_high[joint]))
        force = times((length[0] - self.free_length, length[1] - self.free_length), arm)
        return np.stack([force[0], arm[0]]), np.stack([force[1], arm[1]])

    def energies(self, at: Samples) -> Array:
        extension = self.lever.at(at.q[0])[0] - self.free_length
        return np.stack([0.5 * extension**2, extension])
