"""The kernels' disk cache: find a place for it, drop what is stale, and tell a listener before compiling.

Kernels live in folders named ``kernels``; those of other folders may use the ones here."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

KERNELS_PACKAGE = "exciter.dynamics.kernels"
COMPILING_MESSAGE = (
    "compiling numerical kernels that are used for the first time (up to half a minute, which no time limit counts) …"
)
_listeners: list[Callable[[str], None]] = []


def when_compiling(tell: Callable[[str], None]) -> None:
    """Whom to tell, before the first wait of this process; nobody unless asked. Asked again, only the last one."""
    _listeners[:] = [tell]


@cache
def kernels(module: str, package: str = KERNELS_PACKAGE) -> Any:
    """A module of compiled kernels, ready to call; tells the user first if that means compiling."""
    name = f"{package}.{module}"
    if not _timers:
        from numba.core import event

        _timers.append(event.TimingListener())
        event.register("numba:compile", _timers[0])
    try:
        loaded = import_module(name)
    except RuntimeError as error:  # Numba: neither the package's folder nor the home folder can be written
        if "cannot cache" not in str(error):
            raise
        from numba import config

        config.CACHE_DIR = str(private_folder())  # type: ignore[attr-defined]
        loaded = import_module(name)
    announce_compilation(module, loaded, package)
    # A helper that was compiled for other kernels alone would take the process down with it when Python calls it.
    inner = {name for name, one in vars(loaded).items() if _for_kernels_alone(one)}
    return SimpleNamespace(**{name: one for name, one in vars(loaded).items() if name not in inner})


def _for_kernels_alone(function: object) -> bool:
    return bool(getattr(function, "targetoptions", {}).get("no_cpython_wrapper"))


_timers = list[Any]()  # one, Numba's own measure of the time it compiles; from the first kernel on


def compile_seconds() -> float:
    """What compiling kernels has taken in this process so far [s]."""
    return float(_timers[0].duration) if _timers and _timers[0].done else 0.0


def working_seconds() -> float:
    """Of a monotonic clock that stands still while kernels are compiled: that happens once, and is announced."""
    return time.monotonic() - compile_seconds()


def private_folder() -> Path:
    """A folder of the user's own below the temporary one; a new one when that name belongs to somebody else."""
    folder = Path(tempfile.gettempdir()) / f"exciter-kernels-{os.getuid() if hasattr(os, 'getuid') else 0}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        owned = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
        if owned and folder.is_dir() and not folder.is_symlink():
            return folder
    return Path(tempfile.mkdtemp(prefix="exciter-kernels-"))


def kept(module: str, package: str = KERNELS_PACKAGE) -> bool:
    """Whether kernels of a module are on disk, or none are compiled anyway."""
    found = _entries(kernels(module, package), package)
    return found is None or any(entry.name.startswith(f"{module}.") for entry in found[0])


def announce_compilation(module: str, loaded: Any, package: str = KERNELS_PACKAGE) -> None:
    """Drop stale cache entries; say so when this module's kernels are not in the cache."""
    if (found := _entries(loaded, package)) is None:
        return
    for entry in found[1]:
        with suppress(OSError):  # another process was faster
            entry.unlink()
    if not any(entry.name.startswith(f"{module}.") for entry in found[0]):
        _tell()


def _entries(loaded: Any, package: str) -> tuple[list[Path], list[Path]] | None:
    """Of the cache: those that are newer than their sources, and stale ones; None: compilation is switched off."""
    compiled = [d for d in vars(loaded).values() if getattr(d, "stats", None) is not None]
    folders = [d.stats.cache_path for d in compiled if d.py_func.__module__ == loaded.__name__]  # not imported ones
    if not any(folders):
        return None
    folder, sources = Path(next(f for f in folders if f)), _sources(package)
    newest = max(source.stat().st_mtime for source in {*sources, *_sources(KERNELS_PACKAGE)})
    entries = [entry for source in sources for entry in folder.glob(f"{source.stem}.*.nbi")]
    # Numba compares a function with its own file only; a kernel inlined from another file would go unnoticed.
    stale = [entry for entry in entries if entry.stat().st_mtime < newest]
    return [entry for entry in entries if entry not in stale], stale


@cache
def _tell() -> None:
    """Once, however many modules are to be compiled."""
    for tell in _listeners:
        tell(COMPILING_MESSAGE)


def _sources(package: str) -> list[Path]:
    """The files of a folder of kernels."""
    files = Path(next(iter(import_module(package).__path__))).glob("*.py")
    return [file for file in files if file.stem not in ("__init__", "cache")]
