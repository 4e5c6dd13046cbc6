"""A damaged or hostile log is refused in one clear line, in bounded memory and time, and is never unpickled."""

from __future__ import annotations

import io
import os
import random
import struct
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording import read_recording
from exciter.experiment.sources import ros2
from exciter.experiment.sources import source as source_module
from exciter.experiment.sources.delimited import DelimitedText
from exciter.experiment.sources.npz import NumpyArrays
from exciter.experiment.sources.open_source import open_source
from support.log_files import bag, joint_state, mat, npy, npz, parquet, sage, table, text, torch, write_bag

MEGABYTES = 40  # that reading a small file may take


def consume(path: Path, format: str | None = None, **options: object) -> None:
    """Read everything, and keep nothing."""
    source = open_source(path, format, **options)
    for block in source.blocks(range(len(source.names)), 1000):
        assert block.shape[1] == len(source.names)


def refusal(path: Path, format: str | None = None, **options: object) -> str:
    """The one line with which the file is refused, after little memory was taken."""
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError) as caught:
            consume(path, format, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEGABYTES * 1e6
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 600
    return line


def write(folder: Path, content: str | bytes, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# -- any file ----------------------------------------------------------------------------------------------------------


def test_no_file_to_read(tmp_path: Path) -> None:
    assert "there is no file" in refusal(tmp_path / "missing.csv")
    assert "is a folder without metadata.yaml" in refusal(tmp_path)
    assert "is empty" in refusal(write(tmp_path, ""))
    assert "there is no file" in refusal(tmp_path / "nul\0byte.csv")
    assert "packed by gzip; unpack it first" in refusal(write(tmp_path, b"\x1f\x8b\x08\0\0\0"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "is no ordinary file" in refusal(tmp_path / "pipe")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path, "1,2\n")
    path.chmod(0)
    assert "Permission denied" in refusal(path)


def test_unknown_words(tmp_path: Path) -> None:
    path = write(tmp_path, "1,2\n")
    assert "unknown format 'xlsx'; valid names: csv, npz" in refusal(path, "xlsx")
    assert "unknown option 'delimeter'; valid names: delimiter, header" in refusal(path, delimeter=",")
    np.savez(tmp_path / "log.npz", t=np.ones(3))
    assert "unknown option 'topic'; valid names: transposed (format npz)" in refusal(tmp_path / "log.npz", topic="/a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "ab"}, "delimiter is 'ab'; give one character"),
        ({"delimiter": 3}, "delimiter is 3"),
        ({"delimiter": "1"}, "delimiter is '1'"),
        ({"header": "yes"}, "header is 'yes'"),
        ({"decimal": ";"}, "decimal is ';'; allowed are '.' and ','"),
        ({"decimal": ",", "delimiter": ","}, "delimiter and decimal are both ','"),
        ({"missing": "ERR"}, "missing is 'ERR'; give a list of words"),
        ({"missing": ["ERR", 3]}, "give a list of words"),
        ({"missing": ["-999"]}, "missing has '-999', which is a number"),
        ({"missing": ["#N/A"]}, "what follows '#' is a comment"),
        ({"comment": ""}, "comment is ''"),
        ({"skip": -1}, "skip is -1"),
        ({"skip": 1.5}, "skip is 1.5"),
        ({"skip": 9}, "holds no rows of numbers"),
        ({"interleaved": 0}, "interleaved is 0"),
        ({"interleaved": "7"}, "interleaved is '7'"),
        ({"interleaved": 2}, "has 2 columns; interleaved means one number per line"),
    ],
)
def test_wrong_settings_of_text(options: dict[str, object], message: str, tmp_path: Path) -> None:
    assert message in refusal(write(tmp_path, "1,2\n3,4\n"), **options)


@pytest.mark.parametrize("name", ["log.npz", "log.npy", "log.mat", "log.mcap", "log.db3", "log.pt", "log.parquet"])
def test_wrong_suffix(name: str, tmp_path: Path) -> None:
    """Text where the suffix promises something else."""
    line = refusal(write(tmp_path, "time,a\n0,1\n", name))
    words = (
        "is not a NPZ",
        "no MAT file of version 5",
        "no MCAP",
        "cannot be read as a ROS",
        "is no archive",
        "no Parquet",
    )
    assert any(word in line for word in words)


# -- text --------------------------------------------------------------------------------------------------------------

GOOD = "".join(f"{k},{k},{k}\n" for k in range(900))
TEXT_CASES = {
    "words": (GOOD + "1,abc,2\n" + GOOD, "line 901: 'abc' is not a number"),
    "words in the first rows": ("t,a\n0,1\n1,abc\n", "line 3: 'abc' is not a number"),
    "underscore": ("0,1\n2,1_0\n", "line 2: '1_0' is not a number"),
    "hexadecimal": ("0,1\n2,0x10\n", "line 2: '0x10' is not a number"),
    "two numbers in one cell": ("0,1\n" * 3 + "2,3 4\n", "line 4: '3 4' is not a number"),
    "too few": (GOOD + "1,2\n" + GOOD, "line 901 has 2 columns, expected 3"),
    "a last line that is no row": (GOOD + "3 rows\n", "line 901 has 1 columns, expected 3"),
    "a last line that begins otherwise": (GOOD + "1,end,2", "line 901: 'end' is not a number"),
    "two last lines": (GOOD + "1,2\n1", "line 901 has 2 columns, expected 3"),
    "too many": (GOOD + "1,2,3,4\n", "line 901 has 4 columns, expected 3"),
    "units under the names": ("t,q\n[s],[rad]\n0,1\n", "line 2: '[s]' is not a number; lines that are no data"),
    "names that do not fit": ("a,b\n1,2,3\n1,2,3\n", "line 1 names 2 columns and line 2 has 3"),
    "header alone": ("time,a\n", "line 1 is a header (time,a) and no rows of numbers follow"),
    "comments alone": ("# a\n\n# b\n", "holds no rows of numbers"),
    "decimal commas": (
        "t;a\n0,5;1,5\n1,0;2,5\n",
        "line 2: '0,5' has a decimal comma; say decimal: \",\" in a recording.yaml",
    ),
    "decimal commas between blanks": ("0,5 1,5\n1,0 2,5\n", "has a decimal comma"),
    "decimal commas in quotes": ('t,a\n"0,5","1,5"\n"1,0","2,5"\n', "line 2: '0,5' has a decimal comma"),
    "a word for nothing": ("t,a\n0,1\n1,ERR\n", "named in a recording.yaml: missing: ['ERR']"),
    "a late decimal comma": ("t;a\n0;1\n" + "1;2\n" * 99 + "1;2,5\n", "line 102: '2,5' has a decimal comma"),
    "a form feed behind a row": (GOOD + "1,2,3\f\n", "line 901 has a character at which some readers begin a new line"),
    "two rows for few readers": (GOOD + "1 2 3\x1c4 5 6\n".replace(" ", ","), "line 901 has a character at which some"),
    "a blank of a kind": (("0 1 2\n" * 9 + "0 1\x1d2\n"), "line 10 has a character at which some"),
    "an end of lines of Unicode": (("0,1\n" * 9 + "0,1\u2028\n"), "line 10 has a character at which some"),
    "NUL": ("1,2\n3,\0\n", "line 2 has a NUL byte"),
    "UTF-16": ("1,2\n".encode("utf-16"), "is text in UTF-16; save it as UTF-8"),
    "binary": (bytes(range(256)) * 40, "NUL byte"),
    "many columns": (",".join("1" * 10_001) + "\n", "line 1 has more than 10000 columns"),
    "10⁶ columns": ("1," * 1_000_000 + "1\n", "line 1 is longer than 1048576 characters"),
    "one endless line": ("1" * 5_000_000, "line 1 is longer than 1048576 characters"),
    "a late endless line": ("1,2\n" * 10 + "3" * 5_000_000, "line 11 is longer than"),
    "many digits": ("1" * 900_000, "line 1 is a header"),
    "many digits later": ("1,2\n" * 30 + "3," + "4" * 900_000 + "x", "line 31: '4444"),
    "many blanks": ("1,2\n" * 30 + "3," + " " * 900_000 + "x", "line 31: 'x' is not a number"),
    "an endless quote": ('a,b\n1,"' + "2\n" * 1000, "line 2"),
    "prose": ("This is a note.\nIt has no numbers, only words.\n", "line"),
}


@pytest.mark.parametrize("case", TEXT_CASES.values(), ids=TEXT_CASES.keys())
def test_bad_text(case: tuple[str | bytes, str], tmp_path: Path) -> None:
    content, message = case
    path = write(tmp_path, content)
    line = refusal(path)
    assert message in line
    assert str(path) in line


def test_samples_that_are_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path, "\n".join("1" * 20))
    assert "has 20 values, which are no whole number of samples of 7" in refusal(path, interleaved=7)


def test_columns_that_are_not_chosen_are_counted(tmp_path: Path) -> None:
    source = DelimitedText(write(tmp_path, "t,a,b\n0,1,2\n1,2,3,4\n"))
    with pytest.raises(RecordingError, match="line 3 has 4 columns, expected 3"):
        list(source.blocks([0], 10))


# -- NumPy -------------------------------------------------------------------------------------------------------------


class Trap:
    """Unpickling it would be noticed."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return pytest.fail, ("a pickle was read",)


@pytest.mark.parametrize("name", ["log.npz", "log.npy"])
def test_pickles_are_never_read(name: str, tmp_path: Path) -> None:
    trap = np.array([Trap()], dtype=object)
    if name == "log.npz":
        np.savez(tmp_path / name, q=trap)
    else:
        np.save(tmp_path / name, trap, allow_pickle=True)
    assert "holds pickled Python objects, which are never read" in refusal(tmp_path / name)
    np.savez(tmp_path / "mixed.npz", q=trap, t=np.arange(3))
    source = open_source(tmp_path / "mixed.npz")
    assert source.names == ("t",)
    with pytest.raises(RecordingError, match="'q' holds pickled Python objects"):
        source.find("q")


def npy_bytes(header: str, data: bytes = b"", length: int | None = None) -> bytes:
    text = header.encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text) if length is None else length) + text + data


HEADER = "{{'descr': {}, 'fortran_order': False, 'shape': {}}}"
NPY_CASES = {
    "cut off": (npy_bytes(HEADER.format("'<f8'", "(9, 2)"), b"\0" * 100), "should hold (9, 2) numbers"),
    "too long": (npy_bytes(HEADER.format("'<f8'", "(1,)"), b"\0" * 100), "the file has 100 bytes of it"),
    "negative": (npy_bytes(HEADER.format("'<f8'", "(-1,)"), b"\0" * 8), "should hold (-1,) numbers"),
    "huge": (npy_bytes(HEADER.format("'<f8'", f"({10**30},)"), b"\0" * 8), "numbers, and the file has 8 bytes"),
    "huge header": (npy_bytes("", length=4_000_000_000), "has a header of 4000000000 bytes, at most 10000"),
    "no header": (npy_bytes("{" * 5000), "has a header that is none of NumPy's"),
    "code": (npy_bytes("__import__('os').getcwd()"), "has a header that is none of NumPy's"),
    "unknown version": (b"\x93NUMPY\x09\x00" + bytes(20), "does not start as an array of NumPy"),
    "fields": (npy_bytes(HEADER.format("[('t', '<f8')]", "(1,)"), b"\0" * 8), "is no array of numbers"),
    "10⁶ columns": (npy_bytes(HEADER.format("'|b1'", "(2, 1000000)"), b"\0" * 2_000_000), "has 1000000 columns"),
}


@pytest.mark.parametrize("case", NPY_CASES.values(), ids=NPY_CASES.keys())
@pytest.mark.parametrize("name", ["log.npy", "log.npz"])
def test_bad_arrays(case: tuple[bytes, str], name: str, tmp_path: Path) -> None:
    content, message = case
    path = write(tmp_path, content, name)
    if name == "log.npz":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("q.npy", content)
    assert message in refusal(path)


def test_arrays_with_time_along_the_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "log.npz", q=np.zeros((7, 5000)), qd=np.zeros((7, 5000)), tau=np.zeros((7, 5000)))
    assert "samples must run along the rows, or say transposed: true" in refusal(tmp_path / "log.npz")
    np.savez(tmp_path / "log.npz", t=np.zeros(12_000), q=np.zeros((7, 12_000)))
    with pytest.raises(RecordingError, match=r"'q' has 12000 columns, .* or say transposed: true"):
        open_source(tmp_path / "log.npz").find("q")
    assert open_source(tmp_path / "log.npz", transposed=True).find("q") == tuple(range(1, 8))
    assert "transposed is 1.5; give true, false" in refusal(tmp_path / "log.npz", transposed=1.5)


def zeros(path: Path, gigabytes: float) -> None:
    """A deflated array of zeros; written piece by piece."""
    count = int(gigabytes * 2**27)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("z.npy", "w", force_zip64=True) as file,
    ):
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (count,)})
        file.write(head.getvalue())
        for _ in range(0, count, 2**17):
            file.write(bytes(2**20))


def test_zip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered, so that the test need not write gigabytes; what counts is the rule."""
    monkeypatch.setattr(source_module, "UNPACKED_BYTES_LIMIT", 2**24)
    path = tmp_path / "log.npz"
    zeros(path, 2**-5)
    assert path.stat().st_size < 2**16
    assert "unpacks to" in refusal(path)
    # the same constant signal beside a measured one is a recording
    np.savez_compressed(path, q=np.random.default_rng(0).standard_normal(40_000))
    zeros(path, 2**-5)
    assert "z" in open_source(path).names
    assert len(list(open_source(path).blocks([1], 2**20))) == 4


def test_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "log.npz", "w") as archive:
        for k in range(101):
            archive.writestr(f"{k}.npy", b"")
    with monkeypatch.context() as changed:
        changed.setattr("exciter.experiment.sources.npz.MOST_COLUMNS", 100)
        assert "has 101 arrays; at most 100" in refusal(tmp_path / "log.npz")
    monkeypatch.setattr("exciter.experiment.sources.npz.DIRECTORY_BYTES_LIMIT", 1000)
    assert "a table of contents of" in refusal(tmp_path / "log.npz")


