"""How a free base moves: as sensors see it (pose, twist, what an IMU feels), and as its six joints do.

The pose is that of the base link in the world, R = Rz(yaw) Ry(pitch) Rx(roll). Its angular velocity in its own axes is
ω = E(pitch, roll) (yaẇ, pitcḣ, roll̇); so α = E q̈ + Ė q̇. Linear velocity and acceleration are those of its origin, in
axes of the world: the first three joints' own. E is singular at a pitch of ±90°.

Quaternions are w, x, y, z here, with w + xi + yj + zk turning vectors of the base into vectors of the world; both signs
mean the same pose. An accelerometer measures f = Rᵀ(a − g) where it sits: gravity stands in it with the other sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from exciter.errors import MotionError
from exciter.robot.motion import freeze
from exciter.typing import Array

SHORTEST_QUATERNION = 0.5  #: norm below which four numbers are no orientation
LONGEST_QUATERNION = 2.0
STEEP_PITCH_RAD = np.deg2rad(80.0)  #: [rad] from which on yaw and roll are hardly told apart
SMALLEST_COS_PITCH = 1e-6


def rotations(quaternion: Array) -> Array:
    """(N, 3, 3) of (N, 4) quaternions w, x, y, z, brought to norm 1 first."""
    size = np.linalg.norm(quaternion, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero((size[:, 0] < SHORTEST_QUATERNION) | (size[:, 0] > LONGEST_QUATERNION))
    if wrong.size:
        k = int(wrong[0])
        found = np.array2string(quaternion[k], precision=4)
        raise MotionError(f"the quaternion of sample {k} is {found}, whose norm is {size[k, 0]:.3g}; it must be 1")
    w, x, y, z = (quaternion / size).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def quaternions(rotation: Array) -> Array:
    """(N, 4) w, x, y, z with w ≥ 0, of (N, 3, 3); the largest component is computed first, so that none is lost."""
    r = rotation
    trace = np.einsum("Nii->N", r)
    squares = np.stack([trace, *(2.0 * r[:, i, i] - trace for i in range(3))], axis=1)  # 4 q_k² − 1
    largest = squares.argmax(axis=1)
    skew = np.stack([r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], axis=1)
    four = np.zeros((len(r), 4, 4))  # 4 q_k q_l
    four[:, 0, 1:] = four[:, 1:, 0] = skew
    four[:, 1:, 1:] = r + r.swapaxes(1, 2)
    diagonal = np.arange(4)
    four[:, diagonal, diagonal] = 1.0 + squares
    found = four[np.arange(len(r)), largest]
    found = found / np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(np.where(found[:, :1] < 0.0, -found, found))


def rotation_of_angles(angles: Array) -> Array:
    """(N, 3, 3) of (N, 3) yaw, pitch, roll [rad]."""
    (cy, cp, cr), (sy, sp, sr) = np.cos(angles).T, np.sin(angles).T
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def angles_of_rotation(rotation: Array, before: Array | None = None) -> Array:
    """(N, 3) yaw, pitch, roll [rad] of (N, 3, 3), continued over whole turns from sample to sample, from ``before``
    (3,) where it is given; the pitch is within ±90°."""
    r = rotation
    pitch = np.arctan2(-r[:, 2, 0], np.hypot(r[:, 0, 0], r[:, 1, 0]))
    found = np.stack([np.arctan2(r[:, 1, 0], r[:, 0, 0]), pitch, np.arctan2(r[:, 2, 1], r[:, 2, 2])], axis=1)
    path = found if before is None else np.vstack([before, found])
    return np.unwrap(path, axis=0)[len(path) - len(found) :]


def rate_matrix(angles: Array) -> Array:
    """E (N, 3, 3): ω in axes of the base, per rate of yaw, pitch and roll."""
    (_, cp, cr), (_, sp, sr) = np.cos(angles).T, np.sin(angles).T
    zero, one = np.zeros(len(angles)), np.ones(len(angles))
    return np.moveaxis(np.array([[-sp, zero, one], [cp * sr, cr, zero], [cp * cr, -sr, zero]]), -1, 0)


def rate_matrix_derivative(angles: Array, rates: Array) -> Array:
    """Ė (N, 3, 3)."""
    (_, cp, cr), (_, sp, sr) = np.cos(angles).T, np.sin(angles).T
    (_, dp, dr), zero = rates.T, np.zeros(len(angles))
    second = [-dp * sp * sr + dr * cp * cr, -dr * sr, zero]
    third = [-dp * sp * cr - dr * cp * sr, -dr * cr, zero]
    return np.moveaxis(np.array([[-dp * cp, zero, zero], second, third]), -1, 0)


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """position, velocity, acceleration (N, 3) [m, m/s, m/s²]: of the base's origin, in axes of the world. rotation
    (N, 3, 3): of the base in the world. spin, spin_rate (N, 3) [rad/s, rad/s²]: angular velocity and acceleration in
    axes of the base.

    >>> still = BaseMotion.of_joints([[0.0, 0.0, 0.4, 0.1, 0.0, 0.2]], np.zeros((1, 6)), np.zeros((1, 6)))
    >>> still.specific_force((0.0, 0.0, -9.81)).round(3)
    array([[0.   , 1.949, 9.614]])"""

    position: Array
    rotation: Array
    velocity: Array
    spin: Array
    acceleration: Array
    spin_rate: Array

    def __post_init__(self) -> None:
        freeze(self, "position", "rotation", "velocity", "spin", "acceleration", "spin_rate")

    @classmethod
    def of_joints(cls, q: Array, qd: Array, qdd: Array) -> Self:
        """Of the six joints, (N, 6) each."""
        q, qd, qdd = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, qd, qdd))
        angles, rates = q[:, 3:], qd[:, 3:]
        e, ed = rate_matrix(angles), rate_matrix_derivative(angles, rates)
        spin_rate = _times(e, qdd[:, 3:]) + _times(ed, rates)
        return cls(q[:, :3], rotation_of_angles(angles), qd[:, :3], _times(e, rates), qdd[:, :3], spin_rate)

    def joints(self, before: Array | None = None) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ (N, 6) of the six joints; before (3,): yaw, pitch, roll from which angles go on."""
        angles = angles_of_rotation(self.rotation, before)
        rates = angle_rates(angles, self.spin)
        second = angle_accelerations(angles, rates, self.spin_rate)
        pairs = ((self.position, angles), (self.velocity, rates), (self.acceleration, second))
        q, qd, qdd = (np.hstack(pair) for pair in pairs)
        return q, qd, qdd

    def specific_force(self, gravity: tuple[float, float, float] | Array, place: Array | None = None) -> Array:
        """(N, 3) [m/s²] in axes of the base, what an accelerometer at ``place`` (3,) [m] of the base measures."""
        r = np.zeros(3) if place is None else np.asarray(place, dtype=float)
        lever = np.cross(self.spin_rate, r) + np.cross(self.spin, np.cross(self.spin, r))
        return np.asarray(_times(self.rotation.swapaxes(1, 2), self.acceleration - np.asarray(gravity)) + lever)


