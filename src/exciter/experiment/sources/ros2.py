"""ROS 2 bags with ``sensor_msgs/msg/JointState``: folders (SQLite or MCAP), and single .mcap or .db3 files.

Read by the optional package rosbags. Messages are taken for what ROS defines; definitions inside a bag are not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, RecordingError, shown
from exciter.experiment.sources.bag_limits import MOST_MESSAGE, bag_files, check_index, check_mcap, unpack
from exciter.experiment.sources.source import MOST_COLUMNS, Source, brief, equal_blocks
from exciter.typing import Array

JOINT_STATE = "sensor_msgs/msg/JointState"
QUANTITIES = ("position", "velocity", "effort")
STEP = 4096  # messages gathered at once

Kind = tuple[tuple[str, ...], tuple[bool, ...]]  # of a message: its joints, and which quantities it has


class JointStates(Source):
    """The messages of one topic, in the order they were received.

    Columns: ``time`` (the stamp of the message) and ``received`` (when the recorder got it), in seconds since the first
    message: a float has no room for nanoseconds since 1970. ``first_stamp`` and ``first_received`` [ns] have them.
    Then ``<joint>.position``, ``<joint>.velocity``, ``<joint>.effort`` of all joints that occur; NaN where a message
    lacks one. Messages with none of the chosen joint columns are left out. ``topic``: needed when there are several.
    """

    def __init__(self, path: Path, topic: str | None = None) -> None:
        if topic is not None and not isinstance(topic, str):
            raise RecordingError(f"topic is {shown(topic)}; give its name")
        self.path = path
        self._files = bag_files(path)
        with self._told():
            self._chunks = {file: check_mcap(file) for file in self._files.mcap}
            with _opened(path) as storages:
                self.topic = _choose(path, storages, topic)
        kinds = self._kinds()
        joints = dict.fromkeys(name for names, _ in kinds for name in names)
        has = {
            (name, q)
            for names, have in kinds
            for q, there in zip(QUANTITIES, have, strict=True)
            if there
            for name in names
        }
        self._columns = [(name, quantity) for quantity in QUANTITIES for name in joints if (name, quantity) in has]
        if len(self._columns) > MOST_COLUMNS:
            raise RecordingError(f"{path}: '{self.topic}' has {len(self._columns)} columns, at most {MOST_COLUMNS}")
        self.names = ("time", "received", *(f"{name}.{quantity}" for name, quantity in self._columns))

    def _kinds(self) -> dict[Kind, None]:
        """The kinds of messages there are, in order of appearance; a joint may first appear in the last message."""
        kinds: dict[Kind, None] = {}
        self.first_stamp, self.first_received = 0, 0
        for count, (received, message) in enumerate(self._messages()):
            if count == 0:
                self.first_stamp, self.first_received = _stamp(message), received
            kinds[self._kind(message)] = None
            if len(kinds) > MOST_COLUMNS:
                raise RecordingError(f"{self.path}: the joints of '{self.topic}' are others in every message")
        if not kinds:
            raise RecordingError(f"{self.path}: there are no messages of '{self.topic}'")
        return kinds

    def _kind(self, message: Any) -> Kind:
        names = tuple(message.name)
        counts = [len(getattr(message, quantity)) for quantity in QUANTITIES]
        if len(names) > MOST_COLUMNS:
            raise RecordingError(
                f"{self.path}: a message of '{self.topic}' has {len(names)} joints; {MOST_COLUMNS} at most"
            )
        if not set(counts) <= {0, len(names)} or len(set(names)) < len(names):
            raise RecordingError(
                f"{self.path}: a message of '{self.topic}' has the joints {', '.join(names)[:80]} and {counts} numbers "
                f"({', '.join(QUANTITIES)}); every joint needs one name and one number of each"
            )
        return names, tuple(count > 0 for count in counts)

    def blocks(self, columns: Sequence[int], rows: int) -> Iterator[Array]:
        return equal_blocks(self._tables(list(columns)), rows)

    def _tables(self, columns: list[int]) -> Iterator[Array]:
        joints = [(j, self._columns[column - 2]) for j, column in enumerate(columns) if column >= 2]
        taken: dict[Kind, tuple[list[int], list[int]]] = {}
        rows: list[Array] = []
        for received, message in self._messages():
            kind = self._kind(message)
            if kind not in taken:
                present = [(name, q) for q, there in zip(QUANTITIES, kind[1], strict=True) if there for name in kind[0]]
                where = {one: k for k, one in enumerate(present)}
                pairs = [(j, where[one]) for j, one in joints if one in where]
                taken[kind] = [j for j, _ in pairs], [k for _, k in pairs]
            into, out_of = taken[kind]
            if joints and not into:
                continue
            times = ((_stamp(message) - self.first_stamp) / 1e9, (received - self.first_received) / 1e9)
            row = np.array([times[column] if column < 2 else np.nan for column in columns])
            row[into] = np.concatenate([message.position, message.velocity, message.effort])[out_of]
            rows.append(row)
            if len(rows) == STEP:
                yield np.array(rows)
                rows = []
        if rows:
            yield np.array(rows)

    def _messages(self) -> Iterator[tuple[int, Any]]:
        """(received [ns], message) of the topic."""
        with self._told():
            types = _types()
            with _opened(self.path) as storages:
                for storage in storages:
                    if hasattr(storage, "chunks"):
                        check_index(storage.path, storage.chunks, self._chunks[storage.path])
                    wanted = [
                        one for one in storage.connections if (one.topic, one.msgtype) == (self.topic, JOINT_STATE)
                    ]
                    for _, received, data in storage.messages(wanted) if wanted else ():
                        if self._files.packed_messages:
                            data = unpack("zstd", data, MOST_MESSAGE)
                        yield int(received), types.deserialize_cdr(data, JOINT_STATE)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever rosbags and what it rests on raise, in one line."""
        try:
            yield
        except ExciterError:
            raise
        except ImportError as error:
            raise RecordingError(
                f"{self.path}: reading ROS 2 bags needs rosbags ({error}): pip install 'exciter[ros]'"
            ) from None
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
    """The topic asked for, or the only one there is."""
    kinds = {one.topic: one.msgtype for storage in storages for one in storage.connections}
    topics = [name for name, kind in kinds.items() if kind == JOINT_STATE]
    others = ", ".join(f"{name} ({kind})" for name, kind in list(kinds.items())[:12])
    if not topics:
        raise RecordingError(f"{path} has no topic of {JOINT_STATE}; its topics are {others or 'none'}")
    if topic is None and len(topics) > 1:
        raise RecordingError(
            f"{path} has several topics of {JOINT_STATE}; choose one (topic): {', '.join(topics[:12])}"
        )
    if topic is not None and topic not in topics:
        raise RecordingError(f"{path} has no topic '{topic}' of {JOINT_STATE}; its topics are {others}")
    return topic or topics[0]


def _stamp(message: Any) -> int:
    """[ns]"""
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)
