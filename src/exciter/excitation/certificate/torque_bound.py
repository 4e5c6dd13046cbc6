"""Torque between samples: rigid bodies and joint terms together.

Smooth parts (rigid bodies, rotor inertia, viscous friction, offset …) follow the chord of their values at both ends
within h²/8 times the bound of their second derivative. Parts that jump or bend sharply (dry friction, springs on a
lever) enter with the range of their values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.rigid_torque import rigid_torque
from exciter.excitation.certificate.spans import Spans
from exciter.parameters.terms.ranges import Interval
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.excitation.constraints.torque import TorqueLimits

ROUNDING = 1e-9  #: relative and absolute; errors of double precision stay a factor 10⁴ below


def torque_lower_bounds(constraint: TorqueLimits, spans: Spans) -> Array:
    """(K, M): 1 − τ/τ_max of the limited joints, then 1 + τ/τ_max, are at least this throughout each interval."""
    low, high = torque_range(constraint.model, np.asarray(constraint.chi), spans)
    limit = constraint.limit[constraint.joints, None]
    ratio = np.concatenate([high[constraint.joints] / limit, -low[constraint.joints] / limit])
    bounds: Array = 1.0 - ratio - ROUNDING * (1.0 + np.abs(ratio))
    return bounds


def torque_range(model: DynamicModel, chi: Array, spans: Spans) -> Interval:
    """Lowest and highest torque (n, M) of standard parameters χ within each interval; infinite where a term cannot
    say."""
    dynamics, n, width = model.dynamics, model.n, spans.width
    ends, curvature = rigid_torque(dynamics.chain, dynamics.chain_inertias(chi[: 10 * n]), spans)
    jumping_low, jumping_high = np.zeros((2, n, len(width)))

    def load(links: Array | None = None) -> Interval:
        return chord_range(*rigid_torque(dynamics.chain, dynamics.chain_inertias(links), spans), width)

    first = 10 * n
    for term in model.bound:
        bends = term.curvature(spans.rates)
        smooth: NDArray[np.bool_] = np.all(np.isfinite(bends), axis=1)
        values = term.values(spans.ends) if smooth.any() else bends
        low, high = (bends, bends) if smooth.all() else term.value_range(spans.ranges, load)
        for entry, (row, column) in enumerate(term.rows):
            weight = chi[first + column]
            if weight == 0.0:
                continue
            if smooth[entry]:
                ends[row] += weight * values[entry]
                curvature[row] += abs(weight) * bends[entry]
            else:
                jumping_low[row] += weight * (low if weight > 0 else high)[entry]
                jumping_high[row] += weight * (high if weight > 0 else low)[entry]
        first += len(term.names)
    lowest, highest = chord_range(ends, curvature, width)
    return lowest + jumping_low, highest + jumping_high


def chord_range(ends: Array, curvature: Array, width: Array) -> Interval:
    """What values (…, M) can be within intervals of these widths, from those at both ends (…, 2 M) and the bound of the
    second derivative (…, M)."""
    slack = width**2 / 8.0 * curvature
    left, right = ends[..., 0::2], ends[..., 1::2]
    return np.minimum(left, right) - slack, np.maximum(left, right) + slack
