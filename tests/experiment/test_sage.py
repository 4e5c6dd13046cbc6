"""Folders of SAGE: lists in cells, two clocks of their own rate, a unit of time that nobody guesses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from exciter.errors import RecordingError
from exciter.experiment.recording import open_recording, read_recording

JOINTS = ("elbow", "wrist")
STATE_US, TOLD_US = np.arange(12) * 5_000.0 + 1_000.0, np.arange(3) * 20_000.0 + 3_500.0


def folder(root: Path, **files: str) -> Path:
    """As a collector for a real robot writes it: state at 200 Hz, commands at 50 Hz, events between."""
    made = root / "wave"
    made.mkdir()
    q = np.column_stack([np.sin(STATE_US / 3e4), np.cos(STATE_US / 3e4)])
    state = ["type,timestamp,positions,velocities,torques,temperatures"]
    state += [
        f'StateMotor,{t!r},"{row.tolist()}","{(-row).tolist()}","{(10 * row).tolist()}","[30, 31]"'
        for t, row in zip(STATE_US.tolist(), q, strict=True)
    ]
    control = ["type,timestamp,positions", "EVENT,0,MOTION_START"]
    control += [f'CONTROL,{t!r},"[{k}, -{k}.5]"' for k, t in enumerate(TOLD_US.tolist())]
    texts = {
        "state_motor": "\n".join(state),
        "control": "\r\n".join(control),
        "joint_list": "/World/arm/elbow\n/World/arm/wrist\n",
    }
    for name, text in (texts | files).items():
        (made / f"{name}.{'txt' if name == 'joint_list' else 'csv'}").write_text(text, newline="")
    return made


def described(root: Path, **said: object) -> Path:
    path = root / "recording.yaml"
    path.write_text(yaml.safe_dump({"file": "wave", "format": "sage", "time": {"unit": "us"}, **said}))
    return path


def test_two_clocks(tmp_path: Path) -> None:
    """A command holds until the next one, the last one for as long as others do; or on a line."""
    folder(tmp_path)
    found = read_recording(described(tmp_path, torque={"columns": "torques", "unit": "N·m"}))
    assert (found.joints, found.everything) == (JOINTS, ("q", "qd", "torque", "command"))
    np.testing.assert_allclose(found.time, (STATE_US - STATE_US[0]) * 1e-6)
    np.testing.assert_allclose(found.q[:, 0], np.sin(STATE_US / 3e4))
    np.testing.assert_allclose(found.torque, -10 * found.qd)
    told = np.searchsorted(TOLD_US, STATE_US, side="right") - 1.0
    told[told < 0] = np.nan
    assert np.isnan(told[0])
    np.testing.assert_array_equal(found.command[:, 0], told)
    np.testing.assert_array_equal(found.command[:, 1], -told - 0.5)
    line = read_recording(described(tmp_path, command={"columns": "command_line"})).command[:, 0]
    there = np.isin(np.arange(12), np.arange(*np.searchsorted(STATE_US, TOLD_US[[0, -1]])))
    np.testing.assert_array_equal(np.isfinite(line), there)
    np.testing.assert_allclose(line[there], (STATE_US[there] - TOLD_US[0]) / 20_000.0)


def test_after_the_last_command(tmp_path: Path) -> None:
    """What is logged a second later followed no command that is known."""
    made = folder(tmp_path)
    with (made / "state_motor.csv").open("a") as file:
        file.write('\nStateMotor,1e6,"[0, 0]","[0, 0]","[0, 0]","[0, 0]"\n')
    assert np.isnan(read_recording(described(tmp_path)).command[-1]).all()


def test_the_clock_is_not_guessed(tmp_path: Path) -> None:
    made = folder(tmp_path)
    for path in (made, described(tmp_path, time={"start": 1})):
        with pytest.raises(
            RecordingError,
            match=r"s in simulations, us of SO-101, 10us of .* as time: \{column: timestamp, unit: us\}$",
        ):
            open_recording(path)
    slow = read_recording(described(tmp_path, time={"unit": "10 µs"}))
    np.testing.assert_allclose(slow.time, (STATE_US - STATE_US[0]) * 1e-5)


def test_without_commands_or_names(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "control.csv").unlink()
    (made / "joint_list.txt").unlink()
    with pytest.raises(RecordingError, match="joints is missing"):
        open_recording(described(tmp_path))
    assert read_recording(described(tmp_path, joints=list(JOINTS))).everything == ("q", "qd")


HEAD = "type,timestamp,positions\n"
DAMAGED = {
    "no list": ("control", HEAD + "CONTROL,0,1\n", r"control.csv: line 2: timestamp is '0' and positions '1'; a"),
    "a word": ("control", HEAD + 'CONTROL,0,"[1, two]"\n', r"control.csv: line 2: positions has 'two', which is not a"),
    "code": ("control", HEAD + 'CONTROL,0,"[1, print(2)]"\n', r"line 2: positions has 'print\(2\)', which is not"),
    "too few": ("control", HEAD + 'CONTROL,0,"[1, 2]"\nCONTROL,1,"[1]"\n', "line 3: positions has 1 numbers, in the"),
    "no end": ("control", HEAD + 'CONTROL,0,"[1, 2]"\nCONTROL,1,"[1, 2\n', "line 3 has 4 cells, expected 3; lists"),
    "no quotes": ("control", HEAD + "CONTROL,0,[1, 2]\n", "line 2 has 4 cells, expected 3"),
    "backwards": ("control", HEAD + 'CONTROL,2,"[1, 2]"\nCONTROL,1,"[1, 2]"\n', "line 3: timestamp is 1 after 2; it"),
    "no instant": ("control", HEAD + 'CONTROL,nan,"[1, 2]"\n', "line 2: timestamp is nan after -inf"),
    "no rows": ("control", HEAD + "EVENT,0,START\n", "control.csv has no rows of control"),
    "no columns": ("state_motor", "type,time,q\nSTATE_MOTOR,0,1\n", "columns type, time, q; one of them must be"),
    "other joints": ("joint_list", "elbow\n", "joint_list.txt names 1 joints, and state_motor.csv has 2 positions"),
    "clash": ("state_motor", 'timestamp,positions,command\n0,"[1, 2]","[1, 2]"\n', "has a column 'command', as"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged(case: tuple[str, str, str], tmp_path: Path) -> None:
    """One line that names file and line."""
    name, text, message = case
    folder(tmp_path, **{name: text})
    with pytest.raises(RecordingError, match=message) as told:
        read_recording(described(tmp_path))
    assert "\n" not in str(told.value)


def test_where_time_runs_backwards(tmp_path: Path) -> None:
    rows = "".join(f'STATE_MOTOR,{t},"[1, 2]"\n' for t in (0, 1, 0.5))
    folder(tmp_path, state_motor=HEAD + "EVENT,0,x\n" + rows)
    with pytest.raises(RecordingError, match=r"time runs backwards at sample 2 .* line 5 of wave"):
        read_recording(described(tmp_path))
