"""From rows to triangular factors, piece by piece and by several threads: W is never whole in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event, Lock

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.experiment.signals.rows import Rows
from exciter.identification.compressed import Compressed
from exciter.identification.group_factors import GroupFactors
from exciter.identification.one_thread import one_thread

IntArray = NDArray[np.int64]
Labelled = tuple[int, IntArray, Rows]


def compress(
    labelled: Iterable[Labelled], parameters: Sequence[str], joints: Sequence[str], runs: int, folds: int, jobs: int = 1
) -> Compressed:
    """(run, fold of every instant, rows), in any order, to one factor per run, fold and joint.

    jobs: how many threads absorb pieces; whoever is free takes the next one, and what each of them has is put together
    at the end. Results differ by rounding only.
    """
    if jobs < 1:
        raise ParameterError(f"{jobs} jobs; give 1 or more")
    parts = [GroupFactors(runs * folds, len(joints), len(parameters)) for _ in range(jobs)]
    stream, turn, stop = iter(labelled), Lock(), Event()

    def work(part: GroupFactors) -> None:
        while not stop.is_set():
            with turn:
                item = next(stream, None)
            if item is None:
                return
            _add(part, *item, folds)

    with one_thread():
        if jobs == 1:
            work(parts[0])
        else:
            _at_once(work, parts, stop)
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    return _compressed(whole, tuple(parameters), tuple(joints), folds)


def _at_once(work: Callable[[GroupFactors], None], parts: Sequence[GroupFactors], stop: Event) -> None:
    with ThreadPoolExecutor(len(parts)) as pool:
        try:
            for done in [pool.submit(work, part) for part in parts]:
                done.result()
        finally:  # an error, or Ctrl-C: the others must not go on to the end of the log
            stop.set()


def _add(part: GroupFactors, run: int, fold: IntArray, rows: Rows, folds: int) -> None:
    rows[:0].equations()  # refuses what must not be used; all of them would be a copy
    share = rows.independent / max(len(rows), 1)
    sides = rows.sides.transpose(1, 2, 0)
    cuts = [0, *(np.flatnonzero(np.diff(fold)) + 1).tolist(), len(fold)]
    for start, end in pairwise(cuts):
        if start < end:
            part.add(run * folds + int(fold[start]), sides[:, :, start:end], share, rows.present)


def _compressed(whole: GroupFactors, parameters: tuple[str, ...], joints: tuple[str, ...], folds: int) -> Compressed:
    kept = np.flatnonzero(whole.instants)
    if not kept.size:
        raise ParameterError("there are no equations; is the recording shorter than the edges of its filters?")
    return Compressed(
        parameters,
        joints,
        np.stack([whole.dense(group) for group in kept.tolist()]),
        np.rint(whole.rows[kept]).astype(np.int64),
        whole.independent[kept],
        kept // folds,
        kept % folds,
    )
