"""Logs in text while they are written: lines of a pipe, or of a file that grows, as they come.

A line that is no row of numbers, or whose time does not go on, is left out, told and counted; too many of them end the
stream. A file that gets shorter, or is replaced by another of its name, is read from its start."""

from __future__ import annotations

import os
import queue
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.sources.delimited import (
    LINE_CHARACTERS_LIMIT,
    DelimitedText,
    Notation,
    column_names,
    first_rows,
    heading,
)
from exciter.typing import Array

READ_BYTES = 1 << 16  #: at once
POLL_SECONDS = 0.05  #: between looks at what has come
USUAL_WAIT_SECONDS = 10.0  #: without a new line, after which a file is said to have ended
MOST_BAD_LINES = 100  #: left out before a stream is given up
TOLD_BAD_LINES = 5  #: one by one; then every tenth
HEADER_AND_ROW = 2  #: lines, from which the layout is found
QUEUED_READS = 256  #: of a pipe that writes faster than it is worked on: then it waits
Told = Callable[[str], None]


class Feed:
    """Bytes of a file or a pipe as they come; ``stop`` ends it at once. wait [s]: without anything new, after which it
    has ended; None: a pipe ends when it is closed, a file after ``USUAL_WAIT_SECONDS``. tell: is told in a line when a
    file begins anew."""

    def __init__(self, path: Path | None, wait: float | None = None, tell: Told = lambda line: None) -> None:
        self.path, self.wait, self.tell = path, wait, tell
        self.stopped = threading.Event()
        self.began_anew = 0  # how often
        self._pieces: Iterator[bytes] | None = None

    @property
    def name(self) -> str:
        return "standard input" if self.path is None else str(self.path)

    def stop(self) -> None:
        """No more is read; what has come is still given."""
        self.stopped.set()

    def __iter__(self) -> Iterator[bytes]:
        """Empty where nothing has come for a moment."""
        if self._pieces is None:  # a stream is read once, whoever asks for the rest of it
            try:
                ordinary = self.path is not None and stat.S_ISREG(os.stat(self.path).st_mode)
            except OSError as error:
                raise RecordingError(f"cannot read '{self.path}': {error.strerror}") from None
            if self.path is not None and self.path.is_dir():
                raise RecordingError(f"'{self.path}' is a folder; give a log in text that grows")
            self._pieces = self._growing() if ordinary else self._piped()
        return self._pieces

    def _piped(self) -> Iterator[bytes]:
        """A thread waits for the pipe, so that this one can be stopped, whatever the system."""
        come: queue.Queue[bytes | OSError] = queue.Queue(QUEUED_READS)

        def read() -> None:
            try:
                handle = 0 if self.path is None else os.open(self.path, os.O_RDONLY)
                while True:
                    piece = os.read(handle, READ_BYTES)
                    come.put(piece)
                    if not piece:
                        return
            except OSError as error:
                come.put(error)

        threading.Thread(target=read, daemon=True).start()
        last = time.monotonic()
        while not self.stopped.is_set():
            try:
                piece = come.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if self.wait is not None and time.monotonic() - last > self.wait:
                    return
                yield b""
                continue
            if isinstance(piece, OSError):
                raise RecordingError(f"cannot read {self.name}: {piece.strerror or piece}")
            if not piece:
                return
            last = time.monotonic()
            yield piece

    def _growing(self) -> Iterator[bytes]:
        assert self.path is not None
        wait, last = USUAL_WAIT_SECONDS if self.wait is None else self.wait, time.monotonic()
        try:
            file = self.path.open("rb", buffering=0)
            try:
                while not self.stopped.is_set():
                    if piece := file.read(READ_BYTES):
                        last = time.monotonic()
                        yield piece
                        continue
                    if (other := self._another(file)) is not None:
                        file.close()
                        file = other
                        continue
                    if time.monotonic() - last >= wait:
                        return
                    yield b""
                    time.sleep(POLL_SECONDS)
            finally:
                file.close()
        except OSError as error:
            raise RecordingError(f"cannot read '{self.path}': {error.strerror or error}") from None

    def _another(self, file: Any) -> Any:
        """The file of that name, opened, where it is another one by now, or has become shorter."""
        assert self.path is not None
        own = os.fstat(file.fileno())
        try:
            now = os.stat(self.path)
        except OSError:  # between two names
            return None
        replaced = (own.st_dev, own.st_ino) != (now.st_dev, now.st_ino)
        if not replaced and now.st_size >= file.tell():
            return None
        what = "was replaced by another file" if replaced else "has become shorter"
        self.tell(f"{self.path} {what}: it is read from its start")
        self.began_anew += 1
        return self.path.open("rb", buffering=0)


