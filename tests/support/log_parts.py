"""Logs in parts: trained on some stretches of time, judged on others, whose motion is alike or not.

Positions are differentiated before a log is cut, so that stretches lose nothing at their ends but what the filter of
the equations needs; torques of the other stretches are never seen. Predictions are of the whole log, and judged where
they count: what a filter and friction's memory need lies before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exciter.experiment.recording import Recording
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.runs.run import Run
from exciter.validation.prediction import Prediction

COUNT = 8  #: stretches of a log
ALIKE = "first → rest"
Span = tuple[float, float]


@dataclass(frozen=True)
class Split:
    """train, test: stretches [s] of every log, neighbours joined."""

    name: str
    train: tuple[tuple[Span, ...], ...]
    test: tuple[tuple[Span, ...], ...]

    @property
    def back(self) -> Split:
        """The other way round."""
        subject, colon, halves = self.name.rpartition(": ")
        first, arrow, second = halves.partition(" → ")
        return Split(f"{subject}{colon}{second}{arrow}{first}", self.test, self.train)


def splits(recordings: Sequence[Recording]) -> dict[str, Split]:
    """Motion alike, by speed, and by position of joint 2 and of the joint that travels farthest."""
    widest = int(np.argmax(np.max([np.ptp(recording.q, axis=0) for recording in recordings], axis=0)))
    found = [
        _alike(recordings),
        _split("every other: odd → even", recordings, lambda one: np.arange(COUNT) % 2),
        _split("slow → fast", recordings, _speeds),
        _split("joint 2: low → high", recordings, lambda one: _places(one, 1)),
    ]
    if widest != 1:
        found.append(_split(f"joint {widest + 1}: low → high", recordings, lambda one: _places(one, widest)))
    return {one.name: one for one in found}


def _alike(recordings: Sequence[Recording]) -> Split:
    """Motion of one design: the first log and the others, or two thirds of one log and the rest."""
    spans = [(float(one.time[0]), float(one.time[-1])) for one in recordings]
    if len(spans) > 1:
        return Split(ALIKE, ((spans[0],), *(() for _ in spans[1:])), ((), *((span,) for span in spans[1:])))
    (first, last), middle = spans[0], spans[0][0] + (spans[0][1] - spans[0][0]) * 2.0 / 3.0
    return Split(ALIKE, (((first, middle),),), (((middle, last),),))


def _split(name: str, recordings: Sequence[Recording], rank: Callable[[Recording], np.ndarray]) -> Split:
    """Halves of the stretches of every log, by rank."""
    train, test = [], []
    for one in recordings:
        order = np.argsort(rank(one), kind="stable")
        low, high = sorted(order[: COUNT // 2]), sorted(order[COUNT // 2 :])
        train.append(_joined([stretches(one)[k] for k in low]))
        test.append(_joined([stretches(one)[k] for k in high]))
    return Split(name, tuple(train), tuple(test))


def stretches(recording: Recording) -> list[Span]:
    """Of equal length."""
    ends = np.linspace(recording.time[0], recording.time[-1], COUNT + 1)
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    found: list[Span] = []
    for first, last in spans:
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found)


def _speeds(recording: Recording) -> np.ndarray:
    """(COUNT,) rms speed, each joint over its own."""
    speed = np.diff(recording.q, axis=0) / np.diff(recording.time)[:, None]
    squares = ((speed / np.sqrt((speed**2).mean(axis=0))) ** 2).mean(axis=1)
    return _means(recording.time[1:], squares, recording)


def _places(recording: Recording, joint: int) -> np.ndarray:
    """(COUNT,) mean position."""
    return _means(recording.time, recording.q[:, joint], recording)


def _means(time: np.ndarray, values: np.ndarray, recording: Recording) -> np.ndarray:
    return np.array([values[(time >= first) & (time <= last)].mean() for first, last in stretches(recording)])


def cut(run: Run, spans: Sequence[Span]) -> Run:
    """The part of a processed run within spans."""
    parts: list[Processed] = []
    for part in run.parts:
        for first, last in spans:
            start, end = np.searchsorted(part.motion.time, [first, last])
            if end - start > 1:
                parts.append(part[int(start) : int(end)])
    return replace(run, parts=tuple(parts), span=None)


def counted(prediction: Prediction, spans: Sequence[Span]) -> np.ndarray:
    """(N,) which instants lie within spans."""
    inside = [(prediction.time >= first) & (prediction.time <= last) for first, last in spans]
    return np.any([np.zeros(len(prediction), dtype=bool), *inside], axis=0)
