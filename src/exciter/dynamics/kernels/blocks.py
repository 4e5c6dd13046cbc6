"""Numba twin of ``reference``: the same equations on blocks of 64 samples, laid out so that they vectorise.

Every quantity of a block is a *row* of 64 consecutive numbers, one per sample; a vector is three rows, a link
and a screw are a few vectors. Functions receive flat contiguous views of one link or one screw and index them
with literals: that is what the compiler needs to prove that rows do not overlap (2-D strides defeat it).

The functions of this folder call each other across files, which Numba's disk cache does not notice; ``cache``
drops what is stale. They release the GIL, so that disjoint ranges of samples can run in threads.

Rows of a link:  R (9, row-major, link frame in parent) · ω · α · a · p (origin in the parent frame)
Rows of a screw: s_v · s_w of one ancestor joint, seen in the link frame
Rows of a seed or regressor block: the ten inertial parameters in Pinocchio's order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

B = 64  # samples per block; a literal, since a cached kernel does not notice a changed global
OMEGA, ALPHA, ACC, P, LINK = 9 * B, 12 * B, 15 * B, 18 * B, 21 * B  # R comes first, at 0
SV, SW, SCREW = 0, 3 * B, 6 * B
TEN = 10 * B

# Inlined always: a helper that is called instead would be, in the process that compiles, the copy linked first, and in
# the next one the copy in the cache, rounded differently; the same seed would give two designs.
HOW: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "forceinline": True,
    "no_cfunc_wrapper": True,
}
kernel = njit(fastmath=True, **HOW)  # what Python calls
# Only other kernels call these: what would unpack arguments of Python takes as long to compile as they do.
INNER = {**HOW, "no_cpython_wrapper": True}
jit = njit(fastmath=True, **INNER)
# Cody–Waite argument reduction relies on the order of operations, which fastmath would change. It must be switched
# off by name: a function that says nothing inherits it from its caller.
kernel_exact = njit(fastmath=False, **HOW)
jit_exact = njit(fastmath=False, **INNER)


@jit
def vec(rows, o, b):
    return rows[o + b], rows[o + B + b], rows[o + 2 * B + b]


@jit
def cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@jit
def to_child(link, b, x, y, z):
    """Rᵀ u: a parent-frame vector seen in the link frame."""
    return (
        link[b] * x + link[3 * B + b] * y + link[6 * B + b] * z,
        link[B + b] * x + link[4 * B + b] * y + link[7 * B + b] * z,
        link[2 * B + b] * x + link[5 * B + b] * y + link[8 * B + b] * z,
    )


@jit
def to_parent(link, b, x, y, z):
    """R u: a link-frame vector seen in the parent frame."""
    return (
        link[b] * x + link[B + b] * y + link[2 * B + b] * z,
        link[3 * B + b] * x + link[4 * B + b] * y + link[5 * B + b] * z,
        link[6 * B + b] * x + link[7 * B + b] * y + link[8 * B + b] * z,
    )


@jit_exact
def sin_cos(q, cs):
    """cos and sin of a block, branch-free so that it vectorises; within 2e-16 of libm's for |q| < 10⁵.

    Reduction to [−π/4, π/4] by a two-part π/2, then the minimax polynomials used by every libm."""
    for b in range(B):
        x = q[b]
        k = np.floor(x * 0.63661977236758138 + 0.5)
        r = (x - k * 1.57079632673412561417) - k * 6.07710050650619224932e-11
        z = r * r
        s = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08
        s = ((s * z + 2.75573137070700676789e-06) * z - 1.98412698298579493134e-04) * z
        s = r + r * z * ((s + 8.33333333332248946124e-03) * z - 1.66666666666666324348e-01)
        c = 2.08757232129817482790e-09 - 1.13596475577881948265e-11 * z
        c = ((c * z - 2.75573143513906633035e-07) * z + 2.48015872894767294178e-05) * z
        c = 1.0 - (0.5 * z - z * z * ((c - 1.38888888888741095749e-03) * z + 4.16666666666666019037e-02))
        quadrant = k - 4.0 * np.floor(0.25 * k)
        odd = quadrant == 1.0 or quadrant == 3.0
        cosine = s if odd else c
        sine = c if odd else s
        cs[b] = -cosine if (quadrant == 1.0 or quadrant == 2.0) else cosine
        cs[B + b] = -sine if quadrant >= 2.0 else sine


@jit
def place(link, rotation, origin, slide, q, cs):
    """R = A·Rot_z(q) and p = p₀ for a revolute joint; R = A and p = p₀ + A ẑ q for a prismatic one."""
    a00, a01, a02 = rotation[0, 0], rotation[0, 1], rotation[0, 2]
    a10, a11, a12 = rotation[1, 0], rotation[1, 1], rotation[1, 2]
    a20, a21, a22 = rotation[2, 0], rotation[2, 1], rotation[2, 2]
    px, py, pz = origin[0], origin[1], origin[2]
    for b in range(B):
        c, s = cs[b], cs[B + b]
        link[b] = c * a00 + s * a01
        link[B + b] = c * a01 - s * a00
        link[2 * B + b] = a02
        link[3 * B + b] = c * a10 + s * a11
        link[4 * B + b] = c * a11 - s * a10
        link[5 * B + b] = a12
        link[6 * B + b] = c * a20 + s * a21
        link[7 * B + b] = c * a21 - s * a20
        link[8 * B + b] = a22
        x = slide * q[b]
        link[P + b] = px + a02 * x
        link[P + B + b] = py + a12 * x
        link[P + 2 * B + b] = pz + a22 * x


@jit
def accelerate(link, up, turn, slide, qd, qdd):
    """ω, α and a (with a₀ = −g) of a link from those of its parent ``up``."""
    for b in range(B):
        wx, wy, wz = vec(up, OMEGA, b)
        lx, ly, lz = vec(up, ALPHA, b)
        px, py, pz = vec(link, P, b)
        tx, ty, tz = cross(wx, wy, wz, px, py, pz)
        cx, cy, cz = cross(wx, wy, wz, tx, ty, tz)
        ex, ey, ez = cross(lx, ly, lz, px, py, pz)
        ax, ay, az = vec(up, ACC, b)
        ox, oy, oz = to_child(link, b, wx, wy, wz)
        lx, ly, lz = to_child(link, b, lx, ly, lz)
        ax, ay, az = to_child(link, b, ax + ex + cx, ay + ey + cy, az + ez + cz)
        tv = turn * qd[b]
        sv = 2.0 * slide * qd[b]
        link[OMEGA + b] = ox
        link[OMEGA + B + b] = oy
        link[OMEGA + 2 * B + b] = oz + tv
        link[ALPHA + b] = lx + oy * tv
        link[ALPHA + B + b] = ly - ox * tv
        link[ALPHA + 2 * B + b] = lz + turn * qdd[b]
        link[ACC + b] = ax + oy * sv
        link[ACC + B + b] = ay - ox * sv
        link[ACC + 2 * B + b] = az + slide * qdd[b]


@jit
def carry_screw(link, above, screw):
    """The screw of an ancestor joint, from the parent's frame to the link's."""
    for b in range(B):
        px, py, pz = vec(link, P, b)
        wx, wy, wz = vec(above, SW, b)
        vx, vy, vz = vec(above, SV, b)
        cx, cy, cz = cross(wx, wy, wz, px, py, pz)
        vx, vy, vz = to_child(link, b, vx + cx, vy + cy, vz + cz)
        wx, wy, wz = to_child(link, b, wx, wy, wz)
        screw[b], screw[B + b], screw[2 * B + b] = vx, vy, vz
        screw[SW + b], screw[SW + B + b], screw[SW + 2 * B + b] = wx, wy, wz


@jit
def own_screw(screw, turn, slide):
    screw[:] = 0.0
    for b in range(B):
        screw[2 * B + b] = slide
        screw[SW + 2 * B + b] = turn


@jit
def workspace(n, pairs):
    """Rows of one block: links (the base first), screws, q, q̇, q̈, and cos/sin of one joint."""
    rows = n * B
    return (
        np.empty((n + 1) * LINK), np.empty(pairs * SCREW),
        np.empty(rows), np.empty(rows), np.empty(rows), np.empty(2 * B),
    )  # fmt: skip


@jit
def base_link(links, gravity):
    links[:LINK] = 0.0
    for k in range(3):
        links[ACC + k * B : ACC + (k + 1) * B] = -gravity[k]


@jit
def load(start, count, q, qd, qdd, bq, bv, ba):
    """Copy samples start … start+count of the (n, N) motion into rows, zero behind them."""
    for source, rows in ((q, bq), (qd, bv), (qdd, ba)):
        for i in range(source.shape[0]):
            copy(source[i, start : start + count], rows[i * B : i * B + count])
            rows[i * B + count : (i + 1) * B] = 0.0


@jit
def forward(parent, prismatic, rotation, origin, first, q, qd, qdd, links, screws, cs):
    """Everything that depends on the motion only: placements, ω, α, a, and all screws."""
    for i in range(parent.size):
        link = links[(i + 1) * LINK : (i + 2) * LINK]
        up = links[(parent[i] + 1) * LINK : (parent[i] + 2) * LINK]
        slide = 1.0 if prismatic[i] else 0.0
        turn = 1.0 - slide
        qi = q[i * B : (i + 1) * B]
        if prismatic[i]:
            cs[:B] = 1.0
            cs[B:] = 0.0
        else:
            sin_cos(qi, cs)
        place(link, rotation[i], origin[i], slide, qi, cs)
        accelerate(link, up, turn, slide, qd[i * B : (i + 1) * B], qdd[i * B : (i + 1) * B])
        depth = first[i + 1] - first[i]
        above = first[parent[i]] if parent[i] >= 0 else 0
        for k in range(depth - 1):  # a parent's ancestors are a prefix of its child's
            source = screws[(above + k) * SCREW : (above + k + 1) * SCREW]
            carry_screw(link, source, screws[(first[i] + k) * SCREW : (first[i] + k + 1) * SCREW])
        own_screw(screws[(first[i + 1] - 1) * SCREW : first[i + 1] * SCREW], turn, slide)


@jit
def regressor_rows(link, screw, rows):
    """Row of joint j for link i: s_v·F + s_w·N is linear in the link's ten parameters; these are its coefficients.

    m: s_v·a;  first moments: s_v×α + ω(s_v·ω) − s_v(ω·ω) + a×s_w;  inertia: symmetric part of s_w αᵀ + (s_w×ω) ωᵀ."""
    for b in range(B):
        wx, wy, wz = vec(link, OMEGA, b)
        lx, ly, lz = vec(link, ALPHA, b)
        ax, ay, az = vec(link, ACC, b)
        vx, vy, vz = vec(screw, SV, b)
        sx, sy, sz = vec(screw, SW, b)
        vw = vx * wx + vy * wy + vz * wz
        ww = wx * wx + wy * wy + wz * wz
        tx, ty, tz = cross(sx, sy, sz, wx, wy, wz)
        rows[b] = vx * ax + vy * ay + vz * az
        rows[B + b] = vy * lz - vz * ly + wx * vw - vx * ww + ay * sz - az * sy
        rows[2 * B + b] = vz * lx - vx * lz + wy * vw - vy * ww + az * sx - ax * sz
        rows[3 * B + b] = vx * ly - vy * lx + wz * vw - vz * ww + ax * sy - ay * sx
        rows[4 * B + b] = sx * lx + tx * wx
        rows[5 * B + b] = sx * ly + sy * lx + tx * wy + ty * wx
        rows[6 * B + b] = sy * ly + ty * wy
        rows[7 * B + b] = sx * lz + sz * lx + tx * wz + tz * wx
        rows[8 * B + b] = sy * lz + sz * ly + ty * wz + tz * wy
        rows[9 * B + b] = sz * lz + tz * wz


@jit
def copy(source, target):
    for b in range(source.size):
        target[b] = source[b]


@jit
def store(rows, out, start, count):
    """Copy the first samples of rows into out (rows, N) from sample ``start`` on. How many rows is not a literal: ten
    copies of the loop take ten times as long to compile, and no less to run."""
    for row in range(out.shape[0]):
        copy(rows[row * B : row * B + count], out[row, start : start + count])


@jit
def regressor_adjoint(link, screw, g, link_bar, screw_bar):
    """Adjoint of ``regressor_rows`` for seed g: Newton–Euler with g as an inertia.

    s̄_v = F(g), s̄_w = N(g);  ω̄, ᾱ, ā (rows OMEGA, ALPHA, ACC shifted to 0, 3B, 6B) accumulate over the joints."""
    for b in range(B):
        wx, wy, wz = vec(link, OMEGA, b)
        lx, ly, lz = vec(link, ALPHA, b)
        ax, ay, az = vec(link, ACC, b)
        vx, vy, vz = vec(screw, SV, b)
        sx, sy, sz = vec(screw, SW, b)
        m = g[b]
        hx, hy, hz = vec(g, B, b)
        xx, xy, yy = vec(g, 4 * B, b)
        xz, yz, zz = vec(g, 7 * B, b)
        # F(g) = m a + α×h + ω(ω·h) − h(ω·ω)
        wh = wx * hx + wy * hy + wz * hz
        ww = wx * wx + wy * wy + wz * wz
        screw_bar[b] = m * ax + ly * hz - lz * hy + wx * wh - hx * ww
        screw_bar[B + b] = m * ay + lz * hx - lx * hz + wy * wh - hy * ww
        screw_bar[2 * B + b] = m * az + lx * hy - ly * hx + wz * wh - hz * ww
        # N(g) = I α + ω×(I ω) + h×a
        ix, iy, iz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
        screw_bar[SW + b] = xx * lx + xy * ly + xz * lz + wy * iz - wz * iy + hy * az - hz * ay
        screw_bar[SW + B + b] = xy * lx + yy * ly + yz * lz + wz * ix - wx * iz + hz * ax - hx * az
        screw_bar[SW + 2 * B + b] = xz * lx + yz * ly + zz * lz + wx * iy - wy * ix + hx * ay - hy * ax
        # ω̄ = h(s_v·ω) + s_v(ω·h) − 2ω(s_v·h) + I(s_w×ω) + (I ω)×s_w
        vw = vx * wx + vy * wy + vz * wz
        vh = 2.0 * (vx * hx + vy * hy + vz * hz)
        tx, ty, tz = cross(sx, sy, sz, wx, wy, wz)
        link_bar[b] += hx * vw + vx * wh - wx * vh + xx * tx + xy * ty + xz * tz + iy * sz - iz * sy
        link_bar[B + b] += hy * vw + vy * wh - wy * vh + xy * tx + yy * ty + yz * tz + iz * sx - ix * sz
        link_bar[2 * B + b] += hz * vw + vz * wh - wz * vh + xz * tx + yz * ty + zz * tz + ix * sy - iy * sx
        # ᾱ = h×s_v + I s_w
        link_bar[3 * B + b] += hy * vz - hz * vy + xx * sx + xy * sy + xz * sz
        link_bar[4 * B + b] += hz * vx - hx * vz + xy * sx + yy * sy + yz * sz
        link_bar[5 * B + b] += hx * vy - hy * vx + xz * sx + yz * sy + zz * sz
        # ā = m s_v + s_w×h
        link_bar[6 * B + b] += m * vx + sy * hz - sz * hy
        link_bar[7 * B + b] += m * vy + sz * hx - sx * hz
        link_bar[8 * B + b] += m * vz + sx * hy - sy * hx


@jit
def carry_screw_adjoint(link, screw, screw_bar, above_bar, turn, grad):
    """Adjoint of ``carry_screw``: to the parent's screw, and to q through the rotation: −ẑ·Σ m×m̄."""
    for b in range(B):
        vx, vy, vz = vec(screw_bar, SV, b)
        wx, wy, wz = vec(screw_bar, SW, b)
        spin = screw[b] * vy - screw[B + b] * vx + screw[SW + b] * wy - screw[SW + B + b] * wx
        grad[b] -= turn * spin
        px, py, pz = vec(link, P, b)
        ux, uy, uz = to_parent(link, b, vx, vy, vz)
        wx, wy, wz = to_parent(link, b, wx, wy, wz)
        cx, cy, cz = cross(px, py, pz, ux, uy, uz)
        above_bar[b] += ux
        above_bar[B + b] += uy
        above_bar[2 * B + b] += uz
        above_bar[SW + b] += wx + cx
        above_bar[SW + B + b] += wy + cy
        above_bar[SW + 2 * B + b] += wz + cz


