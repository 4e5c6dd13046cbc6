"""Writers that are killed before a call that changes folders: any one of them, or each in turn."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from exciter.errors import ExciterError

T = TypeVar("T")
KILLED = 9
CHANGING = ("replace", "unlink", "mkdir", "rmdir", "rename", "remove")  #: calls of os after which folders differ


def in_a_process(write: Callable[[], object], before: Callable[[], None]) -> int:
    """The exit code of a process that calls ``before`` ahead of each of its calls that change folders."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code, looking = 1, False

    def watched(call):
        def watching(*arguments, **options):
            nonlocal looking
            if not looking:
                looking = True
                before()
                looking = False
            return call(*arguments, **options)

        return watching

    for name in CHANGING:
        setattr(os, name, watched(getattr(os, name)))
    try:
        write()
        code = 0
    finally:
        os._exit(code)


def killed_at(k: int, write: Callable[[], object]) -> bool:
    """Run ``write`` in a process that ends before its k-th call that changes folders; whether it came that far."""
    left = [k]

    def before() -> None:
        if not left[0]:
            os._exit(KILLED)
        left[0] -= 1

    code = in_a_process(write, before)
    assert code in (0, KILLED), "the writer failed"
    return code == KILLED


def states(tmp_path: Path, old: Path | None, write: Callable[[Path], object]) -> Iterator[Path]:
    """The folder after every possible kill of a writer, over a copy of ``old``; the last one is complete. All of them
    are copies of one that is being written: what is there when a call begins is what a kill leaves. Those that differ
    in nothing but hidden folders of the writer are given once."""
    folder = tmp_path / "killed"
    if old is None:
        folder.mkdir()
    else:
        shutil.copytree(old, folder)
    kept = list[object]()

    def keep() -> None:
        now = seen_in(folder)
        if not kept or kept[-1] != now:
            shutil.copytree(folder, tmp_path / f"killed_{len(kept)}", symlinks=True)
            kept.append(now)

    def whole() -> None:
        write(folder)
        (tmp_path / "count").write_text(str(len(kept)))

    assert in_a_process(whole, keep) == 0, "the writer failed"
    count = int((tmp_path / "count").read_text())
    assert count > 4, "the writer hardly did anything"
    yield from (tmp_path / f"killed_{k}" for k in range(count))
    yield folder


def seen_in(folder: Path) -> list[tuple[str, int, int]]:
    """Every path that is not hidden, and which content it has."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *files):
            status = os.lstat(path := os.path.join(place, name))
            found.append((path, status.st_ino, 0 if name in folders else status.st_mtime_ns))
    return sorted(found)


def answer(read: Callable[[], T]) -> T | None:
    """What a reader makes of a folder; None where it refuses it in one line."""
    try:
        return read()
    except ExciterError:
        return None
