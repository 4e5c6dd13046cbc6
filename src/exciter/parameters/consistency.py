"""Physical consistency: could a rigid body have these inertial parameters?

A body exists exactly when its pseudo-inertia J is positive semidefinite (Wensing, Kim and Slotine 2018):
positive mass, and principal moments about the centre of mass that obey the triangle inequality. J mixes kg,
kg·m and kg·m², so its eigenvalues are judged after scaling mass and length to one; the verdict does not
depend on units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.parameters.inertial import checked, has_centre, mass_com_inertia
from exciter.robot.spatial import pseudo_inertia
from exciter.typing import Array

#: A scaled eigenvalue above −TOLERANCE counts as zero: rods, plates and point masses are on the boundary.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class LinkConsistency:
    """Verdict on one link.

    margin: smallest eigenvalue of the pseudo-inertia scaled to unit mass and length, in about −1…1;
    negative when no body can have these parameters, zero on the boundary. problems: what is wrong, in
    words; empty when consistent.
    """

    name: str
    margin: float
    problems: tuple[str, ...]

    @property
    def consistent(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        verdict = "; ".join(self.problems) if self.problems else "physically consistent"
        return f"{self.name}: {verdict} (margin {self.margin:.3g})"


@dataclass(frozen=True)
class Consistency:
    """Verdict on a robot: one per link."""

    links: tuple[LinkConsistency, ...]

    @property
    def consistent(self) -> bool:
        return all(link.consistent for link in self.links)

    @property
    def margin(self) -> float:
        """The worst link's margin."""
        return min(link.margin for link in self.links)

    def __str__(self) -> str:
        return "\n".join(str(link) for link in self.links)


def link_consistency(phi: ArrayLike, name: str = "link", *, tolerance: float = TOLERANCE) -> LinkConsistency:
    """Judge φ (10,) of one link."""
    phi = checked(phi, f"the inertial parameters of {name}")
    if phi.shape != (10,):
        raise ParameterError(f"the inertial parameters of {name} have shape {phi.shape}; one link has (10,)")
    margin = consistency_margin(phi)
    problems = _problems(phi) if margin < -tolerance else ()
    return LinkConsistency(name, margin, problems)


def consistency(
    inertias: ArrayLike, names: Sequence[str] | None = None, *, tolerance: float = TOLERANCE
) -> Consistency:
    """Judge (n, 10) inertial parameters; ``names`` of the links, by default link 1, link 2, …"""
    values = checked(inertias)
    if values.ndim != 2 or len(values) == 0:
        raise ParameterError(f"the inertial parameters have shape {values.shape}; a robot of n links has (n, 10)")
    if names is None:
        names = [f"link {i}" for i in range(1, len(values) + 1)]
    if len(names) != len(values):
        raise ParameterError(f"{len(names)} names are given for {len(values)} links; give one name per link")
    links = (link_consistency(phi, name, tolerance=tolerance) for phi, name in zip(values, names, strict=True))
    return Consistency(tuple(links))


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
    problems = []
    if np.linalg.eigvalsh(pseudo_inertia(phi)[:3, :3])[0] >= 0:  # fine about the joint frame, not about the centre
        c = ", ".join(f"{v:.4g}" for v in com)
        problems.append(f"centre of mass ({c}) m is too far out for the inertia about the joint frame")
    if moments[0] < 0:
        problems.append(f"negative moment of inertia about the centre of mass (principal moments {listed} kg·m²)")
    else:
        problems.append(
            "triangle inequality violated: the largest principal moment exceeds the sum of the other two "
            f"({listed} kg·m² about the centre of mass)"
        )
    return tuple(problems)
