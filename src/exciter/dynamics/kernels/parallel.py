"""The drivers on several threads: each part of the samples, between two cuts, is one call of the serial kernel.

A module of its own, so that serial users never load Numba's threading layer. OpenMP's threads keep spinning for a
moment between calls, which is what makes two threads worth while for calls that last a millisecond."""

from __future__ import annotations

from numba import njit, prange

from exciter.dynamics.kernels import drivers

parallel = njit(cache=True, parallel=True, nogil=True, error_model="numpy")
serial_regressor, serial_torque = drivers.regressor, drivers.torque
serial_gram, serial_adjoint = drivers.gram, drivers.adjoint


@parallel
def regressor(parent, prismatic, rotation, origin, gravity, first, joint, q, qd, qdd, cuts, out):
    for k in prange(cuts.size - 1):
        serial_regressor(parent, prismatic, rotation, origin, gravity, first, joint, q, qd, qdd,
                         cuts[k], cuts[k + 1], out)  # fmt: skip


@parallel
def torque(parent, prismatic, rotation, origin, gravity, first, joint, inertias, q, qd, qdd, cuts, out):
    for k in prange(cuts.size - 1):
        serial_torque(parent, prismatic, rotation, origin, gravity, first, joint, inertias, q, qd, qdd,
                      cuts[k], cuts[k + 1], out)  # fmt: skip


@parallel
def gram(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
         column, terms, term_row, term_column, weight, q, qd, qdd, cuts, h):  # fmt: skip
    for k in prange(cuts.size - 1):
        serial_gram(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
                    column, terms, term_row, term_column, weight, q, qd, qdd, cuts[k], cuts[k + 1], h[k])  # fmt: skip


@parallel
def adjoint(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
            column, terms, term_row, term_column, weight, matrix, torque_seed, chi, q, qd, qdd, cuts,
            q_bar, qd_bar, qdd_bar, terms_bar):  # fmt: skip
    for k in prange(cuts.size - 1):
        serial_adjoint(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
                       column, terms, term_row, term_column, weight, matrix, torque_seed, chi, q, qd, qdd,
                       cuts[k], cuts[k + 1], q_bar, qd_bar, qdd_bar, terms_bar)  # fmt: skip
