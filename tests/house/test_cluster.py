"""Dask in the place of processes: the same answers, workers may die, and a scheduler that is lost loses nothing."""

import logging
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.cli import main
from exciter.cluster import Cluster, Crossing, _open
from exciter.commands.common import chosen_workers
from exciter.errors import ClusterLost, ExciterError
from exciter.excitation.optimiser.run_starts import LOST_SUBJECT
from exciter.kept_results import KEPT_FOLDER, KeptResults
from exciter.pipeline import logs
from exciter.workers import HERE, Processes
from exciter_papers.run import reproduce
from support.scripts import benchmark

pytest.importorskip("distributed")

ROBOT = "gautier-khalil"
SAME = {"rtol": 1e-9, "atol": 1e-12}
HELD_BYTES = 400_000  # so that a log of a few seconds is a long one


@pytest.fixture(scope="module")
def cluster():
    with Cluster("local:2").ready() as ready:
        yield ready


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> list[Path]:
    """Three logs of other motions, as the benchmarks of memory have them."""
    folder, log = tmp_path_factory.mktemp("logs"), benchmark("memory").log
    files = [folder / f"log{seed}.npz" for seed in (1, 2, 3)]
    for seed, file in enumerate(files):
        ex.Recording.join(list(log(20_000, seed))).save(file)
    return files


@pytest.fixture
def long_logs(monkeypatch):
    monkeypatch.setattr(logs, "HELD_BYTES", HELD_BYTES)


def identified(files, **given):
    return ex.identify(ROBOT, files[:2], validate=files[2], **given)


def same(one, other) -> None:
    first, second = one.identification, other.identification
    assert first.estimate.names == second.estimate.names
    assert_allclose(second.estimate.values, first.estimate.values, **SAME)
    assert_allclose(second.estimate.covariance, first.estimate.covariance, rtol=1e-9, atol=1e-15)
    assert_allclose(second.estimate.freedom, first.estimate.freedom, **SAME)
    for before, after in zip((first.fit, *first.validation), (second.fit, *second.validation), strict=True):
        assert_allclose(after.residuals.rms, before.residuals.rms, **SAME)
    assert one.notes == other.notes


# -- the same answers ----------------------------------------------------------------------------------------------


def test_starts_of_a_design_are_the_same_everywhere(cluster):
    settings = {"trajectory": ex.Fourier(period=5, harmonics=2), "starts": 3, "time_limit": None}
    here, there = ex.design(ROBOT, **settings), ex.design(ROBOT, **settings, workers=cluster)
    assert len(there.design.attempts) == 3
    for one, other in zip(here.design.attempts, there.design.attempts, strict=True):
        assert one.evaluations == other.evaluations
        assert_allclose(other.value, one.value, rtol=1e-9)
        assert_allclose(other.delta, one.delta, rtol=0, atol=1e-9)


def test_long_logs_are_identified_as_on_one_machine(cluster, recordings, long_logs):
    one, other = identified(recordings, estimator="wls"), identified(recordings, estimator="wls", workers=cluster)
    assert other.identification.problem.elsewhere == (0, 1)
    same(one, other)


@dataclass(frozen=True)
class InOrder(Processes):
    """Stand for others."""

    @property
    def here(self) -> bool:
        return False

    def over(self, function, tasks, **given):
        yield from [function(*task) for task in tasks]


@dataclass(frozen=True)
class LastFirst(InOrder):
    """Whose results come in the opposite order."""

    def over(self, function, tasks, **given):
        yield from reversed([*super().over(function, tasks)])


def test_it_does_not_matter_who_is_ready_first(recordings, long_logs):
    first, last = (identified(recordings, estimator="wls", workers=who) for who in (InOrder(), LastFirst()))
    assert first.identification.problem.elsewhere == (0, 1)
    assert np.array_equal(first.estimate.values, last.estimate.values)
    assert np.array_equal(first.estimate.covariance, last.estimate.covariance)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"estimator": "wls", "formulation": "energy"},
        {"estimator": "huber"},
        {"estimator": "wls", "route": {"method": "spline"}, "dead_zone": 0.05},
        {"estimator": "wls", "uncertainty": "hac"},
    ],
    ids=["automatic", "energy", "huber", "spline", "hac"],
)
def test_whatever_is_asked_is_the_same(cluster, recordings, long_logs, given):
    same(identified(recordings, **given), identified(recordings, **given, workers=cluster))


