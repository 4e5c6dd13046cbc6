"""The kernels' disk cache: find a place for it, drop what is stale, and say on screen when compiling takes a while."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MODULES = ("blocks", "packed", "drivers", "lagrange", "parallel")


@lru_cache(maxsize=len(MODULES))
def kernels(module: str) -> Any:
    """A module of compiled kernels, ready to call; tells the user first if that means compiling."""
    name = f"exciter.dynamics.kernels.{module}"
    try:
        loaded = import_module(name)
    except RuntimeError as error:  # Numba: neither the package's folder nor the home folder can be written
        if "cannot cache" not in str(error):
            raise
        from numba import config

        config.CACHE_DIR = str(private_folder())  # type: ignore[attr-defined]
        loaded = import_module(name)
    announce_compilation(module, loaded)
    return loaded


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


def announce_compilation(module: str, loaded: Any) -> None:
    """Drop stale cache entries; say so when this module's kernels are not in the cache."""
    folders = [d.stats.cache_path for d in vars(loaded).values() if getattr(d, "stats", None) is not None]
    if not any(folders):
        return  # compilation is switched off
    folder = Path(next(f for f in folders if f))
    sources = [_source(name) for name in MODULES]
    newest = max(source.stat().st_mtime for source in sources)
    entries = [entry for source in sources for entry in folder.glob(f"{source.stem}.*.nbi")]
    # Numba compares a function with its own file only; a kernel inlined from another file would go unnoticed.
    stale = [entry for entry in entries if entry.stat().st_mtime < newest]
    for entry in stale:
        with suppress(OSError):  # another process was faster
            entry.unlink()
    if not any(entry.name.startswith(f"{module}.") for entry in entries if entry not in stale):
        print("exciter: compiling the kernels, once after installation (about half a minute) …", file=sys.stderr)


def _source(name: str) -> Path:
    spec = find_spec(f"exciter.dynamics.kernels.{name}")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)
