"""Commands on a cluster: what they write is what one machine writes, whatever happens to workers and scheduler."""

import json
import os
import signal
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter import cluster as cluster_module
from exciter.cli import main
from exciter.cluster import Cluster, _open
from exciter.kept_results import KEPT_FOLDER
from exciter.pipeline import logs
from support.scripts import benchmark

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow  # clusters that are started and lost

ROBOT, ROBOTS, SAMPLES = "gautier-khalil", 4, 10_000
SAME = {"rtol": 1e-9, "atol": 1e-12}
FOURIER = {"trajectory": {"family": "fourier", "period": 5, "harmonics": 2}, "starts": 4}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """Logs of robots, settings of a small design, a fleet; and what one machine makes of them."""
    folder, log = tmp_path_factory.mktemp("cluster"), benchmark("memory").log
    for k in range(ROBOTS):
        ex.Recording.join(list(log(SAMPLES, k))).save(folder / "logs" / f"R{k}" / "log.npz")
    (folder / "design.yaml").write_text(json.dumps(FOURIER))
    fleet = {"description": ROBOT, "folders": "logs", "settings": {"identify": {"automatic": False}}}
    (folder / "fleet.yaml").write_text(json.dumps(fleet))
    for command in ("design", "identify", "fleet"):
        assert run(words(command, folder), folder / f"{command} here") == 0
    return folder


def words(command: str, home: Path) -> list[str]:
    return {
        "design": ["design", ROBOT, "--config", str(home / "design.yaml")],
        "identify": ["identify", ROBOT, *map(str, sorted(home.rglob("log.npz"))[:2]), "--estimator", "wls"],
        "fleet": ["fleet", str(home / "fleet.yaml")],
    }[command]


def run(command: list[str], output: Path, *more: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*command, "-o", str(output), "--json", "-q", *more])
    return ended.value.code


@pytest.fixture(autouse=True)
def long_logs(monkeypatch):
    monkeypatch.setattr(logs, "HELD_BYTES", 400_000)  # a few seconds are long


@pytest.fixture
def cluster():
    with Cluster("local:2").ready():
        yield "local:2"


def numbers(command: str, folder: Path) -> list:
    """What a command is for."""
    if command == "design":
        return [ex.open(folder).design.delta]
    if command == "identify":
        found = ex.open(folder).estimate
        return [found.values, found.covariance]
    return [part for one in ex.open(folder).robots for part in (one.numbers.values, one.numbers.covariance)]


def same(command: str, home: Path, folder: Path) -> None:
    for one, other in zip(numbers(command, home / f"{command} here"), numbers(command, folder), strict=True):
        assert_allclose(other, one, rtol=1e-9, atol=1e-12 * abs(one).max())


@pytest.fixture
def after_one(monkeypatch):
    """What is to happen once, when the first task of a cluster has come back."""

    def set_up(happen) -> None:
        real, left = cluster_module._result, [happen]

        def result(future):
            found = real(future)
            while left:
                left.pop()()
            return found

        monkeypatch.setattr(cluster_module, "_result", result)

    return set_up


@pytest.mark.parametrize("command", ["design", "identify", "fleet"])
def test_a_worker_killed_midway_changes_nothing(cluster, home, tmp_path, after_one, command):
    killed = []

    def kill() -> None:
        killed.append(next(iter(_open[cluster].run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    after_one(kill)
    assert run(words(command, home), tmp_path / "out", "--cluster", cluster) == 0
    assert len(killed) == 1
    same(command, home, tmp_path / "out")


@pytest.mark.parametrize("command", ["design", "identify", "fleet"])
def test_a_scheduler_that_is_lost_loses_nothing(scheduler, home, tmp_path, monkeypatch, capsys, after_one, command):
    """One line, exit code 130; the same command goes on from what was reached, on this machine, to the same."""
    address, end = scheduler
    monkeypatch.setattr(cluster_module, "CONNECTION_PATIENCE_S", 3.0)
    after_one(end)
    folder, asked = tmp_path / "out", words(command, home)
    assert run(asked, folder, "--cluster", address) == 130
    told = capsys.readouterr()
    lost = f"the scheduler at {address} is gone"
    if command == "design":  # the best motion so far is written, and says so
        assert any(lost in text for text in _texts(json.loads(told.out)))
        assert (folder / "trajectory.csv").is_file()
    else:
        (line,) = (line for line in told.err.splitlines() if not line.startswith("…"))
        assert lost in line
        assert "kept in" in line
    kept = {"design": "checkpoint.json", "identify": f"{KEPT_FOLDER}/*", "fleet": "robots/*/robot.json"}[command]
    assert list(folder.glob(kept))
    assert run(asked, folder, *(["--resume"] if command != "fleet" else [])) == 0
    same(command, home, folder)


def _texts(data) -> list[str]:
    """All texts in data."""
    if isinstance(data, str):
        return [data]
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for part in parts for text in _texts(part)]
