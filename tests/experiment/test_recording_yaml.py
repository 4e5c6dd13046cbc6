"""recording.yaml: every key against a computation of its own, the real sets against their README, and bad files."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exciter.errors import RecordingError
from exciter.experiment.quality import check
from exciter.experiment.recording import (
    About,
    AnalogFilter,
    Payload,
    Recording,
    SourceFile,
    open_recording,
    read_recording,
)
from exciter.experiment.recording.base_columns import BASE_SECTIONS
from exciter.experiment.recording.description import (
    LOG_FORMATS,
    NATIVE_NPZ,
    PROGRAM_FORMATS,
    DriveSettings,
    RecordingSettings,
    preset,
)
from exciter.experiment.recording.recording import Repairs
from exciter.experiment.recording.signal_columns import LARGEST_SI, UNITS, times
from exciter.robot import load
from exciter.robot.stated_gravity import ExactGravity
from exciter.settings import fill, keys_of, written
from support.bags import bag
from support.lerobot import dataset, episode_table
from support.paths import ROOT, SHARED_DATA
from support.quality_logs import clean
from support.real_data import real_recording, require_data
from support.settings_conformance import conforms
from support.torch_files import save

pytestmark = pytest.mark.slow

KEYS = keys_of(RecordingSettings)
REAL = ROOT / "examples" / "real"
TIME = np.array([0.0, 0.1, 0.25, 0.3, 0.9])
RAW = np.random.default_rng(3).uniform(-2.0, 2.0, (4, 5, 2))  # position, velocity, torque, current
HEADER = ["t", *(f"{name}{j}" for name in "qvmi" for j in (1, 2))]


def write_log(folder: Path, delimiter: str = ",", head: bool = True) -> None:
    table = np.column_stack([TIME, *RAW])
    header = delimiter.join(HEADER) if head else ""
    np.savetxt(folder / "log.csv", table, fmt="%.17g", delimiter=delimiter, header=header, comments="")


def basic(**changes) -> dict:
    """A small log of two joints, described; None takes a key away."""
    description = {
        "file": "log.csv",
        "joints": ["a", "b"],
        "time": {"column": "t", "unit": "s"},
        "position": {"columns": ["q1", "q2"], "unit": "rad"},
        "velocity": {"columns": "v", "unit": "rad/s"},
        "torque": {"columns": [5, 6], "unit": "N·m"},
        "current": {"columns": ["i1", "i2"], "unit": "A"},
    }
    return {key: value for key, value in {**description, **changes}.items() if value is not None}


def described(folder: Path, **changes) -> Recording:
    if not (folder / "log.csv").exists():
        write_log(folder)
    (folder / "recording.yaml").write_text(yaml.safe_dump(basic(**changes), allow_unicode=True), encoding="utf-8")
    return read_recording(folder / "recording.yaml")


def close(actual, desired) -> None:
    np.testing.assert_allclose(actual, desired, rtol=1e-12, atol=1e-12)


# -- keys --------------------------------------------------------------------------------------------------------------


def test_columns_by_name_number_and_group(tmp_path):
    recording = described(tmp_path)
    assert recording.joints == ("a", "b")
    for name, values in zip(("q", "qd", "torque", "current"), RAW, strict=True):
        np.testing.assert_array_equal(getattr(recording, name), values)
    np.testing.assert_array_equal(recording.time, TIME)
    crossed = described(tmp_path, position={"columns": ["q2", "q1"], "unit": "rad"})
    np.testing.assert_array_equal(crossed.q, RAW[0][:, ::-1])
    assert described(tmp_path, velocity=None, torque=None, current=None).signals == ("q",)


@pytest.mark.parametrize(
    ("key", "unit", "factor"),
    [
        ("position", "deg", np.pi / 180),
        ("position", "rev", 2 * np.pi),
        ("velocity", "deg/s", np.pi / 180),
        ("velocity", "rev/s", 2 * np.pi),
        ("velocity", "rpm", np.pi / 30),
        ("torque", "mN·m", 1e-3),
        ("torque", "kN·m", 1e3),
        ("torque", "Nm", 1.0),
        ("torque", "N*m", 1.0),
        ("current", "mA", 1e-3),
    ],
)
def test_units(tmp_path, key, unit, factor):
    field = {"position": "q", "velocity": "qd"}.get(key, key)
    recording, plain = described(tmp_path, **{key: {**basic()[key], "unit": unit}}), described(tmp_path)
    close(getattr(recording, field), factor * getattr(plain, field))


def test_units_and_factors_per_joint(tmp_path):
    recording = described(
        tmp_path,
        position={"columns": "q", "unit": ["deg", "mm"], "factor": [2, -3]},
        velocity={"columns": "v", "unit": ["rpm", "m/s"]},
        torque={"columns": "m", "unit": ["N·m", "N"], "factor": 10},
    )
    close(recording.q, RAW[0] * [2 * np.pi / 180, -3e-3])
    close(recording.qd, RAW[1] * [np.pi / 30, 1.0])
    close(recording.torque, 10 * RAW[2])


@pytest.mark.parametrize(("unit", "factor"), [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9)])
def test_time_units_and_start(tmp_path, unit, factor):
    close(described(tmp_path, time={"column": 0, "unit": unit}).time, TIME * factor)
    shifted = described(tmp_path, time={"column": "t", "unit": unit, "start": 5})
    np.testing.assert_allclose(shifted.time, TIME * factor + 5.0, rtol=1e-15)


def test_start_keeps_small_steps_of_large_stamps(tmp_path):
    """Stamps in nanoseconds since 1970 have steps of 256 ns as floats; nothing more is lost."""
    stamps = 1_700_000_000_000_000_000 + 1_000_000 * np.arange(4)
    rows = "\n".join(f"{stamp},0,0" for stamp in stamps)
    (tmp_path / "log.csv").write_text(f"t,q1,q2\n{rows}\n")
    recording = described(
        tmp_path, time={"column": "t", "unit": "ns", "start": 0}, velocity=None, torque=None, current=None
    )
    np.testing.assert_allclose(recording.time, 1e-3 * np.arange(4), atol=3e-7)


def test_rate_instead_of_a_column(tmp_path):
    close(described(tmp_path, time={"rate": 250}).time, np.arange(5) * 0.004)
    close(described(tmp_path, time={"rate": 250, "start": -1}).time, np.arange(5) * 0.004 - 1)


def test_windows_keep_both_ends(tmp_path):
    recording = described(tmp_path, windows=[[-1, 0.1], [0.3, 0.5]])
    np.testing.assert_array_equal(recording.time, [0.0, 0.1, 0.3])
    np.testing.assert_array_equal(recording.torque, RAW[2][[0, 1, 3]])


@pytest.mark.parametrize(
    ("windows", "rows"),
    [
        ([{"seconds": [-1, 0.1]}], [0, 1]),
        ([{"rows": [1, 3]}], [1, 2]),
        ([{"rows": [3, 99]}], [3, 4]),
        ([{"percent": [0, 40]}], [0, 1]),
        ([{"percent": [40, 100]}], [2, 3, 4]),
        ([{"percent": [0, 20]}, [0.3, 0.4], {"rows": [4, 5]}, {"percent": [90, 100]}], [0, 3, 4]),
    ],
)
def test_windows_in_rows_and_per_cent(tmp_path, windows, rows):
    np.testing.assert_array_equal(described(tmp_path, windows=windows).torque, RAW[2][rows])
    file = open_recording(tmp_path / "recording.yaml")
    np.testing.assert_array_equal(np.concatenate([piece.torque for piece in file.chunks(2)]), RAW[2][rows])
    assert fill(RecordingSettings, written(file.given), "again").windows == file.given.windows


def delayed_log(folder: Path, delay: float, jitter: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Times and true torques of a log whose torque is written ``delay`` [s] late."""
    time = 0.001 * np.arange(3000) + jitter * np.random.default_rng(3).uniform(-1.0, 1.0, 3000)
    torque = lambda t: np.column_stack([np.sin(20 * t), np.cos(15 * t)])  # noqa: E731
    table = np.column_stack([time, np.sin(time), np.cos(time), torque(time - delay)])
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,q1,q2,m1,m2", comments="", fmt="%.17g")
    return time, torque(time)


