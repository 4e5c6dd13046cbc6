"""Rotations, and the ten inertial parameters of a body seen from another frame.

The ten numbers φ = (m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about a frame's origin are one symmetric
4×4 matrix, the pseudo-inertia J = ∫ x̃ x̃ᵀ dm with x̃ = (x, 1). Seen from a frame in which the old one has the
homogeneous placement T, it is T J Tᵀ; everything else follows from that."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.typing import Array

#: The papers' names of φ, in Pinocchio's order.
INERTIAL_NAMES = ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")
URDF_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")  # attributes of <inertia>
MOMENTS_OF_PHI = ([0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2])  # places of φ's moments in their matrix
OPPOSITE_AXIS_SINE = 1e-10  # of the angle to −ẑ, below which it counts as −ẑ


def skew(v: ArrayLike) -> Array:
    """[v]× with [v]× u = v × u."""
    x, y, z = np.asarray(v, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def axis_rotation(axis: ArrayLike, angle: float) -> Array:
    """Rotation by ``angle`` [rad] about a unit ``axis`` (Rodrigues)."""
    k = skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k))


def rotation_to(direction: ArrayLike) -> Array:
    """The smallest rotation that takes ẑ to the unit vector ``direction``, exactly the identity for ẑ itself, as MuJoCo
    means zaxis and fromto; at −ẑ, where many are smallest, the half turn about x."""
    x, y, z = np.asarray(direction, dtype=float)
    sine = float(np.hypot(x, y))
    if z < 0.0 and sine < OPPOSITE_AXIS_SINE:
        flip = np.diag([1.0, -1.0, -1.0])
        return np.asarray(flip @ rotation_to([x, -y, -z]))
    v = skew([-y, x, 0.0])  # ẑ × direction
    weight = 1.0 / (1.0 + z) if z >= 0.0 else (1.0 - z) / sine**2  # the same, without the digits that 1 + z loses
    return np.asarray(np.eye(3) + v + weight * (v @ v))


def upright(gravity: Array) -> Array:
    """(3, 3): from the base to axes in which gravity (3,) points down, however a robot is mounted."""
    size = float(np.linalg.norm(gravity))
    return np.eye(3) if size == 0.0 else rotation_to(-gravity / size).T


def homogeneous(rotation: ArrayLike, translation: ArrayLike) -> Array:
    t = np.eye(4)
    t[:3, :3], t[:3, 3] = rotation, translation
    return t


def pseudo_inertia(phi: ArrayLike) -> Array:
    """(…, 4, 4) pseudo-inertia of (…, 10) inertial parameters."""
    phi = np.asarray(phi, dtype=float)
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = np.moveaxis(phi, -1, 0)
    half = 0.5 * (xx + yy + zz)  # Σ = ½ tr(I)·1 − I
    rows = [[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz], [hx, hy, hz, m]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def from_pseudo_inertia(j: ArrayLike) -> Array:
    """(…, 10) inertial parameters of (…, 4, 4) pseudo-inertias."""
    j = np.asarray(j, dtype=float)
    sxx, syy, szz = j[..., 0, 0], j[..., 1, 1], j[..., 2, 2]
    first = [j[..., 3, 3], j[..., 0, 3], j[..., 1, 3], j[..., 2, 3]]
    second = [syy + szz, -j[..., 0, 1], sxx + szz, -j[..., 0, 2], -j[..., 1, 2], sxx + syy]
    return np.stack(first + second, axis=-1)


def moment_matrix(phi: ArrayLike) -> Array:
    """(3, 3) moments of inertia of φ (10,)."""
    xx, xy, yy, xz, yz, zz = np.asarray(phi, dtype=float)[4:]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def transform_inertia(phi: ArrayLike, rotation: ArrayLike, translation: ArrayLike) -> Array:
    """φ in frame A, of a body known in frame B, where (rotation, translation) is the placement of B in A."""
    t = homogeneous(rotation, translation)
    return from_pseudo_inertia(t @ pseudo_inertia(phi) @ t.T)


def inertia_transform(rotation: ArrayLike, translation: ArrayLike) -> Array:
    """The 10×10 matrix of ``transform_inertia``: φ_A = X φ_B."""
    return transform_inertia(np.eye(10), rotation, translation).T
