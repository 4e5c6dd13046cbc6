"""The ten inertial parameters of a body: order, names, units, and mass / centre of mass / inertia.

φ = (M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ): mass [kg], first moments m·c [kg·m], and the inertia matrix
about the origin of the joint frame [kg·m²], all in that frame. The order is Pinocchio's, the names are
those of Khalil and Dombre; off-diagonal entries are matrix entries, XY = −∫ x y dm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.robot.spatial import INERTIAL_NAMES as INERTIAL_NAMES
from exciter.robot.spatial import transform_inertia
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.typing import Array

INERTIAL_UNITS = ("kg", *("kg·m",) * 3, *("kg·m²",) * 6)
#: Position of (XX, XY, XZ, YY, YZ, ZZ), the upper triangle row by row, inside φ.
UPPER_TRIANGLE = (4, 5, 7, 6, 8, 9)


def names(n: int) -> tuple[str, ...]:
    """The 10 n names of n links, link by link: M1, MX1, … ZZ1, M2, …"""
    return tuple(f"{name}{link}" for link in range(1, n + 1) for name in INERTIAL_NAMES)


def units(n: int) -> tuple[str, ...]:
    return INERTIAL_UNITS * n


def checked(phi: ArrayLike, what: str = "the inertial parameters") -> Array:
    try:
        array = np.array(phi, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be numbers, ten per link") from None
    if array.ndim == 0 or array.shape[-1] != 10:
        needed = f"ten numbers per link are needed ({', '.join(INERTIAL_NAMES)})"
        raise ParameterError(f"{what} have shape {array.shape}; {needed}")
    if not np.isfinite(array).all():
        raise ParameterError(f"{what} contain NaN or infinity; give finite numbers")
    return array


def symmetric(xx: float, xy: float, xz: float, yy: float, yz: float, zz: float) -> Array:
    """3×3 symmetric matrix of its upper triangle, row by row."""
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=np.float64)


def upper_triangle(matrix: ArrayLike) -> Array:
    """(xx, xy, xz, yy, yz, zz) of a symmetric 3×3 matrix."""
    return np.asarray(matrix, dtype=np.float64)[np.triu_indices(3)]


def inertia_matrix(phi: ArrayLike) -> Array:
    """3×3 inertia about the joint-frame origin [kg·m²]."""
    return symmetric(*checked(phi)[list(UPPER_TRIANGLE)])


def has_centre(phi: Array) -> bool:
    """Whether φ (10,) has a mass, and the centre of mass is not farther away than anything on a robot."""
    return bool(phi[0] != 0.0 and np.abs(phi[1:4]).max() <= LARGEST_OF_A_ROBOT * abs(phi[0]))


def centre_of_mass(phi: ArrayLike) -> Array:
    """(3,) [m] in the joint frame; an error for a body without mass, whose centre of mass does not exist."""
    phi = checked(phi)
    if phi[0] == 0:
        raise ParameterError("the mass is 0, so the body has no centre of mass; give a positive mass")
    if not has_centre(phi):
        problem = f"the mass is {phi[0]:g} kg and the first moments are up to {np.abs(phi[1:4]).max():g} kg·m"
        far = f"the centre of mass is farther away than {LARGEST_OF_A_ROBOT:g} m"
        raise ParameterError(f"{problem}, so that {far}; give a mass that fits")
    return np.asarray(phi[1:4] / phi[0])


def mass_com_inertia(phi: ArrayLike) -> tuple[float, Array, Array]:
    """Mass [kg], centre of mass (3,) [m], inertia (3, 3) about it [kg·m²], in axes of the joint frame."""
    phi = checked(phi)
    centre = centre_of_mass(phi)
    return float(phi[0]), centre, inertia_matrix(transform_inertia(phi, np.eye(3), -centre))


def from_mass_com_inertia(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """φ (10,) of mass [kg], centre of mass (3,) [m], inertia (3, 3) about it [kg·m²], in joint-frame axes."""
    com, inertia = np.asarray(com, dtype=np.float64), np.asarray(inertia, dtype=np.float64)
    if inertia.shape != (3, 3) or com.shape != (3,):
        shapes = f"{com.shape}, {inertia.shape}; they must be (3,), (3, 3)"
        raise ParameterError(f"centre of mass and inertia have shapes {shapes}")
    if not np.allclose(inertia, inertia.T, rtol=1e-9, atol=1e-12 * float(np.abs(inertia).max())):
        raise ParameterError(f"the inertia matrix is not symmetric: {inertia.tolist()}")
    phi = np.zeros(10)
    phi[0] = mass
    phi[list(UPPER_TRIANGLE)] = upper_triangle(inertia)
    return transform_inertia(checked(phi), np.eye(3), com)
