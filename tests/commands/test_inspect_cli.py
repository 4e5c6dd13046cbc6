"""``exciter inspect``: exit codes, tables, plain data, and the repaired log."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml

from exciter.cli import main
from exciter.excitation.files.row_files import MotionSamples, csv_text
from exciter.experiment.recording import read_recording, write_recording
from exciter.robot import embedded_robots as embedded
from support.quality_logs import changed, clean, fourier


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code or 0


@pytest.fixture(scope="module")
def panda():
    return clean("panda", 3, seconds=12.0)[0]


@pytest.fixture
def log(panda, tmp_path):
    write_recording(panda, tmp_path / "log.csv")
    return tmp_path / "log.csv"


def test_a_clean_log(log, capsys):
    assert run("inspect", "panda", log) == 0
    text = capsys.readouterr().out
    assert "usable: nothing suspicious was found" in text
    assert "nominally 250 Hz" in text
    assert "not checked: no planned motion" in text


def test_a_problem_means_exit_1_and_comes_first(panda, tmp_path, capsys):
    faulty = changed(panda, "torque", 1, -panda.torque[:, 1])[np.arange(len(panda)) % 30 != 7]
    write_recording(faulty, tmp_path / "log.npz")
    assert run("inspect", "panda", tmp_path / "log.npz") == 1
    text = capsys.readouterr().out
    assert "not usable as it is: sign (joint_2)" in text
    assert text.index("problems") < text.index("warnings") < text.index("notes")
    assert text.index("opposite sign") < text.index("are missing")


def test_plain_data(panda, log, tmp_path, capsys):
    write_recording(panda[:1500], tmp_path / "half.npz")
    assert run("inspect", "panda", log, tmp_path / "half.npz", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["usable"] is True
    assert [entry["samples"] for entry in data["logs"]] == [3000, 1500]
    rate = next(f for f in data["logs"][0]["findings"] if f["what"] == "rate")
    assert rate["severity"] == "note"
    assert rate["numbers"]["rate"] == pytest.approx(250)


def test_compared_with_the_planned_motion(panda, log, tmp_path, capsys):
    robot = embedded.robot("panda")
    plan = fourier(robot, panda.time, 3)
    path = tmp_path / "trajectory.csv"
    path.write_text(csv_text(MotionSamples(plan.time, plan.q, plan.qd, plan.qdd), robot.joint_names))
    assert run("inspect", "panda", log, "--planned", path, "--json") == 0
    findings = json.loads(capsys.readouterr().out)["logs"][0]["findings"]
    planned = next(f for f in findings if f["what"] == "planned motion")
    assert planned["numbers"]["shift"] == pytest.approx(0, abs=1e-4)


def described(panda, folder, repair):
    """A foreign log of the recording, described with a repair section."""
    folder.mkdir(exist_ok=True)
    np.savez(folder / "raw.npz", t=panda.time, q=np.degrees(panda.q), tau=panda.torque)
    yaml_data = {
        "file": "raw.npz",
        "joints": list(panda.joints),
        "time": {"column": "t"},
        "position": {"columns": "q", "unit": "deg"},
        "torque": {"columns": "tau", "unit": "N·m"},
        "repair": repair,
    }
    (folder / "recording.yaml").write_text(yaml.safe_dump(yaml_data, allow_unicode=True), encoding="utf-8")
    return folder / "recording.yaml"


def test_the_repaired_log_is_written_and_reads_back(panda, tmp_path, capsys):
    q = panda.q[:, 6].copy()
    q[[700, 2100]] += 0.2
    faulty = changed(panda, "q", 6, q)
    path = described(faulty, tmp_path, {"spikes": True})
    assert run("inspect", "panda", path, "-o", tmp_path / "clean.csv") == 0
    text = capsys.readouterr().out
    assert "repair: replaced 2 isolated outliers of q (joint_7)" in text
    assert "usable: nothing suspicious was found" in text
    assert np.abs(read_recording(tmp_path / "clean.csv").q - panda.q).max() < 2e-4
    assert run("inspect", "panda", tmp_path / "clean.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["logs"][0]["verdict"].startswith("usable: nothing")


def test_what_cannot_be_repaired_is_one_line_and_writes_nothing(panda, tmp_path, capsys):
    q = panda.q[:, 6].copy()
    q[1000:1200] = np.nan
    path = described(changed(panda, "q", 6, q), tmp_path, {})
    assert run("inspect", "panda", path, "-o", tmp_path / "clean.csv") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot be repaired: q of joint_7 holds no numbers" in error
    assert not (tmp_path / "clean.csv").exists()


@pytest.mark.parametrize(
    ("repair", "words"), [({"spike": True}, "unknown key 'spike'"), ({"interpolate": "x"}, "interpolate is 'x'")]
)
def test_a_wrong_repair_section(panda, tmp_path, capsys, repair, words):
    assert run("inspect", "panda", described(panda[:200], tmp_path, repair)) == 2
    assert words in capsys.readouterr().err


def test_bad_input_is_one_line_and_exit_2(panda, log, tmp_path, capsys):
    write_recording(panda, tmp_path / "other.npz")
    for arguments, words in (
        (("inspect", "panda", tmp_path / "none.csv"), "there is no file"),
        (("inspect", "panda", log, tmp_path / "other.npz", "-o", tmp_path / "x.csv"), "-o writes one recording"),
        (("inspect", "ur10e", log), "no joint"),
        (("inspect", "panda", log, "--planned", tmp_path / "none.csv"), "none.csv"),
        (("inspect", "panda", log, "-o", tmp_path / "clean.mat"), ".csv or .npz"),
        (("inspect", "panda"), "LOG"),
    ):
        assert run(*arguments) == 2, arguments
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert words in error


def test_the_repaired_log_never_replaces_what_it_is_read_from(panda, log, tmp_path, capsys):
    yaml_path = described(panda, tmp_path, {})
    other = described(panda, (tmp_path / "sub"), {})
    (tmp_path / "log.yaml").write_text("file: log.csv\nformat: exciter\n", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(log)
    for given, output in (
        (log, log),
        (log, tmp_path / "sub" / ".." / "log.csv"),
        (log, tmp_path / "link.csv"),
        (tmp_path / "log.yaml", log),
        (tmp_path / "log.yaml", tmp_path / "log.CSV"),
        (yaml_path, tmp_path / "raw.npz"),
        (yaml_path, tmp_path / "recording.csv"),  # whose companion is recording.yaml
        (other, tmp_path / "sub" / "raw.npz"),
    ):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
        assert run("inspect", "panda", given, "-o", output) == 2, (given, output)
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "would write over" in error
        assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert run("inspect", "panda", yaml_path, "-o", tmp_path / "recording.npz") == 0


@pytest.mark.parametrize("asked", [{}, {"contradicting": True}])
def test_contradicting_duplicates_are_judged_as_they_are_repaired(panda, tmp_path, capsys, asked):
    twice = panda[np.sort(np.concatenate([np.arange(len(panda)), [500]]))]
    q = twice.q.copy()
    q[501] += 1e-3
    path = described(replace(twice, q=q), tmp_path, asked)
    assert run("inspect", "panda", path) == 1
    assert "contradicting: true" in " ".join(capsys.readouterr().out.split())
    assert run("inspect", "panda", path, "-o", tmp_path / "clean.npz") == (0 if asked else 2)


def test_the_log_that_fails_is_named(panda, tmp_path, capsys):
    write_recording(panda[:1000], tmp_path / "good.npz")
    still = tmp_path / "still.npz"
    np.savez(still, time=np.ones(100), q=np.zeros((100, 7)), joints=np.array(panda.joints))
    assert run("inspect", "panda", tmp_path / "good.npz", still) == 2
    assert "still.npz" in capsys.readouterr().err