def test_strange_archives(tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("q.npy", bytes(1000))
    assert "is packed in an unusual way" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<a/>")
    assert "holds no arrays of numbers: the archive has no .npy member" in refusal(path)
    np.savez(path, q=np.arange(9.0))
    write(tmp_path, path.read_bytes()[:-40], path.name)
    assert "is cut off" in refusal(path)


def test_damaged_names_and_headers_of_arrays_are_refused_in_words(tmp_path: Path) -> None:
    """Any byte of the member's names and of the array's header, which NumPy gives to Python's parser."""
    path = tmp_path / "log.npz"
    np.savez(path, q=np.arange(9.0))
    whole = path.read_bytes()
    starts = [whole.index(b"q.npy"), whole.rindex(b"q.npy"), *range(whole.index(b"{"), whole.index(b"}") + 1)]
    places = {start + k for start in starts[:2] for k in range(5)} | set(starts[2:])
    refused = 0
    for place in sorted(places):
        for byte in b"\x00\xff(\\{'L9":
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            try:
                list(NumpyArrays(path).blocks([0], 100))
            except RecordingError:
                refused += 1
    assert refused > len(places)
    rest = ", 'fortran_order': False, 'shape': (9,), }"
    headers = ["(" * 300, "{b'descr': 1, 2: 3}", f"{{'descr': '<f8\\ud800'{rest}", f"{{'descr': '<M8[5/0s]'{rest}"]
    for header in headers:
        with zipfile.ZipFile(path, "w") as archive:
            content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(72)
            archive.writestr("q.npy", content)
        assert "has a header that is none of NumPy's" in refusal(path)


def test_columns_in_fortran_order_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "log.npz", q=np.zeros((100, 9), order="F"))
    monkeypatch.setattr(source_module, "COLUMN_BYTES_LIMIT", 3000)
    source = NumpyArrays(tmp_path / "log.npz")
    assert len(list(source.blocks([0, 8], 100))) == 1
    with pytest.raises(RecordingError, match="save 'q' as samples × joints in C order"):
        list(source.blocks([0, 1, 2], 100))


