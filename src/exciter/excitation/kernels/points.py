"""How a function of one point on a body changes with the joints."""

from __future__ import annotations

from exciter.dynamics.kernels.blocks import cross, jit


@jit
def pull(r, o, prismatic, path, x, g, dq):
    """dq[m, k] = g[m]·∂x/∂q_k for the joints k of a path from the base to the body that carries x; others are zero.

    r (n, 3, 3, N), o (n, 3, N): placements of the links; x (3, N), g (m, 3, N), dq (m, n, N).
    """
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