@pytest.mark.parametrize("delay", [0.004, 0.00237, -0.0031])
@pytest.mark.parametrize("rows", [7, 500, 5000])
def test_a_delay_is_undone(tmp_path, delay, rows):
    """The torque of the log comes late by ``delay``; behind it, each stands beside its own position."""
    time, torque = delayed_log(tmp_path, delay, 2e-4)
    shared = {"velocity": None, "current": None, "torque": {"columns": "m", "unit": "N·m"}}
    late = described(tmp_path, **shared)
    assert np.abs(late.torque - torque).max() > 0.02
    whole = described(tmp_path, **shared, delay={"torque": delay})
    kept = np.isin(time, whole.time)
    assert len(time) - len(whole) == pytest.approx(abs(delay) / 0.001, abs=2)
    np.testing.assert_array_equal(whole.q[:, 0], np.sin(time[kept]))
    np.testing.assert_allclose(whole.torque, torque[kept], atol=1e-6)
    file = open_recording(tmp_path / "recording.yaml")
    pieces = list(file.chunks(rows))
    assert max(map(len, pieces)) <= rows
    np.testing.assert_array_equal(Recording.join(pieces).torque, whole.torque)
    assert [note.subject for note in file.notes] == ["delay"]
    assert fill(RecordingSettings, written(file.given), "again", joints=("a", "b")).delay == file.given.delay


def test_a_delay_of_one_joint_of_whole_samples_is_a_shift(tmp_path):
    """Bits and missing values are kept; a gap, and what is logged twice, bridges nothing."""
    delayed_log(tmp_path, 0.0)
    lines = (tmp_path / "log.csv").read_text().splitlines()
    cells = lines[101].split(",")
    lines[101] = ",".join([*cells[:3], "nan", "nan"])  # sample 100
    gone = [*lines[:1001], *lines[1201:1501], lines[1500], *lines[1501:]]  # 0.2 s lost, a sample twice
    (tmp_path / "log.csv").write_text("\n".join(gone))
    shared = {"velocity": None, "current": None, "torque": {"columns": "m", "unit": "N·m"}}
    plain = described(tmp_path, **shared)
    moved = described(tmp_path, **shared, delay={"torque": {"a": 0.002, "b": 0}})
    np.testing.assert_array_equal(moved.torque[:, 1], plain.torque[: len(moved), 1])
    at = {round(1000 * t): x for t, x in zip(plain.time, plain.torque[:, 0], strict=True)}
    expected = np.array([at.get(round(1000 * t) + 2, np.nan) for t in moved.time])
    np.testing.assert_array_equal(moved.torque[:, 0], expected)
    assert np.isnan(expected).sum() == 3  # the missing one, and two before the gap
    half = described(tmp_path, **shared, delay={"torque": 0.0005}).torque[:, 0]
    assert np.isnan(half).sum() == 4 + 1  # where the cubic meets the missing one; before the gap
    assert np.nanmax(np.abs(half)) < 1.001


def test_gravity_about_and_exactly(tmp_path):
    vector = (0.0, 1.0, -9.81)
    for said, exact in ((list(vector), False), ({"about": list(vector)}, False), ({"exactly": list(vector)}, True)):
        recording = described(tmp_path, gravity=said)
        assert recording.about.gravity == vector
        for name in ("copy.npz", "copy.csv"):
            back = read_recording(recording.save(tmp_path / name)).about.gravity
            assert back == vector
            assert [isinstance(one, ExactGravity) for one in (recording.about.gravity, back)] == [exact, exact]
        assert written(recording.about)["gravity"] == ({"exactly": list(vector)} if exact else list(vector))


@pytest.mark.parametrize("section", ["torque", "current"])
def test_a_torque_that_is_unusable(tmp_path, section):
    """It is zero, torque and current alike, whatever the log has; written back, it is still called so."""
    recording = described(tmp_path, **{section: {**basic()[section], "unusable": "b"}})
    assert (recording.about.unusable, recording.silent) == (("b",), (1,))
    for name, values in (("torque", RAW[2]), ("current", RAW[3])):
        np.testing.assert_array_equal(getattr(recording, name), values * [1, 0])
    np.testing.assert_array_equal(recording.q, RAW[0])
    for name in ("copy.npz", "copy.csv"):
        back = read_recording(recording.save(tmp_path / name))
        assert back.about == recording.about
        np.testing.assert_array_equal(back.torque, recording.torque)
    assert "torque:\n  unusable: [b]\n" in (tmp_path / "copy.yaml").read_text()
    again = fill(RecordingSettings, written(open_recording(tmp_path / "recording.yaml").given), "again")
    assert getattr(again, section).unusable == ("b",)


def test_unusable_torques_follow_their_joints():
    """By name, also where a robot has fewer joints, in another order, or names for joints that had none."""
    robot = load("gautier-khalil")
    rows = np.arange(20.0).reshape(5, 4)
    wide = Recording(("x", *robot.joint_names[::-1]), TIME, rows, torque=rows, about=About(unusable=("x", "joint_3")))
    arranged = wide.arranged(robot)
    assert (arranged.about.unusable, arranged.silent) == (("joint_3",), (2,))
    unnamed = Recording.of(TIME, rows[:, :3], rows[:, :3], about=About(unusable=("joint 2",)))
    assert unnamed.arranged(robot).about.unusable == ("joint_2",)
    np.testing.assert_array_equal(unnamed.arranged(robot).torque[:, 1], 0.0)
    with pytest.raises(RecordingError, match="torque: unusable: unknown joint 'y'"):
        Recording.of(TIME, rows, rows, about=About(unusable=("y",)))


def test_the_check_of_a_log_sees_the_delay_that_is_left(tmp_path):
    """The torque comes 6 ms late; where that is said, what is found is as much less, whatever friction adds to it."""
    recording, robot = clean("panda", 3, seconds=12.0, delay=0.006)
    recording.save(tmp_path / "log.csv")
    found = []
    for delay in ({}, {"delay": {"torque": 0.006}}):
        (tmp_path / "said.yaml").write_text(yaml.safe_dump({"file": "log.csv", "format": "exciter", **delay}))
        quality = check(open_recording(tmp_path / "said.yaml").chunks(1000), robot)
        (one,) = (finding for finding in quality.findings if finding.subject == "delay")
        found.append(one.numbers["delay"])
    assert found[0] - found[1] == pytest.approx(0.006, abs=3e-4)


