"""Kernels on several threads, where that is faster: helpers that sleep between calls and take parts as they are free.

A helper whose core is taken away from it in the middle of a part holds the call up, by much more than it could ever
save: on a busy machine one thread is better than two. They are therefore tried where a core has nothing to do; which of
both is faster is measured as calls go by, and tried again more and more rarely where helpers do not help. Results do
not depend on it: parts are cut at fixed places, and whoever works on one does the same."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

Work = Callable[[int, int, int], None]  # number of a part, its first sample, the one behind its last
PART_SAMPLES = 512  # whole blocks of the kernels, so that no rounding inside one depends on the parts
NEWEST_SHARE = 0.2  # that the newest call has in the mean time of a sample
MOST_HELPED_SHARE = 0.9  # times that of one thread: helpers must do with that, or better
CALLS_BETWEEN_LOOKS = 16  # at one thread, while helpers help
FEWEST_CALLS_ALONE, MOST_CALLS_ALONE, RARER = 16, 4096, 4  # before helpers are tried again, more and more


def parts(samples: int) -> range:
    """Where they begin."""
    return range(0, samples, PART_SAMPLES)


@dataclass
class Pace:
    """Mean seconds of a sample by one thread, and with helpers, lately. sharing: whether they help at present; left:
    calls until the other way is looked at, once; calls_alone: how many that will be where they do not."""

    alone: float = math.inf
    helped: float = math.inf
    sharing: bool = False
    left: int = 1
    calls_alone: int = FEWEST_CALLS_ALONE

    @property
    def shares(self) -> bool:
        """Whether helpers take part in the next call."""
        return self.sharing if self.left > 0 else not self.sharing

    def put_off(self) -> None:
        """Helpers are not tried yet."""
        self.left = FEWEST_CALLS_ALONE

    def met(self, seconds: float, *, shared: bool) -> None:
        """What the last call took, per sample."""
        look, before = shared != self.sharing, self.helped if shared else self.alone
        mean = seconds if math.isinf(before) or (look and shared) else before + NEWEST_SHARE * (seconds - before)
        if shared:
            self.helped = mean
        else:
            self.alone = mean
        self.left -= 1
        if look:
            self._decide(gains=self.helped < MOST_HELPED_SHARE * self.alone)
        elif shared and self.helped > self.alone:
            self._decide(gains=False)

    def _decide(self, *, gains: bool) -> None:
        self.calls_alone = FEWEST_CALLS_ALONE if gains else min(RARER * self.calls_alone, MOST_CALLS_ALONE)
        self.sharing, self.left = gains, CALLS_BETWEEN_LOOKS if gains else self.calls_alone


def core_is_idle() -> bool:
    """Whether fewer threads run, or could, than there are cores. Asked before helpers are tried only: it takes as long
    as twenty samples. Systems that do not say so in Linux' way are left to what is measured."""
    try:
        running = int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return True
    return running < (os.cpu_count() or 1)


_paces: dict[tuple[str, int], Pace] = {}


def shared_out(name: str, work: Work, samples: int, threads: int) -> None:
    """``work`` of every part of the samples, by this thread and others as far as that pays for work of this name. One
    that had not begun when all parts were taken is not waited for."""
    pace = _paces.setdefault((name, threads), Pace())
    shared = pace.shares and len(parts(samples)) > 1
    if shared and not pace.sharing and not core_is_idle():
        pace.put_off()
        shared = False
    began = time.perf_counter()
    remaining = iter(enumerate(parts(samples)))  # next() of it is atomic: one thread at a time runs Python

    def take() -> None:
        for number, begin in remaining:
            work(number, begin, min(begin + PART_SAMPLES, samples))

    helpers = min(threads, len(parts(samples))) - 1 if shared else 0
    helping = [_helpers(threads - 1).submit(take) for _ in range(helpers)]
    try:
        take()
    finally:
        begun = [one for one in helping if not one.cancel()]
        wait(begun)
    for one in begun:
        one.result()
    if samples:
        pace.met((time.perf_counter() - began) / samples, shared=shared)


@lru_cache(maxsize=4)
def _helpers(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="exciter-kernels")
