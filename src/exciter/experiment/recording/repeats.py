"""Where time runs backwards: which line of the file that is, and whether a block of rows was logged twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError
from exciter.experiment.recording.lockstep import Lockstep
from exciter.experiment.sources.pieces import equal_blocks
from exciter.typing import Array

ROWS = 16_384


def explained(columns: Lockstep, sample: int) -> str:
    """The end of the message on a sample (from 0) whose time is before that of the one before it; the file is read once
    more for it."""
    source = next(part.source for part in columns.parts if part.name == "time")
    word, number = source.place(sample)
    place = f", {word} {number} of {source.path.name}" if word != "sample" else ""
    try:
        earlier, count = repeated(columns, sample)
    except RecordingError:  # of rows further on, which are not what is to be told
        earlier, count = 0, 0
    if not count:
        return f"{place}; is it the right column, or are these several recordings in one file?"
    ends = (sample, sample + count - 1, earlier, earlier + count - 1)
    first, last, old, old_last = (source.place(row)[1] for row in ends)
    return (
        f"{place}; {word}s {first} … {last} repeat {word}s {old} … {old_last}: a block was logged twice; delete one of "
        "the two"
    )


def repeated(columns: Lockstep, sample: int) -> tuple[int, int]:
    """(earlier, count): the ``count`` rows from ``sample`` on are those from ``earlier`` on; 0 where fewer than two."""
    wanted = next(_tables(columns, sample))[:1]
    start = 0
    for table in _tables(columns, 0):
        same = np.flatnonzero(_equal(table, wanted).all(axis=1))
        if start + len(table) >= sample or same.size:
            break
        start += len(table)
    if not same.size or (earlier := start + int(same[0])) >= sample:
        return 0, 0
    count, most = 0, sample - earlier
    blocks = (equal_blocks(_tables(columns, row), ROWS) for row in (earlier, sample))
    for before, after in zip(*blocks, strict=False):
        rows = min(len(before), len(after), most - count)
        differ = np.flatnonzero(~_equal(before[:rows], after[:rows]).all(axis=1))
        count += int(differ[0]) if differ.size else rows
        if differ.size or count == most:
            break
    return (earlier, count) if count > 1 else (0, 0)


def _tables(columns: Lockstep, first: int) -> Iterator[Array]:
    """All columns that are used, as the files have them, from row ``first`` on."""
    start = 0
    for block in columns.blocks(ROWS):
        table = np.hstack(list(block.values()))
        if start + len(table) > first:
            yield table[max(0, first - start) :]
        start += len(table)


def _equal(a: Array, b: Array) -> NDArray[np.bool_]:
    """Also where both are missing."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))
