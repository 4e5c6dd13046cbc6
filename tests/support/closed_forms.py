"""Gautier and Khalil's arm in closed form."""

from __future__ import annotations

import numpy as np


def energy_row(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """h of the 15 base parameters in closed form: kinetic energy of ω_i, v_i in link frames and g·(first moments).

    Written from the table α = (0, −90°, 0), d3 = 0.5, r3 = 0.2 and nothing else of the package.
    """
    (_, q2, q3), (w1, w2, w3) = q, qd
    c2, s2, s23, c23 = np.cos(q2), np.sin(q2), np.sin(q2 + q3), np.cos(q2 + q3)
    x, y, z = -s2 * w1, -c2 * w1, w2  # ω of link 2 in its frame; its origin is at rest
    u, v, w = -s23 * w1, -c23 * w1, w2 + w3  # ω of link 3
    speed = np.cross([x, y, z], [0.5, 0.0, 0.2])  # of the origin of frame 3, in frame 2
    turn = np.array([[np.cos(q3), np.sin(q3), 0], [-np.sin(q3), np.cos(q3), 0], [0, 0, 1]])
    a, b, c = turn @ speed
    second = [0.5 * x * x, x * y, x * z, y * z, 0.5 * z * z]
    third = [0.5 * u * u, u * v, u * w, v * w, 0.5 * w * w]
    weight2 = 9.81 * np.array([-s2, -c2])  # g times the rise of frame 2's x and y axes
    moment3 = np.array([b * w - c * v, c * u - a * w]) + 9.81 * np.array([-s23, -c23])
    return np.array([0.5 * w1 * w1, *second, *weight2, *third, *moment3])


def closed_form_w(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """W (r, 15) of r + 1 chained points."""
    return np.diff([energy_row(*point) for point in zip(q, qd, strict=True)], axis=0)
