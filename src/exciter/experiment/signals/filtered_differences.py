"""The route of [12.16]: resample on true time, low-pass the positions without phase shift, take central differences.

The torque is resampled and nothing else: low-passing it alone would bias every estimate, see ``parallel_filter``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.central_differences import first_difference, second_difference
from exciter.experiment.signals.chunks import Margin, Piece, overlapped, peeked, segments, split_at_gaps
from exciter.experiment.signals.low_pass import EDGE, FINEST_EDGE, NEGLIGIBLE
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.resample import REACH, resample, round_rate
from exciter.experiment.signals.route import StreamingRoute
from exciter.robot.motion import Motion

BEGINNING = 100_000  #: samples of a stream from which open choices are made


@dataclass(frozen=True)
class FilteredDifferences(StreamingRoute):
    """cutoff [Hz] (None: chosen from the data) and order of the Butterworth filter, one pass; −6 dB at the cut-off.

    rate [Hz]: of the result; None: a round one near the recorded. use_measured_velocity: q̇ is the recorded velocity
    through the same filter instead of a difference of q, and q̈ its difference. bridge: gaps of up to so many sampling
    intervals are interpolated. edge: samples at both ends are cut until the filter's guess about what lies beyond has
    faded to this; ``Processed.words`` says how many.
    """

    cutoff: float | None = None
    order: int = 4
    rate: float | None = None
    use_measured_velocity: bool = False
    bridge: int = 10
    edge: float = EDGE

    def __post_init__(self) -> None:
        if self.bridge < 1 or not FINEST_EDGE <= self.edge < 1.0:
            raise RecordingError(f"{self}: bridge must be at least 1 interval, edge within {FINEST_EDGE:g} … 1")

    def apply(self, recording: Recording) -> Processed:
        plan = self._plan(recording)
        parts = split_at_gaps(recording, plan.gap)
        if len(parts) > 1:
            before, after = parts[0].time[-1], parts[1].time[0]
            raise RecordingError(
                f"there is a gap of {after - before:.3g} s at {before:.6g} s, more than the {plan.gap:.3g} s that are "
                "bridged; cut the recording there (split_at_gaps), or bridge more intervals"
            )
        processed = plan.processed(Piece(recording, slice(0, len(recording)), True, True))
        if processed is None:
            raise RecordingError(plan.too_short(recording.duration))
        return processed

    def stream(self, chunks: Iterable[Recording]) -> Iterator[Processed]:
        """The same for a log larger than memory, in pieces; a gap in time between two of them is one of the log.

        Equal to ``apply`` but for the choices left open (cutoff, rate), which are made from the beginning of the log.
        """
        beginning, stream = peeked(chunks, BEGINNING, Recording.join)
        if beginning is None:
            raise RecordingError("nothing was recorded")
        plan, nothing, short = self._plan(beginning), True, (0, 0.0)
        for segment in segments(stream, plan.gap):
            for piece in overlapped(segment, plan.margin, Recording.join):
                processed = plan.processed(piece)
                if processed is None:
                    short = short[0] + 1, short[1] + piece.whole.duration
                elif len(processed):
                    nothing = False
                    left_out = (
                        f"{short[0]} parts between gaps so far were too short to filter: {short[1]:.3g} s left out"
                    )
                    yield replace(processed, words=(*plan.words, left_out)) if short[0] else processed
        if nothing:
            raise RecordingError(plan.too_short(beginning.duration))

    def _plan(self, recording: Recording) -> _Plan:
        """Every choice made, from a recording or its beginning."""
        if self.use_measured_velocity and recording.qd is None:
            raise RecordingError("no velocity was recorded; leave use_measured_velocity off to differentiate positions")
        interval = recording.interval
        rounded = round_rate(interval)
        rate = rounded if self.rate is None else self.rate
        gap = (self.bridge + 0.5) * interval
        words = [
            f"resampled to {rate:g} Hz by a cubic spline at the true times (median interval {1e3 * interval:.6g} ms)"
        ]
        if rate * interval < 0.9:
            words.append(f"the rate is below the recorded one: torque above {rate / 2:g} Hz is folded down")
        cutoff, reason = self.cutoff, ""
        if cutoff is None:
            from exciter.experiment.signals.cutoff import choose_cutoff

            longest = max(split_at_gaps(recording, gap), key=len)
            uniform = resample(replace(longest, qd=None, torque=None, current=None), rate)
            choice = choose_cutoff(uniform.time, uniform.q, rate)
            cutoff, reason = choice.cutoff, f": {choice.reason}"
        low_pass = Butterworth(cutoff, self.order)
        cut = max(1, low_pass.settle(rate, self.edge))
        what = "velocities" if self.use_measured_velocity else "positions"
        words += [
            f"positions through a Butterworth filter of order {self.order} forwards and backwards, "
            f"−6 dB at {cutoff:.4g} Hz{reason}",
            f"central differences of {what}; {cut} samples ({cut / rate:.3g} s) cut at each end",
        ]
        return _Plan(low_pass, rate, gap, cut, self.use_measured_velocity, tuple(words))


@dataclass(frozen=True)
class _Plan:
    """gap [s]: the longest that is bridged; cut: samples at each end of a segment."""

    low_pass: Butterworth
    rate: float
    gap: float
    cut: int
    measured_velocity: bool
    words: tuple[str, ...]

    @property
    def margin(self) -> Margin:
        settled = self.low_pass.settle(self.rate, NEGLIGIBLE) / self.rate
        return Margin(seconds=settled + (REACH + 2) / self.rate, samples=REACH + 2)

    def too_short(self, duration: float) -> str:
        lost = f"{self.cut / self.rate:.3g} s are lost at each end with a cut-off of {self.low_pass.cutoff:.4g} Hz"
        return f"{duration:.3g} s are too short: {lost}; give a higher cut-off, or record longer"

    def processed(self, piece: Piece[Recording]) -> Processed | None:
        """The inner part of a piece; None where a whole segment is too short."""
        given, alone = piece.whole, piece.first and piece.last
        if alone and given.duration * self.rate < 2 * self.cut:
            return None
        qd = given.qd if self.measured_velocity else None
        whole = resample(replace(given, qd=qd, torque=given.needed_torque(), current=None), self.rate)
        if alone and len(whole) <= 2 * self.cut:
            return None
        time, torque = whole.time, whole.needed_torque()
        start = self.cut if piece.first else int(np.searchsorted(time, given.time[piece.inner.start]))
        end = len(time) - self.cut if piece.last else int(np.searchsorted(time, given.time[piece.inner.stop]))
        inner = slice(start, end)
        q = self.low_pass.zero_phase(whole.q, self.rate)[start - 1 : end + 1]
        if whole.qd is None:
            qd, qdd = first_difference(q, self.rate), second_difference(q, self.rate)
        else:
            qd = self.low_pass.zero_phase(whole.qd, self.rate)[start - 1 : end + 1]
            qd, qdd = qd[1:-1], first_difference(qd, self.rate)
        return Processed(Motion(time[inner], q[1:-1], qd, qdd), torque[inner], self.rate, words=self.words)
