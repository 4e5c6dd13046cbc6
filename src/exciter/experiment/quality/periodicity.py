"""Does the motion repeat itself?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.notes import Note, note, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

SAME = 0.003  # of the variance: mean square difference, halved, of a motion and itself one period later
OTHER = 0.05  # of the variance: so far it must have gone in between


def difference(q: Array) -> Array:
    """(2M/3,) mean square difference between q and itself k bins later over twice its variance, all joints alike."""
    count = len(q)
    lags = np.arange(2 * count // 3)  # two whole periods must show, to the bin
    total = np.zeros(len(lags))
    used = 0
    for x in (q - q.mean(axis=0)).T:
        variance = float(x @ x) / count
        if variance <= 0.0:
            continue
        size = 1 << int(np.ceil(np.log2(2 * count)))
        spectrum = np.fft.rfft(x, size)
        product = np.fft.irfft(np.abs(spectrum) ** 2, size)[: len(lags)]
        squares = np.concatenate([[0.0], np.cumsum(x**2)])
        head, tail = squares[count - lags], squares[count] - squares[lags]
        total += (head + tail - 2.0 * product) / (count - lags) / (2.0 * variance)
        used += 1
    return total / max(used, 1)


def visible_period(time: Array, q: Array) -> float | None:
    """[s] of a motion on uniform times that is there at least one and a half times."""
    if len(time) < 32:
        return None
    d = difference(q)
    left = np.flatnonzero(d > OTHER)
    if not left.size:
        return None
    later = d[left[0] :]
    inner = np.flatnonzero((later[1:-1] <= later[:-2]) & (later[1:-1] < later[2:]) & (later[1:-1] < SAME)) + 1
    if not inner.size:
        return None
    k = int(inner[0])
    a, b, c = later[k - 1 : k + 2]
    bend = a - 2.0 * b + c
    return float((left[0] + k + (0.5 * (a - c) / bend if bend > 0 else 0.0)) * (time[1] - time[0]))


def periodicity(evidence: Evidence) -> Iterator[Note]:
    """The period given, judged by the data; or the one they show."""
    rest = evidence.rest
    if rest.start is None or rest.end is None:
        return
    given = evidence.survey.about.period
    time, q = evidence.survey.coarse.positions()
    inside = (time >= rest.start) & (time <= rest.end)
    if given is not None and evidence.survey.about.settled is not None:
        inside &= time >= evidence.survey.about.settled
    width = evidence.survey.coarse.width
    time, q = time[inside], q[inside]
    if len(time) < 32:
        return
    grid = np.arange(time[0], time[-1], width)
    q = np.column_stack([np.interp(grid, time, column) for column in q.T])
    found = visible_period(grid, q)
    duration = float(grid[-1] - grid[0])
    if given is None:
        if found is not None:
            words = f"the motion repeats every {found:.4g} s ({duration / found:.3g} times)"
            words += "; say period: … to average" if duration >= 2.0 * found else ": parts of it are seen twice"
            yield note("period", words, period=found, repeats=duration / found)
        return
    if duration < 2.0 * given:
        yield note("period", f"{duration / given:.2g} periods of {given:g} s: too few to average", period=given)
        return
    d = difference(q)
    here = float(np.interp(given / width, np.arange(len(d)), d))
    if here > SAME:
        seen = "" if found is None else f"; it does every {found:.4g} s"
        words = f"the motion does not repeat after the period of {given:g} s given ({100 * here:.2g} % of its variance)"
        yield warning("period", words + seen, period=given, difference=here, visible=found)
    else:
        words = f"the motion repeats every {given:g} s as given, {duration / given:.3g} times"
        yield note("period", words, period=given, repeats=duration / given)
