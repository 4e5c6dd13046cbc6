"""Accelerations of joints with dry friction, exactly: which of them rest is found by pivoting.

Dry friction f_j lies within ± bound_j and is such that a joint whose velocity would change its sign within the present
step ends the step at rest: with u = q̈ + q̇/step, f_j = bound_j sign u_j where u_j ≠ 0, between where u_j = 0. That is a
linear complementarity problem with bounds and a positive definite matrix: one solution, whatever the start. Once it is
known which joints rest and where the others go, M q̈ = free − f is linear: q̈ = −q̇/step of those at rest, f = ± bound
of the others. Whatever contradicts is changed, all at once while fewer and fewer contradict, else one at a time, the
last one first (block principal pivoting; Júdice and Pires 1994), which ends for every positive definite M. The joints
that rested a moment ago are the guess to begin with: most states take one system, a joint that stops or starts two.
Sweeps over one joint after the other instead need thousands where light links hang on heavy ones."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import jit_exact as jit  # NaN must be seen
from exciter.dynamics.kernels.blocks import kernel_exact as kernel

PATIENCE = 10  # blocks of changes that do not leave fewer contradictions, before joints change one at a time
MOST_SYSTEMS = 1000  # far beyond what is met; then friction is left within its bounds
FORCE_ROUNDING = 1e-12  # of the forces at a joint: friction beyond its bound by less is at its bound


@jit
def factored(a, n):
    """Rows of the upper Cholesky factor of the first n rows and columns, in place, zeros left out: limbs on one base do
    not feel each other. False where the matrix is not positive definite."""
    for k in range(n):
        if not a[k, k] > 0.0:
            return False
        root = np.sqrt(a[k, k])
        for j in range(k, n):
            a[k, j] /= root
        for i in range(k + 1, n):
            s = a[k, i]
            if s != 0.0:
                for j in range(i, n):
                    a[i, j] -= s * a[k, j]
    return True


@jit
def solve(factor, n, x):
    """x[:n] in place: (UᵀU)⁻¹ x."""
    for k in range(n):
        x[k] /= factor[k, k]
        for j in range(k + 1, n):
            x[j] -= factor[k, j] * x[k]
    for k in range(n - 1, -1, -1):
        s = x[k]
        for j in range(k + 1, n):
            s -= factor[k, j] * x[j]
        x[k] = s / factor[k, k]


@jit
def going_to(mass, free, qd, bound, step, going, friction, qdd, moving, part, x):
    """q̈ and friction (m,) where joints go as ``going`` (m,) says, −1, 0 (rests) or 1; False where M is not positive
    definite. moving, part, x: room for indices (m,), a matrix (m, m) and a vector (m,)."""
    m, n = qd.size, 0
    for j in range(m):
        if going[j] == 0:
            qdd[j] = -qd[j] / step
        else:
            friction[j] = bound[j] * going[j]
            moving[n] = j
            n += 1
    for a in range(n):
        i = moving[a]
        for b in range(a, n):
            part[a, b] = mass[i, moving[b]]
        x[a] = free[i] - friction[i]
        if n < m:
            for j in range(m):
                if going[j] == 0:
                    x[a] -= mass[i, j] * qdd[j]
    if not factored(part, n):
        return False
    solve(part, n, x)
    for a in range(n):
        qdd[moving[a]] = x[a]
    if n < m:
        for j in range(m):
            if going[j] == 0:
                s = free[j]
                for k in range(m):
                    s -= mass[j, k] * qdd[k]
                friction[j] = s
    return True


@kernel
def accelerated(mass, free, qd, bound, step, going, friction, qdd):
    """q̈ and dry friction (m,) in place, of M (m, m) and of the forces besides dry friction; going (m,): zero where a
    joint rested before, and where it is found to. False where M is not positive definite."""
    m = qd.size
    moving, part, x = np.empty(m, np.int64), np.empty((m, m)), np.empty(m)
    for j in range(m):
        if bound[j] == 0.0:
            going[j] = 1
        elif going[j] != 0:
            going[j] = 1 if qd[j] > 0.0 else -1 if qd[j] < 0.0 else 0
    fewest, patience = m + 1, PATIENCE
    for _ in range(MOST_SYSTEMS):
        if not going_to(mass, free, qd, bound, step, going, friction, qdd, moving, part, x):
            return False
        wrong, last = 0, -1
        for j in range(m):
            if contradicts(bound[j], going[j], friction[j], free[j], qdd[j] + qd[j] / step):
                wrong, last = wrong + 1, j
        if wrong == 0:
            break
        if wrong < fewest:
            fewest, patience = wrong, PATIENCE
        else:
            patience -= 1
        for j in range(m if patience >= 0 else 0):
            if contradicts(bound[j], going[j], friction[j], free[j], qdd[j] + qd[j] / step):
                going[j] = changed(going[j], friction[j])
        if patience < 0:
            going[last] = changed(going[last], friction[last])
    for j in range(m):
        friction[j] = min(max(friction[j], -bound[j]), bound[j])
    return True


@jit
def contradicts(bound, going, friction, free, u):
    """A joint that would go the other way, or that friction cannot hold."""
    if bound == 0.0:
        return False
    if going != 0:
        return u * going < 0.0
    return abs(friction) > bound + FORCE_ROUNDING * (bound + abs(free))


@jit
def changed(going, friction):
    """A joint that cannot be held goes where it is pushed; one that would go the other way rests."""
    return 0 if going != 0 else 1 if friction > 0.0 else -1