# -- MATLAB ------------------------------------------------------------------------------------------------------------

MAT_HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def element(kind: int, data: bytes, size: int | None = None) -> bytes:
    return struct.pack("<II", kind, len(data) if size is None else size) + data + bytes(-len(data) % 8)


def array(kind: int, shape: bytes, name: bytes, data: bytes) -> bytes:
    return element(6, struct.pack("<II", kind, 0)) + element(5, shape) + element(1, name) + data


def compressed(data: bytes, cut: int | None = None, end: bytes = b"") -> bytes:
    """An element of packed data, which is not padded."""
    data = zlib.compress(data)[:cut] + end
    return struct.pack("<II", 15, len(data)) + data


THREE = struct.pack("<ii", 3, 1)
X = element(14, array(6, THREE, b"x", element(9, bytes(24))))


def nested(depth: int) -> bytes:
    inner = element(14, array(6, THREE, b"", element(9, bytes(24))))
    for k in range(depth):
        fields = element(5, struct.pack("<i", 2)) + element(1, b"a\0") + inner
        inner = element(14, array(2, struct.pack("<ii", 1, 1), b"s" if k == depth - 1 else b"", fields))
    return inner


MAT_CASES = {
    "version 7.3": (
        b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n",
        "version 7.3 (HDF5), which is not read; save it",
    ),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(200), "version 7.3 (HDF5)"),
    "version 4": (struct.pack("<5i", 0, 3, 1, 0, 2) + b"x\0" + bytes(24), "no MAT file of version 5"),
    "header alone": (MAT_HEADER, "holds no arrays of numbers"),
    "cut off": (MAT_HEADER + element(14, bytes(8), 1000), "1000 bytes are announced and 8 are left"),
    "lying about itself": (
        MAT_HEADER + element(14, array(6, THREE, b"x", element(9, bytes(24), 2**31))),
        "'x' is 3×1 and 2147483648 bytes of type 9 follow",
    ),
    "lying about its shape": (
        MAT_HEADER + element(14, array(6, struct.pack("<ii", 2**30, 2**30), b"x", element(9, bytes(24)))),
        "'x' is 1073741824×1073741824 and 24 bytes",
    ),
    "nothing packed": (MAT_HEADER + compressed(b""), "ends too early"),
    "packed and cut off": (MAT_HEADER + compressed(X, -20), "ends too early"),
    "wrong checksum": (MAT_HEADER + compressed(X, -1, b"!"), "incorrect data check"),
    "packed zeros": (
        MAT_HEADER + compressed(struct.pack("<II", 14, 2**32 - 1) + bytes(2**22)),
        "unpacks to 4294967295, as no recording does",
    ),
    "text of a field": (
        MAT_HEADER + element(14, array(2, struct.pack("<ii", 1, 1), b"s", element(5, bytes(4)) + element(1, b"a\0"))),
        "names of 0 characters",
    ),
    "structs without end": (MAT_HEADER + nested(200), "holds no arrays of numbers"),
    "10⁶ columns": (
        MAT_HEADER + element(14, array(9, struct.pack("<ii", 1001, 1000), b"x", element(2, bytes(1001000)))) * 11,
        "has 11000 columns, at most 10000",
    ),
    "the same name": (MAT_HEADER + X * 2, "of the same name"),
}


