"""Torque of rigid bodies and its derivatives ∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈, about n² short products per sample.

Everything is seen in the base, about its origin. A joint's screw S = (w, t) has w = z, t = o × z (revolute) or
w = 0, t = z (prismatic). With the parent's twist v and acceleration a (a₀ = −g)

    Ṡ = v × S,    S̈ = a × S + v × Ṡ.

A body needs its moments m, h = Σ m r and Σ = Σ m r rᵀ, its momentum p, the matrix K = Σ m ṙ rᵀ and its wrench (N, F);
of each, the sum over all bodies beyond the joint. The Coriolis matrix of such a composite body is short: it takes
a twist (w, ·) to 2 (tr K w − K w, w × p), because a particle feels 2 m w × ṙ. Then, i beyond or equal to k,

    ∂τ_i/∂q_k = S_i·(2B_i Ṡ_k + I_i S̈_k),    ∂τ_i/∂q̇_k = 2 S_i·(B_i S_k + I_i Ṡ_k),    ∂τ_i/∂q̈_k = S_i·I_i S_k,

and j before k: ∂τ_j/∂q_k = S_j·(2B_k Ṡ_k + I_k S̈_k + S_k ×* F_k), ∂τ_j/∂q̇_k = 2 S_j·(B_k S_k + I_k Ṡ_k)."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import cross, jit, kernel

#: Numbers of a body: m · h (3) · Σ (xx, xy, yy, xz, yz, zz) · p (3) · K (9, row-major) · N (3) · F (3)
MASS_AT, FIRST_AT, SECOND_AT, MOMENTUM_AT, RATE_AT, MOMENT_AT, FORCE_AT, BODY_SIZE = 0, 1, 4, 10, 13, 22, 25, 28


@jit
def place(i, up, rotation, origin, slides, q, r, o):
    """Rotation r[i] and origin o[i] of link i in the base; index 0 is the base itself."""
    for a in range(3):
        x, y, z = r[up, a, 0], r[up, a, 1], r[up, a, 2]
        o[i, a] = o[up, a] + x * origin[0] + y * origin[1] + z * origin[2]
        for b in range(3):
            r[i, a, b] = x * rotation[0, b] + y * rotation[1, b] + z * rotation[2, b]
    if slides:
        for a in range(3):
            o[i, a] += r[i, a, 2] * q
    else:
        c, s = np.cos(q), np.sin(q)
        for a in range(3):
            x, y = r[i, a, 0], r[i, a, 1]
            r[i, a, 0] = c * x + s * y
            r[i, a, 1] = c * y - s * x


@jit
def twist_cross(v, s, out):
    """out = v × s of two twists (angular, linear)."""
    out[0], out[1], out[2] = cross(v[0], v[1], v[2], s[0], s[1], s[2])
    ax, ay, az = cross(v[0], v[1], v[2], s[3], s[4], s[5])
    bx, by, bz = cross(v[3], v[4], v[5], s[0], s[1], s[2])
    out[3], out[4], out[5] = ax + bx, ay + by, az + bz


@jit
def weigh(body, u, out):
    """out = I u: wrench (moment, force) of a twist u."""
    hx, hy, hz = body[FIRST_AT], body[FIRST_AT + 1], body[FIRST_AT + 2]
    xx, xy, yy = body[SECOND_AT], body[SECOND_AT + 1], body[SECOND_AT + 2]
    xz, yz, zz = body[SECOND_AT + 3], body[SECOND_AT + 4], body[SECOND_AT + 5]
    nx, ny, nz = cross(hx, hy, hz, u[3], u[4], u[5])
    fx, fy, fz = cross(u[0], u[1], u[2], hx, hy, hz)
    out[0] = nx + (yy + zz) * u[0] - xy * u[1] - xz * u[2]
    out[1] = ny + (xx + zz) * u[1] - xy * u[0] - yz * u[2]
    out[2] = nz + (xx + yy) * u[2] - xz * u[0] - yz * u[1]
    out[3], out[4], out[5] = fx + body[MASS_AT] * u[3], fy + body[MASS_AT] * u[4], fz + body[MASS_AT] * u[5]


@jit
def add_coriolis(body, u, out):
    """out += 2B u = 2 (tr K w − K w, w × p), of a twist u = (w, ·)."""
    k = body[RATE_AT : RATE_AT + 9]
    x, y, z = u[0], u[1], u[2]
    fx, fy, fz = cross(x, y, z, body[MOMENTUM_AT], body[MOMENTUM_AT + 1], body[MOMENTUM_AT + 2])
    out[0] += 2.0 * ((k[4] + k[8]) * x - k[1] * y - k[2] * z)
    out[1] += 2.0 * ((k[0] + k[8]) * y - k[3] * x - k[5] * z)
    out[2] += 2.0 * ((k[0] + k[4]) * z - k[6] * x - k[7] * y)
    out[3] += 2.0 * fx
    out[4] += 2.0 * fy
    out[5] += 2.0 * fz


@jit
def coriolis_row(body, s, out):
    """out (3,) with out·w = s·2B (w, ·)."""
    k = body[RATE_AT : RATE_AT + 9]
    x, y, z = s[0], s[1], s[2]
    px, py, pz = cross(body[MOMENTUM_AT], body[MOMENTUM_AT + 1], body[MOMENTUM_AT + 2], s[3], s[4], s[5])
    out[0] = 2.0 * ((k[4] + k[8]) * x - k[3] * y - k[6] * z + px)
    out[1] = 2.0 * ((k[0] + k[8]) * y - k[1] * x - k[7] * z + py)
    out[2] = 2.0 * ((k[0] + k[4]) * z - k[2] * x - k[5] * y + pz)


@jit
def moments(mass, first, second, r, o, body):
    """m, h and Σ about the base's origin, of a body known in its own frame (Σ as a full 3 × 3 matrix)."""
    body[MASS_AT] = mass
    for a in range(3):
        body[FIRST_AT + a] = r[a, 0] * first[0] + r[a, 1] * first[1] + r[a, 2] * first[2]
    at = SECOND_AT
    for a in range(3):
        x = r[a, 0] * second[0, 0] + r[a, 1] * second[1, 0] + r[a, 2] * second[2, 0]
        y = r[a, 0] * second[0, 1] + r[a, 1] * second[1, 1] + r[a, 2] * second[2, 1]
        z = r[a, 0] * second[0, 2] + r[a, 1] * second[1, 2] + r[a, 2] * second[2, 2]
        ha, oa = body[FIRST_AT + a], o[a]
        for b in range(a + 1):
            turned = x * r[b, 0] + y * r[b, 1] + z * r[b, 2]
            body[at] = turned + ha * o[b] + oa * body[FIRST_AT + b] + mass * oa * o[b]
            at += 1
    for a in range(3):
        body[FIRST_AT + a] += mass * o[a]


