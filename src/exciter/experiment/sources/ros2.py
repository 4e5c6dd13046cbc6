"""ROS 2 bags with ``sensor_msgs/msg/JointState``: folders (SQLite or MCAP), and single .mcap or .db3 files. Read by the
optional package rosbags. Messages are taken for what ROS defines; definitions inside a bag are not used.

What a MCAP file announces is made sure to be true and bounded, so that reading it cannot take all memory. MCAP: records
(type, length, content) after each other; messages are in chunks, which may be packed; a summary at the end says where
the chunks are. Readers take lengths and places at their word."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from os.path import isdir, isfile
from pathlib import Path, PurePath
from sys import version_info
from typing import IO, Any

import numpy as np

from exciter.errors import ExciterError, RecordingError, RobotError, shown
from exciter.experiment.sources.source import MOST_COLUMNS, Source, brief, equal_blocks
from exciter.robot.yaml_file import parse_yaml
from exciter.typing import Array

METADATA_BYTES_LIMIT = 1 << 20  #: of metadata.yaml
BAG_STORAGES = ("mcap", "sqlite3")
MCAP_MAGIC = b"\x89MCAP0\r\n"
MCAP_FOOTER, MCAP_CHUNK = 0x02, 0x06
CHUNK_BYTES_LIMIT = 1 << 28  #: unpacked; recorders write some megabytes
OVERLAP_BYTES_LIMIT = 1 << 30  #: of chunks that overlap in time, which are sorted together
ROS_MESSAGE_BYTES_LIMIT = 1 << 24  #: unpacked
UNPACKED_PIECE_BYTES = 1 << 20  #: at once
McapChunk = tuple[str, int, int]  # packing, bytes packed and unpacked
JOINT_STATE = "sensor_msgs/msg/JointState"
STATE_FIELDS = ("position", "velocity", "effort")


def bag_files(path: Path) -> tuple[list[Path], bool]:
    """The MCAP files of the bag at ``path``, a folder or one file, and whether every message is packed by itself."""
    if not isdir(path):
        return [path] if path.suffix == ".mcap" else [], False
    metadata = path / "metadata.yaml"
    if not isfile(metadata):
        raise RecordingError(f"{path} is a folder without metadata.yaml, so no ROS 2 bag; give a file of numbers")
    if (size := metadata.stat().st_size) > METADATA_BYTES_LIMIT:
        raise RecordingError(f"{metadata} has {size} bytes, at most {METADATA_BYTES_LIMIT} are read")
    try:
        about = parse_yaml(metadata.read_text(encoding="utf-8"), "it")["rosbag2_bagfile_information"]
        storage, names = about["storage_identifier"], about["relative_file_paths"]
        mode = about.get("compression_mode") or "none"
    except (RobotError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        why = f"{metadata} does not describe a ROS 2 bag ({brief(error)}); try 'ros2 bag reindex'"
        raise RecordingError(why) from None
    named = isinstance(names, list) and names and all(isinstance(name, str) and name for name in names)
    if storage not in BAG_STORAGES or not named or not isinstance(mode, str):
        raise RecordingError(f"{metadata} names a storage other than {', '.join(BAG_STORAGES)}, or no files")
    if mode.lower() == "file":
        why = f"{path} is packed file by file; unpack one (unzstd {names[0]}) and give that file instead"
        raise RecordingError(why)
    files = [path / PurePath(name).name for name in names]
    if missing := [file.name for file in files if not isfile(file)]:
        raise RecordingError(f"{path} lacks its file {missing[0]}, which metadata.yaml names")
    return files if storage == "mcap" else [], mode.lower() == "message"


def check_mcap(path: Path) -> dict[int, McapChunk]:
    """The chunks of the file by their places; one line when it is cut off, or becomes too large."""
    size = path.stat().st_size
    chunks: dict[int, McapChunk] = {}
    with path.open("rb") as file:
        if file.read(8) != MCAP_MAGIC:
            raise RecordingError(f"{path} is no MCAP file")
        file.seek(max(8, size - 37))
        end = file.read()
        if len(end) < 37 or not end.endswith(MCAP_MAGIC) or end[0] != MCAP_FOOTER:
            raise RecordingError(f"{path} has no end, as when a recorder is stopped hard; repair it by 'mcap recover'")
        (summary,) = struct.unpack_from("<Q", end, 9)
        at, starts_there = 8, summary == 0
        while at < size - 37:
            file.seek(at)
            kind, length = struct.unpack("<BQ", file.read(9))
            if length > size - 37 - at - 9:
                raise RecordingError(f"{path} is damaged at byte {at}: a record is longer than the file")
            if kind == MCAP_CHUNK:
                chunks[at] = _check_chunk(path, file, at, length)
            starts_there |= at == summary
            at += 9 + length
    if not starts_there and summary != at:
        raise RecordingError(f"{path} is damaged: its summary is not where it should be; repair it by 'mcap recover'")
    return chunks


def _check_chunk(path: Path, file: IO[bytes], at: int, length: int) -> McapChunk:
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
    if packed > length - 40 - name or unpacked > CHUNK_BYTES_LIMIT:
        why = f"{where}: a chunk of {packed} bytes unpacks to {unpacked}, at most {CHUNK_BYTES_LIMIT} are read"
        raise RecordingError(why)
    file.seek(at + 9 + 40 + name)
    if unpacked != (packed if not packing else len(unpack(packing, file.read(packed), unpacked))):
        raise RecordingError(f"{where}: a chunk does not unpack to {unpacked} bytes")
    return packing, packed, unpacked


def unpack(packing: str, data: bytes, most: int) -> bytes:
    """Never more than ``most`` bytes."""
    if packing == "zstd":  # packages that rosbags rests on
        zstd = import_module("compression.zstd" if version_info >= (3, 14) else "backports.zstd")
        stream = zstd.ZstdDecompressor()
    elif packing == "lz4":
        stream = import_module("lz4.frame").LZ4FrameDecompressor()
    else:
        raise RecordingError(f"'{packing[:16]}' is no known packing; zstd and lz4 are")
    unpacked = bytearray()
    while len(unpacked) <= most and not stream.eof:
        part = stream.decompress(data, max_length=min(UNPACKED_PIECE_BYTES, most + 1 - len(unpacked)))
        data = b""
        if not part and stream.needs_input:
            break
        unpacked += part
    if len(unpacked) > most or stream.unused_data:
        raise RecordingError(f"packed data become more than the {most} bytes that were expected")
    return bytes(unpacked)


def check_index(path: Path, index: Iterable[Any], chunks: dict[int, McapChunk]) -> None:
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
        if held > OVERLAP_BYTES_LIMIT:
            why = f"{path}: chunks of more than {OVERLAP_BYTES_LIMIT} bytes overlap in time; sort it by 'mcap sort'"
            raise RecordingError(why)


class JointStates(Source):
    """The messages of one topic, in the order they were received.
    Columns: ``time`` (the stamp of the message) and ``received`` (when the recorder got it), in seconds since the first
    message: a float has no room for nanoseconds since 1970. ``first_stamp`` and ``first_received`` [ns] have them.
    Then ``<joint>.position``, ``<joint>.velocity``, ``<joint>.effort`` of all joints that occur; NaN where a message
    lacks one. Messages with none of the chosen joint columns are left out. ``topic``: needed when there are several."""

    def __init__(self, path: Path, topic: str | None = None) -> None:
        if topic is not None and not isinstance(topic, str):
            raise RecordingError(f"topic is {shown(topic)}; give its name")
        self.path = path
        files, self._packed = bag_files(path)
        with self._damage_reported():
            self._chunks = {file: check_mcap(file) for file in files}
            with _opened(path) as storages:
                self.topic = _choose(path, storages, topic)
        first, found = None, dict[tuple[str, str], None]()
        for received, message in self._messages():  # a joint may first appear in the last one
            first = first or (_stamp(message), received)
            found |= dict.fromkeys(self._numbers(message))
            if len(found) > MOST_COLUMNS:
                raise RecordingError(f"{path}: '{self.topic}' has {len(found)} columns, at most {MOST_COLUMNS}")
        if first is None:
            raise RecordingError(f"{path}: there are no messages of '{self.topic}'")
        self.first_stamp, self.first_received = first
        joints = dict.fromkeys(name for name, _ in found)
        self._columns = [(name, quantity) for quantity in STATE_FIELDS for name in joints if (name, quantity) in found]
        self.names = ("time", "received", *(f"{name}.{quantity}" for name, quantity in self._columns))

    def _numbers(self, message: Any) -> dict[tuple[str, str], float]:
        names, quantities = list(message.name), {name: getattr(message, name) for name in STATE_FIELDS}
        counts = [len(values) for values in quantities.values()]
        if len(names) > MOST_COLUMNS:
            why = f"{self.path}: a message of '{self.topic}' has {len(names)} joints; {MOST_COLUMNS} at most"
            raise RecordingError(why)
        if not set(counts) <= {0, len(names)} or len(set(names)) < len(names):
            why = f"{self.path}: a message of '{self.topic}' has the joints {', '.join(names)[:80]} and {counts} "
            why += f"numbers ({', '.join(STATE_FIELDS)}); every joint needs one name and one number of each"
            raise RecordingError(why)
        return {(name, q): x for q, values in quantities.items() for name, x in zip(names, values, strict=False)}

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        return equal_blocks(self._tables(columns), rows)

    def _tables(self, columns: Sequence[int]) -> Iterator[Array]:
        joints = [self._columns[column - 2] for column in columns if column >= 2]
        for received, message in self._messages():
            numbers = self._numbers(message)
            if joints and numbers.keys().isdisjoint(joints):
                continue
            times = ((_stamp(message) - self.first_stamp) / 1e9, (received - self.first_received) / 1e9)
            yield np.array([[times[k] if k < 2 else numbers.get(self._columns[k - 2], np.nan) for k in columns]])

    def _messages(self) -> Iterator[tuple[int, Any]]:
        """(received [ns], message) of the topic."""
        with self._damage_reported():
            types = _types()
            with _opened(self.path) as storages:
                for storage in storages:
                    if hasattr(storage, "chunks"):
                        check_index(storage.path, storage.chunks, self._chunks[storage.path])
                    own = (self.topic, JOINT_STATE)
                    wanted = [one for one in storage.connections if (one.topic, one.msgtype) == own]
                    for _, received, data in storage.messages(wanted) if wanted else ():
                        plain = unpack("zstd", data, ROS_MESSAGE_BYTES_LIMIT) if self._packed else data
                        yield int(received), types.deserialize_cdr(plain, JOINT_STATE)

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        """Whatever rosbags and what it rests on raise, in one line."""
        try:
            yield
        except ExciterError:
            raise
        except ImportError as error:
            why = f"{self.path}: reading ROS 2 bags needs rosbags ({error}): pip install 'exciter[ros]'"
            raise RecordingError(why) from None
        except Exception as error:
            words = brief(f"{type(error).__name__}: {error}")
            raise RecordingError(f"{self.path} cannot be read as a ROS 2 bag ({words}); is it damaged?") from None


@cache
def _types() -> Any:
    """ROS's own messages; that of joints has not changed since the first ROS 2."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_HUMBLE)


@contextmanager
def _opened(path: Path) -> Iterator[list[Any]]:
    """The files of the bag, as rosbags reads them."""
    from rosbags.rosbag2 import Reader

    with Reader(path) as reader:
        yield list(getattr(reader.storage, "storages", [reader.storage]))


def _choose(path: Path, storages: list[Any], topic: str | None) -> str:
    kinds = {one.topic: one.msgtype for storage in storages for one in storage.connections}
    topics = [name for name, kind in kinds.items() if kind == JOINT_STATE]
    others = ", ".join(f"{name} ({kind})" for name, kind in list(kinds.items())[:12])
    if not topics:
        raise RecordingError(f"{path} has no topic of {JOINT_STATE}; its topics are {others or 'none'}")
    if topic is None and len(topics) > 1:
        several = ", ".join(topics[:12])
        raise RecordingError(f"{path} has several topics of {JOINT_STATE}; choose one (topic): {several}")
    if topic is not None and topic not in topics:
        raise RecordingError(f"{path} has no topic '{topic}' of {JOINT_STATE}; its topics are {others}")
    return topic or topics[0]


def _stamp(message: Any) -> int:
    """[ns]"""
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)
