"""What a MCAP file announces is true and bounded, so that reading it cannot take all memory.

MCAP: records (type, length, content) after each other; messages are in chunks, which may be packed; a summary at the
end says where the chunks are. Readers take lengths and places at their word.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from os.path import isdir, isfile
from pathlib import Path, PurePath
from sys import version_info
from typing import IO, Any

from exciter.errors import RecordingError, RobotError
from exciter.experiment.sources.source import brief
from exciter.robot.yaml_file import parse_yaml

MOST_BYTES = 1 << 20
STORAGES = ("mcap", "sqlite3")
MAGIC = b"\x89MCAP0\r\n"
FOOTER, CHUNK = 0x02, 0x06
MOST_CHUNK = 1 << 28  # bytes of a chunk, unpacked; recorders write some megabytes
MOST_AT_ONCE = 1 << 30  # bytes of chunks that overlap in time, which are sorted together
MOST_MESSAGE = 1 << 24  # bytes of a message, unpacked
PIECE = 1 << 20
Chunk = tuple[str, int, int]  # packing, bytes packed and unpacked


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


def check_mcap(path: Path) -> dict[int, Chunk]:
    """The chunks of the file by their places; one line when it is cut off, or becomes too large."""
    size = path.stat().st_size
    chunks: dict[int, Chunk] = {}
    with path.open("rb") as file:
        if file.read(8) != MAGIC:
            raise RecordingError(f"{path} is no MCAP file")
        file.seek(max(8, size - 37))
        end = file.read()
        if len(end) < 37 or not end.endswith(MAGIC) or end[0] != FOOTER:
            raise RecordingError(f"{path} has no end, as when a recorder is stopped hard; repair it by 'mcap recover'")
        (summary,) = struct.unpack_from("<Q", end, 9)
        at, starts_there = 8, summary == 0
        while at < size - 37:
            file.seek(at)
            kind, length = struct.unpack("<BQ", file.read(9))
            if length > size - 37 - at - 9:
                raise RecordingError(f"{path} is damaged at byte {at}: a record is longer than the file")
            if kind == CHUNK:
                chunks[at] = _check_chunk(path, file, at, length)
            starts_there |= at == summary
            at += 9 + length
    if not starts_there and summary != at:
        raise RecordingError(f"{path} is damaged: its summary is not where it should be; repair it by 'mcap recover'")
    return chunks


def _check_chunk(path: Path, file: IO[bytes], at: int, length: int) -> Chunk:
    """The chunk whose record was just entered: what it unpacks to is as long as it says."""
    head = file.read(min(length, 64))
    where = f"{path} is damaged at byte {at}"
    if len(head) < 40:
        raise RecordingError(f"{where}: a chunk is too short")
    _, _, unpacked, _, name = struct.unpack_from("<QQQII", head)
    if name > 16 or len(head) < 40 + name:
        raise RecordingError(f"{where}: the packing of a chunk has a name of {name} bytes")
    packing = head[32 : 32 + name].decode("latin-1")
    (packed,) = struct.unpack_from("<Q", head, 32 + name)
    if packed > length - 40 - name or unpacked > MOST_CHUNK:
        raise RecordingError(f"{where}: a chunk of {packed} bytes unpacks to {unpacked}, at most {MOST_CHUNK} are read")
    file.seek(at + 9 + 40 + name)
    if unpacked != (packed if not packing else len(unpack(packing, file.read(packed), unpacked))):
        raise RecordingError(f"{where}: a chunk does not unpack to {unpacked} bytes")
    return packing, packed, unpacked


def unpack(packing: str, data: bytes, most: int) -> bytes:
    """Unpack, but never more than ``most`` bytes."""
    stream = _unpacker(packing)
    parts, count = [], 0
    while count <= most and not stream.eof:
        part = stream.decompress(data, max_length=min(PIECE, most + 1 - count))
        data = b""
        if not part and stream.needs_input:
            break
        parts.append(part)
        count += len(part)
    if count > most or stream.unused_data:
        raise RecordingError(f"packed data become more than the {most} bytes that were expected")
    return b"".join(parts)


def _unpacker(packing: str) -> Any:
    """Of the packages that rosbags rests on."""
    if packing == "zstd":
        return import_module("compression.zstd" if version_info >= (3, 14) else "backports.zstd").ZstdDecompressor()
    if packing == "lz4":
        return import_module("lz4.frame").LZ4FrameDecompressor()
    raise RecordingError(f"'{packing[:16]}' is no known packing; zstd and lz4 are")


def check_index(path: Path, index: Iterable[Any], chunks: dict[int, Chunk]) -> None:
    """The summary names chunks that exist, each once, and few of them overlap in time."""
    entries = list(index)
    found = {e.chunk_start_offset: (e.compression, e.compressed_size, e.uncompressed_size) for e in entries}
    if len(found) < len(entries) or any(chunks.get(at) != chunk for at, chunk in found.items()):
        raise RecordingError(f"{path} is damaged: its summary does not fit its chunks; repair it by 'mcap recover'")
    changes = [(e.message_start_time, e.uncompressed_size) for e in entries]
    changes += [(e.message_end_time + 1, -e.uncompressed_size) for e in entries]
    held = 0
    for _, change in sorted(changes):
        held += change
        if held > MOST_AT_ONCE:
            raise RecordingError(
                f"{path}: chunks of more than {MOST_AT_ONCE} bytes overlap in time; sort it by 'mcap sort'"
            )
