"""The wrench that the ground exerts on the base of a moving robot, what a force plate below it sees.

The robot is put on six joints that do not move, three that slide along the axes of the base and three that turn about
them: their forces and torques are the wrench. What acts between links (drives, friction, springs) is not in it; nor is
the weight of the base itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.robot.coupling import coupled_motion
from exciter.robot.limits import Limits
from exciter.robot.motion import Motion
from exciter.robot.robot import Joint, JointKind, Robot
from exciter.typing import Array

BASE_JOINTS = 6


@dataclass(frozen=True, eq=False)
class BaseReaction:
    """Force [N] and torque about the base's origin [N·m], in axes of the base; parameters as in ``model``."""

    model: DynamicModel

    @cached_property
    def _dynamics(self) -> Dynamics:
        robot = self.model.dynamics.robot
        kinds: tuple[JointKind, ...] = ("prismatic",) * 3 + ("revolute",) * 3
        along = [np.roll(np.eye(3), 2 - k, axis=1) for k in range(3)] * 2  # frames whose z is x, y, z of the base
        turn = [before.T @ frame for before, frame in zip([np.eye(3), *along], along, strict=False)]
        still = [
            Joint(f"base:{k}", kind, k - 1, turn[k], np.zeros(3), np.array([0.0, 0.0, 1.0]), Limits(), np.zeros(10))
            for k, kind in enumerate(kinds)
        ]
        moving = [replace(body, parent=body.parent + BASE_JOINTS) for body in robot.bodies]  # base, −1: the sixth
        return Dynamics(Robot(robot.name, (*still, *moving), robot.gravity), self.model.engine)

    def regressor(self, motion: Motion) -> Array:
        """(N, 6, 10 per body): the wrench of each inertial parameter."""
        return self._dynamics.regressor(self._on_base(motion))[:, :BASE_JOINTS, 10 * BASE_JOINTS :]

    def wrench(self, motion: Motion, chi: ArrayLike | None = None) -> Array:
        """(N, 6) of standard parameters χ, nominal unless given."""
        values = self.model.nominal if chi is None else np.asarray(chi, dtype=float)
        inertias = np.concatenate([np.zeros(10 * BASE_JOINTS), values[: self.model.inertial_size]])
        return self._dynamics.inverse_dynamics(self._on_base(motion), inertias)[:, :BASE_JOINTS]

    def _on_base(self, motion: Motion) -> Motion:
        self.model.dynamics.check(motion)
        motion, still = coupled_motion(self.model.robot, motion), np.zeros((len(motion), BASE_JOINTS))
        return Motion(motion.time, *(np.hstack([still, x]) for x in (motion.q, motion.qd, motion.qdd)))
