"""Closest points of segments in NumPy: many at once, samples last. The compiled twin is ``kernels.capsules``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.typing import Array

TINY = 1e-30  # [m²] a segment shorter than the root of this is a point
PARALLEL = 1e-8  # sin² of the angle below which the crossing point of two lines is mostly rounding


@dataclass(frozen=True, eq=False)
class Closest:
    """distance (…, N) [m]; points first and second (…, 3, N) on the two segments; the unit normal (…, 3, N) from the
    second to the first."""

    distance: Array
    first: Array
    second: Array
    normal: Array


def closest_points(first: tuple[Array, Array], second: tuple[Array, Array]) -> Closest:
    """Segments by their two ends, each (…, 3, N).

    The squared distance of r + s u and t v is a convex parabola in (s, t): where it is smallest without bounds, then
    cut to [0, 1] one after the other. Lines that are nearly parallel leave s to rounding, so that there the ends of
    both segments are tried as well.
    """
    u, v, r = first[1] - first[0], second[1] - second[0], first[0] - second[0]
    a, b, e, c, f = _dot(u, u), _dot(u, v), _dot(v, v), _dot(u, r), _dot(v, r)
    area = a * e - b * b
    s = np.clip(_ratio(b * f - c * e, area, 0.0), 0.0, 1.0)
    t = np.clip(_ratio(b * s + f, e, TINY), 0.0, 1.0)
    s = np.where((t > 0.0) & (t < 1.0), s, np.clip(_ratio(b * t - c, a, TINY), 0.0, 1.0))
    best = _squared(r, u, v, s, t)
    zero, one = np.zeros_like(a), np.ones_like(a)
    ends = [(x, np.clip(_ratio(b * x + f, e, TINY), 0.0, 1.0)) for x in (zero, one)]
    ends += [(np.clip(_ratio(b * y - c, a, TINY), 0.0, 1.0), y) for y in (zero, one)]
    for x, y in ends:
        closer = (area <= PARALLEL * a * e) & (_squared(r, u, v, x, y) < best)
        s, t = np.where(closer, x, s), np.where(closer, y, t)
        best = np.where(closer, _squared(r, u, v, x, y), best)
    at, on = first[0] + s[..., None, :] * u, second[0] + t[..., None, :] * v
    return _with_normal(at, on, u, v)


def _with_normal(at: Array, on: Array, u: Array, v: Array) -> Closest:
    apart = at - on
    distance = np.sqrt(_dot(apart, apart))
    across = np.cross(u, v, axis=-2)  # when they touch, some direction across both
    up = np.broadcast_to(np.array([0.0, 0.0, 1.0])[:, None], apart.shape)
    across = np.where(_dot(across, across)[..., None, :] > 0.0, across, up)
    normal = np.where(distance[..., None, :] > 0.0, apart, across)
    return Closest(distance, at, on, normal / np.sqrt(_dot(normal, normal))[..., None, :])


def _dot(x: Array, y: Array) -> Array:
    product: Array = (x * y).sum(axis=-2)
    return product


def _squared(r: Array, u: Array, v: Array, s: Array, t: Array) -> Array:
    apart = r + s[..., None, :] * u - t[..., None, :] * v
    return _dot(apart, apart)


def _ratio(numerator: Array, denominator: Array, smallest: float) -> Array:
    """numerator / denominator; 0 where that is not larger than ``smallest``."""
    usable = denominator > smallest
    return np.where(usable, numerator / np.where(usable, denominator, 1.0), 0.0)