@pytest.mark.slow
def test_rounds_of_a_campaign_are_the_same(cluster):
    asked = {"target": {"Fv*": "5 %"}, "rounds": 2, "design": ex.DesignSettings(starts=2)}
    one, other = ex.campaign(ROBOT, **asked), ex.campaign(ROBOT, **asked, workers=cluster)
    for mine, theirs in zip(one.history.sigma, other.history.sigma, strict=True):
        assert_allclose(theirs, mine, rtol=1e-9)


@pytest.mark.papers
def test_papers_are_run_again_on_a_cluster(cluster):
    (one,), (other,) = (list(reproduce(["rackl-2012"], quick=True, workers=who)) for who in (HERE, cluster))
    for mine, theirs in zip(one.to_list(), other.to_list(), strict=True):
        assert theirs.keys() == mine.keys()
        for key, value in mine.items():
            assert theirs[key] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value)


def test_logs_that_are_held_stay_here(cluster, recordings):
    found = identified(recordings, estimator="ols", workers=cluster)
    assert found.identification.problem.elsewhere == ()


def test_an_error_of_a_task_is_its_own(cluster, recordings, long_logs, tmp_path):
    short = tmp_path / "short.npz"
    ex.Recording.join([ex.read(recordings[0]).between(0.0, 5.0)]).save(short)
    log = ex.read(recordings[1])
    broken = replace(log, q=np.where(np.arange(len(log))[:, None] < 5000, log.q, np.nan))
    broken.save(tmp_path / "broken.npz")
    with pytest.raises(ExciterError, match=r"broken\.npz") as here:
        ex.identify(ROBOT, [tmp_path / "broken.npz"], estimator="ols")
    with pytest.raises(ExciterError, match=r"broken\.npz") as there:
        ex.identify(ROBOT, [tmp_path / "broken.npz"], estimator="ols", workers=cluster)
    assert str(there.value) == str(here.value)


# -- tasks ---------------------------------------------------------------------------------------------------------


def squared(number: int) -> int:
    return number**2


def dying_once(folder: str, number: int) -> int:
    """Kills its worker, the first time it is run."""
    flag = Path(folder) / str(number)
    if number == 2 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return squared(number)


def dying(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def sleeping(number: int) -> int:
    time.sleep(0.1 if number < 2 else 5.0)
    return number


@dataclass(frozen=True)
class Somebodys:
    """An object that no file describes."""

    number: int


@dataclass(frozen=True)
class SomebodysTerm(ex.Viscous):
    """Settings, which results keep; a worker may not know their class."""

    word = "somebodys"


def number_of(one: Somebodys) -> int:
    return one.number


def test_tasks_are_taken_as_they_are_needed(cluster):
    asked = []

    def tasks():
        for number in range(10**6):
            asked.append(number)
            yield (number,)

    with closing(cluster.over(squared, tasks())) as running:
        found = {next(running) for _ in range(5)}
    assert found <= {squared(number) for number in asked}
    assert len(asked) < 30


def test_what_does_not_end_in_time_is_given_up(cluster):
    assert list(cluster.over(sleeping, [(5,), (6,)], until=time.monotonic() + 0.3)) == []


def test_objects_cross_as_data(cluster):
    model = ex.DynamicModel(ex.load(ROBOT), (ex.Viscous(),))
    assert isinstance(Crossing.of(model), Crossing)
    assert Crossing.of(model).value.standard == model.standard
    found = next(cluster.over(ex.DynamicModel.torque, [(model, ex.Motion.at([0.1, 0.2, 0.3]))]))
    assert_allclose(found, model.torque(ex.Motion.at([0.1, 0.2, 0.3])), rtol=1e-12)
    mine = Somebodys(3)
    assert Crossing.of(mine) is mine  # as Dask has it
    assert list(cluster.over(number_of, [(mine,)])) == [3]
    with_own = ex.DynamicModel(ex.load(ROBOT), (SomebodysTerm(),))
    assert Crossing.of(with_own) is with_own


def test_a_worker_that_dies_changes_nothing(cluster, tmp_path):
    found = cluster.over(dying_once, ((str(tmp_path), number) for number in range(6)))
    assert sorted(found) == [squared(number) for number in range(6)]
    assert (tmp_path / "2").exists()


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_told_in_one_line(cluster):
    with pytest.raises(ExciterError, match="died again and again") as told:
        list(cluster.over(dying, [(0,)]))
    assert "\n" not in str(told.value)


def test_a_worker_killed_midway_changes_nothing_but_time(cluster, recordings, long_logs):
    def kill(step: str) -> None:
        if step == "identifying":
            client = _open["local:2"]
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)

    found = identified(recordings, estimator="wls", workers=cluster, progress=kill)
    same(identified(recordings, estimator="wls"), found)


