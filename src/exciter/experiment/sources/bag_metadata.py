"""Which files a ROS 2 bag consists of, and how they are packed: ``metadata.yaml`` of its folder."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import isdir, isfile  # false, too, for a name that is too long
from pathlib import Path, PurePath
from typing import Any

from exciter.errors import RecordingError, RobotError
from exciter.experiment.sources.limits import brief
from exciter.robot.yaml_file import parse_yaml

MOST_BYTES = 1 << 20
STORAGES = ("mcap", "sqlite3")


@dataclass(frozen=True)
class BagFiles:
    """mcap: its files of that format. packed_messages: every message is packed by itself (zstd)."""

    mcap: tuple[Path, ...]
    packed_messages: bool = False


def bag_files(path: Path) -> BagFiles:
    """The files of the bag at ``path``, a folder or one file."""
    if not isdir(path):
        return BagFiles((path,) if path.suffix == ".mcap" else ())
    metadata = path / "metadata.yaml"
    if not isfile(metadata):
        raise RecordingError(f"{path} is a folder without metadata.yaml, so no ROS 2 bag; give a file of numbers")
    if (size := metadata.stat().st_size) > MOST_BYTES:
        raise RecordingError(f"{metadata} has {size} bytes, at most {MOST_BYTES} are read")
    try:
        about = parse_yaml(metadata.read_text(encoding="utf-8"), "it")["rosbag2_bagfile_information"]
        storage, names = about["storage_identifier"], about["relative_file_paths"]
        mode = about.get("compression_mode") or "none"
    except (RobotError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
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
    if missing := [file.name for file in files if not isfile(file)]:
        raise RecordingError(f"{path} lacks its file {missing[0]}, which metadata.yaml names")
    return BagFiles(files if storage == "mcap" else (), mode.lower() == "message")


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and len(names) > 0 and all(isinstance(name, str) and name for name in names)