@pytest.mark.parametrize("case", MAT_CASES.values(), ids=MAT_CASES.keys())
def test_bad_matlab(case: tuple[bytes, str], tmp_path: Path) -> None:
    content, message = case
    assert message in refusal(write(tmp_path, content, "log.mat"), "mat")


def test_wrong_settings_and_lengths_of_matlab(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "log.mat", {"t": np.arange(5.0), "q": np.zeros((6, 2))})
    assert "transposed is 'yes'" in refusal(tmp_path / "log.mat", transposed="yes")
    assert "as many samples each; 't' is 1×5, 'q' is 6×2" in refusal(tmp_path / "log.mat")


def test_columns_of_matlab_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scipy.io.savemat(tmp_path / "log.mat", {"q": np.zeros((100, 9))})
    monkeypatch.setattr(source_module, "COLUMN_BYTES_LIMIT", 3000)
    assert len(list(open_source(tmp_path / "log.mat").blocks([0, 1, 2], 100))) == 1
    assert "the chosen columns need 7200 bytes at once" in refusal(tmp_path / "log.mat")


# -- ROS 2 -------------------------------------------------------------------------------------------------------------


def ros_types():
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def test_rosbags_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bag("mcap")(tmp_path, table(3))
    for name in [name for name in sys.modules if name.partition(".")[0] == "rosbags"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rosbags", None)
    assert "needs rosbags" in (line := refusal(path))
    assert line.endswith("pip install 'exciter[ros]'")


def test_bags_without_joint_states(tmp_path: Path) -> None:
    words = write_bag(tmp_path / "words", {"/rosout": [(1, "hi")]})
    assert "has no topic of sensor_msgs/msg/JointState; its topics are /rosout (std_msgs/msg/String)" in refusal(words)
    empty = write_bag(tmp_path / "empty", {"/js": []})
    assert "there are no messages of '/js'" in refusal(empty)
    assert "topic is 3; give its name" in refusal(empty, topic=3)


@pytest.mark.parametrize(
    ("names", "values"), [(["a", "b"], [1.0]), (["a", "a"], [1.0, 2.0]), ([], [1.0])], ids=["few", "twice", "nameless"]
)
def test_messages_that_do_not_fit_themselves(names: list[str], values: list[float], tmp_path: Path) -> None:
    path = write_bag(tmp_path / "bag", {"/js": [(1, joint_state(ros_types(), 1, names, position=values))]})
    assert "every joint needs one name and one number of each" in refusal(path)


def test_bags_packed_as_files(tmp_path: Path) -> None:
    path = bag("sqlite3", "file")(tmp_path, table(3))
    assert "packed file by file; unpack one (unzstd bag.db3.zstd) and give that file" in refusal(path)


METADATA_CASES = {
    "no yaml": ("a: [", "does not describe a ROS 2 bag"),
    "other yaml": ("a: 1", "does not describe a ROS 2 bag ('rosbag2_bagfile_information')"),
    "a list": ("[1]", "does not describe a ROS 2 bag"),
    "deep": ("[" * 20_000, "does not describe a ROS 2 bag"),
    "other storage": (
        "rosbag2_bagfile_information: {storage_identifier: tape, relative_file_paths: [a]}",
        "names a storage other than mcap, sqlite3, or no files",
    ),
    "no such file": (
        "rosbag2_bagfile_information: {storage_identifier: mcap, relative_file_paths: [../../etc/passwd]}",
        "lacks its file passwd",
    ),
    "little": (
        "rosbag2_bagfile_information: {storage_identifier: sqlite3, relative_file_paths: [metadata.yaml]}",
        "cannot be read as a ROS 2 bag",
    ),
    "long": ("#" * 2_000_000, "has 2000000 bytes, at most"),
}


@pytest.mark.parametrize("case", METADATA_CASES.values(), ids=METADATA_CASES.keys())
def test_bad_metadata(case: tuple[str, str], tmp_path: Path) -> None:
    content, message = case
    write(tmp_path, content, "metadata.yaml")
    assert message in refusal(tmp_path)


def test_packed_messages_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bag("sqlite3", "message")(tmp_path, table(3))
    monkeypatch.setattr("exciter.experiment.sources.ros2.ROS_MESSAGE_BYTES_LIMIT", 20)
    assert "packed data become more than the 20 bytes that were expected" in refusal(path)


def mcap_with(chunk: bytes) -> bytes:
    """A MCAP file of one record, without a summary."""
    header = struct.pack("<BQI4sI", 1, 12, 4, b"ros2", 0)
    return ros2.MCAP_MAGIC + header + chunk + struct.pack("<BQQQI", 2, 20, 0, 0, 0) + ros2.MCAP_MAGIC


def chunk(packing: bytes, data: bytes, unpacked: int) -> bytes:
    body = struct.pack("<QQQII", 0, 1, unpacked, 0, len(packing)) + packing + struct.pack("<Q", len(data)) + data
    return struct.pack("<BQ", 6, len(body)) + body


def packed(packing: str, data: bytes) -> bytes:
    if packing == "lz4":
        import lz4.frame

        return lz4.frame.compress(data)
    from importlib import import_module

    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd").compress(data)


@pytest.mark.parametrize("packing", ["zstd", "lz4"])
def test_mcap_bombs(packing: str, tmp_path: Path) -> None:
    zeros = packed(packing, bytes(2**26))
    name = packing.encode()
    path = write(tmp_path, mcap_with(chunk(name, zeros, 2**26 + 5)), "log.mcap")
    (tmp_path / "lying").mkdir()
    lying = write(tmp_path / "lying", mcap_with(chunk(name, zeros, 1000)), "log.mcap")
    twice = write(tmp_path, mcap_with(chunk(name, packed(packing, bytes(1000)) + zeros, 1000)), "twice.mcap")
    huge = write(tmp_path, mcap_with(chunk(name, zeros, 2**40)), "huge.mcap")
    assert "become more than the 1000 bytes that were expected" in refusal(lying)
    assert "become more than the 1000 bytes that were expected" in refusal(twice)
    assert "unpacks to 1099511627776, at most 268435456 are read" in refusal(huge)
    with pytest.raises(RecordingError, match="does not unpack to 67108869 bytes"):
        open_source(path)


def test_mcap_summary_must_be_true(tmp_path: Path) -> None:
    """The index is changed to name one chunk twice, at an odd place, or longer than it is."""
    path = bag("mcap", "storage", single=True)(tmp_path, table(5))
    content = path.read_bytes()
    at = content.rindex(b"\x08", 0, content.rindex(b"zstd"))  # the record that names the chunk
    (length,) = struct.unpack_from("<Q", content, at + 1)
    assert at + 9 < content.rindex(b"zstd") < at + 9 + length
    for offset in (9 + 16, 9 + length - 16, 9 + length - 8):  # place, bytes, bytes unpacked
        changed = bytearray(content)
        changed[at + offset + 1] ^= 0x10
        assert "its summary does not fit its chunks" in refusal(write(path.parent, bytes(changed), path.name))
    record = content[at : at + 9 + length]
    twice = write(path.parent, content[:at] + record + content[at:], path.name)
    assert "its summary does not fit its chunks" in refusal(twice)


def test_mcap_chunks_that_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bag("mcap", "storage")(tmp_path, table(5))
    monkeypatch.setattr(ros2, "OVERLAP_BYTES_LIMIT", 100)
    assert "overlap in time; sort it by 'mcap sort'" in refusal(path)


def test_mcap_that_was_not_closed(tmp_path: Path) -> None:
    path = bag("mcap", single=True)(tmp_path, table(5))
    assert "repair it by 'mcap recover'" in refusal(write(path.parent, path.read_bytes()[:-100], path.name))


# -- fuzzing -----------------------------------------------------------------------------------------------------------

SEEDS: dict[str, Callable[[Path, np.ndarray], Path]] = {
    "csv": text(","),
    "blanks": text(" "),
    "npz": npz(np.savez),
    "npz-packed": npz(np.savez_compressed),
    "npy": npy("F"),
    "mat": mat(False, False),
    "mat-packed": mat(True, True),
    "pt": torch("<", zipfile.ZIP_STORED),
    "pt-packed": torch(">", zipfile.ZIP_DEFLATED),
    "parquet": parquet,
    "sage": sage,
    "sqlite": bag("sqlite3"),
    "mcap": bag("mcap"),
    "mcap-packed": bag("mcap", "storage", single=True),
}
LENGTHS = (
    b"\xff" * 4,
    b"\0" * 4,
    b"\xff\xff\xff\x7f",
    b"\x7f\xff\xff\xff",
    b"\0\0\0\x10",
    b"\0\0\0\0\1\0\0\0",
    b"\xff" * 8,
)


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Bits flipped, lengths overwritten, parts cut out, doubled or put in, the end cut off."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data) + 1)
        length = rng.randrange(1, 40)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if at < len(data) else b""
            case 2:
                marks = rng.choice(LENGTHS)
                data[at : at + len(marks)] = marks
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = rng.randbytes(length) if rng.random() < 0.5 else data[:length]
            case 5:
                del data[at:]
    return bytes(data)


@pytest.fixture(scope="module", params=list(SEEDS))
def healthy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Path, bytes]]:
    path = SEEDS[request.param](tmp_path_factory.mktemp("log"), table(30))
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return path, {file: file.read_bytes() for file in files}


