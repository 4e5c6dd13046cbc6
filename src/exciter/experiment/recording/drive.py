"""Between motors and joints: gear ratios, coupled axes, counting directions and zero positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.signal import UNITS, UnitOf
from exciter.settings import Number, Settings, Vector
from exciter.settings.kinds import Kind
from exciter.settings.wrong import wrong
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Transmission:
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


def inverse_of(ratios: Array, where: str) -> Array:
    scale = np.abs(ratios).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        singular = not (scale > 0.0).all() or np.linalg.cond(ratios / scale) > 1e10
    if singular:
        raise RecordingError(f"{where} cannot be inverted: some joint would not move its motor; check the matrix")
    inverse = np.asarray(np.linalg.inv(ratios), dtype=np.float64)
    inverse[np.abs(inverse) < 1e-15 * np.abs(inverse).max(axis=1, keepdims=True)] = 0.0
    return inverse


# -- in a recording.yaml ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratios(Kind):
    """Gear ratios, or a matrix of as many rows and columns as there are joints."""

    wanted = "one number per joint, or a matrix"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[Any, ...]:
        listed = given if isinstance(given, list | tuple) else ()
        n = len(context.get("joints") or listed)
        rows = listed if listed and len(listed) == n else None
        if rows is not None and not any(isinstance(row, list | tuple) for row in rows):
            return tuple(Number().number(value) for value in rows)
        if rows is None or not all(isinstance(row, list | tuple) and len(row) == n for row in rows):
            raise wrong(f" is {shown(given)}; give {n} numbers, or a matrix of {n} rows of {n}")
        return tuple(tuple(Number().number(value) for value in row) for row in rows)

    def schema(self) -> dict[str, Any]:
        numbers: dict[str, Any] = {"type": "array", "items": {"type": "number"}}
        return {"anyOf": [numbers, {"type": "array", "items": numbers}]}


@dataclass(frozen=True)
class DriveSettings(Settings):
    """Between motors and joints: q_motor = position · q, τ = torque · τ_motor, as ratios or matrices."""

    position: Annotated[tuple[Any, ...] | None, Ratios()] = None
    torque: Annotated[tuple[Any, ...] | None, Ratios()] = None


@dataclass(frozen=True)
class PositionOffset(Settings):
    """What is added to the positions of the joints."""

    values: Annotated[tuple[float, ...], Vector("joints")]
    unit: Annotated[str | tuple[str, ...], UnitOf("position")]

    @property
    def si(self) -> Array:
        """(n,) [rad, m]."""
        names = (self.unit,) * len(self.values) if isinstance(self.unit, str) else self.unit
        return np.asarray(np.array(self.values) * [UNITS["position"][name].factor for name in names])


def drive_of(
    given: DriveSettings,
    signs: tuple[float, ...] | None,
    offset: PositionOffset | None,
    joints: Sequence[str],
    where: str,
) -> Transmission:
    """``drive``, ``signs`` and ``offset`` of a recording.yaml."""
    n = len(joints)
    ratios, effort = (None if rows is None else _matrix(rows) for rows in (given.position, given.torque))
    return Transmission(
        signs=np.ones(n) if signs is None else np.array(signs),
        offset=np.zeros(n) if offset is None else offset.si,
        motion=None if ratios is None else inverse_of(ratios, f"{where}: drive: position"),
        effort=effort,
    )


def _matrix(rows: tuple[Any, ...]) -> Array:
    """(n, n); of ratios, with these on its diagonal."""
    values = np.array(rows, dtype=float)
    return values if values.ndim == 2 else np.diag(values)