@jit
def move(body, v, a, work):
    """p, K and the wrench (N, F) of a body that moves with twist v and acceleration a."""
    wx, wy, wz = v[0], v[1], v[2]
    hx, hy, hz = body[FIRST_AT], body[FIRST_AT + 1], body[FIRST_AT + 2]
    weigh(body, v, work)  # momenta L, p
    lx, ly, lz, px, py, pz = work[0], work[1], work[2], work[3], work[4], work[5]
    body[MOMENTUM_AT], body[MOMENTUM_AT + 1], body[MOMENTUM_AT + 2] = px, py, pz
    xx, xy, yy = body[SECOND_AT], body[SECOND_AT + 1], body[SECOND_AT + 2]
    xz, yz, zz = body[SECOND_AT + 3], body[SECOND_AT + 4], body[SECOND_AT + 5]
    for b in range(3):
        x, y, z, h = xx, xy, xz, hx
        if b == 1:
            x, y, z, h = xy, yy, yz, hy
        elif b == 2:
            x, y, z, h = xz, yz, zz, hz
        cx, cy, cz = cross(wx, wy, wz, x, y, z)
        body[RATE_AT + b], body[RATE_AT + 3 + b], body[RATE_AT + 6 + b] = cx + v[3] * h, cy + v[4] * h, cz + v[5] * h
    weigh(body, a, work)
    nx, ny, nz = cross(wx, wy, wz, lx, ly, lz)
    ux, uy, uz = cross(v[3], v[4], v[5], px, py, pz)
    fx, fy, fz = cross(wx, wy, wz, px, py, pz)
    body[MOMENT_AT], body[MOMENT_AT + 1], body[MOMENT_AT + 2] = work[0] + nx + ux, work[1] + ny + uy, work[2] + nz + uz
    body[FORCE_AT], body[FORCE_AT + 1], body[FORCE_AT + 2] = work[3] + fx, work[4] + fy, work[5] + fz


