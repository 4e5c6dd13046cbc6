"""The virtual robot where bodies follow joints: MuJoCo's tree, moved by the joints alone.

MuJoCo holds such couplings by forces, softly. Here they hold exactly: of its tree, at q = φ(u) and q̇ = N u̇, only the
inertia matrix M and the forces h are asked for, and the joints move by (NᵀMN + rotors) ü = τ − Nᵀ(h + M Ṅu̇) − friction,
in Runge–Kutta steps of order four. Dry friction is what keeps a joint from turning round within the present step, up to
its bound; beyond, the bound (``kernels/dry_friction.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.dynamics.kernels.cache import kernels
from exciter.errors import ExciterError
from exciter.experiment.virtual.reduced_loops import SteppedLoops
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.coupling import Coupling, LinearCoupling
from exciter.typing import Array, Index

VIRTUAL_KERNELS = "exciter.experiment.virtual.kernels"


class ReducedState:
    """What MuJoCo's state has, of the joints: (m,) each. Mutable."""

    def __init__(self, joints: int) -> None:
        self.qpos, self.qvel, self.qacc, self.qfrc_applied, self.qfrc_constraint = np.zeros((5, joints))


@dataclass(eq=False)
class ReducedTree:
    """model, data: MuJoCo's, of the tree without friction and rotors; place (bodies,): where its joints are in q. Of
    the joints (m,) rotor inertia, viscous and dry friction, by MuJoCo's names; dry friction and step [s] may change."""

    model: Any
    data: Any
    place: Index
    coupling: Coupling
    dof_armature: Array
    dof_damping: Array
    dof_frictionloss: Array
    timestep: float = 0.0

    def __post_init__(self) -> None:
        self._whole, self._going = np.zeros((self.model.nv, self.model.nv)), np.zeros(len(self.dof_armature), np.int8)
        self._kernels = kernels("reduced_tree", VIRTUAL_KERNELS)
        self.dof_armature, self.dof_damping = np.array(self.dof_armature), np.array(self.dof_damping)  # kernels' own
        coupling = self.coupling
        self._loops: SteppedLoops | None = None
        self._entries: tuple[Index, Index, Array] | None = None  # of N, other than zero: body, joint, ratio
        if isinstance(coupling, LinearCoupling):
            body, joint = np.nonzero(coupling.matrix)
            self._entries = self.place[body], joint, coupling.matrix[body, joint]
            self._offset = np.empty(self.model.nv)
            self._offset[self.place] = coupling.offset
        elif isinstance(coupling, ClosedLoops):
            self._loops = SteppedLoops(self.model, self.data, self.place, coupling)

    def _look(self) -> None:
        """What MuJoCo computes of its tree's state, as far as it is asked for: M, and the forces h."""
        import mujoco

        model, data = self.model, self.data
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_tendon(model, data)  # of springs
        mujoco.mj_makeM(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fullM(model, data, self._whole)

    def equations(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """NᵀMN with rotors (m, m), and Nᵀ(h + M Ṅu̇) (m,)."""
        if isinstance(self.coupling, LinearCoupling):
            null, bent = self.coupling.matrix, np.zeros(self.model.nv)
            at, rate = null @ q + self.coupling.offset, null @ qd
        else:
            assert self._loops is not None
            at, rate, bent, null = self._loops(q, qd)
        self.data.qpos[self.place], self.data.qvel[self.place] = at, rate
        self._look()
        whole, held = self._whole[np.ix_(self.place, self.place)], self.data.qfrc_bias - self.data.qfrc_passive
        mass = null.T @ whole @ null
        mass.flat[:: len(mass) + 1] += self.dof_armature
        return mass, null.T @ (held[self.place] + whole @ bent)

    def forward(self, state: ReducedState) -> None:
        """Acceleration and dry friction of a state, as MuJoCo's mj_forward."""
        bound, qd, data = self.dof_frictionloss, state.qvel, self.data
        if self._entries is None:
            mass, held = self.equations(state.qpos, qd)
            free, friction = state.qfrc_applied - held - self.dof_damping * qd, np.empty(len(qd))
            good = self._kernels.accelerated(mass, free, qd, bound, self.timestep, self._going, friction, state.qacc)
            state.qfrc_constraint[:] = -friction
        else:
            self._kernels.placed(*self._entries, self._offset, state.qpos, qd, data.qpos, data.qvel)
            self._look()
            tree = (*self._entries, self._whole, data.qfrc_bias, data.qfrc_passive)
            joints = (self.dof_armature, self.dof_damping, bound, self.timestep, qd, state.qfrc_applied, self._going)
            good = self._kernels.forward(*tree, *joints, state.qfrc_constraint, state.qacc)
        if not good:
            why = "the inertia matrix of the virtual robot is not positive definite; give its bodies a mass"
            raise ExciterError(why)

    def advance(self, state: ReducedState) -> None:
        """One step of Runge and Kutta, from a state whose acceleration is known."""
        q, qd, step = state.qpos.copy(), state.qvel.copy(), self.timestep
        rates, changes = [qd], [state.qacc.copy()]
        for part in (0.5 * step, 0.5 * step, step):
            state.qpos[:], state.qvel[:] = q + part * rates[-1], qd + part * changes[-1]
            self.forward(state)
            rates.append(state.qvel.copy())
            changes.append(state.qacc.copy())
        state.qpos[:] = q + step / 6.0 * (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3])
        state.qvel[:] = qd + step / 6.0 * (changes[0] + 2.0 * changes[1] + 2.0 * changes[2] + changes[3])
