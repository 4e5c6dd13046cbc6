"""Recordings on disk: Exciter's own files keep every bit; logs of known programs are understood as they are."""

import hashlib
import json
import zipfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exciter.errors import RecordingError
from exciter.experiment.recording import (
    About,
    Recording,
    open_recording,
    read_recording,
    write_chunks,
    write_recording,
)
from exciter.experiment.recording.own_log_format import check_beside, written_beside
from exciter.experiment.recording.recording_file import RecordingFile
from support.bags import bag
from support.recordings import plain, recordings, same

pytestmark = pytest.mark.slow

UR_JOINTS = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)
MANY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- native files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "npz"])
@MANY
@given(recording=recordings())
def test_read_back_to_the_last_bit(recording, suffix, tmp_path):
    path = tmp_path / f"log.{suffix}"
    write_recording(recording, path)
    assert same(read_recording(path), recording)
    before = path.read_bytes()
    write_recording(read_recording(path), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("suffix", ["csv", "npz"])
@MANY
@given(recording=recordings(), written=st.integers(1, 5), read=st.integers(1, 5))
def test_pieces_make_the_same_file(recording, written, read, suffix, tmp_path):
    whole, pieces = tmp_path / f"whole.{suffix}", tmp_path / f"pieces.{suffix}"
    write_recording(recording, whole)
    write_chunks(recording.chunks(written), pieces)
    assert whole.read_bytes() == pieces.read_bytes()
    assert same(Recording.join(list(open_recording(pieces).chunks(read))), recording)


def test_csv_as_the_contract_has_it(tmp_path):
    time, q = np.array([0.0, 0.1]), np.array([[1.0, np.nan], [1 / 3, -0.0]])
    recording = Recording(("a", "b.c"), time, q, 2 * q, 3 * q, 4 * q)
    write_recording(recording, tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "time,a.q,a.qd,a.tau,a.current,b.c.q,b.c.qd,b.c.tau,b.c.current"
    assert lines[1] == "0,1,2,3,4,nan,nan,nan,nan"
    assert lines[2].startswith("0.10000000000000001,0.33333333333333331,")
    assert files_in(tmp_path) == {"log.csv"}  # nothing more to say
    table = np.genfromtxt(tmp_path / "log.csv", delimiter=",", names=True, deletechars="")
    np.testing.assert_array_equal(table["a.tau"], 3 * q[:, 0])


def test_npz_is_plain_numpy(tmp_path):
    recording = plain(about=About(period=2.0, gains=(1.0, 2.0), notes={"über": "Größe"}))
    write_recording(recording, tmp_path / "log.npz")
    with np.load(tmp_path / "log.npz", allow_pickle=False) as arrays:
        assert sorted(arrays.files) == ["about", "joints", "q", "time", "torque"]
        np.testing.assert_array_equal(arrays["torque"], recording.torque)
        assert arrays["joints"].tolist() == ["a", "b"]
        assert json.loads(str(arrays["about"])) == {"period": 2.0, "gains": [1.0, 2.0], "notes": {"über": "Größe"}}


def test_npz_of_other_hands(tmp_path):
    """What np.savez writes is read as well; about may be missing."""
    q = np.arange(6.0).reshape(3, 2)
    np.savez_compressed(tmp_path / "log.npz", time=np.arange(3.0), q=q, current=-q, joints=np.array(["a", "b"]))
    recording = read_recording(tmp_path / "log.npz")
    assert (recording.joints, recording.signals) == (("a", "b"), ("q", "current"))
    np.testing.assert_array_equal(recording.current, -q)


def test_csv_of_other_hands(tmp_path):
    """Any order of columns, any delimiter, spaces; a trajectory's accelerations are no part of a recording."""
    (tmp_path / "log.csv").write_text("b.tau; time ;a.q;b.q; a.tau;a.qdd;b.qdd\n6;0;1;2;5;0;0\n-6;1;3;;-5;0;0\n")
    recording = read_recording(tmp_path / "log.csv")
    assert (recording.joints, recording.signals) == (("a", "b"), ("q", "torque"))
    np.testing.assert_array_equal(recording.q, [[1, 2], [3, np.nan]])
    np.testing.assert_array_equal(recording.torque, [[5, 6], [-5, -6]])
    assert recording.about.sources[0].sha256 == sha256(tmp_path / "log.csv")


def test_what_a_csv_cannot_say_stands_beside_it(tmp_path):
    about = About(period=2.0, settled=4.0, gravity=(0, 0, -1.6), gains=(1.5, 2.5), notes={"robot": "R"})
    recording = plain(about=about)
    write_recording(recording, tmp_path / "log.csv")
    assert files_in(tmp_path) == {"log.csv", "log.yaml"}
    data = yaml.safe_load((tmp_path / "log.yaml").read_text(encoding="utf-8"))
    assert data["file"] == "log.csv"
    assert data["format"] == "exciter"
    assert data["current"] == {"gains": [1.5, 2.5]}
    for name in ("log.csv", "log.yaml"):
        again = read_recording(tmp_path / name)
        assert replace(again.about, sources=()) == about
        assert [s.sha256 for s in again.about.sources] == [sha256(tmp_path / "log.csv")]
    write_recording(plain(), tmp_path / "log.csv")  # an older companion must not speak of it
    assert replace(read_recording(tmp_path / "log.csv").about, sources=()) == About()


def test_a_native_file_can_be_cut_and_told_more(tmp_path):
    for name in ("log.csv", "log.npz"):
        write_recording(plain(about=About(period=2.0, settled=1.0)), tmp_path / name)
        cut = {"file": name, "format": "exciter", "windows": [[1, 2]], "settled": 0.5, "signs": [1, -1]}
        (tmp_path / "cut.yaml").write_text(yaml.safe_dump(cut))
        recording = read_recording(tmp_path / "cut.yaml")
        np.testing.assert_array_equal(recording.time, [1.0, 1.5])
        np.testing.assert_array_equal(recording.torque, [[-2, 3], [-4, 5]])
        assert recording.about.settled == 0.5
        assert recording.about.period == (2.0 if name == "log.npz" else None)


def test_others_description_is_not_overwritten(tmp_path):
    (tmp_path / "log.yaml").write_text("something: else\n")
    write_recording(plain(), tmp_path / "log.csv")
    with pytest.raises(RecordingError, match=r"'log.yaml' is there already.*choose another name than 'log.csv'"):
        write_recording(plain(about=About(period=1.0)), tmp_path / "log.csv")
    assert (tmp_path / "log.yaml").read_text() == "something: else\n"
    assert same(replace(read_recording(tmp_path / "log.csv"), about=About()), plain())


def interrupted(recording: Recording):
    yield recording
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_all_files_or_none(tmp_path, suffix):
    path = tmp_path / f"log.{suffix}"
    with pytest.raises(KeyboardInterrupt):
        write_chunks(interrupted(plain(about=About(period=1.0))), path)
    assert files_in(tmp_path) == set()
    write_recording(plain(), path)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_chunks(interrupted(plain(about=About(period=1.0))), path)
    assert files_in(tmp_path) == {path.name}
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("chunks", "name", "message"),
    [
        ([], "log.csv", "0 samples is not worth a file"),
        ([plain()[:1]], "log.npz", "1 samples is not worth a file"),
        ([plain()], "log.txt", r"\.csv or \.npz; given 'log.txt'"),
        ([plain(), plain()], "log.csv", r"starts at 0 s, before the end of the one before it \(4 s\)"),
        ([plain(), plain(torque=None)], "log.csv", "must agree; one has q, torque of a, b, another q of a, b"),
        ([plain(joints=("a", "b\nc"))], "log.csv", r"joint 'b\\nc' cannot head a column.*\.npz"),
    ],
)
def test_not_written(tmp_path, chunks, name, message):
    with pytest.raises(RecordingError, match=message):
        write_chunks(chunks, tmp_path / name)
    assert files_in(tmp_path) == set()


def test_a_place_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot write to"):
        write_recording(plain(), tmp_path / "file" / "log.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,a.q,b.q\n0,1,2\n", None),
        ("", "is empty"),
        ("# time\n", "no rows of numbers"),
        ("time,a.q\n", "no rows of numbers follow"),
        ("time,a.q,a.torque\n0,1,2\n", r"column 'a.torque'; allowed are time and <joint>.q"),
        ("time,a.q,b.q,a.tau\n0,1,2,3\n", r"no column 'b.tau', but has 'a.tau'"),
        ("time,a.q\n0,1\n2,1\n1,1\n", r"backwards at sample 2 \(2 s, then 1 s\)"),
        ("time,a.q\n0,1\n,1\n", "time of sample 1 is missing"),
        ("time,a.q\n0,1\n1\n", "line 3 has 1 columns, expected 2"),
        ("time,a.q\n0,1\n1,x\n", "line 3: 'x' is not a number"),
        ("t,x,y\n0,1,2\n", r"columns t, x, y, which tell neither joints nor units.*recording.yaml"),
    ],
)
def test_native_csv_of_any_content(tmp_path, text, message):
    (tmp_path / "log.csv").write_text(text)
    if message is None:
        assert read_recording(tmp_path / "log.csv").joints == ("a", "b")
        return
    with pytest.raises(RecordingError, match=message) as told:
        read_recording(tmp_path / "log.csv")
    assert "\n" not in str(told.value)


