"""Energies, momenta and placements on blocks. Momentum is Newton–Euler of velocities: with q̇ = 0, q̈ := q̇ and no
gravity the outward recursion yields ω in place of α and v in place of a."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import (
    ACC,
    ALPHA,
    LINK,
    SCREW,
    SV,
    SW,
    TEN,
    B,
    P,
    base_link,
    carry_screw,
    cross,
    forward,
    jit,
    kernel,
    load,
    regressor_rows,
    store,
    vec,
    workspace,
)


@jit
def kinetic_rows(link, rows):
    """Kinetic energy per parameter [12.33], from ω (in ALPHA) and v (in ACC)."""
    for b in range(B):
        x, y, z = vec(link, ALPHA, b)
        vx, vy, vz = vec(link, ACC, b)
        rows[b] = 0.5 * (vx * vx + vy * vy + vz * vz)
        rows[B + b], rows[2 * B + b], rows[3 * B + b] = cross(vx, vy, vz, x, y, z)
        rows[4 * B + b] = 0.5 * x * x
        rows[5 * B + b] = x * y
        rows[6 * B + b] = 0.5 * y * y
        rows[7 * B + b] = x * z
        rows[8 * B + b] = y * z
        rows[9 * B + b] = 0.5 * z * z


@jit
def own_twist(link, screw, twist):
    """∂V_j/∂q_j = V_j × S_j of a joint's own link."""
    for b in range(B):
        wx, wy, wz = vec(link, ALPHA, b)
        vx, vy, vz = vec(link, ACC, b)
        ax, ay, az = vec(screw, SV, b)
        sx, sy, sz = vec(screw, SW, b)
        cx, cy, cz = cross(wx, wy, wz, ax, ay, az)
        dx, dy, dz = cross(vx, vy, vz, sx, sy, sz)
        ex, ey, ez = cross(wx, wy, wz, sx, sy, sz)
        twist[b], twist[B + b], twist[2 * B + b] = cx + dx, cy + dy, cz + dz
        twist[SW + b], twist[SW + B + b], twist[SW + 2 * B + b] = ex, ey, ez


@jit
def carry_twists(parent, first, links, screws, twists):
    for i in range(parent.size):
        link = links[(i + 1) * LINK : (i + 2) * LINK]
        above = first[parent[i]] if parent[i] >= 0 else 0
        for k in range(first[i + 1] - first[i] - 1):
            source = twists[(above + k) * SCREW : (above + k + 1) * SCREW]
            carry_screw(link, source, twists[(first[i] + k) * SCREW : (first[i] + k + 1) * SCREW])
        own = slice((first[i + 1] - 1) * SCREW, first[i + 1] * SCREW)
        own_twist(link, screws[own], twists[own])


@kernel
def lagrange(parent, prismatic, rotation, origin, gravity, first, joint, q, qd, begin, end,
             e, u, momentum, de_dq, du_dq):  # fmt: skip
    """Fill e, u (n, 10, N) and momentum, de_dq, du_dq (n, n, 10, N) for samples begin … end."""
    n = parent.size
    links, screws, bq, bv, still, cs = workspace(n, first[n])
    still[:] = 0.0
    ten, twists, heights = np.empty(TEN), np.empty(first[n] * SCREW), np.empty((n + 1) * B)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qd, bq, bv, bv)
        base_link(links, np.zeros(3))
        forward(parent, prismatic, rotation, origin, first, bq, still, bv, links, screws, cs)
        carry_twists(parent, first, links, screws, twists)
        for i in range(n):
            link = links[(i + 1) * LINK : (i + 2) * LINK]
            kinetic_rows(link, ten)
            store(ten, e[i], start, count)
            for k in range(first[i], first[i + 1]):
                regressor_rows(link, screws[k * SCREW : (k + 1) * SCREW], ten)
                store(ten, momentum[joint[k], i], start, count)
                regressor_rows(link, twists[k * SCREW : (k + 1) * SCREW], ten)
                store(ten, de_dq[joint[k], i], start, count)
        base_link(links, gravity)
        forward(parent, prismatic, rotation, origin, first, bq, still, still, links, screws, cs)
        heights[:B] = 0.0
        for i in range(n):
            link = links[(i + 1) * LINK : (i + 2) * LINK]
            up = links[(parent[i] + 1) * LINK : (parent[i] + 2) * LINK]
            for b in range(B):  # −g·origin grows by −g·p along the chain; ACC holds −g
                px, py, pz = vec(link, P, b)
                ax, ay, az = vec(up, ACC, b)
                heights[(i + 1) * B + b] = heights[(parent[i] + 1) * B + b] + px * ax + py * ay + pz * az
            for b in range(count):
                u[i, 0, start + b] = heights[(i + 1) * B + b]
                u[i, 1, start + b], u[i, 2, start + b], u[i, 3, start + b] = vec(link, ACC, b)
                u[i, 4:, start + b] = 0.0
            for k in range(first[i], first[i + 1]):
                regressor_rows(link, screws[k * SCREW : (k + 1) * SCREW], ten)
                store(ten, du_dq[joint[k], i], start, count)


@kernel
def placements(parent, prismatic, rotation, origin, gravity, first, q, begin, end, r, p, sv, sw):
    """World placement r (n, 3, 3, N), p (n, 3, N) of every link and its screws sv, sw (P, 3, N)."""
    n = parent.size
    links, screws, bq, still, _, cs = workspace(n, first[n])
    still[:] = 0.0
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, q, q, bq, bq, bq)
        forward(parent, prismatic, rotation, origin, first, bq, still, still, links, screws, cs)
        for i in range(n):
            link = links[(i + 1) * LINK : (i + 2) * LINK]
            up = parent[i]
            for row in range(3):
                for b in range(count):
                    t = start + b
                    x, y, z = 0.0, 0.0, 0.0
                    if up >= 0:
                        x, y, z = r[up, row, 0, t], r[up, row, 1, t], r[up, row, 2, t]
                    elif row == 0:
                        x = 1.0
                    elif row == 1:
                        y = 1.0
                    else:
                        z = 1.0
                    r[i, row, 0, t] = x * link[b] + y * link[3 * B + b] + z * link[6 * B + b]
                    r[i, row, 1, t] = x * link[B + b] + y * link[4 * B + b] + z * link[7 * B + b]
                    r[i, row, 2, t] = x * link[2 * B + b] + y * link[5 * B + b] + z * link[8 * B + b]
                    px, py, pz = vec(link, P, b)
                    p[i, row, t] = x * px + y * py + z * pz
                    if up >= 0:
                        p[i, row, t] += p[up, row, t]
        for k in range(first[n]):
            screw = screws[k * SCREW : (k + 1) * SCREW]
            for b in range(count):
                t = start + b
                sv[k, 0, t], sv[k, 1, t], sv[k, 2, t] = vec(screw, SV, b)
                sw[k, 0, t], sw[k, 1, t], sw[k, 2, t] = vec(screw, SW, b)
