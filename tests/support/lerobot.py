"""Small data sets as LeRobot writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

JOINTS = ("shoulder_pan", "gripper")
RATE_HZ = 30


def episode_table(episode: int) -> dict[str, np.ndarray]:
    """Frames of one episode; positions and commands in degrees."""
    count = 40 + 10 * episode
    time = np.arange(count, dtype=np.float32) / RATE_HZ
    action = np.column_stack([40.0 * np.sin(time + episode), 5.0 * np.cos(2.0 * time)]).astype(np.float32)
    return {
        "action": action,
        "observation.state": (0.9 * action - 1.0).astype(np.float32),
        "timestamp": time,
        "frame_index": np.arange(count),
        "episode_index": np.full(count, episode),
        "index": np.arange(count),
        "task_index": np.zeros(count, dtype=np.int64),
    }


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    made = {}
    for name, values in columns.items():
        lists = isinstance(values, np.ndarray) and values.ndim == 2
        made[name] = pa.array(values.tolist(), pa.list_(pa.float32())) if lists else pa.array(values)
    pq.write_table(pa.table(made), path, **options)
    return path


def dataset(root: Path, version: int, episodes: int) -> Path:
    """version 2: a file for each episode; 3: one for all."""
    tables = [episode_table(k) for k in range(episodes)]
    if version == 2:
        for k, table in enumerate(tables):
            write_parquet(root / "data" / "chunk-000" / f"episode_{k:06d}.parquet", table)
    else:
        joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        write_parquet(root / "data" / "chunk-000" / "file-000.parquet", joined)
    named = {"dtype": "float32", "shape": [len(JOINTS)], "names": [f"{name}.pos" for name in JOINTS]}
    info = {
        "codebase_version": f"v{version}.0",
        "fps": RATE_HZ,
        "features": {"action": named, "observation.state": named},
    }
    (root / "meta").mkdir()
    (root / "meta" / "info.json").write_text(json.dumps(info))
    return root
