"""Where a result comes from: the robot's description, and the versions that it was computed with."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

from exciter import __version__
from exciter.files import sha256
from exciter.robot import library

LIBRARIES = ("numpy", "scipy", "numba", "pin")  #: that results depend on


def description_path(source: str) -> Path:
    """The file of ROBOT, embedded or not."""
    return library.path(source) if source in library.names() else Path(source)


def description_hash(source: str) -> str:
    """SHA-256 of that file."""
    return sha256(description_path(source))


def versions() -> dict[str, str]:
    """Of what a result was computed with."""
    return {
        "exciter": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
    }
