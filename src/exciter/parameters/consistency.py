"""Physical consistency: could a rigid body have these inertial parameters?

A body exists exactly when its pseudo-inertia J is positive semidefinite (Wensing, Kim and Slotine 2018): positive mass,
and principal moments about the centre of mass that obey the triangle inequality. J mixes kg, kg·m and kg·m², so its
eigenvalues are judged after scaling mass and length to one; the verdict does not depend on units.

Also inertias in descriptions: placeholders that nobody measured, and those of one body made to be written down, thick
enough for strict readers, and divided among its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.parameters.inertial import checked, from_mass_com_inertia, has_centre, mass_com_inertia
from exciter.robot.robot import Robot
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia
from exciter.typing import Array

#: A scaled eigenvalue above −CONSISTENT_WITHIN counts as zero: rods, plates and point masses are on the boundary.
CONSISTENT_WITHIN = 1e-9
ALIKE_FRACTION = 1e-6  # relative difference of what counts as the same number
POINT_GYRATION_RADIUS_M = 1e-5  # [m] radius of gyration of what counts as a point
BALL_MOMENTS_FRACTION = 1e-3  # relative difference of the principal moments of what counts as a ball
WRITTEN_BODY_FRACTION = 1e-9  #: of the size of a body: rods and plates are made that thick
SMALLEST_BODY_INERTIA = 1e-12  #: [kg, kg·m²] instead of zero, which simulators refuse for a body that moves
KEPT_INERTIA_SHARE = 0.1  #: of its pseudo-inertia that the main part keeps at least when it alone gets the difference
SAME_INERTIA_FRACTION = 1e-10  #: of the body's size: inertias that differ by less are the same


@dataclass(frozen=True)
class LinkConsistency:
    """Verdict on one link. margin: smallest eigenvalue of the pseudo-inertia scaled to unit mass and length, in about
    −1…1, negative when no body can have these parameters. problems: what is wrong, in words."""

    name: str
    margin: float
    problems: tuple[str, ...]

    @property
    def consistent(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return f"{self.name}: {'; '.join(self.problems) or 'physically consistent'} (margin {self.margin:.3g})"


@dataclass(frozen=True)
class Consistency:
    """Verdict on a robot: one per link."""

    links: tuple[LinkConsistency, ...]

    @property
    def consistent(self) -> bool:
        return all(link.consistent for link in self.links)

    @property
    def margin(self) -> float:
        return min(link.margin for link in self.links)

    def __str__(self) -> str:
        return "\n".join(str(link) for link in self.links)


def link_consistency(phi: ArrayLike, name: str = "link", *, tolerance: float = CONSISTENT_WITHIN) -> LinkConsistency:
    phi = checked(phi, f"the inertial parameters of {name}")
    if phi.shape != (10,):
        raise ParameterError(f"the inertial parameters of {name} have shape {phi.shape}; one link has (10,)")
    margin = consistency_margin(phi)
    return LinkConsistency(name=name, margin=margin, problems=_problems(phi) if margin < -tolerance else ())


def consistency(inertias: ArrayLike, names: Sequence[str] | None = None) -> Consistency:
    """Judge (n, 10) inertial parameters; ``names`` of the links, by default link 1, link 2, …"""
    values = checked(inertias)
    if values.ndim != 2 or len(values) == 0:
        raise ParameterError(f"the inertial parameters have shape {values.shape}; a robot of n links has (n, 10)")
    names = [f"link {i}" for i in range(1, len(values) + 1)] if names is None else names
    if len(names) != len(values):
        raise ParameterError(f"{len(names)} names are given for {len(values)} links; give one name per link")
    return Consistency(tuple(map(link_consistency, values, names)))


def consistency_margin(phi: ArrayLike) -> float:
    """Smallest eigenvalue of the scaled pseudo-inertia of φ (10,); 0 for a body that is not there (φ = 0)."""
    j = pseudo_inertia(checked(phi))
    if not j.any():
        return 0.0
    # Roots: squares and quotients of the smallest numbers there are are zero or infinite.
    size = math.sqrt(np.linalg.norm(j[:3, :3], 2))
    first = float(np.linalg.norm(j[:3, 3]))
    mass = math.sqrt(abs(j[3, 3]))
    # Scales that bring every block to at most one. A physical body has |m c|² ≤ m Σ; where that fails because
    # the mass or the second moments are too small, the first moments set the scale instead.
    if size > 0:
        mass = max(mass, first / size)
    elif mass > 0:
        size = first / mass
    else:
        size = mass = math.sqrt(first)
    root = np.array([size, size, size, mass])
    with np.errstate(over="ignore"):
        scale = np.outer(root, root)
    scaled = np.divide(j, scale, out=np.zeros((4, 4)), where=scale > 0.0)  # zero where the scale is, or infinite
    return float(np.linalg.eigvalsh(scaled)[0])


def _problems(phi: Array) -> tuple[str, ...]:
    """What is wrong with a φ that fails, in the order a person would look."""
    mass = phi[0]
    if mass < 0:
        return (f"negative mass ({mass:.6g} kg)",)
    if phi[1:4].any() and not has_centre(phi):
        said = f"{mass:.4g} kg" if mass else "zero"
        h = ", ".join(f"{v:.4g}" for v in phi[1:4])
        return (f"mass is {said} but the first moments are ({h}) kg·m",)
    if mass == 0:
        return ("mass is zero and the moments of inertia break the triangle inequality",)
    _, com, inertia = mass_com_inertia(phi)
    moments = np.linalg.eigvalsh(inertia)
    listed = ", ".join(f"{v:.4g}" for v in moments)
    problem = f"negative moment of inertia about the centre of mass (principal moments {listed} kg·m²)"
    if moments[0] >= 0:
        problem = "triangle inequality violated: the largest principal moment exceeds the sum of the other two "
        problem += f"({listed} kg·m² about the centre of mass)"
    if np.linalg.eigvalsh(pseudo_inertia(phi)[:3, :3])[0] < 0:
        return (problem,)
    c = ", ".join(f"{v:.4g}" for v in com)  # fine about the joint frame, not about the centre
    return f"centre of mass ({c}) m is too far out for the inertia about the joint frame", problem


def dummies(robot: Robot) -> str:
    """Why the inertias of the description look like placeholders, in words; empty when they look like a robot's."""
    links = robot.inertias
    if not links.any():
        return "no link has a mass"
    if (links[:, 0] <= 0.0).all():
        return "no link has a positive mass"
    bodies = [mass_com_inertia(phi) for phi in links if phi[0] > 0.0 and has_centre(phi)]
    if not bodies:
        return "no link has a mass that fits its first moments"
    masses = np.array([mass for mass, _, _ in bodies])
    moments = np.array([np.linalg.eigvalsh(inertia) for _, _, inertia in bodies])
    size = np.sqrt(np.abs(moments).max(axis=1)) / np.sqrt(masses)  # radius of gyration [m]
    if (size < POINT_GYRATION_RADIUS_M).all():
        return "all links are points: mass without moments of inertia"
    same_mass, same_moments = (
        len(bodies) > 1 and np.allclose(v, v[0], rtol=ALIKE_FRACTION, atol=ALIKE_FRACTION * float(np.abs(v).max()))
        for v in (masses, moments)
    )
    if same_moments:
        mass = f"the same mass ({masses[0]:.4g} kg) and " if same_mass else ""
        return f"all links have {mass}the same moments of inertia"
    if same_mass and np.allclose(masses, 1.0, rtol=ALIKE_FRACTION):
        return "all links have a mass of 1 kg"
    centred = all(np.linalg.norm(centre) <= 1e-6 * s for (_, centre, _), s in zip(bodies, size, strict=True))
    if centred and (np.ptp(moments, axis=1) <= BALL_MOMENTS_FRACTION * moments.max(axis=1)).all():
        return "all links are balls about the origins of their joints"
    return ""