class LiveText(DelimitedText):
    """As ``DelimitedText``, of a feed. time_column: number of that with the time, which must go on. most_bad: lines
    that are left out at most; tell: is told each in a line."""

    def __init__(
        self,
        feed: Feed,
        *,
        most_bad: int = MOST_BAD_LINES,
        tell: Told = lambda line: None,
        delimiter: str | None = None,
        header: bool | None = None,
        comment: str | None = None,
        skip: int = 0,
        decimal: str = ".",
        missing: Sequence[str] = (),
    ) -> None:
        self.path, self.feed, self.interleaved = Path(feed.name), feed, None
        self.most_bad, self.tell, self.bad, self.read = most_bad, tell, 0, 0
        self.time_column: int | None = None
        self.notation = Notation.of(self.path, decimal, missing)
        self._lines = self._numbered()
        self._skip = skip
        self.comment, remark, rows = first_rows(self._lines, comment, skip, HEADER_AND_ROW)
        if not rows:
            raise RecordingError(f"{self.path} ended without a row of numbers; its first line names the columns")
        self._find_layout(delimiter, header, remark, rows)
        self._width = len(self.names)
        self._ahead = [(number, line) for number, line in rows if number >= self.first]

    def _numbered(self) -> Iterator[list[tuple[int, str]]]:
        """Whole lines with their numbers, as many as have come; no line where nothing has."""
        rest, number, anew = b"", 1, self.feed.began_anew
        for piece in self.feed:
            if self.feed.began_anew != anew:
                rest, number, anew = b"", 1, self.feed.began_anew
            whole, newline, rest = (rest + piece).rpartition(b"\n")
            if len(rest) > LINE_CHARACTERS_LIMIT:
                raise RecordingError(f"{self.path}: line {number} is longer than {LINE_CHARACTERS_LIMIT} characters")
            lines = whole.decode("latin-1").split("\n") if newline else []
            if number == 1 and lines:
                lines[0] = lines[0].removeprefix("\xef\xbb\xbf")
            yield [(number + k, line.rstrip("\r")) for k, line in enumerate(lines)]
            number += len(lines)
        if rest.strip():  # the last line, without an end: whole, or cut off
            yield [(number, rest.decode("latin-1").rstrip("\r"))]

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        """What has come at once, however little."""
        chosen = list(columns)
        at = None if self.time_column is None else chosen.index(self.time_column)
        last, anew, shift = -np.inf, self.feed.began_anew, 0.0
        for lines in self._remaining():
            fresh = self.feed.began_anew != anew
            if fresh:
                anew = self.feed.began_anew
                lines = self._without_header(lines)
            table, numbers = self._rows(lines, chosen)
            if at is not None and len(table):
                if fresh and table[0, at] <= last:  # the clock of another file
                    shift = last + 1.0 - table[0, at]
                    self.tell(f"{self.path}: its time starts again at {table[0, at]:g}: it is taken for {last + 1.0:g}")
                elif fresh:
                    shift = 0.0
                table[:, at] += shift
                table, last = self._forwards(table, numbers, at, last)
            for start in range(0, len(table), rows):
                yield table[start : start + rows]

    def _remaining(self) -> Iterator[list[tuple[int, str]]]:
        ahead, self._ahead = self._ahead, []
        yield ahead
        yield from self._lines

    def _without_header(self, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Of a file that begins anew, whose columns must be the same."""
        for k, (number, line) in enumerate(lines):
            text = line.partition(self.comment)[0]
            if not text.strip() or number <= self._skip:
                continue
            if self._row(text, list(range(self._width))) is not None:
                return lines[k:]
            if column_names(heading(line, self.delimiter)) != self.names:
                raise RecordingError(f"{self.path} begins anew with other columns; follow it anew")
            return lines[k + 1 :]
        return []

    def _rows(self, lines: list[tuple[int, str]], columns: list[int]) -> tuple[Array, list[int]]:
        """(N, columns) of the lines that are rows, and their numbers; others are told."""
        cut = [(number, line.partition(self.comment)[0]) for number, line in lines]
        filled = [(number, text) for number, text in cut if text.strip()]
        if not filled:
            return np.empty((0, len(columns))), []
        texts = [text for _, text in filled]
        table = None if self._unusual("\n".join(texts)) else self._quickly(texts, columns)
        if table is not None and np.isfinite(table).all():
            self.read += len(table)
            return table, [number for number, _ in filled]
        rows, numbers = [], []
        for number, text in filled:
            row = self._row(text, columns)
            if row is None or not np.isfinite(row).all():
                self._refuse(number, f"{shown(text.strip()[:60])} is no row of {self._width} numbers")
            else:
                rows.append(row)
                numbers.append(number)
        self.read += len(rows)
        return np.array(rows, dtype=float).reshape(len(rows), len(columns)), numbers

    def _row(self, text: str, columns: list[int]) -> Array | None:
        try:
            found = self._carefully(0, [text], columns)
        except RecordingError:
            return None
        return found[0] if len(found) else None

    def _forwards(self, table: Array, numbers: list[int], at: int, last: float) -> tuple[Array, float]:
        """Rows whose time goes on."""
        if table[0, at] > last and (np.diff(table[:, at]) > 0.0).all():
            return table, float(table[-1, at])
        kept = []
        for k, t in enumerate(table[:, at].tolist()):
            if t > last:
                kept.append(k)
                last = t
            else:
                self._refuse(numbers[k], f"the time is {t:.9g}, and was {last:.9g} before")
        return table[kept], last

    def _refuse(self, number: int, why: str) -> None:
        self.bad += 1
        if self.bad > self.most_bad:
            raise RecordingError(
                f"{self.path}: line {number}: {why}; {self.bad} lines were bad, {self.most_bad} are left out at most"
            )
        if self.bad <= TOLD_BAD_LINES or self.bad % 10 == 0:
            more = f" ({self.bad} so far)" if self.bad > 1 else ""
            self.tell(f"{self.path}: line {number} is left out: {why}{more}")

    def place(self, row: int) -> tuple[str, int]:
        """A stream is not looked through again."""
        return "sample", row
