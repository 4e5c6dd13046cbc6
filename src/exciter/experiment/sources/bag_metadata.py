"""Which files a ROS 2 bag consists of, and how they are packed: ``metadata.yaml`` of its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import yaml

from exciter.errors import RecordingError
from exciter.experiment.sources.limits import brief

MOST_BYTES = 1 << 20
DEEPEST = 50  # brackets in brackets
STORAGES = ("mcap", "sqlite3")


@dataclass(frozen=True)
class BagFiles:
    """mcap: its files of that format. packed_messages: every message is packed by itself (zstd)."""

    mcap: tuple[Path, ...]
    packed_messages: bool = False


def bag_files(path: Path) -> BagFiles:
    """The files of the bag at ``path``, a folder or one file."""
    if not path.is_dir():
        return BagFiles((path,) if path.suffix == ".mcap" else ())
    metadata = path / "metadata.yaml"
    if not metadata.is_file():
        raise RecordingError(f"{path} is a folder without metadata.yaml, so no ROS 2 bag; give a file of numbers")
    if (size := metadata.stat().st_size) > MOST_BYTES:
        raise RecordingError(f"{metadata} has {size} bytes, at most {MOST_BYTES} are read")
    try:
        text = metadata.read_bytes()
        if _depth(text) > DEEPEST:
            raise ValueError("lists in lists in lists")  # which readers of YAML take very long for
        about = yaml.safe_load(text)["rosbag2_bagfile_information"]
        storage, names = about["storage_identifier"], about["relative_file_paths"]
        mode = about.get("compression_mode") or "none"
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise RecordingError(
            f"{metadata} does not describe a ROS 2 bag ({brief(error)}); try 'ros2 bag reindex'"
        ) from None
    if storage not in STORAGES or not _are_names(names) or not isinstance(mode, str):
        raise RecordingError(f"{metadata} names a storage other than {', '.join(STORAGES)}, or no files")
    if mode.lower() == "file":
        raise RecordingError(
            f"{path} is packed file by file; unpack one (unzstd {names[0]}) and give that file instead"
        )
    files = tuple(path / PurePath(name).name for name in names)
    if missing := [file.name for file in files if not file.is_file()]:
        raise RecordingError(f"{path} lacks its file {missing[0]}, which metadata.yaml names")
    return BagFiles(files if storage == "mcap" else (), mode.lower() == "message")


def _depth(text: bytes) -> int:
    """How deep brackets are nested, at most."""
    characters = np.frombuffer(text, np.uint8)
    steps = np.isin(characters, list(b"[{")).astype(np.int64) - np.isin(characters, list(b"]}"))
    return int(np.max(np.cumsum(steps), initial=0))


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and len(names) > 0 and all(isinstance(name, str) and name for name in names)
