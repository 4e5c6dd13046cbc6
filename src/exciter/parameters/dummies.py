"""Inertias that nobody measured: many descriptions carry placeholders so that simulators start at all."""

from __future__ import annotations

import numpy as np

from exciter.parameters.inertial import has_centre, mass_com_inertia
from exciter.robot.robot import Robot
from exciter.typing import Array

ALIKE = 1e-6  # relative difference of what counts as the same number
POINT = 1e-5  # [m] radius of gyration of what counts as a point
BALL = 1e-3  # relative difference of the principal moments of what counts as a ball


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
    if (size < POINT).all():
        return "all links are points: mass without moments of inertia"
    if len(bodies) > 1 and _alike(masses):
        if _alike(moments):
            return f"all links have the same mass ({masses[0]:.4g} kg) and the same moments of inertia"
        if np.allclose(masses, 1.0, rtol=ALIKE):
            return "all links have a mass of 1 kg"
    if len(bodies) > 1 and _alike(moments):
        return "all links have the same moments of inertia"
    centred = all(np.linalg.norm(centre) <= 1e-6 * s for (_, centre, _), s in zip(bodies, size, strict=True))
    if centred and (np.ptp(moments, axis=1) <= BALL * moments.max(axis=1)).all():
        return "all links are balls about the origins of their joints"
    return ""


def _alike(values: Array) -> bool:
    """Whether all links have the same numbers (links along the first dimension)."""
    return bool(np.allclose(values, values[0], rtol=ALIKE, atol=ALIKE * float(np.abs(values).max())))