@seed(4)
@settings(max_examples=40, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_damaged_files(healthy: tuple[Path, dict[Path, bytes]], number: int) -> None:
    """Nothing but a refusal or numbers; little memory."""
    path, files = healthy
    rng = random.Random(number)
    file = rng.choice(list(files))
    file.write_bytes(damaged(files[file], rng))
    line = ""
    tracemalloc.start()
    try:
        consume(path)
    except ExciterError as error:
        line = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        file.write_bytes(files[file])
    assert peak < MEGABYTES * 1e6
    assert "\n" not in line
    assert len(line) < 600


def test_names_whose_size_is_a_lie_are_not_unpacked_beyond_their_limit(tmp_path: Path) -> None:
    """A recording of ours whose joint names unpack to 60 MB, while the directory of the archive says a few bytes."""

    def stored(array: np.ndarray) -> bytes:
        content = io.BytesIO()
        np.save(content, array)
        return content.getvalue()

    path, names = tmp_path / "log.npz", stored(np.array(["a", "b"]))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("time.npy", stored(np.arange(10.0)))
        archive.writestr("q.npy", stored(np.zeros((10, 2))))
        archive.writestr("joints.npy", names + bytes(60_000_000))
    data = bytearray(path.read_bytes())
    entry = data.rfind(b"joints.npy") - 46
    struct.pack_into("<I", data, entry + 24, len(names))
    struct.pack_into("<I", data, entry + 16, zlib.crc32(names))
    path.write_bytes(data)
    tracemalloc.start()
    with suppress(RecordingError):
        read_recording(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
