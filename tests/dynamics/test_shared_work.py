"""Parts of a kernel's samples on several threads: all of them, once each; and helpers only where they help."""

import threading

import pytest

from exciter.dynamics import shared_work
from exciter.dynamics.shared_work import MOST_CALLS_ALONE, Pace, core_is_idle, parts, shared_out


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_work, "core_is_idle", lambda: True)


@pytest.mark.parametrize("samples", [0, 1, 511, 512, 513, 3000])
def test_every_sample_is_worked_on_once(samples: int):
    for _ in range(40):  # with helpers in some of them
        met, lock = [], threading.Lock()

        def work(number: int, begin: int, end: int, met=met, lock=lock) -> None:
            with lock:
                met.append((number, begin, end))

        shared_out("test", work, samples, 3)
        met.sort()
        assert [number for number, *_ in met] == list(range(len(parts(samples))))
        assert [k for _, begin, end in met for k in range(begin, end)] == list(range(samples))


def test_what_a_helper_raises_is_raised():
    def work(number: int, begin: int, end: int) -> None:
        raise ValueError("a part")

    for _ in range(40):
        with pytest.raises(ValueError, match="a part"):
            shared_out("raising", work, 3000, 2)


def test_no_helper_is_asked_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared_work, "core_is_idle", lambda: False)
    monkeypatch.setattr(shared_work, "_helpers", lambda count: pytest.fail("asked"))
    for _ in range(100):
        shared_out("busy", lambda number, begin, end: None, 3000, 2)


@pytest.mark.parametrize(("said", "idle"), [("1", True), ("2", False), ("9", False), ("?", True), (None, True)])
def test_a_core_is_idle_where_fewer_threads_run(said: str | None, idle: bool, tmp_path, monkeypatch):
    file = tmp_path / "loadavg"
    if said is not None:
        file.write_text(f"0.00 0.01 0.05 {said}/126 15281\n")
    monkeypatch.setattr(shared_work, "Path", lambda name: file)
    monkeypatch.setattr(shared_work.os, "cpu_count", lambda: 2)
    assert core_is_idle() is idle


def calls(alone: float, helped: float, count: int = 2000) -> tuple[float, int]:
    """Time over that of one thread, and how many calls had helpers."""
    pace, total, shared = Pace(), 0.0, 0
    for _ in range(count):
        helpers = pace.shares
        total += helped if helpers else alone
        shared += helpers
        pace.met(helped if helpers else alone, shared=helpers)
    return total / (count * alone), shared


def test_helpers_are_used_where_they_help():
    time, shared = calls(alone=1.0, helped=0.55)
    assert shared > 0.9 * 2000
    assert time < 0.6


@pytest.mark.parametrize("helped", [0.95, 2.0, 20.0])
def test_helpers_that_do_not_help_cost_little(helped: float):
    time, shared = calls(alone=1.0, helped=helped)
    assert shared <= 6
    assert time < 1.1


def test_they_are_tried_again():
    pace = Pace()
    for _ in range(10 * MOST_CALLS_ALONE):
        pace.met(5.0 if pace.shares else 1.0, shared=pace.shares)
    for _ in range(2 * MOST_CALLS_ALONE):
        pace.met(0.5 if pace.shares else 1.0, shared=pace.shares)
    assert pace.sharing
