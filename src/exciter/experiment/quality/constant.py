"""Channels that stop: stuck sensors, flat tops, packets logged twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.tally import runs
from exciter.experiment.quality.words import number, percent
from exciter.experiment.recording.recording import Recording
from exciter.notes import Note, problem, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

BESIDE = 10  # samples before and after a plateau that tell whether the channel slowed down
DEAD_STOP = 0.5  # steps beside a plateau, relative to usual ones, that mean it did not
MOVED = 0.05  # of a joint's range: it moved while the channel stood
STANDSTILL = 0.25  # [s] rows repeated for longer are a robot at rest


@dataclass(frozen=True)
class Plateau:
    """A stretch over which a channel kept one value: when [s], how long [s], steps beside it over usual ones, and the
    part of its range that the joint moved meanwhile."""

    start: float
    duration: float
    beside: float
    moved: float


class Plateaus:
    """The longest suspicious plateau per channel, and rows that repeat the one before."""

    def __init__(self, shortest: float) -> None:
        self._shortest = shortest
        self.longest: dict[tuple[str, int], Plateau] = {}
        self.repeated = self.longest_repeat = 0

    def see(self, piece: Recording, old: int) -> None:
        if len(piece) < 2:
            return
        span = np.ptp(piece.q, axis=0)
        for name in piece.signals:
            x = getattr(piece, name)
            for j in range(piece.n):
                self._see_channel((name, j), x[:, j], piece, float(span[j]))
        self._see_rows(piece, old)

    def _see_channel(self, channel: tuple[str, int], x: Array, piece: Recording, span: float) -> None:
        step = np.diff(x)
        starts, lengths = runs(step == 0.0)
        time = piece.time
        long = time[starts + lengths] - time[starts] >= self._shortest if starts.size else starts.astype(bool)
        changes = step[(step != 0.0) & np.isfinite(step)]
        usual = np.sqrt(np.mean(changes**2)) if changes.size else 0.0
        for start, length in zip(starts[long], lengths[long], strict=True):
            end = int(start + length)
            before, after = np.abs(step[max(start - BESIDE, 0) : start]), np.abs(step[end : end + BESIDE])
            sides = [float(side.mean()) for side in (before, after) if side.size]
            moved = float(np.ptp(piece.q[start : end + 1, channel[1]])) / span if span > 0 else 0.0
            found = Plateau(
                float(time[start]),
                float(time[end] - time[start]),
                max(sides, default=0.0) / usual if usual > 0 else 0.0,
                moved,
            )
            if suspicious(channel[0], found) and found.duration > self._so_far(channel):
                self.longest[channel] = found

    def _so_far(self, channel: tuple[str, int]) -> float:
        return self.longest[channel].duration if channel in self.longest else 0.0

    def _see_rows(self, piece: Recording, old: int) -> None:
        same = np.ones(len(piece) - 1, dtype=bool)
        for name in piece.signals:
            same &= (np.diff(getattr(piece, name), axis=0) == 0.0).all(axis=1)
        starts, lengths = runs(same[max(old - 1, 0) :])
        short = lengths * np.median(np.diff(piece.time)) < STANDSTILL if starts.size else starts.astype(bool)
        self.repeated += int(lengths[short].sum())
        self.longest_repeat = max(self.longest_repeat, int(lengths[short].max(initial=0)))


def suspicious(signal: str, plateau: Plateau) -> bool:
    """A position that stops dead in mid-motion; any other channel that stands while its joint moves."""
    return plateau.beside > DEAD_STOP if signal == "q" else plateau.moved > MOVED


def stuck(evidence: Evidence) -> Iterator[Note]:
    """Channels that never change, or stand still in mid-motion."""
    survey = evidence.survey
    for name in evidence.signals:
        span = survey.values.range(name)
        for j in np.flatnonzero(span == 0.0):
            yield from _never_changes(evidence, name, int(j))
    for (name, joint), plateau in survey.plateaus.longest.items():
        if survey.values.range(name)[joint] == 0.0:
            continue
        words = (
            f"{name} stands still for {plateau.duration:.3g} s after {plateau.start:.6g} s although the joint moves; "
            "a sensor or the logger hung: cut that time out with windows"
        )
        numbers = {"signal": name, "at": plateau.start, "duration": plateau.duration}
        yield problem("stuck sensor", words, evidence.joints[joint], **numbers)


def _never_changes(evidence: Evidence, name: str, j: int) -> Iterator[Note]:
    value = float(evidence.survey.values.lowest[name][j])
    if not np.isfinite(value):
        return
    joint, numbers = evidence.joints[j], {"signal": name, "value": value}
    others = (evidence.survey.values.range("q") > 0).any()
    if name == "q":
        words = f"the position is {number(value, 6)} throughout: it does not move, or its sensor is not connected"
        yield warning("joint does not move", words, joint, **numbers)
    elif others:
        words = f"{name} is {number(value, 6)} throughout while the robot moves; is it the right column?"
        moves = evidence.survey.values.range("q")[j] > 0
        yield (problem if moves or name != "qd" else warning)("stuck sensor", words, joint, **numbers)


def repeated_rows(evidence: Evidence) -> Iterator[Note]:
    """The same packet logged again; judged where a channel beside the positions never rests by itself."""
    plateaus, samples = evidence.survey.plateaus, evidence.survey.timing.samples
    share = plateaus.repeated / samples
    if len(evidence.signals) > 1 and share > evidence.thresholds.repeated_rows:
        words = (
            f"{percent(share)} of the rows repeat the one before in every channel, up to {plateaus.longest_repeat} "
            "on end: a packet that was logged again; derivatives jump there, smooth generously"
        )
        yield warning("repeated rows", words, share=share, count=plateaus.repeated, longest=plateaus.longest_repeat)
