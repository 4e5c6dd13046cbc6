"""Files of the robots of the package example-robot-data, by their path there; none where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def folder() -> Path | None:
    """Where the package keeps its robots."""
    found = find_spec("cmeel")
    places = [] if found is None or found.origin is None else [Path(found.origin).parents[1] / "cmeel.prefix"]
    robots = [place / "share" / "example-robot-data" / "robots" for place in places]
    return next((place for place in robots if place.is_dir()), None)


ROBOT_DATA = folder()
FILES = {str(path.relative_to(ROBOT_DATA)): path for path in sorted(ROBOT_DATA.rglob("*.urdf"))} if ROBOT_DATA else {}
