"""Logs of known programs, described as data: a recording.yaml without ``file``, and how such a log is recognised.

recognise: columns, or groups of columns, that such a log has; reader: the kind of file. What a user writes goes before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from exciter.experiment.recording.signal import JOINT, group, joints_of
from exciter.experiment.sources.source import Source
from exciter.robot.yaml_file import read_yaml

NPZ = "exciter-npz"
FILES = {"exciter": "exciter", "ur-rtde": "ur-rtde", "libfranka": "libfranka", "ros2": "joint-state"}
READERS = ("csv", "npz", "npy", "mat", "ros2")
FORMATS = tuple(dict.fromkeys((*READERS, *FILES)))


@cache
def preset(name: str) -> Mapping[str, Any]:
    """The description that comes with Exciter; empty for files that have no meaning of their own."""
    if name not in (*FILES, NPZ):
        return MappingProxyType({"reader": name})
    data: dict[str, Any] = read_yaml(Path(__file__).parent / f"{FILES.get(name, name)}.yaml", "format")
    return MappingProxyType(data)


def recognised(source: Source) -> str | None:
    """The format whose columns the file has."""
    return next((name for name in FILES if "recognise" in preset(name) and _fits(source, preset(name))), None)


def completed(given: Mapping[str, Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    """What a user gave, and what a format says where they did not; null takes it away."""
    known = {key: value for key, value in preset.items() if key not in ("recognise", "reader")}
    merged = {**known, **given}
    for key, value in given.items():
        counted = isinstance(value, Mapping) and "rate" in value  # instead of the format's column of time
        if isinstance(value, Mapping) and isinstance(known.get(key), Mapping) and not counted:
            merged[key] = {**known[key], **value}
    return merged


def _fits(source: Source, description: Mapping[str, Any]) -> bool:
    joints = description.get("joints", ())
    return all(
        joints_of(source, name) if JOINT in name else name in source.names or (joints and group(source, name, joints))
        for name in description["recognise"]
    )