# -- a scheduler that is lost --------------------------------------------------------------------------------------


def test_a_lost_scheduler_is_one_line_and_what_was_reached_is_kept(scheduler, tmp_path, monkeypatch):
    address, end = scheduler
    monkeypatch.setattr("exciter.cluster.CONNECTION_PATIENCE_S", 3.0)
    kept = KeptResults(Cluster(address), tmp_path / KEPT_FOLDER)
    found = []
    with pytest.raises(ClusterLost, match=r"what was reached is kept .*: resume, and it goes on") as told:  # noqa: PT012
        for number in kept.over(sleeping, ((number,) for number in range(4))):
            found.append(number)
            if len(found) == 2:
                end()
    assert "\n" not in str(told.value)
    assert sorted(found) == [0, 1]
    assert len(list(kept.folder.iterdir())) == 2
    again = KeptResults.begun(HERE, kept.folder, resume=True)
    assert sorted(again.over(sleeping, [(0,), (1,)])) == [0, 1]
    again.discard()
    assert not kept.folder.exists()


def test_a_scheduler_lost_while_a_result_arrives_is_lost(cluster, monkeypatch):
    from distributed.comm import CommClosedError

    def cut_off(future) -> None:
        raise CommClosedError("Stream is closed")

    monkeypatch.setattr("exciter.cluster._result", cut_off)
    with pytest.raises(ClusterLost, match="is gone"):
        list(cluster.over(sleeping, [(0,)]))


def test_what_dask_logs_is_not_shown(cluster):
    names = ("distributed", "distributed.client", "distributed.gc")
    assert not any(logging.getLogger(name).isEnabledFor(logging.CRITICAL) for name in names)


def test_a_design_that_lost_its_scheduler_goes_on(scheduler, tmp_path, monkeypatch):
    address, end = scheduler
    monkeypatch.setattr("exciter.cluster.CONNECTION_PATIENCE_S", 3.0)
    settings = {"trajectory": ex.Fourier(period=5, harmonics=2), "starts": 4}
    file = tmp_path / "checkpoint.json"

    def ended(progress) -> None:
        if progress.done == 1:
            end()

    stopped = ex.design(ROBOT, **settings, checkpoint=file, workers=Cluster(address), progress=ended)
    assert stopped.design.interrupted
    assert 1 <= len(stopped.design.attempts) < 4
    assert [note.subject for note in stopped.notes].count(LOST_SUBJECT) == 1
    resumed = ex.design(ROBOT, **settings, checkpoint=file, resume=True)
    whole = ex.design(ROBOT, **settings)
    assert len(resumed.design.attempts) == 4
    assert_allclose(resumed.design.delta, whole.design.delta, rtol=0, atol=1e-9)


