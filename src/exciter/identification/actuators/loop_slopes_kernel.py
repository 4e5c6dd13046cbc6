"""The simulated loop, linearised step by step: how a roll-out moves with the numbers of drives and its first state."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import jit, kernel


@jit
def factored(matrix, m, lower):
    """L of matrix (m, m) = L Lᵀ; its diagonal inverted."""
    for i in range(m):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = total * lower[j, j] if j < i else 1.0 / np.sqrt(total)


@jit
def solved(lower, m, right):
    """(L Lᵀ)⁻¹ right, in place."""
    for i in range(m):
        for k in range(i):
            for c in range(right.shape[1]):
                right[i, c] -= lower[i, k] * right[k, c]
        for c in range(right.shape[1]):
            right[i, c] *= lower[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            for c in range(right.shape[1]):
                right[i, c] -= lower[k, i] * right[k, c]
        for c in range(right.shape[1]):
            right[i, c] *= lower[i, i]


@jit
def held_friction(count, sticks, lower, m, force, seen, hard, rate, dv, dry, hardness, inverse, small, pull):
    """What friction that holds (``count`` joints, sticks) adds to force (m, c): pull (count, c), of the acceleration
    that the constraint sees, M δa = force + seen + pull: δf = −D (δa + b δv) + f δ log D. seen (m, p): what of the
    unknowns moves that acceleration beside force."""
    unit = np.zeros((m, 1))
    for s in range(count):
        unit[:] = 0.0
        unit[sticks[s], 0] = 1.0
        solved(lower, m, unit)
        for i in range(m):
            inverse[i, s] = unit[i, 0]
    for s in range(count):
        j = sticks[s]
        for r in range(count):
            small[s, r] = inverse[j, r] + (1.0 / hard[j] if r == s else 0.0)
        for c in range(force.shape[1]):
            pull[s, c] = -rate[j] * dv[j, c]
        for c in range(seen.shape[1]):
            pull[s, c] += hardness[j, c] * dry[j] / hard[j]
        for i in range(m):
            for c in range(force.shape[1]):
                pull[s, c] -= inverse[i, s] * force[i, c]
            for c in range(seen.shape[1]):
                pull[s, c] -= inverse[i, s] * seen[i, c]
    factored(small, count, small)  # symmetric, and of what is on its right nothing is read
    solved(small, count, pull[:count])


@kernel
def loop_slopes(
    step,
    inertia,
    by_q,
    by_v,
    implicit,
    rotor,
    by_theta,
    seen,
    dry,
    holds,
    hard,
    rate,
    hardness,
    dq,
    dv,
    at,
    weights,
    out,
):
    """Of one stretch and limb: m joints, T steps, p unknowns, c = p + 2 m columns with the first state.

    inertia, by_q, by_v (T, m, m): of what the drives have to do, ∂/∂q̈, ∂/∂q, ∂/∂q̇ with control and friction; implicit
    (T, m): what the integrator adds to the diagonal of inertia and rotor (m,); by_theta (T, m, p): torque; seen
    (T, m, p): what moves the acceleration that friction sees beside it; dry (T, m): friction, which holds where
    ``holds`` says so, as hard as ``hard`` (m,), rate (m,), by unknowns hardness (m, p) of log D. dq, dv (m, c): at
    first, overwritten. at (N,): step after which sample N is, weights (N, 4) of q, q⁺, v, v⁺ in it; out (N, m, c)."""
    steps, m, p = by_theta.shape
    force, lower, mass = np.empty_like(dq), np.zeros((m, m)), np.empty((m, m))
    inverse, small, pull = np.empty((m, m)), np.empty((m, m)), np.empty_like(dq)
    sticks, sample, columns = np.empty(m, np.int64), 0, dq.shape[1]
    before_q, before_v = np.empty_like(dq), np.empty_like(dq)
    for t in range(steps):
        if sample == at.shape[0]:
            break
        count = 0
        for i in range(m):
            if holds[t, i]:
                sticks[count] = i
                count += 1
            for c in range(p):
                force[i, c] = by_theta[t, i, c]
            for c in range(p, columns):
                force[i, c] = 0.0
            for k in range(m):
                x, y = by_q[t, i, k], by_v[t, i, k]
                for c in range(columns):
                    force[i, c] -= x * dq[k, c] + y * dv[k, c]
        if count > 0:
            for i in range(m):
                for k in range(m):
                    mass[i, k] = inertia[t, i, k]
                mass[i, i] += rotor[i]
            factored(mass, m, lower)
            moved, f = seen[t], dry[t]
            held_friction(count, sticks, lower, m, force, moved, hard, rate, dv, f, hardness, inverse, small, pull)
            for s in range(count):
                for c in range(columns):
                    force[sticks[s], c] += pull[s, c]
        for i in range(m):
            for k in range(m):
                mass[i, k] = inertia[t, i, k]
            mass[i, i] += rotor[i] + implicit[t, i]
        factored(mass, m, lower)
        solved(lower, m, force)
        for i in range(m):
            for c in range(columns):
                before_q[i, c], before_v[i, c] = dq[i, c], dv[i, c]
                dv[i, c] += step * force[i, c]
                dq[i, c] += step * dv[i, c]
        while sample < at.shape[0] and at[sample] == t:
            w = weights[sample]
            for i in range(m):
                for c in range(columns):
                    out[sample, i, c] = (
                        w[0] * before_q[i, c] + w[1] * dq[i, c] + w[2] * before_v[i, c] + w[3] * dv[i, c]
                    )
            sample += 1
