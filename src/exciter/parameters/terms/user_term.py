"""A term of your own, from a plain function.

The function gets q, q̇, q̈ over time and returns the torque per unit of the parameter, each sample on its own. For one
joint the arrays are (N,). For a tuple of m joints they are (m, N), the torques are (m, N), and a derivative is (m, m,
N): [torque of, with respect to, sample]. Derivatives that are given are compared with finite differences when the term
is bound; those left out are central differences, exact to about nine digits and slower. A term with memory, or with
several columns, is a JointTerm and a BoundTerm of its own: ``Dahl`` and ``Spring`` show how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms import term as common
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque, Samples
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array

Function = Callable[[Array, Array, Array], Array]
WITH_RESPECT_TO = ("q", "qd", "qdd")
USER_TERM_STEP = 6e-6  # about the cube root of the machine precision, the best step of central differences
CHECKED_SAMPLE_COUNT = 50


@dataclass(frozen=True)
class UserTerm(JointTerm):
    """A joint term of your own, from a plain function of q, q̇ and q̈.

    One column ``name`` on ``joints`` (a name, or a tuple of names), Γ = χ · torque(q, qd, qdd).

    dq, dqd, dqdd: derivative functions with the same arguments, a number where constant, None for numeric
    ones. unit of the parameter; nonnegative when physics wants it ≥ 0.

    >>> cogging = ex.UserTerm("Cog", "joint_1", torque=lambda q, qd, qdd: np.sin(32 * q), unit="N·m")
    >>> ex.DynamicModel(robot, [cogging]).standard[-1]
    'Cog'"""

    title: ClassVar[str] = "a term of the user"
    name: str
    joints: str | tuple[str, ...]
    torque: Function
    dq: Function | float | None = None
    dqd: Function | float | None = None
    dqdd: Function | float | None = None
    unit: str = ""
    nonnegative: bool = False

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        if not self.name:
            raise ParameterError("a UserTerm has an empty name; give the name of its parameter")
        joints = common.joint_indices(robot, self.joints)
        kind = common.Column(self.name, (self.unit, self.unit), self.nonnegative)
        bound = _UserTerm(common.Columns.of(robot, (self.name, kind, joints)), self)
        bound.self_test(_random_samples(robot, joints))
        return bound


@dataclass(frozen=True, eq=False)
class _UserTerm(BoundTerm):
    term: UserTerm

    @property
    def notes(self) -> tuple[str, ...]:
        if not (numeric := [f"d{x}" for x in WITH_RESPECT_TO if getattr(self.term, f"d{x}") is None]):
            return ()
        return (f"'{self.term.name}': {', '.join(numeric)} by central differences, about nine digits",)

    def values(self, motion: Motion) -> Array:
        return self._torque(self.samples(motion))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        q, qd, qdd = (np.einsum("rN,rjN->jN", seed, self._derivative(at, x)) for x in WITH_RESPECT_TO)
        return common.scatter(motion, self.columns.joints, q, qd, qdd)

    def _torque(self, at: Samples) -> Array:
        return self._call(self.term.torque, "torque", at, at.q.shape)

    def _derivative(self, at: Samples, x: str) -> Array:
        """(m, m, N) given derivative, or central differences."""
        given, shape = getattr(self.term, f"d{x}"), (len(at.q), *at.q.shape)
        if callable(given):
            return self._call(given, f"d{x}", at, shape)
        return self._differences(at, x) if given is None else np.full(shape, float(given))

    def _differences(self, at: Samples, x: str) -> Array:
        """(m, m, N) central differences of the torque."""
        columns = []
        for joint in range(len(at.q)):
            sides = []
            for sign in (1.0, -1.0):
                arrays = {y: getattr(at, y).copy() for y in WITH_RESPECT_TO}
                arrays[x][joint] += sign * USER_TERM_STEP * np.maximum(1.0, np.abs(arrays[x][joint]))
                sides.append((arrays[x][joint].copy(), self._torque(Samples(**arrays))))
            (x_plus, plus), (x_minus, minus) = sides
            columns.append((plus - minus) / (x_plus - x_minus))
        return np.stack(columns, axis=1)

    def _call(self, function: Function, what: str, at: Samples, shape: tuple[int, ...]) -> Array:
        alone = isinstance(self.term.joints, str)  # one joint: plain (N,) arrays for the user
        arrays, wanted = [a[0] if alone else a.view() for a in (at.q, at.qd, at.qdd)], shape[-1:] if alone else shape
        for array in arrays:
            array.flags.writeable = False
        name = f"{what} of UserTerm '{self.term.name}'"
        try:
            result = np.array(function(*arrays), dtype=np.float64)
        except Exception as error:
            raise ParameterError(f"{name} failed: {type(error).__name__}: {error}") from error
        if result.shape != wanted:
            raise ParameterError(f"{name} returned shape {result.shape}; it must be {wanted}")
        return result.reshape(shape)

    def self_test(self, at: Samples) -> None:
        """Refuse functions that are not finite, mix samples, or whose derivatives are wrong."""
        torque = self._torque(at)
        if not np.isfinite(torque).all():
            raise ParameterError(f"torque of UserTerm '{self.term.name}' is not finite for motions within the limits")
        backwards = Samples(*(np.ascontiguousarray(a[:, ::-1]) for a in (at.q, at.qd, at.qdd)))
        if not np.allclose(self._torque(backwards)[:, ::-1], torque, rtol=1e-9, atol=0):
            problem = f"torque of UserTerm '{self.term.name}' depends on the order of the samples"
            advice = "compute each sample on its own, or write a BoundTerm for a term with memory"
            raise ParameterError(f"{problem}; {advice}")
        for x in WITH_RESPECT_TO:
            given, differences = self._derivative(at, x), self._differences(at, x)
            error = np.abs(given - differences)
            if not error.max() <= 1e-4 * np.abs(differences).max() + 1e-8 * np.abs(torque).max():
                worst = np.unravel_index(int(np.argmax(np.nan_to_num(error, nan=np.inf))), error.shape)
                both = f"it gives {given[worst]:.6g} where finite differences of torque give {differences[worst]:.6g}"
                problem = f"d{x} of UserTerm '{self.term.name}' is wrong: {both}"
                raise ParameterError(f"{problem}; correct it, or leave it out")


def _random_samples(robot: Robot, joints: list[int]) -> Samples:
    """Samples within the joints' limits (±1 where there is none, ±π for angles), the same every time."""
    rng, size = np.random.default_rng(0), (CHECKED_SAMPLE_COUNT, len(joints))

    def limit(name: str, otherwise: Array | float) -> Array:
        given = robot.limit(name)[joints]
        return np.where(np.isfinite(given), given, otherwise)

    reach = np.array([1.0 if robot.joints[j].is_prismatic else np.pi for j in joints])
    lower = limit("lower", -reach)
    q = rng.uniform(lower, limit("upper", lower + 2 * reach), size)
    qd, qdd = (rng.uniform(-1.0, 1.0, size) * limit(name, 1.0) for name in ("velocity", "acceleration"))
    return Samples(*(np.ascontiguousarray(a.T) for a in (q, qd, qdd)))
