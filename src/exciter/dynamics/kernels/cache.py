"""The kernels' disk cache: drop what is stale, and say so on screen when compiling will take a while."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

MODULES = ("blocks", "packed", "drivers", "lagrange", "parallel")


@lru_cache(maxsize=2)
def announce_compilation(parallel: bool) -> None:
    """Before a kernel's first call: tell the user if it must be compiled, which happens once per installation."""
    from exciter.dynamics.kernels import drivers

    sources = [_source(name) for name in MODULES]
    newest = max(source.stat().st_mtime for source in sources)
    folder = Path(str(drivers.adjoint.stats.cache_path))
    entries = [entry for source in sources for entry in folder.glob(f"{source.stem}.*.nbi")]
    # Numba compares a function with its own file only; a kernel inlined from another file would go unnoticed.
    stale = [entry for entry in entries if entry.stat().st_mtime < newest]
    for entry in stale:
        with suppress(OSError):  # another process was faster, or the folder is not ours to write
            entry.unlink()
    wanted = "parallel" if parallel else "drivers"
    if not any(entry.name.startswith(f"{wanted}.") for entry in entries if entry not in stale):
        print("exciter: compiling the kernels, once after installation (about half a minute) …", file=sys.stderr)


def _source(name: str) -> Path:
    spec = find_spec(f"exciter.dynamics.kernels.{name}")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)
