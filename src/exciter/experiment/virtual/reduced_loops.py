"""Closed loops one state at a time, by MuJoCo's kinematics: what a simulation asks for tens of thousands of times.

``ClosedLoops`` works on batches; here the posture before is the start of Newton's method, and MuJoCo gives positions of
points, their Jacobians and how these change. Redundant equations go through least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.robot import BASE, Frame
from exciter.robot.ties import JointTie
from exciter.typing import Array, Index

LONGEST_STEP = 0.05  # [rad, m] of the coordinates from the state before, beyond which the loops are closed anew
MOST_CLOSURE_STEPS = 20
SETTLED_STEP = 1e-12  # [rad, m]


class SteppedLoops:
    """model, data: MuJoCo's tree, whose joints are at ``place`` in q. Mutable: remembers the last posture."""

    def __init__(self, model: Any, data: Any, place: Index, coupling: ClosedLoops) -> None:
        self.model, self.data, self.place, self.coupling = model, data, place, coupling
        self._remember(np.array(coupling.reference))

    def __call__(self, u: Array, ud: Array) -> tuple[Array, Array, Array, Array]:
        """q, q̇, Ṅu̇ (nb,) of the tree, and N (nb, m)."""
        import mujoco

        self._remember(self._closed(u))
        qd, bent = self.null @ ud, np.zeros(len(self.q))
        self.data.qvel[self.place] = qd
        mujoco.mj_comVel(self.model, self.data)
        bent[self.coupling.followers] = -self.inverse @ (self._jacobian(self.q, rate=True) @ qd)
        return self.q, qd, bent, self.null

    def _closed(self, u: Array) -> Array:
        """By Newton's method with the inverse of the posture before, which is near enough."""
        follow, step = self.coupling.followers, u - self.q[self.coupling.coordinates]
        if np.abs(step).max() <= LONGEST_STEP:
            q = self.q + self.null @ step
            q[self.coupling.coordinates] = u
            for _ in range(MOST_CLOSURE_STEPS):
                change = -self.inverse @ self._error(q)
                q[follow] += change
                if np.abs(change).max(initial=0.0) <= SETTLED_STEP:
                    return q
        return np.array(self.coupling.positions(u[None])[0])

    def _remember(self, q: Array) -> None:
        """The posture, N there, and the inverse of the followers' columns of J."""
        self._moved(q)
        jacobian, (bodies, joints) = self._jacobian(q), self.coupling.shape
        self.q, self.null = q, np.zeros((bodies, joints))
        self.inverse = np.linalg.pinv(jacobian[:, self.coupling.followers])
        self.null[self.coupling.coordinates, np.arange(joints)] = 1.0
        self.null[self.coupling.followers] = -self.inverse @ jacobian[:, self.coupling.coordinates]

    def _moved(self, q: Array) -> None:
        import mujoco

        self.data.qpos[self.place] = q
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def _point(self, frame: Frame) -> tuple[int, Array, Array]:
        """Body, place and axes of a frame in the world."""
        if frame.joint == BASE:
            return 0, frame.translation, frame.rotation
        body = int(self.model.dof_bodyid[self.place[frame.joint]])
        turn = self.data.xmat[body].reshape(3, 3)
        return body, self.data.xpos[body] + turn @ frame.translation, turn @ frame.rotation

    def _error(self, q: Array) -> Array:
        """Of all equations."""
        self._moved(q)
        found = list[Any]()
        for tie in self.coupling.ties.ties:
            if isinstance(tie, JointTie):
                found.append([q[tie.joint] - tie.zero - _polynomial(tie, q, 0)])
                continue
            (_, a, a_axes), (_, b, b_axes) = self._point(tie.a), self._point(tie.b)
            found.append(a - b)
            if tie.word == "weld":
                turned = a_axes @ b_axes.T
                found.append(
                    0.5
                    * np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
                )
        return np.concatenate(found)

    def _jacobian(self, q: Array, *, rate: bool = False) -> Array:
        """(k, nb) at the tree's present positions q; rate: its derivative in time at the present q̇."""
        import mujoco

        asked = mujoco.mj_jacDot if rate else mujoco.mj_jac
        rows = list[Array]()
        for tie in self.coupling.ties.ties:
            if isinstance(tie, JointTie):
                rows.append(self._tie_row(tie, q, rate=rate))
                continue
            both = np.zeros((6, self.model.nv))
            for frame, sign in ((tie.a, 1.0), (tie.b, -1.0)):
                body, point, _ = self._point(frame)
                moving, turning = np.zeros((2, 3, self.model.nv))
                asked(self.model, self.data, moving, turning, point, body)
                both[:3] += sign * moving
                both[3:] += sign * turning
            rows.append(both[: 6 if tie.word == "weld" else 3][:, self.place])
        return np.vstack(rows)

    def _tie_row(self, tie: JointTie, q: Array, *, rate: bool) -> Array:
        row = np.zeros((1, len(q)))
        if tie.leader >= 0:
            speed = float(self.data.qvel[self.place[tie.leader]]) if rate else 1.0
            row[0, tie.leader] = -_polynomial(tie, q, 2 if rate else 1) * speed
        if not rate:
            row[0, tie.joint] += 1.0
        return row


def _polynomial(tie: JointTie, q: Array, order: int) -> float:
    if tie.leader < 0:
        return float(tie.coefficients[0]) if order == 0 else 0.0
    return float(tie.derivative(q[tie.leader], order))
