"""Distances of the segments in capsules, all pairs at one sample after the other, with derivatives; and how a function
of one point on a body changes with the joints.

The closest points a, b of two segments minimise |a − b|, so that to first order they stay where they are on their
bodies: with n = (a − b)/|a − b|, ∂|a − b|/∂q_k = ± n·(z_k × (a − o_k)), + for joints that move only the first body,
− for those that move only the second; joints that move both (or none) change nothing."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import cross, jit, kernel
from exciter.excitation.kernels import LEAST_MEAN_NORMAL, PARALLEL_SINE_SQUARED, POINT_SEGMENT_M2, UNBOUNDED_M


@jit
def clamp(x):
    return min(max(x, 0.0), 1.0)


@jit
def dot(ax, ay, az, bx, by, bz):
    return ax * bx + ay * by + az * bz


@jit
def squared(r, u, v, s, t):
    """|r + s u − t v|²."""
    x = r[0] + s * u[0] - t * v[0]
    y = r[1] + s * u[1] - t * v[1]
    z = r[2] + s * u[2] - t * v[2]
    return x * x + y * y + z * z


@kernel
def closest(r, u, v):
    """(s, t) in [0, 1]² with |r + s u − t v| smallest: where the segments r + s u and t v are closest."""
    a, e = dot(u[0], u[1], u[2], u[0], u[1], u[2]), dot(v[0], v[1], v[2], v[0], v[1], v[2])
    c, f = dot(u[0], u[1], u[2], r[0], r[1], r[2]), dot(v[0], v[1], v[2], r[0], r[1], r[2])
    if a <= POINT_SEGMENT_M2:
        return 0.0, 0.0 if e <= POINT_SEGMENT_M2 else clamp(f / e)
    if e <= POINT_SEGMENT_M2:
        return clamp(-c / a), 0.0
    b = dot(u[0], u[1], u[2], v[0], v[1], v[2])
    area = a * e - b * b
    s = clamp((b * f - c * e) / area) if area > 0.0 else 0.0
    t = (b * s + f) / e
    if t < 0.0 or t > 1.0:
        t = clamp(t)
        s = clamp((b * t - c) / a)
    if area > PARALLEL_SINE_SQUARED * a * e:
        return s, t
    best = squared(r, u, v, s, t)  # nearly parallel: an end of one of them may be closer than what rounding left
    for k in range(4):
        x, y = 0.0, 0.0
        if k < 2:
            x = float(k)
            y = clamp((b * x + f) / e)
        else:
            y = float(k - 2)
            x = clamp((b * y - c) / a)
        d = squared(r, u, v, x, y)
        if d < best:
            best, s, t = d, x, y
    return s, t


@jit
def apart(r, u, v, s, t, n):
    """Distance of the closest points, and into n the direction from the second to the first; when they touch, some
    direction across both segments."""
    for c in range(3):
        n[c] = r[c] + s * u[c] - t * v[c]
    d = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    length = d
    if d == 0.0:
        n[0], n[1], n[2] = cross(u[0], u[1], u[2], v[0], v[1], v[2])
        length = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    if length == 0.0:
        n[0], n[1], n[2], length = 0.0, 0.0, 1.0, 1.0
    for c in range(3):
        n[c] /= length
    return d


@jit
def move_ends(joint, ends, r, o, t, out):
    """End points (2, 3) fixed on a body, into the base, at sample t."""
    for k in range(2):
        x, y, z = ends[k, 0], ends[k, 1], ends[k, 2]
        for c in range(3):
            out[k, c] = ends[k, c]
            if joint >= 0:
                out[k, c] = o[joint, c, t] + r[joint, c, 0, t] * x + r[joint, c, 1, t] * y + r[joint, c, 2, t] * z


@jit
def place_all(r, o, joint, ends, t, placed, z, p):
    """Ends (C, 2, 3) of all segments, axes z and origins p (n, 3) of all joints, in the base, at sample t."""
    for k in range(o.shape[0]):
        for c in range(3):
            z[k, c], p[k, c] = r[k, c, 2, t], o[k, c, t]
    for body in range(joint.size):
        move_ends(joint[body], ends[body], r, o, t, placed[body])


@jit
def meet(first, second, apart_by, u, v, normal, point):
    """Distance of two segments, the unit vector from the second to the first, and the point on the first."""
    for c in range(3):
        apart_by[c] = first[0, c] - second[0, c]
        u[c], v[c] = first[1, c] - first[0, c], second[1, c] - second[0, c]
    at, along = closest(apart_by, u, v)
    for c in range(3):
        point[c] = first[0, c] + at * u[c]
    return apart(apart_by, u, v, at, along, normal)


@jit
def slope(prismatic, z, p, point, normal):
    """Change of normal · point with a joint about (along) z through p."""
    if prismatic:
        return z[0] * normal[0] + z[1] * normal[1] + z[2] * normal[2]
    mx, my, mz = cross(point[0] - p[0], point[1] - p[1], point[2] - p[2], normal[0], normal[1], normal[2])
    return z[0] * mx + z[1] * my + z[2] * mz


@kernel
def segment_sensitivities(r, o, prismatic, joint, ends, pairs, first_on, on, weight, far, distance, total):
    """distance (P, N) [m] and total (P, N): the sum of |∂distance/∂q_k| weight_k, over the joints of the pair,
    on[first_on[p]:first_on[p + 1]]. Of segments farther apart than far (P,) [m], by the balls around them, the distance
    is that of the balls, and total is zero.

    r (n, 3, 3, N), o (n, 3, N): placements of the links; ends (C, 2, 3) in the frame of joint (C,), −1: the base."""
    n, samples = o.shape[0], o.shape[2]
    placed, apart_by, u, v, normal = np.empty((joint.size, 2, 3)), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    z, p, point = np.empty((n, 3)), np.empty((n, 3)), np.empty(3)
    middle, half = np.empty((joint.size, 3)), np.empty(joint.size)
    for body in range(joint.size):
        for c in range(3):
            u[c] = ends[body, 1, c] - ends[body, 0, c]
        half[body] = 0.5 * np.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    for t in range(samples):
        place_all(r, o, joint, ends, t, placed, z, p)
        for body in range(joint.size):
            for c in range(3):
                middle[body, c] = 0.5 * (placed[body, 0, c] + placed[body, 1, c])
        for pair in range(pairs.shape[0]):
            a, b = pairs[pair, 0], pairs[pair, 1]
            x, y, w = middle[a, 0] - middle[b, 0], middle[a, 1] - middle[b, 1], middle[a, 2] - middle[b, 2]
            apart_balls = np.sqrt(x * x + y * y + w * w) - half[a] - half[b]
            if apart_balls > far[pair]:
                distance[pair, t], total[pair, t] = apart_balls, 0.0
                continue
            first, second = placed[pairs[pair, 0]], placed[pairs[pair, 1]]
            distance[pair, t] = meet(first, second, apart_by, u, v, normal, point)
            summed = 0.0
            for m in range(first_on[pair], first_on[pair + 1]):
                k = on[m]
                summed += weight[k] * abs(slope(prismatic[k], z[k], p[k], point, normal))
            total[pair, t] = summed


@kernel
def segment_slopes(r, o, prismatic, joint, ends, pairs, side, row, at, dq):
    """Derivatives dq (M, n) of the distances of pairs row (M,) at samples at (M,), which must not fall; other arguments
    as above. side (P, n): +1 for a joint that moves only the first segment of a pair, −1 only the second, 0 both or
    none."""
    n, last = o.shape[0], -1
    placed, apart_by, u, v, normal = np.empty((joint.size, 2, 3)), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    z, p, point = np.empty((n, 3)), np.empty((n, 3)), np.empty(3)
    for m in range(row.size):
        if at[m] != last:
            last = at[m]
            place_all(r, o, joint, ends, last, placed, z, p)
        pair = row[m]
        meet(placed[pairs[pair, 0]], placed[pairs[pair, 1]], apart_by, u, v, normal, point)
        for k in range(n):
            lever = side[pair, k]
            if lever != 0.0:
                lever *= slope(prismatic[k], z[k], p[k], point, normal)
            dq[m, k] = lever


@jit
def lowest_along(n, first, second, slack, a, b, interval):
    """n · (point of the first − point of the second segment) is at least this throughout an interval: all four
    differences of their ends at both ends of it, less how far each can be from its chord. Arguments as below."""
    lowest = UNBOUNDED_M
    for i in range(2):
        for j in range(2):
            far = slack[a, i, interval] + slack[b, j, interval]
            for side in range(2):
                apart_by = (
                    n[0] * (first[side, i, 0] - second[side, j, 0])
                    + n[1] * (first[side, i, 1] - second[side, j, 1])
                    + n[2] * (first[side, i, 2] - second[side, j, 2])
                )
                lowest = min(lowest, apart_by - far)
    return lowest


@kernel
def segments_apart(x, slack, pairs, out):
    """out (P, M) ≤ the distance of pairs (P, 2) of segments throughout each of M intervals, by planes across their
    shortest connections at both ends of it, and in between. x (C, 2, 3, 2 M): ends of the segments at the ends of the
    intervals, slack (C, 2, M): how far each can be from its chord."""
    first, second = np.empty((2, 2, 3)), np.empty((2, 2, 3))  # side of the interval, end of the segment
    apart_by, u, v, point, mean = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    normal = np.empty((2, 3))
    for pair in range(pairs.shape[0]):
        a, b = pairs[pair, 0], pairs[pair, 1]
        for interval in range(out.shape[1]):
            for side in range(2):
                for i in range(2):
                    for c in range(3):
                        first[side, i, c] = x[a, i, c, 2 * interval + side]
                        second[side, i, c] = x[b, i, c, 2 * interval + side]
                meet(first[side], second[side], apart_by, u, v, normal[side], point)
            for c in range(3):
                mean[c] = normal[0, c] + normal[1, c]
            length = np.sqrt(mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2])
            best = -UNBOUNDED_M
            for side in range(2):
                best = max(best, lowest_along(normal[side], first, second, slack, a, b, interval))
            if length > LEAST_MEAN_NORMAL:
                for c in range(3):
                    mean[c] /= length
                best = max(best, lowest_along(mean, first, second, slack, a, b, interval))
            out[pair, interval] = best


@kernel
def pull(r, o, prismatic, path, x, g, dq):
    """dq[m, k] = g[m]·∂x/∂q_k for the joints k of a path from the base to the body that carries x; others are zero.

    r (n, 3, 3, N), o (n, 3, N): placements of the links; x (3, N), g (m, 3, N), dq (m, n, N)."""
    dq[:] = 0.0
    for m in range(g.shape[0]):
        gx, gy, gz = g[m, 0], g[m, 1], g[m, 2]
        for k in path:
            zx, zy, zz, out = r[k, 0, 2], r[k, 1, 2], r[k, 2, 2], dq[m, k]
            if prismatic[k]:
                for t in range(out.size):
                    out[t] = zx[t] * gx[t] + zy[t] * gy[t] + zz[t] * gz[t]
            else:
                ox, oy, oz, px, py, pz = o[k, 0], o[k, 1], o[k, 2], x[0], x[1], x[2]
                for t in range(out.size):
                    mx, my, mz = cross(px[t] - ox[t], py[t] - oy[t], pz[t] - oz[t], gx[t], gy[t], gz[t])
                    out[t] = zx[t] * mx + zy[t] * my + zz[t] * mz
