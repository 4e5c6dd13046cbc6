"""How roll-outs move with the numbers of drives and with first states, without a roll-out: the variational equations.

A step of MuJoCo's is (M + A + h D̂) a = τ(command, q, q̇) − rigid(q, q̇, 0) − D q̇ + f, q̇⁺ = q̇ + h a, q⁺ = q + h q̇⁺, with A
the rotors, D̂ what the integrator takes implicitly, f dry friction. From the motion that was rolled out follows a, so
that f is what is left. Linearised along it:

    (M + A + h D̂) δa = ∂τ − (∂ID/∂q + Kp) δq − (∂ID/∂q̇ + D + Kd) δq̇ + δf,    ID(q, q̇, a) = M a + rigid(q, q̇, 0),

without Kp and Kd where torque is at its limit. Friction that slips is ± its number; friction that holds is MuJoCo's
soft constraint f = −D_c (a_c + b q̇) with (M + A) a_c = (M + A + h D̂) a, for which

    (M + A) δa_c = ∂τ − … + δf − (δM + δA) (a_c − a) + h δD̂ a    (∂τ − … as above)

Left out is only there what M's change with q does to the difference of both accelerations. Slopes of ID are those of
the rigid bodies' kernels. The cost is about that of one roll-out, whatever the number of unknowns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.identification.actuators.drive_numbers import DriveNumbers, Numbers, Unknown
from exciter.identification.actuators.drive_simulator import DriveSimulator, Rolled, Stretch, commanded, cubic_weights
from exciter.identification.actuators.moved_links import link_masses
from exciter.robot.motion import Motion
from exciter.robot.spatial import transform_inertia
from exciter.typing import Array, BoolArray, Index

SLIPS = 1.0 - 1e-7  #: of its number, from which dry friction slips
LOGARITHM_STEP = 1e-6  #: by which rotors and masses are moved to see how hard friction holds
MOMENT_S = 1e-6  #: around an instant, between which a command's rate is
POINT_MASS = np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])  #: of 1 kg, in its own frame


@dataclass(frozen=True, eq=False)
class _Loop:
    """Of one roll-out of several stretches, side by side (T, n): what the linear equations need."""

    q: Array
    v: Array
    a: Array
    told: Array
    told_rate: Array
    torque: Array
    free: Array
    dry: Array
    inertia: Array
    by_q: Array
    by_v: Array


class LoopSlopes:
    """Of what a simulator's encoders say, by unknowns and first states."""

    def __init__(self, simulator: DriveSimulator, numbers: DriveNumbers) -> None:
        self.simulator, self.numbers = simulator, numbers
        self.limbs = [np.array(limb) for limb in simulator.robot.limbs]
        self.model = DynamicModel(simulator.robot, ())
        self.own = [
            [k for k, u in enumerate(numbers.unknowns) if set(u.joints) & set(limb.tolist())] for limb in self.limbs
        ]

    def at(
        self, x: Array, stretches: Sequence[Stretch], rolled: Sequence[Rolled], softness: float | None
    ) -> tuple[list[Array], list[Array]]:
        """∂y/∂θ (N, n, p) and ∂y/∂x₀ (N, n, 2 n) of every stretch, rolled from coordinates x (p,)."""
        n, h, here = self.simulator.n, self.simulator.step, self.numbers.at(x)
        loop = self._loop(here, stretches, rolled)
        hard, rate, hardness = self._hardness(x, softness)
        implicit = h * (here["damping"] + here["kd"] * loop.free * (self.simulator.integrator != "euler"))
        holds = np.abs(loop.dry) < SLIPS * here["friction"]
        kernel = kernels("loop_slopes_kernel", "exciter.identification.actuators")
        by_theta = [np.zeros((len(s.time), n, len(x))) for s in stretches]
        by_state = [np.zeros((len(s.time), n, 2 * n)) for s in stretches]
        every = np.arange(max(len(stretch.time) for stretch in stretches))
        ends = np.cumsum([0, *(len(one.q) - 1 for one in rolled)])
        for limb, own in zip(self.limbs, self.own, strict=True):
            m, p = len(limb), len(own)
            square = (slice(None), limb[:, None], limb)
            inertia, by_q, by_v = (np.ascontiguousarray(one[square]) for one in (loop.inertia, loop.by_q, loop.by_v))
            torque, seen = np.zeros((len(loop.q), m, p)), np.zeros((len(loop.q), m, p))
            first = np.zeros((2, m, p + 2 * m))
            beyond = self._beyond(here, loop, implicit, holds, limb)
            first[0, :, p : p + m] = first[1, :, p + m :] = np.eye(m)
            said = np.zeros((m, p))  # what the encoder says beside the position
            for c, k in enumerate(own):
                unknown = self.numbers.unknowns[k]
                self._forced(unknown, here, loop, implicit, holds, limb, torque[:, :, c])
                self._seen(unknown, here, loop, beyond, limb, seen[:, :, c])
                if unknown.kind.word == "bias":
                    said[:, c] = np.isin(limb, unknown.joints)
                    first[0, :, c] = -said[:, c]
            fixed = [np.ascontiguousarray(one[:, limb]) for one in (implicit, loop.dry, holds)]
            of_joints = [np.ascontiguousarray(one[limb]) for one in (here["armature"], hard, rate)]
            for s, stretch in enumerate(stretches):
                part = slice(ends[s], ends[s + 1])
                at, weights = cubic_weights(stretch.time - stretch.time[0], int(ends[s + 1] - ends[s]), h)
                out = np.empty((len(at), m, p + 2 * m))
                kernel.loop_slopes(
                    h,
                    *(one[part] for one in (inertia, by_q, by_v, fixed[0])),
                    of_joints[0],
                    *(one[part] for one in (torque, seen, *fixed[1:])),
                    *of_joints[1:],
                    np.ascontiguousarray(hardness[limb[:, None], own]),
                    *first.copy(),
                    at,
                    weights,
                    out,
                )
                by_theta[s][np.ix_(every[: len(at)], limb, np.array(own, dtype=np.int64))] = out[:, :, :p] + said
                by_state[s][np.ix_(every[: len(at)], limb, limb)] = out[:, :, p : p + m]
                by_state[s][np.ix_(every[: len(at)], limb, n + limb)] = out[:, :, p + m :]
        return by_theta, by_state

    def _loop(self, here: Numbers, stretches: Sequence[Stretch], rolled: Sequence[Rolled]) -> _Loop:
        h, kp, kd = self.simulator.step, here["kp"], here["kd"]
        q, v = (np.concatenate([getattr(one, name)[:-1] for one in rolled]) for name in ("q", "v"))
        a = np.concatenate([np.diff(one.v, axis=0) for one in rolled]) / h
        grids = [np.asarray(one.begin + h * np.arange(len(one.q) - 1), dtype=float) for one in rolled]
        told = np.concatenate([commanded(s, grid, here) for s, grid in zip(stretches, grids, strict=True)])
        told_rate = np.concatenate([_command_rate(s, grid, here) for s, grid in zip(stretches, grids, strict=True)])
        wanted = kp * (told - q) - kd * v + here["offset"]
        free = (np.abs(wanted) < here["limit"]).astype(float)
        torque = np.clip(wanted, -here["limit"], here["limit"])
        motion, chi = Motion.at(q, v, a), self._bodies(here)
        rigid = self.model.torque(motion, chi)
        implicit = h * (here["damping"] + kd * free * (self.simulator.integrator != "euler"))
        dry = rigid + (here["armature"] + implicit) * a + here["damping"] * v - torque
        parts = np.zeros((3, len(q), len(kp), len(kp)))
        for place in range(max(map(len, self.limbs))):  # joints of different limbs do not feel each other
            seed, chosen = np.zeros_like(q), [limb for limb in self.limbs if place < len(limb)]
            seed[:, [limb[place] for limb in chosen]] = 1.0
            gradient = self.model.torque_pullback(motion, seed, chi)
            for limb in chosen:
                for part, found in zip(parts, (gradient.qdd, gradient.q, gradient.qd), strict=True):
                    part[:, limb[place], limb] = found[:, limb]
        every = np.arange(len(kp))
        parts[1][:, every, every] += kp * free
        parts[2][:, every, every] += here["damping"] + kd * free
        return _Loop(q, v, a, told, told_rate, torque, free, dry, *parts)

    def _bodies(self, here: Numbers) -> Array:
        """χ of the links with their masses and payloads."""
        return sum((self._link(j, here) for j in range(self.simulator.n)), np.zeros(len(self.model.nominal)))

    def _link(self, j: int, here: Numbers, payload: bool = True) -> Array:
        """χ of the link of joint j alone."""
        chi, own = np.zeros(len(self.model.nominal)), slice(10 * j, 10 * j + 10)
        described = link_masses(self.simulator.robot)[j]
        chi[own] = self.model.nominal[own] * (here["mass"][j] / described if described > 0.0 else 1.0)
        return chi + here["payload"][j] * self._payload(j) if payload else chi

    def _payload(self, j: int) -> Array:
        """χ of 1 kg where the payload of joint j is."""
        chi = np.zeros(len(self.model.nominal))
        if j in self.simulator.loads:
            place = self.simulator.model.body_pos[self.simulator.loads[j]]
            turned, origin = self.model.mdh.rotations[j], self.model.mdh.translations[j]
            chi[10 * j : 10 * j + 10] = transform_inertia(POINT_MASS, np.eye(3), turned.T @ (place - origin))
        return chi

    def _forced(
        self, unknown: Unknown, here: Numbers, loop: _Loop, implicit: Array, holds: BoolArray, limb: Index, out: Array
    ) -> None:
        """The torque (T, m) that a coordinate of one adds to the limb."""
        h, word = self.simulator.step, unknown.kind.word
        own = [int(j) for j in unknown.joints if j in limb]
        if word in ("mass", "payload"):
            motion = Motion.at(loop.q, loop.v, loop.a)
            for j in own:
                chi = self._link(j, here, payload=False) if word == "mass" else here["payload"][j] * self._payload(j)
                out -= self.model.torque(motion, chi)[:, limb]
            return
        for j in own:
            a, v, free = loop.a[:, j], loop.v[:, j], loop.free[:, j]
            moved = v if self.simulator.integrator == "euler" else v + h * a
            place, value = int(np.flatnonzero(limb == j)[0]), here[word][j] if unknown.kind.positive else 1.0
            if word == "armature":
                column = -a
            elif word == "damping":
                column = -(v + h * a)
            elif word == "friction":
                column = np.where(holds[:, j], 0.0, np.sign(loop.dry[:, j]))
            elif word == "kp":
                column = free * (loop.told[:, j] - loop.q[:, j])
            elif word == "kd":
                column = -free * moved
            elif word == "limit":
                column = (1.0 - free) * np.sign(loop.torque[:, j])
            elif word == "offset":
                column = free
            elif word == "bias":
                column = -here["kp"][j] * free
            else:  # delays
                column = -here["kp"][j] * free * loop.told_rate[:, j]
            out[:, place] += value * column

    def _beyond(self, here: Numbers, loop: _Loop, implicit: Array, holds: BoolArray, limb: Index) -> Array:
        """(T, n) a_c − a: by how much the acceleration that friction sees is more than that of the step, of a limb and
        where friction of it holds."""
        found = np.zeros_like(loop.a)
        rows = np.flatnonzero(holds[:, limb].any(axis=1))
        inertia = loop.inertia[rows[:, None, None], limb[:, None], limb] + np.diag(here["armature"][limb])
        part = (rows[:, None], limb)
        found[part] = np.linalg.solve(inertia, (implicit * loop.a)[part][:, :, None])[:, :, 0]
        return found

    def _seen(self, unknown: Unknown, here: Numbers, loop: _Loop, beyond: Array, limb: Index, out: Array) -> None:
        """What a coordinate of one adds to the torque (T, m) in the acceleration that friction sees."""
        h, word = self.simulator.step, unknown.kind.word
        own = [int(j) for j in unknown.joints if j in limb]
        if word in ("mass", "payload"):
            still = np.zeros_like(loop.v)
            for j in own:
                chi = self._link(j, here, payload=False) if word == "mass" else here["payload"][j] * self._payload(j)
                moving, resting = (self.model.torque(Motion.at(loop.q, still, a), chi) for a in (beyond, still))
                out -= (moving - resting)[:, limb]
        for j in own:
            place = int(np.flatnonzero(limb == j)[0])
            if word == "armature":
                out[:, place] -= here[word][j] * beyond[:, j]
            elif word == "damping":
                out[:, place] += here[word][j] * h * loop.a[:, j]
            elif word == "kd" and self.simulator.integrator != "euler":
                out[:, place] += here[word][j] * loop.free[:, j] * h * loop.a[:, j]

    def _hardness(self, x: Array, softness: float | None) -> tuple[Array, Array, Array]:
        """D (n,), b (n,) of friction that holds, and ∂ log D/∂θ (n, p): D goes with 1/(M₀⁻¹)_jj."""
        simulator, numbers = self.simulator, self.numbers
        model = simulator.with_numbers(numbers.at(x), softness)
        hard, rate = simulator.held_friction(model)
        felt, hardness = np.array(model.dof_invweight0[simulator.dof]), np.zeros((simulator.n, len(x)))
        for k, unknown in enumerate(numbers.unknowns):
            if unknown.kind.word in ("armature", "mass", "payload"):
                moved = np.array(x)
                moved[k] += LOGARITHM_STEP
                other = simulator.with_numbers(numbers.at(moved), softness).dof_invweight0[simulator.dof]
                hardness[:, k] = -(other / felt - 1.0) / LOGARITHM_STEP
        return hard, rate, hardness


def _command_rate(stretch: Stretch, grid: Array, numbers: Numbers) -> Array:
    """(T, n) of the commands that the drives get; where two lines meet, the mean of both."""
    later, sooner = (commanded(stretch, grid + side * MOMENT_S, numbers) for side in (1.0, -1.0))
    return (later - sooner) / (2.0 * MOMENT_S)
