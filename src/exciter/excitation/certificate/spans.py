"""Short time intervals of a curve, with all that bounds between their ends are made of.

For every smooth f on an interval of width h, with M₂ ≥ |f″| throughout: f stays within h²/8 · M₂ of the chord of its
end values, and f′ within h/2 · M₂ of the chord's slope. Both hold for vectors and their norms. The end values are
exact, so only derivatives need majorants, and their weight falls with h².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.engine import Chain
from exciter.excitation.certificate.link_jets import LinkJets, NodeKinematics
from exciter.excitation.trajectories.curve import Curve
from exciter.parameters.terms.ranges import Ranges
from exciter.robot.motion import Motion
from exciter.typing import Array

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spans:
    """M intervals [start, end] (M,) of a curve, none with a knot inside; ``left`` and ``right``: the motion at their
    ends, one-sided (from inside); ``rates`` (4, n, M) ≥ |q̇|, |q̈|, |q⃛|, |q⁗| throughout."""

    start: Array
    end: Array
    left: Motion
    right: Motion
    rates: Array

    @classmethod
    def of(cls, curve: Curve, spans: Index, start: Array, end: Array) -> Spans:
        """The intervals [start, end] (M,) of a curve, each within the span of that number (M,)."""
        left, right = (Motion(time, *(order.T for order in curve.derivatives(spans, time, 2))) for time in (start, end))
        return cls(start, end, left, right, curve.rates(spans, start, end))

    @property
    def width(self) -> Array:
        return self.end - self.start

    @cached_property
    def ends(self) -> Motion:
        """Both ends of every interval, (2 M) samples: left, right, left, right, …"""

        def interleaved(left: Array, right: Array) -> Array:
            return np.stack([left, right], axis=1).reshape(-1, *left.shape[1:])

        pairs = ((getattr(self.left, name), getattr(self.right, name)) for name in ("time", "q", "qd", "qdd"))
        return Motion(*(interleaved(*pair) for pair in pairs))

    @cached_property
    def ranges(self) -> Ranges:
        """What q, q̇, q̈ can be within each interval."""
        slack = self.width**2 / 8.0 * self.rates[1:]
        pairs = list(zip(self.left.samples_last, self.right.samples_last, slack, strict=True))
        low = tuple(np.minimum(a, b) - e for a, b, e in pairs)
        high = tuple(np.maximum(a, b) + e for a, b, e in pairs)
        return Ranges(low[0], high[0], low[1], high[1], low[2], high[2])

    # -- the links of a chain, worked out once per set of intervals ----------------------------------------------

    @cached_property
    def _kept(self) -> list[tuple[Chain, NodeKinematics, LinkJets]]:
        return []

    def _links(self, chain: Chain) -> tuple[Chain, NodeKinematics, LinkJets]:
        for entry in self._kept:
            if entry[0] is chain:
                return entry
        nodes = NodeKinematics.of(chain, *self.ends.samples_last)
        entry = (chain, nodes, LinkJets.of(chain, nodes, self.ranges, self.rates, self.width))
        self._kept.append(entry)
        return entry

    def nodes(self, chain: Chain) -> NodeKinematics:
        """Placement, velocity and acceleration of every link at ``ends``."""
        return self._links(chain)[1]

    def jets(self, chain: Chain) -> LinkJets:
        """Bounds of the links' derivatives in time."""
        return self._links(chain)[2]
