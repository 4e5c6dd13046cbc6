"""Parallel filtering: y and every column of W through the same low-pass filter, then only every m-th row kept.

[12.21]ff.: F(W) χ = F(y) holds for any linear F when W χ = y does, so noise above the motion's frequencies goes and
parameters stay. Filter and factor of MATLAB's ``decimate``, which the chapter uses, are the default: Chebyshev of
order 8 with 0.05 dB at 0.8 of the new half rate (40 Hz for 1 kHz and factor 10), forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.signals.chebyshev import Chebyshev
from exciter.experiment.signals.chunks import Margin, overlapped, peeked, segments
from exciter.experiment.signals.low_pass import EDGE, FINEST_EDGE, NEGLIGIBLE, LowPass
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import Rows, model_rows
from exciter.notes import Note, done
from exciter.typing import Array

DECIMATION = 10  #: factor of [12.21]ff.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ParallelFilter:
    """low_pass: None for the Chebyshev filter that fits the factor; factor: of the decimation.

    A factor left open is 10 without a low_pass; with one the largest whose half rate lets at most 1 % pass: for
    Chebyshev filters that of ``decimate``, for Butterworth of order 4 rate / (3.6 · cutoff). edge: equations at both
    ends of a segment are cut until the filter's guess about what lies beyond has faded to this.

    Rows whose y was cut by an analogue filter (``Rows.torque_bandwidth``) are stopped below: a low_pass left open is
    lowered, and ``Rows.notes`` says so; one that passes more than 1 % there is refused.
    """

    title = "a low-pass filter"
    low_pass: LowPass | None = None
    factor: int | None = None
    edge: float = EDGE

    def __post_init__(self) -> None:
        if (self.factor is not None and self.factor < 1) or not FINEST_EDGE <= self.edge < 1.0:
            raise RecordingError(f"{self}: factor must be at least 1, edge within {FINEST_EDGE:g} … 1")

    def at(self, rate: float, torque_bandwidth: float = float("inf")) -> tuple[LowPass, int]:
        """The filter and the factor for samples at ``rate`` [Hz] whose y was cut above ``torque_bandwidth`` [Hz]."""
        low_pass = self.low_pass
        if low_pass is None:
            factor = DECIMATION if self.factor is None else self.factor
            low_pass = Chebyshev(0.8 * 0.5 * rate / factor)
            if low_pass.stop(rate) <= torque_bandwidth:
                return low_pass, factor
            low_pass = low_pass.stopped_at(torque_bandwidth, rate)
        low_pass.sections(rate)  # refuses a cut-off the rate is too low for
        stop = low_pass.stop(rate)
        if stop > torque_bandwidth * (1.0 + ROUNDING):
            raise RecordingError(
                f"a cut-off of {low_pass.cutoff:.4g} Hz lets the regressor pass up to {stop:.4g} Hz, the torque has "
                f"nothing above {torque_bandwidth:.4g} Hz (analogue filter); give a cut-off of at most "
                f"{0.999 * low_pass.stopped_at(torque_bandwidth, rate).cutoff:.4g} Hz, or none"
            )
        return low_pass, max(1, int(0.5 * rate / stop)) if self.factor is None else self.factor

    def apply(self, rows: Rows) -> Rows:
        """Rows that are all in memory and of one segment."""
        return Rows.join(list(self.stream([rows])))

    def stream(self, rows: Iterable[Rows]) -> Iterator[Rows]:
        """Rows in pieces, as they come; equal to filtering them whole. A gap in time starts anew, and a part between
        two gaps that is no longer than its edges gives no rows."""
        beginning, stream = peeked(rows, 1, Rows.join)
        if beginning is None:
            raise RecordingError("there are no equations to filter")
        work = _Work.plan(self, beginning.rate, beginning.torque_bandwidth)
        count = 0
        for segment in segments(_alike(stream, work), 1.5 / work.rate):
            for piece in work.segment(segment):
                count += len(piece)
                yield piece
        if not count:
            raise RecordingError(
                f"no equations are left: {2 * work.cut / work.rate:.3g} s are lost at the ends with a cut-off of "
                f"{work.low_pass.cutoff:.4g} Hz; give a higher cut-off, or record longer"
            )


@dataclass(frozen=True)
class _Work:
    """cut: samples at each end of a segment; bandwidth [Hz]: of the noise that passes."""

    low_pass: LowPass
    factor: int
    rate: float
    cut: int
    bandwidth: float
    note: Note

    @classmethod
    def plan(cls, settings: ParallelFilter, rate: float, torque_bandwidth: float) -> _Work:
        low_pass, factor = settings.at(rate, torque_bandwidth)
        text = (
            f"both sides of the equations through a {type(low_pass).__name__} low-pass of {low_pass.cutoff:.4g} Hz, "
            f"one of {factor} kept"
        )
        if settings.low_pass is None and (usual := settings.at(rate)[0]) != low_pass:
            text += f"; lowered from {usual.cutoff:.4g} Hz: the torque has nothing above {torque_bandwidth:.4g} Hz"
        cut, bandwidth = low_pass.settle(rate, settings.edge), low_pass.noise_bandwidth(rate)
        return cls(low_pass, factor, rate, cut, bandwidth, done("parallel filter", text))

    def segment(self, parts: Iterable[Rows]) -> Iterator[Rows]:
        seen = 0  # instants of the segment before the piece: every ``factor``-th of the segment is kept
        margin = Margin(samples=self.low_pass.settle(self.rate, NEGLIGIBLE))
        for piece in overlapped(parts, margin, Rows.join):
            start, end = piece.inner.start, piece.inner.stop
            skipped = -(-self.cut // self.factor) * self.factor if piece.first else (-seen) % self.factor
            kept = slice(start + skipped, end - self.cut if piece.last else end, self.factor)
            seen += end - start
            if kept.start < kept.stop:
                yield self._filtered(piece.whole, kept)

    def _filtered(self, rows: Rows, kept: slice) -> Rows:
        time = rows.time[kept]
        given, sides = rows.sides.transpose(1, 2, 0), np.zeros((*rows.sides.shape[1:], len(time)))
        for joint, equation in enumerate(given):
            moving = equation.any(axis=1)  # many columns of W are zero: those of links before the joint
            sides[joint, moving] = self.low_pass.zero_phase(equation[moving], self.rate, axis=1)[:, kept]
        rate, bandwidth = self.rate / self.factor, min(rows.bandwidth, self.bandwidth)
        return replace(
            rows,
            time=time,
            sides=sides.transpose(2, 0, 1),
            rate=rate,
            bandwidth=bandwidth,
            torque_bandwidth=float("inf"),
            notes=(*rows.notes, self.note),
        )


def _alike(stream: Iterable[Rows], work: _Work) -> Iterator[Rows]:
    """Refuses rows for which the filter was not planned."""
    stop = work.low_pass.stop(work.rate)
    for rows in stream:
        if abs(rows.rate / work.rate - 1.0) > 1e-9:
            raise RecordingError(f"equations at {rows.rate:g} Hz follow others at {work.rate:g} Hz; filter them apart")
        if stop > rows.torque_bandwidth * (1.0 + ROUNDING):
            raise RecordingError(
                f"equations whose torque ends at {rows.torque_bandwidth:.4g} Hz follow others that need not stop "
                f"below {stop:.4g} Hz; filter them apart, or give a low_pass that stops there"
            )
        yield rows


def filtered_rows(
    model: DynamicModel,
    processed: Processed | Iterable[Processed],
    parallel_filter: ParallelFilter,
    columns: ArrayLike | None = None,
    dead_zone: ArrayLike = 0.0,
) -> Iterator[Rows]:
    """The filtered equations of a motion, or of one that comes in pieces; W never exists whole. See ``model_rows``."""
    return parallel_filter.stream(model_rows(model, processed, columns, dead_zone=dead_zone))


def filtered_pair(
    measured: Array,
    predicted: Array,
    rate: float,
    parallel_filter: ParallelFilter,
    torque_bandwidth: float = float("inf"),
) -> tuple[Array, Array]:
    """Torques (N, n) [N·m], measured and predicted, through the same filter, edges and decimation; torque_bandwidth:
    as in ``Processed``."""
    if measured.shape != predicted.shape or measured.ndim != 2:
        raise RecordingError(f"measured torque {measured.shape} and predicted {predicted.shape} must both be (N, n)")
    joints = [f"joint {j + 1}" for j in range(measured.shape[1])]
    time = np.arange(len(measured)) / rate
    rows = Rows.of(time, predicted[:, :, None], measured, rate, joints, ["predicted"], torque_bandwidth)
    both = parallel_filter.apply(rows)
    return both.y, both.w[:, :, 0]