@jit
def slide_screw_adjoint(link, above, screw_bar, grad):
    """The part of ``carry_screw_adjoint`` that a prismatic joint adds: p moves along R ẑ with q."""
    for b in range(B):
        vx, vy, vz = vec(screw_bar, SV, b)
        ux, uy, uz = to_parent(link, b, vx, vy, vz)
        sx, sy, sz = vec(above, SW, b)
        cx, cy, cz = cross(ux, uy, uz, sx, sy, sz)
        grad[b] += link[2 * B + b] * cx + link[5 * B + b] * cy + link[8 * B + b] * cz


@jit
def accelerate_adjoint(link, up, turn, slide, qd, link_bar, up_bar, grad):
    """Adjoint of ``accelerate``. grad holds three rows: q̄, q̇̄, q̈̄ of this joint."""
    for b in range(B):
        wx, wy, wz = vec(up, OMEGA, b)
        tv = turn * qd[b]
        sv = 2.0 * slide * qd[b]
        bx, by, bz = vec(link_bar, 0, b)
        lx, ly, lz = vec(link_bar, 3 * B, b)
        ax, ay, az = vec(link_bar, 6 * B, b)
        ox, oy = link[OMEGA + b], link[OMEGA + B + b]
        nx, ny = bx - ly * tv - ay * sv, by + lx * tv + ax * sv  # adjoint of Rᵀω of the parent
        rx, ry = link[ALPHA + b] - oy * tv, link[ALPHA + B + b] + ox * tv  # Rᵀα of the parent
        spin = ox * ny - oy * nx + rx * ly - ry * lx + link[ACC + b] * ay - link[ACC + B + b] * ax
        grad[b] -= turn * spin
        grad[B + b] += turn * (bz + lx * oy - ly * ox) + 2.0 * slide * (ax * oy - ay * ox)
        grad[2 * B + b] += turn * lz + slide * az
        px, py, pz = vec(link, P, b)
        nx, ny, nz = to_parent(link, b, nx, ny, bz)
        lx, ly, lz = to_parent(link, b, lx, ly, lz)
        ax, ay, az = to_parent(link, b, ax, ay, az)
        wp = wx * px + wy * py + wz * pz
        wa = wx * ax + wy * ay + wz * az
        pa = 2.0 * (px * ax + py * ay + pz * az)
        cx, cy, cz = cross(px, py, pz, ax, ay, az)
        up_bar[b] += nx + ax * wp + px * wa - wx * pa
        up_bar[B + b] += ny + ay * wp + py * wa - wy * pa
        up_bar[2 * B + b] += nz + az * wp + pz * wa - wz * pa
        up_bar[3 * B + b] += lx + cx
        up_bar[4 * B + b] += ly + cy
        up_bar[5 * B + b] += lz + cz
        up_bar[6 * B + b] += ax
        up_bar[7 * B + b] += ay
        up_bar[8 * B + b] += az


