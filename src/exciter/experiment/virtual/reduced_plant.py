"""The virtual robot where bodies follow joints: MuJoCo's tree, moved by the joints alone.

MuJoCo holds such couplings by forces, softly. Here they hold exactly: of its tree, at q = φ(u) and q̇ = N u̇, only the
inertia matrix M and the forces h are asked for, and the joints move by (NᵀMN + rotors) ü = τ − Nᵀ(h + M Ṅu̇) − friction,
in Runge–Kutta steps of order four. Dry friction is what keeps a joint from turning round within the present step, up to
its bound; beyond, the bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from exciter.errors import ExciterError
from exciter.experiment.virtual.reduced_loops import SteppedLoops
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.coupling import Coupling, LinearCoupling
from exciter.typing import Array, Index

MOST_FRICTION_SWEEPS = 200  # of the search for friction forces when joints rest
SETTLED_FORCE_CHANGE = 1e-12  # of the bounds: change of a force that ends it


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
        self._whole = np.zeros((self.model.nv, self.model.nv))
        loops = self.coupling if isinstance(self.coupling, ClosedLoops) else None
        self._loops = None if loops is None else SteppedLoops(self.model, self.data, self.place, loops)
        self._in_order = bool((self.place == np.arange(self.model.nv)).all())

    def _tree(self, q: Array, qd: Array) -> tuple[Array, Array, Array | None, Array]:
        """q, q̇, Ṅu̇ (None: zero) of the tree (bodies,), and N."""
        if isinstance(self.coupling, LinearCoupling):
            matrix = self.coupling.matrix
            return matrix @ q + self.coupling.offset, matrix @ qd, None, matrix
        assert self._loops is not None
        return self._loops(q, qd)

    def equations(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """NᵀMN with rotors (m, m), and Nᵀ(h + M Ṅu̇) (m,)."""
        import mujoco

        at, rate, bent, null = self._tree(q, qd)
        self.data.qpos[self.place], self.data.qvel[self.place] = at, rate
        mujoco.mj_forward(self.model, self.data)
        whole, held = self._whole, self.data.qfrc_bias - self.data.qfrc_passive
        mujoco.mj_fullM(self.model, self.data, whole)
        if not self._in_order:
            whole, held = whole[np.ix_(self.place, self.place)], held[self.place]
        mass = null.T @ whole @ null
        mass.flat[:: len(mass) + 1] += self.dof_armature
        return mass, null.T @ (held if bent is None else held + whole @ bent)

    def forward(self, state: ReducedState) -> None:
        """Acceleration and dry friction of a state, as MuJoCo's mj_forward."""
        mass, held = self.equations(state.qpos, state.qvel)
        free = state.qfrc_applied - held - self.dof_damping * state.qvel
        state.qacc[:], friction = _accelerated(mass, free, state.qvel, self.dof_frictionloss, self.timestep)
        state.qfrc_constraint[:] = -friction

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


def _accelerated(mass: Array, free: Array, qd: Array, bound: Array, step: float) -> tuple[Array, Array]:
    """q̈ (m,), and dry friction within ± bound, opposed to where each joint is going: with u = q̈ + q̇/step the bound
    where u has a sign, what makes it zero else (projected Gauss–Seidel)."""
    friction = bound * np.sign(qd)
    factor, qdd, wrong = scipy.linalg.lapack.dposv(mass, free - friction)
    if wrong:
        raise ExciterError("the inertia matrix of the virtual robot is not positive definite; give its bodies a mass")
    ahead = qdd + qd / step
    if not (ahead * friction <= 0.0)[bound > 0.0].any():
        return qdd, friction
    inverse, _ = scipy.linalg.lapack.dpotri(factor)  # its upper triangle
    own = inverse.diagonal()
    for _ in range(MOST_FRICTION_SWEEPS):
        change = 0.0
        wanted = np.minimum(np.maximum(friction + ahead / own, -bound), bound)
        for j in np.flatnonzero(wanted != friction).tolist():  # few: all others slip on
            more = min(max(friction[j] + ahead[j] / own[j], -bound[j]), bound[j]) - friction[j]
            friction[j] += more
            ahead[: j + 1] -= inverse[: j + 1, j] * more
            ahead[j + 1 :] -= inverse[j, j + 1 :] * more
            change = max(change, abs(more) / bound[j])
        if change < SETTLED_FORCE_CHANGE:
            break
    return ahead - qd / step, friction
