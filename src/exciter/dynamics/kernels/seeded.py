"""The adjoint of regressor rows for any seed, in one pass over the samples."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import (
    LINK,
    SCREW,
    TEN,
    B,
    backward,
    base_link,
    copy,
    forward,
    kernel,
    load,
    regressor_adjoint,
    store,
    workspace,
)


@kernel
def rows_adjoint(parent, prismatic, rotation, origin, gravity, first, seeds, q, qd, qdd, begin, end, motion_bar):
    """Gradient of Σ seeds ⊙ rows with respect to every sample, seeds (P, 10, N) by pair of link and joint; motion_bar
    (3 n, N): q̄, q̇̄, q̈̄ of one joint after the other."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten, link_bars, screw_bars = np.zeros(TEN), np.empty((n + 1) * 9 * B), np.empty(first[n] * SCREW)
    grads = np.empty(3 * n * B)
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qdd, bq, bv, ba)
        forward(parent, prismatic, rotation, origin, first, bq, bv, ba, links, screws, cs)
        link_bars[:] = 0.0
        ten[:] = 0.0  # samples beyond the end weigh nothing
        for i in range(n):
            bar = link_bars[(i + 1) * 9 * B : (i + 2) * 9 * B]
            for k in range(first[i], first[i + 1]):
                for c in range(10):
                    copy(seeds[k, c, start : start + count], ten[c * B : c * B + count])
                screw = slice(k * SCREW, (k + 1) * SCREW)
                regressor_adjoint(links[(i + 1) * LINK : (i + 2) * LINK], screws[screw], ten, bar, screw_bars[screw])
        backward(parent, prismatic, first, bv, links, screws, link_bars, screw_bars, grads)
        store(grads, motion_bar, start, count)