@jit
def slide_adjoint(link, up, link_bar, grad):
    """The part of ``accelerate_adjoint`` that a prismatic joint adds: a = … + α×p + ω×(ω×p), p moving with q."""
    for b in range(B):
        ax, ay, az = vec(link_bar, 6 * B, b)
        ax, ay, az = to_parent(link, b, ax, ay, az)
        wx, wy, wz = vec(up, OMEGA, b)
        lx, ly, lz = vec(up, ALPHA, b)
        cx, cy, cz = cross(ax, ay, az, lx, ly, lz)
        wa = wx * ax + wy * ay + wz * az
        ww = wx * wx + wy * wy + wz * wz
        gx, gy, gz = cx + wx * wa - ax * ww, cy + wy * wa - ay * ww, cz + wz * wa - az * ww
        grad[b] += link[2 * B + b] * gx + link[5 * B + b] * gy + link[8 * B + b] * gz


@jit
def backward(parent, prismatic, first, qd, links, screws, link_bars, screw_bars, grads):
    """From the adjoints of every link and screw to q̄, q̇̄, q̈̄ of every joint (rows of ``grads``)."""
    grads[:] = 0.0
    for i in range(parent.size - 1, -1, -1):
        link = links[(i + 1) * LINK : (i + 2) * LINK]
        up = links[(parent[i] + 1) * LINK : (parent[i] + 2) * LINK]
        slide = 1.0 if prismatic[i] else 0.0
        turn = 1.0 - slide
        grad = grads[3 * i * B : 3 * (i + 1) * B]
        above = first[parent[i]] if parent[i] >= 0 else 0
        for k in range(first[i + 1] - first[i] - 1):
            own = slice((first[i] + k) * SCREW, (first[i] + k + 1) * SCREW)
            source = slice((above + k) * SCREW, (above + k + 1) * SCREW)
            carry_screw_adjoint(link, screws[own], screw_bars[own], screw_bars[source], turn, grad)
            if prismatic[i]:
                slide_screw_adjoint(link, screws[source], screw_bars[own], grad)
        bar = link_bars[(i + 1) * 9 * B : (i + 2) * 9 * B]
        up_bar = link_bars[(parent[i] + 1) * 9 * B : (parent[i] + 2) * 9 * B]
        accelerate_adjoint(link, up, turn, slide, qd[i * B : (i + 1) * B], bar, up_bar, grad)
        if prismatic[i]:
            slide_adjoint(link, up, bar, grad)