def test_messages_name_the_file_that_was_given_and_no_other(tmp_path):
    """Also where what is known of it stands beside it."""
    recording = Recording(("a",), [0.0, 1.0, 2.0], [[1.0], [2.0], [3.0]], about=About(period=2.0))
    write_recording(recording, tmp_path / "log.csv")
    with (tmp_path / "log.csv").open("a") as stream:
        stream.write("1,2\n2,3\n")
    with pytest.raises(RecordingError) as told:
        read_recording(tmp_path / "log.csv")
    assert str(told.value).startswith(f"{tmp_path / 'log.csv'}: time runs backwards at sample 3")
    assert str(told.value).count(str(tmp_path)) == 1
    assert "lines 5 … 6 repeat lines 3 … 4" in str(told.value)
    assert open_recording(tmp_path / "log.csv").about.period == 2.0


def test_a_table_is_written_only_beside_what_is_its_own(tmp_path):
    known = Recording(("a",), [0.0, 1.0], [[1.0], [2.0]], about=About(period=2.0))
    path = tmp_path / "log.csv"
    check_beside(path)
    assert written_beside(path) is None
    write_recording(known, path)
    check_beside(path)
    assert written_beside(path) == tmp_path / "log.yaml"
    assert written_beside(tmp_path / "log.npz") is None
    for foreign in ("file: other.csv\nformat: exciter\n", "limits: {torque: 3}\n", "{"):
        (tmp_path / "log.yaml").write_text(foreign)
        with pytest.raises(RecordingError, match=r"'log.yaml' is there already and speaks of something else"):
            check_beside(path)
        with pytest.raises(RecordingError, match=r"choose another name than 'log.csv'"):
            write_recording(known, path)
        assert (tmp_path / "log.yaml").read_text() == foreign
        assert written_beside(path) is None
        check_beside(tmp_path / "log.npz")


