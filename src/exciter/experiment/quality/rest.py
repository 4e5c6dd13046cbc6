"""Rest: where sign(q̇) is meaningless. Worth knowing, but no fault: identification leaves it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, maximum_filter1d, minimum_filter1d

from exciter.experiment.quality.coarse import Coarse
from exciter.experiment.quality.thresholds import Thresholds
from exciter.notes import Note, note, problem
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

LEFT_OUT = "identification leaves it out, or takes friction with pre-sliding"
NOISE = 6.0  # standard deviations of the coarse positions that noise makes of rest


@dataclass(frozen=True, eq=False)
class Rest:
    """time (M,) [s] and resting (M, n) over coarse bins; start, end [s]: first and last moment at which a joint moves,
    None when none ever does."""

    time: Array
    resting: NDArray[np.bool_]
    start: float | None
    end: float | None

    @property
    def share(self) -> Array:
        """(n,) of the time between start and end."""
        if self.start is None or self.end is None:
            return np.ones(self.resting.shape[1])
        inside = (self.time >= self.start) & (self.time <= self.end)
        return np.asarray(self.resting[inside].mean(axis=0))


def rest_of(coarse: Coarse, thresholds: Thresholds) -> Rest:
    """A joint rests while it stays, for a window's time, within what its usual speed would cross in a small part of
    it, or within its own noise."""
    time, q = coarse.positions()
    width = coarse.width
    size = max(3, round(thresholds.rest_window / width) | 1)
    if len(time) < 2 * size:
        return Rest(time, np.zeros(q.shape, dtype=bool), *_ends(time, np.ones(len(time), dtype=bool), width))
    steps = np.diff(time)[:, None]
    usual = np.quantile(np.abs(np.diff(q, axis=0)) / steps, 0.95, axis=0)
    third = np.diff(q, 3, axis=0)  # of white noise: √20 times its standard deviation
    noise = 1.4826 * np.median(np.abs(third), axis=0) / np.sqrt(20.0)
    still = np.maximum(thresholds.rest_speed * usual * size * width, NOISE * noise)
    extent = maximum_filter1d(q, size, axis=0) - minimum_filter1d(q, size, axis=0)
    resting = binary_dilation(extent <= still, np.ones((size, 1), dtype=bool))
    return Rest(time, resting, *_ends(time, ~resting.all(axis=1), width))


def _ends(time: Array, moving: NDArray[np.bool_], width: float) -> tuple[float | None, float | None]:
    at = np.flatnonzero(moving)
    if not at.size:
        return None, None
    return float(time[at[0]] - 0.5 * width), float(time[at[-1]] + 0.5 * width)


def standstill(evidence: Evidence) -> Iterator[Note]:
    """The whole robot at rest before it starts and after it ends."""
    rest, timing, least = evidence.rest, evidence.survey.timing, evidence.thresholds.standstill
    if rest.start is None or rest.end is None:
        words = "no joint moves; nothing but weight and offset can be learnt from it"
        yield problem("standstill", words, start=timing.first, end=timing.last)
        return
    for where, start, end in (("before", timing.first, rest.start), ("after", rest.end, timing.last)):
        if end - start > least:
            words = (
                f"the robot stands still {where} its motion, {start:.4g} … {end:.4g} s ({end - start:.3g} s): friction "
                f"has no sign there; {LEFT_OUT}; windows, or repair: {{cut_standstill: true}}, cut it off"
            )
            yield note("standstill", words, where=where, start=start, end=end, duration=end - start)


def resting_joints(evidence: Evidence) -> Iterator[Note]:
    """Joints that rest while others move."""
    share, still = evidence.rest.share, evidence.survey.values.range("q") == 0.0
    for j, joint in enumerate(evidence.joints):
        if share[j] > evidence.thresholds.rest_share and not still[j] and evidence.rest.start is not None:
            words = (
                f"the joint rests for {100 * share[j]:.0f} % of the motion: its friction has no sign then; {LEFT_OUT}"
            )
            yield note("rest", words, joint, share=float(share[j]))
