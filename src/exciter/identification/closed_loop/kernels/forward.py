"""Direct dynamics of one state, and steps in time: q̈ from drive torques, with dry friction that holds a joint at rest.

Everything is seen in the base, about its origin. A joint's screw S = (w, t) has w = z, t = o × z (revolute) or w = 0,
t = z (prismatic); a body is m, h = Σ m r and I, which add up over all bodies beyond a joint. So h(q, q̇) is Newton–Euler
with q̈ = 0, and M_ij = S_j · (I_i S_i) for j before or equal to i. Nothing asks a body to be one that can exist: M must
be positive definite, that is all. An arm is (parent, prismatic, rotation, origin, gravity: see ``Chain``; φ (n, 10) of
its links; forces: see ``joint_forces``; matrix, offset: how bodies follow joints, q = matrix u + offset, with
M_u = matrixᵀ M matrix; empty where each moves on its own).

Dry friction f_j lies within its bounds and is such that a joint whose velocity would change its sign within the present
step ends the step at rest: with u = q̈ + q̇/step, f_j = upper where u_j > 0, lower where u_j < 0, between where u_j = 0.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import cross
from exciter.dynamics.kernels.blocks import jit_exact as jit  # NaN must be seen
from exciter.dynamics.kernels.blocks import kernel_exact as kernel
from exciter.identification.closed_loop.kernels import joint_numbers as row

MOST_FRICTION_SWEEPS = 200  # of the search for friction forces when joints rest
SETTLED_FORCE_CHANGE = 1e-12  # of the bounds: change of a force that ends it


@jit
def place(i, up, rotation, origin, slides, angle, r, o):
    """Rotation r[i] and origin o[i] of link i − 1 in the base; index 0 is the base itself."""
    for a in range(3):
        x, y, z = r[up, a, 0], r[up, a, 1], r[up, a, 2]
        o[i, a] = o[up, a] + x * origin[0] + y * origin[1] + z * origin[2]
        for b in range(3):
            r[i, a, b] = x * rotation[0, b] + y * rotation[1, b] + z * rotation[2, b]
    if slides:
        for a in range(3):
            o[i, a] += r[i, a, 2] * angle
    else:
        c, s = np.cos(angle), np.sin(angle)
        for a in range(3):
            x, y = r[i, a, 0], r[i, a, 1]
            r[i, a, 0], r[i, a, 1] = c * x + s * y, c * y - s * x


@jit
def body_in_base(phi, r, o, body):
    """m, h and I (xx, xy, yy, xz, yz, zz) about the base's origin, of φ in the link's frame r, o."""
    m = phi[0]
    x = r[0, 0] * phi[1] + r[0, 1] * phi[2] + r[0, 2] * phi[3]
    y = r[1, 0] * phi[1] + r[1, 1] * phi[2] + r[1, 2] * phi[3]
    z = r[2, 0] * phi[1] + r[2, 1] * phi[2] + r[2, 2] * phi[3]
    k = 4
    for a in range(3):
        u = r[a, 0] * phi[4] + r[a, 1] * phi[5] + r[a, 2] * phi[7]
        v = r[a, 0] * phi[5] + r[a, 1] * phi[6] + r[a, 2] * phi[8]
        w = r[a, 0] * phi[7] + r[a, 1] * phi[8] + r[a, 2] * phi[9]
        for b in range(a + 1):
            body[k] = u * r[b, 0] + v * r[b, 1] + w * r[b, 2]
            k += 1
    # moved by o: I + 2 (o·h) E − (o hᵀ + h oᵀ) + m (o·o E − o oᵀ)
    ox, oy, oz = o[0], o[1], o[2]
    body[4] += 2.0 * (oy * y + oz * z) + m * (oy * oy + oz * oz)
    body[5] -= ox * y + oy * x + m * ox * oy
    body[6] += 2.0 * (ox * x + oz * z) + m * (ox * ox + oz * oz)
    body[7] -= ox * z + oz * x + m * ox * oz
    body[8] -= oy * z + oz * y + m * oy * oz
    body[9] += 2.0 * (ox * x + oy * y) + m * (ox * ox + oy * oy)
    body[0], body[1], body[2], body[3] = m, x + m * ox, y + m * oy, z + m * oz


@jit
def apply(body, s, out):
    """out (6) = I s: angular and linear momentum of a body that moves with the twist s."""
    m, hx, hy, hz = body[0], body[1], body[2], body[3]
    cx, cy, cz = cross(hx, hy, hz, s[3], s[4], s[5])
    out[0] = body[4] * s[0] + body[5] * s[1] + body[7] * s[2] + cx
    out[1] = body[5] * s[0] + body[6] * s[1] + body[8] * s[2] + cy
    out[2] = body[7] * s[0] + body[8] * s[1] + body[9] * s[2] + cz
    cx, cy, cz = cross(s[0], s[1], s[2], hx, hy, hz)
    out[3], out[4], out[5] = m * s[3] + cx, m * s[4] + cy, m * s[5] + cz


@jit
def twist_cross(v, s, out):
    """out = v × s of two twists (angular, linear)."""
    out[0], out[1], out[2] = cross(v[0], v[1], v[2], s[0], s[1], s[2])
    ax, ay, az = cross(v[0], v[1], v[2], s[3], s[4], s[5])
    bx, by, bz = cross(v[3], v[4], v[5], s[0], s[1], s[2])
    out[3], out[4], out[5] = ax + bx, ay + by, az + bz


@jit
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@jit
def memory(joints, arm):
    """What ``accelerate`` works on, made once for many calls: places, twists and bodies of links; M and forces; then
    those of the tree, where bodies follow joints."""
    gravity, n = arm[4], arm[0].size
    tree = n if arm[7].size else 0
    r, o, v, a = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 6)), np.zeros((n + 1, 6))
    for k in range(3):
        r[0, k, k] = 1.0
        a[0, 3 + k] = -gravity[k]
    links = (r, o, v, a, np.zeros((n, 6)), np.zeros((n, 10)), np.zeros((n, 6)), np.zeros(6))
    m = joints
    own = (np.zeros((m, m)), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m))
    return (*links, *own, np.zeros((tree, tree)), np.zeros(tree), np.zeros(tree), np.zeros(tree))


@jit
def rigid(arm, q, qd, work, mass, bias):
    """M (n, n) of the bodies alone, and the torque (n,) that q̇ and gravity take."""
    n = q.size
    parent, prismatic, rotation, origin, _, phi, _, _, _ = arm
    r, o, v, a, screw, body, f, moved = work
    for j in range(n):
        i, up, s = j + 1, parent[j] + 1, screw[j]
        place(i, up, rotation[j], origin[j], prismatic[j], q[j], r, o)
        x, y, z = r[i, 0, 2], r[i, 1, 2], r[i, 2, 2]
        if prismatic[j]:
            s[0], s[1], s[2], s[3], s[4], s[5] = 0.0, 0.0, 0.0, x, y, z
        else:
            s[0], s[1], s[2] = x, y, z
            s[3], s[4], s[5] = cross(o[i, 0], o[i, 1], o[i, 2], x, y, z)
        body_in_base(phi[j], r[i], o[i], body[j])
        twist_cross(v[up], s, moved)  # Ṡ = v × S
        for k in range(6):
            v[i, k] = v[up, k] + s[k] * qd[j]
            a[i, k] = a[up, k] + moved[k] * qd[j]
        apply(body[j], a[i], f[j])
        apply(body[j], v[i], moved)
        w = v[i]
        lx, ly, lz = cross(w[0], w[1], w[2], moved[0], moved[1], moved[2])  # v ×* (I v)
        mx, my, mz = cross(w[3], w[4], w[5], moved[3], moved[4], moved[5])
        px, py, pz = cross(w[0], w[1], w[2], moved[3], moved[4], moved[5])
        for k, more in enumerate((lx + mx, ly + my, lz + mz, px, py, pz)):
            f[j, k] += more
    mass[:, :] = 0.0
    for j in range(n - 1, -1, -1):
        bias[j] = dot(screw[j], f[j])
        apply(body[j], screw[j], moved)
        k = j
        while k >= 0:
            mass[j, k] = mass[k, j] = dot(screw[k], moved)
            k = parent[k]
        k = parent[j]
        if k >= 0:
            for c in range(6):
                f[k, c] += f[j, c]
            for c in range(10):
                body[k, c] += body[j, c]


@jit
def projected(arm, q, qd, work, tree, mass, bias):
    """As ``rigid``, of the joints that bodies follow."""
    matrix, offset = arm[7], arm[8]
    tree_mass, tree_bias, tree_q, tree_qd = tree
    bodies, n = matrix.shape
    for b in range(bodies):
        tree_q[b], tree_qd[b] = offset[b], 0.0
        for j in range(n):
            tree_q[b] += matrix[b, j] * q[j]
            tree_qd[b] += matrix[b, j] * qd[j]
    rigid(arm, tree_q, tree_qd, work, tree_mass, tree_bias)
    mass[:, :] = 0.0
    bias[:] = 0.0
    for b in range(bodies):
        for j in range(n):
            if matrix[b, j] == 0.0:
                continue
            bias[j] += matrix[b, j] * tree_bias[b]
            for c in range(bodies):
                for k in range(n):
                    mass[j, k] += matrix[b, j] * tree_mass[b, c] * matrix[c, k]


@jit
def smooth(forces, j, q, qd):
    """What joint j takes besides bodies, rotor and dry friction: viscous friction, offset, springs."""
    value = forces[row.VISCOUS_ROW, j] * qd + forces[row.OFFSET_ROW, j]
    if forces[row.ROOT_ROW, j] != 0.0:
        value += forces[row.ROOT_ROW, j] * qd * (qd * qd + forces[row.ROOT_WIDTH_ROW, j] ** 2) ** -0.25
    if forces[row.SINE_ROW, j] != 0.0 or forces[row.COSINE_ROW, j] != 0.0:
        value += forces[row.SINE_ROW, j] * np.sin(q) + forces[row.COSINE_ROW, j] * np.cos(q)
    if forces[row.BASE_ARM_ROW, j] != 0.0:
        angle, product = q + forces[row.ARM_OFFSET_ROW, j], forces[row.BASE_ARM_ROW, j] * forces[row.LINK_ARM_ROW, j]
        length = np.sqrt(
            forces[row.BASE_ARM_ROW, j] ** 2 + forces[row.LINK_ARM_ROW, j] ** 2 - 2.0 * product * np.cos(angle)
        )
        pull = forces[row.STIFFNESS_ROW, j] * (length - forces[row.FREE_LENGTH_ROW, j]) + forces[row.PRELOAD_ROW, j]
        value += pull * product * np.sin(angle) / length
    return value


@jit
def factored(matrix):
    """Cholesky factor in the lower half, in place; False where the matrix is not positive definite."""
    n = matrix.shape[0]
    for j in range(n):
        d = matrix[j, j]
        limit = 1e-12 * d
        for k in range(j):
            d -= matrix[j, k] * matrix[j, k]
        if not (d > limit and d > 0.0):
            return False
        d = np.sqrt(d)
        matrix[j, j] = d
        for i in range(j + 1, n):
            s = matrix[i, j]
            for k in range(j):
                s -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = s / d
    return True


@jit
def solved(factor, b, x):
    """x = M⁻¹ b."""
    n = b.size
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= factor[i, k] * x[k]
        x[i] = s / factor[i, i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= factor[k, i] * x[k]
        x[i] = s / factor[i, i]


@jit
def rest(factor, free, qd, step, low, high, friction, qdd):
    """Friction forces and accelerations when some joint comes to rest: projected Gauss–Seidel on u = u₀ − M⁻¹ f."""
    n = qd.size
    inverse, column, u = np.empty((n, n)), np.empty(n), np.empty(n)
    for j in range(n):
        column[:] = 0.0
        column[j] = 1.0
        solved(factor, column, inverse[j])
    solved(factor, free, u)
    for j in range(n):
        u[j] += qd[j] / step
        for k in range(n):
            u[j] -= inverse[j, k] * friction[k]
    for _ in range(MOST_FRICTION_SWEEPS):
        change = 0.0
        for j in range(n):
            wanted = min(max(friction[j] + u[j] / inverse[j, j], low[j]), high[j])
            d = wanted - friction[j]
            if d != 0.0:
                friction[j] = wanted
                for k in range(n):
                    u[k] -= inverse[k, j] * d
                change = max(change, abs(d) / (high[j] - low[j]))
        if change < SETTLED_FORCE_CHANGE:
            break
    for j in range(n):
        qdd[j] = u[j] - qd[j] / step


@jit
def accelerate(arm, q, qd, torque, step, work, qdd):
    """q̈ (n,) in place; False where M is not positive definite."""
    n, forces = q.size, arm[6]
    mass, free, low, high, friction, pushed = work[8:14]
    if arm[7].size:
        projected(arm, q, qd, work[:8], work[14:], mass, free)
    else:
        rigid(arm, q, qd, work[:8], mass, free)
    for j in range(n):
        mass[j, j] += forces[row.ROTOR_ROW, j]
        free[j] = torque[j] - free[j] - smooth(forces, j, q[j], qd[j])
        more = 0.0
        if forces[row.STRIBECK_ROW, j] != 0.0:
            more = forces[row.STRIBECK_ROW, j] * np.exp(-((qd[j] / forces[row.STRIBECK_VELOCITY_ROW, j]) ** 2))
        high[j] = max(forces[row.FORWARD_ROW, j] + more, 0.0)
        low[j] = -max(forces[row.BACKWARD_ROW, j] + more, 0.0)
        friction[j] = high[j] if qd[j] > 0.0 else low[j] if qd[j] < 0.0 else 0.0
        pushed[j] = free[j] - friction[j]
    if not factored(mass):
        return False
    solved(mass, pushed, qdd)
    for j in range(n):
        u = qdd[j] + qd[j] / step
        slips = (u > 0.0 and friction[j] == high[j]) or (u < 0.0 and friction[j] == low[j])
        if high[j] > low[j] and not slips:
            rest(mass, free, qd, step, low, high, friction, qdd)
            break
    return True


@kernel
def look(arm, q, qd, torque, step, qdd):
    """q̈ (n,) in place; False where M is not positive definite."""
    return accelerate(arm, q, qd, torque, step, memory(q.size, arm), qdd)


@kernel
def advance(arm, q, qd, torque, step, count, late):
    """q, q̇ (n,) in place after ``count`` steps and ``late`` seconds with the torque held (Runge and Kutta, order 4);
    False where M is not positive definite."""
    n = q.size
    work, at_q, v, a = memory(n, arm), np.empty(n), np.empty((4, n)), np.empty((4, n))
    for number in range(count + 1):
        h = step if number < count else late
        if h <= 0.0:
            break
        good = True
        for stage in range(4):
            part = h if stage == 3 else 0.5 * h
            for j in range(n):
                at_q[j] = q[j] + part * v[stage - 1, j] if stage else q[j]
                v[stage, j] = qd[j] + part * a[stage - 1, j] if stage else qd[j]
            good &= accelerate(arm, at_q, v[stage], torque, step, work, a[stage])
        if not good:
            return False
        for j in range(n):
            q[j] += h / 6.0 * (v[0, j] + 2.0 * v[1, j] + 2.0 * v[2, j] + v[3, j])
            qd[j] += h / 6.0 * (a[0, j] + 2.0 * a[1, j] + 2.0 * a[2, j] + a[3, j])
    return True
