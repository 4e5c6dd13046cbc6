"""Parquet files, and data sets of LeRobot: numbers as they were written, one episode, joints by name, units given."""

from __future__ import annotations

import json
import random
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from exciter.errors import RecordingError
from exciter.experiment.recording import Recording, open_recording, read_recording
from exciter.experiment.sources import parquet, parquet_pages
from exciter.experiment.sources.open_source import open_source
from support.lerobot import JOINTS, dataset, episode_table, write_parquet

pa = pytest.importorskip("pyarrow", reason="needs pyarrow (pip install exciter[lerobot])")


def read(path: Path, columns: str | list[str], **options: Any) -> np.ndarray:
    source = open_source(path, **options)
    return np.concatenate(list(source.blocks(source.find(columns), 7)))


def described(folder: Path, **said: Any) -> Recording:
    units = {"position": {"unit": "deg"}, "command": {"unit": "deg"}}
    (folder / "recording.yaml").write_text(yaml.safe_dump({"format": "lerobot", **units, **said}))
    return read_recording(folder / "recording.yaml")


@pytest.mark.parametrize("packing", ["NONE", "SNAPPY", "ZSTD", "GZIP"])
@pytest.mark.parametrize("fixed", [True, False])
def test_columns_are_what_was_written(packing: str, fixed: bool, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    kind = pa.list_(pa.float32(), 3) if fixed else pa.list_(pa.float32())
    columns = {"q": pa.array(values.tolist(), kind), "n": pa.array(range(50)), "word": pa.array(["a"] * 50)}
    columns["holes"] = pa.array([None if k % 7 == 0 else float(k) for k in range(50)])
    path = write_parquet(tmp_path / "log.parquet", columns, compression=packing, row_group_size=13)
    source = open_source(path)
    assert source.names == ("q[0]", "q[1]", "q[2]", "n", "holes")
    np.testing.assert_array_equal(read(path, "q"), values)
    np.testing.assert_array_equal(read(path, ["n", "q[1]"]), np.column_stack([np.arange(50.0), values[:, 1]]))
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(read(path, "holes")[:, 0])), np.arange(0, 50, 7))
    with pytest.raises(RecordingError, match="'word' is string, no numbers"):
        source.find("word")


def test_lists_that_are_missing_or_of_another_length(tmp_path: Path) -> None:
    rows = [[1.0, 2.0], None, [3.0, 4.0]]
    found = read(write_parquet(tmp_path / "log.parquet", {"q": pa.array(rows)}), "q")
    np.testing.assert_array_equal(found, [[1, 2], [np.nan, np.nan], [3, 4]])
    path = write_parquet(tmp_path / "log.parquet", {"q": pa.array([*rows, [1.0]])})
    with pytest.raises(RecordingError, match="'q' has lists of 2 numbers and of 1; a signal has as many in every row"):
        read(path, "q")


@pytest.mark.parametrize("version", [2, 3])
def test_an_episode_of_a_data_set(version: int, tmp_path: Path) -> None:
    """By the folder and by its file; joints as the set calls them, units as the user does."""
    root = dataset(tmp_path / "set", version, episodes=3)
    file = f"set/data/chunk-000/{'episode_000001' if version == 2 else 'file-000'}.parquet"
    expected = episode_table(1)
    for given in ("set", file):
        recording = described(tmp_path, file=given, episode=1)
        assert recording.joints == JOINTS
        assert recording.everything == ("q", "command")
        np.testing.assert_allclose(recording.time, expected["timestamp"], rtol=1e-6)
        np.testing.assert_allclose(recording.q, np.radians(expected["observation.state"]), rtol=1e-6)
        np.testing.assert_allclose(recording.command, np.radians(expected["action"]), rtol=1e-6)
        assert [source.name for source in recording.about.sources] == [file]
    renamed = described(tmp_path, file="set", episode=2, joints=["a", "b"])
    assert renamed.joints == ("a", "b")
    assert len(renamed) == len(episode_table(2)["timestamp"])
    with pytest.raises(RecordingError, match=r"position: unit is missing; allowed are rad, deg, rev, m, mm"):
        described(tmp_path, file="set", episode=1, position={})
    with pytest.raises(RecordingError, match=r"no episode 9"):
        described(tmp_path, file="set", episode=9)
    with pytest.raises(RecordingError, match=r"data set of many episodes; say which: episode: 0"):
        open_recording(root)
    if version == 3:
        with pytest.raises(RecordingError, match=r"has 3 episodes \(0 … 2\), .* say which: episode: 0"):
            open_recording(root / "data" / "chunk-000" / "file-000.parquet")


def test_names_of_joints_as_older_sets_have_them(tmp_path: Path) -> None:
    root = dataset(tmp_path / "set", 2, episodes=1)
    info = json.loads((root / "meta" / "info.json").read_text())
    info["features"]["observation.state"]["names"] = {"motors": ["left", "right"]}
    (root / "meta" / "info.json").write_text(json.dumps(info))
    assert described(tmp_path, file="set", episode=0).joints == ("left", "right")
    (root / "meta" / "info.json").unlink()
    with pytest.raises(RecordingError, match="joints is missing"):
        described(tmp_path, file="set/data/chunk-000/episode_000000.parquet")
    (root / "meta" / "info.json").write_text("{]")
    with pytest.raises(RecordingError, match=r"info.json cannot be read: .*not valid JSON"):
        described(tmp_path, file="set", episode=0)


def test_pyarrow_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "log.parquet", {"q": pa.array([1.0])})
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RecordingError, match=r"needs pyarrow .*: pip install 'exciter\[lerobot\]'$"):
        open_source(path)


def test_files_that_lie_about_their_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "log.parquet", {"q": pa.array(np.zeros(100_000))}, use_dictionary=False)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + struct.pack("<I", 1 << 30) + b"PAR1")
    with pytest.raises(RecordingError, match="has a footer of 1073741824 bytes"):
        open_source(path)
    path.write_bytes(whole[:-100])
    with pytest.raises(RecordingError, match="is no Parquet file, or is cut off"):
        open_source(path)
    path.write_bytes(whole)
    monkeypatch.setattr(parquet_pages, "PAGE_BYTES_LIMIT", 1000)
    with pytest.raises(RecordingError, match=r"at byte 4: a page of \d+ bytes unpacks to \d+, at most 1000 are read"):
        read(path, "q")
    monkeypatch.setattr(parquet, "MOST_PARQUET_ROWS", 1000)
    with pytest.raises(RecordingError, match="announces 100000 rows, at most 1000 are read"):
        open_source(path)


def test_headers_of_pages_of_any_bytes() -> None:
    """A number, or one line; and the sizes that stand there."""
    good = bytes([0x15, 0, 0x15, 0x80, 0x02, 0x15, 0x14, 0x2C, 0x15, 4, 0, 0])
    assert parquet_pages.page_sizes(good + b"rest") == (len(good), 10, 128)
    rng = random.Random(1)
    for _ in range(3000):
        data = bytearray(good + rng.randbytes(20))
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with suppress(RecordingError):
            assert min(parquet_pages.page_sizes(bytes(data[: rng.randrange(1, len(data))]))) >= 0
