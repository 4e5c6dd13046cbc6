"""Segments in NumPy, many at once, samples last: their closest points, and how near two that move can come between
samples. The compiled twin is ``kernels.capsules``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exciter.excitation.kernels import LEAST_MEAN_NORMAL, PARALLEL_SINE_SQUARED, POINT_SEGMENT_M2
from exciter.typing import Array


def closest_points(first: Array, second: Array) -> tuple[Array, Array, Array, Array]:
    """Of segments by their two ends, each (2, …, 3, N): distance (…, N) [m], the points (…, 3, N) on both that have it,
    and the unit normal (…, 3, N) from the second to the first. The squared distance of r + s u and t v is a convex
    parabola in (s, t): where it is smallest without bounds, then cut to [0, 1] one after the other. Lines that are
    nearly parallel leave s to rounding, so that there the ends of both segments are tried as well."""
    u, v, r = first[1] - first[0], second[1] - second[0], first[0] - second[0]
    a, b, e, c, f = _dot(u, u), _dot(u, v), _dot(v, v), _dot(u, r), _dot(v, r)
    area = a * e - b * b
    s = np.clip(_ratio(b * f - c * e, area, 0.0), 0.0, 1.0)
    t = np.clip(_ratio(b * s + f, e, POINT_SEGMENT_M2), 0.0, 1.0)
    s = np.where((t > 0.0) & (t < 1.0), s, np.clip(_ratio(b * t - c, a, POINT_SEGMENT_M2), 0.0, 1.0))
    best = _squared(r, u, v, s, t)
    zero, one = np.zeros_like(a), np.ones_like(a)
    ends = [(x, np.clip(_ratio(b * x + f, e, POINT_SEGMENT_M2), 0.0, 1.0)) for x in (zero, one)]
    ends += [(np.clip(_ratio(b * y - c, a, POINT_SEGMENT_M2), 0.0, 1.0), y) for y in (zero, one)]
    for x, y in ends:
        closer = (area <= PARALLEL_SINE_SQUARED * a * e) & (_squared(r, u, v, x, y) < best)
        s, t = np.where(closer, x, s), np.where(closer, y, t)
        best = np.where(closer, _squared(r, u, v, x, y), best)
    at, on = first[0] + s[..., None, :] * u, second[0] + t[..., None, :] * v
    apart = at - on
    distance = np.sqrt(_dot(apart, apart))
    across = np.cross(u, v, axis=-2)  # when they touch, some direction across both
    up = np.broadcast_to(np.array([0.0, 0.0, 1.0])[:, None], apart.shape)
    across = np.where(_dot(across, across)[..., None, :] > 0.0, across, up)
    normal = np.where(distance[..., None, :] > 0.0, apart, across)
    return distance, at, on, normal / np.sqrt(_dot(normal, normal))[..., None, :]


def _dot(x: Array, y: Array) -> Any:
    return (x * y).sum(axis=-2)


def _squared(r: Array, u: Array, v: Array, s: Array, t: Array) -> Any:
    apart = r + s[..., None, :] * u - t[..., None, :] * v
    return _dot(apart, apart)


def _ratio(numerator: Array, denominator: Array, smallest: float) -> Array:
    """numerator / denominator; 0 where that is not larger than ``smallest``."""
    usable = denominator > smallest
    return np.where(usable, numerator / np.where(usable, denominator, 1.0), 0.0)


def segments_apart(x: Array, slack: Array) -> Array:
    """(P, M) ≤ the distance of two segments throughout each interval: positions (P, 2, 2, 3, 2 M) of the two ends of
    both at the interval's ends, and how far (P, 2, 2, M) each can be from its chord.
    Differences of points of both segments are mixtures of the four differences of their ends; if these stay on one side
    of a plane, so do all. Planes: across the shortest connection at either end of the interval, and in between."""
    first, second = x[:, 0], x[:, 1]
    corner = first[:, :, None] - second[:, None, :]  # (P, 2, 2, 3, 2 M)
    far = slack[:, 0, :, None] + slack[:, 1, None, :]  # (P, 2, 2, M)
    *_, normal = closest_points(first.swapaxes(0, 1), second.swapaxes(0, 1))
    return best_plane(normal, lambda n: np.min(lowest_on_chord(n[:, None, None], corner, far), axis=(1, 2)))


def best_plane(normal: Array, apart: Callable[[Array], Array]) -> Array:
    """The largest of ``apart`` over unit normals (…, 3, M): those at both ends of each interval, and their mean."""
    left, right = normal[..., 0::2], normal[..., 1::2]
    mean = left + right
    length = np.sqrt((mean * mean).sum(axis=-2, keepdims=True))
    usable = length > LEAST_MEAN_NORMAL
    mean = np.where(usable, mean / np.where(usable, length, 1.0), left)
    return np.asarray(np.max([apart(n) for n in (left, right, mean)], axis=0))


def lowest_on_chord(normal: Array, x: Array, slack: Array) -> Array:
    """(…, M): n · x is at least this on the chord of x (…, 3, 2 M), within ``slack`` (…, M)."""
    left, right = ((normal * at).sum(axis=-2) for at in (x[..., 0::2], x[..., 1::2]))
    return np.asarray(np.minimum(left, right) - slack)
