"""A load as it was identified: mass, centre, inertia, each with its uncertainty, and what is to be said about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.errors import ParameterError
from exciter.experiment.recording import Payload
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.information import Information
from exciter.identification.physical.bounds import Cone
from exciter.identification.physical.cone_program import nearest
from exciter.identification.physical.whitening import svec
from exciter.notes import Note, done, in_one_line, note, texts, warning
from exciter.parameters import inertial
from exciter.parameters.consistency import link_consistency
from exciter.robot.spatial import pseudo_inertia
from exciter.typing import Array

QUANTITIES = ("mass", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
UNITS = ("kg", *("m",) * 3, *("kg·m²",) * 6)
LEVEL = 0.95
ORTHOGONAL = 1e-7  # relative: a change of a quantity along what no motion shows, below which it is none
MARGIN = 1e-5  # smallest eigenvalue of a body moved to the boundary, scaled to unit mass and size
NO_MASS = "the mass is not significant: is a load mounted, and were the runs not swapped?"
NO_INERTIA = (
    "the inertia about the centre is not significant: the motion is too slow for it, or the load too small; mass and "
    "centre are not touched by this"
)


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """phi (10,): m, m·c, inertia about the origin of ``frame`` (Pinocchio's order), in its axes; covariance (10, 10).

    hidden (10, k): changes of phi that no motion of this robot shows; k = 0 for most arms. freedom: rows less
    parameters, of independent rows. robot: its base parameters from the same fit, without the load. joints, noise,
    noise_unloaded (J,): σ of the equations of loaded and of unloaded runs. assumptions: what the covariance rests on.
    """

    frame: str
    phi: Array
    covariance: Array
    hidden: Array
    freedom: float
    robot: Estimate
    joints: tuple[str, ...]
    noise: Array
    noise_unloaded: Array | None
    assumptions: tuple[Note, ...]
    fit_notes: tuple[Note, ...] = ()

    # -- mass, centre, inertia about the centre --------------------------------------------------------------------

    @cached_property
    def determined(self) -> NDArray[np.bool_]:
        """(10,) which of QUANTITIES the robot can show."""
        if not self.hidden.size:
            return np.ones(10, dtype=bool)
        slopes = gradient(self.phi)  # NaN, and so not determined, without a mass
        change = np.abs(slopes @ self.hidden).max(axis=1)
        return np.asarray(change <= ORTHOGONAL * np.abs(slopes).max(axis=1) * np.abs(self.hidden).max())

    @cached_property
    def values(self) -> Array:
        """(10,) of QUANTITIES; NaN where not determined."""
        return np.where(self.determined, quantities(self.phi), np.nan)

    @cached_property
    def values_covariance(self) -> Array:
        """(10, 10) of QUANTITIES, to first order (delta method)."""
        slopes = gradient(self.phi)
        return np.asarray(slopes @ self.covariance @ slopes.T)

    @cached_property
    def std(self) -> Array:
        """(10,) of QUANTITIES; infinite where not determined."""
        return np.where(self.determined, np.sqrt(np.maximum(self.values_covariance.diagonal(), 0.0)), np.inf)

    def interval(self, level: float = LEVEL) -> tuple[Array, Array]:
        """Lower and upper ends (10,) of the confidence interval of each of QUANTITIES (Student)."""
        reach = float(stats.t.ppf(0.5 + 0.5 * level, max(self.freedom, 1.0))) * self.std
        return self.values - reach, self.values + reach

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.values[0])

    @property
    def centre(self) -> Array:
        """(3,) [m] in the frame."""
        return self.values[1:4]

    @property
    def inertia(self) -> Array:
        """(3, 3) [kg·m²] about the centre, in axes of the frame."""
        return inertial.symmetric(*self.values[4:])

    @property
    def frame_inertia(self) -> Array:
        """(3, 3) [kg·m²] about the origin of the frame."""
        return inertial.inertia_matrix(self.phi)

    @property
    def frame_std(self) -> Array:
        """(10,) σ of phi."""
        return np.sqrt(self.covariance.diagonal())

    # -- judged ------------------------------------------------------------------------------------------------------

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know, notes of the fit included."""
        said = list(self.fit_notes)
        lost = [name for name, seen in zip(QUANTITIES, self.determined, strict=True) if not seen]
        if lost:
            text = f"no motion of this robot shows {', '.join(lost)} of a load on '{self.frame}'"
            said.append(warning("excitation", text))
        if self.determined[0] and self.interval()[0][0] <= 0.0:
            return (*said, warning("mass", NO_MASS))
        seen = np.flatnonzero(self.determined[4:]) + 4
        if len(seen) and not self._significant(seen):
            said.append(note("inertia", NO_INERTIA))
        elif not lost and not (verdict := link_consistency(self.phi, "the load")).consistent:
            text = f"{'; '.join(verdict.problems)}: consistent() gives the nearest body that can exist"
            said.append(warning("inertia", text))
        return tuple(said)

    def _significant(self, which: NDArray[np.int64]) -> bool:
        """Whether some of QUANTITIES differ from zero, together (Hotelling's T²)."""
        values, covariance = self.values[which], self.values_covariance[np.ix_(which, which)]
        scale = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
        squares = (
            values / scale @ np.linalg.pinv(covariance / np.outer(scale, scale), hermitian=True) @ (values / scale)
        )
        return bool(squares > len(which) * stats.f.ppf(LEVEL, len(which), max(self.freedom, 1.0)))

    def consistent(self) -> PayloadEstimate:
        """The body nearest in the metric of the covariance, of those that can exist: the constrained estimate.

        The covariance stays that of the free estimate, which is too large where a constraint holds.
        """
        if self.hidden.size:
            raise ParameterError(
                "the load is not fully determined, so there is no one nearest body; give the missing parameters"
            )
        if link_consistency(self.phi).consistent:
            return self
        text = "moved to the nearest body that can exist; intervals are those of the free estimate"
        return replace(
            self, phi=nearest_body(self.phi, self.covariance), fit_notes=(*self.fit_notes, done("inertia", text))
        )

    # -- for what comes next -------------------------------------------------------------------------------------------

    def payload(self) -> Payload:
        """As a known load of other recordings."""
        if not self.determined.all():
            raise ParameterError("the load is not fully determined; give its mass, centre and inertia by hand")
        return Payload(self.frame, self.mass, tuple(self.centre.tolist()), tuple(self.values[4:].tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        low, high = self.interval()
        rows = zip(QUANTITIES, UNITS, self.values, self.std, low, high, strict=True)
        return {
            "frame": self.frame,
            "parameters": [
                {"name": name, "unit": unit, "value": _plain(v), "std": _plain(d), "interval": [_plain(l), _plain(h)]}
                for name, unit, v, d, l, h in rows
            ],
            "level": LEVEL,
            "frame_parameters": dict(zip(inertial.NAMES, self.phi.tolist(), strict=True)),
            "frame_std": dict(zip(inertial.NAMES, self.frame_std.tolist(), strict=True)),
            "frame_covariance": self.covariance.tolist(),
            "freedom": float(self.freedom),
            "assumption": in_one_line(self.assumptions),
            "remarks": texts(self.notes),
        }


def nearest_body(phi: Array, covariance: Array) -> Array:
    """φ (10,) with pseudo-inertia ⪰ 0, nearest in the metric of the covariance; scaled to unit mass and size, so that
    tolerances mean the same for every load."""
    j, std = pseudo_inertia(phi), np.sqrt(covariance.diagonal())
    mass = max(abs(phi[0]), std[0])
    size = np.sqrt(max(float(np.abs(j[:3, :3]).max()), float(std[4:].max())) / mass)
    scale = np.sqrt(mass) * np.array([size, size, size, 1.0])
    g = svec(pseudo_inertia(np.eye(10)) / np.outer(scale, scale)).T
    body = Cone("semidefinite", g, -MARGIN * svec(np.eye(4)), "the load is a body")
    ball = inertial.from_mass_com_inertia(mass, np.zeros(3), 0.4 * mass * size**2 * np.eye(3))
    return nearest(phi, Information.of_estimate(phi, covariance).r, [body], ball)


def _plain(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def quantities(phi: Array) -> Array:
    """(10,) QUANTITIES of φ: m, h/m, and I − (h·h 1 − h hᵀ)/m."""
    mass, h = phi[0] if phi[0] != 0.0 else np.nan, phi[1:4]
    about = inertial.inertia_matrix(phi) - (h @ h * np.eye(3) - np.outer(h, h)) / mass
    return np.concatenate([[phi[0]], h / mass, inertial.upper_triangle(about)])


def gradient(phi: Array) -> Array:
    """(10, 10) ∂ quantities / ∂φ."""
    mass, h, unit = phi[0] if phi[0] != 0.0 else np.nan, phi[1:4], np.eye(3)
    slopes = np.zeros((10, 10))
    slopes[0, 0] = 1.0
    slopes[1:4, 0], slopes[1:4, 1:4] = -h / mass**2, unit / mass
    for row, (a, b) in enumerate(zip(*np.triu_indices(3), strict=True), start=4):
        slopes[row, inertial.UPPER_TRIANGLE[row - 4]] = 1.0
        slopes[row, 0] = (h @ h * unit[a, b] - h[a] * h[b]) / mass**2
        slopes[row, 1:4] = -(2.0 * h * unit[a, b] - unit[a] * h[b] - h[a] * unit[b]) / mass
    return slopes
