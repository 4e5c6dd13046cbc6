"""Commands of samples that a log lost: the drive got them all the same.

A straight line over a gap cuts the corners of a motion, by q̈ h²/2 at its middle, which the simulated drive follows:
of one sample in a hundred that is a quarter of σ of virtual robots, and no noise. Commands that a cubic spline tells
better than a line, where every second sample is left out, are filled by the spline; those that jump, by the line."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from exciter.typing import Array

GAP_OF_STEPS = 1.5  #: between samples, from which on one is lost
MOST_LOST = 4  #: samples in a row that are filled
LEAST_SAMPLES_OF_SPLINE = 20


def with_lost_commands(time: Array, command: Array) -> tuple[Array, Array]:
    """(M,) and (M, n): instants (N,) and commands (N, n) with those that are lost between them."""
    once = np.flatnonzero(np.diff(time, prepend=-np.inf) > 0.0)  # a logger may write an instant twice
    if len(once) < len(time):
        time, command = time[once], command[once]
    between = np.diff(time)
    step = float(np.median(between))
    gaps = np.flatnonzero(between > GAP_OF_STEPS * step)
    lost = [
        time[k] + between[k] * np.arange(1, count) / count
        for k in gaps
        if 1 < (count := round(between[k] / step)) <= MOST_LOST + 1
    ]
    if not lost or len(time) < LEAST_SAMPLES_OF_SPLINE:
        return time, command
    instants, kept, left_out = np.concatenate(lost), time[::2], time[1:-1:2]
    filled = np.empty((len(instants), command.shape[1]))
    for j, own in enumerate(command.T):
        off = CubicSpline(kept, own[::2])(left_out) - own[1:-1:2]
        straight = np.interp(left_out, kept, own[::2]) - own[1:-1:2]
        smooth = float(off @ off) < float(straight @ straight)
        filled[:, j] = CubicSpline(time, own)(instants) if smooth else np.interp(instants, time, own)
    order = np.argsort(np.concatenate([time, instants]), kind="stable")
    return np.concatenate([time, instants])[order], np.vstack([command, filled])[order]


def held_commands(time: Array, command: Array, step: float) -> tuple[Array, Array]:
    """(2 M − 1,) and (2 M − 1, n): each command held until the next, as lines. A simulation takes the command at the
    beginning of each step [s]; on a line that begins one step before a new command that is the mean over the step, so
    that a delay of any size moves it evenly."""
    before = np.maximum(time[1:] - step, 0.5 * (time[1:] + time[:-1]))
    instants = np.sort(np.concatenate([time, before]))
    return instants, np.repeat(command, 2, axis=0)[:-1]