def npz_with(path: Path, **members: bytes | np.ndarray) -> None:
    arrays = {"time": np.arange(3.0), "q": np.ones((3, 2)), "joints": np.array(["a", "b"])}
    np.savez(path, **{key: value for key, value in arrays.items() if key not in members})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for key, value in members.items():
            if isinstance(value, bytes):
                archive.writestr(f"{key}.npy", value)
            else:
                with archive.open(f"{key}.npy", "w") as stream:
                    np.lib.format.write_array(stream, value, allow_pickle=True)


def lying_header(shape: tuple[int, ...]) -> bytes:
    import io

    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<U4", "fortran_order": False, "shape": shape})
    return stream.getvalue() + b"\0" * 32


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"joints": np.array(["a", "b"], dtype=object)}, "'joints' cannot be read: it holds object, not text"),
        ({"joints": lying_header((10**12,))}, "do not take 32 bytes"),
        ({"joints": b"\x93NUMPY\x01\x00\x10\x00{'descr': 1/0}\n"}, "'joints' cannot be read|none of NumPy's"),
        ({"joints": np.array([["a", "b"]])}, r"joints has the shape \(1, 2\)"),
        ({"joints": np.array(["x" * 2_000_000])}, "larger than 1 MB"),
        ({"joints": np.array(["a", "b", "c"])}, "2 columns for 3 joints"),
        ({"joints": np.array(["a", "a"])}, "'a' twice"),
        ({"about": np.array("{")}, "about cannot be read as JSON"),
        ({"about": np.array("[" * 100_000)}, "about cannot be read as JSON"),
        ({"about": np.array('{"perio": 1}')}, "unknown key 'perio'; valid names: period"),
        ({"about": np.array('{"gains": [1]}')}, "gains has 1 numbers"),
        ({"time": np.arange(4.0)}, "as many samples"),
        ({"time": np.array([0, 2, 1.0])}, "backwards at sample 2"),
        ({"q": np.ones((3, 2), dtype=object)}, "pickled"),
    ],
)
def test_native_npz_of_any_content(tmp_path, members, message):
    npz_with(tmp_path / "log.npz", **members)
    with pytest.raises(RecordingError, match=message) as told:
        read_recording(tmp_path / "log.npz")
    assert "\n" not in str(told.value)


