"""Logs are read as they were written, from every format, in blocks of any size. NumPy, SciPy, rosbags know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.errors import RecordingError
from exciter.experiment.sources.delimited import PIECE_CHARACTERS, DelimitedText
from exciter.experiment.sources.mat import MatArrays
from exciter.experiment.sources.npz import NumpyArrays
from exciter.experiment.sources.open_source import open_source
from exciter.experiment.sources.ros2 import JointStates
from exciter.experiment.sources.source import Source
from support.log_files import WRITERS, joint_state, table, write_bag
from support.real_data import require_data

ROWS = 53


def read(source: Source, wanted: str | int | list[str | int] | None = None, rows: int = 1000) -> np.ndarray:
    columns = range(len(source.names)) if wanted is None else source.find(wanted)
    return np.concatenate(list(source.blocks(columns, rows)))


def write(folder: Path, text: str | bytes, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- every format ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=list(WRITERS))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Source, list[str]]:
    writer, names = WRITERS[request.param]
    return open_source(writer(tmp_path_factory.mktemp("log"), table(ROWS))), names


def test_what_was_written_is_read(written: tuple[Source, list[str]]) -> None:
    source, names = written
    np.testing.assert_array_equal(read(source, list(names)), table(ROWS))


@settings(max_examples=12, deadline=None)
@given(rows=st.integers(1, ROWS + 3), chosen=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_blocks_of_any_size_and_columns_in_any_order(written, rows: int, chosen: list[int]) -> None:
    source, names = written
    blocks = list(source.blocks(source.find([names[k] for k in chosen]), rows))
    assert [len(block) for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
    assert 0 < len(blocks[-1]) <= rows
    np.testing.assert_array_equal(np.concatenate(blocks), table(ROWS)[:, chosen])


def test_blocks_need_at_least_one_row(written: tuple[Source, list[str]]) -> None:
    with pytest.raises(RecordingError, match="blocks of 0 rows"):
        list(written[0].blocks([0], 0))


def test_a_file_that_vanishes_is_told(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "1,2\n3,4\n"))
    (tmp_path / "log.csv").unlink()
    with pytest.raises(RecordingError, match=r"cannot read .*log.csv': No such file"):
        read(source)


# -- text --------------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "plain": ("time,a\n0,1\n2,3\n", ("time", "a")),
    "no header": ("0,1\n2,3\n", ("0", "1")),
    "windows": ("time,a\r\n0,1\r\n2,3\r\n", ("time", "a")),
    "old mac": ("time,a\r0,1\r2,3\r", ("time", "a")),
    "byte order mark": ("\ufefftime,a\n0,1\n2,3\n", ("time", "a")),
    "byte order mark before numbers": ("\ufeff0,1\n2,3\n", ("0", "1")),
    "no newline at the end": ("time,a\n0,1\n2,3", ("time", "a")),
    "empty lines": ("\n\ntime,a\n\n0,1\n  \n2,3\n\n\n", ("time", "a")),
    "quoted": ('"time","a, b"\n"0","1"\n"2",3\n', ("time", "a, b")),
    "quoted names between blanks": ('"my time" a\n0 1\n2 3\n', ("my time", "a")),
    "padded": ("  time ,  a \n 0 ,  1 \n 2 ,3\n", ("time", "a")),
    "semicolons": ("time;a\n0;1\n2;3\n", ("time", "a")),
    "tabs": ("time\ta\n0\t1\n2\t3\n", ("time", "a")),
    "bars": ("time|a\n0|1\n2|3\n", ("time", "a")),
    "blanks": ("time a\n  0    1\n 2\t3  \n", ("time", "a")),
    "comments": ("# made by hand\ntime,a\n0,1 # first\n# nothing\n2,3\n", ("time", "a")),
    "other comments": ("% made by hand\n0 1\n2 3 % last\n", ("0", "1")),
    "header in a comment": ("# of today\n# time a\n0 1\n2 3\n", ("time", "a")),
    "delimiter at the end": ("time,a\n0,1,\n2,3,\n", ("time", "a", "2")),
    "delimiter at the end of the header": ("time,a,\n0,1\n2,3\n", ("time", "a")),
    "no name": (",a\n0,1\n2,3\n", ("0", "a")),
    "one name twice": ("q,q\n0,1\n2,3\n", ("q[0]", "q[1]")),
    "exponents": ("time,a\n0e0,1.0E+00\n.2E1,30.D-1\n", ("time", "a")),
    "Greek": ("t,q̈ [rad/s²]\n0,1\n2,3\n", ("t", "q̈ [rad/s²]")),
    "Latin-1": ("t,ö\n0,1\n2,3\n".encode("latin-1"), ("t", "ö")),
}


@pytest.mark.parametrize("case", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layout_is_found(case: tuple[str | bytes, tuple[str, ...]], tmp_path: Path) -> None:
    text, names = case
    source = open_source(write(tmp_path, text))
    assert source.names == names
    np.testing.assert_array_equal(read(source)[:, :2], [[0, 1], [2, 3]])
    np.testing.assert_array_equal(read(source, 1), [[1], [3]])


def test_settings_decide_what_cannot_be_found(tmp_path: Path) -> None:
    path = write(tmp_path, "version 3\nunits s rad\n0,1\n2,3\n4,5\n")
    assert open_source(path, skip=2).names == ("0", "1")
    source = open_source(path, "csv", skip=2, header=True, delimiter="comma")
    assert source.names == ("0", "1")
    np.testing.assert_array_equal(read(source), [[2, 3], [4, 5]])
    assert open_source(write(tmp_path, "1;2 ! note\n"), comment="!", delimiter=";").names == ("0", "1")
    np.testing.assert_array_equal(
        read(open_source(write(tmp_path, "a b\n1 2\n"), delimiter=" ", header=True)), [[1, 2]]
    )
    with pytest.raises(RecordingError, match="line 1: 'a' is not a number"):
        read(open_source(write(tmp_path, "a,b\n1,2\n"), header=False))


def test_missing_values_are_nan(tmp_path: Path) -> None:
    text = "t,a,b\n0,,1\n1,NaN,2\n2,nan(ind),3\n3,NA,\n,inf,-Inf\n"
    expected = [[0, np.nan, 1], [1, np.nan, 2], [2, np.nan, 3], [3, np.nan, np.nan], [np.nan, np.inf, -np.inf]]
    np.testing.assert_array_equal(read(open_source(write(tmp_path, text))), expected)
    many = "t,a,b\n" + "".join(f"{k},,{k}\n" for k in range(1000))
    values = read(open_source(write(tmp_path, many)))
    assert np.isnan(values[:, 1]).all()
    np.testing.assert_array_equal(values[:, [0, 2]], np.arange(1000.0)[:, None].repeat(2, axis=1))


COMMAS = {
    "semicolons": "t;a\n0;1,0\n2,0;3E0\n",
    "tabs": "t\ta\n0,0\t1\n2\t30,0e-1\n",
    "blanks": "t a\n0 1,0\n2,0 3,0\n",
    "quoted between commas": 't,a\n"0,0","1,0"\n"2,0","3,0"\n',
    "quoted between semicolons": '"t";"a"\n"0,0";"1,0"\n2;"3,0"\n',
    "points in words": "t;a;b\n0;1,0;v1.2\n2,0;3,0;v1.3\n",
}


@pytest.mark.parametrize("text", COMMAS.values(), ids=COMMAS.keys())
def test_decimal_commas(text: str, tmp_path: Path) -> None:
    source = open_source(write(tmp_path, text), decimal=",")
    assert source.names[:2] == ("t", "a")
    np.testing.assert_array_equal(read(source, ["t", "a"]), [[0, 1], [2, 3]])
    single = open_source(write(tmp_path, "0,5\n1,5\n2,5\n3,5\n"), decimal=",", interleaved=2)
    np.testing.assert_array_equal(read(single), [[0.5, 1.5], [2.5, 3.5]])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.floats(), min_size=2, max_size=2), min_size=1, max_size=9),
    st.sampled_from([";", "\t", " ", "|", "quoted"]),
    st.booleans(),
)
def test_any_numbers_with_decimal_commas(tmp_path_factory, rows: list[list[float]], between: str, named: bool) -> None:
    cell = '"{}"'.format if between == "quoted" else "{}".format
    delimiter = "," if between == "quoted" else between
    lines = [delimiter.join(cell(repr(value).replace(".", ",")) for value in row) for row in rows]
    path = write(tmp_path_factory.mktemp("log"), "\n".join([delimiter.join("xy")] * named + lines))
    option = {"delimiter": delimiter} if named else {}
    np.testing.assert_array_equal(read(open_source(path, decimal=",", **option)), np.array(rows))


def test_words_for_missing_values(tmp_path: Path) -> None:
    """In any case, quoted or not, in the first rows or after many; text of UTF-8, too."""
    rows = "".join(f"{k},{k}\n" for k in range(30_000))
    path = write(tmp_path, "t,a\n0,ERR\n" + rows + '1,err\n2,"no signal"\n3,—\n4,5\n')
    assert path.stat().st_size > PIECE_CHARACTERS
    values = read(open_source(path, missing=["ERR", "no signal", "—"]))
    assert len(values) == 30_005
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(values[:, 1])), [0, 30_001, 30_002, 30_003])
    np.testing.assert_array_equal(values[-1], [4, 5])
    both = open_source(write(tmp_path, "t;a\n0,5;1,5\n1,0;ERR\n"), decimal=",", missing=["ERR"])
    np.testing.assert_array_equal(read(both), [[0.5, 1.5], [1.0, np.nan]])


def test_rows_are_found_in_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "# made by hand\nt,a\n0,1\n\n1,2\n# pause\n2,3 # late\n")
    source = open_source(path)
    assert [source.place(row) for row in range(3)] == [("line", 3), ("line", 5), ("line", 7)]
    one = open_source(write(tmp_path, "q\n1\n2\n3\n4\n"), interleaved=2)
    assert one.place(1) == ("line", 4)
    np.save(tmp_path / "log.npy", np.zeros((5, 2)))
    assert open_source(tmp_path / "log.npy").place(3) == ("sample", 3)


def test_words_in_columns_that_are_not_chosen(tmp_path: Path) -> None:
    text = "0.0,moving,1.5\n0.1,moving,1.6\n0.2,'rest',1.7\n"
    source = open_source(write(tmp_path, text))
    assert source.names == ("0", "1", "2")
    np.testing.assert_array_equal(read(source, [0, 2]), [[0.0, 1.5], [0.1, 1.6], [0.2, 1.7]])
    quoted = 't,what,q\n0,"a, b",1\n1,"c",2\n'
    np.testing.assert_array_equal(read(open_source(write(tmp_path, quoted)), ["t", "q"]), [[0, 1], [1, 2]])


@pytest.mark.parametrize("columns", [[0, 1, 2], [2, 0], [1]])
def test_lines_across_pieces(tmp_path: Path, columns: list[int]) -> None:
    """Longer than what is read at once; an empty cell and a comment in the middle."""
    numbers = np.random.default_rng(0).standard_normal((12_000, 3))
    lines = [",".join(map(repr, row)) for row in numbers.tolist()]
    lines[7000] = lines[7000].rsplit(",", 1)[0] + ","
    numbers[7000, 2] = np.nan
    lines.insert(9000, "# pause")
    path = write(tmp_path, "\n".join(["t,a,b", *lines]))
    assert path.stat().st_size > 2 * PIECE_CHARACTERS
    np.testing.assert_array_equal(read(open_source(path), columns, rows=999), numbers[:, columns])


def test_interleaved(tmp_path: Path) -> None:
    path = write(tmp_path, "\n".join(str(k) for k in range(60_000)))
    source = open_source(path, interleaved=6)
    assert source.names == ("0", "1", "2", "3", "4", "5")
    np.testing.assert_array_equal(read(source, [4, 1], rows=777), np.arange(60_000).reshape(-1, 6)[:, [4, 1]])
    assert open_source(write(tmp_path, "q\n1\n2\n"), interleaved=2).names == ("q[0]", "q[1]")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=1, max_size=20),
    st.sampled_from([",", ";", "\t", " ", "|"]),
    st.booleans(),
)
def test_any_numbers(tmp_path_factory, rows: list[list[float]], delimiter: str, header: bool) -> None:
    text = "\n".join(delimiter.join(map(repr, row)) for row in rows)
    path = write(tmp_path_factory.mktemp("log"), delimiter.join("xyz") * header + "\n" + text)
    np.testing.assert_array_equal(read(open_source(path)), np.array(rows))


# -- NumPy -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", ">i4", "u8", "f2", "f4", ">f8", "g"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_of_numpy(dtype: str, order: str, tmp_path: Path) -> None:
    values = np.array(np.arange(12).reshape(4, 3) % 7, dtype=dtype, order=order)
    np.savez_compressed(tmp_path / "log.npz", q=values)
    np.testing.assert_array_equal(read(open_source(tmp_path / "log.npz"), rows=3), values.astype(float))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("suffix", [".npz", ".npy"])
def test_arrays_of_joints_by_samples(order: str, suffix: str, tmp_path: Path) -> None:
    """(3, N) with ``transposed``, longer than what is read at once; one row or column stays what it is."""
    q = np.array(np.random.default_rng(0).standard_normal((3, 60_000)), order=order)
    path = tmp_path / f"log{suffix}"
    if suffix == ".npy":
        np.save(path, q)
    else:
        np.savez_compressed(path, q=q, time=np.arange(60_000.0), row=q[:1], column=q[:1].T)
    source = open_source(path, transposed=True)
    names = ["q[2]", "q[0]"] if suffix == ".npz" else ["2", "0"]
    np.testing.assert_array_equal(read(source, names, rows=7001), q[[2, 0]].T)
    if suffix == ".npz":
        assert source.names == ("q[0]", "q[1]", "q[2]", "time", "row", "column[0]")
        np.testing.assert_array_equal(read(source, ["time", "row", "column", "q[1]"])[:, 3], q[1])


def test_which_arrays_are_columns(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "log.npz",
        row=np.ones((1, 5)),
        z=np.ones(5, complex),
        words=np.array(["a"]),
        cube=np.ones((2, 2, 2)),
        none=np.empty((0, 2)),
        info=np.array({"a": 1}),
    )
    source = open_source(tmp_path / "log.npz")
    assert source.names == ("row", "none[0]", "none[1]")
    np.testing.assert_array_equal(read(source, "row"), np.ones((5, 1)))
    assert list(source.blocks(source.find("none"), 10)) == []
    with pytest.raises(RecordingError, match="'info' holds pickled Python objects, which are never read"):
        source.find("info")
    with pytest.raises(RecordingError, match="'z' is complex"):
        source.find(["row", "z"])
    with pytest.raises(RecordingError, match="as many samples each; 'row' is 1×5, 'none' is 0×2"):
        source.blocks([0, 1], 10)


# -- MATLAB ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_types_of_matlab(packed: bool, tmp_path: Path) -> None:
    """SciPy stores each class as such; doubles stored as bytes are in the recorded files."""
    kinds = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?"]
    arrays = {f"v_{k.strip('?') or 'b'}": (np.arange(14).reshape(7, 2) % 5).astype(k) for k in kinds}
    arrays |= {"tiny": np.array([[1, 2, 3]], np.uint8), "pair": np.array([[7], [-8]], np.int16)}
    scipy.io.savemat(tmp_path / "log.mat", arrays, do_compression=packed)
    source = open_source(tmp_path / "log.mat")
    for name, values in arrays.items():
        expected = values.T if values.shape[0] == 1 else values
        np.testing.assert_array_equal(read(source, name), expected.astype(float), err_msg=name)


def test_big_endian_matlab(tmp_path: Path) -> None:
    """Assembled by hand: x, 3×2 doubles stored as 16 bit integers, in the byte order of the other machines."""
    import struct

    def element(kind: int, data: bytes) -> bytes:
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    body = element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", 3, 2))
    body += struct.pack(">HH", 1, 1) + b"x\0\0\0" + element(3, struct.pack(">6h", 1, 2, 3, -4, -5, -6))
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(">H", 0x0100) + b"MI"
    path = write(tmp_path, header + element(14, body), "log.mat")
    np.testing.assert_array_equal(scipy.io.loadmat(path)["x"], [[1, -4], [2, -5], [3, -6]])
    np.testing.assert_array_equal(read(open_source(path), "x"), [[1, -4], [2, -5], [3, -6]])


def test_what_is_a_column_in_matlab(tmp_path: Path) -> None:
    q = np.arange(12.0).reshape(3, 4)
    deep = {"a": {"b": {"q": q}}, "text": "no", "cell": np.array([q, q], object), "empty": np.empty((0, 0)), "x": 1.0}
    things = {
        "rec": deep,
        "z": q + 1j,
        "cube": np.ones((2, 2, 2)),
        "sparse": scipy.sparse.eye(3),
        "several": [deep] * 2,
    }
    scipy.io.savemat(tmp_path / "log.mat", things)
    path = tmp_path / "log.mat"
    assert open_source(path).names == ("rec.a.b.q[0]", "rec.a.b.q[1]", "rec.a.b.q[2]")
    np.testing.assert_array_equal(read(open_source(path)), q.T)
    np.testing.assert_array_equal(read(open_source(path, transposed=False)), q)
    np.testing.assert_array_equal(read(open_source(path, transposed=True), "rec.a.b.q"), q.T)


# -- ROS 2 -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ros_types():
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_joints_that_come_and_go(storage: str, ros_types, tmp_path: Path) -> None:
    """Other orders, subsets, quantities; a message of the gripper alone; another topic, and one of words."""
    start = 1_700_000_000_000_000_007

    def state(stamp: int, *names: str, **values: list[float]) -> tuple[int, object]:
        return start + stamp + 3, joint_state(ros_types, start + stamp, list(names), **values)

    messages = [
        state(0, "a", "b", position=[1, 2], effort=[10, 20]),
        state(1_000_001, "b", "a", position=[4, 3], velocity=[0.4, 0.3]),
        state(2_000_000, "gripper", position=[9]),
        state(3_000_000, "b", position=[5]),
        state(4_000_000),
    ]
    other = [state(5, "x", position=[0])]
    bag = write_bag(tmp_path / "bag", {"/js": messages, "/js2": other, "/rosout": [(start, "hi")]}, storage=storage)
    with pytest.raises(RecordingError, match=r"several topics of sensor_msgs/msg/JointState; choose one .*: /js, /js2"):
        open_source(bag)
    with pytest.raises(RecordingError, match=r"no topic '/rosout' .* its topics are .*/rosout \(std_msgs/msg/String\)"):
        open_source(bag, topic="/rosout")
    source = open_source(bag, topic="/js")
    assert isinstance(source, JointStates)
    arm = ("a.position", "b.position", "gripper.position", "b.velocity", "a.velocity", "a.effort", "b.effort")
    assert set(source.names) == {"time", "received", *arm}
    assert (source.first_stamp, source.first_received) == (start, start + 3)
    nan = np.nan
    np.testing.assert_array_equal(
        read(source, ["time", "received", "a.position", "b.position", "a.velocity", "b.effort"]),
        [[0, 0, 1, 2, nan, 20], [0.001000001, 0.001000001, 3, 4, 0.3, nan], [0.003, 0.003, nan, 5, nan, nan]],
    )
    np.testing.assert_array_equal(read(source, ["time", "gripper.position"]), [[0.002, 9]])
    assert len(read(source, "time")) == 5
    assert open_source(bag, topic="/js2").names == ("time", "received", "x.position")


# -- choosing a reader -------------------------------------------------------------------------------------------------


def test_the_content_decides_before_the_suffix(tmp_path: Path) -> None:
    np.savez(tmp_path / "log.npz", t=np.arange(3))
    np.save(tmp_path / "log.npy", np.arange(3))
    scipy.io.savemat(tmp_path / "log.mat", {"t": np.arange(3)})
    for name, kind in {"log.npz": NumpyArrays, "log.npy": NumpyArrays, "log.mat": MatArrays}.items():
        renamed = (tmp_path / name).rename(tmp_path / f"{name}.csv")
        assert type(open_source(renamed)) is kind
    assert type(open_source(write(tmp_path, "1 2\n", "log.dat"))) is DelimitedText


# -- recorded logs -----------------------------------------------------------------------------------------------------


def test_recorded_text() -> None:
    for name in ("curr_data", "pos_read_data"):
        path = require_data("tx40") / f"{name}.csv"
        source = open_source(path)
        assert source.names == tuple(f"Joint_{k}" for k in range(1, 7))
        np.testing.assert_array_equal(read(source, rows=7000), np.loadtxt(path, delimiter=",", skiprows=1))
    path = require_data("panda") / "exciting_traj_positions.txt"
    values = read(open_source(path, interleaved=7))
    assert values.shape == (20_544, 7)
    np.testing.assert_array_equal(values.ravel(), np.loadtxt(path))


def test_recorded_numpy() -> None:
    path = require_data("lwr4") / "measurements_1.npz"
    with np.load(path) as arrays:
        for key in arrays:
            np.testing.assert_array_equal(read(open_source(path), key), arrays[key].reshape(5027, -1))


@pytest.mark.parametrize("run", ["A", "B"])
def test_recorded_matlab(run: str) -> None:
    path = require_data("kr300") / f"data_{run}.mat"
    rec = scipy.io.loadmat(path)["rec"][0, 0]
    source = open_source(path)
    for field in rec.dtype.names:
        np.testing.assert_array_equal(read(source, f"rec.{field}"), rec[field].T, err_msg=field)
    whole = read(source, ["rec.time_cont", "rec.act_torque_abs_nm", "rec.error_vel_deg_per_s"], rows=600)
    assert whole.shape == (2501, 13)


# -- a last line that is cut off ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n  \n"])
@pytest.mark.parametrize("part", ["7", "7,1.", "7,1,", "7,1,-", "7,1,2.5e", "7,1,2.5e-", "7,1,nu", "-"])
def test_a_last_line_that_is_cut_off_is_left_out_and_told(tmp_path: Path, part: str, end: str) -> None:
    rows = "".join(f"{k},{k},{k}\n" for k in range(60))
    source = DelimitedText(write(tmp_path, "t,a,b\n" + rows + part + end))
    whole = part == "7,1,"  # a cell without anything has no value
    assert [note.subject for note in source.notes] == ([] if whole else ["last line"])
    found = read(source, rows=7)
    np.testing.assert_array_equal(found[:60], np.arange(60.0)[:, None] * np.ones(3))
    assert len(found) == 60 + whole


@pytest.mark.parametrize("rows", [3, 4, 20, 100_000])
def test_a_cut_line_of_short_and_long_files(tmp_path: Path, rows: int) -> None:
    """Shorter than what the layout is found from, and longer than a piece that is read at once."""
    lines = [f"{k} {k} {k}" for k in range(rows)]
    whole = read(DelimitedText(write(tmp_path, "\n".join(lines), "whole.txt")))
    source = DelimitedText(write(tmp_path, "\n".join([*lines, "5 5"]), "cut.txt"))
    assert (rows > 1000) == (source.path.stat().st_size > PIECE_CHARACTERS)
    np.testing.assert_array_equal(read(source), whole)
    assert "'5 5'" in source.notes[0].text


def test_a_whole_last_line_without_an_end_stays(tmp_path: Path) -> None:
    source = DelimitedText(write(tmp_path, "1,2\n3,4\n5,6\n7,8\n9,1"))
    assert not source.notes
    np.testing.assert_array_equal(read(source)[-1], [9.0, 1.0])
