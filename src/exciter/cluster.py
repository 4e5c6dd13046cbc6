"""Tasks on a Dask cluster: machines that others manage, or workers of this one.

What a task is given crosses as data: numbers and text as they are, objects of Exciter in the format that results are
kept in (``exciter.archive``), each once, whatever the number of tasks. Samples do not cross: tasks name files that
workers read. Dask runs a task again whose worker died, workers may join late; what a task gives is the same wherever
and however often it runs."""

from __future__ import annotations

import hashlib
import importlib
import logging
import math
import re
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from itertools import islice
from typing import Any, TypeVar

from exciter.archive import archived, restored
from exciter.errors import ClusterLost, ExciterError, shown
from exciter.workers import STOPPING_SIGNALS, Workers, one_interrupt

Result = TypeVar("Result")
LOCAL = "local"
LOCAL_FORM = re.compile(rf"{LOCAL}(?::([1-9]\d{{0,3}}))?")
MOST_LOCAL_WORKERS = 9999  # of the form
ADDRESS_FORM = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+(/\S*)?")
USUAL_LOCAL_WORKERS = 2
CONNECTION_PATIENCE_S = 20.0  # [s] until which a scheduler must answer
LOOK_INTERVAL_S = 0.5  # [s] between two looks at whether the scheduler is there, and whether workers joined
TASKS_PER_WORKER = 2  # one more than runs: nobody waits for the one who hands tasks out
REMEMBERED_OBJECTS = 8  # that a worker keeps, of those it was given
#: those that Dask gives a level of their own, and what they build on
LOGGERS = ("distributed", "distributed.client", "distributed.gc", "asyncio", "tornado.application")
DASK_NEEDED = "a cluster needs Dask, which is not installed; pip install 'exciter[cluster]'"


@dataclass(frozen=True)
class Cluster(Workers):
    """By the address of its scheduler, ``tcp://host:8786``; ``local:4`` starts one here, of so many processes.

    >>> ex.Cluster("local:4").count
    4"""

    address: str = LOCAL

    def __post_init__(self) -> None:
        if not isinstance(self.address, str) or not (
            LOCAL_FORM.fullmatch(self.address) or ADDRESS_FORM.fullmatch(self.address)
        ):
            raise ExciterError(
                f"the cluster is {shown(self.address)}; give the address of a Dask scheduler (tcp://host:8786), "
                f"{LOCAL}, or {LOCAL}:4 for so many workers on this machine (1 … {MOST_LOCAL_WORKERS})"
            )

    @property
    def here(self) -> bool:
        return False

    @property
    def count(self) -> int:
        client = _open.get(self.address)
        if client is not None:
            with suppress(Exception):  # who is lost is told where results are waited for
                return max(1, int(sum(client.nthreads().values())))
        local = LOCAL_FORM.fullmatch(self.address)
        return int(local[1] or USUAL_LOCAL_WORKERS) if local else 1

    @property
    def about(self) -> str:
        client = _open.get(self.address)
        if client is None:
            return ""
        with suppress(Exception):
            known = len(client.nthreads())
            there = f"{known} workers" if known else "no workers yet: it waits until some join"
            return f"cluster {client.scheduler.address}: {there}; dashboard {client.dashboard_link}"
        return ""

    @contextmanager
    def ready(self) -> Iterator[Workers]:
        """Connected for as long as it lasts; a local cluster is started, and ended."""
        if self.address in _open:
            yield self
            return
        with ExitStack() as stack:
            _open[self.address] = self._connected(stack)
            try:
                yield self
            finally:
                _open.pop(self.address)

    def _connected(self, stack: ExitStack) -> Any:
        distributed, dask = _library("distributed"), _library("dask")
        # Errors are told in one line here; what Dask logs as connections go comes beside it, and helps nobody.
        for name in LOGGERS:
            stack.enter_context(_silent(logging.getLogger(name)))
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}))
        address: Any = self.address
        if LOCAL_FORM.fullmatch(self.address):
            settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "preload": __name__}
            started = distributed.LocalCluster(n_workers=self.count, silence_logs=logging.CRITICAL, **settings)
            address = stack.enter_context(_closing(started))
        try:
            client = distributed.Client(address, timeout=CONNECTION_PATIENCE_S, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:  # refused, unknown host, no answer; TLS without keys
            why = next(iter(str(error).splitlines()), "") or "no answer"
            why = f"no Dask scheduler answers at {self.address} ({why})"
            raise ExciterError(f"{why}; start one there: dask scheduler") from None
        return stack.enter_context(_closing(client))

    def over(
        self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], *, until: float = math.inf
    ) -> Generator[Result, None, None]:
        with self.ready(), one_interrupt():
            yield from self._over(_open[self.address], function, iter(tasks), until)

    def _over(
        self, client: Any, function: Callable[..., Result], remaining: Iterator[tuple[Any, ...]], until: float
    ) -> Generator[Result, None, None]:
        sent, wait = _Sent(client), _library("distributed").wait
        under_way: set[Any] = set()
        try:
            while True:
                free = TASKS_PER_WORKER * self.count - len(under_way)
                for task in islice(remaining, max(free, 0)):
                    _refuse_lost(client)
                    given = [sent.argument(one) for one in task]
                    under_way.add(client.submit(_run, function, *given, pure=False, priority=-sent.next()))
                if not under_way:
                    return
                left = until - time.monotonic()
                if left <= 0.0:
                    return
                with suppress(TimeoutError), client.as_current():
                    wait(under_way, timeout=min(left, LOOK_INTERVAL_S), return_when="FIRST_COMPLETED")
                _refuse_lost(client)
                for future in [one for one in under_way if one.done()]:
                    under_way.discard(future)
                    yield _result(future)
        except Exception as error:
            raise _told(error, client, self.address) from None
        finally:
            with suppress(Exception):
                client.cancel(list(under_way), force=True)


