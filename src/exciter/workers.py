"""Where independent tasks run: here, over several processes that end with their parent, however it ends, or on a
cluster (``exciter.cluster``), by one contract; and work on one thread.

Processes are those of loky (joblib): started anew rather than forked, with functions of any kind carried over, and with
their share of the cores for numerical threads."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import islice
from types import FrameType
from typing import Any, TypeVar

from exciter.errors import ExciterError

Result = TypeVar("Result")
PARENT_LOOK_INTERVAL = 0.5  # [s] between two looks of a worker at whether its parent is alive
STOPPING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
THREAD_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")
_LIMITED = ContextVar("limited", default=False)  # already to one thread, which takes its time
THREAD_VARIABLES = (*(f"{name}_NUM_THREADS" for name in THREAD_LIBRARIES), "VECLIB_MAXIMUM_THREADS")


class Workers(ABC):
    """Who runs independent tasks. A task is a pure function of what it is given, so that it may be run again."""

    @property
    @abstractmethod
    def here(self) -> bool:
        """Whether tasks run in this very process, one after the other."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many tasks run at a time, now."""

    @abstractmethod
    def over(
        self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], *, until: float = math.inf
    ) -> Generator[Result, None, None]:
        """``function(*task)`` of all tasks, as they end; tasks are taken from the iterable as they are needed. until:
        instant of time.monotonic() at which what is still under way is given up. When the iterator is closed, or an
        exception (Ctrl-C) passes through it, what is under way is cancelled."""

    @contextmanager
    def ready(self) -> Iterator[Workers]:
        """For several ``over``: what they need is started once, and ended behind the last."""
        yield self

    @property
    def about(self) -> str:
        """In words, where there is something that a user should know."""
        return ""


@dataclass(frozen=True)
class Processes(Workers):
    """So many processes of this machine; one is this process itself."""

    jobs: int = 1

    @property
    def here(self) -> bool:
        return self.jobs == 1

    @property
    def count(self) -> int:
        return self.jobs

    def over(
        self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], *, until: float = math.inf
    ) -> Generator[Result, None, None]:
        if self.here:
            for task in tasks:
                if time.monotonic() >= until:
                    return
                yield function(*task)
            return
        with closing(over_processes(function, tasks, self.jobs, until=until)) as running:
            yield from running


HERE = Processes()


def numbered(number: Any, function: Callable[..., Result], *given: Any) -> tuple[Any, Result]:
    """A task that says which it was: results come as they end."""
    return number, function(*given)


def over_processes(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], jobs: int, *, until: float = math.inf
) -> Generator[Result, None, None]:
    """``function(*task)`` of all tasks on so many processes, as they end; tasks are taken from the iterable as they are
    needed. until: instant of time.monotonic() at which what is still under way is given up.

    When the iterator is closed, or an exception (Ctrl-C) passes through it, the processes are killed."""
    from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = str(max(1, cores // jobs))
    with one_interrupt():
        pool = ProcessPoolExecutor(
            jobs,
            initializer=obey_parent,
            initargs=(os.getpid(),),
            env={name: os.environ.get(name, threads) for name in THREAD_VARIABLES},
        )
        complete = False
        try:
            remaining = iter(tasks)
            under_way: set[Future[Result]] = set()
            while True:
                free = 2 * jobs - len(under_way)  # one more than runs for each: nobody waits for the parent
                under_way |= {pool.submit(function, *task) for task in islice(remaining, free)}
                if not under_way:
                    complete = True
                    return
                left = None if math.isinf(until) else max(0.0, until - time.monotonic())
                ended, under_way = wait(under_way, left, FIRST_COMPLETED)
                if not ended:
                    return
                for future in ended:
                    yield future.result()
        except BrokenProcessPool:
            raise ExciterError(
                f"one of {jobs} worker processes was ended from outside, most often because memory ran out; "
                "use fewer jobs"
            ) from None
        finally:
            pool.shutdown(wait=True, kill_workers=not complete)


def obey_parent(parent: int) -> None:
    """In a worker: signals that a terminal or a service manager sends to all of them are the parent's business, and
    when there is no parent any more there is nobody to work for."""
    for number in STOPPING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if os.name == "posix":  # elsewhere the number of a dead parent stays
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_LOOK_INTERVAL)
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def one_interrupt() -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM, SIGHUP where they are handled) ends the work. Further ones, by an impatient hand,
    must not interrupt the ending of processes: they would stay behind, or be waited for without end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in STOPPING_SIGNALS}
    before = {number: how for number, how in handlers.items() if callable(how) or number == signal.SIGINT}

    def first(number: int, frame: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        handler = before[signal.Signals(number)]
        (handler if callable(handler) else signal.default_int_handler)(number, frame)

    for number in before:
        signal.signal(number, first)
    try:
        yield
    finally:
        for number, how in before.items():
            signal.signal(number, how)


@contextmanager
def one_thread() -> Iterator[None]:
    """While it lasts, BLAS and LAPACK use one thread: on small matrices threads would wait for each other, and rounding
    would depend on how many there are."""
    if _LIMITED.get():
        yield
        return
    limited = _LIMITED.set(True)
    try:
        with _numerical_libraries().limit(limits=1):
            yield
    finally:
        _LIMITED.reset(limited)


@cache
def _numerical_libraries() -> Any:
    """Those of NumPy and SciPy, looked for once: a look at all loaded libraries takes a millisecond or more."""
    import scipy.linalg  # noqa: F401 - its own BLAS is one of them
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
