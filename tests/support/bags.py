"""ROS 2 bags."""

from pathlib import Path

import numpy as np
import pytest


def bag(path: Path, names: list[str], time: np.ndarray, q: np.ndarray, qd: np.ndarray, effort: np.ndarray) -> None:
    rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="needs rosbags (pip install exciter[ros])")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    state, header, stamp = (
        types["sensor_msgs/msg/JointState"],
        types["std_msgs/msg/Header"],
        types["builtin_interfaces/msg/Time"],
    )
    with rosbag2.Writer(path, version=9) as writer:
        topic = writer.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k, t in enumerate(time):
            nanoseconds = round(t * 1e9)
            stamped = header(stamp(nanoseconds // 10**9, nanoseconds % 10**9), "")
            message = state(stamped, names, q[k], qd[k], effort[k])
            writer.write(topic, nanoseconds, store.serialize_cdr(message, state.__msgtype__))
