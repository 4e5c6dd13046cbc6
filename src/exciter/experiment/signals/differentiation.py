"""Routes that look at a neighbourhood only, so that a log larger than memory can pass in pieces.

Filtered differences [12.16]: resample on true time, low-pass the positions without phase shift, take central
differences. The torque is only resampled: low-passing it alone would bias every estimate, see ``ParallelFilter``.

Smoothing spline: a least-squares B-spline on true time, derivatives analytic. A spline of degree p with m knots per
second is a low-pass: least squares keeps a frequency f with the gain 1 / Σ_k (f / (f + k m))^(2p + 2), ½ at m/2 and
steep around. The normal equations are banded: time and memory grow with the samples, a long log can pass in pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
import scipy
from scipy import linalg

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals import noise, resample
from exciter.experiment.signals.low_pass_filter import EDGE_FRACTION, Butterworth, Edge, torque_bandwidth
from exciter.experiment.signals.processed_motion import Bridge, Frequency, RoutePlan, StreamingRoute, velocity_band
from exciter.notes import done, warning
from exciter.robot.motion import Motion
from exciter.robot.robot import FREE_BASE_JOINTS
from exciter.settings import NonNegative, Number, Switch, Whole
from exciter.typing import Array

FASTER_BAND_RATIO = 1.25  #: to the cut-off: less is the same band, measured twice
HIGHEST_CUTOFF_RATE_FRACTION = 0.2  #: leaves differences room
FEWEST_SPLINE_SAMPLES = 64
FEWEST_SAMPLES_PER_KNOT = 3.0
TRIED_KNOT_DENSITIES = 200
SPLINE_MEMORY_KNOTS = 80  #: intervals beyond which a sample is forgotten


def first_difference(q: Array, rate: float) -> Array:
    """q̇(k) = (q(k+1) − q(k−1)) / (2T) [12.16], T = 1/rate [s], (N − 2, …); a sine of ω is too small by (ωT)²/6."""
    if len(q) < 3:
        raise RecordingError(f"a central difference needs at least 3 samples; given {len(q)}")
    return np.asarray((q[2:] - q[:-2]) * (0.5 * rate))


def second_difference(q: Array, rate: float) -> Array:
    """q̈(k) = (q(k+1) − 2 q(k) + q(k−1)) / T², (N − 2, …). Rather than [12.16] twice: a sine is too small by (ωT)²/12,
    not (ωT)²/3. It lets more noise through near half the rate, where the filter before it has left none."""
    if len(q) < 3:
        raise RecordingError(f"a central difference needs at least 3 samples; given {len(q)}")
    return np.asarray((q[2:] - 2.0 * q[1:-1] + q[:-2]) * rate**2)


@dataclass(frozen=True)
class FilteredDifferences(StreamingRoute):
    """cutoff [Hz] (None: chosen from the data) and order of the Butterworth filter, one pass; −6 dB at the cut-off.

    rate [Hz]: of the result; None: a round one near the recorded. measured_velocity: q̇ is the recorded velocity
    through the same filter instead of a difference of q, and q̈ its difference. bridge: gaps of up to so many sampling
    intervals are interpolated. edge: samples at both ends are cut until the filter's guess about what lies beyond has
    faded to this; ``Processed.notes`` says how many. bands: where so many times the band of the log's own motion is
    clearly more than the cut-off, that is taken: a cut-off from a slow log would cut the motion of a fast one."""

    word, title, from_motion = "differences", "filtered differences", "cutoff"
    cutoff: Frequency = None
    order: Annotated[int, Whole(1)] = 4
    rate: Frequency = None
    measured_velocity: Switch = False
    bridge: Bridge = 10
    edge: Edge = EDGE_FRACTION
    bands: Annotated[float | None, Number(above=0.0)] = None

    def plan(self, recording: Recording) -> RoutePlan:
        if self.measured_velocity and recording.qd is None:
            raise RecordingError("no velocity was recorded; leave measured_velocity off to differentiate positions")
        recorded = resample.sampling_rate(recording.time)
        rate = resample.round_rate(recorded) if self.rate is None else self.rate
        gap = (self.bridge + 0.5) / recorded
        text = f"resampled to {rate:g} Hz by a cubic spline at the true times (recorded: {recorded:.6g} Hz)"
        notes = [done("resampling", text)]
        if rate < 0.9 * recorded:
            text = f"the rate is below the recorded one: torque above {rate / 2:g} Hz is folded down"
            notes.append(warning("resampling", text))
        part = noise.most_moving(recording, gap)
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
        if recording.base_acceleration is not None:
            notes.append(done("IMU", "accelerations of the base are the IMU's, through the same filter"))
        position_noise = torque_noise = None  # white noise assumed
        if len(part) >= noise.FEWEST_NOISE_SAMPLES:
            torque = part.needed_torque()
            resample.check_complete(replace(part, torque=torque, qd=None, current=None))
            share = min(1.0, 2.0 * low_pass.noise_bandwidth(rate) / rate)  # that is left behind the filter
            position_noise = noise.estimate_noise(part.time, part.q).sigma * np.sqrt(share)
            if np.isinf(bandwidth):  # an undone filter leaves nothing in the band where noise would show
                torque_noise = noise.estimate_noise(part.time, torque).sigma

        def derived(piece: resample.OverlappedPiece[Recording], start: float) -> tuple[Motion, Recording] | None:
            """See ``RoutePlan``. Nothing depends on where the segment starts."""
            given, alone = piece.whole, piece.first and piece.last
            if alone and given.duration * rate < 2 * cut:
                return None
            qd = given.qd if self.measured_velocity else None
            whole = resample.resample(replace(given, qd=qd, torque=given.needed_torque(), current=None), rate)
            if alone and len(whole) <= 2 * cut:
                return None
            time = whole.time
            first = cut if piece.first else int(np.searchsorted(time, given.time[piece.inner.start]))
            end = len(time) - cut if piece.last else int(np.searchsorted(time, given.time[piece.inner.stop]))
            q, qd, qdd = low_passed_differences(low_pass, rate, whole.q, whole.qd, slice(first, end))
            if (felt := whole.base_acceleration) is not None:  # by an IMU: through the same filter as all the rest
                columns = [whole.joints.index(name) for name in FREE_BASE_JOINTS]
                qdd[:, columns] = low_pass.zero_phase(felt, rate)[first:end]
            return Motion(time[first:end], q, qd, qdd), whole[first:end]

        settled = low_pass.reach(rate) / rate
        lost = f"{cut / rate:.3g} s are lost at each end with a cut-off of {cutoff:.4g} Hz"
        known = {"rate": rate, "notes": tuple(notes), "position_noise": position_noise, "torque_noise": torque_noise}
        return RoutePlan(
            gap=gap,
            margin=(resample.SPLINE_REACH_SAMPLES + 2, settled + (resample.SPLINE_REACH_SAMPLES + 2) / rate),
            derived=derived,
            too_short=f": {lost}; give a higher cut-off, or record longer",
            known={**known, "torque_bandwidth": bandwidth, "position_bandwidth": cutoff},
        )

    def _raised(self, part: Recording, rate: float, cutoff: float) -> tuple[float, str]:
        """As given, or more where this motion is faster; and why."""
        if self.bands is None or not noise.moves(part).any():
            return cutoff, ""
        smooth = Butterworth(self._chosen(part, rate)[0]).zero_phase(_positions(part, rate), rate)
        band = velocity_band([(np.gradient(smooth, axis=0), rate)])
        wanted = min(self.bands * band, HIGHEST_CUTOFF_RATE_FRACTION * rate)
        if wanted <= FASTER_BAND_RATIO * cutoff:
            return cutoff, ""
        return wanted, f": {self.bands:.3g} times the band of this motion, which is faster than that of {cutoff:.3g} Hz"

    def _chosen(self, part: Recording, rate: float) -> tuple[float, str]:
        """Cut-off [Hz], and why."""
        moving = noise.moves(part)
        choice = noise.choose_cutoff(_positions(part, rate), rate, self.order, moving)
        if not moving.any():
            raise RecordingError("no joint moves: a cut-off cannot be chosen from standstill; give cutoff")
        return choice.cutoff, f": {choice.reason}"


def _positions(part: Recording, rate: float) -> Array:
    """(N, n) at uniform instants."""
    return resample.resample(replace(part, qd=None, torque=None, current=None), rate).q


def low_passed_differences(
    low_pass: Butterworth, rate: float, q: Array, qd: Array | None, part: slice
) -> tuple[Array, Array, Array]:
    """q, q̇, q̈ of a part that leaves out a sample at least at each end; qd: measured, differences of q unless given."""
    wider = slice(part.start - 1, part.stop + 1)
    smooth = low_pass.zero_phase(q, rate)[wider]
    if qd is None:
        return smooth[1:-1], first_difference(smooth, rate), second_difference(smooth, rate)
    speed = low_pass.zero_phase(qd, rate)[wider]
    return smooth[1:-1], speed[1:-1], first_difference(speed, rate)


@dataclass(frozen=True)
class SmoothingSpline(StreamingRoute):
    """knots_per_second: None: chosen so that the error expected in q̈ is least. degree: 4 … 9.

    rate [Hz]: of the result; None: a round one near the recorded. edge: knot intervals cut at each end, where the
    spline leans on samples of one side only. bridge: gaps of up to so many sampling intervals are smoothed over."""

    word, title, from_motion = "spline", "a smoothing spline", "knots_per_second"
    knots_per_second: Annotated[float | None, Number(above=0.0)] = None
    degree: Annotated[int, Whole(4, 9)] = 5
    rate: Frequency = None
    edge: NonNegative = 3.0
    bridge: Bridge = 10

    def plan(self, recording: Recording) -> RoutePlan:
        if len(recording) < FEWEST_SPLINE_SAMPLES:
            wrong = f"{len(recording)} samples are too few to smooth; at least {FEWEST_SPLINE_SAMPLES} are needed"
            raise RecordingError(wrong)
        resample.check_complete(replace(recording, qd=None))
        recorded = resample.sampling_rate(recording.time)
        interval = 1.0 / recorded
        rate = resample.round_rate(recorded) if self.rate is None else self.rate
        gap = (self.bridge + 0.5) * interval
        part = noise.most_moving(recording, gap)
        sigma = noise.estimate_noise(part.time, part.q).sigma
        density, reason = self._density(part, recorded)
        if density * interval * FEWEST_SAMPLES_PER_KNOT > 1.0 + 1e-9:
            wrong = f"{density:g} knots per second are too many for samples at {recorded:.6g} Hz; at most a third"
            raise RecordingError(wrong)
        if gap * density > self.degree:
            gap = self.degree / density
        bandwidth, left_in = torque_bandwidth(recording.about)
        torque = noise.estimate_noise(part.time, part.needed_torque()).sigma if np.isinf(bandwidth) else None
        spline = f"least-squares B-spline of degree {self.degree} with {density:.3g} knots per second: {reason}"
        resampled = f"resampled from {recorded:.6g} to {rate:g} Hz; {self.edge / density:.3g} s cut at each end"
        lost = f"{self.edge / density:.3g} s are lost at each end"
        notes = (done("spline", spline), done("resampling", resampled), *left_in)
        known = {"rate": rate, "notes": notes, "torque_bandwidth": bandwidth, "torque_noise": torque}
        return RoutePlan(
            gap=gap,
            margin=(resample.SPLINE_REACH_SAMPLES, SPLINE_MEMORY_KNOTS / density),
            derived=partial(self._derived, density, rate),
            too_short=f" for {density:.3g} knots per second: {lost}; give more knots per second, or record longer",
            known={**known, "position_noise": sigma * np.sqrt(density * interval)},
        )

    def _density(self, recording: Recording, rate: float) -> tuple[float, str]:
        """Knots per second, and why."""
        if self.knots_per_second is not None:
            return self.knots_per_second, "as given"
        if not (moving := noise.moves(recording)).any():
            raise RecordingError("no joint moves: knots cannot be chosen from standstill; give knots_per_second")
        seen = noise.spectrum(_positions(recording, rate), rate)
        candidates = np.geomspace(2.0 / recording.duration, rate / FEWEST_SAMPLES_PER_KNOT, TRIED_KNOT_DENSITIES)
        best, worst, errors, _ = noise.least_error(seen, self._shares, candidates, moving)
        reason = f"they follow motion up to {0.5 * candidates[best]:.3g} Hz; that of '{recording.joints[worst]}', the "
        reason += f"worst for its own q̈, shows up to {seen.bandwidth[worst]:.3g} Hz above a noise of "
        reason += f"{seen.sigma[worst]:.2g}, and the error expected in it, {np.sqrt(errors[best, worst]):.2g}, is then "
        return float(candidates[best]), f"{reason}least"

    def _derived(
        self, density: float, rate: float, piece: resample.OverlappedPiece[Recording], start: float
    ) -> tuple[Motion, Recording] | None:
        """See ``RoutePlan``; density: knots per second."""
        given, cut = piece.whole, self.edge / density
        whole = replace(given, torque=given.needed_torque(), qd=None, current=None)
        resample.check_complete(whole)
        if whole.duration * density < 1.0 or len(whole) < FEWEST_SPLINE_SAMPLES:
            return None
        end = whole.time[-1] - cut if piece.last else given.time[piece.inner.stop]
        begin = whole.time[0] + cut if piece.first else given.time[piece.inner.start]
        uniform = resample.resample(whole, rate)
        before = np.searchsorted(uniform.time, end, "right" if piece.last else "left")
        part = uniform[int(np.searchsorted(uniform.time, begin)) : int(before)]
        if piece.first and piece.last and len(part) < 8:
            return None
        time = whole.time - start
        ends = np.ceil(time[0] * density + 0.5), np.floor(time[-1] * density - 0.5)
        inner = np.arange(ends[0], ends[1] + 1) / density  # from the start of a segment: its pieces share them
        knots = np.concatenate([[time[0]] * (self.degree + 1), inner, [time[-1]] * (self.degree + 1)])
        try:
            spline = scipy.interpolate.make_lsq_spline(time, whole.q, knots, k=self.degree, check_finite=False)
        except (ValueError, linalg.LinAlgError):
            few = f"{density:.3g} knots per second leave parts of the spline without samples; give fewer"
            raise RecordingError(few) from None
        return Motion(part.time, *(spline(part.time - start, nu=k) for k in range(3))), part

    def _shares(self, frequency: Array, density: float) -> tuple[Array, Array]:
        """What a least-squares spline does to q̈ at frequencies [Hz], by its knots per second. A projection: noise
        passes with the gain G; of the signal (1 − G)² is lost, G (1 − G) comes out at the nearest image frequency."""
        nearest = np.round(frequency / density)
        images = nearest[:, None] + np.arange(-2, 3)
        distance = np.abs(frequency[:, None] - density * images) / frequency[:, None]
        ratio = np.where(images == 0.0, 0.0, 1.0 / np.maximum(distance, 1e-12))
        gain = 1.0 / (1.0 + (ratio ** (2 * self.degree + 2)).sum(axis=1))
        image = np.abs(frequency - density * np.maximum(nearest, 1.0))
        own, other = (2.0 * np.pi * frequency) ** 4, (2.0 * np.pi * image) ** 4
        return own * (1.0 - gain) ** 2 + other * gain * (1.0 - gain), own * gain