def presentable(phi: ArrayLike) -> Array:
    """φ (10,) as strict readers want it: a body on the edge of what can exist is made as thick as
    ``WRITTEN_BODY_FRACTION``, one that has no mass or no extent next to nothing; any other is returned as it is."""
    values = np.array(phi, dtype=float)
    if values[0] <= SMALLEST_BODY_INERTIA:
        values[:4] = SMALLEST_BODY_INERTIA, 0.0, 0.0, 0.0
    mass, com, inertia = mass_com_inertia(values)
    spread, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)  # ∫ x xᵀ dm about the centre
    least = max(WRITTEN_BODY_FRACTION * float(spread.sum()), SMALLEST_BODY_INERTIA)
    if spread[0] >= least:
        return values
    spread = np.maximum(spread, least)
    second = (axes * spread) @ axes.T
    return from_mass_com_inertia(mass, com, spread.sum() * np.eye(3) - second)


def divided(total: Array, parts: dict[str, Array], main: str) -> dict[str, Array]:
    """New φ of the parts that change, so that all add up to ``total``, in one frame: of ``main`` alone where it can
    have the difference, else one affine map deforms all of them."""
    others = sum((phi for name, phi in parts.items() if name != main), np.zeros(10))
    if not others.any():
        return {main: total}
    rest = total - others
    if min(consistency_margin(rest), consistency_margin(rest - KEPT_INERTIA_SHARE * parts[main])) > 0.0:
        return {main: rest}
    old, new = (pseudo_inertia(phi) for phi in (sum(parts.values()), total))
    try:
        affine = upper_factor(new) @ np.linalg.inv(upper_factor(old))  # last row: (0, 0, 0, √(new mass / old mass))
    except np.linalg.LinAlgError:
        affine = None
    if affine is None or min(consistency_margin(phi) for phi in parts.values()) < 0.0:
        mass = sum(phi[0] for phi in parts.values())  # parts that no body has: each becomes its share of the whole
        return {name: total * (phi[0] / mass if mass else name == main) for name, phi in parts.items()}
    return {name: from_pseudo_inertia(affine @ pseudo_inertia(phi) @ affine.T) for name, phi in parts.items()}


def upper_factor(matrix: Array) -> Array:
    """Upper triangular U with U Uᵀ = matrix (…, m, m), positive definite: the lower factor of it reversed."""
    return np.asarray(np.linalg.cholesky(matrix[..., ::-1, ::-1])[..., ::-1, ::-1], dtype=np.float64)


def same_inertia(a: Array, b: Array) -> bool:
    """Whether two φ differ by no more than rounding, at the scale of the body."""
    j, other = pseudo_inertia(a), pseudo_inertia(b)
    second = float(np.trace(other[:3, :3]))
    scale = np.sqrt(np.abs([second, second, second, other[3, 3]]))
    return bool((np.abs(j - other) <= SAME_INERTIA_FRACTION * np.outer(scale, scale)).all())
