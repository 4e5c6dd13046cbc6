"""One simulated run of a closed loop, from its start onwards: the controller in its ticks, the arm in its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.dynamics.engine import writable
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.errors import MotionError, ParameterError
from exciter.experiment.virtual.control import Law
from exciter.identification.closed_loop.kernels import rows as row
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    BoundTerm,
    Coulomb,
    GravitySpring,
    JointTerm,
    Offset,
    Ripple,
    RotorInertia,
    Spring,
    SqrtViscous,
    Stribeck,
    Viscous,
)
from exciter.parameters.terms.dry_friction import DryFriction, Sign
from exciter.parameters.terms.term import per_joint
from exciter.robot.motion import Motion
from exciter.typing import Array

#: term → rows that its kinds of columns add to, one after the other
PLACES: dict[type[JointTerm], tuple[tuple[int, ...], ...]] = {
    RotorInertia: ((row.ROTOR,),),
    Viscous: ((row.VISCOUS,),),
    SqrtViscous: ((row.ROOT,),),
    Coulomb: ((row.FORWARD, row.BACKWARD),),
    AsymmetricCoulomb: ((row.FORWARD,), (row.BACKWARD,)),
    Stribeck: ((row.STRIBECK,),),
    Offset: ((row.OFFSET,),),
    GravitySpring: ((row.SINE,), (row.COSINE,)),
    Ripple: ((row.SINE,), (row.COSINE,)),
    Spring: ((row.STIFFNESS,), (row.PRELOAD,)),
}
KERNELS = "exciter.identification.closed_loop.kernels"
FASTEST = 1e6  # [rad/s] beyond which a simulation has lost its way
ON_TICK = 1e-6  # of a tick, by which an instant counts as on it


def refuse_other_terms(model: DynamicModel) -> None:
    """One line for a term that the simulation does not have."""
    for term in model.terms:
        shape = f" with {type(term.shape).__name__}" if isinstance(term, DryFriction) else ""
        if type(term) not in PLACES or (isinstance(term, DryFriction) and not isinstance(term.shape, Sign)):
            raise ParameterError(
                f"the closed loop cannot be simulated with {type(term).__name__}{shape}; it has "
                f"{', '.join(kind.__name__ for kind in PLACES)}, dry friction with Sign; use another estimator, or "
                "leave the term out"
            )


def joint_forces(model: DynamicModel, chi: Array) -> Array:
    """(17, n) of standard parameters χ (p,). Dry friction below zero, which no joint has, acts as none."""
    refuse_other_terms(model)
    forces = np.zeros((row.COUNT, model.n))
    at = 10 * model.n
    for term, bound in zip(model.terms, model.bound, strict=True):
        values = _at_zero(term, chi[at : at + len(bound.names)])
        at += len(bound.names)
        places = PLACES[type(term)]
        joints = bound.columns.joints[: len(values) // len(places)]
        for rows, part in zip(places, np.split(values, len(places)), strict=True):
            for number in rows:
                forces[number, joints] += part
        _shape(forces, term, bound, joints, model.robot.joint_names)
    return forces


def _at_zero(term: JointTerm, values: Array) -> Array:
    """Parameters of a sine and a cosine of q + offset as those of q: several terms of a joint then add up."""
    if not isinstance(term, GravitySpring):
        return values
    sine, cosine = values
    cos, sin = np.cos(term.offset), np.sin(term.offset)
    return np.array([sine * cos - cosine * sin, sine * sin + cosine * cos])


def _shape(forces: Array, term: JointTerm, bound: BoundTerm, joints: list[int], names: Sequence[str]) -> None:
    """The settings that are not parameters."""
    named = [names[j] for j in joints]
    if isinstance(term, SqrtViscous):
        forces[row.ROOT_WIDTH, joints] = per_joint(term.width, named, "the width of SqrtViscous")[:, 0]
    elif isinstance(term, Stribeck):
        forces[row.STRIBECK_VELOCITY, joints] = per_joint(term.velocity, named, "the velocity of Stribeck")[:, 0]
    elif isinstance(term, Spring):
        places = [row.BASE_ARM, row.LINK_ARM, row.ARM_OFFSET, row.FREE_LENGTH]
        forces[np.ix_(places, joints)] = np.array([[term.base_arm], [term.link_arm], [term.offset], [term.free_length]])


class Unmovable(ParameterError):
    """Parameters no arm can be simulated with: the inertia matrix is not positive definite, or the loop diverges.
    why: in short."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


