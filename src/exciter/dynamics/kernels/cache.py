"""The kernels' disk cache: drop what is stale, and say so on screen when compiling will take a while."""

from __future__ import annotations

import sys
from pathlib import Path


def announce_compilation() -> None:
    """Before the first call: tell the user if the kernels must be compiled, which happens once per installation."""
    from exciter.dynamics.kernels import blocks, drivers, lagrange, packed

    sources = [Path(str(module.__file__)) for module in (blocks, packed, drivers, lagrange)]
    newest = max(source.stat().st_mtime for source in sources)
    folder = Path(drivers.adjoint.stats.cache_path)
    entries = [entry for source in sources for entry in folder.glob(f"{source.stem}.*.nbi")]
    # Numba compares a function with its own file only; a kernel inlined from another file would go unnoticed.
    stale = [entry for entry in entries if entry.stat().st_mtime < newest]
    for entry in stale:
        entry.unlink(missing_ok=True)
    if not entries or stale:
        print("exciter: compiling the kernels, once after installation (about half a minute) …", file=sys.stderr)