def test_drive_signs_and_offset(tmp_path):
    """By hand for a wrist whose second motor also turns with the first joint."""
    ratios = {"position": [[10, 0], [5, -20]], "torque": [[10, 5], [0, -20]]}
    recording = described(
        tmp_path, drive=ratios, signs=[1, -1], offset={"values": [90, -10], "unit": "deg"}, current=None
    )
    for field, motor in (("q", RAW[0]), ("qd", RAW[1])):
        first = motor[:, 0] / 10
        second = (motor[:, 1] - 5 * first) / -20
        zero = np.radians([90, -10]) if field == "q" else np.zeros(2)
        close(getattr(recording, field), np.column_stack([first, -second]) + zero)
    close(recording.torque, np.column_stack([10 * RAW[2][:, 0] + 5 * RAW[2][:, 1], 20 * RAW[2][:, 1]]))
    power = lambda qd, torque: (qd * torque).sum(axis=1)  # noqa: E731
    close(power(recording.qd, recording.torque), power(RAW[1], RAW[2]))
    assert not open_recording(tmp_path / "recording.yaml").notes
    lost = described(tmp_path, drive={"position": [10, 20], "torque": [10, 19]})
    close(lost.q, RAW[0] / [10, 20])
    (said,) = open_recording(tmp_path / "recording.yaml").notes
    assert "not the transpose" in said.text


def test_commands_go_through_gears_signs_and_offset_of_positions(tmp_path):
    ratios = {"position": [[10, 0], [5, -20]]}
    said = {"drive": ratios, "signs": [1, -1], "offset": {"values": [90, -10], "unit": "deg"}, "current": None}
    command = {"columns": "v", "unit": "deg", "factor": [1, 3]}
    recording = described(tmp_path, **said, command=command, velocity=None, torque=None)
    as_position = described(tmp_path, **said, position=command, velocity=None, torque=None)
    close(recording.command, as_position.q)
    assert recording.everything == ("q", "command")
    with pytest.raises(RecordingError, match=r"joint 'a' turns by its .* slides by its com"):
        described(tmp_path, command={"columns": "v", "unit": "m"})
    with pytest.raises(RecordingError, match="command: unit is missing; allowed are rad, deg, rev, m, mm"):
        described(tmp_path, command={"columns": "v"})


def test_a_delayed_command_keeps_its_steps(tmp_path):
    """A quarter of a sample: on the line between two, never beyond them; others of the same log stay."""
    time, steps = np.arange(40) / 100, np.repeat([0.0, 1.0, 1.0, 0.0], 10)
    np.savetxt(tmp_path / "log.csv", np.column_stack([time, time, steps]), delimiter=",", header="t,q,c", comments="")
    said = {"file": "log.csv", "joints": ["a"], "time": {"column": "t"}, "position": {"columns": ["q"], "unit": "rad"}}
    said |= {"command": {"columns": ["c"], "unit": "rad"}, "delay": {"command": 0.0025}}
    (tmp_path / "recording.yaml").write_text(yaml.safe_dump(said))
    recording = read_recording(tmp_path / "recording.yaml")
    close(recording.command[:, 0], np.interp(recording.time + 0.0025, time, steps))
    assert (recording.command.min(), recording.command.max()) == (0.0, 1.0)
    close(recording.q[:, 0], recording.time)


def test_motors_turn_further_than_joints(tmp_path):
    """What is implausible is judged on the joint side."""
    far = {"columns": "q", "unit": "rad", "factor": 1e4}
    close(described(tmp_path, position=far, drive={"position": [250, 250]}).q, 40 * RAW[0])
    with pytest.raises(RecordingError, match="no robot reaches that"):
        described(tmp_path, position=far)


def test_signs_turn_currents_so_that_gains_hold(tmp_path):
    recording = described(
        tmp_path,
        signs=[-1, 1],
        torque=None,
        current={"columns": "i", "unit": "mA", "gains": [30, 40]},
        drive={"position": [2, 2], "torque": [7, 7]},
    )
    close(recording.needed_torque(), RAW[3] * [-30e-3, 40e-3])


def test_a_missing_sample_of_one_motor_stays_one():
    """0·NaN is NaN: a plain product with the matrix would lose every joint."""
    rows = np.array([[1.0, np.nan, 3.0]])
    matrix = np.array([[2.0, 0, 0], [0, 1, 0], [0, 1, 4]])
    np.testing.assert_array_equal(times(matrix, rows), [[2.0, np.nan, np.nan]])
    assert DriveSettings().keeps_power


def test_what_is_known_beside_the_samples(tmp_path):
    recording = described(
        tmp_path,
        gravity=[0, 1, -9.81],
        payload={"frame": "flange", "mass": 1.5, "centre": [0, 0, 0.1], "inertia": [1, 0, 0, 2, 0, 3]},
        period=10,
        settled=20,
        filter={"order": 4, "cutoff": 30},
        current={"columns": "i", "unit": "A", "gains": {"b": 2, "a": 1}},
        notes={"robot": "R2", "year": 1999},
    )
    about = recording.about
    assert (about.period, about.settled, about.gravity, about.gains) == (10.0, 20.0, (0.0, 1.0, -9.81), (1.0, 2.0))
    assert about.payload == Payload("flange", 1.5, (0.0, 0.0, 0.1), (1, 0, 0, 2, 0, 3))
    assert about.filter == AnalogFilter(4, 30.0)
    assert dict(about.notes) == {"robot": "R2", "year": "1999"}
    digest = hashlib.sha256((tmp_path / "log.csv").read_bytes()).hexdigest()
    assert about.sources == (SourceFile("log.csv", digest),)


def test_repair_is_read_with_the_rest(tmp_path):
    described(tmp_path, repair={"duplicates": False, "longest_gap": 0.02})
    assert open_recording(tmp_path / "recording.yaml").repair == Repairs(duplicates=False, longest_gap=0.02)
    with pytest.raises(RecordingError, match=r"recording.yaml: repair: unknown key 'gaps'; valid names: duplicates"):
        described(tmp_path, repair={"gaps": {"longest": 0.02}})


def test_delimiter_header_comment_skip(tmp_path):
    write_log(tmp_path, ";", head=False)
    text = (tmp_path / "log.csv").read_text().splitlines()
    (tmp_path / "log.csv").write_text("\n".join(["made by hand", "at noon", *text[:2], "! a remark", *text[2:]]))
    recording = described(
        tmp_path,
        delimiter=";",
        header=False,
        comment="!",
        skip=2,
        time={"column": 0},
        position={"columns": [1, 2], "unit": "rad"},
        velocity=None,
        current=None,
    )
    np.testing.assert_array_equal(recording.q, RAW[0])
    np.testing.assert_array_equal(recording.torque, RAW[2])


def test_several_files_and_interleaved_numbers(tmp_path):
    np.savetxt(tmp_path / "q.txt", RAW[0].ravel(), fmt="%.17g")
    np.savetxt(tmp_path / "m.txt", RAW[2], fmt="%.17g")
    np.savetxt(tmp_path / "t.txt", TIME, fmt="%.17g")
    changes = {
        "file": None,
        "time": {"file": "t.txt", "column": 0},
        "position": {"file": "q.txt", "unit": "rad", "interleaved": True},
        "torque": {"file": "m.txt", "unit": "N·m"},
        "velocity": None,
        "current": None,
    }
    recording = described(tmp_path, **changes)
    np.testing.assert_array_equal(recording.q, RAW[0])
    np.testing.assert_array_equal(recording.torque, RAW[2])
    assert [source.name for source in recording.about.sources] == ["t.txt", "q.txt", "m.txt"]
    np.savetxt(tmp_path / "m.txt", RAW[2][:3], fmt="%.17g")
    with pytest.raises(RecordingError, match=r"t.txt has 5, .*q.txt has 5, .*m.txt has 3: is one of them cut short"):
        described(tmp_path, **changes)
    file = open_recording(tmp_path / "recording.yaml")
    with pytest.raises(RecordingError, match=r"t.txt has 5, .*m.txt has 3"):
        list(file.chunks(1))


