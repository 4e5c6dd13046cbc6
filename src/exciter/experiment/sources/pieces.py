"""Tables of any lengths, cut anew into blocks of equal length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from exciter.errors import RecordingError
from exciter.typing import Array


def equal_blocks(tables: Iterable[Array], rows: int) -> Iterator[Array]:
    """The rows of all tables in order, ``rows`` at a time; only the last block is shorter."""
    if rows < 1:
        raise RecordingError(f"blocks of {rows} rows were asked for; give at least 1")
    held: list[Array] = []
    count = 0
    for table in _readable(tables):
        while count + len(table) >= rows:
            taken = rows - count
            yield _joined([*held, table[:taken]])
            held, count, table = [], 0, table[taken:]
        if len(table):
            held.append(table)
            count += len(table)
    if held:
        yield _joined(held)


def _readable(tables: Iterable[Array]) -> Iterator[Array]:
    try:
        yield from tables
    except OSError as error:  # the file has gone meanwhile, or its disk
        raise RecordingError(f"cannot read '{error.filename or 'the file'}': {error.strerror or error}") from None


def _joined(tables: list[Array]) -> Array:
    return tables[0] if len(tables) == 1 else np.concatenate(tables)