@jit
def dot6(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@jit
def outward(parent, prismatic, rotation, origin, mass, first, second, q, qd, qdd, r, o, v, a, screw, bodies, work):
    """Placements, twists and bodies of all links at one sample; screw (n, 3, 6) holds S, Ṡ, S̈."""
    for i in range(parent.size):
        up, at = parent[i] + 1, i + 1
        place(at, up, rotation[i], origin[i], prismatic[i], q[i], r, o)
        s, sd, sdd = screw[i, 0], screw[i, 1], screw[i, 2]
        x, y, z = r[at, 0, 2], r[at, 1, 2], r[at, 2, 2]
        if prismatic[i]:
            s[0], s[1], s[2], s[3], s[4], s[5] = 0.0, 0.0, 0.0, x, y, z
        else:
            s[0], s[1], s[2] = x, y, z
            s[3], s[4], s[5] = cross(o[at, 0], o[at, 1], o[at, 2], x, y, z)
        twist_cross(v[up], s, sd)
        twist_cross(v[up], sd, sdd)
        twist_cross(a[up], s, work)
        for c in range(6):
            sdd[c] += work[c]
            v[at, c] = v[up, c] + s[c] * qd[i]
            a[at, c] = a[up, c] + s[c] * qdd[i] + sd[c] * qd[i]
        moments(mass[i], first[i], second[i], r[at], o[at], bodies[i])
        move(bodies[i], v[at], a[at], work)


@jit
def joint_columns(i, screw, body, y, b, x, yd):
    """What joint i contributes: rows y = I S, b of its own torque; columns x, yd of torques before it."""
    s, sd = screw[i, 0], screw[i, 1]
    weigh(body, s, y)
    coriolis_row(body, s, b)
    weigh(body, screw[i, 2], x)
    add_coriolis(body, sd, x)
    nx, ny, nz = cross(s[0], s[1], s[2], body[MOMENT_AT], body[MOMENT_AT + 1], body[MOMENT_AT + 2])
    ux, uy, uz = cross(s[3], s[4], s[5], body[FORCE_AT], body[FORCE_AT + 1], body[FORCE_AT + 2])
    fx, fy, fz = cross(s[0], s[1], s[2], body[FORCE_AT], body[FORCE_AT + 1], body[FORCE_AT + 2])
    x[0] += nx + ux
    x[1] += ny + uy
    x[2] += nz + uz
    x[3] += fx
    x[4] += fy
    x[5] += fz
    weigh(body, sd, yd)
    for c in range(6):
        yd[c] *= 2.0
    add_coriolis(body, s, yd)


@kernel
def torque_derivatives(parent, prismatic, rotation, origin, gravity, mass, first, second, q, qd, qdd,
                       tau, dq, dqd, dqdd):  # fmt: skip
    """τ (n, N) and its derivatives (n, n, N): torque, joint, sample. Entries of unrelated joints stay as they are.

    q, qd, qdd are (N, n); mass (n,), first (n, 3), second (n, 3, 3): m, Σ m r, Σ m r rᵀ in the link frames."""
    n = parent.size
    r, o = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3))
    v, a = np.zeros((n + 1, 6)), np.zeros((n + 1, 6))
    screw, bodies, work = np.empty((n, 3, 6)), np.empty((n, BODY_SIZE)), np.empty(6)
    y, b, x, yd = np.empty(6), np.empty(3), np.empty(6), np.empty(6)
    for c in range(3):
        r[0, c, c] = 1.0
        a[0, 3 + c] = -gravity[c]
    for t in range(q.shape[0]):
        outward(parent, prismatic, rotation, origin, mass, first, second, q[t], qd[t], qdd[t],
                r, o, v, a, screw, bodies, work)  # fmt: skip
        for i in range(n - 1, -1, -1):
            body, s = bodies[i], screw[i, 0]
            joint_columns(i, screw, body, y, b, x, yd)
            tau[i, t] = (
                s[0] * body[MOMENT_AT] + s[1] * body[MOMENT_AT + 1] + s[2] * body[MOMENT_AT + 2]
                + s[3] * body[FORCE_AT] + s[4] * body[FORCE_AT + 1] + s[5] * body[FORCE_AT + 2]
            )  # fmt: skip
            k = i
            while k >= 0:
                sk, sdk = screw[k, 0], screw[k, 1]
                dq[i, k, t] = b[0] * sdk[0] + b[1] * sdk[1] + b[2] * sdk[2] + dot6(y, screw[k, 2])
                dqd[i, k, t] = b[0] * sk[0] + b[1] * sk[1] + b[2] * sk[2] + 2.0 * dot6(y, sdk)
                dqdd[i, k, t] = dot6(y, sk)
                if k != i:
                    dq[k, i, t] = dot6(sk, x)
                    dqd[k, i, t] = dot6(sk, yd)
                    dqdd[k, i, t] = dqdd[i, k, t]
                k = parent[k]
            if parent[i] >= 0:
                for c in range(BODY_SIZE):
                    bodies[parent[i], c] += body[c]