def test_npz_and_mat(tmp_path):
    np.savez(tmp_path / "log.npz", time=TIME, pos=RAW[0], tau=RAW[2])
    scipy.io.savemat(tmp_path / "log.mat", {"run": {"time": TIME, "pos": RAW[0].T, "tau": RAW[2].T}})
    for file, start in (("log.npz", ""), ("log.mat", "run.")):
        recording = described(
            tmp_path,
            file=file,
            time={"column": f"{start}time"},
            position={"columns": f"{start}pos", "unit": "rad"},
            torque={"columns": [f"{start}tau[1]", f"{start}tau[0]"], "unit": "N·m"},
            velocity=None,
            current=None,
        )
        np.testing.assert_array_equal(recording.q, RAW[0])
        np.testing.assert_array_equal(recording.torque, RAW[2][:, ::-1])


def test_where_files_are_looked_for(tmp_path, monkeypatch):
    own, data, other = (tmp_path / name for name in ("own", "data", "other"))
    for folder in (own, data, other):
        folder.mkdir()
    (own / "recording.yaml").write_text(yaml.safe_dump(basic()))
    with pytest.raises(RecordingError, match=r"no file 'log.csv' in .*own.*EXCITER_DATA"):
        open_recording(own / "recording.yaml")
    write_log(other)
    monkeypatch.setenv("EXCITER_DATA", str(other))
    assert open_recording(own / "recording.yaml").files == (("log.csv", other / "log.csv"),)
    write_log(own)
    assert open_recording(own / "recording.yaml").files[0][1] == own / "log.csv"
    write_log(data)
    assert open_recording(own / "recording.yaml", folder=data).files[0][1] == data / "log.csv"


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 100])
def test_pieces_do_not_depend_on_their_size(tmp_path, rows):
    whole = described(
        tmp_path,
        drive={"position": [[10, 0], [5, -20]], "torque": [[3, 1], [1, 4]]},
        time={"column": "t", "unit": "ms", "start": 1},
        windows=[[1.0, 1.00026], [1.0005, 2]],
        offset={"values": [1, 2], "unit": "rad"},
    )
    pieces = list(open_recording(tmp_path / "recording.yaml").chunks(rows))
    assert all(0 < len(piece) <= rows for piece in pieces)
    joined = Recording.join(pieces)
    for name in ("time", "q", "qd", "torque", "current"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert len(whole) == 4


def test_time_running_backwards_between_pieces(tmp_path):
    (tmp_path / "log.csv").write_text("t,q1,q2\n0,1,1\n1,1,1\n0.5,1,1\n")
    for rows in (1, 2, 3):
        with pytest.raises(RecordingError, match=r"backwards at sample 2 \(1 s, then 0.5 s\)"):
            described(tmp_path, velocity=None, torque=None, current=None)
        with pytest.raises(RecordingError, match=r"backwards at sample 2 \(1 s, then 0.5 s\)"):
            list(open_recording(tmp_path / "recording.yaml").chunks(rows))


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_a_block_logged_twice_is_named(tmp_path, rows):
    """By lines of the text, which starts with a remark; a sample that is missing in both is the same."""
    lines = [f"{k},{k * k},{k if k != 5 else 'nan'}" for k in range(9)]
    twice = ["# of today", "t,q1,q2", *lines[:7], *lines[3:7], *lines[7:]]
    (tmp_path / "log.csv").write_text("\n".join(twice))
    described_only = {"velocity": None, "torque": None, "current": None}
    with pytest.raises(RecordingError) as told:
        described(tmp_path, **described_only)
    assert str(told.value) == (
        f"{tmp_path / 'recording.yaml'}: time runs backwards at sample 7 (6 s, then 3 s), line 10 of log.csv; "
        "lines 10 … 13 repeat lines 6 … 9: a block was logged twice; delete one of the two"
    )
    with pytest.raises(RecordingError, match=re.escape("lines 10 … 13 repeat lines 6 … 9: a block")):
        list(open_recording(tmp_path / "recording.yaml").chunks(rows))
    other = [*lines[:7], *(line.replace("9", "8") for line in lines[3:7])]
    (tmp_path / "log.csv").write_text("\n".join(["t,q1,q2", *other]))
    with pytest.raises(RecordingError, match=r"line 9 of log.csv; is it the right column, or are these several"):
        described(tmp_path, **described_only)
    (tmp_path / "log.csv").write_text("\n".join([*twice, "9,what,1"]))  # another mistake further on is not this one
    with pytest.raises(RecordingError, match="backwards at sample 7"):
        list(open_recording(tmp_path / "recording.yaml").chunks(1))


def test_a_block_logged_twice_in_arrays(tmp_path):
    time = np.array([0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0])
    np.savez(tmp_path / "log.npz", t=time, q=np.column_stack([time, -time]).T)
    changes = {"file": "log.npz", "transposed": True, "position": {"columns": "q", "unit": "rad"}}
    with pytest.raises(
        RecordingError, match=r"backwards at sample 4 \(3 s, then 1 s\); samples 4 … 6 repeat samples 1 … 3"
    ):
        described(tmp_path, **changes, velocity=None, torque=None, current=None)


def test_decimal_commas_and_words_for_missing(tmp_path):
    cells = [[repr(x).replace(".", ",") for x in row] for row in np.column_stack([TIME, *RAW]).tolist()]
    cells[2][5] = cells[3][6] = "ERR"
    (tmp_path / "log.csv").write_text("\n".join(";".join(row) for row in [HEADER, *cells]))
    recording = described(tmp_path, decimal=",", missing="ERR", delimiter=";")
    np.testing.assert_array_equal(described(tmp_path, decimal=",", missing=["ERR"]).torque, recording.torque)
    torque = RAW[2].copy()
    torque[2, 0] = torque[3, 1] = np.nan
    np.testing.assert_array_equal(recording.torque, torque)
    np.testing.assert_array_equal(recording.q, RAW[0])
    with pytest.raises(RecordingError, match=r"line 4: 'ERR' is not a number; .* missing: \['ERR'\]"):
        described(tmp_path, decimal=",")
    for cell, words in (("1.5", "has a point, and decimal is ','"), ("1.234,5", "is not a number")):
        cells[2][5] = cell
        (tmp_path / "log.csv").write_text("\n".join(";".join(row) for row in [HEADER, *cells]))
        with pytest.raises(RecordingError, match=re.escape(f"line 4: '{cell}' {words}")):
            described(tmp_path, decimal=",", missing="ERR")


def test_arrays_of_joints_by_samples(tmp_path):
    np.savez(tmp_path / "log.npz", t=TIME, q=RAW[0].T, m=RAW[2].T)
    changes = {
        "file": "log.npz",
        "position": {"columns": "q", "unit": "rad"},
        "torque": {"columns": "m", "unit": "N·m"},
        "velocity": None,
        "current": None,
    }
    recording = described(tmp_path, transposed=True, **changes)
    np.testing.assert_array_equal(recording.q, RAW[0])
    np.testing.assert_array_equal(recording.torque, RAW[2])
    with pytest.raises(RecordingError, match=r"columns for 2 joints"):
        described(tmp_path, **changes)


# -- what makes no sense -----------------------------------------------------------------------------------------------

BAD = [
    ({"torqe": {}}, "unknown key 'torqe'; valid names: file, format"),
    ({"file": 3}, "file is 3; give a text"),
    ({"file": None}, "file is missing"),
    ({"file": "nothing.csv"}, "there is no file 'nothing.csv'"),
    ({"format": "xls"}, f"format is 'xls'; allowed are {', '.join(LOG_FORMATS)}"),
    ({"skip": -1}, "skip is -1; give a whole number ≥ 0"),
    ({"header": "yes"}, "header is 'yes'; give true or false"),
    ({"decimal": ";"}, "decimal is ';'; allowed are '.' and ','"),
    ({"decimal": ",", "delimiter": ","}, "log.csv: delimiter and decimal are both ','; say what else separates"),
    ({"missing": [False]}, r"missing is \[false\]; give a list of words that stand for no value, each in quotes"),
    ({"missing": ["x", " "]}, "missing has an empty word"),
    ({"missing": []}, r"missing is \[\]; give a list of words"),
    ({"missing": ["0.0"]}, "missing has '0.0', which is a number"),
    ({"topic": "/joint_states"}, "unknown option 'topic'"),
    ({"joints": None}, "joints is missing; name the joints"),
    ({"joints": "a"}, "joints is 'a'; give the names"),
    ({"joints": [1, 2]}, r"joints is \[1, 2\]; give the names"),
    ({"joints": ["a", "a"]}, "has 'a' twice"),
    ({"joints": ["a", "b", "c"]}, r"2 columns for 3 joints \(a, b, c\)|there is no column 'v'"),
    ({"time": None}, "time is missing"),
    ({"time": {}}, "give either {column: name or number, unit: s}, or {rate"),
    ({"time": {"rate": 100, "column": "t"}}, "give either"),
    ({"time": {"rate": 0}}, "rate is 0; give a number > 0"),
    ({"time": {"rate": 100, "unit": "ms"}}, "unit has no meaning beside rate"),
    ({"time": {"column": "t", "unit": "min"}}, "unit is 'min'; allowed are s, ms, us, ns"),
    ({"time": {"column": "t", "unit": ["s"]}}, "unit is .*; allowed are s, ms, us, ns"),
    ({"time": {"column": "clock"}}, "there is no column 'clock'; columns are t, q1"),
    ({"time": {"column": 99}}, "there is no column 99; columns are 0 … 8"),
    ({"time": {"column": "q1"}}, "time runs backwards at sample"),
    ({"position": None}, "position is missing"),
    ({"position": "q"}, "position is 'q'; give a mapping"),
    ({"position": {"columns": "q"}}, "position: unit is missing; allowed are rad, deg, rev, m, mm"),
    ({"position": {"columns": "q", "unit": "N·m"}}, "that is a unit of torque, not of position; allowed are rad"),
    ({"position": {"columns": "q", "unit": ["rad"]}}, "unit has 1 entries for 2 joints"),
    ({"position": {"columns": "q", "unit": "rad", "factor": [1, 2, 3]}}, "factor has 3 numbers"),
    ({"position": {"columns": "q", "unit": "rad", "factor": 0}}, "factor is 0.0; give numbers other than 0"),
    ({"position": {"columns": "q", "unit": "rad", "factor": "x"}}, "factor is 'x'; give a number"),
    ({"position": {"columns": ["q1"], "unit": "rad"}}, "1 columns for 2 joints"),
    ({"position": {"columns": "angle", "unit": "rad"}}, "there is no column 'angle'"),
    ({"position": {"columns": [1.5, 2], "unit": "rad"}}, r"columns is \[1.5, 2\]; give names"),
    ({"position": {"columns": [], "unit": "rad"}}, r"columns is \[\]; give names"),
    ({"position": {"unit": "rad"}}, "has 9 of them for 2 joints"),
    ({"position": {"unit": "rad", "interleaved": True}}, "one number per line"),
    ({"position": {"columns": "q", "unit": "rad", "interleaved": True}}, "leave out columns"),
    ({"position": {"columns": "q", "unit": "rad", "gains": [1, 2]}}, "unknown key 'gains'"),
    ({"position": {"columns": "q", "unit": "m"}}, r"joint 'a' slides by its position \[m\] and turns by its torque"),
    ({"torque": {"columns": "m", "unit": "rad"}}, "that is a unit of position, not of torque; allowed are N·m"),
    ({"torque": {"columns": "m", "unit": "A"}}, "that is a unit of current, not of torque"),
    ({"current": {"columns": "i", "unit": "A", "gains": [1]}}, "gains has 1 numbers"),
    ({"current": {"columns": "i", "unit": "A", "gains": {"a": 1}}}, "gains says nothing of joint 'b'"),
    ({"current": {"gains": [1, 2]}}, "current: unit is missing; allowed are A, mA"),
    (
        {"position": {"columns": "q", "unit": "rad", "factor": 1e6}},
        r"in sample 0; no robot reaches that: is its unit not",
    ),
    ({"velocity": {"columns": "v", "unit": "rad/s", "factor": 1e6}}, r"gear ratio missing \(drive: position\)"),
    ({"torque": {"columns": "m", "unit": "kN·m", "factor": 1e4}}, r"gear ratio missing \(drive: torque\)"),
    ({"wrench": {"unit": "N", "factor": [1, 2]}}, "wrench: factor has 2 numbers; give one, or 6, of fx, fy, fz, mx"),
    ({"drive": {"gear": [1, 2]}}, "unknown key 'gear'; valid names: position, torque"),
    ({"drive": {"position": [1, 2, 3]}}, "give 2 numbers, or a matrix of 2 rows of 2"),
    ({"drive": {"position": [[1, 2], 3]}}, "give 2 numbers, or a matrix of 2 rows of 2"),
    ({"drive": {"position": [[1, 2], [2, 4]]}}, "cannot be inverted"),
    ({"drive": {"position": [1, 0]}}, "cannot be inverted"),
    ({"drive": {"torque": [1, "x"]}}, "drive: torque is 'x'; give a number"),
    ({"signs": [1, 2]}, r"signs is \[1.0, 2.0\]; allowed are 1 and -1"),
    ({"signs": [1]}, r"signs is \[1\]; give a list of 2 numbers"),
    ({"offset": {"values": [1, 2]}}, "offset has no unit; give one of rad, deg, rev, m, mm"),
    ({"offset": [1, 2]}, r"offset is \[1, 2\]; give a mapping"),
    ({"windows": [0, 1]}, r"windows 1 is 0; give a list of 2 numbers \[s\]"),
    ({"windows": [[1, 0]]}, r"windows 1: seconds is \[1.0, 0.0\]; a window ends behind its start"),
    ({"windows": [{}]}, "windows 1: it has no ends; give one of seconds, rows and percent"),
    ({"windows": [{"rows": [0, 1], "percent": [0, 1]}]}, "windows 1: it has rows and percent; give one of"),
    ({"windows": [{"rows": [0.5, 1]}]}, r"windows 1: rows is \[0.5, 1.0\]; rows are counted from 0"),
    ({"windows": [{"rows": [-1, 1]}]}, "rows are counted from 0"),
    ({"windows": [{"percent": [0, 101]}]}, r"windows 1: percent is \[0.0, 101.0\]; allowed are 0 … 100"),
    ({"windows": [{"lines": [0, 1]}]}, "unknown key 'lines'; valid names: seconds, rows, percent"),
    ({"windows": [{"rows": [7, 9]}]}, "they ask for rows 7 … 9, and the log ends at 0.9 s"),
    ({"windows": [{"percent": [1, 2]}]}, "they ask for 1 … 2 %, and the log ends at 0.9 s"),
    ({"torque": {"columns": "m", "unit": "N·m", "unusable": ["c"]}}, "torque: unusable: unknown joint 'c'"),
    ({"torque": {"columns": "m", "unit": "N·m", "unusable": [1]}}, r"torque: unusable is \[1\]; give a list of names"),
    ({"torque": {"columns": "m", "unit": "N·m", "unusable": ["a", "b"]}}, "torque: unusable names every joint; then"),
    (
        {"delay": 0.002},
        "delay is 0.002; give a mapping with some of the keys velocity, torque, current, command",
    ),
    ({"delay": {"torque": 2}}, r"delay: torque is 2; give a number ≥ -1, at most 1 \[s\]"),
    ({"delay": {"torque": [0.1]}}, "delay: torque has 1 numbers; the robot has 2 joints"),
    ({"delay": {"torque": {"c": 0.1}}}, "delay: torque: unknown joint 'c'"),
    ({"delay": {"wrench": 0.1}}, "delay: wrench is given, but the log has no wrench; leave it out"),
    ({"gravity": {"exact": [0, 0, 1]}}, r"gravity is .*; give a list of 3 numbers \[m/s²\], or {exactly: such a list}"),
    ({"gravity": {"exactly": [0, 0]}}, "gravity: exactly is .*; give a list of 3 numbers"),
    ({"windows": [[0, 2], [1, 3]]}, "in order and apart"),
    ({"windows": [[5, 6]]}, "windows keep none of its 5 samples: they ask for 5 … 6 s, and the log ends at 0.9 s"),
    ({"gravity": [0, 0]}, "gravity is .*give a list of 3 numbers"),
    ({"payload": {"mass": 1}}, r"payload: it needs a frame and a mass \[kg\]"),
    ({"payload": {"frame": "f", "mass": -1}}, "mass is -1; give a number ≥ 0"),
    ({"payload": {"frame": "f", "mass": 1, "com": [0, 0, 0]}}, "unknown key 'com'"),
    ({"period": 0}, "period is 0; give a number > 0"),
    ({"settled": "soon"}, "settled is 'soon'; give a number"),
    ({"filter": {"order": 50, "cutoff": 4}}, "filter: order is 50; give a whole number ≥ 1, at most 20"),
    ({"repair": True}, "repair is true; give a mapping"),
    ({"notes": {"a": [1]}}, r"notes: a is \[1\]; a note is a text"),
    ({"sources": [{"name": "a", "sha256": "b"}]}, "only files of the format exciter carry it"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=range(len(BAD)))
def test_bad_description(tmp_path, changes, message):
    """One line, which names the file, the key and what is allowed."""
    with pytest.raises(RecordingError, match=message) as told:
        described(tmp_path, **changes)
    assert "\n" not in str(told.value)
    assert ".yaml" in str(told.value) or "log.csv" in str(told.value) or "nothing.csv" in str(told.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file is missing"),
        ("- a\n", "give a mapping"),
        ("a: [", "not valid YAML"),
        ("a: !!python/object/apply:os.system [ls]", "not valid YAML"),
        ("file: log.csv\nsources: 5\nformat: exciter\n", "sources is 5; give a list"),
        ("file: log.csv\nformat: exciter\nsources: [{name: 1, sha256: 2}]\n", "sources 1: name is 1; give a text"),
        ("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"{c}: &{c} [{','.join([f'*{p}'] * 10)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
        ), "stands for more than 100000 values"),
        ("joints: &a [*a]\n", "stands for more than 100000 values"),
        ("x" * 2_000_000, "larger than 1 MB"),
    ],
    ids=range(9),
)  # fmt: skip
def test_bad_yaml(tmp_path, text, message):
    (tmp_path / "log.csv").write_text("time,a.q\n0,1\n1,2\n")
    (tmp_path / "recording.yaml").write_text(text)
    with pytest.raises(RecordingError, match=message) as told:
        open_recording(tmp_path / "recording.yaml")
    assert "\n" not in str(told.value)


def test_units_are_told_apart():
    """Every unit is a unit of one signal only, or of those where it means the same."""
    for signal, units in UNITS.items():
        assert all(unit.factor > 0 for unit in units.values())
        assert any(unit.factor == 1.0 for unit in units.values())
        assert signal == "time" or LARGEST_SI[signal] > 0


# -- the real sets -----------------------------------------------------------------------------------------------------


def real(robot: str, which: str = "recording") -> tuple[Recording, Path]:
    return real_recording(robot, which), require_data(robot)


def urdf_joints(folder: Path) -> tuple[str, ...]:
    text = next(folder.glob("*.urdf")).read_text(encoding="utf-8")
    return tuple(re.findall(r'<joint name="([^"]+)" type="revolute"', text))


def test_tx40():
    recording, folder = real("tx40")
    motor = np.loadtxt(folder / "pos_read_data.csv", delimiter=",", skiprows=1)
    torque = np.loadtxt(folder / "curr_data.csv", delimiter=",", skiprows=1)
    rows = 45_000  # 9 s at 5 kHz
    assert recording.q.shape == recording.torque.shape == (rows, 6)
    assert recording.joints == urdf_joints(folder)
    close(recording.time, np.arange(rows) * 2e-4)
    q = motor[:rows] / [32, 32, 45, -48, 45, 32]
    q[:, 5] -= q[:, 4]  # motor 6 = 32 q5 + 32 q6
    q[:, 1] -= np.pi / 2
    q[:, 2] += np.pi / 2
    close(recording.q, q)
    tau = torque[:rows] * [32, 32, 45, -48, 45, 32]
    tau[:, 4] += 32 * torque[:rows, 5]
    close(recording.torque, tau)
    motion, effort = np.diff(motor[:rows], axis=0), torque[1:rows]
    np.testing.assert_allclose(
        (np.diff(recording.q, axis=0) * recording.torque[1:]).sum(axis=1), (motion * effort).sum(axis=1), atol=1e-9
    )


def test_panda():
    recording, folder = real("panda")
    assert recording.joints == urdf_joints(folder)
    assert recording.q.shape == (20_544, 7)
    np.testing.assert_array_equal(recording.time, np.loadtxt(folder / "exciting_traj_time.txt"))
    for name, file in (("q", "positions"), ("qd", "velocity"), ("torque", "torques")):
        values = np.loadtxt(folder / f"exciting_traj_{file}.txt").reshape(-1, 7)
        np.testing.assert_array_equal(getattr(recording, name), values)


@pytest.mark.parametrize("run", [1, 2])
def test_lwr4(run):
    recording, folder = real("lwr4", "recording" if run == 1 else "held_out")
    assert recording.joints == urdf_joints(folder)
    with np.load(folder / f"measurements_{run}.npz", allow_pickle=False) as data:
        for name, key in (("time", "times"), ("q", "positions"), ("qd", "velocities"), ("torque", "torques")):
            np.testing.assert_array_equal(getattr(recording, name), data[key])
    assert len(recording) == 5027


@pytest.mark.parametrize("run", ["A", "B"])
def test_kr300(run):
    recording, folder = real("kr300", "recording" if run == "A" else "held_out")
    assert recording.joints == urdf_joints(folder)
    rec = scipy.io.loadmat(folder / f"data_{run}.mat")["rec"][0, 0]
    assert recording.q.shape == (2501, 6)
    np.testing.assert_array_equal(recording.time, rec["time_cont"].ravel())
    close(recording.q, np.radians(rec["act_pos_mot_deg"].T + np.array([0, -90, 90, 0, 0, 0])))
    close(recording.qd, np.radians(rec["act_vel_mot_deg_per_s"].T))
    close(recording.torque, rec["act_torque_abs_nm"].T * [256.9, 267.4, 252.3, 221, 239.6, 154.3])


def test_every_real_description_is_read():
    """None is there without a test of its own, and each says where its data come from."""
    assert {path.parent.name for path in REAL.glob("*/*.yaml")} == {"tx40", "panda", "lwr4", "kr300"}
    for path in REAL.glob("*/recording.yaml"):
        train, held_out = (
            yaml.safe_load((path.parent / f"{name}.yaml").read_text()) for name in ("recording", "held_out")
        )
        assert {"robot", "data"} <= train["notes"].keys()
        for key in ("windows", "file"):  # two parts of one log, or two logs
            train.pop(key, None), held_out.pop(key, None)
        assert train == held_out


@pytest.mark.parametrize(("robot", "last", "first"), [("tx40", 24_999, 25_000), ("panda", 13_558, 13_559)])
def test_a_log_is_split_where_its_readme_says(robot, last, first):
    """TX40 0 … 5 s and 5 … 7.45 s, Panda the first 66 % of the samples and the rest."""
    whole, _ = real(robot)
    train, held_out = (read_recording(REAL / robot / f"{name}.yaml", SHARED_DATA) for name in ("recording", "held_out"))
    np.testing.assert_array_equal(train.time, whole.time[: last + 1])
    np.testing.assert_array_equal(held_out.q, whole.q[first : first + len(held_out)])
    assert held_out.time[-1] == (7.45 if robot == "tx40" else whole.time[-1])


# -- the document ------------------------------------------------------------------------------------------------------

DOCUMENT = ROOT / "docs" / "recordings.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def test_document_names_every_key_unit_and_format():
    text = DOCUMENT.read_text(encoding="utf-8")
    words = {*KEYS, *LOG_FORMATS, *(unit for units in UNITS.values() for unit in units), "columns", "column", "rate"}
    words |= {"start", "factor", "interleaved", "gains", "values", "frame", "mass", "centre", "inertia", "cutoff"}
    for word in words:
        assert re.search(rf"(?<![\w/·-]){re.escape(word)}(?![\w/·-])", text), f"docs/recordings.md has no '{word}'"


@pytest.fixture
def documented(tmp_path, monkeypatch) -> list[Path]:
    """The document's descriptions, each in a folder with a log that fits it."""
    folders = []
    for k, text in enumerate(blocks("yaml")):
        folder = tmp_path / str(k)
        folder.mkdir()
        (folder / "recording.yaml").write_text(text, encoding="utf-8")
        folders.append(folder)
    return folders


def test_settings_are_written_as_they_are_read():
    """Those of the document, which have every key, those of the known formats, and none."""
    described = [yaml.safe_load(text) for text in blocks("yaml")]
    known = [
        {key: value for key, value in preset(name).items() if key in KEYS} for name in (*PROGRAM_FORMATS, NATIVE_NPZ)
    ]
    for data in (*described, *known, {}):
        conforms(fill(RecordingSettings, data, "again"))


def test_numbers_of_a_wrench_are_of_its_parts():
    data = {"wrench": {"unit": "N", "factor": [1, 2, 3, 4, 5, 6]}}
    wrench = fill(RecordingSettings, data, "f.yaml", joints=("a", "b")).wrench
    assert wrench.of(("a", "b"), "f.yaml: wrench", required=True).scale.tolist() == [1, 2, 3, 4, 5, 6]


def test_joints_that_the_columns_tell_do_not_forbid_a_factor(tmp_path):
    (tmp_path / "log.csv").write_text("t,a.q,b.q\n0,1,2\n1,3,4\n")
    position = {"columns": "{joint}.q", "unit": "rad", "factor": 2.0}
    data = {"file": "log.csv", "time": {"column": "t"}, "position": position}
    (tmp_path / "recording.yaml").write_text(yaml.safe_dump(data))
    recording = read_recording(tmp_path / "recording.yaml")
    assert recording.joints == ("a", "b")
    assert recording.q.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_documented_description(documented, monkeypatch, capsys):
    """The first shows every key; what is read is computed here in plain steps. The Python example runs on it."""
    folder = documented[0]
    assert set(yaml.safe_load((folder / "recording.yaml").read_text(encoding="utf-8"))) >= set(KEYS) - {
        "topic", "transposed", "episode", "sources", *BASE_SECTIONS,
    }  # fmt: skip
    rng = np.random.default_rng(0)
    clock = 7000 + 10 * np.arange(120)
    encoders, rpm, milli, amperes = rng.uniform(-1, 1, (4, 120, 2))
    plate, warm = rng.uniform(-9, 9, (120, 6)), rng.uniform(20, 60, (120, 2))
    told = rng.uniform(-90, 90, (120, 2))
    table = np.column_stack([clock, encoders, rpm, milli, amperes, plate, warm, told])
    names = "clock,enc_a,enc_b,w_a,w_b,m_0,m_1,i[0],i[1],fx,fy,fz,mx,my,mz,t_a,t_b,set_a,set_b"
    rows = "\n".join(",".join(map(repr, row)) for row in table.tolist())
    (folder / "log.csv").write_text(f"made by hand\nat noon\n{names}\n{rows}\n# the end\n")
    recording = read_recording(folder / "recording.yaml")
    time = 0.01 * np.arange(120)
    kept = np.concatenate([np.arange(10, 41), np.arange(50, 100), np.arange(108, 119)])  # the last has no torque
    close(recording.time, time[kept])
    first = 2 * np.pi * encoders[:, 0] / 100
    second = (2 * np.pi * encoders[:, 1] - 50 * first) / 80
    close(recording.q, np.column_stack([first, -second - np.pi / 2])[kept])
    spin = rpm[:, 0] * np.pi / 30 / 100
    close(recording.qd, np.column_stack([spin, -(rpm[:, 1] * np.pi / 30 - 50 * spin) / 80])[kept])
    close(recording.torque, 1e-3 * np.column_stack([100 * milli[:, 0] + 50 * milli[:, 1], -80 * milli[:, 1]])[kept + 1])
    close(recording.current, 1e-3 * np.column_stack([amperes[kept + 1, 0], -amperes[kept, 1]]))
    close(recording.wrench, -plate[kept])
    close(recording.temperature, warm[kept])
    wanted = np.radians(told[:, 0]) / 100
    close(recording.command, np.column_stack([wanted, -(np.radians(told[:, 1]) - 50 * wanted) / 80 - np.pi / 2])[kept])
    assert recording.about.gains == (11.2, 9.5)
    assert recording.about.payload.frame == "tool"
    monkeypatch.chdir(folder)
    (code,) = blocks("python")
    exec(code, {})
    assert "('shoulder', 'elbow') (92, 2)" in capsys.readouterr().out
    for name in ("copy.npz", "copy.csv"):
        np.testing.assert_array_equal(read_recording(name).torque, recording.torque)
        np.testing.assert_array_equal(read_recording(name).temperature, recording.temperature)


def test_temperature_in_kelvin(tmp_path):
    """To °C; a unit that is mistaken is seen, and a joint without a reading is no fault."""
    (tmp_path / "log.csv").write_text("t,a,b,wa,wb\n0,0,0,300.15,nan\n1,0,0,301.15,\n")
    text = "file: log.csv\njoints: [a, b]\ntime: {column: t}\nposition: {columns: [a, b], unit: rad}\n"
    path = tmp_path / "recording.yaml"
    path.write_text(text + "temperature: {columns: [wa, wb], unit: K}\n")
    close(read_recording(path).temperature, [[27.0, np.nan], [28.0, np.nan]])
    path.write_text(text + "temperature: {columns: [wa, wb], unit: °C}\n", encoding="utf-8")
    with pytest.raises(RecordingError, match=r"comes to 300.15 degC .* is its unit not degC \(K\)"):
        read_recording(path)
    path.write_text(text + "temperature: {columns: [wa, wb], unit: F}\n")
    with pytest.raises(RecordingError, match="allowed are degC, K"):
        read_recording(path)


def test_documented_formats(documented):
    """The others, each with the columns of its program."""
    _, rtde, franka, ros, lerobot, isaac, sage, own = documented
    (sage / "wave").mkdir()
    for name in ("control", "state_motor"):
        (sage / "wave" / f"{name}.csv").write_text('type,timestamp,positions\n,0,"[1, 2]"\n,5000,"[3, 4]"\n')
    (sage / "wave" / "joint_list.txt").write_text("a\nb\n")
    recording = read_recording(sage / "recording.yaml")
    assert (recording.time.tolist(), recording.command.tolist()) == ([0.0, 0.005], [[1.0, 2.0], [3.0, 4.0]])
    dataset(lerobot / "so100_pick_place", 3, episodes=4)
    np.testing.assert_allclose(
        read_recording(lerobot / "recording.yaml").command, np.radians(episode_table(3)["action"])
    )
    time, command = np.arange(5.0), np.arange(15.0).reshape(5, 3)
    np.savez(isaac / "traj_0.npz", time=time, dof_pos=0.5 * command, des_dof_pos=command)
    recording = read_recording(isaac / "recording.yaml")
    assert (recording.everything, recording.command.tolist()) == (("q", "command"), command.tolist())
    header = ["timestamp", *(f"{name}_{j}" for name in ("actual_q", "actual_current") for j in range(6))]
    np.savetxt(rtde / "rtde.csv", np.ones((3, 13)), header=" ".join(header), comments="")
    np.testing.assert_array_equal(
        read_recording(rtde / "recording.yaml").needed_torque()[0], [13.2, 13.2, 10.1, 9.4, 9.4, 9.4]
    )
    header = ["time", *(f"state.{name}[{j}]" for name in ("q", "dq", "tau_J") for j in range(7))]
    np.savetxt(franka / "franka.csv", np.ones((3, 22)), header=",".join(header), delimiter=",", comments="")
    assert read_recording(franka / "recording.yaml").joints[6] == "fr3_joint7"
    values = np.arange(9.0).reshape(3, 3)
    bag(ros / "bag", ["shoulder", "elbow", "finger"], np.arange(3.0), values, values, values)
    recording = read_recording(ros / "recording.yaml")
    assert recording.joints == ("shoulder", "elbow")
    close(recording.needed_torque(), values[:, :2] * [11.2, 9.5])
    (own / "log.csv").write_text("time,a.q,b.q\n0,1,2\n1,1,2\n")
    about = read_recording(own / "recording.yaml").about
    assert (about.period, about.settled, about.gains) == (10.0, 20.0, (11.2, 9.5))
    assert about.sources[0].name == "bag/bag_0.mcap"


KNOWN_LOGGERS = {
    "unitree": ("time,q_0,q_1,dq_0,dq_1,tau_est_0,tau_est_1,q_des_0,q_des_1", "q qd torque command", 1.0, False),
    "dynamixel": (
        "time,a.present_position,b.present_position,a.goal_position,b.goal_position", "q command", None, True,
    ),
    "ros2-control": (
        "time,feedback.positions[0],feedback.positions[1],reference.positions[0],reference.positions[1]",
        "q command", 1.0, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", KNOWN_LOGGERS)
def test_loggers_of_commands(form, tmp_path):
    """Columns by the names of their program; ticks of a servo are 1/4096 turn."""
    header, channels, factor, named = KNOWN_LOGGERS[form]
    table = np.random.default_rng(0).uniform(0.0, 4.0, (6, header.count(",") + 1))
    table[:, 0] = np.arange(6)
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    said = {"file": "log.csv", "format": form} | ({} if named else {"joints": ["a", "b"]})
    (tmp_path / "recording.yaml").write_text(yaml.safe_dump(said))
    recording = read_recording(tmp_path / "recording.yaml")
    assert (recording.joints, " ".join(recording.everything)) == (("a", "b"), channels)
    factor = 2.0 * np.pi / 4096 if factor is None else factor
    close(recording.q, factor * table[:, 1:3])
    close(recording.command, factor * table[:, -2:])


def test_isaac_tensors_of_pytorch(tmp_path):
    time, command = np.arange(5.0), np.arange(15.0).reshape(5, 3)
    save(tmp_path / "log.pt", {"time": time, "dof_pos": 0.5 * command, "des_dof_pos": command})
    said = {"file": "log.pt", "format": "mujoco-isaac", "joints": ["a", "b", "c"]}
    (tmp_path / "recording.yaml").write_text(yaml.safe_dump(said))
    np.testing.assert_array_equal(read_recording(tmp_path / "recording.yaml").command, command)


# -- anything at all ---------------------------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([10**400, -(10**30), 2**63]),
    st.floats(),
    st.sampled_from(["", "q", "t", "{joint}", "{joint}.q", "rad", "N·m", "1e400", "..", "/", "\0", "log.csv", "ros2"]),
    st.lists(st.integers(-1, 2), max_size=3),
    st.dictionaries(
        st.sampled_from(["column", "columns", "unit", "file", "rate", "values"]), st.integers(), max_size=2
    ),
)


def replaced(data, path: list, value):
    """The same with another value somewhere inside."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = replaced(copy[path[0]], path[1:], value)
    return copy


@st.composite
def spoiled(draw) -> dict:
    """A good description in which one or two things are something else."""
    extra = {
        "drive": {"position": [[2, 0], [1, 3]], "torque": [2, 3]},
        "offset": {"values": [1, 2], "unit": "deg"},
        "windows": [[0, 0.5]],
        "signs": [1, -1],
        "payload": {"frame": "f", "mass": 1, "centre": [0, 0, 0]},
        "filter": {"order": 4, "cutoff": 3},
        "gravity": [0, 0, -9.81],
        "format": "csv",
        "skip": 0,
        "decimal": ".",
        "missing": ["ERR"],
        "delimiter": ",",
        "comment": "#",
        "header": True,
    }
    data = {**basic(), **extra, "current": {"columns": "i", "unit": "A", "gains": [1, 2], "factor": [1, 2]}}
    for _ in range(draw(st.integers(1, 2))):
        path, inside = [], data
        while isinstance(inside, dict | list) and inside and (not path or draw(st.booleans())):
            keys = sorted(inside) if isinstance(inside, dict) else list(range(len(inside)))
            path.append(draw(st.sampled_from(keys)))
            inside = inside[path[-1]]
        data = replaced(data, path, draw(ODD))
    return data


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(description=spoiled())
def test_a_spoiled_description_is_read_or_refused_in_one_line(tmp_path, description):
    write_log(tmp_path)
    (tmp_path / "recording.yaml").write_text(yaml.safe_dump(description), encoding="utf-8")
    message = ""
    try:
        assert np.isfinite(read_recording(tmp_path / "recording.yaml").time).all()
    except RecordingError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 2000


def test_ten_thousand_joints_are_refused_at_once(tmp_path):
    names = [f"j{k}.q" for k in range(9990)]
    rows = "\n".join(",".join(["0"] * 9991) for _ in range(2))
    (tmp_path / "wide.csv").write_text(f"time,{','.join(names)}\n{rows}\n", encoding="utf-8")
    with pytest.raises(RecordingError, match="9990 joints are too many"):
        open_recording(tmp_path / "wide.csv")