def test_npz_without_joints_needs_a_description(tmp_path):
    np.savez(tmp_path / "log.npz", times=np.arange(3.0), positions=np.ones((3, 2)))
    with pytest.raises(RecordingError, match=r"has times, positions\[0\].*describe it in a recording.yaml"):
        open_recording(tmp_path / "log.npz")


def test_too_large_to_be_read_at_once(tmp_path):
    write_recording(plain(), tmp_path / "log.csv")
    file = open_recording(tmp_path / "log.csv")
    assert isinstance(file, RecordingFile)
    assert len(file.read(limit=4 * 5 * 8)) == 4
    with pytest.raises(RecordingError, match=r"too large to be read at once.*in pieces \(chunks\).*windows"):
        file.read(limit=4 * 5 * 8 - 1)
    with pytest.raises(RecordingError, match="pieces of 0 samples"):
        next(file.chunks(0))


def test_no_such_file(tmp_path):
    with pytest.raises(RecordingError, match="there is no file"):
        open_recording(tmp_path / "log.csv")


# -- known programs ----------------------------------------------------------------------------------------------------


def rtde_log(path: Path, fields: dict[str, np.ndarray], delimiter: str = " ") -> None:
    """As Python's csv module writes the fields of a recipe: vectors as name_0 … name_5, floats by repr."""
    names, columns = [], []
    for name, values in fields.items():
        wide = values.ndim == 2
        names += [f"{name}_{j}" for j in range(values.shape[1])] if wide else [name]
        columns += list(values.T) if wide else [values]
    rows = [delimiter.join(map(repr, map(float, row))) for row in zip(*columns, strict=True)]
    path.write_text("\r\n".join([delimiter.join(names), *rows, ""]), newline="")


def rtde_fields(rng: np.random.Generator) -> dict[str, np.ndarray]:
    vectors = ("target_q", "target_moment", "actual_q", "actual_qd", "actual_current", "actual_TCP_pose")
    time = 86_400.0 + np.arange(50) / 500
    return {"timestamp": time, **{name: rng.standard_normal((50, 6)) for name in vectors}, "robot_mode": 7 + 0 * time}


