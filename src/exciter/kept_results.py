"""Results of tasks on disk as they come, so that work that was interrupted goes on where it stopped.

A result is known by its task: the function, what it was given (files by the hash of their content), and the version of
Exciter. Its file, an archive without pickle (``exciter.archive``), carries its own hash in its name; one that does not
agree with it counts as not there."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from exciter import __version__
from exciter.archive import DAMAGE, archived, restored
from exciter.errors import ClusterLost, ExciterError
from exciter.workers import Workers, numbered

Result = TypeVar("Result")
KEPT_FOLDER = "reached"  #: beside the results that are made of them
KEPT_NAME = re.compile(r"([0-9a-f]{64})-([0-9a-f]{64})\.npz")
UNFINISHED = ".unfinished"


@dataclass(frozen=True, eq=False)
class KeptResults(Workers):
    """The same workers, whose results are kept in a folder; only what is not there is run. The folder is begun anew by
    ``begun``, and goes with ``discard``, when what was to be made of them is made."""

    workers: Workers
    folder: Path

    @classmethod
    def begun(cls, workers: Workers, folder: Path, *, resume: bool) -> KeptResults:
        made = cls(workers, folder)
        if not resume:
            made.discard()
        return made

    @property
    def here(self) -> bool:
        """Tasks are told apart, whoever runs them."""
        return False

    @property
    def count(self) -> int:
        return self.workers.count

    @property
    def about(self) -> str:
        return self.workers.about

    @contextmanager
    def ready(self) -> Iterator[Workers]:
        with self.workers.ready():
            yield self

    def over(
        self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], *, until: float = math.inf
    ) -> Generator[Result, None, None]:
        there = self._there()
        found = deque[Any]()

        def missing() -> Iterator[tuple[Any, ...]]:
            for task in tasks:
                key = _key(function, task)
                if key in there and (kept := self._read(there[key])) is not None:
                    found.append(kept[0])
                else:
                    yield key, function, *task

        try:
            with closing(self.workers.over(numbered, missing(), until=until)) as running:
                for key, result in running:
                    self._write(key, result)
                    yield result
                    while found:
                        yield found.popleft()
            yield from found
        except ClusterLost as error:
            if not self._there():
                raise
            raise ClusterLost(f"{error}; what was reached is kept in '{self.folder}': resume, and it goes on") from None

    def discard(self) -> None:
        """Its files, and nothing else that may be there."""
        with suppress(OSError):
            for path in list(self.folder.iterdir()):
                if KEPT_NAME.fullmatch(path.name.removesuffix(UNFINISHED)) and not path.is_dir():
                    path.unlink()
            self.folder.rmdir()

    def _there(self) -> dict[str, Path]:
        """By the key of the task."""
        names = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return {match[1]: path for path in names if (match := KEPT_NAME.fullmatch(path.name))}

    def _read(self, path: Path) -> tuple[Any] | None:
        with suppress(*DAMAGE, ExciterError):
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest() == path.stem.rpartition("-")[2]:
                return (restored(content),)
        return None

    def _write(self, key: str, result: Any) -> None:
        try:
            content = archived(result, exact=True)
        except ExciterError:  # somebody's own class: it is made again
            return
        path = self.folder / f"{key}-{hashlib.sha256(content).hexdigest()}.npz"
        unfinished = path.with_name(path.name + UNFINISHED)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(content)
            os.replace(unfinished, path)
        except OSError as error:
            raise ExciterError(f"cannot write '{path}': {error.strerror}; choose another folder") from None


def _key(function: Callable[..., Any], task: tuple[Any, ...]) -> str:
    digest = hashlib.sha256(f"{__version__} {_word(function)}".encode())
    for given in task:
        try:
            digest.update(_word(given).encode() if callable(given) and hasattr(given, "__qualname__") else _data(given))
        except ExciterError:  # somebody's own class, by itself: another process has another one
            digest.update(f"{id(given)} {os.getpid()}".encode())
    return digest.hexdigest()


def _word(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


def _data(given: Any) -> bytes:
    return hashlib.sha256(archived(given, exact=True)).digest()
