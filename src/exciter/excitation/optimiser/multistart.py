"""Many starts of one search, over processes, each by its own seed: the same result whatever the number of processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from exciter.excitation.optimiser.checkpoint import Checkpoint
from exciter.excitation.optimiser.search import Attempt, Search


@dataclass(frozen=True)
class Progress:
    """start: number of the start that reports; done: starts completed; value: the best so far (inf: none yet)."""

    start: int
    starts: int
    done: int
    iteration: int
    value: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Attempts:
    """What all starts gave; interrupted: Ctrl-C or the time limit came before all were done."""

    attempts: tuple[Attempt, ...]
    interrupted: bool


def run_starts(
    search: Search,
    starts: int,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Attempts:
    """Run ``starts`` starts; those found complete in the checkpoint file are not run again.

    The time limit [s] and Ctrl-C end the search early: the start under way keeps what it has reached.
    """
    began = time.time()  # the clock that other processes have too
    deadline = np.inf if time_limit is None else began + time_limit
    saved = None if checkpoint is None else Checkpoint.opened(checkpoint, search)
    done = {} if saved is None else {number: a for number, a in saved.attempts() if number < starts}
    missing = [number for number in range(starts) if number not in done]

    def tell(number: int, iteration: int, value: float) -> None:
        if progress is not None:
            best = min([value, *(attempt.value for attempt in done.values())])
            progress(Progress(number, starts, len(done), iteration, best, time.time() - began))

    try:
        for attempt in _run(search, missing, jobs, deadline, tell):
            done[attempt.number] = attempt
            tell(attempt.number, 0, attempt.value)
            if saved is not None and attempt.complete:
                saved = saved.with_attempt(attempt)
    except KeyboardInterrupt:
        if not done:
            raise
    complete = [attempt for attempt in done.values() if attempt.complete]
    return Attempts(tuple(done[number] for number in sorted(done)), len(complete) < starts)


def _run(
    search: Search, numbers: list[int], jobs: int, deadline: float, tell: Callable[[int, int, float], None]
) -> Iterator[Attempt]:
    """Attempts as they end, none begun after the deadline; the first start always has its turn."""
    if jobs == 1 or len(numbers) <= 1:
        for number in numbers:
            attempt = search.run(number, deadline, partial(tell, number))
            yield attempt
            if not attempt.complete or time.time() > deadline:
                return
        return
    from joblib import Parallel, delayed

    _ = search.posture  # found once, and an infeasible problem is told here
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    ended = parallel(delayed(_run_in_time)(search, number, deadline, number == numbers[0]) for number in numbers)
    yield from (attempt for attempt in ended if attempt is not None)


def _run_in_time(search: Search, number: int, deadline: float, always: bool) -> Attempt | None:
    return search.run(number, deadline) if always or time.time() < deadline else None
