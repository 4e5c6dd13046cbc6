"""The route of [12.16]: resample on true time, low-pass the positions without phase shift, take central differences.

The torque is resampled and nothing else: low-passing it alone would bias every estimate, see ``ParallelFilter``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.cutoff import choose_cutoff
from exciter.experiment.signals.low_pass import EDGE, FINEST_EDGE, NEGLIGIBLE, Butterworth, torque_bandwidth
from exciter.experiment.signals.noise import FEWEST, estimate_noise, most_moving, moves
from exciter.experiment.signals.processed import Processed, velocity_band
from exciter.experiment.signals.resample import (
    REACH,
    Margin,
    Piece,
    check_complete,
    resample,
    round_rate,
    sampling_rate,
)
from exciter.experiment.signals.route import Bridge, Frequency, StreamingRoute
from exciter.notes import Note, done, warning
from exciter.robot.motion import Motion
from exciter.settings import Number, Switch, Whole
from exciter.typing import Array

CLEARLY = 1.25  # times the cut-off: less is the same band, measured twice
HIGHEST = 0.2  #: of the rate: a cut-off that leaves differences room


def first_difference(q: Array, rate: float) -> Array:
    """q̇(k) = (q(k+1) − q(k−1)) / (2T) [12.16], T = 1/rate [s]; q (N, …) gives (N − 2, …), the ends are cut.

    Exact for parabolas; a sine of ω comes out too small by (ωT)²/6.
    """
    _check(q)
    return np.asarray((q[2:] - q[:-2]) * (0.5 * rate))


def second_difference(q: Array, rate: float) -> Array:
    """q̈(k) = (q(k+1) − 2 q(k) + q(k−1)) / T²; (N, …) gives (N − 2, …), the ends are cut.

    Rather than [12.16] twice, which reaches over five samples: a sine comes out too small by (ωT)²/12 instead of
    (ωT)²/3. It lets more noise through near half the rate, where the filter before it has left none.
    """
    _check(q)
    return np.asarray((q[2:] - 2.0 * q[1:-1] + q[:-2]) * rate**2)


def _check(q: Array) -> None:
    if len(q) < 3:
        raise RecordingError(f"a central difference needs at least 3 samples; given {len(q)}")


@dataclass(frozen=True)
class FilteredDifferences(StreamingRoute):
    """cutoff [Hz] (None: chosen from the data) and order of the Butterworth filter, one pass; −6 dB at the cut-off.

    rate [Hz]: of the result; None: a round one near the recorded. measured_velocity: q̇ is the recorded velocity
    through the same filter instead of a difference of q, and q̈ its difference. bridge: gaps of up to so many sampling
    intervals are interpolated. edge: samples at both ends are cut until the filter's guess about what lies beyond has
    faded to this; ``Processed.notes`` says how many. bands: where so many times the band of the log's own motion is
    clearly more than the cut-off, that is taken: a cut-off from a slow log would cut the motion of a fast one.
    """

    word, title = "differences", "filtered differences"
    cutoff: Frequency = None
    order: Annotated[int, Whole(1)] = 4
    rate: Frequency = None
    measured_velocity: Switch = False
    bridge: Bridge = 10
    edge: Annotated[float, Number(least=FINEST_EDGE, below=1.0)] = EDGE
    bands: Annotated[float | None, Number(above=0.0)] = None

    def __post_init__(self) -> None:
        if self.bridge < 1 or not FINEST_EDGE <= self.edge < 1.0:
            raise RecordingError(f"{self}: bridge must be at least 1 interval, edge within {FINEST_EDGE:g} … 1")

    @property
    def is_open(self) -> bool:
        return self.cutoff is None

    def plan(self, recording: Recording) -> _Plan:
        if self.measured_velocity and recording.qd is None:
            raise RecordingError("no velocity was recorded; leave measured_velocity off to differentiate positions")
        recorded = sampling_rate(recording.time)
        rate = round_rate(recorded) if self.rate is None else self.rate
        gap = (self.bridge + 0.5) / recorded
        notes = [
            done(
                "resampling",
                f"resampled to {rate:g} Hz by a cubic spline at the true times (recorded: {recorded:.6g} Hz)",
            )
        ]
        if rate < 0.9 * recorded:
            text = f"the rate is below the recorded one: torque above {rate / 2:g} Hz is folded down"
            notes.append(warning("resampling", text))
        part = most_moving(recording, gap)
        cutoff, reason = self._chosen(part, rate) if self.cutoff is None else self._raised(part, rate, self.cutoff)
        low_pass = Butterworth(cutoff, self.order)
        bandwidth, left_in = torque_bandwidth(recording.about)
        cut = max(1, low_pass.settle(rate, self.edge))
        what = "velocities" if self.measured_velocity else "positions"
        order = f"of order {self.order} forwards and backwards, −6 dB at {cutoff:.4g} Hz{reason}"
        notes += [
            done("low-pass", f"positions through a Butterworth filter {order}"),
            done("derivatives", f"central differences of {what}; {cut} samples ({cut / rate:.3g} s) cut at each end"),
            *left_in,
        ]
        noises = _noises(part, low_pass, rate, bandwidth)
        return _Plan(low_pass, rate, gap, cut, self.measured_velocity, noises, tuple(notes), bandwidth)

    def _raised(self, part: Recording, rate: float, cutoff: float) -> tuple[float, str]:
        """As given, or more where this motion is faster; and why."""
        if self.bands is None or not moves(part):
            return cutoff, ""
        uniform = resample(replace(part, qd=None, torque=None, current=None), rate)
        band = velocity_band(
            np.gradient(Butterworth(self._chosen(part, rate)[0]).zero_phase(uniform.q, rate), axis=0), rate
        )
        wanted = min(self.bands * band, HIGHEST * rate)
        if wanted <= CLEARLY * cutoff:
            return cutoff, ""
        return wanted, f": {self.bands:.3g} times the band of this motion, which is faster than that of {cutoff:.3g} Hz"

    def _chosen(self, part: Recording, rate: float) -> tuple[float, str]:
        """Cut-off [Hz], and why."""
        uniform = resample(replace(part, qd=None, torque=None, current=None), rate)
        choice = choose_cutoff(uniform.time, uniform.q, rate, self.order)
        if not moves(part):
            raise RecordingError("no joint moves: a cut-off cannot be chosen from standstill; give cutoff")
        return choice.cutoff, f": {choice.reason}"


def _noises(part: Recording, low_pass: Butterworth, rate: float, bandwidth: float) -> tuple[Array | None, Array | None]:
    """(n,) σ of q behind the filter and of the torque as recorded, white noise assumed; none of a torque whose filter
    was undone, which has nothing left in the band where noise would show."""
    if len(part) < FEWEST:
        return None, None
    whole = replace(part, torque=part.needed_torque(), qd=None, current=None)
    check_complete(whole)
    share = min(1.0, 2.0 * low_pass.noise_bandwidth(rate) / rate)
    position = estimate_noise(whole.time, whole.q).sigma * np.sqrt(share)
    torque = estimate_noise(whole.time, whole.needed_torque()).sigma if np.isinf(bandwidth) else None
    return position, torque


@dataclass(frozen=True, eq=False)
class _Plan:
    """gap [s]: the longest that is bridged; cut: samples at each end of a segment."""

    low_pass: Butterworth
    rate: float
    gap: float
    cut: int
    measured_velocity: bool
    noises: tuple[Array | None, Array | None]
    notes: tuple[Note, ...]
    torque_bandwidth: float

    @property
    def margin(self) -> Margin:
        settled = self.low_pass.settle(self.rate, NEGLIGIBLE) / self.rate
        return Margin(seconds=settled + (REACH + 2) / self.rate, samples=REACH + 2)

    def too_short(self, duration: float) -> str:
        lost = f"{self.cut / self.rate:.3g} s are lost at each end with a cut-off of {self.low_pass.cutoff:.4g} Hz"
        return f"{duration:.3g} s are too short: {lost}; give a higher cut-off, or record longer"

    def processed(self, piece: Piece[Recording], start_of_segment: float) -> Processed | None:
        """See ``Plan``; nothing depends on where the segment starts."""
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
        motion = Motion(time[inner], q[1:-1], qd, qdd)
        limits = self.torque_bandwidth, self.low_pass.cutoff
        part = whole[inner]
        more: dict[str, Any] = {"wrench": part.wrench, "temperature": part.temperature}
        return Processed(motion, torque[inner], self.rate, *self.noises, self.notes, *limits, **more)
