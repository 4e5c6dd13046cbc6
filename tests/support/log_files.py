"""One table written in every format that logs come in, for the tests of their readers."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from support import torch_files

NAMES = ("time", "a", "b", "c")


def text(delimiter: str, **options: Any) -> Callable[[Path, np.ndarray], Path]:
    def write(folder: Path, table: np.ndarray) -> Path:
        settings = {"header": delimiter.join(NAMES), "comments": "", "fmt": "%.17g"} | options
        np.savetxt(folder / "log.csv", table, delimiter=delimiter, **settings)
        return folder / "log.csv"

    return write


def npz(save: Callable[..., None], order: str = "C") -> Callable[[Path, np.ndarray], Path]:
    def write(folder: Path, table: np.ndarray) -> Path:
        save(folder / "log.npz", time=table[:, 0], q=np.array(table[:, 1:], order=order), about="words", one=3.0)
        return folder / "log.npz"

    return write


def npy(order: str) -> Callable[[Path, np.ndarray], Path]:
    def write(folder: Path, table: np.ndarray) -> Path:
        np.save(folder / "log.npy", np.array(table, order=order))
        return folder / "log.npy"

    return write


def mat(packed: bool, turned: bool) -> Callable[[Path, np.ndarray], Path]:
    def write(folder: Path, table: np.ndarray) -> Path:
        q = table[:, 1:].T if turned else table[:, 1:]
        rec = {"time": table[:, :1].T if turned else table[:, :1], "name": "words", "deeper": {"q": q}}
        scipy.io.savemat(folder / "log.mat", {"rec": rec, "cell": np.array([1, "x"], object)}, do_compression=packed)
        return folder / "log.mat"

    return write


def torch(order: str, packing: int) -> Callable[[Path, np.ndarray], Path]:
    def write(folder: Path, table: np.ndarray) -> Path:
        log = {"time": table[:, 0], "rec": {"q": table[:, 1:], "name": "words"}, "one": 3.0}
        return torch_files.save(folder / "log.pt", log, order, packing)

    return write


def parquet(folder: Path, table: np.ndarray) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "time": pa.array(table[:, 0]),
        "q": pa.array(table[:, 1:].tolist()),
        "word": pa.array(["x"] * len(table)),
    }
    pq.write_table(pa.table(columns), folder / "log.parquet", row_group_size=20)
    return folder / "log.parquet"


def sage(folder: Path, table: np.ndarray) -> Path:
    """Every sample as state, every third as command."""
    made = folder / "sage"
    made.mkdir()
    for name, kind, rows in (("state_motor", "STATE_MOTOR", table), ("control", "CONTROL", table[::3])):
        lines = [f'{kind},{float(row[0])!r},"{row[1:].tolist()}"' for row in rows]
        (made / f"{name}.csv").write_text("\n".join(["type,timestamp,positions", *lines]) + "\n")
    return made


def joint_state(types: Any, stamp: int, names: list[str], **values: Any) -> Any:
    """A message; stamp [ns]; position, velocity, effort as given, else empty."""
    message = types.types
    header = message["std_msgs/msg/Header"](
        message["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9), frame_id=""
    )
    arrays = {word: np.array(values.get(word, ()), float) for word in ("position", "velocity", "effort")}
    return message["sensor_msgs/msg/JointState"](header=header, name=names, **arrays)


def write_bag(
    folder: Path, topics: dict[str, list[tuple[int, Any]]], *, storage: str = "sqlite3", packing: str | None = None
) -> Path:
    """Messages (received [ns], message) by topic, in a new ROS 2 bag; a message may be text (std_msgs/String)."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_JAZZY)
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if packing:
        writer.set_compression(CompressionMode[packing.upper()], CompressionFormat.ZSTD)
    with writer:
        for topic, messages in topics.items():
            words = bool(messages) and isinstance(messages[0][1], str)
            kind = "std_msgs/msg/String" if words else "sensor_msgs/msg/JointState"
            connection = writer.add_connection(topic, kind, typestore=types)
            for received, message in messages:
                content = types.types[kind](data=message) if words else message
                writer.write(connection, received, types.serialize_cdr(content, kind))
    return folder


def bag(storage: str, packing: str | None = None, single: bool = False) -> Callable[[Path, np.ndarray], Path]:
    """Positions a, b and velocity of a; time of the first row must be 0."""

    def write(folder: Path, table: np.ndarray) -> Path:
        from rosbags.typesys import Stores, get_typestore

        types = get_typestore(Stores.ROS2_JAZZY)
        start = 1_700_000_000_123_456_789
        messages = []
        for time, a, b, c in table:
            stamp = start + round(time * 1e9)
            state = joint_state(types, stamp, ["a", "b"], position=[a, b], velocity=[c, 0.0])
            messages.append((stamp + 50_000, state))
        path = write_bag(folder / "bag", {"/joint_states": messages}, storage=storage, packing=packing)
        return next(p for p in path.iterdir() if p.suffix in (".mcap", ".db3")) if single else path

    return write


WRITERS: dict[str, tuple[Callable[[Path, np.ndarray], Path], list[str]]] = {
    "csv": (text(","), list(NAMES)),
    "semicolons": (text(";"), list(NAMES)),
    "tabs": (text("\t"), list(NAMES)),
    "blanks": (text(" ", fmt="%25.17g"), list(NAMES)),
    "npz": (npz(np.savez), ["time", "q[0]", "q[1]", "q[2]"]),
    "npz-packed": (npz(np.savez_compressed), ["time", "q[0]", "q[1]", "q[2]"]),
    "npz-fortran": (npz(np.savez_compressed, "F"), ["time", "q[0]", "q[1]", "q[2]"]),
    "npy": (npy("C"), ["0", "1", "2", "3"]),
    "npy-fortran": (npy("F"), ["0", "1", "2", "3"]),
    "mat": (mat(False, False), ["rec.time", "rec.deeper.q[0]", "rec.deeper.q[1]", "rec.deeper.q[2]"]),
    "mat-packed": (mat(True, False), ["rec.time", "rec.deeper.q[0]", "rec.deeper.q[1]", "rec.deeper.q[2]"]),
    "mat-turned": (mat(True, True), ["rec.time", "rec.deeper.q[0]", "rec.deeper.q[1]", "rec.deeper.q[2]"]),
    "pt": (torch("<", zipfile.ZIP_STORED), ["time", "rec/q[0]", "rec/q[1]", "rec/q[2]"]),
    "pt-packed": (torch(">", zipfile.ZIP_DEFLATED), ["time", "rec/q[0]", "rec/q[1]", "rec/q[2]"]),
    "parquet": (parquet, ["time", "q[0]", "q[1]", "q[2]"]),
    "sage": (sage, ["timestamp", "positions[0]", "positions[1]", "positions[2]"]),
    "sqlite": (bag("sqlite3"), ["time", "a.position", "b.position", "a.velocity"]),
    "sqlite-message": (bag("sqlite3", "message"), ["time", "a.position", "b.position", "a.velocity"]),
    "db3": (bag("sqlite3", single=True), ["time", "a.position", "b.position", "a.velocity"]),
    "mcap": (bag("mcap"), ["time", "a.position", "b.position", "a.velocity"]),
    "mcap-packed": (bag("mcap", "storage", single=True), ["time", "a.position", "b.position", "a.velocity"]),
}


def table(rows: int, seed: int = 0) -> np.ndarray:
    """Time in whole milliseconds from 0, and three columns of numbers of all sizes."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((rows, 3)) * 10.0 ** rng.integers(-12, 12, (rows, 3))
    return np.column_stack([np.arange(rows) / 1000, numbers])