@dataclass(frozen=True, eq=False)
class Simulated:
    """What the loop did at N instants: the motion, and the torque (N, n) of the drives [N·m]."""

    motion: Motion
    torque: Array


@dataclass(frozen=True)
class Ticks:
    """The controller ticks every ``every`` steps of ``step`` [s], ``count`` times; the torque is held between."""

    step: float
    every: int
    count: int

    @property
    def interval(self) -> float:
        return self.step * self.every


class Simulation:
    """The state of a run with standard parameters χ (p,); ``at`` takes it further, never back."""

    def __init__(
        self, model: DynamicModel, chi: Array, law: Law, limit: Array, ticks: Ticks, start: tuple[Array, Array]
    ) -> None:
        dynamics, chain = model.dynamics, model.dynamics.chain
        fixed = writable(chain.rotation, chain.origin, chain.gravity, dynamics.chain_inertias(chi[: 10 * model.n]))
        self._arm: tuple[Any, ...] = (chain.parent, chain.prismatic, *fixed, *writable(joint_forces(model, chi)))
        self._kernel = kernels("forward", KERNELS)
        self._law, self._limit, self._ticks = law, limit, ticks
        self._q, self._qd = start[0].copy(), start[1].copy()
        self._tick = 0
        self._torque = np.zeros(model.n)
        self._names = model.robot.joint_names
        self._ask()

    def at(self, instants: Array) -> Simulated:
        """Motion and torque at ``instants`` (N,) [s] since the start, increasing, after those of earlier calls."""
        ticks, n = self._ticks, len(self._q)
        place = instants / ticks.interval
        near = np.rint(place)
        place = np.where(np.abs(place - near) < ON_TICK, near, place)
        number = np.minimum(np.floor(place), ticks.count - 1).astype(np.int64)
        if len(number) and (number[0] < self._tick or (np.diff(instants) < 0.0).any()):
            raise MotionError("a simulated run goes forwards only; give increasing instants, after those before")
        late = np.maximum(place - number, 0.0) * ticks.interval
        seen, torque = np.empty((3, len(instants), n)), np.empty((len(instants), n))
        for k, (tick, after) in enumerate(zip(number.tolist(), late.tolist(), strict=True)):
            while self._tick < tick:
                self._step()
            seen[:, k] = self._look(after)
            torque[k] = self._torque
        return Simulated(Motion(instants, *seen), torque)

    def _step(self) -> None:
        """One tick further."""
        ticks = self._ticks
        good = self._kernel.advance(self._arm, self._q, self._qd, self._torque, ticks.step, ticks.every, 0.0)
        self._tick += 1
        if not good or not self._qd @ self._qd < FASTEST**2:
            self._lost(good)
        self._ask()

    def _ask(self) -> None:
        asked = self._law(self._tick, self._q, self._qd)
        self._torque = np.minimum(np.maximum(asked, -self._limit), self._limit)

    def _look(self, late: float) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ ``late`` [s] after the tick; the state itself stays."""
        step = self._ticks.step
        q, qd, qdd = self._q, self._qd, np.empty_like(self._q)
        good = True
        if late > 0.0:
            q, qd = q.copy(), qd.copy()
            whole = int(late / step * (1.0 + ON_TICK))
            good = self._kernel.advance(self._arm, q, qd, self._torque, step, whole, late - whole * step)
        good &= self._kernel.look(self._arm, q, qd, self._torque, step, qdd)
        if not good:
            self._lost(good)
        return q, qd, qdd

    def _lost(self, positive: bool) -> None:
        time = self._tick * self._ticks.interval
        speed = np.nan_to_num(np.abs(self._qd), nan=np.inf)
        at_tick = self._kernel.look(self._arm, self._q, self._qd, self._torque, self._ticks.step, np.empty_like(speed))
        if not positive and not at_tick:
            why = f"the inertia matrix is not positive definite at {time:.4g} s of the simulated motion"
            advice = "no arm moves so; start from values nearer to the truth (nominal ones)"
            raise Unmovable(why, f"with these parameters {why}: {advice}")
        first = self._names[int(np.argmax(speed))]
        why = f"the simulated closed loop diverged before {time:.4g} s (joint '{first}' first)"
        raise Unmovable(why, f"{why}; check the controller's gains and rate, or raise the simulation's rate")