def dask_setup(_: Any) -> None:
    """Dask calls it in a local worker that begins: what a terminal sends to all is the business of who started it."""
    for number in STOPPING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _library(name: str) -> Any:
    """Of Dask, which a package without a cluster never imports."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ExciterError(DASK_NEEDED) from None


_open: dict[str, Any] = {}  # clients that are connected, by address


@contextmanager
def _closing(opened: Any) -> Iterator[Any]:
    """Closed, whatever is left of it."""
    try:
        yield opened
    finally:
        with one_interrupt(), suppress(Exception):
            opened.close(timeout=5)


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    before, logger.level = logger.level, logging.CRITICAL + 1
    logger.setLevel(logger.level)
    try:
        yield
    finally:
        logger.setLevel(before)


# -- what crosses ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crossing:
    """An object of Exciter as data."""

    content: bytes

    @classmethod
    def of(cls, value: Any) -> Any:
        """Of a dataclass; what is none, or is somebody's own that no data describe, crosses as Dask has it."""
        if isinstance(value, type) or not is_dataclass(value):
            return value
        try:
            return cls(archived(value, exact=True))
        except ExciterError:
            return value

    @property
    def value(self) -> Any:
        """The same object again and again, with what was computed of it."""
        return _remembered(hashlib.sha256(self.content).hexdigest(), self)


_values: dict[str, Any] = {}


def _remembered(key: str, crossing: Crossing) -> Any:
    if key not in _values:
        while len(_values) >= REMEMBERED_OBJECTS:
            _values.pop(next(iter(_values)))
        _values[key] = restored(crossing.content)
    return _values[key]


class _Sent:
    """Objects that went to the scheduler once, and tasks refer to; it has them for workers that join, or begin anew."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._sent: dict[int, tuple[Any, Any]] = {}  # the object is held, so that its id stays its own
        self._tasks = 0

    def argument(self, value: Any) -> Any:
        if isinstance(value, type) or not is_dataclass(value):
            return value
        if id(value) not in self._sent:
            crossing = Crossing.of(value)
            if isinstance(crossing, Crossing):
                key = f"exciter-{hashlib.sha256(crossing.content).hexdigest()}"
                self._sent[id(value)] = value, self._client.submit(_same, crossing, key=key)
            else:
                self._sent[id(value)] = value, crossing
        return self._sent[id(value)][1]

    def next(self) -> int:
        """Number of the task: those that were handed out first run first."""
        self._tasks += 1
        return self._tasks


def _same(crossing: Crossing) -> Crossing:
    return crossing


def _run(function: Callable[..., Any], *given: Any) -> Any:
    """On a worker."""
    return Crossing.of(function(*(one.value if isinstance(one, Crossing) else one for one in given)))


def _result(future: Any) -> Any:
    found = future.result()
    return restored(found.content) if isinstance(found, Crossing) else found


# -- what goes wrong ---------------------------------------------------------------------------------------------------


class _Gone(Exception):
    """The connection to the scheduler."""


def _refuse_lost(client: Any) -> None:
    if client.status != "running":
        raise _Gone


def _told(error: Exception, client: Any, address: str) -> Exception:
    """In one line, where it is of the cluster; an error of the task itself stays what it is."""
    if isinstance(error, ExciterError):
        return error
    distributed = _library("distributed")
    if isinstance(error, distributed.KilledWorker):
        return ExciterError(
            f"workers of {address} died again and again ({error.allowed_failures + 1} times) with the same task, most "
            "often because memory ran out: give them more, or smaller parts"
        )
    # Who loses the connection while a result arrives hears of a closed stream.
    of_client = distributed.client.FutureCancelledError, distributed.client.FuturesCancelledError
    lost = _Gone, *of_client, distributed.comm.CommClosedError
    if isinstance(error, lost) or client.status != "running":
        return ClusterLost(f"the scheduler at {address} is gone, and with it what was under way there")
    if isinstance(error, ImportError) or "deserialization" in str(error):
        return ExciterError(f"a worker of {address} cannot run this ({error}); install the same exciter there")
    return error
