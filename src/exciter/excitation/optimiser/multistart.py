"""Many starts of one search, over processes, each by its own seed: the same result whatever the number of processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from exciter.excitation.deadline import NEVER, Deadline
from exciter.excitation.optimiser.checkpoint import Checkpoint
from exciter.excitation.optimiser.search import Attempt, Search
from exciter.workers import over_processes

HANDING_OVER = 1.0  # [s] after the deadline until which the parent waits for what its workers have


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
    """What all starts gave, without those that time did not leave a motion; interrupted: Ctrl-C or the deadline came
    before all were done, out_of_time: it was the deadline."""

    attempts: tuple[Attempt, ...]
    interrupted: bool
    out_of_time: bool


def run_starts(
    search: Search,
    starts: int,
    *,
    jobs: int = 1,
    deadline: Deadline = NEVER,
    certificate_seconds: float = 0.0,
    checkpoint: Checkpoint | None = None,
    before: Sequence[Attempt] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Attempts:
    """Run ``starts`` starts, but for those of ``before``, which were read from the checkpoint; it keeps the others.

    The deadline and Ctrl-C end the search early: the start under way keeps what it has reached.
    certificate_seconds: what a certificate takes, so that a start ends in time for it.
    """
    began = deadline.clock()
    done = {attempt.number: attempt for attempt in before}
    missing = [number for number in range(starts) if number not in done]

    def tell(number: int, iteration: int, value: float) -> None:
        if progress is not None:
            best = min([value, *(attempt.value for attempt in done.values())])
            progress(Progress(number, starts, len(done), iteration, best, deadline.clock() - began))

    cancelled = False
    try:
        with closing(_run(search, missing, jobs, deadline, certificate_seconds, tell)) as running:
            for attempt in running:
                if attempt.complete or attempt.feasible:
                    done[attempt.number] = attempt
                    tell(attempt.number, 0, attempt.value)
                cancelled = cancelled or attempt.cancelled
                if checkpoint is not None and attempt.complete:
                    checkpoint.append(attempt)
    except KeyboardInterrupt:
        if not done:
            raise
        cancelled = True
    interrupted = sum(attempt.complete for attempt in done.values()) < starts
    attempts = tuple(done[number] for number in sorted(done))
    return Attempts(attempts, interrupted, out_of_time=interrupted and not cancelled)


def _run(
    search: Search,
    numbers: list[int],
    jobs: int,
    deadline: Deadline,
    certificate_seconds: float,
    tell: Callable[[int, int, float], None],
) -> Generator[Attempt, None, None]:
    """Attempts as they end, none begun after the deadline, or after one that was stopped."""
    stopped = False
    in_time = takewhile(lambda _: not (stopped or deadline.passed), numbers)
    if jobs == 1 or len(numbers) <= 1:
        for number in in_time:
            attempt = search.run(number, deadline, partial(tell, number), certificate_seconds)
            stopped = not attempt.complete
            yield attempt
        return
    search.posture(deadline)  # found once, and an infeasible problem is told here
    shared = deadline.shared()
    tasks = ((search, number, shared, certificate_seconds) for number in in_time)
    with closing(over_processes(_started, tasks, jobs, until=shared.at + HANDING_OVER)) as running:
        for attempt in running:
            stopped = stopped or not attempt.complete
            yield attempt


def _started(search: Search, number: int, deadline: Deadline, certificate_seconds: float) -> Attempt:
    return search.run(number, deadline, None, certificate_seconds)
