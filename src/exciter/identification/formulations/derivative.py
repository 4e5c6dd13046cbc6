"""Rows that hold a time derivative: (d/dt W1 + W2) χ = y [12.30, 12.52], with W1 differentiated numerically.

A central difference over seven samples: a sine of ω comes out too small by (ωT)⁶/140, some 10⁻¹¹ for 3 Hz at 1 kHz,
where [12.16] misses (ωT)²/6. It reaches three samples to each side, which are lost at the ends of a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from exciter.experiment.signals.resample import Margin, overlapped, peeked, segments
from exciter.experiment.signals.rows import Rows

WEIGHTS = (45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0)  # of x(k + i) − x(k − i), i = 1, 2, 3
REACH = len(WEIGHTS)
CONTINUED = 1.5  #: intervals: what follows within belongs to the same segment


def differentiated(rows: Iterable[Rows]) -> Iterator[Rows]:
    """From rows with the 2p columns W1 and W2, in pieces, to rows with p; a gap in time starts anew."""
    beginning, stream = peeked(rows, 1, Rows.join)
    if beginning is None:
        return
    for segment in segments(stream, CONTINUED / beginning.rate):
        for piece in overlapped(segment, Margin(samples=REACH), Rows.join):
            start = max(piece.inner.start, REACH)
            stop = min(piece.inner.stop, len(piece.whole) - REACH)
            if start < stop:
                yield _rows(piece.whole, start, stop)


def _rows(rows: Rows, start: int, stop: int) -> Rows:
    p = len(rows.parameters) // 2
    given = rows.sides.transpose(1, 2, 0)
    sides = given[:, p:, start:stop].copy()
    for reach, weight in enumerate(WEIGHTS, start=1):
        ahead, behind = (given[:, :p, start + k : stop + k] for k in (reach, -reach))
        sides[:, :p] += weight * rows.rate * (ahead - behind)
    sides.flags.writeable = False
    return replace(rows, time=rows.time[start:stop], sides=sides.transpose(2, 0, 1), parameters=rows.parameters[p:])
