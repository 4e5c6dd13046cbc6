"""Logs while they are written: lines as they come, bad ones left out, files that grow, shrink and are replaced."""

import os
import threading
import time

import numpy as np
import pytest

from exciter.errors import RecordingError
from exciter.experiment.recording.live_recording import open_live
from exciter.experiment.sources import live_text
from exciter.experiment.sources.live_text import Feed
from support import following

HEADER = "time,a.q,a.tau\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(live_text, "POLL_SECONDS", 0.01)


class Bytes(Feed):
    """Given at once, in pieces of any size."""

    def __init__(self, text: str | bytes, size: int = 7) -> None:
        super().__init__(None)
        data = text.encode() if isinstance(text, str) else text
        self.pieces = [data[k : k + size] for k in range(0, len(data), size)]

    def __iter__(self):
        if self._pieces is None:
            self._pieces = iter(self.pieces)
        return self._pieces


def times(file) -> list[float]:
    return [t for piece in file.chunks() for t in piece.time.tolist()]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_lines_are_rows_wherever_the_pipe_cuts_them(size):
    file = open_live(None, feed=Bytes("\ufeff" + HEADER + "0,1,2\r\n0.1,3,4\n\n# remark\n0.2,5,6", size))
    pieces = list(file.chunks())
    assert np.concatenate([piece.time for piece in pieces]).tolist() == [0.0, 0.1, 0.2]
    assert np.concatenate([piece.torque for piece in pieces])[:, 0].tolist() == [2.0, 4.0, 6.0]
    assert file.joints == ("a",)


def test_a_log_that_is_there_is_what_the_reader_of_files_gives(tmp_path):
    log = following.recording(8.0)
    log.save(tmp_path / "log.csv")
    file = open_live(tmp_path / "log.csv", wait=0.0)
    pieces = list(file.chunks())
    assert np.array_equal(np.concatenate([piece.q for piece in pieces]), log.q)
    assert np.array_equal(np.concatenate([piece.torque for piece in pieces]), log.torque)


def test_bad_lines_are_left_out_told_and_counted():
    told: list[str] = []
    rows = "0,1,2\n0.1,x,4\n0.2,5\n0.2,5,6,7\n0.3,nan,1\n0.25,1,1\n0.25,2,2\n0.2,1,1\n0.4,7,8\n0.5,3"
    file = open_live(None, feed=Bytes(HEADER + rows), tell=told.append)
    assert times(file) == [0.0, 0.25, 0.4]
    assert len(told) == 5, "of seven, the first five one by one"
    assert "line 3 is left out: '0.1,x,4' is no row of 3 numbers" in told[0]
    with pytest.raises(RecordingError, match=r"line 5.*3 lines were bad, 2 are left out at most"):
        times(open_live(None, feed=Bytes(HEADER + rows), most_bad=2))


def test_bad_lines_between_the_header_and_the_first_row_are_left_out_like_others():
    told: list[str] = []
    first = "started\n0,5\n# remark\nx,y,z\n"
    file = open_live(None, feed=Bytes(HEADER + first + "0,1,2\n0.1,3,4\n"), tell=told.append)
    assert times(file) == [0.0, 0.1]
    assert [line.partition(": ")[2] for line in told] == [
        "line 2 is left out: 'started' is no row of 3 numbers",
        "line 3 is left out: '0,5' is no row of 3 numbers (2 so far)",
        "line 5 is left out: 'x,y,z' is no row of 3 numbers (3 so far)",
    ]
    with pytest.raises(RecordingError, match=r"line 3.*2 lines were bad, 1 are left out at most"):
        open_live(None, feed=Bytes(HEADER + first + "0,1,2\n"), most_bad=1)


def test_time_that_runs_backwards_is_a_bad_line():
    told: list[str] = []
    assert times(open_live(None, feed=Bytes(HEADER + "1,1,1\n2,1,1\n1.5,1,1\n3,1,1\n"), tell=told.append)) == [1, 2, 3]
    assert "line 4 is left out: the time is 1.5, and was 2 before" in told[0]


