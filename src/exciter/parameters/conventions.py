"""The inertial parameters as other tools write them: the only place that converts.

Inside, a body is φ = (M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ) about its joint frame (see ``inertial``).
Every tool has ``to_<tool>(φ)`` and ``from_<tool>(…)``; the frame is always the joint frame, except where
the tool itself carries a placement of the inertia (URDF's origin, MuJoCo's ipos and iquat). Conversions say
nothing about whether φ is physical: ask ``consistency``. Ten numbers are arrays (…, 10), both ways.

============  ===============================================================================================
Pinocchio     ten numbers, φ itself (``Inertia.toDynamicParameters``)
iDynTree      ten numbers, the inertia row by row: m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
Papers        ten numbers, modified Denavit–Hartenberg frame: XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M
Drake         mass, centre of mass, unit inertia G = I/m about the frame's origin
MuJoCo        mass, centre of mass (ipos), principal axes (iquat) and principal moments (diaginertia) about it
URDF          mass, and the inertia about the centre of mass in the axes of the inertial frame (origin xyz, rpy)
log-Cholesky  ten free numbers θ for every body with a positive definite pseudo-inertia
============  ===============================================================================================

Log-Cholesky coordinates (Rucker and Wensing 2022, "Smooth parameterization of rigid-body inertia"): J = U Uᵀ with

    U = e^α [[e^d1, s12,  s13,  t1],
             [0,    e^d2, s23,  t2],
             [0,    0,    e^d3, t3],
             [0,    0,    0,    1 ]],     θ = (α, d1, d2, d3, s12, s23, s13, t1, t2, t3).

m = e^{2α} and c = (t1, t2, t3). Any θ is a physical body and any body that is strictly physical has exactly
one θ, so an optimiser may move θ without constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.parameters import inertial
from exciter.parameters.consistency import upper_factor
from exciter.parameters.inertial import checked, from_mass_com_inertia, mass_com_inertia
from exciter.parameters.parameter_names import READING_ORDER
from exciter.robot.spatial import axis_rotation, from_pseudo_inertia, pseudo_inertia
from exciter.typing import Array

PAPER_NAMES = tuple(READING_ORDER)  #: in the papers' order, modified Denavit–Hartenberg frame
Reordering = Callable[[ArrayLike], Array]
_LOGARITHMS = ((0, 0), (1, 1), (2, 2))  # places of d1, d2, d3 in U
_OTHERS = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))  # of s12, s23, s13, t1, t2, t3


def _both_ways(*order: int) -> tuple[Reordering, Reordering]:
    """To ten numbers that are those of φ in another order, and back."""
    return lambda phi: checked(phi)[..., list(order)], lambda given: checked(given)[..., np.argsort(order)]


to_pinocchio, from_pinocchio = _both_ways(*range(10))  # as ``Inertia.toDynamicParameters`` returns
to_idyntree, from_idyntree = _both_ways(0, 1, 2, 3, *inertial.UPPER_TRIANGLE)  # as ``SpatialInertia.asVector``
to_papers, from_papers = _both_ways(*inertial.UPPER_TRIANGLE, 1, 2, 3, 0)  # as ``PAPER_NAMES``


def to_log_cholesky(phi: ArrayLike) -> Array:
    """θ; an error where the pseudo-inertia is not positive definite."""
    try:
        factor = upper_factor(pseudo_inertia(checked(phi)))
    except np.linalg.LinAlgError:
        problem = "the inertial parameters are not strictly physical (pseudo-inertia not positive definite)"
        advice = "so they have no log-Cholesky coordinates; start from a body with positive mass and volume"
        raise ParameterError(f"{problem}, {advice}") from None
    scale = factor[..., 3, 3]
    diagonal = [np.log(factor[..., i, j] / scale) for i, j in _LOGARITHMS]
    return np.stack([np.log(scale), *diagonal, *(factor[..., i, j] / scale for i, j in _OTHERS)], axis=-1)


def from_log_cholesky(theta: ArrayLike) -> Array:
    factor = _factor(theta)
    return from_pseudo_inertia(factor @ np.swapaxes(factor, -1, -2))


def log_cholesky_jacobian(theta: ArrayLike) -> Array:
    """(…, 10, 10) exact ∂φ/∂θ: dJ = dU Uᵀ + U dUᵀ, and φ is linear in J."""
    factor = _factor(theta)
    changes = [factor]  # ∂U/∂α = U
    for i, j in (*_LOGARITHMS, *_OTHERS):
        change = np.zeros_like(factor)
        change[..., i, j] = factor[..., i, i] if i == j else factor[..., 3, 3]
        changes.append(change)
    products = [change @ np.swapaxes(factor, -1, -2) for change in changes]
    return np.stack([from_pseudo_inertia(one + np.swapaxes(one, -1, -2)) for one in products], axis=-1)


def _factor(theta: ArrayLike) -> Array:
    """(…, 4, 4) U."""
    theta = checked(theta, "the log-Cholesky coordinates")
    factor = np.zeros((*theta.shape[:-1], 4, 4))
    for k, (i, j) in enumerate((*_LOGARITHMS, *_OTHERS), start=1):
        factor[..., i, j] = np.exp(theta[..., k]) if i == j else theta[..., k]
    factor[..., 3, 3] = 1.0
    return factor * np.exp(theta[..., 0])[..., None, None]


@dataclass(frozen=True)
class DrakeInertia:
    """Drake's ``SpatialInertia(mass, p_PScm_E, UnitInertia(Gxx, Gyy, Gzz, Gxy, Gxz, Gyz))``: mass [kg]; com [m];
    moments (Gxx, Gyy, Gzz) and products (Gxy, Gxz, Gyz) [m²] of I/m about the frame's origin."""

    mass: float
    com: tuple[float, ...]
    moments: tuple[float, ...]
    products: tuple[float, ...]


