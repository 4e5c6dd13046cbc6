"""Logs at a URL: the same as the file, fetched once by whoever reads it; what is wrong is told in one line."""

import os
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

import exciter as ex
from exciter import remote_files
from exciter.cli import main
from exciter.cluster import Cluster
from exciter.errors import RecordingError
from exciter.experiment.recording import open_recording
from exciter.identification.runs.log_file import LogFile
from exciter.pipeline import logs
from exciter.remote_files import (
    CACHE_VARIABLE,
    UNFINISHED_COPY,
    address,
    cache_folder,
    local_file,
    place_of,
    version_of,
)
from support.scripts import benchmark

pytest.importorskip("fsspec")

ROBOT, SAMPLES = "gautier-khalil", 20_000
SECRETS = ("someone", "hunter2", "signature")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Of the server: two logs, and one that a recording.yaml beside it describes."""
    place, log = tmp_path_factory.mktemp("served"), benchmark("memory").log
    for seed in (1, 2):
        ex.Recording.join(list(log(SAMPLES, seed))).save(place / f"log{seed}.npz")
    (place / "recording.yaml").write_text("file: log1.npz\nformat: exciter\n")
    return place


@pytest.fixture(scope="module")
def server(folder):
    pytest.importorskip("aiohttp")
    asked = list[tuple[str, str]]()

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, code="-", size="-"):
            asked.append((self.command, self.path.partition("?")[0]))

        def log_message(self, *words):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    made.asked = asked
    made.url = f"http://127.0.0.1:{made.server_port}"
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return ended.value.code


def test_a_log_is_fetched_once_and_is_the_file(server, folder, cache):
    url = f"{server.url}/log1.npz"
    server.asked.clear()
    here, there = ex.read(folder / "log1.npz"), ex.read(url)
    assert_array_equal(there.q, here.q)
    assert there.name == url
    ex.read(url)
    assert server.asked.count(("GET", "/log1.npz")) == 1
    (copy,) = (path for path in cache.rglob("*") if path.is_file())
    assert copy.read_bytes() == (folder / "log1.npz").read_bytes()
    assert cache.stat().st_mode & 0o077 == 0  # nobody else's


def test_a_file_that_changed_is_fetched_anew(server, folder):
    changing, url = folder / "changing.npz", f"{server.url}/changing.npz"
    shutil.copyfile(folder / "log1.npz", changing)
    before = version_of(url), ex.read(url)
    ex.Recording.join([before[1].between(0.0, 5.0)]).save(changing)
    os.utime(changing, (1e9, 1e9))
    assert version_of(url) != before[0]
    assert len(ex.read(url)) < len(before[1])


def test_a_recording_names_files_by_url_and_beside_itself(server, folder, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(f"file: {server.url}/log1.npz?{SECRETS[2]}\nformat: exciter\n")
    whole = ex.read(folder / "log1.npz")
    for given in (own, f"{server.url}/recording.yaml"):
        assert_array_equal(ex.read(given).torque, whole.torque)
    (source,) = open_recording(own).sources
    assert source.name.startswith(f"{server.url}/log1.npz")
    assert SECRETS[2] not in source.name


def test_a_file_url_is_no_copy(folder, cache):
    path = folder / "log1.npz"
    assert local_file(path.as_uri()) == path
    assert not cache.exists()
    assert_array_equal(ex.read(path.as_uri()).q, ex.read(path).q)


def test_identify_and_inspect_take_urls(server, folder, tmp_path, capsys):
    words = ["--estimator", "wls", "--json", "-q"]
    urls = [f"{server.url}/log{k}.npz?{SECRETS[2]}" for k in (1, 2)]
    assert run("identify", ROBOT, *urls, *words, "-o", str(tmp_path / "there")) == 0
    assert (
        run("identify", ROBOT, *(str(folder / f"log{k}.npz") for k in (1, 2)), *words, "-o", str(tmp_path / "h")) == 0
    )
    one, other = (ex.open(tmp_path / name) for name in ("h", "there"))
    assert_array_equal(other.estimate.values, one.estimate.values)
    assert run("inspect", ROBOT, urls[0]) in (0, 1)
    told = capsys.readouterr()
    every = (
        told.out
        + told.err
        + "".join(
            path.read_text(errors="replace")
            for path in (tmp_path / "there").iterdir()
            if path.suffix in (".json", ".html")
        )
    )
    assert address(urls[0]) in every
    assert SECRETS[2] not in every


def test_every_command_with_logs_refuses_a_url_in_one_line(tmp_path, capsys):
    url = "memory://log.csv"
    for words in (["inspect"], ["actuators", "-o", str(tmp_path / "out")], ["follow", "-q"]):
        assert run(words[0], ROBOT, url, *words[1:]) == 2
        (line,) = (line for line in capsys.readouterr().err.splitlines() if not line.startswith("…"))
        assert "is no URL that logs are read from" in line


@pytest.mark.parametrize(
    "words",
    [
        ("base", "{url}"),
        ("identify", ROBOT, "log.npz", "-o", "{url}"),
        ("identify", ROBOT, "log.npz", "-o", "out", "--config", "{url}"),
        ("identify", ROBOT, "log.npz", "-o", "out", "--planned", "{url}"),
        ("validate", "{url}", "log.npz"),
        ("fleet", "{url}", "-o", "out"),
    ],
)
def test_what_is_no_log_has_a_path(words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*(word.format(url="https://someone:hunter2@host/a.yaml?hunter2") for word in words)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "is a URL; only logs are read from there: give a path" in line
    assert "https://host/a.yaml" in line
    assert "hunter2" not in line
    assert not list(tmp_path.iterdir())


def samples_read(file: LogFile, cache: str) -> tuple[int, int]:
    """By a worker, with a cache of its own: how many, and how many files it fetched."""
    os.environ[CACHE_VARIABLE] = cache
    return sum(len(piece.time) for piece in file()), sum(path.is_file() for path in Path(cache).rglob("*"))


@pytest.mark.slow
def test_workers_fetch_what_they_read(server, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    url = f"{server.url}/log1.npz"
    task = LogFile(url, ex.load(ROBOT), open_recording(url).sources), str(tmp_path / "theirs")
    monkeypatch.setattr(logs, "HELD_BYTES", 400_000)  # a few seconds are long
    with Cluster("local:1").ready() as cluster:
        assert next(cluster.over(samples_read, [task])) == (SAMPLES, 1)
        there = ex.identify(ROBOT, [url], estimator="wls", workers=cluster)
    here = ex.identify(ROBOT, [url], estimator="wls")
    assert there.identification.problem.elsewhere == (0,)
    assert_array_equal(there.estimate.values, here.estimate.values)


def test_robots_of_a_fleet_have_logs_at_urls(server, folder, tmp_path):
    robots = {f"R{k}": f"{server.url}/log{k}.npz?{SECRETS[2]}" for k in (1, 2)} | {"gone": f"{server.url}/none.npz"}
    asked = {"description": ROBOT, "robots": robots}
    made = ex.fleet(asked, tmp_path / "fleet", choose_from=1)
    assert {one.name: one.status for one in made.robots} == {"R1": "identified", "R2": "identified", "gone": "refused"}
    assert "there is nothing at" in made.refused[0].reason
    text = "".join(path.read_text() for path in (tmp_path / "fleet").rglob("*.json"))
    assert SECRETS[2] not in text
    server.asked.clear()
    ex.fleet(asked, tmp_path / "fleet", choose_from=1)  # all is there
    assert ("GET", "/log1.npz") not in server.asked


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{url}/none.npz", "there is nothing at {url}/none.npz; check the URL"),
        ("http://someone:hunter2@127.0.0.1:9/log.npz?signature", "cannot read http://127.0.0.1:9/log.npz?"),
        ("s3://bucket/log.npz", "cannot read s3://bucket/log.npz: Install s3fs"),
        ("memory://log.npz", "'memory://log.npz' is no URL that logs are read from; give http, https, file, s3"),
        ("zip://log.npz::{url}/logs.zip", "is no URL that logs are read from"),
        ("file:///nowhere/log.npz", "there is nothing at file:///nowhere/log.npz; check the URL"),
        ("{folder}", "is a folder; give the URL of a file"),
    ],
)
def test_what_is_wrong_is_one_line(server, folder, tmp_path, capsys, given, told):
    url = given.format(url=server.url, folder=folder.as_uri())
    assert run("identify", ROBOT, url, "-o", str(tmp_path / "out")) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if not line.startswith("…"))
    assert told.format(url=server.url) in line
    assert not any(secret in line for secret in SECRETS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("missing", ["fsspec", "aiohttp"])
def test_without_the_extra_the_message_names_it(monkeypatch, missing, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, missing, None)
    assert run("identify", ROBOT, "https://127.0.0.1:9/log.npz", "-o", str(tmp_path / "out")) == 2
    assert f"needs {missing}, which is not installed; pip install 'exciter[cluster]'" in capsys.readouterr().err


def test_copies_are_bounded(server, cache, monkeypatch):
    size = len(local_file(f"{server.url}/log1.npz").read_bytes())
    os.utime(next(cache.iterdir()), (1.0, 1.0))
    monkeypatch.setattr(remote_files, "MOST_CACHED_BYTES", int(1.5 * size))
    local_file(f"{server.url}/log2.npz")
    assert [path.name for path in cache.rglob("*.npz")] == ["log2.npz"]  # the older one went
    monkeypatch.setattr(remote_files, "MOST_CACHED_BYTES", size // 2)
    with pytest.raises(RecordingError, match=r"larger than the .* GB that copies may have here"):
        local_file(f"{server.url}/log1.npz")
    assert [path.name for path in cache.rglob("*.npz")] == ["log2.npz"]  # nothing goes for what has no room anyway


def test_a_server_that_sends_more_than_it_says_is_stopped(server, cache, monkeypatch):
    monkeypatch.setattr(remote_files, "MOST_CACHED_BYTES", 1000)
    real = remote_files._found

    def unsaid(url: str):
        system, place, about = real(url)
        return system, place, {key: value for key, value in about.items() if key != "size"}

    monkeypatch.setattr(remote_files, "_found", unsaid)
    with pytest.raises(RecordingError, match="larger than"):
        local_file(f"{server.url}/log1.npz")
    assert not list(cache.rglob(f"*{UNFINISHED_COPY}"))
    assert not list(cache.rglob("*.npz"))


def test_addresses_have_no_secrets():
    assert address("https://someone:hunter2@host:1/a/b.npz#x") == "https://host:1/a/b.npz"
    for password in ("hunter/2", "hunter?2", "hunter#2"):  # as they are, which no URL allows
        assert address(f"https://someone:{password}@host:1/a/b.npz") == "https://host:1/a/b.npz"
    for whole in ("https://host:80/a@b/c", "https://[::1]:80/a@b", "hf://datasets/a/b@main/c.npz"):
        assert address(whole) == whole
    assert address("https://host/log?a=1") != address("https://host/log?a=2")
    assert address(Path("logs/a.npz")) == "logs/a.npz"
    assert place_of("logs/a.npz", "the log") == Path("logs/a.npz")
    assert place_of("s3://bucket/a.npz", "the log") == "s3://bucket/a.npz"


def test_the_cache_has_a_usual_place(monkeypatch, tmp_path):
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "exciter" / "logs"
