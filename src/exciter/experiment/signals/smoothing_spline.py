"""Smoothing of motions that do not repeat: a least-squares B-spline on true time, derivatives analytic.

A spline of degree p with m knots per second is a low-pass: least squares keeps a frequency f with the gain
1 / Σ_k (f / (f + k m))^(2p + 2), ½ at m/2 and steep around. The normal equations are banded: time and memory grow as
the number of samples does, and a long log can be worked on in overlapping pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import interpolate, linalg

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.cutoff import Shares, least_error, spectrum
from exciter.experiment.signals.low_pass import torque_bandwidth
from exciter.experiment.signals.noise import estimate_noise, most_moving, moves
from exciter.experiment.signals.processed import Processed
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
from exciter.notes import Note, done
from exciter.robot.motion import Motion
from exciter.settings import NonNegative, Number, Whole
from exciter.typing import Array

FEWEST = 64  # samples
PER_KNOT = 3.0  # samples at least
TRIED = 200  # knot densities
MEMORY = 80  # knot intervals beyond which a sample is forgotten


@dataclass(frozen=True)
class SmoothingSpline(StreamingRoute):
    """knots_per_second: None: chosen so that the error expected in q̈ is least. degree: 4 … 9.

    rate [Hz]: of the result; None: a round one near the recorded. edge: knot intervals cut at each end, where the
    spline leans on samples of one side only. bridge: gaps of up to so many sampling intervals are smoothed over.
    """

    word, title = "spline", "a smoothing spline"
    knots_per_second: Annotated[float | None, Number(above=0.0)] = None
    degree: Annotated[int, Whole(4)] = 5
    rate: Frequency = None
    edge: NonNegative = 3.0
    bridge: Bridge = 10

    def __post_init__(self) -> None:
        if not 4 <= self.degree <= 9 or self.edge < 0.0 or self.bridge < 1:
            raise RecordingError(f"{self}: the degree must be 4 … 9, edge 0 or more knot intervals, bridge 1 or more")
        if self.knots_per_second is not None and not 0.0 < self.knots_per_second < float("inf"):
            raise RecordingError(f"knots_per_second is {shown(self.knots_per_second)}; give a positive number")

    @property
    def is_open(self) -> bool:
        return self.knots_per_second is None

    def plan(self, recording: Recording) -> _Plan:
        if len(recording) < FEWEST:
            raise RecordingError(f"{len(recording)} samples are too few to smooth; at least {FEWEST} are needed")
        check_complete(replace(recording, qd=None))
        recorded = sampling_rate(recording.time)
        interval = 1.0 / recorded
        rate = round_rate(recorded) if self.rate is None else self.rate
        gap = (self.bridge + 0.5) * interval
        part = most_moving(recording, gap)
        noise = estimate_noise(part.time, part.q).sigma
        density, reason = self._density(part, recorded)
        if density * interval * PER_KNOT > 1.0 + 1e-9:
            raise RecordingError(
                f"{density:g} knots per second are too many for samples at {recorded:.6g} Hz; at most a third"
            )
        if gap * density > self.degree:
            gap = self.degree / density
        bandwidth, left_in = torque_bandwidth(recording.about)
        torque = estimate_noise(part.time, part.needed_torque()).sigma if np.isinf(bandwidth) else None
        spline = f"least-squares B-spline of degree {self.degree} with {density:.3g} knots per second: {reason}"
        resampled = f"resampled from {recorded:.6g} to {rate:g} Hz; {self.edge / density:.3g} s cut at each end"
        notes = (done("spline", spline), done("resampling", resampled), *left_in)
        left, cut = noise * np.sqrt(density * interval), self.edge / density
        return _Plan(self.degree, density, rate, gap, cut, left, torque, notes, bandwidth)

    def _density(self, recording: Recording, rate: float) -> tuple[float, str]:
        """Knots per second, and why."""
        if self.knots_per_second is not None:
            return self.knots_per_second, "as given"
        if not moves(recording):
            raise RecordingError("no joint moves: knots cannot be chosen from standstill; give knots_per_second")
        uniform = resample(replace(recording, qd=None, torque=None, current=None), rate)
        seen = spectrum(uniform.q, rate)
        candidates = np.geomspace(2.0 / recording.duration, rate / PER_KNOT, TRIED)
        best, worst, errors, _ = least_error(seen, spline_shares(self.degree), candidates)
        return float(candidates[best]), (
            f"they follow motion up to {0.5 * candidates[best]:.3g} Hz; that of '{recording.joints[worst]}', the "
            f"worst for its own q̈, shows up to {seen.bandwidth[worst]:.3g} Hz above a noise of "
            f"{seen.sigma[worst]:.2g}, and the error expected in it, {np.sqrt(errors[best, worst]):.2g}, is then least"
        )


def spline_shares(degree: int) -> Shares:
    """What a least-squares spline does to q̈ at frequencies [Hz], by its density of knots [1/s].

    A projection: noise passes with the gain itself; of the signal (1 − G)² is lost, and G (1 − G) comes out at the
    nearest image frequency, which counts in q̈ by its own fourth power.
    """

    def shares(frequency: Array, density: float) -> tuple[Array, Array]:
        nearest = np.round(frequency / density)
        images = nearest[:, None] + np.arange(-2, 3)
        distance = np.abs(frequency[:, None] - density * images) / frequency[:, None]
        ratio = np.where(images == 0.0, 0.0, 1.0 / np.maximum(distance, 1e-12))
        gain = 1.0 / (1.0 + (ratio ** (2 * degree + 2)).sum(axis=1))
        image = np.abs(frequency - density * np.maximum(nearest, 1.0))
        own, other = (2.0 * np.pi * frequency) ** 4, (2.0 * np.pi * image) ** 4
        return own * (1.0 - gain) ** 2 + other * gain * (1.0 - gain), own * gain

    return shares


@dataclass(frozen=True, eq=False)
class _Plan:
    """density: knots per second; gap [s]: the longest that is bridged; cut [s]: at each end of a segment."""

    degree: int
    density: float
    rate: float
    gap: float
    cut: float
    position_noise: Array
    torque_noise: Array | None
    notes: tuple[Note, ...]
    torque_bandwidth: float

    @property
    def margin(self) -> Margin:
        return Margin(seconds=MEMORY / self.density, samples=REACH)

    def too_short(self, duration: float) -> str:
        return (
            f"{duration:.3g} s are too short for {self.density:.3g} knots per second: {self.cut:.3g} s are lost at "
            "each end; give more knots per second, or record longer"
        )

    def processed(self, piece: Piece[Recording], start: float) -> Processed | None:
        """The inner part of a piece of the segment that begins at ``start`` [s]; None where it is too short."""
        given = piece.whole
        whole = replace(given, torque=given.needed_torque(), qd=None, current=None)
        check_complete(whole)
        if whole.duration * self.density < 1.0 or len(whole) < FEWEST:
            return None
        end = whole.time[-1] - self.cut if piece.last else given.time[piece.inner.stop]
        begin = whole.time[0] + self.cut if piece.first else given.time[piece.inner.start]
        uniform = resample(whole, self.rate)
        before = np.searchsorted(uniform.time, end, "right" if piece.last else "left")
        part = uniform[int(np.searchsorted(uniform.time, begin)) : int(before)]
        if piece.first and piece.last and len(part) < 8:
            return None
        spline = self._fit(whole, start)
        q, qd, qdd = (spline(part.time - start, nu=k) for k in range(3))
        motion = Motion(part.time, q, qd, qdd)
        noises = self.position_noise, self.torque_noise
        told = self.notes, self.torque_bandwidth
        found = Processed(motion, part.needed_torque(), self.rate, *noises, *told, wrench=part.wrench)
        return replace(found, temperature=part.temperature)

    def _fit(self, whole: Recording, start: float) -> interpolate.BSpline:
        """Inner knots at start + k/density: pieces of a segment share them."""
        time = whole.time - start
        ends = np.ceil(time[0] * self.density + 0.5), np.floor(time[-1] * self.density - 0.5)
        inner = np.arange(ends[0], ends[1] + 1) / self.density
        several = np.full(self.degree + 1, time[0]), np.full(self.degree + 1, time[-1])
        knots = np.concatenate([several[0], inner, several[1]])
        try:
            return interpolate.make_lsq_spline(time, whole.q, knots, k=self.degree, check_finite=False)
        except (ValueError, linalg.LinAlgError):
            raise RecordingError(
                f"{self.density:.3g} knots per second leave parts of the spline without samples; give fewer"
            ) from None