def test_foreign_columns_by_a_recording_yaml(tmp_path):
    path = tmp_path / "recording.yaml"
    path.write_text(
        "file: whatever.csv\ndelimiter: ';'\nmissing: [ERR]\njoints: [a]\ntime: {column: t, unit: ms}\n"
        "position: {columns: [enc], unit: deg}\nsigns: [-1]\ncurrent: {columns: [i], unit: A, gains: [2.0]}\n"
    )
    file = open_live(None, path, feed=Bytes("t;enc;i\n0;180;1\n5;90;ERR\n10;90;2\n"))
    (first, *more) = list(file.chunks())
    rows = [first, *more]
    assert np.concatenate([one.time for one in rows]) == pytest.approx([0.0, 0.01])
    assert np.concatenate([one.q for one in rows])[:, 0] == pytest.approx([-np.pi, -np.pi / 2])
    assert np.concatenate([one.needed_torque() for one in rows])[:, 0] == pytest.approx([-2.0, -4.0])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("format: mat", "format mat cannot be read line by line"),
        ("file: log.npz", "format npz cannot be read line by line"),
        ("windows: [{start: 1}]", "windows"),
        ("time: {rate: 100}", "a stream needs a column of time"),
        ("position: {columns: [q], unit: rad, file: other.csv}", "no file 'other.csv'|one source"),
        ("colour: red", "colour"),
    ],
)
def test_what_no_stream_can_have_is_refused(tmp_path, said, told):
    lines = {"file": "x.csv", "joints": "[a]", "time": "{column: t, unit: s}"}
    lines |= {"position": "{columns: [q], unit: rad}", "torque": "{columns: [tau], unit: N·m}"}
    lines |= dict([said.split(": ", 1)])
    path = tmp_path / "recording.yaml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    with pytest.raises(RecordingError, match=told):
        open_live(None, path, feed=Bytes("t,q,tau\n0,1,2\n1,2,3\n"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "ended without a row"),
        ("0,1,2\n1,2,3\n", "the first line must name columns"),
        ("one,two\n1,2\n", "the first line must name columns"),
        (HEADER, "no rows of numbers follow"),
        ("time,a.q,a.tau\n1,2\n", "names 3 columns and line 2 has 2"),
        (HEADER + "\ncut,off\n" * 9, "line 3: 'cut,off' is no row of numbers, as must follow line 1"),
        (HEADER + "a,b,c\n", "line 2: 'a,b,c' is no row of numbers"),
        (HEADER + "0," + "9" * (1 << 21), "longer than|is no row"),
    ],
)
def test_a_stream_without_a_table_is_told_in_a_line(text, told):
    with pytest.raises(RecordingError, match=told):
        times(open_live(None, feed=Bytes(text, 1 << 16), most_bad=0))


def test_places_that_cannot_be_read(tmp_path):
    with pytest.raises(RecordingError, match="cannot read"):
        open_live(tmp_path / "none.csv")
    with pytest.raises(RecordingError, match="is a folder"):
        open_live(tmp_path)
    (tmp_path / "log.npz").write_bytes(b"PK")
    with pytest.raises(RecordingError, match="no text that grows"):
        open_live(tmp_path / "log.npz")


# -- files that grow ---------------------------------------------------------------------------------------------------


def test_a_file_that_grows_is_followed_to_its_end(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "0,1,2\n0.1,")

    def write():
        for k in range(1, 20):
            time.sleep(0.02)
            with path.open("a") as stream:
                stream.write(f"1,2\n{(k + 1) / 10},")

    writer = threading.Thread(target=write)
    writer.start()
    found = times(open_live(path, wait=0.5))
    writer.join()
    assert found == pytest.approx([k / 10 for k in range(20)])


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_a_file_that_begins_anew_is_told_and_read_on(tmp_path, how):
    """Where its clock starts again, its rows come a second after the last."""
    path, told = tmp_path / "log.csv", []
    path.write_text(HEADER + "0,1,2\n10,1,2\n11,1,2\n")
    feed = Feed(path, 1.0, told.append)
    chunks = open_live(path, feed=feed, tell=told.append).chunks()
    seen = next(chunks).time.tolist()
    seen += next(chunks).time.tolist() if seen[-1] < 11 else []
    if how == "truncated":
        path.write_text(HEADER + "0,3,4\n1,3,4\n")
    else:
        (tmp_path / "new.csv").write_text(HEADER + "0,3,4\n1,3,4\n2,3,4\n3,1,1\n4,1,1\n")
        os.replace(tmp_path / "new.csv", path)
    for piece in chunks:
        seen += piece.time.tolist()
        if len(seen) >= 5:
            feed.stop()
    assert seen[:5] == [0.0, 10.0, 11.0, 12.0, 13.0]
    assert len([line for line in told if "read from its start" in line]) == 1
    assert any("starts again" in line for line in told)


def test_a_feed_that_is_stopped_ends_at_once(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "0,1,2\n1,2,3\n")
    feed = Feed(path, 60.0)
    file = open_live(path, feed=feed)
    began = time.monotonic()
    for _ in file.chunks():
        feed.stop()
    assert time.monotonic() - began < 30.0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_ends_when_its_writer_closes_it(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with path.open("w") as stream:
            stream.write(HEADER + "0,1,2\n1,2,3\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert times(open_live(path)) == [0.0, 1.0]
    writer.join()