@pytest.mark.parametrize("delimiter", [" ", ","])
def test_ur_rtde(tmp_path, delimiter):
    fields = rtde_fields(np.random.default_rng(0))
    rtde_log(tmp_path / "rtde.csv", fields, delimiter)
    file = open_recording(tmp_path / "rtde.csv")
    recording = file.read()
    assert recording.joints == UR_JOINTS
    assert recording.everything == file.signals == ("q", "qd", "current", "command")
    for name, field in (("q", "actual_q"), ("qd", "actual_qd"), ("current", "actual_current")):
        np.testing.assert_array_equal(getattr(recording, name), fields[field])
    np.testing.assert_allclose(recording.time, np.arange(50) / 500, atol=1e-9)
    assert "not measured" in recording.about.notes["target_moment"]
    with pytest.raises(RecordingError, match="gains"):
        recording.needed_torque()
    gains = [13.0, 13.0, 13.0, 9.0, 9.0, 9.0]
    (tmp_path / "rtde.yaml").write_text(f"file: rtde.csv\nformat: ur-rtde\ncurrent: {{gains: {gains}}}\n")
    np.testing.assert_allclose(
        read_recording(tmp_path / "rtde.yaml").needed_torque(), fields["actual_current"] * gains, rtol=1e-15
    )


def test_ur_rtde_with_what_the_recipe_has(tmp_path):
    fields = rtde_fields(np.random.default_rng(1))
    few = {key: fields[key] for key in ("timestamp", "actual_q", "target_moment")}
    rtde_log(tmp_path / "few.csv", few)
    assert read_recording(tmp_path / "few.csv").signals == ("q",)
    rtde_log(tmp_path / "more.csv", {**fields, "actual_current_as_torque": 2 * fields["actual_current"]})
    recording = read_recording(tmp_path / "more.csv")
    np.testing.assert_array_equal(recording.needed_torque(), 2 * fields["actual_current"])
    (tmp_path / "few.yaml").write_text("file: few.csv\nformat: ur-rtde\ncurrent: {gains: 10}\n")
    with pytest.raises(RecordingError, match="no column 'actual_current'"):
        open_recording(tmp_path / "few.yaml")


LIBFRANKA = ("q", "q_d", "dq", "dq_d", "tau_J", "tau_ext_hat_filtered")


def libfranka_log(path: Path, state: dict[str, np.ndarray], blank: str) -> None:
    """Header with or without blanks behind commas, milliseconds, six digits; commands behind the state."""
    count = len(state["q"])
    names = [f"state.{key}[{j}]" for key in LIBFRANKA for j in range(7)]
    names += [f"cmd.{key}[{j}]" for key, n in (("q_d", 7), ("O_T_EE_d", 16), ("tau_J_d", 7)) for j in range(n)]
    lines = [f",{blank}".join(["time", "success_rate", *names])]
    for k in range(count):
        values = [*(value for key in LIBFRANKA for value in state[key][k]), *np.zeros(30)]
        lines.append(f"{5000 + k},1," + ",".join(f"{value:g}" for value in values))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("blank", [" ", ""])
def test_libfranka(tmp_path, blank):
    rng = np.random.default_rng(0)
    state = {key: rng.standard_normal((30, 7)) for key in LIBFRANKA}
    libfranka_log(tmp_path / "log.csv", state, blank)
    recording = read_recording(tmp_path / "log.csv")
    assert recording.joints == tuple(f"joint_{k}" for k in range(1, 8))
    for name, key in (("q", "q"), ("qd", "dq"), ("torque", "tau_J")):
        np.testing.assert_allclose(getattr(recording, name), state[key], atol=1e-5)
    np.testing.assert_allclose(recording.time, np.arange(30) * 1e-3, rtol=1e-12)
    (tmp_path / "fr3.yaml").write_text(
        "file: log.csv\nformat: libfranka\njoints: [fr3_joint1, fr3_joint2, fr3_joint3, fr3_joint4, fr3_joint5, "
        "fr3_joint6, fr3_joint7]\ntime: {start: 2}\ntorque: {columns: state.tau_ext_hat_filtered}\n"
    )
    renamed = read_recording(tmp_path / "fr3.yaml")
    assert renamed.joints[0] == "fr3_joint1"
    assert renamed.time[0] == 2.0
    np.testing.assert_allclose(renamed.torque, state["tau_ext_hat_filtered"], atol=1e-5)