@jit
def wrench(link, phi, rows):
    """Force F = m a + α×h + ω×(ω×h) and moment N = I α + ω×(I ω) + h×a of a link with parameters phi (10,)."""
    m, hx, hy, hz = phi[0], phi[1], phi[2], phi[3]
    xx, xy, yy, xz, yz, zz = phi[4], phi[5], phi[6], phi[7], phi[8], phi[9]
    for b in range(B):
        wx, wy, wz = vec(link, OMEGA, b)
        lx, ly, lz = vec(link, ALPHA, b)
        ax, ay, az = vec(link, ACC, b)
        wh = wx * hx + wy * hy + wz * hz
        ww = wx * wx + wy * wy + wz * wz
        ix, iy, iz = xx * wx + xy * wy + xz * wz, xy * wx + yy * wy + yz * wz, xz * wx + yz * wy + zz * wz
        rows[b] = m * ax + ly * hz - lz * hy + wx * wh - hx * ww
        rows[B + b] = m * ay + lz * hx - lx * hz + wy * wh - hy * ww
        rows[2 * B + b] = m * az + lx * hy - ly * hx + wz * wh - hz * ww
        rows[3 * B + b] = xx * lx + xy * ly + xz * lz + wy * iz - wz * iy + hy * az - hz * ay
        rows[4 * B + b] = xy * lx + yy * ly + yz * lz + wz * ix - wx * iz + hz * ax - hx * az
        rows[5 * B + b] = xz * lx + yz * ly + zz * lz + wx * iy - wy * ix + hx * ay - hy * ax


@jit
def project(screw, rows, tau):
    """tau += s_v·F + s_w·N."""
    for b in range(B):
        vx, vy, vz = vec(screw, SV, b)
        sx, sy, sz = vec(screw, SW, b)
        fx, fy, fz = vec(rows, 0, b)
        nx, ny, nz = vec(rows, 3 * B, b)
        tau[b] += vx * fx + vy * fy + vz * fz + sx * nx + sy * ny + sz * nz