def test_identify_goes_on_where_it_stopped(cluster, recordings, long_logs, tmp_path, capsys, monkeypatch):
    """Interrupted behind the survey of the logs, and behind their compression."""
    words = ["identify", ROBOT, *map(str, recordings[:2]), "--estimator", "wls", "--json", "-q"]
    plain, folder = tmp_path / "plain", tmp_path / "found"

    def run(*more: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        return ended.value.code

    assert run("-o", str(plain)) == 0
    real, ran = KeptResults.over, []

    def counted(self, function, tasks, **given):
        for result in real(self, function, tasks, **given):
            ran.append(function)
            if len(ran) == 3:
                raise ClusterLost("the scheduler is gone")
            yield result

    monkeypatch.setattr(KeptResults, "over", counted)
    assert run("-o", str(folder), "--cluster", "local:2") == 130
    assert {path.name for path in folder.iterdir()} == {KEPT_FOLDER}
    assert len(list((folder / KEPT_FOLDER).iterdir())) >= 3
    monkeypatch.setattr(KeptResults, "over", real)
    seen = []
    real_over = Processes.over

    def seeing(self, function, tasks, **given):
        for result in real_over(self, function, tasks, **given):
            seen.append(result)
            yield result

    monkeypatch.setattr(Processes, "over", seeing)
    assert run("-o", str(folder), "--resume") == 0  # on this machine, from what the cluster reached
    assert not (folder / KEPT_FOLDER).exists()
    assert len(seen) <= 5  # two surveys and one compression are there: of eight tasks
    one, other = ex.open(plain), ex.open(folder)
    assert_allclose(other.estimate.values, one.estimate.values, **SAME)
    assert_allclose(other.estimate.std, one.estimate.std, **SAME)


def test_what_is_kept_is_of_its_task_and_whole(tmp_path):
    kept = KeptResults(HERE, tmp_path / KEPT_FOLDER)
    assert list(kept.over(squared, [(3,)])) == [9]
    (file,) = kept.folder.iterdir()
    assert list(kept.over(number_of, [(Somebodys(4),)])) == [4]  # of a class of this test: a number is kept
    file.write_bytes(file.read_bytes()[:-1])
    ran = []

    class Counting(Processes):
        def over(self, function, tasks, **given):
            for task in tasks:
                ran.append(task)
                yield function(*task)

    again = KeptResults(Counting(), kept.folder)
    assert list(again.over(squared, [(3,)])) == [9]
    assert len(ran) == 1  # the damaged one counts as not there
    assert list(again.over(squared, [(3,)])) == [9]
    assert len(ran) == 1
    (kept.folder / "mine.txt").write_text("not to be removed")
    kept.discard()
    assert [path.name for path in kept.folder.iterdir()] == ["mine.txt"]


# -- words ---------------------------------------------------------------------------------------------------------


def test_words_of_a_command_line():
    def chosen(cluster: str | None, jobs: int | None = None):
        return chosen_workers(Namespace(cluster=cluster, jobs=jobs), jobs or 1)

    assert chosen(None) == HERE
    assert chosen(None, 3) == Processes(3)
    assert chosen("local:3").count == 3
    assert chosen("tcp://10.0.0.1:8786", 1) == Cluster("tcp://10.0.0.1:8786")
    with pytest.raises(ExciterError, match="leave one of them out"):
        chosen("local", 2)
    for wrong in ("localhost:8786", "local:0", "http://somewhere", ""):
        with pytest.raises(ExciterError, match="give the address of a Dask scheduler"):
            Cluster(wrong)


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr("exciter.cluster.CONNECTION_PATIENCE_S", 0.5)
    with (
        pytest.raises(ExciterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        Cluster("tcp://127.0.0.1:9").ready(),
    ):
        pass


def test_without_dask_the_message_names_the_extra(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SystemExit) as ended:
        main(["design", ROBOT, "-o", str(tmp_path / "out"), "--cluster", "local"])
    assert ended.value.code == 2
    assert "pip install 'exciter[cluster]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_importing_exciter_does_not_import_dask():
    code = "import sys, exciter.cluster, exciter.commands.common; print('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