def test_spellings_of_numbered_columns(tmp_path):
    """name[0], name_0 and name0, from 0 or from 1; a longer group is not cut."""
    for names in (["q[0]", "q[1]"], ["q_0", "q_1"], ["q1", "q2"], ["q_1", "q_2"]):
        header = ",".join(["t", *names, "q_d[0]", "q_d[1]"])
        (tmp_path / "log.csv").write_text(f"{header}\n0,1,2,8,9\n1,3,4,8,9\n")
        text = "file: log.csv\njoints: [a, b]\ntime: {column: t}\nposition: {columns: q, unit: rad}\n"
        (tmp_path / "log.yaml").write_text(text)
        np.testing.assert_array_equal(read_recording(tmp_path / "log.yaml").q, [[1, 2], [3, 4]])
        (tmp_path / "log.yaml").write_text(text.replace("[a, b]", "[a]"))
        with pytest.raises(RecordingError, match=r"no column 'q'|2 columns for 1 joints"):
            open_recording(tmp_path / "log.yaml")


# -- ROS 2 -------------------------------------------------------------------------------------------------------------


def test_ros2_bag(tmp_path):
    rng = np.random.default_rng(0)
    q, qd, effort = rng.standard_normal((3, 20, 2))
    time = 1.7e9 + np.arange(20) * 0.004
    bag(tmp_path / "run", ["elbow", "wrist"], time, q, qd, effort)
    recording = read_recording(tmp_path / "run")
    assert recording.joints == ("elbow", "wrist")
    for name, values in (("q", q), ("qd", qd), ("torque", effort)):
        np.testing.assert_array_equal(getattr(recording, name), values)
    np.testing.assert_allclose(recording.time, np.arange(20) * 0.004, atol=1e-6)
    assert {source.name for source in recording.about.sources} == {"run/metadata.yaml", "run/run.db3"}
    (tmp_path / "run.yaml").write_text(
        "file: run\nformat: ros2\ntopic: /joint_states\njoints: [wrist]\ntorque: null\n"
        'current: {columns: "{joint}.effort", unit: A, gains: [3]}\n'
    )
    chosen = read_recording(tmp_path / "run.yaml")
    assert chosen.signals == ("q", "qd", "current")
    np.testing.assert_array_equal(chosen.needed_torque(), 3 * effort[:, 1:])


def test_recognised_by_columns_alone(tmp_path):
    """No format claims the files of another."""
    rtde_log(tmp_path / "rtde.csv", rtde_fields(np.random.default_rng(0)))
    state = {key: np.ones((3, 7)) for key in LIBFRANKA}
    libfranka_log(tmp_path / "franka.csv", state, " ")
    write_recording(plain(), tmp_path / "own.csv")
    joints = [open_recording(tmp_path / name).joints for name in ("rtde.csv", "franka.csv", "own.csv")]
    assert all(a != b for a, b in pairwise(joints))


def test_a_frame_without_its_column_is_no_joint(tmp_path):
    (tmp_path / "log.csv").write_text("time,a.q,foot.contact\n0,1,1\n1,1,1\n")
    (tmp_path / "log.yaml").write_text("file: log.csv\nformat: exciter\ncontacts: {frames: [foot, nosuch]}\n")
    with pytest.raises(RecordingError, match=r"'nosuch.contact', but .*; every frame of contacts needs"):
        read_recording(tmp_path / "log.yaml")
