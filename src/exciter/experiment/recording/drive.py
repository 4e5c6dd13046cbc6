"""Between motors and joints: gear ratios, coupled axes, counting directions and zero positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError, shown
from exciter.excitation.config.section import Section, number
from exciter.experiment.recording.units import UNITS, units_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drive:
    """q = S·Rp⁻¹ q_motor + offset, q̇ = S·Rp⁻¹ q̇_motor, τ = S·Rt τ_motor, with S = diag(signs).

    motion: Rp⁻¹ (n, n), effort: Rt (n, n), None where the log is on the joint side; signs (n,); offset (n,) [rad, m].
    """

    signs: Array
    offset: Array
    motion: Array | None = None
    effort: Array | None = None

    def position(self, q: Array) -> Array:
        angles = self.velocity(q)
        return angles + self.offset if self.offset.any() else angles  # −0 + 0 is 0: a log is kept to the last bit

    def velocity(self, qd: Array) -> Array:
        return times(self.motion, qd) * self.signs

    def torque(self, tau: Array) -> Array:
        return times(self.effort, tau) * self.signs

    def current(self, current: Array) -> Array:
        """Gains count from the motor's current to the joint's torque, so that only the direction changes."""
        return current * self.signs

    def wrench(self, wrench: Array) -> Array:
        """Not of the joints: as it is."""
        return wrench

    def temperature(self, temperature: Array) -> Array:
        """Of each joint's drive: as it is."""
        return temperature

    @property
    def keeps_power(self) -> bool:
        """q̇ᵀτ is the same on both sides of the gears: Rt = Rpᵀ. True where only one of them is given."""
        if self.motion is None or self.effort is None:
            return True
        return bool(np.allclose(self.motion.T @ self.effort, np.eye(len(self.motion)), atol=1e-6))


def times(matrix: Array | None, rows: Array) -> Array:
    """Every row x becomes M x. Zeros of M are left out, so that a missing sample (NaN) of one motor is missing only in
    the joints that it drives."""
    if matrix is None:
        return rows
    out = np.zeros_like(rows)
    for i, coefficients in enumerate(matrix):
        for k in np.flatnonzero(coefficients):
            out[:, i] += coefficients[k] * rows[:, k]
    return out


def drive_from(top: Section, joints: Sequence[str]) -> Drive:
    """``drive``, ``signs`` and ``offset`` of a recording.yaml."""
    given = top.section("drive", ("position", "torque"))
    ratios = _matrix(given, "position", len(joints)) if "position" in given else None
    effort = _matrix(given, "torque", len(joints)) if "torque" in given else None
    motion = None if ratios is None else _inverse(ratios, given.at("position"))
    return Drive(_signs(top, joints), _offset(top, joints), motion, effort)


def _matrix(section: Section, key: str, n: int) -> Array:
    """(n, n) from a matrix, or from a list of ratios: its diagonal."""
    given, where = section.get(key), section.at(key)
    wanted = f"give {n} numbers, or a matrix of {n} rows of {n}"
    if not isinstance(given, list) or len(given) != n:
        raise RecordingError(f"{where} is {shown(given)}; {wanted}")
    if not any(isinstance(row, list) for row in given):
        return np.diag([number(value, where) for value in given])
    if not all(isinstance(row, list) and len(row) == n for row in given):
        raise RecordingError(f"{where} is {shown(given)}; {wanted}")
    return np.array([[number(value, where) for value in row] for row in given])


def _inverse(ratios: Array, where: str) -> Array:
    scale = np.abs(ratios).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        singular = not (scale > 0.0).all() or np.linalg.cond(ratios / scale) > 1e10
    if singular:
        raise RecordingError(f"{where} cannot be inverted: some joint would not move its motor; check the matrix")
    inverse = np.asarray(np.linalg.inv(ratios), dtype=np.float64)
    inverse[np.abs(inverse) < 1e-15 * np.abs(inverse).max(axis=1, keepdims=True)] = 0.0
    return inverse


def _signs(top: Section, joints: Sequence[str]) -> Array:
    signs = top.vector("signs", len(joints), default=[1.0] * len(joints))
    if not (np.abs(signs) == 1.0).all():
        raise RecordingError(f"{top.at('signs')} is {shown(top.get('signs'))}; allowed are 1 and -1")
    return signs


def _offset(top: Section, joints: Sequence[str]) -> Array:
    if "offset" not in top:
        return np.zeros(len(joints))
    given: Any = top.section("offset", ("values", "unit"))
    values = given.vector("values", len(joints))
    names = units_of("position", given.get("unit"), given.at("unit"), joints)
    return np.asarray(values * [UNITS["position"][name].factor for name in names])