def angle_rates(angles: Array, spin: Array) -> Array:
    """(N, 3) rates of yaw, pitch, roll of an angular velocity (N, 3) in axes of the base."""
    if (np.abs(np.cos(angles[:, 1])) < SMALLEST_COS_PITCH).any():
        raise MotionError("the base points straight up or down (pitch ±90°), where rates of yaw and roll do not exist")
    return np.asarray(np.linalg.solve(rate_matrix(angles), spin[:, :, None])[:, :, 0])


def angle_accelerations(angles: Array, rates: Array, spin_rate: Array) -> Array:
    """(N, 3) second derivatives of yaw, pitch, roll of an angular acceleration (N, 3) in axes of the base."""
    rest = spin_rate - _times(rate_matrix_derivative(angles, rates), rates)
    return np.asarray(np.linalg.solve(rate_matrix(angles), rest[:, :, None])[:, :, 0])


def acceleration_of_imu(
    rotation: Array, spin: Array, spin_rate: Array, felt: Array, gravity: Array, place: Array
) -> Array:
    """(N, 3) [m/s²] of the base's origin, in axes of the world: of what an accelerometer at ``place`` (3,) [m] of the
    base felt (N, 3), in axes of the base; the inverse of ``BaseMotion.specific_force``."""
    lever = np.cross(spin_rate, place) + np.cross(spin, np.cross(spin, place))
    return np.asarray(_times(rotation, felt - lever) + np.asarray(gravity))


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray(np.einsum("Nij,Nj->Ni", matrices, vectors))
