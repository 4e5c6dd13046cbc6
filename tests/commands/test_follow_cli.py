"""``exciter follow``: rows in by a pipe or a growing file, lines out while they come; it ends well, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import exciter as ex
from exciter.cli import main
from exciter.pipeline.followed import Followed
from support import following

CONFIG = """
terms: [viscous, coulomb, offset]
identify: {route: {method: differences, cutoff: 15}, filter: {cutoff: 8}, dead_zone: 0.02, noise: [0.4, 0.8, 0.2]}
follow: {drift: {friction: 0.2}, look_ahead: 0.4, every: 1}
"""


def run(capsys, *words) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["follow", *map(str, words)])
    told = capsys.readouterr()
    return left.value.code, told.out, told.err


@pytest.fixture
def files(tmp_path):
    following.recording().save(tmp_path / "log.csv")
    (tmp_path / "exciter.yaml").write_text(CONFIG)
    return tmp_path


def test_a_pipe_is_answered_while_it_is_open_and_ctrl_c_ends_it_well(files):
    """The whole command in a process of its own: JSON while rows come, then files, with exit code 0."""
    lines = (files / "log.csv").read_text().splitlines(keepends=True)
    words = ["gautier-khalil", "--config", files / "exciter.yaml", "-o", files / "out", "--watch", "Fv*", "--json"]
    command = [sys.executable, "-m", "exciter", "follow", *map(str, words)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True, env=os.environ) as process:
        process.stdin.write("".join(lines[:2500]))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(4)]  # while the pipe is open
        process.stdin.write("".join(lines[2500:3500]))
        process.stdin.flush()
        answers.append(json.loads(process.stdout.readline()))
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        err = process.stderr.read()
        assert process.wait(60) == 0, err
    answers += [json.loads(line) for line in out.splitlines()]
    head, *states = answers
    assert head["following"]["robot"] == "gautier-khalil"
    assert 0.0 < head["following"]["latency"] < 3.0
    assert set(states[0]["parameters"]) == {"Fv1", "Fv2", "Fv3"}
    assert [state["time"] for state in states] == sorted(state["time"] for state in states)
    assert states[-1]["alarms"] == []
    value = states[-1]["parameters"]["Fv2"]
    assert abs(value["value"] - 1.1) < 5 * value["std"]
    result = json.loads((files / "out" / "followed.json").read_text())
    assert result["time"][1] == states[-1]["time"]
    assert {path.name for path in (files / "out").iterdir()} == {
        *("followed.json", "followed.npz", "history.csv", "report.html")
    }


def test_a_log_that_is_there_gives_lines_for_people_and_a_start_for_the_next(files, capsys):
    found = following.identified().save(files / "found")
    code, out, err = run(
        capsys, "gautier-khalil", files / "log.csv", "--start", found, "--wait", 0.1, "-o", files / "o"
    )
    assert code == 0, err
    assert "following 24 parameters of gautier-khalil from the identification" in out
    assert "s behind its sample" in out
    assert " s: Fv1 " in out
    assert "not determined yet" not in out
    assert "no alarm" in out
    code, out, _ = run(
        capsys,
        "gautier-khalil",
        files / "log.csv",
        "--start",
        files / "o",
        "--wait",
        0.1,
        "--watch",
        "ZZ*",
        "XX*",
        "--json",
    )
    assert code == 0
    assert all(name.startswith(("ZZ", "XX")) for name in json.loads(out.splitlines()[-1])["parameters"])


def test_an_alarm_is_told_when_it_begins_and_when_it_ends(files, capsys):
    log = following.recording(20.0, 7)
    torque = np.array(log.torque)
    torque[2000:2300, 1] += 8.0
    ex.Recording.of(log.time, log.q, torque, joints=log.joints).save(files / "hit.csv")
    found = following.identified().save(files / "found")
    words = ("gautier-khalil", files / "hit.csv", "--start", found, "--wait", 0.1, "-o", files / "out")
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "ALARM joint_2: residual" in out
    assert "over: joint_2" in out
    kept = Followed.open(files / "out")
    assert {one.joint for one in kept.alarms} >= {"joint_2"}
    assert "alarm" in (files / "out" / "report.html").read_text()


def test_bad_rows_are_told_and_too_many_end_it_with_what_was_reached(files, capsys):
    lines = (files / "log.csv").read_text().splitlines()
    lines[50], lines[60] = "a,b", lines[60].replace(",", ";")
    (files / "bad.csv").write_text("\n".join(lines))
    words = (
        "gautier-khalil",
        files / "bad.csv",
        "--config",
        files / "exciter.yaml",
        "--wait",
        0.1,
        "-o",
        files / "out",
    )
    code, _, err = run(capsys, *words)
    assert code == 0
    assert "line 51 is left out" in err
    assert "line 61 is left out" in err
    lines[3500:] = ["x"] * 20
    (files / "bad.csv").write_text("\n".join(lines))
    code, _, err = run(capsys, *words, "--bad", 5)
    assert code == 2
    assert err.splitlines()[-1].endswith("6 lines were bad, 5 are left out at most")
    assert json.loads((files / "out" / "followed.json").read_text())["time"][1] < 18.0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--watch", "Q*"), "--watch Q* fits no parameter"),
        (("--start", "nowhere"), "neither result.json nor followed.json"),
        (("--wait", "never"), "not a positive number of seconds"),
        (("--recording", "none.yaml"), "none.yaml"),
    ],
)
def test_wrong_words_are_refused_in_a_line(files, capsys, words, told):
    code, out, err = run(capsys, "gautier-khalil", files / "log.csv", "--config", files / "exciter.yaml", *words)
    assert code == 2
    assert out == ""
    assert told in err
    assert len(err.splitlines()) == 1


def test_settings_of_the_file_are_checked(files, capsys):
    (files / "exciter.yaml").write_text("follow: {drift: {friction: -1}, alarm: {window: 0}}")
    code, _, err = run(capsys, "gautier-khalil", files / "log.csv", "--config", files / "exciter.yaml")
    assert code == 2
    assert "follow: drift: friction is -1" in err
