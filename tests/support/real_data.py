"""Logs of real robots, where they are beside the checkout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exciter.experiment.recording import Recording, open_recording
from support.paths import ROOT, SHARED_DATA


def require_data(name: str) -> Path:
    folder = SHARED_DATA / name
    if not folder.is_dir():
        pytest.skip(f"the recorded logs are not beside the project: {folder.name} is missing")
    return folder


def real_recording(robot: str, which: str = "recording") -> Recording:
    """A log of a real robot as examples/real describes it, whole: without the windows that split it."""
    require_data(robot)
    file = open_recording(ROOT / "examples" / "real" / robot / f"{which}.yaml", SHARED_DATA)
    return replace(file, given=replace(file.given, windows=())).read()
