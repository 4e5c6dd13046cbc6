"""Where a log shows motion: what settings are chosen from must not be the rest before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.chunks import Join, split_at_gaps
from exciter.experiment.signals.noise import FEWEST, estimate_noise

MOVES = 20.0  # times its noise: the spread of a position that moves
WINDOWS = 10  # stretches of a stream that are held in memory in search of motion


def moves(recording: Recording) -> bool:
    """Whether a joint moves by more than noise, drift or the last digit of an encoder."""
    if len(recording) < FEWEST:
        return False
    later = np.diff(recording.time, prepend=-np.inf) > 0.0
    q = recording.q[later]
    if len(q) < FEWEST or not np.isfinite(q).all():
        return len(q) >= FEWEST  # to be refused where it can be said better
    return bool((q.std(axis=0) > MOVES * estimate_noise(recording.time[later], q).sigma).any())


def most_moving(recording: Recording, gap: float) -> Recording:
    """The part between gaps longer than ``gap`` [s] that holds most of the motion, each joint's counted alike."""
    parts = split_at_gaps(recording, gap)
    if len(parts) == 1:
        return parts[0]
    size = np.array([len(part) * part.q.var(axis=0) for part in parts])
    return parts[int(np.argmax((size / np.maximum(size.sum(axis=0), 1e-300)).sum(axis=1)))]


def peeked_at_motion(
    parts: Iterable[Recording], samples: int, join: Join[Recording]
) -> tuple[Recording | None, Iterator[Recording]]:
    """A first stretch of a stream in which something moves, some ``samples`` long, and the stream from its start.

    None: the stream is empty. Refused where the first million samples or so are standstill.
    """
    stream, seen = iter(parts), list[Recording]()
    for _ in range(WINDOWS):
        if not (window := _window(stream, samples)):
            break
        seen.append(join(window))
        if moves(seen[-1]):
            if len(seen) > 1 or not moves(seen[0][: len(seen[0]) // 2]):  # it has begun only just
                seen += _window(stream, samples)
            return join(seen[_first(seen) :]), chain(seen, stream)
    if not seen:
        return None, iter(())
    if sum(map(len, seen)) < FEWEST:
        return join(seen), chain(seen, stream)
    raise RecordingError(
        f"no joint moves in the first {seen[-1].time[-1] - seen[0].time[0]:.3g} s: nothing can be chosen from "
        "standstill; give the setting (cutoff, or knots_per_second), or cut the rest off"
    )


def _first(seen: Sequence[Recording]) -> int:
    """Index of the first stretch that moves."""
    return next(k for k, part in enumerate(seen) if moves(part))


def _window(stream: Iterator[Recording], samples: int) -> list[Recording]:
    window, total = list[Recording](), 0
    while total < samples and (part := next(stream, None)) is not None:
        if len(part):
            window.append(part)
            total += len(part)
    return window
