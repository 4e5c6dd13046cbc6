"""The tree that follows its joints in proportion: q = N u + offset, and NᵀMN, one state at a time.

N is given as its entries other than zero, (body, joint, ratio), in the order of the tree's own coordinates: most bodies
follow one joint, so that a product with N as a matrix is nearly all zeros."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import kernel_exact as kernel
from exciter.experiment.virtual.kernels import dry_friction

accelerated = dry_friction.accelerated


@kernel
def placed(body, joint, ratio, offset, u, ud, qpos, qvel):
    """q, q̇ (nb,) of the tree in place, of u, u̇ (m,)."""
    for k in range(qpos.size):
        qpos[k] = offset[k]
    qvel[:] = 0.0
    for k in range(body.size):
        qpos[body[k]] += ratio[k] * u[joint[k]]
        qvel[body[k]] += ratio[k] * ud[joint[k]]


@kernel
def forward(body, joint, ratio, whole, bias, passive, rotor, damping, bound, step, ud, applied, going, held, udd):
    """ü and −(dry friction) (m,) in place, of M (nb, nb) and the forces of the tree (nb,); False where the inertia
    matrix is not positive definite."""
    m = ud.size
    mass, free, friction = np.zeros((m, m)), np.empty(m), np.empty(m)
    for j in range(m):
        mass[j, j] = rotor[j]
        free[j] = applied[j] - damping[j] * ud[j]
    for k in range(body.size):
        free[joint[k]] -= ratio[k] * (bias[body[k]] - passive[body[k]])
        for n in range(body.size):
            mass[joint[k], joint[n]] += ratio[k] * ratio[n] * whole[body[k], body[n]]
    good = accelerated(mass, free, ud, bound, step, going, friction, udd)
    for j in range(m):
        held[j] = -friction[j]
    return good
