"""Processes end with their parent, however it ends; what was reached is written when there is time to."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from exciter.errors import ExciterError
from exciter.workers import one_interrupt, over_processes

pytestmark = pytest.mark.slow

PATIENCE = 120.0  # [s] until which a state is waited for; nothing is measured
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")


def wait_for(state, *, patience=PATIENCE):
    end = time.monotonic() + patience
    while not state() and time.monotonic() < end:
        time.sleep(0.05)
    return state()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    """Of a process, from /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


@contextmanager
def started(folder: Path, **settings) -> Iterator[subprocess.Popen]:
    """A design on two processes, some starts of which are complete; it is ended whatever happens. A hang-up is told to
    it as by a terminal, also where these tests run under nohup, which lets programs ignore it."""
    words = ["design", "gautier-khalil", "-o", str(folder), "--jobs", "2", "--starts", "100000"]
    heard = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process = subprocess.Popen([sys.executable, "-m", "exciter", *words], start_new_session=True, **settings)
    finally:
        signal.signal(signal.SIGHUP, heard)
    with process:
        try:
            wait_for(lambda: (folder / "checkpoint.json").exists() or process.poll() is not None)
            assert process.poll() is None
            assert len(descendants(process.pid)) >= 2
            yield process
        finally:
            process.kill()


@LINUX
def test_workers_of_a_parent_that_is_killed_end_too(tmp_path):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with started(tmp_path, **quiet) as process:
        workers = descendants(process.pid)
        process.kill()
        process.wait()
        assert wait_for(lambda: not any(map(alive, workers)))


@LINUX
@pytest.mark.parametrize("how", ["terminal closed", "terminated"])
def test_a_closed_terminal_and_a_polite_kill_leave_what_was_reached_and_no_worker(tmp_path, how):
    """The hang-up of a terminal that is gone: nothing can be written to it any more."""
    ours, theirs = pty.openpty()
    with started(tmp_path, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        workers = descendants(process.pid)
        if how == "terminal closed":
            os.close(ours)
            process.send_signal(signal.SIGHUP)
        else:
            drain = threading.Thread(target=read_all, args=(ours,), daemon=True)
            drain.start()
            os.killpg(process.pid, signal.SIGTERM)  # as a service manager does: to all of them
        assert process.wait(PATIENCE) == 130
        assert wait_for(lambda: not any(map(alive, workers)))
    assert {"trajectory.csv", "design.json", "report.html", "checkpoint.json"} <= {p.name for p in tmp_path.iterdir()}


def read_all(terminal: int) -> None:
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass


# -- the processes themselves --------------------------------------------------------------------------------------


def identity(number: int) -> tuple[int, int]:
    return number, os.getpid()


def die(_: int) -> None:
    os._exit(7)


def never(_: int) -> None:
    time.sleep(10_000.0)


def test_tasks_are_taken_as_they_are_needed():
    asked = []

    def tasks():
        for number in range(10**6):
            asked.append(number)
            yield (number,)

    with closing(over_processes(identity, tasks(), 2)) as running:
        found = [next(running) for _ in range(5)]
    assert all(process != os.getpid() for _, process in found)
    assert len(asked) < 20
    assert not any(alive(process) for _, process in found)


def test_what_does_not_end_in_time_is_given_up():
    """Also work that looks at no deadline."""
    assert list(over_processes(never, [(0,), (1,)], 2, until=time.monotonic() + 0.2)) == []


def test_a_worker_that_is_ended_from_outside_is_an_error_in_one_line():
    with pytest.raises(ExciterError, match="one of 2 worker processes was ended from outside"):
        list(over_processes(die, [(0,)], 2))


def test_an_impatient_second_ctrl_c_does_not_disturb_the_ending():
    before = signal.getsignal(signal.SIGINT)
    ended = False
    with pytest.raises(KeyboardInterrupt), one_interrupt():  # noqa: PT012
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5.0)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            ended = True
    assert ended
    assert signal.getsignal(signal.SIGINT) is before