def to_drake(phi: ArrayLike) -> DrakeInertia:
    com, mass = inertial.centre_of_mass(phi), float(checked(phi)[0])
    gxx, gxy, gxz, gyy, gyz, gzz = (inertial.upper_triangle(inertial.inertia_matrix(phi)) / mass).tolist()
    return DrakeInertia(mass=mass, com=tuple(com.tolist()), moments=(gxx, gyy, gzz), products=(gxy, gxz, gyz))


def from_drake(body: DrakeInertia) -> Array:
    (gxx, gyy, gzz), (gxy, gxz, gyz) = body.moments, body.products
    return checked(body.mass * np.array([1.0, *body.com, gxx, gxy, gyy, gxz, gyz, gzz]))


@dataclass(frozen=True)
class MuJoCoInertia:
    """MuJoCo's ``body_mass, body_ipos, body_iquat, body_inertia``: mass [kg]; centre of mass [m]; (w, x, y, z) from the
    principal axes to the body frame; principal moments [kg·m²], largest first as MuJoCo sorts them."""

    mass: float
    ipos: tuple[float, ...]
    iquat: tuple[float, ...]
    diaginertia: tuple[float, ...]

    @property
    def inertia(self) -> Array:
        """(3, 3) about the centre of mass [kg·m²], in body axes."""
        from scipy.spatial.transform import Rotation

        if not np.isfinite(self.iquat).all() or not any(self.iquat):
            problem = f"iquat {self.iquat} is not a rotation"
            raise ParameterError(f"{problem}; give a finite quaternion w, x, y, z that is not 0")
        rotation = np.asarray(Rotation.from_quat(np.roll(self.iquat, -1)).as_matrix(), dtype=np.float64)
        return (rotation * self.diaginertia) @ rotation.T

    @property
    def fullinertia(self) -> tuple[float, ...]:
        """MJCF's ``fullinertia`` about the centre of mass [kg·m²]: xx, yy, zz, xy, xz, yz, in body axes."""
        xx, xy, xz, yy, yz, zz = inertial.upper_triangle(self.inertia).tolist()
        return xx, yy, zz, xy, xz, yz


def to_mujoco(phi: ArrayLike) -> MuJoCoInertia:
    from scipy.spatial.transform import Rotation

    mass, com, inertia = mass_com_inertia(phi)
    moments, axes = np.linalg.eigh(inertia)
    moments, axes = moments[::-1], axes[:, ::-1]
    if np.linalg.det(axes) < 0:  # eigenvectors may form a left-handed frame, which no quaternion describes
        axes = axes * np.array([1.0, 1.0, -1.0])
    x, y, z, w = Rotation.from_matrix(axes).as_quat().tolist()
    return MuJoCoInertia(mass=mass, ipos=tuple(com.tolist()), iquat=(w, x, y, z), diaginertia=tuple(moments.tolist()))


def from_mujoco(body: MuJoCoInertia) -> Array:
    return from_mass_com_inertia(body.mass, body.ipos, body.inertia)


def from_mujoco_full(mass: float, ipos: ArrayLike, fullinertia: tuple[float, ...]) -> Array:
    """φ of an MJCF ``<inertial>`` that gives ``fullinertia`` instead of ``diaginertia``."""
    xx, yy, zz, xy, xz, yz = fullinertia
    return from_mass_com_inertia(mass, ipos, inertial.symmetric(xx, xy, xz, yy, yz, zz))


@dataclass(frozen=True)
class UrdfInertia:
    """URDF's ``<inertial>``: mass [kg], origin xyz [m] and rpy [rad], and the inertia about that origin [kg·m²],
    entries of the matrix in the axes of the inertial frame, R = Rz(yaw) Ry(pitch) Rx(roll)."""

    mass: float
    xyz: tuple[float, ...]
    rpy: tuple[float, ...]
    ixx: float
    ixy: float
    ixz: float
    iyy: float
    iyz: float
    izz: float


def to_urdf(phi: ArrayLike) -> UrdfInertia:
    """Axes of the joint frame, so rpy = 0."""
    mass, com, inertia = mass_com_inertia(phi)
    return UrdfInertia(mass, tuple(com.tolist()), (0.0, 0.0, 0.0), *inertial.upper_triangle(inertia).tolist())


def from_urdf(body: UrdfInertia) -> Array:
    roll, pitch, yaw = body.rpy
    rotation = axis_rotation([0, 0, 1], yaw) @ axis_rotation([0, 1, 0], pitch) @ axis_rotation([1, 0, 0], roll)
    inertia = inertial.symmetric(body.ixx, body.ixy, body.ixz, body.iyy, body.iyz, body.izz)
    return from_mass_com_inertia(body.mass, body.xyz, rotation @ inertia @ rotation.T)
