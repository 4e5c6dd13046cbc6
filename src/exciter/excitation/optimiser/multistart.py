"""Many starts of one search, over processes, each by its own seed: the same result whatever the number of processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    began = time.monotonic()
    deadline = np.inf if time_limit is None else began + time_limit
    saved = None if checkpoint is None else Checkpoint.opened(checkpoint, search)
    done: dict[int, Attempt] = {} if saved is None else dict(saved.attempts(search))
    done = {number: attempt for number, attempt in done.items() if number < starts}
    missing = [number for number in range(starts) if number not in done]
    interrupted = False
    if progress is not None:
        best_of_others = [np.inf]

        def tell(number: int, iteration: int, value: float) -> None:
            best = min([value, *best_of_others, *(a.value for a in done.values())])
            progress(Progress(number, starts, len(done), iteration, best, time.monotonic() - began))
    else:
        tell = None  # type: ignore[assignment]
    try:
        for attempt in _run(search, missing, jobs, deadline, tell):
            done[attempt.number] = attempt
            if tell is not None:
                tell(attempt.number, 0, attempt.value)
            if saved is not None and attempt.complete:
                saved = saved.with_attempt(attempt)
            if not attempt.complete:
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
        if not done:
            raise
    interrupted = interrupted or len(done) < starts
    return Attempts(tuple(done[number] for number in sorted(done)), interrupted)


def _run(
    search: Search, numbers: list[int], jobs: int, deadline: float, tell: Callable[[int, int, float], None] | None
) -> Iterator[Attempt]:
    if jobs == 1 or len(numbers) == 1:
        for number in numbers:
            if time.monotonic() > deadline and number != numbers[0]:
                return
            follow = None if tell is None else (lambda k, f, number=number: tell(number, k, f))
            yield search.run(number, deadline, follow)
        return
    from joblib import Parallel, delayed

    _ = search.posture  # found once, and an infeasible problem is told here
    remaining = deadline - time.monotonic()  # clocks of other processes start elsewhere
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from parallel(delayed(_run_elsewhere)(search, number, remaining) for number in numbers)


def _run_elsewhere(search: Search, number: int, remaining: float) -> Attempt:
    return search.run(number, time.monotonic() + remaining)
