"""Dynamics of a robot in its own joint frames, for any batch of samples.

Shapes: N samples, n joints; inertial columns are ten per body, in Pinocchio's order (see ``Joint.inertia``). Where
bodies follow joints (``robot.coupling``) motion, torque and rows are those of the joints: the tree is moved as the
coupling says, and what acts on it is projected, W_u = Nᵀ W."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.engine import default_engine
from exciter.dynamics.reference import Chain, ColumnLayout, LagrangeRows, NumpyEngine, RowBatch
from exciter.errors import MotionError, ParameterError
from exciter.robot.coupling import Coupled
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array

PICTURE_RATE_HZ = 60.0  #: [Hz] per second of motion; what shows them interpolates
MOST_PICTURES = 3000


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Regressor, inverse dynamics, energies, inertia matrix and kinematics of ``robot``."""

    robot: Robot
    engine: NumpyEngine = field(default_factory=default_engine)

    @cached_property
    def chain(self) -> Chain:
        """The tree of bodies."""
        return Chain.of(self.robot)

    @cached_property
    def tree(self) -> Dynamics:
        """Of all bodies as if each moved on its own; these dynamics themselves where each does."""
        return self if self.robot.coupling is None else Dynamics(self.robot.tree, self.engine)

    def coupled(self, motion: Motion) -> Coupled | None:
        """What the tree does meanwhile; None where bodies follow nothing."""
        self.check(motion)
        return None if self.robot.coupling is None else self.robot.coupling.motion(motion)

    def regressor(self, motion: Motion, out: Array | None = None) -> Array:
        """Φ(q, q̇, q̈) (N, n, 10 per body): τ = Φ χ. A view of memory with samples last. out: the result of an earlier
        call for as many samples, to be overwritten but for its zeros; saves the memory's allocation."""
        if (moved := self.coupled(motion)) is not None:
            if out is not None and out.shape != (len(motion), self.robot.n, 10 * self.robot.n_bodies):
                raise MotionError(f"out must be the regressor of an earlier motion with {len(motion)} samples")
            return _samples_first(moved.project(_samples_last(self.tree.regressor(moved.tree))))
        n, samples = self.robot.n, len(motion)
        memory = None
        if out is not None:
            memory = out.transpose(1, 2, 0).reshape(n, n, 10, samples) if out.size == samples * 10 * n * n else out
            ours = out.dtype == np.float64 and np.shares_memory(out, memory) and memory.flags.carray
            if out.shape != (samples, n, 10 * n) or not ours:
                raise MotionError(f"out must be the regressor of an earlier motion with {samples} samples")
        return self._dense(self.engine.regressor(self.chain, *motion.samples_last, memory))

    def inverse_dynamics(self, motion: Motion, inertias: ArrayLike | None = None) -> Array:
        """τ (N, n) [N·m or N] of inertial parameters (bodies, 10), the robot's own unless given."""
        if (moved := self.coupled(motion)) is not None:
            return moved.project(self.tree.inverse_dynamics(moved.tree, inertias).T).T
        return self.engine.torque(self.chain, self.chain_inertias(inertias), *motion.samples_last).T

    def torque_pullback(self, motion: Motion, seed: Array, inertias: ArrayLike | None = None) -> MotionGradient:
        """Jᵀλ: gradient of Σ seed ⊙ τ, seed (N, n), with respect to every sample."""
        if (moved := self.coupled(motion)) is not None:
            lifted = moved.lift(self.checked_seed(motion, seed))
            tree_bar, null_bar = self.tree.torque_pullback(moved.tree, lifted.T, inertias), None
            if moved.null.ndim == 3:  # τ_u = Nᵀ τ: through N, too
                null_bar = np.einsum("Nb,Nj->Nbj", self.tree.inverse_dynamics(moved.tree, inertias), np.asarray(seed))
            return self.pulled(motion, moved, tree_bar, null_bar)
        n, nothing = self.robot.n, np.zeros((0, len(motion)))
        rows = RowBatch(self.chain, ColumnLayout.select(n, [], []), nothing, np.zeros(n), *motion.samples_last)
        q, qd, qdd, _ = self.engine.adjoint(rows, None, self.checked_seed(motion, seed), self.chain_inertias(inertias))
        return MotionGradient(q.T, qd.T, qdd.T)

    def inertia_matrix(self, q: ArrayLike, inertias: ArrayLike | None = None) -> Array:
        """A(q) (N, n, n) [kg·m² …]: column k is the torque of a unit acceleration of joint k without gravity."""
        q = np.atleast_2d(np.asarray(q, dtype=float))
        samples, n = q.shape
        still = Dynamics(self.robot.with_gravity(np.zeros(3)), self.engine)
        unit = np.tile(np.eye(n), (samples, 1))
        repeated = np.repeat(q, n, axis=0)
        tau = still.inverse_dynamics(Motion.at(repeated, np.zeros_like(repeated), unit), inertias)
        return tau.reshape(samples, n, n).swapaxes(1, 2)

    def lagrange(self, motion: Motion) -> LagrangeRows:
        """Energy and momentum rows in the robot's joint frames, samples first: e, u (N, 10 per body), others (N, n, 10
        per body)."""
        if (moved := self.coupled(motion)) is not None:
            tree = self.tree.lagrange(moved.tree)
            momentum, de_dq, du_dq = (
                _samples_first(moved.project(_samples_last(x))) for x in (tree.momentum, tree.de_dq, tree.du_dq)
            )
            if moved.bent is not None:  # the kinetic energy depends on u through q̇ = N(u) u̇ as well
                de_dq = de_dq + np.einsum("Nbj,Nbp->Njp", moved.bent, tree.momentum)
            return LagrangeRows(tree.e, tree.u, momentum, de_dq, du_dq)
        rows = self.engine.lagrange(self.chain, *motion.samples_last[:2])
        e, u = self._dense(rows.e[None])[:, 0], self._dense(rows.u[None])[:, 0]
        return LagrangeRows(e, u, *(self._dense(x) for x in (rows.momentum, rows.de_dq, rows.du_dq)))

    def placement(self, frame: str, q: ArrayLike) -> tuple[Array, Array]:
        """Rotation (N, 3, 3) and origin (N, 3) [m] of a frame in the base, at positions q (N, n)."""
        return self._kinematics(frame, q)[:2]

    def jacobian(self, frame: str, q: ArrayLike) -> Array:
        """(N, 6, n): velocity of the frame's origin (3) and angular velocity (3), in base axes, per joint velocity."""
        return self._kinematics(frame, q)[2]

    def _kinematics(self, name: str, q: ArrayLike) -> tuple[Array, Array, Array]:
        frame, chain = self.robot.frame(name), self.chain
        motion = Motion.at(q)
        samples, n = motion.q.shape
        if n != self.robot.n:
            raise MotionError(f"positions have {n} columns; robot '{self.robot.name}' has {self.robot.n} joints")
        if (moved := self.coupled(motion)) is not None:
            rotation, origin, tree = self.tree._kinematics(name, moved.tree.q)
            return rotation, origin, tree @ moved.null
        jacobian = np.zeros((samples, 6, n))
        if frame.joint < 0:
            return np.tile(frame.rotation, (samples, 1, 1)), np.tile(frame.translation, (samples, 1)), jacobian
        rotations, origins, *screws = self.engine.placements(chain, motion.samples_last[0])
        turned, i = chain.axis_frames[frame.joint], frame.joint
        link = np.moveaxis(rotations[i], -1, 0)
        offset = turned.T @ frame.translation
        pairs = slice(int(chain.first[i]), int(chain.first[i + 1]))
        sv, sw = (np.moveaxis(screw[pairs], -1, 0) for screw in screws)  # (N, d, 3)
        joints = chain.joint[pairs]
        jacobian[:, :3, joints] = link @ (sv + np.cross(sw, offset)).swapaxes(1, 2)
        jacobian[:, 3:, joints] = link @ sw.swapaxes(1, 2)
        return link @ turned.T @ frame.rotation, origins[i].T + link @ offset, jacobian

    def chain_inertias(self, inertias: ArrayLike | None) -> Array:
        """(bodies, 10) in the chain's frames."""
        given, bodies = self.robot.inertias if inertias is None else np.asarray(inertias, dtype=float), self.chain.n
        if given.size != 10 * bodies:
            raise ParameterError(f"inertias have shape {given.shape}; they must be {(bodies, 10)}")
        return np.asarray(np.einsum("iab,ib->ia", self.chain.parameter_map, given.reshape(bodies, 10)))

    def pulled(
        self, motion: Motion, moved: Coupled | None, tree_bar: MotionGradient, null_bar: Array | None = None
    ) -> MotionGradient:
        """The gradient with respect to the joints' motion, from that with respect to the tree's."""
        if moved is None or self.robot.coupling is None:
            return tree_bar
        return self.robot.coupling.pullback(motion, moved, tree_bar, null_bar)

    def checked_seed(self, motion: Motion, seed: Array) -> Array:
        """A torque seed (N, n) as contiguous (n, N)."""
        if np.shape(seed) != motion.q.shape:
            raise MotionError(f"the torque seed has shape {np.shape(seed)}; it must be {motion.q.shape}")
        return np.array(np.asarray(seed, dtype=float).T, order="C")

    @cached_property
    def _turned(self) -> bool:
        """Whether parameters differ between the two: not where all axes are along z."""
        return not (self.chain.axis_frames == np.eye(3)).all()

    def _dense(self, rows: Array) -> Array:
        """(r, bodies, 10, N) in the chain's frames → (N, r, 10 per body) in the robot's."""
        if self._turned:
            rows = np.einsum("jicN,ick->jikN", rows, self.chain.parameter_map)
        r, n, parameters, samples = rows.shape
        return rows.reshape(r, n * parameters, samples).transpose(2, 0, 1)

    def check(self, motion: Motion) -> None:
        if motion.n != self.robot.n:
            known = f"robot '{self.robot.name}' has {self.robot.n}: {', '.join(self.robot.joint_names)}"
            raise MotionError(f"the motion has {motion.n} joints, {known}")


def _samples_last(rows: Array) -> Array:
    """(N, r, p) as (r, p, N)."""
    return rows.transpose(1, 2, 0)


def _samples_first(rows: Array) -> Array:
    return rows.transpose(2, 0, 1)


def picture_times(start: float, end: float) -> Array:
    """[s] evenly, both ends included."""
    return np.linspace(start, end, int(np.clip(PICTURE_RATE_HZ * (end - start), 2, MOST_PICTURES)))


@dataclass(frozen=True, eq=False)
class Pictures:
    """Positions q (N, n) at even times (N,) [s], and the path (N, 3) [m] of ``frame``, in the base."""

    frame: str
    time: Array
    q: Array
    path: Array

    @classmethod
    def of(cls, dynamics: Dynamics, frame: str, start: float, end: float, positions: Callable[[Array], Array]) -> Self:
        """positions: (N, n) at times (N,)."""
        time = picture_times(start, end)
        q = positions(time)
        return cls(frame=frame, time=time, q=q, path=dynamics.placement(frame, q)[1])
